//! The native bus passes the suite: each way to share, each kind of queue, without and with a log.

use std::path::Path;
use std::sync::Arc;

use bus::Bus;
use bus::conformance::{Effort, Stack};
use bus::native::{
    Concurrency, Durability, Heap, Hybrid, LogSettings, Native, Numa, Queue, RwLocks, Tree,
};
use host::{Io, RealIo, SimClock, SimIo, Tear};
use testkit::Scratch;
use wal::{Background, LogOptions};

const START: i64 = 1_700_000_000_000_000;

/// In memory only.
struct InMemory<C, Q> {
    concurrency: C,
    clock: SimClock,
    queue: std::marker::PhantomData<Q>,
}

fn in_memory<C: Concurrency + Clone, Q: Queue>(concurrency: C) -> InMemory<C, Q> {
    InMemory { concurrency, clock: SimClock::at(START), queue: std::marker::PhantomData }
}

impl<C: Concurrency + Clone, Q: Queue> Stack for InMemory<C, Q> {
    fn start(&mut self) -> Arc<dyn Bus> {
        let clock = Arc::new(self.clock.clone());
        Arc::new(Native::<C, Q>::in_memory(self.concurrency.clone(), clock))
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        Err(bus)
    }
}

/// With a log on a disk that forgets at a crash what was not synced, and snapshots every few
/// kilobytes.
struct Logged {
    sim: SimIo,
    clock: SimClock,
}

impl Logged {
    fn new() -> Self {
        Self { sim: SimIo::new(29, Tear::Bytes), clock: SimClock::at(START) }
    }

    fn open(&self) -> Arc<dyn Bus> {
        let io: Arc<dyn Io> = Arc::new(self.sim.clone());
        let clock = Arc::new(self.clock.clone());
        let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
        let settings = LogSettings { snapshot_bytes: 16 << 10, log, ..LogSettings::default() };
        let bus = Native::<Hybrid, Tree>::open(Hybrid, clock, &io, Path::new("/bus"), settings);
        Arc::new(bus.expect("opens"))
    }
}

impl Stack for Logged {
    fn start(&mut self) -> Arc<dyn Bus> {
        self.open()
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        self.sim.crash();
        drop(bus);
        Ok(self.open())
    }

    fn largest_body(&self) -> usize {
        // Of the file system in memory, each write costs as much as the file is long.
        1 << 20
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}

/// With a log on the machine's disk; asynchronous, so that it is closed in order.
struct OnDisk {
    scratch: Scratch,
    clock: SimClock,
}

impl OnDisk {
    fn new(name: &str) -> Self {
        Self { scratch: Scratch::new(name), clock: SimClock::at(START) }
    }

    fn open(&self) -> Arc<dyn Bus> {
        let io: Arc<dyn Io> = Arc::new(RealIo);
        let clock = Arc::new(self.clock.clone());
        let durability = Durability::Asynchronous;
        let log = LogOptions { background: Background::Thread, ..LogOptions::default() };
        let settings = LogSettings { durability, log, ..LogSettings::default() };
        let numa = Numa::new(2);
        let bus = Native::<Numa, Heap>::open(numa, clock, &io, self.scratch.path(), settings);
        Arc::new(bus.expect("opens"))
    }
}

impl Stack for OnDisk {
    fn start(&mut self) -> Arc<dyn Bus> {
        self.open()
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        drop(bus);
        Ok(self.open())
    }
}

mod hybrid_tree {
    use super::*;
    bus::conformance!(in_memory::<Hybrid, Tree>(Hybrid));
}

mod numa_heap {
    use super::*;
    bus::conformance!(in_memory::<Numa, Heap>(Numa::new(4)));
}

mod rw_locks {
    use super::*;
    bus::conformance!(in_memory::<RwLocks, Tree>(RwLocks));
}

mod logged {
    use super::*;
    bus::conformance!(Logged::new());
}

mod on_disk {
    use super::*;
    bus::conformance!(OnDisk::new(&format!(
        "bus-{}",
        std::thread::current().name().unwrap_or("row").replace(':', "-")
    )));
}
