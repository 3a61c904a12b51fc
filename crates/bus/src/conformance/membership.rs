//! Rows 94 to 97 and 126: who is on the bus.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use crate::semantics::{Address, BusError, ClientId, Deadline, MessageType, SendOptions};

use super::stand::{OTHER, Stack, TYPE, all, bodies, keys, receiver, send, sender, to};

/// Connect: ids are unique, among threads and across a crash.
pub fn row_094_connect(stack: &mut dyn Stack) {
    let bus = stack.start();
    let each = stack.effort().of(400);
    let mut ids: BTreeSet<ClientId> = thread::scope(|scope| {
        let connect = || (0..each).map(|_| bus.connect().expect("connects")).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(connect)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("ends")).collect()
    });
    assert_eq!(ids.len(), 4 * each);
    assert_eq!(bus.clients().expect("lists").len(), 4 * each);
    if let Ok(bus) = stack.crash(bus) {
        let found: BTreeSet<ClientId> =
            bus.clients().expect("lists").iter().map(|info| info.client).collect();
        assert_eq!(found, ids, "clients are durable");
        assert!(ids.insert(bus.connect().expect("connects")), "an id was given twice");
    }
}

/// Disconnect: later calls of and to the client fail, its messages are gone, its id stays unused.
pub fn row_095_disconnect(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    let sent = send(&*bus, &to(a, &[b], b"lost"));
    let keys = keys(&all(&*bus, b));
    assert_eq!(keys[0].id, sent.id);
    bus.disconnect(b).expect("disconnects");
    let gone = || BusError::NotConnected(b);
    assert_eq!(bus.disconnect(b), Err(gone()));
    assert_eq!(bus.disconnect_if_empty(b), Err(gone()));
    assert_eq!(bus.register_sender(b, TYPE), Err(gone()));
    assert_eq!(bus.register_receiver(b, TYPE), Err(gone()));
    assert_eq!(bus.peek(b), Err(gone()));
    assert_eq!(bus.delete(b, &keys), Err(gone()));
    assert_eq!(bus.send(&to(a, &[b], b"")), Err(BusError::ReceiverNotConnected(b)));
    assert_eq!(bus.send(&to(b, &[a], b"")), Err(BusError::SenderNotConnected(b)));
    let implicit = SendOptions::new(a, TYPE, Address::Any, *b"");
    assert_eq!(bus.send(&implicit), Err(BusError::NoReceivers(TYPE)));
    let next = bus.connect().expect("connects");
    assert!(next != a && next != b, "an id was given twice");
    if let Ok(bus) = stack.crash(bus) {
        assert_eq!(bus.peek(b), Err(gone()), "a disconnect is durable");
        assert_eq!(bus.clients().expect("lists").len(), 2);
    }
}

/// Conditional disconnect: only without messages; expired ones do not count.
pub fn row_096_conditional_disconnect(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    send(&*bus, &to(a, &[b], b"stays"));
    assert_eq!(bus.disconnect_if_empty(b), Err(BusError::QueueNotEmpty(b)));
    assert_eq!(bodies(&*bus, b), [b"stays"]);
    bus.delete(b, &keys(&all(&*bus, b))).expect("deletes");
    let deadline = Deadline::After(Duration::from_secs(1));
    send(&*bus, &SendOptions { deadline, ..to(a, &[b], b"short-lived") });
    assert_eq!(bus.disconnect_if_empty(b), Err(BusError::QueueNotEmpty(b)));
    stack.clock().advance(Duration::from_secs(2));
    bus.disconnect_if_empty(b).expect("nothing is left");
    assert_eq!(bus.peek(b), Err(BusError::NotConnected(b)));
}

/// Registering: many types each, a second time changes nothing, durable.
pub fn row_097_register(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    for message_type in (0..50).chain(20..30).map(MessageType) {
        bus.register_sender(a, message_type).expect("registers");
        bus.register_receiver(b, message_type).expect("registers");
    }
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    let infos = bus.clients().expect("lists");
    let types: Vec<MessageType> = (0..50).map(MessageType).collect();
    assert_eq!((&infos[0].sends, &infos[0].receives), (&types, &Vec::new()));
    assert_eq!((&infos[1].sends, &infos[1].receives), (&Vec::new(), &types));
    for message_type in types {
        send(&*bus, &SendOptions::new(a, message_type, Address::Clients(&[b]), *b"x"));
        send(&*bus, &SendOptions::new(a, message_type, Address::Any, *b"x"));
    }
    assert_eq!(all(&*bus, b).len(), 100, "a type that is registered twice counts once");
}

/// A client that fails is kept: others go on sending, and it goes on with its id.
pub fn row_126_failed_client_is_retained(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    bus.register_sender(b, OTHER).expect("registers");
    bus.register_receiver(a, OTHER).expect("registers");
    send(&*bus, &SendOptions::new(b, OTHER, Address::Clients(&[a]), *b"from the dead"));
    // It received and ends without a word.
    thread::scope(|scope| scope.spawn(|| drop(all(&*bus, b))).join()).expect("ends");
    send(&*bus, &to(a, &[b], b"for later"));
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    assert_eq!(bodies(&*bus, a), [b"from the dead"]);
    let found = all(&*bus, b);
    assert_eq!(&*found[0].body, b"for later");
    assert_eq!(bus.delete(b, &keys(&found)), Ok(1));
    send(&*bus, &SendOptions::new(b, OTHER, Address::Clients(&[a]), *b"it is back"));
    assert_eq!(all(&*bus, a).len(), 2);
}
