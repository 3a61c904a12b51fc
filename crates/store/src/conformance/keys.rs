//! Rows 4 to 9: what calls on one key mean.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use types::Value;

use super::stand::{Manager, Stack, fill, number, row, schema, tuple};
use crate::error::{Status, StoreError};
use crate::schema::{Field, FieldType, Key, Schema, TableKind};
use crate::snapshot::{Snapshot, Version};
use crate::table::{Newest, Table};
use crate::tuple::Tuple;

/// Any 64-bit key, and bytes from none to a large part of a page.
pub fn row_004_keys_and_values(stack: &dyn Stack) {
    let fields = vec![Field::nullable("v", FieldType::Bytes)];
    let table = stack.table(Schema::new(TableKind::Transactional, fields).expect("fits"));
    let manager = Manager::default();
    let keys = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, 0x5555_5555_5555_5555];
    for (i, key) in keys.into_iter().enumerate() {
        let bytes = vec![i as u8 + 1; [0, 1, 7, 8, 9, 1000][i]];
        let wide = Tuple::encode(table.schema(), &[Value::Str(bytes.into())]).expect("fits");
        manager.run(|snapshot| table.insert(snapshot, key, &wide)).expect("inserts");
        let found = manager.run(|snapshot| table.get(snapshot, key)).expect("is there");
        assert_eq!(found.tuple, wide, "key {key}");
    }
    table.collect(manager.lowest_active()).expect("collects");
    for key in keys {
        manager.run(|snapshot| table.get(snapshot, key)).expect("is there");
        manager.run(|snapshot| table.remove(snapshot, key)).expect("removes");
        let outcome = manager.run(|snapshot| table.get(snapshot, key));
        assert_eq!(outcome, Err(StoreError::NotFound));
    }
}

/// The newest version inside of the read set, with the flag that tells writers.
pub fn row_005_versioned_get(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    fill(&*table, &manager, 1);
    let old = manager.begin();
    for n in 1..=20 {
        manager.run(|snapshot| table.update(snapshot, 0, &tuple(&*table, n))).expect("updates");
        let young = manager.begin();
        let seen = |snapshot: &Snapshot| {
            let found = table.get(snapshot, 0).expect("is there");
            (number(&*table, &found.tuple), found.newest)
        };
        assert_eq!((seen(&old), seen(&young)), ((0, Newest::No), (n, Newest::Yes)));
        manager.finish(&young);
        table.collect(manager.lowest_active()).expect("collects");
    }
    // Some of those above the base are finished, some are not.
    let (a, b, c) = (manager.begin(), manager.begin(), manager.begin());
    for (snapshot, key) in [(&a, 1), (&b, 2), (&c, 3)] {
        table.insert(snapshot, key, &tuple(&*table, key as i64)).expect("inserts");
    }
    manager.finish(&b);
    let late = manager.begin();
    let outcomes = [1, 2, 3, 4].map(|key| Status::of(&table.get(&late, key)));
    let hidden = Status::NotInSnapshot;
    assert_eq!(outcomes, [hidden, Status::Ok, hidden, Status::NotFound]);
    assert_eq!(Status::of(&table.get(&a, 1)), Status::Ok, "own writes are seen");
    let early = Snapshot::analytical(Version(0), Version(0)).expect("fits");
    table.collect(Version(1)).expect("collects");
    assert_eq!(table.get(&early, 0), Err(StoreError::InvalidSnapshot));
    assert_eq!(table.insert(&early, 9, &tuple(&*table, 9)), Err(StoreError::InvalidSnapshot));
}

/// Two writers of a key: one wins; a value that came back was written nevertheless.
pub fn row_006_conditional_write(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    fill(&*table, &manager, 1);
    let (a, b) = (manager.begin(), manager.begin());
    table.update(&a, 0, &tuple(&*table, 1)).expect("the first one wins");
    assert_eq!(table.update(&b, 0, &tuple(&*table, 2)), Err(StoreError::NotInSnapshot));
    assert_eq!(table.remove(&b, 0), Err(StoreError::NotInSnapshot));
    assert_eq!(table.insert(&b, 0, &tuple(&*table, 2)), Err(StoreError::NotInSnapshot));
    table.update(&a, 0, &tuple(&*table, 3)).expect("the winner may go on");
    manager.finish(&a);
    assert_eq!(table.update(&b, 0, &tuple(&*table, 2)), Err(StoreError::NotInSnapshot));
    manager.finish(&b);
    manager.run(|snapshot| table.update(snapshot, 0, &tuple(&*table, 2))).expect("no conflict");

    let linked = stack.table(schema(TableKind::NonTransactional));
    let put = |seen, n| {
        let snapshot = Snapshot::conditional(Version(seen)).expect("fits");
        if seen == 0 {
            linked.insert(&snapshot, 7, &tuple(&*linked, n))
        } else {
            linked.update(&snapshot, 7, &tuple(&*linked, n))
        }
    };
    put(0, 1).expect("was absent");
    assert_eq!(put(0, 1), Err(StoreError::NotInSnapshot));
    let token = linked.get(&Snapshot::newest(), 7).expect("is there").version;
    assert_eq!(token, linked.newest_version(7));
    put(1, 2).expect("nobody wrote since");
    put(2, 1).expect("nobody wrote since");
    assert_eq!(put(token.0, 3), Err(StoreError::NotInSnapshot), "1 came back, and was written");
}

/// States of a key, each made by a transaction that is visible, invisible or the caller's.
pub fn row_007_outcomes_of_writes(stack: &dyn Stack) {
    use Status::{InvalidWrite as Invalid, NotFound, NotInSnapshot as Conflict, Ok as Fine};
    for collects in [0, 1, 2] {
        // Who wrote last, what it wrote; then get, insert, update and remove by another.
        let cases: [(&str, &str, [Status; 4]); 8] = [
            ("nobody", "", [NotFound, Fine, Invalid, Invalid]),
            ("before", "i", [Fine, Invalid, Fine, Fine]),
            ("before", "ir", [NotFound, Fine, Invalid, Invalid]),
            ("beside", "i", [Conflict, Conflict, Conflict, Conflict]),
            ("beside", "u", [Fine, Conflict, Conflict, Conflict]),
            ("beside", "r", [Fine, Conflict, Conflict, Conflict]),
            ("self", "i", [Fine, Invalid, Fine, Fine]),
            ("self", "ir", [NotFound, Fine, Invalid, Invalid]),
        ];
        for (who, what, expected) in cases {
            for (call, expected) in expected.into_iter().enumerate() {
                let table = stack.table(schema(TableKind::Transactional));
                let manager = Manager::default();
                if matches!(what, "u" | "r") {
                    fill(&*table, &manager, 1);
                }
                let write = |snapshot: &Snapshot| {
                    what.chars().for_each(|c| by_letter(&*table, snapshot, c).expect("writes"));
                };
                if who == "before" {
                    manager.run(write);
                }
                let (beside, caller) = (manager.begin(), manager.begin());
                match who {
                    "beside" => write(&beside),
                    "self" => write(&caller),
                    _ => (),
                }
                (0..collects).for_each(|_| {
                    table.collect(manager.lowest_active()).expect("collects");
                });
                let outcome = match call {
                    0 => Status::of(&table.get(&caller, 0)),
                    1 => Status::of(&by_letter(&*table, &caller, 'i')),
                    2 => Status::of(&by_letter(&*table, &caller, 'u')),
                    _ => Status::of(&by_letter(&*table, &caller, 'r')),
                };
                assert_eq!(outcome, expected, "{who} {what}, call {call}, {collects} collections");
            }
        }
    }
    own_writes(stack);
}

fn by_letter(table: &dyn Table, snapshot: &Snapshot, letter: char) -> Result<(), StoreError> {
    match letter {
        'i' => table.insert(snapshot, 0, &tuple(table, 1)),
        'u' => table.update(snapshot, 0, &tuple(table, 2)),
        _ => table.remove(snapshot, 0),
    }
}

/// A row that came and went in one transaction is in nobody's way; snapshots that only read do not
/// write.
fn own_writes(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::Transactional));
    let manager = Manager::default();
    let (a, b) = (manager.begin(), manager.begin());
    "iuriur".chars().for_each(|c| by_letter(&*table, &a, c).expect("writes"));
    by_letter(&*table, &b, 'i').expect("nothing is there");
    assert_eq!(by_letter(&*table, &a, 'i'), Err(StoreError::NotInSnapshot));
    let reader = Snapshot::analytical(Version(0), Version(0)).expect("fits");
    assert_eq!(by_letter(&*table, &reader, 'i'), Err(StoreError::InvalidSnapshot));
}

/// The newest version goes if it has the number; again, and where it wrote nothing, nothing
/// happens.
pub fn row_008_revert(stack: &dyn Stack) {
    for collects in [0, 1, 2] {
        let table = stack.table(schema(TableKind::Transactional));
        let manager = Manager::default();
        fill(&*table, &manager, 3);
        let long = manager.begin();
        let collect = || {
            (0..collects).for_each(|_| {
                table.collect(manager.lowest_active()).expect("collects");
            });
        };
        let a = manager.begin();
        table.update(&a, 0, &tuple(&*table, 10)).expect("updates");
        table.remove(&a, 1).expect("removes");
        table.insert(&a, 5, &tuple(&*table, 15)).expect("inserts");
        collect();
        for _ in 0..2 {
            for key in [0, 1, 2, 5, 77] {
                assert_eq!(table.revert(a.version(), key), Ok(()), "key {key}");
            }
            collect();
        }
        manager.finish(&a);
        let b = manager.begin();
        for key in [0, 1, 2] {
            let found = table.get(&b, key).expect("is there");
            assert_eq!(found.newest, Newest::Yes);
            assert_eq!(number(&*table, &found.tuple), key as i64);
        }
        assert_eq!(table.get(&b, 5), Err(StoreError::NotFound));
        table.update(&b, 0, &tuple(&*table, 20)).expect("updates");
        table.insert(&b, 5, &tuple(&*table, 25)).expect("inserts");
        manager.finish(&b);
        collect();
        let c = manager.begin();
        table.update(&c, 0, &tuple(&*table, 30)).expect("updates");
        collect();
        assert_eq!(table.revert(b.version(), 0), Err(StoreError::NotInSnapshot));
        table.revert(c.version(), 0).expect("reverts");
        let found = table.get(&c, 0).expect("is there");
        assert_eq!((number(&*table, &found.tuple), found.version), (20, b.version()));
        let found = table.get(&long, 0).expect("is there");
        assert_eq!((number(&*table, &found.tuple), found.newest), (0, Newest::No));
    }
}

/// Counters by load-linked and store-conditional: each success counts once, old versions go.
pub fn row_009_non_transactional_tables(stack: &dyn Stack) {
    let table = stack.table(schema(TableKind::NonTransactional));
    let each = stack.effort().of(1000) as i64;
    let conflicts = AtomicU64::new(0);
    let first = Snapshot::conditional(Version(0)).expect("fits");
    table.insert(&first, 1, &tuple(&*table, 0)).expect("inserts");
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..each).for_each(|_| increment(&*table, 1, &conflicts)));
        }
        for _ in 0..20 {
            table.collect(Version(0)).expect("collects");
        }
    });
    let found = table.get(&Snapshot::newest(), 1).expect("is there");
    assert_eq!(number(&*table, &found.tuple), 16 * each);
    assert_eq!(found.version.0, 16 * each as u64 + 1);
    (0..3).for_each(|_| table.collect(Version(0)).expect("collects"));
    assert_eq!(table.stats().versions, 1, "replaced versions are garbage at once");
    let all = Snapshot::conditional(found.version).expect("fits");
    table.remove(&all, 1).expect("removes");
    assert_eq!(table.get(&Snapshot::newest(), 1), Err(StoreError::NotFound));
    let again = Snapshot::conditional(table.newest_version(1)).expect("fits");
    table.insert(&again, 1, &tuple(&*table, 5)).expect("inserts");
}

/// Adds one to the row of `key`, as often as others come between.
fn increment(table: &dyn Table, key: Key, conflicts: &AtomicU64) {
    loop {
        let linked = table.get(&Snapshot::newest(), key).expect("is there");
        let n = number(table, &linked.tuple) + 1;
        let snapshot = Snapshot::conditional(linked.version).expect("fits");
        match table.update(&snapshot, key, &tuple(table, n)) {
            Ok(()) => return,
            Err(StoreError::NotInSnapshot) => conflicts.fetch_add(1, Ordering::Relaxed),
            Err(error) => panic!("{error} for {:?}", row(n)),
        };
    }
}
