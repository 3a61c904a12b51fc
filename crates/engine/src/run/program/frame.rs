//! Variables of a routine while it runs.

use std::sync::Arc;

use catalog::checks::Checks;
use sql::algebra::OutputColumn;
use sql::catalog::{Catalog, ColumnDef, DomainUse, Relation};
use sql::program::{Declared, Program};
use storage::Datum;
use types::{DataType, Error, Result, SqlState, Value, cast as casts, text};

use super::Call;
use super::collation::{of_type, of_value, written};
use super::result::Wanted;
use crate::Session;
use crate::session::code::{Body, Code, Collations, Declarations, Use, Variable};
use crate::statement::catalog::{Checking, StatementCatalog};
use crate::statement::row_types::type_of;
use crate::statement::running::Running;

/// Choice whether COMMIT and ROLLBACK may stand in a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Boundaries {
    /// Both end the transaction: nobody above it is in one.
    Allowed,
    /// Both are 2D000.
    Refused,
}

/// A value and its type.
pub(super) struct Typed {
    pub(super) value: Value,
    pub(super) ty: DataType,
    /// Collations of the fields of a record.
    pub(super) collations: Collations,
}

impl Typed {
    /// NULL of no type.
    pub(super) const NOTHING: Self = Self::of(Value::Null, DataType::Unknown);

    /// A value of which nothing else is known.
    pub(super) const fn of(value: Value, ty: DataType) -> Self {
        Self { value, ty, collations: None }
    }
}

/// A routine that runs.
pub(super) struct Frame<'s> {
    pub(super) session: &'s mut Session,
    pub(super) code: Arc<Code>,
    /// By slot.
    pub(super) values: Vec<Value>,
    /// Types of the values; of a record that has none yet it is unknown.
    pub(super) types: Vec<DataType>,
    pub(super) collations: Vec<Collations>,
    pub(super) declared: Arc<[Variable]>,
    pub(super) wanted: Wanted,
    /// The value of RETURN.
    pub(super) given: Option<Value>,
    /// Records that RETURN NEXT and RETURN QUERY gave.
    pub(super) rows: Vec<Value>,
    /// Rows of the last statement.
    pub(super) row_count: i64,
    /// Errors that are handled, the innermost last.
    pub(super) handled: Vec<Error>,
    pub(super) boundaries: Boundaries,
}

/// `value` in the form that `ty` has: a query may have held it in fewer bits.
pub(super) fn widened(value: Value, ty: DataType) -> Value {
    match Datum::from(&value).widened(ty.physical()) {
        Some(Datum::Str(_)) | None => value,
        Some(datum) => datum.to_value(),
    }
}

/// `value` of type `from` as one of type `to`, by assignment, or through text where there is no
/// such cast.
///
/// # Errors
/// Errors of the cast.
pub(super) fn cast(session: &Session, value: Value, from: DataType, to: DataType) -> Result<Value> {
    if from == to || value.is_null() {
        return Ok(value);
    }
    let zone = session.settings.time_zone();
    let from = if from == DataType::Unknown { DataType::Text } else { from };
    let by_zone = casts::depends_on_zone(from, to);
    let result = if by_zone {
        casts::cast_value_in(&value, from, to, zone)
    } else {
        casts::assign_value(&value, from, to)
    };
    match result {
        Err(error) if error.state() == SqlState::CANNOT_COERCE => {
            text::parse_in(&text::format_in(&value, from, zone), to, zone)
        }
        result => result,
    }
}

impl<'s> Frame<'s> {
    /// A frame whose parameters have the values of the call.
    pub(super) fn new(running: Running<'s>, code: &Arc<Code>, call: Call<'_>) -> Result<Self> {
        let session = running.session;
        let declared = declared(session, code)?;
        let count = declared.len();
        let mut frame = Self {
            session,
            code: Arc::clone(code),
            values: vec![Value::Null; count],
            types: declared.iter().map(|own| own.ty.unwrap_or(DataType::Unknown)).collect(),
            collations: declared.iter().map(|own| own.collations.clone()).collect(),
            declared,
            wanted: call.wanted,
            given: None,
            rows: Vec::new(),
            row_count: 0,
            handled: Vec::new(),
            boundaries: call.boundaries,
        };
        if let Some(def) = &code.def {
            let slots = def.parameters.iter().enumerate();
            let inputs = slots.filter(|(_, parameter)| parameter.mode.goes_in());
            for ((slot, _), value) in inputs.zip(call.row) {
                frame.values[slot] = widened(value.clone(), frame.types[slot]);
            }
        }
        for (slot, given) in call.variables.iter().enumerate() {
            frame.values[slot] = given.value.clone();
            frame.types[slot] = given.ty;
            frame.collations[slot] = given.collations.clone();
        }
        if let Body::Program(program) = &code.body {
            frame.values[program.found] = Value::Bool(false);
        }
        Ok(frame)
    }

    /// The value of what a statement reads.
    pub(super) fn value_of(&self, read: Use) -> Value {
        match read {
            Use::Slot(slot) => self.values[slot].clone(),
            Use::Field(slot, ordinal) => match (&self.values[slot], self.types[slot]) {
                (Value::Str(bytes), DataType::Record(ty)) => {
                    types::record::field_at(bytes, ty, ordinal)
                }
                _ => Value::Null,
            },
        }
    }

    /// Sets FOUND.
    pub(super) fn set_found(&mut self, found: bool) {
        if let Body::Program(program) = &self.code.body {
            self.values[program.found] = Value::Bool(found);
        }
    }
}

/// The variables of `code`, by slot.
fn declared(session: &Session, code: &Arc<Code>) -> Result<Arc<[Variable]>> {
    let catalog = session.inner().stores.relations.version();
    if let Some(known) = code.declared.lock().as_ref().filter(|known| known.catalog == catalog) {
        return Ok(Arc::clone(&known.list));
    }
    let mut list: Vec<Variable> = Vec::new();
    let parameters = code.def.as_ref().map(|def| def.parameters.as_slice());
    for parameter in parameters.unwrap_or_default() {
        let ty = Some(type_of(session, &parameter.ty)?).filter(|ty| *ty != DataType::Unknown);
        let collations = ty.and_then(|ty| of_type(session, ty, code.collation));
        let own = variable(session, ty, parameter.ty.domain())?;
        list.push(Variable { collations, ..own });
    }
    if let Body::Program(program) = &code.body {
        for slot in list.len()..program.variables.len() {
            let ty = declared_type(session, program, slot, &list)?;
            let domain = declared_domain(session, program, slot, code);
            let own = variable(session, ty, domain)?;
            let collations = match &program.variables[slot].collate {
                Some(name) => of_value(written(session, ty, name)?),
                None => match like(session, program, slot, &list)? {
                    Some(collations) => collations,
                    None => ty.and_then(|ty| of_type(session, ty, code.collation)),
                },
            };
            list.push(Variable { collations, ..own });
        }
    }
    let list: Arc<[Variable]> = list.into();
    *code.declared.lock() = Some(Declarations { catalog, list: Arc::clone(&list) });
    Ok(list)
}

fn variable(
    session: &Session,
    ty: Option<DataType>,
    domain: Option<DomainUse>,
) -> Result<Variable> {
    let domain = match domain.zip(ty) {
        Some((used, ty)) => Checks::of_domain(used, ty, &unchecked(session))?,
        None => None,
    };
    let attributes = match ty {
        Some(ty) => attributes_of(session, ty)?,
        None => None,
    };
    Ok(Variable { ty, collations: None, domain, attributes })
}

/// Tests of the fields of values of a type that are of domains.
///
/// # Errors
/// Errors of binding their conditions.
pub(super) fn attributes_of(session: &Session, ty: DataType) -> Result<Option<Checks>> {
    Checks::of_attributes(&[ColumnDef::new("value", ty)], &unchecked(session))
}

/// The domain of the variable in `slot`.
fn declared_domain(
    session: &Session,
    program: &Program,
    slot: usize,
    code: &Code,
) -> Option<DomainUse> {
    match &program.variables[slot].declared {
        Declared::Record | Declared::Row(_) => None,
        Declared::Parameter => {
            code.def.as_ref()?.parameters.get(slot).and_then(|parameter| parameter.ty.domain())
        }
        Declared::Type(text) => sql::domain_written(text, &unchecked(session)),
        Declared::Like(parts, scope) => match program.find(*scope, parts) {
            Some((like, used)) if like < slot => {
                let is_whole = used == parts.len();
                is_whole.then(|| declared_domain(session, program, like, code)).flatten()
            }
            _ => column_of(session, parts)?.domain,
        },
    }
}

/// Collations of the variable or column that a variable is declared like; None for other ones.
fn like(
    session: &Session,
    program: &Program,
    slot: usize,
    known: &[Variable],
) -> Result<Option<Collations>> {
    let Declared::Like(parts, scope) = &program.variables[slot].declared else { return Ok(None) };
    let Some((like, used)) = program.find(*scope, parts).filter(|(like, _)| *like < slot) else {
        return Ok(Some(of_value(column_named(session, parts)?.collation)));
    };
    let all = known.get(like).and_then(|like| like.collations.clone());
    let (Some(field), Some(DataType::Record(row))) =
        (parts.get(used), known.get(like).and_then(|like| like.ty))
    else {
        return Ok(Some(all));
    };
    let own = row.field(field).and_then(|(ordinal, _)| all?.get(ordinal).copied());
    Ok(Some(of_value(own.unwrap_or_default())))
}

/// The column `[schema.]table.column`.
fn column_of(session: &Session, parts: &[String]) -> Option<ColumnDef> {
    let (column, table) = parts.split_last()?;
    let (table, schema) = table.split_last()?;
    let found = session.catalog().relation(schema.last().map(String::as_str), table);
    let Some(Relation::Table(table)) = found else { return None };
    table.columns().iter().find(|known| known.name == *column).cloned()
}

/// The catalog as a session reads it that may read everything.
pub(super) fn unchecked(session: &Session) -> StatementCatalog<'_> {
    StatementCatalog { checks: Checking::Nothing, ..session.catalog() }
}

/// The type of the variable in `slot`; those before it are known.
fn declared_type(
    session: &Session,
    program: &Program,
    slot: usize,
    known: &[Variable],
) -> Result<Option<DataType>> {
    match &program.variables[slot].declared {
        Declared::Record | Declared::Parameter => Ok(None),
        Declared::Type(text) => match text.as_str() {
            "boolean" => Ok(Some(DataType::Boolean)),
            "integer" => Ok(Some(DataType::Integer)),
            "text" => Ok(Some(DataType::Text)),
            text => type_written(session, text).map(Some),
        },
        Declared::Row(parts) => {
            let name = parts.iter().map(|part| format!("\"{}\"", part.replace('"', "\"\"")));
            let name: Vec<String> = name.collect();
            type_written(session, &name.join(".")).map(Some)
        }
        Declared::Like(parts, scope) => {
            if let Some((like, used)) = program.find(*scope, parts)
                && like < slot
            {
                let ty = known.get(like).and_then(|like| like.ty);
                return match (used == parts.len(), ty) {
                    (true, ty) => Ok(ty),
                    (false, Some(DataType::Record(row))) => {
                        let field = parts.last().and_then(|name| row.field(name));
                        Ok(field.map(|(_, ty)| ty))
                    }
                    (false, _) => Ok(None),
                };
            }
            column_named(session, parts).map(|column| Some(column.ty))
        }
    }
}

/// The type that SQL writes so, `numeric(10,2)` or the name of a table.
fn type_written(session: &Session, text: &str) -> Result<DataType> {
    let query = format!("SELECT NULL::{text}");
    first_column(session, &query).map(|column| column.ty)
}

/// Type and collation of `table.column`.
fn column_named(session: &Session, parts: &[String]) -> Result<OutputColumn> {
    let quoted = |part: &String| format!("\"{}\"", part.replace('"', "\"\""));
    let (Some(column), true) = (parts.last(), parts.len() > 1) else {
        let message = format!("variable \"{}\" does not exist", parts.join("."));
        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
    };
    let table: Vec<String> = parts[..parts.len() - 1].iter().map(quoted).collect();
    first_column(session, &format!("SELECT {} FROM {}", quoted(column), table.join(".")))
}

/// The only column of a query, which does not run.
pub(super) fn first_column(session: &Session, query: &str) -> Result<OutputColumn> {
    let parsed = sql::parse(query)?.pop();
    let parsed = parsed.ok_or_else(|| Error::internal("a query is a statement"))?;
    let bound = sql::bind(&parsed, &unchecked(session), &[]).map_err(Error::without_position)?;
    let sql::statement::Statement::Query(query) = bound else {
        return Err(Error::internal("a query is bound to one"));
    };
    let column = query.columns.into_iter().next();
    column.ok_or_else(|| Error::internal("a query of one column"))
}
