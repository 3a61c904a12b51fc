//! Messages a second over gRPC, by clients, durability and size, and how long a message takes to
//! one who waits: `cargo bench -p bus_server --bench network`. Run by `cargo test` it checks itself
//! on tiny input.
//!
//! Server and clients share this process and its cores; each client has a connection of its own and
//! sends, receives and deletes one message at a time, which is three calls.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use bus::native::{Durability, Hybrid, LogSettings, Native};
use bus::{Address, Body, Bus, ClientId, MessageType, Receipt, ReceiveOptions, SendOptions, Wait};
use bus_server::{Limits, Remote, RemoteOptions, Server, ServerOptions, Service};
use host::{Clock, Io, RealClock, RealIo};
use testkit::Scratch;

const TYPE: MessageType = MessageType(1);
const PATIENCE: Duration = Duration::from_secs(60);

/// A bus, and its server if it has one.
struct Stand {
    buses: Vec<Arc<dyn Bus>>,
    server: Option<Server>,
    _scratch: Scratch,
}

/// Where the bus is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Here,
    Network,
}

/// How a bus keeps its messages: not at all, or with a log.
type Log = Option<Durability>;

fn open(log: Log, path: &Path) -> Arc<dyn Bus> {
    let (io, clock): (Arc<dyn Io>, Arc<dyn Clock>) = (Arc::new(RealIo), Arc::new(RealClock));
    let Some(durability) = log else { return Arc::new(Native::<Hybrid>::in_memory(Hybrid, clock)) };
    let settings = LogSettings { durability, ..LogSettings::default() };
    Arc::new(Native::<Hybrid>::open(Hybrid, clock, &io, path, settings).expect("opens"))
}

impl Stand {
    /// A bus as each of `threads` sees it.
    fn new(place: Place, log: Log, threads: usize) -> Self {
        let scratch = Scratch::new("bus-network-bench");
        let bus = open(log, scratch.path());
        if place == Place::Here {
            let buses = vec![bus; threads];
            return Self { buses, server: None, _scratch: scratch };
        }
        let clock: Arc<dyn Clock> = Arc::new(RealClock);
        let service = Service::new(bus, clock, RealIo.entropy(), Limits::default());
        let listen = vec!["127.0.0.1:0".parse().expect("an address")];
        let options = ServerOptions { listen, ..ServerOptions::default() };
        let server = Server::start(Arc::new(service), &options).expect("starts");
        let address = format!("http://{}", server.addresses()[0]);
        let remote = || -> Arc<dyn Bus> {
            Arc::new(Remote::new(RemoteOptions::new(address.clone())).expect("an address"))
        };
        let buses = (0..threads).map(|_| remote()).collect();
        Self { buses, server: Some(server), _scratch: scratch }
    }

    fn end(self) {
        drop(self.buses);
        if let Some(server) = self.server {
            server.stop();
        }
    }
}

fn client(bus: &dyn Bus) -> ClientId {
    let client = bus.connect().expect("connects");
    bus.register_sender(client, TYPE).expect("registers");
    bus.register_receiver(client, TYPE).expect("registers");
    client
}

/// Messages a second: each thread sends to the next one.
fn rate(stand: &Stand, bytes: usize, time: Duration) -> f64 {
    let clients: Vec<ClientId> = stand.buses.iter().map(|bus| client(&**bus)).collect();
    let (is_over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Barrier::new(clients.len() + 1);
    let seconds = thread::scope(|scope| {
        for (at, bus) in stand.buses.iter().enumerate() {
            let (is_over, count, start, clients) = (&is_over, &count, &start, &clients);
            scope.spawn(move || {
                let (me, peer) = (clients[at], [clients[(at + 1) % clients.len()]]);
                let body: Body = vec![7; bytes].into();
                let message = SendOptions::new(me, TYPE, Address::Clients(&peer), body);
                let options = ReceiveOptions { limit: 4, ..ReceiveOptions::new(me) };
                start.wait();
                while !is_over.load(Ordering::Relaxed) {
                    bus.send(&message).expect("sends");
                    let found = bus.receive(&options).expect("receives");
                    let keys: Vec<_> = found.iter().map(|message| message.key).collect();
                    let done = bus.delete(me, &keys).expect("deletes");
                    count.fetch_add(done as u64, Ordering::Relaxed);
                }
            });
        }
        start.wait();
        let begin = Instant::now();
        thread::park_timeout(time);
        is_over.store(true, Ordering::Relaxed);
        begin.elapsed().as_secs_f64()
    });
    count.into_inner() as f64 / seconds
}

/// Times in microseconds from one client to another that waits, in the middle and the slowest but
/// one in a hundred; half of there and back.
fn wake_ups(place: Place, rounds: usize) -> [f64; 2] {
    let stand = Stand::new(place, None, 2);
    let clients = [client(&*stand.buses[0]), client(&*stand.buses[1])];
    let turn = |at: usize, is_first: bool, times: &mut Vec<f64>| {
        let (bus, me, peer) = (&*stand.buses[at], clients[at], [clients[1 - at]]);
        let message = SendOptions::new(me, TYPE, Address::Clients(&peer), *b"ping");
        let receipt = Receipt::Delete;
        let wait = Wait::AtMost(PATIENCE);
        let next = ReceiveOptions { receipt, wait, ..ReceiveOptions::next(me) };
        for _ in 0..rounds {
            let begin = Instant::now();
            if is_first {
                bus.send(&message).expect("sends");
            }
            bus.receive(&next).expect("receives");
            if !is_first {
                bus.send(&message).expect("sends");
            }
            times.push(begin.elapsed().as_secs_f64() * 1e6 / 2.0);
        }
    };
    let mut times = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| turn(1, false, &mut Vec::new()));
        turn(0, true, &mut times);
    });
    stand.end();
    times.sort_by(f64::total_cmp);
    [times[times.len() / 2], times[times.len() * 99 / 100]]
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let time = Duration::from_millis(if is_bench { 1500 } else { 5 });
    let threads: &[usize] = if is_bench { &[1, 4, 16, 64] } else { &[2] };
    let logs: [(&str, Log); 3] = [
        ("memory", None),
        ("asynchronous", Some(Durability::Asynchronous)),
        ("synchronous", Some(Durability::Synchronous)),
    ];
    println!("messages/s, 64 bytes, one at a time: clients, memory, asynchronous, synchronous");
    for place in [Place::Here, Place::Network] {
        for threads in threads {
            print!("{place:?} {threads:>3}");
            for (_, log) in logs {
                let stand = Stand::new(place, log, *threads);
                print!(" {:>9.0}", rate(&stand, 64, time));
                stand.end();
            }
            println!();
        }
    }
    println!("messages/s over the network, 4 clients, by size in bytes");
    for bytes in [64, 4 << 10, 64 << 10, 1 << 20] {
        print!("{bytes:>8}");
        for (name, log) in logs {
            let stand = Stand::new(Place::Network, log, 4);
            print!("  {name} {:>8.0}", rate(&stand, bytes, time));
            stand.end();
        }
        println!();
    }
    for place in [Place::Here, Place::Network] {
        let [middle, slow] = wake_ups(place, if is_bench { 5000 } else { 10 });
        println!(
            "{place:?}: a message to one who waits takes {middle:.0} us, 1 in 100 over {slow:.0}"
        );
    }
}
