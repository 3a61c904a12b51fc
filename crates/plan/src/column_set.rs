//! Sets of column ids as bits: ids are dense, so a set is a few words.

use smallvec::SmallVec;
use sql::algebra::ColumnId;

/// A set of columns; most queries have no more than fit without an allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnSet(SmallVec<[u64; 2]>);

impl ColumnSet {
    /// Adds `id`.
    pub(crate) fn insert(&mut self, id: ColumnId) {
        let word = id.0 as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (id.0 % 64);
    }

    /// True when `id` is in it.
    pub(crate) fn contains(&self, id: ColumnId) -> bool {
        self.0.get(id.0 as usize / 64).is_some_and(|word| word >> (id.0 % 64) & 1 == 1)
    }

    /// Adds all of `other`.
    pub(crate) fn union(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Removes all of `other`.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }

    /// True when nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// True when both share a column.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// True when all of it is in `other`.
    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        let outside = |(i, word): (usize, &u64)| word & !other.0.get(i).copied().unwrap_or(0) != 0;
        !self.0.iter().enumerate().any(outside)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The columns in order of id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.0.iter().enumerate().flat_map(|(i, &word)| {
            let mut word = word;
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
        // Words of zeros at the end mean nothing.
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
