//! Snapshots as descriptors: which versions a caller reads, and which one it writes.
//!
//! ```text
//! versions  1 .. base   | base + 1 ... version |  later
//!           all of them | those whose bit is 1 |  none
//! ```
//! Invariant: `lowest_active <= base <= version`; the version of a transaction that writes is in
//! its own set.
//! Elsewhere: who gives versions out (the commit manager, `shared`).
//! Source: Pilman 2017, section 7.4, with the bounds of the digest's erratum E8.

use crate::error::{Result, StoreError};

/// Number of a version: the transaction that wrote it, or the write of its key; from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl Version {
    /// Largest version that a snapshot may name; numbers above mark states in memory.
    pub const MAX: Self = Self((1 << 62) - 1);
}

/// Versions that may lie between a snapshot's base and its version: 2 MiB of bitmap.
const WINDOW: u64 = 1 << 24;

/// May the holder of a snapshot write?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads alone.
    ReadOnly,
    /// Writes under the snapshot's version.
    ReadWrite,
}

/// Versions that a caller sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    lowest_active: Version,
    base: Version,
    version: Version,
    bits: Box<[u64]>,
    access: Access,
}

impl Snapshot {
    /// Snapshot of a transaction that writes `version`: it sees versions up to `base`, the
    /// `finished` ones above, and its own. `lowest_active` is the smallest base that any
    /// transaction still has.
    ///
    /// # Errors
    /// [`StoreError::InvalidSnapshot`] unless `lowest_active <= base < version <= Version::MAX`,
    /// and `finished` are between base and version, which are at most 2^24 apart.
    pub fn read_write(
        lowest_active: Version,
        base: Version,
        version: Version,
        finished: &[Version],
    ) -> Result<Self> {
        let mut snapshot = Self::read_only(lowest_active, base, version, finished)?;
        if base == version {
            return Err(StoreError::InvalidSnapshot);
        }
        snapshot.access = Access::ReadWrite;
        snapshot.add(version);
        Ok(snapshot)
    }

    /// Snapshot that sees versions up to `base` and the `finished` ones, which lie above and up to
    /// `version`.
    ///
    /// # Errors
    /// As [`Self::read_write`]; `base` may be `version`.
    pub fn read_only(
        lowest_active: Version,
        base: Version,
        version: Version,
        finished: &[Version],
    ) -> Result<Self> {
        let is_ordered = lowest_active <= base && base <= version && version <= Version::MAX;
        let is_ordered = is_ordered && version.0 - base.0 <= WINDOW;
        let is_between = |v: &Version| base < *v && *v <= version;
        if !is_ordered || !finished.iter().all(is_between) {
            return Err(StoreError::InvalidSnapshot);
        }
        let words = (version.0 - base.0).div_ceil(64) as usize;
        let bits = vec![0; words].into_boxed_slice();
        let mut snapshot = Self { lowest_active, base, version, bits, access: Access::ReadOnly };
        finished.iter().for_each(|v| snapshot.add(*v));
        Ok(snapshot)
    }

    /// Snapshot of all versions up to `base`: what analytical transactions have.
    ///
    /// # Errors
    /// As [`Self::read_write`].
    pub fn analytical(lowest_active: Version, base: Version) -> Result<Self> {
        Self::read_only(lowest_active, base, base, &[])
    }

    /// Snapshot of the newest version of each key, whatever it is: load-linked on a
    /// non-transactional table.
    pub fn newest() -> Self {
        let (base, access) = (Version::MAX, Access::ReadOnly);
        let bits = Box::default();
        Self { lowest_active: Version(0), base, version: base, bits, access }
    }

    /// Store-conditional on a non-transactional table: the write succeeds when nobody wrote the key
    /// after its version `seen`, 0 for a key that was absent. The new version is one more.
    ///
    /// # Errors
    /// [`StoreError::InvalidSnapshot`] at the end of the numbers.
    pub fn conditional(seen: Version) -> Result<Self> {
        let next = seen.0.checked_add(1).ok_or(StoreError::InvalidSnapshot)?;
        let mut snapshot = Self::read_only(Version(0), seen, Version(next), &[])?;
        // Its own version is not in its set: whoever came first wrote the same number.
        snapshot.access = Access::ReadWrite;
        Ok(snapshot)
    }

    /// The snapshot with these parts; `bits` as [`Self::bits`] gives them.
    ///
    /// # Errors
    /// As [`Self::read_write`], and for bits of another number or above the version.
    pub fn from_bits(
        lowest_active: Version,
        base: Version,
        version: Version,
        access: Access,
        bits: Box<[u64]>,
    ) -> Result<Self> {
        let mut snapshot = Self::read_only(lowest_active, base, version, &[])?;
        let above = (version.0 - base.0) % 64;
        let is_clean = above == 0 || bits.last().is_none_or(|last| last >> above == 0);
        let cannot_write = access == Access::ReadWrite && base == version;
        if bits.len() != snapshot.bits.len() || !is_clean || cannot_write {
            return Err(StoreError::InvalidSnapshot);
        }
        (snapshot.bits, snapshot.access) = (bits, access);
        Ok(snapshot)
    }

    /// Read set above the base, a bit for each version, the lowest first.
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// May its holder write?
    pub fn access(&self) -> Access {
        self.access
    }

    fn add(&mut self, version: Version) {
        let bit = version.0 - self.base.0 - 1;
        self.bits[(bit / 64) as usize] |= 1 << (bit % 64);
    }

    /// True when `version` is in the read set.
    #[inline]
    pub fn sees(&self, version: Version) -> bool {
        if version <= self.base {
            return true;
        }
        let bit = version.0 - self.base.0 - 1;
        let word = self.bits.get((bit / 64) as usize);
        word.is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Version that writes get.
    ///
    /// # Errors
    /// [`StoreError::InvalidSnapshot`] for snapshots that only read.
    pub fn writes(&self) -> Result<Version> {
        match self.access {
            Access::ReadWrite => Ok(self.version),
            Access::ReadOnly => Err(StoreError::InvalidSnapshot),
        }
    }

    /// All versions up to this one are in the read set.
    pub fn base(&self) -> Version {
        self.base
    }

    /// The largest version that may be in the read set.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Smallest base of all transactions when this snapshot was made.
    pub fn lowest_active(&self) -> Version {
        self.lowest_active
    }

    /// Bytes of its bitmap: one bit for each version between base and version.
    pub fn bitmap_bytes(&self) -> usize {
        (self.version.0 - self.base.0).div_ceil(8) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test] // Row 40: the set is the base, and a bit for each version above it.
        fn read_sets_are_sets(
            base in 0..50u64,
            above in proptest::collection::btree_set(1..200u64, 0..20),
        ) {
            let finished: Vec<Version> = above.iter().map(|v| Version(base + v)).collect();
            let version = Version(base + 200);
            let snapshot =
                Snapshot::read_write(Version(base), Version(base), version, &finished).expect("ok");
            let mut set: BTreeSet<u64> = (0..=base).chain(above.iter().map(|v| base + v)).collect();
            set.insert(version.0);
            for v in 0..=base + 400 {
                prop_assert_eq!(snapshot.sees(Version(v)), set.contains(&v), "{}", v);
            }
            prop_assert_eq!(snapshot.bitmap_bytes(), 25);
        }
    }

    #[test]
    fn sets_that_cannot_be_are_refused() {
        let v = Version;
        assert!(Snapshot::read_write(v(2), v(1), v(3), &[]).is_err());
        assert!(Snapshot::read_write(v(1), v(3), v(3), &[]).is_err());
        assert!(Snapshot::read_write(v(1), v(3), v(5), &[v(3)]).is_err());
        assert!(Snapshot::read_write(v(1), v(3), v(5), &[v(6)]).is_err());
        assert!(Snapshot::read_write(v(1), v(3), v(u64::MAX), &[]).is_err());
        assert!(Snapshot::read_write(v(1), v(3), v(4 + WINDOW), &[]).is_err());
        assert!(Snapshot::analytical(v(1), v(3)).expect("ok").writes().is_err());
        assert!(Snapshot::newest().sees(Version::MAX));
        assert!(!Snapshot::conditional(v(7)).expect("ok").sees(v(8)));
        assert!(Snapshot::conditional(Version::MAX).is_err());
    }
}
