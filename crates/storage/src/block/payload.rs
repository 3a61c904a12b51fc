//! Payload of a frozen block: in memory or in its file only, and who is reading it.
//!
//! ```text
//! Slot   in memory, pins  --evict, if no pins--> gone  --pin: read from its home--> in memory
//! Pinned<&Block>, Pinned<Arc<Block>>  --frozen--> Frozen: codes, values, dictionaries, strings
//! ```
//! Identity, description, smallest and largest values, versions, marks and index sub-blocks of the
//! block stay. A pin is for one row, one block of a work order, or a block that a transaction
//! wrote, until its versions are collected; views of strings keep memory that was taken back from
//! the block, and then its bytes stay counted.
//! Invariants: the payload is only reached through a pin, and who has one finds it in memory; a
//! payload is evicted only once its home can read it, and comes back the same, or XX001; what was
//! never in memory since the database was opened is checked in full when it first comes.
//! Elsewhere: the word of pins (`pins`), which goes first (`memory::evict`), files
//! (`PayloadSource`), what is known of a block that nobody has read yet (`identity`).
//! Source: Leis et al. 2023, "Virtual-Memory Assisted Buffer Management", section 3 (state and pins
//! in one word). Departure: the unit is a block's payload, not a page.

mod pins;

use std::cell::UnsafeCell;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use kernels::{HeapRef, Vector};
use parking_lot::Mutex;
use types::{Error, PhysicalType, Result};

use super::{
    Block, Codes, Header, Nulls, SYMBOL_TABLE_BYTES, Scheme, Sma, SymbolTable, corrupt,
    description_bytes, with_codes,
};
use crate::memory::{BufferPool, Cached, Evictable, Evictor, Memory, MemoryCategory, Plain, Usage};
use pins::Pins;

/// Where a payload can be read again.
pub trait PayloadSource: Send + Sync + std::fmt::Debug {
    /// Fills `into`, which is as long as the block, with the bytes of [`Block::to_bytes`].
    ///
    /// # Errors
    /// XX001 for damage; those of files.
    fn read(&self, into: &mut [u8]) -> Result<()>;

    /// Told that [`Self::read`] comes soon; returns at once.
    fn expect(&self) {}
}

/// Test of bytes that come from outside against their description.
pub(crate) type Validate = fn(&Header, &Memory) -> Result<()>;

/// Values of a frozen block, and what is derived of them.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) memory: Arc<Memory>,
    /// By column: the dictionary or the single value as a vector; made when first asked for.
    pub(crate) cache: Box<[OnceLock<Arc<Vector>>]>,
    /// By column: whether codes ascend from row to row; looked at when first asked for, which ends
    /// at the first row that does not.
    ascending: Box<[OnceLock<bool>]>,
    /// Once there is a home.
    cached: OnceLock<Cached>,
}

impl Payload {
    fn new(memory: Arc<Memory>, columns: usize) -> Self {
        let cache = (0..columns).map(|_| OnceLock::new()).collect();
        let ascending = (0..columns).map(|_| OnceLock::new()).collect();
        Self { memory, cache, ascending, cached: OnceLock::new() }
    }
}

/// Place of a payload.
pub(crate) struct Slot {
    state: Pins,
    payload: UnsafeCell<Option<Payload>>,
    /// Held by who loads or evicts.
    change: Mutex<()>,
    home: OnceLock<Arc<dyn PayloadSource>>,
    /// Test that the payload has to pass when it is first read; taken by who holds `change`.
    unchecked: Mutex<Option<Validate>>,
    /// None where nothing is evicted: pins are not counted then.
    evictor: Option<Arc<Evictor>>,
    /// Bytes of memory while it is resident.
    held_bytes: u64,
    last: AtomicU32,
    before: AtomicU32,
}

// SAFETY: the payload is written only by who holds `change` while `state` is neither resident nor
// can become so; it is read only by who counts as a pin and found it resident, and taken away only
// by a swap of `state` that proved that nobody counts.
unsafe impl Sync for Slot {}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slot({:?})", self.state)
    }
}

impl Slot {
    /// The payload in `memory`, of a block of so many columns.
    pub(super) fn new(memory: Arc<Memory>, columns: usize) -> Self {
        let evictor = memory.pool().evictor().cloned();
        let held_bytes = memory.held_bytes();
        Self {
            state: Pins::resident(),
            payload: UnsafeCell::new(Some(Payload::new(memory, columns))),
            change: Mutex::default(),
            home: OnceLock::new(),
            unchecked: Mutex::new(None),
            evictor,
            held_bytes,
            last: AtomicU32::new(0),
            before: AtomicU32::new(0),
        }
    }

    /// A payload of `bytes` bytes that only `home` has so far.
    pub(super) fn evicted(
        bytes: u64,
        home: Arc<dyn PayloadSource>,
        evictor: &Arc<Evictor>,
        validate: Validate,
    ) -> Self {
        Self {
            state: Pins::evicted(),
            payload: UnsafeCell::new(None),
            change: Mutex::default(),
            home: OnceLock::from(home),
            unchecked: Mutex::new(Some(validate)),
            evictor: Some(Arc::clone(evictor)),
            held_bytes: BufferPool::bytes_counted(bytes),
            last: AtomicU32::new(0),
            before: AtomicU32::new(0),
        }
    }

    /// True when the payload is in memory at the moment.
    pub(crate) fn is_resident(&self) -> bool {
        self.state.is_resident()
    }

    /// Bytes of memory while it is resident.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Notes a use.
    #[inline]
    fn touch(&self, now: u32) {
        let last = self.last.load(Ordering::Relaxed);
        if last != now {
            self.before.store(last, Ordering::Relaxed);
            self.last.store(now, Ordering::Relaxed);
        }
    }

    /// # Safety
    /// The caller is a pin that found the payload in memory.
    #[inline]
    unsafe fn payload(&self) -> &Payload {
        // SAFETY: nobody writes while a pin counts.
        let payload = unsafe { &*self.payload.get() };
        payload.as_ref().expect("a resident payload is there")
    }

    /// Takes a pin back.
    #[inline]
    fn unpin(&self) {
        if self.evictor.is_some() {
            self.state.unpin();
        }
    }
}

impl Block {
    /// The block with its payload in memory for as long as the pin is held; nothing to do for hot
    /// blocks. Two atomic additions while the payload is in memory, else it is read.
    ///
    /// # Errors
    /// XX001 for a damaged file; 53200 without memory; those of files.
    #[inline]
    pub(crate) fn pin(&self) -> Result<Pinned<&Self>> {
        Pinned::new(self)
    }

    /// As [`Self::pin`], by who knows of another pin, so that there is nothing to read.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(crate) fn pin_again(&self) -> Pinned<&Self> {
        self.pin().expect("a pinned payload is in memory")
    }

    /// Counts a pin.
    #[inline]
    fn add_pin(&self) -> Result<()> {
        let Some(slot) = &self.payload else { return Ok(()) };
        let Some(evictor) = &slot.evictor else { return Ok(()) };
        let is_resident = slot.state.pin();
        slot.touch(evictor.now());
        if is_resident {
            return Ok(());
        }
        self.load(slot, evictor).inspect_err(|_| slot.unpin())
    }

    /// Reads the payload, unless another thread has; the caller counts as a pin.
    #[cold]
    fn load(&self, slot: &Slot, evictor: &Arc<Evictor>) -> Result<()> {
        let _change = slot.change.lock();
        if slot.state.has_come() {
            return Ok(());
        }
        let home = slot.home.get();
        let home = home.ok_or_else(|| Error::internal("a payload without a home is in memory"))?;
        let pool = self.memory.pool();
        let mut memory = pool.allocate(MemoryCategory::FrozenBlocks, self.header.bytes)?;
        home.read(memory.as_mut_slice())?;
        if Header::read(memory.as_slice())? != self.header {
            return Err(corrupt(0, "the file holds another block"));
        }
        let mut unchecked = slot.unchecked.lock();
        if let Some(validate) = *unchecked {
            validate(&self.header, &memory)?;
        }
        let payload = Payload::new(Arc::new(memory), self.header.segments.len());
        if unchecked.is_some() {
            self.compare_smas(Frozen { block: self, payload: &payload })?;
        }
        *unchecked = None;
        drop(unchecked);
        let _ = payload.cached.set(Cached::new(evictor, slot.held_bytes));
        // SAFETY: not in memory, and `change` is held.
        unsafe { *slot.payload.get() = Some(payload) };
        slot.state.put();
        evictor.note_load();
        self.build_waiting();
        pool.keep_room();
        Ok(())
    }

    /// XX001 unless smallest and largest values are those that `frozen` has.
    fn compare_smas(&self, frozen: Frozen<'_>) -> Result<()> {
        for (column, known) in self.smas.iter().enumerate() {
            if frozen.sma(column) != *known {
                let message = format!("column {column} has another smallest or largest value");
                return Err(corrupt(description_bytes(column), message));
            }
        }
        Ok(())
    }

    /// The payload is what `home` reads, too: from now on it may be evicted. The first call counts.
    pub(crate) fn set_home(self: &Arc<Self>, home: Arc<dyn PayloadSource>) {
        let Some(slot) = &self.payload else { return };
        let Some(evictor) = &slot.evictor else { return };
        let Ok(pinned) = self.pin() else { return };
        if slot.home.set(home).is_ok() {
            let payload = pinned.frozen().expect("a payload").payload;
            let _ = payload.cached.set(Cached::new(evictor, slot.held_bytes));
            drop(pinned);
            let weak: std::sync::Weak<Self> = Arc::downgrade(self);
            evictor.add(weak);
        }
    }

    /// True when its payload can be read again.
    pub(crate) fn has_home(&self) -> bool {
        self.payload.as_ref().is_some_and(|slot| slot.home.get().is_some())
    }

    /// Tells its home that the payload will be read soon; None, and nothing told, when that is in
    /// memory, else its bytes.
    pub(crate) fn expect(&self) -> Option<u64> {
        let slot = self.payload.as_ref().filter(|slot| !slot.is_resident())?;
        slot.home.get()?.expect();
        Some(slot.held_bytes)
    }

    /// True when its rows are in memory: always for hot blocks.
    pub fn is_resident(&self) -> bool {
        self.payload.as_ref().is_none_or(Slot::is_resident)
    }
}

impl Evictable for Block {
    fn usage(&self) -> Option<Usage> {
        let slot = self.payload.as_ref()?;
        let usage = Usage {
            last: slot.last.load(Ordering::Relaxed),
            before: slot.before.load(Ordering::Relaxed),
        };
        slot.state.is_idle().then_some(usage)
    }

    fn evict(&self) -> bool {
        let Some(slot) = &self.payload else { return false };
        let Some(_change) = slot.change.try_lock() else { return false };
        if slot.home.get().is_none() {
            return false;
        }
        if !slot.state.take() {
            return false;
        }
        // SAFETY: nobody counted as a pin, who comes now finds it gone and waits for `change`.
        drop(unsafe { (*slot.payload.get()).take() });
        true
    }
}

/// A block whose payload stays in memory as long as this is held.
#[derive(Debug)]
pub(crate) struct Pinned<B: Deref<Target = Block>>(B);

impl<B: Deref<Target = Block>> Pinned<B> {
    /// See [`Block::pin`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub(crate) fn new(block: B) -> Result<Self> {
        block.add_pin()?;
        Ok(Self(block))
    }

    /// Access to the payload; None for a hot block.
    #[inline]
    pub(crate) fn frozen(&self) -> Option<Frozen<'_>> {
        let slot = self.0.payload.as_ref()?;
        // SAFETY: this is a pin that found it in memory, or of a slot that is always so.
        let payload = unsafe { slot.payload() };
        Some(Frozen { block: &self.0, payload })
    }
}

impl<B: Deref<Target = Block>> Deref for Pinned<B> {
    type Target = Block;

    #[inline]
    fn deref(&self) -> &Block {
        &self.0
    }
}

impl<B: Deref<Target = Block>> Drop for Pinned<B> {
    #[inline]
    fn drop(&mut self) {
        if let Some(slot) = &self.0.payload {
            slot.unpin();
        }
    }
}

/// A frozen block whose payload is in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frozen<'a> {
    block: &'a Block,
    pub(crate) payload: &'a Payload,
}

impl Deref for Frozen<'_> {
    type Target = Block;

    #[inline]
    fn deref(&self) -> &Block {
        self.block
    }
}

impl<'a> Frozen<'a> {
    /// All its bytes.
    #[inline]
    pub(crate) fn memory(self) -> &'a Memory {
        &self.payload.memory
    }

    /// Handle that keeps the strings of the block alive. While memory is scarce who keeps strings
    /// for long copies them, so that the payload can go.
    pub(crate) fn heap(self) -> HeapRef {
        let memory = Arc::clone(&self.payload.memory);
        let pool = memory.pool();
        let is_scarce = self.block.has_home() && pool.total() > pool.limit() / 2;
        if is_scarce { HeapRef::transient(memory) } else { HeapRef::pinned(memory) }
    }

    pub(crate) fn codes(self, column: usize) -> Codes<'a> {
        let segment = self.block.segment(column);
        debug_assert!(segment.has_codes());
        let (at, rows, memory) = (segment.data as usize, self.rows(), self.memory());
        match segment.width {
            1 => Codes::U8(memory.slice_of(at, rows)),
            2 => Codes::U16(memory.slice_of(at, rows)),
            _ => Codes::U32(memory.slice_of(at, rows)),
        }
    }

    /// The rows whose code is one of `lo..=hi`, when the codes ascend.
    ///
    /// Source: Patel 2013, section 3.3.1 (binary search on the sort column).
    pub(crate) fn sorted_rows(self, column: usize, lo: u32, hi: u32) -> Option<Range<u32>> {
        let codes = self.codes(column);
        let ascending = self.payload.ascending[column]
            .get_or_init(|| with_codes!(codes, codes => codes.is_sorted()));
        ascending.then(|| {
            with_codes!(codes, codes => {
                let before = |end: u64| codes.partition_point(|&code| u64::from(code) < end) as u32;
                before(lo.into())..before(u64::from(hi) + 1).max(before(lo.into()))
            })
        })
    }

    /// Plain values.
    pub(crate) fn values<T: Plain>(self, column: usize) -> &'a [T] {
        self.memory().slice_of(self.block.segment(column).data as usize, self.rows())
    }

    /// The sorted dictionary of fixed-width values, or the single value.
    pub(crate) fn entries<T: Plain>(self, column: usize) -> &'a [T] {
        let segment = self.block.segment(column);
        self.memory().slice_of(segment.dictionary as usize, segment.entries as usize)
    }

    /// Starts of the strings, and the end of the last: of the dictionary entries, or of the rows
    /// when the scheme is plain or compressed.
    pub(crate) fn string_offsets(self, column: usize) -> &'a [u32] {
        let segment = self.block.segment(column);
        if segment.has_values() {
            self.memory().slice_of(segment.data as usize, self.rows() + 1)
        } else {
            self.memory().slice_of(segment.dictionary as usize, segment.entries as usize + 1)
        }
    }

    /// All string bytes.
    pub(crate) fn string_bytes(self, column: usize) -> &'a [u8] {
        let segment = self.block.segment(column);
        self.memory().slice_of(segment.strings as usize, segment.strings_bytes as usize)
    }

    /// How compressed strings are decoded.
    pub(crate) fn symbol_table(self, column: usize) -> SymbolTable<'a> {
        let at = self.block.segment(column).symbols as usize;
        SymbolTable::new(self.memory().slice_of(at, SYMBOL_TABLE_BYTES))
    }

    /// String `idx`: a dictionary entry, or a row when the scheme is plain; the codes of a row when
    /// it is compressed.
    pub(crate) fn string(self, column: usize, idx: usize) -> &'a [u8] {
        let offsets = self.string_offsets(column);
        &self.string_bytes(column)[offsets[idx] as usize..offsets[idx + 1] as usize]
    }

    /// The validity words of a plain or compressed segment with NULLs.
    pub(crate) fn validity_words(self, column: usize) -> Option<&'a [u64]> {
        let segment = self.block.segment(column);
        let present = segment.has_values() && segment.nulls == Nulls::Some;
        let words = self.rows().div_ceil(64);
        present.then(|| self.memory().slice_of(segment.validity as usize, words))
    }

    /// Smallest and largest value of a segment, as the block holds them.
    pub(super) fn sma(self, column: usize) -> Sma {
        let segment = self.block.segment(column);
        if segment.sma == 0 {
            return Sma::None;
        }
        if segment.physical != PhysicalType::Str {
            let keys = self.memory().slice_of::<i128>(segment.sma as usize, 2);
            return Sma::Keys(keys[0], keys[1]);
        }
        let idx = self.memory().slice_of::<u32>(segment.sma as usize, 2);
        let ends = [idx[0], idx[1]].map(|i| self.string(column, i as usize));
        if segment.scheme != Scheme::Compressed {
            return Sma::Strings(ends[0].into(), ends[1].into());
        }
        let decoded = self.symbol_table(column).decode_all(ends.into_iter());
        Sma::Strings(decoded.get(0).into(), decoded.get(1).into())
    }
}
