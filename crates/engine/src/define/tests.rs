//! Effects of definitions on the catalog and the storage; answers are PostgreSQL 15's.
#![allow(clippy::unwrap_used)] // A test that finds nothing is to fail.

use crate::{Config, Database, Session};

fn open() -> (Database, Session) {
    let database = Database::open_in_memory(Config::default()).unwrap();
    let session = database.session();
    (database, session)
}

fn run(session: &mut Session, text: &str) {
    session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// SQLSTATE and message of a failure.
fn refused(session: &mut Session, text: &str) -> (String, String) {
    match session.execute(text) {
        Ok(_) => panic!("{text}: succeeded"),
        Err(error) => (error.state().as_str().to_owned(), error.message().to_owned()),
    }
}

fn state_of(session: &mut Session, text: &str) -> String {
    refused(session, text).0
}

/// All values of a query, row by row.
fn rows(session: &mut Session, text: &str) -> String {
    let result = session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let cell = |cell: Option<String>| cell.unwrap_or_else(|| "null".to_owned());
    let line = |row: Vec<Option<String>>| row.into_iter().map(cell).collect::<Vec<_>>().join(" ");
    result.text_rows().into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn index_count(database: &Database, table: &str) -> usize {
    database.table(table).unwrap().storage().indexes().len()
}

#[test]
fn an_index_goes_with_its_transaction() {
    let (database, mut s) = open();
    run(&mut s, "CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 1), (2, 1)");
    let unique = refused(&mut s, "CREATE UNIQUE INDEX u ON t (b)");
    assert_eq!(unique, ("23505".to_owned(), "could not create unique index \"u\"".to_owned()));
    run(&mut s, "BEGIN; UPDATE t SET b = a; CREATE UNIQUE INDEX u ON t (b)");
    assert_eq!(index_count(&database, "t"), 2);
    assert_eq!(state_of(&mut s, "INSERT INTO t VALUES (3, 2)"), "23505");
    run(&mut s, "ROLLBACK");
    assert_eq!(index_count(&database, "t"), 1);
    run(&mut s, "BEGIN; CREATE INDEX i ON t (b); SAVEPOINT x; CREATE INDEX j ON t (b)");
    run(&mut s, "ROLLBACK TO x; COMMIT");
    assert_eq!(index_count(&database, "t"), 2);
    run(&mut s, "BEGIN; DROP INDEX i; ROLLBACK; INSERT INTO t VALUES (3, 3)");
    assert_eq!(index_count(&database, "t"), 2);
    run(&mut s, "ALTER INDEX i RENAME TO k; DROP INDEX k");
    assert_eq!(index_count(&database, "t"), 1);
    assert_eq!(state_of(&mut s, "DROP INDEX t_pkey"), "2BP01");
}

#[test]
fn a_renamed_table_speaks_of_its_new_names() {
    let (_, mut s) = open();
    run(&mut s, "CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL CHECK (b > 0))");
    run(&mut s, "CREATE TABLE c (x int REFERENCES t)");
    run(&mut s, "ALTER TABLE t RENAME b TO bb; ALTER TABLE t RENAME TO tt");
    run(&mut s, "ALTER TABLE tt RENAME CONSTRAINT t_pkey TO pk");
    assert_eq!(
        refused(&mut s, "INSERT INTO tt VALUES (1, NULL)").1,
        "null value in column \"bb\" of relation \"tt\" violates not-null constraint"
    );
    assert_eq!(state_of(&mut s, "INSERT INTO tt VALUES (1, 0)"), "23514");
    run(&mut s, "INSERT INTO tt VALUES (1, 1); INSERT INTO c VALUES (1)");
    assert_eq!(
        refused(&mut s, "INSERT INTO tt VALUES (1, 2)").1,
        "duplicate key value violates unique constraint \"pk\""
    );
    assert_eq!(state_of(&mut s, "INSERT INTO c VALUES (2)"), "23503");
    assert_eq!(state_of(&mut s, "DELETE FROM tt"), "23503");
}

#[test]
fn rows_are_validated_by_new_constraints() {
    let (_, mut s) = open();
    run(&mut s, "CREATE TABLE p (a int PRIMARY KEY); INSERT INTO p VALUES (1)");
    run(&mut s, "CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 5), (2, NULL)");
    let expect = |s: &mut Session, action: &str, state: &str, message: &str| {
        let refused = refused(s, &format!("ALTER TABLE t {action}"));
        assert_eq!(refused, (state.to_owned(), message.to_owned()), "{action}");
    };
    expect(
        &mut s,
        "ALTER b SET NOT NULL",
        "23502",
        "column \"b\" of relation \"t\" contains null values",
    );
    expect(
        &mut s,
        "ADD CONSTRAINT k CHECK (a < 2)",
        "23514",
        "check constraint \"k\" of relation \"t\" is violated by some row",
    );
    expect(
        &mut s,
        "ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES p",
        "23503",
        "insert or update on table \"t\" violates foreign key constraint \"f\"",
    );
    // Nothing of it stayed.
    run(&mut s, "INSERT INTO t VALUES (3, NULL)");
    run(&mut s, "DELETE FROM t WHERE a > 1; ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES p");
    run(&mut s, "ALTER TABLE t ALTER b SET NOT NULL, ADD CONSTRAINT k CHECK (a < 2)");
    assert_eq!(state_of(&mut s, "INSERT INTO t VALUES (2, 1)"), "23514");
    assert_eq!(state_of(&mut s, "INSERT INTO t VALUES (0, 1)"), "23503");
    assert_eq!(state_of(&mut s, "INSERT INTO t VALUES (1, NULL)"), "23502");
}

#[test]
fn dropped_columns_move_what_is_behind_them() {
    let (_, mut s) = open();
    run(&mut s, "CREATE TABLE t (a int, b int, id int PRIMARY KEY, c serial, UNIQUE (b, c))");
    run(&mut s, "CREATE TABLE r (x int REFERENCES t (id), y int REFERENCES t)");
    run(&mut s, "INSERT INTO t VALUES (1, 2, 3); INSERT INTO r VALUES (3, 3)");
    run(&mut s, "BEGIN; ALTER TABLE t DROP COLUMN a; ALTER TABLE t DROP COLUMN b");
    assert_eq!(rows(&mut s, "SELECT * FROM t"), "3 1");
    assert_eq!(state_of(&mut s, "DELETE FROM t"), "23503");
    run(&mut s, "ROLLBACK");
    assert_eq!(rows(&mut s, "SELECT * FROM t"), "1 2 3 1");
    run(&mut s, "ALTER TABLE t DROP COLUMN a, DROP COLUMN c");
    assert_eq!(state_of(&mut s, "SELECT nextval('t_c_seq')"), "42P01");
    assert_eq!(state_of(&mut s, "ALTER TABLE t DROP COLUMN id"), "2BP01");
    run(&mut s, "ALTER TABLE t DROP COLUMN id CASCADE; INSERT INTO r VALUES (99, 99)");
    assert_eq!(rows(&mut s, "SELECT * FROM t"), "2");
}

#[test]
fn an_old_snapshot_does_not_hide_rows_from_a_rewrite() {
    let (database, mut s) = open();
    let mut other = database.session();
    run(&mut s, "CREATE TABLE t (a int); BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    run(&mut other, "INSERT INTO t VALUES (7)");
    run(&mut s, "ALTER TABLE t ADD COLUMN b int DEFAULT 1; COMMIT");
    assert_eq!(rows(&mut s, "SELECT * FROM t"), "7 1");
}

#[test]
fn temporary_tables_belong_to_a_session() {
    let (database, mut s) = open();
    let mut other = database.session();
    run(&mut s, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    run(&mut s, "CREATE TEMP TABLE t (b int PRIMARY KEY, id serial); INSERT INTO t VALUES (2)");
    run(&mut other, "CREATE TEMP TABLE u (a int); INSERT INTO t VALUES (3)");
    assert_eq!(rows(&mut s, "SELECT * FROM t"), "2 1");
    assert_eq!(rows(&mut other, "SELECT a FROM t ORDER BY a"), "1\n3");
    assert_eq!(state_of(&mut s, "SELECT * FROM u"), "42P01");
    assert_eq!(state_of(&mut other, "SELECT nextval('t_id_seq')"), "42P01");
    run(&mut s, "BEGIN; DROP TABLE t");
    assert_eq!(rows(&mut s, "SELECT a FROM t ORDER BY a"), "1\n3");
    run(&mut s, "ROLLBACK");
    assert_eq!(rows(&mut s, "SELECT * FROM t"), "2 1");
    run(&mut s, "CREATE TABLE x (a int)");
    assert_eq!(state_of(&mut s, "ALTER TABLE x ADD b int REFERENCES t"), "42P16");
    run(&mut s, "DISCARD TEMP");
    assert_eq!(rows(&mut s, "SELECT a FROM t ORDER BY a"), "1\n3");
    assert!(database.relations().iter().all(|info| info.name != "u"));
    drop(other);
    assert_eq!(rows(&mut s, "SELECT count(*) FROM tessera_sessions()"), "1");
}

#[test]
fn sequences_never_give_a_number_twice() {
    let (database, mut s) = open();
    run(&mut s, "CREATE SEQUENCE q; CREATE TABLE t (a int)");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut session = database.session();
            std::thread::spawn(move || {
                let take = "SELECT nextval('q') FROM generate_series(1, 100)";
                let mut all = Vec::new();
                for round in 0..10 {
                    run(&mut session, "BEGIN");
                    all.extend(rows(&mut session, take).lines().map(str::to_owned));
                    run(&mut session, if round % 2 == 0 { "COMMIT" } else { "ROLLBACK" });
                }
                all
            })
        })
        .collect();
    let mut all: Vec<i64> = Vec::new();
    for thread in threads {
        all.extend(thread.join().unwrap().iter().map(|text| text.parse::<i64>().unwrap()));
    }
    all.sort_unstable();
    assert_eq!(all, (1..=4000).collect::<Vec<_>>());
    run(&mut s, "BEGIN; ALTER SEQUENCE q RESTART; SELECT nextval('q'); ROLLBACK");
    assert_eq!(rows(&mut s, "SELECT nextval('q')"), "4001");
    run(&mut s, "ALTER SEQUENCE q RENAME TO r");
    assert_eq!(rows(&mut s, "SELECT currval('r')"), "4001");
    run(&mut s, "DROP SEQUENCE r; CREATE SEQUENCE r");
    assert_eq!(state_of(&mut s, "SELECT currval('r')"), "55000");
}

#[test]
fn names_are_shared_by_all_relations() {
    let (_, mut s) = open();
    run(&mut s, "CREATE TABLE t (a int PRIMARY KEY, b serial); CREATE VIEW v AS SELECT a FROM t");
    for name in ["t", "v", "t_pkey", "t_b_seq"] {
        assert_eq!(state_of(&mut s, &format!("CREATE TABLE {name} (a int)")), "42P07");
        assert_eq!(state_of(&mut s, &format!("CREATE SEQUENCE {name}")), "42P07");
        assert_eq!(state_of(&mut s, &format!("CREATE INDEX {name} ON t (a)")), "42P07");
    }
    assert_eq!(state_of(&mut s, "CREATE TABLE x (a int CONSTRAINT v PRIMARY KEY)"), "42P07");
    assert_eq!(state_of(&mut s, "DROP TABLE t"), "2BP01");
    assert_eq!(state_of(&mut s, "DROP SEQUENCE t_b_seq"), "2BP01");
    run(&mut s, "DROP VIEW v; ALTER TABLE t RENAME TO u");
    run(&mut s, "CREATE TABLE t (a int PRIMARY KEY, b serial)");
    let names = "SELECT constraint_name FROM tessera_constraints() ORDER BY 1";
    assert_eq!(rows(&mut s, names), "t_pkey\nt_pkey1");
    run(&mut s, "INSERT INTO t (a) VALUES (1); INSERT INTO u (a) VALUES (1)");
    let names = "SELECT sequence_name, last_value, owned_by FROM tessera_sequences() ORDER BY 1";
    assert_eq!(rows(&mut s, names), "t_b_seq 1 u.b\nt_b_seq1 1 t.b");
}

#[test]
fn a_definition_waits_for_writers_and_writers_for_it() {
    let (database, mut s) = open();
    run(&mut s, "CREATE TABLE t (a int)");
    run(&mut s, "BEGIN; INSERT INTO t VALUES (1)");
    let mut other = database.session();
    let altering = std::thread::spawn(move || {
        run(&mut other, "ALTER TABLE t ADD COLUMN b int DEFAULT 5");
    });
    // The other session is seen to wait before this one goes on.
    let waiting = "SELECT count(*) FROM tessera_sessions() WHERE state = 'waiting'";
    while rows(&mut s, waiting) != "1" {
        std::thread::yield_now();
    }
    run(&mut s, "COMMIT");
    altering.join().unwrap();
    assert_eq!(rows(&mut s, "SELECT * FROM t"), "1 5");
    run(&mut s, "INSERT INTO t VALUES (2, 2)");
}

#[test]
fn a_sequence_can_be_read_like_a_table() {
    let (_, mut s) = open();
    run(&mut s, "CREATE SEQUENCE q START 5");
    assert_eq!(rows(&mut s, "SELECT last_value, is_called FROM q"), "5 f");
    run(&mut s, "SELECT nextval('q')");
    assert_eq!(rows(&mut s, "SELECT * FROM q"), "5 0 t");
}

#[test]
fn a_domain_is_found_by_its_schema_where_none_is_searched() {
    let (_database, mut s) = open();
    run(&mut s, "CREATE DOMAIN d AS int CHECK (VALUE > 0); CREATE TABLE t (a d, b d[])");
    run(&mut s, "SET search_path = ''");
    assert_eq!(state_of(&mut s, "ALTER DOMAIN d SET DEFAULT 8"), "42704");
    run(&mut s, "ALTER DOMAIN public.d SET DEFAULT 8; INSERT INTO public.t DEFAULT VALUES");
    run(&mut s, "ALTER DOMAIN public.d ADD CONSTRAINT few CHECK (VALUE < 9) NOT VALID");
    assert_eq!(rows(&mut s, "SELECT * FROM public.t"), "8 null");
    let few = refused(&mut s, "INSERT INTO public.t VALUES (9)");
    let message = "value for domain d violates check constraint \"few\"";
    assert_eq!(few, ("23514".to_owned(), message.to_owned()));
}
