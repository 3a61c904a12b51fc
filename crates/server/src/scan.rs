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
    let mut scanner = Scanner::default();
    scanner.read(text);
    scanner.ending()
}

/// Where in `text` a backslash command begins behind a statement, as in `SELECT 1 \\gx`.
pub(crate) fn trailing_command(text: &str) -> Option<usize> {
    let mut scanner = Scanner::default();
    let mut read = 0;
    for (at, _) in text.match_indices('\\') {
        scanner.read(&text[read..at]);
        read = at;
        if !scanner.is_within() {
            return Some(at);
        }
    }
    None
}

/// Token that a [`Scanner`] is within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Nothing,
    /// A quotation that ends with this character.
    Quotation(u8),
    /// So many comments.
    Comments(usize),
    /// A comment that ends with its line.
    Line,
}

/// Reads a text in pieces, each up to the end of a line, and knows how it ends so far.
#[derive(Debug)]
pub(crate) struct Scanner {
    within: Within,
    ending: Ending,
}

impl Default for Scanner {
    fn default() -> Self {
        Self { within: Within::Nothing, ending: Ending::Blank }
    }
}

impl Scanner {
    /// How the text ends.
    pub(crate) fn ending(&self) -> Ending {
        match self.within {
            Within::Nothing | Within::Line => self.ending,
            _ => Ending::Open,
        }
    }

    /// True inside of a quotation or a comment.
    pub(crate) fn is_within(&self) -> bool {
        self.within != Within::Nothing
    }

    /// Reads on.
    pub(crate) fn read(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let length = match self.within {
                Within::Nothing => self.plain(rest),
                Within::Quotation(quote) => match rest.iter().position(|b| *b == quote) {
                    Some(at) => {
                        self.within = Within::Nothing;
                        at + 1
                    }
                    None => rest.len(),
                },
                Within::Comments(depth) => self.comment(rest, depth),
                Within::Line => match rest.iter().position(|b| *b == b'\n') {
                    Some(at) => {
                        self.within = Within::Nothing;
                        at + 1
                    }
                    None => rest.len(),
                },
            };
            rest = &rest[length..];
        }
    }

    /// Reads the next token outside quotations and comments, or one character of it; its length.
    fn plain(&mut self, rest: &[u8]) -> usize {
        match rest[0] {
            b';' => self.ending = Ending::Complete,
            b'-' if rest.starts_with(b"--") => {
                self.within = Within::Line;
                return 2;
            }
            b'/' if rest.starts_with(b"/*") => {
                self.within = Within::Comments(1);
                return 2;
            }
            quote @ (b'\'' | b'"') => {
                (self.within, self.ending) = (Within::Quotation(quote), Ending::Open);
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => self.ending = Ending::Open,
        }
        1
    }

    /// Reads up to the next bound of a comment, and that.
    fn comment(&mut self, rest: &[u8], depth: usize) -> usize {
        let bound = rest.windows(2).position(|two| two == b"/*" || two == b"*/");
        let Some(at) = bound else { return rest.len() };
        self.within = match (rest[at], depth) {
            (b'/', _) => Within::Comments(depth + 1),
            (_, 1) => Within::Nothing,
            _ => Within::Comments(depth - 1),
        };
        at + 2
    }
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
    #[test]
    fn commands_behind_statements_are_found() {
        assert_eq!(trailing_command("select 1 \\gx"), Some(9));
        assert_eq!(trailing_command("select '\\g'"), None);
        assert_eq!(trailing_command("select E'\\n', 2 \\g out"), Some(16));
        assert_eq!(trailing_command("select 1; /* \\g */"), None);
        assert_eq!(trailing_command("select 1 -- \\g"), None);
        assert_eq!(trailing_command("select 1 -- a\n \\g"), Some(15));
    }

    #[test]
    fn a_text_read_in_lines_ends_as_a_whole_one() {
        let text = "-- a; 'b\nselect 'it''s;\n'\n  ;/* ; /* 'x\n */ ; */\nselect \"a;\n\";\n\nx";
        let mut scanner = Scanner::default();
        let mut read = String::new();
        for line in text.split_inclusive('\n') {
            scanner.read(line);
            read.push_str(line);
            assert_eq!(scanner.ending(), ending(&read), "{read}");
        }
        assert_eq!(ending("-- a\n/* b */ \n"), Ending::Blank);
        assert_eq!(ending("select 1;\n-- a\n/* b"), Ending::Open);
        assert_eq!(ending("select 1;\n-- a\n/* b */"), Ending::Complete);
    }
}
