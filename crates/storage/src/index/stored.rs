//! Keys of the rows of a frozen block as bytes, for a file.
//!
//! ```text
//! run: | rows u32 | bytes of each key u32, 0 where they differ | row u16 ... |
//!      | bytes of a key u32 ..., where they differ | key | key | ...    by key, then row
//! ```
//! Numbers are little-endian. Rows without an entry are left out; the key of a row in an inverted
//! index is that of all its elements. Keys of a frozen block never change, so a run is good for as
//! long as the block and the definition of the index.
//! Invariant: whatever the bytes, [`StoredRun::read`] lets only keys through that the index takes.

use std::fmt::Write;

use super::{IndexKind, TableIndex};
use crate::schema::Schema;

/// Keys that the rows of a frozen block have in one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexKeys {
    /// The definition of the index, as [`TableIndex::definition`] tells it.
    pub definition: Vec<u8>,
    /// The keys, for [`crate::KeySource`].
    pub run: Vec<u8>,
}

/// Bytes in front of the rows.
const HEAD_BYTES: usize = 8;

/// Rows of a block have numbers of 16 bits.
const ROWS_MAX: usize = 1 << 16;

impl TableIndex {
    /// Description of all that decides the keys of rows: indexes of one description have equal keys
    /// for equal rows. None where that cannot be told, so that keys cannot be kept.
    pub fn definition(&self) -> Option<&[u8]> {
        self.definition.as_deref()
    }

    /// Bytes of every key; None where they differ.
    pub(crate) fn key_bytes(&self) -> Option<usize> {
        if self.spec.kind == IndexKind::Inverted { None } else { self.encoder.width() }
    }

    /// The definition of an index over a table with `schema`.
    pub(super) fn define(&mut self, schema: &Schema) {
        let mut text = format!("1 {:?}", self.spec.kind);
        // To write to a string does not fail.
        for column in &self.spec.columns {
            let _ = write!(text, " {column:?}");
        }
        for &ordinal in &self.ordinals {
            let column = &schema.columns()[ordinal];
            let _ = write!(text, " {ordinal} {:?} {}", column.ty, column.not_null);
        }
        let derived = match &self.derivation {
            Some(derivation) => derivation.definition(),
            None => Some(String::new()),
        };
        self.definition = derived.map(|derived| (text + &derived).into_bytes().into());
    }
}

/// Keys on their way into a run.
#[derive(Debug, Default)]
pub(crate) struct RunWriter {
    bytes: Vec<u8>,
    keys: Vec<Place>,
}

/// Place of a key in the bytes of all.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: usize,
    end: usize,
    row: u16,
}

impl RunWriter {
    /// Adds the key of a row.
    pub(crate) fn push(&mut self, key: &[u8], row: u32) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.keys.push(Place { start, end: self.bytes.len(), row: row as u16 });
    }

    /// The run, of keys of `key_bytes` bytes each if that is known.
    pub(crate) fn finish(mut self, key_bytes: Option<usize>) -> Vec<u8> {
        let key = |place: &Place| &self.bytes[place.start..place.end];
        self.keys.sort_unstable_by(|a, b| key(a).cmp(key(b)).then(a.row.cmp(&b.row)));
        let mut run = Vec::with_capacity(HEAD_BYTES + self.keys.len() * 6 + self.bytes.len());
        run.extend_from_slice(&(self.keys.len() as u32).to_le_bytes());
        run.extend_from_slice(&(key_bytes.unwrap_or(0) as u32).to_le_bytes());
        self.keys.iter().for_each(|place| run.extend_from_slice(&place.row.to_le_bytes()));
        if key_bytes.is_none() {
            for place in &self.keys {
                run.extend_from_slice(&((place.end - place.start) as u32).to_le_bytes());
            }
        }
        self.keys.iter().for_each(|place| run.extend_from_slice(key(place)));
        run
    }
}

/// A run, read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredRun<'r> {
    rows: &'r [u8],
    /// Bytes of each key, if they differ.
    lengths: &'r [u8],
    keys: &'r [u8],
    key_bytes: Option<usize>,
}

fn read_u32(bytes: &[u8]) -> Option<usize> {
    let bytes = bytes.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

impl<'r> StoredRun<'r> {
    /// Reads the run of a block of `rows` rows in an index whose keys have `key_bytes` bytes each,
    /// if that is known; None when it is no such run.
    pub(crate) fn read(run: &'r [u8], key_bytes: Option<usize>, rows: usize) -> Option<Self> {
        let (count, found) = (read_u32(run)?, read_u32(run.get(4..)?)?);
        if found != key_bytes.unwrap_or(0) || count > ROWS_MAX {
            return None;
        }
        let (numbers, rest) = run[HEAD_BYTES..].split_at_checked(count * 2)?;
        let lengths_bytes = if key_bytes.is_none() { count * 4 } else { 0 };
        let (lengths, keys) = rest.split_at_checked(lengths_bytes)?;
        let read = Self { rows: numbers, lengths, keys, key_bytes };
        let mut lengths = lengths.chunks_exact(4);
        let sum = match key_bytes {
            Some(bytes) => count.checked_mul(bytes),
            None => lengths.try_fold(0usize, |sum, length| {
                // No key is empty.
                let length = read_u32(length).filter(|&length| length > 0)?;
                sum.checked_add(length)
            }),
        };
        let fits = sum == Some(keys.len()) && read.numbers().all(|row| (row as usize) < rows);
        fits.then_some(read)
    }

    fn numbers(self) -> impl Iterator<Item = u32> {
        self.rows.chunks_exact(2).map(|row| u32::from(u16::from_le_bytes([row[0], row[1]])))
    }

    /// Row and key of each entry, by key.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u32, &'r [u8])> {
        let mut lengths = self.lengths.chunks_exact(4);
        let mut rest = self.keys;
        self.numbers().map(move |row| {
            let bytes = self.key_bytes.or_else(|| read_u32(lengths.next()?)).unwrap_or(0);
            let (key, others) = rest.split_at(bytes.min(rest.len()));
            rest = others;
            (row, key)
        })
    }
}

#[cfg(test)]
mod tests {
    use testkit::Random;

    use super::*;

    fn entries(run: &[u8], key_bytes: Option<usize>, rows: usize) -> Option<Vec<(u32, Vec<u8>)>> {
        let read = StoredRun::read(run, key_bytes, rows)?;
        Some(read.iter().map(|(row, key)| (row, key.to_vec())).collect())
    }

    #[test]
    fn runs_come_back_in_order_and_bad_bytes_do_not() {
        let mut random = Random::new(11);
        for round in 0..300usize {
            let key_bytes = round.is_multiple_of(2).then_some(1 + round % 5);
            let rows = 1 + random.below(40) as usize;
            let (mut writer, mut wanted) = (RunWriter::default(), Vec::new());
            for row in 0..rows as u32 {
                let bytes = key_bytes.unwrap_or(1 + random.below(9) as usize);
                let key: Vec<u8> = (0..bytes).map(|_| random.below(3) as u8).collect();
                if random.chance(80) {
                    writer.push(&key, row);
                    wanted.push((row, key));
                }
            }
            wanted.sort_by(|a, b| (&a.1, a.0).cmp(&(&b.1, b.0)));
            let run = writer.finish(key_bytes);
            assert_eq!(entries(&run, key_bytes, rows), Some(wanted));
            assert_eq!(entries(&run, Some(key_bytes.unwrap_or(6) + 1), rows), None);
            for _ in 0..50 {
                let mut bad = run.clone();
                let at = random.below(bad.len() as u64) as usize;
                bad[at] = random.bits() as u8;
                bad.truncate(bad.len() - random.below(2) as usize);
                for (row, key) in entries(&bad, key_bytes, rows).into_iter().flatten() {
                    assert!((row as usize) < rows && key_bytes.is_none_or(|b| b == key.len()));
                    assert!(!key.is_empty());
                }
            }
        }
    }
}
