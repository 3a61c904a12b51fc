//! `BEGIN ATOMIC ... END`, the body of a function as statements: their text becomes one string,
//! as a body that is given as such.

use std::ops::Range;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{LineIndex, is_word};

/// The statements that `tokens` are: a semicolon within such a body ends none.
pub(super) fn statements(tokens: &[TokenWithSpan]) -> Vec<&[TokenWithSpan]> {
    let (mut all, mut begin, mut at_idx) = (Vec::new(), 0, 0);
    while at_idx < tokens.len() {
        if let Some(body) = body(tokens, at_idx) {
            at_idx = body.end;
        } else if tokens[at_idx].token == Token::SemiColon {
            all.push(&tokens[begin..at_idx]);
            begin = at_idx + 1;
        }
        at_idx += 1;
    }
    all.push(&tokens[begin..]);
    all
}

fn is(token: Option<&TokenWithSpan>, text: &str) -> bool {
    matches!(token.map(|token| &token.token), Some(Token::Word(word)) if is_word(word, text))
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// The place of the next token that is no blank, from `at_idx` on.
fn next(tokens: &[TokenWithSpan], at_idx: usize) -> usize {
    let rest = tokens.iter().skip(at_idx).take_while(|token| is_blank(token));
    at_idx + rest.count()
}

/// Places between `BEGIN ATOMIC` at `at_idx` and its END.
fn body(tokens: &[TokenWithSpan], at_idx: usize) -> Option<Range<usize>> {
    if !is(tokens.get(at_idx), "begin") {
        return None;
    }
    let atomic = next(tokens, at_idx + 1);
    if !is(tokens.get(atomic), "atomic") {
        return None;
    }
    let mut open = 1;
    for (place, token) in tokens.iter().enumerate().skip(atomic + 1) {
        if is(Some(token), "case") {
            open += 1;
        } else if is(Some(token), "end") {
            open -= 1;
        }
        if open == 0 {
            return Some(atomic + 1..place);
        }
    }
    None
}

/// The tokens of a statement with such a body as a string; None for a statement without one.
pub(super) fn as_string(
    text: &str,
    index: &LineIndex<'_>,
    tokens: &[TokenWithSpan],
) -> Option<Vec<TokenWithSpan>> {
    let (begin, body) = (0..tokens.len()).find_map(|at| Some((at, body(tokens, at)?)))?;
    let end = tokens.get(body.end)?;
    let mut statements = String::new();
    let significant = |token: &&TokenWithSpan| !is_blank(token);
    for part in tokens[body].split(|token| token.token == Token::SemiColon) {
        let mut rest = part.iter().filter(significant);
        let (Some(first), Some(last)) = (rest.next(), part.iter().rev().find(significant)) else {
            continue;
        };
        let own = text.get(index.offset(first.span.start)..index.offset(last.span.end))?;
        let returned = is(Some(first), "return").then(|| own.get("return".len()..)).flatten();
        match returned {
            Some(expr) => statements.push_str(&format!("SELECT{expr};\n")),
            None => statements.push_str(&format!("{own};\n")),
        }
    }
    let mut replaced = tokens[..begin].to_vec();
    let place = |token| TokenWithSpan { token, span: end.span };
    replaced.push(tokens[begin].clone());
    replaced.push(place(Token::make_word("atomic", None)));
    replaced.push(place(Token::SingleQuotedString(statements)));
    Some(replaced)
}
