//! The tables of the bus: found, locked, read and written row by row.

use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::TableEntry;
use catalog::rights::Object;
use catalog::who::denied;
use sql::catalog::TableMeta;
use sql::statement::{Privilege, Privileges};
use storage::{Datum, KeyBuffer, RowBuffer, Snapshot, Tid};
use types::{DataType, Error, Result, SqlState};

use super::arguments::Party;
use crate::Session;
use crate::statement::running::Running;
use crate::transaction::work::Work;
use crate::write::rows::{RowError, attempt};
use crate::write::writer::TableWriter;

/// Ordinals of `bus.client`.
pub(super) mod client {
    pub(in super::super) const ID: usize = 0;
    pub(in super::super) const NAME: usize = 1;
    pub(in super::super) const OWNER: usize = 2;
}

/// Ordinals of `bus.sender` and `bus.receiver`.
pub(super) mod registration {
    pub(in super::super) const CLIENT: usize = 0;
    pub(in super::super) const TYPE: usize = 1;
    pub(in super::super) const MAX_RECEIPTS: usize = 2;
    pub(in super::super) const DEAD_LETTER: usize = 3;
}

/// Ordinals of `bus.message`.
pub(super) mod message {
    pub(in super::super) const RECEIVER: usize = 0;
    /// Smaller is earlier: the priority with all bits turned over.
    pub(in super::super) const RANK: usize = 1;
    /// Infinity for none.
    pub(in super::super) const DEADLINE: usize = 2;
    pub(in super::super) const ID: usize = 3;
    pub(in super::super) const TYPE: usize = 4;
    pub(in super::super) const SENDER: usize = 5;
    pub(in super::super) const SENT: usize = 6;
    /// Nobody receives it before.
    pub(in super::super) const VISIBLE: usize = 7;
    pub(in super::super) const RECEIPTS: usize = 8;
    pub(in super::super) const CANCELLABLE: usize = 9;
    pub(in super::super) const IS_TEXT: usize = 10;
    pub(in super::super) const BODY: usize = 11;
    pub(in super::super) const COLUMNS: usize = 12;
}

/// Columns of the primary key of `bus.message`: the order of a queue.
pub(super) const QUEUE: &[usize] =
    &[message::RECEIVER, message::RANK, message::DEADLINE, message::ID];

/// Columns by which the copies of a message are found.
pub(super) const COPIES: &[usize] = &[message::ID, message::RECEIVER];

/// The tables, locked for writes of rows.
pub(super) struct Tables {
    pub(super) client: Arc<TableEntry>,
    pub(super) sender: Arc<TableEntry>,
    pub(super) receiver: Arc<TableEntry>,
    pub(super) message: Arc<TableEntry>,
    pub(super) archive: Arc<TableEntry>,
}

/// Everything committed by now, and what the transaction wrote.
pub(super) fn look(work: &Work) -> Snapshot {
    // The transaction stays announced with its older snapshot, so nothing between is collected.
    Snapshot::new(work.txn.manager().newest(), work.txn.id())
}

/// 42704 for a client.
pub(super) fn not_connected(party: &Party) -> Error {
    let message = match party {
        Party::Id(id) => format!("client {id} of the message bus does not exist"),
        Party::Name(name) => {
            let name = String::from_utf8_lossy(name);
            format!("client \"{name}\" of the message bus does not exist")
        }
    };
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// 55000.
pub(super) fn not_ready(message: impl Into<String>) -> Error {
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// The number in storage of the index over `ordinals`.
///
/// # Errors
/// 55000 when somebody has dropped it.
pub(super) fn index(entry: &TableEntry, ordinals: &[usize]) -> Result<usize> {
    let indexes = entry.storage().indexes();
    let found = indexes.iter().position(|index| index.ordinals() == ordinals);
    found.ok_or_else(|| not_ready(format!("table {} lacks a key", entry.name())))
}

impl Tables {
    /// The tables, against changes of which the transaction is locked from now on.
    ///
    /// # Errors
    /// 42704 when no client has connected yet; 55000 when they are other tables of these names;
    /// 40P01, 57014 from waiting.
    pub(super) fn locked(session: &mut Session) -> Result<Self> {
        use DataType::{BigInt, Boolean, Bytea, Integer, Text};
        const TIME: DataType = DataType::TIMESTAMPTZ;
        const COPY: [DataType; message::COLUMNS] = [
            BigInt, Integer, TIME, BigInt, Integer, BigInt, TIME, TIME, Integer, Boolean, Boolean,
            Bytea,
        ];
        let archived: Vec<DataType> = [TIME, Text].into_iter().chain(COPY).collect();
        Ok(Self {
            client: table(session, "bus.client", &[BigInt, Text, Text, TIME])?,
            sender: table(session, "bus.sender", &[BigInt, Integer])?,
            receiver: table(session, "bus.receiver", &[BigInt, Integer, Integer, Integer])?,
            message: table(session, "bus.message", &COPY)?,
            archive: table(session, "bus.archive", &archived)?,
        })
    }

    /// The client that a call acts for.
    ///
    /// # Errors
    /// 42704; 42501 unless the session has the rights of its owner.
    pub(super) fn own(&self, session: &Session, party: &Party) -> Result<i64> {
        let (id, owner) = self.find(session, party)?.ok_or_else(|| not_connected(party))?;
        if session.state().has_rights_of(&session.who(), &owner) {
            return Ok(id);
        }
        Err(denied(format!("permission denied for client {id} of the message bus")))
    }

    /// A client and its owner.
    pub(super) fn find(&self, session: &Session, party: &Party) -> Result<Option<(i64, String)>> {
        let (ordinal, key) = match party {
            Party::Id(id) => (client::ID, Datum::I64(*id)),
            Party::Name(name) => (client::NAME, Datum::Str(name)),
        };
        let index = index(&self.client, &[ordinal])?;
        let (at, columns) = (look(session.work()), [client::ID, client::OWNER]);
        let (mut buffer, mut row) = (KeyBuffer::new(), RowBuffer::new());
        let storage = self.client.storage();
        let found = storage.get(index, at, &[key], &mut buffer, &columns, &mut row)?;
        Ok(found.and_then(|_| match (row.get(0), row.get(1)) {
            (Datum::I64(id), Datum::Str(owner)) => {
                Some((id, String::from_utf8_lossy(owner).into_owned()))
            }
            _ => None,
        }))
    }
}

fn table(session: &mut Session, name: &str, types: &[DataType]) -> Result<Arc<TableEntry>> {
    if !session.state().tables.contains_key(name) {
        let message = "no client has connected to the message bus yet";
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message)
            .with_hint("bus_connect('name') makes the first one."));
    }
    let entry = session.write_table_named(name)?;
    if entry.columns().iter().map(|column| column.ty).eq(types.iter().copied()) {
        return Ok(entry);
    }
    Err(not_ready(format!("table {name} is not one of the message bus")))
}

/// # Errors
/// 42501 unless the session may add rows to the table `name` of the bus.
pub(super) fn check_insert(session: &Session, name: &str) -> Result<()> {
    let (state, who) = (session.state(), session.who());
    state.check_usage(&who, name)?;
    let insert = Privileges::of(&[Privilege::Insert]);
    state.check(&who, &Object::Relation(name.to_owned()), insert)
}

/// The rows of `entry` that begin with `key` in the index over `ordinals`, in their newest state:
/// waits for transactions that are making or deleting such rows.
///
/// # Errors
/// 40P01, 55P03, 57014 from waiting.
pub(super) fn newest(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    ordinals: &[usize],
    key: &[Datum<'_>],
) -> Result<Vec<Tid>> {
    let index = index(entry, ordinals)?;
    let (work, cancel) = running.session.work_and_cancel();
    let txn = work.txn.id();
    let mut found = Vec::new();
    let outcome = attempt(work, cancel, |_| {
        found.clear();
        entry.storage().find(index, key, txn, |tid| {
            found.push(tid);
            ControlFlow::Continue(())
        })
    });
    outcome.map_err(|error| error.into_error(running.session.work(), entry))?;
    Ok(found)
}

/// Adds a row.
///
/// # Errors
/// Errors of INSERT.
pub(super) fn insert(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    row: &[Datum<'_>],
) -> Result<Tid> {
    TableWriter::inserting(entry).insert_row(running, row)
}

/// Change of one row.
pub(super) enum Edit<'a> {
    Delete,
    Update(&'a [(usize, Datum<'a>)]),
}

/// Changes a row in its newest state, waiting for others; false when it is gone.
///
/// # Errors
/// 40P01, 55P03, 57014 from waiting, 53200.
pub(super) fn edit(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    mut tid: Tid,
    edit: &Edit<'_>,
) -> Result<bool> {
    let storage = entry.storage();
    let mut row = RowBuffer::new();
    loop {
        let (work, cancel) = running.session.work_and_cancel();
        let at = look(work);
        if !storage.read(at, tid, &[], &mut row)? {
            return Ok(false);
        }
        let outcome = attempt(work, cancel, |undo| match edit {
            Edit::Delete => storage.delete(undo, at, tid),
            Edit::Update(changes) => storage.update(undo, at, tid, changes).map(|_| ()),
        });
        match outcome {
            Ok(()) => return Ok(true),
            // It is as it was when the other one has ended: look again.
            Err(RowError::Conflict(moved_to)) => tid = moved_to.unwrap_or(tid),
            Err(error) => return Err(error.into_error(running.session.work(), entry)),
        }
        cancel_check(running)?;
    }
}

/// # Errors
/// 57014, 53200 when the statement is to end.
pub(super) fn cancel_check(running: &Running<'_>) -> Result<()> {
    running.session.cancel_handle().check()?;
    types::budget::check()
}
