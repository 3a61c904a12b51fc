//! Functions that a text of a definition calls, and relations that it reads, by name.

use std::cell::RefCell;

use sqlparser::ast;

use super::name::folded;
use super::parse_query;
use super::visit::{visit_all, visit_names};
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
    if let Some(mut query) = query_of(text) {
        visit_all(&mut query, &mut in_expr, &mut in_from);
    }
    found.into_inner()
}

/// The names that `text`, a query or an expression, reads in FROM.
pub fn relations_in(text: &str) -> Vec<RelationName> {
    let mut found = Vec::new();
    if let Some(mut query) = query_of(text) {
        visit_names(&mut query, &mut |_| (), &mut |name| found.extend(name_of(name)));
    }
    found
}

/// A query, or one that selects an expression; None for what is neither.
fn query_of(text: &str) -> Option<ast::Query> {
    parse_query(text).or_else(|_| parse_query(&format!("SELECT (\n{text}\n)"))).ok()
}
