//! The breaker: flows to groups and states, per worker.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kernels::Column;
use kernels::compare::true_bits;
use plan::physical::OperatorId;
use storage::{MemoryCategory, Reservation};
use types::{PhysicalType, Result, Value};

use super::finish::StatePlan;
use super::grouper::Keys;
use super::input::Inputs;
use super::local::{SetContext, SetLocal};
use super::spill;
use super::states::{Completeness, StateKind, StateSpec, States, Update};
use crate::context::QueryContext;
use crate::flow::Flow;
use crate::pipeline::{Demand, Place, Sink};
use crate::spill::{Partitions, Room};

/// How the groups of a set are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetMode {
    /// One group.
    Scalar,
    /// An array over `min..=max`.
    Dense {
        /// Least key.
        min: i64,
        /// Greatest key.
        max: i64,
    },
    /// A table.
    Hash,
}

/// Partitions of rows on disk at least, as an exponent of 2.
const SPILL_BITS_MIN: u32 = 6;

/// One grouping set, or the only one.
pub(crate) struct SetPlan {
    /// The keys' input numbers.
    pub(crate) keys: Vec<usize>,
    /// How they are held.
    pub(crate) physical: Vec<PhysicalType>,
    /// How groups are found.
    pub(crate) mode: SetMode,
    /// Shared by workers; of a scalar set without meaning.
    pub(crate) shared: Arc<Keys>,
    /// 2 to this many partitions.
    pub(crate) bits: u32,
}

impl SetPlan {
    /// State that workers share.
    pub(crate) fn context<'a>(&'a self, plan: &'a StatePlan) -> SetContext<'a> {
        let physical = self.physical.first().copied().unwrap_or(PhysicalType::Bool);
        SetContext { plan, keys: &self.shared, physical, bits: self.bits }
    }

    /// There are 2 to this many partitions when rows are on disk. Runs that were split before have
    /// as many; groups whose states hold rows are split no sooner.
    pub(crate) fn spill_bits(&self) -> u32 {
        self.bits.max(SPILL_BITS_MIN)
    }

    /// An empty part.
    pub(crate) fn local(&self, plan: &StatePlan) -> SetLocal {
        match self.mode {
            SetMode::Scalar => SetLocal::scalar(plan),
            SetMode::Dense { min, max } => SetLocal::dense(plan, min, max),
            SetMode::Hash => SetLocal::hash(plan, &self.shared),
        }
    }
}

/// The aggregation as planned.
pub(crate) struct AggregateSink {
    /// The query.
    pub(crate) context: Arc<QueryContext>,
    /// The operator.
    pub(crate) id: OperatorId,
    /// Keys, arguments, filters.
    pub(crate) inputs: Inputs,
    /// States and results.
    pub(crate) plan: StatePlan,
    /// The sets.
    pub(crate) sets: Vec<SetPlan>,
}

/// One worker's part.
pub(crate) struct Local {
    /// Groups by set.
    pub(crate) sets: Vec<SetLocal>,
    /// Memory of all of it.
    pub(crate) memory: Reservation,
    groups: Vec<u32>,
    sequence: Vec<u64>,
    place: Option<Place>,
    arrived: u64,
    /// By set the rows that are on disk, once memory was full: of hash sets only.
    pub(crate) spilled: Vec<Option<Partitions>>,
}

/// Bits of a sequence number for rows of a work order, and for work orders.
const ROW_BITS: u32 = 28;
const ORDER_BITS: u32 = 28;

impl AggregateSink {
    /// True when states need to know the order of rows.
    pub(crate) fn is_ordered(&self) -> bool {
        let collects = |s: &StateSpec| matches!(s.kind, StateKind::Collect(_));
        self.plan.specs.iter().any(collects)
    }

    /// Numbers the rows of a flow in the order of the stream.
    fn number(&self, local: &mut Local, rows: usize, place: Place) {
        if local.place != Some(place) {
            local.place = Some(place);
            local.arrived = 0;
        }
        let order = (place.segment as u64) << ORDER_BITS | place.order as u64;
        let start = (order << ROW_BITS) + local.arrived;
        local.sequence.clear();
        local.sequence.extend(start..start + rows as u64);
        local.arrived += rows as u64;
    }

    /// Adds rows, whose inputs are `values`, to the states of their groups.
    ///
    /// # Errors
    /// As [`States::update`].
    pub(crate) fn update(
        &self,
        states: &mut [Box<dyn States>],
        values: &[Column],
        groups: &[u32],
        sequence: &[u64],
    ) -> Result<()> {
        // Rows that pass each filter, found once for all states with it.
        let mut passed: Vec<(usize, Vec<u32>)> = Vec::new();
        for (state, spec) in states.iter_mut().zip(&self.plan.specs) {
            let Some(filter) = spec.filter else {
                let columns: Vec<Column> =
                    spec.arguments.iter().map(|&a| values[a].clone()).collect();
                let completeness = Completeness::All;
                state.update(Update { columns: &columns, groups, sequence, completeness })?;
                continue;
            };
            let known = passed.iter().position(|(f, _)| *f == filter);
            let at = known.unwrap_or_else(|| {
                passed.push((filter, true_bits(&values[filter].to_vector()).ones()));
                passed.len() - 1
            });
            let rows = &passed[at].1;
            let columns: Vec<Column> =
                spec.arguments.iter().map(|&a| values[a].gather(rows)).collect();
            let groups: Vec<u32> = rows.iter().map(|&row| groups[row as usize]).collect();
            let sequence: Vec<u64> =
                rows.iter().filter_map(|&row| sequence.get(row as usize).copied()).collect();
            state.update(Update {
                columns: &columns,
                groups: &groups,
                sequence: &sequence,
                completeness: Completeness::Filtered,
            })?;
        }
        Ok(())
    }

    /// Accounts for all memory of `local`.
    fn account(&self, local: &mut Local) -> Result<()> {
        let bytes: usize = local.sets.iter().map(SetLocal::bytes).sum();
        let bytes = bytes as u64;
        if bytes != local.memory.bytes() {
            match local.memory.resize(bytes) {
                Err(error) if self.context.can_spill(&error) => {
                    return match spill::begin(self, local)? {
                        spill::Begun::Now => Ok(()),
                        spill::Begun::Before => Err(error),
                    };
                }
                result => result?,
            }
            self.context.counters(self.id).memory_bytes.fetch_max(bytes, Ordering::Relaxed);
            if self.context.room(bytes) == Room::Full {
                spill::begin(self, local)?;
            }
        }
        Ok(())
    }
}

impl Sink for AggregateSink {
    type Local = Local;

    fn local(&self) -> Local {
        Local {
            sets: self.sets.iter().map(|set| set.local(&self.plan)).collect(),
            memory: Reservation::empty(&self.context.pool, MemoryCategory::Aggregation),
            groups: Vec::new(),
            sequence: Vec::new(),
            place: None,
            arrived: 0,
            spilled: self.sets.iter().map(|_| None).collect(),
        }
    }

    fn consume(&self, local: &mut Local, mut flow: Flow, place: Place) -> Result<Demand> {
        let values = self.inputs.evaluate(&mut flow)?;
        if self.is_ordered() {
            self.number(local, flow.rows(), place);
        }
        let parts = local.sets.iter_mut().zip(&mut local.spilled);
        for (set, (part, spilled)) in self.sets.iter().zip(parts) {
            let context = set.context(&self.plan);
            let keys: Vec<Column> = set.keys.iter().map(|&k| values[k].clone()).collect();
            if let Some(partitions) = spilled {
                spill::write(partitions, set, (&keys, &values), &local.sequence, flow.rows())?;
                continue;
            }
            part.group(&context, &keys, flow.rows(), &mut local.groups)?;
            self.update(&mut part.states, &values, &local.groups, &local.sequence)?;
            part.split_when_large(&context)?;
        }
        self.account(local)?;
        Ok(Demand::More)
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// The value of a key that a grouping set does not have.
pub(crate) fn null_column(physical: PhysicalType, rows: usize) -> Column {
    Column::Constant(Arc::new(kernels::Vector::repeat(physical, &Value::Null, 1)), rows)
}
