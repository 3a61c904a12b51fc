//! State of opening one plan: the query, the results of its preludes, and how nodes are opened.
//!
//! ```text
//! PhysicalPlan --run_preludes--> rows and values --resolve--> expressions without parameters
//! Node         --open-->         Stream      operators open their inputs by the same opener
//! ```
//! Elsewhere: which operator opens which node (`open`, the top floor, hands its function down).

use std::sync::Arc;

use kernels::{Batch, Column, Vector};
use plan::physical::{
    CteSource, Expr, ExprKind, Node, Operator, PhysicalPlan, Prelude, PreludeKind,
};
use types::{DataType, Error, Result, SqlState, Value};

use crate::context::QueryContext;
use crate::expr::{Evaluator, children_mut, fit};
use crate::pipeline::{Source, Stream};
use crate::pushed::PushedFilter;
use crate::result::{LastRound, StoredRows};

/// Opens the nodes of one plan.
#[derive(Clone)]
pub struct Opener {
    /// The query.
    pub context: Arc<QueryContext>,
    /// Results of preludes, by index.
    preludes: Vec<Finished>,
    /// The last round of each recursion around the node that is opened, by number of its CTE.
    pub(crate) recursive: Vec<(usize, Arc<LastRound>)>,
    /// Opens a node of any kind.
    open_node: OpenNode,
}

/// A function that opens a node of any kind, and by the opener the nodes below it.
pub(crate) type OpenNode = fn(&mut Opener, &Node, Vec<PushedFilter>) -> Result<Stream>;

/// Result of a prelude.
#[derive(Clone)]
enum Finished {
    Rows(Arc<StoredRows>),
    /// Read once, so run where it is read: its rows are never all kept, and whoever reads may stop
    /// it.
    Streamed(Arc<Node>),
    Scalar(Value),
    /// A scalar one that failed, which matters to rows that read its value.
    Failed(Error),
}

/// Readers of a prelude.
#[derive(Clone, Copy, Default)]
struct Readers {
    /// How often it is read; a read inside the step of a recursion counts twice, since it is
    /// repeated.
    count: usize,
    /// Readers that take all rows: no LIMIT stops them.
    of_all: usize,
}

/// Place of a reader.
#[derive(Clone, Copy)]
struct Reading {
    weight: usize,
    /// True when a LIMIT above takes rows as they come.
    is_limited: bool,
}

/// Adds to `readers[i]` who reads prelude `i` below `node`.
fn count_reads(node: &Node, reading: Reading, readers: &mut [Readers]) {
    if let Operator::CteScan { source: CteSource::Prelude(i), .. } = &node.operator {
        readers[*i].count += reading.weight;
        readers[*i].of_all += usize::from(!reading.is_limited);
    }
    let Reading { weight, is_limited } = reading;
    for (at, input) in node.inputs().into_iter().enumerate() {
        let (weight, is_limited) = match &node.operator {
            // The first rows, then the step.
            Operator::Recursive { .. } => (if at == 0 { weight } else { 2 }, is_limited),
            Operator::Limit { limit, .. } => (weight, limit.is_some()),
            Operator::Filter { .. } | Operator::Project { .. } | Operator::UnionAll { .. } => {
                (weight, is_limited)
            }
            // The probe side comes first.
            Operator::HashJoin { kind, .. } | Operator::NestedLoopJoin { kind, .. } => {
                (weight, is_limited && at == 0 && kind.gives_probe_rows())
            }
            _ => (weight, false),
        };
        count_reads(input, Reading { weight, is_limited }, readers);
    }
}

/// True when `node` reads the last round of a recursion around it, so that its rows are others in
/// each round: it is run wherever it is read.
fn reads_round(node: &Node, before: &[Finished]) -> bool {
    fn any(node: &Node, own: &mut Vec<usize>, before: &[Finished]) -> bool {
        let numbers = own.len();
        match &node.operator {
            Operator::CteScan { source: CteSource::Recursive(number), .. } => {
                return !own.contains(number);
            }
            Operator::CteScan { source: CteSource::Prelude(i), .. } => {
                return match before.get(*i) {
                    Some(Finished::Streamed(prelude)) => any(prelude, own, before),
                    _ => false,
                };
            }
            Operator::Recursive { number, .. } => own.push(*number),
            _ => {}
        }
        let found = node.inputs().into_iter().any(|input| any(input, own, before));
        own.truncate(numbers);
        found
    }
    any(node, &mut Vec::new(), before)
}

impl Opener {
    /// An opener without preludes, which opens nodes by `open_node`.
    pub(crate) fn by(open_node: OpenNode, context: Arc<QueryContext>) -> Self {
        Self { context, preludes: Vec::new(), recursive: Vec::new(), open_node }
    }

    /// Runs the preludes of `plan`, or leaves them to their only reader.
    ///
    /// # Errors
    /// 21000 when a scalar one has two rows; whatever their queries meet.
    pub fn run_preludes(&mut self, plan: &PhysicalPlan) -> Result<()> {
        let mut readers = vec![Readers::default(); plan.preludes.len()];
        for node in plan.preludes.iter().map(|p| &p.node).chain([&plan.root]) {
            count_reads(node, Reading { weight: 1, is_limited: false }, &mut readers);
        }
        for (prelude, readers) in plan.preludes.iter().zip(readers) {
            let is_streamed = readers.count == 1
                || reads_round(&prelude.node, &self.preludes)
                || prelude.kind == PreludeKind::Recursive && readers.of_all == 0;
            if prelude.kind != PreludeKind::Scalar && is_streamed {
                self.preludes.push(Finished::Streamed(Arc::new(prelude.node.clone())));
            } else {
                self.run_prelude(prelude)?;
            }
        }
        Ok(())
    }

    /// Runs `prelude`, which later nodes refer to by its position.
    fn run_prelude(&mut self, prelude: &Prelude) -> Result<()> {
        let finished = match prelude.kind {
            PreludeKind::Materialized | PreludeKind::Recursive => {
                Finished::Rows(Arc::new(self.rows_of(prelude)?))
            }
            PreludeKind::Scalar => match self.scalar_of(prelude) {
                Ok(value) => Finished::Scalar(value),
                Err(error) if is_of_values(&error) => Finished::Failed(error),
                Err(error) => return Err(error),
            },
        };
        self.preludes.push(finished);
        Ok(())
    }

    fn rows_of(&mut self, prelude: &Prelude) -> Result<StoredRows> {
        let stream = self.open(&prelude.node, Vec::new())?;
        StoredRows::collect(&self.context, &stream, &prelude.node.output)
    }

    fn scalar_of(&mut self, prelude: &Prelude) -> Result<Value> {
        let rows = self.rows_of(prelude)?;
        match rows.rows() {
            0 => Ok(Value::Null),
            1 => Ok(rows.value(0, 0)),
            _ => Err(more_than_one_row()),
        }
    }

    /// The stream of `node`'s rows. `filters` may be used or ignored: the join that made them tests
    /// again.
    ///
    /// # Errors
    /// Whatever running the breakers below meets.
    pub fn open(&mut self, node: &Node, filters: Vec<PushedFilter>) -> Result<Stream> {
        types::stack::deep(|| {
            self.context.check()?;
            (self.open_node)(self, node, filters)
        })
    }

    /// The node that a CTE's only reader runs itself, if its rows are not kept.
    pub(crate) fn streamed(&self, source: CteSource) -> Option<Arc<Node>> {
        match source {
            CteSource::Prelude(i) => match self.preludes.get(i) {
                Some(Finished::Streamed(prelude)) => Some(Arc::clone(prelude)),
                _ => None,
            },
            CteSource::Recursive(_) => None,
        }
    }

    /// These columns of the rows that a CTE left.
    ///
    /// # Errors
    /// XX000 when there are none.
    pub(crate) fn cte(&self, source: CteSource, columns: &[usize]) -> Result<Arc<dyn Source>> {
        let rows = match source {
            CteSource::Prelude(i) => match self.preludes.get(i) {
                Some(Finished::Rows(rows)) => Some(rows.source(columns)),
                _ => None,
            },
            CteSource::Recursive(number) => {
                let last = self.recursive.iter().rev().find(|(n, _)| *n == number);
                last.map(|(_, round)| round.source(columns))
            }
        };
        rows.ok_or_else(|| Error::internal(format!("no rows for {source:?}")))
    }

    /// How many rows prelude `i` left; None when it is run where it is read.
    pub(crate) fn rows_left(&self, i: usize) -> Option<u64> {
        match self.preludes.get(i) {
            Some(Finished::Rows(rows)) => Some(rows.rows() as u64),
            _ => None,
        }
    }

    /// True when rows below `node` may come from the last round of a recursion.
    pub(crate) fn reads_a_round(&self, node: &Node) -> bool {
        match &node.operator {
            Operator::CteScan { source: CteSource::Recursive(_), .. } => true,
            Operator::CteScan { source, .. } => {
                self.streamed(*source).is_some_and(|prelude| self.reads_a_round(&prelude))
            }
            _ => node.inputs().into_iter().any(|input| self.reads_a_round(input)),
        }
    }

    /// True when rows below `node` may come from a recursion that is run there, and so perhaps
    /// never end.
    pub(crate) fn runs_recursion(&self, node: &Node) -> bool {
        match &node.operator {
            Operator::Recursive { .. } => true,
            Operator::CteScan { source, .. } => {
                self.streamed(*source).is_some_and(|prelude| self.runs_recursion(&prelude))
            }
            _ => node.inputs().into_iter().any(|input| self.runs_recursion(input)),
        }
    }

    /// `expr` with parameters and scalar sub-queries replaced by their values.
    ///
    /// # Errors
    /// 42P02-like when a parameter has no value.
    pub fn resolve(&self, expr: &Expr) -> Result<Expr> {
        let mut expr = expr.clone();
        self.resolve_in(&mut expr)?;
        Ok(expr)
    }

    fn resolve_in(&self, expr: &mut Expr) -> Result<()> {
        let value = match &expr.kind {
            ExprKind::Parameter(i) => {
                let value = self.context.parameters.get(*i as usize).cloned();
                let missing = || {
                    let message = format!("there is no value for parameter ${}", i + 1);
                    Error::new(SqlState::UNDEFINED_OBJECT, message)
                };
                Some(value.ok_or_else(missing)?)
            }
            ExprKind::Scalar(i) => match self.preludes.get(*i) {
                Some(Finished::Scalar(value)) => Some(value.clone()),
                Some(Finished::Failed(error)) => {
                    expr.kind = ExprKind::Failure(error.clone());
                    return Ok(());
                }
                _ => return Err(Error::internal(format!("no scalar sub-query {i}"))),
            },
            _ => None,
        };
        if let Some(value) = value {
            expr.kind = ExprKind::Literal(fit(value, expr.physical));
            return Ok(());
        }
        for child in children_mut(&mut expr.kind) {
            self.resolve_in(child)?;
        }
        if let ExprKind::Call(function, arguments) = &mut expr.kind
            && function.reads_sequences()
        {
            let missing = || Error::unsupported("a function of sequences in this place");
            let sequences = self.context.sequences.clone().ok_or_else(missing)?;
            expr.kind = ExprKind::Sequence(sequences, *function, std::mem::take(arguments));
        }
        Ok(())
    }

    /// The value of an expression without columns: LIMIT and the like.
    ///
    /// # Errors
    /// Errors that its evaluation raises.
    pub fn constant(&self, expr: &Expr) -> Result<Value> {
        let expr = self.resolve(expr)?;
        if let ExprKind::Literal(value) = expr.kind {
            return Ok(value);
        }
        if let ExprKind::Cast(inner) = &expr.kind
            && let ExprKind::Literal(value) = &inner.kind
            && inner.ty == DataType::NUMERIC
            && matches!(expr.ty, DataType::Numeric(_))
        {
            let vector = Vector::repeat(inner.physical, value, 1);
            let cast = kernels::cast::cast_as(&vector, inner.ty, expr.ty, expr.physical)?;
            return Ok(cast.value(0));
        }
        let evaluator = Evaluator::new(&expr)?;
        Ok(evaluator.evaluate(&Batch::new(Vec::new(), 1))?.value(0))
    }

    /// As [`Self::constant`], as a column of one row.
    ///
    /// # Errors
    /// As [`Self::constant`].
    pub fn constant_column(&self, expr: &Expr) -> Result<Column> {
        let evaluator = Evaluator::new(&self.resolve(expr)?)?;
        evaluator.evaluate(&Batch::new(Vec::new(), 1))
    }
}

/// True for errors of the values that a query met, not of the query or its surroundings.
fn is_of_values(error: &Error) -> bool {
    matches!(&error.state().as_str()[..2], "21" | "22")
}

/// 21000 for a sub-query that must give one row.
pub(crate) fn more_than_one_row() -> Error {
    let message = "more than one row returned by a subquery used as an expression";
    Error::new(SqlState::CARDINALITY_VIOLATION, message)
}
