//! Strings that queries make are counted by their bytes, wherever their rows are kept and as long.

mod support;

use engine::{Config, Database};
use support::{run, state};
use types::SqlState;

const LIMIT_BYTES: u64 = 64 << 20;

fn opened() -> Database {
    let config = Config { threads: 2, memory_bytes: LIMIT_BYTES, ..Config::default() };
    Database::open_in_memory(config).expect("it opens")
}

#[test]
fn short_strings_of_small_batches_are_counted() {
    let database = opened();
    let mut session = database.session();
    let before = database.pool().total();
    // One row of a batch has a string, of less than a batch has besides.
    let rows = "SELECT repeat('x', 50000) || i FROM generate_series(1, 2048 * 100) AS g(i) \
         WHERE i % 2048 = 0";
    let result = session.execute(rows).expect("rows");
    assert_eq!(result.row_count(), 100);
    assert!(database.pool().total() - before >= 5_000_000, "{:?}", database.pool());
    drop(result);
    assert_eq!(database.pool().total(), before);
}

#[test]
fn rows_of_cursors_and_of_results_stay_counted_behind_their_statement() {
    let database = opened();
    let mut session = database.session();
    let before = database.pool().total();
    let strings = "SELECT repeat('x', 2000) || i FROM generate_series(1, 6000) AS g(i)";
    run(&mut session, &format!("DECLARE a CURSOR WITH HOLD FOR {strings}"));
    run(&mut session, "SELECT 1");
    assert!(database.pool().total() - before >= 12_000_000, "{:?}", database.pool());
    let mut declared = 1;
    let full = loop {
        let text = format!("DECLARE c{declared} CURSOR WITH HOLD FOR {strings}");
        match session.execute(&text) {
            Ok(_) => declared += 1,
            Err(error) => break error.state().to_string(),
        }
    };
    assert_eq!((full.as_str(), declared), ("53200", 5), "each takes some 12 of 64 MiB");
    run(&mut session, "CLOSE ALL");
    assert_eq!(database.pool().total(), before);
    assert_eq!(run(&mut session, "SELECT count(*) FROM generate_series(1, 10)"), ["10"]);
}

#[test]
fn operators_over_long_strings_spill_or_fail_within_the_limit() {
    let database = opened();
    let mut session = database.session();
    let before = database.pool().total();
    let of = |width: usize, rows: usize| {
        format!(
            "(SELECT i, repeat('x', {width}) || i AS s FROM generate_series(1, {rows}) AS g(i))"
        )
    };
    for (width, rows) in [(40_000, 2_500), (3_000, 2_000)] {
        let strings = of(width, rows);
        for query in [
            format!("SELECT count(*) FROM {strings} a JOIN {strings} b ON a.s = b.s AND a.i > 0"),
            format!("SELECT count(*) FROM (SELECT s, count(*) FROM {strings} q GROUP BY s) p"),
            format!("SELECT i FROM {strings} q ORDER BY s OFFSET {}", rows - 1),
            format!("SELECT count(s) FROM (SELECT s FROM {strings} q ORDER BY s LIMIT {rows}) p"),
            format!("SELECT max(i) FROM (SELECT i, s FROM {strings} q OFFSET 3) p"),
            format!(
                "SELECT count(t) FROM \
                 (SELECT lag(s) OVER (PARTITION BY i % 7) AS t FROM {strings} q) p"
            ),
            format!(
                "SELECT count(*) FROM \
                 (SELECT s FROM {strings} a INTERSECT SELECT s FROM {strings} b) q"
            ),
        ] {
            database.pool().reset_peak();
            if width * rows > LIMIT_BYTES as usize {
                if let Err(error) = session.execute(&query) {
                    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{query}");
                }
            } else {
                assert!(!run(&mut session, &query).is_empty(), "{query}");
            }
            assert!(database.pool().peak() <= LIMIT_BYTES, "{query}");
            assert_eq!(database.pool().total(), before, "all is back: {query}");
        }
    }
    assert_eq!(state(&mut session, &format!("SELECT s FROM {} q", of(3_000, 30_000))), "53200");
}
