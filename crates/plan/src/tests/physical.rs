//! Evaluation of physical plans, operator by operator, as `physical.rs` documents them. Every value
//! is checked to be in the physical form that the plan claims.

use sql::algebra::{AggregateFunction, Duplicates, WindowFunction};
use sql::catalog::{IndexKind, IndexMeta, TableRef};
use types::{CompareOp, Error, Result, Value};

use super::data::rows_of;
use super::{eval, logical};
use crate::physical::{
    AggregateMode, BoundKind, CteSource, Expr, ExprKind, IndexList, IndexOrder, IndexRange,
    IndexWay, JoinKey, JoinKind, JoinMethod, Node, NullKeys, Operator, PhysicalPlan, PreludeKind,
    ScanRestriction, ScanRestrictionKind, SortKey,
};

type Row = Vec<Value>;

#[derive(Default)]
pub(super) struct Machine {
    preludes: Vec<Vec<Row>>,
    rounds: Vec<(usize, Vec<Row>)>,
}

/// Rows of the whole plan.
pub(super) fn run(plan: &PhysicalPlan) -> Result<Vec<Row>> {
    let mut machine = Machine::default();
    let mut ids = Vec::new();
    for prelude in &plan.preludes {
        check_ids(&prelude.node, &mut ids);
        let rows = machine.rows(&prelude.node)?;
        if prelude.kind == PreludeKind::Scalar && rows.len() > 1 {
            return Err(eval::too_many());
        }
        machine.preludes.push(rows);
    }
    check_ids(&plan.root, &mut ids);
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert!(count == ids.len() && ids.iter().all(|id| *id < plan.operator_count), "operator ids");
    machine.rows(&plan.root)
}

fn check_ids(node: &Node, ids: &mut Vec<usize>) {
    ids.push(node.id.0);
    let mut each = |input: &Node| check_ids(input, ids);
    match &node.operator {
        Operator::Series { input, .. } => input.iter().for_each(|i| each(i)),
        Operator::Filter { input, .. }
        | Operator::Project { input, .. }
        | Operator::Aggregate { input, .. }
        | Operator::DistinctOn { input, .. }
        | Operator::Window { input, .. }
        | Operator::Sort { input, .. }
        | Operator::Limit { input, .. } => each(input),
        Operator::HashJoin { probe: a, build: b, .. }
        | Operator::NestedLoopJoin { probe: a, build: b, .. }
        | Operator::SetOperation { left: a, right: b, .. }
        | Operator::Recursive { base: a, step: b, .. } => {
            each(a);
            each(b);
        }
        Operator::IndexJoin { outer, .. } => each(outer),
        Operator::Choice { few: a, many: b, .. } | Operator::Walk { index: a, sort: b, .. } => {
            each(a);
            each(b);
        }
        Operator::UnionAll { inputs } => inputs.iter().for_each(each),
        _ => {}
    }
}

impl Machine {
    fn rows(&mut self, node: &Node) -> Result<Vec<Row>> {
        let rows = self.operator(node)?;
        for row in &rows {
            assert_eq!(row.len(), node.output.len(), "width of {:?}", node.operator);
            for (value, column) in row.iter().zip(&node.output) {
                assert!(
                    eval::is_held(value, column.physical),
                    "{value:?} in column {} of {:?}",
                    column.name,
                    column.physical
                );
            }
        }
        assert!(node.rows.is_finite(), "an estimate is a number");
        Ok(rows)
    }

    fn operator(&mut self, node: &Node) -> Result<Vec<Row>> {
        match &node.operator {
            Operator::Scan { table, columns, restrictions, residual, .. } => {
                let mut out = Vec::new();
                for row in rows_of(table).iter() {
                    let row: Row = columns.iter().map(|i| row[*i].clone()).collect();
                    let mut keep = true;
                    for restriction in restrictions {
                        keep &= self.restriction(restriction, &row)?;
                    }
                    if keep && self.holds(residual.as_ref(), &row)? {
                        out.push(row);
                    }
                }
                Ok(out)
            }
            Operator::IndexScan { .. } => self.index_scan(node),
            Operator::IndexJoin { .. } => self.index_join(node),
            Operator::Choice { few, many, .. } => {
                let (few, many) = (self.rows(few)?, self.rows(many)?);
                let sorted = |rows: &[Row]| {
                    let mut texts: Vec<String> = rows.iter().map(|r| format!("{r:?}")).collect();
                    texts.sort();
                    texts
                };
                assert_eq!(sorted(&few), sorted(&many), "both plans give the same rows");
                Ok(few)
            }
            Operator::Input { .. } => Err(Error::unsupported("supplied rows in tests")),
            Operator::FunctionScan { .. } => Err(Error::unsupported("a table function in tests")),
            Operator::Series { input, arguments, .. } => {
                let inputs = match input {
                    Some(input) => self.rows(input)?,
                    None => vec![Vec::new()],
                };
                let mut out = Vec::new();
                for row in inputs {
                    let mut bounds = Vec::new();
                    for argument in arguments {
                        bounds.push(self.expr(argument, &row)?.as_integer());
                    }
                    let (Some(start), Some(stop)) = (bounds[0], bounds[1]) else {
                        continue;
                    };
                    for v in start..=stop {
                        let mut next = row.clone();
                        let physical = node.output.last().expect("a series column").physical;
                        next.push(eval::held(Value::I128(v), physical));
                        out.push(next);
                    }
                }
                Ok(out)
            }
            Operator::Values { rows } => {
                let mut out = Vec::new();
                for row in rows {
                    out.push(self.list(row, &Vec::new())?);
                }
                Ok(out)
            }
            Operator::CteScan { source, columns, .. } => {
                let rows = match source {
                    CteSource::Prelude(i) => &self.preludes[*i],
                    CteSource::Recursive(number) => {
                        let found = self.rounds.iter().rev().find(|(n, _)| n == number);
                        &found.expect("a round of the recursion").1
                    }
                };
                let pick = |row: &Row| columns.iter().map(|i| row[*i].clone()).collect();
                Ok(rows.iter().map(pick).collect())
            }
            Operator::Filter { input, predicate } => {
                let mut out = Vec::new();
                for row in self.rows(input)? {
                    if self.holds(Some(predicate), &row)? {
                        out.push(row);
                    }
                }
                Ok(out)
            }
            Operator::Project { input, exprs } => {
                let mut out = Vec::new();
                for row in self.rows(input)? {
                    out.push(self.list(exprs, &row)?);
                }
                Ok(out)
            }
            Operator::HashJoin { .. } | Operator::NestedLoopJoin { .. } => self.join(node),
            Operator::Aggregate { .. } => self.aggregate(node),
            Operator::DistinctOn { input, on } => {
                let mut seen: Vec<Row> = Vec::new();
                let mut out = Vec::new();
                for row in self.rows(input)? {
                    let key = self.list(on, &row)?;
                    if !seen.iter().any(|k| eval::rows_equal(k, &key)) {
                        seen.push(key);
                        out.push(row);
                    }
                }
                Ok(out)
            }
            Operator::Window { .. } => self.window(node),
            Operator::Sort { input, keys, limit, offset } => {
                let rows = self.rows(input)?;
                let rows = self.sorted(rows, keys)?;
                self.limited(rows, limit.as_ref(), offset.as_ref())
            }
            Operator::Walk { index, sort, .. } => {
                let Operator::Sort { keys, limit, offset, .. } = &sort.operator else {
                    panic!("{:?} in the place of a sort", sort.operator);
                };
                // The sort of these tests is stable.
                let (walked, whole) = (self.rows(index)?, self.rows(sort)?);
                let again = self.sorted(walked.clone(), keys)?;
                assert_eq!(walked, again, "an index in the order of the sort");
                let first = self.limited(walked, limit.as_ref(), offset.as_ref())?;
                assert_eq!(first.len(), whole.len(), "as many rows by both plans");
                Ok(first)
            }
            Operator::Limit { input, limit, offset } => {
                let rows = self.rows(input)?;
                self.limited(rows, limit.as_ref(), offset.as_ref())
            }
            Operator::UnionAll { inputs } => {
                let mut out = Vec::new();
                for input in inputs {
                    let types = |n: &Node| n.output.iter().map(|c| c.physical).collect::<Vec<_>>();
                    assert_eq!(types(input), types(node), "inputs of a union agree");
                    out.extend(self.rows(input)?);
                }
                Ok(out)
            }
            Operator::SetOperation { operator, duplicates, left, right } => {
                let (a, b) = (self.rows(left)?, self.rows(right)?);
                Ok(logical::set_operation(*operator, *duplicates, a, b))
            }
            Operator::Recursive { number, duplicates, base, step } => {
                let mut all: Vec<Row> = Vec::new();
                let mut round = self.rows(base)?;
                while !round.is_empty() {
                    if *duplicates == Duplicates::Remove {
                        let mut fresh: Vec<Row> = Vec::new();
                        for row in round {
                            let mut known = all.iter().chain(&fresh);
                            if !known.any(|r| eval::rows_equal(r, &row)) {
                                fresh.push(row);
                            }
                        }
                        round = fresh;
                    }
                    all.extend(round.iter().cloned());
                    self.rounds.push((*number, round));
                    round = self.rows(step)?;
                    self.rounds.pop();
                    assert!(all.len() < 100_000, "a recursion that ends");
                }
                Ok(all)
            }
        }
    }

    fn list(&self, exprs: &[Expr], row: &Row) -> Result<Row> {
        exprs.iter().map(|e| self.expr(e, row)).collect()
    }

    fn holds(&self, predicate: Option<&Expr>, row: &Row) -> Result<bool> {
        match predicate {
            Some(predicate) => Ok(self.expr(predicate, row)? == Value::Bool(true)),
            None => Ok(true),
        }
    }

    /// Rows of `table` whose first columns of the index equal `keys`, whole, in index order.
    fn by_index(&self, table: &TableRef, index: usize, keys: &[Value]) -> Vec<Row> {
        let index = &table.indexes()[index];
        let all = rows_of(table);
        let mut rows: Vec<Row> =
            all.iter().filter(|row| has_keys(index, row, keys)).cloned().collect();
        in_order_of(index, &mut rows);
        rows
    }

    fn index_scan(&self, node: &Node) -> Result<Vec<Row>> {
        let Operator::IndexScan { table, columns, ways, restrictions, residual, order, .. } =
            &node.operator
        else {
            return Err(Error::internal("an index scan was expected"));
        };
        // Rows by their places in the table: a row is found once, however many ways lead to it.
        let all = rows_of(table);
        let mut places = Vec::new();
        for way in ways {
            for (place, row) in all.iter().enumerate() {
                if !places.contains(&place) && self.is_on(way, table, row)? {
                    places.push(place);
                }
            }
        }
        let mut rows: Vec<Row> = places.into_iter().map(|place| all[place].clone()).collect();
        in_order_of(&table.indexes()[ways[0].index], &mut rows);
        match order {
            IndexOrder::Forward => {}
            IndexOrder::Backward => rows.reverse(),
            // Nobody relies on it, so it is none that anybody wants.
            IndexOrder::Any => rows.sort_by_key(|row| format!("{row:?}")),
        }
        assert!(*order == IndexOrder::Any || ways.iter().all(|way| way.index == ways[0].index));
        let mut out = Vec::new();
        for row in rows {
            let row: Row = columns.iter().map(|i| row[*i].clone()).collect();
            let mut keep = true;
            for restriction in restrictions {
                keep &= self.restriction(restriction, &row)?;
            }
            if keep && self.holds(residual.as_ref(), &row)? {
                out.push(row);
            }
        }
        Ok(out)
    }

    /// True when `way` leads to `row`.
    fn is_on(&self, way: &IndexWay, table: &TableRef, row: &Row) -> Result<bool> {
        let index = &table.indexes()[way.index];
        let keys = self.list(&way.keys, &Vec::new())?;
        let mut any = false;
        for keys in self.each_key(&keys, way.list.as_ref())? {
            any |= has_keys(index, row, &keys);
        }
        let Some(range) = way.range.as_ref().filter(|_| any) else {
            return Ok(any);
        };
        let column = index.columns[keys.len()].ordinal;
        for kind in bounds_of(range) {
            any &= self.restriction(&ScanRestriction { column, kind }, row)?;
        }
        Ok(any)
    }

    /// `keys` with each value of the list in its place, each once.
    fn each_key(&self, keys: &Row, list: Option<&IndexList>) -> Result<Vec<Row>> {
        let Some(list) = list else {
            return Ok(vec![keys.clone()]);
        };
        let mut values = self.listed(&list.values)?;
        values.retain(|value| !value.is_null());
        values.sort_by_key(|value| format!("{value:?}"));
        values.dedup();
        let with = |value| {
            let mut keys = keys.clone();
            keys.insert(list.at, value);
            keys
        };
        Ok(values.into_iter().map(with).collect())
    }

    /// The values of a list.
    fn listed(&self, kind: &ScanRestrictionKind) -> Result<Vec<Value>> {
        let none = Vec::new();
        match kind {
            ScanRestrictionKind::InList(list) => self.list(list, &none),
            ScanRestrictionKind::InArray(array) => {
                let element = types::array::element_of(array.ty)?;
                Ok(match self.expr(array, &none)? {
                    Value::Str(bytes) => types::array::values(&bytes, element),
                    _ => Vec::new(),
                })
            }
            other => Err(Error::internal(format!("{other:?} is no list"))),
        }
    }

    fn index_join(&mut self, node: &Node) -> Result<Vec<Row>> {
        let Operator::IndexJoin {
            outer,
            table,
            index,
            keys,
            columns,
            restrictions,
            kind,
            residual,
            output_columns,
            ..
        } = &node.operator
        else {
            return Err(Error::internal("an index join was expected"));
        };
        let mut out = Vec::new();
        for outer in self.rows(outer)? {
            let keys = self.list(keys, &outer)?;
            let mut matches = Vec::new();
            for row in self.by_index(table, *index, &keys) {
                let inner: Row = columns.iter().map(|i| row[*i].clone()).collect();
                let mut keep = true;
                for restriction in restrictions {
                    keep &= self.restriction(restriction, &inner)?;
                }
                let both: Row = outer.iter().chain(&inner).cloned().collect();
                if keep && self.holds(residual.as_ref(), &both)? {
                    matches.push(both);
                }
            }
            let padded = || {
                let nulls = std::iter::repeat_n(Value::Null, columns.len());
                outer.iter().cloned().chain(nulls).collect::<Row>()
            };
            match kind {
                JoinKind::ProbeSingle if matches.len() > 1 => return Err(eval::too_many()),
                JoinKind::ProbeOuter | JoinKind::ProbeSingle if matches.is_empty() => {
                    out.push(padded());
                }
                JoinKind::Inner | JoinKind::ProbeOuter | JoinKind::ProbeSingle => {
                    out.extend(matches);
                }
                JoinKind::ProbeSemi if !matches.is_empty() => out.push(outer),
                JoinKind::ProbeAnti if matches.is_empty() => out.push(outer),
                JoinKind::ProbeSemi | JoinKind::ProbeAnti => {}
                other => return Err(Error::internal(format!("{other:?} by index"))),
            }
        }
        let pick = |row: Row| output_columns.iter().map(|i| row[*i].clone()).collect();
        Ok(out.into_iter().map(pick).collect())
    }

    fn restriction(&self, restriction: &ScanRestriction, row: &Row) -> Result<bool> {
        let value = &row[restriction.column];
        let none = Vec::new();
        let within = |op, e: &Expr| -> Result<bool> {
            let bound = self.expr(e, &none)?;
            Ok(eval::compare(op, value, &bound) == Value::Bool(true))
        };
        Ok(match &restriction.kind {
            ScanRestrictionKind::IsNull => value.is_null(),
            ScanRestrictionKind::IsNotNull => !value.is_null(),
            ScanRestrictionKind::Compare(op, e) => within(*op, e)?,
            ScanRestrictionKind::Between { low, high } => {
                let (from, to) = (
                    if low.1 == BoundKind::Inclusive {
                        CompareOp::GreaterEqual
                    } else {
                        CompareOp::Greater
                    },
                    if high.1 == BoundKind::Inclusive {
                        CompareOp::LessEqual
                    } else {
                        CompareOp::Less
                    },
                );
                within(from, &low.0)? && within(to, &high.0)?
            }
            kind @ (ScanRestrictionKind::InList(_) | ScanRestrictionKind::InArray(_)) => {
                eval::in_list(value, &self.listed(kind)?) == Value::Bool(true)
            }
            ScanRestrictionKind::Predicate(e) => {
                !value.is_null() && self.holds(Some(e), &vec![value.clone()])?
            }
        })
    }

    fn limited(
        &self,
        rows: Vec<Row>,
        limit: Option<&Expr>,
        offset: Option<&Expr>,
    ) -> Result<Vec<Row>> {
        let bound = |e: Option<&Expr>| -> Result<Option<usize>> {
            let value = e.map(|e| self.expr(e, &Vec::new())).transpose()?;
            Ok(value.and_then(|v| v.as_integer()).map(|v| v as usize))
        };
        let (limit, offset) = (bound(limit)?, bound(offset)?.unwrap_or(0));
        Ok(rows.into_iter().skip(offset).take(limit.unwrap_or(usize::MAX)).collect())
    }

    fn sorted(&self, rows: Vec<Row>, keys: &[SortKey]) -> Result<Vec<Row>> {
        let mut keyed = Vec::new();
        for row in rows {
            let mut values = Vec::new();
            for key in keys {
                values.push(self.expr(&key.expr, &row)?);
            }
            keyed.push((values, row));
        }
        keyed.sort_by(|(a, _), (b, _)| {
            let mut orders = keys
                .iter()
                .enumerate()
                .map(|(i, key)| logical::sort_order(&a[i], &b[i], key.direction, key.nulls));
            orders.find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        Ok(keyed.into_iter().map(|(_, row)| row).collect())
    }

    fn join(&mut self, node: &Node) -> Result<Vec<Row>> {
        let no_keys = Vec::new();
        let (probe, build, kind, keys, residual, outputs) = match &node.operator {
            Operator::HashJoin {
                probe,
                build,
                kind,
                keys,
                residual,
                output_columns,
                method,
                ..
            } => {
                assert!(!keys.is_empty());
                if let JoinMethod::Dense { min, max } = method {
                    for row in self.rows(build)? {
                        let value = self.expr(&keys[0].build, &row)?;
                        let inside = value
                            .as_integer()
                            .is_none_or(|v| v >= i128::from(*min) && v <= i128::from(*max));
                        assert!(inside, "a dense key outside of its bounds");
                    }
                }
                (probe, build, *kind, keys, residual.as_ref(), output_columns)
            }
            Operator::NestedLoopJoin { probe, build, kind, condition, output_columns } => {
                (probe, build, *kind, &no_keys, condition.as_ref(), output_columns)
            }
            _ => return Err(Error::internal("a join was expected")),
        };
        let (probe_width, build_width) = (probe.output.len(), build.output.len());
        let (probe, build) = (self.rows(probe)?, self.rows(build)?);
        let mut found: Vec<Row> = Vec::new();
        let mut build_matched = vec![false; build.len()];
        for p in &probe {
            let mut marks = Vec::new();
            for (i, b) in build.iter().enumerate() {
                let both: Row = p.iter().chain(b).cloned().collect();
                let mark = self.matches(keys, residual, p, b, &both)?;
                if mark == Value::Bool(true) {
                    build_matched[i] = true;
                    if matches!(
                        kind,
                        JoinKind::Inner
                            | JoinKind::ProbeOuter
                            | JoinKind::BuildOuter
                            | JoinKind::FullOuter
                            | JoinKind::ProbeSingle
                    ) {
                        found.push(both);
                    }
                }
                marks.push(mark);
            }
            let count = marks.iter().filter(|m| **m == Value::Bool(true)).count();
            match kind {
                JoinKind::ProbeSingle if count > 1 => return Err(eval::too_many()),
                JoinKind::ProbeOuter | JoinKind::FullOuter | JoinKind::ProbeSingle
                    if count == 0 =>
                {
                    let mut row = p.clone();
                    row.extend(vec![Value::Null; build_width]);
                    found.push(row);
                }
                JoinKind::ProbeSemi if count > 0 => found.push(p.clone()),
                JoinKind::ProbeAnti if count == 0 => found.push(p.clone()),
                JoinKind::ProbeMark => {
                    let mut row = p.clone();
                    row.push(if keys.is_empty() {
                        eval::or(&marks)
                    } else {
                        self.hash_mark(keys, count > 0, p, &build)?
                    });
                    found.push(row);
                }
                _ => {}
            }
        }
        for (b, matched) in build.iter().zip(build_matched) {
            match kind {
                JoinKind::BuildOuter | JoinKind::FullOuter if !matched => {
                    let mut row = vec![Value::Null; probe_width];
                    row.extend(b.iter().cloned());
                    found.push(row);
                }
                JoinKind::BuildSemi if matched => found.push(b.clone()),
                JoinKind::BuildAnti if !matched => found.push(b.clone()),
                _ => {}
            }
        }
        let pick = |row: Row| outputs.iter().map(|i| row[*i].clone()).collect();
        Ok(found.into_iter().map(pick).collect())
    }

    fn matches(
        &self,
        keys: &[JoinKey],
        residual: Option<&Expr>,
        p: &Row,
        b: &Row,
        both: &Row,
    ) -> Result<Value> {
        let mut marks = Vec::new();
        for key in keys {
            let (x, y) = (self.expr(&key.probe, p)?, self.expr(&key.build, b)?);
            assert_eq!(key.probe.physical, key.build.physical, "keys agree");
            let op = match key.nulls {
                NullKeys::Differ => CompareOp::Equal,
                NullKeys::Match => CompareOp::NotDistinct,
            };
            marks.push(eval::compare(op, &x, &y));
        }
        if let Some(residual) = residual {
            marks.push(self.expr(residual, both)?);
        }
        Ok(eval::and(&marks))
    }

    /// The mark of a hash join, by its documentation alone.
    fn hash_mark(&self, keys: &[JoinKey], matched: bool, p: &Row, build: &[Row]) -> Result<Value> {
        if matched {
            return Ok(Value::Bool(true));
        }
        let mut unknown = false;
        for b in build {
            let (mut same, mut null) = (true, false);
            for key in keys {
                let (x, y) = (self.expr(&key.probe, p)?, self.expr(&key.build, b)?);
                match key.nulls {
                    NullKeys::Match => same &= eval::equal(&x, &y),
                    NullKeys::Differ => null |= x.is_null() || y.is_null(),
                }
            }
            unknown |= same && null;
        }
        Ok(if unknown { Value::Null } else { Value::Bool(false) })
    }

    fn aggregate(&mut self, node: &Node) -> Result<Vec<Row>> {
        let Operator::Aggregate { input, keys, aggregates, grouping_sets, mode } = &node.operator
        else {
            return Err(Error::internal("an aggregation was expected"));
        };
        let rows = self.rows(input)?;
        let sets = match grouping_sets {
            Some(sets) => sets.clone(),
            None => vec![(0..keys.len()).collect()],
        };
        let scalar = keys.is_empty() && grouping_sets.is_none();
        assert_eq!(*mode == AggregateMode::Scalar, scalar, "scalar means without keys");
        let mut out = Vec::new();
        for (number, set) in sets.iter().enumerate() {
            let mut groups: Vec<(Row, Vec<Row>)> = Vec::new();
            for row in &rows {
                let mut key = self.list(keys, row)?;
                if let AggregateMode::Dense { min, max } = mode {
                    let inside = key[0]
                        .as_integer()
                        .is_none_or(|v| v >= i128::from(*min) && v <= i128::from(*max));
                    assert!(inside, "a dense group outside of its bounds");
                }
                for (i, value) in key.iter_mut().enumerate() {
                    if !set.contains(&i) {
                        *value = Value::Null;
                    }
                }
                match groups.iter_mut().find(|(k, _)| eval::rows_equal(k, &key)) {
                    Some((_, rows)) => rows.push(row.clone()),
                    None => groups.push((key, vec![row.clone()])),
                }
            }
            if groups.is_empty() && set.is_empty() {
                groups.push((vec![Value::Null; keys.len()], Vec::new()));
            }
            for (mut row, members) in groups {
                for call in aggregates {
                    let mut arguments: Vec<Row> = Vec::new();
                    for member in &members {
                        if !self.holds(call.filter.as_ref(), member)? {
                            continue;
                        }
                        let values = self.list(&call.arguments, member)?;
                        let repeated = call.duplicates == Duplicates::Remove
                            && arguments.iter().any(|known| eval::rows_equal(known, &values));
                        if !repeated {
                            arguments.push(values);
                        }
                    }
                    if call.function == AggregateFunction::AnyValue {
                        let all = arguments.iter().all(|a| eval::rows_equal(a, &arguments[0]));
                        assert!(all, "a key that others decide has one value");
                    }
                    let ty = call.arguments.first().map(|e| e.ty);
                    row.push(eval::aggregate(
                        call.function,
                        &arguments,
                        ty,
                        call.ty,
                        call.physical,
                    )?);
                }
                if grouping_sets.is_some() {
                    row.push(Value::I64(number as i64));
                }
                out.push(row);
            }
        }
        Ok(out)
    }

    fn window(&mut self, node: &Node) -> Result<Vec<Row>> {
        let Operator::Window { input, calls } = &node.operator else {
            return Err(Error::internal("a window was expected"));
        };
        let rows = self.rows(input)?;
        let mut out = rows.clone();
        for call in calls {
            let mut partitions: Vec<(Row, Vec<usize>)> = Vec::new();
            for (i, row) in rows.iter().enumerate() {
                let key = self.list(&call.partition_by, row)?;
                match partitions.iter_mut().find(|(k, _)| eval::rows_equal(k, &key)) {
                    Some((_, members)) => members.push(i),
                    None => partitions.push((key, vec![i])),
                }
            }
            for (_, members) in partitions {
                let tagged = members.iter().map(|i| {
                    let mut row = rows[*i].clone();
                    row.push(Value::I64(*i as i64));
                    row
                });
                let sorted = self.sorted(tagged.collect(), &call.order_by)?;
                for (place, row) in sorted.iter().enumerate() {
                    let i = row.last().and_then(Value::as_integer).expect("an index") as usize;
                    let value = match call.function {
                        WindowFunction::RowNumber => Value::I64(place as i64 + 1),
                        WindowFunction::Aggregate(function) => {
                            let mut arguments = Vec::new();
                            for row in &sorted {
                                arguments.push(self.list(&call.arguments, row)?);
                            }
                            let ty = call.arguments.first().map(|e| e.ty);
                            eval::aggregate(function, &arguments, ty, call.ty, call.physical)?
                        }
                        _ => return Err(Error::unsupported("this window function in tests")),
                    };
                    out[i].push(value);
                }
            }
        }
        Ok(out)
    }

    fn expr(&self, expr: &Expr, row: &Row) -> Result<Value> {
        let value = self.evaluate(expr, row)?;
        assert!(eval::is_held(&value, expr.physical), "{value:?} of {expr:?}");
        Ok(value)
    }

    fn evaluate(&self, expr: &Expr, row: &Row) -> Result<Value> {
        Ok(match &expr.kind {
            ExprKind::Column(i) => row[*i].clone(),
            ExprKind::Literal(value) => value.clone(),
            ExprKind::Parameter(_) => return Err(Error::unsupported("a parameter in tests")),
            ExprKind::Scalar(i) => {
                self.preludes[*i].first().map_or(Value::Null, |row| row[0].clone())
            }
            ExprKind::Call(function, arguments) => {
                let values = self.list(arguments, row)?;
                let typed: Vec<_> =
                    values.into_iter().zip(arguments.iter().map(|e| e.ty)).collect();
                eval::call(*function, &typed, expr.ty, expr.physical)?
            }
            ExprKind::Compare(op, a, b) => {
                assert_eq!(eval::scale(a.ty), eval::scale(b.ty), "operands have one scale");
                eval::compare(*op, &self.expr(a, row)?, &self.expr(b, row)?)
            }
            ExprKind::And(parts) => eval::and(&self.list(parts, row)?),
            ExprKind::Or(parts) => eval::or(&self.list(parts, row)?),
            ExprKind::Not(inner) => eval::not(&self.expr(inner, row)?),
            ExprKind::IsNull(inner) => Value::Bool(self.expr(inner, row)?.is_null()),
            ExprKind::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    if self.expr(condition, row)? == Value::Bool(true) {
                        return self.expr(result, row);
                    }
                }
                self.expr(otherwise, row)?
            }
            ExprKind::Cast(inner) => {
                eval::cast(&self.expr(inner, row)?, inner.ty, expr.ty, expr.physical)
            }
            ExprKind::InList(operand, items) => {
                let items = self.list(items, row)?;
                eval::in_list(&self.expr(operand, row)?, &items)
            }
            ExprKind::Failure(error) => return Err(error.clone()),
            ExprKind::Sequence(..) => return Err(Error::unsupported("sequences in tests")),
            ExprKind::Like { .. } => return Err(Error::unsupported("LIKE in tests")),
        })
    }
}

/// True when the first columns of the index are equal to `keys` in `row`.
fn has_keys(index: &IndexMeta, row: &Row, keys: &[Value]) -> bool {
    if index.kind == IndexKind::Hash {
        assert_eq!(keys.len(), index.columns.len(), "a hash index takes whole keys");
    }
    index.columns.iter().zip(keys).all(|(column, key)| {
        let op = CompareOp::Equal;
        eval::compare(op, &row[column.ordinal], key) == Value::Bool(true)
    })
}

fn in_order_of(index: &IndexMeta, rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let orders = index.columns.iter().map(|column| {
            let (a, b) = (&a[column.ordinal], &b[column.ordinal]);
            logical::sort_order(a, b, column.direction, column.nulls)
        });
        orders.into_iter().find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
}

/// The bounds of a range as a scan has them.
fn bounds_of(range: &IndexRange) -> Vec<ScanRestrictionKind> {
    let compare = |(bound, kind): &(Expr, BoundKind), ops: [CompareOp; 2]| {
        let op = if *kind == BoundKind::Inclusive { ops[1] } else { ops[0] };
        ScanRestrictionKind::Compare(op, bound.clone())
    };
    let low = range.low.iter();
    let low = low.map(|low| compare(low, [CompareOp::Greater, CompareOp::GreaterEqual]));
    let high = range.high.iter();
    let high = high.map(|high| compare(high, [CompareOp::Less, CompareOp::LessEqual]));
    low.chain(high).chain([ScanRestrictionKind::IsNotNull]).collect()
}
