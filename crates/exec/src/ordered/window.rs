//! Window functions.
//!
//! ```text
//! input rows --sort by (partition, order)--> sorted rows: | partition | partition | ... |
//! parts of whole partitions --workers--> frames, functions --> results in sorted order
//! results --inverse permutation--> beside the input rows, which come out in the first call's order
//! ```
//! Calls with equal PARTITION BY and ORDER BY share one sort.
//! Frames are two ends per row; counts and exact sums over them are differences of prefix sums,
//! other aggregates come from a tree of states, each the merge of two below.
//! Source: Leis, Kundhardt, Kemper, Neumann 2015, sections 3 and 4.

mod aggregates;
mod frames;
mod functions;
mod order;

use std::sync::Arc;

use kernels::hash::hash_columns;
use kernels::{BATCH_ROWS, Batch, Column, Vector, VectorBuilder};
use plan::physical::{Expr, ExprKind, FrameBound, Node, Operator, Window};
use sql::algebra::{FrameUnits, WindowFunction};
use types::{Error, Result};

use crate::aggregate::Inputs;
use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::Stream;
use crate::pushed::PushedFilter;
use crate::result::StoredRows;
use crate::spill::{Gathered, Hashes, PARTITION_BITS, Results, gather, load};
use aggregates::FrameAggregate;
use frames::{Bound, Distance, FrameSpec, Offset};
use order::{OrderSpec, Ordered};

/// Rows that a work order computes, at least; always whole partitions.
const PART_ROWS: usize = 1 << 14;

/// A call, ready to run.
struct Call {
    function: WindowFunction,
    /// Numbers of inputs.
    arguments: Vec<usize>,
    frame: FrameSpec,
    aggregate: Option<FrameAggregate>,
    /// Number of its sort.
    order: usize,
    physical: types::PhysicalType,
}

/// Opens [`Operator::Window`].
///
/// # Errors
/// Whatever the input and the functions meet; 53200 when the input does not fit in memory and the
/// calls have no PARTITION BY in common, or when a partition of them does not.
pub(crate) fn open_window(
    opener: &mut Opener,
    node: &Node,
    filters: Vec<PushedFilter>,
) -> Result<Stream> {
    let Operator::Window { input, calls } = &node.operator else {
        return Err(Error::internal("not window functions"));
    };
    // A filter on what all calls are partitioned by drops partitions as a whole.
    let is_partition = |f: &PushedFilter| {
        let of = |e: &Expr| e.kind == ExprKind::Column(f.column);
        calls.iter().all(|call| call.partition_by.iter().any(of))
    };
    let stream = opener.open(input, filters.into_iter().filter(is_partition).collect())?;
    let hashes = partition_hashes(opener, calls)?;
    let context = Arc::clone(&opener.context);
    let rows = gather(&context, &stream, (&input.output, node.id), hashes)?;
    drop(stream);
    let written = match rows {
        Gathered::Memory(rows) => {
            let Windowed { batch, order, memory } = windowed(opener, calls, &rows)?;
            let stored = Kept { _input: rows };
            let rows = Arc::new(StoredRows::from_batch(batch, vec![memory]));
            let source = KeptSource { source: rows.source_in(order), _kept: stored };
            return Ok(Stream::new(Arc::new(source), Some(node.id)));
        }
        Gathered::Disk(written) => written,
    };
    let mut results = Results::new(&context, node.id)?;
    for partition in 0..1 << PARTITION_BITS {
        let rows = load(&context, &written, partition, &input.output)?;
        let Windowed { batch, order, memory: _memory } = windowed(opener, calls, &rows)?;
        for part in order.chunks(BATCH_ROWS) {
            results.write(&batch.gather(part))?;
        }
    }
    Ok(Stream::new(results.source(), Some(node.id)))
}

/// Hashes of what all calls are partitioned by; None when that is nothing.
fn partition_hashes(opener: &Opener, calls: &[Window]) -> Result<Option<Hashes>> {
    let Some((first, others)) = calls.split_first() else {
        return Ok(None);
    };
    let mut inputs = Inputs::default();
    for expr in &first.partition_by {
        if others.iter().all(|call| call.partition_by.contains(expr)) {
            inputs.add(opener, expr)?;
        }
    }
    if inputs.len() == 0 {
        return Ok(None);
    }
    Ok(Some(Arc::new(move |batch: &Batch| {
        let columns = inputs.evaluate(&mut Flow::from_batch(batch.clone()))?;
        let mut hashes = Vec::new();
        hash_columns(&columns.iter().collect::<Vec<_>>(), batch.rows, &mut hashes);
        Ok(hashes)
    })))
}

/// Rows with results beside them.
struct Windowed {
    batch: Batch,
    /// The order in which the rows come out: that of the first call that sorts, as PostgreSQL's.
    order: Vec<u32>,
    memory: storage::Reservation,
}

/// `rows` with the results of `calls` beside them.
fn windowed(opener: &Opener, calls: &[Window], rows: &StoredRows) -> Result<Windowed> {
    let count = rows.rows();
    let mut inputs = Inputs::default();
    let mut specs: Vec<OrderSpec> = Vec::new();
    let mut planned = Vec::with_capacity(calls.len());
    for call in calls {
        planned.push(plan_call(opener, &mut inputs, &mut specs, call)?);
    }
    let mut memory = opener.context.pool.reserve(storage::MemoryCategory::Sort, 0)?;
    // Inputs, keys with their entries, results: each about 16 bytes per row.
    let columns = inputs.len() + 4 * specs.len() + 2 * calls.len();
    memory.resize((count * columns * 16) as u64)?;
    let mut flow = Flow::from_batch(rows.batch().clone());
    let values: Arc<Vec<Column>> = Arc::new(inputs.evaluate(&mut flow)?);
    let mut results: Vec<Option<Column>> = vec![None; calls.len()];
    let planned = Arc::new(planned);
    let mut order = None;
    for (number, spec) in specs.iter().enumerate() {
        let ordered = Arc::new(Ordered::new(&opener.context, spec, &values, count)?);
        let own: Vec<usize> = (0..planned.len()).filter(|&c| planned[c].order == number).collect();
        for (call, column) in compute(opener, &ordered, &planned, &values, own)? {
            results[call] = Some(column);
        }
        if order.is_none() && spec.sorts() {
            order = Some(ordered.rows().to_vec());
        }
    }
    let mut columns = rows.batch().columns.clone();
    for result in results {
        columns.push(result.ok_or_else(|| Error::internal("a result per window function"))?);
    }
    let order = order.unwrap_or_else(|| (0..count as u32).collect());
    Ok(Windowed { batch: Batch::new(columns, count), order, memory })
}

/// The input's memory, which the output's columns share.
struct Kept {
    _input: StoredRows,
}

/// A source and what it must keep.
struct KeptSource {
    source: Arc<dyn crate::pipeline::Source>,
    _kept: Kept,
}

impl crate::pipeline::Source for KeptSource {
    fn orders(&self) -> usize {
        self.source.orders()
    }

    fn run(
        &self,
        order: usize,
        push: &mut crate::pipeline::Push<'_>,
    ) -> Result<crate::pipeline::Demand> {
        self.source.run(order, push)
    }
}

fn plan_call(
    opener: &Opener,
    inputs: &mut Inputs,
    specs: &mut Vec<OrderSpec>,
    call: &Window,
) -> Result<Call> {
    let arguments =
        call.arguments.iter().map(|a| inputs.add(opener, a)).collect::<Result<Vec<_>>>()?;
    let spec = OrderSpec::new(opener, inputs, &call.partition_by, &call.order_by)?;
    let order = specs.iter().position(|s| *s == spec).unwrap_or_else(|| {
        specs.push(spec);
        specs.len() - 1
    });
    let aggregate = match call.function {
        WindowFunction::Aggregate(function) => {
            Some(FrameAggregate::new(opener, inputs, function, call)?)
        }
        _ => None,
    };
    let frame = FrameSpec {
        units: call.units,
        start: bound(opener, inputs, (&call.start, "starting"), call.units)?,
        end: bound(opener, inputs, (&call.end, "ending"), call.units)?,
        exclusion: call.exclusion,
    };
    Ok(Call {
        function: call.function,
        arguments,
        frame,
        aggregate,
        order,
        physical: call.physical,
    })
}

/// A frame end with its offset evaluated, or the input that has it.
fn bound(
    opener: &Opener,
    inputs: &mut Inputs,
    (bound, end): (&FrameBound, &'static str),
    units: FrameUnits,
) -> Result<Bound> {
    let same =
        |expr: &Expr| Offset::new(opener.constant(expr)?, expr.ty, end, units).map(Distance::Same);
    Ok(match bound {
        FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
        FrameBound::Preceding(expr) => Bound::Preceding(same(expr)?),
        FrameBound::CurrentRow => Bound::CurrentRow,
        FrameBound::Following(expr) => Bound::Following(same(expr)?),
        FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
        FrameBound::Key(expr) => Bound::Key(inputs.add(opener, expr)?),
        FrameBound::OuterPreceding(expr) | FrameBound::OuterFollowing(expr) => {
            let distance = Distance::Input { number: inputs.add(opener, expr)?, ty: expr.ty, end };
            match bound {
                FrameBound::OuterPreceding(_) => Bound::Preceding(distance),
                _ => Bound::Following(distance),
            }
        }
    })
}

/// The results of the calls `own`, in input order.
fn compute(
    opener: &Opener,
    ordered: &Arc<Ordered>,
    calls: &Arc<Vec<Call>>,
    values: &Arc<Vec<Column>>,
    own: Vec<usize>,
) -> Result<Vec<(usize, Column)>> {
    let parts = ordered.parts(PART_ROWS);
    let count = parts.len();
    let (shared, all, inputs) = (Arc::clone(ordered), Arc::clone(calls), Arc::clone(values));
    let numbers = own.clone();
    let computed = super::parallel::compute_all(&opener.context, count, move |i| {
        let part = shared.part(parts[i].clone(), &inputs);
        numbers.iter().map(|&c| all[c].compute(&part)).collect::<Result<Vec<Vector>>>()
    })?;
    let inverse = ordered.inverse();
    let column = |(i, call): (usize, &usize)| {
        let mut builder = VectorBuilder::with_capacity(calls[*call].physical, inverse.len());
        computed.iter().for_each(|results| builder.append(&results[i], None));
        (*call, Column::plain(builder.finish_pinned().gather(&inverse)))
    };
    Ok(own.iter().enumerate().map(column).collect())
}

impl Call {
    /// The results for a part, in sorted order.
    fn compute(&self, part: &order::Part) -> Result<Vector> {
        match &self.aggregate {
            Some(aggregate) => aggregate.compute(part, &self.frame),
            None => {
                functions::compute(self.function, &self.arguments, part, &self.frame, self.physical)
            }
        }
    }
}
