//! Values of some rows of a frozen block as a column.
//!
//! ```text
//! single value         -> Column::Constant
//! truncation           -> Plain, base + code
//! dictionary, fixed    -> Plain, looked up
//! dictionary, strings  -> Column::Dictionary, or views when the dictionary is large
//! plain                -> Plain; strings as views into the block
//! compressed           -> Plain; strings decoded into a heap of their own
//! ```
//! Invariant: no string byte is copied but those decoded; views and dictionaries keep the block's
//! memory alive.
//! Source: Funke 2015, section 5.5.4.

use std::sync::Arc;

use kernels::unpack::{add_base, add_base_at, lookup, lookup_at, take, widen, widen_at};
use kernels::{Bitmap, Column, HeapRef, StrVector, StrView, Vector, VectorData};
use types::PhysicalType;

use crate::block::{Codes, Frozen, Nulls, Scheme, with_codes};
use crate::datum::{Datum, RowBuffer};
use crate::fixed::{Fixed, fixed_datum, with_fixed};
use crate::positions::{Positions, with_rows};

/// A string dictionary of at most so many entries, or of a quarter of the block's rows, is handed
/// out.
const ENTRIES_MIN: usize = 256;

/// Column `column` of the rows `rows` of a frozen block.
pub(crate) fn unpack_frozen(block: Frozen<'_>, column: usize, rows: &Positions) -> Column {
    let segment = block.segment(column);
    if segment.scheme == Scheme::Single {
        return Column::Constant(shared_entries(block, column), rows.len());
    }
    if segment.physical == PhysicalType::Str {
        return unpack_strings(block, column, rows);
    }
    let data = with_fixed!(segment.physical, T => match segment.scheme {
        Scheme::Truncation => truncated(block, column, rows),
        Scheme::Dictionary => T::data(looked_up::<T>(block, column, rows)),
        _ => T::data(take_bits::<T>(block.values(column), rows)),
    }, unreachable!("strings are unpacked above"));
    column_of(data, frozen_validity(block, column, rows))
}

fn truncated(block: Frozen<'_>, column: usize, rows: &Positions) -> VectorData {
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

fn looked_up<T: Fixed>(block: Frozen<'_>, column: usize, rows: &Positions) -> Vec<T> {
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
pub(crate) fn wide_codes(block: Frozen<'_>, column: usize, rows: &Positions) -> Vec<u32> {
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

fn frozen_validity(block: Frozen<'_>, column: usize, rows: &Positions) -> Option<Bitmap> {
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

fn unpack_strings(block: Frozen<'_>, column: usize, rows: &Positions) -> Column {
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
        return column_of(string_data(views, &block.heap()), frozen_validity(block, column, rows));
    }
    let codes = wide_codes(block, column, rows);
    let entries = segment.entries as usize;
    if entries <= ENTRIES_MIN.max(block.rows() / 4) {
        return Column::Dictionary(Arc::new(codes), shared_entries(block, column));
    }
    let views = codes
        .iter()
        .map(|&c| if (c as usize) < entries { view(c as usize) } else { StrView::new(b"") });
    let data = string_data(views.collect(), &block.heap());
    column_of(data, frozen_validity(block, column, rows))
}

/// Texts whose lengths are looked at first; more have most lengths.
const LENGTHS_MAX: usize = 16;

/// The rows among `rows` whose string in a plain segment is one of `texts`, which are sorted.
pub(crate) fn rows_of_texts(
    block: Frozen<'_>,
    column: usize,
    texts: &[Arc<[u8]>],
    rows: &Positions,
) -> Vec<u32> {
    let offsets = block.string_offsets(column);
    let bytes = block.string_bytes(column);
    // Most differ in length, which is known without their bytes.
    let lengths = match texts {
        few if few.len() <= LENGTHS_MAX => {
            few.iter().fold(0u64, |mask, text| mask | 1 << (text.len() % 64))
        }
        _ => u64::MAX,
    };
    let is_one = |row: &usize| {
        let (start, end) = (offsets[*row], offsets[*row + 1]);
        lengths >> ((end - start) % 64) & 1 == 1 && {
            let text = &bytes[start as usize..end as usize];
            match texts {
                [one] => one[..] == *text,
                _ => texts.binary_search_by(|one| one[..].cmp(text)).is_ok(),
            }
        }
    };
    let mut found: Vec<u32> =
        with_rows!(rows, r => r.filter(is_one).map(|row| row as u32).collect());
    if let Some(words) = block.validity_words(column) {
        found.retain(|&row| words[row as usize / 64] >> (row % 64) & 1 == 1);
    }
    found
}

/// The dictionary or the single value of a frozen segment, NULL last where it occurs; made once.
pub(crate) fn shared_entries(block: Frozen<'_>, column: usize) -> Arc<Vector> {
    Arc::clone(block.payload.cache[column].get_or_init(|| Arc::new(entries(block, column))))
}

fn entries(block: Frozen<'_>, column: usize) -> Vector {
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
        string_data(views, &block.heap())
    });
    let validity = (nulls > 0).then(|| Bitmap::from_fn(count + nulls, |i| i < count));
    Vector::with_validity(data, validity)
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

/// The values of `row` of a frozen block, one column at a time, into `out`.
pub(crate) fn push_frozen(block: Frozen<'_>, column: usize, row: usize, out: &mut RowBuffer) {
    let segment = block.segment(column);
    let is_null = match segment.nulls {
        Nulls::None => false,
        Nulls::All => true,
        Nulls::Some => match block.validity_words(column) {
            Some(words) => words[row / 64] >> (row % 64) & 1 == 0,
            None => code_at(block, column, row) == segment.null_code,
        },
    };
    if is_null {
        return out.push(Datum::Null);
    }
    let entry = match segment.scheme {
        Scheme::Single => 0,
        Scheme::Dictionary => code_at(block, column, row) as usize,
        _ => row,
    };
    if segment.physical == PhysicalType::Str {
        if segment.scheme != Scheme::Compressed {
            return out.push(Datum::Str(block.string(column, entry)));
        }
        let coded = std::iter::once(block.string(column, row));
        let decoded = block.symbol_table(column).decode_all(coded);
        return out.push(Datum::Str(decoded.get(0)));
    }
    if segment.scheme == Scheme::Truncation {
        let (min, _) = block.sma_keys(column).expect("a truncated segment has values");
        let value = min + i128::from(code_at(block, column, row));
        return out.push(match segment.physical {
            PhysicalType::I32 => Datum::I32(value as i32),
            PhysicalType::I64 => Datum::I64(value as i64),
            PhysicalType::I128 => Datum::I128(value),
            _ => Datum::Bool(value == 1),
        });
    }
    let datum = with_fixed!(segment.physical, T => {
        let value = match segment.scheme {
            Scheme::Plain => T::from_stored(block.values::<<T as Fixed>::Bits>(column)[row]),
            _ => T::from_stored(block.entries::<<T as Fixed>::Bits>(column)[entry]),
        };
        fixed_datum(segment.physical, value.to_words())
    }, unreachable!("strings are above"));
    out.push(datum);
}

fn code_at(block: Frozen<'_>, column: usize, row: usize) -> u32 {
    match block.codes(column) {
        Codes::U8(codes) => codes[row].into(),
        Codes::U16(codes) => codes[row].into(),
        Codes::U32(codes) => codes[row],
    }
}

/// Values in a column of their own.
pub(crate) fn column_of(data: VectorData, validity: Option<Bitmap>) -> Column {
    Column::plain(Vector::with_validity(data, validity))
}

/// Strings as views into a block that `heap` keeps alive.
pub(crate) fn string_data(views: Vec<StrView>, heap: &HeapRef) -> VectorData {
    let heaps = if views.iter().all(StrView::is_inline) { vec![] } else { vec![heap.clone()] };
    // SAFETY: views made here point into strings of the block, which `heap` keeps alive, or which
    // the caller copies while it holds the block; string bytes never change.
    VectorData::Str(unsafe { StrVector::from_views(views, heaps) })
}
