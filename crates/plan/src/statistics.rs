//! Questions of the planner about the data. `engine` implements them over `storage`.

use std::sync::Arc;

use sql::algebra::{ColumnId, Expr};
use sql::catalog::TableRef;
use types::{Result, Value};

/// How far statistics may be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// True of the snapshot that the query will read: may decide representations.
    Exact,
    /// An estimate.
    Estimate,
}

/// One column.
#[derive(Clone, Debug)]
pub struct ColumnStatistics {
    /// Estimated distinct values, NULL apart.
    pub distinct: f64,
    /// Smallest value.
    pub min: Option<Value>,
    /// Largest value.
    pub max: Option<Value>,
    /// Exactness of `min` and `max`: do they bound every value?
    pub bounds: Exactness,
    /// Share of NULLs, 0 to 1.
    pub null_fraction: f64,
    /// Average bytes of a string.
    pub bytes_average: f64,
    /// Hashes of frequent values, ascending, and the share of each of the rows that are not NULL:
    /// hashes of two columns are compared.
    pub frequent: Arc<[(u64, f64)]>,
}

/// One table.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// Rows.
    pub rows: f64,
    /// Statistics by ordinal.
    pub columns: Vec<ColumnStatistics>,
    /// Some of its rows, if there is a sample.
    pub sample: Option<Arc<dyn SampledRows>>,
}

/// Sampled rows of a table.
pub trait SampledRows: std::fmt::Debug + Send + Sync {
    /// Estimated groups that the columns `ordinals` make of all rows, NULL being a value.
    fn groups(&self, ordinals: &[usize]) -> f64;
}

/// Rows of a sample for which a predicate is true.
#[derive(Clone, Debug)]
pub struct SampleMatch {
    /// Rows of the sample.
    pub rows: f64,
    /// How many of them it is true for.
    pub hits: f64,
    /// Values in these, by the columns that were asked about; none where the rows are too few, or
    /// nearly all, to say more than the table's statistics do.
    pub columns: Vec<SampleColumn>,
}

/// Values of a column in some rows of a sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleColumn {
    /// How many differ, NULL being one.
    pub distinct: f64,
    /// How many of these are in one row only.
    pub once: f64,
    /// The smallest and the largest on the number line; None where there are no numbers.
    pub ends: Option<(f64, f64)>,
}

impl SampleColumn {
    /// Estimated distinct values in `whole` rows of which `rows` are the sample's, from 1 (Haas and
    /// Stokes 1998, Duj1).
    pub fn distinct_of(&self, rows: f64, whole: f64) -> f64 {
        let unseen = self.once * rows / whole.max(rows);
        rows * self.distinct / (rows - self.once + unseen)
    }
}

/// A wide table whose rows are those of the query's snapshot.
#[derive(Clone, Debug)]
pub struct WideTable {
    /// The table; it has a [`sql::catalog::WideDef`].
    pub table: TableRef,
    /// The tables of the definition's nodes.
    pub nodes: Vec<TableRef>,
}

/// The planner's window on data and on evaluation.
pub trait Statistics {
    /// Statistics of `table`.
    fn table(&self, table: &TableRef) -> TableStatistics;

    /// Rows of a sample of `table` for which `predicate` is true; its columns are ids mapped to
    /// table ordinals by `columns`. None when there is no sample or the predicate cannot be
    /// evaluated.
    fn sample(
        &self,
        table: &TableRef,
        columns: &[(ColumnId, usize)],
        predicate: &Expr,
    ) -> Option<SampleMatch>;

    /// The wide tables over `fact` that the query may read in its place.
    fn wide_tables(&self, fact: &TableRef) -> Vec<WideTable> {
        let _ = fact;
        Vec::new()
    }

    /// The value of an expression without columns, parameters, sub-queries or volatile functions.
    ///
    /// # Errors
    /// Errors of the evaluation, 22012 say; the planner then leaves the expression to run time.
    fn fold(&self, expr: &Expr) -> Result<Value>;
}
