//! Sums, differences and products of scaled integers that are known to fit their result.
//!
//! The planner proved from value ranges, or the declared precisions prove, that no result needs
//! more than the target's width. Then wrapping arithmetic in that width is exact even where an
//! intermediate value (an operand brought to the common scale) wraps: all of it is arithmetic
//! modulo 2^64 or 2^128.

use std::borrow::Cow;

use types::PhysicalType;

use super::Arithmetic;
use crate::broadcast::{both_valid, zip};
use crate::loops::map_into;
use crate::{Vector, VectorData};

/// 10 to the `exponent`, modulo 2^128.
pub fn power_of_ten(exponent: u8) -> i128 {
    10i128.wrapping_pow(u32::from(exponent))
}

/// The integers modulo 2^64.
fn low_bits(data: &VectorData) -> Cow<'_, [i64]> {
    let mut out = Vec::new();
    match data {
        VectorData::I64(v) => return Cow::Borrowed(v),
        VectorData::I32(v) => map_into(v, &mut out, i64::from),
        VectorData::I128(v) => map_into(v, &mut out, |x| x as i64),
        _ => panic!("scaled arithmetic on a column that is not of integers"),
    }
    Cow::Owned(out)
}

fn wide(data: &VectorData) -> Cow<'_, [i128]> {
    let mut out = Vec::new();
    match data {
        VectorData::I128(v) => return Cow::Borrowed(v),
        VectorData::I32(v) => map_into(v, &mut out, i128::from),
        VectorData::I64(v) => map_into(v, &mut out, i128::from),
        _ => panic!("scaled arithmetic on a column that is not of integers"),
    }
    Cow::Owned(out)
}

fn in_64(op: Arithmetic, a: &[i64], b: &[i64], factors: (i64, i64)) -> Vec<i64> {
    let (p, q) = factors;
    match (op, p == 1 && q == 1) {
        (Arithmetic::Add, true) => zip(a, b, i64::wrapping_add),
        (Arithmetic::Subtract, true) => zip(a, b, i64::wrapping_sub),
        (Arithmetic::Multiply, _) => zip(a, b, i64::wrapping_mul),
        (Arithmetic::Add, false) => {
            zip(a, b, |x, y| x.wrapping_mul(p).wrapping_add(y.wrapping_mul(q)))
        }
        (Arithmetic::Subtract, false) => {
            zip(a, b, |x, y| x.wrapping_mul(p).wrapping_sub(y.wrapping_mul(q)))
        }
        (op, _) => panic!("{op:?} is not exact in scaled integers"),
    }
}

fn in_128(op: Arithmetic, a: &VectorData, b: &VectorData, factors: (i128, i128)) -> Vec<i128> {
    if let (VectorData::I64(a), VectorData::I64(b), Arithmetic::Multiply) = (a, b, op) {
        return zip(a, b, |x, y| i128::from(x) * i128::from(y));
    }
    let (a, b, (p, q)) = (wide(a), wide(b), factors);
    match op {
        Arithmetic::Add => zip(&a, &b, |x, y| x.wrapping_mul(p).wrapping_add(y.wrapping_mul(q))),
        Arithmetic::Subtract => {
            zip(&a, &b, |x, y| x.wrapping_mul(p).wrapping_sub(y.wrapping_mul(q)))
        }
        Arithmetic::Multiply => zip(&a, &b, i128::wrapping_mul),
        op => panic!("{op:?} is not exact in scaled integers"),
    }
}

/// `a * factors.0 op b * factors.1` for sums and differences, `a * b` for products, as `physical`
/// (I64 or I128). Factors are powers of ten that bring both operands to one scale. Exact when every
/// result that is not NULL fits `physical`; nothing is checked.
///
/// # Panics
/// If the columns are not of integers, `physical` is another type, or `op` another operator.
pub fn scaled(
    op: Arithmetic,
    a: &Vector,
    b: &Vector,
    factors: (i128, i128),
    physical: PhysicalType,
) -> Vector {
    let data = match physical {
        PhysicalType::I64 => {
            let factors = (factors.0 as i64, factors.1 as i64);
            VectorData::I64(in_64(op, &low_bits(&a.data), &low_bits(&b.data), factors))
        }
        PhysicalType::I128 => VectorData::I128(in_128(op, &a.data, &b.data, factors)),
        other => panic!("scaled integers held as {other:?}"),
    };
    Vector::with_validity(data, both_valid(a, b))
}
