//! Rows and entries that a transaction brings to the stores before it commits, for tables and
//! indexes that nobody else knows.
//!
//! ```text
//! new table   rows of the transaction's version -> load     new index   entries for ever -> build
//! ```
//! No undo record has them: whoever makes such a table or index sees to it that nobody finds it
//! unless the transaction commits.

use std::ops::Deref;

use store::{Key, Tuple};
use transport::Change;
use types::Value;

use super::{Ahead, OwnEntry, Transaction, WRITES};
use crate::error::{Result, SharedError};
use crate::index::{Index, Uniqueness};
use crate::node::{Node, SharedTable};
use crate::records::Records;

impl<N: Deref<Target = Node>, T: Deref<Target = SharedTable>> Transaction<N, T> {
    /// Puts `table`, which is the one of this number with other indexes, in its place; the one that
    /// was there.
    pub fn replace_table(&mut self, number: usize, table: T) -> T {
        self.own.retain(|entry| entry.table != number);
        self.ahead = Ahead::default();
        let before = std::mem::replace(&mut self.tables[number], table);
        let changed: Vec<Key> = self.changed(number).map(|(key, _)| key).collect();
        changed.into_iter().for_each(|key| self.own((number, key)));
        before
    }

    /// Puts entries for rows into a new index of table `table`: keys, with the values of the
    /// index's fields. Rows that the transaction changed get theirs when it commits. The fields of
    /// a row whose key another one has, too; some of the entries are there then.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn build(
        &mut self,
        table: usize,
        index: usize,
        mut rows: Vec<(Key, Vec<Value>)>,
    ) -> Result<Option<Vec<Value>>> {
        let tree = &self.tables[table].indexes[index];
        let is_changed =
            |key: Key| self.cache.get(&(table, key)).is_some_and(|cached| cached.is_changed);
        let changed: Vec<Key> =
            rows.iter().map(|row| row.0).filter(|key| is_changed(*key)).collect();
        rows.retain(|(key, _)| !is_changed(*key));
        self.unindexed.entry(tree.name().to_owned()).or_default().extend(changed);
        tree.build(&rows).await.map(|double| double.map(|at| rows.swap_remove(at).1))
    }

    /// Writes rows of a new table, without entries of indexes.
    ///
    /// # Errors
    /// [`SharedError::ReadOnly`], [`SharedError::Store`].
    pub async fn load(&self, table: usize, rows: &[(Key, Tuple)]) -> Result<()> {
        self.admit_write()?;
        let stored = self.tables[table].rows();
        for rows in rows.chunks(WRITES) {
            let write = |(key, tuple): &(Key, Tuple)| {
                stored.write_later(&self.begun.snapshot, *key, Change::Insert(tuple))
            };
            let writes: Vec<_> = rows.iter().map(write).collect();
            let mut outcome = Ok(());
            for write in writes {
                outcome = outcome.and(write.await);
            }
            outcome?;
        }
        Ok(())
    }

    /// A row that the transaction changed, and whose key in a unique index another one has, too.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn own_double(&mut self, table: usize, index: usize) -> Result<Option<Key>> {
        if self.tables[table].indexes[index].uniqueness() == Uniqueness::Many {
            return Ok(None);
        }
        let is_meant = |entry: &&OwnEntry| (entry.table, entry.index) == (table, index);
        let entries: Vec<OwnEntry> = self.own.iter().filter(is_meant).cloned().collect();
        for OwnEntry { prefix, row, .. } in entries {
            let shared = &self.tables[table];
            let now = self.cache.get(&(table, row)).and_then(|cached| cached.after.as_ref());
            let whole =
                now.and_then(|now| shared.indexes[index].whole_fields_of(shared.schema(), now));
            if whole.is_some()
                && self.rows_of(table, index, &prefix).await?.iter().any(|at| *at != row)
            {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

impl<R: Records> Index<R> {
    /// As [`Transaction::build`].
    async fn build(&self, rows: &[(Key, Vec<Value>)]) -> Result<Option<usize>> {
        let entry = |(at, (row, values)): (usize, &(Key, Vec<Value>))| {
            (self.entry_with(*row, values).until_the_end(), *row, at)
        };
        let mut all: Vec<(Vec<u8>, Key, usize)> = rows.iter().enumerate().map(entry).collect();
        all.sort_unstable();
        if let Some(pair) = all.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Ok(Some(pair[1].2));
        }
        let entries: Vec<(Vec<u8>, u64)> =
            all.iter().map(|(key, row, _)| (key.clone(), *row)).collect();
        if self.put_new(&entries).await? {
            return Ok(None);
        }
        for (key, row, at) in all {
            if self.tree().find(&key).await?.is_some_and(|other| other != row) {
                return Ok(Some(at));
            }
        }
        Err(SharedError::UniqueViolation)
    }
}
