//! Transactions: reads are kept, writes wait in memory, and a commit brings them to the stores.
//!
//! ```text
//! begin -> work: each row is fetched once, changes stay here -> commit
//! commit: claims on rows that others refer to
//!         undo record -> rows, all stores at once -> index entries -> undo record goes -> finish
//!         a conflict anywhere: all is taken back -> undo record goes -> finish
//! ```
//! The transaction is committed when its undo record goes, and seen by those that begin after
//! `finish`. A node that dies before has it rolled back, one that dies behind has it finished.
//! Isolation: snapshots; the first writer of a row wins. Source: Pilman 2017, sections 7.3 to 7.8.

mod define;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;

use store::{Fetched, Key, Newest, Snapshot, StoreError, Tuple, Version};
use transport::{Change, all};
use types::Value;

use crate::claims::Claim;
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

/// A change of a row, to be taken back.
#[derive(Clone, Debug)]
struct Step {
    place: Place,
    /// The row before it.
    after: Option<Tuple>,
    was_changed: bool,
}

/// Key of a row that a transaction changed, in one of its indexes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OwnEntry {
    table: usize,
    index: usize,
    prefix: Vec<u8>,
    row: Key,
}

/// A place in a transaction to come back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(usize);

impl Mark {
    /// The place behind so many changes.
    pub fn of(steps: usize) -> Self {
        Self(steps)
    }

    /// Changes before it.
    pub fn steps(self) -> usize {
        self.0
    }
}

/// A transaction on some tables, which it numbers in their order. It has them, and the node, by
/// reference or as its own.
pub struct Transaction<N, T> {
    node: N,
    tables: Vec<T>,
    begun: Begun,
    class: Class,
    cache: BTreeMap<Place, Cached>,
    steps: Vec<Step>,
    /// Rows that it changed, as they are now, by the keys of all indexes.
    own: BTreeSet<OwnEntry>,
    /// Rows that it added under keys of its own.
    added: u64,
    ahead: Ahead,
    /// Rows that had been changed when indexes, which have these names, were built without them.
    unindexed: HashMap<String, BTreeSet<Key>>,
    /// Claims that its commit makes first.
    claims: BTreeMap<Place, Claim>,
}

/// Look-ups of unique keys that were made before they were asked for: as its snapshot has them.
#[derive(Default)]
struct Ahead {
    table: usize,
    /// Rows by key, for each index of the table.
    by_index: Vec<HashMap<Vec<u8>, Vec<Key>>>,
}

impl Ahead {
    fn rows(&self, table: usize, index: usize, prefix: &[u8]) -> Option<Vec<Key>> {
        if self.table != table {
            return None;
        }
        self.by_index.get(index)?.get(prefix).cloned()
    }
}

/// Writes of rows that are on their way at a time: beats of the node do not wait behind more.
const WRITES: usize = 4096;

/// Claims that are made at a time.
const CLAIMS: usize = 64;

/// Keys that a transaction makes from its version.
const ADDED_BITS: u32 = 17;

impl<N: Deref<Target = Node>, T: Deref<Target = SharedTable>> Transaction<N, T> {
    /// Begins a transaction on `tables`.
    ///
    /// # Errors
    /// [`SharedError::Stopped`], [`SharedError::Store`].
    pub async fn begin(node: N, tables: Vec<T>, class: Class) -> Result<Self> {
        let begun = node.begin(class).await?;
        Ok(Self::new(node, tables, begun, class))
    }

    /// Begins a transaction that reads what `seen` sees, which another one has; None when that has
    /// ended, and rows may be gone.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub async fn begin_at(node: N, tables: Vec<T>, seen: &Snapshot) -> Result<Option<Self>> {
        let begun = node.begin_at(seen).await?;
        Ok(begun.map(|begun| Self::new(node, tables, begun, Class::ReadOnly)))
    }

    fn new(node: N, tables: Vec<T>, begun: Begun, class: Class) -> Self {
        let (cache, steps, own) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        let (added, ahead) = (0, Ahead::default());
        let (unindexed, claims) = (HashMap::new(), BTreeMap::new());
        Self { node, tables, begun, class, cache, steps, own, added, ahead, unindexed, claims }
    }

    /// Adds a table to those that it numbers; its number.
    pub fn add_table(&mut self, table: T) -> usize {
        self.tables.push(table);
        self.tables.len() - 1
    }

    /// Its tables.
    pub fn tables(&self) -> &[T] {
        &self.tables
    }

    /// A key that no other row of any table has, for a row that it adds.
    ///
    /// # Errors
    /// [`SharedError::ReadOnly`]; [`SharedError::TooManyChanges`] after 131,072 of them.
    pub fn new_key(&mut self) -> Result<Key> {
        self.admit_write()?;
        let version = self.begun.ticket.0;
        if self.added >> ADDED_BITS > 0 || version >> (64 - ADDED_BITS) > 0 {
            return Err(SharedError::TooManyChanges);
        }
        self.added += 1;
        Ok(version << ADDED_BITS | (self.added - 1))
    }

    /// This place, for [`Self::go_back`].
    pub fn mark(&self) -> Mark {
        Mark(self.steps.len())
    }

    /// True when it would change nothing.
    pub fn has_only_read(&self) -> bool {
        self.steps.is_empty()
    }

    /// Takes back what was changed since `mark`.
    pub fn go_back(&mut self, mark: Mark) {
        while self.steps.len() > mark.0 {
            let Some(Step { place, after, was_changed }) = self.steps.pop() else { return };
            self.disown(place);
            if let Some(cached) = self.cache.get_mut(&place) {
                (cached.after, cached.is_changed) = (after, was_changed);
            }
            self.own(place);
        }
    }

    /// Rows of table `table` that it changed, as they are now, by key.
    pub fn changed(&self, table: usize) -> impl Iterator<Item = (Key, Option<&Tuple>)> {
        let places = self.cache.range((table, 0)..=(table, Key::MAX));
        let changed = places.filter(|(_, cached)| cached.is_changed);
        changed.map(|(place, cached)| (place.1, cached.after.as_ref()))
    }

    /// Rows of table `table` that it changed since `mark`, by key: as it had left them there; None
    /// for those that it had not changed.
    pub fn before(&self, table: usize, mark: Mark) -> BTreeMap<Key, Option<Option<Tuple>>> {
        let mut rows = BTreeMap::new();
        for Step { place, after, was_changed } in self.steps.iter().skip(mark.0) {
            if place.0 == table {
                rows.entry(place.1).or_insert_with(|| was_changed.then(|| after.clone()));
            }
        }
        rows
    }

    /// The row that its snapshot has under a key that it has read.
    pub fn committed(&self, table: usize, key: Key) -> Option<Tuple> {
        self.cache.get(&(table, key)).and_then(|cached| cached.before.clone())
    }

    /// Entries of a changed row as it is now.
    fn own_entries(&self, place: Place) -> Vec<OwnEntry> {
        let Some(cached) = self.cache.get(&place) else { return Vec::new() };
        let Some(tuple) = cached.after.as_ref().filter(|_| cached.is_changed) else {
            return Vec::new();
        };
        let shared = &self.tables[place.0];
        let entry = |(number, index): (usize, &Index<StoredRecords>)| {
            let prefix = index.fields_of(shared.schema(), tuple)?;
            Some(OwnEntry { table: place.0, index: number, prefix, row: place.1 })
        };
        shared.indexes.iter().enumerate().filter_map(entry).collect()
    }

    fn own(&mut self, place: Place) {
        let entries = self.own_entries(place);
        self.own.extend(entries);
    }

    fn disown(&mut self, place: Place) {
        for entry in self.own_entries(place) {
            self.own.remove(&entry);
        }
    }

    /// Version of its changes.
    ///
    /// # Errors
    /// [`SharedError::ReadOnly`].
    pub fn version(&self) -> Result<Version> {
        self.admit_write()?;
        Ok(Version(self.begun.ticket.0))
    }

    /// Versions that it sees.
    pub fn snapshot(&self) -> &Snapshot {
        &self.begun.snapshot
    }

    async fn cached(&mut self, place: Place) -> Result<&mut Cached> {
        if !self.cache.contains_key(&place) {
            let rows = self.tables[place.0].rows();
            let found = rows.get_later(&self.begun.snapshot, place.1).await;
            self.cache.insert(place, cached_of(found)?);
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

    /// Fetches rows that it does not know yet, all at once.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn fetch(&mut self, table: usize, keys: &[Key]) -> Result<()> {
        let unknown = keys.iter().filter(|key| !self.cache.contains_key(&(table, **key)));
        let rows = self.tables[table].rows();
        let fetches: Vec<_> =
            unknown.map(|key| (*key, rows.get_later(&self.begun.snapshot, *key))).collect();
        for (key, fetch) in fetches {
            let cached = cached_of(fetch.await)?;
            self.cache.insert((table, key), cached);
        }
        Ok(())
    }

    async fn change(&mut self, place: Place, after: Option<Tuple>) -> Result<()> {
        if self.cached(place).await?.newest == Newest::No {
            return Err(SharedError::Conflict);
        }
        self.disown(place);
        if let Some(cached) = self.cache.get_mut(&place) {
            let was_changed = std::mem::replace(&mut cached.is_changed, true);
            let after = std::mem::replace(&mut cached.after, after);
            self.steps.push(Step { place, after, was_changed });
        }
        self.own(place);
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

    /// Adds a row under a key that [`Self::new_key`] gave, so that no store is asked whether there
    /// is one. The caller has looked for doubles; those that nobody sees yet are met by the commit.
    ///
    /// # Errors
    /// [`SharedError::ReadOnly`], [`SharedError::Store`].
    pub async fn add(&mut self, table: usize, key: Key, tuple: Tuple) -> Result<()> {
        self.admit_write()?;
        let (newest, is_changed) = (Newest::Yes, false);
        let (before, after) = (None, None);
        self.cache.insert((table, key), Cached { before, after, newest, is_changed });
        self.change((table, key), Some(tuple)).await
    }

    /// As [`Self::update`]; the caller has looked for doubles, as for [`Self::add`].
    ///
    /// # Errors
    /// [`SharedError::NoRow`], [`SharedError::Conflict`], [`SharedError::ReadOnly`],
    /// [`SharedError::Store`].
    pub async fn replace(&mut self, table: usize, key: Key, tuple: Tuple) -> Result<()> {
        self.admit_write()?;
        if self.cached((table, key)).await?.after.is_none() {
            return Err(SharedError::NoRow);
        }
        self.change((table, key), Some(tuple)).await
    }

    /// The first unique index of the table in which another row than that of `key` has the key of
    /// `tuple`.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn double(&mut self, table: usize, key: Key, tuple: &Tuple) -> Result<Option<usize>> {
        for number in 0..self.tables[table].indexes.len() {
            let index = &self.tables[table].indexes[number];
            let schema = self.tables[table].schema();
            if index.uniqueness() == Uniqueness::Unique
                && let Some(prefix) = index.whole_fields_of(schema, tuple)
            {
                let now = self.cache.get(&(table, key)).and_then(|cached| cached.after.as_ref());
                let now = now.and_then(|now| index.fields_of(schema, now));
                if now.as_ref() == Some(&prefix) {
                    // It keeps its key.
                    continue;
                }
                let rows = self.rows_of(table, number, &prefix).await?;
                if rows.iter().any(|row| *row != key) {
                    return Ok(Some(number));
                }
            }
        }
        Ok(None)
    }

    /// Looks at once for all doubles of rows that are about to come, so that [`Self::double`] need
    /// not ask for each of them.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn look_ahead(&mut self, table: usize, tuples: &[Tuple]) -> Result<()> {
        self.ahead = Ahead { table, by_index: Vec::new() };
        let (shared, mut found) = (&self.tables[table], BTreeSet::new());
        let mut by_index = Vec::with_capacity(shared.indexes.len());
        for index in &shared.indexes {
            if index.uniqueness() != Uniqueness::Unique {
                by_index.push(HashMap::new());
                continue;
            }
            let schema = shared.schema();
            let prefixes: BTreeSet<Vec<u8>> =
                tuples.iter().filter_map(|tuple| index.whole_fields_of(schema, tuple)).collect();
            let prefixes: Vec<Vec<u8>> = prefixes.into_iter().collect();
            let rows = index.candidates_of(&self.begun.snapshot, &prefixes).await?;
            found.extend(rows.iter().flatten().copied());
            by_index.push(prefixes.into_iter().zip(rows).collect());
        }
        self.ahead.by_index = by_index;
        let found: Vec<Key> = found.into_iter().collect();
        self.fetch(table, &found).await
    }

    async fn refuse_doubles(&mut self, table: usize, key: Key, tuple: &Tuple) -> Result<()> {
        match self.double(table, key, tuple).await? {
            Some(_) => Err(SharedError::UniqueViolation),
            None => Ok(()),
        }
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
        let tree = &self.tables[table].indexes[index];
        let mut rows = match self.ahead.rows(table, index, prefix) {
            Some(rows) => rows,
            None => tree.candidates(&self.begun.snapshot, prefix).await?,
        };
        // Own changes are not in the tree yet.
        let from = OwnEntry { table, index, prefix: prefix.to_vec(), row: 0 };
        let is_meant = |entry: &&OwnEntry| {
            (entry.table, entry.index) == (table, index) && entry.prefix.starts_with(prefix)
        };
        rows.extend(self.own.range(from..).take_while(is_meant).map(|entry| entry.row));
        rows.sort_unstable();
        rows.dedup();
        self.fetch(table, &rows).await?;
        let shared = &self.tables[table];
        let has_key = |row: &Key| {
            let tuple = self.cache.get(&(table, *row)).and_then(|cached| cached.after.as_ref());
            let tree = &shared.indexes[index];
            let fields = tuple.and_then(|tuple| tree.fields_of(shared.schema(), tuple));
            fields.is_some_and(|fields| fields.starts_with(prefix))
        };
        Ok(rows.into_iter().filter(has_key).collect())
    }

    /// Claims a row: its commit fails with [`SharedError::Conflict`] when a transaction that runs
    /// at once has a claim that this one excludes. A row that it added itself needs none; what is
    /// taken back keeps its claims.
    ///
    /// # Errors
    /// [`SharedError::ReadOnly`], [`SharedError::Store`].
    pub async fn claim(&mut self, table: usize, key: Key, claim: Claim) -> Result<()> {
        self.admit_write()?;
        if self.cached((table, key)).await?.before.is_some() {
            let known = self.claims.entry((table, key)).or_insert(claim);
            *known = claim.max(*known);
        }
        Ok(())
    }

    async fn make_claims(&self) -> Result<()> {
        let claims: Vec<(Place, Claim)> = self.claims.iter().map(|(at, how)| (*at, *how)).collect();
        for claims in claims.chunks(CLAIMS) {
            let make = |((table, key), claim): &(Place, Claim)| {
                self.node.claim(&self.tables[*table], *key, *claim, &self.begun.snapshot)
            };
            let made = all(claims.iter().map(make).collect()).await;
            made.into_iter().collect::<Result<()>>()?;
        }
        Ok(())
    }

    /// Rows that it changes, by table, with the entries of indexes.
    fn changes(&self) -> Vec<TableUndo> {
        let of_table = |(number, table): (usize, &T)| {
            let indexes = table.indexes.iter().map(|index| index.name().to_owned()).collect();
            let table_name = table.name.clone();
            let mut undo = TableUndo { table: table_name, indexes, ..TableUndo::default() };
            for (place, cached) in self.cache.range((number, 0)..=(number, Key::MAX)) {
                if change_of(cached).is_some() {
                    undo.keys.push(place.1);
                    self.entries(table, place.1, cached, &mut undo.entries);
                }
            }
            undo
        };
        let all = self.tables.iter().enumerate().map(of_table);
        all.filter(|undo| !undo.keys.is_empty()).collect()
    }

    /// Appends changes of the entries of a row.
    fn entries(&self, table: &SharedTable, row: Key, cached: &Cached, out: &mut Vec<EntryChange>) {
        for (number, index) in table.indexes.iter().enumerate() {
            let entry =
                |tuple: &Option<Tuple>| index.entry_of(table.schema(), row, tuple.as_ref()?);
            let lacks_it = |rows: &BTreeSet<Key>| rows.contains(&row);
            let is_unindexed = self.unindexed.get(index.name()).is_some_and(lacks_it);
            let before = if is_unindexed { None } else { entry(&cached.before) };
            let after = entry(&cached.after);
            if before == after {
                continue;
            }
            out.extend(before.map(|what| EntryChange { index: number, what, is_new: false }));
            out.extend(after.map(|what| EntryChange { index: number, what, is_new: true }));
        }
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
        let outcome = match self.make_claims().await {
            Ok(()) => self.write_all(&undo).await,
            Err(SharedError::Conflict) => {
                self.node.finish(self.begun.ticket).await?;
                return Err(SharedError::Conflict);
            }
            Err(error) => Err(error),
        };
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
        let parts = match self.node.put_undo(version, undo).await {
            Err(SharedError::TooManyChanges) => {
                self.node.finish(self.begun.ticket).await?;
                return Err(SharedError::TooManyChanges);
            }
            outcome => outcome?,
        };
        let outcome = self.write(undo, version).await;
        if let Err(error) = &outcome {
            match error {
                SharedError::Conflict | SharedError::UniqueViolation => {
                    self.node.roll_back(version, undo).await?;
                }
                _ => return outcome,
            }
        }
        self.node.drop_undo(version, parts).await?;
        // Behind this the transaction is what it is, whoever finishes it.
        self.node.finish(self.begun.ticket).await?;
        outcome
    }

    async fn write(&self, undo: &[TableUndo], version: Version) -> Result<()> {
        let mut changes = self.cache.iter().filter_map(|(place, cached)| {
            let rows = self.tables[place.0].rows();
            Some(rows.write_later(&self.begun.snapshot, place.1, change_of(cached)?))
        });
        loop {
            // Calls are made as they are taken: so many are on their way at a time.
            let writes: Vec<_> = changes.by_ref().take(WRITES).collect();
            if writes.is_empty() {
                break;
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
        }
        for table in undo {
            let shared = self.tables.iter().find(|shared| shared.name == table.table);
            let shared = shared.ok_or_else(|| SharedError::Corrupt("a table".into()))?;
            for (number, index) in shared.indexes.iter().enumerate() {
                let of_it = table.entries.iter().filter(|change| change.index == number);
                index.apply(&of_it.collect::<Vec<_>>(), version).await?;
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

fn cached_of(found: Result<Fetched, StoreError>) -> Result<Cached> {
    let (before, newest) = match found {
        Ok(Fetched { tuple, newest, .. }) => (Some(tuple), newest),
        Err(StoreError::NotFound) => (None, Newest::Yes),
        Err(StoreError::NotInSnapshot) => (None, Newest::No),
        Err(error) => return Err(error.into()),
    };
    let after = before.clone();
    Ok(Cached { before, after, newest, is_changed: false })
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
