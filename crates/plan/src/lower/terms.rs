//! Restrictions of a scan that indexes over expressions, and of some rows only, can answer.
//!
//! ```text
//! index (lower(a)) where b > 0;  scan where lower(a) = 'x' and b > 5
//! expression = part of a conjunct -> column INDEX_EXPRESSION + i = 'x', a restriction like others
//! predicate implied by the conjuncts -> the index has all rows that are wanted
//! ```
//! Terms are folded and normalised as conjuncts are, so that equal expressions are equal trees.
//! Conditions that an index answers stay with the scan, too: they are tested of the few rows that
//! are found.

use sql::algebra::{ColumnId, Expr as Logical, Plan};
use sql::catalog::{BoundTerms, INDEX_EXPRESSION, TableRef};
use types::Result;

use super::Lowering;
use super::scan::merge_ranges;
use crate::fold::fold;
use crate::physical::{ScanRestriction, ScanRestrictionKind};
use crate::tree::{self, Renaming};

/// Restrictions that the terms of an index can answer.
#[derive(Default)]
pub(super) struct Offer {
    /// Restrictions of expressions, whose `column` is the number of the expression.
    pub(super) restrictions: Vec<ScanRestriction>,
    /// Conjuncts that they come from, by expression.
    conjuncts: Vec<(usize, Logical)>,
    /// Conditions that are true of all rows of the index.
    pub(super) predicate: Vec<Logical>,
}

impl Offer {
    /// The position of a restriction of the index column `ordinal` that `fits`.
    pub(super) fn find(
        &self,
        ordinal: usize,
        fits: fn(&ScanRestrictionKind) -> bool,
    ) -> Option<&ScanRestrictionKind> {
        let number = ordinal.checked_sub(INDEX_EXPRESSION)?;
        let mut of_it = self.restrictions.iter().filter(|r| r.column == number);
        of_it.find(|restriction| fits(&restriction.kind)).map(|restriction| &restriction.kind)
    }

    /// The conjuncts about the expressions at these ordinals, and what is true of all rows.
    pub(super) fn answered(&self, ordinals: &[usize]) -> Vec<Logical> {
        let is_used = |number: usize| ordinals.contains(&(INDEX_EXPRESSION + number));
        let used = self.conjuncts.iter().filter(|(number, _)| is_used(*number));
        used.map(|(_, part)| part).chain(&self.predicate).cloned().collect()
    }
}

impl Lowering<'_, '_> {
    /// Restrictions that the index at position `at` of `table` can answer of the scan `narrow`
    /// under `conjuncts` by its terms; None when it lacks rows that the scan may want.
    pub(super) fn offer(
        &mut self,
        table: &TableRef,
        at: usize,
        narrow: &Plan,
        conjuncts: &[Logical],
    ) -> Result<Option<Offer>> {
        if table.indexes()[at].terms.is_empty() {
            return Ok(Some(Offer::default()));
        }
        match (table.index_terms(at), narrow) {
            (Some(terms), Plan::Scan { columns, .. }) => self.offer_of(terms, columns, conjuncts),
            _ => Ok(None),
        }
    }

    /// As [`Self::offer`], for an index with these terms and a scan of these columns.
    pub(super) fn offer_of(
        &mut self,
        terms: &BoundTerms,
        columns: &[(ColumnId, usize)],
        conjuncts: &[Logical],
    ) -> Result<Option<Offer>> {
        let mut offer = Offer::default();
        let ids: Renaming =
            columns.iter().map(|&(id, ordinal)| (row_column(ordinal), id)).collect();
        if let Some(predicate) = &terms.predicate {
            let Some(predicate) = self.over_scan(predicate, &ids) else { return Ok(None) };
            if !sql::implies(conjuncts, &predicate) {
                return Ok(None);
            }
            offer.predicate = tree::conjuncts(predicate);
        }
        let normal: Vec<Logical> = conjuncts.iter().map(sql::normalised).collect();
        for (number, expression) in terms.expressions.iter().enumerate() {
            let Some(expression) = self.over_scan(expression, &ids) else { continue };
            let expression = sql::normalised(&expression);
            let stand_in = tree::column(self.context.fresh(), expression.ty);
            for (part, normal) in conjuncts.iter().zip(&normal) {
                let mut replaced = normal.clone();
                replace(&mut replaced, &expression, &stand_in);
                let found = if replaced == *normal {
                    None
                } else {
                    self.of_stand_in(&replaced, &stand_in)?
                };
                if let Some(kind) = found {
                    offer.restrictions.push(ScanRestriction { column: number, kind });
                    offer.conjuncts.push((number, part.clone()));
                }
            }
        }
        merge_ranges(&mut offer.restrictions);
        Ok(Some(offer))
    }

    /// A term over the columns of a scan, folded; None when it reads others.
    pub(super) fn over_scan(&self, term: &Logical, ids: &Renaming) -> Option<Logical> {
        if tree::mentioned(term).iter().any(|id| !ids.contains_key(&id)) {
            return None;
        }
        let mut term = term.clone();
        tree::rename_expr(&mut term, ids);
        fold(self.context.statistics, &mut term);
        Some(term)
    }

    /// A conjunct in which `stand_in` stands for the expression as a restriction of it.
    fn of_stand_in(
        &mut self,
        part: &Logical,
        stand_in: &Logical,
    ) -> Result<Option<ScanRestrictionKind>> {
        let mentioned = tree::mentioned(part);
        let is_of_it = tree::as_column(stand_in).is_some_and(|id| mentioned.contains(id));
        if mentioned.len() != 1 || !is_of_it || tree::is_volatile(part) {
            return Ok(None);
        }
        self.direct(part, stand_in.ty)
    }
}

/// How terms name the column with this ordinal.
pub(super) fn row_column(ordinal: usize) -> ColumnId {
    ColumnId(u32::try_from(ordinal).unwrap_or(u32::MAX))
}

/// Puts `by` into the place of every `wanted` in `expr`.
fn replace(expr: &mut Logical, wanted: &Logical, by: &Logical) {
    if expr == wanted {
        *expr = by.clone();
        return;
    }
    tree::operands_mut(expr, &mut |operand| replace(operand, wanted, by));
}
