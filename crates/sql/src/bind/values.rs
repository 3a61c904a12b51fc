//! VALUES and TABLE.

use std::collections::HashSet;

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::coerce::literals_type;
use super::name::object_at;
use super::scope::{Clause, Level};
use super::stars::StarOptions;
use super::types::Context;
use super::{Binder, Bound, BoundColumn, BoundQuery, Unknowns, fail, unsupported};
use crate::algebra::{Expr, ExprKind, Plan};

impl Binder<'_> {
    /// VALUES lists as a query with columns `column1`, `column2` ...
    pub(super) fn bind_values(
        &mut self,
        values: &ast::Values,
        unknowns: Unknowns,
    ) -> Result<BoundQuery> {
        let plain = self.without_stars(values)?;
        let values = plain.as_ref().unwrap_or(values);
        self.levels.push(Level::new(Clause::Values));
        let mut rows = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            let bound: Result<Vec<Bound>> =
                row.content.iter().map(|expr| self.bind_expr(expr)).collect();
            rows.push(bound?);
        }
        self.levels.pop();
        self.values_query(rows, unknowns)
    }

    /// VALUES lists with the names of all columns in the place of `t.*`; None where there is none.
    pub(super) fn without_stars(&mut self, values: &ast::Values) -> Result<Option<ast::Values>> {
        let is_star = |expr: &ast::Expr| matches!(expr, ast::Expr::QualifiedWildcard(..));
        if !values.rows.iter().any(|row| row.content.iter().any(is_star)) {
            return Ok(None);
        }
        if self.stars.is_some() {
            return unsupported("VALUES with all columns of a relation in a view", None);
        }
        let mut plain = values.clone();
        for row in &mut plain.rows {
            let written = std::mem::take(&mut row.content);
            for expr in written {
                let ast::Expr::QualifiedWildcard(name, _) = &expr else {
                    row.content.push(expr);
                    continue;
                };
                let of: Vec<ast::Ident> =
                    name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
                let targets = self.columns_of(name, &StarOptions::default())?;
                let mut names = HashSet::new();
                if !targets.iter().all(|target| names.insert(target.name.clone())) {
                    let what = "VALUES with all columns of a relation that has two of one name";
                    return unsupported(what, object_at(name));
                }
                for target in targets {
                    let mut parts = of.clone();
                    parts.push(ast::Ident::with_quote('"', target.name));
                    row.content.push(ast::Expr::CompoundIdentifier(parts));
                }
            }
        }
        Ok(Some(plain))
    }

    /// Bound rows as a query: every column gets the common type of its values.
    pub(super) fn values_query(
        &mut self,
        rows: Vec<Vec<Bound>>,
        unknowns: Unknowns,
    ) -> Result<BoundQuery> {
        let width = rows.first().map_or(0, Vec::len);
        if let Some(row) = rows.iter().find(|row| row.len() != width) {
            let at = row.first().and_then(|bound| bound.at);
            return fail(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length", at);
        }
        let mut types = Vec::with_capacity(width);
        for ordinal in 0..width {
            types.push(self.values_type(&rows, ordinal, unknowns)?);
        }
        let mut places = vec![None; width];
        let mut output = Vec::with_capacity(rows.len());
        for row in rows {
            let mut exprs: Vec<Expr> = Vec::with_capacity(width);
            for ((bound, ty), place) in row.into_iter().zip(&types).zip(&mut places) {
                *place = place.or(bound.at);
                exprs.push(self.coerce(bound, *ty, Context::Implicit)?);
            }
            output.push(exprs);
        }
        let columns: Vec<_> = types.iter().map(|ty| (self.fresh(), *ty)).collect();
        if self.has_collations {
            for (ordinal, (id, _)) in columns.iter().enumerate() {
                let values = output.iter().filter_map(|row: &Vec<Expr>| row.get(ordinal));
                let values: Vec<Expr> = values.cloned().collect();
                self.note_made_of(*id, &values)?;
            }
        }
        let named = columns.iter().zip(places).enumerate().map(|(at_idx, ((id, ty), at))| {
            BoundColumn { name: format!("column{}", at_idx + 1), ty: *ty, id: *id, at }
        });
        let named = named.collect();
        Ok(BoundQuery { plan: Plan::Values { columns, rows: output }, columns: named })
    }

    fn values_type(
        &self,
        rows: &[Vec<Bound>],
        ordinal: usize,
        unknowns: Unknowns,
    ) -> Result<DataType> {
        let column: Vec<Bound> = rows
            .iter()
            .filter_map(|row| row.get(ordinal))
            .map(|bound| {
                // Only type, place and being a literal matter here; text need not be copied.
                let kind = match &bound.expr.kind {
                    ExprKind::Literal(_) => ExprKind::Literal(types::Value::Null),
                    ExprKind::Parameter(number) => ExprKind::Parameter(*number),
                    _ => ExprKind::And(Vec::new()),
                };
                self.retyped(Bound::new(Expr { kind, ty: bound.ty() }, bound.at))
            })
            .collect();
        if unknowns == Unknowns::Keep && column.iter().all(Bound::is_unknown) {
            return Ok(DataType::Unknown);
        }
        let ty = self.united_type(&column, "VALUES")?;
        Ok(literals_type(ty, rows.iter().filter_map(|row| row.get(ordinal))))
    }

    /// `TABLE name`.
    pub(super) fn bind_table_command(&mut self, table: &ast::Table) -> Result<BoundQuery> {
        let parts = table.schema_name.iter().chain(&table.table_name);
        let idents: Vec<ast::Ident> = parts.map(|part| ast::Ident::new(part.clone())).collect();
        let name = ast::ObjectName::from(idents);
        let (plan, scope) = self.bind_relation(&name, None)?;
        let columns = scope.columns.into_iter().filter_map(|column| {
            let id = column.expr.as_column()?;
            Some(BoundColumn { name: column.name, ty: column.expr.ty, id, at: None })
        });
        Ok(BoundQuery { plan, columns: columns.collect() })
    }
}
