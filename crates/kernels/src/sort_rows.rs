//! Sorting row numbers by sort keys.
//!
//! ```text
//! entry: | first 16 bytes of the key as two numbers | row u32 |
//! ```
//! Keys of at most 16 bytes are in their entry whole: comparing never leaves it. Of longer ones the
//! bytes decide where entries tie.
//!
//! Elsewhere: the keys (`keys`), runs and merging (`exec`).

use std::cmp::Ordering;

use crate::keys::SortKeys;

/// Bytes of a key that are in its entry.
pub const ENTRY_BYTES: usize = 16;

/// The start of a row's key, and the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    high: u64,
    low: u64,
    /// The row.
    pub row: u32,
}

impl Entry {
    /// The entry of `row`, whose key is `key`.
    #[inline]
    pub fn new(key: &[u8], row: u32) -> Self {
        let word = |bytes: &[u8]| match bytes.first_chunk::<8>() {
            Some(first) => u64::from_be_bytes(*first),
            None => {
                let mut buffer = [0u8; 8];
                buffer[..bytes.len()].copy_from_slice(bytes);
                u64::from_be_bytes(buffer)
            }
        };
        Self { high: word(key), low: word(key.get(8..).unwrap_or(&[])), row }
    }

    /// The order of the keys as far as entries hold them.
    #[inline]
    pub fn order(&self, other: &Self) -> Ordering {
        self.high.cmp(&other.high).then_with(|| self.low.cmp(&other.low))
    }
}

/// True when keys may be longer than what entries hold.
pub fn needs_bytes(keys: &SortKeys) -> bool {
    keys.width().is_none_or(|width| width > ENTRY_BYTES)
}

/// The entries of all rows, in row order.
pub fn entries(keys: &SortKeys) -> Vec<Entry> {
    (0..keys.len()).map(|row| Entry::new(keys.get(row), row as u32)).collect()
}

/// The order of two rows with these entries.
#[inline]
pub fn order(keys: &SortKeys, a: &Entry, b: &Entry) -> Ordering {
    a.order(b).then_with(|| keys.get(a.row as usize).cmp(keys.get(b.row as usize)))
}

/// Sorts `entries` of `keys`; equal rows by row number.
pub fn sort(keys: &SortKeys, entries: &mut [Entry]) {
    if needs_bytes(keys) {
        entries.sort_unstable_by(|a, b| order(keys, a, b).then_with(|| a.row.cmp(&b.row)));
    } else {
        entries.sort_unstable_by_key(|e| (e.high, e.low, e.row));
    }
}

/// Moves the `count` first of `entries` to the front, in any order, and drops the others.
pub fn keep_first(keys: &SortKeys, entries: &mut Vec<Entry>, count: usize) {
    if count < entries.len() {
        entries.select_nth_unstable_by(count, |a, b| {
            order(keys, a, b).then_with(|| a.row.cmp(&b.row))
        });
        entries.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use testkit::values;
    use types::PhysicalType;

    use super::*;
    use crate::keys::{SortDirection, SortField, SortNulls};
    use crate::{StrVector, Vector, VectorData};

    fn field(physical: PhysicalType) -> SortField {
        SortField { physical, direction: SortDirection::Ascending, nulls: SortNulls::Last }
    }

    proptest! {
        #[test]
        fn sorts_as_a_stable_sort_of_rows(
            rows in vec((values::<i64>(), vec(0u8..2, 0..24)), 1..200),
            with_text in any::<bool>(),
            count in 0usize..220,
        ) {
            let numbers = Vector::new(VectorData::I64(rows.iter().map(|r| r.0).collect()));
            let texts: StrVector = rows.iter().map(|r| r.1.as_slice()).collect();
            let texts = Vector::new(VectorData::Str(texts));
            let mut fields = vec![field(PhysicalType::I64)];
            let mut columns = vec![&numbers];
            if with_text {
                fields.insert(0, field(PhysicalType::Str));
                columns.insert(0, &texts);
            }
            let mut keys = SortKeys::new(fields);
            keys.append(&columns);
            let mut sorted = entries(&keys);
            sort(&keys, &mut sorted);
            let mut twin: Vec<u32> = (0..rows.len() as u32).collect();
            twin.sort_by_key(|&i| {
                let (number, text) = &rows[i as usize];
                (if with_text { text.clone() } else { Vec::new() }, *number)
            });
            prop_assert_eq!(sorted.iter().map(|e| e.row).collect::<Vec<_>>(), twin.clone());
            let mut first = entries(&keys);
            keep_first(&keys, &mut first, count);
            sort(&keys, &mut first);
            twin.truncate(count);
            prop_assert_eq!(first.iter().map(|e| e.row).collect::<Vec<_>>(), twin);
        }
    }
}
