//! Follows a column that gets another type: conditions and terms are bound again, and
//! foreign keys still compare with the keys that they refer to. Called by ALTER TABLE (`alter`),
//! and by whoever defines a foreign key (`constraint`).

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::constraint::Definition;
use super::domain::Declared;
use super::types::{Context, can_cast, comparison_type};
use super::{Binder, index_terms, unsupported};
use crate::algebra::Place;
use crate::catalog::{ColumnDef, Digits, IndexTerms, TableRef};
use crate::statement::AlterAction;

/// Refuses a foreign key `name` of column `own` to column `other`, whose types do not compare by
/// the index of `other`.
///
/// # Errors
/// 42804; 0A000 for JSONB, and texts that are not told apart by their bytes.
pub fn refuse_unfit_key(name: &str, own: &ColumnDef, other: &ColumnDef) -> Result<()> {
    if own.has_own_equality() || other.has_own_equality() {
        return unsupported("a foreign key under a nondeterministic collation", None);
    }
    if own.is_keyed() || other.is_keyed() {
        return unsupported("a foreign key of jsonb", None);
    }
    if fits(own.ty, other.ty) {
        return Ok(());
    }
    let message = format!("foreign key constraint \"{name}\" cannot be implemented");
    let detail = format!(
        "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
        own.name,
        other.name,
        own.ty.name(),
        other.ty.name()
    );
    Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail))
}

/// True when values of both types are in one order, or `own` becomes `key` without being told.
fn fits(own: DataType, key: DataType) -> bool {
    let together = |is_in: fn(DataType) -> bool| is_in(own) && is_in(key);
    let in_one_order = together(|ty| ty.is_integer())
        || together(|ty| matches!(ty, DataType::Real | DataType::Double))
        || together(|ty| ty.is_text())
        || together(is_moment);
    comparison_type(Digits::All, own, key).is_some()
        && (in_one_order || can_cast(own, key, Context::Implicit))
}

fn is_moment(ty: DataType) -> bool {
    matches!(ty, DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_))
}

/// ALTER COLUMN ... TYPE ty USING using.
pub(super) struct NewType<'q> {
    pub(super) declared: Declared,
    pub(super) using: Option<&'q ast::Expr>,
    pub(super) at: Place,
}

impl Binder<'_> {
    /// Retypes the sequence of an identity, whose values are of the column's type.
    ///
    /// # Errors
    /// 22023 for a type that no sequence has, and bounds that it does not.
    pub(super) fn retyped_identity(
        &mut self,
        table: &TableRef,
        column: usize,
        ty: DataType,
    ) -> Result<Option<AlterAction>> {
        let Some(identity) = table.identity(column) else { return Ok(None) };
        let definition = self.sequence_of_type(&identity.sequence, ty)?;
        let kind = identity.kind;
        Ok(Some(AlterAction::SetIdentity { column, kind, definition, restart: None }))
    }

    /// Tests that the conditions and the terms of indexes of a table that was altered still mean
    /// something.
    ///
    /// # Errors
    /// Error of the first that does not.
    pub(super) fn check_retyped(
        &mut self,
        definition: &Definition,
        terms: &[(String, IndexTerms)],
    ) -> Result<()> {
        let (table, columns) = (&definition.name.name, &definition.columns);
        for check in &definition.checks {
            let expr = crate::parse::parse_expr(&check.sql)?;
            self.in_definition(|binder| binder.check_condition(&expr, table, columns))?;
        }
        for (_, terms) in terms {
            index_terms::bind_index_terms(table, columns, terms, self.catalog)?;
        }
        Ok(())
    }
}
