//! Completion of keywords, table and column names in the shell.

use engine::Database;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use crate::meta;
use crate::scan::{Ending, ending, trailing_command};

const KEYWORDS: &[&str] = &[
    "ALL",
    "ANALYZE",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CALL",
    "CASE",
    "CAST",
    "COPY",
    "COUNT",
    "CREATE",
    "CROSS",
    "DATE",
    "DESC",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXTRACT",
    "FALSE",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "PRIMARY",
    "RIGHT",
    "SELECT",
    "SET",
    "SHOW",
    "SUBSTRING",
    "SUM",
    "TABLE",
    "THEN",
    "TIMESTAMP",
    "TRUE",
    "TRUNCATE",
    "UNION",
    "UNIQUE",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WITH",
];

/// Answers rustyline's questions while a line is typed.
pub(crate) struct ShellHelper {
    pub(crate) database: Database,
}

impl Helper for ShellHelper {}
impl Highlighter for ShellHelper {}

impl Hinter for ShellHelper {
    type Hint = String;
}

impl Validator for ShellHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        let is_command = meta::command(input).is_some() || trailing_command(input).is_some();
        let open = ending(input) == Ending::Open && !is_command;
        Ok(if open { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for ShellHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = &line[..position];
        let boundary = |c: char| !c.is_alphanumeric() && c != '_';
        let start = typed.rfind(boundary).map_or(0, |i| i + 1);
        let word = &typed[start..];
        if word.is_empty() {
            return Ok((start, Vec::new()));
        }
        let mut names: Vec<String> = Vec::new();
        for info in self.database.relations() {
            names.extend(info.columns.into_iter().map(|c| c.name));
            names.push(info.name);
        }
        let lower = word.to_ascii_lowercase();
        names.retain(|name| name.starts_with(&lower));
        let upper = word.to_ascii_uppercase();
        let keyword = |k: &&&str| k.starts_with(&upper);
        // Keywords follow the case of what was typed.
        let cased = |k: &&str| {
            if word.starts_with(|c: char| c.is_lowercase()) {
                k.to_lowercase()
            } else {
                k.to_string()
            }
        };
        names.extend(KEYWORDS.iter().filter(keyword).map(cased));
        names.sort();
        names.dedup();
        let pair = |name: String| Pair { display: name.clone(), replacement: name };
        Ok((start, names.into_iter().map(pair).collect()))
    }
}
