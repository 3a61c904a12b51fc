//! LIKE among the columns of CREATE TABLE, which the grammar has only by itself.

use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Aside, Clause};
use crate::parse::reader::{Parsed, word};
use crate::parse::tokens::{is, significant};

/// `LIKE table [INCLUDING | EXCLUDING ...]`.
#[derive(Clone, Debug)]
pub(crate) struct LikeTree {
    pub(crate) table: ast::ObjectName,
    pub(crate) including: Including,
}

/// Parts that a table takes over from another one besides its columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Including {
    pub(crate) comments: bool,
    pub(crate) constraints: bool,
    pub(crate) defaults: bool,
    pub(crate) generated: bool,
    pub(crate) identity: bool,
    pub(crate) indexes: bool,
}

impl Including {
    fn set(&mut self, what: &str, on: bool) -> bool {
        match what {
            "comments" => self.comments = on,
            "constraints" => self.constraints = on,
            "defaults" => self.defaults = on,
            "generated" => self.generated = on,
            "identity" => self.identity = on,
            "indexes" => self.indexes = on,
            // No table has any of these.
            "storage" | "statistics" | "compression" => {}
            "all" => {
                *self = Self {
                    comments: on,
                    constraints: on,
                    defaults: on,
                    generated: on,
                    identity: on,
                    indexes: on,
                }
            }
            _ => return false,
        }
        true
    }
}

/// Takes the LIKE clauses between the parentheses of CREATE TABLE out of `tokens`; each is kept by
/// its own place.
///
/// # Errors
/// When what follows LIKE is no such clause.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, aside: &mut Aside) -> Parsed<()> {
    if !tokens.iter().any(|token| is(token, "like")) {
        return Ok(());
    }
    let Some(open) = open_of(tokens) else { return Ok(()) };
    let Some((close, elements)) = elements(tokens, open) else { return Ok(()) };
    let count = elements.len();
    let mut kept: Vec<Vec<TokenWithSpan>> = Vec::new();
    for (begin, end) in elements {
        let element = &tokens[begin..end];
        let first = significant(element).first().map(|at| &element[*at]);
        match first {
            Some(first) if is(first, "like") => {
                aside.keep(first, Clause::Like(Box::new(like(element.to_vec())?)));
            }
            _ => kept.push(element.to_vec()),
        }
    }
    if kept.len() < count {
        let comma = TokenWithSpan { token: Token::Comma, span: tokens[open].span };
        let inner = kept.join(&comma);
        tokens.splice(open + 1..close, inner);
    }
    Ok(())
}

/// The parenthesis behind the name in `CREATE ... TABLE name (`.
fn open_of(tokens: &[TokenWithSpan]) -> Option<usize> {
    let places = significant(tokens);
    if !places.first().is_some_and(|at| is(&tokens[*at], "create")) {
        return None;
    }
    let mut is_table = false;
    for at in places {
        match &tokens[at].token {
            Token::LParen if is_table => return Some(at),
            Token::Word(_) if is(&tokens[at], "table") => is_table = true,
            Token::Word(_) | Token::Period => {}
            _ => return None,
        }
    }
    None
}

/// Where the parenthesis closes, and the elements between.
fn elements(tokens: &[TokenWithSpan], open: usize) -> Option<(usize, Vec<(usize, usize)>)> {
    let (mut depth, mut begin) = (0, open + 1);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Comma if depth == 1 => {
                found.push((begin, at));
                begin = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            found.push((begin, at));
            return Some((at, found));
        }
    }
    None
}

fn like(tokens: Vec<TokenWithSpan>) -> Parsed<LikeTree> {
    let mut parser = crate::parse::parser(tokens);
    parser.next_token();
    let table = parser.parse_object_name(false)?;
    let mut including = Including::default();
    loop {
        let on = word(&mut parser, "including");
        if !on && !word(&mut parser, "excluding") {
            break;
        }
        let what = parser.parse_identifier()?.value.to_lowercase();
        if !including.set(&what, on) {
            parser.prev_token();
            return parser.expected_ref("what a table has", parser.peek_token_ref());
        }
    }
    match parser.peek_token_ref().token {
        Token::EOF => Ok(LikeTree { table, including }),
        _ => parser.expected_ref("INCLUDING or EXCLUDING", parser.peek_token_ref()),
    }
}
