//! Rows of a scan on their way to a client: pushed as they come, within the room that it granted.
//!
//! ```text
//! scan thread -> rows -> credit left, nothing queued -> part
//!                     -> queue, up to its bound      -> part when a grant comes
//!                     -> wait, then the query ends   Overloaded: the others go on
//! ```
//! Source: Pilman 2017, section 4.6.1 and figure 4.11. Departure: grants of bytes in the place of
//! blocks of the client's memory.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use store::codec;
use store::{Flow, Result, Rows, ScanEnd, Sink, StoreError};

use crate::exchange::Outbox;
use crate::frame::{Entry, EntryKind};
use crate::message::answer;
use crate::placement::Admitted;

/// Limits of what waits for slow clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanLimits {
    /// Bytes of one query that wait for a grant.
    pub queue_bytes: usize,
    /// Time that a scan waits for a client whose queue is full.
    pub stall: Duration,
}

#[derive(Debug, Default)]
struct State {
    credit: i64,
    queue: VecDeque<Vec<u8>>,
    queued_bytes: usize,
    /// The answer, behind what is queued.
    end: Option<Vec<u8>>,
    is_cancelled: bool,
    is_stalled: bool,
}

/// Rows of one query on their way.
pub(crate) struct ScanStream {
    number: u64,
    outbox: Arc<dyn Outbox>,
    limits: ScanLimits,
    state: Mutex<State>,
    moved: Condvar,
    /// Until the scan is over.
    admitted: Mutex<Option<Admitted>>,
}

impl ScanStream {
    pub(crate) fn new(
        number: u64,
        grant: u64,
        outbox: Arc<dyn Outbox>,
        limits: ScanLimits,
    ) -> Self {
        let state = State { credit: credit_of(grant), ..State::default() };
        let (state, moved, admitted) = (Mutex::new(state), Condvar::new(), Mutex::default());
        Self { number, outbox, limits, state, moved, admitted }
    }

    /// The stream with the right to read what it reads until it is over.
    pub(crate) fn admitted(self, admitted: Admitted) -> Self {
        *self.admitted.lock() = Some(admitted);
        self
    }

    /// Gives room for `bytes` more.
    pub(crate) fn grant(&self, bytes: u64) {
        let mut state = self.state.lock();
        state.credit = state.credit.saturating_add(credit_of(bytes));
        while state.credit > 0 {
            let Some(part) = state.queue.pop_front() else { break };
            state.queued_bytes -= part.len();
            self.part(&mut state, &part);
        }
        self.end_if_done(&mut state);
        self.moved.notify_all();
    }

    /// Gives nothing more but the end.
    pub(crate) fn cancel(&self) {
        let mut state = self.state.lock();
        state.is_cancelled = true;
        state.queue.clear();
        state.queued_bytes = 0;
        self.end_if_done(&mut state);
        self.moved.notify_all();
    }

    /// True when the client has the answer.
    pub(crate) fn is_done(&self) -> bool {
        let state = self.state.lock();
        state.end.as_ref().is_some_and(Vec::is_empty)
    }

    fn part(&self, state: &mut State, payload: &[u8]) {
        state.credit -= payload.len() as i64;
        let (number, kind) = (self.number, EntryKind::Part);
        self.outbox.put(&Entry { number, kind, payload });
    }

    /// Sends the answer when all parts are sent; what is empty afterwards was sent.
    fn end_if_done(&self, state: &mut State) {
        if let Some(end) = state.end.as_mut().filter(|end| !end.is_empty())
            && state.queue.is_empty()
        {
            let payload = std::mem::take(end);
            let (number, kind) = (self.number, EntryKind::Reply);
            self.outbox.put(&Entry { number, kind, payload: &payload });
        }
    }
}

fn credit_of(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Sink for ScanStream {
    fn rows(&self, rows: &Rows) -> Flow {
        let mut part = Vec::new();
        codec::put_rows(&mut part, rows);
        let mut state = self.state.lock();
        let deadline = Instant::now() + self.limits.stall;
        loop {
            if state.is_cancelled || state.is_stalled {
                return Flow::Stop;
            }
            if state.credit > 0 && state.queue.is_empty() {
                self.part(&mut state, &part);
                return Flow::Continue;
            }
            if state.queued_bytes < self.limits.queue_bytes {
                state.queued_bytes += part.len();
                state.queue.push_back(part);
                return Flow::Continue;
            }
            if self.moved.wait_until(&mut state, deadline).timed_out() {
                state.is_stalled = true;
            }
        }
    }

    fn flow(&self) -> Flow {
        let state = self.state.lock();
        if state.is_cancelled || state.is_stalled { Flow::Stop } else { Flow::Continue }
    }

    fn ended(&self, end: &Result<ScanEnd>) {
        drop(self.admitted.lock().take());
        let mut state = self.state.lock();
        let end = if state.is_stalled { Err(StoreError::Overloaded) } else { end.clone() };
        if state.is_stalled {
            state.queue.clear();
        }
        state.end = Some(answer(end, codec::put_scan_end));
        self.end_if_done(&mut state);
    }
}
