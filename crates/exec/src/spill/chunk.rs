//! A batch as bytes.
//!
//! ```text
//! rows u32 | columns u32 | column ... | hash of all before u64
//! column:  type u8 | 1 with NULLs u8 | validity words | values
//! values:  little-endian, as wide as the type; strings: lengths u32, then all bytes
//! ```

use kernels::hash::hash_bytes;
use kernels::{Batch, Bitmap, Column, StrBuilder, Vector, VectorData};
use types::{Error, Interval, PhysicalType, SqlState};

/// Replaces `out` by the bytes of `batch`.
pub(super) fn encode(batch: &Batch, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&(batch.rows as u32).to_le_bytes());
    out.extend_from_slice(&(batch.columns.len() as u32).to_le_bytes());
    for column in &batch.columns {
        encode_column(&column.to_vector(), out);
    }
    let hash = hash_bytes(out);
    out.extend_from_slice(&hash.to_le_bytes());
}

fn encode_column(vector: &Vector, out: &mut Vec<u8>) {
    fn put<T: Copy, const N: usize>(values: &[T], out: &mut Vec<u8>, bytes: fn(T) -> [u8; N]) {
        out.reserve(values.len() * N);
        values.iter().for_each(|&value| out.extend_from_slice(&bytes(value)));
    }
    out.push(vector.physical().number());
    out.push(u8::from(vector.validity.is_some()));
    if let Some(validity) = &vector.validity {
        put(validity.words(), out, u64::to_le_bytes);
    }
    match &vector.data {
        VectorData::Bool(values) => out.extend_from_slice(values),
        VectorData::I32(values) => put(values, out, i32::to_le_bytes),
        VectorData::I64(values) => put(values, out, i64::to_le_bytes),
        VectorData::I128(values) => put(values, out, i128::to_le_bytes),
        VectorData::F64(values) => put(values, out, f64::to_le_bytes),
        VectorData::Interval(values) => put(values, out, interval_bytes),
        VectorData::Str(values) => {
            values.iter().for_each(|s| out.extend_from_slice(&(s.len() as u32).to_le_bytes()));
            values.iter().for_each(|s| out.extend_from_slice(s));
        }
    }
}

fn interval_bytes(value: Interval) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&value.months.to_le_bytes());
    bytes[4..8].copy_from_slice(&value.days.to_le_bytes());
    bytes[8..].copy_from_slice(&value.micros.to_le_bytes());
    bytes
}

/// The batch of `bytes`, which [`encode`] wrote.
///
/// # Errors
/// XX001 when they are others; never a panic.
pub(super) fn decode(bytes: &[u8]) -> Result<Batch, Error> {
    decoded(bytes).ok_or_else(|| {
        let message = "a temporary file is damaged: a chunk is not what was written";
        Error::new(SqlState::DATA_CORRUPTED, message)
    })
}

fn decoded(bytes: &[u8]) -> Option<Batch> {
    let (content, hash) = bytes.split_last_chunk::<8>()?;
    if hash_bytes(content) != u64::from_le_bytes(*hash) {
        return None;
    }
    let mut input = Input(content);
    let rows = input.number()? as usize;
    let columns = input.number()? as usize;
    let mut vectors = Vec::new();
    for _ in 0..columns {
        vectors.push(Column::plain(input.column(rows)?));
    }
    input.0.is_empty().then(|| Batch::new(vectors, rows))
}

/// Bytes not yet read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn values<T, const N: usize>(&mut self, rows: usize, read: fn([u8; N]) -> T) -> Option<Vec<T>> {
        let (values, _) = self.take(rows.checked_mul(N)?)?.as_chunks::<N>();
        Some(values.iter().map(|bytes| read(*bytes)).collect())
    }

    fn column(&mut self, rows: usize) -> Option<Vector> {
        let [number, nullable] = *self.take(2)?.first_chunk()?;
        let validity = match nullable {
            0 => None,
            _ => {
                let words = self.values(rows.div_ceil(64), u64::from_le_bytes)?;
                Some(Bitmap::from_words(words, rows))
            }
        };
        let data = match PhysicalType::of_number(number)? {
            PhysicalType::Bool => VectorData::Bool(self.take(rows)?.to_vec()),
            PhysicalType::I32 => VectorData::I32(self.values(rows, i32::from_le_bytes)?),
            PhysicalType::I64 => VectorData::I64(self.values(rows, i64::from_le_bytes)?),
            PhysicalType::I128 => VectorData::I128(self.values(rows, i128::from_le_bytes)?),
            PhysicalType::F64 => VectorData::F64(self.values(rows, f64::from_le_bytes)?),
            PhysicalType::Interval => VectorData::Interval(self.values(rows, interval)?),
            PhysicalType::Str => {
                let lengths = self.values(rows, u32::from_le_bytes)?;
                let mut strings = StrBuilder::with_capacity(rows);
                for length in lengths {
                    strings.push(self.take(length as usize)?);
                }
                VectorData::Str(strings.finish())
            }
        };
        Some(Vector::with_validity(data, validity))
    }
}

fn interval(bytes: [u8; 16]) -> Interval {
    let [a, b, c, d, e, f, g, h, micros @ ..] = bytes;
    Interval {
        months: i32::from_le_bytes([a, b, c, d]),
        days: i32::from_le_bytes([e, f, g, h]),
        micros: i64::from_le_bytes(micros),
    }
}
