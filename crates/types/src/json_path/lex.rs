//! The tokens of a path.

use super::malformed;
use crate::json::too_deep;
use crate::{Error, Result, SqlState};

/// Tokens that a path has at the most.
const TOKENS_MAX: usize = 20_000;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name without quotes, which may be a keyword.
    Name(String),
    /// `"text"`
    String(String),
    /// `$name`, `$"name"`
    Variable(String),
    /// A number without point and exponent.
    Integer(String),
    /// Another number.
    Decimal(String),
    /// An operator.
    Sign(&'static str),
    /// The end of the path.
    End,
}

/// Operators, the longest first.
const SIGNS: [&str; 33] = [
    "&&", "||", "**", "<=", "<>", "==", "!=", ">=", "<", ">", "!", "=", "(", ")", "[", "]", "{",
    "}", "?", "$", "@", ".", "*", "+", "-", "/", "%", ",", ":", "#", "&", "|", "\\",
];

/// True for what ends a name.
fn is_special(byte: u8) -> bool {
    matches!(
        byte,
        b'?' | b'%'
            | b'$'
            | b'.'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'('
            | b')'
            | b'|'
            | b'&'
            | b'!'
            | b'='
            | b'<'
            | b'>'
            | b'@'
            | b'#'
            | b','
            | b'*'
            | b':'
            | b'-'
            | b'+'
            | b'/'
    )
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// True for what names are made of, without escapes.
fn is_plain(byte: u8) -> bool {
    !is_special(byte) && !is_blank(byte) && byte != b'"' && byte != b'\\'
}

/// The tokens of `text` with their places, the end as the last one.
///
/// # Errors
/// 42601, 22P05, 22P02.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, std::ops::Range<usize>)>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip()?;
        let start = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((token, start..lexer.at));
        if is_end {
            return Ok(tokens);
        }
        if tokens.len() > TOKENS_MAX {
            return Err(too_deep());
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<u8> {
        self.peek_behind(0)
    }

    fn peek_behind(&self, bytes: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + bytes).copied()
    }

    /// Passes blanks and comments.
    fn skip(&mut self) -> Result<()> {
        loop {
            match self.peek() {
                Some(byte) if is_blank(byte) => self.at += 1,
                Some(b'/') if self.peek_behind(1) == Some(b'*') => {
                    let Some(end) = self.text[self.at + 2..].find("*/") else {
                        return Err(malformed("unexpected end of comment at end"));
                    };
                    self.at += end + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    fn token(&mut self) -> Result<Token> {
        let Some(byte) = self.peek() else { return Ok(Token::End) };
        match byte {
            b'"' => {
                self.at += 1;
                self.quoted().map(Token::String)
            }
            b'$' if self.peek_behind(1) == Some(b'"') => {
                self.at += 2;
                self.quoted().map(Token::Variable)
            }
            b'$' if self.peek_behind(1).is_some_and(is_plain) => {
                self.at += 1;
                let start = self.at;
                self.plain();
                Ok(Token::Variable(self.text[start..self.at].to_owned()))
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.peek_behind(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
            _ if is_special(byte) => self.sign(),
            _ => self.name().map(Token::Name),
        }
    }

    fn sign(&mut self) -> Result<Token> {
        let rest = &self.text[self.at..];
        match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            Some(sign) => {
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
            None => Err(malformed(format!("syntax error at or near \"{rest}\""))),
        }
    }

    /// Passes what names are made of.
    fn plain(&mut self) {
        while self.peek().is_some_and(is_plain) {
            self.at += 1;
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Token> {
        let start = self.at;
        let mut is_integer = true;
        // A zero is followed by no other digit.
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits();
        }
        let mut is_junk = self.peek().is_some_and(|byte| byte.is_ascii_digit());
        if !is_junk && self.peek() == Some(b'.') {
            is_integer = false;
            self.at += 1;
            self.digits();
        }
        if !is_junk && matches!(self.peek(), Some(b'e' | b'E')) {
            is_integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'-' | b'+')) {
                self.at += 1;
            }
            is_junk = self.digits() == 0;
        }
        if is_junk || self.peek().is_some_and(is_plain) {
            let end = self.text[self.at..].chars().next().map_or(0, char::len_utf8) + self.at;
            let near = &self.text[start..end];
            let what = format!("trailing junk after numeric literal at or near \"{near}\"");
            return Err(malformed(what));
        }
        let text = self.text[start..self.at].to_owned();
        Ok(if is_integer { Token::Integer(text) } else { Token::Decimal(text) })
    }

    /// A name without quotes, in which there may be escapes.
    fn name(&mut self) -> Result<String> {
        let mut out = String::new();
        loop {
            let start = self.at;
            self.plain();
            out.push_str(&self.text[start..self.at]);
            if self.peek() != Some(b'\\') {
                return Ok(out);
            }
            self.escape(&mut out)?;
        }
    }

    /// A text behind its first quote.
    fn quoted(&mut self) -> Result<String> {
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            out.push_str(&self.text[start..self.at]);
            match self.peek() {
                None => return Err(malformed("unterminated quoted string at end")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(_) => self.escape(&mut out)?,
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<()> {
        self.at += 1;
        let Some(next) = self.text[self.at..].chars().next() else {
            return Err(malformed("unexpected end after backslash at end"));
        };
        self.at += next.len_utf8();
        out.push(match next {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'u' => return self.unicode(out),
            'x' => {
                let code = self.hexadecimal(2, "invalid hex character sequence")?;
                character(code)?
            }
            other => other,
        });
        Ok(())
    }

    /// Exactly so many hexadecimal digits.
    fn hexadecimal(&mut self, digits: usize, message: &str) -> Result<u32> {
        let text = self.text.get(self.at..self.at + digits);
        let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = text.and_then(|text| u32::from_str_radix(text, 16).ok());
        self.at += digits;
        code.ok_or_else(|| malformed(format!("{message} at or near \"\\\"")))
    }

    /// A code behind `\u`.
    fn code(&mut self) -> Result<u32> {
        const MESSAGE: &str = "invalid Unicode escape sequence";
        if self.peek() != Some(b'{') {
            return self.hexadecimal(4, MESSAGE);
        }
        self.at += 1;
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let closes = rest.as_bytes().get(digits) == Some(&b'}');
        if !closes || !(1..=6).contains(&digits) {
            return Err(malformed(format!("{MESSAGE} at or near \"\\u\"")));
        }
        let code = self.hexadecimal(digits, MESSAGE)?;
        self.at += 1;
        Ok(code)
    }

    fn unicode(&mut self, out: &mut String) -> Result<()> {
        let mut code = self.code()?;
        if (0xd800..0xdc00).contains(&code) {
            if !self.text[self.at..].starts_with("\\u") {
                return Err(surrogate("Unicode low surrogate must follow a high surrogate."));
            }
            self.at += 2;
            let low = self.code()?;
            if (0xd800..0xdc00).contains(&low) {
                let detail = "Unicode high surrogate must not follow a high surrogate.";
                return Err(surrogate(detail));
            }
            if !(0xdc00..0xe000).contains(&low) {
                return Err(surrogate("Unicode low surrogate must follow a high surrogate."));
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else if (0xdc00..0xe000).contains(&code) {
            return Err(surrogate("Unicode low surrogate must follow a high surrogate."));
        }
        out.push(character(code)?);
        Ok(())
    }
}

#[cold]
fn surrogate(detail: &str) -> Error {
    let message = "invalid input syntax for type jsonpath";
    Error::new(SqlState::INVALID_TEXT, message).with_detail(detail)
}

fn character(code: u32) -> Result<char> {
    match char::from_u32(code) {
        Some('\0') => {
            let message = "unsupported Unicode escape sequence";
            Err(Error::new(SqlState::UNTRANSLATABLE, message)
                .with_detail("\\u0000 cannot be converted to text."))
        }
        Some(character) => Ok(character),
        None => Err(malformed("invalid Unicode escape value at or near \"\\u\"")),
    }
}
