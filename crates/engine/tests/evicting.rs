//! A database that is larger than its memory: loaded, changed, answered right.

mod support;

use std::path::Path;

use engine::{Config, Database, Session};
use support::run;
use testkit::Scratch;

const MEMORY_BYTES: u64 = 24 << 20;
const LOADS: i64 = 16;
const ROWS: i64 = 20_000;

fn open(path: &Path) -> (Database, Session) {
    let config = Config { threads: 2, memory_bytes: MEMORY_BYTES, ..Config::default() };
    let database = Database::open(path, config).expect("it fits");
    let mut session = database.session();
    run(&mut session, "SET freezing = off");
    (database, session)
}

/// The text of row `id`, in SQL: 256 bytes that become no fewer than half of that in a block.
fn text_of(id: &str) -> String {
    format!("repeat(md5({id}::text), 8)")
}

fn number(session: &mut Session, sql: &str) -> i64 {
    run(session, sql)[0].parse().expect("a number")
}

/// Bytes of the files of blocks.
fn block_bytes(path: &Path) -> u64 {
    let files = std::fs::read_dir(path.join("blocks")).expect("a database");
    files.map(|file| file.expect("readable").metadata().expect("there").len()).sum()
}

/// Content of the table, from the numbers of its rows.
#[derive(Clone)]
struct Model {
    ids: Vec<i64>,
    updated: i64,
}

impl Model {
    fn check(&self, session: &mut Session) {
        let (count, sum) = (self.ids.len() as i64, self.ids.iter().sum::<i64>());
        let facts = "SELECT count(*), sum(id), min(id), max(id), sum(length(s)) FROM t";
        let ends = (self.ids.iter().min(), self.ids.iter().max());
        let (least, most) = (ends.0.expect("rows"), ends.1.expect("rows"));
        let wanted = [count, sum, *least, *most, count * 256].map(|n| n.to_string());
        assert_eq!(run(session, facts), wanted);
        let some = self.ids.iter().filter(|&&id| id % 20 == 0).count();
        let whole = format!("SELECT count(*) FROM t WHERE id % 20 = 0 AND s = {}", text_of("id"));
        assert_eq!(number(session, &whole), some as i64);
        assert_eq!(number(session, "SELECT count(*) FROM t WHERE k = -1"), self.updated);
        let groups =
            "SELECT count(*) FROM (SELECT k, count(*) AS n FROM t WHERE k >= 0 GROUP BY k) AS g";
        assert_eq!(number(session, groups), 7);
        assert!(session.database().pool().peak() <= MEMORY_BYTES);
    }
}

#[test]
fn a_database_twice_the_limit_is_loaded_and_changed() {
    let scratch = Scratch::new("evicting");
    let (database, mut session) = open(scratch.path());
    run(&mut session, "CREATE TABLE t (id bigint NOT NULL, k int, s text)");
    for load in 0..LOADS {
        let (first, last) = (load * ROWS + 1, (load + 1) * ROWS);
        let rows = format!("generate_series({first}, {last}) AS g(i)");
        let insert = format!("INSERT INTO t SELECT i, i % 7, {} FROM {rows}", text_of("i"));
        run(&mut session, &insert);
    }
    let stored = block_bytes(scratch.path());
    assert!(stored >= 2 * MEMORY_BYTES, "{stored} bytes of blocks");
    let mut model = Model { ids: (1..=LOADS * ROWS).collect(), updated: 0 };
    model.check(&mut session);
    // Rows of blocks that are not in memory are changed and deleted.
    database.pool().evict_to(0);
    run(&mut session, "UPDATE t SET k = -1 WHERE id BETWEEN 30001 AND 30500");
    run(&mut session, "DELETE FROM t WHERE id BETWEEN 50001 AND 50700");
    model.ids.retain(|id| !(50_001..=50_700).contains(id));
    model.updated = 500;
    model.check(&mut session);
    run(&mut session, "BEGIN");
    run(&mut session, "DELETE FROM t WHERE id BETWEEN 70001 AND 70100");
    database.pool().evict_to(0);
    run(&mut session, "ROLLBACK");
    run(&mut session, "CHECKPOINT");
}

#[test]
fn a_cursor_reads_on_what_was_dropped_meanwhile() {
    let scratch = Scratch::new("evicting_cursor");
    let (database, mut session) = open(scratch.path());
    run(&mut session, "CREATE TABLE t (id bigint NOT NULL, s text)");
    for load in 0..4 {
        let rows = format!("generate_series({}, {}) AS g(i)", load * 5000 + 1, (load + 1) * 5000);
        run(&mut session, &format!("INSERT INTO t SELECT i, 'row ' || i FROM {rows}"));
    }
    let mut other = database.session();
    run(&mut other, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    let facts = "SELECT count(*), sum(id), sum(length(s)) FROM t";
    let before = run(&mut other, facts);
    run(&mut session, "DELETE FROM t");
    run(&mut session, "CHECKPOINT");
    database.pool().evict_to(0);
    run(&mut session, "CHECKPOINT");
    assert_eq!(run(&mut other, facts), before, "what a snapshot sees does not change");
    run(&mut other, "COMMIT");
    assert_eq!(run(&mut other, facts)[0], "0");
}
