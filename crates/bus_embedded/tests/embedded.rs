//! The bus in tables of a Tessera of this process passes the suite, alone and behind the native
//! bus, on the machine's disk and on one that forgets what was not synced; lives through random
//! histories beside the model; and is shared by all who open it.

#[macro_use]
#[path = "../../bus/tests/cached/mod.rs"]
mod cached;
#[path = "../../bus/tests/history/mod.rs"]
mod history;
mod directory;

use std::sync::Arc;

use bus::conformance::Stack as _;
use bus::{Address, Bus, BusError, MessageType, ReceiveOptions, SendOptions};
use cached::{Cached, Place as _, copies};
use directory::Directory;
use engine::{Config, Database};
use history::{Step, Twin, steps};
use host::{Clock as _, RealClock};
use proptest::prelude::*;
use types::SqlState;

bus::conformance!(Directory::on_disk());

behind_the_native_bus!(Directory::on_disk(), 8);

/// On a disk that forgets at a crash what was not synced.
mod on_a_disk_that_forgets {
    use super::*;
    bus::conformance!(Directory::simulated(29));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn histories(steps in proptest::collection::vec(steps(copies()), 1..80)) {
        let directory = Directory::on_disk();
        let mut twin = Twin::new(directory.clock().clone());
        for part in steps.chunks(20) {
            let bus = directory.open();
            part.iter().for_each(|step: &Step| _ = twin.step(&bus, step));
            twin.settle(&bus);
            drop(bus);
            directory.restart();
        }
        directory.assert_queues_are_whole();
    }
}

#[test]
fn beside_a_cache_others_only_look() {
    cached::others_only_look(Directory::on_disk());
}

/// Two values are what two parts of a program would have.
#[test]
fn a_receive_that_waits_hears_of_a_send_elsewhere() {
    cached::a_receive_hears_of_a_send_elsewhere(&Directory::on_disk());
}

/// Threads that call one after the other, over one value and over several: each message comes to
/// its receiver, once and in order.
#[test]
fn threads_share_a_database() {
    const MESSAGES: u64 = 40;
    let directory = Directory::on_disk();
    let shared = directory.open();
    std::thread::scope(|scope| {
        let pairs: Vec<_> = (0..4_u32)
            .map(|number| {
                let (shared, directory) = (&shared, &directory);
                scope.spawn(move || {
                    let own = directory.open();
                    let (send, receive): (&dyn Bus, &dyn Bus) =
                        if number % 2 == 0 { (shared, &own) } else { (&own, shared) };
                    let message_type = MessageType(number);
                    let [a, b] = [send.connect(), receive.connect()].map(|c| c.expect("connects"));
                    send.register_sender(a, message_type).expect("registers");
                    receive.register_receiver(b, message_type).expect("registers");
                    let messages = (0..MESSAGES).map(|number| {
                        let body = number.to_le_bytes();
                        send.send(&SendOptions::new(a, message_type, Address::Any, body))
                            .expect("sends");
                        let found = receive.receive(&ReceiveOptions::next(b)).expect("receives");
                        receive.delete(b, &[found[0].key]).expect("deletes");
                        found[0].body.to_vec()
                    });
                    messages.collect::<Vec<_>>()
                })
            })
            .collect();
        let expected: Vec<Vec<u8>> =
            (0..MESSAGES).map(|number| number.to_le_bytes().to_vec()).collect();
        for pair in pairs {
            assert_eq!(pair.join().expect("ends"), expected);
        }
    });
    directory.assert_queues_are_whole();
}

/// The queues are rows that any statement of the program sees, at a commit of the bus.
#[test]
fn statements_see_the_queues() {
    let directory = Directory::on_disk();
    let cached = Cached(directory);
    let bus = cached.open();
    let [a, b] = cached::pair(&bus);
    bus.send(&cached::message(a)).expect("sends");
    let mut session = cached.0.session();
    let rows = session
        .execute(
            "SELECT q.receiver, m.sender, m.body FROM queues.queued_message q
             JOIN queues.message m ON m.id = q.message",
        )
        .expect("reads");
    let expected = [Some(b.0.to_string()), Some(a.0.to_string()), Some("\\x78".to_owned())];
    assert_eq!(rows.text_rows(), [expected]);
}

#[test]
fn names_of_schemas_are_plain_and_not_that_of_bus_send() {
    let database = Database::open_in_memory(Config::default()).expect("opens");
    for name in ["", "Bus", "a b", "a\";--", "bus"] {
        let refused = bus_embedded::open(&database, name, Arc::new(RealClock));
        let error = refused.map(drop).expect_err("refused");
        assert!(matches!(&error, BusError::Storage(e) if e.state() == SqlState::INVALID_NAME));
    }
    let before = RealClock.micros();
    let bus = bus_embedded::open(&database, "queues", Arc::new(RealClock)).expect("opens");
    bus.connect().expect("connects");
    assert!(bus.clients().expect("lists")[0].connected.0 >= before);
}
