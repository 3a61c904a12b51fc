//! The cursors of a session: their rows, and where each stands.
//!
//! Elsewhere: DECLARE, FETCH, MOVE and CLOSE (`run::cursor`).

use std::collections::HashMap;

use exec::ResultSet;
use sql::statement::{CursorForm, CursorHold, CursorScroll};
use types::{DataType, Error, Result, SqlState};

use super::code::Collations;

/// A cursor of a session.
pub(crate) struct Cursor {
    pub(crate) rows: ResultSet,
    /// Collations of their columns.
    pub(crate) collations: Collations,
    /// The tables that rows are of, as the catalog calls them, with the place of each row.
    pub(crate) places: Vec<(String, Vec<Option<i64>>)>,
    pub(crate) count: i64,
    pub(crate) position: i64,
    pub(crate) scroll: CursorScroll,
    pub(crate) hold: CursorHold,
    pub(crate) form: CursorForm,
    /// Text of the query that it was declared with.
    pub(crate) text: String,
    /// Its number among those of its transaction; None when that has committed.
    pub(crate) number: Option<usize>,
}

/// The cursors of a session.
#[derive(Default)]
pub(crate) struct Cursors {
    /// By name.
    pub(crate) open: HashMap<String, Cursor>,
    /// Cursors so far for which a name was made.
    unnamed: u64,
}

impl Cursors {
    /// True when the transaction declared one that lasts so long.
    pub(crate) fn holds_of_transaction(&self, hold: CursorHold) -> bool {
        self.open.values().any(|cursor| cursor.number.is_some() && cursor.hold == hold)
    }

    /// The transaction has ended, by a commit or not: those that are not held go.
    pub(crate) fn end(&mut self, committed: bool) {
        if self.open.is_empty() {
            return;
        }
        let stays = |cursor: &Cursor| match cursor.number {
            None => true,
            Some(_) => committed && cursor.hold == CursorHold::Session,
        };
        self.open.retain(|_, cursor| stays(cursor));
        self.open.values_mut().for_each(|cursor| cursor.number = None);
    }

    /// Closes cursors that the transaction made, from number `from` on.
    pub(crate) fn go_back(&mut self, from: usize) {
        self.open.retain(|_, cursor| cursor.number.is_none_or(|number| number < from));
    }

    /// Closes all cursors.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    /// Names and texts, and whether they are held, binary, and go back.
    pub(crate) fn all(&self) -> Vec<(String, String, [bool; 3])> {
        let row = |(name, c): (&String, &Cursor)| {
            let is_held = c.hold == CursorHold::Session;
            let flags = [is_held, c.form == CursorForm::Binary, c.scroll != CursorScroll::No];
            (name.clone(), c.text.clone(), flags)
        };
        self.open.iter().map(row).collect()
    }

    /// A name that no cursor has.
    pub(crate) fn new_name(&mut self) -> String {
        loop {
            self.unnamed += 1;
            let name = format!("<unnamed portal {}>", self.unnamed);
            if !self.open.contains_key(&name) {
                return name;
            }
        }
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Result<&mut Cursor> {
        self.open.get_mut(name).ok_or_else(|| unknown(name))
    }

    /// The columns of a cursor's rows.
    pub(crate) fn columns(&self, name: &str) -> Option<&[(String, DataType)]> {
        self.open.get(name).map(|cursor| &*cursor.rows.columns)
    }
}

pub(crate) fn unknown(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}
