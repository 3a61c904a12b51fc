//! Distinct values of a column, found by hashing until a dictionary can no longer win.

/// A hash table from values to the order in which they were first seen.
///
/// `T` is how a value is remembered (itself, or its row), found by hash first.
pub(super) struct Distinct<T> {
    slots: Vec<u32>,
    hashes: Vec<u64>,
    pub(super) entries: Vec<T>,
}

const EMPTY: u32 = u32::MAX;

impl<T: Copy> Distinct<T> {
    pub(super) fn new() -> Self {
        Self { slots: vec![EMPTY; 1 << 10], hashes: Vec::new(), entries: Vec::new() }
    }

    /// The number of the value with `hash` for which `same` holds; `value` becomes a new one if
    /// none does.
    #[inline]
    pub(super) fn find(&mut self, hash: u64, value: T, same: impl Fn(T) -> bool) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let idx = self.slots[slot];
            if idx == EMPTY {
                break;
            }
            if self.hashes[idx as usize] == hash && same(self.entries[idx as usize]) {
                return idx;
            }
            slot = (slot + 1) & mask;
        }
        let idx = self.entries.len() as u32;
        self.slots[slot] = idx;
        self.hashes.push(hash);
        self.entries.push(value);
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        idx
    }

    #[cold]
    fn grow(&mut self) {
        let size = self.slots.len() * 4;
        self.slots.clear();
        self.slots.resize(size, EMPTY);
        for (idx, &hash) in self.hashes.iter().enumerate() {
            let mut slot = hash as usize & (size - 1);
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = idx as u32;
        }
    }

    /// Numbers by rank: `ranks[number]` when the entries are ordered by `order`; sorts the entries.
    pub(super) fn rank(&mut self, order: impl Fn(&T, &T) -> std::cmp::Ordering) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.entries.len() as u32).collect();
        let entries = &self.entries;
        numbers.sort_unstable_by(|&a, &b| order(&entries[a as usize], &entries[b as usize]));
        let mut ranks = vec![0; numbers.len()];
        for (rank, &number) in numbers.iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        self.entries = numbers.iter().map(|&n| entries[n as usize]).collect();
        ranks
    }
}

/// Rows looked at before a hash table is filled; sorting their hashes costs 0.3 ns per row of a
/// full block.
const SAMPLE_ROWS: usize = 1024;

/// True when `rows` rows may have at most `limit` distinct values, from the hashes of evenly spread
/// rows.
pub(super) fn may_be_few(rows: usize, limit: usize, hash: impl Fn(usize) -> u64) -> bool {
    if limit == 0 {
        return false;
    }
    if rows <= limit {
        return true;
    }
    let stride = (rows / SAMPLE_ROWS).max(1);
    let mut sample: Vec<u64> = (0..rows).step_by(stride).map(hash).collect();
    let taken = sample.len() as f64;
    sample.sort_unstable();
    sample.dedup();
    let limit = limit as f64;
    let expected = limit * (1.0 - (-taken / limit).exp());
    (sample.len() as f64) <= expected * 1.02 + 2.0
}
