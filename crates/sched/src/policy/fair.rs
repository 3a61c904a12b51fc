//! Equal time for all queries.

use super::{Candidate, Policy, equal_time};

/// Gives each query the same time, whatever its priority.
#[derive(Clone, Copy, Debug)]
pub struct Fair;

impl Policy for Fair {
    fn name(&self) -> &'static str {
        "fair"
    }

    fn weights(&self, candidates: &[Candidate]) -> Vec<f64> {
        equal_time(candidates)
    }
}
