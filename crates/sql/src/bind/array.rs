//! Arrays in expressions: constructors, subscripts, ANY and ALL, `||` and the operators between
//! arrays.

use sqlparser::ast::{self, BinaryOperator as Op, Expr as Ast};
use types::array::{Nested, Nesting};
use types::{CompareOp, DataType, ElementType, Error, Result, SqlState, Value, array};

use super::comparable::{ComparedFor, comparable, has_key, keyed};
use super::literal::{unknown, unknown_text};
use super::name::expr_at;
use super::operators::compare_op;
use super::types::{Candidate, Context, can_cast, common_type, comparison_type, interchangeable};
use super::unmatched::no_operator;
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{
    AggregateCall, AggregateFunction, Duplicates, Expr, ExprKind, Function, Place, Plan, Quantifier,
};

/// The bounds of `a[:]`, which stand for those of the array.
pub(super) const UNBOUNDED: (i32, i32) = (i32::MIN, i32::MAX);

/// The type of arrays of `ty`.
///
/// # Errors
/// 0A000 when `ty` is an array itself: such elements are in no type of their own.
pub(super) fn array_type_of(ty: DataType, at: Place) -> Result<(ElementType, DataType)> {
    match ElementType::new(ty) {
        Some(element) => Ok((element, DataType::Array(element))),
        None => unsupported("an array of such elements", at),
    }
}

/// The elements of a constant array, each as a constant.
pub(super) fn constant_elements(expr: &Expr) -> Option<Vec<Expr>> {
    let (ExprKind::Literal(Value::Str(bytes)), DataType::Array(element)) = (&expr.kind, expr.ty)
    else {
        return None;
    };
    let values = array::values(bytes, element).into_iter();
    Some(values.map(|value| Expr::literal(value, element.data_type())).collect())
}

/// Part of an array that subscripts name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// One element: a subscript for each dimension.
    Element,
    /// An array: two bounds for each dimension.
    Slice,
}

/// `op ANY` or `op ALL`, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Test<'q> {
    pub(super) op: &'q Op,
    pub(super) quantifier: Quantifier,
    pub(super) at: Place,
}

impl Binder<'_> {
    /// `ARRAY[...]`; `wanted` is the type of the elements where a cast says so.
    pub(super) fn bind_array(
        &mut self,
        elements: &[Ast],
        wanted: Option<DataType>,
        at: Place,
    ) -> Result<Bound> {
        if elements.is_empty() && wanted.is_none() {
            let error = Error::new(
                SqlState::INDETERMINATE_DATATYPE,
                "cannot determine type of empty array",
            )
            .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].");
            return Err(super::place(error, at));
        }
        let is_bare = |element: &Ast| matches!(element, Ast::Array(inner) if !inner.named);
        if elements.iter().any(is_bare) && !elements.iter().all(is_bare) {
            return fail(SqlState::SYNTAX_ERROR, "syntax error in an array of arrays", at);
        }
        let mut list = Vec::with_capacity(elements.len());
        for element in elements {
            let bound = match element {
                Ast::Array(inner) => self.bind_array(&inner.elem, wanted, at)?,
                other => self.bind_expr(other)?,
            };
            list.push(self.retyped(bound));
        }
        let holds_arrays = list.iter().any(|bound| bound.ty().is_array());
        let (list, ty) = match wanted {
            None => self.unite(list, "ARRAY")?,
            Some(ty) => {
                let ty = if holds_arrays { array_type_of(ty, at)?.1 } else { ty };
                let cast = |bound: Bound| self.coerce(bound, ty, Context::Explicit);
                let list = list.into_iter().map(cast).collect::<Result<Vec<_>>>()?;
                // A cast to NUMERIC keeps exact numbers as they are held.
                let list = list.into_iter().map(|expr| Bound::new(expr, at));
                match ty {
                    DataType::NUMERIC => (self.coerce_all(list, ty)?, ty),
                    ty => (list.map(|bound| bound.expr).collect(), ty),
                }
            }
        };
        if let DataType::Array(element) = ty
            && ty.without_vector() == ty
        {
            return Ok(Bound::new(nested(list, element), at));
        }
        let (_, ty) = array_type_of(ty, at)?;
        Ok(Bound::new(made(list, ty)?, at))
    }

    /// `root[...]`, `root[a:b]`; `root.field` before them for a column of a table.
    pub(super) fn bind_access(&mut self, root: &Ast, chain: &[ast::AccessExpr]) -> Result<Bound> {
        let mut chain = chain;
        let mut bound = match root {
            // A column under the name of its relation.
            Ast::Identifier(first) => {
                let mut names = vec![first.clone()];
                while let [ast::AccessExpr::Dot(Ast::Identifier(name)), rest @ ..] = chain {
                    names.push(name.clone());
                    chain = rest;
                }
                match names.as_slice() {
                    [_] => self.bind_expr(root)?,
                    _ => self.bind_expr(&Ast::CompoundIdentifier(names))?,
                }
            }
            root => self.bind_expr(root)?,
        };
        while let Some((first, rest)) = chain.split_first() {
            bound = match first {
                ast::AccessExpr::Dot(Ast::Identifier(name)) => {
                    chain = rest;
                    self.named_field(bound, name)?
                }
                ast::AccessExpr::Dot(other) => {
                    return unsupported(format!("the field {other} of a value"), expr_at(root));
                }
                ast::AccessExpr::Subscript(_) => {
                    let mut subscripts = Vec::new();
                    while let [ast::AccessExpr::Subscript(subscript), rest @ ..] = chain {
                        subscripts.push(subscript);
                        chain = rest;
                    }
                    self.subscripted(bound, &subscripts)?
                }
            };
        }
        Ok(bound)
    }

    /// `bound[...]`.
    pub(super) fn subscripted(
        &mut self,
        bound: Bound,
        subscripts: &[&ast::Subscript],
    ) -> Result<Bound> {
        let bound = self.retyped(bound);
        if bound.ty() == DataType::Jsonb {
            let at = bound.at;
            return Ok(Bound::new(self.json_subscript(bound.expr, subscripts)?, at));
        }
        let (at, ty) = (bound.at, bound.ty());
        if ty == DataType::Name
            && let [ast::Subscript::Index { index }] = subscripts
        {
            return Ok(Bound::new(self.character_of(bound.expr, index)?, at));
        }
        if let [ast::Subscript::Index { index }] = subscripts
            && matches!(ty, DataType::Packed(packed) if packed.is_shape())
        {
            let index = self.bind_subscript(index)?;
            let found = self.shape_part(bound.clone(), Bound::new(index, at))?;
            if let Some(expr) = found {
                return Ok(Bound::new(expr, at));
            }
        }
        let Some(element) = ty.element() else {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                ty.name()
            );
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        };
        let (part, list) = self.part_of(subscripts.iter().copied(), at)?;
        let arguments = std::iter::once(bound.expr).chain(list).collect();
        let expr = match part {
            Part::Element => Expr::call(Function::ArrayElement, arguments, element),
            Part::Slice => Expr::call(Function::ArraySlice, arguments, ty.without_vector()),
        };
        Ok(Bound::new(expr, at))
    }

    /// The subscripts of an element, or the bounds of a slice: beside slices a subscript `n` is
    /// `1:n`.
    pub(super) fn part_of<'q>(
        &mut self,
        subscripts: impl Iterator<Item = &'q ast::Subscript> + Clone,
        at: Place,
    ) -> Result<(Part, Vec<Expr>)> {
        let count = subscripts.clone().count();
        if count > array::DIMENSIONS_MAX {
            return Err(super::place(array::too_many(count), at));
        }
        let is_slice = subscripts.clone().any(|s| matches!(s, ast::Subscript::Slice { .. }));
        let mut list = Vec::with_capacity(count * 2);
        for subscript in subscripts {
            match subscript {
                ast::Subscript::Index { index } => {
                    if is_slice {
                        list.push(Expr::integer(1));
                    }
                    list.push(self.bind_subscript(index)?);
                }
                ast::Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                    let mut side = |bound: &Option<Ast>, default: i32| match bound {
                        Some(bound) => self.bind_subscript(bound),
                        None => Ok(Expr::integer(default)),
                    };
                    list.push(side(lower_bound, UNBOUNDED.0)?);
                    list.push(side(upper_bound, UNBOUNDED.1)?);
                }
                ast::Subscript::Slice { .. } => {
                    return fail(SqlState::SYNTAX_ERROR, "a slice has two bounds", at);
                }
            }
        }
        Ok((if is_slice { Part::Slice } else { Part::Element }, list))
    }

    /// A character of a name, which count from 0.
    fn character_of(&mut self, name: Expr, index: &Ast) -> Result<Expr> {
        let index = self.bind_subscript(index)?;
        let place = Expr::call(Function::Add, vec![index, Expr::integer(1)], DataType::Integer);
        let list = vec![name, place, Expr::integer(1)];
        Ok(Expr::call(Function::Substring, list, DataType::InternalChar))
    }

    pub(super) fn bind_subscript(&mut self, index: &Ast) -> Result<Expr> {
        let bound = self.bind_expr(index)?;
        let bound = self.retyped(bound);
        if !can_cast(bound.ty(), DataType::Integer, Context::Assignment) {
            let message = "array subscript must have type integer";
            return fail(SqlState::DATATYPE_MISMATCH, message, bound.at);
        }
        self.coerce(bound, DataType::Integer, Context::Assignment)
    }

    /// `value op ANY/ALL (list)` over a list that is no query: the elements of a constructor, of
    /// a constant array, or of any other array.
    pub(super) fn array_test(
        &mut self,
        left: &Ast,
        op: &Op,
        list: &Ast,
        quantifier: Quantifier,
    ) -> Result<Bound> {
        let at = expr_at(left);
        let value = self.bind_expr(left)?;
        if let Ast::Array(array) = list
            && !array.elem.iter().any(|element| matches!(element, Ast::Array(_)))
        {
            let list: Result<Vec<Bound>> = array.elem.iter().map(|e| self.bind_expr(e)).collect();
            let mut list = list?;
            // An array of nothing but untyped texts is one of TEXT.
            if list.iter().any(|bound| unknown_text(&bound.expr).is_some())
                && list.iter().all(|bound| bound.expr.as_literal().is_some() && bound.is_unknown())
            {
                let places: Vec<Place> = list.iter().map(|bound| bound.at).collect();
                let (exprs, _) = self.unite(list, "ARRAY")?;
                list = exprs.into_iter().zip(places).map(|(e, at)| Bound::new(e, at)).collect();
            }
            return self.list_test(value, list, Test { op, quantifier, at });
        }
        let array = self.bind_expr(list).map(|array| self.retyped(array))?;
        if let Some(elements) = self.known_elements(&array)? {
            return self.list_test(value, elements, Test { op, quantifier, at });
        }
        let (array, value) = (self.array_operand(array, &value)?, self.retyped(value));
        if let Some(expr) = self.test_shapes(&value, op, &array, quantifier)? {
            return Ok(Bound::new(expr, at));
        }
        let DataType::Array(element) = array.ty() else {
            let message = format!("op {} (array) requires array on right side", word(quantifier));
            return fail(SqlState::WRONG_OBJECT_TYPE, message, array.at);
        };
        let Some(compare) = compare_op(op) else {
            return unsupported(format!("operator {op} with {} of an array", word(quantifier)), at);
        };
        let element = element.data_type();
        if has_key(element) {
            comparable(
                Expr::null(DataType::Array(array_type_of(element, at)?.0)),
                ComparedFor::Equality,
                at,
            )?;
        }
        let ty = if value.is_unknown() {
            super::coerce::literal_target(&value, element)
        } else {
            comparison_type(self.digits, value.ty(), element)
                .ok_or_else(|| no_operator(&op.to_string(), value.ty(), element, at))?
        };
        let value = if !value.is_unknown() && interchangeable(value.ty(), ty) {
            value.expr
        } else {
            self.coerce(value, ty, Context::Implicit)?
        };
        let (_, array_ty) = array_type_of(ty, at)?;
        let array = if interchangeable(array.ty(), array_ty) {
            array.expr
        } else {
            self.coerce(array, array_ty, Context::Implicit)?
        };
        let pair = self.compared(compare, vec![value, array], at)?;
        let [value, array] = <[Expr; 2]>::try_from(pair)
            .map_err(|_| Error::internal("as many operands as before"))?;
        let (value, array) = (keyed(value), keyed(array));
        Ok(Bound::new(quantified(compare, quantifier, value, array), at))
    }

    /// The elements of an array that is known now: a constant, or a text constant that is one.
    fn known_elements(&mut self, array: &Bound) -> Result<Option<Vec<Bound>>> {
        let elements = match unknown_text(&array.expr) {
            None => constant_elements(&array.expr),
            Some(text) => {
                let parsed = types::text::parse(&text, DataType::Array(ElementType::Text));
                let parsed = parsed.map_err(|error| super::place(error, array.at))?;
                constant_elements(&Expr::literal(parsed, DataType::Array(ElementType::Text))).map(
                    |list| {
                        let untyped = |expr: Expr| match super::literal::constant_text(&expr) {
                            Some(text) => unknown(&text),
                            None => Expr::null(DataType::Unknown),
                        };
                        list.into_iter().map(untyped).collect()
                    },
                )
            }
        };
        let bound = |expr: Expr| Bound::new(expr, array.at);
        Ok(elements.map(|list| list.into_iter().map(bound).collect()))
    }

    /// An array whose type is not known yet, as an array of what it is compared with.
    fn array_operand(&mut self, array: Bound, value: &Bound) -> Result<Bound> {
        if !array.is_unknown() {
            return Ok(array);
        }
        let at = array.at;
        let element = match self.type_now(value) {
            DataType::Unknown | DataType::Varchar(_) => DataType::Text,
            other => other,
        };
        let (_, ty) = array_type_of(element, at)?;
        Ok(Bound::new(self.coerce(array, ty, Context::Implicit)?, at))
    }

    /// `value op ANY/ALL (elements)`.
    pub(super) fn list_test(
        &mut self,
        value: Bound,
        elements: Vec<Bound>,
        test: Test<'_>,
    ) -> Result<Bound> {
        let Test { op, quantifier, at } = test;
        if elements.is_empty() {
            return Ok(Bound::new(Expr::boolean(quantifier == Quantifier::All), at));
        }
        let of_shapes = self.has_shape(&value, &elements);
        if *op == Op::Eq && quantifier == Quantifier::Any && !of_shapes {
            return Ok(Bound::new(self.membership(value, elements)?, at));
        }
        if *op == Op::NotEq && quantifier == Quantifier::All && !of_shapes {
            return Ok(Bound::new(self.membership(value, elements)?.negated(), at));
        }
        let mut terms = Vec::with_capacity(elements.len());
        for element in elements {
            let value = self.refreshed(&value);
            terms.push(self.bind_binary(op, value, element)?.expr);
        }
        let expr = match quantifier {
            Quantifier::Any => Expr::or(terms),
            Quantifier::All => Expr::and(terms),
        };
        Ok(Bound::new(expr, at))
    }

    /// `a || b` where one side is an array: the other one is an array, too, or an element.
    pub(super) fn array_concatenation(&mut self, left: Bound, right: Bound) -> Result<Expr> {
        let at = super::first(left.at, || right.at);
        let (a, b) = (left.ty(), right.ty());
        let is_array = |bound: &Bound| bound.ty().is_array() || bound.is_unknown();
        let name = match (is_array(&left), is_array(&right)) {
            (true, true) => "array_cat",
            (true, false) => "array_append",
            (false, _) => "array_prepend",
        };
        match self.array_call(name, vec![left, right], at) {
            Ok(Some(bound)) => Ok(bound.expr),
            Err(error) if error.state() != SqlState::UNDEFINED_FUNCTION => Err(error),
            _ => Err(no_operator("||", a, b, at)),
        }
    }

    /// `a @> b`, `a <@ b`, `a && b`.
    pub(super) fn array_comparison(&mut self, op: &Op, left: Bound, right: Bound) -> Result<Expr> {
        let (left, right) = (self.retyped(left), self.retyped(right));
        let at = super::first(left.at, || right.at);
        let (a, b) = (left.ty(), right.ty());
        if !a.is_array() && !b.is_array() {
            return Err(no_operator(&op.to_string(), a, b, at));
        }
        let Some((left, right)) = self.unite_operands(left, right)? else {
            return Err(no_operator(&op.to_string(), a, b, at));
        };
        let (left, right) = self.compared_pair(CompareOp::Equal, left, right, at)?;
        let (function, list) = match op {
            Op::AtArrow => (Function::ArrayContains, vec![left, right]),
            Op::ArrowAt => (Function::ArrayContains, vec![right, left]),
            _ => (Function::ArrayOverlaps, vec![left, right]),
        };
        Ok(Expr::call(function, list, DataType::Boolean))
    }

    /// `ARRAY(SELECT ...)`: the values of the query's only column, in its order.
    pub(super) fn array_of_query(&mut self, query: &ast::Query) -> Result<Bound> {
        let at = super::subquery::query_at(query);
        let bound = self.bind_query(query, super::Unknowns::Text)?;
        if bound.columns.len() != 1 {
            let message = "subquery must return only one column";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        let (plan, columns) = self.exact(bound);
        let column = columns.first().map(|column| Expr::column(column.id, column.ty));
        let column = column.ok_or_else(|| Error::internal("a query without columns"))?;
        let (element, ty) = match column.ty {
            DataType::Array(element) if column.ty.without_vector() == column.ty => {
                (element, column.ty)
            }
            other => array_type_of(other, at)?,
        };
        let call = AggregateCall {
            function: AggregateFunction::ArrayAgg,
            arguments: vec![column],
            duplicates: Duplicates::Keep,
            filter: None,
            order_by: Vec::new(),
            ty,
        };
        let (collected, result) = (self.fresh(), self.fresh());
        self.note_made_of(collected, &call.arguments)?;
        self.note_made_of(result, &call.arguments)?;
        let plan = Plan::Aggregate {
            input: Box::new(plan),
            keys: Vec::new(),
            aggregates: vec![(collected, call)],
            grouping_sets: None,
            set_column: None,
        };
        let empty = Expr::literal(array::from_values([], element)?, ty);
        let whole = Expr::call(Function::Coalesce, vec![Expr::column(collected, ty), empty], ty);
        let plan = Plan::Project { input: Box::new(plan), columns: vec![(result, whole)] };
        Ok(Bound::new(Expr { kind: ExprKind::ScalarSubquery(Box::new(plan)), ty }, at))
    }

    /// Brings an array and elements for it to one element type; None when there is none. Returns
    /// the array (in its place, `at_idx`) and the elements, and the array's type.
    pub(super) fn compatible(
        &mut self,
        list: Vec<Bound>,
        arrays: &[bool],
    ) -> Result<Option<(Vec<Expr>, ElementType)>> {
        let candidate = |(bound, is_array): (&Bound, &bool)| {
            let ty = match (bound.ty(), is_array) {
                (DataType::Unknown, _) => Some(DataType::Unknown),
                (DataType::Array(element), true) => Some(element.data_type()),
                (DataType::Array(_), false) | (_, true) => None,
                (ty, false) => Some(ty),
            };
            ty.map(|ty| Candidate { ty })
        };
        let candidates: Option<Vec<Candidate>> = list.iter().zip(arrays).map(candidate).collect();
        let common = candidates.and_then(|candidates| common_type(&candidates).ok());
        let Some(element) = common.and_then(ElementType::new) else {
            return Ok(None);
        };
        let mut out = Vec::with_capacity(list.len());
        for (bound, is_array) in list.into_iter().zip(arrays) {
            let ty = if *is_array { DataType::Array(element) } else { element.data_type() };
            out.push(self.coerce_kept(bound, ty)?);
        }
        Ok(Some((out, element)))
    }

    /// As [`Self::coerce`] by implicit casts; what looks alike stays as it is.
    fn coerce_kept(&mut self, bound: Bound, ty: DataType) -> Result<Expr> {
        if !bound.is_unknown() && interchangeable(bound.ty(), ty) {
            Ok(bound.expr)
        } else {
            self.coerce(bound, ty, Context::Implicit)
        }
    }
}

/// An array of the arrays `list`, which is a constant when they all are and fit.
fn nested(list: Vec<Expr>, element: ElementType) -> Expr {
    let ty = DataType::Array(element);
    let values: Option<Vec<&Value>> = list.iter().map(Expr::as_literal).collect();
    let known = values.and_then(|values| {
        let mut nested = Nested::new(element, Nesting::Constructor);
        for value in values {
            let bytes = match value {
                Value::Str(bytes) => Some(&bytes[..]),
                _ => None,
            };
            nested.push(bytes).ok()?;
        }
        nested.finish().ok()
    });
    match known {
        Some(array) => Expr::literal(Value::Str(array.into()), ty),
        None => Expr::call(Function::ArrayNest, list, ty),
    }
}

/// An array of `list`, which is a constant when they all are.
pub(super) fn made(list: Vec<Expr>, ty: DataType) -> Result<Expr> {
    let values: Option<Vec<&Value>> = list.iter().map(Expr::as_literal).collect();
    match values {
        Some(values) => {
            let value = array::from_values(values, array::element_of(ty)?)?;
            Ok(Expr::literal(value, ty))
        }
        None => Ok(Expr::call(Function::ArrayMake, list, ty)),
    }
}

fn word(quantifier: Quantifier) -> &'static str {
    match quantifier {
        Quantifier::Any => "ANY",
        Quantifier::All => "ALL",
    }
}

/// `value op ANY/ALL (array)`; `<> ALL` is NOT `= ANY`, of which the planner knows more.
fn quantified(op: CompareOp, quantifier: Quantifier, value: Expr, array: Expr) -> Expr {
    let (function, negated) = match (op, quantifier) {
        (CompareOp::NotEqual, Quantifier::All) => (Function::AnyElement(CompareOp::Equal), true),
        (op, Quantifier::Any) => (Function::AnyElement(op), false),
        (op, Quantifier::All) => (Function::AllElements(op), false),
    };
    let test = Expr::call(function, vec![value, array], DataType::Boolean);
    if negated { test.negated() } else { test }
}
