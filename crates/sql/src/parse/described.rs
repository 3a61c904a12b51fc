//! Questions of DuckDB's users to a database about itself: DESCRIBE, SUMMARIZE, SHOW TABLES.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::SessionTree;
use super::reader::{Parsed, peek_word, word, words};

/// Query that is asked about.
#[derive(Clone, Debug)]
pub(crate) enum DescribedQuery {
    /// All of a relation, or of a file in quotes.
    Relation(ast::ObjectName),
    Query(Box<ast::Query>),
}

/// DESCRIBE, SUMMARIZE, or a list of objects.
#[derive(Clone, Debug)]
pub(crate) enum DescribedTree {
    /// Columns of a query.
    Describe(DescribedQuery),
    /// Figures of the values in the columns of a query.
    Summarize(DescribedQuery),
    /// Objects that a query lists.
    List(&'static str),
}

/// Lists, and the queries for them.
const LISTS: [(&[&str], &str); 4] = [
    (
        &["show", "tables"],
        "SELECT c.relname AS name FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'v', 'm', 'p') AND pg_catalog.pg_table_is_visible(c.oid) \
         AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1",
    ),
    (
        &["show", "all", "tables"],
        "SELECT current_database() AS database, n.nspname AS schema, c.relname AS name, \
         CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' \
         ELSE 'table' END AS kind, \
         c.relpersistence = 't' AS temporary FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'v', 'm', 'p') \
         AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 2, 3",
    ),
    (
        &["show", "databases"],
        "SELECT datname AS database_name FROM pg_catalog.pg_database WHERE NOT datistemplate \
         ORDER BY 1",
    ),
    (&["show", "schemas"], "SELECT nspname AS schema_name FROM pg_catalog.pg_namespace ORDER BY 1"),
];

/// The statement, when it is one of these.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<SessionTree>> {
    for (phrase, query) in LISTS {
        let ends = parser.peek_nth_token_ref(phrase.len()).token == Token::EOF;
        if ends && words(parser, phrase) {
            return Ok(Some(SessionTree::Described(Box::new(DescribedTree::List(query)))));
        }
    }
    let tree = if word(parser, "describe") || word(parser, "desc") {
        DescribedTree::Describe(described(parser)?)
    } else if word(parser, "summarize") {
        DescribedTree::Summarize(described(parser)?)
    } else {
        return Ok(None);
    };
    Ok(Some(SessionTree::Described(Box::new(tree))))
}

fn described(parser: &mut Parser<'_>) -> Parsed<DescribedQuery> {
    let begins = ["select", "with", "values"].iter().any(|text| peek_word(parser, 0, text));
    if begins || parser.peek_token_ref().token == Token::LParen {
        return Ok(DescribedQuery::Query(parser.parse_query()?));
    }
    // A table may be called so, but then it stands alone.
    if parser.peek_nth_token_ref(1).token != Token::EOF {
        word(parser, "table");
    }
    Ok(DescribedQuery::Relation(parser.parse_object_name(false)?))
}
