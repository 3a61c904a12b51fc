//! Functions of the system catalog: each stands for an expression over its tables.

use sqlparser::ast::{self, Expr as Ast};
use types::Result;

use super::name::expr_at;
use super::{Binder, Bound, place};
use crate::parse::visit::rewrite_expressions;
use crate::statement::RelationName;

impl Binder<'_> {
    /// The call as the expression that it stands for; None for any other function.
    pub(super) fn system_call(&mut self, name: &str, arguments: &[&Ast]) -> Result<Option<Bound>> {
        if let Some(rows) = self.system_rows(name, arguments)? {
            return Ok(Some(rows));
        }
        let Some(template) = self.catalog.template(name, arguments.len()) else {
            return Ok(None);
        };
        for (idx, argument) in arguments.iter().enumerate() {
            // What no expression uses is a flag; a parameter there has its type all the same.
            if is_placeholder(argument) && !template.contains(&format!("${}", idx + 1)) {
                self.bind_expr(&crate::parse::parse_expr(&format!("({argument})::boolean"))?)?;
            }
        }
        let named = relation_argument(name, arguments.len())
            .and_then(|idx| Some((idx, text_of(arguments[idx])?, arguments[idx])));
        let named = named.map(|(idx, text, argument)| {
            let name = canonical_name(text, self.catalog.database());
            name.map(|name| (idx, name)).map_err(|error| place(error, expr_at(argument)))
        });
        let named = named.transpose()?;
        let mut arguments = arguments.to_vec();
        if let Some((idx, text)) = &named {
            arguments[*idx] = text;
        }
        self.bind_expr(&filled(template, &arguments)?).map(Some)
    }
}

fn without_parentheses(expr: &Ast) -> &Ast {
    match expr {
        Ast::Nested(inner) => without_parentheses(inner),
        other => other,
    }
}

fn is_placeholder(expr: &Ast) -> bool {
    matches!(expr, Ast::Value(value) if matches!(value.value, ast::Value::Placeholder(_)))
}

/// The text between quotes, if the expression is nothing else.
fn text_of(expr: &Ast) -> Option<&str> {
    let Ast::Value(value) = without_parentheses(expr) else { return None };
    match &value.value {
        ast::Value::SingleQuotedString(text) => Some(text),
        ast::Value::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}

/// Which argument names a relation, as SQL text does.
fn relation_argument(function: &str, count: usize) -> Option<usize> {
    match function {
        "has_table_privilege" | "has_any_column_privilege" | "has_sequence_privilege" => {
            Some(count.checked_sub(2)?)
        }
        "has_column_privilege" => Some(count.checked_sub(3)?),
        _ => None,
    }
}

/// The name of a relation as the catalog shows it: each part in lower case unless in quotes, and in
/// quotes where it needs them.
///
/// # Errors
/// As [`RelationName::parse_in`].
fn canonical_name(text: &str, database: &str) -> Result<Ast> {
    let name = RelationName::parse_in(text, database)?;
    let part = |part: &String| format!("quote_ident('{}')", part.replace('\'', "''"));
    let parts: Vec<String> = name.schema.iter().chain([&name.name]).map(part).collect();
    crate::parse::parse_expr(&parts.join(" || '.' || "))
}

/// The expression `template` with `arguments` for `$1`...
pub(super) fn filled(template: &str, arguments: &[&Ast]) -> Result<Ast> {
    let mut expr = crate::parse::parse_expr(template)?;
    rewrite_expressions(&mut expr, &mut |inner| {
        let number = match inner {
            Ast::Value(value) => match &value.value {
                ast::Value::Placeholder(name) => {
                    name.strip_prefix('$').and_then(|n| n.parse().ok())
                }
                _ => None,
            },
            _ => None,
        };
        let argument = number.and_then(|number: usize| arguments.get(number.checked_sub(1)?));
        if let Some(argument) = argument {
            *inner = Ast::Nested(Box::new((*argument).clone()));
        }
    });
    Ok(expr)
}
