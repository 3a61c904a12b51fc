//! Tokens of a program: as many kinds as its own statements need; SQL between them stays text.

use types::{Error, Result, SqlState};

/// A token and the bytes of the text that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word without quotes, in lower case.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// A string.
    Text(String),
    /// A number.
    Number,
    /// `$1`.
    Parameter(String),
    /// `:=`, `..`, `<<`, `>>`, `=>`, or one other sign.
    Sign(&'static str),
    /// Any other sign.
    Other,
}

/// Signs of two characters, then those of one.
const SIGNS: [&str; 13] = [":=", "..", "<<", ">>", "::", ";", ",", "(", ")", "[", "]", ".", "="];

/// The tokens of `text`.
///
/// # Errors
/// 42601 for a string, name or comment without end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(ch) = text[at..].chars().next() {
        let rest = &text[at..];
        if ch.is_whitespace() {
            at += ch.len_utf8();
            continue;
        }
        if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if rest.starts_with("/*") {
            at += comment(rest)?;
            continue;
        }
        let (kind, bytes) = token(rest, ch)?;
        tokens.push(Token { kind, start: at, end: at + bytes });
        at += bytes;
    }
    Ok(tokens)
}

fn unterminated(what: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("unterminated {what}"))
}

/// Bytes of the comment at the beginning of `text`; comments nest.
fn comment(text: &str) -> Result<usize> {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Ok(at);
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    Err(unterminated("/* comment"))
}

fn token(rest: &str, ch: char) -> Result<(Kind, usize)> {
    let is_word = |ch: char| ch.is_alphanumeric() || ch == '_' || ch == '$';
    if ch == '\'' {
        return string(rest, false);
    }
    if ch == '"' {
        let (text, bytes) = quoted(rest, '"', false).ok_or_else(|| unterminated("quoted name"))?;
        return Ok((Kind::Quoted(text), bytes));
    }
    if matches!(ch, 'e' | 'E') && rest[1..].starts_with('\'') {
        let (kind, bytes) = string(&rest[1..], true)?;
        return Ok((kind, bytes + 1));
    }
    if ch == '$' {
        let digits = rest[1..].chars().take_while(char::is_ascii_digit).count();
        if digits > 0 {
            return Ok((Kind::Parameter(rest[..=digits].to_owned()), digits + 1));
        }
        if let Some((text, bytes)) = dollars(rest) {
            return Ok((Kind::Text(text.to_owned()), bytes));
        }
    }
    if ch.is_ascii_digit() {
        return Ok((Kind::Number, number(rest)));
    }
    if ch.is_alphabetic() || ch == '_' {
        let bytes = rest.find(|ch: char| !is_word(ch)).unwrap_or(rest.len());
        return Ok((Kind::Word(rest[..bytes].to_lowercase()), bytes));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Kind::Sign(sign), sign.len())),
        None => Ok((Kind::Other, ch.len_utf8())),
    }
}

/// Digits, a point and more of them, an exponent; `1..2` is a number and a sign.
fn number(text: &str) -> usize {
    let digits = |from: usize| {
        from + text[from..].chars().take_while(|ch| ch.is_ascii_alphanumeric()).count()
    };
    let whole = digits(0);
    let rest = &text[whole..];
    if rest.starts_with('.') && !rest.starts_with("..") { digits(whole + 1) } else { whole }
}

fn string(rest: &str, escapes: bool) -> Result<(Kind, usize)> {
    let (text, bytes) = quoted(rest, '\'', escapes).ok_or_else(|| unterminated("quoted string"))?;
    Ok((Kind::Text(text), bytes))
}

/// Text between quotes at the beginning of `text`, and its bytes with them.
fn quoted(text: &str, quote: char, escapes: bool) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, ch)) = chars.next() {
        if ch == quote {
            match chars.peek() {
                Some((_, next)) if *next == quote => {
                    value.push(quote);
                    chars.next();
                }
                _ => return Some((value, at + 1)),
            }
        } else if ch == '\\' && escapes {
            let (_, next) = chars.next()?;
            value.push(match next {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            });
        } else {
            value.push(ch);
        }
    }
    None
}

/// Text in dollars at the beginning of `text`, and its bytes with them.
fn dollars(text: &str) -> Option<(&str, usize)> {
    let tag_end = text[1..].find('$')? + 2;
    let tag = &text[..tag_end];
    let is_name = |ch: char| ch.is_alphanumeric() || ch == '_';
    if !tag[1..tag_end - 1].chars().all(is_name) {
        return None;
    }
    let inner = &text[tag_end..];
    let end = inner.find(tag)?;
    Some((&inner[..end], tag_end + end + tag_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Result<Vec<Kind>> {
        Ok(tokens(text)?.into_iter().map(|token| token.kind).collect())
    }

    #[test]
    fn tokens_end_where_others_begin() -> Result<()> {
        let word = |text: &str| Kind::Word(text.to_owned());
        let text = |text: &str| Kind::Text(text.to_owned());
        assert_eq!(
            kinds("FOR i IN 1..10 -- rest\n/* a /* b */ */ x := $1;")?,
            [
                word("for"),
                word("i"),
                word("in"),
                Kind::Number,
                Kind::Sign(".."),
                Kind::Number,
                word("x"),
                Kind::Sign(":="),
                Kind::Parameter("$1".to_owned()),
                Kind::Sign(";"),
            ]
        );
        assert_eq!(kinds("'it''s' $a$ x;$ $a$ E'\\n'")?, [text("it's"), text(" x;$ "), text("\n")]);
        assert_eq!(kinds("\"A\"\"b\"")?, [Kind::Quoted("A\"b".to_owned())]);
        for open in ["'a", "\"a", "/* a"] {
            assert_eq!(tokens(open).map_err(|error| error.state()), Err(SqlState::SYNTAX_ERROR));
        }
        Ok(())
    }
}
