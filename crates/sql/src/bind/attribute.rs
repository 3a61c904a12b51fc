//! Fields called like functions, `name(row)`, and functions read like fields, `row.name`.
//!
//! ```text
//! name(row)   no function takes the row     -> (row).name
//! row.name    the row has no such field     -> name(row), a routine that users made
//! ```
//! Source: PostgreSQL 15, section 8.16.5.

use sqlparser::ast;
use types::{DataType, Result};

use super::composite::field_of;
use super::name::ident_at;
use super::routine_choice::{CallName, Given};
use super::{Binder, Bound, unsupported};
use crate::algebra::Place;
use crate::catalog::RoutineKind;

/// The field `name` of a row; None where it has none, and of other values.
pub(super) fn called_field(name: &str, row: &Bound, at: Place) -> Option<Bound> {
    let DataType::Record(ty) = row.ty() else { return None };
    let (ordinal, ty) = ty.field(name)?;
    Some(Bound::new(field_of(&row.expr, ordinal, ty), at))
}

/// A name without schema.
fn object(name: &ast::Ident) -> ast::ObjectName {
    ast::ObjectName(vec![ast::ObjectNamePart::Identifier(name.clone())])
}

impl Binder<'_> {
    /// True when a routine has this name.
    pub(super) fn is_routine(&self, name: &ast::Ident) -> Result<bool> {
        Ok(!self.routines_named(&object(name))?.is_empty())
    }

    /// The routine `name` of a row that has no such field; None where no routine takes the row.
    ///
    /// # Errors
    /// 42725 when several are equally good; 42501.
    pub(super) fn function_of_row(
        &mut self,
        row: Bound,
        name: &ast::Ident,
    ) -> Result<Option<Bound>> {
        let object = object(name);
        let found = self.routines_named(&object)?;
        if found.is_empty() {
            return Ok(None);
        }
        let call = CallName { name: &object, kind: RoutineKind::Function };
        match self.chosen_of(found, vec![Given::of_value(row)], call)? {
            // The text of a view says neither the schema of the function nor that it needs it.
            Some(_) if self.stars.is_some() => {
                unsupported("a function of a row as its column in a view", ident_at(name))
            }
            Some(chosen) => self.value_of_call(chosen, ident_at(name)).map(Some),
            None => Ok(None),
        }
    }
}
