//! CHECK constraints of a table, compiled when first needed.

use std::sync::OnceLock;

use exec::expr::Evaluator;
use kernels::Batch;
use sql::algebra::ColumnId;
use types::{Error, Result, SqlState, Value, text};

use crate::catalog::{StatementCatalog, TableDef};

struct Check {
    name: String,
    evaluator: Evaluator,
}

/// The conditions of one table entry.
#[derive(Default)]
pub(crate) struct Checks(OnceLock<Vec<Check>>);

impl Checks {
    /// Compiles the conditions, before the first [`Self::verify`].
    ///
    /// # Errors
    /// None for conditions that were bound when the table was made.
    pub(crate) fn prepare(&self, def: &TableDef, catalog: &StatementCatalog<'_>) -> Result<()> {
        if self.0.get().is_some() || def.checks.is_empty() {
            return Ok(());
        }
        let exprs = sql::bind_row_exprs(&def.checks, &def.name, &def.columns, catalog)?;
        let position = |id: ColumnId| Some(id.0 as usize);
        let compile = |(check, expr): (&sql::catalog::CheckDef, &sql::algebra::Expr)| {
            let expr = plan::lower(expr, &position)?;
            Ok(Check { name: check.name.clone(), evaluator: Evaluator::new(&expr)? })
        };
        let checks = def.checks.iter().zip(&exprs).map(compile).collect::<Result<_>>()?;
        self.0.get_or_init(|| checks);
        Ok(())
    }

    /// Tests the rows of `batch`, all columns of the table.
    ///
    /// # Errors
    /// 23514 for the first row that a condition is false for; what a condition raises.
    pub(crate) fn verify(&self, def: &TableDef, batch: &Batch) -> Result<()> {
        for check in self.0.get().into_iter().flatten() {
            let passes = check.evaluator.evaluate(batch)?;
            let fails = |&row: &usize| matches!(passes.value(row), Value::Bool(false));
            if let Some(row) = (0..batch.rows).find(fails) {
                let message = format!(
                    "new row for relation \"{}\" violates check constraint \"{}\"",
                    def.name, check.name
                );
                return Err(Error::new(SqlState(*b"23514"), message)
                    .with_detail(failing_row(def, batch, row)));
            }
        }
        Ok(())
    }
}

/// "Failing row contains (1, x, null)."
pub(crate) fn failing_row(def: &TableDef, batch: &Batch, row: usize) -> String {
    let cell = |(column, spec): (&kernels::Column, &sql::catalog::ColumnDef)| {
        let value = column.value(row);
        if value.is_null() { "null".to_owned() } else { text::format(&value, spec.ty) }
    };
    let cells: Vec<String> = batch.columns.iter().zip(&def.columns).map(cell).collect();
    format!("Failing row contains ({}).", cells.join(", "))
}
