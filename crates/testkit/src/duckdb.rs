//! DuckDB as a peer: a Python process that runs queries for us.
//!
//! ```text
//! we --one JSON object per line--> duckdb_peer.py --> DuckDB
//!    <--one JSON object per line--
//! ```
//! The process lives in a virtual environment under the target directory, made on first use; that
//! needs `python3` with `venv`, and the package index once.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The release every comparison names.
pub const VERSION: &str = "2.0.0";

const SCRIPT: &str = include_str!("../peers/duckdb_peer.py");

/// How DuckDB runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads.
    pub threads: usize,
    /// A database file, or `None` for memory.
    pub file: Option<PathBuf>,
}

/// The rows of a query, as text.
#[derive(Clone, Debug)]
pub struct Rows {
    /// DuckDB's names of the column types, `DECIMAL(15,2)` say.
    pub types: Vec<String>,
    /// Cells as PostgreSQL writes them; NULL is `None`.
    pub rows: Vec<Vec<Option<String>>>,
}

/// How long a query took inside DuckDB, and how many rows it had.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Planning and running, to the last row.
    pub seconds: f64,
    /// Rows of the result.
    pub rows: u64,
}

/// What DuckDB's profiler says about a query; queries answered from statistics have no profile.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Binding, optimizing and physical planning, without parsing.
    pub planning_seconds: Option<f64>,
    /// Largest memory of the buffer manager, beyond what it held before.
    pub peak_bytes: Option<u64>,
}

/// A running DuckDB; dropping it ends the process.
pub struct DuckDb {
    process: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl DuckDb {
    /// Starts DuckDB; `home` holds the virtual environment, made when it is not there.
    ///
    /// # Errors
    /// When there is no Python, or the package cannot be installed.
    pub fn start(home: &Path, options: &Options) -> io::Result<Self> {
        let python = environment(home)?;
        let file = options.file.clone().unwrap_or_else(|| PathBuf::from(":memory:"));
        let mut process = Command::new(python)
            .args(["-c", SCRIPT])
            .arg(file)
            .arg(options.threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let requests = process.stdin.take();
        let replies = process.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        Ok(Self { process, requests, replies: BufReader::new(replies) })
    }

    /// Makes `table` from a Parquet file.
    ///
    /// # Errors
    /// What DuckDB says.
    pub fn load_parquet(&mut self, table: &str, path: &Path) -> io::Result<Timing> {
        let path = path.display();
        self.run(&format!("CREATE OR REPLACE TABLE {table} AS FROM read_parquet('{path}')"))
    }

    /// Makes `table` from a CSV file.
    ///
    /// # Errors
    /// What DuckDB says.
    pub fn load_csv(&mut self, table: &str, path: &Path) -> io::Result<Timing> {
        let path = path.display();
        self.run(&format!("CREATE OR REPLACE TABLE {table} AS FROM read_csv('{path}')"))
    }

    /// Runs `sql` and brings its rows.
    ///
    /// # Errors
    /// What DuckDB says.
    pub fn rows(&mut self, sql: &str) -> io::Result<Rows> {
        let reply = self.ask(&json!({"sql": sql, "want": "rows"}))?;
        let row =
            |cells: &Value| list(cells).map(|cell| cell.as_str().map(str::to_owned)).collect();
        Ok(Rows {
            types: list(&reply["types"]).filter_map(Value::as_str).map(str::to_owned).collect(),
            rows: list(&reply["rows"]).map(row).collect(),
        })
    }

    /// Runs the statement `sql`.
    ///
    /// # Errors
    /// What DuckDB says.
    pub fn run(&mut self, sql: &str) -> io::Result<Timing> {
        self.timed(sql, "done")
    }

    /// Runs the query `sql` a few times, so that its data is hot and the faster way to run it
    /// known.
    ///
    /// # Errors
    /// What DuckDB says.
    pub fn warm(&mut self, sql: &str) -> io::Result<Timing> {
        self.timed(sql, "warm")
    }

    /// Runs the query `sql` in the faster way, if [`Self::warm`] found one; its rows are dropped.
    ///
    /// # Errors
    /// What DuckDB says.
    pub fn time(&mut self, sql: &str) -> io::Result<Timing> {
        self.timed(sql, "time")
    }

    /// Runs the query `sql` under the profiler; its rows are dropped.
    ///
    /// # Errors
    /// What DuckDB says.
    pub fn profile(&mut self, sql: &str) -> io::Result<Profile> {
        let reply = self.ask(&json!({"sql": sql, "want": "profile"}))?;
        Ok(Profile {
            planning_seconds: reply["planning"].as_f64(),
            peak_bytes: reply["bytes"].as_u64(),
        })
    }

    fn timed(&mut self, sql: &str, want: &str) -> io::Result<Timing> {
        let reply = self.ask(&json!({"sql": sql, "want": want}))?;
        Ok(Timing {
            seconds: reply["seconds"].as_f64().unwrap_or(f64::NAN),
            rows: reply["count"].as_u64().unwrap_or(0),
        })
    }

    fn ask(&mut self, request: &Value) -> io::Result<Value> {
        let requests = self.requests.as_mut().ok_or_else(|| io::Error::other("no input"))?;
        writeln!(requests, "{request}")?;
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(io::Error::other("DuckDB ended; what it said stands above"));
        }
        let reply: Value = serde_json::from_str(&line)?;
        match reply["error"].as_str() {
            Some(error) => Err(io::Error::other(error.to_owned())),
            None => Ok(reply),
        }
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        // The process ends when its input does.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The Python with DuckDB in it.
fn environment(home: &Path) -> io::Result<PathBuf> {
    std::fs::create_dir_all(home)?;
    // Two processes must not make it at the same time; the lock ends with this function.
    let lock = std::fs::File::create(home.join("lock"))?;
    lock.lock()?;
    let folder = home.join(format!("duckdb-{VERSION}"));
    let python = folder.join("bin/python");
    if folder.join("ready").is_file() {
        return Ok(python);
    }
    must(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let package = format!("duckdb=={VERSION}");
    must(Command::new(&python).args(["-m", "pip", "install", "--quiet", &package]))?;
    std::fs::write(folder.join("ready"), "")?;
    Ok(python)
}

fn must(command: &mut Command) -> io::Result<()> {
    // Installers talk on standard output, which belongs to our report.
    match command.stdout(Stdio::null()).status()? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(format!("{command:?} ended with {status}"))),
    }
}
