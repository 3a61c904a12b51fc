//! SMALLINT, INTEGER (both held as I32) and BIGINT.

use types::{DataType, Error, Result};

use super::{Arithmetic, Shift, division_by_zero, first_error, out_of_range};
use crate::broadcast::{both_valid, zip, zip_failing};
use crate::level::flavours;
use crate::loops::{map_checked, map_into};
use crate::{Vector, VectorData};

/// Sum, difference or product, and whether it left the type's range.
type Checked<T> = fn(Arithmetic, &[T], &[T]) -> (Vec<T>, bool);

fn range_name(ty: DataType) -> &'static str {
    match ty {
        DataType::SmallInt => "smallint",
        DataType::Integer => "integer",
        _ => "bigint",
    }
}

#[inline(always)]
fn outside_i16(v: i32) -> bool {
    v != i32::from(v as i16)
}

/// Overflow of a wrapped sum: both operands have the sign that the sum has not.
#[inline(always)]
fn sum_i32(a: i32, b: i32) -> (i32, bool) {
    let sum = a.wrapping_add(b);
    (sum, (a ^ sum) & (b ^ sum) < 0)
}

#[inline(always)]
fn difference_i32(a: i32, b: i32) -> (i32, bool) {
    let difference = a.wrapping_sub(b);
    (difference, (a ^ b) & (a ^ difference) < 0)
}

#[inline(always)]
fn product_i32(a: i32, b: i32) -> (i32, bool) {
    let product = i64::from(a) * i64::from(b);
    (product as i32, product != i64::from(product as i32))
}

#[inline(always)]
fn sum_i64(a: i64, b: i64) -> (i64, bool) {
    let sum = a.wrapping_add(b);
    (sum, (a ^ sum) & (b ^ sum) < 0)
}

#[inline(always)]
fn difference_i64(a: i64, b: i64) -> (i64, bool) {
    let difference = a.wrapping_sub(b);
    (difference, (a ^ b) & (a ^ difference) < 0)
}

fn checked_i16(op: Arithmetic, a: &[i32], b: &[i32]) -> (Vec<i32>, bool) {
    // Operands are within 16 bits, so 32 bits hold every result.
    match op {
        Arithmetic::Add => zip_failing(a, b, |x, y| {
            let v = x.wrapping_add(y);
            (v, outside_i16(v))
        }),
        Arithmetic::Subtract => zip_failing(a, b, |x, y| {
            let v = x.wrapping_sub(y);
            (v, outside_i16(v))
        }),
        _ => zip_failing(a, b, |x, y| {
            let v = x.wrapping_mul(y);
            (v, outside_i16(v))
        }),
    }
}

fn checked_i32(op: Arithmetic, a: &[i32], b: &[i32]) -> (Vec<i32>, bool) {
    match op {
        Arithmetic::Add => zip_failing(a, b, sum_i32),
        Arithmetic::Subtract => zip_failing(a, b, difference_i32),
        _ => zip_failing(a, b, product_i32),
    }
}

flavours! {
    /// Bits that the magnitudes of `values` need.
    fn magnitude_bits[](values: &[i64]) -> u32 {
        let mut all = 0i64;
        for &v in values {
            all |= v ^ (v >> 63);
        }
        64 - (all as u64).leading_zeros()
    }
}

fn checked_i64(op: Arithmetic, a: &[i64], b: &[i64]) -> (Vec<i64>, bool) {
    match op {
        Arithmetic::Add => zip_failing(a, b, sum_i64),
        Arithmetic::Subtract => zip_failing(a, b, difference_i64),
        // A product of magnitudes below 2^m and 2^n (or equal, when negative) is at most 2^(m + n).
        _ if magnitude_bits(a) + magnitude_bits(b) < 63 => (zip(a, b, i64::wrapping_mul), false),
        _ => zip_failing(a, b, i64::overflowing_mul),
    }
}

/// Quotients of 32-bit integers are exact in 53 bits: see `tests::quotients_by_double_are_exact`.
#[inline(always)]
fn quotient_i32(a: i32, b: i32) -> (i32, bool) {
    let quotient = f64::from(a) / f64::from(b);
    (quotient as i32, (b == 0) | ((a == i32::MIN) & (b == -1)))
}

#[inline(always)]
fn remainder_i32(a: i32, b: i32) -> (i32, bool) {
    let quotient = (f64::from(a) / f64::from(b)) as i32;
    // MIN % -1 is 0: the saturated quotient gives -1 here, so it is put right.
    let remainder = a.wrapping_sub(quotient.wrapping_mul(b));
    (if b == -1 { 0 } else { remainder }, b == 0)
}

#[inline(always)]
fn quotient_i64(a: i64, b: i64) -> (i64, bool) {
    let bad = (b == 0) | ((a == i64::MIN) & (b == -1));
    (a.wrapping_div(if b == 0 { 1 } else { b }), bad)
}

#[inline(always)]
fn remainder_i64(a: i64, b: i64) -> (i64, bool) {
    (a.wrapping_rem(if b == 0 { 1 } else { b }), b == 0)
}

fn divide_i32(op: Arithmetic, a: &[i32], b: &[i32]) -> (Vec<i32>, bool) {
    match op {
        Arithmetic::Divide => zip_failing(a, b, quotient_i32),
        _ => zip_failing(a, b, remainder_i32),
    }
}

/// SMALLINT: -32768 / -1 is outside.
fn divide_i16(op: Arithmetic, a: &[i32], b: &[i32]) -> (Vec<i32>, bool) {
    match op {
        Arithmetic::Divide => zip_failing(a, b, |x, y| {
            let (v, bad) = quotient_i32(x, y);
            (v, bad | outside_i16(v))
        }),
        _ => zip_failing(a, b, remainder_i32),
    }
}

fn divide_i64(op: Arithmetic, a: &[i64], b: &[i64]) -> (Vec<i64>, bool) {
    match op {
        Arithmetic::Divide => zip_failing(a, b, quotient_i64),
        _ => zip_failing(a, b, remainder_i64),
    }
}

fn bits<T>(op: Arithmetic, a: &[T], b: &[T]) -> Vec<T>
where
    T: Copy
        + std::ops::BitAnd<Output = T>
        + std::ops::BitOr<Output = T>
        + std::ops::BitXor<Output = T>,
{
    match op {
        Arithmetic::BitAnd => zip(a, b, |x, y| x & y),
        Arithmetic::BitOr => zip(a, b, |x, y| x | y),
        _ => zip(a, b, |x, y| x ^ y),
    }
}

/// The error of one row on its own, by the same loop.
fn row_error<T: Copy + PartialEq + Default>(
    op: Arithmetic,
    ty: DataType,
    f: Checked<T>,
    (a, b): (T, T),
) -> Option<Error> {
    if !f(op, &[a], &[b]).1 {
        return None;
    }
    let divides = matches!(op, Arithmetic::Divide | Arithmetic::Modulo);
    Some(if divides && b == T::default() {
        division_by_zero()
    } else {
        out_of_range(range_name(ty))
    })
}

/// `a op b` on integers of type `ty`, of which both operands are.
///
/// # Errors
/// 22003 when a result leaves the type's range, 22012 for a zero divisor.
///
/// # Panics
/// If the columns are not of the type's physical type.
pub fn integer(op: Arithmetic, a: &Vector, b: &Vector, ty: DataType) -> Result<Vector> {
    use Arithmetic::{Add, BitAnd, BitOr, BitXor, Divide, Modulo, Multiply, Subtract};
    let validity = || both_valid(a, b);
    let (data, failed) = match (&a.data, &b.data, op) {
        (VectorData::I32(x), VectorData::I32(y), BitAnd | BitOr | BitXor) => {
            (VectorData::I32(bits(op, x, y)), None)
        }
        (VectorData::I64(x), VectorData::I64(y), BitAnd | BitOr | BitXor) => {
            (VectorData::I64(bits(op, x, y)), None)
        }
        (VectorData::I32(x), VectorData::I32(y), _) => {
            let f: Checked<i32> = match (op, ty) {
                (Add | Subtract | Multiply, DataType::SmallInt) => checked_i16,
                (Add | Subtract | Multiply, _) => checked_i32,
                (Divide | Modulo, DataType::SmallInt) => divide_i16,
                _ => divide_i32,
            };
            let (values, failed) = f(op, x, y);
            let check = |i: usize, j: usize| row_error(op, ty, f, (x[i], y[j]));
            (VectorData::I32(values), failed.then(|| first_error(a, b, check)).flatten())
        }
        (VectorData::I64(x), VectorData::I64(y), _) => {
            let f: Checked<i64> =
                if matches!(op, Divide | Modulo) { divide_i64 } else { checked_i64 };
            let (values, failed) = f(op, x, y);
            let check = |i: usize, j: usize| row_error(op, ty, f, (x[i], y[j]));
            (VectorData::I64(values), failed.then(|| first_error(a, b, check)).flatten())
        }
        _ => panic!("integer arithmetic on {:?} and {:?}", a.physical(), b.physical()),
    };
    match failed {
        Some(error) => Err(error),
        None => Ok(Vector::with_validity(data, validity())),
    }
}

/// `f` of all rows; 22003 when it fails for a row that is not NULL.
fn map_integer<T: Copy>(
    a: &Vector,
    values: &[T],
    ty: DataType,
    f: impl Fn(T) -> (T, bool) + Copy,
) -> Result<Vec<T>> {
    let mut out = Vec::new();
    if map_checked(values, &mut out, f) {
        let check = |i: usize, _| f(values[i]).1.then(|| out_of_range(range_name(ty)));
        if let Some(error) = first_error(a, a, check) {
            return Err(error);
        }
    }
    Ok(out)
}

/// `- a` on integers of type `ty`.
///
/// # Errors
/// 22003 for the smallest number of the type.
///
/// # Panics
/// If the column is not of the type's physical type.
pub fn negate(a: &Vector, ty: DataType) -> Result<Vector> {
    let data = match &a.data {
        VectorData::I32(v) if ty == DataType::SmallInt => {
            VectorData::I32(map_integer(a, v, ty, |x| (x.wrapping_neg(), x == -32768))?)
        }
        VectorData::I32(v) => VectorData::I32(map_integer(a, v, ty, i32::overflowing_neg)?),
        VectorData::I64(v) => VectorData::I64(map_integer(a, v, ty, i64::overflowing_neg)?),
        _ => panic!("integer negation of {:?}", a.physical()),
    };
    Ok(Vector::with_validity(data, a.validity.clone()))
}

/// abs(a) on integers of type `ty`.
///
/// # Errors
/// 22003 for the smallest number of the type.
///
/// # Panics
/// If the column is not of the type's physical type.
pub fn abs(a: &Vector, ty: DataType) -> Result<Vector> {
    let data = match &a.data {
        VectorData::I32(v) if ty == DataType::SmallInt => {
            VectorData::I32(map_integer(a, v, ty, |x| (x.wrapping_abs(), x == -32768))?)
        }
        VectorData::I32(v) => {
            VectorData::I32(map_integer(a, v, ty, |x| (x.wrapping_abs(), x == i32::MIN))?)
        }
        VectorData::I64(v) => {
            VectorData::I64(map_integer(a, v, ty, |x| (x.wrapping_abs(), x == i64::MIN))?)
        }
        _ => panic!("abs of {:?}", a.physical()),
    };
    Ok(Vector::with_validity(data, a.validity.clone()))
}

/// `~ a`.
///
/// # Panics
/// If the column is not of integers.
pub fn bit_not(a: &Vector) -> Vector {
    fn flip<T: Copy + std::ops::Not<Output = T>>(values: &[T]) -> Vec<T> {
        let mut out = Vec::new();
        map_into(values, &mut out, |x| !x);
        out
    }
    let data = match &a.data {
        VectorData::I32(v) => VectorData::I32(flip(v)),
        VectorData::I64(v) => VectorData::I64(flip(v)),
        _ => panic!("bit operation on {:?}", a.physical()),
    };
    Vector::with_validity(data, a.validity.clone())
}

/// `a << n` and `a >> n` on integers of type `ty`; `n` is I32. As the machine has it: the count
/// wraps at the width, bits shifted out are lost.
///
/// # Panics
/// If the columns are not of integers.
pub fn shift(direction: Shift, a: &Vector, n: &Vector, ty: DataType) -> Vector {
    let VectorData::I32(counts) = &n.data else { panic!("shift by {:?}", n.physical()) };
    let left = direction == Shift::Left;
    let data = match (&a.data, left) {
        (VectorData::I32(v), true) if ty == DataType::SmallInt => {
            VectorData::I32(zip(v, counts, |x, n| i32::from(x.wrapping_shl(n as u32) as i16)))
        }
        (VectorData::I32(v), true) => {
            VectorData::I32(zip(v, counts, |x, n| x.wrapping_shl(n as u32)))
        }
        (VectorData::I32(v), false) => {
            VectorData::I32(zip(v, counts, |x, n| x.wrapping_shr(n as u32)))
        }
        (VectorData::I64(v), true) => {
            VectorData::I64(zip(v, counts, |x, n| x.wrapping_shl(n as u32)))
        }
        (VectorData::I64(v), false) => {
            VectorData::I64(zip(v, counts, |x, n| x.wrapping_shr(n as u32)))
        }
        _ => panic!("shift of {:?}", a.physical()),
    };
    Vector::with_validity(data, both_valid(a, n))
}
