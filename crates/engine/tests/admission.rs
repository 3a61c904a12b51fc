//! Queries that need much memory wait for each other: who waits, what is shown of it, how it ends;
//! and queries that are suspended.

mod support;

use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use engine::{CancelHandle, Config, Database, Session};
use support::{run, state};

const LIMIT_BYTES: u64 = 64 << 20;

/// A join whose build side is far above what a query may have unasked.
const HEAVY: &str = "SELECT count(*) FROM t a JOIN t b ON a.i = b.k";
/// Its answer.
const COUNT: &str = "300000";
/// The same, and then it stands still while somebody has the lock.
const HELD: &str = "SELECT n FROM (SELECT count(*) AS n FROM t a JOIN t b ON a.i = b.k) q \
     WHERE pg_advisory_xact_lock(n * 0 + 7) IS NOT NULL";

fn with_rows() -> Database {
    let config = Config { threads: 2, memory_bytes: LIMIT_BYTES, ..Config::default() };
    let database = Database::open_in_memory(config).expect("it opens");
    let rows =
        "CREATE TABLE t AS SELECT i, 300001 - i AS k FROM generate_series(1, 300000) AS g(i)";
    run(&mut database.session(), rows);
    database
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(120), "never: {what}");
        std::thread::yield_now();
    }
}

/// Sessions in a state, but for the one who asks.
fn in_state(session: &mut Session, state: &str) -> usize {
    let count = format!(
        "SELECT count(*) FROM tessera_queries WHERE state = '{state}' \
         AND session_id <> pg_backend_pid()"
    );
    run(session, &count)[0].parse().expect("a number")
}

/// Cancels what stands still when a test ends, also by a panic: its threads are waited for.
struct Released(CancelHandle);

impl Drop for Released {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

type Outcome<'s> = ScopedJoinHandle<'s, Result<Vec<String>, String>>;

/// Runs `text` in a thread of its own.
fn beside<'s>(scope: &'s Scope<'s, '_>, mut session: Session, text: &'s str) -> Outcome<'s> {
    scope.spawn(move || {
        let result = session.execute(text).map_err(|error| error.state().to_string())?;
        Ok(result.text_rows().into_iter().flatten().flatten().collect())
    })
}

fn outcome(waits: Outcome<'_>) -> Result<String, String> {
    waits.join().expect("no panic").map(|rows| rows.join(","))
}

#[test]
fn who_may_wait_waits_and_who_holds_something_does_not() {
    let database = with_rows();
    let (mut owner, mut gate) = (database.session(), database.session());
    run(&mut owner, "CREATE TABLE u (a integer)");
    run(&mut owner, "SET admission_queries = 1");
    run(&mut gate, "SELECT pg_advisory_lock(7)");
    std::thread::scope(|scope| {
        let held = database.session();
        let _released = Released(held.cancel_handle());
        let held = beside(scope, held, HELD);
        let granted = "SELECT count(*) FROM tessera_queries \
             WHERE bytes_granted > 1000000 AND bytes_granted = bytes_asked AND state = 'running'";
        until("a grant", || run(&mut owner, granted) == ["1"]);
        let waits = beside(scope, database.session(), HEAVY);
        until("one waits", || in_state(&mut owner, "waiting") == 1);
        let shown = "SELECT bytes_asked > 1000000, bytes_granted, waiting_since <= now(), \
             waiting_since >= query_start FROM tessera_queries WHERE state = 'waiting'";
        assert_eq!(run(&mut owner, shown), ["t", "0", "t", "t"]);

        // Patience, and a cancel.
        let mut hurried = database.session();
        run(&mut hurried, "SET admission_timeout = '20ms'");
        assert_eq!(run(&mut hurried, "SHOW admission_timeout"), ["20ms"]);
        assert_eq!(state(&mut hurried, HEAVY), "53200");
        assert_eq!(run(&mut hurried, "SELECT i FROM t WHERE i = 5"), ["5"]);
        let cancelled = database.session();
        let cancel = cancelled.cancel_handle();
        let cancelled = beside(scope, cancelled, HEAVY);
        until("two wait", || in_state(&mut owner, "waiting") == 2);
        cancel.cancel();
        assert_eq!(outcome(cancelled), Err("57014".into()));

        // Rows, locks of tables, advisory locks: others may wait for them.
        for has in ["INSERT INTO u VALUES (1)", "LOCK TABLE u", "SELECT pg_advisory_xact_lock(8)"] {
            let mut holder = database.session();
            run(&mut holder, &format!("BEGIN; {has}"));
            assert_eq!(run(&mut holder, HEAVY), [COUNT], "{has}");
            run(&mut holder, "ROLLBACK");
        }
        assert_eq!(in_state(&mut owner, "waiting"), 1);
        run(&mut gate, "SELECT pg_advisory_unlock(7)");
        assert_eq!(outcome(held), Ok(COUNT.into()));
        assert_eq!(outcome(waits), Ok(COUNT.into()));
    });
    assert!(database.condition().memory_bytes < LIMIT_BYTES / 4, "all grants are back");
}

#[test]
fn statements_of_all_kinds_wait_and_explain_does_not() {
    let database = with_rows();
    let (mut owner, mut gate) = (database.session(), database.session());
    run(&mut owner, "CREATE TABLE made (i integer, k integer)");
    run(&mut owner, "SET admission_queries = 1");
    run(&mut gate, "SELECT pg_advisory_lock(7)");
    let statements = [
        "INSERT INTO made SELECT a.i, b.k FROM t a JOIN t b ON a.i = b.k",
        "DECLARE c CURSOR WITH HOLD FOR SELECT i FROM t ORDER BY k",
        "EXPLAIN ANALYZE SELECT i, count(*) FROM t GROUP BY i",
        "EXECUTE p",
        "SELECT sum(i) OVER (PARTITION BY k) FROM t",
        "UPDATE t SET k = 1 WHERE i IN (SELECT k + 300000 FROM t)",
    ];
    std::thread::scope(|scope| {
        let held = database.session();
        let _released = Released(held.cancel_handle());
        let held = beside(scope, held, HELD);
        until("a grant", || {
            run(&mut owner, "SELECT count(*) FROM tessera_queries WHERE bytes_granted > 0") == ["1"]
        });
        let mut hurried = database.session();
        run(&mut hurried, "SET admission_timeout = 1");
        run(&mut hurried, "PREPARE p AS SELECT i FROM t EXCEPT SELECT k + 1 FROM t");
        for statement in statements {
            assert_eq!(state(&mut hurried, statement), "53200", "{statement}");
        }
        assert!(!run(&mut hurried, &format!("EXPLAIN {HEAVY}")).is_empty());
        run(&mut gate, "SELECT pg_advisory_unlock(7)");
        assert_eq!(outcome(held), Ok(COUNT.into()));
    });
}

#[test]
fn queries_that_need_more_than_there_is_in_all_take_turns() {
    let database = with_rows();
    let pool = database.pool();
    pool.reset_peak();
    let large = "SELECT count(*), max(s) FROM (SELECT a.i, count(*) AS n, sum(b.k) AS s \
         FROM t a JOIN t b ON a.i = b.k GROUP BY a.i) q";
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| beside(scope, database.session(), large)).collect();
        for one in all {
            assert_eq!(outcome(one), Ok("300000,300000".into()));
        }
    });
    assert!(pool.peak() <= LIMIT_BYTES);
}

#[test]
fn a_suspended_query_stands_still_until_it_is_resumed_or_cancelled() {
    let database = with_rows();
    let mut owner = database.session();
    let long = "SELECT count(*) FROM t a JOIN t b ON a.i % 3000 = b.i % 3000";
    for resumes in [true, false] {
        let session = database.session();
        let (pid, cancel) = (session.id(), session.cancel_handle());
        // Nothing runs.
        assert_eq!(run(&mut owner, &format!("SELECT tessera_suspend({pid})")), ["f"]);
        std::thread::scope(|scope| {
            let _released = Released(cancel.clone());
            let suspended = beside(scope, session, long);
            let orders =
                format!("SELECT orders_done FROM tessera_queries WHERE session_id = {pid}");
            until("it runs", || matches!(&run(&mut owner, &orders)[..], [n] if n != "0"));
            assert_eq!(run(&mut owner, &format!("SELECT tessera_suspend({pid})")), ["t"]);
            let running =
                format!("SELECT running FROM tessera_work_orders WHERE session_id = {pid}");
            // Between two pipelines there is nothing of it.
            let is_free = |running: &[String]| !matches!(running, [n] if n != "0");
            until("its workers are free", || is_free(&run(&mut owner, &running)));
            assert_eq!(in_state(&mut owner, "suspended"), 1);
            assert_eq!(run(&mut owner, HEAVY), [COUNT]);
            let before = run(&mut owner, &orders);
            assert_eq!(run(&mut owner, HEAVY), [COUNT]);
            assert_eq!(run(&mut owner, &orders), before);
            if resumes {
                assert_eq!(run(&mut owner, &format!("SELECT tessera_resume({pid})")), ["t"]);
                assert_eq!(outcome(suspended), Ok("30000000".into()));
            } else {
                cancel.cancel();
                assert_eq!(outcome(suspended), Err("57014".into()));
            }
        });
    }
    assert_eq!(run(&mut owner, "SELECT tessera_suspend(pg_backend_pid())"), ["f"]);
    run(&mut owner, "CREATE ROLE ann LOGIN");
    let mut ann = database.session();
    ann.set_user("ann");
    assert_eq!(state(&mut ann, &format!("SELECT tessera_suspend({})", owner.id())), "42501");
    assert_eq!(state(&mut ann, "SET admission_queries = 4"), "42501");
    for wrong in ["1001", "-1", "many"] {
        assert_eq!(state(&mut owner, &format!("SET admission_queries = '{wrong}'")), "22023");
    }
}
