//! CREATE INDEX.

use sqlparser::ast;
use types::{Result, SqlState};

use super::constraint::object_name;
use super::name::{expr_at, folded, ident_at, object_at, object_parts};
use super::{Binder, fail, unsupported};
use crate::algebra::{Direction, NullsOrder};
use crate::catalog::{IndexColumn, IndexKind, TableRef, Uniqueness};
use crate::statement::{CreateIndex, IfExists, Naming, Statement};

impl Binder<'_> {
    pub(super) fn bind_create_index(&mut self, create: &ast::CreateIndex) -> Result<Statement> {
        let at = object_at(&create.table_name);
        let table = self.table_named(&create.table_name)?;
        if let Some(predicate) = &create.predicate {
            return unsupported("a partial index", expr_at(predicate));
        }
        if !create.include.is_empty() {
            return unsupported("INCLUDE in an index", at);
        }
        if !create.index_options.is_empty() || !create.alter_options.is_empty() {
            return unsupported("an option of CREATE INDEX", at);
        }
        let kind = match &create.using {
            None | Some(ast::IndexType::BTree) => IndexKind::Ordered,
            Some(ast::IndexType::Hash) => IndexKind::Hash,
            Some(other) => {
                let method = other.to_string().to_lowercase();
                return unsupported(format!("access method \"{method}\""), at);
            }
        };
        let unique = match (create.unique, create.nulls_distinct) {
            (false, _) => Uniqueness::No,
            (true, Some(false)) => Uniqueness::NullsNotDistinct,
            (true, _) => Uniqueness::Distinct,
        };
        let mut columns = Vec::with_capacity(create.columns.len());
        for column in &create.columns {
            columns.push(index_column(&table, column, kind)?);
        }
        let (name, naming) = match &create.name {
            Some(name) => (object_parts(name)?.pop().unwrap_or_default(), Naming::Given),
            None => {
                let name = |column: &IndexColumn| {
                    table.columns().get(column.ordinal).map_or("", |def| def.name.as_str())
                };
                let names: Vec<&str> = columns.iter().map(name).collect();
                (object_name(table.name(), &names, "idx"), Naming::Chosen)
            }
        };
        let if_exists = if create.if_not_exists { IfExists::Skip } else { IfExists::Fail };
        Ok(Statement::CreateIndex(Box::new(CreateIndex {
            name,
            naming,
            table,
            columns,
            unique,
            kind,
            if_exists,
        })))
    }
}

fn index_column(
    table: &TableRef,
    column: &ast::IndexColumn,
    kind: IndexKind,
) -> Result<IndexColumn> {
    let expr = &column.column.expr;
    let ast::Expr::Identifier(ident) = expr else {
        return unsupported("an index over an expression", expr_at(expr));
    };
    let (name, at) = (folded(ident), ident_at(ident));
    if column.operator_class.is_some() {
        return unsupported("an operator class", at);
    }
    let Some(ordinal) = table.columns().iter().position(|known| known.name == name) else {
        return fail(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"), at);
    };
    let options = &column.column.options;
    if kind == IndexKind::Hash && (options.sort.is_some() || options.nulls_first.is_some()) {
        let what = match options.sort {
            Some(_) => "ASC/DESC",
            None => "NULLS FIRST/LAST",
        };
        let message = format!("access method \"hash\" does not support {what} options");
        return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
    }
    let direction = match &options.sort {
        None | Some(ast::OrderBySort::Asc) => Direction::Ascending,
        Some(ast::OrderBySort::Desc) => Direction::Descending,
        Some(_) => return unsupported("USING in an index", at),
    };
    let nulls = match (options.nulls_first, direction) {
        (Some(true), _) | (None, Direction::Descending) => NullsOrder::First,
        (Some(false), _) | (None, Direction::Ascending) => NullsOrder::Last,
    };
    Ok(IndexColumn { ordinal, direction, nulls })
}
