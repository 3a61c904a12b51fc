//! Values of some rows of one block as a column, as a snapshot sees them.
//!
//! Values of frozen blocks are unpacked (`frozen`); those of hot blocks are loaded as they are, and
//! those the snapshot does not see put back from undo records (`row`).
//! Invariant: strings of a hot block are views into the block.
//! Source: Funke 2015, section 5.5.4.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crossbeam_epoch as epoch;
use kernels::{Bitmap, Column, HeapRef, StrView, Vector, VectorData};
use types::{Interval, Result};

use crate::block::{Block, BlockLayout};
use crate::fixed::{Fixed, with_fixed};
use crate::frozen::{column_of, string_data, unpack_frozen};
use crate::heap::Span;
use crate::positions::{Positions, with_rows};
use crate::row::{settled, visit};
use crate::version::Snapshot;
use crate::versions::{DEAD, ZONE_ROWS, Zone};

/// Column `column` of the rows `positions` as `at` sees them; `heap` keeps a hot block alive.
///
/// # Errors
/// Errors of reading a frozen block that is not in memory.
pub(crate) fn unpack(
    block: &Block,
    column: usize,
    rows: &Positions,
    at: Snapshot,
    heap: impl FnOnce() -> HeapRef,
) -> Result<Column> {
    if let Some(frozen) = block.pin()?.frozen() {
        return Ok(unpack_frozen(frozen, column, rows));
    }
    let heap = &heap();
    let (mut data, mut valid) = load(block, column, rows, heap);
    patch(block, column, rows, at, (&mut data, &mut valid), heap);
    Ok(column_of(data, Some(valid)))
}

/// Values of a hot block as they are now, whatever their versions, with strings of their own.
pub(crate) fn load_vector(block: &Block, column: usize, rows: &Positions) -> Vector {
    let nobody = HeapRef::transient(Arc::new(()));
    let (data, valid) = load(block, column, rows, &nobody);
    let data = match data {
        VectorData::Str(strings) => VectorData::Str(strings.iter().collect()),
        fixed => fixed,
    };
    Vector::with_validity(data, Some(valid))
}

/// Values of a hot block as they are now.
fn load(block: &Block, column: usize, rows: &Positions, heap: &HeapRef) -> (VectorData, Bitmap) {
    let (memory, place) = (&*block.memory, block.values_at(column));
    let data = with_fixed!(block.segment(column).physical, T => {
        T::data(with_rows!(rows, r => r.map(|row| T::load(memory, place.of(row))).collect()))
    }, {
        let strings = &block.hot().heap;
        let span = |row| memory.atomic_word(place.of(row)).load(Ordering::Acquire);
        let view = |row| StrView::new(strings.get(Span(span(row))));
        string_data(with_rows!(rows, r => r.map(view).collect()), heap)
    });
    (data, load_validity(block, column, rows))
}

fn load_validity(block: &Block, column: usize, rows: &Positions) -> Bitmap {
    let validity = block.segment(column).validity as usize;
    let memory = &*block.memory;
    if block.layout() == BlockLayout::Row {
        let place = block.nulls_at(column);
        let is_valid = |row: usize| {
            memory.atomic_byte(place.of(row)).load(Ordering::Relaxed) >> (validity % 8) & 1 == 0
        };
        return match rows {
            Positions::Range { start, len } => {
                Bitmap::from_fn(*len as usize, |i| is_valid(*start as usize + i))
            }
            Positions::List(list) => Bitmap::from_fn(list.len(), |i| is_valid(list[i] as usize)),
        };
    }
    let word = |w: usize| memory.atomic_word(validity + w * 8).load(Ordering::Relaxed);
    match rows {
        Positions::Range { start, len } if start.is_multiple_of(64) => {
            let first = *start as usize / 64;
            let words = (first..first + (*len as usize).div_ceil(64)).map(word);
            Bitmap::from_words(words.collect(), *len as usize)
        }
        _ => Bitmap::from_fn(rows.len(), |i| {
            let row = rows.get(i) as usize;
            word(row / 64) >> (row % 64) & 1 == 1
        }),
    }
}

/// Puts back what `at` does not see. The values were loaded before: see `row` for why that order.
fn patch(
    block: &Block,
    column: usize,
    rows: &Positions,
    at: Snapshot,
    (data, valid): (&mut VectorData, &mut Bitmap),
    heap: &HeapRef,
) {
    fence(Ordering::Acquire);
    let guard = epoch::pin();
    let mut views: Vec<(usize, StrView)> = Vec::new();
    each_versioned(block, rows, |i, word| {
        let mut found = None;
        visit(word, at, block, &guard, |image| {
            if usize::from(image.column) == column {
                found = Some(*image);
            }
        });
        let Some(image) = found else { return };
        valid.set(i, !image.null);
        match data {
            VectorData::Bool(v) => v[i] = u8::from_words(image.bits),
            VectorData::I32(v) => v[i] = i32::from_words(image.bits),
            VectorData::I64(v) => v[i] = i64::from_words(image.bits),
            VectorData::I128(v) => v[i] = i128::from_words(image.bits),
            VectorData::F64(v) => v[i] = f64::from_words(image.bits),
            VectorData::Interval(v) => v[i] = Interval::from_words(image.bits),
            VectorData::Str(_) => {
                views.push((i, StrView::new(block.hot().heap.get(Span(image.bits[0])))));
            }
        }
    });
    if let VectorData::Str(strings) = data
        && !views.is_empty()
    {
        let mut all = strings.views().to_vec();
        views.iter().for_each(|&(i, view)| all[i] = view);
        *data = string_data(all, heap);
    }
}

/// Calls `found` with the number and the word of each position whose row has one.
pub(crate) fn each_versioned(block: &Block, rows: &Positions, mut found: impl FnMut(usize, u64)) {
    let mut test = |i: usize, zone: &Zone, row: u32| {
        let word = settled(zone.word(row));
        if word != 0 && word != DEAD {
            found(i, word);
        }
    };
    match rows {
        Positions::Range { start, len } => {
            let (mut row, end) = (*start, start + len);
            while row < end {
                let next = ((row / ZONE_ROWS as u32 + 1) * ZONE_ROWS as u32).min(end);
                if let Some(zone) = block.versions.zone(row).filter(|z| z.marks().is_touched()) {
                    (row..next).for_each(|r| test((r - start) as usize, zone, r));
                }
                row = next;
            }
        }
        Positions::List(list) => {
            let mut i = 0;
            while i < list.len() {
                let next = (list[i] / ZONE_ROWS as u32 + 1) * ZONE_ROWS as u32;
                let end = i + list[i..].partition_point(|&row| row < next);
                if let Some(zone) = block.versions.zone(list[i]).filter(|z| z.marks().is_touched())
                {
                    (i..end).for_each(|i| test(i, zone, list[i]));
                }
                i = end;
            }
        }
    }
}
