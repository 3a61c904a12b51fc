//! Elements and slices of arrays: read, and assigned to.

use super::shape::{subscript_error, too_large};
use super::{ArrayBuilder, Dimension, EMPTY, Elements, RawElement, Shape};
use crate::{ElementType, Error, Result};

/// Subscripts of a slice in one dimension; a bound that is missing is the array's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The first subscript.
    pub first: Option<i32>,
    /// The last subscript.
    pub last: Option<i32>,
}

impl Bounds {
    /// Both ends, those of `whole` where they are missing.
    fn within(self, whole: Dimension) -> (i32, i32) {
        (self.first.unwrap_or(whole.lower), self.last.unwrap_or(whole.upper()))
    }
}

/// `array[subscripts]`; None outside the array, for NULL, and for another number of subscripts
/// than the array has dimensions.
pub fn element_at<'a>(array: &'a [u8], element: ElementType, subscripts: &[i32]) -> RawElement<'a> {
    let at = Shape::of(array, element).position(subscripts)?;
    Elements::new(array, element).nth(at).flatten()
}

/// `array[first:last]...`, from subscript 1; dimensions without bounds are taken whole. An array
/// without elements when there are more bounds than dimensions.
///
/// # Errors
/// None: a slice is no larger than its array.
pub fn slice(array: &[u8], element: ElementType, bounds: &[Bounds]) -> Result<Vec<u8>> {
    let shape = Shape::of(array, element);
    let mut part = shape.dimensions().to_vec();
    if bounds.len() > part.len() {
        return Ok(EMPTY.to_vec());
    }
    for (whole, bounds) in part.iter_mut().zip(bounds) {
        let (first, last) = bounds.within(*whole);
        let (first, last) = (first.max(whole.lower), last.min(whole.upper()));
        if first > last {
            return Ok(EMPTY.to_vec());
        }
        *whole = Dimension::between(first, last)?;
    }
    let part_shape = Shape::new(&part)?;
    let mut builder = ArrayBuilder::new();
    let mut elements = Elements::new(array, element);
    let mut next = 0;
    // The positions ascend.
    for position in shape.positions(part_shape) {
        builder.push_raw(elements.nth(position - next).flatten());
        next = position + 1;
    }
    part.iter_mut().for_each(|dimension| dimension.lower = 1);
    builder.finish_shaped(&Shape::new(&part)?)
}

/// The arrays of the innermost `count` dimensions, one after the other, under their subscripts: the
/// array itself where it has no more of them.
///
/// # Errors
/// 2202E when there are not so many dimensions.
pub fn slices(array: &[u8], element: ElementType, count: usize) -> Result<Vec<Vec<u8>>> {
    let shape = Shape::of(array, element);
    let dimensions = shape.dimensions();
    let Some(outer) = dimensions.len().checked_sub(count) else {
        let message =
            format!("slice dimension ({count}) is out of the valid range 0..{}", dimensions.len());
        return Err(subscript_error(&message));
    };
    let inner = Shape::new(&dimensions[outer..])?;
    let mut elements = Elements::new(array, element);
    let pieces = shape.size().checked_div(inner.size()).unwrap_or(0);
    (0..pieces).map(|_| made(elements.by_ref().take(inner.size()), &inner)).collect()
}

fn wrong_number() -> Error {
    subscript_error("wrong number of array subscripts")
}

/// The array after `array[subscripts] = value`: an array of one dimension grows, with NULL in what
/// lies between, and an empty one gets as many dimensions as there are subscripts.
///
/// # Errors
/// 2202E for another number of subscripts, and outside an array of several dimensions; 54000.
pub fn with_element(
    array: &[u8],
    element: ElementType,
    subscripts: &[i32],
    value: RawElement<'_>,
) -> Result<Vec<u8>> {
    let shape = Shape::of(array, element);
    let values = std::iter::once(value);
    match (shape.dimensions(), subscripts) {
        ([], subscripts) => {
            let dimension = |lower: &i32| Dimension { lower: *lower, length: 1 };
            let shape = Shape::new(&subscripts.iter().map(dimension).collect::<Vec<_>>())?;
            made(values, &shape)
        }
        ([whole], [at]) => {
            let part = Dimension { lower: *at, length: 1 };
            extended(Elements::new(array, element), *whole, part, values)
        }
        (dimensions, subscripts) if dimensions.len() != subscripts.len() => Err(wrong_number()),
        _ => {
            let at = shape.position(subscripts);
            let at = at.ok_or_else(|| subscript_error("array subscript out of range"))?;
            let mut builder = ArrayBuilder::new();
            for (position, raw) in Elements::new(array, element).enumerate() {
                builder.push_raw(if position == at { value } else { raw });
            }
            builder.finish_shaped(&shape)
        }
    }
}

fn made<'v>(values: impl Iterator<Item = RawElement<'v>>, shape: &Shape) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    values.for_each(|value| builder.push_raw(value));
    builder.finish_shaped(shape)
}

/// The array after `array[first:last]... = source`, whose elements are taken in their order,
/// whatever its shape.
///
/// # Errors
/// 2202E for bounds in the wrong order, for too few elements, for missing bounds of an empty
/// array, for more bounds than dimensions, and outside an array of several dimensions; 54000.
pub fn with_slice(
    array: &[u8],
    element: ElementType,
    bounds: &[Bounds],
    source: &[u8],
) -> Result<Vec<u8>> {
    let shape = Shape::of(array, element);
    let mut part = match shape.dimensions() {
        [] => return first_slice(bounds, source, element),
        dimensions if bounds.len() > dimensions.len() => return Err(wrong_number()),
        dimensions => dimensions.to_vec(),
    };
    let is_line = part.len() == 1;
    for (whole, bounds) in part.iter_mut().zip(bounds) {
        let (first, last) = bounds.within(*whole);
        let slice = Dimension::between(first, last)?;
        if !is_line && (first < whole.lower || last > whole.upper()) {
            return Err(subscript_error("array subscript out of range"));
        }
        *whole = slice;
    }
    let values = taken(source, element, size_of(&part)?)?;
    if let ([whole], [part]) = (shape.dimensions(), part.as_slice()) {
        return extended(Elements::new(array, element), *whole, *part, values);
    }
    let mut values = shape.positions(Shape::new(&part)?).zip(values).peekable();
    let mut builder = ArrayBuilder::new();
    for (position, old) in Elements::new(array, element).enumerate() {
        let new = values.next_if(|(at, _)| *at == position);
        builder.push_raw(new.map_or(old, |(_, new)| new));
    }
    builder.finish_shaped(&shape)
}

/// The number of elements of a part that may reach beyond its array.
fn size_of(part: &[Dimension]) -> Result<usize> {
    let size = part.iter().try_fold(1usize, |size, dimension| {
        size.checked_mul(usize::try_from(dimension.length).ok()?)
    });
    size.ok_or_else(too_large)
}

/// The first `count` elements of an array.
///
/// # Errors
/// 2202E when there are fewer.
fn taken(
    source: &[u8],
    element: ElementType,
    count: usize,
) -> Result<impl Iterator<Item = RawElement<'_>>> {
    if Elements::new(source, element).take(count).count() < count {
        return Err(subscript_error("source array too small"));
    }
    Ok(Elements::new(source, element).take(count))
}

/// A slice that is assigned to an empty array.
fn first_slice(bounds: &[Bounds], source: &[u8], element: ElementType) -> Result<Vec<u8>> {
    let dimension = |bounds: &Bounds| {
        let (Some(lower), Some(upper)) = (bounds.first, bounds.last) else {
            let error = subscript_error("array slice subscript must provide both boundaries");
            let detail = "When assigning to a slice of an empty array value, slice boundaries must \
                          be fully specified.";
            return Err(error.with_detail(detail));
        };
        let length = i64::from(upper) - i64::from(lower) + 1;
        match i32::try_from(length) {
            Ok(length) if length >= 0 => Ok(Dimension { lower, length }),
            _ => Err(too_large()),
        }
    };
    let part = bounds.iter().map(dimension).collect::<Result<Vec<_>>>()?;
    let shape = Shape::new(&part)?;
    made(taken(source, element, shape.size())?, &shape)
}

/// An array of one dimension with `values` at the subscripts of `part`.
fn extended<'v>(
    mut old: Elements<'_>,
    whole: Dimension,
    part: Dimension,
    values: impl Iterator<Item = RawElement<'v>>,
) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    let (low, high) = (part.lower, part.upper());
    let (begin, end) = (whole.lower.min(low), whole.upper().max(high));
    if i64::from(end) - i64::from(begin) >= super::ELEMENTS_MAX as i64 {
        return Err(too_large());
    }
    let mut values = values.fuse();
    for at in begin..=end {
        let known = if at < whole.lower { None } else { old.next().flatten() };
        let is_new = (low..=high).contains(&at);
        builder.push_raw(if is_new { values.next().flatten() } else { known });
    }
    builder.finish_from(begin)
}
