//! Rows that do not fit in memory: temporary files of batches, by partition.
//!
//! ```text
//! operator --room: full--> Partitions: rows by hash --chunks--> File (one per operator and worker)
//!                            or sorted runs                       '-- read back, part by part
//! ```
//! Rows are spilled, never tables or states: a join or an aggregation is done again for
//! each partition, with the code that does it in memory.
//!
//! Invariants: a file has no name while it is used, so that the system removes it however its
//! operator ends; nothing of it outlives the process. Chunks carry a checksum.
//! Elsewhere: which operators spill (`aggregate`, `join`, `ordered`), files (`host`).

mod chunk;
mod file;
mod partition;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use types::{Error, SqlState};

use crate::context::QueryContext;

pub(crate) use file::{ChunkList, SpillFile};
pub(crate) use partition::{PARTITION_BITS, Partitions, Written, split};
pub(crate) use rows::{Gathered, Hashes, Results, gather, load, on_disk};

/// Room for more rows of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// There is room.
    Left,
    /// There is none: the operator spills.
    Full,
}

/// The part of the pool's limit that stays free for reading spilled rows again.
const RESERVE_SHARE: u64 = 8;

/// Bytes that an operator may always hold: spilling less would not help.
const HELD_MIN: u64 = 64 << 10;

impl QueryContext {
    /// Room of an operator that holds `bytes` on a worker: full when it has to spill, if it can.
    pub(crate) fn room(&self, bytes: u64) -> Room {
        let Some(space) = &self.spill else {
            return Room::Left;
        };
        let limit = self.pool.limit();
        let scarce = bytes > HELD_MIN && self.pool.held() > limit - limit / RESERVE_SHARE;
        let more = space.work_bytes.is_some_and(|work| bytes > work);
        if scarce || more { Room::Full } else { Room::Left }
    }

    /// True when `error` says that memory is full, and spilling can help.
    pub(crate) fn can_spill(&self, error: &Error) -> bool {
        self.spill.is_some() && error.state() == SqlState::OUT_OF_MEMORY
    }
}

/// The number of the next file of this process.
fn next_number() -> u64 {
    static FILES: AtomicU64 = AtomicU64::new(0);
    FILES.fetch_add(1, Ordering::Relaxed)
}
