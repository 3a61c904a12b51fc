//! Which block is in which file.

use std::collections::HashMap;

use storage::{BlockLayout, TableId, Timestamp};
use txn::checkpoint::{
    BlockEntry, BlockFileKind, BlockFileName, BlockTemperature, KeysReference, Manifest,
    StatisticsReference, TableEntry as TableFiles,
};
use txn::redo::BlockReference;

/// A file that a transaction wrote for a block that it loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadedBlock {
    pub(super) table: TableId,
    pub(super) file: BlockReference,
    pub(super) temperature: BlockTemperature,
}

/// The newest file of each block, by table and block.
#[derive(Debug, Default)]
pub(super) struct BlockFiles {
    known: HashMap<(TableId, u64), BlockEntry>,
    /// Versions of files of frozen blocks that have to be read whole.
    whole: HashMap<(TableId, u64), u64>,
    /// Statistics by table, as the newest checkpoint has them.
    statistics: HashMap<TableId, StatisticsReference>,
}

/// How a block gets into a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    /// Its file serves.
    Nothing(BlockEntry),
    /// Newer marks of deleted rows beside its file.
    Dead(BlockEntry),
    /// A new file.
    Block,
}

/// Temperature of a block: hot when its rows change in place, else frozen.
pub(super) fn temperature_of(layout: BlockLayout) -> BlockTemperature {
    match layout {
        BlockLayout::Frozen => BlockTemperature::Frozen,
        BlockLayout::Row | BlockLayout::Column => BlockTemperature::Hot,
    }
}

impl BlockFiles {
    /// The files of a manifest.
    pub(super) fn of(manifest: &Manifest) -> Self {
        let mut files = Self::default();
        files.replace(manifest);
        files
    }

    /// Files that the commit at `ts` made.
    pub(super) fn add(&mut self, ts: Timestamp, loaded: impl IntoIterator<Item = LoadedBlock>) {
        for LoadedBlock { table, file, temperature } in loaded {
            let entry = BlockEntry { file, changed: ts, temperature, dead: None, keys: None };
            self.known.insert((table, file.block), entry);
        }
    }

    /// Part of a block that a checkpoint has to write when its newest change is `changed`.
    pub(super) fn need(
        &self,
        table: TableId,
        block: u64,
        changed: Timestamp,
        temperature: BlockTemperature,
    ) -> Need {
        let frozen = BlockTemperature::Frozen;
        match self.known.get(&(table, block)) {
            // A block that was frozen meanwhile is written once more, so that it is frozen when
            // the database is opened.
            Some(entry) if entry.temperature != temperature => Need::Block,
            Some(entry) if changed <= entry.changed => Need::Nothing(*entry),
            // A file that has to be read whole is written anew when there is a reason to write.
            Some(entry)
                if temperature == frozen
                    && entry.temperature == frozen
                    && self.whole.get(&(table, block)) != Some(&entry.file.version) =>
            {
                Need::Dead(*entry)
            }
            _ => Need::Block,
        }
    }

    /// An earlier build wrote this file of a frozen block, so that it has to be read whole.
    pub(super) fn note_whole(&mut self, table: TableId, file: &BlockReference) {
        self.whole.insert((table, file.block), file.version);
    }

    /// File with the keys of a block, if there is one.
    pub(super) fn keys(&self, table: TableId, block: u64) -> Option<KeysReference> {
        self.known.get(&(table, block))?.keys
    }

    /// File with the statistics of a table that have this number, if there is one.
    pub(super) fn statistics(
        &self,
        table: TableId,
        generation: u64,
    ) -> Option<StatisticsReference> {
        self.statistics.get(&table).copied().filter(|file| file.generation == generation)
    }

    /// The keys of a block cannot be read: the next checkpoint writes them anew.
    pub(super) fn forget_keys(&mut self, table: TableId, block: u64) {
        if let Some(entry) = self.known.get_mut(&(table, block)) {
            entry.keys = None;
        }
    }

    /// The files of commits up to `at`, in the shape of a manifest: to be compared with the next.
    pub(super) fn up_to(&self, at: Timestamp) -> Manifest {
        let entries = self.known.iter().filter(|(_, entry)| entry.changed <= at);
        let table = |(&(id, _), entry): (&(TableId, u64), &BlockEntry)| TableFiles {
            id,
            blocks: vec![*entry],
            ..TableFiles::default()
        };
        let statistics = self.statistics.iter().map(|(&id, file)| TableFiles {
            id,
            statistics: Some(*file),
            ..TableFiles::default()
        });
        let tables = entries.map(table).chain(statistics).collect();
        Manifest { tables, ..Manifest::default() }
    }

    /// `manifest` is the newest checkpoint now: what it does not name of the commits it holds has
    /// no file any more.
    pub(super) fn replace(&mut self, manifest: &Manifest) {
        self.known.retain(|_, entry| entry.changed > manifest.snapshot);
        self.statistics.clear();
        for table in &manifest.tables {
            self.statistics.extend(table.statistics.map(|file| (table.id, file)));
            for entry in &table.blocks {
                self.known.insert((table.id, entry.file.block), *entry);
            }
        }
    }

    /// True when `name` is one of them.
    pub(super) fn contains(&self, name: &BlockFileName) -> bool {
        if name.kind == BlockFileKind::Statistics {
            let file = self.statistics.get(&name.table);
            return file.is_some_and(|file| file.version == name.version);
        }
        self.known.get(&(name.table, name.block)).is_some_and(|entry| {
            entry.file.version == name.version
                || entry.dead.is_some_and(|dead| dead.version == name.version)
                || entry.keys.is_some_and(|keys| keys.version == name.version)
        })
    }
}
