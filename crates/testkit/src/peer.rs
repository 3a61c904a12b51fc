//! Systems that Tessera is compared with: Python processes that run queries for us.
//!
//! ```text
//! we --one JSON object per line--> common.py + duckdb.py | datafusion.py --> the system
//!    <--one JSON object per line--
//! ```
//! Each lives in a virtual environment under the target directory, made on first use; that needs
//! `python3` with `venv`, and the package index once.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A system, in the release that every comparison names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// DuckDB.
    DuckDb,
    /// Apache DataFusion.
    DataFusion,
}

impl System {
    /// Its name, which is its package's.
    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::DataFusion => "datafusion",
        }
    }

    /// Its release.
    pub fn version(self) -> &'static str {
        match self {
            Self::DuckDb => "2.0.0",
            Self::DataFusion => "55.0.0",
        }
    }

    /// Program that its Python runs.
    fn script(self) -> &'static str {
        match self {
            Self::DuckDb => {
                concat!(include_str!("../peers/common.py"), include_str!("../peers/duckdb.py"))
            }
            Self::DataFusion => {
                concat!(include_str!("../peers/common.py"), include_str!("../peers/datafusion.py"))
            }
        }
    }
}

/// How a system runs.
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
    /// The system's names of the column types, `DECIMAL(15,2)` say.
    pub types: Vec<String>,
    /// Cells as PostgreSQL writes them; NULL is `None`.
    pub rows: Vec<Vec<Option<String>>>,
}

/// How long a query took inside the system, and how many rows it had.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Planning and running, to the last row.
    pub seconds: f64,
    /// Rows of the result.
    pub rows: u64,
}

/// Profile of a query by its system; DuckDB has none of those that it answers from statistics.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Binding, optimizing and physical planning; without parsing for DuckDB.
    pub planning_seconds: Option<f64>,
    /// Largest memory of DuckDB's buffer manager, beyond what it held before.
    pub peak_bytes: Option<u64>,
}

/// A running system; dropping it ends the process.
pub struct Peer {
    system: System,
    process: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts `system`; `home` holds the virtual environment, made when it is not there.
    ///
    /// # Errors
    /// When there is no Python, or the package cannot be installed.
    pub fn start(home: &Path, system: System, options: &Options) -> io::Result<Self> {
        let python = environment(home, system)?;
        let file = options.file.clone().unwrap_or_else(|| PathBuf::from(":memory:"));
        let mut process = Command::new(python)
            .args(["-c", system.script()])
            .arg(file)
            .arg(options.threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let requests = process.stdin.take();
        let replies = process.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        Ok(Self { system, process, requests, replies: BufReader::new(replies) })
    }

    /// Which system it is.
    pub fn system(&self) -> System {
        self.system
    }

    /// Makes `table` from a Parquet file.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn load_parquet(&mut self, table: &str, path: &Path) -> io::Result<Timing> {
        self.timed(&json!({"table": table, "file": path, "want": "load"}))
    }

    /// Runs `sql` and brings its rows.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn rows(&mut self, sql: &str) -> io::Result<Rows> {
        self.read(&json!({"sql": sql, "want": "rows"}))
    }

    /// As [`Self::rows`], interrupted after `limit`: DuckDB only.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn rows_within(&mut self, sql: &str, limit: Duration) -> io::Result<Rows> {
        self.read(&json!({"sql": sql, "want": "rows", "limit": limit.as_secs_f64()}))
    }

    fn read(&mut self, request: &Value) -> io::Result<Rows> {
        let reply = self.ask(request)?;
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
    /// Errors of the system.
    pub fn run(&mut self, sql: &str) -> io::Result<Timing> {
        self.timed(&json!({"sql": sql, "want": "done"}))
    }

    /// Runs the query `sql` a few times, so that its data is hot and the faster way to run it
    /// known.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn warm(&mut self, sql: &str) -> io::Result<Timing> {
        self.timed(&json!({"sql": sql, "want": "warm"}))
    }

    /// Runs the query `sql` in the faster way, if [`Self::warm`] found one; its rows are dropped.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn time(&mut self, sql: &str) -> io::Result<Timing> {
        self.timed(&json!({"sql": sql, "want": "time"}))
    }

    /// Runs the query `sql` under the profiler; its rows are dropped.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn profile(&mut self, sql: &str) -> io::Result<Profile> {
        let reply = self.ask(&json!({"sql": sql, "want": "profile"}))?;
        Ok(Profile {
            planning_seconds: reply["planning"].as_f64(),
            peak_bytes: reply["bytes"].as_u64(),
        })
    }

    fn timed(&mut self, request: &Value) -> io::Result<Timing> {
        let reply = self.ask(request)?;
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
            return Err(io::Error::other(format!(
                "{} ended; what it said stands above",
                self.system.name()
            )));
        }
        let reply: Value = serde_json::from_str(&line)?;
        match reply["error"].as_str() {
            Some(error) => Err(io::Error::other(error.to_owned())),
            None => Ok(reply),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The process ends when its input does.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The Python with the system in it.
fn environment(home: &Path, system: System) -> io::Result<PathBuf> {
    let (name, version) = (system.name(), system.version());
    std::fs::create_dir_all(home)?;
    // Two processes must not make it at the same time; the lock ends with this function.
    let lock = std::fs::File::create(home.join("lock"))?;
    lock.lock()?;
    let folder = home.join(format!("{name}-{version}"));
    let python = folder.join("bin/python");
    if folder.join("ready").is_file() {
        return Ok(python);
    }
    must(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let package = format!("{name}=={version}");
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
