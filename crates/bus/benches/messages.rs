//! Messages a second of the native bus, by threads and by the way clients and types are shared:
//! `cargo bench -p bus --bench messages`. Run by `cargo test` it checks itself on tiny input.
//!
//! Each thread is a client that sends messages of 64 bytes to another, and receives and deletes
//! what it got, in batches; so a message is a send, its share of a receive, and of a delete. Rates
//! are given by the second, and by the second of processor time, which other programs on the
//! machine disturb less.

mod exchange;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bus::native::{
    Cell, Concurrency, Durability, Heap, Hybrid, LogSettings, Native, Numa, Queue, RwLocks, Tree,
};
use exchange::{Rate, measure, median, run};
use host::{Io, RealClock, RealIo};
use testkit::Scratch;

/// Messages that a client sends before it looks at its own queue.
const BATCH: usize = 32;

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
