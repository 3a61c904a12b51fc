//! CSB+-tree: from codes to row ids, in nodes of one cache line.
//!
//! ```text
//! inner: | first child u32 | keys u16 | - | keys ...              |   child i+1 begins with key i
//! leaf:  |        -        | keys u16 | - | keys ... | row ids u16 |   by key, then by row id
//! ```
//! The children of a node are neighbours, so that one number leads to all of them; leaves are
//! neighbours, too, so that a range is read without going up, and the number of an entry tells how
//! many are before it: two descents count a range exactly.
//! Invariant: all leaves but the last are full. NULL has no entry.
//! Source: Rao and Ross 2000, as told by Patel 2013, section 3.3.3. Departures: bulk load only, so
//! the last node of a level may hold less than half; row ids of 16 bits.

use std::sync::Arc;

use types::Result;

use super::{CodeRange, Domain};
use crate::block::Frozen;
use crate::memory::{BufferPool, Memory, MemoryCategory, Plain, bytes_of};

const NODE_BYTES: usize = 64;
const HEADER_BYTES: usize = 8;

/// Codes of 1, 2, 4 or 8 bytes.
#[derive(Debug)]
pub(crate) enum Csb {
    U8(Tree<u8>),
    U16(Tree<u16>),
    U32(Tree<u32>),
    U64(Tree<u64>),
}

/// Runs `$body` with `$tree` bound to the tree, whatever its width.
macro_rules! with_tree {
    ($csb:expr, $tree:ident => $body:expr) => {
        match $csb {
            Csb::U8($tree) => $body,
            Csb::U16($tree) => $body,
            Csb::U32($tree) => $body,
            Csb::U64($tree) => $body,
        }
    };
}

impl Csb {
    /// Sorts and stores the codes of all rows that are not NULL.
    ///
    /// # Errors
    /// 53200 without memory.
    pub(super) fn build(
        block: Frozen<'_>,
        column: usize,
        domain: &Domain,
        pool: &Arc<BufferPool>,
    ) -> Result<Self> {
        Ok(match domain.last {
            0..=0xff => Self::U8(Tree::of(block, column, domain, pool)?),
            0x100..=0xffff => Self::U16(Tree::of(block, column, domain, pool)?),
            0x1_0000..=0xffff_ffff => Self::U32(Tree::of(block, column, domain, pool)?),
            _ => Self::U64(Tree::of(block, column, domain, pool)?),
        })
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> u64 {
        with_tree!(self, tree => tree.memory.held_bytes())
    }

    /// Rows that are not NULL.
    pub(super) fn entries(&self) -> u64 {
        with_tree!(self, tree => tree.entries as u64)
    }

    /// How many rows have a code of the ranges, which ascend and are apart.
    pub(crate) fn count(&self, ranges: &[CodeRange]) -> usize {
        with_tree!(self, tree => ranges.iter().map(|&range| tree.ranks(range).len()).sum())
    }

    /// Sets the bits of the rows that have a code of the ranges.
    pub(crate) fn find(&self, ranges: &[CodeRange], rows: &mut [u64]) {
        with_tree!(self, tree => ranges.iter().for_each(|&range| tree.find(range, rows)))
    }
}

/// A key of a tree.
pub(crate) trait Key: Plain + Default + Ord {
    /// The low bytes of `code`, which fits, or for bounds the nearest key.
    fn of(code: u64) -> Self;
    /// Digit `i` of base 256.
    fn digit(self, i: usize) -> usize;
}

macro_rules! keys {
    ($($key:ty),*) => {$(
        impl Key for $key {
            #[inline]
            fn of(code: u64) -> Self {
                Self::try_from(code).unwrap_or(Self::MAX)
            }
            #[inline]
            fn digit(self, i: usize) -> usize {
                (self >> (i * 8)) as usize & 0xff
            }
        }
    )*};
}

keys!(u8, u16, u32, u64);

/// A tree over keys of one width.
#[derive(Debug)]
pub(crate) struct Tree<K> {
    /// Leaves, then the level above them, and so on; the root is last.
    memory: Memory,
    nodes: usize,
    /// Levels above the leaves.
    depth: usize,
    entries: usize,
    key: std::marker::PhantomData<K>,
}

impl<K: Key> Tree<K> {
    /// Entries of a leaf: 18, 14, 9 or 5.
    const LEAF: usize = (NODE_BYTES - HEADER_BYTES) / (size_of::<K>() + 2);
    /// Keys of an inner node: 56, 28, 14 or 7.
    const INNER: usize = (NODE_BYTES - HEADER_BYTES) / size_of::<K>();

    fn of(
        block: Frozen<'_>,
        column: usize,
        domain: &Domain,
        pool: &Arc<BufferPool>,
    ) -> Result<Self> {
        let mut entries = Vec::with_capacity(block.rows());
        domain.each(block, column, |row, code| entries.push((K::of(code), row as u16)));
        sort(&mut entries);
        Self::build(&entries, pool)
    }

    /// The tree of `entries`, which are sorted.
    fn build(entries: &[(K, u16)], pool: &Arc<BufferPool>) -> Result<Self> {
        let mut levels = vec![entries.len().div_ceil(Self::LEAF).max(1)];
        while let Some(&below @ 2..) = levels.last() {
            levels.push(below.div_ceil(Self::INNER + 1));
        }
        let nodes = levels.iter().sum();
        let mut memory = pool.allocate(MemoryCategory::Indexes, (nodes * NODE_BYTES) as u64)?;
        let (lines, _) = memory.as_mut_slice().as_chunks_mut::<NODE_BYTES>();
        // The smallest key below each node of the level.
        let mut least = Vec::with_capacity(levels[0]);
        for (node, leaf) in lines.iter_mut().zip(entries.chunks(Self::LEAF)) {
            let keys: Vec<K> = leaf.iter().map(|(key, _)| *key).collect();
            let rows: Vec<u16> = leaf.iter().map(|(_, row)| *row).collect();
            put_node(node, 0, &keys);
            let at = HEADER_BYTES + Self::LEAF * size_of::<K>();
            node[at..at + rows.len() * 2].copy_from_slice(bytes_of(&rows));
            least.push(keys[0]);
        }
        let (mut child, mut first) = (0, levels[0]);
        for &count in &levels[1..] {
            let groups = least.chunks(Self::INNER + 1);
            for (node, group) in lines[first..first + count].iter_mut().zip(groups) {
                put_node(node, child as u32, &group[1..]);
                child += group.len();
            }
            least = least.chunks(Self::INNER + 1).map(|group| group[0]).collect();
            first += count;
        }
        let (depth, entries) = (levels.len() - 1, entries.len());
        Ok(Self { memory, nodes, depth, entries, key: std::marker::PhantomData })
    }

    /// The keys of a node.
    #[inline]
    fn keys(&self, node: usize) -> &[K] {
        let count = self.memory.read_at::<u16>(node * NODE_BYTES + 4);
        self.memory.slice_of(node * NODE_BYTES + HEADER_BYTES, usize::from(count))
    }

    /// Entries with a key below `key`.
    #[inline]
    fn rank(&self, key: K) -> usize {
        let below = |keys: &[K]| keys.iter().map(|k| usize::from(*k < key)).sum::<usize>();
        let mut node = self.nodes - 1;
        for _ in 0..self.depth {
            let first = self.memory.read_at::<u32>(node * NODE_BYTES);
            // Of equal keys the first is wanted, which may be the last of the child before.
            node = first as usize + below(self.keys(node));
        }
        node * Self::LEAF + below(self.keys(node))
    }

    /// The numbers of the entries with a code of the range.
    fn ranks(&self, (lo, hi): CodeRange) -> std::ops::Range<usize> {
        let last = u64::MAX >> (64 - 8 * size_of::<K>());
        if lo > last {
            return 0..0;
        }
        let end = if hi >= last { self.entries } else { self.rank(K::of(hi + 1)) };
        self.rank(K::of(lo))..end
    }

    /// Sets the bits of the rows that have a code of the range.
    fn find(&self, range: CodeRange, rows: &mut [u64]) {
        let mut ranks = self.ranks(range);
        while !ranks.is_empty() {
            let (leaf, slot) = (ranks.start / Self::LEAF, ranks.start % Self::LEAF);
            let count = (Self::LEAF - slot).min(ranks.len());
            let at = leaf * NODE_BYTES + HEADER_BYTES + Self::LEAF * size_of::<K>() + slot * 2;
            for &row in self.memory.slice_of::<u16>(at, count) {
                rows[usize::from(row) / 64] |= 1 << (row % 64);
            }
            ranks.start += count;
        }
    }
}

fn put_node<K: Key>(node: &mut [u8; NODE_BYTES], first_child: u32, keys: &[K]) {
    node[..4].copy_from_slice(&first_child.to_le_bytes());
    node[4..6].copy_from_slice(&(keys.len() as u16).to_le_bytes());
    let bytes = bytes_of(keys);
    node[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
}

/// Sorts by key; entries of one key stay in their order, that of rows. By digits from the lowest.
fn sort<K: Key>(entries: &mut Vec<(K, u16)>) {
    let mut other = vec![(K::default(), 0); entries.len()];
    for i in 0..size_of::<K>() {
        let mut ends = [0usize; 256];
        entries.iter().for_each(|(key, _)| ends[key.digit(i)] += 1);
        if ends.contains(&entries.len()) {
            continue;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        for &entry in entries.iter() {
            let place = &mut ends[entry.0.digit(i)];
            other[*place] = entry;
            *place += 1;
        }
        std::mem::swap(entries, &mut other);
    }
}
