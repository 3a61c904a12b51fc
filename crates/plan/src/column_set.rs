//! Sets of column ids as bits: ids are dense, so a set is a few words.

use sql::algebra::ColumnId;

/// Words that a set has without an allocation: most queries have no more columns.
const INLINE: usize = 2;

/// A set of columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnSet {
    /// The first columns.
    low: [u64; INLINE],
    /// The others.
    high: Vec<u64>,
}

/// The place of `id` and its bit there.
fn place(id: ColumnId) -> (usize, u64) {
    (id.0 as usize / 64, 1 << (id.0 % 64))
}

impl ColumnSet {
    /// Adds `id`.
    pub(crate) fn insert(&mut self, id: ColumnId) {
        let (word, bit) = place(id);
        let Some(word) = word.checked_sub(INLINE) else {
            self.low[word] |= bit;
            return;
        };
        if self.high.len() <= word {
            self.high.resize(word + 1, 0);
        }
        self.high[word] |= bit;
    }

    /// True when `id` is in it.
    pub(crate) fn contains(&self, id: ColumnId) -> bool {
        let (word, bit) = place(id);
        self.word(word) & bit != 0
    }

    fn word(&self, word: usize) -> u64 {
        match word.checked_sub(INLINE) {
            None => self.low[word],
            Some(word) => self.high.get(word).copied().unwrap_or(0),
        }
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.low.iter().chain(&self.high).copied()
    }

    /// Adds all of `other`.
    pub(crate) fn union(&mut self, other: &Self) {
        if self.high.len() < other.high.len() {
            self.high.resize(other.high.len(), 0);
        }
        self.low.iter_mut().zip(&other.low).for_each(|(a, b)| *a |= b);
        self.high.iter_mut().zip(&other.high).for_each(|(a, b)| *a |= b);
    }

    /// Removes all of `other`.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.low.iter_mut().zip(&other.low).for_each(|(a, b)| *a &= !b);
        self.high.iter_mut().zip(&other.high).for_each(|(a, b)| *a &= !b);
    }

    /// True when nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.words().all(|word| word == 0)
    }

    /// True when both share a column.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        let shared = |(a, b): (&u64, &u64)| a & b != 0;
        self.low.iter().zip(&other.low).any(shared) || self.high.iter().zip(&other.high).any(shared)
    }

    /// True when all of it is in `other`.
    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        self.words().enumerate().all(|(i, word)| word & !other.word(i) == 0)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// The columns in order of id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.words().enumerate().flat_map(|(i, mut word)| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(ColumnId(i as u32 * 64 + bit))
            })
        })
    }
}

impl PartialEq for ColumnSet {
    fn eq(&self, other: &Self) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

impl Eq for ColumnSet {}

impl FromIterator<ColumnId> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = ColumnId>>(ids: I) -> Self {
        let mut set = Self::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use testkit::Random;

    use super::{ColumnId, ColumnSet};

    /// Random sets, near and beyond the words without an allocation, against those of the standard
    /// library.
    #[test]
    fn operations_are_those_of_sets() {
        let mut random = Random::new(7);
        for _ in 0..2000 {
            let limit = [40, 128, 129, 400][random.below(4) as usize];
            let mut draw = || -> BTreeSet<u32> {
                (0..random.below(20)).map(|_| random.below(limit) as u32).collect()
            };
            let (a, b) = (draw(), draw());
            let set = |ids: &BTreeSet<u32>| ids.iter().copied().map(ColumnId).collect();
            let (x, y): (ColumnSet, ColumnSet) = (set(&a), set(&b));
            let ids = |set: &ColumnSet| set.iter().map(|id| id.0).collect::<Vec<u32>>();
            assert_eq!(ids(&x), a.iter().copied().collect::<Vec<u32>>());
            assert_eq!((x.len(), x.is_empty()), (a.len(), a.is_empty()));
            assert_eq!(x == y, a == b);
            assert_eq!(x.is_subset(&y), a.is_subset(&b));
            assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
            assert!((0..limit as u32).all(|id| x.contains(ColumnId(id)) == a.contains(&id)));
            let (mut union, mut rest) = (x.clone(), x);
            union.union(&y);
            rest.subtract(&y);
            assert_eq!(ids(&union), a.union(&b).copied().collect::<Vec<u32>>());
            assert_eq!(ids(&rest), a.difference(&b).copied().collect::<Vec<u32>>());
            assert_eq!(rest, set(&a.difference(&b).copied().collect()));
        }
    }
}
