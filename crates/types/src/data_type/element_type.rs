//! Types of array elements: every type of a single value.

use super::IntervalForm;
use crate::{DataType, EnumType, NumericType, PackedType, RecordType, RegKind, WideDigits};

macro_rules! element_types {
    ($($name:ident $(($field:ident: $ty:ty))?),*) => {
        /// The type of an array's elements: a [`DataType`] of single values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ElementType {
            $(
                #[doc = concat!("See [`DataType::", stringify!($name), "`].")]
                $name $(($ty))?,
            )*
            /// SMALLINT in an `int2vector`, which is an array that is shown otherwise.
            VectorSmallInt,
            /// OID in an `oidvector`, likewise.
            VectorOid,
        }

        impl ElementType {
            /// The element type that `ty` is; None for arrays and for what has no type yet.
            pub const fn new(ty: DataType) -> Option<Self> {
                match ty {
                    $(DataType::$name $(($field))? => Some(Self::$name $(($field))?),)*
                    DataType::Unknown | DataType::Array(_) => None,
                }
            }

            /// The type of one element.
            pub const fn data_type(self) -> DataType {
                match self {
                    $(Self::$name $(($field))? => DataType::$name $(($field))?,)*
                    Self::VectorSmallInt => DataType::SmallInt,
                    Self::VectorOid => DataType::Oid,
                }
            }
        }
    };
}

element_types!(
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Oid,
    Reg(kind: RegKind),
    Xid,
    Tid,
    Real,
    Double,
    Numeric(numeric: NumericType),
    WideNumeric(digits: Option<WideDigits>),
    Char(length: u32),
    Varchar(length: Option<u32>),
    Text,
    Name,
    InternalChar,
    AclItem,
    RefCursor,
    Bytea,
    Date,
    Time(digits: Option<u8>),
    Timestamp(digits: Option<u8>),
    TimestampTz(digits: Option<u8>),
    Interval(form: Option<IntervalForm>),
    Uuid,
    Enum(labels: EnumType),
    Json,
    Jsonb,
    JsonPath,
    Record(record: RecordType),
    Packed(packed: PackedType)
);

impl DataType {
    /// The type of arrays of `element`; None when there are none (arrays of arrays).
    pub const fn array_of(element: Self) -> Option<Self> {
        match ElementType::new(element) {
            Some(element) => Some(Self::Array(element)),
            None => None,
        }
    }

    /// The type of an array's elements; None for other types.
    pub const fn element(self) -> Option<Self> {
        match self {
            Self::Array(element) => Some(element.data_type()),
            _ => None,
        }
    }

    /// True for `int2vector` and `oidvector`.
    pub const fn is_vector(self) -> bool {
        matches!(self, Self::Array(ElementType::VectorSmallInt | ElementType::VectorOid))
    }

    /// The type with arrays in the place of vectors.
    pub const fn without_vector(self) -> Self {
        match self {
            Self::Array(ElementType::VectorSmallInt) => Self::Array(ElementType::SmallInt),
            Self::Array(ElementType::VectorOid) => Self::Array(ElementType::Oid),
            other => other,
        }
    }

    /// True for arrays.
    pub const fn is_array(self) -> bool {
        matches!(self, Self::Array(_))
    }
}
