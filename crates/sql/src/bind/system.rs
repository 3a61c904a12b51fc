//! Functions and casts of the system catalog: each stands for an expression over its tables.

use sqlparser::ast::{self, Expr as Ast};
use types::{DataType, Result, Value};

use super::name::object_parts;
use super::{Binder, Bound, BoundColumn, BoundQuery};
use crate::algebra::{Expr, Function, Plan};
use crate::parse::visit::rewrite_expressions;

impl Binder<'_> {
    /// The call as the expression that it stands for; None for any other function.
    pub(super) fn system_call(&mut self, name: &str, arguments: &[&Ast]) -> Result<Option<Bound>> {
        match self.catalog.template(name, arguments.len()) {
            Some(template) => self.bind_expr(&filled(template, arguments)?).map(Some),
            None => Ok(None),
        }
    }

    /// A cast to or from names of objects; None for any other.
    pub(super) fn system_cast(&mut self, expr: &Ast, ty: &ast::DataType) -> Result<Option<Bound>> {
        if let Ast::Cast { expr: inner, data_type, .. } = expr
            && is_regclass(data_type)
            && type_name(ty).as_deref() == Some("oid")
        {
            return self.system_call("pg_relation_number", &[inner]);
        }
        // A number in quotes is a number.
        if let Some(digits) = digits(expr)
            && is_regclass(ty)
        {
            return self.bind_expr(&crate::parse::parse_expr(&format!("{digits}::oid"))?).map(Some);
        }
        let function = match type_name(ty).as_deref() {
            _ if is_text(expr) => return Ok(None),
            Some("regclass") => "pg_relation_name",
            Some("regtype") => "pg_type_name",
            Some("regrole") => "pg_get_userbyid",
            Some("regnamespace") => "pg_namespace_name",
            _ => return Ok(None),
        };
        self.system_call(function, &[expr])
    }

    /// `(_pg_expandarray(list)).n` and its kin, which drivers ask the catalog with: the only values
    /// with fields, x and n. Where they go through a sub-query they are BIGINTs that hold both
    /// (`EXPANDED` of the engine's catalog). None for other expressions.
    pub(super) fn field_of_expanded(&mut self, root: &Ast, field: &str) -> Result<Option<Bound>> {
        let root = without_parentheses(root);
        let (template, argument) = match (root, field.to_ascii_lowercase().as_str()) {
            (Ast::Function(function), field @ ("x" | "n")) => {
                let name = object_parts(&function.name)?.pop();
                let ast::FunctionArguments::List(list) = &function.args else { return Ok(None) };
                let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(array))] =
                    list.args.as_slice()
                else {
                    return Ok(None);
                };
                match (name.as_deref(), field) {
                    (Some("_pg_expandarray"), "x") => ("unnest($1)", array),
                    (Some("_pg_expandarray"), _) => ("generate_series(1, cardinality($1))", array),
                    _ => return Ok(None),
                }
            }
            (Ast::Identifier(_) | Ast::CompoundIdentifier(_), field @ ("x" | "n")) => {
                if self.bind_expr(root)?.ty() != DataType::BigInt {
                    return Ok(None);
                }
                match field {
                    "x" => ("($1 >> 32)::smallint", root),
                    _ => ("($1 & 4294967295)::int", root),
                }
            }
            _ => return Ok(None),
        };
        self.bind_expr(&filled(template, &[argument])?).map(Some)
    }

    /// Whether the expression is a column of a table of the system.
    pub(super) fn is_system_column(&self, expr: &Expr) -> bool {
        expr.as_column().is_some_and(|id| self.system_columns.contains(&id))
    }

    /// Notes the columns of a table of the system.
    pub(super) fn note_system_columns(&mut self, columns: &[BoundColumn]) {
        for column in columns {
            self.system_columns.insert(column.id);
            if VECTORS.contains(&column.name.as_str()) {
                self.vectors.insert(column.id);
            }
        }
    }

    /// The result of a statement, with those lists of the catalog that are vectors to PostgreSQL
    /// as it prints them: `1 2 3`.
    pub(super) fn with_printed_vectors(&mut self, query: BoundQuery) -> BoundQuery {
        let is_vector = |column: &BoundColumn| self.vectors.contains(&column.id);
        if !query.columns.iter().any(is_vector) {
            return query;
        }
        let mut project = Vec::with_capacity(query.columns.len());
        let mut columns = Vec::with_capacity(query.columns.len());
        for column in query.columns {
            let mut expr = Expr::column(column.id, column.ty);
            if self.vectors.contains(&column.id) {
                let list = vec![expr, Expr::literal(Value::text(" "), DataType::Text)];
                expr = Expr::call(Function::ArrayToString, list, DataType::Text);
            }
            let (id, ty) = (self.fresh(), expr.ty);
            project.push((id, expr));
            columns.push(BoundColumn { id, ty, ..column });
        }
        let plan = Plan::Project { input: Box::new(query.plan), columns: project };
        BoundQuery { plan, columns }
    }

    /// The names of relations among the items of a query that is united with another as numbers,
    /// where that one has numbers.
    pub(super) fn numbered_relations(
        &self,
        body: &ast::SetExpr,
        others: &[DataType],
    ) -> Option<ast::SetExpr> {
        let ast::SetExpr::Select(select) = body else { return None };
        let is_name =
            |item: &Ast| matches!(item, Ast::Cast { data_type, .. } if is_regclass(data_type));
        let mut select = select.clone();
        let mut found = false;
        for (item, other) in select.projection.iter_mut().zip(others) {
            let (ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }) =
                item
            else {
                return None;
            };
            if *other == DataType::Oid && is_name(expr) {
                found = true;
                *expr = crate::parse::parse_expr(&format!("{expr}::oid")).ok()?;
            }
        }
        found.then_some(ast::SetExpr::Select(select))
    }

    /// `'t'::regclass` and its kin, when it is compared with `other`, as a number; None for other
    /// expressions.
    pub(super) fn compared_relation(&mut self, expr: &Ast, other: &Ast) -> Result<Option<Bound>> {
        let number = |expr: &Ast| match expr {
            Ast::Cast { data_type, .. } => match type_name(data_type)?.as_str() {
                "regclass" => Some("pg_relation_number"),
                "regnamespace" => Some("pg_namespace_number"),
                _ => None,
            },
            _ => None,
        };
        let (expr, other) = (without_parentheses(expr), without_parentheses(other));
        match (expr, number(expr)) {
            (Ast::Cast { expr: inner, .. }, Some(function))
                if number(other).is_none() && is_text(inner) =>
            {
                self.system_call(function, &[inner])
            }
            _ => Ok(None),
        }
    }
}

/// Columns of the catalog that are of the types int2vector and oidvector in PostgreSQL.
const VECTORS: [&str; 6] =
    ["indkey", "indoption", "indclass", "indcollation", "proargtypes", "partattrs"];

fn without_parentheses(expr: &Ast) -> &Ast {
    match expr {
        Ast::Nested(inner) => without_parentheses(inner),
        other => other,
    }
}

/// Whether it is text as it is written, or a parameter.
fn is_text(expr: &Ast) -> bool {
    match expr {
        Ast::Value(value) => matches!(
            value.value,
            ast::Value::SingleQuotedString(_) | ast::Value::Placeholder(_) | ast::Value::Null
        ),
        Ast::Nested(inner) => is_text(inner),
        Ast::Cast { expr, .. } => is_text(expr),
        _ => false,
    }
}

/// The digits between quotes, if there is nothing else.
fn digits(expr: &Ast) -> Option<&str> {
    let Ast::Value(value) = expr else { return None };
    let ast::Value::SingleQuotedString(text) = &value.value else { return None };
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(text)
}

fn is_regclass(ty: &ast::DataType) -> bool {
    type_name(ty).as_deref() == Some("regclass")
}

/// The last part of the name of a type that the grammar does not know.
fn type_name(ty: &ast::DataType) -> Option<String> {
    match ty {
        ast::DataType::Regclass => Some("regclass".to_owned()),
        ast::DataType::Custom(name, _) => object_parts(name).ok()?.pop(),
        _ => None,
    }
}

/// The expression `template` with `arguments` for `$1`...
fn filled(template: &str, arguments: &[&Ast]) -> Result<Ast> {
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
