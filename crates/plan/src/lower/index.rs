//! Index paths: scans and joins that find their rows by an index where that costs less.
//!
//! ```text
//! Scan where a = 1 and b > 2 and c = 3  -- index (a, b) -> IndexScan a = 1, b > 2, where c = 3
//! outer join Scan on a = o.x            -- index (a)    -> IndexJoin a = o.x
//! ```
//! Only columns without a computation on them are looked up; NULLs never match, so conditions
//! with IS NOT DISTINCT FROM stay where they are.

use std::borrow::Cow;

use sql::algebra::{Expr as Logical, JoinKind as Logic, NullsOrder, Plan};
use sql::catalog::{IndexKind, IndexMeta, TableRef, Uniqueness};
use types::{CompareOp, Result};

use super::expr::{Scope, held_as};
use super::join::{Join, physical_kind, shape};
use super::scan::{move_columns, same_values};
use super::terms::Offer;
use super::{Lowered, Lowering};
use crate::column_set::ColumnSet;
use crate::physical::{
    BoundKind, Expr, ExprKind, IndexList, IndexOrder, IndexRange, Node, NullKeys, Operator,
    ScanRestriction, ScanRestrictionKind, SortKey,
};
use crate::{IndexPaths, cardinality, cost, tree};

/// How an index answers a scan.
#[derive(Default)]
struct Access {
    index: usize,
    keys: Vec<Expr>,
    list: Option<IndexList>,
    range: Option<IndexRange>,
    /// Positions of the restrictions that it answers.
    used: Vec<usize>,
    /// Ordinals of the expressions of which it answers something.
    expressions: Vec<usize>,
    /// At most one row has the key.
    single: bool,
}

/// How an index finds the inner rows of a join.
pub(super) struct JoinChoice {
    index: usize,
    keys: Vec<Expr>,
    /// Positions of the key pairs that it answers.
    pairs: Vec<usize>,
    /// Positions of the inner restrictions that it answers.
    restrictions: Vec<usize>,
    /// The inner side is the left one.
    swap: bool,
    cost: f64,
}

/// The table, output columns, restrictions and residual of a scan.
struct ScanParts<'n> {
    table: &'n TableRef,
    columns: &'n [usize],
    restrictions: &'n [ScanRestriction],
}

impl<'n> ScanParts<'n> {
    fn of(node: &'n Node) -> Option<Self> {
        match &node.operator {
            Operator::Scan { table, columns, restrictions, .. } => {
                Some(Self { table, columns, restrictions })
            }
            _ => None,
        }
    }

    /// The position of a restriction of column `ordinal` that `fits`.
    fn find(&self, ordinal: usize, fits: fn(&ScanRestrictionKind) -> bool) -> Option<usize> {
        self.restrictions.iter().position(|restriction| {
            self.columns.get(restriction.column) == Some(&ordinal) && fits(&restriction.kind)
        })
    }
}

fn is_equality(kind: &ScanRestrictionKind) -> bool {
    matches!(kind, ScanRestrictionKind::Compare(CompareOp::Equal, _))
}

fn is_list(kind: &ScanRestrictionKind) -> bool {
    matches!(kind, ScanRestrictionKind::InList(_) | ScanRestrictionKind::InArray(_))
}

fn is_range(kind: &ScanRestrictionKind) -> bool {
    use CompareOp as C;
    matches!(
        kind,
        ScanRestrictionKind::Between { .. }
            | ScanRestrictionKind::Compare(
                C::Less | C::LessEqual | C::Greater | C::GreaterEqual,
                _
            )
    )
}

/// The bounds of a restriction that [`is_range`].
fn index_range(kind: &ScanRestrictionKind) -> Option<IndexRange> {
    use BoundKind::{Exclusive, Inclusive};
    Some(match kind {
        ScanRestrictionKind::Between { low, high } => {
            IndexRange { low: Some(low.clone()), high: Some(high.clone()) }
        }
        ScanRestrictionKind::Compare(op, bound) => {
            let low = |kind| IndexRange { low: Some((bound.clone(), kind)), high: None };
            let high = |kind| IndexRange { low: None, high: Some((bound.clone(), kind)) };
            match op {
                CompareOp::Greater => low(Exclusive),
                CompareOp::GreaterEqual => low(Inclusive),
                CompareOp::Less => high(Exclusive),
                CompareOp::LessEqual => high(Inclusive),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// Restrictions of a scan that `index` can answer; None without any. All rows of a partial index
/// are an answer.
fn access(at: usize, index: &IndexMeta, scan: &ScanParts<'_>, offer: &Offer) -> Option<Access> {
    let mut access = Access { index: at, ..Access::default() };
    for (at_column, column) in index.columns.iter().enumerate() {
        if let Some(ScanRestrictionKind::Compare(_, key)) =
            access.take(scan, offer, column.ordinal, is_equality)
        {
            access.keys.push(key.clone());
            continue;
        }
        if access.list.is_none()
            && let Some(kind) = access.take(scan, offer, column.ordinal, is_list)
        {
            access.list = Some(IndexList { at: at_column, values: kind.clone() });
            continue;
        }
        if index.kind == IndexKind::Ordered
            && access.list.is_none()
            && let Some(kind) = access.take(scan, offer, column.ordinal, is_range)
        {
            access.range = index_range(kind);
        }
        break;
    }
    let whole = access.keys.len() + usize::from(access.list.is_some()) == index.columns.len();
    let is_idle = access.used.is_empty() && access.expressions.is_empty() && !index.is_partial();
    if is_idle || (index.kind == IndexKind::Hash && !whole) {
        return None;
    }
    access.single = whole && index.unique != Uniqueness::No && access.list.is_none();
    Some(access)
}

impl Access {
    /// A restriction of the index column `ordinal` that `fits`, which the index answers.
    fn take<'s>(
        &mut self,
        scan: &ScanParts<'s>,
        offer: &'s Offer,
        ordinal: usize,
        fits: fn(&ScanRestrictionKind) -> bool,
    ) -> Option<&'s ScanRestrictionKind> {
        if let Some(position) = scan.find(ordinal, fits) {
            self.used.push(position);
            return Some(&scan.restrictions[position].kind);
        }
        let kind = offer.find(ordinal, fits)?;
        self.expressions.push(ordinal);
        Some(kind)
    }

    /// How often the index is descended.
    fn lookups(&self) -> f64 {
        match self.list.as_ref().map(|list| &list.values) {
            Some(ScanRestrictionKind::InList(items)) => items.len() as f64,
            Some(_) => cardinality::ARRAY_ELEMENTS,
            None => 1.0,
        }
    }
}

impl Lowering<'_, '_> {
    /// `lowered`, a scan of `narrow` under `predicate`, by an index where that costs less.
    pub(super) fn index_scan(
        &mut self,
        mut lowered: Lowered,
        narrow: &Plan,
        predicate: &Logical,
    ) -> Result<Lowered> {
        let Some(scan) = ScanParts::of(&lowered.node) else {
            return Ok(lowered);
        };
        if self.context.options.index_paths == IndexPaths::Avoid {
            return Ok(lowered);
        }
        let conjuncts = tree::conjuncts(predicate.clone());
        let estimator = &mut *self.estimator;
        let before = cardinality::derive(self.context, estimator, narrow, Vec::new());
        let mut best: Option<(f64, Access)> = None;
        for (at, index) in scan.table.indexes().iter().enumerate() {
            let Some(offer) = self.offer((scan.table, at, index), narrow, &conjuncts)? else {
                continue;
            };
            let Some(access) = access(at, index, &scan, &offer) else {
                continue;
            };
            let ids = access.used.iter().map(|&at| lowered.columns[scan.restrictions[at].column]);
            let ids: ColumnSet = ids.collect();
            let of_columns = |part: &&Logical| tree::mentioned(part).is_subset(&ids);
            let mut parts: Vec<Logical> = conjuncts.iter().filter(of_columns).cloned().collect();
            let answered = offer.answered(&access.expressions).into_iter();
            let further: Vec<Logical> = answered.filter(|part| !parts.contains(part)).collect();
            parts.extend(further);
            let rows = if access.single {
                1.0
            } else {
                let part = tree::and_all(parts);
                let (context, estimator) = (&mut *self.context, &mut *self.estimator);
                cardinality::filtered(context, estimator, narrow, &part, before.clone()).rows
            };
            // A single row is a bound, not an estimate: it is worth a little more.
            let lookups = access.lookups();
            let cost = if access.single { 0.0 } else { cost::index(lookups, rows) };
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, access));
            }
        }
        let prefer = self.context.options.index_paths == IndexPaths::Prefer;
        let cheaper = |(cost, _): &(f64, Access)| prefer || *cost < cost::scan(before.rows);
        let Some((_, access)) = best.filter(cheaper) else {
            return Ok(lowered);
        };
        if access.single {
            lowered.properties.rows = lowered.properties.rows.min(1.0);
            lowered.properties.rows_max = Some(1.0);
            lowered.node.rows = lowered.properties.rows;
        }
        apply(&mut lowered.node, access);
        Ok(lowered)
    }

    /// Makes a scan of which the first `rows` in the order of `sort` are wanted an index scan in
    /// that order, where that costs less: an index answers all conditions, so that each row found
    /// counts.
    pub(super) fn by_order(&mut self, node: &mut Node, sort: &[SortKey], rows: f64) -> bool {
        let Some(scan) = ScanParts::of(node) else {
            return false;
        };
        let whole = self.context.table(scan.table).rows;
        let is_cheaper = cost::index(1.0, rows) < cost::scan(whole);
        if self.context.options.index_paths == IndexPaths::Avoid || !is_cheaper {
            return false;
        }
        let Operator::Scan { residual: None, .. } = &node.operator else {
            return false;
        };
        let ordered = |index: &IndexMeta| index.kind == IndexKind::Ordered && !index.is_partial();
        let mut found = None;
        for (at, index) in scan.table.indexes().iter().enumerate().filter(|(_, i)| ordered(i)) {
            let none = Access { index: at, ..Access::default() };
            let access = access(at, index, &scan, &Offer::default()).unwrap_or(none);
            if access.used.len() == scan.restrictions.len() {
                let mut candidate = node.clone();
                apply(&mut candidate, access);
                if give_order(&mut candidate, sort) {
                    found = Some(candidate);
                    break;
                }
            }
        }
        found.is_some_and(|candidate| {
            *node = candidate;
            true
        })
    }

    /// The cheapest index join, when one is cheaper than a hash join.
    pub(super) fn index_choice(
        &mut self,
        join: &Join<'_>,
        left: &Lowered,
        right: &Lowered,
    ) -> Result<Option<JoinChoice>> {
        if self.context.options.index_paths == IndexPaths::Avoid {
            return Ok(None);
        }
        let mut best = match join.kind {
            Logic::Inner | Logic::Left | Logic::Semi | Logic::Anti | Logic::Single => {
                self.inner_by_index(join, left, right, false)?
            }
            _ => None,
        };
        if join.kind == Logic::Inner
            && let Some(other) = self.inner_by_index(join, right, left, true)?
            && best.as_ref().is_none_or(|best| other.cost < best.cost)
        {
            best = Some(other);
        }
        Ok(best)
    }

    fn inner_by_index(
        &mut self,
        join: &Join<'_>,
        outer: &Lowered,
        inner: &Lowered,
        swap: bool,
    ) -> Result<Option<JoinChoice>> {
        let scanned = as_scan(&inner.node);
        let Some(scan) = ScanParts::of(&scanned) else {
            return Ok(None);
        };
        let statistics = self.context.table(scan.table);
        let mut best: Option<JoinChoice> = None;
        let all = scan.table.indexes().iter().enumerate().filter(|(_, i)| !i.is_partial());
        for (at, index) in all {
            let mut choice = JoinChoice {
                index: at,
                keys: Vec::new(),
                pairs: Vec::new(),
                restrictions: Vec::new(),
                swap,
                cost: 0.0,
            };
            let mut matches = statistics.rows;
            for column in &index.columns {
                if !self.join_key(&mut choice, join, outer, inner, &scan, column.ordinal)? {
                    break;
                }
                let known = statistics.columns.get(column.ordinal);
                matches /= known.map_or(10.0, |known| known.distinct.max(1.0));
            }
            let whole = choice.keys.len() == index.columns.len();
            if choice.pairs.is_empty() || (index.kind == IndexKind::Hash && !whole) {
                continue;
            }
            if whole && index.unique != Uniqueness::No {
                matches = matches.min(1.0);
            }
            let rows = outer.properties.rows;
            choice.cost = cost::index(rows, rows * matches);
            if best.as_ref().is_none_or(|best| choice.cost < best.cost) {
                best = Some(choice);
            }
        }
        let (build, probe) = (inner.properties.rows, outer.properties.rows);
        let hashed = cost::hash_join(build, probe, false) + cost::scan(statistics.rows);
        let prefer = self.context.options.index_paths == IndexPaths::Prefer;
        Ok(best.filter(|best| prefer || best.cost < hashed))
    }

    /// Adds to `choice` the key for column `ordinal`: of a pair, or a constant.
    fn join_key(
        &mut self,
        choice: &mut JoinChoice,
        join: &Join<'_>,
        outer: &Lowered,
        inner: &Lowered,
        scan: &ScanParts<'_>,
        ordinal: usize,
    ) -> Result<bool> {
        for (at, (left, right, nulls)) in join.pairs.iter().enumerate() {
            let (over_outer, over_inner) = if choice.swap { (right, left) } else { (left, right) };
            let Some(id) = tree::as_column(over_inner) else {
                continue;
            };
            let (position, column) = inner.find(id)?;
            let fits = *nulls == NullKeys::Differ
                && scan.columns.get(position) == Some(&ordinal)
                && same_values(over_outer.ty, over_inner.ty);
            if !fits {
                continue;
            }
            let key = self.expr(over_outer, outer)?;
            let widens =
                key.physical == column.physical || column.physical == types::PhysicalType::I128;
            if widens {
                choice.keys.push(held_as(Expr { ty: column.ty, ..key }, column.physical));
                choice.pairs.push(at);
                return Ok(true);
            }
        }
        let Some(at) = scan.find(ordinal, is_equality) else {
            return Ok(false);
        };
        if let ScanRestrictionKind::Compare(_, key) = &scan.restrictions[at].kind {
            choice.keys.push(key.clone());
            choice.restrictions.push(at);
        }
        Ok(true)
    }

    pub(super) fn index_join(
        &mut self,
        join: Join<'_>,
        choice: JoinChoice,
        left: Lowered,
        right: Lowered,
    ) -> Result<Lowered> {
        let (outer, mut inner) = if choice.swap { (right, left) } else { (left, right) };
        if let Cow::Owned(scan) = as_scan(&inner.node) {
            inner.node = scan;
        }
        let kind = physical_kind(join.kind, false)?;
        let mut parts = join.rest.clone();
        for (at, (left, right, nulls)) in join.pairs.iter().enumerate() {
            if !choice.pairs.contains(&at) {
                let op = match nulls {
                    NullKeys::Differ => CompareOp::Equal,
                    NullKeys::Match => CompareOp::NotDistinct,
                };
                parts.push(Logical::compare(op, left.clone(), right.clone()));
            }
        }
        let condition = tree::and_all(parts);
        let mut residual = if tree::is_true(&condition) {
            None
        } else {
            Some(self.expr_in(&condition, &Scope::both(&outer, &inner))?)
        };
        let (ids, output, output_columns) = shape(kind, &join, &outer, &inner);
        let width = outer.columns.len();
        let Operator::Scan { table, columns, restrictions, residual: own, alias } =
            inner.node.operator
        else {
            return Err(types::Error::internal("an index join of something that is no scan"));
        };
        if let Some(mut own) = own {
            move_columns(&mut own, &|ordinal| ordinal + width);
            residual = Some(match residual {
                None => own,
                Some(other) => Expr {
                    ty: own.ty,
                    physical: own.physical,
                    kind: ExprKind::And(vec![own, other]),
                },
            });
        }
        let restrictions = without(restrictions, &choice.restrictions);
        let operator = Operator::IndexJoin {
            outer: Box::new(outer.node),
            table,
            index: choice.index,
            keys: choice.keys,
            columns,
            restrictions,
            kind,
            residual,
            output_columns,
            alias,
        };
        let node = self.node(operator, output, join.properties.rows);
        Ok(Lowered { node, columns: ids, properties: join.properties })
    }
}

/// `restrictions` but for those at the positions `used`.
fn without(restrictions: Vec<ScanRestriction>, used: &[usize]) -> Vec<ScanRestriction> {
    let kept = restrictions.into_iter().enumerate().filter(|(at, _)| !used.contains(at));
    kept.map(|(_, restriction)| restriction).collect()
}

/// Turns a scan into an index scan.
fn apply(node: &mut Node, access: Access) {
    let Operator::Scan { table, columns, restrictions, residual, alias } = &mut node.operator
    else {
        return;
    };
    node.operator = Operator::IndexScan {
        table: table.clone(),
        index: access.index,
        columns: std::mem::take(columns),
        keys: access.keys,
        list: access.list,
        range: access.range,
        restrictions: without(std::mem::take(restrictions), &access.used),
        residual: residual.take(),
        order: IndexOrder::Any,
        alias: alias.clone(),
    };
}

/// An index scan as the scan it was made of; other nodes as they are.
fn as_scan(node: &Node) -> Cow<'_, Node> {
    let Operator::IndexScan {
        table,
        index,
        columns,
        keys,
        list,
        range,
        restrictions,
        residual,
        alias,
        ..
    } = &node.operator
    else {
        return Cow::Borrowed(node);
    };
    let mut all = Vec::with_capacity(keys.len() + restrictions.len() + 1);
    if let Some(index) = table.indexes().get(*index) {
        let position = |at: usize| {
            let ordinal = index.columns.get(at)?.ordinal;
            columns.iter().position(|column| *column == ordinal)
        };
        for (at, key) in keys.iter().enumerate() {
            let at = at + usize::from(list.as_ref().is_some_and(|list| list.at <= at));
            if let Some(column) = position(at) {
                let kind = ScanRestrictionKind::Compare(CompareOp::Equal, key.clone());
                all.push(ScanRestriction { column, kind });
            }
        }
        if let Some(list) = list
            && let Some(column) = position(list.at)
        {
            all.push(ScanRestriction { column, kind: list.values.clone() });
        }
        if let (Some(range), Some(column)) = (range, position(keys.len())) {
            all.push(ScanRestriction { column, kind: range.restriction() });
        }
    }
    all.extend(restrictions.iter().cloned());
    let operator = Operator::Scan {
        table: table.clone(),
        columns: columns.clone(),
        restrictions: all,
        residual: residual.clone(),
        alias: alias.clone(),
    };
    Cow::Owned(Node { operator, output: node.output.clone(), ..*node })
}

impl IndexRange {
    /// The same bounds as a scan has them.
    pub(crate) fn restriction(&self) -> ScanRestrictionKind {
        let compare = |(bound, kind): &(Expr, BoundKind), ops: [CompareOp; 2]| {
            let op = if *kind == BoundKind::Inclusive { ops[1] } else { ops[0] };
            ScanRestrictionKind::Compare(op, bound.clone())
        };
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => {
                ScanRestrictionKind::Between { low: low.clone(), high: high.clone() }
            }
            (Some(low), None) => compare(low, [CompareOp::Greater, CompareOp::GreaterEqual]),
            (None, Some(high)) => compare(high, [CompareOp::Less, CompareOp::LessEqual]),
            (None, None) => ScanRestrictionKind::IsNotNull,
        }
    }
}

/// Makes an index scan give its rows in the order of `sort`, when its index has that order.
pub(super) fn give_order(node: &mut Node, sort: &[SortKey]) -> bool {
    let Operator::IndexScan { table, index, columns, keys, list: None, order, .. } =
        &mut node.operator
    else {
        return false;
    };
    let Some(index) = table.indexes().get(*index).filter(|i| i.kind == IndexKind::Ordered) else {
        return false;
    };
    let fixed: Vec<usize> = index.columns.iter().take(keys.len()).map(|c| c.ordinal).collect();
    let mut rest = index.columns.iter().skip(keys.len());
    let mut found: Option<IndexOrder> = None;
    for key in sort {
        let ExprKind::Column(at) = key.expr.kind else {
            return false;
        };
        let Some(ordinal) = columns.get(at) else {
            return false;
        };
        if fixed.contains(ordinal) {
            continue;
        }
        let Some(column) = rest.next().filter(|column| column.ordinal == *ordinal) else {
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
        let nullable = table.columns().get(*ordinal).is_none_or(|column| !column.not_null);
        if (nullable && nulls != key.nulls) || found.is_some_and(|found| found != wanted) {
            return false;
        }
        found = Some(wanted);
    }
    *order = found.unwrap_or(IndexOrder::Any);
    true
}

fn reversed(nulls: NullsOrder) -> NullsOrder {
    match nulls {
        NullsOrder::First => NullsOrder::Last,
        NullsOrder::Last => NullsOrder::First,
    }
}
