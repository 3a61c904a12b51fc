//! Errors of the grammar's library as PostgreSQL words them, with their places.

use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Location, TokenizerError};
use types::{Error, Position, SqlState};

use super::at_location;

pub(super) fn lexical_error(error: &TokenizerError) -> Error {
    let message = error.message.trim_end_matches(|c: char| c.is_whitespace() || c == '.');
    let mut lowered = message.to_owned();
    if let Some(first) = lowered.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let result = Error::new(SqlState::SYNTAX_ERROR, lowered);
    match at_location(error.location) {
        Some(position) => result.at(position),
        None => result,
    }
}

pub(super) fn near(token: &str, position: Option<Position>) -> Error {
    let message = match token {
        "EOF" => "syntax error at end of input".to_owned(),
        _ => format!("syntax error at or near \"{token}\""),
    };
    let error = Error::new(SqlState::SYNTAX_ERROR, message);
    match position {
        Some(position) => error.at(position),
        None => error,
    }
}

/// sqlparser's errors are text: `Expected: X, found: TOKEN at Line: 1, Column: 8`.
pub(super) fn syntax_error(error: ParserError) -> Error {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => return types::stack::too_deep(),
    };
    let (body, place) = match message.rfind(" at Line: ") {
        Some(at) => (&message[..at], parse_location(&message[at..])),
        None => (message.as_str(), None),
    };
    match body.rfind(", found: ") {
        Some(at) => {
            let token = &body[at + ", found: ".len()..];
            let expected = body[..at].trim_start_matches("Expected: ");
            near(token, place).with_detail(format!("Expected {expected}."))
        }
        None => {
            let error = Error::new(SqlState::SYNTAX_ERROR, format!("syntax error: {body}"));
            place.map_or(error.clone(), |place| error.at(place))
        }
    }
}

fn parse_location(text: &str) -> Option<Position> {
    let mut numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .filter_map(|part| part.parse::<u64>().ok());
    let (line, column) = (numbers.next()?, numbers.next()?);
    at_location(Location { line, column })
}
