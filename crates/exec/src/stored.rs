//! Tables of this process behind the planner's references: the one place where a reference becomes
//! what `storage` has.

use std::sync::Arc;

use sql::catalog::TableRef;
use storage::{Table, TableIndex};
use types::{Error, Result};

/// The stored table behind a reference.
///
/// # Errors
/// XX000 for a table that this process does not store.
pub fn stored_table(table: &TableRef) -> Result<Arc<Table>> {
    let object = table.object();
    object
        .downcast::<Table>()
        .map_err(|_| Error::internal(format!("table {} has no storage", table.name())))
}

/// The stored index at this position of the table's indexes.
///
/// # Errors
/// XX000 when there is none.
pub fn stored_index(table: &TableRef, position: usize) -> Result<Arc<TableIndex>> {
    let missing = || Error::internal(format!("no index {position} of table {}", table.name()));
    let object = table.index_object(position).ok_or_else(missing)?;
    object.downcast::<TableIndex>().map_err(|_| missing())
}
