//! The error that reaches the user: SQLSTATE, message, place in the statement.

mod condition;
mod state;

use std::fmt;

pub use state::SqlState;

/// The result of whatever can fail for a reason the user must hear.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Place in a statement: line and column, both from 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// Part of a table that an error is about: programs tell constraints apart by it, not by messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Schema of the table.
    pub schema: String,
    /// The table.
    pub table: String,
    /// The column that was at fault, if it was one.
    pub column: Option<String>,
    /// The constraint that does not hold, if it was one.
    pub constraint: Option<String>,
}

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<ErrorFields>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ErrorFields {
    state: SqlState,
    message: String,
    position: Option<Position>,
    detail: Option<String>,
    hint: Option<String>,
    about: Option<Box<About>>,
    routine: Option<&'static str>,
    is_narrow: bool,
}

impl Error {
    /// An error without position.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(ErrorFields {
            state,
            message,
            position: None,
            detail: None,
            hint: None,
            about: None,
            routine: None,
            is_narrow: false,
        }))
    }

    /// 0A000 for `what`, which is named in the message.
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// Our own mistake, reported instead of a panic.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(SqlState::INTERNAL_ERROR, message)
    }

    /// The same error at `position`, unless it has one.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.0.position.get_or_insert(position);
        self
    }

    /// The same error with a line of detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error, about a part of a table.
    #[must_use]
    pub fn about_part(mut self, about: About) -> Self {
        self.0.about = Some(Box::new(about));
        self
    }

    /// The same error, raised by the `routine` that raises it in PostgreSQL: drivers tell some
    /// errors by it.
    #[must_use]
    pub fn with_routine(mut self, routine: &'static str) -> Self {
        self.0.routine = Some(routine);
        self
    }

    /// The same error, of a NUMERIC that more than 38 digits would hold.
    #[must_use]
    pub fn narrow(mut self) -> Self {
        self.0.is_narrow = true;
        self
    }

    /// The same error, of a statement that cannot run again.
    #[must_use]
    pub fn final_form(mut self) -> Self {
        self.0.is_narrow = false;
        self
    }

    /// The same error without position: it is of a text that the user did not send.
    #[must_use]
    pub fn without_position(mut self) -> Self {
        self.0.position = None;
        self
    }

    /// True when wide decimals would not meet the error.
    pub fn is_narrow(&self) -> bool {
        self.0.is_narrow
    }

    /// SQLSTATE.
    pub fn state(&self) -> SqlState {
        self.0.state
    }

    /// The message, without code and position.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Place in the statement.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// A line of detail.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// A hint.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// PostgreSQL's routine that raises it, if drivers look for that.
    pub fn routine(&self) -> Option<&'static str> {
        self.0.routine
    }

    /// Part of a table that it is about.
    pub fn about(&self) -> Option<&About> {
        self.0.about.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.state, self.0.message)?;
        if let Some(p) = self.0.position {
            write!(f, " at line {} column {}", p.line, p.column)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
