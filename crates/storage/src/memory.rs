//! All large memory: who holds how much of it, and the limit nobody passes.
//!
//! ```text
//! BufferPool -- reserve --> Reservation   bytes promised, held elsewhere (vectors, say)
//!            '- allocate -> Memory        a mapping of its own, or part of a shared slot
//! beyond the limit: evictor, collector, deferred memory -- it fits now --> as above, else 53200
//! ```
//! Invariants: the sum over categories never exceeds the limit; what a reservation or memory
//! counted is given back when it is dropped; nothing is collected by a thread that is pinned, which
//! may hold latches that collecting takes.
//! Elsewhere: whose memory is taken back first (`evict`), mappings and slots (`slots`), memory that
//! is touched ahead (`run`), memory that waits for readers to leave (`deferred`).
//! Source: Patel 2018, section 3.4. Departure: the limit is hard (53200), because an operator that
//! is told can spill; huge pages are asked for, not demanded; only what a file holds is evicted.

#[cfg(feature = "mimalloc")]
mod allocator;
mod deferred;
mod evict;
mod region;
mod run;
mod slots;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use types::{Error, Result, SqlState};

#[cfg(feature = "mimalloc")]
pub use allocator::return_freed_memory;
pub(crate) use deferred::defer;
pub use deferred::settle;
pub(crate) use evict::{Cached, Evictable, Evictor};
pub use evict::{EvictionCounts, EvictionPolicy, Lru, Lru2, RandomEviction, Usage};
pub use region::{AtomicMemory, Memory};
pub(crate) use region::{IntervalBits, Plain, bytes_of, prefetch};
use run::Runs;
use slots::Slots;

/// Use of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryCategory {
    /// Row and column stores that still change.
    HotBlocks,
    /// Frozen blocks.
    FrozenBlocks,
    /// Rows on their way into blocks.
    Load,
    /// Intermediate results.
    Temporary,
    /// Join hash tables and filters.
    HashTables,
    /// Groups and their aggregates.
    Aggregation,
    /// Sorted runs.
    Sort,
    /// Version words of rows and undo records.
    Versions,
    /// Table indexes.
    Indexes,
}

impl MemoryCategory {
    /// Every category, in the order of [`BufferPool::usage`].
    pub const ALL: [Self; 9] = [
        Self::HotBlocks,
        Self::FrozenBlocks,
        Self::Load,
        Self::Temporary,
        Self::HashTables,
        Self::Aggregation,
        Self::Sort,
        Self::Versions,
        Self::Indexes,
    ];

    /// Its name in `tessera_memory()`.
    pub fn name(self) -> &'static str {
        match self {
            Self::HotBlocks => "hot blocks",
            Self::FrozenBlocks => "frozen blocks",
            Self::Load => "load",
            Self::Temporary => "temporary",
            Self::HashTables => "hash tables",
            Self::Aggregation => "aggregation",
            Self::Sort => "sort",
            Self::Versions => "versions",
            Self::Indexes => "indexes",
        }
    }

    /// True for memory of queries, which comes back when they end; the rest is data.
    pub fn is_of_queries(self) -> bool {
        matches!(self, Self::Temporary | Self::HashTables | Self::Aggregation | Self::Sort)
    }

    /// True when such memory is written bit by bit, by transactions that should not wait for it.
    fn is_filled_slowly(self) -> bool {
        matches!(self, Self::HotBlocks | Self::Indexes)
    }
}

/// How long without any memory that came back before 53200: readers leave within a batch.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long another thread that collects is waited for.
const PATIENCE_COLLECTING: Duration = Duration::from_secs(1);

/// Unlinks what no snapshot needs; free when there is nothing.
type Collector = Box<dyn Fn() + Send + Sync>;

/// The owner of all large memory of one database. Shared by all threads.
pub struct BufferPool {
    limit: u64,
    total: AtomicU64,
    peak: AtomicU64,
    #[cfg(feature = "mimalloc")]
    overhead: allocator::Overhead,
    used: [AtomicU64; MemoryCategory::ALL.len()],
    slots: Mutex<Slots>,
    runs: Runs,
    collector: OnceLock<Collector>,
    evictor: Option<Arc<Evictor>>,
    /// Held by the thread that collects.
    collecting: Mutex<()>,
    /// When a writer last asked for room, in milliseconds after `opened`.
    relieved: AtomicU64,
    opened: Instant,
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (limit, total) = (self.limit, self.total());
        write!(f, "BufferPool({total} of {limit} bytes)")
    }
}

impl BufferPool {
    /// A pool that gives out at most `limit_bytes` and takes nothing back.
    pub fn new(limit_bytes: u64) -> Arc<Self> {
        Self::with(limit_bytes, None)
    }

    /// A pool that takes back, in the order of `policy`, what files hold, too.
    pub fn evicting(limit_bytes: u64, policy: Box<dyn EvictionPolicy>) -> Arc<Self> {
        Self::with(limit_bytes, Some(Evictor::new(policy)))
    }

    fn with(limit_bytes: u64, evictor: Option<Arc<Evictor>>) -> Arc<Self> {
        Arc::new(Self {
            limit: limit_bytes,
            total: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            #[cfg(feature = "mimalloc")]
            overhead: allocator::Overhead::new(limit_bytes),
            used: Default::default(),
            slots: Mutex::new(Slots::default()),
            runs: Runs::default(),
            collector: OnceLock::new(),
            evictor,
            collecting: Mutex::new(()),
            relieved: AtomicU64::new(0),
            opened: Instant::now(),
        })
    }

    /// Asks `collector` for memory when the limit is reached; the first call counts. It runs on any
    /// thread that is not pinned, and must not wait for transactions.
    pub fn set_collector(&self, collector: impl Fn() + Send + Sync + 'static) {
        let _ = self.collector.set(Box::new(collector));
    }

    /// Gives back what no snapshot needs, if readers leave within `PATIENCE`.
    pub fn reclaim(&self) {
        self.make_room(|| false);
    }

    /// As [`Self::reclaim`], when little is left: for writers, before they pin themselves.
    #[inline]
    pub(crate) fn relieve(&self) {
        if self.total() > self.limit - self.limit / 16 {
            self.relieve_now();
        }
    }

    /// Evictor that takes memory back, if any.
    pub(crate) fn evictor(&self) -> Option<&Arc<Evictor>> {
        self.evictor.as_ref()
    }

    /// Loads and evictions since the start.
    pub fn evictions(&self) -> EvictionCounts {
        self.evictor.as_ref().map(|evictor| evictor.counts()).unwrap_or_default()
    }

    /// The name of the policy by which memory is taken back; None when none is.
    pub fn eviction_policy(&self) -> Option<&'static str> {
        self.evictor.as_ref().map(|evictor| evictor.policy())
    }

    /// Bytes given out now that can be taken back when they are needed.
    pub fn cached(&self) -> u64 {
        self.evictor.as_ref().map_or(0, |evictor| evictor.cached())
    }

    /// Bytes given out now that cannot be taken back.
    pub fn held(&self) -> u64 {
        self.total().saturating_sub(self.cached())
    }

    /// Takes back what files hold until no more than `bytes` are given out, or all of it; true when
    /// no more are. What is in use stays.
    pub fn evict_to(&self, bytes: u64) -> bool {
        let fits = || self.total() <= bytes;
        fits() || self.evictor.as_ref().is_some_and(|evictor| evictor.make_room(fits))
    }

    /// Takes back enough that an eighth of the limit is free: room for those who cannot wait for
    /// the collector.
    pub(crate) fn keep_room(&self) {
        let low = self.limit - self.limit / 8;
        if self.total() > low {
            self.evict_to(low);
        }
    }

    /// Evicts or else reclaims, once in a millisecond.
    #[cold]
    fn relieve_now(&self) {
        let now = self.opened.elapsed().as_millis() as u64;
        let is_due = self.relieved.swap(now, Ordering::Relaxed) != now;
        if is_due && !self.evict_to(self.limit - self.limit / 8) {
            self.reclaim();
        }
    }

    /// Collects until `fits`; false when it does not.
    #[cold]
    fn make_room(&self, mut fits: impl FnMut() -> bool) -> bool {
        if crossbeam_epoch::is_pinned() {
            return false;
        }
        let Some(_collecting) = self.collecting.try_lock_for(PATIENCE_COLLECTING) else {
            return fits();
        };
        if let Some(collector) = self.collector.get() {
            collector();
        }
        let (mut begin, mut least) = (Instant::now(), u64::MAX);
        loop {
            let waiting = deferred::waiting();
            if fits() {
                return true;
            }
            if waiting < least {
                (begin, least) = (Instant::now(), waiting);
            }
            if waiting == 0 || begin.elapsed() > PATIENCE {
                return false;
            }
            deferred::advance();
            std::thread::yield_now();
        }
    }

    /// The most bytes it gives out.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes given out now.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The most bytes given out at any time since the start, or since [`Self::reset_peak`].
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Starts a new measurement of [`Self::peak`].
    pub fn reset_peak(&self) {
        self.peak.store(self.total(), Ordering::Relaxed);
    }

    /// Bytes given out now, by category.
    pub fn usage(&self) -> Vec<(MemoryCategory, u64)> {
        let bytes = self.used.iter().map(|b| b.load(Ordering::Relaxed));
        MemoryCategory::ALL.into_iter().zip(bytes).collect()
    }

    /// Counts `bytes` that the caller is about to take from the general allocator.
    ///
    /// # Errors
    /// 53200 when the limit would be passed.
    pub fn reserve(self: &Arc<Self>, category: MemoryCategory, bytes: u64) -> Result<Reservation> {
        self.take(category, bytes)?;
        Ok(Reservation { pool: Arc::clone(self), category, bytes })
    }

    /// Zeroed memory of `bytes`, aligned to 64: part of a slot when small, else whole pages of its
    /// own, huge ones where the system has them.
    ///
    /// # Errors
    /// 53200 when the limit would be passed, or the system has no more memory.
    pub fn allocate(self: &Arc<Self>, category: MemoryCategory, bytes: u64) -> Result<Memory> {
        let too_large = || out_of_memory(category, bytes, self.limit);
        let held = slots::held_bytes(usize::try_from(bytes).map_err(|_| too_large())?)
            .ok_or_else(too_large)?;
        let reservation = self.reserve(category, held as u64)?;
        let place = self.place(category, held).map_err(|_| too_large())?;
        Ok(Memory::new(place, bytes as usize, reservation))
    }

    /// Bytes that are counted for memory of `bytes` bytes.
    pub(crate) fn bytes_counted(bytes: u64) -> u64 {
        let held = usize::try_from(bytes).ok().and_then(slots::held_bytes);
        held.map_or(bytes, |held| held as u64)
    }

    fn place(&self, category: MemoryCategory, held: usize) -> io::Result<slots::Place> {
        if category.is_filled_slowly()
            && let Some(start) = self.runs.take(held)?
        {
            return Ok(slots::Place::of_run(start, held));
        }
        self.slots.lock().take(held)
    }

    fn give_back(&self, place: slots::Place) {
        if place.is_of_run() {
            // SAFETY: the place's holder is gone.
            unsafe { self.runs.give_back(place.start, place.bytes) };
        } else {
            self.slots.lock().give_back(place);
        }
    }

    fn take(&self, category: MemoryCategory, bytes: u64) -> Result<()> {
        let fits = || self.try_take(category, bytes);
        if fits() {
            return Ok(());
        }
        let evicted = || self.evictor.as_ref().is_some_and(|evictor| evictor.make_room(fits));
        // Versions that are collected pin blocks no longer.
        if bytes <= self.limit && (evicted() || self.make_room(fits) || evicted()) {
            return Ok(());
        }
        Err(out_of_memory(category, bytes, self.limit))
    }

    fn try_take(&self, category: MemoryCategory, bytes: u64) -> bool {
        let (order, limit) = (Ordering::Relaxed, self.limit);
        let add = |total: u64| total.checked_add(bytes).filter(|&t| t <= limit);
        let Ok(before) = self.total.fetch_update(order, order, add) else { return false };
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        self.used[category as usize].fetch_add(bytes, Ordering::Relaxed);
        #[cfg(feature = "mimalloc")]
        self.overhead.note(bytes);
        true
    }

    fn release(&self, category: MemoryCategory, bytes: u64) {
        self.used[category as usize].fetch_sub(bytes, Ordering::Relaxed);
        self.total.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn out_of_memory(category: MemoryCategory, bytes: u64, limit: u64) -> Error {
    let message = format!("out of memory: {bytes} more bytes for {}", category.name());
    Error::new(SqlState::OUT_OF_MEMORY, message)
        .with_detail(format!("The memory limit is {limit} bytes."))
        .with_hint("Raise the limit with --memory.")
}

/// Bytes counted in the pool until it is dropped.
#[derive(Debug)]
pub struct Reservation {
    pool: Arc<BufferPool>,
    category: MemoryCategory,
    bytes: u64,
}

impl Reservation {
    /// Reservation that counts nothing yet.
    pub fn empty(pool: &Arc<BufferPool>, category: MemoryCategory) -> Self {
        Self { pool: Arc::clone(pool), category, bytes: 0 }
    }

    /// Bytes counted.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts `bytes` from now on instead.
    ///
    /// # Errors
    /// 53200 when the limit would be passed; the old count stays.
    pub fn resize(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.bytes {
            self.pool.take(self.category, bytes - self.bytes)?;
        } else {
            self.pool.release(self.category, self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Counts `bytes` more.
    ///
    /// # Errors
    /// As [`Self::resize`].
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        self.resize(self.bytes.saturating_add(bytes))
    }

    pub(crate) fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.pool.release(self.category, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_and_everything_comes_back() {
        let pool = BufferPool::new(8 << 20);
        let mut first = pool.reserve(MemoryCategory::Sort, 3 << 20).expect("fits");
        let error = pool.reserve(MemoryCategory::Sort, 6 << 20).expect_err("too much");
        assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
        assert!(first.resize(9 << 20).is_err());
        assert_eq!(pool.total(), 3 << 20);
        first.resize(1 << 20).expect("smaller");
        let memory = pool.allocate(MemoryCategory::HashTables, 6 << 20).expect("fits");
        assert!(pool.allocate(MemoryCategory::HashTables, 2 << 20).is_err());
        assert_eq!(pool.usage()[4], (MemoryCategory::HashTables, 6 << 20));
        drop((first, memory));
        assert_eq!(pool.total(), 0);
        assert_eq!(pool.peak(), 7 << 20);
        assert!(pool.usage().iter().all(|&(_, bytes)| bytes == 0));
    }

    #[test]
    fn memory_is_zeroed_aligned_and_reused() {
        let pool = BufferPool::new(1 << 30);
        for bytes in [0u64, 1, 63, 64, 65, 4096, 100_000, (1 << 20) - 1, 1 << 20, 5 << 20] {
            for _ in 0..3 {
                let mut memory = pool.allocate(MemoryCategory::Temporary, bytes).expect("fits");
                assert_eq!(memory.len() as u64, bytes);
                assert!(memory.as_slice().as_ptr().addr().is_multiple_of(64));
                assert!(memory.as_slice().iter().all(|&b| b == 0));
                memory.as_mut_slice().fill(0xab);
            }
        }
        assert_eq!(pool.total(), 0);
    }

    #[test]
    fn parts_of_a_slot_do_not_overlap() {
        let pool = BufferPool::new(1 << 30);
        let mut random = testkit::Random::new(7);
        let mut held: Vec<(u8, Memory)> = Vec::new();
        for round in 0..2_000u32 {
            if random.chance(40) && !held.is_empty() {
                let (mark, memory) = held.swap_remove(random.below(held.len() as u64) as usize);
                assert!(memory.as_slice().iter().all(|&b| b == mark));
            } else {
                let bytes = random.below(200_000) + 1;
                let mut memory = pool.allocate(MemoryCategory::Temporary, bytes).expect("fits");
                memory.as_mut_slice().fill(round as u8);
                held.push((round as u8, memory));
            }
        }
        assert!(held.iter().all(|(mark, m)| m.as_slice().iter().all(|b| b == mark)));
        drop(held);
        assert_eq!(pool.total(), 0);
    }
}
