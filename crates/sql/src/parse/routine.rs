//! CREATE, ALTER and DROP of functions and procedures, DO; ALTER and DROP of aggregates.
//!
//! Elsewhere: CREATE AGGREGATE (`aggregate`), what a body in PL/pgSQL says (`program`), names and
//! types (`bind::routine`).

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::absent::{Form, Object, object};
use super::aggregate::CreateAggregateTree;
use super::grant::{relation, role_name};
use super::reader::{
    Parsed, at_end, drop_behaviour, expect, if_exists, name, peek_word, word, words,
};
use crate::definition::{
    BodyForm, NullInput, RoutineKind, RoutineSetting, RowCount, Security, Volatility,
};
use crate::words::{DropBehaviour, IfExists, IfMissing, RelationName, RoleName};

/// Type of a parameter or result as it is written.
#[derive(Clone, Debug)]
pub(crate) enum TypeTree {
    Declared(ast::DataType),
    /// `name.column%TYPE`.
    ColumnOf(Vec<String>),
}

/// Direction of a parameter as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModeTree {
    In,
    Out,
    InOut,
    Variadic,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct ParameterTree {
    pub(crate) mode: ModeTree,
    pub(crate) name: String,
    pub(crate) ty: TypeTree,
    pub(crate) default: Option<ast::Expr>,
}

/// RETURNS.
#[derive(Clone, Debug)]
pub(crate) enum ReturnsTree {
    Type(RowCount, TypeTree),
    Table(Vec<(String, TypeTree)>),
}

/// CREATE FUNCTION or PROCEDURE.
#[derive(Clone, Debug)]
pub(crate) struct CreateRoutineTree {
    pub(crate) if_exists: IfExists,
    pub(crate) kind: RoutineKind,
    pub(crate) name: RelationName,
    pub(crate) parameters: Vec<ParameterTree>,
    pub(crate) returns: Option<ReturnsTree>,
    pub(crate) attributes: Attributes,
}

/// Clauses behind the parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) language: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) form: BodyForm,
    pub(crate) volatility: Option<Volatility>,
    pub(crate) nulls: Option<NullInput>,
    pub(crate) security: Option<Security>,
    pub(crate) settings: Vec<RoutineSetting>,
    pub(crate) hints: Vec<(String, String)>,
    /// How many bodies there are.
    pub(crate) bodies: usize,
    /// Something that is not there.
    pub(crate) unsupported: Option<&'static str>,
}

/// The word that a statement calls routines by; None is ROUTINE.
pub(crate) type KindWord = Option<RoutineKind>;

/// Change of a routine.
#[derive(Clone, Debug)]
pub(crate) enum AlterRoutineTree {
    Rename(String),
    Owner(RoleName),
    Schema(String),
    Attributes(Box<Attributes>),
}

/// A statement about routines.
#[derive(Clone, Debug)]
pub(crate) enum RoutineTree {
    Create(Box<CreateRoutineTree>),
    CreateAggregate(Box<CreateAggregateTree>),
    Drop { kind: KindWord, if_missing: IfMissing, objects: Vec<Object>, behaviour: DropBehaviour },
    Alter { kind: KindWord, object: Object, change: AlterRoutineTree },
    Do { language: String, body: String },
}

/// The statement, when it is about routines.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let tree = match parser.peek_token_ref().token.to_string().to_ascii_lowercase().as_str() {
        "create" => create(parser)?,
        "drop" => drop(parser)?,
        "alter" => alter(parser)?,
        "do" => Some(execute(parser)?),
        _ => None,
    };
    Ok(tree.map(|tree| SessionTree::Routine(Box::new(tree))))
}

fn create(parser: &mut Parser<'_>) -> Parsed<Option<RoutineTree>> {
    let replaces = peek_word(parser, 1, "or") && peek_word(parser, 2, "replace");
    let at = if replaces { 3 } else { 1 };
    let Some(Some(kind)) = kind_word(parser, at) else { return Ok(None) };
    (0..=at).for_each(|_| {
        parser.next_token();
    });
    let if_exists = if replaces { IfExists::Replace } else { IfExists::Fail };
    if kind == RoutineKind::Aggregate {
        let tree = super::aggregate::create(parser, if_exists)?;
        return Ok(Some(RoutineTree::CreateAggregate(Box::new(tree))));
    }
    let name = relation(parser)?;
    parser.expect_token(&Token::LParen)?;
    let mut parameters = Vec::new();
    if !parser.consume_token(&Token::RParen) {
        parameters = parser.parse_comma_separated(parameter)?;
        parser.expect_token(&Token::RParen)?;
    }
    let returns = if peek_word(parser, 0, "returns") && !peek_word(parser, 1, "null") {
        parser.next_token();
        Some(returns(parser)?)
    } else {
        None
    };
    let attributes = attributes(parser)?;
    let tree = CreateRoutineTree { if_exists, kind, name, parameters, returns, attributes };
    Ok(Some(RoutineTree::Create(Box::new(tree))))
}

/// `[mode] [name] [mode] type [DEFAULT expression]`.
pub(super) fn parameter(parser: &mut Parser<'_>) -> Parsed<ParameterTree> {
    let mut given = mode(parser);
    let is_end = |token: &Token| {
        matches!(token, Token::Comma | Token::RParen | Token::Eq | Token::Assignment)
    };
    // A type alone, unless something that is none follows.
    let unnamed = parser.maybe_parse(|parser| {
        let ty = type_tree(parser)?;
        let next = parser.peek_token_ref();
        let is_word = |text| peek_word(parser, 0, text);
        if is_end(&next.token) || is_word("default") || is_word("order") {
            Ok(ty)
        } else {
            parser.expected_ref(", or )", next)
        }
    })?;
    let (name, ty) = match unnamed {
        Some(ty) => (String::new(), ty),
        None => {
            let name = name(parser)?;
            given = given.or_else(|| mode(parser));
            (name, type_tree(parser)?)
        }
    };
    let has_default = word(parser, "default")
        || parser.consume_token(&Token::Eq)
        || parser.consume_token(&Token::Assignment);
    let default = if has_default { Some(parser.parse_expr()?) } else { None };
    Ok(ParameterTree { mode: given.unwrap_or(ModeTree::In), name, ty, default })
}

fn mode(parser: &mut Parser<'_>) -> Option<ModeTree> {
    if word(parser, "in") {
        return Some(if word(parser, "out") { ModeTree::InOut } else { ModeTree::In });
    }
    if word(parser, "variadic") {
        // As calls have it.
        let _ = parser.consume_token(&Token::RArrow);
        return Some(ModeTree::Variadic);
    }
    let known = [("out", ModeTree::Out), ("inout", ModeTree::InOut)];
    known.into_iter().find(|(text, _)| word(parser, text)).map(|(_, mode)| mode)
}

/// A type, or `name.column%TYPE`.
pub(super) fn type_tree(parser: &mut Parser<'_>) -> Parsed<TypeTree> {
    let column = parser.maybe_parse(|parser| {
        let mut parts = vec![name(parser)?];
        while parser.consume_token(&Token::Period) {
            parts.push(name(parser)?);
        }
        parser.expect_token(&Token::Mod)?;
        expect(parser, "type")?;
        Ok(parts)
    })?;
    match column {
        Some(parts) => Ok(TypeTree::ColumnOf(parts)),
        None => parser.parse_data_type().map(TypeTree::Declared),
    }
}

fn returns(parser: &mut Parser<'_>) -> Parsed<ReturnsTree> {
    if peek_word(parser, 0, "table") && parser.peek_nth_token_ref(1).token == Token::LParen {
        parser.next_token();
        parser.next_token();
        let columns = parser.parse_comma_separated(|parser| {
            let name = name(parser)?;
            Ok((name, type_tree(parser)?))
        })?;
        parser.expect_token(&Token::RParen)?;
        return Ok(ReturnsTree::Table(columns));
    }
    let rows = if word(parser, "setof") { RowCount::Many } else { RowCount::One };
    Ok(ReturnsTree::Type(rows, type_tree(parser)?))
}

/// The clauses up to the end of the statement.
fn attributes(parser: &mut Parser<'_>) -> Parsed<Attributes> {
    let mut all = Attributes::default();
    while !at_end(parser) {
        attribute(parser, &mut all)?;
    }
    Ok(all)
}

fn attribute(parser: &mut Parser<'_>, all: &mut Attributes) -> Parsed<()> {
    if word(parser, "language") {
        all.language = Some(language(parser)?);
    } else if word(parser, "immutable") {
        all.volatility = Some(Volatility::Immutable);
    } else if word(parser, "stable") {
        all.volatility = Some(Volatility::Stable);
    } else if word(parser, "volatile") {
        all.volatility = Some(Volatility::Volatile);
    } else if word(parser, "strict") || words(parser, &["returns", "null", "on", "null", "input"]) {
        all.nulls = Some(NullInput::Strict);
    } else if words(parser, &["called", "on", "null", "input"]) {
        all.nulls = Some(NullInput::Called);
    } else if word(parser, "external") || peek_word(parser, 0, "security") {
        expect(parser, "security")?;
        let definer = word(parser, "definer");
        if !definer {
            expect(parser, "invoker")?;
        }
        all.security = Some(if definer { Security::Definer } else { Security::Invoker });
    } else if word(parser, "leakproof") {
        all.hints.push(("leakproof".to_owned(), "true".to_owned()));
    } else if words(parser, &["not", "leakproof"]) {
        all.hints.retain(|(known, _)| known != "leakproof");
        all.hints.push(("leakproof".to_owned(), "false".to_owned()));
    } else if word(parser, "window") {
        all.unsupported = Some("a window function that users make");
    } else if word(parser, "transform") {
        all.unsupported = Some("TRANSFORM");
        while !at_end(parser) {
            parser.next_token();
        }
    } else if let Some(hint) =
        ["parallel", "cost", "rows", "support"].into_iter().find(|hint| word(parser, hint))
    {
        let value = parser.next_token().token.to_string().to_lowercase();
        all.hints.retain(|(known, _)| known != hint);
        all.hints.push((hint.to_owned(), value));
    } else if word(parser, "set") {
        all.settings.push(setting(parser)?);
    } else if words(parser, &["reset", "all"]) {
        all.settings.push(RoutineSetting::ResetAll);
    } else if word(parser, "reset") {
        all.settings.push(RoutineSetting::Reset(setting_name(parser)?));
    } else {
        return body(parser, all);
    }
    Ok(())
}

fn body(parser: &mut Parser<'_>, all: &mut Attributes) -> Parsed<()> {
    all.bodies += 1;
    if word(parser, "as") {
        all.body = Some(string(parser)?);
        if parser.consume_token(&Token::Comma) {
            string(parser)?;
            all.unsupported = Some("a function in an object file");
        }
        return Ok(());
    }
    if word(parser, "return") {
        let expr = parser.parse_expr()?;
        all.body = Some(format!("SELECT {expr}"));
        all.form = BodyForm::Return;
        return Ok(());
    }
    if words(parser, &["begin", "atomic"]) {
        all.body = Some(string(parser)?);
        all.form = BodyForm::Atomic;
        return Ok(());
    }
    parser.expected_ref("an attribute of a function", parser.peek_token_ref())
}

/// `name TO value`, `name = value`, of the function's own settings.
fn setting(parser: &mut Parser<'_>) -> Parsed<RoutineSetting> {
    let setting = setting_name(parser)?;
    if !word(parser, "to") {
        parser.expect_token(&Token::Eq)?;
    }
    if word(parser, "default") {
        return Ok(RoutineSetting::Reset(setting));
    }
    let mut values = Vec::new();
    loop {
        values.push(match parser.next_token().token {
            Token::SingleQuotedString(text) => text,
            Token::Word(word) if word.quote_style.is_some() => format!("\"{}\"", word.value),
            Token::Word(word) => word.value.to_lowercase(),
            token => token.to_string(),
        });
        if !parser.consume_token(&Token::Comma) {
            return Ok(RoutineSetting::Set(setting, values.join(", ")));
        }
    }
}

fn setting_name(parser: &mut Parser<'_>) -> Parsed<String> {
    let mut setting = name(parser)?;
    while parser.consume_token(&Token::Period) {
        setting = format!("{setting}.{}", name(parser)?);
    }
    // In quotes, too, it has no case.
    Ok(setting.to_lowercase())
}

fn language(parser: &mut Parser<'_>) -> Parsed<String> {
    match parser.peek_token_ref().token {
        Token::SingleQuotedString(_) => Ok(parser.parse_literal_string()?.to_lowercase()),
        _ => name(parser),
    }
}

/// A string, in dollars perhaps.
fn string(parser: &mut Parser<'_>) -> Parsed<String> {
    match parser.next_token().token {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => Ok(text),
        Token::DollarQuotedString(text) => Ok(text.value),
        _ => {
            parser.prev_token();
            parser.expected_ref("a string", parser.peek_token_ref())
        }
    }
}

fn kind_word(parser: &Parser<'_>, at: usize) -> Option<KindWord> {
    let known = [
        ("function", Some(RoutineKind::Function)),
        ("procedure", Some(RoutineKind::Procedure)),
        ("aggregate", Some(RoutineKind::Aggregate)),
        ("routine", None),
    ];
    known.into_iter().find(|(text, _)| peek_word(parser, at, text)).map(|(_, kind)| kind)
}

fn drop(parser: &mut Parser<'_>) -> Parsed<Option<RoutineTree>> {
    let Some(kind) = kind_word(parser, 1) else { return Ok(None) };
    parser.next_token();
    parser.next_token();
    let if_missing = if_exists(parser);
    let objects = parser.parse_comma_separated(|parser| object(parser, Form::Routine))?;
    let behaviour = drop_behaviour(parser);
    Ok(Some(RoutineTree::Drop { kind, if_missing, objects, behaviour }))
}

fn alter(parser: &mut Parser<'_>) -> Parsed<Option<RoutineTree>> {
    let Some(kind) = kind_word(parser, 1) else { return Ok(None) };
    parser.next_token();
    parser.next_token();
    let object = object(parser, Form::Routine)?;
    let change = if words(parser, &["rename", "to"]) {
        AlterRoutineTree::Rename(name(parser)?)
    } else if words(parser, &["owner", "to"]) {
        AlterRoutineTree::Owner(role_name(parser)?)
    } else if words(parser, &["set", "schema"]) {
        AlterRoutineTree::Schema(name(parser)?)
    } else {
        AlterRoutineTree::Attributes(Box::new(attributes(parser)?))
    };
    Ok(Some(RoutineTree::Alter { kind, object, change }))
}

fn execute(parser: &mut Parser<'_>) -> Parsed<RoutineTree> {
    parser.next_token();
    let mut language_name = None;
    if word(parser, "language") {
        language_name = Some(language(parser)?);
    }
    let body = string(parser)?;
    if word(parser, "language") {
        language_name = Some(language(parser)?);
    }
    let language = language_name.unwrap_or_else(|| "plpgsql".to_owned());
    Ok(RoutineTree::Do { language, body })
}
