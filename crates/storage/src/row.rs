//! Versions of one row: who sees what, and who may write.
//!
//! ```text
//! word -> newest record -> older -> ... -> end: the row as all snapshots see it
//! values of the row in its block: the newest version
//! ```
//! **Write.** Latch the word; look at the chain; fill the record with before-images; fence
//! (Release); store the values, relaxed; store the record to the word with Release, which
//! unlatches.
//! **Read.** Load the values, relaxed; fence (Acquire); load the word. 0: done. Latched: wait for
//! the word, not for the values. A record: from the newest to the oldest, apply the images of those
//! the snapshot does not see; stop at the first it sees.
//!
//! Why that is right. If a reader loaded a value that some write stored, the two fences order the
//! latching of the word before the reader's load of the word: it finds that write's record, or a
//! newer chain that contains it. If it does not see the record, the image undoes the value,
//! whatever
//! mixture of old and new it loaded; a column in no unseen record was not stored by any unseen
//! write. If it sees the record, the write committed before the snapshot was taken, so the values
//! were stored before the first load. What is seen is so the oldest unseen image, or else the value
//! stored by the newest seen write. This needs a snapshot that was published after the commits it
//! sees: [`Snapshot::ALL`] was not, and readers of one row with it load again when the word
//! changes.
//!
//! **Roll-back** restores the values and leaves the record: a reader that loaded a value before it
//! was restored finds the record and applies the image, which is the restored value. Its kind
//! becomes Void (an insert: no row for anybody) or Restored (no change), and its stamp in the end a
//! fresh timestamp, as if the restoration were a commit; snapshots that see that one loaded after
//! the restoration. Unlinked at once, a reader with an undone value would find no record.
//! Restored and Lock records decide nothing: writers look through them (a running transaction's
//! Lock makes them wait), so a row that was undone by ROLLBACK TO can be written by others.
//!
//! **Collection** (`table::undo`): once every active snapshot sees a record, nobody applies it or
//! goes beyond it, so it and all older ones are unlinked under the latch. Whoever stands on one is
//! pinned and its memory stays.
//!
//! Source: Neumann, Mühlbauer, Kemper 2015, section 2. Departures: words beside the block, not in
//! it; one stamp a transaction, in its undo memory, so that a commit is one store.

mod word;

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crossbeam_epoch::Guard;
use types::Result;

use crate::block::{Block, NEVER, Pinned};
use crate::datum::{Datum, RowBuffer};
use crate::frozen::push_frozen;
use crate::record::{Image, Kind, RecordRef};
use crate::sharers::{Holder, LockStrength};
use crate::sync;
use crate::tid::Tid;
use crate::version::{Snapshot, TxnId, WriteError, is_running};
use crate::versions::DEAD;
pub(crate) use word::{latch, order, publish, settled};

/// The newest record of a word that is not latched, for a thread that is pinned.
#[inline]
pub(crate) fn newest(word: u64, _guard: &Guard) -> Option<RecordRef<'_>> {
    if word <= DEAD {
        return None;
    }
    let start = NonNull::new(std::ptr::with_exposed_provenance_mut(word as usize))?;
    // SAFETY: words other than 0 and DEAD are records; a linked record stays while somebody who
    // loaded it is pinned.
    Some(unsafe { RecordRef::new(start) })
}

/// True when `at` sees the row of `block`; calls `undo` with the images to apply, newest first.
#[inline]
pub(crate) fn visit(
    word: u64,
    at: Snapshot,
    block: &Block,
    guard: &Guard,
    mut undo: impl FnMut(&Image),
) -> bool {
    if word == DEAD {
        return false;
    }
    let mut next = newest(word, guard);
    while let Some(record) = next {
        let seen = at.sees(record.stamp(), || record.statement());
        match record.kind() {
            Kind::Insert | Kind::Update if seen => return true,
            Kind::Delete | Kind::Echo if seen => return false,
            Kind::Insert | Kind::Void => return false,
            _ if !seen => record.images().iter().for_each(&mut undo),
            _ => {}
        }
        next = record.older();
    }
    block.is_seen(at)
}

/// Tests that `txn` may write a row of snapshot `at`, by its latched word.
pub(crate) fn check_write(
    word: u64,
    at: Snapshot,
    txn: TxnId,
    created: u64,
    guard: &Guard,
) -> Result<Held, WriteError> {
    let gone = Err(WriteError::Conflict { moved_to: None });
    if word == DEAD {
        return gone;
    }
    let mut held = Held::No;
    let mut next = newest(word, guard);
    while let Some(record) = next {
        let stamp = record.stamp();
        let kind = record.kind();
        let is_own = stamp == txn.0;
        match kind {
            Kind::Restored => {}
            Kind::Void => return gone,
            _ if is_running(stamp) && !is_own => return Err(WriteError::Wait(TxnId(stamp))),
            Kind::Lock if is_own => held = Held::Yes,
            Kind::Lock => {}
            Kind::Delete => return Err(WriteError::Conflict { moved_to: record.moved_to() }),
            _ if is_own => return Ok(Held::Yes),
            _ if at.sees_stamp(stamp) => return Ok(held),
            _ => return gone,
        }
        next = record.older();
    }
    match created {
        NEVER => gone,
        stamp if stamp == txn.0 || at.sees_stamp(stamp) => Ok(held),
        stamp if is_running(stamp) => Err(WriteError::Wait(TxnId(stamp))),
        _ => gone,
    }
}

/// Row that may be shared, as it was found.
pub(crate) enum Sharing {
    /// The transaction has written or locked it itself, which is more.
    Held,
    /// Others may be added to who shares it; where it goes, if a transaction that runs moves it.
    Free(Option<Tid>),
    /// On its way to another place: to be looked at again.
    Moving,
}

/// Tests that `holder` may lock a row of snapshot `at` beside others, by its latched word. A lock
/// FOR KEY SHARE looks through changes that leave the keys alone.
pub(crate) fn check_share(
    word: u64,
    at: Snapshot,
    holder: Holder,
    created: u64,
    guard: &Guard,
) -> Result<Sharing, WriteError> {
    let Holder { txn, strength } = holder;
    let gone = Err(WriteError::Conflict { moved_to: None });
    if word == DEAD {
        return gone;
    }
    let mut moved = None;
    let mut next = newest(word, guard);
    while let Some(record) = next {
        let stamp = record.stamp();
        let kind = record.kind();
        let is_own = stamp == txn.0;
        match kind {
            Kind::Restored => {}
            Kind::Void => return gone,
            _ if is_running(stamp) && !is_own => {
                let is_looked_through = record.keys_stay() && kind != Kind::Insert;
                if strength != LockStrength::KeyShare || !is_looked_through {
                    return Err(WriteError::Wait(TxnId(stamp)));
                }
                if kind == Kind::Delete {
                    moved = record.moved_to();
                    if moved.is_none() {
                        return Ok(Sharing::Moving);
                    }
                }
            }
            Kind::Lock if is_own => return Ok(Sharing::Held),
            Kind::Lock => {}
            Kind::Delete => return Err(WriteError::Conflict { moved_to: record.moved_to() }),
            _ if is_own => return Ok(Sharing::Held),
            _ if at.sees_stamp(stamp) => return Ok(Sharing::Free(moved)),
            _ => return gone,
        }
        next = record.older();
    }
    match created {
        NEVER => gone,
        stamp if stamp == txn.0 => Ok(Sharing::Held),
        stamp if at.sees_stamp(stamp) => Ok(Sharing::Free(moved)),
        stamp if is_running(stamp) => Err(WriteError::Wait(TxnId(stamp))),
        _ => gone,
    }
}

/// Tests that nobody but `txn` changed or locked the keys of a row at the place where it has moved.
pub(crate) fn check_keys(word: u64, txn: TxnId, guard: &Guard) -> Result<(), WriteError> {
    let mut next = newest(word, guard);
    while let Some(record) = next {
        let decides = !matches!(record.kind(), Kind::Restored | Kind::Void);
        let stamp = record.stamp();
        if decides && stamp != txn.0 && !record.keys_stay() {
            let is_open = is_running(stamp);
            let gone = WriteError::Conflict { moved_to: None };
            return Err(if is_open { WriteError::Wait(TxnId(stamp)) } else { gone });
        }
        next = record.older();
    }
    Ok(())
}

/// True when `txn` has locked or changed the row so that nobody refers to it meanwhile.
pub(crate) fn excludes_all(word: u64, txn: TxnId, guard: &Guard) -> bool {
    let mut next = newest(word, guard);
    while let Some(record) = next {
        let decides = !matches!(record.kind(), Kind::Restored | Kind::Void);
        if decides && record.stamp() == txn.0 && !record.keys_stay() {
            return true;
        }
        next = record.older();
    }
    false
}

/// Result of a test: the transaction has the row already, or it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    No,
    Yes,
}

impl Block {
    /// The word of `row`; none when its zone was never written.
    #[inline]
    pub(crate) fn word(&self, row: u32) -> Option<&AtomicU64> {
        self.versions.zone(row).map(|zone| zone.word(row))
    }

    /// True when `at` sees row `row`.
    pub(crate) fn exists(&self, row: u32, at: Snapshot, guard: &Guard) -> bool {
        match self.word(row) {
            Some(word) => visit(settled(word), at, self, guard, |_| {}),
            None => self.is_seen(at),
        }
    }

    /// The values of `columns` as `at` sees them into `out`; false when it does not see the row. A
    /// block that is not in memory is read only for values that `at` sees.
    ///
    /// # Errors
    /// Errors of reading the block.
    #[inline]
    pub(crate) fn read(
        &self,
        row: u32,
        at: Snapshot,
        columns: &[usize],
        out: &mut RowBuffer,
        guard: &Guard,
    ) -> Result<bool> {
        if columns.is_empty() || !self.is_resident() && !self.exists(row, at, guard) {
            out.clear();
            return Ok(self.exists(row, at, guard));
        }
        let pinned = self.pin()?;
        loop {
            out.clear();
            let known = self.word(row);
            let before = known.map_or(0, |w| w.load(Ordering::Acquire));
            if before == DEAD {
                return Ok(false);
            }
            pinned.push_newest(columns, row, out);
            fence(Ordering::Acquire);
            // A zone that was not there may have been made meanwhile.
            let Some(word) = known.or_else(|| self.word(row)) else {
                return Ok(self.is_seen(at));
            };
            let word = settled(word);
            if at == Snapshot::ALL && word != before {
                continue;
            }
            if word == 0 {
                return Ok(self.is_seen(at));
            }
            let is_seen = visit(word, at, self, guard, |image| {
                let wanted = columns.iter().enumerate();
                for (i, _) in wanted.filter(|(_, c)| **c == usize::from(image.column)) {
                    out.set(i, self.image_datum(image));
                }
            });
            return Ok(is_seen);
        }
    }

    /// The value of a before-image.
    pub(crate) fn image_datum(&self, image: &Image) -> Datum<'_> {
        if image.null {
            return Datum::Null;
        }
        self.datum_of(usize::from(image.column), image.bits)
    }
}

impl<B: Deref<Target = Block>> Pinned<B> {
    /// The newest values of `columns` into `out`, whatever their versions: for who has the row.
    pub(crate) fn push_newest(&self, columns: &[usize], row: u32, out: &mut RowBuffer) {
        out.reserve(columns.len());
        match self.frozen() {
            None => self.each_value(columns.iter().copied(), row as usize, |datum| out.push(datum)),
            Some(frozen) => {
                columns.iter().for_each(|&column| push_frozen(frozen, column, row as usize, out));
            }
        }
    }
}
