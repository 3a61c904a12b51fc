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

mod codes;
mod paths;
#[cfg(test)]
mod tests;
mod values;

use std::sync::Arc;

use kernels::select::{
    bitset_u8, bitset_u16, bitset_u32, range_u8, range_u16, range_u32, refine_bitset_u8,
    refine_bitset_u16, refine_bitset_u32, refine_u8, refine_u16, refine_u32,
};
use kernels::{HeapRef, Vector};
use types::Result;

use crate::block::{Block, BlockLayout, Codes, Scheme, with_codes};
use crate::freeze::lookup::LookupTable;
use crate::positions::Positions;
use crate::restriction::{Restriction, Test, prepare};
use crate::schema::Schema;
use crate::snapshot::TableSnapshot;
use crate::unpack::unpack;
use crate::versions::Zones;
use codes::{CodeTest, decide_codes, translate};
use paths::FoundRows;
pub use paths::{AccessPath, BlockPaths};
use values::{retain, retain_values};

/// Restrictions fitted to a table, for all blocks and threads of one scan.
pub struct ScanPlan {
    tests: Vec<(usize, Test)>,
    paths: BlockPaths,
}

impl ScanPlan {
    /// Prepares `restrictions`, all of which must hold.
    ///
    /// # Errors
    /// XX000 when a restriction does not fit its column.
    pub fn new(schema: &Schema, restrictions: Vec<Restriction>) -> Result<Self> {
        let tests = restrictions.iter().map(|r| Ok((r.column, prepare(schema, r)?)));
        Ok(Self { tests: tests.collect::<Result<_>>()?, paths: BlockPaths::default() })
    }

    /// The plan with these index sub-blocks.
    #[must_use]
    pub fn with_paths(self, paths: BlockPaths) -> Self {
        Self { paths, ..self }
    }

    /// True when no block can have a row that satisfies the restrictions.
    pub fn is_never(&self) -> bool {
        self.tests.iter().any(|(_, test)| matches!(test, Test::Never))
    }

    /// The rows of a batch, ascending, that satisfy the restrictions: `column` gives the values of
    /// a column, by ordinal, of its `rows` rows.
    ///
    /// # Errors
    /// What a predicate raises.
    pub fn select<'v>(
        &self,
        rows: usize,
        column: impl Fn(usize) -> &'v Vector,
    ) -> Result<Vec<u32>> {
        let mut positions: Vec<u32> = (0..rows as u32).collect();
        for (ordinal, test) in &self.tests {
            if positions.is_empty() {
                break;
            }
            let values = column(*ordinal);
            if positions.len() == rows {
                retain_values(test, values, &mut positions)?;
            } else {
                retain_values(test, &values.gather(&positions), &mut positions)?;
            }
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
    /// What a predicate raises.
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
        let mut cursor = BlockCursor {
            snapshot,
            block,
            heap,
            zones,
            steps: Vec::new(),
            found: None,
            next: 0,
            end,
        };
        if self.is_never() || block.rows() == 0 {
            return Ok((AccessPath::Constant, None));
        }
        let mut path = AccessPath::Scan;
        if block.layout() == BlockLayout::Frozen {
            path = cursor.prepare_frozen(&self.tests, self.paths);
        } else {
            cursor.steps.extend(self.tests.iter().map(|(c, test)| Step::values(*c, test)));
            cursor.sort_steps();
        }
        match cursor.next == cursor.end {
            true => Ok((path, None)),
            false => Ok((path, Some(cursor))),
        }
    }
}

/// One test on one block.
struct Step<'a> {
    column: usize,
    kind: StepKind<'a>,
    selectivity: f64,
}

/// A step that needs values.
struct StepOnValues<'a> {
    column: usize,
    test: &'a Test,
}

enum StepKind<'a> {
    Codes(CodeTest),
    /// Rows whose bit in the segment's bitmap is this.
    Validity(bool),
    Values(&'a Test),
}

impl<'a> Step<'a> {
    fn values(column: usize, test: &'a Test) -> Self {
        let selectivity = match test {
            Test::Filter(filter) => filter.selectivity().unwrap_or(0.5),
            _ => 0.5,
        };
        Self { column, kind: StepKind::Values(test), selectivity }
    }

    fn on_values(&self) -> Option<StepOnValues<'a>> {
        match self.kind {
            StepKind::Values(test) => Some(StepOnValues { column: self.column, test }),
            _ => None,
        }
    }

    /// Steps run in this order: cheap kinds first, selective ones first within a kind, those that
    /// decode strings last.
    fn rank(&self, block: &Block) -> f64 {
        let cost = match &self.kind {
            StepKind::Codes(CodeTest::Range(..)) => 0.0,
            StepKind::Codes(_) => 0.2,
            StepKind::Validity(_) => 1.0,
            StepKind::Values(Test::Keys(_) | Test::IsNull | Test::IsNotNull) => 2.0,
            StepKind::Values(Test::Filter(_)) => 4.0,
            StepKind::Values(_) if block.scheme(self.column) == Scheme::Compressed => 10.0,
            StepKind::Values(Test::Predicate(_)) => 8.0,
            StepKind::Values(_) => 6.0,
        };
        cost + self.selectivity
    }
}

/// Rows of one block that satisfy a plan, a batch at a time.
pub struct BlockCursor<'a> {
    snapshot: &'a TableSnapshot,
    block: &'a Block,
    heap: HeapRef,
    /// Zones whose rows may not all be there.
    zones: Zones,
    steps: Vec<Step<'a>>,
    /// The only rows that can pass, where index sub-blocks found them.
    found: Option<FoundRows>,
    next: u32,
    end: u32,
}

impl<'a> BlockCursor<'a> {
    /// Translates the tests and finds rows by index sub-blocks; no row is left when none can pass.
    fn prepare_frozen(&mut self, tests: &'a [(usize, Test)], paths: BlockPaths) -> AccessPath {
        if !self.translate_all(tests) {
            self.next = self.end;
            return AccessPath::Constant;
        }
        self.sort_steps();
        let block = self.block;
        let indexes = block.sub_blocks();
        if paths == BlockPaths::Avoid || indexes.is_empty() {
            return AccessPath::Scan;
        }
        let excludes = |(column, test): &(usize, Test)| {
            indexes.iter().any(|index| index.column() == *column && index.excludes(test))
        };
        if tests.iter().any(excludes) {
            self.next = self.end;
            return AccessPath::Bloom;
        }
        self.choose_path(&indexes, paths)
    }

    fn sort_steps(&mut self) {
        let block = self.block;
        self.steps.sort_by(|a, b| a.rank(block).total_cmp(&b.rank(block)));
    }

    /// Translates the tests; false when no row can pass.
    fn translate_all(&mut self, tests: &'a [(usize, Test)]) -> bool {
        let mut passing = 1.0;
        let mut late = Vec::new();
        for (column, test) in tests {
            match translate(self.block, *column, test) {
                CodeTest::None => return false,
                CodeTest::All => {}
                CodeTest::Values => match test {
                    Test::IsNull | Test::IsNotNull => {
                        let kind = StepKind::Validity(matches!(test, Test::IsNotNull));
                        self.steps.push(Step { column: *column, kind, selectivity: 0.5 });
                    }
                    _ => late.push((*column, test)),
                },
                found => passing *= self.add(*column, found),
            }
        }
        for (column, test) in late {
            let rows_left = (f64::from(self.end - self.next) * passing) as usize;
            let decidable = matches!(test, Test::Predicate(_) | Test::Filter(_))
                && self.block.segment(column).has_codes();
            match decidable.then(|| decide_codes(self.block, column, test, rows_left)).flatten() {
                Some(CodeTest::None) => return false,
                Some(CodeTest::All) => {}
                Some(found) => passing *= self.add(column, found),
                None => self.steps.push(Step::values(column, test)),
            }
        }
        self.next < self.end
    }

    /// Adds a step on codes and narrows the rows by the lookup table; returns its selectivity.
    fn add(&mut self, column: usize, test: CodeTest) -> f64 {
        let segment = self.block.segment(column);
        if segment.lookup != 0
            && let Some((lo, hi)) = test.bounds()
        {
            let rows = LookupTable::new(&self.block.memory, segment).rows(lo, hi);
            self.next = self.next.max(rows.start);
            self.end = self.end.min(rows.end).max(self.next);
        }
        let selectivity = codes::selectivity(self.block, column, &test);
        self.steps.push(Step { column, kind: StepKind::Codes(test), selectivity });
        selectivity
    }

    /// Rows that the cursor will still look at, most of which may fail.
    pub fn rows_left(&self) -> usize {
        (self.end - self.next) as usize
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
    /// What a predicate raises.
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
    fn search(&self, start: u32, len: u32, rows: &mut Vec<u32>) -> Result<()> {
        let zones = self.zones.of(start, len);
        let on_codes = |step: &Step<'_>| !matches!(step.kind, StepKind::Values(_));
        let (early, late) = self.steps.split_at(self.steps.partition_point(on_codes));
        let mut is_listed = self.found.is_some();
        if is_listed && rows.is_empty() {
            return Ok(());
        }
        for step in early {
            self.search_codes(step, (!is_listed).then_some((start, len)), rows);
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
        for StepOnValues { column, test } in late.iter().filter_map(Step::on_values) {
            if is_listed && rows.is_empty() {
                break;
            }
            let positions = match is_listed {
                false => Positions::Range { start, len },
                true => Positions::List(std::mem::take(rows)),
            };
            let values = unpack(self.block, column, &positions, self.snapshot.at(), &self.heap);
            *rows = match positions {
                Positions::Range { start, len } => (start..start + len).collect(),
                Positions::List(list) => list,
            };
            retain_values(test, &values.to_vector(), rows)?;
            is_listed = true;
        }
        Ok(())
    }

    /// Keeps the rows that pass, or finds them in the window when there is one.
    fn search_codes(&self, step: &Step<'_>, window: Option<(u32, u32)>, rows: &mut Vec<u32>) {
        match (&step.kind, window) {
            (StepKind::Codes(test), Some((start, len))) => {
                find(self.block.codes(step.column), test, start, len, rows);
            }
            (StepKind::Codes(test), None) => refine(self.block.codes(step.column), test, rows),
            (StepKind::Validity(valid), window) => {
                if let Some((start, len)) = window {
                    rows.extend(start..start + len);
                }
                let words = self.block.validity_words(step.column);
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
