//! Which rows of a block satisfy restrictions: the first three of the four steps of a frozen scan.
//!
//! ```text
//! ScanPlan::new   restrictions -> tests                 once per scan
//! ScanPlan::open  tests -> steps on this block          once per block: skip, drop tests, narrow,
//!                                                       decide some by index sub-blocks (`paths`)
//! BlockCursor     window of rows -> steps -> positions  codes first, then whether the row exists,
//!                                                       values of survivors last
//! (TableSnapshot::unpack is the fourth)
//! ```
//! Invariant: a row is found exactly when the snapshot sees it and it satisfies every restriction;
//! rows come in ascending order. Windows without versions are not looked at row by row;
//! restrictions on values of rows that do not exist are not evaluated.
//! Source: Funke 2015, section 5.5. Departure: hot blocks answer the same calls on their values.
//!
//! Elsewhere: the order of the steps (`order`).

mod codes;
mod ends;
mod order;
mod paths;
#[cfg(test)]
mod tests;
mod values;

use std::ops::Range;
use std::sync::Arc;

use kernels::select::{
    bitset_u8, bitset_u16, bitset_u32, range_u8, range_u16, range_u32, refine_bitset_u8,
    refine_bitset_u16, refine_bitset_u32, refine_u8, refine_u16, refine_u32,
};
use kernels::{Column, HeapRef, Vector};
use types::{PhysicalType, Result};

use crate::block::{Block, BlockLayout, Codes, Frozen, Pinned, Scheme, with_codes};
use crate::freeze::lookup::LookupTable;
use crate::frozen::rows_of_texts;
use crate::positions::Positions;
use crate::restriction::{KeyFilter, Restriction, RestrictionKind, Test, Trial, prepare};
use crate::schema::Schema;
use crate::snapshot::TableSnapshot;
use crate::unpack::unpack;
use crate::versions::Zones;
use codes::{CodeTest, decide_codes, is_excluded, translate};
use order::{Learning, Observed, Seen};
use paths::FoundRows;
pub use paths::{AccessPath, BlockPaths};
use values::{retain, retain_values};

/// Techniques that a scan may use: all by default. Its rows do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanTechniques {
    /// Tests are ordered by the share of rows that they were seen to pass.
    pub adaptive: bool,
    /// Frozen blocks are tested on their codes.
    pub codes: bool,
    /// Predicates and filters are decided once per entry of a dictionary; on codes only.
    pub dictionaries: bool,
    /// Blocks and ranges of rows are skipped by smallest and largest value, binary search on sorted
    /// columns, and lookup table.
    pub skipping: bool,
}

impl Default for ScanTechniques {
    fn default() -> Self {
        Self { adaptive: true, codes: true, dictionaries: true, skipping: true }
    }
}

/// Restrictions fitted to a table, for all blocks and threads of one scan.
pub struct ScanPlan {
    tests: Vec<(usize, Test)>,
    techniques: ScanTechniques,
    /// Selectivity seen of each test.
    observed: Vec<Observed>,
    /// Trials of the tests that a join repeats and that cannot give up themselves.
    trials: Vec<Option<Trial>>,
    paths: BlockPaths,
}

fn has_predicates(tests: &[(usize, Test)]) -> bool {
    tests.iter().any(|(_, test)| matches!(test, Test::Predicate(_)))
}

impl ScanPlan {
    /// Prepares `restrictions`, all of which must hold.
    ///
    /// # Errors
    /// XX000 when a restriction does not fit its column.
    pub fn new(schema: &Schema, restrictions: Vec<Restriction>) -> Result<Self> {
        let tests = restrictions.iter().map(|r| Ok((r.column, prepare(schema, r)?)));
        let tests: Vec<(usize, Test)> = tests.collect::<Result<_>>()?;
        // A predicate may fail on rows that other tests drop.
        let gives_up = !has_predicates(&tests);
        let is_tried = |r: &Restriction| matches!(r.kind, RestrictionKind::BuildKeys(_));
        let trials = restrictions.iter().map(|r| (gives_up && is_tried(r)).then(Trial::default));
        let trials = trials.collect();
        let observed = tests.iter().map(|_| Observed::default()).collect();
        let (techniques, paths) = (ScanTechniques::default(), BlockPaths::default());
        Ok(Self { tests, techniques, observed, trials, paths })
    }

    /// The same, with these techniques only.
    #[must_use]
    pub fn with(self, techniques: ScanTechniques) -> Self {
        Self { techniques, ..self }
    }

    /// The plan with these index sub-blocks.
    #[must_use]
    pub fn with_paths(self, paths: BlockPaths) -> Self {
        Self { paths, ..self }
    }

    /// The columns of its restrictions, by ordinal.
    pub fn restricted(&self) -> impl Iterator<Item = usize> {
        self.tests.iter().flat_map(|(column, test)| match test {
            Test::Joint(columns, _) => columns.to_vec(),
            _ => vec![*column],
        })
    }

    /// True when the plan has tests that joins repeat and that have not given up, and no
    /// predicates, which would be asked about more rows without them and might fail.
    pub fn has_free_filters(&self) -> bool {
        !has_predicates(&self.tests)
            && (0..self.tests.len()).any(|test| self.is_free(test) && self.is_active(test))
    }

    /// True for a test that a join above repeats.
    fn is_free(&self, number: usize) -> bool {
        self.trials[number].is_some() || self.tests[number].1.filter().is_some()
    }

    /// False for a test that has given up.
    fn is_active(&self, number: usize) -> bool {
        self.trials[number].as_ref().is_none_or(Trial::is_on) && self.tests[number].1.is_active()
    }

    /// Counts `tested` rows that a test was asked about, of which `passed` were left.
    fn judge(&self, number: usize, tested: usize, passed: usize) {
        if let Some(trial) = &self.trials[number] {
            trial.judge(tested, passed);
        }
    }

    /// True when no block can have a row that satisfies the restrictions.
    pub fn is_never(&self) -> bool {
        self.tests.iter().any(|(_, test)| matches!(test, Test::Never))
    }

    /// The rows of a batch, ascending, that satisfy the restrictions: `column` gives the values of
    /// a column, by ordinal, of its `rows` rows.
    ///
    /// # Errors
    /// Errors that a predicate raises.
    pub fn select<'v>(
        &self,
        rows: usize,
        column: impl Fn(usize) -> &'v Vector,
    ) -> Result<Vec<u32>> {
        let mut positions: Vec<u32> = (0..rows as u32).collect();
        for (number, (ordinal, test)) in self.tests.iter().enumerate() {
            if positions.is_empty() {
                break;
            }
            if !self.is_active(number) {
                continue;
            }
            if let Test::Joint(columns, filter) = test {
                let key = |&c: &usize| Column::plain(column(c).gather(&positions));
                let keys: Vec<Column> = columns.iter().map(key).collect();
                filter.retain_columns(&keys.iter().collect::<Vec<_>>(), &mut positions);
                continue;
            }
            let (values, tested) = (column(*ordinal), positions.len());
            if tested == rows {
                retain_values(test, values, &mut positions)?;
            } else {
                retain_values(test, &values.gather(&positions), &mut positions)?;
            }
            self.judge(number, tested, positions.len());
        }
        Ok(positions)
    }

    /// True without restrictions.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// A cursor over the rows of block number `block` that satisfy the restrictions; None when its
    /// SMAs, dictionaries or lookup tables show that there are none.
    ///
    /// # Errors
    /// Errors that a predicate raises.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn open<'a>(
        &'a self,
        snapshot: &'a Arc<TableSnapshot>,
        block: usize,
    ) -> Result<Option<BlockCursor<'a>>> {
        Ok(self.open_by(snapshot, block)?.1)
    }

    /// As [`Self::open`], and by which path its rows are found.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_by<'a>(
        &'a self,
        snapshot: &'a Arc<TableSnapshot>,
        block: usize,
    ) -> Result<(AccessPath, Option<BlockCursor<'a>>)> {
        let heap = HeapRef::pinned(Arc::clone(snapshot) as Arc<_>);
        let block = snapshot.block(block);
        // A zone without versions now has only rows that the snapshot sees, whatever comes.
        let zones = block.versions.zones();
        let end = block.rows() as u32;
        if self.is_never() || block.rows() == 0 {
            return Ok((AccessPath::Constant, None));
        }
        let block: &Block = block;
        // Before anything of it is read from a file.
        if let Some(path) = self.exclusion(block) {
            return Ok((path, None));
        }
        let mut cursor = BlockCursor {
            plan: self,
            snapshot,
            block,
            // Without tests nothing of it may be needed.
            pinned: if self.tests.is_empty() { None } else { Some(block.pin()?) },
            heap,
            zones,
            steps: Vec::new(),
            learning: None,
            found: None,
            next: 0,
            end,
            filters: true,
        };
        let path = match block.layout() {
            BlockLayout::Frozen if self.techniques.codes => cursor.prepare_frozen(),
            _ => {
                let tests = (0..self.tests.len()).filter(|&test| self.is_active(test));
                cursor.steps.extend(tests.map(|test| self.on_values(test)));
                order::sort(&mut cursor.steps, block);
                AccessPath::Scan
            }
        };
        if cursor.next == cursor.end {
            return Ok((path, None));
        }
        let learns = self.techniques.adaptive && cursor.steps.len() > 1;
        cursor.learning = learns.then_some(Learning::START);
        Ok((path, Some(cursor)))
    }

    /// Tells where its file is that block number `block` will be read soon; the bytes that are then
    /// read, 0 when it is in memory, or no row of it can pass.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn expect(&self, snapshot: &TableSnapshot, block: usize) -> u64 {
        let block: &Block = snapshot.block(block);
        let is_read = !block.is_resident() && !self.is_never() && self.exclusion(block).is_none();
        is_read.then(|| block.expect()).flatten().unwrap_or(0)
    }

    /// Path that shows that no row of a frozen block passes, without looking at what the block
    /// holds: smallest and largest values, where they are all that is used or there is nothing
    /// else in memory, and filters.
    fn exclusion(&self, block: &Block) -> Option<AccessPath> {
        let is_late = block.is_resident() && self.techniques.codes;
        if block.layout() != BlockLayout::Frozen || is_late {
            return None;
        }
        let excludes = |(column, test): &(usize, Test)| is_excluded(block, *column, test);
        if self.techniques.skipping && self.tests.iter().any(excludes) {
            return Some(AccessPath::Constant);
        }
        let filters = self.techniques.codes && self.paths != BlockPaths::Avoid;
        (filters && self.is_filtered(block)).then_some(AccessPath::Bloom)
    }

    /// True when an index sub-block shows that no row passes.
    fn is_filtered(&self, block: &Block) -> bool {
        let indexes = block.sub_blocks();
        self.tests.iter().any(|(column, test)| {
            indexes.iter().any(|index| index.column() == *column && index.excludes(test))
        })
    }

    /// The test of this number, on values.
    fn on_values(&self, number: usize) -> Step<'_> {
        let (column, test) = &self.tests[number];
        let known = test.filter().and_then(KeyFilter::selectivity);
        let seen = self.observed[number].share().filter(|_| self.techniques.adaptive);
        let selectivity = seen.or(known).unwrap_or(0.5);
        Step::new(number, *column, StepKind::Values(test), selectivity)
    }
}

/// One test on one block.
struct Step<'a> {
    /// Its number in the plan.
    number: usize,
    column: usize,
    kind: StepKind<'a>,
    /// Share of rows expected to pass.
    selectivity: f64,
    seen: Seen,
}

enum StepKind<'a> {
    Codes(CodeTest),
    /// Rows whose bit in the segment's bitmap is this.
    Validity(bool),
    Values(&'a Test),
}

impl<'a> Step<'a> {
    fn new(number: usize, column: usize, kind: StepKind<'a>, selectivity: f64) -> Self {
        Self { number, column, kind, selectivity, seen: Seen::default() }
    }
}

/// Rows of one block that satisfy a plan, a batch at a time.
pub struct BlockCursor<'a> {
    plan: &'a ScanPlan,
    snapshot: &'a TableSnapshot,
    block: &'a Block,
    /// Pin of the block for as long as its rows are looked for.
    pinned: Option<Pinned<&'a Block>>,
    heap: HeapRef,
    /// Zones whose rows may not all be there.
    zones: Zones,
    steps: Vec<Step<'a>>,
    /// None when there is nothing to be learnt about the order of steps.
    learning: Option<Learning>,
    /// The only rows that can pass, where index sub-blocks found them.
    found: Option<FoundRows>,
    next: u32,
    end: u32,
    /// True when tests that joins repeat are asked, where that is done row by row.
    filters: bool,
}

impl Drop for BlockCursor<'_> {
    fn drop(&mut self) {
        if self.learning.is_some() {
            let tells = |kind: &StepKind<'_>| {
                matches!(kind, StepKind::Values(Test::Keys(_) | Test::Filter(_) | Test::Joint(..)))
            };
            for step in self.steps.iter().filter(|step| tells(&step.kind)) {
                step.seen.tell(&self.plan.observed[step.number]);
            }
        }
    }
}

impl<'a> BlockCursor<'a> {
    /// Translates the tests and finds rows by index sub-blocks; no row is left when none can pass.
    fn prepare_frozen(&mut self) -> AccessPath {
        if !self.translate_all() {
            self.next = self.end;
            return AccessPath::Constant;
        }
        let (block, paths) = (self.block, self.plan.paths);
        order::sort(&mut self.steps, block);
        let indexes = block.sub_blocks();
        if paths == BlockPaths::Avoid || indexes.is_empty() {
            return AccessPath::Scan;
        }
        if self.plan.is_filtered(block) {
            self.next = self.end;
            return AccessPath::Bloom;
        }
        self.choose_path(&indexes, paths)
    }

    /// Translates the tests; false when no row can pass.
    fn translate_all(&mut self) -> bool {
        let plan = self.plan;
        if plan.tests.is_empty() {
            return true;
        }
        let pinned = self.block.pin_again();
        let block = pinned.frozen().expect("a frozen block");
        let mut passing = 1.0;
        let mut late = Vec::new();
        for (number, (column, test)) in plan.tests.iter().enumerate() {
            match translate(block, *column, test, plan.techniques) {
                CodeTest::None => return false,
                CodeTest::All => {}
                CodeTest::Values => match test {
                    Test::IsNull | Test::IsNotNull => {
                        let kind = StepKind::Validity(matches!(test, Test::IsNotNull));
                        self.steps.push(Step::new(number, *column, kind, 0.5));
                    }
                    _ if plan.is_active(number) => late.push(number),
                    _ => {}
                },
                found => passing *= self.add(block, number, found),
            }
        }
        for number in late {
            let (column, test) = &plan.tests[number];
            let rows_left = (f64::from(self.end - self.next) * passing) as usize;
            let decidable = plan.techniques.dictionaries
                && matches!(test, Test::Predicate(_) | Test::Filter(_))
                && block.segment(*column).has_codes();
            match decidable.then(|| decide_codes(block, *column, test, rows_left)).flatten() {
                Some(CodeTest::None) => return false,
                Some(CodeTest::All) => {}
                Some(found) => passing *= self.add(block, number, found),
                None => self.steps.push(plan.on_values(number)),
            }
        }
        self.next < self.end
    }

    /// Adds test `number` as a step on codes and narrows the rows, by binary search where codes
    /// ascend, else by the lookup table; returns the share of the rows left that should pass.
    fn add(&mut self, block: Frozen<'_>, number: usize, test: CodeTest) -> f64 {
        let column = self.plan.tests[number].0;
        let segment = block.segment(column);
        if self.plan.techniques.skipping
            && let Some((lo, hi)) = test.bounds()
        {
            if let Some(rows) = block.sorted_rows(column, lo, hi) {
                self.narrow(&rows);
                if matches!(test, CodeTest::Range(..)) {
                    return 1.0;
                }
            } else if segment.lookup != 0 {
                self.narrow(&LookupTable::new(block.memory(), segment).rows(lo, hi));
            }
        }
        let selectivity = codes::selectivity(self.block, column, &test);
        self.steps.push(Step::new(number, column, StepKind::Codes(test), selectivity));
        selectivity
    }

    /// Leaves the rows of `rows` only.
    fn narrow(&mut self, rows: &Range<u32>) {
        self.next = self.next.max(rows.start);
        self.end = self.end.min(rows.end).max(self.next);
    }

    /// Rows that the cursor will still look at, most of which may fail.
    pub fn rows_left(&self) -> usize {
        (self.end - self.next) as usize
    }

    /// Makes tests that joins repeat test the next rows, or not. Without, rows come that they would
    /// drop, but not those that one dropped by their codes.
    pub fn use_filters(&mut self, use_them: bool) {
        self.filters = use_them;
    }

    /// True when every row that is left is there and satisfies the plan.
    pub fn is_unrestricted(&self) -> bool {
        self.steps.is_empty()
            && self.found.is_none()
            && self.zones.of(self.next, self.end - self.next).is_empty()
    }

    /// Puts the next rows into `out`, at most `rows_max`, at least one; false when there are no
    /// more. Fewer than `rows_max` does not mean that the block ends.
    ///
    /// # Errors
    /// Errors that a predicate raises.
    pub fn next(&mut self, rows_max: usize, out: &mut Positions) -> Result<bool> {
        let rows_max = rows_max.clamp(1, u32::MAX as usize) as u32;
        let mut found = match std::mem::take(out) {
            Positions::List(mut list) => {
                list.clear();
                list
            }
            Positions::Range { .. } => Vec::new(),
        };
        let mut window = Vec::new();
        while self.next < self.end {
            let room = rows_max - found.len() as u32;
            if !found.is_empty() && room < rows_max.div_ceil(4) {
                break;
            }
            let start = self.next;
            let first = found.is_empty();
            let target = if first { &mut found } else { &mut window };
            self.next = match &self.found {
                None => start + room.min(self.end - start),
                Some(rows) => rows.take(start, self.end, room, target),
            };
            let len = self.next - start;
            let is_all = self.steps.is_empty() && self.found.is_none();
            if is_all && first && self.zones.of(start, len).is_empty() {
                *out = Positions::Range { start, len };
                return Ok(true);
            }
            self.search(start, len, target)?;
            if first && found.len() == len as usize {
                *out = Positions::Range { start, len };
                return Ok(true);
            }
            found.append(&mut window);
        }
        let any = !found.is_empty();
        *out = Positions::List(found);
        Ok(any)
    }

    /// Puts the rows of the window that are there and pass every step into `rows`, which is empty
    /// or has those that index sub-blocks found.
    fn search(&mut self, start: u32, len: u32, rows: &mut Vec<u32>) -> Result<()> {
        let found = self.search_window(start, len, rows);
        if self.learning.as_mut().is_some_and(Learning::is_due) {
            order::renew(&mut self.steps, self.block, |test| self.plan.is_active(test));
        }
        found
    }

    fn search_window(&mut self, start: u32, len: u32, rows: &mut Vec<u32>) -> Result<()> {
        let zones = self.zones.of(start, len);
        let on_codes = |step: &Step<'_>| !matches!(step.kind, StepKind::Values(_));
        let early = self.steps.partition_point(on_codes);
        let mut is_listed = self.found.is_some();
        if is_listed && rows.is_empty() {
            return Ok(());
        }
        for at in 0..early {
            let tested = if is_listed { rows.len() } else { len as usize };
            self.search_codes(&self.steps[at], (!is_listed).then_some((start, len)), rows);
            self.steps[at].seen.add(tested, rows.len());
            is_listed = true;
            if rows.is_empty() {
                return Ok(());
            }
        }
        if !zones.is_empty() || self.steps.is_empty() {
            if !is_listed {
                rows.extend(start..start + len);
            }
            is_listed = true;
            self.snapshot.retain_visible(self.block, zones, rows);
        }
        for at in early..self.steps.len() {
            if is_listed && rows.is_empty() {
                break;
            }
            let StepKind::Values(test) = self.steps[at].kind else { continue };
            let number = self.steps[at].number;
            if !self.plan.is_active(number) || !self.filters && self.plan.is_free(number) {
                continue;
            }
            let positions = if is_listed {
                Positions::List(std::mem::take(rows))
            } else {
                Positions::Range { start, len }
            };
            let tested = positions.len();
            *rows = self.passing(self.steps[at].column, test, positions)?;
            self.steps[at].seen.add(tested, rows.len());
            self.plan.judge(number, tested, rows.len());
            is_listed = true;
        }
        if !is_listed {
            rows.extend(start..start + len);
        }
        Ok(())
    }

    /// The rows among `positions` whose values pass `test`, on `column` unless it names several.
    fn passing(&self, column: usize, test: &Test, positions: Positions) -> Result<Vec<u32>> {
        if let Some(found) = self.rows_of_texts(column, test, &positions) {
            return Ok(found);
        }
        let values = |column: usize| {
            let heap = || self.heap.clone();
            unpack(self.block, column, &positions, self.snapshot.at(), heap)
        };
        let values: Vec<Column> = match test {
            Test::Joint(columns, _) => columns.iter().map(|&c| values(c)).collect::<Result<_>>()?,
            _ => vec![values(column)?],
        };
        let mut rows = match positions {
            Positions::Range { start, len } => (start..start + len).collect(),
            Positions::List(list) => list,
        };
        match test {
            Test::Joint(_, filter) => {
                filter.retain_columns(&values.iter().collect::<Vec<_>>(), &mut rows);
            }
            Test::Filter(filter) if values[0].physical() == PhysicalType::Str => {
                filter.retain_columns(&[&values[0]], &mut rows);
            }
            _ => retain_values(test, &values[0].to_vector(), &mut rows)?,
        }
        Ok(rows)
    }

    /// The rows among `positions` with one of the texts of `test`, where a segment with plain
    /// strings tells without views of them.
    fn rows_of_texts(&self, column: usize, test: &Test, positions: &Positions) -> Option<Vec<u32>> {
        let Test::Texts(texts) = test else { return None };
        let block = self.pinned.as_ref().and_then(Pinned::frozen)?;
        let is_plain = block.segment(column).scheme == Scheme::Plain;
        let texts = texts.listed().filter(|_| is_plain)?;
        Some(rows_of_texts(block, column, texts, positions))
    }

    /// Keeps the rows that pass, or finds them in the window when there is one.
    fn search_codes(&self, step: &Step<'_>, window: Option<(u32, u32)>, rows: &mut Vec<u32>) {
        let pinned = self.pinned.as_ref().and_then(Pinned::frozen);
        let block = pinned.expect("a frozen block with tests is pinned");
        match (&step.kind, window) {
            (StepKind::Codes(test), Some((start, len))) => {
                find(block.codes(step.column), test, start, len, rows);
            }
            (StepKind::Codes(test), None) => refine(block.codes(step.column), test, rows),
            (StepKind::Validity(valid), window) => {
                if let Some((start, len)) = window {
                    rows.extend(start..start + len);
                }
                let words = block.validity_words(step.column);
                let words = words.expect("a segment with values and NULLs");
                rows.retain(|&row| (words[row as usize / 64] >> (row % 64) & 1 == 1) == *valid);
            }
            (StepKind::Values(_), _) => unreachable!("values are searched after codes"),
        }
    }
}

impl CodeTest {
    /// Smallest and largest code that may pass, when that is less than all.
    fn bounds(&self) -> Option<(u32, u32)> {
        match self {
            Self::Range(lo, hi) => Some((*lo, *hi)),
            Self::Bits(bits) => {
                let mut ones = Vec::new();
                bits.ones_into(0, &mut ones);
                Some((*ones.first()?, *ones.last()?))
            }
            Self::Set(codes) => Some((*codes.first()?, *codes.last()?)),
            _ => None,
        }
    }
}

/// Appends the rows of the window whose code passes.
fn find(codes: Codes<'_>, test: &CodeTest, start: u32, len: u32, rows: &mut Vec<u32>) {
    let window = start as usize..(start + len) as usize;
    match (test, codes) {
        (CodeTest::Range(lo, hi), Codes::U8(c)) => {
            let (lo, hi) = (*lo as u8, (*hi).min(0xff) as u8);
            range_u8(&c[window], lo, hi, start, rows);
        }
        (CodeTest::Range(lo, hi), Codes::U16(c)) => {
            let (lo, hi) = (*lo as u16, (*hi).min(0xffff) as u16);
            range_u16(&c[window], lo, hi, start, rows);
        }
        (CodeTest::Range(lo, hi), Codes::U32(c)) => range_u32(&c[window], *lo, *hi, start, rows),
        (CodeTest::Bits(bits), Codes::U8(c)) => bitset_u8(&c[window], bits, start, rows),
        (CodeTest::Bits(bits), Codes::U16(c)) => bitset_u16(&c[window], bits, start, rows),
        (CodeTest::Bits(bits), Codes::U32(c)) => bitset_u32(&c[window], bits, start, rows),
        _ => {
            rows.extend(start..start + len);
            refine(codes, test, rows);
        }
    }
}

/// Keeps the rows whose code passes.
fn refine(codes: Codes<'_>, test: &CodeTest, rows: &mut Vec<u32>) {
    match (test, codes) {
        (CodeTest::Range(lo, hi), Codes::U8(c)) => {
            refine_u8(c, *lo as u8, (*hi).min(0xff) as u8, rows);
        }
        (CodeTest::Range(lo, hi), Codes::U16(c)) => {
            refine_u16(c, *lo as u16, (*hi).min(0xffff) as u16, rows);
        }
        (CodeTest::Range(lo, hi), Codes::U32(c)) => refine_u32(c, *lo, *hi, rows),
        (CodeTest::Bits(bits), Codes::U8(c)) => refine_bitset_u8(c, bits, rows),
        (CodeTest::Bits(bits), Codes::U16(c)) => refine_bitset_u16(c, bits, rows),
        (CodeTest::Bits(bits), Codes::U32(c)) => refine_bitset_u32(c, bits, rows),
        (CodeTest::Not { code, null_code }, codes) => {
            let (other, null) = (*code, null_code.unwrap_or(*code));
            with_codes!(codes, c => keep(c, rows, |code| code != other && code != null));
        }
        (CodeTest::Set(set), codes) => {
            with_codes!(codes, c => keep(c, rows, |code| set.binary_search(&code).is_ok()));
        }
        (CodeTest::All | CodeTest::Values, _) => {}
        (CodeTest::None, _) => rows.clear(),
    }
}

fn keep<C: kernels::unpack::Code>(codes: &[C], rows: &mut Vec<u32>, passes: impl Fn(u32) -> bool) {
    let wanted: Vec<u32> = {
        let mut wide = Vec::with_capacity(rows.len());
        kernels::unpack::widen_at(codes, rows, &mut wide);
        wide
    };
    retain(rows, |i| passes(wanted[i]));
}
