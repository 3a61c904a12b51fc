//! Indexes of tables: those that keys need, and those of CREATE INDEX.

use std::sync::Arc;

use sql::catalog::{self, IndexMeta};
use sql::statement::{CreateIndex, Naming, Persistence, RelationName};
use storage::{
    IndexColumn, IndexSpec, RowBuffer, SubBlockKind, SubBlockSpec, Table, TableIndex, WeaveForm,
    WriteError,
};
use types::{Error, Result, SqlState};

use super::redefined::{self, Redefined};
use super::{may_create, names};
use crate::catalog::{State, TableDef, TableEntry, undefined_table};
use crate::derived;
use crate::locks::LockMode;
use crate::write::deferred;
use crate::write::rows::newest;
use crate::{QueryResult, Session};

/// What storage needs to know of an index of the table.
///
/// # Errors
/// XX000 for one that blocks have.
pub(crate) fn spec_of(id: u64, meta: &IndexMeta) -> Result<IndexSpec> {
    use kernels::keys::{SortDirection, SortNulls};
    use sql::algebra::{Direction, NullsOrder};
    let column = |c: &catalog::IndexColumn| IndexColumn {
        ordinal: c.expression().map_or(c.ordinal, |number| storage::INDEX_EXPRESSION + number),
        order: match c.direction {
            Direction::Ascending => SortDirection::Ascending,
            Direction::Descending => SortDirection::Descending,
        },
        nulls: match c.nulls {
            NullsOrder::First => SortNulls::First,
            NullsOrder::Last => SortNulls::Last,
        },
    };
    let kind = match meta.kind {
        catalog::IndexKind::Ordered => storage::IndexKind::Ordered,
        catalog::IndexKind::Hash => storage::IndexKind::Hash,
        kind => return Err(Error::internal(format!("a table-wide {} index", kind.method()))),
    };
    Ok(IndexSpec {
        id,
        name: meta.name.clone(),
        columns: meta.columns.iter().map(column).collect(),
        unique: match meta.unique {
            catalog::Uniqueness::No => storage::Uniqueness::No,
            catalog::Uniqueness::Distinct => storage::Uniqueness::Distinct,
            catalog::Uniqueness::NullsNotDistinct => storage::Uniqueness::NullsNotDistinct,
        },
        kind,
    })
}

/// What storage needs to know of an index that blocks have.
///
/// # Errors
/// XX000 for one of the table, or without a column.
pub(crate) fn sub_block_spec(id: u64, meta: &IndexMeta) -> Result<SubBlockSpec> {
    let kind = match meta.kind {
        catalog::IndexKind::Csb => SubBlockKind::Csb,
        catalog::IndexKind::BitWeaving(form) => SubBlockKind::BitWeaving(match form {
            catalog::WeaveForm::Vertical => WeaveForm::Vertical,
            catalog::WeaveForm::Horizontal => WeaveForm::Horizontal,
        }),
        catalog::IndexKind::Bloom { bits_per_key } => SubBlockKind::Bloom { bits_per_key },
        kind => return Err(Error::internal(format!("a {} index of blocks", kind.method()))),
    };
    match meta.columns[..] {
        [column] => Ok(SubBlockSpec { id, name: meta.name.clone(), column: column.ordinal, kind }),
        _ => Err(Error::internal("an index of blocks has one column")),
    }
}

/// Gives the frozen blocks of the table in storage an index; its number.
///
/// # Errors
/// 53200.
pub(crate) fn add_to_blocks(
    session: &Session,
    table: &Arc<Table>,
    meta: &IndexMeta,
) -> Result<u64> {
    let id = session.inner().next_object_id();
    table.add_sub_blocks(sub_block_spec(id, meta)?, session.database().threads())?;
    Ok(id)
}

/// Gives the table in storage an index, filled from its rows by all workers.
///
/// # Errors
/// 53200; 23505 when rows have equal keys in a unique index; what an expression raises.
pub(crate) fn add(
    session: &Session,
    table: &Arc<Table>,
    def: &TableDef,
    meta: &IndexMeta,
) -> Result<Arc<TableIndex>> {
    let (id, columns) = (session.inner().next_object_id(), &def.columns);
    let index = derived::new_index(id, table, columns, meta)?;
    let threads = session.database().threads();
    match table.add_index(index, threads, session.work().txn.id()) {
        Ok(index) => Ok(index),
        Err(WriteError::Failed(error)) => Err(error),
        Err(WriteError::Duplicate { tid, .. }) => {
            let message = format!("could not create unique index \"{}\"", meta.name);
            let error = Error::new(SqlState::UNIQUE_VIOLATION, message);
            let error = error.about_part(def.about_constraint(&meta.name));
            // Only its definition is asked for: the index that was built is gone.
            let index = derived::new_index(id, table, columns, meta)?;
            let mut row = RowBuffer::new();
            if table.read(newest(session.work()), tid, index.ordinals(), &mut row) {
                let key = derived::key_text(columns, meta, &index, &row)?;
                Err(error.with_detail(format!("Key {key} is duplicated.")))
            } else {
                Err(error)
            }
        }
        Err(WriteError::Wait(_) | WriteError::Conflict { .. } | WriteError::Null { .. }) => {
            Err(Error::internal("a table without writers has no conflicts"))
        }
    }
}

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
                super::tell_taken(session, &key);
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
    replace(session, table)?;
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

/// Whether a new index of the table cannot have this name.
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
    session.change_catalog(|state| {
        if entry.def.persistence == Persistence::Permanent {
            state.rename_comments(&key, &RelationName::key_beside(&key, &to));
        }
        state.tables.insert(entry.def.name.clone(), entry);
        Ok(())
    })?;
    Ok(QueryResult::command("ALTER INDEX"))
}

/// Builds the indexes of a table from a generator before its first write.
///
/// # Errors
/// 53200.
pub(crate) fn ensure_built(session: &Session, entry: &Arc<TableEntry>) -> Result<()> {
    if entry.is_indexed() {
        return Ok(());
    }
    let _building = session.inner().index_building.lock();
    if entry.is_indexed() {
        return Ok(());
    }
    for meta in &entry.def.indexes {
        add(session, entry.storage(), &entry.def, meta)?;
    }
    for meta in &entry.def.block_indexes {
        add_to_blocks(session, entry.storage(), meta)?;
    }
    entry.set_indexed();
    Ok(())
}
