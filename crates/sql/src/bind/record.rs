//! Rows from records in JSON: json_to_record, json_populate_recordset and their kin, in FROM.
//!
//! ```text
//! jsonb_to_recordset(j) AS x(a int, b text[])
//! unnest(records of j) as row;   a: (row ->> 'a')::int,   b: (array text of row -> 'b')::text[]
//! ```

use sqlparser::ast;
use types::{DataType, ElementType, RecordField, RecordType, Result, SqlState, Value};

use super::from::{FunctionItem, named_relation};
use super::json::{call, made, missing};
use super::name::ident_at;
use super::scope::{Clause, Scope, ScopeColumn, Series};
use super::types::{Context, can_cast};
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{Expr, ExprKind, Function, JsonFunction as J, Place, Plan, SeriesFunction};
use crate::parse::folded;

/// A function that gives rows of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordFunction<'n> {
    name: &'n str,
    records: J,
    /// Its first argument is a row, whose columns are meant.
    populates: bool,
}

impl<'n> RecordFunction<'n> {
    /// The function called `name`.
    pub(super) fn named(name: &'n str) -> Option<Self> {
        let rest = name.strip_prefix("jsonb_").or_else(|| name.strip_prefix("json_"))?;
        let (records, populates) = match rest {
            "to_record" => (J::Record, false),
            "to_recordset" => (J::RecordsTo, false),
            "populate_record" => (J::Record, true),
            "populate_recordset" => (J::RecordsPopulated, true),
            _ => return None,
        };
        Some(Self { name, records, populates })
    }
}

/// A field of a record, or the column that it fills.
#[derive(Clone, Copy)]
struct Field<'n> {
    ordinal: usize,
    name: &'n str,
    ty: DataType,
    /// The record that says its domain.
    of: Option<RecordType>,
}

/// The row that the first argument is.
struct Row {
    ty: RecordType,
    /// The row, unless it is NULL.
    base: Option<Expr>,
}

/// Names and types.
type Columns = Vec<(String, DataType)>;

impl Binder<'_> {
    /// `function` in FROM.
    ///
    /// # Errors
    /// 42601 without the columns of a record, 42883, 0A000.
    pub(super) fn bind_records(
        &mut self,
        function: RecordFunction<'_>,
        args: &[ast::FunctionArg],
        item: FunctionItem<'_>,
    ) -> Result<(Plan, Scope)> {
        let FunctionItem { alias, ordinality, at } = item;
        let (columns, row, rest) = if function.populates {
            let (row, rest) = self.row_given(args, at)?;
            let column = |field: &RecordField| (field.name.clone(), field.ty);
            (row.ty.fields().iter().map(column).collect(), Some(row), rest)
        } else {
            (self.listed_columns(item)?, None, args)
        };
        let (of, base) = row.map_or((None, None), |row| (Some(row.ty), row.base));
        if ordinality {
            return unsupported("WITH ORDINALITY", at);
        }
        let bound = self.in_clause(Clause::From, |binder| {
            let bind = |arg: &ast::FunctionArg| {
                let bound = binder.bind_plain_argument(arg)?;
                Ok(binder.retyped(bound))
            };
            rest.iter().map(bind).collect::<Result<Vec<Bound>>>()
        })?;
        let json = made(function.name);
        let [value] = bound.as_slice() else {
            return Err(missing(function.name, &bound, at));
        };
        if !can_cast(value.ty(), json, Context::Implicit) {
            return Err(missing(function.name, &bound, at));
        }
        let mut value = self.coerce(value.clone(), json, Context::Implicit)?;
        if function.records == J::Record {
            // NULL is a record without values.
            let none = Expr::literal(Value::text("{}"), json);
            value = Expr::call(Function::Coalesce, vec![value, none], json);
        }
        let element = if json == DataType::Jsonb { ElementType::Jsonb } else { ElementType::Json };
        let records = call(function.records, vec![value], DataType::Array(element));
        let row = self.fresh();
        let plan = Plan::Series {
            function: SeriesFunction::Unnest,
            arguments: vec![records],
            column: (row, json),
        };
        let row = Expr::column(row, json);
        let relation = function.name.to_owned();
        let mut exprs = Vec::with_capacity(columns.len());
        for (ordinal, (name, ty)) in columns.iter().enumerate() {
            let field = Field { ordinal, name, ty: *ty, of };
            exprs.push(self.field_or_base(&row, field, base.as_ref(), at)?);
        }
        if let Some(base) = base.filter(is_tested) {
            let made = Expr::call(Function::RecordMake, exprs, base.ty);
            let tested = in_same_domain(&base, made);
            let columns = columns.iter().enumerate();
            let field = |(ordinal, (_, ty)): (usize, &(String, DataType))| {
                super::composite::field_of(&tested, ordinal, *ty)
            };
            exprs = columns.map(field).collect();
        }
        let listed = columns.into_iter().zip(exprs).map(|((name, _), expr)| {
            let relation = relation.clone();
            ScopeColumn { name, expr, relation, source: None }
        });
        let listed = listed.collect();
        let relation = named_relation(relation, listed, alias, at)?;
        Ok((plan, Scope::of(relation)))
    }

    /// json_populate_record and its kin as values; None for other functions.
    ///
    /// # Errors
    /// 42804 unless the first argument is a row, 42883.
    pub(super) fn populated_record(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        let function = RecordFunction::named(name).filter(|function| function.populates);
        let (Some(function), [base, value]) = (function, arguments) else { return Ok(None) };
        let DataType::Record(ty) = base.ty() else {
            let message = format!("first argument of {name} must be a row type");
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        };
        let json = made(name);
        if !can_cast(value.ty(), json, Context::Implicit) {
            return Err(missing(name, arguments, at));
        }
        let value = self.coerce(value.clone(), json, Context::Implicit)?;
        let base = (base.expr.as_literal() != Some(&Value::Null)).then(|| base.expr.clone());
        let row = match function.records {
            J::Record => value,
            records => {
                let element =
                    if json == DataType::Jsonb { ElementType::Jsonb } else { ElementType::Json };
                let arguments = vec![call(records, vec![value], DataType::Array(element))];
                let (id, function) = (self.fresh(), SeriesFunction::Unnest);
                self.series_value(Series { id, ty: json, function, arguments }, at)?.expr
            }
        };
        let mut list = Vec::with_capacity(ty.fields().len());
        for (ordinal, field) in ty.fields().iter().enumerate() {
            let field = Field { ordinal, name: &field.name, ty: field.ty, of: Some(ty) };
            list.push(self.field_or_base(&row, field, base.as_ref(), at)?);
        }
        let ty = DataType::Record(ty);
        let filled = in_same_domain(&arguments[0].expr, Expr::call(Function::RecordMake, list, ty));
        if function.records != J::Record {
            return Ok(Some(Bound::new(filled, at)));
        }
        // Without a JSON the row stays as it is.
        let branches = vec![(row.is_null(), base.unwrap_or_else(|| Expr::null(ty)))];
        let kind = ExprKind::Case { branches, otherwise: Box::new(filled) };
        Ok(Some(Bound::new(Expr { kind, ty }, at)))
    }

    /// The field of a JSON object, or of `base`, a row, where the object has none.
    fn field_or_base(
        &mut self,
        row: &Expr,
        Field { ordinal, name, ty, of }: Field<'_>,
        base: Option<&Expr>,
        at: Place,
    ) -> Result<Expr> {
        let mut field = self.field_as(row.clone(), name, ty, at)?;
        if let Some(record) = of {
            field = self.in_domain_of_field(field, record, ordinal)?;
        }
        let Some(base) = base else { return Ok(field) };
        let document = match row.ty {
            DataType::Jsonb => row.clone(),
            _ => row.clone().cast(DataType::Jsonb),
        };
        let key = Expr::literal(Value::text(name), DataType::Text);
        let present = call(J::HasKey, vec![document, key], DataType::Boolean);
        let branches = vec![(present, field)];
        let otherwise = Box::new(super::composite::field_of(base, ordinal, ty));
        Ok(Expr { kind: ExprKind::Case { branches, otherwise }, ty })
    }

    /// The field `name` of an object as a value of a column of type `ty`.
    fn field_as(&mut self, row: Expr, name: &str, ty: DataType, at: Place) -> Result<Expr> {
        let from = row.ty;
        let list = vec![row, Expr::literal(Value::text(name), DataType::Text)];
        let text = match ty {
            DataType::Json | DataType::Jsonb => {
                let value = Bound::new(call(J::ColumnValue, list, from), at);
                return self.coerce(value, ty, Context::Explicit);
            }
            DataType::Array(_) | DataType::Record(_) => {
                call(J::ValueText(ty), list, DataType::Text)
            }
            _ => call(J::Get, list, DataType::Text),
        };
        // Texts are too long or not; everything else is read.
        let context = if ty.is_text() { Context::Assignment } else { Context::Explicit };
        self.coerce(Bound::new(text, at), ty, context)
    }

    /// The row that the first argument is, and the other arguments.
    fn row_given<'a>(
        &mut self,
        args: &'a [ast::FunctionArg],
        at: Place,
    ) -> Result<(Row, &'a [ast::FunctionArg])> {
        let Some((first, rest)) = args.split_first() else {
            return Ok((Row { ty: RecordType::new(Vec::new())?, base: None }, args));
        };
        let bound = self.in_clause(Clause::From, |binder| binder.bind_plain_argument(first))?;
        let DataType::Record(ty) = bound.ty() else {
            let message = "first argument of json_populate_record must be a row type";
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        };
        let is_null = bound.expr.as_literal() == Some(&Value::Null);
        Ok((Row { ty, base: (!is_null).then_some(bound.expr) }, rest))
    }
}

/// True for a row that a domain tests.
fn is_tested(base: &Expr) -> bool {
    matches!(base.kind, ExprKind::Call(Function::Domain(_), _))
}

/// A row made for one that a domain tests, tested as that is.
fn in_same_domain(base: &Expr, filled: Expr) -> Expr {
    let ExprKind::Call(Function::Domain(tests), list) = &base.kind else { return filled };
    let ty = filled.ty;
    let list = std::iter::once(filled).chain(list.iter().skip(1).cloned()).collect();
    Expr::call(Function::Domain(*tests), list, ty)
}

impl Binder<'_> {
    /// The columns of a list such as `AS x(a int, b text)`.
    pub(super) fn listed_columns(
        &mut self,
        FunctionItem { alias, ordinality, at }: FunctionItem<'_>,
    ) -> Result<Columns> {
        let given = alias.map(|alias| alias.columns.as_slice()).unwrap_or_default();
        if given.is_empty() || given.iter().any(|column| column.data_type.is_none()) {
            let message = "a column definition list is required for functions returning \"record\"";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        if ordinality {
            let message = "WITH ORDINALITY cannot be used with a column definition list";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        let mut columns = Columns::with_capacity(given.len());
        for column in given {
            let place = ident_at(&column.name);
            let name = folded(&column.name);
            if columns.iter().any(|(known, _)| *known == name) {
                let message = format!("column name \"{name}\" specified more than once");
                return fail(SqlState::DUPLICATE_COLUMN, message, place);
            }
            if let Some(ty) = &column.data_type {
                columns.push((name, self.data_type(ty, place)?));
            }
        }
        Ok(columns)
    }
}
