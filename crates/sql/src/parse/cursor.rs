//! Cursors, notifications, backups.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, at_end, expect, name, word, words};
use crate::words::{
    CursorForm, CursorHold, CursorOptions, CursorScroll, Fetch, FetchAction, FetchTo,
};

/// DECLARE up to its query.
pub(super) fn head(parser: &mut Parser<'_>) -> Parsed<(String, CursorOptions)> {
    expect(parser, "declare")?;
    let name = name(parser)?;
    let mut options = CursorOptions::default();
    loop {
        if words(parser, &["no", "scroll"]) {
            options.scroll = CursorScroll::No;
        } else if word(parser, "scroll") {
            options.scroll = CursorScroll::Yes;
        } else if word(parser, "binary") {
            options.form = CursorForm::Binary;
        } else if !["insensitive", "asensitive"].iter().any(|text| word(parser, text)) {
            break;
        }
    }
    expect(parser, "cursor")?;
    if words(parser, &["with", "hold"]) {
        options.hold = CursorHold::Session;
    } else {
        words(parser, &["without", "hold"]);
    }
    expect(parser, "for")?;
    Ok((name, options))
}

/// The statement, when it is about cursors, notifications or backups.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    let tree = if word(parser, "listen") {
        SessionTree::Listen(name(parser)?)
    } else if word(parser, "unlisten") {
        if parser.consume_token(&Token::Mul) {
            SessionTree::Unlisten(None)
        } else {
            SessionTree::Unlisten(Some(name(parser)?))
        }
    } else if word(parser, "notify") {
        let channel = name(parser)?;
        let payload = if parser.consume_token(&Token::Comma) {
            parser.parse_literal_string()?
        } else {
            String::new()
        };
        SessionTree::Notify(channel, payload)
    } else if word(parser, "fetch") {
        SessionTree::Fetch(fetch(parser, FetchAction::Fetch)?)
    } else if word(parser, "move") {
        SessionTree::Fetch(fetch(parser, FetchAction::Move)?)
    } else if word(parser, "close") {
        let all = word(parser, "all");
        SessionTree::CloseCursor(if all { None } else { Some(name(parser)?) })
    } else if words(parser, &["backup", "to"]) {
        SessionTree::Backup(parser.parse_literal_string()?)
    } else {
        return Ok(None);
    };
    Ok(Some(tree))
}

/// A signed number, if one comes next.
fn number(parser: &mut Parser<'_>) -> Parsed<Option<i64>> {
    let negative = parser.consume_token(&Token::Minus);
    if !negative {
        let _ = parser.consume_token(&Token::Plus);
    }
    let Token::Number(digits, _) = &parser.peek_token_ref().token else {
        return if negative {
            parser.expected_ref("a number", parser.peek_token_ref())
        } else {
            Ok(None)
        };
    };
    let value = digits.parse::<i64>();
    match value {
        Ok(value) => {
            parser.next_token();
            Ok(Some(if negative { -value } else { value }))
        }
        Err(_) => parser.expected_ref("a number", parser.peek_token_ref()),
    }
}

/// `[direction] [FROM | IN] name`.
fn fetch(parser: &mut Parser<'_>, action: FetchAction) -> Parsed<Fetch> {
    let to = direction(parser)?;
    let _ = word(parser, "from") || word(parser, "in");
    let name = name(parser)?;
    if !at_end(parser) {
        return parser.expected_ref("end of statement", parser.peek_token_ref());
    }
    Ok(Fetch { name, to, action })
}

fn direction(parser: &mut Parser<'_>) -> Parsed<FetchTo> {
    let simple = [
        ("next", FetchTo::Forward(1)),
        ("prior", FetchTo::Forward(-1)),
        ("first", FetchTo::Absolute(1)),
        ("last", FetchTo::Absolute(-1)),
        ("all", FetchTo::AllForward),
    ];
    // A cursor may have such a name.
    let is_alone = parser.peek_nth_token_ref(1).token == Token::EOF;
    if !is_alone && let Some((_, to)) = simple.iter().find(|(text, _)| word(parser, text)) {
        return Ok(*to);
    }
    for (text, make) in
        [("absolute", FetchTo::Absolute as fn(i64) -> FetchTo), ("relative", FetchTo::Relative)]
    {
        if !is_alone && word(parser, text) {
            return match number(parser)? {
                Some(count) => Ok(make(count)),
                None => parser.expected_ref("a number", parser.peek_token_ref()),
            };
        }
    }
    for (text, sign, all) in
        [("forward", 1, FetchTo::AllForward), ("backward", -1, FetchTo::AllBackward)]
    {
        if !is_alone && word(parser, text) {
            if word(parser, "all") {
                return Ok(all);
            }
            return Ok(FetchTo::Forward(sign * number(parser)?.unwrap_or(1)));
        }
    }
    Ok(FetchTo::Forward(number(parser)?.unwrap_or(1)))
}
