//! Estimated rows against those found, on generated data: by how much either is the larger one.

use engine::{Config, Database, Session};
use storage::Layout;

/// A session of one worker: which worker loads a row decides whether a sample holds the row.
fn session() -> Session {
    let config = Config { threads: 1, memory_bytes: 1 << 30, layout: Layout::Auto };
    Database::open_in_memory(config).expect("opens").session()
}

fn run(session: &mut Session, sql: &str) {
    session.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// Rows of the operator on the first line with `part`: estimated and found.
fn rows_of(session: &mut Session, sql: &str, part: &str) -> (f64, f64, String) {
    let explain = format!("EXPLAIN ANALYZE {sql}");
    let result = session.execute(&explain).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let lines: Vec<String> = result.text_rows().into_iter().flatten().flatten().collect();
    let text = lines.join("\n");
    let line = text.lines().find(|line| line.contains(part));
    let line = line.unwrap_or_else(|| panic!("no {part} in\n{text}"));
    let number = |name: &str| -> f64 {
        let (_, rest) = line.split_once(name).unwrap_or_else(|| panic!("no {name} in {line}"));
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    };
    (number("rows="), number("actual="), text)
}

/// Asserts that the estimate is off by `factor` at most.
fn near(session: &mut Session, sql: &str, part: &str, factor: f64) {
    let (estimated, found, text) = rows_of(session, sql, part);
    let error = (estimated.max(1.0) / found.max(1.0)).max(found.max(1.0) / estimated.max(1.0));
    assert!(error <= factor, "{sql}: {estimated} estimated, {found} found\n{text}");
}

/// `day` has 200 years of days, `sale` five years of them, `store` cities in states.
fn sales() -> Session {
    let mut session = session();
    for sql in [
        "CREATE TABLE day (id INT, year INT, month INT, weekday INT)",
        "INSERT INTO day SELECT 2400000 + n, 1900 + n / 365, n / 365 * 12 + n % 365 / 31, n % 7 \
         FROM generate_series(0, 72999) AS g(n)",
        "CREATE TABLE sale (id INT, day INT, store INT, price INT)",
        "INSERT INTO sale SELECT n, 2400000 + 36500 + n * 7919 % 1825, n * 31 % 500, n % 100 \
         FROM generate_series(1, 60000) AS g(n)",
        "CREATE TABLE store (id INT, city INT, state INT)",
        "INSERT INTO store SELECT n, n / 2, n / 50 FROM generate_series(0, 499) AS g(n)",
        "ANALYZE",
    ] {
        run(&mut session, sql);
    }
    session
}

#[test]
fn keys_meet_where_their_ranges_overlap() {
    let mut session = sales();
    let join = "SELECT count(*) FROM sale s JOIN day d ON s.day = d.id";
    near(&mut session, join, " join ", 1.1);
    for (condition, factor) in [
        ("d.year = 2001", 1.6),
        ("d.year BETWEEN 2001 AND 2003", 1.5),
        ("d.year = 2001 AND d.weekday = 3", 2.5),
        ("d.weekday = 3", 1.4),
        ("d.id BETWEEN 2400000 + 36600 AND 2400000 + 36700", 2.0),
    ] {
        near(&mut session, &format!("{join} WHERE {condition}"), " join ", factor);
    }
    // Nothing was sold then.
    let early = rows_of(&mut session, &format!("{join} WHERE d.year = 1950"), " join ");
    assert!(early.0 < 3000.0 && early.1 == 0.0, "{}", early.2);
}

#[test]
fn groups_behind_a_restriction_are_those_that_it_leaves() {
    let mut session = session();
    run(&mut session, "CREATE TABLE shop (id INT, city INT, state INT)");
    run(
        &mut session,
        "INSERT INTO shop SELECT n, n % 500, n % 500 / 50 FROM generate_series(1, 50000) AS g(n)",
    );
    run(&mut session, "ANALYZE");
    let query = "SELECT city, count(*) FROM shop WHERE state = 3 GROUP BY city";
    near(&mut session, query, "Aggregate", 1.3);
}

#[test]
fn groups_of_dependent_columns_are_those_of_their_rows() {
    let mut session = sales();
    let by_month = "SELECT year, month, count(*) FROM day GROUP BY year, month";
    near(&mut session, by_month, "Aggregate", 1.3);
    let by_place = "SELECT city, state, count(*) FROM store GROUP BY city, state";
    near(&mut session, by_place, "Aggregate", 1.1);
    let joined = "SELECT d.year, d.month, count(*) FROM sale s JOIN day d ON s.day = d.id \
                  WHERE d.year BETWEEN 2001 AND 2003 GROUP BY d.year, d.month";
    near(&mut session, joined, "Aggregate", 3.0);
}

#[test]
fn values_that_no_sample_holds_are_as_rare_as_others() {
    let mut session = session();
    run(&mut session, "CREATE TABLE big (k INT, part INT, text TEXT)");
    run(
        &mut session,
        "INSERT INTO big SELECT n, n % 10, 't' || n FROM generate_series(1, 150000) AS g(n)",
    );
    run(&mut session, "ANALYZE");
    near(&mut session, "SELECT part FROM big WHERE k = 77777", "Scan", 2.0);
    near(&mut session, "SELECT part FROM big WHERE text = 't77777'", "Scan", 2.0);
    near(&mut session, "SELECT text FROM big WHERE k = 77777 AND part = 7", "Scan", 2.0);
    near(&mut session, "SELECT text FROM big WHERE part = 7", "Scan", 1.2);
}
