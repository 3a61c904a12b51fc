//! Memory that a plan is estimated to hold: what a query asks for before it runs.
//!
//! Rows times width of what breakers keep: build sides, groups, sorted rows, materialised CTEs.
//! All of them count as if they were there at once, which is so of the build sides below one probe
//! pipeline. Strings of tables are shared, so a string counts as its view.

use sql::algebra::{AggregateFunction, Duplicates};
use types::PhysicalType;

use crate::physical::{
    Aggregate, AggregateMode, Expr, Node, Operator, OutputColumn, Prelude, PreludeKind,
};

/// Bytes of a row's entry in a hash table or among sorted keys.
const ENTRY_BYTES: f64 = 24.0;
/// Bytes of the state of an aggregate of one group.
const STATE_BYTES: f64 = 16.0;

/// Bytes that the operators hold at once, as estimated.
pub(crate) fn held_bytes(preludes: &[Prelude], root: &Node) -> u64 {
    let prelude = |prelude: &Prelude| {
        let kept = match prelude.kind {
            PreludeKind::Materialized | PreludeKind::Recursive => rows_bytes(&prelude.node),
            PreludeKind::Scalar => 0.0,
        };
        kept + below(&prelude.node)
    };
    (preludes.iter().map(prelude).sum::<f64>() + below(root)) as u64
}

/// Bytes that each worker holds of states in arrays, as estimated: they cannot leave memory as
/// groups in hash tables can. States of a group join are one for each build row of the join below.
pub(crate) fn array_bytes(preludes: &[Prelude], root: &Node) -> u64 {
    let preludes = preludes.iter().map(|prelude| arrays_below(&prelude.node));
    (preludes.sum::<f64>() + arrays_below(root)) as u64
}

fn arrays_below(node: &Node) -> f64 {
    types::stack::deep(|| {
        let inputs: f64 = node.inputs().into_iter().map(arrays_below).sum();
        let Operator::Aggregate { input, aggregates, mode, .. } = &node.operator else {
            return inputs;
        };
        let groups = match (mode, &input.operator) {
            (AggregateMode::GroupJoin(_), Operator::HashJoin { build, .. }) => build.rows,
            (AggregateMode::GroupJoin(_), _) => node.rows,
            (AggregateMode::Dense { min, max }, _) => max.saturating_sub(*min) as f64 + 1.0,
            (AggregateMode::Scalar | AggregateMode::Hash, _) => 0.0,
        };
        inputs + groups * (ENTRY_BYTES + STATE_BYTES * aggregates.len() as f64)
    })
}

/// Bytes of the rows of `root`, as estimated, for whoever keeps them.
pub fn result_bytes(root: &Node) -> u64 {
    rows_bytes(root) as u64
}

/// Bytes that `node` and the operators below it hold.
fn below(node: &Node) -> f64 {
    types::stack::deep(|| {
        let inputs: f64 = match &node.operator {
            // One of them runs.
            Operator::Choice { many, .. } => below(many),
            Operator::Walk { sort, .. } => below(sort),
            _ => node.inputs().into_iter().map(below).sum(),
        };
        own(node) + inputs
    })
}

/// Bytes that the operator of `node` holds.
fn own(node: &Node) -> f64 {
    match &node.operator {
        Operator::HashJoin { build, .. } => rows_bytes(build) + build.rows * ENTRY_BYTES,
        Operator::NestedLoopJoin { build, .. } => rows_bytes(build),
        Operator::Aggregate { input, keys, aggregates, mode, .. } => {
            let groups = match mode {
                AggregateMode::Scalar => 1.0,
                _ => node.rows,
            };
            let keys: f64 = keys.iter().map(|key| width(key.physical)).sum();
            let collected: f64 =
                aggregates.iter().filter(|a| collects(a)).map(collected_width).sum();
            groups * (keys + ENTRY_BYTES + STATE_BYTES * aggregates.len() as f64)
                + input.rows * collected
        }
        Operator::Sort { .. } => rows_bytes(node) + node.rows * ENTRY_BYTES,
        Operator::Limit { limit: Some(_), .. } => rows_bytes(node),
        Operator::DistinctOn { input, .. } => rows_bytes(input) + node.rows * ENTRY_BYTES,
        Operator::Window { input, calls } => {
            rows_bytes(input) + input.rows * (ENTRY_BYTES + STATE_BYTES * 2.0 * calls.len() as f64)
        }
        Operator::SetOperation { left, right, .. } => {
            rows_bytes(left) + rows_bytes(right) + (left.rows + right.rows) * ENTRY_BYTES
        }
        Operator::Recursive { .. } => rows_bytes(node) + node.rows * ENTRY_BYTES,
        _ => 0.0,
    }
}

/// True for an aggregate that keeps its input.
fn collects(aggregate: &Aggregate) -> bool {
    use AggregateFunction::{ArrayAgg, Mode, PercentileCont, PercentileDisc, StringAgg};
    aggregate.duplicates == Duplicates::Remove
        || !aggregate.order_by.is_empty()
        || matches!(
            aggregate.function,
            ArrayAgg | StringAgg | Mode | PercentileCont | PercentileDisc
        )
}

/// Bytes of one input of an aggregate that keeps it.
fn collected_width(aggregate: &Aggregate) -> f64 {
    let arguments: f64 = aggregate.arguments.iter().map(|a: &Expr| width(a.physical)).sum();
    arguments + STATE_BYTES
}

/// Bytes of the rows of `node`.
fn rows_bytes(node: &Node) -> f64 {
    node.rows * node.output.iter().map(|column: &OutputColumn| width(column.physical)).sum::<f64>()
}

fn width(physical: PhysicalType) -> f64 {
    match physical {
        PhysicalType::Bool => 1.0,
        PhysicalType::I32 => 4.0,
        PhysicalType::I64 | PhysicalType::F64 => 8.0,
        PhysicalType::I128 | PhysicalType::Interval | PhysicalType::Str => 16.0,
    }
}
