//! Indexes of tables: those that keys need, and those of CREATE INDEX.

use catalog::locks::LockMode;
use catalog::{State, TableDef, undefined_table};
use sql::catalog::IndexMeta;
use sql::statement::{CreateIndex, Naming, Persistence, RelationName};
use types::Result;

use super::redefined::{self, Redefined};
use super::{may_create, names, partition};
use crate::statement::running::Running;
use crate::write::deferred;
use crate::{QueryResult, Session};

/// CREATE INDEX.
pub(super) fn create(session: &mut Session, create: CreateIndex) -> Result<QueryResult> {
    // Not SHARE, as in PostgreSQL: who locks rows writes, too.
    let entry = redefined::locked_in(session, &create.table, LockMode::Exclusive)?;
    deferred::refuse_waiting(session, &entry, "CREATE INDEX")?;
    let done = QueryResult::command("CREATE INDEX");
    let state = session.state();
    let name = match create.naming {
        Naming::Chosen => names::free(&create.name, |n| is_taken(&state, &entry.def, n)),
        Naming::Given => {
            let key = RelationName::key_beside(&entry.def.name, &create.name);
            if !may_create(&state, &key, create.if_exists)? {
                super::tell_taken(&mut session.definer(), &key);
                return Ok(done);
            }
            if entry.def.serves_foreign_key(&create.name) {
                return Err(names::taken(&create.name));
            }
            create.name
        }
    };
    let (columns, unique, kind, terms) = (create.columns, create.unique, create.kind, create.terms);
    let mut table = Redefined::new(entry);
    let meta = IndexMeta { name, columns, unique, kind, terms };
    if kind.is_of_blocks() {
        table.add_block_index(meta);
    } else {
        table.add_index(meta);
    }
    let key = table.def.name.clone();
    replace(session, table)?;
    if !create.partitions.is_empty() {
        partition::follow_parts(&mut Running::own(session), &key)?;
    }
    Ok(done)
}

/// Finishes a redefinition and puts it into the catalog.
pub(super) fn replace(session: &mut Session, table: Redefined) -> Result<()> {
    let entry = table.finish(session)?;
    session.change_catalog(|state| {
        state.tables.insert(entry.def.name.clone(), entry);
        Ok(())
    })
}

/// True when a new index of the table cannot have this name.
pub(super) fn is_taken(state: &State, def: &TableDef, name: &str) -> bool {
    state.contains(&RelationName::key_beside(&def.name, name)) || def.serves_foreign_key(name)
}

/// ALTER INDEX ... RENAME TO: the constraint that has the index is renamed with it.
pub(super) fn rename(
    session: &mut Session,
    name: &RelationName,
    to: String,
) -> Result<QueryResult> {
    let state = session.state();
    let key = state.key_of(name)?;
    let Some(entry) = state.table_of_index(&key) else {
        return Err(undefined_table(&name.name));
    };
    let name = name.name.as_str();
    if is_taken(&state, &entry.def, &to) {
        return Err(names::taken(&to));
    }
    let entry = redefined::locked_named(session, &entry.def.name)?;
    let mut table = Redefined::new(entry);
    for key in table.def.keys.iter_mut().filter(|key| key.name == name) {
        key.name.clone_from(&to);
    }
    let def = &mut table.def;
    let indexes = def.indexes.iter_mut().chain(&mut def.block_indexes);
    indexes.filter(|index| index.name == name).for_each(|index| to.clone_into(&mut index.name));
    let entry = table.finish(session)?;
    let table = entry.def.name.clone();
    session.change_catalog(|state| {
        if entry.def.persistence == Persistence::Permanent {
            state.rename_comments(&key, &RelationName::key_beside(&key, &to));
        }
        state.tables.insert(entry.def.name.clone(), entry);
        partition::rename_index(state, &table, name, &to);
        Ok(())
    })?;
    Ok(QueryResult::command("ALTER INDEX"))
}
