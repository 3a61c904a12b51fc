//! FOR UPDATE and its kin, where the grammar has none of them: behind any query, with NOWAIT and
//! SKIP LOCKED, several in a row.

use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::parse::reader::{Parsed, word, words};
use crate::parse::tokens::{is, significant};
use crate::parse::{LockTree, parser, position};
use crate::words::{LockWait, RowLockStrength};

/// Takes `FOR UPDATE ...` and its kin out of `tokens`.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Parsed<Vec<LockTree>> {
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
                    *select = position(tokens[at].span);
                }
            }
            Token::Word(word) if word.keyword == Keyword::FOR => {
                let (select, is_inner) = (selects.last().copied().flatten(), selects.len() > 1);
                let is_meant = (!is_inner || select.is_some()) && begins_lock(&tokens[at + 1..]);
                if is_meant && !of_policy(&tokens[..at]) {
                    let mut parser = parser(tokens[at..].to_vec());
                    let begin = parser.index();
                    if let Some(lock) = lock_clause(&mut parser)? {
                        let place = position(tokens[at].span);
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

/// True when the FOR behind `tokens` is that of CREATE POLICY.
fn of_policy(tokens: &[TokenWithSpan]) -> bool {
    let places = significant(tokens);
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    let clauses = ["using", "check"];
    word(0, "create")
        && word(1, "policy")
        && !tokens.iter().any(|token| clauses.iter().any(|clause| is(token, clause)))
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
