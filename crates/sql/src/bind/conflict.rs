//! ON CONFLICT: the unique indexes that count, and what DO UPDATE assigns.

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::cte::Definition;
use super::name::{folded, ident_at, object_at};
use super::scope::{Clause, Scope, ScopeColumn, ScopeRelation};
use super::select::filter;
use super::write::Target;
use super::{Binder, BoundQuery, fail, place};
use crate::algebra::{ColumnId, Expr, InputColumn, Place, Plan};
use crate::catalog::{TableRef, Uniqueness};
use crate::statement::{ConflictAction, ConflictTarget, OnConflict, Privilege};

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
            None => None,
            Some(named) => {
                self.require(target.table.name(), Privilege::Select);
                Some(conflict_target(&target.table, named)?)
            }
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
            ast::OnConflictAction::DoUpdate(update) => Some(
                self.in_level(Clause::Update, |binder| binder.conflict_update(update, target))?,
            ),
        };
        Ok(BoundConflict { target: key, update })
    }

    /// DO UPDATE over the row that is there and `excluded`.
    fn conflict_update(
        &mut self,
        update: &ast::DoUpdate,
        target: &Target,
    ) -> Result<(Vec<usize>, BoundQuery)> {
        let table = &target.table;
        self.require(table.name(), Privilege::Update);
        let width = table.columns().len();
        let excluded: Vec<ColumnId> = table.columns().iter().map(|_| self.fresh()).collect();
        let number = self.fresh();
        let mut scope = Scope::of(target.relation.clone());
        scope.extend(Scope::of(excluded_relation(table, &excluded)))?;
        self.level()?.scope = scope;
        let own = target.ids.iter().chain(&excluded).enumerate();
        let own = own.map(|(ordinal, id)| InputColumn {
            id: *id,
            ordinal,
            ty: table.columns().get(ordinal % width.max(1)).map_or(DataType::Unknown, |c| c.ty),
        });
        let number_column = InputColumn { id: number, ordinal: 2 * width, ty: DataType::BigInt };
        let columns = own.chain([number_column]).collect();
        let name = format!("conflicts of {}", table.name()).into();
        let mut plan = Plan::Input { slot: 0, columns, name };
        if let Some(expr) = &update.selection {
            plan = filter(plan, self.bind_condition(expr, Clause::Where)?);
        }
        let (plan, assigned) = self.bind_assignments(table, &update.assignments, plan)?;
        let (ordinals, values): (Vec<usize>, Vec<Expr>) = assigned.into_iter().unzip();
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

/// The row proposed, as a relation.
fn excluded_relation(table: &TableRef, ids: &[ColumnId]) -> ScopeRelation {
    let column = |(def, id): (&crate::catalog::ColumnDef, &ColumnId)| ScopeColumn {
        name: def.name.clone(),
        expr: Expr::column(*id, def.ty),
        relation: "excluded".to_owned(),
    };
    ScopeRelation {
        name: "excluded".to_owned(),
        schema: None,
        columns: table.columns().iter().zip(ids).map(column).collect(),
        table: None,
        at: None,
    }
}

/// The unique indexes that a conflict target names.
fn conflict_target(table: &TableRef, target: &ast::ConflictTarget) -> Result<ConflictTarget> {
    let indexes = table.indexes();
    let columns_of = |at: usize| -> Vec<usize> {
        let columns = indexes.get(at).map(|index| index.columns.as_slice()).unwrap_or_default();
        columns.iter().map(|column| column.ordinal).collect()
    };
    let found: Vec<usize> = match target {
        ast::ConflictTarget::OnConstraint(name) => {
            let wanted = super::name::object_parts(name)?.pop().unwrap_or_default();
            let is_key = table.keys().iter().any(|key| key.name == wanted);
            let at = indexes.iter().position(|index| is_key && index.name == wanted);
            if at.is_none() {
                let message = format!(
                    "constraint \"{wanted}\" for table \"{}\" does not exist",
                    table.name()
                );
                return fail(SqlState::UNDEFINED_OBJECT, message, object_at(name));
            }
            at.into_iter().collect()
        }
        ast::ConflictTarget::Columns(names) => {
            let mut wanted = Vec::with_capacity(names.len());
            for ident in names {
                let (name, at) = (folded(ident), ident_at(ident));
                match table.columns().iter().position(|column| column.name == name) {
                    Some(ordinal) => wanted.push(ordinal),
                    None => {
                        let message = format!("column \"{name}\" does not exist");
                        return fail(SqlState::UNDEFINED_COLUMN, message, at);
                    }
                }
            }
            wanted.sort_unstable();
            wanted.dedup();
            let fits = |at: &usize| {
                let mut columns = columns_of(*at);
                columns.sort_unstable();
                indexes.get(*at).is_some_and(|index| index.unique != Uniqueness::No)
                    && columns == wanted
            };
            (0..indexes.len()).filter(fits).collect()
        }
    };
    match found.first() {
        Some(first) => Ok(ConflictTarget { columns: columns_of(*first), indexes: found }),
        None => {
            let message =
                "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            fail(SqlState::INVALID_COLUMN_REFERENCE, message, None)
        }
    }
}
