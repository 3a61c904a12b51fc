//! Rows 121 to 123: messages that are taken back.

use std::thread;

use crate::semantics::{BusError, Cancellable, ClientId, SendOptions, Spare, Token};

use super::stand::{Stack, all, bodies, keys, receivers, send, sender, to, to_each, token};

fn tied<'a>(a: ClientId, receivers: &'a [ClientId], body: &[u8]) -> SendOptions<'a> {
    SendOptions { cancellable: Cancellable::Yes, ..to_each(a, receivers, body) }
}

/// Cancel by the sender: not received later.
pub fn row_121_cancel_by_sender(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    let [b, c] = receivers(&*bus);
    let first = token(&send(&*bus, &tied(a, &[b, c], b"first")));
    send(&*bus, &to_each(a, &[b, c], b"for good"));
    let second = token(&send(&*bus, &tied(a, &[c], b"second")));
    assert_eq!(bus.cancel(a, &[first, second], Spare::Nobody), Ok(3));
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    assert_eq!(bodies(&*bus, b), [b"for good"]);
    assert_eq!(bodies(&*bus, c), [b"for good"]);
}

/// Cancel by a receiver: its peers lose the message, its own copy goes or stays as it says; a
/// stranger may not.
pub fn row_122_cancel_by_receiver(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    let [b, c, stranger] = receivers(&*bus);
    send(&*bus, &tied(a, &[b, c], b"whole"));
    send(&*bus, &tied(a, &[b, c], b"spared"));
    let found = all(&*bus, b);
    let of = |i: usize| -> Token { found[i].token().expect("cancellable") };
    let refused = bus.cancel(stranger, &[of(0)], Spare::Nobody);
    assert_eq!(refused, Err(BusError::TokenOfOthers(stranger)));
    assert_eq!(all(&*bus, c).len(), 2);
    assert_eq!(bus.cancel(b, &[of(0)], Spare::Nobody), Ok(2));
    assert_eq!(bus.cancel(b, &[of(1)], Spare::Caller), Ok(1));
    assert!(all(&*bus, c).is_empty());
    // It crashes at work: what it spared comes back, what it gave up does not.
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    assert_eq!(bodies(&*bus, b), [b"spared"]);
    assert_eq!(bus.delete(b, &keys(&all(&*bus, b))), Ok(1));
    // Two servers that begin at once: one cancel finds the other's copy gone; nobody is refused.
    let both = token(&send(&*bus, &tied(a, &[b, c], b"race")));
    let removed: usize = thread::scope(|scope| {
        let cancel = |client| bus.cancel(client, std::slice::from_ref(&both), Spare::Caller);
        let threads = [b, c].map(|client| scope.spawn(move || cancel(client).expect("cancels")));
        threads.into_iter().map(|thread| thread.join().expect("ends")).sum()
    });
    assert_eq!(removed, 2, "each took the other's copy");
    assert!(all(&*bus, b).is_empty() && all(&*bus, c).is_empty());
}

/// Cancel is idempotent: twice, after a delete, after a receiver left.
pub fn row_123_cancel_is_idempotent(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    let [b, c] = receivers(&*bus);
    let first = token(&send(&*bus, &tied(a, &[b, c], b"x")));
    let twice = [first.clone(), first.clone()];
    assert_eq!(bus.cancel(a, &twice, Spare::Nobody), Ok(2));
    assert_eq!(bus.cancel(a, &twice, Spare::Nobody), Ok(0));
    assert_eq!(bus.cancel(b, &[first], Spare::Nobody), Ok(0));
    let second = token(&send(&*bus, &tied(a, &[b, c], b"x")));
    bus.delete(b, &keys(&all(&*bus, b))).expect("deletes");
    bus.disconnect(c).expect("disconnects");
    assert_eq!(bus.cancel(a, &[second], Spare::Nobody), Ok(0));
    assert_eq!(bus.cancel(a, &[], Spare::Nobody), Ok(0));
    let last =
        token(&send(&*bus, &SendOptions { cancellable: Cancellable::Yes, ..to(a, &[b], b"x") }));
    assert_eq!(bus.cancel(a, &[last], Spare::Nobody), Ok(1));
    assert_eq!(bus.cancel(c, &[], Spare::Nobody), Err(BusError::NotConnected(c)));
}
