//! ATTACH and DETACH PARTITION, and bounds of partitions.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, expect, peek_word, word, words};

/// FOR VALUES.
#[derive(Clone, Debug)]
pub(crate) enum BoundTree {
    Default,
    In(Vec<ast::Expr>),
    Range { from: Vec<RangeTree>, to: Vec<RangeTree> },
    Hash { modulus: u32, remainder: u32 },
}

/// End of a range in one column.
#[derive(Clone, Debug)]
pub(crate) enum RangeTree {
    Min,
    Max,
    Value(ast::Expr),
}

/// ATTACH and DETACH PARTITION.
#[derive(Clone, Debug)]
pub(crate) enum PartitionTree {
    Attach { parent: ast::ObjectName, table: ast::ObjectName, bound: BoundTree },
    Detach { parent: ast::ObjectName, table: ast::ObjectName },
    AttachIndex { index: ast::ObjectName, part: ast::ObjectName },
}

/// The statement, when it is one of these.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    if !peek_word(parser, 0, "alter") {
        return Ok(None);
    }
    let tree = if peek_word(parser, 1, "table") {
        parser.maybe_parse(alter_table)?
    } else if peek_word(parser, 1, "index") {
        parser.maybe_parse(alter_index)?
    } else {
        None
    };
    Ok(tree.map(|tree| SessionTree::Partition(Box::new(tree))))
}

fn alter_table(parser: &mut Parser<'_>) -> Parsed<PartitionTree> {
    words(parser, &["alter", "table"]);
    words(parser, &["if", "exists"]);
    word(parser, "only");
    let parent = parser.parse_object_name(false)?;
    if words(parser, &["attach", "partition"]) {
        let table = parser.parse_object_name(false)?;
        return Ok(PartitionTree::Attach { parent, table, bound: bound(parser)? });
    }
    expect(parser, "detach")?;
    expect(parser, "partition")?;
    let table = parser.parse_object_name(false)?;
    let _ = word(parser, "concurrently") || word(parser, "finalize");
    Ok(PartitionTree::Detach { parent, table })
}

fn alter_index(parser: &mut Parser<'_>) -> Parsed<PartitionTree> {
    words(parser, &["alter", "index"]);
    words(parser, &["if", "exists"]);
    let index = parser.parse_object_name(false)?;
    expect(parser, "attach")?;
    expect(parser, "partition")?;
    let part = parser.parse_object_name(false)?;
    Ok(PartitionTree::AttachIndex { index, part })
}

fn bound(parser: &mut Parser<'_>) -> Parsed<BoundTree> {
    if word(parser, "default") {
        return Ok(BoundTree::Default);
    }
    expect(parser, "for")?;
    expect(parser, "values")?;
    if word(parser, "in") {
        parser.expect_token(&Token::LParen)?;
        let values = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
        return Ok(BoundTree::In(values));
    }
    if word(parser, "with") {
        parser.expect_token(&Token::LParen)?;
        expect(parser, "modulus")?;
        let modulus = small(parser)?;
        parser.expect_token(&Token::Comma)?;
        expect(parser, "remainder")?;
        let remainder = small(parser)?;
        parser.expect_token(&Token::RParen)?;
        return Ok(BoundTree::Hash { modulus, remainder });
    }
    expect(parser, "from")?;
    let from = ends(parser)?;
    expect(parser, "to")?;
    Ok(BoundTree::Range { from, to: ends(parser)? })
}

fn small(parser: &mut Parser<'_>) -> Parsed<u32> {
    let number = parser.parse_literal_uint()?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

fn ends(parser: &mut Parser<'_>) -> Parsed<Vec<RangeTree>> {
    parser.expect_token(&Token::LParen)?;
    let ends = parser.parse_comma_separated(|parser| {
        Ok(if word(parser, "minvalue") {
            RangeTree::Min
        } else if word(parser, "maxvalue") {
            RangeTree::Max
        } else {
            RangeTree::Value(parser.parse_expr()?)
        })
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(ends)
}

impl From<&ast::ForValues> for BoundTree {
    fn from(values: &ast::ForValues) -> Self {
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let ends = |ends: &[ast::PartitionBoundValue]| {
            let end = |end: &ast::PartitionBoundValue| match end {
                ast::PartitionBoundValue::MinValue => RangeTree::Min,
                ast::PartitionBoundValue::MaxValue => RangeTree::Max,
                ast::PartitionBoundValue::Expr(expr) => RangeTree::Value(expr.clone()),
            };
            ends.iter().map(end).collect()
        };
        match values {
            ast::ForValues::Default => Self::Default,
            ast::ForValues::In(values) => Self::In(values.clone()),
            ast::ForValues::From { from, to } => Self::Range { from: ends(from), to: ends(to) },
            ast::ForValues::With { modulus, remainder } => {
                Self::Hash { modulus: small(*modulus), remainder: small(*remainder) }
            }
        }
    }
}
