//! Rows 50 to 55: the tree against a map, with callers side by side, and with callers that die at
//! each conditional write.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use shared::memory::{Death, MemoryRecords};
use shared::{Fill, Inserted, SharedError, Tree};
use testkit::Random;
use transport::block_on;

/// Nodes of about three to six keys: trees become deep soon.
const SMALL: Fill = Fill { bytes_max: 72, bytes_min: 25 };

fn key(n: u64) -> Vec<u8> {
    // Of different lengths, so that order is by bytes.
    let mut key = format!("{:02}", n % 100).into_bytes();
    key.extend(vec![b'a'; (n / 100) as usize % 5]);
    key
}

fn now<F: Future>(future: F) -> F::Output {
    block_on(future, || ())
}

fn open(records: &MemoryRecords, death: Option<Death>) -> Tree<MemoryRecords> {
    now(Tree::open(records.caller(death), SMALL)).expect("opens")
}

type Map = BTreeMap<Vec<u8>, u64>;

/// One random call, compared with the map, which then has it, too.
async fn call(
    tree: &Tree<MemoryRecords>,
    n: u64,
    random: u64,
    map: &RefCell<Map>,
) -> Result<(), SharedError> {
    let (key, value) = (key(n), random % 3);
    let known = map.borrow().get(&key).copied();
    match random % 7 {
        0..=2 => {
            let expected = known.map_or(Inserted::Done, Inserted::Exists);
            assert_eq!(tree.insert(&key, value).await?, expected);
            map.borrow_mut().entry(key).or_insert(value);
        }
        3..=5 => {
            let value = known.unwrap_or(value);
            assert_eq!(tree.remove(&key, value).await?, known.is_some());
            map.borrow_mut().remove(&key);
        }
        _ => assert_eq!(tree.find(&key).await?, known),
    }
    Ok(())
}

/// One random call with several keys, likewise.
async fn call_many(
    tree: &Tree<MemoryRecords>,
    numbers: &[u64],
    random: u64,
    map: &RefCell<Map>,
) -> Result<(), SharedError> {
    let mut entries: Vec<_> = numbers.iter().map(|n| (key(*n), random % 3)).collect();
    entries.sort_unstable();
    entries.dedup();
    if random.is_multiple_of(2) {
        let known = entries.iter().find_map(|(key, _)| map.borrow().get(key).copied());
        let expected = known.map_or(Inserted::Done, Inserted::Exists);
        assert_eq!(tree.insert_all(&entries).await?, expected);
        for (key, value) in entries {
            map.borrow_mut().entry(key).or_insert(value);
        }
    } else {
        tree.remove_all(&entries).await?;
        map.borrow_mut().retain(|key, value| !entries.contains(&(key.clone(), *value)));
    }
    Ok(())
}

fn check(tree: &Tree<MemoryRecords>, map: &Map, what: &str) -> usize {
    let shape = now(tree.check()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let expected: Vec<_> = map.iter().map(|(key, value)| (key.clone(), *value)).collect();
    assert_eq!(shape.entries, expected, "{what}");
    shape.levels
}

#[test]
fn row_50_point_operations_are_those_of_a_map() {
    let mut levels = 0;
    for seed in 0..20 {
        let records = MemoryRecords::default();
        let tree = open(&records, None);
        let mut random = Random::new(seed);
        let map = RefCell::default();
        // Up, down, up and down to nothing: rows 51 and 52.
        for phase in 0..4 {
            for _ in 0..400 {
                let bias = if phase % 2 == 0 { 0 } else { 3 };
                let kind = if random.chance(70) { bias + random.below(3) } else { random.below(7) };
                now(call(&tree, random.below(500), kind, &map)).expect("nobody dies");
                if random.chance(10) {
                    let many: Vec<u64> = (0..random.below(40)).map(|_| random.below(500)).collect();
                    now(call_many(&tree, &many, bias + random.below(3), &map))
                        .expect("nobody dies");
                }
            }
            levels = levels.max(check(&tree, &map.borrow(), "in one thread"));
        }
        let left = map.borrow().clone();
        for (key, value) in left {
            assert_eq!(now(tree.remove(&key, value)), Ok(true));
        }
        check(&tree, &Map::new(), "emptied");
        assert!(records.count() <= 2, "{} records of an empty tree", records.count());
    }
    assert!(levels >= 4, "trees had {levels} levels");
}

/// Tasks, one of which goes on at a time, by chance.
fn interleave(mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>, random: &mut Random) {
    let mut context = Context::from_waker(Waker::noop());
    while !tasks.is_empty() {
        let at = random.below(tasks.len() as u64) as usize;
        if let Poll::Ready(()) = tasks[at].as_mut().poll(&mut context) {
            drop(tasks.swap_remove(at));
        }
    }
}

/// Callers side by side, each with keys of its own between those of the others; some die. What each
/// was told holds; of the call in which it died, either all or nothing.
fn side_by_side(seed: u64, deaths: bool) -> u64 {
    const CALLERS: u64 = 4;
    let records = MemoryRecords::default();
    open(&records, None);
    let mut random = Random::new(seed);
    let maps: Vec<RefCell<Map>> = (0..CALLERS).map(|_| RefCell::default()).collect();
    let doubts: RefCell<Vec<Vec<u8>>> = RefCell::default();
    let helps = std::cell::Cell::new(0);
    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for caller in 0..CALLERS {
        let at = random.below(150);
        let death = (deaths && caller > 0)
            .then(|| if random.chance(50) { Death::Before(at) } else { Death::Behind(at) });
        let mut own = Random::new(seed * 100 + caller);
        let (records, map, doubts) = (records.caller(death), &maps[caller as usize], &doubts);
        let helps = &helps;
        tasks.push(Box::pin(async move {
            let Ok(tree) = Tree::open(records, SMALL).await else { return };
            for round in 0..120 {
                let n = own.below(40) * CALLERS + caller;
                let kind =
                    if own.chance(60) { round / 30 % 2 * 3 + own.below(3) } else { own.below(7) };
                let more = if own.chance(20) { own.below(12) } else { 0 };
                let mut numbers = vec![n];
                numbers.extend((0..more).map(|_| own.below(40) * CALLERS + caller));
                let outcome = match more {
                    0 => call(&tree, n, kind, map).await,
                    _ => call_many(&tree, &numbers, kind, map).await,
                };
                match outcome {
                    Ok(()) => (),
                    Err(SharedError::Stopped) => {
                        doubts.borrow_mut().extend(numbers.into_iter().map(key));
                        break;
                    }
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            }
            helps.set(helps.get() + tree.counts().helps);
        }));
    }
    interleave(tasks, &mut random);
    let tree = open(&records, None);
    let mut map: Map = maps.into_iter().flat_map(RefCell::into_inner).collect();
    for key in doubts.into_inner() {
        match now(tree.find(&key)).expect("nobody dies") {
            Some(value) => drop(map.insert(key, value)),
            None => drop(map.remove(&key)),
        }
    }
    check(&tree, &map, &format!("seed {seed}"));
    helps.get()
}

#[test]
fn rows_51_and_52_callers_side_by_side() {
    let helps: u64 = (0..150).map(|seed| side_by_side(seed, false)).sum();
    assert!(helps > 1000, "{helps} changes were finished");
}

#[test]
fn rows_51_and_52_callers_that_die() {
    let helps: u64 = (1000..1400).map(|seed| side_by_side(seed, true)).sum();
    assert!(helps > 1000, "{helps} changes were finished");
}

/// A caller dies at each of its conditional writes in turn, before it and behind it; the next one
/// finds a whole tree.
#[test]
fn rows_51_and_52_death_at_every_write() {
    for grow in [true, false] {
        for at in 0.. {
            let mut is_reached = false;
            for death in [Death::Before(at), Death::Behind(at)] {
                let records = MemoryRecords::default();
                let before = open(&records, None);
                let count = if grow { 10 } else { 60 };
                let mut map: Map = (0..count).map(|n| (key(n * 7 % 60), n)).collect();
                for (key, value) in &map {
                    assert_eq!(now(before.insert(key, *value)), Ok(Inserted::Done));
                }
                let tree = open(&records, Some(death));
                for n in 0..60 {
                    let key = key(n * 11 % 60);
                    let outcome = if grow {
                        let outcome = now(tree.insert(&key, n));
                        map.entry(key.clone()).or_insert(n);
                        outcome.map(drop)
                    } else {
                        let value = map.remove(&key).expect("was inserted");
                        now(tree.remove(&key, value)).map(drop)
                    };
                    if outcome == Err(SharedError::Stopped) {
                        is_reached = true;
                        let after = open(&records, None);
                        match now(after.find(&key)).expect("nobody dies") {
                            Some(value) => drop(map.insert(key, value)),
                            None => drop(map.remove(&key)),
                        }
                        break;
                    }
                }
                check(&open(&records, None), &map, &format!("{death:?}, growing: {grow}"));
            }
            if !is_reached {
                assert!(at > 60, "{at} writes");
                break;
            }
        }
    }
}

/// Runs in both directions are those of the map, while others change the tree in between.
#[test]
fn row_53_runs_in_both_directions() {
    for seed in 0..60 {
        let records = MemoryRecords::default();
        let tree = open(&records, None);
        // Keys that stay are even; others come and go.
        let stay: Map = (0..60).map(|n| (key(n * 2), n)).collect();
        for (key, value) in &stay {
            now(tree.insert(key, *value)).expect("nobody dies");
        }
        let mut random = Random::new(seed);
        let writer = async {
            let tree = Tree::open(records.caller(None), SMALL).await.expect("opens");
            let mut own = Random::new(seed + 7);
            let map = RefCell::default();
            for _ in 0..200 {
                let n = own.below(60) * 2 + 1;
                call(&tree, n, own.below(6), &map).await.expect("nobody dies");
            }
        };
        let reader = async {
            let tree = Tree::open(records.caller(None), SMALL).await.expect("opens");
            for round in 0..6 {
                let mut found = Vec::new();
                let mut next = (round % 2 == 0).then(|| key(20));
                let from = next.clone();
                loop {
                    let run = match &next {
                        Some(key) if from.is_some() => tree.run_from(key).await,
                        key => tree.run_back(key.as_deref()).await,
                    };
                    let run = run.expect("nobody dies");
                    found.extend(run.entries);
                    next = run.next;
                    if next.is_none() {
                        break;
                    }
                }
                if from.is_none() {
                    found.reverse();
                }
                assert!(found.is_sorted_by(|a, b| a.0 < b.0), "seed {seed}");
                found.retain(|entry| stay.contains_key(&entry.0));
                let expected =
                    stay.iter().filter(|entry| from.as_ref().is_none_or(|f| entry.0 >= f));
                let expected: Vec<_> = expected.map(|(k, v)| (k.clone(), *v)).collect();
                assert_eq!(found, expected, "seed {seed}");
            }
        };
        interleave(vec![Box::pin(writer), Box::pin(reader)], &mut random);
    }
}

/// A warm look-up reads one node, a warm change reads one and writes one.
#[test]
fn row_54_inner_nodes_are_cached() {
    let records = MemoryRecords::default();
    let tree = now(Tree::open(records.caller(None), Fill::default())).expect("opens");
    for n in 0..2000_u64 {
        now(tree.insert(&n.to_be_bytes(), n)).expect("nobody dies");
    }
    let other = now(Tree::open(records.caller(None), Fill::default())).expect("opens");
    assert_eq!(now(other.find(&7_u64.to_be_bytes())), Ok(Some(7)));
    let spent = |before: shared::TreeCounts| {
        let after = other.counts();
        (after.reads - before.reads, after.writes - before.writes)
    };
    let before = other.counts();
    for n in 0..20_u64 {
        assert_eq!(now(other.find(&n.to_be_bytes())), Ok(Some(n)));
    }
    assert_eq!(spent(before), (20, 0));
    let before = other.counts();
    assert_eq!(now(other.remove(&7_u64.to_be_bytes(), 7)), Ok(true));
    assert_eq!(now(other.insert(&7_u64.to_be_bytes(), 8)), Ok(Inserted::Done));
    assert_eq!(spent(before), (2, 2));
    // Another process cuts the node in two: the stale parent leads there nevertheless.
    for n in 0..400_u64 {
        let mut key = 7_u64.to_be_bytes().to_vec();
        key.extend(n.to_be_bytes());
        now(tree.insert(&key, n)).expect("nobody dies");
    }
    for n in 0..2000_u64 {
        assert!(now(other.find(&n.to_be_bytes())).expect("nobody dies").is_some());
    }
}

/// Numbers of nodes are unique among callers; most cost no write.
#[test]
fn row_55_numbers_are_unique() {
    for seed in 0..20 {
        side_by_side(seed + 5000, false);
    }
}
