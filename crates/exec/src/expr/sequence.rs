//! nextval and its kin, set_config and its, routines that users made: calls of what the session
//! gave the query.

use kernels::{Vector, VectorBuilder, VectorData};
use sql::algebra::Function;
use sql::catalog::{SequenceCalled, SequencesRef};
use types::{DataType, Error, PhysicalType, Result, Value};

use super::node::{Kernel, Traits};

/// Each call counts, and may fail.
pub(super) const TRAITS: Traits = Traits { fallible: true, volatile: true };

/// Type of a result, and how a vector holds it.
type Held = (DataType, PhysicalType);

/// The kernel of `function`, which reads sequences or is a routine, with a result of type `held`.
pub(super) fn kernel(sequences: &SequencesRef, function: Function, held: Held) -> Kernel {
    let sequences = sequences.clone();
    Box::new(move |arguments: &[&Vector], rows| match (function, arguments) {
        (Function::NextVal, [name]) if name.len() == 1 && !name.is_null(0) => {
            // One sequence for the whole batch: one call for all its values.
            let mut values = vec![0; rows];
            sequences.0.next(&text(name, 0)?, &mut values)?;
            Ok(Vector::new(VectorData::I64(values)))
        }
        (Function::Session(called), _) => {
            let mut values = VectorBuilder::new(called.result().physical());
            for row in 0..rows {
                let value = |v: &&Vector| v.value(if v.len() == 1 { 0 } else { row });
                let arguments: Vec<Value> = arguments.iter().map(value).collect();
                values.push_value(&sequences.0.call(called, &arguments)?);
            }
            Ok(values.finish())
        }
        (Function::Routine(called), _) => {
            let (ty, physical) = held;
            let value = |v: &&Vector, row| v.value(if v.len() == 1 { 0 } else { row });
            let of_row = |row| arguments.iter().map(|v| value(v, row)).collect();
            let given: Vec<Vec<Value>> = (0..rows).map(of_row).collect();
            let mut values = VectorBuilder::new(physical);
            for value in sequences.0.routine(called, ty, &given)? {
                values.push_value(&value);
            }
            Ok(values.finish())
        }
        _ => {
            let mut values = VectorBuilder::new(PhysicalType::I64);
            for row in 0..rows {
                values.push_value(&one(&sequences, function, arguments, row)?);
            }
            Ok(values.finish())
        }
    })
}

fn text(names: &Vector, row: usize) -> Result<String> {
    let row = if names.len() == 1 { 0 } else { row };
    Ok(String::from_utf8_lossy(names.as_str().get(row)).into_owned())
}

/// The value of one call; NULL when an argument is.
fn one(
    sequences: &SequencesRef,
    function: Function,
    arguments: &[&Vector],
    row: usize,
) -> Result<Value> {
    let value = |vector: &Vector| vector.value(if vector.len() == 1 { 0 } else { row });
    if arguments.iter().any(|argument| value(argument).is_null()) {
        return Ok(Value::Null);
    }
    let result = match (function, arguments) {
        (Function::LastVal, []) => sequences.0.last()?,
        (Function::NextVal, [name]) => {
            let mut next = [0];
            sequences.0.next(&text(name, row)?, &mut next)?;
            next[0]
        }
        (Function::CurrVal, [name]) => sequences.0.current(&text(name, row)?)?,
        (Function::SetVal, [name, rest @ ..]) => {
            let value_of = |i: usize| rest.get(i).map(|vector| value(vector));
            let Some(Value::I64(to)) = value_of(0) else {
                return Err(Error::internal("setval takes a BIGINT"));
            };
            let called = match value_of(1) {
                Some(Value::Bool(false)) => SequenceCalled::No,
                _ => SequenceCalled::Yes,
            };
            sequences.0.set(&text(name, row)?, to, called)?;
            to
        }
        _ => return Err(Error::internal(format!("{function:?} is no function of sequences"))),
    };
    Ok(Value::I64(result))
}
