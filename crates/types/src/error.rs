//! The error that reaches the user: SQLSTATE, message, place in the statement.

use std::fmt;

/// The result of whatever can fail for a reason the user must hear.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Five-character SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub [u8; 5]);

impl SqlState {
    /// The code as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl SqlState {
            $($(#[$doc])* pub const $name: SqlState = SqlState(*$code);)*
        }
    };
}

states! {
    /// Feature not supported.
    FEATURE_NOT_SUPPORTED = b"0A000";
    /// Sub-query returned more than one row.
    CARDINALITY_VIOLATION = b"21000";
    /// Value too long for its type.
    STRING_TOO_LONG = b"22001";
    /// Numeric value out of range.
    NUMERIC_OUT_OF_RANGE = b"22003";
    /// Date or time field out of range.
    DATETIME_OVERFLOW = b"22008";
    /// Date or time not well formed.
    INVALID_DATETIME = b"22007";
    /// Negative substring length.
    SUBSTRING_ERROR = b"22011";
    /// Division by zero.
    DIVISION_BY_ZERO = b"22012";
    /// Logarithm of a number that has none.
    INVALID_LOGARITHM = b"2201E";
    /// Power that has no real result.
    INVALID_POWER = b"2201F";
    /// Negative LIMIT.
    INVALID_LIMIT = b"2201W";
    /// Negative OFFSET.
    INVALID_OFFSET = b"2201X";
    /// Subscript or dimension of an array that cannot be.
    ARRAY_SUBSCRIPT = b"2202E";
    /// NULL where the function takes none.
    NULL_NOT_ALLOWED = b"22004";
    /// Regular expression not well formed.
    INVALID_REGEX = b"2201B";
    /// Bytes are not UTF-8.
    INVALID_ENCODING = b"22021";
    /// LIKE pattern ends in its escape character.
    INVALID_ESCAPE = b"22025";
    /// Parameter value that the function does not take.
    INVALID_PARAMETER = b"22023";
    /// Text that is not a value of the type.
    INVALID_TEXT = b"22P02";
    /// Character that the encoding does not have.
    UNTRANSLATABLE = b"22P05";
    /// Malformed COPY input.
    BAD_COPY_FORMAT = b"22P04";
    /// NULL in a NOT NULL column.
    NOT_NULL_VIOLATION = b"23502";
    /// Duplicate key.
    UNIQUE_VIOLATION = b"23505";
    /// Transaction state does not allow it.
    INVALID_TRANSACTION_STATE = b"25000";
    /// The transaction failed before; only ROLLBACK is possible.
    IN_FAILED_TRANSACTION = b"25P02";
    /// Syntax error.
    SYNTAX_ERROR = b"42601";
    /// Two columns or more answer to the name.
    AMBIGUOUS_COLUMN = b"42702";
    /// No such column.
    UNDEFINED_COLUMN = b"42703";
    /// Column name used twice.
    DUPLICATE_COLUMN = b"42701";
    /// Column not in GROUP BY, or aggregate where none may stand.
    GROUPING_ERROR = b"42803";
    /// Operand types do not fit.
    DATATYPE_MISMATCH = b"42804";
    /// No such function or operator.
    UNDEFINED_FUNCTION = b"42883";
    /// No such object (type, parameter, view ...).
    UNDEFINED_OBJECT = b"42704";
    /// No such table.
    UNDEFINED_TABLE = b"42P01";
    /// Table exists already.
    DUPLICATE_TABLE = b"42P07";
    /// Alias used twice in FROM.
    DUPLICATE_ALIAS = b"42712";
    /// Column reference that is not allowed here.
    INVALID_COLUMN_REFERENCE = b"42P10";
    /// Definition that makes no sense.
    INVALID_DEFINITION = b"42P16";
    /// Object is of another kind, a view say.
    WRONG_OBJECT_TYPE = b"42809";
    /// Cast that does not exist.
    CANNOT_COERCE = b"42846";
    /// Type of a parameter or literal cannot be told.
    INDETERMINATE_DATATYPE = b"42P18";
    /// WITH RECURSIVE that is not of the allowed form.
    INVALID_RECURSION = b"42P19";
    /// Objects depend on it.
    DEPENDENT_OBJECTS = b"2BP01";
    /// Disk full.
    DISK_FULL = b"53100";
    /// Out of memory.
    OUT_OF_MEMORY = b"53200";
    /// Limit of the program exceeded.
    LIMIT_EXCEEDED = b"54000";
    /// Something nested too deep.
    STACK_DEPTH = b"54001";
    /// Another process or session holds the object.
    OBJECT_IN_USE = b"55006";
    /// The user cancelled the query.
    QUERY_CANCELED = b"57014";
    /// File cannot be read or written.
    IO_ERROR = b"58030";
    /// File does not exist.
    UNDEFINED_FILE = b"58P01";
    /// Our own mistake.
    INTERNAL_ERROR = b"XX000";
    /// Data on disk is damaged.
    DATA_CORRUPTED = b"XX001";
}

/// Place in a statement: line and column, both from 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// What of a table an error is about: programs tell constraints apart by it, not by the message.
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
    is_narrow: bool,
}

impl Error {
    /// An error without position.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        let message = message.into();
        let (position, detail, hint, about) = (None, None, None, None);
        let is_narrow = false;
        Self(Box::new(ErrorFields { state, message, position, detail, hint, about, is_narrow }))
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

    /// What of a table it is about.
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
