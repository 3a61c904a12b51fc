//! Sort keys: rows as bytes whose memcmp order is the rows' order.
//!
//! ```text
//! per field: 1 byte that places NULL (absent when the field has none)
//!            value, complemented when descending; zeros under a NULL (text: its terminator alone)
//! integers   big-endian, top bit flipped          f64   as PostgreSQL orders, NaN greatest
//! text       bytes, 00 as 00 FF, then 00 00
//! ```

use types::PhysicalType;

use crate::{StrVector, Vector, VectorData};

/// ASC or DESC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortDirection {
    /// ASC
    Ascending,
    /// DESC
    Descending,
}

/// Where NULLs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortNulls {
    /// Before all values.
    First,
    /// After all values.
    Last,
    /// There are none: the key is one byte shorter.
    Absent,
}

/// One column of a sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortField {
    /// How the column is held.
    pub physical: PhysicalType,
    /// ASC or DESC.
    pub direction: SortDirection,
    /// Where NULLs go.
    pub nulls: SortNulls,
}

impl SortField {
    /// Bytes of the value; None for text.
    fn value_bytes(&self) -> Option<usize> {
        match self.physical {
            PhysicalType::Bool => Some(1),
            PhysicalType::I32 => Some(4),
            PhysicalType::I64 | PhysicalType::F64 => Some(8),
            PhysicalType::I128 | PhysicalType::Interval => Some(16),
            PhysicalType::Str => None,
        }
    }

    /// Bytes of the field in every key; None for text.
    pub fn key_bytes(&self) -> Option<usize> {
        self.value_bytes().map(|bytes| bytes + self.null_bytes())
    }

    fn null_bytes(&self) -> usize {
        usize::from(self.nulls != SortNulls::Absent)
    }

    /// Mask that every value byte is XORed with: it complements them when descending.
    pub fn flip(&self) -> u8 {
        if self.direction == SortDirection::Descending { 0xff } else { 0 }
    }
}

/// The sort keys of rows, appended batch by batch.
#[derive(Clone, Debug)]
pub struct SortKeys {
    fields: Vec<SortField>,
    bytes: Vec<u8>,
    /// `rows + 1` offsets into `bytes`.
    offsets: Vec<usize>,
}

impl SortKeys {
    /// No rows.
    pub fn new(fields: Vec<SortField>) -> Self {
        Self { fields, bytes: Vec::new(), offsets: vec![0] }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity() + self.offsets.capacity() * 8
    }

    /// Bytes of every key, when no field is text.
    pub fn width(&self) -> Option<usize> {
        self.fields.iter().map(SortField::key_bytes).sum()
    }

    /// The key of row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        &self.bytes[self.offsets[i]..self.offsets[i + 1]]
    }

    /// The first 8 bytes of the key of row `i` as a number that orders like them; equal numbers
    /// decide nothing unless keys are at most 8 bytes.
    #[inline]
    pub fn prefix(&self, i: usize) -> u64 {
        let key = self.get(i);
        match key.first_chunk::<8>() {
            Some(first) => u64::from_be_bytes(*first),
            None => {
                let mut buffer = [0u8; 8];
                buffer[..key.len()].copy_from_slice(key);
                u64::from_be_bytes(buffer)
            }
        }
    }

    /// The prefixes of all rows.
    pub fn prefixes(&self) -> Vec<u64> {
        (0..self.len()).map(|i| self.prefix(i)).collect()
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.offsets.truncate(1);
    }

    /// Appends the keys of the rows of `columns`, one per field and equally long.
    ///
    /// # Panics
    /// If columns do not fit the fields.
    pub fn append(&mut self, columns: &[&Vector]) {
        assert_eq!(columns.len(), self.fields.len(), "one column per field");
        let rows = columns.first().map_or(0, |c| c.len());
        // Where the next field of each row goes.
        let mut cursors = self.reserve(columns, rows);
        for (field, column) in self.fields.iter().zip(columns) {
            assert_eq!(column.len(), rows, "columns of equal length");
            if field.nulls != SortNulls::Absent {
                write_null_bytes(*field, column, &mut self.bytes, &mut cursors);
            } else {
                assert!(column.validity.is_none(), "NULL in a sort key declared without");
            }
            write_values(*field, column, &mut self.bytes, &mut cursors);
        }
        debug_assert!(
            cursors.iter().zip(&self.offsets[self.offsets.len() - rows..]).all(|(a, b)| a == b)
        );
    }

    /// Makes room for the keys of all rows; returns their starts.
    fn reserve(&mut self, columns: &[&Vector], rows: usize) -> Vec<usize> {
        let fixed: usize =
            self.fields.iter().map(|f| f.null_bytes() + f.value_bytes().unwrap_or(0)).sum();
        let mut lengths = vec![fixed; rows];
        for (field, column) in self.fields.iter().zip(columns) {
            if let (None, VectorData::Str(strings)) = (field.value_bytes(), &column.data) {
                for (i, length) in lengths.iter_mut().enumerate() {
                    *length += escaped_bytes(text(column, strings, i));
                }
            }
        }
        let mut end = self.bytes.len();
        let starts = lengths.iter().map(|length| {
            let start = end;
            end += length;
            self.offsets.push(end);
            start
        });
        let starts = starts.collect();
        self.bytes.resize(end, 0);
        starts
    }
}

/// The string of row `i`, empty under a NULL.
fn text<'a>(column: &Vector, strings: &'a StrVector, i: usize) -> &'a [u8] {
    if column.is_null(i) { b"" } else { strings.get(i) }
}

fn escaped_bytes(text: &[u8]) -> usize {
    text.len() + memchr::memchr_iter(0, text).count() + 2
}

fn write_null_bytes(field: SortField, column: &Vector, bytes: &mut [u8], cursors: &mut [usize]) {
    let (null, valid) = if field.nulls == SortNulls::First { (0, 1) } else { (1, 0) };
    for (i, cursor) in cursors.iter_mut().enumerate() {
        bytes[*cursor] = if column.is_null(i) { null } else { valid };
        *cursor += 1;
    }
}

fn write_fixed<T: Copy, const N: usize>(
    field: SortField,
    column: &Vector,
    values: &[T],
    target: (&mut [u8], &mut [usize]),
    encode: impl Fn(T) -> [u8; N],
) {
    let (bytes, cursors) = target;
    let flip = field.flip();
    for (i, (cursor, &value)) in cursors.iter_mut().zip(values).enumerate() {
        if !column.is_null(i) {
            let encoded = encode(value).map(|byte| byte ^ flip);
            bytes[*cursor..*cursor + N].copy_from_slice(&encoded);
        }
        *cursor += N;
    }
}

/// The order of the result is that of the numbers: negative ones complemented, others above them.
pub fn order_f64(value: f64) -> [u8; 8] {
    let canonical = if value.is_nan() { f64::NAN } else { value + 0.0 };
    let bits = canonical.to_bits() as i64;
    let ordered = (bits ^ ((bits >> 63) | i64::MIN)) as u64;
    ordered.to_be_bytes()
}

/// The order of the result is that of the numbers.
pub fn order_i128(value: i128) -> [u8; 16] {
    (value ^ i128::MIN).to_be_bytes()
}

fn write_values(field: SortField, column: &Vector, bytes: &mut [u8], cursors: &mut [usize]) {
    let target = (&mut *bytes, &mut *cursors);
    match &column.data {
        VectorData::Bool(v) => write_fixed(field, column, v, target, |x| [x]),
        VectorData::I32(v) => {
            write_fixed(field, column, v, target, |x| (x ^ i32::MIN).to_be_bytes());
        }
        VectorData::I64(v) => {
            write_fixed(field, column, v, target, |x| (x ^ i64::MIN).to_be_bytes());
        }
        VectorData::I128(v) => write_fixed(field, column, v, target, order_i128),
        VectorData::F64(v) => write_fixed(field, column, v, target, order_f64),
        VectorData::Interval(v) => {
            write_fixed(field, column, v, target, |x| order_i128(x.comparable()));
        }
        VectorData::Str(v) => write_text(field, column, v, target),
    }
}

fn write_text(
    field: SortField,
    column: &Vector,
    strings: &StrVector,
    target: (&mut [u8], &mut [usize]),
) {
    let (bytes, cursors) = target;
    let flip = field.flip();
    for (i, cursor) in cursors.iter_mut().enumerate() {
        let text = text(column, strings, i);
        let start = *cursor;
        let mut at = start;
        for (n, piece) in text.split(|&byte| byte == 0).enumerate() {
            if n > 0 {
                bytes[at..at + 2].copy_from_slice(&[0, 0xff]);
                at += 2;
            }
            bytes[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
        bytes[at..at + 2].copy_from_slice(&[0, 0]);
        at += 2;
        if flip != 0 {
            bytes[start..at].iter_mut().for_each(|byte| *byte ^= flip);
        }
        *cursor = at;
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use testkit::{Extremes, values, with_gaps};
    use types::{Interval, Value};

    use super::*;
    use crate::VectorBuilder;
    use crate::compare::order_rows;

    fn vector(physical: PhysicalType, rows: Vec<Option<Value>>) -> Vector {
        let mut builder = VectorBuilder::new(physical);
        rows.into_iter().for_each(|v| builder.push_value(&v.unwrap_or(Value::Null)));
        builder.finish()
    }

    fn column<T: Extremes>(
        physical: PhysicalType,
        value: fn(T) -> Value,
        rows: usize,
    ) -> BoxedStrategy<Vector> {
        vec(with_gaps(values::<T>().prop_map(value)), rows)
            .prop_map(move |rows| vector(physical, rows))
            .boxed()
    }

    fn any_column(rows: usize) -> BoxedStrategy<Vector> {
        let text = prop_oneof![vec(0u8..2, 0..4), vec(any::<u8>(), 0..20)];
        let text = text.prop_map(|bytes| Value::Str(bytes.into()));
        let interval = (-2i32..3, -40i32..40, values::<i64>())
            .prop_map(|(months, days, micros)| Value::Interval(Interval { months, days, micros }));
        prop_oneof![
            column(PhysicalType::I32, Value::I32, rows),
            column(PhysicalType::I64, Value::I64, rows),
            column(PhysicalType::I128, Value::I128, rows),
            column(PhysicalType::F64, Value::F64, rows),
            vec(with_gaps(any::<bool>().prop_map(Value::Bool)), rows)
                .prop_map(|rows| vector(PhysicalType::Bool, rows)),
            vec(with_gaps(text), rows).prop_map(|rows| vector(PhysicalType::Str, rows)),
            vec(with_gaps(interval), rows).prop_map(|rows| vector(PhysicalType::Interval, rows)),
        ]
        .boxed()
    }

    fn field_order(field: SortField, column: &Vector, i: usize, j: usize) -> Ordering {
        let nulls = |order: Ordering| {
            if field.nulls == SortNulls::First { order.reverse() } else { order }
        };
        match (column.is_null(i), column.is_null(j)) {
            (true, true) => Ordering::Equal,
            (true, false) => nulls(Ordering::Greater),
            (false, true) => nulls(Ordering::Less),
            (false, false) => {
                let order = order_rows(column, i, column, j);
                if field.direction == SortDirection::Descending { order.reverse() } else { order }
            }
        }
    }

    proptest! {
        #[test]
        fn keys_compare_like_rows(
            columns in vec((any_column(12), any::<bool>(), any::<bool>()), 1..4),
        ) {
            let fields: Vec<SortField> = columns
                .iter()
                .map(|(column, descending, first)| SortField {
                    physical: column.physical(),
                    direction: if *descending {
                        SortDirection::Descending
                    } else {
                        SortDirection::Ascending
                    },
                    nulls: if *first { SortNulls::First } else { SortNulls::Last },
                })
                .collect();
            let vectors: Vec<&Vector> = columns.iter().map(|c| &c.0).collect();
            let mut keys = SortKeys::new(fields.clone());
            keys.append(&vectors);
            for i in 0..12 {
                for j in 0..12 {
                    let expected = fields
                        .iter()
                        .zip(&vectors)
                        .map(|(field, column)| field_order(*field, column, i, j))
                        .find(|order| order.is_ne())
                        .unwrap_or(Ordering::Equal);
                    prop_assert_eq!(keys.get(i).cmp(keys.get(j)), expected);
                    let by_prefix = keys.prefix(i).cmp(&keys.prefix(j));
                    prop_assert!(by_prefix.is_eq() || by_prefix == expected);
                }
            }
            keys.append(&vectors);
            prop_assert_eq!(keys.len(), 24);
            prop_assert_eq!(keys.get(3), keys.get(15));
            if let Some(width) = keys.width() {
                prop_assert!((0..24).all(|i| keys.get(i).len() == width));
            }
        }
    }

    #[test]
    fn fields_without_null_are_shorter() {
        let field = SortField {
            physical: PhysicalType::I32,
            direction: SortDirection::Ascending,
            nulls: SortNulls::Absent,
        };
        let mut keys = SortKeys::new(vec![field, field]);
        assert_eq!(keys.width(), Some(8));
        let rows = Vector::new(VectorData::I32(vec![-1, 1]));
        keys.append(&[&rows, &rows]);
        assert!(keys.prefix(0) < keys.prefix(1));
        assert_eq!(keys.prefixes().len(), 2);
        keys.clear();
        assert!(keys.is_empty() && keys.bytes() > 0);
    }
}
