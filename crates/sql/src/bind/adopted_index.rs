//! ADD UNIQUE or PRIMARY KEY USING INDEX: an index that is there becomes a constraint's.

use sqlparser::ast;
use types::{Error, Result, SqlState};

use super::constraint::{Definition, KeyForm, deferral_of};
use super::name::ident_at;
use super::{fail, place, unsupported};
use crate::algebra::{Direction, NullsOrder};
use crate::catalog::{IndexKind, IndexMeta, KeyNulls, TableRef, Uniqueness};
use crate::parse::folded;
use crate::statement::AlterAction;

/// Adds the key to `definition`, and tells what the catalog is to do.
///
/// # Errors
/// 42704, 55000, 42809 for an index that is none, is another constraint's, or is no whole key.
pub(super) fn adopt(
    definition: &mut Definition,
    table: &TableRef,
    using: &ast::ConstraintUsingIndex,
    is_primary: bool,
) -> Result<AlterAction> {
    let (name, at) = (folded(&using.index_name), ident_at(&using.index_name));
    let deferral = deferral_of(using.characteristics.as_ref())?;
    if deferral.is_deferrable() {
        return unsupported("a DEFERRABLE constraint USING INDEX", at);
    }
    let Some(index) = table.indexes().iter().find(|index| index.name == name) else {
        let message = format!("index \"{name}\" does not exist");
        return fail(SqlState::UNDEFINED_OBJECT, message, at);
    };
    let is_bound = table.keys().iter().any(|key| key.name == name)
        || table.foreign_keys().iter().any(|key| key.name == name);
    if is_bound {
        let message = format!("index \"{name}\" is already associated with a constraint");
        return fail(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, at);
    }
    if let Some(message) = unfit(index) {
        let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message)
            .with_detail("Cannot create a primary key or unique constraint using such an index.");
        return Err(place(error, at));
    }
    let columns = index.columns.iter().map(|column| column.ordinal).collect();
    let nulls = match index.unique {
        Uniqueness::NullsNotDistinct => KeyNulls::NotDistinct,
        _ => KeyNulls::Distinct,
    };
    let constraint = using.name.as_ref().map_or_else(|| name.clone(), folded);
    let included = index.terms.included.clone();
    let form = KeyForm { primary: is_primary, nulls, deferral, included };
    definition.add_key(Some(constraint), columns, form, at)?;
    let key = definition.keys.last().cloned();
    let key = key.ok_or_else(|| Error::internal("a key was added"))?;
    Ok(AlterAction::AdoptIndex { index: name, key })
}

/// Why the index cannot be a key's.
fn unfit(index: &IndexMeta) -> Option<String> {
    let name = &index.name;
    if index.unique == Uniqueness::No {
        return Some(format!("\"{name}\" is not a unique index"));
    }
    if index.columns.iter().any(|column| column.expression().is_some()) {
        return Some(format!("index \"{name}\" contains expressions"));
    }
    if index.is_partial() {
        return Some(format!("\"{name}\" is a partial index"));
    }
    if index.kind != IndexKind::Ordered {
        return Some(format!("index \"{name}\" is not a btree"));
    }
    let is_usual = |column: &crate::catalog::IndexColumn| {
        (column.direction, column.nulls) == (Direction::Ascending, NullsOrder::Last)
    };
    let unusual = index.columns.iter().position(|column| !is_usual(column))?;
    Some(format!(
        "index \"{name}\" column number {} does not have default sorting behavior",
        unusual + 1
    ))
}
