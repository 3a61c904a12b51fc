//! One call of a client, until it has its outcome: what is sent, what is repeated, what is not
//! known. Knows no network, so that a simulation can be one.
//!
//! ```text
//! Exchange -- retry (number, run) --> a server -- heard --> done | again
//! ```
//! Invariant: a call that was sent is sent to no other run of the server: it might happen twice,
//! also where another run refuses it, as a network may have doubled it. Its outcome is then
//! [`BusError::Network`].

use std::collections::BTreeSet;
use std::sync::Arc;

use bus::BusError;
use parking_lot::Mutex;
use types::{Error, SqlState};

use crate::call::{Call, Failure, Reply, Retry};

/// Numbers of the calls of one program.
#[derive(Debug)]
pub struct Numbers {
    caller: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    under_way: BTreeSet<u64>,
}

impl Numbers {
    /// Numbers of a program that drew `caller` by chance.
    pub fn new(caller: u64) -> Arc<Self> {
        Arc::new(Self { caller, state: Mutex::default() })
    }

    fn next(self: &Arc<Self>) -> Ticket {
        let mut state = self.state.lock();
        state.last += 1;
        let number = state.last;
        state.under_way.insert(number);
        Ticket { numbers: Arc::clone(self), number }
    }
}

/// A number that is in use until it is dropped.
#[derive(Debug)]
struct Ticket {
    numbers: Arc<Numbers>,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.numbers.state.lock().under_way.remove(&self.number);
    }
}

/// A step of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The outcome.
    Done(bus::Result<Reply>),
    /// Send it again, after a pause.
    Again,
}

/// A call under way.
#[derive(Debug)]
pub struct Exchange {
    ticket: Option<Ticket>,
    /// The run that it was sent to.
    run: Option<u64>,
    /// True when that run may have done it.
    in_doubt: bool,
}

impl Exchange {
    /// A call that was not sent yet.
    pub fn new(call: &Call, numbers: &Arc<Numbers>) -> Self {
        let ticket = call.needs_retry().then(|| numbers.next());
        Self { ticket, run: None, in_doubt: false }
    }

    /// True when the run of the server must be known to send it.
    pub fn needs_run(&self) -> bool {
        self.ticket.is_some() && self.run.is_none()
    }

    /// Name of the call, for a server of this run, or of the one that it was sent to before.
    pub fn retry(&mut self, run: u64) -> Option<Retry> {
        let Ticket { numbers, number } = self.ticket.as_ref()?;
        let first = numbers.state.lock().under_way.first().copied();
        let answered_below = first.unwrap_or(*number);
        let run = *self.run.get_or_insert(run);
        Some(Retry { caller: numbers.caller, number: *number, answered_below, run })
    }

    /// Takes what was heard of the call: a reply, a refusal, or that nothing came.
    pub fn heard(&mut self, heard: Result<Reply, Failure>) -> Next {
        let failure = match heard {
            Ok(reply) => return Next::Done(Ok(reply)),
            Err(failure) => failure,
        };
        let message = failure.to_string();
        let refused = |state| Next::Done(Err(Error::new(state, message.clone()).into()));
        match failure {
            Failure::Bus(error) => Next::Done(Err(error)),
            Failure::OtherRun | Failure::Forgotten => {
                let message = format!("{message}: whether it happened is not known");
                Next::Done(Err(BusError::Network(message)))
            }
            Failure::Busy(_) => Next::Again,
            Failure::Lost(_) => {
                self.in_doubt = true;
                Next::Again
            }
            Failure::Unreached(_) => {
                // Never taken: any run will do.
                if !self.in_doubt {
                    self.run = None;
                }
                Next::Again
            }
            Failure::TooLarge(_) => refused(SqlState::LIMIT_EXCEEDED),
            Failure::Malformed(_) => refused(SqlState::PROTOCOL_VIOLATION),
            Failure::Unauthenticated => refused(SqlState::INVALID_AUTHORIZATION_SPECIFICATION),
        }
    }
}

#[cfg(test)]
mod tests {
    use bus::{ClientId, MessageType};

    use super::*;

    #[test]
    fn numbers_say_what_was_answered() {
        let numbers = Numbers::new(9);
        let [mut a, mut b, mut c] = [(); 3].map(|()| Exchange::new(&Call::Connect, &numbers));
        let parts = |exchange: &mut Exchange| {
            let retry = exchange.retry(4).expect("needs one");
            assert_eq!((retry.caller, retry.run), (9, 4));
            (retry.number, retry.answered_below)
        };
        assert_eq!((parts(&mut a), parts(&mut b), parts(&mut c)), ((1, 1), (2, 1), (3, 1)));
        drop(b);
        assert_eq!(parts(&mut c), (3, 1));
        drop(a);
        assert_eq!(parts(&mut c), (3, 3));
        let register = Call::RegisterSender(ClientId(1), MessageType(1));
        assert_eq!(Exchange::new(&register, &numbers).retry(4), None);
    }

    #[test]
    fn what_was_sent_goes_to_no_other_run() {
        let numbers = Numbers::new(9);
        let mut call = Exchange::new(&Call::Connect, &numbers);
        let run = |call: &mut Exchange, run| call.retry(run).map(|retry| retry.run);
        assert!(call.needs_run());
        assert_eq!(run(&mut call, 4), Some(4));
        assert_eq!(call.heard(Err(Failure::Unreached("refused".to_owned()))), Next::Again);
        assert!(call.needs_run(), "it was not sent");
        assert_eq!(run(&mut call, 5), Some(5));
        // A server that is not reached says nothing of the one that may have done it before.
        let refused = Failure::Unreached("refused".to_owned());
        for failure in [Failure::Lost("no answer".to_owned()), Failure::Busy("full"), refused] {
            assert_eq!(call.heard(Err(failure)), Next::Again);
            assert!(!call.needs_run());
            assert_eq!(run(&mut call, 6), Some(5));
        }
        for failure in [Failure::OtherRun, Failure::Forgotten] {
            let outcome = call.heard(Err(failure));
            assert!(matches!(outcome, Next::Done(Err(BusError::Network(_)))), "{outcome:?}");
        }
        assert_eq!(call.heard(Ok(Reply::Done)), Next::Done(Ok(Reply::Done)));
    }
}
