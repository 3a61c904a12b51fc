//! Which statements are run on one row by its key, and how.
//!
//! Invariant: a statement whose constraints, wide tables or keys of other tables ask for more than
//! the row is left to the general way.

mod insert;

use std::sync::Arc;

use catalog::{TableEntry, keys, wide};
use parking_lot::Mutex;
use plan::physical::Expr;
use plan::point::{PointAction, PointPlan, PointRows};
use sql::catalog::{TableMeta, TableRef};
use sql::statement::Statement;

use crate::Session;
use crate::session::point::{Action, Find, Output, Point, Values};
use insert::new_row;

/// Columns of a key; longer ones take the general way.
pub(crate) const KEY_COLUMNS: usize = 8;

impl Point {
    /// The point of `statement`; None when the general way is to be taken.
    pub(crate) fn new(session: &Session, statement: &Statement, version: u64) -> Option<Self> {
        if statement.tests_rows() {
            return None;
        }
        if let Statement::Insert(insert) = statement {
            let entry = entry_of(session, &insert.table)?;
            if session.state().has_triggers(entry.name()) {
                return None;
            }
            let (table, storage) = (insert.table.clone(), Arc::clone(entry.storage()));
            let action = Action::Insert(new_row(&entry, insert)?);
            let memory = Mutex::default();
            return Some(Self { table, storage, entry, version, action, memory });
        }
        let plan = plan::point::point(statement)?;
        let entry = entry_of(session, &plan.table)?;
        // Their changes are noted on the general way.
        let is_behind = wide::over(&session.state(), entry.name()).next().is_some();
        let find = Find::new(&entry, &plan)?;
        let writes = !matches!(plan.action, PointAction::Select);
        if writes && session.state().has_triggers(entry.name()) {
            return None;
        }
        let row = find.keys.row.clone();
        let action = match plan.action {
            PointAction::Select => Action::Select(find, Output::new(plan.output, row)?),
            PointAction::Update(assignments) => {
                let (columns, exprs): (Vec<usize>, Vec<Expr>) = assignments.into_iter().unzip();
                let is_plain = entry.checks.is_empty()
                    && entry.generated.is_empty()
                    && !is_behind
                    && !keys::is_looked_at(&entry, &columns)
                    && !keys::is_referenced(&session.state(), &entry, Some(&columns));
                let values = Values::new(exprs, row.clone()).filter(|_| is_plain)?;
                Action::Update(find, columns, values, Output::returning(plan.output, row)?)
            }
            PointAction::Delete => {
                let is_plain = !is_behind && !keys::is_referenced(&session.state(), &entry, None);
                let output = Output::returning(plan.output, row)?;
                is_plain.then_some(Action::Delete(find, output))?
            }
            _ => return None,
        };
        let storage = Arc::clone(entry.storage());
        let memory = Mutex::default();
        Some(Self { table: plan.table, storage, entry, version, action, memory })
    }
}

/// The entry of the table in the session's catalog, if it is the one that was bound.
fn entry_of(session: &Session, table: &TableRef) -> Option<Arc<TableEntry>> {
    let entry = session.state().tables.get(table.name()).cloned()?;
    let storage = exec::stored_table(table).ok()?;
    Arc::ptr_eq(entry.storage(), &storage).then_some(entry)
}

impl Find {
    fn new(entry: &TableEntry, plan: &PointPlan) -> Option<Self> {
        if plan.rows != PointRows::One || plan.keys.len() > KEY_COLUMNS {
            return None;
        }
        let index = exec::stored_index(&plan.table, plan.index).ok()?;
        let schema = entry.storage().schema().columns();
        let physical = |ordinal: &usize| schema.get(*ordinal).map(|c| c.physical());
        let row = plan.columns.iter().map(physical).collect::<Option<Vec<_>>>()?;
        let keys = Values::new(plan.keys.clone(), row.clone())?;
        let wanted: Option<Vec<_>> = index.ordinals().iter().map(physical).collect();
        if wanted? != keys.physical {
            return None;
        }
        let residual = match &plan.residual {
            Some(expr) => Some(Values::computed(expr.clone(), row)?),
            None => None,
        };
        Some(Self { index, keys, columns: plan.columns.clone(), residual })
    }
}
