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
//! Elsewhere: encoding (`freeze`), rows added and changed (`hot`), versions (`versions`, `row`),
//! reading (`frozen`, `unpack`), finding rows (`scan`), whole blocks as bytes (`image`).
//! Source: Funke 2015, sections 5.3 and 5.4; Patel 2018, section 3.1. Departures: a checksum and
//! physical types in the header, so that a damaged block is reported; validity bitmaps for plain
//! values with NULLs.

mod header;
mod hot;
mod moved;
pub(crate) mod sub_block;
mod symbols;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use kernels::{Vector, VectorData};
use parking_lot::{RwLock, RwLockReadGuard};
use types::PhysicalType;

#[cfg(test)]
pub(crate) use header::seal;
pub use header::{BlockLayout, Scheme};
pub(crate) use header::{Header, Nulls, Segment, corrupt, description_bytes};
pub(crate) use hot::{CLOSED, Hot};
pub(crate) use moved::MoveMap;
use moved::Moved;
use sub_block::SubBlock;
pub(crate) use symbols::{SYMBOL_TABLE_BYTES, SymbolTable};

use crate::memory::{Memory, Plain};
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
    pub(crate) memory: Arc<Memory>,
    pub(crate) header: Header,
    /// By column, frozen blocks only: the dictionary or the single value as a vector, or smallest
    /// and largest of compressed strings; made when first asked for.
    pub(crate) cache: Box<[OnceLock<Arc<Vector>>]>,
    /// By column, frozen blocks only: whether codes ascend from row to row; looked at when first
    /// asked for, which ends at the first row that does not.
    ascending: Box<[OnceLock<bool>]>,
    pub(crate) hot: Option<Hot>,
    pub(crate) versions: Versions,
    /// Index sub-blocks, of frozen blocks only. Latched for as long as a scan opens the block.
    sub_blocks: RwLock<Vec<Arc<SubBlock>>>,
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
    pub(crate) fn new(id: u64, memory: Arc<Memory>, header: Header, hot: Option<Hot>) -> Self {
        let cached = if hot.is_none() { header.segments.len() } else { 0 };
        let cache = (0..cached).map(|_| OnceLock::new()).collect();
        let ascending = (0..cached).map(|_| OnceLock::new()).collect();
        let room = if hot.is_some() { header.capacity } else { header.rows };
        let versions = Versions::new(room as usize);
        Self {
            id,
            memory,
            header,
            cache,
            ascending,
            hot,
            versions,
            sub_blocks: RwLock::default(),
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

    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        let strings = self.hot.as_ref().map_or(0, |hot| hot.heap.held_bytes());
        let indexes: u64 = self.sub_blocks.read().iter().map(|index| index.bytes()).sum();
        self.memory.held_bytes() + strings + self.versions.bytes() + indexes
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
    pub(crate) fn remove_sub_block(&self, id: u64) {
        self.sub_blocks.write().retain(|known| known.id() != id);
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

    pub(crate) fn codes(&self, column: usize) -> Codes<'_> {
        let segment = self.segment(column);
        debug_assert!(segment.has_codes());
        let (at, rows) = (segment.data as usize, self.rows());
        match segment.width {
            1 => Codes::U8(self.memory.slice_of(at, rows)),
            2 => Codes::U16(self.memory.slice_of(at, rows)),
            _ => Codes::U32(self.memory.slice_of(at, rows)),
        }
    }

    /// The rows whose code is one of `lo..=hi`, when the codes of a frozen segment ascend.
    ///
    /// Source: Patel 2013, section 3.3.1 (binary search on the sort column).
    pub(crate) fn sorted_rows(&self, column: usize, lo: u32, hi: u32) -> Option<Range<u32>> {
        let codes = self.codes(column);
        let ascending =
            self.ascending[column].get_or_init(|| with_codes!(codes, codes => codes.is_sorted()));
        ascending.then(|| {
            with_codes!(codes, codes => {
                let before = |end: u64| codes.partition_point(|&code| u64::from(code) < end) as u32;
                before(lo.into())..before(u64::from(hi) + 1).max(before(lo.into()))
            })
        })
    }

    /// Plain values of a frozen segment.
    pub(crate) fn values<T: Plain>(&self, column: usize) -> &[T] {
        self.memory.slice_of(self.segment(column).data as usize, self.rows())
    }

    /// The sorted dictionary of fixed-width values, or the single value.
    pub(crate) fn entries<T: Plain>(&self, column: usize) -> &[T] {
        let segment = self.segment(column);
        self.memory.slice_of(segment.dictionary as usize, segment.entries as usize)
    }

    /// Starts of the strings of a frozen segment, and the end of the last: of the dictionary
    /// entries, or of the rows when the scheme is plain or compressed.
    pub(crate) fn string_offsets(&self, column: usize) -> &[u32] {
        let segment = self.segment(column);
        if segment.has_values() {
            self.memory.slice_of(segment.data as usize, self.rows() + 1)
        } else {
            self.memory.slice_of(segment.dictionary as usize, segment.entries as usize + 1)
        }
    }

    /// All string bytes of a frozen segment.
    pub(crate) fn string_bytes(&self, column: usize) -> &[u8] {
        let segment = self.segment(column);
        self.memory.slice_of(segment.strings as usize, segment.strings_bytes as usize)
    }

    /// How the compressed strings of a segment are decoded.
    pub(crate) fn symbol_table(&self, column: usize) -> SymbolTable<'_> {
        let at = self.segment(column).symbols as usize;
        SymbolTable::new(self.memory.slice_of(at, SYMBOL_TABLE_BYTES))
    }

    /// String `idx` of a frozen segment: a dictionary entry, or a row when the scheme is plain;
    /// the codes of a row when it is compressed.
    pub(crate) fn string(&self, column: usize, idx: usize) -> &[u8] {
        let offsets = self.string_offsets(column);
        &self.string_bytes(column)[offsets[idx] as usize..offsets[idx + 1] as usize]
    }

    /// The validity words of a plain or compressed frozen segment with NULLs.
    pub(crate) fn validity_words(&self, column: usize) -> Option<&[u64]> {
        let segment = self.segment(column);
        let present = segment.has_values() && segment.nulls == Nulls::Some;
        let words = self.rows().div_ceil(64);
        present.then(|| self.memory.slice_of(segment.validity as usize, words))
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
        let segment = self.segment(column);
        if segment.physical == PhysicalType::Str || segment.sma == 0 {
            return None;
        }
        let keys = self.memory.slice_of::<i128>(segment.sma as usize, 2);
        Some((keys[0], keys[1]))
    }

    /// Smallest and largest string of a frozen segment; None without values.
    pub(crate) fn sma_strings(&self, column: usize) -> Option<(&[u8], &[u8])> {
        let segment = self.segment(column);
        if segment.physical != PhysicalType::Str || segment.sma == 0 {
            return None;
        }
        let idx = self.memory.slice_of::<u32>(segment.sma as usize, 2);
        let ends = [idx[0], idx[1]].map(|i| self.string(column, i as usize));
        if segment.scheme != Scheme::Compressed {
            return Some((ends[0], ends[1]));
        }
        let decoded = self.cache[column].get_or_init(|| {
            let strings = self.symbol_table(column).decode_all(ends.into_iter());
            Arc::new(Vector::new(VectorData::Str(strings)))
        });
        let strings = decoded.as_str();
        Some((strings.get(0), strings.get(1)))
    }
}
