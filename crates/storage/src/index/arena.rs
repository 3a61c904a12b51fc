//! The memory of a tree's nodes: chunks from the pool, cut into nodes that are used again.
//!
//! Invariants: a node stays mapped while the arena lives, and its version only grows, in whatever
//! role. So readers need no epoch to be safe from nodes that are freed under them: such a reader
//! finds the version changed, or the parent's.
//! Departure from the usual: memory goes back to the pool when the index does, not before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use types::Result;

use super::node::{Access, Latched, NODE_WORDS, Words, at_address};
use crate::memory::{AtomicMemory, BufferPool, MemoryCategory};

const NODE_BYTES: usize = NODE_WORDS * 8;
/// Most nodes in a chunk: 2 MiB, a huge page.
const CHUNK_NODES: usize = (2 << 20) / NODE_BYTES;

pub(super) struct Arena {
    pool: Arc<BufferPool>,
    bytes: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    chunks: Vec<AtomicMemory>,
    /// Nodes of all chunks.
    nodes: usize,
    /// Addresses of nodes not in use.
    free: Vec<u64>,
}

impl Arena {
    pub(super) fn new(pool: &Arc<BufferPool>) -> Self {
        Self { pool: Arc::clone(pool), bytes: AtomicU64::new(0), state: Mutex::default() }
    }

    pub(super) fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// Bytes counted in the pool.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Nodes in use.
    pub(super) fn used(&self) -> usize {
        let state = self.state.lock();
        state.nodes - state.free.len()
    }

    /// An empty node of `level`, latched.
    ///
    /// # Errors
    /// 53200 when the limit would be passed.
    pub(super) fn take(&self, level: usize) -> Result<Latched<'_>> {
        let mut state = self.state.lock();
        if state.free.is_empty() {
            self.grow(&mut state)?;
        }
        let address = state.free.pop().expect("a chunk has nodes");
        drop(state);
        // SAFETY: the address is of a node in a chunk of this arena.
        let node = Latched::latch(unsafe { at_address(address) });
        node.reset(level);
        Ok(node)
    }

    /// Takes back a node that no other refers to any more.
    pub(super) fn give_back(&self, node: Latched<'_>) {
        let address = node.address();
        drop(node);
        self.state.lock().free.push(address);
    }

    fn grow(&self, state: &mut State) -> Result<()> {
        let nodes = state.nodes.clamp(1, CHUNK_NODES);
        let bytes = (nodes * NODE_BYTES) as u64;
        let memory = self.pool.allocate(MemoryCategory::Indexes, bytes)?;
        self.bytes.fetch_add(memory.held_bytes(), Ordering::Relaxed);
        let chunk = AtomicMemory::from(memory);
        let (words, _) = chunk.words().as_chunks::<NODE_WORDS>();
        let address = |node: &Words| node.as_ptr().expose_provenance() as u64;
        state.free.extend(words.iter().rev().map(address));
        state.nodes += nodes;
        state.chunks.push(chunk);
        Ok(())
    }
}
