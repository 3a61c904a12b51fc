//! The bus in a PostgreSQL database passes the suite, alone and behind the native bus, lives
//! through random histories beside the model, and is shared by processes.

#[macro_use]
mod cached;
mod history;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bus::conformance::{Effort, Stack};
use bus::postgres::Postgres;
use bus::{Bus, BusError, MessageType};
use cached::{Cached, Place, copies};
use history::{Step, Twin, steps};
use host::SimClock;
use postgres::{Config, NoTls};
use proptest::prelude::*;
use testkit::postgres::Postgres as Server;

/// The server that all tests of a moment share, and how many they are: it is stopped before another
/// one may use its folder.
static SERVER: Mutex<(usize, Option<Server>)> = Mutex::new((0, None));
static SCHEMAS: AtomicU64 = AtomicU64::new(0);

/// A schema of its own on the server.
struct InSchema {
    folder: PathBuf,
    schema: String,
    clock: SimClock,
}

impl InSchema {
    fn new() -> Self {
        let mut shared = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        let (users, server) = &mut *shared;
        let server = server.get_or_insert_with(|| {
            Server::start_with("").unwrap_or_else(|error| panic!("{error}"))
        });
        *users += 1;
        let folder = server.folder().to_owned();
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        Self { folder, schema: format!("bus_{number}"), clock: SimClock::at(1000) }
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(&self.folder).user("postgres").dbname("postgres");
        config
    }

    fn open(&self) -> Postgres {
        self.open_bare().expect("opens")
    }

    /// Ends the connections that have to do with the schema.
    fn end_connections(&self) {
        let end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND application_name = $1";
        let mut other = self.config().connect(NoTls).expect("connects");
        other.query(end, &[&self.schema]).expect("ends them");
    }
}

impl Place for InSchema {
    type Bare = Postgres;

    fn open_bare(&self) -> bus::Result<Postgres> {
        let mut config = self.config();
        config.application_name(&self.schema);
        Postgres::open(config, &self.schema, Arc::new(self.clock.clone()))
    }

    fn assert_nothing_is_left_over(&self) {
        nothing_is_left_over(self);
    }
}

impl Drop for InSchema {
    fn drop(&mut self) {
        let mut shared = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        shared.0 -= 1;
        if shared.0 == 0 {
            shared.1 = None;
        }
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

behind_the_native_bus!(InSchema::new(), 8);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn histories(steps in proptest::collection::vec(steps(copies()), 1..60)) {
        let schema = InSchema::new();
        let mut twin = Twin::new(schema.clock.clone());
        for part in steps.chunks(20) {
            let bus = schema.open();
            part.iter().for_each(|step: &Step| _ = twin.step(&bus, step));
            twin.settle(&bus);
        }
        nothing_is_left_over(&schema);
    }
}

#[test]
fn a_broken_connection_ends_the_cache() {
    cached::a_broken_connection_ends_the_cache(InSchema::new(), InSchema::end_connections);
}

#[test]
fn beside_a_cache_others_only_look() {
    cached::others_only_look(InSchema::new());
}

/// Messages without a queue and copies without a message would pile up unseen.
fn nothing_is_left_over(place: &InSchema) {
    let mut client = place.config().connect(NoTls).expect("connects");
    client.batch_execute(&format!("SET search_path = {}", place.schema)).expect("a setting");
    for query in [
        "SELECT count(*) FROM message WHERE id NOT IN (SELECT message FROM queued_message)",
        "SELECT count(*) FROM queued_message WHERE message NOT IN (SELECT id FROM message)
            OR receiver NOT IN (SELECT id FROM client)",
    ] {
        let row = client.query_one(query, &[]).expect("counts");
        assert_eq!(row.get::<_, i64>(0), 0, "{query}");
    }
}

const TYPE: MessageType = MessageType(3);

/// Two values are what two processes would have.
#[test]
fn a_receive_that_waits_hears_of_a_send_elsewhere() {
    cached::a_receive_hears_of_a_send_elsewhere(&InSchema::new());
}

/// A broken connection fails the calls that it carries; the next ones have a new one.
#[test]
fn connections_are_opened_anew() {
    let place = InSchema::new();
    let bus = place.open();
    let client = bus.connect().expect("a client");
    place.end_connections();
    let calls = || bus.register_receiver(client, TYPE);
    let outcome = calls().or_else(|error| match error {
        BusError::Network(_) => calls(),
        other => Err(other),
    });
    assert_eq!(outcome, Ok(()));
    assert_eq!(bus.clients().expect("clients")[0].receives, [TYPE]);
}

#[test]
fn names_of_schemas_are_plain() {
    let place = InSchema::new();
    for name in ["", "Bus", "a b", "a\";--"] {
        let refused = Postgres::open(place.config(), name, Arc::new(place.clock.clone()));
        let error = refused.map(|_| ()).expect_err("refused");
        assert!(
            matches!(&error, BusError::Storage(e) if e.state() == types::SqlState::INVALID_NAME)
        );
    }
}
