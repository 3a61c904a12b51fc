//! CREATE and ALTER SEQUENCE, and the options of sequences and identities.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, at_end, if_exists, name, word, words};
use crate::words::{IfExists, Persistence};

/// An option of CREATE or ALTER SEQUENCE.
#[derive(Clone, Debug)]
pub(crate) enum SequenceOption {
    As(ast::DataType),
    Increment(ast::Expr),
    /// None for NO MINVALUE.
    Min(Option<ast::Expr>),
    /// None for NO MAXVALUE.
    Max(Option<ast::Expr>),
    Start(ast::Expr),
    /// RESTART [WITH].
    Restart(Option<ast::Expr>),
    Cache(ast::Expr),
    Cycle(bool),
    /// OWNED BY; None for NONE.
    Owner(Option<ast::ObjectName>),
}

/// The statement, when it is one of these.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    if words(parser, &["alter", "sequence"]) {
        return alter_sequence(parser).map(Some);
    }
    let temporary = ["temp", "temporary"]
        .iter()
        .any(|temporary| words(parser, &["create", temporary, "sequence"]));
    if temporary || words(parser, &["create", "sequence"]) {
        let exists = words(parser, &["if", "not", "exists"]);
        let name = parser.parse_object_name(false)?;
        return Ok(Some(SessionTree::CreateSequence {
            name,
            if_exists: if exists { IfExists::Skip } else { IfExists::Fail },
            persistence: if temporary { Persistence::Temporary } else { Persistence::Permanent },
            options: sequence_options(parser)?,
        }));
    }
    Ok(None)
}

fn alter_sequence(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    let if_missing = if_exists(parser);
    let sequence = parser.parse_object_name(false)?;
    if words(parser, &["rename", "to"]) {
        let to = name(parser)?;
        return Ok(SessionTree::RenameSequence { name: sequence, if_missing, to });
    }
    // All are written to the log with what changes them.
    let is_logged = words(parser, &["set", "logged"]) || words(parser, &["set", "unlogged"]);
    let options = sequence_options(parser)?;
    if options.is_empty() && !is_logged {
        return parser.expected_ref("sequence options", parser.peek_token_ref());
    }
    Ok(SessionTree::AlterSequence { name: sequence, if_missing, options })
}

fn sequence_options(parser: &mut Parser<'_>) -> Parsed<Vec<SequenceOption>> {
    let mut options = Vec::new();
    while !at_end(parser) {
        options.push(sequence_option(parser)?);
    }
    Ok(options)
}

/// One option, which has to come next.
pub(super) fn sequence_option(parser: &mut Parser<'_>) -> Parsed<SequenceOption> {
    let number = |parser: &mut Parser<'_>| parser.parse_prefix();
    if word(parser, "as") {
        return Ok(SequenceOption::As(parser.parse_data_type()?));
    }
    if word(parser, "increment") {
        word(parser, "by");
        return number(parser).map(SequenceOption::Increment);
    }
    if word(parser, "minvalue") {
        return Ok(SequenceOption::Min(Some(number(parser)?)));
    }
    if word(parser, "maxvalue") {
        return Ok(SequenceOption::Max(Some(number(parser)?)));
    }
    if word(parser, "start") {
        word(parser, "with");
        return number(parser).map(SequenceOption::Start);
    }
    if word(parser, "restart") {
        let with = word(parser, "with");
        let given =
            matches!(parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus);
        let value = if with || given { Some(number(parser)?) } else { None };
        return Ok(SequenceOption::Restart(value));
    }
    if word(parser, "cache") {
        return number(parser).map(SequenceOption::Cache);
    }
    if word(parser, "cycle") {
        return Ok(SequenceOption::Cycle(true));
    }
    if words(parser, &["no", "minvalue"]) {
        return Ok(SequenceOption::Min(None));
    }
    if words(parser, &["no", "maxvalue"]) {
        return Ok(SequenceOption::Max(None));
    }
    if words(parser, &["no", "cycle"]) {
        return Ok(SequenceOption::Cycle(false));
    }
    if words(parser, &["owned", "by"]) {
        let none = word(parser, "none");
        let owner = if none { None } else { Some(parser.parse_object_name(false)?) };
        return Ok(SequenceOption::Owner(owner));
    }
    parser.expected_ref("a sequence option", parser.peek_token_ref())
}
