//! Chooses by which path the rows of one frozen block are found, when the block is opened, by what
//! it costs there.
//!
//! ```text
//! tests -> constant     SMA or dictionary: none
//!       -> bloom        the values asked for are absent
//!       -> csb          the conjunct with the fewest rows, when they are few
//!       -> bitweaving   conjuncts whose codes are woven, one after the other on the rows left
//!       -> scan         codes or values, row by row
//! found rows (bits) -> the other conjuncts, versions, values: as in a scan
//! ```
//! Source: Patel 2013, sections 4.4 and 4.6; Chasseur 2015, section 3.4. Departure: a tree counts
//! its rows exactly, so nothing is estimated; rows are bits, so they come in order of positions.

use std::sync::Arc;

use kernels::select::bit_rows;

use super::codes::CodeTest;
use super::{BlockCursor, Step, StepKind};
use crate::block::Block;
use crate::block::sub_block::{CodeRange, Domain, SubBlock, WeaveForm, bitmap_words, runs};
use crate::restriction::Test;

/// Which index sub-blocks a scan may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockPaths {
    /// Where they should cost less than a scan.
    #[default]
    Consider,
    /// None.
    Avoid,
    /// All that can answer.
    Prefer,
}

/// How the rows of a block were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPath {
    /// The block's bounds or dictionary show that there are no rows.
    Constant,
    /// A Bloom filter shows that there are no rows.
    Bloom,
    /// A CSB+-tree.
    Csb,
    /// BitWeaving/V.
    Vertical,
    /// BitWeaving/H.
    Horizontal,
    /// All rows, or a range of them, were looked at.
    Scan,
    /// Smallest and largest values of the block stood for its rows.
    Ends,
}

impl AccessPath {
    /// Every path, in the order of their declaration.
    pub const ALL: [Self; 7] = [
        Self::Constant,
        Self::Bloom,
        Self::Csb,
        Self::Vertical,
        Self::Horizontal,
        Self::Scan,
        Self::Ends,
    ];

    /// Its name in EXPLAIN ANALYZE.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Bloom => "bloom",
            Self::Csb => "csb",
            Self::Vertical => "bitweaving/v",
            Self::Horizontal => "bitweaving/h",
            Self::Scan => "scan",
            Self::Ends => "ends",
        }
    }
}

/// Nanoseconds of finding rows, by `cargo bench -p storage --bench sub_block` (page 014).
mod cost {
    use super::WeaveForm;

    /// Testing the codes of all rows, for each row, by bytes of a code.
    pub(super) fn codes(width: usize) -> f64 {
        match width {
            1 => 0.15,
            2 => 0.16,
            _ => 0.21,
        }
    }

    /// Testing the values of all rows, for each row.
    pub(super) const VALUE: f64 = 1.35;
    /// Testing a row that another test left.
    pub(super) const REFINED: f64 = 0.5;
    /// Finding both ends of one range in a tree.
    pub(super) const DESCENTS: f64 = 120.0;
    /// A row of a range in a tree.
    pub(super) const TREE_ROW: f64 = 1.2;
    /// Making the bitmap, and looking through it.
    pub(super) const BITMAP: f64 = 2400.0;

    /// Positions of the `found` bits of a bitmap of `rows`: bit by bit, or whole words.
    pub(super) fn positions(found: f64, rows: f64) -> f64 {
        (found * 9.0).min(rows * 0.13)
    }

    /// Comparing woven codes with a range, for each row.
    pub(super) fn woven(form: WeaveForm, bits: u32) -> f64 {
        match form {
            WeaveForm::Vertical => 0.004 + 0.0025 * f64::from(bits),
            WeaveForm::Horizontal => 0.02 + 0.007 * f64::from(bits),
        }
    }
}

/// Rows found by index sub-blocks: bit `i` is row `i` of the block.
pub(super) struct FoundRows {
    words: Vec<u64>,
}

impl FoundRows {
    /// All of `start..end`.
    fn all(rows: usize, start: u32, end: u32) -> Self {
        let mut words = vec![0; bitmap_words(rows)];
        let (first, last) = (start as usize / 64, (end - 1) as usize / 64);
        words[first..=last].fill(u64::MAX);
        words[first] &= u64::MAX << (start % 64);
        words[last] &= u64::MAX >> (63 - (end - 1) % 64);
        Self { words }
    }

    fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Keeps those of `start..end`, and tells where the first is and the last ends.
    fn narrow(&mut self, start: u32, end: u32) -> (u32, u32) {
        let (first, last) = (start as usize / 64, (end - 1) as usize / 64);
        self.words[..first].fill(0);
        self.words[last + 1..].fill(0);
        self.words[first] &= u64::MAX << (start % 64);
        self.words[last] &= u64::MAX >> (63 - (end - 1) % 64);
        let word = |i: usize| (i as u32 * 64, self.words[i]);
        let Some((low, bits)) = (first..=last).map(word).find(|(_, bits)| *bits != 0) else {
            return (start, start);
        };
        let start = low + bits.trailing_zeros();
        let (high, bits) =
            (first..=last).rev().map(word).find(|(_, bits)| *bits != 0).unwrap_or((low, bits));
        (start, high + 64 - bits.leading_zeros())
    }

    /// Appends at most `room` rows from `start` on, all below `end`; returns where to go on.
    pub(super) fn take(&self, start: u32, end: u32, room: u32, out: &mut Vec<u32>) -> u32 {
        let (first, last) = (start as usize / 64, end.div_ceil(64) as usize);
        let mut word = self.words[first] & u64::MAX << (start % 64);
        if word.count_ones() > room {
            let mut next = start;
            for _ in 0..room {
                next = first as u32 * 64 + word.trailing_zeros();
                out.push(next);
                word &= word - 1;
                next += 1;
            }
            return next;
        }
        bit_rows(&[word], first as u32 * 64, out);
        let mut left = room - word.count_ones();
        let mut stop = first + 1;
        while stop < last && self.words[stop].count_ones() <= left {
            left -= self.words[stop].count_ones();
            stop += 1;
        }
        bit_rows(&self.words[first + 1..stop.max(first + 1)], (first as u32 + 1) * 64, out);
        (stop as u32 * 64).min(end)
    }
}

/// A conjunct that an index sub-block can decide.
struct Candidate<'b> {
    /// Number of its step.
    step: usize,
    ranges: Vec<CodeRange>,
    index: &'b SubBlock,
}

impl Candidate<'_> {
    /// Nanoseconds of comparing its woven codes, for each of all rows; endless without any, or with
    /// too many ranges.
    fn woven_cost(&self) -> f64 {
        match self.index.weave() {
            Some(weave) if self.ranges.len() <= PASSES_MAX => {
                self.ranges.len() as f64 * cost::woven(weave.form(), weave.bits())
            }
            _ => f64::INFINITY,
        }
    }
}

/// Ranges for which woven codes are compared, each by a pass of its own.
const PASSES_MAX: usize = 64;

impl BlockCursor<'_> {
    /// Finds rows by index sub-blocks where that pays, and narrows the cursor to them.
    pub(super) fn choose_path(
        &mut self,
        indexes: &[Arc<SubBlock>],
        paths: BlockPaths,
    ) -> AccessPath {
        let mut candidates: Vec<Candidate<'_>> =
            indexes.iter().filter_map(|index| self.candidate(index)).collect();
        candidates.sort_by(|a, b| {
            a.step.cmp(&b.step).then_with(|| a.woven_cost().total_cmp(&b.woven_cost()))
        });
        if candidates.is_empty() || self.next == self.end {
            return AccessPath::Scan;
        }
        let mut found = None;
        let mut path = AccessPath::Scan;
        let mut done = Vec::new();
        if let Some(tree) = self.best_tree(&candidates, paths) {
            let mut rows = FoundRows { words: vec![0; bitmap_words(self.block.rows())] };
            tree.index.tree().expect("a tree").find(&tree.ranges, &mut rows.words);
            (path, found) = (AccessPath::Csb, Some(rows));
            done.push(tree.step);
        }
        let share = self.woven_share(&candidates);
        for woven in &candidates {
            let Some(weave) = woven.index.weave() else { continue };
            if done.contains(&woven.step) || woven.woven_cost().is_infinite() {
                continue;
            }
            if paths == BlockPaths::Prefer || self.pays(woven, share, found.as_ref()) {
                let all = || FoundRows::all(self.block.rows(), self.next, self.end);
                weave.find(&woven.ranges, &mut found.get_or_insert_with(all).words);
                done.push(woven.step);
                path = match weave.form() {
                    _ if path != AccessPath::Scan => path,
                    WeaveForm::Vertical => AccessPath::Vertical,
                    WeaveForm::Horizontal => AccessPath::Horizontal,
                };
            }
        }
        if let Some(mut rows) = found {
            (self.next, self.end) = rows.narrow(self.next, self.end);
            self.found = Some(rows);
            let mut number = 0..;
            self.steps.retain(|_| number.next().is_some_and(|i| !done.contains(&i)));
        }
        path
    }

    /// The step that `index` can decide.
    fn candidate<'b>(&self, index: &'b Arc<SubBlock>) -> Option<Candidate<'b>> {
        if index.tree().is_none() && index.weave().is_none() {
            return None;
        }
        let domain = Domain::of(self.block, index.column())?;
        let mut steps = self.steps.iter().enumerate();
        steps.find_map(|(step, test)| {
            let ranges = (test.column == index.column()).then(|| code_ranges(test, &domain))??;
            Some(Candidate { step, ranges, index })
        })
    }

    /// The conjunct with the fewest rows, when a tree leads to them sooner than anything else.
    fn best_tree<'c, 'b>(
        &self,
        candidates: &'c [Candidate<'b>],
        paths: BlockPaths,
    ) -> Option<&'c Candidate<'b>> {
        let scan = self.scan_cost(candidates);
        let all = f64::from(self.end - self.next);
        let cost = |c: &Candidate<'_>| {
            let tree = c.index.tree()?;
            let descents = c.ranges.len() as f64 * cost::DESCENTS;
            // Many ranges: their descents alone cost more than the scan.
            if paths == BlockPaths::Consider && descents >= scan {
                return None;
            }
            let rows = tree.count(&c.ranges) as f64;
            let others = (self.steps.len() - 1) as f64 * cost::REFINED;
            let found = rows * (cost::TREE_ROW + others) + cost::positions(rows, all);
            Some(cost::BITMAP + descents + found)
        };
        let costs = candidates.iter().filter_map(|c| Some((cost(c)?, c)));
        let (least, best) = costs.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (paths == BlockPaths::Prefer || least < scan).then_some(best)
    }

    /// Finding the rows without a tree.
    fn scan_cost(&self, candidates: &[Candidate<'_>]) -> f64 {
        let rows = f64::from(self.end - self.next);
        let steps = self.steps.iter().map(|step| step_cost(step, self.block));
        let woven = candidates.iter().map(Candidate::woven_cost);
        steps.chain(woven).fold(f64::INFINITY, f64::min) * rows
    }

    /// Share of the rows that all comparisons of woven codes together should leave.
    fn woven_share(&self, candidates: &[Candidate<'_>]) -> f64 {
        let is_woven =
            |step: usize| candidates.iter().any(|c| c.step == step && c.index.weave().is_some());
        let steps = self.steps.iter().enumerate().filter(|(i, _)| is_woven(*i));
        steps.map(|(_, step)| step.selectivity).product()
    }

    /// True when comparing woven codes costs less than testing the rows that are left.
    fn pays(&self, woven: &Candidate<'_>, share: f64, found: Option<&FoundRows>) -> bool {
        let rows = f64::from(self.end - self.next);
        let cost = rows * woven.woven_cost();
        match found {
            Some(found) => cost < found.count() as f64 * cost::REFINED,
            None => {
                let found = cost::BITMAP + cost::positions(rows * share, rows);
                cost + found < rows * step_cost(&self.steps[woven.step], self.block)
            }
        }
    }
}

/// Nanoseconds of a step for each of all rows.
fn step_cost(step: &Step<'_>, block: &Block) -> f64 {
    match &step.kind {
        StepKind::Codes(CodeTest::Range(..) | CodeTest::Bits(_)) => {
            cost::codes(block.width(step.column))
        }
        _ => cost::VALUE,
    }
}

/// The codes that a step accepts; None when NULL is among them or no codes decide it.
fn code_ranges(step: &Step<'_>, domain: &Domain) -> Option<Vec<CodeRange>> {
    let ranges = match &step.kind {
        StepKind::Codes(test) => match test {
            CodeTest::Range(lo, hi) => vec![(u64::from(*lo), u64::from(*hi))],
            CodeTest::Not { code, .. } => domain.without(u64::from(*code)),
            CodeTest::Bits(bits) => runs(bits.ones().into_iter().map(u64::from)),
            CodeTest::Set(codes) => runs(codes.iter().map(|&code| u64::from(code))),
            CodeTest::All | CodeTest::None | CodeTest::Values => return None,
        },
        StepKind::Values(Test::Keys(test)) => domain.ranges(test)?,
        StepKind::Values(_) | StepKind::Validity(_) => return None,
    };
    ranges.last().is_none_or(|(_, hi)| *hi <= domain.last).then_some(ranges)
}
