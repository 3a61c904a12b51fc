//! Ways to rows that were weighed against each other, for EXPLAIN (VERBOSE).
//!
//! ```text
//! path scan: cost 25000
//! path t_a: cost 1200, 1 look-ups, 21 rows
//! path t_b: no condition on b
//! ```
//! Costs are in the unit of `cost`: one row that passes through a pipeline.

use sql::catalog::{IndexKind, IndexMeta, TableRef};

use super::Lowering;
use crate::physical::OperatorId;
use crate::{PathsTold, cost};

/// A way by one index, as it was weighed.
pub(super) struct Weighed {
    pub(super) lookups: f64,
    pub(super) rows: f64,
    pub(super) cost: f64,
}

impl Lowering<'_, '_> {
    /// Notes a line about the operator `id`, if paths are to be told.
    pub(super) fn consider(&mut self, id: OperatorId, line: impl FnOnce() -> String) {
        if self.context.options.paths_told == PathsTold::Considered {
            self.considered.push((id, line()));
        }
    }

    /// Notes the scan of a table of so many rows.
    pub(super) fn consider_scan(&mut self, id: OperatorId, rows: f64) {
        self.consider(id, || format!("path scan: cost {:.0}", cost::scan(rows)));
    }

    /// Notes a way by `index`.
    pub(super) fn consider_index(&mut self, id: OperatorId, index: &IndexMeta, way: &Weighed) {
        self.consider(id, || {
            let Weighed { lookups, rows, cost } = way;
            let name = &index.name;
            format!("path {name}: cost {cost:.0}, {lookups:.0} look-ups, {rows:.0} rows")
        });
    }

    /// Notes why `index` finds nothing for a scan of `table`: no condition is about its first
    /// column, or, of a hash index, about one of its columns.
    pub(super) fn consider_idle(&mut self, id: OperatorId, table: &TableRef, index: &IndexMeta) {
        self.consider(id, || {
            let columns = match index.kind {
                IndexKind::Hash => "each of its columns".to_owned(),
                _ => first_column(table, index),
            };
            format!("path {}: no condition that it answers on {columns}", index.name)
        });
    }

    /// Notes that `index` lacks rows that a scan may want.
    pub(super) fn consider_partial(&mut self, id: OperatorId, index: &IndexMeta) {
        self.consider(id, || {
            format!("path {}: its rows are some, and the conditions may want others", index.name)
        });
    }

    /// Hands what was noted about `from` to the operator that took its place.
    pub(super) fn consider_as(&mut self, from: OperatorId, to: OperatorId) {
        let of_it = self.considered.iter_mut().filter(|(id, _)| *id == from);
        of_it.for_each(|(id, _)| *id = to);
    }
}

/// The first column of an index as text.
fn first_column(table: &TableRef, index: &IndexMeta) -> String {
    let Some(column) = index.columns.first() else { return "its columns".to_owned() };
    let name = match column.expression() {
        Some(number) => index.terms.expressions.get(number).map(|e| e.definition()),
        None => table.columns().get(column.ordinal).map(|c| c.name.clone()),
    };
    name.unwrap_or_else(|| "its first column".to_owned())
}
