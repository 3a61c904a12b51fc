//! The version directory of a block: one word a row, in zones made when first needed.
//!
//! ```text
//! Versions | zone 0 -> { touched, word x 1,024 } | zone 1 -> none | ...
//! word: 0              visible to all who see the block, no history
//!       DEAD           no row: deleted for all, undone, or not yet inserted
//!       record         newest undo record of the row (`undo`)
//!       any | LATCHED  a write is going on; the rest is what it was before
//! ```
//! Invariants: `touched` counts the rows that have a word other than 0 and were claimed, or more
//! for an instant: it is raised before the word changes and lowered after it is 0 again. In a hot
//! block every row that is not claimed has the word DEAD once its zone exists, and the zone of a
//! row exists before the row is claimed.
//! Elsewhere: what words mean to readers and writers (`row`).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use types::Result;

use crate::memory::{BufferPool, MemoryCategory, Reservation};

/// Rows of a zone.
pub(crate) const ZONE_ROWS: usize = 1024;
/// The row does not exist.
pub(crate) const DEAD: u64 = 2;
/// Somebody writes the row.
pub(crate) const LATCHED: u64 = 1;

/// The words of up to 1,024 rows.
#[derive(Debug)]
pub(crate) struct Zone {
    touched: AtomicU32,
    _memory: Reservation,
    words: [AtomicU64; ZONE_ROWS],
}

impl Zone {
    /// True when some row may have a version.
    #[inline]
    pub(crate) fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Acquire) != 0
    }

    /// `rows` more rows get words.
    #[inline]
    pub(crate) fn touch(&self, rows: u32) {
        self.touched.fetch_add(rows, Ordering::AcqRel);
    }

    /// `rows` rows have the word 0 again.
    #[inline]
    pub(crate) fn untouch(&self, rows: u32) {
        self.touched.fetch_sub(rows, Ordering::AcqRel);
    }

    /// The word of `row` of the block.
    #[inline]
    pub(crate) fn word(&self, row: u32) -> &AtomicU64 {
        &self.words[row as usize % ZONE_ROWS]
    }
}

/// The directory.
#[derive(Debug)]
pub(crate) struct Versions {
    zones: Box<[OnceLock<Box<Zone>>]>,
}

impl Versions {
    /// For a block with room for `rows`.
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

    /// Bit `z` is set when zone `z` has versions.
    pub(crate) fn touched_zones(&self) -> u64 {
        let touched = |z: &OnceLock<Box<Zone>>| z.get().is_some_and(|z| z.is_touched());
        self.zones.iter().enumerate().fold(0, |bits, (i, z)| bits | u64::from(touched(z)) << i)
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
    Ok(slot.get_or_init(|| Box::new(Zone { touched: AtomicU32::new(0), _memory: memory, words })))
}
