//! A temporary file of chunks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host::{File, OpenMode};
use kernels::Batch;
use parking_lot::Mutex;
use plan::physical::OperatorId;
use storage::BufferPool;
use types::{Error, Result};

use super::{chunk, next_number};
use crate::context::QueryContext;

/// A file that only we know: its name is gone as soon as it is open. Many threads may write and
/// read.
pub(crate) struct SpillFile {
    context: Arc<QueryContext>,
    operator: OperatorId,
    file: Arc<dyn File>,
    end: AtomicU64,
    /// Memory for encoding, reused.
    scratch: Mutex<Vec<u8>>,
}

/// Batches in a file, in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkList {
    chunks: Vec<Chunk>,
    rows: u64,
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    offset: u64,
    bytes: usize,
}

impl ChunkList {
    /// How many batches.
    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Bytes of the largest batch in the file.
    pub(crate) fn largest_bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.bytes as u64).max().unwrap_or(0)
    }

    /// Rows of all batches.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }
}

impl SpillFile {
    /// An empty file for `operator`.
    ///
    /// # Errors
    /// 53100 when the disk is full; 58030 when there can be no file.
    pub(crate) fn new(context: &Arc<QueryContext>, operator: OperatorId) -> Result<Arc<Self>> {
        let missing = || Error::internal("a query without a place for temporary files");
        let space = context.spill.as_ref().ok_or_else(missing)?;
        let name = format!("tessera-{}-{}.tmp", std::process::id(), next_number());
        let path = space.directory.join(name);
        space.io.create_directory(&space.directory)?;
        let file = space.io.open(&path, OpenMode::Create)?;
        space.io.remove(&path)?;
        Ok(Arc::new(Self {
            context: Arc::clone(context),
            operator,
            file,
            end: AtomicU64::new(0),
            scratch: Mutex::default(),
        }))
    }

    /// The memory of the query.
    pub(super) fn pool(&self) -> &Arc<BufferPool> {
        &self.context.pool
    }

    /// Appends `batch` to the file and to `list`.
    ///
    /// # Errors
    /// 53100 when the disk is full; 57014 after a cancel.
    pub(crate) fn write(&self, batch: &Batch, list: &mut ChunkList) -> Result<()> {
        self.context.check()?;
        let mut bytes = std::mem::take(&mut *self.scratch.lock());
        chunk::encode(batch, &mut bytes);
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write_at(offset, &bytes)?;
        list.chunks.push(Chunk { offset, bytes: bytes.len() });
        list.rows += batch.rows as u64;
        let counters = self.context.counters(self.operator);
        counters.spilled_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        *self.scratch.lock() = bytes;
        Ok(())
    }

    /// The batch `number` of `list`.
    ///
    /// # Errors
    /// 58030 when it cannot be read; XX001 when it is not what was written; 57014 after a cancel.
    pub(crate) fn read(&self, list: &ChunkList, number: usize) -> Result<Batch> {
        self.context.check()?;
        let Chunk { offset, bytes } = list.chunks[number];
        let mut content = vec![0; bytes];
        let read = self.file.read_at(offset, &mut content)?;
        content.truncate(read);
        chunk::decode(&content)
    }
}
