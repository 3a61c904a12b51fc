//! Group join: GROUP BY whose groups are rows of the build side of the join below it.
//!
//! ```text
//! Aggregate [Group join]  groups by the number of the build row     states: one per build row
//!   Project               passes the number on
//!     HashJoin            one table; gives each pair the number of its build row
//! ```
//! So there is one table instead of two, and columns of the build side come from there once per
//! group instead of travelling with every row. The plan keeps the keys, by which the executor
//! groups where build rows have no numbers (a join on disk) or are not one per group (keys that
//! repeat).
//!
//! Elsewhere: running it (`exec::aggregate`), the numbers (`exec::join`).
//! Sources: Moerkotte and Neumann 2011, "Accelerating queries with group-by and join by groupjoin";
//! Patel 2018, its optimiser's rule for group joins. Departures: joins with residuals, aggregates
//! over both sides and `count(*)` of outer joins need no rules of their own, since rows without a
//! match pass as they do without a group join.

use sql::algebra::{AggregateFunction, Duplicates};

use crate::physical::{Aggregate, Expr, ExprKind, JoinKind, Node, Operator};

/// The join below an aggregation.
pub struct JoinBelow<'a> {
    /// Projections between them, the upper one first.
    pub projections: Vec<&'a Node>,
    /// The join: inner, or outer with all rows of the build side.
    pub join: &'a Node,
    /// For each column of the aggregation's input the ordinal of the build side's column that it
    /// is, if it is one. A probe key is the build key that is equal to it.
    columns: Vec<Option<usize>>,
    /// Ordinals of the build side's keys.
    keys: Vec<usize>,
}

impl<'a> JoinBelow<'a> {
    /// The join that the rows of `input` come from, if its build rows could be groups.
    pub fn of(input: &'a Node) -> Option<Self> {
        let mut projections = Vec::new();
        let mut join = input;
        while let Operator::Project { input, .. } = &join.operator {
            projections.push(join);
            join = input;
        }
        let Operator::HashJoin { probe, kind, keys, output_columns, .. } = &join.operator else {
            return None;
        };
        let build_keys: Option<Vec<usize>> = keys.iter().map(|key| as_column(&key.build)).collect();
        let build_keys = build_keys?;
        let width = probe.output.len();
        let equal = |column: usize| {
            let same = |key: &&crate::physical::JoinKey| {
                as_column(&key.probe) == Some(column) && key.probe.ty.has_one_form()
            };
            keys.iter().find(same).and_then(|key| as_column(&key.build))
        };
        let origin = |&column: &usize| match kind {
            _ if column >= width => Some(column - width),
            JoinKind::Inner => equal(column),
            _ => None,
        };
        if !matches!(kind, JoinKind::Inner | JoinKind::BuildOuter) {
            return None;
        }
        let mut columns: Vec<Option<usize>> = output_columns.iter().map(origin).collect();
        for projection in projections.iter().rev() {
            if let Operator::Project { exprs, .. } = &projection.operator {
                columns = exprs.iter().map(|e| columns[as_column(e)?]).collect();
            }
        }
        Some(Self { projections, join, columns, keys: build_keys })
    }

    /// The ordinal of the build side's column that `expr` over the aggregation's input is.
    pub fn build_column(&self, expr: &Expr) -> Option<usize> {
        as_column(expr).and_then(|column| self.columns[column])
    }

    /// The ordinal of the build side's column that `aggregate` takes of any row.
    pub fn any_of(&self, aggregate: &Aggregate) -> Option<usize> {
        let plain = aggregate.function == AggregateFunction::AnyValue
            && aggregate.filter.is_none()
            && aggregate.order_by.is_empty();
        let [argument] = &aggregate.arguments[..] else {
            return None;
        };
        self.build_column(argument).filter(|_| plain)
    }

    /// True when `keys` are columns of the build side and have all keys of the join, so that a
    /// group is one row where these do not repeat.
    pub fn groups_by_rows(&self, keys: &[Expr], aggregates: &[Aggregate]) -> bool {
        let columns: Option<Vec<usize>> = keys.iter().map(|e| self.build_column(e)).collect();
        let has_all = columns.is_some_and(|c| self.keys.iter().all(|key| c.contains(key)));
        has_all && aggregates.iter().all(|a| a.duplicates == Duplicates::Keep)
    }
}

fn as_column(expr: &Expr) -> Option<usize> {
    match expr.kind {
        ExprKind::Column(column) => Some(column),
        _ => None,
    }
}
