//! Where each merged key stands: read without locks, changed by copying what a merge touches.
//!
//! ```text
//! key -> hash -> partition -> bucket, or its other bucket       4 entries of 16 bytes a bucket
//! ```
//! A key is in one of two buckets, so a look-up reads two cache lines at most. A partition is
//! copied when the first of its keys changes, and shared with the index before otherwise.
//! Source: Pagh and Rodler 2004 (cuckoo hashing), with buckets; Pilman 2017, section 4.4.1.

use std::sync::Arc;

use kernels::hash::mix;

/// Page and record of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub page: u32,
    pub record: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    place: Place,
}

const NOWHERE: Place = Place { page: u32::MAX, record: u32::MAX };
const FREE: Slot = Slot { key: 0, place: NOWHERE };

/// Entries of a bucket: a cache line.
const BUCKET: usize = 4;
/// Entries that are moved to make room before the partition is made larger.
const MOVES_MAX: usize = 64;
/// Keys of a partition, on average, above which there are more partitions.
const PARTITION_KEYS: usize = 2048;

#[derive(Clone, Debug)]
struct Partition {
    buckets: Vec<[Slot; BUCKET]>,
}

/// The index of one state.
#[derive(Clone, Debug)]
pub(super) struct Index {
    partitions: Vec<Arc<Partition>>,
    keys: usize,
}

/// Bits of a hash that choose a partition lie above those that choose buckets.
const PARTITION_SHIFT: u32 = 40;

impl Index {
    pub(super) fn new() -> Self {
        Self { partitions: vec![Arc::new(Partition::new(1))], keys: 0 }
    }

    /// Where `key` is.
    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<Place> {
        let hash = mix(key);
        self.partitions[self.partition(hash)].find(key, hash)
    }

    #[inline]
    fn partition(&self, hash: u64) -> usize {
        (hash >> PARTITION_SHIFT) as usize & (self.partitions.len() - 1)
    }

    /// Puts `key`, which is new or gets another place.
    pub(super) fn put(&mut self, key: u64, place: Place) {
        if self.keys > self.partitions.len() * PARTITION_KEYS {
            self.split();
        }
        let hash = mix(key);
        let number = self.partition(hash);
        let partition = Arc::make_mut(&mut self.partitions[number]);
        if let Some(slot) = partition.slot(key, hash) {
            slot.place = place;
        } else {
            partition.put(Slot { key, place });
            self.keys += 1;
        }
    }

    /// Takes `key` out.
    pub(super) fn remove(&mut self, key: u64) {
        let hash = mix(key);
        let number = self.partition(hash);
        if let Some(slot) = Arc::make_mut(&mut self.partitions[number]).slot(key, hash) {
            *slot = FREE;
            self.keys -= 1;
        }
    }

    /// Twice as many partitions.
    fn split(&mut self) {
        let old = std::mem::take(&mut self.partitions);
        let buckets = PARTITION_KEYS / 3;
        let fresh = (0..old.len() * 2).map(|_| Partition::new(buckets.next_power_of_two()));
        let mut fresh: Vec<Partition> = fresh.collect();
        for slot in old.iter().flat_map(|partition| partition.buckets.iter().flatten()) {
            if slot.place != NOWHERE {
                let number = (mix(slot.key) >> PARTITION_SHIFT) as usize & (fresh.len() - 1);
                fresh[number].put(*slot);
            }
        }
        self.partitions = fresh.into_iter().map(Arc::new).collect();
    }

    /// Bytes it takes, parts that it shares included.
    pub(super) fn bytes(&self) -> usize {
        let buckets: usize = self.partitions.iter().map(|p| p.buckets.len()).sum();
        buckets * size_of::<[Slot; BUCKET]>()
    }

    /// Partitions that two indexes share.
    #[cfg(test)]
    pub(super) fn shared_with(&self, other: &Self) -> usize {
        let pairs = self.partitions.iter().zip(&other.partitions);
        pairs.filter(|(a, b)| Arc::ptr_eq(a, b)).count()
    }
}

impl Partition {
    fn new(buckets: usize) -> Self {
        Self { buckets: vec![[FREE; BUCKET]; buckets] }
    }

    /// Numbers of the two buckets that a key may be in.
    #[inline]
    fn pair(&self, hash: u64) -> [usize; 2] {
        let mask = self.buckets.len() - 1;
        [hash as usize & mask, (hash >> 20) as usize & mask]
    }

    #[inline]
    fn find(&self, key: u64, hash: u64) -> Option<Place> {
        let pair = self.pair(hash);
        let mut slots = pair.iter().flat_map(|bucket| &self.buckets[*bucket]);
        slots.find(|slot| slot.key == key && slot.place != NOWHERE).map(|slot| slot.place)
    }

    fn slot(&mut self, key: u64, hash: u64) -> Option<&mut Slot> {
        let [a, b] = self.pair(hash);
        let is_here = |slot: &Slot| slot.key == key && slot.place != NOWHERE;
        let bucket = if self.buckets[a].iter().any(is_here) { a } else { b };
        self.buckets[bucket].iter_mut().find(|slot| is_here(slot))
    }

    /// Puts a key that is not there.
    fn put(&mut self, slot: Slot) {
        let mut slot = slot;
        for turn in 0..MOVES_MAX {
            let pair = self.pair(mix(slot.key));
            for bucket in pair {
                let free = self.buckets[bucket].iter_mut().find(|slot| slot.place == NOWHERE);
                if let Some(free) = free {
                    *free = slot;
                    return;
                }
            }
            // Another key makes room, and goes to its other bucket or on.
            let bucket = pair[turn % 2];
            std::mem::swap(&mut self.buckets[bucket][turn / 2 % BUCKET], &mut slot);
        }
        let mut larger = Self::new(self.buckets.len() * 2);
        for slot in self.buckets.iter().flatten().filter(|slot| slot.place != NOWHERE) {
            larger.put(*slot);
        }
        larger.put(slot);
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use testkit::Random;

    use super::*;

    /// Row 19: keys are found while copies of the index change, and copies share what is equal.
    #[test]
    fn an_index_is_a_map_and_its_copies_stay() {
        let mut random = Random::new(19);
        let (mut index, mut map) = (Index::new(), BTreeMap::new());
        let check = |index: &Index, map: &BTreeMap<u64, Place>| {
            for key in 0..12_000u64 {
                let key = (key << 40) | (key % 3);
                assert_eq!(index.find(key), map.get(&key).copied(), "{key}");
            }
        };
        let mut copies = Vec::new();
        for step in 0..20_000u32 {
            let key = random.below(12_000);
            let key = (key << 40) | (key % 3);
            if random.chance(30) {
                index.remove(key);
                map.remove(&key);
            } else {
                let place = Place { page: step, record: step / 3 };
                index.put(key, place);
                map.insert(key, place);
            }
            if step % 5000 == 4999 {
                copies.push((index.clone(), map.clone()));
            }
        }
        copies.iter().for_each(|(index, map)| check(index, map));
        check(&index, &map);
        let mut next = index.clone();
        next.put(1 << 50, Place { page: 0, record: 0 });
        assert_eq!(next.shared_with(&index), next.partitions.len() - 1);
    }
}
