//! Messages a second of the stores, alone and behind the native bus:
//! `cargo bench -p bus --all-features --bench stores`. Run by `cargo test` it checks itself on tiny
//! input. What cannot be had on this machine is left out, with a line; Tessera's server is the
//! program that the variable `TESSERA` names.
//!
//! As in `messages`, with one message at a time; each call is on the disk when it returns.

mod exchange;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bus::kv::KeyValue;
use bus::native::{Hybrid, Native};
use bus::postgres::Postgres;
use bus::sqlite::Sqlite;
use bus::zookeeper::ZooKeeper;
use bus::{Bus, Store};
use exchange::{Rate, measure, median, run};
use host::{Clock, RealClock};
use postgres::Config;
use testkit::Scratch;

/// How long a run is, and with how many threads.
struct Effort {
    time: Duration,
    threads: &'static [usize],
}

/// Thousands of messages a second of the bus that `open` opens, which is new each time.
fn rate<B: Bus>(effort: &Effort, threads: usize, open: impl Fn() -> B) -> Rate {
    median(|| {
        let bus = open();
        measure(1e3, || run(&bus, threads, 1, effort.time))
    })
}

/// Prints the rates of a store.
fn compare<S: Bus + Store + 'static>(name: &str, effort: &Effort, open: impl Fn() -> S) {
    for threads in effort.threads.iter().copied() {
        let alone = rate(effort, threads, &open);
        let cached = rate(effort, threads, || {
            Native::<Hybrid>::cached(Hybrid, clock(), Box::new(open())).expect("opens")
        });
        println!("{name:<22} {threads:>3} {alone} {cached}");
    }
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(RealClock)
}

/// A number that no bus of this process has had.
fn number() -> usize {
    static NUMBERS: AtomicUsize = AtomicUsize::new(0);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

fn in_schema(config: &Config) -> Postgres {
    Postgres::open(config.clone(), &format!("bus_{}", number()), clock()).expect("opens")
}

/// Tessera's server, if there is a program.
struct Tessera(Child);

impl Tessera {
    fn start(directory: &Scratch) -> Option<(Self, Config)> {
        let program = std::env::var_os("TESSERA")?;
        let mut child = Command::new(program)
            .args(["serve", "--auth", "trust", "--listen", "127.0.0.1:0"])
            .arg(directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let lines = BufReader::new(child.stdout.take()?).lines();
        let server = Self(child);
        let port = |line: String| line.split_once("127.0.0.1:")?.1.parse().ok();
        let port = lines.map_while(Result::ok).find_map(port)?;
        let mut config = Config::new();
        config.host("127.0.0.1").port(port).user("tessera").dbname("tessera");
        Some((server, config))
    }
}

impl Drop for Tessera {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let effort = if is_bench {
        Effort { time: Duration::from_millis(500), threads: &[1, 4, 16] }
    } else {
        Effort { time: Duration::from_millis(5), threads: &[2] }
    };
    println!("k messages/s of stores: threads, alone, behind the native bus");
    let scratch = Scratch::new("bus-stores");
    compare("keys and values", &effort, || {
        KeyValue::open(&scratch.join(format!("{}.redb", number())), clock()).expect("opens")
    });
    compare("SQLite", &effort, || {
        Sqlite::open(&scratch.join(format!("{}.db", number())), clock()).expect("opens")
    });
    match testkit::postgres::Postgres::start_with("listen_addresses = ''\n") {
        Ok(server) => {
            let mut config = Config::new();
            config.host_path(server.folder()).user("postgres").dbname("postgres");
            compare("PostgreSQL", &effort, || in_schema(&config));
        }
        Err(why) => println!("without PostgreSQL: {why}"),
    }
    match Tessera::start(&Scratch::new("bus-tessera")) {
        Some((_server, config)) => compare("Tessera's server", &effort, || in_schema(&config)),
        None => println!("without Tessera's server: TESSERA names no program"),
    }
    let server = testkit::zookeeper::ZooKeeper::fetch()
        .and_then(|()| testkit::zookeeper::ZooKeeper::start());
    match server {
        Ok(server) => compare("ZooKeeper, not synced", &effort, || {
            let root = format!("/bus_{}", number());
            ZooKeeper::open(&server.address(), &root, clock()).expect("opens")
        }),
        Err(why) => println!("without ZooKeeper: {why}"),
    }
}
