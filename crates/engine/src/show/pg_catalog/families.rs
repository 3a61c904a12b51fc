//! Columns and constraints that tables inherit, and partitions have from the table above:
//! attinhcount and coninhcount.

use std::collections::BTreeMap;

use catalog::{State, TableDef};
use sql::catalog::CheckScope;

/// How many parents have each column of a table, by name; those without one are left out.
pub(super) fn columns<'s>(state: &'s State, def: &'s TableDef) -> BTreeMap<&'s str, i64> {
    let parents = parents(state, def);
    count(parents.flat_map(|parent| &parent.columns).map(|column| column.name.as_str()))
}

/// How many parents have each CHECK constraint of a table, by name.
pub(super) fn checks<'s>(state: &'s State, def: &'s TableDef) -> BTreeMap<&'s str, i64> {
    let checks = parents(state, def).flat_map(|parent| &parent.checks);
    let checks = checks.filter(|check| check.scope == CheckScope::Family);
    count(checks.map(|check| check.name.as_str()))
}

fn parents<'s>(state: &'s State, def: &'s TableDef) -> impl Iterator<Item = &'s TableDef> {
    let above = def.partition_of.as_ref().map(|place| &place.parent);
    let names = def.inheritance.parents.iter().chain(above);
    names.filter_map(|parent| state.tables.get(parent)).map(|entry| &entry.def)
}

fn count<'s>(names: impl Iterator<Item = &'s str>) -> BTreeMap<&'s str, i64> {
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}
