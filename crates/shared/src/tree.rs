//! A tree of sorted byte strings, in records that many processes change at once without locks.
//!
//! ```text
//! record 0: numbers given out   record 1: the root, always
//! root -> inner (cached) -> leaf (always read): key -> value;   right -> node behind `high`
//! split of P      Q := upper half;  P := lower half, split = Q;  parent += (bound, Q);  split = 0
//! merge of Q      parent.absorb = Q;  Q dead;  left neighbour += Q;  parent -= Q;  Q is gone
//! root            split: both halves are new, the root becomes their parent, in one write;
//!                 one child left: absorb, dead, the root becomes what the child was
//! ```
//! Each step is one conditional write. Whoever meets a half-done change finishes it before it
//! changes anything near: a reader steps right past a split and finishes a merge, a writer finishes
//! both. So a process may die anywhere; only nodes that nobody linked yet are left over.
//! Invariants: keys are unique; `low < key <= high`; a node that its parent may not know does not
//! split; a node with `absorb` neither splits nor dies; dead nodes never change; numbers of nodes
//! are never used again.
//! Elsewhere: records (`records`), entries of rows (`index`).
//! Source: Pilman 2017, chapter 6. Departures: versions of records take the place of the table of
//! pointers, so that a look-up is one read and a change one write more; states in nodes take the
//! place of delta nodes; right links lead past splits (Lehman, Yao 1981); a merge is announced in
//! the parent first, so that both nodes have one parent.

// Floors: lowest first.
mod node;
mod access;
mod split;
mod merge;
mod scan;
pub mod check;

use transport::all;

use crate::error::{Result, SharedError};
use crate::records::{Records, Swap};
use access::{Access, Mode};
pub use access::{Fill, TreeCounts};
pub use scan::Run;

/// Pieces of many entries, at most.
const PIECES: usize = 64;

/// Entries below which a piece is not worth a task.
const PIECE_MIN: usize = 16;

/// Outcome of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The entry is there.
    Done,
    /// The key was there already, with this value.
    Exists(u64),
}

/// A tree, as one thread uses it. Each thread has its own, with its own cache.
pub struct Tree<R>(Access<R>);

impl<R: Records> Tree<R> {
    /// The tree in `records`, which is made if there is none.
    ///
    /// # Errors
    /// Errors of the records.
    pub async fn open(records: R, fill: Fill) -> Result<Self> {
        let access = Access::new(records, fill);
        access.make_root().await?;
        Ok(Self(access))
    }

    /// Its records.
    pub fn records(&self) -> &R {
        self.0.records()
    }

    /// Its work so far.
    pub fn counts(&self) -> TreeCounts {
        self.0.counts()
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// Errors of the records; [`SharedError::Contended`].
    pub async fn find(&self, key: &[u8]) -> Result<Option<u64>> {
        let leaf = self.0.find(Some(key), 0, Mode::Read).await?;
        Ok(leaf.node.find(key).ok().map(|i| leaf.node.values[i]))
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub async fn insert(&self, key: &[u8], value: u64) -> Result<Inserted> {
        for _ in 0..access::ATTEMPTS {
            let mut leaf = self.0.find(Some(key), 0, Mode::Write).await?;
            if self.0.is_full(&leaf.node) {
                self.0.split(leaf).await?;
                continue;
            }
            let place = match leaf.node.find(key) {
                Ok(i) => return Ok(Inserted::Exists(leaf.node.values[i])),
                Err(place) => place,
            };
            leaf.node.keys.insert(place, key.to_vec());
            leaf.node.values.insert(place, value);
            if self.0.put(&leaf).await? == Swap::Done {
                return Ok(Inserted::Done);
            }
        }
        Err(SharedError::Contended)
    }

    /// Removes the entry of `key` if it has `value`; tells whether it did.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub async fn remove(&self, key: &[u8], value: u64) -> Result<bool> {
        for _ in 0..access::ATTEMPTS {
            let mut leaf = self.0.find(Some(key), 0, Mode::Write).await?;
            let place = match leaf.node.find(key) {
                Ok(place) if leaf.node.values[place] == value => place,
                _ => return Ok(false),
            };
            leaf.node.keys.remove(place);
            leaf.node.values.remove(place);
            if self.0.put(&leaf).await? == Swap::Done {
                if self.0.is_small(&leaf.node) {
                    self.0.merge(&leaf).await?;
                }
                return Ok(true);
            }
        }
        Err(SharedError::Contended)
    }

    /// `entries` in pieces for several tasks: no two of them begin in one leaf. Keys ascend.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub async fn pieces<'e>(
        &self,
        entries: &'e [(Vec<u8>, u64)],
    ) -> Result<Vec<&'e [(Vec<u8>, u64)]>> {
        let size = entries.len().div_ceil(PIECES).max(PIECE_MIN);
        if entries.len() <= size {
            return Ok(vec![entries]);
        }
        let starts = (0..entries.len()).step_by(size);
        let leaf_of = |start: usize| self.0.find(Some(&entries[start].0), 0, Mode::Read);
        let leaves = all(starts.clone().map(leaf_of).collect()).await;
        let (mut pieces, mut begin, mut before) = (Vec::new(), 0, None);
        for (start, leaf) in starts.zip(leaves) {
            let leaf = leaf?.id;
            if before.is_some_and(|before| before != leaf) {
                pieces.push(&entries[begin..start]);
                begin = start;
            }
            before = Some(leaf);
        }
        pieces.push(&entries[begin..]);
        Ok(pieces)
    }

    /// Adds the entries whose keys are not there; those of one leaf in one write. Keys ascend.
    /// Gives the value of the first key that was there.
    ///
    /// # Errors
    /// As [`Self::find`]; some of the entries may be there.
    pub async fn insert_all(&self, entries: &[(Vec<u8>, u64)]) -> Result<Inserted> {
        let (mut rest, mut lost, mut outcome) = (entries, 0, Inserted::Done);
        while let Some((first, _)) = rest.first() {
            let mut leaf = self.0.find(Some(first), 0, Mode::Write).await?;
            if self.0.is_full(&leaf.node) {
                self.0.split(leaf).await?;
                continue;
            }
            let (mut count, mut is_changed, mut known) = (0, false, None);
            for (key, value) in rest {
                if leaf.node.is_behind(Some(key)) || self.0.is_full(&leaf.node) {
                    break;
                }
                match leaf.node.find(key) {
                    Ok(i) => known = known.or(Some(leaf.node.values[i])),
                    Err(place) => {
                        leaf.node.keys.insert(place, key.clone());
                        leaf.node.values.insert(place, *value);
                        is_changed = true;
                    }
                }
                count += 1;
            }
            if is_changed && self.0.put(&leaf).await? == Swap::Lost {
                lost += 1;
                if lost == access::ATTEMPTS {
                    return Err(SharedError::Contended);
                }
                continue;
            }
            if let (Inserted::Done, Some(value)) = (outcome, known) {
                outcome = Inserted::Exists(value);
            }
            rest = &rest[count..];
        }
        Ok(outcome)
    }

    /// Removes the entries that are there with these values; those of one leaf in one write. Keys
    /// ascend.
    ///
    /// # Errors
    /// As [`Self::find`]; some of the entries may be gone.
    pub async fn remove_all(&self, entries: &[(Vec<u8>, u64)]) -> Result<()> {
        let (mut rest, mut lost) = (entries, 0);
        while let Some((first, _)) = rest.first() {
            let mut leaf = self.0.find(Some(first), 0, Mode::Write).await?;
            let before = leaf.node.keys.len();
            let in_leaf = rest.partition_point(|(key, _)| !leaf.node.is_behind(Some(key)));
            for (key, value) in &rest[..in_leaf] {
                if let Ok(place) = leaf.node.find(key)
                    && leaf.node.values[place] == *value
                {
                    leaf.node.keys.remove(place);
                    leaf.node.values.remove(place);
                }
            }
            if leaf.node.keys.len() < before {
                if self.0.put(&leaf).await? == Swap::Lost {
                    lost += 1;
                    if lost == access::ATTEMPTS {
                        return Err(SharedError::Contended);
                    }
                    continue;
                }
                if self.0.is_small(&leaf.node) {
                    self.0.merge(&leaf).await?;
                }
            }
            rest = &rest[in_leaf..];
        }
        Ok(())
    }
}
