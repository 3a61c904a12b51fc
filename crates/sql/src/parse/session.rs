//! Statements parsed here and not by sqlparser, whose forms of them are incomplete: transactions,
//! table locks, prepared statements, maintenance.
//!
//! Elsewhere: those about one kind of object have files of their own (`role`, `sequence`).

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::reader::{Parsed, at_end, expect, name, peek_word, word, words};
use super::{GatheredTable, SessionTree};
use crate::words::{
    AccessMode, Chain, Deferral, Discard, Isolation, LockWait, TableLockMode, TransactionModes,
    VacuumAnalyze, VacuumFreeze,
};

/// The statement, when it is one of those parsed here.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let Token::Word(first) = parser.peek_token_ref().token.clone() else {
        return Ok(None);
    };
    let second = |text: &str| peek_word(parser, 1, text);
    let tree = match first.value.to_ascii_lowercase().as_str() {
        "begin" | "start" => begin(parser)?,
        "prepare" if second("transaction") => super::two_phase::parse(parser)?,
        "commit" | "rollback" if second("prepared") => super::two_phase::parse(parser)?,
        "commit" | "end" => SessionTree::Commit(finish(parser)?),
        "abort" => SessionTree::Rollback(finish(parser)?),
        "rollback" => rollback(parser)?,
        "savepoint" => {
            parser.next_token();
            SessionTree::Savepoint(name(parser)?)
        }
        "release" => {
            parser.next_token();
            word(parser, "savepoint");
            SessionTree::Release(name(parser)?)
        }
        "set" if second("transaction") => {
            words(parser, &["set", "transaction"]);
            SessionTree::SetTransaction(modes(parser)?)
        }
        "set" if second("session") && peek_word(parser, 2, "characteristics") => {
            words(parser, &["set", "session", "characteristics"]);
            expect(parser, "as")?;
            expect(parser, "transaction")?;
            SessionTree::SetSessionTransaction(modes(parser)?)
        }
        "lock" => lock_table(parser)?,
        "execute" => execute(parser)?,
        "deallocate" => {
            parser.next_token();
            word(parser, "prepare");
            let all = word(parser, "all");
            SessionTree::Deallocate(if all { None } else { Some(name(parser)?) })
        }
        "discard" => discard(parser)?,
        "checkpoint" => {
            parser.next_token();
            SessionTree::Checkpoint
        }
        "vacuum" => vacuum(parser)?,
        "analyze" | "analyse" => analyze(parser)?,
        _ => return definition(parser),
    };
    Ok(Some(tree))
}

/// Statements that files of their own parse.
fn definition(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    for parse in [
        super::described::parse,
        super::database::parse,
        super::routine::parse,
        super::trigger::parse,
        super::grant::parse,
        super::grant::parse_set,
        super::schema::parse,
        super::domain::parse,
        super::user_type::parse,
        super::collation::parse,
        super::role::parse,
        super::cursor::parse,
        super::wide::parse,
        super::materialized::parse,
        super::partition::parse,
        super::alter::parse,
        super::extension::parse,
        super::absent::parse,
        super::effectless::parse,
        super::comment::parse,
        super::sequence::parse,
    ] {
        if let Some(tree) = parse(parser)? {
            return Ok(Some(tree));
        }
    }
    Ok(None)
}

fn begin(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    if word(parser, "start") {
        expect(parser, "transaction")?;
    } else {
        parser.next_token();
        let _ = word(parser, "work") || word(parser, "transaction");
    }
    if at_end(parser) {
        return Ok(SessionTree::Begin(TransactionModes::default()));
    }
    modes(parser).map(SessionTree::Begin)
}

/// Parses the rest of COMMIT, END or ABORT.
fn finish(parser: &mut Parser<'_>) -> Parsed<Chain> {
    parser.next_token();
    let _ = word(parser, "work") || word(parser, "transaction");
    if !word(parser, "and") {
        return Ok(Chain::No);
    }
    let no = word(parser, "no");
    expect(parser, "chain")?;
    Ok(if no { Chain::No } else { Chain::Yes })
}

fn rollback(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    let chain = finish(parser)?;
    if chain == Chain::No && word(parser, "to") {
        word(parser, "savepoint");
        return Ok(SessionTree::RollbackTo(name(parser)?));
    }
    Ok(SessionTree::Rollback(chain))
}

fn modes(parser: &mut Parser<'_>) -> Parsed<TransactionModes> {
    let mut modes = TransactionModes::default();
    loop {
        if words(parser, &["isolation", "level"]) {
            modes.isolation = Some(isolation(parser)?);
        } else if words(parser, &["read", "only"]) {
            modes.access = Some(AccessMode::ReadOnly);
        } else if words(parser, &["read", "write"]) {
            modes.access = Some(AccessMode::ReadWrite);
        } else if words(parser, &["not", "deferrable"]) {
            modes.deferral = Some(Deferral::No);
        } else if word(parser, "deferrable") {
            modes.deferral = Some(Deferral::Yes);
        } else {
            return parser.expected_ref("transaction mode", parser.peek_token_ref());
        }
        let comma = parser.consume_token(&Token::Comma);
        if !comma && at_end(parser) {
            return Ok(modes);
        }
    }
}

fn isolation(parser: &mut Parser<'_>) -> Parsed<Isolation> {
    if word(parser, "serializable") {
        return Ok(Isolation::Serializable);
    }
    if words(parser, &["repeatable", "read"]) || word(parser, "snapshot") {
        return Ok(Isolation::Snapshot);
    }
    if words(parser, &["read", "uncommitted"]) {
        return Ok(Isolation::ReadUncommitted);
    }
    if words(parser, &["read", "committed"]) {
        return Ok(Isolation::ReadCommitted);
    }
    parser.expected_ref("isolation level", parser.peek_token_ref())
}

fn lock_table(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    parser.next_token();
    word(parser, "table");
    let tables = parser.parse_comma_separated(|parser| {
        word(parser, "only");
        parser.parse_object_name(false)
    })?;
    let mut mode = TableLockMode::AccessExclusive;
    if word(parser, "in") {
        use TableLockMode as M;
        let known: [(&[&str], M); 8] = [
            (&["access", "share"], M::AccessShare),
            (&["row", "share"], M::RowShare),
            (&["row", "exclusive"], M::RowExclusive),
            (&["share", "update", "exclusive"], M::ShareUpdateExclusive),
            (&["share", "row", "exclusive"], M::ShareRowExclusive),
            (&["share"], M::Share),
            (&["exclusive"], M::Exclusive),
            (&["access", "exclusive"], M::AccessExclusive),
        ];
        match known.iter().find(|(names, _)| words(parser, names)) {
            Some((_, found)) => mode = *found,
            None => return parser.expected_ref("lock mode", parser.peek_token_ref()),
        }
        expect(parser, "mode")?;
    }
    let wait = if word(parser, "nowait") { LockWait::Fail } else { LockWait::Wait };
    Ok(SessionTree::LockTable { tables, mode, wait })
}

pub(super) fn execute(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    parser.next_token();
    let ident = parser.parse_identifier()?;
    let mut arguments = Vec::new();
    if parser.consume_token(&Token::LParen) {
        arguments = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(SessionTree::Execute { name: ident, arguments })
}

fn discard(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    parser.next_token();
    let known = [
        ("all", Discard::All),
        ("plans", Discard::Plans),
        ("sequences", Discard::Sequences),
        ("temp", Discard::Temporary),
        ("temporary", Discard::Temporary),
    ];
    match known.iter().find(|(text, _)| word(parser, text)) {
        Some((_, what)) => Ok(SessionTree::Discard(*what)),
        None => parser.expected_ref("ALL, PLANS, SEQUENCES or TEMP", parser.peek_token_ref()),
    }
}

/// Takes an option in parentheses; true unless it is switched off.
fn is_on(parser: &mut Parser<'_>) -> bool {
    !["off", "false", "0"].iter().any(|text| word(parser, text))
}

fn vacuum(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    parser.next_token();
    let (mut freezes, mut analyzes) = (false, false);
    if parser.consume_token(&Token::LParen) {
        while !parser.consume_token(&Token::RParen) {
            if at_end(parser) {
                return parser.expected_ref(")", parser.peek_token_ref());
            }
            if word(parser, "freeze") {
                freezes = is_on(parser);
            } else if word(parser, "analyze") || word(parser, "analyse") {
                analyzes = is_on(parser);
            } else {
                parser.next_token();
            }
        }
    }
    loop {
        if word(parser, "freeze") {
            freezes = true;
        } else if word(parser, "analyze") || word(parser, "analyse") {
            analyzes = true;
        } else if !["full", "verbose"].iter().any(|text| word(parser, text)) {
            break;
        }
    }
    let freezing = if freezes { VacuumFreeze::Asked } else { VacuumFreeze::NotAsked };
    let analyze = if analyzes { VacuumAnalyze::Asked } else { VacuumAnalyze::NotAsked };
    let tables = gathered_tables(parser)?;
    Ok(SessionTree::Vacuum { tables, freezing, analyze })
}

/// `ANALYZE [VERBOSE] [(options)] [table [(columns)], ...]`.
fn analyze(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    parser.next_token();
    if parser.consume_token(&Token::LParen) {
        while !parser.consume_token(&Token::RParen) {
            if at_end(parser) {
                return parser.expected_ref(")", parser.peek_token_ref());
            }
            let is_option = ["verbose", "skip_locked"].iter().any(|text| word(parser, text));
            if !is_option && !parser.consume_token(&Token::Comma) {
                return parser.expected_ref("an option of ANALYZE", parser.peek_token_ref());
            }
            is_on(parser);
            ["on", "true", "1"].iter().any(|text| word(parser, text));
        }
    }
    word(parser, "verbose");
    Ok(SessionTree::Analyze(gathered_tables(parser)?))
}

/// Tables with the columns that are named of them; none for all.
fn gathered_tables(parser: &mut Parser<'_>) -> Parsed<Vec<GatheredTable>> {
    if at_end(parser) {
        return Ok(Vec::new());
    }
    parser.parse_comma_separated(|parser| {
        let table = parser.parse_object_name(false)?;
        let mut columns = Vec::new();
        if parser.consume_token(&Token::LParen) {
            columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
        }
        Ok(GatheredTable { table, columns })
    })
}
