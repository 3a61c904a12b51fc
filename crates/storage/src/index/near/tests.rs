//! Graphs against all entries: nothing is lost, nothing is found twice, and most of the nearest are
//! found.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use testkit::Random;
use types::packed::distance::{Metric, NearForm};
use types::packed::vector_value;

use super::*;
use crate::schema::{ColumnSpec, Schema};
use crate::{IndexColumn, IndexId, IndexSpec, Uniqueness};

/// An index of vectors of `dimensions`.
fn index(form: NearForm, dimensions: u16) -> TableIndex {
    index_in(&BufferPool::new(1 << 32), form, dimensions)
}

fn index_in(pool: &Arc<BufferPool>, form: NearForm, dimensions: u16) -> TableIndex {
    let ty = DataType::Packed(PackedType::Vector(Some(dimensions)));
    let schema = Schema::new(vec![ColumnSpec::new("v", ty)]);
    let spec = IndexSpec {
        id: IndexId(1),
        name: "i".into(),
        columns: vec![IndexColumn::new(0)],
        unique: Uniqueness::No,
        kind: IndexKind::Near(form),
    };
    TableIndex::new(spec, &schema, pool).expect("it is empty")
}

fn form(metric: Metric, links: u16, breadth: u16) -> NearForm {
    NearForm { metric, links, breadth }
}

/// The key of a row.
fn key(vector: &[f32], metric: Metric) -> KeyBuffer {
    let value = vector_value(vector.iter().copied());
    let mut key = KeyBuffer::new();
    set_vector(&mut key, Datum::Str(&value), metric);
    key
}

/// TIDs by distance, as many as a search of this breadth gives in its first step.
fn first(index: &TableIndex, from: &[f32], breadth: usize) -> Vec<Tid> {
    let from = vector_value(from.iter().copied());
    let mut cursor = index.near(&from, breadth).expect("a vector of these dimensions");
    index.next_near(&mut cursor);
    cursor.entries().map(|(_, tid)| tid).collect()
}

/// All entries that a search gives, step by step.
fn all(index: &TableIndex, from: &[f32], breadth: usize) -> Vec<(Vec<u8>, Tid)> {
    let from = vector_value(from.iter().copied());
    let mut cursor = index.near(&from, breadth).expect("a vector of these dimensions");
    let mut found = Vec::new();
    while index.next_near(&mut cursor) {
        found.extend(cursor.entries().map(|(key, tid)| (key.to_vec(), tid)));
    }
    found
}

fn random_vector(random: &mut Random, dimensions: usize) -> Vec<f32> {
    (0..dimensions).map(|_| random.unit() as f32).collect()
}

/// The share of the `count` nearest of all that a search finds, over some vectors.
fn recall(index: &TableIndex, vectors: &BTreeMap<u64, Vec<f32>>, random: &mut Random) -> f64 {
    let (count, asked) = (10, 50);
    let metric = index.near_form().expect("a near index").metric;
    let mut hits = 0;
    for _ in 0..asked {
        let from = random_vector(random, vectors.values().next().map_or(0, Vec::len));
        let distance = |vector: &Vec<f32>| metric.between(&vector[..], &from[..]);
        let mut exact: Vec<(f64, u64)> =
            vectors.iter().map(|(tid, vector)| (distance(vector), *tid)).collect();
        exact.sort_by(|a, b| a.0.total_cmp(&b.0));
        let nearest: BTreeSet<u64> = exact[..count].iter().map(|(_, tid)| *tid).collect();
        let found = first(index, &from, 40);
        hits += found[..count].iter().filter(|tid| nearest.contains(&tid.0)).count();
    }
    hits as f64 / (count * asked) as f64
}

/// 10,000 vectors of 32 dimensions, of which a fifth is then replaced, and fewer by angle.
#[test]
fn most_of_the_nearest_are_found() {
    for (metric, count) in [(Metric::L2, 10_000), (Metric::Cosine, 1_000)] {
        let index = index(form(metric, 16, 64), 32);
        let mut random = Random::new(7);
        let mut vectors = BTreeMap::new();
        for tid in 0..count {
            let vector = random_vector(&mut random, 32);
            index.insert(&key(&vector, metric), Tid(tid)).expect("the pool has room");
            vectors.insert(tid, vector);
        }
        index.check().expect("a sound graph");
        let share = recall(&index, &vectors, &mut random);
        assert!(share >= 0.95, "{metric:?}: {share} of the nearest were found");
        for tid in 0..count / 5 {
            let vector = random_vector(&mut random, 32);
            index.insert(&key(&vector, metric), Tid(tid)).expect("the pool has room");
            let old = vectors.insert(tid, vector).expect("it was there");
            assert!(index.remove(&key(&old, metric), Tid(tid)));
        }
        index.check().expect("a sound graph");
        let share = recall(&index, &vectors, &mut random);
        assert!(share >= 0.95, "{metric:?}: {share} were found after changes");
    }
}

/// A change of an index.
#[derive(Clone, Debug)]
enum Change {
    Insert([i8; 3], u64),
    Remove([i8; 3], u64),
    /// Removes every entry of which the number has this remainder by 3.
    Thin(u8),
}

fn any_change() -> impl Strategy<Value = Change> {
    let vector = || [-3_i8..4, -3_i8..4, -3_i8..4];
    prop_oneof![
        12 => (vector(), 0_u64..30).prop_map(|(vector, tid)| Change::Insert(vector, tid)),
        5 => (vector(), 0_u64..30).prop_map(|(vector, tid)| Change::Remove(vector, tid)),
        1 => (0_u8..3).prop_map(Change::Thin),
    ]
}

fn apply(index: &TableIndex, model: &mut BTreeSet<(Vec<u8>, Tid)>, change: Change, metric: Metric) {
    let of = |vector: [i8; 3]| key(&vector.map(f32::from), metric);
    match change {
        Change::Insert(vector, tid) if !of(vector).is_absent() => {
            let added = index.insert(&of(vector), Tid(tid)).expect("the pool has room");
            assert_eq!(added, model.insert((of(vector).to_vec(), Tid(tid))));
        }
        Change::Remove(vector, tid) if !of(vector).is_absent() => {
            let removed = index.remove(&of(vector), Tid(tid));
            assert_eq!(removed, model.remove(&(of(vector).to_vec(), Tid(tid))));
        }
        Change::Insert(..) | Change::Remove(..) => {}
        Change::Thin(rest) => {
            let entries: Vec<_> = model.iter().cloned().collect();
            for (_, entry) in
                entries.into_iter().enumerate().filter(|(at, _)| at % 3 == usize::from(rest))
            {
                assert!(index.remove(&entry.0, entry.1));
                model.remove(&entry);
            }
        }
    }
}

proptest! {
    #[test]
    fn entries_are_those_of_a_set(
        changes in proptest::collection::vec(any_change(), 1..300),
        links in 2_u16..6,
        metric in prop_oneof![Just(Metric::L2), Just(Metric::InnerProduct), Just(Metric::Cosine),
            Just(Metric::L1)],
        from in [1_i8..4, -3_i8..4, -3_i8..4],
    ) {
        let index = index(form(metric, links, 16), 3);
        let mut model = BTreeSet::new();
        for change in changes {
            apply(&index, &mut model, change, metric);
        }
        index.check().expect("a sound graph");
        prop_assert_eq!(index.len(), model.len() as u64);
        for (key, _) in &model {
            let mut found = BTreeSet::new();
            let _ = index.lookup(key, |tid| {
                found.insert((key.clone(), tid));
                ControlFlow::Continue(())
            });
            let expected: BTreeSet<_> =
                model.iter().filter(|entry| entry.0 == *key).cloned().collect();
            prop_assert_eq!(found, expected);
        }
        let found = all(&index, &from.map(f32::from), 5);
        let distinct: BTreeSet<_> = found.iter().cloned().collect();
        prop_assert_eq!(distinct.len(), found.len(), "an entry came twice");
        prop_assert!(distinct.is_subset(&model));
    }
}

#[test]
fn searches_go_on_until_everything_was_found() {
    let index = index(form(Metric::L2, 8, 32), 4);
    let mut random = Random::new(3);
    let mut entries = BTreeSet::new();
    for tid in 0..3_000 {
        let vector = random_vector(&mut random, 4);
        index.insert(&key(&vector, Metric::L2), Tid(tid)).expect("the pool has room");
        entries.insert((key(&vector, Metric::L2).to_vec(), Tid(tid)));
    }
    let found = all(&index, &[0.5; 4], 20);
    assert_eq!(found.len(), entries.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), entries);
}

#[test]
fn threads_insert_and_remove_at_the_same_time() {
    let index = Arc::new(index(form(Metric::L2, 4, 16), 8));
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let index = &index;
            scope.spawn(move || {
                let mut random = Random::new(thread);
                for round in 0..400 {
                    let vector = random_vector(&mut random, 8);
                    let (key, tid) = (key(&vector, Metric::L2), Tid(thread << 32 | round));
                    assert!(index.insert(&key, tid).expect("the pool has room"));
                    if round % 3 == 0 {
                        assert!(index.remove(&key, tid));
                    }
                    assert!(first(index, &vector, 10).len() <= 15);
                }
            });
        }
    });
    index.check().expect("a sound graph");
    assert_eq!(index.len(), 4 * (400 - 134));
}

#[test]
fn vectors_of_other_dimensions_have_no_place() {
    let cosine = index(form(Metric::Cosine, 4, 16), 3);
    assert!(cosine.near(&vector_value([1.0, 2.0]), 10).is_none());
    assert!(cosine.near(&vector_value([0.0, 0.0, -0.0]), 10).is_none());
    assert!(cosine.near(&vector_value([1.0, 0.0, 0.0]), 10).is_some());
    assert!(key(&[0.0, 0.0], Metric::Cosine).is_absent());
    assert_eq!(key(&[2.0, 0.0], Metric::Cosine)[..], key(&[4.0, -0.0], Metric::Cosine)[..]);
    assert_eq!(key(&[0.0, 1.0], Metric::L1)[..], key(&[-0.0, 1.0], Metric::L1)[..]);
}

#[test]
fn no_vector_is_more_than_the_limit_has_room_for() {
    let index = index_in(&BufferPool::new(3 << 20), form(Metric::L2, 4, 16), 2000);
    let mut random = Random::new(5);
    let mut made = 0;
    let error = loop {
        let vector = random_vector(&mut random, 2000);
        match index.insert(&key(&vector, Metric::L2), Tid(made)) {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.state(), types::SqlState::OUT_OF_MEMORY);
    assert_eq!(index.len(), made);
    assert!(made > 0 && index.bytes() <= 3 << 20);
    index.check().expect("a sound graph");
}
