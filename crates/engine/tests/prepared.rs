//! Prepared statements against the same statements as text, while the catalog, the values and the
//! transactions around them change.

use engine::{Config, Database, PreparedStatement, Session};
use testkit::Random;
use types::Value;

fn run(session: &mut Session, sql: &str) -> String {
    match session.execute(sql) {
        Ok(result) => outcome(&result),
        Err(error) => format!("{} {}", error.state(), error.message()),
    }
}

fn outcome(result: &engine::QueryResult) -> String {
    let rows: Vec<String> = result.text_rows().iter().map(|row| format!("{row:?}")).collect();
    let names: Vec<&str> = result.columns().iter().map(|(name, _)| name.as_str()).collect();
    format!("{} {names:?} {}", result.tag(), rows.join(";"))
}

fn again(session: &mut Session, statement: &mut PreparedStatement, values: &[Value]) -> String {
    match session.execute_prepared(statement, values) {
        Ok(result) => outcome(&result),
        Err(error) => format!("{} {}", error.state(), error.message()),
    }
}

/// Statements with `$1` for a key and `$2` for a number.
const STATEMENTS: [&str; 18] = [
    "SELECT id, k, v, s, s || 'x', v + $2, $2 FROM t WHERE id = $1",
    "SELECT k FROM t WHERE id = $1 AND k > $2",
    "SELECT count(*), sum(v), sum(k * k) FROM t WHERE k = $2 AND id <> $1",
    "SELECT id FROM t WHERE k BETWEEN $1 AND $2 ORDER BY k, id LIMIT 3",
    "SELECT sum(v * v), max(k) FROM t WHERE id > $1 AND k <> $2",
    "SELECT now() IS NULL, id FROM t WHERE id = $1 OR k = $2 ORDER BY id",
    "SELECT s FROM t WHERE u = $1 AND id <> $2",
    "SELECT k, s FROM t WHERE id = $1 AND k <> $2 FOR UPDATE",
    "UPDATE t SET v = v * 2 + $2, k = $2 WHERE id = $1",
    "UPDATE t SET s = s || 'y' WHERE id = $1 AND k > $2",
    "UPDATE t SET u = $2 WHERE u = $1",
    "UPDATE t SET id = $2 WHERE id = $1",
    "DELETE FROM t WHERE id = $1 AND k < $2",
    "UPDATE t SET v = v + $2, s = s || 'r' WHERE id = $1 RETURNING id, v - 1 AS w, s, u",
    "UPDATE t SET id = $2, k = k + 1 WHERE id = $1 AND k < 12 RETURNING *",
    "DELETE FROM t WHERE id = $1 RETURNING k * 2 AS d, v, $2 AS p",
    "INSERT INTO t (id, k, u) VALUES ($1, $2, NULL)",
    "INSERT INTO t VALUES ($1, 7, $2, 'new', $2)",
];

/// Statements that run around the tested ones, in both databases.
const AROUND: [&str; 16] = [
    "BEGIN",
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    "BEGIN READ ONLY",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT a",
    "ROLLBACK TO a",
    "CREATE INDEX t_k ON t (k)",
    "DROP INDEX t_k",
    "ALTER TABLE t ADD CONSTRAINT c CHECK (k < 15)",
    "ALTER TABLE t DROP CONSTRAINT c",
    "INSERT INTO t SELECT i, i % 20, i * 100000000, 's' || i, NULL FROM generate_series(100, 400) \
     i(i)",
    "CREATE TABLE child (t int REFERENCES t (id)); INSERT INTO child SELECT min(id) FROM t",
    "DROP TABLE child",
    "DROP TABLE t",
];

const TABLE: &str =
    "CREATE TABLE t (id int PRIMARY KEY, k int NOT NULL, v bigint, s text, u int UNIQUE)";

fn scenario(seed: u64) {
    let config = Config { threads: 1, memory_bytes: 1 << 30, ..Config::default() };
    let open = || Database::open_in_memory(config.clone()).expect("opens").session();
    let (mut prepared, mut named, mut plain) = (open(), open(), open());
    let mut random = Random::new(seed);
    for session in [&mut prepared, &mut named, &mut plain] {
        run(session, TABLE);
    }
    let mut statements: Vec<PreparedStatement> = Vec::new();
    for (i, text) in STATEMENTS.iter().enumerate() {
        let types = [types::DataType::Integer, types::DataType::Integer];
        statements.push(prepared.prepare(text, &types).expect("prepares"));
        run(&mut named, &format!("PREPARE p{i} (int, int) AS {text}"));
    }
    let mut failed = false;
    for step in 0..600 {
        if random.chance(if failed { 50 } else { 12 }) {
            let around = if failed {
                "ROLLBACK"
            } else {
                AROUND[random.below(AROUND.len() as u64) as usize]
            };
            let expected = run(&mut plain, around);
            for session in [&mut prepared, &mut named] {
                assert_eq!(run(session, around), expected, "seed {seed}, step {step}: {around}");
                if around == "DROP TABLE t" {
                    run(session, TABLE);
                }
            }
            if around == "DROP TABLE t" {
                run(&mut plain, TABLE);
            }
            continue;
        }
        let i = random.below(STATEMENTS.len() as u64) as usize;
        let mut number = || if random.chance(4) { None } else { Some(random.within(0..30) as i32) };
        let (a, b) = (number(), number());
        let text = |n: Option<i32>| n.map_or_else(|| "NULL".to_owned(), |n| n.to_string());
        let arguments = format!("{}, {}", text(a), text(b));
        let cast = |n| format!("CAST({} AS int)", text(n));
        let sql = STATEMENTS[i].replace("$1", &cast(a)).replace("$2", &cast(b));
        let sql = sql.replace(&format!("v + {}, {} FROM", cast(b), cast(b)), &{
            format!("v + {0}, {0} AS \"?column?\" FROM", cast(b))
        });
        let expected = run(&mut plain, &sql);
        failed = expected.starts_with("25P02");
        let value = |n: Option<i32>| n.map_or(Value::Null, Value::I32);
        let found = again(&mut prepared, &mut statements[i], &[value(a), value(b)]);
        assert_eq!(found, expected, "seed {seed}, step {step}: {sql}");
        let found = run(&mut named, &format!("EXECUTE p{i} ({arguments})"));
        assert_eq!(found, expected, "seed {seed}, step {step}: {sql} by name");
    }
}

#[test]
fn prepared_statements_do_what_their_text_does() {
    for seed in 0..12 {
        scenario(seed);
    }
}

fn two() -> (Session, Session) {
    let database = Database::open_in_memory(Config::default()).expect("opens");
    let (mut a, b) = (database.session(), database.session());
    run(&mut a, "CREATE TABLE t (id int PRIMARY KEY, v int)");
    run(&mut a, "INSERT INTO t VALUES (1, 10), (2, 20)");
    (a, b)
}

#[test]
fn prepared_writers_conflict_as_others_do() {
    let (mut a, mut b) = two();
    let text = "UPDATE t SET v = v + 1 WHERE id = $1";
    let mut update = b.prepare(text, &[]).expect("prepares");
    assert_eq!(again(&mut b, &mut update, &[Value::I32(1)]), "UPDATE 1 [] ");
    run(&mut b, "BEGIN");
    run(&mut b, "SELECT 1");
    run(&mut a, "UPDATE t SET v = 0 WHERE id = 1");
    let message = "40001 could not serialize access due to concurrent update";
    assert_eq!(again(&mut b, &mut update, &[Value::I32(1)]), message);
    assert!(again(&mut b, &mut update, &[Value::I32(2)]).starts_with("25P02"));
    run(&mut b, "ROLLBACK");
    assert_eq!(again(&mut b, &mut update, &[Value::I32(2)]), "UPDATE 1 [] ");
    run(&mut b, "BEGIN ISOLATION LEVEL READ COMMITTED");
    run(&mut b, "SELECT 1");
    run(&mut a, "UPDATE t SET v = 100 WHERE id = 1");
    assert_eq!(again(&mut b, &mut update, &[Value::I32(1)]), "UPDATE 1 [] ");
    run(&mut b, "COMMIT");
    assert_eq!(
        run(&mut a, "SELECT v FROM t ORDER BY id"),
        r#"SELECT 2 ["v"] [Some("101")];[Some("21")]"#
    );
}

#[test]
fn prepared_writers_at_read_committed_lose_nothing() {
    const THREADS: i32 = 4;
    const ROUNDS: i32 = 300;
    let database = Database::open_in_memory(Config::default()).expect("opens");
    let mut a = database.session();
    run(&mut a, "CREATE TABLE t (id int PRIMARY KEY, v int)");
    run(&mut a, "INSERT INTO t VALUES (1, 0), (2, 0)");
    let write = |thread: i32| -> i32 {
        let mut session = database.session();
        run(&mut session, "SET default_transaction_isolation = 'read committed'");
        let mut add =
            session.prepare("UPDATE t SET v = v + 1 WHERE id = $1", &[]).expect("prepares");
        let text = "UPDATE t SET v = v - 1 WHERE id = $1 AND v > 0";
        let mut take = session.prepare(text, &[]).expect("prepares");
        let mut taken = 0;
        for round in 0..ROUNDS {
            let inside = (thread + round) % 3 != 0;
            if inside {
                run(&mut session, "BEGIN");
                run(&mut session, "SELECT 1");
            }
            assert_eq!(again(&mut session, &mut add, &[Value::I32(1)]), "UPDATE 1 [] ");
            assert_eq!(again(&mut session, &mut add, &[Value::I32(2)]), "UPDATE 1 [] ");
            if inside {
                assert!(run(&mut session, "COMMIT").starts_with("COMMIT"));
            }
            match again(&mut session, &mut take, &[Value::I32(2)]).as_str() {
                "UPDATE 1 [] " => taken += 1,
                other => assert_eq!(other, "UPDATE 0 [] "),
            }
        }
        taken
    };
    let taken: i32 = std::thread::scope(|scope| {
        let write = &write;
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || write(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    let expected = [THREADS * ROUNDS, THREADS * ROUNDS - taken];
    let [first, second] = expected.map(|v| format!("[Some(\"{v}\")]"));
    let found = run(&mut a, "SELECT v FROM t ORDER BY id");
    assert_eq!(found, format!("SELECT 2 [\"v\"] {first};{second}"));
}

#[test]
fn prepared_reads_are_validated() {
    let (mut a, mut b) = two();
    let mut get = a.prepare("SELECT v FROM t WHERE id = $1", &[]).expect("prepares");
    for other in [1, 2] {
        run(&mut a, "BEGIN ISOLATION LEVEL SERIALIZABLE");
        assert!(again(&mut a, &mut get, &[Value::I32(1)]).starts_with("SELECT 1"));
        run(&mut b, &format!("UPDATE t SET v = v + 1 WHERE id = {other}"));
        run(&mut a, "INSERT INTO t VALUES (3, 3)");
        let outcome = run(&mut a, "COMMIT");
        assert_eq!(outcome.starts_with("40001"), other == 1, "{outcome}");
    }
}

#[test]
fn plans_are_made_anew_when_ranges_grow() {
    let (mut a, _) = two();
    let mut total = a.prepare("SELECT sum(v * v) FROM t WHERE id > $1", &[]).expect("prepares");
    let found = again(&mut a, &mut total, &[Value::I32(0)]);
    assert_eq!(found, r#"SELECT 1 ["sum"] [Some("500")]"#);
    run(&mut a, "INSERT INTO t VALUES (3, 40000)");
    let found = again(&mut a, &mut total, &[Value::I32(0)]);
    assert_eq!(found, r#"SELECT 1 ["sum"] [Some("1600000500")]"#);
    run(&mut a, "INSERT INTO t VALUES (4, NULL), (5, 2000000000)");
    let found = again(&mut a, &mut total, &[Value::I32(0)]);
    assert!(found.starts_with("22003"), "{found}");
}

#[test]
fn another_session_binds_a_statement_again() {
    let (mut a, mut b) = two();
    let (mut c, _) = two();
    run(&mut c, "UPDATE t SET v = 11 WHERE id = 1");
    let mut get = a.prepare("SELECT v FROM t WHERE id = $1", &[]).expect("prepares");
    let one = |v| format!(r#"SELECT 1 ["v"] [Some("{v}")]"#);
    for _ in 0..2 {
        assert_eq!(again(&mut a, &mut get, &[Value::I32(1)]), one(10));
        assert_eq!(again(&mut c, &mut get, &[Value::I32(1)]), one(11));
    }
    run(&mut b, "CREATE TEMP TABLE t (id int PRIMARY KEY, v int)");
    assert!(again(&mut b, &mut get, &[Value::I32(1)]).starts_with("SELECT 0"));
    assert_eq!(again(&mut a, &mut get, &[Value::I32(1)]), one(10));
}

#[test]
fn values_must_fit_their_parameters() {
    let (mut a, _) = two();
    let mut get = a.prepare("SELECT v FROM t WHERE id = $1", &[]).expect("prepares");
    assert_eq!(get.parameters(), [types::DataType::Integer]);
    assert!(again(&mut a, &mut get, &[]).starts_with("08P01"));
    assert!(again(&mut a, &mut get, &[Value::I64(1)]).starts_with("42804"));
    assert!(again(&mut a, &mut get, &[Value::text("1")]).starts_with("42804"));
    assert!(again(&mut a, &mut get, &[Value::Null]).starts_with("SELECT 0"));
    assert!(a.prepare("SELECT 1; SELECT 2", &[]).is_err());
}

#[test]
fn a_cancel_ends_one_statement_and_no_later_one() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    session.cancel_handle().cancel();
    let mut statement = session.prepare("SELECT 1", &[]).expect("prepared after a cancel");
    session.cancel_handle().cancel();
    assert!(again(&mut session, &mut statement, &[]).starts_with("SELECT 1"));
    session.cancel_handle().cancel();
    assert!(run(&mut session, "SELECT 1").starts_with("SELECT 1"));
}
