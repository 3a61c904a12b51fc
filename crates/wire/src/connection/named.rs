//! Objects that a connection keeps by names that its client gives.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Things by name. The one with the empty name, which most clients use most of the time, is not
/// searched for.
pub(super) struct Named<T> {
    unnamed: Option<T>,
    named: HashMap<String, T, RandomState>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { unnamed: None, named: HashMap::default() }
    }
}

impl<T> Named<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        match name {
            "" => self.unnamed.as_ref(),
            name => self.named.get(name),
        }
    }

    /// Replaces what had the name.
    pub(super) fn insert(&mut self, name: &str, thing: T) {
        match name {
            "" => self.unnamed = Some(thing),
            name => drop(self.named.insert(name.to_owned(), thing)),
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        match name {
            "" => self.unnamed.take(),
            name => self.named.remove(name),
        }
    }

    pub(super) fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }

    /// How many have a name.
    pub(super) fn count(&self) -> usize {
        self.named.len()
    }
}
