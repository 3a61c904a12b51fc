//! Rows 116 to 120: which message comes before which, and who gets one at all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::semantics::{
    Address, Bus, ClientId, Copies, Deadline, Delivery, MessageId, Priority, Receipt,
    ReceiveOptions, SendOptions, Time, Wait,
};

use super::stand::{Stack, TYPE, all, bodies, number, receiver, receivers, send, sender, to};

/// Priority: highest first, any number of levels.
pub fn row_116_priority(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    let levels = [0, i32::MIN, 7, -1, i32::MAX, 7, 0];
    for (i, priority) in levels.into_iter().enumerate() {
        let priority = Priority(priority);
        send(&*bus, &SendOptions { priority, ..to(a, &[b], &(i as u64).to_le_bytes()) });
    }
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    assert_eq!(all(&*bus, b).iter().map(number).collect::<Vec<_>>(), [4, 2, 5, 0, 6, 3, 1]);
}

/// Deadlines: expired messages do not come, earlier ones come first, those without last.
pub fn row_117_deadline(stack: &mut dyn Stack) {
    let bus = stack.start();
    let (a, b) = (sender(&*bus), receiver(&*bus));
    let clock = stack.clock().clone();
    let push = |deadline, body: &[u8]| {
        send(&*bus, &SendOptions { deadline, ..to(a, &[b], body) });
    };
    push(Deadline::Never, b"never");
    push(Deadline::After(Duration::from_secs(20)), b"20 s");
    push(Deadline::After(Duration::from_secs(10)), b"10 s");
    push(Deadline::At(Time(host::Clock::micros(&clock) + 15_000_000)), b"15 s");
    push(Deadline::At(Time(host::Clock::micros(&clock))), b"now");
    push(Deadline::After(Duration::from_secs(10)), b"10 s, too");
    push(Deadline::At(Time(-1)), b"long ago");
    let expected: [&[u8]; 5] = [b"10 s", b"10 s, too", b"15 s", b"20 s", b"never"];
    assert_eq!(bodies(&*bus, b), expected);
    clock.advance(Duration::from_secs(10) - Duration::from_micros(1));
    assert_eq!(bodies(&*bus, b), expected);
    clock.advance(Duration::from_micros(1));
    assert_eq!(bodies(&*bus, b), expected[2..]);
    let take = ReceiveOptions { limit: 1, receipt: Receipt::Delete, ..ReceiveOptions::new(b) };
    clock.advance(Duration::from_secs(5));
    assert_eq!(&*bus.receive(&take).expect("receives")[0].body, expected[3]);
    let bus = stack.crash(bus).unwrap_or_else(|same| same);
    assert_eq!(bodies(&*bus, b), expected[4..]);
}

/// Equals come in the order of sending, for each sender: no inversion among many senders.
pub fn row_118_fifo_among_equals(stack: &mut dyn Stack) {
    let bus = stack.start();
    let senders: Vec<ClientId> = (0..4).map(|_| sender(&*bus)).collect();
    let b = receiver(&*bus);
    let each = stack.effort().of(25_000) as u64;
    let next: BTreeMap<ClientId, u64> = thread::scope(|scope| {
        for a in &senders {
            scope.spawn(|| {
                for i in 0..each {
                    send(&*bus, &to(*a, &[b], &i.to_le_bytes()));
                }
            });
        }
        drain(
            &*bus,
            b,
            each as usize * senders.len(),
            |next: &mut BTreeMap<ClientId, u64>, message| {
                let expected = next.entry(message.sender).or_default();
                assert_eq!(number(message), *expected, "{} was overtaken", message.sender);
                *expected += 1;
            },
        )
    });
    assert!(senders.iter().all(|a| next[a] == each));
}

/// Receives and deletes until `count` messages came.
fn drain<T: Default>(
    bus: &dyn Bus,
    client: ClientId,
    count: usize,
    mut each: impl FnMut(&mut T, &Delivery),
) -> T {
    let mut state = T::default();
    let mut left = count;
    let wait = Wait::AtMost(Duration::from_secs(60));
    let receipt = Receipt::Delete;
    while left > 0 {
        let options = ReceiveOptions { limit: 100, wait, receipt, ..ReceiveOptions::new(client) };
        let found = bus.receive(&options).expect("nothing is lost");
        found.iter().for_each(|message| each(&mut state, message));
        left -= found.len();
    }
    state
}

/// Absolute order: each member of a group gets broadcasts of many senders in the same order, which
/// is that of ids.
pub fn row_119_absolute_order(stack: &mut dyn Stack) {
    let bus = stack.start();
    let senders: Vec<ClientId> = (0..3).map(|_| sender(&*bus)).collect();
    let group: [ClientId; 3] = receivers(&*bus);
    let each = stack.effort().of(3000);
    let orders: Vec<Vec<MessageId>> = thread::scope(|scope| {
        for a in &senders {
            scope.spawn(|| {
                for _ in 0..each {
                    let any = SendOptions::new(*a, TYPE, Address::Any, *b"x");
                    send(&*bus, &SendOptions { copies: Copies::Each, ..any });
                }
            });
        }
        let members = group.map(|member| {
            let note = |order: &mut Vec<MessageId>, message: &Delivery| order.push(message.key.id);
            let (bus, count) = (&*bus, each * senders.len());
            scope.spawn(move || drain(bus, member, count, note))
        });
        members.into_iter().map(|member| member.join().expect("ends")).collect()
    });
    assert!(orders.iter().all(|order| *order == orders[0]), "members saw different orders");
    assert!(orders[0].is_sorted(), "the order is not that of the ids");
}

/// Virtual synchrony: while clients come and go, a broadcast reaches all who are members before
/// and after it, and the members agree on its order.
pub fn row_120_virtual_synchrony(stack: &mut dyn Stack) {
    let bus = stack.start();
    let a = sender(&*bus);
    let stay: [ClientId; 2] = receivers(&*bus);
    let rounds = stack.effort().of(1500);
    let is_over = AtomicBool::new(false);
    let (sent, seen) = thread::scope(|scope| {
        let come_and_go = || {
            let mut seen = Vec::new();
            while !is_over.load(Ordering::Acquire) {
                let member = receiver(&*bus);
                let wait = Wait::AtMost(Duration::from_millis(2));
                let options = ReceiveOptions { wait, ..ReceiveOptions::new(member) };
                if bus.receive(&options).is_ok() {
                    seen.push(ids(&all(&*bus, member)));
                }
                bus.disconnect(member).expect("disconnects");
            }
            seen
        };
        let visitors: Vec<_> = (0..2).map(|_| scope.spawn(come_and_go)).collect();
        let any = SendOptions::new(a, TYPE, Address::Any, *b"x");
        let broadcast = SendOptions { copies: Copies::Each, ..any };
        let sent: Vec<MessageId> = (0..rounds).map(|_| send(&*bus, &broadcast).id).collect();
        is_over.store(true, Ordering::Release);
        let seen = visitors.into_iter().flat_map(|visitor| visitor.join().expect("ends"));
        (sent, seen.collect::<Vec<_>>())
    });
    for member in stay {
        assert_eq!(ids(&all(&*bus, member)), sent, "a broadcast was partial");
    }
    for part in seen {
        let from = sent.partition_point(|id| *id < part[0]);
        assert_eq!(part, sent[from..from + part.len()], "a member missed a broadcast in between");
    }
}

fn ids(messages: &[Delivery]) -> Vec<MessageId> {
    messages.iter().map(|message| message.key.id).collect()
}
