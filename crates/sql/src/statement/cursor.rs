//! Cursors.

use super::{SelectForUpdate, Statement};
use crate::algebra::Query;

/// Whether a cursor goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorScroll {
    /// Nothing was said: it does.
    #[default]
    Unsaid,
    /// SCROLL.
    Yes,
    /// NO SCROLL: 55000.
    No,
}

/// How long a cursor is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorHold {
    /// Until the transaction ends.
    #[default]
    Transaction,
    /// WITH HOLD: until the session ends.
    Session,
}

/// What DECLARE says of a cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CursorOptions {
    /// SCROLL.
    pub scroll: CursorScroll,
    /// WITH HOLD.
    pub hold: CursorHold,
    /// BINARY.
    pub form: CursorForm,
}

/// How the rows of a cursor are sent where the client does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorForm {
    /// As text.
    #[default]
    Text,
    /// BINARY.
    Binary,
}

/// DECLARE.
#[derive(Clone, Debug, PartialEq)]
pub struct Declare {
    /// Its name, case-folded.
    pub name: String,
    /// What is said of it.
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

/// FETCH or MOVE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchAction {
    /// The rows are given.
    Fetch,
    /// They are counted only.
    Move,
}

/// Where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchTo {
    /// So many rows on, or back when negative; 0 is the row where the cursor stands.
    Forward(i64),
    /// All rows that are left.
    AllForward,
    /// All rows before, backwards.
    AllBackward,
    /// One row, counted from 1, or from the end when negative.
    Absolute(i64),
    /// One row, counted from where the cursor stands.
    Relative(i64),
}

/// FETCH or MOVE of a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cursor, case-folded.
    pub name: String,
    /// Where to.
    pub to: FetchTo,
    /// Whether rows are given.
    pub action: FetchAction,
}
