//! Sets of keys as ranges of their hashes: what a store has of a table, and what a scan asks for.

use std::sync::Arc;

use types::codec::{Input, Malformed, put_u64};

use crate::schema::Key;

/// Hash of a key, by which it has its place among stores.
///
/// Source: Steele 2014 (the mixing function).
#[inline]
pub fn hash_of(key: Key) -> u64 {
    let mut z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hashes from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HashRange {
    /// The lowest.
    pub first: u64,
    /// The highest, not below the lowest.
    pub last: u64,
}

impl HashRange {
    /// All hashes.
    pub const ALL: Self = Self { first: 0, last: u64::MAX };

    /// True when the hash is in it.
    #[inline]
    pub fn holds(&self, hash: u64) -> bool {
        self.first <= hash && hash <= self.last
    }

    /// How many hashes there are.
    pub fn hashes(&self) -> u128 {
        u128::from(self.last - self.first) + 1
    }

    /// Appends it.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.first);
        put_u64(out, self.last);
    }

    /// Reads a range.
    ///
    /// # Errors
    /// Where the bytes are none.
    pub fn read(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let (first, last) = (input.u64()?, input.u64()?);
        if first > last {
            return Err(input.malformed("a range of hashes"));
        }
        Ok(Self { first, last })
    }

    /// The hashes that both have, if there are any.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        (first <= last).then_some(Self { first, last })
    }
}

/// A set of hashes: ranges that ascend, and neither meet nor touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Arc<[HashRange]>);

impl Default for Ranges {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl Ranges {
    /// The hashes of these ranges.
    pub fn of(mut ranges: Vec<HashRange>) -> Self {
        ranges.sort_unstable();
        let mut all: Vec<HashRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match all.last_mut() {
                Some(last) if last.last >= range.first || last.last + 1 == range.first => {
                    last.last = last.last.max(range.last);
                }
                _ => all.push(range),
            }
        }
        Self(all.into())
    }

    /// The ranges, ascending.
    pub fn list(&self) -> &[HashRange] {
        &self.0
    }

    /// True when it has no hash.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when the hash of `key` is in it.
    #[inline]
    pub fn holds(&self, key: Key) -> bool {
        let hash = hash_of(key);
        match &*self.0 {
            [only] => only.holds(hash),
            ranges => {
                let behind = ranges.partition_point(|range| range.first <= hash);
                behind > 0 && ranges[behind - 1].holds(hash)
            }
        }
    }

    /// How many hashes there are.
    pub fn hashes(&self) -> u128 {
        self.0.iter().map(HashRange::hashes).sum()
    }

    /// The hashes that are in `range`, too.
    #[must_use]
    pub fn within(&self, range: &HashRange) -> Self {
        Self(self.0.iter().filter_map(|own| own.meet(range)).collect())
    }

    /// The hashes that both have.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::of(self.0.iter().flat_map(|range| other.within(range).0.to_vec()).collect())
    }

    /// True when all hashes of `other` are in it.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|range| self.within(range).hashes() == range.hashes())
    }

    /// True when it has a hash of `range`.
    pub fn meets(&self, range: &HashRange) -> bool {
        self.0.iter().any(|own| own.meet(range).is_some())
    }

    /// The set with `range`.
    #[must_use]
    pub fn with(&self, range: HashRange) -> Self {
        Self::of(self.0.iter().copied().chain([range]).collect())
    }

    /// The set without `range`.
    #[must_use]
    pub fn without(&self, range: &HashRange) -> Self {
        let rest = self.0.iter().flat_map(|own| {
            let below =
                range.first.checked_sub(1).and_then(|last| own.meet(&HashRange { first: 0, last }));
            let above = range
                .last
                .checked_add(1)
                .and_then(|first| own.meet(&HashRange { first, last: u64::MAX }));
            below.into_iter().chain(above)
        });
        Self::of(rest.collect())
    }

    /// Appends it.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.0.len() as u64);
        self.0.iter().for_each(|range| range.put(out));
    }

    /// Reads a set.
    ///
    /// # Errors
    /// Where the bytes are none.
    pub fn read(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let count = input.count(2)?;
        let ranges = (0..count).map(|_| HashRange::read(input)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(ranges))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_range() -> impl Strategy<Value = HashRange> {
        // Few places, so that ranges meet, touch, and reach the ends.
        let place = prop_oneof![0..20u64, Just(u64::MAX), Just(u64::MAX - 1)];
        (place.clone(), place).prop_map(|(a, b)| HashRange { first: a.min(b), last: a.max(b) })
    }

    /// The places at which a set differs from another one in the strategy above.
    fn members(ranges: &Ranges) -> Vec<u64> {
        let places = (0..=21u64).chain([u64::MAX - 2, u64::MAX - 1, u64::MAX]);
        places.filter(|hash| ranges.list().iter().any(|range| range.holds(*hash))).collect()
    }

    proptest! {
        #[test]
        fn sets_of_ranges_are_sets(
            some in proptest::collection::vec(any_range(), 0..5),
            one in any_range(),
        ) {
            let set = Ranges::of(some.clone());
            let naive = |hash: &u64| some.iter().any(|range| range.holds(*hash));
            let places: Vec<u64> = (0..=21).chain([u64::MAX - 2, u64::MAX - 1, u64::MAX]).collect();
            let expected: Vec<u64> = places.iter().copied().filter(naive).collect();
            prop_assert_eq!(members(&set), expected.clone());
            let separate = |two: &[HashRange]| {
                two[0].last.checked_add(1).is_some_and(|next| next < two[1].first)
            };
            prop_assert!(set.list().windows(2).all(separate));
            let split = |is_in: bool| {
                let hashes = expected.iter().copied();
                hashes.filter(|hash| one.holds(*hash) == is_in).collect::<Vec<_>>()
            };
            prop_assert_eq!(members(&set.within(&one)), split(true));
            prop_assert_eq!(members(&set.without(&one)), split(false));
            prop_assert_eq!(set.meets(&one), !set.within(&one).is_empty());
            prop_assert_eq!(members(&set.and(&Ranges::of(vec![one]))), split(true));
            let with = set.with(one);
            prop_assert!(with.covers(&set) && with.within(&one).hashes() == one.hashes());
            prop_assert_eq!(with.hashes(), set.without(&one).hashes() + one.hashes());
            prop_assert_eq!(set.covers(&with), set == with);
            let mut bytes = Vec::new();
            set.put(&mut bytes);
            prop_assert_eq!(Ranges::read(&mut Input::new(&bytes)), Ok(set));
        }

        #[test]
        fn keys_are_found_by_their_hashes(keys in proptest::collection::vec(any::<u64>(), 1..20)) {
            let of = |key: &u64| HashRange { first: hash_of(*key), last: hash_of(*key) };
            let even = Ranges::of(keys.iter().step_by(2).map(of).collect());
            for key in &keys {
                let is_in = keys.iter().step_by(2).any(|other| hash_of(*other) == hash_of(*key));
                prop_assert_eq!(even.holds(*key), is_in);
            }
        }
    }
}
