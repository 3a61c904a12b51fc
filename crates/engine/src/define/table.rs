//! CREATE TABLE, CREATE TABLE AS, TRUNCATE.

use std::sync::Arc;

use catalog::keys;
use catalog::locks::{LockMode, TableLock};
use catalog::rights::Object;
use catalog::stored::{foreign_index, key_index, schema_of};
use catalog::wide::Freshness;
use catalog::{Indexes, State, TableDef, TableEntry};
use exec::Opener;
use sql::algebra::Query;
use sql::catalog::{ForeignKeyDef, IndexMeta, TriggerEvent};
use sql::statement::{
    CreateTable, CreateTableAs, DropBehaviour, DropRelations, IfExists, IfMissing, Persistence,
    Privilege, Privileges, RelationName, Truncate, TruncateIdentity, WithData,
};
use storage::{Table, TableId};
use types::{Error, Result, SqlState};

use super::{
    drop, inherit, layout_of, may_create, names, order_of, partition, persistence_of, redefined,
    sequence, wide,
};
use crate::statement::admission::Rows;
use crate::statement::running::{Run, Running};
use crate::write::insert::{BULK_ROWS, load_result, load_stream};
use crate::write::triggers::{self, StatementTriggers};
use crate::write::writer::TableWriter;
use crate::write::{deferred, indexes};
use crate::{QueryResult, Session};

/// Storage for a new table of this definition, without indexes.
fn bare_storage(session: &Session, def: &TableDef) -> Arc<Table> {
    let inner = session.inner();
    let schema = schema_of(&def.columns);
    let id = match def.persistence {
        Persistence::Permanent => TableId(inner.next_object_id()),
        Persistence::Temporary => TableId::temporary(inner.next_object_id()),
    };
    Table::new(id, def.name.clone(), schema, def.layout, inner.pool.clone())
}

/// A new table nobody else knows, filled with the rows of `query`, its indexes built after them;
/// generated columns are computed anew, CHECK and foreign keys not looked at. How many rows there
/// are.
///
/// # Errors
/// 23502, 23505; what the query raises.
pub(super) fn new_filled(
    running: &mut Running<'_>,
    def: TableDef,
    lock: Arc<TableLock>,
    query: Option<(&Query, Run)>,
) -> Result<(Arc<TableEntry>, u64)> {
    let storage = bare_storage(running.session, &def);
    let entry = Arc::new(TableEntry::new(def, storage, lock, Indexes::Deferred));
    let rows = match query {
        Some((query, run)) => fill(running, &entry, query, run)?,
        None => 0,
    };
    indexes::ensure_built(running.session, &entry)?;
    Ok((entry, rows))
}

/// Puts the rows of `query` into a table nobody else knows yet.
fn fill(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    query: &Query,
    run: Run,
) -> Result<u64> {
    entry.generated.prepare(&entry.def, &running.session.own_catalog())?;
    let (plan, context) = running.plan_query(query, run)?;
    let is_load = plan.root.rows >= BULK_ROWS && !plan.calls_routines;
    running.admit(&plan, &context, if is_load { Rows::HandedOn } else { Rows::Kept })?;
    if is_load {
        let mut opener = Opener::new(Arc::clone(&context));
        opener.run_preludes(&plan)?;
        let stream = opener.open(&plan.root, Vec::new())?;
        return load_stream(running, &context, &stream, entry);
    }
    let mut result = running.execute(&plan, &context)?;
    if result.rows() as f64 >= BULK_ROWS {
        return load_result(running, entry, result);
    }
    for batch in &mut result.batches {
        entry.generated.fill(batch)?;
        TableWriter::inserting(entry).store(running, batch)?;
    }
    Ok(result.rows() as u64)
}

/// CREATE TABLE.
pub(super) fn create(session: &mut Session, create: CreateTable) -> Result<QueryResult> {
    let done = QueryResult::command("CREATE TABLE");
    let name = session.state().key_of(&create.name)?;
    let persistence = persistence_of(&create.name, create.persistence);
    replace(session, &create.name, &name, create.if_exists)?;
    if !may_create(&session.state(), &name, create.if_exists)? {
        super::tell_taken(&mut session.definer(), &name);
        return Ok(done);
    }
    let mut def = TableDef::new(&name, create.columns, layout_of(session, &create.options)?);
    def.order_by = order_of(&def.columns, &create.options)?;
    (def.keys, def.checks) = (create.keys, create.checks);
    (def.foreign_keys, def.persistence) = (create.foreign_keys, persistence);
    def.on_commit = create.on_commit;
    def.partition_by = create.partition_by;
    inherit::begin(&mut Running::own(session), &create.parents, create.merged)?;
    def.inheritance = create.inheritance;
    let mut place = match &create.partition_of {
        Some(place) => {
            let mode = LockMode::ShareRowExclusive;
            let parent = redefined::locked_in(session, &place.parent, mode)?;
            partition::check_persistence(&parent.def, &def)?;
            Some((
                partition::place(&mut Running::own(session), &parent, &name, &place.bound)?,
                parent,
            ))
        }
        None => None,
    };
    names::name_keys(&mut def, &session.state())?;
    for key in &def.foreign_keys {
        check_persistence(&session.state(), &def, key)?;
        // Its rows stay while there is no one yet to see that they are referred to.
        if key.table.name != name {
            redefined::named_in(session, &key.table.name, LockMode::ShareRowExclusive)?;
        }
    }
    let sequences = sequence::for_columns(session, &mut def, create.sequences);
    def.indexes = def.keys.iter().map(|key| key_index(key, &def.columns)).collect();
    def.indexes.extend(def.foreign_keys.iter().map(foreign_index));
    for mut index in create.indexes {
        names::name_exclusion(&def, &session.state(), &mut index)?;
        let is_taken = |name: &str| {
            session.state().contains(&RelationName::key_beside(&def.name, name))
                || def.indexes.iter().any(|known| known.name == name)
        };
        let name = names::free(&index.name, is_taken);
        def.indexes.push(IndexMeta { name, ..index });
    }
    if let Some((place, parent)) = &mut place {
        partition::take_over_new(&session.state(), &parent.def, &mut def, place)?;
    }
    let parent = place.as_ref().map(|(_, parent)| parent.def.name.clone());
    def.partition_of = place.map(|(place, _)| place);
    let (entry, _) = new_filled(&mut Running::own(session), def, Arc::default(), None)?;
    let own = name.clone();
    session.change_catalog(|state| {
        state.sequences.extend(sequences.into_iter().map(|s| (s.name.clone(), s)));
        state.tables.insert(name.clone(), entry);
        if persistence == Persistence::Permanent {
            state.copy_comments(&name, &create.comments);
        }
        Ok(())
    })?;
    if let Some(parent) = parent {
        partition::verify_default(&mut Running::own(session), &parent, &own)?;
    }
    Ok(done)
}

/// Drops the table `name` when CREATE OR REPLACE TABLE is to put another one in its place.
///
/// # Errors
/// 2BP01 when something depends on it, 42809 when it is no table.
fn replace(
    session: &mut Session,
    written: &RelationName,
    name: &str,
    if_exists: IfExists,
) -> Result<()> {
    if if_exists != IfExists::Replace || !session.state().contains(name) {
        return Ok(());
    }
    let names = vec![written.clone()];
    let (if_missing, behaviour) = (IfMissing::Fail, DropBehaviour::Restrict);
    drop::tables(session, &DropRelations { names, if_missing, behaviour })?;
    Ok(())
}

/// 42P16 when one of the two tables of a foreign key outlives the other.
pub(super) fn check_persistence(state: &State, def: &TableDef, key: &ForeignKeyDef) -> Result<()> {
    let other = state.persistence_of(&key.table.name).unwrap_or(def.persistence);
    if other == def.persistence {
        return Ok(());
    }
    let kind = match def.persistence {
        Persistence::Permanent => "permanent",
        Persistence::Temporary => "temporary",
    };
    let message = format!("constraints on {kind} tables may reference only {kind} tables");
    Err(Error::new(SqlState::INVALID_DEFINITION, message))
}

/// CREATE TABLE AS.
pub(super) fn create_as(running: &mut Running<'_>, create: CreateTableAs) -> Result<QueryResult> {
    let name = running.session.state().key_of(&create.name)?;
    let persistence = persistence_of(&create.name, create.persistence);
    let replaces = create.if_exists == IfExists::Replace;
    if !replaces && !may_create(&running.session.state(), &name, create.if_exists)? {
        super::tell_taken(&mut running.session.definer(), &name);
        return Ok(QueryResult::command("CREATE TABLE AS"));
    }
    let mut def =
        TableDef::new(&name, create.columns, layout_of(running.session, &create.options)?);
    def.order_by = order_of(&def.columns, &create.options)?;
    (def.persistence, def.on_commit) = (persistence, create.on_commit);
    let query = (create.data == WithData::Fill).then_some((&create.query, Run::default()));
    let (entry, rows) = new_filled(running, def, Arc::default(), query)?;
    // The rows may be those of the table that goes.
    replace(running.session, &create.name, &name, create.if_exists)?;
    running.session.change_catalog(|state| {
        state.tables.insert(name, entry);
        Ok(())
    })?;
    Ok(QueryResult::command(format!("SELECT {rows}")))
}

/// Foreign keys that refer to `name`, or to a table that it is a partition of, from other tables:
/// table and constraint.
pub(super) fn referrers(state: &State, name: &str) -> Vec<(String, String)> {
    let Some(entry) = state.tables.get(name) else { return Vec::new() };
    let referring = keys::referring(state, entry, None).into_iter();
    let others = referring.filter(|(table, _)| table.def.name != name);
    others.map(|(table, fk)| (table.def.name.clone(), fk.name)).collect()
}

/// TRUNCATE: the tables get new storage, so it is taken back like any change of the catalog.
pub(super) fn truncate(running: &mut Running<'_>, truncate: &Truncate) -> Result<QueryResult> {
    let session = &mut *running.session;
    for table in &truncate.tables {
        redefined::locked(session, table)?;
    }
    let mut names: Vec<String> = truncate.tables.iter().map(|t| t.name().to_owned()).collect();
    let mut at = 0;
    while at < names.len() {
        for (table, _) in referrers(&session.state(), &names[at]) {
            if names.contains(&table) {
                continue;
            }
            if truncate.behaviour == DropBehaviour::Restrict {
                return Err(referenced_rows(&table, &names[at]));
            }
            let (who, object) = (session.who(), Object::Relation(table.clone()));
            session.state().check(&who, &object, Privileges::of(&[Privilege::Truncate]))?;
            names.push(table);
        }
        at += 1;
    }
    names.sort();
    names.dedup();
    let mut triggers = Vec::new();
    for name in &names {
        let events = [(TriggerEvent::Truncate, &[][..])];
        triggers.extend(StatementTriggers::begin(running, name, &events)?);
    }
    empty(running.session, &names, truncate)?;
    triggers.into_iter().for_each(|triggers| triggers.end(running));
    triggers::settle(running)?;
    Ok(QueryResult::command("TRUNCATE TABLE"))
}

/// 0A000 for a table that is to be empty while `child` refers to its rows.
pub(super) fn referenced_rows(child: &str, parent: &str) -> Error {
    let message = "cannot truncate a table referenced in a foreign key constraint";
    let hint = format!("Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE.");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .with_detail(format!("Table \"{child}\" references \"{parent}\"."))
        .with_hint(hint)
}

/// Empties tables, which are locked.
fn empty(session: &mut Session, names: &[String], truncate: &Truncate) -> Result<()> {
    let mut emptied = Vec::new();
    for name in names {
        let entry = redefined::locked_named(session, name)?;
        deferred::refuse_waiting(session, &entry, "TRUNCATE")?;
        let (def, lock) = (entry.def.clone(), Arc::clone(&entry.lock));
        emptied.push(new_filled(&mut Running::own(session), def, lock, None)?.0);
    }
    let who = session.who();
    session.change_catalog(|state| {
        if truncate.identity == TruncateIdentity::Restart {
            for name in names {
                sequence::check_owned(state, name, &who)?;
            }
            names.iter().for_each(|name| sequence::restart_owned(state, name));
        }
        for entry in emptied {
            wide::renew(state, &entry.def.name, |_| Freshness::ended());
            state.tables.insert(entry.def.name.clone(), entry);
        }
        Ok(())
    })
}
