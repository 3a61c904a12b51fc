//! Indexes of tables: trees whose keys say until when an entry holds.
//!
//! ```text
//! unique     fields in byte order | valid to u64, big-endian            -> key of the row
//! others     fields in byte order | key of the row u64 | valid to u64   -> key of the row
//! A row with NULL among its fields has an entry of the second kind in a unique index, too: NULLs
//! are not equal. Where a `KeyMaker` makes the keys, its values stand for the fields, and rows may
//! have no entry.
//! ```
//! An entry that holds is valid to 2^64 - 1. A transaction that takes it away puts one beside it
//! that is valid to its own version, then removes the first; who does not see that version still
//! finds the row. Entries of transactions in progress lead to rows that nobody else sees.
//! Source: Pilman 2017, section 7.8.

use std::fmt;
use std::sync::Arc;

use store::{FieldId, Schema, Snapshot, Tuple, Version};
use transport::all;
use types::Value;

use crate::error::{Result, SharedError};
use crate::records::Records;
use crate::tree::{Inserted, Run, Tree};

/// May two rows have the same key?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uniqueness {
    /// No two rows that a snapshot sees.
    Unique,
    /// Any number.
    Many,
}

/// Maker of an index's keys, where these are no fields of rows.
pub trait KeyMaker: Send + Sync {
    /// The key of a row, always the same for the same row; None for a row without an entry. A row
    /// that has none because its key cannot be made was refused before it came to a transaction.
    fn key(&self, schema: &Schema, tuple: &Tuple) -> Option<Vec<Value>>;
}

/// Content of an index's keys.
#[derive(Clone)]
pub enum IndexKeys {
    /// Fields of the rows: each row has an entry.
    Fields(Vec<FieldId>),
    /// Values that are made of the rows.
    Made(Arc<dyn KeyMaker>),
}

impl fmt::Debug for IndexKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields(fields) => f.debug_tuple("Fields").field(fields).finish(),
            Self::Made(_) => f.write_str("Made"),
        }
    }
}

impl IndexKeys {
    fn of(&self, schema: &Schema, tuple: &Tuple) -> Option<Vec<Value>> {
        match self {
            Self::Fields(fields) => Some(fields.iter().map(|f| tuple.value(schema, *f)).collect()),
            Self::Made(maker) => maker.key(schema, tuple),
        }
    }
}

/// Leaves that are read at a time.
const LOOK_UPS: usize = 64;

/// Entries from which a part of them goes first when they meet few leaves.
const SAMPLED_MIN: usize = 512;

/// Pieces from which they are spread well enough.
const SAMPLED_PIECES: usize = 8;

/// Entries of which one goes first.
const SAMPLE_STEP: usize = 8;

/// Valid to the end of time.
const FOREVER: u64 = u64::MAX;

/// An index, as one thread uses it.
pub struct Index<R> {
    name: String,
    keys: IndexKeys,
    uniqueness: Uniqueness,
    tree: Tree<R>,
}

/// An entry to be put or taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryChange {
    /// Number of the index in its table.
    pub index: usize,
    pub what: Entry,
    pub is_new: bool,
}

/// Key and row of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Fields, and for an index that is not unique the row.
    pub prefix: Vec<u8>,
    pub row: u64,
}

impl Entry {
    fn until(&self, version: u64) -> Vec<u8> {
        let mut key = self.prefix.clone();
        key.extend(version.to_be_bytes());
        key
    }

    /// Its key while it holds.
    pub(crate) fn until_the_end(&self) -> Vec<u8> {
        self.until(FOREVER)
    }
}

/// Appends a value so that byte order is the order of values, and no key begins another.
fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(0),
        Value::I32(v) => {
            out.push(1);
            out.extend((*v as u32 ^ 1 << 31).to_be_bytes());
        }
        Value::I64(v) => {
            out.push(1);
            out.extend((*v as u64 ^ 1 << 63).to_be_bytes());
        }
        Value::F64(v) => {
            // Equal values have equal keys: both zeros, and all that are no number.
            let v = if v.is_nan() { f64::NAN } else { *v + 0.0 };
            let bits = v.to_bits();
            let flip = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
            out.push(1);
            out.extend((bits ^ flip).to_be_bytes());
        }
        Value::Str(bytes) => {
            out.push(1);
            for byte in bytes.iter() {
                out.push(*byte);
                if *byte == 0 {
                    out.push(0xff);
                }
            }
            out.extend([0, 0]);
        }
        // Rows of stores have no others.
        _ => out.push(2),
    }
}

impl<R: Records> Index<R> {
    /// The index `name` of a table.
    pub fn new(name: &str, keys: IndexKeys, uniqueness: Uniqueness, tree: Tree<R>) -> Self {
        Self { name: name.into(), keys, uniqueness, tree }
    }

    /// Its name, which its records have.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its tree.
    pub fn tree(&self) -> &Tree<R> {
        &self.tree
    }

    /// Its kind.
    pub fn uniqueness(&self) -> Uniqueness {
        self.uniqueness
    }

    /// The first bytes of keys of rows with these values of its first fields.
    pub fn prefix(values: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        values.iter().for_each(|value| put_value(&mut out, value));
        out
    }

    /// Key of a row without what follows the fields; None for a row without an entry.
    pub(crate) fn fields_of(&self, schema: &Schema, tuple: &Tuple) -> Option<Vec<u8>> {
        self.keys.of(schema, tuple).map(|values| Self::prefix(&values))
    }

    /// As [`Self::fields_of`]; None for a row whose key others may have, too, as NULL is in it.
    pub(crate) fn whole_fields_of(&self, schema: &Schema, tuple: &Tuple) -> Option<Vec<u8>> {
        let values = self.keys.of(schema, tuple)?;
        if values.iter().any(Value::is_null) { None } else { Some(Self::prefix(&values)) }
    }

    /// The entry of a row, if it has one.
    pub(crate) fn entry_of(&self, schema: &Schema, row: u64, tuple: &Tuple) -> Option<Entry> {
        self.keys.of(schema, tuple).map(|values| self.entry_with(row, &values))
    }

    /// The entry of a row with these values of its fields.
    pub(crate) fn entry_with(&self, row: u64, values: &[Value]) -> Entry {
        let mut prefix = Self::prefix(values);
        if self.uniqueness == Uniqueness::Many || values.iter().any(Value::is_null) {
            prefix.extend(row.to_be_bytes());
        }
        Entry { prefix, row }
    }

    /// Rows of entries that begin with `prefix` and hold in the snapshot, or may: a row tells by
    /// itself. Entries that hold in no snapshot any more are removed on the way.
    pub(crate) async fn candidates(&self, snapshot: &Snapshot, prefix: &[u8]) -> Result<Vec<u64>> {
        let (mut rows, mut from) = (Vec::new(), prefix.to_vec());
        loop {
            let run = self.tree.run_from(&from).await?;
            for (key, row) in &run.entries {
                if !key.starts_with(prefix) {
                    return Ok(rows);
                }
                let valid_to = valid_to(key)?;
                if valid_to == FOREVER || !snapshot.sees(Version(valid_to)) {
                    rows.push(*row);
                } else if valid_to <= snapshot.lowest_active().0 {
                    self.tree.remove(key, *row).await?;
                }
            }
            match run.next {
                Some(next) if next.starts_with(prefix) || next.as_slice() < prefix => from = next,
                _ => return Ok(rows),
            }
        }
    }

    /// As [`Self::candidates`] for many prefixes, which ascend: each leaf is read once, some at a
    /// time.
    pub(crate) async fn candidates_of(
        &self,
        snapshot: &Snapshot,
        prefixes: &[Vec<u8>],
    ) -> Result<Vec<Vec<u64>>> {
        let size = prefixes.len().div_ceil(LOOK_UPS).max(1);
        let pieces = prefixes.chunks(size).map(|piece| self.candidates_near(snapshot, piece));
        let found: Result<Vec<Vec<Vec<u64>>>> = all(pieces.collect()).await.into_iter().collect();
        Ok(found?.into_iter().flatten().collect())
    }

    /// As [`Self::candidates_of`], one leaf after another.
    async fn candidates_near(
        &self,
        snapshot: &Snapshot,
        prefixes: &[Vec<u8>],
    ) -> Result<Vec<Vec<u64>>> {
        let (mut found, mut run) = (Vec::with_capacity(prefixes.len()), None);
        for prefix in prefixes {
            let known = run.take().filter(|run: &Run| run.covers(prefix));
            let here = match known {
                Some(run) => run,
                None => self.tree.run_from(prefix).await?,
            };
            if !here.covers(prefix) {
                found.push(self.candidates(snapshot, prefix).await?);
                continue;
            }
            let first = here.entries.partition_point(|(key, _)| key < prefix);
            let meant = here.entries[first..].iter().take_while(|(key, _)| key.starts_with(prefix));
            let mut rows = Vec::new();
            for (key, row) in meant {
                let valid_to = valid_to(key)?;
                if valid_to == FOREVER || !snapshot.sees(Version(valid_to)) {
                    rows.push(*row);
                }
            }
            found.push(rows);
            run = Some(here);
        }
        Ok(found)
    }

    /// Does what a transaction with this version wants: entries that go are dated, then new ones
    /// come.
    pub(crate) async fn apply(&self, changes: &[&EntryChange], version: Version) -> Result<()> {
        let ascending = |until: u64, is_new: bool| -> Vec<(Vec<u8>, u64)> {
            let meant = changes.iter().filter(|change| change.is_new == is_new);
            let mut all: Vec<_> =
                meant.map(|change| (change.what.until(until), change.what.row)).collect();
            all.sort_unstable();
            all
        };
        self.insert_all(&ascending(version.0, false)).await?;
        self.remove_all(&ascending(FOREVER, false)).await?;
        match self.insert_all(&ascending(FOREVER, true)).await? {
            Inserted::Done => Ok(()),
            Inserted::Exists(_) => Err(SharedError::UniqueViolation),
        }
    }

    /// Adds entries, which ascend; false when one of the keys is there.
    pub(crate) async fn put_new(&self, entries: &[(Vec<u8>, u64)]) -> Result<bool> {
        Ok(self.insert_all(entries).await? == Inserted::Done)
    }

    /// As [`Tree::insert_all`], several leaves at a time.
    async fn insert_all(&self, entries: &[(Vec<u8>, u64)]) -> Result<Inserted> {
        let pieces = self.tree.pieces(entries).await?;
        if entries.len() > SAMPLED_MIN && pieces.len() < SAMPLED_PIECES {
            // Some of them first: they make the leaves that the others are spread over.
            let sample: Vec<_> = entries.iter().step_by(SAMPLE_STEP).cloned().collect();
            let outcome = Box::pin(self.insert_all(&sample)).await?;
            let others: Vec<_> =
                entries.chunks(SAMPLE_STEP).flat_map(|chunk| &chunk[1..]).cloned().collect();
            return match (outcome, Box::pin(self.insert_spread(&others)).await?) {
                (Inserted::Done, outcome) => Ok(outcome),
                (exists, _) => Ok(exists),
            };
        }
        self.insert_pieces(pieces).await
    }

    async fn insert_spread(&self, entries: &[(Vec<u8>, u64)]) -> Result<Inserted> {
        self.insert_pieces(self.tree.pieces(entries).await?).await
    }

    async fn insert_pieces(&self, pieces: Vec<&[(Vec<u8>, u64)]>) -> Result<Inserted> {
        let inserts = pieces.into_iter().map(|piece| self.tree.insert_all(piece));
        // All end before one is looked at: what comes late could not be taken back.
        let outcomes = all(inserts.collect()).await;
        let mut outcome = Inserted::Done;
        for inserted in outcomes {
            let inserted = inserted?;
            if outcome == Inserted::Done {
                outcome = inserted;
            }
        }
        Ok(outcome)
    }

    /// As [`Tree::remove_all`], several leaves at a time.
    async fn remove_all(&self, entries: &[(Vec<u8>, u64)]) -> Result<()> {
        let pieces = self.tree.pieces(entries).await?;
        let removals = pieces.into_iter().map(|piece| self.tree.remove_all(piece));
        all(removals.collect()).await.into_iter().collect()
    }

    /// Undoes what [`Self::apply`] did, or did in part, or not at all.
    pub(crate) async fn undo(&self, change: &EntryChange, version: Version) -> Result<()> {
        let entry = &change.what;
        if change.is_new {
            return self.tree.remove(&entry.until(FOREVER), entry.row).await.map(drop);
        }
        // Only one that was dated may be missing.
        if self.tree.find(&entry.until(version.0)).await? == Some(entry.row) {
            self.tree.insert(&entry.until(FOREVER), entry.row).await?;
            self.tree.remove(&entry.until(version.0), entry.row).await?;
        }
        Ok(())
    }
}

fn valid_to(key: &[u8]) -> Result<u64> {
    let end = key.last_chunk().ok_or_else(|| SharedError::Corrupt("an index entry".into()))?;
    Ok(u64::from_be_bytes(*end))
}
