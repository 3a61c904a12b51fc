//! Wide tables.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, at_end, drop_behaviour, expect, words};
use crate::words::{IfExists, IfMissing};

/// The statement, when it is about wide tables.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let tree = if words(parser, &["create", "wide", "table"]) {
        let exists = words(parser, &["if", "not", "exists"]);
        let name = parser.parse_object_name(false)?;
        expect(parser, "from")?;
        let fact = parser.parse_object_name(false)?;
        let if_exists = if exists { IfExists::Skip } else { IfExists::Fail };
        SessionTree::CreateWideTable { name, fact, if_exists }
    } else if words(parser, &["refresh", "wide", "table"]) {
        SessionTree::RefreshWideTable(parser.parse_object_name(false)?)
    } else if words(parser, &["drop", "wide", "table"]) {
        let missing = words(parser, &["if", "exists"]);
        let mut names = vec![parser.parse_object_name(false)?];
        while parser.consume_token(&Token::Comma) {
            names.push(parser.parse_object_name(false)?);
        }
        let behaviour = drop_behaviour(parser);
        let if_missing = if missing { IfMissing::Skip } else { IfMissing::Fail };
        SessionTree::DropWideTable { names, if_missing, behaviour }
    } else {
        return Ok(None);
    };
    if at_end(parser) {
        Ok(Some(tree))
    } else {
        parser.expected_ref("end of statement", parser.peek_token_ref())
    }
}
