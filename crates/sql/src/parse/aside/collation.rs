//! `ALTER column TYPE type COLLATE name`, where the grammar has no COLLATE.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Aside, Clause};
use crate::parse::parser;
use crate::parse::reader::Parsed;
use crate::parse::tokens::{is, significant};

/// Takes COLLATE behind the new types of columns out of ALTER TABLE; each is kept by its column.
///
/// # Errors
/// When it has no name.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, aside: &mut Aside) -> Parsed<()> {
    let places = significant(tokens);
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    if !word(0, "alter") || !word(1, "table") {
        return Ok(());
    }
    let (mut column, mut depth, mut gone) = (None, 0_usize, Vec::new());
    for (at, place) in places.iter().enumerate() {
        let token = &tokens[*place];
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => column = None,
            _ if is(token, "using") => column = None,
            _ if is(token, "type") && at > 2 => {
                let sets = word(at - 1, "data") && word(at - 2, "set");
                column = at.checked_sub(if sets { 3 } else { 1 });
            }
            _ if depth == 0 && is(token, "collate") => {
                let Some(column) = column else { continue };
                let mut parser = parser(tokens[place + 1..].to_vec());
                let name = Parser::parse_object_name(&mut parser, false)?;
                aside.keep(&tokens[places[column]], Clause::Collation(name));
                gone.push(*place..place + 1 + parser.index());
            }
            _ => {}
        }
    }
    for range in gone.into_iter().rev() {
        tokens.drain(range);
    }
    Ok(())
}

impl Aside {
    /// COLLATE of the new type of the column whose name is at `at`.
    pub(crate) fn collation(&self, at: Option<types::Position>) -> Option<&ast::ObjectName> {
        match self.at(at) {
            Some(Clause::Collation(name)) => Some(name),
            _ => None,
        }
    }
}
