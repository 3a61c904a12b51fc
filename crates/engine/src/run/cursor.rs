//! Cursors: DECLARE, FETCH, MOVE, CLOSE.
//!
//! ```text
//! position: 0 before the first row, 1..=n on a row, n + 1 after the last
//! ```
//! The rows are made when the cursor is declared, so that they are of its snapshot whatever the
//! level of isolation, and kept until it is closed. Departure from PostgreSQL: not row by row.

use std::sync::Arc;

use exec::ResultSet;
use kernels::{Batch, Column};
use sql::algebra::{Expr, Plan};
use sql::catalog::TableRef;
use sql::statement::{
    AtCursor, CursorForm, CursorHold, CursorRows, CursorScroll, Declare, Fetch, FetchAction,
    FetchTo, RelationName, SelectForUpdate, Statement,
};
use storage::{BufferPool, Tid};
use types::{CompareOp, Error, Result, SqlState, Value};

use crate::QueryResult;
use crate::run::program::collation::of_output;
use crate::session::cursors::{Cursor, Cursors, unknown};
use crate::statement::running::{Run, Running};
use crate::transaction::work::Begun;
use crate::write::lock;
use crate::write::partitioned::{tagged, untagged};

/// DECLARE.
pub(crate) fn declare(running: &mut Running<'_>, declare: Declare) -> Result<QueryResult> {
    let Declare { name, options, rows, text } = declare;
    // A routine runs within the statement that calls it.
    let is_alone =
        running.session.work().begun == Begun::ForOneStatement && running.session.call_depth == 0;
    if is_alone && options.hold == CursorHold::Transaction {
        let message = "DECLARE CURSOR can only be used in transaction blocks";
        return Err(Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message));
    }
    if running.session.cursors.open.contains_key(&name) {
        let message = format!("cursor \"{name}\" already exists");
        return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
    }
    let collations = match &rows {
        CursorRows::Plain(query) => of_output(&query.columns),
        CursorRows::Placed(select) | CursorRows::Locked(select) => {
            of_output(&select.query.columns[..select.width])
        }
    };
    let (rows, places) = match &rows {
        CursorRows::Plain(query) => (running.run_query(query, Run::default())?, Vec::new()),
        CursorRows::Placed(select) => {
            split(running.run_query(&select.query, Run::default())?, select)
        }
        CursorRows::Locked(select) => {
            let width = select.width + select.locks.len();
            split(lock::locked(running, select, width)?, select)
        }
    };
    let work = running.session.work_mut();
    let number = Some(work.cursors);
    work.cursors += 1;
    let count = i64::try_from(rows.rows()).unwrap_or(i64::MAX - 1);
    let (scroll, hold, form) = (options.scroll, options.hold, options.form);
    let position = 0;
    let cursor =
        Cursor { rows, collations, places, count, position, scroll, hold, form, text, number };
    running.session.cursors.open.insert(name, cursor);
    Ok(QueryResult::command("DECLARE CURSOR"))
}

/// The places of rows by table: see [`Cursor`].
type Places = Vec<(String, Vec<Option<i64>>)>;

/// The client's columns, and the places of the rows, which are behind them.
fn split(all: ResultSet, select: &SelectForUpdate) -> (ResultSet, Places) {
    let place = |number: usize| {
        let rows = all.batches.iter().flat_map(|batch| {
            let column = &batch.columns[select.width + number];
            (0..batch.rows).map(|row| match column.value(row) {
                Value::I64(place) => Some(place),
                _ => None,
            })
        });
        rows.collect()
    };
    let tables = select.locks.iter().enumerate();
    let places = tables.map(|(number, lock)| (lock.table.name().to_owned(), place(number)));
    let places = places.collect();
    let kept = |batch: &Batch| Batch::new(batch.columns[..select.width].to_vec(), batch.rows);
    let batches = all.batches.iter().map(kept).collect();
    let columns = all.columns[..select.width].to_vec();
    (all.with_batches(columns, batches), places)
}

/// UPDATE or DELETE of the row that a cursor is on.
///
/// # Errors
/// 34000 for no cursor, 24000 for one that is on no row of the table.
pub(crate) fn run_at(running: &mut Running<'_>, at: AtCursor) -> Result<QueryResult> {
    let AtCursor { cursor: name, mut statement } = at;
    let (target, source) = match &mut statement {
        Statement::Update(update) => (update.table.clone(), &mut update.source),
        Statement::Delete(delete) => (delete.table.clone(), &mut delete.source),
        _ => return Err(Error::unsupported("WHERE CURRENT OF in this statement")),
    };
    let table = target.name();
    let cursor = running.session.cursors.get_mut(&name)?;
    let invalid = |message: String| Err(Error::new(SqlState::INVALID_CURSOR_STATE, message));
    let mut known = cursor.places.iter().filter(|(known, _)| known == table);
    let (Some((_, places)), None) = (known.next(), known.next()) else {
        let table = RelationName::name_of_key(table);
        return invalid(format!(
            "cursor \"{name}\" is not a simply updatable scan of table \"{table}\""
        ));
    };
    let row = usize::try_from(cursor.position - 1).ok().and_then(|row| places.get(row));
    let Some(&Some(place)) = row else {
        return invalid(format!("cursor \"{name}\" is not positioned on a row"));
    };
    let place = place_now(running, &target, Tid(place as u64)).0 as i64;
    let Some(column) = source.columns.first() else {
        return Err(Error::internal("a change knows the places of rows"));
    };
    let wanted = Expr::literal(Value::I64(place), column.ty);
    let predicate = Expr::compare(CompareOp::Equal, Expr::column(column.id, column.ty), wanted);
    let input = Box::new(std::mem::replace(&mut source.plan, Plan::one_row()));
    source.plan = Plan::Filter { input, predicate };
    running.run(statement)
}

/// Where the row is now: it may have moved since the cursor was declared.
fn place_now(running: &Running<'_>, table: &TableRef, place: Tid) -> Tid {
    let (state, at) = (running.session.state(), running.session.work().txn.snapshot());
    let found = |table: &TableRef, tid: Tid| {
        let entry = state.tables.get(table.name());
        entry.map_or(tid, |entry| entry.storage().found_at(at, tid))
    };
    let Some(members) = table.members() else { return found(table, place) };
    let (leaf, tid) = untagged(place);
    members.get(leaf).map_or(place, |member| tagged(leaf, found(&member.table, tid)))
}

/// CLOSE.
pub(crate) fn close(cursors: &mut Cursors, name: Option<&str>) -> Result<QueryResult> {
    match name {
        None => {
            cursors.clear();
            Ok(QueryResult::command("CLOSE CURSOR ALL"))
        }
        Some(name) => {
            cursors.open.remove(name).ok_or_else(|| unknown(name))?;
            Ok(QueryResult::command("CLOSE CURSOR"))
        }
    }
}

/// FETCH and MOVE.
pub(crate) fn fetch(
    cursors: &mut Cursors,
    pool: &Arc<BufferPool>,
    fetch: &Fetch,
) -> Result<QueryResult> {
    let cursor = cursors.get_mut(&fetch.name)?;
    let wanted = cursor.step(fetch.to)?;
    let count = wanted.len();
    if fetch.action == FetchAction::Move {
        return Ok(QueryResult::command(format!("MOVE {count}")));
    }
    let rows = cursor.rows_at(&wanted, pool)?;
    let result = QueryResult::tagged(format!("FETCH {count}"), rows);
    let result = result.collated(cursor.collations.clone());
    Ok(if cursor.form == CursorForm::Binary { result.into_binary() } else { result })
}

impl Cursor {
    /// Goes there; the rows on the way, from 1.
    fn step(&mut self, to: FetchTo) -> Result<Vec<i64>> {
        let (from, count) = (self.position, self.count);
        let goal = match to {
            FetchTo::Forward(0) | FetchTo::Relative(0) => from,
            FetchTo::Forward(steps) | FetchTo::Relative(steps) => {
                from.saturating_add(steps).clamp(0, count + 1)
            }
            FetchTo::AllForward => count + 1,
            FetchTo::AllBackward => 0,
            FetchTo::Absolute(at) if at >= 0 => at.min(count + 1),
            FetchTo::Absolute(at) => (count + 1).saturating_add(at).max(0),
        };
        let is_back = goal < from || (goal == from && matches!(to, FetchTo::Forward(0)));
        if is_back && self.scroll == CursorScroll::No {
            let error = Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cursor can only scan forward",
            );
            return Err(error.with_hint("Declare it with SCROLL option to enable backward scan."));
        }
        self.position = goal;
        let is_row = |row: &i64| (1..=count).contains(row);
        Ok(match to {
            FetchTo::Absolute(_) | FetchTo::Relative(_) | FetchTo::Forward(0) => {
                [goal].into_iter().filter(is_row).collect()
            }
            _ if goal >= from => (from + 1..=goal).filter(is_row).collect(),
            _ => (goal..from).rev().filter(is_row).collect(),
        })
    }

    /// These rows, counted from 1 and all in one direction.
    fn rows_at(&self, wanted: &[i64], pool: &Arc<BufferPool>) -> Result<ResultSet> {
        let mut bounds = Vec::with_capacity(self.rows.batches.len());
        let mut end = 0;
        for batch in &self.rows.batches {
            bounds.push(end);
            end += batch.rows as i64;
        }
        let of = |row: i64| bounds.partition_point(|first| *first < row) - 1;
        let mut batches = Vec::new();
        for group in wanted.chunk_by(|a, b| of(*a) == of(*b)) {
            let at = of(group[0]);
            let batch = &self.rows.batches[at];
            let position = |row: &i64| (row - bounds[at] - 1) as u32;
            let positions: Vec<u32> = group.iter().map(position).collect();
            let columns: Vec<Column> =
                batch.columns.iter().map(|column| column.gather(&positions)).collect();
            batches.push(Batch::new(columns, positions.len()));
        }
        ResultSet::counted(pool, Arc::clone(&self.rows.columns), batches)
    }
}
