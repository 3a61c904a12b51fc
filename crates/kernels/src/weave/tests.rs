//! Both forms against the comparison of single codes, for every width and operator, with ties and
//! extremes.

use proptest::prelude::*;
use testkit::Random;

use super::*;
use crate::level::at_every_level;

fn code(random: &mut Random, last: u32) -> u32 {
    match random.below(6) {
        0 => 0,
        1 => last,
        2 => last / 2,
        3 => last - last.min(1),
        _ => (random.bits() as u32) & last,
    }
}

fn compares(a: u32, b: u32) -> [CodeCompare; 8] {
    use CodeCompare::{Between, Eq, Ge, Gt, Le, Lt, Ne};
    [Eq(a), Ne(a), Lt(a), Le(a), Gt(a), Ge(a), Between(a.min(b), a.max(b)), Between(b, a)]
}

/// A filter of `rows` rows: all, some, or only few of them.
fn filter(random: &mut Random, rows: usize) -> Vec<u64> {
    let words = rows.next_multiple_of(vertical::SEGMENT_ROWS) / 64;
    let density = random.below(3);
    let word = |w: usize, random: &mut Random| {
        let bits = match density {
            0 => u64::MAX,
            1 => random.bits(),
            _ if random.chance(90) => 0,
            _ => 1 << random.below(64),
        };
        match rows.saturating_sub(w * 64) {
            0 => 0,
            left if left < 64 => bits & ((1 << left) - 1),
            _ => bits,
        }
    };
    (0..words).map(|w| word(w, random)).collect()
}

fn check(random: &mut Random, bits: u32, rows: usize) {
    let last = last_code(bits);
    let codes: Vec<u32> = (0..rows).map(|_| code(random, last)).collect();
    let mut planes = vec![0; vertical::words(rows, bits)];
    vertical::pack(&codes, bits, &mut planes);
    let mut fields = vec![0; horizontal::words(rows, bits)];
    horizontal::pack(&codes, bits, &mut fields);
    let (a, b) = (code(random, last), code(random, last));
    // Constants that no code reaches, too.
    let outside = compares(random.bits() as u32, last.saturating_add(1));
    for compare in compares(a, b).into_iter().chain(outside) {
        let before = filter(random, rows);
        let mut expected = before.clone();
        for (row, &code) in codes.iter().enumerate().filter(|(_, c)| !compare.accepts(**c)) {
            expected[row / 64] &= !(1 << (row % 64));
            debug_assert!(!compare.accepts(code));
        }
        at_every_level(|level| {
            let mut keep = before.clone();
            let read = vertical::find(&planes, bits, compare, &mut keep);
            assert_eq!(keep, expected, "{compare:?} of {bits} bits, vertical, {level:?}");
            assert!(read <= planes.len() / 8);
            let mut keep = before.clone();
            horizontal::find(&fields, bits, compare, &mut keep);
            assert_eq!(keep, expected, "{compare:?} of {bits} bits, horizontal, {level:?}");
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn both_forms_equal_single_comparisons(seed: u64, rows in 0usize..2_000) {
        for bits in 1..=CODE_BITS_MAX {
            check(&mut Random::new(seed ^ u64::from(bits)), bits, rows);
        }
    }
}

#[test]
fn a_decided_segment_is_not_read_on() {
    let random = &mut Random::new(11);
    let rows = 64 * vertical::SEGMENT_ROWS;
    let codes: Vec<u32> = (0..rows).map(|_| random.bits() as u32).collect();
    let mut planes = vec![0; vertical::words(rows, 32)];
    vertical::pack(&codes, 32, &mut planes);
    let all = vec![u64::MAX; rows / 64];
    let mut keep = all.clone();
    let read = vertical::find(&planes, 32, CodeCompare::Lt(1 << 30), &mut keep);
    assert!(read <= planes.len() / 8 / 2, "{read} planes of {}", planes.len() / 8);
    // A filter that leaves one row in 512 decides earlier, one that leaves none at once.
    let mut keep: Vec<u64> = (0..rows / 64).map(|w| u64::from(w % 8 == 0)).collect();
    let filtered = vertical::find(&planes, 32, CodeCompare::Lt(1 << 30), &mut keep);
    assert!(filtered < read, "{filtered} planes with a filter, {read} without");
    let mut none = vec![0; rows / 64];
    assert_eq!(vertical::find(&planes, 32, CodeCompare::Lt(1 << 30), &mut none), 0);
}

#[test]
fn bits_of_codes() {
    let bits = [0, 1, 2, 3, 255, 256, 65_535, 65_536, u32::MAX].map(code_bits);
    assert_eq!(bits, [1, 1, 2, 2, 8, 9, 16, 17, 32]);
}
