//! Choices that may differ from plan to plan.
//!
//! Set by `engine` from a session's settings; read by the passes that decide.

use crate::{JoinOrder, Switches};

/// Choices for tests and comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Joins of so many relations are ordered by dynamic programming, larger ones greedily.
    pub exhaustive_relations: usize,
    /// Use of indexes to find rows.
    pub index_paths: IndexPaths,
    /// Which techniques are used.
    pub switches: Switches,
    /// Origin of the order of joins.
    pub join_order: JoinOrder,
    /// Use of wide tables in the place of joins.
    pub wide_tables: WideTables,
    /// Where rows are grouped.
    pub aggregate_place: AggregatePlace,
    /// Cost of look-ups with which an index join goes over to a hash join.
    pub index_join_cost: IndexJoinCost,
    /// Ways to rows that the plan tells of.
    pub paths_told: PathsTold,
    /// Effort of searches for the nearest vectors.
    pub near: NearSearch,
}

/// Effort of a search for the nearest vectors by an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearSearch {
    /// Vectors that are looked for at least.
    pub breadth: u32,
    /// Entries that are read at most, before all rows are sorted.
    pub entries_max: u32,
}

impl NearSearch {
    /// The effort with these numbers, the usual ones where there are none.
    pub fn new(breadth: Option<u32>, entries_max: Option<u32>) -> Self {
        Self { breadth: breadth.unwrap_or(40), entries_max: entries_max.unwrap_or(20_000) }
    }
}

impl Default for NearSearch {
    fn default() -> Self {
        Self::new(None, None)
    }
}

/// Cost of look-ups with which an index join goes over to a hash join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexJoinCost {
    /// A few times that of the hash join's build side; never with [`IndexPaths::Prefer`].
    #[default]
    ByBuild,
    /// This one, in units of one row passing through a pipeline.
    At(u64),
}

/// Ways to rows that a plan tells of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathsTold {
    /// The chosen ones.
    #[default]
    Chosen,
    /// All that were weighed, with their costs: [`crate::physical::PhysicalPlan::considered`].
    Considered,
}

/// Where rows are grouped, on which side of joins and by which operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AggregatePlace {
    /// Where it costs least.
    #[default]
    Cost,
    /// Below and in joins, and partition by partition, wherever that is possible, whatever it
    /// costs.
    Early,
}

/// Use of wide tables by plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WideTables {
    /// Plans read none.
    #[default]
    Avoid,
    /// Plans read them where that costs less.
    Consider,
    /// Plans read them wherever they can, whatever it costs.
    Prefer,
}

/// Use of indexes by plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexPaths {
    /// Plans use none.
    #[default]
    Avoid,
    /// Plans use them where that costs less.
    Consider,
    /// Plans use them wherever they can, whatever it costs.
    Prefer,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            exhaustive_relations: 12,
            index_paths: IndexPaths::default(),
            switches: Switches::default(),
            join_order: JoinOrder::default(),
            wide_tables: WideTables::default(),
            aggregate_place: AggregatePlace::default(),
            index_join_cost: IndexJoinCost::default(),
            paths_told: PathsTold::default(),
            near: NearSearch::default(),
        }
    }
}
