//! Rows 39 to 42 and 49: the commit manager by itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{Io as _, SimIo, Tear};
use shared::manager::{Begun, Class, FileKeeper, Manager, ManagerOptions, NodeId, Refusal, Ticket};
use store::{Access, Snapshot, Version};
use testkit::Random;
use transport::{DatabaseId, Phase};

const OPTIONS: ManagerOptions =
    ManagerOptions { range: 16, timeout_us: 1000, move_hashes: 1 << 62 };

fn open(disk: &SimIo, now_us: i64) -> Manager<FileKeeper> {
    // Whoever had it open before is over.
    disk.kill();
    let keeper = FileKeeper::open(Arc::new(disk.clone()), PathBuf::from("m")).expect("opens");
    Manager::open(keeper, OPTIONS, now_us).expect("opens")
}

fn new() -> (Manager<FileKeeper>, SimIo) {
    let disk = SimIo::new(1, Tear::Bytes);
    (open(&disk, 0), disk)
}

/// Snapshots are those of a set of finished transactions, in whatever order they end.
#[test]
fn row_39_snapshots_have_what_was_finished() {
    for seed in 0..50 {
        let (mut manager, _) = new();
        let mut random = Random::new(seed);
        let node = manager.join(0).expect("joins");
        let mut open: Vec<Begun> = Vec::new();
        let (mut finished, mut begun) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..400 {
            if open.len() < 6 && random.chance(55) || open.is_empty() {
                let class = match random.below(4) {
                    0 => Class::ReadOnly,
                    1 => Class::Analytical,
                    _ => Class::ReadWrite,
                };
                let txn = manager.begin(node, class).expect("serves");
                let own = (class == Class::ReadWrite).then_some(txn.ticket.0);
                assert!(own.is_none_or(|own| begun.insert(own)), "a version was given twice");
                let snapshot = &txn.snapshot;
                let last = begun.last().copied().unwrap_or_default();
                let sees: BTreeSet<u64> =
                    (1..=last + 2).filter(|v| snapshot.sees(Version(*v))).collect();
                let mut expected = finished.clone();
                if class == Class::Analytical {
                    let gap = (1..).find(|v| !expected.contains(v)).expect("there is one");
                    expected.retain(|v| *v < gap);
                }
                expected.extend(own);
                assert_eq!(sees, expected, "seed {seed}, {class:?}");
                let access = if own.is_some() { Access::ReadWrite } else { Access::ReadOnly };
                assert_eq!(snapshot.access(), access);
                let lowest = open.iter().map(|txn| txn.snapshot.base()).min();
                assert!(snapshot.lowest_active() <= lowest.unwrap_or(snapshot.base()));
                open.push(txn);
            } else {
                let at = random.below(open.len() as u64) as usize;
                let txn = open.swap_remove(at);
                for _ in 0..2 {
                    manager.finish(node, txn.ticket).expect("ends");
                }
                if begun.contains(&txn.ticket.0) {
                    finished.insert(txn.ticket.0);
                }
            }
        }
        open.iter().for_each(|txn| manager.finish(node, txn.ticket).expect("ends"));
        assert_eq!(manager.base().0, begun.len() as u64);
    }
}

/// Short transactions beside a long reader: its base stays, the bitmap of the others does not grow.
#[test]
fn rows_40_and_41_readers_do_not_hold_the_base() {
    let (mut manager, _) = new();
    let node = manager.join(0).expect("joins");
    let run = |manager: &mut Manager<FileKeeper>| {
        let txn = manager.begin(node, Class::ReadWrite).expect("serves");
        manager.finish(node, txn.ticket).expect("ends");
        txn.snapshot
    };
    run(&mut manager);
    let long = manager.begin(node, Class::ReadOnly).expect("serves");
    for _ in 0..1000 {
        let snapshot = run(&mut manager);
        assert_eq!(snapshot.bitmap_bytes(), 1);
        assert_eq!(snapshot.lowest_active(), long.snapshot.base(), "its versions are kept");
    }
    assert_eq!(manager.begin(node, Class::Analytical).expect("serves").snapshot.bits().len(), 0);
    manager.finish(node, long.ticket).expect("ends");
}

/// A snapshot is read by others as long as somebody has it, and is what was committed.
#[test]
fn snapshots_are_shared_among_nodes_while_they_are_held() {
    let (mut manager, _) = new();
    let (one, two) = (manager.join(0).expect("joins"), manager.join(0).expect("joins"));
    let write = |manager: &mut Manager<FileKeeper>| {
        let txn = manager.begin(one, Class::ReadWrite).expect("serves");
        manager.finish(one, txn.ticket).expect("ends");
        Version(txn.ticket.0)
    };
    write(&mut manager);
    let open = manager.begin(one, Class::ReadWrite).expect("serves");
    let seen = write(&mut manager);
    let first = manager.begin(one, Class::ReadOnly).expect("serves");
    let later = write(&mut manager);
    let at = |manager: &mut Manager<FileKeeper>, snapshot: &Snapshot| {
        manager.begin_at(two, snapshot).expect("serves")
    };
    let second = at(&mut manager, &first.snapshot).expect("it is held");
    assert_ne!(second.ticket, first.ticket);
    let sees = |v| (first.snapshot.sees(v), second.snapshot.sees(v));
    let own = Version(open.ticket.0);
    assert_eq!([seen, later, own].map(sees), [(true, true), (false, false), (false, false)]);
    assert_eq!(second.snapshot.access(), Access::ReadOnly);

    // What a transaction writes that has not ended is nobody else's.
    assert_eq!(at(&mut manager, &open.snapshot), None);
    // The second one holds it when the first one has ended.
    manager.finish(one, first.ticket).expect("ends");
    manager.finish(one, open.ticket).expect("ends");
    let third = manager.begin(one, Class::ReadWrite).expect("serves");
    assert!(third.snapshot.lowest_active() <= second.snapshot.base());
    manager.finish(one, third.ticket).expect("ends");
    let again = at(&mut manager, &first.snapshot).expect("it is held");
    manager.finish(two, second.ticket).expect("ends");
    manager.finish(two, again.ticket).expect("ends");
    // Nobody has it any more, and versions behind it may be collected.
    assert_eq!(at(&mut manager, &first.snapshot), None);
    let unknown = Snapshot::analytical(Version(0), Version(1000)).expect("ordered");
    assert_eq!(at(&mut manager, &unknown), None);
}

/// A life of the manager repeats no version of another, and asks the nodes what is open.
#[test]
fn row_39_a_new_life_repeats_nothing() {
    let (mut manager, disk) = new();
    let (one, two) = (manager.join(0).expect("joins"), manager.join(0).expect("joins"));
    let mut given = BTreeSet::new();
    for life in 0..20 {
        let txns: Vec<Begun> =
            (0..7).map(|_| manager.begin(one, Class::ReadWrite).expect("serves")).collect();
        assert!(txns.iter().all(|txn| given.insert(txn.ticket)), "life {life}");
        txns[1..].iter().for_each(|txn| manager.finish(one, txn.ticket).expect("ends"));
        drop(manager);
        disk.crash();
        manager = open(&disk, 0);
        let number = manager.life();
        assert_eq!(manager.begin(two, Class::ReadWrite), Err(Refusal::NotYet));
        manager.beat(two, number, &[], 0).expect("is known");
        // What a node said before it knew of this life does not count.
        manager.beat(one, number - 1, &[], 0).expect("is known");
        assert_eq!(manager.begin(two, Class::ReadWrite), Err(Refusal::NotYet));
        let list = [(txns[0].ticket, txns[0].snapshot.base())];
        manager.beat(one, number, &list, 0).expect("is known");
        let next = manager.begin(two, Class::ReadWrite).expect("serves");
        assert!(given.insert(next.ticket), "life {life}");
        let sees = |txn: &Begun| next.snapshot.sees(Version(txn.ticket.0));
        assert_eq!(txns.iter().map(sees).collect::<Vec<_>>()[..2], [false, true]);
        manager.finish(one, txns[0].ticket).expect("ends");
        manager.finish(two, next.ticket).expect("ends");
    }
}

/// A new life that cannot ask a node serves when that one is recovered, not before: what others
/// committed would be missing from its snapshots.
#[test]
fn row_39_a_new_life_waits_for_the_recovery_of_silent_nodes() {
    let (mut manager, disk) = new();
    let (one, two) = (manager.join(0).expect("joins"), manager.join(0).expect("joins"));
    let seen = manager.begin(one, Class::ReadWrite).expect("serves");
    let lost = manager.begin(two, Class::ReadWrite).expect("serves");
    manager.finish(one, seen.ticket).expect("ends");
    drop(manager);
    disk.crash();
    let mut manager = open(&disk, 0);
    let life = manager.life();
    manager.beat(one, life, &[], 900).expect("is known");
    let work = manager.beat(one, life, &[], 1100).expect("lives").expect("gets work");
    assert_eq!(work.dead, [two]);
    assert!(work.versions.contains(&Version(lost.ticket.0)));
    assert_eq!(manager.begin(one, Class::ReadOnly), Err(Refusal::NotYet));
    manager.recovered(one, &work.dead).expect("lives");
    let next = manager.begin(one, Class::ReadOnly).expect("serves");
    assert!(next.snapshot.sees(Version(seen.ticket.0)));
}

/// A silent node is dead: its calls are refused, another one gets its transactions, and a third one
/// when that dies, too.
#[test]
fn rows_48_and_49_silent_nodes_are_recovered_by_others() {
    let (mut manager, _) = new();
    let nodes: Vec<NodeId> = (0..3).map(|_| manager.join(0).expect("joins")).collect();
    let lost = manager.begin(nodes[0], Class::ReadWrite).expect("serves");
    let version = Version(lost.ticket.0);
    let life = manager.life();
    assert_eq!(manager.beat(nodes[1], life, &[], 900), Ok(None));
    assert_eq!(manager.beat(nodes[2], life, &[], 900), Ok(None));
    let work = manager.beat(nodes[1], life, &[], 1800).expect("lives").expect("gets work");
    assert_eq!((work.dead, work.versions), (vec![nodes[0]], vec![version]));
    assert_eq!(manager.finish(nodes[0], lost.ticket), Err(Refusal::Dead));
    assert_eq!(manager.beat(nodes[0], life, &[], 1800), Err(Refusal::Dead));
    assert_eq!(manager.beat(nodes[2], life, &[], 1800), Ok(None));
    assert_eq!(manager.beat(nodes[2], life, &[], 2700), Ok(None));
    // The recoverer falls silent.
    let work = manager.beat(nodes[2], life, &[], 2900).expect("lives").expect("gets work");
    assert_eq!((work.dead, work.versions), (vec![nodes[0], nodes[1]], vec![version]));
    let before = manager.begin(nodes[2], Class::ReadOnly).expect("serves");
    assert!(!before.snapshot.sees(version));
    manager.recovered(nodes[2], &[nodes[0], nodes[1]]).expect("lives");
    assert_eq!(manager.open_count(), 1);
    assert_eq!(manager.finish(nodes[2], Ticket(1 << 40)), Ok(()));
    assert_eq!(manager.base(), version);
}

/// Orders to move keys: one node has them at a time, the last one counts, and all of it outlives
/// the manager.
#[test]
fn row_75_the_last_order_counts() {
    let (mut manager, disk) = new();
    let [one, two] = [0; 2].map(|now| manager.join(now).expect("joins"));
    assert_eq!(manager.found(one, &[]), Err(Refusal::Impossible));
    assert_eq!(manager.add_store(one, "b"), Err(Refusal::Impossible));
    manager.found(one, &["a".into()]).expect("is the first");
    assert_eq!(manager.order(one), Ok(None), "one store has all");
    manager.add_store(two, "b").expect("comes");
    let order = manager.order(one).expect("lives").expect("a move");
    assert_eq!(order.phase, Phase::Copies);
    assert_eq!(manager.order(one), Ok(Some(order)), "again the same");
    assert_eq!(manager.order(two), Ok(None), "another one has it");
    assert_eq!(manager.switched(two, order.attempt), Err(Refusal::Overtaken));
    manager.gives_up(one, order.attempt).expect("it has it");
    let second = manager.order(two).expect("lives").expect("the move");
    assert!(second.attempt > order.attempt && second.what == order.what);
    assert_eq!(manager.switched(one, order.attempt), Err(Refusal::Overtaken));
    let before = manager.stores().ring.clone().expect("is there");
    manager.switched(two, second.attempt).expect("it has it");
    manager.switched(two, second.attempt).expect("is told again");
    let after = manager.stores().ring.clone().expect("is there");
    assert!(after.version() > before.version());
    assert_eq!(after.owner_of(second.what.range.first), second.what.target);

    // Another life of the manager, in which the node is told dead.
    let mut manager = open(&disk, 10);
    assert_eq!(manager.stores().ring.as_ref(), Some(&after));
    assert_eq!(manager.moved(two, second.attempt), Err(Refusal::Overtaken));
    let third = manager.order(one).expect("lives").expect("the move");
    assert!(third.attempt > second.attempt && third.phase == Phase::Switched);
    let next = manager.moved(one, third.attempt).expect("it has it").expect("half is missing");
    assert_eq!(next.what.target, second.what.target);

    // A target that may be away for ever is given up.
    manager.remove_store(one, "b").expect("another one stays");
    assert_eq!(manager.switched(one, next.attempt), Err(Refusal::Overtaken));
    let mut order = manager.order(one).expect("lives").expect("the source is to be told");
    assert_eq!(order.phase, Phase::Cancelled);
    while let Some(next) = manager.moved(one, order.attempt).expect("it has it") {
        assert_eq!(next.what.source, second.what.target, "what it has goes back");
        manager.switched(one, next.attempt).expect("it has it");
        order = next;
    }
    assert!(manager.is_settled());
    let ring = manager.stores().ring.as_ref().expect("is there");
    assert_eq!(ring.stores().len(), 1);
    assert_eq!(manager.remove_store(one, "a"), Err(Refusal::Impossible));
    assert_eq!(manager.remove_store(one, "b"), Err(Refusal::Impossible));
}

/// A database has the number that was drawn first, in all lives of its manager.
#[test]
fn a_database_has_one_number() {
    let (one, other) = (DatabaseId(5 << 100 | 7), DatabaseId(8));
    let (mut manager, disk) = new();
    assert_eq!(manager.database(), None);
    assert_eq!(manager.draw(one), Ok(one));
    assert_eq!(manager.draw(other), Ok(one));
    drop(manager);
    let mut manager = open(&disk, 0);
    assert_eq!(manager.database(), Some(one));
    assert_eq!(manager.draw(other), Ok(one));
}

/// State that earlier builds kept has no number of the database, and may have no stores.
#[test]
fn states_of_earlier_builds_are_read() {
    let kept = [3, 16, 5, 1, 0];
    for earlier in [[&[1][..], &kept].concat(), [&[2][..], &kept, &[0; 4]].concat()] {
        let disk = SimIo::new(1, Tear::Bytes);
        disk.create_directory(Path::new("m")).expect("a directory");
        host::replace_file(&disk, Path::new("m/manager"), &earlier).expect("written");
        let mut manager = open(&disk, 0);
        assert_eq!((manager.life(), manager.database()), (4, None));
        assert_eq!(manager.draw(DatabaseId(9)), Ok(DatabaseId(9)));
        drop(manager);
        let manager = open(&disk, 0);
        assert_eq!((manager.life(), manager.database()), (5, Some(DatabaseId(9))));
    }
}
