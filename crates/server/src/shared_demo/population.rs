//! TPC-C's tables in the cluster, filled through its nodes by COPY.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use postgres::{Client, Config, NoTls};
use types::{Error, Result, SqlState};
use workloads::tpcc::postgres::{Copy, failure};
use workloads::tpcc::{
    Dialect, Failure, SEED, Scale, Table, create_indexes, create_tables, populate,
};

/// Connections that fill tables side by side.
const LOADERS: usize = 4;

/// Time in which a node has to answer a new client.
const CONNECT: Duration = Duration::from_secs(10);

/// Name of the user and the database of the nodes.
const NAME: &str = "tessera";

/// A connection to a node.
pub(super) fn connect(node: SocketAddr) -> std::result::Result<Client, Failure> {
    let mut config = Config::new();
    let IpAddr::V4(host) = node.ip() else {
        return Err(Failure::Fatal(format!("{node} is not of this machine")));
    };
    config.host(&host.to_string()).port(node.port()).user(NAME).dbname(NAME);
    config.connect_timeout(CONNECT).connect(NoTls).map_err(failure)
}

/// The error of a failure that nothing mends.
pub(super) fn error_of(failure: Failure) -> Error {
    match failure {
        Failure::Lost(message) | Failure::Doubt(message) => {
            Error::new(SqlState::CONNECTION_FAILURE, message)
        }
        Failure::Retry(message) => Error::new(SqlState::SERIALIZATION_FAILURE, message),
        Failure::Fatal(message) => Error::internal(message),
    }
}

/// Rows of a table that belong to a warehouse.
struct Part {
    table: Table,
    warehouse: u32,
}

/// Makes the tables, fills them, makes their indexes.
///
/// # Errors
/// The first failure of a node.
pub(super) fn load(nodes: &[SocketAddr], scale: &Scale) -> Result<()> {
    let mut client = connect(nodes[0]).map_err(error_of)?;
    let mut execute = |sql: String| client.batch_execute(&sql).map_err(failure).map_err(error_of);
    create_tables(Dialect::Standard).into_iter().try_for_each(&mut execute)?;
    let parts = |table: &Table| {
        let table = *table;
        (1..=scale.warehouses).map(move |warehouse| Part { table, warehouse })
    };
    // The large ones are at the end of the list, and come first.
    let parts: Vec<Part> = Table::ALL.iter().rev().flat_map(parts).collect();
    let next = AtomicUsize::new(0);
    let fill = |node: SocketAddr| {
        let mut client = connect(node)?;
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut rows = Copy::new(&mut client, part.table);
            populate(part.table, scale, SEED, part.warehouse..=part.warehouse, &mut rows)?;
            rows.finish()?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let start = |number| scope.spawn(move || fill(nodes[number % nodes.len()]));
        let loaders: Vec<_> = (0..LOADERS).map(start).collect();
        let mut ends = loaders.into_iter().map(|loader| loader.join());
        ends.try_for_each(|end| {
            end.unwrap_or_else(|_| Err(Failure::Fatal("a loader panicked".into())))
        })
    })
    .map_err(error_of)?;
    create_indexes().into_iter().try_for_each(execute)
}
