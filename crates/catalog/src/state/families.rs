//! Tables know those that inherit from them: families made of the definitions of all of them.
//!
//! Invariant: in a state that others see, the family of an entry holds the entries of the same
//! state, as the trees of [`super::partitions`] do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sql::algebra::family::{Family, Heir};
use sql::catalog::{TableMeta, TableRef};

use crate::state::{TableDef, TableEntry};

type Tables = BTreeMap<String, Arc<TableEntry>>;

/// Names of the tables that inherit from each.
type Children = BTreeMap<String, Vec<String>>;

/// Gives all tables of `tables` those that inherit from them. Where ALTER TABLE has changed a table
/// and not yet those below it, the table has none.
pub fn settle(tables: &mut Tables) {
    let mut children = Children::new();
    for entry in tables.values() {
        for parent in &entry.def.inheritance.parents {
            children.entry(parent.clone()).or_default().push(entry.def.name.clone());
        }
    }
    let lonely = |entry: &&Arc<TableEntry>| {
        entry.family().is_some() && !children.contains_key(&entry.def.name)
    };
    let lonely: Vec<_> = tables.values().filter(lonely).cloned().collect();
    for entry in lonely {
        tables.insert(entry.def.name.clone(), Arc::new(entry.with_family(None)));
    }
    let mut done = BTreeSet::new();
    for parent in children.keys() {
        settle_one(tables, &children, &mut done, parent);
    }
}

/// Settles the tables below one, then the table.
fn settle_one(tables: &mut Tables, children: &Children, done: &mut BTreeSet<String>, name: &str) {
    let Some(below) = children.get(name) else { return };
    if !done.insert(name.to_owned()) {
        return;
    }
    for child in below {
        settle_one(tables, children, done, child);
    }
    let Some(entry) = tables.get(name) else { return };
    let family = family_of(tables, children, &entry.def).map(Arc::new);
    if entry.family() != family.as_ref() {
        let settled = Arc::new(entry.with_family(family));
        tables.insert(name.to_owned(), settled);
    }
}

/// The tables below one, by their distance from it; None when one lacks a column.
fn family_of(tables: &Tables, children: &Children, def: &TableDef) -> Option<Family> {
    let below = children.get(&def.name)?;
    let mut heirs = Vec::new();
    let mut level: Vec<&String> = below.iter().collect();
    let mut known = BTreeSet::new();
    while !level.is_empty() {
        let new: Vec<&String> = level.into_iter().filter(|child| known.insert(*child)).collect();
        for child in &new {
            let Some(child) = tables.get(*child) else { continue };
            let columns = places(def, &child.def)?;
            heirs.push(Heir { table: TableRef(Arc::clone(child) as Arc<dyn TableMeta>), columns });
        }
        let next = new.iter().filter_map(|child| children.get(*child));
        level = next.flatten().collect();
    }
    Some(Family { heirs })
}

/// The ordinals in `child` of the columns of `parent`.
fn places(parent: &TableDef, child: &TableDef) -> Option<Vec<usize>> {
    let place = |name: &str| child.columns.iter().position(|column| column.name == name);
    parent.columns.iter().map(|column| place(&column.name)).collect()
}
