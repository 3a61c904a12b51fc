//! Messages a second beside other programs for queues, each message on the disk before its sender
//! goes on: `cargo bench -p bus_server --bench peers`. Run by `cargo test` it checks itself on
//! Tessera alone.
//!
//! Each client has a connection and a queue of its own over the network of this machine. It sends a
//! message of 64 bytes to itself, receives it and deletes it, each confirmed before the next: three
//! steps for a message. Peers whose packages cannot be had are left out, with a line that says why.

#[path = "peers/activemq.rs"]
mod activemq;
#[path = "peers/nats.rs"]
mod nats;
#[path = "peers/server.rs"]
mod server;
#[path = "peers/tessera.rs"]
mod tessera;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a body.
const BODY_BYTES: usize = 64;

/// A client's connection, with a queue.
trait Courier: Send {
    /// Sends `body` to its own queue; it is on the disk afterwards.
    fn send(&mut self, body: &[u8]) -> Result<(), String>;

    /// Receives the next message, which is there, and deletes it; returns its body.
    fn take(&mut self) -> Result<Vec<u8>, String>;
}

/// A program that is running.
trait Post {
    /// A courier with the queue of this number.
    fn courier(&self, number: usize) -> Result<Box<dyn Courier>, String>;
}

/// How a program is started, empty.
type Start = fn() -> Result<Box<dyn Post>, String>;

/// Messages a second of `clients`.
fn rate(start: Start, clients: usize, time: Duration) -> Result<f64, String> {
    let post = start()?;
    let couriers: Result<Vec<_>, String> = (0..clients).map(|i| post.courier(i)).collect();
    let (is_over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let begin = Arc::new(Barrier::new(clients + 1));
    let work = |mut courier: Box<dyn Courier>| {
        let (is_over, count) = (Arc::clone(&is_over), Arc::clone(&count));
        let begin = Arc::clone(&begin);
        thread::spawn(move || -> Result<(), String> {
            let body = [b'x'; BODY_BYTES];
            begin.wait();
            loop {
                courier.send(&body)?;
                assert_eq!(courier.take()?, body);
                count.fetch_add(1, Ordering::Relaxed);
                if is_over.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
        })
    };
    let threads: Vec<_> = couriers?.into_iter().map(work).collect();
    begin.wait();
    let start = Instant::now();
    thread::park_timeout(time);
    let (done, seconds) = (count.load(Ordering::Relaxed), start.elapsed().as_secs_f64());
    is_over.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| "a client panicked".to_owned())??;
    }
    Ok(done as f64 / seconds)
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let programs: [(&str, Start); 3] = [
        ("tessera bus, gRPC", tessera::start),
        ("NATS JetStream", nats::start),
        ("ActiveMQ, STOMP", activemq::start),
    ];
    let programs = if is_bench { &programs[..] } else { &programs[..1] };
    let clients: &[usize] = if is_bench { &[1, 4, 16] } else { &[2] };
    let (time, runs) =
        if is_bench { (Duration::from_secs(3), 3) } else { (Duration::from_millis(20), 1) };
    println!("messages/s by clients {clients:?}, on the disk before the next");
    for (name, start) in programs {
        let median = |clients: &usize| {
            let rates: Result<Vec<f64>, String> =
                (0..runs).map(|_| rate(*start, *clients, time)).collect();
            rates.map(|mut rates| {
                rates.sort_by(f64::total_cmp);
                rates[runs / 2]
            })
        };
        match clients.iter().map(median).collect::<Result<Vec<f64>, String>>() {
            Ok(rates) => println!("{name}: {rates:.0?}"),
            Err(why) if is_bench => println!("{name}: left out, {why}"),
            Err(why) => panic!("{name}: {why}"),
        }
    }
}
