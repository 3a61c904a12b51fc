//! A store that outlives its process: each call that changed something is in a log before it is
//! answered.
//!
//! ```text
//! <directory>/lock   held while the store is open     life   number of this life
//!            wal/    records: client, number | the call as it came
//! call -> lock of its key -> table -> record -> unlock; end of its frame -> log on disk -> answers
//! open -> each record done again, its answer kept for a client that asks again
//! ```
//! Frames wait for the log even when they only read: nobody learns of a write that a crash may take
//! back. One wait serves a frame, and one write of the disk all frames that wait.
//! Invariants: records of a key stand in the order of its writes; refused calls leave no record.
//! Elsewhere: files and torn ends (`wal`). Source: Pilman 2017, sections 4.1.6 and 4.7. Departure:
//! one log for all layouts; snapshots of pages are not there, so that the log grows, and opening a
//! store takes as long as its history.

use std::path::Path;
use std::sync::Arc;

use host::{FileLock, Io, read_file, replace_file};
use parking_lot::Mutex;
use store::server::Store;
use store::{Snapshot, StoreError, TableKind, Version};
use types::codec::{Input, Malformed, put_bytes, put_u64, read_u64};
use types::{Error, Result, SqlState};
use wal::{Log, LogOptions, LogPlace, LogReader, Position, RecordBuffer, Stamp};

use crate::exchange::{Exchange, Request, Service, Sessions};
use crate::frame::Entry;
use crate::message::{Call, answer, changes};
use crate::remote::store_of;
use crate::service::{StoreService, StoreServiceOptions};

/// Locks that writes are spread over, by key.
const LOCKS: usize = 64;

/// Number that logs of stores are told apart from those of databases by.
const DATABASE: u64 = u64::from_le_bytes(*b"tesstore");

/// A store's service with a log.
pub struct DurableService {
    service: StoreService,
    log: Log,
    locks: [Mutex<()>; LOCKS],
    _lock: Box<dyn FileLock>,
}

/// Place and choices of a store that outlives its process.
pub struct DurableOptions<'a> {
    /// Its files.
    pub io: &'a Arc<dyn Io>,
    /// Its directory, made when missing.
    pub directory: &'a Path,
    /// Choices for scans.
    pub service: StoreServiceOptions,
    /// Choices for the log.
    pub log: LogOptions,
}

impl DurableService {
    /// Opens a store: `store`, which is empty, gets what the directory has. The exchange is that of
    /// a new life.
    ///
    /// # Errors
    /// 55006 when another process has it open; XX001 for a damaged log; errors of the disk; 53200
    /// when memory does not suffice.
    pub fn open(store: Arc<Store>, options: &DurableOptions<'_>) -> Result<Exchange<Self>> {
        let DurableOptions { io, directory, .. } = *options;
        io.create_directory(directory)?;
        let lock = io.lock(&directory.join("lock"))?;
        let life = next_life(&**io, directory)?;
        let wal = directory.join("wal");
        io.create_directory(&wal)?;
        io.sync_directory(directory)?;
        let place = LogPlace { io, directory: &wal, database: DATABASE };
        let service = StoreService::new(store, options.service);
        let (replayed, sessions) = (Mutex::new(Vec::new()), Sessions::default());
        let log = if wal::holds_records(&**io, &wal)? {
            let mut reader = LogReader::open(&place, Position::default(), Stamp(0))?;
            while let Some(record) = reader.next()? {
                let what = replay(&service, &sessions, record.payload)?;
                replayed.lock().push(what);
            }
            Log::resume(reader, options.log)?
        } else {
            Log::create(&place, options.log)?
        };
        let locks = std::array::from_fn(|_| Mutex::new(()));
        let exchange = Exchange::new(Self { service, log, locks, _lock: lock }, life);
        exchange.sessions().adopt(sessions);
        for Replayed { client, number, answer } in replayed.into_inner() {
            exchange.restore(client, number, answer);
        }
        Ok(exchange)
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        self.service.store()
    }

    /// Tells whether the log works.
    ///
    /// # Errors
    /// 58030 once it failed: no call is answered any more.
    pub fn health(&self) -> Result<()> {
        self.log.health()
    }

    fn change(&self, request: &Request<'_>) -> Option<Vec<u8>> {
        let mut record = RecordBuffer::default();
        let out = record.output();
        put_u64(out, request.client);
        put_u64(out, request.number);
        put_bytes(out, request.payload);
        let place = store_of(key_of(request.payload), LOCKS);
        let _lock = self.locks[place].lock();
        let Ok(space) = self.log.reserve(&record) else {
            return Some(answer(Err(StoreError::OutOfMemory), |_, ()| ()));
        };
        let answer = self.service.answer(request)?;
        if answer.first() == Some(&0) {
            // After an error the log is broken, and so no answer is given: see `settle`.
            drop(self.log.append(space, Stamp(1), &mut record));
        }
        Some(answer)
    }
}

impl Service for DurableService {
    fn answer(&self, request: &Request<'_>) -> Option<Vec<u8>> {
        if changes(request.payload) { self.change(request) } else { self.service.answer(request) }
    }

    fn happens_once(&self, payload: &[u8]) -> bool {
        self.service.happens_once(payload)
    }

    fn refusal(&self) -> Vec<u8> {
        self.service.refusal()
    }

    fn control(&self, client: u64, entry: &Entry<'_>) {
        self.service.control(client, entry);
    }

    fn settle(&self, _client: u64) -> Result<()> {
        self.log.health()?;
        self.log.wait_durable(self.log.position().lsn)
    }

    fn left(&self, client: u64) {
        self.service.left(client);
    }
}

/// The number of a life that begins: one more than the last, on disk before anybody hears it.
fn next_life(io: &dyn Io, directory: &Path) -> Result<u64> {
    let path = directory.join("life");
    let is_there = io.list(directory)?.iter().any(|name| name == "life");
    let last = if is_there {
        let bytes = read_file(io, &path)?;
        if bytes.len() != 8 {
            let message = format!("\"{}\" is damaged: expected 8 bytes", path.display());
            return Err(Error::new(SqlState::DATA_CORRUPTED, message));
        }
        read_u64(&bytes, 0)
    } else {
        0
    };
    replace_file(io, &path, &(last + 1).to_le_bytes())?;
    Ok(last + 1)
}

/// The key that a call changes; tables that are made have one order, too.
fn key_of(payload: &[u8]) -> u64 {
    match Call::read(payload) {
        Ok(Call::Write { key, .. } | Call::Revert { key, .. }) => key,
        _ => 0,
    }
}

/// A call that was done in an earlier life.
struct Replayed {
    client: u64,
    number: u64,
    answer: Vec<u8>,
}

fn replay(service: &StoreService, sessions: &Sessions, payload: &[u8]) -> Result<Replayed> {
    let damaged = |malformed: Malformed| malformed.in_bytes_of("a record of the store's log");
    let mut input = Input::new(payload);
    let client = input.u64().map_err(damaged)?;
    let number = input.u64().map_err(damaged)?;
    let call = Call::read(input.bytes().map_err(damaged)?).map_err(damaged)?;
    let answer = apply(service, sessions, call)?;
    Ok(Replayed { client, number, answer })
}

/// Does again what a record says; its answer is the one that it had.
fn apply(service: &StoreService, sessions: &Sessions, call: Call<'_>) -> Result<Vec<u8>> {
    let store = service.store();
    let nothing = |_: &mut Vec<u8>, (): &()| ();
    match call {
        Call::Write { kind, table, key, snapshot, row } => {
            let version = snapshot.writes()?;
            let before = Version(version.0.saturating_sub(1));
            let of = store.table(table)?;
            let again = match of.schema().kind() {
                // Whatever was written before is seen: that it succeeded is known.
                TableKind::Transactional => Snapshot::read_write(Version(0), before, version, &[])?,
                TableKind::NonTransactional => {
                    if of.newest_version(key) > before {
                        // The key was removed and collected before this write, and begins again.
                        of.collect(Version::MAX)?;
                    }
                    Snapshot::conditional(before)?
                }
            };
            let write = Call::Write { kind, table, key, snapshot: again, row };
            service.redo(&write)?;
            Ok(answer(Ok(()), nothing))
        }
        Call::Revert { table, key, version } => {
            store.table(table)?.revert(version, key)?;
            Ok(answer(Ok(()), nothing))
        }
        Call::Create { name, schema, layout } => {
            let id = store.create(name, schema, layout)?;
            Ok(answer(Ok(id), |out, id| put_u64(out, id.0)))
        }
        Call::Fence { client } => {
            sessions.fence(client, 0);
            Ok(answer(Ok(()), nothing))
        }
        _ => Err(Error::new(SqlState::DATA_CORRUPTED, "a record of the store's log only reads")),
    }
}
