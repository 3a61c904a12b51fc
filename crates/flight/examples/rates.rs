//! Rows per second from a table to a client: Arrow Flight beside PostgreSQL's protocol.
//!
//! ```sh
//! cargo run --release -p flight --example rates [ROWS]
//! ```
//! `psql` reads through PostgreSQL's protocol, when it is installed; what it prints goes nowhere.

use std::process::{Command, Stdio};
use std::time::Instant;

use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::{FlightDescriptor, Ticket};
use engine::{Config, Database};
use flight::FlightOptions;
use futures::TryStreamExt as _;
use tonic::transport::{Channel, Endpoint};
use wire::{Authentication, ServerOptions};

type Failure = Box<dyn std::error::Error>;

type Client = FlightSqlServiceClient<Channel>;

const QUERY: &str = "SELECT * FROM readings";

/// Tells how long `rows` rows took since `begin`.
fn tell(what: &str, rows: usize, begin: Instant) {
    let seconds = begin.elapsed().as_secs_f64();
    println!("{what:<28} {rows:>10} rows {seconds:>8.3} s {:>12.0} rows/s", rows as f64 / seconds);
}

async fn connect(address: std::net::SocketAddr) -> Result<Client, Failure> {
    let channel = Endpoint::from_shared(format!("http://{address}"))?.connect().await?;
    Ok(FlightSqlServiceClient::new(channel))
}

async fn read(client: &mut Client, ticket: Ticket) -> Result<usize, Failure> {
    let stream: FlightRecordBatchStream = client.do_get(ticket).await?;
    let count = |rows, batch: arrow_array::RecordBatch| async move { Ok(rows + batch.num_rows()) };
    Ok(stream.try_fold(0, count).await?)
}

async fn query(address: std::net::SocketAddr) -> Result<usize, Failure> {
    let mut client = connect(address).await?;
    let info = client.execute(QUERY.to_owned(), None).await?;
    let mut rows = 0;
    for ticket in info.endpoint.into_iter().filter_map(|endpoint| endpoint.ticket) {
        rows += read(&mut client, ticket).await?;
    }
    Ok(rows)
}

async fn scan(address: std::net::SocketAddr, parts: usize) -> Result<usize, Failure> {
    let mut client = connect(address).await?;
    let asked = format!("{{\"table\": \"readings\", \"parts\": {parts}}}");
    let info = client.inner_mut().get_flight_info(FlightDescriptor::new_cmd(asked)).await?;
    let tickets = info.into_inner().endpoint.into_iter().filter_map(|endpoint| endpoint.ticket);
    let readers: Vec<_> = tickets
        .map(|ticket| {
            tokio::spawn(async move {
                let mut client = connect(address).await.map_err(|error| error.to_string())?;
                read(&mut client, ticket).await.map_err(|error| error.to_string())
            })
        })
        .collect();
    let mut rows = 0;
    for reader in readers {
        rows += reader.await??;
    }
    Ok(rows)
}

/// Reads all rows with psql, if it is there.
fn psql(port: u16, what: &str, statement: &str, rows: usize) {
    let begin = Instant::now();
    let mut command = Command::new("psql");
    command.args(["-qAt", "-h", "127.0.0.1", "-U", "tessera", "-p", &port.to_string()]);
    let ran = command.args(["-c", statement, "tessera"]).stdout(Stdio::null()).status();
    match ran {
        Ok(status) if status.success() => tell(what, rows, begin),
        Ok(status) => println!("{what}: psql ended with {status}"),
        Err(error) => println!("{what}: psql: {error}"),
    }
}

fn main() -> Result<(), Failure> {
    let rows: usize = match std::env::args().nth(1) {
        Some(rows) => rows.parse()?,
        None => 5_000_000,
    };
    let database = Database::open_in_memory(Config::default())?;
    database.for_each_database(|database| {
        formats::register(database);
        wire::register(database);
    });
    let mut session = database.session();
    session.execute("CREATE ROLE tessera SUPERUSER LOGIN")?;
    session.execute(&format!(
        "CREATE TABLE readings AS SELECT i AS id, i % 1000 AS sensor, i * 0.5::float8 AS value, \
         timestamp '2026-01-01' + i * interval '1 second' AS at, 'place ' || i % 100 AS place \
         FROM generate_series(1, {rows}) i"
    ))?;
    let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let options = ServerOptions {
        listen: vec![listen],
        authentication: Authentication::Trust,
        ..ServerOptions::default()
    };
    let postgres = wire::Server::start(database.clone(), options)?;
    let options =
        FlightOptions { authentication: Authentication::Trust, ..FlightOptions::default() };
    let server = flight::Server::start(database, options)?;
    let address = server.address();
    let port = postgres.addresses().first().map_or(0, std::net::SocketAddr::port);
    psql(port, "psql: SELECT", QUERY, rows);
    psql(port, "psql: COPY", "COPY readings TO STDOUT", rows);
    psql(port, "psql: COPY (binary)", "COPY readings TO STDOUT (FORMAT binary)", rows);
    let runtime = tokio::runtime::Runtime::new()?;
    let begin = Instant::now();
    tell("Flight SQL", runtime.block_on(query(address))?, begin);
    for parts in [1, 2, 4] {
        let begin = Instant::now();
        tell(&format!("Flight, {parts} parts"), runtime.block_on(scan(address, parts))?, begin);
    }
    server.stop();
    postgres.stop(wire::Ending::Fast);
    Ok(())
}
