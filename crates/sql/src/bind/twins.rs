//! Functions that DuckDB has by another name: each call is bound as the one that it stands for.
//!
//! A template is used where nothing else has the name. Arguments that stand in it twice are read
//! twice.

use sqlparser::ast::{self, Expr as Ast};
use types::{DataType, Result};

use super::{Binder, Bound};

/// Name, number of arguments, and the expression that a call stands for.
const TEMPLATES: [(&str, usize, &str); 49] = [
    ("year", 1, "extract(year FROM $1)::bigint"),
    ("quarter", 1, "extract(quarter FROM $1)::bigint"),
    ("month", 1, "extract(month FROM $1)::bigint"),
    ("week", 1, "extract(week FROM $1)::bigint"),
    ("weekofyear", 1, "extract(week FROM $1)::bigint"),
    ("day", 1, "extract(day FROM $1)::bigint"),
    ("dayofmonth", 1, "extract(day FROM $1)::bigint"),
    ("dayofweek", 1, "extract(dow FROM $1)::bigint"),
    ("weekday", 1, "extract(dow FROM $1)::bigint"),
    ("isodow", 1, "extract(isodow FROM $1)::bigint"),
    ("dayofyear", 1, "extract(doy FROM $1)::bigint"),
    ("hour", 1, "extract(hour FROM $1)::bigint"),
    ("minute", 1, "extract(minute FROM $1)::bigint"),
    ("second", 1, "floor(extract(second FROM $1))::bigint"),
    ("epoch", 1, "extract(epoch FROM $1)::double precision"),
    ("epoch_ms", 1, "floor(extract(epoch FROM $1) * 1000)::bigint"),
    ("epoch_us", 1, "(extract(epoch FROM $1) * 1000000)::bigint"),
    ("monthname", 1, "to_char($1, 'FMMonth')"),
    ("dayname", 1, "to_char($1, 'FMDay')"),
    ("last_day", 1, "(date_trunc('month', $1) + interval '1 month' - interval '1 day')::date"),
    ("today", 0, "current_date"),
    ("current_localtimestamp", 0, "localtimestamp"),
    ("get_current_timestamp", 0, "current_timestamp"),
    ("uuid", 0, "gen_random_uuid()"),
    ("ifnull", 2, "coalesce($1, $2)"),
    ("contains", 2, "strpos($1, $2) > 0"),
    ("instr", 2, "strpos($1, $2)"),
    ("prefix", 2, "starts_with($1, $2)"),
    ("suffix", 2, "right($1, length($2)) = $2"),
    ("ends_with", 2, "right($1, length($2)) = $2"),
    ("ucase", 1, "upper($1)"),
    ("lcase", 1, "lower($1)"),
    ("strlen", 1, "octet_length($1)::bigint"),
    ("len", 1, "length($1)::bigint"),
    ("string_split", 2, "string_to_array($1, $2)"),
    ("str_split", 2, "string_to_array($1, $2)"),
    ("string_to_list", 2, "string_to_array($1, $2)"),
    ("regexp_extract", 2, "coalesce(regexp_substr($1, $2), '')"),
    ("regexp_extract", 3, "coalesce(regexp_substr($1, $2, 1, 1, '', $3), '')"),
    ("regexp_full_match", 2, "regexp_like($1, '^(?:' || $2 || ')$')"),
    ("list_contains", 2, "$2 = ANY ($1)"),
    ("list_has", 2, "$2 = ANY ($1)"),
    ("array_contains", 2, "$2 = ANY ($1)"),
    ("list_position", 2, "array_position($1, $2)"),
    ("list_append", 2, "array_append($1, $2)"),
    ("list_prepend", 2, "array_prepend($1, $2)"),
    ("list_concat", 2, "array_cat($1, $2)"),
    ("list_distinct", 1, "ARRAY(SELECT DISTINCT e FROM unnest($1) AS u (e) WHERE e IS NOT NULL)"),
    ("list_sort", 1, "ARRAY(SELECT e FROM unnest($1) AS u (e) ORDER BY e NULLS FIRST)"),
];

/// Aggregates of one or two arguments: name, number, and what stands for them.
const AGGREGATES: [(&str, usize, &str); 16] = [
    ("count", 0, "count(*)"),
    ("count_star", 0, "count(*)"),
    ("count_if", 1, "count(*) FILTER (WHERE $1)"),
    ("countif", 1, "count(*) FILTER (WHERE $1)"),
    ("median", 1, "percentile_cont(0.5) WITHIN GROUP (ORDER BY $1)"),
    ("quantile_cont", 2, "percentile_cont($2) WITHIN GROUP (ORDER BY $1)"),
    ("quantile_disc", 2, "percentile_disc($2) WITHIN GROUP (ORDER BY $1)"),
    ("quantile", 2, "percentile_disc($2) WITHIN GROUP (ORDER BY $1)"),
    ("mode", 1, "mode() WITHIN GROUP (ORDER BY $1)"),
    ("approx_count_distinct", 1, "count(DISTINCT $1)"),
    ("list", 1, "array_agg($1)"),
    ("group_concat", 1, "string_agg($1::text, ',')"),
    ("group_concat", 2, "string_agg($1::text, $2)"),
    ("listagg", 2, "string_agg($1::text, $2)"),
    ("arbitrary", 1, "any_value($1)"),
    ("mean", 1, "avg($1)"),
];

/// Elements of a list that an aggregate makes: name, number of arguments, the list.
const ELEMENTS: [(&str, usize, &str); 6] = [
    ("last", 1, "array_agg($1)"),
    ("first", 1, "array_agg($1)"),
    ("arg_max", 2, GREATEST),
    ("max_by", 2, GREATEST),
    ("arg_min", 2, LEAST),
    ("min_by", 2, LEAST),
];

/// Values in the order of others, the greatest first; rows without one of both are left out.
const GREATEST: &str =
    "array_agg($1 ORDER BY $2 DESC) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL)";
/// As [`GREATEST`], the least first.
const LEAST: &str = "array_agg($1 ORDER BY $2) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL)";

/// Expressions for `date_diff(part, a, b)`, `$1` being a and `$2` b.
const DIFFERENCES: [(&str, &str); 10] = [
    ("year", "(extract(year FROM $2) - extract(year FROM $1))::bigint"),
    (
        "quarter",
        "((extract(year FROM $2) - extract(year FROM $1)) * 4 \
          + extract(quarter FROM $2) - extract(quarter FROM $1))::bigint",
    ),
    (
        "month",
        "((extract(year FROM $2) - extract(year FROM $1)) * 12 \
          + extract(month FROM $2) - extract(month FROM $1))::bigint",
    ),
    ("week", "(($2::date - $1::date) / 7)::bigint"),
    ("day", "($2::date - $1::date)::bigint"),
    (
        "hour",
        "(floor(extract(epoch FROM $2) / 3600) - floor(extract(epoch FROM $1) / 3600))::bigint",
    ),
    ("minute", "(floor(extract(epoch FROM $2) / 60) - floor(extract(epoch FROM $1) / 60))::bigint"),
    ("second", "(floor(extract(epoch FROM $2)) - floor(extract(epoch FROM $1)))::bigint"),
    (
        "millisecond",
        "(floor(extract(epoch FROM $2) * 1000) - floor(extract(epoch FROM $1) * 1000))::bigint",
    ),
    ("microsecond", "((extract(epoch FROM $2) - extract(epoch FROM $1)) * 1000000)::bigint"),
];

impl Binder<'_> {
    /// The call of a function that has another name here; None for other functions.
    pub(super) fn twin_call(
        &mut self,
        function: &ast::Function,
        name: &str,
    ) -> Result<Option<Bound>> {
        let is_plain = function.over.is_none() && function.within_group.is_empty();
        let Some(arguments) = plain_arguments(function).filter(|_| is_plain) else {
            return Ok(None);
        };
        let count = arguments.len();
        if matches!(name, "list_value" | "list_pack") {
            let elem: Vec<Ast> = arguments.into_iter().cloned().collect();
            let array = Ast::Array(ast::Array { elem, named: true });
            return self.bind_expr(&array).map(Some);
        }
        if matches!(name, "range") && (1..=3).contains(&count) {
            return self.list_of_range(function).map(Some);
        }
        let template = match (name, arguments.as_slice()) {
            ("len", [list]) if matches!(self.bind_expr(list)?.ty(), DataType::Array(_)) => {
                Some("cardinality($1)::bigint")
            }
            ("date_diff" | "datediff", [part, ..]) if count == 3 => difference(part),
            _ => {
                let found = TEMPLATES.iter().find(|(n, c, _)| *n == name && *c == count);
                found.map(|(_, _, template)| *template)
            }
        };
        let Some(template) = template else { return Ok(None) };
        let skipped = usize::from(count == 3 && name.ends_with("diff"));
        self.bind_expr(&super::system::filled(template, &arguments[skipped..])?).map(Some)
    }

    /// An aggregate, over a window or not, that has another name here.
    pub(super) fn twin_aggregate(
        &mut self,
        function: &ast::Function,
        name: &str,
    ) -> Result<Option<Bound>> {
        let Some(arguments) = plain_arguments(function) else { return Ok(None) };
        if !function.within_group.is_empty() {
            return Ok(None);
        }
        let has = |(n, c, _): &&(&str, usize, &str)| *n == name && *c == arguments.len();
        let found = AGGREGATES.iter().find(has);
        let element = ELEMENTS.iter().find(has);
        let Some((_, _, template)) = found.or(element) else { return Ok(None) };
        let mut call = super::system::filled(template, &arguments)?;
        if let Ast::Function(inner) = &mut call {
            take_clauses(inner, function);
        }
        if name == "last" {
            call = super::system::filled("($1)[cardinality($1)]", &[&call])?;
        } else if element.is_some() {
            call = super::system::filled("($1)[1]", &[&call])?;
        }
        self.bind_expr(&call).map(Some)
    }

    /// `range(a, b, step)` as a value: the list of the numbers from a on, before b.
    fn list_of_range(&mut self, function: &ast::Function) -> Result<Bound> {
        let text = format!("ARRAY(SELECT r FROM {function} AS t (r))");
        self.bind_expr(&crate::parse::parse_expr(&text)?)
    }
}

/// FILTER, OVER, DISTINCT and ORDER BY of `from`, as far as `to` has none.
fn take_clauses(to: &mut ast::Function, from: &ast::Function) {
    if let Some(condition) = &from.filter {
        to.filter = Some(Box::new(match to.filter.take() {
            None => (**condition).clone(),
            Some(own) => Ast::BinaryOp {
                left: Box::new(Ast::Nested(own)),
                op: ast::BinaryOperator::And,
                right: Box::new(Ast::Nested(condition.clone())),
            },
        }));
    }
    to.over.clone_from(&from.over);
    if let (ast::FunctionArguments::List(to), ast::FunctionArguments::List(from)) =
        (&mut to.args, &from.args)
    {
        if to.duplicate_treatment.is_none() {
            to.duplicate_treatment = from.duplicate_treatment;
        }
        if to.clauses.is_empty() {
            to.clauses.clone_from(&from.clauses);
        }
    }
}

/// The arguments of a call, when all are expressions.
fn plain_arguments(function: &ast::Function) -> Option<Vec<&Ast>> {
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let mut plain = Vec::with_capacity(list.args.len());
    for argument in &list.args {
        let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument else {
            return None;
        };
        plain.push(expr);
    }
    Some(plain)
}

/// Expression for the difference of two times in units of `part`.
fn difference(part: &Ast) -> Option<&'static str> {
    let Ast::Value(value) = part else { return None };
    let ast::Value::SingleQuotedString(part) = &value.value else { return None };
    let part = part.to_ascii_lowercase();
    let is_it = |(name, _): &&(&str, &str)| *name == part.strip_suffix('s').unwrap_or(&part);
    DIFFERENCES.iter().find(is_it).map(|(_, template)| *template)
}
