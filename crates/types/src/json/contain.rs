//! Tests that one JSONB is in another.

use super::value::is_text;
use super::{Json, Kind, RECURSION_MAX, number, too_deep};
use crate::Result;

/// `whole @> part`.
///
/// # Errors
/// 54001.
pub fn contains(whole: &[u8], part: &[u8]) -> Result<bool> {
    let (whole, part) = (Json::new(whole), Json::new(part));
    match (whole.kind(), part.is_scalar()) {
        // A single value is in an array that has it.
        (Kind::Array, true) => Ok(whole.elements().any(|element| equal(element, part))),
        _ => holds(whole, part, 0),
    }
}

/// True when two single values are equal.
fn equal(a: Json<'_>, b: Json<'_>) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::Number, Kind::Number) => number::equal(a.bytes(), b.bytes()),
        (x, y) => x == y && a.is_scalar() && a.bytes() == b.bytes(),
    }
}

fn holds(whole: Json<'_>, part: Json<'_>, depth: usize) -> Result<bool> {
    if depth > RECURSION_MAX {
        return Err(too_deep());
    }
    match (whole.kind(), part.kind()) {
        (Kind::Object, Kind::Object) => {
            // Keys of both are in one order: those of `whole` are passed once.
            let mut rest = whole.fields();
            for (key, value) in part.fields() {
                let found = rest.find(|(known, _)| *known == key);
                match found {
                    Some((_, held)) if holds(held, value, depth + 1)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Kind::Array, Kind::Array) => {
            'parts: for value in part.elements() {
                for element in whole.elements() {
                    if holds(element, value, depth + 1)? {
                        continue 'parts;
                    }
                }
                return Ok(false);
            }
            Ok(true)
        }
        _ => Ok(equal(whole, part)),
    }
}

/// `json ? key`: a key of an object, an element of an array that is a string, or that string.
///
/// # Errors
/// None: keys of a JSONB are text.
pub fn has_key(json: &[u8], key: &[u8]) -> Result<bool> {
    let json = Json::new(json);
    match json.kind() {
        Kind::Object => json.field(key).map(|found| found.is_some()),
        Kind::Array => {
            for element in json.elements().filter(|element| element.kind() == Kind::String) {
                if is_text(element.bytes(), key)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Kind::String => is_text(json.bytes(), key),
        _ => Ok(false),
    }
}
