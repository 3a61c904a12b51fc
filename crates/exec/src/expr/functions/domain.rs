//! Values of domains: those that pass the tests, as they are.

use std::sync::Arc;

use kernels::{Batch, Column, Vector, VectorBuilder, array_fn};
use sql::algebra::{ColumnId, DomainTests, Function};
use sql::catalog::DomainOf;
use types::array::element_of;
use types::{ElementType, Error, Result, SqlState};

use super::{Kernel, Signature};
use crate::expr::Evaluator;

/// A condition, by the name of its constraint.
type Condition = (&'static str, Evaluator);

/// The kernel of [`Function::Domain`]; None when `function` is another.
pub(super) fn kernel(function: Function, signature: &Signature) -> Result<Option<Kernel>> {
    let Function::Domain(tests) = function else { return Ok(None) };
    let position = |id: ColumnId| Some(id.0 as usize);
    let condition = |(name, expr): &'static (String, sql::algebra::Expr)| {
        Ok((name.as_str(), Evaluator::new(&plan::lower(expr, &position)?)?))
    };
    let conditions =
        tests.conditions().iter().map(condition).collect::<Result<Vec<Condition>>>()?;
    let element = match tests.used.of {
        DomainOf::Value => None,
        DomainOf::Elements => Some(element_of(signature.ty)?),
    };
    Ok(Some(Box::new(move |a: &[&Vector], _| {
        let Some((value, clocks)) = a.split_first() else {
            return Err(Error::internal("a function without its argument"));
        };
        match element {
            None => test(tests, &conditions, (*value).clone(), clocks)?,
            Some(element) => test(tests, &conditions, elements(value, element), clocks)?,
        }
        Ok((*value).clone())
    })))
}

/// The elements of all arrays.
fn elements(arrays: &Vector, element: ElementType) -> Vector {
    let mut all = VectorBuilder::new(element.data_type().physical());
    for row in (0..arrays.len()).filter(|row| !arrays.is_null(*row)) {
        all.append(&array_fn::unnest(arrays.as_str().get(row), element), None);
    }
    all.finish()
}

/// # Errors
/// 23502 for a NULL that is no value of the domain, 23514 for the first value for which a condition
/// is false; what a condition raises.
fn test(
    tests: DomainTests,
    conditions: &[Condition],
    values: Vector,
    clocks: &[&Vector],
) -> Result<()> {
    let rows = values.len();
    let has_null = values.validity.as_ref().is_some_and(|valid| !valid.all());
    if tests.refuses_null && has_null {
        let message = format!("domain {} does not allow null values", tests.used.domain.name());
        return Err(Error::new(SqlState::NOT_NULL_VIOLATION, message));
    }
    if rows == 0 || conditions.is_empty() {
        return Ok(());
    }
    // The time is one for all rows.
    let clock = |clock: &&Vector| Column::Constant(Arc::new(clock.slice(0, 1)), rows);
    let columns = std::iter::once(Column::plain(values)).chain(clocks.iter().map(clock));
    let batch = Batch::new(columns.collect(), rows);
    for (name, condition) in conditions {
        let passes = condition.evaluate(&batch)?.to_plain();
        let fails = |row: usize| !passes.is_null(row) && passes.as_bool()[row] == 0;
        if (0..passes.len()).any(fails) {
            let domain = tests.used.domain.name();
            let message = format!("value for domain {domain} violates check constraint \"{name}\"");
            return Err(Error::new(SqlState::CHECK_VIOLATION, message));
        }
    }
    Ok(())
}
