//! Statements that must succeed, and others that must not.
#![allow(dead_code, reason = "not every test uses all of it")]

use engine::{Config, Database, Session};
use storage::Layout;

/// Ways in which a table's blocks are held.
pub(crate) const LAYOUTS: [Layout; 4] = [Layout::Row, Layout::Column, Layout::Frozen, Layout::Auto];

/// A session of a database in memory with two threads.
pub(crate) fn in_layout(layout: Layout) -> (Database, Session) {
    let config = Config { threads: 2, layout, ..Config::default() };
    let database = Database::open_in_memory(config).expect("it opens");
    let session = database.session();
    (database, session)
}

/// The rows of the answer.
pub(crate) fn rows(session: &mut Session, sql: &str) -> Vec<Vec<Option<String>>> {
    session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).text_rows()
}

/// The rows of the answer, sorted.
pub(crate) fn sorted(session: &mut Session, sql: &str) -> Vec<Vec<Option<String>>> {
    let mut rows = rows(session, sql);
    rows.sort();
    rows
}

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
