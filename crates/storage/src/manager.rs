//! A small transaction manager for the tests of this crate; the real one is in `txn`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kernels::Batch;
use parking_lot::Mutex;

use crate::table::{Table, UndoBuffer, UndoMark};
use crate::version::{Snapshot, Timestamp, TxnId, WriteError};

#[derive(Default)]
pub(crate) struct Manager {
    newest: AtomicU64,
    txns: AtomicU64,
    /// How many hold each timestamp.
    active: Mutex<BTreeMap<u64, usize>>,
    ended: Mutex<Vec<(u64, UndoBuffer)>>,
    commit: Mutex<()>,
}

pub(crate) struct Txn {
    pub(crate) at: Snapshot,
    pub(crate) undo: UndoBuffer,
}

impl Manager {
    /// A snapshot that stays active until [`Self::leave`].
    pub(crate) fn enter(&self, txn: TxnId) -> Snapshot {
        let mut active = self.active.lock();
        let ts = self.newest.load(Ordering::Acquire);
        *active.entry(ts).or_default() += 1;
        Snapshot::new(Timestamp(ts), txn)
    }

    pub(crate) fn leave(&self, at: Snapshot) {
        let mut active = self.active.lock();
        let count = active.get_mut(&at.base().0).expect("entered");
        *count -= 1;
        if *count == 0 {
            active.remove(&at.base().0);
        }
    }

    pub(crate) fn begin(&self) -> Txn {
        let txn = TxnId(TxnId::BIT | (self.txns.fetch_add(1, Ordering::Relaxed) + 1));
        Txn { at: self.enter(txn), undo: UndoBuffer::new(txn) }
    }

    fn end(&self, mut txn: Txn) -> Timestamp {
        let latch = self.commit.lock();
        let ts = self.newest.load(Ordering::Relaxed) + 1;
        txn.undo.stamp(Timestamp(ts));
        self.newest.store(ts, Ordering::Release);
        self.ended.lock().push((ts, txn.undo));
        drop(latch);
        self.leave(txn.at);
        Timestamp(ts)
    }

    pub(crate) fn commit(&self, txn: Txn) -> Timestamp {
        self.end(txn)
    }

    pub(crate) fn abort(&self, mut txn: Txn) {
        txn.undo.rollback_to(UndoMark::default());
        self.end(txn);
    }

    /// Collects what no active snapshot needs, in an order that `shuffle` chooses.
    pub(crate) fn collect(&self, shuffle: impl FnOnce(&mut Vec<UndoBuffer>)) {
        let low = {
            let active = self.active.lock();
            let newest = self.newest.load(Ordering::Acquire);
            active.keys().next().copied().unwrap_or(newest).min(newest)
        };
        let mut ready = Vec::new();
        let mut ended = self.ended.lock();
        let mut i = 0;
        while i < ended.len() {
            if ended[i].0 <= low {
                ready.push(ended.swap_remove(i).1);
            } else {
                i += 1;
            }
        }
        drop(ended);
        shuffle(&mut ready);
        ready.into_iter().for_each(UndoBuffer::collect);
    }

    /// True when nothing is left to collect.
    pub(crate) fn is_collected(&self) -> bool {
        self.ended.lock().is_empty()
    }

    /// Adds rows in a transaction of their own.
    pub(crate) fn append(&self, table: &Arc<Table>, batch: &Batch) -> Result<(), WriteError> {
        let mut txn = self.begin();
        let result = table.insert_batch(&mut txn.undo, batch, &mut Vec::new());
        match result {
            Ok(()) => {
                self.commit(txn);
            }
            Err(_) => self.abort(txn),
        }
        self.collect(|_| {});
        result
    }

    /// Snapshot of all commits so far.
    pub(crate) fn now(&self) -> Snapshot {
        Snapshot::new(Timestamp(self.newest.load(Ordering::Acquire)), TxnId::NONE)
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.active.lock().clear();
        self.collect(|_| {});
    }
}
