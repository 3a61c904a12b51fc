//! Names of types and literals in text that is kept: found, and written anew.

use std::ops::Range;

use sqlparser::ast;
use types::Position;

use super::name::folded;
use super::shown::byte_of;
use super::visit::{rewrite_expressions, rewrite_query};
use super::{at_location, parse_expr, parse_query, position};
use crate::words::RelationName;

/// Types that the query or expression `sql` casts to by names that may be users', and the bytes of
/// each name, in order.
pub fn types_in(sql: &str) -> Vec<(RelationName, Range<usize>)> {
    let mut found = Vec::new();
    let mut each = |expr: &mut ast::Expr| found.extend(name_in(sql, expr));
    if let Ok(mut query) = parse_query(sql) {
        rewrite_query(&mut query, &mut each, &mut |_| ());
    } else if let Ok(mut expr) = parse_expr(sql) {
        rewrite_expressions(&mut expr, &mut each);
    }
    found.sort_unstable_by_key(|(_, bytes)| bytes.start);
    found.dedup();
    found
}

/// Collations that the query or expression `sql` names which may be users', and the bytes of each
/// name, in order.
pub fn collations_in(sql: &str) -> Vec<(RelationName, Range<usize>)> {
    let mut found = Vec::new();
    let mut each = |expr: &mut ast::Expr| {
        if let ast::Expr::Collate { collation, .. } = expr {
            found.extend(named(sql, collation));
        }
    };
    if let Ok(mut query) = parse_query(sql) {
        rewrite_query(&mut query, &mut each, &mut |_| ());
    } else if let Ok(mut expr) = parse_expr(sql) {
        rewrite_expressions(&mut expr, &mut each);
    }
    found.sort_unstable_by_key(|(_, bytes): &(RelationName, Range<usize>)| bytes.start);
    found.dedup();
    found
}

/// Functions that the query or expression `sql` calls, by their names without a schema, and
/// operators that only extensions have.
pub fn functions_in(sql: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut each = |expr: &mut ast::Expr| match expr {
        ast::Expr::Function(function) => {
            let last = function.name.0.last().and_then(|part| part.as_ident());
            found.extend(last.map(folded));
        }
        ast::Expr::BinaryOp { op, .. } => match op {
            ast::BinaryOperator::Custom(_) | ast::BinaryOperator::LtDashGt => {
                found.push(op.to_string());
            }
            _ => {}
        },
        _ => {}
    };
    if let Ok(mut query) = parse_query(sql) {
        rewrite_query(&mut query, &mut each, &mut |_| ());
    } else if let Ok(mut expr) = parse_expr(sql) {
        rewrite_expressions(&mut expr, &mut each);
    }
    found
}

/// The name of the type that `expr` casts to.
fn name_in(sql: &str, expr: &ast::Expr) -> Option<(RelationName, Range<usize>)> {
    use ast::ArrayElemTypeDef as E;
    let mut ty = match expr {
        ast::Expr::Cast { data_type, .. } => data_type,
        ast::Expr::TypedString(typed) => &typed.data_type,
        _ => return None,
    };
    while let ast::DataType::Array(E::SquareBracket(element, _) | E::Qualified(element, _)) = ty {
        ty = element;
    }
    let ast::DataType::Custom(name, _) = ty else { return None };
    named(sql, name)
}

/// A name and the bytes that it has in a text.
fn named(sql: &str, name: &ast::ObjectName) -> Option<(RelationName, Range<usize>)> {
    let idents: Vec<&ast::Ident> =
        name.0.iter().map(|part| part.as_ident()).collect::<Option<_>>()?;
    let (first, last) = (idents.first()?, idents.last()?);
    let begin = byte_of(sql, position(first.span)?)?;
    let end = byte_of(sql, at_location(last.span.end)?)?;
    let schema = idents.len().checked_sub(2).and_then(|at| idents.get(at));
    let schema = schema.map(|ident| folded(ident));
    Some((RelationName { schema, name: folded(last) }, begin..end))
}

/// The text with the literal `to` in the place of `from`, at each of `places`; None where another
/// literal stands there.
pub fn with_literals(sql: &str, places: &[Position], from: &str, to: &str) -> Option<String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let (from, to) = (quoted(from), quoted(to));
    let mut begins: Vec<usize> =
        places.iter().map(|place| byte_of(sql, *place)).collect::<Option<_>>()?;
    begins.sort_unstable();
    begins.dedup();
    let mut text = sql.to_owned();
    for begin in begins.into_iter().rev() {
        let end = begin + from.len();
        if text.get(begin..end) != Some(from.as_str()) || text[end..].starts_with('\'') {
            return None;
        }
        text.replace_range(begin..end, &to);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_are_found_in_queries_and_expressions() {
        let found = |sql: &str| -> Vec<String> {
            types_in(sql).into_iter().map(|(_, bytes)| sql[bytes].to_owned()).collect()
        };
        assert_eq!(found("SELECT 'a'::mood, x::s.\"Mood\"[] FROM t"), ["mood", "s.\"Mood\""]);
        assert_eq!(found("v <> 'a'::mood AND CAST(x AS int) = 1"), ["mood"]);
        assert_eq!(found("1 + 2"), Vec::<String>::new());
    }

    #[test]
    fn literals_are_written_anew_where_they_stand() {
        let sql = "m = 'it''s' OR m = 'b'";
        let at = |column| Position { line: 1, column };
        let written = with_literals(sql, &[at(5)], "it's", "c");
        assert_eq!(written.as_deref(), Some("m = 'c' OR m = 'b'"));
        assert_eq!(with_literals(sql, &[at(20)], "it's", "c"), None);
    }
}
