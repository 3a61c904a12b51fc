//! Entries of keys that rows had before an index over them was built.
//!
//! ```text
//! build     entries of all versions; what is collected meanwhile does not know of the index
//! publish   from here on who unlinks versions removes their entries
//! settle    each row once more, latched: keys that no version has any more lose their entries
//! ```
//! Invariant: once settled, every entry is of a version that is there, as in an index that was
//! there when the versions were made. Called by who builds an index.

use crossbeam_epoch as epoch;
use parking_lot::Mutex;
use types::Result;

use super::Table;
use crate::index::{KeyBuffer, TableIndex};
use crate::row::{latch, publish};
use crate::tid::Tid;
use crate::versions::DEAD;

/// Bytes of keys that are remembered.
const BYTES_MAX: usize = 4 << 20;

/// Older keys of rows that an index got entries of while it was built.
#[derive(Default)]
pub(super) struct OldKeys(Mutex<Entered>);

#[derive(Default)]
struct Entered {
    keys: Vec<(Tid, KeyBuffer)>,
    bytes: usize,
    /// There were more.
    is_cut: bool,
}

impl OldKeys {
    /// Notes the keys of older versions of a row, which have entries.
    pub(super) fn note(&self, index: &TableIndex, tid: Tid, keys: &[KeyBuffer]) {
        index.note_old_keys();
        let mut entered = self.0.lock();
        for key in keys {
            entered.bytes += size_of::<(Tid, KeyBuffer)>() + key.len();
            if entered.bytes > BYTES_MAX {
                entered.is_cut = true;
                return;
            }
            entered.keys.push((tid, key.clone()));
        }
    }

    /// Removes the entries that no version needs, of an index that the table maintains by now.
    /// Where there were too many keys to remember them all, or a row cannot be read, the index
    /// goes on to know that it may have such entries.
    pub(super) fn settle(self, table: &Table, index: &TableIndex) {
        let entered = self.0.into_inner();
        let settled = |(tid, key): (Tid, KeyBuffer)| table.settle_key(index, tid, key).is_ok();
        let is_cut = entered.is_cut;
        if entered.keys.into_iter().all(settled) && !is_cut {
            index.forget_old_keys();
        }
    }
}

impl Table {
    /// Removes the entry of a row with `key` unless a version of the row has it.
    fn settle_key(&self, index: &TableIndex, tid: Tid, mut key: KeyBuffer) -> Result<()> {
        let guard = epoch::pin();
        let Some(block) = self.locate(tid, &guard) else {
            index.remove(&key, tid);
            return Ok(());
        };
        let block = block.pin()?;
        let word = block.word(tid.row());
        // Who unlinks versions holds the latch: it is done, or knows of the index.
        let found = word.map_or(0, latch);
        if found != DEAD {
            self.leave_out_versions(&block, tid.row(), found, index, &mut key, &guard);
        }
        if !key.is_absent() {
            index.remove(&key, tid);
        }
        if let Some(word) = word {
            publish(word, found);
        }
        Ok(())
    }
}
