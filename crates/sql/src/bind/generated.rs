//! Generated columns: what their expressions may be, and what they are over a row.
//!
//! Source of the rules: PostgreSQL 15. As there, what a value is converted to is not looked at: a
//! DATE may become a TEXT by assignment, and not by a cast. What is so converted goes by UTC, where
//! PostgreSQL takes the time zone of whoever writes the row.

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::name::object_parts;
use super::scope::Clause;
use super::types::{Category, Context, can_cast, category};
use super::{Binder, Bound, fail, place};
use crate::algebra::{Expr, ExprKind, ExtensionFunction, Function};
use crate::catalog::{Catalog, ColumnDef, Digits};
use crate::parse::visit::rewrite_expressions;

/// Functions that are told before there is a row, by the session or the database; those that the
/// catalog knows are others.
const TOLD: [&str; 12] = [
    "current_user",
    "session_user",
    "user",
    "current_role",
    "current_database",
    "current_catalog",
    "database",
    "current_schema",
    "pg_backend_pid",
    "version",
    "pg_typeof",
    "concat",
];

/// Binds the expressions of the generated columns of table `table` over a row of it, as
/// [`crate::bind_row_exprs`] does: for each its ordinal, and the expression, of the column's type.
///
/// # Errors
/// Whatever is wrong with an expression; none when it was bound before and the columns are the
/// same.
pub fn bind_generated(
    table: &str,
    columns: &[ColumnDef],
    catalog: &dyn Catalog,
) -> Result<Vec<(usize, Expr)>> {
    let mut exprs = Vec::new();
    for (ordinal, column) in columns.iter().enumerate() {
        if let Some(sql) = &column.generated {
            let tree = crate::parse::parse_expr(sql)?;
            let mut binder = Binder::new(catalog, &[]);
            binder.definition_depth = 1;
            binder.zone.read_definition();
            binder.digits = Digits::All;
            exprs.push((ordinal, binder.generation(&tree, table, columns, ordinal)?));
        }
    }
    Ok(exprs)
}

impl Binder<'_> {
    /// The expression of generated column `ordinal` over a row, whose column `i` is `ColumnId`
    /// `i`.
    ///
    /// # Errors
    /// 42P17 when it is not the same for the same row, or reads another generated column; 42804.
    pub(super) fn generation(
        &mut self,
        expr: &ast::Expr,
        table: &str,
        columns: &[ColumnDef],
        ordinal: usize,
    ) -> Result<Expr> {
        let Some(column) = columns.get(ordinal) else {
            return Err(Error::internal("column out of range"));
        };
        let is_told = self.is_told(expr);
        let bound = self.over_timed_row(Clause::Generated, expr, table, columns)?;
        let at = bound.at;
        if super::insert::contains_subquery(&bound.expr) && !is_told {
            let message = "cannot use subquery in column generation expression";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        let mut other = None;
        bound.expr.each_column(&mut |id| {
            let read = columns.get(id.0 as usize).filter(|read| read.generated.is_some());
            other = other.or(read);
        });
        if let Some(other) = other {
            let message = format!(
                "cannot use generated column \"{}\" in column generation expression",
                other.name
            );
            let error = Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
                .with_detail("A generated column cannot reference another generated column.");
            return Err(place(error, at));
        }
        if is_told || is_mutable(&bound.expr, columns.len()) {
            return fail(
                SqlState::INVALID_OBJECT_DEFINITION,
                "generation expression is not immutable",
                at,
            );
        }
        self.generated_value(bound, column)
    }

    fn generated_value(&mut self, bound: Bound, column: &ColumnDef) -> Result<Expr> {
        let bound = self.retyped(bound);
        if can_cast(bound.ty(), column.ty, Context::Assignment) {
            return self.in_utc(|binder| binder.coerce(bound, column.ty, Context::Assignment));
        }
        let message = format!(
            "column \"{}\" is of type {} but default expression is of type {}",
            column.name,
            column.ty.name(),
            bound.ty().name()
        );
        let error = Error::new(SqlState::DATATYPE_MISMATCH, message)
            .with_hint("You will need to rewrite or cast the expression.");
        Err(place(error, bound.at))
    }

    /// True when `expr` calls a function whose value is known before there is a row.
    pub(super) fn is_told(&self, expr: &ast::Expr) -> bool {
        let mut is_told = false;
        rewrite_expressions(&mut expr.clone(), &mut |inner| {
            let ast::Expr::Function(function) = inner else { return };
            let name = object_parts(&function.name).ok().and_then(|mut parts| parts.pop());
            let count = match &function.args {
                ast::FunctionArguments::List(list) => list.args.len(),
                _ => 0,
            };
            is_told |= name.is_some_and(|name| {
                TOLD.contains(&name.as_str()) || self.catalog.template(&name, count).is_some()
            });
        });
        is_told
    }

    /// The ordinals of the columns that generated column `of` reads; none when it is none.
    pub(super) fn generated_reads(
        &mut self,
        table: &str,
        columns: &[ColumnDef],
        of: usize,
    ) -> Result<Vec<usize>> {
        let mut reads = Vec::new();
        if let Some(sql) = columns.get(of).and_then(|column| column.generated.as_ref()) {
            let expr = crate::parse::parse_expr(sql)?;
            let bound =
                self.in_definition(|binder| binder.generation(&expr, table, columns, of))?;
            bound.each_column(&mut |id| reads.push(id.0 as usize));
        }
        Ok(reads)
    }
}

/// True when the value may be another for the same row: by the time, which is in the columns from
/// `clock` on, the session, its settings, or chance.
pub(super) fn is_mutable(expr: &Expr, clock: usize) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Column(id) => id.0 as usize >= clock,
        ExprKind::Parameter(_) => true,
        ExprKind::Call(function, arguments) => depends(*function, arguments),
        ExprKind::Cast(inner) => depends_on_settings(inner, expr.ty),
        _ => false,
    };
    expr.each_child(&mut |child| found |= is_mutable(child, clock));
    found
}

/// True when a call depends on more than its arguments, as PostgreSQL has it.
fn depends(function: Function, arguments: &[Expr]) -> bool {
    use Function as F;
    let zoned = || arguments.iter().any(|argument| argument.ty.is_timestamptz());
    match function {
        F::CastInZone
        | F::ToChar
        | F::ToDate
        | F::ToNumber
        | F::Concat
        | F::ConcatWs
        | F::Format
        | F::FormatArray
        | F::ArrayToString => true,
        F::ToTimestamp => arguments.len() == 2,
        F::Extract | F::DateTrunc | F::TimestampAdd | F::TimestampSubtract => zoned(),
        F::Extension(ExtensionFunction::Unaccent) => true,
        other => other.is_volatile(),
    }
}

/// True when a cast goes by the session's time zone or the form of its dates.
fn depends_on_settings(from: &Expr, to: DataType) -> bool {
    use DataType as T;
    let is_text = |ty: DataType| category(ty) == Category::Text;
    let in_form = |ty: DataType| {
        matches!(ty, T::Date | T::Timestamp(_) | T::TimestampTz(_) | T::Interval(_) | T::Array(_))
    };
    match (from.ty, to) {
        (T::Unknown, _) => false,
        (T::TimestampTz(_), T::Timestamp(_) | T::Date | T::Time(_)) => true,
        (T::Timestamp(_) | T::Date, T::TimestampTz(_)) => true,
        (from, T::Time(_)) if is_text(from) => true,
        (from, to) => is_text(to) && in_form(from) || is_text(from) && in_form(to),
    }
}
