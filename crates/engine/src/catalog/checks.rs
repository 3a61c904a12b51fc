//! CHECK constraints of a table, compiled when first needed.

use std::sync::OnceLock;

use exec::expr::Evaluator;
use exec::expr::columns_of;
use host::Clock;
use kernels::{Batch, Column, Vector};
use sql::algebra::ColumnId;
use sql::catalog::Catalog;
use types::calendar::TimeZone;
use types::{Error, PhysicalType, Result, SqlState, Value, text};

use crate::catalog::TableDef;

/// Time and time zone that conditions and computed columns are evaluated with.
#[derive(Clone, Copy)]
pub(crate) struct Clocks<'a> {
    /// When the transaction began, microseconds since 1970.
    pub(crate) now: i64,
    /// The time of day.
    pub(crate) clock: &'a dyn Clock,
    /// The session's time zone.
    pub(crate) zone: &'a TimeZone,
}

struct Check {
    name: String,
    evaluator: Evaluator,
}

/// The conditions of one table entry.
#[derive(Default)]
pub(crate) struct Checks(OnceLock<Compiled>);

#[derive(Default)]
struct Compiled {
    checks: Vec<Check>,
    /// One of them asks for the time, or goes by a time zone's clocks.
    reads_clock: bool,
}

impl Checks {
    /// Compiles the conditions, before the first [`Self::verify`].
    ///
    /// # Errors
    /// None for conditions that were bound when the table was made.
    pub(crate) fn prepare(&self, def: &TableDef, catalog: &dyn Catalog) -> Result<()> {
        if self.0.get().is_some() || def.checks.is_empty() {
            return Ok(());
        }
        let exprs = sql::bind_row_exprs(&def.checks, def.bare_name(), &def.columns, catalog)?;
        let position = |id: ColumnId| Some(id.0 as usize);
        let mut compiled = Compiled::default();
        for (check, expr) in def.checks.iter().zip(&exprs) {
            let expr = plan::lower(expr, &position)?;
            compiled.reads_clock |= columns_of(&expr).iter().any(|c| *c >= def.columns.len());
            let (name, evaluator) = (check.name.clone(), Evaluator::new(&expr)?);
            compiled.checks.push(Check { name, evaluator });
        }
        self.0.get_or_init(|| compiled);
        Ok(())
    }

    /// Tests the rows of `batch`, all columns of the table, at the time that `clocks` show.
    ///
    /// # Errors
    /// 23514 for the first row that a condition is false for; what a condition raises.
    pub(crate) fn verify(&self, def: &TableDef, batch: &Batch, clocks: Clocks<'_>) -> Result<()> {
        let Some(Compiled { checks, reads_clock }) = self.0.get() else { return Ok(()) };
        let timed = reads_clock.then(|| {
            let Clocks { now, clock, zone } = clocks;
            let told = [Value::I64(now), Value::I64(clock.micros()), Value::text(zone.name())];
            let types = [PhysicalType::I64, PhysicalType::I64, PhysicalType::Str];
            let told = told.iter().zip(types).map(|(value, physical)| {
                Column::plain(Vector::repeat(physical, value, batch.rows))
            });
            Batch::new(batch.columns.iter().cloned().chain(told).collect(), batch.rows)
        });
        for check in checks {
            let passes = check.evaluator.evaluate(timed.as_ref().unwrap_or(batch))?;
            let fails = |&row: &usize| matches!(passes.value(row), Value::Bool(false));
            if let Some(row) = (0..batch.rows).find(fails) {
                let message = format!(
                    "new row for relation \"{}\" violates check constraint \"{}\"",
                    def.bare_name(),
                    check.name
                );
                return Err(Error::new(SqlState::CHECK_VIOLATION, message)
                    .about_part(def.about_constraint(&check.name))
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
