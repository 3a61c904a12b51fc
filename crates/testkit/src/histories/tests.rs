//! Each anomaly by hand; stores with and without faults by chance.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::Random;

fn a(key: u32, value: u32) -> Op {
    Op::Append(Key(key), Value(value))
}

fn r(key: u32, values: &[u32]) -> Op {
    Op::Read(Key(key), values.iter().map(|&value| Value(value)).collect())
}

fn history(txns: &[(&[Op], End)]) -> History {
    let txn =
        |(ops, end): &(&[Op], End)| Txn { ops: ops.to_vec(), end: *end, started: 0, ended: 1 };
    History { txns: txns.iter().map(txn).collect(), final_lists: BTreeMap::new() }
}

fn committed(txns: &[&[Op]]) -> History {
    history(&txns.iter().map(|ops| (*ops, End::Committed)).collect::<Vec<_>>())
}

fn kinds(history: &History) -> Vec<Anomaly> {
    findings(history, RealTime::Ignored).into_iter().map(|finding| finding.anomaly).collect()
}

#[test]
fn a_serial_history_is_clean() {
    let history = committed(&[
        &[a(1, 1), a(2, 2), r(1, &[1])],
        &[r(1, &[1]), a(1, 3), r(1, &[1, 3])],
        &[r(1, &[1, 3]), r(2, &[2]), r(3, &[])],
    ]);
    assert_eq!(kinds(&history), []);
}

#[test]
fn dirty_write_is_g0() {
    let history =
        committed(&[&[a(1, 1), a(2, 2)], &[a(1, 3), a(2, 4)], &[r(1, &[1, 3]), r(2, &[4, 2])]]);
    assert_eq!(kinds(&history), [Anomaly::G0]);
}

#[test]
fn a_value_of_an_aborted_transaction_is_g1a() {
    let history = history(&[(&[a(1, 1)], End::Aborted), (&[r(1, &[1])], End::Committed)]);
    assert_eq!(kinds(&history), [Anomaly::G1a]);
    assert_eq!(check(&history, Level::ReadCommitted, RealTime::Ignored).len(), 1);
}

#[test]
fn a_value_before_its_last_is_g1b() {
    let history = committed(&[&[a(1, 1), a(1, 2)], &[r(1, &[1])]]);
    assert!(kinds(&history).contains(&Anomaly::G1b));
}

#[test]
fn circular_reads_are_g1c() {
    let history = committed(&[&[a(1, 1), r(2, &[2])], &[a(2, 2), r(1, &[1])]]);
    assert_eq!(kinds(&history), [Anomaly::G1c]);
}

#[test]
fn read_skew_is_g_single() {
    let history = committed(&[&[r(1, &[]), r(2, &[2])], &[a(1, 1), a(2, 2)], &[r(1, &[1])]]);
    assert_eq!(kinds(&history), [Anomaly::GSingle]);
    assert_eq!(check(&history, Level::ReadCommitted, RealTime::Ignored).len(), 0);
    assert_eq!(check(&history, Level::Snapshot, RealTime::Ignored).len(), 1);
}

#[test]
fn a_read_that_does_not_repeat_is_g_single() {
    let history = committed(&[&[r(1, &[]), r(1, &[1])], &[a(1, 1)]]);
    assert_eq!(kinds(&history), [Anomaly::GSingle]);
}

#[test]
fn a_lost_update_is_g_single() {
    let history = committed(&[&[r(1, &[]), a(1, 1)], &[r(1, &[]), a(1, 2)], &[r(1, &[1, 2])]]);
    assert_eq!(kinds(&history), [Anomaly::GSingle]);
}

#[test]
fn write_skew_is_g2_and_allowed_by_snapshots() {
    let history =
        committed(&[&[r(1, &[]), a(2, 2)], &[r(2, &[]), a(1, 1)], &[r(1, &[1]), r(2, &[2])]]);
    assert_eq!(kinds(&history), [Anomaly::G2]);
    assert_eq!(check(&history, Level::Snapshot, RealTime::Ignored).len(), 0);
    assert_eq!(check(&history, Level::Serializable, RealTime::Ignored).len(), 1);
}

#[test]
fn the_read_only_anomaly_is_g2() {
    // T0 reads both and writes x, T1 writes y, T2 sees T1 and not T0.
    let history = committed(&[
        &[r(1, &[]), r(2, &[]), a(1, 1)],
        &[r(2, &[]), a(2, 2)],
        &[r(1, &[]), r(2, &[2])],
        &[r(1, &[1]), r(2, &[2])],
    ]);
    assert_eq!(kinds(&history), [Anomaly::G2]);
}

#[test]
fn a_long_fork_is_not_a_snapshot() {
    // Two readers see two writers in different orders: rw, wr, rw, wr.
    let history =
        committed(&[&[a(1, 1)], &[a(2, 2)], &[r(1, &[1]), r(2, &[])], &[r(1, &[]), r(2, &[2])]]);
    assert_eq!(kinds(&history), [Anomaly::GNonadjacent]);
    assert_eq!(check(&history, Level::Snapshot, RealTime::Ignored).len(), 1);
    assert_eq!(check(&history, Level::ReadCommitted, RealTime::Ignored).len(), 0);
}

#[test]
fn reads_that_fork_garbage_and_losses_are_found() {
    let fork = committed(&[&[a(1, 1)], &[a(1, 2)], &[r(1, &[1])], &[r(1, &[2])]]);
    assert!(kinds(&fork).contains(&Anomaly::Fork));
    assert!(kinds(&committed(&[&[r(1, &[7])]])).contains(&Anomaly::Garbage));
    assert!(kinds(&committed(&[&[a(1, 1)], &[r(2, &[1])]])).contains(&Anomaly::Garbage));
    assert!(kinds(&committed(&[&[a(1, 1)], &[r(1, &[1, 1])]])).contains(&Anomaly::Garbage));
    let mut lost = committed(&[&[a(1, 1)], &[a(1, 2)]]);
    lost.final_lists.insert(Key(1), vec![Value(2)]);
    assert_eq!(kinds(&lost), [Anomaly::Lost]);
    let mut kept = history(&[(&[a(1, 1)], End::Aborted), (&[a(1, 2)], End::Unknown)]);
    kept.final_lists.insert(Key(1), vec![Value(1)]);
    assert_eq!(kinds(&kept), [Anomaly::G1a]);
}

#[test]
fn own_appends_must_be_seen() {
    assert_eq!(kinds(&committed(&[&[a(1, 1), r(1, &[])]])), [Anomaly::Internal]);
    assert_eq!(kinds(&committed(&[&[r(1, &[1]), a(1, 1)]])), [Anomaly::Internal]);
}

#[test]
fn real_time_forbids_to_read_the_past() {
    let mut history = committed(&[&[a(1, 1)], &[r(1, &[])], &[r(1, &[1])]]);
    for (at, txn) in history.txns.iter_mut().enumerate() {
        (txn.started, txn.ended) = (10 * at as u64, 10 * at as u64 + 5);
    }
    assert_eq!(kinds(&history), []);
    let found = findings(&history, RealTime::Kept);
    assert_eq!(found[0].anomaly, Anomaly::GSingle, "{found:?}");
    history.txns[1].started = 0;
    assert_eq!(findings(&history, RealTime::Kept).len(), 0);
}

/// Fault of a simulated store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Two transactions of one snapshot may append to one list.
    NoConflicts,
    /// Each read has a snapshot of its own.
    StatementSnapshots,
    /// Reads see what is not committed.
    DirtyReads,
    /// Every tenth commit is forgotten.
    LostCommits,
}

/// Appends of committed transactions, by their commit, and of running ones.
#[derive(Default)]
struct Simulated {
    /// Key, value, commit, transaction.
    appends: Vec<(Key, Value, Option<u64>, usize)>,
    commits: u64,
}

impl Simulated {
    fn read(&self, key: Key, txn: usize, at: u64, dirty: bool) -> Vec<Value> {
        let mut seen: Vec<(u64, Value)> = Vec::new();
        for &(of, value, commit, writer) in &self.appends {
            let visible = writer == txn || dirty || commit.is_some_and(|commit| commit <= at);
            if of == key && visible {
                seen.push((if writer == txn { u64::MAX } else { commit.unwrap_or(at) }, value));
            }
        }
        seen.sort_by_key(|&(commit, _)| commit);
        seen.into_iter().map(|(_, value)| value).collect()
    }

    fn conflicts(&self, txn: usize, snapshot: u64) -> bool {
        let mine = self.appends.iter().filter(|append| append.3 == txn);
        mine.into_iter().any(|mine| {
            let newer = |commit: Option<u64>| commit.is_some_and(|commit| commit > snapshot);
            self.appends.iter().any(|other| other.0 == mine.0 && newer(other.2))
        })
    }
}

/// Sessions that take steps in random turns on a store with snapshots.
fn simulate(seed: u64, sessions: usize, fault: Fault) -> History {
    let mut random = Random::new(seed);
    let mut store = Simulated::default();
    let mut running: Vec<Option<(usize, u64, u64)>> = vec![None; sessions];
    let mut history = History::default();
    let mut values = 0;
    for tick in 0..300 {
        let session = random.below(sessions as u64) as usize;
        let Some((txn, snapshot, left)) = running[session] else {
            let txn = Txn { ops: Vec::new(), end: End::Unknown, started: tick, ended: 0 };
            running[session] = Some((history.txns.len(), store.commits, 1 + random.below(6)));
            history.txns.push(txn);
            continue;
        };
        let at = if fault == Fault::StatementSnapshots { store.commits } else { snapshot };
        if left > 0 {
            let key = Key(random.below(3) as u32);
            let op = if random.chance(50) {
                values += 1;
                store.appends.push((key, Value(values), None, txn));
                Op::Append(key, Value(values))
            } else {
                Op::Read(key, store.read(key, txn, at, fault == Fault::DirtyReads))
            };
            history.txns[txn].ops.push(op);
            running[session] = Some((txn, snapshot, left - 1));
            continue;
        }
        running[session] = None;
        history.txns[txn].ended = tick;
        let conflict = fault != Fault::NoConflicts && store.conflicts(txn, snapshot);
        let abort = conflict || random.chance(5);
        history.txns[txn].end = if abort { End::Aborted } else { End::Committed };
        let forgotten = fault == Fault::LostCommits && random.chance(10);
        if abort || forgotten {
            store.appends.retain(|append| append.3 != txn);
        } else {
            store.commits += 1;
            for append in store.appends.iter_mut().filter(|append| append.3 == txn) {
                append.2 = Some(store.commits);
            }
        }
    }
    // Whoever still runs is undone.
    for (txn, ..) in running.into_iter().flatten() {
        history.txns[txn].end = End::Aborted;
        history.txns[txn].ended = 300;
        store.appends.retain(|append| append.3 != txn);
    }
    for key in (0..3).map(Key) {
        history.final_lists.insert(key, store.read(key, usize::MAX, store.commits, false));
    }
    history
}

proptest! {
    #[test]
    fn one_session_is_serial(seed: u64) {
        let history = simulate(seed, 1, Fault::None);
        prop_assert!(findings(&history, RealTime::Kept).is_empty());
    }

    #[test]
    fn snapshots_only_have_cycles_with_two_rw_in_a_row(seed: u64) {
        let history = simulate(seed, 6, Fault::None);
        let found = check(&history, Level::Snapshot, RealTime::Kept);
        prop_assert!(found.is_empty(), "{found:?}");
    }
}

/// How many of 100 histories with `fault` show `anomalies` at `level`.
fn caught(fault: Fault, level: Level) -> usize {
    let wrong = |seed: &u64| {
        let history = simulate(*seed, 6, fault);
        !check(&history, level, RealTime::Kept).is_empty()
    };
    (0..100).filter(wrong).count()
}

#[test]
fn faults_are_caught_in_most_histories() {
    assert!(caught(Fault::None, Level::Serializable) > 50, "snapshots have write skew");
    assert!(caught(Fault::NoConflicts, Level::Snapshot) > 80);
    assert!(caught(Fault::StatementSnapshots, Level::Snapshot) > 50);
    assert!(caught(Fault::DirtyReads, Level::ReadCommitted) > 80);
    assert!(caught(Fault::LostCommits, Level::ReadCommitted) > 50);
}
