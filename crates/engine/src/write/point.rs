//! Statements on one row by its key: run by the session's thread straight on the table.
//!
//! ```text
//! parameters -> key -> index -> row -> residual -> result, or the row's new values -> write
//! ```
//! Invariant: what is not the same on this path as on the general one is left to it: constraints
//! of rows that change, keys of other tables, the level of isolation that notes what it reads.

use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::TableEntry;
use catalog::locks::{Asked, LockMode};
use storage::{Datum, KeyRead, RowBuffer, Snapshot, Tid};
use txn::manager::Isolation;
use types::{Error, Result, SqlState, Value};

use super::rows::attempt;
use super::writer::TableWriter;
use crate::session::point::{Action, Find, Memory, NewRow, Operand, Point};
use crate::statement::point::KEY_COLUMNS;
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// The row that is written, as a snapshot sees it.
#[derive(Clone, Copy)]
struct Spot {
    at: Snapshot,
    tid: Tid,
}

/// Outcome of locking the table.
enum Locked {
    Yes,
    /// The table is another one than the statement was made for.
    Changed,
}

impl Point {
    /// Runs the statement in the session's transaction; None when the general way is to be taken,
    /// before anything was done.
    ///
    /// # Errors
    /// As on the general way.
    pub(crate) fn run(&self, running: &mut Running<'_>) -> Result<Option<QueryResult>> {
        let mut parameters = std::mem::take(&mut running.parameters);
        let count = parameters.len();
        let mut memory = std::mem::take(&mut *self.memory.lock());
        let result = self.run_with(running, &mut parameters, &mut memory);
        *self.memory.lock() = memory;
        parameters.truncate(count);
        running.parameters = parameters;
        result
    }

    fn run_with(
        &self,
        running: &mut Running<'_>,
        parameters: &mut Vec<Value>,
        memory: &mut Memory,
    ) -> Result<Option<QueryResult>> {
        let isolation = running.session.work().txn.isolation();
        let ([command, none, one], find) = match &self.action {
            Action::Select(..) if isolation == Isolation::Serializable => return Ok(None),
            Action::Select(find, output) => {
                let work = running.session.work_mut();
                // Who has to wait, and snapshots of what was there before, take the general way.
                let at = work.txn.snapshot();
                if !work.try_read(&self.entry.lock) || !at.sees_commit(self.storage.replaced_at()) {
                    return Ok(None);
                }
                work.statements += 1;
                let found = self.find(find, at, parameters, memory)?;
                let rows = output.rows(found.map(|_| &memory.row), parameters)?;
                let tag = if found.is_some() { "SELECT 1" } else { "SELECT 0" };
                return Ok(Some(QueryResult::tagged(tag, rows)));
            }
            Action::Insert(_) => (["INSERT", "INSERT 0 0", "INSERT 0 1"], None),
            // It notes what it reads.
            _ if isolation == Isolation::Serializable => return Ok(None),
            Action::Update(find, ..) => (["UPDATE", "UPDATE 0", "UPDATE 1"], Some(find)),
            Action::Delete(find, _) => (["DELETE", "DELETE 0", "DELETE 1"], Some(find)),
        };
        running.session.work().check_writes(&self.entry.def.name, command)?;
        let Locked::Yes = self.lock(running)? else { return Ok(None) };
        if let Action::Insert(new) = &self.action {
            new.draw(running.session, parameters)?;
        }
        running.session.work_mut().statements += 1;
        let (at, tid) = loop {
            let at = running.session.work().txn.snapshot();
            let tid = match find {
                Some(find) => match self.find(find, at, parameters, memory)? {
                    Some(tid) => tid,
                    None => return self.result(none, None, parameters).map(Some),
                },
                None => Tid(0),
            };
            match self.write(running, Spot { at, tid }, parameters, &memory.row) {
                Ok(tid) => break (at, tid),
                // Nothing but this row was read: the statement begins again, later.
                Err(error)
                    if error.state() == SqlState::SERIALIZATION_FAILURE
                        && isolation == Isolation::ReadCommitted
                        && find.is_some() =>
                {
                    running.session.cancel_handle().check()?;
                    running.session.work_mut().txn.refresh();
                }
                Err(error) => return Err(error),
            }
        };
        let read_back = match &self.action {
            Action::Update(find, _, _, Some(_)) => Some(&find.columns),
            Action::Insert(new) => new.returned(),
            _ => None,
        };
        if let Some(columns) = read_back
            && !self.storage.read(at, tid, columns, &mut memory.row)?
        {
            return Err(Error::internal("a transaction sees what it wrote"));
        }
        self.result(one, Some(&memory.row), parameters).map(Some)
    }

    /// Locks the table: its constraints stay what they are now.
    fn lock(&self, running: &mut Running<'_>) -> Result<Locked> {
        let is_current =
            |session: &Session| session.inner().stores.relations.version() == self.version;
        // Who changed the table before had it alone, and told of it before it let go.
        let asked = running.session.work_mut().ask(&self.entry.lock, LockMode::RowExclusive);
        match asked {
            Asked::Granted | Asked::Held if is_current(running.session) => {
                running.session.prepare_table(&self.entry)?;
            }
            _ => drop(running.session.write_table(&self.table)?),
        }
        Ok(if is_current(running.session) { Locked::Yes } else { Locked::Changed })
    }

    /// The result of a write, with what RETURNING says of `row`.
    fn result(
        &self,
        tag: &'static str,
        row: Option<&RowBuffer>,
        parameters: &[Value],
    ) -> Result<QueryResult> {
        match &self.action {
            Action::Update(.., Some(output))
            | Action::Delete(_, Some(output))
            | Action::Insert(NewRow { returning: Some((_, output)), .. }) => {
                Ok(QueryResult::tagged(tag, output.rows(row, parameters)?))
            }
            _ => Ok(QueryResult::command(tag)),
        }
    }

    /// Writes the row; its TID, a new one if it moved.
    fn write(
        &self,
        running: &mut Running<'_>,
        Spot { at, tid }: Spot,
        parameters: &[Value],
        row: &RowBuffer,
    ) -> Result<Tid> {
        let (storage, entry) = (&self.storage, &self.entry);
        let outcome = match &self.action {
            Action::Update(_, columns, values, _) => {
                let computed = values.compute(row, parameters)?;
                let mut changes = Vec::with_capacity(columns.len());
                for (i, &column) in columns.iter().enumerate() {
                    changes.push((column, values.datum(i, row, parameters, &computed)?));
                }
                let (work, cancel) = running.session.work_and_cancel();
                attempt(work, cancel, |undo| storage.update(undo, at, tid, &changes))
            }
            Action::Insert(new) => return new.write(running, entry, parameters),
            Action::Delete(..) => {
                let (work, cancel) = running.session.work_and_cancel();
                attempt(work, cancel, |undo| storage.delete(undo, at, tid)).map(|()| tid)
            }
            Action::Select(..) => Ok(tid),
        };
        outcome.map_err(|error| error.into_error(running.session.work(), entry))
    }

    /// The row, whose columns are then in `memory`.
    fn find(
        &self,
        find: &Find,
        at: Snapshot,
        parameters: &[Value],
        memory: &mut Memory,
    ) -> Result<Option<Tid>> {
        let Memory { key, row } = memory;
        row.clear();
        let keys = &find.keys;
        let computed = keys.compute(row, parameters)?;
        let mut values = [Datum::Null; KEY_COLUMNS];
        let values = &mut values[..keys.operands.len()];
        for (i, value) in values.iter_mut().enumerate() {
            *value = keys.datum(i, row, parameters, &computed)?;
            if value.is_null() {
                return Ok(None);
            }
        }
        find.index.encode(values, key);
        let mut found = None;
        let read = KeyRead { index: &find.index, at, columns: &find.columns };
        let _ = self.storage.read_key(read, key, row, |tid, _| {
            found = Some(tid);
            ControlFlow::Break(())
        })?;
        let (Some(tid), Some(residual)) = (found, &find.residual) else { return Ok(found) };
        let batch = residual.input(row, parameters);
        let mut kept = vec![0];
        if let [Operand::Computed(evaluator, _)] = residual.operands.as_slice() {
            evaluator.select(&batch, &mut kept)?;
        }
        Ok((!kept.is_empty()).then_some(tid))
    }
}

impl NewRow {
    /// Adds the next values of its sequences to the parameters.
    ///
    /// # Errors
    /// Errors of nextval.
    fn draw(&self, session: &Session, parameters: &mut Vec<Value>) -> Result<()> {
        debug_assert_eq!(parameters.len(), self.parameters, "a value for each parameter");
        for sequence in &self.sequences {
            parameters.push(Value::I64(session.next_value(sequence)?));
        }
        Ok(())
    }

    /// Writes the row, keeping its table's constraints.
    ///
    /// # Errors
    /// As on the general way.
    fn write(
        &self,
        running: &mut Running<'_>,
        entry: &Arc<TableEntry>,
        parameters: &[Value],
    ) -> Result<Tid> {
        let none = RowBuffer::new();
        let computed = self.values.compute(&none, parameters)?;
        let datum = |i| self.values.datum(i, &none, parameters, &computed);
        let row = (0..self.values.operands.len()).map(datum).collect::<Result<Vec<_>>>()?;
        TableWriter::inserting(entry).insert_row(running, &row)
    }
}
