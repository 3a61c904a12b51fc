//! Trees, woven codes and filters against sorted maps and comparisons of single values, for every
//! width of codes, with NULLs, values that are absent, and extremes.

use std::collections::BTreeMap;

use kernels::{Vector, VectorBuilder};
use proptest::prelude::*;
use testkit::Random;
use types::{PhysicalType, Value};

use super::*;
use crate::freeze::freeze;
use crate::memory::MemoryCategory;
use crate::restriction::{KeyTest, TextTest};

/// Integers spread so that their codes need about `bits` bits, some NULL, some often the same.
/// [`SubBlock::build`] over a block that is in memory.
fn build(block: &Block, spec: &SubBlockSpec, pool: &Arc<BufferPool>) -> Result<SubBlock> {
    SubBlock::build(block.pin_again().frozen().expect("frozen"), spec, pool)
}

fn numbers(random: &mut Random, rows: usize, bits: u32) -> Vec<Option<i64>> {
    let nulls = [0, 5, 50][random.below(3) as usize];
    let hot = random.bits() as i64 >> (64 - bits);
    let one = |random: &mut Random| match random.below(10) {
        0 => i64::MIN >> (64 - bits),
        1 => i64::MAX >> (64 - bits),
        2 | 3 => hot,
        _ => random.bits() as i64 >> (64 - bits),
    };
    (0..rows).map(|_| (!random.chance(nulls)).then(|| one(random))).collect()
}

fn vector(values: &[Option<i64>]) -> Vector {
    let mut builder = VectorBuilder::new(PhysicalType::I64);
    for value in values {
        builder.push_value(&value.map_or(Value::Null, Value::I64));
    }
    builder.finish()
}

fn block_of(vector: &Vector, pool: &Arc<BufferPool>) -> Block {
    freeze(1, &[vector], vector.len(), pool).expect("fits").0
}

fn spec(kind: SubBlockKind) -> SubBlockSpec {
    SubBlockSpec { id: IndexId(1), name: "i".into(), column: 0, kind }
}

fn rows_of(words: &[u64]) -> Vec<u32> {
    let mut rows = Vec::new();
    kernels::select::bit_rows(words, 0, &mut rows);
    rows
}

/// The values of a block by their codes.
fn by_code(block: &Block, values: &[Option<i64>]) -> Vec<(u64, i64)> {
    let domain = Domain::of(block, 0).expect("integers have codes");
    let mut by_code = BTreeMap::new();
    domain.each(block.pin_again().frozen().expect("frozen"), 0, |row, code| {
        by_code.insert(code, values[row as usize].expect("only values are visited"));
    });
    by_code.into_iter().collect()
}

fn check_block(random: &mut Random, rows: usize, bits: u32) {
    let pool = BufferPool::new(1 << 30);
    let values = numbers(random, rows, bits);
    let block = block_of(&vector(&values), &pool);
    let before = pool.usage()[MemoryCategory::Indexes as usize].1;
    let all = [
        SubBlockKind::Csb,
        SubBlockKind::BitWeaving(WeaveForm::Vertical),
        SubBlockKind::BitWeaving(WeaveForm::Horizontal),
    ];
    let built = all.map(|kind| build(&block, &spec(kind), &pool).expect("fits"));
    let held: u64 = built.iter().map(SubBlock::bytes).sum();
    assert_eq!(pool.usage()[MemoryCategory::Indexes as usize].1 - before, held);
    if Domain::of(&block, 0).is_none() || block.scheme(0) == Scheme::Single {
        assert_eq!(held, 0, "nothing is kept for {:?}", block.scheme(0));
        return;
    }
    let by_code = by_code(&block, &values);
    assert!(by_code.is_sorted_by(|a, b| a.1 < b.1), "codes are in the order of values");
    let pick = |random: &mut Random| {
        let some = values[random.below(rows as u64) as usize];
        let near = [-1, 0, 0, 0, 1][random.below(5) as usize];
        some.unwrap_or(0).saturating_add(near)
    };
    for _ in 0..3 {
        let (a, b, c) = (pick(random), pick(random), pick(random));
        let (lo, hi) = (a.min(b), a.max(b));
        let tests: [&dyn Fn(i64) -> bool; 9] = [
            &|v| v == a,
            &|v| v != a,
            &|v| v < a,
            &|v| v <= a,
            &|v| v > a,
            &|v| v >= a,
            &|v| lo <= v && v <= hi,
            &|v| v == a || v == b || v == c,
            &|_| false,
        ];
        for (number, test) in tests.iter().enumerate() {
            let is_found = |row: &u32| values[*row as usize].is_some_and(test);
            let expected: Vec<u32> = (0..rows as u32).filter(is_found).collect();
            let accepted = by_code.iter().filter(|(_, value)| test(*value));
            let ranges = runs(accepted.map(|(code, _)| *code));
            if let Some(tree) = built[0].tree() {
                let mut found = vec![0; bitmap_words(rows)];
                tree.find(&ranges, &mut found);
                assert_eq!(rows_of(&found), expected, "test {number}, tree of {bits} bits");
                assert_eq!(tree.count(&ranges), expected.len());
            }
            for woven in built.iter().filter_map(SubBlock::weave) {
                let kept = |row: &usize| row % 3 != number % 3;
                let mut keep = vec![0u64; bitmap_words(rows)];
                (0..rows).filter(kept).for_each(|row| keep[row / 64] |= 1 << (row % 64));
                woven.find(&ranges, &mut keep);
                let expected = expected.iter().copied().filter(|row| kept(&(*row as usize)));
                let expected: Vec<u32> = expected.collect();
                assert_eq!(rows_of(&keep), expected, "test {number}, {:?}", woven.form());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn trees_and_woven_codes_find_what_comparisons_find(
        seed: u64,
        rows in prop_oneof![2 => 1usize..40, 3 => 1usize..3_000, 1 => 60_000usize..65_537],
        bits in 1u32..65,
    ) {
        check_block(&mut Random::new(seed), rows, bits);
    }

    #[test]
    fn filters_never_deny_a_value(seed: u64, rows in 1usize..5_000, bits in 8u32..65) {
        let random = &mut Random::new(seed);
        let pool = BufferPool::new(1 << 30);
        let values = numbers(random, rows, bits);
        let block = block_of(&vector(&values), &pool);
        let bits_per_key = 2 + random.below(63) as u32;
        let bloom = build(&block, &spec(SubBlockKind::Bloom { bits_per_key }), &pool);
        let bloom = bloom.expect("fits");
        for value in values.iter().flatten() {
            let key = i128::from(*value);
            prop_assert!(!bloom.excludes(&Test::Keys(KeyTest::Range(key, key))));
            prop_assert!(!bloom.excludes(&Test::Keys(KeyTest::Set(vec![i128::MIN, key]))));
        }
        let range = Test::Keys(KeyTest::Range(0, 1));
        prop_assert!(!bloom.excludes(&range), "a range is not its affair");
        prop_assert!(!bloom.excludes(&Test::IsNull));
    }
}

#[test]
fn a_filter_denies_most_absent_values() {
    let pool = BufferPool::new(1 << 30);
    let random = &mut Random::new(3);
    let values: Vec<Option<i64>> = (0..65_536).map(|_| Some(random.bits() as i64 & !1)).collect();
    let block = block_of(&vector(&values), &pool);
    let mut shares = Vec::new();
    for bits_per_key in [4, 10, 20] {
        let kind = SubBlockKind::Bloom { bits_per_key };
        let bloom = build(&block, &spec(kind), &pool).expect("fits");
        assert_eq!(bloom.entries(&block), 65_536);
        let excludes = |_: &i32| {
            let key = i128::from(random.bits() as i64 | 1);
            !bloom.excludes(&Test::Keys(KeyTest::Range(key, key)))
        };
        shares.push((0..20_000).filter(excludes).count() as f64 / 20_000.0);
    }
    // The design: 25 %, 2 % and 0.2 %, and room for a bad seed.
    let bounds = [0.32, 0.03, 0.004];
    assert!(shares.iter().zip(bounds).all(|(share, bound)| *share < bound), "{shares:?}");
}

#[test]
fn filters_know_texts_however_they_are_held() {
    let pool = BufferPool::new(1 << 30);
    for (rows, what) in [(100, Scheme::Plain), (20_000, Scheme::Compressed)] {
        let mut builder = VectorBuilder::new(PhysicalType::Str);
        let text = |row: usize| {
            format!(
                "order {row:09} is pending among the final deposits that sleep furiously, or so"
            )
        };
        for row in 0..rows {
            let value = if row % 7 == 3 { Value::Null } else { Value::text(&text(row)) };
            builder.push_value(&value);
        }
        let block = block_of(&builder.finish(), &pool);
        assert_eq!(block.scheme(0), what);
        let kind = SubBlockKind::Bloom { bits_per_key: 12 };
        let bloom = build(&block, &spec(kind), &pool).expect("fits");
        let equal = |text: &str| {
            use std::ops::Bound::Included;
            let text: Arc<[u8]> = text.as_bytes().into();
            Test::Texts(TextTest::Range(Included(Arc::clone(&text)), Included(text)))
        };
        assert!(
            (0..rows).filter(|row| row % 7 != 3).all(|row| !bloom.excludes(&equal(&text(row))))
        );
        let absent = (rows..rows + 1_000).filter(|&row| bloom.excludes(&equal(&text(row)))).count();
        assert!(absent > 900, "{absent} of 1000 are known to be absent");
        let set = Test::Texts(TextTest::Set(vec![b"a"[..].into(), text(0).as_bytes().into()]));
        assert!(!bloom.excludes(&set));
    }
}

#[test]
fn what_cannot_be_indexed_has_nothing_and_memory_is_given_back() {
    let pool = BufferPool::new(1 << 30);
    let same = block_of(&vector(&[Some(7); 100]), &pool);
    let none = block_of(&vector(&[None; 100]), &pool);
    let few = block_of(&vector(&[Some(1), Some(1 << 60), Some(2)].repeat(1_000)), &pool);
    assert_eq!(few.scheme(0), Scheme::Dictionary);
    let held = pool.total();
    let bloom = SubBlockKind::Bloom { bits_per_key: 10 };
    for kind in [SubBlockKind::Csb, SubBlockKind::BitWeaving(WeaveForm::Vertical), bloom] {
        for block in [&same, &none] {
            let built = build(block, &spec(kind), &pool).expect("fits");
            assert_eq!((built.bytes(), built.entries(block)), (0, 0));
        }
    }
    let built = build(&few, &spec(bloom), &pool).expect("fits");
    assert_eq!(built.bytes(), 0, "the dictionary knows");
    let built = build(&few, &spec(SubBlockKind::Csb), &pool).expect("fits");
    assert_eq!(built.entries(&few), 3_000);
    assert!(pool.total() > held);
    drop(built);
    assert_eq!(pool.total(), held);
    let small = BufferPool::new(1_000);
    let error = build(&few, &spec(SubBlockKind::Csb), &small).expect_err("too large");
    assert_eq!(error.state(), types::SqlState::OUT_OF_MEMORY);
}

#[test]
fn a_tree_takes_few_bytes_an_entry() {
    let pool = BufferPool::new(1 << 30);
    for (bits, bytes_max) in [(8, 4.0), (16, 5.0), (32, 8.0), (64, 15.0)] {
        let random = &mut Random::new(bits);
        let values: Vec<Option<i64>> =
            (0..65_536).map(|_| Some(random.bits() as i64 >> (64 - bits))).collect();
        let block = block_of(&vector(&values), &pool);
        let tree = build(&block, &spec(SubBlockKind::Csb), &pool).expect("fits");
        let bytes = tree.bytes() as f64 / 65_536.0;
        assert!(bytes < bytes_max, "{bytes} bytes an entry of {bits} bits");
    }
}
