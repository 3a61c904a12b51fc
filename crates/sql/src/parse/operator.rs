//! Where an operator ends that signs or a comment follow without a space: `1>-1`, `1>/*c*/2`.

use std::borrow::Cow;

use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer};

use super::{DIALECT, qualified};

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

/// The tokens with `<=>` and `<+>`, which the tokenizer takes for a comparison of MySQL and for
/// three operators, as operators of extensions.
pub(super) fn with_distances(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_sum = |three: &[TokenWithSpan]| match three {
        [less, plus, greater] => {
            (&less.token, &plus.token, &greater.token) == (&Token::Lt, &Token::Plus, &Token::Gt)
                && less.span.end == plus.span.start
                && plus.span.end == greater.span.start
        }
        _ => false,
    };
    let custom = |symbol: &str| Token::CustomBinaryOperator(symbol.to_owned());
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].token == Token::Spaceship {
            tokens[at].token = custom("<=>");
        } else if tokens[at].token == Token::Lt && tokens.get(at..at + 3).is_some_and(is_sum) {
            let end = tokens[at + 2].span.end;
            tokens[at] = TokenWithSpan {
                token: custom("<+>"),
                span: Span { start: tokens[at].span.start, end },
            };
            tokens.drain(at + 1..at + 3);
        }
        at += 1;
    }
    tokens
}

/// The operator in `OPERATOR(pg_catalog.op)`, which begins at `at_idx`, and the index after it;
/// those of extensions may be in any schema.
pub(super) fn named(tokens: &[TokenWithSpan], at_idx: usize) -> Option<(Token, usize)> {
    let is_blank = |token: &&TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let mut rest = tokens.iter().enumerate().skip(at_idx + 1).filter(|(_, t)| !is_blank(t));
    let mut next = || rest.next();
    let ((_, open), (_, schema), (_, period)) = (next()?, next()?, next()?);
    let ((_, operator), (end, close)) = (next()?, next()?);
    let is_catalog =
        matches!(&schema.token, Token::Word(word) if word.value.eq_ignore_ascii_case("pg_catalog"));
    let is_other =
        || matches!(schema.token, Token::Word(_)) && qualified::is_of_extensions(&operator.token);
    let is_form = open.token == Token::LParen
        && (is_catalog || is_other())
        && period.token == Token::Period
        && close.token == Token::RParen;
    is_form.then(|| (operator.token.clone(), end + 1))
}

/// Token that the characters of a text are a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Text,
    /// A string, or a name in quotes; whether a backslash takes the next character along.
    Quotes(char, bool),
    LineComment,
    /// How many comments are open.
    Comment(usize),
}

/// The text with comments that follow an operator at once as blanks: the tokenizer takes their
/// beginning for a part of the operator. All characters keep their places, but for those of a line
/// behind `&>` without a blank, which gets one: the tokenizer drops the character that follows.
pub(super) fn without_comments(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let follows = bytes
        .windows(3)
        .any(|three| is_operator(char::from(three[0])) && matches!(&three[1..], b"/*" | b"--"));
    let is_dropped = |three: &[u8]| three.starts_with(b"&>") && !three[2].is_ascii_whitespace();
    if !follows && !bytes.windows(3).any(is_dropped) {
        return Cow::Borrowed(text);
    }
    let mut blanked = String::with_capacity(text.len());
    let mut within = Within::Text;
    let mut before = ' ';
    let mut after_operator = false;
    let mut rest = text.char_indices();
    while let Some((at, ch)) = rest.next() {
        let here = &text[at..];
        let mut taken = ch.len_utf8();
        match within {
            Within::Text if here.starts_with("--") || here.starts_with("/*") => {
                taken = 2;
                after_operator = is_operator(before);
                let line = ch == '-';
                within = if line { Within::LineComment } else { Within::Comment(1) };
            }
            Within::Text if here.starts_with("&>") && !is_operator(before) => {
                blanked.push_str("&> ");
                rest.next();
                before = ' ';
                continue;
            }
            Within::Text if ch == '\'' || ch == '"' => {
                within = Within::Quotes(ch, ch == '\'' && matches!(before, 'e' | 'E'));
            }
            Within::Text if ch == '$' && !before.is_alphanumeric() => {
                taken = dollar_quoted(here).unwrap_or(taken);
            }
            Within::Quotes(_, true) if ch == '\\' => {
                taken += here[1..].chars().next().map_or(0, char::len_utf8);
            }
            Within::Quotes(quote, _) if ch == quote => within = Within::Text,
            Within::Comment(depth) if here.starts_with("/*") => {
                (taken, within) = (2, Within::Comment(depth + 1));
            }
            Within::Comment(depth) if here.starts_with("*/") => {
                taken = 2;
                within = if depth == 1 { Within::Text } else { Within::Comment(depth - 1) };
                blanked.push_str(if after_operator { "  " } else { "*/" });
                rest.next();
                before = ' ';
                continue;
            }
            Within::LineComment if ch == '\n' => within = Within::Text,
            _ => {}
        }
        let is_comment = matches!(within, Within::LineComment | Within::Comment(_));
        let part = &here[..taken];
        if is_comment && after_operator {
            blanked.extend(part.chars().map(|ch| if ch == '\n' { ch } else { ' ' }))
        } else {
            blanked.push_str(part)
        }
        if let Some(more) = part.chars().count().checked_sub(2) {
            rest.nth(more);
        }
        before = part.chars().next_back().unwrap_or(ch);
    }
    Cow::Owned(blanked)
}

/// Characters of operators.
fn is_operator(ch: char) -> bool {
    matches!(ch, '+' | '-' | '*' | '/' | '<' | '>' | '=') || WITH_SIGN.contains(&ch)
}

/// Bytes of the string `$tag$...$tag$` at the beginning of `text`.
pub(super) fn dollar_quoted(text: &str) -> Option<usize> {
    let tag_end = text[1..].find('$')? + 2;
    let tag = &text[..tag_end];
    let is_name = |ch: char| ch.is_alphanumeric() || ch == '_' || ch == '$';
    if !tag.chars().all(is_name) || tag[1..].starts_with(|ch: char| ch.is_ascii_digit()) {
        return None;
    }
    text[tag_end..].find(tag).map(|end| tag_end + end + tag_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_behind_operators_are_blanks() {
        let cases = [
            ("1>/*c*/2", "1>     2"),
            ("1>--it's\n2", "1>      \n2"),
            ("1>/*a/*b*/'*/2 /*c*/", "1>           2 /*c*/"),
            ("'>/*' || \"=--\" =/*'*/", "'>/*' || \"=--\" =     "),
            ("E'\\'>--' >--x", "E'\\'>--' >   "),
            ("$a$>--$a$ >--x", "$a$>--$a$ >   "),
        ];
        for (text, expected) in cases {
            assert_eq!(without_comments(text), expected);
        }
    }
}
