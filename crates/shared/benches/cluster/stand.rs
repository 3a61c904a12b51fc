//! Stores and a manager on loopback, and tasks of one thread.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host::{Clock as _, Io, RealClock, RealIo};
use shared::manager::{self, FileKeeper, ManagerOptions, ManagerService};
use shared::{Addresses, Member};
use store::conformance::Manager;
use store::server::{Layout, Store, StoreOptions};
use store::{Schema, Tuple};
use testkit::Scratch;
use transport::{
    Change, Cluster, Connection, ConnectionOptions, DurableOptions, DurableService, Exchange,
    Listener, ListenerOptions, RemoteTable, SNAPSHOT_BYTES, Service, StoreService,
    StoreServiceOptions, Tasks, block_on,
};
use wal::LogOptions;

/// Logs of the stores.
#[derive(Clone, Copy)]
pub(crate) enum Disk<'a> {
    None,
    At(&'a Path),
}

/// A database.
pub(crate) struct Stand {
    pub(crate) cluster: Cluster,
    addresses: Addresses,
    _connections: Vec<Connection>,
    _listeners: Vec<Listener>,
    _scratch: Scratch,
}

/// Connections to all stores.
pub(crate) struct Link {
    pub(crate) cluster: Cluster,
    _connections: Vec<Connection>,
}

impl Link {
    fn new(addresses: &Addresses, number: u64) -> Self {
        let open = |address| {
            let client = (1 << 62) + number;
            let options =
                ConnectionOptions { client, patience: Duration::ZERO, token: None, database: None };
            Connection::open(address, options).expect("connects")
        };
        let connections: Vec<_> = addresses.stores.iter().copied().map(open).collect();
        let channels = connections.iter().map(|store| Arc::clone(store.channel())).collect();
        Self { cluster: Cluster::new(channels), _connections: connections }
    }
}

fn listen<S: Service + 'static>(exchange: Exchange<S>) -> Listener {
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
    Listener::start(port, Arc::new(exchange), ListenerOptions::default()).expect("starts")
}

fn store(disk: Disk<'_>, number: usize) -> Listener {
    let options = StoreOptions { collect_interval: Duration::from_secs(5), ..Default::default() };
    let store = Arc::new(Store::open(options).expect("opens"));
    let service = StoreServiceOptions::default();
    let Disk::At(directory) = disk else {
        return listen(Exchange::new(StoreService::new(store, service), 1));
    };
    let io: Arc<dyn Io> = Arc::new(RealIo);
    let directory = &directory.join(number.to_string());
    let (log, snapshot_bytes) = (LogOptions::default(), SNAPSHOT_BYTES);
    let options = DurableOptions { io: &io, directory, service, log, snapshot_bytes };
    listen(DurableService::open(store, &options).expect("opens"))
}

impl Stand {
    pub(crate) fn start(stores: usize, disk: Disk<'_>) -> Self {
        let mut listeners: Vec<_> = (0..stores).map(|number| store(disk, number)).collect();
        let scratch = Scratch::new(&format!("bench-cluster-{stores}"));
        let directory = scratch.path().to_path_buf();
        let keeper = FileKeeper::open(Arc::new(RealIo), directory).expect("opens");
        let now = RealClock.micros();
        let manager =
            manager::Manager::open(keeper, ManagerOptions::default(), now).expect("opens");
        let life = manager.life();
        let service = ManagerService::new(manager, Arc::new(RealClock));
        let addresses = listeners.iter().map(Listener::address).collect();
        listeners.push(listen(Exchange::new(service, life)));
        let addresses = Addresses {
            manager: listeners[stores].address(),
            stores: addresses,
            patience: Duration::from_secs(10),
            token: None,
        };
        let Link { cluster, _connections } = Link::new(&addresses, 0);
        Self { cluster, addresses, _connections, _listeners: listeners, _scratch: scratch }
    }

    /// Connections of client `number`, from 1.
    pub(crate) fn another(&self, number: u64) -> Link {
        Link::new(&self.addresses, number)
    }

    pub(crate) fn join(&self) -> Member {
        Member::join(&self.addresses).expect("joins")
    }
}

/// A table to be made.
pub(crate) struct NewTable<'a> {
    pub(crate) name: &'a str,
    pub(crate) schema: Schema,
    pub(crate) layout: Layout,
}

/// Makes a table and fills it with `rows` rows, whose keys are their numbers; the table, and who
/// gives its snapshots.
pub(crate) fn filled(
    cluster: &Cluster,
    new: &NewTable<'_>,
    rows: u64,
    row: impl Fn(u64) -> Tuple,
) -> (RemoteTable, Manager) {
    let made = block_on(cluster.create(new.name, &new.schema, new.layout), || cluster.flush());
    let (table, manager) = (made.expect("is new"), Manager::default());
    manager.run(|snapshot| {
        all(
            64,
            rows,
            || cluster.flush(),
            async |key| {
                let tuple = row(key);
                let write = table.write_later(snapshot, key, Change::Insert(&tuple));
                write.await.expect("inserts");
            },
        );
    });
    (table, manager)
}

/// Does `count` pieces of work, `batch` at a time on this thread.
pub(crate) fn all(batch: usize, count: u64, flush: impl Fn(), work: impl AsyncFn(u64)) {
    let next = std::cell::Cell::new(0);
    let mut tasks = Tasks::default();
    for _ in 0..batch {
        let (next, work) = (&next, &work);
        tasks.spawn(async move {
            while next.get() < count {
                let number = next.get();
                next.set(number + 1);
                work(number).await;
            }
        });
    }
    while !tasks.is_empty() {
        tasks.round();
        flush();
        if !tasks.is_empty() {
            tasks.wait();
        }
    }
}
