//! `tessera shared-demo`: a cluster of shared data on this machine, whose processes are killed
//! while clients work.
//!
//! ```text
//! this process                          its children: `tessera ...`
//!   terminals: TPC-C, SQL      ---->      serve --shared (2 nodes)  ---->  commit-manager
//!   analyst: Arrow Flight      ---->                                ---->  store (2, then 3)
//!   story: SIGKILL, start again  -->      any of them
//!          a store comes, goes   -->      stores --add, --remove    ---->  commit-manager
//! ```
//! The story is a list ([`STORY`]): what happens when. At the end, what clients were told is
//! compared with what there is.
//! Elsewhere: the five transactions and their conditions (`workloads::tpcc`).

mod cluster;
mod population;
mod traffic;
mod analyst;
mod audit;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use types::{Error, Result, SqlState};
use workloads::tpcc::Scale;

use crate::arguments::SharedDemo;

use analyst::{Analysed, Analyst};
use cluster::{Change, Cluster, Family, Moves, NODES, STORES};
use traffic::{Counts, Nodes, Traffic};

/// Terminals, each at home in a warehouse; half of them on each node.
const TERMINALS: usize = 4;

/// New-Orders that have to be acknowledged between two events: clients go on.
const BETWEEN: u64 = 2;

/// Time that they have for it, beyond that of the story.
const PATIENCE: Duration = Duration::from_secs(60);

/// The node that is killed.
const KILLED: usize = NODES - 1;

/// The store that is killed.
const RESTARTED: usize = STORES - 1;

/// The store that comes and goes.
const ADDED: usize = STORES;

/// Words of `tessera stores` about shares that change.
const MOVING: &str = "keys move";

/// Time between two lines about them.
const SECOND: Duration = Duration::from_secs(1);

/// Time between two looks at who goes on.
const LOOK: Duration = Duration::from_millis(100);

/// An event of the story.
#[derive(Clone, Copy)]
enum Event {
    KillNode,
    StartNode,
    AddStore,
    KillStore,
    StartStore,
    RemoveStore,
    EndStore,
}

/// Events, each with its time in percent of the run, or as soon as what came before is over.
const STORY: [(u32, Event); 7] = [
    (15, Event::KillNode),
    (30, Event::StartNode),
    (35, Event::AddStore),
    (60, Event::KillStore),
    (63, Event::StartStore),
    (75, Event::RemoveStore),
    (90, Event::EndStore),
];

/// Says something to the user, who may have stopped listening: that must not end the demo before
/// its processes.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Ends all children at Ctrl-C, and wakes this thread; the flag says that it happened.
fn interrupts(family: &Family) -> Arc<AtomicBool> {
    let is_interrupted = Arc::new(AtomicBool::new(false));
    let (family, told, flag) = (family.clone(), thread::current(), Arc::clone(&is_interrupted));
    let handler = move || {
        flag.store(true, Ordering::Release);
        family.end();
        told.unpark();
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        eprintln!("tessera: Ctrl-C will not end the program in order: {error}");
    }
    is_interrupted
}

/// Runs the demo; status 1 when something is not as it has to be, or Ctrl-C ended it.
///
/// # Errors
/// Errors of processes that do not start, and of nodes.
pub(crate) fn run(options: &SharedDemo) -> Result<ExitCode> {
    let family = Family::default();
    let is_interrupted = interrupts(&family);
    let outcome = tell(options, &family, &is_interrupted);
    if is_interrupted.load(Ordering::Acquire) {
        say("Interrupted: all processes have ended, and nothing was checked.");
        return Ok(ExitCode::FAILURE);
    }
    outcome.map(|is_fine| if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The whole story; true when everything is as it has to be.
fn tell(options: &SharedDemo, family: &Family, is_interrupted: &AtomicBool) -> Result<bool> {
    let mut cluster = Cluster::start(family, options.keep)?;
    let place = cluster.directory().display();
    say(&format!("A commit manager, {STORES} stores and {NODES} nodes, in {place}:"));
    cluster.servers().for_each(|server| say(&format!("  {server}")));
    let scale = Scale::part(options.warehouses, options.scale);
    let addresses: Vec<_> = cluster.nodes().iter().map(|node| node.address).collect();
    let start = Instant::now();
    population::load(&addresses, &scale)?;
    say(&format!(
        "TPC-C: {} warehouses with {} % of the rows of the specification's, loaded in {:.1} s",
        scale.warehouses,
        options.scale * 100.0,
        start.elapsed().as_secs_f64()
    ));
    let nodes = Nodes::new(cluster.nodes());
    let traffic = Traffic::new(&scale, &nodes);
    let time = Duration::from_secs(options.seconds.into());
    let stores = AtomicUsize::new(STORES);
    let story = Story { traffic: &traffic, nodes: &nodes, stores, is_interrupted, time };
    let Analysed { snapshots, parts, rows } = story.run(&mut cluster)?;
    say(&format!(
        "{snapshots} snapshots of order_line were read through Arrow Flight: {rows} rows in \
         {parts} parts."
    ));
    let pause = traffic.longest_pause();
    say(&format!("The longest time without a commit was {:.2} s.", pause.as_secs_f64()));
    let (ledger, problems) = traffic.into_findings();
    problems.iter().for_each(|problem| say(&format!("WRONG {problem}")));
    let node = nodes.of(0).ok_or_else(|| Error::internal("no node is up"))?;
    let is_sound = audit::run(node, &scale, &ledger)?;
    if options.keep {
        say(&format!("The data stays in {}; to start it again:", cluster.directory().display()));
        cluster.commands().iter().for_each(|command| say(&format!("  {command}")));
    }
    Ok(is_sound && problems.is_empty())
}

/// A run: who works, and how long.
struct Story<'a> {
    traffic: &'a Traffic<'a>,
    nodes: &'a Nodes,
    /// How many stores are up.
    stores: AtomicUsize,
    is_interrupted: &'a AtomicBool,
    time: Duration,
}

impl Story<'_> {
    /// Runs terminals, the analyst and the events.
    fn run(&self, cluster: &mut Cluster) -> Result<Analysed> {
        say(&format!("{TERMINALS} terminals and an analyst, for {} s:", self.time.as_secs()));
        say("second   commits  New-Orders  retries  analyses  nodes  stores");
        thread::scope(|scope| {
            for number in 0..TERMINALS {
                scope.spawn(move || self.traffic.terminal(number));
            }
            let analyst = scope.spawn(|| Analyst::new(self.traffic, self.nodes).run());
            let rates = scope.spawn(|| self.rates());
            let told = self.events(cluster);
            self.traffic.end();
            rates.thread().unpark();
            told?;
            analyst.join().map_err(|_| Error::internal("the analyst panicked"))
        })
    }

    /// Prints what was done in each second.
    fn rates(&self) {
        let start = Instant::now();
        let mut before = Counts::default();
        for second in 1.. {
            let end = start + Duration::from_secs(second);
            while !self.traffic.is_over() && Instant::now() < end {
                thread::park_timeout(end.saturating_duration_since(Instant::now()));
            }
            if self.traffic.is_over() {
                return;
            }
            let now = self.traffic.counts();
            say(&format!(
                "{second:>6} {:>9} {:>11} {:>8} {:>9} {:>6} {:>7}",
                now.commits - before.commits,
                now.new_orders - before.new_orders,
                now.retries - before.retries,
                now.analyses - before.analyses,
                self.nodes.count(),
                self.stores.load(Ordering::Relaxed)
            ));
            before = now;
        }
    }

    /// Does what happens, each at its time; ends with the run.
    fn events(&self, cluster: &mut Cluster) -> Result<()> {
        let start = Instant::now();
        for (percent, event) in STORY {
            // The keys of a store wait until it is started.
            let work = if matches!(event, Event::StartStore) { Work::None } else { Work::Orders };
            if !self.waits_until(start + self.time * percent / 100, work)? {
                return Ok(());
            }
            self.happens(event, cluster, start)?;
        }
        self.waits_until(start + self.time, Work::OrdersAndAnalysis).map(drop)
    }

    /// Waits for a time and for work; false when a client failed meanwhile, or when the work is
    /// not done.
    fn waits_until(&self, end: Instant, work: Work) -> Result<bool> {
        let before = self.traffic.counts();
        while !self.traffic.is_over() {
            let now = Instant::now();
            let counts = self.traffic.counts();
            if now >= end && work.is_done(before, counts) {
                return Ok(true);
            }
            if now >= end + PATIENCE {
                let seconds = PATIENCE.as_secs();
                self.traffic.fail(format!("clients did not go on for {seconds} s"));
                return Ok(false);
            }
            self.check_interrupt()?;
            let left = end.saturating_duration_since(now);
            thread::park_timeout(if left.is_zero() { LOOK } else { left.min(LOOK) });
        }
        Ok(false)
    }

    /// # Errors
    /// 57014 when Ctrl-C was pressed.
    fn check_interrupt(&self) -> Result<()> {
        if self.is_interrupted.load(Ordering::Acquire) {
            return Err(Error::new(SqlState::QUERY_CANCELED, "the demo was interrupted"));
        }
        Ok(())
    }

    /// Says what a change of the stores says, until it is over or the clients are.
    fn moves(&self, moves: Moves, start: Instant) -> Result<()> {
        let (mut last, mut shown) = (Instant::now(), None::<Instant>);
        loop {
            match moves.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    last = Instant::now();
                    let line = line.trim_start_matches("tessera: ");
                    // As often as rates, but for the shares at the end.
                    let is_new = shown.is_none_or(|shown| shown.elapsed() >= SECOND);
                    if is_new || !line.starts_with(MOVING) {
                        shown = Some(last);
                        say(&format!("{:>6.1} {line}", start.elapsed().as_secs_f64()));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.check_interrupt()?;
                    return moves.end();
                }
                Err(RecvTimeoutError::Timeout) if self.traffic.is_over() => return Ok(()),
                Err(RecvTimeoutError::Timeout) if last.elapsed() >= PATIENCE => {
                    let seconds = PATIENCE.as_secs();
                    self.traffic.fail(format!("keys did not move for {seconds} s"));
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => self.check_interrupt()?,
            }
        }
    }

    fn happens(&self, event: Event, cluster: &mut Cluster, start: Instant) -> Result<()> {
        let at = start.elapsed().as_secs_f64();
        match event {
            Event::KillNode => {
                let node = cluster.kill_node(KILLED);
                self.nodes.set(KILLED, None);
                say(&format!("{at:>6.1} {} is killed (kill -9 {})", node.name, node.id));
            }
            Event::StartNode => {
                let node = cluster.replace_node(KILLED)?;
                say(&format!("{at:>6.1} {} is started (process {})", node.name, node.id));
                self.nodes.set(KILLED, Some(node.clone()));
            }
            Event::AddStore | Event::RemoveStore | Event::EndStore => {
                self.store_happens(event, cluster, start)?;
            }
            Event::KillStore => {
                self.stores.fetch_sub(1, Ordering::Relaxed);
                let store = cluster.kill_store(RESTARTED);
                let (name, id) = (&store.name, store.id);
                say(&format!("{at:>6.1} {name} is killed (kill -9 {id}): its keys wait for it"));
            }
            Event::StartStore => {
                let store = cluster.start_store(RESTARTED)?;
                self.stores.fetch_add(1, Ordering::Relaxed);
                let took = start.elapsed().as_secs_f64() - at;
                let name = &store.name;
                say(&format!("{at:>6.1} {name} is started again, and serves after {took:.2} s"));
            }
        }
        Ok(())
    }

    /// Does what happens to the store that comes and goes.
    fn store_happens(&self, event: Event, cluster: &mut Cluster, start: Instant) -> Result<()> {
        let at = start.elapsed().as_secs_f64();
        match event {
            Event::AddStore => {
                let store = cluster.new_store()?;
                say(&format!("{at:>6.1} {} is started (process {})", store.name, store.id));
                self.stores.fetch_add(1, Ordering::Relaxed);
                let what = "tessera stores --add: it takes its share of the keys";
                say(&format!("{at:>6.1} {what}"));
                self.moves(cluster.change(Change::Add, ADDED)?, start)
            }
            Event::RemoveStore => {
                let what = "tessera stores --remove: it gives its keys back";
                say(&format!("{at:>6.1} {what}"));
                self.moves(cluster.change(Change::Remove, ADDED)?, start)
            }
            _ => {
                let store = cluster.end_store(ADDED);
                self.stores.fetch_sub(1, Ordering::Relaxed);
                let (name, id) = (&store.name, store.id);
                say(&format!("{at:>6.1} {name} is killed (kill -9 {id}): nobody misses it"));
                Ok(())
            }
        }
    }
}

/// Work that clients have to do between two events.
#[derive(Clone, Copy)]
enum Work {
    None,
    /// So many orders as [`BETWEEN`] says.
    Orders,
    /// These, and all of the analyst's answers once.
    OrdersAndAnalysis,
}

impl Work {
    fn is_done(self, before: Counts, now: Counts) -> bool {
        let has_orders = now.new_orders >= before.new_orders + BETWEEN;
        match self {
            Self::None => true,
            Self::Orders => has_orders,
            Self::OrdersAndAnalysis => has_orders && now.analyses > before.analyses,
        }
    }
}
