//! Tessera as a system of the TPC-C benchmark, in process: native transactions or SQL.

use std::path::Path;

use engine::Database;
use workloads::tpcc::driver::{System, Use};
use workloads::tpcc::tessera::{Tessera, TesseraSql, Waits};
use workloads::tpcc::{Failure, Scale};

use super::{Durability, Interface, Measured};
use crate::bench::durable;

/// A loaded database.
pub(super) struct TesseraSystem {
    database: Database,
    terminals: Box<dyn System>,
    interface: Interface,
    durability: Durability,
}

fn fatal(error: types::Error) -> Failure {
    Failure::Fatal(error.to_string())
}

impl TesseraSystem {
    /// Loads a population into row stores of a database in `folder`.
    ///
    /// # Errors
    /// Errors of the database.
    pub(super) fn create(
        folder: &Path,
        (durability, interface): (Durability, Interface),
        workers: usize,
        scale: &Scale,
    ) -> Result<Self, Failure> {
        let database = durable::open(folder, workers).map_err(fatal)?;
        let waits = match durability {
            Durability::Sync => Waits::Yes,
            Durability::Async => Waits::No,
        };
        durable::load_tpcc(&database, scale).map_err(fatal)?;
        let terminals: Box<dyn System> = match interface {
            Interface::Native => Box::new(Tessera::new(&database, waits)?),
            Interface::Sql => Box::new(TesseraSql::new(&database, waits)),
        };
        Ok(Self { database, terminals, interface, durability })
    }
}

impl System for TesseraSystem {
    fn with_terminal(&self, worker: usize, body: Use<'_>) -> Result<(), Failure> {
        self.terminals.with_terminal(worker, body)
    }
}

impl Measured for TesseraSystem {
    fn description(&self) -> String {
        let commits = match self.durability {
            Durability::Sync => "synchronous_commit = on",
            Durability::Async => "synchronous_commit = off",
        };
        let interface = match self.interface {
            Interface::Native => "native transactions",
            Interface::Sql => "prepared statements",
        };
        format!("Tessera {}, {interface}, {commits}", env!("CARGO_PKG_VERSION"))
    }

    fn integer(&self, sql: &str) -> Result<i64, Failure> {
        let result = self.database.session().execute(sql).map_err(fatal)?;
        let rows = result.text_rows();
        let cell = rows.first().and_then(|row| row.first().cloned().flatten());
        cell.and_then(|text| text.parse().ok())
            .ok_or_else(|| Failure::Fatal(format!("{sql} gives no number")))
    }
}
