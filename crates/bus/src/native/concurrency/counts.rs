//! Counts of the users of a version: one, or one for each node.
//!
//! ```text
//! One:     1 while current + 1 for each reader
//! PerNode: nodes[n]: 1 while current + 1 for each reader of node n;  left: nodes that are not 0
//! ```
//! Invariant: a reader leaves the node that it entered, wherever it runs by then.
//! Source: Chasseur 2015, section 4.4.

use super::super::sync::{AtomicUsize, Ordering, fence};

/// A value alone on its cache lines: two of 64 bytes, which processors fetch in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

/// Counts of one version. A version may be freed as soon as its count fell to zero, by another
/// thread than the caller: so counts are given by address where that can happen.
pub trait Counts: Send + Sync {
    /// Counts of a version that is current and that nobody reads.
    fn new(nodes: usize) -> Self;

    /// Counts a reader in that has the version in its slot or has counted before.
    fn enter(&self, node: usize);

    /// Counts a reader out; true for the one that has to free the version.
    ///
    /// # Safety
    /// The caller entered at `node`, and counts itself out once.
    unsafe fn leave(counts: *const Self, node: usize) -> bool;

    /// The version is not current any more; true if the caller has to free it.
    ///
    /// # Safety
    /// Called once, after [`super::hazard::wait_for_slots`].
    unsafe fn retire(counts: *const Self) -> bool;
}

/// One count.
#[derive(Debug)]
pub struct One(Padded<AtomicUsize>);

/// Takes one off; true if none is left.
///
/// # Safety
/// `count` is alive, and the caller has one of what it counts.
unsafe fn take(count: *const AtomicUsize) -> bool {
    // SAFETY: by contract; it is not touched after the subtraction.
    let was = unsafe { (*count).fetch_sub(1, Ordering::Release) };
    if was == 1 {
        // All that others did with the version comes before it is freed.
        fence(Ordering::Acquire);
    }
    was == 1
}

impl Counts for One {
    fn new(_: usize) -> Self {
        Self(Padded(AtomicUsize::new(1)))
    }

    #[inline]
    fn enter(&self, _: usize) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    unsafe fn leave(counts: *const Self, _: usize) -> bool {
        // SAFETY: the caller is counted, so the version is alive.
        unsafe { take(&raw const (*counts).0.0) }
    }

    unsafe fn retire(counts: *const Self) -> bool {
        // SAFETY: the version counts itself until here.
        unsafe { take(&raw const (*counts).0.0) }
    }
}

/// A count for each node.
#[derive(Debug)]
pub struct PerNode {
    nodes: Box<[Padded<AtomicUsize>]>,
    left: Padded<AtomicUsize>,
}

impl Counts for PerNode {
    fn new(nodes: usize) -> Self {
        let nodes: Box<_> = (0..nodes).map(|_| Padded(AtomicUsize::new(1))).collect();
        let left = Padded(AtomicUsize::new(nodes.len()));
        Self { nodes, left }
    }

    #[inline]
    fn enter(&self, node: usize) {
        self.nodes[node].0.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    unsafe fn leave(counts: *const Self, node: usize) -> bool {
        // SAFETY: the caller is counted at its node, so the version is alive; the last of a node
        // is counted in `left` until the second subtraction.
        unsafe { take(&raw const (&(*counts).nodes)[node].0) && take(&raw const (*counts).left.0) }
    }

    unsafe fn retire(counts: *const Self) -> bool {
        // SAFETY: the version counts itself at each node that is still to come.
        let nodes = unsafe { &(*counts).nodes };
        let nodes = nodes.len();
        // Only the last node of all can be the last one left.
        // SAFETY: as above.
        (0..nodes).any(|node| unsafe { Self::leave(counts, node) })
    }
}
