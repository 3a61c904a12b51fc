//! WHERE of COPY FROM: rows that it is true for are loaded, with their defaults.

use std::sync::Arc;

use catalog::checks::{Checks, Clocks};
use exec::flow::Flow;
use exec::pipeline::{Demand, Push, Source};
use host::Clock;
use kernels::Batch;
use sql::catalog::TableRef;
use types::Result;
use types::calendar::TimeZone;

use crate::Session;

/// A compiled condition, and the times that it may ask for.
pub(super) struct Condition {
    checks: Checks,
    now: i64,
    clock: Arc<dyn Clock>,
    zone: TimeZone,
}

impl Condition {
    /// The condition `text` on rows of `table`.
    ///
    /// # Errors
    /// None for a condition that was bound before.
    pub(super) fn new(session: &Session, table: &TableRef, text: String) -> Result<Self> {
        Ok(Self {
            checks: Checks::of_text(text, table, &session.catalog())?,
            now: session.work().now_micros,
            clock: Arc::clone(&session.inner().clock),
            zone: session.settings.time_zone().clone(),
        })
    }

    /// Leaves the rows of `batch`, all columns of the table, that the condition is true for.
    ///
    /// # Errors
    /// Errors of the condition.
    pub(super) fn keep(&self, batch: &mut Batch) -> Result<()> {
        let clocks = Clocks { now: self.now, clock: &*self.clock, zone: &self.zone };
        let rows = self.checks.passing(batch, clocks)?;
        if rows.len() < batch.rows {
            *batch = batch.gather(&rows);
        }
        Ok(())
    }
}

/// The rows of a source that a condition is true for.
pub(super) struct Filtered {
    pub(super) source: Arc<dyn Source>,
    pub(super) condition: Arc<Condition>,
}

impl Source for Filtered {
    fn orders(&self) -> usize {
        self.source.orders()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        self.source.run(order, &mut |flow| {
            let mut batch = flow.into_batch()?;
            self.condition.keep(&mut batch)?;
            if batch.rows == 0 { Ok(Demand::More) } else { push(Flow::from_batch(batch)) }
        })
    }
}
