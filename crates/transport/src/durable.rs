//! A store that outlives its process: each call that changed something is in a log before it is
//! answered, and snapshots keep the log short.
//!
//! ```text
//! <directory>/lock      held while the store is open     life   number of this life
//!            snapshot   what the store had while the log grew from P to E
//!            wal/       records from P on: client, number | the call as it came
//! call -> lock of its key -> table -> record -> unlock; end of its frame -> log on disk -> answers
//! snapshot_if_due -> images of tables, answers, fences -> disk -> name -> segments below P go
//! open -> snapshot -> each record done again, its answer kept for a client that asks again
//! ```
//! Frames wait for the log even when they only read: nobody learns of a write that a crash may take
//! back. One wait serves a frame, and one write of the disk all frames that wait.
//! A snapshot is made while calls go on: `replay` says why calls between P and E may be in it or
//! not. It is due when the log since the last one is longer than that one, so that each byte of the
//! log costs one byte of snapshots at most, and opening reads two or three times what the store
//! has.
//! Invariants: records of a key stand in the order of its writes, and those of moves of keys in
//! their order; refused calls leave no record; a snapshot has its name when the log up to E is on
//! disk, and says where keys were at P.
//! Elsewhere: files and torn ends (`wal`), the file of a snapshot (`snapshot`).
//! Source: Pilman 2017, sections 4.1.6 and 4.7. Departures: one log for all layouts; whole tables
//! in the place of dirty pages.

mod snapshot;
mod replay;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{FileLock, Io, read_file, replace_file};
use parking_lot::Mutex;
use store::server::Store;
use store::{StoreError, part_of};
use types::codec::{put_bytes, put_u64, read_u64};
use types::{Error, Result, SqlState};
use wal::{Log, LogOptions, LogPlace, LogReader, Lsn, RecordBuffer, Stamp};

use self::replay::{Pass, Replay, Replayed};
use self::snapshot::{Loaded, SnapshotWriter};
use crate::exchange::{Exchange, Request, Service, Sessions};
use crate::frame::Entry;
use crate::message::{Call, answer, changes, is_move};
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
    io: Arc<dyn Io>,
    directory: PathBuf,
    snapshot_bytes: u64,
    /// Held while a snapshot is made.
    last: Mutex<LastSnapshot>,
    _lock: Box<dyn FileLock>,
}

/// The snapshot on disk.
#[derive(Clone, Copy, Debug, Default)]
struct LastSnapshot {
    from: Lsn,
    bytes: u64,
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
    /// Bytes of log before which no snapshot is due.
    pub snapshot_bytes: u64,
}

/// Bytes of log before which no snapshot is due, where nobody says otherwise.
pub const SNAPSHOT_BYTES: u64 = 256 << 20;

/// A snapshot that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotMade {
    /// Bytes of its file.
    pub bytes: u64,
    /// Segments of the log that went.
    pub segments: usize,
}

impl DurableService {
    /// Opens a store: `store`, which is empty, gets what the directory has. The exchange is that of
    /// a new life.
    ///
    /// # Errors
    /// 55006 when another process has it open; XX001 for a damaged log or snapshot; errors of the
    /// disk; 53200 when memory does not suffice.
    pub fn open(store: Arc<Store>, options: &DurableOptions<'_>) -> Result<Exchange<Self>> {
        let DurableOptions { io, directory, snapshot_bytes, .. } = *options;
        io.create_directory(directory)?;
        let lock = io.lock(&directory.join("lock"))?;
        let life = next_life(&**io, directory)?;
        let loaded = load(&**io, directory, &store)?;
        let service = StoreService::new(store, options.service);
        let (mut replayed, sessions) = (Vec::new(), Sessions::default());
        loaded.fences.iter().for_each(|client| sessions.fence(*client, 0));
        service.placement().restore(loaded.placement.clone());
        let log = {
            let replay = Replay { service: &service, sessions: &sessions };
            open_log(options, &loaded, |payload, pass| {
                replayed.push(replay.record(payload, pass)?);
                Ok(())
            })?
        };
        snapshot::merge(service.store())?;
        for (table, horizon) in &loaded.horizons {
            service.store().table(*table)?.collect(*horizon)?;
        }
        let exchange = Exchange::new(
            Self {
                service,
                log,
                locks: std::array::from_fn(|_| Mutex::new(())),
                io: Arc::clone(io),
                directory: directory.to_path_buf(),
                snapshot_bytes,
                last: Mutex::new(LastSnapshot { from: loaded.from.lsn, bytes: loaded.bytes }),
                _lock: lock,
            },
            life,
        );
        exchange.sessions().adopt(sessions);
        for session in loaded.sessions {
            let restore = |(number, answer)| exchange.restore(session.client, number, answer);
            session.answers.into_iter().for_each(restore);
        }
        for Replayed { client, number, answer } in replayed {
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
        let is_move = is_move(request.payload);
        let _order = is_move.then(|| self.service.order());
        // Where keys are does not change between a call and its record; a move changes it.
        let _still = (!is_move).then(|| self.service.placement().still());
        let place = part_of(key_of(request.payload), LOCKS as u64) as usize;
        let _lock = (!is_move).then(|| self.locks[place].lock());
        // Another error than a full disk ends the service: see `settle`.
        let Ok(space) = self.log.reserve(&record) else {
            return Some(answer(Err(StoreError::DiskFull), |_, ()| ()));
        };
        let answer = self.service.answer(request)?;
        if answer.first() == Some(&0) {
            // After an error the log is broken, and so no answer is given: see `settle`.
            drop(self.log.append(space, Stamp(1), &mut record));
        }
        Some(answer)
    }

    fn snapshot(&self, sessions: &Sessions, last: &mut LastSnapshot) -> Result<SnapshotMade> {
        let path = snapshot::unfinished(&self.directory);
        // Calls below are in the tables: a record is made behind its call.
        let (from, placement) = {
            let _order = self.service.order();
            (self.log.position(), self.service.placement().kept())
        };
        let mut writer = SnapshotWriter::create(&*self.io, &path, from)?;
        writer.placement(&placement)?;
        let store = self.store();
        for table in store.definitions() {
            writer.table(&table)?;
            let horizon = store.image(table.id, &mut |image| writer.rows(table.id, image))?;
            writer.horizon(table.id, horizon)?;
        }
        for session in sessions.answers() {
            writer.session(&session)?;
        }
        writer.fences(&sessions.fences())?;
        // Calls that the images have, and whose records are on their way.
        self.locks.iter().for_each(|lock| drop(lock.lock()));
        drop(self.service.order());
        let end = self.log.position().lsn;
        self.log.wait_durable(end)?;
        self.log.health()?;
        let bytes = writer.finish(end)?;
        self.io.rename(&path, &snapshot::path(&self.directory))?;
        self.io.sync_directory(&self.directory)?;
        *last = LastSnapshot { from: from.lsn, bytes };
        let segments = self.log.remove_below(from.lsn)?;
        Ok(SnapshotMade { bytes, segments })
    }
}

impl Exchange<DurableService> {
    /// Makes a snapshot and gives up what the log no longer needs, if it is due and nobody makes
    /// one. Calls go on meanwhile.
    ///
    /// # Errors
    /// Errors of the disk: the last snapshot and the log are as they were then.
    pub fn snapshot_if_due(&self) -> Result<Option<SnapshotMade>> {
        let service = self.service();
        let Some(mut last) = service.last.try_lock() else { return Ok(None) };
        let grown = service.log.position().lsn.0.saturating_sub(last.from.0);
        if grown < service.snapshot_bytes.max(last.bytes).max(1) {
            return Ok(None);
        }
        let made = service.snapshot(self.sessions(), &mut last);
        if made.is_err() {
            // The disk may be full of it.
            drop(service.io.remove(&snapshot::unfinished(&service.directory)));
        }
        made.map(Some)
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

/// Reads the snapshot, if there is one; an unfinished one goes.
fn load(io: &dyn Io, directory: &Path, store: &Store) -> Result<Loaded> {
    let names = io.list(directory)?;
    let is_there = |path: &Path| {
        names.iter().any(|name| path.file_name().is_some_and(|file| file == name.as_str()))
    };
    let unfinished = snapshot::unfinished(directory);
    if is_there(&unfinished) {
        io.remove(&unfinished)?;
    }
    let path = snapshot::path(directory);
    if is_there(&path) { snapshot::load(io, &path, store) } else { Ok(Loaded::default()) }
}

/// Opens the log, and gives `record` what stands in it from the snapshot on.
fn open_log(
    options: &DurableOptions<'_>,
    loaded: &Loaded,
    mut record: impl FnMut(&[u8], Pass) -> Result<()>,
) -> Result<Log> {
    let wal = options.directory.join("wal");
    options.io.create_directory(&wal)?;
    options.io.sync_directory(options.directory)?;
    let place = LogPlace { io: options.io, directory: &wal, database: DATABASE };
    let has_snapshot = loaded.bytes > 0;
    if !has_snapshot && !wal::holds_records(&**options.io, &wal)? {
        return Log::create(&place, options.log);
    }
    let mut reader = LogReader::open(&place, loaded.from, Stamp(0))?;
    while let Some(found) = reader.next()? {
        let pass = if found.lsn < loaded.end { Pass::Again } else { Pass::New };
        record(found.payload, pass)?;
    }
    Log::resume(reader, options.log)
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
