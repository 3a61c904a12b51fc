//! A value in a redo entry.

use types::{Interval, Value};

use crate::codec::{Input, Malformed, put_bytes, put_i64, put_i128, put_interval};

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

/// A value of a row; strings stay where they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RedoValue<'a> {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// See [`types::PhysicalType::I32`].
    I32(i32),
    /// See [`types::PhysicalType::I64`].
    I64(i64),
    /// See [`types::PhysicalType::I128`].
    I128(i128),
    /// See [`types::PhysicalType::F64`]. Its bits come back, NaNs included.
    F64(f64),
    /// Text or BYTEA.
    Str(&'a [u8]),
    /// INTERVAL.
    Interval(Interval),
}

impl<'a> From<&'a Value> for RedoValue<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(v) => Self::Bool(*v),
            Value::I32(v) => Self::I32(*v),
            Value::I64(v) => Self::I64(*v),
            Value::I128(v) => Self::I128(*v),
            Value::F64(v) => Self::F64(*v),
            Value::Str(v) => Self::Str(v),
            Value::Interval(v) => Self::Interval(*v),
        }
    }
}

impl<'a> RedoValue<'a> {
    /// Appends the value to `out`.
    #[inline]
    pub(super) fn put(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(tag::NULL),
            Self::Bool(false) => out.push(tag::FALSE),
            Self::Bool(true) => out.push(tag::TRUE),
            Self::I32(v) if (0..SMALL as i32).contains(&v) => out.push(tag::SMALL_I32 | v as u8),
            Self::I32(v) => {
                out.push(tag::I32);
                put_i64(out, i64::from(v));
            }
            Self::I64(v) if (0..SMALL as i64).contains(&v) => out.push(tag::SMALL_I64 | v as u8),
            Self::I64(v) => {
                out.push(tag::I64);
                put_i64(out, v);
            }
            Self::I128(v) => {
                out.push(tag::I128);
                put_i128(out, v);
            }
            Self::F64(v) => {
                out.push(tag::F64);
                out.extend_from_slice(&v.to_bits().to_le_bytes());
            }
            Self::Str(v) if v.len() < SMALL => {
                out.push(tag::SHORT_STR | v.len() as u8);
                out.extend_from_slice(v);
            }
            Self::Str(v) => {
                out.push(tag::STR);
                put_bytes(out, v);
            }
            Self::Interval(v) => {
                out.push(tag::INTERVAL);
                put_interval(out, v);
            }
        }
    }

    /// Reads a value.
    #[inline]
    pub(super) fn take(input: &mut Input<'a>) -> Result<Self, Malformed> {
        let tag = input.u8()?;
        let low = tag & (SMALL as u8 - 1);
        Ok(match tag & !(SMALL as u8 - 1) {
            tag::SHORT_STR => Self::Str(input.take(usize::from(low))?),
            tag::SMALL_I32 => Self::I32(i32::from(low)),
            tag::SMALL_I64 => Self::I64(i64::from(low)),
            _ => match tag {
                tag::NULL => Self::Null,
                tag::FALSE => Self::Bool(false),
                tag::TRUE => Self::Bool(true),
                tag::I32 => Self::I32(input.i32()?),
                tag::I64 => Self::I64(input.i64()?),
                tag::I128 => Self::I128(input.i128()?),
                tag::F64 => Self::F64(f64::from_bits(crate::codec::read_u64(input.take(8)?, 0))),
                tag::STR => Self::Str(input.bytes()?),
                tag::INTERVAL => Self::Interval(input.interval()?),
                _ => return Err(input.malformed(format!("a value, found tag {tag} before"))),
            },
        })
    }
}
