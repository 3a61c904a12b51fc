//! Systems with the tables of a benchmark: what answers and times are compared with.
//!
//! ```text
//! Tessera --Parquet--> DuckDB, DataFusion      (a Python process, `testkit::peer`)
//!         --CSV------> PostgreSQL              (a server of our own, its columns indexed)
//! ```

use std::fs;
use std::path::Path;
use std::time::Instant;

use engine::Session;
use testkit::peer::{Options, Peer as Process, Profile, System};
use testkit::postgres::{Postgres, Wire};
use testkit::slt::{Answer, Connection as _};

pub use crate::bench_args::Which;
use crate::{peers_home, text};

/// Memory of a DuckDB that has a file, so that both sides fit at scale factor 10 in 24 GiB.
const PEER_FILE_MEMORY: &str = "6GB";

/// Fractional digits up to which PostgreSQL's numbers have ours.
const DIGITS_EXACT: usize = 10;

/// Integer columns of a table that get an index in PostgreSQL, which runs correlated sub-queries
/// row by row: without, TPC-H's Q20 takes minutes.
const INDEXED_COLUMNS_MAX: usize = 8;

/// A PostgreSQL that has memory for the benchmark; without a just-in-time compiler, which costs
/// more than it brings here.
const POSTGRES_SETTINGS: &str = "
listen_addresses = ''
timezone = 'UTC'
fsync = off
autovacuum = off
jit = off
shared_buffers = 6GB
work_mem = 512MB
maintenance_work_mem = 1GB
effective_cache_size = 12GB
random_page_cost = 1.1
";

/// One row of a result; NULL is `None`.
pub type Row = Vec<Option<String>>;

/// Rows, and which of their columns are floating-point numbers.
pub type Expected = (Vec<Row>, Vec<bool>);

/// A system with the same tables.
pub trait Peer {
    /// Its name, release and way of keeping tables.
    fn name(&self) -> String;

    /// The rows of `query`.
    ///
    /// # Errors
    /// Errors of the system.
    fn rows(&mut self, query: &str) -> Result<Expected, String>;

    /// Runs `query` until its data is hot.
    ///
    /// # Errors
    /// Errors of the system.
    fn warm(&mut self, query: &str) -> Result<(), String>;

    /// Milliseconds of `query`, from its text to its last row.
    ///
    /// # Errors
    /// Errors of the system.
    fn time(&mut self, query: &str) -> Result<f64, String>;

    /// Planning time and memory of `query`, as far as the system tells.
    ///
    /// # Errors
    /// Errors of the system.
    fn profile(&mut self, query: &str) -> Result<Profile, String>;
}

/// Starts a system with `tables`, which `tessera` has; `folder` is for its files.
///
/// # Errors
/// Errors of either side.
pub fn open(
    which: Which,
    tables: &[&str],
    threads: usize,
    tessera: &mut Session,
    folder: &Path,
) -> Result<Box<dyn Peer>, String> {
    let system = match which {
        Which::Postgres => return Ok(Box::new(Server::new(tables, threads, tessera)?)),
        Which::Datafusion => System::DataFusion,
        Which::Duckdb | Which::DuckdbFile => System::DuckDb,
    };
    let file = (which == Which::DuckdbFile).then(|| folder.join("peer.duckdb"));
    let has_file = file.is_some();
    let options = Options { threads, file };
    let mut process = Process::start(&peers_home(), system, &options).map_err(text)?;
    if has_file {
        let limit = format!("SET memory_limit = '{PEER_FILE_MEMORY}'");
        process.run(&limit).map_err(text)?;
    }
    for table in tables {
        let path = folder.join(format!("{table}.parquet"));
        let copy = format!("COPY \"{table}\" TO '{}' (FORMAT parquet)", path.display());
        tessera.execute(&copy).map_err(text)?;
        process.load_parquet(&format!("\"{table}\""), &path).map_err(text)?;
        fs::remove_file(&path).map_err(text)?;
    }
    Ok(Box::new(Embedded { process, has_file }))
}

/// A system inside a process that we started.
struct Embedded {
    process: Process,
    has_file: bool,
}

impl Peer for Embedded {
    fn name(&self) -> String {
        let system = self.process.system();
        let place = if self.has_file { "from its file" } else { "in memory" };
        format!("{} {} {place}", system.name(), system.version())
    }

    fn rows(&mut self, query: &str) -> Result<Expected, String> {
        let found = self.process.rows(query).map_err(text)?;
        let is_float = |kind: &String| matches!(kind.as_str(), "DOUBLE" | "FLOAT" | "double");
        let floating = found.types.iter().map(is_float).collect();
        Ok((found.rows, floating))
    }

    fn warm(&mut self, query: &str) -> Result<(), String> {
        self.process.warm(query).map(|_| ()).map_err(text)
    }

    fn time(&mut self, query: &str) -> Result<f64, String> {
        self.process.time(query).map(|timing| timing.seconds * 1e3).map_err(text)
    }

    fn profile(&mut self, query: &str) -> Result<Profile, String> {
        self.process.profile(query).map_err(text)
    }
}

/// PostgreSQL with the tables of a benchmark.
struct Server {
    // The first field: it goes before the server does.
    connection: Wire,
    _server: Postgres,
}

impl Server {
    /// Starts a server and hands it the tables as CSV files.
    fn new(tables: &[&str], threads: usize, tessera: &mut Session) -> Result<Self, String> {
        let workers = format!("max_parallel_workers_per_gather = {}\n", threads.max(1) - 1);
        let server = Postgres::start_with(&(POSTGRES_SETTINGS.to_owned() + &workers));
        let server = server.map_err(text)?;
        let mut connection = server.connect("postgres").map_err(text)?;
        for table in tables {
            let path = server.folder().join(format!("{table}.csv"));
            copy_in(&mut connection, tessera, table, &path)?;
            fs::remove_file(&path).map_err(text)?;
        }
        Ok(Self { connection, _server: server })
    }
}

/// Makes `table`, with its rows, statistics and indexes of integer columns.
fn copy_in(
    connection: &mut Wire,
    tessera: &mut Session,
    table: &str,
    path: &Path,
) -> Result<(), String> {
    let copy = format!("COPY \"{table}\" TO '{}'", path.display());
    tessera.execute(&copy).map_err(text)?;
    let empty = tessera.execute(&format!("SELECT * FROM \"{table}\" LIMIT 0")).map_err(text)?;
    let columns = empty.columns().iter().map(|(name, ty)| format!("\"{name}\" {ty}"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let mut statements = vec![
        format!("CREATE TABLE \"{table}\" ({columns})"),
        format!("COPY \"{table}\" FROM '{}' (FORMAT csv)", path.display()),
    ];
    let keys = empty.columns().iter().filter(|(_, ty)| ty.is_integer());
    for (name, _) in keys.take(INDEXED_COLUMNS_MAX) {
        statements.push(format!("CREATE INDEX ON \"{table}\" (\"{name}\")"));
    }
    statements.push(format!("VACUUM ANALYZE \"{table}\""));
    statements.iter().try_for_each(|sql| connection.run(sql).map(|_| ()).map_err(text))
}

impl Peer for Server {
    fn name(&self) -> String {
        "postgresql 15".into()
    }

    fn rows(&mut self, query: &str) -> Result<Expected, String> {
        let Answer::Rows { columns, rows } = self.connection.run(query).map_err(text)? else {
            return Err("PostgreSQL has no rows".into());
        };
        // Quotients have more digits here than there.
        let long = |row: &Row, i: usize| {
            let cell = row[i].as_deref().unwrap_or("");
            cell.split_once('.').is_some_and(|(_, fraction)| fraction.len() > DIGITS_EXACT)
        };
        let floating = (0..columns).map(|i| rows.iter().any(|row| long(row, i))).collect();
        Ok((rows, floating))
    }

    fn warm(&mut self, query: &str) -> Result<(), String> {
        self.time(query).map(|_| ())
    }

    fn time(&mut self, query: &str) -> Result<f64, String> {
        let start = Instant::now();
        self.connection.count_rows(query).map_err(text)?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    fn profile(&mut self, query: &str) -> Result<Profile, String> {
        let explain = format!("EXPLAIN (SUMMARY, COSTS OFF) {query}");
        let (rows, _) = self.rows(&explain)?;
        let line = rows.iter().flatten().flatten().find_map(|line| {
            line.strip_prefix("Planning Time: ")?.strip_suffix(" ms")?.parse::<f64>().ok()
        });
        let planning_seconds = line.map(|ms| ms / 1e3);
        Ok(Profile { planning_seconds, peak_bytes: None })
    }
}
