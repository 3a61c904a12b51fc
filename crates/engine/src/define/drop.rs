//! DROP TABLE, DROP INDEX, and the end of temporary relations.

use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::{State, TableEntry};
use sql::catalog::{TableMeta, TableRef};
use sql::statement::{
    DropBehaviour, DropRelations, IfMissing, OnCommit, Persistence, RelationName, Truncate,
    TruncateIdentity,
};
use types::{Error, Result, SqlState};

use super::redefined::{self, Redefined};
use super::{index, inherit, needed, partition, sequence, table, view, wide};
use crate::session::definer::Definer;
use crate::statement::running::Running;
use crate::write::deferred;
use crate::{QueryResult, Session};

/// 42809 for DROP of another kind of relation.
pub(super) fn wrong_kind(name: &str, wanted: &str, kind: &str) -> Error {
    let hint = format!("Use DROP {} to remove a {kind}.", kind.to_uppercase());
    let message = format!("\"{name}\" is not a {wanted}");
    Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint(hint)
}

/// The names to drop that exist and are of `kind`.
///
/// # Errors
/// `missing` when one does not exist, unless IF EXISTS was given; 42809.
pub(super) fn existing(
    definer: &mut Definer<'_>,
    drop: &DropRelations,
    kind: &str,
    missing: SqlState,
) -> Result<BTreeSet<String>> {
    let state = definer.state();
    let mut names = BTreeSet::new();
    for name in &drop.names {
        let key = match (state.key_of(name), drop.if_missing) {
            (Ok(key), _) => key,
            (Err(error), IfMissing::Skip) => {
                definer.notice(
                    SqlState::SUCCESSFUL_COMPLETION,
                    format!("{}, skipping", error.message()),
                );
                continue;
            }
            (Err(error), IfMissing::Fail) => return Err(error),
        };
        let name = name.name.as_str();
        match state.kind_of(&key) {
            Some(found) if found == kind => {
                names.insert(key);
            }
            Some(other) => return Err(wrong_kind(name, kind, other)),
            None if drop.if_missing == IfMissing::Skip => {
                definer.notice(
                    SqlState::SUCCESSFUL_COMPLETION,
                    format!("{kind} \"{name}\" does not exist, skipping"),
                );
            }
            None => {
                let message = format!("{kind} \"{name}\" does not exist");
                return Err(Error::new(missing, message));
            }
        }
    }
    Ok(names)
}

/// DROP TABLE.
pub(super) fn tables(session: &mut Session, drop: &DropRelations) -> Result<QueryResult> {
    let names = existing(&mut session.definer(), drop, "table", SqlState::UNDEFINED_TABLE)?;
    let state = session.state();
    let names = partition::with_parts(&state, &names);
    let names = inherit::with_heirs(&mut Running::own(session), names, drop.behaviour)?;
    for name in &names {
        let entry = redefined::locked_named(session, name)?;
        deferred::refuse_waiting(session, &entry, "DROP TABLE")?;
    }
    let mut lost = Vec::new();
    for name in &names {
        for (other, key) in table::referrers(&state, name) {
            if names.contains(&other) {
                continue;
            }
            if drop.behaviour == DropBehaviour::Restrict {
                let dependent = format!("constraint {key} on table {other}");
                return Err(needed(&format!("table {name}"), &dependent));
            }
            lost.push((other, key));
        }
    }
    let changed = without_foreign_keys(session, lost)?;
    session.change_catalog(|state| {
        for entry in changed {
            state.tables.insert(entry.def.name.clone(), entry);
        }
        // Policies go with their tables, whatever they read.
        state.row_security.retain(|table, _| !names.contains(table.as_str()));
        // Wide tables may go together with those behind them.
        let is_plain = |name: &&str| state.tables.get(*name).is_none_or(|t| t.def.wide.is_none());
        let (plain, wide): (Vec<&str>, Vec<&str>) =
            names.iter().map(String::as_str).partition(is_plain);
        for name in wide.into_iter().chain(plain) {
            view::drop_dependents(state, "table", name, drop.behaviour)?;
            state.tables.remove(name);
        }
        for name in &names {
            sequence::drop_owned(state, name, None, drop.behaviour)?;
        }
        Ok(())
    })?;
    Ok(QueryResult::command("DROP TABLE"))
}

/// The tables without these foreign keys, given as table and constraint.
pub(super) fn without_foreign_keys(
    session: &mut Session,
    mut lost: Vec<(String, String)>,
) -> Result<Vec<Arc<TableEntry>>> {
    lost.sort();
    lost.dedup();
    let mut changed = Vec::new();
    for of_table in lost.chunk_by(|a, b| a.0 == b.0) {
        let mut table = Redefined::new(redefined::locked_named(session, &of_table[0].0)?);
        of_table.iter().for_each(|(_, key)| table.remove_foreign_key(key));
        changed.push(table.finish(session)?);
    }
    Ok(changed)
}

/// DROP INDEX.
pub(super) fn indexes(session: &mut Session, drop: &DropRelations) -> Result<QueryResult> {
    let names = existing(&mut session.definer(), drop, "index", SqlState::UNDEFINED_OBJECT)?;
    for key in names {
        let state = session.state();
        let Some(entry) = state.table_of_index(&key) else { continue };
        let (table, name) = (&entry.def.name, RelationName::name_of_key(&key));
        partition::check_dropped(entry, name)?;
        let parted = entry.partitions().is_some().then(|| table.clone());
        let Some(position) = entry.def.indexes.iter().position(|i| i.name == name) else {
            let mut table = Redefined::new(redefined::locked_named(session, table)?);
            table.retain_block_indexes(|index| index.name != name);
            index::replace(session, table)?;
            continue;
        };
        let excludes = entry.def.indexes[position].excludes();
        if excludes || entry.def.keys.iter().any(|key| key.name == name) {
            let message = format!(
                "cannot drop index {name} because constraint {name} on table {table} requires it"
            );
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .with_hint(format!("You can drop constraint {name} on table {table} instead.")));
        }
        let lost = relying(&state, entry, position);
        if let (Some((other, key)), DropBehaviour::Restrict) = (lost.first(), drop.behaviour) {
            let dependent = format!("constraint {key} on table {other}");
            return Err(needed(&format!("index {name}"), &dependent));
        }
        let changed = without_foreign_keys(session, lost)?;
        session.change_catalog(|state| {
            state.tables.extend(changed.into_iter().map(|e| (e.def.name.clone(), e)));
            wide::drop_unfit(state, &[], &format!("index {name}"), drop.behaviour)
        })?;
        // It may have been among those that lost a foreign key.
        let mut table = Redefined::new(redefined::locked_named(session, table)?);
        if let Some(position) = table.def.indexes.iter().position(|i| i.name == name) {
            table.remove_index(position);
        }
        index::replace(session, table)?;
        if let Some(parted) = parted {
            partition::follow_parts(&mut Running::own(session), &parted)?;
        }
    }
    Ok(QueryResult::command("DROP INDEX"))
}

/// Foreign keys, as table and constraint, that need the unique index at `position`.
pub(super) fn relying(state: &State, entry: &TableEntry, position: usize) -> Vec<(String, String)> {
    let columns_of = |position: usize| -> BTreeSet<usize> {
        entry.def.indexes[position].columns.iter().map(|c| c.ordinal).collect()
    };
    let is_unique = |i: usize| {
        let index = &entry.def.indexes[i];
        index.unique != sql::catalog::Uniqueness::No && index.terms.is_empty()
    };
    let columns = columns_of(position);
    let twin = |i: usize| i != position && is_unique(i) && columns_of(i) == columns;
    if !is_unique(position) || (0..entry.def.indexes.len()).any(twin) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for table in state.tables.values() {
        for fk in &table.def.foreign_keys {
            let references: BTreeSet<usize> = fk.references.iter().copied().collect();
            if fk.table.name == entry.def.name && references == columns {
                all.push((table.def.name.clone(), fk.name.clone()));
            }
        }
    }
    all
}

/// Carries out ON COMMIT of the session's temporary tables, before its transaction commits.
pub(super) fn on_commit(session: &mut Session) -> Result<()> {
    let (mut dropped, mut emptied) = (Vec::new(), Vec::new());
    for table in session.work().temporary.tables.values() {
        match table.def.on_commit {
            OnCommit::Keep => {}
            OnCommit::Drop => dropped.push(RelationName::of_key(&table.def.name)),
            OnCommit::DeleteRows => emptied.push(Arc::clone(table)),
        }
    }
    if !dropped.is_empty() {
        let (if_missing, behaviour) = (IfMissing::Fail, DropBehaviour::Cascade);
        tables(session, &DropRelations { names: dropped, if_missing, behaviour })?;
    }
    // Tables that were never written need no new storage, but their referrers are looked at.
    let state = session.state();
    let is_emptied = |name: &str| emptied.iter().any(|table| table.def.name == name);
    let needs_work = emptied.iter().any(|table| {
        let referrers = table::referrers(&state, &table.def.name);
        !table.storage().block_infos().is_empty()
            || !referrers.iter().all(|(name, _)| is_emptied(name))
    });
    drop(state);
    if needs_work {
        let as_ref = |table| TableRef(table as Arc<dyn TableMeta>);
        let tables = emptied.into_iter().map(as_ref).collect();
        let (identity, behaviour) = (TruncateIdentity::Continue, DropBehaviour::Restrict);
        let truncate = Truncate { tables, identity, behaviour };
        table::truncate(&mut Running::own(session), &truncate)?;
    }
    Ok(())
}

/// DISCARD TEMPORARY.
pub(super) fn temporary(session: &mut Session) -> Result<()> {
    if session.work().temporary.is_empty() {
        return Ok(());
    }
    session.change_catalog(|state| {
        state.tables.retain(|_, t| t.def.persistence == Persistence::Permanent);
        state.views.retain(|_, v| v.persistence == Persistence::Permanent);
        state.sequences.retain(|_, s| s.persistence == Persistence::Permanent);
        state.routines.retain(|key, _| RelationName::schema_of_key(key) != "pg_temp");
        Ok(())
    })
}
