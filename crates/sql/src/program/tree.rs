//! Parts of a program.

use types::SqlState;

/// Meaning of a name that both a column and a variable have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameConflict {
    /// The column.
    Column,
    /// The variable.
    Variable,
    /// None: 42702.
    #[default]
    Error,
}

/// A whole program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its variables by slot, those of all blocks; the parameters come first.
    pub variables: Vec<Variable>,
    /// Where names are looked up.
    pub scopes: Vec<Scope>,
    /// Its outermost block.
    pub body: Block,
    /// How many fragments it has: their numbers are below.
    pub fragments: usize,
    /// Texts of the fragments, where the program was read to be checked.
    pub texts: Vec<String>,
    /// The slot of FOUND.
    pub found: usize,
    /// `#variable_conflict`.
    pub conflict: NameConflict,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type as declared.
    pub declared: Declared,
    /// COLLATE: the name of the collation as SQL writes it.
    pub collate: Option<String>,
    /// CONSTANT.
    pub is_constant: bool,
    /// NOT NULL.
    pub not_null: bool,
    /// DEFAULT.
    pub default: Option<Fragment>,
    /// The query that a bound cursor runs.
    pub cursor: Option<Box<BoundCursor>>,
}

/// CURSOR (parameters) FOR query.
#[derive(Clone, Debug)]
pub struct BoundCursor {
    /// Names and slots of its parameters, in order.
    pub parameters: Vec<(String, usize)>,
    /// DECLARE of a cursor called [`OPENED`] with the query.
    pub declare: Fragment,
}

/// Name that a cursor has until it gets that of its variable.
pub const OPENED: &str = "\u{1}opened";

/// Declared type of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    /// A type as SQL writes it.
    Type(String),
    /// A record of any shape.
    Record,
    /// `name%TYPE`: that of a variable or column, seen from this scope.
    Like(Vec<String>, usize),
    /// `name%ROWTYPE`.
    Row(Vec<String>),
    /// Type of a parameter: the caller knows it.
    Parameter,
}

/// Names of one block, loop or handler.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The scope around it.
    pub parent: Option<usize>,
    /// The label that leads to its names.
    pub label: Option<String>,
    /// Names and slots; a later one hides an earlier one.
    pub names: Vec<(String, usize)>,
}

/// An expression or a statement of SQL.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// A statement: an expression is its select list.
    pub text: String,
    /// Its number in the program.
    pub number: usize,
    /// Where its names are looked up.
    pub scope: usize,
    /// WHERE CURRENT OF a variable: its slot, and where its name stands in the text.
    pub cursor: Option<(usize, std::ops::Range<usize>)>,
}

/// BEGIN ... END.
#[derive(Clone, Debug)]
pub struct Block {
    /// Label.
    pub label: Option<String>,
    /// Slots of the variables that it declares, in order.
    pub declares: Vec<usize>,
    /// Statements.
    pub body: Vec<Statement>,
    /// EXCEPTION.
    pub handlers: Vec<Handler>,
}

/// WHEN conditions THEN statements.
#[derive(Clone, Debug)]
pub struct Handler {
    /// Any of them.
    pub conditions: Vec<Condition>,
    /// Slots of SQLSTATE and SQLERRM.
    pub told: [usize; 2],
    /// Statements.
    pub body: Vec<Statement>,
}

/// Condition of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Every error but those that are not to be caught.
    Others,
    /// A state, or the class of it.
    State(SqlState),
}

/// Condition and what is done under it.
#[derive(Clone, Debug)]
pub struct Branch {
    /// BOOLEAN.
    pub condition: Fragment,
    /// Statements.
    pub body: Vec<Statement>,
}

/// Variable, or a part of one, that gets a value.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its slot.
    pub slot: usize,
    /// Fields of records, outermost first.
    pub fields: Vec<String>,
    /// Subscripts of an array.
    pub subscripts: Vec<Fragment>,
}

/// INTO.
#[derive(Clone, Debug)]
pub struct Into {
    /// Targets in order.
    pub targets: Vec<Target>,
    /// STRICT.
    pub strict: bool,
}

/// Rows of RETURN QUERY and FOR.
#[derive(Clone, Debug)]
pub enum QuerySource {
    /// A query.
    Static(Fragment),
    /// EXECUTE text USING values.
    Dynamic(Fragment, Vec<Fragment>),
}

/// Source of the turns of a loop.
#[derive(Clone, Debug)]
pub enum LoopHead {
    /// Until it is left.
    Forever,
    /// WHILE.
    While(Fragment),
    /// FOR variable IN from .. to.
    Integers {
        /// Slot of the variable.
        slot: usize,
        /// Bounds.
        bounds: Box<[Fragment; 2]>,
        /// BY.
        step: Option<Fragment>,
        /// REVERSE.
        reverse: bool,
    },
    /// FOR targets IN query.
    Rows(Vec<Target>, QuerySource),
    /// FOR record IN cursor (arguments).
    Cursor {
        /// Slot of the record.
        slot: usize,
        /// The cursor.
        open: OpenCursor,
    },
    /// FOREACH target \[SLICE n\] IN ARRAY.
    Elements {
        /// Variable of the element, or of the slice.
        target: Target,
        /// Number of dimensions of a slice; 0: an element.
        slice: usize,
        /// The array.
        list: Fragment,
    },
}

/// EXIT or CONTINUE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// EXIT.
    Exit,
    /// CONTINUE.
    Continue,
}

/// Level of RAISE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// EXCEPTION.
    Exception,
    /// WARNING.
    Warning,
    /// NOTICE.
    Notice,
    /// INFO.
    Info,
    /// LOG.
    Log,
    /// DEBUG.
    Debug,
}

/// Content of RAISE.
#[derive(Clone, Debug)]
pub enum RaiseWhat {
    /// The error that is handled, again.
    Again,
    /// A format and its values.
    Format(String, Vec<Fragment>),
    /// A condition.
    State(SqlState, String),
    /// Options alone.
    Options,
}

/// Option of RAISE ... USING.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaiseOption {
    /// MESSAGE.
    Message,
    /// DETAIL.
    Detail,
    /// HINT.
    Hint,
    /// ERRCODE.
    State,
    /// COLUMN.
    Column,
    /// CONSTRAINT.
    Constraint,
    /// DATATYPE, which nobody is told.
    Datatype,
    /// TABLE.
    Table,
    /// SCHEMA.
    Schema,
}

/// RAISE.
#[derive(Clone, Debug)]
pub struct Raise {
    /// How much it matters.
    pub level: Level,
    /// Content.
    pub what: RaiseWhat,
    /// USING.
    pub options: Vec<(RaiseOption, Fragment)>,
}

/// GET DIAGNOSTICS or GET STACKED DIAGNOSTICS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagnostic {
    /// About the last statement.
    Current,
    /// About the error that is handled.
    Stacked,
}

/// Item of GET DIAGNOSTICS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticItem {
    /// ROW_COUNT.
    RowCount,
    /// PG_CONTEXT and PG_EXCEPTION_CONTEXT: nothing is known of it.
    Context,
    /// RETURNED_SQLSTATE.
    State,
    /// MESSAGE_TEXT.
    Message,
    /// PG_EXCEPTION_DETAIL.
    Detail,
    /// PG_EXCEPTION_HINT.
    Hint,
    /// COLUMN_NAME.
    Column,
    /// CONSTRAINT_NAME.
    Constraint,
    /// TABLE_NAME.
    Table,
    /// SCHEMA_NAME.
    Schema,
    /// PG_DATATYPE_NAME: nothing is known of it.
    Datatype,
}

/// OPEN.
#[derive(Clone, Debug)]
pub struct OpenCursor {
    /// Slot of the cursor's variable.
    pub slot: usize,
    /// Rows that it is to have.
    pub rows: CursorQuery,
}

/// Rows of a cursor.
#[derive(Clone, Debug)]
pub enum CursorQuery {
    /// The query of its declaration, with values for the slots of its parameters.
    Bound(Vec<(usize, Fragment)>),
    /// DECLARE of a cursor called [`OPENED`] with a query.
    Static(Fragment),
    /// FOR EXECUTE text USING values.
    Dynamic {
        /// DECLARE before FOR.
        declare: String,
        /// Text of the query.
        text: Fragment,
        /// USING.
        using: Vec<Fragment>,
    },
}

/// Row that FETCH and MOVE go to.
#[derive(Clone, Debug)]
pub enum CursorStep {
    /// So many rows on; NEXT and PRIOR are 1 and -1.
    Forward(Option<Fragment>, i64),
    /// FORWARD ALL, BACKWARD ALL.
    All(i64),
    /// ABSOLUTE; FIRST and LAST are 1 and -1.
    Absolute(Option<Fragment>, i64),
    /// RELATIVE.
    Relative(Fragment),
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A block inside.
    Block(Block),
    /// target := value.
    Assign(Target, Fragment),
    /// IF and CASE without operand.
    If {
        /// IF, ELSIF, WHEN.
        branches: Vec<Branch>,
        /// ELSE; None where a CASE has none.
        otherwise: Option<Vec<Statement>>,
    },
    /// CASE operand: its value goes into a slot that the conditions read.
    Case {
        /// Slot of the operand.
        slot: usize,
        /// Operand.
        operand: Fragment,
        /// WHEN.
        branches: Vec<Branch>,
        /// ELSE.
        otherwise: Option<Vec<Statement>>,
    },
    /// LOOP, WHILE, FOR, FOREACH.
    Loop {
        /// Label.
        label: Option<String>,
        /// Source of its turns.
        head: LoopHead,
        /// Statements.
        body: Vec<Statement>,
    },
    /// EXIT and CONTINUE.
    Exit {
        /// Which of both.
        kind: ExitKind,
        /// Label.
        label: Option<String>,
        /// WHEN.
        condition: Option<Fragment>,
    },
    /// RETURN.
    Return(Option<Fragment>),
    /// RETURN NEXT.
    ReturnNext(Option<Fragment>),
    /// RETURN QUERY.
    ReturnQuery(QuerySource),
    /// RAISE.
    Raise(Box<Raise>),
    /// ASSERT condition, message.
    Assert(Fragment, Option<Fragment>),
    /// PERFORM.
    Perform(Fragment),
    /// A statement of SQL.
    Sql(Fragment, Option<Into>),
    /// CALL: the variables that are its arguments, by place.
    Call(Fragment, Vec<Option<Target>>),
    /// OPEN.
    Open(Box<OpenCursor>),
    /// FETCH, with the variables for the row, or MOVE.
    Fetch {
        /// Slot of the cursor's variable.
        slot: usize,
        /// The row.
        step: CursorStep,
        /// INTO of FETCH; None for MOVE.
        targets: Option<Vec<Target>>,
    },
    /// CLOSE of a cursor's variable.
    Close(usize),
    /// EXECUTE.
    Execute {
        /// Text of the statement.
        text: Fragment,
        /// INTO.
        into: Option<Into>,
        /// USING.
        using: Vec<Fragment>,
    },
    /// GET DIAGNOSTICS.
    Diagnostics(Diagnostic, Vec<(Target, DiagnosticItem)>),
    /// NULL.
    Nothing,
    /// COMMIT; true for AND CHAIN.
    Commit(bool),
    /// ROLLBACK; true for AND CHAIN.
    Rollback(bool),
}
