//! ALTER TABLE with the actions that are parsed by ourselves: ALTER CONSTRAINT, and of a column
//! DROP EXPRESSION and what changes an identity. Called for `SessionTree::AlterTable`.

use sqlparser::ast;
use types::{Result, SqlState};

use super::alter::altered_table;
use super::constraint::deferral_of;
use super::name::ident_at;
use super::{Binder, fail, place};
use crate::catalog::{Identity, TableRef};
use crate::parse::{IdentityChange, InheritTree, TableChange, folded};
use crate::statement::{AlterAction, IfMissing, Skipped, Statement};

impl Binder<'_> {
    /// ALTER TABLE with the actions that are parsed by ourselves.
    pub(super) fn bind_table_changes(
        &mut self,
        name: &ast::ObjectName,
        if_missing: IfMissing,
        changes: &[TableChange],
    ) -> Result<Statement> {
        let full = self.relation_name(name)?;
        let exists = self.catalog.relation(full.schema.as_deref(), &full.name).is_some();
        if if_missing == IfMissing::Skip && !exists {
            return Ok(Statement::AlterTable(None));
        }
        let table = self.writable_table(name)?;
        let mut actions = Vec::with_capacity(changes.len());
        let mut notices = Vec::new();
        for change in changes {
            actions.extend(match change {
                TableChange::Inherit(InheritTree::From(parent)) => {
                    Some(self.inherit_from(&table, parent)?)
                }
                TableChange::Inherit(InheritTree::NoMore(parent)) => {
                    Some(self.inherit_no_more(&table, parent)?)
                }
                TableChange::Constraint(ident, characteristics) => {
                    Some(alter_constraint(&table, ident, characteristics.as_ref())?)
                }
                TableChange::DropExpression(ident, if_missing) => {
                    drop_expression(&table, ident, *if_missing)?
                }
                TableChange::Identity(ident, changes) => {
                    Some(self.change_identity(&table, ident, changes)?)
                }
                TableChange::DropIdentity(ident, if_missing) => match identity_of(&table, ident) {
                    Ok((column, _)) => Some(AlterAction::DropIdentity { column }),
                    Err(error)
                        if *if_missing == IfMissing::Skip
                            && error.state() == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE =>
                    {
                        let message = format!("{}, skipping", error.message());
                        notices.push((SqlState::SUCCESSFUL_COMPLETION, message));
                        None
                    }
                    Err(error) => return Err(error),
                },
            });
        }
        if actions.is_empty() && !notices.is_empty() {
            return Ok(Statement::Skipped(Skipped { command: "ALTER TABLE", notices }));
        }
        Ok(altered_table(table, actions, None))
    }

    /// ALTER COLUMN ... SET GENERATED, SET of options, RESTART.
    fn change_identity(
        &mut self,
        table: &TableRef,
        ident: &ast::Ident,
        changes: &[IdentityChange],
    ) -> Result<AlterAction> {
        let (column, mut identity) = identity_of(table, ident)?;
        let mut options = Vec::new();
        for change in changes {
            match change {
                IdentityChange::Kind(kind) => identity.kind = *kind,
                IdentityChange::Option(option) => options.push(option.clone()),
            }
        }
        let (definition, restart) =
            self.changed_sequence(&identity.sequence, &options, ident_at(ident))?;
        Ok(AlterAction::SetIdentity { column, kind: identity.kind, definition, restart })
    }
}

/// ALTER CONSTRAINT: when a foreign key is tested.
fn alter_constraint(
    table: &TableRef,
    ident: &ast::Ident,
    characteristics: Option<&ast::ConstraintCharacteristics>,
) -> Result<AlterAction> {
    let (name, at) = (folded(ident), ident_at(ident));
    let of = format!("constraint \"{name}\" of relation \"{}\"", table.bare_name());
    let deferral = deferral_of(characteristics).map_err(|error| place(error, at))?;
    if table.foreign_keys().iter().any(|key| key.name == name) {
        return Ok(AlterAction::SetDeferral { name, deferral });
    }
    let is_other = table.keys().iter().any(|key| key.name == name)
        || table.checks().iter().any(|check| check.name == name);
    if is_other {
        let message = format!("{of} is not a foreign key constraint");
        return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
    }
    fail(SqlState::UNDEFINED_OBJECT, format!("{of} does not exist"), at)
}

/// An identity column and its sequence.
fn identity_of(table: &TableRef, ident: &ast::Ident) -> Result<(usize, Identity)> {
    let name = folded(ident);
    let of = format!("column \"{name}\" of relation \"{}\"", table.bare_name());
    let Some(column) = table.columns().iter().position(|column| column.name == name) else {
        return fail(SqlState::UNDEFINED_COLUMN, format!("{of} does not exist"), None);
    };
    match table.identity(column) {
        Some(identity) => Ok((column, identity.clone())),
        None => {
            let message = format!("{of} is not an identity column");
            fail(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, None)
        }
    }
}

/// ALTER COLUMN ... DROP EXPRESSION; None when IF EXISTS finds none.
fn drop_expression(
    table: &TableRef,
    ident: &ast::Ident,
    if_missing: IfMissing,
) -> Result<Option<AlterAction>> {
    let (name, at) = (folded(ident), ident_at(ident));
    let of = format!("column \"{name}\" of relation \"{}\"", table.bare_name());
    match table.columns().iter().position(|column| column.name == name) {
        None => fail(SqlState::UNDEFINED_COLUMN, format!("{of} does not exist"), at),
        Some(column) if table.columns()[column].generated.is_some() => {
            Ok(Some(AlterAction::DropExpression { column }))
        }
        Some(_) if if_missing == IfMissing::Skip => Ok(None),
        Some(_) => {
            let message = format!("{of} is not a stored generated column");
            fail(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, at)
        }
    }
}
