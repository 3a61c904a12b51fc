//! random() and gen_random_uuid().

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};

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
