//! BIT and BIT VARYING.

use super::{Call, Given};
use crate::characters::Excess;
use crate::{Error, PackedType, Result, SqlState};

/// Bytes between which markers stand.
const GROUP: usize = 8;
/// The marker behind a group that another one follows.
const MORE: u8 = 0xff;

/// The most bits, as in PostgreSQL.
const BITS_MAX: usize = i32::MAX as usize - 16;

/// Bits, the first one the highest of the first byte; those past the last one are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    /// How many there are.
    pub count: usize,
    /// The bits.
    pub bytes: Vec<u8>,
}

impl Bits {
    /// The bits that a value holds.
    pub fn read(value: &[u8]) -> Self {
        let mut found = Self::default();
        for group in value.chunks(GROUP + 1) {
            let [data @ .., marker] = group else { break };
            let used = if *marker == MORE { GROUP * 8 } else { usize::from(*marker) };
            found.count += used;
            found.bytes.extend_from_slice(&data[..used.div_ceil(8).min(data.len())]);
        }
        found
    }

    /// Appends the bits as a value.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut left = self.count;
        let mut groups = self.bytes.chunks(GROUP);
        loop {
            let group = groups.next().unwrap_or_default();
            out.extend_from_slice(group);
            out.resize(out.len() + GROUP - group.len(), 0);
            // The last group holds at most 64 bits.
            if left <= GROUP * 8 {
                return out.push(left as u8);
            }
            out.push(MORE);
            left -= GROUP * 8;
        }
    }

    /// The bits as a value.
    pub fn value(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() * 9 / 8 + GROUP + 1);
        self.write(&mut out);
        out
    }

    /// `count` bits 0.
    fn zeros(count: usize) -> Self {
        Self { count, bytes: vec![0; count.div_ceil(8)] }
    }

    /// Bits of `bytes`, those past the last one made 0.
    fn of(mut bytes: Vec<u8>, count: usize) -> Self {
        bytes.resize(count.div_ceil(8), 0);
        if !count.is_multiple_of(8)
            && let Some(last) = bytes.last_mut()
        {
            *last &= !(0xff >> (count % 8));
        }
        Self { count, bytes }
    }

    /// Bit `at`.
    pub fn get(&self, at: usize) -> bool {
        self.bytes[at / 8] >> (7 - at % 8) & 1 == 1
    }

    fn set(&mut self, at: usize) {
        self.bytes[at / 8] |= 0x80 >> (at % 8);
    }

    /// `count` bits from `start` on, which are there.
    fn part(&self, start: usize, count: usize) -> Self {
        let (byte, shift) = (start / 8, start % 8);
        let at = |at: usize| u16::from(self.bytes.get(at).copied().unwrap_or(0));
        let shifted = |i: usize| {
            let two = at(byte + i) << 8 | at(byte + i + 1);
            (two << shift >> 8) as u8
        };
        Self::of((0..count.div_ceil(8)).map(shifted).collect(), count)
    }

    fn push(&mut self, other: &Self) -> Result<()> {
        if self.count + other.count > BITS_MAX {
            let message = format!("bit string length exceeds the maximum allowed ({BITS_MAX})");
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        let (shift, count) = (self.count % 8, self.count + other.count);
        if shift == 0 {
            self.bytes.extend_from_slice(&other.bytes);
        } else {
            for byte in &other.bytes {
                if let Some(last) = self.bytes.last_mut() {
                    *last |= byte >> shift;
                }
                self.bytes.push(byte << (8 - shift));
            }
        }
        self.bytes.truncate(count.div_ceil(8));
        self.count = count;
        Ok(())
    }

    /// Reads binary or hexadecimal digits, behind `b` or `x` when that stands before them.
    ///
    /// # Errors
    /// 22P02.
    pub fn parse(text: &str) -> Result<Self> {
        let (digits, width, kind) = match text.as_bytes().first() {
            Some(b'x' | b'X') => (&text[1..], 4, "hexadecimal"),
            Some(b'b' | b'B') => (&text[1..], 1, "binary"),
            _ => (text, 1, "binary"),
        };
        let mut bits = Self::zeros(digits.len() * width);
        for (at, digit) in digits.chars().enumerate() {
            let Some(value) = digit.to_digit(1 << width) else {
                let message = format!("\"{digit}\" is not a valid {kind} digit");
                return Err(Error::new(SqlState::INVALID_TEXT, message));
            };
            for bit in 0..width {
                if value >> (width - 1 - bit) & 1 == 1 {
                    bits.set(at * width + bit);
                }
            }
        }
        Ok(bits)
    }

    /// Appends the binary digits.
    pub fn format(&self, out: &mut Vec<u8>) {
        out.extend((0..self.count).map(|at| if self.get(at) { b'1' } else { b'0' }));
    }

    /// The low `count` bits of a number, by its sign when there are more than it has.
    pub(super) fn of_integer(value: i64, count: usize) -> Self {
        let mut bits = Self::zeros(count);
        for at in 0..count {
            let place = (count - 1 - at).min(63);
            if value >> place & 1 == 1 {
                bits.set(at);
            }
        }
        bits
    }

    /// The bits as a number without a sign; None when there are more than `most`.
    pub(super) fn to_integer(&self, most: usize) -> Option<u64> {
        let digit = |value: u64, at: usize| value << 1 | u64::from(self.get(at));
        (self.count <= most).then(|| (0..self.count).fold(0, digit))
    }
}

/// The bits in a column of type `to`.
///
/// # Errors
/// 22026 for another length than that of BIT(n), 22001 for more bits than BIT VARYING(n) has.
pub fn fit_bits(value: &[u8], to: PackedType, excess: Excess) -> Result<Vec<u8>> {
    let length = match to {
        PackedType::Bit(Some(length)) | PackedType::VarBit(Some(length)) => length as usize,
        _ => return Ok(value.to_vec()),
    };
    let bits = Bits::read(value);
    let is_fixed = matches!(to, PackedType::Bit(_));
    if bits.count == length || !is_fixed && bits.count < length {
        return Ok(value.to_vec());
    }
    match excess {
        Excess::Cut => {
            let bits = Bits::of(bits.bytes, length);
            Ok(bits.value())
        }
        Excess::Error if is_fixed => {
            let count = bits.count;
            let message = format!("bit string length {count} does not match type bit({length})");
            Err(Error::new(SqlState::LENGTH_MISMATCH, message))
        }
        Excess::Error => {
            let message = format!("bit string too long for type bit varying({length})");
            Err(Error::new(SqlState::STRING_TOO_LONG, message))
        }
    }
}

type Computed = Result<Given>;

fn given(bits: &Bits, out: &mut Vec<u8>) -> Computed {
    bits.write(out);
    Ok(Given::Bytes)
}

fn at(call: &Call<'_>, argument: usize) -> Bits {
    Bits::read(call.bytes(argument))
}

fn mismatch(what: &str) -> Error {
    let message = format!("cannot {what} bit strings of different sizes");
    Error::new(SqlState::LENGTH_MISMATCH, message)
}

/// Combines bits of one length.
///
/// # Errors
/// 22026.
pub(super) fn combine(a: &Bits, b: &Bits, word: &str, f: fn(u8, u8) -> u8) -> Result<Bits> {
    if a.count != b.count {
        return Err(mismatch(word));
    }
    let bytes = a.bytes.iter().zip(&b.bytes).map(|(a, b)| f(*a, *b)).collect();
    Ok(Bits { count: a.count, bytes })
}

pub(super) fn and(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(&combine(&at(call, 0), &at(call, 1), "AND", |a, b| a & b)?, out)
}

pub(super) fn or(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(&combine(&at(call, 0), &at(call, 1), "OR", |a, b| a | b)?, out)
}

pub(super) fn xor(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(&combine(&at(call, 0), &at(call, 1), "XOR", |a, b| a ^ b)?, out)
}

/// The bits of an array's elements, combined.
fn folded(call: &Call<'_>, out: &mut Vec<u8>, word: &str, f: fn(u8, u8) -> u8) -> Computed {
    let mut all: Option<Bits> = None;
    for value in call.elements(0) {
        let bits = Bits::read(&value);
        all = Some(match all {
            Some(before) => combine(&before, &bits, word, f)?,
            None => bits,
        });
    }
    all.map_or(Ok(Given::Null), |bits| given(&bits, out))
}

pub(super) fn all_and(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    folded(call, out, "AND", |a, b| a & b)
}

pub(super) fn all_or(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    folded(call, out, "OR", |a, b| a | b)
}

pub(super) fn all_xor(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    folded(call, out, "XOR", |a, b| a ^ b)
}

pub(super) fn not(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let bits = at(call, 0);
    given(&Bits::of(bits.bytes.iter().map(|byte| !byte).collect(), bits.count), out)
}

/// The bits so many places further left, or right when negative.
fn shifted(bits: &Bits, by: i64) -> Result<Bits> {
    let count = bits.count;
    let places = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX).min(count);
    let kept = count - places;
    if by >= 0 {
        let mut moved = bits.part(places, kept);
        moved.push(&Bits::zeros(places))?;
        return Ok(moved);
    }
    let mut moved = Bits::zeros(places);
    moved.push(&bits.part(0, kept))?;
    Ok(moved)
}

pub(super) fn shift_left(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(&shifted(&at(call, 0), call.int(1))?, out)
}

pub(super) fn shift_right(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    given(&shifted(&at(call, 0), -call.int(1))?, out)
}

pub(super) fn concatenate(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut bits = at(call, 0);
    bits.push(&at(call, 1))?;
    given(&bits, out)
}

pub(super) fn length(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(at(call, 0).count as i64))
}

pub(super) fn octet_length(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(at(call, 0).bytes.len() as i64))
}

pub(super) fn bit_count(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    Ok(Given::Int(at(call, 0).bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()))
}

/// Bits from place `start` on, from 1: `length` of them, or all.
///
/// # Errors
/// 22011 for a negative length.
fn substring_of(bits: &Bits, start: i64, length: Option<i64>) -> Result<Bits> {
    if length.is_some_and(|length| length < 0) {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let count = bits.count as i64;
    let end = length.map_or(count + 1, |length| start.saturating_add(length).min(count + 1));
    let first = start.max(1);
    if first >= end {
        return Ok(Bits::default());
    }
    // Both are between 1 and the number of bits.
    Ok(bits.part((first - 1) as usize, (end - first) as usize))
}

pub(super) fn substring(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let length = (call.arguments.len() > 2).then(|| call.int(2));
    given(&substring_of(&at(call, 0), call.int(1), length)?, out)
}

pub(super) fn overlay(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let (bits, new, start) = (at(call, 0), at(call, 1), call.int(2));
    let length = if call.arguments.len() > 3 { call.int(3) } else { new.count as i64 };
    if start <= 0 {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let Some(behind) = start.checked_add(length).filter(|end| *end <= i64::from(i32::MAX)) else {
        return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "integer out of range"));
    };
    let mut made = substring_of(&bits, 1, Some(start - 1))?;
    made.push(&new)?;
    made.push(&substring_of(&bits, behind, None)?)?;
    given(&made, out)
}

/// Where the second argument begins in the first, from 1; 0 when it is not there.
pub(super) fn position(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let (bits, wanted) = (at(call, 0), at(call, 1));
    if bits.count == 0 || wanted.count > bits.count {
        return Ok(Given::Int(0));
    }
    let is_there = |start: &usize| (0..wanted.count).all(|i| bits.get(start + i) == wanted.get(i));
    let found = (0..=bits.count - wanted.count).find(is_there);
    Ok(Given::Int(found.map_or(0, |at| at as i64 + 1)))
}

fn index(bits: &Bits, at: i64) -> Result<usize> {
    usize::try_from(at).ok().filter(|at| *at < bits.count).ok_or_else(|| {
        let last = bits.count as i64 - 1;
        let message = format!("bit index {at} out of valid range (0..{last})");
        Error::new(SqlState::ARRAY_SUBSCRIPT, message)
    })
}

pub(super) fn get_bit(call: &Call<'_>, _: &mut Vec<u8>) -> Computed {
    let bits = at(call, 0);
    let place = index(&bits, call.int(1))?;
    Ok(Given::Int(i64::from(bits.get(place))))
}

pub(super) fn set_bit(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut bits = at(call, 0);
    let place = index(&bits, call.int(1))?;
    match call.int(2) {
        0 => bits.bytes[place / 8] &= !(0x80 >> (place % 8)),
        1 => bits.set(place),
        _ => return Err(Error::new(SqlState::INVALID_PARAMETER, "new bit must be 0 or 1")),
    }
    given(&bits, out)
}
