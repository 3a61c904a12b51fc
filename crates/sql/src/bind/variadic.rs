//! Functions of any number of arguments: VARIADIC calls, num_nulls.

use sqlparser::ast;
use types::{DataType, ElementType, Result, SqlState};

use super::table_function::named_argument;
use super::types::Context;
use super::unmatched::no_function;
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{Expr, ExprKind, Function, Place};

const TEXTS: DataType = DataType::Array(ElementType::Text);

/// The array of `VARIADIC array`, which the parser reads as a named argument.
fn variadic(arg: &ast::FunctionArg) -> Option<&ast::Expr> {
    named_argument(arg)
        .filter(|(name, _)| name.value.eq_ignore_ascii_case("variadic"))
        .map(|(_, e)| e)
}

impl Binder<'_> {
    /// A call whose last argument is an array of the arguments; None for other calls.
    ///
    /// # Errors
    /// 42883 for functions that take no such array, 0A000 for some that do.
    pub(super) fn variadic_call(
        &mut self,
        name: &str,
        args: &[ast::FunctionArg],
        at: Place,
    ) -> Result<Option<Bound>> {
        let Some((last, before)) = args.split_last() else { return Ok(None) };
        let Some(array) = variadic(last) else { return Ok(None) };
        let array = self.bind_expr(array)?;
        let array = self.retyped(array);
        let list: Result<Vec<Bound>> =
            before.iter().map(|arg| self.bind_plain_argument(arg)).collect();
        let mut list = list?;
        let missing = {
            let types: Vec<&str> =
                list.iter().chain([&array]).map(|bound| bound.ty().name()).collect();
            format!("function {name}({}) does not exist", types.join(", "))
        };
        if !array.ty().is_array() {
            const ANY: [&str; 5] = ["concat", "concat_ws", "format", "num_nulls", "num_nonnulls"];
            if ANY.contains(&name) {
                let message = "VARIADIC argument must be an array";
                return fail(SqlState::DATATYPE_MISMATCH, message, array.at);
            }
            return Err(no_function(missing, at));
        }
        if let DataType::Array(ElementType::Packed(_)) = array.ty()
            && list.is_empty()
            && let Some(bound) = self.packed_call(name, std::slice::from_ref(&array), at)?
        {
            return Ok(Some(bound));
        }
        let ty = array.ty();
        let array = Bound { expr: Expr::call(Function::ArrayFlat, vec![array.expr], ty), ..array };
        let bound = match (name, list.len()) {
            ("concat", 0) => {
                let separator = Bound::new(Expr::text(""), at);
                self.call("array_to_string", vec![array, separator], at)?
            }
            ("concat_ws", 1) => {
                list.insert(0, array);
                self.call("array_to_string", list, at)?
            }
            ("num_nulls" | "num_nonnulls", 0) => self.nulls_of(name, array, at)?,
            ("format", 1) if array.ty() == DataType::Array(ElementType::Boolean) => {
                return unsupported("format of an array of BOOLEAN", at);
            }
            ("format", 1) => {
                let template = list.remove(0);
                let template = self.coerce(template, DataType::Text, Context::Implicit)?;
                let array = self.coerce(array, TEXTS, Context::Explicit)?;
                let call = Expr::call(Function::FormatArray, vec![template, array], DataType::Text);
                Bound::new(call, at)
            }
            _ => match self.json_variadic(name, &list, &array, at)? {
                Some(bound) => bound,
                None => return Err(no_function(missing, at)),
            },
        };
        Ok(Some(bound))
    }

    /// How many elements of an array are NULL, or are not.
    fn nulls_of(&mut self, name: &str, array: Bound, at: Place) -> Result<Bound> {
        let (again, null) = (self.refreshed(&array), Bound::new(Expr::null(DataType::Unknown), at));
        let nulls = self.call("array_positions", vec![array, null], at)?;
        let nulls = self.call("cardinality", vec![nulls], at)?;
        if name == "num_nulls" {
            return Ok(nulls);
        }
        let all = self.call("cardinality", vec![again], at)?;
        let list = vec![all.expr, nulls.expr];
        Ok(Bound::new(Expr::call(Function::Subtract, list, DataType::Integer), at))
    }

    /// num_nulls and num_nonnulls: a sum of ones.
    pub(super) fn count_nulls(
        &mut self,
        name: &str,
        arguments: Vec<Bound>,
        at: Place,
    ) -> Result<Bound> {
        let one = |bound: Bound| {
            let is_null = bound.expr.is_null();
            let (then, otherwise) = if name == "num_nulls" { (1, 0) } else { (0, 1) };
            let branches = vec![(is_null, Expr::integer(then))];
            let otherwise = Box::new(Expr::integer(otherwise));
            Expr { kind: ExprKind::Case { branches, otherwise }, ty: DataType::Integer }
        };
        let add = |a: Expr, b: Expr| Expr::call(Function::Add, vec![a, b], DataType::Integer);
        match arguments.into_iter().map(one).reduce(add) {
            Some(sum) => Ok(Bound::new(sum, at)),
            None => Err(no_function(format!("function {name}() does not exist"), at)),
        }
    }
}
