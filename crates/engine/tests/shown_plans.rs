//! EXPLAIN: constants as they were written, what look-ups found, ways that were weighed; and that
//! smallest and largest values are told by blocks.

use engine::{Config, Database, Session};

fn run(session: &mut Session, sql: &str) {
    session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn lines(session: &mut Session, sql: &str) -> Vec<String> {
    let result = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    result.text_rows().into_iter().map(|row| row[0].clone().expect("text")).collect()
}

fn session() -> (Database, Session) {
    let config = Config { threads: 1, ..Config::default() };
    let database = Database::open_in_memory(config).expect("it opens");
    let session = database.session();
    (database, session)
}

/// The only line with `part` in it.
fn line<'l>(lines: &'l [String], part: &str) -> &'l str {
    let mut found = lines.iter().filter(|line| line.contains(part));
    let line = found.next().unwrap_or_else(|| panic!("{part} in {lines:#?}"));
    assert!(found.next().is_none(), "{part} in {lines:#?}");
    line
}

#[test]
fn constants_are_shown_as_sql_writes_them() {
    let (_database, mut session) = session();
    run(
        &mut session,
        "CREATE TABLE c (ts timestamp, tz timestamptz, d date, tm time, iv interval, n numeric(9,2),
         w numeric, t text, u uuid, f float8, b bytea, j jsonb, bo bool, i int)",
    );
    let shown = [
        ("ts >= '2024-02-29 12:30'", "timestamp '2024-02-29 12:30:00'"),
        ("tz < '2024-02-29 12:30+02'", "timestamptz '2024-02-29 10:30:00+00'"),
        ("d = '2024-02-29'", "date '2024-02-29'"),
        ("tm > '07:08:09.5'", "time '07:08:09.5'"),
        ("iv > '1 mon 2 days 03:00'", "interval '1 mon 2 days 03:00:00'"),
        ("n = 12.5", "12.5"),
        ("w = 0.125", "(w >= 0.125) and (w <= 0.125)"),
        ("t = 'it''s'", "'it''s'"),
        (
            "u = '00000000-0000-0000-0000-0000000000ff'",
            "uuid '00000000-0000-0000-0000-0000000000ff'",
        ),
        ("f > 1.5", "1.5"),
        ("b = '\\x00ff'", "bytea '\\x00ff'"),
        ("i IN (7, 8)", "(7, 8)"),
    ];
    for (condition, text) in shown {
        let lines = lines(&mut session, &format!("EXPLAIN SELECT i FROM c WHERE {condition}"));
        assert!(lines.join("\n").contains(text), "{condition}: {lines:#?}");
    }
}

#[test]
fn look_ups_tell_what_they_found() {
    let (_database, mut session) = session();
    run(&mut session, "CREATE TABLE t (id int PRIMARY KEY, a int, b int) WITH (layout = row)");
    run(&mut session, "INSERT INTO t SELECT i, i / 4, i % 7 FROM generate_series(1, 9000) AS g(i)");
    run(&mut session, "CREATE INDEX t_a ON t (a)");
    run(&mut session, "ANALYZE t");
    let one = "EXPLAIN ANALYZE SELECT * FROM t WHERE id IN (1, 2, 3, 99999)";
    assert!(line(&lines(&mut session, one), "IndexScan").contains("t_pkey=4 look-ups 3 found"));
    let rest = "EXPLAIN ANALYZE SELECT * FROM t WHERE a = 5 AND b = 0";
    assert!(line(&lines(&mut session, rest), "IndexScan").contains("t_a=1 look-ups 4 found"));
    let two = lines(&mut session, "EXPLAIN ANALYZE SELECT * FROM t WHERE a = 5 OR id = 20");
    let two = line(&two, "IndexScan");
    assert!(two.contains("t_a=1 look-ups 4 found"), "{two}");
    // That row was found by the other index already.
    assert!(two.contains("t_pkey=1 look-ups 0 found"), "{two}");
    let join =
        "EXPLAIN ANALYZE SELECT count(*) FROM (VALUES (1), (2), (-1)) AS v(a) JOIN t USING (a)";
    let join = lines(&mut session, join);
    assert!(line(&join, "index join").contains("t_a=3 look-ups 8 found"), "{join:#?}");
    let json = lines(&mut session, "EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM t WHERE a = 5");
    assert!(json[0].contains("\"Rows Found by Index\": 4"), "{json:#?}");
}

#[test]
fn verbose_tells_of_ways_that_were_not_taken() {
    let (_database, mut session) = session();
    run(&mut session, "CREATE TABLE t (id int PRIMARY KEY, a int, b int, c int)");
    run(
        &mut session,
        "INSERT INTO t SELECT i, i / 4, i % 2, 0 FROM generate_series(1, 9000) AS g(i)",
    );
    for index in ["t_a ON t (a)", "t_b ON t (b)", "t_c ON t (c, a)", "t_p ON t (a) WHERE c > 0"] {
        run(&mut session, &format!("CREATE INDEX {index}"));
    }
    run(&mut session, "CREATE INDEX t_h ON t USING hash (a, b)");
    run(&mut session, "ANALYZE t");
    let query = "SELECT * FROM t WHERE a = 5 AND b > 0";
    let brief = lines(&mut session, &format!("EXPLAIN {query}"));
    assert!(!brief.join("\n").contains("path "), "{brief:#?}");
    for explain in ["EXPLAIN VERBOSE", "EXPLAIN (VERBOSE)", "EXPLAIN (ANALYZE, VERBOSE)"] {
        let all = lines(&mut session, &format!("{explain} {query}"));
        let cost = |part: &str| -> f64 {
            let line = line(&all, part);
            let (_, rest) = line.split_once("cost ").unwrap_or_else(|| panic!("{line}"));
            rest.split(',').next().and_then(|n| n.parse().ok()).expect("a number")
        };
        assert!(cost("path t_a:") < cost("path scan:"), "{all:#?}");
        assert!(cost("path t_b:") > cost("path scan:"), "{all:#?}");
        assert!(line(&all, "path t_c:").ends_with("no condition that it answers on c"));
        assert!(line(&all, "path t_p:").contains("its rows are some"));
        assert!(line(&all, "path t_h:").ends_with("on each of its columns"));
        assert!(line(&all, "IndexScan").contains("using t_a"));
    }
    let join = "EXPLAIN VERBOSE SELECT * FROM (VALUES (1), (2)) AS v(x) JOIN t ON t.a = v.x";
    let join = lines(&mut session, join);
    assert!(line(&join, "path hash join:").contains("cost "), "{join:#?}");
    assert!(line(&join, "path t_a:").contains("2 look-ups"), "{join:#?}");
    run(&mut session, "SET index_paths = off");
    let off = lines(&mut session, &format!("EXPLAIN VERBOSE {query}"));
    assert!(line(&off, "path by index").ends_with("index_paths is off"));
    let json = lines(&mut session, &format!("EXPLAIN (VERBOSE, FORMAT JSON) {query}"));
    assert!(json[0].contains("\"Paths\": [\"path by index"), "{json:#?}");
}

#[test]
fn blocks_tell_their_smallest_and_largest_values() {
    let (_database, mut session) = session();
    run(&mut session, "SET freezing = off");
    run(&mut session, "CREATE TABLE t (k int, n numeric(12,2), s text, a int[], x int)");
    let rows = "SELECT i, i / 4.0, 's' || i, ARRAY[i] FROM generate_series(1, 200000) AS g(i)";
    run(&mut session, &format!("INSERT INTO t {rows}"));
    run(&mut session, "VACUUM FREEZE t");
    let ends = |session: &mut Session, query: &str| {
        let all = lines(session, &format!("EXPLAIN ANALYZE {query}"));
        let scan = line(&all, "Scan t").to_owned();
        scan.split("paths=").nth(1).map(|paths| paths.trim_end_matches(')').to_owned())
    };
    let all = "SELECT min(k), max(k), min(n), max(s), min(x) FROM t";
    assert_eq!(ends(&mut session, all).as_deref(), Some("4 ends"));
    let first = session.execute(all).expect("it runs").text_rows();
    let row = ["1", "200000", "0.25", "s99999"].map(|cell| Some(cell.to_owned()));
    assert_eq!((&first[0][..4], &first[0][4]), (&row[..], &None));
    // The smallest values of the blocks decide that all rows of three of them pass.
    let some = "SELECT max(k) FROM t WHERE k > 60000";
    assert_eq!(ends(&mut session, some).as_deref(), Some("1 scan 3 ends"));
    for other in ["SELECT min(a) FROM t", "SELECT max(k), count(*) FROM t", "SELECT sum(k) FROM t"]
    {
        assert_eq!(ends(&mut session, other), None, "{other}");
    }
    run(&mut session, "DELETE FROM t WHERE k = 200000");
    assert_eq!(ends(&mut session, "SELECT max(k) FROM t").as_deref(), Some("1 scan 3 ends"));
    assert_eq!(lines(&mut session, "SELECT max(k) FROM t"), ["199999"]);
    run(&mut session, "SET tessera.skipping = off");
    assert_eq!(ends(&mut session, "SELECT max(k) FROM t"), None);
}
