//! `cargo xtask slt --shared STORES`: SQL tests on shared tables, with real processes.
//!
//! ```text
//! file -> manager, stores and a node of its own -> sessions through the node's socket
//! ```
//! `tests/shared.txt` names the files that hold there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use testkit::postgres::Wire;
use testkit::slt::{Backend, Connection, Database, SqlError};

use crate::root;

/// Databases of shared tables, each of processes of its own.
pub(super) struct Shared {
    program: PathBuf,
    stores: usize,
    /// Directories of the databases.
    home: PathBuf,
    made: AtomicU64,
}

impl Shared {
    /// Databases with so many stores, whose processes run `program`, or what cargo built last.
    pub(super) fn new(program: Option<&Path>, stores: usize) -> Self {
        let built = || root().join("target/release/tessera");
        let program = program.map_or_else(built, Path::to_owned);
        let home = std::env::temp_dir().join(format!("tessera-shared-{}", std::process::id()));
        Self { program, stores, home, made: AtomicU64::new(0) }
    }

    /// The files that hold there.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub(super) fn files() -> Result<Vec<PathBuf>, String> {
        let list = root().join("tests/shared.txt");
        let text = fs::read_to_string(&list);
        let text = text.map_err(|error| format!("{}: {error}", list.display()))?;
        let names = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let names = names.filter(|line| !line.starts_with('#'));
        Ok(names.map(|name| root().join("tests/slt").join(name)).collect())
    }
}

impl Backend for Shared {
    fn name(&self) -> &str {
        "tessera"
    }

    fn create(&self) -> Result<Box<dyn Database>, SqlError> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let home = self.home.join(number.to_string());
        fs::create_dir_all(&home).map_err(SqlError::internal)?;
        let start = |arguments: &[&str]| Process::start(&self.program, &home, arguments);
        let listen = ["--listen", "127.0.0.1:0"];
        let manager = start(&[&["commit-manager", "manager"], &listen[..]].concat())?;
        let mut processes = Vec::new();
        for number in 0..self.stores {
            let name = format!("store{number}");
            processes.push(start(&[&["store", &name], &listen[..]].concat())?);
        }
        let addresses: Vec<&str> = processes.iter().map(|store| store.address.as_str()).collect();
        let (stores, place) = (addresses.join(","), ["--auth", "trust", "--unix-socket", "."]);
        let shared = ["--shared", &manager.address, "--stores", &stores];
        let node = start(&[&["serve"], &listen[..], &place, &shared].concat())?;
        let (_, port) = node.address.rsplit_once(':').unwrap_or_default();
        let socket = home.join(format!(".s.PGSQL.{port}"));
        // The node ends first.
        processes.insert(0, node);
        processes.push(manager);
        Ok(Box::new(OneDatabase { processes, socket, home }))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.home));
    }
}

struct OneDatabase {
    processes: Vec<Process>,
    socket: PathBuf,
    home: PathBuf,
}

impl Database for OneDatabase {
    fn connect(&self) -> Result<Box<dyn Connection>, SqlError> {
        Ok(Box::new(Wire::connect(&self.socket, "tessera", "tessera")?))
    }

    fn waiting(&self) -> Result<Vec<String>, SqlError> {
        // Shared tables have no locks that anybody waits for.
        Ok(Vec::new())
    }
}

impl Drop for OneDatabase {
    fn drop(&mut self) {
        self.processes.clear();
        drop(fs::remove_dir_all(&self.home));
    }
}

/// A process, which ends with this.
struct Process {
    child: Child,
    address: String,
}

impl Process {
    fn start(program: &Path, home: &Path, arguments: &[&str]) -> Result<Self, SqlError> {
        let child = Command::new(program)
            .args(arguments)
            .current_dir(home)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let child =
            child.map_err(|error| SqlError::internal(format!("{}: {error}", program.display())))?;
        let mut process = Self { child, address: String::new() };
        let output = process.child.stdout.take();
        let output = output.ok_or_else(|| SqlError::internal("a process without output"))?;
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.rsplit_once(" on ")?.1.to_owned()));
        let silent = || SqlError::internal(format!("{arguments:?} does not listen"));
        process.address = address.ok_or_else(silent)?;
        // What it says later is read, so that it never waits.
        thread::spawn(move || lines.for_each(drop));
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be over.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
