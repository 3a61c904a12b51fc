//! Versions under stress: none is used after its end, none stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bus::native::{Cell, Concurrency, Hybrid, Native, Numa, RwLocks, live_versions};
use bus::{Address, Bus, Copies, MessageType, Receipt, ReceiveOptions, SendOptions};
use host::RealClock;

const ALIVE: u64 = 0xa11e_a11e_a11e_a11e;

/// A value that knows whether it is alive, and has as many words as a torn copy needs to show.
#[derive(Debug)]
struct Canary {
    words: [u64; 16],
    alive: u64,
    count: Arc<AtomicIsize>,
}

impl Canary {
    fn new(count: &Arc<AtomicIsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self { words: [0; 16], alive: ALIVE, count: Arc::clone(count) }
    }

    fn check(&self) -> u64 {
        assert_eq!(self.alive, ALIVE, "a version was used after its end");
        assert!(self.words.iter().all(|word| *word == self.words[0]), "a torn version");
        self.words[0]
    }
}

impl Clone for Canary {
    fn clone(&self) -> Self {
        let mut clone = Self::new(&self.count);
        clone.words = self.words;
        clone
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        assert_eq!(self.alive, ALIVE, "a version ended twice");
        self.alive = 0;
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Readers that hold versions for a while, long readers among them, and two writers.
fn stress(concurrency: impl Concurrency) {
    let count = Arc::new(AtomicIsize::new(0));
    let cell = concurrency.cell(Canary::new(&count));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for reader in 0..6_u64 {
            let (cell, is_over) = (&cell, &is_over);
            scope.spawn(move || {
                let mut newest = 0;
                for round in 0_u64.. {
                    let version = cell.read();
                    let value = version.check();
                    assert!(value >= newest, "a reader went back");
                    newest = value;
                    if reader == 0 && round.is_multiple_of(64) {
                        thread::yield_now();
                    }
                    let again = cell.read();
                    assert!(again.check() >= value);
                    assert_eq!(version.check(), value, "a version changed");
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let end = Instant::now() + Duration::from_millis(700);
                while Instant::now() < end {
                    cell.update(|canary| canary.words.iter_mut().for_each(|word| *word += 1));
                }
                is_over.store(true, Ordering::Relaxed);
            });
        }
    });
    assert!(cell.read().check() > 0);
    assert_eq!(count.load(Ordering::Relaxed), 1, "only the current version is left");
    drop(cell);
    assert_eq!(count.load(Ordering::Relaxed), 0, "no version is left");
}

/// Clients that come, broadcast, receive and go, by threads, on a whole bus.
fn whole_bus<C: Concurrency>(concurrency: C) {
    const TYPE: MessageType = MessageType(1);
    let bus = Native::<C>::in_memory(concurrency, Arc::new(RealClock));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..150 {
                    let client = bus.connect().expect("connects");
                    bus.register_sender(client, TYPE).expect("registers");
                    bus.register_receiver(client, TYPE).expect("registers");
                    let any = SendOptions::new(client, TYPE, Address::Any, *b"hello");
                    bus.send(&SendOptions { copies: Copies::Each, ..any }).expect("sends");
                    let receipt = Receipt::Delete;
                    let options = ReceiveOptions { receipt, ..ReceiveOptions::next(client) };
                    assert_eq!(bus.receive(&options).expect("receives").len(), 1);
                    bus.disconnect(client).expect("disconnects");
                }
            });
        }
    });
    assert_eq!(bus.clients(), Ok(Vec::new()));
}

/// One test, because versions are counted for the whole process.
#[test]
fn versions_end_once_and_are_not_used_afterwards() {
    stress(Hybrid);
    stress(Numa::new(1));
    stress(Numa::new(4));
    // The twin, to see that the test is right.
    let count = Arc::new(AtomicIsize::new(0));
    let cell = RwLocks.cell(Canary::new(&count));
    cell.update(|canary| canary.words = [1; 16]);
    assert_eq!(cell.read().check(), 1);
    assert_eq!(live_versions(), 0, "versions leaked");
    whole_bus(Hybrid);
    whole_bus(Numa::new(2));
    whole_bus(RwLocks);
    assert_eq!(live_versions(), 0, "versions leaked");
}
