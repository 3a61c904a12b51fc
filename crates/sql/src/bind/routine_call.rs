//! Calls of routines that users made: what one gives, in expressions, in FROM and of CALL.
//!
//! ```text
//! f(a, b => c)     the routine that is meant -> Call(Routine, arguments)
//! FROM f(a)        one row: Project; many: Series over the array of records that the call gives
//! CALL p(a)        a query of one row, its columns the arguments
//! ```
//! Elsewhere: which routine is meant (`routine_choice`), built-in functions (`functions`), which
//! are meant where no routine fits.
//! Departure from PostgreSQL: a routine that fits comes before a built-in function of its name.

use std::sync::Arc;

use sqlparser::ast;
use types::{DataType, RecordField, RecordType, Result, SqlState};

use super::composite::field_of;
use super::from::{FunctionItem, named_relation};
use super::name::object_at;
use super::routine_choice::Chosen;
use super::scope::{Clause, Scope, ScopeColumn, Series, Whole};
use super::{Binder, Bound, BoundColumn, BoundQuery, fail, place, unsupported};
use crate::algebra::{
    Derived, Expr, Function, Place, Plan, RoutineCall, SeriesFunction, is_collatable,
};
use crate::catalog::{
    DomainUse, ParameterDef, Relation, RoutineDef, RoutineKind, RoutineType, RowCount,
};
use crate::parse::folded;
use crate::statement::{CallRoutine, RelationName, Statement};

/// Form of the result of a call.
pub(super) struct Shape {
    /// Type of a row or value.
    ty: DataType,
    /// Columns of a row; none of a value.
    columns: Option<Vec<(String, DataType)>>,
}

/// The rows of a call in FROM.
struct Rows {
    plan: Plan,
    /// The columns, or the only value.
    values: Vec<Expr>,
    /// The number of a row, if it is asked for.
    number: Option<Expr>,
}

impl Binder<'_> {
    /// The type of values of a parameter or result.
    pub(super) fn held_type(&mut self, ty: &RoutineType) -> Result<DataType> {
        match ty {
            RoutineType::Value(ty, _) => Ok(*ty),
            RoutineType::Row(key) => self.row_of_key(key),
            RoutineType::Void => Ok(DataType::Text),
            RoutineType::Record | RoutineType::Trigger => {
                Ok(DataType::Record(RecordType::new(Vec::new())?))
            }
            // Of a call they are known, or refused.
            RoutineType::Polymorphic(_) => Ok(DataType::Unknown),
        }
    }

    /// The type of rows of the relation that the catalog calls `key`.
    fn row_of_key(&mut self, key: &str) -> Result<DataType> {
        let name = RelationName::of_key(key);
        let part = |text: &str| ast::ObjectNamePart::Identifier(ast::Ident::with_quote('"', text));
        let parts = vec![part(name.schema_name()), part(&name.name)];
        let custom = ast::DataType::Custom(ast::ObjectName(parts), Vec::new());
        match self.type_of_relation(&custom)? {
            Some(ty) => Ok(ty),
            None => {
                let message = format!("type \"{name}\" does not exist");
                fail(SqlState::UNDEFINED_OBJECT, message, None)
            }
        }
    }

    /// Form of the result of `routine`; `listed` are the columns that the call says.
    fn shape(
        &mut self,
        routine: &RoutineDef,
        listed: Option<Vec<(String, DataType)>>,
        at: Place,
    ) -> Result<Shape> {
        let outputs: Vec<&ParameterDef> = routine.outputs().collect();
        match &routine.result {
            RoutineType::Trigger => {
                let message = "trigger functions can only be called as triggers";
                fail(SqlState::FEATURE_NOT_SUPPORTED, message, at)
            }
            RoutineType::Record => {
                let columns = if outputs.is_empty() {
                    let Some(listed) = listed else {
                        let message = "a column definition list is required for functions \
                                       returning \"record\"";
                        return fail(SqlState::SYNTAX_ERROR, message, at);
                    };
                    listed
                } else {
                    let mut columns = Vec::with_capacity(outputs.len());
                    for (at, output) in outputs.iter().enumerate() {
                        let name = match output.name.as_str() {
                            "" => format!("column{}", at + 1),
                            name => name.to_owned(),
                        };
                        columns.push((name, self.held_type(&output.ty)?));
                    }
                    columns
                };
                let field =
                    |(name, ty): &(String, DataType)| RecordField { name: name.clone(), ty: *ty };
                let ty = RecordType::new(columns.iter().map(field).collect())?;
                Ok(Shape { ty: DataType::Record(ty), columns: Some(columns) })
            }
            result => {
                let ty = self.held_type(result)?;
                let columns = match ty {
                    DataType::Record(record) => {
                        let field = |field: &RecordField| (field.name.clone(), field.ty);
                        Some(record.fields().iter().map(field).collect())
                    }
                    _ => None,
                };
                Ok(Shape { ty, columns })
            }
        }
    }

    /// The call of a routine in an expression; None when none fits.
    pub(super) fn routine_value(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::FunctionArg],
    ) -> Result<Option<Bound>> {
        match self.chosen(name, args, RoutineKind::Function)? {
            Some(chosen) => self.value_of_call(chosen, object_at(name)).map(Some),
            None => Ok(None),
        }
    }

    /// Value of a call in an expression.
    pub(super) fn value_of_call(&mut self, chosen: Chosen, at: Place) -> Result<Bound> {
        let shape = self.shape(&chosen.routine, None, at)?;
        if let Some(inlined) = self.inlined_value(&chosen, shape.ty) {
            return Ok(Bound::new(inlined, at));
        }
        let result = chosen.routine.result.domain();
        if chosen.routine.rows == RowCount::One {
            let call = self.call_of(chosen, shape.ty, at)?;
            return Ok(Bound::new(self.in_domain(call, result)?, at));
        }
        let call = self.rows_called(chosen, &shape, at)?;
        let is_value = shape.columns.is_none();
        let row = self.series_value(call, at)?.expr;
        let value = if is_value { field_of(&row, 0, shape.ty) } else { row };
        Ok(Bound::new(self.in_domain(value, result)?, at))
    }

    /// The call itself, of a value of type `ty`.
    fn call_of(&mut self, chosen: Chosen, ty: DataType, at: Place) -> Result<Expr> {
        let Chosen { routine, instance, arguments, .. } = chosen;
        let collation = self.call_collation(&arguments, at)?;
        let call = Function::Routine(RoutineCall::of(&routine, instance, collation));
        Ok(Expr::call(call, arguments, ty))
    }

    /// The rows of a call as a series of records; a value is the only field of one.
    fn rows_called(&mut self, chosen: Chosen, shape: &Shape, at: Place) -> Result<Series> {
        let row = match shape.ty {
            DataType::Record(_) => shape.ty,
            ty => {
                let field = RecordField { name: chosen.routine.bare_name().to_owned(), ty };
                DataType::Record(RecordType::new(vec![field])?)
            }
        };
        let Some(list) = DataType::array_of(row) else {
            return unsupported("rows of this type", at);
        };
        let rows = self.call_of(chosen, list, at)?;
        let function = SeriesFunction::Unnest;
        Ok(Series { id: self.fresh(), ty: row, function, arguments: vec![rows] })
    }

    /// The call of a routine in FROM; None when none fits.
    pub(super) fn routine_scan(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::FunctionArg],
        item: FunctionItem<'_>,
    ) -> Result<Option<(Plan, Scope)>> {
        if self.routines_named(name)?.is_empty() {
            return Ok(None);
        }
        let FunctionItem { alias, ordinality, at } = item;
        let chosen =
            self.in_clause(Clause::From, |b| b.chosen(name, args, RoutineKind::Function))?;
        let Some(chosen) = chosen else { return Ok(None) };
        let routine = Arc::clone(&chosen.routine);
        let is_typed =
            alias.is_some_and(|alias| alias.columns.iter().any(|c| c.data_type.is_some()));
        let listed = if is_typed { Some(self.listed_columns(item)?) } else { None };
        let lists = routine.result == RoutineType::Record && routine.outputs().next().is_none();
        if is_typed && !lists {
            let message =
                "a column definition list is only allowed for functions returning \"record\"";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        let shape = self.shape(&routine, listed, at)?;
        let bare = routine.bare_name().to_owned();
        let Rows { plan, values, number } = self.rows_in_from(chosen, &shape, ordinality, at)?;
        let mut columns: Vec<ScopeColumn> = Vec::new();
        match &shape.columns {
            Some(all) => {
                for ((name, _), value) in all.iter().zip(values) {
                    columns.push(column(name, value, &bare));
                }
            }
            None => {
                let only = routine.outputs().next().map(|output| output.name.clone());
                let name = match (only.filter(|name| !name.is_empty()), alias) {
                    (Some(name), _) => name,
                    (None, Some(alias)) => folded(&alias.name),
                    (None, None) => bare.clone(),
                };
                columns.extend(values.into_iter().map(|value| column(&name, value, &bare)));
            }
        }
        columns.extend(number.map(|number| column("ordinality", number, &bare)));
        let untyped = alias.map(|alias| {
            let mut alias = alias.clone();
            alias.columns.iter_mut().for_each(|column| column.data_type = None);
            alias
        });
        let mut relation = named_relation(bare, columns, untyped.as_ref(), at)?;
        if shape.columns.is_none() && relation.columns.len() == 1 {
            relation.whole = Whole::Value;
        }
        Ok(Some((plan, Scope::of(relation))))
    }

    /// The rows of a call in FROM: of the body where that is a query, of the call elsewhere.
    fn rows_in_from(
        &mut self,
        chosen: Chosen,
        shape: &Shape,
        ordinality: bool,
        at: Place,
    ) -> Result<Rows> {
        let types: Vec<DataType> = match &shape.columns {
            Some(all) => all.iter().map(|(_, ty)| *ty).collect(),
            None => vec![shape.ty],
        };
        let noted = self.collations_of_rows(&chosen, &types, at)?;
        if !ordinality && let Some((plan, values)) = self.inlined_rows(&chosen, &types, &noted) {
            return Ok(Rows { plan, values, number: None });
        }
        let count = chosen.routine.rows;
        let domains: Vec<Option<DomainUse>> = match (&shape.columns, &chosen.routine.result) {
            (Some(_), RoutineType::Record) => {
                chosen.routine.outputs().map(|output| output.ty.domain()).collect()
            }
            (Some(_), _) => Vec::new(),
            (None, result) => vec![result.domain()],
        };
        let (plan, row, number) = self.rows_of_call(chosen, shape, ordinality, at)?;
        let mut values: Vec<Expr> = match (&shape.columns, count) {
            (None, RowCount::One) => vec![row],
            _ => {
                let fields = types.iter().enumerate();
                fields.map(|(ordinal, ty)| field_of(&row, ordinal, *ty)).collect()
            }
        };
        for (value, domain) in values.iter_mut().zip(domains) {
            *value = self.in_domain(value.clone(), domain)?;
        }
        if noted.iter().all(|noted| *noted == Derived::Usual) {
            return Ok(Rows { plan, values, number });
        }
        let mut columns = Vec::with_capacity(values.len() + 1);
        let mut number = number;
        for (value, noted) in values.iter_mut().zip(noted) {
            let id = self.fresh();
            self.note(id, noted);
            let own = Expr::column(id, value.ty);
            columns.push((id, std::mem::replace(value, own)));
        }
        if let Some(number) = &mut number {
            let id = self.fresh();
            let own = Expr::column(id, number.ty);
            columns.push((id, std::mem::replace(number, own)));
        }
        let plan = Plan::Project { input: Box::new(plan), columns };
        Ok(Rows { plan, values, number })
    }

    /// Collations of the columns of the rows of a call: those of the type that a row is of, and
    /// that of the arguments for a value.
    fn collations_of_rows(
        &mut self,
        chosen: &Chosen,
        types: &[DataType],
        at: Place,
    ) -> Result<Vec<Derived>> {
        match &chosen.routine.result {
            RoutineType::Value(..) if types.len() == 1 && is_collatable(types[0]) => {
                let derived = self.of_arguments(&chosen.arguments);
                Ok(vec![derived.map_err(|error| place(error, at))?.of_column()])
            }
            RoutineType::Row(key) => {
                let name = RelationName::of_key(key);
                let found = self.catalog.relation(Some(name.schema_name()), &name.name);
                let mut noted = match found {
                    Some(Relation::Table(table)) => {
                        let columns = table.columns().iter();
                        columns.map(|column| Derived::implied(column.collation)).collect()
                    }
                    _ => Vec::new(),
                };
                noted.resize(types.len(), Derived::Usual);
                Ok(noted)
            }
            _ => Ok(vec![Derived::Usual; types.len()]),
        }
    }

    /// The plan of the rows of a call, a row of them, and its number from 1 if it is asked for.
    fn rows_of_call(
        &mut self,
        chosen: Chosen,
        shape: &Shape,
        ordinality: bool,
        at: Place,
    ) -> Result<(Plan, Expr, Option<Expr>)> {
        if chosen.routine.rows == RowCount::Many {
            let call = self.rows_called(chosen, shape, at)?;
            if ordinality {
                let mut numbered = self.side_by_side(vec![call], at)?;
                let row = numbered.values.pop();
                let row = row.ok_or_else(|| types::Error::internal("one call has one value"))?;
                let number = numbered.number.cast(DataType::BigInt);
                return Ok((numbered.plan, row, Some(number)));
            }
            let row = Expr::column(call.id, call.ty);
            let Series { id, ty, function, arguments } = call;
            return Ok((Plan::Series { function, arguments, column: (id, ty) }, row, None));
        }
        let call = self.call_of(chosen, shape.ty, at)?;
        let id = self.fresh();
        self.note_collation(id, &call)?;
        let one = Plan::Values { columns: Vec::new(), rows: vec![Vec::new()] };
        let mut columns = vec![(id, call)];
        let mut number = None;
        if ordinality {
            let own = self.fresh();
            columns.push((own, Expr::integer(1).cast(DataType::BigInt)));
            number = Some(Expr::column(own, DataType::BigInt));
        }
        let plan = Plan::Project { input: Box::new(one), columns };
        Ok((plan, Expr::column(id, shape.ty), number))
    }

    /// CALL of a procedure that users made; None when none fits.
    pub(super) fn call_routine(&mut self, function: &ast::Function) -> Result<Option<Statement>> {
        let args: &[ast::FunctionArg] = match &function.args {
            ast::FunctionArguments::List(list) => &list.args,
            _ => &[],
        };
        if self.routines_named(&function.name)?.is_empty() {
            return Ok(None);
        }
        let chosen = self.in_level(Clause::From, |binder| {
            binder.chosen(&function.name, args, RoutineKind::Procedure)
        })?;
        let Some(chosen) = chosen else { return Ok(None) };
        let collation = self.call_collation(&chosen.arguments, object_at(&function.name))?;
        let (mut columns, mut output) = (Vec::new(), Vec::new());
        for (expr, parameter) in chosen.arguments.into_iter().zip(chosen.routine.inputs()) {
            let (id, ty) = (self.fresh(), expr.ty);
            columns.push((id, expr));
            output.push(BoundColumn { name: parameter.name.clone(), ty, id, at: None });
        }
        let one = Plan::Values { columns: Vec::new(), rows: vec![Vec::new()] };
        let plan = Plan::Project { input: Box::new(one), columns };
        let arguments = self.finish(BoundQuery { plan, columns: output })?;
        let (number, instance) = (chosen.routine.number, chosen.instance);
        let call = CallRoutine { number, instance, collation, arguments };
        Ok(Some(Statement::CallRoutine(Box::new(call))))
    }
}

fn column(name: &str, expr: Expr, relation: &str) -> ScopeColumn {
    let (name, relation) = (name.to_owned(), relation.to_owned());
    ScopeColumn { name, expr, relation, source: None }
}
