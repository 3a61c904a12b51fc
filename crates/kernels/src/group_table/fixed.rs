//! Group tables over keys of one or two words.

use super::{AHEAD, CACHED_BYTES, NO_GROUP, prefetch};
use crate::Bitmap;
use crate::hash::mix;

/// A key of 128 bits as two words, so that a slot needs no more than 24 bytes.
pub type PairKey = [u64; 2];

/// A key of fixed width.
pub trait FixedKey: Copy + Eq + Default + Send + Sync + 'static {
    /// Its hash; every bit is usable.
    fn hash(self) -> u64;
}

impl FixedKey for u64 {
    #[inline(always)]
    fn hash(self) -> u64 {
        mix(self)
    }
}

impl FixedKey for PairKey {
    #[inline(always)]
    fn hash(self) -> u64 {
        mix(self[1] ^ mix(self[0]).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

#[derive(Clone, Copy)]
struct Slot<K> {
    key: K,
    group: u32,
}

/// Numbers the distinct keys it meets. NULL as a whole key is a group of its own.
#[derive(Clone)]
pub struct FixedTable<K> {
    slots: Vec<Slot<K>>,
    mask: usize,
    keys: Vec<K>,
    null: Option<u32>,
}

const SLOTS_MIN: usize = 64;

impl<K: FixedKey> Default for FixedTable<K> {
    fn default() -> Self {
        Self { slots: empty(SLOTS_MIN), mask: SLOTS_MIN - 1, keys: Vec::new(), null: None }
    }
}

fn empty<K: FixedKey>(slots: usize) -> Vec<Slot<K>> {
    vec![Slot { key: K::default(), group: NO_GROUP }; slots]
}

impl<K: FixedKey> FixedTable<K> {
    /// A table with room for `groups` before it grows.
    pub fn with_capacity(groups: usize) -> Self {
        let slots = (groups * 2).next_power_of_two().max(SLOTS_MIN);
        Self { slots: empty(slots), mask: slots - 1, keys: Vec::with_capacity(groups), null: None }
    }

    /// Groups.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True without groups.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys, by group; that of the NULL group is arbitrary.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// The group of NULL.
    pub fn null(&self) -> Option<u32> {
        self.null
    }

    /// The rows of [`Self::keys`] that stand for NULL: one or none.
    pub fn null_rows(&self) -> &[u32] {
        self.null.as_slice()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot<K>>() + self.keys.capacity() * size_of::<K>()
    }

    /// Forgets all groups and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.fill(Slot { key: K::default(), group: NO_GROUP });
        self.keys.clear();
        self.null = None;
    }

    /// The group of NULL, made when there is none.
    pub fn find_or_insert_null(&mut self) -> u32 {
        *self.null.get_or_insert_with(|| {
            self.keys.push(K::default());
            self.keys.len() as u32 - 1
        })
    }

    /// The group of `key`, made when there is none.
    #[inline]
    pub fn find_or_insert_one(&mut self, key: K) -> u32 {
        self.reserve(1);
        self.enter(key)
    }

    /// Appends the group of each key to `groups`, making those that there are not.
    pub fn find_or_insert(&mut self, keys: &[K], groups: &mut Vec<u32>) {
        groups.reserve(keys.len());
        for part in keys.chunks(crate::BATCH_ROWS) {
            self.reserve(part.len());
            if self.slots.len() * size_of::<Slot<K>>() > CACHED_BYTES {
                for (i, &key) in part.iter().enumerate() {
                    if let Some(next) = part.get(i + AHEAD) {
                        prefetch(&self.slots, next.hash() as usize & self.mask);
                    }
                    groups.push(self.enter(key));
                }
            } else {
                groups.extend(part.iter().map(|&key| self.enter(key)));
            }
        }
    }

    /// As [`Self::find_or_insert`]; keys whose bit is 0 are NULL.
    pub fn find_or_insert_nullable(
        &mut self,
        keys: &[K],
        validity: Option<&Bitmap>,
        groups: &mut Vec<u32>,
    ) {
        let Some(validity) = validity else {
            return self.find_or_insert(keys, groups);
        };
        self.reserve(keys.len());
        for (i, &key) in keys.iter().enumerate() {
            let group = if validity.get(i) { self.enter(key) } else { self.find_or_insert_null() };
            groups.push(group);
        }
    }

    /// The group of `key`, if there is one.
    pub fn find(&self, key: K) -> Option<u32> {
        let mut at = key.hash() as usize & self.mask;
        loop {
            let slot = &self.slots[at];
            if slot.group == NO_GROUP {
                return None;
            }
            if slot.key == key {
                return Some(slot.group);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Requires a reserved place.
    #[inline(always)]
    fn enter(&mut self, key: K) -> u32 {
        let mut at = key.hash() as usize & self.mask;
        loop {
            debug_assert!(at < self.slots.len());
            // SAFETY: there are `mask + 1` slots.
            let slot = unsafe { self.slots.get_unchecked_mut(at) };
            if slot.group == NO_GROUP {
                let group = self.keys.len() as u32;
                *slot = Slot { key, group };
                self.keys.push(key);
                return group;
            }
            if slot.key == key {
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
        self.slots = empty(slots);
        self.mask = slots - 1;
        for (group, key) in self.keys.iter().enumerate() {
            if self.null == Some(group as u32) {
                continue;
            }
            let mut at = key.hash() as usize & self.mask;
            while self.slots[at].group != NO_GROUP {
                at = (at + 1) & self.mask;
            }
            self.slots[at] = Slot { key: *key, group: group as u32 };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use testkit::{values, with_gaps};

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_those_of_first_appearance(
            batches in vec(vec(with_gaps(values::<u64>()), 0..300), 0..6),
        ) {
            let mut table = FixedTable::<u64>::default();
            let mut pairs = FixedTable::<PairKey>::default();
            let mut twin: HashMap<Option<u64>, u32> = HashMap::new();
            for batch in batches {
                let keys: Vec<u64> = batch.iter().map(|k| k.unwrap_or(77)).collect();
                let valid = Bitmap::from_fn(batch.len(), |i| batch[i].is_some());
                let mut groups = Vec::new();
                table.find_or_insert_nullable(&keys, Some(&valid), &mut groups);
                let mut pair_groups = Vec::new();
                let two: Vec<PairKey> = keys.iter().map(|&k| [k % 3, k]).collect();
                pairs.find_or_insert_nullable(&two, Some(&valid), &mut pair_groups);
                prop_assert_eq!(&groups, &pair_groups);
                for (key, group) in batch.iter().zip(groups) {
                    let next = twin.len() as u32;
                    prop_assert_eq!(*twin.entry(*key).or_insert(next), group);
                }
            }
            prop_assert_eq!(table.len(), twin.len());
            prop_assert_eq!(table.null(), twin.get(&None).copied());
            for (key, &group) in &twin {
                if let Some(key) = key {
                    prop_assert_eq!(table.find(*key), Some(group));
                    prop_assert_eq!(table.keys()[group as usize], *key);
                }
            }
        }
    }

    #[test]
    fn a_large_table_keeps_its_numbers() {
        let mut table = FixedTable::<u64>::default();
        let keys: Vec<u64> = (0..200_000u64).map(|i| i * 4096).collect();
        let mut groups = Vec::new();
        table.find_or_insert(&keys, &mut groups);
        table.find_or_insert(&keys, &mut groups);
        assert!(groups.iter().enumerate().all(|(i, &g)| g as usize == i % 200_000));
        table.clear();
        assert!(table.is_empty() && table.find(4096).is_none());
        assert_eq!(table.find_or_insert_one(5), 0);
    }
}
