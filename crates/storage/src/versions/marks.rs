//! Marks of a zone that a scan reads before any word: whether a row may have a record, and which
//! rows are gone.
//!
//! ```text
//! writer:  touch -> the word changes ... set_gone, if the row is gone -> untouch
//! reader:  state(): touched? words decide. Otherwise the bits of `gone` do.
//! freezer: seal (no row is touched) -> copies the rows -> retire (still sealed) -> another block
//! ```
//! Invariants: the bit is set before `touched` is lowered, so who finds it 0 finds the bit. A seal
//! is broken by the first writer; what was copied below an unbroken seal is what the rows are. Who
//! touches a zone that is retired takes that back, changes nothing, and looks for the block again.

use super::sync::{AtomicU64, Ordering};

/// Bits of `touched` that count.
const COUNT: u64 = (1 << 32) - 1;
/// In `touched`: somebody copies the rows, and nobody has touched one since.
const SEALED: u64 = 1 << 62;
/// In `touched`: the rows are in another block.
const RETIRED: u64 = 1 << 63;

/// Whether a zone may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Touch {
    /// The rows are here.
    Here,
    /// The rows are, or are about to be, in another block: to be taken back by `untouch`.
    Retired,
}

/// Words of bits.
pub(crate) const GONE_WORDS: usize = super::ZONE_ROWS / 64;

/// How the rows of a zone are to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneState {
    /// All are there.
    Whole,
    /// By the bits of those that are gone.
    Quiet,
    /// By their words.
    Touched,
}

/// Counts and bits of one zone; rows are numbered from the start of the zone.
#[derive(Debug)]
pub(crate) struct Marks {
    touched: AtomicU64,
    /// Bits set in `gone`, or fewer for an instant.
    gone_count: AtomicU64,
    gone: [AtomicU64; GONE_WORDS],
}

impl Marks {
    /// All rows are there.
    pub(crate) fn new() -> Self {
        let gone = std::array::from_fn(|_| AtomicU64::new(0));
        Self { touched: AtomicU64::new(0), gone_count: AtomicU64::new(0), gone }
    }

    /// True when some row may have a record.
    #[inline]
    pub(crate) fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Acquire) & COUNT != 0
    }

    /// `rows` more rows get records; breaks a seal.
    #[inline]
    pub(crate) fn touch(&self, rows: u32) -> Touch {
        let was = self.touched.fetch_add(rows.into(), Ordering::AcqRel);
        if was & (SEALED | RETIRED) == 0 { Touch::Here } else { self.unseal(was) }
    }

    #[cold]
    fn unseal(&self, was: u64) -> Touch {
        if was & RETIRED != 0 {
            return Touch::Retired;
        }
        // The count is raised: it cannot be retired any more.
        self.touched.fetch_and(!SEALED, Ordering::AcqRel);
        Touch::Here
    }

    /// Seals a zone none of whose rows is touched; false when one is, or it is sealed.
    pub(crate) fn seal(&self) -> bool {
        self.exchange(0, SEALED)
    }

    /// True while nobody has broken the seal.
    pub(crate) fn is_sealed(&self) -> bool {
        self.touched.load(Ordering::Acquire) == SEALED
    }

    /// Takes back what [`Self::seal`] did, if nobody has.
    pub(crate) fn take_seal(&self) {
        let _ = self.exchange(SEALED, 0);
    }

    /// Retires the zone if its seal was not broken.
    pub(crate) fn retire(&self) -> bool {
        self.exchange(SEALED, RETIRED)
    }

    /// Takes back what [`Self::retire`] did, while the rows are nowhere else.
    pub(crate) fn revive(&self) {
        self.touched.fetch_and(!RETIRED, Ordering::AcqRel);
    }

    fn exchange(&self, from: u64, to: u64) -> bool {
        let order = (Ordering::AcqRel, Ordering::Acquire);
        self.touched.compare_exchange(from, to, order.0, order.1).is_ok()
    }

    /// `rows` rows have the word 0 again, or are gone.
    #[inline]
    pub(crate) fn untouch(&self, rows: u32) {
        self.touched.fetch_sub(rows.into(), Ordering::AcqRel);
    }

    /// The row is gone for all; before its `untouch`. True when it was not before.
    pub(crate) fn set_gone(&self, row: usize) -> bool {
        let was = self.gone[row / 64].fetch_or(1 << (row % 64), Ordering::AcqRel);
        let is_new = was >> (row % 64) & 1 == 0;
        if is_new {
            self.gone_count.fetch_add(1, Ordering::AcqRel);
        }
        is_new
    }

    /// Recovery: the row is there again.
    pub(crate) fn set_back(&self, row: usize) {
        let was = self.gone[row / 64].fetch_and(!(1 << (row % 64)), Ordering::AcqRel);
        if was >> (row % 64) & 1 == 1 {
            self.gone_count.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// How the rows are to be told, by who has a snapshot taken before.
    #[inline]
    pub(crate) fn state(&self) -> ZoneState {
        // In this order: what went before the zone was quiet has its bit.
        if self.is_touched() {
            ZoneState::Touched
        } else if self.gone_count.load(Ordering::Acquire) != 0 {
            ZoneState::Quiet
        } else {
            ZoneState::Whole
        }
    }

    /// Bit `i` of word `w`: row `w * 64 + i` is gone.
    #[inline]
    pub(crate) fn gone(&self) -> [u64; GONE_WORDS] {
        std::array::from_fn(|w| self.gone[w].load(Ordering::Relaxed))
    }
}
