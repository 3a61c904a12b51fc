//! Counts of times in logarithmic buckets, each at most a 64th wide of its values.

/// Buckets a power of two is divided into.
const PER_POWER: u64 = 64;
/// The first powers share buckets of one unit.
const LINEAR_BITS: u32 = 7;

/// Times in nanoseconds; 30 KiB whatever it holds.
#[derive(Clone)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; bucket(u64::MAX) + 1], count: 0, max: 0 }
    }
}

/// The bucket of `value`.
fn bucket(value: u64) -> usize {
    if value < 2 * PER_POWER {
        return value as usize;
    }
    let shift = u64::BITS - value.leading_zeros() - LINEAR_BITS;
    // The top 7 bits are 64 to 127.
    (u64::from(shift) * PER_POWER + (value >> shift)) as usize
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * PER_POWER {
        return bucket;
    }
    let shift = bucket / PER_POWER - 1;
    let top = bucket % PER_POWER + PER_POWER;
    (top << shift) + ((1 << shift) - 1)
}

impl Histogram {
    /// Adds a time.
    pub fn add(&mut self, nanos: u64) {
        self.counts[bucket(nanos)] += 1;
        self.count += 1;
        self.max = self.max.max(nanos);
    }

    /// Adds all times of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// How many times it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest time.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The time that `share` (0 to 1) of all do not exceed; at most a 64th too large, 0 when empty.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper(bucket).min(self.max);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bucket() {
        let mut last = None;
        for power in 0..64 {
            for offset in [0, 1, 2, 5, 60, 61, 62, 63] {
                let value = (1u64 << power) + (((1u64 << power) - 1) / 63 * offset);
                let place = bucket(value);
                assert!(upper(place) >= value);
                assert!(upper(place) - value <= value / 64);
                assert!(place == 0 || upper(place - 1) < value);
                assert!(last.is_none_or(|last| last <= value));
                last = Some(value);
            }
        }
        assert_eq!(upper(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_equal_those_of_sorted_values() {
        let mut random = testkit::Random::new(7);
        let mut values: Vec<u64> = (0..10_000).map(|_| random.bits() >> 30).collect();
        let (mut a, mut b) = (Histogram::default(), Histogram::default());
        for (i, value) in values.iter().enumerate() {
            if i % 3 == 0 { a.add(*value) } else { b.add(*value) }
        }
        a.merge(&b);
        values.sort_unstable();
        assert_eq!((a.count(), a.max()), (10_000, values[9_999]));
        for share in [0.01, 0.5, 0.95, 0.99, 0.999, 1.0] {
            let exact = values[(10_000.0 * share) as usize - 1];
            let found = a.quantile(share);
            assert!(found >= exact && found - exact <= exact / 64, "{share}: {found}, {exact}");
        }
    }
}
