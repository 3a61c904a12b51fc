//! Statistics of a table for the planner: counts, bounds, distinct values, a sample of rows.
//!
//! ```text
//! load, freeze      -> ColumnSummary per column --merge--> table --> TableStatistics
//! hot block, asked  -> Sample of rows           --merge-->
//! large hot, asked  -> a few rows           --few----> table, until a thread has gathered
//! write             -> Bounds
//! checkpoint        -> table as bytes (`stored`) -> table, after opening
//! ```
//! Invariants: bounds are never too narrow (`bounds`) and read when asked for; the rest is an
//! estimate, old by a tenth of the rows as a rule; the sample is uniform. Writes touch bounds only.
//! Elsewhere: who gathers, and when (`table::gathering`).
//! Cost at freeze: a dictionary is hashed by entry, one- and two-byte codes by distinct code, other
//! values by row (2 ns); the sample takes at most 2,048 rows of a block.

mod bounds;
mod few;
mod frequent;
mod known;
mod sample;
mod sketch;
mod stored;

use std::sync::{Arc, OnceLock};

use kernels::{Batch, Column, Vector, VectorData};
use types::{PhysicalType, Value};

use crate::block::Block;
use crate::fixed::{Fixed, float_key, with_fixed};
pub(crate) use bounds::{Bounds, ColumnBounds};
pub use frequent::FrequentValues;
pub use known::StatisticsSource;
pub(crate) use known::{Grade, Keepable, Kept, Known, Looks, Stored};
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
    /// No value of any snapshot is smaller; None without values, and for intervals.
    pub min: Option<Value>,
    /// No value of any snapshot is larger.
    pub max: Option<Value>,
    /// `min` and `max` hold as long as [`TableStatistics::range_epoch`] does: whole numbers.
    /// Otherwise they held when they were read.
    pub bounds_exact: bool,
    /// Estimates, which may be older than the bounds.
    pub estimates: ColumnEstimates,
}

/// Estimates of one column.
#[derive(Clone, Debug)]
pub struct ColumnEstimates {
    /// Estimated distinct values, NULL apart; standard error 1.6 percent where all rows were read,
    /// never more than there are rows.
    pub distinct: f64,
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
    /// Rows at that moment.
    pub rows: u64,
    /// The epoch of the bounds, see [`crate::Table::range_epoch`].
    pub range_epoch: u64,
    /// Statistics by ordinal.
    pub columns: Vec<ColumnStatistics>,
    estimates: Arc<Estimates>,
}

/// A table as it was at an earlier moment, by all of its rows or by some.
#[derive(Debug)]
pub(crate) struct Estimates {
    /// Rows when they were made.
    pub(crate) rows: u64,
    columns: Vec<ColumnEstimates>,
    sample: Batch,
    histograms: Vec<OnceLock<Vec<Value>>>,
}

/// Bounds of an equi-depth histogram.
const HISTOGRAM_BOUNDS: usize = 65;

/// Share of distinct values in the rows from which on a column is taken to get new values with new
/// rows, as PostgreSQL does.
const GROWING_SHARE: f64 = 0.1;

impl Estimates {
    /// Estimates for `rows` rows in `blocks`, all of which `columns` summarise.
    pub(crate) fn gathered(
        rows: u64,
        blocks: &[Arc<Block>],
        columns: &[ColumnSummary],
        sample: &mut Sample,
    ) -> Self {
        let sampled = sample.columns();
        let columns = columns.iter().enumerate().map(|(i, summary)| {
            let values = summary.rows - summary.nulls;
            ColumnEstimates {
                distinct: summary.sketch.estimate().min(values as f64),
                null_fraction: summary.nulls as f64 / summary.rows.max(1) as f64,
                bytes_average: summary.string_bytes as f64 / values.max(1) as f64,
                frequent: frequent::frequent(&sampled[i]),
                clustered: is_clustered(blocks, i),
            }
        });
        Self::new(rows, columns.collect(), sampled)
    }

    /// Estimates for `rows` rows in `blocks`, of which `sampled` are some.
    pub(crate) fn peeked(rows: u64, blocks: &[Arc<Block>], sampled: &[Vector]) -> Self {
        let columns = sampled.iter().enumerate().map(|(i, column)| {
            let few = few::Few::of(column);
            ColumnEstimates {
                distinct: few.distinct(rows),
                null_fraction: few.null_fraction(),
                bytes_average: few.bytes_average(),
                frequent: frequent::frequent(column),
                clustered: is_clustered(blocks, i),
            }
        });
        Self::new(rows, columns.collect(), sampled)
    }

    fn new(rows: u64, columns: Vec<ColumnEstimates>, sampled: &[Vector]) -> Self {
        let sampled_rows = sampled.first().map_or(0, Vector::len);
        let histograms = columns.iter().map(|_| OnceLock::new()).collect();
        let sampled = sampled.iter().cloned().map(Column::plain).collect();
        Self { rows, columns, sample: Batch::new(sampled, sampled_rows), histograms }
    }
}

impl TableStatistics {
    /// `estimates` for a table that has `rows` rows and these bounds now.
    pub(crate) fn new(
        rows: u64,
        (range_epoch, bounds): (u64, Vec<ColumnBounds>),
        estimates: Arc<Estimates>,
    ) -> Self {
        let growth = (rows as f64 / estimates.rows.max(1) as f64).max(1.0);
        let columns = estimates.columns.iter().zip(bounds).map(|(known, bounds)| {
            let mut column = known.clone();
            if column.distinct > GROWING_SHARE * estimates.rows as f64 {
                column.distinct *= growth;
            }
            if !bounds.has_null {
                column.null_fraction = 0.0;
            }
            let ColumnBounds { min, max, is_exact, .. } = bounds;
            ColumnStatistics { min, max, bounds_exact: is_exact, estimates: column }
        });
        Self { rows, range_epoch, columns: columns.collect(), estimates }
    }

    /// True when `other` says the same: bounds that prove nothing apart.
    fn is_of(&self, other: &Self) -> bool {
        self.rows == other.rows && self.range_epoch == other.range_epoch
    }

    /// A uniform sample of up to 4,096 rows, all of them in a small table, as they were when the
    /// estimates were made.
    pub fn sample(&self) -> &Batch {
        &self.estimates.sample
    }

    /// Up to 65 ascending values of column `column` with equally many rows between neighbours, from
    /// the sample; the first and last are the smallest and largest sampled. Empty without values.
    pub fn histogram(&self, column: usize) -> &[Value] {
        self.estimates.histograms[column].get_or_init(|| {
            let vector = self.sample().columns[column].to_vector();
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
fn is_clustered(blocks: &[Arc<Block>], column: usize) -> bool {
    let frozen = blocks.iter().filter(|b| b.hot.is_none());
    let ranges: Vec<(i128, i128)> = frozen.filter_map(|b| b.sma_keys(column)).collect();
    let min = ranges.iter().map(|r| r.0).min();
    let max = ranges.iter().map(|r| r.1).max();
    let (Some(min), Some(max), 3..) = (min, max, ranges.len()) else {
        return false;
    };
    let width = |(lo, hi): (i128, i128)| hi as f64 - lo as f64 + 1.0;
    ranges.iter().map(|&r| width(r)).sum::<f64>() < 2.0 * width((min, max))
}
