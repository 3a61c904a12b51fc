//! Stores, commit manager, nodes, trees and transactions on one thread, from seeds: frames are
//! lost, doubled and late, and everybody crashes. Rows 39 to 49, 51, 56, 57 and 72.
//!
//! Histories of lists have no anomaly beyond snapshot isolation, kept in real time; money is
//! neither made nor lost; names are unique; at the end nothing is open, no undo record is left,
//! and indexes say what rows say. `SEEDS` and `FIRST_SEED` choose other seeds.

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

/// Runs a seed; gives the transactions that committed, and the crashes.
fn run(seed: u64) -> (usize, u64) {
    let shared = Shared::default();
    let mut sim = Sim::new(seed, faults(seed), Peer::all(seed, &shared));
    sim.run_for(WORK_US);
    shared.end_work();
    sim.calm();
    // Everybody comes to rest: what is half done is finished by those who live.
    let is_idle = |sim: &Sim<Peer>| sim.parties().all(Peer::is_idle);
    for _ in 0..200 {
        if is_idle(&sim) {
            break;
        }
        sim.run_for(20_000);
    }
    assert!(is_idle(&sim), "seed {seed}: something is open for ever");
    shared.begin_audit();
    for _ in 0..100 {
        if shared.is_audited() {
            break;
        }
        sim.run_for(20_000);
    }
    assert!(shared.is_audited(), "seed {seed}: nobody reads the end");
    shared.audit(seed);
    let history = shared.history();
    let findings = check(&history, Level::Snapshot, RealTime::Kept);
    assert!(findings.is_empty(), "seed {seed}: {findings:?}");
    (shared.committed(), sim.crashes())
}

#[test]
fn no_history_beyond_snapshot_isolation() {
    let (mut committed, mut crashes) = (0, 0);
    let seeds = seeds();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let (more, crashed) = run(seed);
        committed += more;
        crashes += crashed;
    }
    println!("{count} seeds, {committed} transactions, {crashes} crashes");
    assert!(committed as u64 > count * 20, "{committed} transactions of {count} seeds");
    assert!(count < 20 || crashes > count, "{crashes} crashes in {count} seeds");
}

#[test]
fn a_seed_is_a_run() {
    assert_eq!(run(7), run(7));
}
