//! `cargo xtask fuzz-wire`: bytes and statements that no client sends, against a server.
//!
//! ```text
//! seeds (statements of tests/slt, kept inputs) -> mutated -> clients -> tessera serve
//!                      a new kind of answer is a new seed <-'            |
//! a control connection: does it answer, how much memory does it hold <---'
//! ```
//! A finding is a server that ends, a connection that does not although it was cancelled, an
//! internal error (XX000), or memory beyond the limit. Each is kept as a file that
//! `--replay` sends again. Inputs worth keeping are in `tests/wire`; a test of crate `wire`
//! sends them all.

mod link;
mod mutate;
mod seeds;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use testkit::postgres::Wire;
use testkit::slt::{Answer, Connection as _, SqlError};
use testkit::{Random, Scratch};

use self::link::{Answers, End, PATIENCE};
use self::seeds::{Input, Seeds};
use crate::server::Server;
use crate::{Outcome, root, text, workspace};

/// Arguments of `fuzz-wire`.
#[derive(Args, Clone, Debug)]
pub struct FuzzWireArgs {
    /// How long
    #[arg(long, default_value_t = 10.0)]
    pub minutes: f64,
    /// Where chance begins
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Clients at a time
    #[arg(long, default_value_t = 4)]
    pub clients: usize,
    /// The server's program; what cargo builds without
    #[arg(long)]
    pub program: Option<PathBuf>,
    /// Sends these inputs and ends
    #[arg(long, num_args = 1..)]
    pub replay: Vec<PathBuf>,
    /// Adds inputs with new kinds of answers to the corpus
    #[arg(long)]
    pub keep: bool,
}

/// Memory that the servers may use for data and queries.
const MEMORY_BYTES: u64 = 1 << 30;

/// Resident memory of a server beyond that: code, stacks, buffers of connections.
const MEMORY_BESIDE_BYTES: u64 = 512 << 20;

/// Most inputs that a run adds to the corpus, and the bytes of one.
const KEPT_MAX: usize = 40;
const KEPT_BYTES_MAX: usize = 2_000;

/// State that all threads share.
struct Shared {
    seeds: Mutex<Seeds>,
    /// Answers seen, as sets of their kinds and SQLSTATEs.
    seen: Mutex<HashSet<String>>,
    findings: Mutex<Findings>,
    inputs: AtomicU64,
    is_over: AtomicBool,
}

/// Findings, each kind once.
struct Findings {
    folder: PathBuf,
    known: HashSet<String>,
}

impl Findings {
    /// Keeps `input`, which led to `what`.
    fn add(&mut self, what: &str, input: Option<&Input>) {
        let kind: String = what.chars().filter(|c| !c.is_ascii_digit()).collect();
        if !self.known.insert(kind) {
            return;
        }
        println!("FOUND {what}");
        let Some(input) = input else { return };
        let path = self.folder.join(format!("finding-{}.bin", self.known.len()));
        let written =
            fs::create_dir_all(&self.folder).and_then(|()| fs::write(&path, input.to_file()));
        match written {
            Ok(()) => println!("  {}", path.display()),
            Err(error) => println!("  not kept: {error}"),
        }
        println!("  {}", input.shown());
    }
}

/// The servers: one lets everybody in, the other asks for a password.
struct Servers {
    trusting: Server,
    asking: Server,
    /// Where their sockets are.
    folder: Scratch,
}

impl Servers {
    fn start(args: &FuzzWireArgs) -> Result<Self, String> {
        if args.program.is_none() {
            workspace::cargo(&["build", "--release", "-p", "server"])?;
        }
        let (memory, folder) = (MEMORY_BYTES.to_string(), Scratch::new("fuzz-wire"));
        let start = |auth: &str| {
            let options = ["--auth", auth, "--memory", &memory, "--statement-timeout", "3"];
            let socket = ["--unix-socket".into(), folder.path().into()];
            let options = options.iter().map(OsString::from).chain(socket).collect();
            Server::start(args.program.as_deref(), options)
        };
        let (trusting, asking) = (start("trust")?, start("scram")?);
        let servers = Self { trusting, asking, folder };
        let mut control = servers.control()?;
        ask(&mut control, "CREATE ROLE fuzz LOGIN")?;
        ask(&mut control, "GRANT CREATE ON SCHEMA public TO fuzz")?;
        Ok(servers)
    }

    /// A superuser's connection, which has to be answered in good time.
    fn control(&self) -> Result<Wire, String> {
        let socket = self.folder.join(format!(".s.PGSQL.{}", self.trusting.port));
        let wire = Wire::connect_within(&socket, "tessera", "tessera", Some(PATIENCE));
        wire.map_err(|error| said(&error))
    }

    fn of(&self, input: &Input) -> &Server {
        if input.is_seated { &self.trusting } else { &self.asking }
    }
}

/// The first column of what `sql` gives.
fn ask(control: &mut Wire, sql: &str) -> Result<Vec<String>, String> {
    match control.run(sql).map_err(|error| said(&error))? {
        Answer::Rows { rows, .. } => {
            Ok(rows.into_iter().filter_map(|mut row| row.remove(0)).collect())
        }
        Answer::Done(_) => Ok(Vec::new()),
    }
}

fn said(error: &SqlError) -> String {
    format!("the control connection: {} {}", error.sqlstate, error.message)
}

/// Runs it.
///
/// # Errors
/// Findings, or why it could not run.
pub fn run(args: &FuzzWireArgs) -> Outcome {
    let servers = Servers::start(args)?;
    let shared = Shared {
        seeds: Mutex::new(Seeds::read(&root())?),
        seen: Mutex::default(),
        findings: Mutex::new(Findings {
            folder: root().join("target/fuzz-wire"),
            known: HashSet::new(),
        }),
        inputs: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    if !args.replay.is_empty() {
        for path in &args.replay {
            let input = Input::from_file(&fs::read(path).map_err(text)?);
            println!("{}: {}", path.display(), input.shown());
            println!("{:?}", shared.send(&servers, &input));
        }
        return over(&servers, &shared);
    }
    let corpus = root().join("tests/wire");
    for input in seeds::kept(&corpus)? {
        shared.send(&servers, &input);
    }
    let end = Instant::now() + Duration::from_secs_f64(args.minutes * 60.0);
    std::thread::scope(|scope| {
        for client in 0..args.clients {
            let (shared, servers) = (&shared, &servers);
            let mut random = Random::new(args.seed.wrapping_mul(1_000_003) + client as u64);
            scope.spawn(move || {
                while !shared.is_over.load(Ordering::Relaxed) {
                    shared.one(servers, &mut random);
                }
            });
        }
        let watched = watch(&servers, &shared, end);
        shared.is_over.store(true, Ordering::Relaxed);
        watched
    })?;
    if args.keep {
        keep(&corpus, &shared)?;
    }
    over(&servers, &shared)
}

impl Shared {
    /// Sends a new input.
    fn one(&self, servers: &Servers, random: &mut Random) {
        let input = self.seeds.lock().expect("no thread panics").draw(random);
        let answers = self.send(servers, &input);
        self.inputs.fetch_add(1, Ordering::Relaxed);
        if self.seen.lock().expect("no thread panics").insert(answers.signature()) {
            self.seeds.lock().expect("no thread panics").add(input);
        }
    }

    fn send(&self, servers: &Servers, input: &Input) -> Answers {
        let answers = link::converse(&servers.of(input).port, input);
        let mut findings = self.findings.lock().expect("no thread panics");
        for message in &answers.internal_errors {
            findings.add(&format!("XX000: {message}"), Some(input));
        }
        match &answers.end {
            End::Closed => {}
            End::Hangs => findings.add("a connection that does not end", Some(input)),
            End::Refused(why) => findings.add(&format!("no connection: {why}"), Some(input)),
        }
        answers
    }
}

/// Asks the servers how they are until `end`.
fn watch(servers: &Servers, shared: &Shared, end: Instant) -> Outcome {
    let start = Instant::now();
    let mut said = start;
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(500));
        for server in [&servers.trusting, &servers.asking] {
            let resident = resident_bytes(server.id())?;
            if resident > MEMORY_BYTES + MEMORY_BESIDE_BYTES {
                let message = format!("a server with {} MiB of memory", resident >> 20);
                shared.findings.lock().expect("no thread panics").add(&message, None);
            }
        }
        ask(&mut servers.control()?, "SELECT 1")?;
        if said.elapsed() > Duration::from_secs(60) {
            said = Instant::now();
            println!("{}", report(servers, shared, start)?);
            tidy(servers)?;
        }
    }
    println!("{}", report(servers, shared, start)?);
    Ok(())
}

/// Drops the tables that inputs left, so that memory that stays is a leak.
fn tidy(servers: &Servers) -> Outcome {
    let mut control = servers.control()?;
    let drops = "SELECT 'DROP TABLE IF EXISTS ' || quote_ident(tablename) || ' CASCADE' \
                 FROM pg_tables WHERE schemaname = 'public'";
    for drop in ask(&mut control, drops)? {
        // Somebody may hold it for longer than a statement may wait; the next time will do.
        let _ = ask(&mut control, &drop);
    }
    Ok(())
}

fn report(servers: &Servers, shared: &Shared, start: Instant) -> Result<String, String> {
    let resident = [&servers.trusting, &servers.asking].map(|server| resident_bytes(server.id()));
    let [trusting, asking] = resident;
    Ok(format!(
        "{:5} s: {} inputs, {} kinds of answers, {} and {} MiB resident",
        start.elapsed().as_secs(),
        shared.inputs.load(Ordering::Relaxed),
        shared.seen.lock().expect("no thread panics").len(),
        trusting? >> 20,
        asking? >> 20,
    ))
}

/// Bytes of memory that a process holds.
fn resident_bytes(id: u32) -> Result<u64, String> {
    let status = fs::read_to_string(format!("/proc/{id}/status"));
    let status = status.map_err(|_| "a server ended".to_owned())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| "a server ended".to_owned())
}

/// Without clients nothing of them is left.
fn over(servers: &Servers, shared: &Shared) -> Outcome {
    let mut control = servers.control()?;
    let sessions = "SELECT count(*) FROM tessera_sessions()";
    let deadline = Instant::now() + Duration::from_secs(20);
    while ask(&mut control, sessions)? != ["1"] {
        if Instant::now() > deadline {
            let mut findings = shared.findings.lock().expect("no thread panics");
            findings.add("sessions whose clients are gone", None);
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let memory = "SELECT category || ' ' || bytes FROM tessera_memory()";
    println!("memory: {}", ask(&mut control, memory)?.join(", "));
    match shared.findings.lock().expect("no thread panics").known.len() {
        0 => Ok(()),
        count => Err(format!("{count} findings")),
    }
}

/// Adds to the corpus what brought new kinds of answers.
fn keep(corpus: &Path, shared: &Shared) -> Outcome {
    fs::create_dir_all(corpus).map_err(text)?;
    let before = seeds::kept(corpus)?.len();
    let seeds = shared.seeds.lock().expect("no thread panics");
    let new = seeds.added().filter(|input| input.to_file().len() <= KEPT_BYTES_MAX);
    for (i, input) in new.take(KEPT_MAX).enumerate() {
        let path = corpus.join(format!("{:03}.bin", before + i));
        fs::write(path, input.to_file()).map_err(text)?;
    }
    Ok(())
}
