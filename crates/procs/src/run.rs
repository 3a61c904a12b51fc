//! Running closures as transactions, again when another transaction was first.

use std::ops::ControlFlow;
use std::time::Duration;

use engine::Database;
use engine::native::{Between, IndexRead, NativeOptions, NativeSession};
use storage::{Datum, Direction, KeyBatch, RowBuffer, Tid};
use types::{Error, Result, SqlState};

use crate::field::Field;
use crate::record::{Record, Table};

/// How often a transaction is tried, and how long it pauses between.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Tries in all, at least one.
    pub tries: u32,
    /// Pause after the first failure; it doubles with each, up to a hundred times.
    pub pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { tries: 20, pause: Duration::from_micros(20) }
    }
}

/// Runs transactions of one thread.
pub struct Procedures {
    database: Database,
    session: NativeSession,
    retry: Retry,
    options: NativeOptions,
}

/// A running transaction, for a closure.
pub struct Transaction<'p> {
    session: &'p mut NativeSession,
    row: RowBuffer,
    batch: KeyBatch,
}

/// True when it is worth to try again: serialization failure or deadlock.
fn is_retryable(error: &Error) -> bool {
    error.state() == SqlState::SERIALIZATION_FAILURE || error.state() == SqlState::DEADLOCK_DETECTED
}

impl Procedures {
    /// Runner for one thread; make one for each.
    pub fn new(database: &Database) -> Self {
        Self {
            database: database.clone(),
            session: database.native(),
            retry: Retry::default(),
            options: NativeOptions::default(),
        }
    }

    /// How often transactions are tried.
    pub fn set_retry(&mut self, retry: Retry) {
        self.retry = retry;
    }

    /// Isolation and access mode of the transactions from now on.
    pub fn set_options(&mut self, options: NativeOptions) {
        self.options = options;
    }

    /// The session below: calls without types, and whether commits wait for the disk.
    pub fn session(&mut self) -> &mut NativeSession {
        &mut self.session
    }

    /// The table of `R`.
    ///
    /// # Errors
    /// 42P01, 42703.
    pub fn table<R: Record>(&self) -> Result<Table<R>> {
        Table::new(self.database.handle(R::TABLE)?)
    }

    /// Runs `body` as a transaction and commits it.
    ///
    /// # Errors
    /// Errors of `body`, after a roll-back; 23503 from deferred foreign keys; 40001 or 40P01 when
    /// all tries failed; why the log cannot take it.
    pub fn run<T>(&mut self, mut body: impl FnMut(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut pause = self.retry.pause;
        for attempt in 1.. {
            self.session.begin(self.options)?;
            let (row, batch) = Default::default();
            let mut transaction = Transaction { session: &mut self.session, row, batch };
            let outcome = body(&mut transaction);
            let outcome = match outcome {
                Ok(value) => self.session.commit().map(|()| value),
                Err(error) => {
                    self.session.rollback();
                    Err(error)
                }
            };
            match outcome {
                Err(error) if is_retryable(&error) && attempt < self.retry.tries => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(self.retry.pause * 100);
                }
                outcome => return outcome,
            }
        }
        Err(Error::internal("a transaction is tried at least once"))
    }
}

impl Transaction<'_> {
    /// The session, for calls without types.
    pub fn session(&mut self) -> &mut NativeSession {
        self.session
    }

    /// The TID of the row with this primary key; its fields are read.
    fn find<R: Record>(&mut self, table: &Table<R>, key: &[&dyn Key]) -> Result<Option<Tid>> {
        let primary = primary_key(table)?;
        let key: Vec<Datum<'_>> = key.iter().map(|k| k.key()).collect();
        let read = IndexRead { table: &table.handle, index: primary, columns: &table.columns };
        self.session.get(read, &key, &mut self.row)
    }

    /// The row with this primary key.
    ///
    /// # Errors
    /// 42804, 22004 when a field does not fit its column.
    pub fn get<R: Record>(&mut self, table: &Table<R>, key: &[&dyn Key]) -> Result<Option<R>> {
        match self.find(table, key)? {
            Some(_) => R::from_row(&self.row).map(Some),
            None => Ok(None),
        }
    }

    /// The rows with these primary keys, in their order: as [`Self::get`] of each, but memory is
    /// waited for together, which pays from a handful of keys on.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_many<R: Record>(
        &mut self,
        table: &Table<R>,
        keys: &[&[&dyn Key]],
    ) -> Result<Vec<Option<R>>> {
        let primary = primary_key(table)?;
        let datums: Vec<Vec<Datum<'_>>> =
            keys.iter().map(|key| key.iter().map(|k| k.key()).collect()).collect();
        let (handle, batch) = (&table.handle, &mut self.batch);
        self.session.start_batch(handle, primary, datums.iter().map(|key| &key[..]), batch)?;
        let read = IndexRead { table: handle, index: primary, columns: &table.columns };
        let row = |i| {
            let row = &mut self.row;
            match self.session.get_nth(read, batch, i, row)? {
                Some(_) => R::from_row(row).map(Some),
                None => Ok(None),
            }
        };
        (0..keys.len()).map(row).collect()
    }

    /// Inserts a row. Columns without a field are NULL; generated ones are computed, whatever their
    /// field says.
    ///
    /// # Errors
    /// 23502, 23503, 23505, 23514, 40001.
    pub fn insert<R: Record>(&mut self, table: &Table<R>, record: &R) -> Result<()> {
        let mut row = vec![Datum::Null; table.handle.columns().len()];
        let mut next = 0;
        record.visit(&mut |datum| {
            row[table.columns[next]] = datum;
            next += 1;
        });
        self.session.insert(&table.handle, &row).map(|_| ())
    }

    /// Changes the row with this primary key; the fields that `change` touches are written.
    ///
    /// # Errors
    /// P0002 without such a row; 428C9 for the field of a generated column; as [`Self::insert`].
    pub fn change<R: Record + Clone>(
        &mut self,
        table: &Table<R>,
        key: &[&dyn Key],
        change: impl FnOnce(&mut R),
    ) -> Result<()> {
        let Some(tid) = self.find(table, key)? else { return Err(no_row::<R>()) };
        let old = R::from_row(&self.row)?;
        let mut new = old.clone();
        change(&mut new);
        let mut before = Vec::with_capacity(table.columns.len());
        old.visit(&mut |datum| before.push(datum));
        let mut changes = Vec::new();
        let mut next = 0;
        new.visit(&mut |datum| {
            if before[next] != datum {
                changes.push((table.columns[next], datum));
            }
            next += 1;
        });
        if changes.is_empty() {
            return Ok(());
        }
        self.session.update(&table.handle, tid, &changes).map(|_| ())
    }

    /// Deletes the row with this primary key; whether there was one.
    ///
    /// # Errors
    /// 23503, 40001.
    pub fn delete<R: Record>(&mut self, table: &Table<R>, key: &[&dyn Key]) -> Result<bool> {
        match self.find(table, key)? {
            Some(tid) => self.session.delete(&table.handle, tid).map(|()| true),
            None => Ok(false),
        }
    }

    /// The rows whose key in the index called `index` lies in `range`, until `visit` breaks.
    ///
    /// # Errors
    /// 42704 without such an index; 42804, 22004 when a field does not fit.
    pub fn range<R: Record>(
        &mut self,
        table: &Table<R>,
        index: &str,
        range: Range<'_>,
        mut visit: impl FnMut(R) -> ControlFlow<()>,
    ) -> Result<()> {
        let number = table.handle.index(index).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_OBJECT, format!("index \"{index}\" does not exist"))
        })?;
        let low: Vec<Datum<'_>> = range.low.iter().map(|k| k.key()).collect();
        let high: Vec<Datum<'_>> = range.high.iter().map(|k| k.key()).collect();
        let mut outcome = Ok(());
        let read = IndexRead { table: &table.handle, index: number, columns: &table.columns };
        let between = Between { low: &low, high: &high, direction: range.direction };
        self.session.range(read, between, &mut self.row, |_, row| match R::from_row(row) {
            Ok(record) => visit(record),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        })?;
        outcome
    }
}

fn primary_key<R: Record>(table: &Table<R>) -> Result<usize> {
    table.primary.ok_or_else(|| {
        let message = format!("table \"{}\" has no primary key", R::TABLE);
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

fn no_row<R: Record>() -> Error {
    Error::new(SqlState::NO_DATA_FOUND, format!("there is no such row in \"{}\"", R::TABLE))
}

/// Keys that begin with values from `low` to `high`.
#[derive(Clone, Copy)]
pub struct Range<'a> {
    /// Values of the first columns of the smallest keys.
    pub low: &'a [&'a dyn Key],
    /// Values of the first columns of the largest keys.
    pub high: &'a [&'a dyn Key],
    /// Order in which the rows are met.
    pub direction: Direction,
}

/// A value of a key.
pub trait Key {
    /// As storage takes it.
    fn key(&self) -> Datum<'_>;
}

impl<T: Field> Key for T {
    fn key(&self) -> Datum<'_> {
        self.datum()
    }
}

impl Key for &str {
    fn key(&self) -> Datum<'_> {
        Datum::Str(self.as_bytes())
    }
}
