//! Paths into JSONB values: PostgreSQL's type `jsonpath`.
//!
//! ```text
//! lax $.a[1 to last] ? (@.b > 2).type()
//! mode | chain of steps: the first gives values, each one behind it takes what the last one gave
//! ```
//! A path is held as its canonical text, which [`JsonPath::parse`] reads again.
//! Invariant: `@` stands in filters alone, `last` in subscripts alone.
//! Elsewhere: what a path finds in a value (`kernels::json_path`).

mod lex;
mod parse;
mod print;
#[cfg(test)]
mod tests;

use crate::{CompareOp, Error, SqlState};

/// A path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// How it treats values of another structure.
    pub mode: PathMode,
    /// Its steps.
    pub steps: Chain,
}

/// Wish for some of the values that a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathResult {
    /// Whether there is one.
    Exists,
    /// The only one, which is a predicate's.
    Match,
    /// All, as an array of JSONB.
    Query,
    /// All, as a JSONB that is an array.
    Array,
    /// The first one.
    First,
}

/// How a path treats values of another structure than it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMode {
    /// Arrays are unwrapped, single values wrapped, what is not there is passed over.
    Lax,
    /// Other structures are errors.
    Strict,
}

/// Steps, the first of which gives values.
pub type Chain = Vec<Step>;

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `null`.
    Null,
    /// `true`, `false`.
    Boolean(bool),
    /// A number, as NUMERIC prints it.
    Number(String),
    /// `"text"`.
    String(String),
    /// `$name`.
    Variable(String),
    /// `$`.
    Root,
    /// `@`: the value that a filter looks at.
    Current,
    /// `last`: the subscript of an array's last element.
    Last,
    /// `a + b`.
    Arithmetic(ArithmeticOp, Box<(Chain, Chain)>),
    /// `- a`.
    Minus(Chain),
    /// `+ a`.
    Plus(Chain),
    /// A predicate as a value.
    Predicate(Box<Predicate>),
    /// `.name`.
    Field(String),
    /// `.*`.
    AnyField,
    /// `[*]`.
    AnyElement,
    /// `[a, b to c]`.
    Elements(Vec<Subscript>),
    /// `.**{first to last}`.
    AnyLevel(Levels),
    /// `? (predicate)`.
    Filter(Box<Predicate>),
    /// `.name()`.
    Method(PathMethod),
    /// `.datetime("template")`.
    DateTime(Option<String>),
}

/// Levels below a value: [`Levels::LAST`] is that of values which have nothing below them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The first one, 0 for the value itself.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

impl Levels {
    /// The level that `last` names.
    pub const LAST: u32 = u32::MAX;
}

/// One subscript, or a range of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscript {
    /// The first element.
    pub from: Chain,
    /// The last element of a range.
    pub to: Option<Chain>,
}

/// An operator on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

impl ArithmeticOp {
    /// The operator as it is written.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }
}

/// A method without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMethod {
    /// `.type()`
    Type,
    /// `.size()`
    Size,
    /// `.abs()`
    Abs,
    /// `.floor()`
    Floor,
    /// `.ceiling()`
    Ceiling,
    /// `.double()`
    Double,
    /// `.keyvalue()`
    KeyValue,
}

impl PathMethod {
    /// The name without parentheses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Size => "size",
            Self::Abs => "abs",
            Self::Floor => "floor",
            Self::Ceiling => "ceiling",
            Self::Double => "double",
            Self::KeyValue => "keyvalue",
        }
    }

    /// The method called `name`, in lower case.
    fn named(name: &str) -> Option<Self> {
        const ALL: [PathMethod; 7] = [
            PathMethod::Type,
            PathMethod::Size,
            PathMethod::Abs,
            PathMethod::Floor,
            PathMethod::Ceiling,
            PathMethod::Double,
            PathMethod::KeyValue,
        ];
        ALL.into_iter().find(|method| method.name() == name)
    }
}

/// Statement about a value: true, false or unknown.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// `a && b`
    And(Box<(Predicate, Predicate)>),
    /// `a || b`
    Or(Box<(Predicate, Predicate)>),
    /// `!(a)`
    Not(Box<Predicate>),
    /// `(a) is unknown`
    IsUnknown(Box<Predicate>),
    /// `a < b` and its kin.
    Compare(CompareOp, Chain, Chain),
    /// `exists (a)`
    Exists(Chain),
    /// `a starts with b`
    StartsWith(Chain, Chain),
    /// `a like_regex "pattern" flag "flags"`
    LikeRegex(Chain, PathPattern),
}

/// A regular expression in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    /// The expression.
    pub pattern: String,
    /// `i`: case does not count.
    pub is_case_insensitive: bool,
    /// `s`: a dot matches line ends.
    pub dot_matches_line_end: bool,
    /// `m`: `^` and `$` match at line ends.
    pub is_multi_line: bool,
    /// `x`: blanks do not count.
    pub is_expanded: bool,
    /// `q`: the pattern is plain text.
    pub is_literal: bool,
}

/// 42601 in PostgreSQL's words.
#[cold]
fn malformed(what: impl AsRef<str>) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("{} of jsonpath input", what.as_ref()))
}
