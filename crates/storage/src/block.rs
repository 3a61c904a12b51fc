//! A block: rows of one table in one contiguous range of memory that describes itself.
//!
//! ```text
//! frozen: | header | descriptions | areas of column 0 | areas of column 1 | ... | padding |
//!         area: SMA, dictionary, codes or values, validity, lookup table, symbols, string bytes
//! column: | header | descriptions | stripe, validity of column 0 | ... | string bytes |
//! row:    | header | descriptions | tuples                             | string bytes |
//! ```
//! Invariants: at most [`BLOCK_ROWS_MAX`] rows; no pointers, only offsets; the memory of a frozen
//! block never changes, that of a hot one in place (`hot`); what changes in either besides is its
//! directory of versions and the counts and stamps below. String bytes of a hot block lie beside
//! its memory and are part of its image only.
//! Elsewhere: what is in memory of a frozen block (`payload`, `identity`), encoding (`freeze`),
//! rows added and changed (`hot`), versions (`versions`, `row`), reading (`frozen`, `unpack`),
//! finding rows (`scan`), whole blocks as bytes (`image`).
//! Source: Funke 2015, sections 5.3 and 5.4; Patel 2018, section 3.1. Departures: a checksum and
//! physical types in the header, so that a damaged block is reported; validity bitmaps for plain
//! values with NULLs.

mod header;
mod hot;
mod identity;
mod moved;
mod payload;
pub(crate) mod sub_block;
mod symbols;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use types::PhysicalType;

#[cfg(test)]
pub(crate) use header::seal;
pub use header::{BlockLayout, Scheme};
pub(crate) use header::{Header, Nulls, Segment, corrupt, description_bytes};
pub(crate) use hot::{CLOSED, Hot};
use identity::Sma;
pub(crate) use identity::{Identity, key_range};
pub(crate) use moved::MoveMap;
use moved::Moved;
pub use payload::PayloadSource;
use payload::Slot;
pub(crate) use payload::{Frozen, Pinned, Validate};
use sub_block::{SubBlock, SubBlockSpec};
pub(crate) use symbols::{SYMBOL_TABLE_BYTES, SymbolTable};

use crate::ids::IndexId;
use crate::memory::{BufferPool, Memory, MemoryCategory};
use crate::version::{Snapshot, StatementNumber, TxnId};
use crate::versions::Versions;

/// The most rows of a block, so that a row id takes 16 bits.
pub const BLOCK_ROWS_MAX: usize = 1 << 16;

/// Alignment of areas, and free bytes at the end so that wide loads stay inside.
pub(crate) const AREA_ALIGN: usize = 64;

/// Rows of one table; see the module for what may change.
#[derive(Debug)]
pub struct Block {
    id: u64,
    /// Tuples or stripes of a hot block; nothing of a frozen one.
    pub(crate) memory: Arc<Memory>,
    pub(crate) header: Header,
    /// Place of the payload of a frozen block.
    pub(crate) payload: Option<Slot>,
    /// By column, frozen blocks only.
    smas: Box<[Sma]>,
    pub(crate) hot: Option<Hot>,
    pub(crate) versions: Versions,
    /// Index sub-blocks, of frozen blocks only. Latched for as long as a scan opens the block.
    sub_blocks: RwLock<Vec<Arc<SubBlock>>>,
    /// Index sub-blocks that are built when the payload is first read.
    waiting: Mutex<Vec<SubBlockSpec>>,
    /// Stamp of all rows, for blocks that a load made; 0 for all others.
    created: AtomicU64,
    /// The statement of that transaction.
    created_by: AtomicU32,
    /// Newest commit that changed it.
    changed: AtomicU64,
    /// Rows that commits changed, each time counted.
    changes: AtomicU64,
    /// Rows whose word is DEAD, of those claimed.
    dead: AtomicU32,
    moved: Moved,
}

/// A stamp that nobody sees: of blocks whose load was undone.
pub(crate) const NEVER: u64 = u64::MAX;

/// The codes of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Codes<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
}

/// Runs `$body` with `$codes` bound to the slice of codes, whatever its width.
macro_rules! with_codes {
    ($all:expr, $codes:ident => $body:expr) => {
        match $all {
            $crate::block::Codes::U8($codes) => $body,
            $crate::block::Codes::U16($codes) => $body,
            $crate::block::Codes::U32($codes) => $body,
        }
    };
}
pub(crate) use with_codes;

impl Block {
    /// A hot block in `memory`.
    pub(crate) fn hot_in(id: u64, memory: Memory, header: Header, hot: Hot) -> Self {
        Self::new(id, memory, header, Some(hot))
    }

    /// A frozen block whose bytes are those of `memory`, which were checked.
    pub(crate) fn frozen_in(id: u64, memory: Memory, header: Header) -> Self {
        let nothing = Memory::empty(memory.pool(), MemoryCategory::FrozenBlocks);
        let columns = header.segments.len();
        let mut block = Self::new(id, nothing, header, None);
        block.payload = Some(Slot::new(Arc::new(memory), columns));
        let pinned = block.pin_again();
        let frozen = pinned.frozen().expect("a frozen block");
        let smas = (0..columns).map(|column| frozen.sma(column)).collect();
        drop(pinned);
        block.smas = smas;
        block
    }

    /// The frozen block of an identity, whose payload `home` reads when it is wanted and `validate`
    /// tests then; None where nothing is ever evicted.
    pub(crate) fn evicted(
        id: u64,
        identity: Identity,
        pool: &Arc<BufferPool>,
        home: Arc<dyn PayloadSource>,
        validate: Validate,
    ) -> Option<Arc<Self>> {
        let evictor = pool.evictor()?;
        let slot = Slot::evicted(identity.header.bytes, home, evictor, validate);
        let nothing = Memory::empty(pool, MemoryCategory::FrozenBlocks);
        let mut block = Self::new(id, nothing, identity.header, None);
        (block.payload, block.smas) = (Some(slot), identity.smas);
        let block = Arc::new(block);
        let weak: std::sync::Weak<Self> = Arc::downgrade(&block);
        evictor.add(weak);
        Some(block)
    }

    fn new(id: u64, memory: Memory, header: Header, hot: Option<Hot>) -> Self {
        let room = if hot.is_some() { header.capacity } else { header.rows };
        let versions = Versions::new(room as usize);
        let memory = Arc::new(memory);
        Self {
            id,
            memory,
            header,
            payload: None,
            smas: Box::default(),
            hot,
            versions,
            sub_blocks: RwLock::default(),
            waiting: Mutex::default(),
            created: AtomicU64::new(0),
            created_by: AtomicU32::new(0),
            changed: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            dead: AtomicU32::new(0),
            moved: Moved::default(),
        }
    }

    /// The block as number `id`, before anybody else knows it.
    pub(crate) fn with_id(mut self, id: u64) -> Self {
        self.id = id;
        self
    }

    /// Its number in its table; unique while the table lives.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Rows, dead ones and those of running transactions included.
    #[inline]
    pub fn rows(&self) -> usize {
        self.hot.as_ref().map_or(self.header.rows as usize, Hot::rows)
    }

    /// Bytes of memory held now.
    pub fn bytes(&self) -> u64 {
        let evicted = match &self.payload {
            Some(slot) if !slot.is_resident() => slot.held_bytes(),
            _ => 0,
        };
        self.whole_bytes() - evicted
    }

    /// Bytes of memory held when all of it is in memory.
    pub(crate) fn whole_bytes(&self) -> u64 {
        let strings = self.hot.as_ref().map_or(0, |hot| hot.heap.held_bytes());
        let indexes: u64 = self.sub_blocks.read().iter().map(|index| index.bytes()).sum();
        let payload = self.payload.as_ref().map_or(0, Slot::held_bytes);
        self.memory.held_bytes() + payload + strings + self.versions.bytes() + indexes
    }

    /// Its index sub-blocks.
    #[inline]
    pub(crate) fn sub_blocks(&self) -> RwLockReadGuard<'_, Vec<Arc<SubBlock>>> {
        self.sub_blocks.read()
    }

    /// Adds an index sub-block, unless it has that of the same index.
    pub(crate) fn add_sub_block(&self, added: SubBlock) {
        let mut all = self.sub_blocks.write();
        if all.iter().all(|known| known.id() != added.id()) {
            all.push(Arc::new(added));
        }
    }

    /// Removes what it has for index `id`.
    pub(crate) fn remove_sub_block(&self, id: IndexId) {
        self.waiting.lock().retain(|spec| spec.id != id);
        self.sub_blocks.write().retain(|known| known.id() != id);
    }

    /// True when it has an index sub-block for index `id`, or will have with its payload.
    pub(crate) fn has_sub_block(&self, id: IndexId) -> bool {
        self.waiting.lock().iter().any(|spec| spec.id == id)
            || self.sub_blocks.read().iter().any(|known| known.id() == id)
    }

    /// An index sub-block is to be built when the payload is first read.
    pub(crate) fn await_sub_block(&self, spec: SubBlockSpec) {
        self.waiting.lock().push(spec);
    }

    /// Builds the index sub-blocks that waited for the payload; without memory the block goes
    /// without them. The caller counts as a pin and found the payload in memory.
    fn build_waiting(&self) {
        let mut waiting = self.waiting.lock();
        if waiting.is_empty() {
            return;
        }
        let pinned = self.pin_again();
        let frozen = pinned.frozen().expect("a frozen block");
        for spec in waiting.drain(..) {
            if let Ok(built) = SubBlock::build(frozen, &spec, self.memory.pool()) {
                self.add_sub_block(built);
            }
        }
    }

    /// The stamp of all its rows, 0 once everybody sees it.
    #[inline]
    pub(crate) fn created(&self) -> u64 {
        self.created.load(Ordering::Acquire)
    }

    pub(crate) fn set_created(&self, stamp: u64) {
        self.created.store(stamp, Ordering::Release);
    }

    /// Its rows are written by a statement of a running transaction.
    pub(crate) fn set_creator(&self, txn: TxnId, statement: StatementNumber) {
        self.created_by.store(statement.0, Ordering::Relaxed);
        self.set_created(txn.0);
    }

    /// True when `at` sees its rows, as far as they were not written one by one.
    #[inline]
    pub(crate) fn is_seen(&self, at: Snapshot) -> bool {
        at.sees(self.created(), || StatementNumber(self.created_by.load(Ordering::Relaxed)))
            && !self.moved.has_ended(at)
    }

    /// The newest commit that changed it.
    pub(crate) fn changed(&self) -> u64 {
        self.changed.load(Ordering::Acquire)
    }

    /// A commit changed `rows` of its rows.
    pub(crate) fn note_change(&self, at: u64, rows: u64) {
        self.changed.fetch_max(at, Ordering::AcqRel);
        self.changes.fetch_add(rows, Ordering::Relaxed);
    }

    /// Takes over the stamps and counts of `old`, whose rows it has; before anybody else knows it.
    pub(crate) fn follow(&self, old: &Self) {
        self.set_created(old.created());
        self.set_changed(old.changed());
        self.changes.store(old.changes(), Ordering::Relaxed);
    }

    /// Recovery: the newest commit that changed it, when it is known.
    pub(crate) fn set_changed(&self, at: u64) {
        self.changed.store(at, Ordering::Release);
    }

    /// Rows that commits changed so far.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Rows whose word is DEAD, of those claimed.
    pub(crate) fn dead(&self) -> usize {
        self.dead.load(Ordering::SeqCst) as usize
    }

    /// Counts `rows` more dead rows; true when no row is left and none will come. Ordered with
    /// closing the block: either this finds it closed or who closed it finds the rows dead.
    pub(crate) fn bury(&self, rows: usize) -> bool {
        let dead = self.dead.fetch_add(rows as u32, Ordering::SeqCst) as usize + rows;
        let is_closed = self.hot.as_ref().is_none_or(Hot::is_closed);
        is_closed && dead == self.rows()
    }

    /// Recovery: a dead row is there again.
    pub(crate) fn unbury(&self) {
        self.dead.fetch_sub(1, Ordering::AcqRel);
    }

    /// How its rows are laid out.
    pub fn layout(&self) -> BlockLayout {
        self.header.layout
    }

    /// How column `column` is held.
    pub fn scheme(&self, column: usize) -> Scheme {
        self.header.segments[column].scheme
    }

    /// Bytes of a code or value of column `column`; 0 for a single value.
    pub fn width(&self, column: usize) -> usize {
        usize::from(self.header.segments[column].width)
    }

    /// Bytes that `rows` values of column `column` take where they are read: codes or values, and
    /// the characters of strings that have no dictionary.
    pub fn bytes_of(&self, column: usize, rows: usize) -> u64 {
        let segment = self.segment(column);
        let characters = if segment.has_codes() {
            0
        } else {
            u64::from(segment.strings_bytes) * rows as u64 / self.rows().max(1) as u64
        };
        u64::from(segment.width) * rows as u64 + characters
    }

    pub(crate) fn segment(&self, column: usize) -> &Segment {
        &self.header.segments[column]
    }

    /// The form of a stored column; None for ordinals that no block stores, that of TIDs say.
    pub(crate) fn physical(&self, column: usize) -> Option<PhysicalType> {
        self.header.segments.get(column).map(|segment| segment.physical)
    }

    /// True when a frozen segment has NULLs only.
    pub(crate) fn is_all_null(&self, column: usize) -> bool {
        self.segment(column).nulls == Nulls::All
    }

    /// Smallest and largest order key of a frozen segment of fixed-width values; None without
    /// values.
    pub(crate) fn sma_keys(&self, column: usize) -> Option<(i128, i128)> {
        match self.smas.get(column) {
            Some(Sma::Keys(least, most)) => Some((*least, *most)),
            _ => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn sma(&self, column: usize) -> &Sma {
        &self.smas[column]
    }

    /// Smallest and largest string of a frozen segment; None without values.
    pub(crate) fn sma_strings(&self, column: usize) -> Option<(&[u8], &[u8])> {
        match self.smas.get(column) {
            Some(Sma::Strings(least, most)) => Some((least, most)),
            _ => None,
        }
    }
}
