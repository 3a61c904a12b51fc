//! Values of some rows of one block as a column.
//!
//! ```text
//! single value         -> Column::Constant
//! truncation           -> Plain, base + code
//! dictionary, fixed    -> Plain, looked up
//! dictionary, strings  -> Column::Dictionary, or views when the dictionary is large
//! plain, hot           -> Plain; strings as views into the block
//! compressed           -> Plain; strings decoded into a heap of their own
//! ```
//! Invariant: no string byte is copied but those decoded; views keep the snapshot, dictionaries the
//! block's memory alive.
//! Source: Funke 2015, section 5.5.4.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kernels::unpack::{add_base, add_base_at, lookup, lookup_at, take, widen, widen_at};
use kernels::{Bitmap, Column, HeapRef, StrVector, StrView, Vector, VectorData};
use types::PhysicalType;

use crate::block::{Block, BlockLayout, Codes, Fixed, Nulls, Scheme, with_codes, with_fixed};
use crate::positions::{Positions, with_rows};

/// A string dictionary of at most so many entries, or of a quarter of the block's rows, is handed
/// out.
const ENTRIES_MIN: usize = 256;

/// Column `column` of the rows `positions`; `heap` keeps the block alive.
pub(crate) fn unpack(block: &Block, column: usize, rows: &Positions, heap: &HeapRef) -> Column {
    let physical = block.segment(column).physical;
    match block.layout() {
        BlockLayout::Frozen => unpack_frozen(block, column, rows, heap),
        BlockLayout::Column => with_fixed!(physical, T => {
            let values = take_bits::<T>(block.values(column), rows);
            column_of(T::data(values), column_validity(block, column, rows))
        }, {
            let spans = block.memory.slice_of::<u32>(
                block.segment(column).data as usize,
                block.rows() * 2,
            );
            let views = with_rows!(rows, r => {
                r.map(|row| heap_view(block, spans[row * 2], spans[row * 2 + 1])).collect()
            });
            column_of(strings(views, heap), column_validity(block, column, rows))
        }),
        BlockLayout::Row => with_fixed!(physical, T => {
            let values = with_rows!(rows, r => {
                r.map(|row| T::from_stored(block.memory.read_at(tuple_at(block, column, row))))
                    .collect()
            });
            column_of(T::data(values), row_validity(block, column, rows))
        }, {
            let views = with_rows!(rows, r => r.map(|row| {
                let at = tuple_at(block, column, row);
                heap_view(block, block.memory.read_at(at), block.memory.read_at(at + 4))
            }).collect());
            column_of(strings(views, heap), row_validity(block, column, rows))
        }),
    }
}

fn column_of(data: VectorData, validity: Option<Bitmap>) -> Column {
    Column::plain(Vector::with_validity(data, validity))
}

fn strings(views: Vec<StrView>, heap: &HeapRef) -> VectorData {
    let heaps = if views.iter().all(StrView::is_inline) { vec![] } else { vec![heap.clone()] };
    // SAFETY: views made here point into the block, whose memory `heap` keeps alive; rows of a view
    // of a block never change.
    VectorData::Str(unsafe { StrVector::from_views(views, heaps) })
}

/// The string at `offset` of a hot block's string bytes.
fn heap_view(block: &Block, offset: u32, bytes: u32) -> StrView {
    let start = block.header.heap as usize + offset as usize;
    StrView::new(block.memory.slice_of(start, bytes as usize))
}

/// Where the value of `row` stands in a row store.
fn tuple_at(block: &Block, column: usize, row: usize) -> usize {
    crate::hot::tuple_start(block, row) + block.segment(column).data as usize
}

fn row_validity(block: &Block, column: usize, rows: &Positions) -> Option<Bitmap> {
    let bit = block.segment(column).validity as usize;
    let is_valid = |row: usize| {
        let byte: u8 = block.memory.read_at(crate::hot::tuple_start(block, row) + bit / 8);
        byte >> (bit % 8) & 1 == 0
    };
    Some(Bitmap::from_fn(rows.len(), |i| is_valid(rows.get(i) as usize)))
}

fn column_validity(block: &Block, column: usize, rows: &Positions) -> Option<Bitmap> {
    let words = block.segment(column).validity as usize;
    let word = |w: usize| block.memory.atomic_word(words + w * 8).load(Ordering::Relaxed);
    match rows {
        Positions::Range { start, len } if start.is_multiple_of(64) => {
            let first = *start as usize / 64;
            let count = (*len as usize).div_ceil(64);
            let words = (first..first + count).map(word).collect();
            Some(Bitmap::from_words(words, *len as usize))
        }
        _ => Some(Bitmap::from_fn(rows.len(), |i| {
            let row = rows.get(i) as usize;
            word(row / 64) >> (row % 64) & 1 == 1
        })),
    }
}

fn take_bits<T: Fixed>(values: &[T::Bits], rows: &Positions) -> Vec<T> {
    match rows {
        Positions::Range { start, len } => {
            let values = &values[*start as usize..*start as usize + *len as usize];
            values.iter().map(|&v| T::from_stored(v)).collect()
        }
        Positions::List(list) => {
            let mut bits = Vec::with_capacity(list.len());
            take(values, list, &mut bits);
            // The identity for all but intervals, where the compiler sees it.
            bits.into_iter().map(T::from_stored).collect()
        }
    }
}

fn unpack_frozen(block: &Block, column: usize, rows: &Positions, heap: &HeapRef) -> Column {
    let segment = block.segment(column);
    if segment.scheme == Scheme::Single {
        return Column::Constant(shared_entries(block, column), rows.len());
    }
    if segment.physical == PhysicalType::Str {
        return unpack_strings(block, column, rows, heap);
    }
    let data = with_fixed!(segment.physical, T => match segment.scheme {
        Scheme::Truncation => truncated(block, column, rows),
        Scheme::Dictionary => T::data(looked_up::<T>(block, column, rows)),
        _ => T::data(take_bits::<T>(block.values(column), rows)),
    }, unreachable!("strings are unpacked above"));
    column_of(data, frozen_validity(block, column, rows))
}

fn truncated(block: &Block, column: usize, rows: &Positions) -> VectorData {
    let (min, _) = block.sma_keys(column).expect("a truncated segment has values");
    match block.segment(column).physical {
        PhysicalType::I32 => VectorData::I32(add(block.codes(column), rows, min as i32)),
        PhysicalType::I64 => VectorData::I64(add(block.codes(column), rows, min as i64)),
        PhysicalType::I128 => VectorData::I128(add(block.codes(column), rows, min)),
        _ => {
            let values: Vec<i32> = add(block.codes(column), rows, min as i32);
            // The code of NULL may be past 1, which no boolean may be.
            VectorData::Bool(values.into_iter().map(|v| u8::from(v == 1)).collect())
        }
    }
}

fn add<T: kernels::unpack::Fixed>(codes: Codes<'_>, rows: &Positions, base: T) -> Vec<T> {
    let mut values = Vec::with_capacity(rows.len());
    with_codes!(codes, codes => match rows {
        Positions::Range { start, len } => {
            let range = *start as usize..*start as usize + *len as usize;
            add_base(&codes[range], base, &mut values);
        }
        Positions::List(list) => add_base_at(codes, list, base, &mut values),
    });
    values
}

fn looked_up<T: Fixed>(block: &Block, column: usize, rows: &Positions) -> Vec<T> {
    let segment = block.segment(column);
    let mut bits = Vec::with_capacity(rows.len());
    let padded;
    let entries = match segment.nulls {
        // One entry more, for the code of NULL.
        Nulls::Some => {
            let mut with_null = block.entries::<T::Bits>(column).to_vec();
            with_null.push(T::default().to_stored());
            padded = with_null;
            &padded[..]
        }
        _ => block.entries::<T::Bits>(column),
    };
    with_codes!(block.codes(column), codes => match rows {
        Positions::Range { start, len } => {
            let range = *start as usize..*start as usize + *len as usize;
            lookup(&codes[range], entries, &mut bits);
        }
        Positions::List(list) => lookup_at(codes, list, entries, &mut bits),
    });
    bits.into_iter().map(T::from_stored).collect()
}

/// The codes of the rows, 32 bits each.
pub(crate) fn wide_codes(block: &Block, column: usize, rows: &Positions) -> Vec<u32> {
    let mut wide = Vec::with_capacity(rows.len());
    with_codes!(block.codes(column), codes => match rows {
        Positions::Range { start, len } => {
            let range = *start as usize..*start as usize + *len as usize;
            widen(&codes[range], &mut wide);
        }
        Positions::List(list) => widen_at(codes, list, &mut wide),
    });
    wide
}

fn frozen_validity(block: &Block, column: usize, rows: &Positions) -> Option<Bitmap> {
    let segment = block.segment(column);
    if segment.nulls == Nulls::None {
        return None;
    }
    if let Some(words) = block.validity_words(column) {
        return Some(Bitmap::from_fn(rows.len(), |i| {
            let row = rows.get(i) as usize;
            words[row / 64] >> (row % 64) & 1 == 1
        }));
    }
    let null = segment.null_code;
    let codes = wide_codes(block, column, rows);
    Some(Bitmap::from_fn(codes.len(), |i| codes[i] != null))
}

fn unpack_strings(block: &Block, column: usize, rows: &Positions, heap: &HeapRef) -> Column {
    let segment = block.segment(column);
    let offsets = block.string_offsets(column);
    let bytes = block.string_bytes(column);
    let string = |i: usize| &bytes[offsets[i] as usize..offsets[i + 1] as usize];
    if segment.scheme == Scheme::Compressed {
        let symbols = block.symbol_table(column);
        let strings = with_rows!(rows, r => symbols.decode_all(r.map(string)));
        return column_of(VectorData::Str(strings), frozen_validity(block, column, rows));
    }
    let view = |i: usize| StrView::new(string(i));
    if segment.scheme == Scheme::Plain {
        let views = with_rows!(rows, r => r.map(view).collect());
        return column_of(strings(views, heap), frozen_validity(block, column, rows));
    }
    let codes = wide_codes(block, column, rows);
    let entries = segment.entries as usize;
    if entries <= ENTRIES_MIN.max(block.rows() / 4) {
        return Column::Dictionary(Arc::new(codes), shared_entries(block, column));
    }
    let views = codes
        .iter()
        .map(|&c| if (c as usize) < entries { view(c as usize) } else { StrView::new(b"") });
    let data = strings(views.collect(), heap);
    column_of(data, frozen_validity(block, column, rows))
}

/// The dictionary or the single value of a frozen segment, NULL last where it occurs; made once.
pub(crate) fn shared_entries(block: &Block, column: usize) -> Arc<Vector> {
    Arc::clone(block.cache[column].get_or_init(|| Arc::new(entries(block, column))))
}

fn entries(block: &Block, column: usize) -> Vector {
    let segment = block.segment(column);
    let count = segment.entries as usize;
    let nulls = usize::from(segment.nulls != Nulls::None);
    let data = with_fixed!(segment.physical, T => {
        let mut values: Vec<T> = match count {
            0 => Vec::new(),
            _ => block.entries(column).iter().map(|&e| T::from_stored(e)).collect(),
        };
        values.extend(std::iter::repeat_n(T::default(), nulls));
        T::data(values)
    }, {
        let view = |i| StrView::new(block.string(column, i));
        let mut views: Vec<StrView> = (0..count).map(view).collect();
        views.extend(std::iter::repeat_n(StrView::default(), nulls));
        strings(views, &HeapRef::pinned(Arc::clone(&block.memory) as Arc<_>))
    });
    let validity = (nulls > 0).then(|| Bitmap::from_fn(count + nulls, |i| i < count));
    Vector::with_validity(data, validity)
}
