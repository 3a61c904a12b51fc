//! Nodes of the tree, and what happens to one at a time.
//!
//! ```text
//! leaf    keys k0 .. kn, values v0 .. vn                    low < k <= high
//! inner   keys k0 .. kn-1, children c0 .. cn: child i has (k(i-1), ki], the first from low on,
//!         the last up to high
//! ```
//! Bounds: `low` is exclusive, `high` inclusive, `None` is no bound.

use std::cmp::Ordering;

use types::codec::{Input, Malformed, put_bytes, put_u64};

use crate::error::{Result, SharedError};

/// Number of a node's record; 0 is none.
pub(super) type NodeId = u64;

/// A key to look for; `None` is behind all keys.
pub(super) type Probe<'a> = Option<&'a [u8]>;

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// 0 for leaves.
    pub level: u8,
    /// Its left neighbour takes its entries over: nobody changes it any more.
    pub is_dead: bool,
    pub low: Option<Vec<u8>>,
    pub high: Option<Vec<u8>>,
    /// The node behind `high`.
    pub right: NodeId,
    /// The node behind `high` when the parent may not know it yet.
    pub split: NodeId,
    /// The child whose left neighbour takes its entries over.
    pub absorb: NodeId,
    pub keys: Vec<Vec<u8>>,
    /// Values of a leaf, children of an inner node.
    pub values: Vec<u64>,
}

impl Node {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![1, self.level, u8::from(self.is_dead)];
        for bound in [&self.low, &self.high] {
            out.push(u8::from(bound.is_some()));
            put_bytes(&mut out, bound.as_deref().unwrap_or_default());
        }
        [self.right, self.split, self.absorb].iter().for_each(|id| put_u64(&mut out, *id));
        put_u64(&mut out, self.keys.len() as u64);
        self.keys.iter().for_each(|key| put_bytes(&mut out, key));
        put_u64(&mut out, self.values.len() as u64);
        self.values.iter().for_each(|value| put_u64(&mut out, *value));
        out
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes)
            .map_err(|malformed| SharedError::Corrupt(malformed.in_bytes_of("a node").to_string()))
    }

    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Input::new(bytes);
        let input = &mut input;
        if input.u8()? != 1 {
            return Err(input.malformed("a node of format 1"));
        }
        let (level, is_dead) = (input.u8()?, input.u8()? == 1);
        let mut bound = || -> Result<Option<Vec<u8>>, Malformed> {
            let is_there = input.u8()? == 1;
            let bytes = input.bytes()?.to_vec();
            Ok(is_there.then_some(bytes))
        };
        let (low, high) = (bound()?, bound()?);
        let (right, split, absorb) = (input.u64()?, input.u64()?, input.u64()?);
        let count = input.count(1)?;
        let keys =
            (0..count).map(|_| Ok(input.bytes()?.to_vec())).collect::<Result<Vec<_>, _>>()?;
        let count = input.count(1)?;
        let values = (0..count).map(|_| input.u64()).collect::<Result<Vec<_>, _>>()?;
        let expected = keys.len() + usize::from(level > 0);
        if values.len() != expected || !input.is_empty() {
            return Err(input.malformed(format!("{expected} values")));
        }
        Ok(Self { level, is_dead, low, high, right, split, absorb, keys, values })
    }

    /// Bytes of its entries, about.
    pub(super) fn size(&self) -> usize {
        self.keys.iter().map(|key| key.len() + 10).sum()
    }

    /// True when `probe` lies behind `high`.
    pub(super) fn is_behind(&self, probe: Probe<'_>) -> bool {
        match (&self.high, probe) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(high), Some(probe)) => probe > high.as_slice(),
        }
    }

    /// True when `probe` lies up to `low`.
    pub(super) fn is_before(&self, probe: Probe<'_>) -> bool {
        matches!((&self.low, probe), (Some(low), Some(probe)) if probe <= low.as_slice())
    }

    /// Position of the child that has `probe`.
    pub(super) fn child(&self, probe: Probe<'_>) -> usize {
        let Some(probe) = probe else { return self.keys.len() };
        self.keys.partition_point(|key| key.as_slice() < probe)
    }

    /// Position of `key` in a leaf, or where it would be.
    pub(super) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        self.keys.binary_search_by(|known| known.as_slice().cmp(key))
    }

    /// Bound below child `i`.
    pub(super) fn lower(&self, i: usize) -> Option<&[u8]> {
        if i == 0 { self.low.as_deref() } else { Some(&self.keys[i - 1]) }
    }

    /// Bound above child `i`.
    pub(super) fn upper(&self, i: usize) -> Option<&[u8]> {
        self.keys.get(i).map_or(self.high.as_deref(), |key| Some(key))
    }

    /// Position of a child.
    pub(super) fn position(&self, child: NodeId) -> Option<usize> {
        self.values.iter().position(|value| *value == child)
    }

    /// Cuts it in two: it keeps the lower half, and the upper half is returned, which `id` will
    /// name.
    pub(super) fn cut(&mut self, id: NodeId) -> Self {
        let half = self.keys.len() / 2;
        // Of an inner node the key in the middle goes up.
        let middle =
            if self.level == 0 { self.keys[half - 1].clone() } else { self.keys[half].clone() };
        let (keys, values) = if self.level == 0 {
            (self.keys.split_off(half), self.values.split_off(half))
        } else {
            let keys = self.keys.split_off(half + 1);
            self.keys.truncate(half);
            (keys, self.values.split_off(half + 1))
        };
        let upper = Self {
            level: self.level,
            low: Some(middle.clone()),
            high: self.high.replace(middle),
            right: self.right,
            keys,
            values,
            ..Self::default()
        };
        (self.right, self.split) = (id, id);
        upper
    }

    /// Takes over the entries of its right neighbour.
    pub(super) fn append(&mut self, right: &Self) {
        if self.level > 0 {
            self.keys.extend(self.high.clone());
        }
        self.keys.extend_from_slice(&right.keys);
        self.values.extend_from_slice(&right.values);
        self.high.clone_from(&right.high);
        self.right = right.right;
    }

    /// Takes an absorbed child out, which is not the first; the one before it has its keys.
    pub(super) fn drop_child(&mut self, i: usize) {
        self.values.remove(i);
        self.keys.remove(i - 1);
        self.absorb = 0;
    }
}

/// True when `key` lies inside of the bounds, which are both exclusive.
pub(super) fn is_inside(low: Option<&[u8]>, key: &[u8], high: Option<&[u8]>) -> bool {
    let is_above = low.is_none_or(|low| low.cmp(key) == Ordering::Less);
    is_above && high.is_none_or(|high| key.cmp(high) == Ordering::Less)
}
