//! BitWeaving: codes of `k` bits side by side in words, compared by arithmetic on whole words.
//!
//! ```text
//! vertical    segment of 512 codes: k planes of 8 words, plane 0 the highest bit of each code
//! horizontal  segment of k+1 words: fields of k+1 bits, the highest (the delimiter) 0;
//!             field j of word i is code j * (k+1) + i, so that shifted delimiters are dense
//! find        keep &= (code OP constant), for all rows of a bitmap
//! ```
//! Invariants: both give what [`CodeCompare::accepts`] gives, their scalar twin; a row whose bit in
//! `keep` is 0 stays 0, and costs nothing where all rows of its segment are 0.
//! Source: Li and Patel 2013, as told by Chasseur 2015, section 2.3. Departure: the eight words of
//! a plane, or eight segments, lie side by side, for loops that compile to wide registers.

pub mod horizontal;
pub mod vertical;
#[cfg(test)]
mod tests;

/// The most bits of a code.
pub const CODE_BITS_MAX: u32 = 32;

/// A comparison of codes with constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeCompare {
    /// `code = c`
    Eq(u32),
    /// `code <> c`
    Ne(u32),
    /// `code < c`
    Lt(u32),
    /// `code <= c`
    Le(u32),
    /// `code > c`
    Gt(u32),
    /// `code >= c`
    Ge(u32),
    /// `lo <= code <= hi`
    Between(u32, u32),
}

impl CodeCompare {
    /// Defines the comparison: the loops over words give the same.
    #[inline]
    pub fn accepts(self, code: u32) -> bool {
        match self {
            Self::Eq(c) => code == c,
            Self::Ne(c) => code != c,
            Self::Lt(c) => code < c,
            Self::Le(c) => code <= c,
            Self::Gt(c) => code > c,
            Self::Ge(c) => code >= c,
            Self::Between(lo, hi) => lo <= code && code <= hi,
        }
    }

    /// The loop that decides it for codes of at most `last`, with constants of as many bits.
    fn loop_for(self, last: u32) -> Loop {
        match self {
            Self::Eq(c) if c > last => Loop::None,
            Self::Eq(c) => Loop::Eq(c),
            Self::Ne(c) if c > last => Loop::All,
            Self::Ne(c) => Loop::Ne(c),
            Self::Lt(0) => Loop::None,
            Self::Lt(c) => Self::Le(c - 1).loop_for(last),
            Self::Le(c) if c >= last => Loop::All,
            Self::Le(c) => Loop::Le(c),
            Self::Gt(c) if c >= last => Loop::None,
            Self::Gt(c) => Self::Ge(c + 1).loop_for(last),
            Self::Ge(0) => Loop::All,
            Self::Ge(c) if c > last => Loop::None,
            Self::Ge(c) => Loop::Ge(c),
            Self::Between(lo, hi) if lo > hi => Loop::None,
            Self::Between(lo, hi) if lo == hi => Self::Eq(lo).loop_for(last),
            Self::Between(0, hi) => Self::Le(hi).loop_for(last),
            Self::Between(lo, hi) if hi >= last => Self::Ge(lo).loop_for(last),
            Self::Between(lo, hi) => Loop::Between(lo, hi),
        }
    }
}

/// Rest of a comparison once trivial cases are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loop {
    All,
    None,
    Eq(u32),
    Ne(u32),
    Le(u32),
    Ge(u32),
    Between(u32, u32),
}

/// The bits that hold codes up to `code_max`: 1 to 32.
pub fn code_bits(code_max: u32) -> u32 {
    (u32::BITS - code_max.leading_zeros()).max(1)
}

/// The largest code of `bits` bits.
fn last_code(bits: u32) -> u32 {
    assert!((1..=CODE_BITS_MAX).contains(&bits), "codes have 1 to 32 bits");
    u32::MAX >> (CODE_BITS_MAX - bits)
}
