//! Threads that write, read and collect at once; what is read must add up.

use std::sync::atomic::AtomicBool;
use std::thread;

use parking_lot::RwLock;
use testkit::Random;
use types::{DataType, Value};

use super::*;
use crate::manager::Manager;
use crate::positions::Positions;
use crate::version::WriteError;
use crate::{
    ColumnSpec, Datum, IndexColumn, IndexKind, IndexSpec, KeyBuffer, RowBuffer, ScanPlan,
    TID_COLUMN, Uniqueness, batch_of,
};

const ACCOUNTS: i64 = 200;
const EACH: i64 = 1000;

/// (account, balance, the balance as text, the balance in 128 bits)
fn accounts(layout: Layout) -> Arc<Table> {
    let types = [DataType::BigInt, DataType::BigInt, DataType::Text, DataType::numeric(38, 0)];
    let specs = types.into_iter().enumerate();
    let specs: Vec<ColumnSpec> =
        specs.map(|(i, ty)| ColumnSpec::new(format!("c{i}"), ty)).collect();
    let table = Table::new(TableId(1), "accounts", specs.into(), layout, BufferPool::new(1 << 30));
    let text = text_of(EACH);
    let mut writer = table.bulk_writer();
    let rows = ACCOUNTS as usize;
    let batch = batch_of(vec![
        Vector::new(VectorData::I64((0..ACCOUNTS).collect())),
        Vector::new(VectorData::I64(vec![EACH; rows])),
        Vector::new(VectorData::Str(vec![text.as_bytes(); rows].into_iter().collect())),
        Vector::new(VectorData::I128(vec![wide_of(EACH); rows])),
    ]);
    writer.push(&batch).expect("fits");
    writer.finish().expect("fits");
    let spec = IndexSpec {
        id: IndexId(1),
        name: "accounts_pkey".into(),
        columns: vec![IndexColumn::new(0)],
        unique: Uniqueness::Distinct,
        kind: IndexKind::Ordered,
    };
    let index = TableIndex::new(spec, table.schema(), table.pool()).expect("fits");
    table.add_index(index, 1, TxnId::NONE).expect("unique");
    table
}

fn text_of(balance: i64) -> String {
    format!("a balance of {balance}")
}

fn wide_of(balance: i64) -> i128 {
    i128::from(balance) << 64 | i128::from(balance as u64)
}

fn check_row(values: [Value; 4]) -> i64 {
    let [_, Value::I64(balance), text, wide] = values else { panic!("{values:?}") };
    assert_eq!(text, Value::text(&text_of(balance)), "parts of one version");
    assert_eq!(wide, Value::I128(wide_of(balance)), "parts of one version");
    balance
}

/// Reads all columns of a row; true when `at` sees it.
fn is_read(table: &Table, at: Snapshot, tid: Tid, row: &mut RowBuffer) -> bool {
    table.read(at, tid, &[0, 1, 2, 3], row).expect("in memory")
}

/// The row of an account that `at` sees.
fn find(table: &Table, at: Snapshot, account: i64, row: &mut RowBuffer) -> Tid {
    let mut tids = Vec::new();
    table
        .tids_of(0, at, &[Datum::I64(account)], &mut KeyBuffer::new(), &mut tids)
        .expect("in memory");
    assert_eq!(tids.len(), 1, "one version of an account is always there");
    let tid = tids[0];
    assert!(is_read(table, at, tid, row));
    tid
}

/// Moves money between two accounts; false when another writer was first.
fn transfer(table: &Arc<Table>, manager: &Manager, random: &mut Random) -> bool {
    let mut txn = manager.begin();
    let amount = random.below(50) as i64;
    let mut row = RowBuffer::new();
    let first = random.below(ACCOUNTS as u64) as i64;
    let second = (first + 1 + random.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
    for (account, change) in [(first, -amount), (second, amount)] {
        let tid = find(table, txn.at, account, &mut row);
        let balance = check_row([0, 1, 2, 3].map(|i| row.get(i).to_value())) + change;
        let text = text_of(balance);
        let changes = [
            (1, Datum::I64(balance)),
            (2, Datum::Str(text.as_bytes())),
            (3, Datum::I128(wide_of(balance))),
        ];
        let done = match random.below(10) {
            // Deleted and inserted again, elsewhere.
            0 => table.delete(&mut txn.undo, txn.at, tid).and_then(|()| {
                let [_, b, t, w] = [Datum::Null, changes[0].1, changes[1].1, changes[2].1];
                table.insert(&mut txn.undo, &[Datum::I64(account), b, t, w]).map(|_| ())
            }),
            _ => table.update(&mut txn.undo, txn.at, tid, &changes).map(|_| ()),
        };
        match done {
            Ok(()) => {}
            Err(WriteError::Wait(_) | WriteError::Conflict { .. }) => {
                manager.abort(txn);
                return false;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    if random.chance(15) {
        manager.abort(txn);
    } else {
        manager.commit(txn);
    }
    true
}

/// Adds up all accounts by a scan, a column at a time.
fn total(table: &Arc<Table>, at: Snapshot, plan: &ScanPlan) -> i64 {
    let snapshot = table.snapshot(at);
    let (mut sum, mut count) = (0, 0);
    let mut positions = Positions::default();
    for b in 0..snapshot.block_count() {
        let Some(mut cursor) = plan.open(&snapshot, b).expect("no predicate") else { continue };
        while cursor.next(64, &mut positions).expect("no predicate") {
            let unpack = |c| snapshot.unpack(b, c, &positions).expect("in memory");
            let columns = [0, 1, 2, 3].map(unpack);
            assert_eq!(unpack(TID_COLUMN).len(), positions.len());
            for i in 0..positions.len() {
                sum += check_row([0, 1, 2, 3].map(|c| columns[c].value(i)));
                count += 1;
            }
        }
    }
    assert_eq!(count, ACCOUNTS);
    sum
}

/// Moves the rows of some blocks; true when nobody wrote them.
fn move_some(table: &Arc<Table>, manager: &Manager, random: &mut Random) -> bool {
    let uses = table.block_uses();
    let ids: Vec<u64> = uses.iter().map(|found| found.id).filter(|_| random.chance(70)).collect();
    let mut mover = manager.begin();
    let moving = table.move_rows(&mut mover.undo, mover.at, &ids).expect("fits");
    let Some(mut moving) = moving else {
        manager.abort(mover);
        return false;
    };
    if !moving.retire() {
        manager.abort(mover);
        return false;
    }
    manager.commit(mover);
    moving.keep();
    true
}

/// Freezes whatever hot block is quiet, and moves rows, until `done`, and until both happened: when
/// nobody writes any more, at the latest. Writers pause at the gate until no version is left, and
/// go on while blocks are copied.
fn freeze_all(table: &Arc<Table>, manager: &Manager, gate: &RwLock<()>, done: &AtomicBool) {
    let (mut frozen, mut moves) = (0, 0);
    let mut random = Random::new(5);
    while !done.load(Ordering::Relaxed) || frozen == 0 || moves == 0 {
        let closed = gate.write();
        while !manager.is_collected() {
            manager.collect(|_| {});
            thread::yield_now();
        }
        let hot = table.hot_blocks();
        drop(closed);
        if random.chance(50) {
            moves += usize::from(move_some(table, manager, &mut random));
            continue;
        }
        for block in hot {
            let at = manager.enter(TxnId::NONE);
            frozen += usize::from(table.freeze_block(block.id, at).expect("fits"));
            manager.leave(at);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn sums_hold_while_money_moves() {
    for (seed, layout) in [Layout::Row, Layout::Column, Layout::Auto].into_iter().enumerate() {
        let table = accounts(layout);
        let manager = Manager::default();
        let plan = ScanPlan::new(table.schema(), vec![]).expect("nothing");
        let (done, gate) = (AtomicBool::new(false), RwLock::new(()));
        thread::scope(|scope| {
            let (table, manager, plan) = (&table, &manager, &plan);
            let (done, gate) = (&done, &gate);
            for reader in 0..2 {
                scope.spawn(move || {
                    let mut row = RowBuffer::new();
                    while !done.load(Ordering::Relaxed) {
                        let at = manager.enter(TxnId::NONE);
                        assert_eq!(total(table, at, plan), ACCOUNTS * EACH);
                        if reader == 0 {
                            let find = |account| {
                                find(table, at, account, &mut row);
                                check_row([0, 1, 2, 3].map(|i| row.get(i).to_value()))
                            };
                            assert_eq!((0..ACCOUNTS).map(find).sum::<i64>(), ACCOUNTS * EACH);
                        }
                        manager.leave(at);
                    }
                });
            }
            let writers: Vec<_> = (0..2)
                .map(|writer| {
                    let mut random = Random::new(seed as u64 * 10 + writer);
                    scope.spawn(move || {
                        let mut passing = || {
                            let _open = gate.read();
                            transfer(table, manager, &mut random)
                        };
                        (0..4000).filter(|_| passing()).count()
                    })
                })
                .collect();
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    manager.collect(|_| {});
                    thread::yield_now();
                }
            });
            scope.spawn(move || freeze_all(table, manager, gate, done));
            let moved: usize = writers.into_iter().map(|w| w.join().expect("no panic")).sum();
            assert!(moved > 1000, "{moved} transfers");
            done.store(true, Ordering::Relaxed);
        });
        manager.collect(|_| {});
        let blocks = Arc::clone(&table.blocks.lock().all);
        blocks.iter().for_each(|block| block.versions.assert_quiet(block.rows()));
        assert_eq!(total(&table, manager.now(), &plan), ACCOUNTS * EACH);
        assert_eq!(table.live_rows(), ACCOUNTS as u64);
        assert_eq!(table.indexes()[0].len(), ACCOUNTS as u64, "no entry is left over");
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn one_of_two_inserts_of_a_key_wins() {
    let table = accounts(Layout::Row);
    let manager = Manager::default();
    thread::scope(|scope| {
        let inserter = |_| {
            scope.spawn(|| {
                let mut won = 0;
                for account in ACCOUNTS..ACCOUNTS + 2000 {
                    let row = [account, 1].map(Datum::I64);
                    let row = [row[0], row[1], Datum::Null, Datum::Null];
                    loop {
                        let mut txn = manager.begin();
                        match table.insert(&mut txn.undo, &row) {
                            Ok(_) => {
                                manager.commit(txn);
                                won += 1;
                                break;
                            }
                            Err(WriteError::Wait(_)) => manager.abort(txn),
                            Err(WriteError::Duplicate { .. }) => {
                                manager.abort(txn);
                                break;
                            }
                            Err(other) => panic!("{other:?}"),
                        }
                        thread::yield_now();
                    }
                }
                won
            })
        };
        let inserters: Vec<_> = (0..3).map(inserter).collect();
        let won: i64 = inserters.into_iter().map(|t| t.join().expect("no panic")).sum();
        assert_eq!(won, 2000);
    });
    assert_eq!(table.live_rows(), 2000 + ACCOUNTS as u64);
}
