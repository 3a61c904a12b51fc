//! Prepared transactions after a restart: their locks and rows again, as transactions that run.
//!
//! ```text
//! redo -> what became of each row -> rows that go -> rows that change, or come -> row locks
//! ```
//! A row that moved within the transaction is changed where it was before. Rows that exchanged keys
//! wait for each other; where a circle is left, one of them goes and comes.
//! Invariant: nothing else writes meanwhile, and prepared transactions never meet in a row: so
//! nothing waits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use catalog::State;
use catalog::wide::{self, Touch};
use sql::statement::AccessMode;
use storage::{Datum, RowBuffer, Table, TableId, Tid, WriteError};
use txn::manager::Isolation;
use txn::redo::{Redo, RedoReader};
use types::{Error, Result, SqlState, Value};

use crate::Database;
use crate::instance::prepared::PreparedFacts;
use crate::transaction::work::prepared::{LockedRow, PreparedImage, decoded, reader_of_tables};
use crate::transaction::work::{Begun, Modes, Work};

/// Change of a row, all in all.
#[derive(Clone, Debug)]
enum Change {
    Insert(Vec<Value>),
    /// Columns and their values.
    Update(Vec<(usize, Value)>),
    Delete,
}

/// Table and place of a row.
type Place = (TableId, Tid);

/// Makes the prepared transactions that the files name prepared again.
///
/// # Errors
/// XX001 for bytes that name what is not there; 53200, 53300.
pub(crate) fn restore(database: &Database) -> Result<()> {
    let named = database.inner().stores.named.lock().prepared.clone();
    for (gid, bytes) in named {
        restore_one(database, &gid, &bytes)?;
    }
    Ok(())
}

fn restore_one(database: &Database, gid: &Arc<str>, bytes: &[u8]) -> Result<()> {
    let inner = database.inner();
    let image = decoded(bytes)?;
    let mut session = database.session();
    let modes = Modes::new(Isolation::ReadCommitted, AccessMode::ReadWrite);
    session.begin_work(modes, Begun::Explicitly)?;
    let state = session.state();
    let tables: HashMap<TableId, &String> =
        state.tables.iter().map(|(name, entry)| (entry.storage().id(), name)).collect();
    for (table, mode) in &image.locks {
        let name = tables.get(table).ok_or_else(|| lost("locks of tables"))?;
        let storage = Arc::clone(state.tables[*name].storage());
        session.lock_table(name, &storage, *mode)?;
    }
    let rows = Rows { storages: storages(&state) };
    rows.write(session.work_mut(), &image)?;
    touch_wide(session.work_mut(), &state, &image)?;
    let read = image
        .read
        .as_ref()
        .map(|read| reader_of_tables(read.iter().filter_map(|table| rows.storages.get(table))));
    let work = session.work.take().ok_or_else(|| lost("work"))?;
    let facts = PreparedFacts { txn: work.txn.id(), ..image.facts.clone() };
    inner.prepared.reserve(inner, gid, facts, read)?;
    inner.prepared.keep(gid, work.prepared_again(inner, &image));
    Ok(())
}

fn storages(state: &State) -> HashMap<TableId, Arc<Table>> {
    let of = |entry: &Arc<crate::TableEntry>| (entry.storage().id(), Arc::clone(entry.storage()));
    state.tables.values().map(of).collect()
}

/// Wide tables over tables that it wrote end when it commits.
fn touch_wide(work: &mut Work, state: &State, image: &PreparedImage<'_>) -> Result<()> {
    let written: HashSet<TableId> =
        net(image.redo)?.into_iter().map(|((table, _), _)| table).collect();
    for (name, entry) in &state.tables {
        if written.contains(&entry.storage().id()) {
            for (wide, _) in wide::over(state, name) {
                work.touch(wide, Touch::Changed);
            }
        }
    }
    Ok(())
}

/// XX001.
fn lost(what: &str) -> Error {
    let message = format!("the database is damaged: a prepared transaction has lost its {what}");
    Error::new(SqlState::DATA_CORRUPTED, message)
}

/// Changes that the entries of `redo` come to, row by row, in their order.
fn net(redo: &[u8]) -> Result<Vec<(Place, Change)>> {
    let mut net = Net::default();
    let mut reader = RedoReader::new(redo);
    let owned = |values: &[Datum<'_>]| values.iter().map(Datum::to_value).collect::<Vec<_>>();
    while let Some(entry) = reader.next()? {
        match entry {
            Redo::Insert { table, tid, values } => net.insert((table, tid), owned(values)),
            Redo::Update { table, tid, columns, values } => {
                let changes = columns.iter().copied().zip(owned(values));
                net.update((table, tid), changes.collect());
            }
            Redo::Delete { table, tid, moved_to } => {
                net.delete((table, tid), moved_to.map(|to| (table, to)));
            }
            _ => return Err(lost("rows")),
        }
    }
    Ok(net.finish())
}

/// Changes of rows, the last of several to one row counting.
#[derive(Default)]
struct Net {
    order: Vec<Place>,
    changes: HashMap<Place, Change>,
    /// Rows that moved, and where they are.
    moved: HashMap<Place, Place>,
}

impl Net {
    fn insert(&mut self, at: Place, values: Vec<Value>) {
        self.order.push(at);
        self.changes.insert(at, Change::Insert(values));
    }

    fn update(&mut self, at: Place, new: Vec<(usize, Value)>) {
        match self.changes.get_mut(&at) {
            Some(Change::Insert(values)) => {
                put(values, new);
            }
            Some(Change::Update(known)) => {
                for (column, value) in new {
                    match known.iter_mut().find(|known| known.0 == column) {
                        Some(known) => known.1 = value,
                        None => known.push((column, value)),
                    }
                }
            }
            _ => {
                self.order.push(at);
                self.changes.insert(at, Change::Update(new));
            }
        }
    }

    fn delete(&mut self, at: Place, moved_to: Option<Place>) {
        if let Some(to) = moved_to {
            self.moved.insert(at, to);
        }
        // A row of its own that goes was never there.
        if let Some(Change::Insert(_)) = self.changes.get(&at) {
            self.changes.remove(&at);
            return;
        }
        self.order.push(at);
        self.changes.insert(at, Change::Delete);
    }

    /// The changes; a row that moved is one that changed where it was.
    fn finish(mut self) -> Vec<(Place, Change)> {
        let starts: Vec<Place> =
            self.moved.keys().filter(|at| self.changes.contains_key(*at)).copied().collect();
        for start in starts {
            let mut end = start;
            while let Some(next) = self.moved.get(&end) {
                end = *next;
            }
            if let Some(Change::Insert(values)) = self.changes.remove(&end) {
                let all = values.into_iter().enumerate().collect();
                self.changes.insert(start, Change::Update(all));
            }
        }
        let Self { order, mut changes, .. } = self;
        order.into_iter().filter_map(|at| Some((at, changes.remove(&at)?))).collect()
    }
}

/// Gives columns of a row other values.
fn put(values: &mut [Value], new: Vec<(usize, Value)>) {
    for (column, value) in new {
        if let Some(known) = values.get_mut(column) {
            *known = value;
        }
    }
}

/// Rows written again.
struct Rows {
    storages: HashMap<TableId, Arc<Table>>,
}

impl Rows {
    fn table(&self, id: TableId) -> Result<&Arc<Table>> {
        self.storages.get(&id).ok_or_else(|| lost("tables"))
    }

    fn write(&self, work: &mut Work, image: &PreparedImage<'_>) -> Result<()> {
        let (gone, mut open): (Vec<_>, Vec<_>) =
            net(image.redo)?.into_iter().partition(|(_, change)| matches!(change, Change::Delete));
        for (at, change) in &gone {
            self.apply(work, *at, change).map_err(WriteError::into_failure)?;
        }
        while !open.is_empty() {
            let before = open.len();
            let mut later = Vec::new();
            for (at, change) in open {
                match self.apply(work, at, &change) {
                    Ok(()) => {}
                    Err(WriteError::Duplicate { .. }) => later.push((at, change)),
                    Err(error) => return Err(error.into_failure()),
                }
            }
            if later.len() == before {
                self.break_circle(work, &mut later)?;
            }
            open = later;
        }
        let at = work.txn.snapshot();
        for locked in &image.rows_locked {
            let undo = work.txn.undo();
            let LockedRow { table, tid, strength } = *locked;
            // What it changed or deleted it has.
            self.table(table)?.lock(undo, at, tid, strength).or_else(|error| match error {
                WriteError::Conflict { .. } => Ok(()),
                error => Err(error.into_failure()),
            })?;
        }
        Ok(())
    }

    fn apply(&self, work: &mut Work, at: Place, change: &Change) -> Result<(), WriteError> {
        let (table, tid) = (self.table(at.0)?, at.1);
        let snapshot = work.txn.snapshot();
        let undo = work.txn.undo();
        match change {
            Change::Insert(values) => {
                let row: Vec<Datum<'_>> = values.iter().map(Datum::from).collect();
                table.insert(undo, &row).map(drop)
            }
            Change::Update(new) => {
                let new: Vec<(usize, Datum<'_>)> =
                    new.iter().map(|(column, value)| (*column, Datum::from(value))).collect();
                table.update(undo, snapshot, tid, &new).map(drop)
            }
            Change::Delete => table.delete(undo, snapshot, tid),
        }
    }

    /// Makes a row that changes one that goes and comes, so that others can have its key.
    fn break_circle(&self, work: &mut Work, open: &mut [(Place, Change)]) -> Result<()> {
        let changes = |(_, change): &&mut (Place, Change)| matches!(change, Change::Update(_));
        let (at, change) = open.iter_mut().find(changes).ok_or_else(|| lost("keys"))?;
        let table = self.table(at.0)?;
        let columns: Vec<usize> = (0..table.schema().len()).collect();
        let mut row = RowBuffer::new();
        let snapshot = work.txn.snapshot();
        if !table.read(snapshot, at.1, &columns, &mut row)? {
            return Err(lost("rows"));
        }
        let mut values: Vec<Value> = row.iter().map(|datum| datum.to_value()).collect();
        if let Change::Update(new) = change {
            put(&mut values, std::mem::take(new));
        }
        self.apply(work, *at, &Change::Delete).map_err(WriteError::into_failure)?;
        *change = Change::Insert(values);
        Ok(())
    }
}
