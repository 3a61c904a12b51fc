//! JSON read from its text, one piece after the other, and PostgreSQL's errors about it.

use super::{NESTING_MAX, too_deep};
use crate::{Error, Result, SqlState};

/// A piece of a value. Strings are as written, with their quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'t> {
    /// `{`.
    ObjectStart,
    /// `}`.
    ObjectEnd,
    /// `[`.
    ArrayStart,
    /// `]`.
    ArrayEnd,
    /// The key of a field, whose value follows.
    Key(&'t [u8]),
    /// A string.
    String(&'t [u8]),
    /// A number.
    Number(&'t [u8]),
    /// true or false, or null.
    Word(&'t [u8]),
}

/// Tokens that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    /// A comma or the end behind a value.
    Next,
}

/// Object or array around the next piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Object,
    Array,
}

/// The kind of a token, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Sign(u8),
    String,
    Number,
    Word,
    End,
}

/// The pieces of a JSON text, in order; the first error ends them.
#[derive(Clone, Debug)]
pub struct Events<'t> {
    text: &'t [u8],
    at: usize,
    open: Vec<Open>,
    expected: Expected,
}

/// Checks that `text` is JSON.
///
/// # Errors
/// 22P02 in PostgreSQL's words, 54001.
pub fn check(text: &[u8]) -> Result<()> {
    let mut events = Events::new(text);
    while events.next()?.is_some() {}
    Ok(())
}

/// 22P02 with a line about what is wrong.
#[cold]
pub(super) fn malformed(detail: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_TEXT, "invalid input syntax for type json").with_detail(detail)
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl<'t> Events<'t> {
    /// The pieces of `text`.
    pub fn new(text: &'t [u8]) -> Self {
        Self { text, at: 0, open: Vec::new(), expected: Expected::Value }
    }

    /// The next piece; None behind the last.
    ///
    /// # Errors
    /// 22P02, 54001.
    #[expect(clippy::should_implement_trait, reason = "errors end the iteration")]
    pub fn next(&mut self) -> Result<Option<Event<'t>>> {
        loop {
            let (token, bytes) = self.token()?;
            match (self.expected, token, self.open.last()) {
                (Expected::Next, Token::End, None) => return Ok(None),
                (Expected::Next, Token::Sign(b','), Some(Open::Array)) => {
                    self.expected = Expected::Value;
                }
                (Expected::Next, Token::Sign(b','), Some(Open::Object)) => {
                    self.expected = Expected::Key;
                }
                (Expected::Next | Expected::ValueOrEnd, Token::Sign(b']'), Some(Open::Array)) => {
                    self.close();
                    return Ok(Some(Event::ArrayEnd));
                }
                (Expected::Next | Expected::KeyOrEnd, Token::Sign(b'}'), Some(Open::Object)) => {
                    self.close();
                    return Ok(Some(Event::ObjectEnd));
                }
                (Expected::Key | Expected::KeyOrEnd, Token::String, _) => {
                    let (colon, found) = self.token()?;
                    if colon != Token::Sign(b':') {
                        return Err(unexpected("\":\"", colon, found));
                    }
                    self.expected = Expected::Value;
                    return Ok(Some(Event::Key(bytes)));
                }
                (Expected::Value | Expected::ValueOrEnd, _, _) => {
                    return self.value(token, bytes).map(Some);
                }
                (Expected::Key, ..) => return Err(unexpected("string", token, bytes)),
                (Expected::KeyOrEnd, ..) => {
                    return Err(unexpected("string or \"}\"", token, bytes));
                }
                (Expected::Next, _, None) => return Err(unexpected("end of input", token, bytes)),
                (Expected::Next, _, Some(Open::Array)) => {
                    return Err(unexpected("\",\" or \"]\"", token, bytes));
                }
                (Expected::Next, _, Some(Open::Object)) => {
                    return Err(unexpected("\",\" or \"}\"", token, bytes));
                }
            }
        }
    }

    fn value(&mut self, token: Token, bytes: &'t [u8]) -> Result<Event<'t>> {
        self.expected = Expected::Next;
        Ok(match token {
            Token::Sign(b'{') => {
                self.enter(Open::Object, Expected::KeyOrEnd)?;
                Event::ObjectStart
            }
            Token::Sign(b'[') => {
                self.enter(Open::Array, Expected::ValueOrEnd)?;
                Event::ArrayStart
            }
            Token::String => Event::String(bytes),
            Token::Number => Event::Number(bytes),
            Token::Word => Event::Word(bytes),
            other => return Err(unexpected("JSON value", other, bytes)),
        })
    }

    fn enter(&mut self, what: Open, expected: Expected) -> Result<()> {
        if self.open.len() >= NESTING_MAX {
            return Err(too_deep());
        }
        self.open.push(what);
        self.expected = expected;
        Ok(())
    }

    fn close(&mut self) {
        self.open.pop();
        self.expected = Expected::Next;
    }

    fn peek(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// The next token and its bytes.
    fn token(&mut self) -> Result<(Token, &'t [u8])> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek(self.at) {
            self.at += 1;
        }
        let start = self.at;
        let token = match self.peek(start) {
            None => return Ok((Token::End, &[])),
            Some(sign @ (b'{' | b'}' | b'[' | b']' | b',' | b':')) => {
                self.at += 1;
                Token::Sign(sign)
            }
            Some(b'"') => {
                self.at = self.string_end(start)?;
                Token::String
            }
            Some(b'-' | b'0'..=b'9') => {
                self.at = self.number_end(start)?;
                Token::Number
            }
            Some(_) => {
                let end = self.run(start, is_word_byte);
                if !matches!(&self.text[start..end], b"true" | b"false" | b"null") {
                    return Err(self.bad_token(start, end.max(start + 1)));
                }
                self.at = end;
                Token::Word
            }
        };
        Ok((token, &self.text[start..self.at]))
    }

    /// Where bytes of a kind end that begin at `at`.
    fn run(&self, at: usize, is_part: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + rest.iter().position(|&byte| !is_part(byte)).unwrap_or(rest.len())
    }

    #[cold]
    fn bad_token(&self, start: usize, end: usize) -> Error {
        let token = String::from_utf8_lossy(&self.text[start..end]);
        malformed(format!("Token \"{token}\" is invalid."))
    }

    /// Behind the string that begins at `start`; what escapes stand for is not looked at.
    fn string_end(&self, start: usize) -> Result<usize> {
        let mut at = start + 1;
        loop {
            at = self.run(at, |byte| byte >= 32 && byte != b'"' && byte != b'\\');
            match self.peek(at) {
                Some(b'"') => return Ok(at + 1),
                Some(b'\\') => at = self.escape_end(start, at + 1)?,
                Some(byte) => {
                    let detail = format!("Character with value 0x{byte:02x} must be escaped.");
                    return Err(malformed(detail));
                }
                None => return Err(self.bad_token(start, self.text.len())),
            }
        }
    }

    fn escape_end(&self, start: usize, at: usize) -> Result<usize> {
        match self.peek(at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 1),
            Some(b'u') => {
                let digits = self.text.get(at + 1..at + 5);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return match self.run(at + 1, |byte| byte.is_ascii_hexdigit()) {
                        // Nothing but digits, and too few: the string has no end.
                        end if end == self.text.len() => Err(self.bad_token(start, end)),
                        _ => Err(malformed("\"\\u\" must be followed by four hexadecimal digits.")),
                    };
                }
                Ok(at + 5)
            }
            Some(_) => {
                // The whole character.
                let end = self.run(at + 1, |byte| byte & 0xc0 == 0x80);
                let shown = String::from_utf8_lossy(&self.text[at..end]);
                Err(malformed(format!("Escape sequence \"\\{shown}\" is invalid.")))
            }
            None => Err(self.bad_token(start, self.text.len())),
        }
    }

    fn number_end(&self, start: usize) -> Result<usize> {
        let digits = |at: usize| self.run(at, |byte| byte.is_ascii_digit());
        let mut at = start + usize::from(self.peek(start) == Some(b'-'));
        let mut good = true;
        match self.peek(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at = digits(at),
            _ => good = false,
        }
        if self.peek(at) == Some(b'.') {
            let end = digits(at + 1);
            good &= end > at + 1;
            at = end;
        }
        if matches!(self.peek(at), Some(b'e' | b'E')) {
            at += 1 + usize::from(matches!(self.peek(at + 1), Some(b'+' | b'-')));
            let end = digits(at);
            good &= end > at;
            at = end;
        }
        let end = self.run(at, is_word_byte);
        if good && end == at { Ok(at) } else { Err(self.bad_token(start, end)) }
    }
}

/// 22P02 for a token that may not stand here.
#[cold]
fn unexpected(expected: &str, token: Token, bytes: &[u8]) -> Error {
    match token {
        Token::End => malformed("The input string ended unexpectedly."),
        _ => {
            let found = String::from_utf8_lossy(bytes);
            malformed(format!("Expected {expected}, but found \"{found}\"."))
        }
    }
}
