//! Any codes: a directory of tagged runs over entries sorted by hash.
//!
//! ```text
//! directory[slot + 1] = | end of the run 48 bits | tags of its hashes 16 bits |
//! slot = top bits of the hash
//! entries[end of slot - 1 .. end of slot] = (key, row)
//! ```
//! Building partitions by the first bits of the hash, so that each partition's directory and
//! entries are written within the cache, by one worker: [`HashPlan::partition`] per part of the
//! rows, then [`HashBuilder::build`] per partition.
//! Source: Birler et al. 2024. Departure: two tag bits computed from the hash instead of four
//! looked up.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::key_set::retain_if;
use super::shards::Shards;
use super::{CACHED_BYTES, Candidates, MISS, Pairs, mix_into, prefetch};
use crate::hash::mix;

/// How a code is kept in an entry.
pub trait EntryKey: Copy + Default + Send + Sync + std::fmt::Debug + 'static {
    /// The key of `code`, which fits.
    fn from_code(code: u64) -> Self;
    /// The code.
    fn code(self) -> u64;
}

impl EntryKey for u32 {
    #[inline(always)]
    fn from_code(code: u64) -> Self {
        debug_assert!(code <= u64::from(u32::MAX));
        code as u32
    }
    #[inline(always)]
    fn code(self) -> u64 {
        u64::from(self)
    }
}

impl EntryKey for u64 {
    #[inline(always)]
    fn from_code(code: u64) -> Self {
        code
    }
    #[inline(always)]
    fn code(self) -> u64 {
        self
    }
}

/// A key and its row; packed, so that a 64-bit key takes 12 bytes.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
struct Entry<K> {
    key: K,
    row: u32,
}

/// Two of the lowest 16 bits.
#[inline(always)]
fn tag(hash: u64) -> u64 {
    1 << (hash >> 20 & 15) | 1 << (hash >> 24 & 15)
}

/// Rows of a partition: its directory and entries (about 300 KB) stay in a 2 MiB cache while
/// written.
const PARTITION_ROWS: usize = 1 << 14;
const PARTITION_BITS_MAX: u32 = 8;
const DIRECTORY_BITS_MIN: u32 = 6;

/// Sizes of a table for a number of rows.
#[derive(Clone, Copy, Debug)]
pub struct HashPlan {
    directory_bits: u32,
    partition_bits: u32,
}

impl HashPlan {
    /// A plan for `rows` rows.
    pub fn new(rows: usize) -> Self {
        let directory_bits = rows.max(1).next_power_of_two().ilog2().max(DIRECTORY_BITS_MIN);
        let partitions = rows.div_ceil(PARTITION_ROWS).max(1).next_power_of_two();
        let partition_bits = partitions.ilog2().min(PARTITION_BITS_MAX);
        Self { directory_bits, partition_bits }
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> usize {
        1 << self.partition_bits
    }

    /// Bytes that building a table with keys of type `K` needs at most.
    pub fn bytes_needed<K: EntryKey>(&self, rows: usize) -> u64 {
        (8 << self.directory_bits) + rows as u64 * 2 * size_of::<Entry<K>>() as u64
    }

    #[inline(always)]
    fn partition_of(&self, hash: u64) -> usize {
        // Two shifts, because there may be no partition bits.
        (hash >> 1 >> (63 - self.partition_bits)) as usize
    }

    /// The entries of rows `first_row..`, with these codes, sorted by partition; [`MISS`] is left
    /// out.
    pub fn partition<K: EntryKey>(&self, codes: &[u64], first_row: u32) -> Partition<K> {
        let mut bounds = vec![0u32; self.partitions() + 1];
        for &code in codes {
            bounds[self.partition_of(mix(code)) + 1] += u32::from(code != MISS);
        }
        for p in 1..bounds.len() {
            bounds[p] += bounds[p - 1];
        }
        let mut next = bounds.clone();
        let mut entries = vec![Entry::default(); bounds[self.partitions()] as usize];
        for (i, &code) in codes.iter().enumerate() {
            if code != MISS {
                let place = &mut next[self.partition_of(mix(code))];
                let row = first_row + i as u32;
                entries[*place as usize] = Entry { key: K::from_code(code), row };
                *place += 1;
            }
        }
        Partition { entries, bounds }
    }
}

/// Entries of some rows, sorted by partition.
pub struct Partition<K> {
    entries: Vec<Entry<K>>,
    bounds: Vec<u32>,
}

/// A table being built, by partition.
pub struct HashBuilder<K> {
    plan: HashPlan,
    parts: Vec<Partition<K>>,
    bases: Vec<usize>,
    directory: Shards<u64>,
    entries: Shards<Entry<K>>,
    repeated: AtomicBool,
}

impl<K: EntryKey> HashBuilder<K> {
    /// A table of the rows in `parts`, made by `plan` in ascending order of rows.
    pub fn new(plan: HashPlan, parts: Vec<Partition<K>>) -> Self {
        let mut bases = vec![0usize];
        for p in 0..plan.partitions() {
            let rows = |part: &Partition<K>| (part.bounds[p + 1] - part.bounds[p]) as usize;
            bases.push(bases[p] + parts.iter().map(rows).sum::<usize>());
        }
        let slots = 1usize << plan.directory_bits;
        let slots_each = slots / plan.partitions();
        let bounds = (0..=plan.partitions()).map(|p| 1 + p * slots_each).collect();
        let directory = Shards::new(vec![0; slots + 1], bounds);
        let count = bases[plan.partitions()];
        let entries = Shards::new(vec![Entry::default(); count], bases.clone());
        Self { plan, parts, bases, directory, entries, repeated: AtomicBool::new(false) }
    }

    /// How many partitions [`Self::build`] must be called for.
    pub fn partitions(&self) -> usize {
        self.plan.partitions()
    }

    /// Builds partition `p`, once.
    pub fn build(&self, p: usize) {
        let directory = self.directory.take(p);
        let entries = self.entries.take(p);
        let base = self.bases[p] as u64;
        let shift = 64 - self.plan.directory_bits;
        let mask = directory.len() - 1;
        let slot = |hash: u64| (hash >> shift) as usize & mask;
        let parts = || {
            self.parts.iter().flat_map(|part| {
                &part.entries[part.bounds[p] as usize..part.bounds[p + 1] as usize]
            })
        };
        for entry in parts() {
            let hash = mix({ entry.key }.code());
            let word = &mut directory[slot(hash)];
            *word = (*word + (1 << 16)) | tag(hash);
        }
        let mut start = base;
        for word in directory.iter_mut() {
            let count = *word >> 16;
            *word = start << 16 | (*word & 0xFFFF);
            start += count;
        }
        for entry in parts() {
            let word = &mut directory[slot(mix({ entry.key }.code()))];
            entries[((*word >> 16) - base) as usize] = *entry;
            *word += 1 << 16;
        }
        if !self.repeated.load(Ordering::Relaxed) && has_repeated(directory, entries, base) {
            self.repeated.store(true, Ordering::Relaxed);
        }
    }

    /// The table, when all partitions are built.
    pub fn finish(self) -> HashTable<K> {
        HashTable {
            directory: self.directory.into_inner(),
            entries: self.entries.into_inner(),
            shift: 64 - self.plan.directory_bits,
            unique: !self.repeated.into_inner(),
        }
    }
}

/// True when two entries of a run have one key. Runs of distinct keys are short, so that comparing
/// all pairs is cheap; a long run has equal keys, and its first repeated key ends the search.
fn has_repeated<K: EntryKey>(directory: &[u64], entries: &[Entry<K>], base: u64) -> bool {
    let mut start = 0;
    for word in directory {
        let end = ((word >> 16) - base) as usize;
        for i in start..end {
            let key = { entries[i].key }.code();
            if entries[i + 1..end].iter().any(|e| { e.key }.code() == key) {
                return true;
            }
        }
        start = end;
    }
    false
}

/// How many rows ahead the probe asks for cache lines: about 16 misses can be under way.
const AHEAD: usize = 16;

/// A hash table from codes to rows.
pub struct HashTable<K> {
    directory: Vec<u64>,
    entries: Vec<Entry<K>>,
    shift: u32,
    unique: bool,
}

impl<K: EntryKey> HashTable<K> {
    /// The table of `codes`, built by the calling thread alone.
    pub fn from_codes(codes: &[u64]) -> Self {
        let plan = HashPlan::new(codes.len());
        let builder = HashBuilder::new(plan, vec![plan.partition::<K>(codes, 0)]);
        (0..builder.partitions()).for_each(|p| builder.build(p));
        builder.finish()
    }

    /// True when no code occurs twice.
    pub fn is_unique(&self) -> bool {
        self.unique
    }

    /// Rows in the table.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.directory.len() * 8 + self.entries.len() * size_of::<Entry<K>>()
    }

    /// See [`super::JoinTable::retain`]: by tags alone, so that no entry is read.
    pub fn retain_codes(&self, codes: &[u64], positions: &mut Vec<u32>) {
        let (directory, shift) = (&*self.directory, self.shift);
        retain_if(codes, positions, |code: u64| {
            let hash = mix(code);
            let tag = tag(hash);
            let word = directory[(hash >> shift) as usize + 1];
            (code != MISS) & (word & tag == tag)
        });
    }

    /// See [`super::JoinTable::locate`].
    pub fn locate(&self, codes: &[u64], candidates: &mut Candidates) {
        thread_local! {
            static HASHES: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
        }
        candidates.reset(codes.len());
        HASHES.with_borrow_mut(|hashes| {
            mix_into(codes, hashes);
            if self.directory.len() * 8 > CACHED_BYTES {
                self.look_up::<true>(hashes, candidates);
            } else {
                self.look_up::<false>(hashes, candidates);
            }
        });
    }

    fn look_up<const PREFETCH: bool>(&self, hashes: &[u64], candidates: &mut Candidates) {
        let count = hashes.len();
        let probe = &mut candidates.probe[..count];
        let start = &mut candidates.start[..count];
        let end = &mut candidates.end[..count];
        let mut found = 0;
        for i in 0..count {
            if PREFETCH {
                let later = hashes[(i + AHEAD).min(count - 1)];
                prefetch(&self.directory, (later >> self.shift) as usize);
            }
            let slot = (hashes[i] >> self.shift) as usize;
            debug_assert!(slot + 1 < self.directory.len());
            // SAFETY: the directory has a word more than there are values of the hash's top bits.
            let (before, word) = unsafe {
                (*self.directory.get_unchecked(slot), *self.directory.get_unchecked(slot + 1))
            };
            let tag = tag(hashes[i]);
            probe[found] = i as u32;
            start[found] = (before >> 16) as u32;
            end[found] = (word >> 16) as u32;
            found += usize::from(word & tag == tag);
        }
        candidates.len = found;
    }

    /// Asks for the entries of the candidate `AHEAD` after `i`.
    #[inline(always)]
    fn prefetch_entries(&self, candidates: &Candidates, i: usize) {
        let later = (i + AHEAD).min(candidates.len - 1);
        prefetch(&self.entries, candidates.start[later] as usize);
    }

    /// See [`super::JoinTable::first`].
    pub fn first(&self, codes: &[u64], candidates: &mut Candidates, pairs: &mut Pairs) {
        self.locate(codes, candidates);
        pairs.probe.resize(candidates.len, 0);
        pairs.build.resize(candidates.len, 0);
        let mut found = 0;
        for i in 0..candidates.len {
            self.prefetch_entries(candidates, i);
            let probe = candidates.probe[i];
            let code = codes[probe as usize];
            let run = &self.entries[candidates.start[i] as usize..candidates.end[i] as usize];
            // The match is the first or second entry nearly always; both are tested, no branch.
            let second = run[usize::from(run.len() > 1)];
            let hit_first = { run[0].key }.code() == code;
            let hit_second = { second.key }.code() == code;
            let mut row = if hit_first { run[0].row } else { second.row };
            let mut hit = hit_first | hit_second;
            if !hit && run.len() > 2 {
                let other = run[2..].iter().find(|e| { e.key }.code() == code);
                hit = other.is_some();
                row = other.map_or(row, |e| e.row);
            }
            pairs.probe[found] = probe;
            pairs.build[found] = row;
            found += usize::from(hit);
        }
        pairs.probe.truncate(found);
        pairs.build.truncate(found);
    }

    /// See [`super::JoinTable::expand`].
    pub fn expand(
        &self,
        codes: &[u64],
        candidates: &mut Candidates,
        limit: usize,
        pairs: &mut Pairs,
    ) {
        while candidates.next < candidates.len && pairs.len() < limit {
            let next = candidates.next;
            self.prefetch_entries(candidates, next);
            let probe = candidates.probe[next];
            let code = codes[probe as usize];
            let (start, end) = (candidates.start[next], candidates.end[next]);
            let stop = end.min(start + (limit - pairs.len()).min(u32::MAX as usize / 2) as u32);
            for entry in &self.entries[start as usize..stop as usize] {
                if { entry.key }.code() == code {
                    pairs.probe.push(probe);
                    pairs.build.push(entry.row);
                }
            }
            if stop < end {
                candidates.start[next] = stop;
            } else {
                candidates.next += 1;
            }
        }
    }
}
