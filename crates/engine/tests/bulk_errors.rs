//! Errors of rows that are loaded as blocks: those that single rows would have met.

use engine::{Config, Database};
use types::SqlState;

/// Rows enough to be loaded as blocks, one of them with a NULL.
const MANY: &str = "INSERT INTO t SELECT i, CASE WHEN i <> 25000 THEN 'x' END
    FROM generate_series(1, 30000) AS g(i)";

#[test]
fn a_null_is_reported_by_the_names_of_today_from_many_rows_as_from_one() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    for sql in [
        "CREATE TABLE old (a INT, b TEXT NOT NULL)",
        "ALTER TABLE old RENAME TO t",
        "ALTER TABLE t RENAME b TO word",
    ] {
        session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for sql in ["INSERT INTO t VALUES (25000, NULL)", MANY] {
        let error = session.execute(sql).err().expect("the column is NOT NULL");
        assert_eq!(error.state(), SqlState::NOT_NULL_VIOLATION, "{sql}");
        // As PostgreSQL 15 words it.
        let expected =
            "null value in column \"word\" of relation \"t\" violates not-null constraint";
        assert_eq!(error.message(), expected, "{sql}");
        assert_eq!(error.detail(), Some("Failing row contains (25000, null)."), "{sql}");
    }
    let rows = session.execute("SELECT count(*) FROM t").expect("a table").text_rows();
    assert_eq!(rows, [[Some("0".to_owned())]]);
}
