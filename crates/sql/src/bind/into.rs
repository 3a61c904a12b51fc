//! SELECT ... INTO, which is CREATE TABLE AS.

use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{self, SetExpr};
use types::Result;

use super::{Binder, unsupported};
use crate::statement::Statement;

fn take_into(body: &mut SetExpr) -> Option<ast::SelectInto> {
    match body {
        SetExpr::Select(select) => select.into.take(),
        SetExpr::SetOperation { left, .. } => take_into(left),
        _ => None,
    }
}

impl Binder<'_> {
    /// A query with INTO, as the statement that makes the table.
    pub(super) fn bind_into(&mut self, query: &ast::Query) -> Result<Statement> {
        let mut query = query.clone();
        let unknown = "this form of SELECT INTO";
        let Some(into) = take_into(&mut query.body) else { return unsupported(unknown, None) };
        let name = match into.targets.as_slice() {
            [ast::Expr::Identifier(ident)] => ast::ObjectName::from(vec![ident.clone()]),
            [ast::Expr::CompoundIdentifier(parts)] => ast::ObjectName::from(parts.clone()),
            _ => return unsupported(unknown, None),
        };
        let create = CreateTableBuilder::new(name).temporary(into.temporary);
        self.bind_create_table(&create.query(Some(Box::new(query))).build())
    }
}
