//! ALTER TABLE of partitioned tables, which changes their partitions alike, and of partitions,
//! which keep what they have from their table.

use sqlparser::ast::{self, AlterColumnOperation as ColumnOp, AlterTableOperation as Op};
use types::{Result, SqlState};

use super::{Binder, fail};
use crate::catalog::{ColumnDef, Relation, TableRef};
use crate::parse::folded;
use crate::statement::{AlterAction, RelationName, Statement};

/// A table that is altered.
struct Part<'a> {
    table: &'a TableRef,
    /// Its partitions, each before those below it.
    below: &'a [TableRef],
    /// True for ONLY.
    only: bool,
}

/// Refuses changes of a partitioned table that its partitions must follow, where the statement
/// says ONLY.
fn check_alone(part: &Part<'_>, operation: &Op) -> Result<()> {
    let Part { table, below, only } = part;
    let (of, is_partitioned) = (table.bare_name(), table.partition_key().is_some());
    let wrong = |message: String| fail(SqlState::WRONG_OBJECT_TYPE, message, None);
    if let Op::AddConstraint { constraint: ast::TableConstraint::ForeignKey(key), not_valid } =
        operation
        && is_partitioned
    {
        let other = &key.foreign_table;
        let of =
            format!("foreign key on partitioned table \"{of}\" referencing relation \"{other}\"");
        return match (only, not_valid) {
            (true, _) => wrong(format!("cannot use ONLY for {of}")),
            (_, true) => wrong(format!("cannot add NOT VALID {of}")),
            _ => Ok(()),
        };
    }
    if !only || below.is_empty() {
        return Ok(());
    }
    let is_check = |name: &ast::Ident| table.checks().iter().any(|c| c.name == folded(name));
    let message = match operation {
        Op::RenameColumn { old_column_name: name, .. } => {
            format!("inherited column \"{}\" must be renamed in child tables too", folded(name))
        }
        Op::RenameConstraint { old_name: name, .. } if is_check(name) => {
            format!("inherited constraint \"{}\" must be renamed in child tables too", folded(name))
        }
        Op::AlterColumn { op: ColumnOp::SetNotNull, .. } => {
            "constraint must be added to child tables too".to_owned()
        }
        Op::AlterColumn { op: ColumnOp::DropNotNull, .. } => REMOVED_ALONE.to_owned(),
        Op::DropConstraint { name, .. } if is_check(name) => REMOVED_ALONE.to_owned(),
        _ => return Ok(()),
    };
    fail(SqlState::INVALID_DEFINITION, message, None)
}

/// A constraint that partitions would keep.
const REMOVED_ALONE: &str =
    "cannot remove constraint from only the partitioned table when partitions exist";

impl Binder<'_> {
    /// ALTER TABLE, also of the partitions of the table.
    pub(super) fn bind_alter_tables(&mut self, alter: &ast::AlterTable) -> Result<Statement> {
        let name = self.relation_name(&alter.name)?;
        let table = match self.catalog.relation(name.schema.as_deref(), &name.name) {
            Some(Relation::Table(table)) => table,
            _ => return self.bind_alter_table(alter),
        };
        if table.family().is_some() || table.inheritance().is_some() {
            return self.bind_alter_family(alter, &table);
        }
        let below: Vec<TableRef> =
            table.partitions().map_or_else(Vec::new, |tree| tree.below().cloned().collect());
        let part = Part { table: &table, below: &below, only: alter.only };
        for operation in &alter.operations {
            self.check_part(&part, operation)?;
            check_alone(&part, operation)?;
        }
        let statement = self.bind_alter_table(alter)?;
        let Statement::AlterTable(Some(mut own)) = statement else { return Ok(statement) };
        if alter.only {
            return Ok(Statement::AlterTable(Some(own)));
        }
        let is_key = |name: &str| table.keys().iter().any(|key| key.name == name);
        let goes_down = |operation: &&Op| match operation {
            Op::AddColumn { .. }
            | Op::DropColumn { .. }
            | Op::RenameColumn { .. }
            | Op::ValidateConstraint { .. } => true,
            Op::AlterColumn { op, .. } => !matches!(op, ColumnOp::AddGenerated { .. }),
            Op::DropConstraint { name, .. } | Op::RenameConstraint { old_name: name, .. } => {
                !is_key(&folded(name))
            }
            _ => false,
        };
        let operations: Vec<Op> = alter.operations.iter().filter(goes_down).cloned().collect();
        let constraints: Vec<AlterAction> =
            own.actions.iter().filter(is_constraint).cloned().collect();
        for part in &below {
            let name = object_name_of(part.name());
            let operations = operations.clone();
            let one = ast::AlterTable { name, operations, ..alter.clone() };
            let Statement::AlterTable(Some(mut one)) = self.bind_alter_table(&one)? else {
                continue;
            };
            // Constraints are called as those of the table.
            one.actions.retain(|action| {
                !is_constraint(&action) && !matches!(action, AlterAction::AddKey(_))
            });
            one.actions
                .extend(constraints.iter().map(|action| in_part(action, table.columns(), part)));
            own.partitions.push(*one);
        }
        Ok(Statement::AlterTable(Some(own)))
    }

    /// Refuses what partitions and their tables do not do by themselves.
    fn check_part(&mut self, part: &Part<'_>, operation: &Op) -> Result<()> {
        let Part { table, below, only } = part;
        let invalid = |message: String| fail(SqlState::INVALID_DEFINITION, message, None);
        let is_below = table.partition_of().is_some();
        match operation {
            Op::AddColumn { .. } if is_below => {
                fail(SqlState::WRONG_OBJECT_TYPE, "cannot add column to a partition", None)
            }
            Op::AddColumn { .. } if *only && !below.is_empty() => {
                invalid("column must be added to child tables too".to_owned())
            }
            Op::DropColumn { column_names, .. } => {
                for ident in column_names {
                    let name = folded(ident);
                    if is_below {
                        return invalid(format!("cannot drop inherited column \"{name}\""));
                    }
                    if *only && !below.is_empty() {
                        return invalid(
                            "cannot drop column from only the partitioned table when partitions \
                             exist"
                                .to_owned(),
                        );
                    }
                    self.check_key_column(part, &name, "drop")?;
                }
                Ok(())
            }
            Op::AddConstraint { constraint: ast::TableConstraint::Check(check), .. }
                if check.no_inherit && table.partition_key().is_some() =>
            {
                super::partition::refuse_alone(table.bare_name())
            }
            Op::AddConstraint { constraint: ast::TableConstraint::Check(_), .. }
                if *only && !below.is_empty() =>
            {
                invalid("constraint must be added to child tables too".to_owned())
            }
            Op::AddConstraint { constraint, .. } => self.check_new_key(table, constraint),
            other => self.check_inherited(part, other),
        }
    }

    /// Refuses changes of what a partition has from its table, and types of key columns.
    fn check_inherited(&mut self, part: &Part<'_>, operation: &Op) -> Result<()> {
        let table = part.table;
        let is_below = table.partition_of().is_some();
        let invalid = |message: String| fail(SqlState::INVALID_DEFINITION, message, None);
        match operation {
            Op::RenameColumn { old_column_name, .. } if is_below => {
                let name = folded(old_column_name);
                invalid(format!("cannot rename inherited column \"{name}\""))
            }
            Op::AlterColumn { column_name, op: ColumnOp::SetDataType { .. } } => {
                let name = folded(column_name);
                if is_below {
                    return invalid(format!("cannot alter inherited column \"{name}\""));
                }
                self.check_key_column(part, &name, "alter")
            }
            Op::AlterColumn { column_name, op: ColumnOp::DropNotNull } if is_below => {
                let name = folded(column_name);
                let is_set = |table: &TableRef| {
                    let column = table.columns().iter().find(|column| column.name == name);
                    column.is_some_and(|column| column.not_null)
                };
                match self.parent_of(table) {
                    Some(parent) if is_set(&parent) => {
                        invalid(format!("column \"{name}\" is marked NOT NULL in parent table"))
                    }
                    _ => Ok(()),
                }
            }
            Op::DropConstraint { name, .. } if is_below => {
                let name = folded(name);
                let of = table.bare_name();
                if self.is_inherited(table, &name) {
                    let message =
                        format!("cannot drop inherited constraint \"{name}\" of relation \"{of}\"");
                    return invalid(message);
                }
                Ok(())
            }
            Op::RenameConstraint { old_name, .. } if is_below => {
                let name = folded(old_name);
                if self.is_inherited(table, &name)
                    && !table.keys().iter().any(|key| key.name == name)
                {
                    return invalid(format!("cannot rename inherited constraint \"{name}\""));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// 42P16 for a column of the partition key, of the table or of one below it.
    fn check_key_column(&mut self, part: &Part<'_>, name: &str, what: &str) -> Result<()> {
        for table in std::iter::once(part.table).chain(part.below) {
            let Some(key) = table.partition_key() else { continue };
            let column = table.columns().iter().position(|column| column.name == name);
            let Some(column) = column else { continue };
            let is_key = key.columns.iter().any(|known| known.ordinal == column);
            let (bare, columns) = (table.bare_name(), table.columns());
            if is_key || self.term_reads(bare, columns, &key.terms)?.contains(&column) {
                let message = format!(
                    "cannot {what} column \"{name}\" because it is part of the partition key of \
                     relation \"{bare}\""
                );
                return fail(SqlState::INVALID_DEFINITION, message, None);
            }
        }
        Ok(())
    }

    /// The table that this one is a partition of.
    fn parent_of(&self, table: &TableRef) -> Option<TableRef> {
        let full = RelationName::of_key(&table.partition_of()?.parent);
        let schema = Some(full.schema_name().to_owned());
        match self.catalog.relation(schema.as_deref(), &full.name)? {
            Relation::Table(parent) => Some(parent),
            _ => None,
        }
    }

    /// True when a partition has the constraint from its table.
    fn is_inherited(&self, table: &TableRef, name: &str) -> bool {
        let Some(parent) = self.parent_of(table) else { return false };
        let of_index =
            |place: &crate::catalog::PartitionOf| place.indexes.iter().any(|(_, own)| own == name);
        table.partition_of().is_some_and(of_index)
            || parent.checks().iter().any(|check| check.name == name)
            || parent.foreign_keys().iter().any(|key| key.name == name)
    }

    /// 0A000 for a unique key of a partitioned table that does not tell the partition.
    fn check_new_key(&self, table: &TableRef, constraint: &ast::TableConstraint) -> Result<()> {
        if let (Some(_), ast::TableConstraint::Exclude(_)) = (table.partition_key(), constraint) {
            let message = "exclusion constraints are not supported on partitioned tables";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, None);
        }
        let (Some(key), Some((kind, columns))) = (table.partition_key(), unique(constraint)) else {
            return Ok(());
        };
        let find = |column: &ast::IndexColumn| match &column.column.expr {
            ast::Expr::Identifier(ident) => {
                let name = folded(ident);
                table.columns().iter().position(|known| known.name == name)
            }
            _ => None,
        };
        let over: Vec<usize> = columns.iter().filter_map(find).collect();
        let (table, columns) = (table.bare_name(), table.columns());
        let unique = super::partition::UniqueOver { table, columns, kind, over: &over };
        super::partition::check_unique(unique, key)
    }
}

/// Kind and columns of a unique key.
fn unique(constraint: &ast::TableConstraint) -> Option<(&'static str, &[ast::IndexColumn])> {
    match constraint {
        ast::TableConstraint::PrimaryKey(key) => Some(("PRIMARY KEY", &key.columns)),
        ast::TableConstraint::Unique(key) => Some(("UNIQUE", &key.columns)),
        _ => None,
    }
}

/// A constraint of a table with these columns, as a partition of it has it.
fn in_part(action: &AlterAction, columns: &[ColumnDef], part: &TableRef) -> AlterAction {
    let mut action = action.clone();
    if let AlterAction::AddForeignKey(key) = &mut action {
        for ordinal in &mut key.columns {
            // Columns that the statement adds are the last ones everywhere.
            let Some(known) = columns.get(*ordinal) else { continue };
            let own = part.columns().iter().position(|column| column.name == known.name);
            *ordinal = own.unwrap_or(*ordinal);
        }
    }
    action
}

fn is_constraint(action: &&AlterAction) -> bool {
    matches!(action, AlterAction::AddCheck(_) | AlterAction::AddForeignKey(_))
}

/// The name of a relation in its schema, as the grammar has it.
pub(super) fn object_name_of(key: &str) -> ast::ObjectName {
    let full = RelationName::of_key(key);
    let parts = [full.schema_name(), &full.name];
    ast::ObjectName::from(parts.map(|part| ast::Ident::with_quote('"', part)).to_vec())
}
