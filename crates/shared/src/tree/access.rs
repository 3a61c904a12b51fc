//! Ways to nodes: from the root down, through the cache of inner nodes, past half-done changes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use store::Version;

use super::node::{Node, NodeId, Probe};
use crate::error::{Result, SharedError};
use crate::records::{Records, Swap};

/// Attempts of one call before it gives up: somebody else succeeds in each.
pub(super) const ATTEMPTS: usize = 1000;

/// Record that counts the numbers of nodes.
const COUNTER: u64 = 0;

/// Record of the root.
pub(super) const ROOT: NodeId = 1;

/// Numbers that one write of the counter takes.
const NUMBERS: u64 = 1000;

/// Inner nodes that a cache holds.
const CACHE_NODES: usize = 4096;

/// Sizes of nodes.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// Bytes of entries above which a node is cut in two.
    pub bytes_max: usize,
    /// Bytes below which a neighbour takes the entries over; at most a third of the other, or
    /// nodes would be cut and merged in turn.
    pub bytes_min: usize,
}

impl Default for Fill {
    fn default() -> Self {
        Self { bytes_max: 4096, bytes_min: 1024 }
    }
}

/// Work of a tree so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeCounts {
    /// Nodes read.
    pub reads: u64,
    /// Conditional writes, lost ones too.
    pub writes: u64,
    /// Splits begun.
    pub splits: u64,
    /// Merges announced.
    pub merges: u64,
    /// Half-done changes met.
    pub helps: u64,
}

/// Purpose of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Steps past splits.
    Read,
    /// Finishes splits: what is beyond is going to change.
    Write,
}

/// A node that was read from its record.
#[derive(Debug)]
pub(super) struct Visit {
    pub id: NodeId,
    pub version: Version,
    pub node: Node,
}

/// Next thing on a way.
enum Step {
    Arrived(Visit),
    /// The cache is stale, or somebody's change was in the way: begin again.
    Again,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Cache,
    Nothing,
}

/// Records, cache and numbers of one thread.
pub(super) struct Access<R> {
    records: R,
    fill: Fill,
    cache: RefCell<BTreeMap<NodeId, Arc<Node>>>,
    /// Numbers that are left, and their end.
    numbers: Cell<(u64, u64)>,
    counts: Cell<TreeCounts>,
}

impl<R: Records> Access<R> {
    pub(super) fn new(records: R, fill: Fill) -> Self {
        let (cache, numbers, counts) = (RefCell::default(), Cell::default(), Cell::default());
        Self { records, fill, cache, numbers, counts }
    }

    pub(super) fn records(&self) -> &R {
        &self.records
    }

    pub(super) fn counts(&self) -> TreeCounts {
        self.counts.get()
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut TreeCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    pub(super) fn is_full(&self, node: &Node) -> bool {
        node.size() > self.fill.bytes_max && node.keys.len() > 2
    }

    pub(super) fn is_small(&self, node: &Node) -> bool {
        node.size() < self.fill.bytes_min
    }

    pub(super) async fn make_root(&self) -> Result<()> {
        if self.read(ROOT).await?.is_none() {
            // Whoever came first made the same.
            self.records.write(ROOT, None, &Node::default().bytes()).await?;
        }
        Ok(())
    }

    /// The node in its record now.
    pub(super) async fn read(&self, id: NodeId) -> Result<Option<(Version, Node)>> {
        self.count(|counts| counts.reads += 1);
        let Some(record) = self.records.read(id).await? else { return Ok(None) };
        Ok(Some((record.version, Node::read(&record.bytes)?)))
    }

    /// Writes what became of a node, unless somebody else did.
    pub(super) async fn put(&self, visit: &Visit) -> Result<Swap> {
        self.write(visit.id, Some(visit.version), &visit.node).await
    }

    pub(super) async fn write(
        &self,
        id: NodeId,
        seen: Option<Version>,
        node: &Node,
    ) -> Result<Swap> {
        self.count(|counts| counts.writes += 1);
        self.evict(id);
        self.records.write(id, seen, &node.bytes()).await
    }

    pub(super) async fn erase(&self, id: NodeId, seen: Version) -> Result<()> {
        self.count(|counts| counts.writes += 1);
        self.evict(id);
        // Lost: somebody else erased it.
        self.records.remove(id, seen).await.map(drop)
    }

    pub(super) fn evict(&self, id: NodeId) {
        self.cache.borrow_mut().remove(&id);
    }

    /// A number that no node has had.
    pub(super) async fn number(&self) -> Result<NodeId> {
        loop {
            let (next, end) = self.numbers.get();
            if next < end {
                self.numbers.set((next + 1, end));
                return Ok(next);
            }
            let record = self.records.read(COUNTER).await?;
            let (seen, first) = match &record {
                None => (None, ROOT + 1),
                Some(record) => {
                    let bytes: [u8; 8] = record.bytes.as_slice().try_into().map_err(|_| {
                        SharedError::Corrupt("the counter of a tree's nodes".into())
                    })?;
                    (Some(record.version), u64::from_le_bytes(bytes))
                }
            };
            let end = first + NUMBERS;
            if self.records.write(COUNTER, seen, &end.to_le_bytes()).await? == Swap::Done {
                self.numbers.set((first, end));
            }
        }
    }

    /// The node of `level` that has `probe`; not dead, and in mode [`Mode::Write`] known to its
    /// parent.
    pub(super) async fn find(&self, probe: Probe<'_>, level: u8, mode: Mode) -> Result<Visit> {
        let mut trust = Trust::Cache;
        for _ in 0..ATTEMPTS {
            match self.way(probe, level, mode, trust).await? {
                Step::Arrived(visit) => return Ok(visit),
                Step::Again => trust = Trust::Nothing,
            }
        }
        Err(SharedError::Contended)
    }

    /// As [`Self::find`], without the cache: for changes of inner nodes.
    pub(super) async fn find_fresh(&self, probe: Probe<'_>, level: u8) -> Result<Visit> {
        for _ in 0..ATTEMPTS {
            if let Step::Arrived(visit) =
                self.way(probe, level, Mode::Write, Trust::Nothing).await?
            {
                return Ok(visit);
            }
        }
        Err(SharedError::Contended)
    }

    async fn way(&self, probe: Probe<'_>, level: u8, mode: Mode, trust: Trust) -> Result<Step> {
        let (mut id, mut path) = (ROOT, Vec::new());
        loop {
            let cached = self.cache.borrow().get(&id).cloned();
            if let Some(node) = cached.filter(|_| trust == Trust::Cache)
                && node.level > level
                && !node.is_behind(probe)
                && !node.is_before(probe)
            {
                path.push(id);
                id = node.values[node.child(probe)];
                continue;
            }
            let Some((version, node)) = self.read(id).await? else {
                self.forget(&path);
                return Ok(Step::Again);
            };
            if node.is_dead {
                self.forget(&path);
                if let Some(parent) = path.last() {
                    Box::pin(self.finish_merge(*parent, id)).await?;
                }
                return Ok(Step::Again);
            }
            if node.level < level || node.is_before(probe) {
                self.forget(&path);
                return Ok(Step::Again);
            }
            if node.is_behind(probe) {
                self.forget(&path);
                if mode == Mode::Write && node.split != 0 {
                    Box::pin(self.finish_split(id)).await?;
                    return Ok(Step::Again);
                }
                id = node.right;
                continue;
            }
            if node.level == level {
                if mode == Mode::Write && node.split != 0 {
                    Box::pin(self.finish_split(id)).await?;
                    return Ok(Step::Again);
                }
                return Ok(Step::Arrived(Visit { id, version, node }));
            }
            path.push(id);
            let next = node.values[node.child(probe)];
            self.keep(id, node);
            id = next;
        }
    }

    /// Evicts the inner nodes that led astray.
    fn forget(&self, path: &[NodeId]) {
        path.iter().for_each(|id| self.evict(*id));
    }

    fn keep(&self, id: NodeId, node: Node) {
        let mut cache = self.cache.borrow_mut();
        if cache.len() >= CACHE_NODES {
            // Any one: they are as likely to be needed.
            cache.pop_last();
        }
        cache.insert(id, Arc::new(node));
    }
}
