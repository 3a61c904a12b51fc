//! The benchmarks that both Tessera and a peer run: their queries, and the same data on both sides.

use std::fs;
use std::path::PathBuf;

use engine::{Config, Database, Session};
use testkit::duckdb::{self, DuckDb};

use crate::{peers_home, tessera, text};

/// A benchmark.
#[derive(Clone, Copy)]
pub struct Suite {
    /// Its procedure: `CALL tpch(sf => 1)`.
    pub name: &'static str,
    /// Its queries, the first is number 1.
    pub queries: &'static [&'static str],
}

impl Suite {
    /// TPC-H, 22 queries.
    pub fn tpch() -> Self {
        Self {
            name: "tpch",
            queries: &workloads::tpch::QUERIES,
        }
    }

    /// The star schema benchmark, 13 queries.
    pub fn ssb() -> Self {
        Self {
            name: "ssb",
            queries: &workloads::ssb::QUERIES,
        }
    }
}

/// What to run.
#[derive(Clone)]
pub struct Options {
    /// The benchmark.
    pub suite: Suite,
    /// Its scale factor.
    pub scale: f64,
    /// Worker threads of both sides.
    pub threads: usize,
    /// Numbers of the queries to run; all when empty.
    pub queries: Vec<usize>,
}

impl Options {
    /// The chosen queries with their numbers.
    pub fn chosen(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let wanted = |number: &usize| self.queries.is_empty() || self.queries.contains(number);
        let queries = self.suite.queries;
        (1..=queries.len())
            .filter(wanted)
            .map(|number| (number, queries[number - 1]))
    }
}

/// Both sides with the same data loaded.
pub struct Pair {
    /// Tessera.
    pub tessera: Session,
    /// DuckDB.
    pub duckdb: DuckDb,
}

/// Generates the data in Tessera, hands it to DuckDB as Parquet files, and opens both.
///
/// # Errors
/// What either side says.
pub fn open(options: &Options, peer_file: bool) -> Result<Pair, String> {
    let config = Config {
        threads: options.threads,
        ..Config::default()
    };
    let database = tessera::open(config).map_err(text)?;
    let mut session = database.session();
    let call = format!("CALL {}(sf => {})", options.suite.name, options.scale);
    session.execute(&call).map_err(text)?;
    let folder = peers_home().join(format!("{}-{}", options.suite.name, std::process::id()));
    fs::create_dir_all(&folder).map_err(text)?;
    let file = peer_file.then(|| folder.join("peer.duckdb"));
    let peer = duckdb::Options {
        threads: options.threads,
        file,
    };
    let mut duckdb = DuckDb::start(&peers_home(), &peer).map_err(text)?;
    let copied = copy_tables(&database, &mut session, &mut duckdb, &folder);
    if !peer_file {
        // Best effort: what remains is in the target directory.
        let _ = fs::remove_dir_all(&folder);
    }
    copied.map(|()| Pair {
        tessera: session,
        duckdb,
    })
}

fn copy_tables(
    database: &Database,
    session: &mut Session,
    duckdb: &mut DuckDb,
    folder: &std::path::Path,
) -> Result<(), String> {
    for table in database.relations() {
        let path: PathBuf = folder.join(format!("{}.parquet", table.name));
        let copy = format!(
            "COPY \"{}\" TO '{}' (FORMAT parquet)",
            table.name,
            path.display()
        );
        session.execute(&copy).map_err(text)?;
        duckdb.load_parquet(&table.name, &path).map_err(text)?;
        fs::remove_file(&path).map_err(text)?;
    }
    Ok(())
}
