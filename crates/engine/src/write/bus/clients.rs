//! Clients and what they are registered for.

use catalog::who::{Who, denied};
use storage::{Datum, KeyBuffer, RowBuffer};
use types::{Error, Result, SqlState};

use super::arguments::{Arguments, Party};
use super::table::{
    Edit, QUEUE, Tables, check_insert, client, edit, index, insert, look, message, newest,
    not_connected, registration,
};
use crate::statement::running::Running;

/// bus_connect(name, owner).
///
/// # Errors
/// 42501 without INSERT on `bus.client`, or for a client of others; 42704 for a role.
pub(super) fn connect(
    running: &mut Running<'_>,
    tables: &Tables,
    arguments: Arguments<'_>,
) -> Result<i64> {
    let name = arguments.bytes(0);
    loop {
        if let Some(name) = name {
            let party = Party::Name(name.to_vec());
            if tables.find(running.session, &party)?.is_some() {
                return tables.own(running.session, &party);
            }
        }
        check_insert(running.session, "bus.client")?;
        let owner = owner(running, arguments.bytes(1))?;
        let id = running.session.own_value("bus.client_ids")?;
        let now = running.session.inner().clock.micros();
        let name = name.map_or(Datum::Null, Datum::Str);
        let row = [Datum::I64(id), name, Datum::Str(owner.as_bytes()), Datum::I64(now)];
        match insert(running, &tables.client, &row) {
            Ok(_) => return Ok(id),
            // Another session made it meanwhile, and has committed.
            Err(error) if error.state() == SqlState::UNIQUE_VIOLATION => {}
            Err(error) => return Err(error),
        }
    }
}

/// The role that a new client belongs to.
fn owner(running: &Running<'_>, given: Option<&[u8]>) -> Result<String> {
    let session = &running.session;
    let Some(given) = given else { return Ok(session.settings.current_user().to_owned()) };
    let owner = String::from_utf8_lossy(given).into_owned();
    let (state, who) = (session.state(), session.who());
    if !state.roles.contains_key(&owner) {
        let message = format!("role \"{owner}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    match &who {
        Who::Role(own) if !state.is_superuser(&who) && !state.is_member(own, &owner) => {
            Err(denied(format!("must be member of role \"{owner}\"")))
        }
        _ => Ok(owner),
    }
}

/// bus_disconnect(client, if_empty): false when messages wait and the client stays.
///
/// # Errors
/// 42704, 42501; errors of waiting.
pub(super) fn disconnect(
    running: &mut Running<'_>,
    tables: &Tables,
    arguments: Arguments<'_>,
) -> Result<bool> {
    let party = arguments.party(0)?;
    let id = tables.own(running.session, &party)?;
    let key = [Datum::I64(id)];
    let mark = running.session.work_mut().txn.mark();
    for tid in newest(running, &tables.client, &[client::ID], &key)? {
        edit(running, &tables.client, tid, &Edit::Delete)?;
    }
    // Whoever sends to it or registers it from here on finds it gone; those who did are waited for.
    for entry in [&tables.sender, &tables.receiver] {
        for tid in newest(running, entry, &[registration::CLIENT, registration::TYPE], &key)? {
            edit(running, entry, tid, &Edit::Delete)?;
        }
    }
    let waiting = newest(running, &tables.message, QUEUE, &key)?;
    if arguments.is_set(1) {
        let now = Datum::I64(running.session.inner().clock.micros());
        let at = look(running.session.work());
        let mut row = RowBuffer::new();
        for &tid in &waiting {
            row.clear();
            let is_there =
                tables.message.storage().read(at, tid, &[message::DEADLINE], &mut row)?;
            if is_there && is_later(row.get(0), now) {
                running.session.work_mut().txn.rollback_to(mark);
                return Ok(false);
            }
        }
    }
    for tid in waiting {
        edit(running, &tables.message, tid, &Edit::Delete)?;
    }
    Ok(true)
}

/// True when `time` lies behind `now`.
fn is_later(time: Datum<'_>, now: Datum<'_>) -> bool {
    matches!((time, now), (Datum::I64(time), Datum::I64(now)) if time > now)
}

/// bus_register_sender(client, type).
///
/// # Errors
/// 42704; 42501 without INSERT on `bus.sender`.
pub(super) fn register_sender(
    running: &mut Running<'_>,
    tables: &Tables,
    arguments: Arguments<'_>,
) -> Result<()> {
    check_insert(running.session, "bus.sender")?;
    let party = arguments.party(0)?;
    let id = tables.own(running.session, &party)?;
    let key = [Datum::I64(id), Datum::I32(arguments.needed(1, "type")?)];
    match insert(running, &tables.sender, &key) {
        Err(error) if error.state() == SqlState::UNIQUE_VIOLATION => {}
        outcome => drop(outcome?),
    }
    still_connected(running, tables, id)
}

/// bus_register_receiver(client, type, max_receipts, dead_letter).
///
/// # Errors
/// 42704; 42501 without INSERT on `bus.receiver`; 22023 for a limit below 1.
pub(super) fn register_receiver(
    running: &mut Running<'_>,
    tables: &Tables,
    arguments: Arguments<'_>,
) -> Result<()> {
    check_insert(running.session, "bus.receiver")?;
    let party = arguments.party(0)?;
    let id = tables.own(running.session, &party)?;
    let kind = arguments.needed(1, "type")?;
    let (limit, dead) = (arguments.integer(2), arguments.integer(3));
    if limit.is_some_and(|limit| limit < 1) {
        let message = "max_receipts must be at least 1";
        return Err(Error::new(SqlState::INVALID_PARAMETER, message));
    }
    let key = [Datum::I64(id), Datum::I32(kind)];
    let or_null = |value: Option<i32>| value.map_or(Datum::Null, Datum::I32);
    let row = [key[0], key[1], or_null(limit), or_null(dead)];
    match insert(running, &tables.receiver, &row) {
        Err(error) if error.state() == SqlState::UNIQUE_VIOLATION => {
            let limits =
                [(registration::MAX_RECEIPTS, row[2]), (registration::DEAD_LETTER, row[3])];
            let own = &[registration::CLIENT, registration::TYPE];
            for tid in newest(running, &tables.receiver, own, &key)? {
                edit(running, &tables.receiver, tid, &Edit::Update(&limits))?;
            }
        }
        outcome => drop(outcome?),
    }
    still_connected(running, tables, id)
}

/// # Errors
/// 42704 when another transaction has disconnected the client meanwhile.
fn still_connected(running: &mut Running<'_>, tables: &Tables, id: i64) -> Result<()> {
    if newest(running, &tables.client, &[client::ID], &[Datum::I64(id)])?.is_empty() {
        return Err(not_connected(&Party::Id(id)));
    }
    Ok(())
}

impl Tables {
    /// True when the client may send messages of type `kind`.
    pub(super) fn sends(&self, running: &Running<'_>, id: i64, kind: i32) -> Result<bool> {
        let own = &[registration::CLIENT, registration::TYPE];
        let (index, at) = (index(&self.sender, own)?, look(running.session.work()));
        let (mut buffer, mut row) = (KeyBuffer::new(), RowBuffer::new());
        let key = [Datum::I64(id), Datum::I32(kind)];
        Ok(self.sender.storage().get(index, at, &key, &mut buffer, &[], &mut row)?.is_some())
    }

    /// How often the client receives a message of type `kind` at most, and the type of what
    /// becomes of it then; None without a limit.
    pub(super) fn limit(
        &self,
        running: &Running<'_>,
        id: i64,
        kind: i32,
    ) -> Result<Option<(i32, Option<i32>)>> {
        let own = &[registration::CLIENT, registration::TYPE];
        let (index, at) = (index(&self.receiver, own)?, look(running.session.work()));
        let (mut buffer, mut row) = (KeyBuffer::new(), RowBuffer::new());
        let key = [Datum::I64(id), Datum::I32(kind)];
        let columns = [registration::MAX_RECEIPTS, registration::DEAD_LETTER];
        let storage = self.receiver.storage();
        let found = storage.get(index, at, &key, &mut buffer, &columns, &mut row)?;
        let number = |datum: Datum<'_>| match datum {
            Datum::I32(value) => Some(value),
            _ => None,
        };
        Ok(found.and_then(|_| Some((number(row.get(0))?, number(row.get(1))))))
    }
}
