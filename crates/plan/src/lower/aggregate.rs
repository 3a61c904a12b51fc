//! GROUP BY and DISTINCT.
//!
//! Keys that another key decides become `AnyValue` aggregates (a table's key decides its other
//! columns); keys and arguments become plain columns of one projection below, what is computed once
//! per group one above (`reduce`).

use sql::algebra::{
    AggregateCall, AggregateFunction, ColumnId, Duplicates, Expr as Logical, ExprKind, Plan,
};
use types::{DataType, PhysicalType, Result};

use super::{Lowered, Lowering, reduce};
use crate::column_set::ColumnSet;
use crate::physical::{Aggregate, AggregateMode, Operator, OutputColumn, ScanRows, SortKey};
use crate::properties::Properties;
use crate::{AggregatePlace, JoinBelow, Technique, bounds, cardinality, range, tree};

/// Most slots of a dense aggregation.
const DENSE_SLOTS: u128 = 16 << 20;
/// Most build rows per joined row of a group join, whose arrays have a state for each.
const BUILD_ROWS: f64 = 4.0;

/// Tells the scan below `operator` that its smallest and largest values are enough, where these
/// alone are aggregated. NULLs are passed over by both aggregates, and values that come twice
/// change neither.
fn ends_only(operator: &mut Operator) {
    let Operator::Aggregate { input, aggregates, mode: AggregateMode::Scalar, .. } = operator
    else {
        return;
    };
    let is_end = |call: &Aggregate| {
        let column = |e: &crate::physical::Expr| {
            let has_order = is_ordered_as_stored(e.ty);
            has_order && matches!(e.kind, crate::physical::ExprKind::Column(_))
        };
        matches!(call.function, AggregateFunction::Min | AggregateFunction::Max)
            && call.filter.is_none()
            && call.arguments.iter().all(column)
    };
    if aggregates.is_empty() || !aggregates.iter().all(is_end) {
        return;
    }
    let scan = match &mut input.operator {
        Operator::IndexScan { scan, .. } => &mut scan.operator,
        operator => operator,
    };
    if let Operator::Scan { rows, residual: None, .. } = scan {
        *rows = ScanRows::Ends;
    }
}

/// True for types whose stored form has the order of their values.
fn is_ordered_as_stored(ty: DataType) -> bool {
    use DataType as D;
    let is_number = matches!(
        ty,
        D::SmallInt | D::Integer | D::BigInt | D::Oid | D::Real | D::Double | D::Numeric(_)
    );
    let is_time = matches!(ty, D::Date | D::Time(_) | D::Timestamp(_) | D::TimestampTz(_));
    is_number || is_time || matches!(ty, D::WideNumeric(_) | D::Text | D::Varchar(_))
}

pub(super) type Keys = Vec<(ColumnId, Logical)>;
pub(super) type Calls = Vec<(ColumnId, AggregateCall)>;

/// GROUP BY, ready for its operator.
struct Grouping {
    keys: Keys,
    calls: Calls,
    /// Keys of each grouping set.
    sets: Option<Vec<Vec<usize>>>,
    mode: AggregateMode,
}

impl Lowering<'_, '_> {
    /// Lowers GROUP BY.
    pub(crate) fn aggregate(&mut self, plan: &Plan, needed: &ColumnSet) -> Result<Lowered> {
        let Plan::Aggregate { input, keys, aggregates, grouping_sets, set_column } = plan else {
            return Err(types::Error::internal("an aggregation was expected"));
        };
        let calls: Calls =
            aggregates.iter().filter(|(id, _)| needed.contains(*id)).cloned().collect();
        if keys.is_empty()
            && grouping_sets.is_none()
            && let Some(lowered) = self.ends(input, &calls)?
        {
            return Ok(lowered);
        }
        let mut read = ColumnSet::default();
        keys.iter().for_each(|(_, e)| tree::mention(e, &mut read));
        for (_, call) in &calls {
            tree::aggregate_exprs(call, &mut |e| tree::mention(e, &mut read));
        }
        let lowered = self.lower(input, &read)?;
        let whole = (keys.clone(), calls);
        let Some(sets) = grouping_sets else {
            return self.group(lowered, whole.0, whole.1, needed);
        };
        let derived = Plan::Aggregate {
            input: Box::new(tree::one_row()),
            keys: keys.clone(),
            aggregates: whole.1.clone(),
            grouping_sets: grouping_sets.clone(),
            set_column: *set_column,
        };
        let before = vec![lowered.properties.clone()];
        let properties = cardinality::derive(self.context, self.estimator, &derived, before);
        let (lowered, keys, calls) = self.plain(lowered, whole.0, whole.1)?;
        let mode = AggregateMode::Hash;
        let sets = Some(sets.clone());
        let mut out = self.aggregate_node(lowered, Grouping { keys, calls, sets, mode })?;
        let id = set_column.unwrap_or_else(|| self.context.fresh());
        out.columns.push(id);
        out.node.output.push(OutputColumn {
            name: "grouping_set".into(),
            ty: DataType::BigInt,
            physical: PhysicalType::I64,
        });
        out.node.rows = properties.rows;
        out.properties = properties;
        Ok(out)
    }

    /// Groups `lowered` by `keys`, reduced where keys decide others.
    pub(super) fn group(
        &mut self,
        lowered: Lowered,
        mut keys: Keys,
        mut calls: Calls,
        needed: &ColumnSet,
    ) -> Result<Lowered> {
        let properties = cardinality::aggregated(&keys, &calls, 1, &lowered.properties);
        let mut above = Vec::new();
        if self.has(Technique::KeyReduction) {
            reduce::computed_keys(&mut keys, &mut above);
            reduce::shifted_sums(self.context, &lowered.properties, &mut calls, &mut above);
            above.retain(|(id, _)| needed.contains(*id));
            let mut read = needed.clone();
            above.iter().for_each(|(_, expr)| tree::mention(expr, &mut read));
            reduce_keys(&lowered.properties, &mut keys, &mut calls, &read);
        }
        count_rows(&lowered.properties, &mut calls);
        let (lowered, keys, calls) = self.plain(lowered, keys, calls)?;
        let dense = self.has(Technique::DenseAggregation);
        let mode = mode(&keys, dense.then_some(&lowered.properties));
        let grouping = Grouping { keys, calls, sets: None, mode };
        let mut out = self.aggregate_node(lowered, grouping)?;
        if self.has(Technique::Skipping) {
            ends_only(&mut out.node.operator);
        }
        if self.has(Technique::GroupJoin) {
            join_groups(&mut out.node.operator, self.context.options.aggregate_place);
        }
        out.node.rows = properties.rows;
        out.properties = properties;
        if above.is_empty() {
            return Ok(out);
        }
        let passed = out.columns.iter().zip(&out.node.output);
        let passed = passed.filter(|(id, _)| needed.contains(**id));
        let mut columns: Vec<_> = passed.map(|(id, c)| (*id, tree::column(*id, c.ty))).collect();
        columns.extend(above);
        self.project(out, columns)
    }

    /// Makes keys and arguments columns of one projection.
    fn plain(
        &mut self,
        lowered: Lowered,
        mut keys: Keys,
        mut calls: Calls,
    ) -> Result<(Lowered, Keys, Calls)> {
        let mut columns: Vec<(ColumnId, Logical)> = Vec::new();
        let mut computed = false;
        for (_, expr) in &mut keys {
            computed |= self.make_column(expr, &mut columns);
        }
        for (_, call) in &mut calls {
            tree::aggregate_exprs_mut(call, &mut |expr| {
                // A separator or fraction stays a literal.
                if !tree::is_constant(expr) {
                    computed |= self.make_column(expr, &mut columns);
                }
            });
        }
        if !computed {
            return Ok((lowered, keys, calls));
        }
        Ok((self.project(lowered, columns)?, keys, calls))
    }

    /// Makes `expr` a reference to an entry of `columns`; true when it has to be computed.
    pub(super) fn make_column(
        &mut self,
        expr: &mut Logical,
        columns: &mut Vec<(ColumnId, Logical)>,
    ) -> bool {
        let ty = expr.ty;
        let own = tree::as_column(expr);
        let known = columns.iter().find(|(_, e)| e == expr && !tree::is_volatile(e));
        if let Some((id, _)) = known {
            *expr = tree::column(*id, ty);
            return own.is_none();
        }
        let id = own.unwrap_or_else(|| self.context.fresh());
        columns.push((id, std::mem::replace(expr, tree::column(id, ty))));
        own.is_none()
    }

    fn aggregate_node(&mut self, lowered: Lowered, grouping: Grouping) -> Result<Lowered> {
        let Grouping { keys, calls, sets: grouping_sets, mode } = grouping;
        let (mut output, mut columns) = (Vec::new(), Vec::new());
        let mut physical_keys = Vec::with_capacity(keys.len());
        for (id, expr) in &keys {
            let key = self.expr(expr, &lowered)?;
            let name = self.name_of(*id, &key, &lowered.node.output);
            output.push(OutputColumn { name, ty: expr.ty, physical: key.physical });
            columns.push(*id);
            physical_keys.push(key);
        }
        let mut aggregates = Vec::with_capacity(calls.len());
        for (id, call) in &calls {
            let aggregate = self.call_of(call, &lowered)?;
            let known = self.names.get(id).cloned();
            let input = &lowered.node.output;
            let name =
                known.unwrap_or_else(|| crate::explain::aggregate_text(&aggregate, input).into());
            self.names.entry(*id).or_insert_with(|| name.clone());
            output.push(OutputColumn { name, ty: call.ty, physical: aggregate.physical });
            columns.push(*id);
            aggregates.push(aggregate);
        }
        let rows = lowered.node.rows;
        let input = Box::new(lowered.node);
        let operator =
            Operator::Aggregate { input, keys: physical_keys, aggregates, grouping_sets, mode };
        let node = self.node(operator, output, rows);
        Ok(Lowered { node, columns, properties: lowered.properties })
    }

    fn call_of(&mut self, call: &AggregateCall, lowered: &Lowered) -> Result<Aggregate> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push(self.expr(argument, lowered)?);
        }
        let filter = call.filter.as_ref().map(|e| self.expr(e, lowered)).transpose()?;
        let order_by = self.sort_keys(&call.order_by, lowered)?;
        let physical = held(call, &arguments, &lowered.properties);
        Ok(Aggregate {
            function: call.function,
            arguments,
            duplicates: call.duplicates,
            filter,
            order_by,
            ty: call.ty,
            physical,
        })
    }

    /// Lowers sort keys.
    pub(super) fn sort_keys(
        &mut self,
        keys: &[sql::algebra::SortKey],
        lowered: &Lowered,
    ) -> Result<Vec<SortKey>> {
        let lower = |key: &sql::algebra::SortKey| {
            let expr = self.expr(&key.expr, lowered)?;
            Ok(SortKey { expr, direction: key.direction, nulls: key.nulls })
        };
        keys.iter().map(lower).collect()
    }

    /// Lowers DISTINCT and DISTINCT ON.
    pub(crate) fn distinct(
        &mut self,
        input: &Plan,
        on: &[Logical],
        needed: &ColumnSet,
    ) -> Result<Lowered> {
        let all = tree::output(input);
        if on.is_empty() {
            let ids: ColumnSet = all.iter().map(|c| c.0).collect();
            let lowered = self.lower(input, &ids)?;
            if lowered.properties.is_unique_with_nulls(&ids) {
                return Ok(lowered);
            }
            let keys = all.iter().map(|&(id, ty)| (id, tree::column(id, ty))).collect();
            return self.group(lowered, keys, Vec::new(), needed);
        }
        let mut below = needed.clone();
        on.iter().for_each(|e| tree::mention(e, &mut below));
        let lowered = self.lower(input, &below)?;
        let mut columns: Vec<(ColumnId, Logical)> = Vec::new();
        for (id, output) in lowered.columns.iter().zip(&lowered.node.output) {
            columns.push((*id, tree::column(*id, output.ty)));
        }
        let mut on = on.to_vec();
        let mut computed = false;
        for expr in &mut on {
            computed |= self.make_column(expr, &mut columns);
        }
        let lowered = if computed { self.project(lowered, columns)? } else { lowered };
        let mut keys = Vec::with_capacity(on.len());
        for expr in &on {
            keys.push(self.expr(expr, &lowered)?);
        }
        let named: Vec<_> = on.iter().map(|e| (ColumnId(u32::MAX - 1), e.clone())).collect();
        let groups = cardinality::group_count(&named, &lowered.properties);
        let output = lowered.node.output.clone();
        let operator = Operator::DistinctOn { input: Box::new(lowered.node), on: keys };
        let node = self.node(operator, output, groups);
        let properties = lowered.properties.scaled(groups);
        Ok(Lowered { node, columns: lowered.columns, properties })
    }
}

/// Keys that the others decide become aggregates, or go when nobody reads them.
fn reduce_keys(input: &Properties, keys: &mut Keys, calls: &mut Calls, needed: &ColumnSet) {
    if keys.len() < 2 || input.dependencies.is_empty() {
        return;
    }
    let width = |e: &Logical| match e.ty.physical() {
        PhysicalType::Str | PhysicalType::Interval => 0,
        PhysicalType::I128 => 1,
        PhysicalType::F64 => 2,
        PhysicalType::I64 => 3,
        _ => 4,
    };
    let mut order: Vec<ColumnId> = keys.iter().map(|(id, _)| *id).collect();
    let width_of =
        |id: &ColumnId| keys.iter().find(|(key, _)| key == id).map_or(0, |(_, e)| width(e));
    order.sort_by_key(width_of);
    let mut removed = Vec::new();
    for id in order {
        let Some(at) = keys.iter().position(|(key, _)| *key == id) else {
            continue;
        };
        let Some(column) = tree::as_column(&keys[at].1) else {
            continue;
        };
        let others: ColumnSet = keys
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != at)
            .filter_map(|(_, (_, e))| tree::as_column(e))
            .collect();
        if keys.len() > 1 && input.closure(&others).contains(column) {
            removed.push(keys.remove(at));
        }
    }
    for (id, expr) in removed {
        if needed.contains(id) {
            let ty = expr.ty;
            let call = AggregateCall {
                function: AggregateFunction::AnyValue,
                arguments: vec![expr],
                duplicates: Duplicates::Keep,
                filter: None,
                order_by: Vec::new(),
                ty,
            };
            calls.push((id, call));
        }
    }
}

/// `count(x)` of a column without NULLs counts rows.
fn count_rows(input: &Properties, calls: &mut Calls) {
    for (_, call) in calls {
        let plain =
            call.function == AggregateFunction::Count && call.duplicates == Duplicates::Keep;
        if plain && call.arguments.iter().all(|e| !cardinality::nullable(e, input)) {
            call.function = AggregateFunction::CountRows;
            call.arguments.clear();
        }
    }
}

/// Makes the aggregation a group join where its groups are build rows of the join below and most
/// of these become groups.
fn join_groups(operator: &mut Operator, place: AggregatePlace) {
    let Operator::Aggregate { input, keys, aggregates, mode, .. } = operator else {
        return;
    };
    let below = JoinBelow::of(input).filter(|below| below.groups_by_rows(keys, aggregates));
    let Some(Operator::HashJoin { build, .. }) = below.map(|below| &below.join.operator) else {
        return;
    };
    if place == AggregatePlace::Early || build.rows <= BUILD_ROWS * input.rows {
        let otherwise = std::mem::replace(mode, AggregateMode::Hash);
        *mode = AggregateMode::GroupJoin(Box::new(otherwise));
    }
}

/// The mode; `input` is given when ranges of keys may be used.
fn mode(keys: &[(ColumnId, Logical)], input: Option<&Properties>) -> AggregateMode {
    let [(_, key)] = keys else {
        return if keys.is_empty() { AggregateMode::Scalar } else { AggregateMode::Hash };
    };
    let is_held_so =
        |ty: DataType| ty.is_integer() || matches!(ty, DataType::Date | DataType::Enum(_));
    let Some(input) = input.filter(|_| is_held_so(key.ty)) else {
        return AggregateMode::Hash;
    };
    let found = tree::as_column(key).and_then(|id| input.column(id)).and_then(|c| c.range);
    match found {
        Some(range) if range.width() <= DENSE_SLOTS && range.width() as f64 <= 4.0 * input.rows => {
            AggregateMode::Dense { min: range.low as i64, max: range.high as i64 }
        }
        _ => AggregateMode::Hash,
    }
}

/// How the result of `call` is held.
fn held(
    call: &AggregateCall,
    arguments: &[crate::physical::Expr],
    input: &Properties,
) -> PhysicalType {
    use AggregateFunction as A;
    let numeric = matches!(call.ty, DataType::Numeric(_));
    match call.function {
        A::Min | A::Max | A::AnyValue | A::Single | A::Mode | A::PercentileDisc => {
            let argument = arguments.last().filter(|e| e.ty.physical() == call.ty.physical());
            let ordered = call.order_by.is_empty();
            argument.filter(|_| ordered).map_or(call.ty.physical(), |e| e.physical)
        }
        A::Sum if numeric => {
            let rows = input.rows_max.map(|rows| rows.max(1.0).ceil() as i128);
            let argument = call.arguments.first();
            let bounds = argument.and_then(|e| bounds::of_scaled(e, call.ty, input));
            let total = rows.zip(bounds).and_then(|(rows, range)| range.times(rows));
            if total.is_some_and(range::Range::is_narrow) {
                PhysicalType::I64
            } else {
                PhysicalType::I128
            }
        }
        _ => call.ty.physical(),
    }
}

/// True for a literal.
pub(super) fn is_literal(expr: &Logical) -> bool {
    matches!(expr.kind, ExprKind::Literal(_))
}
