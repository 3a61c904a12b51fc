//! Testing the invariants of a tree.

use super::*;
use crate::index::node::Words;

/// An entry or separator, as bytes.
type Bound = (Vec<u8>, u64);

/// Counts of a check so far.
#[derive(Default)]
struct Tally {
    nodes: usize,
    entries: u64,
    tail_bytes: u64,
}

impl<F: KeyForm> Tree<F> {
    /// Tests the structure; what is wrong first. Nobody may write meanwhile.
    pub(in crate::index) fn check(&self) -> std::result::Result<(), String> {
        // SAFETY: the root is always a node of the arena.
        let root: &Words = unsafe { at_address(self.root.load(Ordering::Acquire)) };
        let mut tally = Tally::default();
        self.check_node(root, None, None, None, &mut tally)?;
        let expect = |what: &str, found: u64, counted: u64| {
            if found == counted {
                Ok(())
            } else {
                Err(format!("{found} {what} found, {counted} counted"))
            }
        };
        expect("entries", tally.entries, self.len())?;
        expect("nodes", tally.nodes as u64, self.arena.used() as u64)?;
        expect("bytes of long keys", tally.tail_bytes, self.meter.bytes())
    }

    fn check_node(
        &self,
        words: &Words,
        level: Option<usize>,
        low: Option<&Bound>,
        high: Option<&Bound>,
        tally: &mut Tally,
    ) -> std::result::Result<(), String> {
        let node = Latched::latch(words);
        let place = format!("node {:#x}", node.address());
        if level.is_some_and(|level| level != node.level()) {
            return Err(format!("{place}: level {}, expected {level:?}", node.level()));
        }
        let count = node.count::<F>();
        let mut entries = Vec::with_capacity(count);
        for i in 0..count {
            let Ok(key) = node.key::<F>(i) else { unreachable!("latched nodes do not change") };
            F::check(&key, self.width).map_err(|e| format!("{place}, entry {i}: {e}"))?;
            tally.tail_bytes += F::bytes_held(&key);
            let mut bytes = Vec::new();
            F::write(&key, self.width, &mut bytes);
            entries.push((bytes, node.tid::<F>(i)));
        }
        if let Some(i) = (1..count).find(|&i| entries[i - 1] >= entries[i]) {
            return Err(format!("{place}: entries {} and {i} are out of order", i - 1));
        }
        if let (Some(low), Some(first)) = (low, entries.first())
            && first < low
        {
            return Err(format!("{place}: its first entry is below the separator before it"));
        }
        if let (Some(high), Some(last)) = (high, entries.last())
            && last >= high
        {
            return Err(format!("{place}: its last entry is not below the separator after it"));
        }
        tally.nodes += 1;
        if node.level() == 0 {
            tally.entries += count as u64;
            return Ok(());
        }
        for i in 0..=count {
            let low = if i == 0 { low } else { entries.get(i - 1) };
            let high = entries.get(i).or(high);
            // SAFETY: the node is latched, so that its children are nodes of the arena.
            let child: &Words = unsafe { at_address(node.child_address::<F>(i)) };
            self.check_node(child, Some(node.level() - 1), low, high, tally)?;
        }
        Ok(())
    }
}
