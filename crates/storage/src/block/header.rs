//! The self-description at the start of each block.
//!
//! ```text
//! byte  0 magic u64 | 8 format u16 | 10 layout u8 | 11 0 | 12 rows u32 | 16 columns u32
//!      20 capacity u32 | 24 block bytes u64 | 32 versions u64 | 40 heap u32 | 44 heap used u32
//!      48 tuple bytes u32 | 52 0
//!      56 checksum u64 over all other bytes of header and segments
//!      64 segment 0, 64 bytes | segment 1 | ...
//! segment: physical u8 | scheme u8 | width u8 | nulls u8 | entries | null code | sma | dictionary
//!          | data | strings | strings bytes | lookup | validity | symbols | 20 bytes 0
//!          (u32 each)
//! ```
//! Numbers are little-endian; an offset of 0 means that the area is absent; areas are aligned to
//! 64. `versions` is the offset of the MVCC version column and 0 while no row has versions
//! (decision 002). Hot blocks: `heap` is where string bytes start; a segment's `data` is the
//! column's stripe (column store) or its place in the tuple (row store), `validity` its bitmap or
//! its bit in the tuple.

use std::sync::Arc;

use types::{Error, PhysicalType, Result, SqlState};

pub(crate) const HEADER_BYTES: usize = 64;
pub(crate) const SEGMENT_BYTES: usize = 64;
const MAGIC: u64 = u64::from_le_bytes(*b"TESSBLK\x01");
const FORMAT: u16 = 1;
const CHECKSUM_AT: usize = 56;

/// How the rows of one block are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockLayout {
    /// Fixed-width tuples, then string bytes.
    Row,
    /// A stripe for each column, then string bytes.
    Column,
    /// Encoded columns, immutable.
    Frozen,
}

impl BlockLayout {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Column => "column",
            Self::Frozen => "frozen",
        }
    }
}

/// How a segment holds its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One value, or only NULL, and nothing per row.
    Single,
    /// Codes that are ranks in an ordered dictionary.
    Dictionary,
    /// Codes that are differences to the smallest value.
    Truncation,
    /// The values as they are; strings as offsets into bytes in row order.
    Plain,
    /// Long strings as offsets into codes of one byte, each for a symbol of 1 to 8 bytes, in row
    /// order; every row is decoded alone. What scans compare are the decoded strings.
    Compressed,
}

impl Scheme {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single value",
            Self::Dictionary => "dictionary",
            Self::Truncation => "truncation",
            Self::Plain => "plain",
            Self::Compressed => "compressed",
        }
    }
}

/// NULLs of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    None,
    /// Rows with the null code, or whose validity bit is 0.
    Some,
    All,
}

/// One column of one block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) physical: PhysicalType,
    pub(crate) scheme: Scheme,
    /// Bytes of a code (1, 2, 4), of a plain value, or of the offset of a string; 0 for a single
    /// value.
    pub(crate) width: u8,
    pub(crate) nulls: Nulls,
    /// Dictionary entries, NULL apart.
    pub(crate) entries: u32,
    /// The code of NULL, the largest, where `nulls` is Some and the scheme has codes.
    pub(crate) null_code: u32,
    pub(crate) sma: u32,
    pub(crate) dictionary: u32,
    pub(crate) data: u32,
    pub(crate) strings: u32,
    pub(crate) strings_bytes: u32,
    pub(crate) lookup: u32,
    pub(crate) validity: u32,
    /// The symbol table, where the scheme is compressed.
    pub(crate) symbols: u32,
}

impl Segment {
    pub(crate) fn new(physical: PhysicalType, scheme: Scheme, width: u8, nulls: Nulls) -> Self {
        Self {
            physical,
            scheme,
            width,
            nulls,
            entries: 0,
            null_code: 0,
            sma: 0,
            dictionary: 0,
            data: 0,
            strings: 0,
            strings_bytes: 0,
            lookup: 0,
            validity: 0,
            symbols: 0,
        }
    }

    /// True when rows hold codes.
    pub(crate) fn has_codes(&self) -> bool {
        matches!(self.scheme, Scheme::Dictionary | Scheme::Truncation)
    }

    /// True when a frozen segment holds a value, or a string, for each row by itself.
    pub(crate) fn has_values(&self) -> bool {
        matches!(self.scheme, Scheme::Plain | Scheme::Compressed)
    }
}

/// The parsed header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) layout: BlockLayout,
    pub(crate) rows: u32,
    pub(crate) capacity: u32,
    pub(crate) bytes: u64,
    pub(crate) versions: u64,
    pub(crate) heap: u32,
    pub(crate) heap_used: u32,
    pub(crate) tuple_bytes: u32,
    pub(crate) segments: Arc<[Segment]>,
}

/// Bytes of header and segment descriptions.
pub(crate) fn description_bytes(columns: usize) -> usize {
    HEADER_BYTES + columns * SEGMENT_BYTES
}

/// XX001 with what was found at `offset`.
pub(crate) fn corrupt(offset: usize, message: impl std::fmt::Display) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("damaged block: {message}"))
        .with_detail(format!("At byte {offset} of the block."))
}

impl Header {
    /// Writes the description to the start of `bytes`.
    ///
    /// # Panics
    /// If `bytes` are fewer than the description.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..description_bytes(self.segments.len())];
        bytes.fill(0);
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &MAGIC.to_le_bytes());
        put(8, &FORMAT.to_le_bytes());
        put(10, &[self.layout as u8 + 1]);
        put(12, &self.rows.to_le_bytes());
        put(16, &(self.segments.len() as u32).to_le_bytes());
        put(20, &self.capacity.to_le_bytes());
        put(24, &self.bytes.to_le_bytes());
        put(32, &self.versions.to_le_bytes());
        put(40, &self.heap.to_le_bytes());
        put(44, &self.heap_used.to_le_bytes());
        put(48, &self.tuple_bytes.to_le_bytes());
        for (i, segment) in self.segments.iter().enumerate() {
            let at = description_bytes(i);
            let s = segment;
            put(at, &[s.physical.number() + 1, s.scheme as u8 + 1, s.width, s.nulls as u8]);
            let numbers = [
                s.entries,
                s.null_code,
                s.sma,
                s.dictionary,
                s.data,
                s.strings,
                s.strings_bytes,
                s.lookup,
                s.validity,
                s.symbols,
            ];
            for (n, number) in numbers.iter().enumerate() {
                put(at + 4 + n * 4, &number.to_le_bytes());
            }
        }
        let checksum = checksum(bytes);
        bytes[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads a description; areas are checked by [`crate::image`].
    ///
    /// # Errors
    /// XX001 when the bytes are no description.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        if bytes.len() < HEADER_BYTES {
            return Err(corrupt(bytes.len(), "shorter than its header"));
        }
        if number::<8>(bytes, 0) != MAGIC {
            return Err(corrupt(0, "no block starts here"));
        }
        if number::<2>(bytes, 8) != u64::from(FORMAT) {
            return Err(corrupt(8, format!("format {}, not {FORMAT}", number::<2>(bytes, 8))));
        }
        let columns = number::<4>(bytes, 16) as usize;
        if columns > (bytes.len() - HEADER_BYTES) / SEGMENT_BYTES {
            return Err(corrupt(16, format!("{columns} columns, too many for its bytes")));
        }
        let description = &bytes[..description_bytes(columns)];
        if checksum(description) != number::<8>(bytes, CHECKSUM_AT) {
            return Err(corrupt(CHECKSUM_AT, "the checksum of its header is wrong"));
        }
        let layout = match bytes[10] {
            1 => BlockLayout::Row,
            2 => BlockLayout::Column,
            3 => BlockLayout::Frozen,
            other => return Err(corrupt(10, format!("layout {other}"))),
        };
        let segments = (0..columns).map(|i| read_segment(bytes, description_bytes(i)));
        Ok(Self {
            layout,
            rows: number::<4>(bytes, 12) as u32,
            capacity: number::<4>(bytes, 20) as u32,
            bytes: number::<8>(bytes, 24),
            versions: number::<8>(bytes, 32),
            heap: number::<4>(bytes, 40) as u32,
            heap_used: number::<4>(bytes, 44) as u32,
            tuple_bytes: number::<4>(bytes, 48) as u32,
            segments: segments.collect::<Result<_>>()?,
        })
    }
}

fn read_segment(bytes: &[u8], at: usize) -> Result<Segment> {
    let physical = PhysicalType::of_number(bytes[at].wrapping_sub(1))
        .ok_or_else(|| corrupt(at, format!("physical type {}", bytes[at])))?;
    let scheme = match bytes[at + 1] {
        1 => Scheme::Single,
        2 => Scheme::Dictionary,
        3 => Scheme::Truncation,
        4 => Scheme::Plain,
        5 => Scheme::Compressed,
        other => return Err(corrupt(at + 1, format!("scheme {other}"))),
    };
    let nulls = match bytes[at + 3] {
        0 => Nulls::None,
        1 => Nulls::Some,
        2 => Nulls::All,
        other => return Err(corrupt(at + 3, format!("NULL information {other}"))),
    };
    let n = |i: usize| number::<4>(bytes, at + 4 + i * 4) as u32;
    Ok(Segment {
        physical,
        scheme,
        width: bytes[at + 2],
        nulls,
        entries: n(0),
        null_code: n(1),
        sma: n(2),
        dictionary: n(3),
        data: n(4),
        strings: n(5),
        strings_bytes: n(6),
        lookup: n(7),
        validity: n(8),
        symbols: n(9),
    })
}

pub(super) fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0u8; 8];
    value[..BYTES].copy_from_slice(&bytes[at..at + BYTES]);
    u64::from_le_bytes(value)
}

/// FNV-1a over the description without its checksum: finds damage, is not meant against malice.
fn checksum(description: &[u8]) -> u64 {
    let parts = [&description[..CHECKSUM_AT], &description[HEADER_BYTES..]];
    let fold = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    parts.into_iter().flatten().fold(0xcbf2_9ce4_8422_2325, fold)
}

/// Makes the checksum of a damaged description right, so that tests reach the checks behind it.
#[cfg(test)]
pub(crate) fn seal(bytes: &mut [u8]) {
    if bytes.len() < HEADER_BYTES {
        return;
    }
    let columns = number::<4>(bytes, 16) as usize;
    let end = columns.saturating_mul(SEGMENT_BYTES).saturating_add(HEADER_BYTES);
    if let Some(description) = bytes.get(..end) {
        let checksum = checksum(description);
        bytes[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }
}
