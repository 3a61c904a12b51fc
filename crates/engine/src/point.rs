//! Statements on one row by its key: run by the session's thread straight on the table.
//!
//! ```text
//! parameters -> key -> index -> row -> residual -> result, or the row's new values -> write
//! ```
//! Invariant: what is not the same on this path as on the general one is left to it: constraints
//! of rows that change, keys of other tables, the level of isolation that notes what it reads.
//!
//! Elsewhere: which statements these are (`plan::point`); rows of INSERT (`insert`).

mod insert;
mod simple;

use std::ops::ControlFlow;
use std::sync::Arc;

use exec::ResultSet;
use exec::expr::Evaluator;
use exec::expr::{children_mut, fit};
use kernels::{Batch, Column, Vector, VectorBuilder};
use parking_lot::Mutex;
use plan::physical::{Expr, ExprKind};
use plan::point::{PointAction, PointOutput, PointPlan, PointRows};
use sql::catalog::{TableMeta, TableRef};
use sql::statement::Statement;
use storage::{Datum, KeyBuffer, KeyRead, RowBuffer, Snapshot, Table, TableIndex, Tid};
use txn::manager::Isolation;
use types::{DataType, Error, PhysicalType, Result, SqlState, Value};

use crate::catalog::TableEntry;
use crate::locks::{Asked, LockMode};
use crate::wide;
use crate::write::foreign;
use crate::write::rows::{attempt, push};
use crate::{QueryResult, Session};
use insert::NewRow;
use simple::Simple;

/// A statement on one row.
pub(crate) struct Point {
    table: TableRef,
    storage: Arc<Table>,
    /// The table in the catalog of `version`.
    entry: Arc<TableEntry>,
    /// Of the catalog in which its constraints were looked at.
    version: u64,
    action: Action,
    memory: Mutex<Memory>,
}

enum Action {
    Select(Find, Output),
    Update(Find, Vec<usize>, Values, Option<Output>),
    Delete(Find, Option<Output>),
    Insert(NewRow),
}

/// Result columns: of SELECT, or of RETURNING over the row after an update or before a delete.
struct Output {
    columns: Arc<[(String, DataType)]>,
    values: Values,
}

impl Output {
    fn new(output: Vec<PointOutput>, row: Vec<PhysicalType>) -> Option<Self> {
        let columns = output.iter().map(|o| (o.name.clone(), o.ty)).collect();
        let values = Values::new(output.into_iter().map(|o| o.expr).collect(), row)?;
        Some(Self { columns, values })
    }

    /// Of RETURNING: the outer None when it cannot be told here, the inner without one.
    fn returning(output: Vec<PointOutput>, row: Vec<PhysicalType>) -> Option<Option<Self>> {
        if output.is_empty() { Some(None) } else { Self::new(output, row).map(Some) }
    }

    fn rows(&self, row: Option<&RowBuffer>, parameters: &[Value]) -> Result<ResultSet> {
        let batch = self.values.batch(row, parameters)?;
        Ok(ResultSet::from_batches(Arc::clone(&self.columns), vec![batch]))
    }
}

/// How the row is found.
struct Find {
    index: Arc<TableIndex>,
    keys: Values,
    /// Ordinals that expressions read.
    columns: Vec<usize>,
    residual: Option<Values>,
}

/// A value that expressions make.
enum Operand {
    /// Column read, by position.
    Column(usize),
    Parameter(usize),
    Constant(Value),
    /// Over the columns read, then `Values::parameters`; simple ones are told without evaluation.
    Computed(Evaluator, Option<Simple>),
}

/// Some values over the row and the parameters.
struct Values {
    operands: Vec<Operand>,
    /// Their physical forms.
    physical: Vec<PhysicalType>,
    /// Forms of the columns read.
    row: Vec<PhysicalType>,
    /// Parameters that computations read, in these forms.
    parameters: Vec<(usize, PhysicalType)>,
}

/// Memory that is used again.
#[derive(Default)]
struct Memory {
    key: KeyBuffer,
    row: RowBuffer,
}

impl Point {
    /// Whether it only reads.
    pub(crate) fn is_select(&self) -> bool {
        matches!(self.action, Action::Select(..))
    }

    /// The point of `statement`; None when the general way is to be taken.
    pub(crate) fn new(session: &Session, statement: &Statement, version: u64) -> Option<Self> {
        if let Statement::Insert(insert) = statement {
            let entry = entry_of(session, &insert.table)?;
            let (table, storage) = (insert.table.clone(), Arc::clone(entry.storage()));
            let action = Action::Insert(NewRow::new(&entry, insert)?);
            let memory = Mutex::default();
            return Some(Self { table, storage, entry, version, action, memory });
        }
        let plan = plan::point::point(statement)?;
        let entry = entry_of(session, &plan.table)?;
        // Their changes are noted on the general way.
        let is_behind = wide::over(&session.state(), entry.name()).next().is_some();
        let find = Find::new(&entry, &plan)?;
        let row = find.keys.row.clone();
        let action = match plan.action {
            PointAction::Select => Action::Select(find, Output::new(plan.output, row)?),
            PointAction::Update(assignments) => {
                let (columns, exprs): (Vec<usize>, Vec<Expr>) = assignments.into_iter().unzip();
                let is_plain = entry.checks().is_empty()
                    && entry.generated.is_empty()
                    && !is_behind
                    && !foreign::refers_by(&entry, &columns)
                    && !foreign::is_referenced(session, &entry, Some(&columns));
                let values = Values::new(exprs, row.clone()).filter(|_| is_plain)?;
                Action::Update(find, columns, values, Output::returning(plan.output, row)?)
            }
            PointAction::Delete => {
                let is_plain = !is_behind && !foreign::is_referenced(session, &entry, None);
                let output = Output::returning(plan.output, row)?;
                is_plain.then_some(Action::Delete(find, output))?
            }
            _ => return None,
        };
        let storage = Arc::clone(entry.storage());
        let memory = Mutex::default();
        Some(Self { table: plan.table, storage, entry, version, action, memory })
    }

    /// Runs the statement in the session's transaction; None when the general way is to be taken,
    /// before anything was done.
    ///
    /// # Errors
    /// As on the general way.
    pub(crate) fn run(&self, session: &mut Session) -> Result<Option<QueryResult>> {
        let mut parameters = std::mem::take(&mut session.parameters);
        let count = parameters.len();
        let mut memory = std::mem::take(&mut *self.memory.lock());
        let result = self.run_with(session, &mut parameters, &mut memory);
        *self.memory.lock() = memory;
        parameters.truncate(count);
        session.parameters = parameters;
        result
    }

    fn run_with(
        &self,
        session: &mut Session,
        parameters: &mut Vec<Value>,
        memory: &mut Memory,
    ) -> Result<Option<QueryResult>> {
        let isolation = session.work().txn.isolation();
        let ([command, none, one], find) = match &self.action {
            Action::Select(..) if isolation == Isolation::Serializable => return Ok(None),
            Action::Select(find, output) => {
                let work = session.work_mut();
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
        session.work().check_writable(command)?;
        let Some(entry) = self.lock(session)? else { return Ok(None) };
        if let Action::Insert(new) = &self.action {
            new.draw(session, parameters)?;
        }
        session.work_mut().statements += 1;
        let (at, tid) = loop {
            let at = session.work().txn.snapshot();
            let tid = match find {
                Some(find) => match self.find(find, at, parameters, memory)? {
                    Some(tid) => tid,
                    None => return self.result(none, None, parameters).map(Some),
                },
                None => Tid(0),
            };
            match self.write(session, entry, (at, tid), parameters, &memory.row) {
                Ok(tid) => break (at, tid),
                // Nothing but this row was read: the statement begins again, later.
                Err(error)
                    if error.state() == SqlState::SERIALIZATION_FAILURE
                        && isolation == Isolation::ReadCommitted
                        && find.is_some() =>
                {
                    session.cancel_handle().check()?;
                    session.work_mut().txn.refresh();
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
            && !self.storage.read(at, tid, columns, &mut memory.row)
        {
            return Err(Error::internal("a transaction sees what it wrote"));
        }
        self.result(one, Some(&memory.row), parameters).map(Some)
    }

    /// Locks the table: its constraints stay what they are now. None when they are others than the
    /// statement was made for.
    fn lock(&self, session: &mut Session) -> Result<Option<&Arc<TableEntry>>> {
        let is_current = |session: &Session| session.inner().relations.version() == self.version;
        // Who changed the table before had it alone, and told of it before it let go.
        let asked = session.work_mut().ask(&self.entry.lock, LockMode::RowExclusive);
        match asked {
            Asked::Granted | Asked::Held if is_current(session) => {
                session.prepare_table(&self.entry)?;
            }
            _ => drop(session.write_table(&self.table)?),
        }
        Ok(is_current(session).then_some(&self.entry))
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
        session: &mut Session,
        entry: &Arc<TableEntry>,
        (at, tid): (Snapshot, Tid),
        parameters: &[Value],
        row: &RowBuffer,
    ) -> Result<Tid> {
        let storage = &self.storage;
        let outcome = match &self.action {
            Action::Update(_, columns, values, _) => {
                let computed = values.compute(row, parameters)?;
                let mut changes = Vec::with_capacity(columns.len());
                for (i, &column) in columns.iter().enumerate() {
                    changes.push((column, values.datum(i, row, parameters, &computed)?));
                }
                let (work, cancel) = session.work_and_cancel();
                attempt(work, cancel, |undo| storage.update(undo, at, tid, &changes))
            }
            Action::Insert(new) => return new.write(session, entry, parameters),
            Action::Delete(..) => {
                let (work, cancel) = session.work_and_cancel();
                attempt(work, cancel, |undo| storage.delete(undo, at, tid)).map(|()| tid)
            }
            Action::Select(..) => Ok(tid),
        };
        outcome.map_err(|error| error.into_error(session.work(), entry))
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
        });
        let (Some(tid), Some(residual)) = (found, &find.residual) else { return Ok(found) };
        let batch = residual.input(row, parameters);
        let mut kept = vec![0];
        if let [Operand::Computed(evaluator, _)] = residual.operands.as_slice() {
            evaluator.select(&batch, &mut kept)?;
        }
        Ok((!kept.is_empty()).then_some(tid))
    }
}

/// Columns of a key; longer ones take the general way.
const KEY_COLUMNS: usize = 8;

/// The entry of the table in the session's catalog, if it is the one that was bound.
fn entry_of(session: &Session, table: &TableRef) -> Option<Arc<TableEntry>> {
    let entry = session.state().tables.get(table.name()).cloned()?;
    let storage = table.object().downcast::<Table>().ok()?;
    Arc::ptr_eq(entry.storage(), &storage).then_some(entry)
}

impl Find {
    fn new(entry: &TableEntry, plan: &PointPlan) -> Option<Self> {
        if plan.rows != PointRows::One || plan.keys.len() > KEY_COLUMNS {
            return None;
        }
        let index = plan.table.index_object(plan.index)?.downcast::<TableIndex>().ok()?;
        let schema = entry.storage().schema().columns();
        let physical = |ordinal: &usize| schema.get(*ordinal).map(|c| c.physical());
        let row = plan.columns.iter().map(physical).collect::<Option<Vec<_>>>()?;
        let keys = Values::new(plan.keys.clone(), row.clone())?;
        let wanted: Option<Vec<_>> = index.ordinals().iter().map(physical).collect();
        if wanted? != keys.physical {
            return None;
        }
        let residual = match &plan.residual {
            Some(expr) => Some(Values::computed(expr.clone(), row)?),
            None => None,
        };
        Some(Self { index, keys, columns: plan.columns.clone(), residual })
    }
}

impl Values {
    /// `exprs` over a row of columns in these forms; None when one is held otherwise.
    fn new(exprs: Vec<Expr>, row: Vec<PhysicalType>) -> Option<Self> {
        let physical = exprs.iter().map(|expr| expr.physical).collect();
        let mut values = Self { operands: Vec::new(), physical, row, parameters: Vec::new() };
        for expr in exprs {
            let operand = values.operand(expr)?;
            values.operands.push(operand);
        }
        Some(values)
    }

    /// One value that is computed, however simple it is.
    fn computed(expr: Expr, row: Vec<PhysicalType>) -> Option<Self> {
        let mut values = Self::new(Vec::new(), row)?;
        values.physical.push(expr.physical);
        let operand = values.compile(expr)?;
        values.operands.push(operand);
        Some(values)
    }

    fn operand(&mut self, expr: Expr) -> Option<Operand> {
        match expr.kind {
            ExprKind::Column(i) => {
                (self.row.get(i) == Some(&expr.physical)).then_some(Operand::Column(i))
            }
            ExprKind::Parameter(i) => Some(Operand::Parameter(i as usize)),
            ExprKind::Literal(value) => Some(Operand::Constant(fit(value, expr.physical))),
            _ => self.compile(expr),
        }
    }

    fn compile(&mut self, mut expr: Expr) -> Option<Operand> {
        let simple = Simple::new(&expr);
        self.number(&mut expr)?;
        Some(Operand::Computed(Evaluator::new(&expr).ok()?, simple))
    }

    /// Makes parameters columns behind those of the row.
    fn number(&mut self, expr: &mut Expr) -> Option<()> {
        match &mut expr.kind {
            ExprKind::Column(i) => (self.row.get(*i) == Some(&expr.physical)).then_some(()),
            ExprKind::Scalar(_) | ExprKind::Sequence(..) | ExprKind::Failure(_) => None,
            ExprKind::Parameter(i) => {
                let wanted = (*i as usize, expr.physical);
                let known = self.parameters.iter().position(|known| *known == wanted);
                let place = known.unwrap_or(self.parameters.len());
                if known.is_none() {
                    self.parameters.push(wanted);
                }
                expr.kind = ExprKind::Column(self.row.len() + place);
                Some(())
            }
            kind => children_mut(kind).into_iter().try_for_each(|child| self.number(child)),
        }
    }

    /// One row of what computations read. Without a row its columns are NULL.
    fn input(&self, row: &RowBuffer, parameters: &[Value]) -> Batch {
        let one = |physical, value: &Value| Column::plain(Vector::repeat(physical, value, 1));
        let value = |i: usize| if i < row.len() { row.get(i).to_value() } else { Value::Null };
        let mut columns: Vec<Column> =
            self.row.iter().enumerate().map(|(i, &physical)| one(physical, &value(i))).collect();
        for &(i, physical) in &self.parameters {
            columns.push(one(physical, &fit(parameters[i].clone(), physical)));
        }
        Batch::new(columns, 1)
    }

    /// The values of computed operands, NULL in the places of others; nothing when there are none.
    fn compute(&self, row: &RowBuffer, parameters: &[Value]) -> Result<Vec<Value>> {
        if !self.operands.iter().any(|operand| matches!(operand, Operand::Computed(..))) {
            return Ok(Vec::new());
        }
        let mut batch = None;
        let mut values = Vec::with_capacity(self.operands.len());
        for (operand, &physical) in self.operands.iter().zip(&self.physical) {
            let Operand::Computed(evaluator, simple) = operand else {
                values.push(Value::Null);
                continue;
            };
            let told = simple.as_ref().and_then(|simple| simple.value(row, parameters));
            values.push(match told.and_then(|told| told.held(physical)) {
                Some(value) => value,
                None => {
                    let batch = batch.get_or_insert_with(|| self.input(row, parameters));
                    evaluator.evaluate(batch)?.value(0)
                }
            });
        }
        Ok(values)
    }

    /// Value number `i` in its form.
    fn datum<'v>(
        &'v self,
        i: usize,
        row: &'v RowBuffer,
        parameters: &'v [Value],
        computed: &'v [Value],
    ) -> Result<Datum<'v>> {
        let datum = match &self.operands[i] {
            Operand::Column(column) => row.get(*column),
            Operand::Parameter(number) => Datum::from(&parameters[*number]),
            Operand::Constant(value) => Datum::from(value),
            Operand::Computed(..) => Datum::from(&computed[i]),
        };
        let narrow = |v: i128| Some(Datum::I64(i64::try_from(v).ok()?));
        let held = match (datum, self.physical[i]) {
            (Datum::I128(v), PhysicalType::I64) => narrow(v),
            (datum, physical) => datum.widened(physical),
        };
        held.ok_or_else(|| Error::internal("a value of another type than its place"))
    }

    /// The values as columns: of one row, or of none.
    fn batch(&self, row: Option<&RowBuffer>, parameters: &[Value]) -> Result<Batch> {
        let mut columns: Vec<VectorBuilder> =
            self.physical.iter().map(|&p| VectorBuilder::with_capacity(p, 1)).collect();
        if let Some(row) = row {
            let computed = self.compute(row, parameters)?;
            for (i, column) in columns.iter_mut().enumerate() {
                push(column, self.datum(i, row, parameters, &computed)?);
            }
        }
        let columns = columns.into_iter().map(|b| Column::plain(b.finish())).collect();
        Ok(Batch::new(columns, usize::from(row.is_some())))
    }
}
