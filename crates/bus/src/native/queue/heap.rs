//! A queue as a binary heap: cheap pushes; looks at more than the first message cost a second,
//! small heap, and removed entries stay until they come up.
//!
//! ```text
//! entries: a heap, parents before children;  live: ids of those that were not removed
//! ```
//! Invariant: `live` has exactly the entries that were pushed and not removed; once they are fewer
//! than half, the heap is built anew of them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::{Entry, Found, Queue, Want};
use crate::semantics::{MessageId, QueueKey};

/// Removed entries that are left to come up by themselves.
const DEAD_MIN: usize = 32;

/// A binary heap of messages.
#[derive(Debug, Default)]
pub struct Heap {
    entries: Vec<Entry>,
    live: HashSet<MessageId, foldhash::fast::RandomState>,
}

impl Heap {
    fn key(&self, i: usize) -> QueueKey {
        self.entries[i].message.key
    }

    fn rise(&mut self, mut i: usize) {
        while i > 0 && self.key(i) < self.key((i - 1) / 2) {
            self.entries.swap(i, (i - 1) / 2);
            i = (i - 1) / 2;
        }
    }

    fn sink(&mut self, mut i: usize) {
        loop {
            let children = 2 * i + 1..(2 * i + 3).min(self.entries.len());
            match children.min_by_key(|child| self.key(*child)) {
                Some(child) if self.key(child) < self.key(i) => {
                    self.entries.swap(i, child);
                    i = child;
                }
                _ => return,
            }
        }
    }

    /// Removes dead entries from the top, and everywhere once they are most.
    fn tidy(&mut self) {
        while self.entries.first().is_some_and(|top| !self.live.contains(&top.message.key.id)) {
            self.entries.swap_remove(0);
            self.sink(0);
        }
        if self.entries.len() > 2 * self.live.len() + DEAD_MIN {
            let live = &self.live;
            self.entries.retain(|entry| live.contains(&entry.message.key.id));
            (0..self.entries.len() / 2).rev().for_each(|i| self.sink(i));
        }
    }
}

impl Queue for Heap {
    fn push(&mut self, entry: Entry) {
        if self.live.insert(entry.message.key.id) {
            self.entries.push(entry);
            self.rise(self.entries.len() - 1);
        }
    }

    fn first(&mut self, want: &Want) -> Found {
        let mut found = Found::default();
        let mut expired = Vec::new();
        // The places whose parents were looked at, the first of them on top.
        let mut next: BinaryHeap<Reverse<(QueueKey, usize)>> = BinaryHeap::new();
        next.extend(self.entries.first().map(|top| Reverse((top.message.key, 0))));
        while let Some(Reverse((key, i))) = next.pop() {
            if found.messages.len() == want.limit || key.priority < want.priority_min {
                break;
            }
            if self.live.contains(&key.id) {
                if key.is_expired(want.now) {
                    expired.push(key.id);
                } else {
                    found.add(&self.entries[i]);
                }
            }
            let children = 2 * i + 1..(2 * i + 3).min(self.entries.len());
            next.extend(children.map(|child| Reverse((self.key(child), child))));
        }
        for id in expired {
            self.live.remove(&id);
        }
        self.tidy();
        found
    }

    fn remove(&mut self, key: &QueueKey) -> bool {
        let is_there = self.live.remove(&key.id);
        self.tidy();
        is_there
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| self.live.contains(&entry.message.key.id))
    }
}
