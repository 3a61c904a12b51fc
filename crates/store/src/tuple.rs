//! Rows as runs of words: made from values, and read field by field.
//!
//! Layout: [`Schema`]. Rows at rest may be words that other threads write beside them (pages of a
//! log), so that what reads them is generic over where words come from.

use std::sync::atomic::{AtomicU64, Ordering};

use types::Value;

use crate::error::{Result, StoreError};
use crate::schema::{FieldId, FieldType, Nulls, Schema};

/// Bytes a row may have in any table.
pub const TUPLE_BYTES_MAX: usize = 1 << 28;

/// Words of a row, wherever they are.
pub(crate) trait Words {
    /// Word `i`.
    fn word(&self, i: usize) -> u64;
}

impl Words for [u64] {
    #[inline(always)]
    fn word(&self, i: usize) -> u64 {
        self[i]
    }
}

impl Words for [AtomicU64] {
    #[inline(always)]
    fn word(&self, i: usize) -> u64 {
        // Rows of a log are published by the entry's header; see `log`.
        self[i].load(Ordering::Relaxed)
    }
}

/// One row, of whatever schema it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    words: Box<[u64]>,
}

impl Tuple {
    pub(crate) fn from_words(words: Box<[u64]>) -> Self {
        Self { words }
    }

    /// Its words; where its fields stand in them, [`Schema`] knows.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The row of these words, which came from outside.
    ///
    /// # Errors
    /// [`StoreError::InvalidTuple`] when they are no row of `schema`.
    pub(crate) fn of_schema(schema: &Schema, words: Box<[u64]>) -> Result<Self> {
        if !is_row(schema, &words) {
            let message = format!("{} words that are no row", words.len());
            return Err(StoreError::InvalidTuple(message));
        }
        Ok(Self { words })
    }

    /// Bytes it takes, a multiple of 8.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// The row of `values`, one for each field of `schema`.
    ///
    /// # Errors
    /// [`StoreError::InvalidTuple`] for a NULL where none may be, a value of another type or out of
    /// the type's range, and values too few or too many.
    pub fn encode(schema: &Schema, values: &[Value]) -> Result<Self> {
        if values.len() != schema.fields().len() {
            let message = format!("{} values for {} fields", values.len(), schema.fields().len());
            return Err(StoreError::InvalidTuple(message));
        }
        let mut writer = TupleWriter::default();
        writer.begin(schema);
        for (i, (value, field)) in values.iter().zip(schema.fields()).enumerate() {
            let wrong = || StoreError::InvalidTuple(format!("{value:?} in field {}", field.name));
            match (value, field.field_type) {
                (Value::Null, _) if field.nulls == Nulls::Allowed => writer.null(schema, i),
                (Value::Str(bytes), FieldType::Bytes) => writer.bytes(schema, i, bytes),
                (value, field_type) => {
                    let bits = fixed_bits(field_type, value).ok_or_else(wrong)?;
                    writer.fixed(schema, i, bits);
                }
            }
        }
        writer.finish(schema)?;
        Ok(Self { words: writer.words.into() })
    }

    /// Its values, one for each field of `schema`.
    pub fn decode(&self, schema: &Schema) -> Vec<Value> {
        TupleRef { schema, words: &*self.words }.values()
    }

    /// The value of one field.
    pub fn value(&self, schema: &Schema, field: FieldId) -> Value {
        TupleRef { schema, words: &*self.words }.value(field.idx())
    }
}

/// True when all fields lie inside of `words`, and NULLs are empty.
pub(crate) fn is_row(schema: &Schema, words: &[u64]) -> bool {
    let (fixed, bytes) = (schema.heap_at(), words.len() * 8);
    if bytes < fixed || bytes > TUPLE_BYTES_MAX {
        return false;
    }
    let offset = |number| {
        let (word, shift) = schema.offset_place(number);
        (words[word] >> shift) as u32 as usize
    };
    let mut end = fixed;
    if schema.variable_count() > 0 {
        let is_ascending = (0..schema.variable_count()).all(|i| offset(i) <= offset(i + 1));
        if offset(0) != fixed || !is_ascending {
            return false;
        }
        end = offset(schema.variable_count());
    }
    if end.next_multiple_of(8) != bytes {
        return false;
    }
    let row = TupleRef { schema, words };
    schema.fields().iter().enumerate().filter(|(i, _)| row.is_null(*i)).all(
        |(i, field)| match field.field_type.width() {
            0 => row.range(i).is_empty(),
            width => row.bits(i) << (64 - 8 * width) == 0,
        },
    )
}

/// The value as the low bits of a word; `None` when it is not of the type.
pub(crate) fn fixed_bits(field_type: FieldType, value: &Value) -> Option<u64> {
    Some(match (field_type, value) {
        (FieldType::I16, Value::I32(v)) => u64::from(i16::try_from(*v).ok()? as u16),
        (FieldType::I32, Value::I32(v)) => u64::from(*v as u32),
        (FieldType::I64, Value::I64(v)) => *v as u64,
        (FieldType::F32, Value::F64(v)) => u64::from((*v as f32).to_bits()),
        (FieldType::F64, Value::F64(v)) => v.to_bits(),
        _ => return None,
    })
}

/// The value behind the low bits of a word.
pub(crate) fn fixed_value(field_type: FieldType, bits: u64) -> Value {
    match field_type {
        FieldType::I16 => Value::I32(i32::from(bits as i16)),
        FieldType::I32 => Value::I32(bits as i32),
        FieldType::I64 => Value::I64(bits as i64),
        FieldType::F32 => Value::F64(f64::from(f32::from_bits(bits as u32))),
        FieldType::F64 => Value::F64(f64::from_bits(bits)),
        FieldType::Bytes => Value::Null,
    }
}

/// Makes rows in words that it keeps for the next one: fields in the schema's order, then
/// [`Self::finish`].
#[derive(Debug, Default)]
pub(crate) struct TupleWriter {
    pub words: Vec<u64>,
    heap_len: usize,
}

impl TupleWriter {
    /// Begins a row: every field is 0 and not NULL.
    pub(crate) fn begin(&mut self, schema: &Schema) {
        self.words.clear();
        self.words.resize(schema.heap_at() / 8, 0);
        self.heap_len = 0;
    }

    /// Begins a row whose words before the texts are these, with offsets that are 0.
    pub(crate) fn begin_with(&mut self, fixed: &[u64]) {
        self.words.clear();
        self.words.extend_from_slice(fixed);
        self.heap_len = 0;
    }

    /// Sets a field of fixed width.
    #[inline]
    pub(crate) fn fixed(&mut self, schema: &Schema, field: usize, bits: u64) {
        let place = schema.place(field);
        self.words[place.at as usize] |= bits << place.shift;
    }

    /// Makes a field NULL.
    pub(crate) fn null(&mut self, schema: &Schema, field: usize) {
        let place = schema.place(field);
        let bit = place.null_bit.expect("only nullable fields are NULL");
        self.words[bit as usize / 64] |= 1 << (bit % 64);
        if schema.fields()[field].field_type == FieldType::Bytes {
            self.bytes(schema, field, &[]);
        }
    }

    /// Sets a field of variable size; these come in the schema's order.
    pub(crate) fn bytes(&mut self, schema: &Schema, field: usize, bytes: &[u8]) {
        self.offset(schema, schema.place(field).at as usize);
        let mut rest = bytes;
        if !self.heap_len.is_multiple_of(8) {
            let (first, after) = rest.split_at(rest.len().min(8 - self.heap_len % 8));
            let shift = self.heap_len % 8 * 8;
            if let Some(last) = self.words.last_mut() {
                *last |= word_of(first) << shift;
            }
            rest = after;
        }
        self.words.extend(rest.chunks(8).map(word_of));
        self.heap_len += bytes.len();
    }

    fn offset(&mut self, schema: &Schema, number: usize) {
        let (word, shift) = schema.offset_place(number);
        self.words[word] |= ((schema.heap_at() + self.heap_len) as u64 & 0xffff_ffff) << shift;
    }

    /// Ends a row whose fields are some of one that was [`Self::finish`]ed.
    pub(crate) fn finished(&mut self, schema: &Schema) -> &[u64] {
        self.end(schema);
        &self.words
    }

    fn end(&mut self, schema: &Schema) {
        if schema.variable_count() > 0 {
            self.offset(schema, schema.variable_count());
        }
    }

    /// Ends the row, which is in `words`.
    ///
    /// # Errors
    /// [`StoreError::InvalidTuple`] when it is larger than any page.
    pub(crate) fn finish(&mut self, schema: &Schema) -> Result<()> {
        self.end(schema);
        if self.words.len() * 8 > TUPLE_BYTES_MAX {
            return Err(StoreError::InvalidTuple(format!("{} bytes", self.words.len() * 8)));
        }
        Ok(())
    }
}

/// Up to eight bytes as a word, the first lowest.
#[inline]
pub(crate) fn word_of(bytes: &[u8]) -> u64 {
    let mut buffer = [0; 8];
    buffer[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(buffer)
}

/// A row where it stands.
pub(crate) struct TupleRef<'a, W: Words + ?Sized> {
    pub schema: &'a Schema,
    pub words: &'a W,
}

impl<W: Words + ?Sized> TupleRef<'_, W> {
    /// True when the field is NULL.
    #[inline]
    pub(crate) fn is_null(&self, field: usize) -> bool {
        let bit = self.schema.place(field).null_bit;
        bit.is_some_and(|bit| self.words.word(bit as usize / 64) >> (bit % 64) & 1 == 1)
    }

    /// A field of fixed width, in the low bits; bits above are those of its neighbours.
    #[inline]
    pub(crate) fn bits(&self, field: usize) -> u64 {
        let place = self.schema.place(field);
        self.words.word(place.at as usize) >> place.shift
    }

    /// Where the bytes of a field of variable size begin and end.
    #[inline]
    pub(crate) fn range(&self, field: usize) -> std::ops::Range<usize> {
        let number = self.schema.place(field).at as usize;
        let offset = |number| {
            let (word, shift) = self.schema.offset_place(number);
            (self.words.word(word) >> shift) as u32 as usize
        };
        offset(number)..offset(number + 1)
    }

    /// Appends the bytes of a field of variable size.
    pub(crate) fn bytes_into(&self, field: usize, out: &mut Vec<u8>) {
        let range = self.range(field);
        let (first, last) = (range.start / 8, range.end.div_ceil(8));
        let base = out.len();
        for i in first..last {
            out.extend_from_slice(&self.words.word(i).to_le_bytes());
        }
        out.truncate(base + range.end - first * 8);
        out.drain(base..base + range.start % 8);
    }

    /// The value of a field: for output and tests.
    pub(crate) fn value(&self, field: usize) -> Value {
        let field_type = self.schema.fields()[field].field_type;
        if self.is_null(field) {
            Value::Null
        } else if field_type == FieldType::Bytes {
            let mut bytes = Vec::new();
            self.bytes_into(field, &mut bytes);
            Value::Str(bytes.into())
        } else {
            fixed_value(field_type, self.bits(field))
        }
    }

    /// All values.
    pub(crate) fn values(&self) -> Vec<Value> {
        (0..self.schema.fields().len()).map(|field| self.value(field)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schema::{Field, TableKind};

    const TYPES: [FieldType; 6] = [
        FieldType::I16,
        FieldType::I32,
        FieldType::I64,
        FieldType::F32,
        FieldType::F64,
        FieldType::Bytes,
    ];

    fn value(field_type: FieldType) -> BoxedStrategy<Value> {
        match field_type {
            FieldType::I16 => testkit::values::<i16>().prop_map(|v| Value::I32(v.into())).boxed(),
            FieldType::I32 => testkit::values::<i32>().prop_map(Value::I32).boxed(),
            FieldType::I64 => testkit::values::<i64>().prop_map(Value::I64).boxed(),
            FieldType::F32 => testkit::values::<f32>().prop_map(|v| Value::F64(v.into())).boxed(),
            FieldType::F64 => testkit::values::<f64>().prop_map(Value::F64).boxed(),
            FieldType::Bytes => proptest::collection::vec(any::<u8>(), 0..20)
                .prop_map(|v| Value::Str(v.into()))
                .boxed(),
        }
    }

    fn field(i: usize, field_type: FieldType, nulls: Nulls) -> Field {
        Field { name: format!("f{i}"), field_type, nulls }
    }

    /// A schema and a row of it.
    fn rows() -> impl Strategy<Value = (Schema, Vec<Value>)> {
        let one = (0..TYPES.len(), any::<bool>(), any::<bool>());
        let fields = proptest::collection::vec(one, 0..90);
        fields.prop_flat_map(|picks| {
            let nulls = |allowed| if allowed { Nulls::Allowed } else { Nulls::Never };
            let fields = picks.iter().enumerate().map(|(i, p)| field(i, TYPES[p.0], nulls(p.1)));
            let schema = Schema::new(TableKind::Transactional, fields.collect()).expect("fits");
            let values: Vec<_> = picks
                .iter()
                .map(|p| if p.1 && p.2 { Just(Value::Null).boxed() } else { value(TYPES[p.0]) })
                .collect();
            (Just(schema), values)
        })
    }

    proptest! {
        #[test] // Row 10: what was encoded is decoded, from plain words and from atomic ones.
        fn rows_come_back((schema, values) in rows()) {
            let tuple = Tuple::encode(&schema, &values).expect("fits");
            prop_assert_eq!(tuple.decode(&schema), values.clone());
            let words: Vec<AtomicU64> = tuple.words().iter().map(|w| AtomicU64::new(*w)).collect();
            let there = TupleRef { schema: &schema, words: &*words };
            prop_assert_eq!(there.values(), values);
            for (i, field) in schema.fields().iter().enumerate() {
                if field.field_type != FieldType::Bytes {
                    let width = field.field_type.width() as u32 * 8;
                    prop_assert!(schema.place(i).shift + width <= 64, "within one word");
                }
            }
        }
    }

    #[test]
    fn no_nullable_field_means_no_null_bits() {
        let fields = |nulls| vec![field(0, FieldType::I64, nulls), field(1, FieldType::I16, nulls)];
        let schema = |nulls| Schema::new(TableKind::Transactional, fields(nulls)).expect("fits");
        let row = [Value::I64(1), Value::I32(2)];
        let bytes = |nulls| Tuple::encode(&schema(nulls), &row).expect("fits").bytes();
        assert_eq!(bytes(Nulls::Never), 16);
        assert_eq!(bytes(Nulls::Allowed), 24);
        let empty = Schema::new(TableKind::Transactional, Vec::new()).expect("fits");
        assert_eq!(Tuple::encode(&empty, &[]).expect("fits").bytes(), 0);
    }

    #[test]
    fn wide_fields_come_first_whatever_the_order() {
        let fields = vec![
            field(0, FieldType::I16, Nulls::Never),
            field(1, FieldType::Bytes, Nulls::Never),
            field(2, FieldType::I32, Nulls::Never),
            field(3, FieldType::I64, Nulls::Never),
        ];
        let schema = Schema::new(TableKind::Transactional, fields).expect("fits");
        let place = |i: usize| (schema.place(i).at, schema.place(i).shift);
        assert_eq!([place(3), place(2), place(0)], [(0, 0), (1, 0), (1, 32)]);
        assert_eq!((schema.offset_place(0), schema.heap_at()), ((2, 0), 24));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let fields = vec![field(0, FieldType::I16, Nulls::Never)];
        let schema = Schema::new(TableKind::Transactional, fields).expect("fits");
        for values in [vec![Value::Null], vec![Value::I32(1 << 15)], vec![Value::I64(1)], vec![]] {
            let outcome = Tuple::encode(&schema, &values);
            assert!(matches!(outcome, Err(StoreError::InvalidTuple(_))), "{values:?}");
        }
        let twice = vec![field(0, FieldType::I16, Nulls::Never); 2];
        let outcome = Schema::new(TableKind::Transactional, twice);
        assert!(matches!(outcome, Err(StoreError::InvalidTable(_))));
    }
}
