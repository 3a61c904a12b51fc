//! OVERRIDING SYSTEM VALUE and OVERRIDING USER VALUE of INSERT.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Aside, Clause};
use crate::parse::tokens::{is, significant};

/// Treatment of given values of identity columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// Values may not be given for ALWAYS.
    #[default]
    No,
    /// OVERRIDING SYSTEM VALUE: it counts.
    System,
    /// OVERRIDING USER VALUE: the sequence's counts.
    User,
}

/// Takes each OVERRIDING ... VALUE out of `tokens`; it is kept by the word INSERT.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, aside: &mut Aside) {
    if !tokens.iter().any(|token| is(token, "overriding")) {
        return;
    }
    let places = significant(tokens);
    for at in (0..places.len().saturating_sub(2)).rev() {
        let is_at = |next: usize, text: &str| is(&tokens[places[at + next]], text);
        let known = [("system", Overriding::System), ("user", Overriding::User)];
        let found = known.iter().find(|(text, _)| is_at(1, text));
        if let Some((_, overriding)) = found
            && is_at(0, "overriding")
            && is_at(2, "value")
            && let Some(insert) = insert_before(tokens, &places[..at])
        {
            aside.keep(&tokens[insert], Clause::Overriding(*overriding));
            tokens.drain(places[at]..=places[at + 2]);
        }
    }
}

/// The word INSERT before the columns that end with these tokens.
fn insert_before(tokens: &[TokenWithSpan], before: &[usize]) -> Option<usize> {
    let mut depth = 0;
    for place in before.iter().rev() {
        match &tokens[*place].token {
            Token::RParen => depth += 1,
            Token::LParen => depth -= 1,
            Token::Word(_) if depth == 0 && is(&tokens[*place], "insert") => return Some(*place),
            Token::Word(_) | Token::Period => {}
            _ if depth == 0 => return None,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}
