//! GROUP BY and window frames: forms that are rewritten before the grammar sees them.
//!
//! - `ROLLUP (a, (b, c))`, `CUBE (...)`, `GROUPING SETS (...)` to calls of functions of these
//!   names, which may stand in each other, and `()` in them to `rollup()`,
//! - `GROUP BY ALL a` to `GROUP BY a`, `GROUP BY DISTINCT a` to [`DISTINCT_SETS`] before `a`,
//! - `GROUP BY ALL` to `GROUP BY` [`ALL_ITEMS`],
//! - `ROWS ... EXCLUDE TIES` to a first expression of PARTITION BY, whose name says it,
//! - `'1 day'::interval PRECEDING` to `('1 day'::interval) PRECEDING`.
//!
//! The binder knows the names (see `bind::group`, `bind::window`).

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::tokens::{is, significant};
use super::{is_keyword, keyword_token};

/// The name that stands before the items of GROUP BY DISTINCT.
pub(crate) const DISTINCT_SETS: &str = "group by distinct";

/// The name that stands for ALL where it is the only item of GROUP BY or ORDER BY.
pub(crate) const ALL_ITEMS: &str = "all items";

/// The name of the call that GROUPING SETS becomes.
pub(crate) const GROUPING_SETS: &str = "grouping sets";

/// Prefix of the names that EXCLUDE becomes.
pub(crate) const EXCLUDE: &str = "frame exclude ";

/// Words that end a GROUP BY.
const ENDS: [Keyword; 10] = [
    Keyword::HAVING,
    Keyword::WINDOW,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::FOR,
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
];

/// Rewrites the tokens of a statement.
pub(super) fn rewrite(tokens: &mut Vec<TokenWithSpan>) {
    let has = |text: &str| tokens.iter().any(|token| is(token, text));
    let (groups, frames) = (has("group"), has("preceding") || has("following"));
    let excludes = has("exclude");
    if groups {
        grouping_sets(tokens);
    }
    if frames {
        text_bounds(tokens);
    }
    if excludes {
        exclusions(tokens);
    }
}

fn named(name: &str, quote_style: Option<char>) -> Token {
    Token::Word(Word { value: name.to_owned(), quote_style, keyword: Keyword::NoKeyword })
}

/// Edit of a token: it goes, becomes another one, or gets others before it.
enum Edit {
    Drop(usize),
    Become(usize, Token),
    Before(usize, Vec<Token>),
}

/// Makes the edits, whose positions ascend.
fn apply(tokens: &mut Vec<TokenWithSpan>, edits: Vec<Edit>) {
    for edit in edits.into_iter().rev() {
        match edit {
            Edit::Drop(at) => {
                tokens.remove(at);
            }
            Edit::Become(at, token) => tokens[at].token = token,
            Edit::Before(at, list) => {
                let span = tokens[at].span;
                let list = list.into_iter().map(|token| TokenWithSpan { token, span });
                tokens.splice(at..at, list);
            }
        }
    }
}

/// Makes calls of the grouping sets of each GROUP BY.
fn grouping_sets(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let token = |at: usize| places.get(at).map(|place| &tokens[*place]);
    let word = |at: usize, text: &str| token(at).is_some_and(|token| is(token, text));
    let opens = |at: usize| token(at).is_some_and(|token| token.token == Token::LParen);
    let mut edits = Vec::new();
    // Depths at which a GROUP BY was met, innermost last.
    let (mut depth, mut clauses): (usize, Vec<usize>) = (0, Vec::new());
    for at in 0..places.len() {
        let place = places[at];
        if at >= 2 && word(at - 1, "by") && word(at - 2, "group") {
            clauses.push(depth);
            if word(at, "all") && ends_clause(token(at + 1)) {
                edits.push(Edit::Become(place, named(ALL_ITEMS, Some('"'))));
            } else if word(at, "all") {
                edits.push(Edit::Drop(place));
            } else if word(at, "distinct") {
                edits.push(Edit::Before(place, vec![named(DISTINCT_SETS, Some('"'))]));
                edits.push(Edit::Become(place, Token::Comma));
            }
        }
        match &tokens[place].token {
            Token::LParen => {
                let is_empty = token(at + 1).is_some_and(|next| next.token == Token::RParen);
                let is_item = at > 0
                    && (word(at - 1, "by")
                        || token(at - 1)
                            .is_some_and(|t| matches!(t.token, Token::Comma | Token::LParen)));
                if is_empty && is_item && !clauses.is_empty() {
                    edits.push(Edit::Before(place, vec![named("rollup", None)]));
                }
                depth += 1;
            }
            Token::RParen => {
                depth = depth.saturating_sub(1);
                clauses.retain(|clause| *clause <= depth);
            }
            Token::Word(found) if !clauses.is_empty() => {
                if clauses.last() == Some(&depth)
                    && ENDS.contains(&found.keyword)
                    && found.quote_style.is_none()
                {
                    clauses.pop();
                } else if (word(at, "rollup") || word(at, "cube")) && opens(at + 1) {
                    edits.push(Edit::Become(place, named(&found.value, None)));
                } else if word(at, "grouping") && word(at + 1, "sets") && opens(at + 2) {
                    edits.push(Edit::Become(place, named(GROUPING_SETS, None)));
                    edits.push(Edit::Drop(places[at + 1]));
                }
            }
            _ => {}
        }
    }
    apply(tokens, edits);
}

/// True when no item of GROUP BY follows: its end, or `token` that begins another clause.
fn ends_clause(token: Option<&TokenWithSpan>) -> bool {
    let Some(token) = token else { return true };
    match &token.token {
        Token::RParen => true,
        Token::Word(word) => {
            word.quote_style.is_none()
                && (ENDS.contains(&word.keyword) || word.keyword == Keyword::QUALIFY)
        }
        _ => false,
    }
}

/// Puts parentheses around bounds of frames that begin with a text, which the grammar takes for an
/// interval.
fn text_bounds(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let starts = ["between", "and", "rows", "range", "groups"];
    let mut edits = Vec::new();
    for (at, place) in places.iter().enumerate() {
        if !(is(&tokens[*place], "preceding") || is(&tokens[*place], "following")) {
            continue;
        }
        let mut depth = 0_usize;
        let before = places.get(..at).unwrap_or_default();
        let start = before.iter().rposition(|place| {
            match tokens[*place].token {
                Token::RParen => depth += 1,
                Token::LParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && starts.iter().any(|text| is(&tokens[*place], text))
        });
        let first = start.and_then(|start| places.get(start + 1));
        if let Some(first) = first
            && matches!(tokens[*first].token, Token::SingleQuotedString(_))
        {
            edits.push(Edit::Before(*first, vec![Token::LParen]));
            edits.push(Edit::Before(*place, vec![Token::RParen]));
        }
    }
    apply(tokens, edits);
}

/// Moves EXCLUDE of frames into PARTITION BY.
fn exclusions(tokens: &mut Vec<TokenWithSpan>) {
    // From the last one on, so that what is moved stays where it was found.
    let mut from = tokens.len();
    while let Some(found) = last_exclusion(tokens, from) {
        from = found.open;
        for place in found.words.iter().rev() {
            tokens.remove(*place);
        }
        let Some(what) = found.excluded else { continue };
        let marker = named(&format!("{EXCLUDE}{what}"), Some('"'));
        let list = if found.partitioned {
            vec![marker, Token::Comma]
        } else {
            let partition = keyword_token("PARTITION", Keyword::PARTITION);
            vec![partition, keyword_token("BY", Keyword::BY), marker]
        };
        apply(tokens, vec![Edit::Before(found.head, list)]);
    }
}

/// An EXCLUDE that was found in a window.
struct Exclusion {
    /// The parenthesis that opens the window.
    open: usize,
    /// The token before which PARTITION BY stands, or its first expression.
    head: usize,
    partitioned: bool,
    /// The words of the clause.
    words: Vec<usize>,
    /// Rows that are left out; None for NO OTHERS.
    excluded: Option<&'static str>,
}

/// The last EXCLUDE of a frame before token `end`.
fn last_exclusion(tokens: &[TokenWithSpan], end: usize) -> Option<Exclusion> {
    let places = significant(tokens);
    let word =
        |at: usize, text: &str| places.get(at).is_some_and(|place| is(&tokens[*place], text));
    let closes = |at: usize| places.get(at).is_some_and(|p| tokens[*p].token == Token::RParen);
    for at in (0..places.len()).rev().filter(|at| places[*at] < end && word(*at, "exclude")) {
        let (excluded, count) = match () {
            () if word(at + 1, "current") && word(at + 2, "row") => (Some("current row"), 3),
            () if word(at + 1, "no") && word(at + 2, "others") => (None, 3),
            () if word(at + 1, "group") => (Some("group"), 2),
            () if word(at + 1, "ties") => (Some("ties"), 2),
            () => continue,
        };
        if !closes(at + count) {
            continue;
        }
        let (mut depth, mut framed, mut open) = (0_usize, false, None);
        for before in (0..at).rev() {
            match tokens[places[before]].token {
                Token::RParen => depth += 1,
                Token::LParen if depth == 0 => {
                    open = Some(before);
                    break;
                }
                Token::LParen => depth -= 1,
                _ if depth == 0 => {
                    framed |= ["rows", "range", "groups"].iter().any(|text| word(before, text));
                }
                _ => {}
            }
        }
        let Some(open) = open.filter(|_| framed) else { continue };
        let begins = |at: usize| {
            ["partition", "order", "rows", "range", "groups"].iter().any(|text| word(at, text))
        };
        let first = if begins(open + 1) { open + 1 } else { open + 2 };
        let is_partition = |place: &usize| is_keyword(&tokens[*place], Keyword::PARTITION);
        let partitioned = places.get(first).is_some_and(is_partition);
        let head = if partitioned { first + 2 } else { first };
        return Some(Exclusion {
            open: places[open],
            head: *places.get(head)?,
            partitioned,
            words: places.get(at..at + count)?.to_vec(),
            excluded,
        });
    }
    None
}
