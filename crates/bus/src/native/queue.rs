//! The messages of one client, in order.

mod tree;
mod heap;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use wal::Lsn;

use crate::semantics::{Delivery, Priority, QueueKey, Time};

pub use heap::Heap;
pub use tree::Tree;

/// A copy of a message in a queue.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(super) message: Delivery,
    /// Behind its record in the log: what shows it waits until that is durable.
    pub(super) lsn: Lsn,
}

/// Which messages a look at a queue is for.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    pub(super) limit: usize,
    pub(super) priority_min: Priority,
    pub(super) now: Time,
}

/// Messages that one look found.
#[derive(Debug, Default)]
pub struct Found {
    pub(super) messages: Vec<Delivery>,
    /// The newest place in the log of any of them.
    pub(super) lsn: Lsn,
}

impl Found {
    fn add(&mut self, entry: &Entry) {
        self.messages.push(Delivery::clone(&entry.message));
        self.lsn = self.lsn.max(entry.lsn);
    }
}

/// A queue in the order of [`QueueKey`].
pub trait Queue: Default + Debug + Send + 'static {
    /// Adds an entry; one of the same key stays as it is.
    fn push(&mut self, entry: Entry);

    /// The first entries that are wanted, in order. Expired ones that it meets are thrown away.
    fn first(&mut self, want: &Want) -> Found;

    /// Removes an entry; false if there is none.
    fn remove(&mut self, key: &QueueKey) -> bool;

    /// All entries, expired ones among them, in any order.
    fn entries(&self) -> impl Iterator<Item = &Entry>;
}
