//! Row values: comparisons of `(a, b)` and `ROW(a, b)`.

use sqlparser::ast::{self, BinaryOperator as Op, Expr as Ast};
use types::{CompareOp, DataType, Result, SqlState};

use super::name::expr_at;
use super::operators::compare_op;
use super::system::filled;
use super::types::{Category, category};
use super::unmatched::{no_function, no_row_operator};
use super::{Binder, Bound, fail};
use crate::algebra::Expr;

/// Part of a row value as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    /// A value.
    Value(&'a Ast),
    /// `t.*`: all columns of a relation.
    All(&'a ast::ObjectName),
}

impl<'a> Field<'a> {
    fn of(expr: &'a Ast) -> Self {
        match expr {
            Ast::QualifiedWildcard(name, _) => Self::All(name),
            expr => Self::Value(expr),
        }
    }
}

/// The fields of a row value; None for other expressions.
pub(super) fn row_fields(expr: &Ast) -> Option<Vec<Field<'_>>> {
    match expr {
        Ast::Tuple(fields) => Some(fields.iter().map(Field::of).collect()),
        Ast::Nested(inner) => row_fields(inner),
        Ast::Function(function) => match function.name.0.as_slice() {
            [ast::ObjectNamePart::Identifier(ident)]
                if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("row") =>
            {
                let ast::FunctionArguments::List(list) = &function.args else {
                    return None;
                };
                list.args.iter().map(argument).collect()
            }
            _ => None,
        },
        _ => None,
    }
}

fn argument(arg: &ast::FunctionArg) -> Option<Field<'_>> {
    use ast::FunctionArgExpr as A;
    match arg {
        ast::FunctionArg::Unnamed(A::Expr(expr)) => Some(Field::of(expr)),
        ast::FunctionArg::Unnamed(A::QualifiedWildcard(name)) => Some(Field::All(name)),
        _ => None,
    }
}

/// The fields of a row value that is written of values alone.
pub(super) fn plain_fields(expr: &Ast) -> Option<Vec<&Ast>> {
    let value = |field| match field {
        Field::Value(expr) => Some(expr),
        Field::All(_) => None,
    };
    row_fields(expr)?.into_iter().map(value).collect()
}

/// True for a row value.
pub(super) fn is_row(expr: &Ast) -> bool {
    row_fields(expr).is_some()
}

impl Binder<'_> {
    /// `(a, b) op (c, d)` or `(a, b) op (SELECT c, d ...)`.
    pub(super) fn bind_row_comparison(
        &mut self,
        left: &Ast,
        op: &Op,
        right: &Ast,
    ) -> Result<Bound> {
        let at = expr_at(left);
        if *op == Op::Overlaps {
            return self.bind_overlaps(left, right);
        }
        let Some(compare) = compare_op(op) else {
            let (left, right) = (self.bind_expr(left)?, self.bind_expr(right)?);
            return self.bind_binary(op, left, right);
        };
        let (left, right) = match (row_fields(left), row_fields(right)) {
            (Some(left), Some(right)) => (self.bind_fields(&left)?, self.bind_fields(&right)?),
            (Some(left), None) => {
                let left = self.bind_fields(&left)?;
                match self.row_or_record(right, left.len())? {
                    Ok(right) => (left, right),
                    Err(record) => {
                        let left = self.record_of(left, at)?;
                        let expr = self.row_with_record(compare, left, record)?;
                        return Ok(Bound::new(expr, at));
                    }
                }
            }
            (None, Some(right)) => {
                let right = self.bind_fields(&right)?;
                match self.row_or_record(left, right.len())? {
                    Ok(left) => (left, right),
                    Err(record) => {
                        let right = self.record_of(right, at)?;
                        let expr = self.row_with_record(compare, record, right)?;
                        return Ok(Bound::new(expr, at));
                    }
                }
            }
            (None, None) => return fail(SqlState::SYNTAX_ERROR, "row value expected", at),
        };
        let expr = self.compare_rows(compare, left, right)?;
        Ok(Bound::new(expr, at))
    }

    /// A row with a value that should be a record.
    fn row_with_record(&mut self, op: CompareOp, left: Bound, right: Bound) -> Result<Expr> {
        for other in [&left, &right] {
            if !other.is_unknown() && !matches!(other.ty(), DataType::Record(_)) {
                return Err(no_row_operator(op, other.ty(), other.at));
            }
        }
        self.compare(op, left, right)
    }

    /// The fields of a row sub-query, each as a scalar sub-query of its own; as an error any other
    /// value, a record perhaps.
    fn row_or_record(&mut self, expr: &Ast, count: usize) -> Result<Result<Vec<Bound>, Bound>> {
        let mut inner = expr;
        while let Ast::Nested(nested) = inner {
            inner = nested;
        }
        let Ast::Subquery(query) = inner else {
            return self.bind_expr(expr).map(Err);
        };
        if count != 1
            && let Ok(bound) = self.bind_scalar_subquery(query)
            && matches!(bound.ty(), DataType::Record(_))
        {
            return Ok(Err(bound));
        }
        let fields = (0..count).map(|field| self.bind_subquery_field(query, field, count));
        fields.collect::<Result<Vec<_>>>().map(Ok)
    }

    /// Field-wise equality, or the lexicographic order of SQL rows.
    pub(super) fn compare_rows(
        &mut self,
        op: CompareOp,
        left: Vec<Bound>,
        right: Vec<Bound>,
    ) -> Result<Expr> {
        if left.len() != right.len() {
            let at = left.first().and_then(|bound| bound.at);
            let message = "unequal number of entries in row expressions";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        let pairs: Vec<(Bound, Bound)> = left.into_iter().zip(right).collect();
        self.refuse_rows_of_shapes(op, &pairs)?;
        let each = |binder: &mut Self, op: CompareOp| -> Result<Vec<Expr>> {
            let compare = |(a, b): &(Bound, Bound)| {
                let (a, b) = (binder.refreshed(a), binder.refreshed(b));
                binder.compare(op, a, b)
            };
            pairs.iter().map(compare).collect()
        };
        let strict = match op {
            CompareOp::Equal | CompareOp::NotDistinct => return Ok(Expr::and(each(self, op)?)),
            CompareOp::NotEqual | CompareOp::Distinct => return Ok(Expr::or(each(self, op)?)),
            CompareOp::Less | CompareOp::LessEqual => CompareOp::Less,
            CompareOp::Greater | CompareOp::GreaterEqual => CompareOp::Greater,
        };
        // (a, b) < (c, d) is a < c OR (a = c AND b < d); the last field decides by `op` itself.
        let equal = each(self, CompareOp::Equal)?;
        let mut less = each(self, strict)?;
        if let (Some(last), Some((a, b))) = (less.last_mut(), pairs.last()) {
            let (a, b) = (self.refreshed(a), self.refreshed(b));
            *last = self.compare(op, a, b)?;
        }
        let term = |(count, less): (usize, Expr)| {
            let prefix = equal.iter().take(count).cloned();
            Expr::and(prefix.chain(std::iter::once(less)).collect())
        };
        Ok(Expr::or(less.into_iter().enumerate().map(term).collect()))
    }

    /// `(a, b) OVERLAPS (c, d)`, where the second of a pair is an end or a length.
    fn bind_overlaps(&mut self, left: &Ast, right: &Ast) -> Result<Bound> {
        let at = expr_at(left);
        let mut parts = Vec::with_capacity(4);
        for side in [left, right] {
            let Some([start, end]) = plain_fields(side).and_then(|f| <[&Ast; 2]>::try_from(f).ok())
            else {
                let message = "wrong number of parameters on a side of OVERLAPS expression";
                return fail(SqlState::SYNTAX_ERROR, message, at);
            };
            let bound = self.bind_expr(end)?;
            let end = match self.retyped(bound).ty() {
                DataType::Interval(_) => filled("$1 + $2", &[start, end])?,
                _ => end.clone(),
            };
            parts.extend([start.clone(), end]);
        }
        let first = self.bind_expr(&parts[0])?;
        if category(self.retyped(first).ty()) == Category::Number {
            let message = "function pg_catalog.overlaps of these types does not exist";
            return Err(no_function(message.to_owned(), at));
        }
        self.bind_expr(&filled(OVERLAPS, &parts.iter().collect::<Vec<_>>())?)
    }
}

/// True when `$1` to `$2` and `$3` to `$4`, each in either order, have a moment in common; an end
/// is not a part of what it ends, but for one that is the start.
const OVERLAPS: &str = "CASE \
    WHEN least($1, $2) > least($3, $4) THEN \
    CASE WHEN $3 IS NOT NULL AND $4 IS NOT NULL AND least($1, $2) < greatest($3, $4) THEN true \
    WHEN $1 IS NULL OR $2 IS NULL OR $3 IS NULL OR $4 IS NULL THEN NULL ELSE false END \
    WHEN least($1, $2) < least($3, $4) THEN \
    CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL AND least($3, $4) < greatest($1, $2) THEN true \
    WHEN $1 IS NULL OR $2 IS NULL OR $3 IS NULL OR $4 IS NULL THEN NULL ELSE false END \
    WHEN $1 IS NULL OR $2 IS NULL OR $3 IS NULL OR $4 IS NULL THEN NULL \
    WHEN least($1, $2) = least($3, $4) THEN true END";
