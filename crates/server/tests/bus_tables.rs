//! The bus in tables of Tessera's server, through PostgreSQL's protocol, passes the suite, alone
//! and behind the native bus.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bus::conformance::{Effort, Stack};
use bus::native::{Hybrid, Native, Tree};
use bus::postgres::Postgres;
use bus::{Address, Bus, MessageType, SendOptions};
use host::SimClock;
use postgres::Config;

static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());
static SCHEMAS: AtomicU64 = AtomicU64::new(0);

/// A server that all tests of a moment share.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .args(["serve", "--auth", "trust", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was built");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let port = |line: String| line.split_once("127.0.0.1:")?.1.parse().ok();
        let port = lines.map_while(Result::ok).find_map(port).expect("it listens");
        Self { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A schema of its own on the server.
struct InSchema {
    server: Arc<Server>,
    schema: String,
    clock: SimClock,
}

impl InSchema {
    fn new() -> Self {
        let mut shared = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        let server = shared.upgrade().unwrap_or_else(|| Arc::new(Server::start()));
        *shared = Arc::downgrade(&server);
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        Self { server, schema: format!("bus_{number}"), clock: SimClock::at(1000) }
    }

    fn open(&self) -> Postgres {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.server.port).user("tessera").dbname("tessera");
        Postgres::open(config, &self.schema, Arc::new(self.clock.clone())).expect("opens")
    }

    fn open_behind_the_native_bus(&self) -> Native<Hybrid, Tree> {
        let clock = Arc::new(self.clock.clone());
        Native::cached(Hybrid, clock, Box::new(self.open())).expect("opens")
    }
}

impl Stack for InSchema {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.open())
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}

bus::conformance!(InSchema::new());

/// The native bus as a cache in front of the tables.
struct Cached(InSchema);

impl Stack for Cached {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.0.open_behind_the_native_bus())
    }

    fn clock(&self) -> &SimClock {
        self.0.clock()
    }

    fn effort(&self) -> Effort {
        self.0.effort()
    }
}

mod behind_the_native_bus {
    use super::*;
    bus::conformance!(Cached(InSchema::new()));
}

/// Queues, registrations and the next ids are the same with the cache and without it.
#[test]
fn a_bus_with_the_cache_and_without_it_is_one() {
    const TYPE: MessageType = MessageType(1);
    let place = InSchema::new();
    let bare = || -> Box<dyn Bus> { Box::new(place.open()) };
    let cached = || -> Box<dyn Bus> { Box::new(place.open_behind_the_native_bus()) };
    let first = bare();
    let (a, b) = (first.connect().expect("connects"), first.connect().expect("connects"));
    first.register_sender(a, TYPE).expect("registers");
    first.register_receiver(b, TYPE).expect("registers");
    drop(first);
    let mut kept = Vec::new();
    for open in [&cached as &dyn Fn() -> Box<dyn Bus>, &bare, &cached, &bare] {
        let bus = open();
        assert_eq!(bus.peek(b).expect("peeks"), kept);
        for body in [*b"one", *b"two"] {
            bus.send(&SendOptions::new(a, TYPE, Address::Any, body)).expect("sends");
        }
        kept = bus.peek(b).expect("peeks");
        assert_eq!(bus.delete(b, &[kept.remove(0).key]), Ok(1));
        let guest = bus.connect().expect("connects");
        bus.disconnect(guest).expect("disconnects");
    }
    let ids: Vec<u64> = kept.iter().map(|message| message.key.id.0).collect();
    assert_eq!(ids, [5, 6, 7, 8]);
    assert_eq!(cached().connect().expect("connects").0, 7);
}
