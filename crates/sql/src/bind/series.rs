//! Functions that give rows in a select list: where they are expanded.
//!
//! ```text
//! FROM -> [keys of GROUP BY] -> Aggregate -> [PARTITION BY, ORDER BY of windows] -> Window
//!      -> [the others, when a sort key or DISTINCT reads one] -> Distinct, Sort -> [the others]
//! ```
//! A call is bound to a column of its level. In each bracket the calls that are read there become
//! joins with their rows: those of one depth side by side, those that read others above them.
//! Elsewhere: the functions themselves (`array_functions`), those in FROM (`table_function`).

use std::collections::{HashMap, HashSet};

use types::{DataType, Result, SqlState};

use super::from::join;
use super::scope::Series;
use super::{Binder, Bound, fail};
use crate::algebra::{
    AggregateCall, AggregateFunction, ColumnId, Duplicates, Expr, ExprKind, Function, JoinKind,
    Place, Plan, SeriesFunction,
};

/// Calls met so far in a level, to be compared with a later count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SeriesMark(usize);

impl Binder<'_> {
    /// The column that stands for `call`; one that the level has stands for it, too, when both give
    /// the same rows.
    ///
    /// # Errors
    /// 0A000 in a clause that takes no such functions.
    pub(super) fn add_series(&mut self, call: Series, at: Place) -> Result<ColumnId> {
        let level = self.level()?;
        if !level.clause.takes_series() {
            let message = match level.clause.frame_name() {
                Some(_) => {
                    "set-returning functions are not allowed in window definitions".to_owned()
                }
                None => {
                    format!("set-returning functions are not allowed in {}", level.clause.name())
                }
            };
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        level.series_met.push(at);
        let same = |known: &&Series| {
            known.function == call.function
                && known.ty == call.ty
                && known.arguments == call.arguments
                && !known.arguments.iter().any(is_volatile)
        };
        if let Some(known) = level.series.iter().find(same) {
            return Ok(known.id);
        }
        let id = call.id;
        level.series.push(call);
        Ok(id)
    }

    /// True when `expr` reads a call of the innermost level.
    pub(super) fn returns_set(&self, expr: &Expr) -> bool {
        let Some(level) = self.levels.last().filter(|level| !level.series.is_empty()) else {
            return false;
        };
        let mut found = false;
        expr.each_column(&mut |id| found |= level.series.iter().any(|call| call.id == id));
        found
    }

    /// How many calls the innermost level has met.
    pub(super) fn series_mark(&mut self) -> Result<SeriesMark> {
        Ok(SeriesMark(self.level()?.series_met.len()))
    }

    /// Refuses calls met since `mark`: their rows would be asked for under a condition, or below
    /// what folds rows.
    ///
    /// # Errors
    /// 0A000 with `message`.
    pub(super) fn refuse_series_since(&mut self, mark: SeriesMark, message: &str) -> Result<()> {
        let met = &self.level()?.series_met;
        if met.len() <= mark.0 {
            return Ok(());
        }
        let at = met.last().copied().flatten();
        let error = types::Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(
            "You might be able to move the set-returning function into a LATERAL FROM item.",
        );
        Err(super::place(error, at))
    }

    /// The calls of the level that `exprs` read, with those that their arguments read.
    pub(super) fn series_of<'e>(
        &mut self,
        exprs: impl Iterator<Item = &'e Expr>,
    ) -> Result<Vec<Series>> {
        let level = self.level()?;
        let mut wanted = HashSet::new();
        exprs.for_each(|expr| {
            expr.each_column(&mut |id| {
                wanted.insert(id);
            });
        });
        // A call comes behind those that its arguments read.
        for call in level.series.iter().rev() {
            if wanted.contains(&call.id) {
                call.arguments.iter().for_each(|expr| {
                    expr.each_column(&mut |id| {
                        wanted.insert(id);
                    });
                });
            }
        }
        Ok(level.series.iter().filter(|call| wanted.contains(&call.id)).cloned().collect())
    }

    /// Expands below an aggregation the calls that `keys` read, which then read columns of their
    /// own: a call that is read above is expanded there again.
    pub(super) fn expand_keys(
        &mut self,
        plan: Plan,
        keys: &mut [(ColumnId, Expr)],
        mut calls: Vec<Series>,
    ) -> Result<Plan> {
        let mut own = HashMap::new();
        for call in &mut calls {
            let id = self.fresh();
            self.note_made_of(id, &call.arguments)?;
            own.insert(std::mem::replace(&mut call.id, id), id);
        }
        let arguments = calls.iter_mut().flat_map(|call| &mut call.arguments);
        arguments.chain(keys.iter_mut().map(|(_, key)| key)).for_each(|e| rename(e, &own));
        self.expanded_calls(plan, calls)
    }

    /// Puts the level's window calls on top of `plan`, above the calls that their keys read.
    pub(super) fn windows(&mut self, mut plan: Plan) -> Result<Plan> {
        let windows = std::mem::take(&mut self.level()?.windows);
        if windows.is_empty() {
            return Ok(plan);
        }
        let keys = windows.iter().flat_map(|(_, call)| {
            call.partition_by.iter().chain(call.order_by.iter().map(|key| &key.expr))
        });
        let calls = self.series_of(keys)?;
        self.level()?.series.retain(|call| calls.iter().all(|taken| taken.id != call.id));
        plan = self.expanded_calls(plan, calls)?;
        Ok(Plan::Window { input: Box::new(plan), calls: windows })
    }

    /// `plan` with the rows of `calls`, those of one depth side by side.
    pub(super) fn expanded_calls(&mut self, mut plan: Plan, calls: Vec<Series>) -> Result<Plan> {
        let mut left = calls;
        while !left.is_empty() {
            let waiting: HashSet<ColumnId> = left.iter().map(|call| call.id).collect();
            let reads_waiting = |call: &Series| {
                let mut reads = false;
                let visit = &mut |id| reads |= waiting.contains(&id);
                call.arguments.iter().for_each(|expr| expr.each_column(visit));
                reads
            };
            let (later, mut now): (Vec<Series>, Vec<Series>) =
                left.into_iter().partition(reads_waiting);
            left = later;
            if now.is_empty() {
                return Err(types::Error::internal("set-returning functions that read each other"));
            }
            plan = self.with_arguments(plan, &mut now)?;
            plan = match <[Series; 1]>::try_from(now) {
                Ok([Series { id, ty, function, arguments }]) => {
                    let right = Plan::Series { function, arguments, column: (id, ty) };
                    join(plan, right, JoinKind::Each, Expr::boolean(true))
                }
                Err(several) => self.series_side_by_side(plan, several)?,
            };
        }
        Ok(plan)
    }

    /// `plan` with the arguments of `calls` that are to be computed once for each of its rows: with
    /// sub-queries, volatile ones, and what several calls side by side read more than once.
    fn with_arguments(&mut self, plan: Plan, calls: &mut [Series]) -> Result<Plan> {
        let several = calls.len() > 1;
        let mut computed = Vec::new();
        for call in calls.iter_mut() {
            if several && call.function == SeriesFunction::Generate && !call.ty.is_integer() {
                self.collect_series(call)?;
            }
            for argument in &mut call.arguments {
                let simple = matches!(
                    argument.kind,
                    ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_)
                );
                if !simple && (several || is_volatile(argument) || has_subquery(argument)) {
                    let id = self.fresh();
                    self.note_collation(id, argument)?;
                    let column = Expr::column(id, argument.ty);
                    computed.push((id, std::mem::replace(argument, column)));
                }
            }
        }
        if computed.is_empty() {
            return Ok(plan);
        }
        let columns = plan.output_types().into_iter();
        let columns = columns.map(|(id, ty)| (id, Expr::column(id, ty))).chain(computed).collect();
        Ok(Plan::Project { input: Box::new(plan), columns })
    }

    /// Makes of a series its values' array, whose elements have numbers.
    fn collect_series(&mut self, call: &mut Series) -> Result<()> {
        let Some(ty) = DataType::array_of(call.ty) else {
            return Err(types::Error::internal("a series of something without arrays"));
        };
        let (row, array) = (self.fresh(), self.fresh());
        let arguments = std::mem::take(&mut call.arguments);
        let rows = Plan::Series { function: call.function, arguments, column: (row, call.ty) };
        let collected = AggregateCall {
            function: AggregateFunction::ArrayAgg,
            arguments: vec![Expr::column(row, call.ty)],
            duplicates: Duplicates::Keep,
            filter: None,
            order_by: Vec::new(),
            ty,
        };
        let plan = Plan::Aggregate {
            input: Box::new(rows),
            keys: Vec::new(),
            aggregates: vec![(array, collected)],
            grouping_sets: None,
            set_column: None,
        };
        call.function = SeriesFunction::Unnest;
        call.arguments = vec![Expr { kind: ExprKind::ScalarSubquery(Box::new(plan)), ty }];
        Ok(())
    }

    /// Several set-returning functions give their rows side by side, the shorter ones NULL behind
    /// their last.
    fn series_side_by_side(&mut self, plan: Plan, calls: Vec<Series>) -> Result<Plan> {
        let ids: Vec<ColumnId> = calls.iter().map(|call| call.id).collect();
        let mut columns: Vec<(ColumnId, Expr)> =
            plan.output_types().into_iter().map(|(id, ty)| (id, Expr::column(id, ty))).collect();
        let numbered = self.side_by_side(calls, None)?;
        let plan = join(plan, numbered.plan, JoinKind::Each, Expr::boolean(true));
        columns.extend(ids.into_iter().zip(numbered.values));
        Ok(Plan::Project { input: Box::new(plan), columns })
    }

    /// A bound call that gives rows, in an expression.
    pub(super) fn series_value(&mut self, call: Series, at: Place) -> Result<Bound> {
        let ty = call.ty;
        let id = self.add_series(call, at)?;
        Ok(Bound::new(Expr::column(id, ty), at))
    }
}

/// Gives the columns that `expr` reads their new ids, in its sub-queries, too.
pub(super) fn rename(expr: &mut Expr, ids: &HashMap<ColumnId, ColumnId>) {
    fn in_plan(plan: &mut Plan, ids: &HashMap<ColumnId, ColumnId>) {
        plan.each_expr_mut(&mut |expr| rename(expr, ids));
        plan.inputs_mut().into_iter().for_each(|input| in_plan(input, ids));
    }
    if let ExprKind::Column(id) = &mut expr.kind {
        *id = *ids.get(id).unwrap_or(id);
    }
    expr.each_child_mut(&mut |child| rename(child, ids));
    if let Some(plan) = expr.subquery_mut() {
        in_plan(plan, ids);
    }
}

/// True when two evaluations may differ.
pub(super) fn is_volatile(expr: &Expr) -> bool {
    let own = |function: &Function| function.is_volatile();
    let mut volatile = matches!(&expr.kind, ExprKind::Call(function, _) if own(function))
        || expr.subquery().is_some_and(Plan::is_volatile);
    expr.each_child(&mut |child| volatile |= is_volatile(child));
    volatile
}

/// True when `expr` reads a sub-query.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    let mut found = expr.subquery().is_some();
    expr.each_child(&mut |child| found |= has_subquery(child));
    found
}
