//! A client: what it may do, and its mailbox.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::concurrency::{Cell, Concurrency};
use super::queue::{Entry, Found, Queue, Want};
use super::state::{ClientState, Types};
use crate::semantics::{
    BusError, ClientId, Interrupt, MessageType, Priority, Result, Ring, Time, WaitUntil, wait,
};

/// The queue of a client, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Mailbox<Q> {
    pub(super) queue: Q,
    /// The least urgent messages that receives wait for, one for each.
    waiting: Vec<Priority>,
}

/// A client that is connected, or was when somebody looked.
pub(super) struct Client<C: Concurrency, Q> {
    pub(super) id: ClientId,
    pub(super) connected: Time,
    /// False from its disconnect on; falls while the mailbox is held.
    is_open: AtomicBool,
    pub(super) sends: C::Cell<Types>,
    pub(super) receives: C::Cell<Types>,
    mailbox: Mutex<Mailbox<Q>>,
    arrived: Condvar,
}

impl<C: Concurrency, Q> fmt::Debug for Client<C, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<C: Concurrency, Q: Queue> Client<C, Q> {
    pub(super) fn new(concurrency: &C, id: ClientId, state: ClientState<Q>) -> Self {
        Self {
            id,
            connected: state.connected,
            is_open: AtomicBool::new(true),
            sends: concurrency.cell(state.sends),
            receives: concurrency.cell(state.receives),
            mailbox: Mutex::new(Mailbox { queue: state.queue, waiting: Vec::new() }),
            arrived: Condvar::new(),
        }
    }

    pub(super) fn is_sender_of(&self, message_type: MessageType) -> bool {
        self.sends.read().contains(&message_type)
    }

    pub(super) fn is_receiver_of(&self, message_type: MessageType) -> bool {
        self.receives.read().contains(&message_type)
    }

    /// True until it disconnects; sure for whoever holds the mailbox.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Holds the queue.
    pub(super) fn lock(&self) -> MutexGuard<'_, Mailbox<Q>> {
        self.mailbox.lock()
    }

    /// Holds the queue, of a client that did not leave.
    ///
    /// # Errors
    /// [`BusError::NotConnected`].
    pub(super) fn lock_open(&self) -> Result<MutexGuard<'_, Mailbox<Q>>> {
        let mailbox = self.lock();
        if self.is_open() { Ok(mailbox) } else { Err(BusError::NotConnected(self.id)) }
    }

    /// Adds a message and wakes who waits for one like it.
    pub(super) fn push(&self, mailbox: &mut Mailbox<Q>, entry: Entry) {
        let priority = entry.message.key.priority;
        mailbox.queue.push(entry);
        if mailbox.waiting.iter().any(|least| *least <= priority) {
            self.arrived.notify_all();
        }
    }

    /// Ends the client; its messages go.
    pub(super) fn close(&self, mailbox: &mut Mailbox<Q>) {
        self.is_open.store(false, Ordering::Release);
        mailbox.queue = Q::default();
        self.arrived.notify_all();
    }

    /// Looks until something is found or the wait is over; the mailbox is held all the time but
    /// while it waits. Only a look that must not wait finds nothing.
    ///
    /// # Errors
    /// [`BusError::NotConnected`], [`BusError::Timeout`], [`BusError::Interrupted`].
    pub(super) fn look(
        &self,
        mailbox: &mut MutexGuard<'_, Mailbox<Q>>,
        want: impl Fn() -> Want,
        until: WaitUntil,
        interrupt: Option<&Interrupt>,
    ) -> Result<Found> {
        loop {
            if !self.is_open() {
                return Err(BusError::NotConnected(self.id));
            }
            let want = want();
            let found = mailbox.queue.first(&want);
            if !found.messages.is_empty() || matches!(until, WaitUntil::Now) {
                return Ok(found);
            }
            if interrupt.is_some_and(Interrupt::is_triggered) {
                return Err(BusError::Interrupted);
            }
            mailbox.waiting.push(want.priority_min);
            let waited = wait(&self.arrived, mailbox, until);
            let mine = mailbox.waiting.iter().position(|least| *least == want.priority_min);
            mailbox.waiting.swap_remove(mine.expect("it was added above"));
            waited?;
        }
    }
}

impl<C: Concurrency, Q: Queue> Ring for Client<C, Q> {
    fn ring(&self) {
        let _mailbox = self.lock();
        self.arrived.notify_all();
    }
}
