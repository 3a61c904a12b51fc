//! Messages from and to clients whose encoding is not UTF-8.
//!
//! ```text
//! message of the client -> the same with its texts in UTF-8 -> whoever serves it
//! messages as they are made -> the same with their texts in the client's encoding -> `Link`
//! ```
//! Invariants: messages of clients with UTF-8 or SQL_ASCII never come here; what is no text is
//! handed on as it is, and so is what is malformed, for others to complain about.
//!
//! Elsewhere: encodings (`types::charset`), streams of COPY (`engine`).

pub(crate) mod binary;

use types::charset::Charset;
use types::{DataType, Result};

use crate::encode::{Format, format_at};
use crate::message::finish;

/// Direction of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the client.
    In(Charset),
    /// To the client.
    Out(Charset),
}

impl Way {
    /// Appends `text` on its way.
    ///
    /// # Errors
    /// 22021 for bytes that are no text, 22P05 for characters that the other side lacks.
    fn push(self, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::In(charset) => charset.decode(text, out),
            Self::Out(charset) => charset.encode(types::charset::text_of(text)?, out),
        }
    }

    /// Appends `value` behind its length, both with their texts on their way.
    fn push_counted(
        self,
        out: &mut Vec<u8>,
        push: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        push(out)?;
        let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

/// Parts of a message that is rewritten, from the front.
struct Parts<'a> {
    rest: &'a [u8],
    out: &'a mut Vec<u8>,
    way: Way,
}

/// A part that was rewritten, or None when the message has none such.
type Part<T = ()> = Result<Option<T>>;

impl<'a> Parts<'a> {
    /// Hands on so many bytes.
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        self.out.extend_from_slice(taken);
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.bytes(2)?.first_chunk().copied().map(u16::from_be_bytes)
    }

    /// Hands on a text and its zero byte; true for one with characters.
    fn text(&mut self) -> Part<bool> {
        let Some(end) = self.rest.iter().position(|byte| *byte == 0) else { return Ok(None) };
        self.way.push(&self.rest[..end], self.out)?;
        self.out.push(0);
        self.rest = &self.rest[end + 1..];
        Ok(Some(end > 0))
    }

    /// Hands on a value with its length before it.
    fn value(&mut self, format: Format, ty: Option<DataType>) -> Part {
        let Some(length) = self.rest.first_chunk().copied().map(i32::from_be_bytes) else {
            return Ok(None);
        };
        let Ok(length) = usize::try_from(length) else { return Ok(self.bytes(4).map(|_| ())) };
        let Some(value) = self.rest[4..].get(..length) else { return Ok(None) };
        self.rest = &self.rest[4 + length..];
        let way = self.way;
        way.push_counted(self.out, |out| match ty {
            Some(ty) => push_value(out, value, ty, format, way),
            None if format == Format::Text => way.push(value, out),
            None => {
                out.extend_from_slice(value);
                Ok(())
            }
        })?;
        Ok(Some(()))
    }

    /// Hands on what is left.
    fn end(self) {
        self.out.extend_from_slice(self.rest);
    }
}

/// Appends a value, without its length, on its way.
fn push_value(
    out: &mut Vec<u8>,
    value: &[u8],
    ty: DataType,
    format: Format,
    way: Way,
) -> Result<()> {
    match format {
        Format::Text => way.push(value, out),
        Format::Binary => binary::push(out, value, ty, way),
    }
}

/// An argument of a function that a client calls by its number, with its texts in UTF-8.
///
/// # Errors
/// 22021 for bytes that are no text, 22P05 for characters that Unicode lacks.
pub(crate) fn argument(
    value: &[u8],
    ty: DataType,
    format: Format,
    charset: Charset,
) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len());
    push_value(&mut out, value, ty, format, Way::In(charset))?;
    Ok(out)
}

/// The answer of such a function, behind its length, in the encoding of the client.
///
/// # Errors
/// 22P05 for a character that `charset` lacks.
pub(crate) fn answered(
    cell: &[u8],
    ty: DataType,
    format: Format,
    charset: Charset,
) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(cell.len());
    let mut parts = Parts { rest: cell, out: &mut out, way: Way::Out(charset) };
    parts.value(format, Some(ty))?;
    parts.end();
    Ok(out)
}

/// Types of the parameters of a statement by its name.
pub(crate) type Parameters<'a> = &'a dyn Fn(&str) -> Option<Vec<DataType>>;

/// The body of a client's message of this kind with its texts in UTF-8.
///
/// # Errors
/// 22021 for bytes that are no text, 22P05 for characters that Unicode lacks.
pub(crate) fn request(
    kind: u8,
    body: &[u8],
    charset: Charset,
    parameters: Parameters<'_>,
) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len() + body.len() / 4);
    let mut parts = Parts { rest: body, out: &mut out, way: Way::In(charset) };
    match kind {
        b'Q' | b'E' | b'f' => _ = parts.text()?,
        b'P' => _ = parts.text()?.is_some() && parts.text()?.is_some(),
        b'D' | b'C' if parts.bytes(1).is_some() => _ = parts.text()?,
        b'B' => _ = bind(&mut parts, parameters)?,
        _ => {}
    }
    parts.end();
    Ok(out)
}

/// Bind: portal, statement, formats, values.
fn bind(parts: &mut Parts<'_>, parameters: Parameters<'_>) -> Part {
    if parts.text()?.is_none() {
        return Ok(None);
    }
    let start = parts.out.len();
    if parts.text()?.is_none() {
        return Ok(None);
    }
    let name = String::from_utf8_lossy(&parts.out[start..parts.out.len() - 1]).into_owned();
    let types = parameters(&name).unwrap_or_default();
    let Some(count) = parts.u16() else { return Ok(None) };
    let mut formats = Vec::with_capacity(count.into());
    for _ in 0..count {
        let Some(code) = parts.u16() else { return Ok(None) };
        formats.push(if code == 0 { Format::Text } else { Format::Binary });
    }
    let Some(count) = parts.u16() else { return Ok(None) };
    for at in 0..usize::from(count) {
        if parts.value(format_at(&formats, at), types.get(at).copied())?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

/// Rewrites the messages that `messages` has from `start` on, none of which are rows; takes them
/// away when there is an error.
///
/// # Errors
/// 22P05 for a character that `charset` lacks.
pub(crate) fn answers(messages: &mut Vec<u8>, start: usize, charset: Charset) -> Result<()> {
    if messages[start..].is_ascii() {
        return Ok(());
    }
    let made = messages.split_off(start);
    let mut rest = &made[..];
    while let Some((header, behind)) = rest.split_first_chunk::<5>() {
        let [kind, length @ ..] = *header;
        let length = (u32::from_be_bytes(length) as usize).saturating_sub(4).min(behind.len());
        let (body, next) = behind.split_at(length);
        rest = next;
        messages.push(kind);
        let at = messages.len();
        messages.extend_from_slice(&[0; 4]);
        let mut parts = Parts { rest: body, out: messages, way: Way::Out(charset) };
        if let Err(error) = answer(kind, &mut parts) {
            messages.truncate(start);
            return Err(error);
        }
        parts.end();
        finish(messages, at);
    }
    Ok(())
}

/// The texts of one message.
fn answer(kind: u8, parts: &mut Parts<'_>) -> Part {
    match kind {
        // Columns: behind each name 18 bytes.
        b'T' => {
            let Some(count) = parts.u16() else { return Ok(None) };
            for _ in 0..count {
                if parts.text()?.is_none() || parts.bytes(18).is_none() {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        }
        // Fields of a report, each behind a byte that is not zero.
        b'E' | b'N' => {
            while parts.bytes(1).is_some_and(|code| code != [0]) && parts.text()?.is_some() {}
            Ok(Some(()))
        }
        b'A' if parts.bytes(4).is_none() => Ok(None),
        b'A' | b'S' => {
            while parts.text()?.is_some() {}
            Ok(Some(()))
        }
        b'C' => Ok(parts.text()?.map(|_| ())),
        _ => Ok(None),
    }
}

/// Rewrites the values of the row that `rows` has from `start` on, behind the kind of the message;
/// takes them away when there is an error.
///
/// # Errors
/// 22P05 for a character that `charset` lacks.
pub(crate) fn row(
    rows: &mut Vec<u8>,
    start: usize,
    types: &[(DataType, Format)],
    charset: Charset,
) -> Result<()> {
    fields(rows, start + 4, types, charset)?;
    finish(rows, start);
    Ok(())
}

/// As [`row`], from the number of the fields on.
///
/// # Errors
/// As there.
pub(crate) fn fields(
    rows: &mut Vec<u8>,
    start: usize,
    types: &[(DataType, Format)],
    charset: Charset,
) -> Result<()> {
    if rows[start..].is_ascii() {
        return Ok(());
    }
    let made = rows.split_off(start);
    let mut parts = Parts { rest: &made, out: rows, way: Way::Out(charset) };
    _ = parts.u16();
    for (ty, format) in types {
        if let Err(error) = parts.value(*format, Some(*ty)) {
            rows.truncate(start);
            return Err(error);
        }
    }
    parts.end();
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use types::ElementType;

    use super::*;

    fn latin1() -> Charset {
        Charset::named("latin1").expect("an encoding")
    }

    #[test]
    fn texts_of_requests_become_utf8() {
        let none: Parameters<'_> = &|_| None;
        let made = request(b'Q', b"select '\xe9'\0", latin1(), none).expect("text");
        assert_eq!(made, "select 'é'\0".as_bytes());
        let types: Parameters<'_> = &|name| (name == "ß").then(|| vec![DataType::Text; 2]);
        let bind = b"\0\xdf\0\0\x02\0\0\0\x01\0\x02\0\0\0\x01\xe4\0\0\0\x01\xfc\0\0";
        let made = request(b'B', bind, latin1(), types).expect("text");
        let expected = "\0ß\0\0\x02\0\0\0\x01\0\x02\0\0\0\x02ä\0\0\0\x02ü\0\0";
        assert_eq!(made, expected.as_bytes());
    }

    #[test]
    fn rows_and_reports_are_in_the_encoding_of_the_client() {
        let element = ElementType::new(DataType::Text).expect("an element");
        let types = [(DataType::Text, Format::Text), (DataType::Array(element), Format::Binary)];
        let mut out = b"D".to_vec();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&[0, 2, 0, 0, 0, 2]);
        out.extend_from_slice("é".as_bytes());
        let array =
            [&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25][..], &[0, 0, 0, 1, 0, 0, 0, 1]].concat();
        out.extend_from_slice(&[0, 0, 0, 26]);
        out.extend_from_slice(&array);
        out.extend_from_slice(b"\0\0\0\x02\xc3\xa9");
        row(&mut out, 1, &types, latin1()).expect("LATIN1 has é");
        let expected =
            [&b"D\0\0\0\x28\0\x02\0\0\0\x01\xe9\0\0\0\x19"[..], &array, b"\0\0\0\x01\xe9"];
        assert_eq!(out, expected.concat());
        let mut out = b"kept".to_vec();
        out.extend_from_slice("E\0\0\0\x09M中\0\0".as_bytes());
        let error = answers(&mut out, 4, latin1()).expect_err("LATIN1 lacks it");
        assert_eq!(error.state(), types::SqlState::UNTRANSLATABLE);
        assert_eq!(out, b"kept");
    }

    proptest! {
        #[test]
        fn no_body_panics(
            kind in prop_oneof![Just(b'B'), Just(b'P'), Just(b'D'), any::<u8>()],
            body in proptest::collection::vec(prop_oneof![0..4_u8, any::<u8>()], 0..64),
        ) {
            let element = ElementType::new(DataType::Text).expect("an element");
            let types: Parameters<'_> = &|_| Some(vec![DataType::Array(element); 4]);
            let _ = request(kind, &body, latin1(), types);
            let mut message = vec![kind];
            message.extend_from_slice(&body);
            let _ = answers(&mut message, 0, latin1());
        }
    }
}
