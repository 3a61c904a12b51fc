//! CREATE, ALTER and DROP TRIGGER.
//!
//! Elsewhere: ENABLE and DISABLE TRIGGER (`effectless`), what makes no sense (`bind::trigger`).

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, drop_behaviour, expect, if_exists, name, peek_word, word, words};
use crate::definition::{TriggerEvent, TriggerLevel, TriggerTiming};
use crate::words::{DropBehaviour, IfExists, IfMissing};

/// A transition table.
#[derive(Clone, Debug)]
pub(crate) struct TransitionTree {
    /// True for NEW, false for OLD.
    pub(crate) is_new: bool,
    /// True for TABLE, false for ROW.
    pub(crate) is_table: bool,
    pub(crate) name: String,
}

/// CREATE TRIGGER.
#[derive(Clone, Debug)]
pub(crate) struct CreateTriggerTree {
    pub(crate) if_exists: IfExists,
    /// Time at which a constraint trigger fires, as far as the statement says it.
    pub(crate) constraint: Option<Option<ast::ConstraintCharacteristics>>,
    pub(crate) name: String,
    pub(crate) timing: TriggerTiming,
    /// Events as written, with the columns of UPDATE OF.
    pub(crate) events: Vec<(TriggerEvent, Vec<ast::Ident>)>,
    pub(crate) table: ast::ObjectName,
    pub(crate) transitions: Vec<TransitionTree>,
    pub(crate) level: TriggerLevel,
    pub(crate) condition: Option<ast::Expr>,
    pub(crate) function: ast::ObjectName,
    pub(crate) arguments: Vec<String>,
}

/// A statement about triggers.
#[derive(Clone, Debug)]
pub(crate) enum TriggerTree {
    Create(Box<CreateTriggerTree>),
    Rename { name: String, table: ast::ObjectName, to: String },
    Drop { name: String, table: ast::ObjectName, if_missing: IfMissing, behaviour: DropBehaviour },
}

/// The statement, when it is about triggers.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let tree = if words(parser, &["drop", "trigger"]) {
        drop(parser)?
    } else if words(parser, &["alter", "trigger"]) {
        alter(parser)?
    } else {
        match create(parser)? {
            Some(tree) => tree,
            None => return Ok(None),
        }
    };
    Ok(Some(SessionTree::Trigger(tree)))
}

fn drop(parser: &mut Parser<'_>) -> Parsed<TriggerTree> {
    let if_missing = if_exists(parser);
    let name = name(parser)?;
    expect(parser, "on")?;
    let table = parser.parse_object_name(false)?;
    let behaviour = drop_behaviour(parser);
    Ok(TriggerTree::Drop { name, table, if_missing, behaviour })
}

fn alter(parser: &mut Parser<'_>) -> Parsed<TriggerTree> {
    let own = name(parser)?;
    expect(parser, "on")?;
    let table = parser.parse_object_name(false)?;
    expect(parser, "rename")?;
    expect(parser, "to")?;
    Ok(TriggerTree::Rename { name: own, table, to: name(parser)? })
}

fn create(parser: &mut Parser<'_>) -> Parsed<Option<TriggerTree>> {
    if !peek_word(parser, 0, "create") {
        return Ok(None);
    }
    let replaces = peek_word(parser, 1, "or") && peek_word(parser, 2, "replace");
    let at = if replaces { 3 } else { 1 };
    let is_constraint = peek_word(parser, at, "constraint");
    if !peek_word(parser, at + usize::from(is_constraint), "trigger") {
        return Ok(None);
    }
    (0..=at + usize::from(is_constraint)).for_each(|_| {
        parser.next_token();
    });
    let if_exists = if replaces { IfExists::Replace } else { IfExists::Fail };
    let name = name(parser)?;
    let timing = timing(parser)?;
    let mut events = vec![event(parser)?];
    while word(parser, "or") {
        events.push(event(parser)?);
    }
    expect(parser, "on")?;
    let table = parser.parse_object_name(false)?;
    if word(parser, "from") {
        parser.parse_object_name(false)?;
    }
    let mut constraint = None;
    if is_constraint {
        constraint = Some(parser.parse_constraint_characteristics()?);
    }
    let transitions = transitions(parser)?;
    let level = level(parser)?;
    if is_constraint && (timing != TriggerTiming::After || level != TriggerLevel::Row) {
        return parser.expected_ref("AFTER and FOR EACH ROW", parser.peek_token_ref());
    }
    let condition = if word(parser, "when") {
        parser.expect_token(&Token::LParen)?;
        let condition = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        Some(condition)
    } else {
        None
    };
    expect(parser, "execute")?;
    if !word(parser, "function") {
        expect(parser, "procedure")?;
    }
    let function = parser.parse_object_name(false)?;
    let arguments = arguments(parser)?;
    Ok(Some(TriggerTree::Create(Box::new(CreateTriggerTree {
        if_exists,
        constraint,
        name,
        timing,
        events,
        table,
        transitions,
        level,
        condition,
        function,
        arguments,
    }))))
}

fn timing(parser: &mut Parser<'_>) -> Parsed<TriggerTiming> {
    if word(parser, "before") {
        return Ok(TriggerTiming::Before);
    }
    if word(parser, "after") {
        return Ok(TriggerTiming::After);
    }
    expect(parser, "instead")?;
    expect(parser, "of")?;
    Ok(TriggerTiming::InsteadOf)
}

fn event(parser: &mut Parser<'_>) -> Parsed<(TriggerEvent, Vec<ast::Ident>)> {
    let plain = [
        ("insert", TriggerEvent::Insert),
        ("delete", TriggerEvent::Delete),
        ("truncate", TriggerEvent::Truncate),
    ];
    if let Some((_, event)) = plain.into_iter().find(|(text, _)| word(parser, text)) {
        return Ok((event, Vec::new()));
    }
    expect(parser, "update")?;
    let columns = if word(parser, "of") {
        parser.parse_comma_separated(Parser::parse_identifier)?
    } else {
        Vec::new()
    };
    Ok((TriggerEvent::Update, columns))
}

/// `REFERENCING {OLD | NEW} TABLE [AS] name ...`.
fn transitions(parser: &mut Parser<'_>) -> Parsed<Vec<TransitionTree>> {
    let mut all = Vec::new();
    if !word(parser, "referencing") {
        return Ok(all);
    }
    loop {
        let is_new = word(parser, "new");
        if !is_new && !word(parser, "old") {
            if all.is_empty() {
                return parser.expected_ref("OLD or NEW", parser.peek_token_ref());
            }
            return Ok(all);
        }
        let is_table = word(parser, "table");
        let _ = !is_table && word(parser, "row");
        word(parser, "as");
        all.push(TransitionTree { is_new, is_table, name: name(parser)? });
    }
}

fn level(parser: &mut Parser<'_>) -> Parsed<TriggerLevel> {
    if !word(parser, "for") {
        return Ok(TriggerLevel::Statement);
    }
    word(parser, "each");
    if word(parser, "row") {
        return Ok(TriggerLevel::Row);
    }
    expect(parser, "statement")?;
    Ok(TriggerLevel::Statement)
}

/// `(argument, ...)`: strings, numbers and words, all of which are text.
fn arguments(parser: &mut Parser<'_>) -> Parsed<Vec<String>> {
    parser.expect_token(&Token::LParen)?;
    let mut all = Vec::new();
    if parser.consume_token(&Token::RParen) {
        return Ok(all);
    }
    loop {
        all.push(match parser.next_token().token {
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text,
            Token::DollarQuotedString(text) => text.value,
            Token::Number(digits, _) => digits,
            Token::Word(word) if word.quote_style.is_some() => word.value,
            Token::Word(word) => word.value.to_lowercase(),
            _ => {
                parser.prev_token();
                return parser.expected_ref("an argument", parser.peek_token_ref());
            }
        });
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RParen)?;
            return Ok(all);
        }
    }
}
