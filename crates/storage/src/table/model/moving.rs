//! Rows that move between the steps of transactions.

use std::sync::Arc;

use super::redo::Redo;
use super::{ChangeKind, Model, Tid};

impl Model {
    /// Moves the rows of some blocks, if nobody writes them: also not in the steps between the copy
    /// and the commit. No copy for a checkpoint is going on.
    pub(super) fn move_rows(&mut self) {
        if self.random.chance(30) {
            self.be_quiet();
        }
        self.try_to_move();
        if self.running.is_empty() {
            self.begin();
        }
    }

    /// Ends all transactions: blocks of a hot table are seldom without versions otherwise.
    fn be_quiet(&mut self) {
        for running in std::mem::take(&mut self.running) {
            self.manager.abort(running.txn);
        }
        self.collect();
    }

    fn try_to_move(&mut self) {
        if self.is_copying() {
            return;
        }
        let uses = self.table.block_uses();
        let share = 20 + self.random.below(80) as u32;
        let ids: Vec<u64> =
            uses.iter().map(|found| found.id).filter(|_| self.random.chance(share)).collect();
        let table = Arc::clone(&self.table);
        let mut mover = self.manager.begin();
        let moving = table.move_rows(&mut mover.undo, mover.at, &ids).expect("fits");
        let Some(mut moving) = moving else { return self.manager.abort(mover) };
        for _ in 0..self.random.below(4) {
            self.step();
        }
        if !moving.retire() || self.random.chance(10) {
            self.manager.abort(mover);
            return drop(moving);
        }
        let mut pairs = Vec::new();
        let mut target = 0;
        for change in mover.undo.changes() {
            match change.kind {
                ChangeKind::Target => {
                    target = change.tid.block();
                    let bytes = change.block_bytes().expect("fits");
                    self.log.push(Redo::Block(target, bytes));
                }
                ChangeKind::Source => pairs.extend(change.source_rows()),
                other => panic!("{other:?} of a move"),
            }
        }
        self.log.extend(pairs.iter().map(|&tid| Redo::Delete(tid)));
        assert_eq!(pairs.len(), moving.rows());
        self.manager.commit(mover);
        moving.keep();
        for (row, tid) in pairs.into_iter().enumerate() {
            self.moved.insert(tid, Tid::new(target, row as u32));
        }
        let mut state = std::mem::take(&mut self.committed);
        state.values_mut().for_each(|(tid, _)| *tid = self.now(*tid));
        self.committed = state;
        self.moves += 1;
    }

    /// Where a row is that was there.
    pub(super) fn now(&self, mut tid: Tid) -> Tid {
        while let Some(next) = self.moved.get(&tid) {
            tid = *next;
        }
        tid
    }
}
