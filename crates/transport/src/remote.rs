//! Tables of one or several stores behind channels: [`store::Table`] for threads, futures for
//! tasks.
//!
//! A key lives in the store that its hash says; a scan asks all stores that have some of its keys,
//! and adds up what they say.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use store::codec;
use store::server::{Layout, TableId};
use store::{
    Fetched, Flow, Key, Output, Partition, Query, Result, ScanEnd, ScanRequest, Schema, Snapshot,
    StoreError, Table, TableStats, Tuple, Version, part_of,
};
use types::codec::{Input, Malformed};

use crate::channel::{Channel, Part};
use crate::frame::{EntryKind, PAYLOAD_BYTES_MAX};
use crate::message::{Call, WriteKind, answer, fetched, info, read_answer, row_bytes, stats};
use crate::slot::{Broken, Pending};

/// Number of the store that has `key`, among `count`.
/// The store has one part of the keys, so that scans of a part ask the stores alone that have some
/// of it.
pub fn store_of(key: Key, count: usize) -> usize {
    part_of(key, count as u64) as usize
}

/// Bytes of rows that a scan lets each store push ahead of its reader.
const GRANT_BYTES: u64 = 1 << 20;

/// Stores, in the order that all their users know them in.
#[derive(Clone)]
pub struct Cluster {
    channels: Arc<[Arc<Channel>]>,
}

impl Cluster {
    /// The stores behind these channels.
    ///
    /// # Panics
    /// Without any.
    pub fn new(channels: Vec<Arc<Channel>>) -> Self {
        assert!(!channels.is_empty(), "rows need a store");
        Self { channels: channels.into() }
    }

    /// The channels.
    pub fn channels(&self) -> &[Arc<Channel>] {
        &self.channels
    }

    /// Sends what waits.
    pub fn flush(&self) {
        self.channels.iter().for_each(|channel| channel.flush());
    }

    fn of(&self, key: Key) -> usize {
        store_of(key, self.channels.len())
    }

    /// Asks all stores the same, each for its own table of `ids`, or all of them at once.
    fn all(&self, payload: impl Fn(usize) -> Vec<u8>, once: Once) -> Vec<Pending> {
        let ask = |(i, channel): (usize, &Arc<Channel>)| match once {
            Once::Yes => channel.write(payload(i)),
            Once::No => channel.read(payload(i)),
        };
        self.channels.iter().enumerate().map(ask).collect()
    }

    /// Makes a table in all stores.
    ///
    /// # Errors
    /// As [`store::server::Store::create`]; [`StoreError::Unreachable`].
    pub async fn create(&self, name: &str, schema: &Schema, layout: Layout) -> Result<RemoteTable> {
        let payload = Call::Create { name, schema: schema.clone(), layout }.bytes();
        let mut ids = Vec::new();
        for pending in self.all(|_| payload.clone(), Once::Yes) {
            ids.push(read(pending.await, |input| Ok(TableId(input.u64()?)))?);
        }
        Ok(RemoteTable { cluster: self.clone(), ids: ids.into(), schema: Arc::new(schema.clone()) })
    }

    /// The table of this name.
    ///
    /// # Errors
    /// As [`store::server::Store::find`]; [`StoreError::InvalidTable`] when stores disagree;
    /// [`StoreError::Unreachable`].
    pub async fn find(&self, name: &str) -> Result<RemoteTable> {
        let payload = Call::Find { name }.bytes();
        let mut found: Vec<crate::message::TableInfo> = Vec::new();
        for pending in self.all(|_| payload.clone(), Once::No) {
            found.push(read(pending.await, info)?);
        }
        let schema = found[0].schema.clone();
        if found.iter().any(|other| other.schema != schema) {
            let message = format!("stores disagree about {name}");
            return Err(StoreError::InvalidTable(message));
        }
        let ids = found.iter().map(|info| info.id).collect();
        Ok(RemoteTable { cluster: self.clone(), ids, schema: Arc::new(schema) })
    }

    /// Takes a table away from all stores that have it. Nobody may use it any more.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], [`StoreError::OutOfMemory`].
    pub async fn drop_table(&self, name: &str) -> Result<()> {
        let payload = Call::Drop { name }.bytes();
        for pending in self.all(|_| payload.clone(), Once::Yes) {
            read(pending.await, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Has all stores refuse `client` from now on.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`].
    pub async fn fence(&self, client: u64) -> Result<()> {
        let payload = Call::Fence { client }.bytes();
        for pending in self.all(|_| payload.clone(), Once::Yes) {
            read(pending.await, |_| Ok(()))?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Once {
    Yes,
    No,
}

fn read<T>(
    answer: Result<Vec<u8>, Broken>,
    read: impl FnOnce(&mut Input<'_>) -> Result<T, Malformed>,
) -> Result<T> {
    let payload = answer.map_err(|broken| StoreError::Unreachable(broken.0))?;
    read_answer(&payload, read)
}

/// A table of the stores of a cluster. Its calls as a [`Table`] wait for their answers; those whose
/// names end in `later` are made at once and give futures, and go out with [`Cluster::flush`].
#[derive(Clone)]
pub struct RemoteTable {
    cluster: Cluster,
    /// Its number in each store.
    ids: Arc<[TableId]>,
    schema: Arc<Schema>,
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

impl RemoteTable {
    /// Its stores.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn channel(&self, key: Key) -> (&Arc<Channel>, TableId) {
        let store = self.cluster.of(key);
        (&self.cluster.channels[store], self.ids[store])
    }

    fn get_pending(&self, snapshot: &Snapshot, key: Key) -> Pending {
        let (channel, table) = self.channel(key);
        channel.read(Call::Get { table, key, snapshot: snapshot.clone() }.bytes())
    }

    fn write_pending(&self, snapshot: &Snapshot, key: Key, change: Change<'_>) -> Pending {
        let (channel, table) = self.channel(key);
        let (kind, tuple) = match change {
            Change::Insert(tuple) => (WriteKind::Insert, Some(tuple)),
            Change::Update(tuple) => (WriteKind::Update, Some(tuple)),
            Change::Remove => (WriteKind::Remove, None),
        };
        if let Some(tuple) = tuple.filter(|tuple| tuple.bytes() > ROW_BYTES_MAX) {
            let message = format!("{} bytes, of {ROW_BYTES_MAX}", tuple.bytes());
            let refused: Result<()> = Err(StoreError::InvalidTuple(message));
            return Pending::ready(answer(refused, |_, ()| ()));
        }
        let (row, snapshot) = (row_bytes(tuple), snapshot.clone());
        channel.write(Call::Write { kind, table, key, snapshot, row: &row }.bytes())
    }

    fn newest_pending(&self, key: Key) -> Pending {
        let (channel, table) = self.channel(key);
        channel.read(Call::NewestVersion { table, key }.bytes())
    }

    fn revert_pending(&self, version: Version, key: Key) -> Pending {
        let (channel, table) = self.channel(key);
        channel.write(Call::Revert { table, key, version }.bytes())
    }

    /// [`Table::get`].
    pub fn get_later(
        &self,
        snapshot: &Snapshot,
        key: Key,
    ) -> impl Future<Output = Result<Fetched>> + use<> {
        let (pending, schema) = (self.get_pending(snapshot, key), Arc::clone(&self.schema));
        async move { read(pending.await, |input| fetched(input, &schema)) }
    }

    /// [`Table::insert`], [`Table::update`], [`Table::remove`].
    pub fn write_later(
        &self,
        snapshot: &Snapshot,
        key: Key,
        change: Change<'_>,
    ) -> impl Future<Output = Result<()>> + use<> {
        let pending = self.write_pending(snapshot, key, change);
        async move { read(pending.await, |_| Ok(())) }
    }

    /// [`Table::newest_version`].
    pub fn newest_later(&self, key: Key) -> impl Future<Output = Result<Version>> + use<> {
        let pending = self.newest_pending(key);
        async move { read(pending.await, |input| Ok(Version(input.u64()?))) }
    }

    /// [`Table::revert`].
    pub fn revert_later(
        &self,
        version: Version,
        key: Key,
    ) -> impl Future<Output = Result<()>> + use<> {
        let pending = self.revert_pending(version, key);
        async move { read(pending.await, |_| Ok(())) }
    }

    fn wait<T>(
        &self,
        pending: Pending,
        then: impl FnOnce(&mut Input<'_>) -> Result<T, Malformed>,
    ) -> Result<T> {
        self.cluster.flush();
        read(pending.wait(), then)
    }

    /// The schema of what a query gives.
    fn output(&self, query: &Query) -> Schema {
        let fields = match &query.output {
            Output::Fields(fields) => &fields[..],
            Output::Aggregates(_) => &[],
        };
        self.schema.project(fields).expect("the query was checked")
    }
}

/// Parts of a scan as they come.
struct Scan<'a> {
    table: &'a RemoteTable,
    requests: &'a [ScanRequest<'a>],
    outputs: Vec<Schema>,
    /// Number of the stream of each request and store; None for stores without any of its keys.
    numbers: Vec<Option<u64>>,
    ends: Vec<Option<ScanEnd>>,
    flows: Vec<Flow>,
}

impl Scan<'_> {
    fn stores(&self) -> usize {
        self.table.ids.len()
    }

    fn open(&mut self, parts: &Sender<Part>) {
        let table = self.table;
        for request in self.requests {
            let wanted = request.query.partition;
            let stores = table.cluster.channels.iter().zip(&*table.ids);
            for (number, (channel, id)) in stores.enumerate() {
                let own = Partition { count: table.ids.len() as u64, number: number as u64 };
                if wanted.is_some_and(|wanted| !wanted.meets(&own)) {
                    self.numbers.push(None);
                    continue;
                }
                let (snapshot, query) = (request.snapshot.clone(), request.query.clone());
                let call = Call::Scan { table: *id, snapshot, query, grant: GRANT_BYTES };
                let stream = self.numbers.len();
                self.numbers.push(Some(channel.open(&call.bytes(), stream, parts.clone())));
            }
        }
        table.cluster.flush();
    }

    fn run(&mut self, parts: &Receiver<Part>) -> Result<()> {
        let mut open = self.numbers.iter().flatten().count();
        while open > 0 {
            let Ok(part) = parts.recv() else { break };
            let request = part.stream / self.stores();
            let (kind, payload) = part.what.map_err(|broken| StoreError::Unreachable(broken.0))?;
            if kind == EntryKind::Part {
                self.rows(part.stream, &payload)?;
                continue;
            }
            open -= 1;
            let end = read_answer(&payload, codec::scan_end)?;
            match &mut self.ends[request] {
                Some(sum) => sum.add(&end, self.requests[request].query),
                none => *none = Some(end),
            }
        }
        Ok(())
    }

    fn rows(&mut self, stream: usize, payload: &[u8]) -> Result<()> {
        let request = stream / self.stores();
        if self.flows[request] == Flow::Stop {
            return Ok(());
        }
        let rows = codec::rows(&mut Input::new(payload), &self.outputs[request]);
        let rows = rows.map_err(|malformed| {
            StoreError::Unreachable(malformed.in_bytes_of("its answer").to_string())
        })?;
        let sink = self.requests[request].sink;
        let channel = &self.table.cluster.channels[stream % self.stores()];
        if sink.flow() == Flow::Stop || sink.rows(&rows) == Flow::Stop {
            self.flows[request] = Flow::Stop;
            let first = request * self.stores();
            self.cancel(first..first + self.stores());
        } else if let Some(number) = self.numbers[stream] {
            channel.grant(number, payload.len() as u64);
            channel.flush();
        }
        Ok(())
    }

    fn cancel(&self, streams: std::ops::Range<usize>) {
        for stream in streams {
            let channel = &self.table.cluster.channels[stream % self.stores()];
            self.numbers[stream].into_iter().for_each(|number| channel.cancel(number));
        }
        self.table.cluster.flush();
    }
}

impl Table for RemoteTable {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn get(&self, snapshot: &Snapshot, key: Key) -> Result<Fetched> {
        self.wait(self.get_pending(snapshot, key), |input| fetched(input, &self.schema))
    }

    fn insert(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()> {
        self.wait(self.write_pending(snapshot, key, Change::Insert(tuple)), |_| Ok(()))
    }

    fn update(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()> {
        self.wait(self.write_pending(snapshot, key, Change::Update(tuple)), |_| Ok(()))
    }

    fn remove(&self, snapshot: &Snapshot, key: Key) -> Result<()> {
        self.wait(self.write_pending(snapshot, key, Change::Remove), |_| Ok(()))
    }

    /// [`Version::MAX`] when the store does not answer: no write succeeds with that.
    fn newest_version(&self, key: Key) -> Version {
        let newest = self.wait(self.newest_pending(key), |input| Ok(Version(input.u64()?)));
        newest.unwrap_or(Version::MAX)
    }

    fn revert(&self, version: Version, key: Key) -> Result<()> {
        self.wait(self.revert_pending(version, key), |_| Ok(()))
    }

    /// Each store has threads of its own. The caller's thread gives the rows to the sinks; stores
    /// push no more than it has taken, and 1 MiB for each query.
    fn scan(&self, requests: &[ScanRequest<'_>], _threads: usize) -> Result<Vec<ScanEnd>> {
        requests.iter().try_for_each(|request| request.query.check(&self.schema))?;
        let (sender, parts) = channel();
        let mut scan = Scan {
            table: self,
            requests,
            outputs: requests.iter().map(|request| self.output(request.query)).collect(),
            numbers: Vec::new(),
            ends: vec![None; requests.len()],
            flows: vec![Flow::Continue; requests.len()],
        };
        scan.open(&sender);
        drop(sender);
        if let Err(error) = scan.run(&parts) {
            scan.cancel(0..scan.numbers.len());
            return Err(error);
        }
        let lost = || StoreError::Unreachable("a part of the scan has no end".into());
        let ends = scan.ends.into_iter().zip(scan.flows).map(|(end, flow)| {
            let mut end = end.ok_or_else(lost)?;
            if flow == Flow::Stop {
                end.flow = flow;
            }
            Ok(end)
        });
        ends.collect()
    }

    fn collect(&self, lowest_active: Version) -> Result<()> {
        let lowest = lowest_active;
        let payload = |i: usize| Call::Collect { table: self.ids[i], lowest }.bytes();
        let pending = self.cluster.all(payload, Once::No);
        self.cluster.flush();
        let outcomes: Vec<Result<()>> =
            pending.into_iter().map(|pending| read(pending.wait(), |_| Ok(()))).collect();
        outcomes.into_iter().collect()
    }

    /// Sums over the stores that answer.
    fn stats(&self) -> TableStats {
        let payload = |i: usize| Call::Stats { table: self.ids[i] }.bytes();
        let pending = self.cluster.all(payload, Once::No);
        self.cluster.flush();
        let mut sum = TableStats::default();
        for more in pending.into_iter().filter_map(|p| read(p.wait(), stats).ok()) {
            sum.bytes += more.bytes;
            sum.pages += more.pages;
            sum.pages_read += more.pages_read;
            sum.pages_rewritten += more.pages_rewritten;
            sum.versions += more.versions;
        }
        sum
    }
}
