//! Unlinking records that no active snapshot needs.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};

use super::{Place, UndoBuffer};
use crate::block::NEVER;
use crate::memory::defer;
use crate::record::{Kind, RecordRef};
use crate::row::{latch, newest, publish};
use crate::versions::DEAD;

/// Records after which the thread lets the epoch advance.
const PINNED_MAX: usize = 256;

impl UndoBuffer {
    /// Unlinks the records from their rows, removes index entries that only they needed, drops
    /// blocks without rows, and gives the memory back once no reader is on it. To be called when
    /// every active snapshot is at or above the timestamp the buffer was stamped with; in any order
    /// of buffers.
    ///
    /// # Panics
    /// If the transaction has not ended.
    pub fn collect(mut self) {
        assert!(self.ended || self.records.is_empty(), "a running transaction is not collected");
        let mut guard = epoch::pin();
        for i in 0..self.records.len() {
            if i % PINNED_MAX == PINNED_MAX - 1 {
                guard.repin();
            }
            let record = self.record(i);
            let place = &self.places[record.place()];
            match record.kind() {
                Kind::Block => place.block.set_created(0),
                Kind::Target => {
                    place.block.set_created(0);
                    place.block.forget_origin();
                }
                Kind::Source => give_up(place, record),
                Kind::KeyShared | Kind::Shared | Kind::Released => {}
                Kind::Void if place.block.created() == NEVER => {}
                _ => unlink(place, record, &guard),
            }
        }
        self.records.clear();
        self.places.clear();
        let arena = std::mem::take(&mut self.arena);
        if arena.stamp().is_some() {
            let bytes = arena.bytes();
            // SAFETY: no row leads to the records any more; who got to one before is pinned. The
            // arena may be dropped by any thread.
            unsafe { defer(arena, bytes, &guard) };
        }
    }
}

/// Drops a block whose rows have moved, with their entries: nobody sees them there any more.
fn give_up(place: &Place, record: RecordRef<'_>) {
    let Place { table, block, .. } = place;
    if block.ended() != record.stamp() {
        // Undone.
        return;
    }
    let Some(map) = block.moves_to() else { return };
    let mut guard = epoch::pin();
    for (i, row) in map.rows_of(block.id()).enumerate() {
        if i % PINNED_MAX == PINNED_MAX - 1 {
            guard.repin();
        }
        table.remove_entries(block, row, &guard);
    }
    table.leave_trace(block.id(), Arc::clone(&map));
    table.drop_block(block, &guard);
}

/// Makes the row forget `record` and all older ones.
fn unlink(place: &Place, record: RecordRef<'_>, guard: &Guard) {
    let Place { table, block, .. } = place;
    let row = record.row();
    let zone = block.versions.zone(row).expect("the zone of a written row");
    let word = zone.word(row);
    let found = latch(word);
    if record.is_unlinked() {
        publish(word, found);
        return;
    }
    let ends = matches!(record.kind(), Kind::Delete | Kind::Void);
    table.remove_old_entries(block, record, found, guard);
    // Above the end of a row there are only records of its transaction that changed nothing.
    let top = if ends { newest(found, guard) } else { Some(record) };
    let above = if ends { None } else { record.newer() };
    let mut next = top;
    while let Some(older) = next {
        older.set_unlinked();
        next = older.older();
    }
    let left = match above {
        _ if ends => DEAD,
        None => 0,
        Some(newer) => {
            newer.set_older(None);
            found
        }
    };
    if left == DEAD {
        zone.set_gone(row);
    }
    publish(word, left);
    if left <= DEAD {
        zone.marks().untouch(1);
    }
    if ends && block.bury(1) {
        table.drop_block(block, guard);
    }
}
