//! String bytes of a hot block: chunks that never move, each twice the one before.
//!
//! ```text
//! offset: 0        4 KiB          12 KiB                 28 KiB
//!         | chunk 0 | chunk 1      | chunk 2              | ...      up to 4 GiB
//! ```
//! Invariants: bytes below a span that was handed out never change; a string lies in one chunk; the
//! end of a chunk that is too short for a string stays unused.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use parking_lot::Mutex;
use types::{Error, Result, SqlState};

use crate::memory::{BufferPool, Memory, MemoryCategory};

/// Bytes of the first chunk.
const FIRST_BYTES: u64 = 4 << 10;
/// The last one ends just below 4 GiB.
const CHUNK_COUNT: usize = 20;

/// Place of a string: offset in the low half, bytes in the high one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) u64);

impl Span {
    #[inline]
    pub(crate) fn new(offset: u32, bytes: usize) -> Self {
        Self(u64::from(offset) | (bytes as u64) << 32)
    }

    #[inline]
    pub(crate) fn offset(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(crate) fn bytes(self) -> usize {
        (self.0 >> 32) as usize
    }
}

/// The strings of one block. Many threads may add and read.
#[derive(Debug)]
pub(crate) struct Heap {
    used: AtomicU64,
    starts: [AtomicPtr<u8>; CHUNK_COUNT],
    chunks: Mutex<Vec<Memory>>,
    pool: Arc<BufferPool>,
}

fn chunk_of(offset: u64) -> usize {
    (63 - (offset / FIRST_BYTES + 1).leading_zeros()) as usize
}

fn start_of(chunk: usize) -> u64 {
    (FIRST_BYTES << chunk) - FIRST_BYTES
}

impl Heap {
    pub(crate) fn new(pool: &Arc<BufferPool>) -> Self {
        Self {
            used: AtomicU64::new(0),
            starts: Default::default(),
            chunks: Mutex::default(),
            pool: Arc::clone(pool),
        }
    }

    /// Bytes taken, gaps included.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes of memory.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.chunks.lock().iter().map(Memory::held_bytes).sum()
    }

    /// Room for `bytes` in one piece.
    ///
    /// # Errors
    /// 53200 without memory; 54000 when all strings of the block would pass 4 GiB.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<u32> {
        if bytes == 0 {
            return Ok(0);
        }
        let bytes = bytes as u64;
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let mut chunk = chunk_of(used);
            let mut at = used;
            if at + bytes > start_of(chunk + 1) {
                chunk += 1;
                while chunk < CHUNK_COUNT && start_of(chunk + 1) - start_of(chunk) < bytes {
                    chunk += 1;
                }
                at = start_of(chunk);
            }
            if chunk >= CHUNK_COUNT {
                let message = "the strings of one block take more than 4 GiB";
                return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
            }
            if self.starts[chunk].load(Ordering::Acquire).is_null() {
                self.make(chunk)?;
            }
            let (taken, free) = (at + bytes, Ordering::Relaxed);
            match self.used.compare_exchange_weak(used, taken, free, free) {
                Ok(_) => return Ok(at as u32),
                Err(now) => used = now,
            }
        }
    }

    #[cold]
    fn make(&self, chunk: usize) -> Result<()> {
        let mut chunks = self.chunks.lock();
        if self.starts[chunk].load(Ordering::Relaxed).is_null() {
            let memory = self.pool.allocate(MemoryCategory::HotBlocks, FIRST_BYTES << chunk)?;
            self.starts[chunk].store(memory.start(), Ordering::Release);
            chunks.push(memory);
        }
        Ok(())
    }

    /// Copies `string` to `offset`.
    ///
    /// # Safety
    /// [`Self::reserve`] gave the caller these bytes, and no span that covers them is known to
    /// anybody else.
    #[inline]
    pub(crate) unsafe fn write(&self, offset: u32, string: &[u8]) {
        if !string.is_empty() {
            let target = self.address(offset).cast_mut();
            // SAFETY: `reserve` found the bytes inside one chunk; they are the caller's alone.
            unsafe { target.copy_from_nonoverlapping(string.as_ptr(), string.len()) };
        }
    }

    fn address(&self, offset: u32) -> *const u8 {
        let chunk = chunk_of(offset.into());
        let start = self.starts[chunk].load(Ordering::Acquire);
        debug_assert!(!start.is_null(), "a span lies in a chunk");
        start.wrapping_add((u64::from(offset) - start_of(chunk)) as usize)
    }

    /// The bytes of `span`, which a row of this block or its history holds.
    #[inline]
    pub(crate) fn get(&self, span: Span) -> &[u8] {
        if span.bytes() == 0 {
            return &[];
        }
        // SAFETY: spans are made by `reserve` and loaded with Acquire after their bytes were
        // written; the bytes never change, and chunks live as long as the heap.
        unsafe { std::slice::from_raw_parts(self.address(span.offset()), span.bytes()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_stay_where_they_are() {
        let pool = BufferPool::new(1 << 30);
        let heap = Heap::new(&pool);
        let mut random = testkit::Random::new(11);
        let mut spans = Vec::new();
        for i in 0..3_000u32 {
            let bytes = match random.below(50) {
                0 => random.below(100_000) as usize,
                _ => random.below(40) as usize,
            };
            let string = vec![i as u8; bytes];
            let at = heap.reserve(bytes).expect("fits");
            // SAFETY: just reserved.
            unsafe { heap.write(at, &string) };
            spans.push((Span::new(at, bytes), i as u8));
        }
        for (span, byte) in spans {
            assert!(heap.get(span).iter().all(|&b| b == byte));
        }
        assert!(heap.reserve(3 << 30).is_err());
        drop(heap);
        assert_eq!(pool.total(), 0);
    }

    #[test]
    fn chunks_follow_each_other() {
        for chunk in 0..CHUNK_COUNT {
            assert_eq!(chunk_of(start_of(chunk)), chunk);
            assert_eq!(chunk_of(start_of(chunk + 1) - 1), chunk);
        }
        assert!(start_of(CHUNK_COUNT) <= u64::from(u32::MAX));
    }
}
