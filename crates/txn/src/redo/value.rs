//! A value in a redo entry.

use storage::Datum;
use types::codec::{Input, Malformed, put_bytes, put_i64, put_i128, put_interval};

mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const I32: u8 = 3;
    pub(super) const I64: u8 = 4;
    pub(super) const I128: u8 = 5;
    pub(super) const F64: u8 = 6;
    pub(super) const STR: u8 = 7;
    pub(super) const INTERVAL: u8 = 8;
    /// A string of up to 63 bytes; the length is in the low bits.
    pub(super) const SHORT_STR: u8 = 0x40;
    /// An I32 of 0 to 63, in the low bits.
    pub(super) const SMALL_I32: u8 = 0x80;
    /// An I64 of 0 to 63, in the low bits.
    pub(super) const SMALL_I64: u8 = 0xc0;
}

/// Values below this fit into a tag.
const SMALL: usize = 64;

/// Appends a value to `out`.
#[inline]
pub(super) fn put_value(out: &mut Vec<u8>, value: Datum<'_>) {
    match value {
        Datum::Null => out.push(tag::NULL),
        Datum::Bool(false) => out.push(tag::FALSE),
        Datum::Bool(true) => out.push(tag::TRUE),
        Datum::I32(v) if (0..SMALL as i32).contains(&v) => out.push(tag::SMALL_I32 | v as u8),
        Datum::I32(v) => {
            out.push(tag::I32);
            put_i64(out, i64::from(v));
        }
        Datum::I64(v) if (0..SMALL as i64).contains(&v) => out.push(tag::SMALL_I64 | v as u8),
        Datum::I64(v) => {
            out.push(tag::I64);
            put_i64(out, v);
        }
        Datum::I128(v) => {
            out.push(tag::I128);
            put_i128(out, v);
        }
        Datum::F64(v) => {
            out.push(tag::F64);
            out.extend_from_slice(&v.to_bits().to_le_bytes());
        }
        Datum::Str(v) if v.len() < SMALL => {
            out.push(tag::SHORT_STR | v.len() as u8);
            out.extend_from_slice(v);
        }
        Datum::Str(v) => {
            out.push(tag::STR);
            put_bytes(out, v);
        }
        Datum::Interval(v) => {
            out.push(tag::INTERVAL);
            put_interval(out, v);
        }
    }
}

/// Reads a value.
#[inline(always)]
pub(super) fn take_value<'a>(input: &mut Input<'a>) -> Result<Datum<'a>, Malformed> {
    let tag = input.u8()?;
    let low = tag & (SMALL as u8 - 1);
    Ok(match tag & !(SMALL as u8 - 1) {
        tag::SHORT_STR => Datum::Str(input.take(usize::from(low))?),
        tag::SMALL_I32 => Datum::I32(i32::from(low)),
        tag::SMALL_I64 => Datum::I64(i64::from(low)),
        _ => match tag {
            tag::NULL => Datum::Null,
            tag::FALSE => Datum::Bool(false),
            tag::TRUE => Datum::Bool(true),
            tag::I32 => Datum::I32(input.i32()?),
            tag::I64 => Datum::I64(input.i64()?),
            tag::I128 => Datum::I128(input.i128()?),
            tag::F64 => Datum::F64(f64::from_bits(types::codec::read_u64(input.take(8)?, 0))),
            tag::STR => Datum::Str(input.bytes()?),
            tag::INTERVAL => Datum::Interval(input.interval()?),
            _ => return Err(no_value(input, tag)),
        },
    })
}

/// Passes over a value that somebody else reads, and finds what may be wrong in it.
#[inline(always)]
pub(super) fn pass_value(input: &mut Input<'_>) -> Result<(), Malformed> {
    let tag = input.u8()?;
    let low = tag & (SMALL as u8 - 1);
    match tag & !(SMALL as u8 - 1) {
        tag::SHORT_STR => input.take(usize::from(low)).map(drop),
        tag::SMALL_I32 | tag::SMALL_I64 => Ok(()),
        _ => match tag {
            tag::NULL | tag::FALSE | tag::TRUE => Ok(()),
            tag::I32 | tag::I64 | tag::I128 => input.pass_integer(),
            tag::F64 => input.take(8).map(drop),
            tag::STR => input.bytes().map(drop),
            tag::INTERVAL => (0..3).try_for_each(|_| input.pass_integer()),
            _ => Err(no_value(input, tag)),
        },
    }
}

#[cold]
#[inline(never)]
fn no_value(input: &Input<'_>, tag: u8) -> Malformed {
    input.malformed(format!("a value, found tag {tag} before"))
}
