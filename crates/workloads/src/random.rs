//! Pseudo-random numbers that depend on table, row and the count of draws alone.

/// The draws of one row.
pub(crate) struct Draw(u64);

impl Draw {
    /// The draws of row `row` of table number `table`.
    pub(crate) fn new(table: u64, row: u64) -> Self {
        Self::seeded(0, table, row)
    }

    /// The same, other numbers for each `seed`.
    pub(crate) fn seeded(seed: u64, table: u64, row: u64) -> Self {
        let seed = seed.wrapping_mul(0xa076_1d64_78bd_642f);
        let mut draw = Self(seed ^ table << 48 ^ row.wrapping_mul(0xd6e8_feb8_6659_fd93));
        draw.next();
        draw
    }

    /// A splitmix64 step.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `low..=high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = (high - low + 1) as u64;
        low + ((u128::from(self.next()) * u128::from(span)) >> 64) as i64
    }

    /// Uniform in `0..count`, of which there is at least one.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(count)) >> 64) as u64
    }

    /// True in `share` of a hundred cases.
    pub(crate) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    /// A rank in `0..count`, of which there is at least one: the first most often. Like Zipf's
    /// law, in steps: as many draws are in 1..3 as in 3..7, and as in 7..15.
    pub(crate) fn ranked(&mut self, count: u64) -> u64 {
        let levels = u64::from(u64::BITS - count.leading_zeros());
        let low = 1 << self.below(levels);
        low + self.below(low.min(count + 1 - low)) - 1
    }

    /// One of `words`.
    pub(crate) fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.between(0, words.len() as i64 - 1) as usize]
    }

    /// 10 to 25 letters and digits.
    pub(crate) fn address(&mut self) -> String {
        const LETTERS: &[u8; 64] =
            b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ, ";
        let length = self.between(10, 25);
        // Ends in a letter: trailing blanks would not survive every system's import.
        let letter =
            |i: i64| LETTERS[self.between(0, if i + 1 < length { 63 } else { 61 }) as usize];
        (0..length).map(letter).map(char::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_range_and_the_first_is_the_most_frequent() {
        let mut draw = Draw::new(1, 1);
        for count in [1, 2, 3, 7, 8, 1000] {
            let mut times = vec![0; count as usize];
            (0..20_000).for_each(|_| times[draw.ranked(count) as usize] += 1);
            // A level of ranks has twice as many as the one before, and is drawn as often.
            let levels = f64::from(u64::BITS - count.leading_zeros());
            let share = f64::from(times[0]) / 20_000.0;
            assert!((share * levels - 1.0).abs() < 0.1, "{count}: {share}");
            assert!(times.iter().all(|&n| n <= times[0] + 600), "{count}");
        }
    }
}
