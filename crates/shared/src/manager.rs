//! The commit manager: gives versions and snapshots out, and knows who runs what.
//!
//! ```text
//! versions   1 .. base     | base + 1 ..                 last |       .. limit
//!            all finished    finished, or open at a node        reserved on disk, not given yet
//! nodes      joined -> beats -> silent for the timeout: dead -> another one recovers -> gone
//! start      read what is on disk -> ask: each known node says in its beat what it has open;
//!            silent ones die, and are recovered -> whatever nobody has open is finished -> serve
//! ```
//! Invariants: no version is given twice, by no life of the manager; what a snapshot sees, all
//! later snapshots see; `lowest_active` never falls. A transaction that began is open until its
//! node finishes it, or another node has recovered it.
//! Elsewhere: where keys are (`stores`), calls as bytes (`service`), what nodes do (`node`).
//! Source: Pilman 2017, sections 7.4 to 7.6 and 7.7.1. Departures: nodes beat, so that the manager
//! calls nobody; readers take no version; a manager that starts again asks the nodes.

// Floors: lowest first.
mod keep;
mod open;
mod stores;
mod service;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use store::{Access, Snapshot, Version};
use transport::DatabaseId;
use types::codec::{Input, Malformed, put_u64};

use self::open::Open;
pub use keep::{FileKeeper, Keeper, Kept, Moving, Stores};
pub use service::{BeatAnswer, Beaten, Calls, ManagerService};

/// Number of a processing node: also the number of its sessions at stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

/// Number of a transaction at the manager: its version, or for readers a number above all versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Tickets of readers begin here.
const READERS: u64 = 1 << 63;

/// Kinds of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Reads the newest state, and writes.
    ReadWrite,
    /// Reads the newest state.
    ReadOnly,
    /// Reads a state that is a little older, without a bitmap.
    Analytical,
}

/// A transaction that began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its number.
    pub ticket: Ticket,
    /// Life of the manager that began it.
    pub life: u64,
    /// Versions that it sees, and the one that it writes.
    pub snapshot: Snapshot,
}

/// Work for a node: transactions of dead nodes to be rolled back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Nodes that stores have to refuse first.
    pub dead: Vec<NodeId>,
    /// Versions that may be half written.
    pub versions: Vec<Version>,
}

/// Why the manager did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The caller was declared dead.
    Dead,
    /// The manager asks its nodes first; call again.
    NotYet,
    /// Its disk does not work.
    Disk,
    /// No such store, or no other one that stays.
    Impossible,
    /// Another node has the order by now.
    Overtaken,
}

/// Choices for a manager.
#[derive(Clone, Copy, Debug)]
pub struct ManagerOptions {
    /// Versions that are reserved at a time.
    pub range: u64,
    /// Silence, in microseconds, after which a node is dead.
    pub timeout_us: i64,
    /// Hashes of keys that move from one store to another at a time, of 2^64.
    pub move_hashes: u128,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self { range: 1 << 16, timeout_us: 2_000_000, move_hashes: 1 << 58 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Alive,
    Dead,
    Recovering { by: NodeId },
}

#[derive(Debug)]
struct Member {
    state: State,
    heard_us: i64,
}

/// The manager's state. Knows no network; `now_us` comes from its caller.
pub struct Manager<K> {
    keeper: K,
    options: ManagerOptions,
    kept: Kept,
    last: u64,
    base: u64,
    /// Above `base`.
    finished: BTreeSet<u64>,
    open: Open,
    next_reader: u64,
    /// Never falls, whatever happens to `open`.
    lowest: u64,
    members: BTreeMap<NodeId, Member>,
    /// Nodes that have not said what they have open, and versions that were finished meanwhile;
    /// `None` once the manager serves.
    asking: Option<Asking>,
    /// Dead node that may have had any version of earlier lives open: others may be committed, so
    /// that nothing begins until it is recovered.
    suspect: Option<NodeId>,
    /// Node that moves keys.
    mover: Option<NodeId>,
}

#[derive(Debug, Default)]
struct Asking {
    waiting: BTreeSet<NodeId>,
    finished: BTreeSet<u64>,
}

impl<K: Keeper> Manager<K> {
    /// A new life of the manager whose state `keeper` has.
    ///
    /// # Errors
    /// Errors of the keeper.
    pub fn open(mut keeper: K, options: ManagerOptions, now_us: i64) -> types::Result<Self> {
        let mut kept = keeper.load()?.unwrap_or_default();
        kept.life += 1;
        keeper.keep(&kept)?;
        let member = |id: &NodeId| (*id, Member { state: State::Alive, heard_us: now_us });
        let mut manager = Self {
            keeper,
            options,
            last: kept.limit,
            base: kept.base,
            finished: BTreeSet::new(),
            open: Open::default(),
            next_reader: READERS,
            lowest: 0,
            members: kept.nodes.iter().map(member).collect(),
            asking: Some(Asking { waiting: kept.nodes.clone(), ..Asking::default() }),
            suspect: None,
            mover: None,
            kept,
        };
        manager.serve_if_asked();
        Ok(manager)
    }

    /// Number of this life, larger than those of all before.
    pub fn life(&self) -> u64 {
        self.kept.life
    }

    /// Number of the database; None before [`Self::draw`].
    pub fn database(&self) -> Option<DatabaseId> {
        self.kept.database
    }

    /// The number of the database: `drawn` where none was drawn before.
    ///
    /// # Errors
    /// [`Refusal::Disk`].
    pub fn draw(&mut self, drawn: DatabaseId) -> Result<DatabaseId, Refusal> {
        if let Some(known) = self.kept.database {
            return Ok(known);
        }
        self.keep(Kept { database: Some(drawn), ..self.kept.clone() })?;
        Ok(drawn)
    }

    /// True once all nodes were asked, and those that did not answer are recovered.
    pub fn is_serving(&self) -> bool {
        self.asking.is_none() && self.suspect.is_none()
    }

    /// All versions up to this one are finished.
    pub fn base(&self) -> Version {
        Version(self.base)
    }

    /// Transactions that are open.
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// A new node.
    ///
    /// # Errors
    /// [`Refusal::Disk`].
    pub fn join(&mut self, now_us: i64) -> Result<NodeId, Refusal> {
        let mut next = self.kept.clone();
        next.next_node += 1;
        let id = NodeId(next.next_node);
        next.nodes.insert(id);
        self.keep(next)?;
        self.members.insert(id, Member { state: State::Alive, heard_us: now_us });
        Ok(id)
    }

    /// Begins a transaction of `node`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn begin(&mut self, node: NodeId, class: Class) -> Result<Begun, Refusal> {
        self.admit(node)?;
        if !self.is_serving() {
            return Err(Refusal::NotYet);
        }
        if class == Class::ReadWrite && self.last == self.kept.limit {
            let limit = self.kept.limit + self.options.range;
            self.keep(Kept { limit, base: self.base, ..self.kept.clone() })?;
        }
        let base = self.base;
        let ticket = if class == Class::ReadWrite {
            self.last += 1;
            Ticket(self.last)
        } else {
            self.next_reader += 1;
            Ticket(self.next_reader)
        };
        self.open.insert(ticket, node, base);
        let (lowest, last) = (Version(self.lowest_active()), Version(self.last));
        let finished: Vec<Version> = self.finished.iter().map(|v| Version(*v)).collect();
        let base = Version(base);
        let snapshot = match class {
            Class::ReadWrite => Snapshot::read_write(lowest, base, last, &finished),
            Class::ReadOnly => Snapshot::read_only(lowest, base, last, &finished),
            Class::Analytical => Snapshot::analytical(lowest, base),
        };
        match snapshot {
            Ok(snapshot) => Ok(Begun { ticket, life: self.kept.life, snapshot }),
            // Too many versions above the base: somebody has been running for very long.
            Err(_) => {
                self.end(ticket);
                Err(Refusal::NotYet)
            }
        }
    }

    /// Begins a transaction of `node` that reads what `seen` sees, if all of that is committed, and
    /// nothing of it was collected; else None.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn begin_at(&mut self, node: NodeId, seen: &Snapshot) -> Result<Option<Begun>, Refusal> {
        self.admit(node)?;
        if !self.is_serving() {
            return Err(Refusal::NotYet);
        }
        let (lowest, base, version) = (self.lowest_active(), seen.base().0, seen.version().0);
        // Versions up to the base are finished without being noted.
        let is_finished = |v: &u64| *v <= self.base || self.finished.contains(v);
        let mut above = (base + 1..=version).filter(|v| seen.sees(Version(*v)));
        if base < lowest
            || base > self.base
            || version > self.last
            || !above.all(|v| is_finished(&v))
        {
            return Ok(None);
        }
        let bits = seen.bits().into();
        let snapshot = Snapshot::from_bits(
            Version(lowest),
            seen.base(),
            seen.version(),
            Access::ReadOnly,
            bits,
        );
        let Ok(snapshot) = snapshot else { return Ok(None) };
        self.next_reader += 1;
        let ticket = Ticket(self.next_reader);
        self.open.insert(ticket, node, base);
        Ok(Some(Begun { ticket, life: self.kept.life, snapshot }))
    }

    /// Ends a transaction, committed or rolled back; again, nothing happens.
    ///
    /// # Errors
    /// [`Refusal::Dead`].
    pub fn finish(&mut self, node: NodeId, ticket: Ticket) -> Result<(), Refusal> {
        self.admit(node)?;
        if let Some(asking) = &mut self.asking {
            asking.finished.insert(ticket.0);
        }
        if self.open.owner(ticket) == Some(node) {
            self.end(ticket);
        }
        Ok(())
    }

    /// Hears of a node, with what it had open when it knew of life `life`; may give it work. What
    /// it says of an earlier life is not all that it may have begun there.
    ///
    /// # Errors
    /// [`Refusal::Dead`].
    pub fn beat(
        &mut self,
        node: NodeId,
        life: u64,
        open: &[(Ticket, Version)],
        now_us: i64,
    ) -> Result<Option<Recovery>, Refusal> {
        self.tick(now_us);
        self.admit(node)?;
        if let Some(member) = self.members.get_mut(&node) {
            member.heard_us = now_us;
        }
        if let Some(asking) = &mut self.asking
            && life == self.kept.life
            && asking.waiting.remove(&node)
        {
            for (ticket, base) in open {
                if !asking.finished.contains(&ticket.0) {
                    self.open.insert(*ticket, node, base.0);
                    self.next_reader = self.next_reader.max(ticket.0 | READERS);
                }
            }
        }
        self.serve_if_asked();
        Ok(self.assign(node))
    }

    /// Hears that `by` has recovered `dead` nodes: their transactions are finished.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn recovered(&mut self, by: NodeId, dead: &[NodeId]) -> Result<(), Refusal> {
        self.admit(by)?;
        let is_mine =
            |id: &NodeId| self.members.get(id).is_some_and(|m| m.state == State::Recovering { by });
        let gone: Vec<NodeId> = dead.iter().copied().filter(is_mine).collect();
        let mut next = self.kept.clone();
        next.nodes.retain(|id| !gone.contains(id));
        self.keep(next)?;
        for id in gone {
            self.members.remove(&id);
            let tickets: Vec<Ticket> = self.open.of(|owner| owner == id).collect();
            tickets.into_iter().for_each(|ticket| self.end(ticket));
            if self.suspect == Some(id) {
                self.suspect = None;
            }
        }
        Ok(())
    }

    /// Takes a node without transactions out.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn leave(&mut self, node: NodeId) -> Result<(), Refusal> {
        self.admit(node)?;
        let has_open = self.open.of(|owner| owner == node).next().is_some();
        if has_open || self.asking.is_some() {
            return Err(Refusal::NotYet);
        }
        let mut next = self.kept.clone();
        next.nodes.remove(&node);
        self.keep(next)?;
        self.members.remove(&node);
        Ok(())
    }

    /// Declares silent nodes dead.
    pub fn tick(&mut self, now_us: i64) {
        for (id, member) in &mut self.members {
            if member.state == State::Alive && now_us - member.heard_us > self.options.timeout_us {
                member.state = State::Dead;
                if let Some(asking) = &mut self.asking {
                    asking.waiting.remove(id);
                }
            }
        }
        self.serve_if_asked();
    }

    fn admit(&self, node: NodeId) -> Result<(), Refusal> {
        match self.members.get(&node) {
            Some(Member { state: State::Alive, .. }) => Ok(()),
            _ => Err(Refusal::Dead),
        }
    }

    fn keep(&mut self, next: Kept) -> Result<(), Refusal> {
        self.keeper.keep(&next).map_err(|_| Refusal::Disk)?;
        self.kept = next;
        Ok(())
    }

    /// Ends the time of asking when nobody is left to be asked: what nobody has open is finished;
    /// what dead nodes may have open is whatever the others have not.
    fn serve_if_asked(&mut self) {
        if !self.asking.as_ref().is_some_and(|asking| asking.waiting.is_empty()) {
            return;
        }
        let asking = self.asking.take().unwrap_or_default();
        let dead = self.members.iter().find(|(_, member)| member.state != State::Alive);
        let dead = dead.map(|(id, _)| *id);
        let unknown: RangeInclusive<u64> = self.base + 1..=self.last;
        for version in unknown {
            let ticket = Ticket(version);
            match dead {
                _ if self.open.has(ticket) => (),
                Some(id) if !asking.finished.contains(&version) => {
                    self.open.insert(ticket, id, self.base);
                }
                _ => drop(self.finished.insert(version)),
            }
        }
        self.suspect = dead;
        self.advance();
    }

    fn end(&mut self, ticket: Ticket) {
        if self.open.remove(ticket) && ticket.0 < READERS {
            self.finished.insert(ticket.0);
            self.advance();
        }
    }

    fn advance(&mut self) {
        while self.finished.remove(&(self.base + 1)) {
            self.base += 1;
        }
    }

    fn lowest_active(&mut self) -> u64 {
        let lowest = self.open.lowest_base().unwrap_or(self.base);
        self.lowest = self.lowest.max(lowest);
        self.lowest
    }

    /// Gives `node` the dead nodes that nobody recovers, or whose recoverer died.
    fn assign(&mut self, node: NodeId) -> Option<Recovery> {
        if self.asking.is_some() {
            return None;
        }
        let is_alive =
            |id: &NodeId| self.members.get(id).is_some_and(|member| member.state == State::Alive);
        let needs = |state: State| match state {
            State::Alive => false,
            State::Dead => true,
            State::Recovering { by } => by == node || !is_alive(&by),
        };
        let dead = self.members.iter().filter(|(_, member)| needs(member.state));
        let dead: Vec<NodeId> = dead.map(|(id, _)| *id).collect();
        if dead.is_empty() {
            return None;
        }
        for id in &dead {
            if let Some(member) = self.members.get_mut(id) {
                member.state = State::Recovering { by: node };
            }
        }
        let open = self.open.of(|owner| dead.contains(&owner));
        let versions = open.map(|ticket| ticket.0).filter(|ticket| *ticket < READERS);
        let versions = versions.map(Version).collect();
        Some(Recovery { versions, dead })
    }
}

/// Appends the numbers of nodes or versions.
fn put_list(out: &mut Vec<u8>, list: impl ExactSizeIterator<Item = u64>) {
    put_u64(out, list.len() as u64);
    list.for_each(|number| put_u64(out, number));
}

fn list(input: &mut Input<'_>) -> Result<Vec<u64>, Malformed> {
    (0..input.count(1)?).map(|_| input.u64()).collect()
}
