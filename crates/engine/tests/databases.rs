//! Several databases of one server: their list survives every crash, as it was or as it is to be.

mod support;

use std::sync::Arc;

use engine::{Background, Config, Database, Files, Session};
use host::{Fault, SimIo, Tear};
use support::{run, state};
use testkit::Scratch;

const PATH: &str = "/server";

fn files_of(io: &SimIo) -> Files {
    Files {
        io: Arc::new(io.clone()),
        background: Background::None,
        segment_bytes: 64 << 10,
        ..Files::default()
    }
}

fn config() -> Config {
    Config { threads: 1, memory_bytes: 64 << 20, ..Config::default() }
}

fn open(io: &SimIo) -> types::Result<Database> {
    Database::open_with(PATH, config(), &files_of(io))
}

fn names(database: &Database) -> Vec<String> {
    run(&mut database.session(), "SELECT datname FROM pg_database ORDER BY 1")
}

fn connect(database: &Database, name: &str) -> Session {
    database.connect(name).expect("it is there")
}

/// A server with a database that has a table with a row.
fn prepared(seed: u64) -> SimIo {
    let io = SimIo::new(seed, Tear::Bytes);
    let database = open(&io).expect("new");
    let mut first = database.session();
    run(&mut first, "CREATE DATABASE kept");
    let mut kept = connect(&database, "kept");
    run(&mut kept, "CREATE TABLE t (a int)");
    run(&mut kept, "INSERT INTO t VALUES (7)");
    drop((first, kept));
    database.close().expect("it closes");
    io
}

/// Runs `statement` and loses power at its change number `change`; true when it succeeded.
fn broken(io: &SimIo, statement: &str, change: u64) -> bool {
    let database = open(io).expect("it was closed");
    io.inject(Fault::PowerLoss(change));
    let done = database.session().execute(statement).is_ok();
    drop(database);
    io.crash();
    io.clear_faults();
    done
}

#[test]
fn power_lost_at_any_change_leaves_the_old_list_or_the_new() {
    let cases: [(&str, &[&str]); 4] = [
        ("CREATE DATABASE made", &["kept", "made", "tessera"]),
        ("CREATE DATABASE made TEMPLATE kept", &["kept", "made", "tessera"]),
        ("DROP DATABASE kept", &["tessera"]),
        ("ALTER DATABASE kept RENAME TO other", &["other", "tessera"]),
    ];
    let old = ["kept", "tessera"];
    for (statement, new) in cases {
        let mut ends = [0, 0];
        for change in 1.. {
            let io = prepared(change);
            let done = broken(&io, statement, change);
            let database = open(&io).expect("it opens after a crash");
            let found = names(&database);
            assert!(found == old || found == new, "{statement}, change {change}: {found:?}");
            assert!(!done || found == new, "{statement}, change {change}: it was acknowledged");
            ends[usize::from(found == new)] += 1;
            for name in found.iter().filter(|name| *name != "tessera") {
                let mut session = connect(&database, name);
                let has_rows = name != "made" || statement.contains("TEMPLATE");
                if has_rows {
                    assert_eq!(run(&mut session, "SELECT a FROM t"), ["7"], "{statement}");
                } else {
                    run(&mut session, "CREATE TABLE t (a int)");
                }
            }
            // What was left half does not get in the way.
            run(&mut database.session(), "CREATE DATABASE later");
            run(&mut connect(&database, "later"), "CREATE TABLE t (a int)");
            if done {
                break;
            }
        }
        assert!(ends[0] > 0 && ends[1] > 0, "{statement}: {ends:?}");
    }
}

#[test]
fn databases_are_there_again_with_their_roles_and_settings() {
    let scratch = Scratch::new("databases");
    {
        let database = Database::open(scratch.path(), config()).expect("a new directory");
        let mut session = database.session();
        run(&mut session, "CREATE DATABASE a CONNECTION LIMIT 3");
        run(&mut session, "ALTER DATABASE a SET work_mem = '8MB'");
        run(&mut session, "CREATE ROLE ann");
        run(&mut connect(&database, "a"), "CREATE ROLE bob");
        run(&mut connect(&database, "a"), "CREATE TABLE t AS SELECT 1 AS x");
        run(&mut session, "CREATE ROLE eve");
        let roles =
            "SELECT rolname FROM pg_roles WHERE rolname IN ('ann', 'bob', 'eve') ORDER BY 1";
        assert_eq!(run(&mut session, roles), ["ann", "bob", "eve"]);
        assert_eq!(run(&mut connect(&database, "a"), roles), ["ann", "bob", "eve"]);
    }
    let database = Database::open(scratch.path(), config()).expect("it was closed");
    assert_eq!(names(&database), ["a", "tessera"]);
    let mut session = connect(&database, "a");
    assert_eq!(run(&mut session, "SELECT x FROM t"), ["1"]);
    assert_eq!(run(&mut session, "SELECT current_database()"), ["a"]);
    assert_eq!(session.database().own_settings(), [("work_mem".to_owned(), "8MB".to_owned())]);
    let mut first = database.session();
    for (statement, wanted) in [
        ("DROP DATABASE a", "55006"),
        ("DROP DATABASE nosuch", "3D000"),
        ("CREATE DATABASE a", "42P04"),
        ("CREATE DATABASE postgres", "42P04"),
        ("ALTER DATABASE a RENAME TO b", "55006"),
        ("CREATE DATABASE c TEMPLATE a", "55006"),
        ("CREATE DATABASE c TEMPLATE nosuch", "3D000"),
        ("CREATE DATABASE c ENCODING 'LATIN1'", "0A000"),
    ] {
        assert_eq!(state(&mut first, statement), wanted, "{statement}");
    }
    drop(session);
    run(&mut first, "CREATE DATABASE c TEMPLATE a");
    assert_eq!(run(&mut connect(&database, "c"), "SELECT x FROM t"), ["1"]);
    run(&mut connect(&database, "c"), "CREATE TABLE owned (x int)");
    run(&mut connect(&database, "c"), "ALTER TABLE owned OWNER TO bob");
    assert_eq!(state(&mut first, "DROP ROLE bob"), "2BP01");
    run(&mut first, "DROP DATABASE c");
    run(&mut first, "DROP ROLE bob");
    run(&mut first, "ALTER DATABASE a ALLOW_CONNECTIONS false");
    assert!(database.connect("a").is_err());
    let missing = database.connect("nosuch").err();
    assert_eq!(missing.map(|e| e.state().as_str().to_owned()).as_deref(), Some("3D000"));
}

#[test]
fn owners_of_large_objects_of_other_databases_keep_their_roles() {
    let database = Database::open_in_memory(config()).expect("a database");
    let mut first = database.session();
    run(&mut first, "CREATE DATABASE a");
    run(&mut first, "CREATE ROLE ann");
    let mut other = connect(&database, "a");
    run(&mut other, "SELECT lo_create(7)");
    run(&mut other, "ALTER LARGE OBJECT 7 OWNER TO ann");
    let error = first.execute("DROP ROLE ann").err().expect("an object of hers");
    assert_eq!(
        (error.state().as_str(), error.detail()),
        ("2BP01", Some("It is needed in database a."))
    );
    assert_eq!(state(&mut first, "ALTER ROLE ann RENAME TO anne"), "0A000");
    assert_eq!(state(&mut other, "DROP ROLE ann"), "2BP01");
    run(&mut other, "SELECT lo_unlink(7)");
    run(&mut first, "ALTER ROLE ann RENAME TO anne");
    run(&mut first, "DROP ROLE anne");
}

#[test]
fn who_began_the_database_keeps_what_is_there() {
    let database = Database::open_in_memory(config()).expect("a database");
    let mut session = database.session();
    run(&mut session, "CREATE ROLE boss SUPERUSER");
    run(&mut session, "ALTER DATABASE tessera OWNER TO boss");
    run(&mut session, "CREATE TABLE t (a int)");
    run(&mut session, "ALTER TABLE t OWNER TO boss");
    assert_eq!(state(&mut session, "DROP OWNED BY boss CASCADE"), "2BP01");
    assert_eq!(run(&mut session, "SELECT count(*) FROM t"), ["0"]);
}
