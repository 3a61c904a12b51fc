//! Runs physical plans: pipelines of operators over blocks, one work order each.
//!
//! ```text
//! Stream   segments (a source and its operators), run one after the other
//! Source   numbered work orders, each a block or a part of a stored result -> flows
//! Operator flow -> flows (filter, project, probe ...), shared by workers, state per worker
//! Sink     the breaker at the end: stores, groups, sorts
//! ```
//! To open a plan node is to run everything below its breakers: when a join is opened its build
//! side is complete, and filters made from it go down into the probe side's scan. Columns of a flow
//! are loaded when first used ([`flow::Flow`]).
//!
//! Invariants: an operator never looks at a column its plan does not name; work stops within one
//! flow after a cancel; memory kept across flows is reserved in the buffer pool.
//!
//! Elsewhere: choosing the plan (`plan`), who runs when (`sched`), stored rows (`storage`).
#![forbid(unsafe_code)]

// Floors: lowest first.
mod account;
pub mod context;
pub mod expr;
pub mod flow;
pub mod pipeline;
pub mod result;
pub mod spill;
pub mod pushed;
pub mod opener;
mod stored;
mod input;
mod series;
mod simple;
mod scan;
mod function;
pub mod join;
mod index;
pub mod aggregate;
pub mod ordered;
pub mod set;
pub mod open;
mod in_order;

pub use account::StatementAccount;
pub use context::{Profile, QueryContext, Recheck, SpillSpace};
pub use function::{
    BatchSource, OfferedIndex, RowColumn, SharedBatchSource, WantedRows, function_source,
};
pub use in_order::{Receiver, execute_into};
pub use open::execute;
pub use opener::Opener;
pub use result::ResultSet;
pub use scan::read_block;
pub use stored::{stored_index, stored_table};
