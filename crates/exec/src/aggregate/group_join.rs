//! Group join: groups are rows of the build side of the join below.
//!
//! ```text
//! probe rows -> pairs + number of the build row -> states, by number
//! groups: number -> columns of the build side (late), results
//! ```
//! The groups are those of an aggregation by one dense integer key, the number; so a range without
//! room becomes a table and goes to disk as any other does. Where build rows have no numbers, the
//! keys of the plan are grouped by.
//!
//! Elsewhere: which plans may (`plan::JoinBelow`).

use std::any::Any;
use std::sync::Arc;

use kernels::VectorData;
use plan::JoinBelow;
use plan::physical::{AggregateMode, Node, Operator as PlanOperator, OperatorId, OutputColumn};
use storage::Positions;
use types::{DataType, Error, PhysicalType, Result};

use super::group;
use crate::expr::column;
use crate::flow::{Flow, RowSource};
use crate::join::{self, Numbered, Opened};
use crate::opener::Opener;
use crate::pipeline::{Demand, Operator, Push, Stream};
use crate::pushed::PushedFilter;
use crate::simple;

/// Where an output column of the aggregation comes from.
#[derive(Clone, Copy)]
enum Origin {
    /// Column of the stored build rows.
    Build(usize),
    /// Result of the aggregation by numbers, from 0.
    Result(usize),
}

/// Gives numbered groups the columns of their build rows.
struct BuildColumns {
    build: Arc<dyn RowSource>,
    /// Stored columns that the output has.
    stored: usize,
    /// The output in terms of number, results, stored columns.
    output: Vec<usize>,
}

impl Operator for BuildColumns {
    fn process(&self, _: &mut dyn Any, mut flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        let numbers = flow.column(0)?.to_vector();
        let VectorData::I32(numbers) = &numbers.data else {
            return Err(Error::internal("numbers of build rows are I32"));
        };
        let rows = numbers.iter().map(|&number| number as u32).collect();
        flow.append_source(Arc::clone(&self.build), self.stored, Positions::List(rows));
        push(flow.project(&self.output))
    }

    fn id(&self) -> Option<OperatorId> {
        // Its rows are those of the aggregation, which counts them.
        None
    }
}

/// Opens an aggregation whose mode is [`AggregateMode::GroupJoin`].
///
/// # Errors
/// As [`super::open`].
pub(super) fn open(opener: &mut Opener, node: &Node, filters: Vec<PushedFilter>) -> Result<Stream> {
    let PlanOperator::Aggregate { input, keys, aggregates, mode, .. } = &node.operator else {
        return Err(Error::internal("not an aggregation"));
    };
    let AggregateMode::GroupJoin(otherwise) = mode else {
        return Err(Error::internal("not a group join"));
    };
    let below = JoinBelow::of(input).filter(|below| below.groups_by_rows(keys, aggregates));
    let below = below.ok_or_else(|| Error::internal("a group join without its join"))?;
    let mut filters: Vec<PushedFilter> =
        filters.into_iter().filter_map(|f| f.through(keys)).collect();
    for projection in &below.projections {
        if let PlanOperator::Project { exprs, .. } = &projection.operator {
            filters = filters.into_iter().filter_map(|f| f.through(exprs)).collect();
        }
    }
    let numbered = match join::open_numbered(opener, below.join, filters)? {
        Opened::Numbered(numbered) => numbered,
        Opened::Plain(mut stream) => {
            for projection in below.projections.iter().rev() {
                simple::push_project(opener, projection, None, &mut stream)?;
            }
            return group(opener, &with_mode(node, (**otherwise).clone())?, stream);
        }
    };
    by_number(opener, node, &below, numbered)
}

fn with_mode(node: &Node, mode: AggregateMode) -> Result<Node> {
    let mut node = node.clone();
    if let PlanOperator::Aggregate { mode: old, .. } = &mut node.operator {
        *old = mode;
        return Ok(node);
    }
    Err(Error::internal("not an aggregation"))
}

/// Groups by the number of the build row.
fn by_number(
    opener: &Opener,
    node: &Node,
    below: &JoinBelow<'_>,
    numbered: Numbered,
) -> Result<Stream> {
    let PlanOperator::Aggregate { input, keys, aggregates, .. } = &node.operator else {
        return Err(Error::internal("not an aggregation"));
    };
    let Numbered { mut stream, build, rows, places } = numbered;
    let mut width = below.join.output.len();
    for projection in below.projections.iter().rev() {
        simple::push_project(opener, projection, Some(width), &mut stream)?;
        width = projection.output.len();
    }
    let place = |ordinal: usize| {
        let place = places.iter().find(|(column, _)| *column == ordinal).map(|(_, place)| *place);
        place.ok_or_else(|| Error::internal("a column that the build side does not store"))
    };
    let mut origins = Vec::with_capacity(node.output.len());
    for key in keys {
        let ordinal = below.build_column(key);
        let ordinal = ordinal.ok_or_else(|| Error::internal("a key of the build side"))?;
        origins.push(Origin::Build(place(ordinal)?));
    }
    let mut kept = Vec::new();
    for aggregate in aggregates {
        match below.any_of(aggregate) {
            Some(ordinal) => origins.push(Origin::Build(place(ordinal)?)),
            None => {
                origins.push(Origin::Result(kept.len()));
                kept.push(aggregate.clone());
            }
        }
    }
    let number =
        OutputColumn { name: "number".into(), ty: DataType::Integer, physical: PhysicalType::I32 };
    let key = column(width, number.ty, number.physical);
    let mut input = (**input).clone();
    input.output.push(number);
    let results = kept.len();
    let by_number = Node {
        operator: PlanOperator::Aggregate {
            input: Box::new(input),
            keys: vec![key],
            aggregates: kept,
            grouping_sets: None,
            mode: AggregateMode::Dense { min: 0, max: rows.saturating_sub(1) as i64 },
        },
        ..node.clone()
    };
    let mut stream = group(opener, &by_number, stream)?;
    let stored = places.iter().map(|(_, place)| place + 1).max().unwrap_or(0);
    let output = origins.into_iter().map(|origin| match origin {
        Origin::Result(result) => 1 + result,
        Origin::Build(place) => 1 + results + place,
    });
    let output = output.collect();
    stream.push_operator(Arc::new(BuildColumns { build, stored, output }));
    Ok(stream)
}
