//! One stored column of a build side.
//!
//! ```text
//! Plain    values by row
//! Coded    codes by row -> entries, 0 is NULL      strings that were coded and are few
//! ```
//! Strings leave as codes where that is less than their views: whoever groups by them looks at each
//! entry once, and not at each row.

use std::sync::Arc;

use kernels::group_table::BytesTable;
use kernels::join_table::verify::gather_or_null;
use kernels::{Batch, Column, Vector, VectorBuilder, VectorData};
use types::PhysicalType;

use crate::flow::NULL_ROW;

/// Different strings up to which a column is coded, and rows up to which each row is an entry.
const ENTRIES_MAX: usize = 1 << 12;
/// Bytes of these strings, which nobody reserves.
const BYTES_MAX: usize = 1 << 20;
/// Rows for each entry, from which on a column is coded.
const ROWS_PER_ENTRY: usize = 4;
/// Entries for each row that leaves, up to which codes leave.
const ENTRIES_PER_ROW: usize = 4;

/// Values of all rows of a column.
pub(super) enum Stored {
    /// By row.
    Plain(Arc<Vector>),
    /// The entry of each row, and the entries, of which the first one is NULL.
    Coded(Vec<u32>, Arc<Vector>),
}

impl Stored {
    /// The rows of column `column` of all `batches`, coded where that pays.
    pub(super) fn payload(batches: &[Batch], column: usize, physical: PhysicalType) -> Self {
        let coded = match physical {
            PhysicalType::Str => coded(batches, column),
            _ => None,
        };
        coded.unwrap_or_else(|| Self::plain(batches, column, physical))
    }

    /// The rows of column `column` of all `batches`, as one vector whose strings may be shared.
    pub(super) fn plain(batches: &[Batch], column: usize, physical: PhysicalType) -> Self {
        let rows = batches.iter().map(|b| b.rows).sum();
        let mut builder = VectorBuilder::with_capacity(physical, rows);
        for batch in batches {
            match &batch.columns[column] {
                Column::Plain(vector) => builder.append(vector, None),
                Column::Constant(vector, rows) => builder.append(vector, Some(&vec![0; *rows])),
                Column::Dictionary(codes, vector) => builder.append(vector, Some(codes)),
            }
        }
        Self::Plain(Arc::new(builder.finish_pinned()))
    }

    /// The values, unless they are coded.
    pub(super) fn vector(&self) -> Option<&Arc<Vector>> {
        match self {
            Self::Plain(vector) => Some(vector),
            Self::Coded(..) => None,
        }
    }

    /// `len` rows from `start` on.
    pub(super) fn slice(&self, start: usize, len: usize) -> Column {
        match self {
            Self::Plain(vector) => Column::plain(vector.slice(start, len)),
            Self::Coded(codes, entries) => of_entries(codes[start..start + len].to_vec(), entries),
        }
    }

    /// The values at `rows`.
    pub(super) fn gather(&self, rows: &[u32]) -> Column {
        match self {
            Self::Plain(vector) if is_small(vector) => of_entries(rows.to_vec(), vector),
            Self::Plain(vector) => Column::plain(vector.gather(rows)),
            Self::Coded(codes, entries) => {
                of_entries(rows.iter().map(|&row| codes[row as usize]).collect(), entries)
            }
        }
    }

    /// The values at `rows`, NULL for [`NULL_ROW`].
    pub(super) fn gather_or_null(&self, rows: &[u32]) -> Column {
        match self {
            Self::Plain(vector) => Column::plain(gather_or_null(vector, rows)),
            Self::Coded(codes, entries) => {
                let code = |&row: &u32| if row == NULL_ROW { 0 } else { codes[row as usize] };
                of_entries(rows.iter().map(code).collect(), entries)
            }
        }
    }
}

/// True when each row may be an entry.
fn is_small(vector: &Vector) -> bool {
    matches!(vector.data, VectorData::Str(_)) && vector.len() <= ENTRIES_MAX
}

/// The entries that `codes` name.
fn of_entries(codes: Vec<u32>, entries: &Arc<Vector>) -> Column {
    if entries.len() <= codes.len().saturating_mul(ENTRIES_PER_ROW) {
        Column::Dictionary(Arc::new(codes), Arc::clone(entries))
    } else {
        Column::plain(entries.gather(&codes))
    }
}

/// The rows of a column of which all `batches` have codes; None when there are too many strings.
fn coded(batches: &[Batch], column: usize) -> Option<Stored> {
    const UNKNOWN: u32 = u32::MAX;
    let rows = batches.iter().map(|b| b.rows).sum();
    let mut strings = BytesTable::default();
    let mut codes = Vec::with_capacity(rows);
    // Batches of a block follow each other.
    let mut last: Option<&Arc<Vector>> = None;
    let mut ids = Vec::new();
    for batch in batches {
        let Column::Dictionary(local, entries) = &batch.columns[column] else {
            return None;
        };
        if entries.len() > ENTRIES_MAX || strings.len() > ENTRIES_MAX {
            return None;
        }
        if !last.is_some_and(|last| Arc::ptr_eq(last, entries)) {
            ids.clear();
            ids.resize(entries.len(), UNKNOWN);
            last = Some(entries);
        }
        for &code in local.iter() {
            let id = &mut ids[code as usize];
            if *id == UNKNOWN {
                let at = code as usize;
                let text = (!entries.is_null(at)).then(|| entries.as_str().get(at));
                *id = text.map_or(0, |text| strings.find_or_insert_one(text) + 1);
                if strings.bytes() > BYTES_MAX {
                    return None;
                }
            }
            codes.push(*id);
        }
    }
    if strings.len().saturating_mul(ROWS_PER_ENTRY) > rows || strings.len() >= ENTRIES_MAX {
        return None;
    }
    let mut entries = VectorBuilder::with_capacity(PhysicalType::Str, strings.len() + 1);
    entries.push_null();
    (0..strings.len()).for_each(|entry| entries.push_str(strings.keys().get(entry)));
    Some(Stored::Coded(codes, Arc::new(entries.finish_pinned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;

    fn texts(values: &[Option<&str>]) -> Arc<Vector> {
        let mut builder = VectorBuilder::with_capacity(PhysicalType::Str, values.len());
        for value in values {
            match value {
                Some(text) => builder.push_str(text.as_bytes()),
                None => builder.push_null(),
            }
        }
        Arc::new(builder.finish_pinned())
    }

    fn batch(codes: Vec<u32>, entries: &Arc<Vector>) -> Batch {
        let rows = codes.len();
        Batch::new(vec![Column::Dictionary(Arc::new(codes), Arc::clone(entries))], rows)
    }

    fn values(column: &Column) -> Vec<Value> {
        let vector = column.to_vector();
        (0..vector.len()).map(|row| vector.value(row)).collect()
    }

    #[test]
    fn coded_columns_give_the_values_of_plain_ones() {
        let (one, two) = (texts(&[Some("a"), None, Some("b")]), texts(&[Some("b"), Some("c")]));
        let batches = [
            batch([0, 1, 2, 2].repeat(5), &one),
            batch([1, 0].repeat(9), &two),
            batch(vec![2, 0], &one),
        ];
        let coded = Stored::payload(&batches, 0, PhysicalType::Str);
        assert!(matches!(&coded, Stored::Coded(_, entries) if entries.len() == 4));
        let plain = Stored::plain(&batches, 0, PhysicalType::Str);
        for rows in [vec![0, 39, 1, 20, 20], vec![1], vec![], (0..40).collect()] {
            assert_eq!(values(&coded.gather(&rows)), values(&plain.gather(&rows)));
            let or_null: Vec<u32> = [&rows[..], &[NULL_ROW, 3]].concat();
            let wanted = values(&plain.gather_or_null(&or_null));
            assert_eq!(values(&coded.gather_or_null(&or_null)), wanted);
        }
        assert_eq!(values(&coded.slice(7, 20)), values(&plain.slice(7, 20)));
    }

    #[test]
    fn many_strings_and_mixed_columns_stay_plain() {
        let many: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let entries = texts(&many.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>());
        let batches = [batch((0..100).collect(), &entries)];
        assert!(Stored::payload(&batches, 0, PhysicalType::Str).vector().is_some());
        let plain = Batch::new(vec![Column::plain(texts(&[Some("x")]).slice(0, 1))], 1);
        let mixed = [batch(vec![0; 50], &entries), plain];
        let stored = Stored::payload(&mixed, 0, PhysicalType::Str);
        assert!(stored.vector().is_some_and(|vector| vector.len() == 51));
    }
}
