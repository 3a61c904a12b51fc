//! Normalised keys: the indexed values of a row as bytes whose memcmp order is their SQL order.
//!
//! ```text
//! | null byte, absent in NOT NULL columns | value | null byte | value | ...
//! ```
//! Invariants: the format is that of [`kernels::keys::SortKeys`], so that bulk builds may encode
//! whole batches; no key is the start of another; without text all keys of an index are equally
//! long; the key of the first columns is the start of the whole key.

use std::ops::{Bound, Deref};

use kernels::keys::{SortField, SortNulls, order_f64, order_i128};
use types::{DataType, PhysicalType};

use super::IndexColumn;
use crate::datum::Datum;
use crate::schema::{ColumnSpec, Schema};

/// Memory for one key, used again and again.
#[derive(Clone, Debug, Default)]
pub struct KeyBuffer {
    bytes: Vec<u8>,
    has_null: bool,
}

impl KeyBuffer {
    /// An empty key.
    pub fn new() -> Self {
        Self::default()
    }

    /// True when one of the encoded values is NULL: such rows are distinct from each other unless
    /// the index says NULLS NOT DISTINCT.
    pub fn has_null(&self) -> bool {
        self.has_null
    }

    /// True when the row that it was made of has no entry; no key is empty.
    pub fn is_absent(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Becomes what a row has that is not in the index: equal to no key, distinct from all.
    pub(crate) fn set_absent(&mut self) {
        self.bytes.clear();
        self.has_null = true;
    }

    /// Becomes these bytes: a key, or the start of one.
    pub fn set(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.has_null = false;
    }

    /// Appends bytes.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Becomes the smallest bytes above everything that starts with `prefix`; false when there are
    /// none, because `prefix` is empty or all of its bytes are 255.
    pub fn set_successor(&mut self, prefix: &[u8]) -> bool {
        self.bytes.clear();
        self.has_null = false;
        let Some(last) = prefix.iter().rposition(|&byte| byte != 0xff) else { return false };
        self.bytes.extend_from_slice(&prefix[..=last]);
        self.bytes[last] += 1;
        true
    }
}

impl Deref for KeyBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A range of normalised keys.
#[derive(Clone, Copy, Debug)]
pub struct KeyRange<'k> {
    /// Where it starts.
    pub low: Bound<&'k [u8]>,
    /// Where it ends.
    pub high: Bound<&'k [u8]>,
}

impl<'k> KeyRange<'k> {
    /// Every key.
    pub const ALL: KeyRange<'static> = KeyRange { low: Bound::Unbounded, high: Bound::Unbounded };

    /// All keys that start with `prefix`; `successor` is memory for the upper bound.
    pub fn prefix(prefix: &'k [u8], successor: &'k mut KeyBuffer) -> Self {
        let bounded = successor.set_successor(prefix);
        let high = if bounded { Bound::Excluded(&**successor) } else { Bound::Unbounded };
        Self { low: Bound::Included(prefix), high }
    }
}

/// The column of the table, or the expression, that a column of an index is of.
///
/// # Panics
/// If there is none.
pub(super) fn column_spec(
    column: &IndexColumn,
    schema: &Schema,
    expressions: &[ColumnSpec],
) -> ColumnSpec {
    match column.expression() {
        Some(number) => expressions[number].clone(),
        None => schema.columns()[column.ordinal].clone(),
    }
}

/// Turns rows into keys.
#[derive(Clone, Debug)]
pub(super) struct KeyEncoder {
    fields: Vec<SortField>,
    /// The types of columns with wide decimals, of which equal values have one key; empty where
    /// no column has them.
    wide: Vec<Option<DataType>>,
}

impl KeyEncoder {
    /// # Panics
    /// If a column is neither in the schema nor among the expressions.
    pub(super) fn new(
        columns: &[IndexColumn],
        schema: &Schema,
        expressions: &[ColumnSpec],
    ) -> Self {
        let spec = |column: &IndexColumn| column_spec(column, schema, expressions);
        let field = |column: &IndexColumn| {
            let spec = spec(column);
            let nulls = if spec.not_null { SortNulls::Absent } else { column.nulls };
            SortField { physical: spec.physical(), direction: column.order, nulls }
        };
        let wide = |column: &IndexColumn| Some(spec(column).ty).filter(|ty| ty.has_wide());
        let wide: Vec<_> = columns.iter().map(wide).collect();
        let has_wide = wide.iter().any(Option::is_some);
        Self {
            fields: columns.iter().map(field).collect(),
            wide: if has_wide { wide } else { Vec::new() },
        }
    }

    pub(super) fn fields(&self) -> &[SortField] {
        &self.fields
    }

    /// Bytes of every key, when no column is text.
    pub(super) fn width(&self) -> Option<usize> {
        self.fields.iter().map(SortField::key_bytes).sum()
    }

    /// True when one of the values that `key`, a whole one, was made of is NULL.
    pub(super) fn has_null(&self, mut key: &[u8]) -> bool {
        for field in &self.fields {
            let may_be_null = field.nulls != SortNulls::Absent;
            if may_be_null && key.first() == Some(&u8::from(field.nulls == SortNulls::Last)) {
                return true;
            }
            let bytes = field.key_bytes().unwrap_or_else(|| {
                let start = usize::from(may_be_null);
                start + text_bytes(key.get(start..).unwrap_or_default(), field.flip())
            });
            key = key.get(bytes..).unwrap_or_default();
        }
        false
    }

    /// The key of the first `values.len()` columns.
    ///
    /// # Panics
    /// If there are more values than columns, a value has another type than its column, or is NULL
    /// in a NOT NULL column.
    pub(super) fn encode(&self, values: &[Datum<'_>], key: &mut KeyBuffer) {
        assert!(values.len() <= self.fields.len(), "a value for each of the first columns");
        key.bytes.clear();
        key.has_null = false;
        for (i, (field, &value)) in self.fields.iter().zip(values).enumerate() {
            if value.is_null() {
                write_null(*field, &mut key.bytes);
                key.has_null = true;
                continue;
            }
            if field.nulls != SortNulls::Absent {
                key.bytes.push(u8::from(field.nulls == SortNulls::First));
            }
            match (self.wide.get(i), value) {
                (Some(Some(ty)), Datum::Str(bytes)) => {
                    write_wide(*field, bytes, *ty, &mut key.bytes);
                }
                _ => write_value(*field, value, &mut key.bytes),
            }
        }
    }
}

/// The key of a wide decimal. Apart, so that other values are written without a call.
#[cold]
#[inline(never)]
fn write_wide(field: SortField, value: &[u8], ty: DataType, bytes: &mut Vec<u8>) {
    let common = kernels::wide::key_bytes(value, ty);
    write_value(field, Datum::Str(&common), bytes);
}

fn write_null(field: SortField, bytes: &mut Vec<u8>) {
    assert!(field.nulls != SortNulls::Absent, "NULL in a NOT NULL column of an index");
    match field.key_bytes() {
        Some(width) => {
            bytes.push(u8::from(field.nulls == SortNulls::Last));
            bytes.resize(bytes.len() + width - 1, 0);
        }
        None => {
            let end = field.flip();
            bytes.extend_from_slice(&[u8::from(field.nulls == SortNulls::Last), end, end]);
        }
    }
}

#[inline(always)]
fn write_value(field: SortField, value: Datum<'_>, bytes: &mut Vec<u8>) {
    let flip = field.flip();
    match value {
        Datum::Bool(v) => write_fixed(field, PhysicalType::Bool, [u8::from(v)], bytes),
        Datum::I32(v) => {
            write_fixed(field, PhysicalType::I32, (v ^ i32::MIN).to_be_bytes(), bytes);
        }
        Datum::I64(v) => {
            write_fixed(field, PhysicalType::I64, (v ^ i64::MIN).to_be_bytes(), bytes);
        }
        Datum::I128(v) => write_fixed(field, PhysicalType::I128, order_i128(v), bytes),
        Datum::F64(v) => write_fixed(field, PhysicalType::F64, order_f64(v), bytes),
        Datum::Interval(v) => {
            write_fixed(field, PhysicalType::Interval, order_i128(v.comparable()), bytes);
        }
        Datum::Str(text) => {
            assert_eq!(field.physical, PhysicalType::Str, "a value of its column's type");
            let start = bytes.len();
            write_text(text, bytes);
            if flip != 0 {
                bytes[start..].iter_mut().for_each(|byte| *byte ^= flip);
            }
        }
        Datum::Null => write_null(field, bytes),
    }
}

#[inline]
fn write_fixed<const N: usize>(
    field: SortField,
    physical: PhysicalType,
    encoded: [u8; N],
    bytes: &mut Vec<u8>,
) {
    assert_eq!(field.physical, physical, "a value of its column's type");
    let flip = field.flip();
    let encoded = if flip == 0 { encoded } else { encoded.map(|byte| byte ^ flip) };
    bytes.extend_from_slice(&encoded);
}

/// Bytes of the text that starts a key, each XORed with `flip`.
fn text_bytes(key: &[u8], flip: u8) -> usize {
    let mut at = 0;
    while at < key.len() {
        if key[at] != flip {
            at += 1;
            continue;
        }
        let is_end = key.get(at + 1).is_none_or(|&next| next == flip);
        at += 2;
        if is_end {
            break;
        }
    }
    at
}

/// Bytes as they are, 00 as 00 FF, then 00 00.
fn write_text(text: &[u8], bytes: &mut Vec<u8>) {
    for (n, piece) in text.split(|&byte| byte == 0).enumerate() {
        if n > 0 {
            bytes.extend_from_slice(&[0, 0xff]);
        }
        bytes.extend_from_slice(piece);
    }
    bytes.extend_from_slice(&[0, 0]);
}
