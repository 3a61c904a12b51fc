//! Assignments to parts of columns: elements and slices of arrays, fields of records.
//!
//! ```text
//! SET a[1] = x, a[2] = y      a = array_set_element(array_set_element(a, 1, x), 2, y)
//! SET c.x = 1                 c = row(1, (c).y)
//! INSERT INTO t (a[2].x)      a = array_set_element(NULL, 2, row(..., NULL))
//! ```

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::array::Part;
use super::composite::field_of;
use super::name::ident_at;
use super::shape::is_shape;
use super::write::{Target, column_at};
use super::{Binder, Bound, BoundColumn, BoundQuery, fail};
use crate::algebra::{Expr, Function, Place, Plan};
use crate::catalog::{ColumnDef, TableRef};
use crate::parse::folded;

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// To an element or a slice of an array.
    Subscripts(Vec<ast::Subscript>),
    /// To a field of a record.
    Field(ast::Ident),
}

/// Part of a column that is assigned to, `a[1]`, `c.x`.
pub(super) struct PartTarget<'q> {
    pub(super) ordinal: usize,
    pub(super) steps: &'q [Step],
}

impl Binder<'_> {
    /// The steps to the part of a column that `name` means as a target; None for a whole column.
    pub(super) fn steps_of(&self, name: &ast::ObjectName) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        for (place, part) in name.0.iter().enumerate() {
            let ast::ObjectNamePart::Identifier(ident) = part else { return None };
            if place > 0 {
                steps.push(Step::Field(ident.clone()));
            }
            if let Some(subscripts) = self.aside.subscripts(ident_at(ident)) {
                steps.push(Step::Subscripts(subscripts.to_vec()));
            }
        }
        (!steps.is_empty()).then_some(steps)
    }

    /// The part of `column` to which `steps` lead, as a column of its own.
    ///
    /// # Errors
    /// 42804 for a step that the type of the value does not have, 42703 for a field.
    pub(super) fn target_part(
        &self,
        column: &ColumnDef,
        steps: &[Step],
        at: Place,
    ) -> Result<ColumnDef> {
        let mut part = column.clone();
        for step in steps {
            part = match step {
                Step::Subscripts(subscripts) => self.subscripted_part(&part, subscripts, at)?,
                Step::Field(ident) => {
                    let (_, ty) = field_named(part.ty, ident, &column.name)?;
                    let name = part.name;
                    ColumnDef { domain: None, collation: None, ..ColumnDef::new(name, ty) }
                }
            };
        }
        Ok(part)
    }

    /// Column that is assigned under a subscript: an element or an array of `column`.
    fn subscripted_part(
        &self,
        column: &ColumnDef,
        subscripts: &[ast::Subscript],
        at: Place,
    ) -> Result<ColumnDef> {
        if column.ty == DataType::Jsonb {
            return Ok(ColumnDef { default: None, generated: None, ..column.clone() });
        }
        let part = match column.ty {
            DataType::Packed(shape) => shape.part(),
            ty => ty.element(),
        };
        let Some(element) = part else {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                column.ty.name()
            );
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        };
        let is_slice = subscripts.iter().any(|s| matches!(s, ast::Subscript::Slice { .. }));
        if is_slice && is_shape(column.ty) {
            let message = "slices of fixed-length arrays not implemented";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        let ty = if is_slice { column.ty } else { element };
        Ok(ColumnDef { ty, default: None, generated: None, ..column.clone() })
    }

    /// `whole`, of the column called `column`, after `value` was assigned to the part to which
    /// `steps` lead; it is of the type that [`Self::target_part`] says.
    ///
    /// # Errors
    /// As there, and 0A000 for a part of a slice.
    pub(super) fn with_part(
        &mut self,
        whole: Expr,
        steps: &[Step],
        value: Expr,
        column: &str,
    ) -> Result<Expr> {
        let [step, rest @ ..] = steps else { return Ok(value) };
        match step {
            Step::Subscripts(subscripts) => {
                let mut value = value;
                if !rest.is_empty() {
                    let all: Vec<&ast::Subscript> = subscripts.iter().collect();
                    let part = self.subscripted(Bound::new(whole.clone(), None), &all)?.expr;
                    value = self.with_part(part, rest, value, column)?;
                }
                self.array_with(whole, subscripts, value)
            }
            Step::Field(ident) => {
                let (meant, _) = field_named(whole.ty, ident, column)?;
                let DataType::Record(record) = whole.ty else { return Ok(whole) };
                let mut list = Vec::with_capacity(record.fields().len());
                let mut value = Some(value);
                for (ordinal, field) in record.fields().iter().enumerate() {
                    let own = field_of(&whole, ordinal, field.ty);
                    match value.take_if(|_| ordinal == meant) {
                        Some(value) => {
                            let value = self.with_part(own, rest, value, column)?;
                            list.push(self.in_domain_of_field(value, record, ordinal)?);
                        }
                        None => list.push(own),
                    }
                }
                Ok(Expr::call(Function::RecordMake, list, whole.ty))
            }
        }
    }

    /// The array after `value` was assigned under the subscripts.
    fn array_with(
        &mut self,
        array: Expr,
        subscripts: &[ast::Subscript],
        value: Expr,
    ) -> Result<Expr> {
        let ty = array.ty;
        if ty == DataType::Jsonb {
            return self.json_with(array, subscripts, value);
        }
        let (part, mut list) = self.part_of(subscripts.iter(), None)?;
        if is_shape(ty) {
            let index = list.pop().filter(|_| list.is_empty()).ok_or_else(|| {
                Error::new(SqlState::ARRAY_SUBSCRIPT, "wrong number of array subscripts")
            })?;
            return self.shape_with_part(array, index, value);
        }
        let function = match part {
            Part::Element => Function::ArraySetElement,
            Part::Slice => Function::ArraySetSlice,
        };
        let arguments = std::iter::once(array).chain(list).chain([value]).collect();
        Ok(Expr::call(function, arguments, ty))
    }

    /// `SET a[1] = value` over the target's row, or over what was assigned to `a` before.
    pub(super) fn assigned_part(
        &mut self,
        target: &Target,
        part: PartTarget<'_>,
        value: &ast::Expr,
        before: Option<Expr>,
    ) -> Result<Expr> {
        let PartTarget { ordinal, steps } = part;
        let at = super::name::expr_at(value);
        let column = column_at(&target.table, ordinal)?;
        let part = self.target_part(column, steps, at)?;
        if super::insert::is_default(value) {
            return fail(SqlState::FEATURE_NOT_SUPPORTED, no_default(steps), at);
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
        self.with_part(array, steps, value, &column.name)
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
    /// steps to each column of `source`. Returns the ordinals that are left, too.
    pub(super) fn whole_arrays(
        &mut self,
        table: &TableRef,
        ordinals: Vec<usize>,
        parts: &[Option<Vec<Step>>],
        source: BoundQuery,
    ) -> Result<(Vec<usize>, BoundQuery)> {
        if parts.iter().all(Option::is_none) {
            return Ok((ordinals, source));
        }
        let mut left: Vec<usize> = Vec::new();
        let mut values: Vec<(Expr, BoundColumn)> = Vec::new();
        for ((ordinal, part), column) in ordinals.into_iter().zip(parts).zip(source.columns) {
            let value = Expr::column(column.id, column.ty);
            let Some(steps) = part else {
                left.push(ordinal);
                values.push((value, column));
                continue;
            };
            match left.iter().position(|known| *known == ordinal) {
                Some(at) => {
                    let before = values[at].0.clone();
                    let name = column_at(table, ordinal)?.name.clone();
                    values[at].0 = self.with_part(before, steps, value, &name)?;
                }
                None => {
                    // What is not assigned is NULL, whatever the default says.
                    let def = column_at(table, ordinal)?;
                    let (empty, name) = (Expr::null(def.ty), def.name.clone());
                    left.push(ordinal);
                    values.push((self.with_part(empty, steps, value, &name)?, column));
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

/// The place and the type of a field of values of type `ty`.
///
/// # Errors
/// 42804 when they have none, 42703 when none is called so.
fn field_named(ty: DataType, ident: &ast::Ident, column: &str) -> Result<(usize, DataType)> {
    let (field, at) = (folded(ident), ident_at(ident));
    let DataType::Record(record) = ty else {
        let message = format!(
            "cannot assign to field \"{field}\" of column \"{column}\" because its type {} is not \
             a composite type",
            ty.name()
        );
        return fail(SqlState::DATATYPE_MISMATCH, message, at);
    };
    match record.field(&field) {
        Some(found) => Ok(found),
        None => {
            let message = format!(
                "cannot assign to field \"{field}\" of column \"{column}\" because there is no \
                 such column in data type {}",
                record.name()
            );
            fail(SqlState::UNDEFINED_COLUMN, message, at)
        }
    }
}

/// Message for DEFAULT as the value of a part.
pub(super) fn no_default(steps: &[Step]) -> &'static str {
    match steps.first() {
        Some(Step::Field(_)) => "cannot set a subfield to DEFAULT",
        _ => "cannot set an array element to DEFAULT",
    }
}
