//! The tree of a plan.

use std::fmt;

use super::{aggregate_text, keys_text, numbered, window_text};
use crate::algebra::{ColumnId, Duplicates, Expr, InputColumn, JoinKind, Plan, SetOperator};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_plan(f, self, 0)
    }
}

/// One line per operator, its sub-queries below it, then its inputs.
fn write_plan(f: &mut fmt::Formatter<'_>, plan: &Plan, depth: usize) -> fmt::Result {
    types::stack::deep(|| write_plan_here(f, plan, depth))
}

fn write_plan_here(f: &mut fmt::Formatter<'_>, plan: &Plan, depth: usize) -> fmt::Result {
    writeln!(f, "{:1$}{2}", "", depth * 2, line(plan))?;
    let mut subqueries = Vec::new();
    plan.each_expr(&mut |expr| collect(expr, &mut subqueries));
    for subquery in subqueries {
        writeln!(f, "{:1$}subquery:", "", depth * 2 + 2)?;
        write_plan(f, subquery, depth + 2)?;
    }
    for input in plan.inputs() {
        write_plan(f, input, depth + 1)?;
    }
    Ok(())
}

fn collect<'a>(expr: &'a Expr, plans: &mut Vec<&'a Plan>) {
    plans.extend(expr.subquery());
    expr.each_child(&mut |child| collect(child, plans));
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn ids<T>(columns: &[(ColumnId, T)]) -> String {
    columns.iter().map(|(id, _)| numbered(*id)).collect::<Vec<_>>().join(", ")
}

fn defined(columns: &[(ColumnId, Expr)]) -> String {
    let column = |(id, expr): &(ColumnId, Expr)| match expr.as_column() {
        Some(same) if same == *id => numbered(*id),
        _ => format!("{} = {expr}", numbered(*id)),
    };
    columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

fn line(plan: &Plan) -> String {
    match plan {
        Plan::Scan { table, columns, alias } => {
            let defs = table.columns();
            let column = |(id, ordinal): &(ColumnId, usize)| {
                let name = defs.get(*ordinal).map_or("tid", |def| def.name.as_str());
                format!("{} = {name}", numbered(*id))
            };
            let columns: Vec<String> = columns.iter().map(column).collect();
            if table.name() == &**alias {
                format!("Scan {alias} [{}]", columns.join(", "))
            } else {
                format!("Scan {} {alias} [{}]", table.name(), columns.join(", "))
            }
        }
        Plan::FunctionScan { function, columns } => {
            format!("FunctionScan {function:?} [{}]", ids(columns))
        }
        Plan::Series { function, arguments, column } => {
            let name = function.name();
            format!("Series {} = {name}({})", numbered(column.0), list(arguments))
        }
        Plan::Values { columns, rows } => {
            let rows: Vec<String> = rows.iter().map(|row| format!("({})", list(row))).collect();
            format!("Values [{}] {}", ids(columns), rows.join(", "))
        }
        Plan::Input { slot, columns, name } => {
            let column = |c: &InputColumn| format!("{}={}", numbered(c.id), c.ordinal);
            let columns: Vec<String> = columns.iter().map(column).collect();
            format!("Input {slot} {name} [{}]", columns.join(", "))
        }
        Plan::CteScan { cte, columns, name } => {
            format!("CteScan {name} (cte {}) [{}]", cte.0, ids(columns))
        }
        other => operator_line(other),
    }
}

/// Operators with inputs.
fn operator_line(plan: &Plan) -> String {
    match plan {
        Plan::Filter { predicate, .. } => format!("Filter {predicate}"),
        Plan::Project { columns, .. } => format!("Project {}", defined(columns)),
        Plan::Join { kind, condition, .. } => format!("{} {condition}", join_name(*kind)),
        Plan::Aggregate { .. } => aggregate_line(plan),
        Plan::Distinct { on, .. } if on.is_empty() => "Distinct".to_owned(),
        Plan::Distinct { on, .. } => format!("Distinct on {}", list(on)),
        Plan::Window { calls, .. } => {
            let call = |(id, call): &(ColumnId, _)| {
                format!("{} = {}", numbered(*id), window_text(call, &numbered))
            };
            format!("Window {}", calls.iter().map(call).collect::<Vec<_>>().join(", "))
        }
        Plan::Sort { keys, .. } => format!("Sort {}", keys_text(keys, &numbered)),
        Plan::Limit { limit, offset, .. } => {
            let mut line = "Limit".to_owned();
            if let Some(limit) = limit {
                line.push_str(&format!(" {limit}"));
            }
            if let Some(offset) = offset {
                line.push_str(&format!(" offset {offset}"));
            }
            line
        }
        Plan::SetOperation { operator, duplicates, columns, .. } => {
            let name = match operator {
                SetOperator::Union => "Union",
                SetOperator::Intersect => "Intersect",
                SetOperator::Except => "Except",
            };
            let all = if *duplicates == Duplicates::Keep { " all" } else { "" };
            format!("{name}{all} [{}]", ids(columns))
        }
        Plan::With { cte, name, .. } => format!("With {name} (cte {})", cte.0),
        Plan::RecursiveWith { cte, name, duplicates, .. } => {
            let all = if *duplicates == Duplicates::Keep { " all" } else { "" };
            format!("RecursiveWith{all} {name} (cte {})", cte.0)
        }
        Plan::Scan { .. }
        | Plan::FunctionScan { .. }
        | Plan::Input { .. }
        | Plan::Series { .. }
        | Plan::Values { .. }
        | Plan::CteScan { .. } => String::new(),
    }
}

fn aggregate_line(plan: &Plan) -> String {
    let Plan::Aggregate { keys, aggregates, grouping_sets, set_column, .. } = plan else {
        return String::new();
    };
    let call = |(id, call): &(ColumnId, _)| {
        format!("{} = {}", numbered(*id), aggregate_text(call, &numbered))
    };
    let calls: Vec<String> = aggregates.iter().map(call).collect();
    let mut line = format!("Aggregate keys [{}] calls [{}]", defined(keys), calls.join(", "));
    if let Some(sets) = grouping_sets {
        let set = |set: &Vec<usize>| {
            let key =
                |index: &usize| keys.get(*index).map_or_else(String::new, |(id, _)| numbered(*id));
            format!("({})", set.iter().map(key).collect::<Vec<_>>().join(", "))
        };
        let sets: Vec<String> = sets.iter().map(set).collect();
        line.push_str(&format!(" sets [{}]", sets.join(", ")));
    }
    if let Some(column) = set_column {
        line.push_str(&format!(" set {}", numbered(*column)));
    }
    line
}

fn join_name(kind: JoinKind) -> String {
    let name = match kind {
        JoinKind::Inner => "Join",
        JoinKind::Left => "LeftJoin",
        JoinKind::Right => "RightJoin",
        JoinKind::Full => "FullJoin",
        JoinKind::Semi => "SemiJoin",
        JoinKind::Anti => "AntiJoin",
        JoinKind::Mark(id) => return format!("MarkJoin {} =", numbered(id)),
        JoinKind::Single => "SingleJoin",
        JoinKind::Each => "EachJoin",
    };
    name.to_owned()
}
