//! Tables whose loads sort the rows of each block: `WITH (order_by = ...)`, what it changes and
//! what it does not, and that it outlives alterations and a restart.

mod support;

use engine::{Config, Database, Session};
use support::{run, state};
use testkit::Scratch;

/// Rows of a block, at most.
const BLOCK_ROWS: usize = 1 << 16;

fn config() -> Config {
    Config { threads: 1, ..Config::default() }
}

/// Fills a table of some blocks with keys in no order, NULLs among them.
const ROWS: &str = "SELECT CASE WHEN i % 1000 = 7 THEN NULL ELSE i * 7919 % 100003 END AS k, \
     i AS n, \
     'text ' || i % 13 AS s FROM generate_series(1, 150000) AS g(i)";

/// True when the rows of each block of `t` have `column` ascending, NULLs last.
fn is_sorted(session: &mut Session, column: &str) -> bool {
    let column = run(session, &format!("SELECT coalesce({column}::text, 'none') FROM t"));
    let key = |text: &String| text.parse().unwrap_or(i64::MAX);
    let keys: Vec<i64> = column.iter().map(key).collect();
    assert_eq!(keys.len(), 150_000);
    keys.chunks(BLOCK_ROWS).all(<[i64]>::is_sorted)
}

fn options(session: &mut Session) -> Vec<String> {
    run(session, "SELECT reloptions::text FROM pg_class WHERE relname = 't'")
}

/// Answers that do not depend on the order of rows.
fn answers(session: &mut Session, table: &str) -> Vec<String> {
    [
        "SELECT count(*), count(k), sum(k), sum(n), min(s), max(s) FROM t",
        "SELECT count(*), sum(n) FROM t WHERE k BETWEEN 500 AND 2500",
        "SELECT n, s FROM t WHERE k > 99990 ORDER BY n",
        "SELECT s, count(*), sum(k) FROM t WHERE k IS NULL OR k < 77 GROUP BY s ORDER BY s",
    ]
    .iter()
    .flat_map(|query| run(session, &query.replace(" t", &format!(" {table}"))))
    .collect()
}

#[test]
fn blocks_are_sorted_and_answers_stay() {
    let database = Database::open_in_memory(config()).expect("it opens");
    let session = &mut database.session();
    run(session, &format!("CREATE TABLE plain AS {ROWS}"));
    let expected = answers(session, "plain");
    for layout in ["auto", "frozen", "column", "row"] {
        let with = format!("WITH (order_by = 'k', layout = {layout})");
        run(session, &format!("CREATE TABLE t {with} AS {ROWS}"));
        assert!(is_sorted(session, "k"), "{layout}");
        assert!(!is_sorted(session, "n"), "{layout}");
        assert_eq!(answers(session, "t"), expected, "{layout}");
        run(session, "DROP TABLE t");
    }
    run(session, "CREATE TABLE t (k integer, n integer PRIMARY KEY, s text) WITH (order_by = k)");
    run(session, &format!("INSERT INTO t {ROWS}"));
    assert!(is_sorted(session, "k"));
    assert_eq!(answers(session, "t"), expected);
    // The index leads to the rows where they are.
    assert_eq!(run(session, "SELECT k FROM t WHERE n = 77777"), ["97589"]);
    run(session, "DELETE FROM t WHERE k < 1000; UPDATE t SET s = 'new' WHERE k = 5000");
    assert_eq!(run(session, "SELECT count(*) FROM t WHERE k < 1000"), ["0"]);
    run(session, "DELETE FROM plain WHERE k < 1000; UPDATE plain SET s = 'new' WHERE k = 5000");
    assert_eq!(answers(session, "t"), answers(session, "plain"));
}

#[test]
fn the_order_follows_its_column_and_is_taken_away_with_it() {
    let database = Database::open_in_memory(config()).expect("it opens");
    let session = &mut database.session();
    run(session, &format!("CREATE TABLE t AS {ROWS}"));
    assert_eq!(options(session), [""; 0]);
    assert!(!is_sorted(session, "k"));
    run(session, "ALTER TABLE t SET (order_by = 'k', fillfactor = 70)");
    assert_eq!(options(session), ["{order_by=k}"]);
    assert!(!is_sorted(session, "k"), "rows that are there stay where they are");
    run(session, "ALTER TABLE t RENAME COLUMN k TO \"Key\"");
    assert_eq!(options(session), ["{order_by=Key}"]);
    // Rows are written anew, and so sorted.
    run(session, "ALTER TABLE t ALTER COLUMN n TYPE bigint");
    assert!(is_sorted(session, "\"Key\""));
    run(session, "ALTER TABLE t ADD COLUMN a integer DEFAULT 3");
    run(session, "ALTER TABLE t SET (order_by = \"Key\")");
    run(session, "ALTER TABLE t SET (order_by = N)");
    assert_eq!(options(session), ["{order_by=n}"]);
    run(session, "ALTER TABLE t DROP COLUMN \"Key\"");
    assert_eq!(options(session), ["{order_by=n}"]);
    assert!(is_sorted(session, "n"));
    run(session, "BEGIN; ALTER TABLE t RESET (order_by); ROLLBACK");
    assert_eq!(options(session), ["{order_by=n}"]);
    run(session, "ALTER TABLE t DROP COLUMN n");
    assert_eq!(options(session), [""; 0]);
    run(session, "ALTER TABLE t SET (order_by = s)");
    run(session, "ALTER TABLE t RESET (order_by)");
    assert_eq!(options(session), [""; 0]);

    let wrong = [
        ("CREATE TABLE u (a integer) WITH (order_by = 'b')", "42703"),
        ("CREATE TABLE u WITH (order_by = b) AS SELECT 1 AS a", "42703"),
        ("ALTER TABLE t SET (order_by = 'b')", "42703"),
        ("ALTER TABLE t SET (order_by = s), ADD COLUMN b integer", "0A000"),
        ("ALTER TABLE t SET (order = s)", "22023"),
        ("ALTER TABLE nothing SET (order_by = s)", "42P01"),
    ];
    for (statement, expected) in wrong {
        assert_eq!(state(session, statement), expected, "{statement}");
    }
    run(session, "ALTER TABLE IF EXISTS nothing SET (order_by = s)");
}

#[test]
fn the_order_outlives_the_log_and_checkpoints() {
    let home = Scratch::new("sorted-loads");
    for checkpoints in [false, true] {
        let before = {
            let database = Database::open(home.path(), config()).expect("it opens");
            let session = &mut database.session();
            run(session, "DROP TABLE IF EXISTS t");
            run(session, "CREATE TABLE t (k integer, n integer, s text) WITH (order_by = 'n')");
            run(session, "ALTER TABLE t SET (order_by = 'k')");
            run(session, &format!("INSERT INTO t {ROWS}"));
            if checkpoints {
                run(session, "CHECKPOINT");
            }
            answers(session, "t")
        };
        let database = Database::open(home.path(), config()).expect("it opens again");
        let session = &mut database.session();
        assert_eq!(options(session), ["{order_by=k}"]);
        assert!(is_sorted(session, "k"));
        assert_eq!(answers(session, "t"), before);
        run(session, &format!("TRUNCATE t; INSERT INTO t {ROWS}"));
        assert!(is_sorted(session, "k"));
    }
}
