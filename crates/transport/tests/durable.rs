//! Rows 72 and 73: what a store acknowledged is there after a loss of power at any change of its
//! disk, and its log has an end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use host::{Fault, Io, SimIo, Tear};
use parking_lot::Mutex;
use store::conformance::{Manager, row, schema};
use store::server::{Layout, Store, StoreOptions};
use store::{Snapshot, StoreError, Table as _, TableKind, Tuple, Version};
use testkit::Random;
use transport::{
    Change, Channel, Cluster, DurableOptions, DurableService, Entry, Exchange, Outbox, Outlet,
    Patience, RemoteTable, StoreServiceOptions,
};
use types::SqlState;
use wal::{Background, LogOptions};

fn open(disk: &SimIo, snapshot_bytes: u64) -> types::Result<Exchange<DurableService>> {
    let memory = StoreOptions { page_bytes: 32 << 10, ..StoreOptions::default() };
    let store = Arc::new(Store::open(memory).expect("opens"));
    let io: Arc<dyn Io> = Arc::new(disk.clone());
    let log = LogOptions {
        segment_bytes: 64 << 10,
        background: Background::None,
        ..LogOptions::default()
    };
    let (directory, service) = (Path::new("store"), StoreServiceOptions::default());
    let options = DurableOptions { io: &io, directory, service, log, snapshot_bytes };
    DurableService::open(store, &options)
}

struct Nowhere;

impl Outbox for Nowhere {
    fn put(&self, _: &Entry<'_>) {}
}

/// A network of one call at a time, whose server may have lost its power: then nothing comes back.
struct Direct {
    server: Arc<Exchange<DurableService>>,
    answers: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Outlet for Direct {
    fn send(&self, frame: Vec<u8>) {
        let outbox: Arc<dyn Outbox> = Arc::new(Nowhere);
        let answers = self.server.receive(&frame, &outbox).expect("a frame");
        self.answers.lock().extend(answers);
    }
}

struct Client {
    channel: Arc<Channel>,
    cluster: Cluster,
    server: Mutex<Option<Arc<Exchange<DurableService>>>>,
    answers: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Client {
    fn new(number: u64) -> Self {
        let channel = Arc::new(Channel::new(number, Patience::Resend));
        let cluster = Cluster::new(vec![Arc::clone(&channel)]);
        Self { channel, cluster, server: Mutex::default(), answers: Arc::default() }
    }

    fn connect(&self, server: &Arc<Exchange<DurableService>>) {
        *self.server.lock() = Some(Arc::clone(server));
        let (server, answers) = (Arc::clone(server), Arc::clone(&self.answers));
        self.channel.attach(Arc::new(Direct { server, answers }));
        self.deliver();
    }

    /// A snapshot, if one is due; true when one was made.
    fn snapshot(&self) -> types::Result<bool> {
        let server = self.server.lock().clone().expect("is connected");
        Ok(server.snapshot_if_due()?.is_some())
    }

    fn deliver(&self) {
        loop {
            let answers = std::mem::take(&mut *self.answers.lock());
            if answers.is_empty() {
                return;
            }
            answers.iter().for_each(|frame| self.channel.receive(frame).expect("a frame"));
        }
    }

    /// Runs calls to their end, if the server lives.
    fn run<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = std::pin::pin!(future);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for _ in 0..4 {
            if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return Some(output);
            }
            self.channel.flush();
            self.deliver();
        }
        None
    }
}

const KEYS: u64 = 8;

/// Last row that each key is known to have had; `None` for a removal.
type Known = std::collections::BTreeMap<u64, Option<i64>>;

/// A client's work on one table, and what it was told.
struct Work {
    client: Client,
    manager: Manager,
    table: RemoteTable,
    random: Random,
    known: Known,
    /// The write that was not answered.
    open: Option<(u64, Option<i64>)>,
}

impl Work {
    fn begin(server: &Arc<Exchange<DurableService>>, kind: TableKind, seed: u64) -> Option<Self> {
        let client = Client::new(5);
        client.connect(server);
        let layouts = [Layout::Rows, Layout::Columns, Layout::Log];
        let rows = schema(kind);
        let create = client.cluster.create("t", &rows, layouts[seed as usize % 3]);
        let table = client.run(create)?.expect("is new");
        let (manager, random, known) = (Manager::default(), Random::new(seed), Known::new());
        Some(Self { client, manager, table, random, known, open: None })
    }

    /// A write of the newest row of a key; `None` when it was not answered.
    fn step(&mut self, n: i64) -> Option<()> {
        let key = self.random.below(KEYS);
        let before = self.known.get(&key).copied().flatten();
        let tuple = Tuple::encode(self.table.schema(), &row(n)).expect("fits");
        let (change, after) = match before {
            None => (Change::Insert(&tuple), Some(n)),
            Some(_) if self.random.chance(30) => (Change::Remove, None),
            Some(_) => (Change::Update(&tuple), Some(n)),
        };
        let (snapshot, is_transactional) = match self.table.schema().kind() {
            TableKind::Transactional => (self.manager.begin(), true),
            TableKind::NonTransactional => {
                let newest = self.client.run(self.table.newest_later(key))?.expect("is told");
                (Snapshot::conditional(newest).expect("fits"), false)
            }
        };
        self.open = Some((key, after));
        let write = self.table.write_later(&snapshot, key, change);
        self.client.run(write)?.expect("nobody else writes");
        if is_transactional && self.random.chance(20) {
            self.client.run(self.table.revert_later(snapshot.version(), key))?.expect("reverts");
            self.known.insert(key, before);
        } else {
            self.known.insert(key, after);
        }
        self.open = None;
        if is_transactional {
            self.manager.finish(&snapshot);
        }
        if self.random.chance(10) {
            let server = self.client.server.lock().clone().expect("is connected");
            let store = server.service().store();
            let table = store.table(store::server::TableId(1)).expect("is there");
            table.collect(self.manager.lowest_active()).expect("there is room");
        }
        Some(())
    }

    /// Looks that `server`, which opened again, has what was acknowledged.
    fn check(&self, server: &Arc<Exchange<DurableService>>, what: &str) {
        let again = Client::new(6);
        again.connect(server);
        let found = again.run(again.cluster.find("t")).expect("lives");
        let table = found.unwrap_or_else(|error| panic!("{what}: {error}"));
        for (key, last) in &self.known {
            let newest = match table.schema().kind() {
                TableKind::Transactional => Snapshot::analytical(Version(0), Version::MAX),
                TableKind::NonTransactional => Ok(Snapshot::newest()),
            };
            let found = again.run(table.get_later(&newest.expect("fits"), *key)).expect("lives");
            let values = match found {
                Ok(found) => Some(found.tuple.decode(table.schema())),
                Err(StoreError::NotFound) => None,
                Err(error) => panic!("{what}, key {key}: {error}"),
            };
            // The write that was not answered may have happened or not, and its revert, too.
            let open = self.open.filter(|open| open.0 == *key).map(|open| open.1.map(row));
            let is_known = values == last.map(row) || Some(&values) == open.as_ref();
            assert!(is_known, "{what}, key {key}: {values:?}, {last:?}");
        }
    }
}

/// Bytes of log after which snapshots are made in these tests: every few writes.
const OFTEN: u64 = 1500;

/// Works until the power is lost at change `at` of the disk; true when it was lost.
fn lose_power(at: u64, kind: TableKind, snapshot_bytes: u64) -> bool {
    let what = format!("power loss at {at}, {kind:?}, snapshots after {snapshot_bytes}");
    let disk = SimIo::new(at, Tear::Bytes);
    disk.inject(Fault::PowerLoss(at));
    let mut snapshots = 0;
    let work = open(&disk, snapshot_bytes).ok().and_then(|server| {
        let mut work = Work::begin(&Arc::new(server), kind, at)?;
        for n in 0..60 {
            if work.step(n).is_none() {
                break;
            }
            // Without power there is none.
            snapshots += usize::from(work.client.snapshot().is_ok_and(|is_made| is_made));
        }
        Some(work)
    });
    let is_lost = disk.is_powerless();
    assert!(is_lost || snapshot_bytes > OFTEN || snapshots > 2, "{what}: {snapshots} snapshots");
    disk.crash();
    // Twice: what the first one leaves can be opened, too.
    for _ in 0..2 {
        let server = Arc::new(open(&disk, snapshot_bytes).expect("opens again"));
        if let Some(work) = &work {
            work.check(&server, &what);
        }
        server.snapshot_if_due().expect("the disk works");
        drop(server);
        disk.kill();
    }
    is_lost
}

#[test]
fn row_72_what_was_acknowledged_is_there() {
    for kind in [TableKind::Transactional, TableKind::NonTransactional] {
        for snapshot_bytes in [u64::MAX, OFTEN] {
            let lost = (1..).take_while(|at| lose_power(*at, kind, snapshot_bytes)).count();
            assert!(lost > 50, "power was lost {lost} times");
        }
    }
}

/// A client that asks again after a crash gets the answer that was on its way, and the call is not
/// done twice; a fence outlives the crash.
#[test]
fn row_72_calls_happen_once_over_crashes() {
    for snapshot_bytes in [u64::MAX, 0] {
        let disk = SimIo::new(3, Tear::Bytes);
        let again = || Arc::new(open(&disk, snapshot_bytes).expect("opens again"));
        let client = Client::new(5);
        client.connect(&again());
        let counters = schema(TableKind::NonTransactional);
        let create = client.cluster.create("t", &counters, Layout::Rows);
        let table = client.run(create).expect("lives").expect("is new");
        for n in 0..30 {
            let snapshot = Snapshot::conditional(Version(n)).expect("fits");
            let tuple = Tuple::encode(table.schema(), &row(n as i64)).expect("fits");
            let change = if n == 0 { Change::Insert(&tuple) } else { Change::Update(&tuple) };
            let write = table.write_later(&snapshot, 1, change);
            // The frame arrives, its answer does not.
            client.channel.flush();
            client.answers.lock().clear();
            client.snapshot().expect("the disk works");
            disk.crash();
            client.connect(&again());
            client.run(write).expect("lives").expect("done twice it would be a conflict");
        }
        assert_eq!(client.run(table.newest_later(1)), Some(Ok(Version(30))));
        client.run(client.cluster.fence(99)).expect("lives").expect("fences");
        client.snapshot().expect("the disk works");
        disk.crash();
        let server = again();
        assert!(server.sessions().is_fenced(99) && !server.sessions().is_fenced(5));
    }
}

/// A table that was dropped stays away, also where a snapshot has it and the log makes it again;
/// the others keep their numbers.
#[test]
fn dropped_tables_stay_away() {
    for snapshot_bytes in [u64::MAX, 0] {
        for snapshot_at in 0..6 {
            let disk = SimIo::new(snapshot_at, Tear::Bytes);
            let again = || Arc::new(open(&disk, snapshot_bytes).expect("opens again"));
            let client = Client::new(5);
            client.connect(&again());
            let snapshot = |at| {
                if at == snapshot_at {
                    client.snapshot().expect("the disk works");
                }
            };
            let records = schema(TableKind::NonTransactional);
            let create = |name| {
                let made = client.run(client.cluster.create(name, &records, Layout::Rows));
                made.expect("lives").expect("is new")
            };
            let write = |table: &RemoteTable| {
                let tuple = Tuple::encode(table.schema(), &row(7)).expect("fits");
                let first = Snapshot::conditional(Version(0)).expect("fits");
                let write = table.write_later(&first, 1, Change::Insert(&tuple));
                client.run(write).expect("lives").expect("is new");
            };
            let drop_table = |name| {
                client.run(client.cluster.drop_table(name)).expect("lives").expect("drops");
            };
            snapshot(0);
            let gone = create("gone");
            snapshot(1);
            write(&gone);
            snapshot(2);
            let kept = create("kept");
            write(&kept);
            snapshot(3);
            drop_table("gone");
            drop_table("never there");
            snapshot(4);
            let last = create("last");
            snapshot(5);
            for _ in 0..2 {
                disk.crash();
                client.connect(&again());
                let found = client.run(client.cluster.find("gone")).expect("lives");
                assert!(matches!(found, Err(StoreError::InvalidTable(_))), "{snapshot_at}");
                assert_eq!(client.run(gone.newest_later(1)), Some(Ok(Version(0))));
                assert_eq!(client.run(kept.newest_later(1)), Some(Ok(Version(1))));
                assert_eq!(client.run(last.newest_later(1)), Some(Ok(Version(0))));
                // What comes too late is nobody's.
                drop_table("gone");
            }
            write(&last);
            disk.crash();
            client.connect(&again());
            assert_eq!(client.run(last.newest_later(1)), Some(Ok(Version(1))));
        }
    }
}

#[test]
fn row_73_the_disk_has_bounds() {
    let (segment_bytes, snapshot_bytes) = (64 << 10, 128 << 10);
    for kind in [TableKind::Transactional, TableKind::NonTransactional] {
        let disk = SimIo::new(1, Tear::Bytes);
        let server = Arc::new(open(&disk, snapshot_bytes).expect("opens"));
        let mut work = Work::begin(&server, kind, 1).expect("lives");
        let (mut most, mut snapshots) = (0, 0);
        for n in 0..6000 {
            work.step(n).expect("lives");
            snapshots += u64::from(work.client.snapshot().expect("the disk works"));
            most = most.max(disk.used_bytes());
        }
        let logged = snapshots * snapshot_bytes;
        println!("{kind:?}: {logged} bytes of log, {snapshots} snapshots, {most} bytes at most");
        // The log up to a snapshot and its last segment, two snapshots of some KiB.
        let bound = snapshot_bytes + 4 * segment_bytes;
        assert!(most < bound && logged > bound, "{most}, {logged}");
        disk.crash();
        work.check(&Arc::new(open(&disk, snapshot_bytes).expect("opens again")), "bounds");
    }
}

/// Snapshots without a pause while clients write, take back, remove and collect: what is opened is
/// what was there, also where a snapshot has calls that are done again.
#[test]
fn row_72_snapshots_while_clients_write() {
    for seed in 0..12 {
        let disk = SimIo::new(seed, Tear::Bytes);
        let kind = [TableKind::Transactional, TableKind::NonTransactional][seed as usize % 2];
        let server = Arc::new(open(&disk, 0).expect("opens"));
        let first = Work::begin(&server, kind, seed).expect("lives");
        let (manager, over) = (Manager::default(), AtomicBool::new(false));
        thread::scope(|scope| {
            let writer = |number: u64| {
                let (server, manager) = (&server, &manager);
                move || {
                    let client = Client::new(10 + number);
                    client.connect(server);
                    let table = client.run(client.cluster.find("t")).expect("lives");
                    let table = table.expect("is there");
                    let mut random = Random::new(seed * 10 + number);
                    (0..150).for_each(|_| contend(&client, &table, manager, &mut random));
                }
            };
            let writers: Vec<_> = (0..3).map(|number| scope.spawn(writer(number))).collect();
            let snapshots = scope.spawn(|| {
                let mut made = 0;
                loop {
                    // One is due behind the last write at the latest.
                    let is_last = over.load(Ordering::Acquire);
                    made += usize::from(server.snapshot_if_due().expect("works").is_some());
                    let table = server.service().store().table(store::server::TableId(1));
                    let collected = table.expect("is there").collect(manager.lowest_active());
                    collected.expect("there is room");
                    if is_last {
                        return made;
                    }
                }
            });
            writers.into_iter().for_each(|writer| writer.join().expect("writes"));
            over.store(true, Ordering::Release);
            assert!(snapshots.join().expect("snapshots") > 0);
        });
        let before = newest(&server, kind);
        drop((first, server));
        disk.crash();
        let again = open(&disk, 0).expect("opens again");
        assert_eq!(newest(&again, kind), before, "seed {seed}");
    }
}

/// One write of a key that others write, too.
fn contend(client: &Client, table: &RemoteTable, manager: &Manager, random: &mut Random) {
    let (key, n) = (random.below(KEYS), random.within(0..1000));
    let is_transactional = table.schema().kind() == TableKind::Transactional;
    let begun = is_transactional.then(|| manager.begin());
    let reads = match &begun {
        Some(snapshot) => snapshot.clone(),
        None => Snapshot::newest(),
    };
    let version = client.run(table.newest_later(key)).expect("lives").expect("is told");
    let found = client.run(table.get_later(&reads, key)).expect("lives");
    let tuple = Tuple::encode(table.schema(), &row(n)).expect("fits");
    let change = match found {
        Ok(_) if random.chance(40) => Change::Remove,
        Ok(_) => Change::Update(&tuple),
        Err(_) => Change::Insert(&tuple),
    };
    let writes = match &begun {
        Some(snapshot) => snapshot.clone(),
        None => Snapshot::conditional(version).expect("fits"),
    };
    // Another one may have been there.
    let outcome = client.run(table.write_later(&writes, key, change)).expect("lives");
    if let Some(snapshot) = begun {
        if outcome.is_ok() && random.chance(40) {
            let reverted = client.run(table.revert_later(snapshot.version(), key));
            reverted.expect("lives").expect("nobody writes above it");
        }
        manager.finish(&snapshot);
    }
}

/// The newest row of each key, with its version.
fn newest(
    server: &Exchange<DurableService>,
    kind: TableKind,
) -> Vec<Option<(Version, Vec<types::Value>)>> {
    let table = server.service().store().table(store::server::TableId(1)).expect("is there");
    let snapshot = match kind {
        TableKind::Transactional => Snapshot::analytical(Version(0), Version::MAX).expect("fits"),
        TableKind::NonTransactional => Snapshot::newest(),
    };
    let of = |key| match table.get(&snapshot, key) {
        Ok(found) => Some((found.version, found.tuple.decode(table.schema()))),
        Err(StoreError::NotFound) => None,
        Err(error) => panic!("key {key}: {error}"),
    };
    (0..KEYS).map(of).collect()
}

/// A disk that is full refuses writes and snapshots, and nothing else; with room they go on.
#[test]
fn a_full_disk_refuses_writes() {
    let disk = SimIo::new(4, Tear::Bytes);
    let server = Arc::new(open(&disk, OFTEN).expect("opens"));
    let mut work = Work::begin(&server, TableKind::Transactional, 4).expect("lives");
    (0..10).for_each(|n| work.step(n).expect("lives"));
    disk.set_capacity(Some(disk.used_bytes()));
    let snapshot = Snapshot::read_write(Version(0), Version(900), Version(901), &[]).expect("ok");
    let row = |n| Tuple::encode(work.table.schema(), &row(n)).expect("fits");
    let mut key = 1000;
    let refused = loop {
        let tuple = row(key as i64);
        let write = work.table.write_later(&snapshot, key, Change::Insert(&tuple));
        match work.client.run(write).expect("lives") {
            Ok(()) => key += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, StoreError::DiskFull);
    assert_eq!(types::Error::from(refused).state(), SqlState::DISK_FULL);
    let error = server.snapshot_if_due().expect_err("there is no room");
    assert_eq!(error.state(), SqlState::DISK_FULL, "{error}");
    assert!(disk.files().iter().all(|(path, _)| !path.ends_with("snapshot.tmp")));
    assert!(work.client.run(work.table.get_later(&snapshot, 1000)).expect("lives").is_ok());
    disk.set_capacity(None);
    let tuple = row(1);
    let write = work.table.write_later(&snapshot, key, Change::Insert(&tuple));
    assert_eq!(work.client.run(write), Some(Ok(())));
    assert!(server.snapshot_if_due().expect("there is room").is_some());
}

/// Each byte of a snapshot counts: one that changed is noticed.
#[test]
fn damaged_snapshots_are_refused() {
    let disk = SimIo::new(7, Tear::Bytes);
    let server = Arc::new(open(&disk, OFTEN).expect("opens"));
    let mut work = Work::begin(&server, TableKind::Transactional, 7).expect("lives");
    let mut n = 0;
    while !work.client.snapshot().expect("the disk works") {
        work.step(n).expect("lives");
        n += 1;
    }
    drop((work, server));
    disk.kill();
    let path = Path::new("store/snapshot");
    let files = disk.files();
    let bytes = files.iter().find(|file| file.0 == path).expect("is there").1;
    for offset in 0..bytes {
        let copy = disk.fork(offset);
        copy.flip(path, offset, 1 << (offset % 8)).expect("is there");
        let error = open(&copy, OFTEN).err().expect("a changed byte");
        assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "byte {offset}: {error}");
    }
}
