//! Partitioned tables know their partitions: trees made of the definitions of all of them.
//!
//! ```text
//! change of the catalog -> settle: tables whose partitions changed get entries with new trees
//! ```
//! Invariant: in a state that others see, the tree of an entry holds the entries of the same state.
//! So whoever has a partitioned table has its partitions as they were then.

use std::collections::BTreeMap;
use std::sync::Arc;

use sql::algebra::family::Member;
use sql::algebra::partition::{Below, BoundValues, Part, PartitionNode, PartitionTree};
use sql::algebra::{ColumnId, Expr};
use sql::catalog::{PartitionBound, PartitionKey, RangeEnd, TableMeta, TableRef};
use sql::statement::RelationName;
use types::{DataType, Error, Result, Value, text};

use super::derived;
use crate::state::{TableDef, TableEntry};

type Tables = BTreeMap<String, Arc<TableEntry>>;

/// Names of the partitions of each table.
type Children<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// Gives all partitioned tables of `tables` their partitions.
///
/// # Errors
/// XX001 for bounds that are no values.
pub fn settle(tables: &mut Tables) -> Result<()> {
    if !tables.values().any(|entry| entry.def.partition_by.is_some()) {
        return Ok(());
    }
    let known = tables.clone();
    let mut children = Children::new();
    for entry in known.values() {
        if let Some(place) = &entry.def.partition_of {
            children.entry(&place.parent).or_default().push(&entry.def.name);
        }
    }
    let is_top = |entry: &&Arc<TableEntry>| {
        entry.def.partition_by.is_some() && entry.def.partition_of.is_none()
    };
    for entry in known.values().filter(is_top) {
        settle_one(tables, &children, &entry.def.name)?;
    }
    Ok(())
}

/// Settles a partitioned table and those below it.
fn settle_one(tables: &mut Tables, children: &Children<'_>, name: &str) -> Result<()> {
    let below = children.get(name).map_or(&[][..], Vec::as_slice);
    for child in below {
        if tables.get(*child).is_some_and(|child| child.def.partition_by.is_some()) {
            settle_one(tables, children, child)?;
        }
    }
    let Some(entry) = tables.get(name) else { return Ok(()) };
    let mut members = Vec::new();
    gather(tables, children, name, &mut members);
    if entry.partitions().is_some_and(|tree| has_members(tree, &members)) {
        return Ok(());
    }
    let tree = tree_of(tables, children, entry)?;
    let settled = Arc::new(entry.with_partitions(Arc::new(tree)));
    tables.insert(name.to_owned(), settled);
    Ok(())
}

/// All tables below `name`.
fn gather(tables: &Tables, children: &Children<'_>, name: &str, out: &mut Vec<Arc<TableEntry>>) {
    for child in children.get(name).map_or(&[][..], Vec::as_slice) {
        out.extend(tables.get(*child).cloned());
        gather(tables, children, child, out);
    }
}

/// True when the tree is made of these entries.
fn has_members(tree: &PartitionTree, members: &[Arc<TableEntry>]) -> bool {
    let address = |table: &TableRef| Arc::as_ptr(&table.0).cast::<()>() as usize;
    let mut old: Vec<usize> = tree.below().map(address).collect();
    let mut new: Vec<usize> =
        members.iter().map(|entry| Arc::as_ptr(entry).cast::<()>() as usize).collect();
    old.sort_unstable();
    new.sort_unstable();
    old == new
}

fn tree_of(tables: &Tables, children: &Children<'_>, entry: &TableEntry) -> Result<PartitionTree> {
    let mut root = node_of(tables, children, &entry.def, entry)?;
    let mut below = Numbered::default();
    below.number(tables, &entry.def, &mut root);
    Ok(PartitionTree { root, leaves: below.leaves, inner: below.inner })
}

/// The tables below a partitioned one.
#[derive(Default)]
struct Numbered {
    leaves: Vec<Member>,
    inner: Vec<TableRef>,
}

impl Numbered {
    /// Numbers the leaves below a node of the tree of `root`, in the order of their bounds.
    fn number(&mut self, tables: &Tables, root: &TableDef, node: &mut PartitionNode) {
        for part in &mut node.parts {
            let Some(entry) = tables.get(&part.table) else { continue };
            let table = TableRef(Arc::clone(entry) as Arc<dyn TableMeta>);
            match &mut part.below {
                Below::Leaf(leaf) => {
                    *leaf = self.leaves.len();
                    self.leaves.push(Member::new(table, places(root, &entry.def)));
                }
                Below::Node(node) => {
                    self.inner.push(table);
                    self.number(tables, root, node);
                }
            }
        }
    }
}

/// The ordinals in `def` of the columns of `of`: tables of one tree have the same columns, but
/// while a statement changes one after the other.
pub fn places(of: &TableDef, def: &TableDef) -> Vec<usize> {
    let place = |name: &str| def.columns.iter().position(|column| column.name == name);
    let columns = of.columns.iter().enumerate();
    columns.map(|(ordinal, column)| place(&column.name).unwrap_or(ordinal)).collect()
}

/// The partitions of `entry`, keys over the columns of `root`.
fn node_of(
    tables: &Tables,
    children: &Children<'_>,
    root: &TableDef,
    entry: &TableEntry,
) -> Result<PartitionNode> {
    let def = &entry.def;
    let Some(key) = &def.partition_by else {
        return Err(Error::internal("a partitioned table has a key"));
    };
    let mut keys = key_exprs(def, key)?;
    renumber(&mut keys, &places(def, root));
    let types: Vec<DataType> = keys.iter().map(|key| key.ty).collect();
    let mut parts = Vec::new();
    for child in children.get(def.name.as_str()).map_or(&[][..], Vec::as_slice) {
        let Some(child) = tables.get(*child) else { continue };
        let Some(place) = &child.def.partition_of else { continue };
        let bound = values_of(&place.bound, &types)?;
        let below = if child.def.partition_by.is_some() {
            Below::Node(Box::new(node_of(tables, children, root, child)?))
        } else {
            Below::Leaf(0)
        };
        parts.push(Part { table: child.def.name.clone(), bound, below });
    }
    let keys = keys.into_iter().zip(key_names(def, key)).collect();
    Ok(PartitionNode::new(def.name.clone(), key.strategy, keys, parts))
}

/// Gives columns of keys the ordinals that `places` has for them.
pub fn renumber(keys: &mut [Expr], places: &[usize]) {
    let id_of = |id: ColumnId| {
        let place = places.get(id.0 as usize).and_then(|place| u32::try_from(*place).ok());
        place.map_or(id, ColumnId)
    };
    keys.iter_mut().for_each(|key| key.renumber(&id_of));
}

/// The columns and expressions of a partition key as SQL text.
pub fn key_names(def: &TableDef, key: &PartitionKey) -> Vec<String> {
    let name = |column: &sql::catalog::IndexColumn| match column.expression() {
        Some(number) => key.terms.expressions[number].full_definition(),
        None => RelationName::public(&def.columns[column.ordinal].name).quoted(),
    };
    key.columns.iter().map(name).collect()
}

/// The expressions of a partition key over a row of the table.
///
/// # Errors
/// None for a key that was bound when the table was made.
pub fn key_exprs(def: &TableDef, key: &PartitionKey) -> Result<Vec<Expr>> {
    let terms = derived::bind(def, &key.terms)?;
    let expr = |column: &sql::catalog::IndexColumn| match column.expression() {
        Some(number) => terms.expressions[number].clone(),
        None => {
            let id = ColumnId(u32::try_from(column.ordinal).unwrap_or(u32::MAX));
            Expr::column(id, def.columns[column.ordinal].ty)
        }
    };
    Ok(key.columns.iter().map(expr).collect())
}

/// The values of a bound of a key of `types`.
///
/// # Errors
/// Errors of reading a text as a value of its type.
pub fn values_of(bound: &PartitionBound, types: &[DataType]) -> Result<BoundValues> {
    let value = |text: &str, ty: DataType| -> Result<Value> {
        match (text::parse(text, ty)?, ty.physical()) {
            // As a column holds it.
            (Value::I64(value), types::PhysicalType::I128) => Ok(Value::I128(value.into())),
            (value, _) => Ok(value),
        }
    };
    let ends = |ends: &[RangeEnd<String>]| -> Result<Vec<RangeEnd<Value>>> {
        let end = |(end, ty): (&RangeEnd<String>, &DataType)| {
            Ok(match end {
                RangeEnd::Min => RangeEnd::Min,
                RangeEnd::Max => RangeEnd::Max,
                RangeEnd::Value(text) => RangeEnd::Value(value(text, *ty)?),
            })
        };
        ends.iter().zip(types).map(end).collect()
    };
    Ok(match bound {
        PartitionBound::Default => BoundValues::Default,
        PartitionBound::Hash { modulus, remainder } => {
            BoundValues::Hash { modulus: (*modulus).into(), remainder: (*remainder).into() }
        }
        PartitionBound::Range { from, to } => {
            BoundValues::Range { from: ends(from)?, to: ends(to)? }
        }
        PartitionBound::List(texts) => {
            let ty = types.first().copied().unwrap_or(DataType::Text);
            let item = |text: &Option<String>| match text {
                Some(text) => value(text, ty),
                None => Ok(Value::Null),
            };
            BoundValues::List(texts.iter().map(item).collect::<Result<_>>()?)
        }
    })
}
