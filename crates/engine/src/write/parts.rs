//! WITH whose queries change rows: the parts one after the other, then the statement itself.
//!
//! ```text
//! snapshot --> parts that main needs --returned--> main --> all other parts
//!    '------------ what each of them sees of the tables -----------'
//! ```
//! Invariants: no part sees what another did but by what it returned (`Snapshot::until`); of
//! several changes of one row the first counts. Both as in PostgreSQL, which leaves the order open.

use sql::statement::{Statement, Turn, WithChanges};
use types::{Error, Result};

use super::returning::slices;
use crate::QueryResult;
use crate::statement::parts::Parts;
use crate::statement::running::Running;

/// Runs all of `with`; the result is that of its main statement.
///
/// # Errors
/// Errors of its statements.
pub(crate) fn run(running: &mut Running<'_>, with: &WithChanges) -> Result<QueryResult> {
    let returned = vec![Vec::new(); with.parts.len()];
    let statements = with.parts.iter().map(|part| &part.statement).chain([&with.main]);
    let meets = |statement: &Statement| match statement {
        Statement::Insert(insert) => insert.on_conflict.is_some(),
        _ => false,
    };
    let notes_new = statements.into_iter().any(meets);
    running.parts = Some(Parts { returned, notes_new, ..Parts::default() });
    let outcome = run_all(running, with);
    running.parts = None;
    outcome
}

fn run_all(running: &mut Running<'_>, with: &WithChanges) -> Result<QueryResult> {
    run_turn(running, with, Turn::First)?;
    let result = running.run_part(&with.main).ok_or_else(not_rows)??;
    run_turn(running, with, Turn::Behind)?;
    run_turn(running, with, Turn::Last)?;
    Ok(result)
}

fn not_rows() -> Error {
    Error::internal("the parts of WITH read or write rows")
}

/// Runs the parts whose turn it is.
fn run_turn(running: &mut Running<'_>, with: &WithChanges, turn: Turn) -> Result<()> {
    let mut numbers: Vec<usize> = (0..with.parts.len()).collect();
    numbers.retain(|&number| with.parts[number].turn == turn);
    if turn == Turn::Last {
        numbers.reverse();
    }
    for number in numbers {
        let part = &with.parts[number];
        running.part = Some(number);
        let result = running.run_part(&part.statement);
        running.part = None;
        let result = result.ok_or_else(not_rows)??;
        if let Some(parts) = &mut running.parts {
            parts.returned[number] = slices(result.batches().to_vec());
        }
    }
    Ok(())
}
