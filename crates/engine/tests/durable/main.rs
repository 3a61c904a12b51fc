//! Tests: what comes back after closing, killing and crashing.

mod crash;
mod crash_bus;
mod crash_prepared;
mod opening;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::{Background, Config, Database, Files, Session};
use host::{Io, SimClock, SimIo, Tear};
use storage::Layout;
use types::SqlState;

const PATH: &str = "/db";

fn files_of(io: &SimIo) -> Files {
    let io: Arc<dyn Io> = Arc::new(io.clone());
    let (background, segment_bytes) = (Background::None, 64 << 10);
    // Short logs go to all threads, too.
    Files { io, background, segment_bytes, portion_bytes: 256, ..Files::default() }
}

fn config() -> Config {
    Config { threads: 2, memory_bytes: 1 << 30, layout: Layout::Auto }
}

fn open(io: &SimIo) -> Database {
    open_layout(io, Layout::Auto)
}

fn open_layout(io: &SimIo, layout: Layout) -> Database {
    Database::open_with(PATH, Config { layout, ..config() }, &files_of(io)).expect("it opens")
}

fn run(session: &mut Session, sql: &str) -> String {
    match session.execute(sql) {
        Ok(result) => result.tag().to_owned(),
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn rows(session: &mut Session, sql: &str) -> Vec<String> {
    let result = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let line = |row: Vec<Option<String>>| {
        row.into_iter().map(|cell| cell.unwrap_or("NULL".into())).collect::<Vec<_>>().join("|")
    };
    result.text_rows().into_iter().map(line).collect()
}

fn state_of(session: &mut Session, sql: &str) -> String {
    match session.execute(sql) {
        Ok(_) => panic!("{sql}: it succeeded"),
        Err(error) => error.state().to_string(),
    }
}

/// How a database ends before it is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Closed,
    Killed,
    Crashed,
}

fn end(database: Database, io: &SimIo, how: End) {
    match how {
        End::Closed => database.close().expect("it closes"),
        End::Killed => io.kill(),
        End::Crashed => io.crash(),
    }
}

const ENDS: [End; 3] = [End::Closed, End::Killed, End::Crashed];
const LAYOUTS: [Layout; 4] = [Layout::Auto, Layout::Row, Layout::Column, Layout::Frozen];

#[test]
fn arrays_come_back_in_every_layout_and_after_every_end() {
    for layout in LAYOUTS {
        for how in ENDS {
            let io = SimIo::new(11, Tear::Bytes);
            let database = open_layout(&io, layout);
            let mut session = database.session();
            let sql = "CREATE TABLE t (id INT PRIMARY KEY, a INT[] DEFAULT '{7}', w VARCHAR(9)[],
                n NUMERIC(9,2)[])";
            run(&mut session, sql);
            run(&mut session, "CREATE INDEX t_a ON t (a)");
            run(&mut session, "INSERT INTO t VALUES (1, '{1,NULL,3}', '{a,\"b,c\"}', '{1.50,-2}')");
            run(&mut session, "CHECKPOINT");
            run(&mut session, "INSERT INTO t (id, w) VALUES (2, '{}'), (3, NULL)");
            run(&mut session, "UPDATE t SET a = a || 9, n = '{}' WHERE id = 3");
            run(&mut session, "INSERT INTO t VALUES (4, '[0:1]={5,6}', NULL, NULL)");
            drop(session);
            end(database, &io, how);
            let mut session = open_layout(&io, layout).session();
            let expected = [
                "1|{1,NULL,3}|{a,\"b,c\"}|{1.50,-2.00}",
                "2|{7}|{}|NULL",
                "3|{7,9}|NULL|{}",
                "4|[0:1]={5,6}|NULL|NULL",
            ];
            assert_eq!(rows(&mut session, "SELECT * FROM t ORDER BY id"), expected, "{layout:?}");
            assert_eq!(rows(&mut session, "SELECT id FROM t WHERE a = '{7,9}'"), ["3"]);
            let ty = "SELECT pg_typeof(w)::text FROM t WHERE id = 1";
            assert_eq!(rows(&mut session, ty), ["character varying[]"]);
        }
    }
}

#[test]
fn rows_come_back_in_every_layout_and_after_every_end() {
    for layout in LAYOUTS {
        for how in ENDS {
            let io = SimIo::new(7, Tear::Bytes);
            let database = open_layout(&io, layout);
            let mut session = database.session();
            run(&mut session, "CREATE TABLE t (a INT PRIMARY KEY, b TEXT, c DECIMAL(20,2))");
            run(&mut session, "INSERT INTO t VALUES (1, 'one', 1.5), (2, NULL, 2), (3, 'x', NULL)");
            run(&mut session, "UPDATE t SET b = 'zwei', c = c + 1 WHERE a = 2");
            run(&mut session, "BEGIN");
            run(&mut session, "INSERT INTO t VALUES (4, 'four', 4)");
            run(&mut session, "DELETE FROM t WHERE a = 1");
            run(&mut session, "COMMIT");
            run(&mut session, "BEGIN");
            run(&mut session, "INSERT INTO t VALUES (5, 'never', 5)");
            drop(session);
            end(database, &io, how);

            let database = open_layout(&io, layout);
            let mut session = database.session();
            let all = rows(&mut session, "SELECT * FROM t ORDER BY a");
            assert_eq!(all, ["2|zwei|3.00", "3|x|NULL", "4|four|4.00"], "{layout:?} {how:?}");
            let report = database.check_indexes();
            assert!(report.is_sound(), "{layout:?} {how:?} {:?}", report.problems);
            assert_eq!(rows(&mut session, "SELECT b FROM t WHERE a = 4"), ["four"]);
            assert_eq!(state_of(&mut session, "INSERT INTO t VALUES (4, '', 0)"), "23505");
            run(&mut session, "INSERT INTO t VALUES (1, 'again', 0)");
            assert_eq!(rows(&mut session, "SELECT count(*) FROM t"), ["4"]);
        }
    }
}

#[test]
fn tables_that_inherit_come_back_after_every_end() {
    for how in ENDS {
        let io = SimIo::new(13, Tear::Bytes);
        let database = open(&io);
        let mut session = database.session();
        run(
            &mut session,
            "CREATE TABLE p (a INT, b TEXT, CHECK (a > 0), CHECK (a < 9) NO INHERIT)",
        );
        run(&mut session, "CREATE TABLE c (d INT) INHERITS (p)");
        run(&mut session, "INSERT INTO p VALUES (1, 'p')");
        run(&mut session, "CHECKPOINT");
        run(&mut session, "CREATE TABLE o (b TEXT, a INT, CONSTRAINT p_a_check CHECK (a > 0))");
        run(&mut session, "ALTER TABLE o INHERIT p");
        run(&mut session, "INSERT INTO o VALUES ('o', 20)");
        run(&mut session, "INSERT INTO c VALUES (2, 'c', 3)");
        run(&mut session, "ALTER TABLE p ADD COLUMN e INT DEFAULT 5");
        run(&mut session, "UPDATE p SET e = e + a WHERE b <> 'p'");
        drop(session);
        end(database, &io, how);
        let mut session = open(&io).session();
        let all = rows(&mut session, "SELECT *, tableoid::regclass FROM p ORDER BY a");
        assert_eq!(all, ["1|p|5|p", "2|c|7|c", "20|o|25|o"], "{how:?}");
        assert_eq!(rows(&mut session, "SELECT * FROM c"), ["2|c|3|7"]);
        assert_eq!(state_of(&mut session, "INSERT INTO c VALUES (0)"), "23514");
        assert_eq!(state_of(&mut session, "ALTER TABLE c DROP COLUMN e"), "42P16");
        run(&mut session, "ALTER TABLE c DROP COLUMN d");
        run(&mut session, "ALTER TABLE o NO INHERIT p");
        run(&mut session, "DELETE FROM p");
        assert_eq!(rows(&mut session, "SELECT a FROM p UNION ALL SELECT a FROM o"), ["20"]);
    }
}

#[test]
fn types_of_users_come_back_in_every_layout_and_after_every_end() {
    for layout in LAYOUTS {
        for how in ENDS {
            let io = SimIo::new(12, Tear::Bytes);
            let database = open_layout(&io, layout);
            let mut session = database.session();
            run(&mut session, "CREATE SCHEMA s");
            run(&mut session, "CREATE TYPE s.mood AS ENUM ('sad', 'ok')");
            run(&mut session, "CREATE TYPE gone AS ENUM ('x')");
            run(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, m s.mood, a s.mood[])");
            run(&mut session, "CREATE INDEX t_m ON t (m) WHERE m > 'sad'");
            run(&mut session, "INSERT INTO t VALUES (1, 'ok', '{sad,ok}'), (2, NULL, NULL)");
            run(&mut session, "CHECKPOINT");
            run(&mut session, "ALTER TYPE s.mood ADD VALUE 'so so' BEFORE 'ok'");
            run(&mut session, "INSERT INTO t VALUES (3, 'so so', '{NULL}'), (4, 'sad', '{}')");
            run(&mut session, "ALTER TYPE s.mood RENAME VALUE 'ok' TO 'fine'");
            run(&mut session, "COMMENT ON TYPE s.mood IS 'weather'");
            run(&mut session, "DROP TYPE gone");
            run(&mut session, "BEGIN");
            run(&mut session, "ALTER TYPE s.mood ADD VALUE 'never'");
            drop(session);
            end(database, &io, how);
            let database = open_layout(&io, layout);
            let mut session = database.session();
            let expected = ["4|sad|{}", "3|so so|{NULL}", "1|fine|{sad,fine}", "2|NULL|NULL"];
            let all = "SELECT * FROM t ORDER BY m";
            assert_eq!(rows(&mut session, all), expected, "{layout:?} {how:?}");
            assert_eq!(rows(&mut session, "SELECT id FROM t WHERE m = 'fine'"), ["1"]);
            let labels = "SELECT enum_range(NULL::s.mood)";
            assert_eq!(rows(&mut session, labels), ["{sad,\"so so\",fine}"]);
            let comment = "SELECT obj_description('s.mood'::regtype, 'pg_type')";
            assert_eq!(rows(&mut session, comment), ["weather"]);
            assert_eq!(state_of(&mut session, "SELECT 'x'::gone"), "42704");
            assert_eq!(state_of(&mut session, "INSERT INTO t VALUES (9, 'never')"), "22P02");
            let report = database.check_indexes();
            assert!(report.is_sound(), "{layout:?} {how:?} {:?}", report.problems);
            run(&mut session, "DROP TYPE s.mood CASCADE");
            assert_eq!(rows(&mut session, "SELECT * FROM t WHERE id = 1"), ["1"]);
        }
    }
}

#[test]
fn collations_come_back_in_every_layout_and_after_every_end() {
    for layout in LAYOUTS {
        for how in ENDS {
            let io = SimIo::new(14, Tear::Bytes);
            let database = open_layout(&io, layout);
            let mut session = database.session();
            let ci = "provider = icu, locale = 'und-u-ks-level2', deterministic = false";
            run(&mut session, &format!("CREATE SCHEMA s; CREATE COLLATION s.ci ({ci})"));
            run(
                &mut session,
                "CREATE COLLATION gone FROM s.ci; CREATE COLLATION sv FROM \"sv-x-icu\"",
            );
            let sql = "CREATE TABLE t (a TEXT COLLATE s.ci PRIMARY KEY, b TEXT COLLATE sv, n INT)";
            run(&mut session, sql);
            run(&mut session, "CREATE INDEX t_b ON t (b COLLATE s.ci, lower(a))");
            run(&mut session, "INSERT INTO t VALUES ('a', 'z', 1), ('B', 'ä', 2)");
            run(&mut session, "CHECKPOINT");
            run(&mut session, "INSERT INTO t VALUES ('c', 'A', 3), ('D', 'b', 4)");
            run(&mut session, "ALTER COLLATION s.ci RENAME TO any_case");
            run(&mut session, "COMMENT ON COLLATION s.any_case IS 'of no case'");
            run(&mut session, "DROP COLLATION gone");
            run(&mut session, "BEGIN");
            run(&mut session, "CREATE COLLATION never (locale = 'C')");
            drop(session);
            end(database, &io, how);
            let database = open_layout(&io, layout);
            let mut session = database.session();
            let expected = ["c|A|3", "D|b|4", "a|z|1", "B|ä|2"];
            let all = "SELECT * FROM t ORDER BY b";
            assert_eq!(rows(&mut session, all), expected, "{layout:?} {how:?}");
            assert_eq!(rows(&mut session, "SELECT n FROM t WHERE a = 'C'"), ["3"]);
            assert_eq!(state_of(&mut session, "INSERT INTO t VALUES ('A')"), "23505");
            let index = "SELECT pg_get_indexdef('t_b'::regclass)";
            let shown = "CREATE INDEX t_b ON public.t USING btree \
                         (b COLLATE s.any_case, lower(a))";
            assert_eq!(rows(&mut session, index), [shown]);
            let known = "SELECT collname, collisdeterministic, \
                         obj_description(oid, 'pg_collation') \
                         FROM pg_collation WHERE oid >= 16384 ORDER BY 1";
            assert_eq!(rows(&mut session, known), ["any_case|f|of no case", "sv|t|NULL"]);
            assert_eq!(state_of(&mut session, "SELECT 'x' COLLATE gone"), "42704");
            assert_eq!(state_of(&mut session, "DROP COLLATION s.any_case"), "2BP01");
            let report = database.check_indexes();
            assert!(report.is_sound(), "{layout:?} {how:?} {:?}", report.problems);
            run(&mut session, "DROP COLLATION s.any_case CASCADE");
            assert_eq!(rows(&mut session, "SELECT * FROM t WHERE n = 1"), ["z|1"]);
        }
    }
}

#[test]
fn domains_come_back_in_every_layout_and_after_every_end() {
    for layout in LAYOUTS {
        for how in ENDS {
            let io = SimIo::new(13, Tear::Bytes);
            let database = open_layout(&io, layout);
            let mut session = database.session();
            run(&mut session, "CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('sad', 'ok')");
            run(&mut session, "CREATE DOMAIN s.fine AS s.mood DEFAULT 'ok' CHECK (VALUE > 'sad')");
            run(&mut session, "CREATE DOMAIN posint AS int CHECK (VALUE > 0)");
            run(&mut session, "CREATE DOMAIN gone AS posint");
            run(&mut session, "CREATE TABLE t (id posint PRIMARY KEY, m s.fine, a posint[])");
            run(&mut session, "INSERT INTO t VALUES (1, 'ok', '{1,2}'), (2, NULL, NULL)");
            run(&mut session, "CHECKPOINT");
            run(&mut session, "ALTER DOMAIN posint ADD CONSTRAINT few CHECK (VALUE < 9) NOT VALID");
            run(&mut session, "ALTER TYPE s.mood ADD VALUE 'best'");
            run(&mut session, "ALTER DOMAIN s.fine SET DEFAULT 'best'");
            run(&mut session, "ALTER DOMAIN s.fine RENAME TO good");
            run(&mut session, "INSERT INTO t (id) VALUES (3)");
            run(&mut session, "DROP DOMAIN gone");
            run(&mut session, "BEGIN");
            run(&mut session, "ALTER DOMAIN posint DROP CONSTRAINT few");
            drop(session);
            end(database, &io, how);
            let database = open_layout(&io, layout);
            let mut session = database.session();
            let expected = ["1|ok|{1,2}", "2|NULL|NULL", "3|best|NULL"];
            let all = "SELECT * FROM t ORDER BY id";
            assert_eq!(rows(&mut session, all), expected, "{layout:?} {how:?}");
            assert_eq!(state_of(&mut session, "INSERT INTO t VALUES (9)"), "23514");
            assert_eq!(state_of(&mut session, "INSERT INTO t VALUES (0)"), "23514");
            assert_eq!(state_of(&mut session, "INSERT INTO t VALUES (4, 'sad')"), "23514");
            assert_eq!(state_of(&mut session, "UPDATE t SET a = '{0}'"), "23514");
            assert_eq!(state_of(&mut session, "SELECT 'sad'::s.good"), "23514");
            assert_eq!(state_of(&mut session, "SELECT 1::gone"), "42704");
            let valid = "SELECT conname, convalidated FROM pg_constraint \
                         WHERE contypid = 'posint'::regtype ORDER BY conname";
            assert_eq!(rows(&mut session, valid), ["few|f", "posint_check|t"]);
            let report = database.check_indexes();
            assert!(report.is_sound(), "{layout:?} {how:?} {:?}", report.problems);
            run(&mut session, "DROP DOMAIN s.good CASCADE");
            assert_eq!(rows(&mut session, "SELECT * FROM t WHERE id = 1"), ["1|{1,2}"]);
        }
    }
}

#[test]
fn definitions_come_back() {
    for how in ENDS {
        for checkpoint in [false, true] {
            let io = SimIo::new(8, Tear::Sectors);
            let database = open(&io);
            let mut session = database.session();
            run(&mut session, "CREATE TABLE p (k INT PRIMARY KEY)");
            run(&mut session, "CREATE TABLE gone (k INT)");
            run(&mut session, "INSERT INTO gone VALUES (1)");
            run(&mut session, "CREATE VIEW v AS SELECT k + 1 AS n FROM p");
            run(&mut session, "CREATE TEMPORARY TABLE mine (x INT)");
            run(&mut session, "INSERT INTO mine VALUES (1)");
            run(&mut session, "INSERT INTO p VALUES (1), (2)");
            if checkpoint {
                run(&mut session, "CHECKPOINT");
            }
            run(&mut session, "DROP TABLE gone");
            run(&mut session, "TRUNCATE p");
            run(&mut session, "INSERT INTO p VALUES (7)");
            drop(session);
            end(database, &io, how);

            let database = open(&io);
            let mut session = database.session();
            assert_eq!(rows(&mut session, "SELECT n FROM v"), ["8"], "{how:?} {checkpoint}");
            assert_eq!(state_of(&mut session, "SELECT * FROM gone"), "42P01");
            assert_eq!(state_of(&mut session, "SELECT * FROM mine"), "42P01");
            assert_eq!(state_of(&mut session, "INSERT INTO p VALUES (7)"), "23505");
        }
    }
}

#[test]
fn sequences_indexes_and_altered_tables_come_back() {
    for how in ENDS {
        for checkpoint in [false, true] {
            let io = SimIo::new(14, Tear::Sectors);
            let database = open(&io);
            let mut session = database.session();
            run(&mut session, "CREATE SEQUENCE s START 10 INCREMENT 5");
            run(&mut session, "CREATE SEQUENCE dropped");
            run(&mut session, "CREATE TABLE t (id INT GENERATED ALWAYS AS IDENTITY, v TEXT)");
            run(&mut session, "INSERT INTO t (v) VALUES ('a'), ('b'), ('c')");
            run(&mut session, "CREATE INDEX t_v ON t (v DESC, id)");
            assert_eq!(rows(&mut session, "SELECT nextval('s')"), ["10"]);
            assert_eq!(rows(&mut session, "SELECT nextval('dropped')"), ["1"]);
            if checkpoint {
                run(&mut session, "CHECKPOINT");
            }
            assert_eq!(rows(&mut session, "SELECT nextval('s'), nextval('s')"), ["15|20"]);
            run(&mut session, "BEGIN");
            assert_eq!(rows(&mut session, "SELECT nextval('s')"), ["25"]);
            run(&mut session, "ALTER SEQUENCE s RENAME TO renamed");
            run(&mut session, "DROP SEQUENCE dropped");
            run(&mut session, "COMMIT");
            run(&mut session, "ALTER TABLE t ADD COLUMN n INT DEFAULT 7");
            run(&mut session, "ALTER TABLE t RENAME TO u");
            run(&mut session, "INSERT INTO u (v) VALUES ('d')");
            drop(session);
            end(database, &io, how);

            let database = open(&io);
            let mut session = database.session();
            let all = rows(&mut session, "SELECT id, v, n FROM u ORDER BY id");
            assert_eq!(all, ["1|a|7", "2|b|7", "3|c|7", "4|d|7"], "{how:?} {checkpoint}");
            assert_eq!(rows(&mut session, "SELECT nextval('renamed')"), ["30"]);
            assert_eq!(state_of(&mut session, "SELECT nextval('dropped')"), "42P01");
            run(&mut session, "INSERT INTO u (v) VALUES ('e')");
            assert_eq!(rows(&mut session, "SELECT id FROM u WHERE v = 'e'"), ["5"]);
            assert!(database.check_indexes().is_sound());
            assert_eq!(database.table("u").expect("it exists").storage().indexes().len(), 1);
        }
    }
}

#[test]
fn a_second_opener_is_refused() {
    let io = SimIo::new(9, Tear::Bytes);
    let database = open(&io);
    let error = Database::open_with(PATH, config(), &files_of(&io)).err().expect("it is in use");
    assert_eq!(error.state(), SqlState::OBJECT_IN_USE);
    drop(database);
    open(&io);
}

#[test]
fn a_checkpoint_writes_what_changed_only() {
    let io = SimIo::new(10, Tear::Bytes);
    let database = open(&io);
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (a BIGINT, b TEXT) WITH (layout = frozen)");
    run(
        &mut session,
        "INSERT INTO t SELECT i, 'text ' || i FROM generate_series(1, 200000) AS g(i)",
    );
    run(&mut session, "CREATE TABLE small (a INT)");
    run(&mut session, "INSERT INTO small VALUES (1)");
    let block_files = || -> Vec<_> {
        let all = io.files().into_iter().map(|(path, _)| path);
        all.filter(|path| path.starts_with(Path::new(PATH).join("blocks"))).collect()
    };
    let loaded = block_files();
    assert!(loaded.len() > 2, "the load wrote its blocks before it was acknowledged");
    run(&mut session, "CHECKPOINT");
    let first = block_files();
    assert!(loaded.iter().all(|path| first.contains(path)), "frozen blocks are written once");
    run(&mut session, "DELETE FROM t WHERE a = 5");
    run(&mut session, "INSERT INTO small VALUES (2)");
    run(&mut session, "CHECKPOINT");
    let second = block_files();
    assert!(loaded.iter().all(|path| second.contains(path)), "and stay");
    let dead = second.iter().filter(|path| path.extension().is_some_and(|e| e == "dead")).count();
    assert_eq!(dead, 1, "beside one there are marks of deleted rows: {second:?}");
    assert_eq!(second.len(), first.len() + 1, "the file of the small table was replaced");
    run(&mut session, "DROP TABLE t");
    run(&mut session, "CHECKPOINT");
    assert_eq!(block_files().len(), 1, "files of dropped tables go");
    drop(session);
    end(database, &io, End::Crashed);
    let database = open(&io);
    assert_eq!(rows(&mut database.session(), "SELECT a FROM small ORDER BY a"), ["1", "2"]);
}

#[test]
fn statistics_are_right_after_recovery() {
    let io = SimIo::new(11, Tear::Bytes);
    let database = open(&io);
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (a INT, b TEXT)");
    run(
        &mut session,
        "INSERT INTO t SELECT i, 'v' || i % 10 FROM generate_series(1, 10000) AS g(i)",
    );
    run(&mut session, "CHECKPOINT");
    run(&mut session, "DELETE FROM t WHERE a > 9000");
    run(&mut session, "INSERT INTO t VALUES (20000, 'last')");
    let table = database.table("t").expect("it exists");
    let before = table.storage().live_rows();
    drop((table, session));
    end(database, &io, End::Crashed);
    let database = open(&io);
    let table = database.table("t").expect("it exists");
    assert_eq!((before, table.storage().live_rows()), (9001, 9001));
    let statistics = table.storage().statistics();
    assert_eq!(statistics.rows, 9001);
    let distinct = statistics.columns[1].estimates.distinct;
    assert!((5.0..=20.0).contains(&distinct), "eleven values, estimated {distinct}");
    let (min, max) = (&statistics.columns[0].min, &statistics.columns[0].max);
    // Bounds are never too narrow; they may be wider.
    let largest = max.as_ref().and_then(types::Value::as_integer);
    assert!(largest.is_some_and(|largest| largest >= 20_000), "{min:?} {max:?}");
}

#[test]
fn a_full_disk_and_a_failed_sync_lose_nothing() {
    let io = SimIo::new(12, Tear::Bytes);
    let database = open(&io);
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (a INT PRIMARY KEY, b TEXT)");
    run(&mut session, "INSERT INTO t VALUES (1, 'one')");
    io.set_capacity(Some(io.used_bytes()));
    let long = "x".repeat(200_000);
    let sql = format!("INSERT INTO t VALUES (2, '{long}')");
    assert_eq!(state_of(&mut session, &sql), "53100");
    assert_eq!(rows(&mut session, "SELECT a FROM t"), ["1"]);
    io.set_capacity(None);
    run(&mut session, &sql);
    io.inject(host::Fault::Sync(1));
    assert_eq!(state_of(&mut session, "INSERT INTO t VALUES (3, '')"), "58030");
    assert_eq!(state_of(&mut session, "INSERT INTO t VALUES (4, '')"), "58030");
    assert_eq!(rows(&mut session, "SELECT a FROM t WHERE a < 3 ORDER BY a"), ["1", "2"]);
    drop(session);
    end(database, &io, End::Crashed);
    let database = open(&io);
    let all = rows(&mut database.session(), "SELECT a FROM t ORDER BY a");
    assert!(all == ["1", "2"] || all == ["1", "2", "3"], "{all:?}");
}

#[test]
fn damage_is_refused_and_found() {
    let io = SimIo::new(13, Tear::Bytes);
    let database = open(&io);
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (a INT PRIMARY KEY, b TEXT)");
    run(&mut session, "INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 1000) AS g(i)");
    drop(session);
    end(database, &io, End::Closed);
    let path = Path::new(PATH);
    let report = Database::check(path, &config(), &files_of(&io)).expect("it can be read");
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.tables, report.rows), (1, 1000));
    let files = io.files();
    let block = files.iter().find(|(path, _)| path.extension().is_some_and(|e| e == "blk"));
    let (block, bytes) = block.expect("a checkpoint was written");
    io.flip(block, bytes / 2, 4).expect("the byte is there");
    let error = Database::open_with(PATH, config(), &files_of(&io)).err().expect("it is damaged");
    assert_eq!(error.state(), SqlState::DATA_CORRUPTED);
    assert!(error.message().contains(".blk"), "{error}");
    let report = Database::check(path, &config(), &files_of(&io)).expect("it can be read");
    assert_eq!(report.findings.len(), 1, "{report:?}");
}

#[test]
fn the_machine_s_files_serve_as_well() {
    let path = std::env::temp_dir().join(format!("tessera-durable-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    {
        let database = Database::open(&path, config()).expect("it opens");
        let mut session = database.session();
        run(&mut session, "CREATE TABLE t (a INT PRIMARY KEY)");
        run(&mut session, "SET synchronous_commit = off");
        run(&mut session, "INSERT INTO t SELECT i FROM generate_series(1, 1000) AS g(i)");
    }
    let database = Database::open(&path, config()).expect("it opens again");
    assert_eq!(rows(&mut database.session(), "SELECT count(*), sum(a) FROM t"), ["1000|500500"]);
    drop(database);
    std::fs::remove_dir_all(&path).expect("nothing else uses it");
}

#[test]
fn sessions_and_checks_go_by_the_clock_that_is_given() {
    let (io, clock) = (SimIo::new(1, Tear::Bytes), SimClock::at(0));
    let files = Files { clock: Arc::new(clock.clone()), ..files_of(&io) };
    let database = Database::open_with(PATH, config(), &files).expect("it opens");
    let mut session = database.session();
    run(&mut session, "SET timezone = 'UTC'");
    run(
        &mut session,
        "CREATE TABLE t (id INT PRIMARY KEY, made TIMESTAMPTZ DEFAULT now(),
            CHECK (made <= clock_timestamp()))",
    );
    run(&mut session, "BEGIN; INSERT INTO t (id) VALUES (1)");
    clock.advance(Duration::from_secs(90));
    let times = "SELECT now(), statement_timestamp(), clock_timestamp()";
    let (begun, later) = ("1970-01-01 00:00:00+00", "1970-01-01 00:01:30+00");
    assert_eq!(rows(&mut session, times), [format!("{begun}|{later}|{later}")]);
    run(&mut session, "COMMIT");
    run(&mut session, "INSERT INTO t VALUES (2, '1970-01-01 00:01:30+00')");
    let early = "INSERT INTO t VALUES (3, '1970-01-01 00:01:31+00')";
    assert_eq!(state_of(&mut session, early), "23514");
    clock.advance(Duration::from_secs(1));
    run(&mut session, early);
    let made = rows(&mut session, "SELECT made FROM t ORDER BY id");
    assert_eq!(made, [begun, later, "1970-01-01 00:01:31+00"]);
}

#[test]
fn materialized_views_come_back_after_every_end() {
    for how in ENDS {
        let io = SimIo::new(7, Tear::Bytes);
        let database = open(&io);
        let mut session = database.session();
        run(&mut session, "CREATE TABLE t (a INT PRIMARY KEY, b INT)");
        run(&mut session, "INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 3000) AS g(i)");
        run(&mut session, "CREATE MATERIALIZED VIEW m AS SELECT a, b AS c FROM t WHERE b < 5");
        run(&mut session, "CREATE UNIQUE INDEX i ON m (a)");
        run(&mut session, "CREATE MATERIALIZED VIEW n AS SELECT c, count(*) FROM m GROUP BY c");
        run(&mut session, "CREATE MATERIALIZED VIEW e AS SELECT 1 AS one WITH NO DATA");
        run(&mut session, "CHECKPOINT");
        run(&mut session, "DELETE FROM t WHERE a <= 1000");
        run(&mut session, "REFRESH MATERIALIZED VIEW CONCURRENTLY m");
        run(&mut session, "ALTER MATERIALIZED VIEW m RENAME COLUMN c TO d");
        run(&mut session, "ALTER MATERIALIZED VIEW m RENAME TO k");
        drop(session);
        end(database, &io, how);
        let database = open(&io);
        let mut session = database.session();
        assert_eq!(rows(&mut session, "SELECT count(*), sum(d) FROM k"), ["1000|2000"], "{how:?}");
        assert_eq!(rows(&mut session, "SELECT d FROM k WHERE a = 2003"), ["3"]);
        assert_eq!(rows(&mut session, "SELECT count(*) FROM n"), ["5"]);
        assert_eq!(state_of(&mut session, "SELECT * FROM e"), "55000");
        run(&mut session, "REFRESH MATERIALIZED VIEW n");
        assert_eq!(rows(&mut session, "SELECT sum(count) FROM n"), ["1000"]);
        run(&mut session, "REFRESH MATERIALIZED VIEW e");
        assert_eq!(rows(&mut session, "SELECT one FROM e"), ["1"]);
        run(&mut session, "CHECKPOINT; DELETE FROM t");
        run(&mut session, "REFRESH MATERIALIZED VIEW k");
        drop(session);
        end(database, &io, how);
        let mut session = open(&io).session();
        assert_eq!(rows(&mut session, "SELECT count(*) FROM k"), ["0"]);
        assert_eq!(state_of(&mut session, "DROP TABLE t"), "2BP01");
    }
}
