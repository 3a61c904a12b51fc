//! Cost of the groupings and joins of a plan: what differs between the whole and its parts.

use sql::algebra::{ColumnId, Expr, Plan};
use types::DataType;

use super::Splitting;
use crate::cardinality::{self, split_condition};
use crate::properties::Properties;
use crate::{cost, tree};

impl Splitting<'_, '_> {
    /// Cost of the groupings and joins of `plan`, each with its start.
    pub(super) fn work(&mut self, plan: &Plan) -> f64 {
        self.known(plan).1
    }

    fn known(&mut self, plan: &Plan) -> (Properties, f64) {
        let (mut inputs, mut work) = (Vec::new(), 0.0);
        tree::inputs(plan, &mut |input| {
            let (known, below) = self.known(input);
            inputs.push(known);
            work += below;
        });
        work += own(plan, &inputs);
        (cardinality::derive(self.context, self.estimator, plan, inputs), work)
    }
}

/// Cost of the operator `plan` itself.
fn own(plan: &Plan, inputs: &[Properties]) -> f64 {
    match (plan, inputs) {
        (Plan::Aggregate { keys, aggregates, .. }, [input]) => {
            cost::START + cost::group(input, keys, aggregates.len())
        }
        (Plan::Distinct { input: below, .. }, [input]) => {
            let columns = tree::output(below).into_iter();
            let keys: Vec<(ColumnId, Expr)> =
                columns.map(|(id, ty)| (id, tree::column(id, ty))).collect();
            cost::START + cost::group(input, &keys, 0)
        }
        (Plan::Join { left, right, kind, condition }, [a, b]) => {
            let (in_left, in_right) = (tree::output_set(left), tree::output_set(right));
            let (pairs, _) = split_condition(condition, &in_left, &in_right);
            let key = match &pairs[..] {
                [] => {
                    return cost::START
                        + cost::nested_loops(a.rows.min(b.rows), a.rows.max(b.rows));
                }
                [pair] => Some(pair),
                _ => None,
            };
            let straight = key.is_some_and(|pair| is_dense(pair.right, b));
            let swapped = key.is_some_and(|pair| is_dense(pair.left, a));
            let straight = cost::hash_join(b.rows, a.rows, straight);
            let swapped = cost::hash_join(a.rows, b.rows, swapped) * cost::swap_factor(*kind);
            cost::START + straight.min(swapped)
        }
        _ => 0.0,
    }
}

/// True when a join by `key` is by an array over its range.
fn is_dense(key: &Expr, build: &Properties) -> bool {
    let integer = key.ty.is_integer() || key.ty == DataType::Date;
    let column = tree::as_column(key).and_then(|id| build.column(id)).filter(|_| integer);
    column.is_some_and(|column| {
        let slots = column.range.map(|range| range.width() as f64);
        slots.is_some_and(|slots| cost::is_dense(slots, build.rows, column.base_rows))
    })
}
