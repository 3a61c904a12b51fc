//! FOREIGN KEY: the table and the key that it refers to, and its actions.
//!
//! Called when all columns and keys of a definition are known (`constraint`).

use sqlparser::ast;
use types::{Result, SqlState};

use super::constraint::{Definition, deferral_of};
use super::name::object_at;
use super::retyped::refuse_unfit_key;
use super::{Binder, fail, place, unsupported};
use crate::algebra::Place;
use crate::catalog::{
    ForeignKeyDef, KeyDef, KeyMatch, ReferentialAction, Relation, Untested, Validity,
};
use crate::parse::folded;
use crate::statement::{Privilege, RelationName};

impl Binder<'_> {
    /// Adds a foreign key over these columns.
    pub(super) fn add_foreign_key(
        &mut self,
        definition: &mut Definition,
        columns: Vec<usize>,
        key: &ast::ForeignKeyConstraint,
    ) -> Result<()> {
        let at = object_at(&key.foreign_table);
        let deferral = deferral_of(key.characteristics.as_ref())?;
        let matching = match key.match_kind {
            None | Some(ast::ConstraintReferenceMatchKind::Simple) => KeyMatch::Simple,
            Some(ast::ConstraintReferenceMatchKind::Full) => KeyMatch::Full,
            Some(_) => return unsupported("MATCH PARTIAL", at),
        };
        refuse_actions(definition, &columns, key)?;
        let names = definition.names(&columns);
        let name = definition.constraint_name(key.name.as_ref().map(folded), &names, "fkey", at)?;
        let written = self.written_name(&key.foreign_table)?;
        let is_self = written.name == definition.name.name
            && (written.schema == definition.name.schema || written.schema.is_none());
        let table = if is_self { definition.name.clone() } else { self.found(written) };
        let other;
        let target = if is_self {
            &*definition
        } else {
            other = self.referenced(&definition.name, &table, at)?;
            &other
        };
        let references = referenced_columns(target, &key.referred_columns, at)?;
        if references.len() != columns.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return fail(SqlState::INVALID_FOREIGN_KEY, message, at);
        }
        if !is_self {
            let needed = references.iter().copied();
            self.require_columns(&table.key(), Privilege::References, needed);
        }
        for (own, other) in columns.iter().zip(&references) {
            let (Some(own), Some(other)) =
                (definition.columns.get(*own), target.columns.get(*other))
            else {
                continue;
            };
            refuse_unfit_key(&name, own, other).map_err(|error| place(error, at))?;
        }
        definition.foreign_keys.push(ForeignKeyDef {
            name,
            columns,
            table: RelationName { schema: None, name: table.key() },
            references,
            on_delete: referential_action(key.on_delete.as_ref()),
            on_update: referential_action(key.on_update.as_ref()),
            deferral,
            validity: Validity::Valid,
            matching,
            untested: Untested::Nothing,
        });
        Ok(())
    }

    /// The table that a foreign key of the table `own` refers to.
    fn referenced(&self, own: &RelationName, name: &RelationName, at: Place) -> Result<Definition> {
        match self.catalog.relation(name.schema.as_deref(), &name.name) {
            Some(Relation::Table(table))
                if table.rows_elsewhere().is_some() && own.schema != name.schema =>
            {
                unsupported("a foreign key to a shared table", at)
            }
            Some(Relation::Failed(error)) => Err(place(error, at)),
            Some(Relation::Table(table) | Relation::StaleWide { table, .. })
                if table.materialized().is_none() =>
            {
                Ok(Definition::of(name.clone(), &table))
            }
            Some(_) => {
                let message = format!("referenced relation \"{name}\" is not a table");
                fail(SqlState::WRONG_OBJECT_TYPE, message, at)
            }
            None => {
                let message = format!("relation \"{name}\" does not exist");
                fail(SqlState::UNDEFINED_TABLE, message, at)
            }
        }
    }
}

/// Ordinals of the referenced columns: those named, which must be a key, or the primary key.
fn referenced_columns(target: &Definition, names: &[ast::Ident], at: Place) -> Result<Vec<usize>> {
    let refuse_deferrable = |what: &str| {
        let name = &target.name.name;
        let message = format!("cannot use a deferrable {what} for referenced table \"{name}\"");
        fail(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, at)
    };
    if names.is_empty() {
        return match target.keys.iter().find(|key| key.primary) {
            Some(key) if key.deferral.is_deferrable() => refuse_deferrable("primary key"),
            Some(key) => Ok(key.columns.clone()),
            None => {
                let message = format!(
                    "there is no primary key for referenced table \"{}\"",
                    target.name.name
                );
                fail(SqlState::UNDEFINED_OBJECT, message, at)
            }
        };
    }
    let idents: Vec<&ast::Ident> = names.iter().collect();
    let references = target.ordinals(&idents, missing_in_foreign_key)?;
    let same = |columns: &[usize]| {
        columns.len() == references.len()
            && columns.iter().all(|column| references.contains(column))
    };
    let immediate = |key: &&KeyDef| !key.deferral.is_deferrable();
    let known = target.keys.iter().filter(immediate).any(|key| same(&key.columns))
        || target.unique.iter().any(|columns| same(columns));
    if known {
        return Ok(references);
    }
    if target.keys.iter().any(|key| same(&key.columns)) {
        return refuse_deferrable("unique constraint");
    }
    let message = format!(
        "there is no unique constraint matching given keys for referenced table \"{}\"",
        target.name.name
    );
    fail(SqlState::INVALID_FOREIGN_KEY, message, at)
}

/// Message about a column that a foreign key names.
pub(super) fn missing_in_foreign_key(name: &str) -> String {
    format!("column \"{name}\" referenced in foreign key constraint does not exist")
}

fn referential_action(action: Option<&ast::ReferentialAction>) -> ReferentialAction {
    match action {
        None | Some(ast::ReferentialAction::NoAction) => ReferentialAction::NoAction,
        Some(ast::ReferentialAction::Restrict) => ReferentialAction::Restrict,
        Some(ast::ReferentialAction::Cascade) => ReferentialAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferentialAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => ReferentialAction::SetDefault,
    }
}

/// 42601 for an action that would set a generated column.
fn refuse_actions(
    definition: &Definition,
    columns: &[usize],
    key: &ast::ForeignKeyConstraint,
) -> Result<()> {
    use ReferentialAction as Action;
    let is_generated =
        |column: &usize| definition.columns.get(*column).is_some_and(|c| c.generated.is_some());
    if !columns.iter().any(is_generated) {
        return Ok(());
    }
    let on_delete = referential_action(key.on_delete.as_ref());
    let on_update = referential_action(key.on_update.as_ref());
    let event = match (on_update, on_delete) {
        (Action::Cascade | Action::SetNull | Action::SetDefault, _) => "UPDATE",
        (_, Action::SetNull | Action::SetDefault) => "DELETE",
        _ => return Ok(()),
    };
    let message =
        format!("invalid ON {event} action for foreign key constraint containing generated column");
    fail(SqlState::SYNTAX_ERROR, message, object_at(&key.foreign_table))
}
