//! Calls whose arguments are named: `make_date(day => 1, month => 2, year => 3)`.

use std::borrow::Cow;

use sqlparser::ast;
use types::{Result, SqlState};

use super::name::ident_at;
use super::table_function::named_argument;
use super::unmatched::no_function;
use super::{fail, name};
use crate::algebra::Place;
use crate::parse::folded;

/// A parameter, and what it is when the call leaves it out.
type Parameter = (&'static str, Option<Usual>);

#[derive(Clone, Copy)]
enum Usual {
    Number(&'static str),
    Boolean(bool),
    Text(&'static str),
}

const YES: Option<Usual> = Some(Usual::Boolean(true));
const NO: Option<Usual> = Some(Usual::Boolean(false));
const ZERO: Option<Usual> = Some(Usual::Number("0"));
const PATH: &[Parameter] =
    &[("target", None), ("path", None), ("vars", Some(Usual::Text("{}"))), ("silent", NO)];

/// The parameters of functions that have names for them in PostgreSQL.
fn parameters(function: &str) -> Option<&'static [Parameter]> {
    Some(match function {
        "jsonb_insert" => {
            &[("jsonb_in", None), ("path", None), ("replacement", None), ("insert_after", NO)]
        }
        "jsonb_set" => {
            &[("jsonb_in", None), ("path", None), ("replacement", None), ("create_if_missing", YES)]
        }
        "jsonb_set_lax" => &[
            ("jsonb_in", None),
            ("path", None),
            ("replacement", None),
            ("create_if_missing", YES),
            ("null_value_treatment", Some(Usual::Text("use_json_null"))),
        ],
        "jsonb_path_exists"
        | "jsonb_path_match"
        | "jsonb_path_query"
        | "jsonb_path_query_array"
        | "jsonb_path_query_first"
        | "jsonb_path_exists_tz"
        | "jsonb_path_match_tz"
        | "jsonb_path_query_tz"
        | "jsonb_path_query_array_tz"
        | "jsonb_path_query_first_tz" => PATH,
        "json_object_field"
        | "json_object_field_text"
        | "jsonb_object_field"
        | "jsonb_object_field_text" => &[("from_json", None), ("field_name", None)],
        "json_array_element"
        | "json_array_element_text"
        | "jsonb_array_element"
        | "jsonb_array_element_text" => &[("from_json", None), ("element_index", None)],
        "make_date" => &[("year", None), ("month", None), ("day", None)],
        "make_interval" => &[
            ("years", ZERO),
            ("months", ZERO),
            ("weeks", ZERO),
            ("days", ZERO),
            ("hours", ZERO),
            ("mins", ZERO),
            ("secs", ZERO),
        ],
        "make_time" => &[("hour", None), ("min", None), ("sec", None)],
        "make_timestamp" => MOMENT.split_last().map_or(MOMENT, |(_, all)| all),
        "make_timestamptz" => MOMENT,
        "parse_ident" => &[("str", None), ("strict", YES)],
        _ => return None,
    })
}

const MOMENT: &[Parameter] = &[
    ("year", None),
    ("month", None),
    ("mday", None),
    ("hour", None),
    ("min", None),
    ("sec", None),
    ("timezone", None),
];

/// The arguments of a call of `function` in the order of its parameters, with those that a call by
/// name leaves out.
///
/// # Errors
/// 42883 for a name that no parameter has, 42601 for an argument without name behind a named one.
pub(super) fn in_order<'q>(
    function: &str,
    args: &'q [ast::FunctionArg],
    at: Place,
) -> Result<Vec<Cow<'q, ast::FunctionArg>>> {
    let is_named = args.iter().any(|arg| named_argument(arg).is_some());
    let all_usual = function == "make_interval";
    let parameters = parameters(function).filter(|_| is_named || all_usual);
    let Some(parameters) = parameters else { return Ok(args.iter().map(Cow::Borrowed).collect()) };
    let missing =
        || no_function(format!("function {function} does not exist with these names"), at);
    let mut places: Vec<Option<Cow<'q, ast::FunctionArg>>> = vec![None; parameters.len()];
    let mut met = None;
    for (position, arg) in args.iter().enumerate() {
        let (slot, arg) = match (named_argument(arg), met) {
            (Some((name, expr)), _) => {
                let wanted = folded(name);
                met = Some(name);
                let slot = parameters.iter().position(|(known, _)| *known == wanted);
                (slot, Cow::Owned(unnamed(expr.clone())))
            }
            (None, None) => (Some(position), Cow::Borrowed(arg)),
            (None, Some(name)) => {
                let message = format!(
                    "positional argument cannot follow named argument \"{}\"",
                    folded(name)
                );
                let place = match arg {
                    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(e)) => name::expr_at(e),
                    _ => ident_at(name),
                };
                return fail(SqlState::SYNTAX_ERROR, message, place);
            }
        };
        match slot.and_then(|slot| places.get_mut(slot)) {
            Some(place @ None) => *place = Some(arg),
            _ => return Err(missing()),
        }
    }
    // The last parameter of make_timestamptz has no value of its own, but there is a shorter form.
    while function == "make_timestamptz" && places.last().is_some_and(Option::is_none) {
        places.pop();
    }
    let filled = places.into_iter().zip(parameters);
    filled
        .map(|(arg, (_, usual))| arg.or_else(|| usual.map(usual_argument)).ok_or_else(missing))
        .collect()
}

fn unnamed(expr: ast::Expr) -> ast::FunctionArg {
    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr))
}

fn usual_argument<'q>(usual: Usual) -> Cow<'q, ast::FunctionArg> {
    let value = match usual {
        Usual::Number(digits) => ast::Value::Number(digits.to_owned(), false),
        Usual::Boolean(value) => ast::Value::Boolean(value),
        Usual::Text(text) => ast::Value::SingleQuotedString(text.to_owned()),
    };
    Cow::Owned(unnamed(ast::Expr::value(value)))
}
