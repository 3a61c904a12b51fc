//! Evaluation of expressions over batches.
//!
//! ```text
//! Expr -> compile -> Node tree (kernels chosen, literals made columns, constants folded)
//! evaluate   whole batch -> column      kernel per node, dispatched once per batch
//! select     positions -> positions     conjuncts in order, each on the survivors
//! ```
//! - A node over one dictionary column no longer than the batch is evaluated on the dictionary: its
//!   result is a dictionary column with the same codes, remembered for the next batch.
//! - A node without columns is evaluated once; an error waits until a row needs it.
//! - AND, OR, CASE, COALESCE look at an operand that can fail only for rows that reach it, so a
//!   guard
//!   (`x <> 0 AND 1 / x > 2`) holds. Operands that cannot fail are evaluated whole where that is
//!   faster.
//!
//! Invariant: an evaluator is immutable but for its dictionary memory, so workers share it.
//! Elsewhere: common sub-expressions, which the planner makes columns (`plan::physical`); loops
//! (`kernels`).

mod parts;
mod node;
mod compile;
mod functions;
mod sequence;
mod evaluate;
mod select;
mod branch;
mod membership;
mod effects;
#[cfg(test)]
mod tests;

use kernels::{Batch, Column};
use plan::physical::Expr;
use types::{Result, Value};

pub(crate) use compile::array_values;
pub(crate) use effects::depend_on_order;
pub(crate) use evaluate::restrict;
use node::Node;
pub(crate) use parts::is_volatile;
pub use parts::{children_mut, column, columns_of, fit};

/// An expression ready to run.
pub struct Evaluator {
    root: Node,
}

impl Evaluator {
    /// Compiles `expr`, in which parameters and scalar sub-queries are already literals.
    ///
    /// # Errors
    /// XX000 for an expression that the planner should not have made.
    pub fn new(expr: &Expr) -> Result<Self> {
        Ok(Self { root: compile::compile(expr)? })
    }

    /// The value for every row of `batch`, of which only the columns named by the expression are
    /// looked at.
    ///
    /// # Errors
    /// Errors that the evaluation of a row raises.
    pub fn evaluate(&self, batch: &Batch) -> Result<Column> {
        self.root.evaluate(batch)
    }

    /// Keeps the `positions` (rows of `batch`, in any order) where the expression, a BOOLEAN, is
    /// true.
    ///
    /// # Errors
    /// Errors that the evaluation of a row raises; rows outside `positions` raise nothing.
    pub fn select(&self, batch: &Batch, positions: &mut Vec<u32>) -> Result<()> {
        self.root.select(batch, positions)
    }
}

impl std::fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Evaluator over columns {:?}", self.root.columns)
    }
}

/// The value of an expression without columns.
///
/// # Errors
/// Errors that its evaluation raises.
pub fn fold_constant(expr: &Expr) -> Result<Value> {
    let column = Evaluator::new(expr)?.evaluate(&Batch::new(Vec::new(), 1))?;
    Ok(column.value(0))
}
