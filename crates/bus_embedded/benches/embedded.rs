//! Messages a second of the bus in tables of a Tessera of this process, alone and behind the native
//! bus: `cargo bench -p bus_embedded --bench embedded`. Run by `cargo test` it checks itself on
//! tiny input.
//!
//! As in the bench `stores` of `bus`, with which its lines are compared: one message at a time,
//! each call on the disk when it returns.

#[path = "../../bus/benches/exchange/mod.rs"]
mod exchange;

use std::sync::Arc;
use std::time::Duration;

use bus::Bus;
use bus::native::{Hybrid, Native};
use bus_embedded::Embedded;
use engine::{Config, Database};
use exchange::{Rate, measure, median, run};
use host::RealClock;
use testkit::Scratch;

/// Thousands of messages a second of the bus that `open` opens, which is new each time.
fn rate<B: Bus>(time: Duration, threads: usize, open: impl Fn() -> B) -> Rate {
    median(|| {
        let bus = open();
        measure(1e3, || run(&bus, threads, 1, time))
    })
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (time, all): (_, &[usize]) = if is_bench {
        (Duration::from_millis(500), &[1, 4, 16])
    } else {
        (Duration::from_millis(5), &[2])
    };
    println!("k messages/s: threads, alone, behind the native bus");
    let scratch = Scratch::new("bus-embedded");
    let database = Database::open(scratch.join("db"), Config::default()).expect("opens");
    let number = std::cell::Cell::new(0);
    let open = || -> Embedded {
        number.set(number.get() + 1);
        let schema = format!("queues_{}", number.get());
        bus_embedded::open(&database, &schema, Arc::new(RealClock)).expect("opens")
    };
    for threads in all.iter().copied() {
        let alone = rate(time, threads, open);
        let cached = rate(time, threads, || {
            Native::<Hybrid>::cached(Hybrid, Arc::new(RealClock), Box::new(open())).expect("opens")
        });
        println!("{:<22} {threads:>3} {alone} {cached}", "Tessera, linked in");
    }
}
