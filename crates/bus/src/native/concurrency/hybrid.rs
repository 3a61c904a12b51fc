//! HybridCC: readers use versions that never change, writers put new ones in their place.
//!
//! ```text
//! current --> version 3 { counts, value }      read: counted in version 3
//!             version 2 { counts, value }      still used by a reader that came before
//! ```
//! Invariants: a version that is current or counted is alive; whoever takes the last count frees
//! it. Readers never wait; who reads sees the value of one moment.
//! Elsewhere: how a reader is counted in safely (`hazard`), what is counted (`counts`).
//! Source: Chasseur 2015, section 4.4.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::counts::{Counts, One, Padded, PerNode};
use super::{Cell, Concurrency, hazard, threads};

/// Versions with one count each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hybrid;

/// Versions with a count for each node of the machine, real or not. Readers of different nodes
/// touch no line in common.
#[derive(Clone, Copy, Debug)]
pub struct Numa {
    nodes: usize,
}

impl Numa {
    /// For so many nodes.
    ///
    /// # Panics
    /// For none.
    pub fn new(nodes: usize) -> Self {
        assert!(nodes > 0, "a thread is on a node");
        Self { nodes }
    }
}

impl Concurrency for Hybrid {
    type Cell<T: Clone + Send + Sync + 'static> = Versions<T, One>;

    fn cell<T: Clone + Send + Sync + 'static>(&self, value: T) -> Versions<T, One> {
        Versions::new(1, value)
    }
}

impl Concurrency for Numa {
    type Cell<T: Clone + Send + Sync + 'static> = Versions<T, PerNode>;

    fn cell<T: Clone + Send + Sync + 'static>(&self, value: T) -> Versions<T, PerNode> {
        Versions::new(self.nodes, value)
    }
}

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Versions of all cells of the process that exist now: the current ones and those that are read.
pub fn live_versions() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// One value, from one change to the next.
struct Version<T, K> {
    counts: K,
    value: T,
}

impl<T, K: Counts> Version<T, K> {
    fn allocate(nodes: usize, value: T) -> *mut Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Box::into_raw(Box::new(Self { counts: K::new(nodes), value }))
    }

    /// # Safety
    /// The version was allocated, nobody uses it, and nobody frees it again.
    unsafe fn free(version: *mut Self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: by contract.
        drop(unsafe { Box::from_raw(version) });
    }
}

/// A value in versions.
pub struct Versions<T, K: Counts> {
    current: Padded<AtomicPtr<Version<T, K>>>,
    nodes: usize,
    writer: Mutex<()>,
}

// SAFETY: versions are shared by reference among threads and freed by any of them, which `T`
// allows; the pointer is no more than that.
unsafe impl<T: Send + Sync, K: Counts> Send for Versions<T, K> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, K: Counts> Sync for Versions<T, K> {}

impl<T, K: Counts> fmt::Debug for Versions<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versions").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl<T, K: Counts> Versions<T, K> {
    fn new(nodes: usize, value: T) -> Self {
        let current = Padded(AtomicPtr::new(Version::allocate(nodes, value)));
        Self { current, nodes, writer: Mutex::new(()) }
    }
}

impl<T, K: Counts> Drop for Versions<T, K> {
    fn drop(&mut self) {
        // SAFETY: guards borrow the cell, so there are none; older versions went with theirs.
        unsafe { Version::free(*self.current.0.get_mut()) };
    }
}

/// A version that is read.
pub struct Reading<'a, T, K: Counts> {
    cell: &'a Versions<T, K>,
    version: NonNull<Version<T, K>>,
    node: usize,
}

impl<T, K: Counts> Deref for Reading<'_, T, K> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this reader is counted until it is dropped.
        unsafe { &self.version.as_ref().value }
    }
}

impl<T, K: Counts> Drop for Reading<'_, T, K> {
    #[inline]
    fn drop(&mut self) {
        let version = self.version.as_ptr();
        // SAFETY: it entered at this node, and leaves once.
        if unsafe { K::leave(&raw const (*version).counts, self.node) } {
            // SAFETY: nobody is counted, and nobody begins to use what is not current.
            unsafe { Version::free(version) };
        }
    }
}

impl<T: Clone + Send + Sync + 'static, K: Counts + 'static> Cell<T> for Versions<T, K> {
    type Guard<'a> = Reading<'a, T, K>;

    #[inline]
    fn read(&self) -> Reading<'_, T, K> {
        threads::with_mine(self.nodes, |slot, node| {
            let enter = |version: &Version<T, K>| version.counts.enter(node);
            // SAFETY: `update` takes versions out as `hazard` wants it, and waits for the slots of
            // all threads; this one is ours.
            let version = unsafe { hazard::acquire(&self.current.0, slot, enter) };
            Reading { cell: self, version, node }
        })
    }

    #[inline]
    fn is_current(&self, guard: &Reading<'_, T, K>) -> bool {
        debug_assert!(std::ptr::eq(self, guard.cell), "a guard of another cell");
        self.current.0.load(Ordering::Acquire) == guard.version.as_ptr()
    }

    fn update(&self, change: impl FnOnce(&mut T)) {
        let _writer = self.writer.lock();
        // SAFETY: only writers take versions out, and this is the one.
        let mut value = unsafe { (*self.current.0.load(Ordering::Acquire)).value.clone() };
        change(&mut value);
        let new = Version::allocate(self.nodes, value);
        let old = self.current.0.swap(new, Ordering::AcqRel);
        hazard::wait_for_slots(old, threads::all().map(|thread| &thread.slot));
        // SAFETY: it was current until now, and is retired once.
        if unsafe { K::retire(&raw const (*old).counts) } {
            // SAFETY: nobody is counted, and nobody begins to use what is not current.
            unsafe { Version::free(old) };
        }
    }
}
