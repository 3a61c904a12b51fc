//! Rows that came by INSERT become frozen ones where they are: answers, writers and old snapshots
//! do not notice.

mod support;

use std::time::{Duration, Instant};

use engine::{Config, Database, Session};
use support::run;
use testkit::Scratch;

const SUMS: &str = "SELECT count(*), sum(id), sum(k), count(n), min(s), max(s) FROM t";

fn open() -> (Database, Session) {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    run(&mut session, "SET freezing = off");
    run(&mut session, "CREATE TABLE t (id int PRIMARY KEY, k int, s text, n bigint)");
    run(&mut session, "CREATE INDEX ON t (k, id)");
    (database, session)
}

/// Fills `t` with 20,001 rows, few at a time: a large INSERT is a load, which freezes at once.
fn fill(session: &mut Session) {
    run(session, "INSERT INTO t VALUES (0, 0, 'text 0', NULL)");
    for first in (1..=20_000).step_by(1000) {
        let values = "i, i % 7, 'text ' || i, CASE WHEN i % 3 = 0 THEN i END";
        let rows = format!("generate_series({first}, {}) AS g(i)", first + 999);
        run(session, &format!("INSERT INTO t SELECT {values} FROM {rows}"));
    }
}

/// Blocks of `t` that are hot and frozen.
fn blocks(session: &mut Session) -> (u64, u64) {
    let found = run(
        session,
        "SELECT hot_blocks, frozen_blocks FROM tessera_temperatures() WHERE table_name = 't'",
    );
    let number = |i: usize| found[i].parse().expect("a number");
    (number(0), number(1))
}

#[test]
fn vacuum_freeze_freezes_in_place() {
    let (_database, mut session) = open();
    fill(&mut session);
    let before = run(&mut session, SUMS);
    let places = run(&mut session, "SELECT ctid FROM t ORDER BY id");
    assert_eq!(blocks(&mut session).1, 0, "rows are hot at first");
    run(&mut session, "VACUUM FREEZE t");
    let (hot, frozen) = blocks(&mut session);
    assert!(hot == 0 && frozen > 1, "{hot} blocks are hot, {frozen} frozen");
    assert_eq!(run(&mut session, SUMS), before);
    assert_eq!(run(&mut session, "SELECT ctid FROM t ORDER BY id"), places, "no row has moved");
    assert_eq!(run(&mut session, "SELECT s FROM t WHERE id = 777"), ["text 777"]);
    assert_eq!(run(&mut session, "SELECT count(*) FROM t WHERE k = 3"), ["2857"]);
    assert!(run(&mut session, "SELECT problem FROM tessera_check()").is_empty());
}

#[test]
fn frozen_rows_are_written_as_before() {
    let (_database, mut session) = open();
    fill(&mut session);
    run(&mut session, "DELETE FROM t WHERE id % 10 = 5");
    run(&mut session, "VACUUM (FREEZE, VERBOSE) t");
    assert_eq!(blocks(&mut session).0, 0);
    assert_eq!(run(&mut session, "SELECT count(*) FROM t"), ["18001"]);
    assert!(run(&mut session, "SELECT s FROM t WHERE id = 15").is_empty(), "it is gone");
    run(&mut session, "UPDATE t SET s = 'new', k = 100 WHERE id % 100 = 1");
    run(&mut session, "DELETE FROM t WHERE id % 100 = 2");
    run(&mut session, "INSERT INTO t VALUES (15, 1, 'back', 1), (30000, 1, 'more', NULL)");
    assert_eq!(support::state(&mut session, "INSERT INTO t VALUES (16, 1, 'x', 1)"), "23505");
    let sum = run(&mut session, "SELECT count(*), sum(id) FROM t WHERE k = 100");
    assert_eq!(sum, ["200", "1990200"]);
    assert_eq!(run(&mut session, "SELECT count(*) FROM t"), ["17803"]);
    run(&mut session, "VACUUM FREEZE");
    assert_eq!(blocks(&mut session).0, 0, "what was written since is frozen, too");
    assert_eq!(run(&mut session, "SELECT count(*), sum(id) FROM t WHERE k = 100"), sum);
    assert_eq!(run(&mut session, "SELECT s FROM t WHERE id = 15"), ["back"]);
    assert!(run(&mut session, "SELECT problem FROM tessera_check()").is_empty());
}

#[test]
fn rows_that_somebody_writes_or_sees_otherwise_stay_hot() {
    let (database, mut session) = open();
    fill(&mut session);
    let (mut reader, mut writer) = (database.session(), database.session());
    run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    let before = run(&mut reader, SUMS);
    run(&mut writer, "BEGIN");
    run(&mut writer, "UPDATE t SET s = 'other' WHERE id = 9000");
    run(&mut session, "UPDATE t SET s = 'newer' WHERE id = 19000");
    run(&mut session, "VACUUM FREEZE t");
    let (hot, frozen) = blocks(&mut session);
    assert!(hot >= 1 && frozen >= 1, "{hot} blocks are hot, {frozen} frozen");
    assert_eq!(run(&mut reader, SUMS), before, "a snapshot does not change");
    assert_eq!(run(&mut reader, "SELECT s FROM t WHERE id = 19000"), ["text 19000"]);
    run(&mut writer, "ROLLBACK");
    run(&mut reader, "COMMIT");
    run(&mut session, "VACUUM FREEZE t");
    assert_eq!(blocks(&mut session).0, 0, "nobody needs a version any more");
    assert_eq!(run(&mut session, "SELECT s FROM t WHERE id = 9000"), ["text 9000"]);
    assert_eq!(run(&mut session, "SELECT s FROM t WHERE id = 19000"), ["newer"]);
}

#[test]
fn tables_of_a_layout_and_tables_of_others_are_left_alone() {
    let (database, mut session) = open();
    run(&mut session, "CREATE TABLE rows (a int) WITH (layout = row)");
    run(&mut session, "INSERT INTO rows VALUES (1)");
    run(&mut session, "VACUUM FREEZE");
    let layouts = "SELECT DISTINCT layout FROM tessera_blocks() WHERE table_name = 'rows'";
    assert_eq!(run(&mut session, layouts), ["row"]);
    fill(&mut session);
    run(&mut session, "CREATE ROLE ann; GRANT SELECT ON t TO ann");
    let mut other = database.session();
    run(&mut other, "SET ROLE ann");
    let result = other.execute("VACUUM FREEZE t").expect("a warning is no error");
    let notice = result.notices().first().expect("a warning");
    assert_eq!(
        notice.error.message(),
        "skipping \"t\" --- only table or database owner can vacuum it"
    );
    assert_eq!(blocks(&mut session).1, 0);
}

#[test]
fn blocks_are_frozen_in_the_background() {
    let (_database, mut session) = open();
    fill(&mut session);
    let before = run(&mut session, SUMS);
    run(&mut session, "SET freezing = eager");
    assert_eq!(run(&mut session, "SHOW freezing"), ["eager"]);
    assert_eq!(support::state(&mut session, "SET freezing = often"), "22023");
    let begun = Instant::now();
    while blocks(&mut session).0 > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "blocks stay hot");
        assert_eq!(run(&mut session, SUMS), before);
    }
    assert_eq!(run(&mut session, SUMS), before);
}

#[test]
fn a_checkpoint_keeps_frozen_blocks_frozen() {
    let scratch = Scratch::new("freezing");
    let open = || Database::open(scratch.path(), Config::default());
    let database = open().expect("it opens");
    let mut session = database.session();
    run(&mut session, "SET freezing = off");
    run(&mut session, "CREATE TABLE t (id int PRIMARY KEY, k int, s text, n bigint)");
    fill(&mut session);
    run(&mut session, "CHECKPOINT");
    run(&mut session, "UPDATE t SET k = 50 WHERE id % 50 = 0");
    run(&mut session, "VACUUM FREEZE t");
    run(&mut session, "UPDATE t SET k = 51 WHERE id % 50 = 1");
    run(&mut session, "CHECKPOINT");
    run(&mut session, "DELETE FROM t WHERE id % 50 = 2");
    run(&mut session, "UPDATE t SET k = 53 WHERE id % 50 = 3");
    let (before, frozen) = (run(&mut session, SUMS), blocks(&mut session).1);
    assert!(frozen > 1);
    drop(session);
    database.close().expect("it closes");
    let database = open().expect("it opens again");
    let mut session = database.session();
    assert_eq!(blocks(&mut session).1, frozen, "what was frozen is frozen");
    assert_eq!(run(&mut session, SUMS), before);
    let changed = "SELECT k, count(*) FROM t WHERE k >= 50 GROUP BY k ORDER BY k";
    assert_eq!(run(&mut session, changed), ["50", "401", "51", "400", "53", "400"]);
    assert!(run(&mut session, "SELECT problem FROM tessera_check()").is_empty());
}

#[test]
fn a_database_ends_with_its_last_handle_though_rows_are_being_frozen() {
    let scratch = Scratch::new("freezing-ends");
    for opening in 0..20 {
        let opened = Database::open(scratch.path(), Config::default());
        let database = opened.unwrap_or_else(|error| panic!("opening {opening}: {error}"));
        let mut session = database.session();
        run(&mut session, "SET freezing = eager");
        if opening == 0 {
            run(&mut session, "CREATE TABLE t (id int, k int, s text, n bigint)");
        }
        fill(&mut session);
        assert_eq!(
            run(&mut session, "SELECT count(*) FROM t"),
            [((opening + 1) * 20_001).to_string()]
        );
    }
}
