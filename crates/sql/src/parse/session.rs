//! Statements parsed here and not by sqlparser, whose forms of them are incomplete: transactions,
//! table locks, prepared statements, maintenance.
//!
//! Elsewhere: those about one kind of object have files of their own (`role`, `sequence`).

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::reader::{Parsed, at_end, expect, name, peek_word, word, words};
use super::tokens::{is, significant};
use super::{LockTree, SessionTree, opens_call};
use crate::words::{
    AccessMode, Chain, Deferral, Discard, Isolation, LockWait, RowLockStrength, TableLockMode,
    TransactionModes, VacuumAnalyze, VacuumFreeze,
};

/// The statement, when it is one of those parsed here.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let Token::Word(first) = parser.peek_token_ref().token.clone() else {
        return Ok(None);
    };
    let second = |text: &str| peek_word(parser, 1, text);
    let tree = match first.value.to_ascii_lowercase().as_str() {
        "begin" | "start" => begin(parser)?,
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
        _ => return definition(parser),
    };
    Ok(Some(tree))
}

/// Statements that files of their own parse.
fn definition(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    for parse in [
        super::described::parse,
        super::grant::parse,
        super::grant::parse_set,
        super::schema::parse,
        super::user_type::parse,
        super::role::parse,
        super::cursor::parse,
        super::wide::parse,
        super::alter::parse,
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
    let mut tables = Vec::new();
    if !at_end(parser) {
        tables = parser.parse_comma_separated(|parser| {
            let table = parser.parse_object_name(false)?;
            if parser.consume_token(&Token::LParen) {
                parser.parse_comma_separated(Parser::parse_identifier)?;
                parser.expect_token(&Token::RParen)?;
            }
            Ok(table)
        })?;
    }
    Ok(SessionTree::Vacuum { tables, freezing, analyze })
}

/// Takes `FOR UPDATE ...` and its kin out of `tokens`.
pub(super) fn take_locks(tokens: &mut Vec<TokenWithSpan>) -> Parsed<Vec<LockTree>> {
    let mut locks = Vec::new();
    // The last SELECT within each of the parentheses around a token.
    let mut selects = vec![None];
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at].token {
            Token::LParen => selects.push(None),
            Token::RParen if selects.len() > 1 => {
                selects.pop();
            }
            Token::Word(word) if word.keyword == Keyword::SELECT => {
                if let Some(select) = selects.last_mut() {
                    *select = super::position(tokens[at].span);
                }
            }
            Token::Word(word) if word.keyword == Keyword::FOR => {
                let (select, is_inner) = (selects.last().copied().flatten(), selects.len() > 1);
                if (!is_inner || select.is_some()) && begins_lock(&tokens[at + 1..]) {
                    let mut parser = super::parser(tokens[at..].to_vec());
                    let begin = parser.index();
                    if let Some(lock) = lock_clause(&mut parser)? {
                        let place = super::position(tokens[at].span);
                        tokens.drain(at..at + parser.index() - begin);
                        locks.push(LockTree { at: place, select, is_inner, ..lock });
                        continue;
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    Ok(locks)
}

/// True when the tokens behind FOR may be those of a lock clause.
fn begins_lock(tokens: &[TokenWithSpan]) -> bool {
    let next = tokens.iter().find(|token| !matches!(token.token, Token::Whitespace(_)));
    let words = ["update", "no", "share", "key"];
    next.is_some_and(|token| words.iter().any(|word| is(token, word)))
}

fn lock_clause(parser: &mut Parser<'_>) -> Parsed<Option<LockTree>> {
    let known: [(&[&str], RowLockStrength); 4] = [
        (&["for", "update"], RowLockStrength::Update),
        (&["for", "no", "key", "update"], RowLockStrength::NoKeyUpdate),
        (&["for", "share"], RowLockStrength::Share),
        (&["for", "key", "share"], RowLockStrength::KeyShare),
    ];
    let Some((_, strength)) = known.iter().find(|(names, _)| words(parser, names)) else {
        return Ok(None);
    };
    let mut of = Vec::new();
    if word(parser, "of") {
        of = parser.parse_comma_separated(|parser| parser.parse_identifier())?;
    }
    let wait = if word(parser, "nowait") {
        LockWait::Fail
    } else if words(parser, &["skip", "locked"]) {
        LockWait::Skip
    } else {
        LockWait::Wait
    };
    Ok(Some(LockTree { strength: *strength, of, wait, at: None, select: None, is_inner: false }))
}

/// Treatment of given values of identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// Values may not be given for ALWAYS.
    No,
    /// OVERRIDING SYSTEM VALUE: it counts.
    System,
    /// OVERRIDING USER VALUE: the sequence's counts.
    User,
}

/// Takes OVERRIDING ... VALUE out of `tokens`.
pub(super) fn take_overriding(tokens: &mut Vec<TokenWithSpan>) -> Overriding {
    if !tokens.iter().any(|token| is(token, "overriding")) {
        return Overriding::No;
    }
    for three in significant(tokens).windows(3) {
        let is_at = |at: usize, text: &str| is(&tokens[three[at]], text);
        let known = [("system", Overriding::System), ("user", Overriding::User)];
        let found = known.iter().find(|(text, _)| is_at(1, text));
        if let Some((_, overriding)) = found
            && is_at(0, "overriding")
            && is_at(2, "value")
        {
            tokens.drain(three[0]..=three[2]);
            return *overriding;
        }
    }
    Overriding::No
}

/// Brings the options of each `AS IDENTITY (...)` into the only order that sqlparser reads, and
/// takes the names of sequences out of them: one for each, if it is given.
///
/// # Errors
/// When a name is none.
pub(super) fn take_identity_names(
    tokens: &mut Vec<TokenWithSpan>,
) -> Result<Vec<Option<ast::ObjectName>>, ParserError> {
    let mut names = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_identity = is(&tokens[at], "identity") && follows_as(&tokens[..at]);
        at += 1;
        if !is_identity {
            continue;
        }
        names.push(None);
        let find = |from: usize, token: &Token| {
            tokens[from..].iter().position(|t| t.token == *token).map(|found| from + found)
        };
        if opens_call(tokens, at - 1)
            && let Some(open) = find(at, &Token::LParen)
            && let Some(close) = find(open, &Token::RParen)
        {
            let (sorted, name) = sorted_options(&tokens[open + 1..close]);
            if let (Some(name), Some(last)) = (name, names.last_mut()) {
                *last = Some(sequence_name(name)?);
            }
            tokens.splice(open + 1..close, sorted);
        }
    }
    Ok(names)
}

/// True when the last of `tokens` is AS.
fn follows_as(tokens: &[TokenWithSpan]) -> bool {
    let mut words = tokens.iter().rev().filter(|t| !matches!(t.token, Token::Whitespace(_)));
    words.next().is_some_and(|last| is(last, "as"))
}

/// The name in `SEQUENCE NAME ...`.
fn sequence_name(tokens: Vec<TokenWithSpan>) -> Result<ast::ObjectName, ParserError> {
    let mut parser = super::parser(tokens);
    parser.next_token();
    if parser.parse_keyword(Keyword::NAME) {
        parser.parse_object_name(false)
    } else {
        parser.expected_ref("NAME", parser.peek_token_ref())
    }
}

/// The options in order, and `SEQUENCE NAME ...`, which is not among them.
fn sorted_options(tokens: &[TokenWithSpan]) -> (Vec<TokenWithSpan>, Option<Vec<TokenWithSpan>>) {
    const ORDER: [&str; 7] =
        ["increment", "minvalue", "maxvalue", "start", "cache", "cycle", "sequence"];
    let rank = |token: &TokenWithSpan| ORDER.iter().position(|text| is(token, text));
    let mut groups: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let mut after_no = false;
    for (at, token) in tokens.iter().enumerate() {
        let is_no = is(token, "no");
        let begins = match (is_no, after_no) {
            (true, _) => tokens[at..].iter().find_map(rank),
            (false, true) => None,
            (false, false) => rank(token),
        };
        after_no = is_no || (after_no && matches!(token.token, Token::Whitespace(_)));
        match (begins, groups.last_mut()) {
            (Some(rank), _) => groups.push((rank, vec![token.clone()])),
            (None, Some((_, group))) => group.push(token.clone()),
            (None, None) => groups.push((0, vec![token.clone()])),
        }
    }
    groups.sort_by_key(|(rank, _)| *rank);
    let is_name = |(rank, _): &mut (usize, Vec<TokenWithSpan>)| ORDER[*rank] == "sequence";
    let name = groups.pop_if(is_name).map(|(_, name)| name);
    (groups.into_iter().flat_map(|(_, group)| group).collect(), name)
}
