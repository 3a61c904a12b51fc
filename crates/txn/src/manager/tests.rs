//! Transactions against real tables: order of commits, waits, what is kept for old snapshots.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use storage::{
    BufferPool, ColumnSpec, Datum, Layout, RowBuffer, Schema, Table, TableId, Tid, Timestamp,
    UndoBuffer, WriteError,
};
use types::{DataType, Error, Result, SqlState};

use super::{CommitWork, Isolation, Transaction, TransactionManager};

struct Plain;

impl CommitWork for Plain {
    fn publish(&mut self, _: Timestamp, _: &UndoBuffer) -> Result<()> {
        Ok(())
    }
}

fn table() -> Arc<Table> {
    let schema = Schema::new(vec![ColumnSpec::new("v", DataType::BigInt)]);
    Table::new(TableId(1), "t", schema, Layout::Row, BufferPool::new(1 << 30))
}

fn begin(manager: &Arc<TransactionManager>) -> Transaction {
    manager.begin(Isolation::Snapshot).expect("few transactions")
}

fn commit(txn: Transaction) {
    txn.commit(&mut Plain).expect("nothing refuses");
}

fn read(table: &Table, txn: &Transaction, tid: Tid) -> Option<i64> {
    let mut row = RowBuffer::new();
    let seen = table.read(txn.snapshot(), tid, &[0], &mut row).expect("in memory");
    seen.then(|| match row.get(0) {
        Datum::I64(v) => v,
        other => panic!("a BIGINT, not {other:?}"),
    })
}

fn insert(table: &Arc<Table>, txn: &mut Transaction, value: i64) -> Tid {
    table.insert(txn.undo(), &[Datum::I64(value)]).expect("fits")
}

fn update(table: &Arc<Table>, txn: &mut Transaction, tid: Tid, v: i64) -> Result<(), WriteError> {
    let at = txn.snapshot();
    table.update(txn.undo(), at, tid, &[(0, Datum::I64(v))]).map(|_| ())
}

#[test]
fn a_snapshot_keeps_what_it_saw() {
    let (manager, table) = (TransactionManager::new(Timestamp(1)), table());
    let mut first = begin(&manager);
    let tid = insert(&table, &mut first, 1);
    let early = begin(&manager);
    commit(first);
    assert_eq!(read(&table, &early, tid), None);
    let old = begin(&manager);
    let mut second = begin(&manager);
    update(&table, &mut second, tid, 2).expect("free");
    assert_eq!(read(&table, &old, tid), Some(1));
    assert_eq!(read(&table, &second, tid), Some(2));
    commit(second);
    assert_eq!(read(&table, &old, tid), Some(1));
    assert_eq!(read(&table, &begin(&manager), tid), Some(2));
    assert!(manager.garbage().0 > 0, "the old snapshot needs the old version");
    drop((early, old));
    manager.collect();
    assert_eq!(manager.garbage().0, 0);
}

#[test]
fn a_dropped_transaction_leaves_nothing() {
    let (manager, table) = (TransactionManager::new(Timestamp(1)), table());
    let mut first = begin(&manager);
    let tid = insert(&table, &mut first, 1);
    commit(first);
    let mut second = begin(&manager);
    update(&table, &mut second, tid, 2).expect("free");
    let other = insert(&table, &mut second, 3);
    drop(second);
    let after = begin(&manager);
    assert_eq!(read(&table, &after, tid), Some(1));
    assert_eq!(read(&table, &after, other), None);
}

#[test]
fn the_second_writer_waits_and_loses() {
    let (manager, table) = (TransactionManager::new(Timestamp(1)), table());
    let mut first = begin(&manager);
    let tid = insert(&table, &mut first, 1);
    commit(first);
    let mut winner = begin(&manager);
    let mut loser = begin(&manager);
    update(&table, &mut winner, tid, 2).expect("free");
    let Err(WriteError::Wait(other)) = update(&table, &mut loser, tid, 3) else {
        panic!("the row is being written");
    };
    assert_eq!(other, winner.id());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| loser.wait(other, || Ok(())));
        while !manager.running().iter().any(|(_, _, waits)| *waits == Some(other)) {
            std::thread::yield_now();
        }
        commit(winner);
        waiter.join().expect("no panic").expect("no deadlock");
    });
    let lost = update(&table, &mut loser, tid, 3);
    assert!(matches!(lost, Err(WriteError::Conflict { moved_to: None })));
}

#[test]
fn a_circle_of_waits_ends() {
    let manager = TransactionManager::new(Timestamp(1));
    let (a, b) = (begin(&manager), begin(&manager));
    let (id_a, id_b) = (a.id(), b.id());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let outcome = a.wait(id_b, || Ok(()));
            drop(a);
            outcome
        });
        while !manager.running().iter().any(|(_, _, waits)| *waits == Some(id_b)) {
            std::thread::yield_now();
        }
        let error = b.wait(id_a, || Ok(())).expect_err("a circle");
        assert_eq!(error.state(), SqlState::DEADLOCK_DETECTED);
        drop(b);
        waiter.join().expect("no panic").expect("the other ended");
    });
}

#[test]
fn a_wait_can_be_cancelled() {
    let manager = TransactionManager::new(Timestamp(1));
    let (a, b) = (begin(&manager), begin(&manager));
    let cancelled = || Err(Error::new(SqlState::QUERY_CANCELED, "enough"));
    let error = a.wait(b.id(), cancelled).expect_err("cancelled");
    assert_eq!(error.state(), SqlState::QUERY_CANCELED);
    assert!(manager.running().iter().all(|(_, _, waits)| waits.is_none()));
}

/// Transfers between rows by several threads: every snapshot sees the same sum.
#[test]
fn sums_hold_under_concurrent_transfers() {
    const ROWS: usize = 8;
    let (manager, table) = (TransactionManager::new(Timestamp(1)), table());
    let mut first = begin(&manager);
    let tids: Vec<Tid> = (0..ROWS).map(|_| insert(&table, &mut first, 100)).collect();
    commit(first);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u64)
            .map(|seed| {
                let (manager, table, tids) = (&manager, &table, &tids);
                scope.spawn(move || {
                    let mut random = testkit::Random::new(seed);
                    for _ in 0..2_000 {
                        let mut txn = begin(manager);
                        let (from, to) = (
                            tids[random.below(ROWS as u64) as usize],
                            tids[random.below(ROWS as u64) as usize],
                        );
                        if from == to {
                            continue;
                        }
                        let old = read(table, &txn, from).expect("there");
                        let other = read(table, &txn, to).expect("there");
                        let moved = update(table, &mut txn, from, old - 1)
                            .and_then(|()| update(table, &mut txn, to, other + 1));
                        if moved.is_ok() && !random.chance(10) {
                            commit(txn);
                        }
                    }
                })
            })
            .collect();
        let (manager, table, tids, done) = (&manager, &table, &tids, &done);
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let txn = begin(manager);
                let sum: i64 = tids.iter().filter_map(|&tid| read(table, &txn, tid)).sum();
                assert_eq!(sum, 100 * ROWS as i64);
            }
        });
        writers.into_iter().for_each(|w| w.join().expect("no panic"));
        done.store(true, Ordering::Relaxed);
    });
    manager.collect();
    assert_eq!(manager.garbage().0, 0);
}

#[test]
fn a_prepared_transaction_keeps_its_rows_and_no_versions_of_others() {
    let (manager, table) = (TransactionManager::new(Timestamp(1)), table());
    let mut first = begin(&manager);
    let (own, other) = (insert(&table, &mut first, 1), insert(&table, &mut first, 10));
    commit(first);
    let mut prepared = begin(&manager);
    update(&table, &mut prepared, own, 2).expect("free");
    let ts = prepared.prepare(&mut Plain).expect("nothing refuses");
    assert_eq!(manager.newest(), ts);
    for value in 11..20 {
        let mut txn = begin(&manager);
        update(&table, &mut txn, other, value).expect("free");
        commit(txn);
    }
    manager.collect();
    assert_eq!(manager.garbage().0, 0, "versions of the other row are gone");
    let reader = begin(&manager);
    assert_eq!((read(&table, &reader, own), read(&table, &reader, other)), (Some(1), Some(19)));
    let mut writer = begin(&manager);
    let Err(WriteError::Wait(holder)) = update(&table, &mut writer, own, 3) else {
        panic!("the row is held");
    };
    assert_eq!(holder, prepared.id());
    commit(prepared);
    assert_eq!(read(&table, &reader, own), Some(1));
    assert_eq!(read(&table, &begin(&manager), own), Some(2));
}

#[test]
fn a_transaction_that_is_refused_as_it_is_prepared_is_as_it_was() {
    struct Refused;
    impl CommitWork for Refused {
        fn publish(&mut self, _: Timestamp, _: &UndoBuffer) -> Result<()> {
            Err(Error::new(SqlState::IO_ERROR, "no"))
        }
    }
    let (manager, table) = (TransactionManager::new(Timestamp(1)), table());
    let mut txn = begin(&manager);
    let tid = insert(&table, &mut txn, 1);
    txn.prepare(&mut Refused).expect_err("refused");
    assert_eq!(read(&table, &txn, tid), Some(1));
    commit(txn);
    assert_eq!(read(&table, &begin(&manager), tid), Some(1));
}
