//! Statements and actions that PostgreSQL has and that change nothing here: REINDEX, CLUSTER,
//! CREATE STATISTICS; of ALTER TABLE and its kin storage parameters, STATISTICS, STORAGE, CLUSTER
//! ON, REPLICA IDENTITY, triggers that are on or off.
//!
//! Actions are taken out of ALTER TABLE, whatever else it says. What they name is looked up when
//! they are bound (`bind::effectless`).

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::reader::{Parsed, at_end, expect, if_exists, name, peek_word, word, words};
use super::{SessionTree, Tree};
use crate::definition::TriggerFiring;
use crate::words::IfMissing;

/// An action of ALTER TABLE, ALTER INDEX or ALTER VIEW.
#[derive(Clone, Debug)]
pub(crate) enum Effectless {
    /// CLUSTER ON, or REPLICA IDENTITY USING INDEX.
    OfIndex(ast::Ident),
    /// Storage parameters that are set or reset, and their values.
    Parameters(Vec<(ast::Ident, Option<String>)>),
    /// SET STATISTICS, STORAGE, COMPRESSION or options of a column.
    OfColumn(ast::Ident),
    /// ENABLE or DISABLE of triggers, and their new state.
    Triggers(Switched, TriggerFiring),
    /// ENABLE or DISABLE of a rule.
    Rule(ast::Ident),
    /// SET TABLESPACE.
    Tablespace(ast::Ident),
    /// SET WITHOUT OIDS and others that name nothing.
    Plain,
}

/// Triggers that are switched on or off.
#[derive(Clone, Debug)]
pub(crate) enum Switched {
    Named(ast::Ident),
    /// ALL: those of foreign keys, too.
    All,
    User,
}

/// The kind of relation that a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Altered {
    Table,
    Index,
    View,
    MaterializedView,
}

/// CREATE STATISTICS.
#[derive(Clone, Debug)]
pub(crate) struct Statistics {
    /// Empty where one is to be chosen.
    pub(crate) name: String,
    pub(crate) kinds: Vec<String>,
    pub(crate) terms: Vec<ast::Expr>,
    pub(crate) table: ast::ObjectName,
}

/// A statement without effect, or one with such actions.
#[derive(Clone, Debug)]
pub(crate) enum EffectlessTree {
    /// ALTER of a relation, and the statement of its other actions.
    Alter {
        kind: Altered,
        name: ast::ObjectName,
        if_missing: IfMissing,
        actions: Vec<Effectless>,
        rest: Option<Box<Tree>>,
    },
    /// REINDEX of one, or CLUSTER.
    Maintain {
        command: &'static str,
        /// See [`crate::statement::Effectless::apart`].
        apart: Option<&'static str>,
        table: Option<ast::ObjectName>,
        index: Option<ast::ObjectName>,
    },
    /// REINDEX SCHEMA.
    ReindexSchema(String),
    /// CREATE STATISTICS.
    Statistics(Statistics),
}

/// The statement, when it is one of these.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let tree = if peek_word(parser, 0, "reindex") {
        Some(reindex(parser)?)
    } else if peek_word(parser, 0, "cluster") {
        Some(cluster(parser)?)
    } else if words(parser, &["create", "statistics"]) {
        Some(statistics(parser)?)
    } else {
        None
    };
    Ok(tree.map(|tree| SessionTree::Effectless(Box::new(tree))))
}

/// Skips `(option, ...)`.
fn skip_options(parser: &mut Parser<'_>) -> Parsed<()> {
    if parser.consume_token(&Token::LParen) {
        while !parser.consume_token(&Token::RParen) {
            if at_end(parser) {
                return parser.expected_ref(")", parser.peek_token_ref());
            }
            parser.next_token();
        }
    }
    Ok(())
}

fn reindex(parser: &mut Parser<'_>) -> Parsed<EffectlessTree> {
    parser.next_token();
    skip_options(parser)?;
    let kinds = ["index", "table", "schema", "database", "system"];
    let Some(kind) = kinds.iter().find(|kind| word(parser, kind)) else {
        return parser.expected_ref("INDEX, TABLE or SCHEMA", parser.peek_token_ref());
    };
    let apart = word(parser, "concurrently").then_some("REINDEX CONCURRENTLY");
    let command = "REINDEX";
    Ok(match *kind {
        "schema" => EffectlessTree::ReindexSchema(name(parser)?),
        "index" => {
            let index = Some(parser.parse_object_name(false)?);
            EffectlessTree::Maintain { command, apart, table: None, index }
        }
        "table" => {
            let table = Some(parser.parse_object_name(false)?);
            EffectlessTree::Maintain { command, apart, table, index: None }
        }
        kind => {
            if !at_end(parser) {
                name(parser)?;
            }
            let all = if kind == "system" { "REINDEX SYSTEM" } else { "REINDEX DATABASE" };
            EffectlessTree::Maintain { command, apart: Some(all), table: None, index: None }
        }
    })
}

/// `CLUSTER [(options)] [VERBOSE] [table [USING index]]`, `CLUSTER index ON table`.
fn cluster(parser: &mut Parser<'_>) -> Parsed<EffectlessTree> {
    parser.next_token();
    skip_options(parser)?;
    word(parser, "verbose");
    let command = "CLUSTER";
    if at_end(parser) {
        let apart = Some(command);
        return Ok(EffectlessTree::Maintain { command, apart, table: None, index: None });
    }
    let first = parser.parse_object_name(false)?;
    if word(parser, "on") {
        let table = parser.parse_object_name(false)?;
        let (table, index) = (Some(table), Some(first));
        return Ok(EffectlessTree::Maintain { command, apart: None, table, index });
    }
    let index = if word(parser, "using") { Some(parser.parse_object_name(false)?) } else { None };
    Ok(EffectlessTree::Maintain { command, apart: None, table: Some(first), index })
}

/// `[IF NOT EXISTS] [name] [(kinds)] ON column, ... FROM table`.
fn statistics(parser: &mut Parser<'_>) -> Parsed<EffectlessTree> {
    words(parser, &["if", "not", "exists"]);
    let named = !peek_word(parser, 0, "on") && parser.peek_token_ref().token != Token::LParen;
    let written = if named { parser.parse_object_name(false)?.to_string() } else { String::new() };
    let mut kinds = Vec::new();
    if parser.consume_token(&Token::LParen) {
        kinds = parser.parse_comma_separated(name)?;
        parser.expect_token(&Token::RParen)?;
    }
    expect(parser, "on")?;
    let terms = parser.parse_comma_separated(|parser| match parser.parse_expr()? {
        term @ (ast::Expr::Identifier(_) | ast::Expr::Nested(_) | ast::Expr::Function(_)) => {
            Ok(term)
        }
        _ => parser.expected_ref("a column", parser.peek_token_ref()),
    })?;
    expect(parser, "from")?;
    let table = parser.parse_object_name(false)?;
    Ok(EffectlessTree::Statistics(Statistics { name: written, kinds, terms, table }))
}

/// Takes actions without effect out of ALTER TABLE, INDEX or VIEW; None when there are none.
/// `parse_rest` parses what is left.
pub(super) fn take_actions(
    tokens: &[TokenWithSpan],
    parse_rest: impl FnOnce(Vec<TokenWithSpan>) -> types::Result<Tree>,
) -> types::Result<Option<Tree>> {
    let mut parser = super::parser(tokens.to_vec());
    let Some((kind, name, if_missing)) = head(&mut parser) else { return Ok(None) };
    let begin = parser.index();
    let mut head = tokens[..begin].to_vec();
    // Of an index, the grammar does not know IF EXISTS.
    let is_asked = (kind, if_missing) == (Altered::Index, IfMissing::Skip);
    if is_asked {
        let place = |text| {
            let mut tokens = head.iter().map(|token| &token.token);
            tokens.position(|token| matches!(token, Token::Word(w) if super::is_word(w, text)))
        };
        let (at, end) = (place("if"), place("exists"));
        if let (Some(at), Some(end)) = (at, end) {
            head.drain(at..=end);
        }
    }
    let (mut actions, mut kept) = (Vec::new(), head);
    let rest = tokens.get(begin..).unwrap_or_default();
    let mut is_first = true;
    for part in split(rest) {
        match whole_action(part) {
            Some(action) => actions.push(action),
            None => {
                if !std::mem::take(&mut is_first) {
                    kept.extend(rest.iter().find(|token| token.token == Token::Comma).cloned());
                }
                kept.extend_from_slice(part);
            }
        }
    }
    if actions.is_empty() && !is_asked {
        return Ok(None);
    }
    let rest = if is_first { None } else { Some(Box::new(parse_rest(kept)?)) };
    let tree = EffectlessTree::Alter { kind, name, if_missing, actions, rest };
    Ok(Some(Tree::Session(Box::new(SessionTree::Effectless(Box::new(tree))))))
}

/// `ALTER {TABLE | INDEX | [MATERIALIZED] VIEW} [IF EXISTS] [ONLY] name [*]`.
fn head(parser: &mut Parser<'_>) -> Option<(Altered, ast::ObjectName, IfMissing)> {
    if !word(parser, "alter") {
        return None;
    }
    let kinds = [
        (&["table"][..], Altered::Table),
        (&["index"], Altered::Index),
        (&["view"], Altered::View),
        (&["materialized", "view"], Altered::MaterializedView),
    ];
    let (_, kind) = kinds.iter().find(|(phrase, _)| words(parser, phrase))?;
    let if_missing = if_exists(parser);
    word(parser, "only");
    let name = parser.parse_object_name(false).ok()?;
    let _ = parser.consume_token(&Token::Mul);
    Some((*kind, name, if_missing))
}

/// The parts between commas outside of parentheses.
fn split(tokens: &[TokenWithSpan]) -> Vec<&[TokenWithSpan]> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => {
                parts.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    parts
}

/// The action that all of `tokens` are.
fn whole_action(tokens: &[TokenWithSpan]) -> Option<Effectless> {
    let mut parser = super::parser(tokens.to_vec());
    let found = action(&mut parser).ok().flatten();
    found.filter(|_| at_end(&parser))
}

fn action(parser: &mut Parser<'_>) -> Parsed<Option<Effectless>> {
    if words(parser, &["cluster", "on"])
        || words(parser, &["replica", "identity", "using", "index"])
    {
        return Ok(Some(Effectless::OfIndex(parser.parse_identifier()?)));
    }
    let plain: [&[&str]; 7] = [
        &["set", "without", "cluster"],
        &["set", "without", "oids"],
        &["set", "logged"],
        &["replica", "identity", "full"],
        &["replica", "identity", "default"],
        &["replica", "identity", "nothing"],
        &["set", "access", "method", "heap"],
    ];
    if plain.iter().any(|phrase| words(parser, phrase)) {
        return Ok(Some(Effectless::Plain));
    }
    if words(parser, &["set", "tablespace"]) {
        return Ok(Some(Effectless::Tablespace(parser.parse_identifier()?)));
    }
    if peek_word(parser, 0, "enable") || peek_word(parser, 0, "disable") {
        return switched(parser);
    }
    if peek_word(parser, 0, "set") || peek_word(parser, 0, "reset") {
        parser.next_token();
        return Ok(parameters(parser)?.map(Effectless::Parameters));
    }
    if word(parser, "alter") {
        word(parser, "column");
        return of_column(parser);
    }
    Ok(None)
}

/// `{ENABLE [REPLICA | ALWAYS] | DISABLE} {TRIGGER | RULE} name`.
fn switched(parser: &mut Parser<'_>) -> Parsed<Option<Effectless>> {
    let enables = word(parser, "enable");
    let _ = !enables && word(parser, "disable");
    let firing = if !enables {
        TriggerFiring::Disabled
    } else if word(parser, "replica") {
        TriggerFiring::Replica
    } else if word(parser, "always") {
        TriggerFiring::Always
    } else {
        TriggerFiring::Origin
    };
    if word(parser, "rule") {
        return Ok(Some(Effectless::Rule(parser.parse_identifier()?)));
    }
    if !word(parser, "trigger") {
        return Ok(None);
    }
    let switched = if word(parser, "all") {
        Switched::All
    } else if word(parser, "user") {
        Switched::User
    } else {
        Switched::Named(parser.parse_identifier()?)
    };
    Ok(Some(Effectless::Triggers(switched, firing)))
}

/// `(name [= value], ...)`.
fn parameters(parser: &mut Parser<'_>) -> Parsed<Option<Vec<(ast::Ident, Option<String>)>>> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(None);
    }
    let parameters = parser.parse_comma_separated(|parser| {
        let mut name = parser.parse_identifier()?;
        if parser.consume_token(&Token::Period) {
            name.value = format!("{}.{}", name.value, parser.parse_identifier()?.value);
        }
        let value = if parser.consume_token(&Token::Eq) {
            Some(parser.parse_prefix()?.to_string())
        } else {
            None
        };
        Ok((name, value))
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(Some(parameters))
}

/// `name SET {STATISTICS n | STORAGE kind | COMPRESSION kind | (options)}` of a column, which
/// ALTER INDEX calls by its number.
fn of_column(parser: &mut Parser<'_>) -> Parsed<Option<Effectless>> {
    let column = match parser.peek_token_ref().token.clone() {
        Token::Number(digits, _) => {
            parser.next_token();
            ast::Ident::new(digits)
        }
        _ => parser.parse_identifier()?,
    };
    if word(parser, "reset") {
        return Ok(parameters(parser)?.map(|_| Effectless::OfColumn(column)));
    }
    if !word(parser, "set") {
        return Ok(None);
    }
    if word(parser, "statistics") {
        parser.parse_prefix()?;
    } else if word(parser, "storage") {
        let kinds = ["plain", "external", "extended", "main"];
        if !kinds.iter().any(|kind| word(parser, kind)) {
            return Ok(None);
        }
    } else if word(parser, "compression") {
        let kinds = ["pglz", "lz4", "default"];
        if !kinds.iter().any(|kind| word(parser, kind)) {
            return Ok(None);
        }
    } else if parameters(parser)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Effectless::OfColumn(column)))
}
