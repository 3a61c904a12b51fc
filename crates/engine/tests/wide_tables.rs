//! Wide tables after a restart and in a backup: what held before holds, what had ended has ended.
#![allow(clippy::unwrap_used, reason = "tests")]

use engine::{Config, Database, Session};
use testkit::Scratch;

const JOINED: &str = "SELECT f.id, d.v FROM f JOIN d ON d.id = f.d ORDER BY 1";

fn config() -> Config {
    Config { threads: 2, memory_bytes: 512 << 20, ..Config::default() }
}

fn run(session: &mut Session, text: &str) -> Vec<String> {
    let result = session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    result.text_rows().into_iter().flatten().map(Option::unwrap_or_default).collect()
}

fn opened(path: &std::path::Path) -> (Database, Session) {
    let database = Database::open(path, config()).unwrap();
    let mut session = database.session();
    run(&mut session, "SET tessera.wide_tables = prefer");
    (database, session)
}

/// True when the join is read from the wide table.
fn is_scan(session: &mut Session) -> bool {
    run(session, &format!("EXPLAIN {JOINED}")).iter().any(|line| line.contains("Scan w"))
}

fn holds(session: &mut Session, expected: &[&str]) {
    assert_eq!(run(session, JOINED), expected);
    assert_eq!(run(session, "SELECT id, v FROM w ORDER BY 1"), expected);
}

fn define(session: &mut Session) {
    for text in [
        "CREATE TABLE d (id int PRIMARY KEY, v text NOT NULL)",
        "CREATE TABLE f (id int PRIMARY KEY, d int NOT NULL REFERENCES d)",
        "INSERT INTO d VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO f VALUES (1, 1), (2, 2)",
        "CREATE WIDE TABLE w FROM f",
    ] {
        run(session, text);
    }
}

#[test]
fn what_held_holds_after_a_restart() {
    let scratch = Scratch::new("wide-reopened");
    let path = scratch.join("db");
    let (database, mut session) = opened(&path);
    define(&mut session);
    run(&mut session, "INSERT INTO f VALUES (3, 1)");
    drop((session, database));
    // From the log, then from a checkpoint.
    for _ in 0..2 {
        let (_database, mut session) = opened(&path);
        assert!(is_scan(&mut session));
        holds(&mut session, &["1", "a", "2", "b", "3", "a"]);
        run(&mut session, "CHECKPOINT");
    }
    let (_database, mut session) = opened(&path);
    run(&mut session, "INSERT INTO f VALUES (4, 2)");
    assert!(is_scan(&mut session));
    holds(&mut session, &["1", "a", "2", "b", "3", "a", "4", "b"]);
}

#[test]
fn what_ended_stays_so_until_it_is_made_anew() {
    let scratch = Scratch::new("wide-ended");
    let path = scratch.join("db");
    {
        let (_database, mut session) = opened(&path);
        define(&mut session);
        run(&mut session, "BEGIN");
        run(&mut session, "UPDATE d SET v = 'B' WHERE id = 2");
        run(&mut session, "ROLLBACK");
        assert!(is_scan(&mut session));
        run(&mut session, "UPDATE d SET v = 'A' WHERE id = 1");
        // Another definition of the same rows.
        run(&mut session, "CREATE INDEX w_v ON w (v)");
        run(&mut session, "INSERT INTO f VALUES (3, 1)");
    }
    for _ in 0..2 {
        let (_database, mut session) = opened(&path);
        assert!(!is_scan(&mut session));
        holds(&mut session, &["1", "A", "2", "b", "3", "A"]);
        run(&mut session, "CHECKPOINT");
    }
    {
        let (_database, mut session) = opened(&path);
        run(&mut session, "REFRESH WIDE TABLE w");
        assert!(is_scan(&mut session));
    }
    {
        let (_database, mut session) = opened(&path);
        assert!(is_scan(&mut session));
        holds(&mut session, &["1", "A", "2", "b", "3", "A"]);
        // Changed and made anew in one transaction, and the reverse.
        for text in ["BEGIN", "UPDATE d SET v = 'a' WHERE id = 1", "REFRESH WIDE TABLE w", "COMMIT"]
        {
            run(&mut session, text);
        }
    }
    {
        let (_database, mut session) = opened(&path);
        assert!(is_scan(&mut session));
        holds(&mut session, &["1", "a", "2", "b", "3", "a"]);
        for text in ["BEGIN", "REFRESH WIDE TABLE w", "DELETE FROM f WHERE id = 3", "COMMIT"] {
            run(&mut session, text);
        }
        assert!(!is_scan(&mut session));
    }
    let (_database, mut session) = opened(&path);
    assert!(!is_scan(&mut session));
    holds(&mut session, &["1", "a", "2", "b"]);
    run(&mut session, "DROP WIDE TABLE w");
    drop(session);
    drop(_database);
    let (_database, mut session) = opened(&path);
    assert!(session.execute("SELECT * FROM w").is_err());
    assert_eq!(run(&mut session, JOINED), ["1", "a", "2", "b"]);
}

#[test]
fn dropped_by_others_meanwhile() {
    let scratch = Scratch::new("wide-dropped");
    let path = scratch.join("db");
    {
        let (database, mut session) = opened(&path);
        define(&mut session);
        let mut other = database.session();
        run(&mut session, "BEGIN");
        run(&mut session, "UPDATE d SET v = 'A' WHERE id = 1");
        run(&mut other, "DROP WIDE TABLE w");
        run(&mut session, "COMMIT");
        run(&mut other, "CREATE WIDE TABLE w FROM f");
    }
    let (_database, mut session) = opened(&path);
    assert!(is_scan(&mut session));
    holds(&mut session, &["1", "A", "2", "b"]);
}

#[test]
fn a_backup_has_them() {
    let scratch = Scratch::new("wide-backup");
    let (database, mut session) = opened(&scratch.join("db"));
    define(&mut session);
    let fresh = scratch.join("fresh");
    run(&mut session, &format!("BACKUP TO '{}'", fresh.display()));
    run(&mut session, "UPDATE d SET v = 'A' WHERE id = 1");
    let ended = scratch.join("ended");
    run(&mut session, &format!("BACKUP TO '{}'", ended.display()));
    drop((session, database));
    let (_first, mut session) = opened(&fresh);
    assert!(is_scan(&mut session));
    holds(&mut session, &["1", "a", "2", "b"]);
    let (_second, mut session) = opened(&ended);
    assert!(!is_scan(&mut session));
    holds(&mut session, &["1", "A", "2", "b"]);
}

#[test]
fn rights_are_those_of_the_tables_named() {
    let database = Database::open_in_memory(config()).unwrap();
    let mut session = database.session();
    define(&mut session);
    for text in [
        "CREATE ROLE reader LOGIN",
        "CREATE ROLE maker LOGIN",
        "GRANT SELECT ON f, d TO reader",
        "GRANT SELECT ON f TO maker",
        "GRANT INSERT ON f TO maker",
        "GRANT CREATE ON SCHEMA public TO maker",
        "SET tessera.wide_tables = prefer",
        "SET ROLE reader",
    ] {
        run(&mut session, text);
    }
    let state = |session: &mut Session, text: &str| match session.execute(text) {
        Ok(_) => "00000".to_owned(),
        Err(error) => error.state().as_str().to_owned(),
    };
    assert!(is_scan(&mut session));
    assert_eq!(run(&mut session, JOINED), ["1", "a", "2", "b"]);
    assert_eq!(state(&mut session, "SELECT * FROM w"), "42501");
    for (role, text, expected) in [
        ("reader", "REFRESH WIDE TABLE w", "42501"),
        ("reader", "DROP WIDE TABLE w", "42501"),
        ("reader", "CREATE WIDE TABLE x FROM f", "42501"),
        // Without a right on what is joined there is no wide table of it, and no way around.
        ("maker", JOINED, "42501"),
        ("maker", "CREATE WIDE TABLE x FROM f", "42501"),
        ("maker", "INSERT INTO f VALUES (3, 1)", "00000"),
    ] {
        run(&mut session, "RESET ROLE");
        run(&mut session, &format!("SET ROLE {role}"));
        assert_eq!(state(&mut session, text), expected, "{role}: {text}");
    }
    run(&mut session, "RESET ROLE");
    run(&mut session, "GRANT SELECT ON w TO reader");
    run(&mut session, "SET ROLE reader");
    assert_eq!(run(&mut session, "SELECT v FROM w WHERE id = 3"), ["a"]);
    run(&mut session, "RESET ROLE");
    run(&mut session, "UPDATE d SET v = 'A' WHERE id = 1");
    run(&mut session, "SET ROLE reader");
    assert_eq!(run(&mut session, "SELECT v FROM w WHERE id = 3"), ["A"]);
}
