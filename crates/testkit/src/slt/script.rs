//! Session files: what several sessions do in turn, as text.
//!
//! ```text
//! file     = setup, scenario ...          a new database for each scenario
//! scenario = step | unblocks ...  [serializable]
//! step     = connection NAME, statement ok | count N | error (STATE) | blocks, SQL
//!            connection NAME, query [error (STATE) | blocks], SQL [, ----, rows]
//! unblocks = unblocks NAME ok | count N | error (STATE) | rows [, ----, rows]
//! ```
//! Records are separated by an empty line. A statement that `blocks` waits for another session;
//! `unblocks` stands behind the step that lets it go on, and holds its outcome. Rows are compared
//! in any order unless the statement says ORDER BY.
//! Elsewhere: running them (`sessions`), serial orders (`serial`).

use std::fmt;

use super::{Answer, SqlError, backend::cell_text};

/// Outcome of a step, or the one that the file expects.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// No rows; any count.
    Ok,
    /// This many rows changed.
    Count(u64),
    /// This SQLSTATE.
    Error(String),
    /// The step waits for another session.
    Blocks,
    /// These rows, as lines.
    Rows(Vec<String>),
}

/// One statement of one session.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) session: String,
    pub(super) sql: String,
    pub(super) query: bool,
    pub(super) expected: Outcome,
}

/// How many of some sessions may fail with 40001.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Failing {
    /// Exactly so many.
    Exactly(usize),
    /// Not more than this.
    AtMost(usize),
}

/// Outcome that a scenario must have at SERIALIZABLE, whichever statement fails on the way.
#[derive(Clone, Debug)]
pub(super) struct Serializable {
    pub(super) failing: Failing,
    pub(super) sessions: Vec<String>,
    /// Queries that tell the final state.
    pub(super) state: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Record {
    /// Lines of comment in front of a record.
    Comment(String),
    /// Statements that every scenario starts with, one per line.
    Setup(Vec<String>),
    /// A new database, by the name of what is tried on it.
    Scenario(String),
    /// The next record is for this system only, or for all others.
    Condition {
        only: bool,
        system: String,
    },
    Step(Step),
    Unblocks {
        session: String,
        expected: Outcome,
    },
    Serializable(Serializable),
}

/// A record and the line it starts at, from 1.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) number: u32,
    pub(super) record: Record,
}

/// True when `text` is a session file: its first record is `setup`.
pub(super) fn is_script(text: &str) -> bool {
    text.lines().find(|line| !line.is_empty() && !line.starts_with('#')) == Some("setup")
}

/// The records of `text`.
///
/// # Errors
/// With the line that is not understood.
pub(super) fn parse(text: &str) -> Result<Vec<Line>, SqlError> {
    let mut records = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].trim().is_empty() {
            at += 1;
            continue;
        }
        let end = lines[at..].iter().position(|line| line.trim().is_empty());
        let end = end.map_or(lines.len(), |length| at + length);
        while lines[at..end].first().is_some_and(|line| line.starts_with('#')) {
            records.push(line(at, Record::Comment(lines[at].to_owned())));
            at += 1;
        }
        while let Some(condition) = lines[at..end].first().and_then(|line| condition(line)) {
            records.push(line(at, condition));
            at += 1;
        }
        if at < end {
            let record = record(&lines[at..end])
                .ok_or_else(|| SqlError::internal(format!("line {}: {}", at + 1, lines[at])))?;
            records.push(line(at, record));
        }
        at = end;
    }
    Ok(records)
}

fn line(at: usize, record: Record) -> Line {
    Line { number: at as u32 + 1, record }
}

fn condition(line: &str) -> Option<Record> {
    let (word, system) = line.split_once(' ')?;
    let only = match word {
        "onlyif" => true,
        "skipif" => false,
        _ => return None,
    };
    Some(Record::Condition { only, system: system.to_owned() })
}

fn record(lines: &[&str]) -> Option<Record> {
    let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    let (word, rest) = lines[0].split_once(' ').unwrap_or((lines[0], ""));
    Some(match word {
        "setup" => Record::Setup(owned(&lines[1..])),
        "scenario" => Record::Scenario(rest.to_owned()),
        "unblocks" => {
            let (session, outcome) = rest.split_once(' ')?;
            let expected = match outcome {
                "rows" => Outcome::Rows(owned(lines.get(2..).unwrap_or_default())),
                other => outcome_of(other)?,
            };
            Record::Unblocks { session: session.to_owned(), expected }
        }
        "connection" => Record::Step(step(rest, &lines[1..])?),
        "serializable" => {
            let state = owned(&lines[1..]);
            let (failing, sessions) = failing(rest)?;
            Record::Serializable(Serializable { failing, sessions, state })
        }
        _ => return None,
    })
}

fn step(session: &str, lines: &[&str]) -> Option<Step> {
    let (word, outcome) = lines.first()?.split_once(' ').unwrap_or((lines[0], ""));
    let bar = lines.iter().position(|&line| line == "----").unwrap_or(lines.len());
    let rows = lines.get(bar + 1..).unwrap_or_default();
    let expected = match (word, outcome) {
        ("query", "") => Outcome::Rows(rows.iter().map(|&row| row.to_owned()).collect()),
        ("query" | "statement", outcome) => outcome_of(outcome)?,
        _ => return None,
    };
    let sql = lines.get(1..bar)?.join("\n");
    Some(Step { session: session.to_owned(), sql, query: word == "query", expected })
}

fn outcome_of(text: &str) -> Option<Outcome> {
    Some(match text.split_once(' ').unwrap_or((text, "")) {
        ("ok", "") => Outcome::Ok,
        ("blocks", "") => Outcome::Blocks,
        ("count", count) => Outcome::Count(count.parse().ok()?),
        ("error", state) => Outcome::Error(state.trim_matches(['(', ')']).to_owned()),
        _ => return None,
    })
}

/// `[at most] N of NAME ... fail`.
fn failing(text: &str) -> Option<(Failing, Vec<String>)> {
    let (count, names) = text.strip_suffix(" fail")?.split_once(" of ")?;
    let failing = match count.strip_prefix("at most ") {
        Some(count) => Failing::AtMost(count.parse().ok()?),
        None => Failing::Exactly(count.parse().ok()?),
    };
    Some((failing, names.split(' ').map(str::to_owned).collect()))
}

impl Outcome {
    /// Outcome of `sql`, in the words of a file.
    pub(super) fn of(sql: &str, result: &Result<Answer, SqlError>) -> Self {
        match result {
            Err(error) => Self::Error(error.sqlstate.clone()),
            Ok(Answer::Done(count)) if changes_rows(sql) => Self::Count(*count),
            Ok(Answer::Done(_)) => Self::Ok,
            Ok(Answer::Rows { rows, .. }) => {
                let cells = |row: &Vec<Option<String>>| {
                    row.iter().cloned().map(cell_text).collect::<Vec<_>>().join(" ")
                };
                let mut lines: Vec<String> = rows.iter().map(cells).collect();
                if !sql.to_ascii_lowercase().contains("order by") {
                    lines.sort();
                }
                Self::Rows(lines)
            }
        }
    }

    /// True when `seen` is what `self` expects.
    pub(super) fn accepts(&self, seen: &Self) -> bool {
        self == seen || matches!((self, seen), (Self::Ok, Self::Count(_)))
    }

    /// True for a transaction that must be tried again.
    pub(super) fn is_serialization_failure(&self) -> bool {
        matches!(self, Self::Error(state) if state == "40001")
    }
}

/// True when a count belongs to the result of `sql`.
fn changes_rows(sql: &str) -> bool {
    let word = sql.split_whitespace().next().unwrap_or("").to_ascii_uppercase();
    ["INSERT", "UPDATE", "DELETE", "MERGE"].contains(&word.as_str())
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("ok"),
            Self::Count(count) => write!(f, "count {count}"),
            Self::Error(state) => write!(f, "error ({state})"),
            Self::Blocks => f.write_str("blocks"),
            Self::Rows(rows) => write!(f, "rows\n----\n{}", rows.join("\n")),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, sql, expected, .. } = self;
        match expected {
            Outcome::Rows(rows) => {
                write!(f, "connection {session}\nquery\n{sql}\n----\n{}", rows.join("\n"))
            }
            other => {
                let word = if self.query { "query" } else { "statement" };
                write!(f, "connection {session}\n{word} {other}\n{sql}")
            }
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Comment(text) => f.write_str(text),
            Self::Setup(statements) => write!(f, "setup\n{}", statements.join("\n")),
            Self::Scenario(name) => write!(f, "scenario {name}"),
            Self::Condition { only: true, system } => write!(f, "onlyif {system}"),
            Self::Condition { only: false, system } => write!(f, "skipif {system}"),
            Self::Step(step) => step.fmt(f),
            Self::Unblocks { session, expected } => write!(f, "unblocks {session} {expected}"),
            Self::Serializable(Serializable { failing, sessions, state }) => {
                let (bound, count) = match failing {
                    Failing::Exactly(count) => ("", count),
                    Failing::AtMost(count) => ("at most ", count),
                };
                let (names, state) = (sessions.join(" "), state.join("\n"));
                write!(f, "serializable {bound}{count} of {names} fail\n{state}")
            }
        }
    }
}

/// `records` as a file.
pub(super) fn print(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        text += record.to_string().trim_end();
        let joined = matches!(record, Record::Comment(_) | Record::Condition { .. });
        text += if joined { "\n" } else { "\n\n" };
    }
    format!("{}\n", text.trim_end())
}
