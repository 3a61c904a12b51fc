//! Predicates to positions.

use kernels::compare::true_bits;
use kernels::{Batch, Bitmap, Column, Vector, VectorData, select};
use types::{CompareOp, Result};

use super::evaluate::restrict;
use super::node::{Node, NodeKind};

/// True when `positions` are all rows in order.
fn are_all(positions: &[u32], rows: usize) -> bool {
    positions.len() == rows && positions.iter().enumerate().all(|(i, &p)| p as usize == i)
}

impl Node {
    /// Keeps the positions whose row is true.
    pub(super) fn select(&self, batch: &Batch, positions: &mut Vec<u32>) -> Result<()> {
        types::stack::deep(|| self.select_here(batch, positions))
    }

    fn select_here(&self, batch: &Batch, positions: &mut Vec<u32>) -> Result<()> {
        if positions.is_empty() {
            return Ok(());
        }
        if self.select_range(batch, positions) {
            return Ok(());
        }
        if let Some(column) = self.evaluate_dictionary(batch)? {
            keep_true(&column, batch.rows, positions);
            return Ok(());
        }
        match &self.kind {
            NodeKind::And(parts) => parts.iter().try_for_each(|part| part.select(batch, positions)),
            NodeKind::Or(parts) => select_any(parts, batch, positions),
            NodeKind::Constant(vector) => {
                if vector.as_bool()[0] == 0 || vector.is_null(0) {
                    positions.clear();
                }
                Ok(())
            }
            _ => self.select_evaluated(batch, positions),
        }
    }

    /// Evaluates, then keeps: on the whole batch when most rows are wanted and none can fail, else
    /// on the rows wanted.
    fn select_evaluated(&self, batch: &Batch, positions: &mut Vec<u32>) -> Result<()> {
        let most = positions.len() * 2 > batch.rows && !self.traits.fallible;
        if self.is_leaf() || most || are_all(positions, batch.rows) {
            let column = self.evaluate(batch)?;
            keep_true(&column, batch.rows, positions);
            return Ok(());
        }
        let part = restrict(batch, &self.columns, positions);
        let column = self.evaluate(&part)?;
        let mut kept = (0..positions.len() as u32).collect();
        keep_true(&column, part.rows, &mut kept);
        select::compose(positions, &kept);
        Ok(())
    }

    /// A plain integer column compared with a constant: one range kernel. False when it is not
    /// that.
    fn select_range(&self, batch: &Batch, positions: &mut Vec<u32>) -> bool {
        let NodeKind::Compare(op, a, b) = &self.kind else {
            return false;
        };
        let (op, ordinal, constant) = match (&a.kind, &b.kind) {
            (NodeKind::Column(c), NodeKind::Constant(v)) => (*op, *c, v),
            (NodeKind::Constant(v), NodeKind::Column(c)) => (op.exchanged(), *c, v),
            _ => return false,
        };
        let Some(Column::Plain(column)) = batch.columns.get(ordinal) else {
            return false;
        };
        let all = are_all(positions, batch.rows);
        let done = match (&column.data, &constant.data) {
            (VectorData::I32(values), VectorData::I32(c)) => {
                let Some((lo, hi)) = range(op, c[0], (i32::MIN, i32::MAX)) else {
                    return false;
                };
                if all {
                    positions.clear();
                    select::range_i32(values, lo, hi, 0, positions);
                } else {
                    select::refine_i32(values, lo, hi, positions);
                }
                true
            }
            (VectorData::I64(values), VectorData::I64(c)) => {
                let Some((lo, hi)) = range(op, c[0], (i64::MIN, i64::MAX)) else {
                    return false;
                };
                if all {
                    positions.clear();
                    select::range_i64(values, lo, hi, 0, positions);
                } else {
                    select::refine_i64(values, lo, hi, positions);
                }
                true
            }
            _ => false,
        };
        if done {
            drop_nulls(column, constant, positions);
        }
        done
    }
}

fn drop_nulls(column: &Vector, constant: &Vector, positions: &mut Vec<u32>) {
    if constant.is_null(0) {
        positions.clear();
    } else if let Some(validity) = &column.validity {
        select::refine_valid(validity, positions);
    }
}

/// The values that `op constant` accepts, `lo > hi` when there are none; None when they are no
/// range.
fn range<T: Copy + Step>(op: CompareOp, constant: T, (min, max): (T, T)) -> Option<(T, T)> {
    let none = (max, min);
    match op {
        CompareOp::Equal => Some((constant, constant)),
        CompareOp::LessEqual => Some((min, constant)),
        CompareOp::GreaterEqual => Some((constant, max)),
        CompareOp::Less => Some(constant.before().map_or(none, |v| (min, v))),
        CompareOp::Greater => Some(constant.after().map_or(none, |v| (v, max))),
        CompareOp::NotEqual | CompareOp::Distinct | CompareOp::NotDistinct => None,
    }
}

/// Neighbours of an integer.
trait Step: Sized {
    fn before(self) -> Option<Self>;
    fn after(self) -> Option<Self>;
}

macro_rules! steps {
    ($($integer:ty),*) => {$(
        impl Step for $integer {
            fn before(self) -> Option<Self> {
                self.checked_sub(1)
            }
            fn after(self) -> Option<Self> {
                self.checked_add(1)
            }
        }
    )*};
}

steps!(i32, i64);

/// Keeps the positions where `column`, a BOOLEAN of `rows` rows, is true.
fn keep_true(column: &Column, rows: usize, positions: &mut Vec<u32>) {
    match column {
        Column::Constant(vector, _) => {
            if vector.as_bool()[0] == 0 || vector.is_null(0) {
                positions.clear();
            }
        }
        Column::Plain(vector) if are_all(positions, rows) => {
            positions.clear();
            select::bool_rows(vector.as_bool(), vector.validity.as_ref(), 0, positions);
        }
        Column::Plain(vector) => {
            select::refine_bool(vector.as_bool(), vector.validity.as_ref(), positions);
        }
        Column::Dictionary(codes, entries) => {
            let bits = true_bits(entries);
            if are_all(positions, rows) {
                positions.clear();
                select::bitset_u32(codes, &bits, 0, positions);
            } else {
                select::refine_bitset_u32(codes, &bits, positions);
            }
        }
    }
}

/// Rows for which one of `parts` is true; a part sees only rows that none before made true.
fn select_any(parts: &[Node], batch: &Batch, positions: &mut Vec<u32>) -> Result<()> {
    let mut found = Bitmap::filled(batch.rows, false);
    let mut open = positions.clone();
    for part in parts {
        let mut rows = open.clone();
        part.select(batch, &mut rows)?;
        rows.iter().for_each(|&row| found.set(row as usize, true));
        if !rows.is_empty() {
            open.retain(|&row| !found.get(row as usize));
        }
        if open.is_empty() {
            return Ok(());
        }
    }
    select::refine_valid(&found, positions);
    Ok(())
}
