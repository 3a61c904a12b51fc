//! A queue as a balanced tree: what receives and deletes of whole prefixes want.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;

use super::{Entry, Found, Queue, Want};
use crate::semantics::QueueKey;

/// A balanced tree of messages.
#[derive(Debug, Default)]
pub struct Tree(BTreeMap<QueueKey, Entry>);

impl Queue for Tree {
    fn push(&mut self, entry: Entry) {
        if let Place::Vacant(place) = self.0.entry(entry.message.key) {
            place.insert(entry);
        }
    }

    fn first(&mut self, want: &Want) -> Found {
        let mut found = Found::default();
        found.messages.reserve(want.limit.min(self.0.len()));
        let mut expired = Vec::new();
        for (key, entry) in &self.0 {
            if found.messages.len() == want.limit || key.priority < want.priority_min {
                break;
            }
            if key.is_expired(want.now) {
                expired.push(*key);
            } else {
                found.add(entry);
            }
        }
        for key in expired {
            self.0.remove(&key);
        }
        found
    }

    fn remove(&mut self, key: &QueueKey) -> bool {
        self.0.remove(key).is_some()
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.0.values()
    }
}
