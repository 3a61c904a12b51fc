//! Rows 107 to 115: what a receiver gets, and what stays.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use crate::semantics::{
    Address, Bus, BusError, ClientId, Delivery, Interrupt, Priority, Receipt, ReceiveOptions,
    SendOptions, Wait,
};

use super::stand::{OTHER, Stack, all, keys, number, receiver, send, sender, to};

/// Long enough for anything that is not lost.
const PATIENCE: Duration = Duration::from_secs(60);

fn next(client: ClientId) -> ReceiveOptions<'static> {
    ReceiveOptions { wait: Wait::AtMost(PATIENCE), ..ReceiveOptions::next(client) }
}

/// Blocking receive: wakes on a push, loses no wake-up, ends by time and by interrupt.
pub fn row_107_blocking_receive(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    let soon = ReceiveOptions { wait: Wait::AtMost(Duration::from_millis(20)), ..next(b) };
    let begin = Instant::now();
    assert_eq!(bus.receive(&soon), Err(BusError::Timeout));
    assert!(begin.elapsed() >= Duration::from_millis(20), "it did not wait");
    // One message at a time goes back and forth: one lost wake-up and it stands still.
    bus.register_sender(b, OTHER).expect("registers");
    bus.register_receiver(a, OTHER).expect("registers");
    let rounds = stack.effort().of(2000);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..rounds {
                let found = bus.receive(&next(b)).expect("nothing is lost");
                assert_eq!(number(&found[0]), round as u64);
                assert_eq!(bus.delete(b, &keys(&found)), Ok(1));
                send(&*bus, &SendOptions::new(b, OTHER, Address::Any, &*found[0].body));
            }
        });
        for round in 0..rounds as u64 {
            send(&*bus, &to(a, &[b], &round.to_le_bytes()));
            let options = ReceiveOptions { receipt: Receipt::Delete, ..next(a) };
            let found = bus.receive(&options).expect("nothing is lost");
            assert_eq!((found.len(), number(&found[0])), (1, round));
        }
    });
    interrupts(&*bus, b);
}

/// A wait ends when its interrupt is triggered, before or after it begins, and when its client
/// leaves.
fn interrupts(bus: &dyn Bus, b: ClientId) {
    let interrupt = Interrupt::default();
    let options = ReceiveOptions { interrupt: Some(&interrupt), ..next(b) };
    thread::scope(|scope| {
        let waiting = scope.spawn(|| bus.receive(&options));
        interrupt.trigger();
        assert_eq!(waiting.join().expect("ends"), Err(BusError::Interrupted));
        assert_eq!(bus.receive(&options), Err(BusError::Interrupted));
        let waiting = scope.spawn(|| bus.receive(&next(b)));
        bus.disconnect(b).expect("disconnects");
        assert_eq!(waiting.join().expect("ends"), Err(BusError::NotConnected(b)));
    });
}

/// Non-blocking receive: returns at once.
pub fn row_108_non_blocking_receive(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    assert_eq!(bus.receive(&ReceiveOptions::new(b)), Ok(Vec::new()));
    send(&*bus, &to(a, &[b], b"x"));
    assert_eq!(all(&*bus, b).len(), 1);
    assert!(all(&*bus, a).is_empty());
}

/// Batch and limit: no more than the limit, from the front on.
pub fn row_109_batch_and_limit(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    for i in 0..10_u64 {
        send(&*bus, &to(a, &[b], &i.to_le_bytes()));
    }
    for limit in [1, 3, 10, 11, usize::MAX] {
        let options = ReceiveOptions { limit, ..ReceiveOptions::new(b) };
        let found = bus.receive(&options).expect("receives");
        let numbers: Vec<u64> = found.iter().map(number).collect();
        assert_eq!(numbers, (0..limit.min(10) as u64).collect::<Vec<_>>());
    }
    let none = ReceiveOptions { limit: 0, ..ReceiveOptions::new(b) };
    assert_eq!(bus.receive(&none).expect("receives").len(), 1, "0 counts as 1");
}

/// Minimum priority: only messages that qualify are returned, and wake.
pub fn row_110_minimum_priority(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    let push = |priority| {
        let priority = Priority(priority);
        send(&*bus, &SendOptions { priority, ..to(a, &[b], b"x") });
    };
    for priority in [0, 5, 4, 9] {
        push(priority);
    }
    let at_least = |priority_min| ReceiveOptions { priority_min, ..ReceiveOptions::new(b) };
    let priorities = |options| {
        let found = bus.receive(&options).expect("receives");
        found.iter().map(|message| message.key.priority.0).collect::<Vec<_>>()
    };
    assert_eq!(priorities(at_least(Priority(5))), [9, 5]);
    assert_eq!(priorities(at_least(Priority(10))), [0_i32; 0]);
    let urgent = ReceiveOptions { priority_min: Priority(10), ..next(b) };
    let soon = ReceiveOptions { wait: Wait::AtMost(Duration::from_millis(10)), ..urgent };
    assert_eq!(bus.receive(&soon), Err(BusError::Timeout));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| bus.receive(&urgent).expect("is woken"));
        push(7);
        push(10);
        let found = waiting.join().expect("ends");
        assert_eq!(found[0].key.priority, Priority(10));
    });
}

/// Receive leaves messages: a second one returns the same, also as others come.
pub fn row_111_receive_leaves_messages(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    send(&*bus, &to(a, &[b], b"1"));
    send(&*bus, &to(a, &[b], b"2"));
    let first = all(&*bus, b);
    assert_eq!(all(&*bus, b), first);
    send(&*bus, &to(a, &[b], b"3"));
    let more = all(&*bus, b);
    assert_eq!((&more[..2], more.len()), (&first[..], 3));
    if let Ok(bus) = stack.crash(bus) {
        assert_eq!(all(&*bus, b), more);
    }
}

/// Delete: one or many go, others stay, what is not there is no error.
pub fn row_112_delete(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    let c = receiver(&*bus);
    for i in 0..6_u64 {
        send(
            &*bus,
            &SendOptions { copies: crate::Copies::Each, ..to(a, &[b, c], &i.to_le_bytes()) },
        );
    }
    let keys = keys(&all(&*bus, b));
    assert_eq!(bus.delete(b, &keys[2..3]), Ok(1));
    assert_eq!(bus.delete(b, &[keys[0], keys[2], keys[5]]), Ok(2));
    assert_eq!(bus.delete(b, &keys[2..3]), Ok(0));
    assert_eq!(bus.delete(b, &[]), Ok(0));
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    assert_eq!(all(&*bus, b).iter().map(number).collect::<Vec<_>>(), [1, 3, 4]);
    assert_eq!(all(&*bus, c).len(), 6, "a copy is not another");
    assert_eq!(bus.delete(b, &keys), Ok(3));
    assert!(all(&*bus, b).is_empty());
}

/// Delete on receipt: gone at once, the rest stays.
pub fn row_113_delete_on_receipt(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    for i in 0..5_u64 {
        send(&*bus, &to(a, &[b], &i.to_le_bytes()));
    }
    let take = ReceiveOptions { limit: 2, receipt: Receipt::Delete, ..ReceiveOptions::new(b) };
    let numbers = |found: Vec<Delivery>| found.iter().map(number).collect::<Vec<_>>();
    assert_eq!(numbers(bus.receive(&take).expect("receives")), [0, 1]);
    assert_eq!(numbers(bus.receive(&take).expect("receives")), [2, 3]);
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    assert_eq!(numbers(bus.receive(&take).expect("receives")), [4]);
    assert!(all(&*bus, b).is_empty());
}

/// At least once: a client that dies before it deletes gets the message again.
pub fn row_114_at_least_once(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    let count = stack.effort().of(500) as u64;
    for i in 0..count {
        send(&*bus, &to(a, &[b], &i.to_le_bytes()));
    }
    let batch = ReceiveOptions { limit: 10, ..ReceiveOptions::new(b) };
    let mut done = Vec::new();
    let mut bus = bus;
    for round in 0.. {
        let found = bus.receive(&batch).expect("receives");
        if found.is_empty() {
            break;
        }
        // Every third time it dies at work, and its replacement begins again.
        if round % 3 == 0 {
            bus = stack.crash(bus).unwrap_or_else(|same| same);
            assert_eq!(bus.receive(&batch), Ok(found));
            continue;
        }
        done.extend(found.iter().map(number));
        bus.delete(b, &keys(&found)).expect("deletes");
    }
    assert_eq!(done, (0..count).collect::<Vec<_>>(), "0 lost");
}

/// Exactly once, as a recipe: the application remembers the ids of requests that it did.
pub fn row_115_exactly_once_recipe(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (client, server) = (sender(&*bus), receiver(&*bus));
    bus.register_receiver(client, OTHER).expect("registers");
    bus.register_sender(server, OTHER).expect("registers");
    let count = stack.effort().of(200) as u64;
    for request in 0..count {
        send(&*bus, &to(client, &[server], &request.to_le_bytes()));
    }
    for round in 0.. {
        let found = bus.receive(&next_now(server)).expect("receives");
        let Some(request) = found.first() else { break };
        let back = Address::Clients(std::slice::from_ref(&client));
        send(&*bus, &SendOptions::new(server, OTHER, back, &*request.body));
        // Half of the time it dies between response and delete.
        if round % 2 == 1 {
            bus.delete(server, &keys(&found)).expect("deletes");
        }
    }
    let responses = all(&*bus, client);
    assert!(responses.len() as u64 > count, "nothing was done twice: the test tests nothing");
    let mut answers = BTreeMap::new();
    for response in &responses {
        answers.entry(number(response)).or_insert(response.key);
    }
    assert_eq!(answers.into_keys().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
}

fn next_now(client: ClientId) -> ReceiveOptions<'static> {
    ReceiveOptions { wait: Wait::No, ..next(client) }
}
