//! Records: values of several fields, as bytes whose order is that of the records.
//!
//! ```text
//! record   field* 00
//! field    01 value | 02 (NULL)                  as an element of an array: see `array`
//! value    an array, a record: its bytes, as those of a BYTEA
//!          JSONB: 01 key 01 text, each as a text
//! ```
//! Records of one type are equal when their bytes are, and ordered as their bytes are: by fields,
//! NULL after all values. So hashing, grouping, sorting and joins take them as they take BYTEA.
//!
//! Elsewhere: types of records (`data_type::record_type`), records as text (`text`).
//! Departures from PostgreSQL are those of arrays: -0 is held as 0, and intervals that look
//! different are not equal.

use crate::array::{ArrayBuilder, decode, split_element, text_bytes};
use crate::{DataType, ElementType, RecordField, RecordType, Result, Value, json};

/// How the bytes of a field are found.
fn form(ty: DataType) -> ElementType {
    match ElementType::new(ty) {
        Some(ElementType::Json | ElementType::Jsonb) | None => ElementType::Bytea,
        Some(element) => element,
    }
}

/// A record of `values`, each in the physical form of its field or NULL.
///
/// # Errors
/// 54000 when it is too large, 22P02 for a JSONB that is none.
pub fn from_values(values: &[Value], ty: RecordType) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    for (value, field) in values.iter().zip(ty.fields()) {
        push_field(&mut builder, value, field.ty)?;
    }
    builder.finish()
}

/// Appends a field of type `ty`.
///
/// # Errors
/// 22P02 for a JSONB that is none.
pub fn push_field(builder: &mut ArrayBuilder, value: &Value, ty: DataType) -> Result<()> {
    if let (Value::Str(text), DataType::Jsonb) = (value, ty) {
        let mut key = Vec::new();
        json::key(&mut key, text)?;
        builder.push_text(&key);
    }
    builder.push_value(value, form(ty));
    Ok(())
}

/// The values of a record's fields, in order.
pub struct Fields<'a> {
    rest: &'a [u8],
    types: std::slice::Iter<'static, RecordField>,
}

impl<'a> Fields<'a> {
    /// The fields of `record`, which is of type `ty`.
    pub fn new(record: &'a [u8], ty: RecordType) -> Self {
        Self { rest: record, types: ty.fields().iter() }
    }
}

impl Iterator for Fields<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let ty = self.types.next()?.ty;
        let (mut raw, mut rest) = split_element(self.rest, form(ty))?;
        if ty == DataType::Jsonb && raw.is_some() {
            (raw, rest) = split_element(rest, form(ty))?;
        }
        self.rest = rest;
        Some(match (raw, form(ty)) {
            (Some(raw), ElementType::Bytea) => Value::Str(text_bytes(raw).into()),
            (raw, element) => decode(raw, element),
        })
    }
}

/// The value of field `at` of a record.
pub fn field_at(record: &[u8], ty: RecordType, at: usize) -> Value {
    Fields::new(record, ty).nth(at).unwrap_or(Value::Null)
}

/// The record with each field converted by `convert`, as a record of type `to`.
///
/// # Errors
/// Errors of `convert`, and as [`from_values`].
pub fn map(
    record: &[u8],
    (from, to): (RecordType, RecordType),
    mut convert: impl FnMut(Value, DataType, DataType) -> Result<Value>,
) -> Result<Vec<u8>> {
    let mut builder = ArrayBuilder::new();
    for ((value, from), to) in Fields::new(record, from).zip(from.fields()).zip(to.fields()) {
        push_field(&mut builder, &convert(value, from.ty, to.ty)?, to.ty)?;
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(types: &[DataType]) -> Vec<RecordField> {
        let field =
            |(at, ty): (usize, &DataType)| RecordField { name: format!("f{}", at + 1), ty: *ty };
        types.iter().enumerate().map(field).collect()
    }

    #[test]
    fn types_of_the_same_fields_are_one() {
        let types = [DataType::Integer, DataType::Text];
        let known = RecordType::new(fields(&types));
        assert_eq!(known, RecordType::new(fields(&types)));
        let rows = RecordType::of_relation("t", 20_000, fields(&types));
        assert_ne!(known, rows);
        assert_eq!(rows.map(RecordType::name), Ok("t"));
    }

    #[test]
    fn bytes_are_in_the_order_of_the_records() -> Result<()> {
        let list = DataType::Array(ElementType::Integer);
        let ty = RecordType::new(fields(&[DataType::Integer, DataType::Text, list]))?;
        let array = crate::array::from_values(&[Value::I32(-1)], ElementType::Integer)?;
        let rows = [
            [Value::I32(-5), Value::text("b"), array.clone()],
            [Value::I32(1), Value::text(""), Value::Null],
            [Value::I32(1), Value::text("a"), array],
            [Value::I32(1), Value::Null, Value::Null],
            [Value::Null, Value::text("a"), Value::Null],
        ];
        let mut before: Option<Vec<u8>> = None;
        for row in rows {
            let record = from_values(&row, ty)?;
            assert_eq!(Fields::new(&record, ty).collect::<Vec<_>>(), row);
            assert!(before.as_ref().is_none_or(|before| *before < record));
            before = Some(record);
        }
        Ok(())
    }
}
