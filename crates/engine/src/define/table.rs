//! CREATE, DROP and TRUNCATE TABLE.

use std::sync::Arc;

use exec::Opener;
use sql::algebra::{Direction, NullsOrder};
use sql::catalog::{
    ColumnDef, ForeignKeyDef, IndexColumn, IndexKind, IndexMeta, KeyDef, KeyNulls, Uniqueness,
};
use sql::statement::{
    CreateTable, CreateTableAs, DropBehaviour, DropRelations, IfExists, IfMissing, Persistence,
    Truncate, WithData,
};
use storage::{ColumnSpec, Schema, Table};
use types::{Error, Result, SqlState};

use super::{index, layout_of, local_name, may_create, view};
use crate::catalog::{Indexes, State, TableDef, TableEntry};
use crate::durable::temporary_table;
use crate::locks::{LockMode, TableLock};
use crate::session::Run;
use crate::write::insert::{BULK_ROWS, load_stream, write_batch};
use crate::{QueryResult, Session};

/// The columns as storage sees them.
pub(crate) fn schema_of(columns: &[ColumnDef]) -> Schema {
    let spec = |column: &ColumnDef| {
        let mut spec = ColumnSpec::new(column.name.clone(), column.ty);
        spec.not_null = column.not_null;
        spec
    };
    Schema::new(columns.iter().map(spec).collect())
}

fn ascending(ordinal: &usize) -> IndexColumn {
    let (direction, nulls) = (Direction::Ascending, NullsOrder::Last);
    IndexColumn { ordinal: *ordinal, direction, nulls }
}

/// The index that enforces a key.
pub(crate) fn key_index(key: &KeyDef) -> IndexMeta {
    IndexMeta {
        name: key.name.clone(),
        columns: key.columns.iter().map(ascending).collect(),
        unique: match key.nulls {
            KeyNulls::Distinct => Uniqueness::Distinct,
            KeyNulls::NotDistinct => Uniqueness::NullsNotDistinct,
        },
        kind: IndexKind::Ordered,
    }
}

/// The index by which a referenced row finds who refers to it.
pub(crate) fn foreign_index(key: &ForeignKeyDef) -> IndexMeta {
    IndexMeta {
        name: key.name.clone(),
        columns: key.columns.iter().map(ascending).collect(),
        unique: Uniqueness::No,
        kind: IndexKind::Ordered,
    }
}

/// Storage for a new table of this definition, its indexes empty.
pub(crate) fn new_storage(session: &Session, def: &TableDef) -> Result<Arc<Table>> {
    let inner = session.inner();
    let schema = schema_of(&def.columns);
    let id = match def.persistence {
        Persistence::Permanent => inner.next_object_id(),
        Persistence::Temporary => temporary_table(inner.next_object_id()),
    };
    let table = Table::new(id, def.name.clone(), schema, def.layout, inner.pool.clone());
    for meta in &def.indexes {
        index::add(session, &table, &def.name, meta)?;
    }
    Ok(table)
}

fn new_entry(session: &Session, def: TableDef) -> Result<Arc<TableEntry>> {
    let storage = new_storage(session, &def)?;
    Ok(Arc::new(TableEntry::new(def, storage, Arc::<TableLock>::default(), Indexes::Built)))
}

pub(super) fn create(session: &mut Session, create: CreateTable) -> Result<QueryResult> {
    let name = local_name(&create.name)?.to_owned();
    if !may_create(&session.state(), &name, create.if_exists)? {
        return Ok(QueryResult::command("CREATE TABLE"));
    }
    let layout = layout_of(session, &create.options)?;
    let mut def = TableDef::new(&name, create.columns, layout);
    def.indexes = create.keys.iter().map(key_index).collect();
    def.indexes.extend(create.foreign_keys.iter().map(foreign_index));
    (def.keys, def.checks) = (create.keys, create.checks);
    def.foreign_keys = create.foreign_keys;
    def.persistence = create.persistence;
    let entry = new_entry(session, def)?;
    session.change_catalog(|state| {
        if may_create(state, &name, create.if_exists)? {
            state.tables.insert(name, entry);
        }
        Ok(())
    })?;
    Ok(QueryResult::command("CREATE TABLE"))
}

pub(super) fn create_as(session: &mut Session, create: CreateTableAs) -> Result<QueryResult> {
    let name = local_name(&create.name)?.to_owned();
    if !may_create(&session.state(), &name, create.if_exists)? {
        return Ok(QueryResult::command("CREATE TABLE AS"));
    }
    let layout = layout_of(session, &create.options)?;
    let mut def = TableDef::new(&name, create.columns, layout);
    def.persistence = create.persistence;
    let entry = new_entry(session, def)?;
    let mut rows = 0;
    if create.data == WithData::Fill {
        rows = fill(session, &entry, &create.query)?;
    }
    session.change_catalog(|state| {
        if may_create(state, &name, IfExists::Fail)? {
            state.tables.insert(name, entry);
        }
        Ok(())
    })?;
    Ok(QueryResult::command(format!("SELECT {rows}")))
}

/// Puts the rows of `query` into a table nobody else knows yet.
pub(crate) fn fill(
    session: &mut Session,
    entry: &Arc<TableEntry>,
    query: &sql::algebra::Query,
) -> Result<u64> {
    let (plan, context) = session.prepare(query, Run::default())?;
    if plan.root.rows >= BULK_ROWS {
        let mut opener = Opener::new(Arc::clone(&context));
        opener.run_preludes(&plan)?;
        let stream = opener.open(&plan.root, Vec::new())?;
        return load_stream(session, &context, &stream, entry);
    }
    let result = exec::execute(&plan, &context)?;
    for batch in &result.batches {
        write_batch(session, entry, batch)?;
    }
    Ok(result.rows() as u64)
}

/// Tables whose foreign keys refer to `name`, other than itself.
fn referrers(state: &State, name: &str) -> Vec<(String, String)> {
    let refers = |t: &Arc<TableEntry>| -> Vec<(String, String)> {
        let keys = t.def.foreign_keys.iter().filter(|fk| fk.table.name == name);
        keys.map(|fk| (t.def.name.clone(), fk.name.clone())).collect()
    };
    state.tables.values().filter(|t| t.def.name != name).flat_map(refers).collect()
}

pub(super) fn drop_all(session: &mut Session, drop: &DropRelations) -> Result<QueryResult> {
    for name in &drop.names {
        let name = local_name(name)?;
        let entry = session.state().tables.get(name).cloned();
        if let Some(entry) = entry {
            session.lock_table(name, entry.storage(), LockMode::Exclusive)?;
        }
    }
    session.change_catalog(|state| {
        for name in &drop.names {
            let name = local_name(name)?;
            match state.kind_of(name) {
                Some("table") => drop_table(state, name, drop.behaviour, &drop.names)?,
                Some(other) => return Err(wrong_kind(name, "table", other)),
                None if drop.if_missing == IfMissing::Skip => {}
                None => {
                    let message = format!("table \"{name}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
                }
            }
        }
        Ok(())
    })?;
    Ok(QueryResult::command("DROP TABLE"))
}

/// 42809 for DROP of another kind of relation.
pub(super) fn wrong_kind(name: &str, wanted: &str, kind: &str) -> Error {
    let hint = format!("Use DROP {} to remove a {kind}.", kind.to_uppercase());
    let message = format!("\"{name}\" is not a {wanted}");
    Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint(hint)
}

fn drop_table(
    state: &mut State,
    name: &str,
    behaviour: DropBehaviour,
    dropped: &[sql::statement::RelationName],
) -> Result<()> {
    view::drop_dependents(state, name, behaviour)?;
    for (table, key) in referrers(state, name) {
        let goes_too = dropped.iter().any(|d| d.name == table);
        if behaviour == DropBehaviour::Restrict && !goes_too {
            let message = format!("cannot drop table {name} because other objects depend on it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .with_detail(format!("constraint {key} on table {table} depends on table {name}"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        if let Some(entry) = state.tables.get(&table) {
            let mut def = entry.def.clone();
            def.foreign_keys.retain(|fk| fk.name != key);
            let entry = Arc::new(entry.redefined(def));
            state.tables.insert(table, entry);
        }
    }
    state.tables.remove(name);
    state.sequences.retain(|_, s| s.owner.as_ref().is_none_or(|(table, _)| table != name));
    Ok(())
}

pub(super) fn truncate(session: &mut Session, truncate: &Truncate) -> Result<QueryResult> {
    session.work().check_writable("TRUNCATE TABLE")?;
    let mut names: Vec<String> = truncate.tables.iter().map(|t| t.name().to_owned()).collect();
    let mut at = 0;
    while at < names.len() {
        for (table, key) in referrers(&session.state(), &names[at]) {
            if names.contains(&table) {
                continue;
            }
            if truncate.behaviour == DropBehaviour::Restrict {
                let message = "cannot truncate a table referenced in a foreign key constraint";
                let detail = format!("Table \"{table}\" references \"{}\".", names[at]);
                let _ = key;
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_detail(detail)
                    .with_hint(format!(
                        "Truncate table \"{table}\" at the same time, or use TRUNCATE ... CASCADE."
                    )));
            }
            names.push(table);
        }
        at += 1;
    }
    let mut emptied = Vec::new();
    for name in &names {
        let entry = session.state().tables.get(name).cloned().ok_or_else(crate::work::stale)?;
        let entry = session.lock_table(name, entry.storage(), LockMode::Exclusive)?;
        let storage = new_storage(session, &entry.def)?;
        let lock = Arc::clone(&entry.lock);
        let empty = TableEntry::new(entry.def.clone(), storage, lock, Indexes::Built);
        emptied.push(Arc::new(empty));
    }
    session.change_catalog(|state| {
        for entry in emptied {
            state.tables.insert(entry.def.name.clone(), entry);
        }
        Ok(())
    })?;
    Ok(QueryResult::command("TRUNCATE TABLE"))
}
