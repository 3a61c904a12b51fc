//! Words of cursors: DECLARE's options, FETCH and MOVE.

/// Direction in which a cursor may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorScroll {
    /// DECLARE says nothing: the cursor goes back.
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

/// Options of a cursor in DECLARE.
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

/// FETCH or MOVE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchAction {
    /// The rows are given.
    Fetch,
    /// The rows are only counted.
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
    /// Action: give the rows, or only count them.
    pub action: FetchAction,
}
