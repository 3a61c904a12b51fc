//! Calls of the runner to a database system.

use std::fmt;

/// An error with its SQLSTATE.
#[derive(Clone, Debug)]
pub struct SqlError {
    /// Five characters; `XX000` when the system gave none.
    pub sqlstate: String,
    /// Text that the user reads.
    pub message: String,
}

impl SqlError {
    /// An error of the test machinery itself, not of a statement.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self { sqlstate: "XX000".into(), message: message.to_string() }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.sqlstate, self.message)
    }
}

impl std::error::Error for SqlError {}

/// Answer to a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Rows of a query, each cell as PostgreSQL writes it; NULL is `None`.
    Rows {
        /// Columns of each row, also when there is no row.
        columns: usize,
        /// The rows, in the order they came.
        rows: Vec<Vec<Option<String>>>,
    },
    /// A statement without result, and the rows it changed.
    Done(u64),
}

/// One session.
pub trait Connection: Send {
    /// Runs one statement.
    ///
    /// # Errors
    /// Whatever the statement or the connection met.
    fn run(&mut self, sql: &str) -> Result<Answer, SqlError>;
}

/// A database for one file; dropped when the file is done.
pub trait Database: Send + Sync {
    /// A new session on it.
    ///
    /// # Errors
    /// When the database cannot be reached.
    fn connect(&self) -> Result<Box<dyn Connection>, SqlError>;

    /// Sessions, by their `pg_backend_pid()`, that wait for a lock of another one. A session is
    /// listed from when it starts to wait until whoever it waits for lets it go; sessions in a
    /// circle of waits are not listed, for one of them is about to fail.
    ///
    /// # Errors
    /// When the database cannot be asked.
    fn waiting(&self) -> Result<Vec<String>, SqlError>;

    /// True once a statement did not fit into memory that was made little on purpose: what the rest
    /// of the file expects may depend on it.
    fn ran_out(&self) -> bool {
        false
    }
}

/// A database system under test.
pub trait Backend: Send + Sync {
    /// Its name: the condition of `skipif` and `onlyif`.
    fn name(&self) -> &str;

    /// True when its answers define the expected ones, so that no tolerance applies to it.
    fn is_oracle(&self) -> bool {
        false
    }

    /// A new, empty database.
    ///
    /// # Errors
    /// When it cannot be made.
    fn create(&self) -> Result<Box<dyn Database>, SqlError>;
}

/// A cell as the files write it.
pub(super) fn cell_text(cell: Option<String>) -> String {
    match cell {
        None => "NULL".into(),
        Some(text) if text.is_empty() => "(empty)".into(),
        Some(text) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::cell_text;

    #[test]
    fn null_and_the_empty_text_have_words_and_nothing_else_changes() {
        for (cell, text) in [("1.500", "1.500"), ("100", "100"), ("", "(empty)")] {
            assert_eq!(cell_text(Some(cell.into())), text);
        }
        assert_eq!(cell_text(None), "NULL");
    }
}
