//! Values from and to text, by PostgreSQL's rules.
#![allow(unused_variables)]

use crate::{DataType, Error, Result, Value};

/// The value of type `ty` that `text` denotes, by PostgreSQL's input rules.
///
/// # Errors
/// 22P02, 22003, 22007, 22008, 22001 with PostgreSQL's messages.
pub fn parse(text: &str, ty: DataType) -> Result<Value> {
    Err(Error::internal("not there yet"))
}

/// `value` of type `ty` as PostgreSQL prints it; NULL is the empty string.
pub fn format(value: &Value, ty: DataType) -> String {
    let mut out = String::new();
    format_into(&mut out, value, ty);
    out
}

/// As [`format()`], appended to `out`.
pub fn format_into(out: &mut String, value: &Value, ty: DataType) {}
