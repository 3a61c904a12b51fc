//! Functions on ranges and multiranges.
//!
//! Most take a range for a multirange of one part, or none when it is empty: so one function does
//! for all four pairs of operands.

use super::range::{Bound, Span, kind_of, merged, push_multirange, push_range, range_of, spans};
use super::{Arg, Call, Given};
use crate::array::{ArrayBuilder, decode};
use crate::{DataType, Error, PackedType, PhysicalType, RangeKind, Result, SqlState, Value};

type Computed = Result<Given>;

fn parts<'a>(call: &Call<'a>, at: usize) -> Vec<Span<'a>> {
    spans(call.bytes(at), call.any_kind())
}

/// Both operands' parts.
fn both<'a>(call: &Call<'a>) -> (Vec<Span<'a>>, Vec<Span<'a>>) {
    (parts(call, 0), parts(call, 1))
}

/// The value of argument `at`, in the form of the ranges' bounds.
fn bound_value(call: &Call<'_>, at: usize, kind: RangeKind) -> Value {
    let narrow = |value: i64| match kind.bound().physical() {
        // The argument is of this type.
        PhysicalType::I32 => Value::I32(value as i32),
        _ => Value::I64(value),
    };
    match call.arguments.get(at) {
        Some(Arg::Bool(value)) => Value::Bool(*value),
        Some(Arg::Int(value)) => narrow(*value),
        Some(Arg::Double(value)) => Value::F64(*value),
        Some(Arg::Bytes(bytes)) => Value::Str((*bytes).into()),
        _ => Value::Null,
    }
}

/// Gives a value of the bounds' type.
fn give(value: Value, out: &mut Vec<u8>) -> Given {
    match value {
        Value::Bool(value) => Given::Bool(value),
        Value::I32(value) => Given::Int(i64::from(value)),
        Value::I64(value) => Given::Int(value),
        Value::F64(value) => Given::Double(value),
        Value::Str(bytes) => {
            out.extend_from_slice(&bytes);
            Given::Bytes
        }
        _ => Given::Null,
    }
}

/// Gives parts that are in order, as the type that the result has.
fn give_parts(call: &Call<'_>, found: &[Span<'_>], out: &mut Vec<u8>) -> Computed {
    let kind = kind_of(call.ty)?;
    match call.ty {
        DataType::Packed(PackedType::Multirange(_)) => push_multirange(out, found, kind),
        _ => push_range(out, found.first(), kind),
    }
    Ok(Given::Bytes)
}

/// int4range(lower, upper [, flags]) and its kin.
pub(super) fn construct(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kind = kind_of(call.ty)?;
    let (lower_in, upper_in) = match call.arguments.get(2) {
        None => (true, false),
        Some(Arg::Bytes(flags)) => match *flags {
            b"[]" => (true, true),
            b"[)" => (true, false),
            b"(]" => (false, true),
            b"()" => (false, false),
            _ => {
                let error = Error::new(SqlState::SYNTAX_ERROR, "invalid range bound flags");
                let hint = "Valid values are \"[]\", \"[)\", \"(]\", and \"()\".";
                return Err(error.with_hint(hint));
            }
        },
        Some(_) => {
            let message = "range constructor flags argument must not be null";
            return Err(Error::new(SqlState::DATA_EXCEPTION, message));
        }
    };
    let lower = Bound::of(&bound_value(call, 0, kind), lower_in, kind);
    let upper = Bound::of(&bound_value(call, 1, kind), upper_in, kind);
    push_range(out, range_of(lower, upper, kind)?.as_ref(), kind);
    Ok(Given::Bytes)
}

/// int4multirange(...) of any number of ranges, and multirange(range).
pub(super) fn multirange(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kind = kind_of(call.ty)?;
    let mut found = Vec::new();
    for argument in call.arguments {
        match argument {
            Arg::Bytes(bytes) => found.extend(spans(bytes, kind)),
            _ => {
                let message = "multirange values cannot contain null members";
                return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
            }
        }
    }
    push_multirange(out, &merged(found, kind), kind);
    Ok(Given::Bytes)
}

pub(super) fn lower(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kind = call.any_kind();
    let found = parts(call, 0);
    Ok(found.first().map_or(Given::Null, |span| give(span.lower.decoded(kind), out)))
}

pub(super) fn upper(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kind = call.any_kind();
    let found = parts(call, 0);
    Ok(found.last().map_or(Given::Null, |span| give(span.upper.decoded(kind), out)))
}

pub(super) fn is_empty(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(parts(call, 0).is_empty()))
}

pub(super) fn lower_inc(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(parts(call, 0).first().is_some_and(|span| span.lower.inclusive)))
}

pub(super) fn upper_inc(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(parts(call, 0).last().is_some_and(|span| span.upper.inclusive)))
}

pub(super) fn lower_inf(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(parts(call, 0).first().is_some_and(|span| span.lower.value.is_none())))
}

pub(super) fn upper_inf(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(parts(call, 0).last().is_some_and(|span| span.upper.value.is_none())))
}

/// The parts from the first lower end to the last upper one.
fn hull<'a>(found: &[Span<'a>], kind: RangeKind) -> Option<Span<'a>> {
    let mut rest = found.iter();
    let first = rest.next()?.clone();
    Some(rest.fold(first, |all, span| all.hull(span, kind.element())))
}

pub(super) fn merge(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kind = call.any_kind();
    let all: Vec<Span<'_>> = (0..call.arguments.len()).flat_map(|at| parts(call, at)).collect();
    push_range(out, hull(&all, kind).as_ref(), kind);
    Ok(Given::Bytes)
}

pub(super) fn contains(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call);
    Ok(Given::Bool(holds(&a, &b, call.any_kind())))
}

pub(super) fn contained(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call);
    Ok(Given::Bool(holds(&b, &a, call.any_kind())))
}

fn holds(outer: &[Span<'_>], inner: &[Span<'_>], kind: RangeKind) -> bool {
    let element = kind.element();
    inner.iter().all(|span| outer.iter().any(|outer| outer.contains(span, element)))
}

/// The value of argument `at` as a range of it alone.
fn point(call: &Call<'_>, at: usize, kind: RangeKind) -> Span<'static> {
    let bound = Bound::of(&bound_value(call, at, kind), true, kind);
    Span { lower: bound.clone(), upper: bound }
}

pub(super) fn contains_value(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let kind = call.any_kind();
    // Of discrete ranges, too: the point's upper value is compared as it is.
    let (outer, point) = (parts(call, 0), point(call, 1, kind));
    Ok(Given::Bool(outer.iter().any(|span| span.contains(&point, kind.element()))))
}

pub(super) fn value_contained(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let kind = call.any_kind();
    let (outer, point) = (parts(call, 1), point(call, 0, kind));
    Ok(Given::Bool(outer.iter().any(|span| span.contains(&point, kind.element()))))
}

pub(super) fn overlaps(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call);
    Ok(Given::Bool(!shared(&a, &b, call.any_kind()).is_empty()))
}

/// The parts that two lists in order have in common.
fn shared<'a>(a: &[Span<'a>], b: &[Span<'a>], kind: RangeKind) -> Vec<Span<'a>> {
    let element = kind.element();
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        found.extend(x.shared(y, element));
        if x.ends_by(y, element) {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

pub(super) fn before(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call);
    Ok(Given::Bool(is_before(&a, &b, call.any_kind())))
}

pub(super) fn after(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call);
    Ok(Given::Bool(is_before(&b, &a, call.any_kind())))
}

fn is_before(a: &[Span<'_>], b: &[Span<'_>], kind: RangeKind) -> bool {
    matches!((a.last(), b.first()), (Some(a), Some(b)) if a.is_before(b, kind.element()))
}

pub(super) fn ends_by(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call);
    let element = call.any_kind().element();
    let found = matches!((a.last(), b.last()), (Some(a), Some(b)) if a.ends_by(b, element));
    Ok(Given::Bool(found))
}

pub(super) fn begins_at(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call);
    let element = call.any_kind().element();
    let found = matches!((a.first(), b.first()), (Some(a), Some(b)) if a.begins_at(b, element));
    Ok(Given::Bool(found))
}

pub(super) fn adjacent(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call);
    let element = call.any_kind().element();
    let touches = |a: &[Span<'_>], b: &[Span<'_>]| {
        matches!((a.last(), b.first()), (Some(a), Some(b))
            if Span::touches(&a.upper, &b.lower, element))
    };
    Ok(Given::Bool(touches(&a, &b) || touches(&b, &a)))
}

/// 22000.
fn not_one(what: &str) -> Error {
    let message = format!("result of range {what} would not be contiguous");
    Error::new(SqlState::DATA_EXCEPTION, message)
}

pub(super) fn union(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let (mut a, b) = both(call);
    a.extend(b);
    let all = merged(a, call.any_kind());
    if all.len() > 1 && matches!(call.ty, DataType::Packed(PackedType::Range(_))) {
        return Err(not_one("union"));
    }
    give_parts(call, &all, out)
}

pub(super) fn intersection(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call);
    give_parts(call, &shared(&a, &b, call.any_kind()), out)
}

pub(super) fn difference(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let (mut left, b) = both(call);
    let element = call.any_kind().element();
    for other in &b {
        left = left.iter().flat_map(|span| span.without(other, element)).collect();
    }
    if left.len() > 1 && matches!(call.ty, DataType::Packed(PackedType::Range(_))) {
        return Err(not_one("difference"));
    }
    give_parts(call, &left, out)
}

/// range_agg: the union of an array's elements.
pub(super) fn union_of_all(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kind = call.any_kind();
    let elements = call.elements(0);
    if elements.is_empty() {
        return Ok(Given::Null);
    }
    let found = elements.iter().flat_map(|bytes| spans(bytes, kind)).collect();
    give_parts(call, &merged(found, kind), out)
}

/// range_intersect_agg: what an array's elements have in common.
pub(super) fn shared_by_all(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kind = call.any_kind();
    let elements = call.elements(0);
    let mut rest = elements.iter().map(|bytes| spans(bytes, kind));
    let Some(first) = rest.next() else { return Ok(Given::Null) };
    let all = rest.fold(first, |all, next| shared(&all, &next, kind));
    give_parts(call, &all, out)
}

/// The ranges of a multirange, as an array.
pub(super) fn ranges(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kind = call.any_kind();
    let mut builder = ArrayBuilder::new();
    for span in parts(call, 0) {
        let mut bytes = Vec::new();
        push_range(&mut bytes, Some(&span), kind);
        builder.push_text(&bytes);
    }
    out.extend_from_slice(&builder.finish()?);
    Ok(Given::Bytes)
}

/// A multirange of an array's ranges.
pub(super) fn multirange_of_array(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kind = kind_of(call.ty)?;
    let DataType::Array(element) = call.types.first().copied().unwrap_or(DataType::Unknown) else {
        return Err(Error::internal("an array expected"));
    };
    let mut values = Vec::new();
    for raw in crate::array::Elements::new(call.bytes(0), element) {
        match decode(raw, element) {
            Value::Str(bytes) => values.push(bytes),
            _ => {
                let message = "multirange values cannot contain null members";
                return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
            }
        }
    }
    let found = values.iter().flat_map(|bytes| spans(bytes, kind)).collect();
    push_multirange(out, &merged(found, kind), kind);
    Ok(Given::Bytes)
}
