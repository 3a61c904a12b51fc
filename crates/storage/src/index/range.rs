//! Where the reading of a range is, apart from the index it is read from.

use super::{Direction, TableIndex};
use crate::tid::Tid;

/// Entries of the longest step: more than a leaf has.
const STEP_MAX: usize = 1 << 12;

/// A place between entries: before the entry (key, TID), there or not.
#[derive(Debug, Default)]
pub(super) struct Edge {
    key: Vec<u8>,
    tid: u64,
    is_infinite: bool,
}

impl Edge {
    pub(super) fn set(&mut self, key: &[u8], tid: u64) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.tid = tid;
        self.is_infinite = false;
    }

    /// Behind all entries.
    pub(super) fn set_infinite(&mut self) {
        self.is_infinite = true;
    }

    /// None behind all entries.
    pub(super) fn get(&self) -> Option<(&[u8], u64)> {
        (!self.is_infinite).then_some((&self.key, self.tid))
    }
}

/// The reading of a range; its memory is used again by the next one.
#[derive(Debug, Default)]
pub struct RangeState {
    is_backward: bool,
    is_done: bool,
    pub(super) position: Edge,
    pub(super) end: Edge,
    /// Where the next step starts, while one is made.
    fence: Edge,
    /// The entries copied: keys one after the other, their ends, and TIDs.
    keys: Vec<u8>,
    ends: Vec<usize>,
    tids: Vec<u64>,
    next: usize,
    step: usize,
    /// `TableIndex::removals` before these entries were copied.
    pub(super) removals: Option<u64>,
}

impl RangeState {
    /// Range with nothing to read.
    pub fn new() -> Self {
        Self { is_done: true, ..Self::default() }
    }

    pub(super) fn direction(&self) -> Direction {
        if self.is_backward { Direction::Backward } else { Direction::Forward }
    }

    /// Starts at `position`, copying `step` entries first.
    pub(super) fn restart(&mut self, direction: Direction, step: usize) {
        self.is_backward = direction == Direction::Backward;
        self.is_done = false;
        self.step = step;
        self.clear_entries();
    }

    pub(super) fn step(&self) -> usize {
        self.step
    }

    /// True when all copied entries were returned and there may be others.
    #[inline]
    pub(super) fn wants_more(&self) -> bool {
        self.next == self.tids.len() && !self.is_done
    }

    pub(super) fn clear_entries(&mut self) {
        self.keys.clear();
        self.ends.clear();
        self.tids.clear();
        self.next = 0;
    }

    #[inline]
    pub(super) fn push(&mut self, tid: u64, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.keys);
        self.ends.push(self.keys.len());
        self.tids.push(tid);
    }

    pub(super) fn set_fence(&mut self, tid: u64, write: impl FnOnce(&mut Vec<u8>)) {
        self.fence.key.clear();
        write(&mut self.fence.key);
        self.fence.tid = tid;
        self.fence.is_infinite = false;
    }

    /// The next step starts at the entry copied last, or behind it.
    pub(super) fn fence_at_last_entry(&mut self, behind: u64) {
        let last = self.tids.len() - 1;
        let start = if last == 0 { 0 } else { self.ends[last - 1] };
        self.fence.set(&self.keys[start..], self.tids[last] + behind);
    }

    /// The copied entries are good: the next step starts at the fence, if there is one.
    pub(super) fn advance(&mut self, is_last: bool) {
        self.is_done = is_last;
        std::mem::swap(&mut self.position, &mut self.fence);
        self.step = (self.step * 4).min(STEP_MAX);
    }

    pub(super) fn finish(&mut self) {
        self.is_done = true;
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<(&[u8], Tid)> {
        let i = self.next;
        let tid = *self.tids.get(i)?;
        self.next += 1;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        Some((&self.keys[start..self.ends[i]], Tid(tid)))
    }
}

/// A range of an index being read.
pub struct RangeCursor<'i> {
    pub(super) index: &'i TableIndex,
    pub(super) state: RangeState,
}

impl RangeCursor<'_> {
    /// The next key and TID.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Option<(&[u8], Tid)> {
        self.index.next(&mut self.state)
    }
}
