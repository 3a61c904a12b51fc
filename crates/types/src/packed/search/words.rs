//! Words of the texts of TSVECTOR and TSQUERY: with or without quotes, and what follows them.

use super::vector::{POSITION_MAX, Place};
use crate::{Error, Result, SqlState};

/// The text that words stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `a:1A 'b c'`: words with places.
    Vector,
    /// `a & b`: operators end words.
    Query,
    /// As people type it: quotes and backslashes are letters, double quotes end words.
    Web,
}

/// Reads words of a text from its begin to its end.
pub(super) struct WordReader<'t> {
    text: &'t str,
    pub at: usize,
    syntax: Syntax,
}

/// True for operators and brackets of TSQUERY.
pub(super) const fn is_operator(letter: char) -> bool {
    matches!(letter, '!' | '&' | '|' | '(' | ')' | '<')
}

/// True for what separates words.
pub(super) fn is_space(letter: char) -> bool {
    letter.is_whitespace() && !matches!(letter, '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}')
}

impl<'t> WordReader<'t> {
    pub(super) fn new(text: &'t str, syntax: Syntax) -> Self {
        Self { text, at: 0, syntax }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(super) fn step(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// 42601 in PostgreSQL's words.
    #[cold]
    pub(super) fn syntax_error(&self) -> Error {
        let ty = if self.syntax == Syntax::Vector { "tsvector" } else { "tsquery" };
        let message = format!("syntax error in {ty}: \"{}\"", self.text);
        Error::new(SqlState::SYNTAX_ERROR, message)
    }

    fn ends_word(&self, letter: char) -> bool {
        match self.syntax {
            Syntax::Vector => false,
            Syntax::Query => is_operator(letter),
            Syntax::Web => is_operator(letter) || letter == '"',
        }
    }

    /// The letter behind a backslash.
    fn escaped(&mut self) -> Result<char> {
        self.step();
        let message = || format!("there is no escaped character: \"{}\"", self.text);
        let missing = || Error::new(SqlState::SYNTAX_ERROR, message());
        let letter = self.peek().ok_or_else(missing)?;
        self.step();
        Ok(letter)
    }

    /// The next word; None at the end.
    ///
    /// # Errors
    /// 42601.
    pub(super) fn word(&mut self) -> Result<Option<Vec<u8>>> {
        while self.peek().is_some_and(is_space) {
            self.step();
        }
        let Some(first) = self.peek() else { return Ok(None) };
        let is_plain = self.syntax == Syntax::Web;
        let word = match first {
            '\'' if !is_plain => self.quoted()?,
            _ if self.ends_word(first) => return Err(self.syntax_error()),
            _ => self.unquoted()?,
        };
        if word.is_empty() {
            return Err(self.syntax_error());
        }
        Ok(Some(word.into_bytes()))
    }

    fn quoted(&mut self) -> Result<String> {
        let mut word = String::new();
        self.step();
        loop {
            match self.peek().ok_or_else(|| self.syntax_error())? {
                '\'' => {
                    self.step();
                    if self.peek() != Some('\'') {
                        return Ok(word);
                    }
                    word.push('\'');
                    self.step();
                }
                '\\' => word.push(self.escaped()?),
                letter => {
                    word.push(letter);
                    self.step();
                }
            }
        }
    }

    fn unquoted(&mut self) -> Result<String> {
        let mut word = String::new();
        while let Some(letter) = self.peek() {
            match letter {
                '\\' if self.syntax != Syntax::Web => word.push(self.escaped()?),
                // A colon ends a word, but does not begin one.
                ':' if !word.is_empty() => break,
                _ if is_space(letter) || self.ends_word(letter) => break,
                _ => {
                    word.push(letter);
                    self.step();
                }
            }
        }
        Ok(word)
    }

    /// The places behind a word of a TSVECTOR.
    ///
    /// # Errors
    /// 42601.
    pub(super) fn places(&mut self) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        if self.peek() != Some(':') {
            return Ok(places);
        }
        loop {
            self.step();
            places.push(self.place()?);
            match self.peek() {
                Some(',') => {}
                None => return Ok(places),
                Some(letter) if is_space(letter) => return Ok(places),
                Some(_) => return Err(self.syntax_error()),
            }
        }
    }

    fn place(&mut self) -> Result<Place> {
        if !self.peek().is_some_and(|letter| letter.is_ascii_digit()) {
            return Err(self.syntax_error());
        }
        let position = self.digits();
        let position = u16::try_from(position).unwrap_or(POSITION_MAX).min(POSITION_MAX);
        if position == 0 {
            let message = format!("wrong position info in tsvector: \"{}\"", self.text);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let mut weight = 0;
        while let Some(letter) = self.peek() {
            let given = match letter {
                'A' | 'a' | '*' => 3,
                'B' | 'b' => 2,
                'C' | 'c' => 1,
                'D' | 'd' => 0,
                '0'..='9' => weight,
                _ => break,
            };
            if weight > 0 && !letter.is_ascii_digit() {
                return Err(self.syntax_error());
            }
            weight = given;
            self.step();
        }
        Ok(Place { position, weight })
    }

    /// The number that follows.
    pub(super) fn digits(&mut self) -> u64 {
        let mut number = 0_u64;
        while let Some(digit) = self.peek().and_then(|letter| letter.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(u64::from(digit));
            self.step();
        }
        number
    }
}
