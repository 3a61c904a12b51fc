//! Names of types, as PostgreSQL prints them.

use std::fmt;

use crate::{DataType, NumericDisplay};

impl DataType {
    /// The name without length, precision and scale.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Boolean => "boolean",
            Self::SmallInt => "smallint",
            Self::Integer => "integer",
            Self::BigInt => "bigint",
            Self::Real => "real",
            Self::Double => "double precision",
            Self::Numeric(_) => "numeric",
            Self::Char(_) => "character",
            Self::Varchar(_) => "character varying",
            Self::Text => "text",
            Self::Bytea => "bytea",
            Self::Date => "date",
            Self::Time => "time without time zone",
            Self::Timestamp => "timestamp without time zone",
            Self::TimestampTz => "timestamp with time zone",
            Self::Interval => "interval",
            Self::Uuid => "uuid",
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Numeric(n) if n.display == NumericDisplay::Fixed => {
                write!(f, "({},{})", n.precision, n.scale)
            }
            Self::Char(n) | Self::Varchar(Some(n)) => write!(f, "({n})"),
            _ => Ok(()),
        }
    }
}
