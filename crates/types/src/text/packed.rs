//! Packed types from and to text.

use super::datetime::parse_zoned_time;
use super::number::parse_f64;
use super::print::{format_f32, format_f64, format_time, offset_text};
use super::range::{format_multirange, format_range, parse_multirange, parse_range};
use crate::PackedType as P;
use crate::calendar::TimeZone;
use crate::characters::Excess;
use crate::packed::{
    Bits, ZonedTime, fit_bits, fitted_vector, format_hstore, format_lsn, format_mac, format_money,
    format_network, format_number, format_query, format_shape, format_snapshot, format_vector,
    format_vector_of_floats, parse_cid, parse_hstore, parse_lsn, parse_mac, parse_mac8,
    parse_money, parse_network, parse_query, parse_shape, parse_snapshot, parse_vector,
    parse_vector_of_floats, parse_xid8,
};
use crate::{Result, Value};

/// The value that `text` denotes.
///
/// # Errors
/// 22P02 and others of the type.
pub(super) fn parse_packed(text: &str, ty: P, zone: &TimeZone) -> Result<Vec<u8>> {
    match ty {
        P::Inet => parse_network(text, false),
        P::Cidr => parse_network(text, true),
        P::MacAddr => parse_mac(text),
        P::MacAddr8 => parse_mac8(text),
        P::Bit(_) | P::VarBit(_) => fit_bits(&Bits::parse(text)?.value(), ty, Excess::Error),
        P::TimeTz(digits) => Ok(parse_zoned_time(text, zone)?.rounded(digits).value()),
        P::Money => parse_money(text),
        P::Range(kind) => parse_range(text, kind, zone),
        P::Multirange(kind) => parse_multirange(text, kind, zone),
        P::HStore => parse_hstore(text),
        P::TsVector => parse_vector(text),
        P::TsQuery => parse_query(text),
        P::CiText => Ok(text.as_bytes().to_vec()),
        P::Xid8 => Ok(parse_xid8(text)),
        P::Cid => Ok(parse_cid(text)),
        P::Snapshot | P::TxidSnapshot => parse_snapshot(text),
        P::PgLsn => parse_lsn(text),
        P::Point | P::Line | P::LSeg | P::Box | P::Path | P::Polygon | P::Circle => {
            parse_shape(text, ty, parse_f64)
        }
        P::Vector(declared) => fitted_vector(&parse_vector_of_floats(text)?, declared),
    }
}

/// Appends a value as PostgreSQL prints it.
pub(super) fn format_packed(out: &mut Vec<u8>, bytes: &[u8], ty: P, zone: &TimeZone) {
    match ty {
        P::Inet => format_network(out, bytes, false),
        P::Cidr => format_network(out, bytes, true),
        P::MacAddr | P::MacAddr8 => format_mac(out, bytes),
        P::Bit(_) | P::VarBit(_) => Bits::read(bytes).format(out),
        P::TimeTz(_) => {
            let time = ZonedTime::read(bytes);
            format_time(out, time.micros);
            out.extend_from_slice(offset_text(-i64::from(time.west)).as_str().as_bytes());
        }
        P::Money => format_money(out, bytes),
        P::Range(kind) => format_range(out, bytes, kind, zone),
        P::Multirange(kind) => format_multirange(out, bytes, kind, zone),
        P::HStore => format_hstore(out, bytes),
        P::TsVector => format_vector(out, bytes),
        P::TsQuery => format_query(out, bytes),
        P::CiText => out.extend_from_slice(bytes),
        P::Xid8 | P::Cid => format_number(out, bytes),
        P::Snapshot | P::TxidSnapshot => format_snapshot(out, bytes),
        P::Vector(_) => format_vector_of_floats(out, bytes, format_f32),
        P::PgLsn => format_lsn(out, bytes),
        P::Point | P::Line | P::LSeg | P::Box | P::Path | P::Polygon | P::Circle => {
            format_shape(out, bytes, ty, &format_f64);
        }
    }
}

/// A value of a bound, or of an element, as text.
pub(super) fn shown(value: &Value, ty: crate::DataType, zone: &TimeZone) -> Vec<u8> {
    let mut word = Vec::new();
    super::append_in(&mut word, value, ty, zone);
    word
}
