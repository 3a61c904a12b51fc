//! The redo of one transaction between encoding and the log.

use std::cell::Cell;
use std::sync::Arc;

use catalog::{Relations, Sequence, State};
use storage::{RowBuffer, Table, Timestamp};
use txn::checkpoint::{BlockEntry, BlockTemperature, Manifest, TableEntry as TableFiles};
use txn::redo::stamp_of;
use types::{Error, Result, SqlState};
use wal::{Log, Lsn, RecordBuffer, Space};

use super::Durable;
use crate::files::LoadedBlock;
use crate::objects::{VALUE_BYTES, value_bytes};

/// Memory used again from commit to commit of a thread.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) record: RecordBuffer,
    pub(super) row: RowBuffer,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

const NOT_DROPPED: &str = "scratch memory is given back at the end";

/// Scratch memory above which a thread does not keep it.
const SCRATCH_BYTES_MAX: usize = 1 << 20;

/// A file of a block, with the table.
pub(super) type LoadedFile = (Arc<Table>, LoadedBlock);

/// Where the record has the value of a sequence.
pub(super) struct ValuePlace {
    pub(super) sequence: Arc<Sequence>,
    /// Offset in the output of the record.
    pub(super) at: usize,
}

/// The redo of a transaction, for which the log has room. Dropped without being appended it takes
/// its files with it.
pub struct Redo<'d> {
    pub(super) durable: &'d Durable,
    /// There until the end.
    scratch: Option<Box<Scratch>>,
    pub(super) space: Option<Space<'d>>,
    pub(super) files: Vec<LoadedFile>,
    pub(super) values: Vec<ValuePlace>,
}

impl<'d> Redo<'d> {
    pub(super) fn new(durable: &'d Durable) -> Self {
        let scratch = Some(SCRATCH.take().unwrap_or_default());
        Self { durable, scratch, space: None, files: Vec::new(), values: Vec::new() }
    }

    /// Parts that encoding fills.
    pub(super) fn parts(&mut self) -> (&mut Scratch, &mut Vec<LoadedFile>, &mut Vec<ValuePlace>) {
        let scratch = self.scratch.as_mut().expect(NOT_DROPPED);
        (scratch, &mut self.files, &mut self.values)
    }

    pub(super) fn scratch_mut(&mut self) -> &mut Scratch {
        self.scratch.as_mut().expect(NOT_DROPPED)
    }

    /// Fills in the values of sequences. Under the commit latch, so that a later record never holds
    /// an earlier value.
    ///
    /// # Errors
    /// 40001 when a sequence has another name than at encoding.
    pub(super) fn put_sequence_values(
        &mut self,
        catalog: Option<&State>,
        relations: &Relations,
    ) -> Result<()> {
        if self.values.is_empty() {
            return Ok(());
        }
        let committed = relations.snapshot();
        let state = catalog.unwrap_or(&committed);
        let output = self.scratch.as_mut().expect(NOT_DROPPED).record.output();
        for ValuePlace { sequence, at } in &self.values {
            let found = state.sequences.get(&sequence.name);
            let found =
                found.filter(|f| Arc::ptr_eq(&f.value, &sequence.value)).ok_or_else(|| {
                    let message = format!("sequence \"{}\" changed concurrently", sequence.name);
                    Error::new(SqlState::SERIALIZATION_FAILURE, message)
                })?;
            let value = *found.value.lock();
            output[*at..*at + VALUE_BYTES].copy_from_slice(&value_bytes(value));
        }
        Ok(())
    }

    /// See [`Log::append`].
    pub(super) fn append(&mut self, log: &Log, ts: Timestamp) -> Result<Lsn> {
        let space = self.space.take().expect("redo is appended once");
        log.append(space, stamp_of(ts), &mut self.scratch_mut().record)
    }

    /// The files, which from now on stay.
    pub(super) fn take_files(&mut self) -> Vec<LoadedFile> {
        std::mem::take(&mut self.files)
    }

    fn remove_files(&mut self) {
        let files = self.take_files();
        if files.is_empty() {
            return;
        }
        let table = |(_, loaded): LoadedFile| TableFiles {
            id: loaded.table,
            next_block: 0,
            blocks: vec![BlockEntry {
                file: loaded.file,
                changed: Timestamp(0),
                temperature: BlockTemperature::Hot,
                dead: None,
                keys: None,
            }],
            statistics: None,
        };
        let tables = files.into_iter().map(table).collect();
        let unused = Manifest { tables, ..Manifest::default() };
        // What stays is removed when the database is opened the next time.
        let _ = self.durable.directory.remove_replaced(&unused, &Manifest::default());
    }
}

impl Drop for Redo<'_> {
    fn drop(&mut self) {
        self.remove_files();
        let mut scratch = self.scratch.take().expect(NOT_DROPPED);
        if scratch.record.output().capacity() <= SCRATCH_BYTES_MAX {
            scratch.record.clear();
            SCRATCH.set(Some(scratch));
        }
    }
}
