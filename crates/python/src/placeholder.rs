//! Parameters in a statement's text: `?` and `:name` become `$1`, `$2`, ...
//!
//! Strings, quoted names, dollar quotes and comments are left as they are.

use types::{Error, Result, SqlState};

/// `text` with `$1`... for each `?`, and how many values it takes; None when it has `$1`... of its
/// own.
///
/// # Errors
/// 42601 when it has both.
pub(crate) fn by_position(text: &str) -> Result<(String, Option<usize>)> {
    let (mut out, mut count, mut is_numbered) = (String::with_capacity(text.len()), 0, false);
    for piece in Pieces::new(text) {
        match piece {
            Piece::Text(text) | Piece::Name(text) => out.push_str(text),
            Piece::Number(text) => {
                is_numbered = true;
                out.push_str(text);
            }
            Piece::Mark => {
                count += 1;
                out.push_str(&format!("${count}"));
            }
        }
    }
    match (is_numbered, count) {
        (true, 0) => Ok((out, None)),
        (true, _) => {
            Err(Error::new(SqlState::SYNTAX_ERROR, "a statement has either ? or $1, not both"))
        }
        (false, count) => Ok((out, Some(count))),
    }
}

/// `text` with `$1`... for each `:name`, and the names in that order.
pub(crate) fn by_name(text: &str) -> (String, Vec<String>) {
    let (mut out, mut names) = (String::with_capacity(text.len()), Vec::<String>::new());
    for piece in Pieces::new(text) {
        match piece {
            Piece::Text(text) | Piece::Number(text) => out.push_str(text),
            Piece::Mark => out.push('?'),
            Piece::Name(name) => {
                let name = &name[1..];
                let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.to_owned());
                    names.len() - 1
                });
                out.push_str(&format!("${}", at + 1));
            }
        }
    }
    (out, names)
}

/// A part of a text.
enum Piece<'a> {
    Text(&'a str),
    /// `?`
    Mark,
    /// `:name`
    Name(&'a str),
    /// `$1`
    Number(&'a str),
}

struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let rest = self.rest;
        let first = rest.chars().next()?;
        let end = piece_end(rest, first);
        let (piece, after) = rest.split_at(end);
        self.rest = after;
        Some(match first {
            '?' => Piece::Mark,
            ':' if end > 1 && !piece.starts_with("::") => Piece::Name(piece),
            '$' if piece[1..].starts_with(|c: char| c.is_ascii_digit()) => Piece::Number(piece),
            _ => Piece::Text(piece),
        })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Length of the piece that `rest`, which begins with `first`, begins with.
fn piece_end(rest: &str, first: char) -> usize {
    let bytes = rest.as_bytes();
    let word = |from: usize| {
        rest[from..].find(|c: char| !is_word(c)).map_or(rest.len(), |length| from + length)
    };
    match first {
        '\'' => quoted_end(rest, 0, Backslash::Plain),
        '"' => 1 + rest[1..].find('"').map_or(rest.len() - 1, |at| at + 1),
        'e' | 'E' if bytes.get(1) == Some(&b'\'') => quoted_end(rest, 1, Backslash::Escapes),
        '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
        '/' if rest.starts_with("/*") => comment_end(rest),
        ':' if rest.starts_with("::") => 2,
        ':' if rest[1..].starts_with(|c: char| c.is_alphabetic() || c == '_') => word(1),
        '$' if bytes.get(1).is_some_and(u8::is_ascii_digit) => {
            rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| length + 1)
        }
        '$' => dollar_end(rest),
        c if is_word(c) => word(0),
        c => c.len_utf8(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslash {
    Plain,
    Escapes,
}

/// The end of the string whose quote is at `start`.
fn quoted_end(rest: &str, start: usize, backslash: Backslash) -> usize {
    let bytes = rest.as_bytes();
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if backslash == Backslash::Escapes => at += 2,
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The end of a comment that begins here; comments nest.
fn comment_end(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (2, 1);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The end of `$tag$...$tag$`; 1 when it is none.
fn dollar_end(rest: &str) -> usize {
    let tag = |c: char| c != '$' && is_word(c);
    let Some(length) =
        rest[1..].find(|c: char| !tag(c)).filter(|at| rest[1 + at..].starts_with('$'))
    else {
        return 1;
    };
    let (open, body) = rest.split_at(length + 2);
    body.find(open).map_or(rest.len(), |at| at + 2 * open.len())
}
