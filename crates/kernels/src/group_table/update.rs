//! Loops over one batch that update one state per group.
//!
//! `groups[i]` is the group of row `i`. Every function panics when a group is past the end of the
//! states. With few groups, sums are kept in registers and rows masked by group: a store to a state
//! that the next row loads again costs about five cycles, a masked add a fraction of one.

use crate::level::flavours;
use crate::loops::max_u32;

/// Groups up to which sums are kept in registers.
const FEW: usize = 8;

/// Panics unless every group has a state.
#[inline]
fn check<T>(states: &[T], groups: &[u32]) {
    assert!(groups.is_empty() || (max_u32(groups) as usize) < states.len(), "group past the end");
}

flavours! {
    /// A number not below the magnitude of every value, below twice the largest.
    pub fn magnitude[](values: &[i64]) -> u64 {
        let mut bits = 0u64;
        for &value in values {
            bits |= (value ^ (value >> 63)) as u64;
        }
        // `!value` is one less than the magnitude of a negative value.
        bits.saturating_add(1)
    }

    fn sum_all[V: Copy + Into<i64>](values: &[V]) -> i64 {
        let mut sum = 0i64;
        for &value in values {
            let value: i64 = value.into();
            sum = sum.wrapping_add(value);
        }
        sum
    }

    /// The sums of the upper and of the lower halves: of fewer than 2^32 values they do not wrap.
    fn sum_halves[](values: &[i64]) -> (i64, i64) {
        let (mut high, mut low) = (0i64, 0i64);
        for &value in values {
            high = high.wrapping_add(value >> 32);
            low = low.wrapping_add(value & 0xffff_ffff);
        }
        (high, low)
    }

    fn best_of[T: Copy, F: Fn(T, T) -> bool](first: T, values: &[T], better: &F) -> T {
        let mut best = first;
        for &value in values {
            best = if better(value, best) { value } else { best };
        }
        best
    }

    fn sum_float[](values: &[f64]) -> f64 {
        // Eight sums, so that additions need not wait for each other.
        let mut sums = [0.0f64; 8];
        let (chunks, rest) = values.as_chunks::<8>();
        for chunk in chunks {
            for lane in 0..8 {
                sums[lane] += chunk[lane];
            }
        }
        sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
    }

    fn sum_masked_4[V: Copy + Into<i64>](sums: &mut [i64; FEW], groups: &[u32], values: &[V]) {
        let mut local = [0i64; 4];
        for (&group, &value) in groups.iter().zip(values) {
            let value: i64 = value.into();
            for lane in 0..4 {
                let added = if group == lane as u32 { value } else { 0 };
                local[lane] = local[lane].wrapping_add(added);
            }
        }
        sums[..4].copy_from_slice(&local);
    }

    fn sum_masked_8[V: Copy + Into<i64>](sums: &mut [i64; FEW], groups: &[u32], values: &[V]) {
        let mut local = [0i64; 8];
        for (&group, &value) in groups.iter().zip(values) {
            let value: i64 = value.into();
            for lane in 0..8 {
                let added = if group == lane as u32 { value } else { 0 };
                local[lane] = local[lane].wrapping_add(added);
            }
        }
        sums.copy_from_slice(&local);
    }

    fn count_masked[](counts: &mut [u32; FEW], groups: &[u32]) {
        let mut local = [0u32; FEW];
        for &group in groups {
            for lane in 0..FEW {
                local[lane] += u32::from(group == lane as u32);
            }
        }
        counts.copy_from_slice(&local);
    }
}

/// Adds each value to its group's sum; wraps.
pub fn add<V: Copy + Into<i64>>(sums: &mut [i64], groups: &[u32], values: &[V]) {
    assert_eq!(groups.len(), values.len(), "a group per value");
    match sums.len() {
        0 => assert!(groups.is_empty(), "group past the end"),
        1 => {
            check(sums, groups);
            sums[0] = sums[0].wrapping_add(sum_all(values));
        }
        count @ 2..=FEW => {
            check(sums, groups);
            let mut more = [0i64; FEW];
            if count <= 4 {
                sum_masked_4(&mut more, groups, values);
            } else {
                sum_masked_8(&mut more, groups, values);
            }
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        }
        _ => add_scattered(sums, groups, values),
    }
}

fn add_scattered<V: Copy + Into<i64>>(sums: &mut [i64], groups: &[u32], values: &[V]) {
    check(sums, groups);
    for (&group, &value) in groups.iter().zip(values) {
        // SAFETY: `check` found every group below the length.
        let sum = unsafe { sums.get_unchecked_mut(group as usize) };
        *sum = sum.wrapping_add(value.into());
    }
}

/// Adds each value to its group's sum; true when a sum overflowed.
pub fn add_wide<V: Copy + Into<i128>>(sums: &mut [i128], groups: &[u32], values: &[V]) -> bool {
    assert_eq!(groups.len(), values.len(), "a group per value");
    check(sums, groups);
    let mut failed = false;
    for (&group, &value) in groups.iter().zip(values) {
        // SAFETY: `check` found every group below the length.
        let sum = unsafe { sums.get_unchecked_mut(group as usize) };
        let (next, overflow) = sum.overflowing_add(value.into());
        *sum = next;
        failed |= overflow;
    }
    failed
}

/// Adds each value to its group's sum; true when a sum overflowed.
pub fn add_words(sums: &mut [i128], groups: &[u32], values: &[i64]) -> bool {
    // 2^31 lower halves are below 2^63.
    let ([sum], true) = (&mut *sums, values.len() < 1 << 31) else {
        return add_wide(sums, groups, values);
    };
    assert_eq!(groups.len(), values.len(), "a group per value");
    check(std::slice::from_ref(sum), groups);
    let (high, low) = sum_halves(values);
    let (next, overflow) = sum.overflowing_add((i128::from(high) << 32) + i128::from(low));
    *sum = next;
    overflow
}

/// Adds each value to its group's sum.
pub fn add_float(sums: &mut [f64], groups: &[u32], values: &[f64]) {
    assert_eq!(groups.len(), values.len(), "a group per value");
    check(sums, groups);
    if let [sum] = sums {
        *sum += sum_float(values);
        return;
    }
    for (&group, &value) in groups.iter().zip(values) {
        // SAFETY: `check` found every group below the length.
        unsafe { *sums.get_unchecked_mut(group as usize) += value };
    }
}

/// Adds 1 to the count of each row's group.
pub fn count(counts: &mut [i64], groups: &[u32]) {
    check(counts, groups);
    match counts.len() {
        0 => {}
        1 => counts[0] += groups.len() as i64,
        2..=FEW => {
            let mut more = [0u32; FEW];
            count_masked(&mut more, groups);
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += i64::from(more));
        }
        _ => {
            for &group in groups {
                // SAFETY: `check` found every group below the length.
                unsafe { *counts.get_unchecked_mut(group as usize) += 1 };
            }
        }
    }
}

/// Sets the flag of each row's group to 1.
pub fn mark(flags: &mut [u8], groups: &[u32]) {
    check(flags, groups);
    for &group in groups {
        // SAFETY: `check` found every group below the length.
        unsafe { *flags.get_unchecked_mut(group as usize) = 1 };
    }
}

/// Keeps for each group the value that is `better` than all others of it; `seen` is 1 for groups
/// that have a value, others have an arbitrary one.
pub fn keep_best<T: Copy>(
    best: &mut [T],
    seen: &mut [u8],
    groups: &[u32],
    values: &[T],
    better: impl Fn(T, T) -> bool,
) {
    assert_eq!(groups.len(), values.len(), "a group per value");
    assert_eq!(best.len(), seen.len(), "a flag per state");
    check(best, groups);
    if let ([best], [seen], [first, ..]) = (&mut *best, &mut *seen, values) {
        let start = if *seen == 0 { *first } else { *best };
        (*best, *seen) = (best_of(start, values, &better), 1);
        return;
    }
    for (&group, &value) in groups.iter().zip(values) {
        // SAFETY: `check` found every group below the length, which is that of both.
        let (best, seen) = unsafe {
            (best.get_unchecked_mut(group as usize), seen.get_unchecked_mut(group as usize))
        };
        if *seen == 0 || better(value, *best) {
            *best = value;
        }
        *seen = 1;
    }
}

/// The group number of each key in `min..=max`: its distance from `min`. False when one is outside;
/// then `groups` is unchanged.
pub fn dense_groups<V: Copy + Into<i64>>(
    keys: &[V],
    min: i64,
    max: i64,
    groups: &mut Vec<u32>,
) -> bool {
    let start = groups.len();
    let range = max.wrapping_sub(min) as u64;
    let outside = crate::loops::map_checked(keys, groups, |key| {
        let distance = key.into().wrapping_sub(min) as u64;
        (distance as u32, distance > range)
    });
    if outside {
        groups.truncate(start);
    }
    !outside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::at_every_level;

    #[test]
    fn loops_equal_their_twins_at_every_level_and_group_count() {
        at_every_level(|level| {
            for count in [1usize, 2, 3, 4, 5, 8, 9, 300] {
                let mut random = testkit::Random::new(count as u64);
                let rows = 1000;
                let groups: Vec<u32> =
                    (0..rows).map(|_| random.below(count as u64) as u32).collect();
                let values: Vec<i64> = (0..rows).map(|_| random.bits() as i64 >> 20).collect();
                let mut twin = vec![0i64; count];
                let mut counts = vec![0i64; count];
                let mut least = vec![i64::MAX; count];
                for (&g, &v) in groups.iter().zip(&values) {
                    twin[g as usize] += v;
                    counts[g as usize] += 1;
                    least[g as usize] = least[g as usize].min(v);
                }
                let mut sums = vec![0i64; count];
                add(&mut sums, &groups, &values);
                assert_eq!(sums, twin, "{level:?} {count}");
                let mut wide = vec![0i128; count];
                assert!(!add_wide(&mut wide, &groups, &values));
                assert!(wide.iter().zip(&twin).all(|(&w, &t)| w == i128::from(t)));
                let mut words = vec![0i128; count];
                assert!(!add_words(&mut words, &groups, &values));
                assert_eq!(words, wide, "{level:?} {count}");
                let mut got = vec![0i64; count];
                super::count(&mut got, &groups);
                assert_eq!(got, counts);
                let (mut best, mut seen) = (vec![0i64; count], vec![0u8; count]);
                keep_best(&mut best, &mut seen, &groups, &values, |a, b| a < b);
                assert!((0..count).all(|g| seen[g] == 0 || best[g] == least[g]));
                assert!((0..count).all(|g| i64::from(seen[g]) == counts[g].min(1)));
                assert!(values.iter().all(|v| v.unsigned_abs() <= magnitude(&values)));
                let floats: Vec<f64> = values.iter().map(|&v| v as f64).collect();
                let mut sums = vec![0.0f64; count];
                add_float(&mut sums, &groups, &floats);
                assert!(sums.iter().zip(&twin).all(|(s, &t)| (s - t as f64).abs() < 1e3));
            }
        });
    }

    #[test]
    fn the_sum_of_one_group_is_exact() {
        at_every_level(|level| {
            for values in [vec![], vec![i64::MIN; 2049], vec![i64::MAX; 77], vec![-1, 1, i64::MIN]]
            {
                let twin: i128 = values.iter().map(|&value| i128::from(value)).sum();
                let mut sums = [5i128];
                assert!(!add_words(&mut sums, &vec![0; values.len()], &values), "{level:?}");
                assert_eq!(sums, [5 + twin], "{level:?}");
            }
            assert!(add_words(&mut [i128::MAX], &[0], &[1]));
            assert!(add_words(&mut [i128::MIN], &[0], &[-1]));
            let (mut best, mut seen) = ([7i32], [0]);
            keep_best(&mut best, &mut seen, &[], &[], |a, b| a < b);
            assert_eq!(seen, [0], "{level:?}");
            keep_best(&mut best, &mut seen, &[0, 0], &[9, 8], |a, b| a < b);
            keep_best(&mut best, &mut seen, &[0], &[12], |a, b| a < b);
            assert_eq!((best, seen), ([8], [1]), "{level:?}");
        });
    }

    #[test]
    fn wide_sums_tell_of_overflow_and_dense_keys_of_strays() {
        let mut sums = vec![i128::MAX - 1, 0];
        assert!(!add_wide(&mut sums, &[0, 1], &[1i64, 5]));
        assert!(add_wide(&mut sums, &[0], &[1i64]));
        let mut groups = vec![9];
        assert!(dense_groups(&[5i32, 7], 5, 7, &mut groups));
        assert_eq!(groups, [9, 0, 2]);
        assert!(!dense_groups(&[5i64, 8], 5, 7, &mut groups));
        assert!(!dense_groups(&[i64::MIN], 5, 7, &mut groups));
        assert_eq!(groups, [9, 0, 2]);
    }

    #[test]
    #[should_panic(expected = "group past the end")]
    fn groups_past_the_end_are_refused() {
        add(&mut [0; 9], &[9], &[1i64]);
    }
}
