//! Hashes of keys as PostgreSQL computes them, so that rows dumped from one are at home in the
//! other.
//!
//! Source: PostgreSQL 15, `hashfn.c` (Jenkins 2006, lookup3), `hashfunc.c`, `partbounds.c`.

use types::DataType;

use super::order::{Scalar, trimmed};

/// The seed of the hashes of partition keys.
const HASH_SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// Days and microseconds from 1970, from where times count here, to 2000, from where they do there.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// The hash of a key of which the columns so far have the hash `a`, and the next one `b`.
pub fn combine(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(a << 54).wrapping_add(a >> 7)
}

/// True when keys of the type have a hash here.
pub fn is_hashed(ty: DataType) -> bool {
    use DataType as T;
    matches!(
        ty,
        T::Boolean
            | T::SmallInt
            | T::Integer
            | T::BigInt
            | T::Oid
            | T::Date
            | T::Time(_)
            | T::Timestamp(_)
            | T::TimestampTz(_)
            | T::Real
            | T::Double
            | T::Char(_)
            | T::Varchar(_)
            | T::Text
            | T::Name
            | T::Bytea
            | T::Uuid
    )
}

/// The hash of one value, which is no NULL.
pub fn hash(value: Scalar<'_>, ty: DataType) -> u64 {
    match value {
        Scalar::Null => 0,
        Scalar::Bool(value) => of_u32(u32::from(value), HASH_SEED),
        Scalar::Int(value) => match ty {
            // Held with its first bit turned, so that its order is that of numbers.
            DataType::Uuid => of_bytes(&(value as u128 ^ 1 << 127).to_be_bytes(), HASH_SEED),
            DataType::SmallInt | DataType::Integer | DataType::Oid => {
                of_u32(value as u32, HASH_SEED)
            }
            DataType::Date => of_u32((value as i32).wrapping_sub(EPOCH_DAYS) as u32, HASH_SEED),
            _ => {
                let is_moment = matches!(ty, DataType::Timestamp(_) | DataType::TimestampTz(_));
                let value = (value as i64).wrapping_sub(if is_moment { EPOCH_MICROS } else { 0 });
                let (low, high) = (value as u32, (value >> 32) as u32);
                // Such that a value that fits 32 bits has the hash that it has there.
                of_u32(low ^ if value >= 0 { high } else { !high }, HASH_SEED)
            }
        },
        Scalar::Float(0.0) => HASH_SEED,
        Scalar::Float(value) => {
            let value = if value.is_nan() { f64::NAN } else { value };
            of_bytes(&value.to_le_bytes(), HASH_SEED)
        }
        Scalar::Bytes(bytes) if matches!(ty, DataType::Char(_)) => {
            of_bytes(trimmed(bytes), HASH_SEED)
        }
        Scalar::Bytes(bytes) => of_bytes(bytes, HASH_SEED),
        Scalar::Interval(_) => HASH_SEED,
    }
}

/// Three words while they are mixed.
struct Mixer {
    a: u32,
    b: u32,
    c: u32,
}

impl Mixer {
    fn new(len: usize, seed: u64) -> Self {
        let start = 0x9e37_79b9_u32.wrapping_add(len as u32).wrapping_add(3_923_095);
        let mut mixer = Self { a: start, b: start, c: start };
        if seed != 0 {
            mixer.a = mixer.a.wrapping_add((seed >> 32) as u32);
            mixer.b = mixer.b.wrapping_add(seed as u32);
            mixer.mix();
        }
        mixer
    }

    fn mix(&mut self) {
        let Self { a, b, c } = self;
        *a = a.wrapping_sub(*c) ^ c.rotate_left(4);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(6);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(8);
        *b = b.wrapping_add(*a);
        *a = a.wrapping_sub(*c) ^ c.rotate_left(16);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(19);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(4);
        *b = b.wrapping_add(*a);
    }

    fn finish(mut self) -> u64 {
        let Self { a, b, c } = &mut self;
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
        (u64::from(*b) << 32) | u64::from(*c)
    }
}

/// `hash_bytes_uint32_extended`.
fn of_u32(value: u32, seed: u64) -> u64 {
    let mut mixer = Mixer::new(4, seed);
    mixer.a = mixer.a.wrapping_add(value);
    mixer.finish()
}

/// `hash_bytes_extended`, on a machine with the least byte first.
fn of_bytes(bytes: &[u8], seed: u64) -> u64 {
    let mut mixer = Mixer::new(bytes.len(), seed);
    let word = |bytes: &[u8]| {
        bytes.iter().enumerate().fold(0_u32, |word, (at, byte)| word | u32::from(*byte) << (8 * at))
    };
    let mut chunks = bytes.chunks_exact(12);
    for chunk in &mut chunks {
        mixer.a = mixer.a.wrapping_add(word(&chunk[..4]));
        mixer.b = mixer.b.wrapping_add(word(&chunk[4..8]));
        mixer.c = mixer.c.wrapping_add(word(&chunk[8..]));
        mixer.mix();
    }
    let rest = chunks.remainder();
    let part = |from: usize, to: usize| rest.get(from..rest.len().min(to)).unwrap_or_default();
    mixer.a = mixer.a.wrapping_add(word(part(0, 4)));
    mixer.b = mixer.b.wrapping_add(word(part(4, 8)));
    // The lowest byte of the last word is the length.
    mixer.c = mixer.c.wrapping_add(word(part(8, 12)) << 8);
    mixer.finish()
}
