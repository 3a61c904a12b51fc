//! Makes tables from files: the newest checkpoint, then the log behind it.
//!
//! ```text
//! manifest -> catalog, tables -> blocks (all threads) -> log (`replay`) -> indexes
//!                                frozen: identity only       from kept keys, else from rows
//! ```
//! Invariants: rows come back with their TIDs; nothing is written to files; rows of a frozen block
//! are read only where the file is of an earlier build, or an index has no keys of it.

mod replay;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use catalog::derived::new_index;
use catalog::stored::sub_block_spec;
use catalog::{State, TableEntry, families, partitions};
use parking_lot::Mutex;
use storage::{
    BufferPool, EvictedBlock, IndexId, KeySource, Table, TableId, Timestamp, WriteError,
};
use txn::checkpoint::{BlockEntry, BlockFile, BlockStart, BlockTemperature, Directory, Manifest};
use txn::redo::BlockReference;
use types::{Error, Result, SqlState};
use wal::LogReader;

use crate::damage::damaged;
use crate::files::{BlockFiles, temperature_of};
use crate::handed::Opening;
use crate::homes::Homes;
use crate::marks::Named;
use crate::objects::Objects;

use replay::Replay;

/// A database as its files have it.
pub(super) struct Recovered {
    pub(super) state: State,
    pub(super) named: Named,
    pub(super) files: BlockFiles,
    pub(super) homes: Arc<Homes>,
    pub(super) manifest: Manifest,
    /// The newest commit.
    pub(super) last: Timestamp,
    /// The largest number of a table or index.
    pub(super) last_object: u64,
    /// Version of the next block file.
    pub(super) next_version: u64,
    /// Commits that the checkpoint does not hold.
    pub(super) replayed: u64,
    /// Read to its end.
    pub(super) log: LogReader,
    pub(super) report: RecoveryReport,
}

/// Time and amounts of opening a database.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryReport {
    /// Reading the blocks of the checkpoint.
    pub blocks: Duration,
    /// Replaying the log behind it.
    pub log: Duration,
    /// Bytes of the log replayed.
    pub log_bytes: u64,
    /// Commits replayed.
    pub commits: u64,
    /// Building indexes.
    pub indexes: Duration,
}

/// Parts of the database that recovery works with.
pub(super) struct Means<'a> {
    pub(super) directory: &'a Directory,
    pub(super) pool: &'a Arc<BufferPool>,
    pub(super) threads: usize,
    /// Bytes of the log that are handed to threads at once.
    pub(super) portion_bytes: usize,
    homes: Arc<Homes>,
    /// Files of frozen blocks, with their tables, that had to be read whole.
    whole: Mutex<Vec<(TableId, BlockReference)>>,
}

impl<'a> Means<'a> {
    pub(super) fn new(directory: &'a Directory, opening: Opening<'a>) -> Self {
        let Opening { files, pool, threads } = opening;
        let homes = Arc::new(Homes::new(directory.reader()));
        let (threads, portion_bytes) = (threads.max(1), files.portion_bytes.max(1));
        Self { directory, pool, threads, portion_bytes, homes, whole: Mutex::default() }
    }

    /// Reads everything.
    ///
    /// # Errors
    /// XX001 for damage, with file, offset and expectation; 53200 without memory; 58030.
    pub(super) fn recover(&self) -> Result<Recovered> {
        let begun = Instant::now();
        let mut report = RecoveryReport::default();
        let manifest = self.directory.read_manifest()?;
        let mut replay = Replay::new(self);
        // That of a new database holds nothing, not even an empty catalog.
        if !manifest.catalog.is_empty() {
            replay.begin(&manifest)?;
            self.restore_blocks(&manifest, &replay.objects)?;
        }
        report.blocks = begun.elapsed();
        let mut log = self.directory.read_log(&manifest)?;
        replay.run(&mut log).map_err(|failed| match failed {
            (Some(lsn), error) => in_record(error, &log, lsn),
            (None, error) => error,
        })?;
        report.log_bytes = log.position().0.saturating_sub(manifest.position.lsn.0);
        for entry in replay.objects.state.tables.values() {
            entry.storage().end_recovery(replay.last);
        }
        replay.objects.add_schemas();
        report.log = begun.elapsed() - report.blocks;
        report.commits = replay.commits;
        for (table, file) in self.whole.lock().drain(..) {
            replay.files.note_whole(table, &file);
        }
        let mut last_object = replay.objects.last_object;
        self.build_indexes(&replay.objects, &mut replay.files, &mut last_object)?;
        partitions::settle(&mut replay.objects.state.tables)?;
        families::settle(&mut replay.objects.state.tables);
        report.indexes = begun.elapsed() - report.blocks - report.log;
        Ok(Recovered {
            state: replay.objects.state,
            named: replay.objects.named,
            files: replay.files,
            homes: Arc::clone(&self.homes),
            manifest,
            last: replay.last,
            last_object,
            next_version: replay.next_version,
            replayed: replay.commits,
            log,
            report,
        })
    }

    /// Reads the block files of the manifest with all threads.
    fn restore_blocks(&self, manifest: &Manifest, objects: &Objects) -> Result<()> {
        let mut work = Vec::new();
        for table in &manifest.tables {
            let storage = objects.tables.get(&table.id).ok_or_else(|| {
                damaged(format!("the manifest has blocks of table {}, which is none", table.id))
            })?;
            storage.set_next_block(table.next_block);
            work.extend(table.blocks.iter().map(|entry| (storage, entry)));
        }
        self.in_parallel(work.len(), |i| {
            let (table, entry) = work[i];
            self.restore_block(table, entry).map(|_| ())
        })?;
        for table in &manifest.tables {
            if let (Some(file), Some(storage)) = (table.statistics, objects.tables.get(&table.id)) {
                let source = self.homes.statistics(table.id, file);
                storage.restore_statistics(source, file.generation, file.changes);
            }
        }
        Ok(())
    }

    pub(super) fn restore_block(
        &self,
        table: &Table,
        entry: &BlockEntry,
    ) -> Result<BlockTemperature> {
        let (id, file) = (table.id(), &entry.file);
        let newer = match &entry.dead {
            Some(dead) => Some(self.directory.read_dead(id, file.block, dead)?),
            None => None,
        };
        let newer = newer.as_ref().map(BlockFile::dead);
        let restored =
            if let Some(BlockStart { identity, dead }) = self.directory.read_start(id, file)? {
                let home = self.homes.home_of(id, file);
                let evicted = EvictedBlock { identity: &identity, home };
                let dead = dead_words(newer.unwrap_or(&dead));
                table.restore_evicted(file.block, evicted, &dead, entry.changed)
            } else {
                let whole = self.directory.read_block(id, file)?;
                let dead = dead_words(newer.unwrap_or(whole.dead()));
                table.restore_block(file.block, whole.content(), &dead, entry.changed)
            };
        let layout = restored.map_err(|error| match error.state() {
            SqlState::DATA_CORRUPTED => {
                let path = self.directory.path_of(id, file);
                let message = format!("\"{}\" is damaged: {}", path.display(), error.message());
                Error::new(SqlState::DATA_CORRUPTED, message)
            }
            _ => error,
        })?;
        let temperature = temperature_of(layout);
        if temperature == BlockTemperature::Frozen && table.wants_home(file.block) {
            self.whole.lock().push((id, *file));
        }
        self.homes.tell(table, file, temperature);
        Ok(temperature)
    }

    /// Runs `work` for `0..count`; the first error ends it.
    fn in_parallel(&self, count: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
        let run = || {
            while failure.lock().is_none() {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    return;
                }
                if let Err(error) = work(i) {
                    failure.lock().get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            (1..self.threads.min(count)).for_each(|_| drop(scope.spawn(run)));
            run();
        });
        failure.into_inner().map_or(Ok(()), Err)
    }

    /// Builds the indexes of all tables but those that wait for a writer.
    fn build_indexes(
        &self,
        objects: &Objects,
        files: &mut BlockFiles,
        last_object: &mut u64,
    ) -> Result<()> {
        let waits = |entry: &TableEntry| objects.deferred.contains(&entry.storage().id());
        for entry in objects.state.tables.values().filter(|entry| !waits(entry)) {
            for meta in &entry.def.indexes {
                *last_object += 1;
                self.build_index(entry, IndexId(*last_object), meta, files)?;
            }
            for meta in &entry.def.block_indexes {
                *last_object += 1;
                let spec = sub_block_spec(IndexId(*last_object), meta)?;
                entry.storage().recover_sub_blocks(spec, self.threads)?;
            }
            entry.set_indexed();
        }
        Ok(())
    }

    fn build_index(
        &self,
        entry: &TableEntry,
        id: IndexId,
        meta: &sql::catalog::IndexMeta,
        files: &mut BlockFiles,
    ) -> Result<()> {
        let table = entry.storage();
        let index = new_index(id, table, &entry.def.columns, meta)?;
        let (directory, lost) = (self.directory, Mutex::default());
        let keys = Keys { directory, files, table: table.id(), lost };
        let recovered = table.recover_index(index, self.threads, &keys);
        let lost = keys.lost.into_inner();
        lost.into_iter().for_each(|block| files.forget_keys(table.id(), block));
        match recovered {
            Ok(_) => Ok(()),
            Err(WriteError::Failed(error)) => Err(error),
            Err(_) => {
                let (table, index) = (&entry.def.name, &meta.name);
                Err(damaged(format!("rows of table {table} have equal keys in index {index}")))
            }
        }
    }
}

/// Keys of the blocks of a table in files.
struct Keys<'a> {
    directory: &'a Directory,
    files: &'a BlockFiles,
    table: TableId,
    /// Blocks whose keys could not be read.
    lost: Mutex<Vec<u64>>,
}

impl KeySource for Keys<'_> {
    fn run(&self, block: u64, definition: &[u8]) -> Option<Vec<u8>> {
        let file = self.files.keys(self.table, block)?;
        // Nothing is lost with a damaged file: the rows are there, and a check finds it.
        self.directory.read_keys(self.table, block, &file, definition).unwrap_or_else(|error| {
            let mut lost = self.lost.lock();
            if lost.is_empty() {
                eprintln!("tessera: rows are read in the place of keys: {error}");
            }
            lost.push(block);
            None
        })
    }
}

/// XX001 names the place in the log.
fn in_record(error: Error, log: &LogReader, lsn: wal::Lsn) -> Error {
    if error.state() != SqlState::DATA_CORRUPTED {
        return error;
    }
    let (path, offset) = log.place_of(lsn);
    let message = format!(
        "\"{}\" is damaged: the record at byte {offset} cannot be replayed: {}",
        path.display(),
        error.message()
    );
    Error::new(SqlState::DATA_CORRUPTED, message)
}

fn dead_words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}
