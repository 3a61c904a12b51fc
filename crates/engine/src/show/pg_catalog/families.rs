//! Columns and constraints that tables inherit: attinhcount and coninhcount.

use std::collections::BTreeMap;

use catalog::{State, TableDef};
use sql::catalog::CheckScope;

/// How many parents have each column of a table, by name; those without one are left out.
pub(super) fn columns<'s>(state: &'s State, def: &TableDef) -> BTreeMap<&'s str, i64> {
    let parents = def.inheritance.parents.iter().filter_map(|parent| state.tables.get(parent));
    count(parents.flat_map(|entry| &entry.def.columns).map(|column| column.name.as_str()))
}

/// How many parents have each CHECK constraint of a table, by name.
pub(super) fn checks<'s>(state: &'s State, def: &TableDef) -> BTreeMap<&'s str, i64> {
    let parents = def.inheritance.parents.iter().filter_map(|parent| state.tables.get(parent));
    let checks = parents.flat_map(|entry| &entry.def.checks);
    let checks = checks.filter(|check| check.scope == CheckScope::Family);
    count(checks.map(|check| check.name.as_str()))
}

fn count<'s>(names: impl Iterator<Item = &'s str>) -> BTreeMap<&'s str, i64> {
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}
