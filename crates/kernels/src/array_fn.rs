//! Functions on arrays. Argument convention: see `text_fn`, but that functions here say themselves
//! what NULL arguments give. Elements are compared and copied as they are in the arrays.

use std::cmp::Ordering;

use types::array::{
    self, ArrayBuilder, Bounds, Dimension, Elements, End, Nested, Nesting, RawElement, Shape,
};
use types::budget::{Pace, Room, value_length};
use types::{CompareOp, DataType, ElementType, Error, Result, SqlState};

use crate::rows::{count, scratch, utf8};
use crate::{Vector, VectorBuilder, VectorData};

/// The row of `vector` that row `i` of a call reads.
#[inline]
pub(crate) fn row_of(vector: &Vector, i: usize) -> usize {
    if vector.len() == 1 { 0 } else { i }
}

/// Row `i` of a column of text, bytes or arrays; None when it is NULL.
#[inline]
fn bytes(vector: &Vector, i: usize) -> Option<&[u8]> {
    let i = row_of(vector, i);
    (!vector.is_null(i)).then(|| vector.as_str().get(i))
}

/// Row `i` of a column of text; None when it is NULL.
fn text(vector: &Vector, i: usize) -> Result<Option<&str>> {
    bytes(vector, i).map(utf8).transpose()
}

/// Row `i` of a column of INTEGER; None when it is NULL.
fn integer(vector: &Vector, i: usize) -> Option<i32> {
    let i = row_of(vector, i);
    match &vector.data {
        VectorData::I32(values) if !vector.is_null(i) => Some(values[i]),
        VectorData::I32(_) => None,
        _ => panic!("expected I32, found {:?}", vector.physical()),
    }
}

/// Appends row `i` of `vector`, a column of type `element`, to an array.
pub fn push_row(builder: &mut ArrayBuilder, vector: &Vector, i: usize, element: ElementType) {
    let i = row_of(vector, i);
    if vector.is_null(i) {
        builder.push_null();
        return;
    }
    let is_numeric = matches!(element, ElementType::Numeric(_));
    match &vector.data {
        VectorData::Bool(v) => builder.push_bool(v[i] != 0),
        VectorData::I32(v) if is_numeric => builder.push_numeric(i128::from(v[i])),
        VectorData::I64(v) if is_numeric => builder.push_numeric(i128::from(v[i])),
        VectorData::I128(v) if is_numeric => builder.push_numeric(v[i]),
        VectorData::I32(v) => builder.push_i32(v[i]),
        VectorData::I64(v) => builder.push_i64(v[i]),
        VectorData::I128(v) => builder.push_uuid(v[i]),
        VectorData::F64(v) => builder.push_f64(v[i]),
        VectorData::Str(v) => builder.push_text(v.get(i)),
        VectorData::Interval(v) => builder.push_interval(v[i]),
    }
}

/// Appends an element of an array to a column of its type.
fn push_element(out: &mut VectorBuilder, raw: RawElement<'_>, element: ElementType) {
    match (raw, element.data_type()) {
        (None, _) => out.push_null(),
        (Some(raw), ty) if ty.is_text() || ty.is_json() || ty == DataType::Bytea => {
            out.push_str(&array::text_bytes(raw));
        }
        (Some(_), _) => out.push_value(&array::decode(raw, element)),
    }
}

/// The row `i` of a column of elements, as an array has it, in `single`.
fn raw<'s>(
    single: &'s mut ArrayBuilder,
    vector: &Vector,
    i: usize,
    element: ElementType,
) -> RawElement<'s> {
    single.clear();
    push_row(single, vector, i, element);
    single.single()
}

/// `f(row)` for every row of a call, an array or NULL.
fn arrays(
    arguments: &[&Vector],
    mut f: impl FnMut(usize) -> Result<Option<Vec<u8>>>,
) -> Result<Vector> {
    let rows = count(arguments);
    let mut out = VectorBuilder::with_capacity(types::PhysicalType::Str, rows);
    let mut pace = Pace::default();
    for i in 0..rows {
        let _scratch = scratch(arguments, i)?;
        match f(i)? {
            Some(array) => {
                pace.step(array.len())?;
                out.push_str(&array);
            }
            None => out.push_null(),
        }
    }
    Ok(out.finish())
}

/// `f(row)` for every row of a call, an INTEGER or NULL.
fn integers(arguments: &[&Vector], mut f: impl FnMut(usize) -> Option<i32>) -> Vector {
    let rows = count(arguments);
    let mut out = VectorBuilder::with_capacity(types::PhysicalType::I32, rows);
    for i in 0..rows {
        match f(i) {
            Some(value) => out.push_value(&types::Value::I32(value)),
            None => out.push_null(),
        }
    }
    out.finish()
}

/// `f(row)` for every row of a call, a BOOLEAN or NULL.
fn booleans(arguments: &[&Vector], mut f: impl FnMut(usize) -> Option<bool>) -> Vector {
    let rows = count(arguments);
    let mut out = VectorBuilder::with_capacity(types::PhysicalType::Bool, rows);
    for i in 0..rows {
        match f(i) {
            Some(value) => out.push_value(&types::Value::Bool(value)),
            None => out.push_null(),
        }
    }
    out.finish()
}

/// ARRAY[...]: an array per row of the columns' values in it; `rows` when there are no columns.
///
/// # Errors
/// 54000.
pub fn make(values: &[&Vector], element: ElementType) -> Result<Vector> {
    arrays(values, |i| {
        let mut builder = ArrayBuilder::new();
        values.iter().for_each(|vector| push_row(&mut builder, vector, i, element));
        builder.finish().map(Some)
    })
}

/// The order of two elements.
fn key_order(a: &[u8], b: &[u8], element: ElementType) -> Ordering {
    array::element_key(a, element).cmp(&array::element_key(b, element))
}

/// `value op ANY (array)` and `value op ALL (array)`: true for ANY when one element makes it true,
/// false for ALL when one makes it false; else NULL when one was NULL.
pub fn quantified(
    op: CompareOp,
    all: bool,
    value: &Vector,
    array: &Vector,
    element: ElementType,
) -> Vector {
    let mut single = ArrayBuilder::new();
    booleans(&[value, array], |i| {
        let array = bytes(array, i)?;
        let value = raw(&mut single, value, i, element);
        let mut unknown = false;
        for raw in Elements::new(array, element) {
            match value.zip(raw) {
                Some((a, b)) if op.accepts(key_order(a, b, element)) != all => return Some(!all),
                Some(_) => {}
                None => unknown = true,
            }
        }
        (!unknown).then_some(all)
    })
}

/// ARRAY[...] of arrays: an array of one more dimension per row.
///
/// # Errors
/// 2202E for arrays of different shapes; 54000.
pub fn make_nested(values: &[&Vector], element: ElementType) -> Result<Vector> {
    arrays(values, |i| {
        let mut nested = Nested::new(element, Nesting::Constructor);
        values.iter().try_for_each(|vector| nested.push(bytes(vector, i)))?;
        nested.finish().map(Some)
    })
}

/// Row `i` of all `columns` of INTEGER, in `out`; false when one is NULL.
fn integers_of(columns: &[&Vector], i: usize, out: &mut Vec<i32>) -> bool {
    out.clear();
    out.extend(columns.iter().map_while(|column| integer(column, i)));
    out.len() == columns.len()
}

/// `array[subscripts]`, with a column for each subscript.
pub fn element_at(array: &Vector, subscripts: &[&Vector], element: ElementType) -> Vector {
    let all: Vec<&Vector> = std::iter::once(array).chain(subscripts.iter().copied()).collect();
    let rows = count(&all);
    let mut out = VectorBuilder::with_capacity(element.data_type().physical(), rows);
    let mut at = Vec::with_capacity(subscripts.len());
    for i in 0..rows {
        let found = match bytes(array, i) {
            Some(array) if integers_of(subscripts, i, &mut at) => {
                array::element_at(array, element, &at)
            }
            _ => None,
        };
        push_element(&mut out, found, element);
    }
    out.finish()
}

/// The element of each array at a position from 1, in the order of [`unnest`]; NULL outside.
pub fn nth(array: &Vector, number: &Vector, element: ElementType) -> Vector {
    let rows = count(&[array, number]);
    let mut out = VectorBuilder::with_capacity(element.data_type().physical(), rows);
    for i in 0..rows {
        let at = integer(number, i).and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let found = bytes(array, i).zip(at);
        let found = found.and_then(|(array, at)| Elements::new(array, element).nth(at).flatten());
        push_element(&mut out, found, element);
    }
    out.finish()
}

/// All elements of an array in order, as a column.
pub fn unnest(array: &[u8], element: ElementType) -> Vector {
    Unnest::new(array, element).next_vector(usize::MAX)
}

/// The elements of an array, in vectors of as many as are asked for.
pub struct Unnest<'a> {
    elements: Elements<'a>,
    element: ElementType,
}

impl<'a> Unnest<'a> {
    /// The elements of `array`, from the first on.
    pub fn new(array: &'a [u8], element: ElementType) -> Self {
        Self { elements: Elements::new(array, element), element }
    }

    /// The next `rows` elements, fewer at the end, after it none.
    pub fn next_vector(&mut self, rows: usize) -> Vector {
        let mut out = VectorBuilder::new(self.element.data_type().physical());
        for raw in self.elements.by_ref().take(rows) {
            push_element(&mut out, raw, self.element);
        }
        out.finish()
    }
}

/// The bounds of a slice whose ends are `ends`, two for each dimension: the least and greatest
/// INTEGER are those of the array.
fn bounds_of(ends: &[i32]) -> Vec<Bounds> {
    let bounds = |pair: &[i32; 2]| Bounds {
        first: (pair[0] != i32::MIN).then_some(pair[0]),
        last: (pair[1] != i32::MAX).then_some(pair[1]),
    };
    ends.as_chunks::<2>().0.iter().map(bounds).collect()
}

/// `array[first:last]...`, with two columns for each dimension; NULL bounds give NULL, the least
/// and greatest INTEGER are those of the array.
///
/// # Errors
/// None.
pub fn slice(array: &Vector, ends: &[&Vector], element: ElementType) -> Result<Vector> {
    let all: Vec<&Vector> = std::iter::once(array).chain(ends.iter().copied()).collect();
    let mut found = Vec::with_capacity(ends.len());
    arrays(&all, |i| match bytes(array, i) {
        Some(array) if integers_of(ends, i, &mut found) => {
            array::slice(array, element, &bounds_of(&found)).map(Some)
        }
        _ => Ok(None),
    })
}

fn missing_subscript() -> Error {
    let message = "array subscript in assignment must not be null";
    Error::new(SqlState::NULL_NOT_ALLOWED, message)
}

/// The array after `array[subscripts] = value`; a NULL array counts as empty. `arguments` are the
/// array, its subscripts and the value.
///
/// # Errors
/// 22004 for a NULL subscript; 54000, 2202E.
pub fn set_element(arguments: &[&Vector], element: ElementType) -> Result<Vector> {
    let (array, subscripts, value) = assignment(arguments)?;
    let (mut single, mut at) = (ArrayBuilder::new(), Vec::with_capacity(subscripts.len()));
    arrays(arguments, |i| {
        if !integers_of(subscripts, i, &mut at) {
            return Err(missing_subscript());
        }
        let value = raw(&mut single, value, i, element);
        array::with_element(bytes(array, i).unwrap_or(array::EMPTY), element, &at, value).map(Some)
    })
}

/// The array, its subscripts and the value of an assignment.
fn assignment<'c, 'v>(
    arguments: &'c [&'v Vector],
) -> Result<(&'v Vector, &'c [&'v Vector], &'v Vector)> {
    match arguments {
        [array, subscripts @ .., value] => Ok((array, subscripts, value)),
        _ => Err(Error::internal("an assignment without a value")),
    }
}

/// The array after `array[first:last]... = source`; a NULL array counts as empty, a NULL source
/// changes nothing. `arguments` are the array, two bounds for each dimension and the source; the
/// least and greatest INTEGER are the bounds of the array.
///
/// # Errors
/// 22004 for a NULL subscript; 54000, 2202E.
pub fn set_slice(arguments: &[&Vector], element: ElementType) -> Result<Vector> {
    let (array, ends, source) = assignment(arguments)?;
    let mut found = Vec::with_capacity(ends.len());
    arrays(arguments, |i| {
        if !integers_of(ends, i, &mut found) {
            return Err(missing_subscript());
        }
        let array = bytes(array, i).unwrap_or(array::EMPTY);
        let Some(source) = bytes(source, i) else {
            return Ok(Some(array.to_vec()));
        };
        array::with_slice(array, element, &bounds_of(&found), source).map(Some)
    })
}

/// array_cat: a NULL array gives the other one.
///
/// # Errors
/// 54000.
pub fn concat(a: &Vector, b: &Vector, element: ElementType) -> Result<Vector> {
    arrays(&[a, b], |i| match (bytes(a, i), bytes(b, i)) {
        (Some(a), Some(b)) => array::concatenated(a, b, element).map(Some),
        (only, None) | (None, only) => Ok(only.map(<[u8]>::to_vec)),
    })
}

/// array_append and array_prepend: a NULL array counts as empty.
///
/// # Errors
/// 54000.
pub fn append(array: &Vector, value: &Vector, end: End, element: ElementType) -> Result<Vector> {
    let mut single = ArrayBuilder::new();
    arrays(&[array, value], |i| {
        let added = raw(&mut single, value, i, element);
        array::appended(bytes(array, i).unwrap_or(array::EMPTY), element, added, end).map(Some)
    })
}

/// Property of an array's dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// array_length.
    Length,
    /// array_lower.
    Lower,
    /// array_upper.
    Upper,
}

/// array_length, array_lower, array_upper of a dimension: NULL for one that the array lacks.
pub fn extent(what: Extent, array: &Vector, dimension: &Vector, element: ElementType) -> Vector {
    integers(&[array, dimension], |i| {
        let (array, dimension) = (bytes(array, i)?, integer(dimension, i)?);
        let at = usize::try_from(dimension).ok()?.checked_sub(1)?;
        let found = *Shape::of(array, element).dimensions().get(at)?;
        Some(match what {
            Extent::Length => found.length,
            Extent::Lower => found.lower,
            Extent::Upper => found.upper(),
        })
    })
}

/// cardinality.
pub fn cardinality(array: &Vector, element: ElementType) -> Vector {
    integers(&[array], |i| {
        // At most 2^27 elements.
        bytes(array, i).map(|array| array::cardinality(array, element) as i32)
    })
}

/// The elements of each array as an array of one dimension.
///
/// # Errors
/// 57014 after a cancel.
pub fn flat(array: &Vector, element: ElementType) -> Result<Vector> {
    arrays(&[array], |i| {
        let Some(array) = bytes(array, i) else { return Ok(None) };
        if Shape::of(array, element).dimensions().len() < 2 {
            return Ok(Some(array.to_vec()));
        }
        let mut out = ArrayBuilder::new();
        Elements::new(array, element).for_each(|raw| out.push_raw(raw));
        out.finish().map(Some)
    })
}

/// array_ndims, NULL for an empty array.
pub fn dimension_count(array: &Vector, element: ElementType) -> Vector {
    integers(&[array], |i| {
        let shape = Shape::of(bytes(array, i)?, element);
        // At most six.
        shape.first().map(|_| shape.dimensions().len() as i32)
    })
}

/// array_dims: `[1:3][0:1]`, or NULL for an empty array.
///
/// # Errors
/// None.
pub fn dimensions(array: &Vector, element: ElementType) -> Result<Vector> {
    arrays(&[array], |i| {
        let shape = bytes(array, i).map(|array| Shape::of(array, element));
        let shape = shape.filter(|shape| shape.first().is_some());
        Ok(shape.map(|shape| shape.shown().into_bytes()))
    })
}

/// array_position.
///
/// # Errors
/// 0A000 for an array of several dimensions.
pub fn position(
    array: &Vector,
    value: &Vector,
    start: Option<&Vector>,
    element: ElementType,
) -> Result<Vector> {
    let mut single = ArrayBuilder::new();
    let all: Vec<&Vector> = [array, value].into_iter().chain(start).collect();
    let mut failed = None;
    let found = integers(&all, |i| {
        let array = bytes(array, i)?;
        let start = match start {
            Some(start) => Some(integer(start, i)?),
            None => None,
        };
        let found = array::position(array, element, raw(&mut single, value, i, element), start);
        found.unwrap_or_else(|error| {
            failed.get_or_insert(error);
            None
        })
    });
    failed.map_or(Ok(found), Err)
}

/// A function of an array and one of its elements.
pub type WithElement = fn(&[u8], ElementType, RawElement<'_>) -> Result<Vec<u8>>;

/// `f(array, element)`, NULL for a NULL array: array_positions, array_remove.
///
/// # Errors
/// 54000.
pub fn with_element(
    f: WithElement,
    array: &Vector,
    value: &Vector,
    element: ElementType,
) -> Result<Vector> {
    let mut single = ArrayBuilder::new();
    arrays(&[array, value], |i| match bytes(array, i) {
        Some(array) => f(array, element, raw(&mut single, value, i, element)).map(Some),
        None => Ok(None),
    })
}

/// array_replace.
///
/// # Errors
/// 54000.
pub fn replace(array: &Vector, old: &Vector, new: &Vector, element: ElementType) -> Result<Vector> {
    let (mut first, mut second) = (ArrayBuilder::new(), ArrayBuilder::new());
    arrays(&[array, old, new], |i| match bytes(array, i) {
        Some(array) => {
            let old = raw(&mut first, old, i, element);
            array::replaced(array, element, old, raw(&mut second, new, i, element)).map(Some)
        }
        None => Ok(None),
    })
}

/// trim_array.
///
/// # Errors
/// 2202E.
pub fn trim(array: &Vector, count: &Vector, element: ElementType) -> Result<Vector> {
    arrays(&[array, count], |i| match (bytes(array, i), integer(count, i)) {
        (Some(array), Some(count)) => array::trimmed(array, element, count).map(Some),
        _ => Ok(None),
    })
}

/// width_bucket(value, array): how many elements of an ascending array are not above the value.
///
/// # Errors
/// 22004 for an element that is NULL, 2202E for an array of several dimensions.
pub fn bucket(value: &Vector, array: &Vector, element: ElementType) -> Result<Vector> {
    let mut single = ArrayBuilder::new();
    let mut failed = None;
    let buckets = integers(&[value, array], |i| {
        let array = bytes(array, i)?;
        let value = raw(&mut single, value, i, element)?;
        let mut below = 0;
        if Shape::of(array, element).dimensions().len() > 1 {
            let message = "thresholds must be one-dimensional array";
            failed = Some(Error::new(SqlState::ARRAY_SUBSCRIPT, message));
        }
        for raw in Elements::new(array, element) {
            match raw {
                Some(raw) => below += i32::from(key_order(raw, value, element).is_le()),
                None => {
                    let message = "thresholds array must not contain NULLs";
                    failed = Some(Error::new(SqlState::NULL_NOT_ALLOWED, message));
                }
            }
        }
        Some(below)
    });
    failed.map_or(Ok(buckets), Err)
}

/// The elements of an array of INTEGER that says something of dimensions.
///
/// # Errors
/// 22004 for NULL, 2202E for several dimensions.
fn of_dimensions(array: &Vector, i: usize) -> Result<Vec<i32>> {
    let null = |message: &str| Error::new(SqlState::NULL_NOT_ALLOWED, message);
    let array =
        bytes(array, i).ok_or_else(|| null("dimension array or low bound array cannot be null"))?;
    if Shape::of(array, ElementType::Integer).dimensions().len() > 1 {
        return Err(wrong_number("Dimension array must be one dimensional."));
    }
    let number = |value: types::Value| match value {
        types::Value::I32(value) => Ok(value),
        _ => Err(null("dimension values cannot be null")),
    };
    array::values(array, ElementType::Integer).into_iter().map(number).collect()
}

fn wrong_number(detail: &str) -> Error {
    let message = "wrong number of array subscripts";
    Error::new(SqlState::ARRAY_SUBSCRIPT, message).with_detail(detail)
}

/// The shape that array_fill makes.
fn filled_shape(lengths: &[i32], firsts: Option<&[i32]>) -> Result<Shape> {
    if lengths.len() > array::DIMENSIONS_MAX {
        return Err(array::too_many(lengths.len()));
    }
    if firsts.is_some_and(|firsts| firsts.len() != lengths.len()) {
        let detail = "Low bound array has different size than dimensions array.";
        return Err(wrong_number(detail));
    }
    let mut dimensions = Vec::with_capacity(lengths.len());
    for (at, length) in lengths.iter().enumerate() {
        let lower = firsts.map_or(1, |firsts| firsts[at]);
        if *length < 0 {
            let message =
                format!("array size exceeds the maximum allowed ({})", array::ELEMENTS_MAX);
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        dimensions.push(Dimension { lower, length: *length });
    }
    Shape::new(&dimensions)
}

/// array_fill(value, lengths [, first subscripts]).
///
/// # Errors
/// 22004 for a NULL length or subscript, 2202E and 54000 for subscripts and arrays that are too
/// large.
pub fn fill(
    value: &Vector,
    lengths: &Vector,
    firsts: Option<&Vector>,
    element: ElementType,
) -> Result<Vector> {
    let all: Vec<&Vector> = [value, lengths].into_iter().chain(firsts).collect();
    arrays(&all, |i| {
        let lengths = of_dimensions(lengths, i)?;
        let firsts = firsts.map(|firsts| of_dimensions(firsts, i)).transpose()?;
        let shape = filled_shape(&lengths, firsts.as_deref())?;
        let mut single = ArrayBuilder::new();
        let value = raw(&mut single, value, i, element);
        let bytes = shape.size().checked_mul(1 + value.map_or(0, <[u8]>::len));
        let mut room = Room::default();
        room.note(value_length(bytes)?, bytes.unwrap_or(usize::MAX))?;
        array::filled(value, &shape).map(Some)
    })
}

/// array_to_string.
///
/// # Errors
/// 22021, 54000.
pub fn join(
    array: &Vector,
    separator: &Vector,
    null: Option<&Vector>,
    element: ElementType,
) -> Result<Vector> {
    let all: Vec<&Vector> = [array, separator].into_iter().chain(null).collect();
    arrays(&all, |i| {
        let (Some(array), Some(separator)) = (bytes(array, i), text(separator, i)?) else {
            return Ok(None);
        };
        let null = null.map(|null| text(null, i)).transpose()?.flatten();
        types::text::joined(array, element, separator, null).map(Some)
    })
}

/// string_to_array.
///
/// # Errors
/// 22021, 54000.
pub fn split(whole: &Vector, separator: &Vector, null: Option<&Vector>) -> Result<Vector> {
    let all: Vec<&Vector> = [whole, separator].into_iter().chain(null).collect();
    arrays(&all, |i| {
        let Some(whole) = text(whole, i)? else {
            return Ok(None);
        };
        let null = null.map(|null| text(null, i)).transpose()?.flatten();
        array::split(whole, text(separator, i)?, null).map(Some)
    })
}

/// A test of two arrays.
pub type Test = fn(&[u8], &[u8], ElementType) -> bool;

/// `test(a, b)`, NULL when one is: `@>`, `&&`.
pub fn test(test: Test, a: &Vector, b: &Vector, element: ElementType) -> Vector {
    booleans(&[a, b], |i| Some(test(bytes(a, i)?, bytes(b, i)?, element)))
}
