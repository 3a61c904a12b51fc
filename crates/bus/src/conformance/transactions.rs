//! Rows 124 and 125: calls happen whole, as if alone, for good; and queues can be looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use crate::semantics::{Bus, Cancellable, ClientId, Deadline, MessageId, SendOptions, Spare};

use super::stand::{Stack, TYPE, all, keys, receivers, send, sender, to, to_each, token};

/// Each call is a transaction: broadcasts are sent and taken back by threads, with crashes in
/// between; whoever looks finds each broadcast in all queues or in none.
pub fn row_124_each_call_is_a_transaction(stack: &mut dyn Stack) {
    let mut bus = stack.start();
    let senders: [ClientId; 3] = [(); 3].map(|()| sender(&*bus));
    let group: [ClientId; 3] = receivers(&*bus);
    let each = stack.effort().of(400);
    let mut kept = BTreeSet::new();
    for _ in 0..3 {
        let outcomes: Vec<(MessageId, Fate)> = thread::scope(|scope| {
            let threads = senders.map(|a| {
                let bus = &*bus;
                scope.spawn(move || (0..each).map(|i| mix(bus, a, &group, i)).collect::<Vec<_>>())
            });
            for _ in 0..each / 8 {
                assert_whole(&*bus, &group);
            }
            threads.into_iter().flat_map(|thread| thread.join().expect("ends")).collect()
        });
        kept.extend(outcomes.iter().filter(|(_, fate)| *fate == Fate::Kept).map(|(id, _)| *id));
        bus = stack.crash(bus).unwrap_or_else(|same| same);
        for member in group {
            let found: BTreeSet<_> = all(&*bus, member).iter().map(|m| m.key.id).collect();
            assert_eq!(found, kept, "what was acknowledged is there, what was taken back is not");
        }
    }
}

/// Fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Cancelled,
}

/// One broadcast, which every second time is taken back.
fn mix(bus: &dyn Bus, a: ClientId, group: &[ClientId], i: usize) -> (MessageId, Fate) {
    let options = SendOptions { cancellable: Cancellable::Yes, ..to_each(a, group, b"x") };
    let sent = send(bus, &options);
    if i.is_multiple_of(2) {
        return (sent.id, Fate::Kept);
    }
    assert_eq!(bus.cancel(a, &[token(&sent)], Spare::Nobody), Ok(group.len()));
    (sent.id, Fate::Cancelled)
}

/// A message that is in one queue was in those looked at before, unless it came or went between
/// the looks: what the first and a second look at one queue both have, the others have, too.
fn assert_whole(bus: &dyn Bus, group: &[ClientId; 3]) {
    let look = |member| all(bus, member).iter().map(|m| m.key.id).collect::<BTreeSet<_>>();
    let before = look(group[0]);
    let others = [look(group[1]), look(group[2])];
    let after = look(group[0]);
    for id in before.intersection(&after) {
        assert!(others.iter().all(|other| other.contains(id)), "{id:?} is in a part of the queues");
    }
}

/// Queues can be queried: who is there, what they may do, what waits, without a receive.
pub fn row_125_queryable_queues(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    let [b, c] = receivers(&*bus);
    send(&*bus, &to_each(a, &[b, c], b"12345"));
    send(&*bus, &to(a, &[b], b"678"));
    let deadline = Deadline::After(Duration::from_secs(1));
    send(&*bus, &SendOptions { deadline, ..to(a, &[b], b"expires") });
    let counts = || -> BTreeMap<ClientId, (usize, u64)> {
        let infos = bus.clients().expect("lists");
        assert!(infos.is_sorted_by_key(|info| info.client));
        infos.iter().map(|info| (info.client, (info.messages, info.body_bytes))).collect()
    };
    assert_eq!(counts(), BTreeMap::from([(a, (0, 0)), (b, (3, 15)), (c, (1, 5))]));
    stack.clock().advance(Duration::from_secs(2));
    assert_eq!(counts(), BTreeMap::from([(a, (0, 0)), (b, (2, 8)), (c, (1, 5))]));
    let infos = bus.clients().expect("lists");
    assert_eq!((&infos[0].sends[..], &infos[1].receives[..]), (&[TYPE][..], &[TYPE][..]));
    let peeked = bus.peek(b).expect("peeks");
    assert_eq!(peeked, all(&*bus, b), "a look changes nothing and shows what comes");
    assert_eq!(bus.delete(b, &keys(&peeked)), Ok(2));
    assert_eq!(counts()[&b], (0, 0));
}
