//! Hot blocks: rows are added at the end while readers hold earlier, shorter views.
//!
//! ```text
//! row store:    | tuple 0 | tuple 1 | ...   tuple: | NULL bits | values, unaligned | pad to 8 |
//! column store: | stripe of column 0 | validity 0 | stripe of column 1 | ...
//! both:         | string bytes -> |         a string value is (offset u32, bytes u32) into them
//! ```
//! Invariants: one writer at a time, which holds the newest view; bytes of rows below a view's
//! `rows`, and string bytes below its `heap_used`, never change. What a failed append left behind
//! them is overwritten. A block starts small and moves to twice the memory when full, up to 65,536
//! rows.
//! Source: Patel 2018, section 3.1 (split row store). Departure: no version column until a row has
//! one: the header keeps its offset (decision 002).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kernels::{Vector, VectorData};
use types::{Error, PhysicalType, Result, SqlState};

use crate::block::{
    AREA_ALIGN, BLOCK_ROWS_MAX, Block, BlockLayout, Fixed, Header, Nulls, Scheme, Segment,
    description_bytes, value_bytes, with_fixed,
};
use crate::memory::{BufferPool, MemoryCategory, bytes_of};

/// Rows a new block has room for, at least.
const ROWS_MIN: usize = 64;
/// String bytes after which a block counts as full.
const HEAP_BYTES_MAX: usize = 32 << 20;

/// Where tuple `row` of a row store starts.
pub(crate) fn tuple_start(block: &Block, row: usize) -> usize {
    tuples_start(block.header.segments.len()) + row * block.header.tuple_bytes as usize
}

fn tuples_start(columns: usize) -> usize {
    description_bytes(columns).next_multiple_of(AREA_ALIGN)
}

/// Room of a hot block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) rows: usize,
    pub(crate) heap_bytes: usize,
}

impl Room {
    /// Room for at least this much, rounded up so that growing is rare.
    fn at_least(rows: usize, heap_bytes: usize) -> Self {
        let rows = rows.next_power_of_two().clamp(ROWS_MIN, BLOCK_ROWS_MAX);
        Self { rows, heap_bytes: heap_bytes.next_multiple_of(AREA_ALIGN) }
    }
}

fn describe(layout: BlockLayout, types: &[PhysicalType], room: Room) -> Result<Header> {
    let mut at = tuples_start(types.len()) as u64;
    let mut tuple = types.len().div_ceil(8);
    let mut segments = Vec::with_capacity(types.len());
    for (column, &physical) in types.iter().enumerate() {
        let width = value_bytes(physical);
        let mut segment = Segment::new(physical, Scheme::Plain, width as u8, Nulls::Some);
        if layout == BlockLayout::Row {
            segment.data = tuple as u32;
            segment.validity = column as u32;
            tuple += width;
        } else {
            segment.data = at as u32;
            at += (room.rows * width).next_multiple_of(AREA_ALIGN) as u64;
            segment.validity = at as u32;
            at += (room.rows / 8).next_multiple_of(AREA_ALIGN) as u64;
        }
        segments.push(segment);
    }
    let tuple_bytes = tuple.next_multiple_of(8);
    if layout == BlockLayout::Row {
        at += (room.rows * tuple_bytes).next_multiple_of(AREA_ALIGN) as u64;
    }
    let bytes = at + room.heap_bytes as u64 + AREA_ALIGN as u64;
    if bytes > u64::from(u32::MAX) {
        let message = "the rows of one block take more than 4 GiB";
        return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
    }
    Ok(Header {
        layout,
        rows: 0,
        capacity: room.rows as u32,
        bytes,
        versions: 0,
        heap: at as u32,
        heap_used: 0,
        tuple_bytes: tuple_bytes as u32,
        segments: segments.into(),
    })
}

/// An empty block with room for `rows` rows of `heap_bytes` string bytes or more.
///
/// # Errors
/// 53200 without memory; 54000 when it would pass 4 GiB.
pub(crate) fn create(
    id: u64,
    layout: BlockLayout,
    types: &[PhysicalType],
    room: Room,
    pool: &Arc<BufferPool>,
) -> Result<Block> {
    let header = describe(layout, types, Room::at_least(room.rows, room.heap_bytes))?;
    let mut memory = pool.allocate(MemoryCategory::HotBlocks, header.bytes)?;
    header.write(memory.as_mut_slice());
    Ok(Block::new(id, Arc::new(memory), header))
}

fn string_bytes(vector: &Vector, row: usize) -> usize {
    match &vector.data {
        VectorData::Str(v) if !vector.is_null(row) => v.views()[row].len(),
        _ => 0,
    }
}

/// How many of the rows from `from` on fit without growing, and the string bytes they take.
fn rows_that_fit(block: &Block, vectors: &[&Vector], from: usize, rows: usize) -> Room {
    let free_rows = (block.header.capacity - block.header.rows) as usize;
    let heap_end = block.header.bytes as usize - AREA_ALIGN;
    let free_bytes = heap_end - (block.header.heap + block.header.heap_used) as usize;
    let texts: Vec<&Vector> =
        vectors.iter().copied().filter(|v| v.physical() == PhysicalType::Str).collect();
    let (mut fit, mut heap_bytes) = (0, 0);
    while fit < free_rows.min(rows - from) {
        let bytes: usize = texts.iter().map(|v| string_bytes(v, from + fit)).sum();
        if heap_bytes + bytes > free_bytes {
            break;
        }
        heap_bytes += bytes;
        fit += 1;
    }
    Room { rows: fit, heap_bytes }
}

/// Appends as many rows of `vectors` from `from` on as the block takes, moving it to larger memory
/// when that is allowed; returns the longer view and how many rows it took (0: the block is full).
///
/// # Errors
/// 53200 without memory.
///
/// # Safety
/// `block` must be the newest view of its memory, and no other thread may append to it at the same
/// time.
pub(crate) unsafe fn append(
    block: &Block,
    vectors: &[&Vector],
    from: usize,
    rows: usize,
    pool: &Arc<BufferPool>,
) -> Result<(Block, usize)> {
    let grown;
    let mut target = block;
    let mut room = rows_that_fit(target, vectors, from, rows);
    let wanted = (rows - from).min(BLOCK_ROWS_MAX - block.rows());
    let used = block.header.heap_used as usize;
    if room.rows < wanted && used < HEAP_BYTES_MAX {
        let mut heap_bytes = 0;
        let mut take = 0;
        while take < wanted && used + heap_bytes < HEAP_BYTES_MAX {
            heap_bytes += vectors.iter().map(|v| string_bytes(v, from + take)).sum::<usize>();
            take += 1;
        }
        let heap_bytes =
            (used + heap_bytes).max(2 * used).min(HEAP_BYTES_MAX.max(used + heap_bytes));
        let rows_wanted = (block.rows() + take).max(block.header.capacity as usize);
        grown = grow(block, Room { rows: rows_wanted, heap_bytes }, pool)?;
        target = &grown;
        room = rows_that_fit(target, vectors, from, from + take);
    }
    // SAFETY: rows from `target.rows` on are unpublished, and this is the only writer, by contract.
    let heap_used = unsafe { write(target, vectors, from, room.rows) };
    let mut header = target.header.clone();
    header.rows += room.rows as u32;
    header.heap_used = heap_used;
    Ok((Block::new(block.id(), Arc::clone(&target.memory), header), room.rows))
}

/// The same rows in memory of its own with room for more.
fn grow(block: &Block, room: Room, pool: &Arc<BufferPool>) -> Result<Block> {
    let types: Vec<PhysicalType> = block.header.segments.iter().map(|s| s.physical).collect();
    let mut header = describe(block.layout(), &types, Room::at_least(room.rows, room.heap_bytes))?;
    header.rows = block.header.rows;
    header.heap_used = block.header.heap_used;
    let mut memory = pool.allocate(MemoryCategory::HotBlocks, header.bytes)?;
    copy_rows(block, &header, memory.as_mut_slice());
    Ok(Block::new(block.id(), Arc::new(memory), header))
}

/// Writes the rows of `block` to `target`, described by `header`, which has room for them.
fn copy_rows(block: &Block, header: &Header, target: &mut [u8]) {
    header.write(target);
    let mut put = |at: usize, bytes: &[u8]| target[at..at + bytes.len()].copy_from_slice(bytes);
    let rows = block.rows();
    if block.layout() == BlockLayout::Row {
        let at = tuples_start(header.segments.len());
        put(at, block.memory.slice_of(at, rows * header.tuple_bytes as usize));
    } else {
        for (old, new) in block.header.segments.iter().zip(header.segments.iter()) {
            let bytes = rows * usize::from(old.width);
            put(new.data as usize, block.memory.slice_of(old.data as usize, bytes));
            for word in 0..rows.div_ceil(64) {
                let at = old.validity as usize + word * 8;
                let bits = block.memory.atomic_word(at).load(Ordering::Relaxed);
                put(new.validity as usize + word * 8, &bits.to_le_bytes());
            }
        }
    }
    let (heap, used) = (block.header.heap as usize, block.header.heap_used as usize);
    put(header.heap as usize, block.memory.slice_of(heap, used));
}

/// A hot block as bytes that describe themselves; appends may run meanwhile.
pub(crate) fn image(block: &Block) -> Vec<u8> {
    let mut bytes = vec![0; block.header.bytes as usize];
    copy_rows(block, &block.header, &mut bytes);
    bytes
}

/// Writes `count` rows behind the last one; returns the string bytes then used.
///
/// # Safety
/// As [`append`].
unsafe fn write(block: &Block, vectors: &[&Vector], from: usize, count: usize) -> u32 {
    let mut heap_used = block.header.heap_used;
    let mut tuples = vec![0u8; 0];
    if block.layout() == BlockLayout::Row {
        tuples.resize(count * block.header.tuple_bytes as usize, 0);
    }
    for (column, vector) in vectors.iter().enumerate() {
        let values = &value_area(block, vector, from..from + count, &mut heap_used)[..];
        if block.layout() == BlockLayout::Row {
            put_tuples(block, column, vector, from, values, &mut tuples);
        } else {
            let segment = block.segment(column);
            let at = segment.data as usize + block.rows() * usize::from(segment.width);
            // SAFETY: rows behind the last are in no view, and nobody else writes, by contract.
            unsafe { block.memory.write_at(at, values) };
            put_validity(block, column, vector, from..from + count);
        }
    }
    if block.layout() == BlockLayout::Row {
        // SAFETY: as above.
        unsafe { block.memory.write_at(tuple_start(block, block.rows()), &tuples) };
    }
    heap_used
}

/// The values of `rows` as they stand in a block; strings are copied to the string bytes on the
/// way.
fn value_area(
    block: &Block,
    vector: &Vector,
    rows: std::ops::Range<usize>,
    heap_used: &mut u32,
) -> Vec<u8> {
    with_fixed!(vector.physical(), T => {
        let bits: Vec<_> = T::slice(&vector.data)[rows].iter().map(|v| v.to_stored()).collect();
        bytes_of(&bits).to_vec()
    }, {
        let mut spans = Vec::with_capacity(rows.len() * 2);
        let strings = vector.as_str();
        for row in rows {
            let string = if vector.is_null(row) { &[] } else { strings.get(row) };
            let at = block.header.heap as usize + *heap_used as usize;
            // SAFETY: string bytes past those in use are in no view; one writer by contract of
            // `write`.
            unsafe { block.memory.write_at(at, string) };
            spans.extend([*heap_used, string.len() as u32]);
            *heap_used += string.len() as u32;
        }
        bytes_of(&spans).to_vec()
    })
}

fn put_tuples(
    block: &Block,
    column: usize,
    vector: &Vector,
    from: usize,
    values: &[u8],
    tuples: &mut [u8],
) {
    let segment = block.segment(column);
    let (width, at) = (usize::from(segment.width), segment.data as usize);
    let bit = segment.validity as usize;
    let tuples = tuples.chunks_exact_mut(block.header.tuple_bytes as usize);
    for (i, (tuple, value)) in tuples.zip(values.chunks_exact(width)).enumerate() {
        tuple[at..at + width].copy_from_slice(value);
        tuple[bit / 8] |= u8::from(vector.is_null(from + i)) << (bit % 8);
    }
}

fn put_validity(block: &Block, column: usize, vector: &Vector, rows: std::ops::Range<usize>) {
    let words = block.segment(column).validity as usize;
    for (i, row) in rows.enumerate() {
        let target = block.rows() + i;
        let word = block.memory.atomic_word(words + target / 64 * 8);
        let bit = 1u64 << (target % 64);
        // One writer, so load and store need no atomic read-modify-write; readers mask later rows
        // out.
        let old = word.load(Ordering::Relaxed);
        let new = if vector.is_null(row) { old & !bit } else { old | bit };
        word.store(new, Ordering::Relaxed);
    }
}

/// A block of exactly these rows, built in one go: for bulk loads.
///
/// # Errors
/// 53200 without memory; 54000 when it would pass 4 GiB.
pub(crate) fn build(
    id: u64,
    layout: BlockLayout,
    vectors: &[&Vector],
    rows: usize,
    pool: &Arc<BufferPool>,
) -> Result<Block> {
    let types: Vec<PhysicalType> = vectors.iter().map(|v| v.physical()).collect();
    let string_bytes = |v: &&Vector| (0..rows).map(|row| string_bytes(v, row)).sum::<usize>();
    let heap_bytes = vectors.iter().map(string_bytes).sum();
    let empty = create(id, layout, &types, Room { rows, heap_bytes }, pool)?;
    // SAFETY: the block was made here, so nobody else knows it.
    let (block, taken) = unsafe { append(&empty, vectors, 0, rows, pool) }?;
    debug_assert_eq!(taken, rows, "room was made for all rows");
    Ok(block)
}
