//! The bus in a tree of ZooKeeper passes the suite, alone and behind the native bus, lives through
//! random histories beside the model, and is shared by processes. Without Java, Maven or the
//! server's packages the tests say so and do nothing.

mod cached;
mod history;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bus::conformance::{Effort, Stack};
use bus::zookeeper::{REQUEST_BYTES, ZooKeeper};
use bus::{
    Address, Bus, BusError, ClientId, Copies, MessageType, QueueKey, ReceiveOptions, SendOptions,
};
use cached::{Cached, Place, copies};
use futures_lite::future::block_on;
use history::{Step, Twin, steps};
use host::SimClock;
use proptest::prelude::*;
use testkit::zookeeper::ZooKeeper as Server;
use types::SqlState;
use zookeeper_client::Client;

/// The server that all tests of a moment share.
enum Shared {
    None,
    Missing,
    Running { server: Server, users: usize },
}

static SERVER: Mutex<Shared> = Mutex::new(Shared::None);
static ROOTS: AtomicU64 = AtomicU64::new(0);

fn shared() -> MutexGuard<'static, Shared> {
    SERVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A root of its own on the server.
struct InTree {
    servers: String,
    root: String,
    clock: SimClock,
}

impl InTree {
    /// None where there is no server.
    fn new() -> Option<Self> {
        let mut shared = shared();
        if matches!(*shared, Shared::None) {
            *shared = match Server::fetch() {
                Ok(()) => Shared::Running { server: Server::start().expect("starts"), users: 0 },
                Err(why) => {
                    println!("skipped, no ZooKeeper: {why}");
                    Shared::Missing
                }
            };
        }
        let Shared::Running { server, users } = &mut *shared else { return None };
        *users += 1;
        let root = format!("/bus_{}", ROOTS.fetch_add(1, Ordering::Relaxed));
        Some(Self { servers: server.address(), root, clock: SimClock::at(1000) })
    }

    fn open(&self) -> ZooKeeper {
        self.open_bare().expect("opens")
    }

    /// The names below a node of the tree.
    fn children(&self, name: &str) -> Vec<String> {
        let names = async {
            let client = Client::connect(&self.servers).await.expect("connects");
            client.list_children(&format!("{}{name}", self.root)).await.expect("lists")
        };
        block_on(names)
    }
}

impl Place for InTree {
    type Bare = ZooKeeper;

    fn open_bare(&self) -> bus::Result<ZooKeeper> {
        ZooKeeper::open(&self.servers, &self.root, Arc::new(self.clock.clone()))
    }

    /// Messages without a queue, and queues without a client, would pile up unseen.
    fn assert_nothing_is_left_over(&self) {
        let (clients, mut queues) = (self.children("/clients"), self.children("/queues"));
        let mut held = Vec::new();
        queues.retain(|queue| {
            let copies = self.children(&format!("/queues/{queue}"));
            let message = |copy: &String| u64::from_str_radix(&copy[24..], 16).expect("an id");
            held.extend(copies.iter().map(message));
            !clients.contains(queue)
        });
        assert_eq!(queues, Vec::<String>::new(), "queues without clients");
        let number = |name: &String| name.parse::<u64>().expect("an id");
        let mut messages: Vec<u64> = self.children("/messages").iter().map(number).collect();
        held.sort_unstable();
        held.dedup();
        messages.sort_unstable();
        assert_eq!(messages, held);
        let counts = self.children("/counts");
        assert!(counts.iter().all(|name| messages.contains(&number(name))), "{counts:?}");
    }
}

impl Drop for InTree {
    fn drop(&mut self) {
        let mut shared = shared();
        if let Shared::Running { users, .. } = &mut *shared {
            *users -= 1;
            if *users == 0 {
                *shared = Shared::None;
            }
        }
    }
}

impl Stack for InTree {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.open())
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn largest_body(&self) -> usize {
        REQUEST_BYTES - 1000
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}

bus::conformance!(if InTree::new());

mod behind_the_native_bus {
    use super::*;
    bus::conformance!(if InTree::new().map(Cached));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn histories(steps in proptest::collection::vec(steps(copies()), 1..60)) {
        let Some(place) = InTree::new() else { return Ok(()) };
        let mut twin = Twin::new(place.clock.clone());
        for part in steps.chunks(20) {
            let bus = place.open();
            part.iter().for_each(|step: &Step| _ = twin.step(&bus, step));
            twin.settle(&bus);
        }
        place.assert_nothing_is_left_over();
    }

    #[test]
    fn histories_behind_the_native_bus(steps in proptest::collection::vec(steps(copies()), 1..80)) {
        if let Some(place) = InTree::new() {
            cached::alternate(place, &steps);
        }
    }
}

#[test]
fn a_store_that_fails_loses_nothing_that_was_acknowledged() {
    if let Some(place) = InTree::new() {
        cached::a_store_that_fails_loses_nothing_that_was_acknowledged(place);
    }
}

/// A server of its own, which a test may kill.
struct OnServer {
    server: Mutex<Server>,
    clock: SimClock,
}

impl Stack for OnServer {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.open_bare().expect("opens"))
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }
}

impl Place for OnServer {
    type Bare = ZooKeeper;

    fn open_bare(&self) -> bus::Result<ZooKeeper> {
        let address = self.server.lock().unwrap_or_else(PoisonError::into_inner).address();
        ZooKeeper::open(&address, "/bus", Arc::new(self.clock.clone()))
    }
}

/// The server is killed and starts again.
#[test]
fn a_broken_connection_ends_the_cache() {
    // Whether there is a server at all.
    let Some(_place) = InTree::new() else { return };
    let server = Mutex::new(Server::start_as("zookeeper-behind").expect("starts"));
    let place = OnServer { server, clock: SimClock::at(1000) };
    cached::a_broken_connection_ends_the_cache(place, |place| {
        let mut server = place.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.restart().expect("starts again");
    });
}

#[test]
fn beside_a_cache_others_only_look() {
    if let Some(place) = InTree::new() {
        cached::others_only_look(place);
    }
}

const TYPE: MessageType = MessageType(3);

/// A client that sends and receives [`TYPE`].
fn member(bus: &dyn Bus) -> ClientId {
    let client = bus.connect().expect("a client");
    bus.register_sender(client, TYPE).expect("registers");
    bus.register_receiver(client, TYPE).expect("registers");
    client
}

/// Two values are what two processes would have.
#[test]
fn a_receive_that_waits_hears_of_a_send_elsewhere() {
    let Some(place) = InTree::new() else { return };
    cached::a_receive_hears_of_a_send_elsewhere(&place);
}

/// Changes of two processes meet all the time: each reads what the other is about to change.
#[test]
fn processes_that_change_at_once_take_turns() {
    const EACH: usize = 60;
    let Some(place) = InTree::new() else { return };
    let buses = [place.open(), place.open()];
    let clients = [member(&buses[0]), member(&buses[1])];
    let seen: Vec<Vec<QueueKey>> = std::thread::scope(|scope| {
        let both = buses.iter().zip(clients).map(|(bus, client)| {
            scope.spawn(move || {
                let (mut seen, mut sent) = (Vec::new(), 0);
                while seen.len() < 2 * EACH {
                    if sent < EACH {
                        let message = SendOptions::new(client, TYPE, Address::Any, *b"x");
                        let message = SendOptions { copies: Copies::Each, ..message };
                        assert_eq!(bus.send(&message).expect("sends").copies, 2);
                        sent += 1;
                    }
                    // Both delete the two copies of a message, and one of them the message.
                    let found = bus.receive(&ReceiveOptions::new(client)).expect("receives");
                    let keys: Vec<QueueKey> = found.iter().map(|message| message.key).collect();
                    assert_eq!(bus.delete(client, &keys), Ok(keys.len()));
                    seen.extend(keys);
                    // Somebody comes and goes meanwhile, and gets no broadcast: it has no type.
                    let guest = bus.connect().expect("connects");
                    bus.disconnect(guest).expect("disconnects");
                }
                seen
            })
        });
        let both: Vec<_> = both.collect();
        both.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(seen[0].is_sorted() && seen[0].len() == 2 * EACH);
    assert_eq!(seen[0], seen[1]);
    place.assert_nothing_is_left_over();
}

/// Copies of a client that left are removed in parts, which a crash may keep from being done.
#[test]
fn queues_without_clients_are_swept_when_a_bus_is_opened() {
    let Some(place) = InTree::new() else { return };
    let bus = place.open();
    let (sender, receiver) = (member(&bus), member(&bus));
    for _ in 0..3 {
        let each = SendOptions::new(sender, TYPE, Address::Any, *b"x");
        bus.send(&SendOptions { copies: Copies::Each, ..each }).expect("sends");
    }
    // As a process leaves it that ended in the middle of a disconnect.
    block_on(async {
        let client = Client::connect(&place.servers).await.expect("connects");
        for name in [format!("receivers/3/{}", receiver.0), format!("clients/{}", receiver.0)] {
            client.delete(&format!("{}/{name}", place.root), None).await.expect("deletes");
        }
    });
    assert_eq!(bus.receive(&ReceiveOptions::new(receiver)), Err(BusError::NotConnected(receiver)));
    let again = place.open();
    place.assert_nothing_is_left_over();
    assert_eq!(again.receive(&ReceiveOptions::new(sender)).expect("receives").len(), 3);
}

/// A message that a server would not take is refused, and the session lives on.
#[test]
fn what_is_too_large_is_refused() {
    let Some(place) = InTree::new() else { return };
    let bus = place.open();
    let client = member(&bus);
    let to = [client];
    let message =
        |bytes: usize| SendOptions::new(client, TYPE, Address::Clients(&to), vec![7; bytes]);
    let Err(BusError::Storage(error)) = bus.send(&message(REQUEST_BYTES)) else {
        panic!("it was sent")
    };
    assert_eq!(error.state(), SqlState::LIMIT_EXCEEDED);
    assert_eq!(bus.send(&message(10)).expect("sends").copies, 1);
    drop(bus);
    let bus = Cached(place);
    let (bus, place) = (bus.open(), bus.0);
    let Err(BusError::Storage(error)) = bus.send(&message(REQUEST_BYTES)) else {
        panic!("it was sent")
    };
    assert_eq!(error.state(), SqlState::LIMIT_EXCEEDED);
    assert_eq!(bus.send(&message(10)).expect("sends").copies, 1);
    assert!(ZooKeeper::open(&place.servers, "/a/b", Arc::new(place.clock.clone())).is_err());
}

/// The server of its own that this test needs is killed: calls fail as `Network` or happen, and
/// what was acknowledged is there afterwards.
#[test]
fn clients_outlive_a_restart_of_the_server() {
    // Whether there is a server at all.
    let Some(_place) = InTree::new() else { return };
    let mut server = Server::start_as("zookeeper-restarted").expect("starts");
    let clock = SimClock::at(1000);
    let bus = ZooKeeper::open(&server.address(), "/bus", Arc::new(clock)).expect("opens");
    let client = member(&bus);
    let to = [client];
    let first = SendOptions::new(client, TYPE, Address::Clients(&to), *b"first");
    let sent = bus.send(&first).expect("sends");
    server.restart().expect("starts again");
    let found = loop {
        match bus.receive(&ReceiveOptions::new(client)) {
            Err(BusError::Network(_)) => std::thread::yield_now(),
            other => break other.expect("receives"),
        }
    };
    assert_eq!(found[0].key.id, sent.id);
    assert_eq!(bus.delete(client, &[found[0].key]), Ok(1));
}
