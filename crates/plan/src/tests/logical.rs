//! Naive evaluation of logical plans: sub-queries run again for each row.

use std::collections::HashMap;

use sql::algebra::{
    AggregateCall, ColumnId, CteId, Duplicates, Expr, ExprKind, JoinKind, NullsOrder, Plan,
    Quantifier, SetOperator, SortKey, WindowCall, WindowFunction,
};
use types::{DataType, Error, Result, Value};

use super::data::rows_of;
use super::eval;
use crate::tree;

/// Values of the columns in scope.
pub(super) type Env = HashMap<ColumnId, Value>;

/// Rows of CTEs by position.
#[derive(Default, Clone)]
pub(super) struct Interpreter {
    ctes: HashMap<CteId, Vec<Vec<Value>>>,
}

type Rows = Vec<Env>;

fn positional(rows: Rows, plan: &Plan) -> Vec<Vec<Value>> {
    let columns = tree::output(plan);
    rows.iter().map(|row| columns.iter().map(|(id, _)| row[id].clone()).collect()).collect()
}

fn named(rows: Vec<Vec<Value>>, columns: &[(ColumnId, DataType)]) -> Rows {
    let name = |row: Vec<Value>| columns.iter().map(|c| c.0).zip(row).collect();
    rows.into_iter().map(name).collect()
}

/// `inner` on top of `outer`.
fn under(outer: &Env, inner: &Env) -> Env {
    let mut env = outer.clone();
    env.extend(inner.iter().map(|(id, value)| (*id, value.clone())));
    env
}

impl Interpreter {
    /// The rows of `plan`, whose free columns are in `env`.
    pub(super) fn rows(&mut self, plan: &Plan, env: &Env) -> Result<Rows> {
        match plan {
            Plan::Scan { table, columns, .. } => {
                let read = |row: &Vec<Value>| {
                    columns.iter().map(|(id, i)| (*id, row[*i].clone())).collect()
                };
                Ok(rows_of(table).iter().map(read).collect())
            }
            Plan::Series { arguments, column, .. } => {
                let mut bounds = Vec::new();
                for argument in arguments {
                    bounds.push(self.expr(argument, env)?.as_integer());
                }
                let (Some(start), Some(stop)) = (bounds[0], bounds[1]) else {
                    return Ok(vec![]);
                };
                let value = |v: i128| eval::held(Value::I128(v), column.1.physical());
                Ok((start..=stop).map(|v| HashMap::from([(column.0, value(v))])).collect())
            }
            Plan::Values { columns, rows } => {
                let mut out = Vec::new();
                for row in rows {
                    let mut values = Vec::new();
                    for expr in row {
                        values.push(self.expr(expr, env)?);
                    }
                    out.push(values);
                }
                Ok(named(out, columns))
            }
            Plan::Filter { input, predicate } => {
                let mut out = Vec::new();
                for row in self.rows(input, env)? {
                    if self.expr(predicate, &under(env, &row))? == Value::Bool(true) {
                        out.push(row);
                    }
                }
                Ok(out)
            }
            Plan::Project { input, columns } => {
                let mut out = Vec::new();
                for row in self.rows(input, env)? {
                    let scope = under(env, &row);
                    let mut next = Env::new();
                    for (id, expr) in columns {
                        next.insert(*id, self.expr(expr, &scope)?);
                    }
                    out.push(next);
                }
                Ok(out)
            }
            Plan::Join { left, right, kind, condition } => {
                self.join(left, right, *kind, condition, env)
            }
            Plan::Aggregate { .. } => self.aggregate(plan, env),
            Plan::Distinct { input, on } => {
                let mut seen: Vec<Vec<Value>> = Vec::new();
                let mut out = Vec::new();
                for row in self.rows(input, env)? {
                    let mut key = Vec::new();
                    if on.is_empty() {
                        key = positional(vec![row.clone()], input).remove(0);
                    }
                    for expr in on {
                        key.push(self.expr(expr, &under(env, &row))?);
                    }
                    if !seen.iter().any(|k| eval::rows_equal(k, &key)) {
                        seen.push(key);
                        out.push(row);
                    }
                }
                Ok(out)
            }
            Plan::Window { input, calls } => {
                let rows = self.rows(input, env)?;
                let mut out = rows.clone();
                for (id, call) in calls {
                    self.window(&rows, *id, call, env, &mut out)?;
                }
                Ok(out)
            }
            Plan::Sort { input, keys } => {
                let rows = self.rows(input, env)?;
                self.sorted(rows, keys, env)
            }
            Plan::Limit { input, limit, offset } => {
                let rows = self.rows(input, env)?;
                let mut bound = |e: &Option<Expr>| -> Result<Option<usize>> {
                    let value = e.as_ref().map(|e| self.expr(e, env)).transpose()?;
                    Ok(value.and_then(|v| v.as_integer()).map(|v| v as usize))
                };
                let (limit, offset) = (bound(limit)?, bound(offset)?.unwrap_or(0));
                Ok(rows.into_iter().skip(offset).take(limit.unwrap_or(usize::MAX)).collect())
            }
            Plan::SetOperation { operator, duplicates, left, right, columns } => {
                let a = positional(self.rows(left, env)?, left);
                let b = positional(self.rows(right, env)?, right);
                Ok(named(set_operation(*operator, *duplicates, a, b), columns))
            }
            Plan::With { cte, definition, body, .. } => {
                let rows = positional(self.rows(definition, env)?, definition);
                let mut inner = self.clone();
                inner.ctes.insert(*cte, rows);
                inner.rows(body, env)
            }
            Plan::RecursiveWith { cte, duplicates, base, step, body, .. } => {
                let mut inner = self.clone();
                let mut all: Vec<Vec<Value>> = Vec::new();
                let mut round = positional(self.rows(base, env)?, base);
                while !round.is_empty() {
                    if *duplicates == Duplicates::Remove {
                        let mut fresh: Vec<Vec<Value>> = Vec::new();
                        for row in round {
                            let mut known = all.iter().chain(&fresh);
                            if !known.any(|r| eval::rows_equal(r, &row)) {
                                fresh.push(row);
                            }
                        }
                        round = fresh;
                    }
                    all.extend(round.iter().cloned());
                    inner.ctes.insert(*cte, round);
                    round = positional(inner.rows(step, env)?, step);
                    if all.len() > 1000 {
                        return Err(Error::unsupported("a long recursion"));
                    }
                }
                inner.ctes.insert(*cte, all);
                inner.rows(body, env)
            }
            Plan::CteScan { cte, columns, .. } => Ok(named(self.ctes[cte].clone(), columns)),
            Plan::Input { .. } => Err(Error::unsupported("supplied rows in tests")),
            Plan::FunctionScan { .. } => Err(Error::unsupported("a table function in tests")),
        }
    }

    fn join(
        &mut self,
        left: &Plan,
        right: &Plan,
        kind: JoinKind,
        condition: &Expr,
        env: &Env,
    ) -> Result<Rows> {
        let nulls = |plan: &Plan| -> Env {
            tree::output(plan).into_iter().map(|(id, _)| (id, Value::Null)).collect()
        };
        let mut out = Vec::new();
        if kind == JoinKind::Right {
            for r in self.rows(right, env)? {
                let mut found = false;
                for l in self.rows(left, env)? {
                    let row = under(&l, &r);
                    if self.expr(condition, &under(env, &row))? == Value::Bool(true) {
                        found = true;
                        out.push(row);
                    }
                }
                if !found {
                    out.push(under(&nulls(left), &r));
                }
            }
            return Ok(out);
        }
        let mut matched: Vec<usize> = Vec::new();
        for l in self.rows(left, env)? {
            let mut marks = Vec::new();
            let mut count = 0;
            for (i, r) in self.rows(right, &under(env, &l))?.into_iter().enumerate() {
                let row = under(&l, &r);
                let mark = self.expr(condition, &under(env, &row))?;
                if mark == Value::Bool(true) {
                    count += 1;
                    matched.push(i);
                    let pairs = JoinKind::Semi != kind
                        && JoinKind::Anti != kind
                        && !matches!(kind, JoinKind::Mark(_));
                    if pairs {
                        out.push(row);
                    }
                }
                marks.push(mark);
            }
            match kind {
                JoinKind::Semi if count > 0 => out.push(l),
                JoinKind::Anti if count == 0 => out.push(l),
                JoinKind::Mark(id) => {
                    let mut row = l;
                    row.insert(id, eval::or(&marks));
                    out.push(row);
                }
                JoinKind::Left | JoinKind::Full | JoinKind::Single if count == 0 => {
                    out.push(under(&l, &nulls(right)));
                }
                JoinKind::Single if count > 1 => return Err(eval::too_many()),
                _ => {}
            }
        }
        if kind == JoinKind::Full {
            for (i, r) in self.rows(right, env)?.into_iter().enumerate() {
                if !matched.contains(&i) {
                    out.push(under(&nulls(left), &r));
                }
            }
        }
        Ok(out)
    }

    fn aggregate(&mut self, plan: &Plan, env: &Env) -> Result<Rows> {
        let Plan::Aggregate { input, keys, aggregates, grouping_sets, set_column } = plan else {
            return Err(Error::internal("an aggregation was expected"));
        };
        let rows = self.rows(input, env)?;
        let sets = match grouping_sets {
            Some(sets) => sets.clone(),
            None => vec![(0..keys.len()).collect()],
        };
        let mut out = Vec::new();
        for (number, set) in sets.iter().enumerate() {
            let mut groups: Vec<(Vec<Value>, Rows)> = Vec::new();
            for row in &rows {
                let scope = under(env, row);
                let mut key = Vec::new();
                for (i, (_, expr)) in keys.iter().enumerate() {
                    let value = self.expr(expr, &scope)?;
                    key.push(if set.contains(&i) { value } else { Value::Null });
                }
                match groups.iter_mut().find(|(k, _)| eval::rows_equal(k, &key)) {
                    Some((_, rows)) => rows.push(row.clone()),
                    None => groups.push((key, vec![row.clone()])),
                }
            }
            if groups.is_empty() && set.is_empty() {
                groups.push((vec![Value::Null; keys.len()], Vec::new()));
            }
            for (key, rows) in groups {
                let mut row: Env = keys.iter().map(|(id, _)| *id).zip(key).collect();
                for (id, call) in aggregates {
                    row.insert(*id, self.aggregate_call(call, &rows, env)?);
                }
                if let Some(id) = set_column {
                    row.insert(*id, Value::I64(number as i64));
                }
                out.push(row);
            }
        }
        Ok(out)
    }

    fn aggregate_call(&mut self, call: &AggregateCall, rows: &Rows, env: &Env) -> Result<Value> {
        let mut arguments: Vec<Vec<Value>> = Vec::new();
        for row in rows {
            let scope = under(env, row);
            if let Some(filter) = &call.filter
                && self.expr(filter, &scope)? != Value::Bool(true)
            {
                continue;
            }
            let mut values = Vec::new();
            for argument in &call.arguments {
                values.push(self.expr(argument, &scope)?);
            }
            if call.duplicates == Duplicates::Remove
                && arguments.iter().any(|known| eval::rows_equal(known, &values))
            {
                continue;
            }
            arguments.push(values);
        }
        let ty = call.arguments.first().map(|e| e.ty);
        eval::aggregate(call.function, &arguments, ty, call.ty, call.ty.physical())
    }

    fn window(
        &mut self,
        rows: &Rows,
        id: ColumnId,
        call: &WindowCall,
        env: &Env,
        out: &mut Rows,
    ) -> Result<()> {
        let mut partitions: Vec<(Vec<Value>, Vec<usize>)> = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let mut key = Vec::new();
            for expr in &call.partition_by {
                key.push(self.expr(expr, &under(env, row))?);
            }
            match partitions.iter_mut().find(|(k, _)| eval::rows_equal(k, &key)) {
                Some((_, members)) => members.push(i),
                None => partitions.push((key, vec![i])),
            }
        }
        for (_, members) in partitions {
            let mut tagged: Rows = Vec::new();
            for i in &members {
                let mut row = rows[*i].clone();
                row.insert(ColumnId(u32::MAX), Value::I64(*i as i64));
                tagged.push(row);
            }
            let sorted = self.sorted(tagged, &call.order_by, env)?;
            for (place, row) in sorted.iter().enumerate() {
                let i = row[&ColumnId(u32::MAX)].as_integer().expect("an index") as usize;
                let value = match call.function {
                    WindowFunction::RowNumber => Value::I64(place as i64 + 1),
                    WindowFunction::Aggregate(function) => {
                        let mut arguments = Vec::new();
                        for row in &sorted {
                            let mut values = Vec::new();
                            for argument in &call.arguments {
                                values.push(self.expr(argument, &under(env, row))?);
                            }
                            arguments.push(values);
                        }
                        let ty = call.arguments.first().map(|e| e.ty);
                        eval::aggregate(function, &arguments, ty, call.ty, call.ty.physical())?
                    }
                    _ => return Err(Error::unsupported("this window function in tests")),
                };
                out[i].insert(id, value);
            }
        }
        Ok(())
    }

    fn sorted(&mut self, rows: Rows, keys: &[SortKey], env: &Env) -> Result<Rows> {
        let mut keyed = Vec::new();
        for row in rows {
            let mut values = Vec::new();
            for key in keys {
                values.push(self.expr(&key.expr, &under(env, &row))?);
            }
            keyed.push((values, row));
        }
        keyed.sort_by(|(a, _), (b, _)| {
            let compare =
                |(i, key): (usize, &SortKey)| sort_order(&a[i], &b[i], key.direction, key.nulls);
            keys.iter()
                .enumerate()
                .map(compare)
                .find(|o| o.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        Ok(keyed.into_iter().map(|(_, row)| row).collect())
    }

    /// The value of `expr`; every part is evaluated, also those that SQL would not reach.
    pub(super) fn expr(&mut self, expr: &Expr, env: &Env) -> Result<Value> {
        let mut list = |list: &[Expr]| -> Result<Vec<Value>> {
            list.iter().map(|e| self.expr(e, env)).collect()
        };
        Ok(match &expr.kind {
            ExprKind::Column(id) => env
                .get(id)
                .cloned()
                .ok_or_else(|| Error::internal(format!("column {} is not in scope", id.0)))?,
            ExprKind::Literal(value) => value.clone(),
            ExprKind::Parameter(_) => return Err(Error::unsupported("a parameter in tests")),
            ExprKind::Call(function, arguments) => {
                let values = list(arguments)?;
                let typed: Vec<_> =
                    values.into_iter().zip(arguments.iter().map(|e| e.ty)).collect();
                eval::call(*function, &typed, expr.ty, expr.ty.physical())?
            }
            ExprKind::Compare(op, a, b) => {
                let (x, y) = (self.expr(a, env)?, self.expr(b, env)?);
                let digits = eval::scale(a.ty).max(eval::scale(b.ty));
                let fit = |v: Value, ty| match v.as_integer() {
                    Some(n) => Value::I128(eval::rescale(n, eval::scale(ty), digits)),
                    None => v,
                };
                eval::compare(*op, &fit(x, a.ty), &fit(y, b.ty))
            }
            ExprKind::And(parts) => eval::and(&list(parts)?),
            ExprKind::Or(parts) => eval::or(&list(parts)?),
            ExprKind::Not(inner) => eval::not(&self.expr(inner, env)?),
            ExprKind::IsNull(inner) => Value::Bool(self.expr(inner, env)?.is_null()),
            ExprKind::Case { branches, otherwise } => {
                let mut found = None;
                for (condition, result) in branches {
                    let (condition, result) = (self.expr(condition, env)?, self.expr(result, env)?);
                    if found.is_none() && condition == Value::Bool(true) {
                        found = Some(result);
                    }
                }
                let otherwise = self.expr(otherwise, env)?;
                found.unwrap_or(otherwise)
            }
            ExprKind::Cast(inner) => {
                let value = self.expr(inner, env)?;
                eval::cast(&value, inner.ty, expr.ty, expr.ty.physical())
            }
            ExprKind::InList(operand, items) => {
                let items = list(items)?;
                eval::in_list(&self.expr(operand, env)?, &items)
            }
            ExprKind::Like { .. } => return Err(Error::unsupported("LIKE in tests")),
            ExprKind::ScalarSubquery(plan) => {
                let rows = positional(self.rows(plan, env)?, plan);
                if rows.len() > 1 {
                    return Err(eval::too_many());
                }
                rows.into_iter().next().map_or(Value::Null, |mut row| row.swap_remove(0))
            }
            ExprKind::Exists(plan) => Value::Bool(!self.rows(plan, env)?.is_empty()),
            ExprKind::Quantified { left, op, quantifier, plan } => {
                let left = list(left)?;
                let rows = positional(self.rows(plan, env)?, plan);
                let each = |row: &Vec<Value>| {
                    let parts: Vec<Value> =
                        left.iter().zip(row).map(|(a, b)| eval::compare(*op, a, b)).collect();
                    match op {
                        types::CompareOp::NotEqual => eval::or(&parts),
                        _ => eval::and(&parts),
                    }
                };
                let marks: Vec<Value> = rows.iter().map(each).collect();
                match quantifier {
                    Quantifier::Any => eval::or(&marks),
                    Quantifier::All => eval::and(&marks),
                }
            }
        })
    }
}

/// Order of two values by a sort key.
pub(super) fn sort_order(
    a: &Value,
    b: &Value,
    direction: sql::algebra::Direction,
    nulls: NullsOrder,
) -> std::cmp::Ordering {
    use std::cmp::Ordering;
    let first = nulls == NullsOrder::First;
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => {
            if first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (false, true) => {
            if first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        _ if direction == sql::algebra::Direction::Ascending => eval::order(a, b),
        _ => eval::order(b, a),
    }
}

/// UNION, INTERSECT, EXCEPT over rows by position.
pub(super) fn set_operation(
    operator: SetOperator,
    duplicates: Duplicates,
    left: Vec<Vec<Value>>,
    right: Vec<Vec<Value>>,
) -> Vec<Vec<Value>> {
    let mut out: Vec<Vec<Value>> = Vec::new();
    match operator {
        SetOperator::Union => out.extend(left.into_iter().chain(right)),
        _ => {
            let mut rest = right;
            for row in left {
                let at = rest.iter().position(|r| eval::rows_equal(r, &row));
                let all = duplicates == Duplicates::Keep;
                if let (Some(i), true) = (at, all) {
                    rest.remove(i);
                }
                if at.is_some() == (operator == SetOperator::Intersect) {
                    out.push(row);
                }
            }
        }
    }
    if duplicates == Duplicates::Remove {
        let mut unique: Vec<Vec<Value>> = Vec::new();
        for row in out {
            if !unique.iter().any(|r| eval::rows_equal(r, &row)) {
                unique.push(row);
            }
        }
        return unique;
    }
    out
}
