//! Values of settings: SET, ALTER ROLE ... SET, and options given as bare words.

use sqlparser::ast;
use types::Result;

use super::name::folded;
use crate::words::{RelationName, SetValue};

/// The value of SET or ALTER ROLE ... SET; None for DEFAULT.
pub(crate) fn setting_value(name: &str, values: &[ast::Expr]) -> Result<Option<String>> {
    let value = match name {
        "search_path" => path_value(values)?,
        _ => set_value(values)?,
    };
    Ok(match value {
        SetValue::Default => None,
        SetValue::Text(text) => Some(text),
    })
}

/// The value of SET for other settings.
pub(crate) fn set_value(values: &[ast::Expr]) -> Result<SetValue> {
    let word = |expr: &ast::Expr| {
        option_word(expr).map_or_else(|| Ok(expr.to_string()), Ok::<_, types::Error>)
    };
    let words: Vec<String> = values.iter().map(word).collect::<Result<_>>()?;
    match words.as_slice() {
        [only] if only.eq_ignore_ascii_case("default") => Ok(SetValue::Default),
        words => Ok(SetValue::Text(words.join(", "))),
    }
}

/// The value of SET search_path: each name as SQL writes it.
pub(crate) fn path_value(values: &[ast::Expr]) -> Result<SetValue> {
    let mut names = Vec::with_capacity(values.len());
    for value in values {
        let (name, is_quoted) = match value {
            ast::Expr::Identifier(ident) => (folded(ident), ident.quote_style.is_some()),
            ast::Expr::Value(value) => match value.value.clone().into_string() {
                Some(text) => (text, true),
                None => return set_value(values),
            },
            _ => return set_value(values),
        };
        if values.len() == 1 && !is_quoted && name == "default" {
            return Ok(SetValue::Default);
        }
        names.push(match name.as_str() {
            // As an empty name in quotes.
            "" => "\"\"".to_owned(),
            _ => RelationName::public(&name).quoted(),
        });
    }
    Ok(SetValue::Text(names.join(", ")))
}

/// The identifier as a word, for options given as bare names.
pub(crate) fn option_word(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Identifier(ident) => Some(folded(ident)),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text.clone()),
            ast::Value::Number(digits, _) => Some(digits.clone()),
            ast::Value::Boolean(value) => Some(value.to_string()),
            _ => None,
        },
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => {
            Some(format!("-{}", option_word(expr)?))
        }
        _ => None,
    }
}
