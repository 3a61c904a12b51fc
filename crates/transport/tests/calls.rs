//! Rows 3, 37, 38, 60 and 62: placement, pushed scans with grants, batches; connections that break.

mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use store::conformance::{Manager, row, schema};
use store::server::Layout;
use store::{
    Aggregate, FieldId, Flow, Query, Rows, ScanRequest, Sink, Snapshot, StoreError, Table,
    TableKind, Tuple, Version,
};
use support::{Served, Stores};
use testkit::Random;
use transport::{Change, Cluster, RemoteTable, StoreServiceOptions, Tasks, block_on, store_of};
use types::Value;

fn table(cluster: &Cluster, kind: TableKind) -> RemoteTable {
    let schema = schema(kind);
    block_on(cluster.create("t", &schema, Layout::Rows), || cluster.flush()).expect("is new")
}

fn tuple(table: &RemoteTable, n: i64) -> Tuple {
    Tuple::encode(table.schema(), &row(n)).expect("fits")
}

#[test]
fn row_03_keys_are_spread_evenly() {
    for count in [1, 2, 3, 7] {
        let mut keys = vec![0_u64; count];
        (1..=100_000).for_each(|key| keys[store_of(key, count)] += 1);
        let even = 100_000 / count as u64;
        assert!(keys.iter().all(|n| n.abs_diff(even) < even / 50), "{keys:?}");
    }
}

/// Calls of many tasks go out together: one frame for each store and round.
#[test]
fn row_60_one_frame_carries_the_calls_of_all_tasks() {
    let stores = Stores::start(2);
    let table = table(&stores.cluster, TableKind::NonTransactional);
    let frames = || stores.cluster.channels().iter().map(|c| c.frames()).sum::<u64>();
    for n in 0..10 {
        let mut tasks = Tasks::default();
        for key in 0..64 {
            let table = &table;
            tasks.spawn(async move {
                let snapshot = Snapshot::conditional(Version(n)).expect("fits");
                let row = tuple(table, n as i64);
                let change = if n == 0 { Change::Insert(&row) } else { Change::Update(&row) };
                table.write_later(&snapshot, key, change).await.expect("nobody else writes");
                let found = table.get_later(&Snapshot::newest(), key).await.expect("is there");
                assert_eq!((found.version, found.tuple), (Version(n + 1), row));
            });
        }
        let before = frames();
        tasks.round();
        stores.cluster.flush();
        assert_eq!(frames() - before, 2, "64 writes, 2 stores");
        while !tasks.is_empty() {
            tasks.wait();
            tasks.round();
            stores.cluster.flush();
        }
    }
}

/// Counts rows, slowly; may stop.
struct Slow {
    rows: AtomicU64,
    stop_at: u64,
}

impl Sink for Slow {
    fn rows(&self, rows: &Rows) -> Flow {
        thread::yield_now();
        let seen = self.rows.fetch_add(rows.len() as u64, Ordering::Relaxed) + rows.len() as u64;
        if seen >= self.stop_at { Flow::Stop } else { Flow::Continue }
    }
}

fn wide(table: &RemoteTable, manager: &Manager, count: u64) {
    let bytes = Value::Str(vec![b'x'; 1000].into());
    manager.run(|snapshot| {
        let mut tasks = Tasks::default();
        for key in 0..count {
            let mut values = row(key as i64);
            values[6] = bytes.clone();
            let tuple = Tuple::encode(table.schema(), &values).expect("fits");
            let write = table.write_later(snapshot, key, Change::Insert(&tuple));
            tasks.spawn(async move { write.await.expect("inserts") });
        }
        while !tasks.is_empty() {
            tasks.round();
            table.cluster().flush();
            tasks.wait();
        }
    });
}

/// A result ten times as large as what the client grants at first comes whole; one that is not
/// wanted any more ends; both beside calls on keys.
#[test]
fn rows_37_and_38_rows_are_pushed_within_grants() {
    let stores = Stores::start(2);
    let table = table(&stores.cluster, TableKind::Transactional);
    let manager = Manager::default();
    wide(&table, &manager, 20_000);
    let snapshot = manager.begin();
    let query = Query::fields((0..7).map(FieldId).collect());
    for stop_at in [u64::MAX, 1] {
        let sink = Slow { rows: AtomicU64::new(0), stop_at };
        let request = ScanRequest { query: &query, snapshot: &snapshot, sink: &sink };
        let end = table.scan(&[request], 1).expect("scans").remove(0);
        let rows = sink.rows.into_inner();
        if stop_at == 1 {
            assert!(end.flow == Flow::Stop && rows < 10_000, "{rows} rows after the end");
        } else {
            assert_eq!((end.flow, end.rows, rows), (Flow::Continue, 20_000, 20_000));
        }
        assert!(table.get(&snapshot, 7).is_ok());
    }
    let query = Query::aggregates(vec![Aggregate::Sum(FieldId(0)), Aggregate::Max(FieldId(0))]);
    let sink = Slow { rows: AtomicU64::new(0), stop_at: 1 };
    let request = ScanRequest { query: &query, snapshot: &snapshot, sink: &sink };
    let end = table.scan(&[request], 1).expect("scans").remove(0);
    assert_eq!(end.values, [Value::I128(19_999 * 10_000), Value::I64(19_999)]);
}

/// A client that does not read holds up the others of its batch for the stall, and hears of it.
#[test]
fn row_38_a_client_that_does_not_read_is_told_so() {
    let options =
        StoreServiceOptions { scan_queue_bytes: 64 << 10, scan_stall: Duration::from_millis(5) };
    let served = Served::start(options);
    let connections = [(); 2].map(|()| served.connect(Duration::ZERO));
    let [idle, busy] = connections
        .each_ref()
        .map(|connection| Cluster::new(vec![Arc::clone(connection.channel())]));
    let table = table(&busy, TableKind::Transactional);
    let idle = block_on(idle.find("t"), || idle.flush()).expect("is there");
    let manager = Manager::default();
    wide(&table, &manager, 4000);
    let snapshot = manager.begin();
    let query = Query::fields((0..7).map(FieldId).collect());
    let few = Query::fields(vec![FieldId(0)]);
    let sink = Until { busy: &table, snapshot: &snapshot, query: &few };
    let request = ScanRequest { query: &query, snapshot: &snapshot, sink: &sink };
    assert_eq!(idle.scan(&[request], 1), Err(StoreError::Overloaded));
}

/// Reads nothing more until another query, which came later, is answered.
struct Until<'a> {
    busy: &'a RemoteTable,
    snapshot: &'a Snapshot,
    query: &'a Query,
}

impl Sink for Until<'_> {
    fn rows(&self, _: &Rows) -> Flow {
        let sink = Slow { rows: AtomicU64::new(0), stop_at: u64::MAX };
        let request = ScanRequest { query: self.query, snapshot: self.snapshot, sink: &sink };
        let end = self.busy.scan(&[request], 1).expect("scans").remove(0);
        assert_eq!(end.rows, 4000);
        Flow::Continue
    }
}

/// Calls on a connection that breaks fail, each with a reason, and so do all later ones.
#[test]
fn calls_of_a_broken_connection_fail_clearly() {
    let stores = Stores::start(2);
    let table = table(&stores.cluster, TableKind::Transactional);
    let manager = Manager::default();
    let snapshot = manager.begin();
    table.insert(&snapshot, 1, &tuple(&table, 1)).expect("inserts");
    stores.served.iter().for_each(|store| store.listener.disconnect());
    let is_unreachable = |outcome: Result<(), StoreError>| match outcome {
        Err(StoreError::Unreachable(reason)) => reason.contains("127.0.0.1"),
        _ => false,
    };
    // What is on its way may still be answered.
    while table.get(&snapshot, 1).is_ok() {}
    while table.get(&snapshot, 2) == Err(StoreError::NotFound) {}
    for key in 0..10 {
        assert!(is_unreachable(table.get(&snapshot, key).map(drop)));
        assert!(is_unreachable(table.insert(&snapshot, key, &tuple(&table, 1))));
    }
    let sink = Slow { rows: AtomicU64::new(0), stop_at: u64::MAX };
    let query = Query::fields(vec![FieldId(0)]);
    let request = ScanRequest { query: &query, snapshot: &snapshot, sink: &sink };
    assert!(is_unreachable(table.scan(&[request], 1).map(drop)));
    assert_eq!(table.newest_version(1), Version::MAX);
}

/// Tells a thread to end, also when a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// With patience, calls outlive connections, and each happens once.
#[test]
fn patient_calls_happen_once_over_many_connections() {
    let served = Served::start(StoreServiceOptions::default());
    let connection = served.connect(Duration::from_secs(60));
    let cluster = Cluster::new(vec![Arc::clone(connection.channel())]);
    let table = table(&cluster, TableKind::NonTransactional);
    let (is_over, done) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        // Each call meets up to three ends of its connection: more would leave it no time.
        scope.spawn(|| {
            let mut met = u64::MAX;
            while !is_over.load(Ordering::Relaxed) {
                let now = done.load(Ordering::Relaxed);
                for _ in 0..if now == met { 0 } else { now % 4 } {
                    served.listener.disconnect();
                    thread::yield_now();
                }
                met = now;
                thread::yield_now();
            }
        });
        let _over = Over(&is_over);
        for n in 0..300 {
            let snapshot = Snapshot::conditional(Version(n)).expect("fits");
            let row = tuple(&table, n as i64);
            // Done twice, the second one would be a conflict.
            if n == 0 {
                table.insert(&snapshot, 5, &row).expect("inserts");
            } else {
                table.update(&snapshot, 5, &row).expect("updates");
            }
            done.store(n + 1, Ordering::Relaxed);
        }
    });
    assert_eq!(table.newest_version(5), Version(300));
}

/// A fenced client is refused, for writes and reads, on any connection.
#[test]
fn row_49_a_fenced_client_is_refused() {
    let stores = Stores::start(2);
    let table = table(&stores.cluster, TableKind::Transactional);
    let manager = Manager::default();
    let snapshot = manager.begin();
    table.insert(&snapshot, 1, &tuple(&table, 1)).expect("inserts");
    let others: Vec<_> = stores.served.iter().map(|store| store.connect(Duration::ZERO)).collect();
    let other = Cluster::new(others.iter().map(|c| Arc::clone(c.channel())).collect());
    for channel in stores.cluster.channels() {
        block_on(other.fence(channel.client()), || other.flush()).expect("fences");
    }
    assert_eq!(table.insert(&snapshot, 2, &tuple(&table, 1)), Err(StoreError::Fenced));
    assert_eq!(table.get(&snapshot, 1), Err(StoreError::Fenced));
    let again = block_on(other.find("t"), || other.flush()).expect("is there");
    assert_eq!(again.get(&snapshot, 2), Err(StoreError::NotFound));
    again.get(&snapshot, 1).expect("what came before the fence stays");
}

/// Bytes that are no frames end their connection, and nothing else.
#[test]
fn noise_ends_a_connection_and_nothing_else() {
    let stores = Stores::start(1);
    let table = table(&stores.cluster, TableKind::Transactional);
    let manager = Manager::default();
    let snapshot = manager.begin();
    table.insert(&snapshot, 1, &tuple(&table, 1)).expect("inserts");
    let mut random = Random::new(5);
    for round in 0..200 {
        let mut stream = TcpStream::connect(stores.served[0].listener.address()).expect("connects");
        let mut bytes: Vec<u8> = (0..random.below(200)).map(|_| random.bits() as u8).collect();
        if round % 2 == 0 {
            // A header that is right, and calls that are none.
            let length = (bytes.len() as u32).to_le_bytes();
            let mut frame = b"TS\x01\x00".to_vec();
            frame.extend(length);
            [9, 7, 0_u64].iter().for_each(|part| frame.extend(part.to_le_bytes()));
            if round % 4 == 0 && bytes.len() > 3 {
                let rest = bytes.len() - 3;
                bytes[..3].copy_from_slice(&[1, 0, rest.min(127) as u8]);
            }
            frame.extend(&bytes);
            bytes = frame;
        }
        // The server may have closed it in the middle; whatever it says, it ends.
        drop(stream.write_all(&bytes));
        drop(stream.shutdown(Shutdown::Write));
        drop(stream.read_to_end(&mut Vec::new()));
    }
    table.get(&snapshot, 1).expect("the others go on");
}
