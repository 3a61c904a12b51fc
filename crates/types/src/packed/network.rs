//! INET and CIDR.

use std::io::Write;
use std::net::Ipv6Addr;

use super::{Call, Given};
use crate::characters::syntax_error;
use crate::{Error, Result, SqlState};

/// An address and the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    pub(super) is_v6: bool,
    pub(super) bits: u8,
    /// The first 4 bytes, or all.
    pub(super) address: [u8; 16],
}

impl Network {
    /// Bytes of an address.
    pub(super) fn bytes(self) -> usize {
        if self.is_v6 { 16 } else { 4 }
    }

    /// Bits of an address.
    fn bits_max(self) -> u8 {
        if self.is_v6 { 128 } else { 32 }
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        let is_v6 = bytes[0] != 0;
        let mut found = Self { is_v6, bits: 0, address: [0; 16] };
        let length = found.bytes();
        found.bits = bytes[1 + length];
        let host = &bytes[2 + length..];
        let address = if host.is_empty() { &bytes[1..=length] } else { host };
        found.address[..length].copy_from_slice(address);
        found
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        let length = self.bytes();
        let network = self.network();
        out.push(u8::from(self.is_v6));
        out.extend_from_slice(&network.address[..length]);
        out.push(self.bits);
        if network.address != self.address {
            out.extend_from_slice(&self.address[..length]);
        }
    }

    /// The mask of byte `at`.
    fn mask(self, at: usize) -> u8 {
        match usize::from(self.bits).saturating_sub(at * 8) {
            0 => 0,
            bits @ 1..8 => !(0xff >> bits),
            _ => 0xff,
        }
    }

    /// The address with its bits outside of the network 0.
    pub(super) fn network(mut self) -> Self {
        for at in 0..16 {
            self.address[at] &= self.mask(at);
        }
        self
    }

    fn with_bits(mut self, bits: u8) -> Self {
        self.bits = bits;
        self
    }

    /// Each byte of the address changed; bytes past the end stay 0.
    fn map(mut self, f: impl Fn(usize, u8) -> u8) -> Self {
        for at in 0..self.bytes() {
            self.address[at] = f(at, self.address[at]);
        }
        self
    }

    /// How many of the first `most` bits both addresses have in common.
    fn common(self, other: Self, most: u8) -> u8 {
        let pairs = self.address.iter().zip(&other.address);
        let mut common = 0;
        for (a, b) in pairs {
            let same = (a ^ b).leading_zeros() as u8;
            common += same;
            if same < 8 || common >= most {
                break;
            }
        }
        common.min(most)
    }

    /// True when the first `bits` bits of both are the same, and both are of one version.
    fn agrees(self, other: Self, bits: u8) -> bool {
        self.is_v6 == other.is_v6 && self.common(other, bits) == bits
    }

    fn number(self) -> i128 {
        let mut value = [0; 16];
        value[16 - self.bytes()..].copy_from_slice(&self.address[..self.bytes()]);
        i128::from_be_bytes(value)
    }

    /// The address alone.
    fn push_address(self, out: &mut Vec<u8>) {
        let four = |out: &mut Vec<u8>, bytes: &[u8]| {
            // A Vec takes whatever is written.
            let _ = write!(out, "{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
        };
        if !self.is_v6 {
            return four(out, &self.address);
        }
        let words: Vec<u16> =
            self.address.chunks(2).map(|two| u16::from_be_bytes([two[0], two[1]])).collect();
        let (first, length) = longest_zeros(&words);
        let (start, end) = if length < 2 { (8, 8) } else { (first, first + length) };
        let length = end - start;
        let is_v4 = start == 0
            && (length == 6 || length == 7 && words[7] != 1 || length == 5 && words[5] == 0xffff);
        for at in 0..8 {
            if (start..end).contains(&at) {
                if at == start {
                    out.push(b':');
                }
                continue;
            }
            if at > 0 {
                out.push(b':');
            }
            if is_v4 && at == 6 {
                return four(out, &self.address[12..]);
            }
            let _ = write!(out, "{:x}", words[at]);
        }
        if end == 8 && start < 8 {
            out.push(b':');
        }
    }
}

/// The first longest run of zeros, and how long it is.
fn longest_zeros(words: &[u16]) -> (usize, usize) {
    let (mut best, mut run) = ((0, 0), 0);
    for (at, word) in words.iter().enumerate() {
        run = if *word == 0 { run + 1 } else { 0 };
        if run > best.1 {
            best = (at + 1 - run, run);
        }
    }
    best
}

/// Reads an INET, or a CIDR.
///
/// # Errors
/// 22P02.
pub(crate) fn parse_network(text: &str, is_cidr: bool) -> Result<Vec<u8>> {
    let name = if is_cidr { "cidr" } else { "inet" };
    let parsed = if text.contains(':') { version6(text) } else { version4(text, is_cidr) };
    let network = parsed.ok_or_else(|| syntax_error(name, text))?;
    if is_cidr && network.network() != network {
        let message = format!("invalid cidr value: \"{text}\"");
        let error = Error::new(SqlState::INVALID_TEXT, message);
        return Err(error.with_detail("Value has bits set to right of mask."));
    }
    let mut out = Vec::with_capacity(10);
    network.write(&mut out);
    Ok(out)
}

/// `digits` as the length of a prefix of at most `most` bits.
fn prefix(digits: &str, most: u8) -> Option<u8> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|bits| *bits <= most)
}

fn version6(text: &str) -> Option<Network> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, prefix(bits, 128)?),
        None => (text, 128),
    };
    let address: Ipv6Addr = address.parse().ok()?;
    Some(Network { is_v6: true, bits, address: address.octets() })
}

fn version4(text: &str, is_cidr: bool) -> Option<Network> {
    let (numbers, bits) = match text.split_once('/') {
        Some((numbers, bits)) => (numbers, Some(prefix(bits, 32)?)),
        None => (text, None),
    };
    let mut address = [0; 16];
    let mut count = 0;
    for number in numbers.split('.') {
        if number.is_empty() || count == 4 || !number.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        address[count] = number.parse::<u32>().ok().and_then(|byte| u8::try_from(byte).ok())?;
        count += 1;
    }
    let given = count as u8 * 8;
    let bits = match bits {
        Some(bits) => bits,
        None if count == 4 => 32,
        None if is_cidr => match class_bits(address[0]).max(given) {
            8 if address[0] == 224 => 4,
            bits => bits,
        },
        None => return None,
    };
    if !is_cidr && bits / 8 > count as u8 {
        return None;
    }
    Some(Network { is_v6: false, bits, address })
}

/// The bits of a network by its first byte, as before networks had masks.
fn class_bits(first: u8) -> u8 {
    match first {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    }
}

/// Appends an INET or CIDR as PostgreSQL prints it.
pub(crate) fn format_network(out: &mut Vec<u8>, bytes: &[u8], is_cidr: bool) {
    let network = Network::read(bytes);
    network.push_address(out);
    if is_cidr || network.bits != network.bits_max() {
        let _ = write!(out, "/{}", network.bits);
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

fn out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "result is out of range")
}

type Computed = Result<Given>;

fn given(network: Network, out: &mut Vec<u8>) -> Computed {
    network.write(out);
    Ok(Given::Bytes)
}

fn at(call: &Call<'_>, argument: usize) -> Network {
    Network::read(call.bytes(argument))
}

pub(super) fn host(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    at(call, 0).push_address(out);
    Ok(Given::Bytes)
}

pub(super) fn text(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    format_network(out, call.bytes(0), true);
    Ok(Given::Bytes)
}

pub(super) fn abbrev_inet(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    format_network(out, call.bytes(0), false);
    Ok(Given::Bytes)
}

pub(super) fn abbrev_cidr(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let network = at(call, 0);
    if network.is_v6 {
        push_short_v6(network, out);
    } else {
        let shown = usize::from(network.bits).div_ceil(8).max(1);
        for (at, byte) in network.address[..shown].iter().enumerate() {
            if at > 0 {
                out.push(b'.');
            }
            let _ = write!(out, "{byte}");
        }
    }
    let _ = write!(out, "/{}", network.bits);
    Ok(Given::Bytes)
}

/// The words of a network of version 6 that its bits reach.
///
/// Source: PostgreSQL 15, inet_cidr_ntop.c.
fn push_short_v6(network: Network, out: &mut Vec<u8>) {
    if network.bits == 0 {
        return out.extend_from_slice(b"::");
    }
    let words: Vec<u16> =
        network.address.chunks(2).map(|two| u16::from_be_bytes([two[0], two[1]])).collect();
    let count = usize::from(network.bits).div_ceil(16).max(2);
    let (start, length) = longest_zeros(&words[..count]);
    let is_v4 = length != count
        && start == 0
        && (length == 6 || length == 5 && words[5] == 0xffff || length == 7 && words[7] > 1);
    let begin = out.len();
    for at in 0..count {
        if length > 0 && (start..start + length).contains(&at) {
            if at == start {
                out.push(b':');
            }
            if at == count - 1 {
                out.push(b':');
            }
            continue;
        }
        if is_v4 && at > 5 {
            out.push(if at == 6 { b':' } else { b'.' });
            let [high, low] = words[at].to_be_bytes();
            let _ = write!(out, "{high}");
            if at != 7 || network.bits > 120 {
                let _ = write!(out, ".{low}");
            }
            continue;
        }
        if out.len() > begin {
            out.push(b':');
        }
        let _ = write!(out, "{:x}", words[at]);
    }
}

pub(super) fn masklen(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(i64::from(at(call, 0).bits)))
}

pub(super) fn family(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(if at(call, 0).is_v6 { 6 } else { 4 }))
}

pub(super) fn network(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(at(call, 0).network(), out)
}

pub(super) fn broadcast(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let network = at(call, 0);
    given(network.map(|at, byte| byte | !network.mask(at)), out)
}

pub(super) fn netmask(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let network = at(call, 0);
    given(network.map(|at, _| network.mask(at)).with_bits(network.bits_max()), out)
}

pub(super) fn hostmask(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let network = at(call, 0);
    given(network.map(|at, _| !network.mask(at)).with_bits(network.bits_max()), out)
}

fn masked(call: &Call<'_>) -> Result<Network> {
    let network = at(call, 0);
    let bits = call.int(1);
    if bits == -1 {
        return Ok(network.with_bits(network.bits_max()));
    }
    match u8::try_from(bits) {
        Ok(bits) if bits <= network.bits_max() => Ok(network.with_bits(bits)),
        _ => Err(invalid(format!("invalid mask length: {bits}"))),
    }
}

pub(super) fn set_masklen(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(masked(call)?, out)
}

pub(super) fn set_masklen_cidr(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(masked(call)?.network(), out)
}

pub(super) fn same_family(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Bool(at(call, 0).is_v6 == at(call, 1).is_v6))
}

pub(super) fn merge(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let (a, b) = (at(call, 0), at(call, 1));
    if a.is_v6 != b.is_v6 {
        return Err(invalid("cannot merge addresses from different families"));
    }
    given(a.with_bits(a.common(b, a.bits.min(b.bits))).network(), out)
}

pub(super) fn within(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = (at(call, 0), at(call, 1));
    Ok(Given::Bool(a.bits > b.bits && a.agrees(b, b.bits)))
}

pub(super) fn within_or_same(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = (at(call, 0), at(call, 1));
    Ok(Given::Bool(a.bits >= b.bits && a.agrees(b, b.bits)))
}

pub(super) fn contains(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = (at(call, 0), at(call, 1));
    Ok(Given::Bool(a.bits < b.bits && a.agrees(b, a.bits)))
}

pub(super) fn contains_or_same(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = (at(call, 0), at(call, 1));
    Ok(Given::Bool(a.bits <= b.bits && a.agrees(b, a.bits)))
}

pub(super) fn overlaps(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = (at(call, 0), at(call, 1));
    Ok(Given::Bool(a.agrees(b, a.bits.min(b.bits))))
}

pub(super) fn not(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(at(call, 0).map(|_, byte| !byte), out)
}

fn both(call: &Call<'_>, word: &str) -> Result<(Network, Network)> {
    let (a, b) = (at(call, 0), at(call, 1));
    if a.is_v6 != b.is_v6 {
        return Err(invalid(format!("cannot {word} inet values of different sizes")));
    }
    Ok((a.with_bits(a.bits.max(b.bits)), b))
}

pub(super) fn and(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call, "AND")?;
    given(a.map(|at, byte| byte & b.address[at]), out)
}

pub(super) fn or(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let (a, b) = both(call, "OR")?;
    given(a.map(|at, byte| byte | b.address[at]), out)
}

/// The address so many further.
fn moved(network: Network, by: i128, out: &mut Vec<u8>) -> Computed {
    let number = network.number();
    let to = if network.is_v6 {
        // Unsigned, of 128 bits.
        let sum = (number as u128).checked_add_signed(by).ok_or_else(out_of_range)?;
        sum.to_be_bytes()
    } else {
        let sum = u32::try_from(number + by).map_err(|_| out_of_range())?;
        u128::from(sum).to_be_bytes()
    };
    let length = network.bytes();
    given(network.map(|at, _| to[16 - length + at]), out)
}

pub(super) fn add(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    moved(at(call, 0), i128::from(call.int(1)), out)
}

pub(super) fn add_to(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    moved(at(call, 1), i128::from(call.int(0)), out)
}

pub(super) fn subtract(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    moved(at(call, 0), -i128::from(call.int(1)), out)
}

pub(super) fn difference(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (a, b) = (at(call, 0), at(call, 1));
    if a.is_v6 != b.is_v6 {
        return Err(invalid("cannot subtract inet values of different sizes"));
    }
    let (x, y) = (a.number() as u128, b.number() as u128);
    // Of 128 bits without a sign: the difference has the sign that the comparison says.
    let distance = i128::try_from(x.abs_diff(y)).map_err(|_| out_of_range())?;
    let difference = if x < y { -distance } else { distance };
    i64::try_from(difference).map(Given::Int).map_err(|_| out_of_range())
}
