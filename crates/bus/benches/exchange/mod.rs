//! Threads that write to each other, and how many messages they come to.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use bus::{Address, Body, Bus, ClientId, MessageType, QueueKey, ReceiveOptions, SendOptions};

const TYPE: MessageType = MessageType(1);
const BODY_BYTES: usize = 64;

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
pub(crate) struct Rate {
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
pub(crate) fn measure(unit: f64, run: impl FnOnce() -> (u64, f64)) -> Rate {
    let before = processor_seconds();
    let (count, seconds) = run();
    let processor = (processor_seconds() - before).max(0.01);
    let count = count as f64 / unit;
    Rate { by_time: count / seconds, by_processor: count / processor }
}

/// Messages of `threads` threads, each of which writes to the next, and the seconds they took.
pub(crate) fn run(bus: &dyn Bus, threads: usize, batch: usize, time: Duration) -> (u64, f64) {
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
pub(crate) fn median(measure: impl Fn() -> Rate) -> Rate {
    let mut rates = [measure(), measure(), measure()];
    rates.sort_by(|a, b| a.by_processor.total_cmp(&b.by_processor));
    rates[1]
}
