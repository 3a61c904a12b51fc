//! Processes of a database, to be killed and started again.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use shared::Addresses;
use transport::Token;

use crate::journal::Journal;
use crate::node::PLACE;

/// Ports that the system gives to nobody by itself: a client that waits for a server to come back
/// must not be given the server's own port.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// File with the secret of all processes.
const TOKEN_FILE: &str = "token";

/// The secret.
const SECRET: &str = "killed-but-never-lost";

/// Time in which a server starts.
const START: Duration = Duration::from_secs(60);

/// A program's process; killed when dropped.
struct Process(Child);

impl Process {
    fn kill(&mut self) {
        // SIGKILL.
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it is ours");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be over.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A server that keeps its address over its lives.
struct Server {
    command: &'static str,
    directory: PathBuf,
    address: SocketAddr,
    process: Process,
}

/// Starts a server; `None` when it ends before it listens.
fn spawn(command: &str, directory: &Path, address: SocketAddr) -> Option<Process> {
    let token = directory.parent().expect("the scratch directory").join(TOKEN_FILE);
    let child = Command::new(env!("CARGO_BIN_EXE_tessera"))
        .arg(command)
        .arg(directory)
        .args(["--listen", &address.to_string(), "--token-file"])
        .arg(token)
        .stdout(Stdio::piped())
        .spawn();
    let mut process = Process(child.expect("the program was built"));
    let out = process.0.stdout.take().expect("it is piped");
    let listens = |line: String| line.contains(&address.to_string());
    let is_up = BufReader::new(out).lines().map_while(Result::ok).any(listens);
    is_up.then_some(process)
}

impl Server {
    fn start(command: &'static str, directory: PathBuf) -> Self {
        // No port twice: the address of a server that was killed stays its own.
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let first = PORTS.start + (std::process::id() % 10_000) as u16;
        loop {
            let port = first + NEXT.fetch_add(1, Ordering::Relaxed);
            assert!(port < PORTS.end, "{command} starts nowhere");
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            if TcpListener::bind(address).is_err() {
                continue;
            }
            if let Some(process) = spawn(command, &directory, address) {
                return Self { command, directory, address, process };
            }
        }
    }

    fn kill(&mut self) {
        self.process.kill();
    }

    fn start_again(&mut self) {
        let deadline = Instant::now() + START;
        loop {
            if let Some(process) = spawn(self.command, &self.directory, self.address) {
                self.process = process;
                return;
            }
            assert!(Instant::now() < deadline, "{} does not start again", self.command);
        }
    }
}

/// The secret, as a client has it.
pub(crate) fn token() -> Token {
    Token::new(SECRET).expect("long enough")
}

/// The servers of a database.
pub(crate) struct Database {
    manager: Server,
    stores: Vec<Server>,
}

impl Database {
    pub(crate) fn start(scratch: &Path) -> Self {
        std::fs::write(scratch.join(TOKEN_FILE), SECRET).expect("there is room");
        let manager = Server::start("commit-manager", scratch.join("manager"));
        let store = |name| Server::start("store", scratch.join(name));
        Self { manager, stores: ["one", "two"].map(store).into() }
    }

    pub(crate) fn addresses(&self) -> Addresses {
        Addresses {
            manager: self.manager.address,
            stores: self.stores.iter().map(|store| store.address).collect(),
            patience: START,
            token: Some(token()),
        }
    }

    pub(crate) fn kill_store(&mut self, number: usize) {
        self.stores[number].kill();
        self.stores[number].start_again();
    }

    pub(crate) fn kill_manager(&mut self) {
        self.manager.kill();
        self.manager.start_again();
    }

    pub(crate) fn kill_all(&mut self) {
        self.manager.kill();
        self.stores.iter_mut().for_each(Server::kill);
        self.stores.iter_mut().for_each(Server::start_again);
        self.manager.start_again();
    }
}

/// A node, and who reads what it says.
pub(crate) struct NodeProcess {
    process: Process,
    reader: Option<JoinHandle<()>>,
}

impl NodeProcess {
    /// The node with this number, which no other has.
    pub(crate) fn start(addresses: &Addresses, number: u32, journal: &Arc<Journal>) -> Self {
        let stores: Vec<String> = addresses.stores.iter().map(ToString::to_string).collect();
        let place = format!("{number} {} {}", addresses.manager, stores.join(" "));
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args(["a_node", "--exact", "--nocapture"])
            .env(PLACE, place)
            .stdout(Stdio::piped())
            .spawn();
        let mut process = Process(child.expect("starts"));
        let out = process.0.stdout.take().expect("it is piped");
        let journal = Arc::clone(journal);
        let read = move || {
            let mut reader = BufReader::new(out);
            let mut line = String::new();
            // The last line may be a part of one.
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) && line.ends_with('\n') {
                journal.line(number, line.trim_end());
                line.clear();
            }
        };
        Self { process, reader: Some(thread::spawn(read)) }
    }

    /// Kills it, and reads what it said.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
        if let Some(reader) = self.reader.take() {
            reader.join().expect("reads");
        }
    }
}
