//! Transactions without SQL: rows by key and by range, for crate `procs`.
//!
//! A native transaction is a session whose statements are calls: the same snapshots, locks,
//! constraints and log. Writes are of one row each; a call that fails changes nothing.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use catalog::locks::{Asked, LockMode};
use catalog::rows::push;
use catalog::{TableEntry, keys, undefined_table};
use kernels::{Batch, Column, VectorBuilder};
use sql::catalog::{IndexMeta, TableMeta};
use sql::statement::AccessMode;
use storage::{
    Datum, Direction, KeyBatch, KeyBuffer, KeyRange, LockStrength, RowBuffer, Snapshot, Tid,
    WriteError,
};
use txn::manager::Isolation;
use types::{Error, Result, SqlState};

use crate::session::Session;
use crate::statement::running::Running;
use crate::transaction::work::{Begun, Modes, Work, newest, stale};
use crate::write::change;
use crate::write::rows::{RowReader, attempt};
use crate::write::triggers;
use crate::write::writer::TableWriter;
use crate::{CancelHandle, Database};

/// A table and the state of the catalog in which it was looked up. Look it up once, use it in all
/// transactions: when the table changes, calls end with 40001 and a new handle is needed.
#[derive(Clone)]
pub struct TableHandle {
    entry: Arc<TableEntry>,
    version: u64,
    /// CHECK and foreign keys, of this table or to it, and generated columns.
    constrained: bool,
}

impl TableHandle {
    /// Its name.
    pub fn name(&self) -> &str {
        self.entry.name()
    }

    /// Its columns.
    pub fn columns(&self) -> &[sql::catalog::ColumnDef] {
        self.entry.columns()
    }

    /// The ordinal of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns().iter().position(|c| c.name == name)
    }

    /// The position of the index called `name`; keys have an index of their name. None for `gin`
    /// and `hnsw`, whose entries have other keys.
    pub fn index(&self, name: &str) -> Option<usize> {
        let is_it = |i: &IndexMeta| i.name == name && i.kind.has_keys();
        self.entry.indexes().iter().position(is_it)
    }

    /// The position of the primary key's index.
    pub fn primary_key(&self) -> Option<usize> {
        let key = self.entry.keys().iter().find(|k| k.primary)?;
        self.index(&key.name)
    }
}

/// An index of a table, and the columns that are read of its rows.
#[derive(Clone, Copy)]
pub struct IndexRead<'a> {
    /// The table.
    pub table: &'a TableHandle,
    /// Position of the index.
    pub index: usize,
    /// Ordinals of the columns.
    pub columns: &'a [usize],
}

/// The keys of an ordered index that lie between two prefixes, those that begin with them included.
#[derive(Clone, Copy)]
pub struct Between<'a> {
    /// First columns of the smallest keys.
    pub low: &'a [Datum<'a>],
    /// First columns of the largest keys.
    pub high: &'a [Datum<'a>],
    /// Order in which the keys are met.
    pub direction: Direction,
}

/// Modes of a native transaction.
#[derive(Clone, Copy, Debug)]
pub struct NativeOptions {
    /// Isolation from other transactions.
    pub isolation: Isolation,
    /// Access of the transaction: READ WRITE or READ ONLY.
    pub access: AccessMode,
}

impl Default for NativeOptions {
    fn default() -> Self {
        Self { isolation: Isolation::Snapshot, access: AccessMode::ReadWrite }
    }
}

/// One user of native transactions: at most one runs at a time.
pub struct NativeSession {
    session: Session,
    cancel: CancelHandle,
    key: KeyBuffer,
    high: KeyBuffer,
    successor: KeyBuffer,
}

impl Database {
    /// The table called `name`, its indexes built.
    ///
    /// # Errors
    /// 42P01; 53200 when indexes that were put off cannot be built.
    pub fn handle(&self, name: &str) -> Result<TableHandle> {
        let version = self.inner().stores.relations.version();
        let state = self.inner().stores.relations.snapshot();
        let entry = state.tables.get(name).cloned().ok_or_else(|| undefined_table(name))?;
        if entry.def.partition_by.is_some()
            || entry.def.partition_of.is_some()
            || entry.family().is_some()
        {
            return Err(Error::unsupported("native transactions on partitioned tables"));
        }
        let mut session = self.session();
        let constrained = !entry.checks.is_empty()
            || !entry.generated.is_empty()
            || entry.looks_at_keys()
            || keys::is_referenced(&session.state(), &entry, None);
        session.begin_statement()?;
        let prepared = session.lock_table(name, entry.storage(), LockMode::RowExclusive);
        session.rollback_work();
        prepared?;
        Ok(TableHandle { entry, version, constrained })
    }

    /// A session for native transactions.
    pub fn native(&self) -> NativeSession {
        let session = self.session();
        let cancel = session.cancel_handle();
        let (key, high, successor) = Default::default();
        NativeSession { session, cancel, key, high, successor }
    }
}

impl NativeSession {
    /// A handle to cancel waits.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Makes COMMIT wait for the disk or not; by default it waits.
    ///
    /// # Errors
    /// None.
    pub fn set_synchronous(&mut self, wait: bool) -> Result<()> {
        let value = if wait { "on" } else { "off" };
        self.session.settings.set("synchronous_commit", Some(value))
    }

    /// Begins a transaction; one that runs is rolled back.
    ///
    /// # Errors
    /// 53300 when too many run.
    pub fn begin(&mut self, options: NativeOptions) -> Result<()> {
        self.rollback();
        let modes = Modes::new(options.isolation, options.access);
        self.session.calls.begin_statement();
        self.session.begin_work(modes, Begun::Explicitly)
    }

    /// Ends the transaction: its changes are visible, and durable unless set otherwise.
    ///
    /// # Errors
    /// 23503 from deferred foreign keys, 40001, and why the log cannot take it; the transaction is
    /// then rolled back.
    pub fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    /// Ends the transaction and takes its changes back.
    pub fn rollback(&mut self) {
        self.session.rollback_work();
    }

    fn running(&mut self) -> Result<&mut Work> {
        let none = || {
            Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress")
        };
        self.session.work.as_mut().ok_or_else(none)
    }

    fn at(&mut self) -> Result<Snapshot> {
        Ok(self.running()?.txn.snapshot())
    }

    /// Reads the row that has `key` in all columns of a unique index into `row`; its TID, None when
    /// there is no such row.
    ///
    /// # Errors
    /// 25P01 outside a transaction.
    pub fn get(
        &mut self,
        IndexRead { table, index, columns }: IndexRead<'_>,
        key: &[Datum<'_>],
        row: &mut RowBuffer,
    ) -> Result<Option<Tid>> {
        let at = self.at()?;
        self.note_key(table, index, key)?;
        table.entry.storage().get(index, at, key, &mut self.key, columns, row)
    }

    /// Makes `batch` the keys `keys`, each in all columns of the unique index at position `index`,
    /// to be read by [`Self::get_nth`].
    ///
    /// # Errors
    /// 25P01 outside a transaction.
    pub fn start_batch<'k, 'd: 'k>(
        &mut self,
        table: &TableHandle,
        index: usize,
        keys: impl Iterator<Item = &'k [Datum<'d>]>,
        batch: &mut KeyBatch,
    ) -> Result<()> {
        let indexes = table.entry.storage().indexes();
        batch.clear();
        for key in keys {
            self.note_key(table, index, key)?;
            batch.push(&indexes[index], key);
        }
        Ok(())
    }

    /// As [`Self::get`], with key number `i` of a batch of this index. Rows are read when they are
    /// asked for, but memory is waited for together: in order of the keys, with the same columns,
    /// this is several times as fast when tables are larger than the processor's caches.
    ///
    /// # Errors
    /// 25P01 outside a transaction.
    ///
    /// # Panics
    /// If the batch has no such key.
    pub fn get_nth(
        &mut self,
        IndexRead { table, index, columns }: IndexRead<'_>,
        batch: &mut KeyBatch,
        i: usize,
        row: &mut RowBuffer,
    ) -> Result<Option<Tid>> {
        let at = self.at()?;
        table.entry.storage().get_nth(index, at, batch, i, columns, row)
    }

    /// Reads `columns` of row `tid`; false when it is not there.
    ///
    /// # Errors
    /// 25P01 outside a transaction.
    pub fn read(
        &mut self,
        table: &TableHandle,
        tid: Tid,
        columns: &[usize],
        row: &mut RowBuffer,
    ) -> Result<bool> {
        let at = self.at()?;
        row.clear();
        table.entry.storage().read(at, tid, columns, row)
    }

    /// Visits the rows whose key in an ordered index lies in `between`, until `visit` breaks.
    ///
    /// # Errors
    /// 25P01 outside a transaction; what `visit` breaks with.
    pub fn range(
        &mut self,
        IndexRead { table, index, columns }: IndexRead<'_>,
        Between { low, high, direction }: Between<'_>,
        row: &mut RowBuffer,
        mut visit: impl FnMut(Tid, &RowBuffer) -> ControlFlow<()>,
    ) -> Result<()> {
        let at = self.at()?;
        if self.running()?.txn.isolation() == Isolation::Serializable {
            self.running()?.reads.add(table.entry.storage(), &[]);
        }
        let storage = table.entry.storage();
        let indexes = storage.indexes();
        indexes[index].encode(low, &mut self.key);
        indexes[index].encode(high, &mut self.high);
        let bounded = self.successor.set_successor(&self.high);
        let high = if bounded { Bound::Excluded(&*self.successor) } else { Bound::Unbounded };
        let range = KeyRange { low: Bound::Included(&*self.key), high };
        storage.range(index, at, range, direction, columns, row, |tid, row| visit(tid, row))
    }

    /// Remembers a point read for validation.
    fn note_key(&mut self, table: &TableHandle, index: usize, key: &[Datum<'_>]) -> Result<()> {
        let work = self.running()?;
        if work.txn.isolation() == Isolation::Serializable {
            let columns = &table.entry.def.indexes[index].columns;
            // What is known of an expression's value says nothing of columns.
            let known = columns.iter().zip(key).filter(|(c, _)| c.expression().is_none());
            let key = known.map(|(c, d)| (c.ordinal, d.to_value())).collect();
            work.reads.add_key(table.entry.storage(), key);
        }
        Ok(())
    }

    /// Makes sure that the transaction may write the table.
    fn lock(&mut self, table: &TableHandle) -> Result<()> {
        let version = self.session.inner().stores.relations.version();
        let work = self.running()?;
        work.check_writable("a write")?;
        if version == table.version && work.holds(&table.entry.lock) {
            return Ok(());
        }
        self.lock_slowly(table)
    }

    fn lock_slowly(&mut self, table: &TableHandle) -> Result<()> {
        let work = self.running()?;
        if let Asked::Wait(other) = work.ask(&table.entry.lock, LockMode::RowExclusive) {
            let cancel = self.cancel.clone();
            self.running()?.txn.wait(other, || cancel.check())?;
            return self.lock_slowly(table);
        }
        let state = self.session.state();
        if state.has_triggers(table.name()) {
            let what = format!("a native transaction on table \"{}\" with triggers", table.name());
            return Err(Error::unsupported(what));
        }
        let current = state.tables.get(table.name());
        if current.is_some_and(|entry| Arc::ptr_eq(entry, &table.entry)) {
            return Ok(());
        }
        let error = stale();
        let message = format!("table \"{}\" changed: {}", table.name(), error.message());
        Err(Error::new(SqlState::SERIALIZATION_FAILURE, message))
    }

    /// True when changes of the table's rows have constraints to keep; a foreign key to it may be
    /// younger than the handle, but not than the lock that is held from here on.
    fn is_constrained(&mut self, table: &TableHandle) -> Result<bool> {
        if table.constrained {
            return Ok(true);
        }
        self.lock(table)?;
        let is_newest = self.session.inner().stores.relations.version() == table.version;
        Ok(!is_newest && keys::is_referenced(&self.session.state(), &table.entry, None))
    }

    /// Does one write; when it fails nothing of it stays.
    fn write<T>(
        &mut self,
        table: &TableHandle,
        mut write: impl FnMut(&mut storage::UndoBuffer, Snapshot) -> Result<T, WriteError>,
    ) -> Result<T> {
        self.lock(table)?;
        let work = self.session.work_mut();
        let (at, mark) = (work.txn.snapshot(), work.txn.mark());
        let outcome = attempt(work, &self.cancel, |undo| {
            write(undo, at).inspect_err(|_| undo.rollback_to(mark))
        });
        outcome.map_err(|error| error.into_error(self.session.work(), &table.entry))
    }

    /// Inserts a row: all columns in order, in their physical types. What it has for generated
    /// columns does not count.
    ///
    /// # Errors
    /// 23502, 23503, 23505, 23514; 40001; 25006 when the transaction is read-only.
    pub fn insert(&mut self, table: &TableHandle, row: &[Datum<'_>]) -> Result<Tid> {
        let storage = table.entry.storage();
        if !table.constrained {
            return self.write(table, |undo, _| storage.insert(undo, row));
        }
        let place = self.running()?.place();
        self.lock(table)?;
        let inserted = TableWriter::inserting(&table.entry)
            .insert_row(&mut Running::own(&mut self.session), row);
        inserted.inspect_err(|_| {
            let before = self.session.work_mut().go_back(&place);
            self.session.go_back(before);
        })
    }

    /// Changes columns of row `tid`; its TID from now on.
    ///
    /// # Errors
    /// As [`Self::insert`]; 428C9 for a generated column.
    pub fn update(
        &mut self,
        table: &TableHandle,
        tid: Tid,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<Tid> {
        let storage = table.entry.storage();
        if !self.is_constrained(table)? {
            return self.write(table, |undo, at| storage.update(undo, at, tid, changes));
        }
        let columns: Vec<usize> = changes.iter().map(|(column, _)| *column).collect();
        if let Some(&column) = columns.iter().find(|&&c| table.entry.generated.contains(c)) {
            let name = &table.columns()[column].name;
            let message = format!("column \"{name}\" can only be updated to DEFAULT");
            return Err(Error::new(SqlState::GENERATED_ALWAYS, message));
        }
        let mut batch = vec![tid_column(tid)];
        for (column, datum) in changes {
            let mut builder = VectorBuilder::new(storage.schema().columns()[*column].physical());
            push(&mut builder, *datum);
            batch.push(Column::plain(builder.finish()));
        }
        self.change(table, change::Action::update(&columns), Batch::new(batch, 1))?;
        Ok(tid)
    }

    /// Deletes row `tid`.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn delete(&mut self, table: &TableHandle, tid: Tid) -> Result<()> {
        let storage = table.entry.storage();
        if !self.is_constrained(table)? {
            return self.write(table, |undo, at| storage.delete(undo, at, tid));
        }
        let batch = Batch::new(vec![tid_column(tid)], 1);
        self.change(table, change::Action::Delete, batch)
    }

    /// One row changed by the way of SQL, with its constraints.
    fn change(
        &mut self,
        table: &TableHandle,
        action: change::Action<'_>,
        batch: Batch,
    ) -> Result<()> {
        self.lock(table)?;
        let place = self.running()?.place();
        let mut running = Running::own(&mut self.session);
        let changed = change::apply_rows(&mut running, &table.entry, action.into(), &batch);
        // Of rows that refer to this one.
        let settled = changed.and_then(|_| triggers::settle(&mut running));
        settled.inspect_err(|_| {
            let before = self.session.work_mut().go_back(&place);
            self.session.go_back(before);
        })
    }

    /// Locks row `tid` until the transaction ends.
    ///
    /// # Errors
    /// 40001.
    pub fn lock_row(&mut self, table: &TableHandle, tid: Tid) -> Result<()> {
        let storage = table.entry.storage();
        self.write(table, |undo, at| storage.lock(undo, at, tid, LockStrength::Update))
    }

    /// All columns of row `tid` with the transaction's own changes.
    ///
    /// # Errors
    /// 25P01 outside a transaction.
    pub fn row(&mut self, table: &TableHandle, tid: Tid) -> Result<Option<Batch>> {
        let now = newest(self.running()?);
        let mut reader = RowReader::new(table.entry.storage());
        if reader.read(now, tid)? == crate::write::rows::Found::Nothing {
            return Ok(None);
        }
        reader.keep();
        Ok(Some(Batch::new(reader.finish(), 1)))
    }
}

fn tid_column(tid: Tid) -> Column {
    let mut builder = VectorBuilder::new(types::PhysicalType::I64);
    builder.push_value(&types::Value::I64(tid.0 as i64));
    Column::plain(builder.finish())
}
