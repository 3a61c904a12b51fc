//! Calls that were done, so that one that comes again is not done again.
//!
//! ```text
//! caller -> answered_below | number -> running, or its outcome
//! a call comes: below the line: forgotten    known: its outcome    else: it runs, and is kept
//! ```
//! Invariant: an outcome is kept until its caller says that it has it, or has been silent for
//! [`SILENCE_MICROS`]; so clients must not repeat a call for longer than that.
//! Elsewhere: numbers of calls (`exchange`); runs of the server, which a table in memory cannot
//! outlive (`service`).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use bus::{Attached, BusError, Interrupt, Ring};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::call::{Failure, Reply, Retry};
use crate::limits::Limits;

/// Time after which the calls of a silent caller are forgotten, in microseconds: 10 minutes.
const SILENCE_MICROS: i64 = 600_000_000;

/// Most calls of one caller that are kept: it has so many under way.
const CALLS_MAX: usize = 4096;

type Outcome = bus::Result<Reply>;

enum Entry {
    Running,
    Done(Outcome),
}

struct Caller {
    answered_below: u64,
    calls: BTreeMap<u64, Entry>,
    /// When it called last.
    called: i64,
}

#[derive(Default)]
struct Table {
    callers: HashMap<u64, Caller>,
    kept_bytes: usize,
}

/// The calls of one run of a server.
#[derive(Default)]
pub(crate) struct Requests {
    table: Mutex<Table>,
    finished: Condvar,
}

impl Ring for Requests {
    fn ring(&self) {
        let _table = self.table.lock();
        self.finished.notify_all();
    }
}

impl Table {
    /// Forgets callers that were silent for long.
    fn sweep(&mut self, now: i64) {
        let kept_bytes = &mut self.kept_bytes;
        self.callers.retain(|_, caller| {
            let is_running = caller.calls.values().any(|entry| matches!(entry, Entry::Running));
            let stays = is_running || now.saturating_sub(caller.called) < SILENCE_MICROS;
            if !stays {
                *kept_bytes -= caller.calls.values().map(Entry::bytes).sum::<usize>();
            }
            stays
        });
    }

    /// The caller of `retry`, without what it has the answers of.
    fn caller(&mut self, retry: &Retry, limits: &Limits, now: i64) -> Result<(), Failure> {
        let is_full = !self.callers.contains_key(&retry.caller)
            && self.callers.len() >= limits.callers
            || self.kept_bytes > limits.kept_bytes;
        if is_full {
            self.sweep(now);
        }
        if !self.callers.contains_key(&retry.caller) && self.callers.len() >= limits.callers {
            return Err(Failure::Busy("too many programs call"));
        }
        let new = || Caller { answered_below: 0, calls: BTreeMap::new(), called: now };
        let caller = self.callers.entry(retry.caller).or_insert_with(new);
        caller.called = now;
        if retry.answered_below > caller.answered_below {
            caller.answered_below = retry.answered_below;
            let kept = caller.calls.split_off(&retry.answered_below);
            let answered = std::mem::replace(&mut caller.calls, kept);
            self.kept_bytes -= answered.values().map(Entry::bytes).sum::<usize>();
        }
        Ok(())
    }

    fn entry(&self, retry: &Retry) -> Option<&Entry> {
        self.callers.get(&retry.caller)?.calls.get(&retry.number)
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        match self {
            Self::Running => 0,
            Self::Done(outcome) => outcome.as_ref().map_or(64, Reply::bytes),
        }
    }
}

impl Requests {
    /// Does the call of `retry` once: `perform` runs unless it did before.
    ///
    /// # Errors
    /// [`Failure::Forgotten`], [`Failure::Busy`]; errors of `perform`, now or then.
    pub(crate) fn once(
        self: &Arc<Self>,
        retry: &Retry,
        at: Moment<'_>,
        interrupt: Option<&Interrupt>,
        perform: impl FnOnce() -> Outcome,
    ) -> Result<Reply, Failure> {
        let listener: Weak<dyn Ring> = Arc::<Self>::downgrade(self);
        let _attached = interrupt.map(|interrupt| Attached::new(interrupt, listener));
        let mut table = self.table.lock();
        loop {
            table.caller(retry, at.limits, at.now)?;
            match table.entry(retry) {
                None => break,
                Some(Entry::Done(outcome)) => return Ok(outcome.clone()?),
                Some(Entry::Running) => {}
            }
            if interrupt.is_some_and(Interrupt::is_triggered) {
                return Err(BusError::Interrupted.into());
            }
            self.finished.wait(&mut table);
        }
        let run = self.begin(table, retry, at.limits)?;
        let outcome = perform();
        run.end(outcome.clone());
        Ok(outcome?)
    }

    fn begin<'a>(
        &'a self,
        mut table: MutexGuard<'_, Table>,
        retry: &'a Retry,
        limits: &Limits,
    ) -> Result<Run<'a>, Failure> {
        let is_full = table.kept_bytes > limits.kept_bytes;
        let Some(caller) = table.callers.get_mut(&retry.caller) else {
            return Err(Failure::Forgotten);
        };
        if retry.number < caller.answered_below {
            return Err(Failure::Forgotten);
        }
        if is_full || caller.calls.len() >= CALLS_MAX {
            return Err(Failure::Busy("too many replies wait for their callers"));
        }
        caller.calls.insert(retry.number, Entry::Running);
        Ok(Run { requests: self, retry, outcome: None })
    }
}

/// The moment and the limits that a call meets.
#[derive(Clone, Copy)]
pub(crate) struct Moment<'a> {
    /// Microseconds since 1970-01-01 00:00 UTC.
    pub(crate) now: i64,
    pub(crate) limits: &'a Limits,
}

/// A call that runs; forgotten when it ends without an outcome.
struct Run<'a> {
    requests: &'a Requests,
    retry: &'a Retry,
    outcome: Option<Outcome>,
}

impl Run<'_> {
    /// Keeps the outcome, unless nothing happened because nobody waits for it any more: then a
    /// repetition begins anew.
    fn end(mut self, outcome: Outcome) {
        self.outcome = Some(outcome).filter(|outcome| *outcome != Err(BusError::Interrupted));
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let table = &mut *self.requests.table.lock();
        if let Some(caller) = table.callers.get_mut(&self.retry.caller) {
            caller.calls.remove(&self.retry.number);
            if let Some(outcome) = self.outcome.take()
                && self.retry.number >= caller.answered_below
            {
                let entry = Entry::Done(outcome);
                table.kept_bytes += entry.bytes();
                caller.calls.insert(self.retry.number, entry);
            }
        }
        self.requests.finished.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread;

    use bus::ClientId;

    use super::*;

    fn retry(caller: u64, number: u64, answered_below: u64) -> Retry {
        Retry { caller, number, answered_below, run: 1 }
    }

    fn once(requests: &Arc<Requests>, retry: Retry, times: &Cell<u64>) -> Result<Reply, Failure> {
        at(requests, retry, times, 0)
    }

    fn at(
        requests: &Arc<Requests>,
        retry: Retry,
        times: &Cell<u64>,
        now: i64,
    ) -> Result<Reply, Failure> {
        let limits = Limits { callers: 2, kept_bytes: 1000, ..Limits::default() };
        requests.once(&retry, Moment { now, limits: &limits }, None, || {
            times.set(times.get() + 1);
            Ok(Reply::Client(ClientId(times.get())))
        })
    }

    #[test]
    fn a_call_is_done_once_until_it_is_answered() {
        let (requests, times) = (Arc::new(Requests::default()), Cell::new(0));
        let first = once(&requests, retry(1, 1, 1), &times);
        assert_eq!(first, Ok(Reply::Client(ClientId(1))));
        assert_eq!(once(&requests, retry(1, 1, 1), &times), first);
        assert_eq!(once(&requests, retry(2, 1, 1), &times), Ok(Reply::Client(ClientId(2))));
        assert_eq!(once(&requests, retry(1, 2, 2), &times), Ok(Reply::Client(ClientId(3))));
        assert_eq!(once(&requests, retry(1, 1, 1), &times), Err(Failure::Forgotten));
        assert_eq!(times.get(), 3);
    }

    #[test]
    fn callers_and_replies_are_limited_and_silent_ones_forgotten() {
        let (requests, times) = (Arc::new(Requests::default()), Cell::new(0));
        for caller in [1, 2] {
            once(&requests, retry(caller, 1, 1), &times).expect("there is room");
        }
        let refused = once(&requests, retry(3, 1, 1), &times);
        assert_eq!(refused, Err(Failure::Busy("too many programs call")));
        at(&requests, retry(2, 2, 1), &times, SILENCE_MICROS - 1).expect("is known");
        at(&requests, retry(3, 1, 1), &times, SILENCE_MICROS).expect("1 is forgotten");
        let numbers = 2..100;
        let full = numbers.map(|n| at(&requests, retry(3, n, 1), &times, SILENCE_MICROS));
        let refused = full.filter_map(Result::err).next();
        assert_eq!(refused, Some(Failure::Busy("too many replies wait for their callers")));
        at(&requests, retry(3, 200, 200), &times, SILENCE_MICROS).expect("there is room again");
    }

    #[test]
    fn a_repetition_waits_for_the_call_that_runs() {
        let requests = Arc::new(Requests::default());
        let limits = Limits::default();
        let moment = Moment { now: 0, limits: &limits };
        let call = retry(1, 1, 1);
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                requests.once(&call, moment, None, move || {
                    begun.send(()).expect("is awaited");
                    ends.recv().expect("is ended");
                    Ok(Reply::Count(7))
                })
            });
            begins.recv().expect("begins");
            let second = scope.spawn(|| requests.once(&call, moment, None, || Ok(Reply::Done)));
            // One that nobody waits for any more ends alone.
            let interrupt = Interrupt::default();
            interrupt.trigger();
            let third = requests.once(&call, moment, Some(&interrupt), || Ok(Reply::Done));
            assert_eq!(third, Err(BusError::Interrupted.into()));
            end.send(()).expect("waits");
            assert_eq!(first.join().expect("ends"), Ok(Reply::Count(7)));
            assert_eq!(second.join().expect("ends"), Ok(Reply::Count(7)));
        });
    }

    #[test]
    fn what_was_interrupted_may_begin_anew() {
        let requests = Arc::new(Requests::default());
        let limits = Limits::default();
        let moment = Moment { now: 0, limits: &limits };
        let gone = requests.once(&retry(1, 1, 1), moment, None, || Err(BusError::Interrupted));
        assert_eq!(gone, Err(BusError::Interrupted.into()));
        let again = requests.once(&retry(1, 1, 1), moment, None, || Ok(Reply::Done));
        assert_eq!(again, Ok(Reply::Done));
    }
}
