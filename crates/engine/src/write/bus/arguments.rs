//! Arguments of a call, as their types say.

use catalog::rows::Rows;
use storage::Datum;
use types::{DataType, ElementType, Error, Interval, Result, SqlState, array};

/// Arguments of one call: a row's columns from `first` on.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a> {
    pub(super) rows: &'a Rows,
    pub(super) row: usize,
    pub(super) first: usize,
    /// Types of all columns.
    pub(super) types: &'a [DataType],
}

/// A client as a call names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Party {
    Id(i64),
    Name(Vec<u8>),
}

/// 22004 for a parameter.
fn no_null(name: &str) -> Error {
    Error::new(SqlState::NULL_NOT_ALLOWED, format!("the {name} of a call must not be NULL"))
}

impl<'a> Arguments<'a> {
    /// Argument number `i`.
    pub(super) fn get(&self, i: usize) -> Datum<'a> {
        self.rows.get(self.first + i, self.row)
    }

    fn ty(&self, i: usize) -> DataType {
        self.types[self.first + i]
    }

    /// A BIGINT; None for NULL.
    pub(super) fn number(&self, i: usize) -> Option<i64> {
        match self.get(i) {
            Datum::I64(value) => Some(value),
            Datum::I32(value) => Some(i64::from(value)),
            _ => None,
        }
    }

    /// An INTEGER; None for NULL.
    pub(super) fn integer(&self, i: usize) -> Option<i32> {
        match self.get(i) {
            Datum::I32(value) => Some(value),
            _ => None,
        }
    }

    /// The INTEGER called `name`.
    ///
    /// # Errors
    /// 22004.
    pub(super) fn needed(&self, i: usize, name: &str) -> Result<i32> {
        self.integer(i).ok_or_else(|| no_null(name))
    }

    /// True for TRUE, false for anything else.
    pub(super) fn is_set(&self, i: usize) -> bool {
        self.get(i) == Datum::Bool(true)
    }

    /// The bytes of TEXT or BYTEA; None for NULL.
    pub(super) fn bytes(&self, i: usize) -> Option<&'a [u8]> {
        match self.get(i) {
            Datum::Str(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// True when it is text, not BYTEA.
    pub(super) fn is_text(&self, i: usize) -> bool {
        self.ty(i) == DataType::Text
    }

    /// An INTERVAL; None for NULL.
    pub(super) fn interval(&self, i: usize) -> Option<Interval> {
        match self.get(i) {
            Datum::Interval(value) => Some(value),
            _ => None,
        }
    }

    /// A client.
    ///
    /// # Errors
    /// 22004.
    pub(super) fn party(&self, i: usize) -> Result<Party> {
        match self.get(i) {
            Datum::I64(id) => Ok(Party::Id(id)),
            Datum::Str(name) => Ok(Party::Name(name.to_vec())),
            _ => Err(no_null("client")),
        }
    }

    /// Clients; None for NULL. NULLs among them are left out.
    pub(super) fn parties(&self, i: usize) -> Option<Vec<Party>> {
        let bytes = match self.get(i) {
            Datum::I64(id) => return Some(vec![Party::Id(id)]),
            Datum::Str(bytes) => bytes,
            _ => return None,
        };
        let DataType::Array(of) = self.ty(i) else {
            return Some(vec![Party::Name(bytes.to_vec())]);
        };
        let party = |value: types::Value| match value {
            types::Value::I64(id) => Some(Party::Id(id)),
            types::Value::Str(name) => Some(Party::Name(name.to_vec())),
            _ => None,
        };
        Some(array::values(bytes, of).into_iter().filter_map(party).collect())
    }

    /// Messages: one or an array of them.
    pub(super) fn messages(&self, i: usize) -> Vec<i64> {
        let number = |value: types::Value| match value {
            types::Value::I64(id) => Some(id),
            _ => None,
        };
        match self.get(i) {
            Datum::I64(id) => vec![id],
            Datum::Str(bytes) => {
                array::values(bytes, ElementType::BigInt).into_iter().filter_map(number).collect()
            }
            _ => Vec::new(),
        }
    }
}
