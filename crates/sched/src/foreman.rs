//! The foreman: containers of work orders, one per running query, and the monitor around them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use types::waiting::waiting;

use crate::policy::{Candidate, History, POLICIES, Policy, Priority, choose};
use crate::worker;

/// Work that consists of numbered orders, run in any sequence on any worker, each once.
pub trait WorkOrders: Send + Sync {
    /// Runs order `order` on worker `worker` (0 to [`Scheduler::slots`] - 1). Two calls with the
    /// same `worker` never overlap.
    fn run(&self, worker: usize, order: usize);

    /// True when the remaining orders need not run: cancelled, failed or satisfied.
    fn stopped(&self) -> bool;
}

/// Why a run did not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A work order panicked with this message; the others were not run.
    Panicked(String),
}

/// How many work orders a run has, and how many workers may share it.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Workers below this number may run orders: from [`Scheduler::slots`].
    pub slots: usize,
    /// Orders.
    pub count: usize,
}

/// A switch that suspends the queries of one owner between work orders: their workers serve others
/// until they are resumed. What they hold, memory and locks, they keep. [`Scheduler::suspend`] and
/// [`Scheduler::resume`] turn it.
#[derive(Clone, Debug, Default)]
pub struct Suspension(Arc<AtomicBool>);

impl Suspension {
    /// True while the queries are suspended.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A query's place at the scheduler: its priority and the history of its work orders.
#[derive(Debug)]
pub struct Ticket {
    priority: Priority,
    owner: u64,
    suspension: Suspension,
    history: Mutex<History>,
}

impl Ticket {
    /// A ticket for one query of nobody in particular.
    pub fn new(priority: Priority) -> Arc<Self> {
        Self::of(priority, 0, &Suspension::default())
    }

    /// A ticket for one query of `owner`, a number that [`Scheduler::pending`] repeats; suspended
    /// while `suspension` says so.
    pub fn of(priority: Priority, owner: u64, suspension: &Suspension) -> Arc<Self> {
        let history = Mutex::new(History::default());
        Arc::new(Self { priority, owner, suspension: suspension.clone(), history })
    }

    /// Mean nanoseconds of the query's last orders; None before the first has ended.
    pub fn predicted_nanos(&self) -> Option<f64> {
        self.history.lock().predict()
    }
}

/// The work orders of one run that has not ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pending {
    /// Whose query it is, as its ticket says.
    pub owner: u64,
    /// The query's priority.
    pub priority: Priority,
    /// All orders of the run.
    pub orders: usize,
    /// Orders that workers have begun.
    pub begun: usize,
    /// Orders that workers have now.
    pub running: usize,
    /// Mean nanoseconds of the query's last orders; None before the first has ended.
    pub predicted_nanos: Option<f64>,
}

struct Container {
    /// Workers below this number may run its orders.
    slots: usize,
    ticket: Arc<Ticket>,
    orders: Arc<dyn WorkOrders>,
    next: usize,
    count: usize,
    running: usize,
    panicked: Option<String>,
    id: u64,
}

impl Container {
    fn exhausted(&self) -> bool {
        self.next >= self.count || self.panicked.is_some() || self.orders.stopped()
    }
}

struct State {
    containers: Vec<Container>,
    finished: Vec<(u64, Option<String>)>,
    next_id: u64,
    policy: &'static dyn Policy,
    random: u64,
    /// Workers of this number and above end as soon as they have no order.
    target: usize,
    /// The threads by number; None where there is none, or where it ended.
    threads: Vec<Option<JoinHandle<()>>>,
    closing: bool,
}

impl State {
    fn draw(&mut self) -> f64 {
        // A splitmix64 step: choice needs no better randomness.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next order of the query that the policy chooses for `worker`.
    fn take(&mut self, worker: usize) -> Option<Taken> {
        let is_ready = |container: &Container| {
            let is_on = container.ticket.suspension.is_on();
            worker < container.slots && !is_on && !container.exhausted()
        };
        let ready: Vec<usize> =
            (0..self.containers.len()).filter(|&i| is_ready(&self.containers[i])).collect();
        if ready.is_empty() {
            return None;
        }
        let chosen = if ready.len() == 1 {
            ready[0]
        } else {
            let candidate = |&i: &usize| Candidate {
                priority: self.containers[i].ticket.priority,
                predicted_nanos: self.containers[i].ticket.history.lock().predict(),
            };
            let candidates: Vec<Candidate> = ready.iter().map(candidate).collect();
            let draw = self.draw();
            ready[choose(self.policy, &candidates, draw)]
        };
        let container = &mut self.containers[chosen];
        let order = container.next;
        container.next += 1;
        container.running += 1;
        let (ticket, orders) = (Arc::clone(&container.ticket), Arc::clone(&container.orders));
        Some(Taken { id: container.id, ticket, orders, order })
    }

    /// Notes the end of an order; true when its query's run is over.
    fn complete(&mut self, id: u64, panicked: Option<String>) -> bool {
        let Some(i) = self.containers.iter().position(|c| c.id == id) else {
            return false;
        };
        let container = &mut self.containers[i];
        container.running -= 1;
        if panicked.is_some() {
            container.panicked = panicked;
        }
        let over = container.running == 0 && container.exhausted();
        if over {
            let container = self.containers.swap_remove(i);
            self.finished.push((id, container.panicked));
        }
        over
    }
}

/// A work order that a worker took.
struct Taken {
    id: u64,
    ticket: Arc<Ticket>,
    orders: Arc<dyn WorkOrders>,
    order: usize,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    done: Condvar,
}

impl Shared {
    /// Runs orders until the scheduler closes or needs no worker of this number.
    fn serve(&self, worker: usize) {
        let mut state = self.state.lock();
        loop {
            if worker >= state.target {
                // Under the lock: who adds a worker of this number starts another thread.
                state.threads.get_mut(worker).map(Option::take);
                return;
            }
            let Some(Taken { id, ticket, orders, order }) = state.take(worker) else {
                if state.closing {
                    return;
                }
                self.work.wait(&mut state);
                continue;
            };
            drop(state);
            let panicked = run_one(&*orders, &ticket, worker, order);
            // The last reference to a query's data may be this one: drop it outside the lock.
            drop(orders);
            state = self.state.lock();
            if state.complete(id, panicked) {
                self.done.notify_all();
            }
        }
    }
}

/// Runs one order; the message when it panicked.
fn run_one(
    orders: &dyn WorkOrders,
    ticket: &Ticket,
    worker: usize,
    order: usize,
) -> Option<String> {
    let start = Instant::now();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        orders.run(worker, order);
    }));
    ticket.history.lock().record(start.elapsed().as_nanos() as u64);
    result.err().map(|payload| {
        let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "panic without message".to_owned())
    })
}

/// The scheduler: a foreman and its workers.
pub struct Scheduler {
    shared: Arc<Shared>,
    /// As many as `State::target`, to be read without the lock.
    workers: AtomicUsize,
    /// Cores of the machine.
    cores: usize,
}

impl Scheduler {
    /// A scheduler with `workers` threads (at least one), each pinned to a core when there are
    /// enough.
    pub fn new(workers: usize) -> Arc<Self> {
        let state = State {
            containers: Vec::new(),
            finished: Vec::new(),
            next_id: 0,
            policy: POLICIES[0],
            random: 0,
            target: 0,
            threads: Vec::new(),
            closing: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let scheduler = Self { shared, workers: AtomicUsize::new(0), cores };
        scheduler.set_workers(workers);
        Arc::new(scheduler)
    }

    /// Adds or retires workers until there are `workers` (at least one). A worker that retires ends
    /// its order first. Runs that go on take new workers up to [`Self::slots`] of their beginning.
    pub fn set_workers(&self, workers: usize) {
        let mut state = self.shared.state.lock();
        state.target = workers.max(1);
        self.workers.store(state.target, Ordering::Relaxed);
        for index in 0..state.target {
            if state.threads.len() == index {
                state.threads.push(None);
            }
            if state.threads[index].is_none() {
                let shared = Arc::clone(&self.shared);
                let thread = worker::spawn(index, move || shared.serve(index));
                state.threads[index] = Some(thread);
            }
        }
        self.shared.work.notify_all();
    }

    /// Worker threads.
    pub fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed)
    }

    /// Numbers that [`WorkOrders::run`] gets as `worker` are below this: the workers, as many more
    /// as the machine has cores for, and one for a session that runs a single order itself.
    pub fn slots(&self) -> usize {
        self.workers().max(self.cores) + 1
    }

    /// The runs that have not ended, in no particular order. Single orders, which run on the
    /// threads of their sessions, are not among them.
    pub fn pending(&self) -> Vec<Pending> {
        let state = self.shared.state.lock();
        let pending = |container: &Container| Pending {
            owner: container.ticket.owner,
            priority: container.ticket.priority,
            orders: container.count,
            begun: container.next,
            running: container.running,
            predicted_nanos: container.ticket.predicted_nanos(),
        };
        state.containers.iter().map(pending).collect()
    }

    /// Suspends the queries under `suspension` when their work orders that run have ended. A cancel
    /// ends them nevertheless.
    pub fn suspend(&self, suspension: &Suspension) {
        let _state = self.shared.state.lock();
        suspension.0.store(true, Ordering::Relaxed);
    }

    /// Lets the queries under `suspension` go on; costs nothing when they do.
    pub fn resume(&self, suspension: &Suspension) {
        if !suspension.is_on() {
            return;
        }
        let _state = self.shared.state.lock();
        suspension.0.store(false, Ordering::Relaxed);
        self.shared.work.notify_all();
    }

    /// Waits until `ticket` is not suspended, or `orders` are not to run any more.
    fn wait_resumed(&self, ticket: &Ticket, orders: &dyn WorkOrders) {
        let mut state = self.shared.state.lock();
        while ticket.suspension.is_on() && !orders.stopped() {
            self.shared.work.wait_for(&mut state, std::time::Duration::from_millis(50));
        }
    }

    /// How workers are shared from now on, also by running queries.
    pub fn set_policy(&self, policy: &'static dyn Policy) {
        self.shared.state.lock().policy = policy;
    }

    /// How workers are shared.
    pub fn policy(&self) -> &'static dyn Policy {
        self.shared.state.lock().policy
    }

    /// Runs orders `0..count` and returns when all have ended, or those begun after a stop.
    /// Workers below `slots` run them, a number that [`Self::slots`] gave. A single order runs on
    /// the calling thread, as the last of them.
    ///
    /// # Errors
    /// [`RunError::Panicked`] if an order panicked.
    pub fn run(
        &self,
        ticket: &Arc<Ticket>,
        orders: Arc<dyn WorkOrders>,
        Extent { slots, count }: Extent,
    ) -> Result<(), RunError> {
        if count == 0 || orders.stopped() {
            return Ok(());
        }
        if count == 1 {
            if ticket.suspension.is_on() {
                waiting(|| self.wait_resumed(ticket, &*orders));
            }
            if orders.stopped() {
                return Ok(());
            }
            let panicked = run_one(&*orders, ticket, slots - 1, 0);
            return panicked.map_or(Ok(()), |message| Err(RunError::Panicked(message)));
        }
        let mut state = self.shared.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        let ticket = Arc::clone(ticket);
        let container =
            Container { slots, ticket, orders, next: 0, count, running: 0, panicked: None, id };
        state.containers.push(container);
        self.shared.work.notify_all();
        drop(state);
        waiting(|| self.wait_finished(id))
    }

    /// Waits until the container `id` is done.
    fn wait_finished(&self, id: u64) -> Result<(), RunError> {
        let mut state = self.shared.state.lock();
        loop {
            if let Some(i) = state.finished.iter().position(|(finished, _)| *finished == id) {
                let (_, panicked) = state.finished.swap_remove(i);
                return panicked.map_or(Ok(()), |message| Err(RunError::Panicked(message)));
            }
            // Stopped before any worker took an order: nobody would report the end.
            let idle = |c: &Container| c.id == id && c.running == 0 && c.exhausted();
            if let Some(i) = state.containers.iter().position(idle) {
                state.containers.swap_remove(i);
                return Ok(());
            }
            self.shared.done.wait_for(&mut state, std::time::Duration::from_millis(50));
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        let threads = {
            let mut state = self.shared.state.lock();
            state.closing = true;
            std::mem::take(&mut state.threads)
        };
        self.shared.work.notify_all();
        for thread in threads.into_iter().flatten() {
            // A worker catches panics of work orders, so joining fails only if the foreman is
            // broken; nothing is left to do then.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count {
        hits: Vec<AtomicUsize>,
        stop: AtomicBool,
        stop_at: Option<usize>,
    }

    impl WorkOrders for Count {
        fn run(&self, _worker: usize, order: usize) {
            self.hits[order].fetch_add(1, Ordering::Relaxed);
            assert!(order != 77, "order 77");
            if self.stop_at == Some(order) {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        fn stopped(&self) -> bool {
            self.stop.load(Ordering::Relaxed)
        }
    }

    fn count(orders: usize, stop_at: Option<usize>) -> Arc<Count> {
        let hits = (0..orders).map(|_| AtomicUsize::new(0)).collect();
        Arc::new(Count { hits, stop: AtomicBool::new(false), stop_at })
    }

    fn of(scheduler: &Scheduler, count: usize) -> Extent {
        Extent { slots: scheduler.slots(), count }
    }

    /// Orders that wait until they are let go, and how many there are at once.
    #[derive(Default)]
    struct Gate {
        inside: AtomicUsize,
        most: AtomicUsize,
        open: AtomicBool,
    }

    impl WorkOrders for Gate {
        fn run(&self, _worker: usize, _order: usize) {
            let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(inside, Ordering::SeqCst);
            while !self.open.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            self.inside.fetch_sub(1, Ordering::SeqCst);
        }
        fn stopped(&self) -> bool {
            false
        }
    }

    fn await_inside(gate: &Gate, count: usize) {
        while gate.inside.load(Ordering::SeqCst) != count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn workers_come_and_go_under_a_run() {
        let scheduler = Scheduler::new(1);
        let (gate, slots) = (Arc::new(Gate::default()), 5);
        let (run, ticket) = (Arc::clone(&gate), Ticket::new(Priority(1)));
        std::thread::scope(|scope| {
            let run = scope.spawn(|| scheduler.run(&ticket, run, Extent { slots, count: 40 }));
            await_inside(&gate, 1);
            scheduler.set_workers(8);
            // Workers of the run's slots alone: five of the eight.
            await_inside(&gate, slots);
            scheduler.set_workers(2);
            gate.open.store(true, Ordering::SeqCst);
            run.join().expect("no panic").expect("runs");
        });
        assert_eq!((gate.most.load(Ordering::SeqCst), scheduler.workers()), (slots, 2));

        // Those that retired are gone, and none of the others.
        let gate = Arc::new(Gate::default());
        let (run, ticket) = (Arc::clone(&gate), Ticket::new(Priority(1)));
        std::thread::scope(|scope| {
            let run = scope.spawn(|| scheduler.run(&ticket, run, Extent { slots, count: 40 }));
            await_inside(&gate, 2);
            gate.open.store(true, Ordering::SeqCst);
            run.join().expect("no panic").expect("runs");
        });
        assert_eq!(gate.most.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn workers_that_come_back_at_once_are_the_same() {
        let scheduler = Scheduler::new(4);
        for round in 0..200 {
            scheduler.set_workers(1 + round % 4);
            let work = count(20, None);
            let ticket = Ticket::new(Priority(1));
            scheduler.run(&ticket, Arc::clone(&work) as _, of(&scheduler, 20)).expect("runs");
            assert!(work.hits.iter().all(|h| h.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn every_order_runs_once() {
        let scheduler = Scheduler::new(3);
        for orders in [0, 1, 2, 70] {
            let work = count(orders, None);
            let ticket = Ticket::new(Priority(1));
            scheduler.run(&ticket, Arc::clone(&work) as _, of(&scheduler, orders)).expect("runs");
            assert!(work.hits.iter().all(|h| h.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn a_panic_ends_its_run_only() {
        let scheduler = Scheduler::new(2);
        let ticket = Ticket::new(Priority(1));
        let error = scheduler.run(&ticket, count(100, None), of(&scheduler, 100));
        assert_eq!(error, Err(RunError::Panicked("order 77".to_owned())));
        let extent = of(&scheduler, 50);
        scheduler.run(&ticket, count(50, None), extent).expect("the workers are alive");
    }

    #[test]
    fn pending_runs_are_seen() {
        struct Held(Mutex<()>);
        impl WorkOrders for Held {
            fn run(&self, _worker: usize, _order: usize) {
                let _held = self.0.lock();
            }
            fn stopped(&self) -> bool {
                false
            }
        }
        let scheduler = Scheduler::new(2);
        let orders = Arc::new(Held(Mutex::new(())));
        let held = orders.0.lock();
        let ticket = Ticket::of(Priority(3), 7, &Suspension::default());
        std::thread::scope(|scope| {
            let run = Arc::clone(&orders) as Arc<dyn WorkOrders>;
            let run = scope.spawn(|| scheduler.run(&ticket, run, of(&scheduler, 5)));
            let seen = loop {
                match scheduler.pending()[..] {
                    [one] if one.running == 2 => break one,
                    _ => std::thread::yield_now(),
                }
            };
            let expected = Pending {
                owner: 7,
                priority: Priority(3),
                orders: 5,
                begun: 2,
                running: 2,
                predicted_nanos: None,
            };
            assert_eq!(seen, expected);
            drop(held);
            run.join().expect("no panic").expect("runs");
        });
        assert!(scheduler.pending().is_empty());
    }

    /// Orders that note their name, of which the first waits until it is let go.
    struct Named {
        name: &'static str,
        ran: Arc<Mutex<Vec<&'static str>>>,
        gate: Arc<Gate>,
    }

    impl WorkOrders for Named {
        fn run(&self, worker: usize, order: usize) {
            self.ran.lock().push(self.name);
            if order == 0 {
                self.gate.run(worker, order);
            }
        }
        fn stopped(&self) -> bool {
            false
        }
    }

    fn await_pending(scheduler: &Scheduler, count: usize) {
        while scheduler.pending().len() != count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_lower_priority_is_suspended_while_a_higher_one_has_orders() {
        let scheduler = Scheduler::new(1);
        scheduler.set_policy(crate::policy_named("highest_first").expect("a policy"));
        let ran = Arc::default();
        let named = |name| {
            let (ran, gate) = (Arc::clone(&ran), Arc::new(Gate::default()));
            Arc::new(Named { name, ran, gate })
        };
        let (low, high) = (named("low"), named("high"));
        high.gate.open.store(true, Ordering::SeqCst);
        let run = |orders: Arc<Named>, priority| {
            let extent = of(&scheduler, 4);
            scheduler.run(&Ticket::new(Priority(priority)), orders, extent).expect("runs");
        };
        std::thread::scope(|scope| {
            let orders = Arc::clone(&low);
            scope.spawn(move || run(orders, 1));
            await_inside(&low.gate, 1);
            scope.spawn(move || run(high, 2));
            await_pending(&scheduler, 2);
            low.gate.open.store(true, Ordering::SeqCst);
        });
        let expected = ["low", "high", "high", "high", "high", "low", "low", "low"];
        assert_eq!(*ran.lock(), expected);
    }

    #[test]
    fn a_suspended_query_gives_its_workers_back_and_goes_on_where_it_was() {
        let scheduler = Scheduler::new(2);
        let suspension = Suspension::default();
        let ticket = Ticket::of(Priority(9), 1, &suspension);
        let gate = Arc::new(Gate::default());
        std::thread::scope(|scope| {
            let (orders, ticket) = (Arc::clone(&gate), &ticket);
            let run = scope.spawn(|| scheduler.run(ticket, orders, of(&scheduler, 20)));
            await_inside(&gate, 2);
            scheduler.suspend(&suspension);
            gate.open.store(true, Ordering::SeqCst);
            await_inside(&gate, 0);
            // Both workers serve others, and no order of the first is begun.
            for _ in 0..10 {
                let (other, extent) = (count(30, None), of(&scheduler, 30));
                scheduler.run(&Ticket::new(Priority(1)), other, extent).expect("runs");
            }
            let begun: Vec<usize> = scheduler.pending().iter().map(|p| p.begun).collect();
            assert_eq!(begun, [2]);
            scheduler.resume(&suspension);
            run.join().expect("no panic").expect("runs");
        });
        assert!(scheduler.pending().is_empty());
    }

    #[test]
    fn a_stop_ends_a_suspended_query() {
        let scheduler = Scheduler::new(1);
        let suspension = Suspension::default();
        scheduler.suspend(&suspension);
        let ticket = Ticket::of(Priority(1), 1, &suspension);
        for orders in [1, 5] {
            let work = count(orders, None);
            std::thread::scope(|scope| {
                let (shared, ticket) = (Arc::clone(&work) as _, &ticket);
                let run = scope.spawn(|| scheduler.run(ticket, shared, of(&scheduler, orders)));
                work.stop.store(true, Ordering::Relaxed);
                run.join().expect("no panic").expect("it ends");
            });
            assert!(work.hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 0));
        }
    }

    #[test]
    fn a_stop_leaves_later_orders_out() {
        let scheduler = Scheduler::new(1);
        let work = count(60, Some(10));
        let ticket = Ticket::new(Priority(1));
        scheduler.run(&ticket, Arc::clone(&work) as _, of(&scheduler, 60)).expect("no panic");
        assert_eq!(work.hits[11].load(Ordering::Relaxed), 0);
    }
}
