//! JSONB values with parts added, changed or taken away. What is kept is copied as it is.

use std::cmp::Ordering;

use super::string::{push_quoted, unescaped};
use super::value::{index, is_text};
use super::{Json, Kind, RECURSION_MAX, invalid, too_deep};
use crate::{Error, Result, SqlState};

/// The parts of an object or array that is being written.
struct Parts<'o> {
    out: &'o mut Vec<u8>,
    has_parts: bool,
}

impl<'o> Parts<'o> {
    fn new(out: &'o mut Vec<u8>, sign: u8) -> Self {
        out.push(sign);
        Self { out, has_parts: false }
    }

    fn separate(&mut self) {
        if self.has_parts {
            self.out.extend_from_slice(b", ");
        }
        self.has_parts = true;
    }

    fn element(&mut self, value: &[u8]) {
        self.separate();
        self.out.extend_from_slice(value);
    }

    fn key(&mut self, raw: &[u8]) {
        self.separate();
        self.out.extend_from_slice(raw);
        self.out.extend_from_slice(b": ");
    }

    fn field(&mut self, (raw, value): (&[u8], Json<'_>)) {
        self.key(raw);
        self.out.extend_from_slice(value.bytes());
    }

    fn end(self, sign: u8) {
        self.out.push(sign);
    }
}

/// The order of keys in an object.
fn key_order(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Appends `left || right`: fields of both objects, else elements of both.
///
/// # Errors
/// None for values of JSONB.
pub fn concatenated(out: &mut Vec<u8>, left: &[u8], right: &[u8]) -> Result<()> {
    let (left, right) = (Json::new(left), Json::new(right));
    if (left.kind(), right.kind()) != (Kind::Object, Kind::Object) {
        let mut parts = Parts::new(out, b'[');
        for value in [left, right] {
            match value.kind() {
                Kind::Array => value.elements().for_each(|part| parts.element(part.bytes())),
                _ => parts.element(value.bytes()),
            }
        }
        parts.end(b']');
        return Ok(());
    }
    let (mut left, mut right) = (left.fields().peekable(), right.fields().peekable());
    let mut parts = Parts::new(out, b'{');
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some((a, _)), Some((b, _))) => key_order(&unescaped(a)?, &unescaped(b)?),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        if order == Ordering::Equal {
            left.next();
        }
        let next = if order == Ordering::Less { left.next() } else { right.next() };
        next.into_iter().for_each(|field| parts.field(field));
    }
    parts.end(b'}');
    Ok(())
}

/// Appends `json - key`: without a key of an object, or the strings of an array that are it.
///
/// # Errors
/// 22023 for a single value.
pub fn without_key(out: &mut Vec<u8>, json: &[u8], key: &[u8]) -> Result<()> {
    without_keys(out, json, &[key])
}

/// Appends `json` without any of `keys`: see [`without_key`].
///
/// # Errors
/// 22023 for a single value.
pub fn without_keys(out: &mut Vec<u8>, json: &[u8], keys: &[&[u8]]) -> Result<()> {
    let json = Json::new(json);
    let is_gone = |raw: &[u8]| -> Result<bool> {
        for key in keys {
            if is_text(raw, key)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    match json.kind() {
        Kind::Object => {
            let mut parts = Parts::new(out, b'{');
            for field in json.fields() {
                if !is_gone(field.0)? {
                    parts.field(field);
                }
            }
            parts.end(b'}');
        }
        Kind::Array => {
            let mut parts = Parts::new(out, b'[');
            for element in json.elements() {
                if element.kind() != Kind::String || !is_gone(element.bytes())? {
                    parts.element(element.bytes());
                }
            }
            parts.end(b']');
        }
        _ => return Err(invalid("cannot delete from scalar")),
    }
    Ok(())
}

/// Appends `json - index`: without an element of an array; negative ones count from its end.
///
/// # Errors
/// 22023 for what is no array.
pub fn without_index(out: &mut Vec<u8>, json: &[u8], index: i32) -> Result<()> {
    let json = Json::new(json);
    match json.kind() {
        Kind::Array => {}
        Kind::Object => return Err(invalid("cannot delete from object using integer index")),
        _ => return Err(invalid("cannot delete from scalar")),
    }
    let mut gone = i64::from(index);
    if gone < 0 {
        gone += json.elements().count() as i64;
    }
    let mut parts = Parts::new(out, b'[');
    for (i, element) in json.elements().enumerate() {
        if i as i64 != gone {
            parts.element(element.bytes());
        }
    }
    parts.end(b']');
    Ok(())
}

/// Change of the value at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange<'v> {
    /// jsonb_set: it is this one; a key or element that is missing is added.
    Set(&'v [u8]),
    /// jsonb_set without create_if_missing.
    Replace(&'v [u8]),
    /// jsonb_insert: this one comes before it.
    InsertBefore(&'v [u8]),
    /// jsonb_insert with insert_after.
    InsertAfter(&'v [u8]),
    /// `#-`: it is gone.
    Delete,
}

impl<'v> PathChange<'v> {
    /// The value that is added where there is none.
    fn added(self) -> Option<&'v [u8]> {
        match self {
            Self::Set(value) | Self::InsertBefore(value) | Self::InsertAfter(value) => Some(value),
            Self::Replace(_) | Self::Delete => None,
        }
    }
}

/// Appends `json` with the value at `path` changed; steps are keys or subscripts.
///
/// # Errors
/// 22023 for single values and keys that are there, 22004 for steps that are NULL, 22P02 for steps
/// in arrays that are no numbers, 54001.
pub fn change_path(
    out: &mut Vec<u8>,
    json: &[u8],
    path: &[Option<&[u8]>],
    change: PathChange<'_>,
) -> Result<()> {
    let value = Json::new(json);
    if value.is_scalar() {
        let verb = if change == PathChange::Delete { "delete" } else { "set" };
        return Err(invalid(&format!("cannot {verb} path in scalar")));
    }
    let is_empty = value.elements().next().is_none() && value.fields().next().is_none();
    if path.is_empty() || (is_empty && change.added().is_none()) {
        out.extend_from_slice(value.bytes());
        return Ok(());
    }
    Changer { path, change }.at_level(out, value, 0)
}

struct Changer<'p, 'v> {
    path: &'p [Option<&'p [u8]>],
    change: PathChange<'v>,
}

impl Changer<'_, '_> {
    fn at_level(&self, out: &mut Vec<u8>, value: Json<'_>, level: usize) -> Result<()> {
        if level > RECURSION_MAX {
            return Err(too_deep());
        }
        let Some(step) = self.path.get(level).filter(|_| !value.is_scalar()) else {
            out.extend_from_slice(value.bytes());
            return Ok(());
        };
        let Some(step) = step else {
            let message = format!("path element at position {} is null", level + 1);
            return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
        };
        match value.kind() {
            Kind::Object => self.object(out, value, step, level),
            _ => self.array(out, value, step, level),
        }
    }

    fn is_last(&self, level: usize) -> bool {
        level + 1 == self.path.len()
    }

    fn object(&self, out: &mut Vec<u8>, object: Json<'_>, key: &[u8], level: usize) -> Result<()> {
        let mut parts = Parts::new(out, b'{');
        // What is still to be added, in its place.
        let mut added = self.change.added().filter(|_| self.is_last(level));
        if object.field(key)?.is_some() {
            added = None;
        }
        let mut quoted = Vec::new();
        push_quoted(&mut quoted, key);
        for (raw, value) in object.fields() {
            let order = key_order(&unescaped(raw)?, key);
            if order == Ordering::Greater
                && let Some(value) = added.take()
            {
                parts.field((&quoted, Json::new(value)));
            }
            if order != Ordering::Equal {
                parts.field((raw, value));
            } else if !self.is_last(level) {
                parts.key(raw);
                self.at_level(parts.out, value, level + 1)?;
            } else {
                match self.change {
                    PathChange::Set(value) | PathChange::Replace(value) => {
                        parts.field((raw, Json::new(value)));
                    }
                    PathChange::Delete => {}
                    PathChange::InsertBefore(_) | PathChange::InsertAfter(_) => {
                        let hint = "Try using the function jsonb_set to replace key value.";
                        return Err(invalid("cannot replace existing key").with_hint(hint));
                    }
                }
            }
        }
        if let Some(value) = added {
            parts.field((&quoted, Json::new(value)));
        }
        parts.end(b'}');
        Ok(())
    }

    fn array(&self, out: &mut Vec<u8>, array: Json<'_>, step: &[u8], level: usize) -> Result<()> {
        let Some(position) = index(step) else {
            let step = String::from_utf8_lossy(step);
            let message =
                format!("path element at position {} is not an integer: \"{step}\"", level + 1);
            return Err(Error::new(SqlState::INVALID_TEXT, message));
        };
        let count = array.elements().count() as i64;
        // -1 is before all elements, `count` behind them.
        let position = match i64::from(position) {
            below if below < 0 => (below + count).max(-1),
            position => position.min(count),
        };
        let mut added = self.change.added().filter(|_| self.is_last(level));
        let mut parts = Parts::new(out, b'[');
        if position == -1 || count == 0 {
            added.take().into_iter().for_each(|value| parts.element(value));
        }
        for (i, element) in array.elements().enumerate() {
            if i as i64 != position {
                parts.element(element.bytes());
                continue;
            }
            added = None;
            if !self.is_last(level) {
                parts.separate();
                self.at_level(parts.out, element, level + 1)?;
                continue;
            }
            match self.change {
                PathChange::Set(value) | PathChange::Replace(value) => parts.element(value),
                PathChange::InsertBefore(value) => {
                    parts.element(value);
                    parts.element(element.bytes());
                }
                PathChange::InsertAfter(value) => {
                    parts.element(element.bytes());
                    parts.element(value);
                }
                PathChange::Delete => {}
            }
        }
        if let Some(value) = added {
            parts.element(value);
        }
        parts.end(b']');
        Ok(())
    }
}
