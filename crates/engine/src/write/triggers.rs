//! Triggers of statements that write: what fires before a row, and what is put off to the end.
//!
//! ```text
//! statement  BEFORE STATEMENT -> rows -> AFTER steps: rows in their order, then the statement
//! row        locked -> BEFORE ROW (by name) -> written -> noted for AFTER ROW
//! end        all steps, when foreign keys were looked at and RETURNING was computed
//! ```
//! A row that BEFORE triggers may change is written by itself, so that the function meets the rows
//! before it; a table without triggers is asked about once for each statement.
//! Elsewhere: which triggers there are (`catalog::triggers`), their functions
//! (`run::program::trigger`), tables that statements go round these for (`writer`, `change`).

use std::sync::Arc;

use catalog::TableEntry;
use catalog::partitions::places;
use catalog::rows::Rows;
use catalog::triggers::{Moment, ReplicationRole};
use kernels::{Batch, Column, Vector, VectorData};
use sql::catalog::{TableMeta, TriggerDef, TriggerEvent, TriggerLevel, TriggerTiming};
use storage::{Change, ChangeKind, Datum, LockStrength, Snapshot, Table, Tid};
use types::{DataType, Error, RecordType, Result, SqlState, Value, record};

use super::action::Action;
use super::rows::{Found, RowError, RowReader, attempt};
use crate::Session;
use crate::show::system::transition;
use crate::statement::row_types::row_type;
use crate::statement::running::Running;
use crate::statement::sequence::Callee;
use crate::statement::trigger::{AfterStep, Answer, Transition, TriggerCall, WrittenRows};
use crate::transaction::deferred::LaterRows;
use crate::transaction::work::{Work, newest, recheck_snapshot};

/// Triggers that fire for rows of one table in one statement.
pub(crate) struct RowTriggers {
    entry: Arc<TableEntry>,
    event: TriggerEvent,
    /// Type of the rows.
    row: RecordType,
    before: Vec<Arc<TriggerDef>>,
    after: Arc<[Arc<TriggerDef>]>,
    /// True when transition tables are to have the rows.
    keeps: bool,
}

/// Outcome of the triggers before a row changes.
pub(crate) enum Before {
    /// The row stays as it is.
    Skip,
    /// Somebody else changed it meanwhile; where it is now.
    Conflict(Tid),
    /// The row of the source, as it is to be written.
    Write(Batch),
}

/// A row of the source of an UPDATE or DELETE.
#[derive(Clone, Copy)]
pub(crate) struct SourceRow<'a> {
    pub(crate) rows: &'a Rows,
    pub(crate) row: usize,
    pub(crate) at: Snapshot,
    /// Snapshot in which the statement found the row; None for actions of foreign keys.
    pub(crate) found: Option<Snapshot>,
}

impl RowTriggers {
    /// The triggers of a table, which may be none; `assigned` are columns of an UPDATE.
    ///
    /// # Errors
    /// 54000 for too many types of rows.
    pub(crate) fn new(
        session: &Session,
        entry: &Arc<TableEntry>,
        event: TriggerEvent,
        assigned: &[usize],
    ) -> Result<Self> {
        let state = session.state();
        let columns = entry.columns();
        let assigned: Vec<&str> = assigned.iter().map(|&c| columns[c].name.as_str()).collect();
        let role = ReplicationRole::of(session.settings.changed("session_replication_role"));
        let (table, level) = (entry.name(), TriggerLevel::Row);
        let at = |timing| {
            let moment = Moment { timing, level, event, assigned: &assigned };
            state.triggers_at(table, moment, role)
        };
        let mut keeps = false;
        let mut of = table.to_owned();
        loop {
            let mut own = state.triggers_of(&of).iter();
            keeps |= own.any(|def| def.has_tables() && def.events.contains(&event));
            let above = state.tables.get(&of).and_then(|entry| entry.def.partition_of.as_ref());
            match above {
                Some(above) => of.clone_from(&above.parent),
                None => break,
            }
        }
        let (before, after) = (at(TriggerTiming::Before), at(TriggerTiming::After).into());
        let row = row_type(session, table)?;
        Ok(Self { entry: Arc::clone(entry), event, row, before, after, keeps })
    }

    /// As [`Self::new`]; None where nothing fires.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn of(
        session: &Session,
        entry: &Arc<TableEntry>,
        event: TriggerEvent,
        assigned: &[usize],
    ) -> Result<Option<Self>> {
        if session.state().triggers.is_empty() {
            return Ok(None);
        }
        let own = Self::new(session, entry, event, assigned)?;
        let is_any = !own.before.is_empty() || own.needs_rows();
        Ok(is_any.then_some(own))
    }

    /// True when a trigger may change or skip rows.
    pub(crate) fn has_before(&self) -> bool {
        !self.before.is_empty()
    }

    /// True when rows are to be noted as they were and are.
    pub(crate) fn needs_rows(&self) -> bool {
        self.keeps || !self.after.is_empty()
    }

    /// The columns that an UPDATE writes whose rows triggers may change: all but generated ones.
    pub(crate) fn all_columns(entry: &TableEntry) -> Vec<usize> {
        let columns = entry.columns().iter().enumerate();
        columns.filter(|(_, column)| column.generated.is_none()).map(|(at, _)| at).collect()
    }

    /// The values of a row, all columns of the table.
    fn values(&self, batch: &Batch, row: usize) -> Vec<Value> {
        let columns = batch.columns.iter().zip(self.row.fields());
        columns.map(|(column, field)| widened(column.value(row), field.ty)).collect()
    }

    /// The row as functions see it before generated columns are computed.
    fn unfinished(&self, mut values: Vec<Value>) -> Result<Value> {
        for (value, column) in values.iter_mut().zip(self.entry.columns()) {
            if column.generated.is_some() {
                *value = Value::Null;
            }
        }
        self.record(&values)
    }

    fn record(&self, values: &[Value]) -> Result<Value> {
        Ok(Value::Str(record::from_values(values, self.row)?.into()))
    }

    /// These columns of a row.
    fn columns(&self, row: &Value, ordinals: &[usize]) -> Vec<Column> {
        let Value::Str(bytes) = row else { return Vec::new() };
        let values: Vec<Value> = record::Fields::new(bytes, self.row).collect();
        let schema = self.entry.storage().schema().columns();
        let column = |&ordinal: &usize| {
            let value = values.get(ordinal).unwrap_or(&Value::Null);
            Column::plain(Vector::repeat(schema[ordinal].physical(), value, 1))
        };
        ordinals.iter().map(column).collect()
    }

    /// Calls the triggers before a row, in order; the row as they leave it, NULL to skip it.
    fn call_before(&self, running: &mut Running<'_>, old: &Value, new: Value) -> Result<Value> {
        let mut row = new;
        for def in &self.before {
            let (table, event) = (self.entry.name(), self.event);
            let call =
                TriggerCall { table, def, event, row: self.row, old, new: &row, tables: &[] };
            match running.session.call_trigger(call)? {
                Answer::Quiet => {}
                Answer::Row(Value::Null) => return Ok(Value::Null),
                Answer::Row(_) if event == TriggerEvent::Delete => {}
                Answer::Row(given) => row = given,
            }
        }
        Ok(row)
    }

    /// Runs the triggers before a new row, the only one of `batch`; None when it is skipped.
    ///
    /// # Errors
    /// Errors of the functions.
    pub(crate) fn before_insert(
        &self,
        running: &mut Running<'_>,
        batch: &Batch,
    ) -> Result<Option<Batch>> {
        let new = self.unfinished(self.values(batch, 0))?;
        let row = self.call_before(running, &Value::Null, new)?;
        if row.is_null() {
            return Ok(None);
        }
        let all: Vec<usize> = (0..self.row.fields().len()).collect();
        Ok(Some(Batch::new(self.columns(&row, &all), 1)))
    }

    /// Runs the triggers before a row of the source of an UPDATE or DELETE, which is locked first.
    ///
    /// # Errors
    /// Errors of the functions; 27000 when one of them changed the row itself.
    pub(crate) fn before_change(
        &self,
        running: &mut Running<'_>,
        action: Action<'_>,
        source: SourceRow<'_>,
    ) -> Result<Before> {
        let SourceRow { rows, row, at, found } = source;
        let Some(tid) = rows.tid(row) else { return Ok(Before::Skip) };
        let cancel = running.session.cancel_handle();
        let storage = Arc::clone(self.entry.storage());
        let work = running.session.work_mut();
        let strength = match action {
            Action::Update(_) => LockStrength::NoKeyUpdate,
            Action::Delete => LockStrength::Update,
        };
        match attempt(work, &cancel, |undo| storage.lock(undo, at, tid, strength)) {
            Ok(()) => {}
            // The row went elsewhere because a function of the statement wrote it.
            Err(RowError::Conflict(Some(_))) if has_ended(work, &storage, tid) => {
                return Err(changed_by_trigger(self.event));
            }
            Err(RowError::Conflict(moved)) if recheck_snapshot(work).is_some() => {
                return Ok(Before::Conflict(moved.unwrap_or(tid)));
            }
            Err(error) => return Err(error.into_error(work, &self.entry)),
        }
        let Some(before) = self.stored(running, tid)? else { return Ok(Before::Skip) };
        let old = self.record(&before)?;
        // What functions of the statement did to it goes before what the statement found.
        if let Some(found) = found.filter(|_| self.has_before()) {
            let found = self.seen(found, tid)?;
            if found.map(|values| self.record(&values)).transpose()?.as_ref() != Some(&old) {
                return Err(changed_by_trigger(self.event));
            }
        }
        let new = match action {
            Action::Update(assign) => {
                let mut values = before;
                for (position, &column) in assign.asked.iter().enumerate() {
                    let value = rows.get(position + 1, row).to_value();
                    values[column] = widened(value, self.row.fields()[column].ty);
                }
                self.unfinished(values)?
            }
            Action::Delete => Value::Null,
        };
        self.settle_change(running, action, source, Version { tid, old, new })
    }

    /// As [`Self::before_change`], of a row that is locked and known.
    fn settle_change(
        &self,
        running: &mut Running<'_>,
        action: Action<'_>,
        SourceRow { rows, row, .. }: SourceRow<'_>,
        Version { tid, old, new }: Version,
    ) -> Result<Before> {
        // A row that goes is what its triggers give back; NULL keeps it.
        let given = if new.is_null() { old.clone() } else { new };
        let given = match self.event {
            TriggerEvent::Delete => self.call_delete(running, &old)?,
            _ => self.call_before(running, &old, given)?,
        };
        if given.is_null() {
            return Ok(Before::Skip);
        }
        if self.has_before() {
            let now = self.stored(running, tid)?;
            let now = now.map(|values| self.record(&values)).transpose()?;
            if now != Some(old) {
                return Err(changed_by_trigger(self.event));
            }
        }
        let mut columns = vec![Column::plain(Vector::new(VectorData::I64(vec![tid.0 as i64])))];
        if let Action::Update(assign) = action {
            columns.extend(self.columns(&given, assign.columns));
        }
        columns.extend(rows.pick(action.asked_width()..rows.width(), &[row as u32]));
        Ok(Before::Write(Batch::new(columns, 1)))
    }

    /// Calls the triggers before a row is deleted; NULL to keep it.
    fn call_delete(&self, running: &mut Running<'_>, old: &Value) -> Result<Value> {
        let new = Value::Null;
        for def in &self.before {
            let (table, event) = (self.entry.name(), self.event);
            let call =
                TriggerCall { table, def, event, row: self.row, old, new: &new, tables: &[] };
            if let Answer::Row(Value::Null) = running.session.call_trigger(call)? {
                return Ok(Value::Null);
            }
        }
        Ok(old.clone())
    }

    /// Runs the triggers before a row that ON CONFLICT met is updated: `old` and `new` are values
    /// of all columns. The values of `columns` then, or None when the row is skipped.
    ///
    /// # Errors
    /// Errors of the functions.
    pub(crate) fn before_met(
        &self,
        running: &mut Running<'_>,
        old: &[Value],
        new: Vec<Value>,
        columns: &[usize],
    ) -> Result<Option<Vec<Column>>> {
        let (old, new) = (self.record(old)?, self.unfinished(new)?);
        let row = self.call_before(running, &old, new)?;
        Ok((!row.is_null()).then(|| self.columns(&row, columns)))
    }

    /// `value` in the form that a column of the table has.
    pub(crate) fn value(&self, column: usize, value: Value) -> Value {
        widened(value, self.row.fields()[column].ty)
    }

    /// Values of one row of all columns, which are in a batch.
    pub(crate) fn values_of(&self, columns: &[Column], row: usize) -> Vec<Value> {
        let columns = columns.iter().zip(self.row.fields());
        columns.map(|(column, field)| widened(column.value(row), field.ty)).collect()
    }

    /// The values of a row as the transaction sees it now.
    fn stored(&self, running: &Running<'_>, tid: Tid) -> Result<Option<Vec<Value>>> {
        self.seen(newest(running.session.work()), tid)
    }

    /// The values of a row as a snapshot has it.
    fn seen(&self, at: Snapshot, tid: Tid) -> Result<Option<Vec<Value>>> {
        let mut reader = RowReader::new(self.entry.storage());
        if reader.read(at, tid)? == Found::Nothing {
            return Ok(None);
        }
        reader.keep();
        Ok(Some(self.values_of(&reader.finish(), 0)))
    }

    /// Notes rows that were written, all columns, for what fires at the end.
    pub(crate) fn note(&self, running: &mut Running<'_>, old: Option<Batch>, new: Option<Batch>) {
        let count = old.as_ref().or(new.as_ref()).map_or(0, |batch| batch.rows);
        if count == 0 || !self.needs_rows() {
            return;
        }
        let written = WrittenRows { entry: Arc::clone(&self.entry), event: self.event, old, new };
        if self.keeps {
            running.after.kept.push(written.clone());
        }
        let triggers = self.put_off(running, &written);
        if !triggers.is_empty() {
            running.after.steps.push_back(AfterStep::Rows { written, triggers });
        }
    }
}

impl RowTriggers {
    /// Notes rows for constraint triggers that fire at the end of the transaction; the triggers
    /// behind rows that are left.
    fn put_off(&self, running: &mut Running<'_>, written: &WrittenRows) -> Arc<[Arc<TriggerDef>]> {
        let deferred = &mut running.session.work_mut().deferred;
        if !self.after.iter().any(|def| deferred.is_later(def)) {
            return Arc::clone(&self.after);
        }
        let (later, now): (Vec<_>, Vec<_>) =
            self.after.iter().cloned().partition(|def| deferred.is_later(def));
        for def in later {
            let WrittenRows { entry, event, old, new } = written.clone();
            deferred.later.push(LaterRows { entry, event, old, new, def, is_done: false });
        }
        now.into()
    }
}

/// Fires a constraint trigger for rows that it waited for.
///
/// # Errors
/// Errors of the function.
pub(super) fn fire_later(running: &mut Running<'_>, rows: LaterRows) -> Result<()> {
    let LaterRows { entry, event, old, new, def, .. } = rows;
    let written = WrittenRows { entry, event, old, new };
    call_for_rows(running, &written, &Arc::from([def]))
}

/// The values of a row of a batch.
fn values_of(batch: &Batch, row: usize, columns: &[(&str, DataType)]) -> Vec<Value> {
    let columns = batch.columns.iter().zip(columns);
    columns.map(|(column, (_, ty))| widened(column.value(row), *ty)).collect()
}

/// A row before and behind a change.
struct Version {
    tid: Tid,
    old: Value,
    new: Value,
}

/// `value` in the form that `ty` has: batches may hold it in fewer bits.
pub(super) fn widened(value: Value, ty: DataType) -> Value {
    match Datum::from(&value).widened(ty.physical()) {
        Some(Datum::Str(_)) | None => value,
        Some(datum) => datum.to_value(),
    }
}

/// True when the transaction itself ended the row where it was.
fn has_ended(work: &Work, table: &Arc<Table>, tid: Tid) -> bool {
    let ends = |change: Change<'_>| {
        change.kind == ChangeKind::Delete && change.tid == tid && Arc::ptr_eq(change.table, table)
    };
    work.txn.changes().is_some_and(|undo| undo.changes().any(ends))
}

fn changed_by_trigger(event: TriggerEvent) -> Error {
    let done = if event == TriggerEvent::Delete { "deleted" } else { "updated" };
    let message = format!(
        "tuple to be {done} was already modified by an operation triggered by the current command"
    );
    Error::new(SqlState::TRIGGERED_DATA_CHANGE, message).with_hint(
        "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to \
         other rows.",
    )
}

/// One statement-level event of a relation, and the columns that an UPDATE assigns.
pub(crate) type StatementEvent<'a> = (TriggerEvent, &'a [usize]);

/// Statement-level triggers of the relation that a statement writes.
pub(crate) struct StatementTriggers {
    table: String,
    /// Events, and the triggers behind the statement.
    after: Vec<(TriggerEvent, Vec<Arc<TriggerDef>>)>,
}

impl StatementTriggers {
    /// Fires those that come before the statement, if the statement has not fired them yet.
    ///
    /// # Errors
    /// Errors of the functions.
    pub(crate) fn begin(
        running: &mut Running<'_>,
        table: &str,
        events: &[StatementEvent<'_>],
    ) -> Result<Option<Self>> {
        let state = running.session.state();
        if state.triggers_of(table).is_empty() {
            return Ok(None);
        }
        let role =
            ReplicationRole::of(running.session.settings.changed("session_replication_role"));
        let level = TriggerLevel::Statement;
        let mut after = Vec::with_capacity(events.len());
        for &(event, assigned) in events {
            let columns = state.tables.get(table).map_or(&[][..], |entry| entry.columns());
            let assigned: Vec<&str> =
                assigned.iter().filter_map(|&c| columns.get(c)).map(|c| c.name.as_str()).collect();
            let at = |timing| {
                let moment = Moment { timing, level, event, assigned: &assigned };
                state.triggers_at(table, moment, role)
            };
            let begun = (table.to_owned(), event);
            if !running.after.begun.contains(&begun) {
                running.after.begun.push(begun);
                call_all(running, table, event, &at(TriggerTiming::Before))?;
            }
            after.push((event, at(TriggerTiming::After)));
        }
        Ok(Some(Self { table: table.to_owned(), after }))
    }

    /// Puts those off that come behind the statement: behind all that waits.
    pub(crate) fn end(self, running: &mut Running<'_>) {
        let Self { table, after } = self;
        for (event, triggers) in after.into_iter().rev() {
            let is_same = |step: &AfterStep| {
                matches!(step, AfterStep::Statement { table: of, event: on, .. }
                    if *of == table && *on == event)
            };
            running.after.steps.retain(|step| !is_same(step));
            if !triggers.is_empty() {
                let table = table.clone();
                running.after.steps.push_back(AfterStep::Statement { table, event, triggers });
            }
        }
    }
}

/// Calls statement-level triggers.
fn call_all(
    running: &mut Running<'_>,
    table: &str,
    event: TriggerEvent,
    triggers: &[Arc<TriggerDef>],
) -> Result<()> {
    if triggers.is_empty() {
        return Ok(());
    }
    let row = row_type(running.session, table)?;
    let (old, new) = (&Value::Null, &Value::Null);
    for def in triggers {
        let tables = transitions(running, table, event, def);
        let call = TriggerCall { table, def, event, row, old, new, tables: &tables };
        running.session.call_trigger(call)?;
    }
    Ok(())
}

/// Fires what a statement put off.
///
/// # Errors
/// Errors of the functions.
pub(crate) fn settle(running: &mut Running<'_>) -> Result<()> {
    while let Some(step) = running.after.steps.pop_front() {
        match step {
            AfterStep::Statement { table, event, triggers } => {
                call_all(running, &table, event, &triggers)?;
            }
            AfterStep::Rows { written, triggers } => {
                call_for_rows(running, &written, &triggers)?;
            }
        }
    }
    Ok(())
}

fn call_for_rows(
    running: &mut Running<'_>,
    written: &WrittenRows,
    triggers: &Arc<[Arc<TriggerDef>]>,
) -> Result<()> {
    let WrittenRows { entry, event, old, new } = written;
    let own = RowTriggers {
        entry: Arc::clone(entry),
        event: *event,
        row: row_type(running.session, entry.name())?,
        before: Vec::new(),
        after: Arc::clone(triggers),
        keeps: false,
    };
    let count = old.as_ref().or(new.as_ref()).map_or(0, |batch| batch.rows);
    let tables: Vec<Vec<Transition>> =
        triggers.iter().map(|def| transitions(running, entry.name(), *event, def)).collect();
    for at in 0..count {
        running.session.cancel_handle().check()?;
        let record = |batch: &Option<Batch>| match batch {
            Some(batch) => own.record(&own.values(batch, at)),
            None => Ok(Value::Null),
        };
        let (old, new) = (record(old)?, record(new)?);
        for (def, tables) in triggers.iter().zip(&tables) {
            let (table, event, row) = (entry.name(), *event, own.row);
            let call = TriggerCall { table, def, event, row, old: &old, new: &new, tables };
            running.session.call_trigger(call)?;
        }
    }
    Ok(())
}

/// The transition tables of a trigger: the rows of `table` and of its partitions.
fn transitions(
    running: &Running<'_>,
    table: &str,
    event: TriggerEvent,
    def: &TriggerDef,
) -> Vec<Transition> {
    if !def.has_tables() {
        return Vec::new();
    }
    let state = running.session.state();
    let is_below = |entry: &TableEntry| {
        let mut of = entry.name().to_owned();
        loop {
            if of == table {
                return true;
            }
            let above = state.tables.get(&of).and_then(|entry| entry.def.partition_of.as_ref());
            match above {
                Some(above) => of.clone_from(&above.parent),
                None => return false,
            }
        }
    };
    let Some(entry) = state.tables.get(table) else { return Vec::new() };
    let kept = running.after.kept.iter();
    let kept: Vec<&WrittenRows> =
        kept.filter(|rows| rows.event == event && is_below(&rows.entry)).collect();
    let one = |name: &Option<String>, side: fn(&WrittenRows) -> Option<&Batch>| {
        let name = name.clone()?;
        let columns: Vec<(&str, DataType)> =
            entry.columns().iter().map(|c| (c.name.as_str(), c.ty)).collect();
        let mut rows = Vec::new();
        for kept in &kept {
            let Some(batch) = side(kept) else { continue };
            let places = places(&entry.def, &kept.entry.def);
            let columns_there = places.into_iter().map(|place| batch.columns[place].clone());
            let batch = Batch::new(columns_there.collect(), batch.rows);
            rows.extend((0..batch.rows).map(|at| values_of(&batch, at, &columns)));
        }
        let rows = transition(&name, entry.columns(), &rows);
        Some(Transition { name, rows })
    };
    let old = one(&def.old_table, |rows| rows.old.as_ref());
    let new = one(&def.new_table, |rows| rows.new.as_ref());
    old.into_iter().chain(new).collect()
}
