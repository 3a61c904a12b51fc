//! How buckets hold keys.
//!
//! ```text
//! Fixed<1>, Fixed<2>   the words of the key; the hash is computed again when a bucket is split
//! Long                 | hash | place of all bytes |
//! ```
//! Invariant: as that of the forms of the tree: an entry is from [`HashForm::make_entry`], from a
//! latched chain, or from one that was found unchanged after it was read, under a guard.

use super::super::form::{Attempt, Changed, Fixed, KeyForm, Long, Probe};
use super::super::tail::{Tail, held_bytes};

/// A way to hold keys in buckets.
pub(in crate::index) trait HashForm: KeyForm {
    /// The words of a key in a bucket.
    type Entry: Copy + Send + 'static;
    /// Words in it.
    const ENTRY_WORDS: usize;

    fn load_entry(word: impl Fn(usize) -> u64) -> Self::Entry;
    fn entry_word(entry: &Self::Entry, j: usize) -> u64;

    /// The words to hash.
    fn words(probe: &Probe<'_>) -> [u64; 2];
    fn entry_words(entry: &Self::Entry) -> [u64; 2];
    /// The hash, if it is in the entry.
    fn stored_hash(entry: &Self::Entry) -> Option<u64>;

    /// True when the key of an entry, good if `is_valid` afterwards, is `key`.
    fn is_match(
        entry: &Self::Entry,
        hash: u64,
        key: &[u8],
        is_valid: impl Fn() -> bool,
        guard: &Self::Guard,
    ) -> Attempt<bool>;

    fn make_entry(hash: u64, probe: &Probe<'_>) -> Self::Entry;
    fn entry_bytes_needed(probe: &Probe<'_>) -> u64;
    fn entry_bytes_held(entry: &Self::Entry) -> u64;
    fn free_entry(entry: Self::Entry);
    fn retire_entry(entry: Self::Entry, guard: &Self::Guard);
    /// Appends the bytes of the key; `width` of them if all are equally long.
    fn write_entry(entry: &Self::Entry, width: usize, bytes: &mut Vec<u8>);
}

impl<const N: usize> HashForm for Fixed<N> {
    type Entry = [u64; N];
    const ENTRY_WORDS: usize = N;

    #[inline]
    fn load_entry(word: impl Fn(usize) -> u64) -> [u64; N] {
        std::array::from_fn(word)
    }

    #[inline]
    fn entry_word(entry: &[u64; N], j: usize) -> u64 {
        entry[j]
    }

    #[inline]
    fn words(probe: &Probe<'_>) -> [u64; 2] {
        Self::entry_words(&Self::make(probe))
    }

    #[inline]
    fn entry_words(entry: &[u64; N]) -> [u64; 2] {
        [entry[0], if N > 1 { entry[1] } else { 0 }]
    }

    fn stored_hash(_: &[u64; N]) -> Option<u64> {
        None
    }

    #[inline]
    fn is_match(
        entry: &[u64; N],
        _: u64,
        key: &[u8],
        _: impl Fn() -> bool,
        _: &(),
    ) -> Attempt<bool> {
        Ok(*entry == Self::make(&Probe::new(key)))
    }

    fn make_entry(_: u64, probe: &Probe<'_>) -> [u64; N] {
        Self::make(probe)
    }

    fn entry_bytes_needed(_: &Probe<'_>) -> u64 {
        0
    }

    fn entry_bytes_held(_: &[u64; N]) -> u64 {
        0
    }

    fn free_entry(_: [u64; N]) {}

    fn retire_entry(_: [u64; N], _: &()) {}

    fn write_entry(entry: &[u64; N], width: usize, bytes: &mut Vec<u8>) {
        Self::write(entry, width, bytes);
    }
}

impl HashForm for Long {
    type Entry = [u64; 2];
    const ENTRY_WORDS: usize = 2;

    #[inline]
    fn load_entry(word: impl Fn(usize) -> u64) -> [u64; 2] {
        std::array::from_fn(word)
    }

    #[inline]
    fn entry_word(entry: &[u64; 2], j: usize) -> u64 {
        entry[j]
    }

    fn words(_: &Probe<'_>) -> [u64; 2] {
        unreachable!("long keys are hashed as bytes")
    }

    fn entry_words(_: &[u64; 2]) -> [u64; 2] {
        unreachable!("long keys keep their hash")
    }

    fn stored_hash(entry: &[u64; 2]) -> Option<u64> {
        Some(entry[0])
    }

    #[inline]
    fn is_match(
        entry: &[u64; 2],
        hash: u64,
        key: &[u8],
        is_valid: impl Fn() -> bool,
        _: &Self::Guard,
    ) -> Attempt<bool> {
        if entry[0] != hash {
            return Ok(false);
        }
        if !is_valid() {
            return Err(Changed);
        }
        // SAFETY: the chain is unchanged, so the place is of a live entry, and the guard is pinned.
        Ok(unsafe { Tail::bytes_at(entry[1]) } == key)
    }

    fn make_entry(hash: u64, probe: &Probe<'_>) -> [u64; 2] {
        [hash, Tail::new(probe.key()).into_word()]
    }

    fn entry_bytes_needed(probe: &Probe<'_>) -> u64 {
        held_bytes(probe.key().len())
    }

    fn entry_bytes_held(entry: &[u64; 2]) -> u64 {
        // SAFETY: entries are alive by the invariant of the module.
        held_bytes(unsafe { Tail::bytes_at(entry[1]) }.len())
    }

    fn free_entry(entry: [u64; 2]) {
        // SAFETY: the entry left its chain, so this is the only owner of its bytes.
        drop(unsafe { Tail::from_word(entry[1]) });
    }

    fn retire_entry(entry: [u64; 2], guard: &Self::Guard) {
        // SAFETY: the entry left its chain, so this is the only owner of its bytes; readers that
        // found it before are pinned.
        unsafe { Tail::from_word(entry[1]) }.retire(guard);
    }

    fn write_entry(entry: &[u64; 2], _: usize, bytes: &mut Vec<u8>) {
        // SAFETY: entries are alive by the invariant of the module.
        bytes.extend_from_slice(unsafe { Tail::bytes_at(entry[1]) });
    }
}
