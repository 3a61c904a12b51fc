//! The memory of joins: from key columns to codes, from codes to build rows.
//!
//! ```text
//! key columns --KeyCoder--> one u64 code per row (MISS = can match nothing)
//! code --DenseTable--> 32 keys per word: | rank of the first u32 | present bits u32 | -> row
//!      --HashTable---> directory: | end of the run 48 bits | tag 16 bits | -> run of (key, row)
//! table --> Pairs (probe row, build row), or Candidates that give them a limited number at a time
//! ```
//! Invariants: [`MISS`] is in no table; codes are exact (equal exactly when keys are equal) or
//! hashes, as [`KeyCoder::is_exact`] says, and pairs of hashes must be verified; pairs of one probe
//! row are in ascending order of build rows.
//!
//! Source: Birler, Schmidt, Fent, Neumann 2024, "Simple, efficient, and robust hash tables for join
//! processing" (hash table); the dense table is a bitmap with counts, as in succinct rank
//! structures, so that a lookup in an array of row numbers becomes one in an array 16 times
//! smaller.

pub mod code;
pub mod dense;
mod key_bits;
pub mod key_set;
mod shards;
pub mod unchained;
pub mod verify;
#[cfg(test)]
mod tests;

pub use code::{KeyCoder, MISS, NullCode};
pub use dense::DenseTable;
pub use key_bits::IntegerKey;
pub use key_set::KeySet;
pub use unchained::{HashBuilder, HashPlan, HashTable, Partition};

use crate::hash::mix;
use crate::level::flavours;

/// Matching rows: `probe[i]` of the batch and `build[i]` of the build side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Rows of the probe batch, ascending.
    pub probe: Vec<u32>,
    /// Rows of the build side.
    pub build: Vec<u32>,
}

impl Pairs {
    /// How many.
    pub fn len(&self) -> usize {
        self.probe.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.probe.is_empty()
    }

    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.probe.clear();
        self.build.clear();
    }

    /// Keeps those whose index is in `kept`, which ascends.
    pub fn keep(&mut self, kept: &[u32]) {
        for (target, &source) in kept.iter().enumerate() {
            self.probe[target] = self.probe[source as usize];
            self.build[target] = self.build[source as usize];
        }
        self.probe.truncate(kept.len());
        self.build.truncate(kept.len());
    }
}

/// Probe rows and, for each, a run of places in a table where matches may be; consumed from the
/// front.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    probe: Vec<u32>,
    start: Vec<u32>,
    end: Vec<u32>,
    len: usize,
    next: usize,
}

impl Candidates {
    /// Makes room for `rows` and forgets what was there.
    fn reset(&mut self, rows: usize) {
        if self.probe.len() < rows {
            self.probe.resize(rows, 0);
            self.start.resize(rows, 0);
            self.end.resize(rows, 0);
        }
        self.len = 0;
        self.next = 0;
    }

    /// True when all have been turned into pairs.
    pub fn is_done(&self) -> bool {
        self.next >= self.len
    }

    /// Probe rows left.
    pub fn remaining(&self) -> usize {
        self.len - self.next
    }
}

/// Bytes above which a structure is assumed not to stay in the cache, so that prefetching pays.
const CACHED_BYTES: usize = 1 << 20;

/// Asks for the cache line at `slice[i]`; nothing happens when there is none.
#[inline(always)]
fn prefetch<T>(slice: &[T], i: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing the program can see and never faults, whatever the
        // address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(i).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (slice, i);
}

flavours! {
    /// Replaces `hashes` by `mix` of the codes. Slots of a directory come from the top bits, tags
    /// and Bloom bits from lower ones.
    fn mix_into[](codes: &[u64], hashes: &mut Vec<u64>) {
        hashes.clear();
        hashes.extend(codes.iter().map(|&c| mix(c)));
    }
}

/// A table over the codes of a build side.
pub enum JoinTable {
    /// Over small numbers.
    Dense(DenseTable),
    /// Over codes of 32 bits.
    Narrow(HashTable<u32>),
    /// Over any codes.
    Wide(HashTable<u64>),
}

macro_rules! each_table {
    ($table:expr, $t:ident => $body:expr) => {
        match $table {
            JoinTable::Dense($t) => $body,
            JoinTable::Narrow($t) => $body,
            JoinTable::Wide($t) => $body,
        }
    };
}

impl JoinTable {
    /// True when no code occurs twice: a probe row has at most one candidate.
    pub fn is_unique(&self) -> bool {
        each_table!(self, t => t.is_unique())
    }

    /// Build rows in the table.
    pub fn len(&self) -> usize {
        each_table!(self, t => t.len())
    }

    /// True when nothing can match.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        each_table!(self, t => t.bytes())
    }

    /// Replaces `pairs` by the first match of each code that has one; probe rows ascend.
    /// `candidates` is working memory.
    pub fn first(&self, codes: &[u64], candidates: &mut Candidates, pairs: &mut Pairs) {
        match self {
            Self::Dense(t) => t.first(codes, pairs),
            Self::Narrow(t) => t.first(codes, candidates, pairs),
            Self::Wide(t) => t.first(codes, candidates, pairs),
        }
    }

    /// Replaces `rows` by the probe rows whose code occurs, ascending.
    pub fn present(
        &self,
        codes: &[u64],
        candidates: &mut Candidates,
        pairs: &mut Pairs,
        rows: &mut Vec<u32>,
    ) {
        match self {
            Self::Dense(t) => t.present(codes, rows),
            _ => {
                self.first(codes, candidates, pairs);
                std::mem::swap(rows, &mut pairs.probe);
                pairs.clear();
            }
        }
    }

    /// `codes[i]` is the code of `positions[i]`: keeps the positions whose code may occur, in
    /// order. Of hashed codes about one in eighty that does not occur is kept.
    pub fn retain(&self, codes: &[u64], positions: &mut Vec<u32>) {
        each_table!(self, t => t.retain_codes(codes, positions));
    }

    /// Replaces `candidates` by where the matches of `codes` may be.
    pub fn locate(&self, codes: &[u64], candidates: &mut Candidates) {
        each_table!(self, t => t.locate(codes, candidates));
    }

    /// Appends pairs from the front of `candidates`, made by [`Self::locate`] from the same
    /// `codes`, until there are `limit` in `pairs` or no candidates are left.
    pub fn expand(
        &self,
        codes: &[u64],
        candidates: &mut Candidates,
        limit: usize,
        pairs: &mut Pairs,
    ) {
        each_table!(self, t => t.expand(codes, candidates, limit, pairs));
    }
}
