//! Generated columns of a table: computed from the other columns of each row that is written.
//!
//! ```text
//! new rows (all columns)   -> fill   -> CHECK -> storage
//! rows and their new values -> follow -> values of generated columns, written with the others
//! ```
//! Invariant: what a statement gives for a generated column never counts; the binder refuses it.

use std::sync::OnceLock;

use exec::expr::Evaluator;
use kernels::{Batch, Column};
use sql::algebra::ColumnId;
use sql::catalog::Catalog;
use sql::catalog::ColumnDef;
use storage::Datum;
use types::{Error, Result};

use crate::rows::Rows;
use crate::state::{TableDef, TableEntry};

/// The generated columns of one table entry, compiled when first needed.
#[derive(Default)]
pub struct Generated {
    /// Ordinals of the generated columns.
    columns: Box<[usize]>,
    compiled: OnceLock<Vec<Part>>,
}

/// One generated column.
struct Part {
    ordinal: usize,
    /// Ordinals that its expression reads; the evaluator knows them by their position here.
    reads: Vec<usize>,
    evaluator: Evaluator,
}

impl Generated {
    /// Generated columns of a table with `columns`.
    pub fn of(columns: &[ColumnDef]) -> Self {
        let ordinals = 0..columns.len();
        let columns = ordinals.filter(|&ordinal| columns[ordinal].generated.is_some()).collect();
        Self { columns, compiled: OnceLock::new() }
    }

    /// True when the table has none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// True when the column is one.
    pub fn contains(&self, ordinal: usize) -> bool {
        self.columns.contains(&ordinal)
    }

    /// Compiles the expressions, before the first row is written.
    ///
    /// # Errors
    /// None for expressions that were bound when the table was made.
    pub fn prepare(&self, def: &TableDef, catalog: &dyn Catalog) -> Result<()> {
        if self.columns.is_empty() || self.compiled.get().is_some() {
            return Ok(());
        }
        let mut parts = Vec::with_capacity(self.columns.len());
        for (ordinal, expr) in sql::bind_generated(def.bare_name(), &def.columns, catalog)? {
            let mut reads = Vec::new();
            expr.each_column(&mut |id| reads.push(id.0 as usize));
            reads.sort_unstable();
            reads.dedup();
            let position = |id: ColumnId| reads.iter().position(|&read| read == id.0 as usize);
            let evaluator = Evaluator::new(&plan::lower_held(&expr, &position)?)?;
            parts.push(Part { ordinal, reads, evaluator });
        }
        self.compiled.get_or_init(|| parts);
        Ok(())
    }

    fn parts(&self) -> Result<&[Part]> {
        match self.compiled.get() {
            Some(parts) => Ok(parts),
            None => Err(Error::internal("generated columns are compiled before rows are written")),
        }
    }

    /// Gives the new rows of `batch`, all columns of the table, their generated columns.
    ///
    /// # Errors
    /// Errors that an expression raises.
    pub fn fill(&self, batch: &mut Batch) -> Result<()> {
        if self.columns.is_empty() || batch.rows == 0 {
            return Ok(());
        }
        for part in self.parts()? {
            batch.columns[part.ordinal] =
                part.value(batch.rows, &mut |ordinal| batch.columns[ordinal].clone())?;
        }
        Ok(())
    }

    /// The generated columns that change with `columns`, in order; those among `columns`, too.
    ///
    /// # Errors
    /// None for expressions that were bound when the columns were made.
    pub fn following(&self, columns: &[usize]) -> Result<Vec<usize>> {
        if self.columns.is_empty() {
            return Ok(Vec::new());
        }
        let follows = |part: &&Part| {
            columns.contains(&part.ordinal) || part.reads.iter().any(|r| columns.contains(r))
        };
        Ok(self.parts()?.iter().filter(follows).map(|part| part.ordinal).collect())
    }

    /// The parts of the columns `which`.
    fn these(&self, which: &[usize]) -> Result<impl Iterator<Item = &Part>> {
        Ok(self.parts()?.iter().filter(|part| which.contains(&part.ordinal)))
    }
}

/// Columns that an update writes: those that it assigns, and the generated ones that follow.
pub struct Assigned<'a> {
    columns: &'a [usize],
    generated: Vec<usize>,
    /// Values of the generated columns, for the rows that were computed last.
    values: Option<Rows>,
}

impl<'a> Assigned<'a> {
    /// An update of these columns of the table.
    ///
    /// # Errors
    /// XX000 when the table was not locked to be written.
    pub fn new(entry: &TableEntry, columns: &'a [usize]) -> Result<Self> {
        let generated = entry.generated.following(columns)?;
        Ok(Self { columns, generated, values: None })
    }

    /// All columns that change.
    pub fn all(&self) -> Vec<usize> {
        self.columns.iter().chain(&self.generated).copied().collect()
    }

    /// Computes the generated columns of `rows`, in which the assigned values stand behind the
    /// first column; `read` gives other columns of the same rows by their ordinals.
    ///
    /// # Errors
    /// Errors that an expression raises.
    pub fn compute(
        &mut self,
        entry: &TableEntry,
        rows: &Rows,
        read: impl FnOnce(&[usize]) -> Result<Vec<Column>>,
    ) -> Result<()> {
        if self.generated.is_empty() {
            return Ok(());
        }
        let assigned = |ordinal: usize| self.columns.iter().position(|&c| c == ordinal);
        let parts: Vec<&Part> = entry.generated.these(&self.generated)?.collect();
        let mut others: Vec<usize> = parts.iter().flat_map(|part| &part.reads).copied().collect();
        others.retain(|&ordinal| assigned(ordinal).is_none());
        others.sort_unstable();
        others.dedup();
        let found = read(&others)?;
        let mut column = |ordinal: usize| match assigned(ordinal) {
            Some(position) => rows.column(position + 1),
            None => found[others.iter().position(|&o| o == ordinal).unwrap_or_default()].clone(),
        };
        let values = parts.iter().map(|part| part.value(rows.count, &mut column));
        let batch = Batch::new(values.collect::<Result<_>>()?, rows.count);
        self.values = Some(Rows::new(&batch));
        Ok(())
    }

    /// Puts what is written to row `row` of `rows` into `out`.
    pub fn values<'r>(&'r self, rows: &'r Rows, row: usize, out: &mut Vec<(usize, Datum<'r>)>) {
        out.clear();
        let given = self.columns.iter().enumerate();
        let given = given.filter(|(_, column)| !self.generated.contains(column));
        out.extend(given.map(|(i, &column)| (column, rows.get(i + 1, row))));
        if let Some(values) = &self.values {
            let made = self.generated.iter().enumerate();
            out.extend(made.map(|(i, &column)| (column, values.get(i, row))));
        }
    }
}

impl Part {
    fn value(&self, rows: usize, read: &mut dyn FnMut(usize) -> Column) -> Result<Column> {
        let columns = self.reads.iter().map(|&ordinal| read(ordinal)).collect();
        self.evaluator.evaluate(&Batch::new(columns, rows))
    }
}
