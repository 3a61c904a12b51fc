//! Refuses text before the grammar sees it: too deep to follow, or with strings that the
//! grammar would take for names.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};
use types::stack::{LEVELS_MAX, too_deep};
use types::{Error, Result, SqlState};

use super::{DEPTH_MAX, at_location, near};

/// Refuses what the grammar would get wrong.
///
/// # Errors
/// 54001, 42601.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<()> {
    check_explains(tokens)?;
    check_chains(tokens)?;
    check_numbers(tokens)?;
    check_strings(tokens)
}

/// Refuses EXPLAIN of EXPLAIN, which the grammar would follow without end.
fn check_explains(tokens: &[TokenWithSpan]) -> Result<()> {
    let (mut explains, mut depth) = (0, 0usize);
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) => {}
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            Token::Word(Word { keyword: Keyword::ANALYZE | Keyword::VERBOSE, .. }) => {}
            Token::Word(Word { keyword: Keyword::EXPLAIN, value, .. }) => {
                explains += 1;
                if explains == 2 {
                    return Err(near(value, at_location(token.span.start)));
                }
            }
            _ => break,
        }
    }
    Ok(())
}

/// Refuses text whose tree would have more levels than the program follows: parentheses and CASE
/// inside of each other, and operators in a row between commas and parentheses, which make a tree
/// as deep as they are many.
fn check_chains(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut counts = vec![0usize];
    let mut cases = 0usize;
    for token in tokens {
        let counted = match &token.token {
            Token::LParen | Token::LBracket => {
                // A subscript is an operator, too.
                if let Some(count) = counts.last_mut() {
                    *count += usize::from(token.token == Token::LBracket);
                }
                counts.push(0);
                0
            }
            Token::RParen | Token::RBracket if counts.len() > 1 => {
                counts.pop();
                0
            }
            Token::Comma => {
                if let Some(count) = counts.last_mut() {
                    *count = 0;
                }
                0
            }
            Token::Word(Word { keyword, quote_style: None, .. }) => match keyword {
                Keyword::CASE => {
                    cases += 1;
                    0
                }
                Keyword::END => {
                    cases = cases.saturating_sub(1);
                    0
                }
                Keyword::WHEN => {
                    if let Some(count) = counts.last_mut() {
                        *count = 0;
                    }
                    0
                }
                _ => usize::from(is_operator(*keyword)),
            },
            token => usize::from(!is_operand(token)),
        };
        let chain = counts.last_mut().map_or(0, |count| {
            *count += counted;
            *count
        });
        if chain > LEVELS_MAX || counts.len() + cases > DEPTH_MAX {
            return Err(too_deep());
        }
    }
    Ok(())
}

/// True when the word joins operands, or follows one: each adds a level to the tree.
fn is_operator(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::AND
            | Keyword::OR
            | Keyword::NOT
            | Keyword::IS
            | Keyword::NOTNULL
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::SIMILAR
            | Keyword::BETWEEN
            | Keyword::IN
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::OVERLAPS
            | Keyword::UNION
            | Keyword::INTERSECT
            | Keyword::EXCEPT
            | Keyword::JOIN
    )
}

/// True when the token is an operand or a part of one, or nothing.
fn is_operand(token: &Token) -> bool {
    matches!(
        token,
        Token::Whitespace(_)
            | Token::EOF
            | Token::Number(..)
            | Token::Word(_)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::Period
            | Token::Placeholder(_)
    )
}

/// Refuses words right behind numbers: `123abc` is none, nor are `1_000` and `0x1F`.
fn check_numbers(tokens: &[TokenWithSpan]) -> Result<()> {
    for token in tokens {
        let junk = match &token.token {
            Token::Number(digits, _) => digits.find('_').map(|at| digits[..=at].to_owned()),
            Token::HexStringLiteral(digits) => {
                let columns = token.span.end.column.saturating_sub(token.span.start.column);
                let is_number = columns == digits.len() as u64 + 2;
                is_number.then(|| "0x".to_owned())
            }
            _ => None,
        };
        if let Some(junk) = junk {
            return Err(junk_at(&junk, token));
        }
    }
    for pair in tokens.windows(2) {
        if let (Token::Number(digits, is_long), Token::Word(word)) =
            (&pair[0].token, &pair[1].token)
            && pair[0].span.end == pair[1].span.start
        {
            let long = if *is_long { "L" } else { "" };
            let junk = format!("{digits}{long}{}", word.value);
            return Err(junk_at(&junk, &pair[0]));
        }
    }
    Ok(())
}

/// 42601 for what stands right behind a number.
fn junk_at(junk: &str, token: &TokenWithSpan) -> Error {
    let message = format!("trailing junk after numeric literal at or near \"{junk}\"");
    let error = Error::new(SqlState::SYNTAX_ERROR, message);
    match at_location(token.span.start) {
        Some(at) => error.at(at),
        None => error,
    }
}

/// Refuses strings that the grammar would take for the alias of what is before them: `AS 'a'`, and
/// a string behind another one on its line.
fn check_strings(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut before: Option<&Token> = None;
    let mut new_line = false;
    for token in tokens {
        match &token.token {
            Token::Whitespace(Whitespace::Newline) => {
                new_line = true;
                continue;
            }
            Token::Whitespace(_) => continue,
            Token::SingleQuotedString(text) if begins_no_string(before, new_line) => {
                let text = format!("'{}'", text.replace('\'', "''"));
                return Err(near(&text, at_location(token.span.start)));
            }
            _ => {}
        }
        before = Some(&token.token);
        new_line = false;
    }
    Ok(())
}

/// True when no string can stand behind this token.
fn begins_no_string(before: Option<&Token>, new_line: bool) -> bool {
    match before {
        Some(Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_)) => !new_line,
        Some(Token::Number(..) | Token::RBracket) => true,
        _ => false,
    }
}
