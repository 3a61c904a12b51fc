//! Blocks that left memory are asked for before their work orders begin.
//!
//! ```text
//! orders   0 1 | 2 3 4 5 6 7 8 9 | 10 ...
//!          run   asked for: BLOCKS for each worker; one order asks for LIMIT_SHARE at most
//! ```
//! The system brings what is asked for into its cache of files, while workers compute; the pool
//! knows nothing of it, so nothing that somebody uses is evicted for a guess. Blocks of which
//! smallest and largest values show that no row passes are not asked for.
//! Source: Patel 2018, section 3.4 (the storage manager and its policies); the hint is that of
//! `posix_fadvise(2)`.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::ScanSource;

/// Blocks asked for ahead of each worker: one is read while the one before is computed with, the
/// others keep a disk with several queues busy.
const BLOCKS: usize = 4;

/// Share of the memory limit that one work order may ask for; what it leaves the next asks for.
const LIMIT_SHARE: u64 = 8;

/// Place up to which blocks were asked for.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    end: AtomicUsize,
}

impl Ahead {
    /// Asks for the blocks behind work order `order`, which begins, that nobody has asked for.
    pub(super) fn look(&self, scan: &ScanSource, order: usize) {
        let reach = scan.context.scheduler.workers() * BLOCKS;
        let end = (order + 1 + reach).min(scan.snapshot.block_count());
        let start = self.end.load(Ordering::Relaxed).max(order + 1);
        let mut left = scan.context.pool.limit() / LIMIT_SHARE;
        // Two workers may ask for the same block: the system takes the second for known.
        for block in start..end {
            if left == 0 {
                break;
            }
            if scan.places.contains(&scan.snapshot.block(block).id()) {
                left = left.saturating_sub(scan.plan.expect(&scan.snapshot, block));
            }
            self.end.fetch_max(block + 1, Ordering::Relaxed);
        }
    }
}
