//! The foreman: containers of work orders, one per running query, and the monitor around them.
//!
//! Workers take orders in the monitor, or are sent them by a thread that does (`messages`); both
//! ways may be in use at once while the dispatch changes.

mod messages;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};
use types::waiting::waiting;

use crate::dispatch::Dispatch;
use crate::mailboxes::Mailboxes;
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
    /// Where workers that have no order go; None: they wait in the monitor.
    mailboxes: Option<Arc<Mailboxes>>,
    /// The threads of the foremen that led or lead.
    foremen: Vec<JoinHandle<()>>,
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

    fn dispatch(&self) -> Dispatch {
        if self.mailboxes.is_some() { Dispatch::Bus } else { Dispatch::Monitor }
    }

    /// True when workers are to be at `mailboxes`.
    fn is_served_by(&self, mailboxes: &Mailboxes) -> bool {
        let is_this = |mine: &Arc<Mailboxes>| std::ptr::eq(&raw const **mine, mailboxes);
        !self.closing && self.mailboxes.as_ref().is_some_and(is_this)
    }

    /// The mailboxes to which a worker without an order goes, as one of their members.
    fn enter(&self) -> Option<Arc<Mailboxes>> {
        let mailboxes = self.mailboxes.as_ref().filter(|_| !self.closing)?;
        mailboxes.add_member();
        Some(Arc::clone(mailboxes))
    }

    /// The ticket and the orders of the run `id`, of which an order was taken and has not ended.
    fn parts(&self, id: u64) -> (Arc<Ticket>, Arc<dyn WorkOrders>) {
        let container = self.containers.iter().find(|container| container.id == id);
        let container = container.expect("a run stays while one of its orders runs");
        (Arc::clone(&container.ticket), Arc::clone(&container.orders))
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
    /// Has workers, or the foreman for them, look at the state, which is let go.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let mailboxes = state.mailboxes.clone();
        self.work.notify_all();
        drop(state);
        if let Some(mailboxes) = mailboxes {
            mailboxes.look();
        }
    }

    /// Runs orders until the scheduler closes or needs no worker of this number.
    fn serve(&self, worker: usize) {
        let mut state = self.state.lock();
        loop {
            if worker >= state.target {
                // Under the lock: who adds a worker of this number starts another thread.
                state.threads.get_mut(worker).map(Option::take);
                return;
            }
            if let Some(mailboxes) = state.enter() {
                drop(state);
                messages::follow(self, &mailboxes, worker);
                state = self.state.lock();
                continue;
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
            mailboxes: None,
            foremen: Vec::new(),
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
        self.shared.wake(state);
    }

    /// How work orders reach workers from now on, also those of running queries. Costs nothing when
    /// it is so already.
    pub fn set_dispatch(&self, dispatch: Dispatch) {
        let mut state = self.shared.state.lock();
        if dispatch == state.dispatch() {
            return;
        }
        let left = state.mailboxes.take();
        if dispatch == Dispatch::Bus {
            let mailboxes = Arc::new(Mailboxes::new());
            let shared = Arc::clone(&self.shared);
            state.mailboxes = Some(Arc::clone(&mailboxes));
            state.foremen.retain(|foreman| !foreman.is_finished());
            state.foremen.push(worker::spawn_foreman(move || messages::lead(&shared, &mailboxes)));
        }
        self.shared.wake(state);
        if let Some(left) = left {
            left.look();
        }
    }

    /// How work orders reach workers.
    pub fn dispatch(&self) -> Dispatch {
        self.shared.state.lock().dispatch()
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
        let state = self.shared.state.lock();
        suspension.0.store(false, Ordering::Relaxed);
        self.shared.wake(state);
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
        self.shared.wake(state);
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
        let (threads, foremen) = {
            let mut state = self.shared.state.lock();
            state.closing = true;
            let threads = std::mem::take(&mut state.threads);
            let foremen = std::mem::take(&mut state.foremen);
            self.shared.wake(state);
            (threads, foremen)
        };
        for thread in threads.into_iter().flatten().chain(foremen) {
            // A worker catches panics of work orders, so joining fails only if the foreman is
            // broken; nothing is left to do then.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
