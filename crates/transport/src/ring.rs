//! The ring: which store has which keys, as ranges of their hashes, and what moves next.
//!
//! ```text
//! hashes  0 ......................................... 2^64 - 1
//! equal   |    one     |     two     |     three     |          what a new database has
//! + four  |  one  |four| two |  four |  three | four |          each gave a quarter of its share
//! ```
//! Each store has an equal share of the hashes, but for those that leave, which are to have none. A
//! move takes a range from the store that has most above its share to the one that lacks most, at
//! most a step at a time: so a store that comes gets one share from the others, and nothing else
//! moves. Ranges of a store grow at their ends where they can, so that there are few.
//! Invariants: each hash has one owner; a store without hashes owns nothing; later rings have
//! larger versions.
//! Elsewhere: how a move is made safe (`placement`, `moving`), who keeps the ring (the commit
//! manager).
//! Source: Karger 1997; DeCandia 2007, section 6.2 (equal shares). Departure: shares are cut as
//! needed, in the place of points at random, so that they are equal.

use store::{HashRange, Key, Ranges, hash_of};
use types::codec::{Input, Malformed, put_bytes, put_u64};

use crate::placement::Attempt;

/// Number of a store among all that ever were in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreId(pub u64);

/// Does a store stay?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// Stays, and gets its share.
    Stays,
    /// Gives all that it has to the others, and then goes.
    Leaves,
}

/// A store of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingStore {
    /// Its number.
    pub id: StoreId,
    /// Where clients reach it.
    pub address: String,
    /// Stays, or leaves.
    pub stay: Stay,
}

/// Beginning of a range; it ends where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    first: u64,
    owner: StoreId,
}

/// All stores, and the keys of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    version: u64,
    stores: Vec<RingStore>,
    /// Ascending, from 0; neighbours have different owners.
    starts: Vec<Start>,
}

/// A range on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Hashes of the keys.
    pub range: HashRange,
    /// The store that has them.
    pub source: StoreId,
    /// The store that is to have them.
    pub target: StoreId,
}

/// How far a move is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The source owns the range.
    Copies,
    /// The target owns it, and is to be told.
    Switched,
    /// The source owns it, and is to be told that it stays so.
    Cancelled,
}

/// A move as one node is to carry it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveOrder {
    /// Number of the order; others before it are void.
    pub attempt: Attempt,
    /// The move.
    pub what: Move,
    /// How far it is.
    pub phase: Phase,
}

/// All hashes.
const WHOLE: u128 = 1 << 64;

/// Surplus that is not worth a move: a millionth of all hashes.
const SLACK: u128 = WHOLE >> 20;

impl Ring {
    /// A ring of equal shares, in this order; store `i` has the keys of part `i`.
    ///
    /// # Panics
    /// Without any.
    pub fn equal(addresses: Vec<String>) -> Self {
        assert!(!addresses.is_empty(), "rows need a store");
        let count = addresses.len() as u64;
        let start = |number| {
            let part = store::Partition { count, number };
            Start { first: HashRange::from(part).first, owner: StoreId(number + 1) }
        };
        let starts = (0..count).map(start).collect();
        let stores = addresses.into_iter().enumerate().map(|(i, address)| RingStore {
            id: StoreId(i as u64 + 1),
            address,
            stay: Stay::Stays,
        });
        Self { version: 1, stores: stores.collect(), starts }
    }

    /// Its number; rings that follow it have larger ones.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// All stores, in the order of their numbers.
    pub fn stores(&self) -> &[RingStore] {
        &self.stores
    }

    /// The store of this number.
    pub fn store(&self, id: StoreId) -> Option<&RingStore> {
        self.stores.iter().find(|store| store.id == id)
    }

    /// The store that has `key`.
    #[inline]
    pub fn owner(&self, key: Key) -> StoreId {
        self.owner_of(hash_of(key))
    }

    /// The store that has the keys of a hash.
    #[inline]
    pub fn owner_of(&self, hash: u64) -> StoreId {
        let behind = self.starts.partition_point(|start| start.first <= hash);
        self.starts[behind - 1].owner
    }

    fn ranges(&self) -> impl Iterator<Item = (StoreId, HashRange)> {
        let ends = self.starts.iter().skip(1).map(|next| next.first - 1).chain([u64::MAX]);
        let range =
            |(start, last): (&Start, u64)| (start.owner, HashRange { first: start.first, last });
        self.starts.iter().zip(ends).map(range)
    }

    /// Hashes of the keys that a store has.
    pub fn ranges_of(&self, id: StoreId) -> Ranges {
        let own = self.ranges().filter(|(owner, _)| *owner == id);
        Ranges::of(own.map(|(_, range)| range).collect())
    }

    /// True when a store has some keys.
    pub fn has_keys(&self, id: StoreId) -> bool {
        self.starts.iter().any(|start| start.owner == id)
    }

    /// The ring with another store, which has nothing yet; `id` was never used. One that is there
    /// under this address stays.
    #[must_use]
    pub fn with(&self, id: StoreId, address: &str) -> Self {
        let mut next = Self { version: self.version + 1, ..self.clone() };
        match next.stores.iter_mut().find(|store| store.address == address) {
            Some(store) => store.stay = Stay::Stays,
            None => {
                let address = address.to_owned();
                next.stores.push(RingStore { id, address, stay: Stay::Stays });
            }
        }
        next
    }

    /// The ring that a store of this address is to leave; `None` when there is none, or no other
    /// one stays.
    #[must_use]
    pub fn leaving(&self, address: &str) -> Option<Self> {
        let mut next = Self { version: self.version + 1, ..self.clone() };
        next.stores.iter_mut().find(|store| store.address == address)?.stay = Stay::Leaves;
        let is_left = next.stores.iter().any(|store| store.stay == Stay::Stays);
        is_left.then_some(next)
    }

    /// The ring without the stores that leave and have nothing left; `None` when there are none.
    #[must_use]
    pub fn without_empty(&self) -> Option<Self> {
        let stays = |store: &RingStore| store.stay == Stay::Stays || self.has_keys(store.id);
        let mut next = Self { version: self.version + 1, ..self.clone() };
        next.stores.retain(stays);
        (next.stores.len() < self.stores.len()).then_some(next)
    }

    /// The ring with other addresses of the same stores.
    #[must_use]
    pub fn at(&self, addresses: &[String]) -> Self {
        let mut next = self.clone();
        for (store, address) in next.stores.iter_mut().zip(addresses) {
            store.address.clone_from(address);
        }
        next
    }

    /// The ring behind a move.
    #[must_use]
    pub fn moved(&self, what: &Move) -> Self {
        let mut ranges: Vec<(StoreId, HashRange)> = Vec::new();
        for (owner, range) in self.ranges() {
            let rest = Ranges::of(vec![range]).without(&what.range);
            ranges.extend(rest.list().iter().map(|range| (owner, *range)));
        }
        ranges.push((what.target, what.range));
        ranges.sort_unstable_by_key(|(_, range)| range.first);
        let mut starts: Vec<Start> = Vec::with_capacity(ranges.len());
        for (owner, HashRange { first, .. }) in ranges {
            if starts.last().is_none_or(|last| last.owner != owner) {
                starts.push(Start { first, owner });
            }
        }
        Self { version: self.version + 1, stores: self.stores.clone(), starts }
    }

    /// The next move, of at most `step` hashes; `None` when shares are as they should be.
    pub fn next_move(&self, step: u128) -> Option<Move> {
        let staying = self.stores.iter().filter(|store| store.stay == Stay::Stays).count();
        let share = WHOLE.div_ceil(staying as u128);
        let held = |store: &RingStore| self.ranges_of(store.id).hashes();
        let surplus = |store: &RingStore| match store.stay {
            Stay::Stays => held(store).saturating_sub(share),
            Stay::Leaves => held(store),
        };
        let source = self.stores.iter().max_by_key(|store| surplus(store))?;
        let stays = |store: &&RingStore| store.stay == Stay::Stays && store.id != source.id;
        let target = self.stores.iter().filter(stays).min_by_key(|store| held(store))?;
        let (most, lack) = (surplus(source), share.saturating_sub(held(target)));
        let amount = match source.stay {
            Stay::Stays if most.min(lack) <= SLACK => return None,
            Stay::Leaves if most == 0 => return None,
            Stay::Stays => most.min(lack),
            // Shares that do not divide leave a rest.
            Stay::Leaves => most.min(lack.max(SLACK)),
        };
        let range = self.cut(source.id, target.id, amount.min(step.max(1)));
        Some(Move { range, source: source.id, target: target.id })
    }

    /// True when all stores have their shares, and those that leave are gone.
    pub fn is_even(&self) -> bool {
        self.next_move(WHOLE).is_none() && self.without_empty().is_none()
    }

    /// The share of a store, of 1.
    pub fn share(&self, id: StoreId) -> f64 {
        self.ranges_of(id).hashes() as f64 / WHOLE as f64
    }

    /// A range of the source, of at most `amount` hashes: beside one of the target if there is such
    /// a one, else the end of the largest.
    fn cut(&self, source: StoreId, target: StoreId, amount: u128) -> HashRange {
        let head = |range: HashRange| {
            let last = range.first + (amount.min(range.hashes()) - 1) as u64;
            HashRange { last, ..range }
        };
        let tail = |range: HashRange| {
            let first = range.last - (amount.min(range.hashes()) - 1) as u64;
            HashRange { first, ..range }
        };
        let own = self.ranges_of(source);
        for range in own.list() {
            let behind = range.last.checked_add(1).map(|hash| self.owner_of(hash));
            let before = range.first.checked_sub(1).map(|hash| self.owner_of(hash));
            if behind == Some(target) {
                return tail(*range);
            }
            if before == Some(target) {
                return head(*range);
            }
        }
        let largest = own.list().iter().max_by_key(|range| range.hashes());
        tail(*largest.expect("a source has hashes"))
    }

    /// Appends it.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.version);
        put_u64(out, self.stores.len() as u64);
        for store in &self.stores {
            put_u64(out, store.id.0);
            put_bytes(out, store.address.as_bytes());
            out.push(u8::from(store.stay == Stay::Leaves));
        }
        put_u64(out, self.starts.len() as u64);
        for start in &self.starts {
            put_u64(out, start.first);
            put_u64(out, start.owner.0);
        }
    }

    /// Reads a ring.
    ///
    /// # Errors
    /// Where the bytes are none.
    pub fn read(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let (version, mut stores, mut starts) = (input.u64()?, Vec::new(), Vec::new());
        for _ in 0..input.count(3)? {
            let (id, address) = (StoreId(input.u64()?), input.text()?.to_owned());
            let stay = if input.u8()? == 1 { Stay::Leaves } else { Stay::Stays };
            stores.push(RingStore { id, address, stay });
        }
        for _ in 0..input.count(2)? {
            starts.push(Start { first: input.u64()?, owner: StoreId(input.u64()?) });
        }
        let ring = Self { version, stores, starts };
        let is_whole = ring.starts.first().is_some_and(|start| start.first == 0)
            && ring.starts.windows(2).all(|two| two[0].first < two[1].first)
            && ring.starts.iter().all(|start| ring.store(start.owner).is_some());
        if is_whole { Ok(ring) } else { Err(input.malformed("a ring of stores")) }
    }
}

impl MoveOrder {
    /// Appends it.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.attempt.0);
        self.what.put(out);
        out.push(self.phase.number());
    }

    /// Reads an order.
    ///
    /// # Errors
    /// Where the bytes are none.
    pub fn read(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let attempt = Attempt(input.u64()?);
        Ok(Self { attempt, what: Move::read(input)?, phase: Phase::read(input)? })
    }
}

impl Move {
    /// Appends it.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.range.put(out);
        put_u64(out, self.source.0);
        put_u64(out, self.target.0);
    }

    /// Reads a move.
    ///
    /// # Errors
    /// Where the bytes are none.
    pub fn read(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let range = HashRange::read(input)?;
        Ok(Self { range, source: StoreId(input.u64()?), target: StoreId(input.u64()?) })
    }
}

impl Phase {
    /// Its number in bytes.
    pub fn number(self) -> u8 {
        match self {
            Self::Copies => 0,
            Self::Switched => 1,
            Self::Cancelled => 2,
        }
    }

    /// Reads a phase.
    ///
    /// # Errors
    /// Where the bytes are none.
    pub fn read(input: &mut Input<'_>) -> Result<Self, Malformed> {
        match input.u8()? {
            0 => Ok(Self::Copies),
            1 => Ok(Self::Switched),
            2 => Ok(Self::Cancelled),
            _ => Err(input.malformed("a phase of a move")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn addresses(count: u64) -> Vec<String> {
        (1..=count).map(|number| format!("store {number}")).collect()
    }

    /// Hashes by store.
    fn shares(ring: &Ring) -> BTreeMap<StoreId, u128> {
        ring.stores().iter().map(|store| (store.id, ring.ranges_of(store.id).hashes())).collect()
    }

    /// Makes all moves; gives the ring behind them, and how many hashes moved.
    fn settled(mut ring: Ring, step: u128) -> (Ring, u128) {
        let mut moved = 0;
        for _ in 0..10_000 {
            let Some(what) = ring.next_move(step) else {
                return (ring.without_empty().unwrap_or(ring), moved);
            };
            assert!(what.range.hashes() <= step);
            assert!(ring.ranges_of(what.source).covers(&Ranges::of(vec![what.range])));
            assert_ne!(what.source, what.target);
            ring = ring.moved(&what);
            assert!(ring.ranges_of(what.target).covers(&Ranges::of(vec![what.range])));
            assert_eq!(shares(&ring).values().sum::<u128>(), WHOLE);
            moved += what.range.hashes();
        }
        panic!("moves without an end");
    }

    fn assert_even(ring: &Ring) {
        let shares = shares(ring);
        let even = WHOLE / shares.len() as u128;
        for (id, share) in &shares {
            // Rests of shares that do not divide add up.
            assert!(share.abs_diff(even) <= SLACK * 8, "{id:?} of {}: {share}", shares.len());
        }
    }

    #[test]
    fn new_rings_have_the_parts_of_keys() {
        for count in [1, 2, 3, 5, 7, 100] {
            let ring = Ring::equal(addresses(count));
            assert_eq!(ring.next_move(WHOLE), None, "{count}");
            for key in 0..2000 {
                let part = store::part_of(key * 7919, count);
                assert_eq!(ring.owner(key * 7919), StoreId(part + 1));
            }
        }
    }

    #[test]
    fn a_store_that_comes_takes_its_share_and_nothing_else_moves() {
        for count in 1..20 {
            let ring = Ring::equal(addresses(count)).with(StoreId(99), "new");
            let before = ring.clone();
            let (ring, moved) = settled(ring, WHOLE / 64);
            assert_even(&ring);
            let share = WHOLE / u128::from(count + 1);
            assert!(moved.abs_diff(share) <= SLACK * 8, "{count}: {moved}");
            for key in 0..2000 {
                let owner = ring.owner(key);
                assert!(owner == StoreId(99) || owner == before.owner(key), "{count}");
            }
        }
    }

    #[test]
    fn a_store_that_goes_leaves_its_share_and_nothing_else_moves() {
        for count in 2..20 {
            let before = Ring::equal(addresses(count));
            let leaving = before.leaving("store 2").expect("others stay");
            let (ring, moved) = settled(leaving, WHOLE / 64);
            assert_even(&ring);
            assert_eq!(ring.stores().len() as u64, count - 1);
            assert_eq!(ring.store(StoreId(2)), None);
            assert_eq!(moved, before.ranges_of(StoreId(2)).hashes());
            for key in 0..2000 {
                let owner = before.owner(key);
                assert!(owner == StoreId(2) || owner == ring.owner(key));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn stores_come_and_go(
            first in 1..6u64,
            changes in proptest::collection::vec((any::<bool>(), 0..8usize), 1..10),
        ) {
            let mut ring = Ring::equal(addresses(first));
            let mut next = first;
            for (is_new, which) in changes {
                let version = ring.version();
                let count = ring.stores().len() as u128;
                next += 1;
                if is_new {
                    ring = ring.with(StoreId(next), &format!("store {next}"));
                } else {
                    let store = &ring.stores()[which % ring.stores().len()];
                    match ring.leaving(&store.address.clone()) {
                        Some(leaving) => ring = leaving,
                        None => {
                            prop_assert_eq!(count, 1);
                            continue;
                        }
                    }
                }
                let (settled, moved) = settled(ring, WHOLE / 32);
                ring = settled;
                assert_even(&ring);
                prop_assert!(ring.version() > version);
                let share = WHOLE / if is_new { count + 1 } else { count };
                prop_assert!(moved <= share + SLACK * 32, "{} of {}", moved, share);
                let mut bytes = Vec::new();
                ring.put(&mut bytes);
                prop_assert_eq!(Ring::read(&mut Input::new(&bytes)), Ok(ring.clone()));
                prop_assert!(ring.starts.windows(2).all(|two| two[0].owner != two[1].owner));
            }
        }
    }
}
