//! Subscripts of the columns that INSERT and UPDATE assign to, which the grammar lacks.
//!
//! ```text
//! UPDATE t SET a[1] = 2, b[2:3] = c    ->   UPDATE t SET a = 2, b = c
//! INSERT INTO t (a[1], b) ...          ->   INSERT INTO t (a, b) ...
//! UPDATE t SET a[1].x = 2              ->   UPDATE t SET a.x = 2
//! ```

use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Aside, Clause};
use crate::parse::reader::Parsed;
use crate::parse::tokens::{is, significant};

/// Takes subscripts of assigned columns out of `tokens`; they are kept by the column's name.
///
/// # Errors
/// When they are none.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>, aside: &mut Aside) -> Parsed<()> {
    let has_brackets = tokens.iter().any(|token| token.token == Token::LBracket);
    let writes = |token| is(token, "update") || is(token, "insert");
    if !has_brackets || !tokens.iter().any(writes) {
        return Ok(());
    }
    let mut cuts = Vec::new();
    for (word, end) in targets(tokens) {
        let mut parser = crate::parse::parser(tokens[word..end].to_vec());
        let subscripts = match parser.parse_expr()? {
            ast::Expr::CompoundFieldAccess { access_chain, .. } => {
                let subscript = |access: ast::AccessExpr| match access {
                    ast::AccessExpr::Subscript(subscript) => Some(subscript),
                    ast::AccessExpr::Dot(_) => None,
                };
                access_chain.into_iter().map(subscript).collect::<Option<Vec<_>>>()
            }
            _ => None,
        };
        let Some(subscripts) = subscripts else { continue };
        aside.keep(&tokens[word], Clause::Subscripts(subscripts));
        cuts.push(word + 1..end);
    }
    for cut in cuts.into_iter().rev() {
        tokens.drain(cut);
    }
    Ok(())
}

/// The columns under subscripts: where the name stands, and the end of its subscripts.
fn targets(tokens: &[TokenWithSpan]) -> Vec<(usize, usize)> {
    let places = significant(tokens);
    let mut found = Vec::new();
    // The depth of parentheses at which columns are assigned now, and whether one may begin.
    let (mut depth, mut list, mut begins) = (0, None, false);
    let mut at = 0;
    while at < places.len() {
        let token = &tokens[places[at]];
        match &token.token {
            Token::LParen | Token::LBracket => {
                depth += 1;
                if token.token == Token::LParen && is_insert_list(tokens, &places[..at]) {
                    (list, begins) = (Some((depth, Ends::Anywhere)), true);
                    at += 1;
                    continue;
                }
            }
            Token::RParen | Token::RBracket => {
                depth -= 1;
                if list.is_some_and(|(level, _)| depth < level) {
                    list = None;
                }
            }
            Token::Comma => {
                begins = list.is_some_and(|(level, _)| level == depth);
                at += 1;
                continue;
            }
            Token::Word(_) if is(token, "set") => {
                (list, begins) = (Some((depth, Ends::Equals)), true);
                at += 1;
                continue;
            }
            Token::Word(_) => {
                // Of what may stand behind assignments only RETURNING has commas.
                let ends = match list {
                    Some((level, Ends::Equals)) if level == depth => &["returning"][..],
                    Some((level, Ends::Anywhere)) if level == depth => {
                        &["select", "with", "values", "table"]
                    }
                    _ => &[],
                };
                if ends.iter().any(|end| is(token, end)) {
                    list = None;
                } else if let (true, Some((_, rule))) = (begins, list)
                    && let Some((parts, end)) = subscripted(tokens, &places, at)
                {
                    let next = places.get(end).map(|place| &tokens[*place].token);
                    let fits = match rule {
                        Ends::Equals => next == Some(&Token::Eq),
                        Ends::Anywhere => matches!(next, Some(Token::Comma | Token::RParen)),
                    };
                    if fits {
                        found.extend(parts);
                        (at, begins) = (end, false);
                        continue;
                    }
                }
            }
            _ => {}
        }
        begins = false;
        at += 1;
    }
    found
}

/// Tokens that end a target.
#[derive(Clone, Copy)]
enum Ends {
    /// `=`.
    Equals,
    /// A comma or the end of the list.
    Anywhere,
}

/// True when a parenthesis behind these tokens opens the columns of INSERT INTO: between INTO and
/// it stand the table's name and perhaps AS and another name.
fn is_insert_list(tokens: &[TokenWithSpan], before: &[usize]) -> bool {
    let is_name = |place: &&usize| {
        let token = &tokens[**place];
        matches!(token.token, Token::Word(_) | Token::Period) && !is(token, "into")
    };
    let count = before.iter().rev().take_while(is_name).count();
    let Some(into) = before.len().checked_sub(count + 1) else { return false };
    let word = |at: Option<usize>, text: &str| {
        at.and_then(|at| before.get(at)).is_some_and(|place| is(&tokens[*place], text))
    };
    let is_point =
        |at: usize| before.get(at).is_some_and(|place| tokens[*place].token == Token::Period);
    let mut end = into + 2;
    while is_point(end) {
        end += 2;
    }
    if word(Some(end), "as") {
        end += 2;
    }
    word(Some(into), "into") && word(into.checked_sub(1), "insert") && end == before.len()
}

/// The names of the target that begins at `at` which have subscripts, with the ends of those, and
/// the first token behind the target; None when no name has some.
fn subscripted(
    tokens: &[TokenWithSpan],
    places: &[usize],
    at: usize,
) -> Option<(Vec<(usize, usize)>, usize)> {
    let token = |at: usize| places.get(at).map(|place| &tokens[*place].token);
    let (mut parts, mut word) = (Vec::new(), at);
    loop {
        let mut next = word + 1;
        if let Some(end) = subscripts_end(tokens, places, next) {
            parts.push((places[word], places[end - 1] + 1));
            next = end;
        }
        let is_field =
            token(next) == Some(&Token::Period) && matches!(token(next + 1), Some(Token::Word(_)));
        if !is_field {
            return (!parts.is_empty()).then_some((parts, next));
        }
        word = next + 1;
    }
}

/// The first token behind the brackets that begin at `at`; None when there are none.
fn subscripts_end(tokens: &[TokenWithSpan], places: &[usize], at: usize) -> Option<usize> {
    let token = |at: usize| places.get(at).map(|place| &tokens[*place].token);
    let mut end = at;
    while token(end) == Some(&Token::LBracket) {
        let mut depth = 0;
        loop {
            match token(end)? {
                Token::LBracket | Token::LParen => depth += 1,
                Token::RBracket | Token::RParen => depth -= 1,
                _ => {}
            }
            end += 1;
            if depth == 0 {
                break;
            }
        }
    }
    (end > at).then_some(end)
}
