//! Values in binary whose texts go from one encoding to another.

use types::{DataType, PackedType, RangeKind, Result};

use super::{Part, Parts, Way};
use crate::encode::Format;
use crate::encode::packed::{EMPTY, NO_LOWER, NO_UPPER};

/// Appends `value` of type `ty` with its texts on their way.
///
/// # Errors
/// 22021 for bytes that are no text, 22P05 for characters that the other side lacks.
pub(crate) fn push(out: &mut Vec<u8>, value: &[u8], ty: DataType, way: Way) -> Result<()> {
    let mut parts = Parts { rest: value, out, way };
    _ = rewrite(&mut parts, ty)?;
    parts.end();
    Ok(())
}

/// Hands on a value up to its end, or to where it is malformed.
fn rewrite(parts: &mut Parts<'_>, ty: DataType) -> Part {
    match ty {
        DataType::InternalChar => Ok(None),
        DataType::Json | DataType::Jsonb | DataType::JsonPath | DataType::Enum(_) => whole(parts),
        DataType::Packed(PackedType::CiText) => whole(parts),
        ty if ty.is_its_text() => whole(parts),
        DataType::Array(element) => elements(parts, element.data_type()),
        DataType::Record(record) => {
            let Some(count) = number(parts) else { return Ok(None) };
            for field in record.fields().iter().take(count) {
                if parts.bytes(4).is_none()
                    || parts.value(Format::Binary, Some(field.ty))?.is_none()
                {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        }
        DataType::Packed(ty) => packed(parts, ty),
        _ => Ok(None),
    }
}

/// Hands on a value that is a text.
fn whole(parts: &mut Parts<'_>) -> Part {
    let text = std::mem::take(&mut parts.rest);
    // The version before a JSONB is a byte of ASCII.
    parts.way.push(text, parts.out).map(Some)
}

fn number(parts: &mut Parts<'_>) -> Option<usize> {
    let bytes = parts.bytes(4)?.first_chunk().copied()?;
    usize::try_from(i32::from_be_bytes(bytes)).ok()
}

/// Hands on an array: dimensions, flags, the elements' type, two numbers for each dimension.
fn elements(parts: &mut Parts<'_>, ty: DataType) -> Part {
    let Some(dimensions) = number(parts) else { return Ok(None) };
    if parts.bytes(8).is_none() || parts.bytes(dimensions.saturating_mul(8)).is_none() {
        return Ok(None);
    }
    while parts.value(Format::Binary, Some(ty))?.is_some() {}
    Ok(Some(()))
}

fn packed(parts: &mut Parts<'_>, ty: PackedType) -> Part {
    match ty {
        PackedType::HStore => {
            _ = parts.bytes(4);
            while parts.value(Format::Text, None)?.is_some() {}
            Ok(Some(()))
        }
        PackedType::TsVector => {
            let Some(count) = number(parts) else { return Ok(None) };
            for _ in 0..count {
                let word = parts.text()?;
                let Some(places) = word.and_then(|_| parts.u16()) else { return Ok(None) };
                if parts.bytes(usize::from(places) * 2).is_none() {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        }
        PackedType::TsQuery => query(parts),
        PackedType::Range(kind) => span(parts, kind),
        PackedType::Multirange(kind) => {
            _ = parts.bytes(4);
            let range = DataType::Packed(PackedType::Range(kind));
            while parts.value(Format::Binary, Some(range))?.is_some() {}
            Ok(Some(()))
        }
        _ => Ok(None),
    }
}

/// Hands on a range: flags, and the bounds that there are.
fn span(parts: &mut Parts<'_>, kind: RangeKind) -> Part {
    let Some(&[flags]) = parts.bytes(1) else { return Ok(None) };
    if flags & EMPTY != 0 {
        return Ok(Some(()));
    }
    for missing in [NO_LOWER, NO_UPPER] {
        if flags & missing == 0 && parts.value(Format::Binary, Some(kind.bound()))?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

/// Kinds of items of a query, and the operator that has a distance behind it.
const WORD: u8 = 1;
const PHRASE: u8 = 4;

/// Hands on a query: words with weights and a flag before them, operators.
fn query(parts: &mut Parts<'_>) -> Part {
    let Some(count) = number(parts) else { return Ok(None) };
    for _ in 0..count {
        let Some(&[kind]) = parts.bytes(1) else { return Ok(None) };
        if kind == WORD {
            if parts.bytes(2).is_none() || parts.text()?.is_none() {
                return Ok(None);
            }
            continue;
        }
        let Some(&[operator]) = parts.bytes(1) else { return Ok(None) };
        if operator == PHRASE && parts.bytes(2).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}
