//! The smallest and the largest value of a column, from an end of an index.
//!
//! ```text
//! SELECT min(c), max(d) FROM t WHERE a = 1
//! -> SELECT $0, $1    $0: SELECT c FROM t WHERE a = 1 AND c IS NOT NULL ORDER BY c LIMIT 1
//! ```
//! Done where each of these reads one row of an index: then it costs nothing beside a scan.

use sql::algebra::{
    AggregateFunction, ColumnId, Direction, Expr as Logical, NullsOrder, Plan, SortKey,
};
use types::{DataType, Result, Value};

use super::aggregate::Calls;
use super::{Lowered, Lowering};
use crate::column_set::ColumnSet;
use crate::physical::{Node, Operator};
use crate::push_down::nulls;
use crate::{IndexPaths, tree};

impl Lowering<'_, '_> {
    /// `calls` over all rows of `input` from ends of indexes; None when one needs more rows.
    pub(super) fn ends(&mut self, input: &Plan, calls: &Calls) -> Result<Option<Lowered>> {
        if calls.is_empty() || self.context.options.index_paths == IndexPaths::Avoid {
            return Ok(None);
        }
        let mut firsts = Vec::with_capacity(calls.len());
        for (id, call) in calls {
            let direction = match call.function {
                AggregateFunction::Min => Direction::Ascending,
                AggregateFunction::Max => Direction::Descending,
                _ => return Ok(None),
            };
            let [argument] = call.arguments.as_slice() else { return Ok(None) };
            let Some(column) = tree::as_column(argument).filter(|_| call.filter.is_none()) else {
                return Ok(None);
            };
            if argument.ty.physical() != call.ty.physical() {
                return Ok(None);
            }
            let Some((plan, first)) = self.first(input, column, direction) else {
                return Ok(None);
            };
            let wanted: ColumnSet = [first].into_iter().collect();
            if !reads_one(&self.lower(&plan, &wanted)?.node) {
                return Ok(None);
            }
            firsts.push((*id, plan, call.ty));
        }
        let columns: Vec<(ColumnId, Logical)> = firsts
            .into_iter()
            .map(|(id, plan, ty)| (id, self.context.add_scalar(plan, ty)))
            .collect();
        let row = self.lower(&tree::one_row(), &ColumnSet::default())?;
        self.project(row, columns).map(Some)
    }

    /// The row of `input` with the first value of `column` that is not NULL, and the column there;
    /// None when the input is no scan.
    fn first(
        &mut self,
        input: &Plan,
        column: ColumnId,
        direction: Direction,
    ) -> Option<(Plan, ColumnId)> {
        let scan = match input {
            Plan::Filter { input, .. } => input,
            input => input,
        };
        if !matches!(scan, Plan::Scan { .. }) {
            return None;
        }
        let (plan, renamed) = self.context.copy(input);
        let column = *renamed.get(&column)?;
        let (_, ty) = tree::output(&plan).into_iter().find(|(id, _)| *id == column)?;
        let value = tree::column(column, ty);
        let wanted: ColumnSet = [column].into_iter().collect();
        let (plan, mut conjuncts) = match plan {
            Plan::Filter { input, predicate } => (*input, tree::conjuncts(predicate)),
            plan => (plan, Vec::new()),
        };
        if conjuncts.iter().any(tree::is_volatile) {
            return None;
        }
        if !conjuncts.iter().any(|part| nulls::rejects(part, &wanted)) {
            conjuncts.push(tree::negate(tree::is_null(value.clone())));
        }
        let keys = vec![SortKey { expr: value, direction, nulls: NullsOrder::Last }];
        let input = Box::new(tree::filtered(plan, conjuncts));
        let input = Box::new(Plan::Sort { input, keys });
        let limit = Some(tree::literal(Value::I64(1), DataType::BigInt));
        let first = Plan::Limit { input, limit, offset: None };
        Some((tree::narrowed(first, &[(column, ty)]), column))
    }
}

/// True for the first row that an index finds.
fn reads_one(node: &Node) -> bool {
    match &node.operator {
        Operator::Limit { input, .. } => matches!(input.operator, Operator::IndexScan { .. }),
        Operator::Project { input, .. } => reads_one(input),
        _ => false,
    }
}
