//! Operators without state: filter, project, literal rows.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use kernels::{BATCH_ROWS, Batch, Column, VectorBuilder};
use parking_lot::Mutex;
use plan::physical::{Expr, ExprKind, Node, Operator as PlanOperator, OperatorId};
use storage::Reservation;
use types::{Error, PhysicalType, Result};

use crate::expr::{Evaluator, columns_of, depend_on_order, is_volatile, restrict};
use crate::flow::{Flow, Output};
use crate::opener::Opener;
use crate::pipeline::{Demand, Operator, Push, Source, Stream};
use crate::pushed::PushedFilter;

/// One conjunct and the columns it uses.
struct Conjunct {
    evaluator: Evaluator,
    columns: Vec<usize>,
}

/// Keeps rows whose predicate is true. Conjuncts are evaluated in order, each on the survivors of
/// those before, so that columns of later ones are unpacked for survivors only.
pub(crate) struct FilterOperator {
    conjuncts: Vec<Conjunct>,
    id: Option<OperatorId>,
}

impl FilterOperator {
    /// A filter by `predicate`, which has no parameters left.
    pub(crate) fn new(predicate: &Expr, id: Option<OperatorId>) -> Result<Self> {
        let parts = match &predicate.kind {
            ExprKind::And(parts) => parts.as_slice(),
            _ => std::slice::from_ref(predicate),
        };
        let conjunct = |part: &Expr| -> Result<Conjunct> {
            Ok(Conjunct { evaluator: Evaluator::new(part)?, columns: columns_of(part) })
        };
        Ok(Self { conjuncts: parts.iter().map(conjunct).collect::<Result<_>>()?, id })
    }
}

impl Operator for FilterOperator {
    fn process(&self, _: &mut dyn Any, mut flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        for conjunct in &self.conjuncts {
            flow.load(&conjunct.columns)?;
            let mut positions: Vec<u32> = (0..flow.rows() as u32).collect();
            conjunct.evaluator.select(flow.batch(), &mut positions)?;
            if positions.is_empty() {
                return Ok(Demand::More);
            }
            if positions.len() < flow.rows() {
                flow = flow.select(&positions);
            }
        }
        push(flow)
    }

    fn id(&self) -> Option<OperatorId> {
        self.id
    }
}

/// Opens [`PlanOperator::Filter`].
pub(crate) fn open_filter(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    let PlanOperator::Filter { input, predicate } = &node.operator else {
        return Err(Error::internal("not a filter"));
    };
    let filters = if is_volatile(predicate) { Vec::new() } else { filters };
    let mut stream = opener.open(input, filters)?;
    let predicate = opener.resolve(predicate)?;
    stream.push_operator(Arc::new(FilterOperator::new(&predicate, Some(node.id))?));
    Ok(stream)
}

/// Output column of a projection.
enum Projected {
    Kept(usize),
    Computed(Evaluator, PhysicalType),
}

/// How the values of a projection are computed.
enum Order {
    /// Column by column.
    Any,
    /// Row by row, by one worker at a time: what a call changes is read by the next.
    Written(Mutex<()>),
}

/// Computes expressions; plain columns pass through, loaded or not.
struct ProjectOperator {
    outputs: Vec<Projected>,
    used: Vec<usize>,
    order: Order,
    id: OperatorId,
}

impl ProjectOperator {
    fn by_columns(&self, batch: &Batch) -> Result<Vec<Output>> {
        let output = |projected: &Projected| -> Result<Output> {
            Ok(match projected {
                Projected::Kept(column) => Output::Kept(*column),
                Projected::Computed(evaluator, _) => Output::Computed(evaluator.evaluate(batch)?),
            })
        };
        self.outputs.iter().map(output).collect()
    }

    fn by_rows(&self, batch: &Batch) -> Result<Vec<Output>> {
        let made = |projected: &Projected| match projected {
            Projected::Kept(_) => VectorBuilder::new(PhysicalType::Bool),
            Projected::Computed(_, physical) => VectorBuilder::new(*physical),
        };
        let mut builders: Vec<VectorBuilder> = self.outputs.iter().map(made).collect();
        for row in 0..batch.rows as u32 {
            let one = restrict(batch, &self.used, &[row]);
            for (projected, builder) in self.outputs.iter().zip(&mut builders) {
                if let Projected::Computed(evaluator, _) = projected {
                    builder.append(&evaluator.evaluate(&one)?.to_vector(), None);
                }
            }
        }
        let output = |(projected, builder): (&Projected, VectorBuilder)| match projected {
            Projected::Kept(column) => Output::Kept(*column),
            Projected::Computed(..) => Output::Computed(Column::plain(builder.finish())),
        };
        Ok(self.outputs.iter().zip(builders).map(output).collect())
    }
}

impl Operator for ProjectOperator {
    fn process(&self, _: &mut dyn Any, mut flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        flow.load(&self.used)?;
        let outputs = match &self.order {
            Order::Any => self.by_columns(flow.batch())?,
            Order::Written(turn) => {
                let _turn = turn.lock();
                self.by_rows(flow.batch())?
            }
        };
        push(flow.replace(outputs))
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// Opens [`PlanOperator::Project`].
pub(crate) fn open_project(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    let PlanOperator::Project { input, exprs } = &node.operator else {
        return Err(Error::internal("not a projection"));
    };
    let below = if exprs.iter().any(is_volatile) {
        Vec::new()
    } else {
        filters.into_iter().filter_map(|pushed| pushed.through(exprs)).collect()
    };
    let mut stream = opener.open(input, below)?;
    push_project(opener, node, None, &mut stream)?;
    Ok(stream)
}

/// Lets `stream` pass the projection `node`, and its column `passed` behind the projection's.
///
/// # Errors
/// As [`Opener::resolve`] and [`Evaluator::new`].
pub(crate) fn push_project(
    opener: &Opener,
    node: &Node,
    passed: Option<usize>,
    stream: &mut Stream,
) -> Result<()> {
    let PlanOperator::Project { exprs, .. } = &node.operator else {
        return Err(Error::internal("not a projection"));
    };
    let exprs = exprs.iter().map(|expr| opener.resolve(expr)).collect::<Result<Vec<_>>>()?;
    let mut used = Vec::new();
    let mut outputs = Vec::with_capacity(exprs.len());
    for expr in &exprs {
        if let ExprKind::Column(column) = expr.kind {
            outputs.push(Projected::Kept(column));
            continue;
        }
        used.extend(columns_of(expr));
        outputs.push(Projected::Computed(Evaluator::new(expr)?, expr.physical));
    }
    outputs.extend(passed.map(Projected::Kept));
    used.sort_unstable();
    used.dedup();
    let order = if depend_on_order(&exprs) { Order::Written(Mutex::new(())) } else { Order::Any };
    stream.push_operator(Arc::new(ProjectOperator { outputs, used, order, id: node.id }));
    Ok(())
}

/// Some columns of the input, in another order perhaps.
pub(crate) struct Picked {
    columns: Vec<usize>,
    id: OperatorId,
}

impl Picked {
    pub(crate) fn new(columns: &[usize], id: OperatorId) -> Self {
        Self { columns: columns.to_vec(), id }
    }
}

impl Operator for Picked {
    fn process(&self, _: &mut dyn Any, flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        push(flow.project(&self.columns))
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// Batches made beforehand, a few rows together in one work order, with the memory counted for
/// them, if any.
pub(crate) struct BatchesSource {
    batches: Vec<Batch>,
    orders: Vec<Range<usize>>,
    _memory: Option<Reservation>,
}

/// Batches of these numbers of rows as work orders, each of some that follow each other until they
/// are a full batch: to wake workers for a few rows costs more than the rows do.
pub(crate) fn orders_of(rows: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut orders: Vec<Range<usize>> = Vec::new();
    let mut has_room = false;
    let mut total = 0;
    for (batch, rows) in rows.enumerate() {
        match orders.last_mut().filter(|_| has_room) {
            Some(order) => order.end = batch + 1,
            None => {
                orders.push(batch..batch + 1);
                total = 0;
            }
        }
        total += rows;
        has_room = total < BATCH_ROWS;
    }
    orders
}

impl BatchesSource {
    /// Batches that are counted elsewhere.
    pub(crate) fn new(batches: Vec<Batch>) -> Self {
        let orders = orders_of(batches.iter().map(|batch| batch.rows));
        Self { batches, orders, _memory: None }
    }

    /// Batches that take `memory` as long as they are read.
    pub(crate) fn counted(batches: Vec<Batch>, memory: Reservation) -> Self {
        Self { _memory: Some(memory), ..Self::new(batches) }
    }
}

impl Source for BatchesSource {
    fn orders(&self) -> usize {
        self.orders.len()
    }

    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand> {
        push_all(&self.batches[self.orders[order].clone()], push)
    }
}

/// Pushes batches until there are enough.
pub(crate) fn push_all<'b>(
    batches: impl IntoIterator<Item = &'b Batch>,
    push: &mut Push<'_>,
) -> Result<Demand> {
    for batch in batches {
        if push(Flow::from_batch(batch.clone()))? == Demand::Enough {
            return Ok(Demand::Enough);
        }
    }
    Ok(Demand::More)
}

/// Opens [`PlanOperator::Values`].
pub(crate) fn open_values(opener: &mut Opener, node: &Node) -> Result<Stream> {
    let PlanOperator::Values { rows } = &node.operator else {
        return Err(Error::internal("not literal rows"));
    };
    let mut batches = Vec::new();
    for part in rows.chunks(BATCH_ROWS) {
        let mut builders: Vec<VectorBuilder> =
            node.output.iter().map(|c| VectorBuilder::new(c.physical)).collect();
        for row in part {
            opener.context.check()?;
            for (builder, expr) in builders.iter_mut().zip(row) {
                builder.push_value(&opener.constant(expr)?);
            }
        }
        let columns = builders.into_iter().map(|b| Column::plain(b.finish())).collect();
        batches.push(Batch::new(columns, part.len()));
    }
    Ok(Stream::new(Arc::new(BatchesSource::new(batches)), Some(node.id)))
}
