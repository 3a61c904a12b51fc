//! Splitting full nodes and merging sparse ones.
//!
//! ```text
//! split   parent | a | c |       parent | a | b | c |     b: cut from what it tells apart
//!           node 1 2 3 4    ->     node 1 2   right 3 4
//! merge   the reverse, when both fit three quarters of a node, or one is an empty leaf
//! ```
//! A leaf that grows at its end is left full and goes on in an empty one, so that ascending inserts
//! fill their leaves; the same at its start.

use super::*;

/// A node and its parent, with the number of the child it is; no parent: the root.
pub(super) type Parent<'t> = Option<(Optimistic<'t>, usize)>;

/// Nodes that a split needs besides the one it splits.
struct Room<'t> {
    right: Latched<'t>,
    root: Option<Latched<'t>>,
}

impl<F: KeyForm> Tree<F> {
    pub(super) fn split_leaf(
        &self,
        parent: Parent<'_>,
        node: Optimistic<'_>,
        i: usize,
        (probe, tid): (&Probe<'_>, u64),
    ) -> std::result::Result<(), Halt> {
        let above = parent.map(|(p, at)| p.try_latch().map(|p| (p, at))).transpose()?;
        let node = node.try_latch()?;
        let count = node.count::<F>();
        let middle = if node.is_ascending::<F>(i) {
            count
        } else if node.is_descending(i) {
            0
        } else {
            count / 2
        };
        // The new entry is a neighbour of the separator when one side is empty.
        let new = F::make(probe);
        let left = if middle == 0 { Ok(new) } else { node.key::<F>(middle - 1) };
        let right = if middle == count { Ok(new) } else { node.key::<F>(middle) };
        let (left, right) = (left?, right?);
        let is_equal = F::order_keys(&left, &right).is_eq();
        let separator = F::separator(&left, &right);
        F::free(new);
        let separator_tid = if !is_equal {
            0
        } else if middle == count {
            tid
        } else {
            node.tid::<F>(middle)
        };
        let room = self.meter.take(F::bytes_held(&separator)).and_then(|()| {
            let room = self.room(&node, above.is_none());
            room.inspect_err(|_| self.meter.give_back(F::bytes_held(&separator)))
        });
        let room = room.inspect_err(|_| F::free(separator))?;
        node.move_to::<F>(middle, &room.right);
        self.link(above, &node, room, &separator, separator_tid);
        Ok(())
    }

    /// Splits an inner node on the way to its child `i`.
    pub(super) fn split_inner(
        &self,
        parent: Parent<'_>,
        node: Optimistic<'_>,
        i: usize,
    ) -> std::result::Result<(), Halt> {
        let above = parent.map(|(p, at)| p.try_latch().map(|p| (p, at))).transpose()?;
        let node = node.try_latch()?;
        let count = node.count::<F>();
        let middle = if node.is_ascending::<F>(i) { count - 2 } else { count / 2 };
        let room = self.room(&node, above.is_none())?;
        let (separator, tid) = (node.key::<F>(middle)?, node.tid::<F>(middle));
        room.right.set_first_child::<F>(node.child_address::<F>(middle + 1));
        node.move_to::<F>(middle + 1, &room.right);
        node.truncate(middle);
        self.link(above, &node, room, &separator, tid);
        Ok(())
    }

    fn room(&self, node: &Latched<'_>, is_root: bool) -> Result<Room<'_>> {
        let right = self.arena.take(node.level())?;
        let root = if is_root { self.arena.take(node.level() + 1).map(Some) } else { Ok(None) };
        match root {
            Ok(root) => Ok(Room { right, root }),
            Err(error) => {
                self.arena.give_back(right);
                Err(error)
            }
        }
    }

    fn link(
        &self,
        above: Option<(Latched<'_>, usize)>,
        node: &Latched<'_>,
        room: Room<'_>,
        separator: &F::Key,
        tid: u64,
    ) {
        let right = room.right.address();
        if let Some((parent, at)) = above {
            parent.insert_child::<F>(at, separator, tid, right);
        } else if let Some(root) = room.root {
            debug_assert_eq!(self.root.load(Ordering::Relaxed), node.address());
            root.set_first_child::<F>(node.address());
            root.insert_child::<F>(0, separator, tid, right);
            self.root.store(root.address(), Ordering::Release);
        }
    }

    /// Merges child `i` of `parent` with one of its neighbours; false when none has room.
    pub(super) fn merge(
        &self,
        parent: Optimistic<'_>,
        i: usize,
        node: Optimistic<'_>,
        guard: &F::Guard,
    ) -> Attempt<bool> {
        let (level, capacity) = (node.level(), Shape::<F>::capacity(node.level()));
        let before = i.checked_sub(1);
        let after = (i < parent.count::<F>()).then_some(i);
        for separator in [before, after].into_iter().flatten() {
            let is_before = separator < i;
            let neighbour = parent.child::<F>(if is_before { i - 1 } else { i + 1 })?;
            let total = node.count::<F>() + neighbour.count::<F>() + usize::from(level > 0);
            let is_empty_leaf = level == 0 && node.count::<F>() == 0;
            if total > capacity * 3 / 4 && !(is_empty_leaf && total <= capacity) {
                continue;
            }
            let (left, right) = if is_before { (neighbour, node) } else { (node, neighbour) };
            let above = parent.try_latch()?;
            let (left, right) = (left.try_latch()?, right.try_latch()?);
            let (key, tid) = (above.key::<F>(separator)?, above.tid::<F>(separator));
            above.remove_child::<F>(separator);
            if level > 0 {
                let first = right.child_address::<F>(0);
                left.insert_child::<F>(left.count::<F>(), &key, tid, first);
            } else {
                self.retire(key, guard);
            }
            right.move_to::<F>(0, &left);
            self.arena.give_back(right);
            self.lower_root(above, &left);
            return Ok(true);
        }
        Ok(false)
    }

    /// Makes `child` the root when it is the only one of the root `parent`.
    fn lower_root(&self, parent: Latched<'_>, child: &Latched<'_>) {
        let is_root = self.root.load(Ordering::Relaxed) == parent.address();
        if is_root && parent.count::<F>() == 0 {
            self.root.store(child.address(), Ordering::Release);
            self.arena.give_back(parent);
        }
    }
}
