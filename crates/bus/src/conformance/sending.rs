//! Rows 98 to 106: who may send what to whom.

use std::sync::Arc;
use std::time::Duration;

use crate::semantics::{
    Address, Bus, BusError, Cancellable, ClientId, Copies, Deadline, Priority, SendOptions, Time,
};

use super::stand::{
    OTHER, Stack, TYPE, all, bodies, keys, receiver, receivers, send, sender, to, to_each, token,
};

/// Sender check: an error code, and nothing enqueued.
pub fn row_098_sender_check(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    bus.register_receiver(b, OTHER).expect("registers");
    let one = [b];
    let other = SendOptions { message_type: OTHER, ..to(a, &one, b"x") };
    assert_eq!(bus.send(&other), Err(BusError::SenderNotRegistered(a, OTHER)));
    assert_eq!(bus.send(&to(b, &[b], b"x")), Err(BusError::SenderNotRegistered(b, TYPE)));
    let stranger = ClientId(u64::MAX >> 1);
    assert_eq!(bus.send(&to(stranger, &[b], b"x")), Err(BusError::SenderNotConnected(stranger)));
    assert!(all(&*bus, b).is_empty());
}

/// Receiver check: one explicit receiver that is invalid, and none of the others gets it.
pub fn row_099_receiver_check(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    let [b, c, gone] = receivers(&*bus);
    let deaf = bus.connect().expect("connects");
    bus.disconnect(gone).expect("disconnects");
    for copies in [Copies::One, Copies::Each] {
        let refused = |receivers: &[ClientId]| {
            bus.send(&SendOptions { copies, ..to(a, receivers, b"x") }).expect_err("invalid")
        };
        assert_eq!(refused(&[b, gone, c]), BusError::ReceiverNotConnected(gone));
        assert_eq!(refused(&[b, c, deaf]), BusError::ReceiverNotRegistered(deaf, TYPE));
        assert_eq!(refused(&[deaf, gone]), BusError::ReceiverNotRegistered(deaf, TYPE));
        assert_eq!(refused(&[deaf]), BusError::ReceiverNotRegistered(deaf, TYPE));
    }
    for client in [b, c, deaf] {
        assert!(all(&*bus, client).is_empty(), "{client} got what was refused");
    }
}

/// Explicit unicast and multicast: a list of ids, each once.
pub fn row_100_explicit_addresses(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    let [b, c, d] = receivers(&*bus);
    assert_eq!(send(&*bus, &to(a, &[b], b"one")).copies, 1);
    assert_eq!(send(&*bus, &to_each(a, &[c, b], b"two")).copies, 2);
    assert_eq!(send(&*bus, &to_each(a, &[c, c, c], b"once")).copies, 1);
    assert_eq!(bodies(&*bus, b), [b"one", b"two"]);
    assert_eq!(bodies(&*bus, c), [&b"two"[..], b"once"]);
    assert!(all(&*bus, d).is_empty());
    // A client may write to itself.
    bus.register_receiver(a, TYPE).expect("registers");
    send(&*bus, &to_each(a, &[a, d], b"self"));
    assert_eq!(
        (bodies(&*bus, a), bodies(&*bus, d)),
        (vec![b"self".to_vec()], vec![b"self".to_vec()])
    );
}

/// Explicit, not broadcast: exactly one of the list.
pub fn row_101_explicit_non_broadcast(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    let [b, c, d] = receivers(&*bus);
    assert_exactly_one(&*bus, &to(a, &[b, c], b"x"), &[b, c], stack.effort().of(200));
    assert!(all(&*bus, d).is_empty());
}

/// Implicit unicast: any one that can.
pub fn row_102_implicit_unicast(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    let [b, c, d] = receivers(&*bus);
    let deaf = bus.connect().expect("connects");
    let any = SendOptions::new(a, TYPE, Address::Any, *b"x");
    assert_exactly_one(&*bus, &any, &[b, c, d], stack.effort().of(200));
    assert!(all(&*bus, deaf).is_empty());
}

fn assert_exactly_one(bus: &dyn Bus, options: &SendOptions<'_>, among: &[ClientId], times: usize) {
    let mut ids = Vec::new();
    for _ in 0..times {
        let sent = send(bus, options);
        assert_eq!(sent.copies, 1);
        ids.push(sent.id);
    }
    let held = among.iter().flat_map(|client| all(bus, *client));
    let mut found: Vec<_> = held.map(|message| message.key.id).collect();
    found.sort_unstable();
    assert_eq!(found, ids, "each message is in exactly one queue");
}

/// Implicit broadcast: all that can, one copy each; that is publish-subscribe.
pub fn row_103_implicit_broadcast(stack: &mut dyn Stack) {
    let bus = stack.start();
    let publisher = sender(&*bus);
    let subscribers: [ClientId; 3] = receivers(&*bus);
    let deaf = bus.connect().expect("connects");
    let publish = |body: &[u8]| {
        let news = SendOptions::new(publisher, TYPE, Address::Any, body);
        send(&*bus, &SendOptions { copies: Copies::Each, ..news }).copies
    };
    assert_eq!(publish(b"first"), 3);
    let late = receiver(&*bus);
    bus.disconnect(subscribers[0]).expect("disconnects");
    assert_eq!(publish(b"second"), 3);
    for subscriber in &subscribers[1..] {
        assert_eq!(bodies(&*bus, *subscriber), [&b"first"[..], b"second"]);
    }
    assert_eq!(bodies(&*bus, late), [b"second"], "who comes late gets what comes later");
    assert!(all(&*bus, deaf).is_empty());
}

/// No receivers: a code of its own.
pub fn row_104_no_receivers(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    for copies in [Copies::One, Copies::Each] {
        let none = SendOptions { copies, ..SendOptions::new(a, TYPE, Address::Any, *b"x") };
        assert_eq!(bus.send(&none), Err(BusError::NoReceivers(TYPE)));
        let empty = SendOptions { copies, ..to(a, &[], b"x") };
        assert_eq!(bus.send(&empty), Err(BusError::NoReceivers(TYPE)));
    }
    let b = receiver(&*bus);
    send(&*bus, &SendOptions::new(a, TYPE, Address::Any, *b"x"));
    bus.disconnect(b).expect("disconnects");
    let none = SendOptions::new(a, TYPE, Address::Any, *b"x");
    assert_eq!(bus.send(&none), Err(BusError::NoReceivers(TYPE)));
}

/// Opaque messages: no bytes, all bytes, more than 100 MB.
pub fn row_105_opaque_messages(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    let every_byte: Vec<u8> = (0..=255).collect();
    let large: Arc<[u8]> = (0..stack.largest_body()).map(|i| (i ^ i >> 11) as u8).collect();
    send(&*bus, &to(a, &[b], b""));
    send(&*bus, &to(a, &[b], &every_byte));
    send(&*bus, &SendOptions::new(a, TYPE, Address::Clients(&[b]), Arc::clone(&large)));
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    let found = all(&*bus, b);
    assert_eq!((&*found[0].body, &*found[1].body), (&b""[..], &every_byte[..]));
    assert!(found[2].body == large, "a large body came back as another");
}

/// Metadata: sender, time, type, and what the sender asked for.
pub fn row_106_metadata(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    let clock = stack.clock().clone();
    let now = || Time(host::Clock::micros(&clock));
    let plain = send(&*bus, &to(a, &[b], b"plain"));
    clock.advance(Duration::from_secs(3));
    let one = [b];
    let options = SendOptions {
        priority: Priority(-5),
        deadline: Deadline::After(Duration::from_millis(1500)),
        cancellable: Cancellable::Yes,
        ..to(a, &one, b"rich")
    };
    let rich = send(&*bus, &options);
    assert_eq!((rich.sent, plain.sent.after(Duration::from_secs(3))), (now(), now()));
    assert!(plain.id < rich.id && plain.token.is_none());
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    let found = all(&*bus, b);
    for (message, sent) in found.iter().zip([&plain, &rich]) {
        assert_eq!((message.sender, message.message_type), (a, TYPE));
        assert_eq!(
            (message.sent, message.key.id, message.token()),
            (sent.sent, sent.id, sent.token.clone())
        );
    }
    assert_eq!((found[0].key.priority, found[0].key.deadline), (Priority(0), Time::NEVER));
    let deadline = now().after(Duration::from_millis(1500));
    assert_eq!((found[1].key.priority, found[1].key.deadline), (Priority(-5), deadline));
    assert_eq!(token(&rich).message(), rich.id);
    assert_eq!(bus.delete(b, &keys(&found)), Ok(2));
}
