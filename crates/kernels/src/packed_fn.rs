//! Functions on packed types over columns: addresses, bits, money, ranges and others.
//!
//! Arguments have equally many rows, or one row that counts for all. A row's arguments are handed
//! over where they lie, and its result is written into one buffer, from which the column takes it.
//!
//! Elsewhere: what the functions compute (`types::packed`).

use types::packed::distance::Metric;
use types::packed::{Arg, Call, Given, PackedCall};
use types::{DataType, PhysicalType, Result, Value};

use crate::rows::{count, scratch, validity};
use crate::{Vector, VectorBuilder, VectorData, distance};

/// The most arguments that a function has without one of any number.
const FEW: usize = 4;

fn argument<'a>(vector: &'a Vector, row: usize) -> Arg<'a> {
    let row = if vector.len() == 1 { 0 } else { row };
    if vector.is_null(row) {
        return Arg::Null;
    }
    match &vector.data {
        VectorData::Bool(values) => Arg::Bool(values[row] != 0),
        VectorData::I32(values) => Arg::Int(i64::from(values[row])),
        VectorData::I64(values) => Arg::Int(values[row]),
        VectorData::F64(values) => Arg::Double(values[row]),
        VectorData::Interval(values) => Arg::Interval(values[row]),
        VectorData::Str(values) => Arg::Bytes(values.get(row)),
        VectorData::I128(_) => Arg::Null,
    }
}

/// The values of a call, whose arguments have `types` and whose result has `ty`.
///
/// # Errors
/// Errors of the function, 57014 after a cancel.
pub fn compute(
    call: PackedCall,
    arguments: &[&Vector],
    types: &[DataType],
    ty: DataType,
) -> Result<Vector> {
    let function = call.function();
    let compute = Metric::of_function(function.name).map_or(function.compute, distance::compute);
    let rows = count(arguments);
    let valid = if function.is_strict { validity(arguments, rows) } else { None };
    let physical = ty.physical();
    let mut out = VectorBuilder::with_capacity(physical, rows);
    let mut buffer = Vec::new();
    let mut few = [Arg::Null; FEW];
    let mut many = Vec::new();
    for row in 0..rows {
        if valid.as_ref().is_some_and(|valid| !valid.get(row)) {
            out.push_null();
            continue;
        }
        let _scratch = scratch(arguments, row)?;
        let values = if arguments.len() <= FEW {
            few.iter_mut().zip(arguments).for_each(|(slot, v)| *slot = argument(v, row));
            &few[..arguments.len()]
        } else {
            many.clear();
            many.extend(arguments.iter().map(|vector| argument(vector, row)));
            many.as_slice()
        };
        buffer.clear();
        let one = Call { arguments: values, types, ty };
        match compute(&one, &mut buffer)? {
            Given::Null => out.push_null(),
            Given::Bytes => out.push_str(&buffer),
            given => out.push_value(&held(given, physical)),
        }
    }
    Ok(out.finish())
}

/// A result that is not bytes, in the form of its type.
fn held(given: Given, physical: PhysicalType) -> Value {
    match given {
        Given::Bool(value) => Value::Bool(value),
        // The function gives what its type holds.
        Given::Int(value) if physical == PhysicalType::I32 => Value::I32(value as i32),
        Given::Int(value) => Value::I64(value),
        Given::Double(value) => Value::F64(value),
        Given::Null | Given::Bytes => Value::Null,
    }
}
