//! How many rows a predicate keeps.
//!
//! Conjunctions over one table are put to a row sample of it; formulas stand in where there is none
//! and above joins and aggregates.

use sql::algebra::{ColumnId, Expr, ExprKind, Function, Plan};
use types::{CompareOp, Value};

use super::{Estimator, as_number, sampled};
use crate::context::Context;
use crate::properties::{ColumnProperty, Properties};
use crate::range::Range;
use crate::{SampleColumn, SampleMatch, tree};

/// Share of rows that satisfy a predicate nothing is known about.
const UNKNOWN: f64 = 0.25;
/// Share of rows that satisfy an inequality nothing is known about.
const INEQUALITY: f64 = 1.0 / 3.0;
/// Share of rows between two bounds nothing is known about: who asks for a range wants little.
const BETWEEN: f64 = 0.005;
/// Share of rows that match a LIKE pattern nothing is known about.
const PATTERN: f64 = 0.1;

/// Elements of an array that is not known before the query runs, as PostgreSQL assumes.
pub(crate) const ARRAY_ELEMENTS: f64 = 10.0;

/// Properties of `input` after `predicate`.
pub(crate) fn filtered(
    context: &mut Context<'_>,
    estimator: &mut Estimator,
    input: &Plan,
    predicate: &Expr,
    properties: Properties,
) -> Properties {
    let parts = tree::conjuncts(predicate.clone());
    let mut share = 1.0;
    let mut rest: Vec<&Expr> = parts.iter().collect();
    let mut met = Vec::new();
    if let Plan::Scan { table, columns, .. } = input {
        let sampling: Vec<Expr> = parts.iter().filter(|e| may_sample(e)).cloned().collect();
        if !sampling.is_empty() {
            let whole = tree::and_all(sampling.clone());
            if let Some(found) = sampled(context, estimator, table, columns, &whole) {
                share = sampled_share(&found, &sampling, &properties);
                rest.retain(|e| !may_sample(e));
                met.push((found, columns));
                // Where few rows pass all of them, each by itself says more than nothing.
                let is_few = met[0].0.columns.is_empty() && share < 0.5;
                let parts = sampling.iter().filter(|_| is_few);
                let alone = parts.filter_map(|e| sampled(context, estimator, table, columns, e));
                met.extend(alone.map(|found| (found, columns)));
            }
        }
    }
    for part in &rest {
        share *= selectivity(part, &properties);
    }
    share *= (BETWEEN / INEQUALITY / INEQUALITY).powi(unknown_ranges(&rest));
    let whole = properties.rows;
    let mut out = properties;
    for part in &parts {
        restrict(&mut out, part);
    }
    let rows = out.rows * share;
    let mut out = out.scaled(rows);
    for part in &parts {
        note_facts(&mut out, part);
    }
    for (found, columns) in met {
        let passing = whole * found.hits / found.rows;
        for ((id, _), values) in columns.iter().zip(&found.columns) {
            if let Some(column) = out.columns.get_mut(id) {
                narrow(column, values, found.hits, passing);
            }
        }
    }
    out
}

/// Share of rows that pass by the sample. Where none of its rows does, the most selective of
/// `parts` by itself says more, for a row may have any of a million keys.
fn sampled_share(found: &SampleMatch, parts: &[Expr], input: &Properties) -> f64 {
    if found.hits > 0.0 {
        return (found.hits / found.rows).clamp(0.0, 1.0);
    }
    // Half a row for none: what the sample does not hold may still exist.
    let alone = parts.iter().map(|part| selectivity(part, input));
    alone.fold(0.5 / found.rows, f64::min)
}

/// Share of a column's spread beyond which bounds of a sample say nothing new.
const NARROW: f64 = 0.5;

/// Narrows what is known of a column in `rows` rows by its values in `hits` sampled ones, for
/// predicates on other columns say much of it where they depend on each other.
fn narrow(column: &mut ColumnProperty, values: &SampleColumn, hits: f64, rows: f64) {
    column.distinct = column.distinct.min(values.distinct_of(hits, rows)).max(1.0);
    let (Some((low, high)), Some((from, to))) = (column.spread, values.ends) else {
        return;
    };
    // The ends of all rows lie beyond those of a sample by about the distance of two of its rows.
    let margin = (to - from) / (hits - 1.0).max(1.0);
    let (from, to) = ((from - margin).max(low), (to + margin).min(high));
    if to - from < NARROW * (high - low) {
        let (known_from, known_to) = column.reach.unwrap_or((low, high));
        column.reach = Some((from.max(known_from), to.min(known_to)));
    }
}

/// Columns with a lower and an upper bound that are not known before the query runs.
fn unknown_ranges(parts: &[&Expr]) -> i32 {
    let bounds: Vec<(ColumnId, bool)> =
        parts.iter().filter_map(|part| unknown_bound(part)).collect();
    let lower = bounds.iter().filter(|(_, is_lower)| *is_lower);
    lower.filter(|(id, _)| bounds.contains(&(*id, false))).count() as i32
}

/// The column that `part` bounds by a value not known yet, and whether from below.
fn unknown_bound(part: &Expr) -> Option<(ColumnId, bool)> {
    let ExprKind::Compare(op, left, right) = &part.kind else {
        return None;
    };
    let (column, bound, op) = match (tree::as_column(left), tree::as_column(right)) {
        (Some(id), None) => (id, right, *op),
        (None, Some(id)) => (id, left, op.exchanged()),
        _ => return None,
    };
    let is_known = matches!(bound.kind, ExprKind::Literal(_)) || !tree::is_constant(bound);
    match op {
        _ if is_known => None,
        CompareOp::Greater | CompareOp::GreaterEqual => Some((column, true)),
        CompareOp::Less | CompareOp::LessEqual => Some((column, false)),
        _ => None,
    }
}

fn may_sample(expr: &Expr) -> bool {
    !tree::any(expr, &|e| {
        matches!(e.kind, ExprKind::Parameter(_))
            || matches!(e.kind, ExprKind::Call(function, _) if function.is_volatile())
            || tree::sub_plan(e).is_some()
    })
}

/// `(column, op, constant)` of a comparison with a literal, whichever side it stands on.
pub(crate) fn column_and_literal(expr: &Expr) -> Option<(ColumnId, CompareOp, &Value)> {
    let ExprKind::Compare(op, left, right) = &expr.kind else {
        return None;
    };
    match (&left.kind, &right.kind) {
        (ExprKind::Column(id), ExprKind::Literal(value)) => Some((*id, *op, value)),
        (ExprKind::Literal(value), ExprKind::Column(id)) => Some((*id, op.exchanged(), value)),
        _ => None,
    }
}

/// Narrows domains, spreads and proved ranges by a comparison with a constant.
fn restrict(out: &mut Properties, part: &Expr) {
    if let ExprKind::InList(operand, list) = &part.kind {
        if let Some(column) = tree::as_column(operand).and_then(|id| out.columns.get_mut(&id)) {
            column.frequent = None;
            column.domain = column.domain.min(list.len() as f64);
            column.distinct = column.distinct.min(list.len() as f64);
        }
        return;
    }
    let Some((id, op, value)) = column_and_literal(part) else {
        return;
    };
    let Some(column) = out.columns.get_mut(&id) else {
        return;
    };
    if op != CompareOp::NotEqual {
        column.frequent = None;
    }
    if op == CompareOp::Equal {
        column.domain = 1.0;
        column.distinct = 1.0;
    }
    if let (Some(bound), Some((low, high))) = (as_number(value), column.spread) {
        let (from, to) = match op {
            CompareOp::Equal => (bound, bound),
            CompareOp::Less | CompareOp::LessEqual => (low, high.min(bound)),
            CompareOp::Greater | CompareOp::GreaterEqual => (low.max(bound), high),
            _ => (low, high),
        };
        if high > low && to >= from {
            let share = ((to - from) / (high - low)).clamp(0.0, 1.0);
            column.domain = (column.domain * share).max(1.0);
            column.spread = Some((from, to));
        }
    }
    if let (Some(bound), Some(range)) = (value.as_integer(), column.range) {
        let (low, high) = match op {
            CompareOp::Equal => (bound, bound),
            CompareOp::Less => (range.low, bound.saturating_sub(1)),
            CompareOp::LessEqual => (range.low, bound),
            CompareOp::Greater => (bound.saturating_add(1), range.high),
            CompareOp::GreaterEqual => (bound, range.high),
            _ => (range.low, range.high),
        };
        let narrowed = Range::new(low.max(range.low), high.min(range.high));
        column.range = Some(narrowed.unwrap_or(Range { low: range.low, high: range.low }));
    }
}

/// Notes what a true conjunct proves: no NULLs, equal columns.
pub(crate) fn note_facts(out: &mut Properties, part: &Expr) {
    match &part.kind {
        ExprKind::Compare(op, left, right) => {
            if !matches!(op, CompareOp::Distinct | CompareOp::NotDistinct) {
                for id in [left, right].into_iter().filter_map(|e| tree::as_column(e)) {
                    if let Some(column) = out.columns.get_mut(&id) {
                        column.nullable = false;
                        column.null_fraction = 0.0;
                    }
                }
            }
            let equal = matches!(op, CompareOp::Equal | CompareOp::NotDistinct);
            if let Some((a, b)) =
                tree::as_column(left).zip(tree::as_column(right)).filter(|_| equal)
            {
                out.equate(a, b);
            }
        }
        ExprKind::Not(inner) => {
            if let ExprKind::IsNull(operand) = &inner.kind {
                let id = tree::as_column(operand);
                if let Some(column) = id.and_then(|id| out.columns.get_mut(&id)) {
                    column.nullable = false;
                    column.null_fraction = 0.0;
                }
            }
        }
        _ => {}
    }
}

impl Properties {
    /// Notes that two columns are equal in every row.
    pub(crate) fn equate(&mut self, a: ColumnId, b: ColumnId) {
        for (from, to) in [(a, b), (b, a)] {
            let determinant = std::iter::once(from).collect();
            let dependents = std::iter::once(to).collect();
            self.dependencies.push(super::Dependency { determinant, dependents });
        }
    }
}

/// Estimated share of the rows of `input` for which `expr` is true.
pub(crate) fn selectivity(expr: &Expr, input: &Properties) -> f64 {
    types::stack::deep(|| selectivity_here(expr, input))
}

fn selectivity_here(expr: &Expr, input: &Properties) -> f64 {
    let share = match &expr.kind {
        ExprKind::Literal(Value::Bool(true)) => 1.0,
        ExprKind::Literal(_) => 0.0,
        ExprKind::And(parts) => parts.iter().map(|e| selectivity(e, input)).product(),
        ExprKind::Or(parts) => {
            1.0 - parts.iter().map(|e| 1.0 - selectivity(e, input)).product::<f64>()
        }
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(operand) => 1.0 - null_share(operand, input),
            _ => 1.0 - selectivity(inner, input),
        },
        ExprKind::IsNull(operand) => null_share(operand, input),
        ExprKind::InList(operand, list) => {
            (list.len() as f64 / expr_distinct(operand, input)).min(0.9)
        }
        ExprKind::Call(Function::AnyElement(CompareOp::Equal), list) => {
            let distinct = list.first().map_or(1.0, |operand| expr_distinct(operand, input));
            (ARRAY_ELEMENTS / distinct).min(0.9)
        }
        ExprKind::Like { .. } => PATTERN,
        ExprKind::Compare(op, left, right) => comparison(*op, left, right, input),
        ExprKind::Column(_) => 0.5,
        _ => UNKNOWN,
    };
    share.clamp(1e-9, 1.0)
}

fn null_share(operand: &Expr, input: &Properties) -> f64 {
    let known = tree::as_column(operand).and_then(|id| input.column(id));
    match known {
        Some(column) if !column.nullable => 0.0,
        Some(column) => column.null_fraction.max(0.01),
        None => 0.05,
    }
}

fn comparison(op: CompareOp, left: &Expr, right: &Expr, input: &Properties) -> f64 {
    let distinct = || expr_distinct(left, input).max(expr_distinct(right, input));
    match op {
        CompareOp::Equal | CompareOp::NotDistinct => 1.0 / distinct(),
        CompareOp::NotEqual | CompareOp::Distinct => 1.0 - 1.0 / distinct(),
        _ => {
            let whole = tree::compare(op, left.clone(), right.clone());
            inequality(&whole, input).unwrap_or(INEQUALITY)
        }
    }
}

fn inequality(whole: &Expr, input: &Properties) -> Option<f64> {
    let (id, op, value) = column_and_literal(whole)?;
    let column = input.column(id)?;
    let bound = as_number(value)?;
    let above = if let Some(mean) = column.mean {
        if mean <= 0.0 || bound <= 0.0 {
            return None;
        }
        (-(bound / mean).powi(2) * std::f64::consts::LN_2).exp()
    } else {
        let (low, high) = column.spread.filter(|(low, high)| high > low)?;
        ((high - bound) / (high - low)).clamp(0.0, 1.0)
    };
    let share = match op {
        CompareOp::Greater | CompareOp::GreaterEqual => above,
        _ => 1.0 - above,
    };
    Some(share.clamp(1e-6, 1.0))
}

/// Estimated distinct values of `expr` over `input`.
pub(crate) fn expr_distinct(expr: &Expr, input: &Properties) -> f64 {
    let count = match &expr.kind {
        ExprKind::Column(id) => input.column(*id).map_or(input.rows, |c| c.distinct),
        ExprKind::Literal(_) | ExprKind::Parameter(_) => 1.0,
        ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull(_)
        | ExprKind::InList(..)
        | ExprKind::Like { .. } => 2.0,
        ExprKind::Case { branches, otherwise } => {
            let results = branches.iter().map(|(_, e)| e).chain(std::iter::once(&**otherwise));
            results.map(|e| expr_distinct(e, input)).sum()
        }
        ExprKind::Call(Function::Extract | Function::DateTrunc, arguments) => {
            extracted(arguments, input)
        }
        ExprKind::Call(Function::Substring | Function::Left, arguments) => {
            arguments.first().map_or(1.0, |e| expr_distinct(e, input)).min(64.0)
        }
        _ => {
            let mut product = 1.0;
            tree::operands(expr, &mut |e| product *= expr_distinct(e, input));
            product
        }
    };
    count.clamp(1.0, input.rows.max(1.0))
}

fn extracted(arguments: &[Expr], input: &Properties) -> f64 {
    let Some(operand) = arguments.last() else {
        return 1.0;
    };
    let most = expr_distinct(operand, input);
    let mut inner = operand;
    while let ExprKind::Cast(e) = &inner.kind {
        inner = e;
    }
    let days = tree::as_column(inner)
        .and_then(|id| input.column(id))
        .filter(|_| inner.ty == types::DataType::Date)
        .and_then(|column| column.spread)
        .map(|(low, high)| (high - low) / 365.0 + 1.0);
    days.unwrap_or(32.0).min(most)
}
