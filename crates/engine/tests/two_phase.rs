//! Prepared transactions beside others: sessions that end, serializable ones, the bus, backups,
//! databases of one server.

use std::thread;

use engine::{Config, Database};
use support::{run, state};
use testkit::Scratch;

mod support;

fn config() -> Config {
    Config { threads: 2, memory_bytes: 512 << 20, ..Config::default() }
}

fn database() -> Database {
    let database = Database::open_in_memory(config()).expect("it opens");
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (id int PRIMARY KEY, value int)");
    run(&mut session, "INSERT INTO t VALUES (1, 10), (2, 20)");
    database
}

#[test]
fn work_outlasts_its_session_and_waits_for_nobody() {
    let database = database();
    let mut first = database.session();
    run(&mut first, "BEGIN");
    run(&mut first, "UPDATE t SET value = 11 WHERE id = 1");
    run(&mut first, "PREPARE TRANSACTION 'p'");
    drop(first);
    let mut second = database.session();
    assert_eq!(run(&mut second, "SELECT value FROM t ORDER BY id"), ["10", "20"]);
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let mut third = database.session();
            run(&mut third, "BEGIN ISOLATION LEVEL READ COMMITTED");
            run(&mut third, "UPDATE t SET value = value + 100 WHERE id = 1");
            run(&mut third, "COMMIT");
        });
        let sql = "SELECT count(*) FROM tessera_sessions() WHERE state = 'waiting'";
        while run(&mut second, sql) != ["1"] {
            thread::yield_now();
        }
        run(&mut second, "COMMIT PREPARED 'p'");
        waits.join().expect("no panic");
    });
    assert_eq!(run(&mut second, "SELECT value FROM t ORDER BY id"), ["111", "20"]);
}

#[test]
fn rows_that_a_serializable_one_read_are_not_changed_behind_its_back() {
    let database = database();
    let (mut a, mut b) = (database.session(), database.session());
    run(&mut a, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    run(&mut a, "SELECT value FROM t WHERE id = 2");
    run(&mut a, "UPDATE t SET value = 11 WHERE id = 1");
    run(&mut a, "PREPARE TRANSACTION 'p'");
    run(&mut b, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    run(&mut b, "INSERT INTO t VALUES (3, 30)");
    run(&mut b, "COMMIT");
    run(&mut b, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    run(&mut b, "UPDATE t SET value = 21 WHERE id = 2");
    assert_eq!(state(&mut b, "COMMIT"), "40001");
    // Others are not serialized with it.
    run(&mut b, "BEGIN ISOLATION LEVEL READ COMMITTED");
    run(&mut b, "UPDATE t SET value = 22 WHERE id = 2");
    run(&mut b, "COMMIT");
    run(&mut a, "COMMIT PREPARED 'p'");
    assert_eq!(run(&mut a, "SELECT value FROM t ORDER BY id"), ["11", "22", "30"]);
}

#[test]
fn a_serializable_one_is_validated_as_it_is_prepared() {
    let database = database();
    let (mut a, mut b) = (database.session(), database.session());
    for (session, id) in [(&mut a, 1), (&mut b, 2)] {
        run(session, "BEGIN ISOLATION LEVEL SERIALIZABLE");
        run(session, "SELECT sum(value) FROM t");
        run(session, &format!("UPDATE t SET value = 5 WHERE id = {id}"));
    }
    run(&mut a, "COMMIT");
    assert_eq!(state(&mut b, "PREPARE TRANSACTION 'p'"), "40001");
    assert_eq!(run(&mut b, "SELECT count(*) FROM pg_prepared_xacts"), ["0"]);
    assert_eq!(run(&mut b, "SELECT value FROM t ORDER BY id"), ["5", "20"]);
}

#[test]
fn serializable_ones_that_are_prepared_are_serialized_with_each_other() {
    let database = database();
    let (mut a, mut b) = (database.session(), database.session());
    // Each reads what the other changes.
    for (session, read, written) in [(&mut a, 1, 2), (&mut b, 2, 1)] {
        run(session, "BEGIN ISOLATION LEVEL SERIALIZABLE");
        run(session, &format!("SELECT value FROM t WHERE id = {read}"));
        run(session, &format!("UPDATE t SET value = 1 WHERE id = {written}"));
    }
    run(&mut a, "PREPARE TRANSACTION 'a'");
    assert_eq!(state(&mut b, "PREPARE TRANSACTION 'b'"), "40001");
    run(&mut a, "ROLLBACK PREPARED 'a'");
    // One has read what the other, which is prepared, changes.
    run(&mut a, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    run(&mut a, "UPDATE t SET value = 2 WHERE id = 2");
    run(&mut b, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    run(&mut b, "SELECT value FROM t WHERE id = 2");
    run(&mut b, "UPDATE t SET value = 2 WHERE id = 1");
    run(&mut a, "PREPARE TRANSACTION 'a'");
    assert_eq!(state(&mut b, "PREPARE TRANSACTION 'b'"), "40001");
    // Those that do not meet are prepared side by side.
    run(&mut b, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    run(&mut b, "UPDATE t SET value = 3 WHERE id = 1");
    run(&mut b, "PREPARE TRANSACTION 'b'");
    run(&mut b, "COMMIT PREPARED 'b'");
    run(&mut a, "COMMIT PREPARED 'a'");
    assert_eq!(run(&mut a, "SELECT value FROM t ORDER BY id"), ["3", "2"]);
}

#[test]
fn messages_are_there_when_it_is_committed() {
    let database = database();
    let mut session = database.session();
    run(&mut session, "SELECT bus_connect('shop'), bus_connect('worker')");
    let register = "SELECT bus_register_sender('shop', 1), bus_register_receiver('worker', 1)";
    run(&mut session, register);
    for (end, found) in [("ROLLBACK", vec![]), ("COMMIT", vec!["job"])] {
        run(&mut session, "BEGIN");
        run(&mut session, "SELECT bus_send('shop', 1, 'job')");
        run(&mut session, "PREPARE TRANSACTION 'p'");
        let receive = "SELECT text FROM bus_receive('worker')";
        assert!(run(&mut session, receive).is_empty());
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let timeout = if end == "COMMIT" { "1 day" } else { "1 ms" };
                let sql = format!("SELECT text FROM bus_receive('worker', timeout => '{timeout}')");
                run(&mut database.session(), &sql)
            });
            run(&mut session, &format!("{end} PREPARED 'p'"));
            assert_eq!(waits.join().expect("no panic"), found, "{end}");
        });
    }
}

#[test]
fn backups_have_it() {
    let scratch = Scratch::new("two_phase_backup");
    let database = Database::open(scratch.join("db"), config()).expect("it opens");
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (id int PRIMARY KEY, value text)");
    run(&mut session, "BEGIN");
    run(&mut session, "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 3000) g");
    run(&mut session, "PREPARE TRANSACTION 'p'");
    let target = scratch.join("copy");
    run(&mut session, &format!("BACKUP TO '{}'", target.display()));
    run(&mut session, "ROLLBACK PREPARED 'p'");
    assert_eq!(run(&mut session, "SELECT count(*) FROM t"), ["0"]);
    let copy = Database::open(&target, config()).expect("it opens");
    let mut copied = copy.session();
    assert_eq!(run(&mut copied, "SELECT gid FROM pg_prepared_xacts"), ["p"]);
    assert_eq!(run(&mut copied, "SELECT count(*) FROM t"), ["0"]);
    run(&mut copied, "COMMIT PREPARED 'p'");
    assert_eq!(run(&mut copied, "SELECT count(*), sum(id) FROM t"), ["3000", "4501500"]);
}

#[test]
fn names_are_those_of_all_databases_of_a_server() {
    let database = database();
    let mut session = database.session();
    run(&mut session, "CREATE DATABASE other");
    let mut there = database.connect("other").expect("it was made");
    run(&mut session, "BEGIN");
    run(&mut session, "UPDATE t SET value = 0");
    run(&mut session, "PREPARE TRANSACTION 'p'");
    run(&mut there, "BEGIN");
    assert_eq!(state(&mut there, "PREPARE TRANSACTION 'p'"), "42710");
    assert_eq!(state(&mut there, "COMMIT PREPARED 'p'"), "0A000");
    run(&mut there, "BEGIN");
    run(&mut there, "PREPARE TRANSACTION 'q'");
    let all = "SELECT gid, database FROM pg_prepared_xacts ORDER BY gid";
    assert_eq!(run(&mut session, all), run(&mut there, all));
    assert_eq!(run(&mut there, all)[2..], ["q", "other"]);
    drop(there);
    assert_eq!(state(&mut session, "DROP DATABASE other"), "55006");
    let mut there = database.connect("other").expect("it is there");
    run(&mut there, "ROLLBACK PREPARED 'q'");
    drop(there);
    run(&mut session, "DROP DATABASE other");
    run(&mut session, "COMMIT PREPARED 'p'");
    assert_eq!(run(&mut session, "SELECT sum(value) FROM t"), ["0"]);
}

#[test]
fn there_are_at_most_so_many() {
    let database = database();
    let mut session = database.session();
    let most: usize = run(&mut session, "SHOW max_prepared_transactions")[0].parse().expect("so");
    for number in 0..most {
        run(&mut session, "BEGIN");
        run(&mut session, &format!("PREPARE TRANSACTION '{number}'"));
    }
    run(&mut session, "BEGIN");
    assert_eq!(state(&mut session, "PREPARE TRANSACTION 'more'"), "53200");
    run(&mut session, "ROLLBACK PREPARED '0'");
    run(&mut session, "BEGIN");
    run(&mut session, "PREPARE TRANSACTION 'more'");
    assert_eq!(run(&mut session, "SELECT count(*) FROM pg_prepared_xacts"), [most.to_string()]);
}

#[test]
fn definitions_are_refused() {
    let database = database();
    let mut session = database.session();
    for sql in [
        "CREATE TABLE u (a int)",
        "CREATE INDEX ON t (value)",
        "ALTER TABLE t ADD COLUMN more int",
        "TRUNCATE t",
        "CREATE VIEW v AS SELECT 1 AS one",
        "CREATE ROLE somebody",
    ] {
        run(&mut session, "BEGIN");
        run(&mut session, sql);
        assert_eq!(state(&mut session, "PREPARE TRANSACTION 'p'"), "0A000", "{sql}");
    }
    run(&mut session, "BEGIN");
    run(&mut session, "SAVEPOINT s");
    run(&mut session, "CREATE TABLE u (a int)");
    run(&mut session, "ROLLBACK TO s");
    run(&mut session, "UPDATE t SET value = 1");
    run(&mut session, "PREPARE TRANSACTION 'p'");
    // Others may define: the catalog is nobody's.
    run(&mut session, "CREATE TABLE u (a int)");
    run(&mut session, "COMMIT PREPARED 'p'");
    assert_eq!(run(&mut session, "SELECT sum(value) FROM t"), ["2"]);
}
