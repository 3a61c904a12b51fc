//! Trees of partitions: `pg_partition_root`, `pg_partition_tree`, `pg_partition_ancestors`.
//!
//! ```text
//! t  ---> t1 ---> t11          i, i1, i11: the index of t and its parts
//!    '--> t2
//! ```
//! A relation is in a tree when it is partitioned or a partition; so are tables and indexes.

use std::collections::VecDeque;

use sql::catalog::{Arguments, TableFunctionRef, TableMeta};
use sql::statement::RelationName;
use types::{DataType, RegKind, Result, Value};

use super::objects::Seen;
use crate::show::system::counted_function;
use catalog::{State, TableDef, TableEntry};

/// A table or an index of it.
#[derive(Clone, Copy)]
struct Relation<'s> {
    table: &'s TableEntry,
    /// The name of the index, if it is one.
    index: Option<&'s str>,
}

impl<'s> Relation<'s> {
    fn of(state: &'s State, key: &'s str) -> Option<Self> {
        if let Some(table) = state.tables.get(key) {
            return Some(Self { table, index: None });
        }
        let table = state.table_of_index(key)?;
        Some(Self { table, index: Some(RelationName::name_of_key(key)) })
    }

    /// Key in the catalog.
    fn key(self) -> String {
        let table = &self.table.def.name;
        self.index.map_or_else(|| table.clone(), |index| RelationName::key_beside(table, index))
    }

    fn is_partitioned(self) -> bool {
        self.table.def.partition_by.is_some()
    }

    /// The relation that this is a part of.
    fn parent(self, state: &'s State) -> Option<Self> {
        let place = self.table.def.partition_of.as_ref()?;
        let index = match self.index {
            Some(index) => Some(place.indexes.iter().find(|(_, own)| own == index)?.0.as_str()),
            None => None,
        };
        Some(Self { table: state.tables.get(&place.parent)?, index })
    }

    /// The parts of it, in the order of its table's.
    fn parts(self, state: &'s State) -> Vec<Self> {
        let Some(tree) = self.table.partitions() else { return Vec::new() };
        let part = |name: &String| {
            let table = state.tables.get(name)?;
            let Some(index) = self.index else { return Some(Self { table, index: None }) };
            let place = table.def.partition_of.as_ref()?;
            let (_, own) = place.indexes.iter().find(|(of, _)| of == index)?;
            Some(Self { table, index: Some(own) })
        };
        tree.root.parts.iter().filter_map(|found| part(&found.table)).collect()
    }

    /// The relations above, beginning with itself; none when it is in no tree.
    fn line(self, state: &'s State) -> Vec<Self> {
        let above: Vec<Self> =
            std::iter::successors(Some(self), |relation| relation.parent(state)).collect();
        if above.len() == 1 && !self.is_partitioned() { Vec::new() } else { above }
    }
}

/// The highest relation above a table or its index, which may be itself; None for one in no tree.
pub(super) fn root(state: &State, table: &TableEntry, index: Option<&str>) -> Option<String> {
    Relation { table, index }.line(state).pop().map(Relation::key)
}

/// True when the table has partitions.
pub(super) fn has_parts(entry: &TableEntry) -> bool {
    entry.partitions().is_some_and(|tree| !tree.root.parts.is_empty())
}

/// True when the index is a part of one of the table above.
pub(super) fn is_part(def: &TableDef, index: &str) -> bool {
    let place = def.partition_of.as_ref();
    place.is_some_and(|place| place.indexes.iter().any(|(_, own)| own == index))
}

/// `pg_partition_tree` and `pg_partition_ancestors` of a relation; None for another function.
pub(crate) fn function(
    name: &str,
    arguments: &Arguments,
    seen: &Seen<'_>,
) -> Option<Result<TableFunctionRef>> {
    let [(value, ty)] = arguments.positional.as_slice() else { return None };
    if !matches!(name, "pg_partition_tree" | "pg_partition_ancestors") {
        return None;
    }
    let relation = match (value, ty) {
        (Value::Str(bytes), DataType::Reg(_)) => {
            let number = i64::from(types::object_number(bytes));
            seen.state.relation_numbered(number).map(str::to_owned)
        }
        (Value::Str(bytes), _) => {
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            match seen.named(RegKind::Class, text) {
                Ok(Value::Str(bytes)) => {
                    let number = i64::from(types::object_number(&bytes));
                    seen.state.relation_numbered(number).map(str::to_owned)
                }
                Ok(_) => None,
                Err(error) => return Some(Err(error)),
            }
        }
        (value, _) => value.as_integer().and_then(|number| {
            seen.state.relation_numbered(i64::try_from(number).ok()?).map(str::to_owned)
        }),
    };
    let found = relation.as_deref().and_then(|key| Relation::of(seen.state, key));
    let line = found.map_or_else(Vec::new, |relation| relation.line(seen.state));
    Some(Ok(if name == "pg_partition_tree" { tree(seen, &line) } else { ancestors(seen, &line) }))
}

/// A relation as a value of regclass.
fn class(seen: &Seen<'_>, relation: Relation<'_>) -> Value {
    let text = RelationName::of_key(&relation.key()).quoted_in_schema();
    seen.named(RegKind::Class, &text).unwrap_or(Value::Null)
}

const CLASS: DataType = DataType::Reg(RegKind::Class);

/// Level by level, as PostgreSQL lists them; `line` are the relation and those above.
fn tree(seen: &Seen<'_>, line: &[Relation<'_>]) -> TableFunctionRef {
    let columns = [
        ("relid", CLASS),
        ("parentrelid", CLASS),
        ("isleaf", DataType::Boolean),
        ("level", DataType::Integer),
    ];
    let mut rows = Vec::new();
    let first = line.first().map(|relation| (*relation, line.get(1).copied(), 0));
    let mut waiting: VecDeque<_> = first.into_iter().collect();
    while let Some((relation, parent, level)) = waiting.pop_front() {
        let parent = parent.map_or(Value::Null, |parent| class(seen, parent));
        let is_leaf = Value::Bool(!relation.is_partitioned());
        rows.push(vec![class(seen, relation), parent, is_leaf, Value::I32(level)]);
        let parts = relation.parts(seen.state).into_iter();
        waiting.extend(parts.map(|part| (part, Some(relation), level + 1)));
    }
    let count = rows.len() as u64;
    counted_function("pg_partition_tree", &columns, &rows, count)
}

fn ancestors(seen: &Seen<'_>, line: &[Relation<'_>]) -> TableFunctionRef {
    let rows: Vec<Vec<Value>> = line.iter().map(|above| vec![class(seen, *above)]).collect();
    let count = rows.len() as u64;
    counted_function("pg_partition_ancestors", &[("relid", CLASS)], &rows, count)
}
