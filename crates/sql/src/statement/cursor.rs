//! Cursors.

use super::{CursorOptions, SelectForUpdate, Statement};
use crate::algebra::Query;

/// DECLARE.
#[derive(Clone, Debug, PartialEq)]
pub struct Declare {
    /// Its name, case-folded.
    pub name: String,
    /// Options of the cursor.
    pub options: CursorOptions,
    /// Its rows.
    pub rows: CursorRows,
    /// The whole text.
    pub text: String,
}

/// Where a cursor's rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum CursorRows {
    /// A query over whose rows nothing is known.
    Plain(Query),
    /// A query with the places of its rows in tables, none of which are locked.
    Placed(Box<SelectForUpdate>),
    /// FOR UPDATE and its kin: all rows are locked when the cursor is declared.
    Locked(Box<SelectForUpdate>),
}

impl CursorRows {
    /// The query.
    pub fn query(&self) -> &Query {
        match self {
            Self::Plain(query) => query,
            Self::Placed(select) | Self::Locked(select) => &select.query,
        }
    }
}

/// UPDATE or DELETE of the row that a cursor is on.
#[derive(Clone, Debug)]
pub struct AtCursor {
    /// The cursor.
    pub cursor: String,
    /// The statement, of all rows.
    pub statement: Statement,
}
