//! PREPARE TRANSACTION: work that the log has and nobody sees, until it is ended by its name.
//!
//! ```text
//! bytes: version u8 | owner | micros | number | tables read whole | table locks | clients to wake
//!        | advisory locks | row locks | redo of the rows
//! recovery: bytes -> locks, then the rows again as a transaction that runs, new ones elsewhere
//! ```
//! No block of a checkpoint has what a prepared transaction wrote, and replay passes over its
//! record: so COMMIT PREPARED writes its rows to the log again, at the places where they are then.
//! Invariants: nothing but a full disk or a broken log keeps COMMIT PREPARED from succeeding, and
//! after a full disk it can be tried again; the rows that it changed stay where they are, because
//! their records are those of a running transaction.
//! Elsewhere: the statements (`run::two_phase`), rows again (`run::two_phase::again`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use catalog::locks::{LockMode, MODES};
use catalog::{State, TableEntry};
use durable::{Effects, Lsn, Marks, Redo};
use sql::algebra::{AdvisoryMode, AdvisorySpan};
use sql::statement::Persistence;
use storage::{
    Change, ChangeKind, LockStrength, RowBuffer, Table, TableId, Tid, Timestamp, TxnId, UndoBuffer,
};
use txn::manager::{CommitWork, Isolation};
use txn::redo::RedoWriter;
use types::codec::{Input, Malformed, put_bytes, put_i64, put_u64};
use types::{Error, Result};

use super::commit::{Durability, Ending, ended, taken};
use super::{Reads, Work};
use crate::Commits;
use crate::instance::advisory::{Key, advisory_owner};
use crate::instance::database::Inner;
use crate::instance::prepared::{PreparedFacts, PreparedWork, Reader, Unfinished};

/// Version of the bytes.
const VERSION: u8 = 2;

/// The form in which locks of rows have no strength.
const VERSION_OF_ONE_STRENGTH: u8 = 1;

/// Name of the bytes in errors.
const PREPARED: &str = "a prepared transaction";

/// Facts that PREPARE TRANSACTION is told.
pub(crate) struct Preparing<'a> {
    pub(crate) gid: Arc<str>,
    pub(crate) owner: &'a str,
    /// When, microseconds since 1970.
    pub(crate) micros: i64,
    /// The session, which may hold advisory locks.
    pub(crate) session: u64,
}

/// A prepared transaction without its rows, as bytes have it.
pub(crate) struct PreparedImage<'b> {
    pub(crate) facts: PreparedFacts,
    /// Numbers of the tables that a serializable one read; None for other levels.
    pub(crate) read: Option<Vec<TableId>>,
    /// Table locks by the number of the table.
    pub(crate) locks: Vec<(TableId, LockMode)>,
    /// Clients of the bus to wake.
    pub(crate) arrivals: Vec<i64>,
    pub(crate) advisory: Vec<(Key, AdvisoryMode)>,
    /// Rows that it locked.
    pub(crate) rows_locked: Vec<LockedRow>,
    /// Redo of its rows.
    pub(crate) redo: &'b [u8],
}

/// A row that a transaction locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockedRow {
    pub(crate) table: TableId,
    pub(crate) tid: Tid,
    pub(crate) strength: LockStrength,
}

/// Strengths by the number that they have in bytes.
const STRENGTHS: [LockStrength; 4] =
    [LockStrength::KeyShare, LockStrength::Share, LockStrength::NoKeyUpdate, LockStrength::Update];

impl Work {
    /// Writes what it did to the log under a name; from then on it reads nothing, and waits for its
    /// end. The name is reserved, and its record written but perhaps not durable.
    ///
    /// # Errors
    /// 42710, 53200 for the name; 40001 from validation; 53100, 58030. The work is as it was.
    pub(crate) fn prepare(&mut self, inner: &Inner, asked: &Preparing<'_>) -> Result<Option<Lsn>> {
        self.note_reads();
        let number = self.number.cell().get_or_assign(&inner.xids, || inner.next_number())?;
        let Preparing { gid, owner, micros, session } = asked;
        let (owner, txn) = ((*owner).to_owned(), self.txn.id());
        let facts = PreparedFacts { number, txn, owner, micros: *micros };
        let advisory = inner.advisory.of_transaction(*session)?;
        // Definitions that were taken back again.
        self.give_back(&inner.catalog_lock);
        let is_serializable = self.txn.isolation() == Isolation::Serializable;
        let reads = Arc::new(std::mem::take(&mut self.reads));
        let image = PreparedImage {
            facts: facts.clone(),
            read: is_serializable.then(|| reads.tables()),
            locks: self.table_locks(&self.shared_catalog(inner)),
            arrivals: self.arrivals.clone(),
            advisory,
            rows_locked: Vec::new(),
            redo: &[],
        };
        // Where there is no log nobody reads the bytes.
        let bytes = match &inner.durable {
            Some(_) => Some((Arc::clone(gid), encoded(image, self.txn.changes())?.into())),
            None => None,
        };
        let reader = is_serializable.then(|| reader_of(Arc::clone(&reads)));
        inner.prepared.reserve(inner, gid, facts, reader)?;
        let marks = Marks { prepared: bytes, ..Marks::default() };
        let written = self.write_prepared(inner, gid, &marks, &reads);
        match written {
            Ok(lsn) => {
                inner.advisory.hand_over(*session, advisory_owner(number));
                self.savepoints.clear();
                self.settings.clear();
                Ok(lsn)
            }
            Err(error) => {
                inner.prepared.forget(gid);
                Err(error)
            }
        }
    }

    fn write_prepared(
        &mut self,
        inner: &Inner,
        gid: &str,
        marks: &Marks,
        reads: &Reads,
    ) -> Result<Option<Lsn>> {
        let sequences = taken(&self.sequences);
        let redo = match &inner.durable {
            Some(durable) => {
                let sequences = sequences.as_slice();
                durable
                    .encode(None, Effects { marks: Some(marks), sequences, ..Effects::default() })?
            }
            None => None,
        };
        let isolation = self.txn.isolation();
        let mut writing = Writing { inner, gid, isolation, marks, reads, redo, lsn: None };
        self.txn.prepare(&mut writing)?;
        Ok(writing.lsn)
    }

    /// The locks of tables of `state` that it holds, by the number of the table.
    fn table_locks(&self, state: &State) -> Vec<(TableId, LockMode)> {
        let txn = self.txn.id();
        let held: Vec<_> = self.locks.held.iter().chain(&self.reading.held).collect();
        let mut locks = Vec::new();
        for entry in state.tables.values() {
            if held.iter().any(|lock| Arc::ptr_eq(lock, &entry.lock)) {
                let modes = entry.lock.held_by(txn).into_iter();
                locks.extend(modes.map(|mode| (entry.storage().id(), mode)));
            }
        }
        locks
    }

    /// True when it changed definitions.
    pub(crate) fn has_defined(&self) -> bool {
        self.catalog.is_some() || !self.index_changes.is_empty()
    }

    /// True when it used a temporary relation.
    pub(crate) fn has_used_temporary(&self) -> bool {
        let held: Vec<_> = self.locks.held.iter().chain(&self.reading.held).collect();
        let is_held = |entry: &Arc<TableEntry>| held.iter().any(|h| Arc::ptr_eq(h, &entry.lock));
        let is_temporary = |change: Change<'_>| change.table.id().is_temporary();
        let mut sequences = self.sequences.get().into_iter().flat_map(|used| used.lock().clone());
        self.temporary.tables.values().any(is_held)
            || self.txn.changes().is_some_and(|undo| undo.changes().any(is_temporary))
            || sequences.any(|sequence| sequence.persistence == Persistence::Temporary)
    }

    /// The prepared transaction `image` again, whose locks and rows it has: see [`Self::prepare`].
    pub(crate) fn prepared_again(mut self, inner: &Inner, image: &PreparedImage<'_>) -> Box<Self> {
        let number = image.facts.number;
        self.number.cell().set_again(&inner.xids, number);
        self.arrivals.clone_from(&image.arrivals);
        for &(key, mode) in &image.advisory {
            let owner = advisory_owner(number);
            inner.advisory.try_lock(owner, key, mode, AdvisorySpan::Transaction);
        }
        self.txn.let_go();
        Box::new(self)
    }
}

/// The predicates as a test of what others wrote.
fn reader_of(reads: Arc<Reads>) -> Reader {
    Box::new(move |undo| reads.validate(&mut std::iter::once(undo)))
}

/// A test of what others wrote, for one who read these tables.
pub(crate) fn reader_of_tables<'t>(tables: impl Iterator<Item = &'t Arc<Table>>) -> Reader {
    let mut reads = Reads::default();
    tables.for_each(|table| reads.add(table, &[]));
    reader_of(Arc::new(reads))
}

/// Steps of PREPARE TRANSACTION under the commit latch.
struct Writing<'a> {
    inner: &'a Inner,
    gid: &'a str,
    isolation: Isolation,
    marks: &'a Marks,
    reads: &'a Reads,
    redo: Option<Redo<'a>>,
    lsn: Option<Lsn>,
}

impl CommitWork for Writing<'_> {
    fn validate(&mut self, newer: &mut dyn Iterator<Item = &UndoBuffer>) -> Result<()> {
        self.reads.validate(newer)
    }

    fn publish(&mut self, ts: Timestamp, undo: &UndoBuffer) -> Result<()> {
        if self.isolation == Isolation::Serializable {
            let test = |other: &UndoBuffer| self.reads.validate(&mut std::iter::once(other));
            self.inner.prepared.validate_new(self.gid, undo, test)?;
        }
        if let (Some(durable), Some(redo)) = (&self.inner.durable, &mut self.redo) {
            self.lsn = Some(durable.append(ts, redo, None)?);
        }
        self.inner.note_marks(self.marks, ts);
        Ok(())
    }
}

impl PreparedWork for Work {
    fn changes(&self) -> Option<&UndoBuffer> {
        self.txn.changes()
    }

    fn commit(
        self: Box<Self>,
        inner: &Inner,
        gid: &Arc<str>,
        commits: Option<&Commits>,
    ) -> Result<(), Unfinished> {
        let committed = self.number.get();
        let marks = Marks { ended: Some(Arc::clone(gid)), committed, ..Marks::default() };
        let ended = ended(&self.wide);
        let effects = Effects { marks: Some(&marks), ended: &ended, ..Effects::default() };
        let durable = inner.durable.as_deref();
        let redo = match durable.map(|durable| durable.encode(self.txn.changes(), effects)) {
            Some(Ok(redo)) => redo,
            Some(Err(error)) => return Err(Unfinished { error, work: Some(self) }),
            None => None,
        };
        let Self { reading, txn, locks, reads, arrivals, number, .. } = *self;
        let isolation = txn.isolation();
        let reads = &reads;
        let (catalog, lsn) = (None, None);
        let mut ending = Ending { inner, catalog, ended, marks, redo, reads, isolation, lsn };
        drop(reading);
        let outcome = txn.commit(&mut ending);
        drop((locks, number));
        has_ended(inner, committed, &arrivals);
        let durability = commits.map_or(Durability::Wait, Durability::Noted);
        let outcome = outcome.and_then(|_| durability.of(inner, ending.lsn));
        outcome.map_err(|error| Unfinished { error, work: None })
    }

    fn rollback(self: Box<Self>, inner: &Inner, gid: &Arc<str>) -> Result<(), Unfinished> {
        let marks = Marks { ended: Some(Arc::clone(gid)), ..Marks::default() };
        if let Err(error) = inner.mark(&marks) {
            return Err(Unfinished { error, work: Some(self) });
        }
        let (number, arrivals) = (self.number.get(), self.arrivals.clone());
        Self::rollback(*self);
        has_ended(inner, number, &arrivals);
        inner.aborted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Gives up the advisory locks of a prepared transaction, and wakes clients of the bus.
fn has_ended(inner: &Inner, number: Option<u64>, arrivals: &[i64]) {
    if let Some(number) = number {
        inner.advisory.release(advisory_owner(number), AdvisorySpan::Transaction);
    }
    inner.arrivals.ring(arrivals);
}

/// The bytes of `image` with the changes of `undo`.
///
/// # Errors
/// XX000 for blocks that no user's transaction makes.
fn encoded(image: PreparedImage<'_>, undo: Option<&UndoBuffer>) -> Result<Vec<u8>> {
    let (mut redo, mut locked) = (Vec::new(), Vec::new());
    let (mut writer, mut row) = (RedoWriter::new(&mut redo), RowBuffer::new());
    for change in undo.into_iter().flat_map(UndoBuffer::changes) {
        let (table, tid) = (change.table.id(), change.tid);
        match change.kind {
            ChangeKind::Lock => {
                locked.push(LockedRow { table, tid, strength: change.lock_strength() });
            }
            ChangeKind::Block => {
                for number in 0..change.block_rows() as u32 {
                    change.read_block_row(number, &mut row);
                    writer.insert(table, Tid::new(tid.block(), number), row.iter());
                }
            }
            ChangeKind::Target | ChangeKind::Source => {
                return Err(Error::internal("rows that move are of no user's transaction"));
            }
            _ => writer.change(&change, &mut row),
        }
    }
    let mut out = vec![VERSION];
    let PreparedImage { facts, read, locks, arrivals, advisory, .. } = image;
    put_bytes(&mut out, facts.owner.as_bytes());
    put_i64(&mut out, facts.micros);
    put_u64(&mut out, facts.number);
    out.push(u8::from(read.is_some()));
    put_each(&mut out, read.unwrap_or_default(), |out, table: TableId| put_u64(out, table.0));
    put_each(&mut out, locks, |out, (table, mode)| {
        put_u64(out, table.0);
        out.push(mode as u8);
    });
    put_each(&mut out, arrivals, put_i64);
    put_each(&mut out, advisory, |out, (key, mode)| {
        let (count, first, second) = match key {
            Key::One(key) => (1, key, 0),
            Key::Two(first, second) => (2, i64::from(first), i64::from(second)),
        };
        out.push(count);
        put_i64(out, first);
        put_i64(out, second);
        out.push(u8::from(mode == AdvisoryMode::Shared));
    });
    put_each(&mut out, locked, |out, LockedRow { table, tid, strength }| {
        put_u64(out, table.0);
        put_u64(out, tid.0);
        out.push(strength as u8);
    });
    out.extend_from_slice(&redo);
    Ok(out)
}

/// Appends how many there are, and each.
fn put_each<T>(out: &mut Vec<u8>, all: Vec<T>, put: impl Fn(&mut Vec<u8>, T)) {
    put_u64(out, all.len() as u64);
    all.into_iter().for_each(|one| put(out, one));
}

/// The prepared transaction that `bytes` say.
///
/// # Errors
/// XX001 for what is none.
pub(crate) fn decoded(bytes: &[u8]) -> Result<PreparedImage<'_>> {
    decode(&mut Input::new(bytes)).map_err(|malformed| malformed.in_bytes_of(PREPARED))
}

fn decode<'b>(input: &mut Input<'b>) -> Result<PreparedImage<'b>, Malformed> {
    let version = input.u8()?;
    if version != VERSION && version != VERSION_OF_ONE_STRENGTH {
        return Err(input.malformed("version 1 or 2 before"));
    }
    let (owner, micros, number) = (input.text()?.to_owned(), input.i64()?, input.u64()?);
    let is_serializable = input.u8()? != 0;
    let read = take_each(input, |input| Ok(TableId(input.u64()?)))?;
    let locks = take_each(input, |input| {
        let (table, mode) = (TableId(input.u64()?), usize::from(input.u8()?));
        let mode = MODES.get(mode).ok_or_else(|| input.malformed("a mode of locks before"))?;
        Ok((table, *mode))
    })?;
    let arrivals = take_each(input, Input::i64)?;
    let advisory = take_each(input, |input| {
        let (count, first, second) = (input.u8()?, input.i64()?, input.i64()?);
        let key = match count {
            1 => Key::One(first),
            // Written as numbers of 32 bits.
            _ => Key::Two(first as i32, second as i32),
        };
        let is_shared = input.u8()? != 0;
        Ok((key, if is_shared { AdvisoryMode::Shared } else { AdvisoryMode::Exclusive }))
    })?;
    let rows_locked = take_each(input, |input| {
        let (table, tid) = (TableId(input.u64()?), Tid(input.u64()?));
        let strength = match version {
            VERSION_OF_ONE_STRENGTH => Some(&LockStrength::Update),
            _ => STRENGTHS.get(usize::from(input.u8()?)),
        };
        let strength = strength.ok_or_else(|| input.malformed("a strength of locks before"))?;
        Ok(LockedRow { table, tid, strength: *strength })
    })?;
    // The caller knows under which number it runs again.
    let facts = PreparedFacts { number, txn: TxnId::NONE, owner, micros };
    let read = is_serializable.then_some(read);
    let redo = input.rest();
    Ok(PreparedImage { facts, read, locks, arrivals, advisory, rows_locked, redo })
}

fn take_each<'b, T>(
    input: &mut Input<'b>,
    take: impl Fn(&mut Input<'b>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = input.count(1)?;
    (0..count).map(|_| take(input)).collect()
}
