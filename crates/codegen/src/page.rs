//! Functions on a page: which memory they are given.
//!
//! ```text
//! visible -> AND of conjuncts, 64 rows in a word -> positions | fold | gather
//! rows       groups of 16 | what is left of a group, copied to where 16 have room
//! ```
//! Invariants: a bit behind the last row is never set; functions read whole groups of fields, so
//! the last one is read from a copy; what they are given was checked when the page began.

#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::sync::Arc;

use store::code::{Code, Columns, FieldCheck, FixedColumn, Page, PageRun, RowsPage, Runner, Total};
use store::{FieldType, Nulls, Schema};
use types::Value;

use crate::call::{Call, STATE};
use crate::emit::source::SLOTS;
use crate::program::{After, Grown, Judging, Part, Program};
use crate::question::{Asked, question};
use crate::shape::{Growth, Shape};

/// Rows of a group.
const GROUP: usize = 16;
/// The bits of columns without NULLs.
static ONES: u64 = u64::MAX;

/// Where a field is, or a copy of its last rows.
#[derive(Clone, Copy, Debug, Default)]
struct Slots([u64; SLOTS]);

/// Copy of values of the last rows of a column.
type Copied = [u64; GROUP];

/// State of a thread, from page to page.
#[derive(Debug)]
struct Memory {
    /// By field; for rows the first is that of all.
    whole: Vec<Slots>,
    /// The same for the last group.
    last: Vec<Slots>,
    copies: Vec<Copied>,
    starts: Vec<u32>,
    /// Slots of one call.
    slots: Vec<u64>,
    /// A bit for each row.
    all: Vec<u64>,
    selected: Vec<u64>,
    next: Vec<u64>,
    /// Answers of shared conjuncts, and which are known.
    masks: Vec<Vec<u64>>,
    known: Vec<bool>,
    positions: Vec<u32>,
    states: Vec<u64>,
}

/// One thread that runs a program.
pub(crate) struct Desk {
    program: Arc<Program>,
    memory: Memory,
}

impl Desk {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let fields = program.sketch.schema.fields().len().max(1);
        let parts = program.sketch.parts.len();
        let memory = Memory {
            whole: vec![Slots::default(); fields],
            last: vec![Slots::default(); fields],
            copies: vec![[0; GROUP]; fields],
            starts: vec![0; GROUP],
            slots: Vec::new(),
            all: Vec::new(),
            selected: Vec::new(),
            next: Vec::new(),
            masks: vec![Vec::new(); parts],
            known: vec![false; parts],
            positions: Vec::new(),
            states: Vec::new(),
        };
        Self { program, memory }
    }
}

impl Code for Program {
    fn runner(self: Arc<Self>) -> Box<dyn Runner> {
        Box::new(Desk::new(self))
    }
}

impl Runner for Desk {
    fn begin<'p>(&'p mut self, page: Page<'p>) -> Option<Box<dyn PageRun + 'p>> {
        let sketch = &self.program.sketch;
        let rows = match page {
            Page::Columns(columns) => {
                let fits = |field: &usize| fits_columns(columns, &sketch.schema, *field);
                sketch.fields.iter().all(fits).then(|| columns.len())
            }
            Page::Rows(page) => fits_rows(page, &sketch.schema).then(|| page.len()),
        }?;
        let is_of_form = match page {
            Page::Columns(_) => sketch.form == store::code::Form::Columns,
            Page::Rows(_) => sketch.form == store::code::Form::Rows,
        };
        if !is_of_form {
            return None;
        }
        self.memory.prepare(&sketch.fields, page, rows);
        Some(Box::new(Run { program: &self.program, memory: &mut self.memory, page, rows }))
    }
}

/// True when the columns of a field have as many rows as all, in its type.
fn fits_columns(columns: &dyn Columns, schema: &Schema, field: usize) -> bool {
    let rows = columns.len();
    let is_fitting = match (schema.fields()[field].field_type, columns.text(field)) {
        (FieldType::Bytes, Some(text)) => text.metas.len() == rows && text.ends.len() == rows,
        (FieldType::Bytes, None) | (_, Some(_)) => false,
        (field_type, None) => {
            let column = columns.fixed(field);
            let known = match column {
                FixedColumn::I16(_) => FieldType::I16,
                FixedColumn::I32(_) => FieldType::I32,
                FixedColumn::I64(_) => FieldType::I64,
                FixedColumn::F32(_) => FieldType::F32,
                FixedColumn::F64(_) => FieldType::F64,
            };
            known == field_type && column.len() == rows
        }
    };
    is_fitting && columns.validity(field).is_none_or(|bits| bits.words().len() == words_of(rows))
}

/// True when each row has all words before its texts, inside of the page.
fn fits_rows(page: RowsPage<'_>, schema: &Schema) -> bool {
    let least = (schema.heap_at() / 8) as u64;
    let Some((first, behind)) = page.starts.split_first() else { return false };
    let mut is_fitting = true;
    let mut start = u64::from(*first);
    for end in behind {
        is_fitting &= start + least <= u64::from(*end);
        start = u64::from(*end);
    }
    is_fitting && start <= page.words.len() as u64
}

fn words_of(rows: usize) -> usize {
    rows.div_ceil(64)
}

fn address<T>(slice: &[T]) -> u64 {
    slice.as_ptr().expose_provenance() as u64
}

fn address_of(column: FixedColumn<'_>) -> u64 {
    match column {
        FixedColumn::I16(v) => address(v),
        FixedColumn::I32(v) => address(v),
        FixedColumn::I64(v) => address(v),
        FixedColumn::F32(v) => address(v),
        FixedColumn::F64(v) => address(v),
    }
}

impl Memory {
    /// Looks where the fields of a page are.
    fn prepare(&mut self, fields: &[usize], page: Page<'_>, rows: usize) {
        self.known.fill(false);
        self.all.clear();
        self.all.resize(words_of(rows), u64::MAX);
        if let Some(last) = self.all.last_mut().filter(|_| !rows.is_multiple_of(64)) {
            *last = (1 << (rows % 64)) - 1;
        }
        let first = rows / GROUP * GROUP;
        match page {
            Page::Columns(columns) => {
                fields.iter().for_each(|field| self.column(columns, *field, first));
            }
            Page::Rows(page) => {
                // Rows that are not there are looked at as the first of the last ones.
                for (i, start) in self.starts.iter_mut().enumerate() {
                    let row = if first + i < rows { first + i } else { first };
                    *start = page.starts[row.min(rows)];
                }
                self.whole[0] = Slots([address(page.starts), address(page.words), 0]);
                self.last[0] = Slots([address(&self.starts), address(page.words), 0]);
            }
        }
    }

    /// Looks where a column is; copies its values from row `first` on.
    fn column(&mut self, columns: &dyn Columns, field: usize, first: usize) {
        let (bits, mask) = match columns.validity(field) {
            Some(bits) => (address(bits.words()), u64::MAX),
            None => ((&raw const ONES).expose_provenance() as u64, 0),
        };
        // A group's bits are two bytes.
        let last_bits = bits + ((first / GROUP * 2) as u64 & mask);
        let (mut values, mut copy) = (0, 0);
        if columns.text(field).is_none() {
            let column = columns.fixed(field);
            values = address_of(column);
            let width = match column {
                FixedColumn::I16(_) => 16,
                FixedColumn::I32(_) | FixedColumn::F32(_) => 32,
                FixedColumn::I64(_) | FixedColumn::F64(_) => 64,
            };
            let copied = &mut self.copies[field];
            copied.fill(0);
            for (i, row) in (first..column.len()).enumerate() {
                let at = i * width;
                copied[at / 64] |= column.bits(row) << (at % 64);
            }
            copy = address(&copied[..]);
        }
        self.whole[field] = Slots([values, bits, mask]);
        self.last[field] = Slots([copy, last_bits, mask]);
    }

    /// The slots of a call of a function of these fields.
    fn gather_slots(&mut self, fields: &[usize], is_rows: bool, is_last: bool) {
        let known = if is_last { &self.last } else { &self.whole };
        self.slots.clear();
        if is_rows {
            self.slots.extend(known[0].0);
        } else {
            self.slots.extend(fields.iter().flat_map(|field| known[*field].0));
        }
    }
}

/// A page that a program is run on.
struct Run<'p> {
    program: &'p Program,
    memory: &'p mut Memory,
    page: Page<'p>,
    rows: usize,
}

/// Part of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Groups of which all rows are there.
    Groups,
    /// Rows behind them.
    Last,
}

/// Memory of a call.
struct Lent {
    count: usize,
    wanted: *const c_void,
    out: *mut c_void,
}

impl Run<'_> {
    /// Leaves the rows that a query selects in `selected`.
    fn select_bits(&mut self, query: usize, visible: Option<&[u64]>) {
        let program = self.program;
        let mut selected = std::mem::take(&mut self.memory.selected);
        selected.clone_from(&self.memory.all);
        if let Some(visible) = visible {
            selected.iter_mut().zip(visible).for_each(|(a, b)| *a &= b);
        }
        for number in &program.sketch.queries[query].conjuncts {
            match &program.sketch.parts[*number] {
                Part::All => continue,
                Part::Nothing => selected.fill(0),
                Part::Judged(judging) if judging.is_shared => {
                    let mut mask = std::mem::take(&mut self.memory.masks[*number]);
                    if !std::mem::replace(&mut self.memory.known[*number], true) {
                        let all = std::mem::take(&mut self.memory.all);
                        self.judge(judging, &all, &mut mask);
                        self.memory.all = all;
                    }
                    selected.iter_mut().zip(&mask).for_each(|(a, b)| *a &= b);
                    self.memory.masks[*number] = mask;
                }
                Part::Judged(judging) => {
                    let mut next = std::mem::take(&mut self.memory.next);
                    self.judge(judging, &selected, &mut next);
                    self.memory.next = std::mem::replace(&mut selected, next);
                }
            }
            if selected.iter().all(|word| *word == 0) {
                break;
            }
        }
        self.memory.selected = selected;
    }

    /// Sets in `found` the bits of `wanted` rows that satisfy a conjunct.
    fn judge(&mut self, judging: &Judging, wanted: &[u64], found: &mut Vec<u64>) {
        debug_assert_eq!(wanted.len(), words_of(self.rows), "a bit for each row");
        found.clear();
        found.resize(words_of(self.rows), 0);
        let groups = self.rows / GROUP;
        if groups > 0 {
            let lent = Lent {
                count: groups,
                wanted: wanted.as_ptr().cast(),
                out: found.as_mut_ptr().cast(),
            };
            // SAFETY: `wanted` and `found` have two bytes for each group.
            unsafe { self.call(judging.piece, Extent::Groups, Some(judging), lent) };
        }
        if !self.rows.is_multiple_of(GROUP) {
            let lent = Lent {
                count: 1,
                // SAFETY: there are rows behind `groups` groups, so two bytes for them.
                wanted: unsafe { wanted.as_ptr().byte_add(groups * 2) }.cast(),
                // SAFETY: as above.
                out: unsafe { found.as_mut_ptr().byte_add(groups * 2) }.cast(),
            };
            // SAFETY: as above, for one group.
            unsafe { self.call(judging.piece, Extent::Last, Some(judging), lent) };
        }
    }

    /// Calls the function of a piece.
    ///
    /// # Safety
    /// `lent` is what the piece's shape reads and writes: for a conjunct two bytes a group in each;
    /// for a fold words of bits, none behind the last row, and [`STATE`] words an item; for a
    /// gather positions of rows of the page, and words for as many rows. A conjunct has `judging`,
    /// and for [`Extent::Groups`] no more groups than there are whole ones.
    unsafe fn call(&mut self, piece: usize, extent: Extent, judging: Option<&Judging>, lent: Lent) {
        let sketch = &self.program.sketch;
        let is_rows = matches!(self.page, Page::Rows(_));
        self.memory.gather_slots(&sketch.pieces[piece].fields, is_rows, extent == Extent::Last);
        let checks: &[FieldCheck] = judging.map_or(&[], |judging| &judging.checks);
        let first = if extent == Extent::Last { self.rows / GROUP } else { 0 };
        let asked = Asked { page: self.page, schema: &sketch.schema, checks, first };
        let call = Call {
            slots: self.memory.slots.as_ptr(),
            literals: judging.map_or(std::ptr::null(), |judging| judging.literals.as_ptr()),
            count: lent.count as u64,
            wanted: lent.wanted,
            out: lent.out,
            question,
            context: (&raw const asked).cast(),
        };
        // SAFETY: `begin` saw that the fields of all pieces are of their types and have all rows,
        // or that each row has its words, in memory that the page lends for `'p`; for the last
        // group they have copies of `GROUP` values. A piece has one entry in `slots` for each
        // field, a conjunct literals for each predicate. `asked` outlives the call. The rest is
        // the caller's promise.
        unsafe { self.program.units[piece].run(&call) }
    }

    /// Adds the selected rows, which are so many, to totals.
    fn add(&mut self, piece: usize, grown: &[Grown], totals: &mut [Total], rows: u64) {
        let Shape::Fold(_, items) = &self.program.sketch.pieces[piece].shape else { return };
        let mut states = std::mem::take(&mut self.memory.states);
        states.clear();
        states.resize(items.len() * STATE, 0);
        for (grown, total) in grown.iter().zip(&*totals) {
            if let Some((item, growth)) = grown.item {
                states[item * STATE + 1] = first_state(growth, total);
            }
        }
        let selected = std::mem::take(&mut self.memory.selected);
        let lent = Lent {
            count: selected.len(),
            wanted: selected.as_ptr().cast(),
            out: states.as_mut_ptr().cast(),
        };
        // SAFETY: the bits are those of `all`, or fewer, and there is a state for each item.
        unsafe { self.call(piece, Extent::Groups, None, lent) };
        for (grown, total) in grown.iter().zip(totals) {
            if let Some((item, growth)) = grown.item {
                let is_counted = items[item].field.nulls == Nulls::Allowed;
                let state = &states[item * STATE..][..STATE];
                let count = if is_counted { state[0] } else { rows };
                finish(growth, total, [count, state[1], state[2]]);
            }
        }
        self.memory.selected = selected;
        self.memory.states = states;
    }
}

/// The first word of a state before its first row.
fn first_state(growth: Growth, total: &Total) -> u64 {
    let is_integer = total.is_of_integers();
    match growth {
        Growth::Sum if is_integer => 0,
        Growth::Sum => total.float_sum.to_bits(),
        Growth::Min if is_integer => i64::MAX as u64,
        Growth::Max if is_integer => i64::MIN as u64,
        Growth::Min => f64::NAN.to_bits(),
        Growth::Max => f64::NEG_INFINITY.to_bits(),
        Growth::Count => 0,
    }
}

/// Adds the state behind the last row to a total.
fn finish(growth: Growth, total: &mut Total, [count, first, second]: [u64; STATE]) {
    total.count += count as i64;
    match growth {
        Growth::Count => (),
        Growth::Sum if total.is_of_integers() => {
            // Of 64-bit integers `first` has the low halves, none below 0: a page has less than
            // 2^32 rows. Of others it is the sum, and may be below 0.
            total.sum += if total.field_type == Some(FieldType::I64) {
                i128::from(first) + (i128::from(second as i64) << 32)
            } else {
                i128::from(first as i64)
            };
        }
        Growth::Sum => total.float_sum = f64::from_bits(first),
        Growth::Min | Growth::Max if count > 0 => total.improve(match total.field_type {
            Some(FieldType::I64) => Value::I64(first as i64),
            Some(FieldType::I16 | FieldType::I32) => Value::I32(first as i32),
            _ => Value::F64(f64::from_bits(first)),
        }),
        Growth::Min | Growth::Max => (),
    }
}

impl PageRun for Run<'_> {
    fn serves(&self, query: usize) -> bool {
        self.program.sketch.queries[query].is_served
    }

    fn select(&mut self, query: usize, visible: Option<&[u64]>) -> &[u32] {
        self.select_bits(query, visible);
        let memory = &mut *self.memory;
        memory.positions.clear();
        for (number, word) in memory.selected.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                memory.positions.push(number as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        &memory.positions
    }

    fn fold(&mut self, query: usize, visible: Option<&[u64]>, totals: &mut [Total]) -> u64 {
        self.select_bits(query, visible);
        let rows = self.memory.selected.iter().map(|word| u64::from(word.count_ones())).sum();
        let After::Fold(piece, grown) = &self.program.sketch.queries[query].after else {
            return rows;
        };
        if rows == 0 {
            return rows;
        }
        for (grown, total) in grown.iter().zip(&mut *totals) {
            if grown.item.is_none() {
                total.count += rows as i64;
            }
        }
        if let Some(piece) = piece {
            self.add(*piece, grown, totals, rows);
        }
        rows
    }

    fn gather(&mut self, query: usize, rows: &[u32], words: &mut Vec<u64>) {
        let After::Gather(piece, stride) = self.program.sketch.queries[query].after else { return };
        assert!(rows.iter().all(|row| (*row as usize) < self.rows), "rows of this page");
        let begin = words.len();
        words.resize(begin + rows.len() * stride, 0);
        if stride == 0 {
            return;
        }
        let lent = Lent {
            count: rows.len(),
            wanted: rows.as_ptr().cast(),
            out: words[begin..].as_mut_ptr().cast(),
        };
        // SAFETY: all rows are of the page, as was asserted, and `words` has `stride` for each.
        unsafe { self.call(piece, Extent::Groups, None, lent) };
    }
}
