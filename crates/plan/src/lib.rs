//! From the bound logical algebra to a physical plan.
//!
//! ```text
//! Query -> fold -> cte -> unnest -> fold -> push_down -> fold -> prune -> wide
//!       -> join_order -> eager -> lower
//! ```
//! Every pass but the last rewrites `sql::algebra::Plan`; `lower` makes ordinals, physical types
//! and methods. Columns have ids that are unique in the query, so passes never renumber.
//!
//! Elsewhere: names and types (`sql`), running the plan (`exec`), the data behind [`Statistics`]
//! (`engine`).
#![forbid(unsafe_code)]

pub mod physical;
mod switches;
mod statistics;
mod column_set;
mod tree;
mod context;
mod range;
mod cardinality;
mod fold;
mod cte;
mod guard;
mod unnest;
mod push_down;
mod prune;
mod wide;
mod fingerprint;
mod join_order;
mod cost;
mod eager;
mod lower;
mod group_join;
mod estimate;
mod reads;
pub mod point;
mod explain;
mod planner;

pub use explain::{explain, explain_below, explain_json};
pub use group_join::JoinBelow;
pub use lower::{lower, lower_held};
pub use planner::{AggregatePlace, IndexPaths, PlanOptions, WideTables, plan};
pub use reads::{TableRead, TableRestriction};
pub use statistics::{ColumnStatistics, Exactness, Statistics, TableStatistics, WideTable};
pub use switches::{JoinOrder, Switches, Technique};

#[cfg(test)]
mod tests;
