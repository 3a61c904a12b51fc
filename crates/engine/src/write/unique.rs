//! Keys that are DEFERRABLE: looked at when a statement has written all its rows (`foreign`), or
//! later (`deferred`). Their indexes are not unique.
//!
//! Invariant: as with foreign keys, rows are written first and looked at afterwards in their newest
//! state, waiting for transactions that change them: of two that write one key, one sees the other.

use std::sync::Arc;

use catalog::TableEntry;
use sql::catalog::KeyDef;
use storage::Datum;
use types::{Error, Result, SqlState};

use super::rows::{find, key_of};
use crate::statement::running::Running;

/// Refuses a second row with the values `values` of a key.
///
/// # Errors
/// 23505.
pub(super) fn check(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    key: &KeyDef,
    values: &[Datum<'_>],
) -> Result<()> {
    let index = entry.def.indexes.iter().position(|index| index.name == key.name);
    let index = index.ok_or_else(|| Error::internal("a key has an index"))?;
    // New rows may have narrower numbers than the table.
    let columns = entry.storage().schema().columns();
    let widened = values.iter().zip(&key.columns);
    let widened: Vec<Datum<'_>> = widened
        .map(|(datum, &column)| datum.widened(columns[column].physical()).unwrap_or(*datum))
        .collect();
    if find(running, entry, index, &widened, 2)?.len() < 2 {
        return Ok(());
    }
    let name = &key.name;
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    let shown = key_of(&entry.def.columns, &key.columns, &mut values.iter().copied());
    let about = entry.def.about_constraint(name);
    let error = Error::new(SqlState::UNIQUE_VIOLATION, message).about_part(about);
    Err(error.with_detail(format!("Key {shown} already exists.")))
}
