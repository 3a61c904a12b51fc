//! WHERE of COPY FROM: rows that it is true for are loaded, with their defaults. Tests of domains
//! in records, which rows were not cast to.

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

/// A compiled condition and tests, and the times that they may ask for.
pub(super) struct Condition {
    condition: Option<Checks>,
    attributes: Option<Checks>,
    now: i64,
    clock: Arc<dyn Clock>,
    zone: TimeZone,
}

impl Condition {
    /// The condition `text` on rows of `table`; None where nothing is asked of them.
    ///
    /// # Errors
    /// None for a condition that was bound before.
    pub(super) fn of(
        session: &Session,
        table: &TableRef,
        text: Option<&String>,
    ) -> Result<Option<Self>> {
        let catalog = session.catalog();
        let of_text = |text: &String| Checks::of_text(text.clone(), table, &catalog);
        let condition = text.map(of_text).transpose()?;
        let attributes = Checks::of_attributes(table.columns(), &catalog)?;
        if condition.is_none() && attributes.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            condition,
            attributes,
            now: session.work().now_micros,
            clock: Arc::clone(&session.inner().clock),
            zone: session.settings.time_zone().clone(),
        }))
    }

    /// Leaves the rows of `batch`, all columns of the table, that the condition is true for.
    ///
    /// # Errors
    /// Errors of the condition; 23502 and 23514 for what is no value of a domain.
    pub(super) fn keep(&self, batch: &mut Batch) -> Result<()> {
        let clocks = Clocks { now: self.now, clock: &*self.clock, zone: &self.zone };
        if let Some(attributes) = &self.attributes {
            attributes.test_rows(batch, clocks)?;
        }
        let Some(condition) = &self.condition else { return Ok(()) };
        let rows = condition.passing(batch, clocks)?;
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
