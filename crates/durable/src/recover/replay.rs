//! Doing again what the log says, with all threads.
//!
//! ```text
//! reader: records -> portion (1 MiB) -> every worker: rows of its blocks | values of sequences
//!         a record that changes the catalog: all workers end, then it is applied alone
//! ```
//! Every worker decodes every portion but applies only what belongs to its blocks: the changes of a
//! block keep their order, and workers share nothing. They may be far apart, because a log that
//! fills one block after another would otherwise keep one of them waiting.
//!
//! Invariant: a transaction is applied whole, because its record was read whole before.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::ScopedJoinHandle;

use foldhash::fast::RandomState;
use storage::{RowChanges, Table, TableId, TableReplay, Tid, Timestamp, replay_rows};
use txn::checkpoint::{BlockEntry, BlockTemperature, Manifest};
use txn::redo::{BlockReference, Redo, RedoReader, RowsEnd, first_catalog_kind, time_of};
use types::{Error, Result};
use wal::{LogReader, Lsn};

use super::Means;
use crate::damage::damaged;
use crate::files::{BlockFiles, LoadedBlock};
use crate::marks::is_mark;
use crate::objects::{Objects, is_value};

/// Portions that a worker may be behind the reader: together as large as 16 blocks of small rows.
const PORTIONS_MAX: usize = 64;
/// Share of a portion below which it is applied without workers.
const ALONE_SHARE: usize = 4;
/// Changes decoded before they are applied; their values stay in the cache meanwhile.
const CHANGES_MAX: usize = 128;

/// An error, and the record it is about.
type Failed = (Option<Lsn>, Error);

/// Payloads of successive records.
#[derive(Debug, Default)]
struct Portion {
    bytes: Vec<u8>,
    /// Position, time, and where the payload ends in `bytes`.
    records: Vec<(Lsn, Timestamp, usize)>,
}

impl Portion {
    /// Portion for about `bytes` bytes, with memory that was used before, if there is some.
    fn new(bytes: usize, used: Option<Self>) -> Self {
        let mut portion = used.unwrap_or_default();
        portion.bytes.clear();
        portion.records.clear();
        portion.bytes.reserve(bytes + bytes / 4);
        portion
    }

    fn add(&mut self, lsn: Lsn, ts: Timestamp, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
        self.records.push((lsn, ts, self.bytes.len()));
    }
}

/// Reason for which the reader stops.
enum Stop {
    /// A record that changes the catalog.
    Catalog(Lsn, Timestamp, Vec<u8>),
    End,
}

/// The log, and what was read of it.
struct Source<'l> {
    log: &'l mut LogReader,
    /// The newest commit.
    last: Timestamp,
    commits: u64,
    /// Bytes of a portion.
    portion_bytes: usize,
    /// Portions that all workers are through with.
    used: Receiver<Portion>,
    give_back: Sender<Portion>,
}

impl<'l> Source<'l> {
    fn new(log: &'l mut LogReader, last: Timestamp, portion_bytes: usize) -> Self {
        let (give_back, used) = channel();
        Self { log, last, commits: 0, portion_bytes, used, give_back }
    }

    /// The next records, of `bytes` bytes or up to a stop.
    fn portion(&mut self, bytes: usize) -> Result<(Portion, Option<Stop>), Failed> {
        let mut portion = Portion::new(self.portion_bytes, self.used.try_recv().ok());
        while portion.bytes.len() < bytes {
            let Some(record) = self.log.next().map_err(|error| (None, error))? else {
                return Ok((portion, Some(Stop::End)));
            };
            self.last = self.last.max(time_of(record.stamp));
            self.commits += 1;
            let catalog = first_catalog_kind(record.payload).is_some_and(|kind| !is_value(kind));
            if catalog {
                let stop =
                    Stop::Catalog(record.lsn, time_of(record.stamp), record.payload.to_vec());
                return Ok((portion, Some(stop)));
            }
            portion.add(record.lsn, time_of(record.stamp), record.payload);
        }
        Ok((portion, None))
    }

    /// Hands `portion` and what follows to all workers, up to a stop; without one if a worker
    /// ended.
    fn feed(
        &mut self,
        mut portion: Portion,
        workers: &[SyncSender<Arc<Portion>>],
    ) -> Result<Option<Stop>, Failed> {
        let mut stop = None;
        loop {
            let shared = Arc::new(std::mem::take(&mut portion));
            if workers.iter().any(|worker| worker.send(Arc::clone(&shared)).is_err()) {
                return Ok(None);
            }
            if stop.is_some() {
                return Ok(stop);
            }
            (portion, stop) = self.portion(self.portion_bytes)?;
        }
    }
}

/// State of the replay so far.
pub(super) struct Replay<'a> {
    means: &'a Means<'a>,
    pub(super) objects: Objects,
    pub(super) files: BlockFiles,
    /// The newest commit.
    pub(super) last: Timestamp,
    /// Version of the next block file.
    pub(super) next_version: u64,
    pub(super) commits: u64,
}

impl<'a> Replay<'a> {
    pub(super) fn new(means: &'a Means<'a>) -> Self {
        Self {
            means,
            objects: Objects::new(Arc::clone(means.pool)),
            files: BlockFiles::default(),
            last: Timestamp(1),
            next_version: 1,
            commits: 0,
        }
    }

    /// Takes over the catalog of a checkpoint.
    ///
    /// # Errors
    /// XX001 when it is none.
    pub(super) fn begin(&mut self, manifest: &Manifest) -> Result<()> {
        self.files = BlockFiles::of(manifest);
        let blocks = manifest.tables.iter().flat_map(|table| &table.blocks);
        let newest = blocks.map(|block| block.changed).max();
        self.last = self.last.max(manifest.snapshot).max(newest.unwrap_or(Timestamp(0)));
        self.next_version = self.next_version.max(manifest.next_version);
        let rows = self.apply_catalog(&manifest.catalog)?;
        if !rows.is_empty() {
            return Err(damaged("the catalog of the manifest holds rows"));
        }
        Ok(())
    }

    /// Repeats the changes of all transactions of `log`.
    ///
    /// # Errors
    /// XX001 for damage, without a record when the error names the place; 53200; 58030.
    pub(super) fn run(&mut self, log: &mut LogReader) -> Result<(), Failed> {
        let mut source = Source::new(log, self.last, self.means.portion_bytes);
        loop {
            let (portion, stop) = source.portion(source.portion_bytes.div_ceil(ALONE_SHARE))?;
            let stop = match stop {
                None if self.means.threads > 1 => self.run_parallel(portion, &mut source)?,
                stop => {
                    self.run_alone(&portion)?;
                    stop
                }
            };
            match stop {
                None => {}
                Some(Stop::End) => break,
                Some(Stop::Catalog(lsn, ts, payload)) => {
                    // Definitions may follow behind, whose storage goes later.
                    let is_marked = first_catalog_kind(&payload).is_some_and(is_mark);
                    let rows = self.apply_catalog(&payload);
                    let rows = rows.map_err(|error| (Some(lsn), error))?;
                    let mut portion = Portion::default();
                    portion.add(lsn, ts, rows);
                    self.run_alone(&portion)?;
                    if !is_marked {
                        self.objects.forget_dropped();
                    }
                }
            }
        }
        self.objects.forget_dropped();
        (self.last, self.commits) = (source.last, source.commits);
        Ok(())
    }

    /// Changes the catalog as the first entries of `payload` say; returns the rest.
    fn apply_catalog<'p>(&mut self, payload: &'p [u8]) -> Result<&'p [u8]> {
        let mut reader = RedoReader::new(payload);
        loop {
            let rest = reader.rest();
            match reader.next()? {
                Some(Redo::Catalog { kind, name, bytes }) if !is_value(kind) => {
                    if !self.objects.named.apply(kind, name, bytes)? {
                        self.objects.apply(kind, name, bytes)?;
                    }
                }
                _ => return Ok(rest),
            }
        }
    }

    fn run_alone(&mut self, portion: &Portion) -> Result<(), Failed> {
        let mut worker = Worker::new(self.means, &self.objects, Part { number: 0, count: 1 });
        worker.apply(portion)?;
        let loaded = worker.loaded;
        self.take_over(loaded);
        Ok(())
    }

    /// Applies `first` and what follows up to a stop with all threads.
    fn run_parallel(
        &mut self,
        first: Portion,
        source: &mut Source<'_>,
    ) -> Result<Option<Stop>, Failed> {
        let (objects, means) = (&self.objects, self.means);
        let (read, ends) = std::thread::scope(|scope| {
            let start = |part: usize| {
                let (sender, receiver) = sync_channel(PORTIONS_MAX);
                let part = Part { number: part as u32, count: means.threads as u32 };
                let worker = Worker::new(means, objects, part);
                let give_back = source.give_back.clone();
                (sender, scope.spawn(move || worker.run(&receiver, &give_back)))
            };
            let (senders, threads): (Vec<_>, Vec<_>) = (0..means.threads).map(start).unzip();
            let read = source.feed(first, &senders);
            drop(senders);
            let join = |thread: ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            (read, threads.into_iter().map(join).collect::<Vec<Result<Loaded, Failed>>>())
        });
        let mut failures = Vec::new();
        for end in ends {
            match end {
                Ok(loaded) => self.take_over(loaded),
                Err(failed) => failures.push(failed),
            }
        }
        match failures.into_iter().min_by_key(|(lsn, _)| *lsn) {
            Some(first) => Err(first),
            None => read,
        }
    }

    fn take_over(&mut self, loaded: Loaded) {
        for (ts, block) in loaded {
            self.next_version = self.next_version.max(block.file.version + 1);
            self.files.add(ts, [block]);
        }
    }
}

/// Blocks that were read from files, and when they came.
type Loaded = Vec<(Timestamp, LoadedBlock)>;

/// One of several parts of all blocks.
#[derive(Clone, Copy)]
struct Part {
    number: u32,
    count: u32,
}

/// A record of the log, read.
struct Record<'p> {
    lsn: Lsn,
    ts: Timestamp,
    payload: &'p [u8],
}

/// Applies what belongs to one of several parts of all blocks.
struct Worker<'a> {
    means: &'a Means<'a>,
    objects: &'a Objects,
    part: u32,
    parts: u32,
    tables: Vec<TableReplay>,
    /// Where a table is in `tables`, by number.
    positions: HashMap<TableId, usize, RandomState>,
    /// The last look-up there.
    found: Option<(TableId, usize)>,
    loaded: Loaded,
}

impl<'a> Worker<'a> {
    fn new(means: &'a Means<'a>, objects: &'a Objects, part: Part) -> Self {
        let Part { number: part, count: parts } = part;
        let (tables, positions) = (Vec::new(), HashMap::default());
        Self { means, objects, part, parts, tables, positions, found: None, loaded: Vec::new() }
    }

    /// Applies what comes; the last worker gives a portion back.
    fn run(
        mut self,
        portions: &Receiver<Arc<Portion>>,
        give_back: &Sender<Portion>,
    ) -> Result<Loaded, Failed> {
        for portion in portions {
            self.apply(&portion)?;
            if let Some(portion) = Arc::into_inner(portion) {
                // Nobody takes it at the end.
                let _ = give_back.send(portion);
            }
        }
        Ok(self.loaded)
    }

    /// Blocks of one table take turns, and tables begin at different parts.
    fn owns(&self, table: TableId, block: u64) -> bool {
        (table.0.wrapping_add(block) as u32) % self.parts == self.part
    }

    /// Where `table` is in `tables`.
    fn position(&mut self, table: TableId) -> Result<usize> {
        if let Some((found, position)) = self.found
            && found == table
        {
            return Ok(position);
        }
        let position = match self.positions.get(&table) {
            Some(&position) => position,
            None => {
                self.tables.push(TableReplay::new(self.table(table)?));
                self.positions.insert(table, self.tables.len() - 1);
                self.tables.len() - 1
            }
        };
        self.found = Some((table, position));
        Ok(position)
    }

    fn table(&self, id: TableId) -> Result<&'a Arc<Table>> {
        let table = self.objects.tables.get(&id);
        table.ok_or_else(|| damaged(format!("rows of table {id}, which is none")))
    }

    fn apply(&mut self, portion: &Portion) -> Result<(), Failed> {
        let mut pending = Pending::default();
        let mut start = 0;
        for &(lsn, ts, end) in &portion.records {
            pending.records.push((pending.rows.changes.len(), lsn));
            let record = Record { lsn, ts, payload: &portion.bytes[start..end] };
            self.apply_record(record, &mut pending)?;
            start = end;
        }
        self.flush(&mut pending)
    }

    /// Reads a record; applies its rows when there are many.
    fn apply_record<'p>(
        &mut self,
        Record { lsn, ts, payload }: Record<'p>,
        pending: &mut Pending<'p>,
    ) -> Result<(), Failed> {
        let here = |error| (Some(lsn), error);
        let mut reader = RedoReader::new(payload);
        loop {
            let mut unknown = None;
            let position = |table: TableId, tid: Tid| {
                let owned = self.owns(table, tid.block());
                owned.then(|| self.position(table).map_err(|e| unknown = Some(e)).ok())?
            };
            let end = reader.read_rows(position, &mut pending.rows, CHANGES_MAX).map_err(here)?;
            unknown.map_or(Ok(()), Err).map_err(here)?;
            match end {
                RowsEnd::Payload => return Ok(()),
                RowsEnd::Full => {
                    self.flush(pending)?;
                    pending.records.push((0, lsn));
                }
                RowsEnd::Other(Redo::Block { table, file }) => {
                    self.flush(pending)?;
                    pending.records.push((0, lsn));
                    if self.owns(table, file.block) {
                        self.load_block(ts, table, &file).map_err(here)?;
                    }
                }
                RowsEnd::Other(Redo::Catalog { kind, name, bytes }) if is_value(kind) => {
                    if self.part == 0 {
                        self.objects.set_value(name, bytes).map_err(here)?;
                    }
                }
                RowsEnd::Other(_) => {
                    return Err(here(damaged("the catalog changes behind rows")));
                }
            }
        }
    }

    /// Applies the rows that were read.
    fn flush(&mut self, pending: &mut Pending<'_>) -> Result<(), Failed> {
        let applied = replay_rows(&mut self.tables, &pending.rows);
        applied.map_err(|(change, error)| (pending.record_of(change), error))?;
        pending.rows.clear();
        pending.records.clear();
        Ok(())
    }

    fn load_block(&mut self, ts: Timestamp, table: TableId, file: &BlockReference) -> Result<()> {
        let hot = BlockTemperature::Hot;
        let (dead, keys) = (None, None);
        let entry = BlockEntry { file: *file, changed: ts, temperature: hot, dead, keys };
        let temperature = self.means.restore_block(self.table(table)?, &entry)?;
        self.loaded.push((ts, LoadedBlock { table, file: *file, temperature }));
        Ok(())
    }
}

/// Changes that were decoded and not yet applied.
#[derive(Default)]
struct Pending<'p> {
    rows: RowChanges<'p>,
    /// Which change is the first of a record.
    records: Vec<(usize, Lsn)>,
}

impl Pending<'_> {
    /// The record of a change.
    fn record_of(&self, change: usize) -> Option<Lsn> {
        let behind = self.records.partition_point(|(first, _)| *first <= change);
        self.records[..behind].last().map(|(_, lsn)| *lsn)
    }
}
