//! One undo record, and the memory of one transaction's records.
//!
//! ```text
//! chunk 0: | stamp | record | image | image | record | ...    chunk 1: | record | ...
//! record:  | stamp -> | older -> | newer -> | moved to |
//!          | place | row | statement | columns | kind | unlinked |
//! image:   | value before, 16 bytes | column | NULL |
//! ```
//! Invariants: records never move; the images of a record are written before it is linked to its
//! row and never change; `newer` and `unlinked` are only used by who has the row latched; memory of
//! a chunk is given back after every reader that might be on it has gone.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};

use types::Result;

use crate::fixed::Bits;
use crate::memory::{BufferPool, MemoryCategory, Reservation};
use crate::tid::Tid;
use crate::version::StatementNumber;

/// Change of the row that a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The row begins.
    Insert,
    /// The row ends.
    Delete,
    /// Its columns in the images changed.
    Update,
    /// The row is locked.
    Lock,
    /// An undone insert: there is no row.
    Void,
    /// Any other undone change: the values are as before.
    Restored,
    /// A block of a load; not linked to any row.
    Block,
    /// A block for rows of others; not linked to any row.
    Target,
    /// A block whose rows go to another; not linked to any row.
    Source,
    /// The row ends where it was before it moved: for its writer, who sees it there.
    Echo,
    /// The row is locked FOR KEY SHARE; not linked to it.
    KeyShared,
    /// The row is locked FOR SHARE; not linked to it.
    Shared,
    /// The row was shared; not linked to it.
    Released,
}

/// Set in a kind: others may refer to the row meanwhile, whose keys stay.
const KEYS_STAY: u8 = 1 << 7;

const KINDS: [Kind; 13] = [
    Kind::Insert,
    Kind::Delete,
    Kind::Update,
    Kind::Lock,
    Kind::Void,
    Kind::Restored,
    Kind::Block,
    Kind::Target,
    Kind::Source,
    Kind::Echo,
    Kind::KeyShared,
    Kind::Shared,
    Kind::Released,
];

/// The value of a column before a change.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Image {
    pub(crate) bits: Bits,
    pub(crate) column: u16,
    pub(crate) null: bool,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Record {
    stamp: NonNull<AtomicU64>,
    older: AtomicPtr<Record>,
    newer: AtomicPtr<Record>,
    moved_to: AtomicU64,
    place: u32,
    row: u32,
    statement: StatementNumber,
    columns: u16,
    kind: AtomicU8,
    unlinked: AtomicBool,
}

const NOT_MOVED: u64 = u64::MAX;

/// A record that lives as long as `'r`: while its buffer is borrowed, or the thread is pinned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordRef<'r> {
    start: NonNull<Record>,
    lifetime: PhantomData<&'r Record>,
}

impl<'r> RecordRef<'r> {
    /// # Safety
    /// `start` must be a record of an [`Arena`] that lives as long as `'r`.
    #[inline]
    pub(crate) unsafe fn new(start: NonNull<Record>) -> Self {
        Self { start, lifetime: PhantomData }
    }

    #[inline]
    fn record(self) -> &'r Record {
        // SAFETY: alive by contract of `new`, and only shared.
        unsafe { self.start.as_ref() }
    }

    /// Its address, as it stands in a word.
    #[inline]
    pub(crate) fn address(self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// When it becomes visible, or whose it is.
    #[inline]
    pub(crate) fn stamp(self) -> u64 {
        // SAFETY: the stamp lies in the arena of the record.
        unsafe { self.record().stamp.as_ref() }.load(Ordering::Acquire)
    }

    /// Which statement of its transaction made it.
    #[inline]
    pub(crate) fn statement(self) -> StatementNumber {
        self.record().statement
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        KINDS[usize::from(self.record().kind.load(Ordering::Acquire) & !KEYS_STAY)]
    }

    /// True when a change or lock leaves the keys of the row alone.
    #[inline]
    pub(crate) fn keys_stay(self) -> bool {
        self.record().kind.load(Ordering::Acquire) & KEYS_STAY != 0
    }

    /// Says that it leaves the keys of the row alone, before it is linked.
    #[inline]
    pub(crate) fn set_keys_stay(self) {
        self.record().kind.fetch_or(KEYS_STAY, Ordering::Release);
    }

    #[inline]
    pub(crate) fn set_kind(self, kind: Kind) {
        self.record().kind.store(kind as u8, Ordering::Release);
    }

    #[inline]
    pub(crate) fn place(self) -> usize {
        self.record().place as usize
    }

    #[inline]
    pub(crate) fn row(self) -> u32 {
        self.record().row
    }

    pub(crate) fn moved_to(self) -> Option<Tid> {
        let tid = self.record().moved_to.load(Ordering::Acquire);
        (tid != NOT_MOVED).then_some(Tid(tid))
    }

    pub(crate) fn set_moved_to(self, tid: Tid) {
        self.record().moved_to.store(tid.0, Ordering::Release);
    }

    /// The before-images.
    #[inline]
    pub(crate) fn images(self) -> &'r [Image] {
        let count = usize::from(self.record().columns);
        // SAFETY: the arena made room for `columns` images behind the record, and they were
        // written before the record was linked.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(1).cast(), count) }
    }

    /// Writes before-image number `i`.
    ///
    /// # Safety
    /// The record must not be linked yet, no reference to its images exist, and `i` be below its
    /// columns.
    #[inline]
    pub(crate) unsafe fn set_image(self, i: usize, image: Image) {
        // SAFETY: room was made for it, and nobody else knows the record.
        unsafe { self.start.as_ptr().add(1).cast::<Image>().add(i).write(image) };
    }

    /// The next older record of the row.
    #[inline]
    pub(crate) fn older(self) -> Option<RecordRef<'r>> {
        let older = NonNull::new(self.record().older.load(Ordering::Acquire))?;
        // SAFETY: a linked record lives until it is unlinked and all who may be on it have gone;
        // whoever is on this one is among those.
        Some(unsafe { RecordRef::new(older) })
    }

    pub(crate) fn set_older(self, older: Option<RecordRef<'_>>) {
        let pointer = older.map_or(std::ptr::null_mut(), |r| r.start.as_ptr());
        self.record().older.store(pointer, Ordering::Release);
    }

    /// The next newer record of the row. For who has the row latched, while this one is linked.
    pub(crate) fn newer(self) -> Option<RecordRef<'r>> {
        let newer = NonNull::new(self.record().newer.load(Ordering::Relaxed))?;
        // SAFETY: what is above a linked record is linked.
        Some(unsafe { RecordRef::new(newer) })
    }

    pub(crate) fn set_newer(self, newer: RecordRef<'_>) {
        self.record().newer.store(newer.start.as_ptr(), Ordering::Relaxed);
    }

    /// True when the row no longer leads here. For who has the row latched.
    pub(crate) fn is_unlinked(self) -> bool {
        self.record().unlinked.load(Ordering::Relaxed)
    }

    pub(crate) fn set_unlinked(self) {
        self.record().unlinked.store(true, Ordering::Relaxed);
    }
}

/// Words of the first chunk, which is not counted in the pool: 2 KiB, the writes of most
/// transactions.
const FIRST_WORDS: usize = 256;
const CHUNK_WORDS_MAX: usize = 8192;
const RECORD_WORDS: usize = size_of::<Record>() / 8;
const IMAGE_WORDS: usize = size_of::<Image>() / 8;

type ChunkMemory = Box<[MaybeUninit<u64>]>;

thread_local! {
    /// The last first chunk that the thread gave up: a thread collects what it wrote itself, so
    /// short transactions need no allocator, which is slow at this size.
    static SPARE: Cell<Option<ChunkMemory>> = const { Cell::new(None) };
}

#[derive(Debug)]
struct Chunk {
    start: NonNull<u64>,
    words: usize,
}

impl Chunk {
    fn new(words: usize) -> Self {
        let spare = if words == FIRST_WORDS { SPARE.take() } else { None };
        // Records are written before anybody reads them, so the memory need not be.
        let memory = spare.unwrap_or_else(|| Box::new_uninit_slice(words));
        let start = NonNull::from(Box::leak(memory)).cast();
        Self { start, words }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let start = self.start.as_ptr().cast::<MaybeUninit<u64>>();
        let memory = std::ptr::slice_from_raw_parts_mut(start, self.words);
        // SAFETY: leaked by `new`, and taken back once.
        let memory: ChunkMemory = unsafe { Box::from_raw(memory) };
        if self.words == FIRST_WORDS {
            // A thread that ends has no place for it.
            let _ = SPARE.try_with(|spare| spare.set(Some(memory)));
        }
    }
}

/// The records of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    chunks: Vec<Chunk>,
    /// Words taken of the last chunk.
    used: usize,
    reservation: Option<Reservation>,
}

// SAFETY: the arena owns its chunks; its records are shared by atomics.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// The stamp of all records; none before the first.
    pub(crate) fn stamp(&self) -> Option<&AtomicU64> {
        let first = self.chunks.first()?;
        // SAFETY: the first word of the first chunk is the stamp and nothing else.
        Some(unsafe { AtomicU64::from_ptr(first.start.as_ptr()) })
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.iter().map(|c| c.words as u64 * 8).sum()
    }

    /// A new record with room for `columns` images, stamped `stamp` if it is the first.
    ///
    /// # Errors
    /// 53200 without memory.
    #[inline]
    pub(crate) fn add(
        &mut self,
        stamp: u64,
        (kind, columns): (Kind, usize),
        (place, row): (u32, u32),
        statement: StatementNumber,
        pool: &Arc<BufferPool>,
    ) -> Result<NonNull<Record>> {
        let words = RECORD_WORDS + columns * IMAGE_WORDS;
        if self.chunks.last().is_none_or(|c| c.words - self.used < words) {
            self.grow(words, stamp, pool)?;
        }
        let first = self.chunks[0].start;
        let chunk = self.chunks.last().expect("grown when there was none");
        // SAFETY: `used + words` is within the chunk, whose words are aligned as records are.
        let start = unsafe { chunk.start.add(self.used) }.cast::<Record>();
        self.used += words;
        let record = Record {
            stamp: first.cast(),
            older: AtomicPtr::default(),
            newer: AtomicPtr::default(),
            moved_to: AtomicU64::new(NOT_MOVED),
            place,
            row,
            statement,
            columns: columns as u16,
            kind: AtomicU8::new(kind as u8),
            unlinked: AtomicBool::new(false),
        };
        // SAFETY: fresh memory of the chunk with room for a record.
        unsafe { start.write(record) };
        Ok(start)
    }

    /// Takes back the newest record, of `columns` images, which nobody knows.
    #[inline]
    pub(crate) fn take_back(&mut self, columns: usize) {
        self.used -= RECORD_WORDS + columns * IMAGE_WORDS;
    }

    #[cold]
    fn grow(&mut self, words: usize, stamp: u64, pool: &Arc<BufferPool>) -> Result<()> {
        let next = self.chunks.last().map_or(FIRST_WORDS, |c| (c.words * 2).min(CHUNK_WORDS_MAX));
        let words = next.max(words + 1);
        if words > FIRST_WORDS {
            let reservation = self
                .reservation
                .get_or_insert_with(|| Reservation::empty(pool, MemoryCategory::Versions));
            reservation.grow(words as u64 * 8)?;
        }
        let chunk = Chunk::new(words);
        self.used = 0;
        if self.chunks.is_empty() {
            // SAFETY: the first word of fresh memory.
            unsafe { chunk.start.cast::<AtomicU64>().write(AtomicU64::new(stamp)) };
            self.used = 1;
        }
        self.chunks.push(chunk);
        Ok(())
    }
}
