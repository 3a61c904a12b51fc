//! COPY, whose options are open-ended.

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::name::folded;
use super::reader::words;
use super::{CopySource, CopyTree};

/// `COPY {table [(columns)] | (query)} {FROM | TO} {'path' | STDIN | STDOUT} [options]`.
pub(super) fn parse(parser: &mut Parser<'_>) -> Result<CopyTree, ParserError> {
    parser.expect_keyword(Keyword::COPY)?;
    let source = if parser.consume_token(&Token::LParen) {
        let query = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        CopySource::Query(query)
    } else {
        let name = parser.parse_object_name(false)?;
        let mut columns = Vec::new();
        if parser.consume_token(&Token::LParen) {
            columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
        }
        CopySource::Table(name, columns)
    };
    let from = parser.expect_one_of_keywords(&[Keyword::FROM, Keyword::TO])? == Keyword::FROM;
    let standard = if from { Keyword::STDIN } else { Keyword::STDOUT };
    let path =
        if parser.parse_keyword(standard) { None } else { Some(parser.parse_literal_string()?) };
    let options = options(parser)?;
    let condition =
        if parser.parse_keyword(Keyword::WHERE) { Some(parser.parse_expr()?) } else { None };
    Ok(CopyTree { source, from, path, options, condition })
}

fn options(parser: &mut Parser<'_>) -> Result<Vec<(ast::Ident, String)>, ParserError> {
    let _ = parser.parse_keyword(Keyword::WITH);
    if parser.consume_token(&Token::LParen) {
        let options = parser.parse_comma_separated(option)?;
        parser.expect_token(&Token::RParen)?;
        return Ok(options);
    }
    // The old form: `CSV HEADER DELIMITER [AS] '|' NULL [AS] '' QUOTE '"' FORCE QUOTE a, b`.
    let mut options = Vec::new();
    while let Token::Word(word) = parser.peek_token_ref().token.clone() {
        if word.keyword == Keyword::WHERE {
            break;
        }
        if let Some(option) = forced(parser)? {
            options.push(option);
            continue;
        }
        parser.next_token();
        let name = match word.value.to_lowercase() {
            name if name == "delimiters" => ast::Ident::new("delimiter"),
            name => ast::Ident::new(name),
        };
        let _ = parser.parse_keyword(Keyword::AS);
        match word.keyword {
            Keyword::CSV | Keyword::BINARY => options.push((ast::Ident::new("format"), name.value)),
            _ => match parser.peek_token_ref().token {
                Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) => {
                    let value = parser.parse_literal_string()?;
                    options.push((name, value));
                }
                _ => options.push((name, "true".to_owned())),
            },
        }
    }
    Ok(options)
}

fn option(parser: &mut Parser<'_>) -> Result<(ast::Ident, String), ParserError> {
    let mut name = parser.parse_identifier()?;
    name.value.make_ascii_lowercase();
    let value = match parser.peek_token_ref().token {
        Token::Comma | Token::RParen => "true".to_owned(),
        Token::LParen => {
            parser.expect_token(&Token::LParen)?;
            let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
            let names: Vec<String> = columns.iter().map(folded).collect();
            names.join(",")
        }
        _ => match parser.next_token().token {
            Token::Word(word) => word.value.to_lowercase(),
            Token::Number(digits, _) => digits,
            Token::SingleQuotedString(text)
            | Token::EscapedStringLiteral(text)
            | Token::NationalStringLiteral(text) => text,
            Token::Mul => "*".to_owned(),
            _ => {
                parser.prev_token();
                return parser.expected_ref("an option value", parser.peek_token_ref());
            }
        },
    };
    Ok((name, value))
}

/// `FORCE {QUOTE {columns | *} | [NOT] NULL columns}` of the old form.
fn forced(parser: &mut Parser<'_>) -> Result<Option<(ast::Ident, String)>, ParserError> {
    let forms = [
        (&["force", "quote"][..], "force_quote"),
        (&["force", "not", "null"], "force_not_null"),
        (&["force", "null"], "force_null"),
    ];
    let Some((_, name)) = forms.iter().find(|(form, _)| words(parser, form)) else {
        return Ok(None);
    };
    let name = ast::Ident::new(*name);
    if parser.consume_token(&Token::Mul) {
        return Ok(Some((name, "*".to_owned())));
    }
    let columns = parser.parse_comma_separated(Parser::parse_identifier)?;
    let names: Vec<String> = columns.iter().map(folded).collect();
    Ok(Some((name, names.join(","))))
}
