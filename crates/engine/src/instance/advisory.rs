//! Advisory locks: keys that mean what their users agree on.
//!
//! Sessions that wait look every few milliseconds whether they were cancelled, and before each wait
//! whether they wait for themselves. Departure from PostgreSQL: a circle that leads through locks
//! of rows or tables, too, is not seen; a cancel or a time limit ends it.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sql::algebra::{AdvisoryMode, AdvisorySpan};
use types::waiting::waiting;
use types::{Error, Result, SqlState};

/// A key: of one number or of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    One(i64),
    Two(i32, i32),
}

/// Bit of the owners that are no sessions.
const NO_SESSION: u64 = 1 << 63;

/// The owner of locks of the prepared transaction with this number.
pub(crate) fn advisory_owner(number: u64) -> u64 {
    number | NO_SESSION
}

struct Held {
    session: u64,
    mode: AdvisoryMode,
    span: AdvisorySpan,
    times: u32,
}

#[derive(Default)]
struct Table {
    held: HashMap<Key, Vec<Held>>,
    /// Locks that sessions wait for.
    waiting: HashMap<u64, (Key, AdvisoryMode)>,
}

/// The advisory locks of a database.
#[derive(Default)]
pub(crate) struct AdvisoryLocks {
    table: Mutex<Table>,
    freed: Condvar,
}

/// How long one waits between looks.
const LOOK: Duration = Duration::from_millis(10);

impl Table {
    /// Sessions that keep `session` from having the key.
    fn blockers(
        &self,
        session: u64,
        key: Key,
        mode: AdvisoryMode,
    ) -> impl Iterator<Item = u64> + '_ {
        let held = self.held.get(&key).into_iter().flatten();
        let both = |a, b| a == AdvisoryMode::Shared && b == AdvisoryMode::Shared;
        held.filter(move |held| held.session != session && !both(held.mode, mode))
            .map(|held| held.session)
    }

    /// True when `session` waits for itself through others.
    fn is_circle(&self, session: u64) -> bool {
        let (mut open, mut seen) = (vec![session], Vec::new());
        while let Some(next) = open.pop() {
            let Some(&(key, mode)) = self.waiting.get(&next) else { continue };
            for blocker in self.blockers(next, key, mode) {
                if blocker == session {
                    return true;
                }
                if !seen.contains(&blocker) {
                    seen.push(blocker);
                    open.push(blocker);
                }
            }
        }
        false
    }

    fn add(&mut self, session: u64, key: Key, mode: AdvisoryMode, span: AdvisorySpan) {
        let held = self.held.entry(key).or_default();
        let same = |h: &&mut Held| h.session == session && h.mode == mode && h.span == span;
        match held.iter_mut().find(same) {
            Some(held) => held.times += 1,
            None => held.push(Held { session, mode, span, times: 1 }),
        }
    }
}

/// A lock that a session holds or waits for, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenLock {
    pub(crate) session: u64,
    pub(crate) key: Key,
    pub(crate) mode: AdvisoryMode,
    pub(crate) is_granted: bool,
}

impl SeenLock {
    /// The number of the prepared transaction that has it; None for a session's.
    pub(crate) fn prepared(self) -> Option<u64> {
        (self.session & NO_SESSION != 0).then_some(self.session & !NO_SESSION)
    }
}

/// A lock that a session asks for.
pub(crate) struct Wish {
    pub(crate) key: Key,
    pub(crate) mode: AdvisoryMode,
    pub(crate) span: AdvisorySpan,
}

impl AdvisoryLocks {
    /// The locks of now, each once for a session and mode.
    pub(crate) fn seen(&self) -> Vec<SeenLock> {
        let table = self.table.lock();
        let mut seen: Vec<SeenLock> = Vec::new();
        for (&key, held) in &table.held {
            for held in held {
                let (session, mode) = (held.session, held.mode);
                let lock = SeenLock { session, key, mode, is_granted: true };
                if !seen.contains(&lock) {
                    seen.push(lock);
                }
            }
        }
        seen.extend(table.waiting.iter().map(|(&session, &(key, mode))| SeenLock {
            session,
            key,
            mode,
            is_granted: false,
        }));
        seen
    }

    /// Takes the lock if nobody is in the way.
    pub(crate) fn try_lock(
        &self,
        session: u64,
        key: Key,
        mode: AdvisoryMode,
        span: AdvisorySpan,
    ) -> bool {
        let mut table = self.table.lock();
        let is_free = table.blockers(session, key, mode).next().is_none();
        if is_free {
            table.add(session, key, mode, span);
        }
        is_free
    }

    /// Takes the lock, waiting for it.
    ///
    /// # Errors
    /// 40P01, or what `check` says.
    pub(crate) fn lock(
        &self,
        session: u64,
        Wish { key, mode, span }: Wish,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let mut table = self.table.lock();
        let outcome = loop {
            if table.blockers(session, key, mode).next().is_none() {
                table.add(session, key, mode, span);
                break Ok(());
            }
            table.waiting.insert(session, (key, mode));
            if table.is_circle(session) {
                break Err(Error::new(SqlState::DEADLOCK_DETECTED, "deadlock detected"));
            }
            waiting(|| self.freed.wait_for(&mut table, LOOK));
            if let Err(error) = check() {
                break Err(error);
            }
        };
        table.waiting.remove(&session);
        outcome
    }

    /// Gives a lock of the session up once; false when it has none.
    pub(crate) fn unlock(&self, session: u64, key: Key, mode: AdvisoryMode) -> bool {
        let mut table = self.table.lock();
        let Some(held) = table.held.get_mut(&key) else { return false };
        let is_meant =
            |h: &Held| h.session == session && h.mode == mode && h.span == AdvisorySpan::Session;
        let Some(at) = held.iter().position(is_meant) else { return false };
        held[at].times -= 1;
        if held[at].times == 0 {
            held.swap_remove(at);
        }
        if held.is_empty() {
            table.held.remove(&key);
        }
        drop(table);
        self.freed.notify_all();
        true
    }

    /// Locks that `session` holds until its transaction ends, each as often as it took it.
    ///
    /// # Errors
    /// 0A000 when it holds one of them until it ends, too: a prepared transaction could not say
    /// whose it is.
    pub(crate) fn of_transaction(&self, session: u64) -> Result<Vec<(Key, AdvisoryMode)>> {
        let table = self.table.lock();
        let mut found = Vec::new();
        for (&key, held) in &table.held {
            let own = || held.iter().filter(|held| held.session == session);
            let is_both = own().any(|held| held.span == AdvisorySpan::Session)
                && own().any(|held| held.span == AdvisorySpan::Transaction);
            if is_both {
                let message = "cannot PREPARE while holding both session-level and \
                               transaction-level locks on the same object";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            let of_transaction = own().filter(|held| held.span == AdvisorySpan::Transaction);
            found.extend(of_transaction.map(|held| (key, held.mode)));
        }
        Ok(found)
    }

    /// Gives `owner` what `session` holds until its transaction ends.
    pub(crate) fn hand_over(&self, session: u64, owner: u64) {
        let mut table = self.table.lock();
        let held = table.held.values_mut().flatten();
        held.filter(|held| held.session == session && held.span == AdvisorySpan::Transaction)
            .for_each(|held| held.session = owner);
    }

    /// Gives up what `session` holds for this span.
    pub(crate) fn release(&self, session: u64, span: AdvisorySpan) {
        let mut table = self.table.lock();
        table.held.retain(|_, held| {
            held.retain(|held| held.session != session || held.span != span);
            !held.is_empty()
        });
        drop(table);
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AdvisoryMode::{Exclusive, Shared};
    use AdvisorySpan::{Session, Transaction};

    fn wish(key: i64) -> Wish {
        Wish { key: Key::One(key), mode: Exclusive, span: Session }
    }

    #[test]
    fn locks_count_and_modes_exclude() {
        let locks = AdvisoryLocks::default();
        let key = Key::One(7);
        assert!(locks.try_lock(1, key, Shared, Session));
        assert!(locks.try_lock(2, key, Shared, Transaction));
        assert!(!locks.try_lock(1, key, Exclusive, Session));
        assert!(locks.try_lock(3, Key::Two(0, 7), Exclusive, Session));
        locks.release(2, Transaction);
        assert!(locks.try_lock(1, key, Exclusive, Session));
        assert!(locks.try_lock(1, key, Exclusive, Session));
        assert!(locks.unlock(1, key, Exclusive));
        assert!(!locks.try_lock(2, key, Shared, Session));
        assert!(locks.unlock(1, key, Exclusive));
        assert!(!locks.unlock(1, key, Exclusive));
        assert!(locks.try_lock(2, key, Shared, Session));
    }

    #[test]
    fn circles_are_seen() {
        let locks = AdvisoryLocks::default();
        assert!(locks.try_lock(1, Key::One(1), Exclusive, Session));
        assert!(locks.try_lock(2, Key::One(2), Exclusive, Session));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| locks.lock(1, wish(2), || Ok(())));
            while locks.table.lock().waiting.is_empty() {
                std::thread::yield_now();
            }
            let error = locks.lock(2, wish(1), || Ok(()));
            assert_eq!(error.expect_err("a circle").state(), SqlState::DEADLOCK_DETECTED);
            locks.release(2, Session);
            waits.join().expect("no panic").expect("the lock");
        });
    }
}
