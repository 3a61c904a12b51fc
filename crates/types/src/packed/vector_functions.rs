//! Functions and operators on VECTOR.
//!
//! Elsewhere: forms and casts (`vector`), loops (`distance`).

use super::distance::Metric;
use super::vector::{
    PackedFloats, check_count, check_declared, check_float, push_float, without_dimensions,
};
use super::{Bits, Call, Given};
use crate::{DataType, Error, Result, SqlState, array};

type Computed = Result<Given>;

fn at<'a>(call: &Call<'a>, argument: usize) -> PackedFloats<'a> {
    PackedFloats::of(call.bytes(argument))
}

/// # Errors
/// 22000 for vectors of different dimensions.
fn check_same(a: PackedFloats<'_>, b: PackedFloats<'_>) -> Result<()> {
    if a.count() == b.count() {
        return Ok(());
    }
    let message = format!("different vector dimensions {} and {}", a.count(), b.count());
    Err(Error::new(SqlState::DATA_EXCEPTION, message))
}

/// The arguments of a function of two vectors of equal dimensions.
fn both<'a>(call: &Call<'a>) -> Result<[PackedFloats<'a>; 2]> {
    let (a, b) = (at(call, 0), at(call, 1));
    check_same(a, b)?;
    Ok([a, b])
}

/// The distance of the two arguments of a call, which `between` computes of equal dimensions.
///
/// # Errors
/// 22000 for vectors of different dimensions.
pub fn vector_distance(
    call: &Call<'_>,
    between: impl Fn(PackedFloats<'_>, PackedFloats<'_>) -> f64,
) -> Computed {
    let [a, b] = both(call)?;
    Ok(Given::Double(between(a, b)))
}

fn between(call: &Call<'_>, metric: Metric) -> Computed {
    vector_distance(call, |a, b| metric.between(a, b))
}

pub(super) fn l2_distance(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    between(call, Metric::L2)
}

pub(super) fn squared_l2_distance(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let [a, b] = both(call)?;
    Ok(Given::Double(f64::from(super::distance::squared_l2(a, b))))
}

pub(super) fn inner_product(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let [a, b] = both(call)?;
    Ok(Given::Double(f64::from(super::distance::inner_product(a, b))))
}

pub(super) fn negative_inner_product(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    between(call, Metric::InnerProduct)
}

pub(super) fn cosine_distance(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    between(call, Metric::Cosine)
}

pub(super) fn l1_distance(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    between(call, Metric::L1)
}

/// The angle of two vectors of length 1, in half turns.
pub(super) fn spherical_distance(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let [a, b] = both(call)?;
    let product = f64::from(super::distance::inner_product(a, b)).clamp(-1.0, 1.0);
    Ok(Given::Double(product.acos() / std::f64::consts::PI))
}

pub(super) fn dimensions(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(at(call, 0).count() as i64))
}

/// The length as the crow flies.
fn length(floats: PackedFloats<'_>) -> f64 {
    floats.iter().map(|float| f64::from(float) * f64::from(float)).sum::<f64>().sqrt()
}

pub(super) fn norm(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Double(length(at(call, 0))))
}

/// The floats of the vector of length 1 in the direction of `floats`; zeros where it has none.
pub fn normalized(floats: PackedFloats<'_>) -> impl Iterator<Item = f32> {
    let length = length(floats);
    let has_direction = length > 0.0;
    let of_length_1 = move |float: f32| (f64::from(float) / length) as f32;
    floats.iter().map(move |float| if has_direction { of_length_1(float) } else { 0.0 })
}

pub(super) fn l2_normalize(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(normalized(at(call, 0)), out)
}

#[cold]
fn out_of_range(how: &str) -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("value out of range: {how}"))
}

/// Appends what was computed.
///
/// # Errors
/// 22003 for what is no finite float any more.
fn given(floats: impl Iterator<Item = f32>, out: &mut Vec<u8>) -> Computed {
    for float in floats {
        if float.is_infinite() {
            return Err(out_of_range("overflow"));
        }
        push_float(out, float);
    }
    Ok(Given::Bytes)
}

pub(super) fn add(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let [a, b] = both(call)?;
    given(a.iter().zip(b.iter()).map(|(x, y)| x + y), out)
}

pub(super) fn subtract(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let [a, b] = both(call)?;
    given(a.iter().zip(b.iter()).map(|(x, y)| x - y), out)
}

pub(super) fn multiply(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let [a, b] = both(call)?;
    for (x, y) in a.iter().zip(b.iter()) {
        if x * y == 0.0 && x != 0.0 && y != 0.0 {
            return Err(out_of_range("underflow"));
        }
    }
    given(a.iter().zip(b.iter()).map(|(x, y)| x * y), out)
}

pub(super) fn concatenate(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    check_count(at(call, 0).count() + at(call, 1).count())?;
    out.extend_from_slice(call.bytes(0));
    out.extend_from_slice(call.bytes(1));
    Ok(Given::Bytes)
}

/// -1, 0 or 1, as the first one comes before, with or after the second.
pub(super) fn compare(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let order = super::vector::key(call.bytes(0)).cmp(&super::vector::key(call.bytes(1)));
    Ok(Given::Int(order as i64))
}

pub(super) fn binary_quantize(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let floats = at(call, 0);
    let mut bits = Bits { count: floats.count(), bytes: vec![0; floats.count().div_ceil(8)] };
    for (place, _) in floats.iter().enumerate().filter(|(_, float)| *float > 0.0) {
        bits.bytes[place / 8] |= 0x80 >> (place % 8);
    }
    bits.write(out);
    Ok(Given::Bytes)
}

/// `count` dimensions from `start` on, which is 1 for the first one.
pub(super) fn subvector(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let floats = at(call, 0);
    let (start, count) = (call.int(1), call.int(2));
    let end = start.saturating_add(count).min(floats.count() as i64 + 1);
    let start = start.max(1);
    if count < 1 || end <= start {
        return Err(without_dimensions());
    }
    // Both are between 1 and the count of dimensions, and 1 more.
    let (start, end) = (start as usize - 1, end as usize - 1);
    given(floats.iter().skip(start).take(end - start), out)
}

/// The vectors of an array, without NULLs.
fn vectors<'a>(call: &Call<'a>) -> Vec<std::borrow::Cow<'a, [u8]>> {
    match call.types.first() {
        Some(DataType::Array(element)) => {
            let elements = array::Elements::new(call.bytes(0), *element);
            elements.flatten().map(array::text_bytes).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn sum(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let vectors = vectors(call);
    let Some((first, others)) = vectors.split_first() else { return Ok(Given::Null) };
    let mut sums: Vec<f32> = PackedFloats::of(first).iter().collect();
    for vector in others {
        let floats = PackedFloats::of(vector);
        check_same(PackedFloats::of(first), floats)?;
        sums.iter_mut().zip(floats.iter()).for_each(|(sum, float)| *sum += float);
        if sums.iter().any(|sum| sum.is_infinite()) {
            return Err(out_of_range("overflow"));
        }
    }
    given(sums.into_iter(), out)
}

pub(super) fn average(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let vectors = vectors(call);
    let Some(first) = vectors.first() else { return Ok(Given::Null) };
    let mut sums = vec![0.0_f64; PackedFloats::of(first).count()];
    // No vector has more dimensions than a number of 16 bits counts.
    let expected = Some(sums.len() as u16);
    for vector in &vectors {
        let floats = PackedFloats::of(vector);
        check_declared(expected, floats.count())?;
        sums.iter_mut().zip(floats.iter()).for_each(|(sum, float)| *sum += f64::from(float));
    }
    let count = vectors.len() as f64;
    for sum in sums {
        push_float(out, check_float((sum / count) as f32)?);
    }
    Ok(Given::Bytes)
}
