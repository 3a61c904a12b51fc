//! Buckets and overflow nodes: arrays that grow without moving.
//!
//! ```text
//! index + 16 = 1 s s x x x ..    part = position of the leading 1, s s;  place in it = x x x ..
//! ```
//! Each doubling is four parts, so that an array holds at most a quarter more than it needs.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use types::Result;

use super::form::HashForm;
use crate::memory::{AtomicMemory, BufferPool, MemoryCategory, prefetch};

/// Words in a bucket: two cache lines, which processors fetch together.
const BUCKET_WORDS: usize = 16;
const META: usize = 1;
const ENTRIES: usize = 2;
const COUNT_BITS: u32 = 8;

/// log2 of the number added to each index.
const FIRST: u32 = 4;
/// log2 of the parts of a doubling.
const PARTS: u32 = 2;
const PARTS_MAX: usize = (40 - FIRST as usize) << PARTS;

/// A bucket or overflow node.
#[derive(Clone, Copy)]
pub(super) struct Bucket<'t>(&'t [AtomicU64; BUCKET_WORDS]);

impl<'t> Bucket<'t> {
    /// Most entries.
    pub(super) const fn capacity<F: HashForm>() -> usize {
        (BUCKET_WORDS - ENTRIES) / (F::ENTRY_WORDS + 1)
    }

    #[inline]
    fn word(self, i: usize) -> u64 {
        self.0[i].load(Ordering::Relaxed)
    }

    #[inline]
    fn set_word(self, i: usize, word: u64) {
        self.0[i].store(word, Ordering::Relaxed);
    }

    /// Asks the processor for all of it.
    #[inline]
    pub(super) fn prefetch(self) {
        prefetch(self.0.as_ptr().cast(), BUCKET_WORDS * 8);
    }

    #[inline]
    pub(super) fn latch(self) -> &'t AtomicU64 {
        &self.0[0]
    }

    /// Entries. Never more than fit, even if the words do not belong together.
    #[inline]
    pub(super) fn count<F: HashForm>(self) -> usize {
        let count = self.word(META) & ((1 << COUNT_BITS) - 1);
        (count as usize).min(Self::capacity::<F>())
    }

    /// The next node of the chain.
    #[inline]
    pub(super) fn next(self) -> Option<u64> {
        (self.word(META) >> COUNT_BITS).checked_sub(1)
    }

    pub(super) fn set_next(self, next: Option<u64>) {
        let count = self.word(META) & ((1 << COUNT_BITS) - 1);
        self.set_word(META, next.map_or(0, |id| id + 1) << COUNT_BITS | count);
    }

    /// No entries, and the end of its chain.
    pub(super) fn reset(self) {
        self.set_word(META, 0);
    }

    #[inline]
    pub(super) fn entry<F: HashForm>(self, i: usize) -> F::Entry {
        let capacity = Self::capacity::<F>();
        F::load_entry(|j| self.word(ENTRIES + j * capacity + i))
    }

    #[inline]
    pub(super) fn tid<F: HashForm>(self, i: usize) -> u64 {
        self.word(ENTRIES + F::ENTRY_WORDS * Self::capacity::<F>() + i)
    }

    pub(super) fn set<F: HashForm>(self, i: usize, entry: &F::Entry, tid: u64) {
        let capacity = Self::capacity::<F>();
        for j in 0..F::ENTRY_WORDS {
            self.set_word(ENTRIES + j * capacity + i, F::entry_word(entry, j));
        }
        self.set_word(ENTRIES + F::ENTRY_WORDS * capacity + i, tid);
    }

    pub(super) fn append<F: HashForm>(self, entry: &F::Entry, tid: u64) {
        let count = self.count::<F>();
        debug_assert!(count < Self::capacity::<F>());
        self.set::<F>(count, entry, tid);
        self.set_word(META, self.word(META) + 1);
    }

    /// Removes the last entry, which is the caller's.
    pub(super) fn pop<F: HashForm>(self) -> (F::Entry, u64) {
        let last = self.count::<F>().checked_sub(1).expect("only the last node may be empty");
        self.set_word(META, self.word(META) - 1);
        (self.entry::<F>(last), self.tid::<F>(last))
    }
}

/// A growing array.
pub(super) struct Buckets {
    pool: Arc<BufferPool>,
    parts: Box<[OnceLock<AtomicMemory>]>,
    bytes: AtomicU64,
}

/// Part and place of index `i`, and how many places the part has.
#[inline]
fn place(i: u64) -> (usize, usize, usize) {
    let i = i + (1 << FIRST);
    let level = i.ilog2();
    let shift = level - PARTS;
    let part = ((level - FIRST) << PARTS) as u64 + (i >> shift & ((1 << PARTS) - 1));
    (part as usize, (i & ((1 << shift) - 1)) as usize, 1 << shift)
}

impl Buckets {
    pub(super) fn new(pool: &Arc<BufferPool>) -> Self {
        let parts = (0..PARTS_MAX).map(|_| OnceLock::new()).collect();
        Self { pool: Arc::clone(pool), parts, bytes: AtomicU64::new(0) }
    }

    /// Bytes counted in the pool.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// # Panics
    /// If [`Self::ensure`] was not called for it.
    #[inline]
    pub(super) fn get(&self, i: u64) -> Bucket<'_> {
        let (part, at, _) = place(i);
        let memory = self.parts[part].get().expect("buckets are made before they are used");
        let (buckets, _) = memory.words().as_chunks::<BUCKET_WORDS>();
        Bucket(&buckets[at])
    }

    /// Makes the memory of place `i`, all zeros. For one thread at a time.
    pub(super) fn ensure(&self, i: u64) -> Result<()> {
        let (part, _, places) = place(i);
        if self.parts[part].get().is_none() {
            let bytes = (places * BUCKET_WORDS * 8) as u64;
            let memory = self.pool.allocate(MemoryCategory::Indexes, bytes)?;
            self.bytes.fetch_add(memory.held_bytes(), Ordering::Relaxed);
            let is_new = self.parts[part].set(memory.into()).is_ok();
            debug_assert!(is_new, "one thread grows the array");
        }
        Ok(())
    }
}

/// Overflow nodes, used again when they are given back.
pub(super) struct Overflow {
    nodes: Buckets,
    state: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    made: u64,
    ids: Vec<u64>,
}

impl Overflow {
    pub(super) fn new(pool: &Arc<BufferPool>) -> Self {
        Self { nodes: Buckets::new(pool), state: Mutex::default() }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.nodes.bytes()
    }

    /// Nodes in use.
    pub(super) fn used(&self) -> u64 {
        let state = self.state.lock();
        state.made - state.ids.len() as u64
    }

    #[inline]
    pub(super) fn get(&self, id: u64) -> Bucket<'_> {
        self.nodes.get(id)
    }

    /// An empty node.
    ///
    /// # Errors
    /// 53200 when the limit would be passed.
    pub(super) fn take(&self) -> Result<(u64, Bucket<'_>)> {
        let mut state = self.state.lock();
        let id = match state.ids.pop() {
            Some(id) => id,
            None => {
                self.nodes.ensure(state.made)?;
                state.made += 1;
                state.made - 1
            }
        };
        drop(state);
        // Who reads the node in a chain it left must see, with what is written now, that chain's
        // latch.
        fence(Ordering::Release);
        let node = self.nodes.get(id);
        node.reset();
        Ok((id, node))
    }

    pub(super) fn give_back(&self, id: u64) {
        self.state.lock().ids.push(id);
    }
}
