//! Identity of a frozen block as bytes: what is known of it before anybody reads its rows.
//!
//! ```text
//! | description (`header`) | smallest and largest value of column 0 | of column 1 | ...
//! value: 0 none | 1, 2 order keys (i128) | 2, 2 strings, each behind its bytes (u32)
//! ```
//! Invariant: what [`Identity::read`] returns fits its description; the payload is compared with it
//! when it is first read. Checksums are those of the file that holds it.

use types::{PhysicalType, Result};

use super::header::{description_bytes, number};
use super::{BLOCK_ROWS_MAX, Block, BlockLayout, Header, Nulls, Segment, corrupt};

const NO_VALUES: u8 = 0;
const KEYS: u8 = 1;
const STRINGS: u8 = 2;

/// Bytes of two order keys.
const KEYS_BYTES: usize = 32;

/// Smallest and largest value of a frozen segment, in memory whatever its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sma {
    /// No values.
    None,
    /// Order keys.
    Keys(i128, i128),
    /// Strings.
    Strings(Box<[u8]>, Box<[u8]>),
}

/// Description, smallest and largest values of a frozen block.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) header: Header,
    pub(super) smas: Box<[Sma]>,
}

impl Block {
    /// The identity of a frozen block, for [`Identity::read`]; nothing for a hot one.
    pub fn identity(&self) -> Vec<u8> {
        if self.header.layout != BlockLayout::Frozen {
            return Vec::new();
        }
        let mut out = vec![0; description_bytes(self.header.segments.len())];
        self.header.write(&mut out);
        self.smas.iter().for_each(|sma| put(&mut out, sma));
        out
    }
}

fn put(out: &mut Vec<u8>, sma: &Sma) {
    match sma {
        Sma::None => out.push(NO_VALUES),
        Sma::Keys(least, most) => {
            out.push(KEYS);
            out.extend_from_slice(&least.to_le_bytes());
            out.extend_from_slice(&most.to_le_bytes());
        }
        Sma::Strings(least, most) => {
            out.push(STRINGS);
            for string in [least, most] {
                // A block has less than 4 GiB.
                out.extend_from_slice(&(string.len() as u32).to_le_bytes());
                out.extend_from_slice(string);
            }
        }
    }
}

impl Identity {
    /// Reads what [`Block::identity`] wrote.
    ///
    /// # Errors
    /// XX001 when the bytes are no identity of a frozen block.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let header = Header::read(bytes)?;
        if header.layout != BlockLayout::Frozen {
            return Err(corrupt(10, "an identity of a block that changes"));
        }
        if header.rows as usize > BLOCK_ROWS_MAX {
            return Err(corrupt(12, format!("{} rows", header.rows)));
        }
        let mut at = description_bytes(header.segments.len());
        let mut smas = Vec::with_capacity(header.segments.len());
        for (column, segment) in header.segments.iter().enumerate() {
            let start = at;
            let sma = read_sma(bytes, &mut at);
            let fits = |sma: &Sma| fits(segment, sma, header.rows);
            let wrong = || corrupt(start, format!("no smallest value of column {column}"));
            smas.push(sma.filter(fits).ok_or_else(wrong)?);
        }
        if at != bytes.len() {
            return Err(corrupt(at, "more than an identity"));
        }
        Ok(Self { header, smas: smas.into() })
    }

    #[cfg(test)]
    pub(crate) fn sma(&self, column: usize) -> &Sma {
        &self.smas[column]
    }
}

/// The next `count` of `bytes`.
fn take<'b>(bytes: &'b [u8], at: &mut usize, count: usize) -> Option<&'b [u8]> {
    let taken = bytes.get(*at..at.checked_add(count)?)?;
    *at += count;
    Some(taken)
}

fn read_sma(bytes: &[u8], at: &mut usize) -> Option<Sma> {
    match take(bytes, at, 1)?[0] {
        NO_VALUES => Some(Sma::None),
        KEYS => {
            let (least, most) = take(bytes, at, KEYS_BYTES)?.split_first_chunk()?;
            Some(Sma::Keys(i128::from_le_bytes(*least), i128::from_le_bytes(most.try_into().ok()?)))
        }
        STRINGS => {
            let mut string = || -> Option<Box<[u8]>> {
                let count = number::<4>(take(bytes, at, 4)?, 0) as usize;
                Some(take(bytes, at, count)?.into())
            };
            Some(Sma::Strings(string()?, string()?))
        }
        _ => None,
    }
}

/// True when `sma` can be that of a segment of a block of `rows` rows.
fn fits(segment: &Segment, sma: &Sma, rows: u32) -> bool {
    let is_text = segment.physical == PhysicalType::Str;
    let has_values = segment.sma != 0;
    match sma {
        Sma::None => !has_values && (segment.nulls == Nulls::All || rows == 0),
        Sma::Keys(least, most) => {
            let ends = key_range(segment.physical);
            has_values && !is_text && least <= most && ends.0 <= *least && *most <= ends.1
        }
        Sma::Strings(least, most) => has_values && is_text && least <= most,
    }
}

/// The smallest and largest order key that values of a type can have.
pub(crate) fn key_range(physical: PhysicalType) -> (i128, i128) {
    match physical {
        PhysicalType::Bool => (0, 1),
        PhysicalType::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        PhysicalType::I64 | PhysicalType::F64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        _ => (i128::MIN, i128::MAX),
    }
}
