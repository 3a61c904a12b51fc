//! Where an operator ends that signs follow without a space: `1>-1`, `a->-1`.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer};

use super::DIALECT;

/// Only operators with one of these may end in a sign (PostgreSQL 15, section 4.1.3).
const WITH_SIGN: [char; 10] = ['~', '!', '@', '#', '%', '^', '&', '|', '`', '?'];

/// The operator at the beginning of `text` and the signs behind it, which the tokenizer took for a
/// part of it; None when they are.
pub(super) fn before_signs(text: &str, span: Span) -> Option<Vec<TokenWithSpan>> {
    let operator = text.trim_end_matches(['+', '-']);
    if operator.is_empty() || operator.len() == text.len() || text.contains(WITH_SIGN) {
        return None;
    }
    let mut tokens = Tokenizer::new(&DIALECT, operator).tokenize().ok()?;
    if tokens.len() != 1 {
        return None;
    }
    let signs = text[operator.len()..].chars();
    tokens.extend(signs.map(|sign| if sign == '-' { Token::Minus } else { Token::Plus }));
    let mut start = span.start;
    let placed = tokens.into_iter().map(|token| {
        let mut end = start;
        end.column += token.to_string().len() as u64;
        let span = Span { start, end };
        start = end;
        TokenWithSpan { token, span }
    });
    Some(placed.collect())
}
