//! Processes of shared data on this machine: a commit manager, stores, and nodes that serve SQL.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use postgres::{Client, NoTls};
use testkit::Scratch;

/// A program's process; killed when dropped.
pub(crate) struct Process {
    child: Child,
    /// Address and port at which it listens.
    pub(crate) address: String,
    /// Address and port of Arrow Flight, if it was asked for.
    #[allow(dead_code)] // The tests of SQL do not ask for it.
    pub(crate) flight: Option<String>,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("the program was built");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut flight = None;
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (what, address) = line.rsplit_once(" on ")?;
            if what.ends_with("Arrow Flight") {
                flight = Some(address.to_owned());
                return None;
            }
            Some(address.to_owned())
        });
        // What it says later is read, so that it never waits.
        thread::spawn(move || lines.for_each(drop));
        let address = address.unwrap_or_else(|| panic!("{arguments:?} does not listen"));
        Self { child, address, flight }
    }

    /// Ends it at once.
    #[allow(dead_code)] // The tests of workloads kill nobody.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be over.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Shared data without nodes.
pub(crate) struct Cluster {
    pub(crate) manager: Process,
    pub(crate) stores: Vec<Process>,
    scratch: Scratch,
}

impl Cluster {
    /// A commit manager and so many stores, whose files are those of `name`.
    pub(crate) fn start(name: &str, stores: usize) -> Self {
        let scratch = Scratch::new(&format!("shared-sql-{name}"));
        let process = |command: &str, name: &str| {
            let path = scratch.join(name);
            Process::start(&[command, text(&path), "--listen", "127.0.0.1:0"])
        };
        let manager = process("commit-manager", "manager");
        let stores = (0..stores).map(|number| process("store", &format!("store{number}")));
        let stores = stores.collect();
        Self { manager, stores, scratch }
    }

    /// The stores as an argument.
    pub(crate) fn stores(&self) -> String {
        let stores: Vec<&str> = self.stores.iter().map(|store| store.address.as_str()).collect();
        stores.join(",")
    }

    /// Another store, which nobody knows yet.
    #[allow(dead_code)] // Most tests have those of the beginning.
    pub(crate) fn another_store(&self, name: &str) -> Process {
        let path = self.scratch.join(name);
        Process::start(&["store", text(&path), "--listen", "127.0.0.1:0"])
    }

    /// Another node, which is told of no store.
    #[allow(dead_code)] // Most tests have those of the beginning.
    pub(crate) fn late_node(&self) -> Process {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--auth", "trust"];
        Process::start(&[&serve[..], &["--shared", &self.manager.address]].concat())
    }

    /// Another node.
    pub(crate) fn node(&self) -> Process {
        self.node_with(&[])
    }

    /// Another node with these options.
    pub(crate) fn node_with(&self, options: &[&str]) -> Process {
        let (manager, stores) = (self.manager.address.as_str(), self.stores());
        let shared = ["--shared", manager, "--stores", &stores];
        let serve = ["serve", "--listen", "127.0.0.1:0", "--auth", "trust"];
        Process::start(&[&serve[..], &shared[..], options].concat())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// A session of a node.
pub(crate) fn client(node: &Process) -> Client {
    let (host, port) = node.address.rsplit_once(':').expect("an address and a port");
    let options = format!("host={host} port={port} user=tessera dbname=tessera");
    Client::connect(&options, NoTls).expect("the node lets this machine in")
}
