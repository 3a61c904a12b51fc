//! Calls of routines that users made: which one a name and arguments mean, and what it gives.
//!
//! ```text
//! f(a, b => c)     candidates by name -> those that fit -> the best -> Call(Routine, arguments)
//! FROM f(a)        one row: Project; many: Series over the array of records that the call gives
//! CALL p(a)        a query of one row, its columns the arguments
//! ```
//! Elsewhere: built-in functions (`functions`), which are meant where no routine fits.
//! Source: PostgreSQL 15, section 10.3. Departure: a routine that fits comes before a built-in
//! function of its name.

use std::sync::Arc;

use sqlparser::ast;
use types::{DataType, RecordField, RecordType, Result, SqlState};

use super::composite::field_of;
use super::from::{FunctionItem, named_relation};
use super::name::{object_at, object_parts};
use super::routine::without_modifier;
use super::scope::{Clause, Scope, ScopeColumn, Series, Whole};
use super::table_function::named_argument;
use super::types::{Context, can_cast, category};
use super::{Binder, Bound, BoundColumn, BoundQuery, fail, place, unsupported};
use crate::algebra::{Expr, Function, Place, Plan, RoutineCall, SeriesFunction};
use crate::catalog::{ParameterDef, ParameterMode, RoutineDef, RoutineKind, RoutineType, RowCount};
use crate::parse::folded;
use crate::statement::{CallRoutine, RelationName, Statement};

/// An argument as a call writes it.
pub(super) struct Given {
    /// The name of the parameter, where the call says it.
    name: Option<String>,
    bound: Bound,
}

/// A routine and the arguments of a call of it.
pub(super) struct Chosen {
    pub(super) routine: Arc<RoutineDef>,
    /// Values of the parameters that go in, of their types.
    pub(super) arguments: Vec<Expr>,
}

/// Source of the value of a parameter.
#[derive(Clone, Copy)]
enum Slot {
    /// The argument at this place.
    Given(usize),
    /// Its default.
    Default,
    /// Nothing: it only comes out.
    Nothing,
}

/// A routine that fits.
struct Candidate {
    routine: Arc<RoutineDef>,
    slots: Vec<Slot>,
    /// The types of the parameters, by place.
    types: Vec<DataType>,
}

/// Form of the result of a call.
pub(super) struct Shape {
    /// Type of a row or value.
    ty: DataType,
    /// Columns of a row; none of a value.
    columns: Option<Vec<(String, DataType)>>,
}

impl Binder<'_> {
    /// The routines that `name` means here.
    fn routines_named(&self, name: &ast::ObjectName) -> Result<Vec<Arc<RoutineDef>>> {
        let parts = object_parts(name)?;
        let (schema, bare) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] | [_, schema, name] => (Some(schema.as_str()), name),
            _ => return Ok(Vec::new()),
        };
        if schema == Some("pg_catalog") {
            return Ok(Vec::new());
        }
        // Text of definitions says the schemas of its routines.
        let meant = schema.or((self.definition_depth > 0).then_some("public"));
        let found = self.catalog.routines(meant, bare);
        if let (true, Some(schema)) = (found.is_empty(), schema.filter(|schema| *schema != "main"))
            && !self.catalog.has_schema(schema)
        {
            let message = format!("schema \"{schema}\" does not exist");
            return fail(SqlState::UNDEFINED_SCHEMA, message, object_at(name));
        }
        Ok(found)
    }

    fn given(&mut self, args: &[ast::FunctionArg]) -> Result<Vec<Given>> {
        let mut given = Vec::with_capacity(args.len());
        for arg in args {
            let (name, bound) = match named_argument(arg) {
                Some((name, expr)) => (Some(folded(name)), self.bind_expr(expr)?),
                None => {
                    if let Some(Given { name: Some(name), .. }) = given.last() {
                        let message =
                            format!("positional argument cannot follow named argument \"{name}\"");
                        return fail(SqlState::SYNTAX_ERROR, message, None);
                    }
                    (None, self.bind_plain_argument(arg)?)
                }
            };
            given.push(Given { name, bound: self.retyped(bound) });
        }
        Ok(given)
    }

    /// The routine that a call means, and its arguments; None when none fits.
    ///
    /// # Errors
    /// 42725 when several are equally good; 42501.
    pub(super) fn chosen(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::FunctionArg],
        kind: RoutineKind,
    ) -> Result<Option<Chosen>> {
        let found = self.routines_named(name)?;
        if found.is_empty() {
            return Ok(None);
        }
        let at = object_at(name);
        let given = self.given(args)?;
        let mut candidates: Vec<Candidate> = Vec::new();
        for routine in found {
            if let Some(candidate) = self.candidate(routine, &given)? {
                // One of an earlier schema hides those of later ones.
                if !candidates.iter().any(|known| known.types == candidate.types) {
                    candidates.push(candidate);
                }
            }
        }
        keep_best(&mut candidates, &given);
        if candidates.len() > 1 {
            let types: Vec<&str> = given.iter().map(|given| given.bound.ty().name()).collect();
            let message = format!("function {name}({}) is not unique", types.join(", "));
            let error = types::Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(
                "Could not choose a best candidate function. You might need to add explicit type \
                 casts.",
            );
            return Err(place(error, at));
        }
        let Some(candidate) = candidates.pop() else { return Ok(None) };
        refuse_kind(&candidate.routine, kind, at)?;
        self.catalog.check_execute(&candidate.routine).map_err(|error| place(error, at))?;
        if let (Some(at), 1) = (at, name.0.len()) {
            let schema = RelationName::schema_of_key(&candidate.routine.name);
            if schema != "public" && self.definition_depth == 0 {
                self.placed.push((at, schema.to_owned()));
            }
        }
        let arguments = self.arguments(&candidate, given)?;
        Ok(Some(Chosen { routine: candidate.routine, arguments }))
    }

    /// The routine with the sources of its parameters' values; None when it does not fit.
    fn candidate(
        &mut self,
        routine: Arc<RoutineDef>,
        given: &[Given],
    ) -> Result<Option<Candidate>> {
        let parameters: Vec<&ParameterDef> = called_parameters(&routine).collect();
        let mut slots: Vec<Option<Slot>> = vec![None; parameters.len()];
        for (at, given) in given.iter().enumerate() {
            let place = match &given.name {
                None => Some(at),
                Some(name) => parameters.iter().position(|known| known.name == *name),
            };
            match place.and_then(|place| slots.get_mut(place)) {
                Some(slot @ None) => *slot = Some(Slot::Given(at)),
                _ => return Ok(None),
            }
        }
        let (mut all, mut types) = (Vec::with_capacity(slots.len()), Vec::new());
        for (slot, parameter) in slots.into_iter().zip(&parameters) {
            let ty = self.held_type(&parameter.ty)?;
            let slot = match slot {
                Some(Slot::Given(_)) if !parameter.mode.goes_in() => Slot::Nothing,
                Some(Slot::Given(at)) => {
                    let Some(argument) = given.get(at) else { return Ok(None) };
                    if !can_cast(argument.bound.ty(), ty, Context::Implicit) {
                        return Ok(None);
                    }
                    Slot::Given(at)
                }
                _ if parameter.default.is_some() => Slot::Default,
                _ => return Ok(None),
            };
            all.push(slot);
            types.push(ty);
        }
        Ok(Some(Candidate { routine, slots: all, types }))
    }

    fn arguments(&mut self, candidate: &Candidate, given: Vec<Given>) -> Result<Vec<Expr>> {
        let mut given: Vec<Bound> = given.into_iter().map(|given| given.bound).collect();
        let parameters = called_parameters(&candidate.routine);
        let mut list = Vec::with_capacity(candidate.slots.len());
        for ((slot, ty), parameter) in candidate.slots.iter().zip(&candidate.types).zip(parameters)
        {
            let expr = match slot {
                Slot::Nothing => continue,
                Slot::Given(at) => {
                    let Some(bound) = given.get_mut(*at).map(Bound::taken) else { continue };
                    self.coerce(bound, *ty, Context::Implicit)?
                }
                Slot::Default => {
                    let text = parameter.default.as_deref().unwrap_or("NULL");
                    let tree = crate::parse::parse_expr(text)?;
                    self.in_definition(|binder| binder.default_value(&tree, *ty, &parameter.name))?
                }
            };
            // The callee knows the type by the parameter alone.
            let expr = if expr.ty == *ty { expr } else { self.cast(expr, *ty) };
            list.push(match &parameter.ty {
                RoutineType::Value(_, domain) => self.in_domain(expr, *domain)?,
                _ => expr,
            });
        }
        Ok(list)
    }

    /// The type of values of a parameter or result.
    pub(super) fn held_type(&mut self, ty: &RoutineType) -> Result<DataType> {
        match ty {
            RoutineType::Value(ty, _) => Ok(*ty),
            RoutineType::Row(key) => self.row_of_key(key),
            RoutineType::Void => Ok(DataType::Text),
            RoutineType::Record | RoutineType::Trigger => {
                Ok(DataType::Record(RecordType::new(Vec::new())?))
            }
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
        let at = object_at(name);
        let Some(chosen) = self.chosen(name, args, RoutineKind::Function)? else {
            return Ok(None);
        };
        let shape = self.shape(&chosen.routine, None, at)?;
        if chosen.routine.rows == RowCount::One {
            let called = Function::Routine(RoutineCall::of(&chosen.routine));
            return Ok(Some(Bound::new(Expr::call(called, chosen.arguments, shape.ty), at)));
        }
        let call = self.rows_called(chosen, &shape, at)?;
        let is_value = shape.columns.is_none();
        let row = self.series_value(call, at)?.expr;
        let value = if is_value { field_of(&row, 0, shape.ty) } else { row };
        Ok(Some(Bound::new(value, at)))
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
        let called = Function::Routine(RoutineCall::of(&chosen.routine));
        let rows = Expr::call(called, chosen.arguments, list);
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
        let (plan, row, number) = self.rows_of_call(chosen, &shape, ordinality, at)?;
        let mut columns: Vec<ScopeColumn> = Vec::new();
        match &shape.columns {
            Some(all) => {
                for (ordinal, (name, ty)) in all.iter().enumerate() {
                    columns.push(column(name, field_of(&row, ordinal, *ty), &bare));
                }
            }
            None => {
                let only = routine.outputs().next().map(|output| output.name.clone());
                let name = match (only.filter(|name| !name.is_empty()), alias) {
                    (Some(name), _) => name,
                    (None, Some(alias)) => folded(&alias.name),
                    (None, None) => bare.clone(),
                };
                let value = match routine.rows {
                    RowCount::Many => field_of(&row, 0, shape.ty),
                    RowCount::One => row,
                };
                columns.push(column(&name, value, &bare));
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
        let called = Function::Routine(RoutineCall::of(&chosen.routine));
        let call = Expr::call(called, chosen.arguments, shape.ty);
        let id = self.fresh();
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
        let (mut columns, mut output) = (Vec::new(), Vec::new());
        for (expr, parameter) in chosen.arguments.into_iter().zip(chosen.routine.inputs()) {
            let (id, ty) = (self.fresh(), expr.ty);
            columns.push((id, expr));
            output.push(BoundColumn { name: parameter.name.clone(), ty, id, at: None });
        }
        let one = Plan::Values { columns: Vec::new(), rows: vec![Vec::new()] };
        let plan = Plan::Project { input: Box::new(one), columns };
        let arguments = self.finish(BoundQuery { plan, columns: output })?;
        let number = chosen.routine.number;
        Ok(Some(Statement::CallRoutine(Box::new(CallRoutine { number, arguments }))))
    }
}

/// The parameters that a call has arguments for: a CALL those that come out, too.
fn called_parameters(routine: &RoutineDef) -> impl Iterator<Item = &ParameterDef> {
    let takes_all = routine.kind == RoutineKind::Procedure;
    let is_called = move |parameter: &&ParameterDef| {
        parameter.mode.goes_in() || takes_all && parameter.mode != ParameterMode::Table
    };
    routine.parameters.iter().filter(is_called)
}

fn column(name: &str, expr: Expr, relation: &str) -> ScopeColumn {
    let (name, relation) = (name.to_owned(), relation.to_owned());
    ScopeColumn { name, expr, relation, source: None }
}

/// # Errors
/// 42809 for a procedure in an expression, and for CALL of a function.
fn refuse_kind(routine: &RoutineDef, wanted: RoutineKind, at: Place) -> Result<()> {
    if routine.kind == wanted {
        return Ok(());
    }
    let (message, hint) = match wanted {
        RoutineKind::Function => {
            (format!("{} is a procedure", routine.shown()), "To call a procedure, use CALL.")
        }
        RoutineKind::Procedure => {
            (format!("{} is not a procedure", routine.shown()), "To call a function, use SELECT.")
        }
    };
    let error = types::Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint(hint);
    Err(place(error, at))
}

/// Leaves the candidates that PostgreSQL's rules prefer.
fn keep_best(candidates: &mut Vec<Candidate>, given: &[Given]) {
    let pairs = |candidate: &Candidate| -> Vec<(DataType, DataType)> {
        let slots = candidate.slots.iter().zip(&candidate.types);
        slots
            .filter_map(|(slot, ty)| match slot {
                Slot::Given(at) => Some((given.get(*at)?.bound.ty(), *ty)),
                _ => None,
            })
            .collect()
    };
    let exact = |(from, to): &(DataType, DataType)| without_modifier(*from) == *to;
    let rules: [&dyn Fn(&Candidate) -> usize; 4] = [
        &|candidate| pairs(candidate).iter().filter(|pair| exact(pair)).count(),
        &|candidate| {
            let good = |(from, to): &(DataType, DataType)| {
                *from != DataType::Unknown && (exact(&(*from, *to)) || is_preferred(*to))
            };
            pairs(candidate).iter().filter(|pair| good(pair)).count()
        },
        // Untyped literals are texts first.
        &|candidate| {
            let is_text =
                |(from, to): &(DataType, DataType)| *from == DataType::Unknown && to.is_text();
            pairs(candidate).iter().filter(|pair| is_text(pair)).count()
        },
        // Fewer defaults are closer.
        &|candidate| {
            candidate.slots.iter().filter(|slot| !matches!(slot, Slot::Default)).count() * 2
                + usize::from(!candidate.slots.iter().any(|slot| matches!(slot, Slot::Default)))
        },
    ];
    for rule in rules {
        let best = candidates.iter().map(rule).max().unwrap_or(0);
        candidates.retain(|candidate| rule(candidate) == best);
    }
    // Of one category, the preferred type.
    if candidates.len() > 1 {
        let preferred = |candidate: &Candidate| {
            pairs(candidate).iter().filter(|(_, to)| is_preferred(*to)).count()
        };
        let first = candidates.first().map(|c| c.types.iter().map(|ty| category(*ty)).collect());
        let first: Vec<_> = first.unwrap_or_default();
        let same = candidates
            .iter()
            .all(|c| c.types.iter().map(|ty| category(*ty)).collect::<Vec<_>>() == first);
        if same {
            let best = candidates.iter().map(preferred).max().unwrap_or(0);
            candidates.retain(|candidate| preferred(candidate) == best);
        }
    }
}

/// True for the type of its category that others are converted to.
fn is_preferred(ty: DataType) -> bool {
    matches!(
        ty,
        DataType::Double
            | DataType::Text
            | DataType::Boolean
            | DataType::TimestampTz(_)
            | DataType::Interval(_)
            | DataType::Oid
    )
}
