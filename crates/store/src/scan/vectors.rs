//! Queries over columns: conjuncts as byte masks, each made once for all queries of a page.
//!
//! ```text
//! column -> mask of a check -> OR -> mask of a conjunct -> AND -> positions -> totals, rows
//! ```
//! Invariant: gives what the evaluation row by row gives.
//! Elsewhere: the loops themselves (`kernels`).

use kernels::aggregate::{
    Extreme, Rows as Chosen, count_total, extreme_total, total_f64, total_i32, total_i64,
};
use kernels::compare::Ordered;
use kernels::loops::{map_into, zip_into};
use types::{CompareOp, Value};

use super::check::{Check, FieldCheck, Sense};
use super::columns::{Columns, FixedColumn, TextColumn};
use super::plan::{Plan, Planned};
use super::total::Total;
use crate::query::Aggregate;
use crate::schema::Schema;
use crate::tuple::TupleWriter;

/// Rows of a page that satisfy a conjunct.
#[derive(Debug, Default)]
enum Mask {
    #[default]
    Unknown,
    All,
    Nothing,
    /// 1 for each row that does.
    Bytes(Vec<u8>),
}

/// Masks of one page, by conjunct, and memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Masks {
    masks: Vec<Mask>,
    spare: Vec<Vec<u8>>,
    both: Vec<u8>,
    positions: Vec<u32>,
}

impl Masks {
    /// Forgets all.
    pub(crate) fn clear(&mut self, conjuncts: usize) {
        for mask in &mut self.masks {
            if let Mask::Bytes(bytes) = std::mem::take(mask) {
                self.spare.push(bytes);
            }
        }
        self.masks.resize_with(conjuncts, Mask::default);
    }

    /// Positions of the rows that a query selects among the `visible` ones; `None` for all of the
    /// page.
    pub(crate) fn select<'s, C: Columns>(
        &'s mut self,
        plan: &Plan<'_>,
        planned: &Planned<'_>,
        columns: &C,
        visible: Option<&'s [u32]>,
    ) -> Option<&'s [u32]> {
        self.positions.clear();
        let mut deciding = 0;
        for &number in &planned.conjuncts {
            if matches!(self.masks[number], Mask::Unknown) {
                self.masks[number] = self.judge(&plan.conjuncts[number], columns);
            }
            match self.masks[number] {
                Mask::Nothing => return Some(&self.positions),
                Mask::Bytes(_) => deciding += 1,
                _ => (),
            }
        }
        let asked = planned.request.query;
        if deciding == 0 && !asked.limits_keys() {
            return visible;
        }
        let mask = combined(&self.masks, planned, &mut self.both);
        match (mask, visible) {
            (Some(mask), None) => {
                kernels::select::bool_rows(mask, None, 0, &mut self.positions);
            }
            (Some(mask), Some(visible)) => {
                self.positions.extend(visible.iter().filter(|row| mask[**row as usize] == 1));
            }
            (None, None) => self.positions.extend(0..columns.len() as u32),
            (None, Some(visible)) => self.positions.extend_from_slice(visible),
        }
        if asked.limits_keys() {
            let keys = columns.keys();
            self.positions.retain(|row| asked.counts(keys[*row as usize]));
        }
        Some(&self.positions)
    }

    fn judge<C: Columns + ?Sized>(&mut self, checks: &[FieldCheck], columns: &C) -> Mask {
        let mut all: Option<Vec<u8>> = None;
        for check in checks {
            match by_bounds(check, columns) {
                Some(true) => return Mask::All,
                Some(false) => continue,
                None => (),
            }
            let mut mask = self.spare.pop().unwrap_or_default();
            mask.clear();
            fill(check, columns, &mut mask);
            match &mut all {
                None => all = Some(mask),
                Some(all) => {
                    all.iter_mut().zip(&mask).for_each(|(a, b)| *a |= b);
                    self.spare.push(mask);
                }
            }
        }
        all.map_or(Mask::Nothing, Mask::Bytes)
    }
}

/// The AND of a query's masks that are bytes, in `both` if they are several; `None` without one.
fn combined<'s>(
    masks: &'s [Mask],
    planned: &Planned<'_>,
    both: &'s mut Vec<u8>,
) -> Option<&'s [u8]> {
    let mut masks = planned.conjuncts.iter().filter_map(|number| match &masks[*number] {
        Mask::Bytes(bytes) => Some(bytes),
        _ => None,
    });
    let first = masks.next()?;
    let Some(second) = masks.next() else { return Some(first) };
    both.clear();
    zip_into(first, second, both, |a, b| a & b);
    for more in masks {
        both.iter_mut().zip(more).for_each(|(a, b)| *a &= b);
    }
    Some(both)
}

/// The answer for all rows of the page at once, if its bounds or its lack of NULLs give one.
fn by_bounds<C: Columns + ?Sized>(check: &FieldCheck, columns: &C) -> Option<bool> {
    let has_nulls = columns.validity(check.field).is_some();
    match check.check {
        Check::Null(sense) if !has_nulls => Some(sense.of(false)),
        Check::Integer { low, high, sense } => {
            let bounds = columns.bounds(check.field)?;
            let inside = low <= bounds.low && bounds.high <= high;
            let outside = low > high || bounds.high < low || high < bounds.low;
            match (inside, outside, sense) {
                (true, _, Sense::Inverse) | (_, true, Sense::Plain) => Some(false),
                (true, _, Sense::Plain) | (_, true, Sense::Inverse) if !has_nulls => Some(true),
                _ => None,
            }
        }
        _ => None,
    }
}

/// True when the page's bounds decide the query: no value has to be judged.
pub(crate) fn by_bounds_alone<C: Columns + ?Sized>(
    plan: &Plan<'_>,
    planned: &Planned<'_>,
    columns: &C,
) -> bool {
    let decide = |number: &usize| decided(&plan.conjuncts[*number], columns);
    let answers = || planned.conjuncts.iter().map(decide);
    answers().any(|answer| answer == Some(false)) || answers().all(|answer| answer == Some(true))
}

/// The answer of an OR for all rows of the page at once, if there is one.
fn decided<C: Columns + ?Sized>(checks: &[FieldCheck], columns: &C) -> Option<bool> {
    let mut answers = checks.iter().map(|check| by_bounds(check, columns));
    let is_open = answers.try_fold(false, |is_open, answer| match answer {
        Some(true) => None,
        Some(false) => Some(is_open),
        None => Some(true),
    });
    match is_open {
        None => Some(true),
        Some(is_open) => (!is_open).then_some(false),
    }
}

/// Appends 1 for each row that satisfies the check, 0 for the others.
fn fill<C: Columns + ?Sized>(check: &FieldCheck, columns: &C, mask: &mut Vec<u8>) {
    let validity = columns.validity(check.field);
    if let Check::Null(sense) = check.check {
        let is_null = |row| validity.is_some_and(|validity| !validity.get(row));
        mask.extend((0..columns.len()).map(|row| u8::from(sense.of(is_null(row)))));
        return;
    }
    if let Some(text) = columns.text(check.field) {
        mask.extend((0..columns.len()).map(|row| u8::from(text.accepts(&check.check, row))));
    } else {
        fill_fixed(&check.check, columns.fixed(check.field), mask);
    }
    if let Some(validity) = validity {
        let bits = kernels::logic::unpack_bits(validity);
        mask.iter_mut().zip(&bits).for_each(|(a, b)| *a &= b);
    }
}

fn fill_fixed(check: &Check, column: FixedColumn<'_>, mask: &mut Vec<u8>) {
    match (check, column) {
        (Check::Integer { low, high, sense }, FixedColumn::I64(values)) => {
            let (low, high, flip) = (*low, *high, u8::from(*sense == Sense::Inverse));
            map_into(values, mask, |v| (u8::from(low <= v) & u8::from(v <= high)) ^ flip);
        }
        (Check::Integer { low, high, sense }, FixedColumn::I32(values)) => {
            let (low, high) = narrowed::<i32>(*low, *high);
            let flip = u8::from(*sense == Sense::Inverse);
            map_into(values, mask, |v| (u8::from(low <= v) & u8::from(v <= high)) ^ flip);
        }
        (Check::Integer { low, high, sense }, FixedColumn::I16(values)) => {
            let (low, high) = narrowed::<i16>(*low, *high);
            let flip = u8::from(*sense == Sense::Inverse);
            map_into(values, mask, |v| (u8::from(low <= v) & u8::from(v <= high)) ^ flip);
        }
        (Check::Float { op, literal }, FixedColumn::F64(values)) => {
            fill_float(*op, *literal, values, mask);
        }
        (Check::Float { op, literal }, FixedColumn::F32(values)) => {
            fill_float(*op, *literal, values, mask);
        }
        // Checks fit their field's type: `Query::check`.
        (_, column) => mask.resize(mask.len() + column.len(), 0),
    }
}

/// The closed range in a narrower type; empty where it lies outside.
fn narrowed<T: TryFrom<i64> + Bounded>(low: i64, high: i64) -> (T, T) {
    let fits = low <= high && low <= T::LARGEST && high >= T::SMALLEST;
    let clamp = |v: i64| T::try_from(v.clamp(T::SMALLEST, T::LARGEST)).ok();
    match (clamp(low), clamp(high)) {
        (Some(low), Some(high)) if fits => (low, high),
        _ => T::EMPTY,
    }
}

/// Ends of an integer type.
trait Bounded: Sized {
    const SMALLEST: i64;
    const LARGEST: i64;
    /// A range of no value.
    const EMPTY: (Self, Self);
}

impl Bounded for i32 {
    const SMALLEST: i64 = i32::MIN as i64;
    const LARGEST: i64 = i32::MAX as i64;
    const EMPTY: (Self, Self) = (1, 0);
}

impl Bounded for i16 {
    const SMALLEST: i64 = i16::MIN as i64;
    const LARGEST: i64 = i16::MAX as i64;
    const EMPTY: (Self, Self) = (1, 0);
}

fn fill_float<T: Copy + Into<f64>>(op: CompareOp, y: f64, values: &[T], mask: &mut Vec<u8>) {
    match op {
        CompareOp::Equal | CompareOp::NotDistinct => {
            map_into(values, mask, |x: T| u8::from(Ordered::equal(x.into(), y)));
        }
        CompareOp::NotEqual | CompareOp::Distinct => {
            map_into(values, mask, |x: T| u8::from(!Ordered::equal(x.into(), y)));
        }
        CompareOp::Less => map_into(values, mask, |x: T| u8::from(Ordered::less(x.into(), y))),
        CompareOp::LessEqual => {
            map_into(values, mask, |x: T| u8::from(Ordered::less_equal(x.into(), y)));
        }
        CompareOp::Greater => map_into(values, mask, |x: T| u8::from(Ordered::less(y, x.into()))),
        CompareOp::GreaterEqual => {
            map_into(values, mask, |x: T| u8::from(Ordered::less_equal(y, x.into())));
        }
    }
}

/// Adds the `selected` rows to a total, or all.
pub(crate) fn add<C: Columns + ?Sized>(total: &mut Total, columns: &C, selected: Option<&[u32]>) {
    let Some(field) = total.aggregate.field().map(|field| field.idx()) else {
        total.count += selected.map_or(columns.len(), <[u32]>::len) as i64;
        return;
    };
    let rows = Chosen { validity: columns.validity(field), selection: selected };
    match total.aggregate {
        Aggregate::Rows | Aggregate::Count(_) => total.count += count_total(columns.len(), rows),
        Aggregate::Sum(_) => {
            total.count += count_total(columns.len(), rows);
            match columns.fixed(field) {
                FixedColumn::I16(v) => each(v.len(), rows, |row| total.sum += i128::from(v[row])),
                FixedColumn::I32(v) => total.sum += i128::from(total_i32(v, rows)),
                FixedColumn::I64(v) => total.sum += total_i64(v, rows),
                FixedColumn::F32(v) => {
                    each(v.len(), rows, |row| total.float_sum += f64::from(v[row]));
                }
                FixedColumn::F64(v) => total.float_sum += total_f64(v, rows),
            }
        }
        Aggregate::Min(_) => improve(total, either(columns, field), rows, Extreme::Min),
        Aggregate::Max(_) => improve(total, either(columns, field), rows, Extreme::Max),
    }
}

/// A column of either kind.
enum Either<'a> {
    Fixed(FixedColumn<'a>),
    Text(TextColumn<'a>),
}

fn either<C: Columns + ?Sized>(columns: &C, field: usize) -> Either<'_> {
    columns.text(field).map_or_else(|| Either::Fixed(columns.fixed(field)), Either::Text)
}

fn improve(total: &mut Total, column: Either<'_>, rows: Chosen<'_>, which: Extreme) {
    let best = match column {
        Either::Fixed(FixedColumn::I32(v)) => extreme_total(which, v, rows, None).map(Value::I32),
        Either::Fixed(FixedColumn::I64(v)) => extreme_total(which, v, rows, None).map(Value::I64),
        Either::Fixed(FixedColumn::F64(v)) => extreme_total(which, v, rows, None).map(Value::F64),
        Either::Fixed(FixedColumn::I16(v)) => {
            let mut wide = Vec::new();
            map_into(v, &mut wide, i32::from);
            extreme_total(which, &wide, rows, None).map(Value::I32)
        }
        Either::Fixed(FixedColumn::F32(v)) => {
            let mut wide = Vec::new();
            map_into(v, &mut wide, f64::from);
            extreme_total(which, &wide, rows, None).map(Value::F64)
        }
        Either::Text(text) => {
            let mut best: Option<&[u8]> = None;
            each(text.metas.len(), rows, |row| {
                let bytes = text.bytes(row);
                let is_better = best.is_none_or(|best| match which {
                    Extreme::Min => bytes < best,
                    Extreme::Max => bytes > best,
                });
                if is_better {
                    best = Some(bytes);
                }
            });
            best.map(|bytes| Value::Str(bytes.into()))
        }
    };
    if let Some(best) = best {
        total.count += 1;
        total.improve(best);
    }
}

/// Calls `f` for each chosen row that is not NULL, of `len`.
fn each(len: usize, rows: Chosen<'_>, mut f: impl FnMut(usize)) {
    let mut visit = |row: usize| {
        if rows.validity.is_none_or(|validity| validity.get(row)) {
            f(row);
        }
    };
    match rows.selection {
        None => (0..len).for_each(visit),
        Some(selection) => selection.iter().for_each(|row| visit(*row as usize)),
    }
}

/// A value of a page, and the number of its field in the row that is made.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub field: usize,
    pub row: usize,
    pub target: usize,
}

/// Copies one value into the row that `writer` makes.
#[inline]
pub(crate) fn copy_cell<C: Columns + ?Sized>(
    columns: &C,
    cell: Cell,
    schema: &Schema,
    writer: &mut TupleWriter,
) {
    if columns.validity(cell.field).is_some_and(|validity| !validity.get(cell.row)) {
        writer.null(schema, cell.target);
    } else if let Some(text) = columns.text(cell.field) {
        writer.bytes(schema, cell.target, text.bytes(cell.row));
    } else {
        writer.fixed(schema, cell.target, columns.fixed(cell.field).bits(cell.row));
    }
}
