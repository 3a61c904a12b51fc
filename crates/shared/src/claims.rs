//! Claims on rows that others refer to: of two transactions that run at once, one that takes such a
//! row away and one that begins to refer to it, one fails.
//!
//! ```text
//! record of a row   floor u64 | sole u64 | shared versions, u64 each | 0, first u64, more u64 ...
//! shared claim      fails unless the snapshot sees `sole`; the version is added
//! sole claim        fails unless it sees `sole`, the shared versions, and all up to `floor`
//! ```
//! A record keeps few versions. Where there are more, all between two of them count as claims, too:
//! first those that a snapshot has seen, which nobody waits for. So a sole claim may fail though it
//! sees all that count, as it may fail because of a claim that came to nothing.
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

/// Spans of shared claims that a record keeps: some 300 bytes.
const SPANS_MAX: usize = 32;

/// Length up to which what lies between two spans is looked at version by version.
const LOOKED_AT_MAX: u64 = 4096;

/// Versions that count as shared claims, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    first: u64,
    last: u64,
}

/// The claims on one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    /// Shared claims up to this version are not kept.
    floor: u64,
    /// The last sole claim; 0 without.
    sole: u64,
    /// In order, none beside the next.
    shared: Vec<Span>,
}

impl Claims {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let read = || -> Result<Self, Malformed> {
            let mut input = Input::new(bytes);
            let mut claims = Self { floor: input.u64()?, sole: input.u64()?, shared: Vec::new() };
            let mut are_single = true;
            while !input.is_empty() {
                let first = input.u64()?;
                if first == 0 && are_single {
                    are_single = false;
                    continue;
                }
                let more = if are_single { 0 } else { input.u64()? };
                let last = first.checked_add(more);
                let last = last.ok_or_else(|| input.malformed("a span of versions"))?;
                claims.insert(Span { first, last });
            }
            Ok(claims)
        };
        read().map_err(|bad| SharedError::Corrupt(bad.in_bytes_of("claims").to_string()))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_u64(&mut out, self.floor);
        put_u64(&mut out, self.sole);
        let (single, wide): (Vec<Span>, Vec<Span>) =
            self.shared.iter().partition(|span| span.first == span.last);
        single.iter().for_each(|span| put_u64(&mut out, span.first));
        if !wide.is_empty() {
            put_u64(&mut out, 0);
        }
        for span in wide {
            put_u64(&mut out, span.first);
            put_u64(&mut out, span.last - span.first);
        }
        out
    }

    /// Adds a claim of the transaction `own`.
    ///
    /// # Errors
    /// [`SharedError::Conflict`] when another claim is in the way, maybe one that came to nothing.
    pub(crate) fn add(&mut self, claim: Claim, own: Version, snapshot: &Snapshot) -> Result<()> {
        let sees = |version: u64| version == own.0 || snapshot.sees(Version(version));
        let base = snapshot.base().0;
        let sees_all = |span: &Span| (span.first.max(base + 1)..=span.last).all(sees);
        let is_free = self.sole == 0 || sees(self.sole);
        let may = match claim {
            Claim::Shared => is_free,
            Claim::Sole => is_free && self.floor <= base && self.shared.iter().all(sees_all),
        };
        if !may {
            return Err(SharedError::Conflict);
        }
        match claim {
            // Whoever sees this one sees what it saw.
            Claim::Sole => (self.sole, self.shared) = (own.0, Vec::new()),
            Claim::Shared => {
                self.insert(Span { first: own.0, last: own.0 });
                if self.shared.len() > SPANS_MAX {
                    self.raise_floor(base);
                    self.join(snapshot);
                }
            }
        }
        Ok(())
    }

    /// Adds a span; those that it meets or touches are one with it.
    fn insert(&mut self, mut span: Span) {
        let begin = self.shared.partition_point(|known| known.last.saturating_add(1) < span.first);
        let met = self.shared[begin..].iter();
        let end =
            begin + met.take_while(|known| known.first <= span.last.saturating_add(1)).count();
        for known in &self.shared[begin..end] {
            (span.first, span.last) = (span.first.min(known.first), span.last.max(known.last));
        }
        self.shared.splice(begin..end, [span]);
    }

    /// Keeps no claims up to `floor`.
    fn raise_floor(&mut self, floor: u64) {
        self.floor = self.floor.max(floor);
        self.shared.retain(|span| span.last > self.floor);
        for span in &mut self.shared {
            span.first = span.first.max(self.floor + 1);
        }
    }

    /// Makes one of two spans until there are few: of those with the fewest versions between them
    /// that the snapshot does not see.
    fn join(&mut self, snapshot: &Snapshot) {
        let base = snapshot.base().0;
        while self.shared.len() > SPANS_MAX {
            let unseen = |at: &usize| {
                let between = self.shared[*at].last + 1..self.shared[*at + 1].first;
                let length = between.end - between.start;
                let above = between.start.max(base + 1)..between.end;
                let is_unseen = |version: &u64| !snapshot.sees(Version(*version));
                if length > LOOKED_AT_MAX {
                    return (length, length);
                }
                (above.filter(is_unseen).count() as u64, length)
            };
            let Some(at) = (0..self.shared.len() - 1).min_by_key(unseen) else { return };
            self.shared[at].last = self.shared[at + 1].last;
            self.shared.remove(at + 1);
        }
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
            assert!(claims.bytes().len() <= BYTES_MAX);
        }
        // Who began before some of them is refused, though it might have seen all that count.
        assert!(!add(&mut claims, Claim::Sole, 1001, &snapshot(500, 1001, &[])));
        assert!(!add(&mut claims, Claim::Sole, 1001, &snapshot(998, 1001, &[])));
        assert!(add(&mut claims, Claim::Sole, 1001, &snapshot(1000, 1001, &[])));
    }

    const BYTES_MAX: usize = 320;

    /// Transactions that begin and end by chance beside an old one.
    struct Running {
        next: u64,
        open: Vec<u64>,
        finished: Vec<u64>,
    }

    impl Running {
        /// A new one, and its snapshot.
        fn begin(&mut self) -> (u64, Snapshot) {
            let (own, base) = (self.next, self.open.iter().min().map_or(self.next, |v| *v) - 1);
            let seen: Vec<u64> = self.finished.iter().copied().filter(|v| *v > base).collect();
            self.next += 1;
            self.open.push(own);
            (own, snapshot(base, own, &seen))
        }

        fn end(&mut self, own: u64) {
            self.open.retain(|open| *open != own);
            self.finished.push(own);
            self.finished.sort_unstable();
        }
    }

    #[test]
    fn an_old_transaction_neither_makes_records_long_nor_others_fail() {
        for seed in 0..6 {
            let mut random = testkit::Random::new(seed);
            let mut running = Running { next: 1, open: Vec::new(), finished: Vec::new() };
            let mut claims = Claims::default();
            let (first, before) = running.begin();
            assert!(add(&mut claims, Claim::Shared, first, &before));
            let (old, _) = running.begin();
            running.end(first);
            let (mut known, mut sole) = (vec![first], 0);
            for _ in 0..1000 {
                let (own, snapshot) = running.begin();
                let sees = |version: &u64| *version == 0 || snapshot.sees(Version(*version));
                match random.below(60) {
                    0 => {
                        let sees_all = known.iter().chain([&sole]).all(sees);
                        let may = add(&mut claims, Claim::Sole, own, &snapshot);
                        assert!(sees_all || !may, "a claim of {known:?} is forgotten");
                        // Only those that run may be in the way, and the old one does not claim.
                        let runs = |open: &u64| *open != old && *open != own;
                        assert!(may || !sees_all || running.open.iter().any(runs));
                        if may {
                            (sole, known) = (own, Vec::new());
                        }
                    }
                    1..40 => {
                        if add(&mut claims, Claim::Shared, own, &snapshot) {
                            known.push(own);
                        }
                        assert!(claims.bytes().len() <= BYTES_MAX);
                    }
                    _ => {}
                }
                while running.open.len() > 1 && random.below(3) > 0 {
                    let at = random.below(running.open.len() as u64) as usize;
                    let ends = running.open[at];
                    if ends != old {
                        running.end(ends);
                    }
                }
            }
        }
    }

    #[test]
    fn records_of_single_versions_are_read() {
        let claims = Claims::read(&[3, 0, 9, 7, 8, 20]).expect("a record");
        let spans = [Span { first: 7, last: 9 }, Span { first: 20, last: 20 }];
        assert_eq!((claims.floor, claims.sole, &claims.shared[..]), (3, 0, &spans[..]));
        assert_eq!(Claims::read(&claims.bytes()), Ok(claims));
    }

    #[test]
    fn bytes_that_are_no_claims_are_refused() {
        for bytes in [
            &[][..],
            &[1],
            &[0x80],
            &[1, 0x80],
            &[1, 1, 0x80],
            &[1, 1, 0, 5],
            &[1, 1, 0, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        ] {
            assert!(Claims::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
