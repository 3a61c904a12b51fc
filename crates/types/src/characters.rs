//! Characters: which of them are blank, short texts built in place, and the error for a text that
//! is no value of its type.
//!
//! Read by everything that reads or prints values.

use std::fmt::{self, Write};

use crate::{Error, SqlState};

/// A short text built without allocation; what exceeds 80 bytes is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    bytes: [u8; 80],
    len: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { bytes: [0; 80], len: 0 }
    }
}

impl Buffer {
    pub(crate) fn write(&mut self, arguments: fmt::Arguments<'_>) {
        // `write_str` below never fails.
        let _ = self.write_fmt(arguments);
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - self.len;
        let count = text.len().min(room);
        self.bytes[self.len..self.len + count].copy_from_slice(&text.as_bytes()[..count]);
        self.len += count;
        Ok(())
    }
}

/// True for what C's isspace takes.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// `text` without blanks at both ends.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// 22P02 in PostgreSQL's words.
#[cold]
pub(crate) fn syntax_error(type_name: &str, text: &str) -> Error {
    let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
    Error::new(SqlState::INVALID_TEXT, message)
}

/// Treatment of text that is too long for its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// 22001, unless it is blank: assignment.
    Error,
    /// The text is cut off: explicit casts.
    Cut,
}

/// The text without the blanks at its end.
pub fn without_blanks(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
    &text[..end]
}
