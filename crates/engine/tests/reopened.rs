//! A database that was opened again has the indexes it had, and its queries use them at once.

mod support;

use engine::{Config, Database, Session};
use support::run;
use testkit::Scratch;

/// True when the query with one key reads an index.
fn uses_index(session: &mut Session, table: &str) -> bool {
    let plan = run(session, &format!("EXPLAIN SELECT b FROM {table} WHERE a = 5"));
    plan.iter().any(|line| line.contains("IndexScan"))
}

#[test]
fn queries_use_indexes_from_the_first_on() {
    let scratch = Scratch::new("reopened");
    let rows = "SELECT i, i * 2 FROM generate_series(1, 50000) AS g(i)";
    {
        let database = Database::open(scratch.path(), Config::default()).expect("a new directory");
        let mut session = database.session();
        for sql in [
            "CREATE TABLE early (a int PRIMARY KEY, b int)",
            &format!("INSERT INTO early {rows}"),
            "CREATE TABLE changed (a int NOT NULL, b int)",
            &format!("INSERT INTO changed {rows}"),
            "ALTER TABLE changed ADD PRIMARY KEY (a)",
            "CHECKPOINT",
            "CREATE TABLE late (a int, b int)",
            &format!("INSERT INTO late {rows}"),
            "CREATE UNIQUE INDEX late_a ON late (a)",
        ] {
            run(&mut session, sql);
        }
    }
    for opening in 0..3 {
        let database = Database::open(scratch.path(), Config::default()).expect("it was closed");
        let mut session = database.session();
        for table in ["early", "changed", "late"] {
            assert!(uses_index(&mut session, table), "{table}, opened {opening} times before");
            let found = run(&mut session, &format!("SELECT b FROM {table} WHERE a = 4711"));
            assert_eq!(found, ["9422"]);
        }
        run(&mut session, "UPDATE late SET b = b WHERE a = 7");
        assert!(database.check_indexes().is_sound());
    }
}

#[test]
fn comments_are_as_they_were_left() {
    let scratch = Scratch::new("comments");
    let all = "SELECT c.relname || d.objsubid || d.description FROM pg_description AS d \
               JOIN pg_class AS c ON c.oid = d.objoid ORDER BY 1";
    let steps: [(&[&str], &[&str]); 3] = [
        (
            &[
                "CREATE TABLE a (x int, y oid, z oid[])",
                "COMMENT ON TABLE a IS 'first'",
                "COMMENT ON COLUMN a.y IS 'a number'",
                "COMMENT ON SCHEMA public IS 'ours'",
                "INSERT INTO a VALUES (1, 4294967295, '{7}')",
            ],
            &["a0first", "a2a number"],
        ),
        (
            // Some of it comes from a checkpoint, the rest from the log.
            &[
                "CHECKPOINT",
                "COMMENT ON TABLE a IS 'second'",
                "ALTER TABLE a RENAME TO b",
                "COMMENT ON COLUMN b.x IS 'gone soon'",
                "ALTER TABLE b DROP COLUMN x",
            ],
            &["b0second", "b1a number"],
        ),
        (&["COMMENT ON TABLE b IS NULL", "DROP TABLE b"], &[]),
    ];
    for (statements, expected) in steps {
        {
            let database = Database::open(scratch.path(), Config::default()).expect("a directory");
            let mut session = database.session();
            for sql in statements {
                run(&mut session, sql);
            }
            assert_eq!(run(&mut session, all), expected);
        }
        let database = Database::open(scratch.path(), Config::default()).expect("it was closed");
        let mut session = database.session();
        assert_eq!(run(&mut session, all), expected);
        let ours = "SELECT obj_description(oid) FROM pg_namespace WHERE nspname = 'public'";
        assert_eq!(run(&mut session, ours), ["ours"]);
    }
}

#[test]
fn extensions_are_as_they_were_left() {
    let scratch = Scratch::new("extensions");
    let all = "SELECT e.extname || ' ' || n.nspname || ' ' || obj_description(e.oid) \
               FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace \
               WHERE e.extname <> 'plpgsql' ORDER BY 1";
    let trigrams = "text similarity measurement and index searching based on trigrams";
    let steps: [(&[&str], &[&str]); 3] = [
        (
            &[
                "CREATE SCHEMA s",
                "CREATE EXTENSION pg_trgm",
                "CREATE EXTENSION pgcrypto SCHEMA s",
                "CREATE EXTENSION unaccent",
                "COMMENT ON EXTENSION pgcrypto IS 'ours'",
                "CREATE TABLE t (a text, b text DEFAULT s.digest('a', 'md5')::text)",
            ],
            &["pg_trgm public TRIGRAMS", "pgcrypto s ours", "unaccent public WORDS"],
        ),
        (
            &["CHECKPOINT", "ALTER EXTENSION pg_trgm SET SCHEMA s", "DROP EXTENSION unaccent"],
            &["pg_trgm s TRIGRAMS", "pgcrypto s ours"],
        ),
        (&["CHECKPOINT", "DROP EXTENSION pg_trgm"], &["pgcrypto s ours"]),
    ];
    for (statements, wanted) in steps {
        {
            let database = Database::open(scratch.path(), Config::default()).expect("open");
            let mut session = database.session();
            statements.iter().for_each(|sql| drop(run(&mut session, sql)));
        }
        let database = Database::open(scratch.path(), Config::default()).expect("it was closed");
        let mut session = database.session();
        let found: Vec<String> = run(&mut session, all)
            .into_iter()
            .map(|line| {
                let line = line.replace(trigrams, "TRIGRAMS");
                line.replace("text search dictionary that removes accents", "WORDS")
            })
            .collect();
        assert_eq!(found, wanted);
        run(&mut session, "INSERT INTO t (a) VALUES ('x')");
    }
}

#[test]
fn types_of_ranges_are_as_they_were_left() {
    let scratch = Scratch::new("range types");
    let steps: [(&[&str], &str, &[&str]); 3] = [
        (
            &[
                "CREATE TYPE floats AS RANGE (subtype = float8, subtype_diff = float8mi)",
                "CREATE TABLE a (r floats, m floats_multirange, l floats[])",
                "INSERT INTO a VALUES ('[1,2]', '{[3,4)}', '{empty}')",
            ],
            "SELECT r || ' ' || m || ' ' || l::text FROM a",
            &["[1,2] {[3,4)} {empty}"],
        ),
        (
            // Some of it comes from a checkpoint, the rest from the log.
            &[
                "CHECKPOINT",
                "CREATE TYPE texts AS RANGE (subtype = text, multirange_type_name = many)",
                "INSERT INTO a VALUES ('[5,6]', floats_multirange(floats(1, 3)), NULL)",
            ],
            "SELECT r || ' ' || many(texts('a', 'b')) FROM a ORDER BY r",
            &["[1,2] {[a,b)}", "[5,6] {[a,b)}"],
        ),
        (
            &["DROP TYPE texts", "DROP TABLE a", "DROP TYPE floats"],
            "SELECT typname FROM pg_type WHERE typname IN ('texts', 'many', 'floats')",
            &[],
        ),
    ];
    for (statements, query, expected) in steps {
        {
            let database = Database::open(scratch.path(), Config::default()).expect("a directory");
            let mut session = database.session();
            for sql in statements {
                run(&mut session, sql);
            }
            assert_eq!(run(&mut session, query), expected);
        }
        let database = Database::open(scratch.path(), Config::default()).expect("it was closed");
        assert_eq!(run(&mut database.session(), query), expected);
    }
}

#[test]
fn composite_types_keep_the_domains_and_labels_of_their_attributes() {
    let scratch = Scratch::new("composite-domains");
    let steps: [(&[&str], &str); 3] = [
        (
            &[
                "CREATE TYPE mood AS ENUM ('sad', 'ok')",
                "CREATE DOMAIN small AS int CHECK (VALUE < 10)",
                "CREATE TYPE inner_pair AS (a small, m mood)",
                "CREATE TYPE outer_pair AS (one inner_pair, many inner_pair[])",
                "CREATE TABLE t (p outer_pair)",
                "INSERT INTO t VALUES (ROW(ROW(1, 'ok'), '{\"(2,sad)\"}'))",
                "ALTER TYPE mood ADD VALUE 'fine' BEFORE 'ok'",
            ],
            "(\"(1,ok)\",\"{\"\"(2,sad)\"\"}\")",
        ),
        (
            &["CHECKPOINT", "UPDATE t SET p.one = ROW(3, 'fine')"],
            "(\"(3,fine)\",\"{\"\"(2,sad)\"\"}\")",
        ),
        (
            &["ALTER TYPE mood RENAME VALUE 'fine' TO 'well'", "CHECKPOINT"],
            "(\"(3,well)\",\"{\"\"(2,sad)\"\"}\")",
        ),
    ];
    for (statements, expected) in steps {
        let database = Database::open(scratch.path(), Config::default()).expect("it was closed");
        let mut session = database.session();
        for sql in statements {
            run(&mut session, sql);
        }
        assert_eq!(run(&mut session, "SELECT p FROM t"), [expected]);
    }
    let database = Database::open(scratch.path(), Config::default()).expect("it was closed");
    let mut session = database.session();
    let names = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute \
                 WHERE attname IN ('a', 'm', 'one', 'many') ORDER BY attname";
    assert_eq!(run(&mut session, names), ["small", "mood", "inner_pair[]", "inner_pair"]);
    for (sql, state) in [
        ("UPDATE t SET p.one.a = 10", types::SqlState::CHECK_VIOLATION),
        ("DROP DOMAIN small", types::SqlState::DEPENDENT_OBJECTS),
    ] {
        let outcome = session.execute(sql).map(drop);
        assert_eq!(outcome.map_err(|error| error.state()), Err(state), "{sql}");
    }
}

#[test]
fn large_objects_are_as_they_were_left() {
    let scratch = Scratch::new("large-objects");
    let read = "SELECT md5(lo_get(7)) || obj_description(7, 'pg_largeobject')";
    let mut before = Vec::new();
    for opening in 0..3 {
        let database = Database::open(scratch.path(), Config::default()).expect("it was closed");
        let mut session = database.session();
        if opening == 0 {
            run(&mut session, "SELECT lo_from_bytea(7, decode(repeat('0af5', 50000), 'hex'))");
            run(&mut session, "COMMENT ON LARGE OBJECT 7 IS 'seven'");
            run(&mut session, "SELECT lo_from_bytea(8, 'gone'), lo_unlink(8)");
            run(&mut session, "BEGIN");
            run(&mut session, "SELECT lo_put(7, 0, 'never')");
            run(&mut session, "ROLLBACK");
            before = run(&mut session, read);
        }
        assert_eq!(run(&mut session, read), before, "opened {opening} times before");
        assert_eq!(run(&mut session, "SELECT oid FROM pg_largeobject_metadata"), ["7"]);
        let written = format!("SELECT lo_put(7, {opening}000, 'changed')");
        run(&mut session, &written);
        before = run(&mut session, read);
        if opening == 1 {
            run(&mut session, "CHECKPOINT");
        }
    }
}
