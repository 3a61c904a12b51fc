//! Runs of entries in both directions: each step reads the leaf that has the next key, whatever
//! happened to the tree since the last one.

use super::Tree;
use super::access::Mode;
use crate::error::Result;
use crate::records::Records;

/// Entries of one leaf, in order, and where to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Keys and values.
    pub entries: Vec<(Vec<u8>, u64)>,
    /// The key for the next call; `None` at the end.
    pub next: Option<Vec<u8>>,
}

impl Run {
    /// True when it has all entries whose keys begin with `prefix`, which is not before where it
    /// began.
    pub fn covers(&self, prefix: &[u8]) -> bool {
        let is_behind = |next: &Vec<u8>| next.as_slice() > prefix && !next.starts_with(prefix);
        self.next.as_ref().is_none_or(is_behind)
    }
}

impl<R: Records> Tree<R> {
    /// Entries from `from` on, inclusive, as many as one leaf has, ascending; next is a key to
    /// begin from.
    ///
    /// # Errors
    /// As [`Tree::find`].
    pub async fn run_from(&self, from: &[u8]) -> Result<Run> {
        let leaf = self.0.find(Some(from), 0, Mode::Read).await?.node;
        let next = leaf.high.map(|mut high| {
            // The first byte string behind it.
            high.push(0);
            high
        });
        let entries = leaf.keys.into_iter().zip(leaf.values);
        let entries = entries.skip_while(|entry| entry.0.as_slice() < from).collect();
        Ok(Run { entries, next })
    }

    /// Entries up to `to`, inclusive, or from the end, as many as one leaf has, descending; next is
    /// a key to begin from.
    ///
    /// # Errors
    /// As [`Tree::find`].
    pub async fn run_back(&self, to: Option<&[u8]>) -> Result<Run> {
        let leaf = self.0.find(to, 0, Mode::Read).await?.node;
        let entries = leaf.keys.into_iter().zip(leaf.values).rev();
        let is_behind = |key: &[u8]| to.is_some_and(|to| key > to);
        let entries = entries.skip_while(|entry| is_behind(&entry.0)).collect();
        Ok(Run { entries, next: leaf.low })
    }
}
