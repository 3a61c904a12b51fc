//! The log and the snapshots of a native bus.
//!
//! ```text
//! directory/bus.lock, bus.manifest, snapshot-<n>, wal/
//! start:    manifest -> snapshot -> log from the manifest's position on
//! snapshot: position -> clients one by one -> all that they showed is durable -> manifest -> cut
//! ```
//! Invariants: a record is appended while the mailboxes that it changes are held; a snapshot is
//! named only when the log is durable up to its end, so that nothing in it can be lost again.
//! Elsewhere: what is in records (`record`); group commit and checksums (`wal`).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host::{FileLock, Finding, Io};
use parking_lot::Mutex;
use types::Result;
use wal::{
    Background, Log, LogOptions, LogPlace, LogReader, Lsn, Position, RecordBuffer, Space, Stamp,
    holds_records,
};

use super::queue::Queue;
use super::replay;
use super::snapshot::{
    self, MANIFEST_NAME, Manifest, SnapshotWriter, manifest_path, snapshot_path,
};
use super::state::State;
use crate::record::{NextIds, Record};

/// The directory of the log.
const WAL_NAME: &str = "wal";
/// Ids of messages that may be given before the log has to be waited for.
const IDS_STEP: u64 = 1 << 16;

/// When a call that changed something returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Once the change is on the disk. Calls at the same time share one sync.
    #[default]
    Synchronous,
    /// At once: a crash loses the newest messages and deletes, never some from the middle. Clients
    /// and their registrations are on the disk all the same.
    Asynchronous,
}

/// How a native bus logs.
#[derive(Clone, Copy, Debug)]
pub struct LogSettings {
    /// When calls return.
    pub durability: Durability,
    /// Bytes of log after which a snapshot is due; more where the last one was larger.
    pub snapshot_bytes: u64,
    /// Options of the log below. Without a background thread snapshots are made on call only.
    pub log: LogOptions,
}

impl Default for LogSettings {
    fn default() -> Self {
        let (durability, log) = (Durability::Synchronous, LogOptions::default());
        Self { durability, snapshot_bytes: 256 << 20, log }
    }
}

/// Where the last snapshot begins.
#[derive(Debug)]
struct Base {
    manifest: Manifest,
    snapshot_bytes: u64,
}

/// The log of an open bus.
#[derive(Debug)]
pub(super) struct Journal {
    io: Arc<dyn Io>,
    directory: PathBuf,
    settings: LogSettings,
    log: Log,
    stamps: AtomicU64,
    /// Ids of messages below are known to the disk as given.
    ids_reserved: AtomicU64,
    reserving: Mutex<()>,
    /// Held while a snapshot is made.
    base: Mutex<Base>,
    /// The position at which the next one is due.
    snapshot_due: AtomicU64,
    _lock: Box<dyn FileLock>,
}

/// State that a start found or made.
struct Started {
    log: Log,
    base: Base,
    /// The newest in the log.
    stamp: Stamp,
}

impl Journal {
    /// Opens the bus in `directory`, which is made when absent.
    ///
    /// # Errors
    /// 55006 when another process has it; XX001 for damage; those of `io`.
    pub(super) fn open<Q: Queue>(
        io: &Arc<dyn Io>,
        directory: &Path,
        settings: LogSettings,
    ) -> Result<(Self, State<Q>)> {
        io.create_directory(directory)?;
        let lock = io.lock(&directory.join("bus.lock"))?;
        let mut state = State::new();
        let names = io.list(directory)?;
        let started = if names.iter().any(|name| name == MANIFEST_NAME) {
            recover(io, directory, settings.log, &mut state)?
        } else {
            create(io, directory, settings.log)?
        };
        let kept = started.base.manifest.snapshot;
        for name in names {
            let number = name.strip_prefix("snapshot-").map(str::parse);
            if number.is_some_and(|number| number != Ok(kept)) {
                io.remove(&directory.join(name))?;
            }
        }
        let journal = Self {
            io: Arc::clone(io),
            directory: directory.to_owned(),
            settings,
            log: started.log,
            stamps: AtomicU64::new(started.stamp.0 + 1),
            ids_reserved: AtomicU64::new(state.next.message),
            reserving: Mutex::new(()),
            snapshot_due: AtomicU64::new(0),
            base: Mutex::new(started.base),
            _lock: lock,
        };
        journal.schedule(&journal.base.lock());
        Ok((journal, state))
    }

    /// Makes room in the log for `record`.
    ///
    /// # Errors
    /// The errors of [`Log::reserve`]; nothing has happened then.
    pub(super) fn reserve(&self, record: &RecordBuffer) -> Result<Space<'_>> {
        self.log.reserve(record)
    }

    /// Appends a record, in memory; returns the position behind it. The caller holds what the
    /// record is about.
    ///
    /// # Errors
    /// The errors of [`Log::append`]; nothing has happened then.
    pub(super) fn append(&self, space: Space<'_>, mut record: RecordBuffer) -> Result<Lsn> {
        let stamp = Stamp(self.stamps.fetch_add(1, Ordering::Relaxed));
        self.log.append(space, stamp, &mut record)
    }

    /// As [`Self::reserve`] and [`Self::append`].
    fn write(&self, record: &Record) -> Result<Lsn> {
        let mut buffer = RecordBuffer::default();
        record.write(buffer.output());
        let space = self.reserve(&buffer)?;
        self.append(space, buffer)
    }

    /// Waits until what is in front of `lsn` may be acknowledged.
    ///
    /// # Errors
    /// The errors of [`Log::wait_durable`]: whether it is on the disk is not known.
    pub(super) fn acknowledge(&self, lsn: Lsn) -> Result<()> {
        match self.settings.durability {
            Durability::Synchronous => self.log.wait_durable(lsn),
            Durability::Asynchronous => {
                self.log.flush_later();
                self.log.health()
            }
        }
    }

    /// Waits until what is in front of `lsn` is on the disk, whatever the settings.
    ///
    /// # Errors
    /// As [`Self::acknowledge`].
    pub(super) fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        self.log.wait_durable(lsn)
    }

    /// Waits until what is in front of `lsn` may be shown to others.
    ///
    /// # Errors
    /// As [`Self::acknowledge`].
    pub(super) fn show(&self, lsn: Lsn) -> Result<()> {
        match self.settings.durability {
            Durability::Synchronous => self.log.wait_durable(lsn),
            Durability::Asynchronous => Ok(()),
        }
    }

    /// Sees to it that the disk knows ids from `next` on as given before they are: what a crash
    /// loses of asynchronous calls must not be given again.
    ///
    /// # Errors
    /// The errors of [`Log::wait_durable`].
    pub(super) fn reserve_ids(&self, next: NextIds) -> Result<()> {
        let is_enough = || next.message + IDS_STEP / 2 < self.ids_reserved.load(Ordering::Acquire);
        if self.settings.durability == Durability::Synchronous || is_enough() {
            return Ok(());
        }
        let _reserving = self.reserving.lock();
        if is_enough() {
            return Ok(());
        }
        let message = next.message + IDS_STEP;
        self.log.wait_durable(self.write(&Record::Ids(NextIds { message, ..next }))?)?;
        self.ids_reserved.store(message, Ordering::Release);
        Ok(())
    }

    /// Ids of messages below are known to the disk as given, or will be by a record that is
    /// still to be appended.
    pub(super) fn ids_reserved(&self) -> u64 {
        let _reserving = self.reserving.lock();
        self.ids_reserved.load(Ordering::Acquire)
    }

    /// True when a snapshot would be worth its cost.
    pub(super) fn is_snapshot_due(&self) -> bool {
        self.log.position().lsn.0 >= self.snapshot_due.load(Ordering::Relaxed)
    }

    /// Sets the position at which the next snapshot is due.
    fn schedule(&self, base: &Base) {
        let bytes = self.settings.snapshot_bytes.max(base.snapshot_bytes);
        self.snapshot_due.store(base.manifest.from.lsn.0 + bytes, Ordering::Relaxed);
    }

    /// Makes a snapshot of what `write` writes, which sees each client at a moment of its own
    /// after the call began, and gives up the log in front of that.
    ///
    /// # Errors
    /// The errors of `io` and `write`; the snapshot before stays in force.
    pub(super) fn snapshot(
        &self,
        write: impl FnOnce(&mut SnapshotWriter) -> Result<()>,
    ) -> Result<()> {
        let mut base = self.base.lock();
        let outcome = self.replace_base(&mut base, write);
        if outcome.is_err() {
            let due = self.log.position().lsn.0 + self.settings.snapshot_bytes;
            self.snapshot_due.store(due, Ordering::Relaxed);
        }
        outcome
    }

    fn replace_base(
        &self,
        base: &mut Base,
        write: impl FnOnce(&mut SnapshotWriter) -> Result<()>,
    ) -> Result<()> {
        let from = self.log.position();
        // Records in front of `from` have drawn their stamps; later ones may have, too.
        let stamp = Stamp(self.stamps.load(Ordering::Relaxed) - 1);
        let before = base.manifest;
        let manifest = Manifest { from, stamp, snapshot: before.snapshot + 1, ..before };
        let path = snapshot_path(&self.directory, manifest.snapshot);
        let mut writer = SnapshotWriter::create(&*self.io, &path)?;
        write(&mut writer)?;
        let snapshot_bytes = writer.finish()?;
        self.io.sync_directory(&self.directory)?;
        // What the clients showed may have been in memory only.
        self.log.wait_durable(self.log.position().lsn)?;
        manifest.replace(&*self.io, &self.directory)?;
        *base = Base { manifest, snapshot_bytes };
        self.schedule(base);
        if before.snapshot > 0 {
            self.io.remove(&snapshot_path(&self.directory, before.snapshot))?;
        }
        self.log.remove_below(from.lsn)?;
        Ok(())
    }

    /// # Errors
    /// 58030 once the log has failed.
    pub(super) fn health(&self) -> Result<()> {
        self.log.health()
    }

    /// Whether threads of the bus's own may work.
    pub(super) fn background(&self) -> Background {
        self.settings.log.background
    }
}

/// A new bus. What an unfinished start left is overwritten; a log without its manifest is not.
fn create(io: &Arc<dyn Io>, directory: &Path, options: LogOptions) -> Result<Started> {
    let wal = directory.join(WAL_NAME);
    let has_log = io.list(directory)?.iter().any(|name| name == WAL_NAME);
    if has_log && holds_records(&**io, &wal)? {
        let path = manifest_path(directory);
        return Err(Finding::new(path, 0, "the manifest of the log beside it").into());
    }
    let identity = io.entropy();
    let log = Log::create(&LogPlace { io, directory: &wal, database: identity }, options)?;
    let (from, stamp) = (Position::default(), Stamp(0));
    let manifest = Manifest { identity, from, stamp, snapshot: 0 };
    manifest.replace(&**io, directory)?;
    if let Some(parent) = directory.parent().filter(|parent| io.list(parent).is_ok()) {
        io.sync_directory(parent)?;
    }
    Ok(Started { log, base: Base { manifest, snapshot_bytes: 0 }, stamp })
}

/// A bus as its manifest, its snapshot and its log have it.
fn recover<Q: Queue>(
    io: &Arc<dyn Io>,
    directory: &Path,
    options: LogOptions,
    state: &mut State<Q>,
) -> Result<Started> {
    // A process that died may have left names in the machine's memory only.
    io.sync_directory(directory)?;
    let manifest = Manifest::read(&**io, directory)?;
    let snapshot_bytes = match manifest.snapshot {
        0 => 0,
        number => snapshot::load(&**io, &snapshot_path(directory, number), state)?,
    };
    let wal = directory.join(WAL_NAME);
    let place = LogPlace { io, directory: &wal, database: manifest.identity };
    let mut reader = LogReader::open(&place, manifest.from, Stamp(0))?;
    let stamp = replay::replay(&mut reader, options.background, state)?.max(manifest.stamp);
    let log = Log::resume(reader, options)?;
    Ok(Started { log, base: Base { manifest, snapshot_bytes }, stamp })
}
