//! Collations of variables: which one is compared by where the body names them.
//!
//! ```text
//! parameter, variable          that of the call's arguments, where its type has collations
//! variable COLLATE name        that one
//! variable t.column%TYPE       that of the column
//! t%ROWTYPE, NEW, OLD          those of the columns of t
//! RECORD                       those of the columns of the query that gave the row
//! CASE operand                 that of the call's arguments
//! ```
//! Called when variables are looked up (`frame`) and when they get values (`assign`).
//! Source: PostgreSQL 15, 43.3.6.

use std::sync::Arc;

use catalog::numbers;
use sql::algebra::{Derived, Expr, ExprKind, OutputColumn, Plan, is_collatable};
use sql::catalog::ColumnDef;
use sql::statement::Statement;
use types::{Collation, DataType, Error, RecordType, Result, SqlState};

use super::frame::{Frame, first_column};
use crate::session::code::{Collations, Names, Use};
use crate::statement::describe;
use crate::{QueryResult, Session};

/// Collations of values of a type where calls have `collation`.
pub(super) fn of_type(session: &Session, ty: DataType, collation: Option<Collation>) -> Collations {
    match ty {
        DataType::Record(row) => of_row(session, row),
        ty if is_collatable(ty) => of_value(Derived::implied(collation)),
        _ => None,
    }
}

/// Collation of a value that is no record.
pub(super) fn of_value(derived: Derived) -> Collations {
    (derived != Derived::Usual).then(|| Arc::from([derived]))
}

/// Collations of the fields of rows of a table; None for other records.
pub(super) fn of_row(session: &Session, row: RecordType) -> Collations {
    let number = row.number()?;
    let state = session.state();
    let is_it = |key: &str| numbers::row_type(key) == number;
    let table = match state.tables.get(row.name()).filter(|_| is_it(row.name())) {
        Some(table) => table,
        None => state.tables.iter().find(|(key, _)| is_it(key)).map(|(_, table)| table)?,
    };
    of_columns(&table.def.columns)
}

/// Collations of the columns of a table.
pub(super) fn of_columns(columns: &[ColumnDef]) -> Collations {
    let is_special = columns.iter().any(|column| column.collation.is_some());
    let all = || columns.iter().map(|column| Derived::implied(column.collation)).collect();
    is_special.then(all)
}

/// Collations of the columns of the rows of a statement; of the fields of a record that is the
/// only column.
pub(super) fn of_statement(statement: &Statement) -> Collations {
    of_output(describe::output(statement))
}

/// The same of the columns of a query.
pub(in crate::run) fn of_output(columns: &[OutputColumn]) -> Collations {
    if columns.iter().all(|column| column.collation == Derived::Usual) {
        return None;
    }
    match columns {
        [OutputColumn { ty: DataType::Record(row), collation, .. }] => of_fields(*row, *collation),
        columns => Some(columns.iter().map(|column| column.collation).collect()),
    }
}

/// Collations of the fields of the records that a column of a result is.
pub(super) fn of_column(result: &QueryResult, at: usize, row: RecordType) -> Collations {
    match (result.columns().len(), result.collations()) {
        // A record alone has them in the place of columns.
        (1, all) => all.clone(),
        (_, Some(all)) => of_fields(row, all.get(at).copied().unwrap_or_default()),
        (_, None) => None,
    }
}

/// Collations of the fields of a record where one of them has `derived`; it is not known which, and
/// who compares one is told so.
fn of_fields(row: RecordType, derived: Derived) -> Collations {
    if derived == Derived::Usual {
        return None;
    }
    let collation = derived.only().unwrap_or_else(Collation::usual);
    let unclear = Derived::Conflict(collation, Collation::usual());
    let of = |ty| if is_collatable(ty) { unclear } else { Derived::Usual };
    Some(row.fields().iter().map(|field| of(field.ty)).collect())
}

/// The collation that SQL writes so.
///
/// # Errors
/// 42804 for a variable of a type that has none, 42704 for a missing one.
pub(super) fn written(session: &Session, ty: Option<DataType>, name: &str) -> Result<Derived> {
    if let Some(ty) = ty.filter(|ty| !is_collatable(*ty) && *ty != DataType::Name) {
        let message = format!("collations are not supported by type {}", ty.name());
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    Ok(first_column(session, &format!("SELECT NULL::text COLLATE {name}"))?.collation)
}

impl Frame<'_> {
    /// Collations of the columns of the rows of a statement of the body.
    pub(super) fn collations_of(&self, bound: &Statement, names: &Names) -> Collations {
        match record_read(bound).and_then(|number| names.uses().get(number).copied()) {
            Some((Use::Slot(slot), _)) => self.collations[slot].clone(),
            _ => of_statement(bound),
        }
    }
}

/// The number of the variable of a record that a statement gives as it is.
fn record_read(bound: &Statement) -> Option<usize> {
    let Statement::Query(query) = bound else { return None };
    let (Plan::Project { columns, .. }, [only]) = (&query.plan, query.columns.as_slice()) else {
        return None;
    };
    match columns.iter().find(|(id, _)| *id == only.id)? {
        (_, Expr { kind: ExprKind::Parameter(number), ty: DataType::Record(_) }) => {
            Some(*number as usize)
        }
        _ => None,
    }
}
