//! A small random generator whose sequence never changes.
//!
//! Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64).

use std::ops::Range;

/// A stream of pseudo-random numbers, fully determined by its seed.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator that starts at `seed`; equal seeds give equal streams.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits, all equally likely.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound` - 1. The bias is below 2^-64 * `bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below 0");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number of `range`.
    ///
    /// # Panics
    /// If `range` is empty.
    pub fn within(&mut self, range: Range<i64>) -> i64 {
        let width = range.end.wrapping_sub(range.start) as u64;
        assert!(range.start < range.end, "an empty range holds no number");
        range.start.wrapping_add(self.below(width) as i64)
    }

    /// A number from 0, inclusive, to 1, exclusive.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_sequence_never_changes() {
        let mut random = Random::new(42);
        let drawn: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(drawn, [13679457532755275413, 2949826092126892291, 5139283748462763858]);
    }

    #[test]
    fn ranges_are_respected_at_the_extremes() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            assert!((-3..4).contains(&random.within(-3..4)));
            assert!(random.within(i64::MIN..i64::MAX) < i64::MAX);
            assert!((0.0..1.0).contains(&random.unit()));
        }
    }
}
