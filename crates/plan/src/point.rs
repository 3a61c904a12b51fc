//! Statements that touch a few rows of one table by key: they run without the scheduler, on rows
//! found by an index.
//!
//! ```text
//! key exprs -> index -> rows (columns read) -> residual -> output, or assignments
//! ```
//! Expressions are over the columns read, [`PointPlan::columns`], each held as its type says, and
//! over parameters.

use hashbrown::HashMap;
use sql::algebra::{ColumnId, Expr as Logical, ExprKind as LogicalKind, Plan, Query};
use sql::catalog::{IndexKind, IndexMeta, TID_COLUMN, TableRef, Uniqueness};
use sql::statement::{Insert, Matches, Returning, RowLock, RowPlace, Statement};
use types::{CompareOp, DataType, PhysicalType};

use crate::fold::simplify_comparison;
use crate::lower::{fitted, held_as, lower_with};
use crate::physical::{Expr, ExprKind};
use crate::tree;

/// A statement on rows of one table that have a key.
#[derive(Clone, Debug, PartialEq)]
pub struct PointPlan {
    /// The table.
    pub table: TableRef,
    /// Position in [`sql::catalog::TableMeta::indexes`].
    pub index: usize,
    /// Values of the first columns of the index, without columns, in the columns' physical forms.
    /// A NULL matches nothing.
    pub keys: Vec<Expr>,
    /// How many rows can have the key.
    pub rows: PointRows,
    /// Ordinals of the columns that the other expressions read, by their position.
    pub columns: Vec<usize>,
    /// Further condition that must be true of a row.
    pub residual: Option<Expr>,
    /// Action on the rows.
    pub action: PointAction,
    /// Result columns: of SELECT, or of RETURNING over the row after an update.
    pub output: Vec<PointOutput>,
}

/// Columns of the primary key that must be given when its last one is not: one alone, a warehouse
/// say, may have so many rows that they are better read in parallel.
const PREFIX_MIN: usize = 2;

/// How many rows can have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointRows {
    /// The key is all of a unique index.
    One,
    /// The key is all but the last column of the primary key, two columns or more.
    Many,
}

/// Action of a point statement on its rows.
#[derive(Clone, Debug, PartialEq)]
pub enum PointAction {
    /// SELECT.
    Select,
    /// SELECT ... FOR UPDATE and its kin.
    Lock(RowLock),
    /// UPDATE: ordinals in the table and new values, in the columns' physical forms.
    Update(Vec<(usize, Expr)>),
    /// DELETE.
    Delete,
}

/// A result column of a point statement.
#[derive(Clone, Debug, PartialEq)]
pub struct PointOutput {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Its value.
    pub expr: Expr,
}

/// The point plan of `statement`; None when it is another kind of statement.
pub fn point(statement: &Statement) -> Option<PointPlan> {
    match statement {
        Statement::Query(query) => {
            let mut build = Build::of(query)?;
            let output = build.outputs(query, query.columns.len())?;
            build.finish(PointAction::Select, output)
        }
        Statement::SelectForUpdate(select) => {
            let [lock] = select.locks.as_slice() else {
                return None;
            };
            if select.limit.is_some() || select.offset.is_some() {
                return None;
            }
            let mut build = Build::of(&select.query)?;
            let output = build.outputs(&select.query, select.width)?;
            build.finish(PointAction::Lock(lock.clone()), output)
        }
        // New values of a partition may not be its own.
        Statement::Update(update) if update.table.partition_of().is_some() => None,
        Statement::Update(update) if update.matches == Matches::Once => {
            let mut build = Build::of(&update.source)?;
            let mut assignments = Vec::with_capacity(update.columns.len());
            for (&ordinal, column) in update.columns.iter().zip(update.source.columns.get(1..)?) {
                let ty = update.table.columns().get(ordinal)?.ty;
                let value = build.expr(&build.made.get(&column.id)?.clone())?;
                assignments.push((ordinal, of_type(value, ty)?));
            }
            let output = build.returning(update.returning.as_ref())?;
            build.finish(PointAction::Update(assignments), output)
        }
        Statement::Delete(delete) if delete.matches == Matches::Once => {
            let mut build = Build::of(&delete.source)?;
            let output = build.returning(delete.returning.as_ref())?;
            build.finish(PointAction::Delete, output)
        }
        _ => None,
    }
}

/// Output of RETURNING for an inserted row: the ordinals of the columns that it reads, and
/// expressions over them; empty without RETURNING. None when it is not simple.
pub fn returned(insert: &Insert) -> Option<(Vec<usize>, Vec<PointOutput>)> {
    let query = insert.returning.as_ref().map_or(&insert.source, |returning| &returning.query);
    let mut build = Build {
        table: insert.table.clone(),
        parameters: &query.parameters,
        ordinals: HashMap::new(),
        made: HashMap::new(),
        conjuncts: Vec::new(),
        columns: Vec::new(),
    };
    let output = build.returning(insert.returning.as_ref())?;
    Some((build.columns, output))
}

/// A point plan being made of Project over Filter over Scan.
struct Build<'q> {
    table: TableRef,
    parameters: &'q [DataType],
    /// Ordinals of the columns of the scan.
    ordinals: HashMap<ColumnId, usize>,
    /// Expression of each output column of the plan.
    made: HashMap<ColumnId, Logical>,
    conjuncts: Vec<Logical>,
    columns: Vec<usize>,
}

impl<'q> Build<'q> {
    fn of(query: &'q Query) -> Option<Self> {
        let mut made = HashMap::new();
        let mut plan = &query.plan;
        if let Plan::Project { input, columns } = plan {
            made.extend(columns.iter().cloned());
            plan = input;
        }
        let mut conjuncts = Vec::new();
        while let Plan::Filter { input, predicate } = plan {
            conjuncts.extend(tree::conjuncts(predicate.clone()));
            plan = input;
        }
        let Plan::Scan { table, columns, .. } = plan else {
            return None;
        };
        if table.has_members() {
            return None;
        }
        if made.is_empty() {
            made.extend(
                plan.output_types().into_iter().map(|(id, ty)| (id, Logical::column(id, ty))),
            );
        }
        Some(Self {
            table: table.clone(),
            parameters: &query.parameters,
            ordinals: columns.iter().copied().collect(),
            made,
            conjuncts,
            columns: Vec::new(),
        })
    }

    /// `expr` over the columns read, which it may add to; None when it is not simple.
    fn expr(&mut self, expr: &Logical) -> Option<Expr> {
        if tree::has_sub_query(expr) || tree::is_volatile(expr) {
            return None;
        }
        for id in tree::mentioned(expr).iter() {
            let ordinal = *self.ordinals.get(&id)?;
            if ordinal == TID_COLUMN {
                return None;
            }
            if !self.columns.contains(&ordinal) {
                self.columns.push(ordinal);
            }
        }
        let (ordinals, columns) = (&self.ordinals, &self.columns);
        let position = |id: ColumnId| {
            let ordinal = ordinals.get(&id)?;
            columns.iter().position(|column| column == ordinal)
        };
        lower_with(expr, self.parameters, &position).ok()
    }

    /// The first `width` result columns of `query`.
    fn outputs(&mut self, query: &Query, width: usize) -> Option<Vec<PointOutput>> {
        let mut output = Vec::with_capacity(width);
        for column in query.columns.iter().take(width) {
            let made = self.made.get(&column.id)?.clone();
            let expr = self.expr(&made)?;
            output.push(PointOutput { name: column.name.clone(), ty: column.ty, expr });
        }
        Some(output)
    }

    /// RETURNING: a projection of the affected row.
    fn returning(&mut self, returning: Option<&Returning>) -> Option<Vec<PointOutput>> {
        let Some(Returning { query, place }) = returning else {
            return Some(Vec::new());
        };
        if *place != RowPlace::Unused {
            return None;
        }
        let Plan::Project { input, columns } = &query.plan else {
            return None;
        };
        let Plan::Input { columns: input, .. } = &**input else {
            return None;
        };
        let made = columns.iter().cloned().collect();
        let of_input = input.iter().map(|column| (column.id, column.ordinal)).collect();
        let of_scan = std::mem::replace(&mut self.ordinals, of_input);
        self.made = made;
        let output = self.outputs(query, query.columns.len());
        self.ordinals = of_scan;
        output
    }

    /// The key value of column `ordinal` and the conjunct that gives it.
    fn key(&self, ordinal: usize) -> Option<(usize, Expr)> {
        let ty = self.table.columns().get(ordinal)?.ty;
        self.conjuncts.iter().enumerate().find_map(|(at, part)| {
            let mut part = part.clone();
            simplify_comparison(&mut part);
            let LogicalKind::Compare(CompareOp::Equal, a, b) = &part.kind else {
                return None;
            };
            let column = |e: &Logical| match &e.kind {
                LogicalKind::Cast(inner) => tree::as_column(inner),
                _ => tree::as_column(e),
            };
            let is_column =
                |e: &Logical| column(e).and_then(|id| self.ordinals.get(&id)) == Some(&ordinal);
            let (operand, value) = match (is_column(a), is_column(b)) {
                (true, false) => (a, b),
                (false, true) => (b, a),
                _ => return None,
            };
            if !tree::is_constant(value) {
                return None;
            }
            let (_, value) = fitted(CompareOp::Equal, operand, (**value).clone(), ty)?;
            let value = lower_with(&value, self.parameters, &|_| None).ok()?;
            Some((at, of_type(value, ty)?))
        })
    }

    /// The keys of `index` and the conjuncts that they come from.
    fn keys(&self, index: &IndexMeta) -> (Vec<Expr>, Vec<usize>) {
        index
            .columns
            .iter()
            .map_while(|column| self.key(column.ordinal))
            .map(|(a, k)| (k, a))
            .unzip()
    }

    fn finish(mut self, action: PointAction, output: Vec<PointOutput>) -> Option<PointPlan> {
        let table = self.table.clone();
        let primary = table.keys().iter().find(|key| key.primary).map(|key| key.name.as_str());
        let mut found: Option<(usize, PointRows, Vec<Expr>, Vec<usize>)> = None;
        let all = table.indexes().iter().enumerate().filter(|(_, i)| i.terms.is_empty());
        for (at, index) in all {
            let (keys, used) = self.keys(index);
            let width = index.columns.len();
            if index.unique != Uniqueness::No && keys.len() == width {
                found = Some((at, PointRows::One, keys, used));
                break;
            }
            let prefix = index.kind == IndexKind::Ordered
                && keys.len() + 1 == width
                && keys.len() >= PREFIX_MIN
                && primary == Some(index.name.as_str());
            if prefix {
                found = Some((at, PointRows::Many, keys, used));
            }
        }
        let (index, rows, keys, used) = found?;
        let rest = self.conjuncts.iter().enumerate().filter(|(at, _)| !used.contains(at));
        let rest: Vec<Logical> = rest.map(|(_, part)| part.clone()).collect();
        let residual = if rest.is_empty() { None } else { Some(self.expr(&tree::and_all(rest))?) };
        let columns = self.columns;
        Some(PointPlan { table, index, keys, rows, columns, residual, action, output })
    }
}

/// `expr` held as a column of type `ty` is; None when its value may not fit.
fn of_type(expr: Expr, ty: DataType) -> Option<Expr> {
    let physical = ty.physical();
    if expr.physical == physical {
        return Some(Expr { ty, ..expr });
    }
    let held = held_as(Expr { ty, ..expr }, physical);
    let widens = physical == PhysicalType::I128;
    (widens || matches!(held.kind, ExprKind::Literal(_))).then_some(held)
}
