//! Keys whose two sides have types of their own: a BIGINT that an INTEGER refers to.

use catalog::TableEntry;
use storage::{Datum, RowBuffer};
use types::cast::cast_value;
use types::{DataType, PhysicalType, Value};

/// Puts the key, whose values are of the types `from`, into `out` in the types of the columns of an
/// index; None when one of them has no equal there, so that the index cannot hold the key.
pub(super) fn fit<'o>(
    entry: &TableEntry,
    index: usize,
    from: impl Iterator<Item = DataType>,
    key: &[Datum<'_>],
    out: &'o mut RowBuffer,
) -> Option<Vec<Datum<'o>>> {
    let columns = &entry.def.indexes[index].columns;
    out.clear();
    for ((column, from), datum) in columns.iter().zip(from).zip(key) {
        let to = entry.def.columns[column.ordinal].ty;
        let physical = entry.storage().schema().columns()[column.ordinal].physical();
        let is_same = from == to || from.is_integer() && to.is_integer();
        match datum.widened(physical).filter(|_| is_same) {
            Some(widened) => out.push(widened),
            None => {
                let value = if is_same && from == to {
                    datum.to_value()
                } else {
                    equal_value(&datum.to_value(), from, to)?
                };
                out.push(Datum::from(&held(value, physical)?));
            }
        }
    }
    Some(out.iter().collect())
}

/// The value of type `to` that is equal to a datum of type `from`; None when there is none.
pub(super) fn fit_one(datum: &Datum<'_>, from: DataType, to: DataType) -> Option<Value> {
    if from == to || from.is_integer() && to.is_integer() {
        return Some(datum.to_value());
    }
    equal_value(&datum.to_value(), from, to)
}

/// The value in the form of a column; None when it does not fit there.
fn held(value: Value, physical: PhysicalType) -> Option<Value> {
    match (&value, physical) {
        (Value::I128(wide), PhysicalType::I64) => i64::try_from(*wide).ok().map(Value::I64),
        _ => Some(Datum::from(&value).widened(physical)?.to_value()),
    }
}

/// The value of type `to` that is equal to `value`, which may be in a narrower form than its type.
fn equal_value(value: &Value, from: DataType, to: DataType) -> Option<Value> {
    let value = Datum::from(value).widened(from.physical())?.to_value();
    let there = cast_value(&value, from, to).ok()?;
    let back = cast_value(&there, to, from).ok()?;
    let back = Datum::from(&back).widened(from.physical())?.to_value();
    let is_equal = match (from, &back, &value) {
        // Equal decimals may differ in their scales.
        (DataType::WideNumeric(_), Value::Str(a), Value::Str(b)) => {
            types::wide::key(a) == types::wide::key(b)
        }
        _ => back == value,
    };
    is_equal.then_some(there)
}
