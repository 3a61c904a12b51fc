//! Runs transactions on worker threads for a time or a count, and measures them.
//!
//! ```text
//! connect -> barrier -> warm up -> measure -> merge
//! ```
//! A worker asks for the next transaction when it has the answer to the last: no keying, no
//! thinking
//! (departure from clause 5.2.5), so figures are rates of this machine and no tpmC. A transaction
//! that lost to another is tried again with the same input; its time includes all tries. Delivery
//! is not deferred.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::histogram::Histogram;
use super::input::{Input, Inputs, Kind, system_clock};
use super::populate::Scale;
use super::terminal::{Answer, Failure, Terminal, answer};

/// Tries of one input before the run fails.
const TRIES_MAX: u64 = 10_000;

/// Use of a terminal while its system keeps it open.
pub type Use<'a> = &'a mut dyn FnMut(&mut dyn Terminal) -> Result<(), Failure>;

/// A database with a population, and a way to run the transactions.
pub trait System: Sync {
    /// Opens the terminal of worker `worker` and hands it to `body`; both on the worker's thread.
    ///
    /// # Errors
    /// Errors of `body`, and why no terminal could be opened.
    fn with_terminal(&self, worker: usize, body: Use<'_>) -> Result<(), Failure>;
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// After warming up for the first and measuring for the second.
    Time(Duration, Duration),
    /// After so many transactions of each worker, all of them measured.
    Count(u64),
}

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The population's cardinalities.
    pub scale: Scale,
    /// The population's seed.
    pub seed: u64,
    /// Another sequence of inputs for each.
    pub run: u64,
    /// Worker threads; worker i is at home in warehouse 1 + i % warehouses.
    pub workers: usize,
    /// When it ends.
    pub length: Length,
}

/// Measurements of a run.
#[derive(Clone, Default)]
pub struct Report {
    /// The measured time in seconds.
    pub seconds: f64,
    /// Times by kind of transaction, in nanoseconds, rolled back ones included.
    pub times: [Histogram; 5],
    /// New-Order transactions that were rolled back as the input bids.
    pub rolled_back: u64,
    /// Tries that lost to another transaction, by kind.
    pub retries: [u64; 5],
}

impl Report {
    /// Transactions of a kind in a second, those rolled back included.
    pub fn per_second(&self, kind: Kind) -> f64 {
        self.times[kind as usize].count() as f64 / self.seconds
    }

    /// Committed transactions of all kinds.
    pub fn committed(&self) -> u64 {
        self.times.iter().map(Histogram::count).sum::<u64>() - self.rolled_back
    }

    /// Committed New-Order transactions in a second.
    pub fn new_orders_per_second(&self) -> f64 {
        let placed = self.times[Kind::NewOrder as usize].count() - self.rolled_back;
        placed as f64 / self.seconds
    }

    /// Committed transactions in a second.
    pub fn transactions_per_second(&self) -> f64 {
        self.committed() as f64 / self.seconds
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.times.iter_mut().zip(&other.times) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.retries.iter_mut().zip(other.retries) {
            *mine += theirs;
        }
        self.rolled_back += other.rolled_back;
        self.seconds = self.seconds.max(other.seconds);
    }
}

/// State that the workers share.
struct Shared<'a> {
    plan: &'a Plan,
    barrier: Barrier,
    stop: AtomicBool,
    total: Mutex<Report>,
    failure: Mutex<Option<Failure>>,
}

/// Runs `plan` on `system`.
///
/// # Errors
/// The first failure that a retry could not mend.
pub fn run(system: &dyn System, plan: &Plan) -> Result<Report, Failure> {
    let shared = Shared {
        plan,
        barrier: Barrier::new(plan.workers),
        stop: AtomicBool::new(false),
        total: Mutex::default(),
        failure: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for worker in 0..plan.workers {
            let shared = &shared;
            scope.spawn(move || shared.work(system, worker));
        }
    });
    let failure = shared.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failure {
        Some(failure) => Err(failure),
        None => Ok(shared.total.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

impl Shared<'_> {
    fn work(&self, system: &dyn System, worker: usize) {
        let mut started = false;
        let outcome = system.with_terminal(worker, &mut |terminal| {
            started = true;
            self.barrier.wait();
            let report = self.measure(terminal, worker)?;
            self.total.lock().unwrap_or_else(PoisonError::into_inner).merge(&report);
            Ok(())
        });
        if let Err(failure) = outcome {
            self.stop.store(true, Ordering::Relaxed);
            let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(failure);
        }
        if !started {
            // The others wait for all workers, also for one without a terminal.
            self.barrier.wait();
        }
    }

    fn measure(&self, terminal: &mut dyn Terminal, worker: usize) -> Result<Report, Failure> {
        let Plan { scale, seed, run, length, .. } = self.plan;
        let mut inputs = Inputs::new(scale, *seed, *run, worker, system_clock);
        let mut report = Report::default();
        let start = Instant::now();
        let mut measured_from = start;
        let mut done = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let input = inputs.next_input();
            let begun = Instant::now();
            let mut retries = 0;
            let answer = self.try_until_done(terminal, &input, &mut retries)?;
            let ended = Instant::now();
            done += 1;
            if let Length::Time(warm_up, measured) = length {
                if begun < start + *warm_up {
                    measured_from = ended;
                    continue;
                }
                if ended > start + *warm_up + *measured {
                    break;
                }
            }
            let kind = input.kind() as usize;
            report.times[kind].add((ended - begun).as_nanos() as u64);
            report.retries[kind] += retries;
            report.rolled_back += u64::from(answer == Answer::Placed(None));
            if *length == Length::Count(done) {
                break;
            }
        }
        report.seconds = measured_from.elapsed().as_secs_f64();
        Ok(report)
    }

    fn try_until_done(
        &self,
        terminal: &mut dyn Terminal,
        input: &Input,
        retries: &mut u64,
    ) -> Result<Answer, Failure> {
        loop {
            match answer(terminal, input) {
                Err(Failure::Retry(_)) if *retries < TRIES_MAX => *retries += 1,
                outcome => return outcome,
            }
        }
    }
}
