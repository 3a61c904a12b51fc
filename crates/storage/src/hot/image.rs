//! Hot blocks as bytes that describe themselves, and back: for files.
//!
//! ```text
//! | description, values of `capacity` rows as in memory | string bytes of all rows |
//! ```
//! Invariant: what is written depends on the rows alone, not on how their strings lay in memory.

use kernels::{Bitmap, StrBuilder, Vector, VectorData};
use types::{PhysicalType, Result};

use super::{describe, tuples_start};
use crate::block::{Block, BlockLayout, Header, Segment};
use crate::fixed::{Fixed, value_bytes, with_fixed};
use crate::heap::Span;
use crate::memory::{Memory, bytes_of};

/// Writes the image of a block some rows at a time.
pub(crate) struct ImageWriter {
    types: Vec<PhysicalType>,
    header: Header,
    /// Bytes before the strings, then the strings of the rows so far.
    bytes: Vec<u8>,
    /// Rows so far.
    next: usize,
}

impl ImageWriter {
    /// Writer for a block with room for `capacity` rows and, so that memory is taken once, about
    /// `heap_bytes` of strings.
    ///
    /// # Errors
    /// 54000 past 4 GiB.
    pub(crate) fn new(
        layout: BlockLayout,
        types: Vec<PhysicalType>,
        capacity: usize,
        heap_bytes: u64,
    ) -> Result<Self> {
        let header = describe(layout, &types, capacity, 0)?;
        let fixed = header.heap as usize;
        let mut bytes = Vec::with_capacity(fixed + heap_bytes as usize + 64);
        bytes.resize(fixed, 0);
        Ok(Self { types, header, bytes, next: 0 })
    }

    /// Adds the next rows, a vector per column; those of `dead` as NULL.
    pub(crate) fn put(&mut self, vectors: &[Vector], dead: Option<&Bitmap>) {
        for (column, vector) in vectors.iter().enumerate() {
            let alive = dead.map(Bitmap::not);
            let valid = match (&vector.validity, alive) {
                (Some(valid), Some(alive)) => Some(valid.and(&alive)),
                (None, alive) => alive,
                (valid, None) => valid.clone(),
            };
            self.put_nulls(column, vector.len(), valid.as_ref());
            self.put_values(column, vector, valid.as_ref());
        }
        self.next += vectors.first().map_or(0, Vector::len);
    }

    fn put_nulls(&mut self, column: usize, rows: usize, valid: Option<&Bitmap>) {
        let Self { header, bytes, next, .. } = self;
        let is_valid = |row: usize| valid.is_none_or(|valid| valid.get(row));
        if header.layout == BlockLayout::Row {
            let first = tuples_start(header.segments.len()) + column / 8;
            let at = |row: usize| first + (*next + row) * header.tuple_bytes as usize;
            for row in (0..rows).filter(|&row| !is_valid(row)) {
                bytes[at(row)] |= 1 << (column % 8);
            }
        } else {
            let validity = header.segments[column].validity as usize;
            for row in (0..rows).filter(|&row| is_valid(row)) {
                let row = *next + row;
                bytes[validity + row / 8] |= 1 << (row % 8);
            }
        }
    }

    fn put_values(&mut self, column: usize, vector: &Vector, valid: Option<&Bitmap>) {
        let Self { header, bytes, next, .. } = self;
        let segment = &header.segments[column];
        let width = usize::from(segment.width);
        let (first, stride) = match header.layout {
            BlockLayout::Row => (tuples_start(header.segments.len()), header.tuple_bytes as usize),
            _ => (0, width),
        };
        let at = |row: usize| first + segment.data as usize + (*next + row) * stride;
        let is_valid = |row: usize| valid.is_none_or(|valid| valid.get(row));
        let rows = (0..vector.len()).filter(|&row| is_valid(row));
        with_fixed!(segment.physical, T => {
            let values = <T as Fixed>::slice(&vector.data);
            for row in rows {
                let words = values[row].to_words();
                bytes[at(row)..][..width].copy_from_slice(&bytes_of(&words)[..width]);
            }
        }, {
            let strings = vector.as_str();
            let heap = header.heap as usize;
            for row in rows {
                let text = strings.get(row);
                // An offset beyond 4 GiB is refused at the end.
                let span = Span::new((bytes.len() - heap) as u32, text.len());
                bytes.extend_from_slice(text);
                bytes[at(row)..][..8].copy_from_slice(&span.0.to_ne_bytes());
            }
        });
    }

    /// The bytes.
    ///
    /// # Errors
    /// 54000 past 4 GiB.
    pub(crate) fn finish(self) -> Result<Vec<u8>> {
        let Self { types, header, mut bytes, next } = self;
        let heap_bytes = bytes.len() as u64 - u64::from(header.heap);
        let capacity = header.capacity as usize;
        let mut header = describe(header.layout, &types, capacity, heap_bytes)?;
        header.rows = next as u32;
        bytes.resize(header.bytes as usize, 0);
        header.write(&mut bytes);
        Ok(bytes)
    }
}

/// The rows of a validated image.
pub(crate) fn open_image(header: &Header, memory: &Memory) -> Vec<Vector> {
    header.segments.iter().map(|segment| open_column(header, segment, memory)).collect()
}

fn open_column(header: &Header, segment: &Segment, memory: &Memory) -> Vector {
    let rows = header.rows as usize;
    let (start, stride, bit) = match header.layout {
        BlockLayout::Row => (tuples_start(header.segments.len()), header.tuple_bytes as usize, 1),
        _ => (0, value_bytes(segment.physical), 0),
    };
    let at = |row: usize| start + row * stride + segment.data as usize;
    let validity = segment.validity as usize;
    let is_valid = |row: usize| {
        let (at, shift) = match header.layout {
            BlockLayout::Row => (start + row * stride + validity / 8, validity % 8),
            _ => (validity + row / 8, row % 8),
        };
        u8::from(memory.read_at::<u8>(at) >> shift & 1 == 1) ^ bit == 1
    };
    let data = with_fixed!(segment.physical, T => {
        let value = |row| T::from_stored(memory.read_at::<<T as Fixed>::Bits>(at(row)));
        T::data((0..rows).map(value).collect())
    }, {
        let mut strings = StrBuilder::with_capacity(rows);
        for row in 0..rows {
            let offset: u32 = memory.read_at(at(row));
            let bytes: u32 = memory.read_at(at(row) + 4);
            strings.push(memory.slice_of((header.heap + offset) as usize, bytes as usize));
        }
        VectorData::Str(strings.finish())
    });
    Vector::with_validity(data, Some(Bitmap::from_fn(rows, is_valid)))
}

impl Block {
    /// A writer for the image of this block, which is hot.
    pub(crate) fn image_writer(&self, layout: BlockLayout) -> Result<ImageWriter> {
        let types = self.header.segments.iter().map(|segment| segment.physical).collect();
        let capacity = self.header.capacity as usize;
        ImageWriter::new(layout, types, capacity, self.hot().heap.used())
    }
}
