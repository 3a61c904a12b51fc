//! Results of routines: a value, a row, rows.

use sql::catalog::RoutineType;
use types::{DataType, ElementType, Error, RecordType, Result, SqlState, Value, array, record};

use super::frame::{Frame, cast};
use crate::Session;

/// Form in which the caller wants the result.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) enum Wanted {
    /// A value of this type.
    Value(DataType),
    /// A record.
    Row(RecordType),
    /// An array of records.
    Rows(RecordType),
    /// Nothing: VOID.
    Nothing,
}

/// Values of a row, and their types.
pub(super) struct TypedRow {
    pub(super) values: Vec<Value>,
    pub(super) types: Vec<DataType>,
}

/// A row as one of `ty`, by position.
///
/// # Errors
/// 42804 for another number of columns.
pub(super) fn as_record(session: &Session, row: TypedRow, ty: RecordType) -> Result<Value> {
    // A row in one value.
    if let ([DataType::Record(own)], [value]) = (row.types.as_slice(), row.values.as_slice())
        && !matches!(ty.fields(), [only] if matches!(only.ty, DataType::Record(_)))
    {
        let Value::Str(bytes) = value else { return Ok(Value::Null) };
        let types = own.fields().iter().map(|field| field.ty).collect();
        let values = record::Fields::new(bytes, *own).collect();
        return as_record(session, TypedRow { values, types }, ty);
    }
    let TypedRow { values, types } = row;
    if values.len() != ty.fields().len() {
        let message = "structure of query does not match function result type";
        let detail = format!(
            "Number of returned columns ({}) does not match expected column count ({}).",
            values.len(),
            ty.fields().len()
        );
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail));
    }
    let mut fields = Vec::with_capacity(values.len());
    for ((value, from), field) in values.into_iter().zip(types).zip(ty.fields()) {
        fields.push(cast(session, value, from, field.ty)?);
    }
    Ok(Value::Str(record::from_values(&fields, ty)?.into()))
}

impl Frame<'_> {
    /// Adds a row to those that are given back.
    pub(super) fn add_row(&mut self, row: TypedRow) -> Result<()> {
        let Wanted::Rows(ty) = self.wanted else {
            let message = "cannot use RETURN NEXT in a non-SETOF function";
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        };
        let value = as_record(self.session, row, ty)?;
        // A row that is NULL is one of NULLs.
        self.rows.push(match value {
            Value::Null => {
                let nothing = vec![Value::Null; ty.fields().len()];
                Value::Str(record::from_values(&nothing, ty)?.into())
            }
            value => value,
        });
        Ok(())
    }

    /// Keeps the value of RETURN.
    ///
    /// # Errors
    /// 42804 where it gives something that the routine does not.
    pub(super) fn give(&mut self, row: TypedRow) -> Result<()> {
        let value = match self.wanted {
            Wanted::Nothing => {
                let message = "RETURN cannot have a parameter in function returning void";
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            Wanted::Rows(_) => {
                let message = "RETURN cannot have a parameter in function returning set";
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                    .with_hint("Use RETURN NEXT or RETURN QUERY."));
            }
            Wanted::Value(ty) => {
                let TypedRow { mut values, types } = row;
                let (Some(value), Some(from), None) = (values.pop(), types.first(), values.pop())
                else {
                    let message = "query returned another number of columns than one";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                };
                cast(self.session, value, *from, ty)?
            }
            Wanted::Row(ty) => {
                if let ([Value::Null], [_]) = (row.values.as_slice(), row.types.as_slice()) {
                    Value::Null
                } else {
                    if !matches!(row.types.as_slice(), [DataType::Record(_)])
                        && row.types.len() == 1
                    {
                        let message = "cannot return non-composite value from function \
                                       returning composite type";
                        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
                    }
                    as_record(self.session, row, ty)?
                }
            }
        };
        self.given = Some(value);
        Ok(())
    }

    /// Values of the parameters that come out.
    pub(super) fn outputs(&self) -> TypedRow {
        let (mut values, mut types) = (Vec::new(), Vec::new());
        let parameters = self.code.def.as_ref().map(|def| def.parameters.as_slice());
        for (slot, parameter) in parameters.unwrap_or_default().iter().enumerate() {
            if parameter.mode.comes_out() {
                values.push(self.values[slot].clone());
                types.push(self.types[slot]);
            }
        }
        TypedRow { values, types }
    }

    /// The result of the routine, which has ended.
    ///
    /// # Errors
    /// 2F005 when it should have said it.
    pub(super) fn finish(&mut self) -> Result<Value> {
        if let Some(value) = self.given.take() {
            return Ok(value);
        }
        let has_outputs = self.code.def.as_ref().is_some_and(|def| def.outputs().next().is_some());
        let is_void = self.code.def.as_ref().is_none_or(|def| def.result == RoutineType::Void);
        match self.wanted {
            Wanted::Rows(ty) => {
                let rows = std::mem::take(&mut self.rows);
                array::from_values(&rows, ElementType::Record(ty))
            }
            Wanted::Nothing => Ok(Value::text("")),
            Wanted::Row(ty) if has_outputs => as_record(self.session, self.outputs(), ty),
            Wanted::Row(_) if is_void => Ok(Value::Null),
            Wanted::Value(ty) if has_outputs => {
                let TypedRow { mut values, types } = self.outputs();
                match (values.pop(), types.last()) {
                    (Some(value), Some(from)) => cast(self.session, value, *from, ty),
                    _ => Ok(Value::Null),
                }
            }
            Wanted::Value(_) if is_void => Ok(Value::text("")),
            Wanted::Value(_) | Wanted::Row(_) => {
                let message = "control reached end of function without RETURN";
                Err(Error::new(SqlState::NO_RETURN_STATEMENT, message))
            }
        }
    }
}
