//! Blocks that a condition on the places of rows leaves: `ctid >= '(2,0)' AND ctid < '(5,0)'`.

use std::ops::RangeInclusive;

use plan::physical::{Expr, ExprKind};
use storage::TID_COLUMN;
use types::{CompareOp, DataType, Value};

/// Bits of an offset in a value of the type TID.
const OFFSET_BITS: u32 = 17;

/// True for the TID of the scan's rows as a value of the type TID.
fn is_place(expr: &Expr, columns: &[usize]) -> bool {
    let ExprKind::Cast(inner) = &expr.kind else { return false };
    expr.ty == DataType::Tid
        && matches!(inner.kind, ExprKind::Column(at) if columns.get(at) == Some(&TID_COLUMN))
}

/// The block of a constant of the type TID.
fn block_of(expr: &Expr) -> Option<u64> {
    match &expr.kind {
        ExprKind::Literal(Value::I64(place)) => {
            u64::try_from(*place).ok().map(|p| p >> OFFSET_BITS)
        }
        _ => None,
    }
}

/// Ids of the blocks in which rows may meet `condition`, whose columns are `columns`.
pub(super) fn blocks_left(condition: &Expr, columns: &[usize]) -> RangeInclusive<u64> {
    let mut left = 0..=u64::MAX;
    let parts = match &condition.kind {
        ExprKind::And(parts) => parts.as_slice(),
        _ => std::slice::from_ref(condition),
    };
    for part in parts {
        let ExprKind::Compare(op, first, second) = &part.kind else { continue };
        let (op, constant) = if is_place(first, columns) {
            (*op, second)
        } else if is_place(second, columns) {
            (op.exchanged(), first)
        } else {
            continue;
        };
        let Some(block) = block_of(constant) else { continue };
        let (start, end) = (*left.start(), *left.end());
        left = match op {
            CompareOp::Greater | CompareOp::GreaterEqual => start.max(block)..=end,
            CompareOp::Less | CompareOp::LessEqual => start..=end.min(block),
            CompareOp::Equal => start.max(block)..=end.min(block),
            _ => continue,
        };
    }
    left
}
