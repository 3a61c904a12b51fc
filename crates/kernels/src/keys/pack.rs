//! Fixed-width key columns packed into one word per row.

use types::{DataType, PhysicalType};

use crate::level::flavours;
use crate::loops::map_into;
use crate::{Bitmap, StrBuilder, Vector, VectorData};

/// Nullability of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// The column can hold NULL: one bit more.
    Possible,
    /// The column cannot hold NULL.
    Absent,
}

/// One column of a packed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyField {
    physical: PhysicalType,
    nulls: Nulls,
    /// Bits of the value.
    bits: u32,
    /// Subtracted before packing an integer; values are in `base..base + 2^bits`.
    base: i64,
}

impl KeyField {
    /// A column of `ty` held as `physical`; None when its values have no small fixed width: I128,
    /// INTERVAL, and text that may exceed 12 bytes.
    pub fn new(ty: DataType, physical: PhysicalType, nulls: Nulls) -> Option<Self> {
        let bits = match (physical, ty) {
            (PhysicalType::Bool, _) => 1,
            (PhysicalType::I32, DataType::SmallInt) => 16,
            (PhysicalType::I32, _) => 32,
            (PhysicalType::I64 | PhysicalType::F64, _) => 64,
            // A character has up to 4 bytes; 4 bits hold the length.
            (PhysicalType::Str, DataType::Char(n @ 1..=3) | DataType::Varchar(Some(n @ 0..=3))) => {
                n * 32 + 4
            }
            _ => return None,
        };
        let base = match (physical, ty) {
            (PhysicalType::I32, DataType::SmallInt) => i64::from(i16::MIN),
            (PhysicalType::I32, _) => i64::from(i32::MIN),
            _ => 0,
        };
        Some(Self { physical, nulls, bits, base })
    }

    /// An integer column whose values are proved to be in `min..=max`.
    ///
    /// # Panics
    /// If the range is empty or the column not of integers.
    pub fn ranged(physical: PhysicalType, nulls: Nulls, min: i64, max: i64) -> Self {
        assert!(matches!(physical, PhysicalType::I32 | PhysicalType::I64), "an integer column");
        assert!(min <= max, "a range of keys");
        let bits = (64 - (max.wrapping_sub(min) as u64).leading_zeros()).max(1);
        Self { physical, nulls, bits, base: min }
    }

    fn width(&self) -> u32 {
        self.bits + u32::from(self.nulls == Nulls::Possible)
    }
}

/// How key columns lie in a word: the first column in the lowest bits, its null bit above its
/// value. A NULL is its bit and zeros, so equal keys, NULL counted as equal to NULL, are equal
/// words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLayout {
    fields: Vec<KeyField>,
    bits: u32,
}

/// A word that keys are packed into: u64 or u128.
trait Word: Copy + Default + 'static {
    fn from_u128(value: u128) -> Self;
    fn from_u64(value: u64) -> Self;
    fn to_u128(self) -> u128;
    fn place(self, shift: u32, other: Self) -> Self;
    fn field(self, shift: u32, bits: u32) -> u64;
}

macro_rules! word {
    ($($word:ty),*) => {$(
        impl Word for $word {
            #[inline(always)]
            fn from_u128(value: u128) -> Self {
                value as $word
            }
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                <$word>::from(value)
            }
            #[inline(always)]
            fn to_u128(self) -> u128 {
                u128::from(self)
            }
            #[inline(always)]
            fn place(self, shift: u32, other: Self) -> Self {
                self | other << shift
            }
            #[inline(always)]
            fn field(self, shift: u32, bits: u32) -> u64 {
                (self >> shift) as u64 & (u64::MAX >> (64 - bits))
            }
        }
    )*};
}

word!(u64, u128);

impl KeyLayout {
    /// The layout of `fields`; None when they need more than 128 bits.
    pub fn new(fields: Vec<KeyField>) -> Option<Self> {
        let bits = fields.iter().map(KeyField::width).sum();
        (bits <= 128).then_some(Self { fields, bits })
    }

    /// Bits used: at most 64 for [`Self::pack_u64`].
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The fields, in key order.
    pub fn fields(&self) -> &[KeyField] {
        &self.fields
    }

    /// One word per row.
    ///
    /// # Panics
    /// If the layout needs more than 64 bits, or columns are not of its types and equally long.
    pub fn pack_u64(&self, columns: &[&Vector]) -> Vec<u64> {
        assert!(self.bits <= 64, "{} bits in 64", self.bits);
        self.pack(columns)
    }

    /// One word per row.
    ///
    /// # Panics
    /// If columns are not of the layout's types and equally long.
    pub fn pack_u128(&self, columns: &[&Vector]) -> Vec<u128> {
        self.pack(columns)
    }

    /// The columns that [`Self::pack_u64`] made these words from.
    pub fn unpack_u64(&self, words: &[u64]) -> Vec<Vector> {
        self.unpack(words)
    }

    /// The columns that [`Self::pack_u128`] made these words from.
    pub fn unpack_u128(&self, words: &[u128]) -> Vec<Vector> {
        self.unpack(words)
    }

    fn pack<W: Word>(&self, columns: &[&Vector]) -> Vec<W> {
        assert_eq!(columns.len(), self.fields.len(), "one column per field");
        let rows = columns.first().map_or(0, |c| c.len());
        let mut words = vec![W::default(); rows];
        let mut shift = 0;
        for (field, column) in self.fields.iter().zip(columns) {
            assert_eq!(column.len(), rows, "columns of equal length");
            pack_field(field, shift, column, &mut words);
            shift += field.width();
        }
        words
    }

    fn unpack<W: Word>(&self, words: &[W]) -> Vec<Vector> {
        let mut shift = 0;
        let unpack = |field: &KeyField| {
            let vector = unpack_field(field, shift, words);
            shift += field.width();
            vector
        };
        self.fields.iter().map(unpack).collect()
    }
}

flavours! {
    fn place_all[W: Word, T: Copy, F: Fn(T) -> W](
        words: &mut [W], values: &[T], shift: u32, f: F
    ) {
        for (word, &value) in words.iter_mut().zip(values) {
            *word = word.place(shift, f(value));
        }
    }
}

fn pack_field<W: Word>(field: &KeyField, shift: u32, column: &Vector, words: &mut [W]) {
    let base = field.base;
    let in_range = |v: i64| {
        let code = v.wrapping_sub(base) as u64;
        debug_assert!(column.validity.is_some() || field.bits == 64 || code >> field.bits == 0);
        W::from_u64(code & (u64::MAX >> (64 - field.bits)))
    };
    match &column.data {
        VectorData::Bool(v) => place_all(words, v, shift, |x| W::from_u64(u64::from(x))),
        VectorData::I32(v) => place_all(words, v, shift, |x| in_range(i64::from(x))),
        VectorData::I64(v) => place_all(words, v, shift, in_range),
        VectorData::F64(v) => place_all(words, v, shift, |x| {
            let canonical = if x.is_nan() { f64::NAN } else { x + 0.0 };
            W::from_u64(canonical.to_bits())
        }),
        VectorData::Str(v) => place_all(words, v.views(), shift, |view| {
            assert!(view.len() * 8 + 4 <= field.bits as usize, "text within its declared length");
            let bytes = u128::from(view.head() >> 32) | u128::from(view.tail()) << 32;
            W::from_u128(bytes << 4 | view.len() as u128)
        }),
        _ => panic!("{:?} in a packed key", column.physical()),
    }
    let Some(validity) = &column.validity else {
        return;
    };
    assert!(field.nulls == Nulls::Possible, "NULL in a key column declared without");
    let value = (u128::MAX >> (128 - field.bits)) << shift;
    let null = 1u128 << (shift + field.bits);
    for row in validity.not().ones() {
        let word = &mut words[row as usize];
        *word = W::from_u128(word.to_u128() & !value | null);
    }
}

fn unpack_field<W: Word>(field: &KeyField, shift: u32, words: &[W]) -> Vector {
    let (bits, base) = (field.bits, field.base);
    let data = match field.physical {
        PhysicalType::Bool => VectorData::Bool(fields_of(words, |w: W| w.field(shift, bits) as u8)),
        PhysicalType::I32 => VectorData::I32(fields_of(words, |w: W| {
            base.wrapping_add(w.field(shift, bits) as i64) as i32
        })),
        PhysicalType::I64 => {
            VectorData::I64(fields_of(words, |w: W| base.wrapping_add(w.field(shift, bits) as i64)))
        }
        PhysicalType::F64 => {
            VectorData::F64(fields_of(words, |w: W| f64::from_bits(w.field(shift, bits))))
        }
        PhysicalType::Str => {
            let mut builder = StrBuilder::with_capacity(words.len());
            for word in words {
                let value = word.to_u128() >> shift & (u128::MAX >> (128 - bits));
                let bytes = (value >> 4).to_le_bytes();
                builder.push(&bytes[..(value & 15) as usize]);
            }
            VectorData::Str(builder.finish())
        }
        other => panic!("{other:?} in a packed key"),
    };
    let validity = (field.nulls == Nulls::Possible).then(|| {
        let bit = shift + bits;
        Bitmap::from_fn(words.len(), |i| words[i].to_u128() >> bit & 1 == 0)
    });
    Vector::with_validity(data, validity)
}

fn fields_of<W: Word, T: Copy>(words: &[W], f: impl Fn(W) -> T) -> Vec<T> {
    let mut out = Vec::new();
    map_into(words, &mut out, f);
    out
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use testkit::{values, with_gaps};
    use types::Value;

    use super::*;
    use crate::VectorBuilder;

    fn column<T: Clone>(
        physical: PhysicalType,
        rows: &[Option<T>],
        value: impl Fn(T) -> Value,
    ) -> Vector {
        let mut builder = VectorBuilder::new(physical);
        for row in rows {
            builder.push_value(&row.clone().map_or(Value::Null, &value));
        }
        builder.finish()
    }

    fn same(a: &Vector, b: &Vector) {
        assert_eq!(a.len(), b.len());
        (0..a.len()).for_each(|i| assert_eq!(a.value(i), b.value(i)));
    }

    type Row = (Option<bool>, Option<i32>, Option<i16>, Option<i64>, Option<String>);

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let row = (
            with_gaps(any::<bool>()),
            with_gaps(values::<i32>()),
            with_gaps(values::<i16>()),
            with_gaps(-3i64..5),
            with_gaps(prop_oneof![Just(String::new()), Just("A".into()), Just("€".into())]),
        );
        vec(row, 0..60)
    }

    proptest! {
        #[test]
        fn packed_keys_come_back_and_differ_where_rows_do(rows in rows()) {
            fn get<T>(rows: &[Row], f: impl Fn(&Row) -> T) -> Vec<T> {
                rows.iter().map(f).collect()
            }
            let columns = [
                column(PhysicalType::Bool, &get(&rows, |r| r.0), Value::Bool),
                column(PhysicalType::I32, &get(&rows, |r| r.1), Value::I32),
                column(PhysicalType::I32, &get(&rows, |r| r.2), |v| Value::I32(v.into())),
                column(PhysicalType::I64, &get(&rows, |r| r.3), Value::I64),
                column(PhysicalType::Str, &get(&rows, |r| r.4.clone()), |v| Value::text(&v)),
            ];
            let new = |ty, physical| KeyField::new(ty, physical, Nulls::Possible);
            let fields = [
                new(DataType::Boolean, PhysicalType::Bool),
                new(DataType::Integer, PhysicalType::I32),
                new(DataType::SmallInt, PhysicalType::I32),
                Some(KeyField::ranged(PhysicalType::I64, Nulls::Possible, -3, 4)),
                new(DataType::Char(1), PhysicalType::Str),
            ];
            let fields: Vec<KeyField> = fields.into_iter().flatten().collect();
            prop_assert_eq!(fields.len(), 5);
            let columns: Vec<&Vector> = columns.iter().collect();
            let Some(wide) = KeyLayout::new(fields.clone()) else {
                panic!("94 bits fit");
            };
            let words = wide.pack_u128(&columns);
            for (a, b) in wide.unpack_u128(&words).iter().zip(&columns) {
                same(a, b);
            }
            for (i, a) in rows.iter().enumerate() {
                for (j, b) in rows.iter().enumerate() {
                    prop_assert_eq!(a == b, words[i] == words[j]);
                }
            }
            let Some(narrow) = KeyLayout::new(fields[..4].to_vec()) else {
                panic!("55 bits fit");
            };
            let words = narrow.pack_u64(&columns[..4]);
            for (a, b) in narrow.unpack_u64(&words).iter().zip(&columns) {
                same(a, b);
            }
        }
    }

    #[test]
    fn floats_pack_by_value_and_wide_types_do_not_pack() {
        let field = KeyField::new(DataType::Double, PhysicalType::F64, Nulls::Absent);
        let layout = field.and_then(|f| KeyLayout::new(vec![f, f]));
        let zeros = Vector::new(VectorData::F64(vec![0.0, -0.0, f64::NAN, -f64::NAN]));
        let words = layout.map(|l| l.pack_u128(&[&zeros, &zeros])).unwrap_or_default();
        assert_eq!(words[0], words[1]);
        assert_eq!(words[2], words[3]);
        let numeric = DataType::numeric(38, 2);
        assert_eq!(KeyField::new(numeric, PhysicalType::I128, Nulls::Absent), None);
        assert_eq!(KeyField::new(DataType::Text, PhysicalType::Str, Nulls::Absent), None);
        let big = KeyField::new(DataType::BigInt, PhysicalType::I64, Nulls::Possible);
        assert_eq!(big.and_then(|f| KeyLayout::new(vec![f, f])), None);
    }
}
