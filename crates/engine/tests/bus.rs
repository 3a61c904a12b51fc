//! Receives that wait: cancelled, ended by a lease, shared by many sessions.

use std::collections::BTreeSet;
use std::thread;

use engine::{Config, Database, Session};
use types::SqlState;

fn cells(session: &mut Session, sql: &str) -> Vec<String> {
    let result = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    result.text_rows().into_iter().flatten().flatten().collect()
}

fn database() -> Database {
    let config = Config { threads: 2, memory_bytes: 1 << 30, ..Config::default() };
    let database = Database::open_in_memory(config).expect("it opens");
    let mut session = database.session();
    for sql in [
        "SELECT bus_connect('shop'), bus_connect('worker')",
        "SELECT bus_register_sender('shop', 1), bus_register_receiver('worker', 1)",
    ] {
        cells(&mut session, sql);
    }
    database
}

/// Waits until a session waits for messages.
fn until_one_waits(database: &Database) {
    let sql = "SELECT count(*) FROM tessera_sessions() WHERE state = 'waiting'";
    let mut session = database.session();
    while cells(&mut session, sql) != ["1"] {
        thread::yield_now();
    }
}

#[test]
fn a_receive_that_waits_can_be_cancelled() {
    let database = database();
    let mut waits = database.session();
    let cancel = waits.cancel_handle();
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let outcome = waits.execute("SELECT * FROM bus_receive('worker', timeout => '1 day')");
            outcome.map(drop).map_err(|error| error.state())
        });
        until_one_waits(&database);
        cancel.cancel();
        assert_eq!(waits.join().expect("no panic"), Err(SqlState::QUERY_CANCELED));
    });
    // It listens no more, and the session goes on.
    let mut session = database.session();
    cells(&mut session, "SELECT bus_send('shop', 1, 'x')");
    let found = cells(&mut waits, "SELECT text FROM bus_receive('worker')");
    assert_eq!(found, ["x"]);
}

#[test]
fn a_receive_waits_for_the_end_of_a_lease_and_of_a_delay() {
    let database = database();
    let mut session = database.session();
    cells(&mut session, "SELECT bus_send('shop', 1, 'job')");
    cells(&mut session, "SELECT * FROM bus_receive('worker', lease => '50 ms')");
    let sql = "SELECT text, receipts FROM bus_receive('worker', lease => '1 h', timeout => '1 d')";
    assert_eq!(cells(&mut session, sql), ["job", "2"]);
    cells(&mut session, "SELECT bus_send('shop', 1, 'later', delay => '50 ms')");
    assert_eq!(cells(&mut session, sql), ["later", "1"]);
    // Nobody has anything to give back: the time limit ends it.
    let sql = "SELECT count(*) FROM bus_receive('worker', timeout => '20 ms')";
    assert_eq!(cells(&mut session, sql), ["0"]);
}

#[test]
fn many_receivers_of_one_client_take_each_message_once() {
    const WORKERS: usize = 4;
    const MESSAGES: usize = 120;
    let database = database();
    let taken: Vec<String> = thread::scope(|scope| {
        let work = || {
            let mut session = database.session();
            let mut taken = Vec::new();
            loop {
                cells(&mut session, "BEGIN ISOLATION LEVEL READ COMMITTED");
                let sql =
                    "SELECT text FROM bus_receive('worker', delete => true, timeout => '1 d')";
                let found = cells(&mut session, sql);
                // Every seventh attempt fails.
                let fails = taken.len() % 7 == 6 && !found.contains(&"end".to_owned());
                let end = if fails { "ROLLBACK" } else { "COMMIT" };
                cells(&mut session, end);
                if found == ["end"] {
                    return taken;
                }
                let marked = found.into_iter().map(|text| if fails { String::new() } else { text });
                taken.extend(marked);
            }
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let mut session = database.session();
        for number in 0..MESSAGES {
            cells(&mut session, &format!("SELECT bus_send('shop', 1, 'm{number}')"));
        }
        for _ in 0..WORKERS {
            cells(&mut session, "SELECT bus_send('shop', 1, 'end', priority => -1)");
        }
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    let taken: Vec<String> = taken.into_iter().filter(|text| !text.is_empty()).collect();
    let distinct: BTreeSet<&String> = taken.iter().collect();
    assert_eq!((taken.len(), distinct.len()), (MESSAGES, MESSAGES));
    let mut session = database.session();
    assert_eq!(cells(&mut session, "SELECT count(*) FROM bus.message"), ["0"]);
}
