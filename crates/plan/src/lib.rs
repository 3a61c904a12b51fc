//! Plans queries: from the bound logical algebra to a physical plan.
//!
//! ```text
//! Query -> fold -> cte -> unnest -> fold -> push_down -> fold -> prune -> partitions -> wide
//!       -> join_order -> partition_wise -> eager -> lower
//! ```
//! Every pass but the last rewrites `sql::algebra::Plan`; `lower` makes ordinals, physical types
//! and methods. Columns have ids that are unique in the query, so passes never renumber.
//!
//! Elsewhere: names and types (`sql`), running the plan (`exec`), the data behind [`Statistics`]
//! (`engine`).
#![forbid(unsafe_code)]

// Floors: lowest first.
pub mod physical;
mod switches;
mod options;
mod statistics;
mod column_set;
mod tree;
mod context;
mod range;
mod properties;
mod bounds;
mod safe;
mod cardinality;
mod fold;
mod guard;
mod cte;
mod push_down;
mod unnest;
mod prune;
mod partitions;
mod wide;
mod fingerprint;
mod cost;
mod join_order;
mod eager;
mod partition_wise;
mod group_join;
mod estimate;
mod memory;
mod reads;
mod explain;
mod lower;
pub mod point;
mod planner;

pub use explain::{explain, explain_below, explain_json, explain_xml, explain_yaml, operators};
pub use fold::fold;
pub use group_join::JoinBelow;
pub use lower::{lower, lower_held};
pub use memory::result_bytes;
pub use options::{
    AggregatePlace, IndexJoinCost, IndexPaths, NearSearch, PathsTold, PlanOptions, WideTables,
};
pub use planner::plan;
pub use reads::{TableRead, TableRestriction};
pub use statistics::{
    ColumnStatistics, Exactness, SampleColumn, SampleMatch, SampledRows, Statistics,
    TableStatistics, WideTable,
};
pub use switches::{JoinOrder, Switches, Technique};

#[cfg(test)]
mod tests;
