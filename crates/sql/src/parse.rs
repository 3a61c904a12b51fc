//! Text to syntax trees: statements, their places in the text, syntax errors.
//!
//! The grammar is sqlparser's for PostgreSQL; COPY, whose options are open-ended, is parsed here.

mod absent;
mod aggregate;
mod calls;
mod alter;
mod aside;
mod atomic;
mod check;
mod clauses;
mod collation;
mod comment;
mod copy;
mod current;
mod cursor;
mod database;
mod described;
mod dialect;
mod domain;
mod effect;
mod effectless;
mod elements;
mod error;
mod executed;
mod extension;
mod followed;
mod forms;
mod grant;
mod materialized;
mod missing;
mod name;
mod operator;
mod qualified;
mod partition;
mod quoted;
mod reader;
mod reserved;
mod role;
mod routine;
mod schema;
mod search;
mod sequence;
mod session;
mod setting;
mod shorthand;
mod shown;
mod silent;
mod storage;
mod tokens;
mod trigger;
mod two_phase;
mod typed;
mod user_type;
pub(crate) mod visit;
mod view;
mod wide;
mod wrapped;

pub(crate) use absent::{Absent, Form as AbsentForm, Kind as AbsentKind, Object as AbsentObject};
pub(crate) use aggregate::{CreateAggregateTree, OptionValue};
pub(crate) use alter::{IdentityChange, InheritTree, TableChange};
pub(crate) use aside::{Aside, Inference, LikeTree, Overriding};
pub use calls::{calls_in, relations_in};
pub(crate) use clauses::{ALL_ITEMS, DISTINCT_SETS, EXCLUDE, GROUPING_SETS};
pub(crate) use collation::{CollationOption, CollationSource, CollationTree};
pub(crate) use comment::{CommentTree, Commented};
pub(crate) use described::{DescribedQuery, DescribedTree};
pub(crate) use domain::{DomainAction, DomainClause, DomainTree};
pub use effect::Effect;
pub(crate) use effect::into_of;
pub(crate) use effectless::{
    Altered as AlteredKind, Effectless as EffectlessAction, EffectlessTree, Statistics, Switched,
};
pub use followed::{Followed, followed};
pub(crate) use forms::{JOIN_NAME, REPEATABLE, ROWS_FROM};
pub(crate) use materialized::data_clause;
pub(crate) use name::folded;
pub(crate) use partition::{BoundTree, PartitionTree, RangeTree};
pub use qualified::with_schemas;
pub use quoted::with_escapes;
pub(crate) use reserved::is_reserved;
pub(crate) use routine::{
    AlterRoutineTree, CreateRoutineTree, KindWord, ModeTree, ParameterTree, ReturnsTree,
    RoutineTree, TypeTree,
};
pub(crate) use search::{Cycle, RecursionClauses, Search, SearchOrder, recursion_clauses};
pub(crate) use sequence::SequenceOption;
pub(crate) use setting::{option_word, path_value, set_value};
pub(crate) use shorthand::BY_NAME;
pub use shown::{as_written, default_text, named_columns, names_in, query_in_schema, sequences_in};
pub(crate) use tokens::SPREAD;
pub(crate) use trigger::{CreateTriggerTree, TransitionTree, TriggerTree};
pub use typed::{collations_in, functions_in, types_in, with_literals};
pub(crate) use user_type::{AttributeTree, RangeAttribute};
pub(crate) use view::{Renamed, ViewAction, check_option};
pub(crate) use visit::{rewrite_queries, rewrite_query};

use error::{lexical_error, near, syntax_error};

use std::ops::Range;
use std::sync::Arc;

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Word};
use types::stack::{self, Deep};
use types::{Error, Position, Result, SqlState};

use crate::algebra::BusFunction;
use crate::words::{
    Chain, CollationStatement, ConstraintMode, CursorOptions, DatabaseStatement, Discard,
    DropBehaviour, ExtensionStatement, Fetch, IfExists, IfMissing, LockWait, Persistence,
    PreparedEnd, PrivilegeStatement, RoleStatement, RoutineWord, RowLockStrength, SchemaStatement,
    SetScope, TableLockMode, TransactionModes, TypeStatement, VacuumAnalyze, VacuumFreeze,
};

/// Nesting that the parser follows; a sub-query takes three of it.
const DEPTH_MAX: usize = 20_000;

const DIALECT: dialect::TesseraDialect = dialect::TesseraDialect;

/// One statement of a text, parsed but not bound.
#[derive(Clone, Debug)]
pub struct ParsedStatement {
    /// Bytes of the whole text that the statement takes, without its semicolon.
    pub range: Range<usize>,
    /// The statement's own text.
    pub text: String,
    /// Where the statement begins in the whole text; positions of errors count from the whole text.
    pub start: Position,
    pub(crate) tree: Deep<Tree>,
}

/// Parsed statement.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Sql(Box<SqlTree>),
    Copy(Box<CopyTree>),
    Session(Box<SessionTree>),
    Prepare(Box<PrepareTree>),
    Declare(Box<DeclareTree>),
}

/// Tree of sqlparser, and the clauses that were taken out of the text before.
#[derive(Clone, Debug)]
pub(crate) struct SqlTree {
    pub(crate) statement: ast::Statement,
    /// True when it names a function of the message bus.
    pub(crate) calls_bus: bool,
    /// FOR UPDATE and its kin.
    pub(crate) locks: Vec<LockTree>,
    /// Other clauses.
    pub(crate) aside: Arc<Aside>,
}

/// FOR UPDATE [OF ...] [NOWAIT | SKIP LOCKED] and its kin.
#[derive(Clone, Debug)]
pub(crate) struct LockTree {
    pub(crate) strength: RowLockStrength,
    pub(crate) of: Vec<ast::Ident>,
    pub(crate) wait: LockWait,
    pub(crate) at: Option<Position>,
    /// The word SELECT that it belongs to, if there is one.
    pub(crate) select: Option<Position>,
    /// True when it is in parentheses.
    pub(crate) is_inner: bool,
}

/// PREPARE name (types) AS statement.
#[derive(Clone, Debug)]
pub(crate) struct PrepareTree {
    pub(crate) name: String,
    pub(crate) types: Vec<ast::DataType>,
    pub(crate) statement: ParsedStatement,
}

/// DECLARE name ... CURSOR ... FOR query.
#[derive(Clone, Debug)]
pub(crate) struct DeclareTree {
    pub(crate) name: String,
    pub(crate) options: CursorOptions,
    pub(crate) statement: ParsedStatement,
}

/// A statement that is parsed here: see `session`.
#[derive(Clone, Debug)]
pub(crate) enum SessionTree {
    Begin(TransactionModes),
    Commit(Chain),
    Rollback(Chain),
    PrepareTransaction(String),
    EndPrepared(PreparedEnd, String),
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    SetTransaction(TransactionModes),
    SetSessionTransaction(TransactionModes),
    LockTable {
        tables: Vec<ast::ObjectName>,
        mode: TableLockMode,
        wait: LockWait,
    },
    /// SET CONSTRAINTS; no names for ALL.
    SetConstraints {
        names: Option<Vec<ast::ObjectName>>,
        mode: ConstraintMode,
    },
    AlterTable {
        table: ast::ObjectName,
        if_missing: IfMissing,
        changes: Vec<TableChange>,
    },
    Execute {
        name: ast::Ident,
        arguments: Vec<ast::Expr>,
    },
    /// UPDATE or DELETE WHERE CURRENT OF a cursor: the statement without that.
    AtCursor {
        name: String,
        tree: Box<Tree>,
    },
    /// CREATE TABLE ... AS EXECUTE: the text before EXECUTE, and the text behind it.
    CreateExecuted {
        head: String,
        name: ast::Ident,
        arguments: Vec<ast::Expr>,
        tail: String,
    },
    Comment(Box<CommentTree>),
    /// CREATE SCHEMA with what it is to hold.
    SchemaElements(SchemaStatement, Vec<ParsedStatement>),
    /// DESCRIBE, SUMMARIZE, SHOW TABLES.
    Described(Box<DescribedTree>),
    /// Statements that change nothing, and ALTER of objects that have such actions.
    Effectless(Box<EffectlessTree>),
    /// About objects of kinds that there are none of.
    Absent(Absent),
    /// CREATE COLLATION.
    CreateCollation(Box<CollationTree>),
    /// ALTER and DROP COLLATION.
    Collation(CollationStatement),
    /// CREATE, ALTER, DROP DATABASE.
    Database(Box<DatabaseStatement>),
    /// CREATE, ALTER, DROP EXTENSION.
    Extension(ExtensionStatement),
    /// ALTER VIEW with options or a default.
    AlterView {
        name: ast::ObjectName,
        if_missing: IfMissing,
        action: ViewAction,
    },
    /// ATTACH and DETACH PARTITION.
    Partition(Box<PartitionTree>),
    /// ALTER VIEW ... RENAME, of the view or a column.
    RenameView(Renamed),
    Deallocate(Option<String>),
    Discard(Discard),
    Checkpoint,
    Vacuum {
        tables: Vec<GatheredTable>,
        freezing: VacuumFreeze,
        analyze: VacuumAnalyze,
    },
    /// ANALYZE; no tables for all.
    Analyze(Vec<GatheredTable>),
    CreateSequence {
        name: ast::ObjectName,
        if_exists: IfExists,
        persistence: Persistence,
        options: Vec<SequenceOption>,
    },
    AlterSequence {
        name: ast::ObjectName,
        if_missing: IfMissing,
        options: Vec<SequenceOption>,
    },
    RenameSequence {
        name: ast::ObjectName,
        if_missing: IfMissing,
        to: String,
    },
    Role(RoleStatement),
    Listen(String),
    /// UNLISTEN; None for all.
    Unlisten(Option<String>),
    Notify(String, String),
    Fetch(Fetch),
    /// CLOSE; None for all.
    CloseCursor(Option<String>),
    Backup(String),
    CreateWideTable {
        name: ast::ObjectName,
        fact: ast::ObjectName,
        if_exists: IfExists,
    },
    RefreshWideTable(ast::ObjectName),
    DropWideTable {
        names: Vec<ast::ObjectName>,
        if_missing: IfMissing,
        behaviour: DropBehaviour,
    },
    RefreshMaterialized {
        name: ast::ObjectName,
        concurrently: bool,
        without_data: bool,
    },
    DropMaterialized {
        names: Vec<ast::ObjectName>,
        if_missing: IfMissing,
        behaviour: DropBehaviour,
    },
    RenameMaterialized(Renamed),
    Privilege(PrivilegeStatement),
    /// GRANT and REVOKE on functions and procedures, which are named with their types.
    PrivilegeOnRoutines {
        statement: PrivilegeStatement,
        word: RoutineWord,
        routines: Vec<AbsentObject>,
    },
    Schema(SchemaStatement),
    Type(TypeStatement),
    CreateComposite(crate::words::RelationName, Vec<(ast::Ident, ast::DataType)>),
    AlterComposite(crate::words::RelationName, Vec<AttributeTree>),
    CreateRange(crate::words::RelationName, Vec<RangeAttribute>),
    Domain(Box<DomainTree>),
    Routine(Box<RoutineTree>),
    Trigger(TriggerTree),
    /// SET or, without a value, RESET of the role or the session's user.
    SetRole {
        name: String,
        value: Option<String>,
        scope: SetScope,
    },
}

/// A table of VACUUM or ANALYZE.
#[derive(Clone, Debug)]
pub(crate) struct GatheredTable {
    pub(crate) table: ast::ObjectName,
    /// The columns named of it; none for all.
    pub(crate) columns: Vec<ast::Ident>,
}

/// COPY.
#[derive(Clone, Debug)]
pub(crate) struct CopyTree {
    pub(crate) source: CopySource,
    pub(crate) from: bool,
    /// None is STDIN or STDOUT.
    pub(crate) path: Option<String>,
    pub(crate) options: Vec<(ast::Ident, String)>,
    /// WHERE.
    pub(crate) condition: Option<ast::Expr>,
}

/// Source of a COPY.
#[derive(Clone, Debug)]
pub(crate) enum CopySource {
    Table(ast::ObjectName, Vec<ast::Ident>),
    Query(Box<ast::Query>),
}

/// Parses every statement of `text`; empty ones between semicolons are left out.
///
/// # Errors
/// 42601 at the offending token, 54001 for nesting beyond what the program follows.
pub fn parse(text: &str) -> Result<Vec<ParsedStatement>> {
    stack::statement(stack::levels_in(text), || parse_all(text))
}

fn parse_all(text: &str) -> Result<Vec<ParsedStatement>> {
    let tokens = tokens_of(text)?;
    let index = LineIndex::new(text);
    let mut statements = Vec::new();
    for tokens in atomic::statements(&tokens) {
        types::budget::check()?;
        statements.extend(parse_statement(text, &index, tokens)?);
    }
    Ok(statements)
}

fn tokens_of(text: &str) -> Result<Vec<TokenWithSpan>> {
    let text = quoted::without_unicode(text)?;
    Tokenizer::new(&DIALECT, &operator::without_comments(&text))
        .tokenize_with_location()
        .map(operator::with_distances)
        .map_err(|error| lexical_error(&error))
}

/// Parses the statement that `tokens` of `text` are; None when there is nothing but blanks.
fn parse_statement(
    text: &str,
    index: &LineIndex<'_>,
    tokens: &[TokenWithSpan],
) -> Result<Option<ParsedStatement>> {
    let significant =
        |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_) | Token::EOF);
    let Some(first) = tokens.iter().find(significant) else {
        return Ok(None);
    };
    let Some(last) = tokens.iter().rev().find(significant) else {
        return Ok(None);
    };
    let range = index.offset(first.span.start)..index.offset(last.span.end);
    check::check(tokens)?;
    let tree = if is_keyword(first, Keyword::PREPARE) && !two_phase::prepares(tokens) {
        wrapped::prepare(text, index, tokens).map(|tree| Tree::Prepare(Box::new(tree)))
    } else if is_keyword(first, Keyword::DECLARE) {
        wrapped::declare(text, index, tokens).map(|tree| Tree::Declare(Box::new(tree)))
    } else {
        elements::parse(text, index, tokens).and_then(|tree| match tree {
            Some(tree) => Ok(tree),
            None => match atomic::as_string(text, index, tokens) {
                Some(tokens) => parse_tree(prepare(&tokens)),
                None => parse_tree(prepare(tokens)),
            },
        })
    };
    let tree = tree.map_err(|error| {
        let error = missing::explained(error, tokens);
        match at_location(last.span.end) {
            Some(end) => error.at(end),
            None => error,
        }
    })?;
    let own = text.get(range.clone()).unwrap_or_default();
    let levels = stack::levels_in(own);
    Ok(Some(ParsedStatement {
        text: own.to_owned(),
        range,
        start: position(first.span).unwrap_or(Position { line: 1, column: 1 }),
        tree: Deep::new(tree, levels),
    }))
}

/// Checks that `text` is one scalar expression, and nothing else.
///
/// # Errors
/// 42601 when it is not.
pub fn check_expression(text: &str) -> Result<()> {
    parse_expr(text).map(drop)
}

/// Parses one scalar expression, a column default say.
pub(crate) fn parse_expr(text: &str) -> Result<ast::Expr> {
    let levels = stack::levels_in(text);
    stack::require(levels)?;
    stack::statement(levels, || parse_one_expr(text))
}

fn parse_one_expr(text: &str) -> Result<ast::Expr> {
    let tokens = tokens_of(text)?;
    check::check(&tokens)?;
    let mut prepared = prepare(&tokens);
    clauses::rewrite(&mut prepared);
    let mut parser = parser(prepared);
    let expr = parser.parse_expr().map_err(syntax_error)?;
    expect_end(&parser)?;
    Ok(expr)
}

/// Parses one query, that of a view.
pub(crate) fn parse_query(text: &str) -> Result<ast::Query> {
    let mut statements = parse(text)?;
    match statements.pop().map(|statement| statement.tree.into_inner()) {
        Some(Tree::Sql(tree)) if statements.is_empty() => match tree.statement {
            ast::Statement::Query(query) => Ok(*query),
            _ => Err(Error::new(SqlState::SYNTAX_ERROR, "a view must be a query")),
        },
        _ => Err(Error::new(SqlState::SYNTAX_ERROR, "a view must be one query")),
    }
}

/// The place of a span; None for the empty span that some tree nodes carry.
pub(crate) fn position(span: Span) -> Option<Position> {
    at_location(span.start)
}

fn at_location(location: Location) -> Option<Position> {
    if location.line == 0 {
        return None;
    }
    let clamp = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    Some(Position { line: clamp(location.line), column: clamp(location.column) })
}

/// Byte offsets of line beginnings.
struct LineIndex<'a> {
    text: &'a str,
    /// Characters before each line.
    lines: Vec<usize>,
    /// Bytes before each character whose number is a multiple of [`STRIDE`].
    strides: Vec<usize>,
}

/// Characters between two places of which an index knows the bytes: a look-up walks over fewer.
const STRIDE: usize = 64;

impl<'a> LineIndex<'a> {
    fn new(text: &'a str) -> Self {
        let (mut lines, mut strides) = (vec![0], Vec::with_capacity(text.len() / STRIDE + 1));
        for (number, (at, character)) in text.char_indices().enumerate() {
            if number % STRIDE == 0 {
                strides.push(at);
            }
            if character == '\n' {
                lines.push(number + 1);
            }
        }
        Self { text, lines, strides }
    }

    /// The byte offset of a location, whose line and column count from 1.
    fn offset(&self, location: Location) -> usize {
        let line = usize::try_from(location.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(&start) = self.lines.get(line) else {
            return self.text.len();
        };
        let column = usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX);
        let number = start.saturating_add(column);
        let Some(&near) = self.strides.get(number / STRIDE) else {
            return self.text.len();
        };
        let rest = self.text.get(near..).unwrap_or_default();
        let found = rest.char_indices().nth(number % STRIDE);
        found.map_or(self.text.len(), |(at, _)| near + at)
    }
}

fn parser(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&DIALECT).with_recursion_limit(DEPTH_MAX).with_tokens_with_locations(tokens)
}

/// True for the name of a function of the message bus.
fn names_call(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(word) => BusFunction::from_name(&word.value.to_lowercase()).is_some(),
        _ => false,
    }
}

fn parse_tree(mut tokens: Vec<TokenWithSpan>) -> Result<Tree> {
    shorthand::rewrite(&mut tokens);
    clauses::rewrite(&mut tokens);
    search::rewrite(&mut tokens);
    if let Some(tree) = view::alter(&tokens)? {
        return Ok(tree);
    }
    if let Some(tree) = effectless::take_actions(&tokens, parse_tree)? {
        return Ok(tree);
    }
    let clauses = storage::take(&mut tokens)?;
    forms::rewrite(&mut tokens)?;
    let (mut aside, locks) = aside::take(&mut tokens).map_err(syntax_error)?;
    (aside.view_options, aside.without_data) = (clauses.options, clauses.without_data);
    let calls_bus = tokens.iter().any(names_call);
    let mut parser = parser(tokens);
    let first_lock = locks.first().and_then(|lock| lock.at);
    let tree = if parser.peek_keyword(Keyword::COPY) {
        Tree::Copy(Box::new(copy::parse(&mut parser).map_err(syntax_error)?))
    } else if let Some(tree) = session::parse(&mut parser).map_err(syntax_error)? {
        Tree::Session(Box::new(tree))
    } else {
        let mut statement = parser.parse_statement().map_err(syntax_error)?;
        aside.put(&mut statement);
        Tree::Sql(Box::new(SqlTree { statement, calls_bus, locks, aside: Arc::new(aside) }))
    };
    expect_end(&parser)?;
    match (&tree, first_lock) {
        (Tree::Sql(_), _) | (_, None) => Ok(tree),
        (_, Some(at)) => Err(Error::unsupported("locking rows in this statement").at(at)),
    }
}

fn expect_end(parser: &Parser<'_>) -> Result<()> {
    let token = parser.peek_token_ref();
    if token.token == Token::EOF {
        return Ok(());
    }
    Err(near(&token.token.to_string(), at_location(token.span.start)))
}

/// The tokens with forms rewritten that the grammar lacks:
/// - `BETWEEN SYMMETRIC` to `BETWEEN @-@`, a prefix operator that the binder takes off again (see
///   `bind::predicate`),
/// - `a ISNULL` to `a IS NULL`,
/// - `trim(BOTH FROM a)` to `trim(BOTH a)`,
/// - `TABLE t` as a query to `SELECT * FROM t`,
/// - `OPERATOR(pg_catalog.~)` to `~`,
/// - `>-` to `>` and `-`,
/// - `FROM ONLY t` to a name with a part more ([`ONLY`]),
/// - `(row).*` to `(row)."*"`, which the binder knows (see `bind::composite`),
/// - `CREATE TABLE t (a, b) AS` to one with types, which the binder ignores.
fn prepare(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut after_between = false;
    let mut prepared = Vec::with_capacity(tokens.len());
    let (untyped, mut passed_end) = (untyped_columns(tokens), 0);
    for (at_idx, token) in tokens.iter().enumerate() {
        let mut token = token.clone();
        passed_end = passed_end.max(silent::end(tokens, at_idx, &prepared).unwrap_or(0));
        if at_idx < passed_end {
            continue;
        }
        match &token.token {
            Token::Whitespace(_) => {}
            Token::Word(_) if silent::is_only(tokens, at_idx, &prepared) => {
                prepared.extend(spelled(only(), Span::empty()));
                continue;
            }
            Token::Mul if follows_field_of_value(&prepared) => {
                token.token = Token::make_word("*", Some('"'));
            }
            Token::CustomBinaryOperator(text) => {
                if let Some(parts) = operator::before_signs(text, token.span) {
                    prepared.extend(parts);
                    continue;
                }
            }
            Token::Word(word) if is_word(word, "operator") => {
                if let Some((operator, end)) = operator::named(tokens, at_idx) {
                    token.token = operator;
                    passed_end = end;
                }
            }
            Token::Word(word) if after_between && is_word(word, "symmetric") => {
                token.token = Token::AtDashAt;
                after_between = false;
            }
            Token::Word(word) if after_between && is_word(word, "asymmetric") => {
                after_between = false;
                continue;
            }
            Token::Word(word) if is_word(word, "isnull") && follows_value(&prepared) => {
                let is = keyword_token("IS", Keyword::IS);
                let null = keyword_token("NULL", Keyword::NULL);
                prepared.extend(spelled([is, null], token.span));
                continue;
            }
            // `f(VARIADIC a)` is read as `f(variadic => a)`, and with a name as [`SPREAD`].
            Token::Word(word) if is_word(word, "variadic") && begins_argument(&prepared) => {
                passed_end = tokens::spread(tokens, at_idx, &mut prepared);
                continue;
            }
            Token::Word(word) if word.keyword == Keyword::FROM && begins_trim(&prepared) => {
                continue;
            }
            Token::Word(_) if tokens::begins_table_query(tokens, at_idx) => {
                let select = keyword_token("SELECT", Keyword::SELECT);
                let from = keyword_token("FROM", Keyword::FROM);
                prepared.extend(spelled([select, Token::Mul, from], token.span));
                continue;
            }
            Token::Word(word) => after_between = word.keyword == Keyword::BETWEEN,
            _ => after_between = false,
        }
        let span = token.span;
        prepared.push(token);
        if untyped.contains(&at_idx) {
            prepared.push(TokenWithSpan { token: keyword_token("INT", Keyword::INT), span });
        }
    }
    prepared
}

/// The first part of the name of a table that is meant without its partitions.
pub(crate) const ONLY: &str = "\u{1}only";

/// [`ONLY`] in front of a name.
fn only() -> [Token; 2] {
    [Token::make_word(ONLY, Some('"')), Token::Period]
}

/// Tokens in the place of one at `span`.
fn spelled(
    tokens: impl IntoIterator<Item = Token>,
    span: Span,
) -> impl Iterator<Item = TokenWithSpan> {
    tokens.into_iter().map(move |token| TokenWithSpan { token, span })
}

fn is_word(word: &Word, text: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text)
}

/// True when a parenthesis follows token `at_idx`.
fn opens_call(tokens: &[TokenWithSpan], at_idx: usize) -> bool {
    let mut rest = tokens.iter().skip(at_idx + 1);
    rest.find(|token| !matches!(token.token, Token::Whitespace(_)))
        .is_some_and(|token| token.token == Token::LParen)
}

/// True when `before` ends in `).` or `].`: a field of a value is next.
fn follows_field_of_value(before: &[TokenWithSpan]) -> bool {
    let mut last = before.iter().rev().filter(|t| !matches!(t.token, Token::Whitespace(_)));
    last.next().is_some_and(|token| token.token == Token::Period)
        && last.next().is_some_and(|t| matches!(t.token, Token::RParen | Token::RBracket))
}

/// True when `before` ends in what may be the end of a value.
fn follows_value(before: &[TokenWithSpan]) -> bool {
    let last = before.iter().rev().find(|t| !matches!(t.token, Token::Whitespace(_)));
    last.is_some_and(|last| match &last.token {
        Token::Word(word) => {
            word.quote_style.is_some()
                || !is_reserved(&word.value.to_ascii_lowercase())
                || [Keyword::NULL, Keyword::TRUE, Keyword::FALSE, Keyword::END]
                    .contains(&word.keyword)
        }
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::RParen
        | Token::RBracket
        | Token::Placeholder(_) => true,
        _ => false,
    })
}

/// True behind what an argument of a call may follow.
fn begins_argument(before: &[TokenWithSpan]) -> bool {
    let last = before.iter().rev().find(|t| !matches!(t.token, Token::Whitespace(_)));
    last.is_some_and(|last| matches!(last.token, Token::LParen | Token::Comma))
}

/// True when `tokens` end in `trim(`, or that and BOTH, LEADING or TRAILING.
fn begins_trim(tokens: &[TokenWithSpan]) -> bool {
    let mut before = tokens
        .iter()
        .rev()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .skip_while(|token| {
            [Keyword::BOTH, Keyword::LEADING, Keyword::TRAILING]
                .iter()
                .any(|side| is_keyword(token, *side))
        });
    before.next().is_some_and(|token| token.token == Token::LParen)
        && before.next().is_some_and(|token| is_keyword(token, Keyword::TRIM))
}

fn is_keyword(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.keyword == keyword)
}

fn keyword_token(text: &str, keyword: Keyword) -> Token {
    Token::Word(Word { value: text.to_owned(), quote_style: None, keyword })
}

/// Indexes of the column names in `CREATE TABLE name (a, b) ... AS`; none in other statements.
fn untyped_columns(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let mut significant =
        tokens.iter().enumerate().filter(|(_, t)| !matches!(t.token, Token::Whitespace(_)));
    if !significant.next().as_ref().is_some_and(|(_, token)| is_keyword(token, Keyword::CREATE)) {
        return Vec::new();
    }
    let mut is_table = false;
    for (_, token) in significant.by_ref() {
        match &token.token {
            Token::Word(word) if word.keyword == Keyword::TABLE => is_table = true,
            // What follows is the query, whose calls have parentheses, too.
            Token::Word(word) if word.keyword == Keyword::AS => return Vec::new(),
            Token::Word(_) | Token::Period => {}
            Token::LParen if is_table => break,
            _ => return Vec::new(),
        }
    }
    let mut columns = Vec::new();
    loop {
        match (significant.next(), significant.next()) {
            (Some((at_idx, name)), Some((_, next))) if matches!(name.token, Token::Word(_)) => {
                columns.push(at_idx);
                match next.token {
                    Token::Comma => {}
                    Token::RParen => break,
                    _ => return Vec::new(),
                }
            }
            _ => return Vec::new(),
        }
    }
    if significant.any(|(_, token)| is_keyword(token, Keyword::AS)) { columns } else { Vec::new() }
}
