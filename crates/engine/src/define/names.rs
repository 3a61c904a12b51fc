//! Names that must be free, and names made free.

use catalog::{State, TableDef};
use sql::catalog::IndexMeta;
use sql::statement::RelationName;
use types::{Error, SqlState};

/// 42P07.
pub(super) fn taken(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// `name`, or with the smallest number behind it that makes `is_taken` false.
pub(super) fn free(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(name) {
        return name.to_owned();
    }
    let numbered = (1u64..).map(|number| format!("{name}{number}"));
    numbered.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
}

/// True when `constraint` is a name as one is chosen for a key of `table`. A user who gives such a
/// name gets a number behind it, too, when it is taken, where PostgreSQL refuses.
fn is_chosen(table: &str, constraint: &str) -> bool {
    let bare = constraint.trim_end_matches(|c: char| c.is_ascii_digit());
    let ends = ["_pkey", "_key", "_excl"].iter().any(|end| bare.ends_with(end));
    // Long names are cut.
    let prefix: String = table.chars().take(20).collect();
    ends && constraint.starts_with(&prefix)
}

/// Makes the names of the table's keys free: they are names of indexes, too.
///
/// # Errors
/// 42P07 for a name that the user gave.
pub(super) fn name_keys(def: &mut TableDef, state: &State) -> types::Result<()> {
    for position in 0..def.keys.len() {
        let name = def.keys[position].name.clone();
        let beside = |name: &str| RelationName::key_beside(&def.name, name);
        let known = |name: &str| state.contains(&beside(name)) || name == def.bare_name();
        if !known(&name) {
            continue;
        }
        if !is_chosen(def.bare_name(), &name) {
            return Err(taken(&name));
        }
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let new = free(&bare, |name| known(name) || has_constraint(def, name));
        def.keys[position].name = new;
    }
    Ok(())
}

/// Makes the name of an exclusion constraint, which its index has, free; others keep theirs.
///
/// # Errors
/// 42P07 for a name that the user gave.
pub(super) fn name_exclusion(
    def: &TableDef,
    state: &State,
    index: &mut IndexMeta,
) -> types::Result<()> {
    let known = |name: &str| {
        state.contains(&RelationName::key_beside(&def.name, name))
            || name == def.bare_name()
            || def.all_indexes().any(|index| index.name == name)
    };
    if !index.excludes() || !known(&index.name) {
        return Ok(());
    }
    if !is_chosen(def.bare_name(), &index.name) {
        return Err(taken(&index.name));
    }
    let bare = index.name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    index.name = free(&bare, |name| known(name) || has_constraint(def, name));
    Ok(())
}

/// True when the table has a constraint of this name.
pub(super) fn has_constraint(def: &TableDef, name: &str) -> bool {
    def.keys.iter().any(|key| key.name == name)
        || def.checks.iter().any(|check| check.name == name)
        || def.foreign_keys.iter().any(|key| key.name == name)
        || def.indexes.iter().any(|index| index.excludes() && index.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_the_first_free_number() {
        let taken = ["a", "a1", "a3"];
        assert_eq!(free("a", |n| taken.contains(&n)), "a2");
        assert_eq!(free("b", |n| taken.contains(&n)), "b");
    }

    #[test]
    fn chosen_names_are_told_from_given_ones() {
        assert!(is_chosen("t", "t_pkey"));
        assert!(is_chosen("t", "t_a_b_key12"));
        assert!(!is_chosen("t", "pk"));
        assert!(!is_chosen("orders", "o_pkey"));
    }
}
