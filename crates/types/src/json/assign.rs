//! Assignment to a part of a JSONB value, where what leads to the part is made: `j['a'][2] = v`.

use super::string::{push_quoted, unescaped};
use super::value::index;
use super::{Json, Kind, RECURSION_MAX, invalid, too_deep};
use crate::{Error, Result, SqlState};

/// Appends `json` with `value` at `path`, as JSON that is not canonical yet: objects and arrays
/// are made on the way, elements in between are null.
///
/// # Errors
/// 22023 for single values on the way and elements before the first one, 22004 for steps that are
/// NULL, 22P02 for steps in arrays that are no numbers, 54001.
pub fn assigned(
    out: &mut Vec<u8>,
    json: &[u8],
    path: &[Option<&[u8]>],
    value: &[u8],
) -> Result<()> {
    let steps: Option<Vec<&[u8]>> = path.iter().copied().collect();
    let Some(steps) = steps else {
        let message = "jsonb subscript in assignment must not be null";
        return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
    };
    if steps.len() > RECURSION_MAX {
        return Err(too_deep());
    }
    Assigner { steps: &steps, value }.at_level(out, Json::new(json), 0)
}

struct Assigner<'p> {
    steps: &'p [&'p [u8]],
    value: &'p [u8],
}

impl Assigner<'_> {
    fn at_level(&self, out: &mut Vec<u8>, json: Json<'_>, level: usize) -> Result<()> {
        let Some(step) = self.steps.get(level) else {
            out.extend_from_slice(self.value);
            return Ok(());
        };
        match json.kind() {
            Kind::Object => self.object(out, json, step, level),
            Kind::Array => self.array(out, json, step, level),
            _ => {
                let detail =
                    "The path assumes key is a composite object, but it is a scalar value.";
                Err(invalid("cannot replace existing key").with_detail(detail))
            }
        }
    }

    fn object(&self, out: &mut Vec<u8>, object: Json<'_>, key: &[u8], level: usize) -> Result<()> {
        out.push(b'{');
        let mut is_found = false;
        for (number, (raw, value)) in object.fields().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            out.extend_from_slice(raw);
            out.push(b':');
            if *unescaped(raw)? == *key {
                is_found = true;
                self.at_level(out, value, level + 1)?;
            } else {
                out.extend_from_slice(value.bytes());
            }
        }
        if !is_found {
            if object.fields().next().is_some() {
                out.push(b',');
            }
            push_quoted(out, key);
            out.push(b':');
            self.made(out, level + 1);
        }
        out.push(b'}');
        Ok(())
    }

    fn array(&self, out: &mut Vec<u8>, array: Json<'_>, step: &[u8], level: usize) -> Result<()> {
        let position = level + 1;
        let Some(wanted) = index(step) else {
            let step = String::from_utf8_lossy(step);
            let message =
                format!("path element at position {position} is not an integer: \"{step}\"");
            return Err(Error::new(SqlState::INVALID_TEXT, message));
        };
        let count = array.elements().count();
        let from_end = usize::try_from(wanted.unsigned_abs()).unwrap_or(usize::MAX);
        let place = if wanted >= 0 {
            from_end
        } else if from_end <= count {
            count - from_end
        } else {
            let message = format!("path element at position {position} is out of range: {wanted}");
            return Err(invalid(&message));
        };
        out.push(b'[');
        for (number, element) in array.elements().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            if number == place {
                self.at_level(out, element, level + 1)?
            } else {
                out.extend_from_slice(element.bytes())
            }
        }
        for number in count..=place.max(count.saturating_sub(1)) {
            if number > 0 {
                out.push(b',');
            }
            if number == place { self.made(out, level + 1) } else { out.extend_from_slice(b"null") }
        }
        out.push(b']');
        Ok(())
    }

    /// Makes the value where nothing was: an array for a step that is a number, else an object.
    fn made(&self, out: &mut Vec<u8>, level: usize) {
        let Some(step) = self.steps.get(level) else {
            out.extend_from_slice(self.value);
            return;
        };
        match index(step) {
            Some(place) => {
                out.push(b'[');
                (0..place).for_each(|_| out.extend_from_slice(b"null,"));
                self.made(out, level + 1);
                out.push(b']');
            }
            None => {
                out.push(b'{');
                push_quoted(out, step);
                out.push(b':');
                self.made(out, level + 1);
                out.push(b'}');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str, path: &[&str]) -> String {
        let mut out = Vec::new();
        let path: Vec<Option<&[u8]>> = path.iter().map(|step| Some(step.as_bytes())).collect();
        match assigned(&mut out, json.as_bytes(), &path, b"7") {
            Ok(()) => String::from_utf8(out).expect("UTF-8"),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn the_way_to_a_part_is_made() {
        assert_eq!(shown("{}", &["a", "1", "b"]), r#"{"a":[null,{"b":7}]}"#);
        assert_eq!(shown(r#"{"a": 1, "b": 2}"#, &["a"]), r#"{"a":7,"b":2}"#);
        assert_eq!(shown("[1, 2]", &["-1"]), "[1,7]");
        assert_eq!(shown("[1, 2]", &["3"]), "[1,2,null,7]");
        assert_eq!(shown("[]", &["0"]), "[7]");
        assert_eq!(shown("[1]", &["-2"]), "path element at position 1 is out of range: -2");
        assert_eq!(shown("1", &["a"]), "cannot replace existing key");
    }
}
