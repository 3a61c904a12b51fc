//! Aggregate calls: their level, their types.

use sqlparser::ast;
use types::{DataType, Error, PackedType, Result, SqlState};

use super::collation::{told_from_key, without_collation};
use super::comparable::{has_key, refuse_distinct, unkeyed};
use super::json::JsonAggregate;
use super::name::{expr_at, object_at};
use super::operators::wide;
use super::packed::{has_extremes, packed_collected};
use super::scope::{Clause, Level};
use super::series::is_volatile;
use super::types::{Category, Context, as_numeric, can_cast, category, is_exact, result_of};
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{
    AggregateCall, AggregateFunction as A, ColumnId, Duplicates, Expr, ExprKind, Function, Place,
    SortKey,
};
use crate::catalog::Digits;

/// True for the name of an aggregate function.
pub(super) fn is_aggregate(name: &str) -> bool {
    function_named(name).is_some()
}

fn function_named(name: &str) -> Option<A> {
    Some(match name {
        "count" => A::Count,
        "sum" => A::Sum,
        "avg" => A::Avg,
        "min" => A::Min,
        "max" => A::Max,
        "bool_and" | "every" => A::BoolAnd,
        "bool_or" => A::BoolOr,
        "bit_and" => A::BitAnd,
        "bit_or" => A::BitOr,
        "bit_xor" => A::BitXor,
        "string_agg" => A::StringAgg,
        "array_agg" => A::ArrayAgg,
        // What they are made of.
        "range_agg" | "range_intersect_agg" => A::ArrayAgg,
        "json_agg" | "jsonb_agg" | "json_object_agg" | "jsonb_object_agg" => A::ArrayAgg,
        "stddev_pop" => A::StddevPop,
        "stddev_samp" | "stddev" => A::StddevSamp,
        "var_pop" => A::VarPop,
        "var_samp" | "variance" => A::VarSamp,
        "covar_pop" => A::CovarPop,
        "covar_samp" => A::CovarSamp,
        "corr" => A::Corr,
        "regr_slope" => A::RegrSlope,
        "regr_intercept" => A::RegrIntercept,
        "regr_r2" => A::RegrR2,
        "regr_avgx" => A::RegrAvgX,
        "regr_avgy" => A::RegrAvgY,
        "regr_sxx" => A::RegrSxx,
        "regr_syy" => A::RegrSyy,
        "regr_sxy" => A::RegrSxy,
        // Of rows in which both are there.
        "regr_count" => A::Count,
        "any_value" => A::AnyValue,
        "percentile_cont" => A::PercentileCont,
        "percentile_disc" => A::PercentileDisc,
        "mode" => A::Mode,
        _ => return None,
    })
}

/// The arguments of a call, as written.
pub(super) struct CallArguments<'q> {
    pub(super) star: bool,
    pub(super) list: Vec<&'q ast::FunctionArg>,
    pub(super) duplicates: Duplicates,
    pub(super) order_by: &'q [ast::OrderByExpr],
}

impl Binder<'_> {
    /// An aggregate call without OVER. It belongs to the innermost level whose columns it uses, and
    /// a fresh column of that level stands for it. None when the call means no aggregate.
    pub(super) fn bind_aggregate(
        &mut self,
        function: &ast::Function,
        name: &str,
    ) -> Result<Option<Bound>> {
        if let Some(list) = self.percentiles(function, name)? {
            return Ok(Some(list));
        }
        let at = object_at(&function.name);
        let marks: Vec<usize> = self.levels.iter().map(|level| level.references.len()).collect();
        let series = self.series_mark()?;
        let (call, fold) = match self.own_aggregate(function)? {
            Some((call, fold)) => (call, Some(fold)),
            None if is_aggregate(name) => (self.aggregate_call(function, name)?, None),
            None => return Ok(None),
        };
        let message = "aggregate function calls cannot contain set-returning function calls";
        self.refuse_series_since(series, message)?;
        let argument = ranked_argument(&call).cloned();
        let used = |depth: &usize| {
            let seen = self.levels.get(*depth).map_or(0, |level| level.references.len());
            marks.get(*depth).is_some_and(|mark| seen > *mark)
        };
        let top = self.levels.len().saturating_sub(1);
        let depth = (0..self.levels.len()).rev().find(used).unwrap_or(top);
        let id = self.fresh();
        self.note_aggregate(id, &call)?;
        let Some(level) = self.levels.get_mut(depth) else {
            return fail(SqlState::GROUPING_ERROR, "aggregate functions are not allowed here", at);
        };
        if let Some(mark) = marks.get(depth) {
            level.references.truncate(*mark);
        }
        if !level.clause.takes_aggregates() {
            return Err(not_here(level.clause, at));
        }
        let volatile = check_inside(level, &call, at)?;
        if is_ordered_set(call.function) {
            level.direct.extend(call.arguments.iter().cloned());
        }
        let ty = call.ty;
        let known = level.aggregates.iter().find(|(_, known)| *known == call && !volatile);
        let id = match known {
            Some((known, _)) => *known,
            None => {
                level.aggregates.push((id, call));
                id
            }
        };
        // A call around this one belongs to the same level, and is refused there.
        level.references.push((id, at));
        let (collected, argument) = (Expr::column(id, ty), argument.as_ref());
        let result = match (fold, JsonAggregate::named(name)) {
            (Some(fold), _) => fold.of(collected),
            (None, Some(json)) => self.json_collected(json, collected, argument),
            (None, None) => found_value(name, collected, argument),
        };
        Ok(Some(Bound::new(result, at)))
    }

    /// The call itself, typed.
    pub(super) fn aggregate_call(
        &mut self,
        function: &ast::Function,
        name: &str,
    ) -> Result<AggregateCall> {
        let at = object_at(&function.name);
        let Some(kind) = function_named(name) else {
            return Err(Error::internal("not an aggregate function"));
        };
        let written = call_arguments(function)?;
        let filter = match &function.filter {
            Some(expr) => {
                let bound = self.in_clause(Clause::Filter, |binder| binder.bind_expr(expr))?;
                Some(self.coerce_clause(bound, DataType::Boolean, "FILTER")?)
            }
            None => None,
        };
        if written.star {
            return count_rows(kind, name, &written, filter, at);
        }
        let mut arguments = Vec::with_capacity(written.list.len());
        for arg in &written.list {
            let outer = std::mem::replace(&mut self.summed, matches!(kind, A::Sum | A::Avg));
            // DISTINCT compares rows, not the objects that they become.
            let bound = match written.duplicates {
                Duplicates::Remove => self.bind_plain_argument(arg),
                Duplicates::Keep => self.bind_argument(name, arg),
            };
            self.summed = outer;
            arguments.push(self.retyped(bound?));
        }
        let ordered_set = is_ordered_set(kind);
        check_within_group(function, kind, name, &written)?;
        let order_by = if ordered_set {
            self.bind_sort_keys(&function.within_group)?
        } else {
            self.bind_sort_keys(written.order_by)?
        };
        let duplicates = written.duplicates;
        let mut call = AggregateCall {
            function: kind,
            arguments: Vec::new(),
            duplicates,
            filter,
            order_by,
            ty: DataType::Unknown,
        };
        let mismatch = {
            let types: Vec<&str> = arguments.iter().map(|bound| bound.ty().name()).collect();
            format!("function {name}({}) does not exist", types.join(", "))
        };
        let typed = match (ordered_set, JsonAggregate::named(name)) {
            (true, _) => self.ordered_set(&mut call, arguments)?,
            (false, Some(json)) => self.json_aggregate(json, &mut call, arguments, at)?,
            (false, None) if self.packed_aggregate(name, &mut call, &arguments) => true,
            (false, None) if name.starts_with("range_") => false,
            (false, None) if name == "regr_count" => self.regr_count(&mut call, arguments)?,
            (false, None) => self.plain_aggregate(&mut call, arguments)?,
        };
        if !typed {
            return Err(super::unmatched::no_function(mismatch, at));
        }
        finish(&mut call, at)?;
        self.refuse_distinct_call(&call, at)?;
        Ok(call)
    }

    /// Types the call; false when there is no such overload.
    fn plain_aggregate(&mut self, call: &mut AggregateCall, list: Vec<Bound>) -> Result<bool> {
        match call.function {
            A::StringAgg => return self.string_agg(call, list),
            function if is_of_pairs(function) => return self.of_pairs(call, list),
            _ => {}
        }
        let Ok([mut argument]) = <[Bound; 1]>::try_from(list) else {
            return Ok(false);
        };
        if matches!(call.function, A::Min | A::Max)
            && let Some(keys) = self.ranked(std::slice::from_ref(&argument.expr), argument.at)?
        {
            call.arguments = keys;
            call.ty = DataType::Bytea;
            return Ok(true);
        }
        match call.function {
            A::Sum | A::Avg | A::StddevPop | A::StddevSamp | A::VarPop | A::VarSamp
                if argument.is_unknown() =>
            {
                let at = argument.at;
                let expr = self.coerce(argument, DataType::Double, Context::Implicit)?;
                argument = Bound::new(expr, at);
            }
            A::BoolAnd | A::BoolOr => {
                let expr = self.coerce_aggregated(argument, DataType::Boolean)?;
                let Some(expr) = expr else { return Ok(false) };
                call.ty = DataType::Boolean;
                call.arguments.push(expr);
                return Ok(true);
            }
            _ => self.settle(&mut argument)?,
        }
        let (ty, at) = (argument.ty(), argument.at);
        let Some(result) = result_type(self.digits, call.function, ty) else {
            return Ok(false);
        };
        let argument = self.exact_argument(call, argument, result);
        // Floating-point moments are computed in double precision.
        let widen = ty == DataType::Real && result == DataType::Double;
        let expr = if widen {
            self.coerce(argument, DataType::Double, Context::Implicit)?
        } else {
            argument.expr
        };
        let expr = match (call.duplicates, call.function) {
            // Only whether values are equal counts.
            (Duplicates::Remove, A::Count) => self.equated(expr, at)?,
            (Duplicates::Remove, _) => {
                refuse_distinct(&expr, at)?;
                expr
            }
            (Duplicates::Keep, A::Count) => super::composite::presence(expr),
            (Duplicates::Keep, _) => expr,
        };
        call.arguments.push(expr);
        call.ty = result;
        Ok(true)
    }

    /// An exact number as a wide decimal where scaled integers do not do for `call`.
    fn exact_argument(&self, call: &AggregateCall, argument: Bound, result: DataType) -> Bound {
        let (ty, at) = (argument.ty(), argument.at);
        let computes = matches!(
            call.function,
            A::Sum | A::Avg | A::StddevPop | A::StddevSamp | A::VarPop | A::VarSamp
        );
        if !computes || result != DataType::NUMERIC {
            return argument;
        }
        let is_scaled = as_numeric(ty).is_some() && call.function != A::Sum;
        if is_scaled && self.digits == Digits::Likely {
            return argument;
        }
        let expr = wide(argument.expr);
        // Of values that are equal one counts, whatever its scale.
        let expr = match call.duplicates {
            Duplicates::Remove => Expr::call(Function::TrimScale, vec![expr], DataType::NUMERIC),
            Duplicates::Keep => expr,
        };
        Bound::new(expr, at)
    }

    /// An aggregate of two DOUBLEs.
    fn of_pairs(&mut self, call: &mut AggregateCall, list: Vec<Bound>) -> Result<bool> {
        let numbers =
            list.iter().all(|bound| can_cast(bound.ty(), DataType::Double, Context::Implicit));
        if list.len() != 2 || !numbers {
            return Ok(false);
        }
        for bound in list {
            call.arguments.push(self.coerce(bound, DataType::Double, Context::Implicit)?);
        }
        call.ty = DataType::Double;
        Ok(true)
    }

    /// regr_count(y, x) is count of `x` where `y` is there.
    fn regr_count(&mut self, call: &mut AggregateCall, list: Vec<Bound>) -> Result<bool> {
        if !self.of_pairs(call, list)? {
            return Ok(false);
        }
        let (Some(x), Some(y)) = (call.arguments.pop(), call.arguments.pop()) else {
            return Err(Error::internal("two arguments expected"));
        };
        let ty = x.ty;
        let branches = vec![(y.is_null(), Expr::null(ty))];
        let kind = ExprKind::Case { branches, otherwise: Box::new(x) };
        call.arguments.push(Expr { kind, ty });
        call.ty = DataType::BigInt;
        Ok(true)
    }

    fn coerce_aggregated(&mut self, argument: Bound, ty: DataType) -> Result<Option<Expr>> {
        if can_cast(argument.ty(), ty, Context::Implicit) {
            self.coerce(argument, ty, Context::Implicit).map(Some)
        } else {
            Ok(None)
        }
    }

    fn string_agg(&mut self, call: &mut AggregateCall, list: Vec<Bound>) -> Result<bool> {
        let Ok([text, separator]) = <[Bound; 2]>::try_from(list) else {
            return Ok(false);
        };
        let ty = match category(text.ty()) {
            Category::Bytes => DataType::Bytea,
            _ => DataType::Text,
        };
        for bound in [text, separator] {
            let Some(expr) = self.coerce_aggregated(bound, ty)? else {
                return Ok(false);
            };
            call.arguments.push(expr);
        }
        call.ty = ty;
        Ok(true)
    }

    /// 0A000 for DISTINCT where texts that differ may be equal.
    fn refuse_distinct_call(&self, call: &AggregateCall, at: Place) -> Result<()> {
        if call.duplicates == Duplicates::Remove && call.function != A::Count {
            return self.refuse_distinct_texts(&call.arguments, at);
        }
        Ok(())
    }

    /// Notes the collation of the result of a call.
    fn note_aggregate(&mut self, id: ColumnId, call: &AggregateCall) -> Result<()> {
        if !self.has_collations {
            return Ok(());
        }
        let arguments = call.arguments.iter().cloned();
        let exprs: Vec<Expr> = arguments.chain(ranked_argument(call).cloned()).collect();
        self.note_made_of(id, &exprs)
    }

    /// 0A000 for an aggregate that tells texts apart which the language does not.
    pub(super) fn refuse_distinct_texts(&self, exprs: &[Expr], at: Place) -> Result<()> {
        if exprs.iter().any(|expr| self.has_own_equality(expr)) {
            let what = "an aggregate of different values under a nondeterministic collation";
            return unsupported(what, at);
        }
        Ok(())
    }

    /// percentile_disc and mode of texts in the order of a language.
    fn ordered_texts(
        &mut self,
        call: &mut AggregateCall,
        list: Vec<Bound>,
        texts: Vec<Expr>,
    ) -> Result<bool> {
        let direct = match call.function {
            A::PercentileDisc => 1,
            A::Mode => 0,
            _ => return Ok(false),
        };
        if list.len() != direct {
            return Ok(false);
        }
        if call.function == A::Mode {
            self.refuse_distinct_texts(&texts, None)?;
        }
        for bound in list {
            let Some(fraction) = self.coerce_aggregated(bound, DataType::Double)? else {
                return Ok(false);
            };
            call.arguments.push(fraction);
        }
        let keys = self.ranked(&texts, None)?;
        let Some(key) = keys.and_then(|mut keys| keys.pop()) else { return Ok(false) };
        if let Some(first) = call.order_by.first_mut() {
            first.expr = key;
        }
        call.ty = DataType::Bytea;
        Ok(true)
    }

    /// percentile_cont, percentile_disc, mode.
    fn ordered_set(&mut self, call: &mut AggregateCall, list: Vec<Bound>) -> Result<bool> {
        let [SortKey { expr, .. }] = call.order_by.as_slice() else {
            return Ok(false);
        };
        // Wide decimals are ordered as their bytes are.
        let key = unkeyed(expr).clone();
        if let ExprKind::Call(Function::Json(_), _) = key.kind
            && key.ty == DataType::Bytea
        {
            return unsupported("an ordered-set aggregate of jsonb", None);
        }
        if let ExprKind::Call(Function::CollationKey(_), texts) = &expr.kind {
            let texts = texts.clone();
            return self.ordered_texts(call, list, texts);
        }
        let direct = usize::from(call.function != A::Mode);
        if list.len() != direct {
            return Ok(false);
        }
        for bound in list {
            let Some(fraction) = self.coerce_aggregated(bound, DataType::Double)? else {
                return Ok(false);
            };
            call.arguments.push(fraction);
        }
        if let Some(first) = call.order_by.first_mut() {
            first.expr = key.clone();
        }
        call.ty = result_of(key.ty);
        if call.function == A::PercentileCont {
            let ty = match category(key.ty) {
                Category::Number => DataType::Double,
                Category::Span => DataType::INTERVAL,
                _ => return Ok(false),
            };
            let key = self.coerce(Bound::new(key, None), ty, Context::Implicit)?;
            if let Some(first) = call.order_by.first_mut() {
                first.expr = key;
            }
            call.ty = ty;
        }
        Ok(true)
    }
}

/// True when `call`, which belongs to `level`, is volatile.
///
/// # Errors
/// 42803 for aggregates and window functions inside of it.
fn check_inside(level: &Level, call: &AggregateCall, at: Place) -> Result<bool> {
    let (mut nested, mut windowed, mut volatile) = (false, false, false);
    call.each_expr(&mut |expr| {
        volatile |= is_volatile(expr);
        expr.each_column(&mut |id| {
            nested |= level.aggregates.iter().any(|(known, _)| *known == id);
            windowed |= level.windows.iter().any(|(known, _)| *known == id);
        });
    });
    if nested {
        let message = "aggregate function calls cannot be nested";
        return fail(SqlState::GROUPING_ERROR, message, at);
    }
    if windowed {
        let message = "aggregate function calls cannot contain window function calls";
        return fail(SqlState::GROUPING_ERROR, message, at);
    }
    Ok(volatile)
}

/// # Errors
/// 42809 for WITHIN GROUP of other aggregates than ordered-set ones, and for those without it;
/// 42601 beside ORDER BY.
fn check_within_group(
    function: &ast::Function,
    kind: A,
    name: &str,
    written: &CallArguments<'_>,
) -> Result<()> {
    let at = object_at(&function.name);
    let ordered_set = is_ordered_set(kind);
    if ordered_set == function.within_group.is_empty() {
        let message = if ordered_set {
            format!("WITHIN GROUP is required for ordered-set aggregate {name}")
        } else {
            format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP")
        };
        return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
    }
    if ordered_set && !written.order_by.is_empty() {
        let message = "cannot use multiple ORDER BY clauses with WITHIN GROUP";
        return fail(SqlState::SYNTAX_ERROR, message, at);
    }
    Ok(())
}

/// True for an aggregate of the rows of a group in the order of WITHIN GROUP.
fn is_ordered_set(function: A) -> bool {
    matches!(function, A::PercentileCont | A::PercentileDisc | A::Mode)
}

/// The expression of whose values a call finds one: its argument, or what it orders.
fn ranked_argument(call: &AggregateCall) -> Option<&Expr> {
    match call.function {
        A::PercentileDisc | A::Mode => call.order_by.first().map(|key| &key.expr),
        _ => call.arguments.first(),
    }
}

/// The value of a call of the function `name`, of which `collected` is the result.
pub(super) fn found_value(name: &str, collected: Expr, argument: Option<&Expr>) -> Expr {
    told_from_key(argument, packed_collected(name, collected))
}

fn not_here(clause: Clause, at: Place) -> Error {
    let message = format!("aggregate functions are not allowed in {}", clause.name());
    place(Error::new(SqlState::GROUPING_ERROR, message), at)
}

fn is_of_pairs(function: A) -> bool {
    matches!(
        function,
        A::CovarPop
            | A::CovarSamp
            | A::Corr
            | A::RegrSlope
            | A::RegrIntercept
            | A::RegrR2
            | A::RegrAvgX
            | A::RegrAvgY
            | A::RegrSxx
            | A::RegrSyy
            | A::RegrSxy
    )
}

fn count_rows(
    kind: A,
    name: &str,
    written: &CallArguments<'_>,
    filter: Option<Expr>,
    at: Place,
) -> Result<AggregateCall> {
    if kind != A::Count || !written.list.is_empty() {
        let message = format!("function {name}() does not exist");
        return Err(super::unmatched::no_function(message, at));
    }
    Ok(AggregateCall {
        function: A::CountRows,
        arguments: Vec::new(),
        duplicates: Duplicates::Keep,
        filter,
        order_by: Vec::new(),
        ty: DataType::BigInt,
    })
}

/// DISTINCT and ORDER BY of a call: only kept where they change the result.
fn finish(call: &mut AggregateCall, at: Place) -> Result<()> {
    let ordered_set = matches!(call.function, A::PercentileCont | A::PercentileDisc | A::Mode);
    if ordered_set {
        if call.duplicates == Duplicates::Remove {
            return unsupported("DISTINCT in an ordered-set aggregate", at);
        }
        return Ok(());
    }
    let foreign = |key: &SortKey| {
        let is_it = |argument: &Expr| {
            let plain = without_collation(argument);
            *argument == key.expr || plain == &key.expr || plain == unkeyed(&key.expr)
        };
        !call.arguments.iter().any(is_it)
    };
    if call.duplicates == Duplicates::Remove && call.order_by.iter().any(foreign) {
        let message =
            "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
        return fail(SqlState::INVALID_COLUMN_REFERENCE, message, at);
    }
    if !matches!(call.function, A::StringAgg | A::ArrayAgg | A::AnyValue) {
        call.order_by.clear();
    }
    if matches!(
        call.function,
        A::Min | A::Max | A::BoolAnd | A::BoolOr | A::BitAnd | A::BitOr | A::AnyValue
    ) {
        call.duplicates = Duplicates::Keep;
    }
    Ok(())
}

/// The result of an aggregate of one argument; None when there is no such overload.
fn result_type(digits: Digits, function: A, ty: DataType) -> Option<DataType> {
    let exact = as_numeric(ty);
    Some(match function {
        A::Count => DataType::BigInt,
        A::Sum => match (ty, exact) {
            (DataType::SmallInt | DataType::Integer, _) => DataType::BigInt,
            (_, Some(numeric)) => digits.total(numeric),
            _ if ty.is_numeric() => DataType::NUMERIC,
            (DataType::Real | DataType::Double | DataType::Interval(_), _) => ty.of_all_digits(),
            _ => return None,
        },
        A::Avg => match ty {
            _ if is_exact(ty) => DataType::NUMERIC,
            DataType::Real | DataType::Double => DataType::Double,
            DataType::Interval(_) => DataType::INTERVAL,
            _ => return None,
        },
        A::StddevPop | A::StddevSamp | A::VarPop | A::VarSamp => match ty {
            _ if is_exact(ty) => DataType::NUMERIC,
            DataType::Real | DataType::Double => DataType::Double,
            _ => return None,
        },
        A::Min | A::Max => match ty {
            DataType::Boolean | DataType::Json | DataType::Jsonb | DataType::Record(_) => {
                return None;
            }
            ty if has_key(ty) => return None,
            DataType::Packed(PackedType::Cidr) => DataType::Packed(PackedType::Inet),
            DataType::Packed(ty) if !has_extremes(ty) => return None,
            ty if ty.is_plain_text() || matches!(ty, DataType::Varchar(_)) => DataType::Text,
            ty => result_of(ty),
        },
        A::BitAnd | A::BitOr | A::BitXor if ty.is_integer() => ty,
        A::AnyValue => result_of(ty),
        // Of arrays it makes one of another dimension.
        A::ArrayAgg if ty.is_array() && ty.without_vector() == ty => result_of(ty),
        A::ArrayAgg => return DataType::array_of(result_of(ty)),
        _ => return None,
    })
}

/// The arguments of a call with the clauses inside its parentheses.
pub(super) fn call_arguments(function: &ast::Function) -> Result<CallArguments<'_>> {
    let at = object_at(&function.name);
    let ast::FunctionArguments::List(list) = &function.args else {
        return fail(SqlState::SYNTAX_ERROR, "an aggregate takes arguments", at);
    };
    let mut written = CallArguments {
        star: false,
        list: Vec::new(),
        duplicates: match list.duplicate_treatment {
            Some(ast::DuplicateTreatment::Distinct) => Duplicates::Remove,
            _ => Duplicates::Keep,
        },
        order_by: &[],
    };
    for arg in &list.args {
        match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => written.star = true,
            arg => written.list.push(arg),
        }
    }
    for clause in &list.clauses {
        match clause {
            ast::FunctionArgumentClause::OrderBy(items) => written.order_by = items,
            ast::FunctionArgumentClause::IgnoreOrRespectNulls(_) => {
                return unsupported("IGNORE NULLS", at);
            }
            other => return unsupported(format!("{other} inside a call"), at),
        }
    }
    if written.star && written.duplicates == Duplicates::Remove {
        let first = list.args.first();
        let at = first.and_then(|arg| match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => expr_at(expr),
            _ => None,
        });
        return fail(SqlState::SYNTAX_ERROR, "DISTINCT * is not allowed in a call", at);
    }
    Ok(written)
}

/// An error about a window or aggregate with its place.
pub(super) fn misplaced(state: SqlState, message: &str, at: Place) -> Error {
    place(Error::new(state, message), at)
}
