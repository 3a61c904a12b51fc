//! Names of types, as PostgreSQL prints them.

use std::fmt;

use crate::{DataType, ElementType, NumericDisplay, PackedType};

impl DataType {
    /// The name without length, precision and scale.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Boolean => "boolean",
            Self::SmallInt => "smallint",
            Self::Integer => "integer",
            Self::BigInt => "bigint",
            Self::Oid => "oid",
            Self::Reg(kind) => kind.name(),
            Self::Xid => "xid",
            Self::Tid => "tid",
            Self::Real => "real",
            Self::Double => "double precision",
            Self::Numeric(_) | Self::WideNumeric(_) => "numeric",
            Self::Char(_) => "character",
            Self::Varchar(_) => "character varying",
            Self::Text => "text",
            Self::Name => "name",
            Self::InternalChar => "\"char\"",
            Self::AclItem => "aclitem",
            Self::RefCursor => "refcursor",
            Self::Bytea => "bytea",
            Self::Date => "date",
            Self::Time(_) => "time without time zone",
            Self::Timestamp(_) => "timestamp without time zone",
            Self::TimestampTz(_) => "timestamp with time zone",
            Self::Interval(_) => "interval",
            Self::Uuid => "uuid",
            Self::Enum(ty) => ty.name(),
            Self::Json => "json",
            Self::Jsonb => "jsonb",
            Self::JsonPath => "jsonpath",
            Self::Array(element) => array_name(element),
            Self::Record(record) => record.name(),
            Self::Packed(ty) => ty.name(),
        }
    }
}

fn array_name(element: ElementType) -> &'static str {
    use ElementType as E;
    match element {
        E::Boolean => "boolean[]",
        E::SmallInt => "smallint[]",
        E::Integer => "integer[]",
        E::BigInt => "bigint[]",
        E::Oid => "oid[]",
        E::Reg(kind) => kind.array_name(),
        E::Xid => "xid[]",
        E::Tid => "tid[]",
        E::VectorSmallInt => "int2vector",
        E::VectorOid => "oidvector",
        E::Real => "real[]",
        E::Double => "double precision[]",
        E::Numeric(_) | E::WideNumeric(_) => "numeric[]",
        E::Char(_) => "character[]",
        E::Varchar(_) => "character varying[]",
        E::Text => "text[]",
        E::Name => "name[]",
        E::InternalChar => "\"char\"[]",
        E::AclItem => "aclitem[]",
        E::RefCursor => "refcursor[]",
        E::Bytea => "bytea[]",
        E::Date => "date[]",
        E::Time(_) => "time without time zone[]",
        E::Timestamp(_) => "timestamp without time zone[]",
        E::TimestampTz(_) => "timestamp with time zone[]",
        E::Interval(_) => "interval[]",
        E::Uuid => "uuid[]",
        E::Enum(ty) => ty.array_name(),
        E::Json => "json[]",
        E::Jsonb => "jsonb[]",
        E::JsonPath => "jsonpath[]",
        E::Record(record) => record.array_name(),
        E::Packed(ty) => ty.array_name(),
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Array(element) = self
            && !self.is_vector()
        {
            return write!(f, "{}[]", element.data_type());
        }
        f.write_str(self.name())?;
        match self {
            Self::Numeric(n) if n.display == NumericDisplay::Fixed => {
                write!(f, "({},{})", n.precision, n.scale)
            }
            Self::WideNumeric(Some(digits)) => write!(f, "({},{})", digits.precision, digits.scale),
            Self::Char(n @ 1..)
            | Self::Varchar(Some(n))
            | Self::Packed(PackedType::Bit(Some(n)) | PackedType::VarBit(Some(n))) => {
                write!(f, "({n})")
            }
            Self::Packed(PackedType::Vector(Some(n))) => write!(f, "({n})"),
            Self::Interval(Some(form)) => write!(f, "{form}"),
            _ => Ok(()),
        }
    }
}
