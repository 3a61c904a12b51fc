//! ON CONFLICT: the unique indexes that count, and what DO UPDATE assigns.

use std::collections::HashMap;

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::cte::Definition;
use super::index::column_named;
use super::name::{expr_at, ident_at, object_at};
use super::scope::{Clause, Scope, ScopeColumn, ScopeRelation, Whole};
use super::select::filter;
use super::view_target::WriteKind;
use super::write::Target;
use super::{Binder, Bound, BoundQuery, fail, place, unsupported};
use crate::algebra::{ColumnId, Expr, ExprKind, InputColumn, Place, Plan};
use crate::catalog::{BoundTerms, IndexMeta, KeyDef, TableRef, Uniqueness};
use crate::implication::{implies, normalised};
use crate::parse::{Inference, folded};
use crate::statement::{
    ArbiterCandidate, ConflictAction, ConflictTarget, OnConflict, OpenTarget, Privilege,
};

/// ON CONFLICT, bound but for its parameters.
pub(super) struct BoundConflict {
    target: Option<ConflictTarget>,
    /// Columns assigned, and the query that computes them.
    update: Option<(Vec<usize>, BoundQuery)>,
}

impl Binder<'_> {
    pub(super) fn bind_conflict(
        &mut self,
        conflict: &ast::OnConflict,
        target: &Target,
        at: Place,
    ) -> Result<BoundConflict> {
        let key = match &conflict.conflict_target {
            None if target.table.keys().iter().any(|key| key.deferral.is_deferrable()) => {
                return deferrable_arbiter(at);
            }
            None => None,
            Some(named) => {
                let found = self.conflict_target(target, named)?;
                self.note_arbiters(target, &found);
                Some(found)
            }
        };
        let target_table = &target.table;
        // What EXCLUDE made is not inferred, so it is never among those of an open target.
        let excludes = |target: &ConflictTarget| {
            let mut indexes = target.indexes.iter();
            indexes.any(|index| target_table.indexes().get(*index).is_some_and(IndexMeta::excludes))
        };
        let update = match &conflict.action {
            ast::OnConflictAction::DoNothing => None,
            ast::OnConflictAction::DoUpdate(_) if key.is_none() => {
                let message =
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                let error = Error::new(SqlState::SYNTAX_ERROR, message)
                    .with_hint("For example, ON CONFLICT (column_name).");
                return Err(place(error, at));
            }
            ast::OnConflictAction::DoUpdate(_) if key.as_ref().is_some_and(excludes) => {
                let message = "ON CONFLICT DO UPDATE not supported with exclusion constraints";
                return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
            }
            ast::OnConflictAction::DoUpdate(update) => Some(
                self.in_level(Clause::Update, |binder| binder.conflict_update(update, target))?,
            ),
        };
        Ok(BoundConflict { target: key, update })
    }

    /// The statement reads the columns of the indexes that a conflict target names.
    fn note_arbiters(&mut self, target: &Target, found: &ConflictTarget) {
        let open = found.open.iter().flat_map(|open| &open.candidates);
        let open = open.map(|candidate| candidate.index);
        for at in found.indexes.iter().copied().chain(open) {
            let Some(index) = target.table.indexes().get(at) else { continue };
            let plain = index.columns.iter().filter(|column| column.expression().is_none());
            let mut ordinals: Vec<usize> = plain.map(|column| column.ordinal).collect();
            ordinals.extend(target.table.index_terms(at).into_iter().flat_map(BoundTerms::reads));
            for ordinal in ordinals {
                let position = match &target.view {
                    Some(view) => view.position(ordinal),
                    None => Some(ordinal),
                };
                let column = position.and_then(|at| target.relation.columns.get(at));
                self.note_read(column.and_then(|column| column.source));
            }
        }
    }

    /// The unique indexes that a conflict target names.
    fn conflict_target(
        &mut self,
        target: &Target,
        named: &ast::ConflictTarget,
    ) -> Result<ConflictTarget> {
        let table = &target.table;
        let indexes = match named {
            ast::ConflictTarget::OnConstraint(name) => vec![constraint_index(table, name)?],
            ast::ConflictTarget::Columns(names) => {
                let wanted = self.arbiter(target, names)?;
                if table.keys().iter().any(|key| wanted.is_late(key)) {
                    return deferrable_arbiter(None);
                }
                let all = 0..table.indexes().len();
                let found: Vec<_> = all.filter_map(|at| wanted.candidate(table, at)).collect();
                let given: Vec<Expr> = wanted.given.into_iter().collect();
                let is_meant = |candidate: &&ArbiterCandidate| {
                    candidate.predicate.as_ref().is_none_or(|it| implies(&given, it))
                };
                let meant = found.iter().filter(is_meant);
                let meant: Vec<usize> = meant.map(|candidate| candidate.index).collect();
                let is_open = meant.is_empty() || given.iter().any(has_parameter);
                if is_open
                    && !found.is_empty()
                    && let Some(given) = given.first()
                {
                    let open = Some(OpenTarget { given: given.clone(), candidates: found });
                    return Ok(ConflictTarget { indexes: Vec::new(), open });
                }
                meant
            }
        };
        ConflictTarget::of(indexes)
    }

    /// Columns and expressions of the unique index that a target means.
    fn arbiter(&mut self, target: &Target, names: &[ast::Ident]) -> Result<Arbiter> {
        let table = &target.table;
        let column_named = |ident: &ast::Ident| match &target.view {
            None => column_named(table, ident),
            Some(view) => {
                let (name, at) = (folded(ident), ident_at(ident));
                let found = view.ordinal(&name, WriteKind::Insert, at)?;
                let message = format!("column \"{name}\" does not exist");
                found.map_or_else(|| fail(SqlState::UNDEFINED_COLUMN, message, at), Ok)
            }
        };
        let mut arbiter = Arbiter::default();
        let inferred = match names {
            [name] => self.aside.inference(ident_at(name)),
            _ => None,
        };
        let Some(Inference { elements, predicate }) = inferred.cloned() else {
            for ident in names {
                arbiter.columns.push(column_named(ident)?);
            }
            return Ok(arbiter);
        };
        for element in &elements {
            if let ast::Expr::Identifier(ident) = element {
                arbiter.columns.push(column_named(ident)?);
                continue;
            }
            if target.view.is_some() {
                return unsupported("an expression in ON CONFLICT of a view", expr_at(element));
            }
            super::index_terms::check_form(element)?;
            let bound = self.inferred(Clause::IndexExpression, element, table)?.expr;
            match bound.as_column() {
                Some(id) => arbiter.columns.push(id.0 as usize),
                None => {
                    let key = self.index_key(&bound)?.unwrap_or(bound);
                    arbiter.expressions.push(normalised(&key));
                }
            }
        }
        if let Some(predicate) = predicate {
            let bound = self.inferred(Clause::IndexPredicate, &predicate, table)?;
            arbiter.given = Some(self.coerce_clause(bound, DataType::Boolean, "WHERE")?);
        }
        Ok(arbiter)
    }

    fn inferred(&mut self, clause: Clause, expr: &ast::Expr, table: &TableRef) -> Result<Bound> {
        self.over_timed_row(clause, expr, table.bare_name(), table.columns())
    }

    /// DO UPDATE over the row that is there and `excluded`.
    fn conflict_update(
        &mut self,
        update: &ast::DoUpdate,
        target: &Target,
    ) -> Result<(Vec<usize>, BoundQuery)> {
        let table = &target.table;
        let width = table.columns().len();
        let excluded: Vec<ColumnId> = table.columns().iter().map(|_| self.fresh()).collect();
        for (id, def) in excluded.iter().zip(table.columns()) {
            self.note_column(*id, def);
        }
        let number = self.fresh();
        let mut scope = Scope::of(target.relation.clone());
        scope.extend(Scope::of(excluded_relation(target, &excluded)))?;
        self.level()?.scope = scope;
        let own = target.ids.iter().chain(&excluded).enumerate();
        let own = own.map(|(ordinal, id)| InputColumn {
            id: *id,
            ordinal,
            ty: table.columns().get(ordinal % width.max(1)).map_or(DataType::Unknown, |c| c.ty),
        });
        let number_column = InputColumn { id: number, ordinal: 2 * width, ty: DataType::BigInt };
        let columns = own.chain([number_column]).collect();
        let name = format!("conflicts of {}", table.bare_name()).into();
        let mut plan = Plan::Input { slot: 0, columns, name };
        if let Some(expr) = &update.selection {
            plan = filter(plan, self.bind_condition(expr, Clause::Where)?);
        }
        let (plan, assigned) = self.bind_assignments(target, &update.assignments, plan)?;
        let (ordinals, values): (Vec<usize>, Vec<Expr>) = assigned.into_iter().unzip();
        self.require_written(target, Privilege::Update, Some(&ordinals));
        let exprs = std::iter::once(Expr::column(number, DataType::BigInt)).chain(values);
        Ok((ordinals, self.projected_exprs(plan, exprs.collect())))
    }

    /// ON CONFLICT as the caller of the binder gets it.
    pub(super) fn finish_conflict(
        &mut self,
        conflict: BoundConflict,
        definitions: &[Definition],
    ) -> Result<OnConflict> {
        let action = match conflict.update {
            None => ConflictAction::Nothing,
            Some((columns, mut query)) => {
                if query.plan.reads_cte() {
                    for definition in definitions.iter().rev() {
                        query.plan = definition.clone().around(query.plan);
                    }
                }
                let assignments = Box::new(self.finish(query)?);
                ConflictAction::Update { columns, assignments }
            }
        };
        Ok(OnConflict { target: conflict.target, action })
    }
}

/// The row proposed, as a relation: to read it takes the right to read the table.
fn excluded_relation(target: &Target, ids: &[ColumnId]) -> ScopeRelation {
    let table = &target.table;
    if target.view.is_some() {
        let map: HashMap<ColumnId, ColumnId> =
            target.ids.iter().copied().zip(ids.iter().copied()).collect();
        let proposed = |column: &ScopeColumn| {
            let mut expr = column.expr.clone();
            super::series::rename(&mut expr, &map);
            ScopeColumn { expr, relation: "excluded".to_owned(), ..column.clone() }
        };
        let columns = target.relation.columns.iter().map(proposed).collect();
        let name = "excluded".to_owned();
        return ScopeRelation { name, columns, schema: None, at: None, ..target.relation.clone() };
    }
    let column = |(at, (def, id)): (usize, (&crate::catalog::ColumnDef, &ColumnId))| ScopeColumn {
        name: def.name.clone(),
        expr: Expr::column(*id, def.ty),
        relation: "excluded".to_owned(),
        source: target.relation.columns.get(at).and_then(|column| column.source),
    };
    ScopeRelation {
        name: "excluded".to_owned(),
        schema: None,
        columns: table.columns().iter().zip(ids).enumerate().map(column).collect(),
        system: Vec::new(),
        table: None,
        whole: Whole::Row,
        at: None,
    }
}

/// Parts of a unique index that a conflict target names.
#[derive(Default)]
struct Arbiter {
    /// Ordinals, in any order.
    columns: Vec<usize>,
    /// Normalised.
    expressions: Vec<Expr>,
    /// WHERE.
    given: Option<Expr>,
}

impl Arbiter {
    /// True when the key is meant, and DEFERRABLE.
    fn is_late(&self, key: &KeyDef) -> bool {
        key.deferral.is_deferrable()
            && self.expressions.is_empty()
            && key.columns.iter().all(|ordinal| self.columns.contains(ordinal))
            && self.columns.iter().all(|ordinal| key.columns.contains(ordinal))
    }

    /// The index at this position if it is of these columns and expressions and no others.
    fn candidate(&self, table: &TableRef, at: usize) -> Option<ArbiterCandidate> {
        let index = table.indexes().get(at)?;
        if index.unique == Uniqueness::No {
            return None;
        }
        // A column in the order of some collation is an expression of the index, and a column here.
        let (mut columns, mut others) = (Vec::new(), Vec::new());
        for column in &index.columns {
            let keyed = |at: usize| index.terms.expressions.get(at)?.keyed_column(table.columns());
            match column.expression() {
                None => columns.push(column.ordinal),
                Some(at) => {
                    keyed(at).map_or_else(|| others.push(at), |ordinal| columns.push(ordinal))
                }
            }
        }
        let is_of_columns = columns.iter().all(|ordinal| self.columns.contains(ordinal))
            && self.columns.iter().all(|ordinal| columns.contains(ordinal));
        let Some(terms) = table.index_terms(at) else {
            let is_it = is_of_columns && self.expressions.is_empty() && index.terms.is_empty();
            return is_it.then_some(ArbiterCandidate { index: at, predicate: None });
        };
        let expressions = others.iter().filter_map(|at| terms.expressions.get(*at));
        let expressions: Vec<Expr> = expressions.map(normalised).collect();
        let is_it = is_of_columns
            && expressions.iter().all(|expr| self.expressions.contains(expr))
            && self.expressions.iter().all(|expr| expressions.contains(expr));
        is_it.then(|| ArbiterCandidate { index: at, predicate: terms.predicate.clone() })
    }
}

fn has_parameter(expr: &Expr) -> bool {
    let mut has_one = matches!(expr.kind, ExprKind::Parameter(_));
    expr.each_child(&mut |child| has_one |= has_parameter(child));
    has_one
}

/// # Errors
/// 55000.
fn deferrable_arbiter<T>(at: Place) -> Result<T> {
    let message = "ON CONFLICT does not support deferrable unique constraints/exclusion \
                   constraints as arbiters";
    fail(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, at)
}

/// The position of the index of a constraint.
fn constraint_index(table: &TableRef, name: &ast::ObjectName) -> Result<usize> {
    let wanted = super::name::object_parts(name)?.pop().unwrap_or_default();
    let key = table.keys().iter().find(|key| key.name == wanted);
    if key.is_some_and(|key| key.deferral.is_deferrable()) {
        return deferrable_arbiter(object_at(name));
    }
    let is_key = key.is_some();
    let is_it = |index: &IndexMeta| index.name == wanted && (is_key || index.excludes());
    let found = table.indexes().iter().position(is_it);
    let exclusion = found.and_then(|at| table.indexes()[at].terms.exclusion.as_ref());
    if exclusion.is_some_and(|exclusion| exclusion.deferral.is_deferrable()) {
        return deferrable_arbiter(object_at(name));
    }
    match found {
        Some(at) => Ok(at),
        None => {
            let message = format!(
                "constraint \"{wanted}\" for table \"{}\" does not exist",
                table.bare_name()
            );
            fail(SqlState::UNDEFINED_OBJECT, message, object_at(name))
        }
    }
}
