//! Answers the planner's questions about stored tables.
//!
//! Selectivities come from a row sample: the predicate is evaluated on sampled rows, so correlated
//! columns and LIKE patterns are estimated as they are.

use std::cell::RefCell;
use std::sync::Arc;

use kernels::{Batch, Column, Vector, VectorData};
use plan::{ColumnStatistics, Exactness, Statistics, TableStatistics};
use sql::algebra::{ColumnId, Expr};
use sql::catalog::TableRef;
use storage::Table;
use types::{Error, PhysicalType, Result, Value, budget};

use crate::catalog::wide::WideReader;
use crate::catalog::{State, wide};
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
            let lock = state.and_then(|state| state.entry_of(table)).map(|e| Arc::clone(&e.lock));
            asked.push(Reliance { lock, epoch, ..Reliance::on(Arc::clone(table)) });
        }
    }
}

impl Statistics for StoredStatistics {
    fn table(&self, table: &TableRef) -> TableStatistics {
        let Ok(storage) = exec::stored_table(table) else {
            return TableStatistics { rows: 1000.0, columns: Vec::new() };
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
        TableStatistics {
            rows: stored.rows as f64,
            columns: stored.columns.iter().map(column).collect(),
        }
    }

    fn sample_selectivity(
        &self,
        table: &TableRef,
        columns: &[(ColumnId, usize)],
        predicate: &Expr,
    ) -> Option<f64> {
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
        // Half a row for none: what the sample does not hold may still exist.
        Some((positions.len() as f64).max(0.5) / rows as f64)
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
