//! Numbers the groups of keys, and loops that update one state per group.
//!
//! ```text
//! FixedTable   slots: | key, group u32 |  open addressing, linear     keys by group: Vec<K>
//! BytesTable   slots: | tag u32, group u32 |                        keys by group: one byte arena
//! ```
//! Groups are numbered from 0 in order of first appearance, so whatever belongs to a group is an
//! array indexed by its number. Tables are at most half full.
//!
//! Elsewhere: hashes (`hash`), the states themselves (`exec`).

mod bytes;
mod fixed;
pub mod update;

pub use bytes::{BytesTable, RowBytes};
pub use fixed::{FixedKey, FixedTable, PairKey};

/// No group: an empty slot.
pub const NO_GROUP: u32 = u32::MAX;

/// Bytes of slots above which they are assumed not to stay in the cache, so that prefetching pays.
const CACHED_BYTES: usize = 1 << 20;
/// How many keys ahead slots are asked for: enough to cover one miss to memory.
const AHEAD: usize = 16;

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
