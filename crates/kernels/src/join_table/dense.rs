//! Codes below a known range: a bitmap with counts.
//!
//! ```text
//! words[code / 32] = | codes before this word u32 | bit per code u32 |   rank = count + popcount
//! unique:     row = rows[rank]           rows absent: row = rank (build side in key order)
//! duplicates: rows[offsets[rank]..offsets[rank + 1]]
//! ```
//! One word answers both whether and where; 1.5 million keys without gaps take 375 KB.

use crate::level::flavours;

use super::key_bits::{IntegerKey, KeyBits};
use super::key_set::retain_if;
use super::{Candidates, MISS, Pairs};

/// A table over codes below a range.
#[derive(Debug)]
pub struct DenseTable {
    words: Vec<u64>,
    range: u64,
    /// Row by position; absent when rows are in order of their codes.
    rows: Option<Vec<u32>>,
    /// First position of each distinct code, and the end; absent when codes are unique.
    offsets: Option<Vec<u32>>,
    len: usize,
}

/// Findings of one pass over the codes.
struct Marked {
    repeated: bool,
    ascending: bool,
    count: usize,
}

fn mark(codes: &[u64], words: &mut [u64]) -> Marked {
    let (mut repeated, mut ascending, mut last, mut count) = (0, true, 0, 0);
    for &code in codes {
        if code == MISS {
            ascending = false;
            continue;
        }
        let word = &mut words[(code / 32) as usize];
        repeated |= *word >> (code % 32) & 1;
        *word |= 1 << (code % 32);
        ascending &= code >= last;
        last = code;
        count += 1;
    }
    Marked { repeated: repeated != 0, ascending, count }
}

#[inline(always)]
fn rank(word: u64, code: u64) -> u32 {
    let before = (word as u32) & ((1u32 << (code % 32)) - 1);
    (word >> 32) as u32 + before.count_ones()
}

/// The word of `code`, and 1 when the code is present, else 0.
#[inline(always)]
fn look(words: &[u64], range: u64, code: u64) -> (u64, u64) {
    let inside = code < range;
    let at = if inside { code / 32 } else { 0 };
    debug_assert!((at as usize) < words.len());
    // SAFETY: there is a word for each 32 codes below `range`, and at least one (`build`).
    let word = unsafe { *words.get_unchecked(at as usize) };
    (word, word >> (code % 32) & u64::from(inside))
}

flavours! {
    fn first_ranks[](
        words: &[u64], range: u64, codes: &[u64], probe: &mut [u32], ranks: &mut [u32]
    ) -> usize {
        let mut found = 0;
        assert!(probe.len() >= codes.len() && ranks.len() >= codes.len());
        for (i, &code) in codes.iter().enumerate() {
            let (word, present) = look(words, range, code);
            probe[found] = i as u32;
            ranks[found] = rank(word, code);
            found += present as usize;
        }
        found
    }

    fn present_rows[](words: &[u64], range: u64, codes: &[u64], rows: &mut [u32]) -> usize {
        let mut found = 0;
        assert!(rows.len() >= codes.len());
        for (i, &code) in codes.iter().enumerate() {
            rows[found] = i as u32;
            found += look(words, range, code).1 as usize;
        }
        found
    }
}

impl DenseTable {
    /// Bytes that [`Self::build`] needs at most.
    pub fn bytes_needed(range: u64, rows: usize) -> u64 {
        range / 4 + 8 + rows as u64 * 8
    }

    /// The table of `codes`, each below `range` or [`MISS`]; row `i` has code `i`.
    ///
    /// # Panics
    /// If a code is out of range.
    pub fn build(codes: &[u64], range: u64) -> Self {
        let mut words = vec![0u64; (range.div_ceil(32) as usize).max(1)];
        let marked = mark(codes, &mut words);
        let mut count = 0u64;
        for word in &mut words {
            let here = u64::from(word.count_ones());
            *word |= count << 32;
            count += here;
        }
        let mut table = Self { words, range, rows: None, offsets: None, len: marked.count };
        if marked.repeated {
            table.fill_runs(codes, count as usize, marked.ascending);
        } else if !marked.ascending {
            let mut rows = vec![0u32; table.len];
            for (row, &code) in codes.iter().enumerate() {
                if code != MISS {
                    rows[table.rank_of(code)] = row as u32;
                }
            }
            table.rows = Some(rows);
        }
        table
    }

    fn rank_of(&self, code: u64) -> usize {
        rank(self.words[(code / 32) as usize], code) as usize
    }

    fn fill_runs(&mut self, codes: &[u64], distinct: usize, ascending: bool) {
        // offsets[r + 1] first counts, then is the next free place of run r, at last its end.
        let mut offsets = vec![0u32; distinct + 1];
        for &code in codes.iter().filter(|&&c| c != MISS) {
            offsets[self.rank_of(code) + 1] += 1;
        }
        let mut sum = 0;
        for offset in &mut offsets[1..] {
            let count = *offset;
            *offset = if ascending { sum + count } else { sum };
            sum += count;
        }
        if !ascending {
            let mut rows = vec![0u32; self.len];
            for (row, &code) in codes.iter().enumerate() {
                if code != MISS {
                    let place = &mut offsets[self.rank_of(code) + 1];
                    rows[*place as usize] = row as u32;
                    *place += 1;
                }
            }
            self.rows = Some(rows);
        }
        self.offsets = Some(offsets);
    }

    /// True when no code occurs twice.
    pub fn is_unique(&self) -> bool {
        self.offsets.is_none()
    }

    /// Rows in the table.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Codes are below this.
    pub fn range(&self) -> u64 {
        self.range
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let list = |v: &Option<Vec<u32>>| v.as_ref().map_or(0, |v| v.len() * 4);
        self.words.len() * 8 + list(&self.rows) + list(&self.offsets)
    }

    /// True when a code in `low..=high` occurs.
    pub fn overlaps(&self, low: u64, high: u64) -> bool {
        if self.range == 0 || low >= self.range || low > high {
            return false;
        }
        let high = high.min(self.range - 1);
        let (first, last) = ((low / 32) as usize, (high / 32) as usize);
        let from = u32::MAX << (low % 32);
        let to = u32::MAX >> (31 - high % 32);
        let bits = |word: usize| self.words[word] as u32;
        if first == last {
            return bits(first) & from & to != 0;
        }
        bits(first) & from != 0
            || bits(last) & to != 0
            || (self.words[last] >> 32)
                > (self.words[first] >> 32) + u64::from(bits(first).count_ones())
    }

    /// `values[i]` is the key of `positions[i]` and its distance from `min` the code: keeps the
    /// positions whose code occurs, in order.
    pub fn retain<T: IntegerKey>(&self, min: i64, values: &[T], positions: &mut Vec<u32>) {
        KeyBits::<8>::new(&self.words, min, self.range).retain(values, positions);
    }

    /// See [`super::JoinTable::retain`].
    pub fn retain_codes(&self, codes: &[u64], positions: &mut Vec<u32>) {
        let (words, range) = (&*self.words, self.range);
        retain_if(codes, positions, |code: u64| look(words, range, code).1 != 0);
    }

    fn to_rows(&self, positions: &mut [u32]) {
        if let Some(rows) = &self.rows {
            for position in positions {
                *position = rows[*position as usize];
            }
        }
    }

    /// See [`super::JoinTable::first`].
    pub fn first(&self, codes: &[u64], pairs: &mut Pairs) {
        pairs.probe.resize(codes.len(), 0);
        pairs.build.resize(codes.len(), 0);
        let (probe, build) = (&mut pairs.probe, &mut pairs.build);
        let found = first_ranks(&self.words, self.range, codes, probe, build);
        pairs.probe.truncate(found);
        pairs.build.truncate(found);
        if let Some(offsets) = &self.offsets {
            for position in &mut pairs.build {
                *position = offsets[*position as usize];
            }
        }
        self.to_rows(&mut pairs.build);
    }

    /// Replaces `rows` by the probe rows whose code occurs.
    pub fn present(&self, codes: &[u64], rows: &mut Vec<u32>) {
        rows.resize(codes.len(), 0);
        let found = present_rows(&self.words, self.range, codes, rows);
        rows.truncate(found);
    }

    /// See [`super::JoinTable::locate`].
    pub fn locate(&self, codes: &[u64], candidates: &mut Candidates) {
        candidates.reset(codes.len());
        let (probe, start) = (&mut candidates.probe, &mut candidates.start);
        let found = first_ranks(&self.words, self.range, codes, probe, start);
        candidates.len = found;
        let (start, end) = (&mut candidates.start[..found], &mut candidates.end[..found]);
        match &self.offsets {
            None => start.iter().zip(end).for_each(|(s, e)| *e = *s + 1),
            Some(offsets) => {
                for (s, e) in start.iter_mut().zip(end) {
                    let rank = *s as usize;
                    *s = offsets[rank];
                    *e = offsets[rank + 1];
                }
            }
        }
    }

    /// See [`super::JoinTable::expand`].
    pub fn expand(
        &self,
        _codes: &[u64],
        candidates: &mut Candidates,
        limit: usize,
        pairs: &mut Pairs,
    ) {
        let old = pairs.len();
        while candidates.next < candidates.len && pairs.len() < limit {
            let next = candidates.next;
            let (start, end) = (candidates.start[next], candidates.end[next]);
            let stop = end.min(start + (limit - pairs.len()).min(u32::MAX as usize / 2) as u32);
            for position in start..stop {
                pairs.probe.push(candidates.probe[next]);
                pairs.build.push(position);
            }
            if stop < end {
                candidates.start[next] = stop;
            } else {
                candidates.next += 1;
            }
        }
        self.to_rows(&mut pairs.build[old..]);
    }
}
