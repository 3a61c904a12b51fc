//! Rows that satisfy a simple condition, as positions.
//!
//! ```text
//! values 64 at a time -> compare -> mask of 64 bits -> compress row numbers -> positions
//! ```
//! `range_*` keeps values of a closed range, `bitset_*` codes whose bit is 1, `bool_*` rows that
//! are true. The plain forms look at every row and append `base` + row; the `refine_*` forms keep
//! those of `positions` (any order, repeats allowed) that satisfy the condition, in place.
//!
//! Invariant: each instruction set gives what [`scalar`] gives.
//! Source: Lang et al. 2016, section 4.2 (positions by compress-store, a table of positions for
//! AVX2).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod scalar;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::BIT_NUMBERS;

use crate::Bitmap;
use crate::level::{Level, level};

macro_rules! dispatch {
    ($function:ident($($arg:expr),*)) => {
        match level() {
            // SAFETY: `level` found AVX-512 on this machine.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512::$function($($arg),*) },
            // SAFETY: `level` found AVX2 on this machine.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::$function($($arg),*) },
            _ => scalar::$function($($arg),*),
        }
    };
}

/// As [`dispatch`] where only AVX-512 (gather and compress) beats the scalar loop.
macro_rules! dispatch_gather {
    ($function:ident($($arg:expr),*)) => {
        match level() {
            // SAFETY: `level` found AVX-512 on this machine.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512::$function($($arg),*) },
            _ => scalar::$function($($arg),*),
        }
    };
}

macro_rules! ranges {
    ($($range:ident, $refine:ident, $value:ty;)*) => {$(
        /// Appends `base + i` for every row with `lo <= values[i] <= hi`.
        pub fn $range(values: &[$value], lo: $value, hi: $value, base: u32, out: &mut Vec<u32>) {
            if lo <= hi {
                dispatch!($range(values, lo, hi, base, out));
            }
        }

        /// Keeps the positions `p` with `lo <= values[p] <= hi`.
        ///
        /// # Panics
        /// If a position is past the end.
        pub fn $refine(values: &[$value], lo: $value, hi: $value, positions: &mut Vec<u32>) {
            if lo <= hi {
                dispatch_gather!($refine(values, lo, hi, positions));
            } else {
                positions.clear();
            }
        }
    )*};
}

ranges! {
    range_u8, refine_u8, u8;
    range_u16, refine_u16, u16;
    range_u32, refine_u32, u32;
    range_i32, refine_i32, i32;
    range_i64, refine_i64, i64;
}

/// Appends `base + i` for every row whose code's bit is 1; a code past the bitmap counts as 0.
pub fn bitset_u8(codes: &[u8], bits: &Bitmap, base: u32, out: &mut Vec<u32>) {
    dispatch!(bitset_u8(codes, bits, base, out));
}

/// As [`bitset_u8`].
pub fn bitset_u16(codes: &[u16], bits: &Bitmap, base: u32, out: &mut Vec<u32>) {
    dispatch_gather!(bitset_u16(codes, bits, base, out));
}

/// As [`bitset_u8`].
pub fn bitset_u32(codes: &[u32], bits: &Bitmap, base: u32, out: &mut Vec<u32>) {
    dispatch_gather!(bitset_u32(codes, bits, base, out));
}

macro_rules! refine_bitsets {
    ($($refine:ident, $code:ty;)*) => {$(
        /// Keeps the positions whose code's bit is 1; a code past the bitmap counts as 0.
        ///
        /// # Panics
        /// If a position is past the end.
        pub fn $refine(codes: &[$code], bits: &Bitmap, positions: &mut Vec<u32>) {
            dispatch_gather!($refine(codes, bits, positions));
        }
    )*};
}

refine_bitsets! {
    refine_bitset_u8, u8;
    refine_bitset_u16, u16;
    refine_bitset_u32, u32;
}

/// Appends `base + i` for every row that is true: its value is not 0 and it is not NULL.
pub fn bool_rows(values: &[u8], validity: Option<&Bitmap>, base: u32, out: &mut Vec<u32>) {
    assert!(validity.is_none_or(|v| v.len() == values.len()), "one bit per row");
    match validity {
        None => range_u8(values, 1, u8::MAX, base, out),
        Some(validity) => dispatch!(bool_rows(values, validity, base, out)),
    }
}

/// Keeps the positions of rows that are true: value not 0 and not NULL.
///
/// # Panics
/// If a position is past the end.
pub fn refine_bool(values: &[u8], validity: Option<&Bitmap>, positions: &mut Vec<u32>) {
    refine_u8(values, 1, u8::MAX, positions);
    if let Some(validity) = validity {
        scalar::refine(positions, |p| validity.get(p as usize));
    }
}

/// Keeps the positions of rows that are not NULL.
///
/// # Panics
/// If a position is past the end.
pub fn refine_valid(validity: &Bitmap, positions: &mut Vec<u32>) {
    scalar::refine(positions, |p| validity.get(p as usize));
}

/// Appends `base` + number of each 1 bit of `words`, 64 rows a word.
pub fn bit_rows(words: &[u64], base: u32, out: &mut Vec<u32>) {
    dispatch!(bit_rows(words, base, out));
}

/// Keeps `positions[i]` for each `i` of `kept`, which ascends: composes a selection of a selection.
///
/// # Panics
/// If a number of `kept` is past the end.
pub fn compose(positions: &mut Vec<u32>, kept: &[u32]) {
    if kept.len() == positions.len() {
        return;
    }
    for (target, &source) in kept.iter().enumerate() {
        positions[target] = positions[source as usize];
    }
    positions.truncate(kept.len());
}
