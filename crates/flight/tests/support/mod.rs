//! A server in this process, and clients of it.
#![allow(dead_code)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use arrow_array::{Array, RecordBatch};
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::{FlightInfo, Ticket};
use bytes::Bytes;
use engine::{Config, Database};
use flight::{FlightOptions, Server};
use futures::TryStreamExt as _;
use tonic::transport::{Channel, Endpoint};
use wire::Authentication;

/// The superuser of all tests.
pub(crate) const USER: &str = "tessera";

/// A client over one connection.
pub(crate) type Client = FlightSqlServiceClient<Channel>;

/// A server, which ends with this.
pub(crate) struct Served {
    server: Option<Server>,
    pub(crate) database: Database,
    pub(crate) runtime: tokio::runtime::Runtime,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.take().into_iter().for_each(Server::stop);
    }
}

/// A database in memory with what a server registers.
pub(crate) fn database() -> Database {
    let database = Database::open_in_memory(Config::default()).expect("a database");
    database.for_each_database(|database| {
        formats::register(database);
        wire::register(database);
    });
    database
}

/// Options under which nobody is asked for a password.
pub(crate) fn trusting() -> FlightOptions {
    FlightOptions { authentication: Authentication::Trust, ..FlightOptions::default() }
}

impl Served {
    /// A new database, served.
    pub(crate) fn new(options: FlightOptions) -> Self {
        let database = database();
        let create = format!("CREATE ROLE {USER} SUPERUSER LOGIN PASSWORD 'secret'");
        database.session().execute(&create).expect("a role");
        let server = Some(Server::start(database.clone(), options).expect("a server"));
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().expect("a runtime");
        Self { server, database, runtime }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.as_ref().expect("it runs").address()
    }

    /// Runs a statement beside the server.
    pub(crate) fn execute(&self, statement: &str) -> Vec<Vec<Option<String>>> {
        let result = self.database.session().execute(statement);
        result.unwrap_or_else(|error| panic!("{statement}: {error}")).text_rows()
    }

    /// The one value of a query beside the server.
    pub(crate) fn value(&self, query: &str) -> String {
        self.execute(query).pop().and_then(|mut row| row.pop()).flatten().unwrap_or_default()
    }

    /// A connection without credentials.
    pub(crate) fn client(&self) -> Client {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address()));
        let endpoint = endpoint.expect("an address");
        let channel = self.runtime.block_on(endpoint.connect()).expect("it listens");
        FlightSqlServiceClient::new(channel)
    }

    /// The rows of a query.
    pub(crate) fn query(
        &self,
        client: &mut Client,
        query: &str,
    ) -> Result<Vec<RecordBatch>, FlightError> {
        self.query_in(client, query, None)
    }

    /// The rows of a query in a transaction.
    pub(crate) fn query_in(
        &self,
        client: &mut Client,
        query: &str,
        txn: Option<Bytes>,
    ) -> Result<Vec<RecordBatch>, FlightError> {
        self.runtime.block_on(async {
            let info = client.execute(query.to_owned(), txn).await?;
            read(client, &info).await
        })
    }

    /// Waits until `is_so`.
    ///
    /// # Panics
    /// When it is not so within a minute.
    pub(crate) fn wait(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// All rows behind the tickets of `info`.
pub(crate) async fn read(
    client: &mut Client,
    info: &FlightInfo,
) -> Result<Vec<RecordBatch>, FlightError> {
    let mut all = Vec::new();
    for endpoint in &info.endpoint {
        let ticket = endpoint.ticket.clone().expect("a ticket");
        all.extend(read_ticket(client, ticket).await?);
    }
    Ok(all)
}

/// All rows behind a ticket.
pub(crate) async fn read_ticket(
    client: &mut Client,
    ticket: Ticket,
) -> Result<Vec<RecordBatch>, FlightError> {
    let stream: FlightRecordBatchStream = client.do_get(ticket).await?;
    stream.try_collect().await
}

/// Message of what went wrong, with its SQLSTATE.
pub(crate) fn message_of<T>(outcome: Result<T, FlightError>) -> String {
    match outcome {
        Ok(_) => panic!("an error was to come"),
        Err(error) => error.to_string(),
    }
}

/// Rows as text, `-` for NULL.
pub(crate) fn texts(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::{Float64Type, Int16Type, Int32Type, Int64Type};
    use arrow_schema::DataType;
    let cell = |array: &dyn Array, row: usize| match array.data_type() {
        _ if array.is_null(row) => "-".to_owned(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        other => format!("{other}"),
    };
    let rows = batches.iter().flat_map(|batch| {
        let of_row =
            move |row| batch.columns().iter().map(|array| cell(&**array, row)).collect::<Vec<_>>();
        (0..batch.num_rows()).map(of_row)
    });
    rows.collect()
}
