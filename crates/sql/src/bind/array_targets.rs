//! Assignments to elements and slices of arrays: `SET a[1] = 2`, `INSERT INTO t (a[2:3])`.
//!
//! ```text
//! a[1] = x, a[2] = y   ->   a = array_set_element(array_set_element(a, 1, x), 2, y)
//! ```

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::array::Part;
use super::name::ident_at;
use super::write::{Target, column_at};
use super::{Binder, Bound, BoundColumn, BoundQuery, fail};
use crate::algebra::{Expr, Function, Place, Plan};
use crate::catalog::{ColumnDef, TableRef};

/// Part of a column that is assigned to, `a[1]`.
pub(super) struct PartTarget<'q> {
    pub(super) ordinal: usize,
    pub(super) subscripts: &'q [ast::Subscript],
}

impl Binder<'_> {
    /// The subscript under which the column `name` is assigned to, if there is one.
    pub(super) fn subscript_of(&self, name: &ast::Ident) -> Result<Option<Vec<ast::Subscript>>> {
        Ok(self.aside.subscripts(ident_at(name)).map(<[ast::Subscript]>::to_vec))
    }

    /// Column that is assigned under a subscript: an element or an array of `column`.
    pub(super) fn target_part(
        &self,
        column: &ColumnDef,
        subscripts: &[ast::Subscript],
        at: Place,
    ) -> Result<ColumnDef> {
        if column.ty == DataType::Jsonb {
            return Ok(ColumnDef { default: None, generated: None, ..column.clone() });
        }
        let Some(element) = column.ty.element() else {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                column.ty.name()
            );
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        };
        let is_slice = subscripts.iter().any(|s| matches!(s, ast::Subscript::Slice { .. }));
        let ty = if is_slice { column.ty } else { element };
        Ok(ColumnDef { ty, default: None, generated: None, ..column.clone() })
    }

    /// The array after `value`, which is of the type that [`Self::target_part`] says, was assigned.
    pub(super) fn array_with(
        &mut self,
        array: Expr,
        subscripts: &[ast::Subscript],
        value: Expr,
    ) -> Result<Expr> {
        let ty = array.ty;
        if ty == DataType::Jsonb {
            return self.json_with(array, subscripts, value);
        }
        let (part, list) = self.part_of(subscripts.iter(), None)?;
        let function = match part {
            Part::Element => Function::ArraySetElement,
            Part::Slice => Function::ArraySetSlice,
        };
        let arguments = std::iter::once(array).chain(list).chain([value]).collect();
        Ok(Expr::call(function, arguments, ty))
    }

    /// `SET a[1] = value` over the target's row, or over what
    /// was assigned to `a` before.
    pub(super) fn assigned_part(
        &mut self,
        target: &Target,
        part: PartTarget<'_>,
        value: &ast::Expr,
        before: Option<Expr>,
    ) -> Result<Expr> {
        let PartTarget { ordinal, subscripts } = part;
        let at = super::name::expr_at(value);
        let column = column_at(&target.table, ordinal)?;
        let part = self.target_part(column, subscripts, at)?;
        if super::insert::is_default(value) {
            return fail(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot set an array element to DEFAULT",
                at,
            );
        }
        let bound = self.bind_expr(value)?;
        let value = self.assign_part(bound, &part)?;
        let array = match before {
            Some(array) => array,
            None => {
                let id = target.ids.get(ordinal);
                let id = id.ok_or_else(|| Error::internal("a target is a relation"))?;
                Expr::column(*id, column.ty)
            }
        };
        self.array_with(array, subscripts, value)
    }

    /// `bound` as a value for a part of an array.
    pub(super) fn assign_part(&mut self, bound: Bound, part: &ColumnDef) -> Result<Expr> {
        let (ty, at) = (self.retyped(bound.clone()).ty(), bound.at);
        match self.assign(bound, part) {
            Err(error) if error.state() == SqlState::DATATYPE_MISMATCH => {
                let message = format!(
                    "subscripted assignment to \"{}\" requires type {} but expression is of type \
                     {}",
                    part.name,
                    part.ty.name(),
                    ty.name()
                );
                let error = Error::new(SqlState::DATATYPE_MISMATCH, message)
                    .with_hint("You will need to rewrite or cast the expression.");
                Err(super::place(error, at))
            }
            other => other,
        }
    }

    /// The rows of an INSERT, with parts of an array put together in one column: `parts` has the
    /// subscript of each column of `source`. Returns the ordinals that are left, too.
    pub(super) fn whole_arrays(
        &mut self,
        table: &TableRef,
        ordinals: Vec<usize>,
        parts: &[Option<Vec<ast::Subscript>>],
        source: BoundQuery,
    ) -> Result<(Vec<usize>, BoundQuery)> {
        if parts.iter().all(Option::is_none) {
            return Ok((ordinals, source));
        }
        let mut left: Vec<usize> = Vec::new();
        let mut values: Vec<(Expr, BoundColumn)> = Vec::new();
        for ((ordinal, part), column) in ordinals.into_iter().zip(parts).zip(source.columns) {
            let value = Expr::column(column.id, column.ty);
            let Some(subscript) = part else {
                left.push(ordinal);
                values.push((value, column));
                continue;
            };
            match left.iter().position(|known| *known == ordinal) {
                Some(at) => {
                    let before = values[at].0.clone();
                    values[at].0 = self.array_with(before, subscript, value)?;
                }
                None => {
                    // What is not assigned is NULL, whatever the default says.
                    let empty = Expr::null(column_at(table, ordinal)?.ty);
                    left.push(ordinal);
                    values.push((self.array_with(empty, subscript, value)?, column));
                }
            }
        }
        let mut project = Vec::with_capacity(values.len());
        let mut columns = Vec::with_capacity(values.len());
        for (expr, column) in values {
            let (id, ty): (_, DataType) = (self.fresh(), expr.ty);
            project.push((id, expr));
            columns.push(BoundColumn { id, ty, ..column });
        }
        let plan = Plan::Project { input: Box::new(source.plan), columns: project };
        Ok((left, BoundQuery { plan, columns }))
    }
}
