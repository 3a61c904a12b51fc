use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::verify::{gather_or_null, keep_equal, keep_possible};
use super::*;
use crate::level::at_every_level;
use crate::{Bitmap, Column, Vector, VectorBuilder, VectorData};
use types::{PhysicalType, Value};

/// The scalar twin of all tables: rows by code.
fn rows_by_code(codes: &[u64]) -> HashMap<u64, Vec<u32>> {
    let mut map: HashMap<u64, Vec<u32>> = HashMap::new();
    for (row, &code) in codes.iter().enumerate().filter(|(_, c)| **c != MISS) {
        map.entry(code).or_default().push(row as u32);
    }
    map
}

fn tables(codes: &[u64]) -> Vec<JoinTable> {
    let range = codes.iter().filter(|c| **c != MISS).max().map_or(0, |m| m + 1);
    let mut tables = vec![JoinTable::Wide(HashTable::from_codes(codes))];
    if range <= 1 << 32 {
        tables.push(JoinTable::Narrow(HashTable::from_codes(codes)));
    }
    if range <= 1 << 22 {
        tables.push(JoinTable::Dense(DenseTable::build(codes, range)));
    }
    tables
}

fn check(build: &[u64], probe: &[u64], limit: usize) {
    let twin = rows_by_code(build);
    let unique = twin.values().all(|rows| rows.len() == 1);
    let expected: Vec<(u32, u32)> = probe
        .iter()
        .enumerate()
        .flat_map(|(i, code)| twin.get(code).into_iter().flatten().map(move |&row| (i as u32, row)))
        .collect();
    for table in tables(build) {
        assert_eq!(table.is_unique(), unique);
        assert_eq!(table.len(), build.iter().filter(|c| **c != MISS).count());
        let (mut candidates, mut pairs) = (Candidates::default(), Pairs::default());
        let mut found = Vec::new();
        table.locate(probe, &mut candidates);
        while !candidates.is_done() {
            pairs.clear();
            table.expand(probe, &mut candidates, limit, &mut pairs);
            assert!(pairs.len() <= limit);
            found.extend(pairs.probe.iter().copied().zip(pairs.build.iter().copied()));
        }
        assert_eq!(found, expected, "{limit}");
        table.first(probe, &mut candidates, &mut pairs);
        let mut firsts = expected.clone();
        firsts.dedup_by_key(|(probe, _)| *probe);
        let got: Vec<_> = pairs.probe.iter().copied().zip(pairs.build.iter().copied()).collect();
        assert_eq!(got, firsts);
        let numbered = |i: usize| 3 * i as u32;
        let mut kept: Vec<u32> = (0..probe.len()).map(numbered).collect();
        table.retain(probe, &mut kept);
        let has = |i: &usize| twin.contains_key(&probe[*i]);
        let present: Vec<u32> = (0..probe.len()).filter(has).map(numbered).collect();
        assert!(kept.is_sorted() && present.iter().all(|p| kept.binary_search(p).is_ok()));
        assert!(kept.iter().all(|p| probe[*p as usize / 3] != MISS));
        if matches!(table, JoinTable::Dense(_)) {
            assert_eq!(kept, present, "codes are exact");
        }
        let mut rows = vec![7; 3];
        table.present(probe, &mut candidates, &mut pairs, &mut rows);
        assert_eq!(rows, firsts.iter().map(|(probe, _)| *probe).collect::<Vec<_>>());
    }
}

fn codes(max: u64) -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..max, 1 => Just(MISS), 1 => Just(max - 1)]
}

proptest! {
    #[test]
    fn tables_equal_their_twin(
        build in vec(codes(60), 0..80), probe in vec(codes(70), 0..80), limit in 1usize..10
    ) {
        at_every_level(|_| check(&build, &probe, limit));
    }

    #[test]
    fn tables_of_wide_codes_equal_their_twin(
        build in vec(codes(u64::MAX - 1), 0..80), more in vec(codes(u64::MAX - 1), 0..40),
    ) {
        let probe: Vec<u64> = build.iter().copied().chain(more).collect();
        check(&build, &probe, 7);
    }

    #[test]
    fn key_sets_miss_no_key(
        keys in vec(testkit::values::<i64>(), 1..200),
        others in vec(testkit::values::<i64>(), 0..50),
    ) {
        let set = KeySet::new(keys.iter().copied()).expect("there are keys");
        let all: Vec<i64> = keys.iter().chain(&others).copied().collect();
        let mut rows: Vec<u32> = (0..all.len() as u32).collect();
        set.retain(&all, &mut rows);
        prop_assert!((0..keys.len() as u32).all(|row| rows.contains(&row)));
        for &key in &keys {
            prop_assert!(set.overlaps(key, key) && set.overlaps(i64::MIN, key));
        }
    }

    #[test]
    fn small_key_sets_are_exact(
        keys in vec(-100i64..100, 1..20), low in -120i64..120, len in 0i64..100
    ) {
        let set = KeySet::new(keys.iter().copied()).expect("there are keys");
        let mut rows: Vec<u32> = (0..300).collect();
        let values: Vec<i32> = (-150..150).collect();
        set.retain(&values, &mut rows);
        let wanted = |r: &u32| keys.contains(&(i64::from(*r) - 150));
        let expected: Vec<u32> = (0..300).filter(wanted).collect();
        prop_assert_eq!(&rows, &expected);
        let overlaps = keys.iter().any(|&k| low <= k && k <= low + len);
        prop_assert_eq!(set.overlaps(low, low + len), overlaps);
        let codes: Vec<u64> = keys.iter().map(|&k| (k + 100) as u64).collect();
        let table = DenseTable::build(&codes, 200);
        let mut dense_rows: Vec<u32> = (0..300).collect();
        table.retain(-100, &values, &mut dense_rows);
        prop_assert_eq!(&dense_rows, &expected);
        let from = low.max(-100) + 100;
        if low + len >= -100 {
            prop_assert_eq!(table.overlaps(from as u64, (low + len + 100) as u64), overlaps);
        }
    }

    #[test]
    fn keys_in_bits_are_found_at_every_level(
        keys in vec(-300i64..300, 1..200),
        base in prop_oneof![
            4 => Just(0),
            1 => Just(i64::from(i32::MAX) - 300),
            1 => Just(i64::from(i32::MIN) + 300),
            1 => Just(i64::from(i32::MAX) - 100),
            1 => Just(1 << 40),
        ],
        probe in vec(prop_oneof![9 => -400i64..400, 1 => testkit::values::<i64>()], 0..120),
    ) {
        let keys: Vec<i64> = keys.iter().map(|key| base + key).collect();
        let values: Vec<i64> = probe.iter().map(|value| value.wrapping_add(base)).collect();
        let narrow: Vec<i32> = values.iter().map(|&value| value as i32).collect();
        let set = KeySet::new(keys.iter().copied()).expect("there are keys");
        let (least, most) = set.limits();
        let codes: Vec<u64> = keys.iter().map(|key| (key - least) as u64).collect();
        let table = DenseTable::build(&codes, (most - least) as u64 + 1);
        let all: Vec<u32> = (7..values.len() as u32 + 7).collect();
        let among = |has: &dyn Fn(usize) -> bool| -> Vec<u32> {
            all.iter().copied().filter(|row| has(*row as usize - 7)).collect()
        };
        let wide = among(&|row| keys.contains(&values[row]));
        let short = among(&|row| keys.contains(&i64::from(narrow[row])));
        at_every_level(|level| {
            let mut rows = [all.clone(), all.clone(), all.clone(), all.clone()];
            set.retain(&values, &mut rows[0]);
            set.retain(&narrow, &mut rows[1]);
            table.retain(least, &values, &mut rows[2]);
            table.retain(least, &narrow, &mut rows[3]);
            assert_eq!(rows, [&wide, &short, &wide, &short].map(Vec::clone), "{level:?}");
        });
    }

    #[test]
    fn codes_are_equal_exactly_when_keys_are(
        a in vec((testkit::values::<i32>(), prop::option::of(0i64..5)), 1..40),
        b in vec((testkit::values::<i32>(), prop::option::of(-1i64..6)), 1..40),
        nulls in prop::bool::ANY,
    ) {
        let null = if nulls { NullCode::Value } else { NullCode::Miss };
        let column = |rows: &[(i32, Option<i64>)]| {
            let mut second = VectorBuilder::new(PhysicalType::I64);
            rows.iter().for_each(|r| second.push_value(&r.1.map_or(Value::Null, Value::I64)));
            [Vector::new(VectorData::I32(rows.iter().map(|r| r.0).collect())), second.finish()]
        };
        let (left, right) = (column(&a), column(&b));
        let coder = KeyCoder::new(&[&left[0], &left[1]], &[null, null]);
        prop_assert!(coder.is_exact());
        let (mut x, mut y) = (Vec::new(), Vec::new());
        coder.encode_vectors(&[&left[0], &left[1]], 0..a.len(), &mut x);
        let right = right.map(Column::plain);
        coder.encode(&[&right[0], &right[1]], b.len(), &mut y);
        for (i, p) in a.iter().enumerate() {
            prop_assert_eq!(x[i] == MISS, p.1.is_none() && !nulls);
            prop_assert!(x[i] == MISS || x[i] < coder.range().expect("it has a range"));
            for (j, q) in b.iter().enumerate() {
                let same = p == q && (nulls || p.1.is_some());
                prop_assert_eq!(x[i] == y[j] && x[i] != MISS, same);
            }
        }
    }

    #[test]
    fn verified_hashes_find_equal_strings(
        a in vec(prop::option::of(vec(0u8..2, 0..20)), 1..20),
        b in vec(prop::option::of(vec(0u8..2, 0..20)), 1..20),
    ) {
        let column = |rows: &[Option<Vec<u8>>]| {
            let mut strings = VectorBuilder::new(PhysicalType::Str);
            rows.iter().for_each(|r| match r {
                Some(bytes) => strings.push_str(bytes),
                None => strings.push_null(),
            });
            strings.finish()
        };
        let (left, right) = (Column::plain(column(&a)), column(&b));
        let all = || Pairs {
            probe: (0..a.len() as u32).flat_map(|i| vec![i; b.len()]).collect(),
            build: (0..a.len()).flat_map(|_| 0..b.len() as u32).collect(),
        };
        let test = |pairs: Pairs, holds: &dyn Fn(&Option<Vec<u8>>, &Option<Vec<u8>>) -> bool| {
            let found: Vec<_> = pairs.probe.iter().zip(&pairs.build).collect();
            let all = all();
            let expected: Vec<_> = all.probe.iter().zip(&all.build)
                .filter(|(p, q)| holds(&a[**p as usize], &b[**q as usize])).collect();
            assert_eq!(found, expected);
        };
        let mut pairs = all();
        keep_equal(&left, &right, NullCode::Value, &mut pairs);
        test(pairs, &|p, q| p == q);
        let mut pairs = all();
        keep_equal(&left, &right, NullCode::Miss, &mut pairs);
        test(pairs, &|p, q| p.is_some() && p == q);
        let mut pairs = all();
        keep_possible(&left, &right, &mut pairs);
        test(pairs, &|p, q| p.is_none() || q.is_none() || p == q);
        let coder = KeyCoder::new(&[&right], &[NullCode::Miss]);
        prop_assert!(!coder.is_exact());
        let (mut x, mut y) = (Vec::new(), Vec::new());
        coder.encode(&[&left], a.len(), &mut x);
        coder.encode_vectors(&[&right], 0..b.len(), &mut y);
        for (i, p) in a.iter().enumerate() {
            prop_assert_eq!(x[i] == MISS, p.is_none());
            for (j, q) in b.iter().enumerate() {
                prop_assert!(p.is_none() || p != q || x[i] == y[j]);
            }
        }
    }
}

#[test]
fn large_tables_are_built_by_partition() {
    let mut random = testkit::Random::new(11);
    let build: Vec<u64> = (0..200_000).map(|_| random.below(150_000) * 977).collect();
    let probe: Vec<u64> = (0..50_000).map(|_| random.below(200_000) * 977).collect();
    check(&build, &probe, 4096);
    let plan = HashPlan::new(build.len());
    assert!(plan.partitions() > 1);
    let parts = build.chunks(30_000).enumerate();
    let parts = parts.map(|(i, codes)| plan.partition(codes, i as u32 * 30_000)).collect();
    let builder = HashBuilder::<u64>::new(plan, parts);
    std::thread::scope(|scope| {
        for odd in [0, 1] {
            let builder = &builder;
            scope.spawn(move || {
                (odd..builder.partitions()).step_by(2).for_each(|p| builder.build(p));
            });
        }
    });
    let table = JoinTable::Wide(builder.finish());
    let (mut candidates, mut pairs) = (Candidates::default(), Pairs::default());
    table.locate(&probe, &mut candidates);
    table.expand(&probe, &mut candidates, usize::MAX, &mut pairs);
    let twin = rows_by_code(&build);
    let expected: usize = probe.iter().map(|code| twin.get(code).map_or(0, Vec::len)).sum();
    assert_eq!(pairs.len(), expected);
    assert!(
        pairs.probe.iter().zip(&pairs.build).all(|(&p, &b)| probe[p as usize] == build[b as usize])
    );
}

#[test]
fn a_skewed_key_does_not_slow_the_build() {
    let build: Vec<u64> = (0..300_000).map(|i| if i % 10 == 0 { i } else { 5 }).collect();
    check(&build, &[5, 10, 11, MISS], 70_000);
}

#[test]
fn missing_rows_gather_as_null() {
    let vector =
        Vector::with_validity(VectorData::I32(vec![4, 5, 6]), Some(Bitmap::from_fn(3, |i| i != 1)));
    let gathered = gather_or_null(&vector, &[2, u32::MAX, 1, 0]);
    let values: Vec<Value> = (0..4).map(|i| gathered.value(i)).collect();
    assert_eq!(values, [Value::I32(6), Value::Null, Value::Null, Value::I32(4)]);
    let empty = gather_or_null(&Vector::empty(PhysicalType::Str), &[u32::MAX, u32::MAX]);
    assert!(empty.len() == 2 && empty.is_null(0) && empty.is_null(1));
}
