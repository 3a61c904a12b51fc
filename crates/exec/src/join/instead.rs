//! A hash join in the place of an index join whose look-ups cost more than expected.
//!
//! ```text
//! look-ups cost cost_max --> work orders of the inner scan, each by the worker that comes next
//!   other outer rows go on by index      '-- the last one: BuildRows -> KeyTable -> Probe
//! later outer rows pass the probe
//! ```
//! All of this happens within the work orders of the outer stream: no worker waits for another, for
//! there may be no other. Without memory for the build side the index join goes on.
//!
//! Invariant: an outer row is joined by index or by the probe, as a whole.
//! Elsewhere: the index join (`index::join`), when it is worth it (`plan::lower::index`).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use kernels::Batch;
use parking_lot::Mutex;
use plan::physical::{
    Expr, HashInstead, JoinKey, JoinKind, JoinMethod, Node, Operator as PlanOperator, OperatorId,
};
use storage::{MemoryCategory, Reservation};
use types::{Error, Result, SqlState};

use super::build::{BuildInput, BuildRows};
use super::layout::Layout;
use super::probe::Probe;
use super::table::KeyTable;
use super::{Numbering, Spec, null_code, pads_probe_rows};
use crate::expr::columns_of;
use crate::opener::Opener;
use crate::pipeline::{Demand, Operator, Segment, Turns, run_here};
use crate::pushed::PushedFilter;

/// The hash join that an index join may go over to.
pub(crate) struct Instead {
    /// Opens the inner scan, once it is wanted.
    opener: Opener,
    plan: Arc<HashInstead>,
    /// Filters from above on columns of the inner scan.
    filters: Vec<PushedFilter>,
    id: OperatorId,
    kind: JoinKind,
    outer_width: usize,
    output_columns: Vec<usize>,
    /// Cost of the look-ups made so far.
    spent: AtomicU64,
    gathering: Mutex<Option<Arc<Gathering>>>,
    /// The probe once its build side is complete; None inside when that had no memory.
    probe: OnceLock<Option<Probe>>,
}

/// The build side on its way.
struct Gathering {
    spec: Spec,
    input: BuildInput,
    /// Work orders of the inner scan: segment and number.
    orders: Vec<(Segment, usize)>,
    /// The next one to begin.
    next: AtomicUsize,
    /// How many have not ended.
    left: AtomicUsize,
    gathered: Mutex<Gathered>,
}

/// Rows of the inner scan, by the number of the work order that gave them.
struct Gathered {
    batches: Vec<(usize, Vec<Batch>)>,
    memory: Reservation,
}

impl Instead {
    /// The hash join of the index join `node`; None when it has none. `filters` are those from
    /// above on columns of the inner scan.
    pub(crate) fn new(opener: &Opener, node: &Node, filters: Vec<PushedFilter>) -> Option<Self> {
        let PlanOperator::IndexJoin { outer, kind, output_columns, instead, .. } = &node.operator
        else {
            return None;
        };
        let plan = Arc::clone(instead.as_ref()?);
        Some(Self {
            opener: opener.clone(),
            plan,
            filters,
            id: node.id,
            kind: *kind,
            outer_width: outer.output.len(),
            output_columns: output_columns.clone(),
            spent: AtomicU64::new(0),
            gathering: Mutex::new(None),
            probe: OnceLock::new(),
        })
    }

    /// Cost that look-ups may still have before the hash join is made; no limit once it is being
    /// made, or cannot be.
    pub(crate) fn cost_left(&self) -> u64 {
        let spent = self.spent.load(Ordering::Relaxed);
        if spent >= self.plan.cost_max { u64::MAX } else { self.plan.cost_max - spent }
    }

    /// Notes that look-ups had this cost.
    pub(crate) fn spend(&self, cost: u64) {
        self.spent.fetch_add(cost, Ordering::Relaxed);
    }

    /// The probe, when look-ups have cost enough and its build side is complete. Takes part in
    /// making it.
    ///
    /// # Errors
    /// Whatever reading the inner table meets.
    pub(crate) fn operator(&self) -> Result<Option<&dyn Operator>> {
        if self.probe.get().is_none() && self.spent.load(Ordering::Relaxed) >= self.plan.cost_max {
            match self.help() {
                Err(error) if error.state() == SqlState::OUT_OF_MEMORY => {
                    let _ = self.probe.set(None);
                }
                helped => helped?,
            }
            if self.probe.get().is_some() {
                *self.gathering.lock() = None;
            }
        }
        let probe = self.probe.get().and_then(Option::as_ref);
        Ok(probe.map(|probe| probe as &dyn Operator))
    }

    /// Runs work orders of the inner scan until none is left to begin; who ends the last one makes
    /// the probe.
    fn help(&self) -> Result<()> {
        let Some(gathering) = self.gathering()? else {
            return Ok(());
        };
        while self.probe.get().is_none() {
            let number = gathering.next.fetch_add(1, Ordering::Relaxed);
            if number >= gathering.orders.len().max(1) {
                return Ok(());
            }
            gathering.run(&self.opener, number)?;
            if gathering.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                let _ = self.probe.set(Some(gathering.probe(&self.opener)?));
            }
        }
        Ok(())
    }

    /// The build side on its way, begun by the first who asks; None when it has come.
    fn gathering(&self) -> Result<Option<Arc<Gathering>>> {
        let mut gathering = self.gathering.lock();
        if gathering.is_none() && self.probe.get().is_none() {
            *gathering = Some(Arc::new(self.begun()?));
        }
        Ok(gathering.clone())
    }

    fn begun(&self) -> Result<Gathering> {
        let HashInstead { scan, keys, residual, .. } = &*self.plan;
        let mut opener = self.opener.clone();
        let resolve = |key: &JoinKey| -> Result<JoinKey> {
            let (probe, build) = (opener.resolve(&key.probe)?, opener.resolve(&key.build)?);
            Ok(JoinKey { probe, build, nulls: key.nulls })
        };
        let keys = keys.iter().map(resolve).collect::<Result<Vec<_>>>()?;
        let condition = residual.as_ref().map(|r| opener.resolve(r)).transpose()?;
        let used = condition.as_ref().map(columns_of).unwrap_or_default();
        let (outer_width, inner_width) = (self.outer_width, scan.output.len());
        let output = &self.output_columns;
        let mut layout = Layout::new(self.kind, outer_width, inner_width, &used, output);
        let exprs: Vec<&Expr> = keys.iter().map(|key| &key.build).collect();
        let input = BuildInput::new(scan, &mut layout, &exprs, Vec::new())?;
        let stream = opener.open(scan, self.filters.clone())?;
        let mut orders: Vec<(Segment, usize)> = Vec::new();
        let mut turns = Turns::of(&stream);
        while let Some(segment) = turns.next()? {
            let own = 0..segment.source.orders();
            orders.extend(own.map(|order| (segment.clone(), order)));
        }
        let (method, numbering) = (JoinMethod::Hash, Numbering::None);
        let (id, kind) = (self.id, self.kind);
        let spec = Spec { id, kind, keys, condition, method, layout, numbering };
        let memory = Reservation::empty(&opener.context.pool, MemoryCategory::HashTables);
        Ok(Gathering {
            spec,
            input,
            // Without any there is one, which does nothing.
            left: AtomicUsize::new(orders.len().max(1)),
            orders,
            next: AtomicUsize::new(0),
            gathered: Mutex::new(Gathered { batches: Vec::new(), memory }),
        })
    }
}

impl Gathering {
    /// Runs work order `number` and keeps its rows.
    fn run(&self, opener: &Opener, number: usize) -> Result<()> {
        let Some((segment, order)) = self.orders.get(number) else {
            return Ok(());
        };
        let mut batches = Vec::new();
        run_here(&opener.context, segment, *order, &mut |flow| {
            let batch = self.input.stored(flow)?;
            self.gathered.lock().memory.grow(self.input.bytes_of(batch.rows) + 64)?;
            batches.push(batch);
            Ok(Demand::More)
        })?;
        self.gathered.lock().batches.push((number, batches));
        Ok(())
    }

    /// The probe of all rows kept, which go.
    fn probe(&self, opener: &Opener) -> Result<Probe> {
        let (spec, context) = (&self.spec, &opener.context);
        let mut gathered = self.gathered.lock();
        let mut batches = std::mem::take(&mut gathered.batches);
        batches.sort_by_key(|(number, _)| *number);
        let batches: Vec<Batch> = batches.into_iter().flat_map(|(_, batches)| batches).collect();
        let nullable = pads_probe_rows(spec.kind);
        let build = BuildRows::of_batches(context, &batches, &self.input, nullable)?;
        drop(batches);
        gathered.memory.resize(0)?;
        let mut memory = Reservation::empty(&context.pool, MemoryCategory::HashTables);
        let nulls = spec.keys.iter().map(|key| null_code(key.nulls)).collect();
        let table = KeyTable::build_alone(context, build.keys().to_vec(), nulls, &mut memory)?;
        let bytes = build.bytes() + memory.bytes();
        context.counters(spec.id).memory_bytes.fetch_max(bytes, Ordering::Relaxed);
        let layout = spec.layout.clone();
        let table = Some(Arc::new(table));
        let stage = spec.stage(context, (Arc::new(build), layout), table, memory)?;
        if stage.matched.is_some() {
            return Err(Error::internal("an index join that keeps inner rows"));
        }
        Ok(stage.probe)
    }
}
