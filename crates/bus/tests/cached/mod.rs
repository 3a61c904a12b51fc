//! The native bus in front of a store: a stack, histories that change between it and the bare
//! store, and stores that fail.
#![allow(dead_code, unused_macros)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bus::conformance::{Effort, Stack};
use bus::native::{Hybrid, Native, Tree};
use bus::{
    Address, Bus, BusError, ClientId, Copies, Delivery, MessageId, MessageType, Receipt,
    ReceiveOptions, Record, SendOptions, Store, Wait,
};
use host::SimClock;
use proptest::prelude::*;
use types::SqlState;

use crate::history::{Step, Twin};

/// Tests of the native bus in front of the store of a place, a new one for each: the suite,
/// histories that change between it and the bare store, a store that fails.
macro_rules! behind_the_native_bus {
    ($place:expr, $cases:literal) => {
        mod behind_the_native_bus {
            use super::*;
            bus::conformance!(Cached($place));
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases($cases))]

            #[test]
            fn histories_behind_the_native_bus(
                steps in proptest::collection::vec(history::steps(cached::copies()), 1..80),
            ) {
                cached::alternate($place, &steps);
            }
        }

        #[test]
        fn a_store_that_fails_loses_nothing_that_was_acknowledged() {
            cached::a_store_that_fails_loses_nothing_that_was_acknowledged($place);
        }
    };
}

/// Where the bus of a test is, to be opened again and again.
pub(crate) trait Place: Stack {
    /// The bus there, which is a store, too.
    type Bare: Bus + Store + 'static;

    /// Opens it.
    fn open_bare(&self) -> bus::Result<Self::Bare>;

    /// Ends what keeps the bus besides its values, which nobody holds.
    fn restart(&self) {}

    /// Fails where something is there that no queue has.
    fn assert_nothing_is_left_over(&self) {}
}

/// The native bus as a cache in front of the store of a place.
pub(crate) struct Cached<P>(pub(crate) P);

pub(crate) type Cache = Native<Hybrid, Tree>;

impl<P: Place> Cached<P> {
    pub(crate) fn open(&self) -> Cache {
        self.try_open().expect("opens")
    }

    pub(crate) fn try_open(&self) -> bus::Result<Cache> {
        self.in_front_of(Box::new(self.0.open_bare()?))
    }

    /// Opens it when its last owner is known to be gone, which may take a server a while.
    fn open_once_it_is_free(&self) -> Cache {
        loop {
            match self.try_open() {
                Err(BusError::Storage(error)) if error.state() == SqlState::OBJECT_IN_USE => {
                    std::thread::yield_now();
                }
                outcome => break outcome.expect("opens"),
            }
        }
    }

    pub(crate) fn bare(&self) -> P::Bare {
        self.0.open_bare().expect("opens")
    }

    fn in_front_of(&self, store: Box<dyn Store>) -> bus::Result<Cache> {
        Native::cached(Hybrid, Arc::new(self.0.clock().clone()), store)
    }
}

impl<P: Place> Stack for Cached<P> {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.open())
    }

    fn clock(&self) -> &SimClock {
        self.0.clock()
    }

    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        drop(bus);
        self.0.restart();
        Ok(self.start())
    }

    fn largest_body(&self) -> usize {
        self.0.largest_body()
    }

    fn effort(&self) -> Effort {
        self.0.effort()
    }
}

pub(crate) fn copies() -> impl Strategy<Value = Copies> + Clone {
    prop_oneof![Just(Copies::One), Just(Copies::Each)]
}

/// Opened anew after each part: as the store itself, and as a cache in front of it.
pub(crate) fn alternate<P: Place>(place: P, steps: &[Step]) {
    let cached = Cached(place);
    let mut twin = Twin::new(cached.0.clock().clone());
    for (i, part) in steps.chunks(20).enumerate() {
        let bus: Box<dyn Bus> =
            if i % 2 == 0 { Box::new(cached.open()) } else { Box::new(cached.bare()) };
        twin.settle(&*bus);
        part.iter().for_each(|step| _ = twin.step(&*bus, step));
        twin.settle(&*bus);
        drop(bus);
        cached.0.restart();
    }
    cached.0.assert_nothing_is_left_over();
}

/// A store that fails after some batches.
#[derive(Debug)]
struct Failing<S> {
    store: S,
    batches: AtomicUsize,
}

impl<S: Store> Store for Failing<S> {
    fn load(&self, each: &mut dyn FnMut(Record)) -> bus::Result<()> {
        self.store.load(each)
    }

    fn apply(&self, calls: Vec<Vec<Record>>) -> bus::Result<()> {
        match self.batches.fetch_sub(1, Ordering::Relaxed) {
            1.. => self.store.apply(calls),
            0 => {
                self.batches.store(0, Ordering::Relaxed);
                let error = types::Error::new(SqlState::DISK_FULL, "no room");
                Err(BusError::Storage(error))
            }
        }
    }
}

const TYPE: MessageType = MessageType(1);

/// A client that sends [`TYPE`] and one that receives it.
pub(crate) fn pair(bus: &dyn Bus) -> [ClientId; 2] {
    let [a, b] = [bus.connect().expect("connects"), bus.connect().expect("connects")];
    bus.register_sender(a, TYPE).expect("registers");
    bus.register_receiver(b, TYPE).expect("registers");
    [a, b]
}

pub(crate) fn message(from: ClientId) -> SendOptions<'static> {
    SendOptions::new(from, TYPE, Address::Any, *b"x")
}

/// Sends by three threads until the bus fails; returns what was acknowledged, in order.
fn send_until_it_fails(bus: &dyn Bus, a: ClientId) -> Vec<MessageId> {
    std::thread::scope(|scope| {
        let send = || {
            std::iter::from_fn(|| bus.send(&message(a)).ok())
                .map(|sent| sent.id)
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(send)).collect();
        let mut ids: Vec<_> =
            threads.into_iter().flat_map(|thread| thread.join().expect("ends")).collect();
        ids.sort_unstable();
        ids
    })
}

fn ids(messages: &[Delivery]) -> Vec<MessageId> {
    messages.iter().map(|message| message.key.id).collect()
}

/// After a batch failed nothing is acknowledged or shown that is not in the store.
pub(crate) fn a_store_that_fails_loses_nothing_that_was_acknowledged<P: Place>(place: P) {
    let cached = Cached(place);
    let store = Failing { store: cached.bare(), batches: AtomicUsize::new(40) };
    let bus = cached.in_front_of(Box::new(store)).expect("opens");
    let [a, b] = pair(&bus);
    let acknowledged = send_until_it_fails(&bus, a);
    assert!(matches!(bus.connect(), Err(BusError::Storage(_))));
    assert!(bus.health().is_err());
    drop(bus);
    assert_eq!(ids(&cached.bare().peek(b).expect("peeks")), acknowledged);
    assert_eq!(ids(&cached.open().peek(b).expect("peeks")), acknowledged);
}

/// The connection below is broken by `break_it` while threads send: whatever was acknowledged is
/// there, and of the rest nothing in between is missing.
pub(crate) fn a_broken_connection_ends_the_cache<P: Place>(place: P, break_it: impl FnOnce(&P)) {
    let cached = Cached(place);
    let bus = cached.open();
    let [a, b] = pair(&bus);
    let acknowledged = std::thread::scope(|scope| {
        let sends = scope.spawn(|| send_until_it_fails(&bus, a));
        // Some are sent by then.
        let options = ReceiveOptions::next(b);
        bus.receive(&options).expect("receives");
        break_it(&cached.0);
        sends.join().expect("ends")
    });
    let Err(BusError::Storage(error)) = bus.connect() else { panic!("it goes on") };
    assert_eq!(error.state(), SqlState::CONNECTION_FAILURE, "{error}");
    assert!(bus.health().is_err());
    drop(bus);
    let found = ids(&cached.bare().peek(b).expect("peeks"));
    let missing: Vec<_> = acknowledged.iter().filter(|id| !found.contains(id)).collect();
    assert_eq!(missing, Vec::<&MessageId>::new());
    assert!(found.windows(2).all(|two| two[1].0 == two[0].0 + 1), "{found:?}");
    let again = cached.open_once_it_is_free();
    let sent = again.send(&message(a)).expect("sends");
    assert!(found.iter().all(|id| *id < sent.id), "no id is given twice");
}

/// Two values without the native bus are what two processes would have: what one sends wakes who
/// waits at the other.
pub(crate) fn a_receive_hears_of_a_send_elsewhere<P: Place>(place: &P) {
    const TYPE: MessageType = MessageType(3);
    let [here, there] = [place.open_bare(), place.open_bare()].map(|bus| bus.expect("opens"));
    let (sender, receiver) = (here.connect().expect("a client"), there.connect().expect("one"));
    here.register_sender(sender, TYPE).expect("registers");
    there.register_receiver(receiver, TYPE).expect("registers");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| there.receive(&ReceiveOptions::next(receiver)));
        let sent = here.send(&SendOptions::new(sender, TYPE, Address::Any, *b"hello"));
        let found = waits.join().expect("ends").expect("receives");
        assert_eq!(
            (found[0].body.to_vec(), found[0].key.id),
            (b"hello".to_vec(), sent.expect("sent").id)
        );
    });
    let soon = Wait::AtMost(Duration::from_millis(1));
    let options = ReceiveOptions { wait: soon, ..ReceiveOptions::next(sender) };
    assert_eq!(there.receive(&options), Err(BusError::Timeout));
}

/// One process is authoritative: others open no second cache, change nothing, and may look.
pub(crate) fn others_only_look<P: Place>(place: P) {
    let cached = Cached(place);
    let bus = cached.open();
    let [a, b] = pair(&bus);
    let other = cached.bare();
    let refused = |outcome: bus::Result<()>| match outcome {
        Err(BusError::Storage(error)) => assert_eq!(error.state(), SqlState::OBJECT_IN_USE),
        other => panic!("{other:?}"),
    };
    refused(cached.try_open().map(drop));
    refused(other.connect().map(drop));
    refused(other.send(&message(a)).map(drop));
    let waited = std::thread::scope(|scope| {
        let wait = scope.spawn(|| other.receive(&ReceiveOptions::next(b)));
        let sent = bus.send(&message(a)).expect("sends");
        let found = wait.join().expect("ends").expect("receives");
        assert_eq!(ids(&found), [sent.id]);
        found
    });
    assert_eq!(other.clients(), bus.clients());
    let take = ReceiveOptions { receipt: Receipt::Delete, ..ReceiveOptions::new(b) };
    refused(other.receive(&take).map(drop));
    assert_eq!(bus.delete(b, &[waited[0].key]), Ok(1));
    assert_eq!(other.peek(b).expect("peeks"), []);
    drop(bus);
    assert_eq!(other.send(&message(a)).expect("sends").copies, 1);
    assert_eq!(cached.open().peek(b).expect("peeks").len(), 1);
}
