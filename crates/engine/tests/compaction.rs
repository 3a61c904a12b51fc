//! Rows of blocks that are nearly empty move together: memory is given back, and nobody notices.

mod support;

use engine::{Config, Database, Session};
use support::{run, state};
use testkit::{Random, Scratch};

const SUMS: &str = "SELECT count(*), sum(id), sum(k), min(s), max(s) FROM t";
const ROWS: i64 = 30_000;

fn open() -> (Database, Session) {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    run(&mut session, "SET freezing = off");
    fill(&mut session);
    (database, session)
}

/// A loaded table of frozen blocks.
fn fill(session: &mut Session) {
    run(session, "CREATE TABLE t (id int PRIMARY KEY, k int, s text)");
    let rows = format!("generate_series(1, {ROWS}) AS g(i)");
    run(session, &format!("INSERT INTO t SELECT i, i % 7, 'text ' || i FROM {rows}"));
    run(session, "CREATE INDEX ON t (k, id)");
}

fn number(session: &mut Session, sql: &str) -> u64 {
    run(session, sql)[0].parse().expect("a number")
}

/// Bytes of the blocks of a table, and how many there are.
fn bytes(session: &mut Session, table: &str) -> (u64, u64) {
    let of = format!("FROM tessera_blocks() WHERE table_name = '{table}'");
    let bytes = number(session, &format!("SELECT sum(bytes) {of}"));
    (bytes, number(session, &format!("SELECT count(*) {of}")))
}

fn check(session: &mut Session) {
    assert_eq!(run(session, "SELECT problem FROM tessera_check()"), [""; 0]);
}

#[test]
fn a_table_that_is_changed_all_over_stays_small() {
    let (_database, mut session) = open();
    let mut random = Random::new(28);
    let mut next = ROWS;
    for round in 0..20 {
        let seed = random.below(1000);
        let chosen = |share: u64| format!("(id::bigint * 7919 + {seed}) % 100 < {share}");
        run(
            &mut session,
            &format!("UPDATE t SET k = k + 1, s = 'v{round} ' || id WHERE {}", chosen(30)),
        );
        run(
            &mut session,
            &format!("DELETE FROM t WHERE NOT {} AND id % 10 = {}", chosen(30), round % 10),
        );
        let live = number(&mut session, "SELECT count(*) FROM t");
        let more = (ROWS as u64).saturating_sub(live);
        let rows = format!("generate_series({}, {}) AS g(i)", next + 1, next + more as i64);
        run(&mut session, &format!("INSERT INTO t SELECT i, i % 7, 'text ' || i FROM {rows}"));
        next += more as i64;
        let sums = run(&mut session, SUMS);
        run(&mut session, "VACUUM FREEZE t");
        assert_eq!(run(&mut session, SUMS), sums, "round {round}");
        run(&mut session, "DROP TABLE IF EXISTS fresh; CREATE TABLE fresh AS SELECT * FROM t");
        let (held, fresh) = (bytes(&mut session, "t").0, bytes(&mut session, "fresh").0);
        assert!(held * 2 <= fresh * 3, "round {round}: {held} bytes, {fresh} when loaded anew");
    }
    check(&mut session);
}

#[test]
fn old_snapshots_read_and_write_rows_that_moved() {
    let (database, mut session) = open();
    run(&mut session, "DELETE FROM t WHERE id % 3 <> 0");
    let mut readers: Vec<Session> = (0..3).map(|_| database.session()).collect();
    for (reader, level) in
        readers.iter_mut().zip(["REPEATABLE READ", "SERIALIZABLE", "REPEATABLE READ"])
    {
        run(reader, &format!("BEGIN ISOLATION LEVEL {level}"));
    }
    let before: Vec<Vec<String>> = readers.iter_mut().map(|reader| run(reader, SUMS)).collect();
    let (old, _) = bytes(&mut session, "t");
    let place = "SELECT ctid FROM t WHERE id = 300";
    let was = run(&mut session, place);
    run(&mut session, "VACUUM t");
    assert_ne!(run(&mut session, place), was, "the row has moved");
    for (reader, before) in readers.iter_mut().zip(&before) {
        assert_eq!(run(reader, SUMS), *before, "a snapshot does not change");
        assert_eq!(run(reader, place), was);
        assert_eq!(run(reader, "SELECT count(*) FROM t WHERE k = 3"), ["1429"]);
    }
    // Each writes rows of its own, and sees what it wrote and nothing else.
    for (i, reader) in readers.iter_mut().enumerate() {
        run(reader, &format!("UPDATE t SET s = 'new {i}' WHERE id = {}", 300 + 3 * i));
        run(reader, "SAVEPOINT a");
        run(reader, &format!("DELETE FROM t WHERE id = {}", 600 + 3 * i));
        run(reader, "ROLLBACK TO a");
        run(reader, &format!("DELETE FROM t WHERE id = {}", 900 + 3 * i));
        run(reader, &format!("SELECT 1 FROM t WHERE id = {} FOR UPDATE", 1200 + 3 * i));
        assert_eq!(run(reader, "SELECT count(*) FROM t"), ["9999"]);
        assert_eq!(
            run(reader, "SELECT id FROM t WHERE s LIKE 'new%'"),
            [(300 + 3 * i).to_string()]
        );
        let gone = format!("SELECT id FROM t WHERE id IN ({}, {})", 600 + 3 * i, 900 + 3 * i);
        assert_eq!(run(reader, &gone), [(600 + 3 * i).to_string()]);
    }
    assert_eq!(state(&mut session, "INSERT INTO t VALUES (600, 1, 'twice')"), "23505");
    run(&mut session, "SET lock_timeout = 10");
    assert_eq!(state(&mut session, "UPDATE t SET k = 9 WHERE id = 1203"), "55P03");
    assert_eq!(state(&mut session, "DELETE FROM t WHERE id = 300"), "55P03");
    // The serializable one has read what the others write.
    run(&mut readers[1], "COMMIT");
    run(&mut readers[0], "COMMIT");
    run(&mut session, "UPDATE t SET s = 'newer' WHERE id = 1500");
    let late = "UPDATE t SET s = 'late' WHERE id = 1500";
    assert_eq!(state(&mut readers[2], late), "40001", "somebody else was first");
    run(&mut readers[2], "ROLLBACK");
    let changed = "SELECT id, s FROM t WHERE s LIKE 'new%' ORDER BY id";
    assert_eq!(run(&mut session, changed), ["300", "new 0", "303", "new 1", "1500", "newer"]);
    assert_eq!(run(&mut session, "SELECT count(*) FROM t"), ["9998"]);
    run(&mut session, "VACUUM t");
    assert!(bytes(&mut session, "t").0 * 2 < old, "two thirds of the rows are gone");
    check(&mut session);
}

#[test]
fn a_serializable_transaction_does_not_fail_by_a_move() {
    let (database, mut session) = open();
    run(&mut session, "DELETE FROM t WHERE id > 1000");
    let mut other = database.session();
    run(&mut other, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    assert_eq!(run(&mut other, "SELECT count(*) FROM t"), ["1000"]);
    run(&mut session, "VACUUM t");
    run(&mut other, "CREATE TABLE noted (n bigint)");
    run(&mut other, "INSERT INTO noted VALUES (1000)");
    run(&mut other, "COMMIT");
    check(&mut session);
}

#[test]
fn foreign_keys_find_rows_that_moved() {
    let (database, mut session) = open();
    run(&mut session, "CREATE TABLE c (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE)");
    run(&mut session, "INSERT INTO c SELECT i, i FROM generate_series(1, 5000) AS g(i)");
    run(&mut session, "DELETE FROM t WHERE id > 2000 AND id % 2 = 0");
    assert_eq!(run(&mut session, "SELECT count(*) FROM c"), ["3500"]);
    let mut other = database.session();
    run(&mut other, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(run(&mut other, "SELECT count(*) FROM c"), ["3500"]);
    run(&mut session, "VACUUM");
    run(&mut other, "INSERT INTO c VALUES (6000, 7001)");
    assert_eq!(state(&mut session, "INSERT INTO c VALUES (7000, 7002)"), "23503");
    run(&mut other, "DELETE FROM t WHERE id = 11");
    assert_eq!(run(&mut other, "SELECT count(*) FROM c"), ["3500"], "one more, one less");
    assert!(run(&mut other, "SELECT id FROM c WHERE t = 11").is_empty());
    run(&mut other, "COMMIT");
    assert_eq!(run(&mut session, "SELECT count(*) FROM c"), ["3500"]);
    run(&mut session, "UPDATE c SET t = 13 WHERE id = 6000");
    assert_eq!(state(&mut session, "UPDATE c SET t = 11 WHERE id = 6000"), "23503");
    run(&mut session, "VACUUM");
    check(&mut session);
}

#[test]
fn a_cursor_is_on_its_row_after_it_moved() {
    let (database, mut session) = open();
    run(&mut session, "DELETE FROM t WHERE id > 1000");
    let mut other = database.session();
    run(&mut other, "BEGIN");
    run(&mut other, "DECLARE c CURSOR FOR SELECT * FROM t WHERE id >= 500");
    assert_eq!(run(&mut other, "FETCH c"), ["500", "3", "text 500"]);
    for _ in 0..3 {
        run(&mut session, "VACUUM t");
        run(&mut session, "DELETE FROM t WHERE id > 700");
    }
    run(&mut other, "SELECT 1");
    run(&mut session, "VACUUM t");
    run(&mut other, "UPDATE t SET s = 'here' WHERE CURRENT OF c");
    run(&mut other, "COMMIT");
    assert_eq!(run(&mut session, "SELECT id FROM t WHERE s = 'here'"), ["500"]);
    check(&mut session);
}

#[test]
fn rows_that_moved_survive() {
    let scratch = Scratch::new("compaction");
    let open = || Database::open(scratch.path(), Config::default());
    let database = open().expect("it opens");
    let mut session = database.session();
    run(&mut session, "SET freezing = off");
    fill(&mut session);
    run(&mut session, "CREATE TABLE hot (id int PRIMARY KEY, s text) WITH (layout = row)");
    run(&mut session, "INSERT INTO hot SELECT i, 'r' || i FROM generate_series(1, 5000) AS g(i)");
    run(&mut session, "CHECKPOINT");
    run(&mut session, "DELETE FROM t WHERE id % 5 <> 0");
    run(&mut session, "DELETE FROM hot WHERE id % 5 <> 0");
    let mut old = database.session();
    run(&mut old, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    run(&mut old, SUMS);
    run(&mut session, "VACUUM");
    run(&mut old, "DELETE FROM t WHERE id = 50");
    run(&mut old, "UPDATE t SET s = 'old' WHERE id = 55");
    run(&mut old, "UPDATE hot SET s = 'old' WHERE id = 55");
    run(&mut old, "COMMIT");
    let hot = "SELECT count(*), sum(id), max(s) FROM hot";
    let backup = Scratch::new("compaction-backup");
    let target = backup.path().join("copy");
    run(&mut session, &format!("BACKUP TO '{}'", target.display()));
    let (sums, hots) = (run(&mut session, SUMS), run(&mut session, hot));
    std::mem::forget(session);
    // Not closed: everything comes from the log.
    let crashed = Scratch::new("compaction-crashed");
    copy(scratch.path(), crashed.path());
    for path in [&target, crashed.path()] {
        let database = Database::open(path, Config::default()).expect("it opens");
        let mut session = database.session();
        assert_eq!(run(&mut session, SUMS), sums);
        assert_eq!(run(&mut session, hot), hots);
        assert_eq!(run(&mut session, "SELECT id FROM t WHERE s = 'old'"), ["55"]);
        check(&mut session);
        run(&mut session, "DELETE FROM t WHERE id % 2 = 0");
        run(&mut session, "VACUUM t");
        let sums = run(&mut session, SUMS);
        run(&mut session, "CHECKPOINT");
        drop(session);
        database.close().expect("it closes");
        let database = Database::open(path, Config::default()).expect("it opens again");
        let mut session = database.session();
        assert_eq!(run(&mut session, SUMS), sums);
        check(&mut session);
    }
    drop(database);
}

/// Copies the files of a database.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file");
        }
    }
}
