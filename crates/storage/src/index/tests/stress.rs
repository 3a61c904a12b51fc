//! Many threads on one index: what is there all the time is always found, in order.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use testkit::Random;

use super::*;
use crate::{Direction, KeyRange};

const KEYS: u32 = 3_000;
const WRITERS: u32 = 3;
const CHANGES: usize = if cfg!(debug_assertions) { 40_000 } else { 400_000 };

/// TID of entries that are there all the time, of every third key.
const FIXED: Tid = Tid(500);

fn is_fixed(i: u32) -> bool {
    i.is_multiple_of(3)
}

/// Changes entries with TIDs of this writer alone, and shared ones; returns its own at the end.
fn write(index: &TableIndex, width: Width, writer: u32) -> BTreeSet<(u32, u64)> {
    let mut random = Random::new(u64::from(writer) + 1);
    let mut own = BTreeSet::new();
    for round in 0..CHANGES {
        // Crowds here, then there, so that nodes split and merge all over.
        let start = (round / 2_000 % 7) as u64 * 400;
        let i = ((start + random.below(600)) % u64::from(KEYS)) as u32;
        // Below and above the fixed TID.
        let tid = u64::from(writer) + random.below(3) * 10 + random.below(2) * 900;
        let key = width.key(i);
        if random.chance(if round / 10_000 % 2 == 0 { 65 } else { 35 }) {
            let added = index.insert(&key, Tid(tid)).expect("the pool has room");
            assert_eq!(added, own.insert((i, tid)), "only this writer has TID {tid}");
        } else {
            assert_eq!(index.remove(&key, Tid(tid)), own.remove(&(i, tid)));
        }
        // All writers fight for these.
        let key = width.key(random.below(50) as u32);
        if random.chance(50) {
            index.insert(&key, Tid(700)).expect("the pool has room");
        } else {
            index.remove(&key, Tid(700));
        }
    }
    own
}

fn look_up(index: &TableIndex, width: Width, random: &mut Random) {
    let i = random.below(u64::from(KEYS)) as u32;
    let found = tids(index, &width.key(i));
    if is_fixed(i) {
        assert_eq!(found.iter().filter(|&&t| t == FIXED).count(), 1, "key {i}: {found:?}");
    }
    if index.spec().kind == IndexKind::Ordered {
        assert!(found.is_sorted_by(|a, b| a < b));
    }
}

fn scan(index: &TableIndex, width: Width, random: &mut Random) {
    let is_whole = random.chance(20);
    let low = if is_whole { 0 } else { random.below(u64::from(KEYS)) as u32 };
    let high = if is_whole { KEYS } else { (low + random.below(300) as u32).min(KEYS) };
    let (low_key, high_key) = (width.key(low), width.key(high));
    let range = KeyRange {
        low: std::ops::Bound::Included(&low_key),
        high: std::ops::Bound::Excluded(&high_key),
    };
    let is_forward = random.chance(50);
    let direction = if is_forward { Direction::Forward } else { Direction::Backward };
    let mut cursor = index.range(range, direction);
    let (mut last, mut fixed) = (None::<(Vec<u8>, Tid)>, Vec::new());
    while let Some((key, tid)) = cursor.next() {
        assert!(key >= &low_key[..] && key < &high_key[..]);
        let entry = (key.to_vec(), tid);
        let is_ordered = last.is_none_or(|l| if is_forward { l < entry } else { l > entry });
        assert!(is_ordered, "order violated");
        if tid == FIXED {
            fixed.push(entry.0.clone());
        }
        last = Some(entry);
    }
    if !is_forward {
        fixed.reverse();
    }
    let expected = (low..high).filter(|&i| is_fixed(i)).map(|i| width.key(i));
    assert!(fixed.into_iter().eq(expected), "a fixed entry was missed or found twice");
}

fn stress(kind: IndexKind, width: Width) {
    let pool = BufferPool::new(1 << 32);
    let index = index_in(&pool, kind, width);
    for i in (0..KEYS).filter(|&i| is_fixed(i)) {
        index.insert(&width.key(i), FIXED).expect("the pool has room");
    }
    let (is_done, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    let owned = thread::scope(|scope| {
        let (index, is_done, reads) = (&index, &is_done, &reads);
        let writers: Vec<_> =
            (0..WRITERS).map(|w| scope.spawn(move || write(index, width, w))).collect();
        for reader in 0..2 {
            scope.spawn(move || {
                let mut random = Random::new(100 + reader);
                while !is_done.load(Ordering::Relaxed) {
                    (0..20).for_each(|_| look_up(index, width, &mut random));
                    if kind == IndexKind::Ordered {
                        scan(index, width, &mut random);
                    }
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let owned: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
        is_done.store(true, Ordering::Relaxed);
        owned.into_iter().map(|own| own.expect("a writer found no fault")).collect::<Vec<_>>()
    });
    assert!(reads.load(Ordering::Relaxed) > 0);
    index.check().expect("a sound structure");
    for i in 0..KEYS {
        let mut found = tids(&index, &width.key(i));
        found.retain(|&tid| tid != Tid(700));
        found.sort_unstable();
        let own = owned.iter().flat_map(|o| o.range((i, 0)..(i + 1, 0)).map(|e| Tid(e.1)));
        let mut expected: Vec<_> = own.chain(is_fixed(i).then_some(FIXED)).collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
    drop(index);
    assert_eq!(pool.total(), 0);
}

#[test]
fn ordered_short_keys_under_many_threads() {
    stress(IndexKind::Ordered, Width::Eight);
}

#[test]
fn ordered_medium_keys_under_many_threads() {
    stress(IndexKind::Ordered, Width::Twelve);
}

#[test]
fn ordered_long_keys_under_many_threads() {
    stress(IndexKind::Ordered, Width::Any);
}

#[test]
fn hashed_short_keys_under_many_threads() {
    stress(IndexKind::Hash, Width::Eight);
}

#[test]
fn hashed_medium_keys_under_many_threads() {
    stress(IndexKind::Hash, Width::Twelve);
}

#[test]
fn hashed_long_keys_under_many_threads() {
    stress(IndexKind::Hash, Width::Any);
}

/// Threads take from the start what others put at the end.
#[test]
fn a_queue_of_many_threads() {
    for width in WIDTHS {
        let index = index(IndexKind::Ordered, width);
        const COUNT: u32 = 20_000;
        let taken = AtomicUsize::new(0);
        thread::scope(|scope| {
            for producer in 0..2 {
                let index = &index;
                scope.spawn(move || {
                    for i in 0..COUNT {
                        let key = width.key(i * 2 + producer);
                        assert!(index.insert(&key, Tid(1)).expect("the pool has room"));
                    }
                });
            }
            for _ in 0..2 {
                let (index, taken) = (&index, &taken);
                scope.spawn(move || {
                    while taken.load(Ordering::Relaxed) < 2 * COUNT as usize {
                        let mut cursor = index.range(KeyRange::ALL, Direction::Forward);
                        let first = cursor.next().map(|(key, tid)| (key.to_vec(), tid));
                        if first.is_some_and(|(key, tid)| index.remove(&key, tid)) {
                            taken.fetch_add(1, Ordering::Relaxed);
                        } else {
                            thread::yield_now();
                        }
                    }
                });
            }
        });
        assert!(index.is_empty());
        index.check().expect("a sound structure");
    }
}
