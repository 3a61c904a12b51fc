//! Messages that go, or stay hidden: bus_delete, bus_cancel, bus_extend.

use catalog::who::denied;
use storage::{Datum, RowBuffer, Tid};
use types::{Error, Result, SqlState};

use super::arguments::Arguments;
use super::sending::later;
use super::table::{COPIES, Edit, Tables, edit, insert, look, message, newest, not_ready};
use crate::statement::running::Running;

/// All columns of a message, in order.
pub(super) const ALL: [usize; message::COLUMNS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/// Keeps a copy in the archive.
///
/// # Errors
/// Errors of writes.
pub(super) fn archive(
    running: &mut Running<'_>,
    tables: &Tables,
    reason: &str,
    copy: &RowBuffer,
) -> Result<()> {
    let now = running.session.inner().clock.micros();
    let mut row = vec![Datum::I64(now), Datum::Str(reason.as_bytes())];
    row.extend(copy.iter());
    insert(running, &tables.archive, &row).map(drop)
}

/// bus_delete(client, messages, archive): how many there were.
///
/// # Errors
/// 42704, 42501; errors of waiting.
pub(super) fn delete(
    running: &mut Running<'_>,
    tables: &Tables,
    arguments: Arguments<'_>,
) -> Result<i64> {
    let party = arguments.party(0)?;
    let client = tables.own(running.session, &party)?;
    let mut count = 0;
    for id in arguments.messages(1) {
        let key = [Datum::I64(id), Datum::I64(client)];
        for tid in newest(running, &tables.message, COPIES, &key)? {
            let mut copy = RowBuffer::new();
            let at = look(running.session.work());
            let is_kept =
                arguments.is_set(2) && tables.message.storage().read(at, tid, &ALL, &mut copy)?;
            if edit(running, &tables.message, tid, &Edit::Delete)? {
                count += 1;
                if is_kept {
                    archive(running, tables, "deleted", &copy)?;
                }
            }
        }
    }
    Ok(count)
}

/// A copy, as far as a cancel asks.
struct Copy {
    tid: Tid,
    receiver: i64,
    sender: i64,
    is_cancellable: bool,
}

/// bus_cancel(client, message, spare): how many copies there were.
///
/// # Errors
/// 42704; 42501 when it is neither the sender nor has a copy; 55000 for a message that was not sent
/// to be cancelled; errors of waiting.
pub(super) fn cancel(
    running: &mut Running<'_>,
    tables: &Tables,
    arguments: Arguments<'_>,
) -> Result<i64> {
    let party = arguments.party(0)?;
    let client = tables.own(running.session, &party)?;
    let Some(id) = arguments.number(1) else {
        let message = "the message of a call must not be NULL";
        return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
    };
    let columns = [message::RECEIVER, message::SENDER, message::CANCELLABLE];
    let tids = newest(running, &tables.message, COPIES, &[Datum::I64(id)])?;
    let at = look(running.session.work());
    let mut copies = Vec::with_capacity(tids.len());
    let mut row = RowBuffer::new();
    for tid in tids {
        row.clear();
        if !tables.message.storage().read(at, tid, &columns, &mut row)? {
            continue;
        }
        if let (Datum::I64(receiver), Datum::I64(sender), Datum::Bool(is_cancellable)) =
            (row.get(0), row.get(1), row.get(2))
        {
            copies.push(Copy { tid, receiver, sender, is_cancellable });
        }
    }
    let may = |copy: &Copy| copy.sender == client || copy.receiver == client;
    if !copies.is_empty() && !copies.iter().any(may) {
        return Err(denied(format!("message {id} is not one of client {client}")));
    }
    if copies.iter().any(|copy| !copy.is_cancellable) {
        return Err(not_ready(format!("message {id} was not sent as cancellable")));
    }
    let mut count = 0;
    for copy in copies {
        if arguments.is_set(2) && copy.receiver == client {
            continue;
        }
        count += i64::from(edit(running, &tables.message, copy.tid, &Edit::Delete)?);
    }
    Ok(count)
}

/// bus_extend(client, messages, lease): how many leases there were.
///
/// # Errors
/// 42704, 42501; 22004; errors of waiting.
pub(super) fn extend(
    running: &mut Running<'_>,
    tables: &Tables,
    arguments: Arguments<'_>,
) -> Result<i64> {
    let party = arguments.party(0)?;
    let client = tables.own(running.session, &party)?;
    let lease = arguments.interval(2).ok_or_else(|| {
        Error::new(SqlState::NULL_NOT_ALLOWED, "the lease of a call must not be NULL")
    })?;
    let now = running.session.inner().clock.micros();
    let end = later(now, Some(lease), now)?;
    let columns = [message::VISIBLE, message::RECEIPTS];
    let (mut count, mut row) = (0, RowBuffer::new());
    for id in arguments.messages(1) {
        let key = [Datum::I64(id), Datum::I64(client)];
        for tid in newest(running, &tables.message, COPIES, &key)? {
            row.clear();
            let at = look(running.session.work());
            let is_there = tables.message.storage().read(at, tid, &columns, &mut row)?;
            let is_leased = is_there
                && matches!(
                    (row.get(0), row.get(1)),
                    (Datum::I64(visible), Datum::I32(receipts)) if visible > now && receipts > 0
                );
            let changes = [(message::VISIBLE, Datum::I64(end))];
            if is_leased && edit(running, &tables.message, tid, &Edit::Update(&changes))? {
                count += 1;
            }
        }
    }
    Ok(count)
}
