//! Rows into a frozen block: per column the smallest scheme, SMA, lookup table, and statistics on
//! the way.
//!
//! ```text
//! vector -> encode_* -> Encoded (areas, summary) --.
//! vector -> encode_* -> Encoded --------------------+-> assemble -> Block
//! ```
//! How a scheme is chosen without trying all of them: integers find their range first; when it fits
//! one byte, truncation has won. When it fits two, a presence map tells whether at most 256 values
//! occur. Otherwise, as for floating point, a hash table collects distinct values and gives up as
//! soon as a dictionary cannot win, after a sample of 1,024 rows said that it might. Strings: see
//! `text`.
//!
//! Elsewhere: the layout of areas (`block`), what is done with the summaries (`statistics`).
//! Source: Funke 2015, section 5.4, Table 5.3. Departures: plain values with NULLs keep a bitmap;
//! NULL is the largest code, so that ranges of codes never contain it.

mod compress;
mod distinct;
mod fixed;
pub(crate) mod lookup;
mod text;

use std::sync::Arc;

use kernels::unpack::Code;
use kernels::{Bitmap, StrVector, Vector, VectorData};
use types::{Error, Result, SqlState};

use crate::block::{
    AREA_ALIGN, Block, BlockLayout, Header, Nulls, Scheme, Segment, description_bytes,
};
use crate::memory::{BufferPool, MemoryCategory, Plain, bytes_of};
use crate::statistics::ColumnSummary;

/// An area on its way into a block.
pub(crate) trait Area {
    fn bytes(&self) -> &[u8];
}

impl<T: Plain> Area for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytes_of(self)
    }
}

impl<T: Plain> Area for &[T] {
    fn bytes(&self) -> &[u8] {
        bytes_of(self)
    }
}

/// String bytes on their way into a block.
pub(crate) enum Strings<'a> {
    None,
    /// All rows that are not NULL, in order.
    Rows(&'a StrVector, Option<&'a Bitmap>),
    /// These rows, in this order.
    Picked(&'a StrVector, Vec<u32>),
    /// The codes of all rows.
    Compressed(Vec<u8>),
}

/// One column ready to be written.
pub(crate) struct Encoded<'a> {
    segment: Segment,
    sma: Vec<u8>,
    dictionary: Box<dyn Area + 'a>,
    data: Box<dyn Area + 'a>,
    lookup: Vec<u16>,
    validity: &'a [u64],
    symbols: Vec<u8>,
    strings: Strings<'a>,
    summary: ColumnSummary,
}

impl<'a> Encoded<'a> {
    fn new(segment: Segment, summary: ColumnSummary) -> Self {
        Self {
            segment,
            sma: Vec::new(),
            dictionary: Box::new(Vec::<u8>::new()),
            data: Box::new(Vec::<u8>::new()),
            lookup: Vec::new(),
            validity: &[],
            symbols: Vec::new(),
            strings: Strings::None,
            summary,
        }
    }

    /// The column with these codes, 4 bytes or narrower; NULL is `null_code` when given.
    fn with_codes(mut self, codes: Vec<u32>, code_max: u32, null_code: Option<u32>) -> Self {
        self.segment.null_code = null_code.unwrap_or(0);
        match code_width(code_max) {
            1 => self.put_codes(codes.iter().map(|&c| c as u8).collect::<Vec<u8>>()),
            2 => self.put_codes(codes.iter().map(|&c| c as u16).collect::<Vec<u16>>()),
            _ => self.put_codes(codes),
        }
        self
    }

    fn put_codes<C: Code + Plain>(&mut self, codes: Vec<C>) {
        self.segment.width = size_of::<C>() as u8;
        self.lookup = lookup::build(&codes).unwrap_or_default();
        self.data = Box::new(codes);
    }
}

/// Bytes of the narrowest code that holds `code_max`.
fn code_width(code_max: u32) -> u8 {
    match code_max {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}

fn nulls_of(null_count: usize) -> Nulls {
    if null_count == 0 { Nulls::None } else { Nulls::Some }
}

/// Freezes `vectors`, all of `rows` rows, as block `id`; also tells what each column holds.
///
/// # Errors
/// 53200 without memory; 54000 when the block would pass 4 GiB.
pub(crate) fn freeze(
    id: u64,
    vectors: &[&Vector],
    rows: usize,
    pool: &Arc<BufferPool>,
) -> Result<(Block, Vec<ColumnSummary>)> {
    let encoded: Vec<Encoded<'_>> = vectors.iter().copied().map(encode).collect();
    let block = assemble(id, &encoded, rows, pool)?;
    Ok((block, encoded.into_iter().map(|e| e.summary).collect()))
}

fn encode(vector: &Vector) -> Encoded<'_> {
    let validity = vector.validity.as_ref();
    let rows = vector.len();
    let nulls = validity.map_or(0, |v| rows - v.count_ones());
    if nulls == rows {
        let segment = Segment::new(vector.physical(), Scheme::Single, 0, Nulls::All);
        return Encoded::new(segment, ColumnSummary::nulls(rows));
    }
    let input = Input { validity, nulls };
    match &vector.data {
        VectorData::Bool(v) => fixed::encode_integer(v, input),
        VectorData::I32(v) => fixed::encode_integer(v, input),
        VectorData::I64(v) => fixed::encode_integer(v, input),
        VectorData::I128(v) => fixed::encode_integer(v, input),
        VectorData::F64(v) => fixed::encode_other(v, input),
        VectorData::Interval(v) => fixed::encode_other(v, input),
        VectorData::Str(v) => text::encode_text(v, input),
    }
}

/// The NULLs of a column, fewer than its rows.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    validity: Option<&'a Bitmap>,
    nulls: usize,
}

impl Input<'_> {
    #[inline]
    fn is_valid(&self, row: usize) -> bool {
        self.validity.is_none_or(|v| v.get(row))
    }
}

/// Gives out aligned areas.
struct Plan {
    bytes: u64,
}

impl Plan {
    fn place(&mut self, bytes: usize) -> u32 {
        if bytes == 0 {
            return 0;
        }
        let at = self.bytes.next_multiple_of(AREA_ALIGN as u64);
        self.bytes = at + bytes as u64;
        u32::try_from(at).unwrap_or(u32::MAX)
    }
}

fn place_areas(plan: &mut Plan, encoded: &Encoded<'_>) -> Segment {
    let mut segment = encoded.segment.clone();
    segment.sma = plan.place(encoded.sma.len());
    segment.dictionary = plan.place(encoded.dictionary.bytes().len());
    segment.data = plan.place(encoded.data.bytes().len());
    segment.validity = plan.place(size_of_val(encoded.validity));
    segment.lookup = plan.place(size_of_val(&encoded.lookup[..]));
    segment.symbols = plan.place(encoded.symbols.len());
    // Present even when all strings are empty: the description then has somewhere to point to.
    let has_strings = !matches!(encoded.strings, Strings::None);
    segment.strings = plan.place((segment.strings_bytes as usize).max(usize::from(has_strings)));
    segment
}

fn assemble(
    id: u64,
    encoded: &[Encoded<'_>],
    rows: usize,
    pool: &Arc<BufferPool>,
) -> Result<Block> {
    let mut plan = Plan { bytes: description_bytes(encoded.len()) as u64 };
    let segments: Arc<[Segment]> = encoded.iter().map(|e| place_areas(&mut plan, e)).collect();
    let bytes = plan.bytes.next_multiple_of(AREA_ALIGN as u64) + AREA_ALIGN as u64;
    if bytes > u64::from(u32::MAX) {
        let message = "the rows of one block take more than 4 GiB";
        return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
    }
    let header = Header {
        layout: BlockLayout::Frozen,
        rows: rows as u32,
        capacity: rows as u32,
        bytes,
        versions: 0,
        heap: 0,
        heap_used: 0,
        tuple_bytes: 0,
        segments,
    };
    let mut memory = pool.allocate(MemoryCategory::FrozenBlocks, bytes)?;
    let target = memory.as_mut_slice();
    header.write(target);
    for (segment, encoded) in header.segments.iter().zip(encoded) {
        let areas = [
            (segment.sma, &encoded.sma[..]),
            (segment.dictionary, encoded.dictionary.bytes()),
            (segment.data, encoded.data.bytes()),
            (segment.validity, bytes_of(encoded.validity)),
            (segment.lookup, bytes_of(&encoded.lookup)),
            (segment.symbols, &encoded.symbols),
        ];
        for (at, area) in areas {
            target[at as usize..at as usize + area.len()].copy_from_slice(area);
        }
        if segment.strings != 0 {
            let end = segment.strings as usize + segment.strings_bytes as usize;
            write_strings(&encoded.strings, &mut target[segment.strings as usize..end]);
        }
    }
    Ok(Block::frozen_in(id, memory, header))
}

fn write_strings(strings: &Strings<'_>, mut target: &mut [u8]) {
    let mut put = |bytes: &[u8]| {
        let (head, rest) = std::mem::take(&mut target).split_at_mut(bytes.len());
        head.copy_from_slice(bytes);
        target = rest;
    };
    match strings {
        Strings::None => {}
        Strings::Rows(source, None) => source.iter().for_each(put),
        Strings::Rows(source, Some(validity)) => {
            (0..source.len()).filter(|&i| validity.get(i)).for_each(|i| put(source.get(i)));
        }
        Strings::Compressed(codes) => put(codes),
        Strings::Picked(source, rows) => rows.iter().for_each(|&r| put(source.get(r as usize))),
    }
}
