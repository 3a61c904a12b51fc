//! `cargo xtask clients`: clients that nobody changed for Tessera, on a server of its own.
//!
//! ```text
//! tessera serve (SCRAM, a directory) <- psql, pgbench                            psql.rs
//!                                    <- psycopg 3, asyncpg, pg8000, SQLAlchemy   clients.py
//!                                    <- pgx (go/), pgjdbc (java/), node-postgres (node/)
//!                                    <- tokio-postgres (rust/), sqlx (sqlx/), GORM (gorm/)
//!                                    <- TypeORM, Sequelize (orm/), ADBC (adbc/)
//!                                    <- Arrow Flight: ADBC's driver, pyarrow     (flight/)
//!                                    <- Apache Spark, Trino, by connectors/
//!                                    <- go-tpc: TPC-C, CH-benCHmark              gotpc.rs
//!          SIGKILL, started again    <- psql
//! ```
//! Each client is installed under `target/clients`, from its own package index; one whose language
//! is not on the machine is skipped.

mod programs;
mod dump;
mod dumped;
mod gotpc;
mod psql;

use clap::Args;
use std::ffi::OsString;

use crate::server::Server;
use crate::{Outcome, workspace};

/// Options of `cargo xtask clients`.
#[derive(Args)]
pub struct ClientsArgs {
    /// Only these clients: psql, pgbench, psycopg, asyncpg, pg8000, sqlalchemy, pgx, pgjdbc,
    /// node-postgres, typeorm, sequelize, tokio-postgres, sqlx, gorm, adbc, flight, spark, trino,
    /// go-tpc
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// COPY of 10 million rows instead of one million
    #[arg(long)]
    full: bool,
    /// A server that is built already, instead of building one
    #[arg(long)]
    program: Option<std::path::PathBuf>,
}

/// Outcome of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Ok,
    Failed,
    Skipped,
}

/// Prints the table, line by line, and counts.
#[derive(Default)]
struct Report {
    ok: usize,
    failed: usize,
    skipped: usize,
}

impl Report {
    fn line(&mut self, client: &Client, scenario: &str, status: Status, why: &str) {
        let (count, word) = match status {
            Status::Ok => (&mut self.ok, "ok"),
            Status::Failed => (&mut self.failed, "FAILED"),
            Status::Skipped => (&mut self.skipped, "skipped"),
        };
        *count += 1;
        let Client { name, version } = client;
        let line = format!("{name:<14}  {version:<10}  {scenario:<40}  {word:<7}  {why}");
        println!("{}", line.trim_end());
    }

    /// The outcome of a scenario that is run here.
    fn outcome(&mut self, client: &Client, scenario: &str, outcome: &Outcome) {
        match outcome {
            Ok(()) => self.line(client, scenario, Status::Ok, ""),
            Err(why) => {
                let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
                self.line(client, scenario, Status::Failed, &why);
            }
        }
    }
}

/// A client and its version.
struct Client {
    name: &'static str,
    version: String,
}

/// Connections that one scenario holds, and some more.
const CONNECTIONS_MAX: &str = "1300";

/// Runs all scenarios.
///
/// # Errors
/// When the server cannot be started, or a scenario fails.
pub fn run(args: &ClientsArgs) -> Outcome {
    if args.program.is_none() {
        workspace::cargo(&["build", "--release", "-p", "server"])?;
    }
    let options = ["--max-connections", CONNECTIONS_MAX, "--flight", "127.0.0.1:0"]
        .map(OsString::from)
        .to_vec();
    let mut server = Server::start(args.program.as_deref(), options)?;
    let mut report = Report::default();
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|only| only == name);
    for program in programs::all().iter().filter(|program| wanted(program.client.name)) {
        program.run(&server, &mut report);
    }
    if wanted("pgbench") {
        psql::pgbench(&server, &mut report);
    }
    if wanted("go-tpc") {
        gotpc::run(&server, &mut report);
    }
    if wanted("psql") {
        psql::run(&mut server, args.full, &mut report);
    }
    let Report { ok, failed, skipped } = report;
    println!("{ok} ok, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(format!("{failed} scenarios failed")) }
}
