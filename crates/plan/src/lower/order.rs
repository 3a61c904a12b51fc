//! ORDER BY, LIMIT and window functions.

use hashbrown::HashMap;
use sql::algebra::{
    AggregateFunction, ColumnId, Expr as Logical, ExprKind as LogicalKind,
    FrameBound as LogicalBound, Plan, SortKey as LogicalKey, WindowCall, WindowFunction,
};
use types::Result;

use super::aggregate::is_literal;
use super::expr::{Scope, converted, placeholder};
use super::in_order::InOrder;
use super::index::as_scan;
use super::{Lowered, Lowering};
use crate::column_set::ColumnSet;
use crate::physical::{Expr, FrameBound, Node, Operator, OutputColumn, Window};
use crate::properties::ColumnProperty;
use crate::{cardinality, tree};

/// LIMIT and OFFSET.
type Bounds<'a> = (Option<&'a Logical>, Option<&'a Logical>);

impl Lowering<'_, '_> {
    /// Lowers ORDER BY, with LIMIT when it follows.
    pub(crate) fn sort(
        &mut self,
        input: &Plan,
        keys: &[LogicalKey],
        bounds: Option<Bounds<'_>>,
        needed: &ColumnSet,
    ) -> Result<Lowered> {
        let mut keys: Vec<LogicalKey> =
            keys.iter().filter(|key| !is_literal(&key.expr)).cloned().collect();
        if let Some(ordered) = self.sort_below(input, &keys, bounds, needed)? {
            return Ok(ordered);
        }
        let mut below = needed.clone();
        keys.iter().for_each(|key| tree::mention(&key.expr, &mut below));
        let mut lowered = self.lower(input, &below)?;
        let wanted = bounds.and_then(rows_wanted);
        let is_in_order = self.is_in_order(&mut lowered, &keys, wanted)?;
        if is_in_order {
            keys.clear();
        }
        let mut lowered = self.with_columns(lowered, keys.iter_mut().map(|key| &mut key.expr))?;
        let (limit, offset) = self.bounds(bounds.unwrap_or((None, None)))?;
        let mut keys = self.sort_keys(&keys, &lowered)?;
        let (mut walk, mut near) = (None, None);
        let found = if is_in_order {
            InOrder::Yes
        } else {
            self.by_order(&mut lowered.node, &keys, wanted)
        };
        match found {
            InOrder::Yes if bounds.is_none() => return Ok(lowered),
            InOrder::Yes => keys.clear(),
            InOrder::Walk(index) => walk = Some(index),
            InOrder::No => near = self.by_distance(input, &lowered.node, &keys, wanted),
        }
        let output = lowered.node.output.clone();
        let mut properties = lowered.properties;
        if let Some((limit, _)) = bounds {
            properties = cardinality::limited(limit, properties);
        }
        let input = Box::new(lowered.node);
        let operator = if keys.is_empty() {
            Operator::Limit { input, limit, offset }
        } else {
            Operator::Sort { input, keys, limit, offset }
        };
        let mut node = self.node(operator, output, properties.rows);
        if let Some(index) = walk {
            node = self.walk(*index, node);
        }
        if let Some(index) = near {
            node = self.near_walk(index, node);
        }
        Ok(Lowered { node, columns: lowered.columns, properties })
    }

    /// The same where `input` computes the expressions that rows are ordered by, and an index below
    /// has their order; None where none does.
    fn sort_below(
        &mut self,
        input: &Plan,
        keys: &[LogicalKey],
        bounds: Option<Bounds<'_>>,
        needed: &ColumnSet,
    ) -> Result<Option<Lowered>> {
        let Plan::Project { input, columns } = input else { return Ok(None) };
        let is_fixed = !columns.iter().any(|(_, expr)| tree::is_volatile(expr));
        if !is_fixed || !has_expression_index(input) {
            return Ok(None);
        }
        let map: HashMap<ColumnId, Logical> = columns.iter().cloned().collect();
        let mut keys = keys.to_vec();
        keys.iter_mut().for_each(|key| tree::substitute(&mut key.expr, &map));
        let kept = super::kept(columns, needed);
        let mut below = ColumnSet::default();
        kept.iter().for_each(|(_, expr)| tree::mention(expr, &mut below));
        keys.iter().for_each(|key| tree::mention(&key.expr, &mut below));
        let mut lowered = self.lower(input, &below)?;
        if !self.is_in_order(&mut lowered, &keys, bounds.and_then(rows_wanted))? {
            return Ok(None);
        }
        let lowered = match bounds {
            Some(bounds) => self.bounded(lowered, bounds)?,
            None => lowered,
        };
        self.project(lowered, kept).map(Some)
    }

    /// Makes a scan give its rows in an order that expressions are a part of, by an index over
    /// these, which then nobody computes; false where none does.
    fn is_in_order(
        &mut self,
        lowered: &mut Lowered,
        keys: &[LogicalKey],
        wanted: Option<f64>,
    ) -> Result<bool> {
        if keys.iter().all(|key| tree::as_column(&key.expr).is_some()) {
            return Ok(false);
        }
        let is_scan = |node: &Node| matches!(node.operator, Operator::Scan { .. });
        if !is_scan(as_scan(&lowered.node)) {
            return Ok(false);
        }
        let keys = self.sort_keys(keys, lowered)?;
        Ok(matches!(self.by_order(&mut lowered.node, &keys, wanted), InOrder::Yes))
    }

    /// `lowered` with a further column for each expression that is none; the expressions become
    /// columns.
    fn with_columns<'e>(
        &mut self,
        lowered: Lowered,
        exprs: impl Iterator<Item = &'e mut Logical>,
    ) -> Result<Lowered> {
        let mut columns: Vec<(ColumnId, Logical)> = Vec::new();
        for (id, output) in lowered.columns.iter().zip(&lowered.node.output) {
            columns.push((*id, tree::column(*id, output.ty)));
        }
        let mut computed = false;
        for expr in exprs {
            if !tree::is_constant(expr) {
                computed |= self.make_column(expr, &mut columns);
            }
        }
        if computed { self.project(lowered, columns) } else { Ok(lowered) }
    }

    fn bounds(&mut self, (limit, offset): Bounds<'_>) -> Result<(Option<Expr>, Option<Expr>)> {
        let none = Scope::none();
        let limit = limit.map(|e| self.expr_in(e, &none)).transpose()?;
        let offset = offset.map(|e| self.expr_in(e, &none)).transpose()?;
        Ok((limit, offset))
    }

    /// Lowers LIMIT and OFFSET, as part of a sort below where there is one.
    pub(crate) fn limit(
        &mut self,
        input: &Plan,
        limit: Option<&Logical>,
        offset: Option<&Logical>,
        needed: &ColumnSet,
    ) -> Result<Lowered> {
        match input {
            Plan::Sort { input, keys } => self.sort(input, keys, Some((limit, offset)), needed),
            // Rows that OFFSET skips have their volatile columns computed, too.
            Plan::Project { input, columns }
                if offset.is_none() || !columns.iter().any(|(_, e)| tree::is_volatile(e)) =>
            {
                let kept = super::kept(columns, needed);
                let mut below = ColumnSet::default();
                kept.iter().for_each(|(_, e)| tree::mention(e, &mut below));
                let lowered = self.limit(input, limit, offset, &below)?;
                self.project(lowered, kept)
            }
            _ => {
                let lowered = self.lower(input, needed)?;
                self.bounded(lowered, (limit, offset))
            }
        }
    }

    /// The rows of `lowered` within bounds.
    fn bounded(&mut self, lowered: Lowered, bounds: Bounds<'_>) -> Result<Lowered> {
        let (limit, offset) = self.bounds(bounds)?;
        let output = lowered.node.output.clone();
        let properties = cardinality::limited(bounds.0, lowered.properties);
        let operator = Operator::Limit { input: Box::new(lowered.node), limit, offset };
        let node = self.node(operator, output, properties.rows);
        Ok(Lowered { node, columns: lowered.columns, properties })
    }

    /// Lowers window functions.
    pub(crate) fn window(
        &mut self,
        input: &Plan,
        calls: &[(ColumnId, WindowCall)],
        needed: &ColumnSet,
    ) -> Result<Lowered> {
        let mut calls: Vec<_> =
            calls.iter().filter(|(id, _)| needed.contains(*id)).cloned().collect();
        let mut below = needed.clone();
        for (_, call) in &calls {
            tree::window_exprs(call, &mut |e| tree::mention(e, &mut below));
        }
        let lowered = self.lower(input, &below)?;
        if calls.is_empty() {
            return Ok(lowered);
        }
        let mut exprs = Vec::new();
        for (_, call) in &mut calls {
            tree::window_exprs_mut(call, &mut |e| exprs.push(e));
        }
        let lowered = self.with_columns(lowered, exprs.into_iter())?;
        let mut windows = Vec::with_capacity(calls.len());
        let mut output = lowered.node.output.clone();
        let mut columns = lowered.columns.clone();
        let mut properties = lowered.properties.clone();
        for (id, call) in &calls {
            let window = self.window_call(call, &lowered)?;
            let name = self.names.get(id).cloned().unwrap_or_else(|| "window".into());
            output.push(OutputColumn { name, ty: call.ty, physical: window.physical });
            columns.push(*id);
            properties.columns.insert(*id, ColumnProperty::unknown(properties.rows, call.ty));
            windows.push(window);
        }
        let operator = Operator::Window { input: Box::new(lowered.node), calls: windows };
        let node = self.node(operator, output, properties.rows);
        Ok(Lowered { node, columns, properties })
    }

    fn window_call(&mut self, call: &WindowCall, lowered: &Lowered) -> Result<Window> {
        let mut list = |exprs: &[Logical]| -> Result<Vec<Expr>> {
            exprs.iter().map(|e| self.expr(e, lowered)).collect()
        };
        let mut arguments = list(&call.arguments)?;
        let physical = call.ty.physical();
        // The value of an argument is the result, also where ranges allow narrower ones.
        for number in value_arguments(call.function) {
            if let Some(argument) = arguments.get_mut(*number) {
                let value = std::mem::replace(argument, placeholder());
                *argument = converted(value, call.ty, physical);
            }
        }
        let partition_by = list(&call.partition_by)?;
        let filter = call.filter.as_ref().map(|e| self.expr(e, lowered)).transpose()?;
        let order_by = self.sort_keys(&call.order_by, lowered)?;
        Ok(Window {
            function: call.function,
            arguments,
            partition_by,
            order_by,
            units: call.frame.units,
            start: self.frame_bound(&call.frame.start, lowered)?,
            end: self.frame_bound(&call.frame.end, lowered)?,
            exclusion: call.frame.exclusion,
            filter,
            ty: call.ty,
            physical,
        })
    }

    fn frame_bound(&mut self, bound: &LogicalBound, lowered: &Lowered) -> Result<FrameBound> {
        Ok(match bound {
            LogicalBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            LogicalBound::Preceding(e) if !tree::mentioned(e).is_empty() => {
                FrameBound::OuterPreceding(self.expr(e, lowered)?)
            }
            LogicalBound::Following(e) if !tree::mentioned(e).is_empty() => {
                FrameBound::OuterFollowing(self.expr(e, lowered)?)
            }
            LogicalBound::Preceding(e) => FrameBound::Preceding(self.expr(e, lowered)?),
            LogicalBound::CurrentRow => FrameBound::CurrentRow,
            LogicalBound::Following(e) => FrameBound::Following(self.expr(e, lowered)?),
            LogicalBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
            LogicalBound::Key(e) => FrameBound::Key(self.expr(e, lowered)?),
        })
    }
}

/// Rows wanted that are not known before the query runs.
const ROWS_WANTED: f64 = 100.0;

/// True for a scan of a table that has an index over expressions.
fn has_expression_index(plan: &Plan) -> bool {
    match plan {
        Plan::Filter { input, .. } => has_expression_index(input),
        Plan::Scan { table, .. } => {
            table.indexes().iter().any(|index| !index.terms.expressions.is_empty())
        }
        _ => false,
    }
}

/// The first rows that somebody wants.
fn rows_wanted((limit, offset): Bounds<'_>) -> Option<f64> {
    let rows = |expr: &Logical| match &expr.kind {
        LogicalKind::Literal(value) => value.as_integer().map(|rows| rows as f64),
        _ => tree::is_constant(expr).then_some(ROWS_WANTED),
    };
    Some(rows(limit?)? + offset.map_or(Some(0.0), rows)?)
}

/// Numbers of the arguments of which `function` gives one.
fn value_arguments(function: WindowFunction) -> &'static [usize] {
    use WindowFunction as F;
    match function {
        F::FirstValue | F::LastValue | F::NthValue => &[0],
        F::Lag | F::Lead => &[0, 2],
        F::Aggregate(AggregateFunction::Min | AggregateFunction::Max) => &[0],
        _ => &[],
    }
}
