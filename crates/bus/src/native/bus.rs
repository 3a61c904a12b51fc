//! The native manager as a bus, with its thread.

use std::path::Path;
use std::sync::Arc;

use host::{Clock, Io};

use super::compactor::Compactor;
use super::concurrency::{Concurrency, Hybrid};
use super::journal::LogSettings;
use super::manager::{Leave, Manager, Role};
use super::queue::{Queue, Tree};
use crate::semantics::{
    Bus, ClientId, ClientInfo, Delivery, MessageType, QueueKey, ReceiveOptions, Result,
    SendOptions, Sent, Spare, Token,
};
use crate::store::Store;

/// The native bus, for threads of one process.
#[derive(Debug)]
pub struct Native<C: Concurrency = Hybrid, Q: Queue = Tree> {
    manager: Arc<Manager<C, Q>>,
    _compactor: Option<Compactor>,
}

impl<C: Concurrency, Q: Queue> Native<C, Q> {
    /// A bus that ends with the process.
    pub fn in_memory(concurrency: C, clock: Arc<dyn Clock>) -> Self {
        Self { manager: Arc::new(Manager::in_memory(concurrency, clock)), _compactor: None }
    }

    /// The bus in `directory`, which is made when absent and belongs to this value alone. Time
    /// and memory are those of all messages in it.
    ///
    /// # Errors
    /// 55006 when another process has it open; XX001 for damage; those of `io`.
    pub fn open(
        concurrency: C,
        clock: Arc<dyn Clock>,
        io: &Arc<dyn Io>,
        directory: &Path,
        settings: LogSettings,
    ) -> types::Result<Self> {
        let manager = Arc::new(Manager::open(concurrency, clock, io, directory, settings)?);
        let _compactor = manager.compactor();
        Ok(Self { manager, _compactor })
    }

    /// The bus of `store`, read into memory: calls that read need the store no more, and those that
    /// write at the same time are one transaction of it. The store belongs to this value alone.
    ///
    /// # Errors
    /// [`crate::BusError::Storage`].
    pub fn cached(concurrency: C, clock: Arc<dyn Clock>, store: Box<dyn Store>) -> Result<Self> {
        let manager = Arc::new(Manager::cached(concurrency, clock, store)?);
        Ok(Self { manager, _compactor: None })
    }

    /// Writes all that is there to a snapshot, and gives up the log before it. Calls go on
    /// meanwhile. Happens by itself after [`LogSettings::snapshot_bytes`].
    ///
    /// # Errors
    /// The errors of the files; nothing is lost then.
    pub fn snapshot(&self) -> Result<()> {
        self.manager.snapshot()
    }

    /// Says whether the log works.
    ///
    /// # Errors
    /// Why it does not: no change is acknowledged until the bus is opened again.
    pub fn health(&self) -> Result<()> {
        self.manager.health()
    }
}

impl<C: Concurrency, Q: Queue> Bus for Native<C, Q> {
    fn connect(&self) -> Result<ClientId> {
        self.manager.connect()
    }

    fn disconnect(&self, client: ClientId) -> Result<()> {
        self.manager.disconnect(client, Leave::Always)
    }

    fn disconnect_if_empty(&self, client: ClientId) -> Result<()> {
        self.manager.disconnect(client, Leave::IfEmpty)
    }

    fn register_sender(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.manager.register(client, Role::Sender, message_type)
    }

    fn register_receiver(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.manager.register(client, Role::Receiver, message_type)
    }

    fn send(&self, options: &SendOptions<'_>) -> Result<Sent> {
        self.manager.send(options)
    }

    fn receive(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>> {
        self.manager.receive(options)
    }

    fn delete(&self, client: ClientId, messages: &[QueueKey]) -> Result<usize> {
        self.manager.delete(client, messages)
    }

    fn cancel(&self, client: ClientId, tokens: &[Token], spare: Spare) -> Result<usize> {
        self.manager.cancel(client, tokens, spare)
    }

    fn clients(&self) -> Result<Vec<ClientInfo>> {
        Ok(self.manager.infos())
    }
}
