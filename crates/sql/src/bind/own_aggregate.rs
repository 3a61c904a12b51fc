//! Calls of aggregates that users made.
//!
//! ```text
//! agg(a, b ORDER BY c)  ->  fold(array_agg(ROW(a, b) ORDER BY c)), fold = Call(Routine)
//! ```
//! Grouping, FILTER, DISTINCT, ORDER BY and frames are those of the collected array; the session
//! folds it (`engine::run::program::aggregate`).
//! Elsewhere: levels and places of aggregates (`aggregate`, `window`).

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::aggregate::{CallArguments, call_arguments};
use super::comparable::{refuse_distinct, unkeyed};
use super::name::object_at;
use super::order::sort_key;
use super::scope::Clause;
use super::{Binder, composite, fail, unsupported};
use crate::algebra::{
    AggregateCall, AggregateFunction, Duplicates, Expr, Function, Place, RoutineCall, SortKey,
};
use crate::catalog::RoutineKind;

/// Call that folds the rows which an aggregate collected.
pub(super) struct Fold {
    call: RoutineCall,
    /// Type of the result.
    ty: DataType,
}

impl Fold {
    /// The result, of the array of rows.
    pub(super) fn of(self, collected: Expr) -> Expr {
        Expr::call(Function::Routine(self.call), vec![collected], self.ty)
    }
}

impl Binder<'_> {
    /// The call that collects the rows of an aggregate that users made, and what folds them; None
    /// when no such aggregate fits.
    pub(super) fn own_aggregate(
        &mut self,
        function: &ast::Function,
    ) -> Result<Option<(AggregateCall, Fold)>> {
        let known = self.routines_named(&function.name)?;
        if !known.iter().any(|routine| routine.kind == RoutineKind::Aggregate) {
            return Ok(None);
        }
        let at = object_at(&function.name);
        let written = call_arguments(function)?;
        let list: Vec<ast::FunctionArg> = written.list.iter().map(|arg| (*arg).clone()).collect();
        let Some(chosen) = self.chosen(&function.name, &list, RoutineKind::Aggregate)? else {
            return Ok(None);
        };
        let collation = self.call_collation(&chosen.arguments, at)?;
        let name = chosen.routine.bare_name();
        if !function.within_group.is_empty() {
            let message =
                format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
        }
        if list.is_empty() && !written.star {
            let message =
                format!("{name}(*) must be used to call a parameterless aggregate function");
            return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
        }
        let filter = match &function.filter {
            Some(expr) => {
                let bound = self.in_clause(Clause::Filter, |binder| binder.bind_expr(expr))?;
                Some(self.coerce_clause(bound, DataType::Boolean, "FILTER")?)
            }
            None => None,
        };
        let ty = self.held_type(&chosen.routine.result)?;
        let call = RoutineCall::of(&chosen.routine, chosen.instance, collation);
        let collected = self.collecting(chosen.arguments, &written, at)?;
        Ok(Some((AggregateCall { filter, ..collected }, Fold { call, ty })))
    }

    /// The call that collects rows of `arguments`.
    fn collecting(
        &mut self,
        mut arguments: Vec<Expr>,
        written: &CallArguments<'_>,
        at: Place,
    ) -> Result<AggregateCall> {
        let mut order_by = self.bind_sort_keys(written.order_by)?;
        if written.duplicates == Duplicates::Remove {
            self.refuse_distinct_texts(&arguments, at)?;
            let foreign = |key: &SortKey| {
                !arguments.contains(&key.expr) && !arguments.contains(unkeyed(&key.expr))
            };
            if order_by.iter().any(foreign) {
                let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in \
                               argument list";
                return fail(SqlState::INVALID_COLUMN_REFERENCE, message, at);
            }
            for argument in &arguments {
                refuse_distinct(argument, at)?;
                order_by.push(sort_key(argument.clone(), &ast::OrderByOptions::default(), at)?);
            }
            // Of values that are equal one counts, whatever its scale.
            for argument in &mut arguments {
                if argument.ty == DataType::NUMERIC {
                    let plain = std::mem::replace(argument, Expr::null(DataType::NUMERIC));
                    *argument = Expr::call(Function::TrimScale, vec![plain], DataType::NUMERIC);
                }
            }
        }
        let named = |(at, expr)| (format!("f{}", at + 1), expr);
        let mut fields: Vec<(String, Expr)> =
            arguments.into_iter().enumerate().map(named).collect();
        if fields.is_empty() {
            // A row without arguments counts, too.
            fields.push((String::new(), Expr::boolean(true)));
        }
        let row = composite::record(fields)?;
        let Some(ty) = DataType::array_of(row.ty) else {
            return unsupported("an aggregate of rows of this type", at);
        };
        Ok(AggregateCall {
            function: AggregateFunction::ArrayAgg,
            arguments: vec![row],
            duplicates: written.duplicates,
            filter: None,
            order_by,
            ty,
        })
    }
}
