//! Row 72: what a store acknowledged is there after a loss of power at any change of its disk.

use std::path::Path;
use std::sync::Arc;

use host::{Fault, Io, SimIo, Tear};
use parking_lot::Mutex;
use store::conformance::{Manager, row, schema};
use store::server::{Layout, Store, StoreOptions};
use store::{Snapshot, Table as _, TableKind, Tuple, Version};
use transport::{
    Change, Channel, Cluster, DurableOptions, DurableService, Entry, Exchange, Outbox, Outlet,
    Patience, StoreServiceOptions,
};
use wal::{Background, LogOptions};

fn open(disk: &SimIo) -> types::Result<Exchange<DurableService>> {
    let memory = StoreOptions { page_bytes: 32 << 10, ..StoreOptions::default() };
    let store = Arc::new(Store::open(memory).expect("opens"));
    let io: Arc<dyn Io> = Arc::new(disk.clone());
    let log = LogOptions {
        segment_bytes: 64 << 10,
        background: Background::None,
        ..LogOptions::default()
    };
    let (directory, service) = (Path::new("store"), StoreServiceOptions::default());
    DurableService::open(store, &DurableOptions { io: &io, directory, service, log })
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
    answers: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Client {
    fn new() -> Self {
        let channel = Arc::new(Channel::new(5, Patience::Resend));
        let cluster = Cluster::new(vec![Arc::clone(&channel)]);
        Self { channel, cluster, answers: Arc::default() }
    }

    fn connect(&self, server: Exchange<DurableService>) {
        let answers = Arc::clone(&self.answers);
        self.channel.attach(Arc::new(Direct { server: Arc::new(server), answers }));
        self.deliver();
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

#[test]
fn row_72_what_was_acknowledged_is_there() {
    let mut lost_power = 0;
    for at in 1..90 {
        let disk = SimIo::new(at, Tear::Bytes);
        disk.inject(Fault::PowerLoss(at));
        let client = Client::new();
        let manager = Manager::default();
        let mut acknowledged = Vec::new();
        if let Ok(server) = open(&disk) {
            client.connect(server);
            let rows = schema(TableKind::Transactional);
            let Some(Ok(table)) = client.run(client.cluster.create("t", &rows, Layout::Rows))
            else {
                continue;
            };
            for n in 0..40_i64 {
                let snapshot = manager.begin();
                let tuple = Tuple::encode(table.schema(), &row(n)).expect("fits");
                let key = n as u64 % 20;
                let change = if n < 20 { Change::Insert(&tuple) } else { Change::Update(&tuple) };
                match client.run(table.write_later(&snapshot, key, change)) {
                    Some(outcome) => {
                        outcome.expect("nobody else writes");
                        acknowledged.push((key, n));
                        manager.finish(&snapshot);
                    }
                    None => break,
                }
            }
        }
        lost_power += usize::from(acknowledged.len() < 40);
        disk.crash();
        let server = open(&disk).expect("opens again");
        let again = Client::new();
        again.connect(server);
        let Some(Ok(table)) = again.run(again.cluster.find("t")) else {
            assert!(acknowledged.is_empty(), "the table is lost: power loss at {at}");
            continue;
        };
        let newest = Snapshot::analytical(Version(0), Version(100)).expect("fits");
        let last: std::collections::BTreeMap<_, _> = acknowledged.into_iter().collect();
        for (key, n) in last {
            let found = again.run(table.get_later(&newest, key)).expect("lives").expect("is there");
            let values = found.tuple.decode(table.schema());
            let next = row(n + 20);
            assert!(values == row(n) || values == next, "key {key}: power loss at {at}");
        }
    }
    assert!(lost_power > 20, "power was lost {lost_power} times");
}

/// A client that asks again after a crash gets the answer that was on its way, and the call is not
/// done twice; a fence outlives the crash.
#[test]
fn row_72_calls_happen_once_over_crashes() {
    let disk = SimIo::new(3, Tear::Bytes);
    let client = Client::new();
    client.connect(open(&disk).expect("opens"));
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
        disk.crash();
        client.connect(open(&disk).expect("opens again"));
        client.run(write).expect("lives").expect("done twice it would be a conflict");
    }
    assert_eq!(client.run(table.newest_later(1)), Some(Ok(Version(30))));
    client.run(client.cluster.fence(99)).expect("lives").expect("fences");
    disk.crash();
    let server = open(&disk).expect("opens again");
    assert!(server.sessions().is_fenced(99) && !server.sessions().is_fenced(5));
}
