//! Definitions of shared tables while other nodes write them: no row and no entry of an index is
//! lost, and a definition that its node's death cuts off leaves the table as it was.

#[path = "shared_sql/cluster.rs"]
mod cluster;
#[path = "shared_sql/statements.rs"]
mod statements;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use cluster::{Cluster, Process, client};
use postgres::Client;
use statements::{state, value};

/// Rows that a writer was told are there, and what they add up to.
#[derive(Default)]
struct Written {
    rows: i64,
    sum: i64,
}

/// Writes rows until it is told to end: inserts some, changes and deletes some of them.
fn writer(node: &Process, number: i64, is_over: &Arc<AtomicBool>) -> JoinHandle<Written> {
    let (mut client, is_over) = (client(node), Arc::clone(is_over));
    thread::spawn(move || {
        let (mut written, mut next) = (Written::default(), number * 1_000_000);
        // At least once around, also when definitions were fast.
        while !is_over.load(Ordering::Relaxed) || next % 1_000_000 < 3 {
            next += 1;
            let group = next % 10;
            let add = format!("INSERT INTO t (id, k, v) VALUES ({next}, {group}, 1)");
            client.batch_execute(&add).expect("it is tried again");
            let change = format!("UPDATE t SET k = k + 10, v = 2 WHERE id = {next}");
            let drop = format!("DELETE FROM t WHERE id = {next}");
            match next % 3 {
                0 => client.batch_execute(&drop).expect("it is tried again"),
                1 => {
                    client.batch_execute(&change).expect("it is tried again");
                    (written.rows, written.sum) = (written.rows + 1, written.sum + 2);
                }
                _ => (written.rows, written.sum) = (written.rows + 1, written.sum + 1),
            }
        }
        written
    })
}

/// The same rows by the index on `k` as by reading all.
fn check_index(client: &mut Client) {
    for group in 0..20 {
        // One snapshot: others write.
        let query = format!(
            "SELECT (SELECT count(*) FROM t WHERE k = {group})
             - (SELECT count(*) FROM t WHERE k + 0 = {group})"
        );
        assert_eq!(value(client, &query), "0", "group {group}");
    }
}

#[test]
fn writers_beside_definitions_lose_nothing() {
    let cluster = Cluster::start("beside", 2);
    let (first, second) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&first), client(&second));
    a.batch_execute("CREATE TABLE t (id int PRIMARY KEY, k int, v int)").expect("it is new");
    a.batch_execute("INSERT INTO t SELECT i, i % 10, 1 FROM generate_series(1, 300) i")
        .expect("they are new");
    let is_over = Arc::new(AtomicBool::new(false));
    let writers =
        [writer(&first, 1, &is_over), writer(&second, 2, &is_over), writer(&second, 3, &is_over)];
    for definition in [
        "CREATE INDEX t_k ON t (k)",
        "CREATE UNIQUE INDEX t_both ON t (k, id)",
        "ALTER TABLE t ADD COLUMN w int NOT NULL DEFAULT 7",
        "DROP INDEX t_both",
        "ALTER TABLE t ADD CONSTRAINT known CHECK (v IN (1, 2))",
        "ALTER TABLE t ADD UNIQUE (k, id)",
        "ALTER TABLE t ALTER COLUMN v TYPE bigint",
        "BEGIN; CREATE INDEX t_v ON t (v); ALTER TABLE t DROP COLUMN w; COMMIT",
    ] {
        a.batch_execute(definition).expect(definition);
        check_index(&mut b);
    }
    is_over.store(true, Ordering::Relaxed);
    let (mut count, mut sum) = (300, 300);
    for writer in writers {
        let written = writer.join().expect("no panic");
        (count, sum) = (count + written.rows, sum + written.sum);
    }
    for client in [&mut a, &mut b] {
        assert_eq!(value(client, "SELECT count(*) FROM t"), count.to_string());
        assert_eq!(value(client, "SELECT sum(v) FROM t"), sum.to_string());
        check_index(client);
        assert_eq!(state(client, "INSERT INTO t VALUES (1000001, 1, 1)"), "23505");
        assert_eq!(state(client, "INSERT INTO t VALUES (-1, 1, 3)"), "23514");
    }
}

#[test]
fn definitions_wait_for_who_began_before() {
    let cluster = Cluster::start("before", 1);
    let (first, second) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&first), client(&second));
    a.batch_execute("CREATE TABLE t (id int PRIMARY KEY, k int, v int)").expect("it is new");
    a.batch_execute("SET lock_timeout = '100ms'").expect("a setting");
    for (number, definition) in [
        "CREATE INDEX t_k ON t (k)",
        "ALTER TABLE t ADD COLUMN w int",
        "TRUNCATE t",
        "DROP TABLE t",
    ]
    .into_iter()
    .enumerate()
    {
        b.batch_execute(&format!("BEGIN; INSERT INTO t VALUES ({number}, 3, 1)")).expect("new");
        assert_eq!(state(&mut a, definition), "55P03", "{definition}");
        b.batch_execute("COMMIT").expect("nobody stops who was before");
        // What could not be done stops nobody either.
        b.batch_execute(&format!("INSERT INTO t VALUES (-1 - {number}, 4, 1)")).expect("new");
        let found = value(&mut b, "SELECT count(*) FROM t WHERE k = 3");
        a.batch_execute(definition).expect(definition);
        if number < 2 {
            assert_eq!(found, (number + 1).to_string(), "{definition}");
            assert_eq!(value(&mut b, "SELECT count(*) FROM t WHERE k = 3"), found);
        }
    }
    assert_eq!(state(&mut b, "SELECT * FROM t"), "42P01");

    // Who begins behind a hold, and has changed others, cannot wait: its snapshot is older.
    a.batch_execute("CREATE TABLE t (id int PRIMARY KEY, k int, v int); CREATE TABLE u (id int)")
        .expect("they are new");
    a.batch_execute("BEGIN; ALTER TABLE t ADD COLUMN w int DEFAULT 5").expect("nobody writes");
    let writing = {
        let mut c = client(&second);
        thread::spawn(move || c.batch_execute("INSERT INTO t VALUES (1, 1, 1)"))
    };
    assert_eq!(value(&mut b, "SELECT count(*) FROM t"), "0");
    b.batch_execute("BEGIN; SELECT count(*) FROM t").expect("readers go on");
    a.batch_execute("INSERT INTO t VALUES (2, 2, 2, 2); CREATE INDEX ON t (w); COMMIT")
        .expect("it is its own");
    b.batch_execute("COMMIT").expect("it read only");
    writing.join().expect("no panic").expect("it waited, and ran again");
    assert_eq!(value(&mut b, "SELECT id FROM t WHERE w = 5"), "1");
    assert_eq!(value(&mut b, "SELECT id FROM t WHERE w = 2"), "2");
}

#[test]
fn a_definition_ends_with_its_node() {
    let cluster = Cluster::start("ended", 2);
    let (mut first, second) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&first), client(&second));
    a.batch_execute("CREATE TABLE t (id int PRIMARY KEY, k int, v int)").expect("it is new");
    a.batch_execute("INSERT INTO t SELECT i, i % 10, 1 FROM generate_series(1, 300) i")
        .expect("they are new");
    a.batch_execute("BEGIN; CREATE UNIQUE INDEX t_id ON t (id); ALTER TABLE t ADD w int DEFAULT 5")
        .expect("nobody writes");
    let writing = {
        let mut c = client(&second);
        thread::spawn(move || c.batch_execute("INSERT INTO t VALUES (301, 1, 1)"))
    };
    first.kill();
    writing.join().expect("no panic").expect("the hold ended");
    assert_eq!(value(&mut b, "SELECT count(*) FROM t"), "301");
    assert_eq!(state(&mut b, "SELECT w FROM t"), "42703");
    assert_eq!(state(&mut b, "DROP INDEX t_id"), "42704");
    b.batch_execute("CREATE INDEX t_k ON t (k)").expect("nobody holds it");
    check_index(&mut b);

    // It dies while an index is built, or before, or behind.
    let mut third = cluster.node();
    let mut c = client(&third);
    b.batch_execute("INSERT INTO t SELECT i, i % 10, 1 FROM generate_series(1000, 20000) i")
        .expect("they are new");
    let building = thread::spawn(move || drop(c.batch_execute("CREATE INDEX t_v ON t (v, id)")));
    b.batch_execute("INSERT INTO t VALUES (302, 1, 1)").expect("it waits, or was before");
    third.kill();
    building.join().expect("no panic");
    b.batch_execute("INSERT INTO t VALUES (303, 1, 1)").expect("nobody holds it for long");
    b.batch_execute("DROP INDEX IF EXISTS t_v; CREATE INDEX t_v ON t (v, id)").expect("again");
    assert_eq!(value(&mut b, "SELECT count(*) FROM t WHERE v = 1"), "19304");
    assert_eq!(value(&mut b, "SELECT count(*) FROM t WHERE v = 1 AND id = 303"), "1");
    check_index(&mut b);
}
