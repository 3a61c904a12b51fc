//! Statements that must succeed, and others that must not.
#![allow(dead_code, reason = "not every test uses all of it")]

use engine::Session;

/// The values of the answer that are not NULL, row by row.
pub(crate) fn run(session: &mut Session, sql: &str) -> Vec<String> {
    let result = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    result.text_rows().into_iter().flatten().flatten().collect()
}

/// The SQLSTATE with which the statement fails.
pub(crate) fn state(session: &mut Session, sql: &str) -> String {
    match session.execute(sql) {
        Ok(_) => panic!("{sql}: it succeeded"),
        Err(error) => error.state().to_string(),
    }
}
