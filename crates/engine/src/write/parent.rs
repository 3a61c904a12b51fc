//! The table that a foreign key refers to, or the partitions of it: whether a row has a key.
//!
//! ```text
//! key of a referring row -> partition that would have it -> its unique index -> rows now
//! ```
//! A key that others may refer to has all columns of the partition key, so it says its partition.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use catalog::TableEntry;
use catalog::keys::unique_index;
use sql::algebra::partition::{Below, PartitionNode, Scalar};
use sql::catalog::{ForeignKeyDef, TableMeta};
use storage::{Datum, KeyBuffer, RowBuffer};
use types::{DataType, Error, Result, Value};

use super::fitted::{fit, fit_one};
use super::rows::{find, index_number};
use crate::statement::running::Running;
use crate::transaction::work::stale;

/// The unique index of a table over a key.
struct Keys {
    entry: Arc<TableEntry>,
    index: usize,
    /// For each of its columns the position in the foreign key.
    positions: Vec<usize>,
    /// Keys that were found, where several are looked for.
    known: HashSet<Vec<u8>>,
}

/// The referenced table of a foreign key, for keys of some types.
pub(super) struct Parent<'f> {
    entry: Arc<TableEntry>,
    fk: &'f ForeignKeyDef,
    /// Types of the keys, in the order of the foreign key.
    types: Vec<DataType>,
    /// By number of the partition; one of a table without any.
    keys: BTreeMap<usize, Keys>,
    memory: Memory,
    encoded: KeyBuffer,
    fitted: RowBuffer,
}

/// Use of the keys that were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// Others like them may come.
    Kept,
    /// There is one.
    None,
}

/// The types of some columns.
pub(super) fn types_of(entry: &TableEntry, columns: &[usize]) -> Vec<DataType> {
    columns.iter().map(|&column| entry.def.columns[column].ty).collect()
}

impl Keys {
    fn new(entry: Arc<TableEntry>, references: &[usize]) -> Result<Self> {
        let (index, positions) = unique_index(&entry, references)?;
        Ok(Self { entry, index, positions, known: HashSet::new() })
    }
}

impl<'f> Parent<'f> {
    /// The table that `fk` refers to, locked.
    ///
    /// # Errors
    /// [`stale`], 40P01, 57014.
    pub(super) fn of(
        running: &mut Running<'_>,
        fk: &'f ForeignKeyDef,
        types: Vec<DataType>,
    ) -> Result<Self> {
        let entry = running.session.referenced_table(&fk.table.name)?;
        let mut keys = BTreeMap::new();
        if entry.partitions().is_none() {
            keys.insert(0, Keys::new(Arc::clone(&entry), &fk.references)?);
        }
        let (encoded, fitted) = Default::default();
        Ok(Self { entry, fk, types, keys, memory: Memory::None, encoded, fitted })
    }

    /// The same, for so many keys.
    pub(super) fn for_keys(self, count: usize) -> Self {
        let memory = if count > 1 { Memory::Kept } else { Memory::None };
        Self { memory, ..self }
    }

    /// True when a row has `key`, in the order of the foreign key, without NULLs.
    ///
    /// # Errors
    /// Errors of waiting for a transaction that makes or unmakes such a row.
    pub(super) fn has(&mut self, running: &mut Running<'_>, key: &[Datum<'_>]) -> Result<bool> {
        let Some(part) = self.part_of(key)? else { return Ok(false) };
        if !self.keys.contains_key(&part) {
            let tree = self.entry.partitions().ok_or_else(stale)?;
            let member = tree.leaves.get(part).ok_or_else(stale)?;
            let entry = running.session.referenced_table(member.table.name())?;
            let keys = Keys::new(entry, &member.ordinals(&self.fk.references))?;
            self.keys.insert(part, keys);
        }
        let Self { keys, types, memory, encoded, fitted, .. } = self;
        let Some(Keys { entry, index, positions, known }) = keys.get_mut(&part) else {
            return Ok(false);
        };
        let ordered: Vec<Datum<'_>> = positions.iter().map(|&p| key[p]).collect();
        let from = positions.iter().map(|&p| types[p]);
        let Some(key) = fit(entry, *index, from, &ordered, fitted) else { return Ok(false) };
        if *memory == Memory::Kept {
            let number = index_number(entry, *index).ok_or_else(stale)?;
            entry.storage().indexes()[number].encode(&key, encoded);
            if known.contains(&**encoded) {
                return Ok(true);
            }
        }
        let is_there = !find(running, entry, *index, &key, 1)?.is_empty();
        if is_there && *memory == Memory::Kept {
            known.insert(encoded.to_vec());
        }
        Ok(is_there)
    }

    /// The number of the partition that has rows with `key`; None when there is none.
    fn part_of(&self, key: &[Datum<'_>]) -> Result<Option<usize>> {
        let Some(tree) = self.entry.partitions() else { return Ok(Some(0)) };
        let mut node: &PartitionNode = &tree.root;
        loop {
            let mut values: Vec<Value> = Vec::with_capacity(node.keys.len());
            for expr in &node.keys {
                let column = expr.as_column().map(|id| id.0 as usize);
                let position = column.and_then(|column| {
                    self.fk.references.iter().position(|&known| known == column)
                });
                let Some(position) = position else {
                    return Err(Error::internal(
                        "a unique key has the columns of the partition key",
                    ));
                };
                match fit_one(&key[position], self.types[position], expr.ty) {
                    Some(value) => values.push(value),
                    None => return Ok(None),
                }
            }
            let scalars: Vec<Scalar<'_>> = values.iter().map(Scalar::from).collect();
            let Some(number) = node.part_of(&scalars) else { return Ok(None) };
            match &node.parts[number].below {
                Below::Leaf(leaf) => return Ok(Some(*leaf)),
                Below::Node(below) => node = below,
            }
        }
    }
}
