//! CREATE AGGREGATE, in the form with parameters and in the older one with BASETYPE.
//!
//! Elsewhere: what its options mean (`bind::aggregate_def`), DROP and ALTER (`routine`).

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::grant::relation;
use super::reader::{Parsed, name, peek_word};
use super::routine::{ParameterTree, TypeTree, parameter, type_tree};
use crate::words::{IfExists, RelationName};

/// CREATE AGGREGATE.
#[derive(Clone, Debug)]
pub(crate) struct CreateAggregateTree {
    pub(crate) if_exists: IfExists,
    pub(crate) name: RelationName,
    /// None in the older form.
    pub(crate) parameters: Option<Vec<ParameterTree>>,
    /// Set where an ordered-set aggregate is meant.
    pub(crate) is_ordered_set: bool,
    pub(crate) options: Vec<(String, OptionValue)>,
}

/// The value of an option.
#[derive(Clone, Debug)]
pub(crate) enum OptionValue {
    Type(TypeTree),
    Function(ast::ObjectName),
    /// Anything else, a string without its quotes.
    Text(String),
}

/// Options that name functions.
const FUNCTIONS: [&str; 9] = [
    "sfunc",
    "sfunc1",
    "finalfunc",
    "combinefunc",
    "serialfunc",
    "deserialfunc",
    "msfunc",
    "minvfunc",
    "mfinalfunc",
];

/// Options that name types.
const TYPES: [&str; 4] = ["basetype", "stype", "stype1", "mstype"];

/// The statement behind AGGREGATE.
pub(super) fn create(parser: &mut Parser<'_>, if_exists: IfExists) -> Parsed<CreateAggregateTree> {
    let name = relation(parser)?;
    let mut tree = CreateAggregateTree {
        if_exists,
        name,
        parameters: None,
        is_ordered_set: false,
        options: Vec::new(),
    };
    parser.expect_token(&Token::LParen)?;
    let is_old = parser.peek_nth_token_ref(1).token == Token::Eq;
    if !is_old {
        tree.parameters = Some(parameters(parser, &mut tree.is_ordered_set)?);
        parser.expect_token(&Token::LParen)?;
    }
    tree.options = parser.parse_comma_separated(option)?;
    parser.expect_token(&Token::RParen)?;
    Ok(tree)
}

/// `*)`, or parameters up to the parenthesis.
fn parameters(parser: &mut Parser<'_>, is_ordered_set: &mut bool) -> Parsed<Vec<ParameterTree>> {
    let mut list = Vec::new();
    if parser.consume_token(&Token::Mul) {
        parser.expect_token(&Token::RParen)?;
        return Ok(list);
    }
    loop {
        if peek_word(parser, 0, "order") && peek_word(parser, 1, "by") {
            parser.next_token();
            parser.next_token();
            *is_ordered_set = true;
        }
        list.push(parameter(parser)?);
        if peek_word(parser, 0, "order") || parser.consume_token(&Token::Comma) {
            continue;
        }
        parser.expect_token(&Token::RParen)?;
        return Ok(list);
    }
}

fn option(parser: &mut Parser<'_>) -> Parsed<(String, OptionValue)> {
    let option = name(parser)?;
    if !parser.consume_token(&Token::Eq) {
        return Ok((option, OptionValue::Text("true".to_owned())));
    }
    let is_string = matches!(parser.peek_token_ref().token, Token::SingleQuotedString(_));
    let value = if TYPES.contains(&option.as_str()) && !is_string {
        OptionValue::Type(type_tree(parser)?)
    } else if FUNCTIONS.contains(&option.as_str()) {
        let function = parser.parse_object_name(false)?;
        // Types of its arguments say nothing new.
        if parser.consume_token(&Token::LParen) {
            text(parser);
            while parser.consume_token(&Token::Comma) {
                text(parser);
            }
            parser.expect_token(&Token::RParen)?;
        }
        OptionValue::Function(function)
    } else {
        OptionValue::Text(text(parser))
    };
    Ok((option, value))
}

/// Tokens up to the next option, a string without its quotes.
fn text(parser: &mut Parser<'_>) -> String {
    let mut text = String::new();
    let mut depth = 0;
    loop {
        match &parser.peek_token_ref().token {
            Token::EOF => return text,
            Token::Comma | Token::RParen if depth == 0 => return text,
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        match parser.next_token().token {
            Token::SingleQuotedString(string) | Token::EscapedStringLiteral(string) => {
                text.push_str(&string);
            }
            Token::Word(word) if word.quote_style.is_none() => {
                text.push_str(&word.value.to_lowercase());
            }
            token => text.push_str(&token.to_string()),
        }
    }
}
