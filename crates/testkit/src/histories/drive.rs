//! Makes histories: sessions that append to few lists and read them, at random, side by side.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{End, History, Key, Op, Txn, Value};
use crate::Random;

/// Why an operation of a transaction failed.
#[derive(Clone, Debug)]
pub enum StoreError {
    /// The transaction is undone, and may be tried again.
    Retry,
    /// The commit may or may not have taken place.
    Unknown,
    /// Something that must not happen.
    Failed(String),
}

/// A database of lists.
pub trait ListStore: Sync {
    /// One of its sessions.
    type Session: ListSession + Send;

    /// A new session.
    ///
    /// # Errors
    /// When there is none to be had.
    fn open(&self) -> Result<Self::Session, StoreError>;
}

/// One session: one transaction at a time.
pub trait ListSession {
    /// Begins a transaction.
    ///
    /// # Errors
    /// As the database says.
    fn begin(&mut self) -> Result<(), StoreError>;
    /// Puts `value` at the end of the list; a list that is missing is empty.
    ///
    /// # Errors
    /// As the database says.
    fn append(&mut self, key: Key, value: Value) -> Result<(), StoreError>;
    /// The whole list.
    ///
    /// # Errors
    /// As the database says.
    fn read(&mut self, key: Key) -> Result<Vec<Value>, StoreError>;
    /// Ends the transaction well.
    ///
    /// # Errors
    /// As the database says.
    fn commit(&mut self) -> Result<(), StoreError>;
    /// Undoes the transaction, also one that has failed.
    ///
    /// # Errors
    /// As the database says.
    fn abort(&mut self) -> Result<(), StoreError>;
}

/// The size and shape of a history.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Transactions of each session.
    pub txns_per_session: usize,
    /// The most operations of a transaction.
    pub ops_max: u64,
    /// The first list; histories on one store use different ones.
    pub first_key: u32,
    /// How many lists there are: the fewer, the more conflicts.
    pub keys: u32,
    /// How many of 100 operations append.
    pub append_percent: u32,
    /// How many of 100 transactions roll back at their end.
    pub abort_percent: u32,
    /// Where chance begins; the interleaving is the machine's own.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            txns_per_session: 6,
            ops_max: 5,
            first_key: 0,
            keys: 4,
            append_percent: 50,
            abort_percent: 5,
            seed: 0,
        }
    }
}

/// State that all sessions of a history share.
struct Shared<'a> {
    plan: &'a Plan,
    clock: AtomicU64,
    values: AtomicU32,
    start: Barrier,
}

/// Runs one history, each of `sessions` on a thread; then reads all lists.
///
/// # Errors
/// The first [`StoreError::Failed`].
pub fn run<S: ListSession + Send>(sessions: &mut [S], plan: &Plan) -> Result<History, String> {
    let shared = Shared {
        plan,
        clock: AtomicU64::new(0),
        values: AtomicU32::new(0),
        start: Barrier::new(sessions.len()),
    };
    let mut seeds = Random::new(plan.seed);
    let shared = &shared;
    let parts: Vec<Result<Vec<Txn>, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = sessions
            .iter_mut()
            .map(|session| {
                let random = Random::new(seeds.bits());
                scope.spawn(move || shared.session(session, random))
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|part| part.unwrap_or_else(|_| Err("a session panicked".into()))).collect()
    });
    let mut txns = Vec::new();
    for part in parts {
        txns.extend(part?);
    }
    let Some(session) = sessions.first_mut() else { return Ok(History::default()) };
    let keys = (plan.first_key..plan.first_key + plan.keys).map(Key);
    let wanted: Vec<Wanted> = keys.map(Wanted::Read).collect();
    let last = loop {
        let txn = shared.txn(session, &wanted, End::Committed)?;
        if txn.end == End::Committed {
            break txn;
        }
    };
    let mut final_lists = BTreeMap::new();
    for op in &last.ops {
        if let Op::Read(key, list) = op {
            final_lists.insert(*key, list.clone());
        }
    }
    txns.push(last);
    Ok(History { txns, final_lists })
}

/// An operation to do.
enum Wanted {
    Append(Key),
    Read(Key),
}

impl Shared<'_> {
    fn session(
        &self,
        session: &mut impl ListSession,
        mut random: Random,
    ) -> Result<Vec<Txn>, String> {
        let plan = self.plan;
        self.start.wait();
        let mut txns = Vec::new();
        for _ in 0..plan.txns_per_session {
            let count = 1 + random.below(plan.ops_max);
            let mut wanted = |_| {
                let key = Key(plan.first_key + random.below(u64::from(plan.keys)) as u32);
                if random.chance(plan.append_percent) {
                    Wanted::Append(key)
                } else {
                    Wanted::Read(key)
                }
            };
            let wanted: Vec<Wanted> = (0..count).map(&mut wanted).collect();
            let end = if random.chance(plan.abort_percent) { End::Aborted } else { End::Committed };
            txns.push(self.txn(session, &wanted, end)?);
        }
        Ok(txns)
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// One transaction; `end` is what it wants, and what it gets stands in the result.
    fn txn(
        &self,
        session: &mut impl ListSession,
        wanted: &[Wanted],
        end: End,
    ) -> Result<Txn, String> {
        let mut txn = Txn { ops: Vec::new(), end, started: self.tick(), ended: 0 };
        let mut result = session.begin().and_then(|()| self.ops(session, wanted, &mut txn.ops));
        if result.is_ok() && end == End::Committed {
            result = session.commit();
        }
        let undo = |session: &mut dyn ListSession| match session.abort() {
            Err(StoreError::Failed(message)) => Err(message),
            _ => Ok(()),
        };
        txn.end = match result {
            Ok(()) if end == End::Committed => End::Committed,
            Ok(()) | Err(StoreError::Retry) => {
                undo(session)?;
                End::Aborted
            }
            Err(StoreError::Unknown) => End::Unknown,
            Err(StoreError::Failed(message)) => return Err(message),
        };
        txn.ended = self.tick();
        Ok(txn)
    }

    fn ops(
        &self,
        session: &mut dyn ListSession,
        wanted: &[Wanted],
        done: &mut Vec<Op>,
    ) -> Result<(), StoreError> {
        for op in wanted {
            match *op {
                Wanted::Append(key) => {
                    let value = Value(self.values.fetch_add(1, Ordering::Relaxed));
                    // Noted first: it may have taken place even when it fails.
                    done.push(Op::Append(key, value));
                    session.append(key, value)?;
                }
                Wanted::Read(key) => done.push(Op::Read(key, session.read(key)?)),
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}
