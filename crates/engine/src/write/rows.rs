//! Single writes: waiting for other transactions, and what their outcomes mean in SQL.

use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::rows::{Rows, push};
use catalog::{TableEntry, derived};
use kernels::{Batch, Column, VectorBuilder};
use sql::catalog::ColumnDef;
use storage::{ColumnSpec, Datum, RowBuffer, Snapshot, Table, Tid, UndoBuffer, WriteError};
use types::{Error, Result, SqlState, text};

use crate::CancelHandle;
use crate::statement::running::Running;
use crate::transaction::work::{Work, lost_update, newest, stale};

/// Why a row was not written.
pub(crate) enum RowError {
    /// Another transaction changed it after the snapshot; where it went if it moved.
    Conflict(Option<Tid>),
    /// A row with the same key exists: number of the index in storage, and the row.
    Duplicate(usize, Tid),
    /// NULL for the NOT NULL column of this ordinal: the values of the row as text.
    Null(usize, Box<str>),
    /// Anything else.
    Failed(Error),
}

impl From<Error> for RowError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Runs `write`, again after each transaction that it has to wait for.
pub(crate) fn attempt<T>(
    work: &mut Work,
    cancel: &CancelHandle,
    mut write: impl FnMut(&mut UndoBuffer) -> Result<T, WriteError>,
) -> Result<T, RowError> {
    loop {
        match write(work.txn.undo()) {
            Ok(value) => return Ok(value),
            Err(WriteError::Wait(other)) => work.txn.wait(other, || cancel.check())?,
            Err(WriteError::Conflict { moved_to }) => return Err(RowError::Conflict(moved_to)),
            Err(WriteError::Duplicate { index, tid }) => {
                return Err(RowError::Duplicate(index, tid));
            }
            Err(WriteError::Null { column, row }) => return Err(RowError::Null(column, row)),
            Err(WriteError::Failed(error)) => return Err(RowError::Failed(error)),
        }
    }
}

impl RowError {
    /// The error the user sees.
    pub(crate) fn into_error(self, work: &Work, entry: &TableEntry) -> Error {
        match self {
            Self::Conflict(_) => lost_update(),
            Self::Duplicate(index, tid) => duplicate_key(work, entry, index, tid),
            Self::Null(column, row) => null_violation(entry, column, &row),
            Self::Failed(error) => error,
        }
    }
}

/// The error of rows pushed into a load, which waits for nobody.
pub(crate) fn push_error(entry: &TableEntry, error: WriteError) -> Error {
    match error {
        WriteError::Null { column, row } => null_violation(entry, column, &row),
        error => error.into_failure(),
    }
}

/// 23502 with the row: storage knows the table by the names that it was created with.
fn null_violation(entry: &TableEntry, column: usize, row: &str) -> Error {
    let Some(column) = entry.def.columns.get(column) else {
        return Error::internal("NULL in a column that is not there");
    };
    let message = format!(
        "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
        column.name,
        entry.def.bare_name()
    );
    Error::new(SqlState::NOT_NULL_VIOLATION, message)
        .about_part(entry.def.about_column(&column.name))
        .with_detail(format!("Failing row contains ({row})."))
}

/// 23505 with the key of the row that is there.
fn duplicate_key(work: &Work, entry: &TableEntry, index: usize, tid: Tid) -> Error {
    let Some(position) = index_position(entry, index) else {
        return Error::internal("a key of an index that is not there");
    };
    let name = &entry.def.indexes[position].name;
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    let error = Error::new(SqlState::UNIQUE_VIOLATION, message);
    let error = error.about_part(entry.def.about_constraint(name));
    match key_text(work, entry, position, tid) {
        Some(key) => error.with_detail(format!("Key {key} already exists.")),
        None => error,
    }
}

/// The position in the definition of the index with this number in storage.
pub(crate) fn index_position(entry: &TableEntry, number: usize) -> Option<usize> {
    let id = entry.storage().indexes().get(number)?.spec().id;
    entry.indexes_built().iter().position(|known| known.spec().id == id)
}

/// The number in storage of the index at this position in the definition.
pub(crate) fn index_number(entry: &TableEntry, position: usize) -> Option<usize> {
    let id = entry.indexes_built().get(position)?.spec().id;
    entry.storage().indexes().iter().position(|index| index.spec().id == id)
}

/// "(a, b)=(1, x)" of the row.
fn key_text(work: &Work, entry: &TableEntry, position: usize, tid: Tid) -> Option<String> {
    let index = entry.indexes_built().get(position)?;
    let mut row = RowBuffer::new();
    if !entry.storage().read(newest(work), tid, index.ordinals(), &mut row).ok()? {
        return None;
    }
    derived::key_text(&entry.def.columns, &entry.def.indexes[position], index, &row).ok()
}

/// "(a, b)=(1, x)" from values of the columns `ordinals`.
pub(crate) fn key_of<'a>(
    columns: &[ColumnDef],
    ordinals: &[usize],
    values: &mut dyn Iterator<Item = Datum<'a>>,
) -> String {
    let names: Vec<&str> = ordinals.iter().map(|&o| columns[o].name.as_str()).collect();
    let cell = |(datum, &o): (Datum<'_>, &usize)| {
        let value = datum.to_value();
        if value.is_null() { "null".to_owned() } else { text::format(&value, columns[o].ty) }
    };
    let cells: Vec<String> = values.zip(ordinals).map(cell).collect();
    format!("({})=({})", names.join(", "), cells.join(", "))
}

/// The rows that have `key` in the first columns of index `index`, in their newest state.
pub(super) fn find(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    index: usize,
    key: &[Datum<'_>],
    enough: usize,
) -> Result<Vec<Tid>> {
    let index = index_number(entry, index).ok_or_else(stale)?;
    let cancel = running.session.cancel_handle();
    let work = running.session.work_mut();
    let txn = work.txn.id();
    let mut found = Vec::new();
    let outcome = attempt(work, &cancel, |_| {
        found.clear();
        entry.storage().find(index, key, txn, |tid| {
            found.push(tid);
            if found.len() < enough { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    outcome.map_err(|error| error.into_error(running.session.work(), entry))?;
    Ok(found)
}

/// Outcome of reading a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Row,
    Nothing,
}

/// Reads whole rows one by one into columns.
pub(crate) struct RowReader<'a> {
    table: &'a Table,
    ordinals: Vec<usize>,
    builders: Vec<VectorBuilder>,
    row: RowBuffer,
}

impl<'a> RowReader<'a> {
    pub(crate) fn new(table: &'a Table) -> Self {
        let columns = table.schema().columns();
        Self {
            table,
            ordinals: (0..columns.len()).collect(),
            builders: columns.iter().map(|c| VectorBuilder::new(c.physical())).collect(),
            row: RowBuffer::new(),
        }
    }

    /// Reads a row, to be kept or not.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub(crate) fn read(&mut self, at: Snapshot, tid: Tid) -> Result<Found> {
        self.row.clear();
        let is_there = self.table.read(at, tid, &self.ordinals, &mut self.row)?;
        Ok(if is_there { Found::Row } else { Found::Nothing })
    }

    /// Adds the row read last.
    pub(crate) fn keep(&mut self) {
        for (builder, datum) in self.builders.iter_mut().zip(self.row.iter()) {
            push(builder, datum);
        }
    }

    /// The rows kept.
    pub(crate) fn finish(self) -> Vec<Column> {
        self.builders.into_iter().map(|b| Column::plain(b.finish())).collect()
    }
}

/// All columns of the rows `tids` as `at` sees them.
///
/// # Errors
/// XX000 when one of them is not seen; as [`Table::read`].
pub(crate) fn read_rows(table: &Table, at: Snapshot, tids: &[Tid]) -> Result<Vec<Column>> {
    let mut reader = RowReader::new(table);
    for &tid in tids {
        if reader.read(at, tid)? == Found::Nothing {
            return Err(Error::internal("a row of the statement is not there"));
        }
        reader.keep();
    }
    Ok(reader.finish())
}

/// Columns of the rows whose TIDs are in column 0 of `rows`, as `at` sees them; NULL where it does
/// not.
///
/// # Errors
/// As [`Table::read`].
pub(crate) fn columns_at(
    table: &Table,
    at: Snapshot,
    rows: &Rows,
    ordinals: &[usize],
) -> Result<Vec<Column>> {
    let schema = table.schema().columns();
    let builder = |&c: &usize| VectorBuilder::with_capacity(schema[c].physical(), rows.count);
    let mut builders: Vec<VectorBuilder> = ordinals.iter().map(builder).collect();
    let mut found = RowBuffer::new();
    for row in 0..rows.count {
        found.clear();
        let is_seen = match rows.tid(row) {
            Some(tid) => table.read(at, tid, ordinals, &mut found)?,
            None => false,
        };
        for (i, builder) in builders.iter_mut().enumerate() {
            push(builder, if is_seen { found.get(i) } else { Datum::Null });
        }
    }
    Ok(builders.into_iter().map(|b| Column::plain(b.finish())).collect())
}

/// A row of `table` as a batch.
pub(crate) fn one_row(table: &Table, row: &[Datum<'_>]) -> Batch {
    let column = |(spec, datum): (&ColumnSpec, &Datum<'_>)| {
        let mut builder = VectorBuilder::new(spec.physical());
        push(&mut builder, *datum);
        Column::plain(builder.finish())
    };
    Batch::new(table.schema().columns().iter().zip(row).map(column).collect(), 1)
}
