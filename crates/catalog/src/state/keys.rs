//! Foreign keys of the catalog: who refers to a table, and by which index a key is found.

use std::sync::Arc;

use sql::catalog::{ForeignKeyDef, KeyDef, TableMeta, Uniqueness};
use types::{Error, Result};

use super::partitions::places;
use super::{State, TableEntry};

/// True when a foreign key of the table, a key that is DEFERRABLE, or EXCLUDE is over one of
/// `columns`.
pub fn is_looked_at(entry: &TableEntry, columns: &[usize]) -> bool {
    let is_over = |of: &[usize]| of.iter().any(|column| columns.contains(column));
    entry.def.foreign_keys.iter().any(|fk| is_over(&fk.columns))
        || deferrable(entry).any(|key| is_over(&key.columns))
        || entry.exclusions().any(|position| is_over(&entry.columns_of_index(position)))
}

/// The keys of the table that are DEFERRABLE.
pub fn deferrable(entry: &TableEntry) -> impl Iterator<Item = &KeyDef> {
    entry.def.keys.iter().filter(|key| key.deferral.is_deferrable())
}

/// Foreign keys that refer to the table, or to one that it is a partition of: by a key over one of
/// `columns`, or by any. The ordinals that they refer to are those of the table.
pub fn referring(
    state: &State,
    entry: &TableEntry,
    columns: Option<&[usize]>,
) -> Vec<(Arc<TableEntry>, ForeignKeyDef)> {
    let above = tables_above(state, entry);
    let mut all = Vec::new();
    for table in state.tables.values() {
        for fk in table.foreign_keys() {
            let references = if fk.table.name == entry.name() {
                fk.references.clone()
            } else {
                let is_it = |of: &&Arc<TableEntry>| of.name() == fk.table.name;
                let Some(of) = above.iter().find(is_it) else { continue };
                let places = places(&of.def, &entry.def);
                fk.references.iter().map(|ordinal| places[*ordinal]).collect()
            };
            let touched = |columns: &[usize]| references.iter().any(|c| columns.contains(c));
            if columns.is_none_or(touched) {
                all.push((Arc::clone(table), ForeignKeyDef { references, ..fk.clone() }));
            }
        }
    }
    all
}

/// The tables that one is a partition of, the nearest first.
pub(crate) fn tables_above(state: &State, entry: &TableEntry) -> Vec<Arc<TableEntry>> {
    let mut above: Vec<Arc<TableEntry>> = Vec::new();
    let mut place = entry.def.partition_of.as_ref();
    while let Some(parent) = place.and_then(|place| state.tables.get(&place.parent)) {
        above.push(Arc::clone(parent));
        place = parent.def.partition_of.as_ref();
    }
    above
}

/// True when foreign keys refer to the table: by a key over one of `columns`, or by any.
pub fn is_referenced(state: &State, entry: &TableEntry, columns: Option<&[usize]>) -> bool {
    !referring(state, entry, columns).is_empty()
}

/// The unique index of the table over exactly `columns`, and for each of its columns the position
/// in `columns`.
///
/// # Errors
/// XX000 when no key of the table is over these columns.
pub fn unique_index(entry: &TableEntry, columns: &[usize]) -> Result<(usize, Vec<usize>)> {
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
///
/// # Errors
/// XX000 when the foreign key is not one of the table.
pub fn referring_index(child: &TableEntry, fk: &ForeignKeyDef) -> Result<usize> {
    let index = child.def.indexes.iter().position(|i| i.name == fk.name);
    index.ok_or_else(|| Error::internal("a foreign key has an index"))
}
