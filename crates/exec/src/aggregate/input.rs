//! Expressions over an aggregation's input, each evaluated once per flow.

use kernels::Column;
use plan::physical::{Expr, ExprKind};
use types::Result;

use crate::expr::{Evaluator, columns_of};
use crate::flow::Flow;
use crate::opener::Opener;

/// One expression.
struct Input {
    expr: Expr,
    columns: Vec<usize>,
    /// None for a plain column.
    evaluator: Option<Evaluator>,
}

/// The distinct expressions that keys, arguments and filters are, by number.
#[derive(Default)]
pub(crate) struct Inputs {
    inputs: Vec<Input>,
}

impl Inputs {
    /// The number of `expr`.
    ///
    /// # Errors
    /// As [`Opener::resolve`] and [`Evaluator::new`].
    pub(crate) fn add(&mut self, opener: &Opener, expr: &Expr) -> Result<usize> {
        let expr = opener.resolve(expr)?;
        if let Some(number) = self.inputs.iter().position(|i| i.expr == expr) {
            return Ok(number);
        }
        let evaluator = match expr.kind {
            ExprKind::Column(_) => None,
            _ => Some(Evaluator::new(&expr)?),
        };
        self.inputs.push(Input { columns: columns_of(&expr), evaluator, expr });
        Ok(self.inputs.len() - 1)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// The values of all expressions for the rows of `flow`.
    ///
    /// # Errors
    /// Whatever evaluation meets.
    pub(crate) fn evaluate(&self, flow: &mut Flow) -> Result<Vec<Column>> {
        (0..self.inputs.len()).map(|number| self.evaluate_one(number, flow)).collect()
    }

    /// The values of the expression `number`.
    ///
    /// # Errors
    /// Whatever evaluation meets.
    pub(crate) fn evaluate_one(&self, number: usize, flow: &mut Flow) -> Result<Column> {
        let input = &self.inputs[number];
        flow.load(&input.columns)?;
        match &input.evaluator {
            Some(evaluator) => evaluator.evaluate(flow.batch()),
            None => Ok(flow.batch().columns[input.columns[0]].clone()),
        }
    }
}
