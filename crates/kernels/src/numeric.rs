//! NUMERIC arithmetic on scaled integers, held as I64 or I128 (I32 is taken too), in both operand
//! forms.
//!
//! Operands have equally many rows, or one row that counts for all. Loops compute all rows and note
//! whether one failed; only then rows are looked at one by one, because a NULL row never fails. A
//! result that exceeds its precision is 22003.
//!
//! Elsewhere: quotients, roots and powers (`wide`), one value (`types::decimal`), sums and products
//! known to fit (`arithmetic::scaled`).
#![expect(clippy::useless_conversion, reason = "one loop for all widths of integers")]

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use types::{DataType, Error, NumericType, PhysicalType, Result, decimal};

use crate::broadcast::{both_valid, row, rows, zip_failing};
use crate::loops::map_into;
use crate::rows::Fixed;
use crate::{Bitmap, Vector, VectorData};

/// A column of NUMERIC and its type. The vector's physical type may be narrower than the type's.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Scaled integers.
    pub vector: &'a Vector,
    /// Type of the integers; the scale counts, and for division the display.
    pub ty: NumericType,
}

/// Type that a kernel is to return.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The result's type.
    pub ty: NumericType,
    /// I64 or I128: an I64 result is checked to fit.
    pub physical: PhysicalType,
}

impl Target {
    /// `ty` in its usual physical form.
    pub fn new(ty: NumericType) -> Self {
        Self { ty, physical: DataType::Numeric(ty).physical() }
    }

    /// Values whose magnitude is below this fit type and physical form.
    fn bound(self) -> u128 {
        let precision = decimal::pow10(u32::from(self.ty.precision)).unsigned_abs();
        match self.physical {
            PhysicalType::I64 => precision.min(1 << 63),
            _ => precision,
        }
    }
}

/// Runs `$body` with `$v` bound to the integers of `$vector`, whatever their width.
macro_rules! for_integers {
    ($vector:expr, $v:ident => $body:expr) => {
        match &$vector.data {
            VectorData::I64($v) => $body,
            VectorData::I128($v) => $body,
            VectorData::I32($v) => $body,
            _ => panic!("NUMERIC held as {:?}", $vector.physical()),
        }
    };
}

/// A width of result.
trait Narrow: Fixed {
    /// The low bits: what does not fit has failed before.
    fn narrow(value: i128) -> Self;
}

impl Narrow for i64 {
    #[inline(always)]
    fn narrow(value: i128) -> Self {
        value as i64
    }
}

impl Narrow for i128 {
    #[inline(always)]
    fn narrow(value: i128) -> Self {
        value
    }
}

/// `value` narrowed, and whether there is none within `bound`.
#[inline(always)]
fn checked<R: Narrow>(value: Option<i128>, bound: u128) -> (R, bool) {
    match value {
        Some(value) => (R::narrow(value), value.unsigned_abs() >= bound),
        None => (R::default(), true),
    }
}

/// `f(a, b)` for all rows; when a valid row gives none or one out of range, the error that
/// `explain` finds for its operands, or overflow.
fn binary(
    a: Operand<'_>,
    b: Operand<'_>,
    to: Target,
    f: impl Fn(i128, i128) -> Option<i128> + Copy,
    explain: impl Fn(i128, i128) -> Option<Error>,
) -> Result<Vector> {
    let bound = to.bound();
    let (data, failed) = for_integers!(a.vector, x => for_integers!(b.vector, y => {
        if to.physical == PhysicalType::I64 {
            let g = move |p, q| checked::<i64>(f(i128::from(p), i128::from(q)), bound);
            let (values, failed) = zip_failing(x, y, g);
            (VectorData::I64(values), failed)
        } else {
            let g = move |p, q| checked::<i128>(f(i128::from(p), i128::from(q)), bound);
            let (values, failed) = zip_failing(x, y, g);
            (VectorData::I128(values), failed)
        }
    }));
    if failed {
        find_failure(a.vector, b.vector, to, f, explain)?;
    }
    Ok(Vector::with_validity(data, both_valid(a.vector, b.vector)))
}

fn integer(vector: &Vector, i: usize) -> i128 {
    for_integers!(vector, v => i128::from(v[i]))
}

#[cold]
fn find_failure(
    a: &Vector,
    b: &Vector,
    to: Target,
    f: impl Fn(i128, i128) -> Option<i128>,
    explain: impl Fn(i128, i128) -> Option<Error>,
) -> Result<()> {
    let (bound, len_a, len_b) = (to.bound(), a.len(), b.len());
    for i in 0..rows(len_a, len_b) {
        let (i, j) = (row(len_a, i), row(len_b, i));
        if a.is_null(i) || b.is_null(j) {
            continue;
        }
        let (p, q) = (integer(a, i), integer(b, j));
        if f(p, q).is_none_or(|v| v.unsigned_abs() >= bound) {
            return Err(explain(p, q).unwrap_or_else(|| decimal::field_overflow(to.ty)));
        }
    }
    Ok(())
}

/// `f(a)` for all rows, as [`binary`].
fn unary(
    a: Operand<'_>,
    to: Target,
    f: impl Fn(i128) -> Option<i128> + Copy,
    explain: impl Fn(i128) -> Option<Error>,
) -> Result<Vector> {
    let none = Vector::new(VectorData::I32(vec![0]));
    let b = Operand { vector: &none, ty: NumericType::fixed(1, 0) };
    binary(a, b, to, move |v, _| f(v), move |v, _| explain(v))
}

fn no_reason<T>(_: T) -> Option<Error> {
    None
}

/// Sums and differences: both operands at the larger scale, then at the result's.
fn sum(
    a: Operand<'_>,
    b: Operand<'_>,
    to: Target,
    in_64: impl Fn(i64, i64) -> (i64, bool),
    in_128: impl Fn(i128, i128) -> Option<i128> + Copy,
) -> Result<Vector> {
    if let (VectorData::I64(x), VectorData::I64(y), PhysicalType::I64) =
        (&a.vector.data, &b.vector.data, to.physical)
        && a.ty.scale == to.ty.scale
        && b.ty.scale == to.ty.scale
    {
        let bound = to.bound();
        let (values, failed) = zip_failing(x, y, |p, q| {
            let (value, overflow) = in_64(p, q);
            (value, overflow | (u128::from(value.unsigned_abs()) >= bound))
        });
        if !failed {
            let validity = both_valid(a.vector, b.vector);
            return Ok(Vector::with_validity(VectorData::I64(values), validity));
        }
    }
    let scale = a.ty.scale.max(b.ty.scale);
    let p = decimal::pow10(u32::from(scale - a.ty.scale));
    let q = decimal::pow10(u32::from(scale - b.ty.scale));
    let result_scale = to.ty.scale;
    let f = move |x: i128, y: i128| {
        decimal::rescale(in_128(x.checked_mul(p)?, y.checked_mul(q)?)?, scale, result_scale)
    };
    binary(a, b, to, f, |_, _| None)
}

/// a + b.
///
/// # Errors
/// 22003.
pub fn add(a: Operand<'_>, b: Operand<'_>, to: Target) -> Result<Vector> {
    sum(a, b, to, i64::overflowing_add, i128::checked_add)
}

/// a - b.
///
/// # Errors
/// 22003.
pub fn subtract(a: Operand<'_>, b: Operand<'_>, to: Target) -> Result<Vector> {
    sum(a, b, to, i64::overflowing_sub, i128::checked_sub)
}

/// a * b, rounded when the result's scale is less than both scales together.
///
/// # Errors
/// 22003.
pub fn multiply(a: Operand<'_>, b: Operand<'_>, to: Target) -> Result<Vector> {
    let exact = a.ty.scale + b.ty.scale;
    if exact == to.ty.scale
        && to.physical == PhysicalType::I64
        && let (VectorData::I64(x), VectorData::I64(y)) = (&a.vector.data, &b.vector.data)
    {
        let bound = to.bound();
        let (values, failed) = zip_failing(x, y, |p, q| {
            let (value, overflow) = p.overflowing_mul(q);
            (value, overflow | (u128::from(value.unsigned_abs()) >= bound))
        });
        if !failed {
            let validity = both_valid(a.vector, b.vector);
            return Ok(Vector::with_validity(VectorData::I64(values), validity));
        }
    }
    if exact >= to.ty.scale {
        let drop = u32::from(exact - to.ty.scale);
        return binary(a, b, to, move |x, y| decimal::multiply(x, y, drop), |_, _| None);
    }
    let factor = decimal::pow10(u32::from(to.ty.scale - exact));
    let f = move |x: i128, y: i128| x.checked_mul(y)?.checked_mul(factor);
    binary(a, b, to, f, |_, _| None)
}

fn zero_divisor(_: i128, divisor: i128) -> Option<Error> {
    (divisor == 0).then(decimal::division_by_zero)
}

/// a % b with the sign of a.
///
/// # Errors
/// 22012, 22003.
pub fn modulo(a: Operand<'_>, b: Operand<'_>, to: Target) -> Result<Vector> {
    let (p, q, scale) = (a.ty.scale, b.ty.scale, to.ty.scale);
    let f = move |x, y: i128| {
        let rest = if y == 0 { None } else { decimal::modulo(x, p, y, q) };
        decimal::rescale(rest?, p.max(q), scale)
    };
    binary(a, b, to, f, zero_divisor)
}

/// - a.
///
/// # Errors
/// 22003.
pub fn negate(a: Operand<'_>, to: Target) -> Result<Vector> {
    let (from, scale) = (a.ty.scale, to.ty.scale);
    unary(a, to, move |v| decimal::rescale(v.checked_neg()?, from, scale), no_reason)
}

/// abs(a).
///
/// # Errors
/// 22003.
pub fn abs(a: Operand<'_>, to: Target) -> Result<Vector> {
    let (from, scale) = (a.ty.scale, to.ty.scale);
    unary(a, to, move |v| decimal::rescale(v.checked_abs()?, from, scale), no_reason)
}

/// sign(a).
///
/// # Errors
/// 22003 when the result's type does not hold 1.
pub fn sign(a: Operand<'_>, to: Target) -> Result<Vector> {
    let scale = to.ty.scale;
    unary(a, to, move |v| decimal::rescale(v.signum(), 0, scale), no_reason)
}

/// round(a, digits), half away from zero; digits may be negative.
///
/// # Errors
/// 22003.
pub fn round(a: Operand<'_>, digits: i32, to: Target) -> Result<Vector> {
    let (from, scale) = (a.ty.scale, to.ty.scale);
    let f = move |v| decimal::rescale(decimal::round(v, from, digits)?, from, scale);
    unary(a, to, f, no_reason)
}

/// trunc(a, digits), towards zero; digits may be negative.
///
/// # Errors
/// 22003.
pub fn trunc(a: Operand<'_>, digits: i32, to: Target) -> Result<Vector> {
    let (from, scale) = (a.ty.scale, to.ty.scale);
    let f = move |v| decimal::rescale(decimal::trunc(v, from, digits)?, from, scale);
    unary(a, to, f, no_reason)
}

/// floor(a).
///
/// # Errors
/// 22003.
pub fn floor(a: Operand<'_>, to: Target) -> Result<Vector> {
    let (from, scale) = (a.ty.scale, to.ty.scale);
    let f = move |v| decimal::rescale(decimal::floor(v, from)?, from, scale);
    unary(a, to, f, no_reason)
}

/// ceil(a).
///
/// # Errors
/// 22003.
pub fn ceil(a: Operand<'_>, to: Target) -> Result<Vector> {
    let (from, scale) = (a.ty.scale, to.ty.scale);
    let f = move |v| decimal::rescale(decimal::ceil(v, from)?, from, scale);
    unary(a, to, f, no_reason)
}

/// The same number at another scale, rounded half away from zero: numeric casts, and changes of the
/// physical form alone.
///
/// # Errors
/// 22003.
pub fn rescale(a: Operand<'_>, to: Target) -> Result<Vector> {
    let widens = to.ty.scale == a.ty.scale && to.ty.precision >= a.ty.precision;
    match (&a.vector.data, to.physical) {
        (VectorData::I64(_), PhysicalType::I64) | (VectorData::I128(_), PhysicalType::I128)
            if widens =>
        {
            return Ok(a.vector.clone());
        }
        (VectorData::I64(v), PhysicalType::I128) if widens => {
            let mut out = Vec::new();
            map_into(v, &mut out, i128::from);
            let validity = a.vector.validity.clone();
            return Ok(Vector::with_validity(VectorData::I128(out), validity));
        }
        _ => {}
    }
    let (from, scale) = (a.ty.scale, to.ty.scale);
    if scale >= from {
        let factor = decimal::pow10(u32::from(scale - from));
        return unary(a, to, move |v| v.checked_mul(factor), no_reason);
    }
    let divisor = decimal::pow10(u32::from(from - scale));
    unary(a, to, move |v| Some(divide_round(v, divisor)), no_reason)
}

/// As [`decimal::divide_round`], in 64 bits where that suffices: several times faster.
#[inline(always)]
fn divide_round(a: i128, b: i128) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) if b > 0 => {
            let (quotient, rest) = (a / b, a % b);
            let up = rest != 0 && rest.unsigned_abs() >= b as u64 - rest.unsigned_abs();
            i128::from(quotient) + if up { i128::from(rest.signum()) } else { 0 }
        }
        _ => decimal::divide_round(a, b),
    }
}

/// `a cmp b` of numbers of scales `a_scale` and `b_scale`.
#[inline]
fn order(a: i128, a_scale: u8, b: i128, b_scale: u8) -> Ordering {
    let scale = a_scale.max(b_scale);
    let p = a.checked_mul(decimal::pow10(u32::from(scale - a_scale)));
    let q = b.checked_mul(decimal::pow10(u32::from(scale - b_scale)));
    match (p, q) {
        (Some(p), Some(q)) => p.cmp(&q),
        // Only the one of smaller scale is multiplied; beyond 128 bits it exceeds the other.
        (None, _) => a.cmp(&0),
        (_, None) => 0.cmp(&b),
    }
}

/// Bit `i` is `accept(a[i] cmp b[i])`; rows with a NULL are arbitrary. Scales may differ.
pub fn compare(a: Operand<'_>, b: Operand<'_>, accept: impl Fn(Ordering) -> bool) -> Bitmap {
    let (len_a, len_b) = (a.vector.len(), b.vector.len());
    let count = rows(len_a, len_b);
    let same = a.ty.scale == b.ty.scale;
    for_integers!(a.vector, x => for_integers!(b.vector, y => Bitmap::from_fn(count, |i| {
        let (p, q) = (i128::from(x[row(len_a, i)]), i128::from(y[row(len_b, i)]));
        accept(if same { p.cmp(&q) } else { order(p, a.ty.scale, q, b.ty.scale) })
    })))
}
