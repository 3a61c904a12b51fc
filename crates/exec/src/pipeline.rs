//! Pipelines: sources, operators and sinks, and how work orders drive them.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use plan::Technique;
use plan::physical::OperatorId;
use sched::{Extent, RunError, WorkOrders};
use types::{Error, Result};

use crate::context::{PipelineProgress, Profile, QueryContext};
use crate::flow::Flow;

/// Demand for more rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Yes.
    More,
    /// No: the source stops, and no further work orders of the stream begin.
    Enough,
}

/// Where a flow comes from: streams are ordered by (segment, order, arrival within the order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Segment of the stream.
    pub segment: usize,
    /// Work order of the segment.
    pub order: usize,
}

/// Takes flows; the next operator or the sink.
pub type Push<'a> = dyn FnMut(Flow) -> Result<Demand> + 'a;

/// Rows by numbered work orders.
pub trait Source: Send + Sync {
    /// How many work orders there are.
    fn orders(&self) -> usize;

    /// The segments in whose place this source stands until their turn comes, where it does. Asked
    /// before anything else, by the thread that drives the stream.
    ///
    /// # Errors
    /// Whatever opening them meets.
    fn later(&self) -> Result<Option<Stream>> {
        Ok(None)
    }

    /// Pushes the flows of one work order; stops at [`Demand::Enough`].
    ///
    /// # Errors
    /// Whatever reading meets, and what `push` returns.
    fn run(&self, order: usize, push: &mut Push<'_>) -> Result<Demand>;
}

/// Turns flows into flows. Shared by workers; what a worker needs alone is in its state.
pub trait Operator: Send + Sync {
    /// A worker's state, made once per worker and segment. `()` by default.
    fn state(&self) -> Box<dyn Any + Send> {
        Box::new(())
    }

    /// Handles one flow of at least one row.
    ///
    /// # Errors
    /// Whatever evaluation meets, and what `push` returns.
    fn process(&self, state: &mut dyn Any, flow: Flow, push: &mut Push<'_>) -> Result<Demand>;

    /// The plan operator whose profile this adds to.
    fn id(&self) -> Option<OperatorId>;
}

/// The end of a stream.
pub trait Sink: Send + Sync {
    /// Rows that a worker gathers alone.
    type Local: Send + 'static;

    /// A worker's empty gathering.
    fn local(&self) -> Self::Local;

    /// Takes a flow of at least one row.
    ///
    /// # Errors
    /// Whatever storing meets, 53200 above all.
    fn consume(&self, local: &mut Self::Local, flow: Flow, place: Place) -> Result<Demand>;

    /// Told that no further flow comes from a work order.
    ///
    /// # Errors
    /// As [`Self::consume`].
    fn ended(&self, _place: Place) -> Result<()> {
        Ok(())
    }

    /// The plan operator whose profile the sink's time belongs to.
    fn id(&self) -> Option<OperatorId> {
        None
    }
}

/// A source and the operators that its flows pass.
#[derive(Clone)]
pub struct Segment {
    /// The source.
    pub source: Arc<dyn Source>,
    /// The operators, in order.
    pub operators: Vec<Arc<dyn Operator>>,
    /// The scan or other operator that the source's profile belongs to.
    pub source_id: Option<OperatorId>,
}

impl Segment {
    /// See [`Source::later`]: with the operators of this segment behind those of each.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn later(&self) -> Result<Option<Stream>> {
        let mut stream = self.source.later()?;
        for segment in stream.iter_mut().flat_map(|stream| &mut stream.segments) {
            segment.operators.extend(self.operators.iter().cloned());
        }
        Ok(stream)
    }
}

/// The segments of a stream in the order in which they run, each opened when its turn comes.
pub(crate) struct Turns {
    waiting: VecDeque<Segment>,
}

impl Turns {
    /// The segments of `stream`.
    pub(crate) fn of(stream: &Stream) -> Self {
        Self { waiting: stream.segments.iter().cloned().collect() }
    }

    /// The next segment.
    ///
    /// # Errors
    /// Whatever opening it meets.
    pub(crate) fn next(&mut self) -> Result<Option<Segment>> {
        while let Some(segment) = self.waiting.pop_front() {
            let Some(stream) = segment.later()? else { return Ok(Some(segment)) };
            stream.segments.into_iter().rev().for_each(|own| self.waiting.push_front(own));
        }
        Ok(None)
    }
}

/// Segments run one after the other into one sink.
#[derive(Clone, Default)]
pub struct Stream {
    /// The segments.
    pub segments: Vec<Segment>,
}

impl Stream {
    /// A stream of one source.
    pub fn new(source: Arc<dyn Source>, source_id: Option<OperatorId>) -> Self {
        Self { segments: vec![Segment { source, operators: Vec::new(), source_id }] }
    }

    /// Lets all flows pass `operator`.
    pub fn push_operator(&mut self, operator: Arc<dyn Operator>) {
        for segment in &mut self.segments {
            segment.operators.push(Arc::clone(&operator));
        }
    }

    /// Adds a source whose flows come after all others and pass only operators pushed later:
    /// unmatched build rows after a probe, say.
    pub fn push_source(&mut self, source: Arc<dyn Source>, source_id: Option<OperatorId>) {
        self.segments.push(Segment { source, operators: Vec::new(), source_id });
    }
}

/// Runs `stream` into `sink` and gives what each worker gathered.
///
/// # Errors
/// The first error of any work order; 57014 after a cancel; XX000 when a work order panicked.
pub fn drive<S: Sink + 'static>(
    context: &Arc<QueryContext>,
    stream: &Stream,
    sink: &Arc<S>,
) -> Result<Vec<S::Local>> {
    let slots = context.scheduler.slots();
    let mut locals: Vec<Option<S::Local>> = (0..slots).map(|_| None).collect();
    let mut turns = Turns::of(stream);
    for number in 0.. {
        let Some(segment) = turns.next()? else { break };
        let orders = segment.source.orders();
        let passed = segment.operators.iter().filter_map(|operator| operator.id());
        let progress = context.progress.begin(segment.source_id, passed, orders as u64);
        let run = Arc::new(Run {
            context: Arc::clone(context),
            progress,
            segment,
            number,
            sink: Arc::clone(sink),
            slots: locals.into_iter().map(|local| Mutex::new(Slot::new(local))).collect(),
            error: Mutex::new(None),
            stop: AtomicBool::new(false),
        });
        let shared = Arc::clone(&run) as Arc<dyn WorkOrders>;
        let extent = Extent { slots, count: orders };
        let outcome = if context.is_serial {
            run_serially(context, &shared, extent)
        } else {
            context.scheduler.run(&context.ticket, shared, extent)
        };
        if let Some(error) = run.error.lock().take() {
            return Err(error);
        }
        if let Err(RunError::Panicked(message)) = outcome {
            return Err(Error::internal(format!("a work order failed: {message}")));
        }
        context.check()?;
        let enough = run.stop.load(Ordering::Relaxed);
        locals = run.slots.iter().map(|slot| slot.lock().local.take()).collect();
        if enough {
            break;
        }
    }
    Ok(locals.into_iter().flatten().collect())
}

/// One work order of others.
struct Only {
    orders: Arc<dyn WorkOrders>,
    order: usize,
}

impl WorkOrders for Only {
    fn run(&self, worker: usize, _: usize) {
        self.orders.run(worker, self.order);
    }

    fn stopped(&self) -> bool {
        self.orders.stopped()
    }
}

/// Runs all orders on the calling thread: a single one is never given to a worker.
fn run_serially(
    context: &QueryContext,
    orders: &Arc<dyn WorkOrders>,
    Extent { slots, count }: Extent,
) -> std::result::Result<(), RunError> {
    (0..count).try_for_each(|order| {
        let only = Arc::new(Only { orders: Arc::clone(orders), order });
        context.scheduler.run(&context.ticket, only, Extent { slots, count: 1 })
    })
}

/// Runs work order `order` of `segment` on the calling thread, which may be within a work order of
/// another stream, and gives its flows to `push`.
///
/// # Errors
/// Whatever running meets, and what `push` returns.
pub(crate) fn run_here(
    context: &QueryContext,
    segment: &Segment,
    order: usize,
    push: &mut Push<'_>,
) -> Result<Demand> {
    let operators = &segment.operators;
    let mut states: Vec<_> = operators.iter().map(|operator| operator.state()).collect();
    let mut chain = Chain { context, columns: Columns::of(context), sink_id: None, nested: 0 };
    segment.source.run(order, &mut |flow| {
        context.check()?;
        chain.push(operators, &mut states, push, flow)
    })
}

/// State that one worker keeps between the work orders of a segment.
struct Slot<L> {
    local: Option<L>,
    states: Option<Vec<Box<dyn Any + Send>>>,
}

impl<L> Slot<L> {
    fn new(local: Option<L>) -> Self {
        Self { local, states: None }
    }
}

/// One segment being run.
struct Run<S: Sink> {
    context: Arc<QueryContext>,
    progress: Arc<PipelineProgress>,
    segment: Segment,
    number: usize,
    sink: Arc<S>,
    slots: Vec<Mutex<Slot<S::Local>>>,
    error: Mutex<Option<Error>>,
    stop: AtomicBool,
}

impl<S: Sink + 'static> WorkOrders for Run<S> {
    fn run(&self, worker: usize, order: usize) {
        let begin = Instant::now();
        let _entry = self.context.enter();
        let mut slot = self.slots[worker].lock();
        match self.run_order(&mut slot, order) {
            Ok(Demand::More) => {}
            Ok(Demand::Enough) => self.stop.store(true, Ordering::Relaxed),
            Err(error) => {
                self.error.lock().get_or_insert(error);
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        self.context.progress.end_order(&self.progress, begin.elapsed());
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.context.cancel.load(Ordering::Relaxed)
    }
}

impl<S: Sink + 'static> Run<S> {
    fn run_order(&self, slot: &mut Slot<S::Local>, order: usize) -> Result<Demand> {
        self.context.check()?;
        let operators = &self.segment.operators;
        let states =
            slot.states.get_or_insert_with(|| operators.iter().map(|o| o.state()).collect());
        let local = slot.local.get_or_insert_with(|| self.sink.local());
        let place = Place { segment: self.number, order };
        let mut sink = |flow: Flow| self.sink.consume(local, flow, place);
        let sink_id = self.sink.id();
        let columns = Columns::of(&self.context);
        let mut chain = Chain { context: &self.context, columns, sink_id, nested: 0 };
        let start = self.measured().then(Instant::now);
        let mut rows = 0u64;
        let mut push = |flow: Flow| {
            self.context.check()?;
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Demand::Enough);
            }
            rows += flow.rows() as u64;
            chain.push(operators, states, &mut sink, flow)
        };
        let demand = self.segment.source.run(order, &mut push)?;
        if let (Some(start), Some(id)) = (start, self.segment.source_id) {
            let counters = self.context.counters(id);
            let nanos = (start.elapsed().as_nanos() as u64).saturating_sub(chain.nested);
            counters.nanos.fetch_add(nanos, Ordering::Relaxed);
            counters.rows.fetch_add(rows, Ordering::Relaxed);
        }
        self.sink.ended(place)?;
        Ok(demand)
    }

    fn measured(&self) -> bool {
        self.context.profile == Profile::On
    }
}

/// When columns of flows are loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// When an operator uses them.
    Late,
    /// All of them before each operator.
    Copied,
}

impl Columns {
    fn of(context: &QueryContext) -> Self {
        if context.has(Technique::LateColumns) { Self::Late } else { Self::Copied }
    }
}

/// Pushes flows through the operators of a segment and measures them when asked.
struct Chain<'a> {
    context: &'a QueryContext,
    columns: Columns,
    sink_id: Option<OperatorId>,
    /// Nanoseconds spent in pushes since the caller last looked: not the caller's own time.
    nested: u64,
}

impl Chain<'_> {
    fn push(
        &mut self,
        operators: &[Arc<dyn Operator>],
        states: &mut [Box<dyn Any + Send>],
        sink: &mut Push<'_>,
        mut flow: Flow,
    ) -> Result<Demand> {
        if flow.rows() == 0 {
            return Ok(Demand::More);
        }
        let start = (self.context.profile == Profile::On).then(Instant::now);
        if self.columns == Columns::Copied {
            flow.load_all()?;
        }
        let outer = std::mem::take(&mut self.nested);
        let (Some((operator, operators)), Some((state, states))) =
            (operators.split_first(), states.split_first_mut())
        else {
            let demand = sink(flow);
            let nanos = start.map_or(0, |s| s.elapsed().as_nanos() as u64);
            if let (Some(_), Some(id)) = (start, self.sink_id) {
                self.context.counters(id).nanos.fetch_add(nanos, Ordering::Relaxed);
            }
            self.nested = outer + nanos;
            return demand;
        };
        let mut rows = 0u64;
        let demand = {
            let mut push = |flow: Flow| {
                rows += flow.rows() as u64;
                self.push(operators, states, sink, flow)
            };
            operator.process(&mut **state, flow, &mut push)
        };
        if let Some(start) = start {
            let total = start.elapsed().as_nanos() as u64;
            if let Some(id) = operator.id() {
                let counters = self.context.counters(id);
                counters.nanos.fetch_add(total.saturating_sub(self.nested), Ordering::Relaxed);
                counters.rows.fetch_add(rows, Ordering::Relaxed);
            }
            self.nested = outer + total;
        }
        demand
    }
}
