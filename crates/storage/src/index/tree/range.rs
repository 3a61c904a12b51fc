//! Reading ranges: leaf by leaf, each found from the root again.
//!
//! ```text
//! forward   position = smallest (key, TID) to return       end = first not to return
//! backward  position = smallest (key, TID) not to return   end = last to return
//! ```
//! A step copies entries of one leaf and the separator that ends it, from unchanged nodes; the next
//! step starts there. So entries that are there all the time are returned exactly once.

use super::*;
use crate::index::range::{Edge, RangeState};
use crate::index::{Direction, KeyRange};

/// Entries of the first step; each next one returns four times as many, up to a leaf.
const FIRST_STEP: usize = 16;

impl<F: KeyForm> Tree<F> {
    /// Sets `state` to the start of `range`.
    pub(in crate::index) fn start(
        &self,
        range: KeyRange<'_>,
        direction: Direction,
        state: &mut RangeState,
    ) {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let edges = match direction {
            Direction::Forward => (&mut state.position, &mut state.end),
            Direction::Backward => (&mut state.end, &mut state.position),
        };
        let (low, high) = edges;
        match range.low {
            Included(key) => self.set_edge(low, key, 0),
            Excluded(key) => self.set_edge(low, key, TID_END),
            Unbounded => low.set(&[], 0),
        }
        match range.high {
            Included(key) => self.set_edge(high, key, TID_END),
            Excluded(key) => self.set_edge(high, key, 0),
            Unbounded => high.set_infinite(),
        }
        state.restart(direction, FIRST_STEP);
    }

    /// Before the entries of `key` or, with the reserved TID, after them. Where all keys have the
    /// same length, no entry has a shorter or longer one: those that start with a shorter one are
    /// all above it, and the one that starts a longer one is below it.
    fn set_edge(&self, edge: &mut Edge, key: &[u8], tid: u64) {
        edge.set(
            key,
            match key.len().cmp(&self.width) {
                _ if F::TAILS => tid,
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => tid,
                std::cmp::Ordering::Greater => TID_END,
            },
        );
    }

    /// Copies the next entries of a range to `state`, unless it is at its end.
    pub(in crate::index) fn fill(&self, state: &mut RangeState) {
        while state.wants_more() {
            let guard = F::pin();
            retry(|| {
                state.clear_entries();
                match state.direction() {
                    Direction::Forward => self.fill_forward(state, &guard),
                    Direction::Backward => self.fill_backward(state, &guard),
                }
            });
        }
    }

    fn lower_bound_of(node: &Optimistic<'_>, edge: &Edge, guard: &F::Guard) -> Attempt<usize> {
        match edge.get() {
            Some((key, tid)) => node.lower_bound::<F>(&Probe::new(key), tid, guard),
            None => Ok(node.count::<F>()),
        }
    }

    fn fill_forward(&self, state: &mut RangeState, guard: &F::Guard) -> Attempt<()> {
        let Some((key, tid)) = state.position.get() else {
            state.finish();
            return Ok(());
        };
        let Found { leaf, fence } = self.find(&Probe::new(key), tid, guard)?;
        let (count, start) =
            (leaf.count::<F>(), Self::lower_bound_of(&leaf, &state.position, guard)?);
        let end = Self::lower_bound_of(&leaf, &state.end, guard)?;
        let stop = end.min(start + state.step()).max(start);
        for i in start..stop {
            self.copy(&leaf, i, state)?;
        }
        let mut is_last = false;
        if stop < end {
            state.fence_at_last_entry(1);
        } else if end < count {
            is_last = true;
        } else if let Some((node, i)) = fence {
            self.copy_fence(&node, i, state)?;
            node.validate()?;
        } else {
            is_last = true;
        }
        leaf.validate()?;
        state.advance(is_last);
        Ok(())
    }

    fn fill_backward(&self, state: &mut RangeState, guard: &F::Guard) -> Attempt<()> {
        let (mut leaf, mut fence) = (self.root()?, None);
        while leaf.level() > 0 {
            let i = Self::lower_bound_of(&leaf, &state.position, guard)?;
            if i > 0 {
                fence = Some((leaf, i - 1));
            }
            leaf = leaf.child::<F>(i)?;
        }
        let start = Self::lower_bound_of(&leaf, &state.position, guard)?;
        let end = Self::lower_bound_of(&leaf, &state.end, guard)?;
        let stop = end.max(start.saturating_sub(state.step())).min(start);
        for i in (stop..start).rev() {
            self.copy(&leaf, i, state)?;
        }
        let mut is_last = false;
        if stop > end {
            state.fence_at_last_entry(0);
        } else if end > 0 {
            is_last = true;
        } else if let Some((node, i)) = fence {
            self.copy_fence(&node, i, state)?;
            node.validate()?;
        } else {
            is_last = true;
        }
        leaf.validate()?;
        state.advance(is_last);
        Ok(())
    }

    fn copy(&self, leaf: &Optimistic<'_>, i: usize, state: &mut RangeState) -> Attempt<()> {
        let key = leaf.key::<F>(i)?;
        state.push(leaf.tid::<F>(i), |bytes| F::write(&key, self.width, bytes));
        Ok(())
    }

    fn copy_fence(&self, node: &Optimistic<'_>, i: usize, state: &mut RangeState) -> Attempt<()> {
        let key = node.key::<F>(i)?;
        state.set_fence(node.tid::<F>(i), |bytes| F::write(&key, self.width, bytes));
        Ok(())
    }
}
