//! Keys of one or several columns as one 64-bit code per row.
//!
//! ```text
//! code = (a - min a) + (b - min b) * card a + ...   exact: the build side's ranges fit in 64 bits
//! code = hash of the columns                        otherwise
//! ```
//! Ranges are those of the build side, known before the first probe; a probe value outside can
//! match nothing. NULL has no code where it matches nothing, else code 0 of its column.

use std::ops::Range;

use types::Interval;

use crate::hash::hash_columns;
use crate::level::flavours;
use crate::{Column, Vector, VectorData};

/// The code of a row that can match nothing.
pub const MISS: u64 = u64::MAX;

/// Treatment of a NULL in a key column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullCode {
    /// The row matches nothing.
    Miss,
    /// NULL is a value like others.
    Value,
}

/// One key column.
#[derive(Clone, Debug)]
struct Part {
    /// Smallest and largest image of the build side; none without values.
    limits: Option<(i128, i128)>,
    /// Code of the smallest value: 1 where NULL is 0.
    shift: u64,
    /// Factor of this column's codes.
    stride: u64,
    null: NullCode,
}

/// Turns key columns into codes; made from the build side, used for both.
#[derive(Clone, Debug)]
pub struct KeyCoder {
    parts: Vec<Part>,
    /// Exact codes are below this; none for hashes.
    range: Option<u64>,
}

fn image_f64(value: f64) -> i64 {
    let canonical = if value.is_nan() { f64::NAN } else { value + 0.0 };
    canonical.to_bits() as i64
}

flavours! {
    fn min_max_of[T: Copy, I: Ord + Copy, F: Fn(T) -> I](values: &[T], image: F) -> Option<(I, I)> {
        let first = image(*values.first()?);
        let (mut min, mut max) = (first, first);
        for &value in values {
            let value = image(value);
            min = if value < min { value } else { min };
            max = if value > max { value } else { max };
        }
        Some((min, max))
    }

    /// Adds a column's part of the code; `image` gives the distance from the smallest value, and
    /// rows that are farther than `span` become [`MISS`].
    fn add_part[T: Copy, F: Fn(T) -> u64](
        values: &[T], codes: &mut [u64], span: u64, shift: u64, stride: u64, distance: F
    ) {
        for (code, &value) in codes.iter_mut().zip(values) {
            let distance = distance(value);
            let sum = code.wrapping_add(distance.wrapping_add(shift).wrapping_mul(stride));
            *code = if (distance <= span) & (*code != MISS) { sum } else { MISS };
        }
    }
}

/// Smallest and largest image of the rows that are not NULL.
fn limits(vector: &Vector) -> Option<(i128, i128)> {
    if vector.validity.is_some() {
        let rows = vector.validity.as_ref().map(|v| v.ones()).unwrap_or_default();
        return limits(&vector.gather(&rows));
    }
    let wide = |limits: Option<(i64, i64)>| limits.map(|(a, b)| (i128::from(a), i128::from(b)));
    match &vector.data {
        VectorData::Bool(v) => wide(min_max_of(v, i64::from)),
        VectorData::I32(v) => {
            min_max_of(v, |x: i32| x).map(|(a, b)| (i128::from(a), i128::from(b)))
        }
        VectorData::I64(v) => wide(min_max_of(v, |x: i64| x)),
        VectorData::F64(v) => wide(min_max_of(v, image_f64)),
        VectorData::I128(v) => min_max_of(v, |x: i128| x),
        VectorData::Interval(v) => min_max_of(v, Interval::comparable),
        VectorData::Str(_) => None,
    }
}

impl Part {
    /// The part of a build column, and how many codes it takes; none when they are too many.
    fn new(vector: &Vector, null: NullCode) -> (Self, Option<u64>) {
        let limits = limits(vector);
        let shift = u64::from(null == NullCode::Value);
        let count = match limits {
            _ if matches!(vector.data, VectorData::Str(_)) => None,
            None => Some(shift),
            Some((min, max)) => {
                let span = max.wrapping_sub(min) as u128;
                u64::try_from(span).ok().and_then(|s| s.checked_add(1 + shift))
            }
        };
        (Self { limits, shift, stride: 1, null }, count)
    }

    fn add(&self, vector: &Vector, rows: Range<usize>, codes: &mut [u64]) {
        let before = vector.validity.is_some().then(|| codes.to_vec());
        match self.limits {
            None => codes.fill(MISS),
            Some((min, max)) => self.add_values(vector, rows.clone(), (min, max), codes),
        }
        let (Some(before), Some(validity)) = (before, &vector.validity) else {
            return;
        };
        for (i, code) in codes.iter_mut().enumerate() {
            if !validity.get(rows.start + i) {
                *code = match self.null {
                    NullCode::Miss => MISS,
                    NullCode::Value => before[i],
                };
            }
        }
    }

    fn add_values(
        &self,
        vector: &Vector,
        rows: Range<usize>,
        (min, max): (i128, i128),
        codes: &mut [u64],
    ) {
        let (shift, stride) = (self.shift, self.stride);
        // A span fits in 64 bits (`new`); the smallest value of a 64-bit type does too.
        let span = max.wrapping_sub(min) as u64;
        let low = min as i64;
        let near = move |value: i64| value.wrapping_sub(low) as u64;
        // `near` wraps around for values below the smallest of a span beyond 2^63; so it takes this
        // comparison besides that with the span.
        let far = move |value: i64| if value < low { u64::MAX } else { near(value) };
        let wide =
            move |value: i128| u64::try_from(value.wrapping_sub(min) as u128).unwrap_or(u64::MAX);
        match &vector.data {
            VectorData::Bool(v) => {
                add_part(&v[rows], codes, span, shift, stride, |x| far(i64::from(x)));
            }
            VectorData::I32(v) => {
                add_part(&v[rows], codes, span, shift, stride, |x| far(i64::from(x)));
            }
            VectorData::I64(v) => add_part(&v[rows], codes, span, shift, stride, far),
            VectorData::F64(v) => {
                add_part(&v[rows], codes, span, shift, stride, |x| far(image_f64(x)));
            }
            VectorData::I128(v) => add_part(&v[rows], codes, span, shift, stride, wide),
            VectorData::Interval(v) => {
                let image = |x: Interval| wide(x.comparable());
                add_part(&v[rows], codes, span, shift, stride, image);
            }
            VectorData::Str(_) => unreachable!("strings have no exact code"),
        }
    }
}

impl KeyCoder {
    /// The coder for a build side with these key columns, of all its rows.
    pub fn new(columns: &[&Vector], nulls: &[NullCode]) -> Self {
        let mut parts = Vec::with_capacity(columns.len());
        let mut range = Some(1u64);
        for (column, &null) in columns.iter().zip(nulls) {
            let (mut part, count) = Part::new(column, null);
            part.stride = range.unwrap_or(1);
            let product = |r: u64| count.and_then(|c| r.checked_mul(c));
            // One code is kept for MISS.
            range = range.and_then(product).filter(|&r| r < MISS);
            parts.push(part);
        }
        Self { parts, range }
    }

    /// True when equal codes mean equal keys.
    pub fn is_exact(&self) -> bool {
        self.range.is_some()
    }

    /// Exact codes are below this.
    pub fn range(&self) -> Option<u64> {
        self.range
    }

    /// Smallest value and number of values of the only column, when it is one and codes are exact:
    /// the code of a value is its distance from the smallest (plus one where NULL is a value).
    pub fn single_min(&self) -> Option<i128> {
        match (self.parts.as_slice(), self.range) {
            ([part], Some(_)) => part.limits.map(|(min, _)| min),
            _ => None,
        }
    }

    /// Replaces `codes` by the codes of rows `rows` of the build side's plain columns.
    pub fn encode_vectors(&self, columns: &[&Vector], rows: Range<usize>, codes: &mut Vec<u64>) {
        if self.range.is_none() {
            let slice = |v: &&Vector| Column::plain(v.slice(rows.start, rows.len()));
            let columns: Vec<Column> = columns.iter().map(slice).collect();
            return self.hash(&columns.iter().collect::<Vec<_>>(), rows.len(), codes);
        }
        codes.clear();
        codes.resize(rows.len(), 0);
        for (part, column) in self.parts.iter().zip(columns) {
            part.add(column, rows.clone(), codes);
        }
    }

    /// Replaces `codes` by the codes of all `rows` rows of a probe batch's key columns.
    pub fn encode(&self, columns: &[&Column], rows: usize, codes: &mut Vec<u64>) {
        if self.range.is_none() {
            return self.hash(columns, rows, codes);
        }
        codes.clear();
        codes.resize(rows, 0);
        for (part, column) in self.parts.iter().zip(columns) {
            part.add(&column.to_vector(), 0..rows, codes);
        }
    }

    fn hash(&self, columns: &[&Column], rows: usize, codes: &mut Vec<u64>) {
        hash_columns(columns, rows, codes);
        for code in codes.iter_mut().filter(|c| **c == MISS) {
            *code = 0;
        }
        for (part, column) in self.parts.iter().zip(columns) {
            if part.null == NullCode::Miss {
                mark_nulls(column, codes);
            }
        }
    }
}

/// Makes the code of each row where `column` is NULL [`MISS`].
fn mark_nulls(column: &Column, codes: &mut [u64]) {
    match column {
        Column::Plain(v) => {
            if let Some(validity) = &v.validity {
                validity.not().ones().iter().for_each(|&row| codes[row as usize] = MISS);
            }
        }
        Column::Constant(v, _) => {
            if v.is_null(0) {
                codes.fill(MISS);
            }
        }
        Column::Dictionary(entries, v) => {
            if v.validity.is_some() {
                for (code, &entry) in codes.iter_mut().zip(entries.iter()) {
                    *code = if v.is_null(entry as usize) { MISS } else { *code };
                }
            }
        }
    }
}
