//! Processes of a cluster on this machine. None of them outlives the demo: they end with
//! [`Family::end`], which the cluster calls when it is dropped, and Ctrl-C at once.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use parking_lot::Mutex;
use types::{Error, Result, SqlState};

/// Stores of the cluster.
pub(super) const STORES: usize = 2;

/// Nodes of the cluster.
pub(super) const NODES: usize = 2;

/// Ports that the system gives to nobody by itself: a client that waits for a store to come back
/// must not be given the store's own port.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Ports that a demo tries.
const TRIES: u16 = 16;

/// Words of a server before its address.
const LISTENS: &str = " on ";

/// Words of a node before its address of Arrow Flight.
const FLIES: &str = "Arrow Flight on ";

/// Child processes, as long as they may live.
#[derive(Clone, Default)]
pub(super) struct Family(Arc<Mutex<Members>>);

#[derive(Default)]
struct Members {
    children: Vec<Child>,
    is_over: bool,
}

fn end(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

impl Family {
    /// Starts a child, unless it is over.
    fn spawn(&self, command: &mut Command) -> io::Result<(u32, Option<ChildStdout>)> {
        let mut members = self.0.lock();
        if members.is_over {
            return Err(io::Error::other("the demo is over"));
        }
        // In a group of its own, a child gets no Ctrl-C of the terminal.
        let mut child = command.process_group(0).spawn()?;
        let started = (child.id(), child.stdout.take());
        members.children.push(child);
        Ok(started)
    }

    /// Waits for the end of a child that has closed its output; true when it succeeded.
    fn has_succeeded(&self, id: u32) -> bool {
        let mut members = self.0.lock();
        let Some(at) = members.children.iter().position(|child| child.id() == id) else {
            return false;
        };
        members.children.swap_remove(at).wait().is_ok_and(|status| status.success())
    }

    /// Kills a child with SIGKILL.
    fn kill(&self, id: u32) {
        let mut members = self.0.lock();
        if let Some(at) = members.children.iter().position(|child| child.id() == id) {
            end(&mut members.children.swap_remove(at));
        }
    }

    /// Kills all children, and lets none start.
    pub(super) fn end(&self) {
        let mut members = self.0.lock();
        members.is_over = true;
        members.children.iter_mut().for_each(end);
        members.children.clear();
    }

    /// True when no child lives or starts any more.
    pub(super) fn is_over(&self) -> bool {
        self.0.lock().is_over
    }
}

/// A process that listens.
#[derive(Clone)]
pub(super) struct Server {
    /// Its name for the user, and that of its directory.
    pub(super) name: String,
    command: &'static str,
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// Where a node serves Arrow Flight.
    pub(super) flight: Option<SocketAddr>,
    /// Number of its process.
    pub(super) id: u32,
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:<14} {:<15} process {}", self.name, self.address, self.id)
    }
}

/// A commit manager, stores and nodes.
pub(super) struct Cluster {
    family: Family,
    program: PathBuf,
    directory: PathBuf,
    is_kept: bool,
    manager: Server,
    stores: Vec<Server>,
    nodes: Vec<Server>,
    /// Nodes that were ever started.
    started: usize,
}

fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::new(SqlState::IO_ERROR, format!("{what}: {error}"))
}

/// The lines that a child says, until it ends.
fn lines_of(output: Option<ChildStdout>) -> impl Iterator<Item = String> {
    let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
    lines.map_while(std::result::Result::ok)
}

/// Place of a cluster, whose processes it starts.
struct Starter<'a> {
    family: &'a Family,
    program: &'a Path,
    directory: &'a Path,
}

impl Starter<'_> {
    /// Starts a process, and waits until it says that it listens.
    ///
    /// # Errors
    /// 58030 when it ends before, with the end of what it said.
    fn start(&self, server: &Server, arguments: &[String]) -> Result<Server> {
        let log = self.directory.join(format!("{}.log", server.name));
        let errors = File::options().create(true).append(true).open(&log);
        let errors = errors.map_err(|error| failed(&log.display().to_string(), error))?;
        let mut command = Command::new(self.program);
        command.arg(server.command).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let (id, output) = self.family.spawn(&mut command).map_err(|e| failed(&server.name, e))?;
        let mut flight = None;
        let address = |line: String| {
            if let Some((_, at)) = line.split_once(FLIES) {
                flight = at.parse().ok();
                return None;
            }
            line.split_once(LISTENS).map(|(_, at)| at.parse())
        };
        match lines_of(output).find_map(address) {
            Some(Ok(address)) => Ok(Server { address, flight, id, ..server.clone() }),
            _ => {
                self.family.kill(id);
                let said = fs::read_to_string(&log).unwrap_or_default();
                let last = said.lines().last().unwrap_or("it ended").to_owned();
                Err(failed(&format!("{} does not start", server.name), last))
            }
        }
    }

    /// Starts a process with a directory, at its address.
    fn start_at(&self, server: &Server) -> Result<Server> {
        let directory = self.directory.join(&server.name).display().to_string();
        self.start(server, &[directory, "--listen".into(), server.address.to_string()])
    }

    /// Starts a process with a directory, at an address that it keeps.
    ///
    /// # Errors
    /// 58030 when it starts at no port.
    fn start_anywhere(&self, command: &'static str, name: String) -> Result<Server> {
        // Demos side by side look in different places.
        let place = std::process::id() % u32::from(PORTS.len() as u16 / TRIES);
        let first = PORTS.start + place as u16 * TRIES;
        let address = SocketAddr::from(([127, 0, 0, 1], first));
        let mut server = Server { name, command, address, flight: None, id: 0 };
        let mut outcome = Err(failed(&server.name, "no port is free"));
        for port in first..first + TRIES {
            server.address.set_port(port);
            if TcpListener::bind(server.address).is_ok() {
                outcome = self.start_at(&server);
                // Somebody else may have taken the port meanwhile.
                if outcome.is_ok() || self.family.is_over() {
                    break;
                }
            }
        }
        outcome
    }
}

impl Starter<'_> {
    fn store(&self, number: usize) -> Result<Server> {
        self.start_anywhere("store", format!("store-{number}"))
    }
}

impl Cluster {
    /// Starts all processes; their directories are in one of the system's place for such.
    ///
    /// # Errors
    /// 58030 when one does not start.
    pub(super) fn start(family: &Family, is_kept: bool) -> Result<Self> {
        let program = std::env::current_exe().map_err(|e| failed("this program", e))?;
        let name = format!("tessera-shared-demo-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).map_err(|e| failed(&directory.display().to_string(), e))?;
        let started = Self::start_in(family, &program, &directory);
        let (manager, stores) = started.inspect_err(|_| {
            family.end();
            // The reason why nothing started is what to report.
            let _ = fs::remove_dir_all(&directory);
        })?;
        let (family, nodes) = (family.clone(), Vec::new());
        let mut cluster =
            Self { family, program, directory, is_kept, manager, stores, nodes, started: 0 };
        for _ in 0..NODES {
            let node = cluster.new_node()?;
            cluster.nodes.push(node);
        }
        Ok(cluster)
    }

    fn start_in(
        family: &Family,
        program: &Path,
        directory: &Path,
    ) -> Result<(Server, Vec<Server>)> {
        let starter = Starter { family, program, directory };
        let manager = starter.start_anywhere("commit-manager", "manager".into())?;
        Ok((manager, (1..=STORES).map(|number| starter.store(number)).collect::<Result<_>>()?))
    }

    fn starter(&self) -> Starter<'_> {
        let Self { family, program, directory, .. } = self;
        Starter { family, program, directory }
    }

    /// Starts a node. The first one says which stores there are, and the manager keeps it.
    fn new_node(&mut self) -> Result<Server> {
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut arguments = ["--auth", "trust"].map(String::from).to_vec();
        for option in ["--listen", "--flight"] {
            arguments.extend([option.into(), anywhere.to_string()]);
        }
        arguments.extend(["--shared".into(), self.manager.address.to_string()]);
        if self.started == 0 {
            let stores: Vec<String> =
                self.stores.iter().map(|store| store.address.to_string()).collect();
            arguments.extend(["--stores".into(), stores.join(",")]);
        }
        self.started += 1;
        let name = format!("node-{}", self.started);
        let server = Server { name, command: "serve", address: anywhere, flight: None, id: 0 };
        self.starter().start(&server, &arguments)
    }

    /// Kills the node of a place, and starts none.
    pub(super) fn kill_node(&mut self, place: usize) -> &Server {
        self.family.kill(self.nodes[place].id);
        &self.nodes[place]
    }

    /// Starts another node in the place of one that was killed.
    ///
    /// # Errors
    /// 58030 when it does not start.
    pub(super) fn replace_node(&mut self, place: usize) -> Result<&Server> {
        self.nodes[place] = self.new_node()?;
        Ok(&self.nodes[place])
    }

    /// Kills a store.
    pub(super) fn kill_store(&mut self, number: usize) -> &Server {
        self.family.kill(self.stores[number].id);
        &self.stores[number]
    }

    /// Starts a store that was killed, with what it has on its disk.
    ///
    /// # Errors
    /// 58030 when it does not start.
    pub(super) fn start_store(&mut self, number: usize) -> Result<&Server> {
        self.stores[number] = self.starter().start_at(&self.stores[number])?;
        Ok(&self.stores[number])
    }

    /// Starts another store, which has no keys yet.
    ///
    /// # Errors
    /// 58030 when it does not start.
    pub(super) fn new_store(&mut self) -> Result<&Server> {
        let store = self.starter().store(self.stores.len() + 1)?;
        self.stores.push(store);
        Ok(&self.stores[self.stores.len() - 1])
    }

    /// Kills a store that was removed: it is none of the cluster's any more.
    pub(super) fn end_store(&mut self, number: usize) -> Server {
        let store = self.stores.remove(number);
        self.family.kill(store.id);
        store
    }

    /// Adds or removes a store with `tessera stores`, as an operator does.
    ///
    /// # Errors
    /// 58030 when the command does not start.
    pub(super) fn change(&self, change: Change, number: usize) -> Result<Moves> {
        let option = match change {
            Change::Add => "--add",
            Change::Remove => "--remove",
        };
        let log = self.directory.join("stores.log");
        let errors = File::options().create(true).append(true).open(&log);
        let errors = errors.map_err(|error| failed(&log.display().to_string(), error))?;
        let mut command = Command::new(&self.program);
        command.args(["stores", &self.manager.address.to_string(), option]);
        command.arg(self.stores[number].address.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let started = self.family.spawn(&mut command);
        let (id, output) = started.map_err(|error| failed("tessera stores", error))?;
        let (sender, lines) = mpsc::channel();
        // Ends with the command, or when nobody listens.
        thread::spawn(move || lines_of(output).try_for_each(|line| sender.send(line)));
        Ok(Moves { family: self.family.clone(), id, lines, log })
    }

    /// The nodes.
    pub(super) fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// All processes, in the order in which they were started.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Server> {
        [&self.manager].into_iter().chain(&self.stores).chain(&self.nodes)
    }

    /// Directory of what the processes keep.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Commands that start it again.
    pub(super) fn commands(&self) -> Vec<String> {
        let directory = self.directory.display();
        let keeps = [&self.manager].into_iter().chain(&self.stores);
        let command = |Server { name, command, address, .. }: &Server| {
            format!("tessera {command} {directory}/{name} --listen {address}")
        };
        let node = format!("tessera serve --shared {}", self.manager.address);
        keeps.map(command).chain([node]).collect()
    }
}

/// A change of the stores.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Add,
    Remove,
}

/// A command that changes the stores, and ends when all have their shares.
pub(super) struct Moves {
    family: Family,
    id: u32,
    /// The lines that it says; disconnected at its end.
    pub(super) lines: Receiver<String>,
    log: PathBuf,
}

impl Moves {
    /// Waits for the end of the command, which has closed its output.
    ///
    /// # Errors
    /// 58030 with what it said, when it failed.
    pub(super) fn end(self) -> Result<()> {
        if self.family.has_succeeded(self.id) {
            return Ok(());
        }
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        Err(failed("tessera stores", said.lines().last().unwrap_or("it ended")))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.family.end();
        if !self.is_kept {
            // Nobody needs it; what cannot be removed is the system's to remove.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}
