//! `cargo xtask bench checkpoint`: how much a checkpoint slows TPC-C down.
//!
//! ```text
//! New-Orders in windows of 100 ms:  before | CHECKPOINT | after   ... again
//! ```
//! A dip is how much lower the mean of the windows during a checkpoint is than that of those
//! before. Windows that a checkpoint covers in part count as during. On a machine that has other
//! work, too, the second dip counts: rates in the time in which no worker waited for a processor.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use workloads::tpcc::driver::{self, Length, Plan, System, Use};
use workloads::tpcc::tessera::{Tessera, Waits};
use workloads::tpcc::{
    self, Delivery, Failure, NewOrder, OrderStatus, Paid, Payment, Placed, Scale, Status,
    StockLevel, Terminal,
};

use super::circumstances;
use super::durable::{Scratch, audit_tpcc, bytes_below, load_tpcc, open};
use crate::bench_args::CheckpointArgs;
use crate::{Outcome, text};

/// Length of a window in milliseconds.
const WINDOW_MS: u64 = 100;

/// New-Orders by window.
struct Windows {
    start: Instant,
    counts: Vec<AtomicU64>,
    /// Files of the system about the workers' threads.
    threads: Mutex<Vec<PathBuf>>,
}

/// A moment of a run.
#[derive(Clone, Copy)]
struct Moment {
    window: usize,
    at: Instant,
    /// Seconds for which workers waited for a processor, so far.
    waited: f64,
}

/// New-Orders in a second between two moments.
#[derive(Clone, Copy)]
struct Rate {
    /// As the clock has it.
    all: f64,
    /// Rate over the time in which a worker had a processor or waited for something else.
    served: f64,
}

impl Windows {
    fn new(seconds: f64) -> Self {
        let count = (seconds * 1e3) as u64 / WINDOW_MS;
        let counts = (0..count).map(|_| AtomicU64::new(0)).collect();
        Self { start: Instant::now(), counts, threads: Mutex::default() }
    }

    /// The calling thread is a worker.
    fn enlist(&self) {
        if let Ok(thread) = std::fs::read_link("/proc/thread-self") {
            let path = Path::new("/proc").join(thread).join("schedstat");
            self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        }
    }

    fn window(&self) -> usize {
        (self.start.elapsed().as_millis() as u64 / WINDOW_MS) as usize
    }

    fn now(&self) -> Moment {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).ok()?;
            text.split_whitespace().nth(1)?.parse::<f64>().ok()
        };
        let waited = threads.iter().filter_map(waited).sum::<f64>() / 1e9;
        Moment { window: self.window(), at: Instant::now(), waited }
    }

    fn count(&self) {
        if let Some(count) = self.counts.get(self.window()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// New-Orders in a second, of each window from `from` up to but without `to`.
    fn rates(&self, from: usize, to: usize) -> Vec<f64> {
        let windows = &self.counts[from.min(self.counts.len())..to.min(self.counts.len())];
        let rate = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
        windows.iter().map(|count| rate(count) * 1e3 / WINDOW_MS as f64).collect()
    }

    fn rate(&self, from: Moment, to: Moment) -> Rate {
        let all = mean(&self.rates(from.window, to.window));
        let workers = self.threads.lock().unwrap_or_else(PoisonError::into_inner).len();
        let seconds = (to.at - from.at).as_secs_f64() * workers as f64;
        let served = 1.0 - (to.waited - from.waited) / seconds.max(1e-9);
        Rate { all, served: all / served.clamp(0.01, 1.0) }
    }
}

/// Measures and prints.
///
/// # Errors
/// Errors of the database, or a condition that is broken afterwards.
pub fn run(args: &CheckpointArgs) -> Outcome {
    println!("{}", circumstances());
    let waits = if args.asynchronous { Waits::No } else { Waits::Yes };
    println!(
        "run      checkpoint, TPC-C, {0} warehouses, {0} workers, commits wait: {waits:?}; {1} s \
         before and after",
        args.warehouses, args.seconds
    );
    let scratch = Scratch::new("checkpoint")?;
    let scale = Scale::new(args.warehouses);
    let database = open(&scratch.0, args.warehouses as usize).map_err(text)?;
    load_tpcc(&database, &scale).map_err(text)?;
    let mut session = database.session();
    session.execute("SET checkpoint_wal_bytes = '1000GB'").map_err(text)?;
    session.execute("CHECKPOINT").map_err(text)?;

    // Nobody knows how long checkpoints take: ten times as many windows as without.
    let total = args.seconds * (args.checkpoints + 1) as f64 * 10.0 + 60.0;
    let counted = Counted {
        system: Tessera::new(&database, waits).map_err(text)?,
        windows: Windows::new(total),
        stop: AtomicBool::new(false),
    };
    let workers = args.warehouses as usize;
    let length = Length::Time(Duration::ZERO, Duration::from_secs_f64(total));
    let plan = Plan { scale, seed: tpcc::SEED, run: 1, workers, length };
    let outcome = std::thread::scope(|scope| {
        let driver = scope.spawn(|| driver::run(&counted, &plan));
        let outcome = checkpoints(args, &mut session, &counted.windows, &scratch);
        counted.stop.store(true, Ordering::Relaxed);
        match driver.join() {
            Ok(Err(failure)) if failure.to_string() != STOPPED => Err(failure.to_string()),
            Ok(_) => outcome,
            Err(_) => Err("the driver panicked".into()),
        }
    });
    outcome?;
    audit_tpcc(&database, &scale)?;
    println!("conditions 1 to 12 hold");
    Ok(())
}

fn checkpoints(
    args: &CheckpointArgs,
    session: &mut engine::Session,
    windows: &Windows,
    scratch: &Scratch,
) -> Outcome {
    let pause = Duration::from_secs_f64(args.seconds);
    std::thread::sleep(pause);
    println!(
        "{:>10} {:>7} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9} {:>9} {:>7}",
        "checkpoint",
        "s",
        "before/s",
        "during/s",
        "lowest/s",
        "after/s",
        "dip %",
        "before*",
        "during*",
        "dip* %"
    );
    let (mut dips, count) = ([0.0; 2], args.checkpoints.max(1));
    for number in 1..=count {
        let both = one(number, pause, session, windows)?;
        dips = [dips[0] + both[0], dips[1] + both[1]];
    }
    let megabytes = bytes_below(&scratch.0.join("blocks"))? as f64 / 1e6;
    let [all, served] = dips.map(|dip| dip / count as f64);
    println!(
        "dip {all:.1} % on average, {served:.1} % of the time* in which no worker waited for a \
         processor; {megabytes:.0} MB of blocks"
    );
    Ok(())
}

/// One checkpoint; both its dips in percent.
fn one(
    number: usize,
    pause: Duration,
    session: &mut engine::Session,
    windows: &Windows,
) -> Result<[f64; 2], String> {
    let first = windows.now();
    std::thread::sleep(pause);
    let begun = windows.now();
    session.execute("CHECKPOINT").map_err(text)?;
    let took = begun.at.elapsed().as_secs_f64();
    // The window in which it ends counts as during.
    std::thread::sleep(Duration::from_millis(WINDOW_MS));
    let ended = windows.now();
    std::thread::sleep(pause);
    let before = windows.rate(first, begun);
    let during = windows.rate(begun, ended);
    let after = windows.rate(ended, windows.now());
    let rates = windows.rates(begun.window, ended.window);
    let lowest = rates.into_iter().fold(f64::INFINITY, f64::min);
    let dip = |before: f64, during: f64| (1.0 - during / before) * 100.0;
    let both = [dip(before.all, during.all), dip(before.served, during.served)];
    println!(
        "{number:>10} {took:>7.2} {:>9.0} {:>9.0} {lowest:>9.0} {:>9.0} {:>7.1} {:>9.0} {:>9.0} \
         {:>7.1}",
        before.all, during.all, after.all, both[0], before.served, during.served, both[1]
    );
    Ok(both)
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

/// Message that ends a worker.
const STOPPED: &str = "all checkpoints are written";

/// Counts the New-Orders of a system.
struct Counted {
    system: Tessera,
    windows: Windows,
    stop: AtomicBool,
}

impl System for Counted {
    fn with_terminal(&self, worker: usize, body: Use<'_>) -> Result<(), Failure> {
        let mut counted = |terminal: &mut dyn Terminal| {
            self.windows.enlist();
            body(&mut CountedTerminal { terminal, counted: self })
        };
        self.system.with_terminal(worker, &mut counted)
    }
}

struct CountedTerminal<'t> {
    terminal: &'t mut dyn Terminal,
    counted: &'t Counted,
}

impl Terminal for CountedTerminal<'_> {
    fn new_order(&mut self, input: &NewOrder) -> Result<Option<Placed>, Failure> {
        if self.counted.stop.load(Ordering::Relaxed) {
            return Err(Failure::Fatal(STOPPED.into()));
        }
        let placed = self.terminal.new_order(input)?;
        self.counted.windows.count();
        Ok(placed)
    }

    fn payment(&mut self, input: &Payment) -> Result<Paid, Failure> {
        self.terminal.payment(input)
    }

    fn order_status(&mut self, input: &OrderStatus) -> Result<Status, Failure> {
        self.terminal.order_status(input)
    }

    fn delivery(&mut self, input: &Delivery) -> Result<i32, Failure> {
        self.terminal.delivery(input)
    }

    fn stock_level(&mut self, input: &StockLevel) -> Result<i32, Failure> {
        self.terminal.stock_level(input)
    }
}
