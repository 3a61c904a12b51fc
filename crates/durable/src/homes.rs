//! Where frozen blocks are read again once they left memory, and which files must stay for that.
//!
//! ```text
//! commit of a load, checkpoint, opening --> Home of a block <-- its payload, when it is wanted
//! checkpoint: file is replaced -- nobody has its home --> removed
//!                              '- a snapshot reads it -> kept until a later checkpoint, or opening
//! ```
//! Invariant: a file that a block in memory may be read from is not removed while the database is
//! open.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use storage::{PayloadSource, StatisticsSource, Table, TableId};
use txn::checkpoint::{
    BlockEntry, BlockFileKind, BlockFileName, BlockReader, BlockTemperature, Manifest,
    StatisticsReference,
};
use txn::redo::BlockReference;
use types::Result;

/// The file of a frozen block.
#[derive(Debug)]
struct Home {
    reader: BlockReader,
    table: TableId,
    file: BlockReference,
}

impl PayloadSource for Home {
    fn read(&self, into: &mut [u8]) -> Result<()> {
        self.reader.read_content(self.table, &self.file, into)
    }

    fn expect(&self) {
        self.reader.expect(self.table, &self.file);
    }
}

/// The file of a table's statistics.
#[derive(Debug)]
struct StatisticsHome {
    reader: BlockReader,
    table: TableId,
    file: StatisticsReference,
}

impl StatisticsSource for StatisticsHome {
    fn read(&self) -> Option<Vec<u8>> {
        let read = self.reader.read_statistics(self.table, &self.file);
        // Estimates are made anew: nothing is lost with a damaged file, and a check finds it.
        read.inspect_err(|error| eprintln!("tessera: statistics are made anew: {error}")).ok()
    }
}

/// The homes of a database.
#[derive(Debug)]
pub(super) struct Homes {
    reader: BlockReader,
    known: Mutex<HashMap<BlockFileName, Weak<Home>>>,
    /// Files that no checkpoint names, whose homes were in use.
    kept: Mutex<Vec<BlockFileName>>,
}

fn name_of(table: TableId, file: &BlockReference) -> BlockFileName {
    let BlockReference { block, version, .. } = *file;
    BlockFileName { table, block, version, kind: BlockFileKind::Block }
}

impl Homes {
    pub(super) fn new(reader: BlockReader) -> Self {
        Self { reader, known: Mutex::default(), kept: Mutex::default() }
    }

    /// Reader of `file`, for the frozen block of `table` that is in it.
    pub(super) fn home_of(&self, table: TableId, file: &BlockReference) -> Arc<dyn PayloadSource> {
        let home = Arc::new(Home { reader: self.reader.clone(), table, file: *file });
        self.known.lock().insert(name_of(table, file), Arc::downgrade(&home));
        home
    }

    /// Reader of the statistics of `table` in `file`.
    pub(super) fn statistics(
        &self,
        table: TableId,
        file: StatisticsReference,
    ) -> Arc<dyn StatisticsSource> {
        Arc::new(StatisticsHome { reader: self.reader.clone(), table, file })
    }

    /// Tells a block of `table` that it is in `file`, if it is frozen and does not know yet.
    pub(super) fn tell(&self, table: &Table, file: &BlockReference, temperature: BlockTemperature) {
        if temperature == BlockTemperature::Frozen && table.wants_home(file.block) {
            table.set_home(file.block, self.home_of(table.id(), file));
        }
    }

    /// As [`Self::tell`], for all blocks of a manifest; `table` finds tables by their numbers.
    pub(super) fn tell_all<'t>(
        &self,
        manifest: &Manifest,
        table: impl Fn(TableId) -> Option<&'t Arc<Table>>,
    ) {
        for files in &manifest.tables {
            let Some(table) = table(files.id) else { continue };
            for BlockEntry { file, temperature, .. } in &files.blocks {
                self.tell(table, file, *temperature);
            }
        }
    }

    /// The files of `old` and those kept before that may go now: `new` does not name them, and
    /// nobody reads them.
    pub(super) fn removable(&self, old: &Manifest, new: &Manifest) -> Vec<BlockFileName> {
        let mut known = self.known.lock();
        known.retain(|_, home| home.strong_count() > 0);
        let mut kept = self.kept.lock();
        let mut names = std::mem::take(&mut *kept);
        names.extend(old.replaced_by(new));
        let (used, unused) = names.into_iter().partition(|name| known.contains_key(name));
        *kept = used;
        unused
    }
}
