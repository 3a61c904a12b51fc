//! Locking a row beside others, and which changes leave its keys alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;
use types::Result;

use super::{Found, Keys, Refused};
use crate::datum::{Datum, RowBuffer};
use crate::index::{TableIndex, Uniqueness};
use crate::record::Kind;
use crate::row::{Held, Sharing, check_keys, check_share, latch, newest, publish, settled};
use crate::sharers::{Holder, LockStrength};
use crate::table::entries::is_affected;
use crate::table::{Table, UndoBuffer};
use crate::tid::Tid;
use crate::version::{Snapshot, WriteError};
use crate::versions::Touch;

/// True for an index whose columns others may refer to.
fn is_key(index: &TableIndex) -> bool {
    index.spec().unique != Uniqueness::No && index.derivation().is_none()
}

impl Table {
    /// Locks a row beside others.
    pub(super) fn share(
        self: &Arc<Self>,
        undo: &mut UndoBuffer,
        at: Snapshot,
        found: Found<'_>,
        strength: LockStrength,
    ) -> Result<(), Refused> {
        let kind = match strength {
            LockStrength::KeyShare => Kind::KeyShared,
            _ => Kind::Shared,
        };
        let holder = Holder { txn: undo.txn(), strength };
        undo.add(self, found.block, found.tid.row(), kind, 0)?;
        match self.share_known(at, found, holder) {
            Ok(Held::No) => Ok(()),
            Ok(Held::Yes) => {
                undo.take_back(0);
                Ok(())
            }
            Err(error) => {
                undo.take_back(0);
                Err(error)
            }
        }
    }

    /// Adds a holder of a row, unless it holds it.
    fn share_known(&self, at: Snapshot, found: Found<'_>, holder: Holder) -> Result<Held, Refused> {
        let Found { block, tid, guard, .. } = found;
        let born = self.born(at, block, tid.row(), guard);
        let zone = block.get().versions.make_zone(tid.row(), || block.rows(), &self.pool)?;
        let word = zone.word(tid.row());
        let latched = latch(word);
        let outcome = match check_share(latched, at, holder, born, guard) {
            Err(error) => Err(error.into()),
            Ok(Sharing::Moving) => Err(Refused::Retired),
            Ok(Sharing::Held) => Ok(Held::Yes),
            Ok(Sharing::Free(_)) if self.sharers.has(tid, holder) => Ok(Held::Yes),
            Ok(Sharing::Free(_)) if zone.marks().touch(1) == Touch::Retired => {
                zone.marks().untouch(1);
                Err(Refused::Retired)
            }
            Ok(Sharing::Free(moved)) => {
                let added = self.add_sharer(tid, holder, moved, guard);
                let added = added.inspect_err(|_| zone.marks().untouch(1));
                added.map(|()| Held::No).map_err(Refused::from)
            }
        };
        publish(word, latched);
        outcome
    }

    /// Adds a holder of a row that transactions which run may have moved, unless one of them has
    /// its keys where it is now.
    fn add_sharer(
        &self,
        tid: Tid,
        holder: Holder,
        moved: Option<Tid>,
        guard: &Guard,
    ) -> Result<(), WriteError> {
        let mut path = Vec::new();
        self.sharers.add(tid, holder, || {
            path = self.path(moved, guard);
            path.clone()
        });
        let check = |tid: &Tid| {
            let block = self.locate(*tid, guard);
            // Who has it latched may not have met the holder yet.
            let word = block.as_ref().and_then(|block| block.word(tid.row())).map(settled);
            word.map_or(Ok(()), |word| check_keys(word, holder.txn, guard))
        };
        let checked = path.iter().try_for_each(check);
        checked.inspect_err(|_| self.sharers.release(tid, holder))
    }

    /// Where a row that is at `first` has gone since, by transactions that run.
    fn path(&self, first: Option<Tid>, guard: &Guard) -> Vec<Tid> {
        let mut path = Vec::new();
        let mut next = first;
        while let Some(tid) = next {
            path.push(tid);
            let block = self.locate(tid, guard);
            // Latched rows are not waited for: who moves one leads on from here himself.
            let word = block.and_then(|block| Some(block.word(tid.row())?.load(Ordering::Acquire)));
            let newest = word.and_then(|word| newest(word & !1, guard));
            let ends = newest.filter(|record| record.kind() == Kind::Delete);
            next = ends.and_then(|record| record.moved_to());
        }
        path
    }

    /// `held`, unless another transaction shares the row. For who has it latched.
    pub(super) fn alone(&self, tid: Tid, wanted: Holder, held: Held) -> Result<Held, WriteError> {
        match self.sharers.against(tid, wanted) {
            Some(other) => Err(WriteError::Wait(other)),
            None => Ok(held),
        }
    }

    /// True when a key has one of the columns.
    pub(super) fn has_key_in(&self, found: Found<'_>, changes: &[(usize, Datum<'_>)]) -> bool {
        let mut keys = self.index_list(found.guard).iter().filter(|index| is_key(index));
        keys.any(|index| is_affected(index, changes.iter().map(|change| change.0)))
    }

    /// Tells whether `changes` leave the keys of a row alone, which the caller holds.
    ///
    /// # Errors
    /// Errors of reading the block.
    pub(super) fn keys_after(
        &self,
        found: Found<'_>,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<Keys> {
        let keys = self.index_list(found.guard).iter().filter(|index| is_key(index));
        let ordinals: Vec<usize> = keys.flat_map(|index| index.ordinals()).copied().collect();
        let mut changed = changes.iter().filter(|change| ordinals.contains(&change.0)).peekable();
        if changed.peek().is_none() {
            return Ok(Keys::Stay);
        }
        let (pinned, mut before) = (found.block.pin()?, RowBuffer::new());
        for &(column, datum) in changed {
            before.clear();
            pinned.push_newest(&[column], found.tid.row(), &mut before);
            if before.get(0) != self.widened(column, datum) {
                return Ok(Keys::Change);
            }
        }
        Ok(Keys::Stay)
    }
}
