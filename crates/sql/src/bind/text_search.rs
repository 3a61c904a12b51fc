//! Text search: calls without a configuration, documents that are texts, functions that give rows.
//!
//! ```text
//! to_tsvector(body)    to_tsvector(current_setting(...)::regconfig, body)
//! body @@ query        to_tsvector(body) @@ query; a query of text is plainto_tsquery(query)
//! unnest(vector), ...  unnest of an array of JSON, whose fields are the columns
//! ```
//! Elsewhere: what the functions do (`types::packed`), how they are chosen (`packed`).

use sqlparser::ast::BinaryOperator as Op;
use types::{DataType, ElementType, PackedType, RegKind, Result, Value};

use super::types::{Category, category};
use super::{Binder, Bound};
use crate::algebra::{Expr, ExprKind, Function, JsonFunction, ObjectKey, Place, SessionFunction};

const VECTOR: DataType = DataType::Packed(PackedType::TsVector);
const QUERY: DataType = DataType::Packed(PackedType::TsQuery);
const TEXTS: DataType = DataType::Array(ElementType::Text);

/// Functions that take a configuration first, and how many arguments they have with it.
const CONFIGURED: [(&str, &[usize]); 9] = [
    ("to_tsvector", &[2]),
    ("json_to_tsvector", &[3]),
    ("jsonb_to_tsvector", &[3]),
    ("to_tsquery", &[2]),
    ("plainto_tsquery", &[2]),
    ("phraseto_tsquery", &[2]),
    ("websearch_to_tsquery", &[2]),
    ("ts_debug", &[2]),
    ("ts_headline", &[3, 4]),
];

/// Functions of several columns: the names of the columns and their types.
const SETS: [(&str, &[(&str, DataType)]); 4] = [
    ("ts_parse", &[("tokid", DataType::Integer), ("token", DataType::Text)]),
    (
        "ts_token_type",
        &[("tokid", DataType::Integer), ("alias", DataType::Text), ("description", DataType::Text)],
    ),
    (
        "ts_debug",
        &[
            ("alias", DataType::Text),
            ("description", DataType::Text),
            ("token", DataType::Text),
            ("dictionaries", TEXTS),
            ("dictionary", DataType::Text),
            ("lexemes", TEXTS),
        ],
    ),
    (
        UNNEST,
        &[
            ("lexeme", DataType::Text),
            ("positions", DataType::Array(ElementType::SmallInt)),
            ("weights", TEXTS),
        ],
    ),
];

/// The name of `unnest` where it takes a TSVECTOR.
const UNNEST: &str = "#unnest_tsvector";

/// True for functions of text search that give rows.
pub(super) fn is_search_set(name: &str) -> bool {
    SETS.iter().any(|(known, _)| *known == name)
}

/// `name`, or the name of `unnest` of what these arguments are.
pub(super) fn set_named<'n>(name: &'n str, arguments: &[Bound]) -> &'n str {
    match arguments {
        [argument] if name == "unnest" && argument.ty() == VECTOR => UNNEST,
        _ => name,
    }
}

/// The columns of a row of such a function; None for others.
pub(super) fn search_columns(name: &str, row: &Expr) -> Option<Vec<(Option<&'static str>, Expr)>> {
    let (_, columns) = SETS.iter().find(|(known, _)| *known == name)?;
    let column = |(name, ty): &(&'static str, DataType)| {
        let key = Expr::literal(Value::text(name), DataType::Text);
        let get = Function::Json(JsonFunction::Get);
        let value = Expr::call(get, vec![row.clone(), key], DataType::Text);
        (Some(*name), if *ty == DataType::Text { value } else { value.cast(*ty) })
    };
    Some(columns.iter().map(column).collect())
}

/// The session's configuration.
fn current_configuration() -> Expr {
    let setting = Expr::literal(Value::text("default_text_search_config"), DataType::Text);
    let session = |function: SessionFunction, argument| Expr {
        ty: function.result(),
        kind: ExprKind::Call(Function::Session(function), vec![argument]),
    };
    let name = session(SessionFunction::CurrentSetting, setting);
    session(SessionFunction::Object(RegKind::Config, ObjectKey::Name), name)
}

impl Binder<'_> {
    /// The arguments of a call, with the session's configuration where it has none.
    pub(super) fn configured(&self, name: &str, arguments: &[Bound], at: Place) -> Vec<Bound> {
        let takes = |(known, counts): &&(&str, &[usize])| {
            *known == name && counts.contains(&(arguments.len() + 1))
        };
        let mut list = arguments.to_vec();
        let is_first = |bound: &Bound| matches!(self.type_now(bound), DataType::Reg(_));
        let is_query = |bound: &Bound| self.type_now(bound) == QUERY;
        // The third of three arguments of a headline is its query or its options.
        let has_one = arguments.first().is_some_and(is_first)
            || name == "ts_headline" && arguments.get(2).is_some_and(is_query);
        if CONFIGURED.iter().any(|entry| takes(&entry)) && !has_one {
            list.insert(0, Bound::new(current_configuration(), at));
        }
        list
    }

    /// `get_current_ts_config()`; None for other functions.
    pub(super) fn search_call(&self, name: &str, arguments: &[Bound], at: Place) -> Option<Bound> {
        let is_it = name == "get_current_ts_config" && arguments.is_empty();
        is_it.then(|| Bound::new(current_configuration(), at))
    }

    /// `text @@ tsquery` and `text @@ text`; None for other operands.
    pub(super) fn text_match(
        &mut self,
        op: &Op,
        left: &Bound,
        right: &Bound,
    ) -> Result<Option<Expr>> {
        if !matches!(op, Op::AtAt) {
            return Ok(None);
        }
        let (a, b) = (self.type_now(left), self.type_now(right));
        let is_text = |ty| matches!(category(ty), Category::Text | Category::Unknown);
        if !is_text(a) || !(b == QUERY || is_text(b)) {
            return Ok(None);
        }
        let at = left.at;
        let mut made = |name: &str, bound: &Bound| {
            let context = super::types::Context::Implicit;
            let text = Bound::new(self.coerce(bound.clone(), DataType::Text, context)?, at);
            let made = self.packed_call(name, &[text], at)?;
            made.ok_or_else(|| types::Error::internal("a function of text search"))
        };
        let document = made("to_tsvector", left)?;
        let query = if b == QUERY { right.clone() } else { made("plainto_tsquery", right)? };
        self.packed_operator(op, &document, &query)
    }

    /// The rows of a function of text search as an array of JSON, and the type of its elements;
    /// None for other functions and arguments.
    pub(super) fn search_parts(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<(Expr, DataType)>> {
        if !is_search_set(name) {
            return Ok(None);
        }
        let parts = if name == UNNEST { name.to_owned() } else { format!("#{name}") };
        let list = self.configured(name, arguments, at);
        let Some(found) = self.packed_call(&parts, &list, at)? else { return Ok(None) };
        Ok(Some((found.expr, DataType::Json)))
    }
}
