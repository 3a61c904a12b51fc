//! Stores on loopback, and their clients.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use store::server::{Store, StoreOptions};
use transport::{
    Cluster, Connection, ConnectionOptions, Exchange, Listener, ListenerOptions, StoreService,
    StoreServiceOptions,
};

/// A store that serves a port of its own.
pub(crate) struct Served {
    pub(crate) listener: Listener,
}

impl Served {
    pub(crate) fn start(options: StoreServiceOptions) -> Self {
        let memory = StoreOptions { page_bytes: 8 << 10, ..StoreOptions::default() };
        let store = Arc::new(Store::open(memory).expect("opens"));
        let exchange = Arc::new(Exchange::new(StoreService::new(store, options), 7));
        let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let listener = Listener::start(port, exchange, ListenerOptions::default()).expect("starts");
        Self { listener }
    }

    pub(crate) fn connect(&self, patience: Duration) -> Connection {
        static CLIENTS: AtomicU64 = AtomicU64::new(1);
        let client = CLIENTS.fetch_add(1, Ordering::Relaxed);
        let options = ConnectionOptions { client, patience, token: None, database: None };
        Connection::open(self.listener.address(), options).expect("connects")
    }
}

/// Some stores and a client of all of them.
#[allow(dead_code, reason = "not every test needs several")]
pub(crate) struct Stores {
    pub(crate) cluster: Cluster,
    pub(crate) connections: Vec<Connection>,
    pub(crate) served: Vec<Served>,
}

#[allow(dead_code, reason = "not every test needs several")]
impl Stores {
    pub(crate) fn start(count: usize) -> Self {
        let served: Vec<_> =
            (0..count).map(|_| Served::start(StoreServiceOptions::default())).collect();
        let connections: Vec<_> =
            served.iter().map(|store| store.connect(Duration::ZERO)).collect();
        let channels = connections.iter().map(|c| Arc::clone(c.channel())).collect();
        Self { cluster: Cluster::new(channels), connections, served }
    }
}
