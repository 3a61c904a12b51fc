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
    let attribute = |expr| Evaluator::new(&plan::lower(expr, &position)?);
    let attributes =
        tests.attributes().iter().map(attribute).collect::<Result<Vec<Evaluator>>>()?;
    let test = Test { tests, conditions, attributes };
    let element = match tests.used.of() {
        DomainOf::Value => None,
        DomainOf::Elements => Some(element_of(signature.ty)?),
    };
    Ok(Some(Box::new(move |a: &[&Vector], _| {
        let Some((value, clocks)) = a.split_first() else {
            return Err(Error::internal("a function without its argument"));
        };
        match element {
            None => test.run((*value).clone(), clocks)?,
            Some(element) => test.run(elements(value, element), clocks)?,
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

/// Tests of a type, ready to run.
struct Test {
    tests: DomainTests,
    conditions: Vec<Condition>,
    attributes: Vec<Evaluator>,
}

impl Test {
    /// # Errors
    /// 23502 for a NULL that is no value of the domain, 23514 for the first value for which a
    /// condition is false; what a condition raises.
    fn run(&self, values: Vector, clocks: &[&Vector]) -> Result<()> {
        let has_null = values.validity.as_ref().is_some_and(|valid| !valid.all());
        if self.tests.refuses_null && has_null {
            let name = self.tests.used.name();
            let message = format!("domain {name} does not allow null values");
            return Err(Error::new(SqlState::NOT_NULL_VIOLATION, message));
        }
        self.test_attributes(&values, clocks)?;
        if values.is_empty() || self.conditions.is_empty() {
            return Ok(());
        }
        let batch = with_clocks(values, clocks);
        for (name, condition) in &self.conditions {
            let passes = condition.evaluate(&batch)?.to_plain();
            let fails = |row: usize| !passes.is_null(row) && passes.as_bool()[row] == 0;
            if (0..passes.len()).any(fails) {
                let domain = self.tests.used.name();
                let message =
                    format!("value for domain {domain} violates check constraint \"{name}\"");
                return Err(Error::new(SqlState::CHECK_VIOLATION, message));
            }
        }
        Ok(())
    }

    /// The attributes of records that are there.
    fn test_attributes(&self, values: &Vector, clocks: &[&Vector]) -> Result<()> {
        if self.attributes.is_empty() {
            return Ok(());
        }
        // A batch has fewer rows than u32 has numbers.
        let rows = 0..u32::try_from(values.len()).unwrap_or(u32::MAX);
        let present: Vec<u32> = rows.filter(|row| !values.is_null(*row as usize)).collect();
        if present.is_empty() {
            return Ok(());
        }
        let batch = with_clocks(values.gather(&present), clocks);
        self.attributes.iter().try_for_each(|test| test.evaluate(&batch).map(drop))
    }
}

/// The values, and the time, which is one for all of them.
fn with_clocks(values: Vector, clocks: &[&Vector]) -> Batch {
    let rows = values.len();
    let clock = |clock: &&Vector| Column::Constant(Arc::new(clock.slice(0, 1)), rows);
    let columns = std::iter::once(Column::plain(values)).chain(clocks.iter().map(clock));
    Batch::new(columns.collect(), rows)
}
