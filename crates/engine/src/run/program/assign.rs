//! Variables that get values.

use catalog::checks::Checks;
use sql::program::{Into, Target};
use types::{DataType, Error, RecordType, Result, SqlState, Value, array, record};

use super::collation::{of_column, of_type};
use super::fragment::{record_of, rows_of};
use super::frame::{Frame, Typed, attributes_of, cast, unchecked};
use super::result::TypedRow;
use crate::session::code::Body;
use crate::{QueryResult, Session};

impl Frame<'_> {
    /// Gives the variable in `slot` a value of type `ty`.
    ///
    /// # Errors
    /// Errors of the cast; 22004 for NULL in a variable that takes none; 22005 for a constant.
    pub(super) fn set(&mut self, slot: usize, given: Typed) -> Result<()> {
        let Typed { value, ty, collations } = given;
        let (not_null, name) = match &self.code.body {
            Body::Program(program) => {
                let variable = &program.variables[slot];
                (variable.not_null, variable.name.as_str())
            }
            Body::Sql(_) => (false, ""),
        };
        if not_null && value.is_null() {
            let message =
                format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
            return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
        }
        match self.declared[slot].ty {
            Some(declared) => {
                let is_row = matches!((ty, declared), (DataType::Record(_), DataType::Record(_)));
                let value = if is_row && ty != declared {
                    self.as_row(Typed::of(value, ty), declared)?
                } else {
                    cast(self.session, value, ty, declared)?
                };
                if let Some(attributes) = &self.declared[slot].attributes
                    && ty != declared
                {
                    attributes.test(&value, declared, self.session.clocks())?;
                }
                self.test(slot, &value)?;
                self.values[slot] = value;
            }
            None => {
                let is_typed =
                    !(value.is_null() && matches!(ty, DataType::Text | DataType::Unknown));
                if is_typed {
                    self.types[slot] = ty;
                    let is_row = matches!(ty, DataType::Record(_));
                    let given = collations.filter(|_| is_row);
                    let own = || of_type(self.session, ty, self.code.collation);
                    self.collations[slot] = given.or_else(own);
                }
                self.values[slot] = value;
            }
        }
        Ok(())
    }

    /// A record as one of another shape: by position, NULLs where it has too few fields.
    fn as_row(&self, Typed { value, ty, .. }: Typed, to: DataType) -> Result<Value> {
        let (DataType::Record(from), DataType::Record(to), Value::Str(bytes)) = (ty, to, &value)
        else {
            return Ok(value);
        };
        let mut values = record::Fields::new(bytes, from).zip(from.fields());
        let mut fields = Vec::with_capacity(to.fields().len());
        for field in to.fields() {
            fields.push(match values.next() {
                Some((value, own)) => cast(self.session, value, own.ty, field.ty)?,
                None => Value::Null,
            });
        }
        Ok(Value::Str(record::from_values(&fields, to)?.into()))
    }

    /// Gives `target` a value of type `ty`.
    ///
    /// # Errors
    /// As [`Self::set`]; 42703 for a field that the record does not have, 55000 for a record
    /// without value, 2202E, 42804 for subscripts.
    pub(super) fn assign(&mut self, target: &Target, value: Typed) -> Result<()> {
        self.refuse_constant(target.slot)?;
        if target.fields.is_empty() && target.subscripts.is_empty() {
            return self.set(target.slot, value);
        }
        let mut subscripts = Vec::with_capacity(target.subscripts.len());
        for subscript in &target.subscripts {
            let Typed { value: number, ty, .. } = self.eval(subscript)?;
            let number = cast(self.session, number, ty, DataType::Integer)?;
            let Some(number) = number.as_integer().and_then(|n| i32::try_from(n).ok()) else {
                let message = "array subscript in assignment must not be null";
                return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
            };
            subscripts.push(number);
        }
        let part = Part { fields: &target.fields, subscripts: &subscripts };
        let value_now = self.values[target.slot].clone();
        let whole = Typed::of(value_now, self.types[target.slot]);
        let changed = with_part(self.session, whole, part, value).map_err(|error| {
            if error.state() == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE {
                let name = self.name_of(target.slot);
                let message = format!("record \"{name}\" is not assigned yet");
                return Error::new(error.state(), message).with_detail(
                    "The tuple structure of a not-yet-assigned record is indeterminate.",
                );
            }
            if error.state() == SqlState::UNDEFINED_COLUMN {
                let name = self.name_of(target.slot);
                let message = format!("record \"{name}\" has no field \"{}\"", error.message());
                return Error::new(error.state(), message);
            }
            error
        })?;
        self.test(target.slot, &changed)?;
        self.values[target.slot] = changed;
        Ok(())
    }

    /// Tests that `value` is one of the domain of the variable in `slot`.
    ///
    /// # Errors
    /// 23502, 23514.
    pub(super) fn test(&self, slot: usize, value: &Value) -> Result<()> {
        let variable = &self.declared[slot];
        match (&variable.domain, variable.ty) {
            (Some(domain), Some(ty)) => domain.test(value, ty, self.session.clocks()),
            _ => Ok(()),
        }
    }

    fn name_of(&self, slot: usize) -> &str {
        match &self.code.body {
            Body::Program(program) => &program.variables[slot].name,
            Body::Sql(_) => "",
        }
    }

    fn refuse_constant(&self, slot: usize) -> Result<()> {
        match &self.code.body {
            Body::Program(program) if program.variables[slot].is_constant => {
                let name = &program.variables[slot].name;
                let message = format!("variable \"{name}\" is declared CONSTANT");
                Err(Error::new(SqlState::ASSIGNMENT_ERROR, message))
            }
            _ => Ok(()),
        }
    }

    /// Gives the targets of INTO the first row of a result, or NULLs.
    ///
    /// # Errors
    /// P0002 and P0003 under STRICT; as [`Self::assign`].
    pub(super) fn take_into(&mut self, into: &Into, result: &QueryResult) -> Result<()> {
        if into.strict && result.row_count() == 0 {
            let message = "query returned no rows";
            return Err(Error::new(SqlState::NO_DATA_FOUND, message));
        }
        if into.strict && result.row_count() > 1 {
            let message = "query returned more than one row";
            return Err(Error::new(SqlState::TOO_MANY_ROWS, message)
                .with_hint("Make sure the query returns a single row, or use LIMIT 1."));
        }
        let row = rows_of(result).next();
        self.take_row(&into.targets, row, result)
    }

    /// Gives targets the values of a row of `result`; NULLs without one.
    ///
    /// # Errors
    /// As [`Self::assign`].
    pub(super) fn take_row(
        &mut self,
        targets: &[Target],
        row: Option<TypedRow>,
        result: &QueryResult,
    ) -> Result<()> {
        if let [target] = targets
            && self.is_row(target)
            && !matches!(result.columns(), [(_, DataType::Record(_))])
        {
            let ty = record_of(result)?;
            let value = match row {
                Some(row) => Value::Str(record::from_values(&row.values, ty)?.into()),
                None => {
                    let nothing = vec![Value::Null; ty.fields().len()];
                    Value::Str(record::from_values(&nothing, ty)?.into())
                }
            };
            let collations = result.collations().clone();
            return self.assign(target, Typed { value, ty: DataType::Record(ty), collations });
        }
        let types: Vec<DataType> = result.columns().iter().map(|(_, ty)| *ty).collect();
        let values = row.map_or_else(|| vec![Value::Null; types.len()], |row| row.values);
        let typed = |(at, (value, ty))| {
            let collations = match ty {
                DataType::Record(row) => of_column(result, at, row),
                _ => None,
            };
            Typed { value, ty, collations }
        };
        let mut given = values.into_iter().zip(types).enumerate().map(typed);
        for target in targets {
            let value = given.next().unwrap_or(Typed::NOTHING);
            self.assign(target, value)?;
        }
        Ok(())
    }

    /// True for a variable that takes whole rows.
    fn is_row(&self, target: &Target) -> bool {
        let is_whole = target.fields.is_empty() && target.subscripts.is_empty();
        is_whole && matches!(self.declared[target.slot].ty, None | Some(DataType::Record(_)))
    }
}

/// A part of a value.
#[derive(Clone, Copy)]
struct Part<'a> {
    fields: &'a [String],
    subscripts: &'a [i32],
}

/// `whole` with another value in one part.
///
/// # Errors
/// 42703 with the name of the missing field, 55000 for a record without value.
fn with_part(
    session: &Session,
    Typed { value: whole, ty, .. }: Typed,
    part: Part<'_>,
    value: Typed,
) -> Result<Value> {
    if let Some((field, rest)) = part.fields.split_first() {
        let DataType::Record(row) = ty else {
            let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
            return Err(Error::new(state, "a record without value"));
        };
        let (ordinal, own) =
            row.field(field).ok_or_else(|| Error::new(SqlState::UNDEFINED_COLUMN, field))?;
        let mut fields: Vec<Value> = match &whole {
            Value::Str(bytes) => record::Fields::new(bytes, row).collect(),
            _ => vec![Value::Null; row.fields().len()],
        };
        let before = std::mem::replace(&mut fields[ordinal], Value::Null);
        let part = Part { fields: rest, ..part };
        let value = with_part(session, Typed::of(before, own), part, value)?;
        test_field(session, row, ordinal, &value)?;
        fields[ordinal] = value;
        return Ok(Value::Str(record::from_values(&fields, row)?.into()));
    }
    match part.subscripts {
        [] => tested(session, value, ty),
        subscripts => with_element(session, Typed::of(whole, ty), subscripts, value),
    }
}

/// The value as one of type `to`, whose fields are what their domains allow.
///
/// # Errors
/// Errors of the cast; 23502, 23514.
fn tested(session: &Session, Typed { value, ty, .. }: Typed, to: DataType) -> Result<Value> {
    let value = cast(session, value, ty, to)?;
    if ty != to
        && to.has_domains()
        && let Some(attributes) = attributes_of(session, to)?
    {
        attributes.test(&value, to, session.clocks())?;
    }
    Ok(value)
}

/// Tests the value of a field that is of a domain.
///
/// # Errors
/// 23502, 23514.
fn test_field(session: &Session, row: RecordType, ordinal: usize, value: &Value) -> Result<()> {
    let ty = row.fields()[ordinal].ty;
    let Some(used) = row.domain_of(ordinal) else { return Ok(()) };
    let Some(used) = session.state().domain_numbered(used) else { return Ok(()) };
    match Checks::of_domain(used, ty, &unchecked(session))? {
        Some(checks) => checks.test(value, ty, session.clocks()),
        None => Ok(()),
    }
}

/// An array with another element.
fn with_element(
    session: &Session,
    Typed { value: whole, ty, .. }: Typed,
    subscripts: &[i32],
    value: Typed,
) -> Result<Value> {
    let DataType::Array(element) = ty else {
        let message =
            format!("cannot subscript type {} because it does not support subscripting", ty.name());
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    };
    let value = tested(session, value, element.data_type())?;
    let mut single = array::ArrayBuilder::new();
    single.push_value(&value, element);
    let before = match &whole {
        Value::Str(bytes) => bytes,
        _ => array::EMPTY,
    };
    Ok(Value::Str(array::with_element(before, element, subscripts, single.single())?.into()))
}
