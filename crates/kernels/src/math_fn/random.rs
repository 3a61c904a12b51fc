//! random(), gen_random_uuid(), and the rows of a sample.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};

use types::{Error, Result, SqlState};

use crate::rows::{Values, try_build};
use crate::{Vector, VectorData};

thread_local! {
    /// State of the generator, seeded by the system for each thread.
    static STATE: Cell<[u64; 2]> = Cell::new([seed(), seed() | 1]);
}

fn seed() -> u64 {
    // The standard library's hash keys are random and differ from call to call.
    RandomState::new().build_hasher().finish()
}

/// Source: David Blackman and Sebastiano Vigna, "Scrambled linear pseudorandom number generators",
/// 2021: xoroshiro128++. Not for secrets.
fn next(state: &mut [u64; 2]) -> u64 {
    let [a, b] = *state;
    let result = a.wrapping_add(b).rotate_left(17).wrapping_add(a);
    let b = a ^ b;
    *state = [a.rotate_left(49) ^ b ^ b << 21, b.rotate_left(28)];
    result
}

fn with_state<T>(f: impl FnOnce(&mut [u64; 2]) -> T) -> T {
    STATE.with(|cell| {
        let mut state = cell.get();
        let result = f(&mut state);
        cell.set(state);
        result
    })
}

/// random(): `rows` numbers from 0 to below 1.
pub fn random(rows: usize) -> Vector {
    let unit = 1.0 / (1u64 << 53) as f64;
    let values = with_state(|state| (0..rows).map(|_| (next(state) >> 11) as f64 * unit).collect());
    Vector::new(VectorData::F64(values))
}

/// gen_random_uuid(): `rows` UUIDs of version 4.
pub fn random_uuid(rows: usize) -> Vector {
    let uuid = |state: &mut [u64; 2]| {
        let bits = u128::from(next(state)) << 64 | u128::from(next(state));
        // Version in bits 76 to 79, variant in bits 62 and 63.
        let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
        (bits ^ 1 << 127) as i128
    };
    let values = with_state(|state| (0..rows).map(|_| uuid(state)).collect());
    Vector::new(VectorData::I128(values))
}

/// Choice of a sample: I64 places of rows, F64 percentages of them that are wanted, F64 seeds ->
/// Bool, the same for equal arguments.
///
/// # Errors
/// 2202H for what is no percentage.
pub fn sampled(places: &Vector, percentages: &Vector, seeds: &Vector) -> Result<Vector> {
    let place_of = Values::<i64>::new(places);
    let (percentage_of, seed_of) = (Values::<f64>::new(percentages), Values::<f64>::new(seeds));
    let unit = 100.0 / (1u64 << 53) as f64;
    try_build(&[places, percentages, seeds], |i| {
        let percentage = percentage_of.get(i);
        if !(0.0..=100.0).contains(&percentage) {
            let message = "sample percentage must be between 0 and 100";
            return Err(Error::new(SqlState::INVALID_SAMPLE, message));
        }
        let seeded = mixed(seed_of.get(i).to_bits()) ^ place_of.get(i) as u64;
        Ok(u8::from((mixed(seeded) >> 11) as f64 * unit < percentage))
    })
}

/// Spreads the bits of `word`.
///
/// Source: Guy Steele, Doug Lea and Christine Flood, "Fast splittable pseudorandom number
/// generators", 2014: the finish of SplitMix64.
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
