//! Sessions that wait for messages of the bus, woken by transactions that bring some or give some
//! back.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use types::waiting::waiting;

use super::info::SessionInfo;

/// Counts the transactions that ended and had to do with messages of one client, while somebody
/// waits for those.
#[derive(Default)]
struct Bell {
    state: Mutex<BellState>,
    rings: Condvar,
}

#[derive(Default)]
struct BellState {
    rung: u64,
    /// Sessions that wait and were not woken.
    waiters: Vec<Arc<SessionInfo>>,
}

/// Clients whose messages somebody waits for.
#[derive(Default)]
pub(crate) struct Arrivals(Mutex<HashMap<i64, Arc<Bell>>>);

/// Waits for messages of one client; transactions that end from its making on are not missed.
pub(crate) struct Listening<'a> {
    arrivals: &'a Arrivals,
    session: &'a Arc<SessionInfo>,
    client: i64,
    bell: Arc<Bell>,
    seen: u64,
}

impl Arrivals {
    /// Begins to listen for messages of `client`.
    pub(crate) fn listen<'a>(
        &'a self,
        session: &'a Arc<SessionInfo>,
        client: i64,
    ) -> Listening<'a> {
        let bell = Arc::clone(self.0.lock().entry(client).or_default());
        let seen = bell.state.lock().rung;
        Listening { arrivals: self, session, client, bell, seen }
    }

    /// Wakes who waits for messages of one of `clients`.
    pub(crate) fn ring(&self, clients: &[i64]) {
        if clients.is_empty() {
            return;
        }
        let bells = self.0.lock();
        for bell in clients.iter().filter_map(|client| bells.get(client)) {
            let mut state = bell.state.lock();
            state.rung += 1;
            let woken = state.waiters.drain(..);
            woken.for_each(|session| session.listening.store(false, Ordering::Release));
            bell.rings.notify_all();
        }
    }
}

impl Listening<'_> {
    /// Waits for a transaction that ends after the last one that was seen, until `deadline`; true
    /// when one did.
    pub(crate) fn wait_until(&mut self, deadline: Instant) -> bool {
        let mut state = self.bell.state.lock();
        if state.rung == self.seen {
            state.waiters.push(Arc::clone(self.session));
            self.session.listening.store(true, Ordering::Release);
            waiting(|| self.bell.rings.wait_until(&mut state, deadline));
            state.waiters.retain(|waiter| !Arc::ptr_eq(waiter, self.session));
            self.session.listening.store(false, Ordering::Release);
        }
        let has_rung = state.rung != self.seen;
        self.seen = state.rung;
        has_rung
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        let mut bells = self.arrivals.0.lock();
        // The map and this one hold it.
        if Arc::strong_count(&self.bell) == 2 {
            bells.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_commit_wakes_who_listened_before_it_and_no_others() {
        let arrivals = Arrivals::default();
        let session = Arc::default();
        let mut own = arrivals.listen(&session, 1);
        let mut other = arrivals.listen(&session, 2);
        arrivals.ring(&[1, 3]);
        let now = Instant::now();
        assert!(own.wait_until(now));
        assert!(!own.wait_until(now));
        assert!(!other.wait_until(now));
        std::thread::scope(|scope| {
            let far = now + Duration::from_secs(3600);
            let waits = scope.spawn(move || own.wait_until(far));
            arrivals.ring(&[1]);
            assert!(waits.join().expect("no panic"));
        });
        drop(other);
        assert!(arrivals.0.lock().is_empty(), "nobody listens any more");
    }
}
