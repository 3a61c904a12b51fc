//! Disjunctions by index: each term has its way, and their rows together are those of the scan.
//!
//! ```text
//! (a, b) IN ((1, 2), (3, 4))   a = 1 AND b = 2 | a = 3 AND b = 4       two ways of one index
//! (a, b) > (5, 6)              a > 5 | a = 5 AND b > 6                 two ranges, in order
//! c = 5 OR d = 'x'             c = 5 | d = 'x'                         ways of two indexes
//! ```
//! Terms take the other conditions of the scan with them. Where the ways say exactly what the
//! disjunction says it goes; elsewhere it stays, to be tested of the rows found.

use sql::algebra::{ColumnId, Expr as Logical, ExprKind as LogicalKind, Function, LikeCase, Plan};
use sql::catalog::IndexKind;
use types::{CompareOp, DataType, Result, Value};

use super::elements::ElementConditions;
use super::index::{Access, Found, ScanParts, access};
use super::scan::merge_ranges;
use super::terms::Offer;
use super::{Lowered, Lowering};
use crate::column_set::ColumnSet;
use crate::fold::{fold, nearest};
use crate::physical::{Operator, ScanRestriction};
use crate::properties::Properties;
use crate::{cardinality, cost, tree};

/// Terms up to which a disjunction is looked at.
const TERMS_MAX: usize = 4096;
/// Terms whose rows are estimated; others are like those.
const ESTIMATED_MAX: usize = 8;

/// The conditions of a scan.
pub(super) struct Conditions<'a> {
    /// The scan without them.
    pub(super) narrow: &'a Plan,
    pub(super) conjuncts: &'a [Logical],
    /// Predicates that are no restrictions.
    pub(super) rest: &'a [Logical],
}

/// A disjunction among the conditions of a scan.
struct Disjunction<'a> {
    /// Its position among the conjuncts.
    at: usize,
    terms: Vec<Vec<Logical>>,
    lowered: &'a Lowered,
    before: Properties,
}

/// The way of one term.
struct TermWay {
    access: Access,
    /// The way says all that the term says.
    is_exact: bool,
    /// Positions of the scan's own restrictions that it answers, too.
    outer: Vec<usize>,
    rows: f64,
}

impl Lowering<'_, '_> {
    /// The cheapest ways to the rows of a disjunction among the conditions.
    pub(super) fn several_ways(
        &mut self,
        lowered: &Lowered,
        conditions: &Conditions<'_>,
    ) -> Result<Option<Found>> {
        let mut best: Option<Found> = None;
        for (at, part) in conditions.conjuncts.iter().enumerate() {
            if !matches!(part.kind, LogicalKind::Or(_)) || tree::is_volatile(part) {
                continue;
            }
            let Some(terms) = terms(&self.keyset(part, conditions.conjuncts)) else { continue };
            let (narrow, estimator) = (conditions.narrow, &mut *self.estimator);
            let before = cardinality::derive(self.context, estimator, narrow, Vec::new());
            let disjunction = Disjunction { at, terms, lowered, before };
            if let Some(found) = self.ways(&disjunction, conditions)?
                && best.as_ref().is_none_or(|best| found.cost < best.cost)
            {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// `a >= x AND (a > x OR p)` says `a > x OR a = x AND p` of the disjunction.
    fn keyset(&self, part: &Logical, conjuncts: &[Logical]) -> Logical {
        let LogicalKind::Or(terms) = &part.kind else { return part.clone() };
        for other in conjuncts {
            let LogicalKind::Compare(op, left, right) = &other.kind else { continue };
            let strict = match op {
                CompareOp::GreaterEqual => CompareOp::Greater,
                CompareOp::LessEqual => CompareOp::Less,
                _ => continue,
            };
            let strict = Logical {
                kind: LogicalKind::Compare(strict, left.clone(), right.clone()),
                ..other.clone()
            };
            if !terms.contains(&strict) {
                continue;
            }
            let equal = tree::compare(CompareOp::Equal, (**left).clone(), (**right).clone());
            let narrowed = terms.iter().map(|term| {
                if *term == strict {
                    term.clone()
                } else {
                    tree::and_all(vec![equal.clone(), term.clone()])
                }
            });
            return tree::or_all(narrowed.collect());
        }
        part.clone()
    }

    fn ways(
        &mut self,
        disjunction: &Disjunction<'_>,
        conditions: &Conditions<'_>,
    ) -> Result<Option<Found>> {
        let lowered = disjunction.lowered;
        let Operator::Scan { restrictions, .. } = &lowered.node.operator else {
            return Ok(None);
        };
        let (mut ways, mut used) = (Vec::new(), None);
        let (mut cost, mut is_exact, mut rows_known) = (0.0, true, 0.0);
        for number in 0..disjunction.terms.len() {
            let Some(term) = self.term_way(disjunction, number, conditions)? else {
                return Ok(None);
            };
            let rows = if number < ESTIMATED_MAX {
                rows_known += term.rows;
                term.rows
            } else {
                rows_known / ESTIMATED_MAX as f64
            };
            cost += cost::index(term.access.lookups(), rows);
            is_exact &= term.is_exact;
            let both =
                |all: Vec<usize>| all.into_iter().filter(|at| term.outer.contains(at)).collect();
            used = Some(used.map_or_else(|| term.outer.clone(), both));
            ways.push(term.access.way);
        }
        let mut used = used.unwrap_or_default();
        let mut residual = None;
        if is_exact {
            let part = &conditions.conjuncts[disjunction.at];
            if conditions.rest.contains(part) {
                let rest = conditions.rest.iter().filter(|other| *other != part).cloned();
                let rest: Vec<Logical> = rest.collect();
                let kept = (!rest.is_empty()).then(|| self.expr(&tree::and_all(rest), lowered));
                residual = Some(kept.transpose()?);
            } else if let Some(own) = self.restriction(part, lowered)? {
                used.extend(restrictions.iter().position(|other| *other == own));
            }
            used.extend(self.covered(disjunction, conditions, restrictions)?);
            used.sort_unstable();
            used.dedup();
        }
        Ok(Some(Found { ways, used, residual, cost, single: false }))
    }

    /// Positions of the restrictions that [`Self::keyset`] made a part of the disjunction.
    fn covered(
        &mut self,
        disjunction: &Disjunction<'_>,
        conditions: &Conditions<'_>,
        restrictions: &[ScanRestriction],
    ) -> Result<Vec<usize>> {
        let part = &conditions.conjuncts[disjunction.at];
        let mut covered = Vec::new();
        for (at, other) in conditions.conjuncts.iter().enumerate() {
            let alone = [other.clone()];
            if at != disjunction.at && self.keyset(part, &alone) != *part {
                // The first such condition is the one that was taken.
                let own = self.restriction(other, disjunction.lowered)?;
                covered.extend(own.and_then(|own| restrictions.iter().position(|r| *r == own)));
                break;
            }
        }
        Ok(covered)
    }

    /// The cheapest way to the rows of term `number`; None when no index finds them.
    fn term_way(
        &mut self,
        disjunction: &Disjunction<'_>,
        number: usize,
        conditions: &Conditions<'_>,
    ) -> Result<Option<TermWay>> {
        let (lowered, term) = (disjunction.lowered, &disjunction.terms[number]);
        let Operator::Scan { table, restrictions, .. } = &lowered.node.operator else {
            return Ok(None);
        };
        let (mut all, mut left_over) = (Vec::new(), 0);
        for part in term {
            match self.restriction(part, lowered)? {
                Some(restriction) => all.push(restriction),
                None => left_over += 1,
            }
        }
        merge_ranges(&mut all);
        let own = all.len();
        all.extend(restrictions.iter().cloned());
        let behind = all.len();
        for part in term.iter().chain(conditions.conjuncts) {
            all.extend(self.implied(part, lowered)?);
        }
        merge_from(&mut all, behind);
        let Some(scan) = ScanParts::of(&lowered.node) else { return Ok(None) };
        let scan = ScanParts { restrictions: &all, ..scan };
        let mut best: Option<(f64, TermWay)> = None;
        for (at, index) in table.indexes().iter().enumerate().filter(|(_, i)| i.terms.is_empty()) {
            let Some(access) = access(at, index, &scan, &Offer::default()) else { continue };
            let ids: ColumnSet =
                access.used.iter().map(|&at| lowered.columns[all[at].column]).collect();
            let rows = if access.single {
                1.0
            } else if number < ESTIMATED_MAX {
                let parts = term.iter().chain(conditions.conjuncts);
                let parts = parts.filter(|part| tree::mentioned(part).is_subset(&ids)).cloned();
                let part = tree::and_all(parts.collect());
                let (context, estimator) = (&mut *self.context, &mut *self.estimator);
                let before = disjunction.before.clone();
                cardinality::filtered(context, estimator, conditions.narrow, &part, before).rows
            } else {
                // The more is known of the key the fewer rows there are.
                1.0 / (1 + access.used.len()) as f64
            };
            let cost = if access.single { 0.0 } else { cost::index(access.lookups(), rows) };
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                let answered = (0..own).all(|at| access.used.contains(&at));
                let outer = access.used.iter().filter(|at| (own..behind).contains(*at));
                let outer = outer.map(|at| at - own).collect();
                best = Some((
                    cost,
                    TermWay { is_exact: answered && left_over == 0, outer, rows, access },
                ));
            }
        }
        if best.is_none() {
            best = self.term_by_elements(disjunction, number, conditions)?;
        }
        Ok(best.map(|(_, way)| way))
    }

    /// The cheapest way to the rows of term `number` by an inverted index, with its cost.
    fn term_by_elements(
        &mut self,
        disjunction: &Disjunction<'_>,
        number: usize,
        conditions: &Conditions<'_>,
    ) -> Result<Option<(f64, TermWay)>> {
        let (lowered, term) = (disjunction.lowered, &disjunction.terms[number]);
        let Operator::Scan { table, .. } = &lowered.node.operator else { return Ok(None) };
        let others = conditions.conjuncts.iter().enumerate();
        let others = others.filter(|(at, _)| *at != disjunction.at).map(|(_, part)| part);
        let parts: Vec<Logical> = term.iter().chain(others).cloned().collect();
        let (narrow, rows) = (conditions.narrow, disjunction.before.rows);
        let within = ElementConditions { narrow, conjuncts: &parts, rows };
        let mut best: Option<(f64, TermWay)> = None;
        for (at, index) in table.indexes().iter().enumerate() {
            if index.kind == IndexKind::Inverted
                && let Some((cost, access)) = self.by_elements(lowered, at, &within)?
                && best.as_ref().is_none_or(|(least, _)| cost < *least)
            {
                let rows = rows * cost::ELEMENT_SHARE;
                best = Some((cost, TermWay { is_exact: false, outer: Vec::new(), rows, access }));
            }
        }
        Ok(best)
    }

    /// Restrictions that follow from `part`, for indexes alone: the bounds of a prefix, or of local
    /// times around a moment.
    pub(super) fn implied(
        &mut self,
        part: &Logical,
        scan: &Lowered,
    ) -> Result<Vec<ScanRestriction>> {
        let mut found = Vec::new();
        let Some((id, bounds)) = bounds(part) else {
            return Ok(found);
        };
        let (column, output) = scan.find(id)?;
        let ty = output.ty;
        for (op, mut bound) in bounds {
            bound.ty = ty;
            fold(self.context.statistics, &mut bound);
            let test = tree::compare(op, tree::column(id, ty), bound);
            found.extend(self.direct(&test, ty)?.map(|kind| ScanRestriction { column, kind }));
        }
        Ok(found)
    }
}

/// A column and bounds that it has wherever `part` is true.
fn bounds(part: &Logical) -> Option<(ColumnId, Vec<(CompareOp, Logical)>)> {
    let (operand, prefix) = match &part.kind {
        LogicalKind::Compare(op, left, right) => return zoned(*op, left, right),
        LogicalKind::Like { operand, pattern, escape, case: LikeCase::Sensitive } => {
            let escape = escape.map(String::from).unwrap_or_default();
            let escape = tree::literal(Value::text(&escape), DataType::Text);
            (&**operand, call(Function::LikePrefix, vec![(**pattern).clone(), escape]))
        }
        LogicalKind::Call(Function::StartsWith, list) => {
            let [operand, prefix] = list.as_slice() else { return None };
            (operand, prefix.clone())
        }
        LogicalKind::Call(Function::RegexpMatch, list) => {
            let [operand, pattern] = list.as_slice() else { return None };
            let LogicalKind::Literal(Value::Str(pattern)) = &pattern.kind else { return None };
            let prefix = anchored(std::str::from_utf8(pattern).ok()?)?;
            (operand, tree::literal(Value::text(prefix), DataType::Text))
        }
        _ => return None,
    };
    let id = tree::as_column(operand_of_text(operand)).filter(|_| tree::is_constant(&prefix))?;
    let high = call(Function::AfterPrefix, vec![prefix.clone()]);
    Some((id, vec![(CompareOp::GreaterEqual, prefix), (CompareOp::Less, high)]))
}

/// Bounds of a column of local times or days that is compared with a moment.
fn zoned(
    op: CompareOp,
    left: &Logical,
    right: &Logical,
) -> Option<(ColumnId, Vec<(CompareOp, Logical)>)> {
    let (op, operand, moment) =
        if tree::is_constant(right) { (op, left, right) } else { (op.exchanged(), right, left) };
    let LogicalKind::Cast(inner) = &operand.kind else { return None };
    let is_local = matches!(inner.ty, DataType::Timestamp(_) | DataType::Date);
    let is_moment = |e: &Logical| matches!(e.ty, DataType::TimestampTz(_));
    if !is_local || !is_moment(operand) || !is_moment(moment) || !tree::is_constant(moment) {
        return None;
    }
    let ops: &[CompareOp] = match op {
        CompareOp::Equal => &[CompareOp::GreaterEqual, CompareOp::LessEqual],
        CompareOp::Less | CompareOp::LessEqual => &[CompareOp::LessEqual],
        CompareOp::Greater | CompareOp::GreaterEqual => &[CompareOp::GreaterEqual],
        _ => return None,
    };
    let bound = |&op: &CompareOp| nearest(op, moment.clone(), inner.ty);
    Some((tree::as_column(inner)?, ops.iter().map(bound).collect()))
}

/// The text with which all texts start that a regular expression matches, if it says so plainly.
fn anchored(pattern: &str) -> Option<&str> {
    let rest = pattern.strip_prefix('^')?;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/' | ':' | ',');
    let end = rest.find(|c| !is_plain(c)).unwrap_or(rest.len());
    let (plain, behind) = rest.split_at(end);
    // The last character may be left out, or be one of two.
    let kept = match behind.chars().next() {
        Some('*' | '?' | '{') => plain.char_indices().next_back().map_or(0, |(at, _)| at),
        _ => end,
    };
    let is_whole = kept > 0 && !pattern.contains('|');
    is_whole.then(|| &plain[..kept])
}

fn call(function: Function, arguments: Vec<Logical>) -> Logical {
    Logical { kind: LogicalKind::Call(function, arguments), ty: DataType::Text }
}

/// A text before it was made one of another type that has the same values.
fn operand_of_text(operand: &Logical) -> &Logical {
    let plain = |ty: DataType| ty.is_text() && !matches!(ty, DataType::Char(_));
    match &operand.kind {
        LogicalKind::Cast(inner) if plain(inner.ty) && plain(operand.ty) => operand_of_text(inner),
        _ => operand,
    }
}

/// Merges bounds of one column at `from` and behind.
pub(super) fn merge_from(restrictions: &mut Vec<ScanRestriction>, from: usize) {
    let mut tail = restrictions.split_off(from);
    merge_ranges(&mut tail);
    restrictions.extend(tail);
}

/// The terms of a disjunction, each a conjunction; None when there are too many.
fn terms(expr: &Logical) -> Option<Vec<Vec<Logical>>> {
    match &expr.kind {
        LogicalKind::Or(terms) => {
            let mut all = Vec::with_capacity(terms.len());
            for term in terms {
                all.extend(self::terms(term)?);
                if all.len() > TERMS_MAX {
                    return None;
                }
            }
            Some(all)
        }
        LogicalKind::And(parts) => {
            let mut all = vec![Vec::new()];
            for part in parts {
                let more = self::terms(part)?;
                if all.len() * more.len() > TERMS_MAX {
                    return None;
                }
                let with = |one: &Vec<Logical>| {
                    more.iter().map(|other| [&one[..], &other[..]].concat()).collect::<Vec<_>>()
                };
                all = all.iter().flat_map(with).collect();
            }
            Some(all)
        }
        _ => Some(vec![vec![expr.clone()]]),
    }
}
