//! Numbers with meanings, and the order of queues.

use std::cmp::{Ordering, Reverse};
use std::fmt;
use std::time::Duration;

/// A client of one bus, for good: ids of clients that left are not given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// A message of one bus. Larger ones were sent later: between two messages that meet in a queue,
/// and between all of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// Subject of a message, as the application numbers it; a topic where messages go to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageType(pub u32);

/// Urgency of a message: higher ones are received first. The default is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub i32);

/// A moment: microseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// Later than any moment.
    pub const NEVER: Self = Self(i64::MAX);

    /// The moment `later`, or [`Self::NEVER`].
    #[must_use]
    pub fn after(self, later: Duration) -> Self {
        let micros = i64::try_from(later.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }
}

/// Place of a message in the queues that hold it: highest priority first, then the earliest
/// deadline, those without one last, then the order of sending. Names the message, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueKey {
    /// Urgency.
    pub priority: Priority,
    /// When the message stops being worth receiving, [`Time::NEVER`] for most.
    pub deadline: Time,
    /// The message.
    pub id: MessageId,
}

#[cfg(all(test, any(feature = "kv", feature = "zookeeper")))]
impl QueueKey {
    /// Keys of the least and the greatest values and of those around zero, in no order.
    pub(crate) fn around_the_ends() -> Vec<Self> {
        let mut keys = Vec::new();
        for priority in [1, i32::MIN, -1, 0, i32::MAX] {
            for deadline in [1, i64::MIN, -1, 0, i64::MAX] {
                for id in [256, 0, 1, 255, u64::MAX] {
                    let (priority, deadline) = (Priority(priority), Time(deadline));
                    keys.push(Self { priority, deadline, id: MessageId(id) });
                }
            }
        }
        keys
    }
}

impl QueueKey {
    /// True when the message is not received any more.
    pub fn is_expired(&self, now: Time) -> bool {
        self.deadline != Time::NEVER && self.deadline <= now
    }
}

impl Ord for QueueKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |key: &Self| (Reverse(key.priority), key.deadline, key.id);
        order(self).cmp(&order(other))
    }
}

impl PartialOrd for QueueKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}", self.0)
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message type {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(priority: i32, deadline: i64, id: u64) -> QueueKey {
        QueueKey { priority: Priority(priority), deadline: Time(deadline), id: MessageId(id) }
    }

    #[test]
    fn the_order_is_priority_then_deadline_then_sending() {
        let never = Time::NEVER.0;
        let ordered = [
            key(i32::MAX, never, 9),
            key(1, 5, 8),
            key(1, 6, 1),
            key(1, never, 2),
            key(1, never, 3),
            key(0, 1, 4),
            key(i32::MIN, 0, 0),
        ];
        assert!(ordered.is_sorted());
    }
}
