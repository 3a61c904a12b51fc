//! Rows in the order of an index.
//!
//! ```text
//! ways of one index, sorted -> a = x, b > y | a > x    fixed columns first, then those in order
//! conditions that no index answers, LIMIT n -> Walk     entries are read until n rows are found
//! ```

use sql::algebra::{ColumnId, Expr as Logical, NullsOrder};
use sql::catalog::{IndexColumn, IndexKind, IndexMeta, TableRef};
use types::Result;

use super::index::{Access, Found, ScanParts, access, apply, as_scan};
use super::standalone::lower;
use super::terms::{Offer, row_column};
use super::ways::Conditions;
use super::{Lowered, Lowering};
use crate::physical::{Expr, ExprKind, IndexOrder, IndexWay, Node, Operator, SortKey};
use crate::{IndexPaths, cost, tree};

impl Lowering<'_, '_> {
    /// Makes a scan give its rows in the order of `sort` by an index, where that costs less: of
    /// `first` rows wanted when an index answers all conditions, so that each row found counts; of
    /// all rows when they are few. Where conditions are left open, the first rows may be found by a
    /// walk.
    pub(super) fn by_order(
        &mut self,
        node: &mut Node,
        sort: &[SortKey],
        first: Option<f64>,
    ) -> InOrder {
        let scanned = as_scan(node).clone();
        let Some(scan) = ScanParts::of(&scanned) else {
            return InOrder::No;
        };
        let whole = self.context.table(scan.table).rows;
        let is_by_index = matches!(node.operator, Operator::IndexScan { .. });
        let is_few = |rows: f64| cost::index(1.0, rows) < cost::scan(whole);
        let is_preferred = self.context.options.index_paths == IndexPaths::Prefer;
        if is_by_index && (is_few(node.rows) || is_preferred) && give_order(node, sort) {
            return InOrder::Yes;
        }
        let is_avoided = self.context.options.index_paths == IndexPaths::Avoid;
        let Some(first) = first.filter(|first| !is_avoided && is_few(*first)) else {
            return InOrder::No;
        };
        let mut candidates: Vec<Found> = Vec::new();
        let ordered = |index: &IndexMeta| index.kind == IndexKind::Ordered && !index.is_partial();
        for (at, index) in scan.table.indexes().iter().enumerate().filter(|(_, i)| ordered(i)) {
            let access = access(at, index, &scan, &Offer::default());
            candidates.push(Found::of(access.unwrap_or_else(|| Access::any(at))));
        }
        candidates.extend(self.untaken.remove(&node.id).into_iter().flatten());
        let mut walked: Option<Node> = None;
        for found in candidates {
            let mut candidate = scanned.clone();
            apply(&mut candidate, found, None);
            if !give_order(&mut candidate, sort) {
                continue;
            }
            if is_exact(&candidate) {
                *node = candidate;
                return InOrder::Yes;
            }
            // Entries behind equal values are those of fewer rows.
            if walked.as_ref().is_none_or(|walked| keys_of(walked) < keys_of(&candidate)) {
                walked = Some(candidate);
            }
        }
        if is_exact(node) && give_order(node, sort) {
            return InOrder::Yes;
        }
        let entries = first * whole / scanned.rows.max(1.0);
        let is_near = |walk: &Node| keys_of(walk) > 0 || entries <= cost::walked_max(whole) as f64;
        match walked {
            Some(walked) if !is_by_index && is_near(&walked) => InOrder::Walk(Box::new(walked)),
            _ => InOrder::No,
        }
    }

    /// The first rows by `index`, an index scan in the order of `sort`, while few entries are read
    /// for them.
    pub(super) fn walk(&mut self, index: Node, sort: Node) -> Node {
        let entries_max = match &index.operator {
            Operator::IndexScan { table, .. } => cost::walked_max(self.context.table(table).rows),
            _ => 0,
        };
        let Node { operator, output, rows, .. } = index;
        let index = Box::new(self.node(operator, output, rows));
        let (output, rows) = (sort.output.clone(), sort.rows);
        let operator = Operator::Walk { index, entries_max, sort: Box::new(sort) };
        self.node(operator, output, rows)
    }

    /// Indexes of some rows, all that the scan wants, whose predicates answer conditions of it.
    pub(super) fn partial_ways(
        &mut self,
        lowered: &Lowered,
        conditions: &Conditions<'_>,
    ) -> Result<Vec<Found>> {
        let Some(scan) = ScanParts::of(&lowered.node) else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        let partial = |index: &IndexMeta| index.kind == IndexKind::Ordered && index.is_partial();
        for (at, index) in scan.table.indexes().iter().enumerate().filter(|(_, i)| partial(i)) {
            let offer = self.offer(scan.table, at, conditions.narrow, conditions.conjuncts)?;
            let Some(offer) = offer else { continue };
            let access = access(at, index, &scan, &offer).unwrap_or_else(|| Access::any(at));
            let mut found = Found::of(access);
            let is_said = |part: &Logical| sql::implies(&offer.predicate, part);
            found.used.extend((0..scan.restrictions.len()).filter(|&at| {
                let id = lowered.columns[scan.restrictions[at].column];
                let of_it = |part: &&Logical| {
                    let mentioned = tree::mentioned(part);
                    mentioned.len() == 1 && mentioned.contains(id)
                };
                conditions.conjuncts.iter().filter(of_it).all(is_said)
            }));
            if conditions.rest.iter().all(is_said) {
                found.residual = Some(None);
            }
            all.push(found);
        }
        Ok(all)
    }
}

/// Whether a scan gives its rows in an order.
pub(super) enum InOrder {
    /// In no order that is known.
    No,
    /// Sorted, now.
    Yes,
    /// By this index scan, which reads rows that are not wanted, too.
    Walk(Box<Node>),
}

/// How many columns of its index have one value in all ways of an index scan.
fn keys_of(node: &Node) -> usize {
    match &node.operator {
        Operator::IndexScan { ways, .. } => fixed(ways),
        _ => 0,
    }
}

/// True when an index scan tests nothing of the rows that it finds.
fn is_exact(node: &Node) -> bool {
    matches!(
        &node.operator,
        Operator::IndexScan { restrictions, residual: None, .. } if restrictions.is_empty()
    )
}

impl Found {
    pub(super) fn of(access: Access) -> Self {
        let Access { way, used, single, .. } = access;
        Self { ways: vec![way], used, residual: None, cost: 0.0, single }
    }
}

/// Makes an index scan give its rows in the order of `sort`, when its index has that order.
fn give_order(node: &mut Node, sort: &[SortKey]) -> bool {
    let Operator::IndexScan { table, columns, ways, order, entries_max, .. } = &mut node.operator
    else {
        return false;
    };
    let Some(index) = only_index(ways).and_then(|index| table.indexes().get(index)) else {
        return false;
    };
    if index.kind != IndexKind::Ordered {
        return false;
    }
    let count = fixed(ways);
    let is_it = |key: &Expr, column: &IndexColumn| match (&key.kind, column.expression()) {
        (ExprKind::Column(at), None) => columns.get(*at) == Some(&column.ordinal),
        (_, None) => false,
        (_, Some(_)) => term_of(table, index, column, columns).is_some_and(|term| term == *key),
    };
    let fixed = &index.columns[..count.min(index.columns.len())];
    let mut rest = index.columns.iter().enumerate().skip(count);
    let without_nulls = without_nulls(ways);
    let mut found: Option<IndexOrder> = None;
    for key in sort {
        if fixed.iter().any(|column| is_it(&key.expr, column)) {
            continue;
        }
        let Some((at, column)) = rest.next().filter(|(_, column)| is_it(&key.expr, column)) else {
            return false;
        };
        let wanted = if column.direction == key.direction {
            IndexOrder::Forward
        } else {
            IndexOrder::Backward
        };
        let nulls = match wanted {
            IndexOrder::Backward => reversed(column.nulls),
            _ => column.nulls,
        };
        // An expression may be NULL.
        let definition = table.columns().get(column.ordinal);
        let nullable = at >= without_nulls && definition.is_none_or(|column| !column.not_null);
        if (nullable && nulls != key.nulls) || found.is_some_and(|found| found != wanted) {
            return false;
        }
        found = Some(wanted);
    }
    *order = found.unwrap_or(IndexOrder::Any);
    if *order != IndexOrder::Any {
        *entries_max = None;
    }
    true
}

/// The expression that a column of an index is, over the columns that a scan reads.
fn term_of(
    table: &TableRef,
    index: &IndexMeta,
    column: &IndexColumn,
    columns: &[usize],
) -> Option<Expr> {
    let at = table.indexes().iter().position(|known| known.name == index.name)?;
    let term = table.index_terms(at)?.expressions.get(column.expression()?)?;
    let position = |id: ColumnId| columns.iter().position(|&ordinal| row_column(ordinal) == id);
    lower(term, &position).ok()
}

fn reversed(nulls: NullsOrder) -> NullsOrder {
    match nulls {
        NullsOrder::First => NullsOrder::Last,
        NullsOrder::Last => NullsOrder::First,
    }
}

/// The index of all ways.
fn only_index(ways: &[IndexWay]) -> Option<usize> {
    let (first, others) = ways.split_first()?;
    others.iter().all(|way| way.index == first.index).then_some(first.index)
}

/// How many columns have one value in all ways.
fn fixed(ways: &[IndexWay]) -> usize {
    let Some((first, others)) = ways.split_first() else {
        return 0;
    };
    let of_one = |way: &IndexWay| way.list.as_ref().map_or(way.keys.len(), |list| list.at);
    let least = others.iter().map(of_one).fold(of_one(first), usize::min);
    (0..least).take_while(|&at| others.iter().all(|way| way.keys[at] == first.keys[at])).count()
}

/// How many columns are not NULL in the rows of all ways.
fn without_nulls(ways: &[IndexWay]) -> usize {
    let of_one = |way: &IndexWay| {
        way.keys.len() + usize::from(way.list.is_some()) + usize::from(way.range.is_some())
    };
    ways.iter().map(of_one).min().unwrap_or(0)
}
