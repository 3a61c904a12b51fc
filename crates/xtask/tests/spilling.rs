//! TPC-H with next to no memory for its operators: the same answers, and temporary files used.
#![cfg(feature = "tessera")]

use std::time::Duration;

use engine::{Config, Database, Session};
use storage::MemoryCategory;
use testkit::Scratch;
use types::SqlState;
use workloads::tpch::QUERIES;

/// Scale factor: some 120,000 rows of lineitem, more than a worker holds before it spills.
const SCALE: &str = "0.02";

/// Memory in the second test.
const MEMORY_BYTES: u64 = 256 << 20;
/// Bytes that are left of it for queries.
const ROOM_BYTES: u64 = 5 << 20;

fn loaded(config: Config) -> (Database, Session) {
    let database = xtask::tessera::open(config).expect("it opens");
    let mut session = database.session();
    session.execute(&format!("CALL tpch(sf => {SCALE})")).expect("data");
    (database, session)
}

fn rows(session: &mut Session, query: &str) -> Result<Vec<String>, String> {
    let result = session.execute(query).map_err(|error| error.to_string())?;
    let row = |row: Vec<Option<String>>| format!("{row:?}");
    let mut rows: Vec<String> = result.text_rows().into_iter().map(row).collect();
    // Rows of equal keys come in any order.
    rows.sort();
    Ok(rows)
}

/// Bytes that EXPLAIN ANALYZE says were spilled: whether there are any.
fn spills(session: &mut Session, query: &str) -> bool {
    let plan = rows(session, &format!("EXPLAIN ANALYZE {query}")).expect("a plan");
    plan.iter().any(|line| line.contains("spilled="))
}

#[test]
fn answers_do_not_depend_on_work_mem() {
    let (_database, mut session) = loaded(Config { threads: 2, ..Config::default() });
    let mut spilled = 0;
    for (number, query) in (1..).zip(QUERIES) {
        session.execute("SET work_mem = 0").expect("a setting");
        let expected = rows(&mut session, query).expect("rows");
        session.execute("SET work_mem = '8kB'").expect("a setting");
        assert_eq!(rows(&mut session, query), Ok(expected), "query {number}");
        spilled += usize::from(spills(&mut session, query));
    }
    assert!(spilled >= 12, "only {spilled} queries spilled");
}

#[test]
fn queries_fit_in_little_memory() {
    let (database, mut session) =
        loaded(Config { threads: 2, memory_bytes: MEMORY_BYTES, ..Config::default() });
    let pool = database.pool();
    let queries = [
        "SELECT l_orderkey, l_partkey, count(*), sum(l_extendedprice), min(l_comment) \
         FROM lineitem GROUP BY 1, 2 HAVING count(*) > 1",
        "SELECT count(*), sum(a.l_quantity) FROM lineitem a JOIN lineitem b \
         ON a.l_orderkey = b.l_orderkey AND a.l_comment <= b.l_comment",
        "SELECT l_shipmode, count(DISTINCT l_comment) FROM lineitem GROUP BY l_shipmode",
        "SELECT l_partkey, count(DISTINCT l_comment), count(DISTINCT l_extendedprice) \
         FROM lineitem GROUP BY l_partkey",
        "SELECT l_comment FROM (SELECT * FROM lineitem ORDER BY l_comment, l_orderkey, \
         l_linenumber OFFSET 110000) AS s",
    ];
    for query in queries {
        pool.reset_peak();
        let before = pool.total();
        let expected = rows(&mut session, query).expect("rows");
        println!("{} KiB in memory: {query}", (pool.peak() - before) >> 10);
        assert!(pool.peak() - before > ROOM_BYTES, "it fits: {query}");
        let taken = MEMORY_BYTES - pool.total() - ROOM_BYTES;
        let taken = pool.reserve(MemoryCategory::Temporary, taken).expect("room");
        assert_eq!(rows(&mut session, query), Ok(expected), "{query}");
        assert!(spills(&mut session, query), "{query}");
        drop(taken);
    }
}

/// A join that writes much and gives one row.
const LONG: &str = "SELECT count(*), max(a.l_comment) FROM lineitem a JOIN lineitem b \
     ON a.l_suppkey = b.l_suppkey JOIN lineitem c ON c.l_suppkey = b.l_suppkey";

#[test]
fn a_cancel_gives_all_memory_back() {
    let (database, mut session) = loaded(Config { threads: 2, ..Config::default() });
    session.execute("SET work_mem = '8kB'").expect("a setting");
    // Statistics that planning makes stay with their tables.
    session.execute(&format!("EXPLAIN {LONG}")).expect("a plan");
    let before = database.pool().total();
    let cancel = session.cancel_handle();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        cancel.cancel();
    });
    let error = session.execute(LONG).map(drop).expect_err("a cancel");
    canceller.join().expect("it ends");
    assert_eq!(error.state(), SqlState::QUERY_CANCELED);
    assert_eq!(database.pool().total(), before);
    assert_eq!(rows(&mut session, "SELECT count(*) FROM region"), Ok(vec!["[Some(\"5\")]".into()]));
}

#[test]
fn files_are_where_they_should_be_and_nothing_stays() {
    let home = Scratch::new("spilling");
    let stray = home.join("temporary/left-over.tmp");
    let open = || Database::open(home.path(), Config::default()).expect("it opens");
    drop(open());
    std::fs::create_dir_all(home.join("temporary")).expect("a directory");
    std::fs::write(&stray, "rows").expect("a file");
    let database = open();
    assert!(!stray.exists(), "what a dead process left is removed");
    let mut session = database.session();
    session.execute("SET work_mem = '1kB'").expect("a setting");
    let query = "SELECT i FROM generate_series(1, 9000) AS s(i) ORDER BY i % 7, i OFFSET 8990";
    assert_eq!(rows(&mut session, query).map(|rows| rows.len()), Ok(10));
    let left = std::fs::read_dir(home.join("temporary")).expect("the directory");
    assert_eq!(left.count(), 0, "files have no names");
    session.execute("SET temp_directory = '/proc/no such place'").expect("a setting");
    assert!(rows(&mut session, query).expect_err("no place").contains("no such place"));
    session.execute("RESET temp_directory").expect("a setting");
    assert_eq!(rows(&mut session, query).map(|rows| rows.len()), Ok(10));
    drop((session, database));
}
