//! Conditions of the rows that a statement writes: CHECK OPTION of views, policies of tables.
//!
//! Called by INSERT (`insert`) and UPDATE (`change`), over the rows as they were written, and for
//! views that triggers write (`instead`).

use catalog::TableDef;
use catalog::checks::failing_row;
use catalog::who::denied;
use kernels::Batch;
use sql::statement::{RowRule, RowTest, RowVersion};
use types::{Error, Result, SqlState};

use super::returning::slices;
use crate::session::compiled::OwnQuery;
use crate::statement::running::{Run, Running};

/// Some of the tests of a statement.
#[derive(Clone, Copy)]
pub(crate) struct Tests<'a> {
    pub(crate) tests: &'a [RowTest],
    /// Number of the first of them among all.
    pub(crate) first: usize,
}

impl<'a> Tests<'a> {
    /// All tests of a statement.
    pub(crate) fn all(tests: &'a [RowTest]) -> Self {
        Self { tests, first: 0 }
    }
}

/// Tests `rows`, all columns of the table and others behind them.
///
/// # Errors
/// 44000 for a row that breaks the rule of a view, 42501 for one that policies refuse; what a
/// condition raises.
pub(crate) fn verify(
    running: &mut Running<'_>,
    def: &TableDef,
    tests: Tests<'_>,
    rows: &[Batch],
) -> Result<()> {
    let Tests { tests, first } = tests;
    if rows.iter().all(|batch| batch.rows == 0) {
        return Ok(());
    }
    for (number, test) in tests.iter().enumerate() {
        let inputs = vec![slices(rows.to_vec())];
        let run = Run { inputs, ..Run::of(OwnQuery::Test(first + number)) };
        let broken = running.run_query(&test.query, run)?;
        if let Some(batch) = broken.batches.iter().find(|batch| batch.rows > 0) {
            let detail = || failing_row(def, batch, 0);
            return Err(match &test.rule {
                RowRule::View(view) => {
                    let message = format!("new row violates check option for view \"{view}\"");
                    let error = Error::new(SqlState::CHECK_OPTION_VIOLATION, message);
                    error.with_detail(detail())
                }
                RowRule::Policy { table, policy, version } => {
                    let policy = policy.as_ref().map(|policy| format!(" \"{policy}\""));
                    let policy = policy.unwrap_or_default();
                    let (row, version) = match version {
                        RowVersion::New => ("new", ""),
                        RowVersion::Met => ("new", " (USING expression)"),
                        RowVersion::Target => ("target", " (USING expression)"),
                    };
                    denied(format!(
                        "{row} row violates row-level security policy{policy}{version} for table \
                         \"{table}\""
                    ))
                }
            });
        }
    }
    Ok(())
}
