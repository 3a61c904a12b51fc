//! Messages of PostgreSQL's protocol, version 3: bytes to fields, fields to bytes.
//!
//! ```text
//! message: [kind u8][length u32 BE, itself included][body]    text ends with a zero byte
//! ```
//! Invariant: reading never panics, whatever the bytes; a body with too few or too many bytes is
//! 08P01.

use engine::{Notice, Notification};
use types::charset::{Charset, invalid};
use types::{Error, Position, Result, SqlState};

/// 08P01: what came is not the protocol.
pub(crate) fn violation(message: impl Into<String>) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, message)
}

/// The fields of a message's body, from the front.
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self(body)
    }

    fn short() -> Error {
        violation("insufficient data left in message")
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(Self::short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(Self::short)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Text up to its zero byte.
    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| violation("invalid string in message"))?;
        let bytes = self.bytes(end + 1)?;
        let text = std::str::from_utf8(&bytes[..end]);
        text.map_err(|error| invalid(Charset::UTF8, &bytes[error.valid_up_to()..end]))
    }

    /// A value with its length before it; None for NULL.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| Self::short())?;
                self.bytes(length).map(Some)
            }
        }
    }

    /// Fails when bytes are left.
    pub(crate) fn end(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(violation("invalid message format")) }
    }
}

/// Appends a message of `kind`, whose body `fill` appends.
pub(crate) fn message(out: &mut Vec<u8>, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    finish(out, start);
}

/// Writes the length of what begins with its place at `start`.
pub(crate) fn finish(out: &mut [u8], start: usize) {
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends text and its zero byte.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    if text.as_bytes().contains(&0) {
        // One inside would end it, and the message would be another.
        out.extend(text.bytes().filter(|byte| *byte != 0))
    } else {
        out.extend_from_slice(text.as_bytes())
    }
    out.push(0);
}

/// A message without body.
pub(crate) fn empty(out: &mut Vec<u8>, kind: u8) {
    out.extend_from_slice(&[kind, 0, 0, 0, 4]);
}

/// CommandComplete.
pub(crate) fn complete(out: &mut Vec<u8>, tag: &str) {
    message(out, b'C', |out| push_text(out, tag));
}

/// ReadyForQuery.
pub(crate) fn ready(out: &mut Vec<u8>, status: u8) {
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

/// ParameterStatus.
pub(crate) fn parameter(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |out| {
        push_text(out, name);
        push_text(out, value);
    });
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The statement ends.
    Error,
    /// The connection ends.
    Fatal,
}

/// ErrorResponse for an error about `text`, the statement sent.
pub(crate) fn error(out: &mut Vec<u8>, severity: Severity, error: &Error, text: &str) {
    let name = match severity {
        Severity::Error => "ERROR",
        Severity::Fatal => "FATAL",
    };
    message(out, b'E', |out| report(out, name, error, text));
}

/// NoticeResponse.
pub(crate) fn notice(out: &mut Vec<u8>, notice: &Notice) {
    message(out, b'N', |out| report(out, notice.severity.name(), &notice.error, ""));
}

/// NotificationResponse.
pub(crate) fn notification(out: &mut Vec<u8>, notification: &Notification) {
    message(out, b'A', |out| {
        out.extend_from_slice(&notification.session.to_be_bytes());
        push_text(out, &notification.channel);
        push_text(out, &notification.payload);
    });
}

fn report(out: &mut Vec<u8>, severity: &str, error: &Error, text: &str) {
    let mut field = |code: u8, value: &str| {
        out.push(code);
        push_text(out, value);
    };
    field(b'S', severity);
    field(b'V', severity);
    field(b'C', error.state().as_str());
    field(b'M', error.message());
    if let Some(detail) = error.detail() {
        field(b'D', detail);
    }
    if let Some(hint) = error.hint() {
        field(b'H', hint);
    }
    if let Some(about) = error.about() {
        field(b's', &about.schema);
        field(b't', &about.table);
        about.column.iter().for_each(|name| field(b'c', name));
        about.constraint.iter().for_each(|name| field(b'n', name));
    }
    if let Some(position) = error.position().filter(|_| !text.is_empty()) {
        field(b'P', &character(text, position).to_string());
    }
    if let Some(routine) = error.routine() {
        field(b'R', routine);
    }
    out.push(0);
}

/// The number of the character at `position`, from 1.
fn character(text: &str, position: Position) -> usize {
    let lines = text.split_inclusive('\n').take(position.line.saturating_sub(1) as usize);
    let before: usize = lines.map(|line| line.chars().count()).sum();
    before + position.column.max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        let at = |line, column| character("a\nöü\nselect", Position { line, column });
        assert_eq!((at(1, 1), at(2, 2), at(3, 1)), (1, 4, 6));
    }

    #[test]
    fn short_bodies_are_violations() {
        assert!(Fields::new(b"abc").text().is_err());
        assert!(Fields::new(&[0, 0, 0, 9, 1]).value().is_err());
        assert!(Fields::new(&[0xff, 0xff, 0xff, 0xfe]).value().is_err());
        assert_eq!(Fields::new(&[0xff; 4]).value().expect("NULL"), None);
        assert!(Fields::new(&[1]).end().is_err());
    }
}
