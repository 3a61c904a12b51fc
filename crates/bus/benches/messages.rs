//! Messages a second of the native bus, by threads and by the way clients and types are shared:
//! `cargo bench -p bus --bench messages`. Run by `cargo test` it checks itself on tiny input.
//!
//! Each thread is a client that sends messages of 64 bytes to another, and receives and deletes
//! what it got, in batches; so a message is a send, its share of a receive, and of a delete.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use bus::native::{
    Concurrency, Durability, Heap, Hybrid, LogSettings, Native, Numa, Queue, RwLocks, Tree,
};
use bus::{Address, Body, Bus, ClientId, MessageType, QueueKey, ReceiveOptions, SendOptions};
use host::{Io, RealClock, RealIo};
use testkit::Scratch;

const TYPE: MessageType = MessageType(1);
const BODY_BYTES: usize = 64;
/// Messages that a client sends before it looks at its own queue.
const BATCH: usize = 32;

/// Work of one thread until it is told to stop; returns the messages that it deleted.
fn exchange(
    bus: &dyn Bus,
    me: ClientId,
    peer: ClientId,
    batch: usize,
    is_over: &AtomicBool,
) -> u64 {
    let body: Body = Arc::from([7; BODY_BYTES]);
    let to = [peer];
    let message = SendOptions::new(me, TYPE, Address::Clients(&to), body);
    let options = ReceiveOptions { limit: 4 * batch, ..ReceiveOptions::new(me) };
    let mut keys: Vec<QueueKey> = Vec::new();
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        for _ in 0..batch {
            bus.send(&message).expect("sends");
        }
        let found = bus.receive(&options).expect("receives");
        keys.clear();
        keys.extend(found.iter().map(|message| message.key));
        count += bus.delete(me, &keys).expect("deletes") as u64;
    }
    count
}

/// Messages a second of `threads` threads, each of which writes to the next.
fn rate(bus: &dyn Bus, threads: usize, batch: usize, time: Duration) -> f64 {
    let clients: Vec<ClientId> = (0..threads.max(2))
        .map(|_| {
            let client = bus.connect().expect("connects");
            bus.register_sender(client, TYPE).expect("registers");
            bus.register_receiver(client, TYPE).expect("registers");
            client
        })
        .collect();
    let (is_over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Barrier::new(threads + 1);
    let seconds = thread::scope(|scope| {
        for i in 0..threads {
            let (is_over, count, start, clients) = (&is_over, &count, &start, &clients);
            scope.spawn(move || {
                let (me, peer) = (clients[i], clients[(i + 1) % clients.len()]);
                // A thread without a partner writes to itself.
                let peer = if threads == 1 { me } else { peer };
                start.wait();
                let done = exchange(bus, me, peer, batch, is_over);
                count.fetch_add(done, Ordering::Relaxed);
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

/// The median of three runs on buses of their own.
fn median(run: impl Fn() -> f64) -> f64 {
    let mut rates = [run(), run(), run()];
    rates.sort_by(f64::total_cmp);
    rates[1]
}

fn in_memory<C: Concurrency + Copy, Q: Queue>(
    concurrency: C,
    threads: usize,
    time: Duration,
) -> f64 {
    let run = || {
        let bus = Native::<C, Q>::in_memory(concurrency, Arc::new(RealClock));
        rate(&bus, threads, BATCH, time)
    };
    median(run) / 1e6
}

/// Thousands of messages a second with a log on the disk, one message at a time.
fn logged(durability: Durability, threads: usize, time: Duration) -> f64 {
    let run = || {
        let scratch = Scratch::new("bus-bench");
        let io: Arc<dyn Io> = Arc::new(RealIo);
        let settings = LogSettings { durability, ..LogSettings::default() };
        let path: &Path = scratch.path();
        let bus = Native::<Hybrid>::open(Hybrid, Arc::new(RealClock), &io, path, settings);
        rate(&bus.expect("opens"), threads, 1, time)
    };
    median(run) / 1e3
}

/// Millions of cell reads a second: the part of a send that the siblings differ in.
fn reads<C: Concurrency>(concurrency: C, threads: usize, time: Duration) -> f64 {
    use bus::native::Cell;

    let cell = concurrency.cell(1_u64);
    let (is_over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut done = 0;
                while !is_over.load(Ordering::Relaxed) {
                    done += (0..1000).map(|_| *cell.read()).sum::<u64>();
                }
                count.fetch_add(done, Ordering::Relaxed);
            });
        }
        thread::park_timeout(time);
        is_over.store(true, Ordering::Relaxed);
    });
    count.into_inner() as f64 / time.as_secs_f64() / 1e6
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let time = Duration::from_millis(if is_bench { 500 } else { 5 });
    let threads: &[usize] = if is_bench { &[1, 2, 4, 8, 16, 64] } else { &[1, 3] };
    println!(
        "M messages/s in memory: threads, read-write locks, hybrid, by node, hybrid with heap"
    );
    for threads in threads.iter().copied() {
        let locks = in_memory::<RwLocks, Tree>(RwLocks, threads, time);
        let hybrid = in_memory::<Hybrid, Tree>(Hybrid, threads, time);
        let numa = in_memory::<Numa, Tree>(Numa::new(2), threads, time);
        let heap = in_memory::<Hybrid, Heap>(Hybrid, threads, time);
        println!("{threads:>3} {locks:>6.2} {hybrid:>6.2} {numa:>6.2} {heap:>6.2}");
    }
    println!("M reads/s of one cell: threads, read-write locks, hybrid, by node");
    for threads in threads.iter().copied() {
        let locks = reads(RwLocks, threads, time);
        let hybrid = reads(Hybrid, threads, time);
        let numa = reads(Numa::new(2), threads, time);
        println!("{threads:>3} {locks:>6.1} {hybrid:>6.1} {numa:>6.1}");
    }
    println!("k messages/s with a log: threads, synchronous, asynchronous");
    for threads in threads.iter().copied() {
        let synchronous = logged(Durability::Synchronous, threads, time);
        let asynchronous = logged(Durability::Asynchronous, threads, time);
        println!("{threads:>3} {synchronous:>7.1} {asynchronous:>7.1}");
    }
}
