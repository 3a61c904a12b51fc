//! A store as a service: calls on keys at once on the connection's thread, scans and collections on
//! threads of the store.

pub(crate) mod moves;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, ReentrantMutex, ReentrantMutexGuard};
use store::codec;
use store::server::{Store, TableId};
use store::{Key, Query, Result, Snapshot, StoreError, Table};
use types::codec::{Input, put_u64};

use crate::exchange::{Request, Service};
use crate::frame::{Entry, EntryKind};
use crate::message::{
    Call, TableInfo, WriteKind, answer, changes, put_copied, put_fetched, put_info, put_stats,
    put_tables,
};
use crate::placement::{Placement, Whole};
use crate::scans::{ScanLimits, ScanStream};

/// Limits of a store's service.
#[derive(Clone, Copy, Debug)]
pub struct StoreServiceOptions {
    /// Bytes of rows of one query that wait until its client grants room for them.
    pub scan_queue_bytes: usize,
    /// Time that a scan waits for a client whose queue is full, before it ends that query.
    pub scan_stall: Duration,
}

impl Default for StoreServiceOptions {
    fn default() -> Self {
        Self { scan_queue_bytes: 16 << 20, scan_stall: Duration::from_secs(1) }
    }
}

/// Scans that run, by client and number.
type Scans = Mutex<HashMap<(u64, u64), Arc<ScanStream>>>;

/// A store behind a network.
pub struct StoreService {
    store: Arc<Store>,
    limits: ScanLimits,
    scans: Scans,
    placement: Arc<Placement>,
    /// Held by a call that changes where keys are.
    order: ReentrantMutex<()>,
}

impl StoreService {
    /// The service of `store`.
    pub fn new(store: Arc<Store>, options: StoreServiceOptions) -> Self {
        let StoreServiceOptions { scan_queue_bytes, scan_stall } = options;
        let limits = ScanLimits { queue_bytes: scan_queue_bytes, stall: scan_stall };
        let (placement, order) = (Arc::default(), ReentrantMutex::new(()));
        Self { store, limits, scans: Scans::default(), placement, order }
    }

    /// The keys that it answers for.
    pub(crate) fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }

    /// The right to change where keys are, until the result is dropped.
    pub(crate) fn order(&self) -> ReentrantMutexGuard<'_, ()> {
        self.order.lock()
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Does a write of an earlier life again.
    pub(crate) fn redo(&self, call: &Call<'_>) -> Result<()> {
        match call.clone() {
            Call::Write { kind, table, key, snapshot, row } => {
                self.write(&KeyWrite { kind, table, key, snapshot, row })
            }
            _ => Err(StoreError::InvalidWrite),
        }
    }

    /// Does what the store answers for with a key.
    fn on_key<T>(&self, key: Key, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let still = self.placement.still();
        still.admit(key)?;
        call()
    }

    /// Does a change of a key, and has it noted.
    fn change(&self, table: TableId, key: Key, call: impl FnOnce() -> Result<()>) -> Result<()> {
        let still = self.placement.still_again();
        still.admit(key)?;
        call()?;
        still.changed(table, key);
        Ok(())
    }

    fn write(&self, call: &KeyWrite<'_>) -> Result<()> {
        self.store.heard_of(&call.snapshot);
        let table = self.store.table(call.table)?;
        let (snapshot, key) = (&call.snapshot, call.key);
        if call.kind == WriteKind::Remove {
            return table.remove(snapshot, key);
        }
        let mut input = Input::new(call.row);
        let tuple = codec::tuple(&mut input, table.schema());
        let tuple = tuple.map_err(|malformed| StoreError::InvalidTuple(malformed.expectation))?;
        match call.kind {
            WriteKind::Insert => table.insert(snapshot, key, &tuple),
            _ => table.update(snapshot, key, &tuple),
        }
    }

    fn scan(&self, request: &Request<'_>, mut scan: Scan) -> Result<()> {
        let admitted = self.placement.admit_scan(scan.query.within.take(), scan.whole)?;
        scan.query.within.clone_from(&admitted.within);
        let outbox = Arc::clone(request.outbox);
        let stream = ScanStream::new(request.number, scan.grant, outbox, self.limits);
        let stream = Arc::new(stream.admitted(admitted));
        let name = (request.client, request.number);
        {
            let mut scans = self.scans.lock();
            scans.retain(|_, stream| !stream.is_done());
            scans.insert(name, Arc::clone(&stream));
        }
        let outcome = self.store.scan(scan.table, scan.query, scan.snapshot, stream);
        if outcome.is_err() {
            self.scans.lock().remove(&name);
        }
        outcome.map(drop)
    }

    fn info(&self, name: &str) -> Result<TableInfo> {
        let unknown = || StoreError::InvalidTable(format!("there is no {name}"));
        let found = self.store.definitions().into_iter().find(|table| table.name == name);
        let found = found.ok_or_else(unknown)?;
        let schema = store::Schema::clone(&found.schema);
        Ok(TableInfo { id: found.id, schema, layout: found.layout })
    }

    /// Collects on a thread of its own, and answers then.
    fn collect(&self, request: &Request<'_>, table: Arc<dyn Table>, lowest: store::Version) {
        let (outbox, number) = (Arc::clone(request.outbox), request.number);
        thread::spawn(move || {
            let payload = answer(table.collect(lowest), |_, ()| ());
            outbox.put(&Entry { number, kind: EntryKind::Reply, payload: &payload });
        });
    }
}

struct KeyWrite<'a> {
    kind: WriteKind,
    table: TableId,
    key: Key,
    snapshot: Snapshot,
    row: &'a [u8],
}

struct Scan {
    table: TableId,
    snapshot: Snapshot,
    query: Query,
    whole: Whole,
    grant: u64,
}

fn nothing(_: &mut Vec<u8>, (): &()) {}

impl Service for StoreService {
    fn answer(&self, request: &Request<'_>) -> Option<Vec<u8>> {
        let call = match Call::read(request.payload) {
            Ok(call) => call,
            Err(malformed) => {
                let why = malformed.in_bytes_of("the call").to_string();
                return Some(answer(Err(StoreError::InvalidTable(why)), nothing));
            }
        };
        Some(match call {
            Call::Get { table, key, snapshot } => {
                self.store.heard_of(&snapshot);
                let found = self.on_key(key, || self.store.table(table)?.get(&snapshot, key));
                answer(found, put_fetched)
            }
            Call::Write { kind, table, key, snapshot, row } => {
                let write = KeyWrite { kind, table, key, snapshot, row };
                answer(self.change(table, key, || self.write(&write)), nothing)
            }
            Call::NewestVersion { table, key } => {
                let newest = self.on_key(key, || Ok(self.store.table(table)?.newest_version(key)));
                answer(newest, |out, version| put_u64(out, version.0))
            }
            Call::Revert { table, key, version } => {
                let revert = || self.store.table(table)?.revert(version, key);
                answer(self.change(table, key, revert), nothing)
            }
            Call::Scan { table, snapshot, query, whole, grant } => {
                match self.scan(request, Scan { table, snapshot, query, whole, grant }) {
                    Ok(()) => return None,
                    Err(error) => answer(Err(error), nothing),
                }
            }
            Call::Collect { table, lowest } => match self.store.table(table) {
                Ok(table) => {
                    self.collect(request, table, lowest);
                    return None;
                }
                Err(error) => answer(Err(error), nothing),
            },
            Call::Stats { table } => {
                answer(self.store.table(table).map(|table| table.stats()), put_stats)
            }
            Call::Create { name, schema, layout } => {
                let id = self.store.create(name, schema, layout);
                answer(id, |out, id| put_u64(out, id.0))
            }
            Call::Find { name } => answer(self.info(name), put_info),
            Call::Drop { name } => answer(self.store.drop_table(name), nothing),
            Call::Fence { client } => {
                request.sessions.fence(client, request.client);
                answer(Ok(()), nothing)
            }
            Call::Place { attempt, step } => answer(self.place(attempt, &step), nothing),
            Call::Track { attempt, range } => answer(self.track(attempt, range), nothing),
            Call::Copy { attempt, from } => answer(self.copy(attempt, from), put_copied),
            Call::Replace { attempt, pieces } => answer(self.replace(attempt, pieces), nothing),
            Call::Tables => answer(self.tables(), put_tables),
        })
    }

    fn happens_once(&self, payload: &[u8]) -> bool {
        changes(payload)
    }

    fn refusal(&self) -> Vec<u8> {
        answer(Err(StoreError::Fenced), nothing)
    }

    fn control(&self, client: u64, entry: &Entry<'_>) {
        let stream = self.scans.lock().get(&(client, entry.number)).cloned();
        let Some(stream) = stream else { return };
        if entry.kind == EntryKind::Cancel {
            stream.cancel();
        } else if let Ok(bytes) = Input::new(entry.payload).u64() {
            stream.grant(bytes);
        }
    }

    fn left(&self, client: u64) {
        let scans = self.scans.lock().extract_if(|name, _| name.0 == client).collect::<Vec<_>>();
        scans.iter().for_each(|(_, stream)| stream.cancel());
    }
}
