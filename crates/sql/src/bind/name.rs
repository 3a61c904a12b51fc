//! Identifiers: case folding, qualified names, the names of result columns.

use sqlparser::ast::{self, Spanned};
use types::{DataType, Error, Result, SqlState};

use super::{at_span, fail, place};
use crate::algebra::Place;
use crate::parse::{ONLY, folded, is_reserved};

/// 42601 for a reserved word that is not quoted.
pub(super) fn refuse_reserved(ident: &ast::Ident) -> Result<()> {
    if ident.quote_style.is_some() || !is_reserved(&folded(ident)) {
        return Ok(());
    }
    let message = format!("syntax error at or near \"{}\"", ident.value);
    fail(SqlState::SYNTAX_ERROR, message, ident_at(ident))
}

/// Functions that are called without parentheses, also in the place of a table.
const BARE_CALLS: [&str; 11] = [
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

/// True for the name of a function that is called by it alone.
pub(super) fn is_bare_call(name: &ast::ObjectName) -> bool {
    match name.0.as_slice() {
        [part] => part.as_ident().is_some_and(|ident| {
            ident.quote_style.is_none() && BARE_CALLS.contains(&folded(ident).as_str())
        }),
        _ => false,
    }
}

/// Columns that PostgreSQL has in each table.
const SYSTEM_COLUMNS: [&str; 6] = ["cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"];

/// 42701 for a column called as one of the system.
pub(super) fn refuse_system(ident: &ast::Ident) -> Result<()> {
    let name = folded(ident);
    if !SYSTEM_COLUMNS.contains(&name.as_str()) {
        return Ok(());
    }
    let message = format!("column name \"{name}\" conflicts with a system column name");
    fail(SqlState::DUPLICATE_COLUMN, message, ident_at(ident))
}

/// The place of an identifier.
pub(super) fn ident_at(ident: &ast::Ident) -> Place {
    at_span(ident.span)
}

/// The parts of a qualified name, case-folded.
pub(super) fn object_parts(name: &ast::ObjectName) -> Result<Vec<String>> {
    let part = |part: &ast::ObjectNamePart| match part {
        ast::ObjectNamePart::Identifier(ident) => Ok(folded(ident)),
        ast::ObjectNamePart::Function(_) => Err(place(
            Error::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{part}\"")),
            object_at(name),
        )),
    };
    name.0.iter().map(part).collect()
}

/// The name and the arguments of `name(a, b)`, which are no more than expressions.
pub(super) fn folded_call(expr: &ast::Expr) -> Option<(String, Vec<&ast::Expr>)> {
    let ast::Expr::Function(function) = expr else { return None };
    let [ast::ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let mut arguments = Vec::with_capacity(list.args.len());
    for known in &list.args {
        let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = known else {
            return None;
        };
        arguments.push(expr);
    }
    Some((folded(name), arguments))
}

/// True when the name says ONLY.
pub(super) fn is_only(name: &ast::ObjectName) -> bool {
    let first = name.0.first().and_then(ast::ObjectNamePart::as_ident);
    name.0.len() > 1 && first.is_some_and(|first| first.value == ONLY)
}

/// The place of a qualified name.
pub(super) fn object_at(name: &ast::ObjectName) -> Place {
    at_span(name.span())
}

/// The place of an expression: where its first token with a known place stands.
pub(super) fn expr_at(expr: &ast::Expr) -> Place {
    use ast::Expr;
    // Nearly always in the leftmost operand; to look at all of them takes the whole tree.
    let mut first = expr;
    let at = loop {
        first = match first {
            Expr::Nested(inner)
            | Expr::UnaryOp { expr: inner, .. }
            | Expr::Cast { expr: inner, .. }
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::BinaryOp { left: inner, .. } => inner,
            Expr::Function(function) => break object_at(&function.name),
            other => break at_span(other.span()),
        };
    };
    at.or_else(|| at_span(expr.span()))
}

/// The name that PostgreSQL gives a result column without AS.
pub(crate) fn column_name(expr: &ast::Expr) -> String {
    named(expr).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// The name that PostgreSQL gives an expression of an index.
pub(super) fn stored_name(expr: &ast::Expr) -> Option<String> {
    named(expr).map(|(name, _)| name)
}

/// How sure a name is: a cast takes its operand's name only when that is a strong one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    Weak,
    Strong,
}

fn named(expr: &ast::Expr) -> Option<(String, Strength)> {
    types::stack::deep(|| named_here(expr))
}

fn named_here(expr: &ast::Expr) -> Option<(String, Strength)> {
    use ast::Expr;
    let strong = |name: &str| Some((name.to_owned(), Strength::Strong));
    let weak = |name: &str| Some((name.to_owned(), Strength::Weak));
    match expr {
        Expr::Identifier(ident) => strong(&folded(ident)),
        Expr::CompoundIdentifier(parts) => strong(&folded(parts.last()?)),
        Expr::Function(function) => match function.name.0.last()? {
            ast::ObjectNamePart::Identifier(ident) => strong(&folded(ident)),
            ast::ObjectNamePart::Function(_) => None,
        },
        Expr::Nested(inner) => named(inner),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                ast::AccessExpr::Dot(Expr::Identifier(ident)) => Some(folded(ident)),
                _ => None,
            });
            field.map_or_else(|| named(root), |name| strong(&name))
        }
        Expr::Collate { expr, .. } => named(expr),
        Expr::Cast { expr, data_type, .. } => match named(expr) {
            Some((name, Strength::Strong)) => strong(&name),
            _ => weak(&type_name(data_type)),
        },
        Expr::TypedString(typed) => weak(&type_name(&typed.data_type)),
        Expr::Value(value) if matches!(value.value, ast::Value::NationalStringLiteral(_)) => {
            weak("bpchar")
        }
        Expr::Interval(_) => weak("interval"),
        Expr::Case { else_result, .. } => match else_result.as_deref().and_then(named) {
            Some((name, Strength::Strong)) => strong(&name),
            _ => weak("case"),
        },
        Expr::Exists { .. } => strong("exists"),
        Expr::Subquery(query) => subquery_name(query),
        Expr::Extract { .. } => strong("extract"),
        Expr::Substring { shorthand, .. } => {
            strong(if *shorthand { "substr" } else { "substring" })
        }
        Expr::Position { .. } => strong("position"),
        Expr::Overlay { .. } => strong("overlay"),
        Expr::Trim { trim_where, .. } => strong(match trim_where {
            Some(ast::TrimWhereField::Leading) => "ltrim",
            Some(ast::TrimWhereField::Trailing) => "rtrim",
            _ => "btrim",
        }),
        Expr::Ceil { .. } => strong("ceil"),
        Expr::Floor { .. } => strong("floor"),
        Expr::AtTimeZone { .. } => strong("timezone"),
        Expr::Array(_) => strong("array"),
        Expr::Tuple(_) => strong("row"),
        Expr::Value(value) => match value.value {
            ast::Value::Boolean(_) => weak("bool"),
            _ => None,
        },
        _ => None,
    }
}

fn subquery_name(query: &ast::Query) -> Option<(String, Strength)> {
    let select = match &*query.body {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::Values(_) => return Some(("column1".to_owned(), Strength::Strong)),
        _ => return None,
    };
    match select.projection.first()? {
        ast::SelectItem::UnnamedExpr(expr) => named(expr),
        ast::SelectItem::ExprWithAlias { alias, .. } => Some((folded(alias), Strength::Strong)),
        _ => None,
    }
}

/// PostgreSQL's internal name of a type, which it gives to columns that are casts.
fn type_name(ty: &ast::DataType) -> String {
    use ast::DataType as T;
    let name = match ty {
        T::Int(_) | T::Integer(_) | T::Int4(_) => "int4",
        T::BigInt(_) | T::Int8(_) => "int8",
        T::SmallInt(_) | T::Int2(_) => "int2",
        T::Real | T::Float4 => "float4",
        T::Double(_) | T::DoublePrecision | T::Float8 | T::Float(_) => "float8",
        T::Numeric(_) | T::Decimal(_) | T::Dec(_) => "numeric",
        T::Bool | T::Boolean => "bool",
        T::Char(_) | T::Character(_) => "bpchar",
        T::Varchar(_) | T::CharacterVarying(_) | T::CharVarying(_) => "varchar",
        T::Timestamp(_, ast::TimezoneInfo::WithTimeZone | ast::TimezoneInfo::Tz) => "timestamptz",
        T::Timestamp(..) => "timestamp",
        T::Time(..) => "time",
        T::Interval { .. } => "interval",
        other => return other.to_string().to_lowercase(),
    };
    name.to_owned()
}

/// `columns` with the names of an alias list, which may be shorter.
pub(super) fn renamed(
    mut columns: Vec<(String, DataType)>,
    alias: &ast::TableAlias,
) -> Result<Vec<(String, DataType)>> {
    if alias.columns.len() > columns.len() {
        let name = folded(&alias.name);
        let message = format!(
            "table \"{name}\" has {} columns available but {} columns specified",
            columns.len(),
            alias.columns.len()
        );
        return fail(SqlState::INVALID_COLUMN_REFERENCE, message, ident_at(&alias.name));
    }
    for (column, given) in columns.iter_mut().zip(&alias.columns) {
        column.0 = folded(&given.name);
    }
    Ok(columns)
}
