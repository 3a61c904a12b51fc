//! PostgreSQL's dialect as sqlparser has it, with what that leaves out: strings that continue on
//! the next line, prefix signs that bind tighter than `^`, and VALUES as a scalar sub-query.

use std::any::TypeId;

use sqlparser::ast;
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Word};

const BASE: PostgreSqlDialect = PostgreSqlDialect {};

/// Precedence of prefix `+` and `-`: above COLLATE, below subscripts and `::`.
const SIGN_PRECEDENCE: u8 = 125;

/// The dialect of the parser.
#[derive(Clone, Copy, Debug)]
pub(super) struct TesseraDialect;

/// Methods that answer as PostgreSQL's dialect does.
macro_rules! as_base {
    ($($name:ident),* $(,)?) => {
        $(fn $name(&self) -> bool {
            BASE.$name()
        })*
    };
}

impl Dialect for TesseraDialect {
    /// The parser asks for the dialect by its type in places.
    fn dialect(&self) -> TypeId {
        BASE.dialect()
    }

    fn supports_string_literal_concatenation_with_newline(&self) -> bool {
        true
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<ast::Expr, ParserError>> {
        let op = match &parser.peek_token_ref().token {
            Token::Minus => ast::UnaryOperator::Minus,
            Token::Plus => ast::UnaryOperator::Plus,
            Token::Word(word) if is_current_role(word) && !opens_call(parser) => {
                let Token::Word(word) = parser.next_token().token else { return None };
                return Some(Ok(niladic(word)));
            }
            Token::Word(word) if is_packed(word) && is_string(parser) => {
                return Some(typed_string(parser));
            }
            Token::LParen if is_values(parser) || is_combined(parser) => {
                return Some(parse_query(parser));
            }
            // Within the parentheses of `= ANY (VALUES (1), (2))`.
            Token::Word(word) if word.keyword == Keyword::VALUES && opens_call(parser) => {
                return Some(parser.parse_query().map(ast::Expr::Subquery));
            }
            _ => return None,
        };
        parser.next_token();
        let operand = parser.parse_subexpr(SIGN_PRECEDENCE);
        Some(operand.map(|expr| ast::Expr::UnaryOp { op, expr: Box::new(expr) }))
    }

    /// COLLATE behind what is no plain operand: `'a'::text COLLATE "C"`.
    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &ast::Expr,
        precedence: u8,
    ) -> Option<Result<ast::Expr, ParserError>> {
        if !parser.parse_keyword(Keyword::COLLATE) {
            return BASE.parse_infix(parser, expr, precedence);
        }
        let expr = Box::new(expr.clone());
        let name = parser.parse_object_name(false);
        Some(name.map(|collation| ast::Expr::Collate { expr, collation }))
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        BASE.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        BASE.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        BASE.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        BASE.is_identifier_part(ch)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        BASE.is_reserved_for_identifier(keyword)
    }

    fn is_table_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        BASE.is_table_alias(keyword, parser)
    }

    /// Reserves the words that PostgreSQL reserves behind an expression: `SELECT 1 ON CONFLICT`.
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        let reserved = [Keyword::ON, Keyword::FOR, Keyword::WINDOW];
        !reserved.contains(keyword) && BASE.is_column_alias(keyword, parser)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        BASE.is_custom_operator_part(ch)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        BASE.get_next_precedence(parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        BASE.prec_value(precedence)
    }

    fn supports_select_wildcard_exclude(&self) -> bool {
        true
    }

    fn supports_select_wildcard_replace(&self) -> bool {
        true
    }

    fn supports_select_wildcard_rename(&self) -> bool {
        true
    }

    as_base! {
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        supports_group_by_expr,
        supports_alter_user_as_alter_role,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_listen_notify,
        supports_exclude_constraint,
        supports_factorial_operator,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_colon_operator,
        supports_named_fn_args_with_expr_name,
        supports_empty_projections,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_numeric_literal_underscores,
        supports_array_typedef_with_brackets,
        supports_geometric_types,
        supports_order_by_using_operator,
        supports_set_names,
        supports_alter_column_type_using,
        supports_left_associative_joins_without_parens,
        supports_notnull_operator,
        supports_interval_options,
        supports_insert_table_alias,
        supports_create_table_like_parenthesized,
        supports_select_wildcard_with_alias,
        supports_comma_separated_trim,
        supports_xml_expressions,
        supports_aliased_function_args,
        supports_comment_optimizer_hint,
    }
}

/// CURRENT_ROLE, which the grammar lacks among functions without parentheses.
fn is_current_role(word: &Word) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("current_role")
}

/// The name of a packed type, with or without quotes.
fn is_packed(word: &Word) -> bool {
    types::PackedType::called(&word.value.to_ascii_lowercase()).is_some()
        && word.keyword != Keyword::BIT
}

/// True when a string follows the next word.
fn is_string(parser: &Parser<'_>) -> bool {
    matches!(parser.peek_nth_token_ref(1).token, Token::SingleQuotedString(_))
}

/// `inet '...'`, which the grammar has for types that it knows.
fn typed_string(parser: &mut Parser<'_>) -> Result<ast::Expr, ParserError> {
    Ok(ast::Expr::TypedString(ast::TypedString {
        data_type: parser.parse_data_type()?,
        value: parser.parse_value()?,
        uses_odbc_syntax: false,
    }))
}

fn opens_call(parser: &Parser<'_>) -> bool {
    parser.peek_nth_token_ref(1).token == Token::LParen
}

fn niladic(word: Word) -> ast::Expr {
    ast::Expr::Function(ast::Function {
        name: ast::ObjectName::from(vec![ast::Ident::new(word.value)]),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::None,
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// True before `(VALUES (`.
fn is_values(parser: &Parser<'_>) -> bool {
    let is = |at: usize, token: Token| parser.peek_nth_token_ref(at).token == token;
    let word = &parser.peek_nth_token_ref(1).token;
    matches!(word, Token::Word(word) if word.keyword == Keyword::VALUES) && is(2, Token::LParen)
}

/// Parentheses in a row that may stand before the first query of a combined one.
const OPEN_MAX: usize = 16;

/// True before `((SELECT ...) UNION ...`, a query in whose parentheses others are.
fn is_combined(parser: &Parser<'_>) -> bool {
    let token = |at: usize| &parser.peek_nth_token_ref(at).token;
    let Some(first) = (1..OPEN_MAX).find(|at| *token(*at) != Token::LParen) else { return false };
    let begins = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES];
    if first < 2 || !matches!(token(first), Token::Word(word) if begins.contains(&word.keyword)) {
        return false;
    }
    // Past the opening parenthesis and the end of the one behind it.
    let (mut at, mut depth, mut opened) = (parser.index(), 0_usize, 0_usize);
    loop {
        match parser.token_at(at).token {
            Token::EOF => return false,
            Token::LParen => {
                depth += 1;
                opened += 1;
            }
            Token::RParen => {
                depth = depth.saturating_sub(1);
                if depth <= 1 {
                    break;
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut next = at + 1;
    while matches!(parser.token_at(next).token, Token::Whitespace(_)) {
        next += 1;
    }
    let follows = [
        Keyword::UNION,
        Keyword::INTERSECT,
        Keyword::EXCEPT,
        Keyword::ORDER,
        Keyword::LIMIT,
        Keyword::OFFSET,
        Keyword::FETCH,
    ];
    let word = &parser.token_at(next).token;
    opened > 1 && matches!(word, Token::Word(word) if follows.contains(&word.keyword))
}

fn parse_query(parser: &mut Parser<'_>) -> Result<ast::Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(ast::Expr::Subquery(query))
}
