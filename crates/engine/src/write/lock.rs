//! SELECT ... FOR UPDATE and its kin: the rows of a query, locked until the transaction ends.
//!
//! Elsewhere: which locks exclude each other (`storage::LockStrength`).

use std::ops::Range;
use std::sync::Arc;

use catalog::TableEntry;
use catalog::rows::Rows;
use exec::ResultSet;
use kernels::{Batch, Column};
use sql::algebra::Query;
use sql::algebra::family::Member;
use sql::statement::{LockWait, RowLock, RowLockStrength, SelectForUpdate};
use storage::{LockStrength, Snapshot, Tid, WriteError};
use types::{Error, Result, SqlState, Value, budget};

use super::partitioned::untagged;
use super::rows::{RowError, attempt};
use crate::QueryResult;
use crate::session::compiled::OwnQuery;
use crate::statement::running::{Run, Running};
use crate::transaction::work::{lost_update, recheck_snapshot, stale};

/// Outcome of locking one row.
enum Locked {
    Yes,
    /// SKIP LOCKED, or it is gone.
    LeaveOut,
    /// The row changed after the snapshot: the query has to run again.
    Changed,
}

pub(crate) fn select(running: &mut Running<'_>, select: &SelectForUpdate) -> Result<QueryResult> {
    locked(running, select, select.width).map(QueryResult::from_rows)
}

/// The first `width` columns of the rows, which are locked; the places of the rows in tables are
/// behind those that the client asked for.
pub(crate) fn locked(
    running: &mut Running<'_>,
    select: &SelectForUpdate,
    width: usize,
) -> Result<ResultSet> {
    running.session.work().check_writable(command_of(select))?;
    let mut entries = Vec::with_capacity(select.locks.len());
    for lock in &select.locks {
        let entry = running.session.row_share_table(&lock.table)?;
        entries.push(match lock.table.members() {
            None => vec![entry],
            Some(members) => {
                let share = |of: &Member| running.session.row_share_table(&of.table);
                members.iter().map(share).collect::<Result<_>>()?
            }
        });
    }
    let limit = bound(running, select.limit.as_deref(), OwnQuery::Limit)?;
    let offset = bound(running, select.offset.as_deref(), OwnQuery::Offset)?.unwrap_or(0);
    let end = limit.map_or(u64::MAX, |limit| offset.saturating_add(limit));
    let mut query = select.first.as_deref().unwrap_or(&select.query);
    loop {
        let is_all = std::ptr::eq(query, &raw const select.query);
        let own = if is_all { OwnQuery::Source } else { OwnQuery::First };
        let result = running.run_query(query, Run::of(own))?;
        let wanted = Wanted { rows: offset..end, width };
        let met = lock_rows(running, select, &entries, &result, wanted)?;
        if let Some((rows, taken)) = met {
            if is_all || taken >= end || taken == result.rows() as u64 {
                return Ok(rows);
            }
            // Rows were left out: there may be others.
            query = &select.query;
            continue;
        }
        // READ COMMITTED: rows changed while we waited; the locks taken stay.
        running.refresh_view();
    }
}

/// The value of LIMIT or OFFSET; None for none.
fn bound(running: &mut Running<'_>, query: Option<&Query>, own: OwnQuery) -> Result<Option<u64>> {
    let Some(query) = query else { return Ok(None) };
    let result = running.run_query(query, Run::of(own))?;
    match result.batches.first().map(|batch| batch.columns[0].value(0)) {
        Some(Value::I64(n)) => u64::try_from(n)
            .map(Some)
            .map_err(|_| Error::new(SqlState::INVALID_LIMIT, "LIMIT must not be negative")),
        _ => Ok(None),
    }
}

/// Part of the locked rows that is the result.
struct Wanted {
    /// Numbers of the rows.
    rows: Range<u64>,
    /// Number of the columns.
    width: usize,
}

/// Locks the rows in order, and gives those that are `wanted` among them, and how many it
/// locked; None when one changed after the snapshot.
fn lock_rows(
    running: &mut Running<'_>,
    select: &SelectForUpdate,
    entries: &[Vec<Arc<TableEntry>>],
    result: &ResultSet,
    wanted: Wanted,
) -> Result<Option<(ResultSet, u64)>> {
    let Wanted { rows: wanted, width } = wanted;
    let mut batches = Vec::new();
    let mut taken = 0;
    for batch in &result.batches {
        budget::check()?;
        let rows = Rows::new(batch);
        let mut kept: Vec<u32> = Vec::new();
        for row in 0..rows.count {
            if taken >= wanted.end {
                break;
            }
            match lock_row(running, select, entries, &rows, row)? {
                Locked::Changed => return Ok(None),
                Locked::LeaveOut => {}
                Locked::Yes => {
                    taken += 1;
                    if taken > wanted.start {
                        kept.push(row as u32);
                    }
                }
            }
        }
        let columns: Vec<Column> = batch.columns[..width].iter().map(|c| c.gather(&kept)).collect();
        batches.push(Batch::new(columns, kept.len()));
    }
    let columns = result.columns[..width].to_vec();
    let rows = ResultSet::counted(running.session.database.pool(), columns, batches)?;
    Ok(Some((rows, taken)))
}

fn lock_row(
    running: &mut Running<'_>,
    select: &SelectForUpdate,
    entries: &[Vec<Arc<TableEntry>>],
    rows: &Rows,
    row: usize,
) -> Result<Locked> {
    for (i, (lock, entry)) in select.locks.iter().zip(entries).enumerate() {
        let storage::Datum::I64(tid) = rows.get(select.width + i, row) else { continue };
        let at = running.session.work().txn.snapshot();
        let (leaf, tid) = match entry.as_slice() {
            [_] if !lock.table.has_members() => (0, Tid(tid as u64)),
            _ => untagged(Tid(tid as u64)),
        };
        let entry = entry.get(leaf).ok_or_else(stale)?;
        match lock_one(running, lock, entry, at, tid)? {
            Locked::Yes => {}
            other => return Ok(other),
        }
    }
    Ok(Locked::Yes)
}

fn strength_of(asked: RowLockStrength) -> LockStrength {
    match asked {
        RowLockStrength::KeyShare => LockStrength::KeyShare,
        RowLockStrength::Share => LockStrength::Share,
        RowLockStrength::NoKeyUpdate => LockStrength::NoKeyUpdate,
        RowLockStrength::Update => LockStrength::Update,
    }
}

/// The statement as messages name it.
fn command_of(select: &SelectForUpdate) -> &'static str {
    match select.locks.first().map(|lock| lock.strength) {
        Some(RowLockStrength::KeyShare) => "SELECT FOR KEY SHARE",
        Some(RowLockStrength::Share) => "SELECT FOR SHARE",
        Some(RowLockStrength::NoKeyUpdate) => "SELECT FOR NO KEY UPDATE",
        Some(RowLockStrength::Update) | None => "SELECT FOR UPDATE",
    }
}

fn lock_one(
    running: &mut Running<'_>,
    lock: &RowLock,
    entry: &Arc<TableEntry>,
    at: Snapshot,
    tid: Tid,
) -> Result<Locked> {
    let cancel = running.session.cancel_handle();
    let work = running.session.work_mut();
    let strength = strength_of(lock.strength);
    if lock.wait != LockWait::Wait
        && let Err(WriteError::Wait(other)) =
            entry.storage().lock(work.txn.undo(), at, tid, strength)
        && !work.txn.manager().is_ending(other)
    {
        if lock.wait == LockWait::Skip {
            return Ok(Locked::LeaveOut);
        }
        let message =
            format!("could not obtain lock on row in relation \"{}\"", entry.def.bare_name());
        return Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, message));
    }
    match attempt(work, &cancel, |undo| entry.storage().lock(undo, at, tid, strength)) {
        Ok(()) => Ok(Locked::Yes),
        Err(RowError::Conflict(_)) if recheck_snapshot(work).is_some() => Ok(Locked::Changed),
        Err(RowError::Conflict(_)) => Err(lost_update()),
        Err(error) => Err(error.into_error(work, entry)),
    }
}
