//! Rows as values: ROW(...), whole rows of relations, their fields.
//!
//! ```text
//! ROW(a, b), (a, b)     row(a, b), a record of f1 and f2
//! t, t.*                row(t.a, t.b), a record of a and b; NULL where an outer join has no row
//! (r).a                 field 0 of r; of row(a, b) it is a
//! r IS NULL             every field is NULL
//! ```
//! Elsewhere: comparisons of rows that are written as such (`row`), JSON of rows (`json`).

use sqlparser::ast::{self, Expr as Ast};
use types::DataType::Record as R;
use types::{CompareOp, DataType, Error, RecordField, RecordType, Result, SqlState};

use super::clauses::Target;
use super::name::{ident_at, object_at};
use super::row::Field;
use super::scope::{ScopeRelation, Whole};
use super::{Binder, Bound, fail, place};
use crate::algebra::{Expr, ExprKind, Function, Place};
use crate::catalog::Relation;
use crate::parse::folded;

impl Binder<'_> {
    /// The values of a row that is written as such; `t.*` stands for those of all its columns.
    pub(super) fn bind_fields(&mut self, fields: &[Field<'_>]) -> Result<Vec<Bound>> {
        let mut bound = Vec::with_capacity(fields.len());
        for field in fields {
            match field {
                Field::Value(expr) => bound.push(self.bind_expr(expr)?),
                Field::All(name) => {
                    let targets = self.columns_of(name, &super::stars::StarOptions::default())?;
                    bound.extend(targets.into_iter().map(|target| target.bound));
                }
            }
        }
        Ok(bound)
    }

    /// A row value that stands for a value.
    pub(super) fn bind_row(&mut self, expr: &Ast) -> Result<Bound> {
        let fields = super::row::row_fields(expr).unwrap_or_default();
        let fields = self.bind_fields(&fields)?;
        self.record_of(fields, super::name::expr_at(expr))
    }

    /// A record of `fields`, named f1 and so on.
    pub(super) fn record_of(&mut self, fields: Vec<Bound>, at: Place) -> Result<Bound> {
        let mut list = Vec::with_capacity(fields.len());
        let mut types = Vec::with_capacity(fields.len());
        for (number, mut field) in fields.into_iter().enumerate() {
            let is_typed = self.type_now(&field) == DataType::Text;
            self.settle(&mut field)?;
            if is_typed && matches!(field.expr.kind, ExprKind::Literal(_)) {
                // Unlike one in quotes alone it does not take the type of an attribute.
                let kind = ExprKind::Cast(Box::new(field.expr));
                field.expr = Expr { kind, ty: DataType::Text };
            }
            types.push(RecordField { name: format!("f{}", number + 1), ty: field.ty() });
            list.push(field.expr);
        }
        let ty = DataType::Record(RecordType::new(types)?);
        Ok(Bound::new(Expr::call(Function::RecordMake, list, ty), at))
    }

    /// `t.*` where one value is wanted: the row.
    pub(super) fn row_of_name(&mut self, name: &ast::ObjectName) -> Result<Bound> {
        let full = self.written_name(name)?;
        let at = object_at(name);
        match self.whole_row(full.schema.as_deref(), &full.name, at)? {
            Some(bound) => Ok(bound),
            None => {
                if let Some(record) = self.record_variable(name) {
                    return Ok(record);
                }
                let message = format!("missing FROM-clause entry for table \"{}\"", full.name);
                fail(SqlState::UNDEFINED_TABLE, message, at)
            }
        }
    }

    /// The variable of the program around the statement that `name` is, if it is a record.
    pub(super) fn record_variable(&mut self, name: &ast::ObjectName) -> Option<Bound> {
        let parts = super::name::object_parts(name).ok()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let variable = self.variable(&parts, object_at(name))?;
        matches!(variable.ty(), DataType::Record(_)).then_some(variable)
    }

    /// The row of the relation called `name`; None when there is no such relation.
    pub(super) fn whole_row(
        &mut self,
        schema: Option<&str>,
        name: &str,
        at: Place,
    ) -> Result<Option<Bound>> {
        for depth in (0..self.levels.len()).rev() {
            let Some(level) = self.levels.get(depth) else { continue };
            if let Some(relation) = level.scope.relation(schema, name, at)? {
                let relation = relation.clone();
                return self.row_of(depth, relation, at).map(Some);
            }
        }
        Ok(None)
    }

    /// The row of a relation of the level at `depth`.
    pub(super) fn row_of(
        &mut self,
        depth: usize,
        relation: ScopeRelation,
        at: Place,
    ) -> Result<Bound> {
        let ty = self.row_type(&relation)?;
        let mut list = Vec::with_capacity(relation.columns.len());
        for column in relation.columns {
            self.note_reference(depth, &column.expr, at);
            self.note_read(column.source);
            list.push(column.expr);
        }
        if relation.whole == Whole::Value {
            let value = list.pop().ok_or_else(|| Error::internal("a function without value"))?;
            return Ok(Bound::new(value, at));
        }
        let absent = match relation.whole {
            Whole::OptionalRow => Expr::and(list.iter().cloned().map(Expr::is_null).collect()),
            _ => Expr::boolean(false),
        };
        let row = Expr::call(Function::RecordMake, list, ty);
        if relation.whole != Whole::OptionalRow {
            return Ok(Bound::new(row, at));
        }
        let branches = vec![(absent, Expr::null(ty))];
        let kind = ExprKind::Case { branches, otherwise: Box::new(row) };
        Ok(Bound::new(Expr { kind, ty }, at))
    }

    /// The type of rows of `relation`: that of a table, unless its columns have other names.
    fn row_type(&self, relation: &ScopeRelation) -> Result<DataType> {
        let field = |column: &super::scope::ScopeColumn| RecordField {
            name: column.name.clone(),
            ty: column.expr.ty,
        };
        let fields: Vec<RecordField> = relation.columns.iter().map(field).collect();
        if let Some(table) = &relation.table
            && table.columns().len() == fields.len()
            && table.columns().iter().zip(&fields).all(|(def, field)| def.name == field.name)
        {
            return self.table_row_type(table.name(), fields);
        }
        RecordType::new(fields).map(DataType::Record)
    }

    fn table_row_type(&self, key: &str, fields: Vec<RecordField>) -> Result<DataType> {
        let number = self.catalog.row_type(key);
        let name = crate::statement::RelationName::name_of_key(key);
        RecordType::of_relation(name, number, fields).map(DataType::Record)
    }

    /// The type of rows of the relation that a type is called after; None where there is none.
    pub(super) fn type_of_relation(&mut self, ty: &ast::DataType) -> Result<Option<DataType>> {
        let ast::DataType::Custom(name, modifiers) = ty else { return Ok(None) };
        let is_known = super::types::data_type(ty, None).is_ok();
        if !modifiers.is_empty() || is_known || self.user_type(name)?.is_some() {
            return Ok(None);
        }
        let written = self.written_name(name)?;
        let full = self.found_at(written, object_at(name));
        let fields = match self.catalog.relation(full.schema.as_deref(), &full.name) {
            Some(Relation::Table(table)) => {
                let field = |def: &crate::catalog::ColumnDef| RecordField {
                    name: def.name.clone(),
                    ty: def.ty,
                };
                table.columns().iter().map(field).collect()
            }
            Some(Relation::View { .. } | Relation::StaleWide { .. }) => {
                let (_, scope) = self.bind_relation(name, None)?;
                let field = |column: super::scope::ScopeColumn| RecordField {
                    name: column.name,
                    ty: column.expr.ty,
                };
                scope.columns.into_iter().map(field).collect()
            }
            Some(Relation::Failed(error)) => return Err(error),
            None => return Ok(None),
        };
        self.table_row_type(&full.key(), fields).map(Some)
    }

    /// `(record).name`.
    pub(super) fn named_field(&mut self, record: Bound, name: &ast::Ident) -> Result<Bound> {
        let (field, at) = (folded(name), record.at.or(ident_at(name)));
        let record = self.retyped(record);
        let DataType::Record(ty) = record.ty() else {
            let message = format!(
                "column notation .{field} applied to type {}, which is not a composite type",
                record.ty().name()
            );
            return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
        };
        match ty.field(&field) {
            Some((ordinal, ty)) => Ok(Bound::new(field_of(&record.expr, ordinal, ty), at)),
            None => {
                if let Some(bound) = self.function_of_row(record, name)? {
                    return Ok(bound);
                }
                let message = match ty.number() {
                    Some(_) => {
                        format!("column \"{field}\" not found in data type {}", ty.name())
                    }
                    None => format!("could not identify column \"{field}\" in record data type"),
                };
                fail(SqlState::UNDEFINED_COLUMN, message, at)
            }
        }
    }

    /// `(record).*` in a select list.
    pub(super) fn expanded(&mut self, record: &Ast) -> Result<Vec<Target>> {
        let bound = self.bind_expr(record)?;
        let record = self.retyped(bound);
        let DataType::Record(ty) = record.ty() else {
            let message = format!("type {} is not composite", record.ty().name());
            return fail(SqlState::WRONG_OBJECT_TYPE, message, record.at);
        };
        let target = |(ordinal, field): (usize, &RecordField)| Target {
            name: field.name.clone(),
            bound: Bound::new(field_of(&record.expr, ordinal, field.ty), record.at),
        };
        Ok(ty.fields().iter().enumerate().map(target).collect())
    }

    /// `left op right` of two records; None when one is none.
    ///
    /// # Errors
    /// 42804 for fields of different types.
    pub(super) fn compare_records(
        &mut self,
        op: CompareOp,
        left: &Bound,
        right: &Bound,
    ) -> Result<Option<Expr>> {
        let (a, b) = (left.ty(), right.ty());
        let (DataType::Record(x), DataType::Record(y)) = (a, b) else { return Ok(None) };
        let at = super::first(left.at, || right.at);
        if x.fields().len() != y.fields().len() {
            let message = "cannot compare record types with different numbers of columns";
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        }
        for (number, (x, y)) in x.fields().iter().zip(y.fields()).enumerate() {
            if x.ty.name() != y.ty.name() && !matches!((x.ty, y.ty), (R(_), R(_))) {
                let message = format!(
                    "cannot compare dissimilar column types {} and {} at record column {}",
                    x.ty.name(),
                    y.ty.name(),
                    number + 1
                );
                return fail(SqlState::DATATYPE_MISMATCH, message, at);
            }
        }
        let Some(ty) = super::types::comparison_type(self.digits, a, b) else {
            return Err(super::unmatched::no_operator("=", a, b, at));
        };
        let as_common = |bound: &Bound| {
            let same = super::types::interchangeable(bound.ty(), ty);
            let expr = bound.expr.clone();
            let expr = if same { expr } else { self.cast(expr, ty) };
            super::comparable::comparable(expr, super::comparable::ComparedFor::Equality, at)
        };
        Ok(Some(Expr::compare(op, as_common(left)?, as_common(right)?)))
    }

    /// The test whether `record`, a record, is NULL, or with `negated` whether it has no NULL.
    pub(super) fn record_is_null(&mut self, record: &Bound, ty: RecordType, negated: bool) -> Expr {
        let mut terms = Vec::with_capacity(ty.fields().len());
        for (ordinal, field) in ty.fields().iter().enumerate() {
            let test = field_of(&record.expr, ordinal, field.ty).is_null();
            terms.push(if negated { test.negated() } else { test });
        }
        Expr::and(terms)
    }
}

/// A record of values with names.
pub(super) fn record(fields: Vec<(String, Expr)>) -> Result<Expr> {
    let types = fields.iter().map(|(name, expr)| RecordField { name: name.clone(), ty: expr.ty });
    let ty = DataType::Record(RecordType::new(types.collect())?);
    let list = fields.into_iter().map(|(_, expr)| expr).collect();
    Ok(Expr::call(Function::RecordMake, list, ty))
}

/// Field `ordinal`, of type `ty`, of a record.
pub(super) fn field_of(record: &Expr, ordinal: usize, ty: DataType) -> Expr {
    match &record.kind {
        ExprKind::Call(Function::RecordMake, list) if ordinal < list.len() => {
            let mut field = list[ordinal].clone();
            field.ty = ty;
            field
        }
        // The columns of a row that an outer join did not find are NULL.
        ExprKind::Case { branches, otherwise } if is_optional_row(branches, otherwise) => {
            field_of(otherwise, ordinal, ty)
        }
        _ => {
            // No record has so many fields.
            let number = u32::try_from(ordinal).unwrap_or(u32::MAX);
            Expr::call(Function::RecordField(number), vec![record.clone()], ty)
        }
    }
}

/// True for a CASE that is the row of a relation that may be missing ([`Binder::whole_row`]).
fn is_optional_row(branches: &[(Expr, Expr)], otherwise: &Expr) -> bool {
    let ExprKind::Call(Function::RecordMake, list) = &otherwise.kind else { return false };
    let absent = Expr::and(list.iter().cloned().map(Expr::is_null).collect());
    matches!(branches, [(test, value)] if *test == absent && *value == Expr::null(otherwise.ty))
}

/// Something that is NULL where `record` is, for those who count only that.
pub(super) fn presence(record: Expr) -> Expr {
    match record.kind {
        ExprKind::Call(Function::RecordMake, _) => Expr::boolean(true),
        ExprKind::Case { branches, otherwise } if is_optional_row(&branches, &otherwise) => {
            let ty = DataType::Boolean;
            let branches = branches.into_iter().map(|(test, _)| (test, Expr::null(ty))).collect();
            let kind = ExprKind::Case { branches, otherwise: Box::new(Expr::boolean(true)) };
            Expr { kind, ty }
        }
        kind => Expr { kind, ty: record.ty },
    }
}

/// The record of `(record).*`, which the parser marks: see `parse::prepare`.
pub(super) fn expanded_record(expr: &Ast) -> Option<Ast> {
    let Ast::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let (last, rest) = access_chain.split_last()?;
    let ast::AccessExpr::Dot(Ast::Identifier(star)) = last else { return None };
    if star.value != "*" {
        return None;
    }
    Some(match rest {
        [] => (**root).clone(),
        rest => Ast::CompoundFieldAccess { root: root.clone(), access_chain: rest.to_vec() },
    })
}

/// 42P16 for a column of a record in a relation that is made.
pub(super) fn refuse_record_column(name: &str, ty: DataType, at: Place) -> Result<()> {
    let record = match ty {
        DataType::Record(record) => record,
        DataType::Array(types::ElementType::Record(record)) => record,
        _ => return Ok(()),
    };
    if record.key().is_some() {
        return Ok(());
    }
    if record.number().is_some() {
        return super::unsupported("a column of the row type of a relation", at);
    }
    let message = format!("column \"{name}\" has pseudo-type {}", ty.name());
    Err(place(Error::new(SqlState::INVALID_DEFINITION, message), at))
}
