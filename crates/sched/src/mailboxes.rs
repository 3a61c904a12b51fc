//! Queues of the bus in memory, one for the foreman and one for each worker.
//!
//! ```text
//! worker --REPORT--> foreman's queue --foreman--> --COMMAND--> worker's queue
//! ```
//! Invariant: nobody outside has the bus, and clients stay until their own thread leaves, so its
//! calls do not fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bus::native::{Hybrid, Native, Tree};
use bus::{Address, Bus, ClientId, MessageType, Receipt, ReceiveOptions, SendOptions};
use host::RealClock;

use crate::message::{Command, Report};

const COMMAND: MessageType = MessageType(1);
const REPORT: MessageType = MessageType(2);

/// Why no call fails.
const OWN: &str = "a bus in memory, of clients that are there";

/// A foreman's queue and those of the workers who joined it.
pub(crate) struct Mailboxes {
    bus: Native<Hybrid, Tree>,
    foreman: ClientId,
    /// The client of whoever is no worker.
    house: ClientId,
    /// Workers that joined and were not told to leave.
    members: AtomicUsize,
}

impl Mailboxes {
    /// Mailboxes without workers.
    pub(crate) fn new() -> Self {
        let bus = Native::in_memory(Hybrid, Arc::new(RealClock));
        let (foreman, house) = (bus.connect().expect(OWN), bus.connect().expect(OWN));
        bus.register_sender(foreman, COMMAND).expect(OWN);
        bus.register_receiver(foreman, REPORT).expect(OWN);
        bus.register_sender(house, REPORT).expect(OWN);
        Self { bus, foreman, house, members: AtomicUsize::new(0) }
    }

    /// Counts a worker that will join.
    pub(crate) fn add_member(&self) {
        self.members.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes those off the count who were told to leave; the number that stay.
    pub(crate) fn remove_members(&self, count: usize) -> usize {
        self.members.fetch_sub(count, Ordering::Relaxed) - count
    }

    /// A queue for a worker.
    pub(crate) fn join(&self) -> ClientId {
        let client = self.bus.connect().expect(OWN);
        self.bus.register_sender(client, REPORT).expect(OWN);
        self.bus.register_receiver(client, COMMAND).expect(OWN);
        client
    }

    /// Ends a worker's queue.
    pub(crate) fn leave(&self, client: ClientId) {
        self.bus.disconnect(client).expect(OWN);
    }

    /// Has the foreman look at runs and workers.
    pub(crate) fn look(&self) {
        self.report(self.house, &Report::Look);
    }

    /// Tells the foreman something, as `client`.
    pub(crate) fn report(&self, client: ClientId, report: &Report) {
        let to = [self.foreman];
        let address = Address::Clients(&to);
        let message = SendOptions::new(client, REPORT, address, report.to_bytes());
        self.bus.send(&message).expect(OWN);
    }

    /// Tells the worker with the queue `client` something.
    pub(crate) fn command(&self, client: ClientId, command: Command) {
        let to = [client];
        let address = Address::Clients(&to);
        let message = SendOptions::new(self.foreman, COMMAND, address, command.to_bytes());
        self.bus.send(&message).expect(OWN);
    }

    /// All that the foreman was told, and by whom; waits for something.
    pub(crate) fn reports(&self) -> Vec<(ClientId, Report)> {
        let options = ReceiveOptions { limit: usize::MAX, ..next(self.foreman) };
        let read = |bytes: &[u8]| Report::read(bytes).expect("a worker wrote it");
        let found = self.bus.receive(&options).expect(OWN);
        found.iter().map(|message| (message.sender, read(&message.body))).collect()
    }

    /// The next that a worker is told; waits for it.
    pub(crate) fn next_command(&self, client: ClientId) -> Command {
        let found = self.bus.receive(&next(client)).expect(OWN);
        Command::read(&found[0].body).expect("the foreman wrote it")
    }
}

/// One message, which is taken out.
fn next(client: ClientId) -> ReceiveOptions<'static> {
    ReceiveOptions { receipt: Receipt::Delete, ..ReceiveOptions::next(client) }
}
