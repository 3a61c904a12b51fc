//! INSERT: rows brought to the columns of the table.

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::name::{folded, object_at};
use super::scope::{Clause, Level};
use super::types::{Context, can_cast};
use super::{Binder, Bound, BoundColumn, BoundQuery, Unknowns, fail, place, unsupported};
use crate::algebra::{Expr, ExprKind, Place, Plan};
use crate::catalog::{ColumnDef, TableRef};
use crate::statement::Insert;

impl Binder<'_> {
    pub(super) fn bind_insert(&mut self, insert: &ast::Insert) -> Result<Insert> {
        let ast::TableObject::TableName(name) = &insert.table else {
            return unsupported("INSERT into a function", None);
        };
        let at = object_at(name);
        if insert.on.is_some() {
            return unsupported("ON CONFLICT", at);
        }
        if insert.returning.is_some() {
            return unsupported("RETURNING", at);
        }
        if insert.overwrite || insert.replace_into || insert.or.is_some() || insert.ignore {
            return unsupported("this form of INSERT", at);
        }
        let table = self.table_named(name)?;
        let ordinals = self.target_ordinals(&table, &insert.columns)?;
        let source = match insert.source.as_deref() {
            None => BoundQuery { plan: Plan::one_row(), columns: Vec::new() },
            Some(query) => match plain_values(query) {
                Some(values) => self.bind_value_rows(&table, &ordinals, values)?,
                None => self.bind_query(query, Unknowns::Keep)?,
            },
        };
        let implicit = insert.columns.is_empty();
        let named = match source.columns.len().cmp(&ordinals.len()) {
            std::cmp::Ordering::Equal => ordinals,
            std::cmp::Ordering::Less if implicit || insert.source.is_none() => {
                ordinals.into_iter().take(source.columns.len()).collect()
            }
            std::cmp::Ordering::Less => {
                let message = "INSERT has more target columns than expressions";
                return fail(SqlState::SYNTAX_ERROR, message, at);
            }
            std::cmp::Ordering::Greater => {
                let message = "INSERT has more expressions than target columns";
                let extra = source.columns.get(ordinals.len()).and_then(|column| column.at);
                return fail(SqlState::SYNTAX_ERROR, message, extra.or(at));
            }
        };
        let source = self.assigned(&table, &named, source)?;
        let source = self.with_defaults(&table, &named, source)?;
        let (plan, columns) = self.exact(source);
        let source = self.finish(BoundQuery { plan, columns })?;
        Ok(Insert { table, source, on_conflict: None, returning: None })
    }

    fn target_ordinals(&self, table: &TableRef, columns: &[ast::ObjectName]) -> Result<Vec<usize>> {
        let mut idents = Vec::with_capacity(columns.len());
        for name in columns {
            match name.0.as_slice() {
                [ast::ObjectNamePart::Identifier(ident)] => idents.push(ident.clone()),
                _ => return unsupported("a qualified column in INSERT", object_at(name)),
            }
        }
        self.column_ordinals(table, &idents)
    }

    /// VALUES lists of an INSERT: DEFAULT may stand in them, and literals take the columns' types.
    fn bind_value_rows(
        &mut self,
        table: &TableRef,
        ordinals: &[usize],
        values: &ast::Values,
    ) -> Result<BoundQuery> {
        self.levels.push(Level::new(Clause::Values));
        let mut rows = Vec::with_capacity(values.rows.len());
        let width = values.rows.first().map_or(0, |row| row.content.len());
        for row in &values.rows {
            if row.content.len() != width {
                let at = row.content.first().and_then(super::name::expr_at);
                let message = "VALUES lists must all be the same length";
                return fail(SqlState::SYNTAX_ERROR, message, at);
            }
            let mut bound = Vec::with_capacity(width);
            for (position, expr) in row.content.iter().enumerate() {
                let column =
                    ordinals.get(position).and_then(|ordinal| table.columns().get(*ordinal));
                bound.push(match column {
                    None => self.bind_expr(expr)?,
                    Some(column) if is_default(expr) => {
                        Bound::new(self.column_default(column)?, None)
                    }
                    Some(column) => {
                        let bound = self.bind_expr(expr)?;
                        let at = bound.at;
                        Bound::new(self.assign(bound, column)?, at)
                    }
                });
            }
            rows.push(bound);
        }
        self.levels.pop();
        self.values_query(rows, Unknowns::Keep)
    }

    /// `bound` as a value for `column`, by the rules of assignment.
    fn assign(&mut self, bound: Bound, column: &ColumnDef) -> Result<Expr> {
        let bound = self.retyped(bound);
        if !can_cast(bound.ty(), column.ty, Context::Assignment) {
            let error = types::Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "column \"{}\" is of type {} but expression is of type {}",
                    column.name,
                    column.ty.name(),
                    bound.ty().name()
                ),
            )
            .with_hint("You will need to rewrite or cast the expression.");
            return Err(place(error, bound.at));
        }
        self.coerce(bound, column.ty, Context::Assignment)
    }

    /// The source with each column of its target's type.
    fn assigned(
        &mut self,
        table: &TableRef,
        named: &[usize],
        source: BoundQuery,
    ) -> Result<BoundQuery> {
        let mut types = Vec::with_capacity(named.len());
        for (ordinal, source) in named.iter().zip(&source.columns) {
            let Some(column) = table.columns().get(*ordinal) else {
                return Err(types::Error::internal("INSERT column out of range"));
            };
            // Checked here for the message; the cast itself follows for all columns at once.
            let probe = Expr { kind: ExprKind::Column(source.id), ty: source.ty };
            if source.ty != DataType::Unknown {
                self.assign(Bound::new(probe, source.at), column)?;
            }
            types.push(column.ty);
        }
        self.coerce_columns(source, &types, Context::Assignment)
    }

    /// The source with all columns of the table, in order: those not named get their default.
    fn with_defaults(
        &mut self,
        table: &TableRef,
        named: &[usize],
        source: BoundQuery,
    ) -> Result<BoundQuery> {
        let mut columns: Vec<BoundColumn> = Vec::with_capacity(table.columns().len());
        let mut added = Vec::new();
        for (ordinal, def) in table.columns().iter().enumerate() {
            let given = named.iter().position(|known| *known == ordinal);
            let column = match given.and_then(|position| source.columns.get(position)) {
                Some(column) => BoundColumn { name: def.name.clone(), ..column.clone() },
                None => {
                    let id = self.fresh();
                    added.push((id, self.column_default(def)?));
                    BoundColumn { name: def.name.clone(), ty: def.ty, id, at: None }
                }
            };
            columns.push(column);
        }
        if added.is_empty() {
            return Ok(BoundQuery { plan: source.plan, columns });
        }
        let (input, mut project) = match source.plan {
            Plan::Project { input, columns } => (input, columns),
            plan => {
                let pass = plan.output_types().into_iter();
                let pass = pass.map(|(id, ty)| (id, Expr::column(id, ty))).collect();
                (Box::new(plan), pass)
            }
        };
        project.extend(added);
        Ok(BoundQuery { plan: Plan::Project { input, columns: project }, columns })
    }

    /// The default of a column, bound; NULL when it has none.
    fn column_default(&mut self, column: &ColumnDef) -> Result<Expr> {
        match &column.default {
            None => Ok(Expr::null(column.ty)),
            Some(text) => {
                let expr = crate::parse::parse_expr(text)?;
                self.default_value(&expr, column.ty, &column.name)
            }
        }
    }

    /// A DEFAULT expression as a value of its column; it may name no column.
    pub(super) fn default_value(
        &mut self,
        expr: &ast::Expr,
        ty: DataType,
        name: &str,
    ) -> Result<Expr> {
        let levels = std::mem::take(&mut self.levels);
        self.levels.push(Level::new(Clause::Default));
        let bound = self.bind_expr(expr);
        self.levels = levels;
        let bound = bound.map_err(|error| match error.state() {
            SqlState::UNDEFINED_COLUMN => {
                let message = "cannot use column reference in DEFAULT expression";
                let moved = types::Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                place(moved, error.position())
            }
            _ => error,
        })?;
        if contains_subquery(&bound.expr) {
            let message = "cannot use subquery in DEFAULT expression";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, bound.at);
        }
        let at: Place = bound.at;
        if !can_cast(bound.ty(), ty, Context::Assignment) {
            let message = format!(
                "column \"{name}\" is of type {} but default expression is of type {}",
                ty.name(),
                bound.ty().name()
            );
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        }
        self.coerce(bound, ty, Context::Assignment)
    }
}

/// The VALUES lists of a query that is nothing else.
fn plain_values(query: &ast::Query) -> Option<&ast::Values> {
    let plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match &*query.body {
        ast::SetExpr::Values(values) if plain => Some(values),
        _ => None,
    }
}

fn is_default(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Identifier(ident) => ident.quote_style.is_none() && folded(ident) == "default",
        _ => false,
    }
}

pub(super) fn contains_subquery(expr: &Expr) -> bool {
    let mut found = expr.subquery().is_some();
    expr.each_child(&mut |child| found |= contains_subquery(child));
    found
}
