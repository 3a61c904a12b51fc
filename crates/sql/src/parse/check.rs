//! What is refused before the grammar sees it: text too deep to follow, and strings that the
//! grammar would take for names.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};
use types::{Error, Result, SqlState};

use super::{DEPTH_MAX, at_location, is_keyword, near};

/// Operators in a row between commas and parentheses. A chain of them is a tree as deep as it is
/// long, and dropping one recurses.
const CHAIN_MAX: usize = 5_000;

/// Refuses what the grammar would get wrong.
///
/// # Errors
/// 54001, 42601.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<()> {
    check_chains(tokens)?;
    check_numbers(tokens)?;
    check_strings(tokens)
}

/// Refuses operator chains so long that walking the tree could exhaust the stack, and CASE nested
/// so deeply that the parser would take one for a name.
fn check_chains(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut counts = vec![0usize];
    let mut cases = 0usize;
    for token in tokens {
        if is_keyword(token, Keyword::CASE) {
            cases += 1;
            if cases + counts.len() > DEPTH_MAX - 5 {
                return Err(too_deep());
            }
        } else if is_keyword(token, Keyword::END) {
            cases = cases.saturating_sub(1);
        }
        match &token.token {
            Token::Whitespace(_) | Token::EOF | Token::Number(..) => {}
            Token::LParen | Token::LBracket => counts.push(0),
            Token::RParen | Token::RBracket if counts.len() > 1 => {
                counts.pop();
            }
            Token::Comma | Token::Word(Word { keyword: Keyword::WHEN, .. }) => {
                if let Some(count) = counts.last_mut() {
                    *count = 0;
                }
            }
            _ => {
                let Some(count) = counts.last_mut() else {
                    continue;
                };
                *count += 1;
                if *count > CHAIN_MAX * 3 {
                    return Err(too_deep());
                }
            }
        }
    }
    Ok(())
}

/// Refuses words right behind numbers: `123abc` is none.
fn check_numbers(tokens: &[TokenWithSpan]) -> Result<()> {
    for pair in tokens.windows(2) {
        if let (Token::Number(digits, is_long), Token::Word(word)) =
            (&pair[0].token, &pair[1].token)
            && pair[0].span.end == pair[1].span.start
        {
            let long = if *is_long { "L" } else { "" };
            let junk = format!("{digits}{long}{}", word.value);
            let message = format!("trailing junk after numeric literal at or near \"{junk}\"");
            let error = Error::new(SqlState::SYNTAX_ERROR, message);
            return Err(match at_location(pair[0].span.start) {
                Some(at) => error.at(at),
                None => error,
            });
        }
    }
    Ok(())
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

/// Whether no string can stand behind this token.
fn begins_no_string(before: Option<&Token>, new_line: bool) -> bool {
    match before {
        Some(Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_)) => !new_line,
        Some(Token::Number(..) | Token::RBracket) => true,
        _ => false,
    }
}

/// 54001, for whatever nests deeper than the program follows.
pub(crate) fn too_deep() -> Error {
    Error::new(SqlState(*b"54001"), "stack depth limit exceeded")
        .with_hint("The statement nests too deeply or chains too many operators: split it.")
}
