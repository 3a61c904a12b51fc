//! Declared types and their representation in memory.

mod element_type;
mod enum_type;
mod form;
mod interval_form;
mod packed_type;
mod range_type;
mod record_type;
mod reg_kind;

pub use element_type::ElementType;
pub use enum_type::{EnumLabel, EnumType, LABEL_BYTES_MAX, LabelPlace};
pub use form::{same_array_form, same_record_form};
pub use interval_form::{IntervalFields, IntervalForm};
pub use packed_type::{PackedType, RangeKind};
pub use range_type::{RangeContent, RangeName, RangeOptions, UserRange};
pub use record_type::{Attribute, RecordField, RecordType};
pub use reg_kind::RegKind;

/// Where the digits of a NUMERIC come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumericDisplay {
    /// Declared: NUMERIC(p, s), printed with exactly `scale` fractional digits.
    Fixed,
    /// Computed: a NUMERIC without precision whose values all have `scale` fractional digits.
    Computed,
    /// NUMERIC without precision as builds before wide decimals stored it: trailing fractional
    /// zeros are not shown.
    Trimmed,
}

/// A NUMERIC: an integer of at most `precision` decimal digits, divided by 10 to the `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumericType {
    /// Decimal digits in all, 1 to 38.
    pub precision: u8,
    /// Digits after the decimal point, 0 to `precision`.
    pub scale: u8,
    /// How it is printed.
    pub display: NumericDisplay,
}

impl NumericType {
    /// The most digits a NUMERIC holds.
    pub const PRECISION_MAX: u8 = 38;
    /// The most digits held in 64 bits.
    pub const PRECISION_64: u8 = 18;
    /// NUMERIC without precision as builds before wide decimals stored it.
    pub const TRIMMED: Self = Self { precision: 38, scale: 16, display: NumericDisplay::Trimmed };

    /// NUMERIC(`precision`, `scale`), printed with all its digits.
    pub const fn fixed(precision: u8, scale: u8) -> Self {
        Self { precision, scale, display: NumericDisplay::Fixed }
    }

    /// A NUMERIC of at most `precision` digits that was computed with `scale` of them after the
    /// point.
    pub const fn computed(precision: u8, scale: u8) -> Self {
        Self { precision, scale, display: NumericDisplay::Computed }
    }

    /// True when values show fewer digits than they are held with.
    pub const fn is_trimmed(self) -> bool {
        matches!(self.display, NumericDisplay::Trimmed)
    }
}

/// The digits of a NUMERIC that was declared with more than scaled integers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WideDigits {
    /// Decimal digits in all, 1 to 1000.
    pub precision: u16,
    /// Digits after the decimal point, -1000 to 1000; zeros before it when negative.
    pub scale: i16,
}

/// A SQL type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// The type of a bare NULL or an untyped string literal before the binder decides.
    Unknown,
    /// BOOLEAN.
    Boolean,
    /// SMALLINT, 16 bits.
    SmallInt,
    /// INTEGER, 32 bits.
    Integer,
    /// BIGINT, 64 bits.
    BigInt,
    /// OID, 32 bits without a sign: the number of an object in PostgreSQL's catalog.
    Oid,
    /// The number of an object with its name, `regclass` and its kin: see [`crate::object_value`].
    Reg(RegKind),
    /// XID, 32 bits without a sign: the number of a transaction.
    Xid,
    /// TID: the place of a row, block and offset.
    Tid,
    /// REAL, 32-bit floating point.
    Real,
    /// DOUBLE PRECISION.
    Double,
    /// NUMERIC of one scale, as scaled integers.
    Numeric(NumericType),
    /// NUMERIC whose values have each a scale of their own: see [`crate::wide`].
    WideNumeric(Option<WideDigits>),
    /// CHAR(n): blank padded to n characters when printed, trailing blanks never significant.
    /// Stored without its trailing blanks. CHAR(0) has any length, and keeps its blanks: what
    /// values of several lengths become together; it is compared by its key, which has none.
    Char(u32),
    /// VARCHAR, at most n characters when given.
    Varchar(Option<u32>),
    /// TEXT.
    Text,
    /// NAME: at most 63 bytes of text.
    Name,
    /// `"char"`: one byte, as text.
    InternalChar,
    /// ACLITEM, as text: who may do what.
    AclItem,
    /// REFCURSOR, as text: the name of a cursor.
    RefCursor,
    /// BYTEA.
    Bytea,
    /// DATE: days since 1970-01-01.
    Date,
    /// TIME: microseconds since midnight; rounded to so many digits of a second when given, 0 to 6.
    Time(Option<u8>),
    /// TIMESTAMP: microseconds since 1970-01-01 00:00, no zone; rounded likewise.
    Timestamp(Option<u8>),
    /// TIMESTAMPTZ: microseconds since 1970-01-01 00:00 UTC; likewise.
    TimestampTz(Option<u8>),
    /// INTERVAL: months, days, microseconds; without some fields and digits when given.
    Interval(Option<IntervalForm>),
    /// UUID.
    Uuid,
    /// A type of named values, each held as its place in their order: see [`EnumType`].
    Enum(EnumType),
    /// JSON: text that was checked, as it was written.
    Json,
    /// JSONB, as canonical text: see [`crate::json`].
    Jsonb,
    /// JSONPATH, as canonical text: see [`crate::json_path`].
    JsonPath,
    /// An array of one dimension: see [`crate::array`].
    Array(ElementType),
    /// A row of several fields: see [`crate::record`].
    Record(RecordType),
    /// Bytes in the order of the type: see [`crate::packed`].
    Packed(PackedType),
}

/// How the rows of a column look in memory while a query runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhysicalType {
    /// One byte, 0 or 1.
    Bool,
    /// SMALLINT, INTEGER, DATE, enumerated types.
    I32,
    /// BIGINT, OID, XID, TID, TIME, TIMESTAMP, TIMESTAMPTZ, NUMERIC to 18 digits.
    I64,
    /// NUMERIC to 38 digits; UUID with its top bit flipped, so that signed order is byte order.
    I128,
    /// DOUBLE PRECISION; REAL, rounded to 32 bits after each operation (exact for + - * / sqrt).
    F64,
    /// Text of all types, BYTEA, JSON, wide decimals, arrays, records, packed types, `regclass` and
    /// its kin: a 16-byte view.
    Str,
    /// INTERVAL, 16 bytes.
    Interval,
}

impl PhysicalType {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Bool, Self::I32, Self::I64, Self::I128, Self::F64, Self::Str, Self::Interval];

    /// Number in files and messages: 0 to 6.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The type with this number.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl DataType {
    /// NUMERIC without precision.
    pub const NUMERIC: Self = Self::WideNumeric(None);
    /// TIME of all digits.
    pub const TIME: Self = Self::Time(None);
    /// TIMESTAMP of all digits.
    pub const TIMESTAMP: Self = Self::Timestamp(None);
    /// TIMESTAMPTZ of all digits.
    pub const TIMESTAMPTZ: Self = Self::TimestampTz(None);

    /// INTERVAL of all fields and digits.
    pub const INTERVAL: Self = Self::Interval(None);

    /// TIMESTAMPTZ, of any digits.
    pub const fn is_timestamptz(self) -> bool {
        matches!(self, Self::TimestampTz(_))
    }

    /// The digits of a second that values are rounded to; None for all that there are.
    pub const fn second_digits(self) -> Option<u8> {
        match self {
            Self::Time(digits) | Self::Timestamp(digits) | Self::TimestampTz(digits) => {
                match digits {
                    Some(digits) if digits < 6 => Some(digits),
                    _ => None,
                }
            }
            Self::Packed(PackedType::TimeTz(Some(digits))) if digits < 6 => Some(digits),
            _ => None,
        }
    }

    /// INTERVAL, of any fields and digits.
    pub const fn is_interval(self) -> bool {
        matches!(self, Self::Interval(_))
    }

    /// True when values of the type without digits and fields are changed to be of this one.
    pub const fn rounds_time(self) -> bool {
        self.second_digits().is_some() || matches!(self, Self::Interval(Some(_)))
    }

    /// The type without the digits that values are rounded to, and without an INTERVAL's fields.
    pub const fn of_all_digits(self) -> Self {
        match self {
            Self::Time(_) => Self::TIME,
            Self::Timestamp(_) => Self::TIMESTAMP,
            Self::TimestampTz(_) => Self::TIMESTAMPTZ,
            Self::Interval(_) => Self::INTERVAL,
            Self::Packed(ty) => Self::Packed(ty.without_length()),
            other => other,
        }
    }

    /// The digits after the point of an integer or NUMERIC type.
    pub fn scale(self) -> Option<u8> {
        match self {
            Self::Numeric(numeric) => Some(numeric.scale),
            _ => self.is_integer().then_some(0),
        }
    }

    /// How rows of this type look in memory, unless the planner proved a NUMERIC narrower.
    pub const fn physical(self) -> PhysicalType {
        match self {
            Self::Boolean => PhysicalType::Bool,
            Self::SmallInt | Self::Integer | Self::Date | Self::Enum(_) => PhysicalType::I32,
            Self::BigInt
            | Self::Oid
            | Self::Xid
            | Self::Tid
            | Self::Time(_)
            | Self::Timestamp(_)
            | Self::TimestampTz(_) => PhysicalType::I64,
            Self::Real | Self::Double => PhysicalType::F64,
            Self::Numeric(n) if n.precision <= NumericType::PRECISION_64 => PhysicalType::I64,
            Self::Numeric(_) | Self::Uuid => PhysicalType::I128,
            Self::Unknown
            | Self::WideNumeric(_)
            | Self::Char(_)
            | Self::Varchar(_)
            | Self::Text
            | Self::Name
            | Self::InternalChar
            | Self::AclItem
            | Self::RefCursor
            | Self::Reg(_)
            | Self::Bytea
            | Self::Json
            | Self::Jsonb
            | Self::JsonPath
            | Self::Array(_)
            | Self::Record(_)
            | Self::Packed(_) => PhysicalType::Str,
            Self::Interval(_) => PhysicalType::Interval,
        }
    }

    /// NUMERIC(`precision`, `scale`).
    pub const fn numeric(precision: u8, scale: u8) -> Self {
        Self::Numeric(NumericType::fixed(precision, scale))
    }

    /// True when equal values are the same in every respect, so that functions cannot tell them
    /// apart: not 0.0 and -0.0, 1 month and 30 days, texts of CHAR(n) with fewer blanks.
    pub fn has_one_form(self) -> bool {
        !matches!(
            self,
            Self::Real | Self::Double | Self::Interval(_) | Self::Char(_) | Self::Array(_)
        )
    }

    /// SMALLINT, INTEGER or BIGINT.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::SmallInt | Self::Integer | Self::BigInt)
    }

    /// Integers, NUMERIC and floating point; an OID counts nothing.
    pub const fn is_number(self) -> bool {
        self.is_integer() || self.is_numeric() || matches!(self, Self::Real | Self::Double)
    }

    /// NUMERIC in either form.
    pub const fn is_numeric(self) -> bool {
        matches!(self, Self::Numeric(_) | Self::WideNumeric(_))
    }

    /// A wide decimal or a CHAR of any length, or an array or record with some: values that are
    /// equal may differ in their bytes.
    pub fn has_wide(self) -> bool {
        match self {
            Self::WideNumeric(_) | Self::Char(0) => true,
            Self::Array(element) => element.data_type().has_wide(),
            Self::Record(record) => record.any_field(&|ty| ty.has_wide()),
            Self::Packed(PackedType::CiText | PackedType::TsQuery | PackedType::Vector(_)) => true,
            Self::Packed(ty) => ty.range().is_some_and(|kind| kind.bound().has_wide()),
            _ => false,
        }
    }

    /// True when bits or dimensions are counted that a value has, or may have at most.
    pub const fn has_packed_length(self) -> bool {
        use PackedType as P;
        matches!(self, Self::Packed(P::Bit(Some(_)) | P::VarBit(Some(_)) | P::Vector(Some(_))))
    }

    /// JSON and JSONB.
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonb)
    }

    /// CHAR, VARCHAR, TEXT, NAME, `"char"`, and literals not yet typed.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Char(_) | Self::Varchar(_) | Self::Unknown) || self.is_plain_text()
    }

    /// Types whose values are their texts: [`Self::is_text`], ACLITEM, REFCURSOR.
    pub const fn is_its_text(self) -> bool {
        self.is_text() || matches!(self, Self::AclItem | Self::RefCursor)
    }

    /// TEXT, NAME and `"char"`.
    pub const fn is_plain_text(self) -> bool {
        matches!(self, Self::Text | Self::Name | Self::InternalChar)
    }
}

#[cfg(test)]
mod tests {
    use super::PhysicalType as P;

    #[test]
    fn physical_types_keep_the_numbers_that_files_have() {
        let known = [P::Bool, P::I32, P::I64, P::I128, P::F64, P::Str, P::Interval];
        for (number, ty) in known.into_iter().enumerate() {
            assert_eq!(usize::from(ty.number()), number);
            assert_eq!(P::of_number(number as u8), Some(ty));
        }
        assert_eq!(P::of_number(7), None);
        assert_eq!(P::of_number(u8::MAX), None);
    }
}
