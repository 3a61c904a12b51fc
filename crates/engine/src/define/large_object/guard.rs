//! Statements that may not touch the tables of large objects, whoever runs them.
//!
//! Rows of the tables are written by statements of the database's own, which expect the tables as
//! they were made: no trigger, policy, child or foreign key has a part in them.
//! Elsewhere: who calls it (`define::privilege::check_definition`).

use catalog::who::denied;
use sql::statement::{
    AlterAction, AlterTable, CreateTable, ObjectKind, PartitionStatement, PrivilegeStatement,
    RelationName, SchemaStatement, Statement,
};
use types::{Error, Result};

use super::SCHEMA;

/// # Errors
/// 42501 for a statement that makes something beside the tables or changes one of them; 0A000 for
/// another owner of their schema, and for what would move there.
pub(in crate::define) fn refuse_definition(statement: &Statement) -> Result<()> {
    refuse_creation(statement)?;
    match statement {
        Statement::DropTable(drop)
        | Statement::DropWideTable(drop)
        | Statement::DropView(drop)
        | Statement::DropMaterialized(drop)
        | Statement::DropIndex(drop)
        | Statement::DropSequence(drop) => drop.names.iter().try_for_each(of_system),
        Statement::CreateTable(create) => refuse_ties(create),
        Statement::AlterTable(Some(alter)) => refuse_change(alter),
        Statement::AlterMaterialized(alter) => refuse_change(alter),
        Statement::CreateIndex(create) => refuse(create.table.name()),
        Statement::RenameIndex { name, .. } => of_system(name),
        Statement::Truncate(truncate) => {
            truncate.tables.iter().try_for_each(|table| refuse(table.name()))
        }
        Statement::Partition(statement) => refuse_partition(statement),
        Statement::Policy(statement) => refuse(&statement.table),
        Statement::Trigger(statement) => refuse(&statement.table),
        Statement::Privilege(statement) => refuse_owner(statement),
        Statement::Schema(statement) => refuse_move(statement),
        _ => Ok(()),
    }
}

/// Refuses what would be beside the tables.
fn refuse_creation(statement: &Statement) -> Result<()> {
    let name = match statement {
        Statement::CreateTable(create) => &create.name,
        Statement::CreateTableAs(create) => &create.name,
        Statement::CreateView(create) => &create.name,
        Statement::CreateMaterialized(create) => &create.view.name,
        Statement::CreateSequence(create) => &create.name,
        Statement::CreateWideTable(create) => &create.name,
        Statement::CreateComposite { name, .. } => name,
        _ => return Ok(()),
    };
    if name.schema_name() != SCHEMA {
        return Ok(());
    }
    Err(denied(format!("permission denied to create \"{name}\""))
        .with_detail("System catalog modifications are currently disallowed."))
}

/// Refuses tables that would be parts of the tables, or refer to them.
fn refuse_ties(create: &CreateTable) -> Result<()> {
    create.parents.iter().try_for_each(|parent| refuse(parent.name()))?;
    create.foreign_keys.iter().try_for_each(|key| refuse(&key.table.name))
}

fn refuse_change(alter: &AlterTable) -> Result<()> {
    refuse(alter.table.name())?;
    alter.actions.iter().try_for_each(|action| match action {
        AlterAction::AddForeignKey(key) => refuse(&key.table.name),
        AlterAction::SetInheritance(change) => {
            change.joins.as_ref().map_or(Ok(()), |parent| refuse(parent.name()))
        }
        _ => Ok(()),
    })
}

fn refuse_partition(statement: &PartitionStatement) -> Result<()> {
    match statement {
        PartitionStatement::Attach { table, .. } | PartitionStatement::Detach { table, .. } => {
            refuse(table.name())
        }
        PartitionStatement::AttachIndex { index, part } => {
            of_system(index)?;
            of_system(part)
        }
    }
}

fn refuse_owner(statement: &PrivilegeStatement) -> Result<()> {
    match statement {
        PrivilegeStatement::Owner { kind: ObjectKind::Schema, name, .. } if name.name == SCHEMA => {
            Err(Error::unsupported("another owner of a schema of the system"))
        }
        PrivilegeStatement::Owner {
            kind:
                ObjectKind::Table
                | ObjectKind::View
                | ObjectKind::MaterializedView
                | ObjectKind::Sequence,
            name,
            ..
        } => of_system(name),
        _ => Ok(()),
    }
}

fn refuse_move(statement: &SchemaStatement) -> Result<()> {
    let SchemaStatement::Move { name, to, .. } = statement else { return Ok(()) };
    of_system(name)?;
    if to == SCHEMA {
        return Err(Error::unsupported("a relation that moves into a schema of the system"));
    }
    Ok(())
}

/// # Errors
/// 42501 for the name of one of the tables, or of an index of one.
fn of_system(name: &RelationName) -> Result<()> {
    refuse(&name.key())
}

/// # Errors
/// 42501 for the key of one of the tables, or of an index of one.
fn refuse(key: &str) -> Result<()> {
    if RelationName::schema_of_key(key) != SCHEMA {
        return Ok(());
    }
    let name = RelationName::name_of_key(key);
    Err(denied(format!("permission denied: \"{name}\" is a system catalog")))
}
