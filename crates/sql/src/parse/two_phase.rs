//! PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK PREPARED: each with the name of a transaction.
//!
//! Called by `session`; `parse` asks first whether PREPARE is about a transaction or a statement.

use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::reader::{Parsed, word, words};
use super::{SessionTree, is_word};
use crate::words::PreparedEnd;

/// True when PREPARE, with which `tokens` begin, is about a transaction: a prepared statement may
/// be called so, too.
pub(super) fn prepares(tokens: &[TokenWithSpan]) -> bool {
    let significant = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let mut rest = tokens.iter().filter(significant).skip(1).map(|token| &token.token);
    let is_transaction = matches!(rest.next(), Some(Token::Word(w)) if is_word(w, "transaction"));
    let is_name = match rest.next() {
        Some(Token::LParen) => true,
        Some(Token::Word(next)) => next.keyword == Keyword::AS,
        _ => false,
    };
    is_transaction && !is_name
}

/// Reads the statement, whose first two words were looked at.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<SessionTree> {
    if words(parser, &["prepare", "transaction"]) {
        return Ok(SessionTree::PrepareTransaction(gid(parser)?));
    }
    let end = if word(parser, "commit") { PreparedEnd::Commit } else { PreparedEnd::Rollback };
    if end == PreparedEnd::Rollback {
        word(parser, "rollback");
    }
    word(parser, "prepared");
    Ok(SessionTree::EndPrepared(end, gid(parser)?))
}

/// The name that the client gave the transaction.
fn gid(parser: &mut Parser<'_>) -> Parsed<String> {
    match parser.peek_token_ref().token.clone() {
        Token::SingleQuotedString(gid)
        | Token::EscapedStringLiteral(gid)
        | Token::UnicodeStringLiteral(gid) => {
            parser.next_token();
            Ok(gid)
        }
        Token::DollarQuotedString(gid) => {
            parser.next_token();
            Ok(gid.value)
        }
        _ => parser.expected_ref("a name of a transaction", parser.peek_token_ref()),
    }
}
