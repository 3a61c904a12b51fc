//! Wide decimals: columns of NUMERIC whose values have each a scale of their own.
//!
//! Operands have equally many rows, or one row that counts for all. Values are the bytes of
//! [`types::wide`], whose order is the numbers': [`key`] gives the part that two equal numbers have
//! in common, and whatever compares, groups or joins goes by it.
//!
//! Elsewhere: one value (`types::wide`), scaled integers (`numeric`).

use std::borrow::Cow;

use types::wide::{self, Wide};
use types::{DataType, NumericType, Result, Value, array, record};

use crate::numeric::Operand;
use crate::rows::{Texts, Values, try_build_nullable, try_narrow, try_write};
use crate::{Vector, VectorData};

/// An operation on one number.
pub type Unary = fn(&Wide) -> Result<Wide>;
/// An operation on two numbers.
pub type Binary = fn(&Wide, &Wide) -> Result<Wide>;
/// An operation on a number and a number of digits.
pub type Rounding = fn(&Wide, i32) -> Result<Wide>;

/// `f(a)`.
///
/// # Errors
/// Errors of `f`.
pub fn unary(a: &Vector, f: Unary) -> Result<Vector> {
    let values = Texts::new(a);
    try_write(&[a], |i, out| {
        f(&Wide::read(values.bytes(i))?)?.encode(out);
        Ok(())
    })
}

/// `f(a, b)`.
///
/// # Errors
/// Errors of `f`.
pub fn binary(a: &Vector, b: &Vector, f: Binary) -> Result<Vector> {
    let (x, y) = (Texts::new(a), Texts::new(b));
    try_write(&[a, b], |i, out| {
        f(&Wide::read(x.bytes(i))?, &Wide::read(y.bytes(i))?)?.encode(out);
        Ok(())
    })
}

/// `f(a, digits)`; `digits` is an I32 column.
///
/// # Errors
/// Errors of `f`.
pub fn rounded(a: &Vector, digits: &Vector, f: Rounding) -> Result<Vector> {
    let (x, y) = (Texts::new(a), Values::<i32>::new(digits));
    try_write(&[a, digits], |i, out| {
        f(&Wide::read(x.bytes(i))?, y.get(i))?.encode(out);
        Ok(())
    })
}

/// The digits after the point that `f` finds, as I32; NULL for NaN and the infinities.
///
/// # Errors
/// 57014 after a cancel.
pub fn digits(a: &Vector, f: fn(&Wide) -> Option<u32>) -> Result<Vector> {
    let values = Texts::new(a);
    // At most 16,383.
    try_build_nullable(&[a], |i| Ok(f(&Wide::read(values.bytes(i))?).map(|scale| scale as i32)))
}

/// The factorial of an I64 column.
///
/// # Errors
/// 22003 below 0 and above 32177.
pub fn factorial(a: &Vector) -> Result<Vector> {
    let values = Values::<i64>::new(a);
    try_write(&[a], |i, out| {
        Wide::factorial(values.get(i))?.encode(out);
        Ok(())
    })
}

/// The part of each value of type `ty` that equal values have in common, as bytes in their order.
/// `ty` is a wide decimal, or an array or record with some.
///
/// # Errors
/// None.
pub fn key(a: &Vector, ty: DataType) -> Result<Vector> {
    if let DataType::WideNumeric(_) = ty {
        return try_narrow(a, &[a], |_, bytes| Ok(0..wide::key(bytes).len()));
    }
    if let DataType::Packed(ty) = ty {
        let values = Texts::new(a);
        return try_write(&[a], |i, out| {
            out.extend_from_slice(&types::packed::key(values.bytes(i), ty));
            Ok(())
        });
    }
    let values = Texts::new(a);
    try_write(&[a], |i, out| {
        out.extend_from_slice(&key_bytes(values.bytes(i), ty));
        Ok(())
    })
}

/// As [`key`] for one value.
pub fn key_bytes(bytes: &[u8], ty: DataType) -> Cow<'_, [u8]> {
    match ty {
        DataType::WideNumeric(_) => Cow::Borrowed(wide::key(bytes)),
        DataType::Char(0) => Cow::Borrowed(types::without_blanks(bytes)),
        DataType::Packed(ty) => Cow::Owned(types::packed::key(bytes, ty)),
        // A key is no longer than its value, so that no array becomes too large.
        _ => compound_key(bytes, ty).map_or(Cow::Borrowed(bytes), Cow::Owned),
    }
}

/// As [`key`] for one array or record.
fn compound_key(bytes: &[u8], ty: DataType) -> Result<Vec<u8>> {
    let simplified = |value: Value, ty: DataType| match (&value, ty) {
        (Value::Str(bytes), DataType::WideNumeric(_)) => Ok(Value::Str(wide::key(bytes).into())),
        (Value::Str(bytes), DataType::Char(0)) => {
            Ok(Value::Str(types::without_blanks(bytes).into()))
        }
        (Value::Str(bytes), DataType::Packed(packed)) if ty.has_wide() => {
            Ok(Value::Str(types::packed::key(bytes, packed).into()))
        }
        (Value::Str(bytes), DataType::Record(_) | DataType::Array(_)) if ty.has_wide() => {
            Ok(Value::Str(compound_key(bytes, ty)?.into()))
        }
        _ => Ok(value),
    };
    match ty {
        DataType::Array(element) => {
            array::map(bytes, element, element, |value| simplified(value, element.data_type()))
        }
        DataType::Record(fields) => {
            record::map(bytes, (fields, fields), |value, from, _| simplified(value, from))
        }
        _ => Ok(bytes.to_vec()),
    }
}

/// Scaled integers as wide decimals with the digits that their type shows.
///
/// # Errors
/// None.
pub fn from_scaled(a: Operand<'_>) -> Result<Vector> {
    let ty = a.ty;
    from_integers(a.vector, move |value| Wide::from_scaled(value, ty))
}

/// Integers as wide decimals.
///
/// # Errors
/// None.
pub fn from_whole(a: &Vector) -> Result<Vector> {
    from_scaled(Operand { vector: a, ty: NumericType::fixed(38, 0) })
}

fn from_integers(a: &Vector, wide: impl Fn(i128) -> Wide) -> Result<Vector> {
    match &a.data {
        VectorData::I32(v) => try_write(&[a], |i, out| {
            wide(v[i].into()).encode(out);
            Ok(())
        }),
        VectorData::I64(v) => try_write(&[a], |i, out| {
            wide(v[i].into()).encode(out);
            Ok(())
        }),
        VectorData::I128(v) => try_write(&[a], |i, out| {
            wide(v[i]).encode(out);
            Ok(())
        }),
        _ => panic!("integers held as {:?}", a.physical()),
    }
}
