//! Functions on arrays, on their bytes: elements are compared and copied, not decoded.

use std::borrow::Cow;

use super::shape::subscript_error;
use super::{ArrayBuilder, Bounds, EMPTY, Elements, RawElement, Shape};
use crate::{ElementType, Error, Result, SqlState};

fn elements(array: &[u8], element: ElementType) -> Elements<'_> {
    Elements::new(array, element)
}

/// The bytes of an element that decide equality and order: not those of how it looks, which only
/// INTERVAL and NUMERIC have.
pub fn element_key(raw: &[u8], element: ElementType) -> Cow<'_, [u8]> {
    match element {
        ElementType::Interval(_) => Cow::Borrowed(&raw[..16]),
        ElementType::Char(0) => match super::text_bytes(raw) {
            Cow::Borrowed(bytes) => Cow::Borrowed(crate::without_blanks(bytes)),
            Cow::Owned(bytes) => Cow::Owned(crate::without_blanks(&bytes).to_vec()),
        },
        ElementType::WideNumeric(_) => match super::text_bytes(raw) {
            Cow::Borrowed(bytes) => Cow::Borrowed(crate::wide::key(bytes)),
            Cow::Owned(bytes) => Cow::Owned(crate::wide::key(&bytes).to_vec()),
        },
        _ => Cow::Borrowed(raw),
    }
}

/// True for elements that are equal, and for two NULLs.
fn same(a: RawElement<'_>, b: RawElement<'_>, element: ElementType) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || element_key(a, element) == element_key(b, element),
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn shape(array: &[u8], element: ElementType) -> Shape {
    Shape::of(array, element)
}

/// The first subscript of an array of at most one dimension; None of others.
fn line(array: &[u8], element: ElementType) -> Option<i32> {
    match shape(array, element).dimensions() {
        [] => Some(1),
        [only] => Some(only.lower),
        _ => None,
    }
}

/// The first subscript of an array that is searched.
fn searched(array: &[u8], element: ElementType) -> Result<i32> {
    line(array, element).ok_or_else(|| {
        let message = "searching for elements in multidimensional arrays is not supported";
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    })
}

/// `a || b` of arrays of one shape but for the first dimension, or of an array and one that is an
/// element of its outermost dimension. First subscripts are those of `a`, or of the larger one.
///
/// # Errors
/// 2202E for arrays that do not fit, 54000.
pub fn concatenated(a: &[u8], b: &[u8], element: ElementType) -> Result<Vec<u8>> {
    let (first, second) = (shape(a, element), shape(b, element));
    let (x, y) = (first.dimensions(), second.dimensions());
    if y.is_empty() {
        return Ok(a.to_vec());
    }
    if x.is_empty() {
        return Ok(b.to_vec());
    }
    let (outer, added, inner, detail) = if x.len() == y.len() {
        let detail = "Arrays with differing element dimensions are not compatible for \
                      concatenation.";
        (x, y[0].length, (&x[1..], &y[1..]), detail.to_owned())
    } else {
        let detail = "Arrays with differing dimensions are not compatible for concatenation.";
        if x.len() + 1 == y.len() {
            (y, 1, (x, &y[1..]), detail.to_owned())
        } else if y.len() + 1 == x.len() {
            (x, 1, (&x[1..], y), detail.to_owned())
        } else {
            let detail = format!(
                "Arrays of {} and {} dimensions are not compatible for concatenation.",
                x.len(),
                y.len()
            );
            return Err(incompatible(&detail));
        }
    };
    if inner.0 != inner.1 {
        return Err(incompatible(&detail));
    }
    let mut dimensions = outer.to_vec();
    dimensions[0].length = dimensions[0].length.saturating_add(added);
    let shape = Shape::new(&dimensions)?;
    let mut builder = ArrayBuilder::new();
    elements(a, element).chain(elements(b, element)).for_each(|raw| builder.push_raw(raw));
    builder.finish_shaped(&shape)
}

fn incompatible(detail: &str) -> Error {
    subscript_error("cannot concatenate incompatible arrays").with_detail(detail)
}

/// Which end an element is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// array_prepend.
    First,
    /// array_append.
    Last,
}

/// The array with one more element.
///
/// # Errors
/// 22000 for an array of several dimensions; 54000.
pub fn appended(
    array: &[u8],
    element: ElementType,
    added: RawElement<'_>,
    end: End,
) -> Result<Vec<u8>> {
    let lower = line(array, element).ok_or_else(|| {
        let message = "argument must be empty or one-dimensional array";
        Error::new(SqlState::DATA_EXCEPTION, message)
    })?;
    let mut builder = ArrayBuilder::new();
    if end == End::First {
        builder.push_raw(added);
    }
    elements(array, element).for_each(|raw| builder.push_raw(raw));
    if end == End::Last {
        builder.push_raw(added);
    }
    builder.finish_from(lower)
}

/// array_position: the subscript of the first element equal to `wanted` from `start` on.
///
/// # Errors
/// 0A000 for an array of several dimensions.
pub fn position(
    array: &[u8],
    element: ElementType,
    wanted: RawElement<'_>,
    start: Option<i32>,
) -> Result<Option<i32>> {
    let low = searched(array, element)?;
    // No subscript is looked at behind the last element: there may be none.
    let found = elements(array, element)
        .zip(low..)
        .find(|(raw, at)| start.is_none_or(|start| *at >= start) && same(*raw, wanted, element));
    Ok(found.map(|(_, at)| at))
}

/// array_positions: an array of INTEGER.
///
/// # Errors
/// 0A000 for an array of several dimensions; 54000.
pub fn positions(array: &[u8], element: ElementType, wanted: RawElement<'_>) -> Result<Vec<u8>> {
    let low = searched(array, element)?;
    let mut builder = ArrayBuilder::new();
    for (raw, at) in elements(array, element).zip(low..) {
        if same(raw, wanted, element) {
            builder.push_i32(at);
        }
    }
    builder.finish()
}

/// array_remove: under the subscripts from the first on.
///
/// # Errors
/// 0A000 for an array of several dimensions; 54000.
pub fn removed(array: &[u8], element: ElementType, unwanted: RawElement<'_>) -> Result<Vec<u8>> {
    let lower = line(array, element).ok_or_else(|| {
        let message = "removing elements from multidimensional arrays is not supported";
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    })?;
    let mut builder = ArrayBuilder::new();
    let kept = elements(array, element).filter(|raw| !same(*raw, unwanted, element));
    kept.for_each(|raw| builder.push_raw(raw));
    builder.finish_from(lower)
}

/// array_replace.
///
/// # Errors
/// 54000.
pub fn replaced(
    array: &[u8],
    element: ElementType,
    old: RawElement<'_>,
    new: RawElement<'_>,
) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    for raw in elements(array, element) {
        builder.push_raw(if same(raw, old, element) { new } else { raw });
    }
    builder.finish_shaped(&shape(array, element))
}

/// Lists longer than this are searched by binary search, others one by one.
const LINEAR_MAX: usize = 16;

/// True for the elements of an array that are not NULL.
struct Members<'a> {
    known: Vec<Cow<'a, [u8]>>,
    element: ElementType,
}

impl<'a> Members<'a> {
    fn of(array: &'a [u8], element: ElementType) -> Self {
        let keys = elements(array, element).flatten().map(|raw| element_key(raw, element));
        let mut known: Vec<Cow<'a, [u8]>> = keys.collect();
        if known.len() > LINEAR_MAX {
            known.sort_unstable();
        }
        Self { known, element }
    }

    fn has(&self, raw: &[u8]) -> bool {
        let key = element_key(raw, self.element);
        if self.known.len() > LINEAR_MAX {
            self.known.binary_search(&key).is_ok()
        } else {
            self.known.contains(&key)
        }
    }
}

/// `array @> part`: a NULL in `part` is never contained.
pub fn contains(array: &[u8], part: &[u8], element: ElementType) -> bool {
    let members = Members::of(array, element);
    elements(part, element).all(|raw| raw.is_some_and(|raw| members.has(raw)))
}

/// `a && b`: NULLs are in common with nothing.
pub fn overlaps(a: &[u8], b: &[u8], element: ElementType) -> bool {
    let members = Members::of(a, element);
    elements(b, element).flatten().any(|raw| members.has(raw))
}

/// string_to_array, an array of TEXT: no separator divides into characters, an empty one not at
/// all; fields equal to `null` are NULL.
///
/// # Errors
/// 54000.
pub fn split(whole: &str, separator: Option<&str>, null: Option<&str>) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    let mut push = |field: &str| {
        if null == Some(field) { builder.push_null() } else { builder.push_text(field.as_bytes()) }
    };
    match separator {
        _ if whole.is_empty() => {}
        None => {
            let mut buffer = [0; 4];
            whole.chars().for_each(|c| push(c.encode_utf8(&mut buffer)));
        }
        Some("") => push(whole),
        Some(separator) => whole.split(separator).for_each(push),
    }
    builder.finish()
}

/// trim_array: without the last `count` elements of its outermost dimension, from subscript 1.
///
/// # Errors
/// 2202E when there are not so many.
pub fn trimmed(array: &[u8], element: ElementType, count: i32) -> Result<Vec<u8>> {
    let first = shape(array, element).first();
    let whole = first.map_or(0, |first| first.length);
    if !(0..=whole).contains(&count) {
        let message = format!("number of elements to trim must be between 0 and {whole}");
        return Err(subscript_error(&message));
    }
    match first {
        Some(first) if count < whole => super::slice(
            array,
            element,
            &[Bounds { first: None, last: Some(first.upper() - count) }],
        ),
        _ => Ok(EMPTY.to_vec()),
    }
}

/// array_fill: an array of this shape, all of whose elements are `value`.
///
/// # Errors
/// 54000.
pub fn filled(value: RawElement<'_>, shape: &Shape) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    (0..shape.size()).for_each(|_| builder.push_raw(value));
    builder.finish_shaped(shape)
}
