//! Stores, commit manager, nodes, trees and transactions on one thread, from seeds: frames are
//! lost, doubled and late, stores come and go, and everybody crashes. Rows 39 to 49, 51, 56, 57,
//! 72 and 75.
//!
//! Histories of lists have no anomaly beyond snapshot isolation, kept in real time; money is
//! neither made nor lost; names are unique; nothing refers to a row that is gone; at the end
//! nothing is open, no undo record is left, no key is in two stores, and indexes say what rows say.
//! `SEEDS`
//! and `FIRST_SEED` choose other seeds, `THREADS` how many run at once; each that fails is named,
//! and the others go on.

#[path = "simulation/world.rs"]
mod world;
#[path = "simulation/work.rs"]
mod work;
#[path = "simulation/tables.rs"]
mod tables;
#[path = "simulation/references.rs"]
mod references;

use std::ops::{AddAssign, Range};
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use testkit::histories::{Level, RealTime, check};
use testkit::sim::{Faults, PartyId, Sim};
use world::{NODES, Peer, STORES, Shared};

/// The number that the environment gives.
fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    given.unwrap_or(default)
}

fn seeds() -> Range<u64> {
    let first = number("FIRST_SEED", 0);
    first..first + number("SEEDS", 24)
}

/// Seeds between two lines of a long run.
const SHOWN: u64 = 1000;

/// Simulated time of work, in microseconds.
const WORK_US: i64 = 400_000;

fn faults(seed: u64) -> Faults {
    if seed.is_multiple_of(10) {
        return Faults::none();
    }
    let crashing = (0..1 + STORES + NODES).map(PartyId).collect();
    let lost = if seed.is_multiple_of(3) { 10 } else { 0 };
    Faults {
        delay: 100..2_000,
        lost,
        doubled: lost,
        calm: 10_000..60_000,
        trouble: 1_000..60_000,
        crashing,
    }
}

/// Numbers of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Transactions that committed.
    committed: usize,
    crashes: u64,
    /// Stores that came or left.
    store_changes: usize,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.committed += other.committed;
        self.crashes += other.crashes;
        self.store_changes += other.store_changes;
    }
}

/// Runs a seed.
fn run(seed: u64) -> Counts {
    let shared = Shared::default();
    let mut sim = Sim::new(seed, faults(seed), Peer::all(seed, &shared));
    sim.run_for(WORK_US);
    shared.end_work();
    sim.calm();
    // Everybody comes to rest: what is half done is finished by those who live.
    let is_idle = |sim: &Sim<Peer>| sim.parties().all(|peer| peer.business().is_none());
    for _ in 0..400 {
        if is_idle(&sim) {
            break;
        }
        sim.run_for(20_000);
    }
    let busy: Vec<String> = sim.parties().filter_map(Peer::business).collect();
    assert!(busy.is_empty(), "seed {seed}: open for ever: {busy:?}");
    shared.begin_audit();
    for _ in 0..100 {
        if shared.is_audited() {
            break;
        }
        sim.run_for(20_000);
    }
    assert!(shared.is_audited(), "seed {seed}: nobody reads the end");
    shared.audit(seed);
    world::audit_keys(seed, sim.parties());
    let history = shared.history();
    let findings = check(&history, Level::Snapshot, RealTime::Kept);
    assert!(findings.is_empty(), "seed {seed}: {findings:?}");
    let (committed, store_changes) = (shared.committed(), shared.store_changes());
    Counts { committed, crashes: sim.crashes(), store_changes }
}

/// Runs all seeds; sums, and seeds that failed.
fn run_all(seeds: Range<u64>) -> (Counts, Vec<u64>) {
    let next = AtomicU64::new(seeds.start);
    let done = Mutex::new((Counts::default(), Vec::new()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let outcome = catch_unwind(|| run(seed));
            let (all, failed) = &mut *done.lock().expect("nobody fails with it");
            match outcome {
                Ok(counts) => *all += counts,
                Err(_) => {
                    println!("seed {seed} failed");
                    failed.push(seed);
                }
            }
            let ran = seed + 1 - seeds.start;
            if ran.is_multiple_of(SHOWN) {
                println!("{ran} seeds: {all:?}, {} failed", failed.len());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..number("THREADS", 1) {
            scope.spawn(work);
        }
    });
    done.into_inner().expect("nobody fails with it")
}

#[test]
fn no_history_beyond_snapshot_isolation() {
    let seeds = seeds();
    let count = seeds.end - seeds.start;
    let (all, failed) = run_all(seeds);
    println!("{count} seeds: {all:?}");
    assert!(failed.is_empty(), "seeds that failed: {failed:?}");
    assert!(all.committed as u64 > count * 20, "{all:?}");
    assert!(count < 20 || all.crashes > count && all.store_changes as u64 > count, "{all:?}");
}

#[test]
fn a_seed_is_a_run() {
    assert_eq!(run(7), run(7));
}
