//! Sets of column ids as bits: ids are dense, so a set is a few words.

use sql::algebra::ColumnId;

/// A set of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnSet(Vec<u64>);

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
            let bits = (0..64u32).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| ColumnId(i as u32 * 64 + bit))
        })
    }
}

impl FromIterator<ColumnId> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = ColumnId>>(ids: I) -> Self {
        let mut set = Self::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}
