//! The version directory of a block: one word a row, in zones made when first needed.
//!
//! ```text
//! Versions | zone 0 -> { marks: touched, gone; word x 1,024 } | zone 1 -> none | ...
//! word: 0              visible to all who see the block, no history
//!       DEAD           no row: deleted for all, undone, or not yet inserted
//!       record         newest undo record of the row (`record`)
//!       any | 1        a write is going on; the rest is what it was before
//! gone: bit 1          the word is DEAD and the row was claimed
//! ```
//! Invariants: `touched` counts the claimed rows whose word is neither 0 nor DEAD for good (a
//! record, or claimed and not yet published), or more for an instant: it is raised before the word
//! changes and lowered after the word is 0 again or the bit in `gone` is set. So who finds it 0
//! finds the rest in `gone`: the zone is quiet, its words need not be read. But for recovery, bits
//! are never taken back. In a hot block every row that is not claimed has the word DEAD once its
//! zone exists, and the zone of a row exists before the row is claimed.
//!
//! Whoever has a snapshot that is registered (no record it does not see is collected) and once
//! found a zone quiet may use its bits for as long as the snapshot lives: a bit set later is of a
//! row that was not there for it then, or of one whose end it sees.
//! Elsewhere: what words mean to readers and writers (`row`), the counts and bits (`marks`).

mod marks;

#[cfg(test)]
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use types::Result;

use crate::memory::{BufferPool, MemoryCategory, Reservation};
use crate::sync::{self, AtomicU64};
pub(crate) use marks::{Marks, Touch, ZoneState};

/// Rows of a zone.
pub(crate) const ZONE_ROWS: usize = 1024;
/// The row does not exist.
pub(crate) const DEAD: u64 = 2;

/// The words of up to 1,024 rows.
#[derive(Debug)]
pub(crate) struct Zone {
    marks: Marks,
    _memory: Reservation,
    words: [AtomicU64; ZONE_ROWS],
}

impl Zone {
    /// See [`Marks`], whose rows are numbered from the start of the zone.
    #[inline]
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// [`Marks::set_gone`] of `row` of the block.
    pub(crate) fn set_gone(&self, row: u32) -> bool {
        self.marks.set_gone(row as usize % ZONE_ROWS)
    }

    /// The word of `row` of the block.
    #[inline]
    pub(crate) fn word(&self, row: u32) -> &AtomicU64 {
        &self.words[row as usize % ZONE_ROWS]
    }
}

/// Zones of a block whose rows may not all be there, one bit each, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Zones {
    /// Words decide.
    pub(crate) touched: u64,
    /// The bits of rows that are gone decide.
    pub(crate) quiet: u64,
}

impl Zones {
    /// True when all rows are there.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.touched | self.quiet == 0
    }

    /// Marks of the `len` rows from `start` on.
    #[inline]
    pub(crate) fn of(self, start: u32, len: u32) -> Self {
        if len == 0 || self.is_empty() {
            return Self::default();
        }
        let first = start as usize / ZONE_ROWS;
        let last = (start + len - 1) as usize / ZONE_ROWS;
        let mask = (u64::MAX << first) & (u64::MAX >> (63 - last));
        Self { touched: self.touched & mask, quiet: self.quiet & mask }
    }
}

/// The directory.
#[derive(Debug)]
pub(crate) struct Versions {
    zones: Box<[OnceLock<Box<Zone>>]>,
}

impl Versions {
    /// Versions of a block with room for `rows`.
    pub(crate) fn new(rows: usize) -> Self {
        Self { zones: (0..rows.div_ceil(ZONE_ROWS)).map(|_| OnceLock::new()).collect() }
    }

    /// The zone of `row`, if it was made.
    #[inline]
    pub(crate) fn zone(&self, row: u32) -> Option<&Zone> {
        self.zones.get(row as usize / ZONE_ROWS)?.get().map(|z| &**z)
    }

    /// The zone of `row`, made if need be with the word DEAD for rows from `born` on.
    ///
    /// # Errors
    /// 53200 without memory.
    #[inline]
    pub(crate) fn make_zone(
        &self,
        row: u32,
        born: impl FnOnce() -> usize,
        pool: &Arc<BufferPool>,
    ) -> Result<&Zone> {
        let slot = &self.zones[row as usize / ZONE_ROWS];
        match slot.get() {
            Some(zone) => Ok(zone),
            None => make(slot, row as usize / ZONE_ROWS * ZONE_ROWS, born(), pool),
        }
    }

    /// Which zones need to be looked at, for a snapshot taken before.
    pub(crate) fn zones(&self) -> Zones {
        let mut zones = Zones::default();
        for (i, zone) in self.zones.iter().enumerate() {
            let Some(zone) = zone.get() else { continue };
            match zone.marks.state() {
                ZoneState::Touched => zones.touched |= 1 << i,
                ZoneState::Quiet => zones.quiet |= 1 << i,
                ZoneState::Whole => {}
            }
        }
        zones
    }

    /// Checks that all zones are quiet, and that bits and words of the `claimed` rows agree.
    #[cfg(test)]
    pub(crate) fn assert_quiet(&self, claimed: usize) {
        for zone in self.zones.iter().filter_map(OnceLock::get) {
            let is_any_gone = zone.marks.gone().iter().any(|&w| w != 0);
            let wanted = if is_any_gone { ZoneState::Quiet } else { ZoneState::Whole };
            assert_eq!(zone.marks.state(), wanted, "nothing is left to collect");
        }
        for row in 0..claimed as u32 {
            let Some(zone) = self.zone(row) else { continue };
            let at = row as usize % ZONE_ROWS;
            let is_gone = zone.marks.gone()[at / 64] >> (at % 64) & 1 == 1;
            let word = zone.word(row).load(Ordering::SeqCst);
            assert_eq!(word, if is_gone { DEAD } else { 0 }, "row {row}");
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        let made = self.zones.iter().filter(|z| z.get().is_some()).count();
        (made * size_of::<Zone>() + size_of_val(&*self.zones)) as u64
    }
}

#[cold]
fn make<'z>(
    slot: &'z OnceLock<Box<Zone>>,
    first: usize,
    born: usize,
    pool: &Arc<BufferPool>,
) -> Result<&'z Zone> {
    let memory = pool.reserve(MemoryCategory::Versions, size_of::<Zone>() as u64)?;
    // `born` holds until the zone is there: no row of it is claimed before.
    let word = |i: usize| AtomicU64::new(if first + i >= born { DEAD } else { 0 });
    let words = std::array::from_fn(word);
    Ok(slot.get_or_init(|| Box::new(Zone { marks: Marks::new(), _memory: memory, words })))
}
