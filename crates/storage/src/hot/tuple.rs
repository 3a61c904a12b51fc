//! Some columns of one row of a hot block, read or written in one go.
//!
//! Parts besides the column's segment (layout, start of the tuple) are looked up once a row,
//! not once a value: point reads and writes are made of little else.

use std::sync::atomic::Ordering;

use types::{Interval, PhysicalType};

use super::tuples_start;
use crate::block::{Block, BlockLayout, Segment};
use crate::datum::Datum;
use crate::fixed::{Fixed, bits_of, store_words};
use crate::heap::Span;
use crate::memory::prefetch;

/// Most bytes of a string that are asked for before it is read; the processor sees by itself that a
/// longer one is read in order.
const STRING_BYTES_FETCHED: usize = 256;

impl Block {
    /// Where the tuple of `row` starts, in a row store.
    #[inline]
    fn tuple_at(&self, row: usize) -> usize {
        let header = &self.header;
        tuples_start(header.segments.len()) + row * header.tuple_bytes as usize
    }

    /// Asks the processor for the tuple of `row`, if this is a row store that has it.
    #[inline]
    pub(crate) fn fetch_tuple(&self, row: usize) {
        if self.header.layout == BlockLayout::Row && row < self.rows() {
            self.memory.prefetch(self.tuple_at(row), self.header.tuple_bytes as usize);
        }
    }

    /// Asks the processor for the version word and the values of `columns` of `row`, which the
    /// block has; strings come later.
    pub(crate) fn fetch_row(&self, columns: &[usize], row: u32) {
        if let Some(word) = self.word(row) {
            prefetch(std::ptr::from_ref(word).cast(), size_of_val(word));
        }
        let row = row as usize;
        match self.header.layout {
            BlockLayout::Row => self.fetch_tuple(row),
            _ if self.hot.is_some() => {
                for &column in columns {
                    let segment = &self.header.segments[column];
                    let width = usize::from(segment.width);
                    self.memory.prefetch(segment.data as usize + row * width, width);
                    self.memory.prefetch(segment.validity as usize + row / 8, 1);
                }
            }
            _ => {}
        }
    }

    /// Asks the processor for the strings among `columns` of `row`, whose values it has.
    pub(crate) fn fetch_strings(&self, columns: &[usize], row: usize) {
        if self.hot.is_none() {
            return;
        }
        let segments = &self.header.segments;
        let text = |column: &&usize| segments[**column].physical == PhysicalType::Str;
        self.each_value(columns.iter().filter(text).copied(), row, |datum| {
            if let Datum::Str(text) = datum {
                prefetch(text.as_ptr(), text.len().min(STRING_BYTES_FETCHED));
            }
        });
    }

    /// Calls `each` with the values of `columns` in `row` of a hot block, as they are at this
    /// instant; strings are those of this block.
    #[inline]
    pub(crate) fn each_value<'b>(
        &'b self,
        columns: impl Iterator<Item = usize>,
        row: usize,
        mut each: impl FnMut(Datum<'b>),
    ) {
        let segments = &*self.header.segments;
        if self.header.layout == BlockLayout::Row {
            let tuple = self.tuple_at(row);
            for column in columns {
                let segment = &segments[column];
                let bit = segment.validity as usize;
                let nulls = self.memory.atomic_byte(tuple + bit / 8).load(Ordering::Relaxed);
                if nulls >> (bit % 8) & 1 == 1 {
                    each(Datum::Null);
                } else {
                    each(self.load_value(segment, tuple + segment.data as usize));
                }
            }
        } else {
            for column in columns {
                let segment = &segments[column];
                if self.load_null(column, row) {
                    each(Datum::Null);
                } else {
                    let at = segment.data as usize + row * usize::from(segment.width);
                    each(self.load_value(segment, at));
                }
            }
        }
    }

    /// The value of `segment` that is stored at `at` and is not NULL.
    #[inline]
    fn load_value(&self, segment: &Segment, at: usize) -> Datum<'_> {
        let memory = &self.memory;
        match segment.physical {
            PhysicalType::Bool => Datum::Bool(u8::load(memory, at) != 0),
            PhysicalType::I32 => Datum::I32(i32::load(memory, at)),
            PhysicalType::I64 => Datum::I64(i64::load(memory, at)),
            PhysicalType::I128 => Datum::I128(i128::load(memory, at)),
            PhysicalType::F64 => Datum::F64(f64::load(memory, at)),
            PhysicalType::Interval => Datum::Interval(Interval::load(memory, at)),
            PhysicalType::Str => {
                // Acquire for the bytes behind the span.
                let span = Span(memory.atomic_word(at).load(Ordering::Acquire));
                Datum::Str(self.hot().heap.get(span))
            }
        }
    }

    /// Stores values of columns in `row` of a hot block, which the caller holds; narrower integers
    /// are widened. Strings go to `text_at`.
    ///
    /// # Safety
    /// The bytes of all strings are reserved in the heap at `text_at`, and no span covers them.
    #[inline]
    pub(crate) unsafe fn store_values<'v>(
        &self,
        row: usize,
        values: impl Iterator<Item = (usize, Datum<'v>)>,
        mut text_at: u32,
    ) {
        let segments = &*self.header.segments;
        let is_row = self.header.layout == BlockLayout::Row;
        let tuple = if is_row { self.tuple_at(row) } else { 0 };
        for (column, datum) in values {
            let segment = &segments[column];
            let null = datum.is_null();
            if !null {
                let width = usize::from(segment.width);
                let at = segment.data as usize + if is_row { tuple } else { row * width };
                // SAFETY: by contract.
                unsafe { self.store_value(segment, at, datum, &mut text_at) };
            }
            if !is_row {
                self.store_null(column, row, null);
                continue;
            }
            let bit = segment.validity as usize;
            let byte = self.memory.atomic_byte(tuple + bit / 8);
            // The byte is the row's own: load and store need no atomic read-modify-write.
            let (old, mask) = (byte.load(Ordering::Relaxed), 1 << (bit % 8));
            let new = if null { old | mask } else { old & !mask };
            if new != old {
                byte.store(new, Ordering::Relaxed);
            }
        }
    }

    /// # Safety
    /// As for [`Self::store_values`].
    #[inline]
    unsafe fn store_value(
        &self,
        segment: &Segment,
        at: usize,
        datum: Datum<'_>,
        text_at: &mut u32,
    ) {
        let memory = &self.memory;
        match (datum, segment.physical) {
            (Datum::I32(v), PhysicalType::I32) => v.store(memory, at),
            (Datum::I64(v), PhysicalType::I64) => v.store(memory, at),
            (Datum::I32(v), PhysicalType::I64) => i64::from(v).store(memory, at),
            (Datum::Str(text), PhysicalType::Str) => {
                // SAFETY: by contract.
                unsafe { self.hot().heap.write(*text_at, text) };
                let span = Span::new(*text_at, text.len());
                *text_at += text.len() as u32;
                // Release for the bytes behind the span.
                memory.atomic_word(at).store(span.0, Ordering::Release);
            }
            (datum, physical) => {
                let value = datum.widened(physical).expect("checked before");
                store_words(memory, at, usize::from(segment.width), bits_of(value));
            }
        }
    }
}
