//! A node in a process of its own: connections to the manager and to the stores, and a thread that
//! beats.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use host::{Clock as _, Io as _, RealClock, RealIo};
use store::StoreError;
use transport::{Cluster, Connection, ConnectionOptions, Tasks, Token, block_on};

use crate::error::{Result, SharedError};
use crate::manager::{Calls, ManagerOptions};
use crate::node::Node;

/// Time between two beats.
const BEAT: Duration = Duration::from_millis(100);

/// Where a database is.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// The commit manager.
    pub manager: SocketAddr,
    /// The stores, in the order that all nodes name them in.
    pub stores: Vec<SocketAddr>,
    /// Time that calls wait for a store or the manager that went away.
    pub patience: Duration,
    /// Secret that all processes share.
    pub token: Option<Token>,
}

/// A node that joined. It leaves when it is dropped; transactions that run then are rolled back by
/// others.
pub struct Member {
    node: Arc<Node>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _connections: Vec<Connection>,
}

fn connect(address: SocketAddr, client: u64, addresses: &Addresses) -> Result<Connection> {
    let (patience, token) = (addresses.patience, addresses.token.clone());
    let broken = |error: io::Error| {
        let message = format!("{address}: {error}");
        match error.kind() {
            io::ErrorKind::PermissionDenied => StoreError::Refused(message),
            _ => StoreError::Unreachable(message),
        }
    };
    let options = ConnectionOptions { client, patience, token };
    Ok(Connection::open(address, options).map_err(broken)?)
}

impl Member {
    /// Joins a database.
    ///
    /// # Errors
    /// [`SharedError::Store`] when a process does not answer, or does not let this one in.
    pub fn join(addresses: &Addresses) -> Result<Self> {
        let Addresses { manager, stores, .. } = addresses;
        // Numbers of nodes are small: a stranger has none of them.
        let stranger = connect(*manager, RealIo.entropy() | 1 << 63, addresses)?;
        let id = block_on(Calls(stranger.channel()).join(), || stranger.channel().flush())?;
        let manager = connect(*manager, id.0, addresses)?;
        let mut connections = Vec::new();
        for store in stores {
            connections.push(connect(*store, id.0, addresses)?);
        }
        let channels = connections.iter().map(|store| Arc::clone(store.channel())).collect();
        let (cluster, channel) = (Cluster::new(channels), Arc::clone(manager.channel()));
        let flush = (cluster.clone(), Arc::clone(&channel));
        let node = block_on(Node::open(id, channel, cluster, RealClock.micros()), || {
            flush.0.flush();
            flush.1.flush();
        })?;
        connections.push(manager);
        let (node, is_over) = (Arc::new(node), Arc::new(AtomicBool::new(false)));
        let thread = {
            let (node, is_over) = (Arc::clone(&node), Arc::clone(&is_over));
            let beat = move || beat(&node, &is_over);
            let spawned = thread::Builder::new().name("shared-beat".into()).spawn(beat);
            spawned
                .map_err(|error| SharedError::from(StoreError::Unreachable(error.to_string())))?
        };
        Ok(Self { node, is_over, thread: Some(thread), _connections: connections })
    }

    /// The node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Runs one task on this thread.
    pub fn run<T>(&self, task: impl Future<Output = T>) -> T {
        block_on(task, || self.node.flush())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            drop(thread.join());
        }
    }
}

/// Beats until it is over, or the node is; recovers others meanwhile.
fn beat(node: &Node, is_over: &AtomicBool) {
    let mut tasks: Tasks<'_, ()> = Tasks::default();
    let mut next_us = 0;
    while !is_over.load(Ordering::Acquire) && !node.is_stopped() {
        let now_us = RealClock.micros();
        if now_us >= next_us {
            next_us = now_us + BEAT.as_micros() as i64;
            node.watch(now_us, ManagerOptions::default().timeout_us / 2);
            let beat = node.beat();
            tasks.spawn(async move {
                // What failed is asked for again.
                drop(node.beaten(beat, now_us).await);
            });
        }
        tasks.round();
        node.flush();
        if !tasks.is_ready() {
            thread::park_timeout(BEAT / 4);
        }
    }
}
