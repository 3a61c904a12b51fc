//! Indexes of attached tables: CREATE INDEX, DROP INDEX, ALTER INDEX ... RENAME.

use std::sync::Arc;

use catalog::TableDef;
use sql::catalog::{IndexExpression, IndexMeta, Uniqueness};
use sql::statement::{CreateIndex, DropRelations, IfExists, IfMissing, Naming, RelationName};
use types::{Error, Result, SqlState};

use super::references::{self, Going};
use super::{hold, redefine, rights};
use crate::QueryResult;
use crate::define::drop::wrong_kind;
use crate::define::index::is_taken;
use crate::define::names::{free, taken};
use crate::define::tell_taken;
use crate::instance::attached::{AttachedTableId, AttachedTransaction};
use crate::session::Session;
use crate::statement::attached::{AttachedRows, definition_in, described};
use crate::statement::running::Running;
use crate::transaction::holds::Needs;

/// # Errors
/// 0A000 for indexes that shared tables do not have.
fn refuse(new: &CreateIndex) -> Result<()> {
    let keyed = |expression: &IndexExpression| expression.keyed_column(new.table.columns());
    let is_collated = |of: &IndexExpression| of.collation().is_some() || keyed(of).is_some();
    let is_json =
        |of: &IndexExpression| keyed(of).is_some_and(|at| new.table.columns()[at].ty.is_json());
    let what = if new.terms.expressions.iter().any(is_json) {
        "jsonb in an index"
    } else if new.terms.expressions.iter().any(is_collated) {
        "COLLATE in an index"
    } else if new.unique == Uniqueness::NullsNotDistinct {
        "NULLS NOT DISTINCT in an index"
    } else if !new.kind.has_keys() {
        "this kind of index"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(format!("{what} on a shared table")))
}

/// CREATE INDEX.
///
/// # Errors
/// 42P07 for a name that is taken; 23505 for rows with equal keys.
pub(super) fn create(running: &mut Running<'_>, new: CreateIndex) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("CREATE INDEX")?;
    let Some(rows) = AttachedRows::of(&new.table) else {
        return Err(Error::internal("a table of the attached database"));
    };
    rights::check_owns(session, "table", &rows.def.name)?;
    refuse(&new)?;
    let transaction = session.work().attached_to_change(session.database().registry())?;
    let mut def = rows.def.clone();
    let name = match new.naming {
        Naming::Chosen => {
            let state = described(&session.state(), session.database(), &*transaction)?;
            free(&new.name, |name| is_taken(&state, &def, name))
        }
        Naming::Given if !transaction.has_name(&new.name)? => new.name,
        Naming::Given if new.if_exists == IfExists::Skip => {
            tell_taken(&mut session.definer(), &RelationName::key_beside(&def.name, &new.name));
            return Ok(QueryResult::command("CREATE INDEX"));
        }
        Naming::Given => return Err(taken(&new.name)),
    };
    drop(transaction);
    hold(running, &[rows.id], Needs::Rows)?;
    let (columns, unique, kind, terms) = (new.columns, new.unique, new.kind, new.terms);
    def.indexes.push(IndexMeta { name, columns, unique, kind, terms });
    redefine(running.session, rows.id, &def)?;
    Ok(QueryResult::command("CREATE INDEX"))
}

/// The table that has the index `name`.
fn holder(
    session: &Session,
    transaction: &dyn AttachedTransaction,
    name: &RelationName,
) -> Result<Option<(AttachedTableId, TableDef)>> {
    let schema = session.database().attached_schema().unwrap_or_default();
    for found in transaction.all()? {
        let def = definition_in(schema, &found)?;
        if def.indexes.iter().any(|index| index.name == name.name) {
            return Ok(Some((found.id, def)));
        }
    }
    Ok(None)
}

/// # Errors
/// 42809 when it is another relation, 42704 or 42P01 (`missing`) when there is none.
fn no_index(
    transaction: &Arc<dyn AttachedTransaction>,
    name: &str,
    missing: SqlState,
) -> Result<Error> {
    if transaction.find(name)?.is_some() {
        return Ok(wrong_kind(name, "index", "table"));
    }
    if transaction.sequence(name)?.is_some() {
        return Ok(wrong_kind(name, "index", "sequence"));
    }
    let kind = if missing == SqlState::UNDEFINED_TABLE { "relation" } else { "index" };
    Ok(Error::new(missing, format!("{kind} \"{name}\" does not exist")))
}

/// DROP INDEX.
///
/// # Errors
/// 2BP01 for that of a constraint; 42704 when there is none.
pub(super) fn drop_all(running: &mut Running<'_>, old: &DropRelations) -> Result<QueryResult> {
    running.session.work().check_writable("DROP INDEX")?;
    for name in &old.names {
        let session = &mut *running.session;
        rights::check_drops(session, "index", &name.key())?;
        let transaction = session.work().attached_to_change(session.database().registry())?;
        let Some((table, mut def)) = holder(session, &*transaction, name)? else {
            let error = no_index(&transaction, &name.name, SqlState::UNDEFINED_OBJECT)?;
            if old.if_missing == IfMissing::Fail || error.state() != SqlState::UNDEFINED_OBJECT {
                return Err(error);
            }
            let message = format!("{}, skipping", error.message());
            session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            continue;
        };
        if def.keys.iter().any(|key| key.name == name.name) {
            let (name, table) = (&name.name, def.bare_name());
            let constraint = format!("constraint {name} on table {table}");
            let message = format!("cannot drop index {name} because {constraint} requires it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .with_hint(format!("You can drop {constraint} instead.")));
        }
        let mut children = references::children(session, &def.name)?;
        let what = format!("index {}", name.name);
        let going = Going { what: &what, behaviour: old.behaviour };
        references::lose_index(&mut def, &mut children, &name.name, going)?;
        def.indexes.retain(|index| index.name != name.name);
        drop(transaction);
        let held: Vec<AttachedTableId> =
            std::iter::once(table).chain(references::numbers(&children)).collect();
        hold(running, &held, Needs::Nothing)?;
        redefine(running.session, table, &def)?;
        references::follow(running.session, &children)?;
    }
    Ok(QueryResult::command("DROP INDEX"))
}

/// ALTER INDEX ... RENAME TO: the constraint that has the index is renamed with it.
///
/// # Errors
/// 42P01 when there is none, 42P07 for a name that is taken.
pub(super) fn rename(
    running: &mut Running<'_>,
    name: &RelationName,
    to: &str,
) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("ALTER INDEX")?;
    rights::check_owns(session, "index", &name.key())?;
    let transaction = session.work().attached_to_change(session.database().registry())?;
    let Some((table, mut def)) = holder(session, &*transaction, name)? else {
        return Err(no_index(&transaction, &name.name, SqlState::UNDEFINED_TABLE)?);
    };
    if transaction.has_name(to)? {
        return Err(taken(to));
    }
    drop(transaction);
    hold(running, &[table], Needs::Nothing)?;
    let names = def.keys.iter_mut().map(|key| &mut key.name);
    let names = names.chain(def.indexes.iter_mut().map(|index| &mut index.name));
    names.filter(|known| **known == name.name).for_each(|known| to.clone_into(known));
    redefine(running.session, table, &def)?;
    Ok(QueryResult::command("ALTER INDEX"))
}
