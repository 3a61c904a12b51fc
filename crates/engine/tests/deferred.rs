//! Deferred foreign keys beyond SQL: after a restart, in backups, in native transactions, and the
//! memory of what waits.

mod support;

use engine::native::NativeOptions;
use engine::{Config, Database, Session};
use storage::Datum;
use support::{run, state};
use testkit::Scratch;
use types::SqlState;

const DEFINITIONS: &str = "SELECT conname || substr(pg_get_constraintdef(oid), 33) \
                           FROM pg_constraint WHERE contype = 'f' ORDER BY 1";

#[test]
fn definitions_outlive_a_restart_and_are_in_backups() {
    let scratch = Scratch::new("deferred");
    let place = scratch.join("db");
    let steps: [(&[&str], &[&str]); 3] = [
        (
            &[
                "CREATE TABLE p (id int PRIMARY KEY)",
                "CREATE TABLE c (a int REFERENCES p INITIALLY DEFERRED, b int REFERENCES p, \
                 c int REFERENCES p DEFERRABLE)",
            ],
            &["c_a_fkey DEFERRABLE INITIALLY DEFERRED", "c_b_fkey", "c_c_fkey DEFERRABLE"],
        ),
        (
            &[
                "CHECKPOINT",
                "ALTER TABLE c ALTER CONSTRAINT c_a_fkey",
                "ALTER TABLE c ALTER CONSTRAINT c_b_fkey INITIALLY DEFERRED",
            ],
            &["c_a_fkey", "c_b_fkey DEFERRABLE INITIALLY DEFERRED", "c_c_fkey DEFERRABLE"],
        ),
        (
            &["CHECKPOINT"],
            &["c_a_fkey", "c_b_fkey DEFERRABLE INITIALLY DEFERRED", "c_c_fkey DEFERRABLE"],
        ),
    ];
    for (number, (statements, expected)) in steps.into_iter().enumerate() {
        let copy = scratch.join(format!("copy{number}"));
        {
            let database = Database::open(&place, Config::default()).expect("a directory");
            let mut session = database.session();
            statements.iter().for_each(|sql| drop(run(&mut session, sql)));
            assert_eq!(run(&mut session, DEFINITIONS), expected);
            run(&mut session, &format!("BACKUP TO '{}'", copy.display()));
        }
        for place in [&place, &copy] {
            let database = Database::open(place, Config::default()).expect("it was closed");
            let mut session = database.session();
            assert_eq!(run(&mut session, DEFINITIONS), expected);
        }
    }
    let database = Database::open(&place, Config::default()).expect("it was closed");
    let mut session = database.session();
    run(&mut session, "BEGIN");
    run(&mut session, "INSERT INTO c VALUES (NULL, 5, NULL)");
    assert_eq!(state(&mut session, "COMMIT"), "23503");
    assert!(!session.in_transaction());
    run(&mut session, "BEGIN");
    run(&mut session, "INSERT INTO c VALUES (NULL, 5, NULL)");
    run(&mut session, "INSERT INTO p VALUES (5)");
    run(&mut session, "COMMIT");
    assert_eq!(run(&mut session, "SELECT count(*) FROM c"), ["1"]);
}

#[test]
fn native_transactions_wait_until_they_commit() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    run(&mut session, "CREATE TABLE p (id int PRIMARY KEY)");
    run(&mut session, "CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p INITIALLY DEFERRED)");
    let (p, c) = (database.handle("p").expect("a table"), database.handle("c").expect("a table"));
    let mut native = database.native();
    let row = |id, p| [Datum::I32(id), Datum::I32(p)];
    // The referenced row never comes.
    native.begin(NativeOptions::default()).expect("it begins");
    native.insert(&c, &row(1, 7)).expect("it is looked at later");
    let error = native.commit().expect_err("no row has the key");
    assert_eq!(error.state(), SqlState::FOREIGN_KEY_VIOLATION);
    assert_eq!(run(&mut session, "SELECT count(*) FROM c"), ["0"]);
    // It comes, and another row is corrected.
    native.begin(NativeOptions::default()).expect("it begins");
    native.insert(&c, &row(1, 7)).expect("it is looked at later");
    let tid = native.insert(&c, &row(2, 8)).expect("it is looked at later");
    native.update(&c, tid, &[(1, Datum::I32(7))]).expect("it is corrected");
    let parent = native.insert(&p, &[Datum::I32(7)]).expect("a new row");
    native.commit().expect("all keys are there");
    assert_eq!(run(&mut session, "SELECT id || '-' || p FROM c ORDER BY 1"), ["1-7", "2-7"]);
    // The referenced row goes.
    native.begin(NativeOptions::default()).expect("it begins");
    native.delete(&p, parent).expect("it is looked at later");
    let error = native.commit().expect_err("rows refer to it");
    assert_eq!(error.state(), SqlState::FOREIGN_KEY_VIOLATION);
    assert_eq!(run(&mut session, "SELECT count(*) FROM p"), ["1"]);
}

#[test]
fn what_waits_is_counted_once_a_key_and_given_back() {
    let database = Database::open_in_memory(Config::default()).expect("it opens");
    let mut session = database.session();
    let used = |session: &mut Session| {
        let sql = "SELECT sum(bytes) FROM tessera_memory() WHERE category = 'temporary'";
        run(session, sql)[0].parse::<u64>().expect("a number")
    };
    run(&mut session, "CREATE TABLE p (id int PRIMARY KEY)");
    run(&mut session, "CREATE TABLE c (p int REFERENCES p INITIALLY DEFERRED)");
    let before = used(&mut session);
    run(&mut session, "BEGIN");
    run(&mut session, "INSERT INTO c SELECT 1 FROM generate_series(1, 10000)");
    let one = used(&mut session) - before;
    assert!(one > 0 && one < 1000, "{one} bytes for one key");
    run(&mut session, "INSERT INTO c SELECT g FROM generate_series(1, 10000) AS t(g)");
    let many = used(&mut session) - before;
    assert!(many > 9999 * 32, "{many} bytes for 10,000 keys");
    run(&mut session, "ROLLBACK");
    assert_eq!(used(&mut session), before);
}

/// Transactions that change both sides of a foreign key, in any order.
fn churn(session: &mut Session, seed: u64) -> (u32, u32) {
    let (mut state, mut done, mut refused) = (seed, 0, 0);
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..300 {
        let level = ["READ COMMITTED", "REPEATABLE READ"][random(2) as usize];
        let mut outcome = session.execute(&format!("BEGIN ISOLATION LEVEL {level}")).map(drop);
        for _ in 0..1 + random(3) {
            let (id, key) = (random(1 << 40), random(6));
            let sql = match random(7) {
                0 | 1 => format!("INSERT INTO c VALUES ({id}, {key})"),
                2 => format!("DELETE FROM p WHERE id = {key}"),
                3 => format!("INSERT INTO p VALUES ({key}) ON CONFLICT DO NOTHING"),
                4 => format!("DELETE FROM c WHERE p = {key}"),
                5 => format!("UPDATE c SET p = {} WHERE p = {key}", random(6)),
                _ => "SET CONSTRAINTS ALL IMMEDIATE".to_owned(),
            };
            outcome = outcome.and_then(|()| session.execute(&sql).map(drop));
        }
        match outcome.and_then(|()| session.execute("COMMIT").map(drop)) {
            Ok(()) => done += 1,
            Err(error) => {
                let state = error.state().to_string();
                let expected = ["23503", "40001", "40P01"];
                assert!(expected.contains(&state.as_str()), "{error}");
                refused += 1;
                if session.in_transaction() {
                    run(session, "ROLLBACK");
                }
            }
        }
    }
    (done, refused)
}

#[test]
fn no_row_is_left_that_refers_to_nothing() {
    for layout in ["row", "frozen"] {
        let database = Database::open_in_memory(Config::default()).expect("it opens");
        let mut session = database.session();
        let options = format!("WITH (layout = '{layout}')");
        run(&mut session, &format!("CREATE TABLE p (id int PRIMARY KEY) {options}"));
        run(
            &mut session,
            &format!("CREATE TABLE c (id bigint, p int REFERENCES p INITIALLY DEFERRED) {options}"),
        );
        run(&mut session, "INSERT INTO p SELECT * FROM generate_series(0, 5)");
        let counts: Vec<(u32, u32)> = std::thread::scope(|scope| {
            let start = |seed| {
                let mut session = database.session();
                scope.spawn(move || churn(&mut session, seed))
            };
            let threads: Vec<_> = [3, 5, 7, 11].map(start).into_iter().collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
        });
        for (done, refused) in counts {
            assert!(done > 0 && refused > 0, "{done} committed, {refused} refused");
        }
        let lost = "SELECT count(*) FROM c WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.id = c.p)";
        assert_eq!(run(&mut session, lost), ["0"], "{layout}");
    }
}
