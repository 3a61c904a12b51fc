//! State that only hot blocks have: how many rows are claimed, and their strings.
//!
//! Part of a `Block`; changed by `crate::hot`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::heap::Heap;
use crate::memory::BufferPool;

/// Set in `claimed` when no more rows are taken.
pub(crate) const CLOSED: u32 = 1 << 31;

/// Parts that only hot blocks have.
#[derive(Debug)]
pub(crate) struct Hot {
    /// Rows claimed, and [`CLOSED`].
    pub(crate) claimed: AtomicU32,
    pub(crate) heap: Heap,
}

impl Hot {
    /// No rows yet; strings take memory from `pool`.
    pub(crate) fn new(pool: &Arc<BufferPool>) -> Self {
        Self { claimed: AtomicU32::new(0), heap: Heap::new(pool) }
    }

    /// Rows claimed.
    #[inline]
    pub(crate) fn rows(&self) -> usize {
        (self.claimed.load(Ordering::Acquire) & !CLOSED) as usize
    }

    /// True when no more rows are taken.
    pub(crate) fn is_closed(&self) -> bool {
        self.claimed.load(Ordering::SeqCst) & CLOSED != 0
    }
}
