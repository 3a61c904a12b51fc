//! Foreign keys of the catalog: who refers to a table, and by which index a key is found.

use std::sync::Arc;

use sql::catalog::{ForeignKeyDef, TableMeta, Uniqueness};
use types::{Error, Result};

use super::{State, TableEntry};

/// True when a foreign key of the table is over one of `columns`.
pub(crate) fn refers_by(entry: &TableEntry, columns: &[usize]) -> bool {
    entry.def.foreign_keys.iter().any(|fk| fk.columns.iter().any(|c| columns.contains(c)))
}

/// Foreign keys that refer to the table: by a key over one of `columns`, or by any.
pub(crate) fn referring(
    state: &State,
    entry: &TableEntry,
    columns: Option<&[usize]>,
) -> Vec<(Arc<TableEntry>, ForeignKeyDef)> {
    let mut all = Vec::new();
    for table in state.tables.values() {
        for fk in table.foreign_keys() {
            let touched = |columns: &[usize]| fk.references.iter().any(|c| columns.contains(c));
            if fk.table.name == entry.name() && columns.is_none_or(touched) {
                all.push((Arc::clone(table), fk.clone()));
            }
        }
    }
    all
}

/// True when foreign keys refer to the table: by a key over one of `columns`, or by any.
pub(crate) fn is_referenced(state: &State, entry: &TableEntry, columns: Option<&[usize]>) -> bool {
    !referring(state, entry, columns).is_empty()
}

/// The unique index of the table over exactly `columns`, and for each of its columns the position
/// in `columns`.
pub(crate) fn unique_index(entry: &TableEntry, columns: &[usize]) -> Result<(usize, Vec<usize>)> {
    for (number, index) in entry.def.indexes.iter().enumerate() {
        if !index.terms.is_empty() {
            continue;
        }
        let positions: Option<Vec<usize>> = index
            .columns
            .iter()
            .map(|c| columns.iter().position(|&wanted| wanted == c.ordinal))
            .collect();
        match positions {
            Some(positions)
                if positions.len() == columns.len() && index.unique != Uniqueness::No =>
            {
                return Ok((number, positions));
            }
            _ => {}
        }
    }
    Err(Error::internal("a foreign key refers to a key"))
}

/// The position of the index of a foreign key.
pub(crate) fn referring_index(child: &TableEntry, fk: &ForeignKeyDef) -> Result<usize> {
    let index = child.def.indexes.iter().position(|i| i.name == fk.name);
    index.ok_or_else(|| Error::internal("a foreign key has an index"))
}
