//! A node in a process of its own: connections to the manager and to the stores, and a thread that
//! beats.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use host::{Clock as _, Io as _, RealClock, RealIo};
use parking_lot::Mutex;
use store::StoreError;
use transport::{
    Channel, Claim, Claimed, Cluster, Connection, ConnectionOptions, DatabaseId, Guide, Pending,
    Ring, RingStore, Tasks, Token, block_on,
};

use crate::error::{Result, SharedError};
use crate::manager::{Calls, ManagerOptions, NodeId};
use crate::node::Node;

/// Time between two beats.
const BEAT: Duration = Duration::from_millis(100);

/// Where a database is.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// The commit manager.
    pub manager: SocketAddr,
    /// The stores of a new database, in the order that all nodes name them in. The manager knows
    /// those of one that is there: none need be named then.
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
    road: Arc<Road>,
}

/// Way of a node to stores: those of the beginning, and those that come.
struct Road {
    id: NodeId,
    addresses: Addresses,
    database: Option<DatabaseId>,
    manager: Connection,
    stores: Mutex<Vec<Connection>>,
}

impl Guide for Road {
    fn ask(&self) -> Pending {
        Calls(self.manager.channel()).found(&[])
    }

    fn ring(&self, answer: &[u8]) -> Result<Ring, StoreError> {
        match Calls::found_stores(answer) {
            Ok((ring, _)) => Ok(ring),
            Err(SharedError::Store(error)) => Err(error),
            Err(SharedError::Stopped) => Err(StoreError::Fenced),
            Err(error) => Err(StoreError::Unreachable(error.to_string())),
        }
    }

    fn connect(&self, store: &RingStore) -> Result<Arc<Channel>, StoreError> {
        let named = store.address.parse();
        let address: SocketAddr =
            named.map_err(|_| StoreError::Unreachable(store.address.clone()))?;
        let caller = Caller { client: self.id.0, database: self.claimed(Claim::Takes) };
        let connection = connect(address, caller, &self.addresses)?;
        let channel = Arc::clone(connection.channel());
        self.stores.lock().push(connection);
        Ok(channel)
    }

    fn flush(&self) {
        self.manager.channel().flush();
    }
}

impl Road {
    /// The database as this node names it.
    fn claimed(&self, claim: Claim) -> Option<Claimed> {
        self.database.map(|id| Claimed { id, claim })
    }
}

/// A client that connects.
struct Caller {
    client: u64,
    database: Option<Claimed>,
}

impl Caller {
    /// One that no process knows. Numbers of nodes are small: a stranger has none of them.
    fn stranger(database: Option<Claimed>) -> Self {
        Self { client: RealIo.entropy() | 1 << 63, database }
    }
}

fn connect(
    address: SocketAddr,
    caller: Caller,
    addresses: &Addresses,
) -> Result<Connection, StoreError> {
    let Caller { client, database } = caller;
    let (patience, token) = (addresses.patience, addresses.token.clone());
    let broken = |error: io::Error| {
        let message = format!("{address}: {error}");
        match error.kind() {
            io::ErrorKind::PermissionDenied => StoreError::Refused(message),
            _ => StoreError::Unreachable(message),
        }
    };
    let options = ConnectionOptions { client, patience, token, database };
    Connection::open(address, options).map_err(broken)
}

impl Member {
    /// Joins a database.
    ///
    /// # Errors
    /// [`SharedError::Store`] when a process does not answer, or does not let this one in;
    /// [`SharedError::NoStores`] when nobody ever named the stores.
    pub fn join(addresses: &Addresses) -> Result<Self> {
        let Addresses { manager, stores, .. } = addresses;
        let stranger = connect(*manager, Caller::stranger(None), addresses)?;
        let flush = || stranger.channel().flush();
        let database = block_on(Calls(stranger.channel()).database(), flush)?;
        let claimed = |claim| database.map(|id| Claimed { id, claim });
        for store in stores {
            let looks = Caller::stranger(claimed(Claim::Looks));
            // One that is away is asked for later.
            if let Err(refused @ StoreError::Refused(_)) = connect(*store, looks, addresses) {
                return Err(refused.into());
            }
        }
        let id = block_on(Calls(stranger.channel()).join(), flush)?;
        let caller = Caller { client: id.0, database: claimed(Claim::Takes) };
        let manager = connect(*manager, caller, addresses)?;
        let channel = Arc::clone(manager.channel());
        let stores: Vec<String> = stores.iter().map(ToString::to_string).collect();
        let found = Calls(&channel).found(&stores);
        channel.flush();
        let found = found.wait().map_err(|broken| StoreError::Unreachable(broken.0))?;
        let (ring, _) = Calls::found_stores(&found)?;
        let (addresses, stores) = (addresses.clone(), Mutex::default());
        let road = Arc::new(Road { id, addresses, database, manager, stores });
        let cluster = Cluster::guided(Arc::clone(&road) as Arc<dyn Guide>, ring)?;
        let flush = cluster.clone();
        let node =
            block_on(Node::open(id, channel, cluster, RealClock.micros()), || flush.flush())?;
        let (node, is_over) = (Arc::new(node), Arc::new(AtomicBool::new(false)));
        let thread = {
            let (node, is_over) = (Arc::clone(&node), Arc::clone(&is_over));
            let beat = move || beat(&node, &is_over);
            let spawned = thread::Builder::new().name("shared-beat".into()).spawn(beat);
            spawned
                .map_err(|error| SharedError::from(StoreError::Unreachable(error.to_string())))?
        };
        Ok(Self { node, is_over, thread: Some(thread), road })
    }

    /// The node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Has a store take part, as [`Node::add_store`], if it can be reached, and has no rows of
    /// another database.
    ///
    /// # Errors
    /// [`SharedError::Store`], [`SharedError::Stopped`].
    pub fn add_store(&self, address: SocketAddr) -> Result<()> {
        // A store knows a node by one connection: these are others.
        let connection = connect(address, Caller::stranger(None), &self.road.addresses)?;
        let alone = Cluster::new(vec![Arc::clone(connection.channel())]);
        block_on(alone.can_take_part(), || alone.flush())?;
        let looks = Caller::stranger(self.road.claimed(Claim::Looks));
        drop(connect(address, looks, &self.road.addresses)?);
        self.run(self.node.add_store(&address.to_string()))
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
