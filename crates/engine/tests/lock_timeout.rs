//! `lock_timeout`: a statement gives up when a lock is not free in time, as in PostgreSQL.

use engine::{Config, Database, Session};
use types::SqlState;

fn text(session: &mut Session, sql: &str) -> Result<String, String> {
    let result = session.execute(sql).map_err(|error| error.state().as_str().to_owned())?;
    let cells = result.text_rows().into_iter().flatten().flatten().collect::<Vec<String>>();
    Ok(if cells.is_empty() { result.tag().to_owned() } else { cells.join(" ") })
}

#[test]
fn a_statement_gives_up_when_a_lock_is_not_free_in_time() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let (mut holder, mut other) = (database.session(), database.session());
    let ok = |session: &mut Session, sql: &str| {
        text(session, sql).unwrap_or_else(|state| panic!("{sql}: {state}"))
    };
    ok(&mut holder, "CREATE TABLE t (id int PRIMARY KEY, v int)");
    ok(&mut holder, "INSERT INTO t VALUES (1, 10), (2, 20)");
    ok(&mut holder, "BEGIN");
    ok(&mut holder, "UPDATE t SET v = 11 WHERE id = 1");
    ok(&mut holder, "INSERT INTO t VALUES (3, 30)");
    ok(&mut holder, "SELECT pg_advisory_lock(7)");
    ok(&mut other, "SET lock_timeout = '20ms'");
    for waits in [
        "UPDATE t SET v = 12 WHERE id = 1",
        "SELECT v FROM t WHERE id = 1 FOR UPDATE",
        "INSERT INTO t VALUES (3, 31)",
        "TRUNCATE t",
        "SELECT pg_advisory_lock(7)",
    ] {
        let state = text(&mut other, waits).expect_err(waits);
        assert_eq!(state, "55P03", "{waits}");
    }
    // What came before in its transaction stays.
    ok(&mut other, "BEGIN");
    ok(&mut other, "UPDATE t SET v = 22 WHERE id = 2");
    ok(&mut other, "SAVEPOINT s");
    assert_eq!(text(&mut other, "UPDATE t SET v = 0").expect_err("it waits"), "55P03");
    ok(&mut other, "ROLLBACK TO s");
    ok(&mut other, "COMMIT");
    ok(&mut holder, "COMMIT");
    ok(&mut other, "UPDATE t SET v = v + 1 WHERE id = 1");
    assert_eq!(ok(&mut holder, "SELECT id, v FROM t ORDER BY id"), "1 12 2 22 3 30");
}

#[test]
fn definitions_give_up_when_readers_stay() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let (mut reader, mut other) = (database.session(), database.session());
    let ok = |session: &mut Session, sql: &str| {
        text(session, sql).unwrap_or_else(|state| panic!("{sql}: {state}"))
    };
    ok(&mut reader, "CREATE TABLE t (id int PRIMARY KEY, v int)");
    ok(&mut reader, "INSERT INTO t VALUES (1, 10), (2, 20)");
    ok(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    ok(&mut reader, "SELECT count(*) FROM t");
    ok(&mut other, "SET lock_timeout = '20ms'");
    for waits in ["ALTER TABLE t ADD w int", "TRUNCATE t", "DROP TABLE t"] {
        assert_eq!(text(&mut other, waits).expect_err(waits), "55P03", "{waits}");
        // Nobody waits behind one who gave up.
        assert_eq!(ok(&mut other, "SELECT count(*) FROM t"), "2");
    }
    ok(&mut reader, "COMMIT");
    ok(&mut other, "ALTER TABLE t ADD w int");
}

#[test]
fn a_snapshot_never_reads_what_took_the_place_of_its_table() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let (mut reader, mut other) = (database.session(), database.session());
    let ok = |session: &mut Session, sql: &str| {
        text(session, sql).unwrap_or_else(|state| panic!("{sql}: {state}"))
    };
    ok(&mut other, "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE u (id int)");
    ok(&mut other, "INSERT INTO t VALUES (1), (2)");
    let mut by_key = reader.prepare("SELECT id FROM t WHERE id = 1", &[]).expect("it prepares");
    for change in ["ALTER TABLE t ADD v int", "TRUNCATE t"] {
        ok(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        ok(&mut reader, "SELECT count(*) FROM u");
        ok(&mut other, change);
        ok(&mut reader, "SAVEPOINT s");
        assert_eq!(text(&mut reader, "SELECT count(*) FROM t").expect_err(change), "40001");
        ok(&mut reader, "ROLLBACK TO s");
        let outcome = reader.execute_prepared(&mut by_key, &[]);
        let error = outcome.err().expect(change);
        assert_eq!(error.state(), SqlState::SERIALIZATION_FAILURE);
        ok(&mut reader, "ROLLBACK");
    }
    assert_eq!(ok(&mut reader, "SELECT count(*) FROM t"), "0");
}
