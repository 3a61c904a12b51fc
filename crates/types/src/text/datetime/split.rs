//! Text of dates and times taken apart into fields, before anybody knows what they mean.

use super::{Failure, Parsed};

/// Form of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Digits, perhaps with a point.
    Number,
    /// Parts joined by `-`, `/` or `.`, or the name of a zone.
    Date,
    /// `hh:mm...`
    Time,
    /// A sign and digits.
    Offset,
    /// Letters.
    Word,
    /// A sign and letters.
    Special,
}

/// Fields that a text has at most.
const FIELDS_MAX: usize = 25;

/// The fields of `text` in lower case.
///
/// Source: PostgreSQL 15, datetime.c, `ParseDateTime`.
pub(super) fn split(text: &str) -> Parsed<Vec<(Form, String)>> {
    let bytes = text.as_bytes();
    let mut fields = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let run = |from: usize, accept: &dyn Fn(u8) -> bool| {
            from + bytes[from..].iter().take_while(|b| accept(**b)).count()
        };
        let next = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let mut field = None;
        let form = match byte {
            _ if crate::characters::is_space(byte) => {
                at += 1;
                continue;
            }
            b'0'..=b'9' => {
                let (form, end) = numeric(bytes, start);
                at = end;
                form
            }
            b'.' => {
                at = run(start + 1, &|b| b.is_ascii_digit());
                Form::Number
            }
            _ if byte.is_ascii_alphabetic() => {
                at = run(start, &|b| b.is_ascii_alphabetic());
                let is_date = match next(at) {
                    b'-' | b'/' | b'.' => true,
                    b'+' | b'0'..=b'9' => !super::words::is_known(&text[start..at]),
                    _ => false,
                };
                if is_date {
                    at = run(at, &|b| b.is_ascii_alphanumeric() || b"+-/_.:".contains(&b));
                }
                if is_date { Form::Date } else { Form::Word }
            }
            b'+' | b'-' => {
                let body = run(start + 1, &crate::characters::is_space);
                let form = match next(body) {
                    b'0'..=b'9' => {
                        at = run(body, &|b| b.is_ascii_digit() || b":.-".contains(&b));
                        Form::Offset
                    }
                    b if b.is_ascii_alphabetic() => {
                        at = run(body, &|b| b.is_ascii_alphabetic());
                        Form::Special
                    }
                    _ => return Err(Failure::Format),
                };
                field = Some(format!("{}{}", byte as char, &text[body..at]));
                form
            }
            _ if byte.is_ascii_punctuation() => {
                at += 1;
                continue;
            }
            _ => return Err(Failure::Format),
        };
        if fields.len() == FIELDS_MAX {
            return Err(Failure::Format);
        }
        let field = field.unwrap_or_else(|| text[start..at].to_owned());
        fields.push((form, field.to_ascii_lowercase()));
    }
    Ok(fields)
}

/// The form of a field that begins with a digit, and where it ends.
fn numeric(bytes: &[u8], start: usize) -> (Form, usize) {
    let run = |from: usize, accept: &dyn Fn(u8) -> bool| {
        from + bytes[from..].iter().take_while(|b| accept(**b)).count()
    };
    let at = run(start, &|b| b.is_ascii_digit());
    match bytes.get(at).copied() {
        Some(b':') => (Form::Time, run(at, &|b| b.is_ascii_digit() || b == b':' || b == b'.')),
        Some(separator @ (b'-' | b'/' | b'.')) => {
            let second = at + 1;
            if !bytes.get(second).is_some_and(u8::is_ascii_digit) {
                let end = run(second, &|b| b.is_ascii_alphanumeric() || b == separator);
                return (Form::Date, end);
            }
            let end = run(second, &|b| b.is_ascii_digit());
            if bytes.get(end) == Some(&separator) {
                return (Form::Date, run(end, &|b| b.is_ascii_digit() || b == separator));
            }
            (if separator == b'.' { Form::Number } else { Form::Date }, end)
        }
        _ => (Form::Number, at),
    }
}
