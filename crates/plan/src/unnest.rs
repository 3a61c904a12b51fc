//! Full unnesting: no sub-query is run once per row.
//!
//! ```text
//! lift     sub-query expression  -> join whose right side refers to the left (a dependent join)
//! sink     correlated predicates -> below what may fail in the right side
//! pull     correlated predicates -> out of the right side into the condition, if that is all
//! domain   anything else         -> right side once for all distinct values it depends on
//! ```
//! Dependent joins are resolved from the outermost inwards, so that the left side of each is closed
//! when its turn comes. Lateral joins of the query itself go the same way.
//! Source: Neumann and Kemper 2015, "Unnesting arbitrary queries"; Neumann 2025, "Improving
//! unnesting of complex queries". Departure: outer columns that a nested dependent join needs
//! travel down its left side; equalities replace the domain only where the whole right side allows
//! it (`pull`).

mod domain;
mod lift;
mod nullability;
mod ordered;
mod pull;
mod sink;

use sql::algebra::{JoinKind, Plan};
use types::{Error, Result};

use crate::context::Context;
use crate::tree;

/// Removes every sub-query and dependent join from `plan`.
///
/// # Errors
/// 0A000 for sub-queries in a FULL JOIN's condition that depend on both sides.
pub(crate) fn unnest(context: &mut Context<'_>, plan: &mut Plan) -> Result<()> {
    lift::lift(context, plan)?;
    resolve(context, plan)
}

/// Resolves every dependent join of `plan`, which has no free columns.
fn resolve(context: &mut Context<'_>, plan: &mut Plan) -> Result<()> {
    types::stack::deep(|| resolve_here(context, plan))
}

fn resolve_here(context: &mut Context<'_>, plan: &mut Plan) -> Result<()> {
    let dependent = match plan {
        Plan::Join { left, right, kind, .. } if tree::is_lateral(left, right) => {
            // A series over columns of its left side is an operator of its own.
            let in_place = matches!(kind, JoinKind::Inner | JoinKind::Each);
            !(in_place && matches!(**right, Plan::Series { .. }))
        }
        _ => false,
    };
    if !dependent {
        let mut result = Ok(());
        tree::inputs_mut(plan, &mut |input| {
            if result.is_ok() {
                result = resolve(context, input);
            }
        });
        return result;
    }
    let Plan::Join { mut left, right, kind, condition } = tree::take(plan) else {
        return Err(Error::internal("a dependent join is a join"));
    };
    resolve(context, &mut left)?;
    let mut right = *right;
    ordered::keep_order(&mut right);
    let right = Box::new(sink::sink(right, &tree::output_set(&left)));
    // Volatile expressions are evaluated for each row, not for each value that they depend on.
    let pulled = if right.is_volatile() {
        None
    } else {
        pull::decorrelate(context, &left, &right, kind, &condition)
    };
    *plan = match pulled {
        Some(whole) => whole,
        None => domain::decorrelate(context, *left, *right, kind, condition)?,
    };
    resolve(context, plan)
}
