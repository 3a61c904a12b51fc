//! Calls of a manager as bytes: the service, and who calls it.

use std::sync::Arc;

use host::Clock;
use parking_lot::Mutex;
use store::{Snapshot, StoreError, Version, codec};
use transport::{
    Attempt, Channel, DatabaseId, Move, MoveOrder, Pending, Phase, Request, Ring, Service,
};
use types::codec::{Input, Malformed, put_bytes, put_u64};

use super::{Begun, Class, Keeper, Manager, Moving, NodeId, Recovery, Refusal, Ticket};
use super::{list, put_list};
use crate::error::{Result, SharedError};

const JOIN: u8 = 0;
const BEGIN: u8 = 1;
const FINISH: u8 = 2;
const BEAT: u8 = 3;
const RECOVERED: u8 = 4;
const LEAVE: u8 = 5;
const BEGIN_AT: u8 = 6;
const FOUND: u8 = 7;
const ADD_STORE: u8 = 8;
const REMOVE_STORE: u8 = 9;
const SWITCHED: u8 = 10;
const MOVED: u8 = 11;
const GIVES_UP: u8 = 12;
const DATABASE: u8 = 13;

/// A manager behind a network.
pub struct ManagerService<K> {
    manager: Mutex<Manager<K>>,
    clock: Arc<dyn Clock>,
}

impl<K: Keeper> ManagerService<K> {
    /// The service of `manager`.
    pub fn new(manager: Manager<K>, clock: Arc<dyn Clock>) -> Self {
        Self { manager: Mutex::new(manager), clock }
    }

    /// The manager.
    pub fn manager(&self) -> &Mutex<Manager<K>> {
        &self.manager
    }

    fn call(&self, request: &Request<'_>) -> Result<Vec<u8>, Outcome> {
        let mut input = Input::new(request.payload);
        let mut manager = self.manager.lock();
        let (node, now) = (NodeId(request.client), self.clock.micros());
        let mut out = vec![OK];
        match input.u8()? {
            JOIN => put_u64(&mut out, manager.join(now)?.0),
            BEGIN => {
                let class = match input.u8()? {
                    0 => Class::ReadWrite,
                    1 => Class::ReadOnly,
                    _ => Class::Analytical,
                };
                put_begun(&mut out, &manager.begin(node, class)?);
            }
            BEGIN_AT => {
                let begun = manager.begin_at(node, &codec::snapshot(&mut input)?)?;
                out.push(u8::from(begun.is_some()));
                begun.iter().for_each(|begun| put_begun(&mut out, begun));
            }
            FINISH => manager.finish(node, Ticket(input.u64()?))?,
            BEAT => {
                let (life, mut open) = (input.u64()?, Vec::new());
                for _ in 0..input.count(2)? {
                    open.push((Ticket(input.u64()?), Version(input.u64()?)));
                }
                let work = manager.beat(node, life, &open, now)?;
                let work = work.unwrap_or(Recovery { dead: Vec::new(), versions: Vec::new() });
                put_list(&mut out, work.dead.iter().map(|id| id.0));
                put_list(&mut out, work.versions.iter().map(|version| version.0));
                put_u64(&mut out, manager.stores().version());
                put_order(&mut out, manager.order(node)?);
            }
            RECOVERED => {
                let dead: Vec<NodeId> = list(&mut input)?.into_iter().map(NodeId).collect();
                manager.recovered(node, &dead)?;
            }
            LEAVE => manager.leave(node)?,
            DATABASE => {
                let id = manager.database().map_or(0, |id| id.0);
                [(id >> 64) as u64, id as u64].iter().for_each(|half| put_u64(&mut out, *half));
            }
            tag @ (FOUND | ADD_STORE | REMOVE_STORE | SWITCHED | MOVED | GIVES_UP) => {
                out.extend(stores(&mut manager, node, tag, &mut input)?);
            }
            _ => return Err(input.malformed("a call of a commit manager").into()),
        }
        Ok(out)
    }
}

/// A call about where keys are.
fn stores<K: Keeper>(
    manager: &mut Manager<K>,
    node: NodeId,
    tag: u8,
    input: &mut Input<'_>,
) -> Result<Vec<u8>, Outcome> {
    let mut out = Vec::new();
    match tag {
        FOUND => {
            let mut addresses = Vec::new();
            for _ in 0..input.count(1)? {
                addresses.push(input.text()?.to_owned());
            }
            manager.found(node, &addresses)?.put(&mut out);
            let moving = manager.stores().moving;
            out.push(u8::from(moving.is_some()));
            if let Some(moving) = moving {
                moving.what.put(&mut out);
                out.push(moving.phase.number());
            }
        }
        ADD_STORE => manager.add_store(node, input.text()?)?,
        REMOVE_STORE => manager.remove_store(node, input.text()?)?,
        SWITCHED => manager.switched(node, Attempt(input.u64()?))?,
        MOVED => put_order(&mut out, manager.moved(node, Attempt(input.u64()?))?),
        _ => manager.gives_up(node, Attempt(input.u64()?))?,
    }
    Ok(out)
}

fn put_order(out: &mut Vec<u8>, order: Option<MoveOrder>) {
    out.push(u8::from(order.is_some()));
    order.iter().for_each(|order| order.put(out));
}

fn read_order(input: &mut Input<'_>) -> Result<Option<MoveOrder>, Malformed> {
    if input.u8()? == 1 { MoveOrder::read(input).map(Some) } else { Ok(None) }
}

fn put_begun(out: &mut Vec<u8>, begun: &Begun) {
    put_u64(out, begun.ticket.0);
    put_u64(out, begun.life);
    codec::put_snapshot(out, &begun.snapshot);
}

fn read_begun(input: &mut Input<'_>) -> Result<Begun, Malformed> {
    let (ticket, life) = (Ticket(input.u64()?), input.u64()?);
    Ok(Begun { ticket, life, snapshot: codec::snapshot(input)? })
}

const OK: u8 = 0;

/// Number of an answer that is not [`OK`].
struct Outcome(u8);

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self(match refusal {
            Refusal::Dead => 1,
            Refusal::NotYet => 2,
            Refusal::Disk => 3,
            Refusal::Impossible => 5,
            Refusal::Overtaken => 6,
        })
    }
}

impl From<Malformed> for Outcome {
    fn from(_: Malformed) -> Self {
        Self(4)
    }
}

impl<K: Keeper> Service for ManagerService<K> {
    fn answer(&self, request: &Request<'_>) -> Option<Vec<u8>> {
        Some(self.call(request).unwrap_or_else(|outcome| vec![outcome.0]))
    }

    fn happens_once(&self, payload: &[u8]) -> bool {
        !matches!(payload.first(), Some(&(BEAT | FOUND | DATABASE)))
    }

    fn refusal(&self) -> Vec<u8> {
        vec![Outcome::from(Refusal::Dead).0]
    }
}

/// News for a node that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beaten {
    /// Others that it has to recover.
    pub recovery: Option<Recovery>,
    /// Version of the ring of stores.
    pub ring: u64,
    /// Keys that it has to move.
    pub order: Option<MoveOrder>,
}

/// Answer of a beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeatAnswer {
    /// The node is known.
    Alive(Option<Beaten>),
    /// The node was declared dead.
    Dead,
}

/// Calls of a manager through a channel.
pub struct Calls<'a>(pub &'a Channel);

impl Calls<'_> {
    /// A new node: called through a channel whose session no node has.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn join(&self) -> Result<NodeId> {
        loop {
            let answer = self.0.write(vec![JOIN]).await;
            match read(answer, |input| Ok(NodeId(input.u64()?)))? {
                Some(id) => return Ok(id),
                None => continue,
            }
        }
    }

    /// Number of the database, if one was drawn.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn database(&self) -> Result<Option<DatabaseId>> {
        let id = |input: &mut Input<'_>| {
            let (high, low) = (u128::from(input.u64()?), u128::from(input.u64()?));
            Ok(Some(DatabaseId(high << 64 | low)).filter(|id| id.0 != 0))
        };
        Ok(read(self.0.write(vec![DATABASE]).await, id)?.flatten())
    }

    /// Begins a transaction; `None` while the manager asks its nodes.
    ///
    /// # Errors
    /// [`SharedError::Stopped`], [`SharedError::Store`].
    pub async fn begin(&self, class: Class) -> Result<Option<Begun>> {
        let number = match class {
            Class::ReadWrite => 0,
            Class::ReadOnly => 1,
            Class::Analytical => 2,
        };
        read(self.0.write(vec![BEGIN, number]).await, read_begun)
    }

    /// Begins a transaction that reads what `seen` sees; `None` while the manager asks its nodes,
    /// and within for what nobody holds any more.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub async fn begin_at(&self, seen: &Snapshot) -> Result<Option<Option<Begun>>> {
        let mut payload = vec![BEGIN_AT];
        codec::put_snapshot(&mut payload, seen);
        let begun = |input: &mut Input<'_>| match input.u8()? {
            0 => Ok(None),
            _ => read_begun(input).map(Some),
        };
        read(self.0.write(payload).await, begun)
    }

    /// Ends a transaction.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub async fn finish(&self, ticket: Ticket) -> Result<()> {
        let mut payload = vec![FINISH];
        put_u64(&mut payload, ticket.0);
        read(self.0.write(payload).await, |_| Ok(())).map(drop)
    }

    /// Says that the node lives, and what it had open when its channel knew of life `life`. The
    /// call is made at once.
    pub fn beat(&self, life: u64, open: &[(Ticket, Version)]) -> Pending {
        let mut payload = vec![BEAT];
        put_u64(&mut payload, life);
        put_u64(&mut payload, open.len() as u64);
        for (ticket, base) in open {
            put_u64(&mut payload, ticket.0);
            put_u64(&mut payload, base.0);
        }
        self.0.read(payload)
    }

    /// Reads the answer of a beat.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub async fn beaten(beat: Pending) -> Result<BeatAnswer> {
        let beaten = |input: &mut Input<'_>| {
            let dead: Vec<NodeId> = list(input)?.into_iter().map(NodeId).collect();
            let versions = list(input)?.into_iter().map(Version).collect();
            let recovery = (!dead.is_empty()).then_some(Recovery { dead, versions });
            Ok(Beaten { recovery, ring: input.u64()?, order: read_order(input)? })
        };
        match read(beat.await, beaten) {
            Ok(news) => Ok(BeatAnswer::Alive(news)),
            Err(SharedError::Stopped) => Ok(BeatAnswer::Dead),
            Err(error) => Err(error),
        }
    }

    /// Says that dead nodes were recovered.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub async fn recovered(&self, dead: &[NodeId]) -> Result<()> {
        let mut payload = vec![RECOVERED];
        put_list(&mut payload, dead.iter().map(|id| id.0));
        read(self.0.write(payload).await, |_| Ok(())).map(drop)
    }

    /// Asks where keys are; the stores of a new database are those of `addresses`. The call is made
    /// at once.
    pub fn found(&self, addresses: &[String]) -> Pending {
        let mut payload = vec![FOUND];
        put_u64(&mut payload, addresses.len() as u64);
        addresses.iter().for_each(|address| put_bytes(&mut payload, address.as_bytes()));
        self.0.read(payload)
    }

    /// Reads the answer of [`Self::found`]: the ring, and the move that is under way.
    ///
    /// # Errors
    /// [`SharedError::NoStores`] when nobody told the manager of any; [`SharedError::Stopped`].
    pub fn found_stores(answer: &[u8]) -> Result<(Ring, Option<Moving>)> {
        let stores = |input: &mut Input<'_>| {
            let ring = Ring::read(input)?;
            if input.u8()? == 0 {
                return Ok((ring, None));
            }
            let (what, phase) = (Move::read(input)?, Phase::read(input)?);
            Ok((ring, Some(Moving { what, phase })))
        };
        let away = || StoreError::Unreachable("the manager's disk does not work".into());
        Ok(read(Ok(answer.to_vec()), stores)?.ok_or_else(away)?)
    }

    /// Has a store take part.
    ///
    /// # Errors
    /// [`SharedError::NoStores`]; as [`Self::begin`].
    pub async fn add_store(&self, address: &str) -> Result<()> {
        self.about_store(ADD_STORE, address).await
    }

    /// Has a store leave.
    ///
    /// # Errors
    /// [`SharedError::NoStores`] when there is none of this address, or no other one; as
    /// [`Self::begin`].
    pub async fn remove_store(&self, address: &str) -> Result<()> {
        self.about_store(REMOVE_STORE, address).await
    }

    async fn about_store(&self, tag: u8, address: &str) -> Result<()> {
        let mut payload = vec![tag];
        put_bytes(&mut payload, address.as_bytes());
        read(self.0.write(payload).await, |_| Ok(())).map(drop)
    }

    fn about_move(&self, tag: u8, attempt: Attempt) -> Pending {
        let mut payload = vec![tag];
        put_u64(&mut payload, attempt.0);
        self.0.write(payload)
    }

    /// Says that the target of a move has its keys, and the source refuses calls on them.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] when the order is not the last one; as [`Self::begin`].
    pub async fn switched(&self, attempt: Attempt) -> Result<()> {
        let answer = read(self.about_move(SWITCHED, attempt).await, |_| Ok(()))?;
        Ok(answer.ok_or(StoreError::Overtaken)?)
    }

    /// Says that the stores know of the end of a move; the next one.
    ///
    /// # Errors
    /// As [`Self::switched`].
    pub async fn moved(&self, attempt: Attempt) -> Result<Option<MoveOrder>> {
        let answer = read(self.about_move(MOVED, attempt).await, read_order)?;
        Ok(answer.ok_or(StoreError::Overtaken)?)
    }

    /// Says that this node cannot carry an order out.
    ///
    /// # Errors
    /// As [`Self::switched`].
    pub async fn gives_up(&self, attempt: Attempt) -> Result<()> {
        read(self.about_move(GIVES_UP, attempt).await, |_| Ok(())).map(drop)
    }

    /// Takes a node without transactions out.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub async fn leave(&self) -> Result<()> {
        read(self.0.write(vec![LEAVE]).await, |_| Ok(())).map(drop)
    }
}

/// Reads an answer; `None` for one that is to be asked for again.
fn read<T>(
    answer: Result<Vec<u8>, transport::Broken>,
    value: impl FnOnce(&mut Input<'_>) -> Result<T, Malformed>,
) -> Result<Option<T>> {
    let payload = answer.map_err(|broken| StoreError::Unreachable(broken.0))?;
    let mut input = Input::new(&payload);
    let corrupt =
        |m: Malformed| SharedError::Corrupt(m.in_bytes_of("an answer of the manager").to_string());
    match input.u8().map_err(corrupt)? {
        OK => value(&mut input).map(Some).map_err(corrupt),
        1 => Err(SharedError::Stopped),
        2 | 3 => Ok(None),
        5 => Err(SharedError::NoStores),
        6 => Err(StoreError::Overtaken.into()),
        _ => Err(SharedError::Corrupt("a call of the manager".into())),
    }
}
