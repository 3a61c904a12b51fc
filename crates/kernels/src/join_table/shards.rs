//! One vector, written by many threads, each in shards of its own.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// A vector cut at bounds; each shard is handed out once.
pub(super) struct Shards<T> {
    data: UnsafeCell<Vec<T>>,
    bounds: Vec<usize>,
    taken: Vec<AtomicBool>,
}

// SAFETY: the vector is reached only through `take`, which gives each disjoint range to one caller,
// and through ownership.
unsafe impl<T: Send> Sync for Shards<T> {}

impl<T> Shards<T> {
    /// Shard `i` is `data[bounds[i]..bounds[i + 1]]`.
    ///
    /// # Panics
    /// If the bounds do not ascend within `data`.
    pub(super) fn new(data: Vec<T>, bounds: Vec<usize>) -> Self {
        assert!(bounds.is_sorted() && bounds.last().is_none_or(|&b| b <= data.len()));
        let taken = bounds.iter().map(|_| AtomicBool::new(false)).collect();
        Self { data: UnsafeCell::new(data), bounds, taken }
    }

    /// Shard `i`, for its only user.
    ///
    /// # Panics
    /// If it was taken before.
    #[allow(clippy::mut_from_ref)]
    pub(super) fn take(&self, i: usize) -> &mut [T] {
        let (start, end) = (self.bounds[i], self.bounds[i + 1]);
        assert!(!self.taken[i].swap(true, Ordering::Relaxed), "a shard has one user");
        // SAFETY: `new` checked that shards are disjoint ranges of the vector, which never grows;
        // the flag above makes this the only reference to this range, and a shared borrow of `self`
        // keeps `into_inner` away. The vector's header is only read.
        unsafe {
            let base = (*self.data.get()).as_ptr().cast_mut();
            std::slice::from_raw_parts_mut(base.add(start), end - start)
        }
    }

    /// The vector.
    pub(super) fn into_inner(self) -> Vec<T> {
        self.data.into_inner()
    }
}
