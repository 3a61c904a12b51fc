//! Which operands need no parentheses in the form that has few.

use crate::deparse::node::{By, Kind, Node};

/// Kinds of parents that hold their operands apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    /// A call, or a list in parentheses or brackets.
    Apart,
    /// AND, OR, NOT.
    Logic,
    /// Anything else.
    Other,
}

fn parent_of(node: &Node) -> Parent {
    match node.kind {
        Kind::Call { .. }
        | Kind::Subscripts { .. }
        | Kind::Array(_)
        | Kind::Row(_)
        | Kind::Listed(..)
        | Kind::Aggregate(_)
        | Kind::Case { .. } => Parent::Apart,
        Kind::And(_) | Kind::Or(_) | Kind::Not(_) => Parent::Logic,
        _ => Parent::Other,
    }
}

/// True when `node` is clear without parentheses as an operand of `parent`.
pub(super) fn is_simple(node: &Node, parent: &Node) -> bool {
    match &node.kind {
        Kind::Column(_)
        | Kind::Constant(_)
        | Kind::Call { .. }
        | Kind::Special(..)
        | Kind::Case { .. }
        | Kind::Array(_)
        | Kind::Row(_)
        | Kind::Subscripts { .. }
        | Kind::Listed(..)
        | Kind::Keyword(_)
        | Kind::Aggregate(_) => true,
        Kind::Cast { by: By::Function, .. } => true,
        Kind::Cast { inner, .. } => is_simple(inner, node),
        Kind::Operator { name, operands } => match &parent.kind {
            Kind::Operator { name: above, operands: of_parent } => {
                is_arithmetic(name, operands)
                    && is_arithmetic(above, of_parent)
                    && match (is_sum(name), is_sum(above)) {
                        (false, true) => true,
                        (true, false) => false,
                        // `(a - b) - c`, not `a - (b - c)`.
                        _ => of_parent.first().is_some_and(|first| std::ptr::eq(first, node)),
                    }
            }
            _ => parent_of(parent) != Parent::Other,
        },
        Kind::Test { .. } | Kind::Distinct(..) | Kind::Query(_) => {
            parent_of(parent) != Parent::Other
        }
        Kind::And(_) | Kind::Not(_) => match parent.kind {
            Kind::And(_) | Kind::Or(_) => true,
            _ => parent_of(parent) == Parent::Apart,
        },
        Kind::Or(_) => match parent.kind {
            Kind::Or(_) => true,
            _ => parent_of(parent) == Parent::Apart,
        },
        Kind::CaseOperand
        | Kind::OfArray { .. }
        | Kind::RowCompare { .. }
        | Kind::Collate { .. } => false,
    }
}

fn is_sum(name: &str) -> bool {
    matches!(name, "+" | "-")
}

/// True for `+ - * / %` of two operands.
fn is_arithmetic(name: &str, operands: &[Node]) -> bool {
    operands.len() == 2 && (is_sum(name) || matches!(name, "*" | "/" | "%"))
}
