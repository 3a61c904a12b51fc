//! Encoding of strings.
//!
//! ```text
//! single value  dictionary: offsets of one entry
//! dictionary    codes -> offsets (entries + 1, u32) -> bytes, entries in byte order
//! plain         offsets (rows + 1, u32) -> bytes, rows in row order; NULL told by the bitmap
//! compressed    offsets (rows + 1, u32) -> codes -> symbols, otherwise as plain
//! ```
//! A dictionary of nearly distinct strings (comments, names) costs a sort of all of them and two
//! more bytes a row, and orders nothing that scans ask for: such segments are plain, or compressed
//! when their strings are long. What is lost is range search on codes; SMA skips remain. Departure
//! from Funke 2015, section 5.4 (dictionary mandatory).

use kernels::{StrVector, StrView};
use types::{PhysicalType, Value};

use super::compress::compress;
use super::distinct::{Distinct, may_be_few};
use super::{Encoded, Input, Strings, nulls_of};
use crate::block::{Nulls, Scheme, Segment};
use crate::memory::bytes_of;
use crate::statistics::{ColumnSummary, Sketch, hash_bytes};

/// Encodes strings, at least one of which is not NULL.
pub(super) fn encode_text<'a>(source: &'a StrVector, input: Input<'a>) -> Encoded<'a> {
    let mut summary = ColumnSummary {
        rows: source.len() as u64,
        nulls: input.nulls as u64,
        min: None,
        max: None,
        sketch: Sketch::default(),
        string_bytes: 0,
    };
    let valid = || (0..source.len()).filter(|&i| input.is_valid(i));
    summary.string_bytes = valid().map(|i| source.views()[i].len() as u64).sum();
    let mut encoded = match find_dictionary(source, input, summary.string_bytes) {
        Some(found) => dictionary(source, input, found, summary),
        None => plain(source, input, summary),
    };
    let bound = |row: u32| Some(Value::Str(source.get(row as usize).into()));
    let (min, max) = encoded.bounds;
    encoded.column.summary.min = bound(min);
    encoded.column.summary.max = bound(max);
    encoded.column
}

/// A column and the rows of its smallest and largest string.
struct Bounded<'a> {
    column: Encoded<'a>,
    bounds: (u32, u32),
}

/// Rows of the distinct strings in order, and every row's code.
struct Found {
    entries: Vec<u32>,
    codes: Vec<u32>,
}

fn find_dictionary(source: &StrVector, input: Input<'_>, string_bytes: u64) -> Option<Found> {
    let rows = source.len();
    let average = string_bytes as usize / (rows - input.nulls) + 4;
    // Codes of two bytes and the dictionary against offsets of four bytes and all strings.
    let limit = (rows * 2 + string_bytes as usize) / average;
    let limit = limit.min(rows / 2 + 1);
    let hash = |i: usize| hash_bytes(source.get(i));
    if !may_be_few(rows, limit, hash) && !neighbours_tie(source) {
        return None;
    }
    let views = source.views();
    let mut distinct = Distinct::<u32>::new();
    let mut codes = vec![u32::MAX; rows];
    let mut before: Option<(usize, u32)> = None;
    for row in (0..rows).filter(|&row| input.is_valid(row)) {
        let number = match before {
            Some((other, number)) if same(views, source, row, other) => number,
            _ => distinct.find(hash(row), row as u32, |e| same(views, source, row, e as usize)),
        };
        if distinct.entries.len() > limit {
            return None;
        }
        before = Some((row, number));
        codes[row] = number;
    }
    let ranks = distinct.rank(|&a, &b| source.get(a as usize).cmp(source.get(b as usize)));
    let null_code = ranks.len() as u32;
    for code in &mut codes {
        *code = ranks.get(*code as usize).copied().unwrap_or(null_code);
    }
    Some(Found { entries: distinct.entries, codes })
}

#[inline]
fn same(views: &[StrView], source: &StrVector, a: usize, b: usize) -> bool {
    let (x, y) = (&views[a], &views[b]);
    x.head() == y.head()
        && if x.is_inline() { x.tail() == y.tail() } else { source.get(a) == source.get(b) }
}

/// True when rows often repeat the row before, which evenly spread rows do not show.
fn neighbours_tie(source: &StrVector) -> bool {
    let rows = source.len();
    let pairs = (1..rows).step_by((rows / 256).max(1));
    let (count, ties) = pairs.fold((0, 0), |(count, ties), row| {
        (count + 1, ties + usize::from(source.get(row) == source.get(row - 1)))
    });
    ties * 2 > count
}

fn offsets(lengths: impl Iterator<Item = usize>, rows: usize) -> (Vec<u32>, u32) {
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut end = 0u64;
    offsets.push(0);
    for length in lengths {
        end += length as u64;
        // Past 4 GiB the block is refused (`assemble`), so the value no longer matters.
        offsets.push(end.min(u64::from(u32::MAX)) as u32);
    }
    (offsets, end.min(u64::from(u32::MAX)) as u32)
}

fn dictionary<'a>(
    source: &'a StrVector,
    input: Input<'a>,
    found: Found,
    mut summary: ColumnSummary,
) -> Bounded<'a> {
    let Found { entries, codes } = found;
    for &entry in &entries {
        summary.sketch.insert(hash_bytes(source.get(entry as usize)));
    }
    let count = entries.len() as u32;
    let single = count == 1 && input.nulls == 0;
    let scheme = if single { Scheme::Single } else { Scheme::Dictionary };
    let nulls = if single { Nulls::None } else { nulls_of(input.nulls) };
    let mut segment = Segment::new(PhysicalType::Str, scheme, 0, nulls);
    segment.entries = count;
    let lengths = entries.iter().map(|&e| source.views()[e as usize].len());
    let (offsets, bytes) = offsets(lengths, entries.len());
    segment.strings_bytes = bytes;
    let bounds = (entries[0], entries[entries.len() - 1]);
    let mut column = Encoded::new(segment, summary);
    column.sma = bytes_of(&[0, count - 1]).to_vec();
    column.dictionary = Box::new(offsets);
    column.strings = Strings::Picked(source, entries);
    if !single {
        let null_code = (input.nulls > 0).then_some(count);
        column = column.with_codes(codes, null_code.unwrap_or(count - 1), null_code);
    }
    Bounded { column, bounds }
}

fn plain<'a>(source: &'a StrVector, input: Input<'a>, mut summary: ColumnSummary) -> Bounded<'a> {
    let rows = source.len();
    let views = source.views();
    let mut bounds: Option<(u32, u32)> = None;
    for row in (0..rows).filter(|&row| input.is_valid(row)) {
        let string = source.get(row);
        summary.sketch.insert(hash_bytes(string));
        let (min, max) = bounds.get_or_insert((row as u32, row as u32));
        if string < source.get(*min as usize) {
            *min = row as u32;
        } else if string > source.get(*max as usize) {
            *max = row as u32;
        }
    }
    let bounds = bounds.expect("not all rows are NULL");
    let compressed = compress(source, input, summary.string_bytes as usize);
    let scheme = if compressed.is_some() { Scheme::Compressed } else { Scheme::Plain };
    let segment = Segment::new(PhysicalType::Str, scheme, 4, nulls_of(input.nulls));
    let mut column = Encoded::new(segment, summary);
    let (offsets, bytes) = match compressed {
        Some(compressed) => {
            column.symbols = compressed.symbols;
            column.strings = Strings::Compressed(compressed.codes);
            offsets(compressed.ends.windows(2).map(|w| (w[1] - w[0]) as usize), rows)
        }
        None => {
            column.strings = Strings::Rows(source, input.validity);
            let lengths = (0..rows).map(|i| if input.is_valid(i) { views[i].len() } else { 0 });
            offsets(lengths, rows)
        }
    };
    column.segment.strings_bytes = bytes;
    column.sma = bytes_of(&[bounds.0, bounds.1]).to_vec();
    column.data = Box::new(offsets);
    column.validity = input.validity.map_or(&[], |v| v.words());
    Bounded { column, bounds }
}
