//! Keys of a few rows go below the grouping on the other side of their join.
//!
//! ```text
//! u left join (t grouped or numbered by t.a) on t.a = u.id
//! -> $0: u;  $0 left join ((t semi-join $0 on t.a = u.id) grouped by t.a)
//! ```
//! Groups without a partner are dropped by the join whatever they hold, so that their rows need not
//! be read: the semi-join finds those of the others by an index (`few_keys`). What LATERAL and
//! sub-queries in SELECT become is of this form.

use sql::algebra::{ColumnId, Expr as Logical, JoinKind as Logic, Plan};
use types::{CompareOp, Result};

use super::{Lowered, Lowering};
use crate::column_set::ColumnSet;
use crate::physical::{NullKeys, PreludeKind};
use crate::{IndexPaths, cardinality, cost, tree};

/// The column of a table that a column above grouping is, its scan, and that with its filter.
struct Base<'p> {
    column: ColumnId,
    scan: &'p Plan,
    filtered: &'p Plan,
}

/// How many times less the keys must cost than what is read without them: the rows of the left side
/// are kept and read twice.
const GAIN: f64 = 4.0;

impl Lowering<'_, '_> {
    /// The sides of a join with the keys of the left one, `left`, below the grouping of the right
    /// one; None when that is none, or no index finds rows by the keys.
    pub(super) fn sideways(&mut self, plan: &Plan, left: &Lowered) -> Result<Option<[Plan; 2]>> {
        let Plan::Join { left: below, right, kind, condition } = plan else {
            return Ok(None);
        };
        let fits =
            matches!(kind, Logic::Inner | Logic::Left | Logic::Single | Logic::Semi | Logic::Anti);
        let paths = self.context.options.index_paths;
        if !fits || paths == IndexPaths::Avoid || !self.context.is_closed(below) {
            return Ok(None);
        }
        let in_left: ColumnSet = left.columns.iter().copied().collect();
        let in_right = tree::output_set(right);
        let (pairs, _) = cardinality::split_condition(condition, &in_left, &in_right);
        let differ = pairs.iter().filter(|pair| pair.nulls == NullKeys::Differ);
        let found = differ.into_iter().find_map(|pair| {
            let (key, id) = (tree::as_column(pair.left)?, tree::as_column(pair.right)?);
            Some((key, base_of(right, id, Grouping::None)?))
        });
        let Some((key, base)) = found else {
            return Ok(None);
        };
        let rows = left.properties.rows;
        let read = self.cost_of(&base);
        let is_few = paths == IndexPaths::Prefer || GAIN * cost::index(rows, rows) < read;
        if !is_few || !is_indexed(&base) {
            return Ok(None);
        }
        let Some(key) = left.columns.iter().position(|id| *id == key) else {
            return Ok(None);
        };
        let types: Vec<_> = left.node.output.iter().map(|column| column.ty).collect();
        let cte = self.context.fresh_cte();
        let columns = left.columns.clone();
        self.keep(cte, left.copied(), columns.clone(), PreludeKind::Materialized);
        let name: std::sync::Arc<str> = "keys".into();
        let again: Vec<_> = types.iter().map(|ty| (self.context.fresh(), *ty)).collect();
        let value = tree::column(again[key].0, again[key].1);
        let once = columns.into_iter().zip(types).collect();
        let once = Plan::CteScan { cte, columns: once, name: name.clone() };
        let again = Plan::CteScan { cte, columns: again, name };
        let mut right = (**right).clone();
        restrict(&mut right, base.column, value, again);
        Ok(Some([once, right]))
    }

    /// Cost of reading the base by itself.
    fn cost_of(&mut self, base: &Base<'_>) -> f64 {
        let scan = cardinality::derive(self.context, self.estimator, base.scan, Vec::new());
        let whole = cost::scan(scan.rows);
        match base.filtered {
            Plan::Filter { .. } => {
                let inputs = vec![scan];
                let rows = cardinality::derive(self.context, self.estimator, base.filtered, inputs);
                whole.min(cost::index(1.0, rows.rows))
            }
            _ => whole,
        }
    }
}

/// Whether grouping was met on the way down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grouping {
    None,
    Met,
}

/// Column of a scan below grouping that column `id` of `plan` is; None for other columns.
fn base_of(plan: &Plan, id: ColumnId, grouping: Grouping) -> Option<Base<'_>> {
    match plan {
        Plan::Project { input, columns } => {
            let (_, expr) = columns.iter().find(|(column, _)| *column == id)?;
            base_of(input, tree::as_column(expr)?, grouping)
        }
        Plan::Filter { input, predicate } if !tree::is_volatile(predicate) => {
            let found = base_of(input, id, grouping)?;
            let is_own = std::ptr::eq(found.scan, &**input);
            Some(if is_own { Base { filtered: plan, ..found } } else { found })
        }
        Plan::Window { input, calls } => {
            let is_of = |list: &[Logical]| list.iter().any(|e| tree::as_column(e) == Some(id));
            let all = calls.iter().all(|(_, call)| is_of(&call.partition_by));
            all.then(|| base_of(input, id, Grouping::Met)).flatten()
        }
        Plan::Aggregate { input, keys, grouping_sets: None, .. } => {
            let (_, expr) = keys.iter().find(|(column, _)| *column == id)?;
            base_of(input, tree::as_column(expr)?, Grouping::Met)
        }
        Plan::Scan { .. } if grouping == Grouping::Met => {
            Some(Base { column: id, scan: plan, filtered: plan })
        }
        _ => None,
    }
}

/// True when an index begins with the column.
fn is_indexed(base: &Base<'_>) -> bool {
    let Plan::Scan { table, columns, .. } = base.scan else {
        return false;
    };
    let ordinal = columns.iter().find(|(id, _)| *id == base.column).map(|(_, ordinal)| *ordinal);
    let all = table.indexes().iter().filter(|index| index.terms.is_empty());
    all.filter_map(|index| index.columns.first()).any(|first| Some(first.ordinal) == ordinal)
}

/// Keeps the rows of the scan with `column`, and of the filter above it, that have the value in
/// `keys`.
fn restrict(plan: &mut Plan, column: ColumnId, value: Logical, keys: Plan) {
    let is_base = match &*plan {
        Plan::Filter { input, .. } => matches!(**input, Plan::Scan { .. }),
        plan => matches!(plan, Plan::Scan { .. }),
    };
    if !is_base {
        match plan {
            Plan::Project { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Window { input, .. }
            | Plan::Aggregate { input, .. } => restrict(input, column, value, keys),
            _ => {}
        }
        return;
    }
    let own = tree::output(plan).into_iter().find(|(id, _)| *id == column);
    let Some((_, ty)) = own else { return };
    let condition = tree::compare(CompareOp::Equal, tree::column(column, ty), value);
    let (left, right) = (Box::new(tree::take(plan)), Box::new(keys));
    *plan = Plan::Join { left, right, kind: Logic::Semi, condition };
}
