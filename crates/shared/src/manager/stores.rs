//! Where keys are: the ring, and the move that is under way.
//!
//! ```text
//! found -> ring <- add, leave          no move, shares are not equal -> order: a move, copies
//! order -> a node copies -> switched: the ring is another one -> the node tells stores -> moved
//!            '- gives up, dies, or the manager starts again -> order of a larger attempt
//! ```
//! Invariants: one move at a time; an order is on disk before a node hears of it, and so is a ring;
//! of all orders the last one counts.
//! Elsewhere: what a node does with an order (`transport::moving`).

use transport::{Attempt, MoveOrder, Phase, Ring, StoreId};

use super::keep::{Keeper, Kept, Moving, Stores};
use super::{Manager, NodeId, Refusal, State};

impl<K: Keeper> Manager<K> {
    /// Where keys are.
    pub fn stores(&self) -> &Stores {
        &self.kept.stores
    }

    /// True when all stores have their shares, and none is to leave.
    pub fn is_settled(&self) -> bool {
        let Stores { ring, moving, .. } = &self.kept.stores;
        moving.is_none() && ring.as_ref().is_none_or(Ring::is_even)
    }

    fn keep_stores(&mut self, stores: Stores) -> Result<(), Refusal> {
        self.keep(Kept { stores, ..self.kept.clone() })
    }

    /// Hears from a node which stores it was told of: they are those of a new database. As long as
    /// no other one came or went, they may be elsewhere.
    ///
    /// # Errors
    /// [`Refusal::Impossible`] when nobody ever told of any.
    pub fn found(&mut self, node: NodeId, addresses: &[String]) -> Result<&Ring, Refusal> {
        self.admit(node)?;
        let known = &self.kept.stores;
        let ring = match &known.ring {
            None if addresses.is_empty() => return Err(Refusal::Impossible),
            None => Some(Ring::equal(addresses.to_vec())),
            Some(ring) => {
                let is_first = ring.version() == 1 && ring.stores().len() == addresses.len();
                Some(ring.at(addresses)).filter(|other| is_first && other != ring)
            }
        };
        if let Some(ring) = ring {
            let next_store = ring.stores().len() as u64;
            self.keep_stores(Stores { ring: Some(ring), next_store, ..known.clone() })?;
        }
        self.kept.stores.ring.as_ref().ok_or(Refusal::Impossible)
    }

    /// Takes a store in, which then gets its share of the keys; one that is there stays.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn add_store(&mut self, node: NodeId, address: &str) -> Result<(), Refusal> {
        self.admit(node)?;
        let known = &self.kept.stores;
        let ring = known.ring.as_ref().ok_or(Refusal::Impossible)?;
        let next_store = known.next_store + 1;
        let ring = Some(ring.with(StoreId(next_store), address));
        self.keep_stores(Stores { ring, next_store, ..known.clone() })
    }

    /// Has a store give its keys to the others, and go then.
    ///
    /// # Errors
    /// [`Refusal::Impossible`] when there is none of this address, or no other one stays.
    pub fn remove_store(&mut self, node: NodeId, address: &str) -> Result<(), Refusal> {
        self.admit(node)?;
        let mut next = self.kept.stores.clone();
        let ring = next.ring.as_ref().and_then(|ring| ring.leaving(address));
        let ring = ring.ok_or(Refusal::Impossible)?;
        let leaves = ring.stores().iter().find(|store| store.address == address);
        let leaves = leaves.map(|store| store.id);
        if let Some(moving) = &mut next.moving
            && moving.phase == Phase::Copies
            && Some(moving.what.target) == leaves
        {
            // It may be away for ever: the source keeps what it has.
            moving.phase = Phase::Cancelled;
            next.attempt.0 += 1;
            self.mover = None;
        }
        next.ring = Some(ring);
        self.keep_stores(next)
    }

    /// Work for `node`: the move that is under way, or the next one, unless another node has it.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn order(&mut self, node: NodeId) -> Result<Option<MoveOrder>, Refusal> {
        self.admit(node)?;
        let is_alive =
            |id: NodeId| self.members.get(&id).is_some_and(|member| member.state == State::Alive);
        let is_others = self.mover.is_some_and(|by| by != node && is_alive(by));
        // Also before it serves: whoever recovers a dead node may need keys that are on their way.
        if is_others {
            return Ok(None);
        }
        let Stores { ring: Some(ring), moving, attempt, .. } = &self.kept.stores else {
            return Ok(None);
        };
        let next = |what| Moving { what, phase: Phase::Copies };
        let moving = match moving {
            Some(moving) if self.mover == Some(node) => {
                return Ok(Some(order(*attempt, moving)));
            }
            Some(moving) => Some(*moving),
            None => ring.next_move(self.options.move_hashes).map(next),
        };
        let mut stores = self.kept.stores.clone();
        let Some(moving) = moving else {
            if let Some(ring) = ring.without_empty() {
                stores.ring = Some(ring);
                self.keep_stores(stores)?;
            }
            return Ok(None);
        };
        stores.moving = Some(moving);
        stores.attempt.0 += 1;
        let attempt = stores.attempt;
        self.keep_stores(stores)?;
        self.mover = Some(node);
        Ok(Some(order(attempt, &moving)))
    }

    /// The move that an order of `node` is about.
    fn ordered(&self, node: NodeId, attempt: Attempt) -> Result<Moving, Refusal> {
        self.admit(node)?;
        let counts = self.mover == Some(node) && self.kept.stores.attempt == attempt;
        self.kept.stores.moving.filter(|_| counts).ok_or(Refusal::Overtaken)
    }

    /// Hears that the target has all keys of the move, and the source refuses calls on them: from
    /// now on they are the target's.
    ///
    /// # Errors
    /// [`Refusal::Overtaken`] when the order is not the last one.
    pub fn switched(&mut self, node: NodeId, attempt: Attempt) -> Result<(), Refusal> {
        let moving = self.ordered(node, attempt)?;
        let mut stores = self.kept.stores.clone();
        match (moving.phase, &stores.ring) {
            (Phase::Switched, _) => return Ok(()),
            (Phase::Copies, Some(ring)) => stores.ring = Some(ring.moved(&moving.what)),
            _ => return Err(Refusal::Overtaken),
        }
        stores.moving = Some(Moving { phase: Phase::Switched, ..moving });
        self.keep_stores(stores)
    }

    /// Hears that the stores know of the end of a move; gives the node the next one.
    ///
    /// # Errors
    /// As [`Self::switched`].
    pub fn moved(&mut self, node: NodeId, attempt: Attempt) -> Result<Option<MoveOrder>, Refusal> {
        let moving = self.ordered(node, attempt)?;
        if moving.phase == Phase::Copies {
            return Err(Refusal::Overtaken);
        }
        self.keep_stores(Stores { moving: None, ..self.kept.stores.clone() })?;
        self.mover = None;
        self.order(node)
    }

    /// Hears that a node cannot carry an order out: another one may.
    ///
    /// # Errors
    /// As [`Self::switched`].
    pub fn gives_up(&mut self, node: NodeId, attempt: Attempt) -> Result<(), Refusal> {
        self.ordered(node, attempt)?;
        self.mover = None;
        Ok(())
    }
}

fn order(attempt: Attempt, moving: &Moving) -> MoveOrder {
    MoveOrder { attempt, what: moving.what, phase: moving.phase }
}
