//! Statistics of a table for the planner: counts, bounds, distinct values, a sample of rows.
//!
//! ```text
//! load, freeze      -> ColumnSummary per column --merge--> table --> TableStatistics
//! hot block, asked  -> Sample of rows           --merge-->
//! write             -> Bounds
//! ```
//! Invariants: bounds are never too narrow (`bounds`); the rest is an estimate, made again when
//! asked for after a tenth of the rows changed; the sample is uniform. Writes touch bounds only.
//! Cost at freeze: a dictionary is hashed by entry, one- and two-byte codes by distinct code, other
//! values by row (2 ns); the sample takes at most 2,048 rows of a block.

mod bounds;
mod frequent;
mod known;
mod sample;
mod sketch;

use std::sync::OnceLock;

use kernels::{Batch, Column, Vector, VectorData};
use types::{PhysicalType, Value};

use crate::block::Block;
use crate::fixed::{Fixed, float_key, with_fixed};
pub(crate) use bounds::{Bounds, ColumnBounds};
pub use frequent::FrequentValues;
pub(crate) use known::Known;
pub(crate) use sample::Sample;
pub(crate) use sketch::{Sketch, hash_bytes, hash_number};

/// Summary of one column of some rows.
#[derive(Clone, Debug)]
pub(crate) struct ColumnSummary {
    pub(crate) rows: u64,
    pub(crate) nulls: u64,
    /// None without values, and for intervals.
    pub(crate) min: Option<Value>,
    pub(crate) max: Option<Value>,
    pub(crate) sketch: Sketch,
    /// Bytes of all strings.
    pub(crate) string_bytes: u64,
}

impl ColumnSummary {
    /// Summary of `rows` NULLs.
    pub(crate) fn nulls(rows: usize) -> Self {
        let rows = rows as u64;
        let sketch = Sketch::default();
        Self { rows, nulls: rows, min: None, max: None, sketch, string_bytes: 0 }
    }

    /// Summary of the rows of `vector`.
    pub(crate) fn of(vector: &Vector) -> Self {
        let mut summary = Self::nulls(0);
        summary.add(vector);
        summary
    }

    /// Adds the rows of `vector`.
    pub(crate) fn add(&mut self, vector: &Vector) {
        let valid: Vec<usize> = (0..vector.len()).filter(|&i| !vector.is_null(i)).collect();
        let (mut least, mut most) = (None, None);
        with_fixed!(vector.physical(), T => {
            let values = <T as Fixed>::slice(&vector.data);
            let key = |&i: &usize| values[i].key();
            if vector.physical() != PhysicalType::Interval {
                least = valid.iter().copied().min_by_key(key);
                most = valid.iter().copied().max_by_key(key);
            }
            valid.iter().for_each(|i| self.sketch.insert(hash_number(key(i) as u128)));
        }, {
            let strings = vector.as_str();
            let text = |&i: &usize| strings.get(i);
            least = valid.iter().copied().min_by_key(text);
            most = valid.iter().copied().max_by_key(text);
            valid.iter().for_each(|i| self.sketch.insert(hash_bytes(text(i))));
            self.string_bytes += valid.iter().map(|i| text(i).len() as u64).sum::<u64>();
        });
        let bounds = (least.map(|i| vector.value(i)), most.map(|i| vector.value(i)));
        self.widen(bounds, !valid.is_empty());
        self.rows += vector.len() as u64;
        self.nulls += (vector.len() - valid.len()) as u64;
    }

    /// Takes the bounds of more rows, which have values if `any`.
    fn widen(&mut self, (min, max): (Option<Value>, Option<Value>), any: bool) {
        if self.rows == self.nulls {
            (self.min, self.max) = (min, max);
        } else if any {
            if is_less(min.as_ref(), self.min.as_ref()) {
                self.min = min;
            }
            if is_less(self.max.as_ref(), max.as_ref()) {
                self.max = max;
            }
        }
    }

    /// Adds the rows of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.widen((other.min.clone(), other.max.clone()), other.rows > other.nulls);
        self.rows += other.rows;
        self.nulls += other.nulls;
        self.string_bytes += other.string_bytes;
        self.sketch.merge(&other.sketch);
    }
}

fn is_less(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => a < b,
        (Some(Value::F64(a)), Some(Value::F64(b))) => float_key(*a) < float_key(*b),
        (Some(Value::Str(a)), Some(Value::Str(b))) => a < b,
        (Some(a), Some(b)) => a.as_integer() < b.as_integer(),
        _ => false,
    }
}

/// Statistics of one column.
#[derive(Clone, Debug)]
pub struct ColumnStatistics {
    /// Estimated distinct values, NULL apart; standard error 1.6 percent, never more than there are
    /// rows.
    pub distinct: f64,
    /// No value of any snapshot is smaller; None without values, and for intervals.
    pub min: Option<Value>,
    /// No value of any snapshot is larger.
    pub max: Option<Value>,
    /// `min` and `max` hold as long as [`TableStatistics::range_epoch`] does: whole numbers.
    /// Otherwise they held when the statistics were made.
    pub bounds_exact: bool,
    /// Share of NULLs, 0 to 1.
    pub null_fraction: f64,
    /// Average bytes of a string that is not NULL; 0 for other types.
    pub bytes_average: f64,
    /// The most frequent values.
    pub frequent: FrequentValues,
    /// Blocks hold nearly separate ranges of values, so that a range restriction skips most of
    /// them.
    pub clustered: bool,
}

/// Statistics of a table at one moment.
#[derive(Debug)]
pub struct TableStatistics {
    /// Rows when the statistics were made.
    pub rows: u64,
    /// The epoch of the bounds, see [`crate::Table::range_epoch`].
    pub range_epoch: u64,
    /// Bytes of memory of its blocks.
    pub bytes: u64,
    /// Statistics by ordinal.
    pub columns: Vec<ColumnStatistics>,
    /// A uniform sample of up to 4,096 rows, all of them in a small table.
    pub sample: Batch,
    histograms: Vec<OnceLock<Vec<Value>>>,
}

/// Bounds of an equi-depth histogram.
const HISTOGRAM_BOUNDS: usize = 65;

impl TableStatistics {
    /// Statistics of `rows` rows in `blocks`.
    pub(crate) fn new(
        rows: u64,
        blocks: &[std::sync::Arc<Block>],
        columns: &[ColumnSummary],
        (range_epoch, bounds): (u64, Vec<ColumnBounds>),
        sample: &mut Sample,
    ) -> Self {
        let columns = columns.iter().zip(bounds);
        let sampled = sample.columns();
        let statistics = columns.enumerate().map(|(i, (summary, bounds))| {
            let values = summary.rows - summary.nulls;
            let nulls = summary.nulls as f64 / summary.rows.max(1) as f64;
            ColumnStatistics {
                distinct: summary.sketch.estimate().min(values as f64),
                min: bounds.min,
                max: bounds.max,
                bounds_exact: bounds.is_exact,
                null_fraction: if bounds.has_null { nulls } else { 0.0 },
                bytes_average: summary.string_bytes as f64 / values.max(1) as f64,
                frequent: frequent::frequent(&sampled[i]),
                clustered: is_clustered(blocks, i),
            }
        });
        let columns: Vec<ColumnStatistics> = statistics.collect();
        let sampled = sampled.iter().cloned().map(Column::plain).collect();
        Self {
            rows,
            range_epoch,
            bytes: blocks.iter().map(|b| b.bytes()).sum(),
            histograms: columns.iter().map(|_| OnceLock::new()).collect(),
            columns,
            sample: Batch::new(sampled, sample.rows()),
        }
    }

    /// Up to 65 ascending values of column `column` with equally many rows between neighbours, from
    /// the sample; the first and last are the smallest and largest sampled. Empty without values.
    pub fn histogram(&self, column: usize) -> &[Value] {
        self.histograms[column].get_or_init(|| {
            let vector = self.sample.columns[column].to_vector();
            let mut rows: Vec<usize> = (0..vector.len()).filter(|&i| !vector.is_null(i)).collect();
            match &vector.data {
                VectorData::Str(v) => rows.sort_by(|&a, &b| v.get(a).cmp(v.get(b))),
                data => with_fixed!(vector.physical(), T => {
                    rows.sort_by_key(|&i| <T as Fixed>::slice(data)[i].key());
                }, unreachable!("strings have their own arm")),
            }
            let bounds = HISTOGRAM_BOUNDS.min(rows.len());
            let at = |b: usize| rows[b * (rows.len() - 1) / (bounds - 1).max(1)];
            (0..bounds).map(|b| vector.value(at(b))).collect()
        })
    }
}

/// True when the ranges of the frozen blocks, one after the other, cover their union less than
/// twice.
fn is_clustered(blocks: &[std::sync::Arc<Block>], column: usize) -> bool {
    let frozen = blocks.iter().filter(|b| !b.cache.is_empty());
    let ranges: Vec<(i128, i128)> = frozen.filter_map(|b| b.sma_keys(column)).collect();
    let min = ranges.iter().map(|r| r.0).min();
    let max = ranges.iter().map(|r| r.1).max();
    let (Some(min), Some(max), 3..) = (min, max, ranges.len()) else {
        return false;
    };
    let width = |(lo, hi): (i128, i128)| hi as f64 - lo as f64 + 1.0;
    ranges.iter().map(|&r| width(r)).sum::<f64>() < 2.0 * width((min, max))
}
