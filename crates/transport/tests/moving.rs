//! Row 75: keys go from store to store while they are read, written, scanned and collected. The
//! suite of tables, beside somebody who moves ranges without a pause; and scans, of which each has
//! every key once.

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use store::conformance::{Manager, Stack, collected, row, schema};
use store::server::Layout;
use store::{
    Aggregate, FieldId, HashRange, Partition, Query, Result, Schema, StoreError, Table, TableKind,
    Tuple,
};
use support::Served;
use testkit::Random;
use transport::{
    Attempt, Channel, Cluster, Connection, Guide, Move, MoveOrder, Pending, Phase, RemoteTable,
    Ring, RingStore, StoreServiceOptions, block_on,
};

const STORES: usize = 3;

/// Stores, and who says where keys are.
struct World {
    served: Vec<Served>,
    ring: Mutex<Ring>,
    attempt: AtomicU64,
    /// Moves so far.
    moves: AtomicU64,
}

impl World {
    fn start() -> Arc<Self> {
        let served = (0..STORES).map(|_| Served::start(StoreServiceOptions::default())).collect();
        // The others have nothing at first.
        let mut ring = Ring::equal(vec!["0".into()]);
        for store in 1..STORES {
            ring = ring.with(transport::StoreId(store as u64 + 1), &store.to_string());
        }
        let (ring, attempt, moves) = (Mutex::new(ring), AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { served, ring, attempt, moves })
    }

    fn cluster(self: &Arc<Self>) -> Cluster {
        let road = Road { world: Arc::clone(self), connections: Mutex::default() };
        let ring = self.ring.lock().clone();
        Cluster::guided(Arc::new(road), ring).expect("connects")
    }

    /// A range of some store, and another store.
    fn choose(&self, random: &mut Random) -> Move {
        let ring = self.ring.lock();
        let hash = random.bits();
        let source = ring.owner_of(hash);
        let own = ring.ranges_of(source);
        let around = own.list().iter().find(|range| range.holds(hash)).expect("it has the hash");
        let width = random.bits() >> (1 + random.below(6));
        let range = HashRange {
            first: around.first.max(hash.saturating_sub(width)),
            last: around.last.min(hash.saturating_add(width)),
        };
        let others: Vec<_> = ring.stores().iter().filter(|store| store.id != source).collect();
        let target = others[random.below(others.len() as u64) as usize].id;
        Move { range, source, target }
    }

    fn order(&self, what: Move, phase: Phase) -> MoveOrder {
        MoveOrder { attempt: Attempt(self.attempt.load(Ordering::Relaxed)), what, phase }
    }

    /// Makes one move.
    fn make_move(&self, cluster: &Cluster, random: &mut Random) {
        let what = self.choose(random);
        let run = |move_it: &dyn Fn() -> Result<()>| loop {
            match move_it() {
                // Scans of before are waited for.
                Err(StoreError::Overloaded) => thread::yield_now(),
                outcome => return outcome.expect("nobody else moves keys"),
            }
        };
        self.attempt.fetch_add(1, Ordering::Relaxed);
        let order = self.order(what, Phase::Copies);
        run(&|| block_on(cluster.copy(&order), || cluster.flush()));
        {
            let mut ring = self.ring.lock();
            *ring = ring.moved(&what);
        }
        let order = self.order(what, Phase::Switched);
        run(&|| block_on(cluster.hand_over(&order), || cluster.flush()));
        self.moves.fetch_add(1, Ordering::Relaxed);
    }
}

/// A client's way to the stores.
struct Road {
    world: Arc<World>,
    connections: Mutex<Vec<Connection>>,
}

impl Guide for Road {
    fn ask(&self) -> Pending {
        let mut answer = Vec::new();
        self.world.ring.lock().put(&mut answer);
        Pending::ready(answer)
    }

    fn ring(&self, answer: &[u8]) -> Result<Ring> {
        let ring = Ring::read(&mut types::codec::Input::new(answer));
        Ok(ring.expect("it was put there"))
    }

    fn connect(&self, store: &RingStore) -> Result<Arc<Channel>> {
        let number: usize = store.address.parse().expect("a number");
        let connection = self.world.served[number].connect(Duration::ZERO);
        let channel = Arc::clone(connection.channel());
        self.connections.lock().push(connection);
        Ok(channel)
    }

    fn flush(&self) {}
}

/// Tables of stores whose keys move as long as the table is used.
struct OnMovingStores;

/// Moves keys until `user` is gone.
fn move_while(world: &Arc<World>, user: &Weak<()>, seed: u64) {
    let (cluster, mut random) = (world.cluster(), Random::new(seed));
    while user.strong_count() > 0 {
        world.make_move(&cluster, &mut random);
    }
}

/// A table, and the sign that somebody uses it.
struct Used {
    table: RemoteTable,
    _user: Arc<()>,
}

impl Table for Used {
    fn schema(&self) -> &Arc<Schema> {
        self.table.schema()
    }

    fn get(&self, snapshot: &store::Snapshot, key: u64) -> Result<store::Fetched> {
        self.table.get(snapshot, key)
    }

    fn insert(&self, snapshot: &store::Snapshot, key: u64, tuple: &Tuple) -> Result<()> {
        self.table.insert(snapshot, key, tuple)
    }

    fn update(&self, snapshot: &store::Snapshot, key: u64, tuple: &Tuple) -> Result<()> {
        self.table.update(snapshot, key, tuple)
    }

    fn remove(&self, snapshot: &store::Snapshot, key: u64) -> Result<()> {
        self.table.remove(snapshot, key)
    }

    fn newest_version(&self, key: u64) -> store::Version {
        self.table.newest_version(key)
    }

    fn revert(&self, version: store::Version, key: u64) -> Result<()> {
        self.table.revert(version, key)
    }

    fn scan(
        &self,
        requests: &[store::ScanRequest<'_>],
        threads: usize,
    ) -> Result<Vec<store::ScanEnd>> {
        self.table.scan(requests, threads)
    }

    fn collect(&self, lowest_active: store::Version) -> Result<()> {
        self.table.collect(lowest_active)
    }

    fn stats(&self) -> store::TableStats {
        self.table.stats()
    }
}

impl Stack for OnMovingStores {
    fn table(&self, schema: Schema) -> Arc<dyn Table> {
        static TABLES: AtomicU64 = AtomicU64::new(0);
        let layouts = [Layout::Columns, Layout::Rows, Layout::Log];
        let number = TABLES.fetch_add(1, Ordering::Relaxed);
        let world = World::start();
        let cluster = world.cluster();
        let made = cluster.create("t", &schema, layouts[number as usize % 3]);
        let table = block_on(made, || cluster.flush()).expect("is new");
        let user = Arc::new(());
        let gone = Arc::downgrade(&user);
        thread::spawn(move || move_while(&world, &gone, number));
        Arc::new(Used { table, _user: user })
    }
}

// Those of statistics and memory see keys that move twice.
store::conformance!(OnMovingStores,
    row_004_keys_and_values
    row_005_versioned_get
    row_006_conditional_write
    row_007_outcomes_of_writes
    row_008_revert
    row_011_one_key_is_linearisable
    row_012_no_torn_rows
    row_013_one_of_two_writers_wins
    row_014_scan_equals_gets
    row_017_no_lost_update
    row_018_each_key_once
    row_019_reads_while_collecting
    row_029_selection
    row_030_projection
    row_031_aggregates
    row_034_equal_selections
    row_035_scan_sees_what_is_not_merged
    row_036_partitions
);

/// Each scan has every key of its snapshot once, whole and in parts, while keys move, change and
/// are collected.
#[test]
fn row_75_scans_have_each_key_once_while_keys_move() {
    const KEYS: u64 = 600;
    for layout in [Layout::Columns, Layout::Rows, Layout::Log] {
        let world = World::start();
        let cluster = world.cluster();
        let form = schema(TableKind::Transactional);
        let made = cluster.create("t", &form, layout);
        let table = block_on(made, || cluster.flush()).expect("is new");
        let tuple = |n: i64| Tuple::encode(table.schema(), &row(n)).expect("fits");
        let manager = Manager::default();
        manager.run(|snapshot| {
            (0..KEYS).for_each(|key| table.insert(snapshot, key, &tuple(1)).expect("inserts"));
        });
        let is_over = AtomicBool::new(false);
        let over = || is_over.load(Ordering::Relaxed);
        thread::scope(|scope| {
            let (world, manager, table, tuple) = (&world, &manager, &table, &tuple);
            scope.spawn(move || {
                let (cluster, mut random) = (world.cluster(), Random::new(9));
                while !over() {
                    world.make_move(&cluster, &mut random);
                }
            });
            scope.spawn(move || {
                // Takes from one key what it gives to another: sums stay.
                let mut random = Random::new(4);
                while !over() {
                    let (one, two) = (random.below(KEYS), random.below(KEYS));
                    manager.run(|snapshot| {
                        let value = |key| match table.get(snapshot, key) {
                            Ok(found) => found.tuple.decode(table.schema())[0].clone(),
                            Err(error) => panic!("{error}"),
                        };
                        let (types::Value::I64(a), types::Value::I64(b)) = (value(one), value(two))
                        else {
                            panic!("no numbers")
                        };
                        if one != two {
                            table.update(snapshot, one, &tuple(a - 1)).expect("it is alone");
                            table.update(snapshot, two, &tuple(b + 1)).expect("it is alone");
                        }
                    });
                    if random.chance(5) {
                        table.collect(manager.lowest_active()).expect("collects");
                    }
                }
            });
            let sum = Query::aggregates(vec![Aggregate::Rows, Aggregate::Sum(FieldId(0))]);
            let mut scans = 0;
            while world.moves.load(Ordering::Relaxed) < 40 || scans < 40 {
                scans += 1;
                let snapshot = manager.begin();
                let (_, end) = collected(table, &sum, &snapshot);
                let (rows, total) = (KEYS as i64, i128::from(KEYS));
                let expected = vec![types::Value::I64(rows), types::Value::I128(total)];
                assert_eq!(end.values, expected, "{layout:?}");
                let mut keys = Vec::new();
                let count = 1 + scans % 5;
                for number in 0..count {
                    let partition = Some(Partition { count, number });
                    let part = Query { partition, ..Query::fields(vec![FieldId(0)]) };
                    let rows = collected(table, &part, &snapshot).0;
                    keys.extend(rows.into_iter().map(|(key, _)| key));
                }
                keys.sort_unstable();
                assert_eq!(keys, (0..KEYS).collect::<Vec<_>>(), "{layout:?}");
                manager.finish(&snapshot);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        // At rest, nothing is there twice.
        table.collect(manager.lowest_active()).expect("collects");
        table.collect(manager.lowest_active()).expect("collects");
        table.collect(manager.lowest_active()).expect("collects");
        assert_eq!(table.stats().versions, KEYS, "{layout:?}");
    }
}

/// An order that another one followed does nothing any more.
#[test]
fn row_75_old_orders_do_nothing() {
    let world = World::start();
    let (cluster, mut random) = (world.cluster(), Random::new(3));
    let form = schema(TableKind::Transactional);
    let made = cluster.create("t", &form, Layout::Rows);
    let table = block_on(made, || cluster.flush()).expect("is new");
    let manager = Manager::default();
    let tuple = Tuple::encode(table.schema(), &row(1)).expect("fits");
    manager.run(|snapshot| {
        (0..100).for_each(|key| table.insert(snapshot, key, &tuple).expect("inserts"));
    });
    let what = world.choose(&mut random);
    let run = |order: MoveOrder| block_on(cluster.copy(&order), || cluster.flush());
    let order = |attempt| MoveOrder { attempt: Attempt(attempt), what, phase: Phase::Copies };
    run(order(2)).expect("is the first");
    assert_eq!(run(order(1)), Err(StoreError::Overtaken));
    // The move was never decided: the source goes on when it is told so.
    let last = order(3);
    block_on(cluster.keep(&last), || cluster.flush()).expect("is the last");
    let snapshot = manager.begin();
    (0..100).for_each(|key| drop(table.get(&snapshot, key).expect("is there")));
    assert_eq!(run(order(2)), Err(StoreError::Overtaken));
}
