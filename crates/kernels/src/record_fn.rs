//! Functions on records: rows of fields, as `types::record` holds them.

use types::array::ArrayBuilder;
use types::record::{field_at, push_field};
use types::{PhysicalType, RecordType, Result, Value};

use crate::array_fn::row_of;
use crate::{Vector, VectorBuilder};

/// ROW(...): a record per row of the columns' values in it; one when there are no columns.
///
/// # Errors
/// 54000.
pub fn make(fields: &[&Vector], ty: RecordType) -> Result<Vector> {
    let rows = if fields.is_empty() { 1 } else { crate::rows::count(fields) };
    let types = ty.fields();
    let mut out = VectorBuilder::with_capacity(PhysicalType::Str, rows);
    for i in 0..rows {
        let mut builder = ArrayBuilder::new();
        for (vector, field) in fields.iter().zip(types) {
            push_field(&mut builder, &vector.value(row_of(vector, i)), field.ty)?;
        }
        out.push_str(&builder.finish()?);
    }
    Ok(out.finish())
}

/// Field `at` of each record, held as `physical`.
pub fn field(records: &Vector, ty: RecordType, at: usize, physical: PhysicalType) -> Vector {
    let mut out = VectorBuilder::with_capacity(physical, records.len());
    for i in 0..records.len() {
        if records.is_null(i) {
            out.push_null();
        } else {
            let value = field_at(records.as_str().get(i), ty, at);
            out.push_value(&held(value, physical));
        }
    }
    out.finish()
}

/// An integer in the form `physical`, which holds it.
fn held(value: Value, physical: PhysicalType) -> Value {
    match (value.as_integer(), physical) {
        (Some(v), PhysicalType::I128) => Value::I128(v),
        // The declared form of a NUMERIC of 18 digits at most.
        (Some(v), PhysicalType::I64) => i64::try_from(v).map_or(value, Value::I64),
        _ => value,
    }
}
