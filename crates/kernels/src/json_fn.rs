//! Functions on JSON and JSONB. Argument convention: see `text_fn`; NULL arguments give NULL where
//! nothing else is said. Values inside are parts of the text they are read from.

mod object;
mod record;

use std::borrow::Cow;

use types::array::{self, ArrayBuilder};
use types::calendar::TimeZone;
use types::json::{self, Canonical, Json, Kind, PathChange};
use types::{DataType, ElementType, Error, Result, SqlState, Value, to_json};

use crate::rows::{Texts, Values, count, scratch, try_build, validity};
use crate::{Vector, VectorBuilder, VectorData, time_fn};

pub use object::{ObjectOf, object_of};
pub use record::{Records, column, records, value_text};

/// How a value inside of another one is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Json,
    /// As text: strings without quotes, null as NULL.
    Text,
}

/// Where a row of `vector` is, of which one may stand for all.
#[inline]
fn row_of(vector: &Vector, i: usize) -> usize {
    if vector.len() == 1 { 0 } else { i }
}

/// Appends by `write` the rows of which no argument is NULL; NULL where it says false.
fn write_rows(
    arguments: &[&Vector],
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<bool>,
) -> Result<Vector> {
    let rows = count(arguments);
    let valid = validity(arguments, rows);
    let mut out = VectorBuilder::with_capacity(types::PhysicalType::Str, rows);
    let mut buffer = Vec::new();
    for i in 0..rows {
        let _scratch = scratch(arguments, i)?;
        buffer.clear();
        if valid.as_ref().is_none_or(|valid| valid.get(i)) && write(i, &mut buffer)? {
            out.push_str(&buffer);
        } else {
            out.push_null();
        }
    }
    Ok(out.finish())
}

/// Value that `find` finds in `json`.
fn found(
    form: Form,
    arguments: &[&Vector],
    find: impl for<'j> Fn(Json<'j>, usize) -> Result<Option<Json<'j>>>,
) -> Result<Vector> {
    let values = Texts::new(arguments[0]);
    let rows = count(arguments);
    let valid = validity(arguments, rows);
    let mut out = VectorBuilder::with_capacity(types::PhysicalType::Str, rows);
    for i in 0..rows {
        let value = if valid.as_ref().is_none_or(|valid| valid.get(i)) {
            find(Json::new(values.bytes(i)), i)?
        } else {
            None
        };
        match (value, form) {
            (None, _) => out.push_null(),
            (Some(value), Form::Json) => out.push_str(value.bytes()),
            (Some(value), Form::Text) => match value.text()? {
                Some(text) => out.push_str(&text),
                None => out.push_null(),
            },
        }
    }
    Ok(out.finish())
}

/// Text or JSON as JSONB.
///
/// # Errors
/// 22P02, 22P05, 22003, 54001.
pub fn canonical(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    let mut canonical = Canonical::default();
    write_rows(&[text], |i, out| canonical.append(out, texts.bytes(i)).map(|()| true))
}

/// Values of type `ty` as JSON, by clocks of the zone that `zone` names; NULL where they are.
///
/// # Errors
/// 22023 for a zone that is not known.
pub fn from_value(value: &Vector, ty: DataType, zone: Option<&Vector>) -> Result<Vector> {
    let zone = zone.map(time_fn::session_zone).transpose()?.unwrap_or_default();
    write_rows(&[value], |i, out| {
        push_value(out, value, row_of(value, i), ty, &zone);
        Ok(true)
    })
}

/// Appends row `i` as JSON.
fn push_value(out: &mut Vec<u8>, value: &Vector, i: usize, ty: DataType, zone: &TimeZone) {
    match &value.data {
        VectorData::Str(texts) if !value.is_null(i) => {
            to_json::append_bytes(out, texts.get(i), ty, zone);
        }
        _ => to_json::append_value(out, &value.value(i), ty, zone),
    }
}

/// The key of a JSONB, in the order of the values: see `types::json`.
///
/// # Errors
/// None for values of JSONB.
pub fn key(json: &Vector) -> Result<Vector> {
    let texts = Texts::new(json);
    write_rows(&[json], |i, out| json::key(out, texts.bytes(i)).map(|()| true))
}

/// As [`key`] for arrays of JSONB: arrays of the keys, as BYTEA.
///
/// # Errors
/// 54000 for arrays that become too large.
pub fn array_key(arrays: &Vector) -> Result<Vector> {
    let values = Texts::new(arrays);
    let key_of = |value: Value| match value {
        Value::Str(bytes) => {
            let mut key = Vec::new();
            json::key(&mut key, &bytes)?;
            Ok(Value::Str(key.into()))
        }
        other => Ok(other),
    };
    write_rows(&[arrays], |i, out| {
        let array = values.bytes(i);
        out.extend(array::map(array, ElementType::Jsonb, ElementType::Bytea, key_of)?);
        Ok(true)
    })
}

/// `json -> key` and `json ->> key`.
///
/// # Errors
/// 22P05, 22P02 for strings that are no text.
pub fn field(form: Form, json: &Vector, key: &Vector) -> Result<Vector> {
    let keys = Texts::new(key);
    found(form, &[json, key], |json, i| json.field(keys.bytes(i)))
}

/// `json -> index` and `json ->> index`. A JSONB, as `ty` says, that is a single value is its own
/// only element, as in PostgreSQL.
///
/// # Errors
/// As [`field`].
pub fn element(form: Form, json: &Vector, index: &Vector, ty: DataType) -> Result<Vector> {
    let indexes = Values::<i32>::new(index);
    found(form, &[json, index], |json, i| {
        let index = indexes.get(i);
        let is_own = ty == DataType::Jsonb && matches!(index, 0 | -1) && json.is_scalar();
        Ok(if is_own { Some(json) } else { json.element(index) })
    })
}

/// `json #> path` and `json #>> path`: a TEXT[].
///
/// # Errors
/// As [`field`].
pub fn at_path(form: Form, json: &Vector, path: &Vector) -> Result<Vector> {
    let paths = Texts::new(path);
    found(form, &[json, path], |json, i| {
        let mut value = json;
        for step in array::Elements::new(paths.bytes(i), ElementType::Text) {
            let Some(step) = step else { return Ok(None) };
            match value.step(&array::text_bytes(step))? {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    })
}

/// A BOOLEAN of two arguments held as bytes.
fn test(a: &Vector, b: &Vector, test: impl Fn(&[u8], &[u8]) -> Result<bool>) -> Result<Vector> {
    let (x, y) = (Texts::new(a), Texts::new(b));
    try_build(&[a, b], |i| test(x.bytes(i), y.bytes(i)).map(u8::from))
}

/// `json @> part`.
///
/// # Errors
/// 54001.
pub fn contains(json: &Vector, part: &Vector) -> Result<Vector> {
    test(json, part, json::contains)
}

/// `json ? key`.
///
/// # Errors
/// None for values of JSONB.
pub fn has_key(json: &Vector, key: &Vector) -> Result<Vector> {
    test(json, key, json::has_key)
}

/// Which of several keys are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// `?|`.
    Any,
    /// `?&`.
    All,
}

/// `json ?| keys`, `json ?& keys`: of a TEXT[], whose NULLs count for nothing.
///
/// # Errors
/// None for values of JSONB.
pub fn has_keys(wanted: Wanted, json: &Vector, keys: &Vector) -> Result<Vector> {
    test(json, keys, |json, keys| {
        for key in array::Elements::new(keys, ElementType::Text).flatten() {
            let is_there = json::has_key(json, &array::text_bytes(key))?;
            if is_there == (wanted == Wanted::Any) {
                return Ok(is_there);
            }
        }
        Ok(wanted == Wanted::All)
    })
}

/// `left || right` of JSONB.
///
/// # Errors
/// None for values of JSONB.
pub fn concatenate(left: &Vector, right: &Vector) -> Result<Vector> {
    let (x, y) = (Texts::new(left), Texts::new(right));
    write_rows(&[left, right], |i, out| {
        json::concatenated(out, x.bytes(i), y.bytes(i)).map(|()| true)
    })
}

/// `json - what`: a key (TEXT), an index (INTEGER) or keys (TEXT[]), as `ty` says.
///
/// # Errors
/// 22023.
pub fn without(json: &Vector, what: &Vector, ty: DataType) -> Result<Vector> {
    let values = Texts::new(json);
    write_rows(&[json, what], |i, out| {
        match ty {
            DataType::Integer => {
                let index = Values::<i32>::new(what).get(i);
                json::without_index(out, values.bytes(i), index)?;
            }
            DataType::Array(_) => {
                check_line(Texts::new(what).bytes(i))?;
                let keys = steps(Texts::new(what).bytes(i));
                let keys: Vec<&[u8]> = keys.iter().flatten().map(|key| &**key).collect();
                json::without_keys(out, values.bytes(i), &keys)?;
            }
            _ => json::without_key(out, values.bytes(i), Texts::new(what).bytes(i))?,
        }
        Ok(true)
    })
}

/// 2202E for a TEXT[] of several dimensions.
fn check_line(path: &[u8]) -> Result<()> {
    if array::Shape::of(path, ElementType::Text).dimensions().len() > 1 {
        let message = "wrong number of array subscripts";
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT, message));
    }
    Ok(())
}

/// The elements of a TEXT[].
fn steps(path: &[u8]) -> Vec<Option<Cow<'_, [u8]>>> {
    array::Elements::new(path, ElementType::Text).map(|raw| raw.map(array::text_bytes)).collect()
}

/// `json #- path`, jsonb_set and jsonb_insert: `value` and the BOOLEAN behind it are what the
/// function `change` makes the change of.
///
/// # Errors
/// See [`json::change_path`].
pub fn change_path(
    arguments: &[&Vector],
    change: impl for<'v> Fn(&'v [u8], bool) -> PathChange<'v>,
) -> Result<Vector> {
    let (values, paths) = (Texts::new(arguments[0]), Texts::new(arguments[1]));
    let replacement = arguments.get(2).map(|value| Texts::new(value));
    let flag = arguments.get(3).map(|flag| Values::<u8>::new(flag));
    write_rows(arguments, |i, out| {
        check_line(paths.bytes(i))?;
        let path = steps(paths.bytes(i));
        let path: Vec<Option<&[u8]>> = path.iter().map(Option::as_deref).collect();
        let value = replacement.as_ref().map_or(&[][..], |value| value.bytes(i));
        let change = change(value, flag.as_ref().is_some_and(|flag| flag.get(i) != 0));
        json::change_path(out, values.bytes(i), &path, change).map(|()| true)
    })
}

/// A JSONB after an assignment to its part at a TEXT[] path: see [`json::assigned`].
///
/// # Errors
/// Errors of the assignment.
pub fn assign(json: &Vector, path: &Vector, value: &Vector) -> Result<Vector> {
    let (values, paths, parts) = (Texts::new(json), Texts::new(path), Texts::new(value));
    let mut loose = Vec::new();
    write_rows(&[json, path, value], |i, out| {
        let path = steps(paths.bytes(i));
        let path: Vec<Option<&[u8]>> = path.iter().map(Option::as_deref).collect();
        loose.clear();
        json::assigned(&mut loose, values.bytes(i), &path, parts.bytes(i))?;
        out.extend_from_slice(&json::canonical(&loose)?);
        Ok(true)
    })
}

/// json_typeof(json) -> TEXT.
///
/// # Errors
/// None.
pub fn type_of(json: &Vector) -> Result<Vector> {
    let texts = Texts::new(json);
    write_rows(&[json], |i, out| {
        out.extend_from_slice(Json::new(texts.bytes(i)).kind().name().as_bytes());
        Ok(true)
    })
}

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

/// json_array_length(json) -> INTEGER.
///
/// # Errors
/// 22023 for what is no array.
pub fn array_length(json: &Vector) -> Result<Vector> {
    let texts = Texts::new(json);
    try_build(&[json], |i| {
        let json = Json::new(texts.bytes(i));
        match json.kind() {
            Kind::Array => Ok(i32::try_from(json.elements().count()).unwrap_or(i32::MAX)),
            Kind::Object => Err(invalid("cannot get array length of a non-array")),
            _ => Err(invalid("cannot get array length of a scalar")),
        }
    })
}

/// json_strip_nulls of a JSON or JSONB, as `ty` says.
///
/// # Errors
/// 22P05, 22P02 for strings that are no text.
pub fn strip_nulls(json: &Vector, ty: DataType) -> Result<Vector> {
    let texts = Texts::new(json);
    write_rows(&[json], |i, out| json::without_nulls(out, texts.bytes(i), ty).map(|()| true))
}

/// JSON with a line feed behind each comma of its outermost value, in rows whose BOOLEAN is true.
///
/// # Errors
/// None for JSON that was made here.
pub fn line_feeds(json: &Vector, flags: &Vector) -> Result<Vector> {
    let texts = Texts::new(json);
    let wanted = Values::<u8>::new(flags);
    write_rows(&[json, flags], |i, out| {
        if wanted.get(i) == 0 {
            out.extend_from_slice(texts.bytes(i));
            return Ok(true);
        }
        let (mut depth, mut in_text, mut escaped) = (0, false, false);
        for &byte in texts.bytes(i) {
            out.push(byte);
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = in_text,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                b',' if depth == 1 => out.extend_from_slice(b"\n "),
                _ => {}
            }
        }
        Ok(true)
    })
}

/// jsonb_pretty(json) -> TEXT.
///
/// # Errors
/// None for values of JSONB.
pub fn pretty(json: &Vector) -> Result<Vector> {
    let texts = Texts::new(json);
    write_rows(&[json], |i, out| json::pretty(out, texts.bytes(i)).map(|()| true))
}

/// Texts of `rows` rows: `parts` parts, written by `part` (row, number), within `ends` and with
/// `between` between them.
fn build(
    rows: usize,
    parts: usize,
    (ends, between): ([u8; 2], &[u8]),
    mut part: impl FnMut(&mut Vec<u8>, usize, usize) -> Result<()>,
) -> Result<Vector> {
    let mut out = VectorBuilder::with_capacity(types::PhysicalType::Str, rows);
    let mut buffer = Vec::new();
    for i in 0..rows {
        buffer.clear();
        buffer.push(ends[0]);
        for number in 0..parts {
            if number > 0 {
                buffer.extend_from_slice(between);
            }
            part(&mut buffer, i, number)?;
        }
        buffer.push(ends[1]);
        out.push_str(&buffer);
    }
    Ok(out.finish())
}

/// json_build_object(TEXT key, JSON value, ...): never NULL. `jsonb` says whose errors are raised;
/// the result is a JSON.
///
/// # Errors
/// 22023 for keys that are NULL.
pub fn build_object(arguments: &[&Vector], rows: usize, ty: DataType) -> Result<Vector> {
    build(rows, arguments.len() / 2, (*b"{}", b", "), |out, i, number| {
        let (key, value) = (arguments[number * 2], arguments[number * 2 + 1]);
        let row = row_of(key, i);
        if key.is_null(row) {
            let number = number * 2 + 1;
            return Err(match ty {
                DataType::Jsonb => invalid(format!("argument {number}: key must not be null")),
                _ => invalid(format!("argument {number} cannot be null"))
                    .with_hint("Object keys should be text."),
            });
        }
        json::push_quoted(out, key.as_str().get(row));
        out.extend_from_slice(b" : ");
        push_json(out, value, i);
        Ok(())
    })
}

/// Appends row `i` of a column of JSON.
fn push_json(out: &mut Vec<u8>, json: &Vector, i: usize) {
    let row = row_of(json, i);
    out.extend_from_slice(if json.is_null(row) { b"null" } else { json.as_str().get(row) });
}

/// json_build_array(JSON, ...): never NULL.
///
/// # Errors
/// None.
pub fn build_array(arguments: &[&Vector], rows: usize) -> Result<Vector> {
    build(rows, arguments.len(), (*b"[]", b", "), |out, i, number| {
        push_json(out, arguments[number], i);
        Ok(())
    })
}

/// A row as JSON: the names of its columns and their values, never NULL. The names are given as
/// they stand in JSON.
///
/// # Errors
/// None.
pub fn build_row(arguments: &[&Vector], rows: usize) -> Result<Vector> {
    build(rows, arguments.len() / 2, (*b"{}", b","), |out, i, number| {
        let name = arguments[number * 2];
        json::push_quoted(out, name.as_str().get(row_of(name, i)));
        out.push(b':');
        push_json(out, arguments[number * 2 + 1], i);
        Ok(())
    })
}

/// A field of json_object_agg: `"key" : value`, as TEXT. The value is a JSON.
///
/// # Errors
/// 22023 for a key that is NULL.
pub fn pair(key: &Vector, value: &Vector) -> Result<Vector> {
    let rows = count(&[key, value]);
    let mut out = VectorBuilder::with_capacity(types::PhysicalType::Str, rows);
    let mut buffer = Vec::new();
    for i in 0..rows {
        let row = row_of(key, i);
        if key.is_null(row) {
            return Err(invalid("field name must not be null"));
        }
        buffer.clear();
        json::push_quoted(&mut buffer, key.as_str().get(row));
        buffer.extend_from_slice(b" : ");
        push_json(&mut buffer, value, i);
        out.push_str(&buffer);
    }
    Ok(out.finish())
}

/// Result of json_agg and json_object_agg over an array of all values: see the functions that call
/// it.
fn aggregated(
    values: &Vector,
    element: ElementType,
    (start, separator, end): (&[u8], &[u8], &[u8]),
    mut push: impl FnMut(&mut Vec<u8>, array::RawElement<'_>),
) -> Result<Vector> {
    let texts = Texts::new(values);
    write_rows(&[values], |i, out| {
        out.extend_from_slice(start);
        for (number, raw) in array::Elements::new(texts.bytes(i), element).enumerate() {
            if number > 0 {
                out.extend_from_slice(separator);
            }
            push(out, raw);
        }
        out.extend_from_slice(end);
        Ok(true)
    })
}

/// json_agg of what array_agg collected, with the only TEXT of `separator` between elements.
///
/// # Errors
/// 22023 for a zone that is not known.
pub fn aggregate_array(
    values: &Vector,
    element: ElementType,
    separator: &Vector,
    zone: Option<&Vector>,
) -> Result<Vector> {
    let separator = Texts::new(separator).bytes(0);
    let zone = zone.map(time_fn::session_zone).transpose()?.unwrap_or_default();
    let ty = element.data_type();
    aggregated(values, element, (b"[", separator, b"]"), |out, raw| {
        to_json::append_value(out, &array::decode(raw, element), ty, &zone);
    })
}

/// json_object_agg of the pairs ([`pair`]) that array_agg collected.
///
/// # Errors
/// None.
pub fn aggregate_object(pairs: &Vector) -> Result<Vector> {
    aggregated(pairs, ElementType::Text, (b"{ ", b", ", b" }"), |out, raw| {
        out.extend_from_slice(&raw.map(array::text_bytes).unwrap_or_default());
    })
}

/// A function that gives a row for each part of a value, which is an array here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// json_array_elements.
    Elements,
    /// json_array_elements_text.
    ElementTexts,
    /// json_object_keys.
    Keys,
    /// json_each: `["key", value]`.
    Fields,
    /// json_each_text: `["key", "text of the value"]`.
    FieldTexts,
}

impl Parts {
    /// The type of the array's elements, for values of type `ty`.
    pub fn element(self, ty: DataType) -> ElementType {
        match (self, ty) {
            (Self::ElementTexts | Self::Keys, _) => ElementType::Text,
            (_, DataType::Jsonb) => ElementType::Jsonb,
            _ => ElementType::Json,
        }
    }

    /// 22023 for a value that has no such parts.
    #[cold]
    fn refused(self, json: Json<'_>, ty: DataType) -> Error {
        let is_scalar = json.is_scalar();
        invalid(match (self, ty) {
            (Self::Elements | Self::ElementTexts, DataType::Jsonb) => {
                let what = if is_scalar { "a scalar" } else { "an object" };
                format!("cannot extract elements from {what}")
            }
            (Self::Elements | Self::ElementTexts, _) => {
                let name = if self == Self::Elements { "" } else { "_text" };
                let what = if is_scalar { "a scalar" } else { "a non-array" };
                format!("cannot call json_array_elements{name} on {what}")
            }
            (Self::Keys, ty) => {
                let what = if is_scalar { "a scalar" } else { "an array" };
                format!("cannot call {}_object_keys on {what}", ty.name())
            }
            (Self::Fields, DataType::Jsonb) => "cannot call jsonb_each on a non-object".to_owned(),
            (Self::FieldTexts, DataType::Jsonb) => {
                "cannot call jsonb_each_text on a non-object".to_owned()
            }
            _ if is_scalar => "cannot deconstruct a scalar".to_owned(),
            _ => "cannot deconstruct an array as an object".to_owned(),
        })
    }

    fn collect(self, json: Json<'_>, ty: DataType, pair: &mut Vec<u8>) -> Result<ArrayBuilder> {
        let mut array = ArrayBuilder::new();
        let wanted = match self {
            Self::Elements | Self::ElementTexts => Kind::Array,
            Self::Keys | Self::Fields | Self::FieldTexts => Kind::Object,
        };
        if json.kind() != wanted {
            return Err(self.refused(json, ty));
        }
        for element in json.elements() {
            match self {
                Self::ElementTexts => match element.text()? {
                    Some(text) => array.push_text(&text),
                    None => array.push_null(),
                },
                _ => array.push_text(element.bytes()),
            }
        }
        for (key, value) in json.fields() {
            if self == Self::Keys {
                array.push_text(&json::unescaped(key)?);
                continue;
            }
            pair.clear();
            pair.push(b'[');
            pair.extend_from_slice(key);
            pair.extend_from_slice(b", ");
            pair.extend_from_slice(value.bytes());
            pair.push(b']');
            array.push_text(pair);
        }
        Ok(array)
    }
}

/// The parts of a value as an array: see [`Parts`].
///
/// # Errors
/// 22023 for a value that has no such parts, 22P05, 22P02 for strings that are no text.
pub fn parts(parts: Parts, json: &Vector, ty: DataType) -> Result<Vector> {
    let texts = Texts::new(json);
    let mut pair = Vec::new();
    write_rows(&[json], |i, out| {
        let array = parts.collect(Json::new(texts.bytes(i)), ty, &mut pair)?;
        out.extend_from_slice(&array.finish()?);
        Ok(true)
    })
}
