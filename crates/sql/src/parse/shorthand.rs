//! Shorter ways to write a query, as DuckDB has them, rewritten before the grammar sees them.
//!
//! - `FROM t WHERE c` to `SELECT * FROM t WHERE c`,
//! - `FROM t SELECT a WHERE c` to `SELECT a FROM t WHERE c`,
//! - `SELECT a, b, FROM t` to `SELECT a, b FROM t`,
//! - `ORDER BY ALL` to `ORDER BY` [`ALL_ITEMS`],
//! - `INSERT INTO t BY NAME SELECT ...` to one with [`BY_NAME`] as its column.
//!
//! A query begins at the statement's first word, in a parenthesis, behind the words of a set
//! operation, behind EXPLAIN and its kin, where a table or view is defined, and where INSERT has
//! its rows.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::clauses::ALL_ITEMS;
use super::keyword_token;
use super::tokens::{is, significant};

/// The column of an INSERT whose columns are those of its query, by their names.
pub(crate) const BY_NAME: &str = "by name";

/// Words that end a select list.
const LIST_ENDS: [Keyword; 14] = [
    Keyword::INTO,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::QUALIFY,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::FOR,
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
];

/// Words that may stand before the query of a statement.
const LEADS: [&str; 6] = ["explain", "analyze", "describe", "desc", "summarize", "verbose"];

/// Words of set operations.
const SET_OPERATIONS: [&str; 3] = ["union", "intersect", "except"];

/// Rewrites the tokens of a statement.
pub(super) fn rewrite(tokens: &mut Vec<TokenWithSpan>) {
    order_by_all(tokens);
    insert_by_name(tokens);
    if !tokens.iter().any(|token| is(token, "from")) {
        return;
    }
    tokens_without_last_commas(tokens);
    let places = significant(tokens);
    let starts: Vec<usize> = (0..places.len()).filter(|at| begins(tokens, &places, *at)).collect();
    // From the last one on: what stands before it keeps its place.
    for at in starts.into_iter().rev() {
        select_first(tokens, places[at]);
    }
}

/// Puts a name in the place of ALL where that is what rows are ordered by.
fn order_by_all(tokens: &mut [TokenWithSpan]) {
    if !tokens.iter().any(|token| is(token, "all")) {
        return;
    }
    let places = significant(tokens);
    for at in 2..places.len() {
        let word = |at: usize, text: &str| is(&tokens[places[at]], text);
        let is_last = places.get(at + 1).is_none_or(|next| {
            let ends = ["asc", "desc", "nulls", "limit", "offset", "fetch", "for"];
            tokens[*next].token == Token::RParen || ends.iter().any(|text| is(&tokens[*next], text))
        });
        if word(at, "all") && word(at - 1, "by") && word(at - 2, "order") && is_last {
            tokens[places[at]].token = Token::make_word(ALL_ITEMS, Some('"'));
        }
    }
}

/// Puts a list of columns in the place of BY NAME behind the table of an INSERT.
fn insert_by_name(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let word = |at: usize, text: &str| places.get(at).is_some_and(|p| is(&tokens[*p], text));
    let Some(start) = (0..places.len()).find(|at| word(*at, "insert") && word(at + 1, "into"))
    else {
        return;
    };
    let begins = |at: usize| {
        ["select", "from", "values", "with"].iter().any(|text| word(at, text))
            || places.get(at).is_some_and(|place| tokens[*place].token == Token::LParen)
    };
    // The table's name has one part, two or three, and points between them.
    let found = [start + 3, start + 5, start + 7]
        .into_iter()
        .find(|at| word(*at, "by") && word(at + 1, "name") && begins(at + 2));
    if let Some(at) = found {
        let (by, name) = (places[at], places[at + 1]);
        let span = tokens[by].span;
        tokens[by].token = Token::make_word(BY_NAME, Some('"'));
        tokens[name].token = Token::RParen;
        tokens.insert(by, TokenWithSpan { token: Token::LParen, span });
    }
}

/// Takes out the commas that FROM follows.
fn tokens_without_last_commas(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let commas: Vec<usize> = places
        .windows(2)
        .filter(|pair| tokens[pair[0]].token == Token::Comma && is(&tokens[pair[1]], "from"))
        .map(|pair| pair[0])
        .collect();
    for at in commas.into_iter().rev() {
        tokens.remove(at);
    }
}

/// True when the token at `places[at]` is a FROM with which a query begins.
fn begins(tokens: &[TokenWithSpan], places: &[usize], at: usize) -> bool {
    let token = |at: usize| places.get(at).map(|place| &tokens[*place]);
    let word = |at: usize, text: &str| token(at).is_some_and(|token| is(token, text));
    let any = |at: usize, texts: &[&str]| texts.iter().any(|text| word(at, text));
    if !word(at, "from") {
        return false;
    }
    let Some(before) = at.checked_sub(1) else { return true };
    if token(before).is_some_and(|token| token.token == Token::LParen) {
        // The text of TRIM may stand alone behind FROM.
        return !before.checked_sub(1).is_some_and(|call| word(call, "trim"));
    }
    (0..=before).all(|at| any(at, &LEADS))
        || is_defined(tokens, places, before)
        || any(before, &SET_OPERATIONS)
        || before.checked_sub(1).is_some_and(|first| {
            (word(before, "all") && any(first, &SET_OPERATIONS))
                || (word(before, "name") && word(first, "by"))
        })
        || is_source(tokens, places, at)
        || follows_with(tokens, places, at)
}

/// True when the word at `places[at]` is the AS before the query of a table or view.
fn is_defined(tokens: &[TokenWithSpan], places: &[usize], at: usize) -> bool {
    let is_word = |at: usize, text: &str| is(&tokens[places[at]], text);
    let is_query = |at: usize| ["select", "values", "with"].iter().any(|text| is_word(at, text));
    is_word(at, "as") && is_word(0, "create") && !(0..at).any(is_query)
}

/// True when only WITH and what it defines stand before the FROM at `places[at]` in its query.
fn follows_with(tokens: &[TokenWithSpan], places: &[usize], at: usize) -> bool {
    let mut depth = 0_usize;
    let mut first = None;
    for before in (0..at).rev() {
        let token = &tokens[places[before]];
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => break,
            Token::LParen => depth -= 1,
            Token::Word(_) if depth == 0 => {
                let ends = ["select", "insert", "update", "delete", "merge", "values", "from"];
                if ends.iter().any(|text| is(token, text)) {
                    return false;
                }
                first = Some(before);
            }
            _ => {}
        }
    }
    let closes = |at: usize| tokens[places[at]].token == Token::RParen;
    at > 0 && closes(at - 1) && first.is_some_and(|first| is(&tokens[places[first]], "with"))
}

/// True when the FROM at `places[at]` stands where INSERT INTO has its rows.
fn is_source(tokens: &[TokenWithSpan], places: &[usize], at: usize) -> bool {
    let word = |at: usize, text: &str| places.get(at).is_some_and(|p| is(&tokens[*p], text));
    if !(word(0, "insert") && word(1, "into")) {
        return false;
    }
    let mut depth = 0_usize;
    for before in 2..at {
        match tokens[places[before]].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(_) if depth == 0 => {
                let ends = ["select", "values", "default", "from", "with", "returning", "on"];
                if ends.iter().any(|text| word(before, text)) {
                    return false;
                }
            }
            _ => {}
        }
    }
    depth == 0
}

/// Puts a select list before the FROM at `from`: the one that follows it, or `*`.
fn select_first(tokens: &mut Vec<TokenWithSpan>, from: usize) {
    let span = tokens[from].span;
    let blank = |token| TokenWithSpan { token, span };
    let space = || blank(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space));
    let Some(select) = find(tokens, from + 1, &|word| word == Keyword::SELECT) else {
        let select = blank(keyword_token("SELECT", Keyword::SELECT));
        tokens.splice(from..from, [select, space(), blank(Token::Mul), space()]);
        return;
    };
    let end = find(tokens, select + 1, &|word| LIST_ENDS.contains(&word));
    let end = end.unwrap_or_else(|| end_of_query(tokens, select + 1));
    // Of three parts, FROM, the list and the rest, the first two change places.
    let mut moved: Vec<TokenWithSpan> = tokens[select..end].to_vec();
    moved.push(space());
    moved.extend_from_slice(&tokens[from..select]);
    tokens.splice(from..end, moved);
}

/// The first word from `start` on for which `wanted` holds, in no parenthesis, before the query's
/// end and before a set operation.
fn find(tokens: &[TokenWithSpan], start: usize, wanted: &dyn Fn(Keyword) -> bool) -> Option<usize> {
    let sets = [Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT];
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth == 0 => return None,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::Word(word) if depth == 0 && word.quote_style.is_none() => {
                if wanted(word.keyword) {
                    return Some(at);
                }
                if sets.contains(&word.keyword) {
                    return None;
                }
            }
            _ => {}
        }
    }
    None
}

/// Position of the parenthesis that closes the query in which `start` is, or of the end.
fn end_of_query(tokens: &[TokenWithSpan], start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return at,
            Token::RParen => depth -= 1,
            Token::EOF => return at,
            _ => {}
        }
    }
    tokens.len()
}
