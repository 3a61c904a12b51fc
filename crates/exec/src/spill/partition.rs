//! Rows by hash, each partition a list of chunks.

use std::sync::Arc;

use kernels::{BATCH_ROWS, Batch, Column, VectorBuilder};
use storage::{MemoryCategory, Reservation};
use types::Result;

use super::{ChunkList, SpillFile};

/// Partitions of one level, as an exponent of 2: with the buffers of each a megabyte or two.
pub(crate) const PARTITION_BITS: u32 = 4;

/// The rows of each of `2^bits` partitions; `level` says which bits of the hashes decide.
pub(crate) fn split(hashes: &[u64], level: u32, bits: u32) -> Vec<Vec<u32>> {
    let mut partitions = vec![Vec::new(); 1 << bits];
    for (row, hash) in hashes.iter().enumerate() {
        let partition = hash.rotate_left((level + 1) * bits) as usize & ((1 << bits) - 1);
        partitions[partition].push(row as u32);
    }
    partitions
}

/// Rows on their way into partitions, of one worker.
pub(crate) struct Partitions {
    file: Arc<SpillFile>,
    buffers: Vec<Vec<VectorBuilder>>,
    lists: Vec<ChunkList>,
    /// Rows of a chunk, so that all buffers together stay small.
    chunk_rows: usize,
    memory: Reservation,
}

/// Rows in all buffers of a worker, about.
const BUFFERED_ROWS: usize = 1 << 15;
/// Bytes in all buffers of a worker, where rows are long.
const BUFFERED_BYTES_MAX: usize = 16 << 20;
/// Rows of a chunk at least.
const CHUNK_ROWS_MIN: usize = 64;

/// The partitions of one writer, complete.
pub(crate) struct Written {
    /// Where they are.
    pub(crate) file: Arc<SpillFile>,
    /// The chunks by partition.
    pub(crate) lists: Vec<ChunkList>,
}

impl Partitions {
    /// `count` empty partitions in `file`.
    pub(crate) fn new(file: Arc<SpillFile>, count: usize) -> Self {
        let chunk_rows = (BUFFERED_ROWS / count).clamp(CHUNK_ROWS_MIN, BATCH_ROWS);
        let memory = Reservation::empty(file.pool(), MemoryCategory::Temporary);
        let buffers = (0..count).map(|_| Vec::new()).collect();
        Self { file, buffers, lists: vec![ChunkList::default(); count], chunk_rows, memory }
    }

    /// Appends rows of `batch`: to partition `i` those at `rows[i]`.
    ///
    /// # Errors
    /// As [`SpillFile::write`].
    pub(crate) fn append(&mut self, batch: &Batch, rows: &[Vec<u32>]) -> Result<()> {
        let vectors: Vec<_> = batch.columns.iter().map(Column::to_vector).collect();
        for (partition, rows) in rows.iter().enumerate() {
            if rows.is_empty() {
                continue;
            }
            let buffer = &mut self.buffers[partition];
            if buffer.is_empty() {
                buffer.extend(vectors.iter().map(|v| VectorBuilder::new(v.physical())));
            }
            buffer.iter_mut().zip(&vectors).for_each(|(b, v)| b.append(v, Some(rows)));
            if buffer[0].len() >= self.chunk_rows {
                self.flush(partition)?;
            }
        }
        let bytes: usize = self.buffers.iter().flatten().map(VectorBuilder::bytes).sum();
        // Long strings, or no room for buffers: everything is written at once.
        if bytes > BUFFERED_BYTES_MAX || self.memory.resize(bytes as u64).is_err() {
            (0..self.buffers.len()).try_for_each(|partition| self.flush(partition))?;
            self.memory.resize(0)?;
        }
        Ok(())
    }

    fn flush(&mut self, partition: usize) -> Result<()> {
        let builders = std::mem::take(&mut self.buffers[partition]);
        let rows = builders.first().map_or(0, VectorBuilder::len);
        if rows == 0 {
            return Ok(());
        }
        // Pinned: the buffers' memory is counted here.
        let columns = builders.into_iter().map(|b| Column::plain(b.finish_pinned())).collect();
        self.file.write(&Batch::new(columns, rows), &mut self.lists[partition])
    }

    /// All rows are there.
    ///
    /// # Errors
    /// As [`SpillFile::write`].
    pub(crate) fn finish(mut self) -> Result<Written> {
        for partition in 0..self.buffers.len() {
            self.flush(partition)?;
        }
        Ok(Written { file: self.file, lists: self.lists })
    }
}

impl Written {
    /// Calls `each` with the batches of `partition`.
    ///
    /// # Errors
    /// As [`SpillFile::read`], and what `each` returns.
    pub(crate) fn for_each(
        &self,
        partition: usize,
        mut each: impl FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        let list = &self.lists[partition];
        (0..list.len()).try_for_each(|number| each(self.file.read(list, number)?))
    }

    /// Rows of `partition`.
    pub(crate) fn rows(&self, partition: usize) -> u64 {
        self.lists[partition].rows()
    }
}
