//! Values as they are compared: JSONB and numbers of any scale by their keys, JSON not at all.
//!
//! Called by all clauses that compare, group or order.

use types::{DataType, ElementType, Error, Result, SqlState};

use super::unmatched::no_operator;
use super::{place, unsupported};
use crate::algebra::{Expr, ExprKind, Function, JsonFunction as J, Place};

/// Purpose of a comparison of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparedFor {
    Equality,
    Order,
}

/// `expr`, or what stands for it where values are compared: a JSONB is compared by its key.
///
/// # Errors
/// 42883 for JSON, shapes, and arrays of them.
pub(super) fn comparable(expr: Expr, what: ComparedFor, at: Place) -> Result<Expr> {
    let what = if what == ComparedFor::Equality { "equality" } else { "ordering" };
    match expr.ty {
        ty if has_no_order(ty) => Err(no_order(what, ty, at)),
        // Numbers of transactions go in a circle.
        DataType::Xid if what == "ordering" => Err(no_order(what, expr.ty, at)),
        DataType::Jsonb => Ok(Expr::call(Function::Json(J::Key), vec![expr], DataType::Bytea)),
        DataType::Array(ElementType::Jsonb) => {
            let keys = DataType::Array(ElementType::Bytea);
            Ok(Expr::call(Function::Json(J::Key), vec![expr], keys))
        }
        DataType::Record(record) | DataType::Array(ElementType::Record(record)) => {
            match record.fields().iter().find(|field| has_no_order(field.ty)) {
                Some(field) => Err(no_order(what, field.ty, at)),
                None if record.any_field(&has_no_order) => Err(no_order(what, expr.ty, at)),
                None => Ok(keyed(expr)),
            }
        }
        _ => Ok(keyed(expr)),
    }
}

/// `expr`, or its key when values with wide decimals that differ in their bytes may be equal.
pub(super) fn keyed(expr: Expr) -> Expr {
    let ty = match expr.ty {
        // The keys of the elements.
        DataType::Array(element) if element.data_type().has_wide() => {
            DataType::Array(ElementType::Bytea)
        }
        _ => DataType::Bytea,
    };
    if expr.ty.has_wide() { Expr::call(Function::NumericKey, vec![expr], ty) } else { expr }
}

/// The expression of which [`keyed`] made `expr`.
pub(super) fn unkeyed(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Call(Function::NumericKey | Function::CollationKey(_), list) => {
            list.first().unwrap_or(expr)
        }
        _ => expr,
    }
}

/// True for types whose values are not compared at all.
pub(super) fn has_no_order(ty: DataType) -> bool {
    match ty {
        DataType::Array(element) => has_no_order(element.data_type()),
        DataType::Packed(packed) => packed.is_shape(),
        _ => matches!(ty, DataType::Json | DataType::JsonPath),
    }
}

/// True for types whose values are compared by something else than their bytes.
pub(super) fn needs_key(ty: DataType) -> bool {
    has_key(ty) || ty.has_wide()
}

/// True for types that are not compared as they are held.
pub(super) fn has_key(ty: DataType) -> bool {
    use ElementType as E;
    ty.is_json() || has_no_order(ty) || matches!(ty, DataType::Array(E::Jsonb))
}

/// 42883 or 0A000 for DISTINCT in an aggregate that keeps values of JSON.
pub(super) fn refuse_distinct(value: &Expr, at: Place) -> Result<()> {
    if has_key(value.ty) {
        comparable(value.clone(), ComparedFor::Equality, at)?;
        return unsupported("DISTINCT of jsonb in an aggregate", at);
    }
    Ok(())
}

/// 42883 for an operator between values that have no such one because one has no order.
pub(super) fn refuse_json(op: &str, a: DataType, b: DataType, at: Place) -> Result<()> {
    let is_in_circle = op.starts_with(['<', '>']) && op != "<>";
    let is_unordered = [a, b].contains(&DataType::Xid) && is_in_circle;
    if has_no_order(a) || has_no_order(b) || is_unordered {
        return Err(no_operator(op, a, b, at));
    }
    Ok(())
}

/// Refuses a column of what is in the order of what is held.
///
/// # Errors
/// As [`refuse_unordered`]; 0A000 for JSONB and arrays of it.
pub(super) fn refuse_index(ty: DataType, at: Place) -> Result<()> {
    refuse_unordered(ty, at)?;
    if has_key(ty) {
        return unsupported(format!("an index of {}", ty.name()), at);
    }
    Ok(())
}

/// Refuses a column of an index that may hold keys in the place of values.
///
/// # Errors
/// 42704 for JSON and shapes, as in PostgreSQL; 0A000 for arrays of them.
pub(super) fn refuse_unordered(ty: DataType, at: Place) -> Result<()> {
    match ty {
        ty if has_no_order(ty) && !ty.is_array() => {
            let message = format!(
                "data type {} has no default operator class for access method \"btree\"",
                ty.name()
            );
            let error = Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(
                "You must specify an operator class for the index or define a default operator \
                 class for the data type.",
            );
            Err(place(error, at))
        }
        ty if has_no_order(ty) => unsupported(format!("an index of {}", ty.name()), at),
        _ => Ok(()),
    }
}

/// 42883 for a type that has no order.
#[cold]
fn no_order(what: &str, ty: DataType, at: Place) -> Error {
    let ty = ty.element().unwrap_or(ty);
    let message = format!("could not identify an {what} operator for type {}", ty.name());
    let error = Error::new(SqlState::UNDEFINED_FUNCTION, message);
    let error = match what {
        "ordering" => error.with_hint("Use an explicit ordering operator or modify the query."),
        _ => error,
    };
    place(error, at)
}
