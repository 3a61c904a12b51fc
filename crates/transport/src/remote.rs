//! Tables of one or several stores behind channels: [`store::Table`] for threads, futures for
//! tasks.
//!
//! A key lives in the store that the ring says; a scan asks all stores that have some of its keys,
//! and adds up what they say. Where a store does not have a key any more, the call is made again
//! at the one that has it.

mod scan;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use store::server::{Layout, TableId};
use store::{
    Fetched, Key, Result, ScanEnd, ScanRequest, Schema, Snapshot, StoreError, Table, TableStats,
    Tuple, Version,
};

use self::scan::Scan;
use crate::channel::Channel;
use crate::cluster::{Asked, Cluster, Once, read};
use crate::frame::PAYLOAD_BYTES_MAX;
use crate::message::{
    Call, KeyCall, WriteKind, fetched, info, is_moved, read_answer, row_bytes, stats,
};
use crate::ring::StoreId;
use crate::slot::Pending;
use crate::task::block_on;

/// Attempts to find the store of a key that moves: each takes two messages and their answers, so
/// that all of them take longer than it takes to find another node for a move whose node died.
const ATTEMPTS: usize = 1 << 18;

/// Name and form of a table, and its number in each store.
struct Form {
    name: String,
    schema: Arc<Schema>,
    layout: Layout,
    ids: Mutex<BTreeMap<StoreId, TableId>>,
}

/// A table of the stores of a cluster. Its calls as a [`Table`] wait for their answers; those whose
/// names end in `later` are made at once and give futures, and go out with [`Cluster::flush`].
#[derive(Clone)]
pub struct RemoteTable {
    cluster: Cluster,
    form: Arc<Form>,
}

/// Bytes of a row that is sent.
const ROW_BYTES_MAX: usize = PAYLOAD_BYTES_MAX / 2;

/// Change of a key.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// A row where none is.
    Insert(&'a Tuple),
    /// A row where one is.
    Update(&'a Tuple),
    /// No row where one is.
    Remove,
}

/// A call on its way, and the version of the ring that it was made by.
struct Sent {
    seen: u64,
    pending: Pending,
}

impl Cluster {
    /// Makes a table in all stores.
    ///
    /// # Errors
    /// As [`store::server::Store::create`]; [`StoreError::Unreachable`].
    pub async fn create(&self, name: &str, schema: &Schema, layout: Layout) -> Result<RemoteTable> {
        let table = RemoteTable::new(self, name, schema, layout);
        let call = Call::Create { name, schema: schema.clone(), layout };
        for Asked { store, pending, .. } in self.ask_all(&call, Once::Yes).await? {
            table.note_id(store, read(pending.await, |input| Ok(TableId(input.u64()?)))?);
        }
        Ok(table)
    }

    /// The table of this name. Stores that lack it get it when another one has it.
    ///
    /// # Errors
    /// As [`store::server::Store::find`]; [`StoreError::InvalidTable`] when stores disagree;
    /// [`StoreError::Unreachable`].
    pub async fn find(&self, name: &str) -> Result<RemoteTable> {
        let (mut found, mut lacking) = (Vec::new(), Vec::new());
        let mut missing = StoreError::InvalidTable(format!("there is no {name}"));
        for Asked { store, channel, pending } in
            self.ask_all(&Call::Find { name }, Once::No).await?
        {
            match read(pending.await, info) {
                Ok(info) => found.push((store, info)),
                Err(StoreError::InvalidTable(message)) => {
                    missing = StoreError::InvalidTable(message);
                    lacking.push((store, channel));
                }
                Err(error) => return Err(error),
            }
        }
        let Some((_, first)) = found.first() else { return Err(missing) };
        if found.iter().any(|(_, other)| other.schema != first.schema) {
            let message = format!("stores disagree about {name}");
            return Err(StoreError::InvalidTable(message));
        }
        let table = RemoteTable::new(self, name, &first.schema, first.layout);
        found.iter().for_each(|(store, info)| table.note_id(*store, info.id));
        for (store, channel) in lacking {
            // It came when the table was there already, to those who did not know of it.
            table.id_in(store, &channel).await?;
        }
        Ok(table)
    }
}

impl RemoteTable {
    /// A table of which no number is known.
    pub(crate) fn new(cluster: &Cluster, name: &str, schema: &Schema, layout: Layout) -> Self {
        let (name, schema) = (name.to_owned(), Arc::new(schema.clone()));
        let form = Form { name, schema, layout, ids: Mutex::default() };
        Self { cluster: cluster.clone(), form: Arc::new(form) }
    }

    /// Its stores.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Notes its number in a store.
    pub(crate) fn note_id(&self, store: StoreId, id: TableId) {
        self.form.ids.lock().insert(store, id);
    }

    fn known_id(&self, store: StoreId) -> Option<TableId> {
        self.form.ids.lock().get(&store).copied()
    }

    /// Its number in a store, where it is made if it is missing.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`].
    pub(crate) async fn id_in(&self, store: StoreId, channel: &Channel) -> Result<TableId> {
        if let Some(id) = self.known_id(store) {
            return Ok(id);
        }
        let Form { name, schema, layout, .. } = &*self.form;
        let id = loop {
            let find = channel.read(Call::Find { name }.bytes());
            match read(find.await, info) {
                Ok(info) => break info.id,
                Err(StoreError::InvalidTable(_)) => (),
                Err(error) => return Err(error),
            }
            let create = Call::Create { name, schema: Schema::clone(schema), layout: *layout };
            match read(channel.write(create.bytes()).await, |input| Ok(TableId(input.u64()?))) {
                Ok(id) => break id,
                // Somebody else made it meanwhile.
                Err(StoreError::InvalidTable(_)) => (),
                Err(error) => return Err(error),
            }
        };
        self.note_id(store, id);
        Ok(id)
    }

    /// Makes a call on a key at once, if all that it needs is known.
    fn start(&self, key: Key, call: &KeyCall) -> Option<Sent> {
        let known = self.cluster.known();
        let owner = known.ring.owner(key);
        let (channel, id) = (known.channels.get(&owner)?, self.known_id(owner)?);
        let pending = once_of(call).call(channel, call.bytes(id, key));
        Some(Sent { seen: known.ring.version(), pending })
    }

    async fn start_later(&self, key: Key, call: &KeyCall) -> Result<Sent> {
        let known = self.cluster.known();
        let (seen, owner) = (known.ring.version(), known.ring.owner(key));
        let channel = self.cluster.channel(owner).await?;
        let id = self.id_in(owner, &channel).await?;
        Ok(Sent { seen, pending: once_of(call).call(&channel, call.bytes(id, key)) })
    }

    /// Makes a call on a key, and gives the answer of the store that has it.
    fn call(&self, key: Key, call: KeyCall) -> impl Future<Output = Result<Vec<u8>>> + use<> {
        let (table, mut sent) = (self.clone(), self.start(key, &call));
        async move {
            for _ in 0..ATTEMPTS {
                let Sent { seen, pending } = match sent.take() {
                    Some(sent) => sent,
                    None => table.start_later(key, &call).await?,
                };
                let answer = pending.await.map_err(|broken| StoreError::Unreachable(broken.0))?;
                if !is_moved(&answer) {
                    return Ok(answer);
                }
                table.cluster.learn(seen).await?;
                sent = table.start(key, &call);
            }
            Err(StoreError::Unreachable(format!("key {key} is on its way, and does not arrive")))
        }
    }

    /// [`Table::get`].
    pub fn get_later(
        &self,
        snapshot: &Snapshot,
        key: Key,
    ) -> impl Future<Output = Result<Fetched>> + use<> {
        let schema = Arc::clone(&self.form.schema);
        let call = self.call(key, KeyCall::Get(snapshot.clone()));
        async move { read_answer(&call.await?, |input| fetched(input, &schema)) }
    }

    /// [`Table::insert`], [`Table::update`], [`Table::remove`].
    pub fn write_later(
        &self,
        snapshot: &Snapshot,
        key: Key,
        change: Change<'_>,
    ) -> impl Future<Output = Result<()>> + use<> {
        let (kind, tuple) = match change {
            Change::Insert(tuple) => (WriteKind::Insert, Some(tuple)),
            Change::Update(tuple) => (WriteKind::Update, Some(tuple)),
            Change::Remove => (WriteKind::Remove, None),
        };
        let large = tuple.filter(|tuple| tuple.bytes() > ROW_BYTES_MAX);
        let refused = large.map(|tuple| {
            StoreError::InvalidTuple(format!("{} bytes, of {ROW_BYTES_MAX}", tuple.bytes()))
        });
        let write = || KeyCall::Write { kind, snapshot: snapshot.clone(), row: row_bytes(tuple) };
        let call = if refused.is_none() { Some(self.call(key, write())) } else { None };
        async move {
            match (refused, call) {
                (Some(error), _) => Err(error),
                (None, Some(call)) => read_answer(&call.await?, |_| Ok(())),
                (None, None) => Ok(()),
            }
        }
    }

    /// [`Table::newest_version`].
    pub fn newest_later(&self, key: Key) -> impl Future<Output = Result<Version>> + use<> {
        let call = self.call(key, KeyCall::NewestVersion);
        async move { read_answer(&call.await?, |input| Ok(Version(input.u64()?))) }
    }

    /// [`Table::revert`].
    pub fn revert_later(
        &self,
        version: Version,
        key: Key,
    ) -> impl Future<Output = Result<()>> + use<> {
        let call = self.call(key, KeyCall::Revert(version));
        async move { read_answer(&call.await?, |_| Ok(())) }
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        block_on(future, || self.cluster.flush())
    }

    /// Asks all stores the same, each about its own table.
    async fn ask_each(&self, call: impl Fn(TableId) -> Call<'static>) -> Result<Vec<Pending>> {
        let mut asked = Vec::new();
        for (store, channel) in self.cluster.all().await? {
            let id = self.id_in(store, &channel).await?;
            asked.push(channel.read(call(id).bytes()));
        }
        Ok(asked)
    }
}

fn once_of(call: &KeyCall) -> Once {
    match call {
        KeyCall::Get(_) | KeyCall::NewestVersion => Once::No,
        KeyCall::Write { .. } | KeyCall::Revert(_) => Once::Yes,
    }
}

impl Table for RemoteTable {
    fn schema(&self) -> &Arc<Schema> {
        &self.form.schema
    }

    fn get(&self, snapshot: &Snapshot, key: Key) -> Result<Fetched> {
        self.wait(self.get_later(snapshot, key))
    }

    fn insert(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()> {
        self.wait(self.write_later(snapshot, key, Change::Insert(tuple)))
    }

    fn update(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()> {
        self.wait(self.write_later(snapshot, key, Change::Update(tuple)))
    }

    fn remove(&self, snapshot: &Snapshot, key: Key) -> Result<()> {
        self.wait(self.write_later(snapshot, key, Change::Remove))
    }

    /// [`Version::MAX`] when the store does not answer: no write succeeds with that.
    fn newest_version(&self, key: Key) -> Version {
        self.wait(self.newest_later(key)).unwrap_or(Version::MAX)
    }

    fn revert(&self, version: Version, key: Key) -> Result<()> {
        self.wait(self.revert_later(version, key))
    }

    /// Each store has threads of its own. The caller's thread gives the rows to the sinks; stores
    /// push no more than it has taken, and 1 MiB for each query.
    fn scan(&self, requests: &[ScanRequest<'_>], _threads: usize) -> Result<Vec<ScanEnd>> {
        Scan::new(self, requests)?.run()
    }

    fn collect(&self, lowest_active: Version) -> Result<()> {
        self.wait(async {
            let lowest = lowest_active;
            let mut outcome = Ok(());
            for pending in self.ask_each(|table| Call::Collect { table, lowest }).await? {
                outcome = outcome.and(read(pending.await, |_| Ok(())));
            }
            outcome
        })
    }

    /// Sums over the stores, if they answer. Keys that move count twice meanwhile.
    fn stats(&self) -> TableStats {
        self.wait(async {
            let mut sum = TableStats::default();
            for pending in self.ask_each(|table| Call::Stats { table }).await.unwrap_or_default() {
                let Ok(more) = read(pending.await, stats) else { continue };
                sum.bytes += more.bytes;
                sum.pages += more.pages;
                sum.pages_read += more.pages_read;
                sum.pages_rewritten += more.pages_rewritten;
                sum.versions += more.versions;
            }
            sum
        })
    }
}
