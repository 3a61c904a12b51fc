//! Table functions in FROM: generate_series, and whatever the catalog knows. Constant arguments.

use sqlparser::ast;
use types::{DataType, Result, SqlState, Value};

use super::composite::field_of;
use super::from::{FunctionItem, named_relation};
use super::json::parts_columns;
use super::name::{ident_at, object_at, object_parts};
use super::record::RecordFunction;
use super::scope::{Clause, Scope, ScopeColumn, ScopeRelation, Whole};
use super::text_search::set_named;
use super::types::{Context, number_union};
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{BusFunction, Derived, Expr, ExprKind, Function, Place, Plan};
use crate::catalog::{Arguments, TableFunctionRef};
use crate::parse::{ROWS_FROM, folded};

impl Binder<'_> {
    /// A function in FROM.
    pub(super) fn bind_table_function(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::FunctionArg],
        item: FunctionItem<'_>,
    ) -> Result<(Plan, Scope)> {
        let FunctionItem { alias, ordinality, at } = item;
        let mut parts = object_parts(name)?;
        let function = parts.pop().unwrap_or_default();
        if function == ROWS_FROM {
            return self.bind_rows_from(args, item);
        }
        if let Some(found) = self.routine_scan(name, args, item)? {
            return Ok(found);
        }
        if let Some(rows) = self.system_rows_scan(name, args, item)? {
            return Ok(rows);
        }
        if function == "range" && (1..=3).contains(&args.len()) && !ordinality {
            return self.bind_range(&plain_arguments(args, at)?, alias, at);
        }
        if self.is_set_call(&function) {
            let list = plain_arguments(args, at)?;
            let list: Vec<&ast::Expr> = list.iter().collect();
            return self.bind_series_scan(&function, &list, item);
        }
        if let Some(call) = BusFunction::from_name(&function) {
            return self.bind_call_scan(call, args, alias, at);
        }
        if let Some(record) = RecordFunction::named(&function) {
            return self.bind_records(record, args, item);
        }
        if function == "pg_options_to_table" && args.len() == 1 {
            return self.bind_options(&args[0], alias, at);
        }
        if function == "ts_stat" && (1..=2).contains(&args.len()) && !ordinality {
            return self.bind_text_statistics(args, alias, at);
        }
        if ordinality {
            // What psql asks of triggers: no table has ancestors.
            if name.to_string() == "pg_catalog.pg_partition_ancestors" {
                return self.bind_relation(name, alias);
            }
            return unsupported("WITH ORDINALITY", at);
        }
        let arguments = match self.constant_arguments(args) {
            Ok(arguments) => arguments,
            Err(error) => {
                let scalar = self.bind_scalar_scan(name, args, alias, at)?;
                return scalar.ok_or(error);
            }
        };
        let Some(bound) = self.catalog.table_function(&function, &arguments) else {
            if let Some(scalar) = self.bind_scalar_scan(name, args, alias, at)? {
                return Ok(scalar);
            }
            let types: Vec<&str> = arguments.positional.iter().map(|(_, ty)| ty.name()).collect();
            let message = format!("function {function}({}) does not exist", types.join(", "));
            return fail(SqlState::UNDEFINED_FUNCTION, message, at);
        };
        let bound = bound.map_err(|error| place(error, at))?;
        self.scan_of_function(bound, &function, alias, at)
    }

    /// A scan of all rows of a bound function, as the relation `name`.
    pub(super) fn scan_of_function(
        &mut self,
        bound: TableFunctionRef,
        name: &str,
        alias: Option<&ast::TableAlias>,
        at: Place,
    ) -> Result<(Plan, Scope)> {
        let (plan, columns) = self.function_scan(bound, name);
        Ok((plan, Scope::of(function_relation(name.to_owned(), columns, alias, at)?)))
    }

    /// `range(start, end, step)`, DuckDB's: as generate_series, without the end.
    fn bind_range(
        &mut self,
        arguments: &[ast::Expr],
        alias: Option<&ast::TableAlias>,
        at: Place,
    ) -> Result<(Plan, Scope)> {
        let start = crate::parse::parse_expr("0::bigint")?;
        let list: Vec<&ast::Expr> = match arguments {
            [end] => vec![&start, end],
            list => list.iter().collect(),
        };
        let own = ast::TableAlias {
            explicit: false,
            name: ast::Ident::new("range"),
            columns: Vec::new(),
            at: None,
        };
        let item = FunctionItem { alias: Some(alias.unwrap_or(&own)), ordinality: false, at };
        let (plan, scope) = self.bind_series_scan("generate_series", &list, item)?;
        let (Some(end), Some(column)) = (list.get(1), scope.columns.first()) else {
            return Err(types::Error::internal("a range has an end and a column"));
        };
        let column = column.expr.clone();
        let end = self.bind_in_from(&[end])?.pop();
        let Some(end) = end else { return Err(types::Error::internal("one was bound")) };
        let end = self.coerce(end, column.ty, Context::Explicit)?;
        let predicate = Expr::compare(types::CompareOp::NotEqual, column, end);
        Ok((super::select::filter(plan, predicate), scope))
    }

    /// One row with the value of a function that is known in expressions; None for others.
    fn bind_scalar_scan(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::FunctionArg],
        alias: Option<&ast::TableAlias>,
        at: Place,
    ) -> Result<Option<(Plan, Scope)>> {
        let function = object_parts(name)?.pop().unwrap_or_default();
        let call = ast::Expr::Function(ast::Function {
            name: name.clone(),
            uses_odbc_syntax: false,
            parameters: ast::FunctionArguments::None,
            args: ast::FunctionArguments::List(ast::FunctionArgumentList {
                duplicate_treatment: None,
                args: args.to_vec(),
                clauses: Vec::new(),
            }),
            filter: None,
            null_treatment: None,
            over: None,
            within_group: Vec::new(),
        });
        let bound = match self.in_clause(Clause::From, |binder| binder.bind_expr(&call)) {
            Ok(bound) => self.retyped(bound),
            Err(error) if error.state() == SqlState::UNDEFINED_FUNCTION => return Ok(None),
            Err(error) => return Err(error),
        };
        let (id, ty) = (self.fresh(), bound.ty());
        self.note_collation(id, &bound.expr)?;
        // The alias of a function with one column names the column too.
        let column_name = alias.map_or_else(|| function.clone(), |alias| folded(&alias.name));
        let column = ScopeColumn {
            name: column_name,
            expr: Expr::column(id, ty),
            relation: function.clone(),
            source: None,
        };
        let row = Plan::Values { columns: Vec::new(), rows: vec![Vec::new()] };
        let plan = Plan::Project { input: Box::new(row), columns: vec![(id, bound.expr)] };
        let relation = function_relation(function, vec![column], alias, at)?;
        Ok(Some((plan, Scope::of(relation))))
    }

    /// pg_options_to_table(options): the names and values of `name=value`.
    fn bind_options(
        &mut self,
        options: &ast::FunctionArg,
        alias: Option<&ast::TableAlias>,
        at: Place,
    ) -> Result<(Plan, Scope)> {
        let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(options)) = options else {
            return unsupported("this form of argument", at);
        };
        let item = FunctionItem { alias: None, ordinality: false, at };
        let (plan, scope) = self.bind_series_scan("unnest", &[options], item)?;
        let option = scope.columns.first().map(|column| column.expr.clone());
        let option = option.ok_or_else(|| types::Error::internal("unnest has a column"))?;
        let text = |text: &str| Expr::literal(Value::text(text), DataType::Text);
        let call = |function, list| Expr::call(function, list, DataType::Text);
        let name = call(Function::SplitPart, vec![option.clone(), text("="), Expr::integer(1)]);
        let skipped = call(Function::Concat, vec![name.clone(), text("=")]);
        let length = Expr::call(Function::CharLength, vec![skipped], DataType::Integer);
        let from = Expr::call(Function::Add, vec![length, Expr::integer(1)], DataType::Integer);
        let value = call(Function::Substring, vec![option, from]);
        let relation = "pg_options_to_table".to_owned();
        let column = |name: &str, expr| ScopeColumn {
            name: name.to_owned(),
            expr,
            relation: relation.clone(),
            source: None,
        };
        let columns = vec![column("option_name", name), column("option_value", value)];
        Ok((plan, Scope::of(function_relation(relation.clone(), columns, alias, at)?)))
    }

    /// A scan of the rows that `name` stands for outside of the database; None when nobody knows
    /// the name. A view sees the database only.
    pub(super) fn bind_outside(
        &mut self,
        name: &str,
        alias: Option<&ast::TableAlias>,
        at: Place,
    ) -> Result<Option<(Plan, Scope)>> {
        if self.view_depth > 0 {
            return Ok(None);
        }
        let Some(bound) = self.catalog.outside(name) else { return Ok(None) };
        let bound = bound.map_err(|error| place(error, at))?;
        self.scan_of_function(bound, name, alias, at).map(Some)
    }

    /// A scan of all columns of `function`, called `relation`.
    fn function_scan(
        &mut self,
        function: TableFunctionRef,
        relation: &str,
    ) -> (Plan, Vec<ScopeColumn>) {
        let mut columns = Vec::new();
        let mut scope_columns = Vec::new();
        for (ordinal, (column, ty)) in function.0.columns().iter().enumerate() {
            let id = self.fresh();
            let collation = function.0.collations().get(ordinal).copied().flatten();
            self.note(id, Derived::implied(collation));
            columns.push((id, ordinal));
            scope_columns.push(ScopeColumn {
                name: column.clone(),
                expr: Expr::column(id, *ty),
                relation: relation.to_owned(),
                source: None,
            });
        }
        (Plan::FunctionScan { function, columns }, scope_columns)
    }

    /// `ROWS FROM (f(a), g(b))`: the rows of all functions side by side, NULLs at the ends of the
    /// shorter ones.
    fn bind_rows_from(
        &mut self,
        args: &[ast::FunctionArg],
        item: FunctionItem<'_>,
    ) -> Result<(Plan, Scope)> {
        let FunctionItem { alias, ordinality, at } = item;
        let mut written = Vec::with_capacity(args.len());
        for arg in args {
            let call = match arg {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Function(
                    call,
                ))) => call,
                _ => return unsupported("this form of ROWS FROM", at),
            };
            let ast::FunctionArguments::List(list) = &call.args else {
                return unsupported("this form of ROWS FROM", at);
            };
            written.push((&call.name, &list.args[..]));
        }
        if let [(name, args)] = written[..] {
            return self.bind_table_function(
                name,
                args,
                FunctionItem { at: object_at(name), ..item },
            );
        }
        let (mut calls, mut names) = (Vec::new(), Vec::new());
        for (name, args) in written {
            let function = object_parts(name)?.pop().unwrap_or_default();
            if !self.is_set_call(&function) {
                return unsupported(format!("{function} beside others in ROWS FROM"), at);
            }
            let arguments = plain_arguments(args, at)?;
            let arguments: Vec<&ast::Expr> = arguments.iter().collect();
            let bound = self.bind_in_from(&arguments)?;
            let new = self.set_calls(&function, bound, at)?;
            names.extend(std::iter::repeat_n(function, new.len()));
            calls.extend(new);
        }
        let name = names.first().cloned().unwrap_or_default();
        let numbered = self.side_by_side(calls, at)?;
        let mut columns: Vec<ScopeColumn> = Vec::new();
        for (function, value) in names.iter().zip(numbered.values) {
            columns.extend(columns_of_rows(function, function, value));
        }
        if ordinality {
            columns.push(made("ordinality", numbered.number.cast(DataType::BigInt)));
        }
        let relation = function_relation(name, columns, alias, at)?;
        Ok((numbered.plan, Scope::of(relation)))
    }

    /// The arguments of a function in FROM.
    fn bind_in_from(&mut self, arguments: &[&ast::Expr]) -> Result<Vec<Bound>> {
        self.in_clause(Clause::From, |binder| {
            let bind = |expr: &&ast::Expr| {
                let bound = binder.bind_expr(expr)?;
                Ok(binder.retyped(bound))
            };
            arguments.iter().map(bind).collect()
        })
    }

    /// A function in FROM that gives rows; `arguments` not yet bound.
    pub(super) fn bind_series_scan(
        &mut self,
        function: &str,
        arguments: &[&ast::Expr],
        item: FunctionItem<'_>,
    ) -> Result<(Plan, Scope)> {
        let FunctionItem { alias, ordinality, at } = item;
        let bound = self.bind_in_from(arguments)?;
        let set = set_named(function, &bound);
        let calls = self.set_calls(set, bound, at)?;
        if let ([call], false) = (calls.as_slice(), ordinality) {
            // The alias of a function with one column names the column too.
            let name = alias.map_or_else(|| function.to_owned(), |alias| folded(&alias.name));
            let row = Expr::column(call.id, call.ty);
            let is_expanded = expanded(set, &row).is_some();
            let columns = columns_of_rows(set, &name, row);
            let (function_kind, arguments) = (call.function, call.arguments.clone());
            let plan =
                Plan::Series { function: function_kind, arguments, column: (call.id, call.ty) };
            let mut relation = function_relation(function.to_owned(), columns, alias, at)?;
            if relation.columns.len() == 1 && !is_expanded {
                relation.whole = Whole::Value;
            }
            return Ok((plan, Scope::of(relation)));
        }
        let numbered = self.side_by_side(calls, at)?;
        let single = numbered.values.len() == 1;
        let name = match alias {
            Some(alias) if single => folded(&alias.name),
            _ => function.to_owned(),
        };
        let mut columns: Vec<ScopeColumn> = Vec::new();
        for value in numbered.values {
            columns.extend(columns_of_rows(set, &name, value));
        }
        if ordinality {
            columns.push(made("ordinality", numbered.number.cast(DataType::BigInt)));
        }
        let relation = function_relation(function.to_owned(), columns, alias, at)?;
        Ok((numbered.plan, Scope::of(relation)))
    }

    /// start, stop and step of generate_series, of one type, and that type; behind those of a
    /// TIMESTAMPTZ the session's time zone, unless it is UTC.
    pub(super) fn series_arguments(
        &mut self,
        mut args: Vec<Bound>,
        at: Place,
    ) -> Result<(Vec<Expr>, DataType)> {
        let wrong = |args: &[Bound]| {
            let types: Vec<&str> = args.iter().map(|arg| arg.ty().name()).collect();
            let message = format!("function generate_series({}) does not exist", types.join(", "));
            super::unmatched::no_function(message, at)
        };
        if !(2..=3).contains(&args.len()) {
            return Err(wrong(&args));
        }
        let untyped = |arg: &Bound| arg.is_unknown() && arg.expr.as_literal().is_some();
        if args.iter().all(untyped) {
            let shown = vec!["unknown"; args.len()].join(", ");
            let message = format!("function generate_series({shown}) is not unique");
            let error = types::Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(
                "Could not choose a best candidate function. You might need to add explicit type \
                 casts.",
            );
            return Err(place(error, at));
        }
        let bounds: Vec<DataType> =
            args.iter().take(2).map(Bound::ty).filter(|ty| *ty != DataType::Unknown).collect();
        // Of days alone the preferred type is made.
        let timed = [DataType::TIMESTAMPTZ, DataType::TIMESTAMP, DataType::Date];
        let has = |ty: &DataType| bounds.iter().any(|bound| bound.of_all_digits() == *ty);
        if let Some(ty) = timed.into_iter().find(has) {
            let ty = match ty {
                DataType::Date if args.len() == 3 => DataType::TIMESTAMPTZ,
                DataType::Date => return Err(wrong(&args)),
                ty => ty,
            };
            let Some(step) = args.get(2).cloned() else {
                return Err(wrong(&args));
            };
            args.truncate(2);
            let mut list = Vec::new();
            for arg in args {
                list.push(self.coerce(arg, ty, Context::Implicit)?);
            }
            list.push(self.coerce(step, DataType::INTERVAL, Context::Implicit)?);
            if ty.is_timestamptz() {
                list.extend(self.zone_name());
            }
            return Ok((list, ty));
        }
        let mut ty = DataType::Integer;
        for arg in args.iter().filter(|arg| !arg.is_unknown()) {
            match number_union(self.digits, ty, arg.ty()) {
                Some(DataType::Real | DataType::Double) | None => return Err(wrong(&args)),
                Some(union) => ty = union,
            }
        }
        if ty.is_numeric() {
            ty = DataType::NUMERIC;
        }
        if args.len() == 2 {
            args.push(Bound::new(Expr::integer(1), None));
        }
        let list: Result<Vec<Expr>> =
            args.into_iter().map(|arg| self.coerce(arg, ty, Context::Implicit)).collect();
        Ok((list?, ty))
    }

    /// An argument without name or star.
    pub(super) fn bind_plain_argument(&mut self, arg: &ast::FunctionArg) -> Result<Bound> {
        match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => self.bind_expr(expr),
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::QualifiedWildcard(name)) => {
                self.row_of_name(name)
            }
            ast::FunctionArg::Unnamed(other) => {
                fail(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{other}\""), None)
            }
            other => {
                let at = named_argument(other).and_then(|(name, _)| ident_at(name));
                unsupported("a named argument of this function", at)
            }
        }
    }

    /// Arguments that must be constants, of a table function or a procedure.
    pub(super) fn constant_arguments(&mut self, args: &[ast::FunctionArg]) -> Result<Arguments> {
        let levels = std::mem::take(&mut self.levels);
        let result = self.in_level(Clause::From, |binder| {
            let mut arguments = Arguments::default();
            for arg in args {
                if let Some((name, expr)) = named_argument(arg) {
                    let (value, ty) = binder.constant(expr)?;
                    arguments.named.push((folded(name), value, ty));
                    continue;
                }
                match arg {
                    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => {
                        if let Some((name, ..)) = arguments.named.last() {
                            let message = format!(
                                "positional argument cannot follow named argument \"{name}\""
                            );
                            let at = super::name::expr_at(expr);
                            return fail(SqlState::SYNTAX_ERROR, message, at);
                        }
                        let constant = binder.constant(expr)?;
                        arguments.positional.push(constant);
                    }
                    _ => return unsupported("this form of argument", None),
                }
            }
            Ok(arguments)
        });
        self.levels = levels;
        result
    }

    fn constant(&mut self, expr: &ast::Expr) -> Result<(Value, DataType)> {
        // A bare word is an option's value: `layout => frozen`.
        if let ast::Expr::Identifier(ident) = expr {
            return Ok((Value::text(&folded(ident)), DataType::Text));
        }
        let bound = self.bind_expr(expr)?;
        let at = bound.at;
        match (bound.expr.kind, bound.expr.ty) {
            (ExprKind::Literal(value), DataType::Unknown) => Ok((value, DataType::Text)),
            (ExprKind::Literal(value), ty) => Ok((value, ty)),
            _ => fail(
                SqlState::FEATURE_NOT_SUPPORTED,
                "arguments of this function must be constants",
                at.or_else(|| super::name::expr_at(expr)),
            ),
        }
    }
}

/// `name => value`: the name and the value.
pub(super) fn named_argument(arg: &ast::FunctionArg) -> Option<(&ast::Ident, &ast::Expr)> {
    use ast::{FunctionArg as A, FunctionArgExpr};
    if let A::Unnamed(FunctionArgExpr::Expr(ast::Expr::BinaryOp { left, op, right })) = arg
        && *op == ast::BinaryOperator::Assignment
        && let ast::Expr::Identifier(name) = &**left
    {
        return Some((name, right));
    }
    match arg {
        A::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => Some((name, expr)),
        A::ExprNamed {
            name: ast::Expr::Identifier(name),
            arg: FunctionArgExpr::Expr(expr),
            operator: ast::FunctionArgOperator::RightArrow | ast::FunctionArgOperator::Assignment,
        } => Some((name, expr)),
        _ => None,
    }
}

fn function_relation(
    name: String,
    columns: Vec<ScopeColumn>,
    alias: Option<&ast::TableAlias>,
    at: Place,
) -> Result<ScopeRelation> {
    let typed = alias.and_then(|alias| alias.columns.iter().find(|c| c.data_type.is_some()));
    if let Some(column) = typed {
        let message = "a column definition list is only allowed for functions returning \"record\"";
        return fail(SqlState::SYNTAX_ERROR, message, ident_at(&column.name));
    }
    named_relation(name, columns, alias, at)
}

/// The expressions of arguments without names.
fn plain_arguments(args: &[ast::FunctionArg], at: Place) -> Result<Vec<ast::Expr>> {
    let plain = |arg: &'_ ast::FunctionArg| match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Ok(expr.clone()),
        _ => unsupported("this form of argument", at),
    };
    args.iter().map(plain).collect()
}

/// The columns of what `function` gives for a row; `name` is that of a column without one.
fn columns_of_rows(function: &str, name: &str, row: Expr) -> Vec<ScopeColumn> {
    if let Some(columns) = expanded(function, &row) {
        return columns;
    }
    let parts = parts_columns(function, row);
    parts.into_iter().map(|(own, expr)| made(own.unwrap_or(name), expr)).collect()
}

/// The fields of the rows of a relation or of a composite type that unnest gives.
fn expanded(function: &str, row: &Expr) -> Option<Vec<ScopeColumn>> {
    let ty = match row.ty {
        DataType::Record(ty) if function == "unnest" && ty.number().is_some() => ty,
        _ => return None,
    };
    let fields = ty.fields().iter().enumerate();
    Some(fields.map(|(at, field)| made(&field.name, field_of(row, at, field.ty))).collect())
}

/// A column of no table.
fn made(name: &str, expr: Expr) -> ScopeColumn {
    ScopeColumn { name: name.to_owned(), expr, relation: String::new(), source: None }
}
