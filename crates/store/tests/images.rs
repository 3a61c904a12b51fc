//! Images: a table that was made of one gives what the first one gives, in every layout.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use store::conformance::{Manager, collected, row, schema};
use store::server::{Layout, Store, StoreOptions, TableId};
use store::{FieldId, Query, Snapshot, Table, TableKind, Tuple, Version};
use testkit::Random;

const LAYOUTS: [Layout; 3] = [Layout::Columns, Layout::Rows, Layout::Log];

fn open() -> Store {
    let collect_interval = Duration::from_secs(3600);
    let options = StoreOptions { page_bytes: 8 << 10, collect_interval, ..StoreOptions::default() };
    Store::open(options).expect("opens")
}

fn table(store: &Store, kind: TableKind, layout: Layout) -> (TableId, Arc<dyn Table>) {
    let id = store.create("t", schema(kind), layout).expect("is new");
    (id, store.table(id).expect("is there"))
}

/// A table of an image of `of`.
fn copy(of: &Store, id: TableId, layout: Layout) -> (Store, Arc<dyn Table>) {
    let kind = of.table(id).expect("is there").schema().kind();
    let to = open();
    let (copied, made) = table(&to, kind, layout);
    of.image(id, &mut |image| to.restore(copied, image)).expect("is an image");
    (to, made)
}

fn made(table: &dyn Table, n: i64) -> Tuple {
    Tuple::encode(table.schema(), &row(n)).expect("fits")
}

/// One change of a key, whatever it has.
fn change(table: &dyn Table, snapshot: &Snapshot, key: u64, random: &mut Random) {
    let n = random.within(-500..500);
    let outcome = match table.get(snapshot, key) {
        Ok(_) if random.chance(30) => table.remove(snapshot, key),
        Ok(_) => table.update(snapshot, key, &made(table, n)),
        Err(_) => table.insert(snapshot, key, &made(table, n)),
    };
    // Another transaction may have been there.
    if outcome.is_ok() && random.chance(20) {
        table.revert(snapshot.version(), key).expect("is its own");
    }
}

#[test]
fn images_have_what_snapshots_see() {
    for layout in LAYOUTS {
        let store = open();
        let (id, table) = table(&store, TableKind::Transactional, layout);
        let (manager, mut random) = (Manager::default(), Random::new(5));
        let mut readers = Vec::new();
        for round in 0..60 {
            let snapshot = manager.begin();
            for _ in 0..20 {
                change(&*table, &snapshot, random.below(100), &mut random);
            }
            manager.finish(&snapshot);
            if round % 15 == 0 {
                readers.push(manager.begin());
            }
            if round % 10 == 0 {
                table.collect(manager.lowest_active()).expect("there is room");
            }
            if round == 40 {
                readers.drain(..2).for_each(|reader| manager.finish(&reader));
            }
        }
        let (_store, copied) = copy(&store, id, layout);
        readers.push(manager.begin());
        let all = Query::fields((0..7).map(FieldId).collect());
        for reader in &readers {
            for key in 0..100 {
                assert_eq!(copied.get(reader, key), table.get(reader, key), "{layout:?}");
            }
            assert_eq!(collected(&*copied, &all, reader), collected(&*table, &all, reader));
        }
    }
}

#[test]
fn images_of_tables_without_transactions() {
    for layout in LAYOUTS {
        let store = open();
        let (id, table) = table(&store, TableKind::NonTransactional, layout);
        let mut random = Random::new(6);
        for _ in 0..2000 {
            let key = random.below(50);
            let newest = table.newest_version(key);
            let snapshot = Snapshot::conditional(newest).expect("fits");
            let row = made(&*table, random.within(-500..500));
            match table.get(&Snapshot::newest(), key) {
                Ok(_) if random.chance(20) => table.remove(&snapshot, key),
                Ok(_) => table.update(&snapshot, key, &row),
                Err(_) => table.insert(&snapshot, key, &row),
            }
            .expect("nobody else writes");
            if random.chance(1) {
                table.collect(Version::MAX).expect("there is room");
            }
        }
        let (_store, copied) = copy(&store, id, layout);
        for key in 0..50 {
            let newest = Snapshot::newest();
            assert_eq!(copied.get(&newest, key).ok(), table.get(&newest, key).ok(), "{layout:?}");
        }
    }
}

/// Images while writers and collections go on: each key is as it was at some moment.
#[test]
fn images_while_writers_go_on() {
    const KEYS: u64 = 200;
    for layout in LAYOUTS {
        let store = open();
        let (id, table) = table(&store, TableKind::Transactional, layout);
        let (manager, over) = (Manager::default(), AtomicBool::new(false));
        manager
            .run(|s| (0..KEYS).for_each(|k| table.insert(s, k, &made(&*table, 0)).expect("new")));
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut n = 1;
                while !over.load(Ordering::Relaxed) {
                    for key in 0..KEYS {
                        let row = made(&*table, n);
                        manager.run(|s| table.update(s, key, &row)).expect("nobody else writes");
                    }
                    n += 1;
                    table.collect(manager.lowest_active()).expect("there is room");
                }
                n
            });
            let mut last = vec![0; KEYS as usize];
            for _ in 0..10 {
                let (_store, copied) = copy(&store, id, layout);
                let newest = Snapshot::analytical(Version(0), Version::MAX).expect("fits");
                for (key, last) in (0..KEYS).zip(&mut last) {
                    let found = copied.get(&newest, key).expect("a key that was there before");
                    let values = found.tuple.decode(copied.schema());
                    let types::Value::I64(n) = values[0] else { panic!("{values:?}") };
                    assert_eq!(values, row(n), "a torn row");
                    assert!(n >= *last, "{layout:?}: an older state");
                    *last = n;
                }
            }
            over.store(true, Ordering::Relaxed);
            writer.join().expect("writes");
        });
    }
}

#[test]
fn bytes_that_are_no_image_are_refused() {
    let store = open();
    let (id, table) = table(&store, TableKind::Transactional, Layout::Rows);
    let manager = Manager::default();
    manager.run(|s| (0..20).for_each(|k| table.insert(s, k, &made(&*table, 3)).expect("is new")));
    let mut image = Vec::new();
    let keep = &mut |piece: &[u8]| {
        image.extend_from_slice(piece);
        Ok(())
    };
    store.image(id, keep).expect("is taken");
    let mut random = Random::new(9);
    for length in 0..image.len() {
        let to = open();
        let (copied, _) = self::table(&to, TableKind::Transactional, Layout::Rows);
        let mut bytes = image[..length].to_vec();
        if let Some(byte) = bytes.get_mut(random.below(length.max(1) as u64) as usize) {
            *byte ^= 1 << random.below(8);
        }
        // A key may end where the bytes do; nothing panics.
        drop(to.restore(copied, &bytes));
    }
}
