//! Fixed-width values: how they stand in a block, and the integer by which they order.

use std::sync::atomic::Ordering;

use kernels::VectorData;
use types::{Interval, PhysicalType, Value};

use crate::datum::Datum;
use crate::memory::{IntervalBits, Memory, Plain};

/// A value as it stands in a block: as many low bytes as it is wide.
pub(crate) type Bits = [u64; 2];

/// The value of `width` bytes at `at`, as it is at this instant.
#[inline(always)]
pub(crate) fn load_words(memory: &Memory, at: usize, width: usize) -> Bits {
    match width {
        1 => [memory.atomic_byte(at).load(Ordering::Relaxed).into(), 0],
        4 => [memory.atomic_half(at).load(Ordering::Relaxed).into(), 0],
        // Acquire for the bytes behind spans; it costs nothing where loads are ordered.
        8 => [memory.atomic_word(at).load(Ordering::Acquire), 0],
        _ => [at, at + 8].map(|at| memory.atomic_word(at).load(Ordering::Relaxed)),
    }
}

/// Replaces the value; the caller holds its row.
#[inline(always)]
pub(crate) fn store_words(memory: &Memory, at: usize, width: usize, bits: Bits) {
    match width {
        1 => memory.atomic_byte(at).store(bits[0] as u8, Ordering::Relaxed),
        4 => memory.atomic_half(at).store(bits[0] as u32, Ordering::Relaxed),
        8 => memory.atomic_word(at).store(bits[0], Ordering::Release),
        _ => {
            memory.atomic_word(at).store(bits[0], Ordering::Relaxed);
            memory.atomic_word(at + 8).store(bits[1], Ordering::Relaxed);
        }
    }
}

/// A fixed-width physical type.
pub(crate) trait Fixed: Copy + Default + Send + Sync + 'static {
    /// Its form in a block.
    type Bits: Plain;
    fn to_stored(self) -> Self::Bits;
    fn from_stored(bits: Self::Bits) -> Self;
    /// Its form in a block as two words, the unused high bytes 0.
    fn to_words(self) -> [u64; 2];
    /// The inverse.
    fn from_words(words: [u64; 2]) -> Self;
    /// The value at `at` of a hot block, as it is at this instant.
    #[inline(always)]
    fn load(memory: &Memory, at: usize) -> Self {
        Self::from_words(load_words(memory, at, size_of::<Self::Bits>()))
    }
    /// Replaces it; the caller holds the row.
    #[inline(always)]
    fn store(self, memory: &Memory, at: usize) {
        store_words(memory, at, size_of::<Self::Bits>(), self.to_words());
    }
    /// The integer by which values order and are equal as SQL has it.
    fn key(self) -> i128;
    /// Distinguishes values that order as equal but look different (-0.0 and 0.0; 1 month and 30
    /// days).
    fn identity(self) -> u128;
    fn slice(data: &VectorData) -> &[Self];
    fn data(values: Vec<Self>) -> VectorData;
}

macro_rules! fixed {
    ($ty:ty, $bits:ty, $variant:ident, $key:expr, $identity:expr, $words:expr, $of:expr) => {
        impl Fixed for $ty {
            type Bits = $bits;
            #[inline]
            fn to_stored(self) -> $bits {
                self.into()
            }
            #[inline]
            fn from_stored(bits: $bits) -> Self {
                bits.into()
            }
            #[inline]
            fn to_words(self) -> [u64; 2] {
                #[allow(clippy::redundant_closure_call)]
                ($words)(self)
            }
            #[inline]
            fn from_words(words: [u64; 2]) -> Self {
                #[allow(clippy::redundant_closure_call)]
                ($of)(words)
            }
            #[inline]
            fn key(self) -> i128 {
                #[allow(clippy::redundant_closure_call)]
                ($key)(self)
            }
            #[inline]
            fn identity(self) -> u128 {
                #[allow(clippy::redundant_closure_call)]
                ($identity)(self)
            }
            fn slice(data: &VectorData) -> &[Self] {
                match data {
                    VectorData::$variant(values) => values,
                    other => panic!("unexpected {:?}", std::mem::discriminant(other)),
                }
            }
            fn data(values: Vec<Self>) -> VectorData {
                VectorData::$variant(values)
            }
        }
    };
}

type Words = [u64; 2];

fixed!(u8, u8, Bool, i128::from, u128::from, |v: u8| [v.into(), 0], |w: Words| w[0] as u8);
fixed!(
    i32,
    i32,
    I32,
    i128::from,
    |v: i32| v as u32 as u128,
    |v: i32| [v as u32 as u64, 0],
    |w: Words| w[0] as i32
);
fixed!(
    i64,
    i64,
    I64,
    i128::from,
    |v: i64| v as u64 as u128,
    |v: i64| [v as u64, 0],
    |w: Words| w[0] as i64
);
fixed!(
    i128,
    i128,
    I128,
    |v| v,
    |v: i128| v as u128,
    |v: i128| [v as u64, (v >> 64) as u64],
    |w: Words| (u128::from(w[1]) << 64 | u128::from(w[0])) as i128
);
fixed!(
    f64,
    f64,
    F64,
    float_key,
    |v: f64| u128::from(canonical(v).to_bits()),
    |v: f64| [v.to_bits(), 0],
    |w: Words| f64::from_bits(w[0])
);
fixed!(
    Interval,
    IntervalBits,
    Interval,
    Interval::comparable,
    |v: Interval| {
        u128::from(v.months as u32) << 96
            | u128::from(v.days as u32) << 64
            | v.micros as u64 as u128
    },
    |v: Interval| [u64::from(v.months as u32) | u64::from(v.days as u32) << 32, v.micros as u64],
    |w: Words| Interval { months: w[0] as i32, days: (w[0] >> 32) as i32, micros: w[1] as i64 }
);

/// One NaN for all, because SQL knows only one.
fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// Orders floating-point numbers as PostgreSQL does: -0 equals 0, NaN equals itself and is the
/// largest.
#[inline]
pub(crate) fn float_key(value: f64) -> i128 {
    if value.is_nan() {
        return i128::from(i64::MAX);
    }
    let bits = (value + 0.0).to_bits() as i64;
    i128::from(if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits })
}

/// The inverse of [`float_key`].
fn float_of_key(key: i128) -> f64 {
    let key = key as i64;
    if key == i64::MAX {
        return f64::NAN;
    }
    f64::from_bits(if key < 0 { i64::MIN.wrapping_sub(key) as u64 } else { key as u64 })
}

/// The value with order key `key`; None for intervals, where several values share one.
pub(crate) fn value_of_key(physical: PhysicalType, key: i128) -> Option<Value> {
    match physical {
        PhysicalType::Bool => Some(Value::Bool(key != 0)),
        PhysicalType::I32 => i32::try_from(key).ok().map(Value::I32),
        PhysicalType::I64 => i64::try_from(key).ok().map(Value::I64),
        PhysicalType::I128 => Some(Value::I128(key)),
        PhysicalType::F64 => Some(Value::F64(float_of_key(key))),
        PhysicalType::Str | PhysicalType::Interval => None,
    }
}

/// Runs `$body` with `$T` the fixed-width type of `$physical`; strings have their own arm.
macro_rules! with_fixed {
    ($physical:expr, $T:ident => $body:expr, $text:expr) => {
        match $physical {
            types::PhysicalType::Bool => {
                type $T = u8;
                $body
            }
            types::PhysicalType::I32 => {
                type $T = i32;
                $body
            }
            types::PhysicalType::I64 => {
                type $T = i64;
                $body
            }
            types::PhysicalType::I128 => {
                type $T = i128;
                $body
            }
            types::PhysicalType::F64 => {
                type $T = f64;
                $body
            }
            types::PhysicalType::Interval => {
                type $T = types::Interval;
                $body
            }
            types::PhysicalType::Str => $text,
        }
    };
}
pub(crate) use with_fixed;

/// Bytes of a value in a block; for strings those of (offset, length) in a hot block.
pub(crate) fn value_bytes(physical: PhysicalType) -> usize {
    with_fixed!(physical, T => size_of::<<T as Fixed>::Bits>(), 8)
}

/// The bits of a value that is neither NULL nor a string.
#[inline]
pub(crate) fn bits_of(datum: Datum<'_>) -> Bits {
    match datum {
        Datum::Null | Datum::Str(_) => [0, 0],
        Datum::Bool(v) => v_bits(u8::from(v)),
        Datum::I32(v) => v_bits(v),
        Datum::I64(v) => v_bits(v),
        Datum::I128(v) => v_bits(v),
        Datum::F64(v) => v_bits(v),
        Datum::Interval(v) => v_bits(v),
    }
}

#[inline]
fn v_bits<T: Fixed>(value: T) -> Bits {
    value.to_words()
}

/// Value of a fixed-width type that `bits` stand for.
///
/// # Panics
/// If `physical` is the type of strings.
#[inline]
pub(crate) fn fixed_datum(physical: PhysicalType, bits: Bits) -> Datum<'static> {
    match physical {
        PhysicalType::Bool => Datum::Bool(bits[0] != 0),
        PhysicalType::I32 => Datum::I32(i32::from_words(bits)),
        PhysicalType::I64 => Datum::I64(i64::from_words(bits)),
        PhysicalType::I128 => Datum::I128(i128::from_words(bits)),
        PhysicalType::F64 => Datum::F64(f64::from_words(bits)),
        PhysicalType::Interval => Datum::Interval(Interval::from_words(bits)),
        PhysicalType::Str => unreachable!("a string is no fixed-width value"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_order_by_their_keys() {
        let ascending = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            0.0,
            f64::MIN_POSITIVE,
            1.5,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        let keys: Vec<i128> = ascending.iter().map(|&v| float_key(v)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert_eq!(float_key(-0.0), float_key(0.0));
        assert_eq!(float_key(-f64::NAN), float_key(f64::NAN));
        let back = keys.iter().map(|&k| float_of_key(k).to_bits());
        assert!(back.eq(ascending.iter().map(|v| v.to_bits())));
    }
}
