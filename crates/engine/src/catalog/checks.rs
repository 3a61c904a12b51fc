//! CHECK constraints of a table and tests of its columns' domains, compiled when first needed.

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
pub(crate) struct Checks {
    has_any: bool,
    compiled: OnceLock<Compiled>,
}

#[derive(Default)]
struct Compiled {
    /// Tests of domains by the ordinals of their columns; each fails itself.
    domains: Vec<(usize, Evaluator)>,
    checks: Vec<Check>,
    /// One of them asks for the time, or goes by a time zone's clocks.
    reads_clock: bool,
}

/// The columns of rows that were written.
#[derive(Clone, Copy)]
pub(crate) enum Written<'a> {
    /// All: the rows are new.
    All,
    /// These, by ordinal.
    Only(&'a [usize]),
}

impl Written<'_> {
    fn contains(self, column: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(columns) => columns.contains(&column),
        }
    }
}

impl Checks {
    /// The conditions of `def`, not compiled.
    pub(crate) fn of(def: &TableDef) -> Self {
        let has_domain = def.columns.iter().any(|column| column.tested_domain().is_some());
        Self { has_any: has_domain || !def.checks.is_empty(), compiled: OnceLock::new() }
    }

    /// True when every row passes.
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_any
    }

    /// Compiles the conditions, before the first [`Self::verify`].
    ///
    /// # Errors
    /// None for conditions that were bound when the table was made.
    pub(crate) fn prepare(&self, def: &TableDef, catalog: &dyn Catalog) -> Result<()> {
        if self.compiled.get().is_some() || self.is_empty() {
            return Ok(());
        }
        let exprs = sql::bind_row_exprs(&def.checks, def.bare_name(), &def.columns, catalog)?;
        let position = |id: ColumnId| Some(id.0 as usize);
        let mut compiled = Compiled::default();
        for (column, expr) in sql::bind_domain_tests(&def.columns, catalog)? {
            let expr = plan::lower(&expr, &position)?;
            compiled.reads_clock |= columns_of(&expr).iter().any(|c| *c >= def.columns.len());
            compiled.domains.push((column, Evaluator::new(&expr)?));
        }
        for (check, expr) in def.checks.iter().zip(&exprs) {
            let expr = plan::lower(expr, &position)?;
            compiled.reads_clock |= columns_of(&expr).iter().any(|c| *c >= def.columns.len());
            let (name, evaluator) = (check.name.clone(), Evaluator::new(&expr)?);
            compiled.checks.push(Check { name, evaluator });
        }
        self.compiled.get_or_init(|| compiled);
        Ok(())
    }

    /// Tests the rows of `batch`, all columns of the table, at the time that `clocks` show:
    /// domains of what was written, then CHECK constraints.
    ///
    /// # Errors
    /// 23514 for the first row that a condition is false for, 23502 for a NULL that is no value of
    /// a domain; what a condition raises.
    pub(crate) fn verify(
        &self,
        def: &TableDef,
        batch: &Batch,
        written: Written<'_>,
        clocks: Clocks<'_>,
    ) -> Result<()> {
        let Some(compiled) = self.compiled.get() else { return Ok(()) };
        let Compiled { domains, checks, reads_clock } = compiled;
        let timed = reads_clock.then(|| {
            let Clocks { now, clock, zone } = clocks;
            let told = [Value::I64(now), Value::I64(clock.micros()), Value::text(zone.name())];
            let types = [PhysicalType::I64, PhysicalType::I64, PhysicalType::Str];
            let told = told.iter().zip(types).map(|(value, physical)| {
                Column::plain(Vector::repeat(physical, value, batch.rows))
            });
            Batch::new(batch.columns.iter().cloned().chain(told).collect(), batch.rows)
        });
        let rows = timed.as_ref().unwrap_or(batch);
        for (_, tests) in domains.iter().filter(|(column, _)| written.contains(*column)) {
            tests.evaluate(rows)?;
        }
        for check in checks {
            let passes = check.evaluator.evaluate(rows)?;
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
