//! CHECK constraints of a table and tests of its columns' domains, compiled when first needed.

use std::sync::OnceLock;

use exec::expr::Evaluator;
use exec::expr::columns_of;
use host::Clock;
use kernels::{Batch, Column, Vector};
use sql::algebra::{ColumnId, Expr};
use sql::catalog::{Catalog, CheckDef, CheckScope, ColumnDef, DomainUse, TableRef, Validity};
use types::calendar::TimeZone;
use types::{DataType, Error, PhysicalType, Result, SqlState, Value, text};

use crate::state::TableDef;

/// Time and time zone that conditions and computed columns are evaluated with.
#[derive(Clone, Copy)]
pub struct Clocks<'a> {
    /// When the transaction began, microseconds since 1970.
    pub now: i64,
    /// The time of day.
    pub clock: &'a dyn Clock,
    /// The session's time zone.
    pub zone: &'a TimeZone,
}

struct Check {
    name: String,
    evaluator: Evaluator,
}

/// The conditions of one table entry.
pub struct Checks {
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
pub enum Written<'a> {
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

impl Compiled {
    fn of(
        checks: &[CheckDef],
        table: &str,
        columns: &[ColumnDef],
        catalog: &dyn Catalog,
    ) -> Result<Self> {
        let exprs = sql::bind_row_exprs(checks, table, columns, catalog)?;
        let mut compiled = Self::default();
        for (check, expr) in checks.iter().zip(&exprs) {
            let (name, evaluator) = (check.name.clone(), compiled.evaluator(expr, columns)?);
            compiled.checks.push(Check { name, evaluator });
        }
        Ok(compiled)
    }

    /// `expr` over the rows, ready to be evaluated.
    fn evaluator(&mut self, expr: &Expr, columns: &[ColumnDef]) -> Result<Evaluator> {
        let expr = plan::lower(expr, &|id: ColumnId| Some(id.0 as usize))?;
        self.reads_clock |= columns_of(&expr).iter().any(|c| *c >= columns.len());
        Evaluator::new(&expr)
    }

    /// `batch` with what `clocks` tell, if a condition asks for it.
    fn timed(&self, batch: &Batch, clocks: Clocks<'_>) -> Option<Batch> {
        self.reads_clock.then(|| {
            let Clocks { now, clock, zone } = clocks;
            let told = [Value::I64(now), Value::I64(clock.micros()), Value::text(zone.name())];
            let types = [PhysicalType::I64, PhysicalType::I64, PhysicalType::Str];
            let told = told.iter().zip(types).map(|(value, physical)| {
                Column::plain(Vector::repeat(physical, value, batch.rows))
            });
            Batch::new(batch.columns.iter().cloned().chain(told).collect(), batch.rows)
        })
    }
}

impl Checks {
    /// The conditions of `def`, not compiled.
    pub fn of(def: &TableDef) -> Self {
        let has_domain = def.columns.iter().any(|column| column.tested_domain().is_some());
        Self { has_any: has_domain || !def.checks.is_empty(), compiled: OnceLock::new() }
    }

    /// True when every row passes.
    pub fn is_empty(&self) -> bool {
        !self.has_any
    }

    /// Compiles the conditions, before the first [`Self::verify`].
    ///
    /// # Errors
    /// None for conditions that were bound when the table was made.
    pub fn prepare(&self, def: &TableDef, catalog: &dyn Catalog) -> Result<()> {
        if self.compiled.get().is_some() || self.is_empty() {
            return Ok(());
        }
        let mut compiled = Compiled::of(&def.checks, def.bare_name(), &def.columns, catalog)?;
        for (column, expr) in sql::bind_domain_tests(&def.columns, catalog)? {
            let tests = compiled.evaluator(&expr, &def.columns)?;
            compiled.domains.push((column, tests));
        }
        self.compiled.get_or_init(|| compiled);
        Ok(())
    }

    /// The condition `text` over rows of `table`.
    ///
    /// # Errors
    /// None for a condition that was bound before.
    pub fn of_text(text: String, table: &TableRef, catalog: &dyn Catalog) -> Result<Self> {
        let condition = CheckDef {
            name: String::new(),
            sql: text,
            validity: Validity::Valid,
            scope: CheckScope::Family,
        };
        let compiled = Compiled::of(&[condition], table.bare_name(), table.columns(), catalog)?;
        Ok(Self { has_any: true, compiled: OnceLock::from(compiled) })
    }

    /// The tests of a domain whose values are held as `ty`; None when there are none.
    ///
    /// # Errors
    /// None for domains whose conditions were bound when they were made.
    pub fn of_domain(used: DomainUse, ty: DataType, catalog: &dyn Catalog) -> Result<Option<Self>> {
        let columns = [ColumnDef { domain: Some(used), ..ColumnDef::new("value", ty) }];
        let mut compiled = Compiled::default();
        for (column, expr) in sql::bind_domain_tests(&columns, catalog)? {
            let tests = compiled.evaluator(&expr, &columns)?;
            compiled.domains.push((column, tests));
        }
        let has_any = !compiled.domains.is_empty();
        Ok(has_any.then(|| Self { has_any, compiled: OnceLock::from(compiled) }))
    }

    /// The tests of the attributes of records that `columns` hold; None when there are none.
    ///
    /// # Errors
    /// As [`Self::of_domain`].
    pub fn of_attributes(columns: &[ColumnDef], catalog: &dyn Catalog) -> Result<Option<Self>> {
        let mut compiled = Compiled::default();
        for (column, expr) in sql::bind_attribute_tests(columns, catalog)? {
            let tests = compiled.evaluator(&expr, columns)?;
            compiled.domains.push((column, tests));
        }
        let has_any = !compiled.domains.is_empty();
        Ok(has_any.then(|| Self { has_any, compiled: OnceLock::from(compiled) }))
    }

    /// Tests one value, of what [`Self::of_domain`] is for.
    ///
    /// # Errors
    /// As [`Self::verify`] for domains.
    pub fn test(&self, value: &Value, ty: DataType, clocks: Clocks<'_>) -> Result<()> {
        let column = Column::plain(Vector::repeat(ty.physical(), value, 1));
        self.test_rows(&Batch::new(vec![column], 1), clocks)
    }

    /// Tests rows of the columns that [`Self::of_attributes`] was given.
    ///
    /// # Errors
    /// As [`Self::verify`] for domains.
    pub fn test_rows(&self, batch: &Batch, clocks: Clocks<'_>) -> Result<()> {
        let Some(compiled) = self.compiled.get() else { return Ok(()) };
        let timed = compiled.timed(batch, clocks);
        for (_, tests) in &compiled.domains {
            tests.evaluate(timed.as_ref().unwrap_or(batch))?;
        }
        Ok(())
    }

    /// The rows of `batch`, as [`Self::verify`] gets them, that all conditions are true for.
    ///
    /// # Errors
    /// Errors of the conditions.
    pub fn passing(&self, batch: &Batch, clocks: Clocks<'_>) -> Result<Vec<u32>> {
        let mut rows: Vec<u32> = (0..u32::try_from(batch.rows).unwrap_or(u32::MAX)).collect();
        let Some(compiled) = self.compiled.get() else { return Ok(rows) };
        let timed = compiled.timed(batch, clocks);
        for check in &compiled.checks {
            let passes = check.evaluator.evaluate(timed.as_ref().unwrap_or(batch))?;
            rows.retain(|&row| matches!(passes.value(row as usize), Value::Bool(true)));
        }
        Ok(rows)
    }

    /// Tests the rows of `batch`, all columns of the table, at the time that `clocks` show:
    /// domains of what was written, then CHECK constraints.
    ///
    /// # Errors
    /// 23514 for the first row that a condition is false for, 23502 for a NULL that is no value of
    /// a domain; what a condition raises.
    pub fn verify(
        &self,
        def: &TableDef,
        batch: &Batch,
        written: Written<'_>,
        clocks: Clocks<'_>,
    ) -> Result<()> {
        let Some(compiled) = self.compiled.get() else { return Ok(()) };
        let timed = compiled.timed(batch, clocks);
        let rows = timed.as_ref().unwrap_or(batch);
        let written_domains = compiled.domains.iter().filter(|(c, _)| written.contains(*c));
        for (_, tests) in written_domains {
            tests.evaluate(rows)?;
        }
        for check in &compiled.checks {
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
pub fn failing_row(def: &TableDef, batch: &Batch, row: usize) -> String {
    let cell = |(column, spec): (&kernels::Column, &sql::catalog::ColumnDef)| {
        let value = column.value(row);
        if value.is_null() { "null".to_owned() } else { text::format(&value, spec.ty) }
    };
    let cells: Vec<String> = batch.columns.iter().zip(&def.columns).map(cell).collect();
    format!("Failing row contains ({}).", cells.join(", "))
}
