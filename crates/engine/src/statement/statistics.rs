//! Answers the planner's questions about stored tables.
//!
//! Selectivities come from a row sample: the predicate is evaluated on sampled rows, so correlated
//! columns and LIKE patterns are estimated as they are.

use std::cell::RefCell;
use std::sync::Arc;

use catalog::wide::WideReader;
use catalog::{State, TableEntry, wide};
use kernels::hash::hash_columns;
use kernels::{Batch, Column, Vector, VectorData};
use parking_lot::Mutex;
use plan::{
    ColumnStatistics, Exactness, SampleColumn, SampleMatch, SampledRows, Statistics,
    TableStatistics,
};
use sql::algebra::{ColumnId, Expr};
use sql::catalog::TableRef;
use storage::Table;
use types::{Error, PhysicalType, Result, Value, budget};

use crate::session::compiled::Reliance;

/// Statistics of the tables of a database.
#[derive(Default)]
pub(crate) struct StoredStatistics {
    /// The tables asked about, as they were before.
    asked: RefCell<Vec<Reliance>>,
    /// Where wide tables are looked up, and which may be read.
    wide: Option<(Arc<State>, WideReader)>,
}

impl StoredStatistics {
    /// Statistics for queries that read these wide tables in the place of others.
    pub(crate) fn with_wide(state: Arc<State>, reader: WideReader) -> Self {
        Self { wide: Some((state, reader)), ..Self::default() }
    }

    /// Facts that a plan made with these statistics relies on.
    pub(crate) fn asked(self) -> Vec<Reliance> {
        self.asked.into_inner()
    }

    /// Notes that a plan relies on `table`, whose range epoch was `epoch` before its statistics
    /// were read.
    fn note(&self, table: &Arc<Table>, epoch: u64) {
        let mut asked = self.asked.borrow_mut();
        if !asked.iter().any(|known| Arc::ptr_eq(&known.table, table)) {
            let state = self.wide.as_ref().map(|(state, _)| state);
            let entry = state.and_then(|state| state.entry_of(table));
            let lock = entry.map(|entry| Arc::clone(&entry.lock));
            let is_unfilled = |entry: &&Arc<TableEntry>| {
                entry.def.materialized.as_ref().is_some_and(|of| !of.is_filled)
            };
            let unfilled = entry.filter(is_unfilled).map(|entry| entry.def.bare_name().into());
            asked.push(Reliance { lock, epoch, unfilled, ..Reliance::on(Arc::clone(table)) });
        }
    }
}

/// The sample of a table, and the groups that sets of its columns are known to make.
#[derive(Debug)]
struct Sample {
    stored: Arc<storage::TableStatistics>,
    known: Mutex<Vec<(Vec<usize>, f64)>>,
}

impl SampledRows for Sample {
    fn groups(&self, ordinals: &[usize]) -> f64 {
        let mut known = self.known.lock();
        if let Some((_, groups)) = known.iter().find(|(columns, _)| columns == ordinals) {
            return *groups;
        }
        let sample = self.stored.sample();
        let columns = ordinals.iter().map(|&ordinal| sample.columns.get(ordinal));
        let Some(columns) = columns.collect::<Option<Vec<&Column>>>() else {
            return self.stored.rows as f64;
        };
        let mut hashes = Vec::new();
        hash_columns(&columns, sample.rows, &mut hashes);
        let values = repetition(&mut hashes);
        let groups = values.distinct_of(sample.rows as f64, self.stored.rows as f64);
        known.push((ordinals.to_vec(), groups));
        groups
    }
}

/// Rows of a sample from which on their values say something.
const MET_MIN: usize = 8;

/// How many of the values with these hashes differ, and how many of them come once.
fn repetition(hashes: &mut [u64]) -> SampleColumn {
    hashes.sort_unstable();
    let mut values = SampleColumn { distinct: 0.0, once: 0.0, ends: None };
    for equal in hashes.chunk_by(|a, b| a == b) {
        values.distinct += 1.0;
        values.once += if equal.len() == 1 { 1.0 } else { 0.0 };
    }
    values
}

/// The values of `column` in the rows at `positions`.
fn met(column: &Column, positions: &[u32]) -> SampleColumn {
    let column = column.gather(positions);
    let mut hashes = Vec::new();
    hash_columns(&[&column], positions.len(), &mut hashes);
    let number = |value: Value| match value {
        Value::F64(number) => Some(number),
        other => other.as_integer().map(|number| number as f64),
    };
    let numbers = (0..positions.len()).filter_map(|row| number(column.value(row)));
    let is_number = !matches!(column.physical(), PhysicalType::Str | PhysicalType::Interval);
    let ends = is_number.then(|| {
        let widened = |ends: Option<(f64, f64)>, number: f64| {
            let (low, high) = ends.unwrap_or((number, number));
            Some((low.min(number), high.max(number)))
        };
        numbers.fold(None, widened)
    });
    SampleColumn { ends: ends.flatten(), ..repetition(&mut hashes) }
}

impl Statistics for StoredStatistics {
    fn table(&self, table: &TableRef) -> TableStatistics {
        let Ok(storage) = exec::stored_table(table) else {
            return TableStatistics { rows: 1000.0, ..TableStatistics::default() };
        };
        let epoch = storage.range_epoch();
        let stored = storage.statistics();
        self.note(&storage, epoch);
        let column = |c: &storage::ColumnStatistics| ColumnStatistics {
            distinct: c.estimates.distinct,
            min: c.min.clone(),
            max: c.max.clone(),
            bounds: if c.bounds_exact { Exactness::Exact } else { Exactness::Estimate },
            null_fraction: c.estimates.null_fraction,
            bytes_average: c.estimates.bytes_average,
            frequent: Arc::clone(&c.estimates.frequent),
        };
        let columns = stored.columns.iter().map(column).collect();
        let rows = stored.rows as f64;
        let is_any = stored.sample().rows > 0;
        let sample = is_any.then(|| Arc::new(Sample { stored, known: Mutex::default() }) as _);
        TableStatistics { rows, columns, sample }
    }

    fn sample(
        &self,
        table: &TableRef,
        columns: &[(ColumnId, usize)],
        predicate: &Expr,
    ) -> Option<SampleMatch> {
        let storage = exec::stored_table(table).ok()?;
        let epoch = storage.range_epoch();
        let stored = storage.statistics();
        self.note(&storage, epoch);
        let rows = stored.sample().rows;
        if rows == 0 {
            return None;
        }
        let sample = |&(_, ordinal): &(ColumnId, usize)| match stored.sample().columns.get(ordinal)
        {
            Some(column) => column.clone(),
            // The TID, which no predicate of a user names.
            None => Column::plain(Vector::repeat(PhysicalType::I64, &Value::I64(0), rows)),
        };
        let vectors: Vec<Column> = columns.iter().map(sample).collect();
        let position = |id: ColumnId| columns.iter().position(|(c, _)| *c == id);
        let expr = plan::lower(predicate, &position).ok()?;
        let evaluator = exec::expr::Evaluator::new(&expr).ok()?;
        let batch = Batch::new(vectors, rows);
        let mut positions: Vec<u32> = (0..rows as u32).collect();
        evaluator.select(&batch, &mut positions).ok()?;
        let hits = positions.len();
        let says_more = (MET_MIN..rows - rows / 8).contains(&hits);
        let columns = says_more.then(|| batch.columns.iter().map(|c| met(c, &positions)).collect());
        let columns = columns.unwrap_or_default();
        Some(SampleMatch { rows: rows as f64, hits: hits as f64, columns })
    }

    fn wide_tables(&self, fact: &TableRef) -> Vec<plan::WideTable> {
        let known = self.wide.as_ref();
        known.map_or_else(Vec::new, |(state, reader)| wide::readable(state, reader, fact))
    }

    fn fold(&self, expr: &Expr) -> Result<Value> {
        let none = |_: ColumnId| None;
        let expr = plan::lower(expr, &none)?;
        let evaluator = exec::expr::Evaluator::new(&expr)?;
        let column = evaluator.evaluate(&Batch::new(Vec::new(), 1))?;
        if column.is_empty() {
            return Err(Error::internal("a constant has one row"));
        }
        // Nobody counts what a plan holds: long values are made when they are read.
        let vector = column.to_vector();
        if let VectorData::Str(strings) = &vector.data
            && strings.get(0).len() >= budget::LARGE_BYTES
        {
            return Err(budget::too_long());
        }
        Ok(vector.value(0))
    }
}
