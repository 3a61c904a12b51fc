//! Collations: which order the texts of an operand have, and keys where it is not that of bytes.
//!
//! ```text
//! column COLLATE "sv-x-icu"        noted by the column's id, handed on to columns made of it
//! x COLLATE "sv-x-icu"             Collate(x), which is x
//! ORDER BY, <, <=, >, >=           CollationKey(x), whose order as bytes is the language's
//! =, <>, IN, GROUP BY, joins       by the text itself: what differs is never equal
//! ```
//! Called by all clauses that order. Elsewhere: names (`types::Collation`), keys
//! (`kernels::collate`).

use sqlparser::ast;
use types::{Collation, CompareOp, DataType, Error, Result, SqlState};

use super::name::{ident_at, object_at};
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{ColumnId, Expr, ExprKind, Function, Place};
use crate::catalog::ColumnDef;

/// The collation that a name means; None is that of bytes.
///
/// # Errors
/// 42704 when there is none of it.
pub(super) fn collation_named(name: &ast::ObjectName) -> Result<Option<Collation>> {
    let at = object_at(name);
    let mut parts = super::name::object_parts(name)?;
    let bare = parts.pop().unwrap_or_default();
    let found = match parts.last().map(String::as_str) {
        None | Some("pg_catalog") => Collation::named(&bare).ok(),
        // `c` without quotes, as older versions took it.
        Some(_) => None,
    };
    match found {
        Some(collation) => Ok(collation),
        None if parts.is_empty() && (bare == "c" || bare == "posix") => Ok(None),
        None => {
            let message = format!("collation \"{bare}\" for encoding \"UTF8\" does not exist");
            fail(SqlState::UNDEFINED_OBJECT, message, at)
        }
    }
}

/// 42804 unless values of the type, or elements of such arrays, have collations.
pub(super) fn check_collatable(ty: DataType, at: Place) -> Result<()> {
    let value = ty.element().unwrap_or(ty);
    if value.is_text() && value != DataType::InternalChar {
        return Ok(());
    }
    let message = format!("collations are not supported by type {}", ty.name());
    Err(place(Error::new(SqlState::DATATYPE_MISMATCH, message), at))
}

impl Binder<'_> {
    /// `x COLLATE name`.
    pub(super) fn bind_collate(
        &mut self,
        expr: &ast::Expr,
        name: &ast::ObjectName,
    ) -> Result<Bound> {
        let collation = collation_named(name)?;
        let bound = self.bind_expr(expr)?;
        let bound = self.retyped(bound);
        if !bound.is_unknown() {
            check_collatable(bound.ty(), object_at(name))?;
        }
        if collation.is_none() && self.collation_of(&bound.expr).is_none() {
            return Ok(bound);
        }
        self.has_collations = true;
        let at = bound.at;
        let expr = match bound.ty() {
            DataType::Unknown => {
                self.coerce(bound, DataType::Text, super::types::Context::Implicit)?
            }
            _ => bound.expr,
        };
        let ty = expr.ty;
        Ok(Bound::new(Expr::call(Function::Collate(collation), vec![expr], ty), at))
    }

    /// `bound` as it is compared byte by byte, whatever its collation.
    pub(super) fn by_bytes(&mut self, bound: Bound) -> Result<Bound> {
        let at = bound.at;
        let expr = self.as_text(bound, DataType::Text)?;
        if self.collation_of(&expr).is_none() {
            return Ok(Bound::new(expr, at));
        }
        Ok(Bound::new(Expr::call(Function::Collate(None), vec![expr], DataType::Text), at))
    }

    /// COLLATE of a column that is defined or altered.
    pub(super) fn column_collation(
        &self,
        def: &ColumnDef,
        name: &ast::ObjectName,
    ) -> Result<Option<Collation>> {
        check_collatable(def.ty, name.0.first().and_then(|part| ident_at(part.as_ident()?)))?;
        let collation = collation_named(name)?;
        if collation.is_some() && def.ty.is_array() {
            return unsupported("a collation of an array", object_at(name));
        }
        let bare = super::name::object_parts(name)?.pop().unwrap_or_default();
        Ok(collation.or_else(|| Collation::of_bytes(&bare)))
    }

    /// Notes the collation of a column of a table.
    pub(super) fn note_column(&mut self, id: ColumnId, def: &ColumnDef) {
        match def.collation.filter(|collation| !collation.is_of_bytes()) {
            Some(collation) => {
                self.has_collations = true;
                self.collations.insert(id, collation);
            }
            None if self.has_collations => drop(self.collations.remove(&id)),
            None => {}
        }
    }

    /// Notes that column `id` has the values of `expr`.
    pub(super) fn note_collation(&mut self, id: ColumnId, expr: &Expr) {
        if let Some(collation) = self.collation_of(expr) {
            self.collations.insert(id, collation);
        }
    }

    /// The collation by which values of `expr` are ordered; None is that of bytes.
    pub(super) fn collation_of(&self, expr: &Expr) -> Option<Collation> {
        if !self.has_collations || !expr.ty.is_text() {
            return None;
        }
        match &expr.kind {
            ExprKind::Column(id) => self.collations.get(id).copied(),
            ExprKind::Call(Function::Collate(collation), _) => *collation,
            ExprKind::Call(_, list) => list.iter().find_map(|expr| self.collation_of(expr)),
            ExprKind::Cast(inner) => self.collation_of(inner),
            ExprKind::Case { branches, otherwise } => {
                let mut results = branches.iter().map(|(_, result)| result);
                results
                    .find_map(|expr| self.collation_of(expr))
                    .or_else(|| self.collation_of(otherwise))
            }
            _ => None,
        }
    }

    /// The expression that stands for `expr` where values are ordered.
    pub(super) fn ordered(&self, expr: Expr) -> Expr {
        match self.collation_of(&expr) {
            Some(collation) => key_of(expr, collation),
            None => expr,
        }
    }

    /// The operands of a comparison, or their keys where it goes by an order.
    pub(super) fn ordered_pair(&self, op: CompareOp, left: Expr, right: Expr) -> (Expr, Expr) {
        use CompareOp as C;
        if !matches!(op, C::Less | C::LessEqual | C::Greater | C::GreaterEqual) {
            return (left, right);
        }
        let own = |expr: &Expr| match expr.kind {
            ExprKind::Call(Function::Collate(collation), _) => Some(collation),
            _ => None,
        };
        // One that is written goes before those of columns.
        let written = own(&left).or_else(|| own(&right));
        let implied = || self.collation_of(&left).or_else(|| self.collation_of(&right));
        match written.unwrap_or_else(implied) {
            Some(collation) => (key_of(left, collation), key_of(right, collation)),
            None => (left, right),
        }
    }

    /// 0A000 for texts whose order is not that of bytes, where nothing else is known.
    pub(super) fn refuse_collation(&self, what: &str, exprs: &[Expr], at: Place) -> Result<()> {
        if exprs.iter().any(|expr| self.collation_of(expr).is_some()) {
            return unsupported(format!("{what} of texts with a collation"), at);
        }
        Ok(())
    }
}

fn key_of(expr: Expr, collation: Collation) -> Expr {
    Expr::call(Function::CollationKey(collation), vec![expr], DataType::Bytea)
}
