//! Build rows by whether a probe row met them, put out after the probe.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use kernels::{BATCH_ROWS, Column, Vector};
use storage::Positions;
use types::{PhysicalType, Result, Value};

use crate::flow::{Flow, RowSource};
use crate::pipeline::{Demand, Push, Source};

use super::build::BuildRows;
use super::layout::Layout;
use super::probe::row_numbers;

/// A bit per build row, set by all workers.
pub(super) struct MatchedRows {
    words: Vec<AtomicU64>,
    rows: usize,
    left: AtomicUsize,
}

impl MatchedRows {
    /// No row of `rows` is matched.
    pub(super) fn new(rows: usize) -> Self {
        let words = (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { words, rows, left: AtomicUsize::new(rows) }
    }

    /// True when every row is matched: nothing is left to find.
    pub(super) fn is_full(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Marks `rows`.
    pub(super) fn mark(&self, rows: &[u32]) {
        let mut new = 0;
        for &row in rows {
            let (word, bit) = (&self.words[row as usize / 64], 1u64 << (row % 64));
            // Most rows of a popular key are marked already: to look first keeps the line shared.
            if word.load(Ordering::Relaxed) & bit == 0 {
                new += usize::from(word.fetch_or(bit, Ordering::Relaxed) & bit == 0);
            }
        }
        if new > 0 {
            self.left.fetch_sub(new, Ordering::Relaxed);
        }
    }
}

/// Which build rows come after the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The rows that met a probe row.
    Matched,
    /// The other rows.
    Unmatched,
}

/// Build rows per work order.
const ORDER_ROWS: usize = 1 << 16;

struct MarkedSource {
    matched: Arc<MatchedRows>,
    wanted: Wanted,
    build: Arc<BuildRows>,
    layout: Arc<Layout>,
    /// One NULL per kept probe column.
    nulls: Vec<Arc<Vector>>,
    /// The output in terms of stored build columns, then NULL columns.
    output: Vec<usize>,
}

/// The source of the wanted build rows, complete once the probe has ended; `probe_types` are those
/// of the probe side's columns, which are NULL.
pub(super) fn source(
    matched: Arc<MatchedRows>,
    wanted: Wanted,
    build: Arc<BuildRows>,
    layout: Arc<Layout>,
    probe_types: Vec<PhysicalType>,
) -> Arc<dyn Source> {
    let null = |&c: &usize| Arc::new(Vector::repeat(probe_types[c], &Value::Null, 1));
    let nulls: Vec<_> = layout.probe.iter().map(null).collect();
    let kept = layout.probe.len();
    let stored = layout.build.len();
    let swap = |&c: &usize| match c {
        _ if c < kept => stored + c,
        // The number stands last on either way.
        _ if c == kept + stored => c,
        _ => c - kept,
    };
    let output = layout.output.iter().map(swap).collect();
    Arc::new(MarkedSource { matched, wanted, build, layout, nulls, output })
}

impl MarkedSource {
    fn push_rows(&self, rows: Vec<u32>, push: &mut Push<'_>) -> Result<Demand> {
        let count = rows.len();
        if count == 0 {
            return Ok(Demand::More);
        }
        let numbers = self.layout.is_numbered().then(|| row_numbers(&rows));
        let source = Arc::clone(&self.build) as Arc<dyn RowSource>;
        let mut flow = Flow::from_source(source, self.layout.build.len(), Positions::List(rows));
        for null in &self.nulls {
            flow.append_column(Column::Constant(Arc::clone(null), count));
        }
        if let Some(numbers) = numbers {
            flow.append_column(numbers);
        }
        push(flow.project(&self.output))
    }
}

impl Source for MarkedSource {
    fn orders(&self) -> usize {
        self.matched.rows.div_ceil(ORDER_ROWS)
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let first = order * ORDER_ROWS / 64;
        let last = (first + ORDER_ROWS / 64).min(self.matched.words.len());
        let mut rows = Vec::new();
        for word in first..last {
            let matched = self.matched.words[word].load(Ordering::Relaxed);
            let count = (self.matched.rows - word * 64).min(64);
            let mut bits = match self.wanted {
                Wanted::Matched => matched,
                Wanted::Unmatched => !matched & (u64::MAX >> (64 - count)),
            };
            while bits != 0 {
                rows.push(word as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
            if rows.len() >= BATCH_ROWS
                && self.push_rows(std::mem::take(&mut rows), push)? == Demand::Enough
            {
                return Ok(Demand::Enough);
            }
        }
        self.push_rows(rows, push)
    }
}
