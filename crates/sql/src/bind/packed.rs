//! Functions, operators and aggregates on packed types: addresses, bits, money, ranges and others.
//!
//! ```text
//! a << b, host(a)             rows of the table of packed functions, chosen as PostgreSQL chooses
//! sum(money), avg(vector)     array_agg(x), folded
//! range_agg(r)                likewise
//! unnest(multirange)          unnest of the array of its ranges
//! ```
//! Elsewhere: what the functions do (`types::packed`); comparisons, which go by the bytes.

use sqlparser::ast::{BinaryOperator as Op, UnaryOperator};
use types::packed::{PackedCall, Parameter};
use types::{DataType, ElementType, PackedType, RangeKind, Result};

use super::array_functions::is_set_function;
use super::types::{Context, can_cast};
use super::unmatched::no_function;
use super::{Binder, Bound};
use crate::algebra::{AggregateCall, AggregateFunction, Expr, Function, JsonFunction, Place};
use crate::catalog::Called;

/// Functions of snapshots that give rows.
const SNAPSHOT_SETS: [&str; 2] = ["pg_snapshot_xip", "txid_snapshot_xip"];

/// Functions of the extension hstore that give rows.
const HSTORE_SETS: [&str; 3] = ["each", "skeys", "svals"];

/// True when a value of the type is packed, or an array of such.
fn is_packed(ty: DataType) -> bool {
    packed_of(ty).is_some()
}

/// The packed type that `ty` is, or is an array of.
fn packed_of(ty: DataType) -> Option<PackedType> {
    match ty {
        DataType::Packed(ty) | DataType::Array(ElementType::Packed(ty)) => Some(ty),
        _ => None,
    }
}

/// A function, and what the ranges in its call are of.
#[derive(Clone, Copy)]
struct Chosen {
    call: PackedCall,
    kind: RangeKind,
}

impl Chosen {
    /// The types of `count` arguments.
    fn parameters(self, count: usize) -> impl Iterator<Item = DataType> {
        let function = self.call.function();
        let rest = std::iter::repeat(function.rest).map_while(|rest| rest);
        let all = function.parameters.iter().copied().chain(rest).take(count);
        all.map(move |parameter| parameter.of(self.kind))
    }
}

/// The function with the kind of the ranges among arguments of these types, when they fit it.
fn fitted(call: PackedCall, types: &[DataType]) -> Option<Chosen> {
    let function = call.function();
    let arity = match function.rest {
        Some(_) => types.len() >= function.parameters.len(),
        None => types.len() == function.parameters.len(),
    };
    if !arity {
        return None;
    }
    let is_open = function.parameters.iter().any(|parameter| parameter.is_open());
    let known = types.iter().find_map(|ty| packed_of(*ty)?.range());
    let kind = if is_open { known? } else { RangeKind::Int4 };
    fitted_to(Chosen { call, kind }, types)
}

/// The function, when arguments of these types, of the right number, fit it.
fn fitted_to(chosen: Chosen, types: &[DataType]) -> Option<Chosen> {
    let function = chosen.call.function();
    let open = function.parameters.iter().map(|parameter| parameter.is_open());
    let open = open.chain(std::iter::repeat(false));
    let fits = |((to, is_open), from): ((DataType, bool), &DataType)| {
        // Types that depend on each other are taken as they are.
        if is_open && *from != DataType::Unknown {
            is_exact(*from, to)
        } else {
            can_cast(*from, to, Context::Implicit)
        }
    };
    chosen.parameters(types.len()).zip(open).zip(types).all(fits).then_some(chosen)
}

/// True when an argument of type `from` is one of type `to` already.
fn is_exact(from: DataType, to: DataType) -> bool {
    from.of_all_digits() == to
        || from.is_numeric() && to.is_numeric()
        || matches!((from, to), (DataType::Array(x), DataType::Array(y))
            if types::same_array_form(x, y))
}

/// True for the type that others of its kind prefer to become.
fn is_preferred(ty: DataType) -> bool {
    const INET: DataType = DataType::Packed(PackedType::Inet);
    const VARBIT: DataType = DataType::Packed(PackedType::VarBit(None));
    matches!(ty, DataType::Double | DataType::Text | DataType::TimestampTz(_))
        || ty == INET
        || ty == VARBIT
}

/// The function that fits arguments of these types best.
///
/// Source: PostgreSQL manual, "Operator Type Resolution".
fn choose(candidates: impl Iterator<Item = PackedCall>, types: &[DataType]) -> Option<Chosen> {
    let fitting: Vec<Chosen> = candidates.filter_map(|call| fitted(call, types)).collect();
    if let [a, b] = *types
        && (a == DataType::Unknown) != (b == DataType::Unknown)
    {
        // What has no type yet has that of the other operand, if there is such an operator.
        let ty = if a == DataType::Unknown { b } else { a };
        let both = |chosen: &&Chosen| chosen.parameters(2).all(|to| is_exact(ty, to));
        if let Some(chosen) = fitting.iter().find(both) {
            return Some(*chosen);
        }
    }
    best(fitting, types)
}

/// As [`choose`] for a call, whose arguments say nothing of each other's types.
fn choose_function(
    candidates: impl Iterator<Item = PackedCall>,
    types: &[DataType],
) -> Option<Chosen> {
    best(candidates.filter_map(|call| fitted(call, types)).collect(), types)
}

/// The one of several that takes most arguments as they are, or as preferred types.
fn best(mut fitting: Vec<Chosen>, types: &[DataType]) -> Option<Chosen> {
    keep_best(&mut fitting, |chosen| {
        let exact = |(to, from): &(DataType, &DataType)| is_exact(**from, *to);
        chosen.parameters(types.len()).zip(types).filter(exact).count()
    });
    keep_best(&mut fitting, |chosen| {
        let good = |(to, from): &(DataType, &DataType)| is_exact(**from, *to) || is_preferred(*to);
        chosen.parameters(types.len()).zip(types).filter(good).count()
    });
    fitting.first().copied()
}

/// True when a call of a function on shapes may mean another one: arguments do not say that it is
/// one of these, or its name is that of a type to which a literal is cast.
fn is_of_others(name: &str, named: &[PackedCall], types: &[DataType]) -> bool {
    if types.iter().any(|ty| is_packed(*ty)) {
        return false;
    }
    let is_literal = types == [DataType::Unknown];
    let is_ambiguous = named.iter().filter(|call| fitted(**call, types).is_some()).count() > 1;
    is_ambiguous
        || is_literal && super::types::type_called(name).is_some()
        || super::function_table::overloads(name).next().is_some()
}

fn keep_best(candidates: &mut Vec<Chosen>, score: impl Fn(&Chosen) -> usize) {
    let best = candidates.iter().map(&score).max().unwrap_or(0);
    candidates.retain(|chosen| score(chosen) == best);
}

impl Binder<'_> {
    /// `left op right` of an operator on packed types; None when neither operand is one, or there
    /// is no such operator on them.
    pub(super) fn packed_operator(
        &mut self,
        op: &Op,
        left: &Bound,
        right: &Bound,
    ) -> Result<Option<Expr>> {
        if let Some(expr) = self.text_match(op, left, right)? {
            return Ok(Some(expr));
        }
        let types = [self.type_now(left), self.type_now(right)];
        if !types.iter().any(|ty| matches!(ty, DataType::Packed(_))) {
            return Ok(None);
        }
        let Some(chosen) = choose(PackedCall::of_operator(&op.to_string()), &types) else {
            return Ok(None);
        };
        self.packed_apply(chosen, vec![left.clone(), right.clone()]).map(Some)
    }

    /// `op operand`, likewise.
    pub(super) fn packed_prefix(
        &mut self,
        op: UnaryOperator,
        operand: &Bound,
    ) -> Result<Option<Expr>> {
        let types = [self.type_now(operand)];
        if !is_packed(types[0]) {
            return Ok(None);
        }
        match choose(PackedCall::of_operator(&op.to_string()), &types) {
            Some(chosen) => self.packed_apply(chosen, vec![operand.clone()]).map(Some),
            None => Ok(None),
        }
    }

    /// A call of a function on packed types; None when `name` is another function, or one that
    /// other types have, too, and these arguments are such.
    ///
    /// # Errors
    /// 42883 for arguments that a function on packed types alone does not take.
    pub(super) fn packed_call(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        if let Some(bound) = self.search_call(name, arguments, at) {
            return Ok(Some(bound));
        }
        let named = PackedCall::named(name).filter(|call| self.has_packed(*call));
        let named: Vec<PackedCall> = named.collect();
        let Some(first) = named.first() else { return Ok(None) };
        let arguments = &self.configured(name, arguments, at)[..];
        let types: Vec<DataType> = arguments.iter().map(|bound| self.type_now(bound)).collect();
        if first.is_of_shapes() && is_of_others(name, &named, &types) {
            return Ok(None);
        }
        if first.extension().is_some() || first.is_of_shapes() {
            // Users may have functions of such names.
            let Some(chosen) = choose_function(named.into_iter(), &types) else { return Ok(None) };
            let expr = self.packed_apply(chosen, arguments.to_vec())?;
            return Ok(Some(Bound::new(expr, at)));
        }
        let is_shared = super::function_table::overloads(name).next().is_some()
            || super::types::type_called(name).is_some() && arguments.len() == 1;
        // Numbers have no cast to it.
        let is_lsn = name == "pg_lsn" && types.iter().all(|ty| ty.is_number());
        if is_shared && !is_lsn && !types.iter().any(|ty| is_packed(*ty)) {
            return Ok(None);
        }
        match choose(named.into_iter(), &types) {
            Some(chosen) => {
                let expr = self.packed_apply(chosen, arguments.to_vec())?;
                Ok(Some(Bound::new(expr, at)))
            }
            None if is_shared => Ok(None),
            None => {
                let types: Vec<&str> = types.iter().map(|ty| ty.name()).collect();
                let message = format!("function {name}({}) does not exist", types.join(", "));
                Err(no_function(message, at))
            }
        }
    }

    /// True for functions of every database, and of extensions that somebody created.
    fn has_packed(&self, call: PackedCall) -> bool {
        call.extension().is_none_or(|name| self.catalog.finds_extension(name, Called::InKeptText))
    }

    fn packed_apply(&mut self, chosen: Chosen, arguments: Vec<Bound>) -> Result<Expr> {
        let mut list = Vec::with_capacity(arguments.len());
        let types: Vec<DataType> = chosen.parameters(arguments.len()).collect();
        for (argument, ty) in arguments.into_iter().zip(types) {
            list.push(self.coerce(argument, ty, Context::Implicit)?);
        }
        let ty = chosen.call.function().gives.of(chosen.kind);
        Ok(Expr::call(Function::Packed(chosen.call), list, ty))
    }

    /// A function of ranges of `kind` where its arguments do not say that; None when they do not
    /// fit.
    pub(super) fn packed_of_kind(
        &mut self,
        call: PackedCall,
        kind: RangeKind,
        arguments: &[Bound],
    ) -> Result<Option<Expr>> {
        let function = call.function();
        let is_few = arguments.len() < function.parameters.len();
        if is_few || function.rest.is_none() && arguments.len() > function.parameters.len() {
            return Ok(None);
        }
        let chosen = Chosen { call, kind };
        for (argument, to) in arguments.iter().zip(chosen.parameters(arguments.len())) {
            if !can_cast(self.type_now(argument), to, Context::Implicit) {
                return Ok(None);
            }
        }
        self.packed_apply(chosen, arguments.to_vec()).map(Some)
    }

    /// A number or a point of a shape that has them under subscripts, from 0.
    pub(super) fn shape_part(&mut self, shape: Bound, index: Bound) -> Result<Option<Expr>> {
        match choose(PackedCall::named("#part"), &[shape.ty(), index.ty()]) {
            Some(chosen) => self.packed_apply(chosen, vec![shape, index]).map(Some),
            None => Ok(None),
        }
    }

    /// A shape with another number or point under a subscript, of the type that
    /// [`Self::shape_part`] has; what is NULL changes nothing.
    pub(super) fn shape_with_part(
        &mut self,
        shape: Expr,
        index: Expr,
        value: Expr,
    ) -> Result<Expr> {
        let types = [shape.ty, DataType::Integer, value.ty];
        let Some(chosen) = choose_function(PackedCall::named("#with_part"), &types) else {
            return Err(types::Error::internal("a shape has parts of this type"));
        };
        // The least number stands for NULL.
        let none = Expr::literal(types::Value::I32(i32::MIN), DataType::Integer);
        let index = Expr::call(Function::Coalesce, vec![index, none], DataType::Integer);
        let list = [shape.clone(), index, value].map(|expr| Bound::new(expr, None));
        let changed = self.packed_apply(chosen, list.to_vec())?;
        let ty = shape.ty;
        Ok(Expr::call(Function::Coalesce, vec![changed, shape], ty))
    }

    /// The array of a multirange's ranges.
    pub(super) fn multirange_parts(&mut self, multirange: Bound) -> Result<Option<Expr>> {
        let types = [multirange.ty()];
        match choose(PackedCall::named("#unnest"), &types) {
            Some(chosen) => self.packed_apply(chosen, vec![multirange]).map(Some),
            None => Ok(None),
        }
    }

    /// True for a function that gives rows, of every database or of an extension that there is.
    pub(super) fn is_set_call(&self, name: &str) -> bool {
        is_set_function(name)
            || super::text_search::is_search_set(name)
            || SNAPSHOT_SETS.contains(&name)
            || HSTORE_SETS.contains(&name)
                && self.catalog.finds_extension("hstore", Called::InKeptText)
    }

    /// The keys, values or pairs of a HSTORE, or the transactions of a snapshot, as an array, and
    /// the type of its elements; None for other functions and arguments.
    pub(super) fn packed_parts(
        &mut self,
        name: &str,
        arguments: &[Bound],
    ) -> Result<Option<(Expr, DataType)>> {
        let (parts, element) = match name {
            "skeys" => ("akeys", DataType::Text),
            "svals" => ("avals", DataType::Text),
            // Pairs are those of a JSON, which has them in the same order.
            "each" => ("hstore_to_json", DataType::Json),
            "pg_snapshot_xip" => ("#pg_snapshot_xip", DataType::Packed(PackedType::Xid8)),
            "txid_snapshot_xip" => ("#txid_snapshot_xip", DataType::BigInt),
            _ => return Ok(None),
        };
        let types: Vec<DataType> = arguments.iter().map(|bound| self.type_now(bound)).collect();
        let Some(chosen) = choose(PackedCall::named(parts), &types) else { return Ok(None) };
        let found = self.packed_apply(chosen, arguments.to_vec())?;
        if name != "each" {
            return Ok(Some((found, element)));
        }
        let pairs = Function::Json(JsonFunction::FieldTexts);
        let ty = DataType::Array(ElementType::Json);
        Ok(Some((Expr::call(pairs, vec![found], ty), element)))
    }

    /// Types an aggregate call that collects what [`packed_collected`] folds; false for others.
    pub(super) fn packed_aggregate(
        &mut self,
        name: &str,
        call: &mut AggregateCall,
        arguments: &[Bound],
    ) -> bool {
        let [argument] = arguments else { return false };
        let ty = argument.ty();
        let Some(array) = collected_type(name, ty) else { return false };
        call.function = AggregateFunction::ArrayAgg;
        call.arguments = vec![argument.expr.clone()];
        call.ty = array;
        true
    }
}

/// The array of what an aggregate folds; None when it is no aggregate on packed types.
fn collected_type(name: &str, ty: DataType) -> Option<DataType> {
    let DataType::Packed(packed) = ty else { return None };
    let is_folded = match name {
        "sum" => matches!(packed, PackedType::Money | PackedType::Vector(_)),
        "avg" => matches!(packed, PackedType::Vector(_)),
        "bit_and" | "bit_or" | "bit_xor" => packed.is_bits(),
        "range_agg" | "range_intersect_agg" => packed.range().is_some(),
        _ => false,
    };
    is_folded.then(|| DataType::array_of(ty.of_all_digits())).flatten()
}

/// The value of an aggregate that collected an array; `collected` itself for other aggregates.
pub(super) fn packed_collected(name: &str, collected: Expr) -> Expr {
    let DataType::Array(ElementType::Packed(_)) = collected.ty else { return collected };
    let fold = PackedCall::named(match name {
        "sum" => "#sum",
        "avg" => "#avg",
        "bit_and" => "#bit_and",
        "bit_or" => "#bit_or",
        "bit_xor" => "#bit_xor",
        "range_agg" => "#range_agg",
        "range_intersect_agg" => "#range_intersect_agg",
        _ => return collected,
    });
    match choose_collected(fold, collected.ty) {
        Some(chosen) => {
            let ty = chosen.call.function().gives.of(chosen.kind);
            Expr::call(Function::Packed(chosen.call), vec![collected], ty)
        }
        None => collected,
    }
}

/// The fold of arrays of type `ty`; bits of both types are folded alike.
fn choose_collected(folds: impl Iterator<Item = PackedCall>, ty: DataType) -> Option<Chosen> {
    let folds: Vec<PackedCall> = folds.collect();
    let kind = packed_of(ty).and_then(PackedType::range).unwrap_or(RangeKind::Int4);
    let exact = folds.iter().find_map(|call| fitted(*call, &[ty]));
    let plain = |call: &&PackedCall| matches!(call.function().parameters, [Parameter::Is(_)]);
    exact.or_else(|| folds.iter().find(plain).map(|call| Chosen { call: *call, kind }))
}

/// True when PostgreSQL has min and max of the type.
pub(super) fn has_extremes(ty: PackedType) -> bool {
    let others = matches!(
        ty,
        PackedType::Money | PackedType::TimeTz(_) | PackedType::Xid8 | PackedType::PgLsn
    );
    ty.is_network() || others
}
