//! Columns of data from a seed, for benches and load tests.

use std::ops::Range;

use crate::Random;

/// `count` whole numbers spread evenly over `range`.
///
/// # Panics
/// If `range` is empty, or a number of it does not fit `T`.
pub fn uniform<T: TryFrom<i64>>(seed: u64, count: usize, range: Range<i64>) -> Vec<T> {
    let mut random = Random::new(seed);
    (0..count).map(|_| fitting(random.within(range.clone()))).collect()
}

/// `count` floating-point numbers spread evenly over `range`.
pub fn uniform_f64(seed: u64, count: usize, range: Range<f64>) -> Vec<f64> {
    let mut random = Random::new(seed);
    let width = range.end - range.start;
    (0..count).map(|_| range.start + random.unit() * width).collect()
}

/// `count` numbers from 0 to `distinct` - 1 where small ones are frequent: number `k` is drawn
/// about in proportion to `1 / (k + 1)`, Zipf's law with exponent 1.
///
/// # Panics
/// If `distinct` is 0, or a number does not fit `T`.
pub fn skewed<T: TryFrom<i64>>(seed: u64, count: usize, distinct: u32) -> Vec<T> {
    assert!(distinct > 0, "at least one value is needed");
    let mut random = Random::new(seed);
    let top = f64::from(distinct) + 1.0;
    // The inverse of the distribution function of 1/x on [1, distinct + 1).
    (0..count)
        .map(|_| fitting((top.powf(random.unit()) as i64 - 1).min(i64::from(distinct) - 1)))
        .collect()
}

/// `count` scaled decimals of up to `digits` digits, half of them negative. Every magnitude is
/// equally frequent, so that short and long numbers both occur.
///
/// # Panics
/// If `digits` is 0 or above 38.
pub fn decimals(seed: u64, count: usize, digits: u32) -> Vec<i128> {
    assert!((1..=38).contains(&digits), "a decimal has 1 to 38 digits");
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| {
            let bound = 10i128.pow(1 + random.below(u64::from(digits)) as u32);
            let wide = i128::from(random.bits()) << 64 | i128::from(random.bits());
            wide % bound
        })
        .collect()
}

/// `count` strings of `bytes` bytes each, drawn from `distinct` different ones. Lengths below 13
/// stay inline in a string view, longer ones do not; the empty string occurs when 0 is in range.
///
/// # Panics
/// If `bytes` is empty or `distinct` is 0.
pub fn words(seed: u64, count: usize, bytes: Range<usize>, distinct: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| {
            let mut letters = Random::new(seed ^ random.below(distinct).wrapping_mul(0x1_0001));
            let length = letters.within(bytes.start as i64..bytes.end as i64);
            (0..length).map(|_| char::from(b'a' + letters.below(26) as u8)).collect()
        })
        .collect()
}

/// The same values, with `percent` of 100 replaced by NULL.
pub fn with_nulls<T>(seed: u64, values: Vec<T>, percent: u32) -> Vec<Option<T>> {
    let mut random = Random::new(seed);
    values.into_iter().map(|value| (!random.chance(percent)).then_some(value)).collect()
}

fn fitting<T: TryFrom<i64>>(value: i64) -> T {
    match T::try_from(value) {
        Ok(fitted) => fitted,
        Err(_) => panic!("{value} does not fit the type asked for"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_data() {
        assert_eq!(uniform::<i32>(7, 100, -5..5), uniform::<i32>(7, 100, -5..5));
        assert_eq!(words(7, 100, 0..20, 10), words(7, 100, 0..20, 10));
        assert_ne!(uniform::<i64>(7, 100, 0..1000), uniform::<i64>(8, 100, 0..1000));
    }

    #[test]
    fn skew_prefers_small_numbers_and_stays_in_range() {
        let drawn = skewed::<u16>(3, 10_000, 100);
        assert!(drawn.iter().all(|&value| value < 100));
        let zeros = drawn.iter().filter(|&&value| value == 0).count();
        assert!((1200..1900).contains(&zeros), "{zeros} of 10,000 are 0");
    }

    #[test]
    fn decimals_reach_long_and_short_numbers_of_both_signs() {
        let drawn = decimals(3, 1000, 38);
        assert!(drawn.iter().any(|value| value.abs() < 100));
        assert!(drawn.iter().any(|value| *value > 10i128.pow(36)));
        assert!(drawn.iter().any(|value| *value < -10i128.pow(36)));
        assert!(drawn.iter().all(|value| value.abs() < 10i128.pow(38)));
    }

    #[test]
    fn nulls_are_about_as_frequent_as_asked() {
        let column = with_nulls(5, uniform::<i64>(5, 10_000, 0..3), 20);
        let nulls = column.iter().filter(|value| value.is_none()).count();
        assert!((1800..2200).contains(&nulls), "{nulls} of 10,000 are NULL");
    }
}
