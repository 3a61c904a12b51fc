//! Objects whose keys and values are elements of arrays, which are given as JSON.

use std::borrow::Cow;

use types::json::{self, Json, Kind};
use types::{DataType, Error, Result, SqlState};

use super::{Texts, invalid, write_rows};
use crate::Vector;

/// The function whose errors are raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectOf {
    /// json_object: of texts.
    Texts,
    /// json_build_object(VARIADIC array).
    Arguments,
}

/// The object of keys and values that take turns in an array, or that are in two arrays; NULL when
/// an array is. `ty` says whose errors are raised; the result is a JSON.
///
/// # Errors
/// 2202E for arrays of other lengths, 22004 and 22023 for keys that are null.
pub fn object_of(kind: ObjectOf, arrays: &[&Vector], ty: DataType) -> Result<Vector> {
    let texts: Vec<Texts<'_>> = arrays.iter().map(|array| Texts::new(array)).collect();
    write_rows(arrays, |i, out| {
        let lists = texts.iter().map(|array| Json::new(array.bytes(i)).elements().collect());
        let lists: Vec<Vec<Json<'_>>> = lists.collect();
        let is_nested = |list: &Vec<Json<'_>>| {
            list.first().is_some_and(|first| kind == ObjectOf::Texts && first.kind() == Kind::Array)
        };
        let pairs: Vec<(Json<'_>, Json<'_>)> = match lists.as_slice() {
            [rows] if is_nested(rows) => rows.iter().map(pair_of).collect::<Result<_>>()?,
            [a, b] if is_nested(a) || is_nested(b) => {
                return Err(subscripts("wrong number of array subscripts"));
            }
            [keys, values] if keys.len() == values.len() => {
                keys.iter().copied().zip(values.iter().copied()).collect()
            }
            [_, _] => return Err(subscripts("mismatched array dimensions")),
            [all] if all.len().is_multiple_of(2) => {
                all.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
            }
            _ if kind == ObjectOf::Texts => {
                return Err(subscripts("array must have even number of elements"));
            }
            _ => return Err(uneven(ty)),
        };
        out.push(b'{');
        for (number, (key, value)) in pairs.into_iter().enumerate() {
            if number > 0 {
                out.extend_from_slice(b", ");
            }
            json::push_quoted(out, &key_text(kind, key, number, ty)?);
            out.extend_from_slice(b" : ");
            out.extend_from_slice(value.bytes());
        }
        out.push(b'}');
        Ok(true)
    })
}

/// A key and its value, of an array of two dimensions.
fn pair_of<'j>(row: &Json<'j>) -> Result<(Json<'j>, Json<'j>)> {
    let columns: Vec<Json<'j>> = row.elements().collect();
    match columns.as_slice() {
        [first, ..] if first.kind() == Kind::Array => {
            Err(subscripts("wrong number of array subscripts"))
        }
        [key, value] => Ok((*key, *value)),
        _ => Err(subscripts("array must have two columns")),
    }
}

fn key_text<'j>(
    kind: ObjectOf,
    key: Json<'j>,
    number: usize,
    ty: DataType,
) -> Result<Cow<'j, [u8]>> {
    if let (false, Some(text)) = (key.kind() == Kind::Null, key.text()?) {
        return Ok(text);
    }
    let number = number * 2 + 1;
    Err(match (kind, ty) {
        (ObjectOf::Texts, _) => {
            Error::new(SqlState::NULL_NOT_ALLOWED, "null value not allowed for object key")
        }
        (_, DataType::Jsonb) => invalid(format!("argument {number}: key must not be null")),
        _ => invalid(format!("argument {number} cannot be null"))
            .with_hint("Object keys should be text."),
    })
}

fn uneven(ty: DataType) -> Error {
    let name = if ty == DataType::Jsonb { "jsonb_build_object" } else { "json_build_object" };
    let hint = format!("The arguments of {name}() must consist of alternating keys and values.");
    invalid("argument list must have even number of elements").with_hint(hint)
}

fn subscripts(message: &str) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT, message)
}
