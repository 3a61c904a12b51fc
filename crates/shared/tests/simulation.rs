//! Stores, commit manager, nodes, trees and transactions on one thread, from seeds: frames are
//! lost, doubled and late, stores come and go, and everybody crashes. Rows 39 to 49, 51, 56, 57,
//! 72 and 75.
//!
//! Histories of lists have no anomaly beyond snapshot isolation, kept in real time; money is
//! neither made nor lost; names are unique; at the end nothing is open, no undo record is left,
//! no key is in two stores, and indexes say what rows say. `SEEDS` and `FIRST_SEED` choose other
//! seeds.

#[path = "simulation/world.rs"]
mod world;
#[path = "simulation/work.rs"]
mod work;
#[path = "simulation/tables.rs"]
mod tables;

use testkit::histories::{Level, RealTime, check};
use testkit::sim::{Faults, PartyId, Sim};
use world::{NODES, Peer, STORES, Shared};

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str, default: u64| {
        let given = std::env::var(name).ok().map(|text| text.parse().expect("a number"));
        given.unwrap_or(default)
    };
    let first = number("FIRST_SEED", 0);
    first..first + number("SEEDS", 24)
}

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

#[test]
fn no_history_beyond_snapshot_isolation() {
    let (seeds, mut all) = (seeds(), Counts::default());
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let Counts { committed, crashes, store_changes } = run(seed);
        all.committed += committed;
        all.crashes += crashes;
        all.store_changes += store_changes;
    }
    println!("{count} seeds: {all:?}");
    assert!(all.committed as u64 > count * 20, "{all:?}");
    assert!(count < 20 || all.crashes > count && all.store_changes as u64 > count, "{all:?}");
}

#[test]
fn a_seed_is_a_run() {
    assert_eq!(run(7), run(7));
}
