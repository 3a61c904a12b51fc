//! Queries as nodes: what stands in each clause, with types.

use super::Node;
use crate::deparse::Typed;

/// A query.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) parts: Vec<Part>,
    pub(crate) body: Body,
    pub(crate) order_by: Vec<Sorted>,
    pub(crate) limit: Option<Node>,
    pub(crate) offset: Option<Node>,
    /// Names and types of its columns.
    pub(crate) columns: Vec<(String, Typed)>,
}

/// A query of WITH.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// Names of its columns that are written.
    pub(crate) columns: Vec<String>,
    /// MATERIALIZED or NOT MATERIALIZED, and a blank.
    pub(crate) kept: &'static str,
    pub(crate) query: Query,
}

/// A query without its order.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Select(Box<Select>),
    /// A query in parentheses, which has clauses of its own.
    Nested(Box<Query>),
    /// A set operation: its words with a blank.
    Set {
        words: &'static str,
        left: Box<Body>,
        right: Box<Body>,
    },
}

/// A SELECT.
#[derive(Clone, Debug)]
pub(crate) struct Select {
    /// DISTINCT ON; without expressions of all columns.
    pub(crate) distinct: Option<Vec<Node>>,
    /// Its columns, and their names.
    pub(crate) items: Vec<(Node, String)>,
    pub(crate) from: Vec<From>,
    pub(crate) filter: Option<Node>,
    pub(crate) group_by: Vec<Node>,
    pub(crate) having: Option<Node>,
}

/// An item of FROM.
#[derive(Clone, Debug)]
pub(crate) enum From {
    /// A relation as it is shown, with its alias.
    Relation(String),
    Derived(Box<Query>, String),
    /// A join: its words, and its condition.
    Join {
        words: &'static str,
        left: Box<From>,
        right: Box<From>,
        on: Option<Node>,
    },
}

/// A key of ORDER BY.
#[derive(Clone, Debug)]
pub(crate) struct Sorted {
    /// Expression to sort by; the number of a column where only that may stand.
    pub(crate) key: Result<Node, usize>,
    /// DESC and NULLS, with blanks.
    pub(crate) words: &'static str,
}

/// A call over the rows of a group or a window.
#[derive(Clone, Debug)]
pub(crate) struct Aggregate {
    pub(crate) name: String,
    pub(crate) is_distinct: bool,
    /// `*`, or its arguments.
    pub(crate) arguments: Option<Vec<Node>>,
    pub(crate) order_by: Vec<Sorted>,
    pub(crate) filter: Option<Node>,
    pub(crate) over: Option<Window>,
}

/// OVER.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) partition_by: Vec<Node>,
    pub(crate) order_by: Vec<Sorted>,
}

/// A query as an expression.
#[derive(Clone, Debug)]
pub(crate) struct Sublink {
    /// The operand, and the words behind it.
    pub(crate) test: Option<(Node, String)>,
    pub(crate) kind: SublinkKind,
    pub(crate) query: Query,
}

/// How a query stands in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SublinkKind {
    Exists,
    Value,
    Array,
    /// Behind an operand.
    Tested,
}
