//! Against a `BTreeSet` of (key, TID).

use std::collections::BTreeSet;
use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;
use types::{Error, SqlState};

use super::*;
use crate::{BuiltKeys, Direction, KeyBuffer, KeyRange, RangeState};

type Model = BTreeSet<(Vec<u8>, u64)>;

#[derive(Clone, Debug)]
enum Change {
    Insert(Vec<u8>, u64),
    Remove(Vec<u8>, u64),
    /// Removes this share of all entries, from the start or the end, or here and there.
    Thin(u8, u8),
    /// Inserts this many keys above all others, or below.
    Append(u16, bool),
}

fn any_key(width: Width) -> BoxedStrategy<Vec<u8>> {
    let few = (0u32..40).prop_map(move |i| width.key(i));
    let many = any::<u16>().prop_map(move |i| width.key(i.into()));
    match width {
        Width::Eight | Width::Twelve => prop_oneof![few, many].boxed(),
        Width::Any => {
            let starts = prop_oneof![
                Just(vec![]),
                Just(vec![0; 16]),
                Just(vec![b'a'; 8]),
                Just(vec![b'a'; 15]),
                Just(vec![b'a'; 16]),
                Just(vec![b'a'; 17]),
                Just(vec![b'a'; 300]),
            ];
            let ends = vec(prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(255)], 0..4);
            let shared = (starts, ends).prop_map(|(start, end)| [start, end].concat());
            prop_oneof![few, many, shared].boxed()
        }
    }
}

fn any_change(width: Width) -> BoxedStrategy<Change> {
    let tid = prop_oneof![4 => 0u64..4, 1 => 0u64..200, 1 => Just(u64::MAX - 1)];
    let entry = (any_key(width), tid).boxed();
    prop_oneof![
        300 => entry.clone().prop_map(|(k, t)| Change::Insert(k, t)),
        100 => entry.prop_map(|(k, t)| Change::Remove(k, t)),
        1 => (any::<u8>(), 0u8..3).prop_map(|(share, side)| Change::Thin(share, side)),
        2 => (0u16..300, any::<bool>()).prop_map(|(count, up)| Change::Append(count, up)),
    ]
    .boxed()
}

fn apply(index: &TableIndex, model: &mut Model, width: Width, change: Change) {
    let insert = |model: &mut Model, key: Vec<u8>, tid| {
        let added = index.insert(&key, Tid(tid)).expect("the pool has room");
        assert_eq!(added, model.insert((key, tid)));
    };
    match change {
        Change::Insert(key, tid) => insert(model, key, tid),
        Change::Remove(key, tid) => {
            let removed = index.remove(&key, Tid(tid));
            assert_eq!(removed, model.remove(&(key, tid)));
        }
        Change::Append(count, true) => {
            let next = 1 << 20 | (model.len() as u32) << 10;
            (0..u32::from(count)).for_each(|i| insert(model, width.key(next + i), 1));
        }
        Change::Append(count, false) => {
            let next = 100_000;
            (0..u32::from(count)).for_each(|i| insert(model, width.key(next - i), 1));
        }
        Change::Thin(share, side) => {
            let all: Vec<_> = model.iter().cloned().collect();
            let count = all.len() * usize::from(share) / 255;
            let gone: Vec<_> = match side {
                0 => all.into_iter().take(count).collect(),
                1 => all.into_iter().rev().take(count).collect(),
                _ => all.into_iter().step_by(256 / (usize::from(share) + 1)).collect(),
            };
            for (key, tid) in gone {
                assert!(index.remove(&key, Tid(tid)));
                assert!(model.remove(&(key, tid)));
            }
        }
    }
}

fn compare_keys(index: &TableIndex, model: &Model, keys: &[Vec<u8>]) {
    index.check().expect("a sound structure");
    assert_eq!(index.len(), model.len() as u64);
    let stored: BTreeSet<_> = model.iter().map(|e| &e.0).collect();
    for key in keys.iter().chain(stored) {
        let mut found = tids(index, key);
        if index.spec().kind == IndexKind::Hash {
            found.sort_unstable();
        }
        let range = (key.clone(), 0)..=(key.clone(), u64::MAX);
        let expected: Vec<_> = model.range(range).map(|e| Tid(e.1)).collect();
        assert_eq!(found, expected, "TIDs of {key:?}");
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

fn is_inside(range: KeyRange<'_>, key: &[u8]) -> bool {
    let above = match range.low {
        Bound::Included(low) => key >= low,
        Bound::Excluded(low) => key > low,
        Bound::Unbounded => true,
    };
    above
        && match range.high {
            Bound::Included(high) => key <= high,
            Bound::Excluded(high) => key < high,
            Bound::Unbounded => true,
        }
}

fn compare_range(index: &TableIndex, model: &Model, range: KeyRange<'_>, state: &mut RangeState) {
    let mut expected: Vec<_> = model.iter().filter(|e| is_inside(range, &e.0)).cloned().collect();
    for direction in [Direction::Forward, Direction::Backward] {
        index.start(range, direction, state);
        let mut found = Vec::new();
        while let Some((key, tid)) = index.next(state) {
            found.push((key.to_vec(), tid.0));
        }
        assert!(index.next(state).is_none());
        assert_eq!(found, expected, "{range:?} {direction:?}");
        expected.reverse();
    }
}

fn any_bound(width: Width) -> BoxedStrategy<Bound<Vec<u8>>> {
    // Keys, starts of keys, and keys with something behind.
    let key =
        (any_key(width), 0usize..20, vec(any::<u8>(), 0..3)).prop_map(|(mut key, cut, more)| {
            if cut < key.len() {
                key.truncate(cut);
            } else if cut > 16 {
                key.extend(more);
            }
            key
        });
    prop_oneof![
        4 => key.clone().prop_map(Bound::Included),
        4 => key.prop_map(Bound::Excluded),
        1 => Just(Bound::Unbounded),
    ]
    .boxed()
}

fn any_case() -> impl Strategy<Value = Case> {
    prop::sample::select(WIDTHS.to_vec()).prop_flat_map(|width| {
        let bounds = vec((any_bound(width), any_bound(width)), 0..20);
        let (changes, keys) = (vec(any_change(width), 0..2_000), vec(any_key(width), 0..20));
        (Just(width), changes, keys, bounds).prop_map(|(width, changes, keys, bounds)| Case {
            width,
            changes,
            keys,
            bounds,
        })
    })
}

#[derive(Clone, Debug)]
struct Case {
    width: Width,
    changes: Vec<Change>,
    keys: Vec<Vec<u8>>,
    bounds: Vec<(Bound<Vec<u8>>, Bound<Vec<u8>>)>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn an_ordered_index_is_a_set(case in any_case()) {
        let pool = BufferPool::new(1 << 32);
        let index = index_in(&pool, IndexKind::Ordered, case.width);
        let (mut model, mut state) = (Model::new(), RangeState::new());
        let half = case.changes.len() / 2;
        for (i, change) in case.changes.into_iter().enumerate() {
            apply(&index, &mut model, case.width, change);
            if i == half {
                compare_keys(&index, &model, &case.keys);
            }
        }
        compare_keys(&index, &model, &case.keys);
        for (low, high) in &case.bounds {
            let range = KeyRange { low: as_slice(low), high: as_slice(high) };
            compare_range(&index, &model, range, &mut state);
        }
        let mut successor = KeyBuffer::new();
        for key in &case.keys {
            let prefix = &key[..key.len() / 2];
            let range = KeyRange::prefix(prefix, &mut successor);
            compare_range(&index, &model, range, &mut state);
            let expected = model.iter().filter(|e| e.0.starts_with(prefix)).count();
            let found = model.iter().filter(|e| is_inside(range, &e.0)).count();
            prop_assert_eq!(found, expected);
        }
        compare_range(&index, &model, KeyRange::ALL, &mut state);
        prop_assert!(pool.total() >= index.bytes());
        drop(index);
        prop_assert_eq!(pool.total(), 0);
    }

    #[test]
    fn a_hash_index_is_a_set(case in any_case()) {
        let pool = BufferPool::new(1 << 32);
        let index = index_in(&pool, IndexKind::Hash, case.width);
        let mut model = Model::new();
        let half = case.changes.len() / 2;
        for (i, change) in case.changes.into_iter().enumerate() {
            apply(&index, &mut model, case.width, change);
            if i == half {
                compare_keys(&index, &model, &case.keys);
            }
        }
        compare_keys(&index, &model, &case.keys);
        drop(index);
        prop_assert_eq!(pool.total(), 0);
    }

    #[test]
    fn a_bulk_build_is_all_inserts(
        width in prop::sample::select(WIDTHS.to_vec()),
        parts in vec(vec((any::<u16>(), 0u64..3), 0..700), 0..8),
        is_sorted in any::<bool>(),
        threads in 1usize..5,
    ) {
        for kind in [IndexKind::Ordered, IndexKind::Hash] {
            let pool = BufferPool::new(1 << 32);
            let index = index_in(&pool, kind, width);
            let mut parts: Vec<Vec<(Vec<u8>, u64)>> = parts
                .iter()
                .map(|p| p.iter().map(|&(i, tid)| (width.key(i.into()), tid)).collect())
                .collect();
            if is_sorted {
                parts.iter_mut().for_each(|part| part.sort());
            }
            let built = index.bulk_build(threads, parts.len(), |i, run| {
                parts[i].iter().try_for_each(|(key, tid)| run.push(key, Tid(*tid)))
            });
            let built = built.expect("the pool has room");
            let mut model: Model = parts.concat().into_iter().collect();
            if kind == IndexKind::Ordered {
                let entries: Vec<_> = model.iter().collect();
                let is_repeated = entries.windows(2).any(|pair| pair[0].0 == pair[1].0);
                prop_assert_eq!(built == BuiltKeys::Repeated, is_repeated);
            }
            compare_keys(&index, &model, &[]);
            if kind == IndexKind::Ordered {
                compare_range(&index, &model, KeyRange::ALL, &mut RangeState::new());
            }
            // It goes on to work.
            for i in 0..500 {
                apply(&index, &mut model, width, Change::Insert(width.key(i * 100), 7));
            }
            apply(&index, &mut model, width, Change::Thin(200, 2));
            compare_keys(&index, &model, &[]);
            drop(index);
            prop_assert_eq!(pool.total(), 0);
        }
    }
}

#[test]
fn a_cursor_goes_on_where_it_was() {
    for width in WIDTHS {
        let index = index(IndexKind::Ordered, width);
        for i in 0..3_000 {
            index.insert(&width.key(i), Tid(0)).expect("room");
        }
        // Entries before the cursor come and go, those behind are all found.
        let mut cursor = index.range(KeyRange::ALL, Direction::Forward);
        for i in 0..3_000 {
            let next = cursor.next().map(|(key, tid)| (key.to_vec(), tid));
            assert_eq!(next, Some((width.key(i), Tid(0))));
            assert!(index.remove(&width.key(i), Tid(0)));
        }
        assert!(cursor.next().is_none());
        assert!(index.is_empty());
        index.check().expect("a sound structure");
    }
}

#[test]
fn a_queue_takes_no_more_memory_than_its_length() {
    for width in WIDTHS {
        for is_up in [true, false] {
            let index = index(IndexKind::Ordered, width);
            let key = |i: u32| width.key(if is_up { i } else { u32::MAX - i });
            let mut most = 0;
            for i in 0..200_000 {
                index.insert(&key(i), Tid(i.into())).expect("room");
                if i >= 1_000 {
                    assert!(index.remove(&key(i - 1_000), Tid(u64::from(i) - 1_000)));
                }
                if i == 5_000 {
                    most = index.bytes();
                }
            }
            assert_eq!(index.len(), 1_000);
            assert!(index.bytes() <= 2 * most, "{width:?} {is_up}: {most} bytes grew");
            index.check().expect("a sound structure");
        }
    }
}

#[test]
fn a_full_pool_refuses_and_nothing_is_lost() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        for width in WIDTHS {
            let pool = BufferPool::new(300 << 10);
            let index = index_in(&pool, kind, width);
            let mut model = Model::new();
            let error = (0u64..).find_map(|i| {
                let (key, tid) = (width.key((i * 7919 % 65_536) as u32), i);
                match index.insert(&key, Tid(tid)) {
                    Ok(_) => {
                        model.insert((key, tid));
                        None
                    }
                    Err(error) => Some(error),
                }
            });
            assert_eq!(error.map(|e| e.state()), Some(SqlState::OUT_OF_MEMORY));
            assert!(model.len() > 1_000);
            compare_keys(&index, &model, &[]);
            apply(&index, &mut model, width, Change::Thin(250, 2));
            apply(&index, &mut model, width, Change::Append(200, true));
            compare_keys(&index, &model, &[]);
            drop(index);
            assert_eq!(pool.total(), 0);
        }
    }
}

#[test]
fn a_failed_bulk_build_gives_all_memory_back() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        for width in WIDTHS {
            for limit in [64 << 10, 1 << 20, 3 << 20] {
                let pool = BufferPool::new(limit);
                let index = index_in(&pool, kind, width);
                let part = |part: usize| move |i: u32| width.key(i * 4 + part as u32);
                let built = index.bulk_build(2, 4, |i, run| {
                    (0..50_000).map(part(i)).try_for_each(|key| run.push(&key, Tid(1)))
                });
                let state = built.map_err(|e| e.state());
                assert_eq!(state, Err(SqlState::OUT_OF_MEMORY));
                drop(index);
                assert_eq!(pool.total(), 0);
            }
            let index = index(kind, width);
            let built = index.bulk_build(3, 9, |i, run| {
                run.push(&width.key(i as u32), Tid(1))?;
                if i == 5 { Err(Error::internal("a part failed")) } else { Ok(()) }
            });
            assert!(built.is_err());
        }
    }
}

#[test]
fn a_key_with_many_tids() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        for width in WIDTHS {
            let index = index(kind, width);
            let mut model = Model::new();
            for tid in 0..5_000u64 {
                let key = width.key((tid % 3) as u32);
                apply(&index, &mut model, width, Change::Insert(key, tid * 31 % 5_000));
            }
            compare_keys(&index, &model, &[]);
            let mut seen = 0;
            let end = index.lookup(&width.key(0), |_| {
                seen += 1;
                if seen == 100 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert_eq!((end, seen), (ControlFlow::Break(()), 100));
            for side in 0..3 {
                apply(&index, &mut model, width, Change::Thin(128, side));
                compare_keys(&index, &model, &[]);
            }
            apply(&index, &mut model, width, Change::Thin(255, 0));
            assert!(index.is_empty());
            compare_keys(&index, &model, &[]);
        }
    }
}
