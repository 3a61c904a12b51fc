//! INHERITS: columns and constraints that a new table has from others, one with its own of the same
//! name.
//!
//! Called by CREATE TABLE (`ddl`); what ALTER TABLE does with such tables is in `alter_family`.
//! Source: PostgreSQL 15, `MergeAttributes`.

use sqlparser::ast;
use types::{Error, Result, SqlState};

use super::constraint::Definition;
use super::domain::Declared;
use super::name::{ident_at, object_at};
use super::{Binder, fail, place, unsupported};
use crate::algebra::Place;
use crate::catalog::{CheckDef, CheckScope, ColumnDef, Inheritance, TableRef, Validity};
use crate::parse::folded;
use crate::statement::{AlterAction, MergeNotice, Persistence, SetInheritance};

/// Parents of a table that is made, and parts that it has from them.
#[derive(Default)]
pub(super) struct Inheriting {
    pub(super) parents: Vec<TableRef>,
    pub(super) inheritance: Inheritance,
    /// Notices about what is one with a parent's.
    pub(super) merged: Vec<MergeNotice>,
    /// Ordinals of columns whose defaults differ among parents.
    differing: Vec<usize>,
}

/// A detail of a notice.
const MOVED: &str = "User-specified column moved to the position of the inherited column.";

/// 42809 for a table that no other one can inherit from.
pub(super) fn check_parent(parent: &TableRef, at: Place) -> Result<()> {
    let name = parent.bare_name();
    let message = if parent.wide().is_some() || parent.materialized().is_some() {
        format!("inherited relation \"{name}\" is not a table or foreign table")
    } else if parent.partition_key().is_some() {
        format!("cannot inherit from partitioned table \"{name}\"")
    } else if parent.partition_of().is_some() {
        format!("cannot inherit from partition \"{name}\"")
    } else {
        return Ok(());
    };
    fail(SqlState::WRONG_OBJECT_TYPE, message, at)
}

/// The types of two columns as an error shows them, where they differ.
pub(super) fn type_conflict(known: &ColumnDef, new: &ColumnDef) -> Option<String> {
    let is_same = known.ty == new.ty && known.domain == new.domain;
    (!is_same).then(|| format!("{} versus {}", shown(known), shown(new)))
}

fn shown(column: &ColumnDef) -> String {
    match column.domain {
        Some(used) => used.name(),
        None => column.ty.to_string(),
    }
}

fn mismatch(message: String, detail: String, at: Place) -> Error {
    place(Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail), at)
}

/// 42P21 for a column that has another collation elsewhere.
fn refuse_other_collation(known: &ColumnDef, other: &ColumnDef, at: Place) -> Result<()> {
    if known.collation == other.collation {
        return Ok(());
    }
    let message = format!("column \"{}\" has a collation conflict", known.name);
    fail(SqlState::COLLATION_MISMATCH, message, at)
}

impl Inheriting {
    /// The same of a table that exists.
    pub(super) fn of(table: &TableRef) -> Self {
        Self { inheritance: table.inheritance().cloned().unwrap_or_default(), ..Self::default() }
    }

    /// The action that keeps what ALTER TABLE made the table's own, if there is something.
    pub(super) fn changed(self, table: &TableRef) -> Option<AlterAction> {
        let Self { inheritance, merged, .. } = self;
        if merged.is_empty() || table.inheritance() == Some(&inheritance) {
            return None;
        }
        let set = SetInheritance { inheritance, joins: None, merged };
        Some(AlterAction::SetInheritance(Box::new(set)))
    }

    fn notice(&mut self, message: String) {
        self.merged.push(MergeNotice { message, detail: None });
    }
}

impl Definition {
    /// Adds a column of a parent.
    fn inherit_column(&mut self, column: &ColumnDef, at: Place) -> Result<()> {
        let (name, inheriting) = (&column.name, &mut self.inheriting);
        let found = self.columns.iter().position(|known| known.name == *name);
        let Some(ordinal) = found else {
            self.columns.push(column.clone());
            inheriting.inheritance.columns.push(name.clone());
            return Ok(());
        };
        inheriting.notice(format!("merging multiple inherited definitions of column \"{name}\""));
        let known = &mut self.columns[ordinal];
        if let Some(detail) = type_conflict(known, column) {
            let message = format!("inherited column \"{name}\" has a type conflict");
            return Err(mismatch(message, detail, at));
        }
        refuse_other_collation(known, column, at)?;
        if known.generated.is_some() != column.generated.is_some() {
            let message = format!("inherited column \"{name}\" has a generation conflict");
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        }
        known.not_null |= column.not_null;
        let is_other = |known: &Option<String>, new: &Option<String>| {
            new.is_some() && known.is_some() && known != new
        };
        let differs = is_other(&known.default, &column.default)
            || is_other(&known.generated, &column.generated);
        if differs && !inheriting.differing.contains(&ordinal) {
            inheriting.differing.push(ordinal);
        }
        if known.default.is_none() {
            known.default.clone_from(&column.default);
        }
        Ok(())
    }

    /// Adds a CHECK constraint of a parent.
    fn inherit_check(&mut self, check: &CheckDef, at: Place) -> Result<()> {
        let name = &check.name;
        match self.checks.iter().find(|known| known.name == *name) {
            None => {
                // Of no rows, all satisfy it.
                let validity = Validity::Valid;
                self.checks.push(CheckDef { validity, ..check.clone() });
                self.inheriting.inheritance.checks.push(name.clone());
                Ok(())
            }
            Some(known) if known.sql == check.sql => Ok(()),
            Some(_) => {
                let message = format!(
                    "check constraint name \"{name}\" appears multiple times but with different \
                     expressions"
                );
                fail(SqlState::DUPLICATE_OBJECT, message, at)
            }
        }
    }

    /// Makes an inherited column one of the table, too: its ordinal; None when there is none.
    fn make_own(&mut self, name: &str) -> Option<usize> {
        let inherited = &mut self.inheriting.inheritance.columns;
        let place_idx = inherited.iter().position(|known| known == name)?;
        inherited.remove(place_idx);
        self.columns.iter().position(|known| known.name == name)
    }

    fn check_merged(&self, ordinal: usize, written: &ColumnDef, at: Place) -> Result<()> {
        let Some(detail) = type_conflict(&self.columns[ordinal], written) else { return Ok(()) };
        let message = format!("column \"{}\" has a type conflict", written.name);
        Err(mismatch(message, detail, at))
    }

    /// The ordinal of an inherited column that LIKE gives the table, too; None of another.
    pub(super) fn takes_inherited(
        &mut self,
        column: &ColumnDef,
        at: Place,
    ) -> Result<Option<usize>> {
        let Some(ordinal) = self.make_own(&column.name) else { return Ok(None) };
        let name = &column.name;
        self.inheriting.notice(format!("merging column \"{name}\" with inherited definition"));
        self.check_merged(ordinal, column, at)?;
        refuse_other_collation(&self.columns[ordinal], column, at)?;
        self.columns[ordinal].not_null |= column.not_null;
        Ok(Some(ordinal))
    }

    /// Refuses columns whose default nobody chose, when all columns are there.
    pub(super) fn check_inherited_defaults(&self) -> Result<()> {
        let Some(ordinal) = self.inheriting.differing.first() else { return Ok(()) };
        let column = &self.columns[*ordinal];
        let (what, hint) = match &column.generated {
            Some(_) => (
                "generation expressions",
                "To resolve the conflict, specify a generation expression explicitly.",
            ),
            None => ("default values", "To resolve the conflict, specify a default explicitly."),
        };
        let message = format!("column \"{}\" inherits conflicting {what}", column.name);
        Err(Error::new(SqlState::INVALID_COLUMN_DEFINITION, message).with_hint(hint))
    }

    /// True for a constraint of the table that it inherits with the same condition: they are one.
    ///
    /// # Errors
    /// 42P17 for NO INHERIT of what is inherited.
    pub(super) fn is_inherited(&mut self, check: &CheckDef) -> Result<bool> {
        let name = &check.name;
        let known = self.checks.iter().find(|known| known.name == *name);
        let inherited = &mut self.inheriting.inheritance.checks;
        let place_idx = inherited.iter().position(|known| known == name);
        let (Some(known), Some(place_idx)) = (known, place_idx) else { return Ok(false) };
        if check.scope == CheckScope::Alone {
            let message = format!(
                "constraint \"{name}\" conflicts with inherited constraint on relation \"{}\"",
                self.name.name
            );
            return fail(SqlState::INVALID_OBJECT_DEFINITION, message, None);
        }
        if known.sql != check.sql {
            return Ok(false);
        }
        inherited.remove(place_idx);
        let message = format!("merging constraint \"{name}\" with inherited definition");
        self.inheriting.notice(message);
        Ok(true)
    }
}

impl Binder<'_> {
    /// Adds the columns and constraints of the tables behind INHERITS.
    pub(super) fn inherit(
        &mut self,
        definition: &mut Definition,
        names: &[ast::ObjectName],
        persistence: Persistence,
    ) -> Result<()> {
        for name in names {
            let at = object_at(name);
            let parent = self.table_named(name)?;
            check_parent(&parent, at)?;
            check_lifetime(&parent, persistence, at)?;
            let known = &definition.inheriting.inheritance.parents;
            if known.iter().any(|known| known == parent.name()) {
                let message = format!(
                    "relation \"{}\" would be inherited from more than once",
                    parent.bare_name()
                );
                return fail(SqlState::DUPLICATE_TABLE, message, at);
            }
            for column in parent.columns() {
                definition.inherit_column(column, at)?;
            }
            for check in parent.checks().iter().filter(|c| c.scope == CheckScope::Family) {
                definition.inherit_check(check, at)?;
            }
            let inheriting = &mut definition.inheriting;
            inheriting.inheritance.parents.push(parent.name().to_owned());
            inheriting.parents.push(parent);
        }
        Ok(())
    }

    /// Adds a column that the statement lists, at place `place_idx` of its list; false when no
    /// parent has one of its name.
    pub(super) fn merge_column(
        &mut self,
        definition: &mut Definition,
        place_idx: usize,
        column: &ast::ColumnDef,
    ) -> Result<bool> {
        let (name, at) = (folded(&column.name), ident_at(&column.name));
        let Some(ordinal) = definition.make_own(&name) else { return Ok(false) };
        let inheriting = &mut definition.inheriting;
        if ordinal == place_idx {
            inheriting.notice(format!("merging column \"{name}\" with inherited definition"));
        } else {
            let message = format!("moving and merging column \"{name}\" with inherited definition");
            inheriting.merged.push(MergeNotice { message, detail: Some(MOVED) });
        }
        if super::constraint::serial_type(&column.data_type).is_some() {
            return unsupported("a serial column that is inherited, too", at);
        }
        let Declared { ty, domain } = self.declared_type(&column.data_type, at)?;
        let written = ColumnDef { domain, ..ColumnDef::new(&name, ty) };
        definition.check_merged(ordinal, &written, at)?;
        self.merge_options(definition, ordinal, column)?;
        let differing = &mut definition.inheriting.differing;
        differing.retain(|known| *known != ordinal || !sets_default(column));
        Ok(true)
    }

    /// Adds the constraints and the default of a column that is inherited, too.
    fn merge_options(
        &mut self,
        definition: &mut Definition,
        ordinal: usize,
        column: &ast::ColumnDef,
    ) -> Result<()> {
        let (name, at) = (folded(&column.name), ident_at(&column.name));
        let is_generated = definition.columns[ordinal].generated.is_some();
        for option in &column.options {
            match &option.option {
                ast::ColumnOption::Default(_) if is_generated => {
                    let message = format!(
                        "column \"{name}\" inherits from generated column but specifies default"
                    );
                    return fail(SqlState::INVALID_COLUMN_DEFINITION, message, at);
                }
                ast::ColumnOption::Default(_) => definition.columns[ordinal].default = None,
                ast::ColumnOption::Generated { generation_expr: Some(_), .. } if is_generated => {
                    let message =
                        format!("child column \"{name}\" specifies generation expression");
                    let hint = "Omit the generation expression in the definition of the child \
                                table column to inherit the generation expression from the parent \
                                table.";
                    let error = Error::new(SqlState::INVALID_COLUMN_DEFINITION, message);
                    return Err(place(error.with_hint(hint), at));
                }
                ast::ColumnOption::Generated { generation_expr: Some(_), .. } => {
                    definition.columns[ordinal].default = None;
                }
                ast::ColumnOption::Generated { .. } if is_generated => {
                    let message = format!(
                        "column \"{name}\" inherits from generated column but specifies identity"
                    );
                    return fail(SqlState::INVALID_COLUMN_DEFINITION, message, at);
                }
                _ => {}
            }
            self.column_option(definition, ordinal, option, at)?;
        }
        Ok(())
    }
}

fn sets_default(column: &ast::ColumnDef) -> bool {
    column.options.iter().any(|option| match &option.option {
        ast::ColumnOption::Default(_) => true,
        ast::ColumnOption::Generated { generation_expr, .. } => generation_expr.is_some(),
        _ => false,
    })
}

/// Refuses a parent that ends before the table does, or that others see and the table not.
fn check_lifetime(parent: &TableRef, persistence: Persistence, at: Place) -> Result<()> {
    let is_temporary = parent.name().starts_with("pg_temp.");
    match (is_temporary, persistence) {
        (true, Persistence::Permanent) => {
            let message =
                format!("cannot inherit from temporary relation \"{}\"", parent.bare_name());
            fail(SqlState::WRONG_OBJECT_TYPE, message, at)
        }
        (false, Persistence::Temporary) => {
            unsupported("a temporary table that inherits from a permanent one", at)
        }
        _ => Ok(()),
    }
}
