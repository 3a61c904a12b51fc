//! The bus in an ordered store passes the suite, and lives through random histories
//! beside the model.

mod history;
mod in_file;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bus::conformance::{Effort, Stack};
use bus::kv::KeyValue;
use bus::native::{Hybrid, Native, Tree};
use bus::{Address, Bus, BusError, Copies, MessageId, MessageType, Record, SendOptions, Store};
use history::{Step, Twin, steps};
use host::SimClock;
use in_file::InFile;
use proptest::prelude::*;

/// A new file with a bus.
fn file() -> InFile<KeyValue> {
    InFile::new("bus.redb", |path, clock| KeyValue::open(path, Arc::new(clock)).expect("opens"))
}

bus::conformance!(file());

/// The native bus as a cache in front of the store.
struct Cached(InFile<KeyValue>);

impl Cached {
    fn open(&self) -> Native<Hybrid, Tree> {
        let clock = Arc::new(self.0.clock.clone());
        Native::cached(Hybrid, clock, Box::new(self.0.open())).expect("opens")
    }
}

impl Stack for Cached {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.open())
    }

    fn clock(&self) -> &SimClock {
        &self.0.clock
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}

mod cached {
    use super::*;
    bus::conformance!(Cached(file()));
}

fn copies() -> impl Strategy<Value = Copies> + Clone {
    prop_oneof![Just(Copies::One), Just(Copies::Each)]
}

/// Opened anew after each part: as the store itself, and as a cache in front of it.
fn run(steps: &[Step]) {
    let cached = Cached(file());
    let mut twin = Twin::new(cached.0.clock.clone());
    for (i, part) in steps.chunks(20).enumerate() {
        let bus: Box<dyn Bus> =
            if i % 2 == 0 { Box::new(cached.open()) } else { Box::new(cached.0.open()) };
        twin.settle(&*bus);
        part.iter().for_each(|step| _ = twin.step(&*bus, step));
        twin.settle(&*bus);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn histories(steps in proptest::collection::vec(steps(copies()), 1..80)) {
        run(&steps);
    }
}

/// A store that fails after some batches.
#[derive(Debug)]
struct Failing {
    store: KeyValue,
    batches: AtomicUsize,
}

impl Store for Failing {
    fn load(&self, each: &mut dyn FnMut(Record)) -> bus::Result<()> {
        self.store.load(each)
    }

    fn apply(&self, changes: Vec<Record>) -> bus::Result<()> {
        match self.batches.fetch_sub(1, Ordering::Relaxed) {
            1.. => self.store.apply(changes),
            0 => {
                self.batches.store(0, Ordering::Relaxed);
                let error = types::Error::new(types::SqlState::DISK_FULL, "no room");
                Err(BusError::Storage(error))
            }
        }
    }
}

/// After a batch failed nothing is acknowledged or shown that is not in the store.
#[test]
fn a_store_that_fails_loses_nothing_that_was_acknowledged() {
    let file = file();
    let clock = Arc::new(file.clock.clone());
    let store = Box::new(Failing { store: file.open(), batches: AtomicUsize::new(40) });
    let bus = Native::<Hybrid, Tree>::cached(Hybrid, clock, store).expect("opens");
    const TYPE: MessageType = MessageType(1);
    let (a, b) = (bus.connect().expect("connects"), bus.connect().expect("connects"));
    bus.register_sender(a, TYPE).expect("registers");
    bus.register_receiver(b, TYPE).expect("registers");
    let message = || SendOptions::new(a, TYPE, Address::Any, *b"x");
    let acknowledged: Vec<MessageId> = std::thread::scope(|scope| {
        let send = || {
            std::iter::from_fn(|| bus.send(&message()).ok()).map(|sent| sent.id).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(send)).collect();
        let mut ids: Vec<_> =
            threads.into_iter().flat_map(|thread| thread.join().expect("ends")).collect();
        ids.sort_unstable();
        ids
    });
    assert!(matches!(bus.connect(), Err(BusError::Storage(_))));
    assert!(bus.health().is_err());
    drop(bus);
    let found = file.open().peek(b).expect("peeks");
    let found: Vec<MessageId> = found.iter().map(|message| message.key.id).collect();
    assert_eq!(found, acknowledged);
}
