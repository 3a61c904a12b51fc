//! From the bound logical algebra to a physical plan.
//!
//! Order of work: folding, unnesting, push-down (also partial), join order by cost, pruning, physical
//! choices.
//!
//! Elsewhere: names and types (`sql`), running the plan (`exec`), the data behind [`Statistics`]
//! (`engine`).
#![forbid(unsafe_code)]

pub mod physical;
mod statistics;

pub use statistics::{ColumnStatistics, Exactness, Statistics, TableStatistics};
