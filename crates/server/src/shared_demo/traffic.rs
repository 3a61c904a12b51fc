//! Clients of the cluster: terminals that run TPC-C, and what all clients know of each other.
//!
//! ```text
//! terminal: input -> its node, or another that is up -> acknowledged: ledger | in doubt: ledger
//! ```
//! A terminal whose node went away goes on with another; a transaction that was lost before its
//! COMMIT is tried again, one that was lost at its COMMIT is in doubt, and never tried again.
//! Elsewhere: whoever reads meanwhile (`analyst`).

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use workloads::tpcc::postgres::Connection;
use workloads::tpcc::{
    Answer, Failure, Input, Inputs, LOADED, Placed, SEED, Scale, SqlTerminal, answer, system_clock,
};

use super::cluster::Server;
use super::population::connect;

/// Pause before a client tries again what failed.
pub(super) const PAUSE: Duration = Duration::from_millis(5);

/// The nodes that are up, each in its place.
pub(super) struct Nodes(RwLock<Vec<Option<Server>>>);

impl Nodes {
    /// Nodes that are all up.
    pub(super) fn new(nodes: &[Server]) -> Self {
        Self(RwLock::new(nodes.iter().cloned().map(Some).collect()))
    }

    /// Says which node is up in a place, if any.
    pub(super) fn set(&self, place: usize, node: Option<Server>) {
        self.0.write()[place] = node;
    }

    /// Where the node of a client speaks PostgreSQL's protocol: that of its place, or the first
    /// one that is up.
    pub(super) fn of(&self, client: usize) -> Option<SocketAddr> {
        self.address(client, |node| Some(node.address))
    }

    /// Where the node of a client serves Arrow Flight.
    pub(super) fn flight_of(&self, client: usize) -> Option<SocketAddr> {
        self.address(client, |node| node.flight)
    }

    fn address(
        &self,
        client: usize,
        address: fn(&Server) -> Option<SocketAddr>,
    ) -> Option<SocketAddr> {
        let nodes = self.0.read();
        let own = nodes[client % nodes.len()].as_ref();
        own.or_else(|| nodes.iter().flatten().next()).and_then(address)
    }

    /// How many are up.
    pub(super) fn count(&self) -> usize {
        self.0.read().iter().flatten().count()
    }
}

/// An order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// When it was entered: microseconds since 1970 that no other order has.
    pub(super) time: i64,
    pub(super) warehouse: i32,
    pub(super) district: i32,
    pub(super) number: i32,
    pub(super) customer: i32,
    pub(super) lines: i64,
}

/// Orders as their clients know them.
#[derive(Default)]
pub(super) struct Ledger {
    /// Orders that a node acknowledged.
    pub(super) acknowledged: Vec<Order>,
    /// Times of those whose COMMIT was not answered.
    pub(super) doubtful: Vec<i64>,
}

/// Commits in a row.
struct Pace {
    last: Instant,
    longest: Duration,
}

/// Counts of what was done so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) commits: u64,
    pub(super) new_orders: u64,
    pub(super) retries: u64,
    pub(super) analyses: u64,
}

/// State that the clients share.
pub(super) struct Traffic<'a> {
    scale: Scale,
    nodes: &'a Nodes,
    is_over: AtomicBool,
    /// The time of the last order.
    clock: AtomicI64,
    commits: AtomicU64,
    new_orders: AtomicU64,
    retries: AtomicU64,
    analyses: AtomicU64,
    pace: Mutex<Pace>,
    ledger: Mutex<Ledger>,
    /// Problems that must not be.
    problems: Mutex<Vec<String>>,
}

impl<'a> Traffic<'a> {
    /// No client yet.
    pub(super) fn new(scale: &Scale, nodes: &'a Nodes) -> Self {
        Self {
            scale: *scale,
            nodes,
            is_over: AtomicBool::new(false),
            clock: AtomicI64::new(LOADED),
            commits: AtomicU64::new(0),
            new_orders: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            analyses: AtomicU64::new(0),
            pace: Mutex::new(Pace { last: Instant::now(), longest: Duration::ZERO }),
            ledger: Mutex::default(),
            problems: Mutex::default(),
        }
    }

    /// Tells all clients to end.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// True when clients should end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Counts so far.
    pub(super) fn counts(&self) -> Counts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            commits: load(&self.commits),
            new_orders: load(&self.new_orders),
            retries: load(&self.retries),
            analyses: load(&self.analyses),
        }
    }

    /// The longest time between two commits.
    pub(super) fn longest_pause(&self) -> Duration {
        self.pace.lock().longest
    }

    /// Knowledge of the clients, once they ended: orders, and problems.
    pub(super) fn into_findings(self) -> (Ledger, Vec<String>) {
        (self.ledger.into_inner(), self.problems.into_inner())
    }

    /// How many orders were acknowledged so far.
    pub(super) fn acknowledged(&self) -> usize {
        self.ledger.lock().acknowledged.len()
    }

    /// The first orders that were acknowledged.
    pub(super) fn first_orders(&self, count: usize) -> Vec<Order> {
        self.ledger.lock().acknowledged[..count].to_vec()
    }

    /// Notes that the analyst has all answers once more.
    pub(super) fn analysed(&self) {
        self.analyses.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes what must not happen; nobody goes on then.
    pub(super) fn fail(&self, problem: String) {
        self.problems.lock().push(problem);
        self.end();
    }

    /// Runs transactions until the end.
    pub(super) fn terminal(&self, number: usize) {
        let mut inputs = Inputs::new(&self.scale, SEED, 1, number, || 0);
        let mut open = None;
        while !self.is_over() {
            let Some(node) = self.nodes.of(number) else {
                thread::sleep(PAUSE);
                continue;
            };
            let mut next = || self.entered(inputs.next_input());
            match self.serve(Place { client: number, node }, &mut next, &mut open) {
                Ok(()) => {}
                Err(Failure::Fatal(message)) => return self.fail(message),
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// The input with a time that no other order has.
    fn entered(&self, mut input: Input) -> Input {
        if let Input::NewOrder(order) = &mut input {
            let now = system_clock();
            let later = |last: i64| Some(now.max(last + 1));
            // The closure always gives a time.
            let last = self.clock.fetch_update(Ordering::SeqCst, Ordering::SeqCst, later);
            order.time = now.max(last.unwrap_or_else(|last| last) + 1);
        }
        input
    }

    /// Runs transactions on one node, as long as it is the client's; `open` is the one that is
    /// still to be done.
    fn serve(
        &self,
        place: Place,
        next: &mut dyn FnMut() -> Input,
        open: &mut Option<Input>,
    ) -> Result<(), Failure> {
        let mut terminal = SqlTerminal::new(Connection::new(connect(place.node)?))?;
        while !self.is_over() && self.nodes.of(place.client) == Some(place.node) {
            let input = *open.get_or_insert_with(&mut *next);
            match answer(&mut terminal, &input) {
                Ok(answer) => self.done(&input, &answer),
                Err(Failure::Retry(_)) => {
                    self.retries.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(PAUSE);
                    continue;
                }
                Err(Failure::Doubt(message)) => {
                    *open = None;
                    if let Input::NewOrder(order) = &input {
                        self.ledger.lock().doubtful.push(order.time);
                    }
                    return Err(Failure::Doubt(message));
                }
                Err(failure) => return Err(failure),
            }
            *open = None;
        }
        Ok(())
    }

    /// Notes an acknowledged transaction.
    fn done(&self, input: &Input, answer: &Answer) {
        if *answer == Answer::Placed(None) {
            // Rolled back, as its input bids.
            return;
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        let mut pace = self.pace.lock();
        pace.longest = pace.longest.max(now.saturating_duration_since(pace.last));
        pace.last = now.max(pace.last);
        drop(pace);
        if let (Input::NewOrder(order), Answer::Placed(Some(Placed { order: number, .. }))) =
            (input, answer)
        {
            self.new_orders.fetch_add(1, Ordering::Relaxed);
            self.ledger.lock().acknowledged.push(Order {
                time: order.time,
                warehouse: order.warehouse,
                district: order.district,
                number: *number,
                customer: order.customer,
                lines: order.lines().len() as i64,
            });
        }
    }
}

/// A client, and the node that serves it.
#[derive(Clone, Copy)]
struct Place {
    client: usize,
    node: SocketAddr,
}
