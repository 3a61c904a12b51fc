//! Statements of a body: prepared with the variables that they read as parameters, and run.

use std::sync::Arc;

use exec::expr::Evaluator;
use kernels::{Batch, Column, Vector};
use sql::ParsedStatement;
use sql::algebra::{ColumnId, Expr, ExprKind, Plan};
use sql::catalog::{Digits, NameConflict};
use sql::program;
use sql::statement::{RelationName, Statement};
use types::{DataType, Error, RecordType, Result, SqlState, Value, stack};

use super::frame::{Boundaries, Frame, Typed, widened};
use super::result::TypedRow;
use crate::run::prepared::run_compiled;
use crate::session::code::{Body, Find, Fragment, Meaning, Names, Simple, Use};
use crate::session::prepared::PreparedStatement;
use crate::statement::catalog::StatementCatalog;
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// Times a statement runs again because a table changed while it waited.
const STALE_MAX: usize = 1000;

/// A statement of a body.
pub(super) struct Piece {
    pub(super) parsed: Arc<ParsedStatement>,
    pub(super) find: Find,
    pub(super) conflict: NameConflict,
    /// The cursor that its variable after CURRENT OF names.
    pub(super) cursor: Option<String>,
}

/// The only statement of a text.
///
/// # Errors
/// 42601.
pub(super) fn parsed(text: &str) -> Result<ParsedStatement> {
    let mut all = sql::parse(text).map_err(Error::without_position)?;
    match (all.pop(), all.pop()) {
        (Some(statement), None) => Ok(statement),
        (None, _) => Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input")),
        (Some(_), Some(_)) => {
            let message = "cannot insert multiple commands into a prepared statement";
            Err(Error::new(SqlState::SYNTAX_ERROR, message))
        }
    }
}

impl Frame<'_> {
    /// Meaning of names in a statement of PL/pgSQL that stands in `scope`.
    fn find_in(&self, program: &Arc<program::Program>, scope: usize) -> Find {
        let (program, types) = (Arc::clone(program), self.types.clone());
        Box::new(move |parts: &[&str]| -> Option<Meaning> {
            let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
            let (slot, used) = program.find(scope, &parts)?;
            let ty = *types.get(slot)?;
            match (parts.get(used..)?, ty) {
                ([], DataType::Unknown) => None,
                ([], ty) => Some((Use::Slot(slot), ty)),
                ([field], DataType::Record(row)) => {
                    let (ordinal, ty) = row.field(field)?;
                    Some((Use::Field(slot, ordinal), ty))
                }
                _ => None,
            }
        })
    }

    /// Meaning of names in a statement of SQL: parameters.
    pub(super) fn find_parameter(&self) -> Find {
        let def = self.code.def.clone();
        let types = self.types.clone();
        Box::new(move |parts: &[&str]| -> Option<Meaning> {
            let def = def.as_ref()?;
            let named = |name: &str| {
                let is_it = |parameter: &sql::catalog::ParameterDef| {
                    !name.is_empty() && parameter.name == name && parameter.mode.goes_in()
                };
                def.parameters.iter().position(is_it)
            };
            let numbered = |name: &str| {
                let number: usize = name.strip_prefix('$')?.parse().ok()?;
                let inputs = def.parameters.iter().enumerate();
                let mut inputs = inputs.filter(|(_, parameter)| parameter.mode.goes_in());
                inputs.nth(number.checked_sub(1)?).map(|(slot, _)| slot)
            };
            let field = |slot: usize, field: &str| match types.get(slot)? {
                DataType::Record(row) => {
                    let (ordinal, ty) = row.field(field)?;
                    Some((Use::Field(slot, ordinal), ty))
                }
                _ => None,
            };
            match parts {
                [name] => {
                    let slot = numbered(name).or_else(|| named(name))?;
                    Some((Use::Slot(slot), *types.get(slot)?))
                }
                [first, second] if *first == def.bare_name() && named(second).is_some() => {
                    let slot = named(second)?;
                    Some((Use::Slot(slot), *types.get(slot)?))
                }
                [first, second] => field(named(first).or_else(|| numbered(first))?, second),
                _ => None,
            }
        })
    }

    /// The piece that a fragment of PL/pgSQL is.
    ///
    /// # Errors
    /// 42601.
    pub(super) fn piece(&self, fragment: &program::Fragment) -> Result<Piece> {
        let Body::Program(program) = &self.code.body else {
            return Err(Error::internal("fragments are of programs"));
        };
        let cursor = self.cursor_read_by(fragment);
        let parsed = match (&cursor, &fragment.cursor) {
            (Some(name), Some((_, place))) => {
                let mut text = fragment.text.clone();
                text.replace_range(place.clone(), &RelationName::public(name).quoted());
                parsed(&text)?
            }
            _ => parsed(&fragment.text)?,
        };
        let find = self.find_in(program, fragment.scope);
        Ok(Piece { parsed: Arc::new(parsed), find, conflict: program.conflict, cursor })
    }

    /// The cursor that the variable after CURRENT OF names.
    fn cursor_read_by(&self, fragment: &program::Fragment) -> Option<String> {
        let (slot, _) = fragment.cursor.as_ref()?;
        match (&self.values[*slot], self.types[*slot]) {
            (Value::Str(name), DataType::RefCursor) => {
                Some(String::from_utf8_lossy(name).into_owned())
            }
            _ => None,
        }
    }

    /// True while the variables that a fragment reads have the types and collations that it was
    /// prepared with.
    fn fits(&self, fragment: &Fragment) -> bool {
        fragment.uses.iter().zip(&fragment.slots).all(|((read, _), (ty, collations))| {
            let (Use::Slot(slot) | Use::Field(slot, _)) = read;
            self.types[*slot] == *ty && self.collations[*slot] == *collations
        })
    }

    /// The statement with its variables as parameters.
    fn prepare(&self, piece: Piece) -> Result<Box<Fragment>> {
        let Piece { parsed, find, conflict, cursor } = piece;
        let names = Arc::new(Names::new(find, conflict, self.collations.as_slice().into()));
        let catalog =
            StatementCatalog { variables: Some(&*names), ..self.session.catalog_for(&parsed) };
        let bound = sql::bind(&parsed, &catalog, &[]);
        let is_lasting = catalog.is_enough.get() && !catalog.asks_time.get();
        let names_routines = catalog.names_routines.get();
        drop(catalog);
        let bound = bound.map_err(|error| self.explained(error.without_position()))?;
        let is_lasting = is_lasting && self.session.knows(names_routines);
        let simple = if is_lasting { simple(self.session, &bound) } else { None };
        let simple = simple.map(|simple| Simple { names_routines, ..simple });
        let uses = names.uses();
        let types: Vec<DataType> = uses.iter().map(|(_, ty)| *ty).collect();
        let slot_of = |(read, _): &Meaning| {
            let (Use::Slot(slot) | Use::Field(slot, _)) = read;
            (self.types[*slot], self.collations[*slot].clone())
        };
        let collations = self.collations_of(&bound, &names);
        let slots = uses.iter().map(slot_of).collect();
        let statement = ParsedStatement::clone(&parsed);
        let prepared = PreparedStatement::new(self.session, types, statement);
        let prepared = PreparedStatement { names: Some(names), ..prepared };
        Ok(Box::new(Fragment { prepared, uses, slots, collations, simple, cursor }))
    }

    /// An error about a name, when it is that of a record without value.
    fn explained(&self, error: Error) -> Error {
        let states = [SqlState::UNDEFINED_COLUMN, SqlState::UNDEFINED_TABLE];
        let Body::Program(program) = &self.code.body else { return error };
        if let Some(field) = error
            .message()
            .strip_prefix("could not identify column ")
            .and_then(|rest| rest.strip_suffix(" in record data type"))
        {
            return Error::new(error.state(), format!("record has no field {field}"));
        }
        let unassigned = program.variables.iter().zip(&self.types).find(|(variable, ty)| {
            **ty == DataType::Unknown
                && (error.message().contains(&format!("\"{}\"", variable.name))
                    || error.message().contains(&format!(" {}.", variable.name)))
        });
        match unassigned {
            Some((variable, _)) if states.contains(&error.state()) => {
                let message = format!("record \"{}\" is not assigned yet", variable.name);
                Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_detail(
                    "The tuple structure of a not-yet-assigned record is indeterminate.",
                )
            }
            _ => error,
        }
    }

    /// Runs a statement of the body.
    ///
    /// # Errors
    /// Errors of the statement.
    pub(super) fn run_piece(
        &mut self,
        number: usize,
        piece: impl FnOnce(&Self) -> Result<Piece>,
    ) -> Result<QueryResult> {
        self.session.cancel.check()?;
        let fragment = self.ready(number, piece)?;
        self.run_ready(number, fragment)
    }

    /// A statement of the body, prepared.
    fn ready(
        &self,
        number: usize,
        piece: impl FnOnce(&Self) -> Result<Piece>,
    ) -> Result<Box<Fragment>> {
        match self.code.take(number).filter(|fragment| self.fits(fragment)) {
            Some(fragment) => Ok(fragment),
            None => self.prepare(piece(self)?),
        }
    }

    fn run_ready(&mut self, number: usize, mut fragment: Box<Fragment>) -> Result<QueryResult> {
        let values: Vec<Value> =
            fragment.uses.iter().map(|(read, _)| self.value_of(*read)).collect();
        let result = self.session.run_in_program(&mut fragment.prepared, values, self.boundaries);
        let collations = fragment.collations.clone();
        self.code.keep(number, fragment);
        match result {
            Ok(result) => Ok(result.collated(collations)),
            Err(error) => Err(error.without_position()),
        }
    }

    /// Runs a fragment of PL/pgSQL.
    ///
    /// # Errors
    /// Errors of the statement.
    pub(super) fn run_fragment(&mut self, fragment: &program::Fragment) -> Result<QueryResult> {
        if fragment.cursor.is_some() {
            let cursor = self.cursor_read_by(fragment);
            self.code.forget_unless(fragment.number, |known| known.cursor == cursor);
        }
        self.run_piece(fragment.number, |frame| frame.piece(fragment))
    }

    /// The value of an expression, and its type.
    ///
    /// # Errors
    /// Errors of the expression; 21000 for several rows, 42601 for several columns.
    pub(super) fn eval(&mut self, fragment: &program::Fragment) -> Result<Typed> {
        let number = fragment.number;
        let ready = self.ready(number, |frame| frame.piece(fragment))?;
        let current = ready.simple.as_ref().filter(|simple| {
            simple.settings == self.session.settings.version()
                && simple.catalog == self.session.inner().stores.relations.version()
                && self.session.knows(simple.names_routines)
        });
        if let Some(simple) = current {
            let column = |(read, ty): &Meaning| {
                Column::plain(Vector::repeat(ty.physical(), &self.value_of(*read), 1))
            };
            let columns = ready.uses.iter().map(column).collect();
            // What goes wrong is said by the query.
            if let Ok(value) = simple.evaluator.evaluate(&Batch::new(columns, 1)) {
                let collations = ready.collations.clone();
                let result = Typed { value: value.value(0), ty: simple.ty, collations };
                self.code.keep(number, ready);
                return Ok(result);
            }
        }
        let result = self.run_ready(number, ready)?;
        let [(_, ty)] = result.columns() else {
            let message = format!("query returned {} columns", result.columns().len());
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        let ty = *ty;
        if result.row_count() > 1 {
            let message = "query returned more than one row";
            return Err(Error::new(SqlState::CARDINALITY_VIOLATION, message));
        }
        let value = rows_of(&result).next().and_then(|mut row| row.values.pop());
        let collations = result.collations().clone();
        Ok(Typed { value: value.unwrap_or(Value::Null), ty, collations })
    }

    /// True when a condition holds.
    ///
    /// # Errors
    /// As [`Self::eval`].
    pub(super) fn holds(&mut self, fragment: &program::Fragment) -> Result<bool> {
        let Typed { value, ty, .. } = self.eval(fragment)?;
        let value = super::frame::cast(self.session, value, ty, DataType::Boolean)?;
        Ok(value == Value::Bool(true))
    }

    /// The value of an expression as text; None for NULL.
    ///
    /// # Errors
    /// As [`Self::eval`].
    pub(super) fn text(&mut self, fragment: &program::Fragment) -> Result<Option<String>> {
        let Typed { value, ty, .. } = self.eval(fragment)?;
        if value.is_null() {
            return Ok(None);
        }
        Ok(Some(types::text::format_in(&value, ty, self.session.settings.time_zone())))
    }
}

/// The expression that a query is, if it reads nothing but parameters and asks the session for
/// nothing.
fn simple(session: &Session, bound: &Statement) -> Option<Simple> {
    let Statement::Query(query) = bound else { return None };
    let (Plan::Project { input, columns }, [column]) = (&query.plan, query.columns.as_slice())
    else {
        return None;
    };
    let is_one_row = matches!(
        &**input,
        Plan::Values { columns, rows } if columns.is_empty() && rows.len() == 1
    );
    let (_, expr) = columns.iter().find(|(id, _)| *id == column.id).filter(|_| is_one_row)?;
    let mut expr = expr.clone();
    if columns.len() != 1 || !over_columns(&mut expr) {
        return None;
    }
    let position = |id: ColumnId| Some(id.0 as usize);
    let lowered = plan::lower_held(&expr, &position).ok()?;
    Some(Simple {
        evaluator: Evaluator::new(&lowered).ok()?,
        ty: column.ty,
        settings: session.settings.version(),
        catalog: session.inner().stores.relations.version(),
        names_routines: false,
    })
}

/// Puts columns in the places of parameters; false for an expression that is not simple.
fn over_columns(expr: &mut Expr) -> bool {
    match &expr.kind {
        ExprKind::Parameter(number) => {
            expr.kind = ExprKind::Column(ColumnId(*number));
            return true;
        }
        ExprKind::Column(_)
        | ExprKind::ScalarSubquery(_)
        | ExprKind::Exists(_)
        | ExprKind::Quantified { .. } => return false,
        ExprKind::Call(function, _) if function.reads_sequences() || function.is_volatile() => {
            return false;
        }
        _ => {}
    }
    let mut is_simple = true;
    expr.each_child_mut(&mut |child| is_simple = is_simple && over_columns(child));
    is_simple
}

/// The rows of a result, one after the other.
pub(super) fn rows_of(result: &QueryResult) -> impl Iterator<Item = TypedRow> + '_ {
    let types: Vec<DataType> = result.columns().iter().map(|(_, ty)| *ty).collect();
    let row = move |batch: &kernels::Batch, row: usize| {
        let value = |(column, ty): (&kernels::Column, &DataType)| widened(column.value(row), *ty);
        let values = batch.columns.iter().zip(&types).map(value).collect();
        TypedRow { values, types: types.clone() }
    };
    let places = result.batches().iter().flat_map(|b| (0..b.rows).map(move |at| (b, at)));
    places.map(move |(batch, at)| row(batch, at))
}

/// The type of the rows of a result.
///
/// # Errors
/// 54000 when there are too many types.
pub(super) fn record_of(result: &QueryResult) -> Result<RecordType> {
    let field =
        |(name, ty): &(String, DataType)| types::RecordField { name: name.clone(), ty: *ty };
    RecordType::new(result.columns().iter().map(field).collect())
}

impl Session {
    /// True while the version of the catalog tells whether what an expression names has changed:
    /// its own transaction may have other routines.
    fn knows(&self, names_routines: bool) -> bool {
        !names_routines || self.sees_committed_catalog()
    }

    /// Runs a prepared statement in the transaction. Where nobody above would begin it again, it
    /// does so itself when tables changed under it.
    pub(super) fn run_in_program(
        &mut self,
        prepared: &mut PreparedStatement,
        values: Vec<Value>,
        boundaries: Boundaries,
    ) -> Result<QueryResult> {
        let mut tries = 0;
        loop {
            tries += 1;
            if boundaries == Boundaries::Allowed {
                self.begin_statement()?;
            }
            let place = self.work_mut().place();
            let given = values.clone();
            let result =
                stack::attempt(|| run_compiled(&mut Running::new(&mut *self, given), prepared));
            let result = match result {
                Ok(result) => self.do_asked().map(|()| result),
                Err(error) => Err(error),
            };
            let Err(error) = result else { return result };
            self.forget_asked();
            let is_narrow = error.is_narrow() && self.digits == Digits::Likely;
            let is_stale = error.state() == SqlState::STALE_CATALOG && tries < STALE_MAX;
            let is_own = boundaries == Boundaries::Allowed && (is_stale || is_narrow);
            if !is_own && !stack::is_again(&error) {
                return Err(error);
            }
            if is_narrow {
                self.digits = Digits::All;
            }
            if self.work.is_none() {
                return Err(error);
            }
            let before = self.work_mut().go_back(&place);
            self.go_back(before);
        }
    }
}
