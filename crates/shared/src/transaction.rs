//! Transactions: reads are kept, writes wait in memory, and a commit brings them to the stores.
//!
//! ```text
//! begin -> work: each row is fetched once, changes stay here -> commit
//! commit: undo record -> rows, all stores at once -> index entries -> undo record goes -> finish
//!         a conflict anywhere: all is taken back -> undo record goes -> finish
//! ```
//! The transaction is committed when its undo record goes, and seen by those that begin after
//! `finish`. A node that dies before has it rolled back, one that dies behind has it finished.
//! Isolation: snapshots; the first writer of a row wins. Source: Pilman 2017, sections 7.3 to 7.8.

use std::collections::BTreeMap;

use store::{Fetched, Key, Newest, Snapshot, StoreError, Tuple, Version};
use transport::Change;
use types::Value;

use crate::error::{Result, SharedError};
use crate::index::{EntryChange, Index, Uniqueness};
use crate::manager::{Begun, Class};
use crate::node::{Node, SharedTable};
use crate::records::StoredRecords;
use crate::undo::TableUndo;

/// A row as a transaction knows it.
#[derive(Clone, Debug)]
struct Cached {
    /// The row that its snapshot has.
    before: Option<Tuple>,
    /// The row as the transaction leaves it.
    after: Option<Tuple>,
    newest: Newest,
    is_changed: bool,
}

/// A place in the indexes: the transaction's tables by number.
type Place = (usize, Key);

/// A transaction on some tables, which it numbers in their order.
pub struct Transaction<'a> {
    node: &'a Node,
    tables: Vec<&'a SharedTable>,
    begun: Begun,
    class: Class,
    cache: BTreeMap<Place, Cached>,
}

impl<'a> Transaction<'a> {
    /// Begins a transaction on `tables`.
    ///
    /// # Errors
    /// [`SharedError::Stopped`], [`SharedError::Store`].
    pub async fn begin(node: &'a Node, tables: Vec<&'a SharedTable>, class: Class) -> Result<Self> {
        let begun = node.begin(class).await?;
        Ok(Self { node, tables, begun, class, cache: BTreeMap::new() })
    }

    /// Versions that it sees.
    pub fn snapshot(&self) -> &Snapshot {
        &self.begun.snapshot
    }

    async fn cached(&mut self, place: Place) -> Result<&mut Cached> {
        if !self.cache.contains_key(&place) {
            let rows = self.tables[place.0].rows();
            let found = rows.get_later(&self.begun.snapshot, place.1).await;
            let (before, newest) = match found {
                Ok(Fetched { tuple, newest, .. }) => (Some(tuple), newest),
                Err(StoreError::NotFound) => (None, Newest::Yes),
                Err(StoreError::NotInSnapshot) => (None, Newest::No),
                Err(error) => return Err(error.into()),
            };
            let after = before.clone();
            self.cache.insert(place, Cached { before, after, newest, is_changed: false });
        }
        self.cache.get_mut(&place).ok_or(SharedError::NoRow)
    }

    /// The row of `key` in table `table`, if there is one.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn get(&mut self, table: usize, key: Key) -> Result<Option<Tuple>> {
        Ok(self.cached((table, key)).await?.after.clone())
    }

    async fn change(&mut self, place: Place, after: Option<Tuple>) -> Result<()> {
        let cached = self.cached(place).await?;
        if cached.newest == Newest::No {
            return Err(SharedError::Conflict);
        }
        (cached.after, cached.is_changed) = (after, true);
        Ok(())
    }

    fn admit_write(&self) -> Result<()> {
        if self.class == Class::ReadWrite { Ok(()) } else { Err(SharedError::ReadOnly) }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`SharedError::RowExists`]; [`SharedError::UniqueViolation`] when an index has its key;
    /// [`SharedError::Conflict`], [`SharedError::ReadOnly`], [`SharedError::Store`].
    pub async fn insert(&mut self, table: usize, key: Key, tuple: Tuple) -> Result<()> {
        self.admit_write()?;
        if self.cached((table, key)).await?.after.is_some() {
            return Err(SharedError::RowExists);
        }
        self.refuse_doubles(table, key, &tuple).await?;
        self.change((table, key), Some(tuple)).await
    }

    /// Puts a row in the place of one.
    ///
    /// # Errors
    /// [`SharedError::NoRow`]; else as [`Self::insert`].
    pub async fn update(&mut self, table: usize, key: Key, tuple: Tuple) -> Result<()> {
        self.admit_write()?;
        if self.cached((table, key)).await?.after.is_none() {
            return Err(SharedError::NoRow);
        }
        self.refuse_doubles(table, key, &tuple).await?;
        self.change((table, key), Some(tuple)).await
    }

    /// Takes a row away.
    ///
    /// # Errors
    /// As [`Self::update`].
    pub async fn remove(&mut self, table: usize, key: Key) -> Result<()> {
        self.admit_write()?;
        if self.cached((table, key)).await?.after.is_none() {
            return Err(SharedError::NoRow);
        }
        self.change((table, key), None).await
    }

    /// Looks for another row with the same key in a unique index.
    async fn refuse_doubles(&mut self, table: usize, key: Key, tuple: &Tuple) -> Result<()> {
        let shared = self.tables[table];
        for (number, index) in shared.indexes.iter().enumerate() {
            if index.uniqueness() == Uniqueness::Unique {
                let prefix = index.fields_of(shared.schema(), tuple);
                let rows = self.rows_of(table, number, &prefix).await?;
                if rows.iter().any(|row| *row != key) {
                    return Err(SharedError::UniqueViolation);
                }
            }
        }
        Ok(())
    }

    /// Keys of the rows whose first fields of index `index` have these values, ascending.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn look_up(
        &mut self,
        table: usize,
        index: usize,
        values: &[Value],
    ) -> Result<Vec<Key>> {
        self.rows_of(table, index, &Index::<StoredRecords>::prefix(values)).await
    }

    async fn rows_of(&mut self, table: usize, index: usize, prefix: &[u8]) -> Result<Vec<Key>> {
        let shared = self.tables[table];
        let tree = &shared.indexes[index];
        let mut rows = tree.candidates(&self.begun.snapshot, prefix).await?;
        // Own changes are not in the tree yet.
        let places = self.cache.range((table, 0)..=(table, Key::MAX));
        rows.extend(places.filter(|(_, cached)| cached.is_changed).map(|(place, _)| place.1));
        rows.sort_unstable();
        rows.dedup();
        let mut found = Vec::new();
        for row in rows {
            let tuple = self.get(table, row).await?;
            let has_key =
                |tuple: &Tuple| tree.fields_of(shared.schema(), tuple).starts_with(prefix);
            if tuple.as_ref().is_some_and(has_key) {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// Rows that it changes, by table, with the entries of indexes.
    fn changes(&self) -> Vec<TableUndo> {
        let of_table = |(number, table): (usize, &&'a SharedTable)| {
            let indexes = table.indexes.iter().map(|index| index.name().to_owned()).collect();
            let table_name = table.name.clone();
            let mut undo = TableUndo { table: table_name, indexes, ..TableUndo::default() };
            for (place, cached) in self.cache.range((number, 0)..=(number, Key::MAX)) {
                if change_of(cached).is_some() {
                    undo.keys.push(place.1);
                    entries(table, place.1, cached, &mut undo.entries);
                }
            }
            undo
        };
        let all = self.tables.iter().enumerate().map(of_table);
        all.filter(|undo| !undo.keys.is_empty()).collect()
    }

    /// Makes the changes durable and seen.
    ///
    /// # Errors
    /// [`SharedError::Conflict`], [`SharedError::UniqueViolation`] and
    /// [`SharedError::TooManyChanges`]: nothing happened. [`SharedError::Stopped`],
    /// [`SharedError::Store`]: another node will have decided.
    pub async fn commit(self) -> Result<()> {
        let undo = self.changes();
        if undo.is_empty() {
            return self.node.finish(self.begun.ticket).await;
        }
        let outcome = self.write_all(&undo).await;
        match outcome {
            Ok(()) => Ok(()),
            Err(
                SharedError::Conflict | SharedError::UniqueViolation | SharedError::TooManyChanges,
            ) => outcome,
            Err(error) => {
                // What happened is not known: whoever recovers this node finds out.
                self.node.stop();
                Err(error)
            }
        }
    }

    async fn write_all(&self, undo: &[TableUndo]) -> Result<()> {
        let version = Version(self.begun.ticket.0);
        match self.node.put_undo(version, undo).await {
            Err(SharedError::TooManyChanges) => {
                self.node.finish(self.begun.ticket).await?;
                return Err(SharedError::TooManyChanges);
            }
            outcome => outcome?,
        }
        let outcome = self.write(undo, version).await;
        if let Err(error) = &outcome {
            match error {
                SharedError::Conflict | SharedError::UniqueViolation => {
                    self.node.roll_back(version, undo).await?;
                }
                _ => return outcome,
            }
        }
        self.node.drop_undo(version).await?;
        // Behind this the transaction is what it is, whoever finishes it.
        self.node.finish(self.begun.ticket).await?;
        outcome
    }

    async fn write(&self, undo: &[TableUndo], version: Version) -> Result<()> {
        let mut writes = Vec::new();
        for (place, cached) in &self.cache {
            if let Some(change) = change_of(cached) {
                let rows = self.tables[place.0].rows();
                writes.push(rows.write_later(&self.begun.snapshot, place.1, change));
            }
        }
        let mut outcome = Ok(());
        for write in writes {
            // All are waited for: what comes late could not be taken back.
            outcome = outcome.and(match write.await {
                Err(StoreError::InvalidWrite) => Err(SharedError::Conflict),
                answer => answer.map_err(SharedError::from),
            });
        }
        outcome?;
        // Rows may exchange their keys: what is taken away makes room first.
        for is_new in [false, true] {
            for table in undo {
                let shared = self.tables.iter().find(|shared| shared.name == table.table);
                for change in table.entries.iter().filter(|change| change.is_new == is_new) {
                    let index = shared.and_then(|shared| shared.indexes.get(change.index));
                    let index = index.ok_or_else(|| SharedError::Corrupt("an index".into()))?;
                    index.apply(change, version).await?;
                }
            }
        }
        Ok(())
    }

    /// Ends it without a trace.
    ///
    /// # Errors
    /// [`SharedError::Stopped`], [`SharedError::Store`].
    pub async fn abort(self) -> Result<()> {
        self.node.finish(self.begun.ticket).await
    }
}

fn change_of(cached: &Cached) -> Option<Change<'_>> {
    if !cached.is_changed {
        return None;
    }
    match (&cached.before, &cached.after) {
        (None, None) => None,
        (None, Some(tuple)) => Some(Change::Insert(tuple)),
        (Some(_), Some(tuple)) => Some(Change::Update(tuple)),
        (Some(_), None) => Some(Change::Remove),
    }
}

fn entries(table: &SharedTable, row: Key, cached: &Cached, out: &mut Vec<EntryChange>) {
    for (number, index) in table.indexes.iter().enumerate() {
        let entry =
            |tuple: &Option<Tuple>| Some(index.entry_of(table.schema(), row, tuple.as_ref()?));
        let (before, after) = (entry(&cached.before), entry(&cached.after));
        if before == after {
            continue;
        }
        out.extend(before.map(|what| EntryChange { index: number, what, is_new: false }));
        out.extend(after.map(|what| EntryChange { index: number, what, is_new: true }));
    }
}
