//! Tree and heap against a sorted list.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::semantics::{ClientId, Message, MessageId, MessageType};

#[derive(Clone, Debug)]
enum Step {
    Push(i32, Option<i64>),
    Look(usize, i32),
    Remove(usize),
    Later(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (-2..3, proptest::option::of(0_i64..60)).prop_map(|(p, d)| Step::Push(p, d)),
        2 => (1_usize..9, -2..3).prop_map(|(limit, min)| Step::Look(limit, min)),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => (1_i64..4).prop_map(Step::Later),
    ];
    proptest::collection::vec(step, 0..400)
}

fn entry(priority: i32, deadline: Option<i64>, id: u64) -> Entry {
    let deadline = deadline.map_or(Time::NEVER, Time);
    let key = QueueKey { priority: Priority(priority), deadline, id: MessageId(id) };
    let message = Message {
        key,
        sender: ClientId(1),
        sent: Time(0),
        message_type: MessageType(0),
        body: Arc::from([]),
        receivers: None,
    };
    Entry { message: Arc::new(message), lsn: Lsn(id) }
}

fn run<Q: Queue>(steps: &[Step]) {
    let (mut queue, mut list) = (Q::default(), Vec::<QueueKey>::new());
    let mut now = Time(0);
    for (id, step) in (1..).zip(steps) {
        match *step {
            Step::Push(priority, deadline) => {
                let entry = entry(priority, deadline, id);
                list.push(entry.message.key);
                list.sort();
                queue.push(entry.clone());
                queue.push(entry);
            }
            Step::Look(limit, priority_min) => {
                let want = Want { limit, priority_min: Priority(priority_min), now };
                let found: Vec<_> = queue.first(&want).messages.iter().map(|m| m.key).collect();
                let wanted =
                    list.iter().filter(|k| !k.is_expired(now) && k.priority >= want.priority_min);
                assert_eq!(found, wanted.take(limit).copied().collect::<Vec<_>>());
            }
            Step::Remove(which) if !list.is_empty() => {
                let key = list.remove(which % list.len());
                assert!(queue.remove(&key) || key.is_expired(now));
                assert!(!queue.remove(&key));
            }
            Step::Remove(_) => {}
            Step::Later(by) => now = Time(now.0 + by),
        }
        let mut there: Vec<_> = queue.entries().map(|entry| entry.message.key).collect();
        there.retain(|key| !key.is_expired(now));
        there.sort();
        let expected: Vec<_> = list.iter().filter(|k| !k.is_expired(now)).copied().collect();
        assert_eq!(there, expected);
    }
}

proptest! {
    #[test]
    fn a_tree_is_a_queue(steps in steps()) {
        run::<Tree>(&steps);
    }

    #[test]
    fn a_heap_is_a_queue(steps in steps()) {
        run::<Heap>(&steps);
    }
}
