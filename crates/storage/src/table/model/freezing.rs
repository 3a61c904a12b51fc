//! Freezing in place between the steps of transactions.

use super::{Model, TxnId};

impl Model {
    /// Freezes a hot block, if nobody writes it. No copy is going on: it would be of a block that
    /// is not there any more.
    pub(super) fn freeze(&mut self) {
        if self.is_copying() {
            return;
        }
        let hot = self.table.hot_blocks();
        if hot.is_empty() {
            return;
        }
        let block = hot[self.random.below(hot.len() as u64) as usize];
        let at = self.manager.enter(TxnId::NONE);
        let is_frozen = self.table.freeze_block(block.id, at).expect("fits");
        self.manager.leave(at);
        let still = self.table.hot_blocks();
        let is_gone = still.iter().all(|other| other.id != block.id);
        assert!(!is_frozen || is_gone, "a frozen block is not hot");
        self.frozen += usize::from(is_frozen);
    }

    /// True while blocks are copied as for a checkpoint.
    pub(super) fn is_copying(&self) -> bool {
        !self.images.is_empty() || self.copies.iter().any(|(_, copy)| !copy.is_whole())
    }
}
