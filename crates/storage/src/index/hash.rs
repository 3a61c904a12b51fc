//! The hash index: linear hashing whose readers take no latches.
//!
//! ```text
//! bucket     word 0 version latch | word 1: count, next overflow node + 1 | entries (key, TID)
//! overflow   the same without a latch: its bucket's covers the chain
//! n buckets  hash -> low bits; bucket n is split off bucket n - 2^k when there are many entries
//! ```
//! A split latches one bucket for an instant, so growing never stops readers of the others.
//!
//! Invariants: an entry is in the bucket that its hash and the number of buckets say, or, if its
//! key has many, in the tree of `heavy` keys, whose marker (the key with the reserved TID) is in
//! that bucket; all nodes of a chain but the last are full; the number of buckets is published
//! before the latch of the bucket that was split is given back.
//! Source: Litwin 1980, "Linear hashing"; latches as in `tree`. Departure: keys with many TIDs are
//! moved to a tree, so that inserting into and removing from them does not walk all.

mod buckets;
mod check;
mod form;

use std::hash::BuildHasher;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use types::Result;

use super::counter::Counter;
use super::form::{Attempt, Changed, Probe};
use super::latch;
use super::sync::pause;
use super::tail::Meter;
use super::tree::{TID_END, Tree};
use crate::memory::BufferPool;
use crate::tid::Tid;

use buckets::{Bucket, Buckets, Overflow};
pub(super) use form::HashForm;

/// Entries of one key that its bucket holds; others are in the tree.
const KEY_ENTRIES_MAX: usize = 16;
/// Buckets at the start.
const BUCKETS_MIN: u64 = 4;
/// Most splits that one insert makes.
const SPLITS_MAX: usize = 16;

pub(super) struct HashIndex<F: HashForm> {
    hasher: foldhash::fast::RandomState,
    buckets: Buckets,
    overflow: Overflow,
    count: AtomicU64,
    splitting: Mutex<Vec<(F::Entry, u64)>>,
    heavy: Tree<F>,
    meter: Meter,
    /// Entries in buckets, markers included.
    len: Counter,
    markers: Counter,
    width: usize,
}

/// Entries of one key in a chain.
struct Matches {
    tids: [u64; KEY_ENTRIES_MAX],
    count: usize,
    has_marker: bool,
}

/// The bucket of a hash, latched until this is dropped, and its number.
struct Latched<'t> {
    bucket: Bucket<'t>,
    i: u64,
}

impl Drop for Latched<'_> {
    fn drop(&mut self) {
        latch::unlatch(self.bucket.latch());
    }
}

/// Where the entry looked for is: node of the chain, 0 = bucket, and number in it.
struct Place {
    node: u64,
    i: usize,
}

impl<F: HashForm> HashIndex<F> {
    pub(super) fn new(pool: &Arc<BufferPool>, width: usize) -> Result<Self> {
        let buckets = Buckets::new(pool);
        (0..BUCKETS_MIN).try_for_each(|i| buckets.ensure(i))?;
        Ok(Self {
            hasher: foldhash::fast::RandomState::default(),
            buckets,
            overflow: Overflow::new(pool),
            count: AtomicU64::new(BUCKETS_MIN),
            splitting: Mutex::default(),
            heavy: Tree::new(pool, width)?,
            meter: Meter::new(pool),
            len: Counter::default(),
            markers: Counter::default(),
            width,
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.len.get() - self.markers.get().min(self.len.get()) + self.heavy.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        let buckets = self.buckets.bytes() + self.overflow.bytes();
        buckets + self.meter.bytes() + self.heavy.bytes()
    }

    fn hash(&self, key: &[u8]) -> u64 {
        if F::TAILS {
            self.hasher.hash_one(key)
        } else {
            self.hasher.hash_one(F::words(&Probe::new(key)))
        }
    }

    fn hash_entry(&self, entry: &F::Entry) -> u64 {
        F::stored_hash(entry).unwrap_or_else(|| self.hasher.hash_one(F::entry_words(entry)))
    }

    #[inline]
    fn assert_width(&self, key: &[u8]) {
        assert!(F::TAILS || key.len() == self.width, "a key of this index");
    }

    fn next<'t>(&'t self, node: Bucket<'t>) -> Option<Bucket<'t>> {
        node.next().map(|id| self.overflow.get(id))
    }

    /// Asks the processor for the bucket of `key`; its hash.
    #[inline]
    pub(super) fn fetch(&self, key: &[u8]) -> u64 {
        self.assert_width(key);
        let hash = self.hash(key);
        self.buckets.get(bucket_of(hash, self.count.load(Ordering::Acquire))).prefetch();
        hash
    }

    /// Calls `found` with the TIDs of `key`, in any order, until it breaks.
    pub(super) fn lookup(
        &self,
        key: &[u8],
        found: impl FnMut(Tid) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.assert_width(key);
        self.lookup_hashed(key, self.hash(key), found)
    }

    /// [`Self::lookup`] of a key whose hash is known.
    pub(super) fn lookup_hashed(
        &self,
        key: &[u8],
        hash: u64,
        mut found: impl FnMut(Tid) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut attempt = 0;
        let matches = loop {
            let guard = F::pin();
            if let Ok(matches) = self.try_lookup(key, hash, &guard) {
                break matches;
            }
            attempt += 1;
            pause(attempt);
        };
        matches.tids[..matches.count].iter().try_for_each(|&tid| found(Tid(tid)))?;
        if matches.has_marker { self.heavy.lookup(key, found) } else { ControlFlow::Continue(()) }
    }

    fn try_lookup(&self, key: &[u8], hash: u64, guard: &F::Guard) -> Attempt<Matches> {
        let i = bucket_of(hash, self.count.load(Ordering::Acquire));
        let bucket = self.buckets.get(i);
        let version = latch::read(bucket.latch());
        // The bucket may have been split before the version was read, but then this is newer.
        if bucket_of(hash, self.count.load(Ordering::Acquire)) != i {
            return Err(Changed);
        }
        let is_valid = || latch::is_unchanged(bucket.latch(), version);
        let mut matches = Matches { tids: [0; KEY_ENTRIES_MAX], count: 0, has_marker: false };
        let mut node = Some(bucket);
        while let Some(chain) = node {
            for i in 0..chain.count::<F>() {
                let entry = chain.entry::<F>(i);
                if !F::is_match(&entry, hash, key, is_valid, guard)? {
                    continue;
                }
                match chain.tid::<F>(i) {
                    TID_END => matches.has_marker = true,
                    tid if matches.count < KEY_ENTRIES_MAX => {
                        matches.tids[matches.count] = tid;
                        matches.count += 1;
                    }
                    _ => return Err(Changed),
                }
            }
            let next = chain.next();
            if !is_valid() {
                return Err(Changed);
            }
            node = next.map(|id| self.overflow.get(id));
        }
        Ok(matches)
    }

    /// The bucket of `hash`, latched.
    fn latch(&self, hash: u64) -> Latched<'_> {
        loop {
            let i = bucket_of(hash, self.count.load(Ordering::Acquire));
            let bucket = self.buckets.get(i);
            latch::latch(bucket.latch());
            let latched = Latched { bucket, i };
            if bucket_of(hash, self.count.load(Ordering::Acquire)) == i {
                return latched;
            }
        }
    }

    /// Entries of `key` in the latched chain, and the place of (`key`, `tid`).
    fn matches(
        &self,
        bucket: Bucket<'_>,
        hash: u64,
        key: &[u8],
        tid: u64,
        guard: &F::Guard,
    ) -> (Matches, Option<Place>) {
        let mut matches = Matches { tids: [0; KEY_ENTRIES_MAX], count: 0, has_marker: false };
        let (mut place, mut node, mut id) = (None, Some(bucket), 0);
        while let Some(chain) = node {
            for i in 0..chain.count::<F>() {
                let is_match = F::is_match(&chain.entry::<F>(i), hash, key, || true, guard);
                if is_match.is_ok_and(|m| m) {
                    let found = chain.tid::<F>(i);
                    if found == tid {
                        place = Some(Place { node: id, i });
                    }
                    matches.has_marker |= found == TID_END;
                    matches.count += usize::from(found != TID_END);
                }
            }
            id = chain.next().map_or(0, |next| next + 1);
            node = self.next(chain);
        }
        (matches, place)
    }

    /// Adds an entry; false when it was there.
    pub(super) fn insert(&self, key: &[u8], tid: Tid) -> Result<bool> {
        self.assert_width(key);
        assert!(tid.0 != TID_END, "the largest TID is reserved");
        let (hash, guard) = (self.hash(key), F::pin());
        let added = self.insert_latched(&self.latch(hash), hash, key, tid, &guard)?;
        if added && (hash >> 32).is_multiple_of(8) {
            self.grow();
        }
        Ok(added)
    }

    fn insert_latched(
        &self,
        home: &Latched<'_>,
        hash: u64,
        key: &[u8],
        tid: Tid,
        guard: &F::Guard,
    ) -> Result<bool> {
        let (matches, place) = self.matches(home.bucket, hash, key, tid.0, guard);
        if place.is_some() {
            return Ok(false);
        }
        if matches.has_marker {
            return self.heavy.insert(key, tid);
        }
        if matches.count < KEY_ENTRIES_MAX {
            self.append_new(home, hash, key, tid.0)?;
            return Ok(true);
        }
        self.append_new(home, hash, key, TID_END)?;
        self.markers.add(home.i, 1);
        let added = self.heavy.insert(key, tid);
        added.inspect_err(|_| self.remove_marker(home, hash, key, guard))
    }

    fn remove_marker(&self, home: &Latched<'_>, hash: u64, key: &[u8], guard: &F::Guard) {
        let (_, marker) = self.matches(home.bucket, hash, key, TID_END, guard);
        self.remove_at(home, &marker.expect("the marker is in its bucket"), guard);
        self.markers.add(home.i, -1);
    }

    fn append_new(&self, home: &Latched<'_>, hash: u64, key: &[u8], tid: u64) -> Result<()> {
        let probe = Probe::new(key);
        let bytes = F::entry_bytes_needed(&probe);
        self.meter.take(bytes)?;
        let last = self.last_with_room(home.bucket).inspect_err(|_| self.meter.give_back(bytes))?;
        last.append::<F>(&F::make_entry(hash, &probe), tid);
        self.len.add(home.i, 1);
        Ok(())
    }

    /// The last node of a latched chain, with room for an entry.
    fn last_with_room<'t>(&'t self, bucket: Bucket<'t>) -> Result<Bucket<'t>> {
        let mut last = bucket;
        while let Some(next) = self.next(last) {
            last = next;
        }
        if last.count::<F>() < Bucket::capacity::<F>() {
            return Ok(last);
        }
        let (id, node) = self.overflow.take()?;
        last.set_next(Some(id));
        Ok(node)
    }

    /// Removes an entry; false when it was not there.
    pub(super) fn remove(&self, key: &[u8], tid: Tid) -> bool {
        self.assert_width(key);
        let (hash, guard) = (self.hash(key), F::pin());
        let home = self.latch(hash);
        let (matches, place) = self.matches(home.bucket, hash, key, tid.0, &guard);
        match place {
            Some(place) => {
                self.remove_at(&home, &place, &guard);
                true
            }
            None if matches.has_marker => {
                let is_removed = self.heavy.remove(key, tid);
                if self.heavy.lookup(key, |_| ControlFlow::Break(())).is_continue() {
                    self.remove_marker(&home, hash, key, &guard);
                }
                is_removed
            }
            None => false,
        }
    }

    /// Moves the last entry of the latched chain to `place`, whose entry is retired.
    fn remove_at(&self, home: &Latched<'_>, place: &Place, guard: &F::Guard) {
        let node = match place.node {
            0 => home.bucket,
            id => self.overflow.get(id - 1),
        };
        let entry = node.entry::<F>(place.i);
        let (mut before, mut last) = (None, home.bucket);
        while let Some(next) = self.next(last) {
            before = Some(last);
            last = next;
        }
        let (moved, tid) = last.pop::<F>();
        let is_last = std::ptr::eq(last.latch(), node.latch()) && last.count::<F>() == place.i;
        if !is_last {
            node.set::<F>(place.i, &moved, tid);
        }
        if let Some(before) = before
            && last.count::<F>() == 0
        {
            let id = before.next().expect("the last node is its next");
            before.set_next(None);
            self.overflow.give_back(id);
        }
        self.len.add(home.i, -1);
        self.meter.give_back(F::entry_bytes_held(&entry));
        F::retire_entry(entry, guard);
    }

    /// Splits buckets while there are more than two thirds as many entries as have room in them.
    /// Without memory, chains grow instead.
    fn grow(&self) {
        let room = 2 * Bucket::capacity::<F>() as u64;
        let Some(mut scratch) = self.splitting.try_lock() else { return };
        for _ in 0..SPLITS_MAX {
            let count = self.count.load(Ordering::Relaxed);
            if self.len.get() * 3 <= count * room || self.buckets.ensure(count).is_err() {
                return;
            }
            self.split(count, &mut scratch);
        }
    }

    /// Moves what belongs to new bucket `count` there.
    fn split(&self, count: u64, scratch: &mut Vec<(F::Entry, u64)>) {
        let i = count - (1 << count.ilog2());
        let (source, target) = (self.buckets.get(i), self.buckets.get(count));
        latch::latch(source.latch());
        let latched = Latched { bucket: source, i };
        let mut free = Vec::new();
        let mut node = Some(source);
        while let Some(chain) = node {
            (0..chain.count::<F>())
                .for_each(|i| scratch.push((chain.entry::<F>(i), chain.tid::<F>(i))));
            free.extend(chain.next());
            node = self.next(chain);
        }
        source.reset();
        target.reset();
        let mut last = [source, target];
        for (entry, tid) in scratch.drain(..) {
            let side = usize::from(bucket_of(self.hash_entry(&entry), count + 1) == count);
            if last[side].count::<F>() == Bucket::capacity::<F>() {
                // Two chains take no more nodes than the one of all their entries did.
                let id = free.pop().expect("as many nodes as before are enough");
                last[side].set_next(Some(id));
                last[side] = self.overflow.get(id);
                last[side].reset();
            }
            last[side].append::<F>(&entry, tid);
        }
        self.count.store(count + 1, Ordering::Release);
        drop(latched);
        free.into_iter().for_each(|id| self.overflow.give_back(id));
    }
}

/// The bucket of `hash` among `count`.
#[inline]
fn bucket_of(hash: u64, count: u64) -> u64 {
    let high = 1 << count.ilog2();
    let bucket = hash & (2 * high - 1);
    if bucket < count { bucket } else { bucket & (high - 1) }
}

impl<F: HashForm> Drop for HashIndex<F> {
    fn drop(&mut self) {
        if F::TAILS {
            for i in 0..self.count.load(Ordering::Acquire) {
                let mut node = Some(self.buckets.get(i));
                while let Some(chain) = node {
                    (0..chain.count::<F>()).for_each(|i| F::free_entry(chain.entry::<F>(i)));
                    node = self.next(chain);
                }
            }
        }
    }
}
