//! GROUP BY and aggregates.
//!
//! ```text
//! flow -> inputs -> groups (array, direct array, table)  -> states, per worker
//!                                   |  too many groups: runs by hash
//! workers' parts --one small--> merged at once  --larger--> merged per partition or range,
//!                                                         by the work orders that read the groups
//! ```
//! Modes, from the plan: scalar (one group), dense (an array over a range of integer keys; a key
//! outside makes the worker go over to a table), hash. Strings of keys are numbered, so that keys
//! of several columns are packed words; where all keys are strings with few values, rows find their
//! group without hashing.
//! When memory is full, a worker keeps the groups that it has and writes further rows to disk, by
//! partition (`spill`); they are added when the groups of their partition are merged.
//! A lone DISTINCT is two aggregations: by keys and argument, then by keys.
//!
//! Invariants: groups of equal keys are one (NULL is equal to NULL, -0 to 0, NaN to NaN); states of
//! a group are merged in any order; all memory is reserved.
//! Source: thread-local pre-aggregation and partitioned merge after Leis et al. 2014, section 4.4;
//! modes after Patel 2018, section 2.2. Departures: partitions are merged lazily, by the
//! source.
//!
//! Elsewhere: tables and loops (`kernels::group_table`).

mod finish;
mod group_join;
mod grouper;
mod input;
mod intern;
mod keys;
mod late;
mod local;
mod output;
mod sink;
mod spill;
pub(crate) mod states;
#[cfg(test)]
mod tests;
mod variance;

use std::sync::Arc;

use plan::physical::{Aggregate, AggregateMode, Expr, ExprKind, Node, Operator, OutputColumn};
use sql::algebra::{AggregateFunction, Duplicates, Function};
use types::{DataType, Error, PhysicalType, Result};

use crate::expr::column;
use crate::opener::Opener;
use crate::pipeline::{Stream, drive};
use crate::pushed::PushedFilter;
use crate::spill::Partitions;
use grouper::Keys;
use output::{GroupSource, Shape};
use sink::{AggregateSink, SetMode, SetPlan};
use states::{Coverage, Rows, StateKind, StateSpec};

pub(crate) use finish::StatePlan;
pub(crate) use grouper::{Grouper, Keys as GroupKeys};
pub(crate) use input::Inputs;
pub(crate) use states::sort_field;

/// Widest range of a dense key: an array of states is a few gigabytes at most.
const DENSE_RANGE_MAX: i64 = 1 << 26;
/// Groups that a partition should have at most, so that its table and states stay in the cache.
const PARTITION_GROUPS: f64 = 16_384.0;
/// Partitions, as exponents of 2.
const BITS_MIN: u32 = 6;
const BITS_MAX: u32 = 10;
/// Partitions when states hold rows: each splits all of them.
const BITS_HEAVY: u32 = 3;

/// Opens [`Operator::Aggregate`]: runs the input, gives the groups.
///
/// # Errors
/// Whatever the input and the aggregates meet, 53200 when groups do not fit in memory.
pub fn open(opener: &mut Opener, node: &Node, filters: Vec<PushedFilter>) -> Result<Stream> {
    let Operator::Aggregate { input, keys, grouping_sets, mode, .. } = &node.operator else {
        return Err(Error::internal("not an aggregation"));
    };
    if matches!(mode, AggregateMode::GroupJoin(_)) {
        return group_join::open(opener, node, filters);
    }
    let stream = match distinct_input(node) {
        Some(inner) => {
            // Filters on keys go with them to the inner aggregation, whose first columns they are;
            // behind them it has arguments where this one has results.
            let on_keys = filters.into_iter().filter(|pushed| pushed.column < keys.len());
            let stream = open(opener, &inner, on_keys.collect())?;
            return group(opener, &outer_node(node, &inner)?, stream);
        }
        None => {
            // A set without the key has NULL instead.
            let in_all = |key: usize| match grouping_sets {
                Some(sets) => sets.iter().all(|set| set.contains(&key)),
                None => true,
            };
            let below = |pushed: PushedFilter| match keys.get(pushed.column)?.kind {
                ExprKind::Column(column) if in_all(pushed.column) => {
                    Some(PushedFilter { column, ..pushed })
                }
                _ => None,
            };
            opener.open(input, filters.into_iter().filter_map(below).collect())?
        }
    };
    group(opener, node, stream)
}

/// The aggregation that removes duplicate arguments, when all aggregates are DISTINCT over the
/// same.
fn distinct_input(node: &Node) -> Option<Node> {
    let Operator::Aggregate { input, keys, aggregates, grouping_sets, .. } = &node.operator else {
        return None;
    };
    let first = aggregates.first()?;
    let alike = |a: &Aggregate| {
        a.duplicates == Duplicates::Remove
            && matches!(
                a.function,
                AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Avg
            )
            && a.arguments == first.arguments
            && a.filter.is_none()
    };
    if grouping_sets.is_some() || !aggregates.iter().all(alike) {
        return None;
    }
    let mut inner_keys = keys.clone();
    inner_keys.extend(first.arguments.iter().cloned());
    let output = |e: &Expr| OutputColumn { name: "".into(), ty: e.ty, physical: e.physical };
    Some(Node {
        id: node.id,
        output: inner_keys.iter().map(output).collect(),
        operator: Operator::Aggregate {
            input: input.clone(),
            keys: inner_keys,
            aggregates: Vec::new(),
            grouping_sets: None,
            mode: AggregateMode::Hash,
        },
        rows: input.rows,
    })
}

/// The aggregation `node` over the rows of `inner`, where nothing is twice.
fn outer_node(node: &Node, inner: &Node) -> Result<Node> {
    let Operator::Aggregate { keys, aggregates, mode, .. } = &node.operator else {
        return Err(Error::internal("not an aggregation"));
    };
    let input_column = |i: usize| column(i, inner.output[i].ty, inner.output[i].physical);
    let aggregate = |a: &Aggregate| Aggregate {
        arguments: (keys.len()..inner.output.len()).map(input_column).collect(),
        duplicates: Duplicates::Keep,
        ..a.clone()
    };
    let operator = Operator::Aggregate {
        input: Box::new(inner.clone()),
        keys: (0..keys.len()).map(input_column).collect(),
        aggregates: aggregates.iter().map(aggregate).collect(),
        grouping_sets: None,
        mode: mode.clone(),
    };
    Ok(Node { operator, ..node.clone() })
}

/// The part of `key` that equal values share: wide decimals that are equal may differ in their
/// bytes.
pub(crate) fn keyed(key: &Expr) -> Expr {
    if key.ty.has_wide() {
        Expr {
            kind: ExprKind::Call(Function::NumericKey, vec![key.clone()]),
            ty: DataType::Bytea,
            physical: PhysicalType::Str,
        }
    } else {
        key.clone()
    }
}

/// Groups the rows of `stream`.
fn group(opener: &Opener, node: &Node, stream: Stream) -> Result<Stream> {
    let Operator::Aggregate { keys, aggregates, grouping_sets, .. } = &node.operator else {
        return Err(Error::internal("not an aggregation"));
    };
    let mut inputs = Inputs::default();
    let key_inputs =
        keys.iter().map(|k| inputs.add(opener, &keyed(k))).collect::<Result<Vec<_>>>()?;
    let mut plan = StatePlan::default();
    let mut replaced = vec![None; keys.len()];
    for (i, key) in keys.iter().enumerate() {
        if key.physical == PhysicalType::Interval || key.ty.has_wide() {
            replaced[i] = Some(plan.state(StateSpec {
                kind: StateKind::Any(Rows::Many),
                arguments: vec![inputs.add(opener, key)?],
                physical: vec![key.physical],
                filter: None,
            }));
        }
    }
    for aggregate in aggregates {
        plan.add(&mut inputs, opener, aggregate)?;
    }
    let all: Vec<usize> = (0..keys.len()).collect();
    let ordinals = grouping_sets.clone().unwrap_or_else(|| vec![all]);
    let ordinals: Vec<Vec<usize>> = ordinals
        .into_iter()
        .map(|mut set| {
            set.sort_unstable();
            set.dedup();
            set
        })
        .collect();
    let sets = ordinals
        .iter()
        .map(|set| set_plan(opener, node, &plan, set, &key_inputs))
        .collect::<Result<Vec<_>>>()?;
    let context = Arc::clone(&opener.context);
    let sink = Arc::new(AggregateSink { context, id: node.id, inputs, plan, sets });
    let locals = drive(&opener.context, &stream, &sink)?;
    let mut parts: Vec<Vec<_>> = (0..ordinals.len()).map(|_| Vec::new()).collect();
    let mut memory = Vec::new();
    let mut spilled: Vec<Vec<_>> = (0..ordinals.len()).map(|_| Vec::new()).collect();
    for local in locals {
        parts.iter_mut().zip(local.sets).for_each(|(parts, part)| parts.push(part));
        memory.push(local.memory);
        for (spilled, partitions) in spilled.iter_mut().zip(local.spilled) {
            spilled.extend(partitions.map(Partitions::finish).transpose()?);
        }
    }
    let parts = parts.into_iter().zip(spilled).collect();
    let shape = Shape {
        keys: keys.iter().map(|k| k.physical).collect(),
        replaced,
        ordinals,
        numbered: grouping_sets.is_some(),
    };
    let source = GroupSource::new(&sink, parts, shape, memory)?;
    Ok(Stream::new(Arc::new(source), Some(node.id)))
}

fn set_plan(
    opener: &Opener,
    node: &Node,
    plan: &StatePlan,
    set: &[usize],
    key_inputs: &[usize],
) -> Result<SetPlan> {
    let Operator::Aggregate { keys, grouping_sets, mode, .. } = &node.operator else {
        return Err(Error::internal("not an aggregation"));
    };
    let physical: Vec<PhysicalType> = set.iter().map(|&k| keys[k].physical).collect();
    let heavy = plan.specs.iter().any(|s| s.states(Coverage::Dense).is_heavy());
    let wanted = (node.rows.max(1.0) / PARTITION_GROUPS).log2().ceil().max(0.0) as u32;
    let mode = match mode {
        _ if set.is_empty() => SetMode::Scalar,
        AggregateMode::Dense { min, max } if !heavy && grouping_sets.is_none() => {
            dense_mode(opener, plan, &physical, *min, *max)
        }
        _ => SetMode::Hash,
    };
    // A scalar set needs no keys, but the type does.
    let shared = if set.is_empty() { &[PhysicalType::Bool][..] } else { &physical };
    Ok(SetPlan {
        keys: set.iter().map(|&k| key_inputs[k]).collect(),
        shared: Arc::new(Keys::new(shared, node.rows, &opener.context)),
        physical,
        mode,
        bits: if heavy { BITS_HEAVY } else { wanted.clamp(BITS_MIN, BITS_MAX) },
    })
}

/// An array when the range is not too wide and all workers' arrays take a small part of the memory.
fn dense_mode(
    opener: &Opener,
    plan: &StatePlan,
    physical: &[PhysicalType],
    min: i64,
    max: i64,
) -> SetMode {
    let range = max.checked_sub(min).filter(|&r| (0..DENSE_RANGE_MAX).contains(&r));
    let integer = matches!(physical, [PhysicalType::I32 | PhysicalType::I64]);
    let (Some(range), true) = (range, integer) else {
        return SetMode::Hash;
    };
    let group_bytes = 1 + 17 * plan.specs.len() as u64;
    let workers = opener.context.scheduler.workers() as u64 + 1;
    let bytes = (range as u64 + 2) * group_bytes * workers;
    let pool = &opener.context.pool;
    if bytes > pool.limit().saturating_sub(pool.held()) / 4 {
        return SetMode::Hash;
    }
    SetMode::Dense { min, max }
}
