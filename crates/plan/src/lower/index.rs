//! Index paths: scans and joins that find their rows by an index where that costs less.
//!
//! ```text
//! Scan where a = 1 and b > 2 and c = 3  -- index (a, b) -> IndexScan a = 1, b > 2, where c = 3
//! outer join Scan on a = o.x            -- index (a)    -> IndexJoin a = o.x
//! ```
//! Only columns without a computation on them are looked up; NULLs never match, so conditions
//! with IS NOT DISTINCT FROM stay where they are.
//!
//! Elsewhere: disjunctions, of which each term has its way (`ways`), rows in the order of an index
//! (`in_order`).

use std::sync::Arc;

use sql::algebra::{Expr as Logical, ExprKind as LogicalKind, JoinKind as Logic, Plan};
use sql::catalog::{IndexKind, IndexMeta, TableRef, Uniqueness};
use types::{CompareOp, Result};

use super::considered::Weighed;
use super::elements::ElementConditions;
use super::expr::{self, Scope, held_as};
use super::join::{Join, physical_kind, shape};
use super::scan::{fitted, move_columns};
use super::terms::Offer;
use super::ways::{Conditions, merge_from};
use super::{Lowered, Lowering};
use crate::column_set::ColumnSet;
use crate::physical::{
    BoundKind, Expr, ExprKind, HashInstead, IndexList, IndexOrder, IndexRange, IndexWay, JoinKey,
    Node, NullKeys, Operator, ScanRestriction, ScanRestrictionKind,
};
use crate::{IndexJoinCost, IndexPaths, cardinality, cost, tree};

/// How an index answers a scan.
pub(super) struct Access {
    pub(super) way: IndexWay,
    /// Positions of the restrictions that it answers.
    pub(super) used: Vec<usize>,
    /// Ordinals of the expressions of which it answers something.
    pub(super) expressions: Vec<usize>,
    /// At most one row has the key.
    pub(super) single: bool,
}

/// Node in the place of a scan.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) ways: Vec<IndexWay>,
    /// Positions of the restrictions that all ways answer.
    pub(super) used: Vec<usize>,
    /// The residual, when it is another one.
    pub(super) residual: Option<Option<Expr>>,
    pub(super) cost: f64,
    /// At most one row is found.
    pub(super) single: bool,
}

/// A join and its inputs.
#[derive(Clone, Copy)]
struct JoinInputs<'a, 'n> {
    join: &'a Join<'n>,
    outer: &'a Lowered,
    inner: &'a Lowered,
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
    /// At most one inner row has the key.
    single: bool,
    pub(super) cost: f64,
}

/// The table, output columns, restrictions and residual of a scan.
pub(super) struct ScanParts<'n> {
    pub(super) table: &'n TableRef,
    pub(super) columns: &'n [usize],
    pub(super) restrictions: &'n [ScanRestriction],
}

impl<'n> ScanParts<'n> {
    pub(super) fn of(node: &'n Node) -> Option<Self> {
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
            | ScanRestrictionKind::IsNotNull
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
        ScanRestrictionKind::IsNotNull => IndexRange { low: None, high: None },
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

/// Part of a scan that `index` can answer; None when that is nothing. All rows of a partial index
/// are an answer.
pub(super) fn access(
    at: usize,
    index: &IndexMeta,
    scan: &ScanParts<'_>,
    offer: &Offer,
) -> Option<Access> {
    if !index.kind.has_keys() {
        return None;
    }
    let mut access = Access::any(at);
    for (at_column, column) in index.columns.iter().enumerate() {
        if let Some(ScanRestrictionKind::Compare(_, key)) =
            access.take(scan, offer, column.ordinal, is_equality)
        {
            access.way.keys.push(key.clone());
            continue;
        }
        if access.way.list.is_none()
            && let Some(kind) = access.take(scan, offer, column.ordinal, is_list)
        {
            access.way.list = Some(IndexList { at: at_column, values: kind.clone() });
            continue;
        }
        if index.kind == IndexKind::Ordered
            && access.way.list.is_none()
            && let Some(kind) = access.take(scan, offer, column.ordinal, is_range)
        {
            access.way.range = index_range(kind);
        }
        break;
    }
    let lists = usize::from(access.way.list.is_some());
    let whole = access.way.keys.len() + lists == index.columns.len();
    let is_idle = access.used.is_empty() && access.expressions.is_empty() && !index.is_partial();
    if is_idle || (index.kind == IndexKind::Hash && !whole) {
        return None;
    }
    access.single = whole && index.unique != Uniqueness::No && lists == 0;
    Some(access)
}

impl Access {
    /// All rows of the index at position `at`.
    pub(super) fn any(index: usize) -> Self {
        let (keys, elements) = (Vec::new(), Vec::new());
        let way = IndexWay { index, keys, list: None, range: None, elements, near: None };
        Self { way, used: Vec::new(), expressions: Vec::new(), single: false }
    }

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
    pub(super) fn lookups(&self) -> f64 {
        match self.way.list.as_ref().map(|list| &list.values) {
            Some(ScanRestrictionKind::InList(items)) => items.len() as f64,
            Some(_) => cardinality::ARRAY_ELEMENTS,
            None => 1.0,
        }
    }
}

impl Lowering<'_, '_> {
    /// `lowered`, a scan of `narrow` under `predicate`, by indexes where that costs less. Of the
    /// predicate, `rest` is the scan's residual.
    pub(super) fn index_scan(
        &mut self,
        mut lowered: Lowered,
        narrow: &Plan,
        predicate: &Logical,
        rest: &[Logical],
    ) -> Result<Lowered> {
        if self.context.options.index_paths == IndexPaths::Avoid {
            self.consider(lowered.node.id, || "path by index: none, index_paths is off".to_owned());
            return Ok(lowered);
        }
        let Some(scan) = ScanParts::of(&lowered.node).filter(|s| !s.table.indexes().is_empty())
        else {
            return Ok(lowered);
        };
        let whole = self.context.table(scan.table).rows.max(1.0);
        let conjuncts = tree::conjuncts(predicate.clone());
        self.consider_scan(lowered.node.id, whole);
        let one = self.one_way(&lowered, narrow, &conjuncts)?;
        let conditions = Conditions { narrow, conjuncts: &conjuncts, rest };
        let partial = self.partial_ways(&lowered, &conditions)?;
        if !partial.is_empty() {
            self.untaken.insert(lowered.node.id, partial);
        }
        let several = self.several_ways(&lowered, &conditions)?;
        if let Some(Found { ways, cost, .. }) = &several {
            let line = || format!("path of {} ways: cost {cost:.0}", ways.len());
            self.consider(lowered.node.id, line);
        }
        let prefer = self.context.options.index_paths == IndexPaths::Prefer;
        let worth = if prefer { f64::INFINITY } else { cost::scan(whole) };
        let is_one = match (&one, &several) {
            (Some(one), Some(several)) => one.cost <= several.cost,
            (one, _) => one.is_some(),
        };
        let least = if is_one { one } else { several.clone() };
        // What is not known yet is counted before it is read; rows of one hash key are not.
        let is_counted = |way: &IndexWay| {
            let index = &scan.table.indexes()[way.index];
            index.kind != IndexKind::Hash || index.unique != Uniqueness::No
        };
        let is_late = |ways: &[IndexWay]| ways.iter().all(is_counted) && !ways.iter().all(is_known);
        let is_taken = |found: &Found| found.cost < worth || is_late(&found.ways);
        let Some(found) = least.filter(is_taken) else {
            if let Some(several) = several {
                self.untaken.entry(lowered.node.id).or_default().push(several);
            }
            return Ok(lowered);
        };
        if found.single {
            lowered.properties.rows = lowered.properties.rows.min(1.0);
            lowered.properties.rows_max = Some(1.0);
            lowered.node.rows = lowered.properties.rows;
        }
        let is_inverted = found.ways.iter().any(|way| !way.elements.is_empty());
        let most = if is_inverted { cost::candidates_max } else { cost::entries_max };
        let entries_max = (!prefer).then(|| most(whole));
        apply(&mut lowered.node, found, entries_max);
        Ok(lowered)
    }

    /// The cheapest index that answers a conjunction of restrictions.
    fn one_way(
        &mut self,
        lowered: &Lowered,
        narrow: &Plan,
        conjuncts: &[Logical],
    ) -> Result<Option<Found>> {
        let Operator::Scan { restrictions, .. } = &lowered.node.operator else {
            return Ok(None);
        };
        let mut all = restrictions.clone();
        for part in conjuncts {
            all.extend(self.implied(part, lowered)?);
        }
        merge_from(&mut all, restrictions.len());
        let Some(scan) =
            ScanParts::of(&lowered.node).map(|s| ScanParts { restrictions: &all, ..s })
        else {
            return Ok(None);
        };
        let estimator = &mut *self.estimator;
        let before = cardinality::derive(self.context, estimator, narrow, Vec::new());
        let mut best: Option<(f64, Access)> = None;
        for (at, index) in scan.table.indexes().iter().enumerate() {
            if index.kind == IndexKind::Inverted {
                let conditions = ElementConditions { narrow, conjuncts, rows: before.rows };
                if let Some((cost, access)) = self.by_elements(lowered, at, &conditions)?
                    && best.as_ref().is_none_or(|(least, _)| cost < *least)
                {
                    best = Some((cost, access));
                }
                continue;
            }
            let Some(offer) = self.offer(scan.table, at, narrow, conjuncts)? else {
                self.consider_partial(lowered.node.id, index);
                continue;
            };
            let Some(access) = access(at, index, &scan, &offer) else {
                self.consider_idle(lowered.node.id, scan.table, index);
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
            self.consider_index(lowered.node.id, index, &Weighed { lookups, rows, cost });
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, access));
            }
        }
        Ok(best.map(|(cost, mut access)| {
            access.used.retain(|&at| at < restrictions.len());
            let Access { way, used, single, .. } = access;
            Found { ways: vec![way], used, residual: None, cost, single }
        }))
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

    pub(super) fn inner_by_index(
        &mut self,
        join: &Join<'_>,
        outer: &Lowered,
        inner: &Lowered,
        swap: bool,
    ) -> Result<Option<JoinChoice>> {
        let Some(scan) = ScanParts::of(as_scan(&inner.node)) else {
            return Ok(None);
        };
        let statistics = self.context.table(scan.table);
        let mut best: Option<JoinChoice> = None;
        let is_looked_up = |i: &IndexMeta| !i.is_partial() && i.kind.has_keys();
        let all = scan.table.indexes().iter().enumerate().filter(|(_, i)| is_looked_up(i));
        for (at, index) in all {
            let mut choice = JoinChoice {
                index: at,
                keys: Vec::new(),
                pairs: Vec::new(),
                restrictions: Vec::new(),
                swap,
                single: false,
                cost: 0.0,
            };
            let mut matches = statistics.rows;
            let inputs = JoinInputs { join, outer, inner };
            for column in &index.columns {
                if !self.join_key(&mut choice, inputs, &scan, column.ordinal)? {
                    break;
                }
                let known = statistics.columns.get(column.ordinal);
                matches /= known.map_or(10.0, |known| known.distinct.max(1.0));
            }
            let whole = choice.keys.len() == index.columns.len();
            if choice.pairs.is_empty() || (index.kind == IndexKind::Hash && !whole) {
                self.consider_idle(inner.node.id, scan.table, index);
                continue;
            }
            if whole && index.unique != Uniqueness::No {
                choice.single = true;
                matches = matches.min(1.0);
            }
            let rows = outer.properties.rows;
            choice.cost = cost::index(rows, rows * matches);
            let weighed = Weighed { lookups: rows, rows: rows * matches, cost: choice.cost };
            self.consider_index(inner.node.id, index, &weighed);
            if best.as_ref().is_none_or(|best| choice.cost < best.cost) {
                best = Some(choice);
            }
        }
        let (build, probe) = (inner.properties.rows, outer.properties.rows);
        let hashed = cost::hash_join(build, probe, false) + cost::scan(statistics.rows);
        if best.is_some() {
            self.consider(inner.node.id, || format!("path hash join: cost {hashed:.0}"));
        }
        let prefer = self.context.options.index_paths == IndexPaths::Prefer;
        Ok(best.filter(|best| prefer || best.cost < hashed))
    }

    /// Adds to `choice` the key for column `ordinal`: of a pair, or a constant.
    fn join_key(
        &mut self,
        choice: &mut JoinChoice,
        JoinInputs { join, outer, inner }: JoinInputs<'_, '_>,
        scan: &ScanParts<'_>,
        ordinal: usize,
    ) -> Result<bool> {
        for (at, (left, right, nulls)) in join.pairs.iter().enumerate() {
            let (over_outer, over_inner) = if choice.swap { (right, left) } else { (left, right) };
            let column = match &over_inner.kind {
                LogicalKind::Cast(inner) => tree::as_column(inner),
                _ => tree::as_column(over_inner),
            };
            let Some(id) = column.filter(|_| *nulls == NullKeys::Differ) else {
                continue;
            };
            let (position, column) = inner.find(id)?;
            if scan.columns.get(position) != Some(&ordinal) {
                continue;
            }
            let (ty, physical) = (column.ty, column.physical);
            let wider = |key: &Logical| {
                let widens = physical == types::PhysicalType::I128;
                widens || key.ty.physical() == physical
            };
            let fitted = fitted(CompareOp::Equal, over_inner, over_outer.clone(), ty);
            let Some((_, key)) = fitted.filter(|(_, key)| wider(key)) else {
                continue;
            };
            let key = self.expr(&key, outer)?;
            if key.physical == physical || physical == types::PhysicalType::I128 {
                choice.keys.push(held_as(Expr { ty, ..key }, physical));
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
        if let Operator::IndexScan { scan, .. } = inner.node.operator {
            inner.node = *scan;
        }
        let kind = physical_kind(join.kind, false)?;
        let instead = self.instead(&join, &choice, &outer, &inner)?;
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
        let inner_id = inner.node.id;
        let Operator::Scan { table, columns, restrictions, residual: own, alias, .. } =
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
            instead,
            alias,
        };
        let node = self.node(operator, output, join.properties.rows);
        self.consider_as(inner_id, node.id);
        Ok(Lowered { node, columns: ids, properties: join.properties })
    }

    /// The hash join that an index join by `choice` goes over to; None where that cannot pay.
    fn instead(
        &mut self,
        join: &Join<'_>,
        choice: &JoinChoice,
        outer: &Lowered,
        inner: &Lowered,
    ) -> Result<Option<Arc<HashInstead>>> {
        let Some(scan) = ScanParts::of(&inner.node) else {
            return Ok(None);
        };
        let whole = self.context.table(scan.table).rows;
        let cost_max = match self.context.options.index_join_cost {
            IndexJoinCost::At(cost) => cost,
            _ if self.context.options.index_paths == IndexPaths::Prefer => return Ok(None),
            IndexJoinCost::ByBuild => {
                let cost_max = cost::patience(whole, inner.properties.rows);
                let rows = outer.properties.rows_max.filter(|_| choice.single);
                if rows.is_some_and(|rows| cost::index(rows, rows) < cost_max as f64) {
                    return Ok(None);
                }
                cost_max
            }
        };
        let mut keys = Vec::with_capacity(join.pairs.len());
        for (left, right, nulls) in &join.pairs {
            let (probe, build) = if choice.swap { (right, left) } else { (left, right) };
            let (probe, build) = (self.expr(probe, outer)?, self.expr(build, inner)?);
            let (probe, build) = expr::unified(probe, build);
            keys.push(JoinKey { probe, build, nulls: *nulls });
        }
        let condition = tree::and_all(join.rest.clone());
        let is_more = !tree::is_true(&condition);
        let scope = Scope::both(outer, inner);
        let residual = is_more.then(|| self.expr_in(&condition, &scope)).transpose()?;
        self.consider(inner.node.id, || format!("goes over to a hash join at cost {cost_max}"));
        Ok(Some(Arc::new(HashInstead { scan: inner.node.clone(), keys, residual, cost_max })))
    }
}

/// True when the values of a way are known before the query runs.
fn is_known(way: &IndexWay) -> bool {
    let bounds = way.range.iter().flat_map(|range| [&range.low, &range.high]).flatten();
    let listed: &[Expr] = match way.list.as_ref().map(|list| &list.values) {
        Some(ScanRestrictionKind::InList(items)) => items,
        Some(ScanRestrictionKind::InArray(array)) => std::slice::from_ref(array),
        _ => &[],
    };
    let mut all = way.keys.iter().chain(listed).chain(bounds.map(|(bound, _)| bound));
    // How many rows have an element is known when the index is looked at.
    way.elements.is_empty() && all.all(|expr| matches!(expr.kind, ExprKind::Literal(_)))
}

/// `restrictions` but for those at the positions `used`.
fn without(restrictions: Vec<ScanRestriction>, used: &[usize]) -> Vec<ScanRestriction> {
    let kept = restrictions.into_iter().enumerate().filter(|(at, _)| !used.contains(at));
    kept.map(|(_, restriction)| restriction).collect()
}

/// Turns a scan into an index scan.
pub(super) fn apply(node: &mut Node, found: Found, entries_max: Option<u64>) {
    let Operator::Scan { table, columns, restrictions, residual, alias, .. } = &node.operator
    else {
        return;
    };
    let operator = Operator::IndexScan {
        table: table.clone(),
        columns: columns.clone(),
        ways: found.ways,
        restrictions: without(restrictions.clone(), &found.used),
        residual: found.residual.unwrap_or_else(|| residual.clone()),
        order: IndexOrder::Any,
        entries_max,
        alias: alias.clone(),
        scan: Box::new(node.clone()),
    };
    node.operator = operator;
}

/// The scan that an index scan stands for; other nodes as they are.
pub(super) fn as_scan(node: &Node) -> &Node {
    match &node.operator {
        Operator::IndexScan { scan, .. } => scan,
        _ => node,
    }
}
