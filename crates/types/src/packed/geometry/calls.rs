//! How SQL calls shapes: arguments and results of functions, and the tables of them.

mod tests_of;
mod values;

use super::{Point, Shape};
use crate::packed::call::Parameter;
use crate::packed::functions::packed;
use crate::packed::{Call, Given};
use crate::{DataType, PackedType, Result};

pub(crate) use tests_of::SHAPE_TESTS;
pub(crate) use values::SHAPE_VALUES;

type Computed = Result<Given>;
type Polygon = Vec<Point>;

const POINT: Parameter = packed(PackedType::Point);
const LINE: Parameter = packed(PackedType::Line);
const SEGMENT: Parameter = packed(PackedType::LSeg);
const BOX: Parameter = packed(PackedType::Box);
const PATH: Parameter = packed(PackedType::Path);
const POLYGON: Parameter = packed(PackedType::Polygon);
const CIRCLE: Parameter = packed(PackedType::Circle);
const DOUBLE: Parameter = Parameter::Is(DataType::Double);
const INT: Parameter = Parameter::Is(DataType::Integer);
const BOOL: Parameter = Parameter::Is(DataType::Boolean);

fn one<A: Shape>(call: &Call<'_>) -> A {
    A::read(call.bytes(0))
}

fn two<A: Shape, B: Shape>(call: &Call<'_>) -> (A, B) {
    (A::read(call.bytes(0)), B::read(call.bytes(1)))
}

fn test<A: Shape, B: Shape>(call: &Call<'_>, holds: impl FnOnce(A, B) -> Result<bool>) -> Computed {
    let (a, b) = two(call);
    holds(a, b).map(Given::Bool)
}

fn test_one<A: Shape>(call: &Call<'_>, holds: impl FnOnce(A) -> Result<bool>) -> Computed {
    holds(one(call)).map(Given::Bool)
}

fn measure<A: Shape, B: Shape>(call: &Call<'_>, of: impl FnOnce(A, B) -> Result<f64>) -> Computed {
    let (a, b) = two(call);
    of(a, b).map(Given::Double)
}

fn measure_one<A: Shape>(call: &Call<'_>, of: impl FnOnce(A) -> Result<f64>) -> Computed {
    of(one(call)).map(Given::Double)
}

fn given(shape: &impl Shape, out: &mut Vec<u8>) -> Computed {
    shape.write(out);
    Ok(Given::Bytes)
}

fn make<A: Shape, B: Shape, R: Shape>(
    call: &Call<'_>,
    out: &mut Vec<u8>,
    of: impl FnOnce(A, B) -> Result<R>,
) -> Computed {
    let (a, b) = two(call);
    given(&of(a, b)?, out)
}

fn make_one<A: Shape, R: Shape>(
    call: &Call<'_>,
    out: &mut Vec<u8>,
    of: impl FnOnce(A) -> Result<R>,
) -> Computed {
    given(&of(one(call))?, out)
}

/// As [`make`]; NULL for None.
fn find<A: Shape, B: Shape, R: Shape>(
    call: &Call<'_>,
    out: &mut Vec<u8>,
    of: impl FnOnce(A, B) -> Result<Option<R>>,
) -> Computed {
    let (a, b) = two(call);
    match of(a, b)? {
        Some(shape) => given(&shape, out),
        None => Ok(Given::Null),
    }
}
