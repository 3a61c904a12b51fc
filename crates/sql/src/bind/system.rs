//! Functions and casts of the system catalog: each stands for an expression over its tables.

use sqlparser::ast::{self, Expr as Ast};
use types::{DataType, Result, Value};

use super::name::object_parts;
use super::types::data_type;
use super::{Binder, Bound, BoundColumn, BoundQuery};
use crate::algebra::{Expr, Function, Plan};
use crate::parse::visit::rewrite_expressions;
use crate::statement::RelationName;

impl Binder<'_> {
    /// The call as the expression that it stands for; None for any other function.
    pub(super) fn system_call(&mut self, name: &str, arguments: &[&Ast]) -> Result<Option<Bound>> {
        let Some(template) = self.catalog.template(name, arguments.len()) else {
            return Ok(None);
        };
        for (idx, argument) in arguments.iter().enumerate() {
            // What no expression uses is a flag; a parameter there has its type all the same.
            if is_placeholder(argument) && !template.contains(&format!("${}", idx + 1)) {
                self.bind_expr(&crate::parse::parse_expr(&format!("({argument})::boolean"))?)?;
            }
        }
        let named = match name {
            "to_regtype" => arguments.first().and_then(|a| Some((0, canonical_type(text_of(a)?)?))),
            _ => relation_argument(name, arguments.len())
                .and_then(|idx| Some((idx, canonical_name(text_of(arguments[idx])?)?))),
        };
        let mut arguments = arguments.to_vec();
        if let Some((idx, text)) = &named {
            arguments[*idx] = text;
        }
        self.bind_expr(&filled(template, &arguments)?).map(Some)
    }

    /// A cast to or from names of objects; None for any other.
    pub(super) fn system_cast(&mut self, expr: &Ast, ty: &ast::DataType) -> Result<Option<Bound>> {
        if let Ast::Cast { expr: inner, data_type, .. } = without_parentheses(expr)
            && is_number(ty)
            && let Some(function) = number_function(data_type)
        {
            let is_named = is_text(inner) || self.bind_expr(inner)?.ty() == DataType::Text;
            if is_named && digits(inner).is_none() {
                return self.system_call(function, &[inner]);
            }
            let number = self.bind_expr(inner)?;
            return self.cast_to(number, ty).map(Some);
        }
        // A number in quotes is a number.
        if let Some(digits) = digits(expr)
            && is_regclass(ty)
        {
            return self.bind_expr(&crate::parse::parse_expr(&format!("{digits}::oid"))?).map(Some);
        }
        if is_regclass(ty)
            && let Some(name) = text_of(expr).and_then(|text| RelationName::parse(text).ok())
        {
            // A literal, as nextval wants it.
            return self.bind_expr(&literal(name.quoted())).map(Some);
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
            Ast::Cast { data_type, .. } => number_function(data_type),
            _ => None,
        };
        let (expr, other) = (without_parentheses(expr), without_parentheses(other));
        match (expr, number(expr)) {
            (Ast::Cast { expr: inner, .. }, Some(function))
                if number(other).is_none() && is_text(inner) =>
            {
                // pg_typeof gives the name of a type.
                if function == "to_regtype" && self.bind_expr(other)?.ty() == DataType::Text {
                    return Ok(None);
                }
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
            ast::Value::SingleQuotedString(_)
                | ast::Value::DollarQuotedString(_)
                | ast::Value::Placeholder(_)
                | ast::Value::Null
        ),
        Ast::Nested(inner) => is_text(inner),
        Ast::Cast { expr, .. } => is_text(expr),
        _ => false,
    }
}

/// The function that gives the number of what a value of this type names.
fn number_function(ty: &ast::DataType) -> Option<&'static str> {
    match type_name(ty)?.as_str() {
        "regclass" => Some("pg_relation_number"),
        "regnamespace" => Some("pg_namespace_number"),
        "regtype" => Some("to_regtype"),
        "regrole" => Some("pg_role_number"),
        _ => None,
    }
}

/// Whether it is a type that numbers of objects are cast to.
fn is_number(ty: &ast::DataType) -> bool {
    matches!(ty, ast::DataType::BigInt(_) | ast::DataType::Int8(_))
        || type_name(ty).as_deref() == Some("oid")
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
        "pg_relation_number"
        | "to_regclass"
        | "pg_relation_size"
        | "pg_table_size"
        | "pg_total_relation_size"
        | "pg_indexes_size" => Some(0),
        "has_table_privilege" | "has_any_column_privilege" => Some(count.checked_sub(2)?),
        "has_column_privilege" => Some(count.checked_sub(3)?),
        _ => None,
    }
}

/// The name of a relation as the catalog shows it: each part in lower case unless in quotes, and in
/// quotes where it needs them. None when it is no name.
fn canonical_name(text: &str) -> Option<Ast> {
    let name = RelationName::parse(text).ok()?;
    let part = |part: &String| format!("quote_ident('{}')", part.replace('\'', "''"));
    let parts: Vec<String> = name.schema.iter().chain([&name.name]).map(part).collect();
    crate::parse::parse_expr(&parts.join(" || '.' || ")).ok()
}

/// The name of a type that SQL text may call otherwise: `int` is `integer`. None for types of the
/// catalog alone.
fn canonical_type(text: &str) -> Option<Ast> {
    let Ok(Ast::Cast { data_type: ty, .. }) = crate::parse::parse_expr(&format!("NULL::{text}"))
    else {
        return None;
    };
    // Some types of the catalog, `name` say, are text here and have their own numbers there.
    let ty = data_type(&ty, None).ok().filter(|ty| *ty != DataType::Text)?;
    Some(literal(ty.name().to_owned()))
}

fn literal(text: String) -> Ast {
    Ast::Value(ast::Value::SingleQuotedString(text).into())
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
