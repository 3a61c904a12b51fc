//! Which queries may begin: the memory that each asks for, and the queue of those that wait.
//!
//! ```text
//! ask(bytes, priority) --> first, and it fits --> Grant -- drop --> the next may begin
//!        ^                    '-- else: waits; looks again every LOOK and when a grant goes
//!        '-- leaves by a cancel or after its patience
//! ```
//! Invariants: a grant never makes the bytes granted more than the room there is then; among those
//! that wait, the highest priority is first, of one priority the oldest, and nobody overtakes the
//! first. Two do not wait: who asks alone, with all the room if it wanted more, and who may have
//! something that others wait for ([`Asker::Holder`]), with what is left of the room.
//! Elsewhere: how much a plan asks for (`plan`), what room there is (`engine`).
//! Source: Patel 2018, section 4 (load controller). Departure: the controller counts bytes that
//! plans are estimated to need and running queries; queries that began are never put back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use types::waiting::waiting;
use types::{Error, Result, SqlState};

use crate::policy::Priority;

/// One who asks for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Has nothing that others wait for, and so may wait.
    Free,
    /// May have a lock or another grant: begins at once.
    Holder,
}

/// A query that asks to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Whose query it is: a number that [`Admission::list`] repeats. Who has a grant is a holder.
    pub owner: u64,
    /// The query's priority.
    pub priority: Priority,
    /// Bytes that it wants.
    pub bytes: u64,
    /// May it wait?
    pub asker: Asker,
    /// When it asked, in microseconds since 1970: repeated only.
    pub since_micros: i64,
}

/// Bounds of all grants together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes of all grants.
    pub bytes: u64,
    /// Queries with a grant; those of holders come on top.
    pub queries: usize,
}

/// How one waits.
pub struct Wait<'a> {
    /// The room there is now.
    pub room: &'a dyn Fn() -> Room,
    /// Longest time in the queue; None is for ever.
    pub patience: Option<Duration>,
    /// Fails when the query is to end.
    pub check: &'a dyn Fn() -> Result<()>,
}

/// A query that has a grant or waits for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Memory asked for.
    pub ask: Ask,
    /// Bytes that it got; None while it waits.
    pub granted: Option<u64>,
}

/// The queue, without clocks and threads.
#[derive(Debug, Default)]
struct Queue {
    /// By number, so the oldest first.
    entries: Vec<(u64, Admitted)>,
    next: u64,
}

impl Queue {
    /// Puts `ask` into the queue; its number there.
    fn join(&mut self, mut ask: Ask) -> u64 {
        let has_grant =
            |(_, known): &(u64, Admitted)| known.ask.owner == ask.owner && known.granted.is_some();
        if self.entries.iter().any(has_grant) {
            ask.asker = Asker::Holder;
        }
        let number = self.next;
        self.next += 1;
        self.entries.push((number, Admitted { ask, granted: None }));
        number
    }

    /// Lets those begin that may by now.
    fn admit(&mut self, room: Room) {
        while let Some(first) = self.first() {
            let granted: Vec<u64> = self.entries.iter().filter_map(|(_, e)| e.granted).collect();
            let left = room.bytes.saturating_sub(granted.iter().sum());
            let entry = &mut self.entries[first].1;
            let fits = granted.len() < room.queries && entry.ask.bytes <= left;
            if !fits && !granted.is_empty() && entry.ask.asker == Asker::Free {
                return;
            }
            entry.granted = Some(entry.ask.bytes.min(left));
        }
    }

    /// The place of the one who begins next, or would.
    fn first(&self) -> Option<usize> {
        let waiting = |&place: &usize| self.entries[place].1.granted.is_none();
        let rank = |place: &usize| {
            let (number, Admitted { ask, .. }) = &self.entries[*place];
            (ask.asker == Asker::Free, std::cmp::Reverse(ask.priority), *number)
        };
        (0..self.entries.len()).filter(waiting).min_by_key(rank)
    }

    /// Bytes of the grant of `number`; None while it waits.
    fn granted(&self, number: u64) -> Option<u64> {
        self.entries.iter().find(|(known, _)| *known == number).and_then(|(_, e)| e.granted)
    }

    fn leave(&mut self, number: u64) {
        self.entries.retain(|(known, _)| *known != number);
    }
}

/// The queue of one database. Shared by all threads.
#[derive(Debug, Default)]
pub struct Admission {
    queue: Mutex<Queue>,
    /// Signalled when a query has left.
    left: Condvar,
}

/// How long one waits between looks: at a cancel, and at room that came from elsewhere.
const LOOK: Duration = Duration::from_millis(10);

/// Leave of a query to run, until it is dropped.
#[derive(Debug)]
pub struct Grant {
    admission: Arc<Admission>,
    number: u64,
    bytes: u64,
}

impl Grant {
    /// Bytes granted.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.admission.leave(self.number);
    }
}

impl Admission {
    /// Waits until the query may begin.
    ///
    /// # Errors
    /// 53200 when patience ends; what `check` says.
    pub fn admit(self: &Arc<Self>, ask: Ask, wait: &Wait<'_>) -> Result<Grant> {
        let mut queue = self.queue.lock();
        let number = queue.join(ask);
        let deadline = wait.patience.map(|patience| Instant::now() + patience);
        loop {
            queue.admit((wait.room)());
            if let Some(bytes) = queue.granted(number) {
                return Ok(Grant { admission: Arc::clone(self), number, bytes });
            }
            waiting(|| self.left.wait_for(&mut queue, LOOK));
            let outcome = (wait.check)().and_then(|()| match deadline {
                Some(deadline) if Instant::now() >= deadline => Err(no_room(ask)),
                _ => Ok(()),
            });
            if let Err(error) = outcome {
                queue.leave(number);
                drop(queue);
                self.left.notify_all();
                return Err(error);
            }
        }
    }

    /// Queries that have a grant or wait for one, in the order in which they asked.
    pub fn list(&self) -> Vec<Admitted> {
        self.queue.lock().entries.iter().map(|(_, entry)| *entry).collect()
    }

    fn leave(&self, number: u64) {
        self.queue.lock().leave(number);
        self.left.notify_all();
    }
}

fn no_room(ask: Ask) -> Error {
    let message = "out of memory: the query waited in vain for others to end";
    Error::new(SqlState::OUT_OF_MEMORY, message)
        .with_detail(format!("The query asked for {} bytes.", ask.bytes))
        .with_hint("Raise admission_timeout, or the limit with --memory.")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use testkit::Random;

    use super::*;

    const ROOM: Room = Room { bytes: 100, queries: 3 };

    fn ask(owner: u64, priority: u32, bytes: u64) -> Ask {
        let priority = Priority(priority);
        Ask { owner, priority, bytes, asker: Asker::Free, since_micros: 0 }
    }

    fn joined(queue: &mut Queue, ask: Ask) -> u64 {
        let number = queue.join(ask);
        queue.admit(ROOM);
        number
    }

    #[test]
    fn the_first_waits_for_room_and_nobody_overtakes_it() {
        let queue = &mut Queue::default();
        let a = joined(queue, ask(1, 1, 60));
        let b = joined(queue, ask(2, 1, 50));
        let small = joined(queue, ask(3, 1, 5));
        let high = joined(queue, ask(4, 2, 45));
        let got = |queue: &Queue| [a, b, small, high].map(|number| queue.granted(number));
        assert_eq!(got(queue), [Some(60), None, None, None]);
        queue.leave(a);
        queue.admit(ROOM);
        assert_eq!(got(queue), [None, Some(50), Some(5), Some(45)]);
    }

    #[test]
    fn so_many_run_and_who_is_too_large_runs_alone() {
        let queue = &mut Queue::default();
        let few: Vec<u64> = (0..3).map(|owner| joined(queue, ask(owner, 1, 1))).collect();
        let fourth = joined(queue, ask(3, 1, 1));
        assert_eq!(queue.granted(fourth), None);
        queue.leave(few[0]);
        queue.admit(ROOM);
        assert_eq!(queue.granted(fourth), Some(1));
        let large = joined(queue, ask(4, 1, 1000));
        few[1..].iter().for_each(|number| queue.leave(*number));
        queue.admit(ROOM);
        assert_eq!(queue.granted(large), None);
        queue.leave(fourth);
        queue.admit(ROOM);
        assert_eq!(queue.granted(large), Some(100));
    }

    #[test]
    fn holders_begin_at_once_with_what_is_left() {
        let queue = &mut Queue::default();
        joined(queue, ask(1, 1, 90));
        let waits = joined(queue, ask(2, 9, 20));
        // Who has a grant is one.
        let nested = joined(queue, ask(1, 1, 20));
        let holder = joined(queue, Ask { asker: Asker::Holder, ..ask(3, 1, 20) });
        let got = [waits, nested, holder].map(|number| queue.granted(number));
        assert_eq!(got, [None, Some(10), Some(0)]);
    }

    /// The rules again, one by one, over a plain list: what [`Queue`] must agree with.
    #[derive(Default)]
    struct Model(Vec<(u64, Ask, Option<u64>)>);

    impl Model {
        fn settle(&mut self, room: Room) {
            loop {
                let granted: Vec<u64> =
                    self.0.iter().filter_map(|(_, _, granted)| *granted).collect();
                let left = room.bytes.saturating_sub(granted.iter().sum());
                let waits = |(_, ask, granted): &&mut (u64, Ask, Option<u64>)| {
                    granted.is_none() && ask.asker == Asker::Holder
                };
                if let Some((_, ask, granted)) = self.0.iter_mut().find(waits) {
                    *granted = Some(ask.bytes.min(left));
                    continue;
                }
                let highest = self.0.iter().filter(|e| e.2.is_none()).map(|e| e.1.priority).max();
                let is_next = |e: &&mut (u64, Ask, Option<u64>)| {
                    e.2.is_none() && Some(e.1.priority) == highest
                };
                let Some((_, ask, place)) = self.0.iter_mut().find(is_next) else { return };
                let is_alone = granted.is_empty();
                if is_alone || (ask.bytes <= left && granted.len() < room.queries) {
                    *place = Some(ask.bytes.min(left));
                } else {
                    return;
                }
            }
        }
    }

    #[test]
    fn the_queue_agrees_with_its_rules() {
        for seed in 0..200 {
            let random = &mut Random::new(seed);
            let (mut queue, mut model) = (Queue::default(), Model::default());
            let mut room = ROOM;
            for _ in 0..300 {
                match random.below(10) {
                    0 => room.bytes = random.below(200),
                    1 => room.queries = 1 + random.below(4) as usize,
                    2..6 if !model.0.is_empty() => {
                        let (number, ..) =
                            model.0.remove(random.below(model.0.len() as u64) as usize);
                        queue.leave(number);
                    }
                    _ => {
                        let owner = random.below(12);
                        let asker = if random.chance(10) { Asker::Holder } else { Asker::Free };
                        let wanted = ask(owner, 1 + random.below(3) as u32, random.below(120));
                        let number = queue.join(Ask { asker, ..wanted });
                        let has = model.0.iter().any(|e| e.1.owner == owner && e.2.is_some());
                        let asker = if has { Asker::Holder } else { asker };
                        model.0.push((number, Ask { asker, ..wanted }, None));
                    }
                }
                let before: u64 = queue.entries.iter().filter_map(|(_, e)| e.granted).sum();
                queue.admit(room);
                model.settle(room);
                let got: Vec<_> =
                    queue.entries.iter().map(|(n, e)| (*n, e.ask, e.granted)).collect();
                assert_eq!(got, model.0, "seed {seed}");
                let after: u64 = queue.entries.iter().filter_map(|(_, e)| e.granted).sum();
                assert!(after <= before.max(room.bytes), "seed {seed}");
            }
        }
    }

    fn patient(check: &dyn Fn() -> Result<()>) -> Wait<'_> {
        Wait { room: &|| ROOM, patience: None, check }
    }

    fn await_entries(admission: &Admission, count: usize) {
        while admission.list().len() != count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_cancel_a_deadline_and_a_dropped_grant_leave_the_queue() {
        let admission = Arc::new(Admission::default());
        let fine = || Ok(());
        let held = admission.admit(ask(1, 1, 80), &patient(&fine)).expect("room");
        assert_eq!(held.bytes(), 80);
        let cancelled = AtomicBool::new(false);
        let check = || {
            let ended = cancelled.load(Ordering::Relaxed);
            if ended { Err(Error::new(SqlState::QUERY_CANCELED, "cancelled")) } else { Ok(()) }
        };
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| admission.admit(ask(2, 5, 80), &patient(&check)));
            await_entries(&admission, 2);
            let behind = scope.spawn(|| admission.admit(ask(3, 1, 20), &patient(&fine)));
            await_entries(&admission, 3);
            let hurry = Wait { patience: Some(Duration::ZERO), ..patient(&fine) };
            let late = admission.admit(ask(4, 1, 1), &hurry).expect_err("no patience");
            assert_eq!(late.state(), SqlState::OUT_OF_MEMORY);
            let listed: Vec<_> =
                admission.list().iter().map(|e| (e.ask.owner, e.granted)).collect();
            assert_eq!(listed, [(1, Some(80)), (2, None), (3, None)]);
            cancelled.store(true, Ordering::Relaxed);
            let error = waits.join().expect("no panic").expect_err("a cancel");
            assert_eq!(error.state(), SqlState::QUERY_CANCELED);
            // Its place was what the other waited for.
            let grant = behind.join().expect("no panic").expect("room");
            assert_eq!((grant.bytes(), admission.list().len()), (20, 2));
        });
        drop(held);
        assert!(admission.list().is_empty());
    }
}
