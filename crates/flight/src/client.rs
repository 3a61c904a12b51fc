//! A client that waits, for programs without tasks of their own.
//!
//! ```text
//! query: a statement of Flight SQL -> rows
//! parts: a scan -> tickets of one snapshot    read: a ticket -> rows
//! ```
//! Users: the analyst of `tessera shared-demo`. Servers that ask for passwords do not let it in.

use std::net::SocketAddr;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_flight::error::FlightError;
use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt as _};
use arrow_flight::{FlightClient, FlightDescriptor, Ticket};
use futures::TryStreamExt as _;
use prost::Message as _;
use rpc::io_error;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::Endpoint;
use types::{Error, Result, SqlState};

use crate::status::error_of;

/// A ticket of rows. Those of a scan of a shared table are good for any of its nodes.
#[derive(Clone, Debug)]
pub struct Part(Ticket);

/// A connection. Calls wait on the thread that makes them.
pub struct Client {
    runtime: Runtime,
    flight: FlightClient,
}

impl Client {
    /// Connects to a server that asks nobody who they are, and takes connections within `patience`.
    ///
    /// # Errors
    /// 08006 when it does not answer.
    pub fn connect(address: SocketAddr, patience: Duration) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| io_error("a client cannot start", error))?;
        let away = |error: tonic::transport::Error| {
            let message = format!("Arrow Flight on {address} does not answer: {error}");
            Error::new(SqlState::CONNECTION_FAILURE, message)
        };
        let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(away)?;
        let endpoint = endpoint.connect_timeout(patience);
        let channel = runtime.block_on(endpoint.connect()).map_err(away)?;
        Ok(Self { runtime, flight: FlightClient::new(channel) })
    }

    /// The rows of a statement.
    ///
    /// # Errors
    /// Errors of the statement; 08006 when the server goes away.
    pub fn query(&mut self, sql: &str) -> Result<Vec<RecordBatch>> {
        let query = CommandStatementQuery { query: sql.to_owned(), transaction_id: None };
        let parts = self.tickets(query.as_any().encode_to_vec())?;
        let mut batches = Vec::new();
        for part in &parts {
            self.read(part, |batch| batches.push(batch))?;
        }
        Ok(batches)
    }

    /// The tickets of one snapshot of a table; `scan` is the object of JSON that asks for it.
    ///
    /// # Errors
    /// Errors of the scan; 08006 when the server goes away.
    pub fn parts(&mut self, scan: &str) -> Result<Vec<Part>> {
        self.tickets(scan.as_bytes().to_vec())
    }

    fn tickets(&mut self, command: Vec<u8>) -> Result<Vec<Part>> {
        let descriptor = FlightDescriptor::new_cmd(command);
        let info = self.runtime.block_on(self.flight.get_flight_info(descriptor));
        let endpoints = info.map_err(error_of)?.endpoint.into_iter();
        Ok(endpoints.filter_map(|endpoint| endpoint.ticket).map(Part).collect())
    }

    /// Hands the rows of a ticket to `take`, as they come.
    ///
    /// # Errors
    /// 26000 when nobody holds the snapshot any more; 08006 when the server goes away.
    pub fn read(&mut self, part: &Part, mut take: impl FnMut(RecordBatch)) -> Result<()> {
        let Self { runtime, flight } = self;
        let read = async {
            let mut batches = flight.do_get(part.0.clone()).await?;
            while let Some(batch) = batches.try_next().await? {
                take(batch);
            }
            Ok::<(), FlightError>(())
        };
        runtime.block_on(read).map_err(error_of)
    }
}
