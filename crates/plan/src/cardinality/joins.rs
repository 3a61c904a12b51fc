//! How many rows a join gives, and what stays known of them.

use std::sync::Arc;

use sql::algebra::{ColumnId, Expr, ExprKind, JoinKind};
use types::{CompareOp, DataType};

use super::selectivity::note_facts;
use super::{expr_distinct, keeps_right, selectivity};
use crate::column_set::ColumnSet;
use crate::physical::NullKeys;
use crate::properties::{ColumnProperty, Properties};
use crate::tree;

/// `left = right`, each over one side only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EquiPair<'a> {
    /// Over the left side.
    pub(crate) left: &'a Expr,
    /// Over the right side.
    pub(crate) right: &'a Expr,
    /// How NULLs compare.
    pub(crate) nulls: NullKeys,
}

/// The equalities of `condition` between both sides, and its other conjuncts.
pub(crate) fn split_condition<'a>(
    condition: &'a Expr,
    left: &ColumnSet,
    right: &ColumnSet,
) -> (Vec<EquiPair<'a>>, Vec<&'a Expr>) {
    let (mut pairs, mut rest) = (Vec::new(), Vec::new());
    let mut parts = Vec::new();
    borrow_conjuncts(condition, &mut parts);
    for part in parts {
        let mut found = None;
        if let ExprKind::Compare(op @ (CompareOp::Equal | CompareOp::NotDistinct), a, b) =
            &part.kind
        {
            let nulls = match op {
                CompareOp::NotDistinct => NullKeys::Match,
                _ => NullKeys::Differ,
            };
            let (in_a, in_b) = (tree::mentioned(a), tree::mentioned(b));
            let proper = !in_a.is_empty() && !in_b.is_empty();
            if proper && in_a.is_subset(left) && in_b.is_subset(right) {
                found = Some(EquiPair { left: a, right: b, nulls });
            } else if proper && in_a.is_subset(right) && in_b.is_subset(left) {
                found = Some(EquiPair { left: b, right: a, nulls });
            }
        }
        match found {
            Some(pair) => pairs.push(pair),
            None => rest.push(part),
        }
    }
    (pairs, rest)
}

fn borrow_conjuncts<'a>(expr: &'a Expr, out: &mut Vec<&'a Expr>) {
    match &expr.kind {
        ExprKind::And(parts) => parts.iter().for_each(|part| borrow_conjuncts(part, out)),
        _ if tree::is_true(expr) => {}
        _ => out.push(expr),
    }
}

/// Distinct values of the set that `expr` is drawn from.
fn domain(expr: &Expr, input: &Properties) -> f64 {
    let known = tree::as_column(expr).and_then(|id| input.column(id));
    known.map_or_else(|| expr_distinct(expr, input), |column| column.domain)
}

fn columns_of<'a>(exprs: impl Iterator<Item = &'a Expr>) -> ColumnSet {
    exprs.filter_map(tree::as_column).collect()
}

/// Share of all pairs that satisfy the equalities.
pub(crate) fn pair_share(pairs: &[EquiPair<'_>], left: &Properties, right: &Properties) -> f64 {
    if pairs.is_empty() {
        return 1.0;
    }
    let sides = [
        (left, columns_of(pairs.iter().map(|p| p.left))),
        (right, columns_of(pairs.iter().map(|p| p.right))),
    ];
    let mut product = 1.0;
    for pair in pairs {
        let even = even_share(pair, left, right);
        let columns = tree::as_column(pair.left).zip(tree::as_column(pair.right));
        let known = columns.and_then(|(a, b)| skewed_share(left.column(a)?, right.column(b)?));
        product *= known.unwrap_or(even);
    }
    if pairs.len() == 1 {
        return product;
    }
    for (side, columns) in sides {
        let keys = side.keys.iter().filter(|key| key.columns.is_subset(&columns));
        for key in keys {
            product = product.max(1.0 / key.domain.max(1.0));
        }
    }
    product
}

/// Least share of a column's spread that two columns are taken to have in common.
const OVERLAP_MIN: f64 = 1e-3;

/// Share of all pairs of rows with equal values, each of which is as frequent as any. Only values
/// in the range that both columns have in common meet: a key of many years has few partners in the
/// table of one.
pub(crate) fn even_share(pair: &EquiPair<'_>, left: &Properties, right: &Properties) -> f64 {
    let (a, b) = (domain(pair.left, left), domain(pair.right, right));
    let columns = tree::as_column(pair.left).zip(tree::as_column(pair.right));
    let common = columns.and_then(|(l, r)| overlap(left.column(l)?, right.column(r)?));
    let Some([(rows_a, values_a), (rows_b, values_b)]) = common else {
        return 1.0 / a.max(b).max(1.0);
    };
    rows_a * rows_b / (a * values_a).max(b * values_b).max(1.0)
}

/// For each of two columns the shares of its rows and of its values that lie in the range that both
/// have in common; None where a range is not known or has one value.
fn overlap(a: &ColumnProperty, b: &ColumnProperty) -> Option<[(f64, f64); 2]> {
    let ((whole_a, reach_a), (whole_b, reach_b)) = (reach(a)?, reach(b)?);
    let common = (reach_a.1.min(reach_b.1) - reach_a.0.max(reach_b.0)).max(0.0);
    let share = |(low, high): (f64, f64)| (common / (high - low)).clamp(OVERLAP_MIN, 1.0);
    Some([(share(reach_a), share(whole_a)), (share(reach_b), share(whole_b))])
}

/// The bounds of the set that a column is drawn from, and those among its rows; None where they are
/// not known or there is one value.
fn reach(column: &ColumnProperty) -> Option<(Bounds, Bounds)> {
    let (low, high) = column.spread?;
    let (from, to) = column.reach.unwrap_or((low, high));
    let (from, to) = (from.max(low), to.min(high));
    (high > low && to > from).then_some(((low, high), (from, to)))
}

/// Smallest and largest value.
type Bounds = (f64, f64);

/// Hashes of values and the share of rows that have each.
type Frequent = Arc<[(u64, f64)]>;

/// Share of all pairs of rows with equal values, by the frequent values of both columns: few values
/// that many rows of both have make most of a join. Others are as frequent as each other. None
/// where one column has no frequent values.
fn skewed_share(left: &ColumnProperty, right: &ColumnProperty) -> Option<f64> {
    let (a, b) = (left.frequent.as_deref()?, right.frequent.as_deref()?);
    let (a, b) = (Shares::of(a, b, left.domain), Shares::of(b, a, right.domain));
    let both: f64 = a.common.iter().map(|(_, share, other)| share * other).sum();
    let unmatched = a.apart * b.rest / b.others + b.apart * a.rest / a.others;
    Some(both + unmatched + a.rest * b.rest / a.others.max(b.others))
}

/// The frequent values of equal columns of an inner join.
fn joined_frequent(left: &ColumnProperty, right: &ColumnProperty) -> Option<Frequent> {
    let (Some(a), Some(b)) = (&left.frequent, &right.frequent) else {
        // Each value of the other column has as many rows as any.
        return left.frequent.as_ref().or(right.frequent.as_ref()).map(Arc::clone);
    };
    let all = skewed_share(left, right)?;
    let common = Shares::of(a, b, left.domain).common;
    let joined = common.iter().map(|(hash, share, other)| (*hash, share * other / all));
    Some(joined.collect())
}

/// The frequent values of one column against those of another.
struct Shares {
    /// Values that are frequent in both: hash, share here, share there.
    common: Vec<(u64, f64, f64)>,
    /// Rows with values that are frequent here only.
    apart: f64,
    /// Rows with values that are not frequent here.
    rest: f64,
    /// Values that are not frequent in both: one that is frequent there only may be any of them.
    others: f64,
}

impl Shares {
    fn of(here: &[(u64, f64)], there: &[(u64, f64)], domain: f64) -> Self {
        let find = |hash: &u64| there.binary_search_by_key(hash, |(hash, _)| *hash).ok();
        let common: Vec<_> = here
            .iter()
            .filter_map(|(hash, share)| Some((*hash, *share, there[find(hash)?].1)))
            .collect();
        let frequent: f64 = here.iter().map(|(_, share)| share).sum();
        let apart = frequent - common.iter().map(|(_, share, _)| share).sum::<f64>();
        let others = (domain - common.len() as f64).max(1.0);
        Self { common, apart, rest: (1.0 - frequent).max(0.0), others }
    }
}

/// Estimated rows of a join.
fn join_rows(
    kind: JoinKind,
    pairs: &[EquiPair<'_>],
    rest_share: f64,
    left: &Properties,
    right: &Properties,
) -> f64 {
    let inner = left.rows * right.rows * pair_share(pairs, left, right) * rest_share;
    let rows = match kind {
        JoinKind::Inner | JoinKind::Each => inner,
        JoinKind::Left | JoinKind::Single => inner.max(left.rows),
        JoinKind::Right => inner.max(right.rows),
        JoinKind::Full => inner.max(left.rows).max(right.rows),
        JoinKind::Mark(_) => left.rows,
        JoinKind::Semi => left.rows * matched(pairs, rest_share, left, right),
        JoinKind::Anti => left.rows * (1.0 - matched(pairs, rest_share, left, right)).max(0.02),
    };
    rows.max(1.0)
}

/// Estimated share of left rows with a match.
fn matched(pairs: &[EquiPair<'_>], rest_share: f64, left: &Properties, right: &Properties) -> f64 {
    if pairs.is_empty() {
        return (right.rows * rest_share).min(1.0).max(if rest_share < 1.0 { 0.0 } else { 1.0 });
    }
    let mut share = 1.0;
    let mut keys = 1.0;
    for pair in pairs {
        let distinct = expr_distinct(pair.right, right);
        share *= (distinct * even_share(pair, left, right)).min(1.0);
        keys *= distinct;
    }
    let per_key = (right.rows / keys.min(right.rows)).max(1.0);
    share * (1.0 - (1.0 - rest_share).powf(per_key))
}

/// Properties of a join.
pub(crate) fn joined(
    kind: JoinKind,
    condition: &Expr,
    left: Properties,
    right: Properties,
) -> Properties {
    let left_columns: ColumnSet = left.columns.keys().copied().collect();
    let right_columns: ColumnSet = right.columns.keys().copied().collect();
    let (pairs, rest) = split_condition(condition, &left_columns, &right_columns);
    let mut both = Properties { rows: left.rows * right.rows, ..Properties::default() };
    if !rest.is_empty() {
        both.columns.extend(left.columns.iter().map(|(id, c)| (*id, c.clone())));
        both.columns.extend(right.columns.iter().map(|(id, c)| (*id, c.clone())));
    }
    let rest_share: f64 = rest.iter().map(|e| selectivity(e, &both)).product();
    let rows = join_rows(kind, &pairs, rest_share, &left, &right);
    combine(Matching { kind, condition, pairs: &pairs }, rows, left, right)
}

/// How the rows of a join meet.
#[derive(Clone, Copy)]
struct Matching<'a> {
    kind: JoinKind,
    condition: &'a Expr,
    /// The equalities of the condition.
    pairs: &'a [EquiPair<'a>],
}

fn combine(matching: Matching<'_>, rows: f64, left: Properties, right: Properties) -> Properties {
    let Matching { kind, condition, pairs } = matching;
    let left_unique = left.is_unique(&columns_of(pairs.iter().map(|p| p.left)));
    let right_unique = right.is_unique(&columns_of(pairs.iter().map(|p| p.right)));
    let product = left.rows_max.zip(right.rows_max).map(|(a, b)| a * b);
    if !keeps_right(kind) {
        let mut out = left.scaled(rows);
        if let JoinKind::Mark(id) = kind {
            out.columns.insert(id, ColumnProperty::unknown(2.0, DataType::Boolean));
        }
        return out;
    }
    let rows_max = match kind {
        JoinKind::Single => left.rows_max,
        JoinKind::Left if right_unique => left.rows_max,
        JoinKind::Inner if right_unique => left.rows_max,
        JoinKind::Inner if left_unique => right.rows_max,
        JoinKind::Inner | JoinKind::Each => product,
        _ => left.rows_max.zip(right.rows_max).map(|(a, b)| a * b + a + b),
    };
    let columns = |p: &EquiPair<'_>| tree::as_column(p.left).zip(tree::as_column(p.right));
    let equal: Vec<(ColumnId, ColumnId)> = pairs.iter().filter_map(columns).collect();
    let frequent = |&(a, b): &(ColumnId, ColumnId)| {
        let (a, b) = left.column(a).zip(right.column(b)).filter(|_| kind == JoinKind::Inner)?;
        Some(joined_frequent(a, b))
    };
    let frequent: Vec<Option<Option<Frequent>>> = equal.iter().map(frequent).collect();
    let mut out = Properties { rows, rows_max, ..Properties::default() };
    let keep_left = right_unique || kind == JoinKind::Single;
    if keep_left && kind != JoinKind::Full && kind != JoinKind::Right {
        out.keys.extend(left.keys.iter().cloned());
    }
    if left_unique && kind == JoinKind::Inner {
        out.keys.extend(right.keys.iter().cloned());
    }
    let (left_outer, right_outer) = match kind {
        JoinKind::Inner | JoinKind::Each => (false, false),
        JoinKind::Full => (true, true),
        JoinKind::Right => (true, false),
        _ => (false, true),
    };
    for (side, outer) in [(left, left_outer), (right, right_outer)] {
        let mut side = side.scaled(rows);
        if outer {
            extend_with_nulls(&mut side);
        }
        out.dependencies.append(&mut side.dependencies);
        if out.columns.is_empty() {
            out.columns = side.columns;
        } else {
            out.columns.extend(side.columns);
        }
    }
    for ((a, b), frequent) in equal.into_iter().zip(frequent) {
        equate(&mut out, a, b, frequent);
    }
    if kind == JoinKind::Inner {
        tree::conjuncts(condition.clone()).iter().for_each(|part| note_facts(&mut out, part));
    }
    out.settle();
    out
}

/// A row of NULLs may join these rows: columns become nullable, and a dependency holds on only when
/// its determinant tells that row from all others.
fn extend_with_nulls(side: &mut Properties) {
    let columns = &side.columns;
    let never_null = |id: ColumnId| columns.get(&id).is_some_and(|column| !column.nullable);
    side.dependencies.retain(|dependency| dependency.determinant.iter().any(never_null));
    side.columns.values_mut().for_each(|column| column.nullable = true);
}

/// The columns `a` and `b` have the same values, and these frequent ones if that is known.
fn equate(out: &mut Properties, a: ColumnId, b: ColumnId, frequent: Option<Option<Frequent>>) {
    let distinct = |id: &ColumnId| out.columns.get(id).map_or(1.0, |c| c.distinct);
    let least = distinct(&a).min(distinct(&b));
    let reach = |id: &ColumnId| out.columns.get(id).and_then(reach).map(|(_, reach)| reach);
    let common = reach(&a).zip(reach(&b)).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1)));
    let common = common.filter(|(from, to)| from < to);
    for id in [a, b] {
        if let Some(column) = out.columns.get_mut(&id) {
            column.distinct = least;
            // Only an inner join drops what the other side lacks.
            if let Some(values) = &frequent {
                column.frequent.clone_from(values);
                column.reach = common.or(column.reach);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use types::DataType;

    use super::{ColumnProperty, joined_frequent, skewed_share};

    /// A column of which `frequent` values have these shares, and 100 others the rest.
    fn column(frequent: &[(u64, f64)]) -> ColumnProperty {
        let domain = frequent.len() as f64 + 100.0;
        let unknown = ColumnProperty::unknown(1e6, DataType::Integer);
        ColumnProperty { domain, frequent: Some(frequent.into()), ..unknown }
    }

    #[test]
    fn frequent_values_make_most_of_a_join() {
        let skewed = column(&[(1, 0.5), (9, 0.1)]);
        let alike = skewed_share(&skewed, &skewed).expect("both have frequent values");
        let exact = 0.5 * 0.5 + 0.1 * 0.1 + 0.4 * 0.4 / 100.0;
        assert!((alike - exact).abs() < 1e-12, "{alike}");
        let other = column(&[(2, 0.5), (8, 0.1)]);
        let apart = skewed_share(&skewed, &other).expect("both have frequent values");
        // Two values of each side meet one of about a hundred on the other side.
        let exact = 2.0 * 0.6 * 0.4 / 102.0 + 0.4 * 0.4 / 102.0;
        assert!((apart - exact).abs() < 1e-12, "{apart}");
        let even = ColumnProperty::unknown(9.0, DataType::Integer);
        assert_eq!(skewed_share(&skewed, &even), None);
        let behind = joined_frequent(&even, &skewed).expect("the shares of the other side");
        assert_eq!(*behind, [(1, 0.5), (9, 0.1)]);
        let behind = joined_frequent(&skewed, &skewed).expect("both have frequent values");
        assert!((behind[0].1 - 0.25 / alike).abs() < 1e-12 && behind[0].1 > 0.9, "{behind:?}");
    }
}
