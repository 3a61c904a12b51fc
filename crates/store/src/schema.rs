//! Columns of a table, and where each of them stands in a row.
//!
//! ```text
//! word 0 ..          | null bits | 8-byte fields | 4-byte fields | 2-byte fields | pad to 4 |
//! then, with texts   | u32 offsets, one more than texts | pad to 8 | texts | pad to 8 |
//! ```
//! A row is a run of 64-bit words. Nullable fields have one bit, 1 = NULL, in the order of the
//! schema; without nullable fields there are no null bits. A field of fixed width lies within one
//! word at a place that is the same in every row: NULL takes its width, too, and is 0. Offsets
//! count bytes from the row's beginning; text `i` ends where `i + 1` begins, and NULL is empty.
//! Source: Pilman 2017, section 4.4.2. Departure: widest fields first and offsets in the place of
//! lengths, so that every place is a constant.

use crate::error::{Result, StoreError};

/// Key of a row.
pub type Key = u64;

/// Values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// 16-bit integer; a [`types::Value::I32`] outside.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// 32-bit floating point; a [`types::Value::F64`] outside.
    F32,
    /// 64-bit floating point.
    F64,
    /// Bytes, of a text or not, in byte order.
    Bytes,
}

impl FieldType {
    /// Bytes of a value of fixed width; 0 for [`Self::Bytes`].
    pub fn width(self) -> usize {
        match self {
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
            Self::Bytes => 0,
        }
    }

    /// True for integers.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::I16 | Self::I32 | Self::I64)
    }
}

/// Number of a field in its schema, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub u16);

impl FieldId {
    pub(crate) fn idx(self) -> usize {
        usize::from(self.0)
    }
}

/// NULLs in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// Every row has a value.
    Never,
    /// Rows may have none.
    Allowed,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, unique in the schema.
    pub name: String,
    /// Its values.
    pub field_type: FieldType,
    /// Its NULLs.
    pub nulls: Nulls,
}

impl Field {
    /// A field that is never NULL.
    pub fn new(name: &str, field_type: FieldType) -> Self {
        Self { name: name.into(), field_type, nulls: Nulls::Never }
    }

    /// A field that may be NULL.
    pub fn nullable(name: &str, field_type: FieldType) -> Self {
        Self { nulls: Nulls::Allowed, ..Self::new(name, field_type) }
    }
}

/// Meaning of a table's version numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// Versions are transactions; old ones stay as long as a snapshot may read them.
    Transactional,
    /// Versions count the writes of a key; replaced ones are garbage at once.
    NonTransactional,
}

/// Place of a field in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Number of its null bit.
    pub null_bit: Option<u32>,
    /// Word of a fixed field, or number among the fields of variable size.
    pub at: u32,
    /// Bits below a fixed field in its word.
    pub shift: u32,
}

/// The columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    kind: TableKind,
    fields: Vec<Field>,
    places: Vec<Place>,
    /// Byte where the offsets begin.
    offsets_at: usize,
    variable_count: usize,
}

/// Fields that a schema may have.
const FIELD_COUNT_MAX: usize = 1 << 14;

impl Schema {
    /// The schema of `fields`, which may be none.
    ///
    /// # Errors
    /// [`StoreError::InvalidTable`] for a name that comes twice, and for more than 16,384 fields.
    pub fn new(kind: TableKind, fields: Vec<Field>) -> Result<Self> {
        if fields.len() > FIELD_COUNT_MAX {
            return Err(StoreError::InvalidTable(format!("{} fields", fields.len())));
        }
        let mut names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(StoreError::InvalidTable(format!("field {} comes twice", pair[0])));
        }
        Ok(Self::laid_out(kind, fields))
    }

    fn laid_out(kind: TableKind, fields: Vec<Field>) -> Self {
        let mut places = vec![Place { null_bit: None, at: 0, shift: 0 }; fields.len()];
        let nullable = fields.iter().zip(&mut places).filter(|(f, _)| f.nulls == Nulls::Allowed);
        let mut null_count = 0;
        for (_, place) in nullable {
            place.null_bit = Some(null_count);
            null_count += 1;
        }
        let null_words = (null_count as usize).div_ceil(64);
        let mut byte = null_words * 8;
        for width in [8, 4, 2] {
            let of_width = fields.iter().zip(&mut places);
            for (_, place) in of_width.filter(|(f, _)| f.field_type.width() == width) {
                (place.at, place.shift) = ((byte / 8) as u32, (byte % 8 * 8) as u32);
                byte += width;
            }
        }
        let variable = fields.iter().zip(&mut places).filter(|(f, _)| f.field_type.width() == 0);
        let mut variable_count = 0;
        for (_, place) in variable {
            place.at = variable_count;
            variable_count += 1;
        }
        let offsets_at = byte.next_multiple_of(4);
        let variable_count = variable_count as usize;
        Self { kind, fields, places, offsets_at, variable_count }
    }

    /// Meaning of its version numbers.
    pub fn kind(&self) -> TableKind {
        self.kind
    }

    /// Its fields, in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<FieldId> {
        let idx = self.fields.iter().position(|field| field.name == name)?;
        Some(FieldId(idx as u16))
    }

    /// Type of `field`, if the schema has it.
    pub fn type_of(&self, field: FieldId) -> Option<FieldType> {
        self.fields.get(field.idx()).map(|field| field.field_type)
    }

    /// The schema of rows that hold `fields` alone, in that order; `None` when one is unknown. A
    /// field that comes twice has the name of both.
    pub fn project(&self, fields: &[FieldId]) -> Option<Self> {
        let picked = fields.iter().map(|field| self.fields.get(field.idx()).cloned());
        Some(Self::laid_out(self.kind, picked.collect::<Option<_>>()?))
    }

    /// Place of field number `field`.
    pub fn place(&self, field: usize) -> Place {
        self.places[field]
    }

    /// Fields of variable size.
    pub(crate) fn variable_count(&self) -> usize {
        self.variable_count
    }

    /// Word and shift of offset `number`, from 0.
    pub fn offset_place(&self, number: usize) -> (usize, u32) {
        let byte = self.offsets_at + 4 * number;
        (byte / 8, (byte % 8 * 8) as u32)
    }

    /// Bytes before the texts: all bytes of a row without fields of variable size.
    pub fn heap_at(&self) -> usize {
        let offsets = if self.variable_count == 0 { 0 } else { 4 * (self.variable_count + 1) };
        (self.offsets_at + offsets).next_multiple_of(8)
    }
}
