//! The order of a block's tests: cheap kinds first, selective ones first within a kind, as they are
//! seen to be.
//!
//! ```text
//! estimate (codes, filter, earlier blocks) -> order -> windows -> seen share of rows -> order ...
//!                                                after 1, 2, 4, 8 ... windows
//! ```
//! A share is of the rows that earlier tests left, so it says what the test is worth at its place.
//! Invariant: a predicate that may fail is asked about the rows that it was asked about in the
//! order of the plan: nothing is learnt of predicates, and no test moves from before one to behind
//! it.
//! Source: Patel 2018, section 5.3; the doubling batches of its public code.
//! Departure: what was seen of tests on values in earlier blocks is where the next block begins.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Step, StepKind};
use crate::block::{Block, Scheme};
use crate::restriction::Test;
use crate::scan::codes::CodeTest;

/// Rows from which on a share counts more than an estimate.
const TESTED_MIN: u64 = 256;

/// Rows that a test was asked about and that passed, in all blocks of a scan.
#[derive(Debug, Default)]
pub(super) struct Observed {
    tested: AtomicU64,
    passed: AtomicU64,
}

impl Observed {
    /// The share that passed, once it says something.
    pub(super) fn share(&self) -> Option<f64> {
        let [tested, passed] = [&self.tested, &self.passed].map(|n| n.load(Ordering::Relaxed));
        (tested >= TESTED_MIN).then(|| passed as f64 / tested as f64)
    }
}

/// The same within one block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    tested: u64,
    passed: u64,
}

impl Seen {
    /// Counts `tested` rows, of which `passed` were left.
    pub(super) fn add(&mut self, tested: usize, passed: usize) {
        self.tested += tested as u64;
        self.passed += passed as u64;
    }

    /// The share that passed, once it says something.
    fn share(self) -> Option<f64> {
        (self.tested >= TESTED_MIN).then(|| self.passed as f64 / self.tested as f64)
    }

    /// Tells other blocks of the scan.
    pub(super) fn tell(self, observed: &Observed) {
        if self.tested > 0 {
            observed.tested.fetch_add(self.tested, Ordering::Relaxed);
            observed.passed.fetch_add(self.passed, Ordering::Relaxed);
        }
    }
}

/// Counts windows up to the next look at the order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learning {
    windows: u32,
    next: u32,
}

impl Learning {
    /// Learning from the first window on.
    pub(super) const START: Self = Self { windows: 0, next: 1 };

    /// One more window; true when the order is due.
    pub(super) fn is_due(&mut self) -> bool {
        self.windows += 1;
        let due = self.windows == self.next;
        if due {
            self.next *= 2;
        }
        due
    }
}

/// Puts `steps` in the order in which they run: those on codes first.
pub(super) fn sort(steps: &mut [Step<'_>], block: &Block) {
    steps.sort_by(|a, b| rank(a, block).total_cmp(&rank(b, block)));
}

/// Sorts by what was seen, and drops tests on values that have given up.
pub(super) fn renew(steps: &mut Vec<Step<'_>>, block: &Block, is_active: impl Fn(usize) -> bool) {
    steps.retain(|step| !matches!(step.kind, StepKind::Values(_)) || is_active(step.number));
    for step in steps.iter_mut().filter(|step| is_learnt(step, block)) {
        step.selectivity = step.seen.share().unwrap_or(step.selectivity);
    }
    sort(steps, block);
}

/// True when the place of a step depends on what was seen of it: not where predicates are.
fn is_learnt(step: &Step<'_>, block: &Block) -> bool {
    match step.kind {
        StepKind::Values(Test::Predicate(_)) => false,
        StepKind::Values(_) => block.scheme(step.column) != Scheme::Compressed,
        _ => true,
    }
}

/// Steps run in ascending order of this; those that decode strings are last.
fn rank(step: &Step<'_>, block: &Block) -> f64 {
    let cost = match &step.kind {
        StepKind::Codes(CodeTest::Range(..)) => 0.0,
        StepKind::Codes(_) => 0.2,
        StepKind::Validity(_) => 1.0,
        StepKind::Values(Test::Keys(_) | Test::IsNull | Test::IsNotNull) => 3.0,
        StepKind::Values(Test::Filter(_)) => 5.0,
        StepKind::Values(_) if block.scheme(step.column) == Scheme::Compressed => 11.0,
        StepKind::Values(Test::Joint(..)) => 8.0,
        StepKind::Values(Test::Predicate(_)) => 9.0,
        StepKind::Values(_) => 7.0,
    };
    cost + step.selectivity
}
