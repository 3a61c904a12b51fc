//! Where statements end in a text that is still being typed.

/// The state at the end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Nothing but blanks and comments.
    Blank,
    /// The last statement ends in a semicolon.
    Complete,
    /// Inside a statement, a quotation or a comment.
    Open,
}

/// How `text` ends.
pub(crate) fn ending(text: &str) -> Ending {
    let bytes = text.as_bytes();
    let mut ending = Ending::Blank;
    let mut i = 0;
    while i < bytes.len() {
        let rest = &bytes[i..];
        let (length, next) = match rest[0] {
            b';' => (1, Ending::Complete),
            b'-' if rest.starts_with(b"--") => (line_length(rest), ending),
            b'/' if rest.starts_with(b"/*") => match comment_length(rest) {
                Some(length) => (length, ending),
                None => return Ending::Open,
            },
            quote @ (b'\'' | b'"') => match rest[1..].iter().position(|b| *b == quote) {
                Some(length) => (length + 2, Ending::Open),
                None => return Ending::Open,
            },
            byte if byte.is_ascii_whitespace() => (1, ending),
            _ => (1, Ending::Open),
        };
        ending = next;
        i += length;
    }
    ending
}

fn line_length(text: &[u8]) -> usize {
    text.iter().position(|b| *b == b'\n').unwrap_or(text.len())
}

/// Length of the (nested) comment that `text` begins with.
fn comment_length(text: &[u8]) -> Option<usize> {
    let (mut depth, mut i) = (0, 0);
    while i + 1 < text.len() {
        match &text[i..i + 2] {
            b"/*" => {
                depth += 1;
                i += 2;
            }
            b"*/" => {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => i += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_quotations() {
        assert_eq!(ending(" -- nothing\n"), Ending::Blank);
        assert_eq!(ending("select 1"), Ending::Open);
        assert_eq!(ending("select 1; -- done"), Ending::Complete);
        assert_eq!(ending("select ';"), Ending::Open);
        assert_eq!(ending("select 'it''s;'"), Ending::Open);
        assert_eq!(ending("select 'it''s';"), Ending::Complete);
        assert_eq!(ending("select 1; /* ; /* nested */"), Ending::Open);
        assert_eq!(ending("select 1; select \"a;b\""), Ending::Open);
    }
}
