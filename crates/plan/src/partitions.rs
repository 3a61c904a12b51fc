//! Tables with partitions or heirs: a scan becomes the union of the scans of those that can have
//! rows.
//!
//! ```text
//! Filter p (Scan t)  ->  Union All (Project (Filter p' (Scan t1)), Project (Filter p' (Scan t3)))
//! ```
//! The filter has been pushed down before, so what it says of the partition key is known here. TIDs
//! say which partition they are of ([`PARTITION_SHIFT`]).

use sql::algebra::family::Member;
use sql::algebra::partition::{Below, BoundValues, Inclusion, PartitionNode, Possible};
use sql::algebra::{ColumnId, Duplicates, Expr, ExprKind, Function, Plan, SetOperator, SortKey};
use sql::catalog::{PARTITION_SHIFT, RangeEnd, TID_COLUMN, TableRef};
use types::{CompareOp, DataType, Value};

use crate::context::{Context, Expansion};
use crate::tree;

/// Replaces the scans of tables with partitions or heirs in `plan`.
pub(crate) fn expand(context: &mut Context<'_>, plan: &mut Plan) {
    types::stack::deep(|| {
        let (scan, predicate) = match &*plan {
            Plan::Filter { input, predicate } => (&**input, Some(predicate)),
            other => (other, None),
        };
        if let Plan::Scan { table, columns, .. } = scan
            && let Some(members) = table.members()
        {
            let scan = Scan { table, members, columns, predicate };
            *plan = scan.union(context);
            return;
        }
        tree::inputs_mut(plan, &mut |input| expand(context, input));
    });
}

/// The most rows for which ORDER BY ... LIMIT goes down to partitions.
const LIMIT_MAX: i64 = 10_000;

/// Gives the parts of a union below ORDER BY ... LIMIT the same order and limit: others of their
/// rows are not among the first, and an index of a partition may have these.
pub(crate) fn limit_parts(plan: &mut Plan) {
    types::stack::deep(|| {
        if let Plan::Limit { input, limit, offset } = plan
            && let Some(rows) = first_rows(limit.as_ref(), offset.as_ref())
            && let Plan::Sort { input, keys } = &mut **input
        {
            limit_union(input, keys.clone(), rows);
        }
        tree::inputs_mut(plan, &mut |input| limit_parts(input));
    });
}

/// Rows up to the end of LIMIT and OFFSET, if they are known and few.
fn first_rows(limit: Option<&Expr>, offset: Option<&Expr>) -> Option<i64> {
    let rows = |expr: &Expr| match expr.kind {
        ExprKind::Literal(Value::I64(rows)) => Some(rows),
        _ => None,
    };
    let rows = rows(limit?)?.checked_add(offset.map_or(Some(0), rows)?)?;
    (0..=LIMIT_MAX).contains(&rows).then_some(rows)
}

/// Looks for a union below projections.
fn limit_union(plan: &mut Plan, keys: Vec<SortKey>, rows: i64) {
    match plan {
        Plan::Project { input, columns } => {
            if let Some(keys) = keys_below(keys, columns) {
                limit_union(input, keys, rows);
            }
        }
        Plan::SetOperation { .. } => limit_part(plan, keys, rows),
        _ => {}
    }
}

/// Limits one part, or all parts of a union.
fn limit_part(plan: &mut Plan, keys: Vec<SortKey>, rows: i64) {
    match plan {
        Plan::SetOperation {
            operator: SetOperator::Union,
            duplicates: Duplicates::Keep,
            left,
            right,
            columns,
        } => {
            for side in [left, right] {
                let below = tree::output(side);
                let same = columns.iter().zip(below);
                let same: Vec<(ColumnId, Expr)> =
                    same.map(|((id, _), (from, ty))| (*id, tree::column(from, ty))).collect();
                if let Some(keys) = keys_below(keys.clone(), &same) {
                    limit_part(side, keys, rows);
                }
            }
        }
        Plan::Project { input, columns } if is_scan(input) => {
            let Some(keys) = keys_below(keys, columns) else { return };
            let sorted = Plan::Sort { input: Box::new(tree::take(input)), keys };
            let limit = Some(tree::literal(Value::I64(rows), DataType::BigInt));
            **input = Plan::Limit { input: Box::new(sorted), limit, offset: None };
        }
        _ => {}
    }
}

fn is_scan(plan: &Plan) -> bool {
    match plan {
        Plan::Filter { input, .. } => matches!(**input, Plan::Scan { .. }),
        plan => matches!(plan, Plan::Scan { .. }),
    }
}

/// The keys over what `columns` are made of; None when they are not the same every time.
fn keys_below(mut keys: Vec<SortKey>, columns: &[(ColumnId, Expr)]) -> Option<Vec<SortKey>> {
    let made = columns.iter().cloned().collect();
    for key in &mut keys {
        tree::substitute(&mut key.expr, &made);
        if tree::is_volatile(&key.expr) {
            return None;
        }
    }
    Some(keys)
}

/// The scan of a table whose rows others have.
struct Scan<'a> {
    table: &'a TableRef,
    members: Vec<Member>,
    columns: &'a [(ColumnId, usize)],
    predicate: Option<&'a Expr>,
}

impl Scan<'_> {
    fn union(&self, context: &mut Context<'_>) -> Plan {
        let conjuncts = self.predicate.map_or_else(Vec::new, |p| tree::conjuncts(p.clone()));
        let leaves = match self.table.partitions() {
            Some(tree) => tree.prune(&|key| self.possible(key, &conjuncts)),
            None => (0..self.members.len()).collect(),
        };
        let has_tid = self.columns.iter().any(|(_, ordinal)| *ordinal == TID_COLUMN);
        if let ([leaf], false) = (leaves.as_slice(), has_tid) {
            let member = &self.members[*leaf];
            let columns = self.columns.iter().map(|(id, at)| (*id, member.ordinal(*at))).collect();
            let (table, alias) = (member.table.clone(), member.table.bare_name().into());
            let scan = Plan::Scan { table, columns, alias };
            return tree::filtered(scan, conjuncts);
        }
        let parts = leaves.iter().map(|leaf| self.part(context, *leaf)).collect();
        // Statements that write know rows by the number of their leaf.
        if self.table.partitions().is_some() && !has_tid {
            let (table, columns) = (self.table.clone(), self.columns.to_vec());
            context.expansions.push(Expansion { table, columns, leaves });
        }
        self.all(context, parts, 0)
    }

    /// Type of a column of the scan.
    fn type_of(&self, ordinal: usize) -> DataType {
        let column = self.table.columns().get(ordinal);
        column.map_or(DataType::BigInt, |column| column.ty)
    }

    /// The rows of one partition, in columns of its own.
    fn part(&self, context: &mut Context<'_>, leaf: usize) -> Plan {
        let member = &self.members[leaf];
        let ordinals = self.columns.iter().map(|(_, ordinal)| *ordinal);
        let ids: Vec<(ColumnId, usize)> = ordinals.map(|at| (context.fresh(), at)).collect();
        let columns: Vec<(ColumnId, usize)> =
            ids.iter().map(|(id, at)| (*id, member.ordinal(*at))).collect();
        let table = member.table.clone();
        let renaming =
            self.columns.iter().zip(&ids).map(|((old, _), (new, _))| (*old, *new)).collect();
        let outputs = ids.iter().map(|&(id, ordinal)| {
            let value = tree::column(id, self.type_of(ordinal));
            if ordinal != TID_COLUMN || leaf == 0 {
                return (id, value);
            }
            (context.fresh(), tid_of_all(value, leaf))
        });
        let outputs = outputs.collect();
        let alias = table.bare_name().into();
        let mut plan = Plan::Scan { table, columns, alias };
        if let Some(predicate) = self.predicate {
            let mut parts = tree::conjuncts(predicate.clone());
            let mut gates = Vec::new();
            if let Some(tree) = self.table.partitions() {
                self.gates(&tree.root, leaf, &parts, &mut gates);
            }
            parts.append(&mut gates);
            let tid = self.columns.iter().find(|(_, ordinal)| *ordinal == TID_COLUMN);
            if let Some((tid, _)) = tid {
                parts.iter_mut().for_each(|part| of_leaf(part, *tid, leaf));
            }
            let mut predicate = tree::and_all(parts);
            tree::rename_expr(&mut predicate, &renaming);
            plan = Plan::Filter { input: Box::new(plan), predicate };
        }
        Plan::Project { input: Box::new(plan), columns: outputs }
    }

    /// The rows of all `parts`, at `level` of the unions. Halves keep the tree of unions low.
    fn all(&self, context: &mut Context<'_>, mut parts: Vec<Plan>, level: usize) -> Plan {
        let own = level == 0;
        let mut columns: Vec<(ColumnId, DataType)> =
            self.columns.iter().map(|&(id, ordinal)| (id, self.type_of(ordinal))).collect();
        if parts.is_empty() {
            return Plan::Values { columns, rows: Vec::new() };
        }
        if parts.len() == 1 {
            let Some(part) = parts.pop() else { return tree::one_row() };
            if !own {
                return part;
            }
            let below = tree::output(&part);
            let renamed = columns
                .iter()
                .zip(below)
                .map(|((id, _), (from, ty))| (*id, tree::column(from, ty)));
            let columns = renamed.collect();
            return Plan::Project { input: Box::new(part), columns };
        }
        if !own {
            columns.iter_mut().for_each(|(id, _)| *id = context.fresh());
        }
        let rest = parts.split_off(parts.len() / 2);
        let left = Box::new(self.all(context, parts, level + 1));
        let right = Box::new(self.all(context, rest, level + 1));
        let (operator, duplicates) = (SetOperator::Union, Duplicates::Keep);
        Plan::SetOperation { operator, duplicates, left, right, columns }
    }

    /// Conditions on parameters without which the leaf has no rows: they are decided once, when the
    /// plan runs. False when the leaf is not below `node`.
    fn gates(
        &self,
        node: &PartitionNode,
        leaf: usize,
        conjuncts: &[Expr],
        out: &mut Vec<Expr>,
    ) -> bool {
        for part in &node.parts {
            let is_here = match &part.below {
                Below::Leaf(number) => *number == leaf,
                Below::Node(node) => self.gates(node, leaf, conjuncts, out),
            };
            if !is_here {
                continue;
            }
            if let Some(key) = node.keys.first().and_then(|key| self.over_query(key)) {
                let is_whole = node.keys.len() == 1;
                let gates = conjuncts.iter().filter_map(|c| gate(&key, c, &part.bound, is_whole));
                out.extend(gates);
            }
            return true;
        }
        false
    }

    /// `key`, an expression over the ordinals of a row, over the columns of the query; None when it
    /// reads others.
    fn over_query(&self, key: &Expr) -> Option<Expr> {
        let find = |id: ColumnId| {
            self.columns.iter().find(|(_, ordinal)| *ordinal == id.0 as usize).map(|(id, _)| *id)
        };
        let mut renaming = tree::Renaming::new();
        for id in tree::mentioned(key).iter() {
            renaming.insert(id, find(id)?);
        }
        let mut key = key.clone();
        tree::rename_expr(&mut key, &renaming);
        Some(key)
    }

    /// Values of `key` that the conjuncts leave: an expression over the ordinals of a row.
    fn possible(&self, key: &Expr, conjuncts: &[Expr]) -> Possible {
        let mut possible = Possible::default();
        if let Some(key) = self.over_query(key) {
            conjuncts.iter().for_each(|part| narrow(&mut possible, &key, part));
        }
        possible
    }
}

/// The TID that the whole table gives a row of this leaf, of which the leaf gives `own`.
fn tid_of_all(own: Expr, leaf: usize) -> Expr {
    let number = tree::literal(Value::I64((leaf as i64) << PARTITION_SHIFT), DataType::BigInt);
    Expr::call(Function::Add, vec![own, number], DataType::BigInt)
}

/// Makes of a condition on the TIDs of the whole table one on those of a leaf.
fn of_leaf(part: &mut Expr, tid: ColumnId, leaf: usize) {
    if let ExprKind::Compare(CompareOp::Equal, left, right) = &mut part.kind
        && left.as_column() == Some(tid)
        && let ExprKind::Literal(Value::I64(wanted)) = &mut right.kind
    {
        if *wanted >> PARTITION_SHIFT != leaf as i64 {
            *part = tree::literal(Value::Bool(false), DataType::Boolean);
            return;
        }
        *wanted &= (1 << PARTITION_SHIFT) - 1;
        return;
    }
    if leaf > 0 {
        let whole = tid_of_all(tree::column(tid, DataType::BigInt), leaf);
        tree::substitute(part, &[(tid, whole)].into_iter().collect());
    }
}

/// The condition on what `key` is compared with by `part` that rows within `bound` need; None
/// where nothing is gained.
fn gate(key: &Expr, part: &Expr, bound: &BoundValues, is_whole: bool) -> Option<Expr> {
    let ExprKind::Compare(op, left, right) = &part.kind else { return None };
    let (op, other) = if is_key(left, key) {
        (*op, &**right)
    } else if is_key(right, key) {
        (op.exchanged(), &**left)
    } else {
        return None;
    };
    let is_open = tree::is_constant(other) && !matches!(other.kind, ExprKind::Literal(_));
    if !is_open || other.ty != key.ty || tree::is_volatile(other) {
        return None;
    }
    let value = |value: &Value| tree::literal(value.clone(), key.ty);
    let compare = |op, bound: &Value| tree::compare(op, other.clone(), value(bound));
    match (bound, op) {
        (BoundValues::List(values), CompareOp::Equal) => {
            let some = values.iter().filter(|value| !value.is_null()).map(value).collect();
            Some(tree::boolean(ExprKind::InList(Box::new(other.clone()), some)))
        }
        (BoundValues::Range { from, to }, op) => {
            let (reaches_low, reaches_high) = match op {
                CompareOp::Equal => (Some(CompareOp::GreaterEqual), Some(CompareOp::Less)),
                CompareOp::Less => (Some(CompareOp::Greater), None),
                CompareOp::LessEqual => (Some(CompareOp::GreaterEqual), None),
                CompareOp::Greater | CompareOp::GreaterEqual => (None, Some(CompareOp::Less)),
                _ => return None,
            };
            // An end of several columns may share its first value with the key.
            let reaches_high =
                reaches_high.map(|op| if is_whole { op } else { CompareOp::LessEqual });
            let mut terms = Vec::new();
            if let (Some(op), Some(RangeEnd::Value(low))) = (reaches_low, from.first()) {
                terms.push(compare(op, low));
            }
            if let (Some(op), Some(RangeEnd::Value(high))) = (reaches_high, to.first()) {
                terms.push(compare(op, high));
            }
            (!terms.is_empty()).then(|| tree::and_all(terms))
        }
        _ => None,
    }
}

/// Narrows the values of `key` to those for which `part` can be true.
fn narrow(possible: &mut Possible, key: &Expr, part: &Expr) {
    let ty = key.ty;
    match &part.kind {
        ExprKind::Compare(op, left, right) => {
            let (op, constant) = if is_key(left, key) {
                (*op, literal(right, ty))
            } else if is_key(right, key) {
                (op.exchanged(), literal(left, ty))
            } else {
                return;
            };
            let Some(value) = constant else { return };
            match op {
                CompareOp::Equal | CompareOp::NotDistinct => possible.among(vec![value], ty),
                CompareOp::Less => possible.to(value, Inclusion::Exclusive, ty),
                CompareOp::LessEqual => possible.to(value, Inclusion::Inclusive, ty),
                CompareOp::Greater => possible.from(value, Inclusion::Exclusive, ty),
                CompareOp::GreaterEqual => possible.from(value, Inclusion::Inclusive, ty),
                CompareOp::NotEqual | CompareOp::Distinct => {}
            }
        }
        ExprKind::InList(operand, list) if is_key(operand, key) => {
            let values: Option<Vec<Value>> = list.iter().map(|item| literal(item, ty)).collect();
            if let Some(mut values) = values {
                values.retain(|value| !value.is_null());
                possible.among(values, ty);
            }
        }
        ExprKind::IsNull(operand) if is_key(operand, key) => {
            possible.among(vec![Value::Null], ty);
        }
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(operand) if is_key(operand, key) => possible.is_not_null = true,
            _ if is_key(inner, key) => possible.among(vec![Value::Bool(false)], ty),
            _ => {}
        },
        _ if is_key(part, key) => possible.among(vec![Value::Bool(true)], ty),
        _ => {}
    }
}

/// True for the key, and for the text of one that is VARCHAR.
fn is_key(expr: &Expr, key: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Cast(inner) if expr.ty == DataType::Text => {
            expr == key || matches!(inner.ty, DataType::Varchar(_)) && **inner == *key
        }
        _ => expr == key,
    }
}

/// The value of a constant, if it compares with values of type `ty` as it is held.
fn literal(expr: &Expr, ty: DataType) -> Option<Value> {
    let ExprKind::Literal(value) = &expr.kind else { return None };
    let is_text = |ty: DataType| matches!(ty, DataType::Text | DataType::Varchar(_));
    let is_alike = expr.ty == ty
        || expr.ty.is_integer() && ty.is_integer()
        || is_text(expr.ty) && is_text(ty)
        || match (expr.ty, ty) {
            (DataType::Numeric(a), DataType::Numeric(b)) => a.scale == b.scale,
            (DataType::Timestamp(_), DataType::Timestamp(_))
            | (DataType::TimestampTz(_), DataType::TimestampTz(_))
            | (DataType::Time(_), DataType::Time(_)) => true,
            _ => false,
        };
    is_alike.then(|| value.clone())
}
