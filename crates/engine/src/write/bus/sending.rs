//! bus_send: one row for each copy.

use std::ops::ControlFlow;

use storage::{Datum, Direction, KeyBuffer, KeyRange, RowBuffer};
use types::{Interval, Result};

use super::arguments::{Arguments, Party};
use super::table::{Tables, index, insert, look, newest, not_connected, not_ready, registration};
use crate::statement::running::Running;

/// Type and client: how receivers of a type are found.
const BY_TYPE: &[usize] = &[registration::TYPE, registration::CLIENT];

/// A message, apart from where it goes.
pub(super) struct Message<'a> {
    pub(super) id: i64,
    pub(super) kind: i32,
    pub(super) sender: i64,
    /// Microseconds since 1970.
    pub(super) sent: i64,
    pub(super) rank: i32,
    /// Microseconds since 1970, the largest number for never.
    pub(super) deadline: i64,
    /// Microseconds since 1970.
    pub(super) visible: i64,
    pub(super) receipts: i32,
    pub(super) is_cancellable: bool,
    pub(super) is_text: bool,
    pub(super) body: &'a [u8],
}

impl Message<'_> {
    /// The row of the copy for `receiver`.
    pub(super) fn row(&self, receiver: i64) -> [Datum<'_>; super::table::message::COLUMNS] {
        [
            Datum::I64(receiver),
            Datum::I32(self.rank),
            Datum::I64(self.deadline),
            Datum::I64(self.id),
            Datum::I32(self.kind),
            Datum::I64(self.sender),
            Datum::I64(self.sent),
            Datum::I64(self.visible),
            Datum::I32(self.receipts),
            Datum::Bool(self.is_cancellable),
            Datum::Bool(self.is_text),
            Datum::Str(self.body),
        ]
    }
}

/// `now` and `span` later; `otherwise` for no span.
///
/// # Errors
/// 22008.
pub(super) fn later(now: i64, span: Option<Interval>, otherwise: i64) -> Result<i64> {
    span.map_or(Ok(otherwise), |span| span.add_to(now))
}

/// bus_send(sender, type, body, receivers, broadcast, priority, expires, cancellable, delay).
///
/// # Errors
/// 42704, 55000: then nobody has the message; 22004 for a body; 22008.
pub(super) fn send(
    running: &mut Running<'_>,
    tables: &Tables,
    arguments: Arguments<'_>,
) -> Result<i64> {
    let party = arguments.party(0)?;
    let sender = tables.own(running.session, &party)?;
    let kind = arguments.needed(1, "type")?;
    if !tables.sends(running, sender, kind)? {
        let message = format!("client {sender} is not registered as a sender of type {kind}");
        return Err(not_ready(message));
    }
    let body = arguments.bytes(2).ok_or_else(|| {
        types::Error::new(types::SqlState::NULL_NOT_ALLOWED, "the body must not be NULL")
    })?;
    let now = running.session.inner().clock.micros();
    let message = Message {
        id: running.session.own_value("bus.message_ids")?,
        kind,
        sender,
        sent: now,
        rank: !arguments.integer(5).unwrap_or(0),
        deadline: later(now, arguments.interval(6), i64::MAX)?,
        visible: later(now, arguments.interval(8), now)?,
        receipts: 0,
        is_cancellable: arguments.is_set(7),
        is_text: arguments.is_text(2),
        body,
    };
    let copies = if arguments.is_set(4) { Copies::Each } else { Copies::One };
    match arguments.parties(3) {
        Some(parties) => {
            let receivers = named(running, tables, &parties)?;
            let receivers = copies.among(receivers, message.id);
            if receivers.is_empty() {
                return Err(not_ready("the message has no receivers"));
            }
            match push(running, tables, &message, &receivers)? {
                None => {}
                Some(absent) => {
                    let message =
                        format!("client {absent} is not registered as a receiver of type {kind}");
                    return Err(not_ready(message));
                }
            }
        }
        None => {
            if !push_to_any(running, tables, &message, copies)? {
                return Err(not_ready(format!("no client receives messages of type {kind}")));
            }
        }
    }
    Ok(message.id)
}

/// Number of the addressed clients that get a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    /// One: they take turns.
    One,
    Each,
}

impl Copies {
    fn among(self, mut receivers: Vec<i64>, message: i64) -> Vec<i64> {
        receivers.sort_unstable();
        receivers.dedup();
        if self == Self::One && receivers.len() > 1 {
            let turn = message.rem_euclid(receivers.len() as i64) as usize;
            receivers = vec![receivers[turn]];
        }
        receivers
    }
}

/// The clients that a call names.
fn named(running: &Running<'_>, tables: &Tables, parties: &[Party]) -> Result<Vec<i64>> {
    let id = |party: &Party| match party {
        Party::Id(id) => Ok(*id),
        Party::Name(_) => {
            let found = tables.find(running.session, party)?;
            found.map(|(id, _)| id).ok_or_else(|| not_connected(party))
        }
    };
    parties.iter().map(id).collect()
}

/// Clients that receive messages of type `kind`, ascending.
fn receivers_of(running: &Running<'_>, tables: &Tables, kind: i32) -> Result<Vec<i64>> {
    let (index, at) = (index(&tables.receiver, BY_TYPE)?, look(running.session.work()));
    let (mut key, mut successor, mut row) = (KeyBuffer::new(), KeyBuffer::new(), RowBuffer::new());
    let storage = tables.receiver.storage();
    storage.indexes()[index].encode(&[Datum::I32(kind)], &mut key);
    let range = KeyRange::prefix(&key, &mut successor);
    let mut found = Vec::new();
    let columns = [registration::CLIENT];
    storage.range(index, at, range, Direction::Forward, &columns, &mut row, |_, row| {
        if let Datum::I64(id) = row.get(0) {
            found.push(id);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Pushes the message to those who receive its type; false when nobody does.
///
/// # Errors
/// Errors of writes and of waiting.
pub(super) fn push_to_any(
    running: &mut Running<'_>,
    tables: &Tables,
    message: &Message<'_>,
    copies: Copies,
) -> Result<bool> {
    loop {
        let receivers = receivers_of(running, tables, message.kind)?;
        let receivers = copies.among(receivers, message.id);
        if receivers.is_empty() {
            return Ok(false);
        }
        let mark = running.session.work_mut().txn.mark();
        if push(running, tables, message, &receivers)?.is_none() {
            return Ok(true);
        }
        // One of them has disconnected meanwhile: those are asked who are there now.
        running.session.work_mut().txn.rollback_to(mark);
    }
}

/// Pushes copies, and looks afterwards whether their receivers are still there: one that is not.
fn push(
    running: &mut Running<'_>,
    tables: &Tables,
    message: &Message<'_>,
    receivers: &[i64],
) -> Result<Option<i64>> {
    for &receiver in receivers {
        insert(running, &tables.message, &message.row(receiver))?;
    }
    for &receiver in receivers {
        let key = [Datum::I32(message.kind), Datum::I64(receiver)];
        if newest(running, &tables.receiver, BY_TYPE, &key)?.is_empty() {
            return Ok(Some(receiver));
        }
    }
    running.session.work_mut().arrivals.extend_from_slice(receivers);
    Ok(None)
}
