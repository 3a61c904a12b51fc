//! Every flavour against the scalar twin, with ties and extremes.

use proptest::collection::vec;
use proptest::prelude::*;
use testkit::values;

use super::*;
use crate::level::{Level, at_every_level, level};

fn positions_of(picks: &[usize], rows: usize) -> Vec<u32> {
    if rows == 0 {
        return Vec::new();
    }
    picks.iter().map(|p| (p % rows) as u32).collect()
}

macro_rules! range_test {
    ($test:ident, $range:ident, $refine:ident, $value:ty) => {
        proptest! {
            #[test]
            fn $test(
                rows in vec(values::<$value>(), 0..300),
                lo in values::<$value>(),
                hi in values::<$value>(),
                base in prop_oneof![Just(0), 0u32..1000, Just(u32::MAX - 301)],
                picks in vec(any::<usize>(), 0..100),
            ) {
                let mut expected = vec![7];
                if lo <= hi {
                    scalar::$range(&rows, lo, hi, base, &mut expected);
                }
                let positions = positions_of(&picks, rows.len());
                let mut kept = positions.clone();
                kept.retain(|&p| (lo..=hi).contains(&rows[p as usize]));
                at_every_level(|level| {
                    let mut out = vec![7];
                    $range(&rows, lo, hi, base, &mut out);
                    assert_eq!(out, expected, "{level:?}");
                    let mut refined = positions.clone();
                    $refine(&rows, lo, hi, &mut refined);
                    assert_eq!(refined, kept, "{level:?}");
                });
            }
        }
    };
}

range_test!(u8_ranges_equal_their_twin, range_u8, refine_u8, u8);
range_test!(u16_ranges_equal_their_twin, range_u16, refine_u16, u16);
range_test!(u32_ranges_equal_their_twin, range_u32, refine_u32, u32);
range_test!(i32_ranges_equal_their_twin, range_i32, refine_i32, i32);
range_test!(i64_ranges_equal_their_twin, range_i64, refine_i64, i64);

proptest! {
    #[test]
    fn rows_of_bits_equal_their_twin(
        words in vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), Just(1 << 63)], 0..20),
        base in prop_oneof![Just(0), 0u32..1000, Just(u32::MAX - 64 * 20)],
    ) {
        let mut expected = vec![7];
        scalar::bit_rows(&words, base, &mut expected);
        at_every_level(|level| {
            let mut out = vec![7];
            bit_rows(&words, base, &mut out);
            assert_eq!(out, expected, "{level:?}");
        });
    }
}

macro_rules! bitset_test {
    ($test:ident, $bitset:ident, $refine:ident, $code:ty) => {
        proptest! {
            #[test]
            fn $test(
                rows in vec(values::<$code>(), 0..300),
                bits in vec(any::<bool>(), 0..400),
                picks in vec(any::<usize>(), 0..100),
            ) {
                let bitmap = Bitmap::from_fn(bits.len(), |i| bits[i]);
                let hit = |code: $code| bits.get(code as usize).copied().unwrap_or(false);
                let expected: Vec<u32> =
                    (0..rows.len() as u32).filter(|&i| hit(rows[i as usize])).collect();
                let positions = positions_of(&picks, rows.len());
                let mut kept = positions.clone();
                kept.retain(|&p| hit(rows[p as usize]));
                at_every_level(|level| {
                    let mut out = Vec::new();
                    $bitset(&rows, &bitmap, 0, &mut out);
                    assert_eq!(out, expected, "{level:?}");
                    let mut refined = positions.clone();
                    $refine(&rows, &bitmap, &mut refined);
                    assert_eq!(refined, kept, "{level:?}");
                });
            }
        }
    };
}

bitset_test!(u8_bitsets_equal_brute_force, bitset_u8, refine_bitset_u8, u8);
bitset_test!(u16_bitsets_equal_brute_force, bitset_u16, refine_bitset_u16, u16);
bitset_test!(u32_bitsets_equal_brute_force, bitset_u32, refine_bitset_u32, u32);

proptest! {
    #[test]
    fn bool_rows_equal_brute_force(
        rows in vec((0u8..=1, any::<bool>()), 0..300),
        with_validity in any::<bool>(),
        picks in vec(any::<usize>(), 0..100),
    ) {
        let values: Vec<u8> = rows.iter().map(|r| r.0).collect();
        let validity = with_validity.then(|| Bitmap::from_fn(rows.len(), |i| rows[i].1));
        let hit = |i: u32| {
            values[i as usize] != 0 && validity.as_ref().is_none_or(|v| v.get(i as usize))
        };
        let expected: Vec<u32> = (0..rows.len() as u32).filter(|&i| hit(i)).collect();
        let positions = positions_of(&picks, rows.len());
        let mut kept = positions.clone();
        kept.retain(|&p| hit(p));
        at_every_level(|_| {
            let mut out = Vec::new();
            bool_rows(&values, validity.as_ref(), 0, &mut out);
            assert_eq!(out, expected);
            let mut refined = positions.clone();
            refine_bool(&values, validity.as_ref(), &mut refined);
            assert_eq!(refined, kept);
        });
    }
}

/// Machines without AVX-512 pass, too, and say what they leave to others.
#[test]
fn this_machine_tests_every_flavour_it_runs() {
    let mut levels = Vec::new();
    at_every_level(|level| levels.push(level));
    assert_eq!(levels.first(), Some(&Level::Scalar));
    assert_eq!(levels.last(), Some(&level()), "what queries run with");
    assert!(levels.contains(&Level::Avx2) || cfg!(miri), "half of the kernels are not tested here");
    if !levels.contains(&Level::Avx512) {
        eprintln!("this machine has no AVX-512: kernels for it are not tested here");
    }
}

#[test]
fn positions_past_the_end_are_refused() {
    at_every_level(|level| {
        for count in [1usize, 40] {
            let attempt = std::panic::catch_unwind(|| {
                let mut positions = vec![0u32; count];
                positions[count - 1] = 10;
                refine_u8(&[1; 10], 0, 9, &mut positions);
            });
            assert!(attempt.is_err(), "{level:?}");
        }
    });
}

#[test]
fn compose_picks_positions_by_number() {
    let mut positions = vec![3, 5, 9, 11];
    compose(&mut positions, &[1, 3]);
    assert_eq!(positions, [5, 11]);
    compose(&mut positions, &[]);
    assert_eq!(positions, [0u32; 0]);
}
