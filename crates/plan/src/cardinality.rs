//! Facts and estimates about the rows of a plan.
//!
//! ```text
//! table statistics -> Scan -> Filter (sample) -> Join (domains, keys) -> Aggregate (groups) ...
//!                      each step: rows, distinct counts, proved ranges, keys, dependencies
//! ```
//! Estimates (`rows`, `distinct`, `domain`) may be wrong; facts (`range`, `rows_max`, `nullable`,
//! `keys`, `dependencies`) are proved and may decide representations.
//! Elsewhere: predicates (`selectivity`), joins (`joins`), value ranges of expressions (`range`).

mod joins;
mod selectivity;

use std::sync::Arc;

use hashbrown::HashMap;
use sql::algebra::{
    AggregateFunction, ColumnId, Duplicates, Expr, ExprKind, JoinKind, Plan, SeriesFunction,
    SetOperator,
};
use sql::catalog::TableRef;
use types::{DataType, Value};

pub(crate) use joins::{EquiPair, even_share, joined, pair_share, split_condition};
pub(crate) use selectivity::{ARRAY_ELEMENTS, expr_distinct, filtered, selectivity};

use crate::column_set::ColumnSet;
use crate::context::Context;
use crate::properties::{ColumnProperty, Dependency, Key, Properties, Sampled};
use crate::range::Range;
use crate::{Exactness, SampleMatch, bounds, tree};

/// Remembered samples and CTEs, so that no predicate is sampled twice.
#[derive(Default)]
pub(crate) struct Estimator {
    samples: HashMap<ColumnId, Vec<(Expr, Option<Arc<SampleMatch>>)>>,
    /// Properties of CTEs by position of their outputs.
    pub(crate) ctes: HashMap<sql::algebra::CteId, (Vec<ColumnId>, Properties)>,
}

/// Rows assumed of [`Plan::Input`]: those that one statement changed, most often a few.
const INPUT_ROWS: f64 = 100.0;

/// Properties of `plan` from those of its inputs, in order.
pub(crate) fn derive(
    context: &mut Context<'_>,
    estimator: &mut Estimator,
    plan: &Plan,
    mut inputs: Vec<Properties>,
) -> Properties {
    let second = if inputs.len() > 1 { inputs.pop() } else { None };
    let first = inputs.pop().unwrap_or_default();
    match plan {
        Plan::Scan { table, columns, .. } => scanned(context, table, columns),
        Plan::FunctionScan { function, columns } => {
            let rows = function.0.rows().map_or(1000.0, |rows| rows as f64);
            let ids = columns.iter().map(|&(id, i)| (id, function.0.columns()[i].1));
            unknown(rows.max(1.0), ids)
        }
        Plan::Input { columns, .. } => unknown(INPUT_ROWS, columns.iter().map(|c| (c.id, c.ty))),
        Plan::Series { function, arguments, column: (id, ty) } => {
            series(*function, arguments, *id, *ty)
        }
        Plan::Values { columns, rows } => values(columns, rows),
        Plan::Filter { input, predicate } => filtered(context, estimator, input, predicate, first),
        Plan::Project { columns, .. } => projected(columns, &first),
        Plan::Join { kind, condition, .. } => {
            joined(*kind, condition, first, second.unwrap_or_default())
        }
        Plan::Aggregate { keys, aggregates, grouping_sets, set_column, .. } => {
            let sets = grouping_sets.as_ref();
            let mut out = aggregated(keys, aggregates, sets.map_or(1, Vec::len), &first);
            if grouping_sets.is_some() {
                out.keys.clear();
                out.dependencies.clear();
                out.columns.values_mut().for_each(|c| c.nullable = true);
                let id = set_column.iter().map(|&id| (id, DataType::BigInt));
                out.columns.extend(unknown(out.rows, id).columns);
            }
            out
        }
        Plan::Distinct { input, on } => distinct(input, on, first),
        Plan::Window { calls, .. } => {
            let mut out = first;
            let rows = out.rows;
            for (id, call) in calls {
                out.columns.insert(*id, ColumnProperty::unknown(rows, call.ty));
            }
            out
        }
        Plan::Sort { .. } => first,
        Plan::Limit { limit, .. } => limited(limit.as_ref(), first),
        Plan::SetOperation { operator, duplicates, left, right, columns } => {
            let right_ids = tree::output(right);
            let second = second.unwrap_or_default();
            let sides = (tree::output(left), first, right_ids, second);
            combined(*operator, *duplicates, columns, sides)
        }
        Plan::With { .. } | Plan::RecursiveWith { .. } => second.unwrap_or(first),
        Plan::CteScan { cte, columns, .. } => match estimator.ctes.get(cte) {
            Some((ids, known)) => {
                let names: Vec<_> = ids.iter().copied().zip(columns.iter().map(|c| c.0)).collect();
                known.renamed(&names)
            }
            None => unknown(1000.0, columns.iter().copied()),
        },
    }
}

fn scanned(
    context: &mut Context<'_>,
    table: &TableRef,
    columns: &[(ColumnId, usize)],
) -> Properties {
    let statistics = context.table(table);
    let rows = statistics.rows.max(1.0);
    let definitions = table.columns();
    let mut out =
        Properties { rows, rows_max: Some(statistics.rows.max(0.0)), ..Properties::default() };
    for &(id, ordinal) in columns {
        let Some(definition) = definitions.get(ordinal) else {
            out.columns.insert(id, tid(rows));
            out.keys.push(Key {
                columns: [id].into_iter().collect(),
                domain: rows,
                nullable: false,
            });
            continue;
        };
        let mut property = ColumnProperty::unknown(rows, definition.ty);
        if let Some(known) = statistics.columns.get(ordinal) {
            property.distinct = known.distinct.clamp(1.0, rows);
            property.domain = property.distinct;
            property.null_fraction = known.null_fraction;
            property.bytes = known.bytes_average;
            property.frequent = Some(Arc::clone(&known.frequent)).filter(|f| !f.is_empty());
            let ends = known.min.as_ref().zip(known.max.as_ref());
            property.spread = ends.and_then(|(a, b)| Some((as_number(a)?, as_number(b)?)));
            if known.bounds == Exactness::Exact {
                let proved = ends.and_then(|(a, b)| Range::new(a.as_integer()?, b.as_integer()?));
                property.range = proved.or(property.range);
            }
        }
        property.nullable = !definition.not_null;
        property.base_rows = rows;
        let sample = statistics.sample.as_ref().zip(columns.first());
        property.sample = sample.map(|(rows, (scan, _))| {
            let (scan, rows) = (*scan, Arc::clone(rows));
            Sampled { scan, ordinal, rows }
        });
        out.columns.insert(id, property);
    }
    for key in table.proven_keys().iter().filter(|key| !key.deferral.is_deferrable()) {
        let find = |ordinal: &usize| columns.iter().find(|c| c.1 == *ordinal).map(|c| c.0);
        if let Some(ids) = key.columns.iter().map(find).collect::<Option<ColumnSet>>() {
            let nulls = key.columns.iter().any(|&i| !definitions[i].not_null && !key.primary);
            if !nulls {
                let dependents = columns.iter().map(|c| c.0).collect();
                out.dependencies.push(Dependency { determinant: ids.clone(), dependents });
            }
            out.keys.push(Key { columns: ids, domain: rows, nullable: nulls });
        }
    }
    out
}

/// The TID of each of `rows` rows.
fn tid(rows: f64) -> ColumnProperty {
    let unknown = ColumnProperty::unknown(rows, DataType::BigInt);
    ColumnProperty { distinct: rows, domain: rows, nullable: false, base_rows: rows, ..unknown }
}

/// The value on a number line, for interpolation.
pub(crate) fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::F64(v) => Some(*v),
        Value::Bool(v) => Some(f64::from(u8::from(*v))),
        other => other.as_integer().map(|v| v as f64),
    }
}

fn unknown(rows: f64, columns: impl Iterator<Item = (ColumnId, DataType)>) -> Properties {
    let columns = columns.map(|(id, ty)| (id, ColumnProperty::unknown(rows, ty))).collect();
    Properties { rows, columns, ..Properties::default() }
}

fn series(function: SeriesFunction, arguments: &[Expr], id: ColumnId, ty: DataType) -> Properties {
    let column = (id, ty);
    if function == SeriesFunction::Unnest {
        return unknown(unnested(arguments.first()), std::iter::once(column));
    }
    let constant = |i: usize| match arguments.get(i).map(|e| &e.kind) {
        Some(ExprKind::Literal(value)) => as_number(value),
        _ => None,
    };
    let step = constant(2).unwrap_or(1.0);
    let rows = match (constant(0), constant(1)) {
        (Some(start), Some(stop)) if step != 0.0 => ((stop - start) / step + 1.0).max(1.0),
        _ => 100.0,
    };
    unknown(rows, std::iter::once(column))
}

fn values(columns: &[(ColumnId, DataType)], rows: &[Vec<Expr>]) -> Properties {
    let count = rows.len() as f64;
    let mut out = unknown(count.max(1.0), columns.iter().copied());
    out.rows_max = Some(count);
    if rows.len() <= 1 {
        out.keys.push(Key { columns: ColumnSet::default(), domain: 1.0, nullable: false });
    }
    let before = Properties::default();
    for (i, (id, _)) in columns.iter().enumerate() {
        let Some(property) = out.columns.get_mut(id) else {
            continue;
        };
        property.nullable = rows.iter().any(|row| nullable(&row[i], &before));
        let ranges = rows.iter().map(|row| bounds::of(&row[i], &before));
        let union = ranges.reduce(|a, b| a.zip(b).map(|(a, b)| a.union(b))).flatten();
        property.range = union.or(property.range);
    }
    out
}

/// Elements of an array.
fn unnested(array: Option<&Expr>) -> f64 {
    match array.map(|array| (&array.kind, array.ty)) {
        Some((ExprKind::Literal(types::Value::Str(bytes)), DataType::Array(element))) => {
            (types::array::cardinality(bytes, element) as f64).max(1.0)
        }
        _ => ARRAY_ELEMENTS,
    }
}

/// True unless `expr` is proved never NULL.
pub(crate) fn nullable(expr: &Expr, input: &Properties) -> bool {
    nullable_by(expr, &|id| input.columns.get(&id).is_none_or(|c| c.nullable))
}

/// True unless `expr` is proved never NULL, where `column` says the same of columns.
pub(crate) fn nullable_by(expr: &Expr, column: &dyn Fn(ColumnId) -> bool) -> bool {
    types::stack::deep(|| nullable_by_here(expr, column))
}

fn nullable_by_here(expr: &Expr, column: &dyn Fn(ColumnId) -> bool) -> bool {
    use sql::algebra::Function as F;
    match &expr.kind {
        ExprKind::Column(id) => column(*id),
        ExprKind::Literal(value) => value.is_null(),
        ExprKind::IsNull(_) | ExprKind::Exists(_) => false,
        ExprKind::Call(F::Coalesce, list) => list.iter().all(|e| nullable_by(e, column)),
        ExprKind::Call(
            F::Add
            | F::Subtract
            | F::Multiply
            | F::Divide
            | F::Modulo
            | F::Negate
            | F::DateAddDays
            | F::DateSubtractDays
            | F::Extract
            | F::Substring
            | F::Upper
            | F::Lower
            | F::Abs,
            list,
        )
        | ExprKind::And(list)
        | ExprKind::Or(list) => list.iter().any(|e| nullable_by(e, column)),
        ExprKind::Compare(types::CompareOp::Distinct | types::CompareOp::NotDistinct, ..) => false,
        ExprKind::Compare(_, a, b) => nullable_by(a, column) || nullable_by(b, column),
        ExprKind::Not(inner) | ExprKind::Cast(inner) => nullable_by(inner, column),
        ExprKind::Case { branches, otherwise } => {
            nullable_by(otherwise, column) || branches.iter().any(|(_, r)| nullable_by(r, column))
        }
        ExprKind::InList(operand, list) => {
            nullable_by(operand, column) || list.iter().any(|e| nullable_by(e, column))
        }
        ExprKind::Like { operand, pattern, .. } => {
            nullable_by(operand, column) || nullable_by(pattern, column)
        }
        _ => true,
    }
}

/// Properties of a projection.
pub(crate) fn projected(columns: &[(ColumnId, Expr)], input: &Properties) -> Properties {
    let mut out =
        Properties { rows: input.rows, rows_max: input.rows_max, ..Properties::default() };
    let mut names = Vec::new();
    for (id, expr) in columns {
        if let Some(old) = tree::as_column(expr) {
            names.push((old, *id));
        }
        out.columns.insert(*id, computed(expr, input));
    }
    let facts = input.renamed(&names);
    out.keys = facts.keys;
    out.dependencies = facts.dependencies;
    out
}

/// The property of a column computed by `expr`.
pub(crate) fn computed(expr: &Expr, input: &Properties) -> ColumnProperty {
    if let Some(known) = tree::as_column(expr).and_then(|id| input.columns.get(&id)) {
        return known.clone();
    }
    let mut property = ColumnProperty::unknown(input.rows, expr.ty);
    property.distinct = expr_distinct(expr, input).min(input.rows).max(1.0);
    property.domain = property.distinct;
    property.range = bounds::of(expr, input).or(property.range);
    property.nullable = nullable(expr, input);
    property
}

/// Groups that `keys` make of the rows of `input`.
pub(crate) fn group_count(keys: &[(ColumnId, Expr)], input: &Properties) -> f64 {
    let plain: ColumnSet = keys.iter().filter_map(|(_, e)| tree::as_column(e)).collect();
    let mut independent = plain.clone();
    for id in plain.iter() {
        let mut others = independent.clone();
        others.subtract(&std::iter::once(id).collect());
        if input.closure(&others).contains(id) {
            independent = others;
        }
    }
    let mut groups = 1.0;
    // Of each scan the columns among the keys, with their distinct values.
    let mut scans: Vec<(&Sampled, Vec<(usize, f64)>)> = Vec::new();
    for (_, expr) in keys {
        let id = tree::as_column(expr);
        if id.is_some_and(|id| !independent.contains(id)) {
            continue;
        }
        let distinct = expr_distinct(expr, input);
        match id.and_then(|id| input.column(id)?.sample.as_ref()) {
            None => groups *= distinct,
            Some(own) => match scans.iter_mut().find(|(other, _)| other.scan == own.scan) {
                None => scans.push((own, vec![(own.ordinal, distinct)])),
                Some((_, columns)) if columns.iter().any(|(known, _)| *known == own.ordinal) => {}
                Some((_, columns)) => columns.push((own.ordinal, distinct)),
            },
        }
    }
    let scans = scans.iter().map(|(sampled, columns)| together(sampled, columns));
    (groups * scans.product::<f64>()).min(input.rows).max(1.0)
}

/// Groups that columns of one scan make, each with so many distinct values among the rows: at most
/// one for each combination, and of each value as many as it has in the whole table.
fn together(sampled: &Sampled, columns: &[(usize, f64)]) -> f64 {
    let product: f64 = columns.iter().map(|(_, distinct)| distinct).product();
    if columns.len() < 2 || product <= 1.0 {
        return product;
    }
    let ordinals: Vec<usize> = columns.iter().map(|(ordinal, _)| *ordinal).collect();
    let whole = sampled.rows.groups(&ordinals);
    let of = |(ordinal, distinct): &(usize, f64)| {
        distinct * (whole / sampled.rows.groups(&[*ordinal])).max(1.0)
    };
    columns.iter().map(of).fold(product, f64::min)
}

/// Properties of GROUP BY with so many grouping sets.
pub(crate) fn aggregated(
    keys: &[(ColumnId, Expr)],
    aggregates: &[(ColumnId, sql::algebra::AggregateCall)],
    sets: usize,
    input: &Properties,
) -> Properties {
    let groups = group_count(keys, input) * sets as f64;
    // Each grouping set may have as many groups as the input has rows, and an empty set one.
    let rows_max = input.rows_max.map(|rows| rows.max(1.0) * sets.max(1) as f64);
    let mut out = Properties { rows: groups, rows_max, ..Properties::default() };
    if keys.is_empty() {
        out.rows_max = Some(sets as f64);
    }
    let mut names = Vec::new();
    for (id, expr) in keys {
        names.extend(tree::as_column(expr).map(|old| (old, *id)));
        let mut property = computed(expr, input);
        property.distinct = property.distinct.min(groups);
        property.frequent = None;
        out.columns.insert(*id, property);
    }
    for (id, call) in aggregates {
        let property = aggregate_property(call, groups, keys.is_empty(), input);
        out.columns.insert(*id, property);
    }
    let facts = input.renamed(&names);
    out.dependencies = facts.dependencies;
    let columns: ColumnSet = keys.iter().map(|(id, _)| *id).collect();
    let dependents = out.columns.keys().copied().collect();
    out.dependencies.push(Dependency { determinant: columns.clone(), dependents });
    out.keys = facts.keys;
    out.keys.push(Key { columns, domain: groups, nullable: false });
    out
}

fn aggregate_property(
    call: &sql::algebra::AggregateCall,
    groups: f64,
    scalar: bool,
    input: &Properties,
) -> ColumnProperty {
    use AggregateFunction as A;
    let mut property = ColumnProperty::unknown(groups, call.ty);
    let per_group = input.rows / groups;
    let argument = call.arguments.first();
    let known = argument.map(|e| computed(e, input));
    match call.function {
        A::CountRows | A::Count => {
            property.nullable = false;
            property.range = Range::new(0, input.rows_max.map_or(i64::MAX as i128, |r| r as i128));
            property.mean = Some(per_group);
        }
        A::Sum => {
            let rows = input.rows_max.map(|rows| rows.max(1.0).ceil() as i128);
            let argument_range = argument.and_then(|e| bounds::of_scaled(e, call.ty, input));
            let total = rows.zip(argument_range).and_then(|(rows, r)| r.times(rows));
            property.range = total.or(property.range);
            let spread = known.as_ref().and_then(|k| k.spread);
            property.mean = spread.map(|(a, b)| (a + b) / 2.0 * per_group);
        }
        A::Min | A::Max | A::AnyValue | A::Single => {
            if let Some(known) = &known {
                property.range = known.range.or(property.range);
                property.spread = known.spread;
                property.distinct = known.distinct.min(groups);
                property.domain = known.domain;
            }
        }
        _ => {}
    }
    let strict = matches!(call.function, A::Sum | A::Avg | A::Min | A::Max | A::AnyValue);
    if strict && !scalar && call.filter.is_none() {
        property.nullable = known.is_none_or(|k| k.nullable);
    }
    property
}

fn distinct(input: &Plan, on: &[Expr], first: Properties) -> Properties {
    let ids: Vec<_> = if on.is_empty() {
        tree::output(input).into_iter().map(|(id, ty)| (id, tree::column(id, ty))).collect()
    } else {
        on.iter().map(|e| (ColumnId(u32::MAX - 1), e.clone())).collect()
    };
    let groups = group_count(&ids, &first);
    let mut out = first.scaled(groups);
    out.columns.values_mut().for_each(|column| column.frequent = None);
    if let Some(columns) = ids.iter().map(|(_, e)| tree::as_column(e)).collect::<Option<_>>() {
        out.keys.push(Key { columns, domain: groups, nullable: false });
    }
    out
}

/// Properties under a LIMIT.
pub(crate) fn limited(limit: Option<&Expr>, first: Properties) -> Properties {
    let Some(ExprKind::Literal(value)) = limit.map(|e| &e.kind) else {
        return first;
    };
    let Some(count) = value.as_integer() else {
        return first;
    };
    let count = count.max(0) as f64;
    let mut out = if count < first.rows { first.scaled(count.max(1.0)) } else { first };
    out.rows_max = Some(out.rows_max.map_or(count, |rows| rows.min(count)));
    if count <= 1.0 {
        out.keys.push(Key { columns: ColumnSet::default(), domain: 1.0, nullable: false });
    }
    out
}

type Sides = (Vec<(ColumnId, DataType)>, Properties, Vec<(ColumnId, DataType)>, Properties);

fn combined(
    operator: SetOperator,
    duplicates: Duplicates,
    columns: &[(ColumnId, DataType)],
    (left_ids, left, right_ids, right): Sides,
) -> Properties {
    let rows = match operator {
        SetOperator::Union => left.rows + right.rows,
        SetOperator::Intersect => left.rows.min(right.rows),
        SetOperator::Except => left.rows,
    };
    let mut out = unknown(rows, columns.iter().copied());
    let both = left.rows_max.zip(right.rows_max).map(|(a, b)| a + b);
    out.rows_max = if operator == SetOperator::Union { both } else { left.rows_max };
    for (i, (id, ty)) in columns.iter().enumerate() {
        let (a, b) = (left.column(left_ids[i].0), right.column(right_ids[i].0));
        let Some(property) = out.columns.get_mut(id) else {
            continue;
        };
        let known = a.zip(b).filter(|_| left_ids[i].1 == *ty && right_ids[i].1 == *ty);
        let Some((a, b)) = known else { continue };
        property.distinct = (a.distinct + b.distinct).min(rows);
        property.domain = property.distinct;
        property.range = a.range.zip(b.range).map(|(a, b)| a.union(b)).or(property.range);
        property.nullable = a.nullable || b.nullable;
    }
    if duplicates == Duplicates::Remove {
        let columns = columns.iter().map(|c| c.0).collect();
        out.keys.push(Key { columns, domain: rows, nullable: false });
    }
    out
}

/// True when `kind` keeps the right side's columns.
pub(crate) fn keeps_right(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_))
}

/// Rows of a table sample that pass, remembered.
pub(crate) fn sampled(
    context: &Context<'_>,
    estimator: &mut Estimator,
    table: &TableRef,
    columns: &[(ColumnId, usize)],
    predicate: &Expr,
) -> Option<Arc<SampleMatch>> {
    let first = columns.first()?.0;
    let known = estimator.samples.entry(first).or_default();
    if let Some((_, found)) = known.iter().find(|(e, _)| e == predicate) {
        return found.clone();
    }
    let found = context.statistics.sample(table, columns, predicate).map(Arc::new);
    known.push((predicate.clone(), found.clone()));
    found
}
