//! Functions on JSON that other words stand for: operators called by name, objects of arrays,
//! jsonb_set_lax.

use sqlparser::ast::BinaryOperator as Op;
use types::{DataType, ElementType, Error, Result, SqlState};

use super::json::{call, made};
use super::literal::constant_text;
use super::types::{Context, can_cast};
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{Expr, ExprKind, JsonFunction as J, Place};

const TEXTS: DataType = DataType::Array(ElementType::Text);

/// The operator that a function is called by, the types of its arguments, and whether they change
/// places.
fn operator(name: &str) -> Option<(Op, [DataType; 2])> {
    use DataType as T;
    Some(match name {
        "json_object_field" => (Op::Arrow, [T::Json, T::Text]),
        "json_object_field_text" => (Op::LongArrow, [T::Json, T::Text]),
        "jsonb_object_field" => (Op::Arrow, [T::Jsonb, T::Text]),
        "jsonb_object_field_text" => (Op::LongArrow, [T::Jsonb, T::Text]),
        "json_array_element" => (Op::Arrow, [T::Json, T::Integer]),
        "json_array_element_text" => (Op::LongArrow, [T::Json, T::Integer]),
        "jsonb_array_element" => (Op::Arrow, [T::Jsonb, T::Integer]),
        "jsonb_array_element_text" => (Op::LongArrow, [T::Jsonb, T::Integer]),
        "jsonb_contains" => (Op::AtArrow, [T::Jsonb, T::Jsonb]),
        "jsonb_contained" => (Op::ArrowAt, [T::Jsonb, T::Jsonb]),
        "jsonb_exists" => (Op::Question, [T::Jsonb, T::Text]),
        "jsonb_exists_any" => (Op::QuestionPipe, [T::Jsonb, TEXTS]),
        "jsonb_exists_all" => (Op::QuestionAnd, [T::Jsonb, TEXTS]),
        "jsonb_concat" => (Op::StringConcat, [T::Jsonb, T::Jsonb]),
        "jsonb_delete_path" => (Op::HashMinus, [T::Jsonb, TEXTS]),
        _ => return None,
    })
}

impl Binder<'_> {
    /// A call of one of these functions; None when `name` is another, or the arguments do not fit.
    pub(super) fn json_called(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        if let ("jsonb_delete", [json, what]) = (name, arguments) {
            let json = self.coerce(json.clone(), DataType::Jsonb, Context::Implicit)?;
            let expr =
                self.json_operator(&Op::Minus, &mut Bound::new(json, at), &mut what.clone())?;
            return Ok(expr.map(|expr| Bound::new(expr, at)));
        }
        if let (Some((op, types)), [left, right]) = (operator(name), arguments) {
            let fits = [left, right].into_iter().zip(types);
            if !fits.clone().all(|(bound, ty)| can_cast(bound.ty(), ty, Context::Implicit)) {
                return Ok(None);
            }
            let mut list = [left.clone(), right.clone()];
            for (bound, ty) in list.iter_mut().zip(types) {
                bound.expr = self.coerce(bound.clone(), ty, Context::Implicit)?;
            }
            let [left, right] = &mut list;
            let expr = self.json_operator(&op, left, right)?;
            return Ok(expr.map(|expr| Bound::new(expr, at)));
        }
        match (name, arguments.len()) {
            ("json_object" | "jsonb_object", 1 | 2) => self.object_of(name, arguments, at),
            ("jsonb_set_lax", 3..=5) => self.set_lax(arguments, at).map(Some),
            _ => Ok(None),
        }
    }

    /// json_object of one array of texts, or of two.
    fn object_of(&mut self, name: &str, arrays: &[Bound], at: Place) -> Result<Option<Bound>> {
        let mut list = Vec::with_capacity(arrays.len());
        for array in arrays {
            if !can_cast(array.ty(), TEXTS, Context::Implicit) {
                return Ok(None);
            }
            let array = self.coerce(array.clone(), TEXTS, Context::Implicit)?;
            list.push(call(J::FromValue, vec![array], DataType::Json));
        }
        Ok(Some(Bound::new(call(J::ObjectOfTexts, list, made(name)), at)))
    }

    /// `json_build_array(VARIADIC array)` and its kin; None when `name` is another function.
    ///
    /// # Errors
    /// 0A000 for paths, whose steps would be elements.
    pub(super) fn json_variadic(
        &mut self,
        name: &str,
        before: &[Bound],
        array: &Bound,
        at: Place,
    ) -> Result<Option<Bound>> {
        let expr = match (name, before) {
            ("json_extract_path" | "json_extract_path_text", [json]) => {
                self.path_of(name, json, array, DataType::Json)?
            }
            ("jsonb_extract_path" | "jsonb_extract_path_text", [json]) => {
                self.path_of(name, json, array, DataType::Jsonb)?
            }
            ("json_build_array", []) => {
                let mut list = vec![array.expr.clone(), Expr::text(", ")];
                list.extend(self.zone_of_elements(array));
                call(J::AggregateArray, list, DataType::Json)
            }
            ("jsonb_build_array", []) => {
                let value = self.json_value(array.clone())?;
                value.cast(DataType::Jsonb)
            }
            ("json_build_object" | "jsonb_build_object", []) => {
                let value = self.json_value(array.clone())?;
                call(J::ObjectOfArguments, vec![value], made(name))
            }
            (
                "json_build_array" | "jsonb_build_array" | "json_build_object"
                | "jsonb_build_object",
                _,
            ) => return unsupported(format!("VARIADIC behind other arguments of {name}"), at),
            _ => return Ok(None),
        };
        Ok(Some(Bound::new(expr, at)))
    }

    fn path_of(&mut self, name: &str, json: &Bound, path: &Bound, ty: DataType) -> Result<Expr> {
        let json = self.coerce(json.clone(), ty, Context::Implicit)?;
        let path = self.coerce(path.clone(), TEXTS, Context::Implicit)?;
        let ty = if name.ends_with("_text") { DataType::Text } else { ty };
        Ok(call(J::Path, vec![json, path], ty))
    }

    /// The session's zone, where elements of the array are shown by it.
    fn zone_of_elements(&mut self, array: &Bound) -> Option<Expr> {
        let element = array.ty().element()?;
        let by_zone = types::cast::depends_on_zone(element, DataType::Text);
        by_zone.then(|| self.zone_name()).flatten()
    }

    /// jsonb_set_lax: jsonb_set, or what is said to be done with a NULL.
    fn set_lax(&mut self, arguments: &[Bound], at: Place) -> Result<Bound> {
        let types = [DataType::Jsonb, TEXTS, DataType::Jsonb, DataType::Boolean];
        let mut list = Vec::with_capacity(4);
        for (bound, ty) in arguments.iter().zip(types) {
            list.push(self.coerce(bound.clone(), ty, Context::Implicit)?);
        }
        if list.len() < 4 {
            list.push(Expr::boolean(true));
        }
        let treatment = match arguments.get(4) {
            None => Some("use_json_null".to_owned()),
            Some(bound) => constant_text(&bound.expr),
        };
        let (json, path, value) = (&list[0], &list[1], &list[2]);
        let on_null = match treatment.as_deref() {
            Some("use_json_null") => {
                let mut list = list.clone();
                list[2] = Expr::text("null").cast(DataType::Jsonb);
                call(J::Set, list, DataType::Jsonb)
            }
            Some("return_target") => json.clone(),
            Some("delete_key") => {
                call(J::WithoutPath, vec![json.clone(), path.clone()], DataType::Jsonb)
            }
            Some("raise_exception") if value.as_literal() == Some(&types::Value::Null) => {
                let message = "JSON value must not be null";
                let detail = "Exception was raised because null_value_treatment is \
                              \"raise_exception\".";
                let error =
                    Error::new(SqlState::NULL_NOT_ALLOWED, message).with_detail(detail).with_hint(
                        "To avoid, either change the null_value_treatment argument or ensure \
                         that an SQL NULL is not passed.",
                    );
                return Err(place(error, at));
            }
            Some("raise_exception") => {
                return unsupported("raise_exception for a value that may be NULL", at);
            }
            _ => {
                let message = "null_value_treatment must be \"delete_key\", \"return_target\", \
                               \"use_json_null\", or \"raise_exception\"";
                return fail(SqlState::INVALID_PARAMETER, message, at);
            }
        };
        let is_null = |expr: &Expr| (expr.clone().is_null(), Expr::null(DataType::Jsonb));
        let branches = vec![
            is_null(json),
            is_null(path),
            is_null(&list[3]),
            (value.clone().is_null(), on_null),
        ];
        let otherwise = Box::new(call(J::Set, list.clone(), DataType::Jsonb));
        let kind = ExprKind::Case { branches, otherwise };
        Ok(Bound::new(Expr { kind, ty: DataType::Jsonb }, at))
    }
}
