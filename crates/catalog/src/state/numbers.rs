//! Numbers of relations: from their names, so that they stay from statement to statement.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use sql::catalog::IndexMeta;
use sql::statement::RelationName;

use super::{State, TableEntry};

/// The first number of what users make, as in PostgreSQL.
pub const FIRST: u64 = 16_384;

/// Numbers are below this, so that they fit where a client has 31 bits.
const SPAN: u64 = 1 << 30;

/// A number below 2^30 for an object of a kind, the same in every process.
pub fn hash(kind: &str, name: &str) -> u64 {
    let bytes = kind.bytes().chain([0]).chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) % SPAN
}

/// The number of the type of a relation's rows.
pub fn row_type(relation: &str) -> u32 {
    // Below 2^30 and some.
    (FIRST + hash("row type", relation)) as u32
}

/// Numbers of relations by what the catalog calls them; no two have the same.
pub fn relations(state: &State) -> BTreeMap<String, i64> {
    let tables = state.tables.keys();
    let mut names: Vec<Cow<'_, str>> = tables.map(|name| name.as_str().into()).collect();
    names.extend(state.views.keys().chain(state.sequences.keys()).map(|name| name.as_str().into()));
    for table in state.tables.values() {
        let indexes = table.def.all_indexes();
        let key = |name: &str| RelationName::key_beside(&table.def.name, name);
        names.extend(indexes.map(|index| Cow::Owned(key(&index.name))));
    }
    names.sort_unstable();
    let mut taken = HashMap::new();
    let mut numbers = BTreeMap::new();
    for name in names {
        let mut number = FIRST + hash("relation", &name);
        while taken.get(&number).is_some_and(|other| *other != name) {
            number += 1;
        }
        numbers.insert(name.clone().into_owned(), number as i64);
        taken.insert(number, name);
    }
    numbers
}

/// The numbers of a state's relations, once somebody asked. A copy of the state, which may be
/// changed, has its own.
#[derive(Default)]
pub(crate) struct KnownNumbers {
    by_name: OnceLock<BTreeMap<String, i64>>,
    names: OnceLock<HashMap<i64, String>>,
    /// The keys of its indexes that are relations.
    indexes: OnceLock<HashSet<String>>,
}

impl Clone for KnownNumbers {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl State {
    /// The number of the relation called `name` in a state that is not changed any more.
    pub fn relation_number(&self, name: &str) -> Option<i64> {
        self.known_numbers().get(name).copied()
    }

    /// True when a relation of this name exists in a state that is not changed any more.
    pub fn has_relation(&self, name: &str) -> bool {
        let is_there = self.tables.contains_key(name) || self.views.contains_key(name);
        is_there || self.sequences.contains_key(name) || self.known_indexes().contains(name)
    }

    fn known_indexes(&self) -> &HashSet<String> {
        let keys = |table: &Arc<TableEntry>| {
            let of = |index: &IndexMeta| RelationName::key_beside(&table.def.name, &index.name);
            table.def.visible_indexes().map(of).collect::<Vec<_>>()
        };
        self.numbers.indexes.get_or_init(|| self.tables.values().flat_map(keys).collect())
    }

    fn known_numbers(&self) -> &BTreeMap<String, i64> {
        self.numbers.by_name.get_or_init(|| relations(self))
    }

    /// The relation with this number.
    pub fn relation_numbered(&self, number: i64) -> Option<&str> {
        let swapped = |(name, number): (&String, &i64)| (*number, name.clone());
        let names = || self.known_numbers().iter().map(swapped).collect();
        self.numbers.names.get_or_init(names).get(&number).map(String::as_str)
    }
}
