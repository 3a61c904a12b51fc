//! Checkpoints: what changed since the last one, while work goes on.
//!
//! ```text
//! commits held: snapshot, position in the log, catalog, blocks
//! then: changed blocks -> files -> files and log durable -> manifest -> old files, segments go
//!       statistics -------'
//!       keys of frozen blocks that have none -'
//! ```
//! Invariants: the manifest holds all commits before its position in the log, and of each part
//! of a block that was written those up to a later one, too: replay does them again, and comes to
//! the same rows, because the log was durable beyond them first. So a snapshot lives no longer than
//! it takes to copy a part: whoever passes over rows deleted meanwhile gets slower. After an error
//! the newest checkpoint is the one before, with all its files and all of the log behind it.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use catalog::State;
use parking_lot::Mutex;
use storage::{BlockImage, Table, TableId, TableIndex};
use txn::checkpoint::{
    BlockContent, BlockEntry, BlockTemperature, BlockVersion, KeysReference, Manifest,
    StatisticsReference, Syncing, TableEntry as TableFiles, Unsynced, checksum_of,
};
use txn::manager::{Isolation, Transaction};
use txn::redo::RedoWriter;
use types::{Error, Result, SqlState};
use wal::Position;

use super::Durable;
use super::encode::dead_bytes;
use crate::files::{Need, temperature_of};
use crate::marks::Named;
use crate::objects;

/// Bytes of blocks that closing a database writes at most for a checkpoint, whatever the log.
const CLOSING_BYTES_MIN: u64 = 64 << 20;

/// Bytes in a file of keys for a row and an index, about.
const KEY_BYTES: u64 = 16;

/// The disk flushes what was written here with the next commit, which takes half as long again: see
/// decision 006.
const REST_FACTOR: u32 = 6;

/// Longest rest between two writes.
const REST_MAX: Duration = Duration::from_millis(10);

/// The moment that a checkpoint holds.
struct Moment {
    /// Keeps the versions.
    pinned: Transaction,
    position: Position,
    state: Arc<State>,
    named: Named,
    commits: u64,
}

/// Files that a checkpoint has written, and those not yet synced.
#[derive(Default)]
struct Output {
    /// New files of blocks.
    written: Manifest,
    unsynced: Unsynced,
}

impl Durable {
    /// Writes a checkpoint for CHECKPOINT.
    ///
    /// # Errors
    /// Why it failed, or why the last one in the background did.
    pub fn checkpoint(&self) -> Result<()> {
        if let Some(error) = self.checkpointer.take_failure() {
            return Err(error);
        }
        self.write_checkpoint()
    }

    /// Writes a checkpoint that nobody asked for.
    pub fn checkpoint_in_background(&self) {
        if let Err(error) = self.write_checkpoint() {
            // The next attempt is due when the log has grown as much again.
            self.checkpoint_lsn.store(self.log.position().lsn.0, Ordering::Relaxed);
            self.checkpointer.note_failure(error);
        }
    }

    /// Starts writing checkpoints in the background.
    pub fn start(&self, checkpoint: impl Fn() + Send + 'static) {
        self.checkpointer.start(checkpoint);
    }

    /// True when a checkpoint costs less than it spares the next opening.
    pub(super) fn is_checkpoint_cheap(&self) -> bool {
        let from = self.checkpoint_lsn.load(Ordering::Relaxed);
        let log_bytes = self.log.position().lsn.0.saturating_sub(from);
        let Ok(moment) = self.moment() else { return false };
        let mut bytes = 0;
        for table in permanent(&moment.state) {
            let sizes = table.block_infos();
            let images = table.blocks_at(moment.pinned.snapshot());
            let indexes = KeptIndexes::of(table);
            let size = |image: &BlockImage| {
                let found = sizes.binary_search_by_key(&image.id(), |info| info.id);
                found.map_or(0, |at| sizes[at].bytes)
            };
            let written = |image: &BlockImage| match self.need(table, image) {
                Need::Block => size(image),
                Need::Nothing(entry) | Need::Dead(entry) if indexes.are_wanted(&entry) => {
                    image.rows() as u64 * KEY_BYTES * indexes.all.len() as u64
                }
                Need::Nothing(_) | Need::Dead(_) => 0,
            };
            bytes += images.iter().map(written).sum::<u64>();
        }
        moment.pinned.rollback();
        bytes <= CLOSING_BYTES_MIN.max(log_bytes * 4)
    }

    fn need(&self, table: &Table, image: &BlockImage) -> Need {
        let temperature = temperature_of(image.layout());
        self.files.lock().need(table.id(), image.id(), image.changed(), temperature)
    }

    fn moment(&self) -> Result<Moment> {
        self.stores.transactions.with_commits_held(|newest| {
            let pinned = self.stores.transactions.begin(Isolation::Snapshot)?;
            debug_assert_eq!(pinned.snapshot().base(), newest, "no commit is on its way");
            let position = self.log.position();
            let commits = self.commits_since.load(Ordering::Relaxed);
            let state = self.stores.relations.snapshot();
            let named = self.stores.named.lock().clone();
            Ok(Moment { pinned, position, state, named, commits })
        })
    }

    pub(super) fn write_checkpoint(&self) -> Result<()> {
        let _writing = self.writing.lock();
        let Moment { pinned, position, state, named, commits } = self.moment()?;
        let at = pinned.snapshot();
        let tables: Vec<_> = permanent(&state).map(|table| (table, table.blocks_at(at))).collect();
        pinned.rollback();
        let mut output = Output::default();
        let outcome = self.write_tables(&tables, &mut output);
        let written_tables: HashMap<TableId, &Arc<Table>> =
            tables.iter().map(|(table, _)| (table.id(), *table)).collect();
        drop(tables);
        let Output { written, unsynced } = output;
        let prepared = outcome.and_then(|tables| {
            unsynced.sync()?;
            self.log.wait_durable(self.log.position().lsn)?;
            Ok(tables)
        });
        let tables = prepared.inspect_err(|_| {
            // Best effort: what stays is removed when the database is opened the next time.
            let _ = self.directory.remove_replaced(&written, &Manifest::default());
        })?;
        let mut catalog = objects::write_all(&state);
        named.write_all(&mut RedoWriter::new(&mut catalog));
        let manifest = Manifest {
            snapshot: at.base(),
            position,
            next_version: self.next_version.load(Ordering::Relaxed),
            catalog,
            sequences: Vec::new(),
            tables,
        };
        self.directory.publish(&manifest)?;
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        let replaced = {
            let mut files = self.files.lock();
            let replaced = files.up_to(at.base());
            files.replace(&manifest);
            replaced
        };
        self.checkpoint_lsn.store(position.lsn.0, Ordering::Relaxed);
        self.commits_since.fetch_sub(commits, Ordering::Relaxed);
        self.homes.tell_all(&manifest, |id| written_tables.get(&id).copied());
        self.directory.remove(&self.homes.removable(&replaced, &manifest))?;
        self.log.remove_below(position.lsn)?;
        Ok(())
    }

    /// Copies the database to the directory `target` while work goes on: all commits up to some
    /// moment of the call, everything durable. Returns the bytes copied.
    ///
    /// # Errors
    /// 58P02 when the directory holds something, 22023 when it is inside the database's; 57014;
    /// those of a checkpoint and of the files.
    pub fn backup(&self, target: &Path, check: &dyn Fn() -> Result<()>) -> Result<u64> {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if absolute(target).starts_with(absolute(self.directory.path())) {
            let message = "a backup cannot be inside the directory of the database";
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        self.copy_to(target, check)
    }

    /// [`Self::backup`] to wherever `target` is: another database of the server, too.
    ///
    /// # Errors
    /// Errors of [`Self::backup`].
    pub fn copy_to(&self, target: &Path, check: &dyn Fn() -> Result<()>) -> Result<u64> {
        // Less log to copy, and to replay.
        self.write_checkpoint()?;
        // Until the end no checkpoint removes files and log of the newest one.
        let _writing = self.writing.lock();
        let position =
            self.stores.transactions.with_commits_held(|_| Ok::<_, Error>(self.log.position()))?;
        self.log.wait_durable(position.lsn)?;
        self.directory.copy_to(target, position.lsn, check)
    }

    /// The latch that is held while a checkpoint is written: who holds it keeps others from it.
    pub fn checkpoints(&self) -> Arc<Mutex<()>> {
        Arc::clone(&self.writing)
    }

    /// The pace of writes that commits share the disk with: each is followed by a rest of
    /// [`REST_FACTOR`] times its length, if meanwhile a commit was written.
    fn pace(&self) -> impl Fn(Duration) {
        let seen = Cell::new(self.log.durable());
        move |took| {
            let now = self.log.durable();
            if seen.replace(now) != now {
                std::thread::sleep((took * REST_FACTOR).min(REST_MAX));
            }
        }
    }

    /// Writes what changed of all tables.
    fn write_tables(
        &self,
        tables: &[(&Arc<Table>, Vec<BlockImage>)],
        output: &mut Output,
    ) -> Result<Vec<TableFiles>> {
        let mut all = Vec::new();
        for (table, images) in tables {
            let id = table.id();
            let mut files = TableFiles { id, ..TableFiles::default() };
            let indexes = KeptIndexes::of(table);
            for image in images {
                let entry = self.write_block(table, image, output)?;
                let keys = self.write_keys(image, &entry, &indexes, output)?;
                files.blocks.push(BlockEntry { keys, ..entry });
            }
            // Blocks in the statistics are below the next one, so that no other block is taken for
            // one of them.
            files.statistics = self.write_statistics(table, output)?;
            files.next_block = table.next_block();
            all.push(files);
        }
        Ok(all)
    }

    /// The files of a block, written if need be.
    fn write_block(
        &self,
        table: &Table,
        image: &BlockImage,
        output: &mut Output,
    ) -> Result<BlockEntry> {
        let need = self.need(table, image);
        if let Need::Nothing(entry) = need {
            return Ok(entry);
        }
        // Before the copy knows how many rows there are: what comes later makes its file stale.
        let mut copy = image.copy(self.stores.transactions.newest())?;
        let changed = copy.newest();
        while !copy.is_whole() {
            let now = self.stores.transactions.begin(Isolation::Snapshot)?;
            copy.next(now.snapshot())?;
            now.rollback();
        }
        let pace = self.pace();
        let syncing = Syncing::Later(&mut output.unsynced, &pace);
        let id = table.id();
        let of = BlockVersion { table: id, block: image.id(), version: self.next_version() };
        let dead = dead_bytes(&copy.dead());
        if let Need::Dead(entry) = need {
            let dead = Some(self.directory.write_dead(of, &dead, syncing)?);
            return Ok(BlockEntry { changed, dead, ..entry });
        }
        let (bytes, identity) = (copy.finish()?, image.identity());
        let content = BlockContent { block: &bytes, identity: &identity, dead: &dead };
        let file = self.directory.write_block(of, content, syncing)?;
        let temperature = temperature_of(image.layout());
        let entry = BlockEntry { file, changed, temperature, dead: None, keys: None };
        let blocks = vec![entry];
        output.written.tables.push(TableFiles { id, blocks, ..TableFiles::default() });
        Ok(entry)
    }

    /// The file with the statistics of a table, written if they were made anew.
    fn write_statistics(
        &self,
        table: &Table,
        output: &mut Output,
    ) -> Result<Option<StatisticsReference>> {
        let Some(kept) = table.statistics_to_keep() else { return Ok(None) };
        let (id, generation, changes) = (table.id(), kept.generation, kept.changes);
        let known = self.files.lock().statistics(id, generation);
        if let Some(file) = known {
            return Ok(Some(StatisticsReference { changes, ..file }));
        }
        let Some(bytes) = kept.bytes() else { return Ok(None) };
        let pace = self.pace();
        let syncing = Syncing::Later(&mut output.unsynced, &pace);
        let of = BlockVersion { table: id, block: 0, version: self.next_version() };
        let file = self.directory.write_statistics(of, &bytes, generation, syncing)?;
        let statistics = Some(StatisticsReference { changes, ..file });
        output.written.tables.push(TableFiles { id, statistics, ..TableFiles::default() });
        Ok(statistics)
    }

    /// The file with the keys of a frozen block, written if it has none of these indexes.
    fn write_keys(
        &self,
        image: &BlockImage,
        entry: &BlockEntry,
        indexes: &KeptIndexes,
        output: &mut Output,
    ) -> Result<Option<KeysReference>> {
        if !indexes.are_wanted(entry) {
            return Ok(entry.keys.filter(|_| !indexes.is_empty()));
        }
        // A block that cannot be read is what its readers are told of; it has no keys then.
        let Ok(keys) = image.keys(&indexes.all) else { return Ok(None) };
        let pace = self.pace();
        let syncing = Syncing::Later(&mut output.unsynced, &pace);
        let of =
            BlockVersion { table: indexes.table, block: image.id(), version: self.next_version() };
        self.directory.write_keys(of, &keys, syncing).map(Some)
    }
}

/// The indexes of a table whose keys are kept, as a checkpoint found them.
struct KeptIndexes {
    table: TableId,
    all: Vec<Arc<TableIndex>>,
    checksum: u32,
}

impl KeptIndexes {
    fn of(table: &Table) -> Self {
        let all = table.indexes();
        let all = all.iter().filter(|index| index.definition().is_some()).cloned();
        let all: Vec<Arc<TableIndex>> = all.collect();
        let checksum = checksum_of(all.iter().filter_map(|index| index.definition()));
        Self { table: table.id(), all, checksum }
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// True when the block of `entry` has no keys in these indexes.
    fn are_wanted(&self, entry: &BlockEntry) -> bool {
        let is_frozen = entry.temperature == BlockTemperature::Frozen;
        is_frozen && !self.is_empty() && entry.keys.is_none_or(|keys| keys.indexes != self.checksum)
    }
}

/// Storage of all tables that last.
fn permanent(state: &State) -> impl Iterator<Item = &Arc<Table>> {
    let all = state.tables.values().map(|entry| entry.storage());
    all.filter(|table| !table.id().is_temporary())
}
