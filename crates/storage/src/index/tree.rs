//! The ordered index: a B+-tree whose readers take no latches.
//!
//! ```text
//! root -> inner: separators (key, TID), children -> .. -> leaf: entries (key, TID)
//! read    enter a node (its version), search, enter the child, validate the node, go on
//! write   the same down to the leaf, latch it if its version is still that, change it
//! ```
//! Invariants: entries are ordered by key, then TID; entries of child `i` are below separator `i`
//! and not below separator `i - 1`; latches are only tried while others are held, never awaited;
//! an entry's tail is retired after the entry left its leaf.
//! Nodes have no links to siblings: whoever reads on starts again at the separator that ended its
//! leaf. Full nodes are split, sparse ones merged, on the way down.
//! Source: Leis et al. 2016. Departures: nodes are reused without an epoch, see `arena`; separators
//! are cut to what tells their neighbours apart.

mod bulk;
mod check;
mod range;
mod reshape;

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use types::{Error, Result};

use super::arena::Arena;
use super::counter::Counter;
use super::form::{Attempt, Changed, KeyForm, Probe};
use super::node::{Access, Latched, Optimistic, Shape, at_address};
use super::sync::pause;
use super::tail::Meter;
use crate::memory::BufferPool;
use crate::tid::Tid;

pub use bulk::BuiltKeys;
pub(super) use bulk::Run;

/// TIDs that a look-up copies before it calls back.
const LOOKUP_TIDS: usize = 16;

/// The reserved TID above all entries of a key.
pub(super) const TID_END: u64 = u64::MAX;

pub(super) struct Tree<F: KeyForm> {
    arena: Arena,
    /// Address of the root; changed only by who holds the root's latch.
    root: AtomicU64,
    /// Bytes of every key, for forms without tails.
    width: usize,
    meter: Meter,
    len: Counter,
    form: PhantomData<F>,
}

/// Why a change was not made.
enum Halt {
    Changed,
    Failed(Error),
}

impl From<Changed> for Halt {
    fn from(_: Changed) -> Self {
        Self::Changed
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Tries until no other thread is in the way.
#[inline]
fn retry<T>(mut attempt: impl FnMut() -> Attempt<T>) -> T {
    let mut count = 0;
    loop {
        if let Ok(done) = attempt() {
            return done;
        }
        count += 1;
        pause(count);
    }
}

/// A leaf, found without latches.
struct Found<'t> {
    leaf: Optimistic<'t>,
    /// The separator that ends the leaf at the side asked for, if it is not the last one there.
    fence: Option<(Optimistic<'t>, usize)>,
}

/// Where a key that no entry has would be, as long as its leaf does not change.
#[derive(Clone, Copy)]
pub(super) struct Gap<'t> {
    leaf: Optimistic<'t>,
    position: usize,
}

impl<F: KeyForm> Tree<F> {
    /// An empty tree, of keys of `width` bytes if the form wants them equally long.
    pub(super) fn new(pool: &Arc<BufferPool>, width: usize) -> Result<Self> {
        let arena = Arena::new(pool);
        let root = AtomicU64::new(arena.take(0)?.address());
        let (meter, len) = (Meter::new(pool), Counter::default());
        Ok(Self { arena, root, width, meter, len, form: PhantomData })
    }

    pub(super) fn len(&self) -> u64 {
        self.len.get()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.arena.bytes() + self.meter.bytes()
    }

    #[inline]
    fn assert_width(&self, key: &[u8]) {
        assert!(F::TAILS || key.len() == self.width, "a key of this index");
    }

    #[inline]
    fn root(&self) -> Attempt<Optimistic<'_>> {
        let address = self.root.load(Ordering::Acquire);
        // SAFETY: the root is always a node of the arena, which lives as long as `self`.
        let root = Optimistic::enter(unsafe { at_address(address) });
        if self.root.load(Ordering::Relaxed) == address { Ok(root) } else { Err(Changed) }
    }

    /// The leaf where (`probe`, `tid`) is or would be, and its end.
    #[inline]
    fn find(&self, probe: &Probe<'_>, tid: u64, guard: &F::Guard) -> Attempt<Found<'_>> {
        let (mut node, mut fence) = (self.root()?, None);
        // A separator that equals the probe is the start of the child right of it.
        let after = tid.saturating_add(1);
        while node.level() > 0 {
            let i = node.lower_bound::<F>(probe, after, guard)?;
            if i < node.count::<F>() {
                fence = Some((node, i));
            }
            node = node.child::<F>(i)?;
        }
        Ok(Found { leaf: node, fence })
    }

    /// Adds an entry; false when it was there.
    pub(super) fn insert(&self, key: &[u8], tid: Tid) -> Result<bool> {
        self.assert_width(key);
        assert!(tid.0 != TID_END, "the largest TID is reserved");
        let (probe, guard) = (Probe::new(key), F::pin());
        self.insert_probe(&probe, tid, &guard)
    }

    /// As [`Self::insert`], of a key that was not there when `gap` was found.
    pub(super) fn insert_at(&self, gap: Gap<'_>, key: &[u8], tid: Tid) -> Result<bool> {
        let (probe, guard) = (Probe::new(key), F::pin());
        let Gap { leaf, position } = gap;
        // A leaf that has not changed since is the leaf of the same keys.
        if !leaf.is_full::<F>()
            && let Ok(leaf) = leaf.try_latch()
        {
            self.meter.take(F::bytes_needed(&probe))?;
            leaf.insert::<F>(position, &F::make(&probe), tid.0);
            self.len.add(leaf.address() >> 10, 1);
            return Ok(true);
        }
        self.insert_probe(&probe, tid, &guard)
    }

    fn insert_probe(&self, probe: &Probe<'_>, tid: Tid, guard: &F::Guard) -> Result<bool> {
        let mut attempt = 0;
        loop {
            match self.try_insert(probe, tid.0, guard) {
                Ok(added) => return Ok(added),
                Err(Halt::Failed(error)) => return Err(error),
                Err(Halt::Changed) => {
                    attempt += 1;
                    pause(attempt);
                }
            }
        }
    }

    fn try_insert(
        &self,
        probe: &Probe<'_>,
        tid: u64,
        guard: &F::Guard,
    ) -> std::result::Result<bool, Halt> {
        let (mut node, mut parent) = (self.root()?, None);
        while node.level() > 0 {
            let i = node.lower_bound::<F>(probe, tid + 1, guard)?;
            if node.is_full::<F>() {
                self.split_inner(parent, node, i)?;
                return Err(Halt::Changed);
            }
            let child = node.child::<F>(i)?;
            parent = Some((node, i));
            node = child;
        }
        let i = node.lower_bound::<F>(probe, tid, guard)?;
        if node.is_entry::<F>(i, probe, tid, guard)? {
            node.validate()?;
            return Ok(false);
        }
        if node.is_full::<F>() {
            self.split_leaf(parent, node, i, (probe, tid))?;
            return Err(Halt::Changed);
        }
        let leaf = node.try_latch()?;
        self.meter.take(F::bytes_needed(probe))?;
        leaf.insert::<F>(i, &F::make(probe), tid);
        self.len.add(leaf.address() >> 10, 1);
        Ok(true)
    }

    /// Removes an entry; false when it was not there.
    pub(super) fn remove(&self, key: &[u8], tid: Tid) -> bool {
        self.assert_width(key);
        let (probe, guard) = (Probe::new(key), F::pin());
        retry(|| self.try_remove(&probe, tid.0, &guard))
    }

    fn try_remove(&self, probe: &Probe<'_>, tid: u64, guard: &F::Guard) -> Attempt<bool> {
        let (mut node, mut parent) = (self.root()?, None);
        loop {
            let level = node.level();
            let is_sparse = node.count::<F>() <= Shape::<F>::capacity(level) / 4;
            if is_sparse
                && let Some((parent, i)) = parent
                && self.merge(parent, i, node, guard)?
            {
                return Err(Changed);
            }
            if level == 0 {
                break;
            }
            let i = node.lower_bound::<F>(probe, tid.saturating_add(1), guard)?;
            let child = node.child::<F>(i)?;
            parent = Some((node, i));
            node = child;
        }
        let i = node.lower_bound::<F>(probe, tid, guard)?;
        if !node.is_entry::<F>(i, probe, tid, guard)? {
            node.validate()?;
            return Ok(false);
        }
        let leaf = node.try_latch()?;
        let key = leaf.key::<F>(i)?;
        leaf.remove::<F>(i);
        self.len.add(leaf.address() >> 10, -1);
        drop(leaf);
        self.retire(key, guard);
        Ok(true)
    }

    fn retire(&self, key: F::Key, guard: &F::Guard) {
        self.meter.give_back(F::bytes_held(&key));
        F::retire(key, guard);
    }

    fn free(&self, key: F::Key) {
        self.meter.give_back(F::bytes_held(&key));
        F::free(key);
    }

    /// Asks the processor for the leaf of `key`.
    pub(super) fn fetch(&self, key: &[u8]) {
        self.assert_width(key);
        // Who is overtaken by a change leaves it at that.
        let _ = self.try_fetch(&Probe::new(key), &F::pin());
    }

    fn try_fetch(&self, probe: &Probe<'_>, guard: &F::Guard) -> Attempt<()> {
        let mut node = self.root()?;
        while node.level() > 1 {
            node = node.child::<F>(node.lower_bound::<F>(probe, 1, guard)?)?;
        }
        node.fetch_child::<F>(node.lower_bound::<F>(probe, 1, guard)?);
        Ok(())
    }

    /// Calls `found` with the TIDs of `key` in ascending order until it breaks.
    #[inline]
    pub(super) fn lookup(
        &self,
        key: &[u8],
        mut found: impl FnMut(Tid) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.assert_width(key);
        let probe = Probe::new(key);
        let (mut tids, mut from) = ([0; LOOKUP_TIDS], Some(0));
        while let Some(tid) = from {
            let guard = F::pin();
            let (_, count, next) = retry(|| self.try_lookup(&probe, tid, &mut tids, &guard));
            drop(guard);
            tids[..count].iter().try_for_each(|&tid| found(Tid(tid)))?;
            from = next;
        }
        ControlFlow::Continue(())
    }

    /// Where `key` would be, if no entry has it.
    pub(super) fn gap(&self, key: &[u8]) -> Option<Gap<'_>> {
        self.assert_width(key);
        let (probe, guard, mut tids) = (Probe::new(key), F::pin(), [0; LOOKUP_TIDS]);
        let (gap, count, next) = retry(|| self.try_lookup(&probe, 0, &mut tids, &guard));
        (count == 0 && next.is_none()).then_some(gap)
    }

    /// Copies TIDs of `probe` from `from` on; returns where they are, how many, and where to go on.
    #[inline]
    fn try_lookup(
        &self,
        probe: &Probe<'_>,
        from: u64,
        tids: &mut [u64; LOOKUP_TIDS],
        guard: &F::Guard,
    ) -> Attempt<(Gap<'_>, usize, Option<u64>)> {
        let Found { leaf, fence } = self.find(probe, from, guard)?;
        let (mut i, count) = (leaf.lower_bound::<F>(probe, from, guard)?, leaf.count::<F>());
        let gap = Gap { leaf, position: i };
        let mut copied = 0;
        while i < count && copied < tids.len() && leaf.order::<F>(i, probe, guard)?.is_eq() {
            tids[copied] = leaf.tid::<F>(i);
            copied += 1;
            i += 1;
        }
        let mut next = None;
        if copied == tids.len() {
            next = Some(tids[copied - 1] + 1);
        } else if i == count
            && let Some((node, j)) = fence
        {
            // The key may go on in the next leaf.
            if node.order::<F>(j, probe, guard)?.is_eq() {
                next = Some(node.tid::<F>(j));
            }
            node.validate()?;
        }
        leaf.validate()?;
        Ok((gap, copied, next))
    }

    /// Calls `each` with all nodes, parents first, latched one after the other with their parents.
    fn walk(&self, each: &mut impl FnMut(&Latched<'_>)) {
        // SAFETY: as in `root`.
        self.walk_from(unsafe { at_address(self.root.load(Ordering::Acquire)) }, each);
    }

    fn walk_from(&self, words: &super::node::Words, each: &mut impl FnMut(&Latched<'_>)) {
        let node = Latched::latch(words);
        each(&node);
        if node.level() > 0 {
            for i in 0..=node.count::<F>() {
                // SAFETY: the node is latched, so that its children are nodes of the arena.
                self.walk_from(unsafe { at_address(node.child_address::<F>(i)) }, each);
            }
        }
    }
}

impl<F: KeyForm> Drop for Tree<F> {
    fn drop(&mut self) {
        if F::TAILS {
            self.walk(&mut |node| {
                (0..node.count::<F>()).filter_map(|i| node.key::<F>(i).ok()).for_each(F::free);
            });
        }
    }
}
