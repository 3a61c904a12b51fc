//! Transactions that are open, by number, and how many of them begin at which base.

use std::collections::BTreeMap;

use super::{NodeId, Ticket};

/// All of them. The lowest base is at hand, however many there are.
#[derive(Debug, Default)]
pub(super) struct Open {
    owners: BTreeMap<Ticket, (NodeId, u64)>,
    bases: BTreeMap<u64, usize>,
}

impl Open {
    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Adds a transaction of `node` whose snapshot has this base; one that is there stays.
    pub(super) fn insert(&mut self, ticket: Ticket, node: NodeId, base: u64) {
        if self.owners.contains_key(&ticket) {
            return;
        }
        self.owners.insert(ticket, (node, base));
        *self.bases.entry(base).or_default() += 1;
    }

    /// Takes a transaction out; true when it was there.
    pub(super) fn remove(&mut self, ticket: Ticket) -> bool {
        let Some((_, base)) = self.owners.remove(&ticket) else { return false };
        if let Some(count) = self.bases.get_mut(&base) {
            *count -= 1;
            if *count == 0 {
                self.bases.remove(&base);
            }
        }
        true
    }

    pub(super) fn has(&self, ticket: Ticket) -> bool {
        self.owners.contains_key(&ticket)
    }

    pub(super) fn owner(&self, ticket: Ticket) -> Option<NodeId> {
        self.owners.get(&ticket).map(|owner| owner.0)
    }

    /// Transactions of some nodes.
    pub(super) fn of(&self, is_theirs: impl Fn(NodeId) -> bool) -> impl Iterator<Item = Ticket> {
        let owned = self.owners.iter().filter(move |(_, owner)| is_theirs(owner.0));
        owned.map(|(ticket, _)| *ticket)
    }

    /// Smallest base of all.
    pub(super) fn lowest_base(&self) -> Option<u64> {
        self.bases.first_key_value().map(|(base, _)| *base)
    }
}
