//! Aggregates over frames.

use kernels::compare::true_bits;
use kernels::{Column, Vector, VectorBuilder, VectorData};
use plan::physical::{Aggregate, Window};
use sql::algebra::{AggregateFunction, Duplicates};
use types::Result;

use super::frames::{FrameSpec, Frames};
use super::order::Part;
use crate::aggregate::states::{
    Completeness, Coverage, Mapping, NullStates, RowStates, StateKind, StateSpec, States,
    SumStates, Update,
};
use crate::aggregate::{Inputs, StatePlan};
use crate::opener::Opener;

/// An aggregate and the states it is made of.
pub(super) struct FrameAggregate {
    plan: StatePlan,
}

impl FrameAggregate {
    pub(super) fn new(
        opener: &Opener,
        inputs: &mut Inputs,
        function: AggregateFunction,
        call: &Window,
    ) -> Result<Self> {
        let aggregate = Aggregate {
            function,
            arguments: call.arguments.clone(),
            duplicates: Duplicates::Keep,
            filter: call.filter.clone(),
            order_by: Vec::new(),
            ty: call.ty,
            physical: call.physical,
        };
        let mut plan = StatePlan::default();
        plan.add(inputs, opener, &aggregate)?;
        Ok(Self { plan })
    }

    /// The results for all rows of `part`.
    ///
    /// # Errors
    /// Errors of the aggregate.
    pub(super) fn compute(&self, part: &Part, frame: &FrameSpec) -> Result<Vector> {
        if frame.is_whole() {
            return self.whole(part);
        }
        let frames = frame.frames(part)?;
        let states = self
            .plan
            .specs
            .iter()
            .map(|spec| over_frames(spec, part, &frames))
            .collect::<Result<Vec<_>>>()?;
        let rows: Vec<u32> = (0..part.rows as u32).collect();
        self.plan.results[0].finish(&states, &rows)
    }

    /// Every frame is its partition: one state for each.
    fn whole(&self, part: &Part) -> Result<Vector> {
        let mut groups = Vec::with_capacity(part.rows);
        for (number, partition) in part.ranges().enumerate() {
            groups.extend(partition.map(|_| number as u32));
        }
        let count = part.partitions.len() - 1;
        let all: Vec<u32> = (0..part.rows as u32).collect();
        let mut states = Vec::with_capacity(self.plan.specs.len());
        for spec in &self.plan.specs {
            let mut state = spec.states(Coverage::Sparse);
            state.resize(count);
            update(&mut *state, spec, part, &all, &groups)?;
            state.seal();
            states.push(state);
        }
        let partitions: Vec<u32> = (0..count as u32).collect();
        let results = self.plan.results[0].finish(&states, &partitions)?;
        let mut builder = VectorBuilder::with_capacity(results.physical(), count);
        builder.append(&results, None);
        Ok(builder.finish_pinned().gather(&groups))
    }
}

/// Adds the rows `rows` of `part` that pass the filter; row `rows[i]` belongs to `groups[i]`.
fn update(
    state: &mut dyn States,
    spec: &StateSpec,
    part: &Part,
    rows: &[u32],
    groups: &[u32],
) -> Result<()> {
    let passed = spec.filter.map(|f| true_bits(&part.values[f].to_vector()));
    let kept = rows.iter().zip(groups);
    let (rows, groups): (Vec<u32>, Vec<u32>) =
        kept.filter(|(row, _)| passed.as_ref().is_none_or(|p| p.get(**row as usize))).unzip();
    let columns: Vec<Column> =
        spec.arguments.iter().map(|&a| part.values[a].gather(&rows)).collect();
    let sequence: Vec<u64> = rows.iter().map(|&row| u64::from(row)).collect();
    let completeness = Completeness::Filtered;
    state.update(Update { columns: &columns, groups: &groups, sequence: &sequence, completeness })
}

/// One state per row of `part`: that of its frame.
fn over_frames(spec: &StateSpec, part: &Part, frames: &Frames) -> Result<Box<dyn States>> {
    match spec.kind {
        StateKind::Rows => {
            let one = |_| 1;
            let counts = differences(&prefix(spec, part, None, one), frames);
            Ok(Box::new(RowStates::from_counts(counts.into_iter().map(|v| v as i64).collect())))
        }
        StateKind::Nulls => {
            let column = part.values[spec.arguments[0]].to_vector();
            let null = |row| i128::from(column.is_null(row));
            let counts = differences(&prefix(spec, part, None, null), frames);
            Ok(Box::new(NullStates::from_counts(counts.into_iter().map(|v| v as i64).collect())))
        }
        StateKind::Sum => Ok(Box::new(sums(spec, part, frames))),
        _ => {
            let mut probe = spec.states(Coverage::Sparse);
            if probe.is_heavy() {
                heavy(&mut *probe, spec, part, frames)?;
                return Ok(probe);
            }
            tree(spec, part, frames)
        }
    }
}

/// Sums of `value` over the rows before each row that pass the filter and are not NULL in `column`.
fn prefix(
    spec: &StateSpec,
    part: &Part,
    column: Option<&Vector>,
    value: impl Fn(usize) -> i128,
) -> Vec<i128> {
    let passed = spec.filter.map(|f| true_bits(&part.values[f].to_vector()));
    let mut sums = Vec::with_capacity(part.rows + 1);
    let mut sum = 0i128;
    sums.push(0);
    for row in 0..part.rows {
        let passes = passed.as_ref().is_none_or(|p| p.get(row));
        if passes && column.is_none_or(|c| !c.is_null(row)) {
            // Modulo 2^128: differences that fit are exact.
            sum = sum.wrapping_add(value(row));
        }
        sums.push(sum);
    }
    sums
}

fn differences(prefix: &[i128], frames: &Frames) -> Vec<i128> {
    let mut whole: Vec<i128> = Vec::new();
    for piece in &frames.pieces {
        let ends = piece.start.iter().zip(&piece.end);
        let own = ends.map(|(&s, &e)| prefix[e as usize].wrapping_sub(prefix[s as usize]));
        if whole.is_empty() {
            whole.extend(own);
        } else {
            whole.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.wrapping_add(own));
        }
    }
    whole
}

fn sums(spec: &StateSpec, part: &Part, frames: &Frames) -> SumStates {
    let column = part.values[spec.arguments[0]].to_vector();
    let values = match &column.data {
        VectorData::I32(v) => prefix(spec, part, Some(&column), |row| i128::from(v[row])),
        VectorData::I64(v) => prefix(spec, part, Some(&column), |row| i128::from(v[row])),
        VectorData::I128(v) => prefix(spec, part, Some(&column), |row| v[row]),
        _ => vec![0; part.rows + 1],
    };
    let counts = differences(&prefix(spec, part, Some(&column), |_| 1), frames);
    SumStates::from_totals(differences(&values, frames), counts.iter().map(|&c| c > 0))
}

/// Rows that are given to a state at once.
const UPDATE_ROWS: usize = 1 << 14;

/// Every frame row by row: for states that cannot be merged cheaply.
fn heavy(state: &mut dyn States, spec: &StateSpec, part: &Part, frames: &Frames) -> Result<()> {
    state.resize(part.rows);
    let (mut rows, mut groups) = (Vec::new(), Vec::new());
    for group in 0..part.rows {
        for piece in &frames.pieces {
            rows.extend(piece.start[group]..piece.end[group]);
        }
        groups.resize(rows.len(), group as u32);
        if rows.len() >= UPDATE_ROWS {
            update(state, spec, part, &rows, &groups)?;
            rows.clear();
            groups.clear();
        }
    }
    update(state, spec, part, &rows, &groups)?;
    state.seal();
    Ok(())
}

/// A tree of states: level 0 has one per row, each further one half as many.
fn tree(spec: &StateSpec, part: &Part, frames: &Frames) -> Result<Box<dyn States>> {
    let all: Vec<u32> = (0..part.rows as u32).collect();
    let mut level = spec.states(Coverage::Sparse);
    level.resize(part.rows);
    update(&mut *level, spec, part, &all, &all)?;
    let mut result = spec.states(Coverage::Sparse);
    result.resize(part.rows);
    let mut pieces = frames.pieces.clone();
    let mut count = part.rows;
    loop {
        let (mut source, mut target) = (Vec::new(), Vec::new());
        let mut open = false;
        for piece in &mut pieces {
            for (row, (left, right)) in piece.start.iter_mut().zip(&mut piece.end).enumerate() {
                if left < right && *left % 2 == 1 {
                    source.push(*left);
                    target.push(row as u32);
                    *left += 1;
                }
                if left < right && *right % 2 == 1 {
                    *right -= 1;
                    source.push(*right);
                    target.push(row as u32);
                }
                *left /= 2;
                *right /= 2;
                open |= left < right;
            }
        }
        result.merge(&*level, Mapping { source: &source, target: &target })?;
        if !open {
            return Ok(result);
        }
        let mut next = spec.states(Coverage::Sparse);
        let half = count.div_ceil(2);
        next.resize(half);
        let source: Vec<u32> = (0..count as u32).collect();
        let target: Vec<u32> = source.iter().map(|s| s / 2).collect();
        next.merge(&*level, Mapping { source: &source, target: &target })?;
        level = next;
        count = half;
    }
}
