//! A session with ZooKeeper: reads, and errors as the bus has them.

use std::sync::Arc;
use std::time::Duration;

use futures_lite::future::block_on;
use types::codec::Input;
use types::{Error, SqlState};
use zookeeper_client::{
    Acls, AddWatchMode, Client, CreateMode, CreateOptions, MultiReadResult, PersistentWatcher,
};

use super::names::{self, ClientNode};
use crate::record::{NextIds, Placed, Record};
use crate::semantics::{BusError, ClientId, Delivery, MessageType, QueueKey, Result};

/// How long servers keep the session when nothing is heard of it, and a first answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How nodes are made: they stay, and whoever reaches the servers may change them.
pub(super) const NODE: CreateOptions<'static> =
    CreateMode::Persistent.with_acls(Acls::anyone_all());

/// How the node of a turn is made: it goes with the session at the latest.
const OF_SESSION: CreateOptions<'static> = CreateMode::Ephemeral.with_acls(Acls::anyone_all());

/// An error of the network when the session or the connection ended, else one of the server:
/// 42501 without rights there, 54000 above a quota, 58030 for the rest.
impl From<zookeeper_client::Error> for BusError {
    fn from(error: zookeeper_client::Error) -> Self {
        use zookeeper_client::Error as Said;
        let state = match error {
            Said::ConnectionLoss
            | Said::SessionExpired
            | Said::SessionMoved
            | Said::ClientClosed
            | Said::NoHosts
            | Said::Timeout
            | Said::Throttled
            | Said::NotReadOnly
            // Of the stream below.
            | Said::Custom(_) => return Self::Network(error.to_string()),
            Said::NoAuth | Said::AuthFailed => SqlState::INSUFFICIENT_PRIVILEGE,
            Said::QuotaExceeded => SqlState::LIMIT_EXCEEDED,
            _ => SqlState::IO_ERROR,
        };
        Self::Storage(Error::new(state, format!("ZooKeeper: {error}")))
    }
}

pub(super) fn damaged(what: &str) -> BusError {
    let message = format!("the tree in ZooKeeper lacks {what}");
    BusError::Storage(Error::new(SqlState::DATA_CORRUPTED, message))
}

/// The state of the bus that a change goes on from, and leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    pub(super) ids: NextIds,
    /// Version that the bus has before the change.
    pub(super) version: i32,
}

/// A session, whose tree begins at the bus's root.
#[derive(Debug)]
pub(super) struct Session {
    client: Client,
}

impl Session {
    /// A session with one of `servers`; the node `root` is made when absent.
    pub(super) fn open(servers: &str, root: &str) -> Result<Self> {
        let connector = Client::connector()
            .with_session_timeout(PATIENCE)
            .with_connection_timeout(PATIENCE)
            .with_fail_eagerly();
        let client = block_on(connector.connect(servers))?;
        block_on(client.mkdir(root, &NODE))?;
        let client = client.chroot(root.to_owned()).map_err(|_| damaged("a root of that name"))?;
        Ok(Self { client })
    }

    /// Makes the nodes below which all others are, where absent.
    pub(super) fn make_tree(&self) -> Result<()> {
        let folders =
            [names::CLIENTS, names::RECEIVERS, names::QUEUES, names::MESSAGES, names::COUNTS];
        for folder in folders {
            block_on(self.client.mkdir(folder, &NODE))?;
        }
        let first = names::ids_to_bytes(NextIds { client: 1, message: 1 });
        // Last, so that whoever finds it finds all.
        match block_on(self.client.create(names::IDS, &first, &NODE)) {
            Ok(_) | Err(zookeeper_client::Error::NodeExists) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn client_of_server(&self) -> &Client {
        &self.client
    }

    /// True when it ended for good; one that lost its connection looks for another one.
    pub(super) fn is_over(&self) -> bool {
        self.client.state().is_terminated()
    }

    /// Has later reads see what was written anywhere before.
    pub(super) fn sync(&self) -> Result<()> {
        Ok(block_on(self.client.sync(names::IDS))?)
    }

    /// The next ids and the version of the bus.
    ///
    /// # Errors
    /// 55006 when a process has the bus in its memory.
    pub(super) fn ids_without_owner(&self) -> Result<Base> {
        // Both questions are on their way before the first answer is waited for.
        let owner = self.client.check_stat(names::OWNER);
        let ids = self.ids()?;
        if block_on(owner)?.is_some() { Err(owned()) } else { Ok(ids) }
    }

    /// The same, whoever has it.
    pub(super) fn ids(&self) -> Result<Base> {
        let (bytes, stat) = block_on(self.client.get_data(names::IDS))?;
        let ids = names::read_ids(&bytes).map_err(|_| damaged("the next ids"))?;
        Ok(Base { ids, version: stat.version })
    }

    /// The same as without an owner, once nobody has the turn.
    pub(super) fn ids_without_turn(&self) -> Result<Base> {
        loop {
            let turn = self.client.check_stat(names::TURN);
            let ids = self.ids_without_owner()?;
            if block_on(turn)?.is_none() {
                return Ok(ids);
            }
            let (turn, watcher) = block_on(self.client.check_and_watch_stat(names::TURN))?;
            if turn.is_some() {
                block_on(watcher.changed());
            }
        }
    }

    /// The turn, if nobody has it: others begin no change until it is dropped.
    pub(super) fn take_turn(self: &Arc<Self>) -> Result<Option<Turn>> {
        match block_on(self.client.create(names::TURN, &[], &OF_SESSION)) {
            Ok(_) => Ok(Some(Turn(Arc::clone(self)))),
            Err(zookeeper_client::Error::NodeExists) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The bus alone: changes that others have begun fail, and they begin none until it is dropped.
    /// Returns its state, too.
    ///
    /// # Errors
    /// 55006 when another process has it, or had it until it died less than 10 s ago.
    pub(super) fn take_bus(self: &Arc<Self>) -> Result<(Owner, Base)> {
        match block_on(self.client.create(names::OWNER, &[], &OF_SESSION)) {
            Ok(_) => {}
            Err(zookeeper_client::Error::NodeExists) => return Err(owned()),
            Err(error) => return Err(error.into()),
        }
        let owner = Owner(Arc::clone(self));
        loop {
            let Base { ids, version } = self.ids()?;
            let bytes = names::ids_to_bytes(ids);
            match block_on(self.client.set_data(names::IDS, &bytes, Some(version))) {
                Ok(stat) => return Ok((owner, Base { ids, version: stat.version })),
                Err(zookeeper_client::Error::BadVersion) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Contents of a node, if it is there.
    pub(super) fn data(&self, name: &str) -> Result<Option<Vec<u8>>> {
        there(block_on(self.client.get_data(name)).map(|(bytes, _)| bytes))
    }

    /// True when there is such a node.
    pub(super) fn has(&self, name: &str) -> Result<bool> {
        Ok(block_on(self.client.check_stat(name))?.is_some())
    }

    /// The names below a node, in no order, if it is there.
    pub(super) fn children(&self, name: &str) -> Result<Option<Vec<String>>> {
        there(block_on(self.client.list_children(name)))
    }

    /// The clients that nodes below `folder` are named after, sorted.
    pub(super) fn clients_in(&self, folder: &str) -> Result<Vec<ClientId>> {
        let names = self.children(folder)?.unwrap_or_default();
        let mut clients: Vec<ClientId> =
            names.iter().filter_map(|name| names::client_named(name)).collect();
        clients.sort_unstable();
        Ok(clients)
    }

    pub(super) fn receivers_of(&self, message_type: MessageType) -> Result<Vec<ClientId>> {
        self.clients_in(&names::message_type(message_type))
    }

    pub(super) fn client(&self, client: ClientId) -> Result<Option<ClientNode>> {
        let Some(bytes) = self.data(&names::client(client))? else { return Ok(None) };
        ClientNode::read(&bytes).map(Some).map_err(|_| damaged("a client that can be read"))
    }

    /// The queue of a client as it is at one moment, in its order.
    ///
    /// # Errors
    /// [`BusError::NotConnected`] when there is no such client at that moment.
    pub(super) fn queue_of(&self, client: ClientId) -> Result<Vec<QueueKey>> {
        let mut reader = self.client.new_multi_reader();
        reader.add_get_data(&names::client(client))?;
        reader.add_get_children(&names::queue(client))?;
        let found = block_on(reader.commit())?;
        match &found[..] {
            [MultiReadResult::Data { .. }, MultiReadResult::Children { children }] => {
                queue_named(children)
            }
            [MultiReadResult::Error { .. }, _] => Err(BusError::NotConnected(client)),
            _ => Err(damaged("the queue of a client")),
        }
    }

    /// The copies below the node of a queue, also of a client that left.
    pub(super) fn queue(&self, client: ClientId) -> Result<Vec<QueueKey>> {
        let names = self.children(&names::queue(client))?;
        queue_named(&names.ok_or(BusError::NotConnected(client))?)
    }

    /// The messages of `copies`; those that are not there are None.
    pub(super) fn messages(&self, copies: &[QueueKey]) -> Result<Vec<Option<Delivery>>> {
        // All questions are on their way before the first answer is waited for.
        let ask = |copy: &QueueKey| self.client.get_data(&names::message(copy.id));
        let asked: Vec<_> = copies.iter().map(ask).collect();
        let mut messages = Vec::with_capacity(copies.len());
        for asked in asked {
            let found = there(block_on(asked))?;
            messages.push(found.map(|(bytes, _)| read_message(&bytes)).transpose()?);
        }
        Ok(messages)
    }

    /// Tells of each change of the bus.
    pub(super) fn watch(&self) -> Result<PersistentWatcher> {
        Ok(block_on(self.client.watch(names::IDS, AddWatchMode::Persistent))?)
    }
}

/// The right to be the only one who changes the bus, but for changes that had begun before.
#[derive(Debug)]
pub(super) struct Turn(Arc<Session>);

impl Drop for Turn {
    fn drop(&mut self) {
        // Where this fails the session has ended, or will end, and the node goes with it.
        let _ = block_on(self.0.client.delete(names::TURN, None));
    }
}

/// The right to change the bus, and nobody else.
#[derive(Debug)]
pub(super) struct Owner(Arc<Session>);

impl Owner {
    /// The session that it ends with.
    pub(super) fn session(&self) -> &Session {
        &self.0
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // As with a turn.
        let _ = block_on(self.0.client.delete(names::OWNER, None));
    }
}

fn owned() -> BusError {
    let message = "a process has this bus in its memory, and changes it alone";
    BusError::Storage(Error::new(SqlState::OBJECT_IN_USE, message))
}

/// Value that was found; None where the node is not there.
fn there<T>(found: std::result::Result<T, zookeeper_client::Error>) -> Result<Option<T>> {
    match found {
        Ok(value) => Ok(Some(value)),
        Err(zookeeper_client::Error::NoNode) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn queue_named(names: &[String]) -> Result<Vec<QueueKey>> {
    let copies: Option<Vec<QueueKey>> = names.iter().map(|name| names::copy_named(name)).collect();
    let mut copies = copies.ok_or_else(|| damaged("a copy with a name that can be read"))?;
    copies.sort_unstable();
    Ok(copies)
}

fn read_message(bytes: &[u8]) -> Result<Delivery> {
    match Record::read(&mut Input::new(bytes)) {
        Ok(Record::Message(placed)) => Ok(placed.message),
        _ => Err(damaged("a message that can be read")),
    }
}

/// A message as its node holds it.
pub(super) fn message_bytes(message: &Delivery, copies: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let placed = Placed { message: Delivery::clone(message), holders: Vec::new(), copies };
    Record::Message(placed).write(&mut bytes);
    bytes
}
