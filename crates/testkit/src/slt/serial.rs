//! Looks for a serial order of the committed transactions that explains what they saw.
//!
//! ```text
//! histories -> committed ones -> each order, on a new database -> same answers, same state?
//! ```
//! This judges any database at SERIALIZABLE without knowing which transaction it lets fail.

use super::script::Outcome;
use super::sessions::Done;
use super::{Backend, Database, SqlError};

/// Runs `statements` in one session.
///
/// # Errors
/// The first error.
pub(super) fn run_all(database: &dyn Database, statements: &[String]) -> Result<(), SqlError> {
    let mut connection = database.connect()?;
    statements.iter().try_for_each(|sql| connection.run(sql).map(drop))
}

/// Answers of `queries` in a new session.
///
/// # Errors
/// When a query fails.
pub(super) fn state(database: &dyn Database, queries: &[String]) -> Result<Vec<Outcome>, SqlError> {
    let mut connection = database.connect()?;
    let answer = |sql: &String| connection.run(sql).map(|answer| Outcome::of(sql, &Ok(answer)));
    queries.iter().map(answer).collect()
}

/// True when a transaction ended with a COMMIT that took effect: none of its statements failed.
fn committed(history: &[Done]) -> bool {
    let last = history.last().map_or("", |done| done.sql.trim());
    let failed = history.iter().any(|done| matches!(done.outcome, Outcome::Error(_)));
    last.eq_ignore_ascii_case("commit") && !failed
}

/// Tries every order of the committed transactions.
///
/// # Errors
/// When a database cannot be made or set up.
pub(super) fn explains(
    backend: &dyn Backend,
    setup: &[String],
    histories: &[&[Done]],
    queries: &[String],
    final_state: &[Outcome],
) -> Result<bool, SqlError> {
    let kept: Vec<&[Done]> = histories.iter().copied().filter(|h| committed(h)).collect();
    for order in orders(kept.len()) {
        let database = backend.create()?;
        run_all(&*database, setup)?;
        let mut same = true;
        for &at in &order {
            same = same && repeats(&*database, kept[at])?;
        }
        if same && state(&*database, queries)? == final_state {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True when the statements of `history` give the same answers again.
fn repeats(database: &dyn Database, history: &[Done]) -> Result<bool, SqlError> {
    let mut connection = database.connect()?;
    let same = |done: &Done| Outcome::of(&done.sql, &connection.run(&done.sql)) == done.outcome;
    Ok(history.iter().all(same))
}

/// All permutations of 0 .. `count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for item in 0..count {
        let insert = |order: &Vec<usize>| {
            let at = |place: usize| {
                let mut longer = order.clone();
                longer.insert(place, item);
                longer
            };
            (0..=order.len()).map(at).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(insert).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::orders;

    #[test]
    fn there_are_as_many_orders_as_permutations() {
        let mut three = orders(3);
        three.sort();
        three.dedup();
        assert_eq!(three.len(), 6);
        assert_eq!(orders(0), [Vec::<usize>::new()]);
    }
}
