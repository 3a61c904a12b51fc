//! Group tables over keys of bytes.

use super::{AHEAD, CACHED_BYTES, NO_GROUP, prefetch};
use crate::hash::mix;

/// Most bytes of a chunk of short rows: a table grows by such pieces, so that no key beyond the
/// first of them is ever copied to make room for others.
const CHUNK_BYTES: usize = 1 << 20;
/// A new chunk has room for this part of what there is, so that many small tables hold little that
/// they do not use.
const SPARE_PART: usize = 4;
/// Bits of an end that say how far it is into its chunk; the others are the chunk's number.
const OFFSET_BITS: u32 = 40;

/// Byte strings, one per row, behind each other in chunks. A row lies in one chunk.
#[derive(Clone, Debug, Default)]
pub struct RowBytes {
    chunks: Vec<Vec<u8>>,
    /// Where each row ends: chunk and offset.
    ends: Vec<u64>,
}

impl RowBytes {
    /// Rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        let end = self.ends[i];
        let chunk = end >> OFFSET_BITS;
        // The first row of a chunk starts where the chunk does.
        let before = if i == 0 { 0 } else { self.ends[i - 1] };
        let start = if before >> OFFSET_BITS == chunk { offset_of(before) } else { 0 };
        &self.chunks[chunk as usize][start..offset_of(end)]
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(Vec::capacity).sum();
        chunks + self.ends.capacity() * size_of::<u64>()
    }

    /// Forgets all rows and keeps the memory of the first chunk.
    pub fn clear(&mut self) {
        self.chunks.truncate(1);
        self.chunks.iter_mut().for_each(Vec::clear);
        self.ends.clear();
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: &[u8]) {
        let number = self.chunk_for(row.len());
        let chunk = &mut self.chunks[number];
        chunk.extend_from_slice(row);
        self.ends.push((number as u64) << OFFSET_BITS | chunk.len() as u64);
    }

    /// The chunk that the next `bytes` go to.
    #[inline]
    fn chunk_for(&mut self, bytes: usize) -> usize {
        let has_room = match &self.chunks[..] {
            [] => false,
            // The first grows as vectors do.
            [first] => first.len() + bytes <= CHUNK_BYTES.max(first.capacity()),
            [.., last] => last.len() + bytes <= last.capacity(),
        };
        if !has_room {
            let held: usize = self.chunks.iter().map(Vec::len).sum();
            let room = (held / SPARE_PART).min(CHUNK_BYTES).max(bytes);
            self.chunks.push(Vec::with_capacity(room));
        }
        self.chunks.len() - 1
    }

    /// Appends the rows of `source` at `positions`.
    pub fn append(&mut self, source: &Self, positions: &[u32]) {
        positions.iter().for_each(|&p| self.push(source.get(p as usize)));
    }

    /// Appends rows of `lengths` zero bytes, all in one chunk; gives the chunk and the start of
    /// each new row in it.
    pub fn extend_zeroed(&mut self, lengths: &[usize]) -> (&mut [u8], Vec<usize>) {
        let number = self.chunk_for(lengths.iter().sum());
        let chunk = &mut self.chunks[number];
        let mut end = chunk.len();
        let mut starts = Vec::with_capacity(lengths.len());
        for length in lengths {
            starts.push(end);
            end += length;
            self.ends.push((number as u64) << OFFSET_BITS | end as u64);
        }
        chunk.resize(end, 0);
        (chunk, starts)
    }

    /// Appends the hash of each row to `hashes`.
    pub fn hash_rows(&self, hashes: &mut Vec<u64>) {
        hashes.extend((0..self.len()).map(|i| hash_row(self.get(i))));
    }
}

/// How far an end is into its chunk.
#[inline(always)]
fn offset_of(end: u64) -> usize {
    (end & ((1 << OFFSET_BITS) - 1)) as usize
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of one key; every bit is usable. After wyhash (Wang 2019).
#[inline]
pub(super) fn hash_row(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
    const FOLD: u64 = 0xe703_7ed1_a0b4_28db;
    let mut state = SEED ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(u64::from_le_bytes(*word) ^ FOLD, state ^ SEED);
    }
    if !rest.is_empty() {
        let mut last = [0u8; 8];
        last[..rest.len()].copy_from_slice(rest);
        state = fold(u64::from_le_bytes(last) ^ FOLD, state ^ SEED);
    }
    mix(state)
}

#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    group: u32,
}

const EMPTY: Slot = Slot { tag: 0, group: NO_GROUP };
const SLOTS_MIN: usize = 64;

/// Numbers the distinct byte strings it meets.
#[derive(Clone)]
pub struct BytesTable {
    slots: Vec<Slot>,
    mask: usize,
    keys: RowBytes,
    hashes: Vec<u64>,
}

impl Default for BytesTable {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl BytesTable {
    /// A table with room for `groups` before it grows.
    pub fn with_capacity(groups: usize) -> Self {
        let slots = (groups * 2).next_power_of_two().max(SLOTS_MIN);
        Self {
            slots: vec![EMPTY; slots],
            mask: slots - 1,
            keys: RowBytes::default(),
            hashes: Vec::new(),
        }
    }

    /// Groups.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True without groups.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys, by group.
    pub fn keys(&self) -> &RowBytes {
        &self.keys
    }

    /// The hashes of the keys, by group.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.keys.bytes() + self.hashes.capacity() * 8
    }

    /// Forgets all groups and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.fill(EMPTY);
        self.keys.clear();
        self.hashes.clear();
    }

    /// The group of `key`, made when there is none.
    #[inline]
    pub fn find_or_insert_one(&mut self, key: &[u8]) -> u32 {
        self.reserve(1);
        self.enter(key, hash_row(key))
    }

    /// Appends the group of each row of `keys`, whose hashes are `hashes`, making those that there
    /// are not.
    pub fn find_or_insert(&mut self, keys: &RowBytes, hashes: &[u64], groups: &mut Vec<u32>) {
        assert_eq!(keys.len(), hashes.len(), "a hash per key");
        groups.reserve(keys.len());
        self.reserve(keys.len().min(crate::BATCH_ROWS));
        for (i, &hash) in hashes.iter().enumerate() {
            if i % crate::BATCH_ROWS == 0 {
                self.reserve((keys.len() - i).min(crate::BATCH_ROWS));
            }
            if self.slots.len() * size_of::<Slot>() > CACHED_BYTES
                && let Some(next) = hashes.get(i + AHEAD)
            {
                prefetch(&self.slots, *next as usize & self.mask);
            }
            groups.push(self.enter(keys.get(i), hash));
        }
    }

    /// Requires a reserved place.
    #[inline(always)]
    fn enter(&mut self, key: &[u8], hash: u64) -> u32 {
        let tag = (hash >> 32) as u32;
        let mut at = hash as usize & self.mask;
        loop {
            debug_assert!(at < self.slots.len());
            // SAFETY: there are `mask + 1` slots.
            let slot = unsafe { self.slots.get_unchecked_mut(at) };
            if slot.group == NO_GROUP {
                let group = self.keys.len() as u32;
                *slot = Slot { tag, group };
                self.keys.push(key);
                self.hashes.push(hash);
                return group;
            }
            if slot.tag == tag && self.keys.get(slot.group as usize) == key {
                return slot.group;
            }
            at = (at + 1) & self.mask;
        }
    }

    #[inline]
    fn reserve(&mut self, more: usize) {
        let needed = (self.keys.len() + more) * 2;
        if needed > self.slots.len() {
            self.grow(needed.next_power_of_two());
        }
    }

    #[cold]
    fn grow(&mut self, slots: usize) {
        self.slots = vec![EMPTY; slots];
        self.mask = slots - 1;
        for (group, &hash) in self.hashes.iter().enumerate() {
            let mut at = hash as usize & self.mask;
            while self.slots[at].group != NO_GROUP {
                at = (at + 1) & self.mask;
            }
            self.slots[at] = Slot { tag: (hash >> 32) as u32, group: group as u32 };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_those_of_first_appearance(
            keys in vec(vec(0u8..3, 0..20), 0..400),
        ) {
            let mut rows = RowBytes::default();
            keys.iter().for_each(|k| rows.push(k));
            let mut hashes = Vec::new();
            rows.hash_rows(&mut hashes);
            let mut table = BytesTable::default();
            let mut groups = Vec::new();
            table.find_or_insert(&rows, &hashes, &mut groups);
            let mut twin: HashMap<&[u8], u32> = HashMap::new();
            for (key, &group) in keys.iter().zip(&groups) {
                let next = twin.len() as u32;
                prop_assert_eq!(*twin.entry(key).or_insert(next), group);
            }
            for (key, &group) in &twin {
                prop_assert_eq!(table.find_or_insert_one(key), group);
                prop_assert_eq!(table.keys().get(group as usize), *key);
            }
            prop_assert_eq!(table.len(), twin.len());
        }
    }

    #[test]
    fn rows_come_back_across_chunks() {
        let (mut rows, mut twin) = (RowBytes::default(), Vec::new());
        let lengths = [0, 1, 700_000, 5, CHUNK_BYTES, 0, CHUNK_BYTES + 3, 0, 9, 400_000, 650_000];
        for (i, &length) in lengths.iter().enumerate() {
            let row = vec![i as u8; length];
            rows.push(&row);
            twin.push(row);
            let (bytes, starts) = rows.extend_zeroed(&[2, length, 1]);
            starts.iter().for_each(|&start| bytes[start] = 7);
            let mut long = vec![0; length];
            // A row of no bytes starts where the next one does.
            long.iter_mut().take(1).for_each(|first| *first = 7);
            twin.extend([vec![7, 0], long, vec![7]]);
        }
        assert_eq!(rows.len(), twin.len());
        assert!(twin.iter().enumerate().all(|(i, row)| rows.get(i) == &row[..]));
        let all: usize = twin.iter().map(Vec::len).sum();
        assert!(rows.bytes() < 2 * all, "{} bytes hold {all}", rows.bytes());
        rows.clear();
        rows.push(b"again");
        assert_eq!((rows.len(), rows.get(0)), (1, &b"again"[..]));
    }

    #[test]
    fn a_large_table_keeps_its_numbers() {
        let mut rows = RowBytes::default();
        (0..100_000u32).for_each(|i| rows.push(format!("customer {i}").as_bytes()));
        let mut hashes = Vec::new();
        rows.hash_rows(&mut hashes);
        let mut table = BytesTable::default();
        let mut groups = Vec::new();
        table.find_or_insert(&rows, &hashes, &mut groups);
        table.find_or_insert(&rows, &hashes, &mut groups);
        assert!(groups.iter().enumerate().all(|(i, &g)| g as usize == i % 100_000));
        let mut lengths = RowBytes::default();
        let (bytes, starts) = lengths.extend_zeroed(&[2, 0, 3]);
        assert_eq!((bytes.len(), starts), (5, vec![0, 2, 2]));
        assert_eq!(lengths.get(2), [0, 0, 0]);
    }
}
