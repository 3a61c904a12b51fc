//! Memory that is a copy of what a file holds, and may be taken back: whose is taken first.
//!
//! ```text
//! take -- does not fit --> Evictor: everything that nobody uses, by rank --evict--> until it fits
//! use  -> Usage (last, before) in ticks of the clock; a load is a tick
//! ```
//! Invariants: only what nobody uses is evicted, and its bytes are free at once; who evicts waits
//! for nobody, so that any thread may, whatever it holds.
//! Elsewhere: payloads of frozen blocks and their pins (`block::payload`).
//! Source: O'Neil, O'Neil, Weikum 1993, "The LRU-K Page Replacement Algorithm"; Patel 2018, section
//! 3.4. Departure: uses within one tick of the clock count once, which is the correlated reference
//! period.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// When something was used, in ticks; 0 is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The last use.
    pub last: u32,
    /// The last use in an earlier tick.
    pub before: u32,
}

/// Order in which memory is taken back.
pub trait EvictionPolicy: Send + Sync + std::fmt::Debug {
    /// Its name in SQL.
    fn name(&self) -> &'static str;

    /// The rank of what was used so; the lowest is taken back first.
    fn rank(&self, usage: Usage) -> u64;
}

/// The last use but one decides, so that what a scan used once goes first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lru2;

/// The last use decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lru;

/// Chance decides, from a seed on.
#[derive(Debug, Default)]
pub struct RandomEviction(AtomicU64);

impl RandomEviction {
    /// A policy whose choices follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl EvictionPolicy for Lru2 {
    fn name(&self) -> &'static str {
        "lru-2"
    }

    fn rank(&self, usage: Usage) -> u64 {
        u64::from(usage.before) << 32 | u64::from(usage.last)
    }
}

impl EvictionPolicy for Lru {
    fn name(&self) -> &'static str {
        "lru"
    }

    fn rank(&self, usage: Usage) -> u64 {
        usage.last.into()
    }
}

impl EvictionPolicy for RandomEviction {
    fn name(&self) -> &'static str {
        "random"
    }

    /// A number of SplitMix64 (Steele, Lea, Flood 2014).
    fn rank(&self, _usage: Usage) -> u64 {
        let step = 0x9e37_79b9_7f4a_7c15;
        let seed = self.0.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
        let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// Something whose memory may be taken back.
pub(crate) trait Evictable: Send + Sync {
    /// When it was used; None when there is nothing to take back now.
    fn usage(&self) -> Option<Usage>;

    /// Gives its memory back unless somebody uses it; true when it did. Waits for nobody.
    fn evict(&self) -> bool;
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictionCounts {
    /// Payloads read from files, when the database was opened apart.
    pub loads: u64,
    /// Payloads whose memory was taken back.
    pub evictions: u64,
}

/// List of all that may be taken back of one pool.
#[derive(Debug)]
pub(crate) struct Evictor {
    policy: Box<dyn EvictionPolicy>,
    /// Ticks with each load.
    clock: AtomicU32,
    all: Mutex<Vec<Weak<dyn Evictable>>>,
    /// Bytes in memory that could be taken back, pinned or not.
    cached: AtomicU64,
    loads: AtomicU64,
    evictions: AtomicU64,
}

impl std::fmt::Debug for dyn Evictable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Evictable({:?})", self.usage())
    }
}

impl Evictor {
    pub(super) fn new(policy: Box<dyn EvictionPolicy>) -> Arc<Self> {
        Arc::new(Self {
            policy,
            clock: AtomicU32::new(1),
            all: Mutex::default(),
            cached: AtomicU64::new(0),
            loads: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        })
    }

    /// The time, in ticks.
    #[inline]
    pub(crate) fn now(&self) -> u32 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Something was read into memory because it was used.
    pub(crate) fn note_load(&self) {
        self.loads.fetch_add(1, Ordering::Relaxed);
        self.clock.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> EvictionCounts {
        let [loads, evictions] =
            [&self.loads, &self.evictions].map(|count| count.load(Ordering::Relaxed));
        EvictionCounts { loads, evictions }
    }

    pub(super) fn policy(&self) -> &'static str {
        self.policy.name()
    }

    /// Bytes in memory that could be taken back.
    pub(super) fn cached(&self) -> u64 {
        self.cached.load(Ordering::Relaxed)
    }

    /// The memory of `what` may be taken back from now on.
    pub(crate) fn add(&self, what: Weak<dyn Evictable>) {
        self.all.lock().push(what);
    }

    /// Evicts by rank until `fits`; false when it does not and nothing is left.
    #[cold]
    pub(super) fn make_room(&self, mut fits: impl FnMut() -> bool) -> bool {
        let mut all = self.all.lock();
        // Another thread may have made room meanwhile.
        if fits() {
            return true;
        }
        all.retain(|known| known.strong_count() > 0);
        let usage = |i: usize| Some((self.policy.rank(all[i].upgrade()?.usage()?), i));
        let mut ranked: Vec<(u64, usize)> = (0..all.len()).filter_map(usage).collect();
        ranked.sort_unstable();
        for (_, i) in ranked {
            if all[i].upgrade().is_some_and(|known| known.evict()) {
                self.evictions.fetch_add(1, Ordering::Relaxed);
                if fits() {
                    return true;
                }
            }
        }
        false
    }
}

/// Bytes counted as in memory though they could be taken back, until it is dropped.
#[derive(Debug)]
pub(crate) struct Cached {
    evictor: Arc<Evictor>,
    bytes: u64,
}

impl Cached {
    pub(crate) fn new(evictor: &Arc<Evictor>, bytes: u64) -> Self {
        evictor.cached.fetch_add(bytes, Ordering::Relaxed);
        Self { evictor: Arc::clone(evictor), bytes }
    }
}

impl Drop for Cached {
    fn drop(&mut self) {
        self.evictor.cached.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[derive(Debug)]
    struct Thing {
        usage: Usage,
        is_used: bool,
        is_there: AtomicBool,
    }

    impl Evictable for Thing {
        fn usage(&self) -> Option<Usage> {
            self.is_there.load(Ordering::Relaxed).then_some(self.usage)
        }

        fn evict(&self) -> bool {
            !self.is_used && self.is_there.swap(false, Ordering::Relaxed)
        }
    }

    /// The order in which things used at `(before, last)` go; the third is in use.
    fn order(policy: impl EvictionPolicy + 'static, uses: &[(u32, u32)]) -> Vec<usize> {
        let evictor = Evictor::new(Box::new(policy));
        let thing = |(i, &(before, last))| {
            let is_there = AtomicBool::new(true);
            Arc::new(Thing { usage: Usage { last, before }, is_used: i == 2, is_there })
        };
        let things: Vec<Arc<Thing>> = uses.iter().enumerate().map(thing).collect();
        things.iter().for_each(|thing| {
            let weak: Weak<Thing> = Arc::downgrade(thing);
            evictor.add(weak);
        });
        let there = |thing: &Arc<Thing>| thing.is_there.load(Ordering::Relaxed);
        let mut gone: Vec<usize> = Vec::new();
        evictor.make_room(|| {
            let new = (0..things.len()).filter(|i| !there(&things[*i]));
            let new: Vec<usize> = new.filter(|i| !gone.contains(i)).collect();
            gone.extend(new);
            false
        });
        assert_eq!(evictor.counts().evictions, gone.len() as u64);
        gone
    }

    #[test]
    fn policies_differ_in_what_goes_first() {
        let uses = [(4, 5), (0, 9), (0, 1), (3, 8), (0, 2)];
        assert_eq!(order(Lru2, &uses), [4, 1, 3, 0]);
        assert_eq!(order(Lru, &uses), [4, 0, 3, 1]);
        let mut random = order(RandomEviction::new(7), &uses);
        random.sort_unstable();
        assert_eq!(random, [0, 1, 3, 4]);
    }
}
