//! Conditions of the rows that a statement writes: CHECK OPTION of views.
//!
//! Called by INSERT (`insert`) and UPDATE (`change`), over the rows as they were written.

use std::sync::Arc;

use kernels::Batch;
use sql::statement::{RowRule, RowTest};
use types::{Error, Result, SqlState};

use super::returning::slices;
use crate::catalog::TableEntry;
use crate::catalog::checks::failing_row;
use crate::session::compiled::OwnQuery;
use crate::statement::running::{Run, Running};

/// Tests `rows`, all columns of the table and others behind them.
///
/// # Errors
/// 44000 for a row that breaks the rule of a view; what a condition raises.
pub(crate) fn verify(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    tests: &[RowTest],
    rows: &[Batch],
) -> Result<()> {
    if rows.iter().all(|batch| batch.rows == 0) {
        return Ok(());
    }
    for (number, test) in tests.iter().enumerate() {
        let inputs = vec![slices(rows.to_vec())];
        let run = Run { inputs, ..Run::of(OwnQuery::Test(number)) };
        let broken = running.run_query(&test.query, run)?;
        if let Some(batch) = broken.batches.iter().find(|batch| batch.rows > 0) {
            let RowRule::View(view) = &test.rule;
            let message = format!("new row violates check option for view \"{view}\"");
            return Err(Error::new(SqlState::CHECK_OPTION_VIOLATION, message)
                .with_detail(failing_row(&entry.def, batch, 0)));
        }
    }
    Ok(())
}
