//! Building a tree from many entries at once, in parallel.
//!
//! ```text
//! parts -> one run per thread, sorted -> ranges of all runs merged -> leaves -> inner levels
//! ```
//! Nodes are filled to seven eighths, evenly, so that the next inserts do not split them all.

use std::cmp::Ordering as Order;
use std::sync::atomic::AtomicUsize;

use kernels::sort_rows::sort_by;
use types::budget;

use super::*;
use crate::memory::{MemoryCategory, Reservation};

/// Places looked at in each run to find where ranges begin, for each range.
const SAMPLES: usize = 32;

/// Entries on their way into a tree.
pub(in crate::index) struct Run<'t, F: KeyForm> {
    tree: &'t Tree<F>,
    entries: Vec<(F::Key, u64)>,
    is_sorted: bool,
    reservation: Reservation,
}

fn order<F: KeyForm>(a: &(F::Key, u64), b: &(F::Key, u64)) -> Order {
    F::order_keys(&a.0, &b.0).then_with(|| a.1.cmp(&b.1))
}

impl<'t, F: KeyForm> Run<'t, F> {
    fn new(tree: &'t Tree<F>) -> Self {
        let reservation = Reservation::empty(tree.arena.pool(), MemoryCategory::Indexes);
        Self { tree, entries: Vec::new(), is_sorted: true, reservation }
    }

    /// Adds an entry.
    #[inline]
    pub(in crate::index) fn push(&mut self, key: &[u8], tid: Tid) -> Result<()> {
        self.tree.assert_width(key);
        assert!(tid.0 != TID_END, "the largest TID is reserved");
        if self.entries.len() == self.entries.capacity() {
            self.grow()?;
        }
        let probe = Probe::new(key);
        self.tree.meter.take(F::bytes_needed(&probe))?;
        let entry = (F::make(&probe), tid.0);
        let is_next = self.entries.last().is_none_or(|last| order::<F>(last, &entry).is_le());
        self.is_sorted &= is_next;
        self.entries.push(entry);
        Ok(())
    }

    fn grow(&mut self) -> Result<()> {
        let capacity = (self.entries.capacity() * 2).max(1024);
        self.reservation.resize((capacity * size_of::<(F::Key, u64)>()) as u64)?;
        self.entries.reserve_exact(capacity - self.entries.len());
        Ok(())
    }

    fn sort(&mut self) -> Result<()> {
        if self.is_sorted { Ok(()) } else { sort_by(&mut self.entries, order::<F>) }
    }
}

impl<F: KeyForm> Drop for Run<'_, F> {
    fn drop(&mut self) {
        self.entries.drain(..).for_each(|(key, _)| self.tree.free(key));
    }
}

/// Keys as a build found them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltKeys {
    /// No two entries have equal keys.
    Distinct,
    /// Some may have.
    Repeated,
}

impl BuiltKeys {
    /// The keys of two lists together.
    fn and(self, other: Self) -> Self {
        if self == Self::Distinct { other } else { self }
    }
}

/// All leaves of a tree, or those of a range.
struct Leaves<'t, F: KeyForm> {
    level: Level<'t, F>,
    /// Keys that are not in them, as their entries were there twice.
    duplicates: Vec<F::Key>,
    keys: BuiltKeys,
}

/// Neighbouring nodes of one level, latched, and what separates them.
struct Level<'t, F: KeyForm> {
    tree: &'t Tree<F>,
    nodes: Vec<Latched<'t>>,
    separators: Vec<(F::Key, u64)>,
}

impl<F: KeyForm> Drop for Level<'_, F> {
    fn drop(&mut self) {
        self.nodes.drain(..).for_each(|node| self.tree.arena.give_back(node));
        self.separators.drain(..).for_each(|(key, _)| self.tree.free(key));
    }
}

impl<F: KeyForm> Tree<F> {
    /// Fills the empty tree with the entries that `part` pushes for each of `part_count` parts.
    pub(in crate::index) fn build(
        &self,
        threads: usize,
        part_count: usize,
        part: impl Fn(usize, &mut Run<'_, F>) -> Result<()> + Sync,
    ) -> Result<BuiltKeys> {
        let next = AtomicUsize::new(0);
        let runs = in_parallel(threads.clamp(1, part_count.max(1)), |_| {
            let mut run = Run::new(self);
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= part_count {
                    return run.sort().map(|()| run);
                }
                part(i, &mut run)?;
            }
        });
        let mut runs = runs.into_iter().collect::<Result<Vec<_>>>()?;
        if runs.iter().all(|run| run.entries.is_empty()) {
            return Ok(BuiltKeys::Distinct);
        }
        let Leaves { level: leaves, duplicates, keys } = self.leaves(&mut runs)?;
        let total: usize = leaves.nodes.iter().map(|node| node.count::<F>()).sum();
        let root = self.root_over(leaves)?;
        // From here on the tree owns the keys.
        runs.iter_mut().for_each(|run| run.entries.clear());
        duplicates.into_iter().for_each(|key| self.free(key));
        self.set_root(root);
        self.len.add(0, total as i64);
        Ok(keys)
    }

    fn set_root(&self, root: Latched<'_>) {
        let old = self.root.load(Ordering::Acquire);
        // SAFETY: the root is always a node of the arena.
        let old = Latched::latch(unsafe { at_address(old) });
        let is_empty = old.level() == 0 && old.count::<F>() == 0;
        assert!(is_empty, "nobody writes to an index while it is built");
        self.root.store(root.address(), Ordering::Release);
        self.arena.give_back(old);
    }

    /// The leaves with the entries of `runs`, which keep their keys.
    fn leaves<'t>(&'t self, runs: &mut [Run<'t, F>]) -> Result<Leaves<'t, F>> {
        if let [run] = runs {
            let duplicates = remove_duplicates::<F>(&mut run.entries);
            duplicates.into_iter().for_each(|key| self.free(key));
            let (level, keys) = (self.leaves_of(&run.entries)?, keys_of::<F>(&run.entries));
            return Ok(Leaves { level, duplicates: Vec::new(), keys });
        }
        let bounds = bounds(runs);
        let parts = in_parallel(bounds.len() + 1, |i| {
            let entries = range_of(runs, i.checked_sub(1).map(|i| &bounds[i]), bounds.get(i));
            let bytes = entries.capacity() * size_of::<(F::Key, u64)>();
            let counted = self.arena.pool().reserve(MemoryCategory::Indexes, bytes as u64)?;
            let mut entries = entries;
            // Each run's entries are sorted: this merges them.
            sort_by(&mut entries, order::<F>)?;
            let duplicates = remove_duplicates::<F>(&mut entries);
            let (level, keys) = (self.leaves_of(&entries)?, keys_of::<F>(&entries));
            drop(counted);
            Ok(Leaves { level, duplicates, keys })
        });
        let level = Level { tree: self, nodes: Vec::new(), separators: Vec::new() };
        let keys = BuiltKeys::Distinct;
        let mut all = Leaves { level, duplicates: Vec::new(), keys };
        for part in parts {
            let Leaves { level: mut leaves, duplicates, keys } = part?;
            if let (Some(left), Some(right)) = (all.level.nodes.last(), leaves.nodes.first()) {
                let (separator, tid) = self.separator(left, right)?;
                all.level.separators.push((separator, tid));
                // A TID separates equal keys only.
                all.keys = all.keys.and(if tid == 0 { keys } else { BuiltKeys::Repeated });
            }
            all.keys = all.keys.and(keys);
            all.level.nodes.append(&mut leaves.nodes);
            all.level.separators.append(&mut leaves.separators);
            all.duplicates.extend(duplicates);
        }
        Ok(all)
    }

    /// Leaves with these entries, at least one.
    fn leaves_of(&self, entries: &[(F::Key, u64)]) -> Result<Level<'_, F>> {
        let mut level = Level { tree: self, nodes: Vec::new(), separators: Vec::new() };
        for share in even_shares(entries.len(), filled(Shape::<F>::LEAF)) {
            budget::check()?;
            let leaf = self.arena.take(0)?;
            leaf.fill::<F>(&entries[share]);
            if let Some(left) = level.nodes.last() {
                level.separators.push(self.separator(left, &leaf)?);
            }
            level.nodes.push(leaf);
        }
        Ok(level)
    }

    fn separator(&self, left: &Latched<'_>, right: &Latched<'_>) -> Result<(F::Key, u64)> {
        let last = left.count::<F>() - 1;
        let keys = (left.key::<F>(last), right.key::<F>(0));
        let (Ok(a), Ok(b)) = keys else { unreachable!("latched nodes do not change") };
        let tid = if F::order_keys(&a, &b).is_eq() { right.tid::<F>(0) } else { 0 };
        let separator = F::separator(&a, &b);
        let counted = self.meter.take(F::bytes_held(&separator));
        counted.inspect_err(|_| F::free(separator)).map(|()| (separator, tid))
    }

    /// The root over all nodes of a level.
    fn root_over<'t>(&'t self, mut level: Level<'t, F>) -> Result<Latched<'t>> {
        let mut below = Level { tree: self, nodes: Vec::new(), separators: Vec::new() };
        while level.nodes.len() > 1 {
            let mut above = Level { tree: self, nodes: Vec::new(), separators: Vec::new() };
            let shares = even_shares(level.nodes.len(), filled(Shape::<F>::INNER) + 1);
            let height = level.nodes[0].level() + 1;
            for share in shares {
                let inner = self.arena.take(height)?;
                inner.set_first_child::<F>(level.nodes[share.start].address());
                for i in share.start + 1..share.end {
                    let (key, tid) = level.separators[i - 1];
                    let child = level.nodes[i].address();
                    inner.insert_child::<F>(i - share.start - 1, &key, tid, child);
                }
                above.nodes.push(inner);
            }
            above.separators = separators_between(&mut level, &above);
            below.nodes.append(&mut level.nodes);
            below.separators.append(&mut level.separators);
            level = above;
        }
        // Nothing can fail any more: unlatch the nodes and leave the separators where they are.
        below.nodes.clear();
        below.separators.clear();
        Ok(level.nodes.pop().expect("a level has nodes"))
    }
}

/// Takes from `level` the separators that are not in the nodes `above` it.
fn separators_between<F: KeyForm>(
    level: &mut Level<'_, F>,
    above: &Level<'_, F>,
) -> Vec<(F::Key, u64)> {
    let (mut inside, mut between) = (Vec::new(), Vec::new());
    let mut separators = std::mem::take(&mut level.separators).into_iter();
    for node in &above.nodes {
        inside.extend(separators.by_ref().take(node.count::<F>()));
        between.extend(separators.next());
    }
    level.separators = inside;
    between
}

fn filled(capacity: usize) -> usize {
    capacity - capacity / 8
}

/// Ranges of `count` things, about equally long, none longer than `most`.
fn even_shares(count: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let shares = count.div_ceil(most);
    (0..shares).map(move |i| i * count / shares..(i + 1) * count / shares)
}

fn remove_duplicates<F: KeyForm>(entries: &mut Vec<(F::Key, u64)>) -> Vec<F::Key> {
    let mut duplicates = Vec::new();
    entries.dedup_by(|b, a| {
        let is_equal = order::<F>(a, b).is_eq();
        if is_equal {
            duplicates.push(b.0);
        }
        is_equal
    });
    duplicates
}

/// Compares neighbours among sorted `entries`.
fn keys_of<F: KeyForm>(entries: &[(F::Key, u64)]) -> BuiltKeys {
    let is_equal = |pair: &[(F::Key, u64)]| F::order_keys(&pair[0].0, &pair[1].0).is_eq();
    if entries.windows(2).any(is_equal) { BuiltKeys::Repeated } else { BuiltKeys::Distinct }
}

/// Entries that cut the runs into as many ranges as there are runs, of about equal size.
fn bounds<F: KeyForm>(runs: &[Run<'_, F>]) -> Vec<(F::Key, u64)> {
    let places = SAMPLES * runs.len();
    let sample = |run: &Run<'_, F>| {
        let count = run.entries.len();
        let places = places.min(count);
        (0..places).map(|i| run.entries[i * count / places]).collect::<Vec<_>>()
    };
    let mut samples: Vec<_> = runs.iter().flat_map(sample).collect();
    samples.sort_unstable_by(order::<F>);
    (1..runs.len()).map(|i| samples[i * samples.len() / runs.len()]).collect()
}

/// The entries of all runs from `low` to before `high`, run after run.
fn range_of<F: KeyForm>(
    runs: &[Run<'_, F>],
    low: Option<&(F::Key, u64)>,
    high: Option<&(F::Key, u64)>,
) -> Vec<(F::Key, u64)> {
    let cut = |run: &Run<'_, F>, at: Option<&(F::Key, u64)>, open: usize| {
        at.map_or(open, |at| run.entries.partition_point(|e| order::<F>(e, at).is_lt()))
    };
    let parts = runs.iter().map(|r| &r.entries[cut(r, low, 0)..cut(r, high, r.entries.len())]);
    parts.collect::<Vec<_>>().concat()
}

/// Results of `work(0)`, `work(1)`, .. from threads of their own, the last from this one.
fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Vec<Result<T>> {
    let account = budget::current();
    let entered = |i: usize| {
        let _entry = account.clone().map(budget::enter);
        work(i)
    };
    std::thread::scope(|scope| {
        let entered = &entered;
        let threads: Vec<_> = (0..count - 1).map(|i| scope.spawn(move || entered(i))).collect();
        let last = work(count - 1);
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.chain([last]).collect()
    })
}
