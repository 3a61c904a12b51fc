//! Encoded values back to values: truncated codes plus a base, codes into a dictionary.
//!
//! Every function appends to `out`; the `_at` forms read only the codes at `positions`, in their
//! order.

use crate::loops::{gather_into, map_into, max_u32};

/// An unsigned code as stored: 1, 2 or 4 bytes.
pub trait Code: Copy + Send + Sync + 'static {
    /// Zero-extended to 32 bits.
    fn widen(self) -> u32;
}

impl Code for u8 {
    #[inline(always)]
    fn widen(self) -> u32 {
        u32::from(self)
    }
}

impl Code for u16 {
    #[inline(always)]
    fn widen(self) -> u32 {
        u32::from(self)
    }
}

impl Code for u32 {
    #[inline(always)]
    fn widen(self) -> u32 {
        self
    }
}

/// An integer value that can be stored truncated: base + code.
pub trait Fixed: Copy + Send + Sync + 'static {
    /// `self + code`; wraps, which the encoder ruled out.
    fn plus_code(self, code: u32) -> Self;
}

impl Fixed for i32 {
    #[inline(always)]
    fn plus_code(self, code: u32) -> Self {
        self.wrapping_add(code as i32)
    }
}

impl Fixed for i64 {
    #[inline(always)]
    fn plus_code(self, code: u32) -> Self {
        self.wrapping_add(i64::from(code))
    }
}

impl Fixed for i128 {
    #[inline(always)]
    fn plus_code(self, code: u32) -> Self {
        self.wrapping_add(i128::from(code))
    }
}

/// Appends `base + code` for all codes.
pub fn add_base<C: Code, T: Fixed>(codes: &[C], base: T, out: &mut Vec<T>) {
    map_into(codes, out, move |code| base.plus_code(code.widen()));
}

/// Appends `base + codes[p]` for each position.
///
/// # Panics
/// If a position is past the end.
pub fn add_base_at<C: Code, T: Fixed>(codes: &[C], positions: &[u32], base: T, out: &mut Vec<T>) {
    gather_into(codes, positions, out, move |code| base.plus_code(code.widen()));
}

/// Appends all codes, zero-extended.
pub fn widen<C: Code>(codes: &[C], out: &mut Vec<u32>) {
    map_into(codes, out, C::widen);
}

/// Appends the codes at `positions`, zero-extended.
///
/// # Panics
/// If a position is past the end.
pub fn widen_at<C: Code>(codes: &[C], positions: &[u32], out: &mut Vec<u32>) {
    gather_into(codes, positions, out, C::widen);
}

/// Appends `values[p]` for each position.
///
/// # Panics
/// If a position is past the end.
pub fn take<T: Copy>(values: &[T], positions: &[u32], out: &mut Vec<T>) {
    gather_into(values, positions, out, |value| value);
}

/// Codes looked up at a time: their extended form stays in L1.
const CHUNK: usize = 1024;

/// Appends `dictionary[code]` for all codes.
///
/// # Panics
/// If a code is past the dictionary.
pub fn lookup<C: Code, T: Copy>(codes: &[C], dictionary: &[T], out: &mut Vec<T>) {
    out.reserve(codes.len());
    let mut wide = Vec::with_capacity(CHUNK.min(codes.len()));
    for chunk in codes.chunks(CHUNK) {
        wide.clear();
        widen(chunk, &mut wide);
        take(dictionary, &wide, out);
    }
}

/// Appends `dictionary[codes[p]]` for each position.
///
/// # Panics
/// If a position is past the end, or a code past the dictionary.
pub fn lookup_at<C: Code, T: Copy>(
    codes: &[C],
    positions: &[u32],
    dictionary: &[T],
    out: &mut Vec<T>,
) {
    out.reserve(positions.len());
    let mut wide = Vec::with_capacity(CHUNK.min(positions.len()));
    for chunk in positions.chunks(CHUNK) {
        wide.clear();
        widen_at(codes, chunk, &mut wide);
        take(dictionary, &wide, out);
    }
}

/// The largest code, or None without codes: to check a block against its dictionary once.
pub fn max_code<C: Code>(codes: &[C]) -> Option<u32> {
    let mut wide = Vec::with_capacity(CHUNK.min(codes.len()));
    let maxima = codes.chunks(CHUNK).map(|chunk| {
        wide.clear();
        widen(chunk, &mut wide);
        max_u32(&wide)
    });
    maxima.max()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use testkit::values;

    use super::*;
    use crate::level::at_every_level;

    fn check<C: Code + Into<u32> + std::fmt::Debug>(codes: &[C], picks: &[usize]) {
        let positions: Vec<u32> = match codes.len() {
            0 => Vec::new(),
            len => picks.iter().map(|p| (p % len) as u32).collect(),
        };
        let max = max_code(codes);
        let model: Vec<u32> = codes.iter().map(|&c| c.into()).collect();
        assert_eq!(max, model.iter().copied().max());
        let mut wide = Vec::new();
        widen(codes, &mut wide);
        assert_eq!(wide, model);
        let at: Vec<u32> = positions.iter().map(|&p| model[p as usize]).collect();
        let (mut a, mut b, mut c, mut d) = (vec![9], vec![9], vec![9], Vec::new());
        add_base(codes, -5i32, &mut a);
        assert_eq!(a[1..], model.iter().map(|&m| (m as i32).wrapping_sub(5)).collect::<Vec<_>>());
        add_base_at(codes, &positions, i64::MIN, &mut b);
        assert_eq!(b[1..], at.iter().map(|&m| i64::MIN + i64::from(m)).collect::<Vec<_>>());
        add_base_at(codes, &positions, i128::MAX - (1 << 40), &mut c);
        assert_eq!(c.len(), positions.len() + 1);
        widen_at(codes, &positions, &mut d);
        assert_eq!(d, at);
        if max.unwrap_or(0) < 1 << 16 {
            let dictionary: Vec<i128> = (0..1 << 16).map(|i| i * 3).collect();
            let (mut all, mut some) = (Vec::new(), Vec::new());
            lookup(codes, &dictionary, &mut all);
            lookup_at(codes, &positions, &dictionary, &mut some);
            assert_eq!(all, model.iter().map(|&m| i128::from(m) * 3).collect::<Vec<_>>());
            assert_eq!(some, at.iter().map(|&m| i128::from(m) * 3).collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn unpacking_equals_a_plain_loop(
            bytes in proptest::collection::vec(values::<u8>(), 0..200),
            shorts in proptest::collection::vec(values::<u16>(), 0..200),
            words in proptest::collection::vec(values::<u32>(), 0..200),
            picks in proptest::collection::vec(any::<usize>(), 0..100),
        ) {
            at_every_level(|_| {
                check(&bytes, &picks);
                check(&shorts, &picks);
                check(&words, &picks);
            });
        }
    }

    #[test]
    #[should_panic(expected = "position past the end")]
    fn codes_past_the_dictionary_are_refused() {
        lookup(&[3u8], &[1i32, 2, 3], &mut Vec::new());
    }
}
