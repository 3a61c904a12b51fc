//! format: text by a template.

use types::array::{self, Elements};
use types::{ElementType, Error, Result, SqlState};

use super::{character_count, push_literal, quoted};
use crate::rows::{Texts, Written, count, utf8, validity};
use crate::{StrBuilder, Vector, VectorData};

/// format(TEXT template, TEXT ...): NULL when the template is.
///
/// # Errors
/// 22023 for a malformed template or too few values, 22004 for NULL as a name, 22P02 and 22003 for
/// a width that is no number.
pub fn format(template: &Vector, values: &[&Vector]) -> Result<Vector> {
    let texts: Vec<Texts<'_>> = values.iter().map(|values| Texts::new(values)).collect();
    let mut all = vec![template];
    all.extend_from_slice(values);
    each(template, &all, |i, template, out| {
        let value = |n: usize| {
            let vector = values.get(n)?;
            let is_null = vector.is_null(crate::broadcast::row(vector.len(), i));
            Some((!is_null).then(|| texts[n].bytes(i)))
        };
        push_formatted(out, template, value)
    })
}

/// format(TEXT template, VARIADIC TEXT[]): a NULL array has no elements.
///
/// # Errors
/// See [`format`].
pub fn format_array(template: &Vector, values: &Vector) -> Result<Vector> {
    each(template, &[template, values], |i, template, out| {
        let row = crate::broadcast::row(values.len(), i);
        let bytes = if values.is_null(row) { &[0] } else { values.as_str().get(row) };
        let elements: Vec<_> =
            Elements::new(bytes, ElementType::Text).map(|raw| raw.map(array::text_bytes)).collect();
        push_formatted(out, template, |n| elements.get(n).map(Option::as_deref))
    })
}

/// Text that `f` writes for each row whose template is not NULL.
fn each(
    template: &Vector,
    arguments: &[&Vector],
    mut f: impl FnMut(usize, &str, &mut Written) -> Result<()>,
) -> Result<Vector> {
    let templates = Texts::new(template);
    let rows = count(arguments);
    let mut out = StrBuilder::with_capacity(rows);
    let mut written = Written::default();
    for i in 0..rows {
        written.clear();
        if !template.is_null(crate::broadcast::row(template.len(), i)) {
            f(i, templates.str(i)?, &mut written)?;
        }
        written.end(&mut out)?;
    }
    let valid = validity(&[template], rows);
    Ok(Vector::with_validity(VectorData::Str(out.finish()), valid))
}

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

/// Options between `%` and the letter.
#[derive(Default)]
struct Specifier {
    /// Number of the value, from 1.
    position: Option<usize>,
    left: bool,
    width: Option<Width>,
}

enum Width {
    Of(i32),
    Next,
    Value(usize),
}

/// The digits at the start of `rest` as a number.
fn number(rest: &mut &str) -> Result<Option<i32>> {
    let end = rest.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
    if end == 0 {
        return Ok(None);
    }
    let digits = &rest[..end];
    *rest = &rest[end..];
    let value = digits.parse();
    value
        .map(Some)
        .map_err(|_| Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "number is out of range"))
}

fn place(number: i32) -> Result<usize> {
    match usize::try_from(number) {
        Ok(place) if place > 0 => Ok(place),
        _ => Err(invalid("format specifies argument 0, but arguments are numbered from 1")),
    }
}

/// Takes a specifier from `rest`, up to its letter.
fn specifier(rest: &mut &str) -> Result<Specifier> {
    let mut found = Specifier::default();
    if let Some(first) = number(rest)? {
        match rest.strip_prefix('$') {
            Some(after) => (*rest, found.position) = (after, Some(place(first)?)),
            None => {
                found.width = Some(Width::Of(first));
                return Ok(found);
            }
        }
    }
    while let Some(after) = rest.strip_prefix('-') {
        (*rest, found.left) = (after, true);
    }
    if let Some(after) = rest.strip_prefix('*') {
        *rest = after;
        found.width = Some(match number(rest)? {
            None => Width::Next,
            Some(value) => {
                let message = "width argument position must be ended by \"$\"";
                *rest = rest.strip_prefix('$').ok_or_else(|| invalid(message))?;
                Width::Value(place(value)?)
            }
        });
    } else if let Some(width) = number(rest)? {
        found.width = Some(Width::Of(width));
    }
    Ok(found)
}

/// Appends `template` with its values; `value(n)` is value `n` from 0, None behind the last.
fn push_formatted<'v>(
    out: &mut Written,
    template: &str,
    value: impl Fn(usize) -> Option<Option<&'v [u8]>>,
) -> Result<()> {
    let get = |n: usize| value(n).ok_or_else(|| invalid("too few arguments for format()"));
    let mut rest = template;
    // The value that comes after the last one taken.
    let mut next = 0;
    while let Some((before, after)) = rest.split_once('%') {
        out.extend_from_slice(before.as_bytes());
        rest = after;
        if let Some(after) = rest.strip_prefix('%') {
            out.push(b'%');
            rest = after;
            continue;
        }
        let Specifier { position, mut left, width } = specifier(&mut rest)?;
        let Some(letter) = rest.chars().next() else {
            let hint = "For a single \"%\" use \"%%\".";
            return Err(invalid("unterminated format() type specifier").with_hint(hint));
        };
        if !matches!(letter, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{letter}\"");
            return Err(invalid(message).with_hint("For a single \"%\" use \"%%\"."));
        }
        rest = &rest[letter.len_utf8()..];
        let given = match &width {
            None | Some(Width::Of(_)) => None,
            Some(Width::Next) => Some(next),
            Some(Width::Value(place)) => Some(place - 1),
        };
        let width = match (given, width) {
            (Some(n), _) => {
                next = n + 1;
                get(n)?.map_or(Ok(0), width_value)?
            }
            (None, Some(Width::Of(width))) => width,
            (None, _) => 0,
        };
        left |= width < 0;
        let n = position.map_or(next, |place| place - 1);
        next = n + 1;
        let start = out.len();
        push_value(out, letter, get(n)?)?;
        pad(out, start, width.unsigned_abs() as usize, left)?;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(())
}

fn push_value(out: &mut Written, letter: char, value: Option<&[u8]>) -> Result<()> {
    out.make(value.map_or(4, <[u8]>::len))?;
    match (letter, value) {
        ('s', value) => out.extend_from_slice(value.unwrap_or_default()),
        ('L', Some(value)) => push_literal(out, value),
        ('L', None) => out.extend_from_slice(b"NULL"),
        (_, Some(value)) => out.extend_from_slice(quoted(utf8(value)?).as_bytes()),
        (_, None) => {
            let message = "null values cannot be formatted as an SQL identifier";
            return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
        }
    }
    Ok(())
}

fn width_value(text: &[u8]) -> Result<i32> {
    let value = types::text::parse(utf8(text)?, types::DataType::Integer)?;
    Ok(value.as_integer().and_then(|n| i32::try_from(n).ok()).unwrap_or(0))
}

/// Fills what was written from `start` on up to `width` characters.
fn pad(out: &mut Written, start: usize, width: usize, left: bool) -> Result<()> {
    let missing = width.saturating_sub(character_count(&out[start..]));
    out.make(missing)?;
    let end = out.len();
    out.resize(end + missing, b' ');
    if !left {
        out[start..].rotate_right(missing);
    }
    Ok(())
}
