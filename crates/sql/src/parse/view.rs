//! Options of views: those of CREATE VIEW are taken out of the tokens, ALTER VIEW is parsed here.
//!
//! ```text
//! CREATE VIEW v WITH (security_invoker) AS ... WITH LOCAL CHECK OPTION    as options, in order
//! ALTER VIEW v {SET (...) | RESET (...) | ALTER c {SET DEFAULT e | DROP DEFAULT}}
//! ```
//! Options are kept as PostgreSQL keeps them: `name=value`, as far as the value was written.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{Error, Result, SqlState};

use super::reader::{Parsed, at_end, expect, if_exists, word, words};
use super::tokens::{is, significant};
use super::{SessionTree, Tree, at_location, syntax_error};
use crate::words::IfMissing;

/// New name of a view, materialized or not, or of one of its columns.
#[derive(Clone, Debug)]
pub(crate) struct Renamed {
    /// The view.
    pub(crate) name: ast::ObjectName,
    /// IF EXISTS.
    pub(crate) if_missing: IfMissing,
    /// The column; None for the view itself.
    pub(crate) column: Option<ast::Ident>,
    /// The new name.
    pub(crate) to: ast::Ident,
}

impl Renamed {
    /// `[IF EXISTS] name RENAME [[COLUMN] column] TO name`.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Self> {
        let if_missing = if_exists(parser);
        let name = parser.parse_object_name(false)?;
        expect(parser, "rename")?;
        let column = if word(parser, "to") {
            None
        } else {
            word(parser, "column");
            let column = parser.parse_identifier()?;
            expect(parser, "to")?;
            Some(column)
        };
        Ok(Self { name, if_missing, column, to: parser.parse_identifier()? })
    }
}

/// Change of a view by ALTER VIEW.
#[derive(Clone, Debug)]
pub(crate) enum ViewAction {
    /// SET (name = value, ...): options as `name=value`.
    Set(Vec<String>),
    /// RESET (name, ...).
    Reset(Vec<String>),
    /// ALTER COLUMN ... SET DEFAULT, or DROP DEFAULT.
    Default(ast::Ident, Option<Box<ast::Expr>>),
}

/// A name and its value in a list of options.
struct Given {
    name: String,
    value: Option<String>,
    at: Option<types::Position>,
}

/// Takes the options of CREATE VIEW, whose word VIEW is at the first of `places`, out of `tokens`.
///
/// # Errors
/// 22023 for options that there are none of, and values that are none of theirs.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, places: &[usize]) -> Result<Vec<String>> {
    let mut options = Vec::new();
    let check = check_option(tokens);
    if let Some((from, value)) = check {
        tokens.drain(from..);
        options.push(format!("check_option={value}"));
    }
    let mut depth = 0_usize;
    let mut from = None;
    let places = places.iter().copied().filter(|place| *place < tokens.len());
    let places: Vec<usize> = places.collect();
    for (at, place) in places.iter().enumerate() {
        let token = &tokens[*place];
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 && from.is_some() => {
                let from = from.unwrap_or(at);
                let mut all = given(&places[from..at], tokens)?;
                all.append(&mut options);
                for place in places[from..=at].iter().rev() {
                    tokens.remove(*place);
                }
                return Ok(all);
            }
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth == 0 && is(token, "as") => break,
            _ if depth == 0 && is(token, "with") => from = Some(at),
            _ => {}
        }
    }
    Ok(options)
}

/// Where WITH CHECK OPTION begins at the end of `tokens`, and its value.
pub(crate) fn check_option(tokens: &[TokenWithSpan]) -> Option<(usize, &'static str)> {
    let places = significant(tokens);
    let end = |back: usize, text: &str| {
        let place = places.len().checked_sub(back).and_then(|at| places.get(at));
        place.is_some_and(|at| is(&tokens[*at], text))
    };
    if !end(1, "option") || !end(2, "check") {
        return None;
    }
    let (back, value) = if end(3, "with") {
        (3, "cascaded")
    } else if end(3, "cascaded") && end(4, "with") {
        (4, "cascaded")
    } else if end(3, "local") && end(4, "with") {
        (4, "local")
    } else {
        return None;
    };
    places.get(places.len() - back).map(|from| (*from, value))
}

/// The options in `WITH ( ...` at these places.
fn given(places: &[usize], tokens: &[TokenWithSpan]) -> Result<Vec<String>> {
    let mut words = places.iter().map(|at| &tokens[*at]).skip(2).peekable();
    let mut options = Vec::new();
    while let Some(token) = words.next() {
        let Token::Word(name) = &token.token else { continue };
        let name = name.value.to_ascii_lowercase();
        let at = at_location(token.span.start);
        let has_value = words.next_if(|next| next.token == Token::Eq).is_some();
        let value =
            if has_value { words.next().map(|value| value.token.to_string()) } else { None };
        options.push(option(&Given { name, value, at })?);
    }
    Ok(options)
}

/// An option as it is kept.
fn option(given: &Given) -> Result<String> {
    let Given { name, value, at } = given;
    let value = value.as_deref().unwrap_or("true").trim_matches(['\'', '"']);
    let fail = |error: Error| Err(at.map_or(error.clone(), |at| error.at(at)));
    match name.as_str() {
        "security_barrier" | "security_invoker" => {
            let lower = value.to_ascii_lowercase();
            let known = ["true", "false", "on", "off", "yes", "no", "1", "0"];
            if !known.contains(&lower.as_str()) {
                let message = format!("invalid value for boolean option \"{name}\": {value}");
                return fail(Error::new(SqlState::INVALID_PARAMETER, message));
            }
            Ok(format!("{name}={lower}"))
        }
        "check_option" if matches!(value, "local" | "cascaded") => Ok(format!("{name}={value}")),
        "check_option" => {
            let message = format!("invalid value for enum option \"{name}\": {value}");
            fail(
                Error::new(SqlState::INVALID_PARAMETER, message)
                    .with_detail("Valid values are \"local\" and \"cascaded\"."),
            )
        }
        _ => {
            let message = format!("unrecognized parameter \"{name}\"");
            fail(Error::new(SqlState::INVALID_PARAMETER, message))
        }
    }
}

/// ALTER VIEW with an action of these; None for other statements.
///
/// # Errors
/// 22023 for options that there are none of.
pub(super) fn alter(tokens: &[TokenWithSpan]) -> Result<Option<Tree>> {
    let places = significant(tokens);
    let word_at = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    if !word_at(0, "alter") || !word_at(1, "view") {
        return Ok(None);
    }
    let mut parser = super::parser(tokens.to_vec());
    let Some((name, if_missing, list)) = parser.maybe_parse(action).map_err(syntax_error)? else {
        return Ok(None);
    };
    let action = match list {
        Listed::Set(all) => ViewAction::Set(all.iter().map(option).collect::<Result<_>>()?),
        Listed::Reset(all) => ViewAction::Reset(all.into_iter().map(|given| given.name).collect()),
        Listed::Default(column, expr) => ViewAction::Default(column, expr),
    };
    Ok(Some(Tree::Session(Box::new(SessionTree::AlterView { name, if_missing, action }))))
}

/// An action, its options not looked at.
enum Listed {
    Set(Vec<Given>),
    Reset(Vec<Given>),
    Default(ast::Ident, Option<Box<ast::Expr>>),
}

fn action(parser: &mut Parser<'_>) -> Parsed<(ast::ObjectName, IfMissing, Listed)> {
    words(parser, &["alter", "view"]);
    let if_missing = if_exists(parser);
    let name = parser.parse_object_name(false)?;
    let listed = if word(parser, "set") {
        Listed::Set(list(parser)?)
    } else if word(parser, "reset") {
        Listed::Reset(list(parser)?)
    } else {
        expect(parser, "alter")?;
        word(parser, "column");
        let column = parser.parse_identifier()?;
        if words(parser, &["drop", "default"]) {
            Listed::Default(column, None)
        } else {
            expect(parser, "set")?;
            expect(parser, "default")?;
            Listed::Default(column, Some(Box::new(parser.parse_expr()?)))
        }
    };
    if !at_end(parser) {
        return parser.expected_ref("the end", parser.peek_token_ref());
    }
    Ok((name, if_missing, listed))
}

/// `(name [= value], ...)`.
fn list(parser: &mut Parser<'_>) -> Parsed<Vec<Given>> {
    parser.expect_token(&Token::LParen)?;
    let all = parser.parse_comma_separated(|parser| {
        let at = at_location(parser.peek_token_ref().span.start);
        let name = super::name::folded(&parser.parse_identifier()?);
        let mut value = None;
        if parser.consume_token(&Token::Eq) {
            value = Some(parser.next_token().token.to_string());
        }
        Ok(Given { name, value, at })
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(all)
}
