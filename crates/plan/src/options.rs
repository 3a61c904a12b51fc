//! What may be decided differently from plan to plan.
//!
//! Set by `engine` from a session's settings; read by the passes that decide.

use crate::{JoinOrder, Switches};

/// What may be decided differently, for tests and comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Joins of so many relations are ordered by dynamic programming, larger ones greedily.
    pub exhaustive_relations: usize,
    /// Whether indexes are used to find rows.
    pub index_paths: IndexPaths,
    /// Which techniques are used.
    pub switches: Switches,
    /// Who orders joins.
    pub join_order: JoinOrder,
    /// Whether wide tables are read in the place of joins.
    pub wide_tables: WideTables,
    /// Where rows are grouped.
    pub aggregate_place: AggregatePlace,
}

/// Where rows are grouped, on which side of joins and by which operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AggregatePlace {
    /// Where it costs least.
    #[default]
    Cost,
    /// Below and in joins wherever that is possible, whatever it costs.
    Early,
}

/// Whether plans read wide tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WideTables {
    /// They do not.
    #[default]
    Avoid,
    /// They do where that costs less.
    Consider,
    /// They do wherever they can, whatever it costs.
    Prefer,
}

/// Whether plans use indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexPaths {
    /// They do not.
    #[default]
    Avoid,
    /// They do where that costs less.
    Consider,
    /// They do wherever they can, whatever it costs.
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
        }
    }
}
