//! Register-blocked Bloom filter: whether a block can have a value at all.
//!
//! ```text
//! hash of a value -> one word of 64 bits, and up to 8 bits in it
//! ```
//! Each question reads one word. No answer of "absent" is wrong.
//! Source: Patel 2018's implementation (a filter for each block, equality only); the form after
//! Lang et al. 2019. Departures: sized by the distinct values of the block; IN is answered, too.

use std::ops::Bound;
use std::sync::Arc;

use kernels::hash::{hash_bytes, mix};
use types::{PhysicalType, Result};

use crate::block::{Frozen, Scheme, with_codes};
use crate::fixed::{Fixed, with_fixed};
use crate::memory::{BufferPool, Memory, MemoryCategory};
use crate::restriction::{KeyTest, Test, TextTest};

/// The filter of one segment.
#[derive(Debug)]
pub(crate) struct Bloom {
    memory: Memory,
    /// Distinct values.
    keys: usize,
    /// Bits set for each.
    key_bits: u32,
}

/// The most bits set for a value: numbers of 6 bits from a hash of 64.
const KEY_BITS_MAX: u32 = 8;
const SEED: u64 = 0x94d0_49bb_1331_11eb;

impl Bloom {
    /// The filter of the values of a segment, with `bits_per_key` bits for each distinct one.
    ///
    /// # Errors
    /// 53200 without memory.
    pub(super) fn build(
        block: Frozen<'_>,
        column: usize,
        bits_per_key: u32,
        pool: &Arc<BufferPool>,
    ) -> Result<Self> {
        let mut hashes = hashes(block, column);
        hashes.sort_unstable();
        hashes.dedup();
        let words = (hashes.len() * bits_per_key as usize).div_ceil(64).max(1);
        // In words of 64 bits somewhat fewer bits than ln 2 of them are best.
        let key_bits = (bits_per_key / 2).clamp(1, KEY_BITS_MAX);
        let memory = pool.allocate(MemoryCategory::Indexes, words as u64 * 8)?;
        let mut bloom = Self { memory, keys: hashes.len(), key_bits };
        for hash in hashes {
            let (word, bits) = bloom.place(hash);
            bloom.memory.words_mut()[word] |= bits;
        }
        Ok(bloom)
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> u64 {
        self.memory.held_bytes()
    }

    /// Distinct values.
    pub(super) fn keys(&self) -> u64 {
        self.keys as u64
    }

    /// The word of a value, and its bits there.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        let words = self.memory.words().len() as u64;
        let word = ((u128::from(hash) * u128::from(words)) >> 64) as usize;
        let numbers = mix(hash ^ SEED);
        let bits = (0..self.key_bits).fold(0, |bits, i| bits | 1 << (numbers >> (i * 6) & 63));
        (word, bits)
    }

    fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.memory.words()[word] & bits == bits
    }

    /// True when the test asks for values all of which are absent.
    pub(super) fn excludes(&self, test: &Test) -> bool {
        let has_key = |key: &i128| self.may_have(hash_key(*key));
        let has_text = |text: &[u8]| self.may_have(hash_bytes(text));
        match test {
            Test::Keys(KeyTest::Range(lo, hi)) if lo == hi => !has_key(lo),
            Test::Keys(KeyTest::Set(keys)) => !keys.iter().any(has_key),
            Test::Texts(TextTest::Range(Bound::Included(low), Bound::Included(high)))
                if low == high =>
            {
                !has_text(low)
            }
            Test::Texts(TextTest::Set(texts)) => !texts.iter().any(|text| has_text(text)),
            _ => false,
        }
    }
}

fn hash_key(key: i128) -> u64 {
    mix(key as u64 ^ mix((key >> 64) as u64 ^ SEED))
}

/// The hashes of the values of all rows that are not NULL.
fn hashes(block: Frozen<'_>, column: usize) -> Vec<u64> {
    let segment = block.segment(column);
    let validity = block.validity_words(column);
    let is_valid = |row: &usize| validity.is_none_or(|v| v[row / 64] >> (row % 64) & 1 == 1);
    let rows = (0..block.rows()).filter(is_valid);
    if segment.has_codes() {
        let (min, max) = block.sma_keys(column).unwrap_or_default();
        let hash = |code: i128| hash_key(min + code);
        // Of truncated codes only NULL's is beyond the largest value.
        let is_value = |code: &i128| *code <= max - min;
        return with_codes!(block.codes(column), codes => {
            codes.iter().map(|&code| i128::from(code)).filter(is_value).map(hash).collect()
        });
    }
    if segment.physical != PhysicalType::Str {
        return with_fixed!(segment.physical, T => {
            let values = block.values::<<T as Fixed>::Bits>(column);
            rows.map(|row| hash_key(T::from_stored(values[row]).key())).collect()
        }, Vec::new());
    }
    let strings = rows.map(|row| block.string(column, row));
    if segment.scheme == Scheme::Compressed {
        let decoded = block.symbol_table(column).decode_all(strings);
        return decoded.iter().map(hash_bytes).collect();
    }
    strings.map(hash_bytes).collect()
}
