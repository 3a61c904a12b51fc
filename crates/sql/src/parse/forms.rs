//! Forms of statements that are rewritten to others before the grammar sees them.
//!
//! - `ALTER GROUP g ADD USER a` to `GRANT g TO a`, with DROP to `REVOKE g FROM a`,
//! - `RESET TIME ZONE` to `RESET timezone`, likewise the level of isolation,
//! - `a int UNIQUE NULLS NOT DISTINCT` to a constraint of the table,
//! - `INTERVAL(2) '...'` to `INTERVAL '...' SECOND(2)`,
//! - `INTERVAL '2' days` to `INTERVAL '2' AS days`: only six words are fields,
//! - `CREATE INDEX ON ONLY t` to a name with a part more ([`super::ONLY`]),
//! - `CREATE UNLOGGED SEQUENCE` to `CREATE SEQUENCE`,
//! - `CREATE RECURSIVE VIEW v (a) AS q` to a view of `WITH RECURSIVE v (a) AS (q) SELECT a FROM v`,
//! - `name 'a'` to `'a'::name`, likewise bpchar and "char",
//! - `INSERT DEFAULT VALUES` of MERGE to `INSERT VALUES (DEFAULT)`,
//! - `MERGE INTO t USING a JOIN b ON c ON d` to `USING (a JOIN b ON c) ON d`,
//! - `EXPLAIN DECLARE c CURSOR FOR SELECT ...` to `EXPLAIN SELECT ...`,
//! - `EXPLAIN (SELECT ...)` to `EXPLAIN (VERBOSE false) (SELECT ...)`,
//! - `USING (a) AS x` to `USING (a, x."using")`, which the binder takes apart (see `bind::from`),
//! - `ROWS FROM (f(a), g(b))` to a function of these calls (see `bind::table_function`),
//! - `TABLESAMPLE m (a) REPEATABLE (b)` to `TABLESAMPLE (m (a, "\u{1}repeatable" => b))`,
//! - `f(a) AS (b int)` to `f(a) AS f (b int)`,
//! - `substring(a SIMILAR b ESCAPE c)` to `substring(a FROM b FOR c)`,
//! - `t.*::text` to `(t.*)::text`,
//! - `COLLATION FOR (a)` to `pg_collation_for(a)`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};
use types::Result;

use super::keyword_token;
use super::tokens::{is, significant};

/// Words that the grammar takes for fields of an interval, and PostgreSQL does not.
const NO_FIELDS: [&str; 22] = [
    "centuries",
    "century",
    "day_hour",
    "days",
    "decade",
    "decades",
    "hours",
    "microsecond",
    "microseconds",
    "millennium",
    "millennia",
    "millenium",
    "millisecond",
    "milliseconds",
    "minutes",
    "months",
    "nanosecond",
    "nanoseconds",
    "quarter",
    "seconds",
    "week",
    "weeks",
];

/// Puts the joins that MERGE reads in parentheses.
fn joined_source(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let into = |at: usize| places.get(at + 1).is_some_and(|next| is(&tokens[*next], "into"));
    let mut merges = (0..places.len()).filter(|&at| is(&tokens[places[at]], "merge") && into(at));
    let Some(first) = merges.next() else { return };
    let (mut depth, mut cases) = (0usize, 0usize);
    let (mut source, mut condition, mut joins) = (None, None, false);
    for &at in &places[first..] {
        let token = &tokens[at];
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ if source.is_none() => source = is(token, "using").then_some(at),
            _ if is(token, "case") => cases += 1,
            _ if is(token, "end") => cases = cases.saturating_sub(1),
            _ if is(token, "when") && cases == 0 => break,
            _ if is(token, "join") => joins = true,
            _ if is(token, "on") => condition = Some(at),
            _ => {}
        }
    }
    if let (Some(source), Some(condition), true) = (source, condition, joins) {
        let parenthesis = |token, at: usize| TokenWithSpan { token, span: tokens[at].span };
        let (open, close) =
            (parenthesis(Token::LParen, source), parenthesis(Token::RParen, condition));
        tokens.insert(condition, close);
        tokens.insert(source + 1, open);
    }
}

/// Puts whole rows that are cast in parentheses.
fn cast_rows(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| token.token == Token::DoubleColon) {
        return;
    }
    let places = significant(tokens);
    let token = |at: usize| &tokens[places[at]].token;
    let is_cast = |at: &usize| {
        [Token::Period, Token::Mul, Token::DoubleColon]
            .iter()
            .zip(*at..)
            .all(|(t, at)| t == token(at))
    };
    let rows: Vec<usize> = (0..places.len().saturating_sub(2)).filter(is_cast).collect();
    for point in rows.into_iter().rev() {
        let mut first = point;
        while first > 0 && matches!(tokens[places[first - 1]].token, Token::Word(_)) {
            first -= 1;
            if first == 0 || tokens[places[first - 1]].token != Token::Period {
                break;
            }
            first -= 1;
        }
        let parenthesis = |token, at: usize| TokenWithSpan { token, span: tokens[at].span };
        let (open, close) = (places[first], places[point + 2]);
        let (before, behind) =
            (parenthesis(Token::LParen, open), parenthesis(Token::RParen, close));
        tokens.insert(close, behind);
        tokens.insert(open, before);
    }
}

/// Makes a call of COLLATION FOR.
fn collations_for(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    let is_call = |at: &usize| {
        let behind = places.get(at + 2).map(|place| &tokens[*place].token);
        word(*at, "collation") && word(at + 1, "for") && behind == Some(&Token::LParen)
    };
    let calls: Vec<usize> = (0..places.len()).filter(is_call).collect();
    for at in calls.into_iter().rev() {
        tokens[places[at]].token = name_token("pg_collation_for");
        tokens.remove(places[at + 1]);
    }
}

/// Rewrites the tokens of a statement.
///
/// # Errors
/// Errors of samples.
pub(super) fn rewrite(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    interval_digits(tokens);
    interval_names(tokens);
    typed_texts(tokens);
    definitions(tokens);
    explained_cursor(tokens);
    explained_query(tokens);
    join_names(tokens);
    rows_from(tokens);
    samples(tokens)?;
    unnamed_columns(tokens);
    similar_parts(tokens);
    cast_rows(tokens);
    joined_source(tokens);
    collations_for(tokens);
    let places = significant(tokens);
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    if word(0, "reset") && word(1, "time") && word(2, "zone") {
        tokens[places[1]].token = name_token("timezone");
        tokens.remove(places[2]);
    } else if word(0, "reset") && word(1, "transaction") && word(2, "isolation") {
        tokens[places[1]].token = name_token("transaction_isolation");
        tokens.truncate(places[2]);
    } else if word(0, "alter") && word(1, "group") && word(4, "user") {
        let added = word(3, "add");
        if added || word(3, "drop") {
            let (verb, keyword, to) = if added {
                ("GRANT", Keyword::GRANT, ("TO", Keyword::TO))
            } else {
                ("REVOKE", Keyword::REVOKE, ("FROM", Keyword::FROM))
            };
            tokens[places[0]].token = keyword_token(verb, keyword);
            tokens[places[3]].token = keyword_token(to.0, to.1);
            tokens.remove(places[4]);
            tokens.remove(places[1]);
        }
    } else if word(0, "create") && (1..5).any(|at| word(at, "table")) {
        lift_unique(tokens, &places);
        partition_columns(tokens);
    } else if word(0, "alter") && (word(1, "table") || word(1, "foreign")) {
        lift_added_unique(tokens, &places);
    }
    Ok(())
}

/// Gives `f(...) AS (a int, b text)` the function's name as its alias.
fn unnamed_columns(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    loop {
        let places = significant(tokens);
        let token = |at: usize| places.get(at).map(|at| &tokens[*at].token);
        let is_word = |at: usize| matches!(token(at), Some(Token::Word(_)));
        let begins_query = |at: usize| {
            let words = ["select", "values", "with", "insert", "update", "delete", "table"];
            places.get(at).is_some_and(|at| words.iter().any(|word| is(&tokens[*at], word)))
        };
        let is_list = |at: usize| {
            token(at) == Some(&Token::RParen)
                && places.get(at + 1).is_some_and(|at| is(&tokens[*at], "as"))
                && token(at + 2) == Some(&Token::LParen)
                && is_word(at + 3)
                && is_word(at + 4)
                && !begins_query(at + 3)
        };
        let Some(close) = (at..places.len()).find(|at| is_list(*at)) else { return };
        at = close + 1;
        let mut depth = 0_usize;
        let open = (0..=close).rev().find(|at| {
            match token(*at) {
                Some(Token::RParen) => depth += 1,
                Some(Token::LParen) => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let name = open.and_then(|open| token(open.checked_sub(1)?).cloned());
        let Some(name @ Token::Word(_)) = name else { continue };
        let span = tokens[places[close + 1]].span;
        tokens.insert(places[close + 1] + 1, TokenWithSpan { token: name, span });
    }
}

fn name_token(name: &str) -> Token {
    Token::Word(Word { value: name.to_owned(), quote_style: None, keyword: Keyword::NoKeyword })
}

/// Moves `UNIQUE NULLS NOT DISTINCT` of columns behind all columns.
fn lift_unique(tokens: &mut Vec<TokenWithSpan>, places: &[usize]) {
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    let (mut depth, mut begins, mut column) = (0_usize, false, None);
    let (mut lifted, mut close) = (Vec::new(), None);
    for (at, place) in places.iter().enumerate() {
        match tokens[*place].token {
            Token::LParen => {
                depth += 1;
                begins = depth == 1;
                continue;
            }
            Token::RParen => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    close = Some(*place);
                    break;
                }
            }
            Token::Comma if depth == 1 => {
                begins = true;
                continue;
            }
            Token::Word(_) if std::mem::take(&mut begins) => {
                let is_column = !["constraint", "unique", "primary", "check", "foreign", "like"]
                    .iter()
                    .any(|text| word(at, text));
                column = is_column.then_some(*place);
            }
            Token::Word(_) if depth == 1 && is_lifted(tokens, places, at) => {
                let Some(column) = column else { continue };
                lifted.push(Lifted::of(tokens, places, at, column));
            }
            _ => {}
        }
    }
    let Some(close) = close.filter(|_| !lifted.is_empty()) else { return };
    let comma = TokenWithSpan { token: Token::Comma, span: tokens[close].span };
    let moved = |lifted: &Lifted| [vec![comma.clone()], lifted.constraint(tokens)].concat();
    let behind: Vec<_> = lifted.iter().flat_map(moved).collect();
    tokens.splice(close..close, behind);
    remove_lifted(tokens, &lifted);
}

/// Moves `UNIQUE NULLS NOT DISTINCT` of columns that ALTER TABLE adds behind all its actions. With
/// IF NOT EXISTS it stays: the constraint is added only if the column is.
fn lift_added_unique(tokens: &mut Vec<TokenWithSpan>, places: &[usize]) {
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    let (mut depth, mut begins, mut column) = (0_usize, true, None);
    let (mut lifted, mut last) = (Vec::new(), None);
    for (at, place) in places.iter().enumerate() {
        match tokens[*place].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => begins = true,
            Token::Word(_) if depth == 0 && begins && at > 2 && word(at, "add") => {
                begins = false;
                let first = if word(at + 1, "column") { at + 2 } else { at + 1 };
                let is_column = !word(first, "if") && !is_constraint(tokens, places, first);
                column = places.get(first).copied().filter(|_| is_column);
            }
            Token::Word(_) if depth == 0 && is_lifted(tokens, places, at) => {
                let Some(column) = column else { continue };
                lifted.push(Lifted::of(tokens, places, at, column));
            }
            Token::SemiColon | Token::EOF => break,
            _ => {}
        }
        last = Some(*place);
    }
    let Some(last) = last.filter(|_| !lifted.is_empty()) else { return };
    let span = tokens[last].span;
    let add = [
        TokenWithSpan { token: Token::Comma, span },
        TokenWithSpan { token: keyword_token("ADD", Keyword::ADD), span },
    ];
    let moved = |lifted: &Lifted| [add.to_vec(), lifted.constraint(tokens)].concat();
    let behind: Vec<_> = lifted.iter().flat_map(moved).collect();
    tokens.splice(last + 1..last + 1, behind);
    remove_lifted(tokens, &lifted);
}

/// True for a word that a constraint of a table begins with.
fn is_constraint(tokens: &[TokenWithSpan], places: &[usize], at: usize) -> bool {
    let word = |text: &&str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    CONSTRAINTS.iter().any(word)
}

/// True where a column says UNIQUE NULLS [NOT] DISTINCT.
fn is_lifted(tokens: &[TokenWithSpan], places: &[usize], at: usize) -> bool {
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    word(at, "unique") && word(at + 1, "nulls")
}

/// A constraint of a column that becomes one of the table.
struct Lifted {
    column: usize,
    /// Places of its name and of UNIQUE NULLS [NOT] DISTINCT.
    words: Vec<usize>,
    /// Places of what says when it is tested.
    tested: Vec<usize>,
}

impl Lifted {
    /// Constraint of `column` whose UNIQUE is the word `at`.
    fn of(tokens: &[TokenWithSpan], places: &[usize], at: usize, column: usize) -> Self {
        let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
        let named = at >= 2 && word(at - 2, "constraint");
        let from = if named { at - 2 } else { at };
        let to = if word(at + 2, "not") { at + 4 } else { at + 3 };
        let mut end = to;
        loop {
            match end {
                _ if word(end, "deferrable") => end += 1,
                _ if word(end, "not") && word(end + 1, "deferrable") => end += 2,
                _ if word(end, "initially") => end += 2,
                _ => break,
            }
        }
        let places = |from: usize, to: usize| {
            let count = to.saturating_sub(from);
            places.iter().skip(from).take(count).copied().collect()
        };
        Self { column, words: places(from, to), tested: places(to, end) }
    }

    /// The constraint of the table.
    fn constraint(&self, tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
        let span = tokens[self.column].span;
        let all = |places: &[usize]| places.iter().map(|at| tokens[*at].clone()).collect();
        let column = [Token::LParen, tokens[self.column].token.clone(), Token::RParen];
        let column = column.map(|token| TokenWithSpan { token, span }).to_vec();
        [all(&self.words), column, all(&self.tested)].concat()
    }
}

/// Takes constraints of columns away that are constraints of the table by now, behind them.
fn remove_lifted(tokens: &mut Vec<TokenWithSpan>, lifted: &[Lifted]) {
    let places = lifted.iter().flat_map(|lifted| lifted.words.iter().chain(&lifted.tested));
    let mut places: Vec<usize> = places.copied().collect();
    places.sort_unstable();
    for at in places.into_iter().rev() {
        tokens.remove(at);
    }
}

/// Words that a constraint of a table begins with.
const CONSTRAINTS: [&str; 7] =
    ["constraint", "unique", "primary", "check", "foreign", "exclude", "like"];

/// Gives the columns that PARTITION OF lists a type, which the grammar asks for and the binder
/// ignores, and takes WITH OPTIONS away.
fn partition_columns(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    let token = |at: usize| places.get(at).map(|place| &tokens[*place].token);
    let is_head = |at: &usize| word(*at, "partition") && word(at + 1, "of");
    let Some(head) = (2..places.len()).find(is_head) else { return };
    let mut open = head + 3;
    while token(open) == Some(&Token::Period) {
        open += 2;
    }
    let Some(close) = closing(tokens, &places, open) else { return };
    if token(open) != Some(&Token::LParen) {
        return;
    }
    let (mut depth, mut columns) = (0_usize, Vec::new());
    for at in open..close {
        match token(at) {
            Some(Token::LParen) => depth += 1,
            Some(Token::RParen) => depth -= 1,
            _ => {}
        }
        let begins = depth == 1 && matches!(token(at), Some(Token::LParen | Token::Comma));
        let is_column = matches!(token(at + 1), Some(Token::Word(_)))
            && !CONSTRAINTS.iter().any(|text| word(at + 1, text));
        if begins && is_column {
            let has_options = word(at + 2, "with") && word(at + 3, "options");
            columns.push((at + 1, has_options));
        }
    }
    for (at, has_options) in columns.into_iter().rev() {
        let place = places[at];
        let span = tokens[place].span;
        if has_options {
            tokens.drain(places[at + 1]..=places[at + 2]);
        }
        let ty = TokenWithSpan { token: keyword_token("INT", Keyword::INT), span };
        tokens.insert(place + 1, ty);
    }
}

/// Puts the digits of an interval's seconds behind its text.
fn interval_digits(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    for at in (0..places.len().saturating_sub(4)).rev() {
        let [word, open, digits, close, text] = [0, 1, 2, 3, 4].map(|next| places[at + next]);
        let is_form = is(&tokens[word], "interval")
            && tokens[open].token == Token::LParen
            && matches!(tokens[digits].token, Token::Number(..))
            && tokens[close].token == Token::RParen
            && matches!(tokens[text].token, Token::SingleQuotedString(_));
        if is_form {
            let moved = tokens[open..=close].to_vec();
            let second = keyword_token("SECOND", Keyword::SECOND);
            let second = TokenWithSpan { token: second, span: tokens[text].span };
            tokens.splice(text + 1..text + 1, std::iter::once(second).chain(moved));
            tokens.drain(open..=close);
        }
    }
}

/// Puts AS before a word behind an interval that is no field of it.
fn interval_names(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let mut names = Vec::new();
    for at in 0..places.len().saturating_sub(2) {
        let is_text = |at: usize| matches!(tokens[places[at]].token, Token::SingleQuotedString(_));
        let is_no_field = |at: usize| NO_FIELDS.iter().any(|name| is(&tokens[places[at]], name));
        if is(&tokens[places[at]], "interval") && is_text(at + 1) && is_no_field(at + 2) {
            names.push(places[at + 2]);
        }
    }
    for at in names.into_iter().rev() {
        let token = TokenWithSpan { token: keyword_token("AS", Keyword::AS), ..tokens[at] };
        tokens.insert(at, token);
    }
}

/// Gives EXPLAIN an option before a query in parentheses, which are no options then.
fn explained_query(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let [explain, open, ..] = places.as_slice() else { return };
    if !is(&tokens[*explain], "explain") {
        return;
    }
    let inner = places[1..].iter().find(|at| tokens[**at].token != Token::LParen);
    let queries = ["select", "with", "values", "table"];
    let is_query = inner.is_some_and(|at| queries.iter().any(|word| is(&tokens[*at], word)));
    if tokens[*open].token == Token::LParen && is_query {
        let verbose = [Token::LParen, name_token("verbose"), name_token("false"), Token::RParen];
        let verbose = super::spelled(verbose, tokens[*open].span).collect::<Vec<_>>();
        tokens.splice(*open..*open, verbose);
    }
}

/// Takes the cursor from around the query of EXPLAIN DECLARE, which has the same plan.
fn explained_cursor(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    if !word(0, "explain") {
        return;
    }
    let mut declare = 1;
    if places.get(1).is_some_and(|at| tokens[*at].token == Token::LParen) {
        let Some(close) = closing(tokens, &places, 1) else { return };
        declare = close + 1;
    }
    while word(declare, "analyze") || word(declare, "verbose") {
        declare += 1;
    }
    let is_for = |at: &usize| word(*at, "for");
    // A name, six options at most, CURSOR, WITH HOLD.
    let last = (declare + 12).min(places.len());
    if word(declare, "declare")
        && let Some(query) = (declare + 3..last).find(is_for)
        && (declare + 2..query).any(|at| word(at, "cursor"))
    {
        tokens.drain(places[declare]..=places[query]);
    }
}

/// The second part of the name that stands for the alias of `USING (...)`.
pub(crate) const JOIN_NAME: &str = "using";

/// Moves the alias of `USING (a, b) AS x` into the parentheses.
fn join_names(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    for at in (0..places.len()).rev() {
        let token = |next: usize| places.get(at + next).map(|place| &tokens[*place].token);
        if !is(&tokens[places[at]], "using") || token(1) != Some(&Token::LParen) {
            continue;
        }
        let mut end = 2;
        while matches!(token(end), Some(Token::Word(_))) && token(end + 1) == Some(&Token::Comma) {
            end += 2;
        }
        let is_list = matches!(token(end), Some(Token::Word(_)))
            && token(end + 1) == Some(&Token::RParen)
            && places.get(at + end + 2).is_some_and(|place| is(&tokens[*place], "as"));
        if let (true, Some(Token::Word(name))) = (is_list, token(end + 3)) {
            let name = Token::Word(name.clone());
            let (close, alias) = (places[at + end + 1], places[at + end + 3]);
            let marked =
                [Token::Comma, name, Token::Period, Token::make_word(JOIN_NAME, Some('"'))];
            let marked = super::spelled(marked, tokens[alias].span).collect::<Vec<_>>();
            tokens.drain(close + 1..=alias);
            tokens.splice(close..close, marked);
        }
    }
}

/// The function that stands for ROWS FROM.
pub(crate) const ROWS_FROM: &str = "rows from";

/// Makes a function of ROWS FROM, whose arguments are the calls.
fn rows_from(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    for at in (1..places.len()).rev() {
        let token = |next: usize| places.get(at + next).map(|place| &tokens[*place]);
        let is_word_at = |next: usize, text: &str| token(next).is_some_and(|t| is(t, text));
        let is_name = |next: usize| token(next).is_some_and(|t| matches!(t.token, Token::Word(_)));
        let opens = |next: usize| token(next).is_some_and(|t| t.token == Token::LParen);
        let before = &tokens[places[at - 1]];
        let is_item = before.token == Token::Comma
            || ["from", "join", "lateral"].iter().any(|word| is(before, word));
        // A column called rows, and a sub-query or joined tables behind FROM, look alike.
        let is_query = ["select", "values", "with"].iter().any(|word| is_word_at(3, word));
        let is_call = opens(4) || token(4).is_some_and(|t| t.token == Token::Period) && opens(6);
        if is_item
            && is_word_at(0, "rows")
            && is_word_at(1, "from")
            && opens(2)
            && is_name(3)
            && is_call
            && !is_query
        {
            tokens[places[at]].token = Token::make_word(ROWS_FROM, Some('"'));
            tokens.remove(places[at + 1]);
        }
    }
}

/// The name that the seed of TABLESAMPLE has among the arguments of its method.
pub(crate) const REPEATABLE: &str = "\u{1}repeatable";

/// Makes a call of the method of TABLESAMPLE, with the seed among its arguments.
fn samples(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let mut behind = usize::MAX;
    loop {
        let places = significant(tokens);
        let is_sample = |at: &usize| *at < behind && is(&tokens[places[*at]], "tablesample");
        let Some(at) = (0..places.len()).rev().find(is_sample) else { return Ok(()) };
        behind = at;
        let token = |at: usize| places.get(at).map(|place| &tokens[*place].token);
        let open = (at + 2..at + 5).find(|at| token(*at) == Some(&Token::LParen));
        let close = open.and_then(|open| closing(tokens, &places, open));
        let (true, Some(close)) = (matches!(token(at + 1), Some(Token::Word(_))), close) else {
            let next = places.get(at + 1).unwrap_or(&places[at]);
            let near = super::near(&tokens[*next].token.to_string(), None);
            return Err(near);
        };
        let span = tokens[places[close]].span;
        let end = TokenWithSpan { token: Token::RParen, span };
        let is_seed = places.get(close + 1).is_some_and(|at| is(&tokens[*at], "repeatable"))
            && token(close + 2) == Some(&Token::LParen);
        match is_seed.then(|| closing(tokens, &places, close + 2)).flatten() {
            Some(seed_close) => {
                tokens.insert(places[seed_close] + 1, end);
                let name = Token::make_word(REPEATABLE, Some('"'));
                let list = super::spelled([Token::Comma, name, Token::RArrow], span);
                tokens.splice(places[close]..=places[close + 2], list.collect::<Vec<_>>());
            }
            None => tokens.insert(places[close] + 1, end),
        }
        let begin = TokenWithSpan { token: Token::LParen, span };
        tokens.insert(places[at] + 1, begin);
    }
}

/// Position in `places` of the parenthesis that closes the one at `open`.
fn closing(tokens: &[TokenWithSpan], places: &[usize], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..places.len()).find(|at| {
        match tokens[places[*at]].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// Writes SIMILAR and ESCAPE of `substring` as FROM and FOR, which mean the same of texts.
fn similar_parts(tokens: &mut [TokenWithSpan]) {
    let places = significant(tokens);
    // For each parenthesis around a token, whether it is one of such a call.
    let mut calls = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let is_to = |at: usize| places.get(at).is_some_and(|place| is(&tokens[*place], "to"));
        match &tokens[*place].token {
            Token::LParen => {
                calls.push(at > 0 && is(&tokens[places[at - 1]], "substring"));
                continue;
            }
            Token::RParen => {
                calls.pop();
                continue;
            }
            _ if calls.last() != Some(&true) => continue,
            _ => {}
        }
        if is(&tokens[*place], "similar") && !is_to(at + 1) {
            tokens[*place].token = keyword_token("FROM", Keyword::FROM);
        } else if is(&tokens[*place], "escape") {
            tokens[*place].token = keyword_token("FOR", Keyword::FOR);
        }
    }
}

/// Types whose names may stand before a text that is one of them, and no others do.
const TEXT_TYPES: [&str; 2] = ["name", "bpchar"];

/// Puts the types of texts behind them.
fn typed_texts(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    for at in (0..places.len().saturating_sub(1)).rev() {
        let Token::Word(word) = &tokens[places[at]].token else { continue };
        let is_type = match word.quote_style {
            Some(_) => word.value == "char",
            None => TEXT_TYPES.iter().any(|name| word.value.eq_ignore_ascii_case(name)),
        };
        let is_text = matches!(tokens[places[at + 1]].token, Token::SingleQuotedString(_));
        let begins = at == 0 || begins_value(&tokens[places[at - 1]].token);
        if is_type && is_text && begins {
            let mut ty = tokens[places[at]].clone();
            if ty.token == Token::make_word("char", Some('"')) {
                ty.token = name_token("name");
            }
            let cast = TokenWithSpan { token: Token::DoubleColon, span: ty.span };
            let behind = places[at + 1] + 1;
            tokens.splice(behind..behind, [cast, ty]);
            tokens.remove(places[at]);
        }
    }
}

/// True for what a value may follow, and no name of a column.
fn begins_value(before: &Token) -> bool {
    match before {
        Token::Word(word) => {
            [Keyword::SELECT, Keyword::WHEN, Keyword::THEN, Keyword::ELSE].contains(&word.keyword)
        }
        Token::LParen | Token::Comma | Token::Eq | Token::Neq | Token::Lt | Token::Gt => true,
        Token::LtEq | Token::GtEq | Token::StringConcat => true,
        _ => false,
    }
}

/// Rewrites forms of CREATE, ALTER and MERGE.
fn definitions(tokens: &mut Vec<TokenWithSpan>) {
    let places = significant(tokens);
    let word = |at: usize, text: &str| places.get(at).is_some_and(|at| is(&tokens[*at], text));
    if word(0, "merge") {
        let is_all =
            |at: &usize| word(*at, "insert") && word(at + 1, "default") && word(at + 2, "values");
        if let Some(at) = (1..places.len()).rev().find(is_all) {
            let (from, to) = (places[at + 1], places[at + 2]);
            let default = keyword_token("DEFAULT", Keyword::DEFAULT);
            let values = keyword_token("VALUES", Keyword::VALUES);
            let row = [values, Token::LParen, default, Token::RParen];
            let row = super::spelled(row, tokens[from].span).collect::<Vec<_>>();
            tokens.splice(from..=to, row);
        }
        return;
    }
    if !word(0, "create") {
        return;
    }
    if word(1, "unlogged") && word(2, "sequence") {
        tokens.remove(places[1]);
        return;
    }
    let head = (1..7.min(places.len())).find(|at| word(*at, "index") || word(*at, "view"));
    match head {
        Some(at) if word(at, "index") => {
            let is_only = |at: &usize| word(*at, "on") && word(at + 1, "only");
            if let Some(on) = (at..(at + 8).min(places.len())).find(is_only) {
                // What stands behind it says where the name is.
                let span = Span::empty();
                let only = super::only().map(|token| TokenWithSpan { token, span });
                tokens.splice(places[on + 1]..=places[on + 1], only);
            }
        }
        Some(at) if word(at - 1, "recursive") => recursive_view(tokens, &places, at),
        _ => {}
    }
}

/// Writes a view that reads itself as one of a recursive query; VIEW is at `at`.
fn recursive_view(tokens: &mut Vec<TokenWithSpan>, places: &[usize], at: usize) {
    let token = |at: usize| places.get(at).map(|place| &tokens[*place].token);
    let open = (at + 1..places.len()).find(|at| token(*at) == Some(&Token::LParen));
    let Some(open) = open else { return };
    let close = (open..places.len()).find(|at| token(*at) == Some(&Token::RParen));
    let Some(close) = close.filter(|close| places.get(close + 2).is_some()) else { return };
    let name = tokens[places[open - 1]].clone();
    let columns = tokens[places[open]..=places[close]].to_vec();
    let inner = columns.get(1..columns.len() - 1).unwrap_or_default().to_vec();
    let query = tokens[places[close + 1] + 1..].to_vec();
    let span = name.span;
    let spelled = |list: Vec<Token>| super::spelled(list, span).collect::<Vec<_>>();
    let word = |text: &str, keyword: Keyword| keyword_token(text, keyword);
    let as_word = word("AS", Keyword::AS);
    let mut made =
        spelled(vec![word("WITH", Keyword::WITH), word("RECURSIVE", Keyword::RECURSIVE)]);
    made.push(name.clone());
    made.extend(columns);
    made.extend(spelled(vec![as_word, Token::LParen]));
    made.extend(query.into_iter().filter(|token| token.token != Token::EOF));
    made.extend(spelled(vec![Token::RParen, word("SELECT", Keyword::SELECT)]));
    made.extend(inner);
    made.extend(spelled(vec![word("FROM", Keyword::FROM)]));
    made.push(name);
    tokens.truncate(places[close + 1] + 1);
    tokens.extend(made);
    tokens.remove(places[at - 1]);
}
