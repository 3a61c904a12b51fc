//! Texts that the catalog keeps, as PostgreSQL's tools read them in any schema.

mod written;

use sqlparser::ast;
use types::Position;

pub use written::as_written;

use super::name::folded;
use super::visit::{rewrite_expressions, visit_names};
use super::{parse_expr, parse_query, position};
use crate::words::RelationName;

/// The query `sql` with these names for its columns; None when it has no select list that could say
/// them, or names of its own are used elsewhere in it.
pub fn named_columns(sql: &str, names: &[&str]) -> Option<String> {
    let mut query = parse_query(sql).ok()?;
    if query.order_by.is_some() {
        return None;
    }
    let ast::SetExpr::Select(select) = &mut *query.body else { return None };
    let is_grouped = !matches!(
        &select.group_by,
        ast::GroupByExpr::Expressions(exprs, _) if exprs.is_empty()
    );
    if is_grouped || select.projection.len() != names.len() {
        return None;
    }
    for (item, name) in select.projection.iter_mut().zip(names) {
        let (ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }) =
            item
        else {
            return None;
        };
        let alias = ast::Ident::with_quote('"', *name);
        *item = ast::SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
    let text = query.to_string();
    parse_query(&text).ok().map(|_| text)
}

/// The query `sql` with `schema` before the names of relations that have none and for which
/// `is_meant` holds. Names of its own parts (WITH) stay as they are.
pub fn query_in_schema(sql: &str, schema: &str, is_meant: impl Fn(&str) -> bool) -> String {
    let Ok(mut query) = parse_query(sql) else { return sql.to_owned() };
    let mut parts: Vec<String> = Vec::new();
    let mut names: Vec<(String, usize)> = Vec::new();
    visit_names(
        &mut query,
        &mut |query| {
            let tables = query.with.iter().flat_map(|with| &with.cte_tables);
            parts.extend(tables.map(|cte| folded(&cte.alias.name)));
        },
        &mut |name| {
            if let [ast::ObjectNamePart::Identifier(ident)] = name.0.as_slice()
                && let Some(at) = position(ident.span).and_then(|at| byte_of(sql, at))
            {
                names.push((folded(ident), at));
            }
        },
    );
    names.retain(|(name, _)| is_meant(name) && !parts.contains(name));
    names.sort_unstable_by_key(|(_, at)| *at);
    names.dedup();
    let mut text = String::with_capacity(sql.len() + names.len() * (schema.len() + 1));
    let mut done = 0;
    for (_, at) in names {
        text.push_str(&sql[done..at]);
        text.push_str(schema);
        text.push('.');
        done = at;
    }
    text.push_str(&sql[done..]);
    text
}

/// Where the character at a position of `text` begins, or the text ends.
pub(super) fn byte_of(text: &str, at: Position) -> Option<usize> {
    let mut begin = 0;
    for _ in 1..at.line {
        begin += text[begin..].find('\n')? + 1;
    }
    let rest = &text[begin..];
    let mut places = rest.char_indices().map(|(place, _)| place).chain([rest.len()]);
    let offset = places.nth(at.column.checked_sub(1)? as usize)?;
    Some(begin + offset)
}

/// The sequences that calls of nextval and its kin name in the expression `sql`.
pub fn sequences_in(sql: &str) -> Vec<RelationName> {
    let mut found = Vec::new();
    if let Ok(mut expr) = parse_expr(sql) {
        each_sequence(&mut expr, &mut |name, _| found.push(name));
    }
    found
}

/// The columns that the expression `sql` names, each once, in order.
pub fn names_in(sql: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let Ok(mut expr) = parse_expr(sql) else { return found };
    rewrite_expressions(&mut expr, &mut |inner| {
        let name = match inner {
            ast::Expr::Identifier(ident) => Some(folded(ident)),
            ast::Expr::CompoundIdentifier(parts) => parts.last().map(folded),
            _ => None,
        };
        if let Some(name) = name.filter(|name| !found.contains(name)) {
            found.push(name);
        }
    });
    found
}

/// The DEFAULT expression `sql` as it may stand in a definition: sequences as `shown` writes them,
/// in parentheses where the grammar of columns needs them.
pub fn default_text(sql: &str, shown: impl Fn(&RelationName) -> String) -> String {
    let Ok(mut expr) = parse_expr(sql) else { return sql.to_owned() };
    let mut is_changed = false;
    each_sequence(&mut expr, &mut |name, argument| {
        let literal = shown(&name).replace('\'', "''");
        let Ok(mut named) = parse_expr(&format!("'{literal}'::regclass")) else { return };
        if let ast::Expr::Cast { data_type, .. } = &mut named {
            // The grammar would write it in capitals.
            let name = ast::ObjectName::from(vec![ast::Ident::new("regclass")]);
            *data_type = ast::DataType::Custom(name, Vec::new());
        }
        *argument = named;
        is_changed = true;
    });
    let text = if is_changed { expr.to_string() } else { sql.to_owned() };
    use ast::Expr as E;
    match expr {
        E::Value(_)
        | E::Function(_)
        | E::Cast { .. }
        | E::Identifier(_)
        | E::Nested(_)
        | E::TypedString(_)
        | E::Array(_)
        | E::Interval(_) => text,
        _ => format!("({text})"),
    }
}

/// The first arguments of nextval and its kin that are names.
fn each_sequence(expr: &mut ast::Expr, each: &mut dyn FnMut(RelationName, &mut ast::Expr)) {
    rewrite_expressions(expr, &mut |inner| {
        let ast::Expr::Function(function) = inner else { return };
        let Some(ast::ObjectNamePart::Identifier(called)) = function.name.0.last() else { return };
        if !["nextval", "currval", "setval"].contains(&folded(called).as_str()) {
            return;
        }
        let ast::FunctionArguments::List(list) = &mut function.args else { return };
        let first = list.args.first_mut();
        let Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument))) = first else {
            return;
        };
        if let Some(name) = literal(argument).and_then(|text| RelationName::parse(&text).ok()) {
            each(name, argument);
        }
    });
}

/// The text of a literal, under casts or not.
fn literal(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        ast::Expr::Cast { expr, .. } | ast::Expr::Nested(expr) => literal(expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_get_their_schema() {
        let shown = |sql: &str| query_in_schema(sql, "public", |name| name != "x");
        assert_eq!(
            shown("SELECT t.a FROM t, \"Ü\" AS u\n JOIN s.t ON x IN (SELECT 1 FROM x, v)"),
            "SELECT t.a FROM public.t, public.\"Ü\" AS u\n JOIN s.t ON x IN \
             (SELECT 1 FROM x, public.v)"
        );
        assert_eq!(
            shown("WITH c AS (SELECT 'ö' FROM t) SELECT * FROM c"),
            "WITH c AS (SELECT 'ö' FROM public.t) SELECT * FROM c"
        );
    }

    #[test]
    fn defaults_name_their_sequences() {
        let schema = |name: &RelationName| Some(name.schema.clone().unwrap_or("public".into()));
        let full =
            |name: &RelationName| RelationName { schema: schema(name), ..name.clone() }.quoted();
        let shown = |sql| default_text(sql, full);
        assert_eq!(shown("nextval('s')"), "nextval('public.s'::regclass)");
        assert_eq!(shown("1 + nextval('a.S')"), "(1 + nextval('a.s'::regclass))");
        assert_eq!(shown("'x'::text"), "'x'::text");
        let bare = |name: &RelationName| name.name.clone();
        assert_eq!(default_text("nextval('public.s')", bare), "nextval('s'::regclass)");
        assert_eq!(sequences_in("nextval('\"S\"')")[0].name, "S");
    }
}
