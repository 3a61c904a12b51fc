//! Functions on arrays.

use kernels::Vector;
use kernels::array_fn::{self, Extent, WithElement};
use sql::algebra::Function;
use types::array::{self, End, element_of};
use types::{ElementType, Result};

use super::{Kernel, Signature, three, two};

/// The kernel of a function on arrays; None when `function` is another.
pub(super) fn kernel(function: Function, signature: &Signature) -> Result<Option<Kernel>> {
    use Function as F;
    if function == F::StringToArray {
        return Ok(Some(match signature.arguments.len() {
            2 => two(|a, b| array_fn::split(a, b, None)),
            _ => three(|a, b, c| array_fn::split(a, b, Some(c))),
        }));
    }
    // Where the array stands among the arguments, of which one has the element type.
    let element = match function {
        F::ArrayMake | F::ArrayNest | F::ArrayFill => element_of(signature.ty)?,
        F::AnyElement(_) | F::AllElements(_) | F::ArrayPrepend | F::ArrayBucket => {
            element_of(signature.of(1)?)?
        }
        F::ArrayElement
        | F::ArrayNth
        | F::ArraySlice
        | F::ArraySetElement
        | F::ArraySetSlice
        | F::ArrayConcat
        | F::ArrayAppend
        | F::Cardinality
        | F::ArrayFlat
        | F::ArrayLength
        | F::ArrayLower
        | F::ArrayUpper
        | F::ArrayDimensionCount
        | F::ArrayDimensions
        | F::ArrayPosition
        | F::ArrayPositions
        | F::ArrayRemove
        | F::ArrayReplace
        | F::ArrayTrim
        | F::ArrayToString
        | F::ArrayContains
        | F::ArrayOverlaps => element_of(signature.of(0)?)?,
        _ => return Ok(None),
    };
    Ok(Some(match shape_kernel(function, element) {
        Some(kernel) => kernel,
        None => value_kernel(function, element),
    }))
}

/// Functions that ask for an array's shape, or copy parts of it.
fn shape_kernel(function: Function, element: ElementType) -> Option<Kernel> {
    use Function as F;
    let extent = |what: Extent| -> Kernel {
        Box::new(move |a: &[&Vector], _| Ok(array_fn::extent(what, a[0], a[1], element)))
    };
    Some(match function {
        F::Cardinality => {
            Box::new(move |a: &[&Vector], _| Ok(array_fn::cardinality(a[0], element)))
        }
        F::ArrayFlat => Box::new(move |a: &[&Vector], _| array_fn::flat(a[0], element)),
        F::ArrayLength => extent(Extent::Length),
        F::ArrayLower => extent(Extent::Lower),
        F::ArrayUpper => extent(Extent::Upper),
        F::ArrayDimensionCount => {
            Box::new(move |a: &[&Vector], _| Ok(array_fn::dimension_count(a[0], element)))
        }
        F::ArrayDimensions => Box::new(move |a: &[&Vector], _| array_fn::dimensions(a[0], element)),
        F::ArrayElement => {
            Box::new(move |a: &[&Vector], _| Ok(array_fn::element_at(a[0], &a[1..], element)))
        }
        F::ArrayNth => Box::new(move |a: &[&Vector], _| Ok(array_fn::nth(a[0], a[1], element))),
        F::ArraySlice => Box::new(move |a: &[&Vector], _| array_fn::slice(a[0], &a[1..], element)),
        F::ArraySetElement => Box::new(move |a: &[&Vector], _| array_fn::set_element(a, element)),
        F::ArraySetSlice => Box::new(move |a: &[&Vector], _| array_fn::set_slice(a, element)),
        F::ArrayNest => Box::new(move |a: &[&Vector], _| array_fn::make_nested(a, element)),
        F::ArrayFill => {
            Box::new(move |a: &[&Vector], _| array_fn::fill(a[0], a[1], a.get(2).copied(), element))
        }
        F::ArrayTrim => Box::new(move |a: &[&Vector], _| array_fn::trim(a[0], a[1], element)),
        F::ArrayConcat => Box::new(move |a: &[&Vector], _| array_fn::concat(a[0], a[1], element)),
        F::ArrayToString => {
            Box::new(move |a: &[&Vector], _| array_fn::join(a[0], a[1], a.get(2).copied(), element))
        }
        _ => return None,
    })
}

/// Functions that compare or add elements.
fn value_kernel(function: Function, element: ElementType) -> Kernel {
    use Function as F;
    let with_element = |f: WithElement| -> Kernel {
        Box::new(move |a: &[&Vector], _| array_fn::with_element(f, a[0], a[1], element))
    };
    match function {
        F::AnyElement(op) | F::AllElements(op) => {
            let all = matches!(function, F::AllElements(_));
            Box::new(move |a: &[&Vector], _| Ok(array_fn::quantified(op, all, a[0], a[1], element)))
        }
        F::ArrayBucket => Box::new(move |a: &[&Vector], _| array_fn::bucket(a[0], a[1], element)),
        F::ArrayAppend => {
            Box::new(move |a: &[&Vector], _| array_fn::append(a[0], a[1], End::Last, element))
        }
        F::ArrayPrepend => {
            Box::new(move |a: &[&Vector], _| array_fn::append(a[1], a[0], End::First, element))
        }
        F::ArrayPosition => Box::new(move |a: &[&Vector], _| {
            array_fn::position(a[0], a[1], a.get(2).copied(), element)
        }),
        F::ArrayPositions => with_element(array::positions),
        F::ArrayRemove => with_element(array::removed),
        F::ArrayReplace => {
            Box::new(move |a: &[&Vector], _| array_fn::replace(a[0], a[1], a[2], element))
        }
        F::ArrayContains => Box::new(move |a: &[&Vector], _| {
            Ok(array_fn::test(array::contains, a[0], a[1], element))
        }),
        F::ArrayOverlaps => Box::new(move |a: &[&Vector], _| {
            Ok(array_fn::test(array::overlaps, a[0], a[1], element))
        }),
        _ => Box::new(move |a: &[&Vector], _| array_fn::make(a, element)),
    }
}
