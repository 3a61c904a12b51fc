//! Indexes built over rows that are there.

use std::sync::Arc;

use catalog::stored::sub_block_spec;
use catalog::{TableDef, TableEntry, derived};
use sql::catalog::IndexMeta;
use storage::{IndexId, RowBuffer, Table, TableIndex, WriteError};
use types::{Error, Result, SqlState};

use crate::Session;
use crate::transaction::work::newest;

/// Gives the frozen blocks of the table in storage an index; its number.
///
/// # Errors
/// 53200.
pub(crate) fn add_to_blocks(
    session: &Session,
    table: &Arc<Table>,
    meta: &IndexMeta,
) -> Result<IndexId> {
    let id = IndexId(session.inner().next_object_id());
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
    let (id, columns) = (IndexId(session.inner().next_object_id()), &def.columns);
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
            if table.read(newest(session.work()), tid, index.ordinals(), &mut row)? {
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
