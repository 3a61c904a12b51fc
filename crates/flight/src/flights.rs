//! State of a server: its door, and what waits for clients to come back.

use std::sync::Arc;

use bytes::Bytes;
use engine::{PreparedStatement, QueryResult, Session};
use parking_lot::Mutex;
use types::{DataType, Error, Result, Value};

use crate::connection::Line;
use crate::door::{Caller, Door};
use crate::scan::Scan;
use crate::seat::{SharedSeat, Taken, run};
use crate::shelf::Shelf;

/// The rows of a statement that ran, until somebody reads them.
pub(crate) type Waiting = Mutex<Option<QueryResult>>;

/// A statement that is parsed, and its session.
pub(crate) struct Prepared {
    pub(crate) text: Arc<str>,
    pub(crate) seat: SharedSeat,
    pub(crate) statement: Arc<Mutex<PreparedStatement>>,
    pub(crate) types: Vec<DataType>,
    /// Rows of values that were bound.
    pub(crate) rows: Mutex<Arc<Vec<Vec<Value>>>>,
}

/// A transaction, and the connection through which it was begun.
pub(crate) struct Begun {
    pub(crate) seat: SharedSeat,
    pub(crate) line: Line,
}

/// State of a server.
pub(crate) struct Flights {
    pub(crate) door: Arc<Door>,
    pub(crate) results: Shelf<Waiting>,
    pub(crate) prepared: Shelf<Prepared>,
    pub(crate) transactions: Shelf<Begun>,
    pub(crate) scans: Shelf<Scan>,
}

impl Flights {
    /// Nothing waits yet behind `door`.
    pub(crate) fn new(door: Door) -> Self {
        let options = door.options();
        let (tickets, handles) = (options.ticket_patience, options.handle_patience);
        Self {
            results: Shelf::new("result", tickets),
            prepared: Shelf::new("prepared statement", handles),
            transactions: Shelf::new("transaction", handles),
            scans: Shelf::new("snapshot", tickets),
            door: Arc::new(door),
        }
    }

    /// The seat of a transaction, or a new one without its handle.
    ///
    /// # Errors
    /// 26000 for an unknown transaction; errors of [`Door::seat`].
    pub(crate) fn seat(&self, caller: &Caller, txn: Option<&Bytes>) -> Result<SharedSeat> {
        match txn.filter(|handle| !handle.is_empty()) {
            Some(handle) => {
                self.transactions.get(&caller.user, handle).map(|begun| Arc::clone(&begun.seat))
            }
            None => self.door.seat(caller),
        }
    }

    /// Runs `work` in a session of its own.
    ///
    /// # Errors
    /// Errors of [`Door::seat`] and `work`.
    pub(crate) async fn alone<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&mut Session) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (_, value) = run(self.take(self.door.seat(caller)?).await?, work).await?;
        Ok(value)
    }

    /// The seat, once no other call has it. What a call began that ended before it was done is
    /// taken back.
    ///
    /// # Errors
    /// Errors of taking it back.
    pub(crate) async fn take(&self, seat: SharedSeat) -> Result<Taken> {
        let mut seat = seat.lock_owned().await;
        if seat.session.in_implicit() {
            seat.session.fail_transaction()?;
        }
        Ok(seat)
    }

    /// Ends what nobody came back to for long, and transactions whose connection has ended.
    pub(crate) fn sweep(&self) {
        self.results.sweep(|_| false);
        self.prepared.sweep(|_| false);
        self.transactions.sweep(|begun| begun.line.strong_count() == 0);
        self.scans.sweep(|_| false);
    }

    /// Ends everything.
    pub(crate) fn clear(&self) {
        self.results.clear();
        self.prepared.clear();
        self.transactions.clear();
        self.scans.clear();
    }
}

/// 0A000: something of the protocol that is not there.
pub(crate) fn refused(what: &str) -> Error {
    Error::unsupported(format!("{what} over Arrow Flight"))
}
