//! Functions that a text of a definition calls, by name.

use std::cell::RefCell;

use sqlparser::ast;

use super::name::folded;
use super::visit::{rewrite_expressions, visit_all};
use super::{parse_expr, parse_query};
use crate::words::RelationName;

fn name_of(name: &ast::ObjectName) -> Option<RelationName> {
    let mut parts = name.0.iter().rev().map(|part| part.as_ident().map(folded));
    let bare = parts.next()??;
    Some(RelationName { schema: parts.next().flatten(), name: bare })
}

/// The names that `text`, a query or an expression, calls; nothing for what is neither.
pub fn calls_in(text: &str) -> Vec<RelationName> {
    let found = RefCell::new(Vec::new());
    let mut in_expr = |expr: &mut ast::Expr| {
        if let ast::Expr::Function(function) = expr {
            found.borrow_mut().extend(name_of(&function.name));
        }
    };
    let mut in_from = |factor: &ast::TableFactor| match factor {
        ast::TableFactor::Table { name, args: Some(_), .. }
        | ast::TableFactor::Function { name, .. } => found.borrow_mut().extend(name_of(name)),
        _ => {}
    };
    if let Ok(mut query) = parse_query(text) {
        visit_all(&mut query, &mut in_expr, &mut in_from);
    } else if let Ok(mut expr) = parse_expr(text) {
        rewrite_expressions(&mut expr, &mut in_expr);
    }
    found.into_inner()
}
