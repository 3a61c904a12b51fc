//! The binary form of packed types that clients read; that of ranges is made of their bounds'.

use super::network::Network;
use super::{Bits, ZonedTime, push_i64, read_i64};
use crate::{PackedType, Result};

/// Numbers of the versions of addresses.
const FAMILIES: [u8; 2] = [2, 3];

/// Appends a value of a type that is no range.
pub fn encode(out: &mut Vec<u8>, bytes: &[u8], ty: PackedType) {
    match ty {
        PackedType::Inet | PackedType::Cidr => {
            let network = Network::read(bytes);
            let length = network.bytes();
            // At most 16.
            let header = [
                FAMILIES[usize::from(network.is_v6)],
                network.bits,
                u8::from(ty == PackedType::Cidr),
                length as u8,
            ];
            out.extend_from_slice(&header);
            out.extend_from_slice(&network.address[..length]);
        }
        PackedType::Bit(_) | PackedType::VarBit(_) => {
            let bits = Bits::read(bytes);
            out.extend_from_slice(&(bits.count as i32).to_be_bytes());
            out.extend_from_slice(&bits.bytes);
        }
        PackedType::TimeTz(_) => {
            let time = ZonedTime::read(bytes);
            out.extend_from_slice(&time.micros.to_be_bytes());
            out.extend_from_slice(&time.west.to_be_bytes());
        }
        PackedType::Money => out.extend_from_slice(&read_i64(bytes).to_be_bytes()),
        PackedType::HStore => super::hstore::encode(out, bytes),
        PackedType::TsVector | PackedType::TsQuery => super::search::encode(out, bytes, ty),
        PackedType::Vector(_) => super::vector::encode(out, bytes),
        PackedType::Snapshot | PackedType::TxidSnapshot => {
            super::identity::encode_snapshot(out, bytes);
        }
        PackedType::Path => {
            let (closed, points) = bytes.split_at_checked(1).unwrap_or((&[1], &[]));
            out.extend_from_slice(closed);
            out.extend_from_slice(&point_count(points));
            out.extend_from_slice(points);
        }
        PackedType::Polygon => {
            out.extend_from_slice(&point_count(bytes));
            out.extend_from_slice(bytes);
        }
        _ => out.extend_from_slice(bytes),
    }
}

/// How many points there are, in the form that clients read.
fn point_count(points: &[u8]) -> [u8; 4] {
    // No value has so many.
    ((points.len() / 16) as u32).to_be_bytes()
}

/// The value that binary data hold, of a type that is no range; None when they hold none.
///
/// # Errors
/// 22000 and 54000 of a vector.
pub fn decode(bytes: &[u8], ty: PackedType) -> Result<Option<Vec<u8>>> {
    match ty {
        PackedType::Vector(declared) => super::vector::decode(bytes, declared),
        ty => Ok(decoded(bytes, ty)),
    }
}

/// As [`decode`], of types whose binary forms are values or are not.
fn decoded(bytes: &[u8], ty: PackedType) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match ty {
        PackedType::Inet | PackedType::Cidr => {
            let [family, bits, _, length, rest @ ..] = bytes else { return None };
            let is_v6 = FAMILIES.iter().position(|known| known == family)? == 1;
            let mut network = Network { is_v6, bits: *bits, address: [0; 16] };
            if usize::from(*length) != network.bytes() || rest.len() != network.bytes() {
                return None;
            }
            network.address[..rest.len()].copy_from_slice(rest);
            let fits = usize::from(*bits) <= rest.len() * 8;
            let is_whole = ty == PackedType::Inet || network.network() == network;
            if !fits || !is_whole {
                return None;
            }
            network.write(&mut out);
        }
        PackedType::Bit(_) | PackedType::VarBit(_) => {
            let (count, rest) = bytes.split_at_checked(4)?;
            let count = usize::try_from(i32::from_be_bytes(count.try_into().ok()?)).ok()?;
            if rest.len() != count.div_ceil(8) {
                return None;
            }
            let unused = rest.len() * 8 - count;
            let mut bits = Bits { count, bytes: rest.to_vec() };
            if let Some(last) = bits.bytes.last_mut() {
                *last = *last >> unused << unused;
            }
            bits.write(&mut out);
        }
        PackedType::TimeTz(digits) => {
            let (micros, west) = bytes.split_at_checked(8)?;
            let micros = i64::from_be_bytes(micros.try_into().ok()?);
            let west = i32::from_be_bytes(west.try_into().ok()?);
            let fits = (0..=86_400_000_000).contains(&micros) && west.abs() < 16 * 3600;
            fits.then(|| ZonedTime { micros, west }.rounded(digits).write(&mut out))?;
        }
        PackedType::Money => push_i64(&mut out, i64::from_be_bytes(bytes.try_into().ok()?)),
        PackedType::Snapshot | PackedType::TxidSnapshot => {
            return super::identity::decode_snapshot(bytes);
        }
        PackedType::MacAddr | PackedType::MacAddr8 | PackedType::Xid8 | PackedType::Cid => {
            let expected = ty.postgres_bytes() as usize;
            (bytes.len() == expected).then(|| out.extend_from_slice(bytes))?;
        }
        PackedType::HStore => return super::hstore::decode(bytes),
        PackedType::TsVector | PackedType::TsQuery => return super::search::decode(bytes, ty),
        PackedType::CiText => out.extend_from_slice(std::str::from_utf8(bytes).ok()?.as_bytes()),
        PackedType::PgLsn => (bytes.len() == 8).then(|| out.extend_from_slice(bytes))?,
        PackedType::Path => {
            let (closed, rest) = bytes.split_first()?;
            out.push(u8::from(*closed != 0));
            out.extend_from_slice(counted_points(rest)?);
        }
        PackedType::Polygon => out.extend_from_slice(counted_points(bytes)?),
        ty if ty.is_shape() => return super::geometry::checked(bytes, ty),
        _ => return None,
    }
    Some(out)
}

/// The points behind their count; None when there are none, or not as many.
fn counted_points(bytes: &[u8]) -> Option<&[u8]> {
    let (count, points) = bytes.split_at_checked(4)?;
    let count = u32::from_be_bytes(count.try_into().ok()?) as usize;
    (count > 0 && count.checked_mul(16) == Some(points.len())).then_some(points)
}
