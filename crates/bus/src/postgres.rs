//! The bus in five tables of a server that speaks PostgreSQL's protocol, PostgreSQL or Tessera, for
//! processes on many machines: the place behind a wire for [`crate::tables`].
//!
//! Limits: a connection and one for wake-ups for each value.
//! Elsewhere: tables, calls, transactions and locks (`tables`).

mod link;
mod wakes;

use std::sync::Arc;

use ::postgres::{Config, NoTls};
use host::Clock;

use self::link::Wire;
use self::wakes::Heard;
use crate::semantics::{Bell, Result};
use crate::tables::{Place, TableBus};

/// A bus in a schema of a server's database. Threads share it, one call at a time.
pub type Postgres = TableBus<Server>;

/// A database of a server.
#[derive(Clone, Debug)]
pub struct Server {
    config: Config,
}

impl Postgres {
    /// The bus in `schema` of the database that `config` leads to; its tables are made when absent.
    /// Connections are not encrypted: a server elsewhere is reached through a tunnel.
    ///
    /// # Errors
    /// See [`TableBus::open_at`]. A state of the server's that has none here is 58030, with the
    /// server's own in words.
    pub fn open(config: Config, schema: &str, clock: Arc<dyn Clock>) -> Result<Self> {
        Self::open_at(Server { config }, schema, clock)
    }
}

impl Place for Server {
    type Link = Wire;
    type Wakes = Heard;

    fn connect(&self, schema: &str) -> Result<Wire> {
        let mut client = self.config.connect(NoTls)?;
        client.batch_execute(&format!(
            "SET search_path = {schema}, pg_catalog; SET client_min_messages = warning"
        ))?;
        Ok(Wire::new(client))
    }

    fn listen(&self, channel: &str, bell: &Arc<Bell>) -> Result<Heard> {
        let mut client = self.config.connect(NoTls)?;
        client.batch_execute(&format!("LISTEN {channel}"))?;
        Heard::start(client, bell)
    }
}
