//! Indexes of tables: those that keys need, and those of CREATE INDEX.

use std::sync::Arc;

use sql::catalog::{self, IndexMeta};
use storage::{IndexColumn, IndexSpec, Table, TableIndex, WriteError};
use types::{Error, Result, SqlState};

use crate::Session;
use crate::catalog::TableEntry;
use crate::write::rows::newest;

/// What storage needs to know of an index.
pub(crate) fn spec_of(id: u64, meta: &IndexMeta) -> IndexSpec {
    use kernels::keys::{SortDirection, SortNulls};
    use sql::algebra::{Direction, NullsOrder};
    let column = |c: &catalog::IndexColumn| IndexColumn {
        ordinal: c.ordinal,
        order: match c.direction {
            Direction::Ascending => SortDirection::Ascending,
            Direction::Descending => SortDirection::Descending,
        },
        nulls: match c.nulls {
            NullsOrder::First => SortNulls::First,
            NullsOrder::Last => SortNulls::Last,
        },
    };
    IndexSpec {
        id,
        name: meta.name.clone(),
        columns: meta.columns.iter().map(column).collect(),
        unique: match meta.unique {
            catalog::Uniqueness::No => storage::Uniqueness::No,
            catalog::Uniqueness::Distinct => storage::Uniqueness::Distinct,
            catalog::Uniqueness::NullsNotDistinct => storage::Uniqueness::NullsNotDistinct,
        },
        kind: match meta.kind {
            catalog::IndexKind::Ordered => storage::IndexKind::Ordered,
            catalog::IndexKind::Hash => storage::IndexKind::Hash,
        },
    }
}

/// Gives the table in storage an index, filled from its rows.
///
/// # Errors
/// 53200; 23505 when rows have equal keys in a unique index.
pub(crate) fn add(
    session: &Session,
    table: &Arc<Table>,
    entry_name: &str,
    meta: &IndexMeta,
) -> Result<()> {
    let id = session.inner().next_object_id();
    let index = TableIndex::new(spec_of(id, meta), table.schema(), table.pool())?;
    let threads = session.database().threads();
    let _ = (entry_name, newest(session.work()));
    match table.add_index(index, threads) {
        Ok(_) => Ok(()),
        Err(WriteError::Failed(error)) => Err(error),
        Err(WriteError::Duplicate { .. }) => {
            let message = format!("could not create unique index \"{}\"", meta.name);
            Err(Error::new(SqlState(*b"23505"), message))
        }
        Err(WriteError::Wait(_) | WriteError::Conflict { .. }) => {
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
        add(session, entry.storage(), &entry.def.name, meta)?;
    }
    entry.set_indexed();
    Ok(())
}
