//! Code that is made for the queries of a pass while the program runs: what its maker is told, and
//! what the code does.
//!
//! ```text
//! Pass  -> Compile::start    now | aside, while the pass begins without | never
//!       -> Compile::compile  -> Code -> Runner, one for each thread -> PageRun, one for each page
//! ```
//! Invariant: code gives what the evaluation row by row gives; whatever is asked of it twice has
//! the same answer. What code cannot do it does not begin: a pass runs without it.
//! Elsewhere: a maker (crate `codegen`), who calls it (`worker`).

use std::fmt::Debug;
use std::sync::Arc;

pub use super::check::{Check, FieldCheck, Sense};
pub use super::columns::{Bounds, Columns, FixedColumn, TextColumn, TextMeta};
pub use super::total::Total;
use crate::query::Aggregate;
use crate::schema::Schema;

/// Form of the rows of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// By column.
    Columns,
    /// One row behind the other.
    Rows,
}

/// The queries of a pass.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Columns of the table.
    pub schema: Arc<Schema>,
    /// Form of its pages.
    pub form: Form,
    /// Rows in its pages.
    pub rows: u64,
    /// Each is an OR; no two are equal, and all fit the schema.
    pub conjuncts: Vec<Vec<FieldCheck>>,
    /// The queries, whose numbers are their positions.
    pub queries: Vec<PassQuery>,
}

/// A query of a pass.
#[derive(Clone, Debug)]
pub struct PassQuery {
    /// Numbers of its conjuncts.
    pub conjuncts: Vec<usize>,
    /// Part behind its selection.
    pub wish: Wish,
}

/// Part of a query that comes behind its selection.
#[derive(Clone, Debug)]
pub enum Wish {
    /// Nothing: somebody else looks at the rows.
    Positions,
    /// Fields of the rows.
    Fields {
        /// The schema of these fields.
        schema: Schema,
        /// Their numbers in the table's schema, in order.
        fields: Vec<usize>,
    },
    /// Aggregates; no extreme of bytes is among them.
    Totals(Vec<Aggregate>),
}

/// When code is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Before the pass.
    Now,
    /// By another thread, while the pass begins without it.
    Aside,
    /// Not at all.
    Never,
}

/// Maker of code.
pub trait Compile: Send + Sync + Debug {
    /// Decides when code is made for a pass; it takes no time itself.
    fn start(&self, pass: &Pass) -> Start;

    /// The code of a pass; `None` when there can be none. Takes milliseconds.
    fn compile(&self, pass: &Pass) -> Option<Arc<dyn Code>>;
}

/// Code of a pass.
pub trait Code: Send + Sync {
    /// The state of one thread that runs it.
    fn runner(self: Arc<Self>) -> Box<dyn Runner>;
}

/// One thread's state.
pub trait Runner: Send {
    /// Begins a page; `None` when it is none of the pass's table.
    fn begin<'p>(&'p mut self, page: Page<'p>) -> Option<Box<dyn PageRun + 'p>>;
}

/// Rows of one page.
#[derive(Clone, Copy)]
pub enum Page<'a> {
    /// By column.
    Columns(&'a dyn Columns),
    /// One behind the other.
    Rows(RowsPage<'a>),
}

/// Rows one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct RowsPage<'a> {
    /// Word where each row begins, and where the last one ends.
    pub starts: &'a [u32],
    /// Words of all rows.
    pub words: &'a [u64],
}

impl<'a> RowsPage<'a> {
    /// Words of row `row`.
    pub fn row(&self, row: usize) -> &'a [u64] {
        &self.words[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Queries of a pass on one page. `visible` has a bit for each row that a query's snapshot sees, 64
/// rows in a word; `None` for all.
pub trait PageRun {
    /// True when code answers query `query`; others are left to loops, and not asked here.
    fn serves(&self, query: usize) -> bool;

    /// Positions of the rows that query `query` selects, ascending.
    fn select(&mut self, query: usize, visible: Option<&[u64]>) -> &[u32];

    /// Adds the rows that query `query` selects to its totals, which are those of
    /// [`Wish::Totals`]; returns how many rows they are.
    fn fold(&mut self, query: usize, visible: Option<&[u64]>, totals: &mut [Total]) -> u64;

    /// Appends the fields of [`Wish::Fields`] of `rows`: for each row the words before its texts,
    /// without offsets of texts.
    fn gather(&mut self, query: usize, rows: &[u32], words: &mut Vec<u64>);
}
