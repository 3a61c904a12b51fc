//! Encoding of fixed-width values.

use kernels::unpack::Code;

use super::distinct::{Distinct, may_be_few};
use super::{Encoded, Input, code_width, nulls_of};
use crate::block::{Nulls, Scheme, Segment};
use crate::fixed::{Fixed, value_of_key};
use crate::memory::{Plain, bytes_of};
use crate::statistics::{ColumnSummary, Sketch, hash_number};

/// A value that can be truncated.
pub(super) trait Integer: Fixed + Ord {
    /// `self - base`, known to fit.
    fn minus(self, base: Self) -> u32;
}

impl Integer for u8 {
    #[inline]
    fn minus(self, base: Self) -> u32 {
        u32::from(self.wrapping_sub(base))
    }
}

impl Integer for i32 {
    #[inline]
    fn minus(self, base: Self) -> u32 {
        self.wrapping_sub(base) as u32
    }
}

impl Integer for i64 {
    #[inline]
    fn minus(self, base: Self) -> u32 {
        self.wrapping_sub(base) as u32
    }
}

impl Integer for i128 {
    #[inline]
    fn minus(self, base: Self) -> u32 {
        self.wrapping_sub(base) as u32
    }
}

fn physical<T: Fixed>() -> types::PhysicalType {
    kernels::Vector::new(T::data(Vec::new())).physical()
}

fn summary<T: Fixed>(rows: usize, input: Input<'_>, min: i128, max: i128) -> ColumnSummary {
    ColumnSummary {
        rows: rows as u64,
        nulls: input.nulls as u64,
        min: value_of_key(physical::<T>(), min),
        max: value_of_key(physical::<T>(), max),
        sketch: Sketch::default(),
        string_bytes: 0,
    }
}

fn sma(min: i128, max: i128) -> Vec<u8> {
    bytes_of(&[min, max]).to_vec()
}

/// Smallest and largest value that is not NULL; there is one.
fn bounds<T: Copy>(values: &[T], input: Input<'_>, less: impl Fn(T, T) -> bool) -> (T, T) {
    let widen = |(lo, hi): (T, T), &v: &T| {
        (if less(v, lo) { v } else { lo }, if less(hi, v) { v } else { hi })
    };
    match input.validity {
        None => values[1..].iter().fold((values[0], values[0]), widen),
        Some(validity) => {
            let first =
                (0..values.len()).find(|&i| validity.get(i)).expect("not all rows are NULL");
            let valid = (first..values.len()).filter(|&i| validity.get(i)).map(|i| &values[i]);
            valid.fold((values[first], values[first]), widen)
        }
    }
}

/// Encodes integers, dates, scaled decimals and booleans.
pub(super) fn encode_integer<'a, T: Integer>(values: &'a [T], input: Input<'a>) -> Encoded<'a>
where
    &'a [T]: PlainRows<'a>,
{
    let (min, max) = bounds(values, input, |a, b| a < b);
    let mut summary = summary::<T>(values.len(), input, min.key(), max.key());
    if min == max && input.nulls == 0 {
        summary.sketch.insert(hash_number(min.key() as u128));
        return single(min, summary);
    }
    let nulls = u32::from(input.nulls > 0);
    let range = max.key().checked_sub(min.key()).and_then(|r| u32::try_from(r).ok());
    // One code stays free, so that the end of a range of codes is a u32.
    let code_max = range.and_then(|r| r.checked_add(nulls)).filter(|&c| c < u32::MAX);
    let Some(code_max) = code_max else {
        return encode_wide(values, input, summary);
    };
    match code_width(code_max) {
        1 => truncate_narrow(values, input, min, code_max, summary, |c| c as u8),
        2 => encode_middle(values, input, min, code_max, summary),
        width if usize::from(width) > size_of::<T>() => encode_wide(values, input, summary),
        _ => match by_dictionary(values, input, 4) {
            Some(found) => dictionary(found, input, summary),
            None => {
                hash_rows(values, input, &mut summary.sketch);
                truncate(values, input, min, code_max, summary, |c| c)
            }
        },
    }
}

/// Encodes floating-point numbers and intervals.
pub(super) fn encode_other<'a, T: Fixed>(values: &'a [T], input: Input<'a>) -> Encoded<'a>
where
    &'a [T]: PlainRows<'a>,
{
    let (min, max) = bounds(values, input, |a, b| a.key() < b.key());
    let mut summary = summary::<T>(values.len(), input, min.key(), max.key());
    let first = values[0].identity();
    if input.nulls == 0 && values.iter().all(|v| v.identity() == first) {
        summary.sketch.insert(hash_number(min.key() as u128));
        return single(values[0], summary);
    }
    encode_wide(values, input, summary)
}

/// Dictionary or plain: what does not fit four bytes, or is no integer.
fn encode_wide<'a, T: Fixed>(
    values: &'a [T],
    input: Input<'a>,
    mut summary: ColumnSummary,
) -> Encoded<'a>
where
    &'a [T]: PlainRows<'a>,
{
    let bytes = size_of::<T::Bits>();
    if let Some(found) = by_dictionary(values, input, bytes) {
        return dictionary(found, input, summary);
    }
    hash_rows(values, input, &mut summary.sketch);
    let (min, max) = bounds(values, input, |a, b| a.key() < b.key());
    let segment = Segment::new(physical::<T>(), Scheme::Plain, bytes as u8, nulls_of(input.nulls));
    let mut encoded = Encoded::new(segment, summary);
    encoded.sma = sma(min.key(), max.key());
    encoded.data = PlainRows::area(values);
    encoded.validity = input.validity.map_or(&[], |v| v.words());
    encoded
}

/// A slice of values as an area: borrowed where memory and block agree.
pub(super) trait PlainRows<'a> {
    fn area(self) -> Box<dyn super::Area + 'a>;
}

macro_rules! plain_rows {
    ($($ty:ty),*) => {$(
        impl<'a> PlainRows<'a> for &'a [$ty] {
            fn area(self) -> Box<dyn super::Area + 'a> {
                Box::new(self)
            }
        }
    )*};
}

plain_rows!(u8, i32, i64, i128, f64);

impl<'a> PlainRows<'a> for &'a [types::Interval] {
    fn area(self) -> Box<dyn super::Area + 'a> {
        Box::new(self.iter().map(|v| v.to_stored()).collect::<Vec<_>>())
    }
}

fn single<'a, T: Fixed>(value: T, summary: ColumnSummary) -> Encoded<'a> {
    let mut segment = Segment::new(physical::<T>(), Scheme::Single, 0, Nulls::None);
    segment.entries = 1;
    let mut encoded = Encoded::new(segment, summary);
    encoded.sma = sma(value.key(), value.key());
    encoded.dictionary = Box::new(vec![value.to_stored()]);
    encoded
}

fn truncate<'a, T: Integer, C: Code + Plain>(
    values: &[T],
    input: Input<'_>,
    min: T,
    code_max: u32,
    summary: ColumnSummary,
    narrow: impl Fn(u32) -> C,
) -> Encoded<'a> {
    let segment = Segment::new(physical::<T>(), Scheme::Truncation, 0, nulls_of(input.nulls));
    let range = code_max - u32::from(input.nulls > 0);
    let mut encoded = Encoded::new(segment, summary);
    encoded.sma = sma(min.key(), min.key() + i128::from(range));
    let codes: Vec<C> = match input.validity {
        None => values.iter().map(|v| narrow(v.minus(min))).collect(),
        Some(validity) => {
            let code = |i: usize| {
                if validity.get(i) { values[i].minus(min) } else { code_max }
            };
            encoded.segment.null_code = code_max;
            (0..values.len()).map(|i| narrow(code(i))).collect()
        }
    };
    encoded.put_codes(codes);
    encoded
}

/// Truncation to one byte; the codes that occur are the distinct values.
fn truncate_narrow<'a, T: Integer>(
    values: &[T],
    input: Input<'_>,
    min: T,
    code_max: u32,
    summary: ColumnSummary,
    narrow: impl Fn(u32) -> u8,
) -> Encoded<'a> {
    let mut encoded = truncate(values, input, min, code_max, summary, narrow);
    let mut seen = [false; 256];
    encoded.data.bytes().iter().for_each(|&code| seen[usize::from(code)] = true);
    let codes = (0..=code_max).filter(|&c| seen[c as usize]);
    hash_codes(codes, min.key(), input, code_max, &mut encoded.summary.sketch);
    encoded
}

fn hash_codes(
    codes: impl Iterator<Item = u32>,
    base: i128,
    input: Input<'_>,
    null_code: u32,
    sketch: &mut Sketch,
) {
    for code in codes.filter(|&c| input.nulls == 0 || c != null_code) {
        sketch.insert(hash_number((base + i128::from(code)) as u128));
    }
}

/// Two bytes are enough: a dictionary wins only with codes of one byte.
fn encode_middle<'a, T: Integer>(
    values: &[T],
    input: Input<'a>,
    min: T,
    code_max: u32,
    summary: ColumnSummary,
) -> Encoded<'a> {
    let mut seen = vec![0u8; 1 << 16];
    match input.validity {
        None => values.iter().for_each(|v| seen[v.minus(min) as usize & 0xffff] = 1),
        Some(_) => {
            let valid = (0..values.len()).filter(|&i| input.is_valid(i));
            valid.for_each(|i| seen[values[i].minus(min) as usize & 0xffff] = 1);
        }
    }
    let count: usize = seen.iter().map(|&s| usize::from(s)).sum();
    let nulls = usize::from(input.nulls > 0);
    let bytes = values.len() + count * size_of::<T>();
    if count + nulls > 256 || bytes >= 2 * values.len() {
        let mut encoded = truncate(values, input, min, code_max, summary, |c| c as u16);
        let codes = (0..=code_max).filter(|&c| seen[c as usize] == 1);
        hash_codes(codes, min.key(), input, u32::MAX, &mut encoded.summary.sketch);
        return encoded;
    }
    let mut distinct = Distinct::new();
    let mut ranks = vec![0u32; 1 << 16];
    let mut first = vec![0u32; 1 << 16];
    for (row, value) in values.iter().enumerate().filter(|&(row, _)| input.is_valid(row)) {
        first[value.minus(min) as usize & 0xffff] = row as u32;
    }
    for code in (0..1usize << 16).filter(|&c| seen[c] == 1) {
        ranks[code] = distinct.entries.len() as u32;
        distinct.entries.push(values[first[code] as usize]);
    }
    let code = |i: usize| {
        if input.is_valid(i) { ranks[values[i].minus(min) as usize & 0xffff] } else { count as u32 }
    };
    let codes = (0..values.len()).map(code).collect();
    dictionary(Found { entries: distinct.entries, codes }, input, summary)
}

/// A dictionary and the rows' codes in it.
struct Found<T> {
    entries: Vec<T>,
    codes: Vec<u32>,
}

/// The dictionary of `values`, if it beats `bytes_other` a row.
fn by_dictionary<T: Fixed>(values: &[T], input: Input<'_>, bytes_other: usize) -> Option<Found<T>> {
    let rows = values.len();
    let saved = bytes_other.checked_sub(2)? * rows / size_of::<T::Bits>();
    let limit = saved.saturating_sub(1).min(u16::MAX as usize);
    let hash = |i: usize| hash_number(values[i].identity());
    if !may_be_few(rows, limit, hash) {
        return None;
    }
    let mut distinct = Distinct::new();
    let mut codes = vec![u32::MAX; rows];
    let mut before: Option<(u128, u32)> = None;
    for (row, &value) in values.iter().enumerate() {
        if !input.is_valid(row) {
            continue;
        }
        let identity = value.identity();
        let number = match before {
            Some((other, number)) if other == identity => number,
            _ => distinct.find(hash_number(identity), value, |v| v.identity() == identity),
        };
        if distinct.entries.len() > limit {
            return None;
        }
        before = Some((identity, number));
        codes[row] = number;
    }
    let ranks = distinct.rank(|a, b| (a.key(), a.identity()).cmp(&(b.key(), b.identity())));
    let null_code = ranks.len() as u32;
    for code in &mut codes {
        *code = ranks.get(*code as usize).copied().unwrap_or(null_code);
    }
    Some(Found { entries: distinct.entries, codes })
}

fn dictionary<'a, T: Fixed>(
    found: Found<T>,
    input: Input<'_>,
    mut summary: ColumnSummary,
) -> Encoded<'a> {
    let Found { entries, codes } = found;
    for entry in &entries {
        summary.sketch.insert(hash_number(entry.key() as u128));
    }
    let mut segment = Segment::new(physical::<T>(), Scheme::Dictionary, 0, nulls_of(input.nulls));
    segment.entries = entries.len() as u32;
    let mut encoded = Encoded::new(segment, summary);
    encoded.sma = sma(entries[0].key(), entries[entries.len() - 1].key());
    let null_code = (input.nulls > 0).then_some(entries.len() as u32);
    let code_max = null_code.unwrap_or(entries.len() as u32 - 1);
    encoded.dictionary = Box::new(entries.into_iter().map(T::to_stored).collect::<Vec<_>>());
    encoded.with_codes(codes, code_max, null_code)
}

fn hash_rows<T: Fixed>(values: &[T], input: Input<'_>, sketch: &mut Sketch) {
    for (row, value) in values.iter().enumerate() {
        if input.is_valid(row) {
            sketch.insert(hash_number(value.key() as u128));
        }
    }
}
