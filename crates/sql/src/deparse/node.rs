//! Expressions with the types and casts that PostgreSQL gives them.

pub(crate) mod query;

use super::Typed;
use query::{Aggregate, Sublink};

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) ty: Typed,
}

/// Whether a cast was asked for: those that were not are shown in some places only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Yes,
    No,
}

/// A function that has a syntax of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `(b AT TIME ZONE a)`
    AtTimeZone,
    /// `EXTRACT(a FROM b)`
    Extract,
    /// `OVERLAY(a PLACING b FROM c FOR d)`
    Overlay,
    /// `POSITION((b) IN (a))`
    Position,
    /// `SUBSTRING(a FROM b FOR c)`
    Substring,
    /// `SUBSTRING(a SIMILAR b ESCAPE c)`
    SubstringSimilar,
    /// `TRIM(BOTH b FROM a)`
    TrimBoth,
    /// `TRIM(LEADING b FROM a)`
    TrimLeading,
    /// `TRIM(TRAILING b FROM a)`
    TrimTrailing,
    /// `((a, b) OVERLAPS (c, d))`
    Overlaps,
}

/// Means of a cast, which says how simple the expression counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Function,
    Other,
}

/// A subscript: of an element, or of a slice.
#[derive(Clone, Debug)]
pub(super) enum Subscript {
    Element(Node),
    Slice(Option<Node>, Option<Node>),
}

/// Kind of an expression.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A column, as it is written.
    Column(String),
    /// A constant, by its text; NULL.
    Constant(Option<String>),
    /// An operator of one or two operands.
    Operator {
        name: String,
        operands: Vec<Node>,
    },
    /// A call; the name as it is written.
    Call {
        name: String,
        arguments: Vec<Node>,
        spread: bool,
    },
    /// A call with its own syntax.
    Special(Syntax, Vec<Node>),
    /// A cast to the node's type.
    Cast {
        inner: Box<Node>,
        asked: Asked,
        by: By,
    },
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// `a IS NULL` and its kin: what follows the operand.
    Test {
        inner: Box<Node>,
        text: &'static str,
        is_null_test: bool,
    },
    /// `a IS DISTINCT FROM b`
    Distinct(Box<Node>, Box<Node>),
    /// `a = ANY (b)`
    OfArray {
        name: String,
        quantifier: &'static str,
        left: Box<Node>,
        right: Box<Node>,
    },
    Case {
        operand: Option<Box<Node>>,
        branches: Vec<(Node, Node)>,
        otherwise: Box<Node>,
    },
    /// The operand of a CASE, in its branches.
    CaseOperand,
    /// ARRAY[...]
    Array(Vec<Node>),
    /// ROW(...)
    Row(Vec<Node>),
    /// `ROW(a) < ROW(b)`
    RowCompare {
        name: String,
        left: Vec<Node>,
        right: Vec<Node>,
    },
    Subscripts {
        base: Box<Node>,
        list: Vec<Subscript>,
    },
    /// COALESCE, GREATEST, LEAST, NULLIF
    Listed(&'static str, Vec<Node>),
    /// CURRENT_DATE and its kin, as written.
    Keyword(String),
    Collate {
        inner: Box<Node>,
        name: String,
    },
    /// A call over a group or a window.
    Aggregate(Box<Aggregate>),
    /// A query.
    Query(Box<Sublink>),
}

impl Node {
    pub(super) fn new(kind: Kind, ty: Typed) -> Self {
        Self { kind, ty }
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.ty.number == super::known::number::UNKNOWN
    }

    /// True for NULL without a type.
    pub(super) fn is_bare_null(&self) -> bool {
        matches!(self.kind, Kind::Constant(None)) && self.is_unknown()
    }

    /// True when a column is read in it.
    pub(super) fn has_columns(&self) -> bool {
        if matches!(self.kind, Kind::Column(_) | Kind::Aggregate(_) | Kind::Query(_)) {
            return true;
        }
        let mut found = false;
        self.each_child(&mut |child| found |= child.has_columns());
        found
    }

    /// Calls `each` with what the expression is made of.
    fn each_child(&self, each: &mut dyn FnMut(&Node)) {
        match &self.kind {
            Kind::Column(_)
            | Kind::Constant(_)
            | Kind::CaseOperand
            | Kind::Keyword(_)
            | Kind::Aggregate(_)
            | Kind::Query(_) => {}
            Kind::Operator { operands: list, .. }
            | Kind::Call { arguments: list, .. }
            | Kind::Special(_, list)
            | Kind::And(list)
            | Kind::Or(list)
            | Kind::Array(list)
            | Kind::Row(list)
            | Kind::Listed(_, list) => list.iter().for_each(each),
            Kind::Cast { inner, .. }
            | Kind::Not(inner)
            | Kind::Test { inner, .. }
            | Kind::Collate { inner, .. } => each(inner),
            Kind::Distinct(left, right) | Kind::OfArray { left, right, .. } => {
                each(left);
                each(right);
            }
            Kind::Case { operand, branches, otherwise } => {
                operand.iter().for_each(|operand| each(operand));
                for (condition, result) in branches {
                    each(condition);
                    each(result);
                }
                each(otherwise);
            }
            Kind::RowCompare { left, right, .. } => left.iter().chain(right).for_each(each),
            Kind::Subscripts { base, list } => {
                each(base);
                for subscript in list {
                    match subscript {
                        Subscript::Element(at) => each(at),
                        Subscript::Slice(from, to) => from.iter().chain(to).for_each(&mut *each),
                    }
                }
            }
        }
    }
}
