//! Joins: keys, sides and methods.

use sql::algebra::{ColumnId, Expr as Logical, JoinKind as Logic, Plan};
use types::{DataType, PhysicalType, Result};

use super::expr::{self, Scope};
use super::{Lowered, Lowering};
use crate::cardinality::{self, EquiPair};
use crate::column_set::ColumnSet;
use crate::physical::{
    BuildKeys, ExprKind, JoinKey, JoinKind, JoinMethod, NullKeys, Operator, OutputColumn,
};
use crate::properties::{ColumnProperty, Properties};
use crate::{Technique, cost, tree};

/// Share of distinct values among rows from which a column is taken to be unique.
const UNIQUE: f64 = 0.98;

/// The bounds of a direct array over `key`, when one is worth it for `build`.
pub(crate) fn dense(key: &Logical, build: &Properties) -> Option<(i64, i64)> {
    let integer = key.ty.is_integer() || key.ty == DataType::Date;
    let column = tree::as_column(key).and_then(|id| build.column(id)).filter(|_| integer)?;
    let range = column.range?;
    let is_dense = cost::is_dense(range.width() as f64, build.rows, column.base_rows);
    is_dense.then_some((range.low as i64, range.high as i64))
}

impl Lowering<'_, '_> {
    /// Lowers a join.
    pub(crate) fn join(&mut self, plan: &Plan, needed: &ColumnSet) -> Result<Lowered> {
        let Plan::Join { left, right, kind, condition } = plan else {
            return Err(types::Error::internal("a join was expected"));
        };
        let mut below = needed.clone();
        tree::mention(condition, &mut below);
        if let Plan::Series { arguments, .. } = &**right
            && (*kind == Logic::Each || arguments.iter().any(|e| !tree::mentioned(e).is_empty()))
        {
            return self.lateral_series(left, right, condition, &below);
        }
        let mut left = self.lower(left, &below)?;
        let right = match self.sideways(plan, &left)? {
            Some([kept, right]) => {
                left = self.lower(&kept, &below)?;
                self.lower(&right, &below)?
            }
            None => self.lower(right, &below)?,
        };
        let in_left: ColumnSet = left.columns.iter().copied().collect();
        let in_right: ColumnSet = right.columns.iter().copied().collect();
        let (pairs, rest) = cardinality::split_condition(condition, &in_left, &in_right);
        let (a, b) = (left.properties.clone(), right.properties.clone());
        let properties = cardinality::joined(*kind, condition, a, b);
        let hashable = !pairs.is_empty() && is_hashable(*kind, &pairs, &rest, &left, &right);
        let pairs: Vec<(Logical, Logical, NullKeys)> = if hashable {
            pairs.iter().map(|pair| keyed(*kind, pair, &left, &right)).collect()
        } else {
            Vec::new()
        };
        let rest: Vec<Logical> =
            if hashable { rest.into_iter().cloned().collect() } else { vec![condition.clone()] };
        let join = Join { kind: *kind, pairs, rest, needed, properties };
        if let Some(lowered) = self.few_keys(&join, &left, &right)? {
            return Ok(lowered);
        }
        if let Some(choice) = self.index_choice(&join, &left, &right)? {
            return self.index_join(join, choice, left, right);
        }
        self.oriented(join, left, right)
    }

    pub(super) fn oriented(
        &mut self,
        join: Join<'_>,
        left: Lowered,
        right: Lowered,
    ) -> Result<Lowered> {
        let kind = join.kind;
        let swappable = match kind {
            Logic::Inner => true,
            Logic::Left | Logic::Semi | Logic::Anti => !join.pairs.is_empty(),
            _ => false,
        };
        let key = |i: usize| {
            join.pairs
                .first()
                .filter(|_| join.pairs.len() == 1)
                .map(|p| if i == 0 { &p.0 } else { &p.1 })
        };
        let is_dense =
            |side: &Lowered, i: usize| key(i).is_some_and(|k| dense(k, &side.properties).is_some());
        let (l, r) = (left.properties.rows, right.properties.rows);
        let swap = if join.pairs.is_empty() {
            swappable && l < r
        } else {
            let straight = cost::hash_join(r, l, is_dense(&right, 1));
            let swapped = cost::hash_join(l, r, is_dense(&left, 0)) * cost::swap_factor(kind);
            kind == Logic::Right || (swappable && swapped < straight)
        };
        let (probe, build) = if swap { (right, left) } else { (left, right) };
        self.join_node(join, probe, build, swap)
    }

    fn join_node(
        &mut self,
        join: Join<'_>,
        probe: Lowered,
        build: Lowered,
        swap: bool,
    ) -> Result<Lowered> {
        let build_ids: ColumnSet = build.columns.iter().copied().collect();
        let mut kind = physical_kind(join.kind, swap)?;
        let build_keys = build_keys(&join, &build, swap);
        let proved = proved_unique(&join, &build, swap);
        let is_filter = proved && !join.needed.intersects(&build_ids);
        if kind == JoinKind::Inner && is_filter && self.has(Technique::ExactFilters) {
            kind = JoinKind::ProbeSemi;
        }
        let mut keys = Vec::with_capacity(join.pairs.len());
        for (left, right, nulls) in &join.pairs {
            let (p, b) = if swap { (right, left) } else { (left, right) };
            let p = self.expr(p, &probe)?;
            let b = self.expr(b, &build)?;
            let (p, b) = expr::unified(p, b);
            keys.push(JoinKey { probe: p, build: b, nulls: *nulls });
        }
        let condition = tree::and_all(join.rest.clone());
        let scope = Scope::both(&probe, &build);
        let residual =
            if tree::is_true(&condition) { None } else { Some(self.expr_in(&condition, &scope)?) };
        let method = if self.has(Technique::DenseJoins) {
            method(&join, &keys, &build, swap)
        } else {
            JoinMethod::Hash
        };
        let (columns, output, output_columns) = shape(kind, &join, &probe, &build);
        let (probe, build) = (Box::new(probe.node), Box::new(build.node));
        let operator = if keys.is_empty() {
            Operator::NestedLoopJoin { probe, build, kind, condition: residual, output_columns }
        } else {
            Operator::HashJoin {
                probe,
                build,
                kind,
                keys,
                residual,
                method,
                build_keys,
                output_columns,
            }
        };
        let node = self.node(operator, output, join.properties.rows);
        Ok(Lowered { node, columns, properties: join.properties })
    }

    fn lateral_series(
        &mut self,
        left: &Plan,
        series: &Plan,
        condition: &Logical,
        needed: &ColumnSet,
    ) -> Result<Lowered> {
        let Plan::Series { function, arguments, column } = series else {
            return Err(types::Error::internal("a series was expected"));
        };
        let mut below = needed.clone();
        arguments.iter().for_each(|e| tree::mention(e, &mut below));
        let left = self.lower(left, &below)?;
        let mut list = Vec::with_capacity(arguments.len());
        for argument in arguments {
            list.push(self.expr(argument, &left)?);
        }
        let mut properties = left.properties;
        properties.rows *= 10.0;
        properties.rows_max = None;
        properties.keys.clear();
        properties.columns.insert(column.0, ColumnProperty::unknown(properties.rows, column.1));
        let mut output = left.node.output.clone();
        let physical = column.1.physical();
        let name = self.names.get(&column.0).cloned();
        let name = name.unwrap_or_else(|| function.name().into());
        output.push(OutputColumn { name, ty: column.1, physical });
        let mut columns = left.columns;
        columns.push(column.0);
        let (input, function) = (Some(Box::new(left.node)), *function);
        let operator = Operator::Series { input, function, arguments: list };
        let node = self.node(operator, output, properties.rows);
        let lowered = Lowered { node, columns, properties };
        if tree::is_true(condition) {
            return Ok(lowered);
        }
        let predicate = self.expr(condition, &lowered)?;
        let (output, rows) = (lowered.node.output.clone(), lowered.node.rows / 2.0);
        let operator = Operator::Filter { input: Box::new(lowered.node), predicate };
        let node = self.node(operator, output, rows);
        Ok(Lowered { node, ..lowered })
    }
}

/// A join on its way to a node.
pub(super) struct Join<'n> {
    pub(super) kind: Logic,
    /// Left, right and how NULLs compare.
    pub(super) pairs: Vec<(Logical, Logical, NullKeys)>,
    pub(super) rest: Vec<Logical>,
    pub(super) needed: &'n ColumnSet,
    pub(super) properties: Properties,
}

impl<'n> Join<'n> {
    /// A join of the same kind with the same result, without keys yet.
    pub(super) fn like(&self) -> Join<'n> {
        let properties = self.properties.clone();
        let (pairs, rest) = (Vec::new(), self.rest.clone());
        Join { kind: self.kind, pairs, rest, needed: self.needed, properties }
    }
}

pub(super) fn physical_kind(kind: Logic, swap: bool) -> Result<JoinKind> {
    Ok(match (kind, swap) {
        (Logic::Inner, _) => JoinKind::Inner,
        (Logic::Left, false) | (Logic::Right, true) => JoinKind::ProbeOuter,
        (Logic::Left, true) | (Logic::Right, false) => JoinKind::BuildOuter,
        (Logic::Full, _) => JoinKind::FullOuter,
        (Logic::Semi, false) => JoinKind::ProbeSemi,
        (Logic::Semi, true) => JoinKind::BuildSemi,
        (Logic::Anti, false) => JoinKind::ProbeAnti,
        (Logic::Anti, true) => JoinKind::BuildAnti,
        (Logic::Mark(_), false) => JoinKind::ProbeMark,
        (Logic::Single, false) => JoinKind::ProbeSingle,
        (Logic::Each, _) | (Logic::Mark(_) | Logic::Single, true) => {
            return Err(types::Error::internal("a join that cannot be turned round"));
        }
    })
}

/// Output ids, columns and ordinals of a join.
pub(super) fn shape(
    kind: JoinKind,
    join: &Join<'_>,
    probe: &Lowered,
    build: &Lowered,
) -> (Vec<ColumnId>, Vec<OutputColumn>, Vec<usize>) {
    let mut all: Vec<(ColumnId, OutputColumn)> = Vec::new();
    let side = |lowered: &Lowered| -> Vec<(ColumnId, OutputColumn)> {
        lowered.columns.iter().copied().zip(lowered.node.output.iter().cloned()).collect()
    };
    if !matches!(kind, JoinKind::BuildSemi | JoinKind::BuildAnti) {
        all.extend(side(probe));
    }
    match (kind, join.kind) {
        (JoinKind::ProbeSemi | JoinKind::ProbeAnti, _) => {}
        (JoinKind::ProbeMark, Logic::Mark(id)) => {
            let (ty, physical) = (DataType::Boolean, PhysicalType::Bool);
            all.push((id, OutputColumn { name: "mark".into(), ty, physical }));
        }
        _ => all.extend(side(build)),
    }
    let (mut columns, mut output, mut ordinals) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (id, column)) in all.into_iter().enumerate() {
        if join.needed.contains(id) {
            columns.push(id);
            output.push(column);
            ordinals.push(i);
        }
    }
    (columns, output, ordinals)
}

fn build_columns(join: &Join<'_>, swap: bool) -> ColumnSet {
    let side = |p: &(Logical, Logical, NullKeys)| tree::as_column(if swap { &p.0 } else { &p.1 });
    join.pairs.iter().filter_map(side).collect()
}

fn proved_unique(join: &Join<'_>, build: &Lowered, swap: bool) -> bool {
    let columns = build_columns(join, swap);
    let matches_nulls = join.pairs.iter().any(|p| p.2 == NullKeys::Match);
    if matches_nulls {
        build.properties.is_unique_with_nulls(&columns)
    } else {
        build.properties.is_unique(&columns)
    }
}

fn build_keys(join: &Join<'_>, build: &Lowered, swap: bool) -> BuildKeys {
    let counted = |id: ColumnId| {
        let column = build.properties.column(id);
        column.is_some_and(|c| c.base_rows > 0.0 && c.domain >= UNIQUE * c.base_rows)
    };
    let columns = build_columns(join, swap);
    let by_count = join.pairs.len() == 1 && columns.iter().any(counted) && !joins_below(build);
    if proved_unique(join, build, swap) || by_count { BuildKeys::Unique } else { BuildKeys::Any }
}

/// True when rows of a table may have been multiplied on the way.
fn joins_below(build: &Lowered) -> bool {
    let mut node = &build.node;
    loop {
        node = match &node.operator {
            Operator::Filter { input, .. } | Operator::Project { input, .. } => input,
            Operator::Scan { .. } => return false,
            _ => return true,
        };
    }
}

fn method(join: &Join<'_>, keys: &[JoinKey], build: &Lowered, swap: bool) -> JoinMethod {
    let [key] = keys else { return JoinMethod::Hash };
    let logical = if swap { &join.pairs[0].0 } else { &join.pairs[0].1 };
    let plain = matches!(key.build.kind, ExprKind::Column(_)) && key.nulls == NullKeys::Differ;
    match dense(logical, &build.properties).filter(|_| plain) {
        Some((min, max)) => JoinMethod::Dense { min, max },
        None => JoinMethod::Hash,
    }
}

/// The key pair and how its NULLs compare. For a mark join, keys that are never NULL match as
/// IS NOT DISTINCT FROM does, so that they never make the mark unknown.
fn keyed(
    kind: Logic,
    pair: &EquiPair<'_>,
    left: &Lowered,
    right: &Lowered,
) -> (Logical, Logical, NullKeys) {
    let matches = pair.nulls == NullKeys::Match;
    let never_null = !cardinality::nullable(pair.left, &left.properties)
        && !cardinality::nullable(pair.right, &right.properties);
    let nulls = match kind {
        Logic::Mark(_) if never_null => NullKeys::Match,
        _ if !matches => NullKeys::Differ,
        Logic::Mark(_) => NullKeys::Match,
        _ if never_null || one_side_never_null(pair, left, right) => NullKeys::Differ,
        _ => NullKeys::Match,
    };
    (pair.left.clone(), pair.right.clone(), nulls)
}

fn one_side_never_null(pair: &EquiPair<'_>, left: &Lowered, right: &Lowered) -> bool {
    !cardinality::nullable(pair.left, &left.properties)
        || !cardinality::nullable(pair.right, &right.properties)
}

/// True when a hash join gives the right marks: at most one key may be unknown, and none when there
/// is a residual, which then must not be unknown either.
fn is_hashable(
    kind: Logic,
    pairs: &[EquiPair<'_>],
    rest: &[&Logical],
    left: &Lowered,
    right: &Lowered,
) -> bool {
    if !matches!(kind, Logic::Mark(_)) {
        return true;
    }
    let column = |id: ColumnId| {
        let found = left.properties.column(id).or_else(|| right.properties.column(id));
        found.is_none_or(|column| column.nullable)
    };
    let nullable = |e: &Logical| cardinality::nullable_by(e, &column);
    let unknown = |pair: &&EquiPair<'_>| {
        (nullable(pair.left) || nullable(pair.right)) && pair.nulls == NullKeys::Differ
    };
    let count = pairs.iter().filter(unknown).count();
    if rest.is_empty() { count <= 1 } else { count == 0 && !rest.iter().any(|e| nullable(e)) }
}
