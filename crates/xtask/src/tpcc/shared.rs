//! Shared data as a system: a manager, stores and nodes of its own, a connection for each worker.

use std::path::Path;

use postgres::Client;
use workloads::tpcc::driver::{System, Use};
use workloads::tpcc::postgres::{Connection, failure};
use workloads::tpcc::{self as tpcc, Failure, Scale, SqlTerminal};

use super::Measured;
use super::postgres::fill;
use crate::cluster::{Cluster, Sizes, connect};
use crate::peers_home;

/// A population in stores of our own.
pub(super) struct SharedSystem {
    cluster: Cluster,
    sizes: Sizes,
}

impl SharedSystem {
    /// Starts processes that run `program`, and fills a database.
    pub(super) fn create(program: &Path, sizes: Sizes, scale: &Scale) -> Result<Self, Failure> {
        let home = peers_home().join(format!("tpcc-shared-{}", std::process::id()));
        let cluster = Cluster::start(program, home, sizes).map_err(Failure::Fatal)?;
        let system = Self { cluster, sizes };
        fill(&mut system.connect(0)?, scale, tpcc::SEED)?;
        Ok(system)
    }

    fn connect(&self, worker: usize) -> Result<Client, Failure> {
        connect(&self.cluster, worker % self.sizes.nodes).map_err(failure)
    }
}

impl Measured for SharedSystem {
    fn description(&self) -> String {
        let Sizes { stores, nodes } = self.sizes;
        format!(
            "Tessera {}, {nodes} nodes on {stores} stores with logs, TCP, repeatable read, \
             prepared statements, one round trip each",
            env!("CARGO_PKG_VERSION")
        )
    }

    fn integer(&self, sql: &str) -> Result<i64, Failure> {
        let row = self.connect(0)?.query_one(sql, &[]).map_err(failure)?;
        row.try_get(0).map_err(failure)
    }
}

impl System for SharedSystem {
    fn with_terminal(&self, worker: usize, body: Use<'_>) -> Result<(), Failure> {
        body(&mut SqlTerminal::new(Connection::new(self.connect(worker)?))?)
    }
}
