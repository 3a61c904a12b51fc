//! Statements of a client of shared data, which have to work, or to fail.

use postgres::{Client, SimpleQueryMessage};

/// The first cell of a query's first row.
#[allow(dead_code)] // The tests of all answers look at whole rows.
pub(crate) fn value(client: &mut Client, query: &str) -> String {
    let messages = client.simple_query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let cell = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
        _ => None,
    });
    cell.unwrap_or_else(|| panic!("{query}: no rows"))
}

/// The SQLSTATE of a statement that fails.
pub(crate) fn state(client: &mut Client, statement: &str) -> String {
    let error = client.batch_execute(statement).expect_err(statement);
    error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned())
}

/// Runs statements that have no errors.
#[allow(dead_code)] // The tests of all answers look at what statements say.
pub(crate) fn run(client: &mut Client, statement: &str) {
    client.batch_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}
