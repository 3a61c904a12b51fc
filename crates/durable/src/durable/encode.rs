//! Encodes a transaction as its redo.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use catalog::{Sequence, State, TableEntry};
use sql::statement::Persistence;
use storage::{BlockImage, Change, ChangeKind, Snapshot, Table, TableId, Timestamp, UndoBuffer};
use txn::checkpoint::{BlockContent, BlockVersion, Syncing};
use txn::redo::RedoWriter;
use types::{Error, Result};

use super::Durable;
use super::redo::{Redo, Scratch, ValuePlace};
use crate::files::{LoadedBlock, temperature_of};
use crate::marks::Marks;
use crate::objects::{VALUE_BYTES, write_difference, write_end, write_value};

/// Effects of a transaction besides rows.
#[derive(Clone, Copy, Default)]
pub struct Effects<'a> {
    /// Transactions that its record names.
    pub marks: Option<&'a Marks>,
    /// The catalog before and after.
    pub catalog: Option<(&'a State, &'a State)>,
    /// Sequences that it took values of.
    pub sequences: &'a [Arc<Sequence>],
    /// Wide tables that no longer hold.
    pub ended: &'a [Arc<TableEntry>],
}

impl Durable {
    /// The redo of a transaction: what it changed, and its other effects; None when nothing of it
    /// is to survive. Writes and syncs files for the blocks it loaded, and makes room in the log.
    ///
    /// # Errors
    /// 53100 and 58030; 54000 for a transaction of gigabytes.
    pub fn encode(
        &self,
        undo: Option<&UndoBuffer>,
        effects: Effects<'_>,
    ) -> Result<Option<Redo<'_>>> {
        let Effects { marks, catalog, sequences, ended } = effects;
        let mut redo = Redo::new(self);
        let (Scratch { record, row }, files, values) = redo.parts();
        let mut writer = RedoWriter::new(record.output());
        if let Some(marks) = marks {
            marks.write(&mut writer);
        }
        if let Some((old, new)) = catalog {
            write_difference(old, new, &mut writer);
        }
        ended.iter().for_each(|wide| write_end(wide, &mut writer));
        if let Some(undo) = undo {
            let mut blocks = LoadedBlocks { durable: self, undo, images: HashMap::new() };
            let kept = catalog.map(|(_, new)| numbers(new));
            let stays = |table: &Table| {
                !table.id().is_temporary() && kept.as_ref().is_none_or(|k| k.contains(&table.id()))
            };
            for change in undo.changes().filter(|c| stays(c.table)) {
                match change.kind {
                    ChangeKind::Block | ChangeKind::Target => {
                        let loaded = blocks.write(&change)?;
                        writer.block(loaded.table, &loaded.file);
                        files.push((Arc::clone(change.table), loaded));
                    }
                    _ => writer.change(&change, row),
                }
            }
        }
        let mut seen: Vec<&Arc<Sequence>> = Vec::new();
        for sequence in sequences.iter().filter(|s| s.persistence == Persistence::Permanent) {
            if seen.iter().any(|s| Arc::ptr_eq(&s.value, &sequence.value)) {
                continue;
            }
            seen.push(sequence);
            let Some(named) = current_name(sequence, catalog.map(|(_, new)| new)) else { continue };
            write_value(&named.name, &mut RedoWriter::new(record.output()));
            let at = record.output().len() - VALUE_BYTES;
            values.push(ValuePlace { sequence: named, at });
        }
        redo.seal()
    }
}

/// The sequence under the definition that the transaction leaves; None if it dropped it.
fn current_name(sequence: &Arc<Sequence>, new: Option<&State>) -> Option<Arc<Sequence>> {
    let Some(new) = new else { return Some(Arc::clone(sequence)) };
    let same = |s: &&Arc<Sequence>| Arc::ptr_eq(&s.value, &sequence.value);
    new.sequences.values().find(same).cloned()
}

impl<'d> Redo<'d> {
    /// Makes the names of its files durable and room in the log.
    fn seal(mut self) -> Result<Option<Self>> {
        if self.scratch_mut().record.payload().is_empty() {
            return Ok(None);
        }
        if !self.files.is_empty() {
            self.durable.directory.sync_blocks()?;
        }
        self.space = Some(self.durable.log.reserve(&self.scratch_mut().record)?);
        Ok(Some(self))
    }
}

/// The numbers of all tables.
fn numbers(state: &State) -> HashSet<TableId> {
    state.tables.values().map(|entry| entry.storage().id()).collect()
}

/// Files for the blocks that a transaction loaded.
struct LoadedBlocks<'a> {
    durable: &'a Durable,
    undo: &'a UndoBuffer,
    /// By table, its blocks as the transaction sees them.
    images: HashMap<TableId, HashMap<u64, BlockImage>>,
}

impl LoadedBlocks<'_> {
    fn write(&mut self, change: &Change<'_>) -> Result<LoadedBlock> {
        let (table, block) = (change.table.id(), change.tid.block());
        // Of others it needs nothing: nobody else knows the block.
        let own = Snapshot::new(Timestamp(0), self.undo.txn());
        let images = self.images.entry(table).or_insert_with(|| {
            change.table.blocks_at(own).into_iter().map(|image| (image.id(), image)).collect()
        });
        let image = images.get(&block);
        let image = image.ok_or_else(|| Error::internal("a loaded block is in its table"))?;
        let version = self.durable.next_version();
        let dead = image.dead();
        let (bytes, identity) = (image.write(&dead)?, image.identity());
        let dead = dead_bytes(&dead);
        let directory = &self.durable.directory;
        let of = BlockVersion { table, block, version };
        let content = BlockContent { block: &bytes, identity: &identity, dead: &dead };
        let file = directory.write_block(of, content, Syncing::Now)?;
        Ok(LoadedBlock { table, file, temperature: temperature_of(image.layout()) })
    }
}

/// Bits as bytes; nothing when none is set.
pub(super) fn dead_bytes(dead: &[u64]) -> Vec<u8> {
    if dead.iter().all(|&word| word == 0) {
        return Vec::new();
    }
    dead.iter().flat_map(|word| word.to_le_bytes()).collect()
}
