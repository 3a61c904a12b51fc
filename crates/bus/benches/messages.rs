//! Messages a second of the native bus, by threads and by the way clients and types are shared:
//! `cargo bench -p bus --bench messages`. Run by `cargo test` it checks itself on tiny input.
//!
//! Each thread is a client that sends messages of 64 bytes to another, and receives and deletes
//! what it got, in batches; so a message is a send, its share of a receive, and of a delete. Rates
//! are given by the second, and by the second of processor time, which other programs on the
//! machine disturb less.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use bus::native::{
    Cell, Concurrency, Durability, Heap, Hybrid, LogSettings, Native, Numa, Queue, RwLocks, Tree,
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

/// Something a second, and a second of processor time.
#[derive(Clone, Copy, Debug)]
struct Rate {
    by_time: f64,
    by_processor: f64,
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8.2} /{:>6.2}", self.by_time, self.by_processor)
    }
}

/// Seconds that the threads of this process ran so far, in hundredths.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may have blanks: utime and stime are the 12th and 13th.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Counts what `run` does, in millions or thousands by `unit`.
fn measure(unit: f64, run: impl FnOnce() -> (u64, f64)) -> Rate {
    let before = processor_seconds();
    let (count, seconds) = run();
    let processor = (processor_seconds() - before).max(0.01);
    let count = count as f64 / unit;
    Rate { by_time: count / seconds, by_processor: count / processor }
}

/// Messages of `threads` threads, each of which writes to the next, and the seconds they took.
fn run(bus: &dyn Bus, threads: usize, batch: usize, time: Duration) -> (u64, f64) {
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
    (count.into_inner(), seconds)
}

/// The median of three runs on buses of their own.
fn median(measure: impl Fn() -> Rate) -> Rate {
    let mut rates = [measure(), measure(), measure()];
    rates.sort_by(|a, b| a.by_processor.total_cmp(&b.by_processor));
    rates[1]
}

fn in_memory<C: Concurrency + Copy, Q: Queue>(
    concurrency: C,
    threads: usize,
    time: Duration,
) -> Rate {
    median(|| {
        let bus = Native::<C, Q>::in_memory(concurrency, Arc::new(RealClock));
        measure(1e6, || run(&bus, threads, BATCH, time))
    })
}

/// Thousands of messages a second with a log on the disk, one message at a time.
fn logged(durability: Durability, threads: usize, time: Duration) -> Rate {
    median(|| {
        let scratch = Scratch::new("bus-bench");
        let io: Arc<dyn Io> = Arc::new(RealIo);
        let settings = LogSettings { durability, ..LogSettings::default() };
        let path: &Path = scratch.path();
        let bus = Native::<Hybrid>::open(Hybrid, Arc::new(RealClock), &io, path, settings);
        let bus = bus.expect("opens");
        measure(1e3, || run(&bus, threads, 1, time))
    })
}

/// Millions of cell reads a second: the part of a send that the siblings differ in.
fn reads<C: Concurrency>(concurrency: C, threads: usize, time: Duration) -> Rate {
    let cell = concurrency.cell(1_u64);
    let (is_over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    measure(1e6, || {
        let begin = Instant::now();
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
        (count.load(Ordering::Relaxed), begin.elapsed().as_secs_f64())
    })
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
        println!("{threads:>3} {locks} {hybrid} {numa} {heap}");
    }
    println!("M reads/s of one cell: threads, read-write locks, hybrid, by node");
    for threads in threads.iter().copied() {
        let locks = reads(RwLocks, threads, time);
        let hybrid = reads(Hybrid, threads, time);
        let numa = reads(Numa::new(2), threads, time);
        println!("{threads:>3} {locks} {hybrid} {numa}");
    }
    println!("k messages/s with a log: threads, synchronous, asynchronous");
    for threads in threads.iter().copied() {
        let synchronous = logged(Durability::Synchronous, threads, time);
        let asynchronous = logged(Durability::Asynchronous, threads, time);
        println!("{threads:>3} {synchronous} {asynchronous}");
    }
}
