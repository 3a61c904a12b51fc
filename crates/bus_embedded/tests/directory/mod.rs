//! A directory with a database, on the machine's disk or a simulated one, opened again and again.
#![allow(dead_code)]

use std::sync::Arc;

use bus::Bus;
use bus::conformance::{Effort, Stack};
use bus_embedded::Embedded;
use engine::{Background, Config, Database, Files, Session};
use host::{SimClock, SimIo, Tear};
use parking_lot::Mutex;
use testkit::Scratch;

use crate::cached::Place;

const SCHEMA: &str = "queues";

/// A database in a directory of its own. It is open until it is closed or crashes.
pub(crate) struct Directory {
    kind: Kind,
    clock: SimClock,
    database: Mutex<Option<Database>>,
}

enum Kind {
    OnDisk(Scratch),
    Simulated(SimIo),
}

impl Directory {
    pub(crate) fn on_disk() -> Self {
        let test = std::thread::current().name().unwrap_or("row").replace(':', "-");
        Self::of(Kind::OnDisk(Scratch::new(&format!("embedded-{test}"))))
    }

    pub(crate) fn simulated(seed: u64) -> Self {
        Self::of(Kind::Simulated(SimIo::new(seed, Tear::Bytes)))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, clock: SimClock::at(1000), database: Mutex::new(None) }
    }

    fn database(&self) -> bus::Result<Database> {
        let mut slot = self.database.lock();
        if let Some(database) = &*slot {
            return Ok(database.clone());
        }
        let config = Config { threads: 2, memory_bytes: 2 << 30, ..Config::default() };
        let database = match &self.kind {
            Kind::OnDisk(scratch) => Database::open(scratch.join("db"), config)?,
            Kind::Simulated(io) => {
                let files = Files {
                    io: Arc::new(io.clone()),
                    background: Background::None,
                    segment_bytes: 64 << 10,
                    ..Files::default()
                };
                Database::open_with("/db", config, &files)?
            }
        };
        Ok(slot.insert(database).clone())
    }

    /// The simulated disk.
    pub(crate) fn io(&self) -> &SimIo {
        match &self.kind {
            Kind::Simulated(io) => io,
            Kind::OnDisk(_) => panic!("the machine's disk has no faults"),
        }
    }

    pub(crate) fn session(&self) -> Session {
        self.database().expect("opens").session()
    }

    pub(crate) fn open(&self) -> Embedded {
        self.try_open().expect("opens")
    }

    pub(crate) fn try_open(&self) -> bus::Result<Embedded> {
        bus_embedded::open(&self.database()?, SCHEMA, Arc::new(self.clock.clone()))
    }

    /// Fails where messages have no queue, or copies no message or no client: they would pile up
    /// unseen.
    pub(crate) fn assert_queues_are_whole(&self) {
        let mut session = self.session();
        session.execute("SET search_path = queues").expect("a setting");
        for query in [
            "SELECT count(*) FROM message WHERE id NOT IN (SELECT message FROM queued_message)",
            "SELECT count(*) FROM queued_message WHERE message NOT IN (SELECT id FROM message)
                OR receiver NOT IN (SELECT id FROM client)",
        ] {
            let counted = session.execute(query).expect("counts");
            assert_eq!(counted.text_rows(), [[Some("0".to_owned())]], "{query}");
        }
    }
}

impl Place for Directory {
    type Bare = Embedded;

    fn open_bare(&self) -> bus::Result<Embedded> {
        self.try_open()
    }

    /// Gives the database up: whoever opens it next reads the files.
    fn restart(&self) {
        let io = match &self.kind {
            Kind::Simulated(io) => Some(io),
            Kind::OnDisk(_) => None,
        };
        io.into_iter().for_each(SimIo::crash);
        let database = self.database.lock().take();
        drop(database);
        io.into_iter().for_each(SimIo::crash);
    }

    fn assert_nothing_is_left_over(&self) {
        self.assert_queues_are_whole();
    }
}

impl Stack for Directory {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.open())
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        drop(bus);
        self.restart();
        Ok(self.start())
    }

    fn largest_body(&self) -> usize {
        match self.kind {
            Kind::OnDisk(_) => 101 << 20,
            // Of the file system in memory, each write costs as much as the file is long.
            Kind::Simulated(_) => 1 << 20,
        }
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}
