//! Options of identity columns: in any order, and with the name of the sequence.

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Aside, Clause};
use crate::parse::reader::Parsed;
use crate::parse::tokens::is;
use crate::parse::{opens_call, parser};

/// Brings the options of each `AS IDENTITY (...)` into the only order that sqlparser reads, and
/// takes the names of sequences out of them; each, or that there is none, is kept by the word
/// IDENTITY.
///
/// # Errors
/// When a name is none.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, aside: &mut Aside) -> Parsed<()> {
    let mut at = 0;
    while at < tokens.len() {
        let is_identity = is(&tokens[at], "identity") && follows_as(&tokens[..at]);
        at += 1;
        if !is_identity {
            continue;
        }
        let mut given = None;
        let find = |from: usize, token: &Token| {
            tokens[from..].iter().position(|t| t.token == *token).map(|found| from + found)
        };
        if opens_call(tokens, at - 1)
            && let Some(open) = find(at, &Token::LParen)
            && let Some(close) = find(open, &Token::RParen)
        {
            let (sorted, name) = sorted_options(&tokens[open + 1..close]);
            given = name.map(sequence_name).transpose()?;
            tokens.splice(open + 1..close, sorted);
        }
        aside.keep(&tokens[at - 1], Clause::Identity(given));
    }
    Ok(())
}

/// True when the last of `tokens` is AS.
fn follows_as(tokens: &[TokenWithSpan]) -> bool {
    let mut words = tokens.iter().rev().filter(|t| !matches!(t.token, Token::Whitespace(_)));
    words.next().is_some_and(|last| is(last, "as"))
}

/// The name in `SEQUENCE NAME ...`.
fn sequence_name(tokens: Vec<TokenWithSpan>) -> Parsed<ast::ObjectName> {
    let mut parser = parser(tokens);
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
