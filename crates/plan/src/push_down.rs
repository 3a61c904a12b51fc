//! Predicates move to where they drop rows first.
//!
//! ```text
//! Filter p  -> through Project, Sort, Distinct, Aggregate (keys), Window (partition), unions
//! Join      -> p and the condition form one pool: left and right parts go down, the rest stays
//! ```
//! On the way outer joins under a predicate that rejects NULLs become inner ones, marks that a
//! filter demands become semi-joins, and equalities carry predicates to the other side.
//! Elsewhere: equalities (`equality`), disjunctions over several inputs (`partial`), NULLs
//! (`nulls`).

mod equality;
pub(crate) mod nulls;
mod partial;

use hashbrown::HashMap;
use sql::algebra::{ColumnId, Expr, ExprKind, JoinKind, Plan, SetOperator};

use crate::column_set::ColumnSet;
use crate::guard::may_fail;
use crate::{Switches, Technique, tree};

/// Pushes every predicate of `plan` down.
pub(crate) fn push_down(plan: &mut Plan, switches: Switches) {
    let whole = tree::take(plan);
    *plan = push(whole, Vec::new(), switches);
}

/// `plan` under `predicates`.
fn push(plan: Plan, predicates: Vec<Expr>, switches: Switches) -> Plan {
    types::stack::deep(|| push_here(plan, predicates, switches))
}

fn push_here(plan: Plan, mut predicates: Vec<Expr>, switches: Switches) -> Plan {
    match plan {
        Plan::Filter { input, predicate } => {
            // What is below was written to be tested first, which only matters to what can fail.
            let (last, mut first) = predicates.into_iter().partition::<Vec<_>, _>(may_fail);
            tree::split_conjuncts(predicate, &mut first);
            predicates = first;
            predicates.extend(last);
            let volatile = predicates.iter().any(tree::is_volatile);
            if volatile {
                let (stay, sink) = predicates.into_iter().partition(tree::is_volatile);
                return tree::filtered(push(*input, sink, switches), stay);
            }
            push(*input, predicates, switches)
        }
        Plan::Project { input, columns } => push_project(*input, columns, predicates, switches),
        Plan::Join { left, right, kind, condition } => {
            push_join(Join { left: *left, right: *right, kind, condition }, predicates, switches)
        }
        Plan::Sort { input, keys } => {
            Plan::Sort { input: Box::new(push(*input, predicates, switches)), keys }
        }
        Plan::Aggregate { .. } => push_aggregate(plan, predicates, switches),
        Plan::Distinct { input, on } => {
            let on_columns: ColumnSet = on.iter().filter_map(tree::as_column).collect();
            let free = |e: &Expr| on.is_empty() || tree::mentioned(e).is_subset(&on_columns);
            let (sink, stay) = predicates.into_iter().partition(free);
            tree::filtered(
                Plan::Distinct { input: Box::new(push(*input, sink, switches)), on },
                stay,
            )
        }
        Plan::Window { input, calls } => {
            let mut shared: Option<ColumnSet> = None;
            for (_, call) in &calls {
                let keys: ColumnSet =
                    call.partition_by.iter().filter_map(tree::as_column).collect();
                shared = Some(match shared {
                    None => keys,
                    Some(set) => set.iter().filter(|id| keys.contains(*id)).collect(),
                });
            }
            let shared = shared.unwrap_or_default();
            let free = |e: &Expr| {
                let columns = tree::mentioned(e);
                !columns.is_empty() && columns.is_subset(&shared)
            };
            let (mut sink, stay): (Vec<_>, Vec<_>) = predicates.into_iter().partition(free);
            sink.extend(relaxed(&stay, &shared, switches));
            tree::filtered(
                Plan::Window { input: Box::new(push(*input, sink, switches)), calls },
                stay,
            )
        }
        Plan::SetOperation { .. } => push_set_operation(plan, predicates, switches),
        Plan::Limit { input, limit, offset } => {
            let input = Box::new(push(*input, Vec::new(), switches));
            tree::filtered(Plan::Limit { input, limit, offset }, predicates)
        }
        leaf => tree::filtered(leaf, predicates),
    }
}

fn push_project(
    input: Plan,
    columns: Vec<(ColumnId, Expr)>,
    predicates: Vec<Expr>,
    switches: Switches,
) -> Plan {
    let mut map: HashMap<ColumnId, Expr> = HashMap::new();
    let mut volatile = ColumnSet::default();
    for (id, expr) in &columns {
        if tree::is_volatile(expr) {
            volatile.insert(*id);
        } else if tree::as_column(expr) != Some(*id) {
            map.insert(*id, expr.clone());
        }
    }
    let (stay, mut sink): (Vec<_>, Vec<_>) =
        predicates.into_iter().partition(|e| tree::mentioned(e).intersects(&volatile));
    sink.iter_mut().for_each(|e| tree::substitute(e, &map));
    let project = Plan::Project { input: Box::new(push(input, sink, switches)), columns };
    tree::filtered(project, stay)
}

fn push_aggregate(plan: Plan, predicates: Vec<Expr>, switches: Switches) -> Plan {
    let Plan::Aggregate { input, keys, aggregates, grouping_sets, set_column } = plan else {
        return tree::filtered(plan, predicates);
    };
    let in_all = |i: usize| match &grouping_sets {
        Some(sets) => sets.iter().all(|set| set.contains(&i)),
        None => true,
    };
    let mut map: HashMap<ColumnId, Expr> = HashMap::new();
    for (i, (id, expr)) in keys.iter().enumerate() {
        if in_all(i) && !tree::is_volatile(expr) {
            map.insert(*id, expr.clone());
        }
    }
    let on_keys = |e: &Expr| {
        let columns = tree::mentioned(e);
        !columns.is_empty() && columns.iter().all(|id| map.contains_key(&id))
    };
    let (mut sink, stay): (Vec<_>, Vec<_>) = predicates.into_iter().partition(on_keys);
    let sides: ColumnSet = map.keys().copied().collect();
    sink.extend(relaxed(&stay, &sides, switches));
    sink.iter_mut().for_each(|e| tree::substitute(e, &map));
    let input = Box::new(push(*input, sink, switches));
    let plan = Plan::Aggregate { input, keys, aggregates, grouping_sets, set_column };
    tree::filtered(plan, stay)
}

/// Predicates of `columns` alone that the disjunctions among `predicates` imply: groups and
/// partitions that no term wants need not be made.
fn relaxed(predicates: &[Expr], columns: &ColumnSet, switches: Switches) -> Vec<Expr> {
    if !switches.has(Technique::PartialPushDown) {
        return Vec::new();
    }
    let known = predicates.iter().filter(|part| !tree::is_volatile(part));
    known.filter_map(|part| partial::relax(part, columns)).collect()
}

fn push_set_operation(plan: Plan, predicates: Vec<Expr>, switches: Switches) -> Plan {
    let Plan::SetOperation { operator, duplicates, left, right, columns } = plan else {
        return tree::filtered(plan, predicates);
    };
    let sides = [(left, true), (right, operator != SetOperator::Except)];
    let [left, right] = sides.map(|(side, sinks)| {
        let names: HashMap<ColumnId, Expr> = columns
            .iter()
            .zip(tree::output(&side))
            .map(|((id, _), (inner, ty))| (*id, tree::column(inner, ty)))
            .collect();
        let mut sink = if sinks { predicates.clone() } else { Vec::new() };
        sink.iter_mut().for_each(|e| tree::substitute(e, &names));
        Box::new(push(*side, sink, switches))
    });
    Plan::SetOperation { operator, duplicates, left, right, columns }
}

/// The pieces of a join while predicates are dealt out.
#[derive(Default)]
struct Sides {
    /// True when disjunctions over both sides say something of each.
    relaxes: bool,
    left: Vec<Expr>,
    right: Vec<Expr>,
    condition: Vec<Expr>,
    above: Vec<Expr>,
}

/// A join, taken apart.
struct Join {
    left: Plan,
    right: Plan,
    kind: JoinKind,
    condition: Expr,
}

fn push_join(join: Join, mut predicates: Vec<Expr>, switches: Switches) -> Plan {
    let Join { left, right, mut kind, condition } = join;
    let mut condition = tree::conjuncts(condition);
    let (in_left, in_right) = (tree::output_set(&left), tree::output_set(&right));
    let lateral = tree::free(&right).intersects(&in_left);
    kind = stronger(kind, &predicates, &in_left, &in_right);
    if kind == JoinKind::Inner && !lateral {
        condition.append(&mut predicates);
        equality::derive(&mut condition, &in_left, &in_right);
    } else if matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Single) {
        let known: Vec<Expr> = predicates.clone();
        equality::derive_right(&mut condition, &known, &in_left, &in_right);
    }
    let relaxes = switches.has(Technique::PartialPushDown);
    let mut sides = Sides { relaxes, ..Sides::default() };
    for part in predicates {
        let columns = tree::mentioned(&part);
        let sinks = columns.is_subset(&in_left) && !columns.is_empty();
        let preserved = !matches!(kind, JoinKind::Right | JoinKind::Full);
        if sinks && preserved { sides.left.push(part) } else { sides.above.push(part) }
    }
    let form = Form { kind, lateral, in_left: &in_left, in_right: &in_right };
    for part in condition {
        deal(part, &form, &mut sides);
    }
    let left = Box::new(push(left, sides.left, switches));
    let right = Box::new(push(right, sides.right, switches));
    let condition = tree::and_all(sides.condition);
    tree::filtered(Plan::Join { left, right, kind, condition }, sides.above)
}

/// Form of a join, as far as it tells where conjuncts go.
struct Form<'a> {
    kind: JoinKind,
    /// True when the right side reads columns of the left one.
    lateral: bool,
    in_left: &'a ColumnSet,
    in_right: &'a ColumnSet,
}

/// Puts one conjunct of the condition (for inner joins: of the whole pool) where it belongs.
fn deal(part: Expr, form: &Form<'_>, sides: &mut Sides) {
    let Form { kind, lateral, in_left, in_right } = *form;
    let columns = tree::mentioned(&part);
    let volatile = tree::is_volatile(&part);
    let only_left = columns.is_subset(in_left) && !columns.is_empty() && !volatile;
    let only_right = columns.is_subset(in_right) && !volatile && !lateral;
    let (left_sinks, right_sinks) = match kind {
        JoinKind::Inner => (true, true),
        JoinKind::Semi => (true, true),
        JoinKind::Left | JoinKind::Anti | JoinKind::Single => (false, true),
        JoinKind::Right => (true, false),
        JoinKind::Mark(_) | JoinKind::Full | JoinKind::Each => (false, false),
    };
    if only_left && left_sinks {
        sides.left.push(part);
    } else if only_right && right_sinks {
        sides.right.push(part);
    } else {
        if sides.relaxes && !lateral && !volatile && matches!(part.kind, ExprKind::Or(_)) {
            let relaxed = |side: &ColumnSet| partial::relax(&part, side);
            if left_sinks {
                sides.left.extend(relaxed(in_left));
            }
            if right_sinks {
                sides.right.extend(relaxed(in_right));
            }
        }
        sides.condition.push(part);
    }
}

/// The kind that `kind` becomes under predicates that reject its rows of NULLs.
pub(crate) fn stronger(
    mut kind: JoinKind,
    predicates: &[Expr],
    in_left: &ColumnSet,
    in_right: &ColumnSet,
) -> JoinKind {
    let rejects = |side: &ColumnSet| predicates.iter().any(|e| nulls::rejects(e, side));
    if kind == JoinKind::Full && rejects(in_left) {
        kind = JoinKind::Left;
    } else if kind == JoinKind::Full && rejects(in_right) {
        kind = JoinKind::Right;
    }
    if (kind == JoinKind::Left && rejects(in_right))
        || (kind == JoinKind::Right && rejects(in_left))
    {
        kind = JoinKind::Inner;
    }
    kind
}
