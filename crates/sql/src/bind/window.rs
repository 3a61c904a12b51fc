//! Window functions: named windows, frames, calls.

use sqlparser::ast;
use types::{DataType, Interval, NumericType, Result, SqlState, Value};

use super::aggregate::{call_arguments, found_value, is_aggregate, misplaced};
use super::json::JsonAggregate;
use super::name::{ident_at, object_at};
use super::scope::Clause;
use super::types::{Category, Context, as_numeric, can_cast, category, result_of};
use super::zone::is_of_hours;
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{
    AggregateCall, Direction, Duplicates, Expr, FrameBound, FrameExclusion, FrameUnits, Function,
    Place, SortKey, WindowCall, WindowFrame, WindowFunction,
};
use crate::parse::{EXCLUDE, folded};

/// True for the name of a function that needs OVER.
pub(super) fn is_window_function(name: &str) -> bool {
    function_named(name).is_some()
}

fn function_named(name: &str) -> Option<WindowFunction> {
    Some(match name {
        "row_number" => WindowFunction::RowNumber,
        "rank" => WindowFunction::Rank,
        "dense_rank" => WindowFunction::DenseRank,
        "percent_rank" => WindowFunction::PercentRank,
        "cume_dist" => WindowFunction::CumeDist,
        "ntile" => WindowFunction::Ntile,
        "lag" => WindowFunction::Lag,
        "lead" => WindowFunction::Lead,
        "first_value" => WindowFunction::FirstValue,
        "last_value" => WindowFunction::LastValue,
        "nth_value" => WindowFunction::NthValue,
        _ => return None,
    })
}

/// A call without partitions, order and filter, over all rows.
fn window_call(function: WindowFunction, arguments: Vec<Expr>, ty: DataType) -> WindowCall {
    WindowCall {
        function,
        arguments,
        partition_by: Vec::new(),
        order_by: Vec::new(),
        frame: whole_frame(),
        filter: None,
        ty,
    }
}

/// An aggregate over the rows of a frame.
///
/// # Errors
/// 0A000 for DISTINCT and ORDER BY.
fn over_rows(aggregate: AggregateCall, at: Place) -> Result<WindowCall> {
    if aggregate.duplicates == Duplicates::Remove {
        return unsupported("DISTINCT in a window function", at);
    }
    if !aggregate.order_by.is_empty() {
        return unsupported("ORDER BY in the arguments of a window function", at);
    }
    let kind = WindowFunction::Aggregate(aggregate.function);
    let call = window_call(kind, aggregate.arguments, aggregate.ty);
    Ok(WindowCall { filter: aggregate.filter, ..call })
}

impl Binder<'_> {
    /// Keeps the WINDOW clause, each window resolved to one without a name of its own.
    pub(super) fn define_windows(
        &mut self,
        definitions: &[ast::NamedWindowDefinition],
    ) -> Result<()> {
        for definition in definitions {
            let ast::NamedWindowDefinition(ident, body) = definition;
            let name = folded(ident);
            if self.level()?.named_windows.iter().any(|(known, _)| *known == name) {
                let message = format!("window \"{name}\" is already defined");
                return fail(SqlState::WINDOWING_ERROR, message, ident_at(ident));
            }
            let spec = match body {
                ast::NamedWindowExpr::NamedWindow(other) => self.named_window(other)?,
                ast::NamedWindowExpr::WindowSpec(spec) => self.complete_window(spec)?,
            };
            self.level()?.named_windows.push((name, spec));
        }
        Ok(())
    }

    fn named_window(&mut self, ident: &ast::Ident) -> Result<ast::WindowSpec> {
        let name = folded(ident);
        let level = self.level()?;
        match level.named_windows.iter().find(|(known, _)| *known == name) {
            Some((_, spec)) => Ok(spec.clone()),
            None => {
                let message = format!("window \"{name}\" does not exist");
                fail(SqlState::UNDEFINED_OBJECT, message, ident_at(ident))
            }
        }
    }

    /// The window with what it takes over from the one that it names.
    fn complete_window(&mut self, spec: &ast::WindowSpec) -> Result<ast::WindowSpec> {
        let Some(ident) = &spec.window_name else {
            return Ok(spec.clone());
        };
        let base = self.named_window(ident)?;
        let (name, at) = (folded(ident), ident_at(ident));
        let (own, others): (Vec<ast::Expr>, Vec<ast::Expr>) =
            spec.partition_by.iter().cloned().partition(|expr| exclusion_of(expr).is_some());
        if !others.is_empty() {
            let message = format!("cannot override PARTITION BY clause of window \"{name}\"");
            return fail(SqlState::WINDOWING_ERROR, message, at);
        }
        if !spec.order_by.is_empty() && !base.order_by.is_empty() {
            let message = format!("cannot override ORDER BY clause of window \"{name}\"");
            return fail(SqlState::WINDOWING_ERROR, message, at);
        }
        if base.window_frame.is_some() {
            let message = format!("cannot copy window \"{name}\" because it has a frame clause");
            return fail(SqlState::WINDOWING_ERROR, message, at);
        }
        Ok(ast::WindowSpec {
            window_name: None,
            partition_by: own.into_iter().chain(base.partition_by).collect(),
            order_by: if spec.order_by.is_empty() { base.order_by } else { spec.order_by.clone() },
            window_frame: spec.window_frame.clone(),
        })
    }

    /// A call with OVER; a fresh column of the level stands for it.
    pub(super) fn bind_window_call(
        &mut self,
        function: &ast::Function,
        name: &str,
        over: &ast::WindowType,
    ) -> Result<Bound> {
        let at = object_at(&function.name);
        let clause = self.level()?.clause;
        if !clause.takes_windows() {
            let message = format!("window functions are not allowed in {}", clause.name());
            return Err(misplaced(SqlState::WINDOWING_ERROR, &message, at));
        }
        if function.null_treatment == Some(ast::NullTreatment::IgnoreNulls) {
            return unsupported("IGNORE NULLS", at);
        }
        let spec = match over {
            ast::WindowType::NamedWindow(ident) => self.named_window(ident)?,
            ast::WindowType::WindowSpec(spec) => self.complete_window(spec)?,
        };
        let series = self.series_mark()?;
        let (spec, exclusion) = without_exclusion(spec);
        let (mut call, fold) = match self.own_aggregate(function)? {
            Some((aggregate, fold)) => (over_rows(aggregate, at)?, Some(fold)),
            None => (self.window_function(function, name, at)?, None),
        };
        let message = "window function calls cannot contain set-returning function calls";
        self.refuse_series_since(series, message)?;
        for expr in &spec.partition_by {
            let mut bound = self.bind_expr(expr)?;
            self.settle(&mut bound)?;
            let key = self.equated(bound.expr, bound.at)?;
            call.partition_by.push(key);
        }
        call.order_by = self.bind_sort_keys(&spec.order_by)?;
        if let Some(frame) = &spec.window_frame {
            if has_offsets(frame) {
                call.order_by.iter_mut().for_each(make_countable);
            }
            call.frame = self.bind_frame(frame, &call.order_by, at)?;
            call.frame.exclusion = exclusion;
        }
        let level = self.level()?;
        let mut nested = false;
        call.each_expr(&mut |expr| {
            expr.each_column(&mut |id| {
                nested |= level.windows.iter().any(|(known, _)| *known == id);
            });
        });
        if nested {
            let message = "window function calls cannot be nested";
            return Err(misplaced(SqlState::WINDOWING_ERROR, message, at));
        }
        let ty = call.ty;
        let argument = call.arguments.first().cloned();
        let json = JsonAggregate::named(name);
        let collected = |binder: &mut Self, id| match (fold, json) {
            (Some(fold), _) => fold.of(Expr::column(id, ty)),
            (None, Some(json)) => {
                binder.json_collected(json, Expr::column(id, ty), argument.as_ref())
            }
            (None, None) => found_value(name, Expr::column(id, ty), argument.as_ref()),
        };
        if let Some((id, _)) = level.windows.iter().find(|(_, known)| *known == call) {
            let id = *id;
            return Ok(Bound::new(collected(self, id), at));
        }
        let id = self.fresh_of(&call.arguments)?;
        self.level()?.windows.push((id, call));
        Ok(Bound::new(collected(self, id), at))
    }

    /// The function with its arguments; partition, order and frame are filled in by the caller.
    fn window_function(
        &mut self,
        function: &ast::Function,
        name: &str,
        at: Place,
    ) -> Result<WindowCall> {
        if is_aggregate(name) {
            return over_rows(self.aggregate_call(function, name)?, at);
        }
        let Some(kind) = function_named(name) else {
            let message =
                format!("OVER specified, but {name} is not a window function nor an aggregate");
            return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
        };
        if function.filter.is_some() {
            let message = "FILTER is not implemented for non-aggregate window functions";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        let written = call_arguments(function)?;
        let mut list = Vec::with_capacity(written.list.len());
        for arg in &written.list {
            let mut bound = self.bind_plain_argument(arg)?;
            if list.is_empty() && kind != WindowFunction::Ntile {
                self.settle(&mut bound)?;
            }
            list.push(bound);
        }
        let hypothetical = matches!(
            kind,
            WindowFunction::Rank
                | WindowFunction::DenseRank
                | WindowFunction::PercentRank
                | WindowFunction::CumeDist
        );
        if hypothetical && !list.is_empty() {
            let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
            return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
        }
        let types: Vec<&str> = list.iter().map(|bound: &Bound| bound.ty().name()).collect();
        let message = format!("function {name}({}) does not exist", types.join(", "));
        match self.window_arguments(kind, list)? {
            Some((arguments, ty)) if !written.star => Ok(window_call(kind, arguments, ty)),
            _ => Err(super::unmatched::no_function(message, at)),
        }
    }

    /// Arguments, completed, and the result's type; None when there is no such overload.
    fn window_arguments(
        &mut self,
        function: WindowFunction,
        mut list: Vec<Bound>,
    ) -> Result<Option<(Vec<Expr>, DataType)>> {
        use WindowFunction as W;
        let count = list.len();
        Ok(match (function, count) {
            (W::RowNumber | W::Rank | W::DenseRank, 0) => Some((Vec::new(), DataType::BigInt)),
            (W::PercentRank | W::CumeDist, 0) => Some((Vec::new(), DataType::Double)),
            (W::Ntile, 1) => {
                let Some(buckets) = list.pop() else {
                    return Ok(None);
                };
                let buckets = self.coerce(buckets, DataType::Integer, Context::Implicit)?;
                Some((vec![buckets], DataType::Integer))
            }
            (W::FirstValue | W::LastValue, 1) => {
                let ty = result_of(list.first().map_or(DataType::Unknown, Bound::ty));
                Some((list.into_iter().map(|bound| bound.expr).collect(), ty))
            }
            (W::NthValue, 2) => {
                let (Some(number), Some(value)) = (list.pop(), list.pop()) else {
                    return Ok(None);
                };
                let number = self.coerce(number, DataType::Integer, Context::Implicit)?;
                let ty = result_of(value.ty());
                Some((vec![value.expr, number], ty))
            }
            (W::Lag | W::Lead, 1..=3) => {
                let default = match count {
                    3 => list.pop(),
                    _ => None,
                };
                let offset = match count {
                    1 => None,
                    _ => list.pop(),
                };
                let Some(value) = list.pop() else {
                    return Ok(None);
                };
                let default =
                    default.unwrap_or_else(|| Bound::new(Expr::null(DataType::Unknown), None));
                let offset = offset.unwrap_or_else(|| Bound::new(Expr::integer(1), None));
                let offset = self.coerce(offset, DataType::Integer, Context::Implicit)?;
                let (mut united, ty) = self.unite(vec![value, default], "LAG")?;
                united.insert(1, offset);
                Some((united, result_of(ty)))
            }
            _ => None,
        })
    }

    fn bind_frame(
        &mut self,
        frame: &ast::WindowFrame,
        order_by: &[SortKey],
        at: Place,
    ) -> Result<WindowFrame> {
        let units = match frame.units {
            ast::WindowFrameUnits::Rows => FrameUnits::Rows,
            ast::WindowFrameUnits::Range => FrameUnits::Range,
            ast::WindowFrameUnits::Groups => FrameUnits::Groups,
        };
        if units == FrameUnits::Groups && order_by.is_empty() {
            let message = "GROUPS mode requires an ORDER BY clause";
            return Err(misplaced(SqlState::WINDOWING_ERROR, message, at));
        }
        self.check_ends(frame, at)?;
        let start = self.bind_frame_bound(&frame.start_bound, units, order_by, at)?;
        let end = match &frame.end_bound {
            Some(bound) => self.bind_frame_bound(bound, units, order_by, at)?,
            None => FrameBound::CurrentRow,
        };
        Ok(WindowFrame { units, start, end, exclusion: FrameExclusion::NoOthers })
    }

    /// Refuses frames that end before they start.
    fn check_ends(&self, frame: &ast::WindowFrame, at: Place) -> Result<()> {
        use ast::WindowFrameBound as B;
        let end = frame.end_bound.as_ref().unwrap_or(&B::CurrentRow);
        let message = match (&frame.start_bound, end) {
            (B::Following(None), _) => "frame start cannot be UNBOUNDED FOLLOWING",
            (_, B::Preceding(None)) => "frame end cannot be UNBOUNDED PRECEDING",
            (B::CurrentRow, B::Preceding(_)) => {
                "frame starting from current row cannot have preceding rows"
            }
            (B::Following(_), B::CurrentRow | B::Preceding(_)) => match frame.end_bound {
                Some(B::Preceding(_)) => {
                    "frame starting from following row cannot have preceding rows"
                }
                _ => "frame starting from following row cannot end with current row",
            },
            _ => return Ok(()),
        };
        Err(misplaced(SqlState::WINDOWING_ERROR, message, at))
    }

    fn bind_frame_bound(
        &mut self,
        bound: &ast::WindowFrameBound,
        units: FrameUnits,
        order_by: &[SortKey],
        at: Place,
    ) -> Result<FrameBound> {
        let preceding = matches!(bound, ast::WindowFrameBound::Preceding(_));
        let distance = match bound {
            ast::WindowFrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::WindowFrameBound::Preceding(None) => return Ok(FrameBound::UnboundedPreceding),
            ast::WindowFrameBound::Following(None) => return Ok(FrameBound::UnboundedFollowing),
            ast::WindowFrameBound::Preceding(Some(expr))
            | ast::WindowFrameBound::Following(Some(expr)) => {
                let seen = self.level()?.references.len();
                let bound = self.in_clause(Clause::Frame(units), |b| b.bind_expr(expr))?;
                if let Some((_, place)) = self.level()?.references.get(seen).copied() {
                    let message =
                        format!("argument of {} must not contain variables", frame_name(units));
                    return fail(SqlState::INVALID_COLUMN_REFERENCE, message, place);
                }
                bound
            }
        };
        let ty = match units {
            FrameUnits::Rows | FrameUnits::Groups => DataType::BigInt,
            FrameUnits::Range => {
                let [key] = order_by else {
                    let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one \
                                   ORDER BY column";
                    return Err(misplaced(SqlState::WINDOWING_ERROR, message, at));
                };
                self.range_offset_type(&key.expr, &distance, at)?
            }
        };
        let place = distance.at;
        let fractional =
            matches!(distance.ty(), DataType::Numeric(_) | DataType::Double | DataType::Real);
        // A number of rows is rounded.
        let distance = if fractional && units != FrameUnits::Range {
            Bound::new(self.coerce(distance, ty, Context::Assignment)?, place)
        } else {
            distance
        };
        let expr = self.coerce_clause(distance, ty, frame_name(units))?;
        let zoned = order_by.first().filter(|key| key.expr.ty.is_timestamptz());
        if let (FrameUnits::Range, Some(key)) = (units, zoned)
            && self.has_zone()
            && !is_of_hours(&expr)
        {
            return self.key_in_zone(key, expr, preceding, place);
        }
        Ok(if preceding { FrameBound::Preceding(expr) } else { FrameBound::Following(expr) })
    }

    /// The type of an offset of RANGE over `key`.
    ///
    /// # Errors
    /// 0A000 for keys and offsets of types that PostgreSQL has no such frames for.
    fn range_offset_type(&mut self, key: &Expr, offset: &Bound, at: Place) -> Result<DataType> {
        let ty = match category(key.ty) {
            // As PostgreSQL, which has offsets of all widths.
            _ if matches!(key.ty, DataType::SmallInt | DataType::Integer) => DataType::BigInt,
            _ if key.ty == DataType::Real => DataType::Double,
            // Digits beyond those of the key count, too.
            Category::Number => match (key.ty, as_numeric(offset.ty())) {
                (DataType::Numeric(_), Some(own)) => DataType::Numeric(own),
                _ => match super::coerce::literal_target(offset, key.ty) {
                    DataType::WideNumeric(_) => DataType::Numeric(NumericType::TRIMMED),
                    ty => ty,
                },
            },
            Category::Time | Category::Span => DataType::INTERVAL,
            _ => {
                let message = format!(
                    "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
                    key.ty.name()
                );
                return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
            }
        };
        let offset_ty = self.retyped(offset.clone()).ty();
        if can_cast(offset_ty, ty, Context::Implicit) {
            return Ok(ty);
        }
        let message = format!(
            "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {} and offset \
             type {}",
            key.ty.name(),
            offset_ty.name()
        );
        let error = types::Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .with_hint("Cast the offset value to an appropriate type.");
        Err(super::place(error, offset.at))
    }

    /// The key at an end of a frame, by the clocks of the session: `key - offset` or
    /// `key + offset`, whichever is towards that end.
    fn key_in_zone(
        &mut self,
        key: &SortKey,
        offset: Expr,
        preceding: bool,
        at: Place,
    ) -> Result<FrameBound> {
        if is_negative(&offset) {
            let message = "invalid preceding or following size in window function";
            return Err(misplaced(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message, at));
        }
        let back = preceding == (key.direction == Direction::Ascending);
        let function = if back { Function::TimestampSubtract } else { Function::TimestampAdd };
        let start = self.refreshed(&Bound::new(key.expr.clone(), at)).expr;
        let ty = DataType::TIMESTAMPTZ;
        Ok(FrameBound::Key(self.call_in_zone(function, vec![start, offset], ty)))
    }
}

/// The window without the name that EXCLUDE became, and what that leaves out.
fn without_exclusion(mut spec: ast::WindowSpec) -> (ast::WindowSpec, FrameExclusion) {
    let exclusion = spec.partition_by.first().and_then(exclusion_of);
    if exclusion.is_some() {
        spec.partition_by.remove(0);
    }
    (spec, exclusion.unwrap_or_default())
}

fn exclusion_of(expr: &ast::Expr) -> Option<FrameExclusion> {
    let ast::Expr::Identifier(ident) = expr else { return None };
    match ident.value.strip_prefix(EXCLUDE)? {
        "current row" => Some(FrameExclusion::CurrentRow),
        "group" => Some(FrameExclusion::Group),
        "ties" => Some(FrameExclusion::Ties),
        _ => None,
    }
}

/// `function() OVER (ORDER BY keys)`, a BIGINT.
pub(super) fn over_order(function: WindowFunction, keys: &[SortKey]) -> WindowCall {
    WindowCall {
        function,
        arguments: Vec::new(),
        partition_by: Vec::new(),
        order_by: keys.to_vec(),
        frame: whole_frame(),
        filter: None,
        ty: DataType::BigInt,
    }
}

fn frame_name(units: FrameUnits) -> &'static str {
    match units {
        FrameUnits::Rows => "ROWS",
        FrameUnits::Range => "RANGE",
        FrameUnits::Groups => "GROUPS",
    }
}

fn is_negative(expr: &Expr) -> bool {
    match expr.as_literal() {
        Some(Value::F64(value)) => *value < 0.0,
        Some(Value::Interval(value)) => *value < Interval::default(),
        Some(value) => value.as_integer().is_some_and(|value| value < 0),
        None => false,
    }
}

/// SQL's default: from the partition's start to the last peer of the current row.
fn whole_frame() -> WindowFrame {
    WindowFrame {
        units: FrameUnits::Range,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::CurrentRow,
        exclusion: FrameExclusion::NoOthers,
    }
}

/// True for RANGE with an offset.
fn has_offsets(frame: &ast::WindowFrame) -> bool {
    use ast::WindowFrameBound as B;
    let is_offset = |bound: &B| matches!(bound, B::Preceding(Some(_)) | B::Following(Some(_)));
    let bounds = std::iter::once(&frame.start_bound).chain(&frame.end_bound);
    frame.units == ast::WindowFrameUnits::Range && bounds.into_iter().any(is_offset)
}

/// Offsets are counted in integers: of a NUMERIC without precision, 38 digits, 16 of them after the
/// point.
fn make_countable(key: &mut SortKey) {
    let plain = super::comparable::unkeyed(&key.expr);
    if let DataType::WideNumeric(_) = plain.ty {
        key.expr = plain.clone().cast(DataType::Numeric(NumericType::TRIMMED));
    }
}
