//! Memory that nobody needs any more comes back: by VACUUM, and before a statement fails for want
//! of it.

use engine::{Config, Database, Session};

const LIMIT: u64 = 48 << 20;

fn run(session: &mut Session, sql: &str) {
    session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// Bytes of a category of `tessera_memory()`.
fn bytes(session: &mut Session, category: &str) -> u64 {
    let sql = format!("SELECT bytes FROM tessera_memory() WHERE category = '{category}'");
    let result = session.execute(&sql).expect("a system function");
    let cell = result.text_rows().into_iter().flatten().flatten().next();
    cell.and_then(|bytes| bytes.parse().ok()).expect("a number")
}

/// A database with a table whose rows have many versions, which `reader` holds.
fn with_versions() -> (Database, Session, Session) {
    let config = Config { memory_bytes: LIMIT, ..Config::default() };
    let database = Database::open_in_memory(config).expect("it opens");
    let (mut writer, mut reader) = (database.session(), database.session());
    run(&mut writer, "CREATE TABLE t (id int PRIMARY KEY, k int, s text)");
    run(&mut writer, "CREATE INDEX ON t (s)");
    run(
        &mut writer,
        "INSERT INTO t SELECT i, i, md5(i::text) FROM generate_series(1, 10000) AS g(i)",
    );
    run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    run(&mut reader, "SELECT count(*) FROM t");
    for _ in 0..8 {
        run(&mut writer, "UPDATE t SET s = md5(s), k = k + 1");
    }
    assert!(bytes(&mut writer, "versions") > 6 << 20, "the snapshot needs them");
    (database, writer, reader)
}

#[test]
fn vacuum_gives_back_versions_that_no_snapshot_needs() {
    let (_database, mut writer, mut reader) = with_versions();
    run(&mut writer, "VACUUM");
    assert!(bytes(&mut writer, "versions") > 6 << 20, "the snapshot needs them still");
    run(&mut reader, "ROLLBACK");
    run(&mut writer, "VACUUM");
    let left = bytes(&mut writer, "versions");
    assert!(left < 1 << 20, "{left} bytes of versions");
    run(&mut writer, "DROP TABLE t");
    run(&mut writer, "VACUUM");
    let left = bytes(&mut writer, "total");
    assert!(left < 1 << 20, "{left} bytes");
}

#[test]
fn garbage_makes_room_before_a_statement_fails() {
    let (_database, mut writer, mut reader) = with_versions();
    run(&mut reader, "ROLLBACK");
    run(&mut writer, "DROP TABLE t");
    // Most of the limit, three times over.
    for _ in 0..3 {
        run(
            &mut writer,
            "CREATE TABLE u AS SELECT i, md5(i::text) || md5((-i)::text) AS s \
             FROM generate_series(1, 350000) AS g(i)",
        );
        run(&mut writer, "DROP TABLE u");
    }
    // Rows that are written one by one ask for room, too.
    run(&mut writer, "CREATE TABLE v (id int PRIMARY KEY, s text)");
    run(&mut writer, "INSERT INTO v SELECT i, 'x' FROM generate_series(1, 10000) AS g(i)");
    for _ in 0..12 {
        run(&mut writer, "UPDATE v SET s = s || 'y'");
    }
}
