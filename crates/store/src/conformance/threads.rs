//! Rows 11 to 13, 17 and 18: many threads at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::stand::{Manager, Stack, all_fields, collected, fill, number, schema, tuple};
use crate::error::{Status, StoreError};
use crate::schema::{Key, TableKind};
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Insert, update, removal and look-up of a few keys by all threads: for each key the successful
/// writes form one chain of versions, and reads see links of it in order.
pub fn row_011_one_key_is_linearisable(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::NonTransactional));
    let each = stack.effort().of(5000);
    // By key and version: what was written, `None` for a removal.
    let written: Mutex<BTreeMap<(Key, u64), Vec<Option<i64>>>> = Mutex::default();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..4_usize)
            .map(|writer| {
                let (table, written) = (&*table, &written);
                scope.spawn(move || {
                    for step in 0..each {
                        let key = (step % 3) as Key;
                        let seen = table.newest_version(key);
                        let snapshot = Snapshot::conditional(seen).expect("fits");
                        let n = (writer * each + step) as i64;
                        let is_there = table.get(&snapshot, key).is_ok();
                        let (outcome, wrote) = match (is_there, step % 5) {
                            (true, 0) => (table.remove(&snapshot, key), None),
                            (true, _) => (table.update(&snapshot, key, &tuple(table, n)), Some(n)),
                            _ => (table.insert(&snapshot, key, &tuple(table, n)), Some(n)),
                        };
                        match outcome {
                            Ok(()) => {
                                let version = seen.0 + 1;
                                written.lock().entry((key, version)).or_default().push(wrote);
                            }
                            Err(StoreError::NotInSnapshot | StoreError::InvalidWrite) => (),
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut newest = [0; 3];
            while !over.load(Ordering::Relaxed) {
                for key in 0..3 {
                    let Ok(found) = table.get(&Snapshot::newest(), key) else { continue };
                    assert!(found.version.0 >= newest[key as usize], "a read went back");
                    newest[key as usize] = found.version.0;
                    number(&*table, &found.tuple);
                }
            }
        });
        writers.into_iter().for_each(|writer| writer.join().expect("writes"));
        over.store(true, Ordering::Relaxed);
    });
    let written = written.into_inner();
    for key in 0..3 {
        let newest = table.newest_version(key).0;
        let versions = written.range((key, 0)..=(key, u64::MAX));
        assert_eq!(versions.clone().count() as u64, newest, "one write for each version");
        assert!(versions.clone().all(|(_, writes)| writes.len() == 1), "two writers won");
        let last = versions.last().and_then(|(_, writes)| writes[0]);
        let found = table.get(&Snapshot::newest(), key).ok().map(|f| number(&*table, &f.tuple));
        assert_eq!(found, last);
    }
}

/// Scans beside sixteen writers: no row is torn, none comes twice, and none is missing.
pub fn row_012_no_torn_rows(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    let count = 64;
    fill(&*table, &manager, count);
    let rounds = stack.effort().of(200);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..16_i64)
            .map(|writer| {
                let (table, manager) = (&*table, &manager);
                scope.spawn(move || {
                    for round in 1..=rounds as i64 {
                        let snapshot = manager.begin();
                        // Rows of one transaction have one number.
                        for key in (0..count).filter(|key| key % 16 == writer) {
                            let n = tuple(table, round);
                            table.update(&snapshot, key as Key, &n).expect("nobody else writes it");
                        }
                        let fresh = (count + writer * rounds as i64 + round) as Key;
                        table.insert(&snapshot, fresh, &tuple(table, 0)).expect("inserts");
                        manager.finish(&snapshot);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let snapshot = manager.begin();
                let (rows, _) = collected(&*table, &all_fields(&*table), &snapshot);
                manager.finish(&snapshot);
                let numbers: Vec<i64> = rows[..count as usize]
                    .iter()
                    .enumerate()
                    .map(|(i, row)| {
                        assert_eq!(row.0, i as Key, "each key once");
                        let types::Value::I64(n) = row.1[0] else { panic!("{row:?}") };
                        assert_eq!(row.1, super::stand::row(n), "a torn row");
                        n
                    })
                    .collect();
                for (key, n) in numbers.iter().enumerate() {
                    let first = numbers[key % 16];
                    let is_untouched = first == key as i64 % 16 && *n == key as i64;
                    assert!(*n == first || is_untouched, "half of a transaction: {numbers:?}");
                }
                assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0), "a key came twice");
            }
        });
        writers.into_iter().for_each(|writer| writer.join().expect("writes"));
        over.store(true, Ordering::Relaxed);
    });
}

/// Two transactions write the same keys: each key has one winner, who alone goes on.
pub fn row_013_one_of_two_writers_wins(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    let count = 50;
    fill(&*table, &manager, count);
    for round in 0..stack.effort().of(200) {
        let snapshots = [manager.begin(), manager.begin()];
        let wins: Vec<Vec<bool>> = thread::scope(|scope| {
            let write = |snapshot: &Snapshot| {
                let version = snapshot.version().0 as i64;
                let one = |key| match table.update(snapshot, key, &tuple(&*table, version)) {
                    Ok(()) => true,
                    Err(StoreError::NotInSnapshot) => false,
                    Err(error) => panic!("{error}"),
                };
                (0..count as Key).map(one).collect()
            };
            let threads: Vec<_> =
                snapshots.iter().map(|snapshot| scope.spawn(move || write(snapshot))).collect();
            threads.into_iter().map(|thread| thread.join().expect("writes")).collect()
        });
        for key in 0..count as usize {
            assert!(wins[0][key] ^ wins[1][key], "round {round}, key {key}: one wins");
        }
        snapshots.iter().for_each(|snapshot| manager.finish(snapshot));
        let reader = manager.begin();
        for key in 0..count as usize {
            let winner = &snapshots[usize::from(wins[1][key])];
            let found = table.get(&reader, key as Key).expect("is there");
            assert_eq!(found.version, winner.version());
            assert_eq!(number(&*table, &found.tuple), winner.version().0 as i64);
        }
        manager.finish(&reader);
    }
}

/// Increments by transactions, reverts and new attempts, beside collections: none is lost.
pub fn row_017_no_lost_update(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    let count = 8;
    fill(&*table, &manager, count);
    let each = stack.effort().of(4000);
    let over = AtomicBool::new(false);
    let zero: i64 = (0..count).sum();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..6_usize)
            .map(|writer| {
                let (table, manager) = (&*table, &manager);
                scope.spawn(move || (0..each).for_each(|i| transfer(table, manager, writer + i)))
            })
            .collect();
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                table.collect(manager.lowest_active()).expect("collects");
                let snapshot = manager.begin();
                let (rows, _) = collected(&*table, &all_fields(&*table), &snapshot);
                let sum: i64 = rows
                    .iter()
                    .map(|row| match row.1[0] {
                        types::Value::I64(n) => n,
                        _ => panic!("{row:?}"),
                    })
                    .sum();
                manager.finish(&snapshot);
                assert_eq!((rows.len() as i64, sum), (count, zero), "money came or went");
            }
        });
        writers.into_iter().for_each(|writer| writer.join().expect("writes"));
        over.store(true, Ordering::Relaxed);
    });
}

/// Moves one from a row to the next in a transaction that is repeated until it commits; rows come
/// and go, too.
fn transfer(table: &dyn Table, manager: &Manager, seed: usize) {
    let (from, to) = ((seed % 8) as Key, ((seed * 3 + 1) % 8) as Key);
    if from == to {
        return;
    }
    loop {
        let snapshot = manager.begin();
        let change = |key, by| {
            let n = number(table, &table.get(&snapshot, key)?.tuple) + by;
            if seed.is_multiple_of(4) {
                table.remove(&snapshot, key)?;
                table.insert(&snapshot, key, &tuple(table, n))
            } else {
                table.update(&snapshot, key, &tuple(table, n))
            }
        };
        let outcome = change(from, -1).and_then(|()| change(to, 1));
        if outcome.is_err() {
            for key in [from, to] {
                table.revert(snapshot.version(), key).expect("reverts what is its own");
            }
        }
        manager.finish(&snapshot);
        match outcome {
            Ok(()) => return,
            Err(StoreError::NotInSnapshot) => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Threads that insert the same keys: each key has one row, in scans, too, while collections move
/// rows about.
pub fn row_018_each_key_once(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    let count = stack.effort().of(5000) as Key;
    let wins = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for key in 0..count {
                        let first = tuple(&*table, 0);
                        let outcome = manager.run(|s| table.insert(s, key * 7, &first));
                        match Status::of(&outcome) {
                            Status::Ok => drop(wins.fetch_add(1, Ordering::Relaxed)),
                            Status::NotInSnapshot | Status::InvalidWrite => {
                                add_one(&*table, &manager, key * 7);
                            }
                            _ => panic!("{outcome:?}"),
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                table.collect(manager.lowest_active()).expect("collects");
                let query = all_fields(&*table);
                let (rows, _) = manager.run(|snapshot| collected(&*table, &query, snapshot));
                assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0), "a key came twice");
            }
        });
        writers.into_iter().for_each(|writer| writer.join().expect("writes"));
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(wins.into_inner(), count);
    let (rows, _) = collected(&*table, &all_fields(&*table), &manager.begin());
    assert_eq!(rows.len() as u64, count);
    let numbers = rows.iter().map(|row| match row.1[0] {
        types::Value::I64(n) => n,
        _ => panic!("{row:?}"),
    });
    assert_eq!(numbers.sum::<i64>(), 3 * count as i64, "each of the others added one");
}

/// Adds one to a row in a transaction that is repeated until it commits.
fn add_one(table: &dyn Table, manager: &Manager, key: Key) {
    loop {
        let outcome = manager.run(|snapshot| {
            let n = number(table, &table.get(snapshot, key)?.tuple) + 1;
            table.update(snapshot, key, &tuple(table, n))
        });
        match outcome {
            Ok(()) => return,
            Err(StoreError::NotInSnapshot | StoreError::NotFound) => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}
