//! JSON: operators, functions and aggregates.
//!
//! ```text
//! a = b, ORDER BY a, GROUP BY a     of JSONB: of its key, bytes in the order of the values
//! json_agg(x)                       array_agg(x), written as JSON
//! json_object_agg(k, v)             array_agg of pairs, written as JSON
//! json_array_elements(j)            unnest of an array of its elements
//! row_to_json(t)                    an object of the columns of t
//! ```
//! Elsewhere: what the functions do (`types::json`); those that give rows (`table_function`).

use sqlparser::ast::{self, BinaryOperator as Op, Expr as Ast};
use types::json_path::PathResult;
use types::{DataType, ElementType, Error, Result, SqlState};

use super::comparable::refuse_distinct;
use super::json_paths::path_call;
use super::name::ident_at;
use super::scope::{ScopeRelation, Whole};
use super::types::{Category, Context, can_cast, category};
use super::unmatched::no_function;
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{
    AggregateCall, AggregateFunction, Duplicates, Expr, ExprKind, Function, JsonFunction as J,
    Place,
};
use crate::parse::folded;

const TEXTS: DataType = DataType::Array(ElementType::Text);

/// Functions whose arguments have types of their own: those, how many may be left out, the
/// function and what it gives.
type Signature = (&'static [DataType], usize, J, DataType);

fn signature(name: &str) -> Option<Signature> {
    use DataType as T;
    Some(match name {
        "json_typeof" => (&[T::Json], 0, J::TypeOf, T::Text),
        "jsonb_typeof" => (&[T::Jsonb], 0, J::TypeOf, T::Text),
        "json_array_length" => (&[T::Json], 0, J::ArrayLength, T::Integer),
        "jsonb_array_length" => (&[T::Jsonb], 0, J::ArrayLength, T::Integer),
        "json_strip_nulls" => (&[T::Json], 0, J::StripNulls, T::Json),
        "jsonb_strip_nulls" => (&[T::Jsonb], 0, J::StripNulls, T::Jsonb),
        "jsonb_pretty" => (&[T::Jsonb], 0, J::Pretty, T::Text),
        "jsonb_set" => (&[T::Jsonb, TEXTS, T::Jsonb, T::Boolean], 1, J::Set, T::Jsonb),
        "jsonb_insert" => (&[T::Jsonb, TEXTS, T::Jsonb, T::Boolean], 1, J::Insert, T::Jsonb),
        _ => return None,
    })
}

/// The type that a function called `json...` or `jsonb...` makes.
pub(super) fn made(name: &str) -> DataType {
    if name.starts_with("jsonb") || name == "to_jsonb" { DataType::Jsonb } else { DataType::Json }
}

/// Functions on JSON that are not there.
const MISSING: [&str; 9] = [
    "json_populate_record",
    "jsonb_populate_record",
    "json_populate_recordset",
    "jsonb_populate_recordset",
    "json_to_record",
    "jsonb_to_record",
    "json_to_recordset",
    "jsonb_to_recordset",
    "jsonb_object_agg_unique",
];

/// 0A000 for a function of PostgreSQL on JSON that is not there.
pub(super) fn refuse_missing(name: &str, at: Place) -> Result<()> {
    if MISSING.contains(&name) { unsupported(format!("function {name}"), at) } else { Ok(()) }
}

/// True for functions that take whole rows.
pub(super) fn takes_rows(name: &str) -> bool {
    matches!(
        name,
        "row_to_json"
            | "to_json"
            | "to_jsonb"
            | "json_agg"
            | "jsonb_agg"
            | "json_build_array"
            | "jsonb_build_array"
            | "json_build_object"
            | "jsonb_build_object"
            | "json_object_agg"
            | "jsonb_object_agg"
    )
}

/// An aggregate function that makes JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonAggregate {
    /// json_agg, jsonb_agg.
    Array(DataType),
    /// json_object_agg, jsonb_object_agg.
    Object(DataType),
}

impl JsonAggregate {
    /// The aggregate called `name`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "json_agg" | "jsonb_agg" => Self::Array(made(name)),
            "json_object_agg" | "jsonb_object_agg" => Self::Object(made(name)),
            _ => return None,
        })
    }
}

pub(super) fn call(function: J, list: Vec<Expr>, ty: DataType) -> Expr {
    Expr::call(Function::Json(function), list, ty)
}

impl Binder<'_> {
    /// `left op right` of operators on JSON; None when neither operand is one, or there is no such
    /// operator on it. The operands are taken with the result, and left alone without one.
    pub(super) fn json_operator(
        &mut self,
        op: &Op,
        left: &mut Bound,
        right: &mut Bound,
    ) -> Result<Option<Expr>> {
        let (a, b) = (self.type_now(left), self.type_now(right));
        if !a.is_json() && !b.is_json() {
            return Ok(None);
        }
        let both = |ty: DataType| ty == DataType::Jsonb || ty == DataType::Unknown;
        let (function, right_ty, ty) = match op {
            Op::Arrow | Op::LongArrow if a.is_json() => {
                let ty = if *op == Op::Arrow { a } else { DataType::Text };
                let index = matches!(b, DataType::SmallInt | DataType::Integer);
                let key = if index { DataType::Integer } else { DataType::Text };
                (J::Get, key, ty)
            }
            Op::HashArrow if a.is_json() => (J::Path, TEXTS, a),
            Op::HashLongArrow if a.is_json() => (J::Path, TEXTS, DataType::Text),
            Op::Question if a == DataType::Jsonb => (J::HasKey, DataType::Text, DataType::Boolean),
            Op::QuestionPipe if a == DataType::Jsonb => (J::HasAnyKey, TEXTS, DataType::Boolean),
            Op::QuestionAnd if a == DataType::Jsonb => (J::HasAllKeys, TEXTS, DataType::Boolean),
            Op::HashMinus if a == DataType::Jsonb => (J::WithoutPath, TEXTS, a),
            Op::Minus if a == DataType::Jsonb => {
                let what = match b {
                    DataType::SmallInt | DataType::Integer => DataType::Integer,
                    DataType::Array(_) => TEXTS,
                    _ => DataType::Text,
                };
                (J::Without, what, a)
            }
            Op::StringConcat if both(a) && both(b) => (J::Concat, DataType::Jsonb, DataType::Jsonb),
            Op::AtArrow | Op::ArrowAt if both(a) && both(b) => {
                (J::Contains, DataType::Jsonb, DataType::Boolean)
            }
            Op::AtQuestion if a == DataType::Jsonb => {
                (J::PathResult(PathResult::Exists), DataType::JsonPath, DataType::Boolean)
            }
            Op::AtAt if a == DataType::Jsonb => {
                (J::PathResult(PathResult::Match), DataType::JsonPath, DataType::Boolean)
            }
            _ => return Ok(None),
        };
        if !can_cast(b, right_ty, Context::Implicit) {
            return Ok(None);
        }
        let left_ty = if a.is_json() { a } else { DataType::Jsonb };
        let left = self.retyped(left.taken());
        let right = self.retyped(right.taken());
        let left = self.coerce(left, left_ty, Context::Implicit)?;
        let right = self.coerce(right, right_ty, Context::Implicit)?;
        let list = if *op == Op::ArrowAt { vec![right, left] } else { vec![left, right] };
        Ok(Some(call(function, list, ty)))
    }

    /// A subscript of a JSONB: a key or an index.
    pub(super) fn json_subscript(
        &mut self,
        json: Expr,
        subscripts: &[&ast::Subscript],
    ) -> Result<Expr> {
        let mut value = json;
        for subscript in subscripts {
            let (step, _) = self.json_step(subscript)?;
            let path = Expr::call(Function::ArrayMake, vec![step], TEXTS);
            value = call(J::Path, vec![value, path], DataType::Jsonb);
        }
        Ok(value)
    }

    /// A subscript as a step of a path, and its type. A text may be an index, too, and an index a
    /// key.
    fn json_step(&mut self, subscript: &ast::Subscript) -> Result<(Expr, DataType)> {
        let ast::Subscript::Index { index } = subscript else {
            let message = "jsonb subscript does not support slices";
            return fail(SqlState::DATATYPE_MISMATCH, message, None);
        };
        let bound = self.bind_expr(index)?;
        let bound = self.retyped(bound);
        let at = bound.at;
        let ty = match bound.ty() {
            DataType::SmallInt | DataType::Integer => DataType::Integer,
            ty if ty.is_text() => DataType::Text,
            DataType::Unknown => DataType::Text,
            ty => {
                let message = format!("subscript type {} is not supported", ty.name());
                let error = Error::new(SqlState::DATATYPE_MISMATCH, message)
                    .with_hint("jsonb subscript must be coercible to either integer or text.");
                return Err(place(error, at));
            }
        };
        let index = self.coerce(bound, ty, Context::Implicit)?;
        Ok((index.cast(DataType::Text), ty))
    }

    /// `json` after `value` was assigned under subscripts; NULLs are what is made first, and null.
    pub(super) fn json_with(
        &mut self,
        json: Expr,
        subscripts: &[ast::Subscript],
        value: Expr,
    ) -> Result<Expr> {
        let steps: Result<Vec<_>> = subscripts.iter().map(|s| self.json_step(s)).collect();
        let (steps, types): (Vec<Expr>, Vec<DataType>) = steps?.into_iter().unzip();
        let empty = if types.first() == Some(&DataType::Integer) { "[]" } else { "{}" };
        let or = |expr: Expr, text: &str| {
            let usual = Expr::text(text).cast(DataType::Jsonb);
            Expr::call(Function::Coalesce, vec![expr, usual], DataType::Jsonb)
        };
        let path = Expr::call(Function::ArrayMake, steps, TEXTS);
        Ok(call(J::Assign, vec![or(json, empty), path, or(value, "null")], DataType::Jsonb))
    }

    /// A call of a function on JSON; None when `name` is another.
    pub(super) fn json_call(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        if !name.contains("json") && signature(name).is_none() {
            return Ok(None);
        }
        let list = arguments.to_vec();
        let expr = match name {
            "json_build_object" | "jsonb_build_object" => self.json_object(name, list, at)?,
            "json_build_array" | "jsonb_build_array" => {
                let list: Result<Vec<Expr>> =
                    list.into_iter().map(|bound| self.json_value(bound)).collect();
                call(J::BuildArray, list?, made(name))
            }
            "to_json" | "to_jsonb" | "row_to_json" | "array_to_json" => {
                self.converted(name, list, at)?
            }
            "json_extract_path"
            | "jsonb_extract_path"
            | "json_extract_path_text"
            | "jsonb_extract_path_text" => self.extracted(name, list, at)?,
            _ if path_call(name).is_some() => match self.path_called(name, arguments, at)? {
                Some(expr) => expr,
                None => return Ok(None),
            },
            _ => match signature(name) {
                Some(signature) => self.signed(name, signature, list, at)?,
                None => return self.json_called(name, arguments, at),
            },
        };
        Ok(Some(Bound::new(expr, at)))
    }

    fn signed(
        &mut self,
        name: &str,
        (types, optional, function, ty): Signature,
        mut list: Vec<Bound>,
        at: Place,
    ) -> Result<Expr> {
        let fits = (types.len() - optional..=types.len()).contains(&list.len())
            && list
                .iter()
                .zip(types)
                .all(|(bound, ty)| can_cast(bound.ty(), *ty, Context::Implicit));
        if !fits {
            return Err(missing(name, &list, at));
        }
        // create_if_missing is true, insert_after is not.
        if list.len() < types.len() {
            list.push(Bound::new(Expr::boolean(function == J::Set), at));
        }
        let mut exprs = Vec::with_capacity(list.len());
        for (bound, ty) in list.into_iter().zip(types) {
            exprs.push(self.coerce(bound, *ty, Context::Implicit)?);
        }
        Ok(call(function, exprs, ty))
    }

    /// `json_build_object(key, value, ...)`.
    fn json_object(&mut self, name: &str, arguments: Vec<Bound>, at: Place) -> Result<Expr> {
        if !arguments.len().is_multiple_of(2) {
            let message = "argument list must have even number of elements";
            let hint =
                format!("The arguments of {name}() must consist of alternating keys and values.");
            let error = Error::new(SqlState::INVALID_PARAMETER, message).with_hint(hint);
            return Err(place(error, at));
        }
        let mut list = Vec::with_capacity(arguments.len());
        for (i, argument) in arguments.into_iter().enumerate() {
            list.push(match i % 2 {
                0 => self.json_key(argument)?,
                _ => self.json_value(argument)?,
            });
        }
        Ok(call(J::BuildObject, list, made(name)))
    }

    /// A key of an object: the text of any single value.
    fn json_key(&mut self, mut bound: Bound) -> Result<Expr> {
        self.settle(&mut bound)?;
        match category(bound.ty()) {
            Category::Array | Category::Json | Category::Record => fail(
                SqlState::INVALID_PARAMETER,
                "key value must be scalar, not array, composite, or json",
                bound.at,
            ),
            Category::Boolean => self.as_text(bound, DataType::Text),
            _ => self.as_shown(bound),
        }
    }

    /// The value as JSON, by the session's clocks.
    pub(super) fn json_value(&mut self, mut bound: Bound) -> Result<Expr> {
        self.settle(&mut bound)?;
        let ty = bound.ty();
        if ty.is_json() {
            return Ok(bound.expr);
        }
        let mut list = vec![bound.expr];
        if types::cast::depends_on_zone(ty, DataType::Text) {
            list.extend(self.zone_name());
        }
        Ok(call(J::FromValue, list, DataType::Json))
    }

    /// to_json, to_jsonb, row_to_json, array_to_json.
    fn converted(&mut self, name: &str, mut list: Vec<Bound>, at: Place) -> Result<Expr> {
        if list.len() == 2 && matches!(name, "row_to_json" | "array_to_json") {
            let feeds = list.pop().ok_or_else(|| missing(name, &list, at))?;
            let feeds = self.coerce(feeds, DataType::Boolean, Context::Implicit)?;
            let value = self.converted(name, list, at)?;
            return Ok(call(J::LineFeeds, vec![value, feeds], DataType::Json));
        }
        let (Some(bound), true) = (list.pop(), list.is_empty()) else {
            return Err(missing(name, &list, at));
        };
        let ty = bound.ty();
        let fits = match name {
            "array_to_json" => ty.is_array(),
            "row_to_json" => is_row(&bound.expr) || matches!(ty, DataType::Record(_)),
            _ => true,
        };
        if ty == DataType::Unknown && name.starts_with("to_") {
            let message = "could not determine polymorphic type because input has type unknown";
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        }
        if !fits {
            return Err(missing(name, &[bound], at));
        }
        let value = self.json_value(bound)?;
        match (made(name), value.ty) {
            (wanted, ty) if wanted == ty => Ok(value),
            (wanted, _) => Ok(value.cast(wanted)),
        }
    }

    /// json_extract_path and its kin: a path of texts.
    fn extracted(&mut self, name: &str, list: Vec<Bound>, at: Place) -> Result<Expr> {
        let text = name.ends_with("_text");
        let json = if name.starts_with("jsonb") { DataType::Jsonb } else { DataType::Json };
        let fits = list.len() > 1
            && list.iter().enumerate().all(|(i, bound)| {
                let ty = if i == 0 { json } else { DataType::Text };
                can_cast(bound.ty(), ty, Context::Implicit)
            });
        if !fits {
            return Err(missing(name, &list, at));
        }
        let mut list = list.into_iter();
        let Some(value) = list.next() else {
            return Err(Error::internal("a path of nothing"));
        };
        let value = self.coerce(value, json, Context::Implicit)?;
        let steps: Result<Vec<Expr>> =
            list.map(|bound| self.coerce(bound, DataType::Text, Context::Implicit)).collect();
        let path = Expr::call(Function::ArrayMake, steps?, TEXTS);
        let ty = if text { DataType::Text } else { json };
        Ok(call(J::Path, vec![value, path], ty))
    }

    /// An argument that may be a whole row: the name of a relation, or ROW(...). Such a row
    /// becomes a JSON; None for other arguments.
    pub(super) fn row_argument(&mut self, arg: &ast::FunctionArg) -> Result<Option<Bound>> {
        let expr = match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => expr,
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::QualifiedWildcard(name)) => {
                let [ast::ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
                    return Ok(None);
                };
                return self.relation_row(&folded(ident), ident_at(ident));
            }
            _ => return Ok(None),
        };
        let mut expr = expr;
        while let Ast::Nested(inner) = expr {
            expr = inner;
        }
        if let Some(fields) = super::row::row_fields(expr) {
            let at = super::name::expr_at(expr);
            let mut list = Vec::with_capacity(fields.len() * 2);
            for (i, value) in self.bind_fields(&fields)?.into_iter().enumerate() {
                list.push(Expr::text(&format!("f{}", i + 1)));
                list.push(self.json_value(value)?);
            }
            return Ok(Some(Bound::new(call(J::BuildRow, list, DataType::Json), at)));
        }
        let Ast::Identifier(ident) = expr else {
            return Ok(None);
        };
        let (name, at) = (folded(ident), ident_at(ident));
        if self.find_name(&name, at)?.is_some() {
            return Ok(None);
        }
        self.relation_row(&name, at)
    }

    /// The row of the relation called `name`; None when there is none, or it has no rows but
    /// single values.
    fn relation_row(&mut self, name: &str, at: Place) -> Result<Option<Bound>> {
        let relation = (self.levels.iter().enumerate().rev()).find_map(|(depth, level)| {
            let found = level.scope.relation(None, name, None).ok()??;
            Some((depth, found.clone()))
        });
        match relation {
            Some((_, relation)) if relation.whole == Whole::Value => Ok(None),
            Some((depth, relation)) => self.row_object(depth, relation, at).map(Some),
            None => Ok(None),
        }
    }

    /// The row of `relation` as a JSON object; NULL where an outer join has no row.
    fn row_object(&mut self, depth: usize, relation: ScopeRelation, at: Place) -> Result<Bound> {
        let mut list = Vec::with_capacity(relation.columns.len() * 2);
        let mut absent = Vec::new();
        let names = relation.field_names();
        for (column, name) in relation.columns.into_iter().zip(names) {
            self.note_reference(depth, &column.expr, at);
            absent.push(column.expr.clone().is_null());
            list.push(Expr::text(&name));
            list.push(self.json_value(Bound::new(column.expr, at))?);
        }
        let object = call(J::BuildRow, list, DataType::Json);
        if relation.whole != Whole::OptionalRow {
            return Ok(Bound::new(object, at));
        }
        let ty = object.ty;
        let branches = vec![(Expr::and(absent), Expr::null(ty))];
        let kind = ExprKind::Case { branches, otherwise: Box::new(object) };
        Ok(Bound::new(Expr { kind, ty }, at))
    }

    /// Types an aggregate call that collects what `aggregate` is made of; false when there is no
    /// such overload.
    pub(super) fn json_aggregate(
        &mut self,
        aggregate: JsonAggregate,
        call: &mut AggregateCall,
        list: Vec<Bound>,
        at: Place,
    ) -> Result<bool> {
        call.function = AggregateFunction::ArrayAgg;
        let value = match aggregate {
            JsonAggregate::Array(_) => {
                let Ok([mut value]) = <[Bound; 1]>::try_from(list) else {
                    return Ok(false);
                };
                self.settle(&mut value)?;
                match value.ty() {
                    DataType::Array(_) => self.json_value(value)?,
                    _ => value.expr,
                }
            }
            JsonAggregate::Object(_) => {
                let Ok([key, value]) = <[Bound; 2]>::try_from(list) else {
                    return Ok(false);
                };
                let list = vec![self.json_key(key)?, self.json_value(value)?];
                self::call(J::Pair, list, DataType::Text)
            }
        };
        if call.duplicates == Duplicates::Remove {
            if matches!(aggregate, JsonAggregate::Object(_)) {
                return unsupported("DISTINCT of pairs", at);
            }
            refuse_distinct(&value, at)?;
        }
        let (_, ty) = super::array::array_type_of(value.ty, at)?;
        call.ty = ty;
        call.arguments = vec![value];
        Ok(true)
    }

    /// The JSON of what an aggregate call collected, `collected`, from `argument`.
    pub(super) fn json_collected(
        &mut self,
        aggregate: JsonAggregate,
        collected: Expr,
        argument: Option<&Expr>,
    ) -> Expr {
        match aggregate {
            JsonAggregate::Object(ty) => call(J::AggregateObject, vec![collected], ty),
            JsonAggregate::Array(ty) => {
                let row = |expr: &Expr| matches!(expr.ty, DataType::Record(_)) || is_row(expr);
                let lines = argument.is_some_and(|expr| row(expr) || is_array(expr));
                let separator = Expr::text(if lines { ", \n " } else { ", " });
                let is_zoned = types::cast::depends_on_zone(collected.ty, DataType::Text);
                let mut list = vec![collected, separator];
                if is_zoned {
                    list.extend(self.zone_name());
                }
                call(J::AggregateArray, list, ty)
            }
        }
    }

    /// The parts of a JSON that a function called `name` gives a row for each of, as an array, and
    /// the type of its elements; None when `name` is another function.
    pub(super) fn json_parts(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<(Expr, DataType)>> {
        if let Some((PathResult::Query, _)) = path_call(name) {
            let query = self.path_called(name, arguments, at)?;
            return Ok(query.map(|query| (query, DataType::Jsonb)));
        }
        let Some(function) = parts_named(name) else {
            return match self.packed_parts(name, arguments)? {
                None => self.search_parts(name, arguments, at),
                parts => Ok(parts),
            };
        };
        let json = made(name);
        let (element, array) = match function {
            J::ElementTexts | J::Keys => (DataType::Text, TEXTS),
            _ if json == DataType::Jsonb => (json, DataType::Array(ElementType::Jsonb)),
            _ => (json, DataType::Array(ElementType::Json)),
        };
        let [bound] = arguments else {
            return Err(missing(name, arguments, at));
        };
        if !can_cast(bound.ty(), json, Context::Implicit) {
            return Err(missing(name, arguments, at));
        }
        let value = self.coerce(bound.clone(), json, Context::Implicit)?;
        Ok(Some((call(function, vec![value], array), element)))
    }
}

fn parts_named(name: &str) -> Option<J> {
    Some(match name.strip_prefix("jsonb_").or_else(|| name.strip_prefix("json_"))? {
        "array_elements" => J::Elements,
        "array_elements_text" => J::ElementTexts,
        "object_keys" => J::Keys,
        "each" => J::Fields,
        "each_text" => J::FieldTexts,
        _ => return None,
    })
}

/// True for functions on JSON that give rows.
pub(super) fn is_parts_function(name: &str) -> bool {
    parts_named(name).is_some() || matches!(path_call(name), Some((PathResult::Query, _)))
}

/// The columns of a function on JSON that gives rows, of which `row` is one: their names, None
/// where that is the function's own.
pub(super) fn parts_columns(name: &str, row: Expr) -> Vec<(Option<&'static str>, Expr)> {
    if let Some(columns) = super::text_search::search_columns(name, &row) {
        return columns;
    }
    match parts_named(name).or((name == "each").then_some(J::FieldTexts)) {
        Some(J::Fields | J::FieldTexts) => {
            let text = name.ends_with("_text") || name == "each";
            let ty = if text { DataType::Text } else { row.ty };
            let key = call(J::Get, vec![row.clone(), Expr::integer(0)], DataType::Text);
            let value = call(J::Get, vec![row, Expr::integer(1)], ty);
            vec![(Some("key"), key), (Some("value"), value)]
        }
        Some(J::Elements | J::ElementTexts) => vec![(Some("value"), row)],
        // Arrays of arrays are held as texts.
        None if name == "regexp_matches" => vec![(None, row.cast(TEXTS))],
        _ => vec![(None, row)],
    }
}

/// True for the object that a row became.
fn is_row(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(Function::Json(J::BuildRow), _) => true,
        ExprKind::Case { otherwise, .. } => is_row(otherwise),
        _ => false,
    }
}

/// True for an array that became a JSON.
fn is_array(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(Function::Json(J::FromValue), list) => {
            list.first().is_some_and(|value| value.ty.is_array())
        }
        _ => false,
    }
}

/// 42883 for a function.
pub(super) fn missing(name: &str, list: &[Bound], at: Place) -> Error {
    let types: Vec<&str> = list.iter().map(|bound| bound.ty().name()).collect();
    no_function(format!("function {name}({}) does not exist", types.join(", ")), at)
}
