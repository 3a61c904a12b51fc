//! Calls of functions on arrays, whose parameters are arrays of any element type.

use types::{DataType, ElementType, Result, SqlState};

use super::functions::no_function;
use super::types::{Context, can_cast};
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{Expr, Function as F, Place, SeriesFunction};

/// A parameter of a function on arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The array.
    Array,
    /// An element of it.
    Element,
    /// INTEGER.
    Integer,
    /// TEXT.
    Text,
}

/// What a function on arrays gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    /// The array's type.
    Array,
    /// Always this type.
    Is(DataType),
}

/// A function on arrays: its parameters, and how many of them may be left out.
struct Signature {
    function: F,
    parameters: &'static [Kind],
    optional: usize,
    gives: Gives,
}

fn signature(name: &str) -> Option<Signature> {
    use Gives::Is;
    use Kind::{Array, Element, Integer, Text};
    const INT: Gives = Is(DataType::Integer);
    let (function, parameters, optional, gives): (_, &'static [Kind], _, _) = match name {
        "array_append" => (F::ArrayAppend, &[Array, Element], 0, Gives::Array),
        "array_prepend" => (F::ArrayPrepend, &[Element, Array], 0, Gives::Array),
        "array_cat" => (F::ArrayConcat, &[Array, Array], 0, Gives::Array),
        "array_remove" => (F::ArrayRemove, &[Array, Element], 0, Gives::Array),
        "array_replace" => (F::ArrayReplace, &[Array, Element, Element], 0, Gives::Array),
        "trim_array" => (F::ArrayTrim, &[Array, Integer], 0, Gives::Array),
        "array_position" => (F::ArrayPosition, &[Array, Element, Integer], 1, INT),
        "array_positions" => {
            let ty = DataType::Array(ElementType::Integer);
            (F::ArrayPositions, &[Array, Element], 0, Is(ty))
        }
        "cardinality" => (F::Cardinality, &[Array], 0, INT),
        "array_length" => (F::ArrayLength, &[Array, Integer], 0, INT),
        "array_lower" => (F::ArrayLower, &[Array, Integer], 0, INT),
        "array_upper" => (F::ArrayUpper, &[Array, Integer], 0, INT),
        "array_ndims" => (F::ArrayDimensionCount, &[Array], 0, INT),
        "array_dims" => (F::ArrayDimensions, &[Array], 0, Is(DataType::Text)),
        "array_to_string" => (F::ArrayToString, &[Array, Text, Text], 1, Is(DataType::Text)),
        "string_to_array" => {
            let ty = DataType::Array(ElementType::Text);
            (F::StringToArray, &[Text, Text, Text], 1, Is(ty))
        }
        _ => return None,
    };
    Some(Signature { function, parameters, optional, gives })
}

impl Binder<'_> {
    /// A call of a function on arrays; None when `name` is another.
    ///
    /// # Errors
    /// 42883 when the arguments do not fit.
    pub(super) fn array_call(
        &mut self,
        name: &str,
        arguments: Vec<Bound>,
        at: Place,
    ) -> Result<Option<Bound>> {
        let Some(signature) = signature(name) else {
            return Ok(None);
        };
        let count = arguments.len();
        let missing = {
            let types: Vec<&str> = arguments.iter().map(|bound| bound.ty().name()).collect();
            format!("function {name}({}) does not exist", types.join(", "))
        };
        let whole = signature.parameters.len();
        if count > whole || count + signature.optional < whole {
            return Err(no_function(missing, at));
        }
        let kinds = &signature.parameters[..count];
        let mut polymorphic = Vec::new();
        let mut arrays = Vec::new();
        let mut others = Vec::new();
        for (bound, kind) in arguments.into_iter().zip(kinds) {
            match kind {
                Kind::Array | Kind::Element => {
                    polymorphic.push(bound);
                    arrays.push(*kind == Kind::Array);
                }
                Kind::Integer => others.push((bound, DataType::Integer)),
                Kind::Text => others.push((bound, DataType::Text)),
            }
        }
        let mut element = ElementType::Text;
        let mut compatible = Vec::new();
        if !polymorphic.is_empty() {
            if polymorphic.iter().all(Bound::is_unknown) {
                let message = "could not determine polymorphic type because input has type unknown";
                return fail(SqlState::DATATYPE_MISMATCH, message, at);
            }
            match self.compatible(polymorphic, &arrays)? {
                Some((list, found)) => (compatible, element) = (list, found),
                None => return Err(no_function(missing, at)),
            }
        }
        let (mut compatible, mut others) = (compatible.into_iter(), others.into_iter());
        let mut list = Vec::with_capacity(count);
        for kind in kinds {
            let next = match kind {
                Kind::Array | Kind::Element => compatible.next(),
                Kind::Integer | Kind::Text => match others.next() {
                    Some((bound, ty)) if can_cast(bound.ty(), ty, Context::Implicit) => {
                        Some(self.coerce(bound, ty, Context::Implicit)?)
                    }
                    _ => return Err(no_function(missing, at)),
                },
            };
            list.extend(next);
        }
        let ty = match signature.gives {
            Gives::Array => DataType::Array(element),
            Gives::Is(ty) => ty,
        };
        Ok(Some(Bound::new(Expr::call(signature.function, list, ty), at)))
    }

    /// The array of `unnest(array)` and the type of its elements.
    pub(super) fn unnest_argument(
        &mut self,
        arguments: Vec<Bound>,
        at: Place,
    ) -> Result<(Vec<Expr>, DataType)> {
        let missing = {
            let types: Vec<&str> = arguments.iter().map(|bound| bound.ty().name()).collect();
            format!("function unnest({}) does not exist", types.join(", "))
        };
        let Ok([array]) = <[Bound; 1]>::try_from(arguments) else {
            return unsupported("unnest of several arrays", at);
        };
        let array = self.retyped(array);
        match array.ty() {
            DataType::Array(element) => Ok((vec![array.expr], element.data_type())),
            DataType::Unknown => {
                let message = "could not determine polymorphic type because input has type unknown";
                fail(SqlState::DATATYPE_MISMATCH, message, at)
            }
            _ => Err(no_function(missing, at)),
        }
    }

    /// `generate_subscripts(array, dimension [, reverse])` as the series that it is: it gives
    /// nothing for an empty array, whose bounds are NULL.
    pub(super) fn subscript_arguments(
        &mut self,
        arguments: Vec<Bound>,
        at: Place,
    ) -> Result<(Vec<Expr>, DataType)> {
        let mut arguments = arguments.into_iter();
        let (Some(array), Some(dimension)) = (arguments.next(), arguments.next()) else {
            let message = "function generate_subscripts takes an array and its dimension";
            return Err(no_function(message.to_owned(), at));
        };
        let reverse = match arguments.next().map(|bound| bound.expr) {
            None => false,
            Some(expr) => match expr.as_literal() {
                Some(types::Value::Bool(reverse)) => *reverse,
                _ => return unsupported("generate_subscripts with a direction that varies", at),
            },
        };
        let again = (self.refreshed(&array), self.refreshed(&dimension));
        let mut bound_of = |name, array, dimension| {
            self.array_call(name, vec![array, dimension], at)
                .map(|bound| bound.map_or_else(|| Expr::null(DataType::Integer), |b| b.expr))
        };
        let low = bound_of("array_lower", array, dimension)?;
        let high = bound_of("array_upper", again.0, again.1)?;
        let list = match reverse {
            false => vec![low, high, Expr::integer(1)],
            true => vec![high, low, Expr::integer(-1)],
        };
        Ok((list, DataType::Integer))
    }

    /// The arguments of a function that gives rows, by its name, and the type of its column.
    pub(super) fn set_arguments(
        &mut self,
        name: &str,
        arguments: Vec<Bound>,
        at: Place,
    ) -> Result<(SeriesFunction, Vec<Expr>, DataType)> {
        let function = match name {
            "unnest" => SeriesFunction::Unnest,
            _ => SeriesFunction::Generate,
        };
        let (list, ty) = match name {
            "unnest" => self.unnest_argument(arguments, at)?,
            "generate_subscripts" => self.subscript_arguments(arguments, at)?,
            _ => self.series_arguments(arguments, at)?,
        };
        Ok((function, list, ty))
    }
}

/// True for the name of a function on arrays.
pub(super) fn is_array_function(name: &str) -> bool {
    signature(name).is_some()
}

/// Functions that give rows.
pub(super) fn is_set_function(name: &str) -> bool {
    matches!(name, "generate_series" | "generate_subscripts" | "unnest")
}
