//! Integers and strings as bytes: little-endian, varints of 7 bits with the lowest first. The log,
//! its records and manifests are written so.

use crate::{Error, Interval, SqlState};

/// Why bytes cannot be read: offset in them and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Offset of the first byte in doubt.
    pub offset: usize,
    /// Description of the bytes that should be there.
    pub expectation: String,
}

impl Malformed {
    /// The error XX001 about bytes that are `what`.
    pub fn in_bytes_of(self, what: &str) -> Error {
        let message =
            format!("{what} is damaged at byte {}: expected {}", self.offset, self.expectation);
        Error::new(SqlState::DATA_CORRUPTED, message)
    }
}

/// Reads 4 bytes at `at`.
///
/// # Panics
/// When they are not there.
pub fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(value)
}

/// Reads 8 bytes at `at`.
///
/// # Panics
/// When they are not there.
pub fn read_u64(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(value)
}

/// Appends `value` in 1 to 19 bytes.
pub fn put_u128(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` in 1 to 10 bytes.
#[inline]
pub fn put_u64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` so that numbers near 0 of either sign are short.
#[inline]
pub fn put_i64(out: &mut Vec<u8>, value: i64) {
    put_u64(out, (value << 1 ^ value >> 63) as u64);
}

/// Appends `value` so that numbers near 0 of either sign are short.
pub fn put_i128(out: &mut Vec<u8>, value: i128) {
    put_u128(out, (value << 1 ^ value >> 127) as u128);
}

/// Appends the length of `bytes`, then `bytes`.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends months, days and microseconds.
pub fn put_interval(out: &mut Vec<u8>, value: Interval) {
    put_i64(out, i64::from(value.months));
    put_i64(out, i64::from(value.days));
    put_i64(out, value.micros);
}

/// Reads what the functions above wrote. Never panics, whatever the bytes.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    /// Starts at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// True at the end.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The bytes that were not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// How many bytes were not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The error of having expected `expectation` here.
    #[cold]
    #[inline(never)]
    pub fn malformed(&self, expectation: impl Into<String>) -> Malformed {
        Malformed { offset: self.at, expectation: expectation.into() }
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                Ok(*byte)
            }
            None => Err(self.malformed("another byte")),
        }
    }

    /// Reads an integer of up to 64 bits.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    #[inline(always)]
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_u64(),
        }
    }

    /// One of several bytes: eight are looked at together where there are as many.
    #[inline]
    fn long_u64(&mut self) -> Result<u64, Malformed> {
        let Some((word, ends)) = self.word() else { return self.last_u64() };
        if ends == 0 {
            return self.last_u64();
        }
        self.at += ends.trailing_zeros() as usize / 8 + 1;
        // The bits up to the first byte that ends a number; then pairs of groups move together.
        let word = word & (ends ^ (ends - 1));
        let word = word & 0x007f_007f_007f_007f | (word & 0x7f00_7f00_7f00_7f00) >> 1;
        let word = word & 0x0000_3fff_0000_3fff | (word & 0x3fff_0000_3fff_0000) >> 2;
        Ok(word & 0x0fff_ffff | (word & 0x0fff_ffff_0000_0000) >> 4)
    }

    /// The next eight bytes, and the highest bit of each that ends a number.
    #[inline(always)]
    fn word(&self) -> Option<(u64, u64)> {
        let word = u64::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk()?);
        Some((word, !word & 0x8080_8080_8080_8080))
    }

    /// Byte by byte: of nine and ten bytes, or close to the end.
    #[inline(never)]
    fn last_u64(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.malformed("an integer of 64 bits"))
    }

    /// Passes over an integer of any length.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    #[inline(always)]
    pub fn pass_integer(&mut self) -> Result<(), Malformed> {
        match self.word() {
            Some((_, ends)) if ends != 0 => {
                self.at += ends.trailing_zeros() as usize / 8 + 1;
                Ok(())
            }
            _ => self.u128().map(drop),
        }
    }

    /// Reads an integer of up to 128 bits.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub fn u128(&mut self) -> Result<u128, Malformed> {
        let mut value = 0;
        for shift in (0..128).step_by(7) {
            let byte = self.u8()?;
            let bits = u128::from(byte & 0x7f);
            if shift == 126 && bits > 3 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.malformed("an integer of 128 bits"))
    }

    /// Reads a signed integer of up to 64 bits.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    #[inline(always)]
    pub fn i64(&mut self) -> Result<i64, Malformed> {
        let value = self.u64()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Reads a signed integer of up to 32 bits.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    #[inline(always)]
    pub fn i32(&mut self) -> Result<i32, Malformed> {
        let value = self.i64()?;
        i32::try_from(value).map_err(|_| self.malformed("an integer of 32 bits"))
    }

    /// Reads a signed integer of up to 128 bits.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub fn i128(&mut self) -> Result<i128, Malformed> {
        let value = self.u128()?;
        Ok((value >> 1) as i128 ^ -((value & 1) as i128))
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        match self.bytes[self.at..].get(..count) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => Err(self.too_few(count)),
        }
    }

    #[cold]
    #[inline(never)]
    fn too_few(&self, count: usize) -> Malformed {
        self.malformed(format!("{count} bytes, found {}", self.remaining()))
    }

    /// A length and as many bytes.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let count = self.u64()?;
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// A length and as many bytes of text.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| self.malformed("text in UTF-8"))
    }

    /// Reads months, days and microseconds.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub fn interval(&mut self) -> Result<Interval, Malformed> {
        Ok(Interval { months: self.i32()?, days: self.i32()?, micros: self.i64()? })
    }

    /// A count of things that take at least `bytes_each`.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub fn count(&mut self, bytes_each: usize) -> Result<usize, Malformed> {
        let count = self.u64()?;
        match usize::try_from(count) {
            Ok(count) if count.saturating_mul(bytes_each) <= self.remaining() => Ok(count),
            _ => Err(self.malformed(format!("a count that fits, found {count}"))),
        }
    }
}
