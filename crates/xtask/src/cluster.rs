//! Processes of shared data on this machine: a commit manager, stores, nodes.
//!
//! Users: `slt --shared`, `bench shared`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::{root, text};

/// Options of any process: a port that is free.
const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// The program that cargo built last.
pub(crate) fn built() -> PathBuf {
    root().join("target/release/tessera")
}

/// How many processes there are of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) stores: usize,
    pub(crate) nodes: usize,
}

/// Processes of one database; they end with this, and what they keep is removed.
pub(crate) struct Cluster {
    /// The nodes end first.
    nodes: Vec<Process>,
    others: Vec<Process>,
    home: PathBuf,
}

impl Cluster {
    /// Starts `program` so many times; files are in `home`, which is made.
    ///
    /// # Errors
    /// When a process does not listen.
    pub(crate) fn start(program: &Path, home: PathBuf, sizes: Sizes) -> Result<Self, String> {
        fs::create_dir_all(&home).map_err(text)?;
        let mut cluster = Self { nodes: Vec::new(), others: Vec::new(), home };
        let home = cluster.home.clone();
        let start = |arguments: &[&str]| Process::start(program, &home, arguments);
        let manager = start(&[&["commit-manager", "manager"], &LISTEN[..]].concat())?;
        let (mut addresses, managed) = (Vec::new(), manager.address.clone());
        for number in 0..sizes.stores {
            let name = format!("store{number}");
            let store = start(&[&["store", &name], &LISTEN[..]].concat())?;
            addresses.push(store.address.clone());
            cluster.others.push(store);
        }
        cluster.others.push(manager);
        let addresses = addresses.join(",");
        let place = ["--auth", "trust", "--unix-socket", "."];
        let shared = ["--shared", &managed, "--stores", &addresses];
        for _ in 0..sizes.nodes {
            let node = start(&[&["serve"], &LISTEN[..], &place, &shared].concat())?;
            cluster.nodes.push(node);
        }
        Ok(cluster)
    }

    /// The socket of node `number`, from 0.
    pub(crate) fn socket(&self, number: usize) -> PathBuf {
        self.home.join(format!(".s.PGSQL.{}", self.port(number)))
    }

    /// The port of node `number`, from 0.
    fn port(&self, number: usize) -> &str {
        self.nodes[number].address.rsplit_once(':').unwrap_or_default().1
    }
}

/// A session of node `number`, from 0, over TCP.
#[cfg(feature = "peers")]
pub(crate) fn connect(
    cluster: &Cluster,
    number: usize,
) -> Result<postgres::Client, postgres::Error> {
    let options =
        format!("host=127.0.0.1 port={} user=tessera dbname=tessera", cluster.port(number));
    postgres::Client::connect(&options, postgres::NoTls)
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        self.others.clear();
        // What cannot be removed is the system's to remove.
        drop(fs::remove_dir_all(&self.home));
    }
}

/// A process, which ends with this.
struct Process {
    child: Child,
    address: String,
}

impl Process {
    fn start(program: &Path, home: &Path, arguments: &[&str]) -> Result<Self, String> {
        let child = Command::new(program)
            .args(arguments)
            .current_dir(home)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let child = child.map_err(|error| format!("{}: {error}", program.display()))?;
        let mut process = Self { child, address: String::new() };
        let output = process.child.stdout.take();
        let output = output.ok_or("a process without output")?;
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.rsplit_once(" on ")?.1.to_owned()));
        let silent = || format!("{arguments:?} does not listen");
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
