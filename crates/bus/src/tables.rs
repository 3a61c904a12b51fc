//! The bus in five tables of a database, wherever that is: behind a wire or in this process. A
//! transaction for each call.
//!
//! ```text
//! client(id, connected)      sendable(client, message_type)      receivable(client, message_type)
//! message(id, body, sender, sent, deadline, priority, message_type, receivers)
//! queued_message(receiver, urgency, deadline, message)           one row per copy, in queue order
//!
//! Bus, Store -> session (transactions, locks) -> Link (statements)     made by a Place, which also
//!      bell <- Wakes (NOTIFY at each commit) <---------------------'   tells of changes elsewhere
//! ```
//! Invariants: a message lives while a queue has it; ids come from sequences, so are never given
//! twice; the order of ids is that of commits, because a change holds the schema's advisory lock
//! from its begin to its commit.
//! Limits: a body has 1 GB at most; a link and one for wake-ups for each value, which opens them
//! anew when they break.
//! Elsewhere: places behind a wire (`postgres`) and in this process (crate `bus_embedded`); the
//! same tables behind the native bus (`store`).
//! Source: Chasseur 2015, section 4.4. Departures: `deadline IS NULL` is the largest number; the
//! urgency is the negative priority, so that the primary key is the order of the queue; receives
//! that wait elsewhere are told of changes (NOTIFY) instead of asking again and again.

mod link;
mod queues;
mod session;
mod store;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use host::Clock;
use parking_lot::Mutex;

pub use self::link::{Cell, Link, Parameter, Place, Row, Wakes};
use self::queues::Tables;
use self::session::Session;
use crate::semantics::{
    Bell, Bus, BusError, ClientId, ClientInfo, Copies, Delivery, MessageType, QueueKey, Receipt,
    ReceiveOptions, Result, Ring, SendOptions, Sent, Spare, Time, Token, Wait,
};

/// A bus in a schema of a database. Threads share it, one call at a time.
#[derive(Debug)]
pub struct TableBus<P: Place> {
    place: P,
    schema: String,
    session: Mutex<Option<Session<P::Link>>>,
    bell: Arc<Bell>,
    wakes: Mutex<Option<P::Wakes>>,
    clock: Arc<dyn Clock>,
    turn: AtomicUsize,
}

impl<P: Place> TableBus<P> {
    /// The bus in `schema` of the database at `place`; its tables are made when absent.
    ///
    /// # Errors
    /// [`BusError::Network`] when the place is not reached; [`BusError::Storage`]: 42602 for a name
    /// with other signs than small letters, digits and `_`, else what the database says.
    pub fn open_at(place: P, schema: &str, clock: Arc<dyn Clock>) -> Result<Self> {
        let is_plain =
            |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
        if schema.is_empty() || schema.len() > 63 || !schema.chars().all(is_plain) {
            return Err(no_name(schema));
        }
        let mut session = Session::open(&place, schema)?;
        match session.make_tables(schema) {
            // Another has the bus in its memory, so they are there, and may be looked at.
            Err(BusError::Storage(error)) if error.state() == types::SqlState::OBJECT_IN_USE => {}
            outcome => outcome?,
        }
        Ok(Self {
            place,
            schema: schema.to_owned(),
            session: Mutex::new(Some(session)),
            bell: Arc::default(),
            wakes: Mutex::new(None),
            clock,
            turn: AtomicUsize::new(0),
        })
    }

    fn now(&self) -> Time {
        Time(self.clock.micros())
    }

    /// Calls `call` with the session, which is opened anew if it broke before, unless it had the
    /// bus alone: another may have changed it since.
    fn with<T>(&self, call: impl FnOnce(&mut Session<P::Link>) -> Result<T>) -> Result<T> {
        let mut slot = self.session.lock();
        let mut session = match slot.take() {
            Some(session) if !session.is_broken() || session.is_owner() => session,
            _ => Session::open(&self.place, &self.schema)?,
        };
        let outcome = call(&mut session);
        if !session.is_broken() || session.is_owner() {
            *slot = Some(session);
        }
        outcome
    }

    /// Runs `call` as a transaction that changes something, and has those who wait look.
    fn change<T>(&self, call: impl FnOnce(&mut Tables<'_>) -> Result<T>) -> Result<T> {
        let outcome = self.with(|session| session.change(call))?;
        self.bell.ring();
        Ok(outcome)
    }

    fn leave(&self, client: ClientId, only_if_empty: Option<Time>) -> Result<()> {
        self.change(|tables| {
            tables.check_connected(client)?;
            if let Some(now) = only_if_empty
                && !tables.find(&ReceiveOptions::new(client), now)?.is_empty()
            {
                return Err(BusError::QueueNotEmpty(client));
            }
            tables.remove_client(client)
        })
    }

    /// Has changes elsewhere ring the bell from now on.
    fn listen(&self) -> Result<()> {
        let mut wakes = self.wakes.lock();
        if !wakes.as_mut().is_some_and(Wakes::are_heard) {
            *wakes = Some(self.place.listen(&self.schema, &self.bell)?);
        }
        Ok(())
    }
}

/// Refusal of a schema that a bus cannot have.
fn no_name(schema: &str) -> BusError {
    let message = format!("a schema of a bus cannot be called \"{schema}\"");
    types::Error::new(types::SqlState::INVALID_NAME, message).into()
}

impl<P: Place> Bus for TableBus<P> {
    fn connect(&self) -> Result<ClientId> {
        let now = self.now();
        self.change(|tables| tables.add_client(now))
    }

    fn disconnect(&self, client: ClientId) -> Result<()> {
        self.leave(client, None)
    }

    fn disconnect_if_empty(&self, client: ClientId) -> Result<()> {
        self.leave(client, Some(self.now()))
    }

    fn register_sender(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|tables| tables.register(queues::SENDS, client, message_type))
    }

    fn register_receiver(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|tables| tables.register(queues::RECEIVES, client, message_type))
    }

    fn send(&self, options: &SendOptions<'_>) -> Result<Sent> {
        self.change(|tables| {
            let candidates = tables.candidates(options)?;
            let now = self.now();
            tables.purge(now)?;
            let receivers = match options.copies {
                Copies::Each => &candidates[..],
                Copies::One => {
                    let turn = self.turn.fetch_add(1, Ordering::Relaxed) % candidates.len();
                    &candidates[turn..=turn]
                }
            };
            tables.insert(options, receivers, now)
        })
    }

    fn receive(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>> {
        self.bell.receive(options, || {
            if options.wait != Wait::No {
                self.listen()?;
            }
            self.with(|session| match options.receipt {
                Receipt::Keep => session.look(|tables| {
                    tables.check_connected(options.client)?;
                    tables.find(options, self.now())
                }),
                Receipt::Delete => session.change(|tables| {
                    tables.check_connected(options.client)?;
                    let found = tables.find(options, self.now())?;
                    tables.remove(found.iter().map(|m| (options.client, &m.key)))?;
                    Ok(found)
                }),
            })
        })
    }

    fn delete(&self, client: ClientId, messages: &[QueueKey]) -> Result<usize> {
        self.change(|tables| {
            tables.check_connected(client)?;
            tables.remove(messages.iter().map(|key| (client, key)))
        })
    }

    fn cancel(&self, client: ClientId, tokens: &[Token], spare: Spare) -> Result<usize> {
        self.change(|tables| {
            tables.check_connected(client)?;
            if tokens.iter().any(|token| !token.belongs_to(client)) {
                return Err(BusError::TokenOfOthers(client));
            }
            let copies = tokens
                .iter()
                .flat_map(|token| token.receivers.iter().map(|receiver| (*receiver, &token.key)));
            tables.remove(copies.filter(|copy| spare == Spare::Nobody || copy.0 != client))
        })
    }

    fn clients(&self) -> Result<Vec<ClientInfo>> {
        self.with(|session| session.look(|tables| tables.clients(self.now())))
    }
}
