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

use types::Result;
use types::budget::{self, Charge};

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

/// Things sorted or merged between two looks whether to go on: milliseconds.
const LOOK: usize = 1 << 15;

/// Sorts `items`, equal ones as they were; parts that are sorted cost a comparison each. Needs half
/// as much memory again, which the statement is charged with.
///
/// # Errors
/// 57014 after a cancel, 53200 without memory; the items are then in any order.
pub fn sort_by<T: Copy>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) -> Result<()> {
    for part in items.chunks_mut(LOOK) {
        budget::check()?;
        part.sort_by(&order);
    }
    let mut charge = Charge::default();
    let mut left = Vec::new();
    let mut width = LOOK;
    while width < items.len() {
        for pair in items.chunks_mut(width * 2).filter(|pair| pair.len() > width) {
            if order(&pair[width], &pair[width - 1]).is_lt() {
                charge.grow((size_of::<T>() * width.saturating_sub(left.capacity())) as u64)?;
                left.clear();
                left.reserve_exact(width);
                left.extend_from_slice(&pair[..width]);
                merge(pair, &left, &order)?;
            }
        }
        width *= 2;
    }
    Ok(())
}

/// Merges `left`, a copy of the sorted start of `items`, with the sorted rest of them.
fn merge<T: Copy>(items: &mut [T], left: &[T], order: impl Fn(&T, &T) -> Ordering) -> Result<()> {
    let (mut next, mut right) = (0, left.len());
    let mut outcome = Ok(());
    while next < left.len() && right < items.len() && outcome.is_ok() {
        for _ in 0..LOOK {
            if next == left.len() || right == items.len() {
                break;
            }
            let out = next + right - left.len();
            if order(&items[right], &left[next]).is_lt() {
                items[out] = items[right];
                right += 1;
            } else {
                items[out] = left[next];
                next += 1;
            }
        }
        outcome = budget::check();
    }
    // After an error, too: each item is still there once.
    items[next + right - left.len()..right].copy_from_slice(&left[next..]);
    outcome
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
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use testkit::values;
    use types::{Error, PhysicalType, SqlState};

    use super::*;
    use crate::keys::{SortDirection, SortField, SortNulls};
    use crate::{StrVector, Vector, VectorData};

    fn field(physical: PhysicalType) -> SortField {
        SortField { physical, direction: SortDirection::Ascending, nulls: SortNulls::Last }
    }

    #[test]
    fn long_sorts_are_stable_and_end_with_their_statement() {
        let mut random = testkit::Random::new(5);
        let mut items: Vec<(u64, usize)> =
            (0..5 * LOOK + 7).map(|i| (random.below(1000), i)).collect();
        let mut twin = items.clone();
        twin.sort_by_key(|item| item.0);
        sort_by(&mut items, |a, b| a.0.cmp(&b.0)).expect("nobody cancels");
        assert_eq!(items, twin);
        sort_by(&mut items, |a, b| a.0.cmp(&b.0)).expect("nobody cancels");
        assert_eq!(items, twin);
        let account = Arc::new(Ends { left: AtomicU32::new(7) });
        let _entry = budget::enter(account);
        assert!(sort_by(&mut items, |a, b| b.cmp(a)).is_err());
        items.sort();
        assert_eq!(items, twin, "each item is there once");
    }

    /// Ends after some looks.
    struct Ends {
        left: AtomicU32,
    }

    impl budget::Account for Ends {
        fn check(&self) -> Result<()> {
            let cancelled = || Error::new(SqlState::QUERY_CANCELED, "cancelled");
            let left = self.left.fetch_sub(1, Relaxed);
            if left == 0 { Err(cancelled()) } else { Ok(()) }
        }

        fn fail(&self, _: Error) {}

        fn take(&self, _: u64) -> Result<()> {
            Ok(())
        }

        fn give_back(&self, _: u64) {}
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
