//! Functions on arrays, on their bytes: elements are compared and copied, not decoded.

use std::borrow::Cow;

use super::{ArrayBuilder, ELEMENTS_MAX, Elements, RawElement, bounds};
use crate::{ElementType, Error, Result, SqlState};

fn elements(array: &[u8], element: ElementType) -> Elements<'_> {
    Elements::new(array, element)
}

/// The bytes of an element that decide equality and order: not those of how it looks, which only
/// INTERVAL and NUMERIC have.
pub fn element_key(raw: &[u8], element: ElementType) -> Cow<'_, [u8]> {
    match element {
        ElementType::Interval => Cow::Borrowed(&raw[..16]),
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

fn lower(array: &[u8], element: ElementType) -> i32 {
    bounds(array, element).map_or(1, |(first, _)| first)
}

/// `array[subscript]`; None outside the array and for NULL.
pub fn element_at(array: &[u8], element: ElementType, subscript: i32) -> RawElement<'_> {
    let low = lower(array, element);
    let at = usize::try_from(i64::from(subscript) - i64::from(low)).ok()?;
    elements(array, element).nth(at).flatten()
}

/// `array[first:last]`, from subscript 1; a bound that is missing is the array's.
///
/// # Errors
/// None: a slice is no larger than its array.
pub fn slice(
    array: &[u8],
    element: ElementType,
    first: Option<i32>,
    last: Option<i32>,
) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    if let Some((low, high)) = bounds(array, element) {
        let from = first.unwrap_or(low).max(low);
        let to = last.unwrap_or(high).min(high);
        let skipped = usize::try_from(i64::from(from) - i64::from(low)).unwrap_or(0);
        let count = usize::try_from(i64::from(to) - i64::from(from) + 1).unwrap_or(0);
        elements(array, element).skip(skipped).take(count).for_each(|raw| builder.push_raw(raw));
    }
    builder.finish()
}

fn subscript_error(message: &str) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT, message)
}

/// The array after `array[subscript] = value`: what lies between is NULL, and the first subscript
/// moves where it is one before it.
///
/// # Errors
/// 54000, 2202E.
pub fn with_element(
    array: &[u8],
    element: ElementType,
    subscript: i32,
    value: RawElement<'_>,
) -> Result<Vec<u8>> {
    with_elements(array, element, (subscript, subscript), std::iter::once(value))
}

/// The array after `array[first:last] = source`; a bound that is missing is the array's.
///
/// # Errors
/// 2202E for bounds in the wrong order, for too few elements, and for missing bounds of an empty
/// array; 54000.
pub fn with_slice(
    array: &[u8],
    element: ElementType,
    (first, last): (Option<i32>, Option<i32>),
    source: &[u8],
) -> Result<Vec<u8>> {
    let (low, high) = match (bounds(array, element), first, last) {
        (_, Some(first), Some(last)) => (first, last),
        (Some((low, high)), first, last) => (first.unwrap_or(low), last.unwrap_or(high)),
        (None, ..) => {
            let error = subscript_error("array slice subscript must provide both boundaries");
            let detail = "When assigning to a slice of an empty array value, slice boundaries must \
                          be fully specified.";
            return Err(error.with_detail(detail));
        }
    };
    if low > high {
        return Err(subscript_error("upper bound cannot be less than lower bound"));
    }
    let count = (i64::from(high) - i64::from(low) + 1) as usize;
    let mut found = elements(source, element);
    if found.by_ref().take(count).count() < count {
        return Err(subscript_error("source array too small"));
    }
    with_elements(array, element, (low, high), elements(source, element).take(count))
}

/// The array with `values` at the subscripts from `low` to `high`.
fn with_elements<'v>(
    array: &[u8],
    element: ElementType,
    (low, high): (i32, i32),
    values: impl Iterator<Item = RawElement<'v>>,
) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    let (old_low, old_high) = bounds(array, element).unwrap_or((low, high));
    let (begin, end) = (old_low.min(low), old_high.max(high));
    if i64::from(end) - i64::from(begin) >= ELEMENTS_MAX as i64 {
        let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
        return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
    }
    let mut old = elements(array, element);
    let mut values = values.fuse();
    for at in begin..=end {
        let known = if at < old_low { None } else { old.next().flatten() };
        let is_new = (low..=high).contains(&at);
        builder.push_raw(if is_new { values.next().flatten() } else { known });
    }
    builder.finish_from(begin)
}

/// `a || b`, with the first subscript of `a`, of `b` when `a` is empty.
///
/// # Errors
/// 54000.
pub fn concatenated(a: &[u8], b: &[u8], element: ElementType) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    elements(a, element).chain(elements(b, element)).for_each(|raw| builder.push_raw(raw));
    let first = bounds(a, element).or_else(|| bounds(b, element));
    builder.finish_from(first.map_or(1, |(first, _)| first))
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
/// 54000.
pub fn appended(
    array: &[u8],
    element: ElementType,
    added: RawElement<'_>,
    end: End,
) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    if end == End::First {
        builder.push_raw(added);
    }
    elements(array, element).for_each(|raw| builder.push_raw(raw));
    if end == End::Last {
        builder.push_raw(added);
    }
    builder.finish_from(lower(array, element))
}

/// array_position: the subscript of the first element equal to `wanted` from `start` on.
pub fn position(
    array: &[u8],
    element: ElementType,
    wanted: RawElement<'_>,
    start: Option<i32>,
) -> Option<i32> {
    let low = lower(array, element);
    // No subscript is looked at behind the last element: there may be none.
    elements(array, element)
        .zip(low..)
        .find(|(raw, at)| start.is_none_or(|start| *at >= start) && same(*raw, wanted, element))
        .map(|(_, at)| at)
}

/// array_positions: an array of INTEGER.
///
/// # Errors
/// 54000.
pub fn positions(array: &[u8], element: ElementType, wanted: RawElement<'_>) -> Result<Vec<u8>> {
    let low = lower(array, element);
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
/// 54000.
pub fn removed(array: &[u8], element: ElementType, unwanted: RawElement<'_>) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    let kept = elements(array, element).filter(|raw| !same(*raw, unwanted, element));
    kept.for_each(|raw| builder.push_raw(raw));
    builder.finish_from(lower(array, element))
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
    builder.finish_from(lower(array, element))
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

/// trim_array: without its last `count` elements.
///
/// # Errors
/// 2202E when there are not so many.
pub fn trimmed(array: &[u8], element: ElementType, count: i32) -> Result<Vec<u8>> {
    let whole = elements(array, element).count();
    let kept = usize::try_from(count).ok().and_then(|count| whole.checked_sub(count));
    let Some(kept) = kept else {
        let message = format!("number of elements to trim must be between 0 and {whole}");
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT, message));
    };
    let mut builder = ArrayBuilder::new();
    elements(array, element).take(kept).for_each(|raw| builder.push_raw(raw));
    builder.finish_from(lower(array, element))
}
