//! Views whose rows triggers write: INSTEAD OF.
//!
//! ```text
//! INSERT          source: the columns of the view
//! UPDATE, DELETE  source: NULL, values, extras, then the row of the view as it is
//! ```
//! The engine calls the triggers for each row of the source; nothing else is written.

use std::any::Any;
use std::sync::Arc;

use sqlparser::ast;
use types::{DataType, Error, Result};

use super::Binder;
use super::view_target::{Write, WriteKind};
use super::write::Target;
use crate::algebra::{ColumnId, Expr, Plan};
use crate::catalog::{ColumnDef, IndexMeta, KeyDef, TableMeta, TableRef, TriggerEvent, ViewWrites};

/// A view as the target of a statement.
struct ViewRows {
    key: String,
    columns: Vec<ColumnDef>,
}

impl TableMeta for ViewRows {
    fn name(&self) -> &str {
        &self.key
    }

    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn keys(&self) -> &[KeyDef] {
        &[]
    }

    fn indexes(&self) -> &[IndexMeta] {
        &[]
    }

    fn is_view(&self) -> bool {
        true
    }

    fn object(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new(())
    }
}

/// The event of triggers that a statement is.
pub(super) fn event_of(write: Write) -> Option<TriggerEvent> {
    match write.kind {
        WriteKind::Insert => Some(TriggerEvent::Insert),
        WriteKind::Update => Some(TriggerEvent::Update),
        WriteKind::Delete => Some(TriggerEvent::Delete),
        WriteKind::Merge => None,
    }
}

impl Binder<'_> {
    /// The view `name`, whose rows triggers write, as a target, and its rows.
    pub(super) fn instead_target(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
        key: String,
        says: &ViewWrites,
    ) -> Result<(Target, Plan)> {
        let (plan, mut scope) = self.bind_relation(name, alias)?;
        let relation = scope.relations.pop();
        let relation = relation.ok_or_else(|| Error::internal("a view is a relation"))?;
        let mut ids: Vec<ColumnId> = Vec::with_capacity(relation.columns.len());
        let mut columns = Vec::with_capacity(relation.columns.len());
        for (at, column) in relation.columns.iter().enumerate() {
            let id = column.expr.as_column();
            ids.push(id.ok_or_else(|| Error::internal("a view gives columns"))?);
            let default = says.defaults.iter().find(|(place, _)| *place == at);
            let default = default.map(|(_, text)| text.clone());
            columns.push(ColumnDef { default, ..ColumnDef::new(&column.name, column.expr.ty) });
        }
        let tid = self.fresh();
        let own = relation.columns.iter().zip(&ids).map(|(column, id)| (*id, column.expr.clone()));
        let own = own.chain([(tid, Expr::null(DataType::BigInt))]).collect();
        let plan = Plan::Project { input: Box::new(plan), columns: own };
        let table = TableRef(Arc::new(ViewRows { key, columns }));
        let (access, view, tests, row) = (None, None, Vec::new(), None);
        Ok((Target { table, relation, ids, tid, access, view, tests, row }, plan))
    }

    /// The columns of the row as it is, behind the extras of a source, for a view whose rows
    /// triggers write: their place, too.
    pub(super) fn with_old(
        target: &Target,
        values: usize,
        extras: &[(ColumnId, DataType)],
    ) -> (Vec<(ColumnId, DataType)>, Option<usize>) {
        let mut all = extras.to_vec();
        if !target.table.is_view() {
            return (all, None);
        }
        let place = 1 + values + all.len();
        let own = target.ids.iter().zip(target.table.columns());
        all.extend(own.map(|(id, column)| (*id, column.ty)));
        (all, Some(place))
    }
}
