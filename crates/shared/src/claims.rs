//! Claims on rows that others refer to: of two transactions that run at once, one that takes such a
//! row away and one that begins to refer to it, one fails.
//!
//! ```text
//! record of a row   floor u64 | sole u64 | shared versions, u64 each
//! shared claim      fails unless the snapshot sees `sole`; the version is added
//! sole claim        fails unless it sees `sole`, the shared versions, and all up to `floor`
//! ```
//! Claims are conditional writes of one record, made before the first row is written, so that
//! whoever comes second sees the first. What becomes of the first one does not matter: once it is
//! over, who begins later sees in its snapshot whether rows came or went. So nobody takes claims
//! back, and who recovers a dead node need not know of them.

use store::{Snapshot, Version};
use types::codec::{Input, Malformed, put_u64};

use crate::error::{Result, SharedError};

/// Need of a transaction for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// The row stays as it is: the transaction refers to it.
    Shared,
    /// Nobody refers to the row: the transaction takes it away, or changes its key.
    Sole,
}

/// Versions that a record keeps one by one.
const SHARED_MAX: usize = 32;

/// The claims on one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    /// Shared claims up to this version are not kept one by one.
    floor: u64,
    /// The last sole claim; 0 without.
    sole: u64,
    shared: Vec<u64>,
}

impl Claims {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let read = || -> Result<Self, Malformed> {
            let mut input = Input::new(bytes);
            let (floor, sole, mut shared) = (input.u64()?, input.u64()?, Vec::new());
            while !input.is_empty() {
                shared.push(input.u64()?);
            }
            Ok(Self { floor, sole, shared })
        };
        read().map_err(|bad| SharedError::Corrupt(bad.in_bytes_of("claims").to_string()))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_u64(&mut out, self.floor);
        put_u64(&mut out, self.sole);
        self.shared.iter().for_each(|version| put_u64(&mut out, *version));
        out
    }

    /// Adds a claim of the transaction `own`.
    ///
    /// # Errors
    /// [`SharedError::Conflict`] when another claim is in the way, maybe one that came to nothing.
    pub(crate) fn add(&mut self, claim: Claim, own: Version, snapshot: &Snapshot) -> Result<()> {
        let sees = |version: u64| version == own.0 || snapshot.sees(Version(version));
        let is_free = |sole: u64| sole == 0 || sees(sole);
        let may = match claim {
            Claim::Shared => is_free(self.sole),
            Claim::Sole => {
                is_free(self.sole)
                    && self.floor <= snapshot.base().0
                    && self.shared.iter().all(|version| sees(*version))
            }
        };
        if !may {
            return Err(SharedError::Conflict);
        }
        match claim {
            // Whoever sees this one sees what it saw.
            Claim::Sole => (self.sole, self.shared) = (own.0, Vec::new()),
            Claim::Shared if self.shared.contains(&own.0) => {}
            Claim::Shared => {
                if self.shared.len() >= SHARED_MAX {
                    self.floor = self.floor.max(snapshot.base().0);
                    self.shared.retain(|version| *version > self.floor);
                }
                self.shared.push(own.0);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Snapshot of a transaction of this version: all up to `base`, and these.
    fn snapshot(base: u64, version: u64, seen: &[u64]) -> Snapshot {
        let seen: Vec<Version> = seen.iter().map(|version| Version(*version)).collect();
        Snapshot::read_write(Version(base), Version(base), Version(version), &seen)
            .expect("versions in order")
    }

    fn add(claims: &mut Claims, claim: Claim, own: u64, snapshot: &Snapshot) -> bool {
        let bytes = claims.bytes();
        assert_eq!(Claims::read(&bytes), Ok(claims.clone()));
        let may = claims.add(claim, Version(own), snapshot).is_ok();
        assert!(may || claims.bytes() == bytes);
        may
    }

    #[test]
    fn of_two_at_once_one_fails() {
        use Claim::{Shared, Sole};
        for (first, second, both) in [
            (Shared, Shared, true),
            (Shared, Sole, false),
            (Sole, Shared, false),
            (Sole, Sole, false),
        ] {
            let mut claims = Claims::default();
            assert!(add(&mut claims, first, 5, &snapshot(4, 5, &[])));
            assert_eq!(add(&mut claims, second, 6, &snapshot(4, 6, &[])), both);
            // Behind both, whatever became of them.
            assert!(add(&mut claims, Sole, 7, &snapshot(6, 7, &[])));
            assert!(add(&mut claims, Shared, 9, &snapshot(8, 9, &[])));
        }
    }

    #[test]
    fn its_own_claims_are_in_nobodys_way() {
        let mut claims = Claims::default();
        let own = snapshot(4, 5, &[]);
        for claim in [Claim::Shared, Claim::Sole, Claim::Shared, Claim::Sole] {
            assert!(add(&mut claims, claim, 5, &own));
        }
    }

    #[test]
    fn many_shared_claims_are_few_bytes_and_none_is_forgotten() {
        let mut claims = Claims::default();
        for own in 10..1000 {
            // The one of version 9 is open all the time.
            assert!(add(&mut claims, Claim::Shared, own, &snapshot(own - 1, own, &[])));
            assert!(claims.bytes().len() <= 8 * (3 + SHARED_MAX));
        }
        // Who began before some of them is refused, though it might have seen all that count.
        assert!(!add(&mut claims, Claim::Sole, 1001, &snapshot(500, 1001, &[])));
        assert!(!add(&mut claims, Claim::Sole, 1001, &snapshot(998, 1001, &[])));
        assert!(add(&mut claims, Claim::Sole, 1001, &snapshot(1000, 1001, &[])));
    }

    #[test]
    fn bytes_that_are_no_claims_are_refused() {
        for bytes in [&[][..], &[1], &[0x80], &[1, 0x80], &[1, 1, 0x80]] {
            assert!(Claims::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
