//! The hash join that an index join goes over to when it costs more than it was expected to.
//!
//! Made by the planner (`lower::index`), run by `exec::index`.

use super::{Expr, JoinKey, Node};

/// A hash join with the rows of an index join, whose outer side it probes.
///
/// The index join goes over to it when its look-ups have cost `cost_max`: rows that come later are
/// joined by it, so that each outer row is joined once.
#[derive(Clone, Debug, PartialEq)]
pub struct HashInstead {
    /// Scan of the inner table, of the columns that the index join has of it.
    pub scan: Node,
    /// One or more.
    pub keys: Vec<JoinKey>,
    /// Further condition over outer columns, then columns of the scan.
    pub residual: Option<Expr>,
    /// Cost of look-ups with which the index join ends, in the units of [`super::LookUps::cost`].
    pub cost_max: u64,
}
