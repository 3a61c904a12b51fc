//! Texts of queries that the catalog keeps, with what the grammar lacks as PostgreSQL writes it:
//! the other way from `forms`, `clauses` and `search`, whose names a printed query has.
//!
//! ```text
//! "rows from"(f(a))                   ROWS FROM(f(a))
//! USING(a, x."using")                 USING(a) AS x
//! r (a, "recursion search ...") AS (q)  r (a) AS (q) search ...
//! TABLESAMPLE (m(a, repeatable => b)) TABLESAMPLE m(a) REPEATABLE (b)
//! GROUP BY "group by distinct", a     GROUP BY DISTINCT a
//! (PARTITION BY "frame exclude ties" ORDER BY ...)   (ORDER BY ... EXCLUDE TIES)
//! f(variadic => a), rollup()          f(VARIADIC a), ()
//! ```

use std::borrow::Cow;
use std::ops::Range;

use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::parse::clauses::{ALL_ITEMS, DISTINCT_SETS, EXCLUDE};
use crate::parse::forms::{JOIN_NAME, REPEATABLE, ROWS_FROM};
use crate::parse::search::MARKER;
use crate::parse::tokens::{SPREAD, is, significant};
use crate::parse::{DIALECT, LineIndex};

/// A query as it is kept, in the forms that PostgreSQL reads.
pub fn as_written(text: &str) -> Cow<'_, str> {
    let names = [ALL_ITEMS, DISTINCT_SETS, EXCLUDE, REPEATABLE, ROWS_FROM, MARKER, SPREAD];
    let may_have = names.iter().any(|name| text.contains(name))
        || [".\"using\"", "variadic =>", "rollup()", "TABLESAMPLE ("]
            .iter()
            .any(|form| text.contains(form));
    if !may_have {
        return Cow::Borrowed(text);
    }
    let Ok(tokens) = Tokenizer::new(&DIALECT, text).tokenize_with_location() else {
        return Cow::Borrowed(text);
    };
    let places = significant(&tokens);
    let all: Vec<&TokenWithSpan> = places.iter().map(|place| &tokens[*place]).collect();
    let writer = Writer { text, index: LineIndex::new(text), all };
    Cow::Owned(writer.written())
}

/// Text in the place of some bytes.
struct Edit {
    bytes: Range<usize>,
    text: String,
}

struct Writer<'t> {
    text: &'t str,
    index: LineIndex<'t>,
    /// The tokens that are no blanks.
    all: Vec<&'t TokenWithSpan>,
}

impl Writer<'_> {
    fn written(&self) -> String {
        let mut edits: Vec<Edit> = (0..self.all.len()).flat_map(|at| self.edits(at)).collect();
        edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end));
        let (mut text, mut from) = (String::new(), 0);
        for edit in edits.into_iter().filter(|edit| !edit.bytes.is_empty() || !edit.text.is_empty())
        {
            text.push_str(self.text.get(from..edit.bytes.start).unwrap_or_default());
            text.push_str(&edit.text);
            from = from.max(edit.bytes.end);
        }
        text.push_str(self.text.get(from..).unwrap_or_default());
        text
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.all.get(at).map(|token| &token.token)
    }

    fn is_word(&self, at: usize, text: &str) -> bool {
        self.all.get(at).is_some_and(|token| is(token, text))
    }

    /// The name in quotes at `at`.
    fn quoted(&self, at: usize) -> Option<&str> {
        match self.token(at)? {
            Token::Word(word) if word.quote_style == Some('"') => Some(&word.value),
            _ => None,
        }
    }

    fn begin(&self, at: usize) -> usize {
        self.all.get(at).map_or(self.text.len(), |token| self.index.offset(token.span.start))
    }

    fn end(&self, at: usize) -> usize {
        self.all.get(at).map_or(self.text.len(), |token| self.index.offset(token.span.end))
    }

    fn replaced(&self, tokens: Range<usize>, text: &str) -> Edit {
        let bytes = self.begin(tokens.start)..self.end(tokens.end.saturating_sub(1));
        Edit { bytes, text: text.to_owned() }
    }

    /// `text` behind the token at `at`.
    fn behind(&self, at: usize, text: String) -> Edit {
        let end = self.end(at);
        Edit { bytes: end..end, text }
    }

    /// The parenthesis that closes the one at `open`.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        (open..self.all.len()).find(|at| {
            match self.token(*at) {
                Some(Token::LParen) => depth += 1,
                Some(Token::RParen) => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })
    }

    /// Changes of the token at `at`, and of others because of it.
    fn edits(&self, at: usize) -> Vec<Edit> {
        let follows = |token: &Token| self.token(at + 1) == Some(token);
        // Only there these names are no user's.
        let is_first = at > 0 && self.is_word(at - 1, "by");
        let is_clause = |name: &str| {
            let clauses = name.strip_prefix(MARKER).unwrap_or_default().to_lowercase();
            clauses.starts_with("search ") || clauses.starts_with("cycle ")
        };
        match self.quoted(at) {
            Some(ROWS_FROM) if follows(&Token::LParen) => {
                return vec![self.replaced(at..at + 1, "ROWS FROM")];
            }
            Some(ALL_ITEMS) if is_first => return vec![self.replaced(at..at + 1, "ALL")],
            Some(DISTINCT_SETS) if is_first => {
                return vec![self.replaced(at..at + 2, "DISTINCT")];
            }
            Some(JOIN_NAME) if follows(&Token::RParen) => return self.join_name(at),
            Some(name) if is_clause(name) => return self.recursion(at, name),
            Some(name) if is_first && name.starts_with(EXCLUDE) => {
                return self.exclusion(at, name);
            }
            Some(name) if name.starts_with(SPREAD) => {
                let name = &name[SPREAD.len()..];
                return vec![self.replaced(at..at + 1, &format!("VARIADIC \"{name}\""))];
            }
            _ => {}
        }
        if self.is_word(at, "variadic") && follows(&Token::RArrow) {
            return vec![self.replaced(at..at + 2, "VARIADIC")];
        }
        if self.is_word(at, "tablesample") && follows(&Token::LParen) {
            return self.sample(at).unwrap_or_default();
        }
        let is_empty = follows(&Token::LParen) && self.token(at + 2) == Some(&Token::RParen);
        if self.is_word(at, "rollup") && is_empty {
            return vec![self.replaced(at..at + 1, "")];
        }
        Vec::new()
    }

    /// `USING (a, x."using")`, whose last word is at `at`.
    fn join_name(&self, at: usize) -> Vec<Edit> {
        let (Some(Token::Period), Some(Token::Comma)) = (
            at.checked_sub(1).and_then(|at| self.token(at)),
            at.checked_sub(3).and_then(|at| self.token(at)),
        ) else {
            return Vec::new();
        };
        let open = (0..at).rev().find(|at| self.token(*at) == Some(&Token::LParen));
        if !open.is_some_and(|open| open > 0 && self.is_word(open - 1, "using")) {
            return Vec::new();
        }
        let name = &self.text[self.begin(at - 2)..self.end(at - 2)];
        vec![self.replaced(at - 3..at + 1, ""), self.behind(at + 1, format!(" AS {name}"))]
    }

    /// `(a, "recursion ...") AS (...)`, whose name is at `at`.
    fn recursion(&self, at: usize, name: &str) -> Vec<Edit> {
        let is_comma = at.checked_sub(1).and_then(|at| self.token(at)) == Some(&Token::Comma);
        let dropped = if is_comma { at - 1..at + 1 } else { at.saturating_sub(1)..at + 2 };
        let mut open = at + 2;
        for word in ["as", "not", "materialized"] {
            open += usize::from(self.is_word(open, word));
        }
        let Some(close) = self.closing(open) else { return Vec::new() };
        let clauses = format!(" {}", &name[MARKER.len()..]);
        vec![self.replaced(dropped, ""), self.behind(close, clauses)]
    }

    /// `PARTITION BY "frame exclude ...", a`, whose name is at `at`.
    fn exclusion(&self, at: usize, name: &str) -> Vec<Edit> {
        let dropped = match self.token(at + 1) {
            Some(Token::Comma) => at..at + 2,
            _ => at.saturating_sub(2)..at + 1,
        };
        let mut depth = 0_usize;
        let close = (at..self.all.len()).find(|at| match self.token(*at) {
            Some(Token::LParen) => {
                depth += 1;
                false
            }
            Some(Token::RParen) if depth > 0 => {
                depth -= 1;
                false
            }
            token => token == Some(&Token::RParen),
        });
        let Some(close) = close else { return Vec::new() };
        let what = name[EXCLUDE.len()..].to_uppercase();
        vec![self.replaced(dropped, ""), self.behind(close - 1, format!(" EXCLUDE {what}"))]
    }

    /// `TABLESAMPLE (method(a, "repeatable" => b))`; None for other forms.
    fn sample(&self, at: usize) -> Option<Vec<Edit>> {
        let (outer, method, inner) = (at + 1, at + 2, at + 3);
        if !matches!(self.token(method)?, Token::Word(_)) || self.token(inner)? != &Token::LParen {
            return None;
        }
        let (last, first) = (self.closing(outer)?, self.closing(inner)?);
        let mut edits = vec![self.replaced(outer..outer + 1, "")];
        let seed = (inner..first).find(|at| self.quoted(*at) == Some(REPEATABLE));
        match seed {
            Some(seed) => {
                edits.push(self.replaced(seed - 1..seed + 2, ") REPEATABLE ("));
                edits.push(self.replaced(last..last + 1, ""));
            }
            None => edits.push(self.replaced(last..last + 1, "")),
        }
        Some(edits)
    }
}

#[cfg(test)]
mod tests {
    use super::as_written;
    use crate::parse::parse_query;

    #[test]
    fn printed_forms_are_written_as_they_were() {
        let forms = [
            "SELECT * FROM ROWS FROM (f(1), g(2)) AS t",
            "SELECT * FROM a JOIN b USING (c) AS x",
            "WITH RECURSIVE r (a) AS (SELECT 1 UNION ALL SELECT a FROM r) \
             search depth first by a set o SELECT * FROM r",
            "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a FROM r) \
             cycle a set c using p SELECT * FROM r",
            "SELECT * FROM t TABLESAMPLE bernoulli (50) REPEATABLE (1 + 2)",
            "SELECT * FROM t TABLESAMPLE system (50)",
            "SELECT a FROM t GROUP BY DISTINCT ROLLUP (a), GROUPING SETS ((a), ())",
            "SELECT sum(a) OVER (ORDER BY a ROWS 1 PRECEDING EXCLUDE TIES) FROM t",
            "SELECT sum(a) OVER (PARTITION BY b ORDER BY a ROWS BETWEEN 1 PRECEDING AND \
             CURRENT ROW EXCLUDE CURRENT ROW) FROM t",
            "SELECT f(VARIADIC ARRAY['it''s']), f(VARIADIC a => ARRAY[1])",
        ];
        for form in forms {
            let tree = parse_query(form).expect("it is a query");
            let printed = tree.to_string();
            let written = as_written(&printed).into_owned();
            assert!(!written.contains('\u{1}') && !written.contains("\"recursion"), "{written}");
            let again = parse_query(&written).map(|tree| tree.to_string());
            assert_eq!(again.ok().as_deref(), Some(printed.as_str()), "{form}: {written}");
        }
    }

    #[test]
    fn other_texts_stay() {
        let texts = [
            "SELECT \"using\", 'rows from', rollup FROM t",
            "SELECT x.\"using\" FROM x WHERE a IN (1, x.\"using\")",
            "WITH r(a, \"recursion depth\") AS (SELECT 1, 2) SELECT \"frame exclude it\" FROM r",
        ];
        for text in texts {
            assert_eq!(as_written(text), text);
        }
    }
}
