//! ORDER BY and DISTINCT ON items: ordinals, output names, expressions.

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::clauses::{OrderItem, Target};
use super::comparable::{ComparedFor, comparable};
use super::name::{expr_at, ident_at, object_parts};
use super::scope::Clause;
use super::{Binder, fail, place};
use crate::algebra::{Direction, Expr, NullsOrder, Place, SortKey};
use crate::parse::folded;

impl Binder<'_> {
    /// An item of ORDER BY or DISTINCT ON. A bare name means an output column first, and only then
    /// an input column; an expression knows input columns only.
    pub(super) fn bind_order_item(
        &mut self,
        expr: &ast::Expr,
        targets: &[Target],
        clause: Clause,
    ) -> Result<OrderItem> {
        if let Some(ordinal) = self.output_ordinal(expr, targets.len(), clause)? {
            return Ok(OrderItem::Target(ordinal));
        }
        if let ast::Expr::Identifier(ident) = expr
            && let Some(target) = target_named(ident, targets, clause)?
        {
            return Ok(OrderItem::Target(target));
        }
        let mut bound = self.bind_expr(expr)?;
        self.settle(&mut bound)?;
        let same = |target: &Target| target.bound.expr == bound.expr;
        Ok(match targets.iter().position(same) {
            Some(target) => OrderItem::Target(target),
            None => OrderItem::Expr(bound),
        })
    }

    /// The select-list item that an integer constant means, from 0; None for other expressions.
    pub(super) fn output_ordinal(
        &self,
        expr: &ast::Expr,
        count: usize,
        clause: Clause,
    ) -> Result<Option<usize>> {
        let ast::Expr::Value(value) = expr else {
            return Ok(None);
        };
        let at = expr_at(expr);
        match &value.value {
            ast::Value::Number(digits, _) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                match digits.parse::<usize>() {
                    Ok(ordinal) if (1..=count).contains(&ordinal) => Ok(Some(ordinal - 1)),
                    _ => {
                        let message =
                            format!("{} position {digits} is not in select list", clause.name());
                        fail(SqlState::INVALID_COLUMN_REFERENCE, message, at)
                    }
                }
            }
            ast::Value::Null | ast::Value::Placeholder(_) => Ok(None),
            _ => {
                let message = format!("non-integer constant in {}", clause.name());
                fail(SqlState::SYNTAX_ERROR, message, at)
            }
        }
    }

    /// Sort keys inside an aggregate or window: expressions only, ordinals mean nothing.
    pub(super) fn bind_sort_keys(&mut self, items: &[ast::OrderByExpr]) -> Result<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let mut bound = self.bind_expr(&item.expr)?;
            self.settle(&mut bound)?;
            let expr = self.ordered(bound.expr, bound.at)?;
            keys.push(sort_key(expr, &item.options, bound.at)?);
        }
        Ok(keys)
    }
}

/// The only select-list item called so; several are fine when they are the same expression.
pub(super) fn target_named(
    ident: &ast::Ident,
    targets: &[Target],
    clause: Clause,
) -> Result<Option<usize>> {
    let name = folded(ident);
    let mut found: Option<usize> = None;
    for (at_idx, target) in targets.iter().enumerate() {
        if target.name != name {
            continue;
        }
        match found.and_then(|first| targets.get(first)) {
            None => found = Some(at_idx),
            Some(first) if first.bound.expr == target.bound.expr => {}
            Some(_) => {
                let message = format!("{} \"{name}\" is ambiguous", clause.name());
                let error = types::Error::new(SqlState::AMBIGUOUS_COLUMN, message);
                return Err(place(error, ident_at(ident)));
            }
        }
    }
    Ok(found)
}

/// The direction of ORDER BY ... USING `operator`.
///
/// # Errors
/// 42809 for an operator that is neither "less than" nor "greater than", 42883 for others.
fn ordering_of(operator: &ast::ObjectName, ty: DataType, at: Place) -> Result<Direction> {
    let parts = object_parts(operator)?;
    let symbol = parts.last().map_or("", String::as_str);
    let of_patterns = matches!(symbol, "~<~" | "~>~" | "~<=~" | "~>=~") && ty.is_text();
    match symbol {
        "<" => Ok(Direction::Ascending),
        ">" => Ok(Direction::Descending),
        "~<~" if of_patterns => Ok(Direction::Ascending),
        "~>~" if of_patterns => Ok(Direction::Descending),
        "=" | "<>" | "!=" | "<=" | ">=" | "~<=~" | "~>=~" | "+" | "-" | "*" | "/" | "||" => {
            let message = format!("operator {symbol} is not a valid ordering operator");
            let error = types::Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint(
                "Ordering operators must be \"<\" or \">\" members of btree operator families.",
            );
            Err(place(error, at))
        }
        _ => Err(super::unmatched::no_operator(symbol, ty, ty, at)),
    }
}

/// A sort key with PostgreSQL's default: NULLs are larger than everything.
///
/// # Errors
/// 42883 for JSON, which has no order; those of an operator that gives none.
pub(super) fn sort_key(expr: Expr, options: &ast::OrderByOptions, at: Place) -> Result<SortKey> {
    let expr = comparable(expr, ComparedFor::Order, at)?;
    let direction = match &options.sort {
        Some(ast::OrderBySort::Desc) => Direction::Descending,
        Some(ast::OrderBySort::Using(operator)) => ordering_of(operator, expr.ty, at)?,
        Some(ast::OrderBySort::Asc) | None => Direction::Ascending,
    };
    let nulls = match (options.nulls_first, direction) {
        (Some(true), _) | (None, Direction::Descending) => NullsOrder::First,
        (Some(false), _) | (None, Direction::Ascending) => NullsOrder::Last,
    };
    Ok(SortKey { expr, direction, nulls })
}
