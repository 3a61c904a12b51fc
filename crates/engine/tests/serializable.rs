//! Validation of serializable transactions, on two sessions.

use engine::{Config, Database, Session};

fn run(session: &mut Session, sql: &str) -> String {
    match session.execute(sql) {
        Ok(result) => result.tag().to_owned(),
        Err(error) => error.state().to_string(),
    }
}

fn two() -> (Session, Session) {
    let database = Database::open_in_memory(Config::default()).expect("opens");
    let (mut a, b) = (database.session(), database.session());
    run(&mut a, "CREATE TABLE t (id int PRIMARY KEY, value int)");
    run(&mut a, "INSERT INTO t VALUES (1, 10), (2, 20)");
    (a, b)
}

#[test]
fn write_skew_is_refused() {
    let (mut a, mut b) = two();
    for session in [&mut a, &mut b] {
        assert_eq!(run(session, "BEGIN ISOLATION LEVEL SERIALIZABLE"), "BEGIN");
        assert_eq!(run(session, "SELECT sum(value) FROM t"), "SELECT 1");
    }
    assert_eq!(run(&mut a, "UPDATE t SET value = 11 WHERE id = 1"), "UPDATE 1");
    assert_eq!(run(&mut b, "UPDATE t SET value = 22 WHERE id = 2"), "UPDATE 1");
    assert_eq!(run(&mut a, "COMMIT"), "COMMIT");
    assert_eq!(run(&mut b, "COMMIT"), "40001");
}

#[test]
fn writers_of_other_rows_do_not_disturb() {
    let (mut a, mut b) = two();
    for (session, id) in [(&mut a, 1), (&mut b, 2)] {
        run(session, "BEGIN ISOLATION LEVEL SERIALIZABLE");
        let read = format!("SELECT value FROM t WHERE id = {id}");
        assert_eq!(run(session, &read), "SELECT 1");
        let write = format!("UPDATE t SET value = 5 WHERE id = {id}");
        assert_eq!(run(session, &write), "UPDATE 1");
    }
    assert_eq!(run(&mut a, "COMMIT"), "COMMIT");
    assert_eq!(run(&mut b, "COMMIT"), "COMMIT");
}
