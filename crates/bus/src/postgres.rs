//! The bus in five tables of a server that speaks PostgreSQL's protocol, PostgreSQL or Tessera: a
//! transaction for each call, processes on many machines.
//!
//! ```text
//! client(id, connected)      sendable(client, message_type)      receivable(client, message_type)
//! message(id, body, sender, sent, deadline, priority, message_type, receivers)
//! queued_message(receiver, urgency, deadline, message)           one row per copy, in queue order
//! ```
//! Invariants: a message lives while a queue has it; ids come from sequences, so are never given
//! twice; the order of ids is that of commits, because a change holds the schema's advisory lock
//! from its begin to its commit.
//! Limits: a body has 1 GB at most; a connection and one for wake-ups for each value, which opens
//! them anew when they break.
//! Elsewhere: the same tables behind the native bus (`store`).
//! Source: Chasseur 2015, section 4.4. Departures: those of [`crate::sqlite`]'s tables; the urgency
//! is the negative priority, so that the primary key is the order of the queue; receives that wait
//! in other processes are told of changes (NOTIFY) instead of asking again and again.

mod connection;
mod tables;
mod store;
mod wakes;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::postgres::Config;
use host::Clock;
use parking_lot::Mutex;

use self::connection::Connection;
use self::tables::Tables;
use self::wakes::Wakes;
use crate::semantics::{
    Bell, Bus, BusError, ClientId, ClientInfo, Copies, Delivery, MessageType, QueueKey, Receipt,
    ReceiveOptions, Result, Ring, SendOptions, Sent, Spare, Time, Token, Wait,
};

/// A bus in a schema of a database. Threads share it, one call at a time.
#[derive(Debug)]
pub struct Postgres {
    place: Place,
    connection: Mutex<Option<Connection>>,
    bell: Arc<Bell>,
    wakes: Mutex<Option<Wakes>>,
    clock: Arc<dyn Clock>,
    turn: AtomicUsize,
}

/// Where the tables are.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    config: Config,
    schema: String,
}

impl Postgres {
    /// The bus in `schema` of the database that `config` leads to; its tables are made when absent.
    /// Connections are not encrypted: a server elsewhere is reached through a tunnel.
    ///
    /// # Errors
    /// [`BusError::Network`] when there is no such server; [`BusError::Storage`]: 42602 for a name
    /// with other signs than small letters, digits and `_`, else what the server says.
    pub fn open(config: Config, schema: &str, clock: Arc<dyn Clock>) -> Result<Self> {
        let is_plain =
            |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
        if schema.is_empty() || schema.len() > 63 || !schema.chars().all(is_plain) {
            let message = format!("a schema of a bus cannot be called \"{schema}\"");
            return Err(types::Error::new(types::SqlState::INVALID_NAME, message).into());
        }
        let place = Place { config, schema: schema.to_owned() };
        let mut connection = Connection::open(&place)?;
        match connection.make_tables(&place) {
            // Another process has the bus in its memory, so they are there, and may be looked at.
            Err(BusError::Storage(error)) if error.state() == types::SqlState::OBJECT_IN_USE => {}
            outcome => outcome?,
        }
        Ok(Self {
            place,
            connection: Mutex::new(Some(connection)),
            bell: Arc::default(),
            wakes: Mutex::new(None),
            clock,
            turn: AtomicUsize::new(0),
        })
    }

    fn now(&self) -> Time {
        Time(self.clock.micros())
    }

    /// Calls `call` with the connection, which is opened anew if it broke before, unless it had the
    /// bus alone: another process may have changed it since.
    fn with<T>(&self, call: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let mut slot = self.connection.lock();
        let mut connection = match slot.take() {
            Some(connection) if !connection.is_broken() || connection.is_owner() => connection,
            _ => Connection::open(&self.place)?,
        };
        let outcome = call(&mut connection);
        if !connection.is_broken() || connection.is_owner() {
            *slot = Some(connection);
        }
        outcome
    }

    /// Runs `call` as a transaction that changes something, and has those who wait look.
    fn change<T>(&self, call: impl FnOnce(&mut Tables<'_>) -> Result<T>) -> Result<T> {
        let outcome = self.with(|connection| connection.change(call))?;
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

    /// Has changes of other processes ring the bell from now on.
    fn listen(&self) -> Result<()> {
        let mut wakes = self.wakes.lock();
        if !wakes.as_ref().is_some_and(Wakes::are_heard) {
            *wakes = Some(Wakes::start(&self.place, &self.bell)?);
        }
        Ok(())
    }
}

impl Bus for Postgres {
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
        self.change(|tables| tables.register(tables::SENDS, client, message_type))
    }

    fn register_receiver(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|tables| tables.register(tables::RECEIVES, client, message_type))
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
            self.with(|connection| match options.receipt {
                Receipt::Keep => connection.look(|tables| {
                    tables.check_connected(options.client)?;
                    tables.find(options, self.now())
                }),
                Receipt::Delete => connection.change(|tables| {
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
        self.with(|connection| connection.look(|tables| tables.clients(self.now())))
    }
}
