//! Places below joins where an aggregation could stand.
//!
//! The walk goes down from GROUP BY through filters, projections and joins, on the side that has
//! all columns of the aggregates; each input of a join on the way is a candidate. It carries the
//! columns that operators above read, which become keys there.

use hashbrown::HashMap;
use sql::algebra::{AggregateCall, ColumnId, Expr, ExprKind, JoinKind, Plan};
use types::{CompareOp, DataType};

use super::Known;
use super::split::{self, Padded};
use crate::column_set::ColumnSet;
use crate::context::Context;
use crate::properties::Properties;
use crate::push_down::nulls;
use crate::safe::cannot_fail;
use crate::{cardinality, cost, tree};

/// Least share of rows that a join on the way must keep for grouping early: what it drops is
/// dropped before it is grouped now, and often by the scan.
const KEPT: f64 = 0.5;
/// Largest share of groups among rows for grouping early.
const GROUPS: f64 = 0.6;

/// An input of an operator on the way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The only one.
    Input,
    Left,
    Right,
}

/// The way down so far.
#[derive(Clone)]
pub(super) struct Walk {
    steps: Vec<Step>,
    /// The keys, over columns of the operator that was reached or of a projection above it.
    keys: Vec<Expr>,
    /// The aggregates, likewise.
    calls: Vec<AggregateCall>,
    /// Columns that operators on the way read.
    read: ColumnSet,
    /// Columns that appear outside equality join conditions.
    computed: ColumnSet,
    padded: Padded,
    /// Joins on the way.
    joins: Vec<JoinStep>,
    /// True when joins on the way keep most rows.
    keeps: bool,
}

/// A join on the way, as the estimates see it.
#[derive(Clone, Copy)]
struct JoinStep {
    /// Rows of the side that the way goes on, of the other side, and of the result.
    side: f64,
    other: f64,
    out: f64,
}

/// A place.
pub(super) struct Candidate {
    steps: Vec<Step>,
    /// Columns that are keys there.
    below: Vec<(ColumnId, Expr)>,
    /// All keys there, of which those that are computed have no name yet.
    grouped: Vec<(ColumnId, Expr)>,
    /// The query's keys over columns of the place, or a key there that has the value.
    keys: Vec<FinalKey>,
    /// The aggregates over columns of the place.
    pub(super) calls: Vec<AggregateCall>,
    /// Effect of outer joins on the way: NULLs for groups, or none.
    pub(super) padded: Padded,
    joins: Vec<JoinStep>,
    properties: Properties,
    groups: f64,
    keeps: bool,
}

/// A key of the query above.
enum FinalKey {
    /// Over columns that are keys below.
    Over(Expr),
    /// Computed below.
    Below(Expr),
}

impl Walk {
    /// At the input of GROUP BY.
    pub(super) fn new(keys: &[(ColumnId, Expr)], calls: &[(ColumnId, AggregateCall)]) -> Self {
        Self {
            steps: Vec::new(),
            keys: keys.iter().map(|(_, e)| e.clone()).collect(),
            calls: calls.iter().map(|(_, call)| call.clone()).collect(),
            read: ColumnSet::default(),
            computed: ColumnSet::default(),
            padded: Padded::No,
            joins: Vec::new(),
            keeps: true,
        }
    }

    fn exprs(&self) -> Vec<&Expr> {
        let mut exprs: Vec<&Expr> = self.keys.iter().collect();
        for call in &self.calls {
            tree::aggregate_exprs(call, &mut |e| exprs.push(e));
        }
        exprs
    }

    /// Columns of the aggregates.
    fn arguments(&self) -> ColumnSet {
        let mut columns = ColumnSet::default();
        for call in &self.calls {
            tree::aggregate_exprs(call, &mut |e| tree::mention(e, &mut columns));
        }
        columns
    }

    /// Notes what `predicate` reads.
    fn read_by(&mut self, predicate: &Expr) {
        tree::mention(predicate, &mut self.read);
        for part in tree::conjuncts(predicate.clone()) {
            let is_plain = match &part.kind {
                ExprKind::Compare(CompareOp::Equal, a, b) => {
                    a.ty == b.ty && tree::as_column(a).is_some() && tree::as_column(b).is_some()
                }
                _ => false,
            };
            if !is_plain {
                tree::mention(&part, &mut self.computed);
            }
        }
    }

    /// Goes through a projection: everything is over its input's columns then, but keys above an
    /// outer join, which gives NULLs for what is computed here.
    fn through(&mut self, columns: &[(ColumnId, Expr)]) {
        let map: HashMap<ColumnId, Expr> = columns.iter().cloned().collect();
        for key in &mut self.keys {
            if self.padded == Padded::No {
                tree::substitute(key, &map);
                continue;
            }
            tree::mention(key, &mut self.read);
            if tree::as_column(key).is_none() {
                tree::mention(key, &mut self.computed);
            }
        }
        for call in &mut self.calls {
            tree::aggregate_exprs_mut(call, &mut |e| tree::substitute(e, &map));
        }
        let (mut read, mut computed) = (ColumnSet::default(), ColumnSet::default());
        for (id, expr) in columns.iter().filter(|(id, _)| self.read.contains(*id)) {
            tree::mention(expr, &mut read);
            if self.computed.contains(*id) || tree::as_column(expr).is_none() {
                tree::mention(expr, &mut computed);
            }
        }
        (self.read, self.computed) = (read, computed);
    }

    /// True when the aggregates see nothing in a row whose `columns` are NULL, but its existence.
    fn ignores_nulls(&self, columns: &ColumnSet) -> bool {
        self.calls.iter().all(|call| match &call.filter {
            Some(filter) => nulls::rejects(filter, columns),
            None => call.arguments.iter().all(|e| nulls::is_null(e, columns)),
        })
    }
}

/// Adds the places below `plan`.
pub(super) fn find(plan: &Plan, known: &Known, mut walk: Walk, out: &mut Vec<Candidate>) {
    let volatile = |e: &Expr| tree::is_volatile(e) || tree::has_sub_query(e);
    if walk.exprs().into_iter().any(volatile) {
        return;
    }
    match plan {
        Plan::Filter { input, predicate } if !volatile(predicate) => {
            walk.read_by(predicate);
            walk.steps.push(Step::Input);
            let below = &known.inputs[0];
            walk.keeps &= known.properties.rows >= KEPT * below.properties.rows;
            find(input, below, walk, out);
        }
        Plan::Project { input, columns } if !columns.iter().any(|(_, e)| volatile(e)) => {
            walk.through(columns);
            walk.steps.push(Step::Input);
            find(input, &known.inputs[0], walk, out);
        }
        Plan::Join { condition, .. } if !volatile(condition) => {
            for step in [Step::Left, Step::Right] {
                find_in_join(plan, known, step, &walk, out);
            }
        }
        _ => {}
    }
}

fn find_in_join(plan: &Plan, known: &Known, step: Step, walk: &Walk, out: &mut Vec<Candidate>) {
    let Plan::Join { left, right, kind, condition } = plan else {
        return;
    };
    let left_only =
        matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single);
    let both = matches!(kind, JoinKind::Inner | JoinKind::Left);
    let visible = both || (left_only && step == Step::Left);
    let (side, at) = if step == Step::Left { (left, 0) } else { (right, 1) };
    let columns = tree::output_set(side);
    let lateral = tree::free(right);
    if !visible
        || !walk.arguments().is_subset(&columns)
        || (step == Step::Right && !lateral.is_empty())
    {
        return;
    }
    let mut walk = walk.clone();
    if *kind == JoinKind::Left && step == Step::Right {
        if !walk.ignores_nulls(&columns) {
            return;
        }
        walk.padded = Padded::Yes;
    }
    walk.read_by(condition);
    walk.read.union(&lateral);
    walk.computed.union(&lateral);
    walk.steps.push(step);
    let rows = |known: &Known| known.properties.rows;
    let (below, other) = (&known.inputs[at], &known.inputs[1 - at]);
    let join = JoinStep { side: rows(below), other: rows(other), out: rows(known) };
    walk.keeps &= join.out >= KEPT * join.side;
    walk.joins.push(join);
    out.extend(candidate(side, below, &walk));
    find(side, below, walk, out);
}

/// The place at `plan`, if an aggregation may stand there.
fn candidate(plan: &Plan, known: &Known, walk: &Walk) -> Option<Candidate> {
    let properties = &known.properties;
    let columns = tree::output(plan);
    let here: ColumnSet = columns.iter().map(|c| c.0).collect();
    let mut read = walk.read.clone();
    let mut computed = walk.computed.clone();
    let mut keys = Vec::with_capacity(walk.keys.len());
    for expr in &walk.keys {
        let mentioned = tree::mentioned(expr);
        let is_here = !mentioned.is_empty() && mentioned.is_subset(&here);
        let is_column = tree::as_column(expr).is_some();
        // Computed below, it is NULL where a group is missing.
        let same = walk.padded == Padded::No || nulls::is_null(expr, &here);
        if is_here && !is_column && same && cannot_fail(expr, properties) {
            keys.push(FinalKey::Below(expr.clone()));
            continue;
        }
        read.union(&mentioned);
        if !is_column {
            computed.union(&mentioned);
        }
        keys.push(FinalKey::Over(expr.clone()));
    }
    let below: Vec<_> = columns.into_iter().filter(|(id, _)| read.contains(*id)).collect();
    let is_clear = |&(id, ty): &(ColumnId, DataType)| ty.has_one_form() || !computed.contains(id);
    let fits = |call: &AggregateCall| {
        let mut safe = split::parts_fit(call, properties);
        tree::aggregate_exprs(call, &mut |e| safe = safe && cannot_fail(e, properties));
        safe
    };
    let keyed = !below.is_empty() || keys.iter().any(|key| matches!(key, FinalKey::Below(_)));
    if !keyed || !below.iter().all(is_clear) || !walk.calls.iter().all(fits) {
        return None;
    }
    let below: Vec<_> = below.into_iter().map(|(id, ty)| (id, tree::column(id, ty))).collect();
    let mut grouped = below.clone();
    for key in &keys {
        if let FinalKey::Below(expr) = key {
            grouped.push((ColumnId(u32::MAX - 1), expr.clone()));
        }
    }
    let groups = cardinality::group_count(&grouped, properties);
    Some(Candidate {
        steps: walk.steps.clone(),
        below,
        grouped,
        keys,
        calls: walk.calls.clone(),
        padded: walk.padded,
        joins: walk.joins.clone(),
        properties: properties.clone(),
        groups,
        keeps: walk.keeps,
    })
}

impl Candidate {
    /// The cost of the joins on the way as they are.
    pub(super) fn joins_now(&self) -> f64 {
        self.joins.iter().map(|join| join.cost(1.0)).sum()
    }

    /// The cost of grouping here, of the joins then and of the aggregation above by `keys`, whose
    /// input was `top`; without bound when it would not group enough.
    pub(super) fn cost(&self, keys: &[(ColumnId, Expr)], calls: usize, top: &Properties) -> f64 {
        let share = self.groups / self.properties.rows.max(1.0);
        if !self.keeps || share > GROUPS {
            return f64::INFINITY;
        }
        let joins: f64 = self.joins.iter().map(|join| join.cost(share)).sum();
        let here = cost::group(&self.properties, &self.grouped, calls);
        let above = cost::group(&top.clone().scaled(top.rows * share), keys, calls);
        cost::START + here + joins + above
    }

    /// Puts the aggregation of `calls` at its place in `plan`; gives the query's keys, named as
    /// `keys` are, over the columns of the new plan.
    pub(super) fn apply(
        self,
        context: &mut Context<'_>,
        plan: &mut Plan,
        keys: &[(ColumnId, Expr)],
        calls: Vec<(ColumnId, AggregateCall)>,
    ) -> Vec<(ColumnId, Expr)> {
        let mut below = self.below;
        let mut final_keys = Vec::with_capacity(keys.len());
        for ((id, _), key) in keys.iter().zip(self.keys) {
            let expr = match key {
                FinalKey::Over(expr) => expr,
                FinalKey::Below(expr) => {
                    let (new, ty) = (context.fresh(), expr.ty);
                    below.push((new, expr));
                    tree::column(new, ty)
                }
            };
            final_keys.push((*id, expr));
        }
        place(plan, &self.steps, &mut |input| Plan::Aggregate {
            input: Box::new(input),
            keys: below.clone(),
            aggregates: calls.clone(),
            grouping_sets: None,
            set_column: None,
        });
        final_keys
    }
}

impl JoinStep {
    /// The cost of the join with a share of the rows of the side on the way: at least, since that
    /// of a direct array.
    fn cost(self, share: f64) -> f64 {
        let side = (self.side * share).max(1.0);
        let cost = |build, probe| cost::hash_join(build, probe, true);
        cost(self.other, side).min(cost(side, self.other)) + self.out * share
    }
}

/// Wraps the plan at the end of `steps`; projections on the way pass its columns on.
fn place(plan: &mut Plan, steps: &[Step], wrap: &mut dyn FnMut(Plan) -> Plan) {
    let Some((step, rest)) = steps.split_first() else {
        *plan = wrap(tree::take(plan));
        return;
    };
    match (plan, step) {
        (Plan::Join { left, .. }, Step::Left) => place(left, rest, wrap),
        (Plan::Join { right, .. }, Step::Right) => place(right, rest, wrap),
        (Plan::Filter { input, .. }, _) => place(input, rest, wrap),
        (Plan::Project { input, columns }, _) => {
            place(input, rest, wrap);
            let there = tree::output(input);
            let known: ColumnSet = there.iter().map(|c| c.0).collect();
            columns.retain(|(_, e)| tree::mentioned(e).is_subset(&known));
            for (id, ty) in there {
                if !columns.iter().any(|(other, _)| *other == id) {
                    columns.push((id, tree::column(id, ty)));
                }
            }
        }
        _ => {}
    }
}
