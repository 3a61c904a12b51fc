//! Clauses of a SELECT above FROM and WHERE, bound: what `select`, `group` and `order` hand on.

use sqlparser::ast;

use super::Bound;
use crate::algebra::{Expr, Place};
use crate::parse::ALL_ITEMS;

/// An item of the select list.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) name: String,
    pub(super) bound: Bound,
}

/// DISTINCT, bound.
pub(super) enum Distinct {
    No,
    All,
    On(Vec<OrderItem>),
}

/// Everything of a SELECT above FROM and WHERE, bound.
pub(super) struct Clauses {
    pub(super) targets: Vec<Target>,
    pub(super) having: Option<Expr>,
    pub(super) order: Vec<(OrderItem, ast::OrderByOptions)>,
    pub(super) distinct: Distinct,
}

/// True for what ALL became, the only item of GROUP BY or ORDER BY.
pub(super) fn is_all_items(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(ident) if ident.value == ALL_ITEMS)
}

/// Value that an item orders by.
#[derive(Clone, Debug)]
pub(super) enum OrderItem {
    /// An item of the select list.
    Target(usize),
    /// Something that is not in it.
    Expr(Bound),
}

impl OrderItem {
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Target(a), Self::Target(b)) => a == b,
            (Self::Expr(a), Self::Expr(b)) => a.expr == b.expr,
            _ => false,
        }
    }

    pub(super) fn at(&self) -> Place {
        match self {
            Self::Target(_) => None,
            Self::Expr(bound) => bound.at,
        }
    }
}
