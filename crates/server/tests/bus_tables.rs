//! The bus in tables of Tessera's server, through PostgreSQL's protocol, passes the suite.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bus::Bus;
use bus::conformance::{Effort, Stack};
use bus::postgres::Postgres;
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
}

impl Stack for InSchema {
    fn start(&mut self) -> Arc<dyn Bus> {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.server.port).user("tessera").dbname("tessera");
        let clock = Arc::new(self.clock.clone());
        Arc::new(Postgres::open(config, &self.schema, clock).expect("opens"))
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}

bus::conformance!(InSchema::new());
