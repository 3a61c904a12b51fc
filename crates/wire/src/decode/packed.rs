//! Packed types from their binary form: see `encode::packed`.

use types::packed::{self, Bound, Span};
use types::{PackedType, RangeKind, Result};

use super::binary_value;
use crate::encode::packed::{EMPTY, LOWER_IN, NO_LOWER, NO_UPPER, UPPER_IN};

/// The bytes behind their length, and what follows.
fn split_length(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

/// The value of a binary form; None when it is none.
///
/// # Errors
/// Errors of the bounds and of vectors, 22000.
pub(crate) fn read(bytes: &[u8], ty: PackedType) -> Result<Option<Vec<u8>>> {
    match ty {
        PackedType::Range(kind) => {
            let Some(span) = read_span(bytes, kind)? else { return Ok(None) };
            Ok(Some(packed::range_value(span.as_ref(), kind)))
        }
        PackedType::Multirange(kind) => {
            let Some((count, mut rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
            let mut spans = Vec::new();
            for _ in 0..u32::from_be_bytes(*count) {
                let Some((range, after)) = split_length(rest) else { return Ok(None) };
                rest = after;
                let Some(span) = read_span(range, kind)? else { return Ok(None) };
                spans.extend(span);
            }
            Ok(rest.is_empty().then(|| packed::multirange_value(spans, kind)))
        }
        ty => packed::decode(bytes, ty),
    }
}

/// A range, empty or not; None when the bytes are none.
fn read_span(bytes: &[u8], kind: RangeKind) -> Result<Option<Option<Span<'static>>>> {
    let Some((&flags, mut rest)) = bytes.split_first() else { return Ok(None) };
    if flags & EMPTY != 0 {
        return Ok(rest.is_empty().then_some(None));
    }
    let mut bounds = [const { Bound { value: None, inclusive: false } }; 2];
    for (at, (missing, inside)) in
        [(NO_LOWER, LOWER_IN), (NO_UPPER, UPPER_IN)].into_iter().enumerate()
    {
        if flags & missing != 0 {
            continue;
        }
        let Some((value, after)) = split_length(rest) else { return Ok(None) };
        rest = after;
        bounds[at] = Bound::of(&binary_value(value, kind.bound())?, flags & inside != 0, kind);
    }
    if !rest.is_empty() {
        return Ok(None);
    }
    let [lower, upper] = bounds;
    packed::range_of(lower, upper, kind).map(Some)
}
