//! Keys whose two sides have types of their own: a BIGINT that an INTEGER refers to.

use storage::{Datum, RowBuffer};
use types::cast::cast_value;
use types::{DataType, Value};

use crate::catalog::TableEntry;

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
        if from == to {
            out.push(*datum);
            continue;
        }
        let physical = entry.storage().schema().columns()[column.ordinal].physical();
        match datum.widened(physical).filter(|_| from.is_integer() && to.is_integer()) {
            Some(widened) => out.push(widened),
            None => out.push(Datum::from(&equal_value(&datum.to_value(), from, to)?)),
        }
    }
    Some(out.iter().collect())
}

/// The value of type `to` that is equal to `value`.
fn equal_value(value: &Value, from: DataType, to: DataType) -> Option<Value> {
    let there = cast_value(value, from, to).ok()?;
    let back = cast_value(&there, to, from).ok()?;
    (back == *value).then_some(there)
}
