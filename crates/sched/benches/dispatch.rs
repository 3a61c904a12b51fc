//! Time of a work order that does nothing, and of one that works for some microseconds, with each
//! dispatch: `cargo bench -p sched --bench dispatch`. Run by `cargo test` it checks itself on tiny
//! input.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use sched::{Dispatch, Extent, Priority, Scheduler, Ticket, WorkOrders};

/// Orders that add up so many numbers each.
struct Sums {
    numbers: u64,
    sum: AtomicU64,
}

impl WorkOrders for Sums {
    fn run(&self, _worker: usize, order: usize) {
        let sum = (0..self.numbers).fold(1, |sum, number| std::hint::black_box(sum + number % 2));
        self.sum.fetch_add(sum.min(1) + (order % 2) as u64, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// Microseconds of each of `count` orders of `numbers` numbers, by the wall clock.
fn measure(scheduler: &Scheduler, numbers: u64, count: usize) -> f64 {
    let orders = Arc::new(Sums { numbers, sum: AtomicU64::new(0) });
    let extent = Extent { slots: scheduler.slots(), count };
    let start = Instant::now();
    let shared = Arc::clone(&orders) as Arc<dyn WorkOrders>;
    scheduler.run(&Ticket::new(Priority(1)), shared, extent).expect("runs");
    let micros = start.elapsed().as_secs_f64() * 1e6;
    assert_eq!(orders.sum.load(Ordering::Relaxed), (count + count / 2) as u64);
    micros / count as f64
}

fn main() {
    let is_full = std::env::args().any(|argument| argument == "--bench");
    let (count, runs) = if is_full { (20_000, 7) } else { (20, 1) };
    println!("| workers | numbers per order | monitor, us per order | bus, us per order |");
    println!("| --- | --- | --- | --- |");
    for workers in [1, 2] {
        for numbers in [0, 1_000, 100_000] {
            let scheduler = Scheduler::new(workers);
            let count = if numbers < 100_000 { count } else { count / 20 };
            let median = |dispatch| {
                scheduler.set_dispatch(dispatch);
                let mut times: Vec<f64> =
                    (0..runs).map(|_| measure(&scheduler, numbers, count)).collect();
                times.sort_by(f64::total_cmp);
                times[runs / 2]
            };
            let [monitor, bus] = Dispatch::ALL.map(median);
            println!("| {workers} | {numbers} | {monitor:.2} | {bus:.2} |");
        }
    }
}
