//! Statements of PostgreSQL that are not there: what the parser does not know either is 0A000, not
//! an error of syntax.

use sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{Error, SqlState};

/// How such statements begin.
const STATEMENTS: &[&[&str]] = &[
    &["ALTER", "EXTENSION"],
    &["ALTER", "FOREIGN", "TABLE"],
    &["ALTER", "PROCEDURE"],
    &["ALTER", "SYSTEM"],
    &["CREATE", "ACCESS", "METHOD"],
    &["CREATE", "CAST"],
    &["CREATE", "CONVERSION"],
    &["CREATE", "EVENT", "TRIGGER"],
    &["CREATE", "FOREIGN", "DATA", "WRAPPER"],
    &["CREATE", "FOREIGN", "TABLE"],
    &["CREATE", "LANGUAGE"],
    &["CREATE", "OPERATOR"],
    &["CREATE", "OR", "REPLACE", "PROCEDURE"],
    &["CREATE", "OR", "REPLACE", "RULE"],
    &["CREATE", "PROCEDURE"],
    &["CREATE", "PUBLICATION"],
    &["CREATE", "RULE"],
    &["CREATE", "SUBSCRIPTION"],
    &["CREATE", "TABLESPACE"],
    &["CREATE", "TRANSFORM"],
    &["CREATE", "USER", "MAPPING"],
    &["DO"],
    &["IMPORT", "FOREIGN", "SCHEMA"],
    &["SECURITY", "LABEL"],
    &["SET", "TRANSACTION", "SNAPSHOT"],
];

/// Actions of ALTER TABLE that are not supported.
const CHANGES: &[&[&str]] = &[
    &["INHERIT"],
    &["SET", "COMPRESSION"],
    &["SET", "STATISTICS"],
    &["SET", "STORAGE"],
    &["SET", "TABLESPACE"],
];

/// The unquoted words of a statement in capitals; nothing for other tokens.
fn words(tokens: &[TokenWithSpan]) -> Vec<String> {
    let word = |token: &TokenWithSpan| match &token.token {
        Token::Whitespace(_) | Token::EOF => None,
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_uppercase()),
        _ => Some(String::new()),
    };
    tokens.iter().filter_map(word).collect()
}

/// `error`, or 0A000 in its place when it is one of syntax and `tokens` are a statement that is
/// only missing.
pub(super) fn explained(error: Error, tokens: &[TokenWithSpan]) -> Error {
    if error.state() != SqlState::SYNTAX_ERROR {
        return error;
    }
    let words = words(tokens);
    let begins = |words: &[String], phrase: &[&str]| {
        words.len() >= phrase.len() && phrase.iter().zip(words).all(|(a, b)| a == b)
    };
    let statement = STATEMENTS.iter().find(|phrase| begins(&words, phrase));
    let change = || {
        let is_there = |phrase: &&&[&str]| (3..words.len()).any(|at| begins(&words[at..], phrase));
        CHANGES.iter().find(is_there).filter(|_| begins(&words, &["ALTER", "TABLE"]))
    };
    let what = match (statement, change()) {
        (Some(statement), _) => statement.join(" "),
        (None, Some(change)) => format!("ALTER TABLE ... {}", change.join(" ")),
        (None, None) => return error,
    };
    let position = error.position();
    let missing =
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported yet"));
    match position {
        Some(position) => missing.at(position),
        None => missing,
    }
}
