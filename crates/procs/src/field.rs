//! Rust types of columns.

use storage::Datum;
use types::{Error, Result, SqlState};

/// A type that a column's values have in Rust.
pub trait Field: Sized {
    /// The value as storage takes it.
    fn datum(&self) -> Datum<'_>;

    /// The value from storage.
    ///
    /// # Errors
    /// 42804 when the column has another type, 22004 for NULL where the type has none.
    fn from_datum(datum: Datum<'_>) -> Result<Self>;
}

fn mismatch<T>(datum: Datum<'_>) -> Error {
    let name = std::any::type_name::<T>();
    if datum.is_null() {
        let message = format!("NULL in a field of type {name}; use Option<{name}>");
        return Error::new(SqlState::NULL_NOT_ALLOWED, message);
    }
    Error::new(SqlState::DATATYPE_MISMATCH, format!("a {name} cannot hold {datum:?}"))
}

macro_rules! fields {
    ($($(#[$doc:meta])* $ty:ty: $value:ident => $datum:expr, $pattern:pat => $back:expr;)*) => {$(
        impl Field for $ty {
            fn datum(&self) -> Datum<'_> {
                let $value = self;
                $datum
            }

            fn from_datum(datum: Datum<'_>) -> Result<Self> {
                match datum {
                    $pattern => Ok($back),
                    other => Err(mismatch::<Self>(other)),
                }
            }
        }
    )*};
}

/// A DATE: days since 2000-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// A TIMESTAMP or TIMESTAMPTZ: microseconds, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A NUMERIC(p,s) of at most 18 digits: its digits without the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(pub i64);

fields! {
    bool: v => Datum::Bool(*v), Datum::Bool(v) => v;
    i32: v => Datum::I32(*v), Datum::I32(v) => v;
    i64: v => Datum::I64(*v), Datum::I64(v) => v;
    i128: v => Datum::I128(*v), Datum::I128(v) => v;
    f64: v => Datum::F64(*v), Datum::F64(v) => v;
    Date: v => Datum::I32(v.0), Datum::I32(v) => Date(v);
    Timestamp: v => Datum::I64(v.0), Datum::I64(v) => Timestamp(v);
    Decimal: v => Datum::I64(v.0), Datum::I64(v) => Decimal(v);
    Vec<u8>: v => Datum::Str(v), Datum::Str(v) => v.to_vec();
    types::Interval: v => Datum::Interval(*v), Datum::Interval(v) => v;
}

impl Field for String {
    fn datum(&self) -> Datum<'_> {
        Datum::Str(self.as_bytes())
    }

    fn from_datum(datum: Datum<'_>) -> Result<Self> {
        match datum {
            Datum::Str(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            other => Err(mismatch::<Self>(other)),
        }
    }
}

impl<T: Field> Field for Option<T> {
    fn datum(&self) -> Datum<'_> {
        self.as_ref().map_or(Datum::Null, Field::datum)
    }

    fn from_datum(datum: Datum<'_>) -> Result<Self> {
        match datum {
            Datum::Null => Ok(None),
            datum => T::from_datum(datum).map(Some),
        }
    }
}
