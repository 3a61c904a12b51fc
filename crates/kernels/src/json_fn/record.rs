//! Records in JSON: what json_to_record and its kin read their columns from.

use types::array::ArrayBuilder;
use types::json::{Json, Kind};
use types::{DataType, Error, RecordType, Result, SqlState};

use super::{Form, found, invalid, write_rows};
use crate::Vector;
use crate::rows::Texts;

/// A function that gives a row for each record of a value, which are an array here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// json_to_record, json_populate_record: the value itself.
    One,
    /// json_to_recordset.
    ToSet,
    /// json_populate_recordset.
    PopulateSet,
}

impl Records {
    /// 22023 for a value that is not such records.
    #[cold]
    fn refused(self, json: Json<'_>, ty: DataType) -> Error {
        let what = match json.kind() {
            Kind::Object => "an object",
            Kind::Array => "an array",
            _ => "a scalar",
        };
        let suffix = match self {
            Self::One => return invalid(format!("cannot call populate_composite on {what}")),
            Self::ToSet => "to_recordset",
            Self::PopulateSet => "populate_recordset",
        };
        let name = format!("{}_{suffix}", ty.name());
        invalid(match ty {
            _ if json.kind() == Kind::Array => {
                format!("argument of {name} must be an array of objects")
            }
            DataType::Jsonb => format!("cannot call {name} on a non-array"),
            _ => format!("cannot call {name} on {what}"),
        })
    }

    fn collect(self, json: Json<'_>, ty: DataType) -> Result<ArrayBuilder> {
        let mut array = ArrayBuilder::new();
        let wanted = if self == Self::One { Kind::Object } else { Kind::Array };
        if json.kind() != wanted {
            return Err(self.refused(json, ty));
        }
        if self == Self::One {
            array.push_text(json.bytes());
        }
        for element in json.elements() {
            if element.kind() != Kind::Object {
                return Err(self.refused(json, ty));
            }
            array.push_text(element.bytes());
        }
        Ok(array)
    }
}

/// The records of a JSON or JSONB, as `ty` says, as an array of objects: see [`Records`].
///
/// # Errors
/// 22023 for a value that is not such records.
pub fn records(records: Records, json: &Vector, ty: DataType) -> Result<Vector> {
    let texts = Texts::new(json);
    write_rows(&[json], |i, out| {
        let array = records.collect(Json::new(texts.bytes(i)), ty)?;
        out.extend_from_slice(&array.finish()?);
        Ok(true)
    })
}

/// The field `key` of objects as a value of a column of JSON: as it is, but null as NULL.
///
/// # Errors
/// As [`super::field`].
pub fn column(json: &Vector, key: &Vector) -> Result<Vector> {
    let keys = Texts::new(key);
    found(Form::Json, &[json, key], |json, i| {
        Ok(json.field(keys.bytes(i))?.filter(|value| value.kind() != Kind::Null))
    })
}

/// The field `key` of objects as the text of a value of type `ty`, an array or a record: strings
/// are such texts, arrays have elements, and objects the fields of a record by their names.
///
/// # Errors
/// 22P02 for an array of other values; as [`super::field`].
pub fn value_text(ty: DataType, json: &Vector, key: &Vector) -> Result<Vector> {
    let (values, keys) = (Texts::new(json), Texts::new(key));
    write_rows(&[json, key], |i, out| {
        let key = keys.bytes(i);
        let Some(value) = Json::new(values.bytes(i)).field(key)? else { return Ok(false) };
        match (value.kind(), ty) {
            (Kind::Null, _) => return Ok(false),
            (Kind::Array | Kind::String, DataType::Array(_)) | (_, DataType::Record(_)) => {
                put_value(out, value, ty)?;
            }
            _ => {
                let error = Error::new(SqlState::INVALID_TEXT, "expected JSON array");
                let key = String::from_utf8_lossy(key);
                return Err(error.with_hint(format!("See the value of key \"{key}\".")));
            }
        }
        Ok(true)
    })
}

/// Appends the text of a value of type `ty`.
fn put_value(out: &mut Vec<u8>, value: Json<'_>, ty: DataType) -> Result<()> {
    match (value.kind(), ty) {
        (Kind::Array, DataType::Array(element)) => put_array(out, value, element.data_type())?,
        (Kind::Object, DataType::Record(ty)) => put_record(out, value, ty)?,
        (_, DataType::Json | DataType::Jsonb) => out.extend_from_slice(value.bytes()),
        _ => out.extend_from_slice(&value.text()?.unwrap_or_default()),
    }
    Ok(())
}

/// Appends `{"a","b"}`, and arrays in it in the same way.
fn put_array(out: &mut Vec<u8>, array: Json<'_>, ty: DataType) -> Result<()> {
    out.push(b'{');
    for (number, element) in array.elements().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        match element.kind() {
            Kind::Array => put_array(out, element, ty)?,
            Kind::Null => out.extend_from_slice(b"NULL"),
            _ => put_quoted(out, element, ty)?,
        }
    }
    out.push(b'}');
    Ok(())
}

/// Appends `("a",,"b")`: nothing for a field that the object does not have.
fn put_record(out: &mut Vec<u8>, object: Json<'_>, ty: RecordType) -> Result<()> {
    out.push(b'(');
    for (number, field) in ty.fields().iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        let value = object.field(field.name.as_bytes())?;
        if let Some(value) = value.filter(|value| value.kind() != Kind::Null) {
            put_quoted(out, value, field.ty)?;
        }
    }
    out.push(b')');
    Ok(())
}

/// Appends the text of a value in quotes.
fn put_quoted(out: &mut Vec<u8>, value: Json<'_>, ty: DataType) -> Result<()> {
    let mut text = Vec::new();
    put_value(&mut text, value, ty)?;
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
    Ok(())
}
