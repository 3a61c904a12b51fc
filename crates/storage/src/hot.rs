//! Hot blocks: rows are added and changed in place, and never move.
//!
//! ```text
//! row store:    | tuple 0 | tuple 1 | ...  tuple: | NULL bits | 1-byte | 4-byte | 8-byte values |
//! column store: | stripe of column 0 | validity 0 | stripe of column 1 | ...
//! strings:      chunks beside it (`heap`); a value is a span (offset u32, bytes u32) into them
//! image:        | the same                        | string bytes of all rows |
//! ```
//! Invariants: a value has its natural alignment and is read and written by relaxed atomics, 16
//! bytes as two words; a span is one word, stored with Release after its string and loaded with
//! Acquire; string bytes never change. A row is claimed before it is written; nobody looks at it
//! before its version word says so (`versions`, `row`).
//! Source: Patel 2018, section 3.1 (split row store). Departure: no version column, because
//! versions live beside the block (decision 005).

mod tuple;
mod image;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kernels::{StrVector, Vector};
use types::{Error, PhysicalType, Result, SqlState};

use crate::block::{
    AREA_ALIGN, BLOCK_ROWS_MAX, Block, BlockLayout, CLOSED, Header, Hot, Nulls, Scheme, Segment,
    description_bytes,
};
use crate::datum::Datum;
use crate::fixed::{Bits, Fixed, fixed_datum, load_words, store_words, value_bytes, with_fixed};
use crate::heap::{Heap, Span};
use crate::memory::{BufferPool, MemoryCategory};
pub(crate) use image::{ImageWriter, open_image};

/// Rows of a table's first block.
pub(crate) const ROWS_MIN: usize = 64;
/// String bytes after which a block takes no more rows and no more updates of strings.
pub(crate) const HEAP_BYTES_MAX: u64 = 32 << 20;

/// Where values of successive rows are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stride {
    start: usize,
    bytes: usize,
}

impl Stride {
    /// The offset of the value of `row`.
    #[inline(always)]
    pub(crate) fn of(self, row: usize) -> usize {
        self.start + row * self.bytes
    }
}

fn tuples_start(columns: usize) -> usize {
    description_bytes(columns).next_multiple_of(AREA_ALIGN)
}

/// Where the values of a tuple are, and its bytes.
fn place_values(types: &[PhysicalType]) -> (Vec<u32>, usize) {
    let mut at = types.len().div_ceil(8);
    let mut places = vec![0; types.len()];
    for width in [1, 4, 8, 16] {
        for (column, _) in types.iter().enumerate().filter(|(_, t)| value_bytes(**t) == width) {
            at = at.next_multiple_of(width.min(8));
            places[column] = at as u32;
            at += width;
        }
    }
    (places, at.next_multiple_of(8))
}

fn describe(
    layout: BlockLayout,
    types: &[PhysicalType],
    capacity: usize,
    heap_bytes: u64,
) -> Result<Header> {
    let mut at = tuples_start(types.len()) as u64;
    let (places, tuple_bytes) = place_values(types);
    let mut segments = Vec::with_capacity(types.len());
    for (column, &physical) in types.iter().enumerate() {
        let width = value_bytes(physical);
        let mut segment = Segment::new(physical, Scheme::Plain, width as u8, Nulls::Some);
        if layout == BlockLayout::Row {
            segment.data = places[column];
            segment.validity = column as u32;
        } else {
            segment.data = at as u32;
            at += (capacity * width).next_multiple_of(AREA_ALIGN) as u64;
            segment.validity = at as u32;
            at += (capacity.div_ceil(64) * 8).next_multiple_of(AREA_ALIGN) as u64;
        }
        segments.push(segment);
    }
    if layout == BlockLayout::Row {
        at += (capacity * tuple_bytes).next_multiple_of(AREA_ALIGN) as u64;
    }
    let bytes = at + heap_bytes + AREA_ALIGN as u64;
    if bytes > u64::from(u32::MAX) {
        let message = "the rows of one block take more than 4 GiB";
        return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
    }
    Ok(Header {
        layout,
        rows: 0,
        capacity: capacity as u32,
        bytes,
        versions: 0,
        heap: at as u32,
        heap_used: heap_bytes as u32,
        tuple_bytes: tuple_bytes as u32,
        segments: segments.into(),
    })
}

/// An empty block with room for `capacity` rows.
///
/// # Errors
/// 53200 without memory; 54000 when it would pass 4 GiB.
pub(crate) fn create(
    id: u64,
    layout: BlockLayout,
    types: &[PhysicalType],
    capacity: usize,
    pool: &Arc<BufferPool>,
) -> Result<Block> {
    debug_assert!(capacity <= BLOCK_ROWS_MAX);
    let header = describe(layout, types, capacity, 0)?;
    let mut memory = pool.allocate(MemoryCategory::HotBlocks, header.bytes)?;
    header.write(memory.as_mut_slice());
    Ok(Block::hot_in(id, memory, header, Hot::new(pool)))
}

/// A block of exactly these rows that takes no more: for bulk loads.
///
/// # Errors
/// As [`create`].
pub(crate) fn build(
    id: u64,
    layout: BlockLayout,
    vectors: &[&Vector],
    rows: usize,
    pool: &Arc<BufferPool>,
) -> Result<Block> {
    let block = create_filled(id, layout, vectors, rows, rows, pool)?;
    block.close();
    Ok(block)
}

/// A block with these rows and room for `capacity`.
pub(crate) fn create_filled(
    id: u64,
    layout: BlockLayout,
    vectors: &[&Vector],
    rows: usize,
    capacity: usize,
    pool: &Arc<BufferPool>,
) -> Result<Block> {
    let types: Vec<PhysicalType> = vectors.iter().map(|v| v.physical()).collect();
    let block = create(id, layout, &types, capacity, pool)?;
    block.write_vectors(vectors, 0..rows, 0)?;
    block.set_claimed(rows);
    Ok(block)
}

impl Block {
    /// Parts that only hot blocks have.
    ///
    /// # Panics
    /// If the block is frozen.
    #[inline]
    pub(crate) fn hot(&self) -> &Hot {
        self.hot.as_ref().expect("a hot block")
    }

    /// True when a value of `bytes` string bytes should go to another block.
    #[inline]
    pub(crate) fn is_heap_full(&self, bytes: usize) -> bool {
        let used = self.hot().heap.used();
        used > 0 && used + bytes as u64 > HEAP_BYTES_MAX
    }

    /// Takes the next `count` rows, or fewer, in one zone of versions, which is made; returns the
    /// first and how many: 0 when the block is full or closed.
    ///
    /// # Errors
    /// 53200 without memory.
    pub(crate) fn claim(&self, count: usize, pool: &Arc<BufferPool>) -> Result<Range<u32>> {
        let hot = self.hot();
        let capacity = self.header.capacity;
        loop {
            let first = hot.claimed.load(Ordering::Acquire);
            if first & CLOSED != 0 || first >= capacity {
                return Ok(0..0);
            }
            let zone_end = (first / 1024 + 1) * 1024;
            let count = (count as u32).min(capacity.min(zone_end) - first);
            let zone = self.versions.make_zone(first, || hot.rows(), pool)?;
            // A retired block is closed: the exchange fails.
            let _ = zone.marks().touch(count);
            let next = first + count;
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            if hot.claimed.compare_exchange(first, next, order.0, order.1).is_ok() {
                return Ok(first..next);
            }
            zone.marks().untouch(count);
        }
    }

    /// No more rows are taken.
    pub(crate) fn close(&self) {
        self.hot().claimed.fetch_or(CLOSED, Ordering::SeqCst);
    }

    /// For blocks that nobody else writes: rows up to `rows` are there.
    pub(crate) fn set_claimed(&self, rows: usize) {
        self.hot().claimed.store(rows as u32, Ordering::Release);
    }

    /// Where the values of `column` are.
    #[inline]
    pub(crate) fn values_at(&self, column: usize) -> Stride {
        let segment = self.segment(column);
        match self.header.layout {
            BlockLayout::Row => Stride {
                start: tuples_start(self.header.segments.len()) + segment.data as usize,
                bytes: self.header.tuple_bytes as usize,
            },
            _ => Stride { start: segment.data as usize, bytes: usize::from(segment.width) },
        }
    }

    /// Where the bytes with the NULL bits of `column` are, in a row store.
    #[inline]
    pub(crate) fn nulls_at(&self, column: usize) -> Stride {
        let byte = self.segment(column).validity as usize / 8;
        let start = tuples_start(self.header.segments.len()) + byte;
        Stride { start, bytes: self.header.tuple_bytes as usize }
    }

    /// The value of `column` in `row` of a hot block, as it is at this instant.
    #[inline]
    pub(crate) fn load_bits(&self, column: usize, row: usize) -> Bits {
        let width = usize::from(self.segment(column).width);
        load_words(&self.memory, self.values_at(column).of(row), width)
    }

    /// Replaces the value; the caller holds the row.
    #[inline]
    pub(crate) fn store_bits(&self, column: usize, row: usize, bits: Bits) {
        let width = usize::from(self.segment(column).width);
        store_words(&self.memory, self.values_at(column).of(row), width, bits);
    }

    /// True when the value is NULL at this instant.
    #[inline]
    pub(crate) fn load_null(&self, column: usize, row: usize) -> bool {
        let validity = self.segment(column).validity as usize;
        if self.header.layout == BlockLayout::Row {
            let byte = self.memory.atomic_byte(self.nulls_at(column).of(row));
            byte.load(Ordering::Relaxed) >> (validity % 8) & 1 == 1
        } else {
            let word = self.memory.atomic_word(validity + row / 64 * 8);
            word.load(Ordering::Relaxed) >> (row % 64) & 1 == 0
        }
    }

    /// Sets whether the value is NULL; the caller holds the row.
    #[inline]
    pub(crate) fn store_null(&self, column: usize, row: usize, null: bool) {
        let validity = self.segment(column).validity as usize;
        if self.header.layout == BlockLayout::Row {
            // The byte is the row's own, so load and store need no atomic read-modify-write.
            let byte = self.memory.atomic_byte(self.nulls_at(column).of(row));
            let (old, bit) = (byte.load(Ordering::Relaxed), 1 << (validity % 8));
            let new = if null { old | bit } else { old & !bit };
            if new != old {
                byte.store(new, Ordering::Relaxed);
            }
        } else {
            let word = self.memory.atomic_word(validity + row / 64 * 8);
            let bit = 1u64 << (row % 64);
            if null {
                word.fetch_and(!bit, Ordering::Relaxed);
            } else if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// Value of this column that `bits` stand for; strings are those of this block.
    #[inline]
    pub(crate) fn datum_of(&self, column: usize, bits: Bits) -> Datum<'_> {
        datum_of(self.segment(column).physical, bits, &self.hot().heap)
    }

    /// Puts rows `from` of `vectors`, whose types are the block's, to the rows from `first` on,
    /// which the caller claimed.
    ///
    /// # Errors
    /// 53200 without memory; 54000 past 4 GiB of strings.
    pub(crate) fn write_vectors(
        &self,
        vectors: &[&Vector],
        from: Range<usize>,
        first: usize,
    ) -> Result<()> {
        for (column, vector) in vectors.iter().enumerate() {
            with_fixed!(vector.physical(), T => {
                let place = self.values_at(column);
                let values = &<T as Fixed>::slice(&vector.data)[from.clone()];
                for (i, &value) in values.iter().enumerate() {
                    value.store(&self.memory, place.of(first + i));
                }
            }, {});
            for (i, row) in from.clone().enumerate() {
                self.store_null(column, first + i, vector.is_null(row));
            }
        }
        self.write_strings(vectors, from, first)
    }

    /// The strings of [`Self::write_vectors`]: those of a row together in a row store, those of a
    /// column in a column store, as they will be read.
    fn write_strings(&self, vectors: &[&Vector], from: Range<usize>, first: usize) -> Result<()> {
        let texts = vectors.iter().enumerate();
        let texts: Vec<(usize, &Vector)> = texts
            .filter(|(_, vector)| vector.physical() == PhysicalType::Str)
            .map(|(column, vector)| (column, *vector))
            .collect();
        let put = |i: usize, (column, vector): (usize, &Vector)| -> Result<()> {
            let row = from.start + i;
            let text = if vector.is_null(row) { &[][..] } else { vector.as_str().get(row) };
            let span = self.add_string(text)?;
            self.store_bits(column, first + i, [span.0, 0]);
            Ok(())
        };
        if self.header.layout == BlockLayout::Row {
            (0..from.len()).try_for_each(|i| texts.iter().try_for_each(|text| put(i, *text)))
        } else {
            texts.iter().try_for_each(|text| (0..from.len()).try_for_each(|i| put(i, *text)))
        }
    }

    /// Copies `text` to the strings of the block.
    ///
    /// # Errors
    /// As [`Heap::reserve`].
    pub(crate) fn add_string(&self, text: &[u8]) -> Result<Span> {
        let heap = &self.hot().heap;
        let at = heap.reserve(text.len())?;
        // SAFETY: just reserved, and nobody knows the span yet.
        unsafe { heap.write(at, text) };
        Ok(Span::new(at, text.len()))
    }
}

/// Value of type `physical` that `bits` stand for; they are not NULL.
#[inline]
pub(crate) fn datum_of(physical: PhysicalType, bits: Bits, heap: &Heap) -> Datum<'_> {
    match physical {
        PhysicalType::Str => Datum::Str(heap.get(Span(bits[0]))),
        fixed => fixed_datum(fixed, bits),
    }
}

/// String bytes of rows `rows` of all vectors, added up row by row: how many rows fit into
/// `room`, at least one.
pub(crate) fn rows_that_fit(vectors: &[&Vector], rows: Range<usize>, room: u64) -> usize {
    let texts = vectors.iter().filter(|v| v.physical() == PhysicalType::Str);
    let texts: Vec<(&Vector, &StrVector)> = texts.map(|v| (*v, v.as_str())).collect();
    let mut bytes = 0;
    let wanted = rows.len();
    if texts.is_empty() {
        return wanted;
    }
    for (i, row) in rows.enumerate() {
        for (vector, strings) in &texts {
            bytes += if vector.is_null(row) { 0 } else { strings.views()[row].len() as u64 };
        }
        if bytes > room {
            return i.max(1);
        }
    }
    wanted
}
