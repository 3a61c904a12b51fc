//! Prepared restrictions on the codes of one frozen segment (step 2 of a scan).
//!
//! ```text
//! Test --SMA, dictionary, base--> All     every row passes: dropped
//!                                 None    no row passes: the block is skipped
//!                                 Range   lo <= code <= hi; narrows the rows by the lookup table
//!                                 Not     every code but one, and NULL's
//!                                 Bits    the codes whose bit is 1
//!                                 Set     sorted codes, when bits would be many
//!                                 Values  not decidable on codes
//! ```
//! Source: Funke 2015, section 5.5.2; Patel 2018, section 3.2.

use std::ops::Bound;

use kernels::{Bitmap, Vector};
use types::PhysicalType;

use super::ScanTechniques;
use super::values::retain_shared;
use crate::block::{Block, Frozen, Nulls, Scheme, Segment};
use crate::fixed::{Fixed, with_fixed};
use crate::frozen::shared_entries;
use crate::restriction::{KeyTest, Test, TextTest};

/// A test on codes.
#[derive(Debug)]
pub(super) enum CodeTest {
    All,
    None,
    Range(u32, u32),
    Not { code: u32, null_code: Option<u32> },
    Bits(Bitmap),
    Set(Vec<u32>),
    Values,
}

/// Codes of the segment that are not NULL's: the largest of them.
fn code_last(block: &Block, column: usize) -> u32 {
    let segment = block.segment(column);
    match segment.scheme {
        Scheme::Dictionary => segment.entries - 1,
        _ => {
            let (min, max) = block.sma_keys(column).expect("a truncated segment has values");
            (max - min) as u32
        }
    }
}

fn has_nulls(segment: &Segment) -> bool {
    segment.nulls != Nulls::None
}

/// Translates `test` to the codes of a frozen segment.
pub(super) fn translate(
    block: Frozen<'_>,
    column: usize,
    test: &Test,
    techniques: ScanTechniques,
) -> CodeTest {
    let segment = block.segment(column);
    match test {
        Test::Never => return CodeTest::None,
        Test::IsNull if segment.nulls == Nulls::None => return CodeTest::None,
        Test::IsNull if segment.nulls == Nulls::All => return CodeTest::All,
        Test::IsNotNull if segment.nulls == Nulls::None => return CodeTest::All,
        Test::Keys(_) | Test::Texts(_) | Test::Filter(_) | Test::Joint(..) | Test::IsNotNull
            if segment.nulls == Nulls::All =>
        {
            return CodeTest::None;
        }
        _ => {}
    }
    if techniques.skipping && excluded_by_sma(&block, column, test) {
        return CodeTest::None;
    }
    match segment.scheme {
        _ if matches!(test, Test::Joint(..)) => CodeTest::Values,
        Scheme::Single => single(block, column, test),
        Scheme::Plain | Scheme::Compressed if !techniques.skipping => CodeTest::Values,
        Scheme::Plain | Scheme::Compressed => plain(&block, column, test),
        Scheme::Dictionary | Scheme::Truncation => on_codes(block, column, test),
    }
}

/// True when smallest and largest value of a segment, or its being NULL, show that no row passes.
pub(super) fn is_excluded(block: &Block, column: usize, test: &Test) -> bool {
    let takes_nulls = matches!(test, Test::IsNull | Test::Predicate(_));
    (block.segment(column).nulls == Nulls::All && !takes_nulls)
        || excluded_by_sma(block, column, test)
}

/// True when smallest and largest value show that no row passes.
fn excluded_by_sma(block: &Block, column: usize, test: &Test) -> bool {
    match test {
        Test::Keys(test) => block.sma_keys(column).is_some_and(|(min, max)| match test {
            KeyTest::Range(lo, hi) => *hi < min || *lo > max,
            KeyTest::Not(key) => min == max && min == *key,
            KeyTest::Set(keys) => {
                keys.get(keys.partition_point(|&k| k < min)).is_none_or(|&k| k > max)
            }
        }),
        Test::Texts(test) => block.sma_strings(column).is_some_and(|(min, max)| match test {
            TextTest::Range(low, high) => below(high, min) || above(low, max),
            TextTest::Not(text) => min == max && min == &text[..],
            TextTest::Set(texts) => {
                texts.get(texts.partition_point(|t| &t[..] < min)).is_none_or(|t| &t[..] > max)
            }
        }),
        Test::Filter(filter) if block.segment(column).physical == PhysicalType::Str => {
            let ends = block.sma_strings(column);
            ends.is_some_and(|(min, max)| !filter.overlaps_strings(min, max))
        }
        Test::Filter(filter) => block.sma_keys(column).is_some_and(|(min, max)| {
            let clamp = |key: i128| key.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
            !filter.overlaps(clamp(min), clamp(max))
        }),
        _ => false,
    }
}

fn below(high: &Bound<std::sync::Arc<[u8]>>, min: &[u8]) -> bool {
    match high {
        Bound::Unbounded => false,
        Bound::Included(high) => &high[..] < min,
        Bound::Excluded(high) => &high[..] <= min,
    }
}

fn above(low: &Bound<std::sync::Arc<[u8]>>, max: &[u8]) -> bool {
    match low {
        Bound::Unbounded => false,
        Bound::Included(low) => &low[..] > max,
        Bound::Excluded(low) => &low[..] >= max,
    }
}

fn single(block: Frozen<'_>, column: usize, test: &Test) -> CodeTest {
    let mut positions = vec![0];
    let value = shared_entries(block, column);
    match retain_shared(test, &value, &mut positions) {
        Ok(()) if positions.is_empty() => CodeTest::None,
        Ok(()) => CodeTest::All,
        Err(_) => CodeTest::Values,
    }
}

/// Segments with values: SMA may settle a range.
fn plain(block: &Block, column: usize, test: &Test) -> CodeTest {
    let covered = !has_nulls(block.segment(column))
        && match test {
            Test::Keys(KeyTest::Range(lo, hi)) => {
                block.sma_keys(column).is_some_and(|(min, max)| *lo <= min && max <= *hi)
            }
            Test::Keys(KeyTest::Not(key)) => {
                block.sma_keys(column).is_some_and(|(min, max)| *key < min || max < *key)
            }
            Test::Texts(range @ TextTest::Range(..)) => {
                let sma = block.sma_strings(column);
                sma.is_some_and(|(min, max)| range.accepts(min) && range.accepts(max))
            }
            _ => false,
        };
    if covered { CodeTest::All } else { CodeTest::Values }
}

fn on_codes(block: Frozen<'_>, column: usize, test: &Test) -> CodeTest {
    let segment = block.segment(column);
    match test {
        Test::IsNull => CodeTest::Range(segment.null_code, segment.null_code),
        Test::IsNotNull => CodeTest::Range(0, code_last(&block, column)),
        Test::Keys(test) => match test {
            KeyTest::Range(lo, hi) => key_range(block, column, *lo, *hi),
            KeyTest::Not(key) => not_key(block, column, *key),
            KeyTest::Set(keys) => {
                // Several entries may share one key (0.0 and -0.0): a range each.
                let codes = keys.iter().flat_map(|&k| key_codes(block, column, k, k));
                set(&block, column, codes.collect())
            }
        },
        Test::Texts(test) => match test {
            TextTest::Range(low, high) => text_range(block, column, low, high),
            TextTest::Not(text) => not(&block, column, text_code(block, column, text)),
            TextTest::Set(texts) => {
                let codes = texts.iter().filter_map(|t| text_code(block, column, t));
                set(&block, column, codes.collect())
            }
        },
        // Decided by the caller, who knows how many rows are left.
        Test::Predicate(_) | Test::Filter(_) | Test::Joint(..) => CodeTest::Values,
        Test::Never => CodeTest::None,
    }
}

/// The codes of keys `lo..=hi`.
fn key_codes(block: Frozen<'_>, column: usize, lo: i128, hi: i128) -> std::ops::Range<u32> {
    let segment = block.segment(column);
    if segment.scheme == Scheme::Truncation {
        let (min, max) = block.sma_keys(column).expect("a truncated segment has values");
        if hi < min || lo > max {
            return 0..0;
        }
        // No code is u32::MAX (`freeze`, `validate`), so the end does not overflow.
        let first = (lo.max(min) - min) as u32;
        let last = (hi.min(max) - min) as u32;
        return first..last + 1;
    }
    with_fixed!(segment.physical, T => {
        let entries = block.entries::<<T as Fixed>::Bits>(column);
        let key = |e: &<T as Fixed>::Bits| T::from_stored(*e).key();
        let first = entries.partition_point(|e| key(e) < lo);
        let last = entries.partition_point(|e| key(e) <= hi);
        first as u32..last as u32
    }, unreachable!("strings have no keys"))
}

/// Every value with another key; several entries may share one (0.0 and -0.0).
fn not_key(block: Frozen<'_>, column: usize, key: i128) -> CodeTest {
    let codes = key_codes(block, column, key, key);
    if codes.len() < 2 {
        return not(&block, column, codes.into_iter().next());
    }
    let last = code_last(&block, column);
    let others = (0..=last).filter(|code| !codes.contains(code));
    set(&block, column, others.collect())
}

fn key_range(block: Frozen<'_>, column: usize, lo: i128, hi: i128) -> CodeTest {
    let codes = key_codes(block, column, lo, hi);
    range(&block, column, codes)
}

fn range(block: &Block, column: usize, codes: std::ops::Range<u32>) -> CodeTest {
    if codes.is_empty() {
        return CodeTest::None;
    }
    let last = code_last(block, column);
    if codes.start == 0 && codes.end > last && !has_nulls(block.segment(column)) {
        return CodeTest::All;
    }
    CodeTest::Range(codes.start, codes.end - 1)
}

/// Every value but that of `code`.
fn not(block: &Block, column: usize, code: Option<u32>) -> CodeTest {
    let last = code_last(block, column);
    let segment = block.segment(column);
    match code {
        None if has_nulls(segment) => CodeTest::Range(0, last),
        None => CodeTest::All,
        Some(0) if last == 0 => CodeTest::None,
        Some(0) => CodeTest::Range(1, last),
        Some(code) if code == last => CodeTest::Range(0, last - 1),
        Some(code) => {
            let null_code = has_nulls(segment).then_some(segment.null_code);
            CodeTest::Not { code, null_code }
        }
    }
}

/// Sorted codes.
fn set(block: &Block, column: usize, codes: Vec<u32>) -> CodeTest {
    let (Some(&first), Some(&last)) = (codes.first(), codes.last()) else {
        return CodeTest::None;
    };
    if (last - first) as usize == codes.len() - 1 {
        return range(block, column, first..last + 1);
    }
    if block.segment(column).width == 4 {
        return CodeTest::Set(codes);
    }
    let mut bits = Bitmap::filled(last as usize + 1, false);
    codes.iter().for_each(|&c| bits.set(c as usize, true));
    CodeTest::Bits(bits)
}

fn text_rank(block: Frozen<'_>, column: usize, before: impl Fn(&[u8]) -> bool) -> u32 {
    let (mut lo, mut hi) = (0, block.segment(column).entries as usize);
    while lo < hi {
        let middle = lo + (hi - lo) / 2;
        if before(block.string(column, middle)) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    lo as u32
}

fn text_code(block: Frozen<'_>, column: usize, text: &[u8]) -> Option<u32> {
    let rank = text_rank(block, column, |entry| entry < text);
    let found = rank < block.segment(column).entries && block.string(column, rank as usize) == text;
    found.then_some(rank)
}

fn text_range(
    block: Frozen<'_>,
    column: usize,
    low: &Bound<std::sync::Arc<[u8]>>,
    high: &Bound<std::sync::Arc<[u8]>>,
) -> CodeTest {
    let first = match low {
        Bound::Unbounded => 0,
        Bound::Included(low) => text_rank(block, column, |e| e < &low[..]),
        Bound::Excluded(low) => text_rank(block, column, |e| e <= &low[..]),
    };
    let end = match high {
        Bound::Unbounded => block.segment(column).entries,
        Bound::Included(high) => text_rank(block, column, |e| e <= &high[..]),
        Bound::Excluded(high) => text_rank(block, column, |e| e < &high[..]),
    };
    range(&block, column, first..end)
}

/// Decides a predicate or filter for every code at once, when codes are fewer than `rows_left`;
/// None when they are not, or when the predicate fails on a value (which may be none of a row that
/// is left).
pub(super) fn decide_codes(
    block: Frozen<'_>,
    column: usize,
    test: &Test,
    rows_left: usize,
) -> Option<CodeTest> {
    let segment = block.segment(column);
    let entries = match segment.scheme {
        Scheme::Dictionary if (segment.entries as usize) < rows_left => {
            shared_entries(block, column)
        }
        Scheme::Truncation if segment.width == 1 && rows_left > 256 => {
            std::sync::Arc::new(code_values(&block, column))
        }
        _ => return None,
    };
    let mut passing: Vec<u32> = (0..entries.len() as u32).collect();
    retain_shared(test, &entries, &mut passing).ok()?;
    if passing.len() == entries.len() {
        return Some(CodeTest::All);
    }
    let (Some(&first), Some(&last)) = (passing.first(), passing.last()) else {
        return Some(CodeTest::None);
    };
    if (last - first) as usize == passing.len() - 1 {
        return Some(CodeTest::Range(first, last));
    }
    let mut bits = Bitmap::filled(last as usize + 1, false);
    passing.iter().for_each(|&c| bits.set(c as usize, true));
    Some(CodeTest::Bits(bits))
}

/// The value of every code of a truncated segment, NULL last where it occurs.
fn code_values(block: &Block, column: usize) -> Vector {
    let (min, max) = block.sma_keys(column).expect("a truncated segment has values");
    let segment = block.segment(column);
    let mut values = kernels::VectorBuilder::new(segment.physical);
    for key in min..=max {
        let value = crate::fixed::value_of_key(segment.physical, key);
        values.push_value(&value.expect("truncated values are integers"));
    }
    if has_nulls(segment) {
        values.push_null();
    }
    values.finish()
}

/// Share of the rows expected to pass, by codes alone.
pub(super) fn selectivity(block: &Block, column: usize, test: &CodeTest) -> f64 {
    let all = f64::from(code_last(block, column)) + 1.0;
    match test {
        CodeTest::All | CodeTest::Values => 1.0,
        CodeTest::None => 0.0,
        CodeTest::Range(lo, hi) => ((f64::from(*hi) - f64::from(*lo) + 1.0) / all).min(1.0),
        CodeTest::Not { .. } => 1.0 - 1.0 / all,
        CodeTest::Bits(bits) => bits.count_ones() as f64 / all,
        CodeTest::Set(codes) => codes.len() as f64 / all,
    }
}
