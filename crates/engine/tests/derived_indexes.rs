//! Indexes over expressions and partial ones beyond SQL's answers: plans that use them, restarts
//! and backups, native transactions, threads, and answers with and without them.

mod support;

use engine::native::{IndexRead, NativeOptions};
use engine::{Config, Database, Files, Session};
use storage::{Datum, RowBuffer};
use support::{run, state};
use testkit::{Random, Scratch};
use types::SqlState;

/// Lists what the database finds wrong with its indexes.
fn problems(session: &mut Session) -> Vec<String> {
    run(session, "SELECT * FROM tessera_check()")
}

/// True when the plan of the query reads by this index.
fn uses(session: &mut Session, index: &str, sql: &str) -> bool {
    let plan = run(session, &format!("EXPLAIN {sql}")).join("\n");
    plan.contains(&format!("using {index}"))
}

fn users(session: &mut Session) {
    run(session, "CREATE TABLE users (id int PRIMARY KEY, email text, a int, b int, s text)");
    run(
        session,
        "INSERT INTO users SELECT i, 'User' || i, i % 5000, i % 7, \
         CASE WHEN i % 1000 = 0 THEN 'new' ELSE 'old' END FROM generate_series(1, 20000) AS g (i)",
    );
    run(session, "CREATE UNIQUE INDEX users_email ON users (lower(email))");
    run(session, "CREATE INDEX users_sum ON users ((a + b), b)");
    run(session, "CREATE INDEX users_new ON users (id) WHERE s = 'new'");
    run(session, "CREATE INDEX users_large ON users (a) WHERE b IS NOT NULL AND a > 4000");
}

#[test]
fn the_first_rows_come_in_their_order() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    run(&mut session, "CREATE TABLE job (id int PRIMARY KEY, priority int, state varchar(8))");
    run(
        &mut session,
        "INSERT INTO job SELECT i, i % 10, 'ready' FROM generate_series(1, 20000) AS g (i)",
    );
    run(&mut session, "CREATE INDEX job_ready ON job (priority, id) WHERE state = 'ready'");
    let mut of = |condition: &str, order: &str| {
        let sql = format!("EXPLAIN SELECT id FROM job WHERE {condition} ORDER BY {order} LIMIT 1");
        run(&mut session, &sql).join("\n")
    };
    for (condition, order, found) in [
        ("state = 'ready'", "priority, id", "in index order"),
        ("state = 'ready'", "priority DESC, id DESC", "in reverse index order"),
        ("state = 'ready' AND priority = 3", "id", "in index order"),
        ("state = 'ready' AND state <> 'done'", "priority", "in index order"),
    ] {
        let plan = of(condition, order);
        assert!(plan.contains("using job_ready") && plan.contains(found), "{condition}: {plan}");
        assert!(!plan.contains("TopK") && !plan.contains("where"), "{condition}: {plan}");
    }
    for (condition, order) in
        [("state > 'a'", "priority, id"), ("state = 'ready'", "id"), ("true", "priority, id")]
    {
        let plan = of(condition, order);
        assert!(plan.contains("TopK") && !plan.contains("job_ready"), "{condition}: {plan}");
    }
}

#[test]
fn plans_use_them() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    users(&mut session);
    let used = [
        ("users_email", "lower(email) = 'user77'"),
        ("users_email", "'user77' = lower(email)"),
        ("users_email", "lower(email) = lower('USER77')"),
        ("users_email", "lower(email) IN ('user77', 'user78')"),
        ("users_email", "lower(email) > 'user999' AND a > 5"),
        ("users_sum", "a + b = 77 AND b = 3"),
        ("users_sum", "a + b = 77"),
        ("users_sum", "a + b BETWEEN 77 AND 78"),
        ("users_new", "s = 'new'"),
        ("users_new", "s = 'new' AND id > 100"),
        ("users_new", "s IN ('new') AND email <> 'x'"),
        ("users_large", "a = 4001 AND b < 3"),
        ("users_large", "a > 4995 AND b = 3"),
        ("users_large", "a BETWEEN 4500 AND 4501 AND b IN (1, 2)"),
    ];
    for (index, condition) in used {
        let query = format!("SELECT * FROM users WHERE {condition}");
        assert!(uses(&mut session, index, &query), "{condition}: {index}");
    }
    run(&mut session, "SET index_paths = prefer");
    let unused = [
        ("users_email", "upper(email) = 'USER77'"),
        ("users_email", "lower(email) IS NULL"),
        ("users_sum", "a - b = 77"),
        ("users_new", "s = 'old' AND id = 7"),
        ("users_new", "s <> 'old' AND id > 7"),
        ("users_new", "(s = 'new' OR a = 3) AND id > 7"),
        ("users_large", "a = 4001"),
        ("users_large", "a = 4000 AND b = 3"),
        ("users_large", "a > 3999 AND b = 3"),
        ("users_large", "a IN (3000, 4500) AND b = 3"),
    ];
    for (index, condition) in unused {
        let query = format!("SELECT * FROM users WHERE {condition}");
        assert!(!uses(&mut session, index, &query), "{condition}: {index}");
    }
    run(&mut session, "SET index_paths = on");
    run(&mut session, "PREPARE of (text) AS SELECT id FROM users WHERE lower(email) = $1");
    assert_eq!(run(&mut session, "EXECUTE of('user5')"), ["5"]);
    run(&mut session, "PREPARE low (text) AS SELECT id FROM users WHERE lower(email) = lower($1)");
    assert_eq!(run(&mut session, "EXECUTE low('USER6')"), ["6"]);
    assert_eq!(run(&mut session, "EXECUTE low(NULL)"), [""; 0]);
    // What a parameter implies is not known.
    run(&mut session, "PREPARE state (text) AS SELECT count(*) FROM users WHERE s = $1");
    assert_eq!(run(&mut session, "EXECUTE state('new')"), ["20"]);
    assert_eq!(run(&mut session, "EXECUTE state('old')"), ["19980"]);
    assert!(problems(&mut session).is_empty());
}

#[test]
fn they_are_there_after_a_restart_and_in_backups() {
    let scratch = Scratch::new("derived");
    let (place, copy) = (scratch.join("db"), scratch.join("copy"));
    let defined = "SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY indexname";
    {
        let database = Database::open(&place, Config::default()).expect("a directory");
        let mut session = database.session();
        run(&mut session, "CREATE TABLE t (a int, b text)");
        run(&mut session, "CREATE UNIQUE INDEX t_lower ON t (lower(b))");
        run(&mut session, "INSERT INTO t VALUES (1, 'One'), (2, 'Two')");
        run(&mut session, "CHECKPOINT");
        // From the log.
        run(&mut session, "CREATE UNIQUE INDEX t_part ON t (a) WHERE a > 0");
        run(&mut session, "ALTER TABLE t RENAME COLUMN b TO c");
        run(&mut session, "INSERT INTO t VALUES (3, 'Three'), (-1, 'x'), (-1, 'y')");
        run(&mut session, "UPDATE t SET c = 'Uno' WHERE a = 1");
        run(&mut session, &format!("BACKUP TO '{}'", copy.display()));
    }
    for place in [&place, &copy, &place] {
        let report = Database::check(place, &Config::default(), &Files::default());
        let report = report.expect("it is read");
        assert!(report.is_sound(), "{:?}", report.problems);
        let database = Database::open(place, Config::default()).expect("it was closed");
        let mut session = database.session();
        let definitions = run(&mut session, defined);
        let wanted = [
            "CREATE UNIQUE INDEX t_lower ON public.t USING btree (lower(c))",
            "CREATE UNIQUE INDEX t_part ON public.t USING btree (a) WHERE (a > 0)",
        ];
        assert_eq!(definitions, wanted);
        run(&mut session, "SET index_paths = prefer");
        assert_eq!(run(&mut session, "SELECT a FROM t WHERE lower(c) = 'uno'"), ["1"]);
        assert!(uses(&mut session, "t_lower", "SELECT a FROM t WHERE lower(c) = 'uno'"));
        assert_eq!(run(&mut session, "SELECT c FROM t WHERE a = 3 AND a > 0"), ["Three"]);
        assert_eq!(state(&mut session, "INSERT INTO t VALUES (9, 'THREE')"), "23505");
        assert_eq!(state(&mut session, "INSERT INTO t VALUES (3, 'z')"), "23505");
        assert!(problems(&mut session).is_empty());
    }
}

#[test]
fn native_transactions_keep_them() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (id int PRIMARY KEY, a int, b text)");
    run(&mut session, "CREATE UNIQUE INDEX t_sum ON t ((id + a))");
    run(&mut session, "CREATE UNIQUE INDEX t_part ON t (a) WHERE b = 'x'");
    let table = database.handle("t").expect("a table");
    let mut native = database.native();
    native.begin(NativeOptions::default()).expect("it begins");
    let row = |id, a, b| [Datum::I32(id), Datum::I32(a), Datum::Str(b)];
    let tid = native.insert(&table, &row(1, 5, b"x")).expect("a new row");
    native.insert(&table, &row(2, 5, b"y")).expect("outside of the partial index");
    for refused in [row(3, 3, b"y"), row(4, 5, b"x")] {
        let equal = native.insert(&table, &refused).expect_err("a key that is there");
        assert_eq!(equal.state(), SqlState::UNIQUE_VIOLATION);
    }
    native.update(&table, tid, &[(1, Datum::I32(20))]).expect("its key changes");
    let index = table.index("t_sum").expect("the index");
    let mut found = RowBuffer::new();
    let by_key = native.get(
        IndexRead { table: &table, index, columns: &[0, 1] },
        &[Datum::I32(21)],
        &mut found,
    );
    assert_eq!(by_key.expect("it reads"), Some(tid));
    let old =
        native.get(IndexRead { table: &table, index, columns: &[0] }, &[Datum::I32(6)], &mut found);
    assert_eq!(old.expect("it reads"), None);
    native.insert(&table, &row(4, 5, b"x")).expect("the key is free");
    native.commit().expect("it commits");
    assert_eq!(run(&mut session, "SELECT id FROM t ORDER BY id"), ["1", "2", "4"]);
    assert!(problems(&mut session).is_empty());
}

#[test]
fn threads_insert_equal_keys_once() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (who int, email text, active boolean)");
    run(&mut session, "CREATE UNIQUE INDEX t_email ON t (lower(email)) WHERE active");
    std::thread::scope(|scope| {
        for who in 0..4 {
            let database = &database;
            scope.spawn(move || {
                let mut session = database.session();
                let mut random = Random::new(who);
                for _ in 0..300 {
                    let key = random.below(40);
                    let letter = if random.chance(50) { 'K' } else { 'k' };
                    let sql = match random.below(4) {
                        0 => format!("DELETE FROM t WHERE lower(email) = 'k{key}'"),
                        1 => format!("UPDATE t SET active = NOT active WHERE email = 'k{key}'"),
                        _ => format!("INSERT INTO t VALUES ({who}, '{letter}{key}', true)"),
                    };
                    if let Err(error) = session.execute(&sql) {
                        let state = error.state().to_string();
                        assert!(["23505", "40001", "40P01"].contains(&&*state), "{sql}: {error}");
                    }
                }
            });
        }
    });
    let twice = "SELECT lower(email) FROM t WHERE active GROUP BY 1 HAVING count(*) > 1";
    assert_eq!(run(&mut session, twice), [""; 0]);
    assert!(problems(&mut session).is_empty());
}

/// Conditions about a row of the model.
fn condition(random: &mut Random) -> String {
    let n = random.within(-3..12);
    match random.below(12) {
        0 => format!("a + b = {n}"),
        1 => format!("a + b > {n}"),
        2 => format!("a + b BETWEEN {n} AND {}", n + 3),
        3 => format!("lower(c) = 'v{n}'"),
        4 => format!("lower(c) < 'v{n}' AND a > {n}"),
        5 => format!("a > 5 AND b = {n}"),
        6 => format!("a > {n} AND b > 2"),
        7 => format!("a IN ({n}, 7, 8) AND b = 3"),
        8 => format!("a IN (7, 8) AND b <= {n}"),
        9 => format!("b IS NOT NULL AND lower(c) = 'v{n}'"),
        10 => format!("b = {n} AND lower(c) IN ('v1', 'v{n}')"),
        _ => format!("a % 4 = {} AND b = 1", n.rem_euclid(4)),
    }
}

/// A statement that changes rows of `TABLE`.
fn change(random: &mut Random) -> String {
    let mut number =
        || if random.chance(10) { "NULL".to_owned() } else { random.within(-2..10).to_string() };
    let (a, b, n) = (number(), number(), number());
    let letter = if random.chance(50) { 'V' } else { 'v' };
    match random.below(7) {
        0 | 1 => format!("INSERT INTO TABLE VALUES ({a}, {b}, '{letter}{n}')"),
        2 => format!("UPDATE TABLE SET a = {a} WHERE {}", condition(random)),
        3 => format!("UPDATE TABLE SET b = b + 1, c = upper(c) WHERE {}", condition(random)),
        4 => format!("UPDATE TABLE SET c = '{letter}{n}' WHERE {}", condition(random)),
        5 => format!("DELETE FROM TABLE WHERE {}", condition(random)),
        _ => "INSERT INTO TABLE SELECT a, 9 - b, lower(c) FROM TABLE WHERE a < 3 AND b = 2"
            .to_owned(),
    }
}

/// All rows of a query, in order.
fn sorted(session: &mut Session, sql: &str, table: &str) -> Vec<String> {
    let text = "coalesce(a::text, '-') || ' ' || coalesce(b::text, '-') || ' ' || c";
    run(session, &format!("SELECT {text} FROM {table} WHERE {sql} ORDER BY 1"))
}

fn model(layout: &str, seed: u64) {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let (mut session, mut old) = (database.session(), database.session());
    for table in ["plain", "indexed"] {
        let columns = "(a int, b int, c text)";
        run(&mut session, &format!("CREATE TABLE {table} {columns} WITH (layout = '{layout}')"));
        let rows = "SELECT i % 11 - 2, i % 5, 'V' || i % 13 FROM generate_series(1, 60) AS g (i)";
        run(&mut session, &format!("INSERT INTO {table} {rows}"));
    }
    let indexes = [
        "((a + b))",
        "(lower(c) DESC, b)",
        "(b) WHERE a > 5",
        "(a) WHERE b > 2 OR a IN (7, 8)",
        "(lower(c)) WHERE b IS NOT NULL",
        "USING hash ((a % 4)) WHERE b = 1",
    ];
    for index in indexes {
        run(&mut session, &format!("CREATE INDEX ON indexed {index}"));
    }
    for session in [&mut session, &mut old] {
        run(session, "SET index_paths = prefer");
    }
    let mut random = Random::new(seed);
    let mut snapshot: Vec<(String, Vec<String>)> = Vec::new();
    for step in 0..120 {
        if step % 30 == 0 {
            if step > 0 {
                for (condition, rows) in snapshot.drain(..) {
                    let now = sorted(&mut old, &condition, "indexed");
                    assert_eq!(now, rows, "{layout} {seed}: {condition} of an old snapshot");
                }
                run(&mut old, "COMMIT");
            }
            run(&mut old, "BEGIN ISOLATION LEVEL REPEATABLE READ");
            for _ in 0..6 {
                let condition = condition(&mut random);
                let rows = sorted(&mut old, &condition, "plain");
                snapshot.push((condition, rows));
            }
        }
        let in_block = random.chance(30);
        if in_block {
            run(&mut session, "BEGIN");
        }
        for _ in 0..if in_block { 3 } else { 1 } {
            let sql = change(&mut random);
            for table in ["plain", "indexed"] {
                run(&mut session, &sql.replace("TABLE", table));
            }
            let condition = condition(&mut random);
            let rows = sorted(&mut session, &condition, "indexed");
            let wanted = sorted(&mut session, &condition, "plain");
            assert_eq!(rows, wanted, "{layout} {seed}: {condition} after {sql}");
        }
        if in_block {
            run(&mut session, if random.chance(50) { "COMMIT" } else { "ROLLBACK" });
        }
    }
    run(&mut old, "COMMIT");
    assert!(problems(&mut session).is_empty(), "{layout} {seed}");
}

#[test]
fn answers_are_the_same_without_them() {
    for (seed, layout) in ["row", "column", "frozen", "auto"].iter().cycle().take(12).enumerate() {
        model(layout, seed as u64);
    }
}

#[test]
fn loads_keep_them_in_all_layouts() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    for layout in ["row", "column", "frozen", "auto"] {
        run(
            &mut session,
            &format!("CREATE TABLE {layout}_t (a int, b text) WITH (layout = '{layout}')"),
        );
        run(&mut session, &format!("CREATE UNIQUE INDEX ON {layout}_t (upper(b)) WHERE a > 100"));
        let load = |from: u32| {
            let rows = format!("generate_series({from}, 70000) AS s (i)");
            format!("INSERT INTO {layout}_t SELECT i, 'x' || i FROM {rows}")
        };
        run(&mut session, &load(1));
        assert_eq!(state(&mut session, &load(60000)), "23505", "{layout}");
        let update = format!("UPDATE {layout}_t SET b = 'X' || a - 1 WHERE a BETWEEN 50 AND 100");
        run(&mut session, &update);
        let found = format!("SELECT a FROM {layout}_t WHERE upper(b) = 'X777' AND a > 100");
        assert_eq!(run(&mut session, &found), ["777"], "{layout}");
        let taken = format!("UPDATE {layout}_t SET a = 101 WHERE b = 'X60'");
        run(&mut session, &taken);
        assert_eq!(
            state(&mut session, &format!("INSERT INTO {layout}_t VALUES (101, 'x60')")),
            "23505"
        );
    }
    assert!(problems(&mut session).is_empty());
}
