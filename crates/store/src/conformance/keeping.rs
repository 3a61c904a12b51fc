//! Rows 15, 19 and 22: what collections free, and what they keep.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::stand::{Manager, Stack, all_fields, collected, fill, number, row, schema, tuple};
use crate::error::StoreError;
use crate::schema::{Key, TableKind};

/// Rounds of updates and removals: memory stays bounded, and what is left is right.
pub fn row_015_garbage_goes(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    let count = stack.effort().of(5000) as i64;
    fill(&*table, &manager, count);
    let mut largest = Vec::new();
    for round in 1..=10 {
        manager.run(|snapshot| {
            for key in 0..count as Key {
                table.update(snapshot, key, &tuple(&*table, key as i64 + round)).expect("updates");
            }
        });
        largest.push(table.stats());
        (0..2).for_each(|_| table.collect(manager.lowest_active()).expect("collects"));
        assert_eq!(table.stats().versions, count as u64, "round {round}");
    }
    assert!(largest[9].bytes <= largest[1].bytes * 2, "{:?}, {:?}", largest[1], largest[9]);
    manager.run(|snapshot| {
        (1..count as Key).for_each(|key| table.remove(snapshot, key).expect("removes"));
    });
    (0..3).for_each(|_| table.collect(manager.lowest_active()).expect("collects"));
    assert_eq!(table.stats().versions, 1, "removed rows leave nothing");
    let snapshot = manager.begin();
    let found = table.get(&snapshot, 0).expect("is there");
    assert_eq!(number(&*table, &found.tuple), 10);
    assert_eq!(table.get(&snapshot, 1), Err(StoreError::NotFound));
    assert_eq!(collected(&*table, &all_fields(&*table), &snapshot).0, [(0, row(10))]);
}

/// Gets while collections go on without a pause: each finds what its snapshot has.
pub fn row_019_reads_while_collecting(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    let count = stack.effort().of(2000) as i64;
    fill(&*table, &manager, count);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 1..=5 {
                for key in 0..count {
                    let n = tuple(&*table, key + round * count);
                    manager.run(|s| table.update(s, key as Key, &n)).expect("nobody else writes");
                }
            }
        });
        for reader in 0..2_i64 {
            let (table, manager, over) = (&*table, &manager, &over);
            scope.spawn(move || {
                let mut key = reader;
                while !over.load(Ordering::Relaxed) {
                    key = (key + 7) % count;
                    let n = manager.run(|s| {
                        let first = table.get(s, key as Key).expect("is there");
                        let again = table.get(s, key as Key).expect("is there");
                        assert_eq!(first.tuple, again.tuple, "a snapshot changed");
                        number(table, &first.tuple)
                    });
                    assert_eq!(n % count, key);
                }
            });
        }
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                table.collect(manager.lowest_active()).expect("collects");
            }
        });
        writer.join().expect("writes");
        over.store(true, Ordering::Relaxed);
    });
}

/// A long reader keeps its snapshot through updates, removals, inserts and collections.
pub fn row_022_retention(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    let count = 40;
    fill(&*table, &manager, count);
    manager.run(|snapshot| table.remove(snapshot, 0)).expect("removes");
    let long = manager.begin();
    let before = collected(&*table, &all_fields(&*table), &long).0;
    for round in 1..=6 {
        let middle = manager.begin();
        let seen = collected(&*table, &all_fields(&*table), &middle).0;
        manager.run(|snapshot| {
            for key in 1..count as Key {
                let n = tuple(&*table, key as i64 + round);
                match table.get(snapshot, key) {
                    Ok(_) if (key as i64 + round) % 4 == 0 => table.remove(snapshot, key),
                    Ok(_) => table.update(snapshot, key, &n),
                    Err(_) => table.insert(snapshot, key, &n),
                }
                .expect("nobody else writes");
            }
            table.insert(snapshot, 1000 + round as Key, &tuple(&*table, 0)).expect("inserts");
        });
        (0..2).for_each(|_| table.collect(manager.lowest_active()).expect("collects"));
        assert_eq!(collected(&*table, &all_fields(&*table), &long).0, before, "round {round}");
        assert_eq!(collected(&*table, &all_fields(&*table), &middle).0, seen, "round {round}");
        for (key, values) in &before {
            let found = table.get(&long, *key).expect("is there");
            assert_eq!(found.tuple.decode(table.schema()), *values);
        }
        assert!(table.get(&long, 0).is_err());
        manager.finish(&middle);
    }
    manager.finish(&long);
    (0..3).for_each(|_| table.collect(manager.lowest_active()).expect("collects"));
    let now = manager.begin();
    let rows = collected(&*table, &all_fields(&*table), &now).0.len() as u64;
    assert_eq!(table.stats().versions, rows, "nothing is kept for a reader that ended");
}
