//! Packed types in binary: ranges are made of the binary forms of their bounds.
//!
//! ```text
//! range        flags 1, { bytes 4, bound } for each end that there is
//! multirange   ranges 4, { bytes 4, range }
//! ```

use types::packed::{self, Span};
use types::{PackedType, RangeKind};

use super::push_binary;

/// Flag of an empty range.
pub(crate) const EMPTY: u8 = 1;
/// Flags of ends that are in the range.
pub(crate) const LOWER_IN: u8 = 2;
pub(crate) const UPPER_IN: u8 = 4;
/// Flags of ends that are not there.
pub(crate) const NO_LOWER: u8 = 8;
pub(crate) const NO_UPPER: u8 = 16;

/// Appends what `write` appends, behind its length.
fn with_length(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a value.
pub(crate) fn push(out: &mut Vec<u8>, bytes: &[u8], ty: PackedType) {
    match ty {
        PackedType::Range(kind) => match packed::spans(bytes, kind).first() {
            Some(span) => push_span(out, span, kind),
            None => out.push(EMPTY),
        },
        PackedType::Multirange(kind) => {
            let spans = packed::spans(bytes, kind);
            out.extend_from_slice(&(spans.len() as u32).to_be_bytes());
            for span in &spans {
                with_length(out, |out| push_span(out, span, kind));
            }
        }
        ty => packed::encode(out, bytes, ty),
    }
}

fn push_span(out: &mut Vec<u8>, span: &Span<'_>, kind: RangeKind) {
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    out.push(
        flag(span.lower.inclusive, LOWER_IN)
            | flag(span.upper.inclusive, UPPER_IN)
            | flag(span.lower.value.is_none(), NO_LOWER)
            | flag(span.upper.value.is_none(), NO_UPPER),
    );
    for bound in [&span.lower, &span.upper] {
        if bound.value.is_some() {
            with_length(out, |out| push_binary(out, bound.decoded(kind), kind.bound()));
        }
    }
}
