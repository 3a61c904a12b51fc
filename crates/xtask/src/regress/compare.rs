//! Compares two answers to one statement.

use testkit::slt::{Answer, SqlError};

/// Answer to one statement.
pub(super) type Reply = Result<Answer, SqlError>;

/// How Tessera's reply stands to PostgreSQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// The same rows, or an error of the same class.
    Equal,
    /// Both have rows, and they differ.
    Value,
    /// Only Tessera fails.
    Refused,
    /// Only PostgreSQL fails.
    Accepted,
    /// Both fail, with errors of different classes.
    Class,
    /// Tessera took more time than it may.
    Late,
    /// Tessera fails with an error of class XX.
    Internal,
    /// Tessera's connection is gone.
    Lost,
}

impl Verdict {
    /// All that differ, in the order of the table.
    pub(super) const DIFFERENT: [Self; 7] = [
        Self::Value,
        Self::Refused,
        Self::Accepted,
        Self::Class,
        Self::Late,
        Self::Internal,
        Self::Lost,
    ];

    /// Its column's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Value => "value",
            Self::Refused => "refused",
            Self::Accepted => "accepted",
            Self::Class => "class",
            Self::Late => "late",
            Self::Internal => "internal",
            Self::Lost => "lost",
        }
    }

    /// True for what no statement may come to, whatever it asks.
    pub(super) const fn is_fatal(self) -> bool {
        matches!(self, Self::Late | Self::Internal | Self::Lost)
    }
}

/// Compares the replies to `sql`: rows as they come when the statement orders them, as a bag
/// otherwise; errors by the class of their SQLSTATE. Plans (EXPLAIN) are not compared.
pub(super) fn verdict(sql: &str, expected: &Reply, found: &Reply) -> Verdict {
    match (expected, found) {
        (Err(expected), Err(found)) if expected.sqlstate[..2] == found.sqlstate[..2] => {
            Verdict::Equal
        }
        (_, Err(found)) if found.sqlstate.starts_with("XX") => Verdict::Internal,
        (_, Err(found)) if found.sqlstate == CANCELED => Verdict::Late,
        (Ok(_), Err(_)) => Verdict::Refused,
        (Err(_), Err(_)) => Verdict::Class,
        (Err(_), Ok(_)) => Verdict::Accepted,
        (Ok(expected), Ok(found)) => {
            if equal(sql, expected, found) {
                Verdict::Equal
            } else {
                Verdict::Value
            }
        }
    }
}

/// SQLSTATE of a statement that ran too long.
const CANCELED: &str = "57014";

fn equal(sql: &str, expected: &Answer, found: &Answer) -> bool {
    let sql = sql.to_ascii_lowercase();
    let (Answer::Rows { rows: a, .. }, Answer::Rows { rows: b, .. }) = (expected, found) else {
        return matches!((expected, found), (Answer::Done(_), Answer::Done(_)));
    };
    if without_comments(&sql).starts_with("explain") || a == b {
        return true;
    }
    if sql.contains("order by") || sql.contains("returning") {
        return false;
    }
    let sorted = |rows: &[Vec<Option<String>>]| {
        let mut rows = rows.to_vec();
        rows.sort();
        rows
    };
    sorted(a) == sorted(b)
}

/// `sql` behind the comments that it begins with.
fn without_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    while let Some(comment) = rest.strip_prefix("--") {
        rest = comment.split_once('\n').map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

/// A reply in one line, for people.
pub(super) fn line(reply: &Reply) -> String {
    let text = match reply {
        Err(error) => error.to_string(),
        Ok(Answer::Done(rows)) => format!("done, {rows} rows"),
        Ok(Answer::Rows { rows, .. }) => {
            let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
            let row =
                |row: &Vec<Option<String>>| row.iter().map(cell).collect::<Vec<_>>().join(",");
            rows.iter().map(row).collect::<Vec<_>>().join(" | ")
        }
    };
    text.replace('\n', " ").chars().take(LINE_CHARS).collect()
}

/// Characters of a reply that are shown.
const LINE_CHARS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[&str]) -> Reply {
        let rows = values.iter().map(|value| vec![Some((*value).to_owned())]).collect();
        Ok(Answer::Rows { columns: 1, rows })
    }

    fn error(sqlstate: &str) -> Reply {
        Err(SqlError { sqlstate: sqlstate.to_owned(), message: String::new() })
    }

    #[test]
    fn order_counts_where_the_statement_has_one() {
        let (a, b) = (rows(&["1", "2"]), rows(&["2", "1"]));
        assert_eq!(verdict("select x from t", &a, &b), Verdict::Equal);
        assert_eq!(verdict("select x from t ORDER BY x", &a, &b), Verdict::Value);
        assert_eq!(verdict("explain select 1", &a, &rows(&["3"])), Verdict::Equal);
        assert_eq!(verdict("-- a\n-- b\nEXPLAIN x", &a, &rows(&["3"])), Verdict::Equal);
    }

    #[test]
    fn errors_are_compared_by_class() {
        assert_eq!(verdict("", &error("42601"), &error("42703")), Verdict::Equal);
        assert_eq!(verdict("", &error("42601"), &error("0A000")), Verdict::Class);
        assert_eq!(verdict("", &error("42601"), &rows(&[])), Verdict::Accepted);
        assert_eq!(verdict("", &rows(&[]), &error("42601")), Verdict::Refused);
        assert_eq!(verdict("", &rows(&[]), &error("57014")), Verdict::Late);
        assert_eq!(verdict("", &error("42601"), &error("XX000")), Verdict::Internal);
    }
}
