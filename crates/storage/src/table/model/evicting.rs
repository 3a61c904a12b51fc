//! Payloads that leave memory between the steps of transactions.

use super::{Arc, Layout, Model};
use crate::table::evicting::Kept;

impl Model {
    /// Finds homes for some of the frozen blocks that have none, and takes back what nobody uses.
    pub(super) fn evict(&mut self) {
        let blocks = Arc::clone(&self.table.blocks.lock().all);
        for block in blocks.iter().filter(|block| self.table.wants_home(block.id())) {
            if self.random.chance(60) {
                let bytes = block.to_bytes().expect("in memory");
                self.table.set_home(block.id(), Kept::new(bytes));
            }
        }
        drop(blocks);
        self.table.pool().evict_to(0);
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn histories_with_evictions_equal_the_model() {
    for (i, layout) in [Layout::Frozen, Layout::Auto].into_iter().enumerate() {
        let mut model = Model::new(i as u64, layout);
        for step in 0..300 {
            model.step();
            if step % 10 == 0 {
                model.evict();
                model.check();
            }
        }
        let counts = model.table.pool().evictions();
        assert!(counts.evictions > 0 && counts.loads > 0, "{layout:?}: {counts:?}");
        model.finish();
    }
}
