//! uuid-ossp: UUIDs of times, names and chance.

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use types::Result;

use super::crypto::Hash;
use super::secret;
use crate::rows::{Texts, Values, try_build};
use crate::{Vector, VectorData};

/// Hundreds of nanoseconds from the start of the Gregorian calendar to 1970.
const GREGORIAN: u64 = 0x01b2_1dd2_1381_4000;

/// The bits of a UUID with its version and variant, as columns hold them.
fn finished(bits: u128, version: u128) -> i128 {
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | version << 76 | 0x2 << 62;
    (bits ^ 1 << 127) as i128
}

/// uuid_generate_v4(): `rows` of them.
///
/// # Errors
/// 58000 without a generator.
pub fn uuid_random(rows: usize) -> Result<Vector> {
    let mut bytes = vec![[0; 16]; rows];
    secret::fill(bytes.as_flattened_mut())?;
    let values = bytes.into_iter().map(|bytes| finished(u128::from_be_bytes(bytes), 4));
    Ok(Vector::new(VectorData::I128(values.collect())))
}

/// Content of a UUID of a time in the place of the machine's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAddress {
    /// One number for the life of the process. Departure: never that of a network card, so that
    /// identifiers do not tell where they were made.
    Process,
    /// Another one for each.
    Random,
}

/// State of the UUIDs that the process gives out next.
struct Clock {
    last: u64,
    node: u64,
    sequence: u64,
}

static CLOCK: Mutex<Option<Clock>> = Mutex::new(None);

/// A random number with the bit of a group address, which no machine has.
fn node() -> Result<u64> {
    let mut bytes = [0; 8];
    secret::fill(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes) >> 16 | 1 << 40)
}

/// uuid_generate_v1(), uuid_generate_v1mc(): `rows` of them, ascending in time.
///
/// # Errors
/// 58000 without a generator.
pub fn uuid_of_time(address: NodeAddress, rows: usize) -> Result<Vector> {
    let mut clock = CLOCK.lock();
    let clock = match &mut *clock {
        Some(clock) => clock,
        none => {
            let first = Clock { last: 0, node: node()?, sequence: node()? & 0x3fff };
            none.insert(first)
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_nanos() / 100).unwrap_or(u64::MAX).wrapping_add(GREGORIAN);
    let mut values = Vec::with_capacity(rows);
    for _ in 0..rows {
        clock.last = now.max(clock.last.wrapping_add(1));
        let node = if address == NodeAddress::Process { clock.node } else { node()? };
        let time = u128::from(clock.last);
        let bits = time << 96 | (time >> 32 & 0xffff) << 80 | (time >> 48 & 0xfff) << 64;
        values.push(finished(bits | u128::from(clock.sequence << 48 | node), 1));
    }
    Ok(Vector::new(VectorData::I128(values)))
}

fn of_name(hash: Hash, version: u128, arguments: [&Vector; 2]) -> Result<Vector> {
    let [space, name] = arguments;
    let (spaces, names) = (Values::<i128>::new(space), Texts::new(name));
    try_build(&arguments, |i| {
        let space = (spaces.get(i) as u128 ^ 1 << 127).to_be_bytes();
        let digest = hash.of(&[&space, names.bytes(i)]);
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(digest).for_each(|(slot, byte)| *slot = byte);
        Ok(finished(u128::from_be_bytes(bytes), version))
    })
}

/// uuid_generate_v3(UUID namespace, TEXT name).
///
/// # Errors
/// None.
pub fn uuid_of_name_md5(space: &Vector, name: &Vector) -> Result<Vector> {
    of_name(Hash::Md5, 3, [space, name])
}

/// uuid_generate_v5(UUID namespace, TEXT name).
///
/// # Errors
/// None.
pub fn uuid_of_name_sha1(space: &Vector, name: &Vector) -> Result<Vector> {
    of_name(Hash::Sha1, 5, [space, name])
}
