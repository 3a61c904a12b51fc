//! SQLSTATEs by name, in the order of their codes: the only place that spells them.
//!
//! Names are PostgreSQL's condition names, some of them shortened.

use std::fmt;

/// Five-character SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub(super) [u8; 5]);

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
    /// Success: the code of a notice that is no warning.
    SUCCESSFUL_COMPLETION = b"00000";
    /// Warning of no class of its own.
    WARNING = b"01000";
    /// REVOKE found nothing that it may take away.
    PRIVILEGE_NOT_REVOKED = b"01006";
    /// GRANT found nothing that it may give.
    PRIVILEGE_NOT_GRANTED = b"01007";
    /// Connection that was closed before.
    CONNECTION_DOES_NOT_EXIST = b"08003";
    /// Connection lost.
    CONNECTION_FAILURE = b"08006";
    /// Message that the protocol does not allow here.
    PROTOCOL_VIOLATION = b"08P01";
    /// Feature not supported.
    FEATURE_NOT_SUPPORTED = b"0A000";
    /// GRANT or REVOKE that makes no sense.
    INVALID_GRANT_OPERATION = b"0LP01";
    /// GET STACKED DIAGNOSTICS outside of a handler.
    NO_STACKED_DIAGNOSTICS = b"0Z002";
    /// CASE that has no branch for its value.
    CASE_NOT_FOUND = b"20000";
    /// Sub-query returned more than one row.
    CARDINALITY_VIOLATION = b"21000";
    /// Value that makes no sense: a range whose ends are in the wrong order.
    DATA_EXCEPTION = b"22000";
    /// Value too long for its type.
    STRING_TOO_LONG = b"22001";
    /// Numeric value out of range.
    NUMERIC_OUT_OF_RANGE = b"22003";
    /// Percentage of TABLESAMPLE that is none.
    INVALID_SAMPLE = b"2202H";
    /// Seed of TABLESAMPLE that is none.
    INVALID_SAMPLE_SEED = b"2202G";
    /// NULL where the function takes none.
    NULL_NOT_ALLOWED = b"22004";
    /// Value that cannot be assigned there.
    ASSIGNMENT_ERROR = b"22005";
    /// Date or time not well formed.
    INVALID_DATETIME = b"22007";
    /// Date or time field out of range.
    DATETIME_OVERFLOW = b"22008";
    /// Time zone displacement out of range.
    INVALID_TIME_ZONE_DISPLACEMENT = b"22009";
    /// Escape character that stands where none may.
    INVALID_USE_OF_ESCAPE_CHARACTER = b"2200C";
    /// Text without characters where there must be some.
    ZERO_LENGTH_TEXT = b"2200F";
    /// Sequence at its end.
    SEQUENCE_GENERATOR_LIMIT_EXCEEDED = b"2200H";
    /// Negative substring length.
    SUBSTRING_ERROR = b"22011";
    /// Division by zero.
    DIVISION_BY_ZERO = b"22012";
    /// Size of a window frame that is negative or NULL.
    INVALID_PRECEDING_OR_FOLLOWING_SIZE = b"22013";
    /// Argument of ntile() that is not positive.
    INVALID_ARGUMENT_FOR_NTILE = b"22014";
    /// Interval field out of range.
    INTERVAL_FIELD_OVERFLOW = b"22015";
    /// Argument of nth_value() that is not positive.
    INVALID_ARGUMENT_FOR_NTH_VALUE = b"22016";
    /// Regular expression not well formed.
    INVALID_REGEX = b"2201B";
    /// Logarithm of a number that has none.
    INVALID_LOGARITHM = b"2201E";
    /// Power that has no real result.
    INVALID_POWER = b"2201F";
    /// Argument of width_bucket() that it cannot take.
    INVALID_ARGUMENT_FOR_WIDTH_BUCKET = b"2201G";
    /// Negative LIMIT.
    INVALID_LIMIT = b"2201W";
    /// Negative OFFSET.
    INVALID_OFFSET = b"2201X";
    /// Bytes are not UTF-8.
    INVALID_ENCODING = b"22021";
    /// Parameter value that the function does not take.
    INVALID_PARAMETER = b"22023";
    /// LIKE pattern ends in its escape character.
    INVALID_ESCAPE = b"22025";
    /// Bits of another length than those that they go with.
    LENGTH_MISMATCH = b"22026";
    /// Subscript or dimension of an array that cannot be.
    ARRAY_SUBSCRIPT = b"2202E";
    /// Text is no date or time that a path wants.
    INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME = b"22031";
    /// Subscript of a path outside of its array.
    INVALID_SQL_JSON_SUBSCRIPT = b"22033";
    /// Value in a path that is no number.
    NON_NUMERIC_SQL_JSON_ITEM = b"22036";
    /// Several values of a path where one is wanted.
    SINGLETON_SQL_JSON_ITEM_REQUIRED = b"22038";
    /// Value in a path that is no array.
    SQL_JSON_ARRAY_NOT_FOUND = b"22039";
    /// Field that an object in a path lacks.
    SQL_JSON_MEMBER_NOT_FOUND = b"2203A";
    /// Operand in a path that is no number.
    SQL_JSON_NUMBER_NOT_FOUND = b"2203B";
    /// Value in a path that is no object.
    SQL_JSON_OBJECT_NOT_FOUND = b"2203C";
    /// Text that is not a value of the type.
    INVALID_TEXT = b"22P02";
    /// Bytes that are not the binary form of the type.
    INVALID_BINARY_REPRESENTATION = b"22P03";
    /// Malformed COPY input.
    BAD_COPY_FORMAT = b"22P04";
    /// Character that the encoding does not have.
    UNTRANSLATABLE = b"22P05";
    /// NULL in a NOT NULL column.
    NOT_NULL_VIOLATION = b"23502";
    /// Row that a foreign key refers to is missing.
    FOREIGN_KEY_VIOLATION = b"23503";
    /// Duplicate key.
    UNIQUE_VIOLATION = b"23505";
    /// Row that the CHECK OPTION of a view refuses.
    CHECK_OPTION_VIOLATION = b"44000";
    /// Row that a CHECK constraint refuses.
    CHECK_VIOLATION = b"23514";
    /// Row that an exclusion constraint refuses.
    EXCLUSION_VIOLATION = b"23P01";
    /// Cursor that stands on no row.
    INVALID_CURSOR_STATE = b"24000";
    /// Transaction state does not allow it.
    INVALID_TRANSACTION_STATE = b"25000";
    /// Statement that cannot run inside a transaction block.
    ACTIVE_SQL_TRANSACTION = b"25001";
    /// Write in a read-only transaction.
    READ_ONLY_SQL_TRANSACTION = b"25006";
    /// Statement that needs a transaction block.
    NO_ACTIVE_SQL_TRANSACTION = b"25P01";
    /// The transaction failed before; only ROLLBACK is possible.
    IN_FAILED_TRANSACTION = b"25P02";
    /// Session was idle in a transaction for too long.
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT = b"25P03";
    /// No such prepared statement.
    INVALID_SQL_STATEMENT_NAME = b"26000";
    /// Row that a trigger changed before the statement did.
    TRIGGERED_DATA_CHANGE = b"27000";
    /// User who may not connect.
    INVALID_AUTHORIZATION_SPECIFICATION = b"28000";
    /// Wrong password.
    INVALID_PASSWORD = b"28P01";
    /// Objects depend on it.
    DEPENDENT_OBJECTS = b"2BP01";
    /// COMMIT or ROLLBACK where none may be.
    INVALID_TRANSACTION_TERMINATION = b"2D000";
    /// Function that ended without RETURN.
    NO_RETURN_STATEMENT = b"2F005";
    /// No such cursor or portal.
    INVALID_CURSOR_NAME = b"34000";
    /// Function that cannot do this with its arguments.
    EXTERNAL_ROUTINE = b"39000";
    /// Trigger that gave something else than a row or NULL.
    TRIGGER_PROTOCOL_VIOLATED = b"39P01";
    /// No such savepoint.
    INVALID_SAVEPOINT_SPECIFICATION = b"3B001";
    /// No such database.
    UNDEFINED_DATABASE = b"3D000";
    /// No such schema.
    UNDEFINED_SCHEMA = b"3F000";
    /// Conflict with another transaction; a new attempt may succeed.
    SERIALIZATION_FAILURE = b"40001";
    /// Transactions that wait for one another.
    DEADLOCK_DETECTED = b"40P01";
    /// Right that the role lacks.
    INSUFFICIENT_PRIVILEGE = b"42501";
    /// Syntax error.
    SYNTAX_ERROR = b"42601";
    /// Name not well formed.
    INVALID_NAME = b"42602";
    /// Column that cannot be defined so.
    INVALID_COLUMN_DEFINITION = b"42611";
    /// Column name used twice.
    DUPLICATE_COLUMN = b"42701";
    /// Two columns or more answer to the name.
    AMBIGUOUS_COLUMN = b"42702";
    /// No such column.
    UNDEFINED_COLUMN = b"42703";
    /// No such object (type, parameter, view ...).
    UNDEFINED_OBJECT = b"42704";
    /// Object of this name exists.
    DUPLICATE_OBJECT = b"42710";
    /// Alias used twice in FROM.
    DUPLICATE_ALIAS = b"42712";
    /// Function of this name and arguments exists.
    DUPLICATE_FUNCTION = b"42723";
    /// Two functions or more fit the arguments.
    AMBIGUOUS_FUNCTION = b"42725";
    /// Column not in GROUP BY, or aggregate where none may stand.
    GROUPING_ERROR = b"42803";
    /// Operand types do not fit.
    DATATYPE_MISMATCH = b"42804";
    /// Object is of another kind, a view say.
    WRONG_OBJECT_TYPE = b"42809";
    /// Foreign key to columns that are no key.
    INVALID_FOREIGN_KEY = b"42830";
    /// Cast that does not exist.
    CANNOT_COERCE = b"42846";
    /// No such function or operator.
    UNDEFINED_FUNCTION = b"42883";
    /// Value for a GENERATED ALWAYS column.
    GENERATED_ALWAYS = b"428C9";
    /// Name that is reserved.
    RESERVED_NAME = b"42939";
    /// No such table.
    UNDEFINED_TABLE = b"42P01";
    /// No such parameter.
    UNDEFINED_PARAMETER = b"42P02";
    /// Cursor of this name exists.
    DUPLICATE_CURSOR = b"42P03";
    /// Database that exists already.
    DUPLICATE_DATABASE = b"42P04";
    /// Prepared statement of this name exists.
    DUPLICATE_PREPARED_STATEMENT = b"42P05";
    /// Schema of this name exists.
    DUPLICATE_SCHEMA = b"42P06";
    /// Table exists already.
    DUPLICATE_TABLE = b"42P07";
    /// Two tables or more answer to the alias.
    AMBIGUOUS_ALIAS = b"42P09";
    /// Column reference that is not allowed here.
    INVALID_COLUMN_REFERENCE = b"42P10";
    /// Cursor that cannot be over such a statement.
    INVALID_CURSOR_DEFINITION = b"42P11";
    /// Function that cannot be defined so.
    INVALID_FUNCTION_DEFINITION = b"42P13";
    /// Definition that makes no sense.
    INVALID_DEFINITION = b"42P16";
    /// Expression of a definition that may not stand there.
    INVALID_OBJECT_DEFINITION = b"42P17";
    /// Type of a parameter or literal cannot be told.
    INDETERMINATE_DATATYPE = b"42P18";
    /// WITH RECURSIVE that is not of the allowed form.
    INVALID_RECURSION = b"42P19";
    /// Two collations that are written contradict each other.
    COLLATION_MISMATCH = b"42P21";
    /// Collations of columns contradict each other.
    INDETERMINATE_COLLATION = b"42P22";
    /// Window function or window that is misused.
    WINDOWING_ERROR = b"42P20";
    /// Disk full.
    DISK_FULL = b"53100";
    /// Out of memory.
    OUT_OF_MEMORY = b"53200";
    /// No place for another session or transaction.
    TOO_MANY_CONNECTIONS = b"53300";
    /// Limit of the program exceeded.
    LIMIT_EXCEEDED = b"54000";
    /// Something nested too deep.
    STACK_DEPTH = b"54001";
    /// Table with too many columns.
    TOO_MANY_COLUMNS = b"54011";
    /// Object that is not in the state that this needs.
    OBJECT_NOT_IN_PREREQUISITE_STATE = b"55000";
    /// Another process or session holds the object.
    OBJECT_IN_USE = b"55006";
    /// Parameter that cannot be changed now.
    CANT_CHANGE_RUNTIME_PARAM = b"55P02";
    /// Lock that could not be had in time.
    LOCK_NOT_AVAILABLE = b"55P03";
    /// The user cancelled the query.
    QUERY_CANCELED = b"57014";
    /// Administrator ended the connection.
    ADMIN_SHUTDOWN = b"57P01";
    /// Server that takes no connections now.
    CANNOT_CONNECT_NOW = b"57P03";
    /// Session was idle for too long.
    IDLE_SESSION_TIMEOUT = b"57P05";
    /// Failure of the operating system.
    SYSTEM_ERROR = b"58000";
    /// File cannot be read or written.
    IO_ERROR = b"58030";
    /// File does not exist.
    UNDEFINED_FILE = b"58P01";
    /// File or directory exists.
    DUPLICATE_FILE = b"58P02";
    /// File of the configuration that cannot be used.
    CONFIG_FILE_ERROR = b"F0000";
    /// Error of PL/pgSQL of no state of its own.
    PLPGSQL_ERROR = b"P0000";
    /// RAISE without a state.
    RAISE_EXCEPTION = b"P0001";
    /// No such row.
    NO_DATA_FOUND = b"P0002";
    /// More rows than the one that was asked for.
    TOO_MANY_ROWS = b"P0003";
    /// ASSERT that does not hold.
    ASSERT_FAILURE = b"P0004";
    /// Internal: the catalog changed while the statement waited; it runs anew.
    STALE_CATALOG = b"TS001";
    /// Our own mistake.
    INTERNAL_ERROR = b"XX000";
    /// Data on disk is damaged.
    DATA_CORRUPTED = b"XX001";
    /// Internal: the statement needs more stack; it runs anew.
    STACK_TOO_SMALL = b"XX0ST";
}
