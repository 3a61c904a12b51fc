//! How workers are shared: priorities, policies, more and fewer workers, and what is shown of it.

use std::time::{Duration, Instant};

use engine::{Config, Database, Session};

fn run(session: &mut Session, sql: &str) -> Result<String, String> {
    let outcome = session.execute(sql).map_err(|error| error.state().to_string())?;
    let cells = outcome.text_rows().into_iter().flatten();
    Ok(cells.map(|cell| cell.unwrap_or("NULL".into())).collect::<Vec<_>>().join("|"))
}

fn done(session: &mut Session, sql: &str) {
    run(session, sql).unwrap_or_else(|state| panic!("{sql}: {state}"));
}

fn session_of(database: &Database, user: &str) -> Session {
    let mut session = database.session();
    session.set_user(user);
    session
}

#[test]
fn priorities_are_the_session_s_and_policies_the_server_s() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut owner = database.session();
    assert_eq!(run(&mut owner, "SHOW priority"), Ok("1".into()));
    assert_eq!(run(&mut owner, "SHOW scheduler_policy"), Ok("proportional".into()));
    done(&mut owner, "CREATE ROLE ann LOGIN; CREATE ROLE chief LOGIN SUPERUSER");
    done(&mut owner, "ALTER ROLE ann SET priority = 4");
    let mut chief = session_of(&database, "chief");
    for policy in ["fair", "highest_first", "proportional"] {
        done(&mut chief, &format!("SET scheduler_policy = {policy}"));
        assert_eq!(run(&mut owner, "SHOW scheduler_policy"), Ok(policy.into()));
    }
    assert_eq!(run(&mut chief, "SET scheduler_policy = 'shortest'"), Err("22023".into()));
    for dispatch in ["bus", "monitor"] {
        done(&mut chief, &format!("SET scheduler_dispatch = {dispatch}"));
        assert_eq!(run(&mut owner, "SHOW scheduler_dispatch"), Ok(dispatch.into()));
    }
    assert_eq!(run(&mut chief, "SET scheduler_dispatch = 'pigeons'"), Err("22023".into()));
    done(&mut chief, "SET priority = 1000");
    assert_eq!(run(&mut chief, "SET priority = 1001"), Err("22023".into()));
    assert_eq!(run(&mut chief, "SET priority = 0"), Err("22023".into()));

    let mut ann = session_of(&database, "ann");
    let defaults = database.role("ann").expect("a role").settings;
    assert_eq!(defaults, [("priority".to_owned(), "4".to_owned())]);
    assert_eq!(run(&mut ann, "SET scheduler_policy = fair"), Err("42501".into()));
    assert_eq!(run(&mut ann, "SET scheduler_dispatch = bus"), Err("42501".into()));
    done(&mut ann, "SET priority = 4");
    assert_eq!(run(&mut ann, "SET priority = 5"), Err("42501".into()));
    assert_eq!(run(&mut ann, "SELECT set_config('priority', '5', false)"), Err("42501".into()));
    assert_eq!(run(&mut ann, "BEGIN; SET LOCAL priority = 5"), Err("42501".into()));
    done(&mut ann, "ROLLBACK");
    assert_eq!(run(&mut ann, "ALTER ROLE ann SET priority = 9"), Err("42501".into()));
    // As when she logs in: what her role says is hers, what she asks for besides is not.
    let mut ann = session_of(&database, "ann");
    assert_eq!(
        ann.configure("priority", "5").map_err(|e| e.state().to_string()),
        Err("42501".into())
    );
    ann.configure("priority", "4").expect("her role's");
    ann.keep_settings();
    done(&mut ann, "SET priority = 2");
    done(&mut ann, "RESET priority");
    assert_eq!(run(&mut ann, "SHOW priority"), Ok("4".into()));
}

/// Runs a query that takes long, and `look` beside it until that is content.
fn beside(database: &Database, look: &mut dyn FnMut() -> bool) -> Result<String, String> {
    let mut session = database.session();
    let cancel = session.cancel_handle();
    std::thread::scope(|scope| {
        let query = scope.spawn(move || {
            done(&mut session, "SET priority = 3");
            run(&mut session, "SELECT count(*) FROM t a JOIN t b ON a.i % 50 = b.i % 50")
        });
        let begin = Instant::now();
        while !look() {
            assert!(begin.elapsed() < Duration::from_secs(120), "it is never content");
            std::thread::yield_now();
        }
        cancel.cancel();
        query.join().expect("no panic")
    })
}

fn with_rows() -> Database {
    let database =
        Database::open_in_memory(Config { threads: 2, ..Config::default() }).expect("it opens");
    let mut session = database.session();
    done(&mut session, "CREATE TABLE t AS SELECT i FROM generate_series(1, 400000) AS g(i)");
    database
}

#[test]
fn operators_of_running_queries_are_seen() {
    let database = with_rows();
    let mut other = database.session();
    let mut shown = String::new();
    let outcome = beside(&database, &mut || {
        shown = run(
            &mut other,
            "SELECT operator, orders_done <= orders, measured_us >= 0, predicted_us >= 0,
                 (SELECT max(priority) FROM tessera_work_orders())
             FROM tessera_operators()
             WHERE state = 'running' AND orders_done > 0 AND operator LIKE 'Scan t%'
                 AND session_id <> pg_backend_pid()
             ORDER BY operator_id LIMIT 1",
        )
        .expect("a table");
        shown.ends_with("|t|t|t|3")
    });
    assert_eq!(outcome, Err("57014".into()));
    assert!(shown.starts_with("Scan t"), "{shown}");
    let left = "SELECT count(*) FROM tessera_operators() WHERE session_id <> pg_backend_pid()";
    assert_eq!(run(&mut other, left), Ok("0".into()));
}

#[test]
fn threads_come_and_go_under_running_queries() {
    let database = with_rows();
    let mut other = database.session();
    let mut counts = [4, 1, 3, 2].into_iter();
    let outcome = beside(&database, &mut || {
        let running =
            run(&mut other, "SELECT coalesce(max(running), 0) FROM tessera_work_orders()");
        if running == Ok("0".into()) {
            return false;
        }
        match counts.next() {
            Some(count) => {
                done(&mut other, &format!("SET threads = {count}"));
                assert_eq!(run(&mut other, "SHOW threads"), Ok(count.to_string()));
                let sum = run(&mut other, "SELECT sum(i) FROM t WHERE i % 7 = 3");
                assert_eq!(sum, Ok("11428600000".into()));
                false
            }
            None => true,
        }
    });
    assert_eq!(outcome, Err("57014".into()));
    assert_eq!(run(&mut other, "SELECT count(*), sum(i) FROM t"), Ok("400000|80000200000".into()));
}
