//! Receives that wait: cancelled, ended by a lease, shared by many sessions; queues in a backup.

use std::collections::BTreeSet;
use std::thread;

use engine::{Config, Database, Session};
use testkit::Scratch;
use types::SqlState;

fn cells(session: &mut Session, sql: &str) -> Vec<String> {
    let result = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    result.text_rows().into_iter().flatten().flatten().collect()
}

fn config() -> Config {
    Config { threads: 2, memory_bytes: 1 << 30, ..Config::default() }
}

fn database() -> Database {
    with_clients(Database::open_in_memory(config()).expect("it opens"))
}

/// Registers a sender and a receiver.
fn with_clients(database: Database) -> Database {
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

/// Messages that wait, that somebody has a lease of, that are to come later, and that are archived:
/// all are in the copy, which goes on from there.
#[test]
fn a_backup_has_the_queues() {
    let scratch = Scratch::new("bus-backup");
    let database =
        with_clients(Database::open(scratch.join("db"), config()).expect("a new database"));
    let mut session = database.session();
    for sql in [
        "SELECT bus_register_receiver('worker', 1, max_receipts => 5)",
        "SELECT bus_send('shop', 1, 'done')",
        "SELECT * FROM bus_receive('worker', delete => 'archive')",
        "SELECT bus_send('shop', 1, 'leased'), bus_send('shop', 1, 'urgent', priority => 7)",
        "SELECT * FROM bus_receive('worker', min_priority => 7, lease => '1 h')",
        "SELECT bus_send('shop', 1, 'later', delay => '1 h', cancellable => true)",
        "SELECT bus_send('shop', 1, 'last', expires => '1 day')",
    ] {
        cells(&mut session, sql);
    }
    let copy = scratch.join("copy");
    cells(&mut session, &format!("BACKUP TO '{}'", copy.display()));
    cells(&mut session, "SELECT bus_send('shop', 1, 'after the backup')");
    drop(session);
    let copy = Database::open(copy, config()).expect("the copy opens");
    let (mut here, mut there) = (database.session(), copy.session());
    for sql in [
        "SELECT * FROM bus_clients ORDER BY client",
        "SELECT * FROM bus_messages WHERE message < 6 ORDER BY message",
        "SELECT * FROM bus_archived ORDER BY message",
        "SELECT * FROM bus.receiver ORDER BY client, type",
    ] {
        let (ours, theirs) = (cells(&mut here, sql), cells(&mut there, sql));
        assert!(!theirs.is_empty(), "{sql}");
        assert_eq!(theirs, ours, "{sql}");
    }
    let receive = "SELECT text FROM bus_receive('worker', max => 9, delete => true)";
    assert_eq!(cells(&mut there, receive), ["last", "leased"]);
    assert_eq!(cells(&mut there, "SELECT bus_extend('worker', 3, '2 h')"), ["1"]);
    assert_eq!(cells(&mut there, "SELECT bus_cancel('shop', 4)"), ["1"]);
    assert_eq!(cells(&mut there, "SELECT bus_send('shop', 1, 'new')"), ["6"]);
    assert_eq!(cells(&mut here, receive), ["last", "leased", "after the backup"]);
}
