//! Which integer keys a build side has, for scans of the probe side.
//!
//! ```text
//! exact:   bit (key - min)                               when a bit per possible key is little
//! bloom:   blocks[top bits of the hash] has 3 bits set  otherwise: 16 bits a key, one word a test
//! ```
//! Source: Patel 2018, sections 5.2 and 5.3 (exact filters, LIP); blocks of one word after Lang et
//! al.
//! 2019, "Performance-optimal filtering" (register-blocked Bloom filter).

use crate::hash::mix;
use crate::level::flavours;

use super::key_bits::{IntegerKey, KeyBits};

/// Bits of a Bloom filter per key: about 1 % of absent keys pass.
const BLOOM_BITS_PER_KEY: usize = 16;
/// An exact set may take this many bits per key, or [`EXACT_BITS_MIN`] in all.
const EXACT_BITS_PER_KEY: u64 = 32;
const EXACT_BITS_MIN: u64 = 1 << 20;

/// A set of integer keys that may contain more than was put in, never less.
#[derive(Debug)]
pub struct KeySet {
    min: i64,
    max: i64,
    bits: Bits,
}

#[derive(Debug)]
enum Bits {
    Exact(Vec<u64>),
    Bloom { blocks: Vec<u64>, shift: u32 },
}

#[inline(always)]
fn block_bits(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
}

impl KeySet {
    /// The set of `keys`; none when there are none.
    pub fn new(keys: impl ExactSizeIterator<Item = i64> + Clone) -> Option<Self> {
        let count = keys.len();
        let min = keys.clone().min()?;
        let max = keys.clone().max()?;
        let range = (max.wrapping_sub(min) as u64).saturating_add(1);
        let exact = range <= EXACT_BITS_MIN.max(count as u64 * EXACT_BITS_PER_KEY);
        let bits = if exact {
            let mut words = vec![0u64; range.div_ceil(64) as usize];
            for key in keys {
                let bit = key.wrapping_sub(min) as u64;
                words[(bit / 64) as usize] |= 1 << (bit % 64);
            }
            Bits::Exact(words)
        } else {
            let words = (count * BLOOM_BITS_PER_KEY / 64).next_power_of_two().max(64);
            let shift = 64 - words.ilog2();
            let mut blocks = vec![0u64; words];
            for key in keys {
                let hash = mix(key as u64);
                blocks[(hash >> shift) as usize] |= block_bits(hash);
            }
            Bits::Bloom { blocks, shift }
        };
        Some(Self { min, max, bits })
    }

    /// Smallest and largest key.
    pub fn limits(&self) -> (i64, i64) {
        (self.min, self.max)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match &self.bits {
            Bits::Exact(words) | Bits::Bloom { blocks: words, .. } => words.len() * 8,
        }
    }

    /// `values[i]` is the key of `positions[i]`: keeps the positions whose key may be in the set,
    /// in order.
    pub fn retain<T: IntegerKey>(&self, values: &[T], positions: &mut Vec<u32>) {
        match &self.bits {
            Bits::Exact(words) => {
                let range = self.max.wrapping_sub(self.min) as u64 + 1;
                KeyBits::<4>::new(words, self.min, range).retain(values, positions);
            }
            Bits::Bloom { blocks, shift } => retain_if(values, positions, |value| {
                let hash = mix(value.into() as u64);
                let bits = block_bits(hash);
                blocks[(hash >> shift) as usize] & bits == bits
            }),
        }
    }

    /// True when a key in `low..=high` may be in the set.
    pub fn overlaps(&self, low: i64, high: i64) -> bool {
        if low > self.max || high < self.min || low > high {
            return false;
        }
        let Bits::Exact(words) = &self.bits else {
            return true;
        };
        let low = low.max(self.min).wrapping_sub(self.min) as u64;
        let high = high.min(self.max).wrapping_sub(self.min) as u64;
        let (first, last) = ((low / 64) as usize, (high / 64) as usize);
        let from = u64::MAX << (low % 64);
        let to = u64::MAX >> (63 - high % 64);
        if first == last {
            return words[first] & from & to != 0;
        }
        words[first] & from != 0
            || words[last] & to != 0
            || words[first + 1..last].iter().any(|&w| w != 0)
    }
}

/// Keeps the rows for which `test` holds, without a branch.
#[inline(always)]
pub(super) fn keep_if(rows: &mut Vec<u32>, test: impl Fn(u32) -> bool) {
    let mut kept = 0;
    for i in 0..rows.len() {
        let row = rows[i];
        rows[kept] = row;
        kept += usize::from(test(row));
    }
    rows.truncate(kept);
}

flavours! {
    /// Keeps the positions for whose value `test` holds, without a branch.
    pub(super) fn retain_if[T: Copy, F: Fn(T) -> bool](
        values: &[T], positions: &mut Vec<u32>, test: F
    ) {
        assert_eq!(values.len(), positions.len(), "a value for each position");
        let mut kept = 0;
        for i in 0..values.len() {
            let position = positions[i];
            positions[kept] = position;
            kept += usize::from(test(values[i]));
        }
        positions.truncate(kept);
    }
}
