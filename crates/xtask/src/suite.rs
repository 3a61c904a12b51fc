//! The benchmarks that both Tessera and a peer run: their queries, and the same data on both sides.

use std::fs;
use std::path::PathBuf;

use engine::{Config, Session};
use testkit::duckdb::{self, DuckDb};

use crate::{peers_home, tessera, text};

/// Memory of a DuckDB that has a file, so that both sides fit at scale factor 10 in 24 GiB.
const PEER_FILE_MEMORY: &str = "6GB";

/// A benchmark.
#[derive(Clone)]
pub struct Suite {
    /// Its procedure: `CALL tpch(sf => 1)`.
    pub name: &'static str,
    /// Its tables.
    pub tables: &'static [&'static str],
    /// Names and texts of its queries.
    pub queries: Vec<(String, &'static str)>,
}

impl Suite {
    /// TPC-H, queries 1 to 22.
    pub fn tpch() -> Self {
        let named = (1..).zip(workloads::tpch::QUERIES);
        Self {
            name: "tpch",
            tables: &workloads::tpch::TABLES,
            queries: named.map(|(number, text): (u32, _)| (number.to_string(), text)).collect(),
        }
    }

    /// The star schema benchmark, 13 queries in four flights.
    pub fn ssb() -> Self {
        let named = workloads::ssb::QUERIES.into_iter();
        Self {
            name: "ssb",
            tables: &workloads::ssb::TABLES,
            queries: named.map(|(name, text)| (name.to_owned(), text)).collect(),
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
    /// Names of the queries to run; all when empty.
    pub queries: Vec<String>,
}

impl Options {
    /// The chosen queries with their names.
    pub fn chosen(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let queries = self.suite.queries.iter().map(|(name, text)| (name.as_str(), *text));
        queries.filter(|(name, _)| {
            self.queries.is_empty() || self.queries.iter().any(|wanted| wanted == name)
        })
    }
}

/// Both sides with the same data loaded.
pub struct Pair {
    /// Tessera.
    pub tessera: Session,
    /// DuckDB.
    pub duckdb: DuckDb,
    // The last field: it goes when DuckDB has closed its files.
    scratch: Scratch,
}

/// A directory that is removed with its owner.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Self, String> {
        let folder = peers_home().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(text)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: what remains is in the target directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Generates the data in Tessera, hands it to DuckDB as Parquet files, and opens both.
///
/// # Errors
/// What either side says.
pub fn open(options: &Options, peer_file: bool) -> Result<Pair, String> {
    let config = Config { threads: options.threads, ..Config::default() };
    let database = tessera::open(config).map_err(text)?;
    let mut session = database.session();
    let call = format!("CALL {}(sf => {})", options.suite.name, options.scale);
    session.execute(&call).map_err(text)?;
    let scratch = Scratch::new(options.suite.name)?;
    let file = peer_file.then(|| scratch.0.join("peer.duckdb"));
    let peer = duckdb::Options { threads: options.threads, file };
    let mut duckdb = DuckDb::start(&peers_home(), &peer).map_err(text)?;
    if peer_file {
        let limit = format!("SET memory_limit = '{PEER_FILE_MEMORY}'");
        duckdb.rows(&limit).map_err(text)?;
    }
    let mut pair = Pair { tessera: session, duckdb, scratch };
    options.suite.tables.iter().try_for_each(|table| pair.copy(table))?;
    Ok(pair)
}

impl Pair {
    /// Hands one table from Tessera to DuckDB.
    fn copy(&mut self, table: &str) -> Result<(), String> {
        let path = self.scratch.0.join(format!("{table}.parquet"));
        let copy = format!("COPY \"{table}\" TO '{}' (FORMAT parquet)", path.display());
        self.tessera.execute(&copy).map_err(text)?;
        self.duckdb.load_parquet(&format!("\"{table}\""), &path).map_err(text)?;
        fs::remove_file(&path).map_err(text)
    }
}
