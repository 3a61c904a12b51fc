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
#[derive(Clone, Debug)]
pub struct TableStatistics {
    /// Rows.
    pub rows: f64,
    /// Statistics by ordinal.
    pub columns: Vec<ColumnStatistics>,
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

    /// Share of a row sample of `table` for which `predicate` is true; its columns are ids mapped
    /// to table ordinals by `columns`. None when there is no sample or the predicate cannot be
    /// evaluated. Results are (hits + small constant) / rows, never exactly 0.
    fn sample_selectivity(
        &self,
        table: &TableRef,
        columns: &[(ColumnId, usize)],
        predicate: &Expr,
    ) -> Option<f64>;

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
