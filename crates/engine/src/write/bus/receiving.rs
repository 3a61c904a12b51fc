//! bus_receive: the first messages of a queue that nobody else has.
//!
//! ```text
//! queue in its order -> expired: deleted | hidden (lease, delay): passed over | held by another
//! transaction: passed over | received too often: to the dead letters | taken
//! ```
//! A message that is taken is locked until the transaction ends, unless it is leased or deleted:
//! so others who receive as the same client take other messages, and all is as before when the
//! transaction is taken back.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::rows::push;
use kernels::{Batch, Column, VectorBuilder};
use sql::algebra::BusFunction;
use storage::{
    Datum, Direction, KeyBuffer, KeyRange, KeyRead, LockStrength, RangeState, RowBuffer, Snapshot,
    Tid, WriteError,
};
use types::budget::Charge;
use types::{Error, Interval, Result, SqlState};

use super::Sees;
use super::arguments::Arguments;
use super::removing::{ALL, archive};
use super::sending::{Copies, Message, later, push_to_any};
use super::table::{QUEUE, Tables, cancel_check, index, look, message};
use crate::statement::running::Running;
use crate::write::rows::attempt;

/// How long one waits between looks whether the statement is to end.
const LOOK: Duration = Duration::from_millis(10);

/// Rows of the queue that are looked at together.
const PORTION: usize = 64;

/// State of a message after it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receipt {
    /// Waits in the queue, hidden from others until the transaction ends.
    Kept,
    /// Waits in the queue, hidden until this time (microseconds since 1970), and was received so
    /// often.
    Leased {
        until: i64,
        receipts: i32,
    },
    Deleted,
    Archived,
}

/// Options of a call.
struct Wanted {
    client: i64,
    count: usize,
    /// Messages behind this rank are not wanted.
    rank_max: i32,
    lease: Option<Interval>,
    fate: Receipt,
    /// When to give up; None to look once.
    deadline: Option<Instant>,
}

/// A message in the queue, without its body.
struct Candidate {
    tid: Tid,
    kind: i32,
    visible: i64,
    receipts: i32,
}

/// Outcome of one look at the queue.
#[derive(Default)]
struct Looked {
    /// Messages taken, all columns.
    taken: Vec<RowBuffer>,
    /// When the first hidden message will be seen.
    next: Option<i64>,
    /// Others hold messages, and may give them back.
    is_held: bool,
    /// Messages changed since the look began.
    is_stale: bool,
    /// Memory of what was taken.
    charge: Charge,
}

/// bus_receive(client, max, min_priority, delete, lease, timeout).
///
/// # Errors
/// 42704, 42501; 22023 for a number of messages below 1 or another fate; 22008; 57014; 53200.
pub(super) fn receive(
    running: &mut Running<'_>,
    tables: &Tables,
    arguments: Arguments<'_>,
    sees: Sees,
) -> Result<Batch> {
    let wanted = wanted(running, tables, arguments)?;
    let database = running.session.database().clone();
    let info = Arc::clone(running.session.info());
    let mut listening = database.inner().arrivals.listen(&info, wanted.client);
    loop {
        let looked = look_once(running, tables, &wanted)?;
        let is_over = wanted.deadline.is_none_or(|deadline| Instant::now() >= deadline);
        // Others wait for what is given back when this transaction ends.
        if !looked.taken.is_empty() {
            running.session.work_mut().arrivals.push(wanted.client);
        }
        if !looked.taken.is_empty() || (is_over && !looked.is_stale) {
            sees.refresh(running);
            return Ok(batch_of(&looked.taken));
        }
        let mut again = looked.is_stale;
        while !again {
            let now = Instant::now();
            again |= listening.wait_until(now + LOOK);
            cancel_check(running)?;
            sees.refresh(running);
            let micros = database.inner().clock.micros();
            again |= looked.is_held || looked.next.is_some_and(|next| next <= micros);
            again |= wanted.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        }
    }
}

fn wanted(running: &Running<'_>, tables: &Tables, arguments: Arguments<'_>) -> Result<Wanted> {
    let party = arguments.party(0)?;
    let client = tables.own(running.session, &party)?;
    let invalid = |message: &str| Err(Error::new(SqlState::INVALID_PARAMETER, message));
    let count = match arguments.number(1) {
        None => 1,
        Some(count) if count >= 1 => usize::try_from(count).unwrap_or(usize::MAX),
        Some(_) => return invalid("max must be at least 1"),
    };
    let lease = arguments.interval(4);
    let fate = match arguments.get(3) {
        Datum::Null | Datum::Bool(false) => Receipt::Kept,
        Datum::Bool(true) => Receipt::Deleted,
        Datum::Str(b"archive") => Receipt::Archived,
        _ => return invalid("delete must be true, false or 'archive'"),
    };
    if lease.is_some() && fate != Receipt::Kept {
        return invalid("a message that is deleted has no lease");
    }
    let timeout = arguments.interval(5).map(Interval::comparable);
    let limit = timeout.map(|micros| u64::try_from(micros.max(0)).unwrap_or(u64::MAX));
    // What is no moment of this clock is later than anybody waits for.
    let far = Duration::from_secs(100 * 365 * 86_400);
    let deadline = limit.map(|micros| Instant::now() + Duration::from_micros(micros).min(far));
    Ok(Wanted {
        client,
        count,
        rank_max: arguments.integer(2).map_or(i32::MAX, |priority| !priority),
        lease,
        fate,
        deadline,
    })
}

/// One look at the queue.
struct Look<'a> {
    tables: &'a Tables,
    wanted: &'a Wanted,
    at: Snapshot,
    /// Microseconds since 1970.
    now: i64,
    /// Limits of receipts by type, and what becomes of a message then, as far as they were asked
    /// for.
    limits: HashMap<i32, Option<(i32, Option<i32>)>>,
    found: Looked,
}

/// Messages in their order, some at a time.
#[derive(Default)]
struct Portion {
    candidates: Vec<Candidate>,
    expired: Vec<Tid>,
}

/// Takes the messages that can be had now.
fn look_once(running: &mut Running<'_>, tables: &Tables, wanted: &Wanted) -> Result<Looked> {
    let storage = tables.message.storage();
    let queue = Arc::clone(&storage.indexes()[index(&tables.message, QUEUE)?]);
    let (mut key, mut successor) = (KeyBuffer::new(), KeyBuffer::new());
    queue.encode(&[Datum::I64(wanted.client)], &mut key);
    let mut state = RangeState::new();
    queue.start(KeyRange::prefix(&key, &mut successor), Direction::Forward, &mut state);
    let at = look(running.session.work());
    let now = running.session.inner().clock.micros();
    let (limits, found) = (HashMap::new(), Looked::default());
    let mut one = Look { tables, wanted, at, now, limits, found };
    let columns =
        [message::RANK, message::DEADLINE, message::TYPE, message::VISIBLE, message::RECEIPTS];
    let read = KeyRead { index: &queue, at, columns: &columns };
    let (mut row, mut is_last) = (RowBuffer::new(), false);
    while !is_last {
        cancel_check(running)?;
        let mut portion = Portion::default();
        let more = storage.read_range(read, &mut state, &mut row, |tid, row| {
            let (rank, deadline) = (integer(row.get(0)), big(row.get(1)));
            if rank > wanted.rank_max {
                is_last = true;
                return ControlFlow::Break(());
            }
            if deadline <= now {
                portion.expired.push(tid);
            } else {
                let (visible, receipts) = (big(row.get(3)), integer(row.get(4)));
                let kind = integer(row.get(2));
                portion.candidates.push(Candidate { tid, kind, visible, receipts });
            }
            if portion.candidates.len() + portion.expired.len() < PORTION {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        is_last |= more?.is_continue();
        if one.take_all(running, portion)? {
            break;
        }
    }
    Ok(one.found)
}

impl Look<'_> {
    /// Takes messages in their order; true when there are as many as are wanted.
    fn take_all(&mut self, running: &mut Running<'_>, portion: Portion) -> Result<bool> {
        for tid in portion.expired {
            // Who holds it or has changed it deletes it, or leaves it to the next look.
            match self.write(running, tid, Receipt::Deleted) {
                Err(error) if error.state() != SqlState::SERIALIZATION_FAILURE => {
                    return Err(error);
                }
                _ => {}
            }
        }
        for candidate in portion.candidates {
            self.take(running, &candidate)?;
            if self.found.taken.len() == self.wanted.count {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes one message, if it can be had.
    fn take(&mut self, running: &mut Running<'_>, candidate: &Candidate) -> Result<()> {
        let Candidate { tid, kind, visible, receipts } = *candidate;
        if visible > self.now {
            let next = self.found.next.map_or(visible, |next| next.min(visible));
            self.found.next = Some(next);
            return Ok(());
        }
        let limit = match self.limits.get(&kind) {
            Some(limit) => *limit,
            None => {
                let limit = self.tables.limit(running, self.wanted.client, kind)?;
                *self.limits.entry(kind).or_insert(limit)
            }
        };
        let is_dead = limit.is_some_and(|(max, _)| receipts >= max);
        let mut copy = RowBuffer::new();
        if !self.tables.message.storage().read(self.at, tid, &ALL, &mut copy)? {
            self.found.is_stale = true;
            return Ok(());
        }
        let receipts = receipts.saturating_add(1);
        let receipt = match self.wanted.lease {
            _ if is_dead => Receipt::Deleted,
            Some(_) => {
                let until = later(self.now, self.wanted.lease, self.now)?;
                Receipt::Leased { until, receipts }
            }
            None => self.wanted.fate,
        };
        match self.write(running, tid, receipt) {
            Ok(Some(())) => {}
            Ok(None) => {
                self.found.is_held = true;
                return Ok(());
            }
            Err(error) if error.state() == SqlState::SERIALIZATION_FAILURE => {
                self.found.is_stale = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        if is_dead {
            return self.bury(running, limit.and_then(|(_, dead)| dead), &copy);
        }
        if receipt == Receipt::Archived {
            archive(running, self.tables, "received", &copy)?;
        }
        let body = match copy.get(message::BODY) {
            Datum::Str(bytes) => bytes.len() as u64,
            _ => 0,
        };
        self.found.charge.grow(2 * body + 128)?;
        if let Receipt::Leased { receipts, .. } = receipt {
            copy.set(message::RECEIPTS, Datum::I32(receipts));
        }
        self.found.taken.push(copy);
        Ok(())
    }

    /// Does to the row what its receipt asks for; None when another transaction has it.
    ///
    /// # Errors
    /// 40001 when it has changed after the look began; 53200.
    fn write(&self, running: &mut Running<'_>, tid: Tid, receipt: Receipt) -> Result<Option<()>> {
        let (storage, at) = (self.tables.message.storage(), self.at);
        let write = |undo: &mut storage::UndoBuffer| match receipt {
            Receipt::Kept => storage.lock(undo, at, tid, LockStrength::Update),
            Receipt::Leased { until, receipts } => {
                let changes = [
                    (message::VISIBLE, Datum::I64(until)),
                    (message::RECEIPTS, Datum::I32(receipts)),
                ];
                storage.update(undo, at, tid, &changes).map(drop)
            }
            Receipt::Deleted | Receipt::Archived => storage.delete(undo, at, tid),
        };
        let (work, cancel) = running.session.work_and_cancel();
        match write(work.txn.undo()) {
            Ok(()) => return Ok(Some(())),
            Err(WriteError::Wait(other)) if !work.txn.manager().is_ending(other) => {
                return Ok(None);
            }
            Err(_) => {}
        }
        match attempt(work, cancel, write) {
            Ok(()) => Ok(Some(())),
            Err(error) => Err(error.into_error(running.session.work(), &self.tables.message)),
        }
    }

    /// Moves a copy that was received too often, and is deleted, to the dead letters; without
    /// somebody who receives those, to the archive.
    fn bury(&self, running: &mut Running<'_>, kind: Option<i32>, copy: &RowBuffer) -> Result<()> {
        let body = match copy.get(message::BODY) {
            Datum::Str(bytes) => bytes,
            _ => &[],
        };
        if let Some(kind) = kind {
            let letter = Message {
                id: running.session.own_value("bus.message_ids")?,
                kind,
                sender: big(copy.get(message::SENDER)),
                sent: big(copy.get(message::SENT)),
                rank: integer(copy.get(message::RANK)),
                deadline: i64::MAX,
                visible: self.now,
                receipts: 0,
                is_cancellable: false,
                is_text: copy.get(message::IS_TEXT) == Datum::Bool(true),
                body,
            };
            if push_to_any(running, self.tables, &letter, Copies::One)? {
                return Ok(());
            }
        }
        archive(running, self.tables, "received too often", copy)
    }
}

fn integer(datum: Datum<'_>) -> i32 {
    match datum {
        Datum::I32(value) => value,
        _ => 0,
    }
}

fn big(datum: Datum<'_>) -> i64 {
    match datum {
        Datum::I64(value) => value,
        _ => 0,
    }
}

/// The rows that the call gives.
fn batch_of(taken: &[RowBuffer]) -> Batch {
    let never = |deadline: Datum<'_>| deadline == Datum::I64(i64::MAX);
    let mut columns = Vec::new();
    for (ordinal, (_, ty)) in BusFunction::rows().into_iter().enumerate() {
        let mut builder = VectorBuilder::with_capacity(ty.physical(), taken.len());
        for row in taken {
            let is_text = row.get(message::IS_TEXT) == Datum::Bool(true);
            let datum = match ordinal {
                0 => row.get(message::ID),
                1 => row.get(message::TYPE),
                2 => row.get(message::SENDER),
                3 => row.get(message::SENT),
                4 => Datum::I32(!integer(row.get(message::RANK))),
                5 if never(row.get(message::DEADLINE)) => Datum::Null,
                5 => row.get(message::DEADLINE),
                6 => row.get(message::CANCELLABLE),
                7 => row.get(message::RECEIPTS),
                9 if !is_text => Datum::Null,
                _ => row.get(message::BODY),
            };
            push(&mut builder, datum);
        }
        columns.push(Column::plain(builder.finish()));
    }
    Batch::new(columns, taken.len())
}
