//! WITH of CREATE INDEX: storage parameters of PostgreSQL's access methods, which catalogs and
//! dumps keep, and those of ours, which decide what is built.

use sqlparser::ast;
use types::text::parse_boolean;
use types::{Error, Result, SqlState};

use super::index_method::Using;
use super::name::expr_at;
use super::near_index::{LISTS, near_kind};
use super::{fail, place};
use crate::algebra::Place;
use crate::catalog::{IndexKind, NamedMethod, WeaveForm};
use crate::parse::folded;

/// Values of `bits_per_key`.
const BITS_PER_KEY: std::ops::RangeInclusive<i64> = 2..=64;

/// Values of a parameter.
#[derive(Clone, Copy)]
enum Takes {
    /// Whole numbers from the first to the last.
    Number(i64, i64),
    /// Words that PostgreSQL takes for true and false.
    Switch,
    /// `on`, `off`, `auto`.
    Buffering,
}

const FILL: (&str, Takes) = ("fillfactor", Takes::Number(10, 100));

impl Using {
    /// The parameters that the method has in PostgreSQL or its extension.
    fn parameters(self) -> Vec<(&'static str, Takes)> {
        match (self.named, self.kind) {
            (Some(NamedMethod::Gist), _) => vec![FILL, ("buffering", Takes::Buffering)],
            (Some(NamedMethod::Brin), _) => vec![
                ("pages_per_range", Takes::Number(1, 131_072)),
                ("autosummarize", Takes::Switch),
            ],
            (None, IndexKind::Ordered) => vec![FILL, ("deduplicate_items", Takes::Switch)],
            (Some(NamedMethod::SpGist), _) | (None, IndexKind::Hash) => vec![FILL],
            (None, IndexKind::Inverted) => vec![
                ("fastupdate", Takes::Switch),
                ("gin_pending_list_limit", Takes::Number(64, 2_147_483_647)),
            ],
            (None, IndexKind::Bloom { .. }) => vec![("length", Takes::Number(1, 4096))],
            (None, IndexKind::Near { .. }) if self.name() == LISTS => {
                vec![("lists", Takes::Number(1, 32_768))]
            }
            (None, IndexKind::Near { .. }) => {
                vec![("m", Takes::Number(2, 100)), ("ef_construction", Takes::Number(4, 1000))]
            }
            (None, IndexKind::Csb | IndexKind::BitWeaving(_)) => Vec::new(),
        }
    }
}

/// Parameters of PostgreSQL, with their values; those of ours change `using`.
///
/// # Errors
/// 22023 for a parameter that the method does not have or that is given twice, and for a value that
/// it does not take.
pub(super) fn index_options(
    with: &[ast::Expr],
    using: &mut Using,
) -> Result<Vec<(String, String)>> {
    let mut options: Vec<(String, String)> = Vec::new();
    let known = using.parameters();
    for (at, option) in with.iter().enumerate() {
        let (name, value) = index_option(option)?;
        refuse_again(&with[..at], &name, expr_at(option))?;
        let at = expr_at(option);
        let found = known.iter().find(|(known, _)| *known == name);
        let is_column = matches!(using.kind, IndexKind::Bloom { .. }) && is_bloom_column(&name);
        let takes = found.map(|(_, takes)| *takes);
        if let Some(takes) = takes.or(is_column.then_some(Takes::Number(1, 4095))) {
            check_value(&name, &value, takes, at)?;
            options.push((name, value));
        } else {
            using.kind = own_option(using.kind, &name, &value, at)?;
        }
    }
    if matches!(using.kind, IndexKind::Near { .. }) {
        using.kind = near_kind(&options, with.first().and_then(expr_at))?;
        options.clear();
    }
    Ok(options)
}

/// # Errors
/// 22023 for a parameter that is among those `before` it.
fn refuse_again(before: &[ast::Expr], name: &str, at: Place) -> Result<()> {
    let is_it = |option: &ast::Expr| index_option(option).is_ok_and(|(other, _)| other == name);
    if !before.iter().any(is_it) {
        return Ok(());
    }
    let message = format!("parameter \"{name}\" specified more than once");
    fail(SqlState::INVALID_PARAMETER, message, at)
}

/// True for `col1` to `col32`: bits for each column of PostgreSQL's `bloom`.
fn is_bloom_column(name: &str) -> bool {
    let number = name.strip_prefix("col").and_then(|number| number.parse::<u8>().ok());
    number.is_some_and(|number| (1..=32).contains(&number))
}

/// The kind of index with an option of ours.
fn own_option(kind: IndexKind, name: &str, value: &str, at: Place) -> Result<IndexKind> {
    let invalid = || {
        let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
        fail(SqlState::INVALID_PARAMETER, message, at)
    };
    match (kind, name) {
        (IndexKind::BitWeaving(_), "type") => match value {
            "v" => Ok(IndexKind::BitWeaving(WeaveForm::Vertical)),
            "h" => Ok(IndexKind::BitWeaving(WeaveForm::Horizontal)),
            _ => invalid(),
        },
        (IndexKind::Bloom { .. }, "bits_per_key") => {
            match value.parse::<i64>().ok().filter(|bits| BITS_PER_KEY.contains(bits)) {
                Some(bits) => Ok(IndexKind::Bloom { bits_per_key: bits as u32 }),
                None => invalid(),
            }
        }
        _ => {
            let message = format!("unrecognized parameter \"{name}\"");
            fail(SqlState::INVALID_PARAMETER, message, at)
        }
    }
}

/// # Errors
/// 22023 for a value that a parameter does not take.
fn check_value(name: &str, value: &str, takes: Takes, at: Place) -> Result<()> {
    let (kind, detail) = match takes {
        Takes::Number(first, last) => match value.parse::<i64>() {
            Ok(number) if (first..=last).contains(&number) => return Ok(()),
            Ok(_) => {
                let message = format!("value {value} out of bounds for option \"{name}\"");
                let detail = format!("Valid values are between \"{first}\" and \"{last}\".");
                let error = Error::new(SqlState::INVALID_PARAMETER, message).with_detail(detail);
                return Err(place(error, at));
            }
            Err(_) => ("integer", None),
        },
        Takes::Switch if parse_boolean(value).is_ok() => return Ok(()),
        Takes::Switch => ("boolean", None),
        Takes::Buffering if matches!(value, "on" | "off" | "auto") => return Ok(()),
        Takes::Buffering => ("enum", Some("Valid values are \"on\", \"off\", and \"auto\".")),
    };
    let message = format!("invalid value for {kind} option \"{name}\": {value}");
    let error = Error::new(SqlState::INVALID_PARAMETER, message);
    let error = match detail {
        Some(detail) => error.with_detail(detail),
        None => error,
    };
    Err(place(error, at))
}

/// `name = value`, the value as text; `name` alone is a switch that is on.
fn index_option(option: &ast::Expr) -> Result<(String, String)> {
    match option {
        ast::Expr::Identifier(name) => return Ok((folded(name), "true".to_owned())),
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } => {
            if let (ast::Expr::Identifier(name), Some(value)) = (&**left, option_value(right)) {
                return Ok((folded(name), value));
            }
        }
        _ => {}
    }
    fail(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{option}\""), expr_at(option))
}

/// The text of a value.
fn option_value(value: &ast::Expr) -> Option<String> {
    Some(match value {
        ast::Expr::Identifier(value) => folded(value),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => text.to_lowercase(),
            other => other.to_string().to_lowercase(),
        },
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => {
            format!("-{}", option_value(expr)?)
        }
        _ => return None,
    })
}
