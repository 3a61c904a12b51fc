//! Tables as opening a database makes them: of frozen blocks only what is known without their
//! rows, indexes from kept keys, rows of the log on top.

use std::collections::BTreeMap;

use super::*;
use crate::table::evicting::Kept;
use crate::{EvictedBlock, IndexKeys, KeySource};

/// Keys of blocks, by block and definition of the index.
struct Keys(BTreeMap<(u64, Vec<u8>), Vec<u8>>);

impl KeySource for Keys {
    fn run(&self, block: u64, definition: &[u8]) -> Option<Vec<u8>> {
        self.0.get(&(block, definition.to_vec())).cloned()
    }
}

/// Puts a block back; of a frozen one its identity only.
fn restore(table: &Table, id: u64, bytes: &[u8], dead: &[u64]) {
    let block = Block::from_bytes(id, bytes, table.pool()).expect("whole");
    let identity = block.identity();
    drop(block);
    let restored = if identity.is_empty() {
        table.restore_block(id, bytes, dead, Timestamp(1))
    } else {
        let home = Kept::new(bytes.to_vec());
        let evicted = EvictedBlock { identity: &identity, home };
        table.restore_evicted(id, evicted, dead, Timestamp(1))
    };
    restored.expect("whole");
}

impl Model {
    fn empty(&self) -> Arc<Table> {
        let (schema, layout) = (self.table.schema().clone(), self.table.layout());
        let pool = BufferPool::evicting(1 << 30, Box::new(Lru2));
        Table::new(TableId(7), "t", schema, layout, pool)
    }

    pub(super) fn check_images(&mut self) {
        let other = self.empty();
        let indexes = self.table.indexes();
        let (mut keys, mut frozen) = (Keys(BTreeMap::new()), 0);
        for image in self.table.blocks_at(self.manager.now()) {
            let dead = image.dead();
            let bytes = image.write(&dead).expect("fits");
            restore(&other, image.id(), &bytes, &dead);
            let kept = image.keys(&indexes).expect("readable");
            frozen += u64::from(!kept.is_empty());
            for IndexKeys { definition, run } in kept {
                keys.0.insert((image.id(), definition), run);
            }
        }
        other.end_recovery(Timestamp(1));
        assert_eq!(other.live_rows() as usize, self.committed.len());
        for index in indexes.iter() {
            let again = index_of(&other, index.spec().clone());
            let again = other.recover_index(again, 2, &keys).expect("keys are different");
            assert_eq!(again.len(), index.len(), "entries of {}", index.spec().name);
            again.check().expect("sound");
        }
        assert_eq!(other.pool().evictions().loads, 0, "keys are read in the place of rows");
        // Of some blocks keys may be lost.
        keys.0.retain(|_, _| self.random.chance(50));
        for index in indexes.iter() {
            let again = index_of(&other, index.spec().clone());
            let again = other.recover_index(again, 1, &keys).expect("keys are different");
            assert_eq!(again.len(), index.len(), "entries of {}", index.spec().name);
        }
        assert!(frozen > 0 || other.pool().evictions().loads == 0);
        check(&mut self.random, &other, &other.snapshot(Snapshot::ALL), &self.committed);
        let manager = Manager::default();
        let mut row = self.row();
        row[KEY] = Value::Null;
        let mut txn = manager.begin();
        let tid = other.insert(&mut txn.undo, &datums(&row)).expect("no duplicate");
        assert!(self.committed.values().all(|(other, _)| *other != tid), "a place of its own");
        manager.commit(txn);
    }

    /// Replays from the blocks as they were at first, and from copies whose parts are of any time.
    pub(super) fn check_replay(&mut self) {
        while self.copy_part() {}
        let finish = |(id, copy): (u64, BlockCopy)| (id, copy.dead(), copy.finish().expect("fits"));
        let copies: Vec<_> = std::mem::take(&mut self.copies).into_iter().map(finish).collect();
        let start = std::mem::take(&mut self.start);
        self.check_replay_from(&start);
        self.check_replay_from(&copies);
    }

    fn check_replay_from(&mut self, blocks: &[(u64, Vec<u64>, Vec<u8>)]) {
        let other = self.empty();
        for (id, dead, bytes) in blocks {
            restore(&other, *id, bytes, dead);
        }
        // Two replays as of two threads, each with its blocks.
        for part in 0..2 {
            let mut tables = [TableReplay::new(&other)];
            let mut changes = RowChanges::default();
            for redo in self.log.iter().filter(|redo| redo.block() % 2 == part) {
                if let Redo::Block(id, bytes) = redo {
                    replay_rows(&mut tables, &changes).expect("what was logged fits");
                    changes.clear();
                    restore(&other, *id, bytes, &[]);
                } else {
                    redo.add_to(&mut changes);
                }
            }
            replay_rows(&mut tables, &changes).expect("what was logged fits");
        }
        other.end_recovery(Timestamp(2));
        assert_eq!(other.live_rows() as usize, self.committed.len());
        check(&mut self.random, &other, &other.snapshot(Snapshot::ALL), &self.committed);
    }
}
