//! Calls of functions on arrays, whose parameters are arrays of any element type.

use types::{CompareOp, DataType, ElementType, Error, Result, SqlState, Value};

use super::comparable::{ComparedFor, comparable};
use super::from::join;
use super::scope::Series;
use super::series::{has_subquery, is_volatile};
use super::types::{Context, can_cast};
use super::unmatched::no_function;
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{Expr, ExprKind, Function, JoinKind, Place, Plan, SeriesFunction as F};

/// A parameter of a function on arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The array.
    Array,
    /// An element of it.
    Element,
    /// INTEGER.
    Integer,
    /// INTEGER[].
    Integers,
    /// TEXT.
    Text,
}

/// Result type of a function on arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    /// The array's type.
    Array,
    /// The type of arrays of the element, which must be known.
    ArrayOf,
    /// Always this type.
    Is(DataType),
}

/// A function on arrays: its parameters, and how many of them may be left out.
struct Signature {
    function: Function,
    parameters: &'static [Kind],
    optional: usize,
    gives: Gives,
}

fn signature(name: &str) -> Option<Signature> {
    use Gives::Is;
    use Kind::{Array, Element, Integer, Integers, Text};
    const INT: Gives = Is(DataType::Integer);
    let (function, parameters, optional, gives): (_, &'static [Kind], _, _) = match name {
        "array_append" => (Function::ArrayAppend, &[Array, Element], 0, Gives::Array),
        "array_prepend" => (Function::ArrayPrepend, &[Element, Array], 0, Gives::Array),
        "array_cat" => (Function::ArrayConcat, &[Array, Array], 0, Gives::Array),
        "array_remove" => (Function::ArrayRemove, &[Array, Element], 0, Gives::Array),
        "array_replace" => (Function::ArrayReplace, &[Array, Element, Element], 0, Gives::Array),
        "trim_array" => (Function::ArrayTrim, &[Array, Integer], 0, Gives::Array),
        "array_position" => (Function::ArrayPosition, &[Array, Element, Integer], 1, INT),
        "array_positions" => {
            let ty = DataType::Array(ElementType::Integer);
            (Function::ArrayPositions, &[Array, Element], 0, Is(ty))
        }
        "width_bucket" => (Function::ArrayBucket, &[Element, Array], 0, INT),
        "array_fill" => (Function::ArrayFill, &[Element, Integers, Integers], 1, Gives::ArrayOf),
        "cardinality" => (Function::Cardinality, &[Array], 0, INT),
        "array_length" => (Function::ArrayLength, &[Array, Integer], 0, INT),
        "array_lower" => (Function::ArrayLower, &[Array, Integer], 0, INT),
        "array_upper" => (Function::ArrayUpper, &[Array, Integer], 0, INT),
        "array_ndims" => (Function::ArrayDimensionCount, &[Array], 0, INT),
        "array_dims" => (Function::ArrayDimensions, &[Array], 0, Is(DataType::Text)),
        "array_to_string" => (Function::ArrayToString, &[Array, Text, Text], 1, Is(DataType::Text)),
        "string_to_array" => {
            let ty = DataType::Array(ElementType::Text);
            (Function::StringToArray, &[Text, Text, Text], 1, Is(ty))
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
        let types: Vec<&str> = arguments.iter().map(|bound| bound.ty().name()).collect();
        let missing = format!("function {name}({}) does not exist", types.join(", "));
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
                Kind::Integers => others.push((bound, DataType::Array(ElementType::Integer))),
                Kind::Text => others.push((bound, DataType::Text)),
            }
        }
        let mut element = ElementType::Text;
        let mut compatible = Vec::new();
        if !polymorphic.is_empty() {
            // Beside elements nothing that is known means text, as in PostgreSQL.
            if polymorphic.iter().all(Bound::is_unknown)
                && (!kinds.contains(&Kind::Element) || signature.gives == Gives::ArrayOf)
                && name != "array_cat"
            {
                let message = "could not determine polymorphic type because input has type unknown";
                return fail(SqlState::DATATYPE_MISMATCH, message, at);
            }
            match self.compatible(polymorphic, &arrays)? {
                Some((list, found)) => (compatible, element) = (list, found),
                None => return Err(no_function(missing, at)),
            }
        }
        refuse_compared(signature.function, element, at)?;
        let (mut compatible, mut others) = (compatible.into_iter(), others.into_iter());
        let mut list = Vec::with_capacity(count);
        for kind in kinds {
            let next = match kind {
                Kind::Array | Kind::Element => compatible.next(),
                Kind::Integer | Kind::Integers | Kind::Text => match others.next() {
                    Some((bound, ty)) if can_cast(bound.ty(), ty, Context::Implicit) => {
                        Some(self.coerce(bound, ty, Context::Implicit)?)
                    }
                    _ => return Err(no_function(missing, at)),
                },
            };
            list.extend(next);
        }
        let ty = match signature.gives {
            Gives::Array | Gives::ArrayOf => DataType::Array(element),
            Gives::Is(ty) => ty,
        };
        let list = self.shown_array(signature.function, list);
        Ok(Some(Bound::new(Expr::call(signature.function, list, ty), at)))
    }

    /// The arguments, of array_to_string with an array of texts where what they are goes by the
    /// session's time zone.
    fn shown_array(&self, function: Function, list: Vec<Expr>) -> Vec<Expr> {
        let texts = DataType::Array(ElementType::Text);
        if function == Function::ArrayToString {
            list.iter().for_each(|expr| self.note_shown(expr.ty, texts));
        }
        let is_shown = function == Function::ArrayToString && self.has_zone();
        let shown = |expr: Expr| {
            if is_shown && types::cast::depends_on_zone(expr.ty, texts) {
                self.cast(expr, texts)
            } else {
                expr
            }
        };
        list.into_iter().map(shown).collect()
    }

    /// The array of `unnest(array)` and the type of its elements.
    fn unnest_argument(&mut self, array: Bound, at: Place) -> Result<(Vec<Expr>, DataType)> {
        let array = self.retyped(array);
        match array.ty() {
            DataType::Array(element) => Ok((vec![array.expr], element.data_type())),
            DataType::Unknown => {
                let message = "function unnest(unknown) is not unique";
                let error = Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(
                    "Could not choose a best candidate function. You might need to add explicit \
                     type casts.",
                );
                Err(super::place(error, at))
            }
            ty => {
                if let Some(ranges) = self.multirange_parts(array)?
                    && let Some(element) = ranges.ty.element()
                {
                    return Ok((vec![ranges], element));
                }
                Err(no_function(format!("function unnest({}) does not exist", ty.name()), at))
            }
        }
    }

    /// `generate_subscripts(array, dimension [, reverse])` as the series that it is: it gives
    /// nothing for an empty array, whose bounds are NULL.
    fn subscript_arguments(
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
                Some(Value::Bool(reverse)) => *reverse,
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
        let list = if reverse {
            vec![high, low, Expr::integer(-1)]
        } else {
            vec![low, high, Expr::integer(1)]
        };
        Ok((list, DataType::Integer))
    }

    /// The calls that `name`, a function that gives rows, stands for: several for `unnest` of
    /// several arrays.
    pub(super) fn set_calls(
        &mut self,
        name: &str,
        arguments: Vec<Bound>,
        at: Place,
    ) -> Result<Vec<Series>> {
        super::functions::refuse_caseless(name, &arguments, at)?;
        let typed = match name {
            "unnest" if !arguments.is_empty() => {
                let one = |array| Ok((F::Unnest, self.unnest_argument(array, at)?));
                arguments.into_iter().map(one).collect::<Result<Vec<_>>>()?
            }
            "unnest" => return Err(no_function("function unnest() does not exist".to_owned(), at)),
            "generate_subscripts" => {
                vec![(F::Generate, self.subscript_arguments(arguments, at)?)]
            }
            _ => match self.parts_array(name, &arguments, at)? {
                Some((parts, ty)) => vec![(F::Unnest, (vec![parts], ty))],
                None => vec![(F::Generate, self.series_arguments(arguments, at)?)],
            },
        };
        let mut calls = Vec::with_capacity(typed.len());
        for (function, (arguments, ty)) in typed {
            let id = self.fresh();
            self.note_made_of(id, &arguments)?;
            calls.push(Series { id, ty, function, arguments });
        }
        Ok(calls)
    }

    /// The array whose elements are the rows of `name`, and their type; None when it is made of
    /// something else.
    fn parts_array(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<(Expr, DataType)>> {
        match name {
            "regexp_matches" | "regexp_split_to_table" => {
                let array = self.overloaded(name, arguments.to_vec(), at)?;
                Ok(Some((array.expr, DataType::Text)))
            }
            "string_to_table" => {
                let array = self.array_call("string_to_array", arguments.to_vec(), at)?;
                Ok(array.map(|array| (array.expr, DataType::Text)))
            }
            _ => self.json_parts(name, arguments, at),
        }
    }

    /// Calls whose rows stand side by side, as one series of row numbers from 1 and the value of
    /// each call in such a row, NULL behind its last.
    ///
    /// # Errors
    /// 0A000 for a series of something else than integers.
    pub(super) fn side_by_side(&mut self, calls: Vec<Series>, at: Place) -> Result<Numbered> {
        let row = self.fresh();
        let number = Expr::column(row, DataType::Integer);
        let mut counts = Vec::with_capacity(calls.len());
        let mut values = Vec::with_capacity(calls.len());
        let mut once = Vec::new();
        for mut call in calls {
            for argument in call.arguments.iter_mut().filter(|argument| is_once(argument)) {
                let id = self.fresh();
                self.note_collation(id, argument)?;
                let computed = std::mem::replace(argument, Expr::column(id, argument.ty));
                once.push((id, computed));
            }
            let (count, value) = match call.function {
                F::Unnest => self.numbered_elements(call, &number)?,
                F::Generate if call.ty.is_integer() => self.numbered_series(call, &number, at)?,
                F::Generate => return unsupported("rows of such a series side by side", at),
            };
            counts.push(count);
            values.push(value);
        }
        let count = Expr::call(Function::Greatest, counts, DataType::Integer);
        let arguments = vec![Expr::integer(1), count, Expr::integer(1)];
        let plan =
            Plan::Series { function: F::Generate, arguments, column: (row, DataType::Integer) };
        if once.is_empty() {
            return Ok(Numbered { plan, number, values });
        }
        let one = Plan::Values { columns: Vec::new(), rows: vec![Vec::new()] };
        let computed = Plan::Project { input: Box::new(one), columns: once };
        let plan = join(computed, plan, JoinKind::Inner, Expr::boolean(true));
        Ok(Numbered { plan, number, values })
    }

    /// How many elements an array has, and the one in row `number`.
    fn numbered_elements(&mut self, call: Series, number: &Expr) -> Result<(Expr, Expr)> {
        let array = call.arguments.into_iter().next();
        let array = Bound::new(array.ok_or_else(|| Error::internal("unnest of nothing"))?, None);
        let again = self.refreshed(&array);
        let count = Expr::call(Function::Cardinality, vec![array.expr], DataType::Integer);
        let value = Expr::call(Function::ArrayNth, vec![again.expr, number.clone()], call.ty);
        Ok((count, value))
    }

    /// How many values a series of integers has, and the one in row `number`.
    fn numbered_series(&mut self, call: Series, number: &Expr, at: Place) -> Result<(Expr, Expr)> {
        let Ok([start, stop, step]) = <[Expr; 3]>::try_from(call.arguments) else {
            return Err(Error::internal("a series has three arguments"));
        };
        let ty = call.ty;
        let mut copy = |expr: &Expr| copy_of(self, expr);
        let minus = |a, b, ty| Expr::call(Function::Subtract, vec![a, b], ty);
        let plus = |a, b, ty| Expr::call(Function::Add, vec![a, b], ty);
        // True of a value that the series does not reach.
        let mut is_beyond = |value: &Expr| {
            let zero = || Expr::literal(zero(ty), ty);
            let up = Expr::compare(CompareOp::Greater, copy(&step), zero());
            let down = Expr::compare(CompareOp::Less, copy(&step), zero());
            let above = Expr::compare(CompareOp::Greater, copy(value), copy(&stop));
            let below = Expr::compare(CompareOp::Less, copy(value), copy(&stop));
            Expr::or(vec![Expr::and(vec![up, above]), Expr::and(vec![down, below])])
        };
        let case = |condition, then: Expr, otherwise: Expr| {
            let otherwise = Box::new(otherwise);
            Expr { kind: ExprKind::Case { branches: vec![(condition, then)], otherwise }, ty }
        };
        let none = is_beyond(&start);
        let one = match ty {
            DataType::BigInt => Expr::literal(Value::I64(1), ty),
            ty => Expr::literal(Value::I32(1), ty),
        };
        let index = minus(number.clone(), Expr::integer(1), number.ty);
        let index = if ty == number.ty { index } else { index.cast(ty) };
        let moved = Expr::call(Function::Multiply, vec![index, step.clone()], ty);
        let value = plus(start.clone(), moved, ty);
        let (start, stop, step) =
            (copy_of(self, &start), copy_of(self, &stop), copy_of(self, &step));
        let steps = Expr::call(Function::Divide, vec![minus(stop, start, ty), step], ty);
        let count = case(none, Expr::literal(zero(ty), ty), plus(steps, one, ty));
        let count = self.coerce(Bound::new(count, at), DataType::Integer, Context::Assignment)?;
        // There are no values with a NULL among the arguments, and none behind the last.
        let own = copy_of(self, &count);
        let within = Expr::compare(CompareOp::LessEqual, number.clone(), own);
        let value = case(within, value, Expr::null(ty));
        Ok((count, value))
    }
}

/// Refuses to look for elements of JSON, which are not compared as they are held.
///
/// # Errors
/// 42883, 0A000.
fn refuse_compared(function: Function, element: ElementType, at: Place) -> Result<()> {
    use Function::{ArrayBucket, ArrayPosition, ArrayPositions, ArrayRemove, ArrayReplace};
    match function {
        ArrayBucket | ArrayPosition | ArrayPositions | ArrayRemove | ArrayReplace => {
            comparable(Expr::null(DataType::Array(element)), ComparedFor::Equality, at).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// The expression with columns of its own in its sub-queries.
fn copy_of(binder: &mut Binder<'_>, expr: &Expr) -> Expr {
    binder.refreshed(&Bound::new(expr.clone(), None)).expr
}

/// True for what is computed once for all rows: it differs from call to call, or takes long.
fn is_once(expr: &Expr) -> bool {
    fn calls(expr: &Expr) -> bool {
        let mut found = matches!(&expr.kind, ExprKind::Call(Function::Routine(_), _));
        expr.each_child(&mut |child| found = found || calls(child));
        found
    }
    is_volatile(expr) || has_subquery(expr) || calls(expr)
}

/// Calls side by side: a series of row numbers, its column, and the value of each call.
pub(super) struct Numbered {
    pub(super) plan: Plan,
    pub(super) number: Expr,
    pub(super) values: Vec<Expr>,
}

fn zero(ty: DataType) -> Value {
    match ty {
        DataType::BigInt => Value::I64(0),
        _ => Value::I32(0),
    }
}

/// True for the name of a function on arrays, called with `count` arguments.
pub(super) fn is_array_function(name: &str, count: usize) -> bool {
    signature(name).is_some() && (name != "width_bucket" || count == 2)
}

/// Functions that give rows.
pub(super) fn is_set_function(name: &str) -> bool {
    const NAMES: [&str; 6] = [
        "generate_series",
        "generate_subscripts",
        "regexp_matches",
        "regexp_split_to_table",
        "string_to_table",
        "unnest",
    ];
    NAMES.contains(&name) || super::json::is_parts_function(name)
}
